//! What stands on the review's page: how much is left to decide, each file and its hunks, who wrote them, the user's
//! comments. How hunks become lines is left to `hunk_page`.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::core::changes::comments::Comment;
use crate::core::changes::diff::{Hunk, counts};
use crate::core::changes::file_review::FileReview;
use crate::core::changes::hunk_page::{About, Page, plural, shown as in_page, visible_counts};
use crate::core::changes::review::{Line, Review};
use crate::core::changes::review_edits::{ADDED, REMOVED};
use crate::core::changes::scope::{Origin, Origins, Scope};
use crate::core::changes::unknown_change::UnknownChange;
use crate::core::ids::OriginId;
use crate::core::text::one_line;

/// More characters of what a call was about are not shown.
const LONGEST_TITLE: usize = 48;

/// A renamed file of more lines is not compared with what it was.
const MAX_COMPARED: usize = 5000;

/// What is shown beside the hunks themselves.
pub struct Shown<'a> {
    pub scope: &'a Scope,
    pub origins: &'a Origins,
    pub comments: &'a [Comment],
    /// How many hunks were kept and undone.
    pub decided: (usize, usize),
    /// Files by their new names, with the old ones.
    pub renamed: &'a BTreeMap<PathBuf, PathBuf>,
    /// Where relative paths begin.
    pub root: &'a Path,
    /// Who was behind what, in words: the files of one command have the same.
    pub by: RefCell<HashMap<OriginId, Arc<str>>>,
}

impl Shown<'_> {
    /// Who did it, and by what.
    fn by(&self, origin: Option<OriginId>) -> Arc<str> {
        let words = |id| self.origins.get(id).map(by).unwrap_or_default().into();
        match origin {
            Some(id) => self.by.borrow_mut().entry(id).or_insert_with(|| words(id)).clone(),
            None => "".into(),
        }
    }
}

/// The line below the title.
pub struct Hints {
    /// While there is something to decide.
    pub some: String,
    /// When nothing is left.
    pub none: String,
}

/// A file on the page.
pub enum Listed<'a> {
    Read(&'a FileReview),
    /// One of many, whose hunks are listed once it is on the screen. Until then it does not matter whether they are known.
    Unseen(&'a FileReview),
    /// The same, and nobody has worked its hunks out yet.
    Unread(&'a [OriginId]),
    /// It has none, since its text is not known.
    Unknown(&'a UnknownChange),
}

impl Listed<'_> {
    /// The hunks of a file that are meant; `None` where nothing of it is.
    pub fn meant(&self, scope: &Scope, origins: &Origins, path: &Path) -> Option<Vec<usize>> {
        match self {
            Self::Read(file) | Self::Unseen(file) => match file.without_hunks() {
                Some(last) => origins.is_file_meant(scope, path, &[last]).then(Vec::new),
                None => {
                    let hunks = origins.hunks_in(scope, path, file);
                    (!hunks.is_empty() || is_missing_meant(file, scope, origins, path)).then_some(hunks)
                }
            },
            Self::Unread(of) => origins.is_file_meant(scope, path, of).then(Vec::new),
            Self::Unknown(change) => origins.is_file_meant(scope, path, &[change.origin]).then(Vec::new),
        }
    }
}

/// Whether hunks that the text does not hold are meant.
pub fn is_missing_meant(file: &FileReview, scope: &Scope, origins: &Origins, path: &Path) -> bool {
    let is_meant = |origin| origins.is_file_meant(scope, path, &[origin]);
    let is_of_lines = matches!(scope, Scope::Rows(..) | Scope::Lines(..) | Scope::Hunk(..) | Scope::Part(..));
    !is_of_lines && file.missing().any(|each| each.origin.map_or(*scope == Scope::All, is_meant))
}

/// Files of which something is meant, with the hunks that are.
type Meant<'a> = Vec<(&'a Path, &'a Listed<'a>, Vec<usize>)>;

/// How much there is to decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    pub files: usize,
    /// Of the files that were read.
    pub hunks: usize,
    pub unread: usize,
}

