//! What the user has undone of each session's changes, until its agent is told with the next prompt: by file, and in
//! few words, since the user reads it in the chat, too.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::core::changes::aim::Aim;
use crate::core::changes::diff::Hunk;
use crate::core::changes::hunk_history::print_of;
use crate::core::ids::SessionKey;
use crate::core::text::fitting::cut_end;
use crate::core::text::one_line;

/// At most so many lines are told.
const MAX_LINES: usize = 10;

/// At most so many positions in a file, or files that were put back together, are named.
const MAX_NAMES: usize = 5;

/// A line of a file, or what a checkpoint was before, is cut to so many characters.
const MAX_WORDS: usize = 50;

#[derive(Default)]
pub struct Undone(HashMap<SessionKey, Vec<File>>);

struct File {
    name: String,
    undone: What,
}

enum What {
    Hunks(PathBuf, Vec<Counted>),
    Restored(Restored),
}

/// All of a file was put back.
struct Restored {
    aim: Aim,
    /// What it held until then, by its print, as far as that is known.
    from: Option<u64>,
}

/// A file that the user puts back, by its name below the session's folder.
pub struct RestoredFile {
    pub name: String,
    pub aim: Aim,
    /// Prints of what it held until now and of what it holds then, as far as they are known.
    pub from: Option<u64>,
    pub to: Option<u64>,
}

/// A hunk that is not there any more.
struct Counted {
    line: usize,
    added: usize,
    removed: usize,
    /// The first line that says something.
    words: Option<String>,
    print: u64,
    /// So many like it stood in the file before. Where they do so again, it is there again.
    before: usize,
}

/// A hunk, or a part of one, that the user undoes in a file.
pub struct UndoneHunk<'a> {
    pub path: &'a Path,
    pub undone: &'a Hunk,
    /// All of it.
    pub whole: &'a Hunk,
    /// Those of the file until then.
    pub before: &'a Standing,
}

/// How many hunks of a file say the same, wherever they stand.
pub struct Standing(HashMap<u64, usize>);

impl Standing {
    pub fn of(hunks: &[Hunk]) -> Self {
        let mut counts = HashMap::new();
        hunks.iter().for_each(|hunk| *counts.entry(print(hunk)).or_default() += 1);
        Self(counts)
    }

    fn count(&self, print: u64) -> usize {
        self.0.get(&print).copied().unwrap_or_default()
    }

    /// Whether an undone hunk is there again.
    fn has(&self, hunk: &Counted) -> bool {
        self.count(hunk.print) >= hunk.before
    }
}

fn print(hunk: &Hunk) -> u64 {
    print_of(&(&hunk.removed, &hunk.added))
}

impl Counted {
    fn of(UndoneHunk { undone, whole, before, .. }: &UndoneHunk) -> Self {
        let words = undone.added.iter().chain(&undone.removed).find(|line| !line.trim().is_empty());
        let print = print(whole);
        Self {
            line: undone.row + 1,
            added: count(undone.row, &undone.added),
            removed: count(undone.row, &undone.removed),
            words: words.map(|line| cut_end(&one_line(line), MAX_WORDS)),
            print,
            before: before.count(print),
        }
    }
}

/// How many lines these are. A text without any still has one, an empty one.
fn count(row: usize, lines: &[String]) -> usize {
    match lines {
        [only] if row == 0 && only.is_empty() => 0,
        lines => lines.len(),
    }
}

impl Undone {
    /// A hunk in a file below the session's folder was undone.
    pub fn add_hunk(&mut self, session: SessionKey, cwd: &Path, hunk: &UndoneHunk) {
        let name = hunk.path.strip_prefix(cwd).unwrap_or(hunk.path).display().to_string();
        let files = self.0.entry(session).or_default();
        let known = files.iter_mut().rev().find(|file| file.name == name);
        match known.map(|file| &mut file.undone) {
            Some(What::Hunks(_, hunks)) => hunks.push(Counted::of(hunk)),
            _ => {
                let undone = What::Hunks(hunk.path.to_owned(), vec![Counted::of(hunk)]);
                files.push(File { name, undone });
            }
        }
    }

    /// A file was put back to what it was before something: what was undone in it until then is a part of that. One that
    /// holds again what it held before the first time is not undone.
    pub fn add_restored(&mut self, session: SessionKey, file: RestoredFile) {
        let RestoredFile { name, aim, from, to } = file;
        let files = self.0.entry(session).or_default();
        let earlier = files.iter().find(|file| file.name == name).map(|file| match &file.undone {
            What::Restored(first) => first.from,
            What::Hunks(..) => None,
        });
        files.retain(|file| file.name != name);
        let is_back = earlier.is_some_and(|first| first.is_some() && first == to);
        if !is_back {
            let aim = aim.with(cut_end(&one_line(aim.asked()), MAX_WORDS));
            let from = earlier.unwrap_or(from);
            files.push(File { name, undone: What::Restored(Restored { aim, from }) });
        }
    }

