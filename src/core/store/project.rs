//! The name of the folder in which a project's undecided changes are kept. `lua/acp/undecided.lua` makes the same
//! name, to look there without the library.

use std::path::Path;

/// Longer names are cut in front: file systems take 255 bytes.
const LONGEST: usize = 200;

/// As Neovim names its undo files: the whole path, with `%` between its parts.
pub fn project_name(root: &Path) -> String {
    let name = root.to_string_lossy().replace(['/', '\\', ':'], "%");
    let mut start = name.len().saturating_sub(LONGEST);
    while !name.is_char_boundary(start) {
        start += 1;
    }
    name[start..].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_has_its_path_as_a_name() {
        assert_eq!(project_name(Path::new("/home/me/shop")), "%home%me%shop");
        assert_eq!(project_name(Path::new("C:\\shop")), "C%%shop");
        let long = project_name(Path::new(&format!("/{}", "\u{e9}".repeat(120))));
        assert_eq!(long, "\u{e9}".repeat(100));
        assert_eq!(project_name(Path::new(&format!("/{}x", "\u{e9}".repeat(120)))).len(), 199);
    }
}
