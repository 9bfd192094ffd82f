/* A disk that does not answer, for whatever program this is loaded into (LD_PRELOAD): each call that names a
 * path in the folder $ACP_DEAD_FOLDER, or leads there through a link, waits until the file $ACP_DEAD_ALIVE
 * is there. Only what Neovim, libuv and Rust call is covered. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))real(#name))

static void *real(const char *name) { return dlsym(RTLD_NEXT, name); }

static int below(const char *path, const char *folder) {
    size_t length = strlen(folder);
    return strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == 0);
}

static int is_dead(const char *path) {
    const char *folder = getenv("ACP_DEAD_FOLDER"), *alive = getenv("ACP_DEAD_ALIVE");
    if (!folder || !alive || !path || path[0] != '/') return 0;
    if (syscall(SYS_faccessat, AT_FDCWD, alive, F_OK) == 0) return 0;
    if (below(path, folder)) return 1;
    /* Through a link: of what leads there, the part that exists tells. */
    char part[PATH_MAX], resolved[PATH_MAX];
    if (strlen(path) >= sizeof part) return 0;
    strcpy(part, path);
    while (part[1]) {
        char *(*resolve)(const char *, char *) = real("realpath");
        if (resolve(part, resolved)) return below(resolved, folder);
        char *slash = strrchr(part, '/');
        if (!slash || slash == part) return 0;
        *slash = 0;
    }
    return 0;
}

static void hang(const char *path) {
    struct timespec moment = {0, 5 * 1000 * 1000};
    while (is_dead(path)) nanosleep(&moment, 0);
}

#define STAT(name, type) \
    int name(const char *path, struct type *facts) { hang(path); return REAL(name)(path, facts); }
STAT(stat, stat)
STAT(lstat, stat)
STAT(stat64, stat64)
STAT(lstat64, stat64)

#define XSTAT(name) \
    int name(int version, const char *path, void *facts) { \
        hang(path); \
        int (*call)(int, const char *, void *) = real(#name); \
        return call(version, path, facts); \
    }
XSTAT(__xstat)
XSTAT(__lxstat)
XSTAT(__xstat64)
XSTAT(__lxstat64)

int fstatat(int at, const char *path, struct stat *facts, int flags) {
    hang(path);
    return REAL(fstatat)(at, path, facts, flags);
}

int fstatat64(int at, const char *path, struct stat64 *facts, int flags) {
    hang(path);
    return REAL(fstatat64)(at, path, facts, flags);
}

int statx(int at, const char *path, int flags, unsigned mask, struct statx *facts) {
    hang(path);
    return REAL(statx)(at, path, flags, mask, facts);
}

#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        va_list rest; \
        va_start(rest, flags); \
        mode_t mode = va_arg(rest, mode_t); \
        va_end(rest); \
        hang(path); \
        return REAL(name)(path, flags, mode); \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name) \
    int name(int at, const char *path, int flags, ...) { \
        va_list rest; \
        va_start(rest, flags); \
        mode_t mode = va_arg(rest, mode_t); \
        va_end(rest); \
        hang(path); \
        return REAL(name)(at, path, flags, mode); \
    }
OPENAT(openat)
OPENAT(openat64)

int access(const char *path, int mode) {
    hang(path);
    return REAL(access)(path, mode);
}

ssize_t readlink(const char *path, char *target, size_t size) {
    hang(path);
    return REAL(readlink)(path, target, size);
}

char *realpath(const char *path, char *resolved) {
    hang(path);
    return REAL(realpath)(path, resolved);
}

char *__realpath_chk(const char *path, char *resolved, size_t size) {
    hang(path);
    char *(*call)(const char *, char *, size_t) = real("__realpath_chk");
    return call(path, resolved, size);
}

DIR *opendir(const char *path) {
    hang(path);
    return REAL(opendir)(path);
}

int mkdir(const char *path, mode_t mode) {
    hang(path);
    return REAL(mkdir)(path, mode);
}

int chdir(const char *path) {
    hang(path);
    return REAL(chdir)(path);
}

int unlink(const char *path) {
    hang(path);
    return REAL(unlink)(path);
}

int rename(const char *old, const char *new) {
    hang(old);
    hang(new);
    return REAL(rename)(old, new);
}

int inotify_add_watch(int fd, const char *path, unsigned mask) {
    hang(path);
    int (*call)(int, const char *, unsigned) = real("inotify_add_watch");
    return call(fd, path, mask);
}

/* libuv asks for `statx` by its number. */
long syscall(long number, ...) {
    va_list rest;
    va_start(rest, number);
    long given[6];
    for (int i = 0; i < 6; i++) given[i] = va_arg(rest, long);
    va_end(rest);
    if (number == SYS_statx) hang((const char *)given[1]);
    static long (*call)(long, ...);
    if (!call) call = real("syscall");
    return call(number, given[0], given[1], given[2], given[3], given[4], given[5]);
}
