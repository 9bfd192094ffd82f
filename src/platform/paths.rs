//! Paths as people and agents write them: Windows' own notation for paths without limits (`\\?\C:\a`) is
//! never shown to anybody.

use std::io;
use std::path::{Path, PathBuf};

use crate::core::text::uri::has_drive;

/// The path of what is there, with all links and `..` resolved.
pub fn canonicalize(path: &Path) -> io::Result<PathBuf> {
    std::fs::canonicalize(path).map(plain)
}

/// A path without links. The file need not exist, its folder must.
pub fn resolve_file(path: &Path) -> PathBuf {
    let by_folder = || Some(canonicalize(path.parent()?).ok()?.join(path.file_name()?));
    canonicalize(path).ok().or_else(by_folder).unwrap_or_else(|| path.to_owned())
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

    #[test]
    fn the_long_notation_of_windows_is_not_shown() {
        assert_eq!(without_prefix(r"\\?\C:\a\b.rs").as_deref(), Some(r"C:\a\b.rs"));
        assert_eq!(without_prefix(r"\\?\UNC\host\share\a").as_deref(), Some(r"\\host\share\a"));
        assert_eq!(without_prefix(r"C:\a"), None);
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
