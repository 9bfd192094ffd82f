//! Puts files on the disk back to what they were, when they still hold what they are expected to. All
//! of it blocks; call it where waiting is allowed.

use std::fs;
use std::path::Path;

use super::disk::{self, DiskErrorKind};

/// `expected` and `text` are without the newline that ends a file; `None` means no file.
pub fn put_back(path: &Path, expected: Option<&str>, text: Option<&str>) -> Result<(), String> {
    let found = match disk::read(path, None, None) {
        Ok(found) => Some(found.text),
        Err(error) if error.kind() == DiskErrorKind::NotFound => None,
        Err(error) => return Err(error.to_string()),
    };
    if found.as_deref().map(bare) != expected.map(bare) {
        return Err("the file has changed since; open it and undo it there".to_owned());
    }
    let Some(text) = text else {
        return fs::remove_file(path).map_err(|error| error.to_string());
    };
    let found = found.unwrap_or_else(|| "\n".to_owned());
    let mut text = if found.contains("\r\n") { bare(text).replace('\n', "\r\n") } else { text.to_owned() };
    if found.is_empty() || found.ends_with('\n') {
        text.push_str(if found.ends_with("\r\n") { "\r\n" } else { "\n" });
    }
    disk::write(path, &text).map(drop).map_err(|error| error.to_string())
}

/// A text's lines, however they end.
fn bare(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    text.strip_suffix('\n').map_or(text.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_put_back_unless_it_holds_something_else() {
        let folder = std::env::temp_dir().join(format!("acp-restore-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join("a.txt");
        fs::write(&path, "one\r\nTWO\r\n").expect("a file");
        assert!(put_back(&path, Some("one\nother"), Some("one\ntwo")).is_err());
        put_back(&path, Some("one\nTWO"), Some("one\ntwo")).expect("to be put back");
        assert_eq!(fs::read_to_string(&path).expect("a text"), "one\r\ntwo\r\n");
        put_back(&path, Some("one\ntwo"), None).expect("to be removed");
        assert!(!path.exists());
        put_back(&path, None, Some("again")).expect("to be made again");
        assert_eq!(fs::read_to_string(&path).expect("a text"), "again\n");
        fs::remove_dir_all(&folder).expect("a folder of ours");
    }
}
