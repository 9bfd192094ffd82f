//! What stands on the page of a restore: the files that would change, what becomes of each, and their hunks. How hunks
//! become lines is left to `hunk_page`.

use std::path::Path;

use crate::core::changes::diff::{Hunk, counts};
use crate::core::changes::hunk_page::{About, Page, plural, visible};
use crate::core::changes::review_page::Hints;
use crate::core::store::checkpoint::{Fetched, Held, Kind};
use crate::core::store::restore::Restore;

/// The page of what a restore would change; files are named from `root`.
pub fn restore_page(restore: &Restore, fetched: &[Fetched], root: &Path, hints: Hints) -> Page {
    let name = |path: &Path| path.strip_prefix(root).unwrap_or(path).display().to_string();
    let differs = |file: &&Fetched| !file.hunks.is_empty() || becomes(file).is_some();
    let files: Vec<&Fetched> = fetched.iter().filter(differs).collect();
    let hunks: usize = files.iter().map(|file| file.hunks.len()).sum();
    let mut page = Page::default();
    let what = match restore.head.kind {
        Kind::Turn => format!("Back to before \"{}\"", restore.head.prompt),
        Kind::Restore => format!("Undo \"{}\"", restore.head.prompt),
    };
    let title = match files.len() {
        0 => what,
        count => {
            format!("{what}: {count} {} · {hunks} {}", plural(count, "file"), plural(hunks, "hunk"))
        }
    };
    page.add(title, About::Nothing, "0", "AcpWinbar");
    let hint = if files.is_empty() { hints.none } else { hints.some };
    page.add(hint, About::Nothing, "0", "AcpMeta");
    page.add(String::new(), About::Nothing, "0", "");
    for file in files {
        let there = |held: Option<&Held>| held != Some(&Held::Absent);
        let sides = (there(Some(&file.disk)), there(file.target.as_ref().ok()));
        let shown: Vec<Hunk> = file.hunks.iter().map(|hunk| visible(hunk, sides)).collect();
        let (added, removed) = counts(&shown);
        let count = file.hunks.len();
        let counts = match count {
            0 => String::new(),
            _ => format!("{count} {} · +{added} -{removed}", plural(count, "hunk")),
        };
        let more = becomes(file).unwrap_or_default();
        let gap = if counts.is_empty() || more.is_empty() { "" } else { " · " };
        let about = About::File(file.path.clone());
        page.add(format!("{}  {counts}{gap}{more}", name(&file.path)), about, ">1", "AcpTool");
        for hunk in &file.hunks {
            page.hunk(&file.path, hunk, format!("  @@ {}", hunk.row + 1), sides);
        }
    }
    page
}

/// What becomes of a file beside its lines; what is the same is not told.
fn becomes(file: &Fetched) -> Option<String> {
    match (&file.target, &file.disk) {
        (Err(why), _) => Some(format!("can't be put back: {why}")),
        (Ok(Held::Absent), Held::Absent) => None,
        (Ok(Held::Absent), _) => Some("was not there: is removed".to_owned()),
        (Ok(Held::Text(_)), Held::Absent) => Some("comes back".to_owned()),
        (Ok(Held::Text(_) | Held::Unknown), _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::store::checkpoint::{Head, hunks};

    fn text(text: &str) -> Held {
        Held::Text(text.to_owned().into())
    }

    fn file(path: &str, disk: Held, target: Held) -> Fetched {
        let hunks = hunks(&disk, &target);
        Fetched { path: path.into(), target: Ok(target), expected: None, disk, edits: Vec::new(), hunks }
    }

    fn lines(kind: Kind, fetched: &[Fetched]) -> Vec<String> {
        let head = Head {
            agent: "demo".into(),
            acp_id: "1".into(),
            title: None,
            cwd: "/p".into(),
            prompt: "fix it".into(),
            kind,
        };
        let restore = Restore { head, files: Vec::new(), hunk: None };
        let hints = Hints { some: "keys".into(), none: "nothing".into() };
        restore_page(&restore, fetched, Path::new("/p"), hints).lines
    }

    #[test]
    fn what_would_change_is_shown_by_the_file_and_the_hunk() {
        let all = lines(Kind::Turn, &[file("/p/a", text("now\n"), text("old\n"))]);
        assert_eq!(
            all,
            [
                "Back to before \"fix it\": 1 file · 1 hunk",
                "keys",
                "",
                "a  1 hunk · +1 -1",
                "  @@ 1",
                "  - now",
                "  + old",
            ]
        );
    }

    #[test]
    fn files_that_stay_as_they_are_take_no_line() {
        let all = lines(Kind::Restore, &[file("/p/a", text("same\n"), text("same\n"))]);
        assert_eq!(all, ["Undo \"fix it\"", "nothing", ""]);
    }

    #[test]
    fn a_file_that_goes_or_comes_back_says_so() {
        let goes = lines(Kind::Turn, &[file("/p/a", text("now\n"), Held::Absent)]);
        assert!(goes[3].ends_with(" · was not there: is removed"), "{goes:?}");
        let comes = lines(Kind::Turn, &[file("/p/a", Held::Absent, text("old\n"))]);
        assert!(comes[3].ends_with(" · comes back"), "{comes:?}");
        let absent = lines(Kind::Turn, &[file("/p/a", Held::Absent, Held::Absent)]);
        assert_eq!(absent.len(), 3);
    }

    #[test]
    fn a_file_that_cannot_be_put_back_says_why() {
        let mut lost = file("/q/a", text("now\n"), Held::Unknown);
        lost.target = Err("its text is gone".into());
        lost.hunks = Vec::new();
        let all = lines(Kind::Turn, &[lost]);
        assert_eq!(all[3], "/q/a  can't be put back: its text is gone");
    }
}
