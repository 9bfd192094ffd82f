//! Reading and writing real files, and what a session may not touch.

#![expect(clippy::unwrap_used, reason = "a test's helpers may panic like the test itself")]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use acp_nvim::acp::files::disk::{DiskError, DiskErrorKind, NonText, Roots, read, write};

/// A folder of the test's own, with `p` as a session's root in it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("acp-disk-{name}-{}", std::process::id()));
        fs::create_dir_all(path.join("p")).unwrap();
        Self(path.canonicalize().unwrap())
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.join(path)
    }

    fn roots(&self) -> Roots {
        Roots::new(&self.path("p"), &[])
    }

    fn file(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(path);
        fs::write(&path, content).unwrap();
        path
    }

    /// The names in it, to see that nothing was left behind.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path("p")).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn is_outside(checked: Result<PathBuf, DiskError>) -> bool {
    checked.is_err_and(|error| error.kind() == DiskErrorKind::Outside)
}

fn part(path: &Path, line: Option<u32>, limit: Option<u32>) -> Result<String, DiskError> {
    read(path, line, limit).map(|read| read.text)
}

fn whole(path: &Path) -> Result<String, DiskError> {
    part(path, None, None)
}

/// Does something without the power of root, which may do everything. Only this thread gives it up.
#[cfg(target_os = "linux")]
fn as_a_user<T>(act: impl FnOnce() -> T) -> T {
    // SAFETY: takes and returns numbers.
    let (user, is_root) = unsafe { (libc::geteuid(), libc::geteuid() == 0) };
    // SAFETY: as above.
    unsafe { libc::setfsuid(if is_root { 65534 } else { user }) };
    let result = act();
    // SAFETY: as above.
    unsafe { libc::setfsuid(user) };
    result
}