impl Count {
    fn of(meant: &Meant, renames: &[Rename]) -> Self {
        let is_seen = |file: &Listed| !matches!(file, Listed::Unread(_) | Listed::Unseen(_));
        let seen = || meant.iter().filter(|(_, file, _)| is_seen(file));
        let changed: usize = renames.iter().map(|rename| rename.hunks.len()).sum();
        Self {
            files: meant.len() + renames.len(),
            hunks: seen().map(|(.., hunks)| hunks.len()).sum::<usize>() + changed,
            unread: meant.len() - seen().count(),
        }
    }

    /// What all of it is, to stand after `Keep all`.
    pub fn in_words(&self) -> String {
        let what = match (self.hunks, self.unread) {
            (hunks @ 2.., 0) => format!("{hunks} hunks"),
            _ => "changes".to_owned(),
        };
        format!("{what} in {} {}", self.files, plural(self.files, "file"))
    }
}

/// How much the page of these files says there is.
pub fn count(shown: &Shown, files: &[(&Path, Listed)]) -> Count {
    let (meant, renames) = meant(shown, files);
    Count::of(&meant, &renames)
}

/// What is meant of the files, but for those that were renamed.
fn meant<'a>(shown: &'a Shown, files: &'a [(&'a Path, Listed<'a>)]) -> (Meant<'a>, Vec<Rename<'a>>) {
    let mut meant: Meant<'a> = files
        .iter()
        .filter_map(|(path, file)| Some((*path, file, file.meant(shown.scope, shown.origins, path)?)))
        .collect();
    let renames = renames(shown, &meant);
    meant.retain(|(path, ..)| renames.iter().all(|rename| !rename.is_of(path)));
    (meant, renames)
}

/// The page of the files that have something to decide.
pub fn review_page(shown: &Shown, files: &[(&Path, Listed)], hints: Hints) -> Page {
    let (meant, renames) = meant(shown, files);
    let count = Count::of(&meant, &renames);
    let mut page = Page::default();
    page.add(title(shown, count), About::Nothing, "0", "AcpWinbar");
    page.add(if count.files == 0 { hints.none } else { hints.some }, About::Nothing, "0", "AcpMeta");
    page.add(String::new(), About::Nothing, "0", "");
    let mut entries: Vec<(&Path, Entry)> =
        meant.iter().map(|(path, file, hunks)| (*path, Entry::File(file, hunks))).collect();
    entries.extend(renames.iter().map(|rename| (rename.to, Entry::Renamed(rename))));
    entries.sort_by_key(|(path, _)| *path);
    for (path, entry) in entries {
        match entry {
            Entry::Renamed(rename) => add_renamed(&mut page, shown, rename),
            Entry::File(Listed::Read(file), hunks) => add_file(&mut page, shown, path, file, hunks),
            Entry::File(Listed::Unseen(file), _) => {
                add_head(&mut page, shown, path, (file.last().as_slice(), "changed"));
            }
            Entry::File(Listed::Unread(origins), _) => add_head(&mut page, shown, path, (origins, "changed")),
            Entry::File(Listed::Unknown(change), _) => {
                let what = format!("{} · no hunks: {}", change.verb(), change.why);
                add_head(&mut page, shown, path, (&[change.origin], &what));
            }
        }
    }
    let is_on_page = |comment: &&Comment| {
        page.rows.iter().any(|about| matches!(about, About::Comment(at) if *at == comment.at))
    };
    let others: Vec<&Comment> = shown.comments.iter().filter(|comment| !is_on_page(comment)).collect();
    if !others.is_empty() {
        page.add(String::new(), About::Nothing, "0", "");
        page.add("Comments".to_owned(), About::Nothing, "0", "AcpWinbar");
    }
    for comment in others {
        let name = comment.path.strip_prefix(shown.root).unwrap_or(&comment.path).display();
        add_comment(&mut page, &format!("  \u{270e} {name}:{}  ", comment.shown_rows()), comment, "0");
    }
    page
}

/// What has a head on the page.
enum Entry<'a> {
    File(&'a Listed<'a>, &'a [usize]),
    Renamed(&'a Rename<'a>),
}

