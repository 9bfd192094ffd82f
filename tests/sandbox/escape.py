"""A program that tries to leave its sandbox, in every way that it knows. It is told where what it is after is, and
writes down what came of each try: whether it was done, or what refused it."""

import array
import ctypes
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys

told = json.load(open("told.json"))
outside, nvim = told["outside"], told["nvim"]
libc = ctypes.CDLL(None, use_errno=True)


def call(number, *args):
    returned = libc.syscall(number, *args)
    if returned < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return returned


def overwrite(path):
    with open(path, "w") as file:
        file.write("gone")


def target(name):
    return os.path.join(outside, name)


def absolute(name):
    overwrite(target(name))


def dots(name):
    overwrite(os.path.relpath(target(name)))


def link(name):
    os.symlink(target(name), name)
    overwrite(name)


def linked_folder(name):
    os.symlink(outside, name)
    overwrite(os.path.join(name, name))


def hard_link(name):
    os.link(target(name), name)
    overwrite(name)


def rename_over(name):
    overwrite(name)
    os.rename(name, target(name))


def rename_away(name):
    os.rename(target(name), name)


def delete(name):
    os.unlink(target(name))


def truncate(name):
    os.truncate(target(name), 0)


def own_root(name):
    overwrite("/proc/self/root" + target(name))


def root_of_neovim(name):
    overwrite("/proc/%d/root%s" % (nvim, target(name)))


def folder_of_neovim(name):
    overwrite("/proc/%d/cwd/%s" % (nvim, os.path.relpath(target(name))))


def memory_of_neovim(name):
    open("/proc/%d/mem" % nvim, "r+b").close()
    overwrite(target(name))


def trace_neovim(name):
    seize, detach = 0x4206, 17
    if libc.ptrace(seize, nvim, None, None) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    libc.ptrace(detach, nvim, None, None)
    overwrite(target(name))


def signal_neovim(name):
    os.kill(nvim, 0)
    overwrite(target(name))


def socket_of_neovim(name):
    """Neovim would do anything for whoever reaches it."""
    with socket.socket(socket.AF_UNIX) as there:
        there.connect(told["server"])
    overwrite(target(name))


def program_of_neovim(name):
    """The same by Neovim's own program."""
    code = "writefile(['gone'], '%s')" % target(name)
    subprocess.run([told["program"], "--server", told["server"], "--remote-expr", code], timeout=20)


def abstract_socket(name):
    with socket.socket(socket.AF_UNIX) as there:
        there.connect("\0" + told["abstract"])
    overwrite(target(name))


def datagrams(name):
    """One of a pair could be connected to a name."""
    pair = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    pair[0].sendto(b"gone", told["datagrams"])
    overwrite(target(name))


def daemon(name):
    """Leaves its parents, its group and its session."""
    read, write = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            try:
                overwrite(target(name))
            finally:
                os._exit(0)
        os._exit(0)
    os.close(write)
    # It ends with the last that holds the other end.
    os.read(read, 1)


def other_programs(name):
    for words in (["sh", "-c", 'echo gone > "$1"', "sh"], ["tee"], ["cp", "told.json"]):
        subprocess.run(words + [target(name)], stdin=subprocess.DEVNULL, capture_output=True)


def clean_environment(name):
    env = {"LD_PRELOAD": "/nowhere.so", "PATH": "/usr/bin:/bin"}
    subprocess.run(["env", "-i", "sh", "-c", 'echo gone > "$1"', "sh", target(name)], env=env, capture_output=True)


def mount(name):
    new_user, new_mounts, bind = 0x10000000, 0x00020000, 4096
    flags = new_mounts if os.getuid() == 0 else new_user | new_mounts
    if libc.unshare(flags) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    os.mkdir(name)
    if libc.mount(outside.encode(), name.encode(), None, bind, None) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    overwrite(os.path.join(name, name))


def in_child(attack):
    """What would change the process itself."""
    def run(name):
        child = os.fork()
        if child == 0:
            try:
                attack(name)
            except OSError as error:
                os._exit(min(error.errno, 120))
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code:
            raise OSError(code, os.strerror(code))
    return run


def read(name):
    open(target(name)).read()
    overwrite(target(name))


def read_folder(name):
    os.listdir(outside)
    overwrite(target(name))


def read_home(name):
    os.listdir(os.environ["HOME"])
    overwrite(target(name))


ATTACKS = {
    "absolute": absolute,
    "dots": dots,
    "link": link,
    "linked_folder": linked_folder,
    "hard_link": hard_link,
    "rename_over": rename_over,
    "rename_away": rename_away,
    "delete": delete,
    "truncate": truncate,
    "own_root": own_root,
    "root_of_neovim": root_of_neovim,
    "folder_of_neovim": folder_of_neovim,
    "memory_of_neovim": memory_of_neovim,
    "trace_neovim": trace_neovim,
    "signal_neovim": signal_neovim,
    "socket_of_neovim": socket_of_neovim,
    "program_of_neovim": program_of_neovim,
    "abstract_socket": abstract_socket,
    "datagrams": datagrams,
    "daemon": daemon,
    "other_programs": other_programs,
    "clean_environment": clean_environment,
    "mount": in_child(mount),
    "read": read,
    "read_folder": read_folder,
    "read_home": read_home,
}


# What is refused, whatever it would lead to.


def device(name):
    os.mknod(name, 0o600 | 0o020000, os.makedev(1, 1))