#[cfg(not(target_os = "linux"))]
fn as_a_user<T>(act: impl FnOnce() -> T) -> T {
    act()
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn what_is_inside_is_allowed_whether_it_is_there_or_not() {
    let folder = Folder::new("inside");
    let file = folder.file("p/a", "");
    let roots = folder.roots();
    assert_eq!(roots.check(&file).unwrap(), file);
    assert_eq!(roots.check(&folder.path("p")).unwrap(), folder.path("p"));
    assert_eq!(roots.check(&folder.path("p/new/deep/file")).unwrap(), folder.path("p/new/deep/file"));
    assert_eq!(roots.check(&folder.path("p/./a/../a")).unwrap_err().kind(), DiskErrorKind::System);
    fs::create_dir(folder.path("p/sub")).unwrap();
    assert_eq!(roots.check(&folder.path("p/sub/.././a")).unwrap(), file);
    assert_eq!(roots.check(&folder.path("p/sub/../new")).unwrap(), folder.path("p/new"));
}

#[test]
fn a_relative_path_is_refused() {
    let folder = Folder::new("relative");
    for path in ["src/a", "~/a", "file:///a", "./a", ""] {
        let error = folder.roots().check(Path::new(path)).unwrap_err();
        assert_eq!(error.to_string(), "the path is not absolute; give the full path");
        assert_eq!(error.kind(), DiskErrorKind::Invalid);
        assert!(matches!(write(Path::new(path), ""), Err(DiskError::Relative)));
    }
}

#[test]
fn siblings_and_parents_are_outside() {
    let folder = Folder::new("sibling");
    fs::create_dir(folder.path("p2")).unwrap();
    let roots = folder.roots();
    let error = roots.check(&folder.path("p2")).unwrap_err();
    let expected = format!(
        "it is outside of the session's folders ({}); stay inside of them, or ask the user",
        folder.path("p").display()
    );
    assert_eq!(error.to_string(), expected);
    for path in ["p2/new", "p/../p2", "p/../../x", "", "p.txt"] {
        assert!(is_outside(roots.check(&folder.path(path))), "{path}");
    }
    assert!(is_outside(roots.check(Path::new("/etc/passwd"))));
    assert!(is_outside(roots.check(Path::new("/"))));
}

#[test]
fn dots_in_a_missing_folder_are_refused() {
    let folder = Folder::new("dots");
    let roots = folder.roots();
    for path in ["p/new/../../p2", "p/new/../a"] {
        let error = roots.check(&folder.path(path)).unwrap_err();
        assert!(matches!(error, DiskError::Parent), "{path}: {error}");
    }
}

#[test]
fn a_link_is_where_it_leads_to() {
    let folder = Folder::new("link");
    let roots = folder.roots();
    fs::create_dir(folder.path("out")).unwrap();
    let inside = folder.file("p/a", "");
    folder.file("out/a", "");
    symlink(folder.path("out"), folder.path("p/folder")).unwrap();
    symlink(folder.path("out/a"), folder.path("p/file")).unwrap();
    symlink("../out/missing", folder.path("p/missing")).unwrap();
    symlink(folder.path("out/missing/deep"), folder.path("p/deep")).unwrap();
    symlink("a", folder.path("p/good")).unwrap();
    symlink("later", folder.path("p/soon")).unwrap();
    symlink(folder.path("p"), folder.path("out/in")).unwrap();
    for path in ["p/folder/a", "p/folder/new", "p/file", "p/missing", "p/deep", "p/folder/../p2"] {
        assert!(is_outside(roots.check(&folder.path(path))), "{path}");
    }
    assert_eq!(roots.check(&folder.path("p/good")).unwrap(), inside);
    assert_eq!(roots.check(&folder.path("p/soon")).unwrap(), folder.path("p/later"));
    assert_eq!(roots.check(&folder.path("out/in/a")).unwrap(), inside);
    assert_eq!(roots.check(&folder.path("out/in/new")).unwrap(), folder.path("p/new"));
}

#[test]
fn links_in_a_circle_are_refused() {
    let folder = Folder::new("circle");
    symlink("two", folder.path("p/one")).unwrap();
    symlink("one", folder.path("p/two")).unwrap();
    symlink("self/x", folder.path("p/self")).unwrap();
    for path in ["p/one", "p/one/x", "p/self"] {
        let error = folder.roots().check(&folder.path(path)).unwrap_err();
        assert_eq!(error.kind(), DiskErrorKind::Invalid, "{path}: {error}");
    }
}

#[test]
fn a_root_may_be_a_link_and_more_roots_may_be_given() {
    let folder = Folder::new("roots");
    let file = folder.file("p/a", "");
    symlink(folder.path("p"), folder.path("alias")).unwrap();
    fs::create_dir(folder.path("more")).unwrap();
    let roots = Roots::new(&folder.path("alias"), &[folder.path("more")]);
    assert_eq!(roots.check(&folder.path("alias/a")).unwrap(), file);
    assert_eq!(roots.check(&file).unwrap(), file);
    assert_eq!(roots.check(&folder.path("more/b")).unwrap(), folder.path("more/b"));
    assert!(is_outside(roots.check(&folder.path("b"))));
}

#[test]
fn a_root_that_comes_later_allows_no_link_in_its_place() {
    let folder = Folder::new("later");
    let roots = Roots::new(&folder.path("new"), &[]);
    fs::create_dir(folder.path("new")).unwrap();
    assert_eq!(roots.check(&folder.path("new/a")).unwrap(), folder.path("new/a"));
    fs::remove_dir(folder.path("new")).unwrap();
    symlink(folder.path("p"), folder.path("new")).unwrap();
    assert!(is_outside(roots.check(&folder.path("new/a"))));
}

#[test]
fn a_relative_root_allows_nothing() {
    let roots = Roots::new(Path::new("."), &[PathBuf::from("src")]);
    assert!(is_outside(roots.check(&std::env::current_dir().unwrap().join("src/lib.rs"))));
}

#[test]
fn a_folder_that_may_not_be_searched_is_refused() {
    let folder = Folder::new("search");
    fs::create_dir(folder.path("p/closed")).unwrap();
    folder.file("p/closed/a", "");
    let roots = folder.roots();
    set_mode(&folder.path("p/closed"), 0o600);
    for path in ["p/closed/a", "p/closed/new"] {
        let error = as_a_user(|| roots.check(&folder.path(path))).unwrap_err();
        assert_eq!(error.kind(), DiskErrorKind::Denied, "{path}: {error}");
    }
}

#[test]
fn text_is_read_exactly() {
    let folder = Folder::new("exact");
    for text in ["", "a", "a\n", "a\r\nb\rc\n\n", "\u{e9}\u{20ac}\u{1f600}\t\x1b\x01"] {
        let path = folder.file("p/a", text);
        assert_eq!(whole(&path).unwrap(), text);
        write(&path, text).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
}

#[test]
fn a_byte_order_mark_is_no_text_and_stays() {
    let folder = Folder::new("mark");
    let path = folder.file("p/a", "\u{feff}one\ntwo\n");
    assert_eq!(whole(&path).unwrap(), "one\ntwo\n");
    assert_eq!(part(&path, Some(1), Some(1)).unwrap(), "one\n");
    for content in ["two\n", "\u{feff}three\n", ""] {
        write(&path, content).unwrap();
        let text = format!("\u{feff}{}", content.trim_start_matches('\u{feff}'));
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
    write(&folder.file("p/b", ""), "\u{feff}").unwrap();
    assert_eq!(fs::read_to_string(folder.path("p/b")).unwrap(), "\u{feff}", "it may be given one");
}

#[test]
fn a_write_tells_what_was_there() {
    let folder = Folder::new("before");
    let path = folder.file("p/a", "old\r\n");
    let written = write(&path, "new").unwrap();
    assert_eq!((written.before.as_deref(), written.after.as_deref()), (Some("old\r\n"), Some("new")));
    assert_eq!(write(&folder.path("p/b"), "new").unwrap().before, None, "there was no file");
    folder.file("p/a", [0xff, 0]);
    assert_eq!(write(&path, "new").unwrap().before, None, "it was no text");
    let large = "x".repeat(5 << 20);
    assert_eq!(write(&path, &large).unwrap().after, None);
    let written = write(&path, "new").unwrap();
    assert_eq!((written.before, written.after.as_deref()), (None, Some("new")), "it was too much");
}

#[test]
fn a_part_of_a_file_is_read_by_lines() {
    let folder = Folder::new("lines");
    let path = folder.file("p/a", "1\r\n2\r\n3\r\n");
    assert_eq!(part(&path, Some(2), Some(1)).unwrap(), "2\r\n");
    assert_eq!(part(&path, Some(9), Some(1)).unwrap(), "");
    assert_eq!(part(&path, Some(0), None).unwrap(), "1\r\n2\r\n3\r\n");
}

#[test]
fn what_is_no_text_is_an_error_that_says_so() {
    let folder = Folder::new("foreign");
    let utf16 =
        |to_bytes: fn(u16) -> [u8; 2]| "Gr\u{fc}\u{df}e, all\n".encode_utf16().flat_map(to_bytes).collect();
    let (little, big): (Vec<u8>, Vec<u8>) = (utf16(u16::to_le_bytes), utf16(u16::to_be_bytes));
    let in_utf16 = "it is text in UTF-16 and not in UTF-8; use a command that can read it";
    let cases: [(&[u8], NonText, &str); 6] = [
        (&little, NonText::Utf16, in_utf16),
        (&big, NonText::Utf16, in_utf16),
        (b"\xfe\xff\0a", NonText::Utf16, in_utf16),
        (b"a\0b", NonText::Binary, "it is a binary file; use a command that can read it"),
        (
            b"gr\xfcn\n",
            NonText::Encoding,
            "it is binary, or text in another encoding than UTF-8; use a command that can read it",
        ),
        (b"\xff\xfea\0", NonText::Utf16, in_utf16),
    ];
    for (bytes, foreign, text) in cases {
        let error = whole(&folder.file("p/a", bytes)).unwrap_err();
        assert!(matches!(error, DiskError::NotText(found) if found == foreign));
        assert_eq!((error.kind(), error.to_string().as_str()), (DiskErrorKind::NotText, text));
    }
}

#[test]
fn what_cannot_be_read_is_an_error_that_says_why() {
    let folder = Folder::new("unreadable");
    let error = whole(&folder.path("p/missing")).unwrap_err();
    assert_eq!(
        (error.kind(), error.to_string().as_str()),
        (DiskErrorKind::NotFound, "no such file; check the path")
    );

    let error = whole(&folder.path("p")).unwrap_err();
    assert_eq!(error.to_string(), "it is a folder; name a file in it");

    let file = folder.file("p/a", "");
    let error = whole(&file.join("b")).unwrap_err();
    assert_eq!(error.to_string(), "a part of the path is a file and not a folder");

    set_mode(&file, 0o200);
    let error = as_a_user(|| whole(&file)).unwrap_err();
    assert_eq!(error.kind(), DiskErrorKind::Denied);
    assert_eq!(error.to_string(), "permission denied; ask the user to allow it or use another file");
}

#[test]
fn pipes_sockets_and_devices_are_refused_without_waiting() {
    let folder = Folder::new("special");
    let pipe = folder.path("p/pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let socket = folder.path("p/socket");
    let _listener = UnixListener::bind(&socket).unwrap();
    for (path, name) in
        [(pipe.as_path(), "a pipe"), (&socket, "a socket"), (Path::new("/dev/null"), "a device")]
    {
        let expected = format!("it is {name} and no regular file; use a command for it");
        assert_eq!(whole(path).unwrap_err().to_string(), expected);
        assert_eq!(write(path, "x").unwrap_err().to_string(), expected);
    }
}

#[test]
fn a_huge_file_is_refused_before_it_fills_memory() {
    let folder = Folder::new("huge");
    let path = folder.file("p/a", "");
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(5 << 30).unwrap();
    let error = whole(&path).unwrap_err();
    let expected = "it has 5120 MiB, and at most 64 are read; use a command for the part you need";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_new_file_is_created_with_its_folders() {
    let folder = Folder::new("create");
    let path = folder.path("p/new/deep/file");
    write(&path, "text").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "text");
    let plain = folder.file("p/plain", "");
    assert_eq!(fs::metadata(&path).unwrap().mode(), fs::metadata(&plain).unwrap().mode());
}

#[test]
fn a_write_replaces_the_file_at_once_and_keeps_its_mode() {
    let folder = Folder::new("replace");
    let path = folder.file("p/a", "old and longer");
    set_mode(&path, 0o750);
    // Who has the old file open goes on seeing the old text, whole.
    let mut open = fs::File::open(&path).unwrap();
    write(&path, "new").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    assert_eq!(std::io::read_to_string(&mut open).unwrap(), "old and longer");
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o750);
    assert_eq!(folder.names(), ["a"]);
}

#[test]
fn a_write_follows_a_link_and_leaves_it() {
    let folder = Folder::new("follow");
    let path = folder.file("p/a", "old");
    symlink("a", folder.path("p/link")).unwrap();
    symlink("later", folder.path("p/soon")).unwrap();
    write(&folder.path("p/link"), "new").unwrap();
    write(&folder.path("p/soon"), "created").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    assert_eq!(fs::read_to_string(folder.path("p/later")).unwrap(), "created");
    assert!(folder.path("p/link").is_symlink() && folder.path("p/soon").is_symlink());
    assert_eq!(folder.names(), ["a", "later", "link", "soon"]);
}

#[test]
fn a_file_with_two_names_keeps_both() {
    let folder = Folder::new("names");
    let path = folder.file("p/a", "old and longer");
    fs::hard_link(&path, folder.path("p/b")).unwrap();
    write(&path, "new").unwrap();
    assert_eq!(fs::read_to_string(folder.path("p/b")).unwrap(), "new");
    assert_eq!(folder.names(), ["a", "b"]);
}

#[test]
fn a_write_keeps_the_owner() {
    let folder = Folder::new("owner");
    let path = folder.file("p/a", "old");
    // Only root may give a file away; as another user there is nothing to lose.
    let _ = std::os::unix::fs::chown(&path, Some(65534), Some(65534));
    let owner = fs::metadata(&path).unwrap().uid();
    write(&path, "new").unwrap();
    assert_eq!(fs::metadata(&path).unwrap().uid(), owner);
    assert_eq!(fs::read_to_string(&path).unwrap(), "new");
}

#[test]
fn a_file_of_someone_else_that_may_be_written_stays_theirs() {
    let folder = Folder::new("theirs");
    let path = folder.file("p/a", "old");
    set_mode(&path, 0o666);
    set_mode(&folder.path("p"), 0o777);
    let before = fs::metadata(&path).unwrap();
    as_a_user(|| write(&path, "new")).unwrap();
    let after = fs::metadata(&path).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    assert_eq!((after.uid(), after.gid(), after.mode()), (before.uid(), before.gid(), before.mode()));
    assert_eq!(folder.names(), ["a"]);
}

#[test]
fn a_file_in_a_folder_that_takes_no_new_ones_is_written_in_place() {
    let folder = Folder::new("in-place");
    let path = folder.file("p/a", "old and longer");
    set_mode(&path, 0o666);
    set_mode(&folder.path("p"), 0o555);
    as_a_user(|| write(&path, "new")).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    assert_eq!(folder.names(), ["a"]);
}

#[test]
fn a_read_only_file_is_not_written() {
    let folder = Folder::new("read-only");
    let path = folder.file("p/a", "old");
    set_mode(&path, 0o444);
    set_mode(&folder.path("p"), 0o777);
    let error = as_a_user(|| write(&path, "new")).unwrap_err();
    assert_eq!(error.kind(), DiskErrorKind::Denied);
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    assert_eq!(folder.names(), ["a"]);
}

#[test]
fn what_cannot_be_written_is_an_error_that_names_the_reason() {
    let folder = Folder::new("unwritable");
    assert!(matches!(write(&folder.path("p"), ""), Err(DiskError::Folder)));
    let file = folder.file("p/a", "old");
    let error = write(&file.join("b/c"), "").unwrap_err();
    assert_eq!(error.to_string(), "a part of the path is a file and not a folder");

    set_mode(&folder.path("p"), 0o555);
    let error = as_a_user(|| write(&folder.path("p/new"), "")).unwrap_err();
    assert_eq!(error.kind(), DiskErrorKind::Denied);
    let error = as_a_user(|| write(&folder.path("p/new/deep"), "")).unwrap_err();
    assert_eq!(error.kind(), DiskErrorKind::Denied);
    let expected =
        format!("the folder {} can't be created: permission denied", folder.path("p/new").display());
    assert_eq!(error.to_string(), expected);

    let long = folder.path("p").join("x".repeat(300));
    assert_eq!(write(&long, "").unwrap_err().to_string(), "the name is too long");
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_leaves_the_old_text() {
    // `ulimit -f` makes writes fail as a full disk does; it holds for a whole process.
    let folder = Folder::new("full");
    if std::env::var_os("ACP_TEST_FULL").is_none() {
        let test = "a_full_disk_leaves_the_old_text";
        let exe = std::env::current_exe().unwrap();
        let script = format!("trap '' XFSZ; ulimit -f 8; exec {} --exact {test}", exe.display());
        let status = Command::new("sh").args(["-c", &script]).env("ACP_TEST_FULL", "1").output().unwrap();
        assert!(status.status.success(), "{}", String::from_utf8_lossy(&status.stdout));
        return;
    }
    let old = "old\n".repeat(100);
    let path = folder.file("p/a", &old);
    let linked = folder.file("p/b", &old);
    fs::hard_link(&linked, folder.path("p/c")).unwrap();
    for path in [&path, &linked] {
        let error = write(path, &"new\n".repeat(10_000)).unwrap_err();
        assert_eq!(error.kind(), DiskErrorKind::System);
        assert_eq!(fs::read_to_string(path).unwrap(), old);
    }
    assert!(write(&folder.path("p/new"), &"new\n".repeat(10_000)).is_err());
    assert_eq!(folder.names(), ["a", "b", "c"]);
}

#[test]
#[cfg(target_os = "linux")]
fn an_attribute_of_the_file_survives() {
    let folder = Folder::new("attribute");
    let path = folder.file("p/a", "old");
    let name = c"user.acp".as_ptr();
    let c_path = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
    // SAFETY: the strings end with a NUL, and the length is that of the value.
    if unsafe { libc::setxattr(c_path.as_ptr(), name, c"1".as_ptr().cast(), 1, 0) } != 0 {
        return; // This file system has none.
    }
    write(&path, "new").unwrap();
    // SAFETY: a length of 0 asks for the size only.
    assert_eq!(unsafe { libc::getxattr(c_path.as_ptr(), name, std::ptr::null_mut(), 0) }, 1);
    assert_eq!(fs::read_to_string(&path).unwrap(), "new");
}

#[test]
fn readers_see_the_old_text_or_the_new_one_and_nothing_between() {
    let folder = Folder::new("between");
    let texts = ["a".repeat(100_000), "b".repeat(70_000)];
    let path = folder.file("p/a", &texts[0]);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for n in 0..200 {
                write(&path, &texts[n % 2]).unwrap();
            }
        });
        while !writer.is_finished() {
            let text = whole(&path).unwrap();
            assert!(texts.contains(&text), "{} bytes", text.len());
        }
    });
}

