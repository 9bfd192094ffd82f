//! What an open call proposes, as the lines of a page: for changes that cannot all be seen in the file itself, since
//! it is new, goes away, is one of several, or is lower on the screen than they are. Which of both is shown, and
//! where, is left to `nvim::review::staging`.

use std::path::{Path, PathBuf};

use crate::core::changes::diff::{Hunk, Placed, PlacedState, counts};
use crate::core::changes::hunk_page::{About, Page, plural, shown, visible};
use crate::core::changes::review_edits::{ADDED, REMOVED};
use crate::core::changes::words::Words;
use crate::core::text::{Text, cells};

/// So many lines of a file stand around a hunk.
const CONTEXT: usize = 3;

/// What a context line begins with: as many cells as the others have before their text.
const AROUND: &str = "    ";

/// A page has no more lines; the rest is said in one.
const MOST_LINES: usize = 20_000;

/// A file, and what is to become of it.
#[derive(Clone, Debug)]
pub struct ProposedFile {
    pub path: PathBuf,
    /// The present text; `None` where there is no such file.
    pub text: Option<Text>,
    pub placed: Vec<Placed>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Made,
    Changed,
    Removed,
}

/// The page of what is proposed.
#[derive(Default)]
pub struct ProposalPage {
    pub page: Page,
    /// The rows at which hunks begin.
    pub heads: Vec<usize>,
    pub counts: (usize, usize),
}

impl ProposedFile {
    pub fn fate(&self) -> Fate {
        let Some(text) = &self.text else { return Fate::Made };
        let lines = text.plain_lines().split('\n').count();
        let is_emptied = self.placed.iter().any(|placed| {
            placed.state == PlacedState::Proposed
                && matches!(placed.hunks.as_slice(), [hunk] if hunk.removed.len() >= lines
                    && hunk.added.iter().all(String::is_empty))
        });
        match is_emptied && lines > 0 && !text.is_empty() {
            true => Fate::Removed,
            false => Fate::Changed,
        }
    }

    /// All hunks from the top down.
    pub fn hunks(&self) -> Vec<(PlacedState, &Hunk)> {
        let of = |placed: &'_ Placed| placed.state;
        let mut all: Vec<_> = self
            .placed
            .iter()
            .flat_map(|placed| placed.hunks.iter().map(move |hunk| (of(placed), hunk)))
            .collect();
        all.sort_by_key(|(_, hunk)| hunk.row);
        all
    }
}

/// Whether it could be shown in the file itself, if there is room.
pub fn fits_into_file(files: &[ProposedFile]) -> bool {
    matches!(files, [file] if file.fate() == Fate::Changed)
}

/// The page of files; their names are told from `root` on.
pub fn page(files: &[ProposedFile], root: &Path) -> ProposalPage {
    let mut all = ProposalPage::default();
    for (at, file) in files.iter().enumerate() {
        if at > 0 {
            all.page.add(String::new(), About::Nothing, "0", "");
        }
        all.file(file, root);
    }
    all
}

impl ProposalPage {
    fn file(&mut self, file: &ProposedFile, root: &Path) {
        let fate = file.fate();
        let sides = (fate != Fate::Made, fate != Fate::Removed);
        let hunks: Vec<(PlacedState, Hunk)> =
            file.hunks().into_iter().map(|(state, hunk)| (state, visible(hunk, sides))).collect();
        let all: Vec<Hunk> = hunks.iter().map(|(_, hunk)| hunk.clone()).collect();
        let (added, removed) = counts(&all);
        self.counts = (self.counts.0 + added, self.counts.1 + removed);
        let what = match fate {
            Fate::Made => "new file".to_owned(),
            Fate::Removed => "deleted".to_owned(),
            Fate::Changed => format!("{} {}", hunks.len(), plural(hunks.len(), "hunk")),
        };
        let name = file.path.strip_prefix(root).unwrap_or(&file.path).display();
        let about = About::File(file.path.clone());
        self.page.add(shown(&format!("{name}  {what} \u{b7} +{added} -{removed}")), about, ">1", "AcpTool");
        if hunks.is_empty() {
            let text = match file.text.is_some() {
                true => "(nothing but line ends would change)",
                false => "(an empty file)",
            };
            self.page.add(format!("{AROUND}{text}"), About::Nothing, "1", "AcpMeta");
        }
        let text = file.text.as_ref().map(Text::plain_lines).unwrap_or_default();
        let lines: Vec<&str> = if fate == Fate::Changed { text.split('\n').collect() } else { Vec::new() };
        let mut done = 0;
        for (at, (state, hunk)) in hunks.iter().enumerate() {
            let next = hunks.get(at + 1).map_or(lines.len(), |(_, next)| next.row);
            let held = match state {
                PlacedState::Proposed => hunk.removed.len(),
                PlacedState::Applied => hunk.added.len(),
                PlacedState::Unmatched => 0,
            };
            let (first, last) = (hunk.row.min(lines.len()), (hunk.row + held).min(lines.len()));
            self.heads.push(self.page.lines.len());
            if fate == Fate::Changed {
                let note = match state {
                    PlacedState::Proposed => "",
                    PlacedState::Applied => "  (done already)",
                    PlacedState::Unmatched => {
                        "  (the file has changed since the agent read it: its own view)"
                    }
                };
                self.page.add(format!("  @@ {}{note}", hunk.row + 1), About::Nothing, ">2", "AcpMeta");
            }
            self.around(file, &lines[first.saturating_sub(CONTEXT).max(done).min(first)..first]);
            self.lines(file, hunk);
            done = (last + CONTEXT).min(next.max(last)).min(lines.len());
            self.around(file, &lines[last..done]);
        }
    }

