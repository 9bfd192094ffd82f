//! Paths as people and agents write them: Windows' own notation for paths without limits (`\\?\C:\a`) is
//! never shown to anybody.

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use crate::core::maps::FastMap;
use crate::core::text::uri::has_drive;

/// The path of what is there, with all links and `..` resolved.
pub fn canonicalize(path: &Path) -> io::Result<PathBuf> {
    fs::canonicalize(path).map(plain)
}

/// A path without links. The file need not exist, its folder must.
pub fn resolve_file(path: &Path) -> PathBuf {
    let by_folder = || Some(canonicalize(path.parent()?).ok()?.join(path.file_name()?));
    canonicalize(path).ok().or_else(by_folder).unwrap_or_else(|| path.to_owned())
}

/// Finds paths without links, for many of a few folders: each folder is resolved once, as it was then.
#[derive(Debug, Default)]
pub struct Resolver {
    /// `None` of a folder that isn't there.
    folders: FastMap<PathBuf, Option<PathBuf>>,
}

impl Resolver {
    /// The path of what is in a folder and no link, and of what is not there. `None` where it takes more to know.
    pub fn find(&mut self, path: &Path) -> Option<PathBuf> {
        self.found(path).map(|(found, _)| found)
    }

    /// With what there is, unless that is nothing.
    fn found(&mut self, path: &Path) -> Option<(PathBuf, Option<Metadata>)> {
        // Where upper and lower case are the same, the system has to be asked for the name as well.
        if cfg!(any(windows, target_os = "macos")) {
            return None;
        }
        let (folder, name) = (path.parent().filter(|folder| folder.is_absolute())?, path.file_name()?);
        let real = match self.folders.get(folder) {
            Some(real) => real,
            None => self.folders.entry(folder.to_owned()).or_insert(canonicalize(folder).ok()),
        };
        let found = real.as_ref()?.join(name);
        match fs::symlink_metadata(&found) {
            Ok(metadata) => (!metadata.is_symlink()).then_some((found, Some(metadata))),
            Err(error) => (error.kind() == io::ErrorKind::NotFound).then_some((found, None)),
        }
    }

    /// As [`resolve_file`], with what there is, which need not be asked for once more then.
    pub fn look(&mut self, path: &Path) -> (PathBuf, Option<Metadata>) {
        self.found(path).unwrap_or_else(|| {
            let file = resolve_file(path);
            let metadata = fs::metadata(&file).ok();
            (file, metadata)
        })
    }
}

/// A path that may begin with the user's folder, as `~/`.
pub fn home_expanded(path: &str) -> PathBuf {
    match path.strip_prefix("~/").zip(std::env::home_dir()) {
        Some((rest, home)) => home.join(rest),
        None => PathBuf::from(path),
    }
}

/// The usual notation of a path, where it means the same.
fn plain(path: PathBuf) -> PathBuf {
    match path.to_str().filter(|_| cfg!(windows)).and_then(without_prefix) {
        Some(plain) => PathBuf::from(plain),
        None => path,
    }
}

/// The longest path that every program of Windows can use.
const LONGEST: usize = 259;

/// `\\?\C:\a` as `C:\a` and `\\?\UNC\host\a` as `\\host\a`; `None` where only the long notation will do.
fn without_prefix(path: &str) -> Option<String> {
    let rest = path.strip_prefix(r"\\?\")?;
    let plain = match rest.strip_prefix(r"UNC\") {
        Some(share) => format!(r"\\{share}"),
        None if has_drive(rest) => rest.to_owned(),
        None => return None,
    };
    // What Windows would read as something else: devices, and names that it cuts.
    let is_usual = |name: &str| {
        let stem = name.split('.').next().unwrap_or(name).trim_end().to_ascii_uppercase();
        let device = matches!(stem.as_str(), "CON" | "PRN" | "AUX" | "NUL" | "CONIN$" | "CONOUT$")
            || (stem.len() == 4
                && (stem.starts_with("COM") || stem.starts_with("LPT"))
                && stem.ends_with(|c: char| c.is_ascii_digit() && c != '0'));
        !device && !name.ends_with(['.', ' ']) && !name.contains('/')
    };
    (plain.len() <= LONGEST && rest.split('\\').all(is_usual)).then_some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    struct Folder(PathBuf);

    #[cfg(unix)]
    impl Folder {
        fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("acp-paths-{}-{name}", std::process::id()));
            fs::create_dir(&folder).expect("a folder");
            Self(canonicalize(&folder).expect("it is there"))
        }
    }

    #[cfg(unix)]
    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn the_long_notation_of_windows_is_not_shown() {
        assert_eq!(without_prefix(r"\\?\C:\a\b.rs").as_deref(), Some(r"C:\a\b.rs"));
        assert_eq!(without_prefix(r"\\?\UNC\host\share\a").as_deref(), Some(r"\\host\share\a"));
        assert_eq!(without_prefix(r"C:\a"), None);
    }

    #[cfg(unix)]
    #[test]
    fn what_a_resolver_finds_is_what_the_system_says() {
        let folder = Folder::new("found");
        let at = |name: &str| folder.0.join(name);
        fs::create_dir_all(at("real/below")).expect("folders");
        fs::write(at("real/file"), "").expect("a file");
        for (to, link) in
            [("real", "folder"), ("real/file", "link"), ("nowhere", "dangling"), ("b", "a"), ("a", "b")]
        {
            std::os::unix::fs::symlink(at(to), at(link)).expect("a link");
        }
        let mut resolver = Resolver::default();
        let names = ["real/file", "folder/file", "folder/below/../file", "link", "dangling", "a", "real/new"];
        let more =
            ["folder/new", "gone/new", "real/file/", "real/file/below", "real", "folder/.", "folder/.."];
        for name in names.into_iter().chain(more) {
            let found = resolve_file(&at(name));
            let (file, metadata) = resolver.look(&at(name));
            let there = fs::metadata(&found).ok();
            let inode =
                |metadata: Option<Metadata>| metadata.map(|it| std::os::unix::fs::MetadataExt::ino(&it));
            assert_eq!((file, inode(metadata)), (found, inode(there)), "{name}");
        }
        for path in ["", "/", ".", "..", "relative", "/relative", "/../tmp"] {
            assert_eq!(resolver.look(Path::new(path)).0, resolve_file(Path::new(path)), "{path}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_folder_is_resolved_once_for_all_that_is_in_it() {
        let folder = Folder::new("once");
        fs::create_dir(folder.0.join("real")).expect("a folder");
        let link = folder.0.join("link");
        std::os::unix::fs::symlink(folder.0.join("real"), &link).expect("a link");
        let mut resolver = Resolver::default();
        let before = resolver.find(&link.join("a"));
        fs::remove_file(&link).expect("the link");
        assert_eq!(before, Some(folder.0.join("real/a")));
        assert_eq!(resolver.find(&link.join("b")), before.map(|before| before.with_file_name("b")));
    }

    #[test]
    fn it_stays_where_the_usual_one_means_something_else() {
        assert_eq!(without_prefix(r"\\?\C:\a\nul.txt"), None);
        assert_eq!(without_prefix(r"\\?\C:\a\com1"), None);
        assert_eq!(without_prefix(r"\\?\C:\a.\b"), None);
        assert_eq!(without_prefix(r"\\?\Volume{1}\b"), None);
        assert_eq!(without_prefix(&format!(r"\\?\C:\{}", "x".repeat(300))), None);
        assert_eq!(without_prefix(r"\\?\C:\a\command").as_deref(), Some(r"C:\a\command"));
    }
}