/// The part of the test below that runs where files may not grow: such a limit is one process's.
#[test]
#[ignore = "it is run by another test, in a process of its own"]
fn a_child_writes_more_than_there_is_room_for() {
    let Some(path) = std::env::var_os("ACP_DISK_FULL") else { return };
    let error = write(Path::new(&path), &"new".repeat(1 << 20)).unwrap_err();
    assert_eq!(error.to_string(), "it would be larger than the system allows");
}

#[test]
fn without_room_for_the_new_text_the_old_one_stays_whole() {
    use std::os::unix::process::CommandExt;
    let folder = Folder::new("full");
    let old = "old\n".repeat(30_000);
    folder.file("p/a", &old);
    folder.file("p/b", &old);
    // This one is written in place.
    fs::hard_link(folder.path("p/b"), folder.path("p/c")).unwrap();
    for path in ["p/a", "p/b", "p/new"] {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "a_child_writes_more_than_there_is_room_for", "--ignored"]);
        child.env("ACP_DISK_FULL", folder.path(path));
        let limit = libc::rlimit { rlim_cur: 200 << 10, rlim_max: 200 << 10 };
        // SAFETY: both calls may be made between fork and exec, and the struct lives as long as the call.
        unsafe {
            child.pre_exec(move || {
                // Else the first write too much ends the process.
                libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
                match libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit) {
                    0 => Ok(()),
                    _ => Err(std::io::Error::last_os_error()),
                }
            });
        }
        let output = child.output().unwrap();
        assert!(output.status.success(), "{path}: {}", String::from_utf8_lossy(&output.stdout));
        assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "{path}");
    }
    assert_eq!(fs::read_to_string(folder.path("p/a")).unwrap(), old);
    assert_eq!(fs::read_to_string(folder.path("p/c")).unwrap(), old);
    assert_eq!(folder.names(), ["a", "b", "c"], "nothing is left behind");
}

#[test]
fn what_is_another_thing_by_the_time_of_the_write_is_not_damaged() {
    let folder = Folder::new("changed");
    let path = folder.file("p/a", "old");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert_eq!(write(&path, "new").unwrap_err().to_string(), "it is a folder; name a file in it");
    fs::create_dir(folder.path("p/sub")).unwrap();
    let deep = folder.file("p/sub/b", "old");
    fs::remove_dir_all(folder.path("p/sub")).unwrap();
    write(&deep, "new").unwrap();
    assert_eq!(fs::read_to_string(&deep).unwrap(), "new", "a folder that vanished is made again");
    fs::remove_dir_all(folder.path("p/sub")).unwrap();
    folder.file("p/sub", "a file in its place");
    let error = write(&deep, "new").unwrap_err();
    assert!(error.to_string().contains("a file and not a folder"), "{error}");
    assert_eq!(fs::read_to_string(folder.path("p/sub")).unwrap(), "a file in its place");
    assert_eq!(folder.names(), ["a", "sub"]);
}