    fn around(&mut self, file: &ProposedFile, lines: &[&str]) {
        if lines.is_empty() {
            return;
        }
        let own: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        self.page.code.push((self.page.lines.len(), file.path.clone(), own));
        for line in lines {
            self.page.add(format!("{AROUND}{}", shown(line)), About::Nothing, "2", "");
        }
    }

    fn lines(&mut self, file: &ProposedFile, hunk: &Hunk) {
        let words = Words::of_first(hunk, MOST_LINES);
        let sides: [(&[String], &str, [&'static str; 2]); 2] = [
            (&hunk.removed, REMOVED, ["AcpDiffDelete", "AcpDiffDeleteWord"]),
            (&hunk.added, ADDED, ["AcpDiffAdd", "AcpDiffAddWord"]),
        ];
        for (lines, sign, [group, strong]) in sides {
            let room = MOST_LINES.saturating_sub(self.page.lines.len());
            let (lines, left) = lines.split_at(room.min(lines.len()));
            self.page.code.push((self.page.lines.len(), file.path.clone(), lines.to_vec()));
            for (at, line) in lines.iter().enumerate() {
                let words = if sign == REMOVED { words.removed(at) } else { words.added(at) };
                if !words.is_empty() {
                    self.page.words.push((self.page.lines.len(), words.to_vec(), strong));
                }
                self.page.add(format!("{sign}{}", shown(line)), About::Nothing, "2", group);
            }
            if !left.is_empty() {
                let text = format!("{AROUND}\u{2026} {} more {}", left.len(), plural(left.len(), "line"));
                self.page.add(text, About::Nothing, "2", "AcpMeta");
            }
        }
    }
}

/// The bar above a page, in the format of 'winbar', for a window of this width. Where there is too little room the
/// agent goes first, and then the beginning of the file's name.
pub fn proposal_bar(agent: &str, name: &str, counts: (usize, usize), how: &str, width: usize) -> String {
    let (added, removed) = counts;
    let answers = format!(" {how} answers ");
    let fixed = cells(name) + cells(&answers) + 1;
    // They stand in the first line, too.
    let counts = Some(format!("  +{added} -{removed}")).filter(|counts| fixed + cells(counts) <= width);
    let counts = counts.unwrap_or_default();
    let rest = fixed + cells(&counts);
    let agent = if rest + cells(agent) + 2 <= width { format!("{agent}: ") } else { String::new() };
    let escape = |text: &str| text.replace('%', "%%");
    format!(
        "%#AcpWinbar# {}%<{}%#AcpMeta#{counts}%=%#AcpToolWaiting#{}",
        escape(&agent),
        escape(name),
        escape(&answers)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::changes::diff::place;
    use crate::core::message::FileDiff;

    fn file(path: &str, text: Option<&str>, old: Option<&str>, new: &str) -> ProposedFile {
        let diff = FileDiff { path: path.into(), old_text: old.map(Into::into), new_text: new.into() };
        let placed = place(text.unwrap_or_default(), &[diff]);
        ProposedFile { path: path.into(), text: text.map(Into::into), placed }
    }

    fn lines(files: &[ProposedFile]) -> Vec<String> {
        page(files, Path::new("/p")).page.lines
    }

    #[test]
    fn a_new_file_has_all_its_lines_and_no_empty_one_that_goes() {
        let new = file("/p/new.txt", None, None, "one\ntwo\n");
        assert_eq!(new.fate(), Fate::Made);
        assert!(!fits_into_file(std::slice::from_ref(&new)));
        assert_eq!(lines(&[new]), ["new.txt  new file \u{b7} +2 -0", "  + one", "  + two"]);
    }

    #[test]
    fn a_file_that_goes_has_all_its_lines() {
        let gone = file("/p/old.txt", Some("one\ntwo\n"), Some("one\ntwo\n"), "");
        assert_eq!(gone.fate(), Fate::Removed);
        assert!(!fits_into_file(std::slice::from_ref(&gone)));
        assert_eq!(lines(&[gone]), ["old.txt  deleted \u{b7} +0 -2", "  - one", "  - two"]);
    }

    #[test]
    fn a_hunk_stands_between_lines_of_the_file_each_of_them_once() {
        let text = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n";
        let changed = file("/p/x", Some(text), Some(text), "a\nb\nc\nd\nE\nf\nG\nh\ni\nj\n");
        assert!(fits_into_file(std::slice::from_ref(&changed)));
        let page = page(&[changed], Path::new("/p"));
        assert_eq!(
            page.page.lines,
            [
                "x  2 hunks \u{b7} +2 -2",
                "  @@ 5",
                "    b",
                "    c",
                "    d",
                "  - e",
                "  + E",
                "    f",
                "  @@ 7",
                "  - g",
                "  + G",
                "    h",
                "    i",
                "    j",
            ]
        );
        assert_eq!((page.heads, page.counts), (vec![1, 8], (2, 2)));
    }

    #[test]
    fn several_files_stand_below_each_other() {
        let all = [file("/p/a", Some("one\n"), Some("one"), "ONE"), file("/q/b", None, None, "b\n")];
        assert!(!fits_into_file(&all));
        assert_eq!(
            lines(&all),
            [
                "a  1 hunk \u{b7} +1 -1",
                "  @@ 1",
                "  - one",
                "  + ONE",
                "",
                "/q/b  new file \u{b7} +1 -0",
                "  + b"
            ]
        );
    }

    #[test]
    fn a_view_of_the_agents_that_is_nowhere_in_the_file_says_so() {
        let adrift = file("/p/a", Some("x\ny\n"), Some("gone\n"), "new\n");
        let lines = lines(&[adrift]);
        assert!(lines.iter().any(|line| line.contains("its own view")), "{lines:?}");
        assert!(lines.contains(&"  - gone".to_owned()) && lines.contains(&"  + new".to_owned()), "{lines:?}");
    }

    #[test]
    fn what_changes_no_line_says_so() {
        let same = file("/p/a", Some("x\n"), Some("x\n"), "x\r\n");
        assert_eq!(lines(&[same]), ["a  0 hunks \u{b7} +0 -0", "    (nothing but line ends would change)"]);
    }

    #[test]
    fn a_page_of_a_huge_file_ends_and_says_how_much_is_left() {
        let new = file("/p/a", None, None, &"x\n".repeat(MOST_LINES + 10));
        let lines = lines(&[new]);
        assert_eq!(lines.len(), MOST_LINES + 1);
        assert!(lines.last().is_some_and(|line| line.contains("more lines")), "{:?}", lines.last());
    }

    #[test]
    fn in_a_narrow_window_the_file_has_the_room_and_not_the_agent() {
        let bar = |width| proposal_bar("Fake 1%", "src/a%.rs", (10, 0), "<CR>", width);
        assert!(bar(80).contains(" Fake 1%%: %<src/a%%.rs%#AcpMeta#  +10 -0%="), "{}", bar(80));
        assert!(bar(40).contains(" %<src/a%%.rs%#AcpMeta#"), "{}", bar(40));
        assert!(bar(40).ends_with("%#AcpToolWaiting# <CR> answers "), "{}", bar(40));
    }

    #[test]
    fn a_bar_is_no_longer_than_its_window_as_long_as_the_name_fits() {
        for width in 32..120 {
            let bar = proposal_bar("Demo agent", "acp-tour-long.txt", (120, 0), "<CR>", width);
            let parts = bar.split("%#").map(|part| part.split_once('#').map_or(part, |(_, text)| text));
            let shown = parts.collect::<String>().replace("%<", "").replace("%=", "");
            assert!(cells(&shown) <= width, "{shown:?} in {width}");
            assert_eq!(shown.contains("+120"), width >= 41, "{shown:?} in {width}");
        }
    }
}
