//! What stands on the review's page: how much is left to decide, each file and its hunks, who wrote them, the user's
//! comments. How hunks become lines is left to `hunk_page`.

use std::path::Path;

use crate::core::changes::comments::Comment;
use crate::core::changes::diff::{Hunk, counts};
use crate::core::changes::file_review::FileReview;
use crate::core::changes::hunk_page::{About, Page, plural, visible};
use crate::core::changes::scope::{Origins, Scope};

/// What is shown beside the hunks themselves.
pub struct Shown<'a> {
    pub scope: &'a Scope,
    pub origins: &'a Origins,
    pub comments: &'a [Comment],
    /// How many hunks were kept and undone.
    pub decided: (usize, usize),
    /// Where relative paths begin.
    pub root: &'a Path,
}

/// The line below the title.
pub struct Hints {
    /// While there is something to decide.
    pub some: String,
    /// When nothing is left.
    pub none: String,
}

/// The page of the files that have something to decide.
pub fn review_page(shown: &Shown, files: &[(&Path, &FileReview)], hints: Hints) -> Page {
    let meant: Vec<(&Path, &FileReview, Vec<usize>)> = files
        .iter()
        .map(|(path, file)| (*path, *file, shown.origins.hunks_in(shown.scope, path, file)))
        .filter(|(.., hunks)| !hunks.is_empty())
        .collect();
    let hunks: usize = meant.iter().map(|(.., hunks)| hunks.len()).sum();
    let mut page = Page::default();
    page.add(title(shown, meant.len(), hunks), About::Nothing, "0", "AcpWinbar");
    page.add(if hunks == 0 { hints.none } else { hints.some }, About::Nothing, "0", "AcpMeta");
    page.add(String::new(), About::Nothing, "0", "");
    for (path, file, hunks) in meant {
        add_file(&mut page, shown, path, file, &hunks);
    }
    page
}

fn title(shown: &Shown, files: usize, hunks: usize) -> String {
    let (kept, undone) = shown.decided;
    let mut title = format!("Review: {files} {} · {hunks} {}", plural(files, "file"), plural(hunks, "hunk"));
    for (count, what) in [(kept, "kept"), (undone, "undone"), (shown.comments.len(), "commented")] {
        if count > 0 {
            title.push_str(&format!(" · {count} {what}"));
        }
    }
    title
}

fn add_file(page: &mut Page, shown: &Shown, path: &Path, file: &FileReview, meant: &[usize]) {
    let all = file.hunks();
    let of_file: Vec<Hunk> = meant.iter().map(|at| all[*at].clone()).collect();
    let sides = (file.was_there, file.is_there);
    let visible: Vec<Hunk> = of_file.iter().map(|hunk| visible(hunk, sides)).collect();
    let (added, removed) = counts(&visible);
    let state = match sides {
        (false, true) => " · new file",
        (true, false) => " · deleted",
        _ => "",
    };
    let count = format!("{} {}", of_file.len(), plural(of_file.len(), "hunk"));
    let name = path.strip_prefix(shown.root).unwrap_or(path).display();
    let head = format!("{name}  {count} · +{added} -{removed}{state}");
    page.add(head, About::File(path.to_owned()), ">1", "AcpTool");
    for (at, hunk) in meant.iter().zip(&of_file) {
        let origin = shown.origins.of_hunk(file, *at);
        let by = origin.map(|origin| format!("  {}: {}", origin.agent, origin.title)).unwrap_or_default();
        let mixed = if file.is_mixed(*at) { "  (with your edits)" } else { "" };
        page.hunk(path, hunk, format!("  @@ {}{by}{mixed}", hunk.row + 1), sides);
        for comment in shown.comments.iter().filter(|comment| comment.path == path && comment.hunk == *hunk) {
            let about = About::Hunk { path: path.to_owned(), hunk: hunk.clone(), row: hunk.row };
            page.add(format!("  \u{270e} {}", comment.text), about, "2", "AcpUser");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::changes::scope::Origin;
    use crate::core::ids::{EntryId, Moment, SessionKey};

    fn origins() -> Origins {
        let mut origins = Origins::default();
        origins.number(Origin {
            session: SessionKey(1),
            agent: "demo".into(),
            prompt: EntryId(0),
            turn: 1,
            asked: String::new(),
            call: Some(EntryId(1)),
            title: "write a.rs".into(),
            at: Moment(0),
        });
        origins
    }

    fn changed(before: Option<&str>, after: Option<&str>) -> FileReview {
        let mut file = FileReview::new(before);
        file.agent_wrote(None, after, crate::core::ids::OriginId(0));
        file
    }

    fn lines(files: &[(&str, &FileReview)], comments: &[Comment], decided: (usize, usize)) -> Vec<String> {
        let origins = origins();
        let shown = Shown { scope: &Scope::All, origins: &origins, comments, decided, root: Path::new("/p") };
        let files: Vec<(&Path, &FileReview)> =
            files.iter().map(|(path, file)| (Path::new(*path), *file)).collect();
        review_page(&shown, &files, Hints { some: "keys".into(), none: "done".into() }).lines
    }

    #[test]
    fn a_file_stands_with_its_hunks_and_who_wrote_them() {
        let file = changed(Some("a\nb"), Some("a\nB"));
        assert_eq!(
            lines(&[("/p/src/a.rs", &file)], &[], (0, 0)),
            [
                "Review: 1 file · 1 hunk",
                "keys",
                "",
                "src/a.rs  1 hunk · +1 -1",
                "  @@ 2  demo: write a.rs",
                "  - b",
                "  + B",
            ]
        );
    }

    #[test]
    fn a_page_without_hunks_says_that_nothing_is_left() {
        let settled = FileReview::new(Some("a"));
        assert_eq!(
            lines(&[("/p/a", &settled)], &[], (2, 1)),
            ["Review: 0 files · 0 hunks · 2 kept · 1 undone", "done", ""]
        );
    }

    #[test]
    fn new_and_deleted_files_are_told_apart_from_changed_ones() {
        let (new, deleted) = (changed(None, Some("a")), changed(Some("a"), None));
        let all = lines(&[("/p/new", &new), ("/q/old", &deleted)], &[], (0, 0));
        assert!(all.contains(&"new  1 hunk · +1 -0 · new file".to_owned()), "{all:?}");
        assert!(all.contains(&"/q/old  1 hunk · +0 -1 · deleted".to_owned()), "{all:?}");
    }

    #[test]
    fn a_comment_stands_below_its_hunk_and_is_counted() {
        let file = changed(Some("a\nb"), Some("a\nB"));
        let comment = Comment { path: "/p/a".into(), hunk: file.hunks()[0].clone(), text: "why?".into() };
        let elsewhere = Comment { path: "/p/b".into(), ..comment.clone() };
        let all = lines(&[("/p/a", &file)], &[comment, elsewhere], (0, 0));
        assert_eq!(all[0], "Review: 1 file · 1 hunk · 2 commented");
        assert_eq!(all.last().map(String::as_str), Some("  \u{270e} why?"));
        assert_eq!(all.iter().filter(|line| line.contains('\u{270e}')).count(), 1);
    }

    #[test]
    fn a_hunk_with_the_users_edits_says_so() {
        let mut file = changed(Some("a\nb"), Some("a\nB\nC"));
        file.user_wrote("a\nB\nmine");
        let all = lines(&[("/p/a", &file)], &[], (0, 0));
        assert!(all.iter().any(|line| line.ends_with("  (with your edits)")), "{all:?}");
    }
}