/// A file that was renamed, and what else has changed in it.
struct Rename<'a> {
    from: &'a Path,
    to: &'a Path,
    hunks: Vec<Hunk>,
    origins: Vec<OriginId>,
}

impl Rename<'_> {
    fn is_of(&self, path: &Path) -> bool {
        self.from == path || self.to == path
    }
}

/// The files that are gone by one name and new by another, where both are meant.
fn renames<'a>(shown: &'a Shown, meant: &[(&'a Path, &'a Listed<'a>, Vec<usize>)]) -> Vec<Rename<'a>> {
    let read = |wanted: &Path| {
        meant.iter().find_map(|(path, file, _)| match file {
            Listed::Read(file) | Listed::Unseen(file) if *path == wanted => Some((*path, *file)),
            _ => None,
        })
    };
    let pair = |(to, from): (&PathBuf, &PathBuf)| {
        let ((to, new), (from, old)) = (read(to)?, read(from)?);
        let is_rename = !new.was_there && new.is_there && old.was_there && !old.is_there;
        let hunks = || match new.base_lines().len().max(old.line_count()).max(new.line_count()) {
            0..MAX_COMPARED => Review::new(&old.base(), &new.current()).hunks(),
            _ => Vec::new(),
        };
        is_rename.then(|| Rename { from, to, hunks: hunks(), origins: new.last().into_iter().collect() })
    };
    shown.renamed.iter().filter_map(pair).collect()
}

fn add_renamed(page: &mut Page, shown: &Shown, rename: &Rename) {
    let [from, to] = [rename.from, rename.to].map(|path| path.strip_prefix(shown.root).unwrap_or(path));
    let by = shown.by(rename.origins.last().copied());
    let (added, removed) = counts(&rename.hunks);
    let count = match rename.hunks.len() {
        0 => String::new(),
        some => format!(" · {some} {} · +{added} -{removed}", plural(some, "hunk")),
    };
    let head = format!("{} \u{2192} {}  renamed{count}", from.display(), to.display());
    let about = || About::File(rename.to.to_owned());
    page.add(format!("{head}{by}"), about(), ">1", "AcpTool");
    for hunk in &rename.hunks {
        page.add(format!("  @@ {}", hunk.row + 1), about(), ">2", "AcpMeta");
        for line in &hunk.removed {
            page.add(format!("{REMOVED}{}", in_page(line)), about(), "2", "AcpDiffDelete");
        }
        for line in &hunk.added {
            page.add(format!("{ADDED}{}", in_page(line)), about(), "2", "AcpDiffAdd");
        }
    }
}

/// A file without hunks below it.
fn add_head(page: &mut Page, shown: &Shown, path: &Path, (origins, what): (&[OriginId], &str)) {
    let name = path.strip_prefix(shown.root).unwrap_or(path).display();
    let by = shown.by(origins.last().copied());
    page.add(format!("{name}  {what}{by}"), About::File(path.to_owned()), ">1", "AcpTool");
}

/// Who did it, and by what: of a long command the beginning.
fn by(origin: &Origin) -> String {
    let title = one_line(&origin.title);
    let short: String = title.chars().take(LONGEST_TITLE).collect();
    let more = if short.len() < title.len() { "\u{2026}" } else { "" };
    format!("  {}: {}{more}", origin.agent, short.trim_end())
}

/// A comment in lines of its own, the first one with its sign.
fn add_comment(page: &mut Page, head: &str, comment: &Comment, fold: &'static str) {
    let about = || About::Comment(comment.at);
    let state = match (comment.is_draft, comment.is_lost) {
        (true, _) => "(draft) ",
        (_, true) => "(its lines have changed since) ",
        _ => "",
    };
    let mut lines = comment.text.lines();
    page.add(format!("{head}{state}{}", lines.next().unwrap_or_default()), about(), fold, "AcpUser");
    for line in lines {
        page.add(format!("    {line}"), about(), fold, "AcpUser");
    }
}

/// How many files there are by the user's count: one that was renamed has two names. `renamed` has the old names by the
/// new ones.
pub fn count_files<'a>(
    paths: impl IntoIterator<Item = &'a Path>,
    renamed: &BTreeMap<PathBuf, PathBuf>,
) -> usize {
    let paths: BTreeSet<&Path> = paths.into_iter().collect();
    let pairs = renamed.iter().filter(|(to, from)| paths.contains(&***to) && paths.contains(&***from));
    paths.len() - pairs.count()
}

/// What is said of hunks that stood in another text of the file.
fn not_in_file(count: usize) -> String {
    format!("{count} undecided {} not in the file now", if count == 1 { "change is" } else { "changes are" })
}

fn title(shown: &Shown, count: Count) -> String {
    let Count { files, hunks, unread } = count;
    let (kept, undone) = shown.decided;
    let mut title = format!("Review: {files} {} · {hunks} {}", plural(files, "file"), plural(hunks, "hunk"));
    if unread > 0 {
        title.push_str(&format!(" so far, {unread} {} to be read", plural(unread, "file")));
    }
    for (count, what) in [(kept, "kept"), (undone, "undone"), (shown.comments.len(), "commented")] {
        if count > 0 {
            title.push_str(&format!(" · {count} {what}"));
        }
    }
    title
}

/// How much is left to decide of a file: `2 hunks · +3 -1`, `1 hunk · +1 -0 · new file`.
pub fn left_in(file: &FileReview, meant: &[usize]) -> String {
    let all = file.hunks();
    left_of(file, &meant.iter().filter_map(|at| all.get(*at)).collect::<Vec<_>>())
}

/// The same, of hunks that are at hand.
fn left_of(file: &FileReview, hunks: &[&Hunk]) -> String {
    let state = match (file.was_there, file.is_there) {
        (false, true) => " · new file",
        (true, false) => " · deleted",
        _ => "",
    };
    let missing = file.missing().count();
    if hunks.is_empty() && missing > 0 {
        return not_in_file(missing);
    }
    if file.without_hunks().is_some() {
        return format!("empty{state}");
    }
    let (added, removed) = visible_counts(hunks.iter().copied(), there(file));
    format!("{} {} · +{added} -{removed}{state}", hunks.len(), plural(hunks.len(), "hunk"))
}

/// Whether the file had and has any lines: an empty one has none, either.
pub fn there(file: &FileReview) -> (bool, bool) {
    let has_lines = |lines: &[Line]| lines.iter().any(|line| !line.is_empty()) || lines.len() > 1;
    (
        file.was_there && has_lines(file.base_lines()),
        file.is_there && (file.line_count() > 1 || has_lines(file.lines())),
    )
}

fn add_file(page: &mut Page, shown: &Shown, path: &Path, file: &FileReview, meant: &[usize]) {
    let missing = file.missing().count();
    let mut all: Vec<Option<Hunk>> = file.hunks().into_iter().map(Some).collect();
    let of_file = meant.iter().filter_map(|at| Some((*at, Arc::new(all.get_mut(*at)?.take()?))));
    let of_file: Vec<(usize, Arc<Hunk>)> = of_file.collect();
    let what = left_of(file, &of_file.iter().map(|(_, hunk)| &**hunk).collect::<Vec<_>>());
    if meant.is_empty() && missing > 0 {
        let origin: Vec<OriginId> = file.missing().filter_map(|each| each.origin).collect();
        return add_head(page, shown, path, (&origin, &what));
    }
    if let Some(last) = file.without_hunks() {
        return add_head(page, shown, path, (&[last], &what));
    }
    let there = there(file);
    let name = path.strip_prefix(shown.root).unwrap_or(path).display();
    page.add(format!("{name}  {what}"), About::File(path.to_owned()), ">1", "AcpTool");
    let mut last = None;
    for (at, hunk) in &of_file {
        // Who it was is said where it is another one than before.
        let origin = shown.origins.of_hunk(file, *at);
        let by = origin.filter(|_| last != origin).map(by).unwrap_or_default();
        last = origin;
        let mixed = if file.is_mixed(*at) { "  (with your edits)" } else { "" };
        page.hunk(path, hunk, format!("  @@ {}{by}{mixed}", hunk.row + 1), there);
        for comment in shown.comments.iter().filter(|comment| comment.is_on(path, hunk)) {
            add_comment(page, "  \u{270e} ", comment, "2");
        }
    }
    // Their lines may have been kept, or edited, since.
    let is_on_hunk = |comment: &Comment| of_file.iter().any(|(_, hunk)| comment.is_on(path, hunk));
    for comment in shown.comments.iter().filter(|comment| comment.path == path && !is_on_hunk(comment)) {
        add_comment(page, &format!("  \u{270e} {}  ", comment.shown_rows()), comment, "2");
    }
    if missing > 0 {
        let text = format!("  {}", not_in_file(missing));
        page.add(text, About::File(path.to_owned()), "2", "AcpMeta");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::changes::anchor::Anchor;
    use crate::core::ids::{EntryId, Moment, SessionKey};

    fn origins() -> Origins {
        let mut origins = Origins::default();
        origins.number(origins_of_page());
        origins
    }

    fn origins_of_page() -> Origin {
        Origin {
            session: SessionKey(1),
            agent: "demo".into(),
            prompt: EntryId(0),
            turn: 1,
            asked: String::new(),
            call: Some(EntryId(1)),
            title: "write a.rs".into(),
            at: Moment(0),
            since: Moment(0),
            others: Vec::new(),
        }
    }

    fn changed(before: Option<&str>, after: Option<&str>) -> FileReview {
        let mut file = FileReview::new(before);
        file.agent_wrote(None, after, crate::core::ids::OriginId(0));
        file
    }

    fn lines(files: &[(&str, &FileReview)], comments: &[Comment], decided: (usize, usize)) -> Vec<String> {
        let origins = origins();
        let shown = Shown {
            scope: &Scope::All,
            origins: &origins,
            comments,
            decided,
            renamed: &BTreeMap::from([("/p/new".into(), "/p/old".into())]),
            root: Path::new("/p"),
            by: RefCell::default(),
        };
        let files: Vec<(&Path, Listed)> =
            files.iter().map(|(path, file)| (Path::new(*path), Listed::Read(file))).collect();
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
    fn a_renamed_file_is_one_entry_with_what_else_has_changed_in_it() {
        let (new, old) = (changed(None, Some("a\nB")), changed(Some("a\nb"), None));
        assert_eq!(
            lines(&[("/p/new", &new), ("/p/old", &old)], &[], (0, 0)),
            [
                "Review: 1 file · 1 hunk",
                "keys",
                "",
                "old \u{2192} new  renamed · 1 hunk · +1 -1  demo: write a.rs",
                "  @@ 2",
                "  - b",
                "  + B",
            ]
        );
        let same = changed(None, Some("a\nb"));
        let all = lines(&[("/p/new", &same), ("/p/old", &old)], &[], (0, 0));
        assert_eq!(all[3..], ["old \u{2192} new  renamed  demo: write a.rs"]);
        let all = lines(&[("/p/new", &same)], &[], (0, 0));
        assert!(all[3].starts_with("new  1 hunk"), "alone it is a new file: {all:?}");
    }

    #[test]
    fn long_titles_are_cut_and_said_once() {
        let mut origins = Origins::default();
        let mut origin = origins_of_page();
        origin.title = "run ".to_owned() + &"x".repeat(90);
        let id = origins.number(origin);
        let mut file = FileReview::new(Some("a\nb\nc"));
        file.agent_wrote(None, Some("A\nb\nC"), id);
        let shown = Shown {
            scope: &Scope::All,
            origins: &origins,
            comments: &[],
            decided: (0, 0),
            renamed: &BTreeMap::new(),
            root: Path::new("/p"),
            by: RefCell::default(),
        };
        let files = [(Path::new("/p/a"), Listed::Read(&file))];
        let page = review_page(&shown, &files, Hints { some: "keys".into(), none: "done".into() });
        let heads: Vec<&String> = page.lines.iter().filter(|line| line.contains("@@")).collect();
        assert_eq!(heads, [&format!("  @@ 1  demo: run {}\u{2026}", "x".repeat(44)), "  @@ 3"]);
    }

    #[test]
    fn files_without_hunks_say_why() {
        let origins = origins();
        let scope = Scope::Session(SessionKey(1));
        let shown = Shown {
            scope: &scope,
            origins: &origins,
            comments: &[],
            decided: (0, 0),
            renamed: &BTreeMap::new(),
            root: Path::new("/p"),
            by: RefCell::default(),
        };
        let why = "not a text".to_owned();
        let binary = UnknownChange { origin: OriginId(0), why, sides: (false, true), undo: None };
        let (empty, seen_never) = (changed(None, Some("")), changed(Some("a"), Some("b")));
        let files = [
            (Path::new("/p/a"), Listed::Unread(&[OriginId(0)])),
            (Path::new("/p/b"), Listed::Unread(&[])),
            (Path::new("/p/c.png"), Listed::Unknown(&binary)),
            (Path::new("/p/d"), Listed::Read(&empty)),
            (Path::new("/p/e"), Listed::Unseen(&seen_never)),
        ];
        let page = review_page(&shown, &files, Hints { some: "keys".into(), none: "done".into() });
        assert_eq!(
            page.lines,
            [
                "Review: 4 files · 0 hunks so far, 2 files to be read",
                "keys",
                "",
                "a  changed  demo: write a.rs",
                "c.png  new file · no hunks: not a text  demo: write a.rs",
                "d  empty · new file  demo: write a.rs",
                "e  changed  demo: write a.rs",
            ]
        );
        assert_eq!(page.closed(), [], "no fold of one line is ever closed");
    }

    /// A question about the first change of `/p/a`, which has these lines.
    fn comment(file: &FileReview, text: &[&str]) -> Comment {
        let text: Vec<String> = text.iter().map(|line| (*line).to_owned()).collect();
        Comment {
            at: 1,
            path: "/p/a".into(),
            anchor: Anchor::new(file.hunks()[0].clone(), &text),
            is_about_change: true,
            there: (true, true),
            text: "why?".into(),
            is_draft: false,
            is_lost: false,
        }
    }

    #[test]
    fn a_comment_stands_below_its_hunk_and_is_counted() {
        let file = changed(Some("a\nb"), Some("a\nB"));
        let comment = comment(&file, &["a", "B"]);
        let elsewhere = Comment {
            at: 2,
            path: "/p/b".into(),
            text: "one\ntwo".into(),
            is_draft: true,
            ..comment.clone()
        };
        let all = lines(&[("/p/a", &file)], &[comment, elsewhere], (0, 0));
        assert_eq!(all[0], "Review: 1 file · 1 hunk · 2 commented");
        assert_eq!(
            all[6..],
            ["  + B", "  \u{270e} why?", "", "Comments", "  \u{270e} b:2  (draft) one", "    two"]
        );
    }

    #[test]
    fn a_comment_whose_lines_were_kept_stays_with_what_is_left_of_its_file() {
        let file = changed(Some("a\nb\nc\nd"), Some("A\nb\nc\nD"));
        let comment = comment(&file, &["A", "b", "c", "D"]);
        let mut rest = file.clone();
        rest.keep(0);
        let other = changed(Some("x"), Some("y"));
        let all = lines(&[("/p/a", &rest), ("/p/b", &other)], &[comment], (1, 0));
        let at = all.iter().position(|line| line == "  \u{270e} 1  why?").expect("the comment");
        assert!(all.iter().position(|line| line.starts_with("b  ")) > Some(at), "{all:?}");
        assert!(!all.contains(&"Comments".to_owned()), "{all:?}");
    }

    #[test]
    fn a_hunk_with_the_users_edits_says_so() {
        let mut file = changed(Some("a\nb"), Some("a\nB\nC"));
        file.user_wrote("a\nB\nmine");
        let all = lines(&[("/p/a", &file)], &[], (0, 0));
        assert!(all.iter().any(|line| line.ends_with("  (with your edits)")), "{all:?}");
    }
}