def type_into_terminal(name):
    master, slave = os.openpty()
    fcntl.ioctl(slave, 0x5412, b"x")


def uring(name):
    call(425, 1, ctypes.create_string_buffer(120))


def keyring(name):
    call({"x86_64": 250}.get(os.uname().machine, 219), 0, -3, 0, 0, 0)


def set_root(name):
    """Nothing that it starts can become another user."""
    with open("/proc/self/status") as status:
        fields = dict(line.split(":", 1) for line in status)
    if fields["NoNewPrivs"].strip() == "1":
        raise OSError(1, "no new privileges")


def descriptors(name):
    left = [int(fd) for fd in os.listdir("/proc/self/fd") if int(fd) > 2]
    # One is that of the list itself.
    if len(left) <= 1:
        raise OSError(1, "no descriptor but those of every program")


CALLS = {
    "device": device,
    "type_into_terminal": type_into_terminal,
    "uring": uring,
    "keyring": keyring,
    "set_root": set_root,
    "descriptors": descriptors,
}


# By the network.


def tcp(name):
    socket.create_connection(("127.0.0.1", told["port"]), timeout=5).close()


def tcp6(name):
    socket.create_connection(("::1", told["port6"]), timeout=5).close()


def udp(name):
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", told["port"]))


def mptcp(name):
    there = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)
    there.connect(("127.0.0.1", told["port"]))


def fast_open(name):
    there = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    there.sendto(b"x", 0x20000000, ("127.0.0.1", told["port"]))


def listen(name):
    socket.socket(socket.AF_INET, socket.SOCK_STREAM).listen()


def bind(name):
    socket.socket(socket.AF_INET, socket.SOCK_STREAM).bind(("127.0.0.1", 0))


def raw(name):
    socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)


def packets(name):
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)


def virtual_machine(name):
    socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)


NETWORK = {
    "tcp": tcp,
    "tcp6": tcp6,
    "udp": udp,
    "mptcp": mptcp,
    "fast_open": fast_open,
    "listen": listen,
    "bind": bind,
    "raw": raw,
    "packets": packets,
    "virtual_machine": virtual_machine,
}


# What must work.


def write_here(name):
    os.makedirs("made/deep", exist_ok=True)
    overwrite("made/deep/a")
    os.rename("made/deep/a", "made/b")
    os.link("made/b", "made/c")
    os.symlink("b", "made/d")
    os.chmod("made/b", 0o755)
    os.truncate("made/d", 1)
    os.unlink("made/c")


def devices(name):
    for path in ("/dev/null", "/dev/zero", "/dev/urandom"):
        open(path, "r+b", buffering=0).read(1)
    open("/dev/null", "w").write("x")


def terminal(name):
    with open("/dev/tty", "w") as tty:
        tty.write("on the terminal\n")
    os.ttyname(0)
    open(os.ttyname(0), "r+b", buffering=0).close()
    fcntl.ioctl(0, 0x5413, array.array("H", [0] * 4))


def temporary(name):
    import tempfile

    with tempfile.NamedTemporaryFile("w") as file:
        file.write("x")
        assert not file.name.startswith(outside)


def named(name):
    overwrite(os.path.join(told["cache"], "new"))
    open(os.path.join(told["shelf"], "book")).read()


def not_named(name):
    overwrite(os.path.join(told["shelf"], "book"))


def children(name):
    code = "import os; os.kill(os.getppid(), 0)"
    subprocess.run([sys.executable, "-c", code], check=True)
    pair = socket.socketpair()
    pair[0].send(b"x")
    assert pair[1].recv(1) == b"x"
    child = subprocess.Popen(["sleep", "60"])
    child.send_signal(signal.SIGKILL)
    child.wait()


def git(name):
    os.makedirs("repository")
    for words in (["init", "-q"], ["add", "a"], ["commit", "-q", "-m", "a"], ["gc", "-q"]):
        if words[0] == "add":
            overwrite("repository/a")
        who = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
        subprocess.run(["git"] + who + words, cwd="repository", check=True, capture_output=True, timeout=60)


def cargo(name):
    os.makedirs("crate/src")
    with open("crate/Cargo.toml", "w") as manifest:
        manifest.write('[package]\nname = "a"\nversion = "0.0.0"\nedition = "2021"\n[workspace]\n')
    with open("crate/src/main.rs", "w") as main:
        main.write("fn main() {}\n")
    env = dict(os.environ, CARGO_HOME=told["cache"], PATH=told["toolchain"] + ":" + os.environ["PATH"])
    env.pop("RUSTUP_TOOLCHAIN", None)
    subprocess.run(["cargo", "build", "--offline"], cwd="crate", env=env, check=True, capture_output=True, timeout=120)
    subprocess.run(["crate/target/debug/a"], check=True)


WORK = {
    "write_here": write_here,
    "devices": devices,
    "terminal": terminal,
    "temporary": temporary,
    "named": named,
    "not_named": not_named,
    "children": children,
    "git": git,
    "cargo": cargo,
}

results = {}
for name, attempt in globals()[sys.argv[1]].items():
    try:
        attempt(name)
        results[name] = "done"
    except subprocess.CalledProcessError as error:
        results[name] = "%s: %s" % (error, (error.stderr or b"").decode()[-500:])
    except Exception as error:
        results[name] = str(error)
with open(sys.argv[2], "w") as file:
    json.dump(results, file, indent=1)
