//! What an open call proposes, as the lines of a page: for changes that cannot all be seen in the file itself, since
//! it is new, goes away, is one of several, or is lower on the screen than they are. Which of both is shown, and
//! where, is left to `nvim::review::staging`.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::core::changes::diff::{Hunk, Placed, PlacedState, place};
use crate::core::changes::hunk_page::{About, Page, plural, shown, sides, visible, visible_counts};
use crate::core::changes::review_edits::{ADDED, REMOVED};
use crate::core::message::FileDiff;
use crate::core::text::fitting::cut_end;
use crate::core::text::{Text, cells};

/// So many lines of a file stand around a hunk.
const CONTEXT: usize = 3;

/// What a context line begins with: as many cells as the others have before their text.
const AROUND: &str = "    ";

/// A page has no more lines; the rest is said in one.
const MOST_LINES: usize = 20_000;

/// A file, and what is to become of it. The file may be long, so the lines around its hunks are found once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposedFile {
    pub path: PathBuf,
    pub fate: Fate,
    pub placed: Vec<Placed>,
    /// From the top down.
    hunks: Vec<Shown>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fate {
    Made,
    Changed,
    Removed,
}

/// A hunk as it is shown on the page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Shown {
    state: PlacedState,
    /// Without the empty line that stands for a file that is not there.
    hunk: Arc<Hunk>,
    /// The lines of the file before and after it, each on the page once.
    above: Vec<String>,
    below: Vec<String>,
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
    /// What diffs make of a file's present text; `None` where there is no such file.
    pub fn new(path: PathBuf, text: Option<&Text>, diffs: &[FileDiff]) -> Self {
        let placed = place(&text.map(Text::body).unwrap_or_default(), diffs);
        let text = text.map(Text::plain_lines);
        let fate = fate(text.as_ref(), &placed);
        let mut file = Self { path, fate, placed, hunks: Vec::new() };
        let there = (fate != Fate::Made, fate != Fate::Removed);
        let hunks = file.hunks().into_iter().map(|(state, hunk)| (state, shared(hunk, there)));
        let hunks: Vec<(PlacedState, Arc<Hunk>)> = hunks.collect();
        let text = text.filter(|_| fate == Fate::Changed && !hunks.is_empty());
        let lines: Vec<&str> = text.iter().flat_map(|text| text.split('\n')).collect();
        let mut done = 0;
        for (at, (state, hunk)) in hunks.iter().enumerate() {
            let next = hunks.get(at + 1).map_or(lines.len(), |(_, next)| next.row);
            let held = match state {
                PlacedState::Proposed => hunk.removed.len(),
                PlacedState::Applied => hunk.added.len(),
                PlacedState::Unmatched => 0,
            };
            let (first, last) = (hunk.row.min(lines.len()), (hunk.row + held).min(lines.len()));
            let owned = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
            let above = owned(&lines[first.saturating_sub(CONTEXT).max(done).min(first)..first]);
            done = (last + CONTEXT).min(next.max(last)).min(lines.len());
            let below = owned(&lines[last..done]);
            file.hunks.push(Shown { state: *state, hunk: hunk.clone(), above, below });
        }
        file
    }

    /// All hunks from the top down, as they stand in the text.
    pub fn hunks(&self) -> Vec<(PlacedState, &Arc<Hunk>)> {
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

/// The rows of hunks in a text of so many lines, without those in which something else is proposed. Where lines went,
/// it is the row below.
pub fn rows_unproposed(hunks: &[Hunk], proposed: &[Range<usize>], lines: usize) -> Vec<Range<usize>> {
    let mut beside = Vec::new();
    for hunk in hunks {
        let start = hunk.row.min(lines.saturating_sub(1));
        let mut left = start..(hunk.row + hunk.added.len()).max(start + 1).min(lines);
        let first = proposed.partition_point(|rows| rows.end <= left.start);
        for rows in proposed[first..].iter().take_while(|rows| rows.start < left.end) {
            beside.push(left.start..rows.start);
            left.start = rows.end;
        }
        beside.push(left);
    }
    beside.retain(|rows| rows.start < rows.end);
    beside
}

fn fate(text: Option<&Text>, placed: &[Placed]) -> Fate {
    let Some(text) = text else { return Fate::Made };
    let lines = text.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let is_emptied = placed.iter().any(|placed| {
        placed.state == PlacedState::Proposed
            && matches!(placed.hunks.as_slice(), [hunk] if hunk.removed.len() >= lines
                && hunk.added.iter().all(String::is_empty))
    });
    if is_emptied && !text.is_empty() { Fate::Removed } else { Fate::Changed }
}

/// A hunk as it is shown, which is the same one but for files that are not there.
fn shared(hunk: &Arc<Hunk>, there: (bool, bool)) -> Arc<Hunk> {
    let (removed, added) = sides(hunk, there);
    let is_same = (removed.len(), added.len()) == (hunk.removed.len(), hunk.added.len());
    if is_same { hunk.clone() } else { Arc::new(visible(Hunk::clone(hunk), there)) }
}

/// Whether it could be shown in the file itself, if there is room.
pub fn fits_into_file(files: &[&ProposedFile]) -> bool {
    matches!(files, [file] if file.fate == Fate::Changed)
}

/// The page of files; their names are told from `root` on.
pub fn page(files: &[&ProposedFile], root: &Path) -> ProposalPage {
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
        let hunks = &file.hunks;
        let (added, removed) = visible_counts(hunks.iter().map(|shown| &*shown.hunk), (true, true));
        self.counts = (self.counts.0 + added, self.counts.1 + removed);
        let what = match file.fate {
            Fate::Made => "new file".to_owned(),
            Fate::Removed => "deleted".to_owned(),
            Fate::Changed => format!("{} {}", hunks.len(), plural(hunks.len(), "hunk")),
        };
        let name = file.path.strip_prefix(root).unwrap_or(&file.path).display();
        let about = About::File(file.path.clone());
        self.page.add(shown(&format!("{name}  {what} \u{b7} +{added} -{removed}")), about, ">1", "AcpTool");
        if hunks.is_empty() {
            let text = match file.fate {
                Fate::Made => "(an empty file)",
                Fate::Changed | Fate::Removed => "(nothing but line ends would change)",
            };
            self.page.add(format!("{AROUND}{text}"), About::Nothing, "1", "AcpMeta");
        }
        for Shown { state, hunk, above, below } in hunks {
            self.heads.push(self.page.lines.len());
            if file.fate == Fate::Changed {
                let note = match state {
                    PlacedState::Proposed => "",
                    PlacedState::Applied => "  (done already)",
                    PlacedState::Unmatched => {
                        "  (the file has changed since the agent read it: its own view)"
                    }
                };
                self.page.add(format!("  @@ {}{note}", hunk.row + 1), About::Nothing, ">2", "AcpMeta");
            }
            self.around(file, above);
            self.lines(file, hunk);
            self.around(file, below);
        }
    }

    fn around(&mut self, file: &ProposedFile, lines: &[String]) {
        if lines.is_empty() {
            return;
        }
        self.page.code_around(&file.path, lines.to_vec());
        for line in lines {
            self.page.add(format!("{AROUND}{}", shown(line)), About::Nothing, "2", "");
        }
    }

    fn lines(&mut self, file: &ProposedFile, hunk: &Arc<Hunk>) {
        let mut runs = [(0, 0); 2];
        let sides: [(&[String], &str, &'static str); 2] =
            [(&hunk.removed, REMOVED, "AcpDiffDelete"), (&hunk.added, ADDED, "AcpDiffAdd")];
        for ((lines, sign, group), run) in sides.into_iter().zip(&mut runs) {
            let row = self.page.lines.len();
            let room = MOST_LINES.saturating_sub(row);
            let (lines, left) = lines.split_at(room.min(lines.len()));
            *run = (row, lines.len());
            for line in lines {
                self.page.add(format!("{sign}{}", shown(line)), About::Nothing, "2", group);
            }
            if !left.is_empty() {
                let text = format!("{AROUND}\u{2026} {} more {}", left.len(), plural(left.len(), "line"));
                self.page.add(text, About::Nothing, "2", "AcpMeta");
            }
        }
        self.page.code_of(&file.path, hunk, runs);
    }
}

/// Less of an agent's name would say nothing.
const AGENT_ROOM: usize = 12;

/// The bar above a page, in the format of 'winbar', for a window of this width. Where there is too little room the
/// agent's name is cut and goes first, and then the beginning of the file's name.
pub fn proposal_bar(agent: &str, name: &str, counts: (usize, usize), how: &str, width: usize) -> String {
    let (added, removed) = counts;
    let answers = format!(" {how} answers ");
    let fixed = cells(name) + cells(&answers) + 1;
    // They stand in the first line, too.
    let counts = Some(format!("  +{added} -{removed}")).filter(|counts| fixed + cells(counts) <= width);
    let counts = counts.unwrap_or_default();
    let rest = fixed + cells(&counts);
    let room = width.saturating_sub(rest + 2);
    let agent = match room >= cells(agent).min(AGENT_ROOM) {
        true => format!("{}: ", cut_end(agent, room)),
        false => String::new(),
    };
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

    fn file(path: &str, text: Option<&str>, old: Option<&str>, new: &str) -> ProposedFile {
        let diff = FileDiff { path: path.into(), old_text: old.map(Into::into), new_text: new.into() };
        ProposedFile::new(path.into(), text.map(Text::from).as_ref(), &[diff])
    }

    fn lines(files: &[ProposedFile]) -> Vec<String> {
        page(&files.iter().collect::<Vec<_>>(), Path::new("/p")).page.lines
    }

    #[test]
    fn hunks_have_the_rows_in_which_nothing_else_is_proposed() {
        let hunk = |row, added: usize| Hunk { row, removed: Vec::new(), added: vec![String::new(); added] };
        let hunks = [hunk(0, 4), hunk(6, 2), hunk(10, 0)];
        assert_eq!(rows_unproposed(&hunks, &[], 10), [0..4, 6..8, 9..10]);
        assert_eq!(rows_unproposed(&hunks, &[1..2, 3..7], 10), [0..1, 2..3, 7..8, 9..10]);
        assert_eq!(rows_unproposed(&hunks, &[2..2, 6..10], 10), [0..2, 2..4]);
        assert_eq!(rows_unproposed(&hunks[..1], &[0..9, 9..10], 10), [] as [Range<usize>; 0]);
    }

    #[test]
    fn a_new_file_has_all_its_lines_and_no_empty_one_that_goes() {
        let new = file("/p/new.txt", None, None, "one\ntwo\n");
        assert_eq!(new.fate, Fate::Made);
        assert!(!fits_into_file(&[&new]));
        assert_eq!(lines(&[new]), ["new.txt  new file \u{b7} +2 -0", "  + one", "  + two"]);
    }

    #[test]
    fn a_file_that_goes_has_all_its_lines() {
        let gone = file("/p/old.txt", Some("one\ntwo\n"), Some("one\ntwo\n"), "");
        assert_eq!(gone.fate, Fate::Removed);
        assert!(!fits_into_file(&[&gone]));
        assert_eq!(lines(&[gone]), ["old.txt  deleted \u{b7} +0 -2", "  - one", "  - two"]);
    }

    #[test]
    fn a_hunk_stands_between_lines_of_the_file_each_of_them_once() {
        let text = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n";
        let changed = file("/p/x", Some(text), Some(text), "a\nb\nc\nd\nE\nf\nG\nh\ni\nj\n");
        assert!(fits_into_file(&[&changed]));
        let page = page(&[&changed], Path::new("/p"));
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
        assert!(!fits_into_file(&all.iter().collect::<Vec<_>>()));
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
        let titled = proposal_bar("Demo agent (Parser of all files)", "src/a.rs", (10, 0), "<CR>", 50);
        assert!(titled.contains(" Demo agent (Pars\u{2026}: %<src/a.rs"), "{titled}");
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