    /// These hunks stand in a file that the user is about to keep: they stand there no longer then, and are not undone.
    /// They are asked for only where something was undone.
    pub fn keeps(&mut self, path: &Path, standing: impl FnOnce() -> Standing) {
        if !self.0.values().flatten().any(|file| file.path() == Some(path)) {
            return;
        }
        let standing = standing();
        for files in self.0.values_mut() {
            files.retain_mut(|file| file.path() != Some(path) || file.is_left(&standing));
        }
    }

    /// What is added to a session's prompt: all that is still undone. It is told once. `now` has the hunks that stand in
    /// a file.
    pub fn take(&mut self, session: SessionKey, now: impl Fn(&Path) -> Standing) -> Option<String> {
        let mut files = self.0.remove(&session)?;
        files.retain_mut(|file| file.path().map(&now).is_none_or(|standing| file.is_left(&standing)));
        if files.is_empty() {
            return None;
        }
        let (back, undone): (Vec<File>, Vec<File>) = files.into_iter().partition(File::is_back);
        let mut told = String::new();
        for (head, files) in [
            ("I undid these changes of yours:", undone),
            ("I brought back these changes of yours, which I had undone:", back),
        ] {
            if !files.is_empty() {
                told.push_str(&format!("\n\n{head}\n{}", lines(&files).join("\n")));
            }
        }
        Some(told)
    }

    /// A session is over.
    pub fn forget(&mut self, session: SessionKey) {
        self.0.remove(&session);
    }
}

/// Those that were put back together are one line.
fn lines(files: &[File]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut told = 0;
    let is_same = |one: &File, other: &File| match (&one.undone, &other.undone) {
        (What::Restored(one), What::Restored(other)) => one.aim == other.aim,
        _ => false,
    };
    for together in files.chunk_by(is_same).take(MAX_LINES) {
        lines.push(line(together));
        told += together.len();
    }
    match files.len() - told {
        0 => {}
        1 => lines.push("- and 1 more file".to_owned()),
        more => lines.push(format!("- and {more} more files")),
    }
    lines
}

impl File {
    /// Whether what had been undone in it was brought back.
    fn is_back(&self) -> bool {
        matches!(&self.undone, What::Restored(Restored { aim: Aim::Undoes(_), .. }))
    }

    /// Where single hunks were undone.
    fn path(&self) -> Option<&Path> {
        match &self.undone {
            What::Hunks(path, _) => Some(path),
            What::Restored(_) => None,
        }
    }

    /// Forgets what is there again. Says whether anything is left to tell.
    fn is_left(&mut self, standing: &Standing) -> bool {
        let What::Hunks(_, hunks) = &mut self.undone else { return true };
        hunks.retain(|hunk| !standing.has(hunk));
        !hunks.is_empty()
    }
}

/// One file, or those that were put back together.
fn line(files: &[File]) -> String {
    let File { name, undone } = &files[0];
    match undone {
        What::Restored(Restored { aim, .. }) => {
            let names = listed(files.iter().map(|file| file.name.clone()));
            match (aim, files.len()) {
                (Aim::Before(asked), 1) => format!("- {name}: all of it, back to before \"{asked}\""),
                (Aim::Before(asked), count) => {
                    format!("- {count} files, back to before \"{asked}\": {names}")
                }
                (Aim::Undoes(asked), 1) => {
                    format!("- {name}: all of it, which I had put back to before \"{asked}\"")
                }
                (Aim::Undoes(asked), count) => {
                    format!("- {count} files, which I had put back to before \"{asked}\": {names}")
                }
            }
        }
        What::Hunks(_, hunks) => {
            let sum = |of: fn(&Counted) -> usize| hunks.iter().map(of).sum::<usize>();
            let (added, removed) = (sum(|hunk| hunk.added), sum(|hunk| hunk.removed));
            match &hunks[..] {
                [only] => {
                    let words = only.words.as_ref().map(|words| format!(": {words}")).unwrap_or_default();
                    format!("- {name}:{} (+{added} -{removed}){words}", only.line)
                }
                hunks => {
                    let at = listed(hunks.iter().map(|hunk| hunk.line.to_string()));
                    format!("- {name}: {} changes (+{added} -{removed}), at lines {at}", hunks.len())
                }
            }
        }
    }
}

fn listed(all: impl ExactSizeIterator<Item = String>) -> String {
    let more = all.len().saturating_sub(MAX_NAMES);
    let mut named: Vec<String> = all.take(MAX_NAMES).collect();
    if more > 0 {
        named.push(format!("and {more} more"));
    }
    named.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: SessionKey = SessionKey(1);

    fn hunk(row: usize, removed: &[&str], added: &[&str]) -> Hunk {
        let lines = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
        Hunk { row, removed: lines(removed), added: lines(added) }
    }

    fn restored(name: &str, asked: &str) -> RestoredFile {
        RestoredFile { name: name.to_owned(), aim: Aim::Before(asked.to_owned()), from: None, to: None }
    }

    fn add(undone: &mut Undone, path: &str, hunk: &Hunk, all: &[Hunk]) {
        let before = Standing::of(all);
        let hunk = UndoneHunk { path: Path::new(path), undone: hunk, whole: hunk, before: &before };
        undone.add_hunk(ONE, Path::new("/p"), &hunk);
    }

    fn nothing(_: &Path) -> Standing {
        Standing::of(&[])
    }

    /// What is told of hunks that were undone in a file, without the head.
    fn told(path: &str, hunks: &[Hunk]) -> String {
        let mut undone = Undone::default();
        hunks.iter().for_each(|hunk| add(&mut undone, path, hunk, hunks));
        let told = undone.take(ONE, nothing).unwrap_or_default();
        told.strip_prefix("\n\nI undid these changes of yours:\n").expect("the head").to_owned()
    }

    #[test]
    fn an_undone_hunk_is_told_by_its_position_its_size_and_its_first_line() {
        assert_eq!(told("/p/src/a.rs", &[hunk(2, &["x"], &["", "  new"])]), "- src/a.rs:3 (+2 -1): new");
        assert_eq!(told("/q/a", &[hunk(2, &["", "gone"], &[])]), "- /q/a:3 (+0 -2): gone");
        assert_eq!(told("/p/a", &[hunk(2, &[], &["", " "])]), "- a:3 (+2 -0)");
    }

    #[test]
    fn a_new_file_had_no_line_before_and_an_emptied_one_has_none_after() {
        assert_eq!(told("/p/a", &[hunk(0, &[""], &["1", "2"])]), "- a:1 (+2 -0): 1");
        assert_eq!(told("/p/a", &[hunk(0, &["1", "2"], &[""])]), "- a:1 (+0 -2): 1");
        assert_eq!(told("/p/a", &[hunk(4, &["1", "2"], &[""])]), "- a:5 (+1 -2): 1");
    }

    #[test]
    fn a_long_line_is_cut() {
        let long = format!("let x = {};", "0123456789 ".repeat(30));
        let told = told("/p/a", &[hunk(2, &[], &[&long])]);
        assert!(told.chars().count() < 70 && told.ends_with('…'), "{told}");
    }

    #[test]
    fn several_hunks_of_a_file_are_one_line() {
        let hunks: Vec<Hunk> = (0..7).map(|at| hunk(at * 10 + 1, &["a", "b"], &["c"])).collect();
        assert_eq!(told("/p/a", &hunks), "- a: 7 changes (+7 -14), at lines 2, 12, 22, 32, 42, and 2 more");
    }

    #[test]
    fn files_that_were_put_back_together_are_one_line_and_a_file_is_told_once() {
        let mut undone = Undone::default();
        let one = hunk(2, &[], &["x"]);
        add(&mut undone, "/p/a", &one, std::slice::from_ref(&one));
        undone.add_restored(ONE, restored("a", &"make it\nwork ".repeat(20)));
        let alone = undone.take(ONE, nothing).unwrap_or_default();
        assert!(alone.contains("\n- a: all of it, back to before \"make it work make it"), "{alone}");
        assert_eq!(alone.lines().count(), 4, "{alone}");
        ('a'..='g').for_each(|name| undone.add_restored(ONE, restored(&name.to_string(), "go")));
        undone.add_restored(ONE, restored("x", "stop"));
        let told = undone.take(ONE, nothing).unwrap_or_default();
        let expected = "- 7 files, back to before \"go\": a, b, c, d, e, and 2 more\n\
                        - x: all of it, back to before \"stop\"";
        assert!(told.ends_with(expected), "{told}");
    }

    #[test]
    fn a_restore_that_was_told_and_is_undone_is_said_in_plain_words() {
        let mut undone = Undone::default();
        undone.add_restored(ONE, restored("a", "go"));
        assert!(undone.take(ONE, nothing).is_some());
        let aim = Aim::Undoes("go".to_owned());
        undone.add_restored(ONE, RestoredFile { aim: aim.clone(), ..restored("a", "") });
        undone.add_restored(ONE, restored("b", "stop"));
        undone.add_restored(ONE, RestoredFile { aim, ..restored("c", "") });
        let told = undone.take(ONE, nothing).unwrap_or_default();
        let expected = "\n\nI undid these changes of yours:\n- b: all of it, back to before \"stop\"\n\n\
                        I brought back these changes of yours, which I had undone:\n\
                        - 2 files, which I had put back to before \"go\": a, c";
        assert_eq!(told, expected);
    }

    #[test]
    fn a_file_that_holds_again_what_it_held_is_not_told() {
        let told = |texts: &[(u64, u64)]| {
            let mut undone = Undone::default();
            for (from, to) in texts {
                let file = RestoredFile { from: Some(*from), to: Some(*to), ..restored("a", "go") };
                undone.add_restored(ONE, file);
            }
            undone.take(ONE, nothing)
        };
        assert!(told(&[(1, 2)]).is_some());
        assert_eq!(told(&[(1, 2), (2, 1)]), None);
        assert!(told(&[(1, 2), (2, 3)]).is_some());
        assert_eq!(told(&[(1, 2), (2, 3), (3, 1)]), None);
        assert!(told(&[(1, 2), (2, 1), (1, 2)]).is_some());
    }

    #[test]
    fn what_was_undone_is_told_once_and_to_its_own_session() {
        let mut undone = Undone::default();
        let add = |undone: &mut Undone| undone.add_restored(ONE, restored("a", "go"));
        add(&mut undone);
        assert_eq!(undone.take(SessionKey(2), nothing), None);
        assert!(undone.take(ONE, nothing).is_some());
        assert_eq!(undone.take(ONE, nothing), None);
        add(&mut undone);
        undone.forget(ONE);
        assert_eq!(undone.take(ONE, nothing), None);
    }

    #[test]
    fn what_is_there_again_is_not_told() {
        let (one, other) = (hunk(1, &["a"], &["A"]), hunk(5, &["b"], &["B"]));
        let moved = |hunk: &Hunk| Hunk { row: hunk.row + 3, ..hunk.clone() };
        let told = |undone: &[&Hunk], before: &[Hunk], now: &[Hunk]| {
            let mut all = Undone::default();
            undone.iter().for_each(|hunk| add(&mut all, "/p/a", hunk, before));
            all.take(ONE, |_| Standing::of(now))
        };
        let both = [one.clone(), other.clone()];
        assert_eq!(told(&[&one, &other], &both, &[moved(&one), other.clone()]), None);
        let left = told(&[&one, &other], &both, &[moved(&one)]).expect("the other one");
        assert!(left.ends_with("\n- a:6 (+1 -1): B"), "{left}");
        // Another one that says the same stays where it is.
        let twins = [one.clone(), moved(&one)];
        assert!(told(&[&one], &twins, &twins[1..]).is_some());
        assert_eq!(told(&[&one], &twins, &twins), None);
    }

    #[test]
    fn what_is_there_again_and_kept_then_is_not_told() {
        let (one, other) = (hunk(1, &["a"], &["A"]), hunk(5, &["b"], &["B"]));
        let both = [one.clone(), other.clone()];
        let mut undone = Undone::default();
        both.iter().for_each(|hunk| add(&mut undone, "/p/a", hunk, &both));
        undone.keeps(Path::new("/p/b"), || Standing::of(&both));
        undone.keeps(Path::new("/p/a"), || Standing::of(std::slice::from_ref(&one)));
        let told = undone.take(ONE, nothing).expect("the other one");
        assert!(told.ends_with("\n- a:6 (+1 -1): B"), "{told}");
    }

    #[test]
    fn of_many_files_the_rest_is_counted() {
        let mut undone = Undone::default();
        for at in 0..MAX_LINES + 3 {
            let path = format!("/p/{at}");
            let one = hunk(1, &[], &["x"]);
            add(&mut undone, &path, &one, std::slice::from_ref(&one));
        }
        let told = undone.take(ONE, nothing).unwrap_or_default();
        assert_eq!(told.lines().count(), 3 + MAX_LINES + 1);
        assert!(told.ends_with("- 9:2 (+1 -0): x\n- and 3 more files"), "{told}");
    }
}
