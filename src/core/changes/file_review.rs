//! What agents did to one file, and for which session: its review, who wrote which of its lines, and the hunks of
//! earlier texts that may come back. It is kept correct while the user types. Which files exist, and which
//! buffers hold them, is left to the editor's side.
//!
//! Texts are as in [`super::text_edits`]: lines joined by `\n`, without the newline that ends the file.

use std::collections::BTreeSet;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::core::changes::anchor::Anchor;
use crate::core::changes::authors::Authors;
use crate::core::changes::diff::{Hunk, Placed, PlacedState};
use crate::core::changes::hunk_history::{HunkHistory, KeptLines, TextPrint};
use crate::core::changes::review::{Line, Part, Review, Splice, owned, texts};
use crate::core::changes::text_edits::same_ends;
use crate::core::changes::undecided::{Missing, Undecided, shares};
use crate::core::ids::OriginId;
use crate::core::message::call::FileDiff;
use crate::core::text::Text;

/// One file that agents changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileReview {
    review: Review,
    authors: Authors,
    /// The file was there before the agent, and is there now.
    pub was_there: bool,
    pub is_there: bool,
    /// What was behind the last change of an agent's: a file without lines has no hunk that would say.
    last: Option<OriginId>,
    /// Hunks of texts before this one: Neovim's own undo may bring them back.
    history: HunkHistory,
    /// The file may hold this text, which comes back where edits are thrown away.
    #[serde(default)]
    is_saved: bool,
    /// Where a buffer has unsaved edits: what was left to decide in the text before these, which the file holds.
    #[serde(default)]
    on_disk: Option<OnDisk>,
    /// Hunks have come back since this was last set to false.
    pub has_hunks_back: bool,
    /// The row that the user has changed last, if it was that row alone.
    typed_in: Option<usize>,
    /// Hunks that went without a decision: with another text, or since the user has put back what was there.
    missing: Missing,
}

/// A text that the file holds, and the present one is not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct OnDisk {
    print: TextPrint,
    undecided: Vec<Undecided>,
}

/// Whole texts that a file got, one after the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// What it was before the agent, where that is known: what differs from the review is the user's.
    pub user: Option<Text>,
    /// What the agent made of it; none where it removed the file.
    pub agent: Option<(Option<Text>, OriginId)>,
}

impl Written {
    pub fn texts(&self) -> impl Iterator<Item = &Text> {
        self.user.iter().chain(self.agent.iter().flat_map(|(text, _)| text))
    }

    /// The review of a file that nobody has written before.
    pub fn review(self) -> FileReview {
        let mut file = FileReview::new(self.user.as_deref());
        Self { user: None, ..self }.into_review(&mut file);
        file
    }

    pub fn into_review(self, file: &mut FileReview) {
        match self {
            Self { user, agent: Some((text, origin)) } => {
                file.agent_wrote(user.as_deref(), text.as_deref(), origin);
            }
            Self { user: Some(text), agent: None } => file.user_wrote(&text),
            Self { user: None, agent: None } => {}
        }
    }
}

impl FileReview {
    /// A file before the first change of an agent's; `None` when it was not there.
    pub fn new(before: Option<&str>) -> Self {
        let text = before.unwrap_or_default();
        let review = Review::new(text, text);
        let authors = Authors::nobody(review.line_count());
        let is_there = before.is_some();
        let history = HunkHistory::default();
        Self {
            review,
            authors,
            was_there: is_there,
            is_there,
            last: None,
            history,
            is_saved: true,
            on_disk: None,
            has_hunks_back: false,
            typed_in: None,
            missing: Missing::default(),
        }
    }

    /// A file in which something was left to decide, as it is now. `sides` says whether it was there before the agent,
    /// and after.
    pub fn standing(
        text: Option<&str>,
        sides: (bool, bool),
        last: Option<OriginId>,
        left: Vec<Undecided>,
    ) -> Self {
        let (was_there, is_there) = sides;
        let hunks = || left.iter().map(|each| &each.anchor.hunk);
        if !is_there {
            let mut file = Self::new(text);
            if text.is_none() && was_there {
                let before = hunks().map(|hunk| hunk.removed.join("\n")).next().unwrap_or_default();
                file = Self::new(Some(&before));
                let origin = left.iter().find_map(|each| each.origin).or(last);
                file.agent_wrote(None, None, origin.unwrap_or(OriginId(0)));
            }
            return file;
        }
        let mut file = Self::new(text);
        let is_empty = left.is_empty();
        file.stand(left, true);
        // Of a file that is new, all that the user did not decide about yet.
        if text.is_some() && (!file.review.is_settled() || is_empty) {
            (file.was_there, file.last) = (was_there, last);
        }
        file
    }

    /// Has hunks stand again where the text has them; the others are remembered. Says how many stand.
    pub fn stand(&mut self, left: Vec<Undecided>, is_told: bool) -> usize {
        let (stand, others): (Vec<_>, Vec<_>) = left.into_iter().partition(|each| self.stands(each));
        for each in others {
            // As edits that were not saved had made it.
            let hunk = &each.anchor.hunk;
            let is_version = stand.iter().any(|other| shares(&other.anchor.hunk, &hunk.removed, &hunk.added));
            self.missing.add(each, is_told && !is_version);
        }
        stand.len()
    }

    /// Whether the text has what was there before each of these hunks.
    pub fn has_undone(&self, hunks: &[Undecided]) -> bool {
        let is_undone = |each: &Undecided| each.anchor.reversed().find(self.lines()).is_some();
        self.is_there && !hunks.is_empty() && hunks.iter().all(is_undone)
    }

    fn stands(&mut self, each: &Undecided) -> bool {
        let Anchor { hunk, .. } = &each.anchor;
        let Some(row) = self.is_there.then(|| each.anchor.find_by_context(self.lines())).flatten() else {
            return false;
        };
        let rows = row..row + hunk.added.len();
        let known = self.hunks_at(rows.start..rows.end.max(rows.start + 1));
        if known.iter().any(|at| self.is_same(*at, hunk)) {
            return true;
        }
        if !self.review.claim(rows.clone(), &hunk.removed, each.mixed) {
            return false;
        }
        self.was_there &= !each.is_new;
        if let Some(origin) = each.origin {
            self.authors.claimed(rows, hunk.removed.len(), origin);
        }
        true
    }

    fn is_same(&self, at: usize, hunk: &Hunk) -> bool {
        self.hunks().get(at).is_some_and(|known| known.has_lines_of(hunk))
    }

    /// All that is left to decide, with what is around it.
    pub fn undecided(&self) -> Vec<Undecided> {
        self.undecided_here().into_iter().chain(self.missing.told().cloned()).collect()
    }

    /// The same for a Neovim that does not have the unsaved edits of this one, and what goes with them: a hunk that was
    /// undone or changed beside them stands in the file as it was.
    pub fn undecided_in_file(&self) -> Vec<Undecided> {
        let mut all = self.undecided();
        let Some(OnDisk { undecided, .. }) = &self.on_disk else { return all };
        for each in undecided {
            if let Some(at) = all.iter().position(|other| other.anchor.hunk.has_lines_of(&each.anchor.hunk)) {
                all.remove(at);
            }
        }
        undecided.iter().cloned().chain(all).collect()
    }

    fn undecided_here(&self) -> Vec<Undecided> {
        let hunks = self.hunks().into_iter().enumerate();
        hunks.map(|(at, hunk)| self.undecided_at(at, hunk)).collect()
    }

    fn undecided_at(&self, at: usize, hunk: Hunk) -> Undecided {
        Undecided {
            anchor: Anchor::new(hunk, self.lines()),
            origin: self.origins(at).last().copied(),
            mixed: self.is_mixed(at),
            is_new: self.is_there && !self.was_there,
        }
    }

    /// Hunks that the text does not hold any more, and that the user is told of.
    pub fn missing(&self) -> impl Iterator<Item = &Undecided> {
        self.missing.told()
    }

    pub fn forget_missing(&mut self) {
        self.missing.forget_told();
    }

    /// What was behind the last change.
    pub fn last(&self) -> Option<OriginId> {
        self.last
    }

    /// An agent wrote the file, or removed it; what it found there was `before`, where that is known.
    pub fn agent_wrote(&mut self, before: Option<&str>, after: Option<&str>, origin: OriginId) {
        // It is not saved beside unsaved edits.
        let on_disk = self.on_disk.take();
        match before {
            Some(before) if self.is_there && texts(self.review.base_lines()).eq(before.split('\n')) => {
                // It was without all that is to be decided. Were that the user's doing, what they have put back beside a
                // hunk would be theirs.
                if let Some(splice) = self.review.difference(before) {
                    self.agent_spliced(splice, None);
                }
            }
            Some(before) => self.user_has(before, false),
            None => {}
        }
        self.is_there = after.is_some();
        self.last = Some(origin);
        if let Some(splice) = self.review.difference(after.unwrap_or_default()) {
            self.agent_spliced(splice, Some(origin));
        }
        (self.is_saved, self.on_disk) = (true, on_disk);
    }

    /// What was behind the last change of an agent's is known to be something else, or nothing that is reviewed: then it
    /// counts as the user's. The change led from one text to the other.
    pub fn attribute(&mut self, (before, after): (Option<&str>, Option<&str>), to: Option<OriginId>) {
        let Some(from) = self.last else { return };
        let text = after.unwrap_or_default();
        let is_last = self.review.difference(text).is_none();
        match to {
            Some(to) => {
                let rows = match before.filter(|_| is_last) {
                    Some(before) => changed_rows(before, text),
                    None => 0..self.line_count(),
                };
                self.authors.attribute(rows, from, to);
                self.history.attribute(from, to);
                let on_disk = self.on_disk.iter_mut().flat_map(|on_disk| &mut on_disk.undecided);
                on_disk.filter(|each| each.origin == Some(from)).for_each(|each| each.origin = Some(to));
                self.last = Some(to);
            }
            None if is_last => {
                let print = self.review.text_print();
                if let Some(splice) = self.review.difference(before.unwrap_or_default()) {
                    self.agent_spliced(splice, None);
                }
                self.history.forget(print);
                (self.was_there, self.is_there, self.last) = (after.is_some(), after.is_some(), None);
                self.user_wrote(text);
            }
            // What has been done to it since rests on this.
            None => {}
        }
    }

    /// The hunks that a call's diff speaks of are the call's, as far as nobody knew what was behind them.
    pub fn claim(&mut self, diff: &FileDiff, unclaimed: &BTreeSet<OriginId>, to: OriginId) {
        for (at, hunk) in self.hunks().iter().enumerate() {
            let origins = self.origins(at);
            if !origins.is_empty()
                && origins.is_subset(unclaimed)
                && speaks_of(diff, hunk)
                && let Some(rows) = self.review.rows(at)
            {
                for from in origins {
                    self.authors.attribute(rows.clone(), from, to);
                }
            }
        }
    }

    /// The file has another text, and no agent wrote it.
    pub fn user_wrote(&mut self, text: &str) {
        self.user_has(text, true);
    }

    fn user_has(&mut self, text: &str, is_told: bool) {
        if self.was_there && !self.is_there && !text.is_empty() {
            // The file that the agent has removed is there again: nothing of that is left to decide.
            self.review = Review::new(text, text);
            self.authors = Authors::nobody(self.review.line_count());
            self.history.clear();
            (self.is_there, self.last, self.on_disk) = (true, None, None);
            return;
        }
        if !self.missing.is_empty() && !self.was_there && !self.is_there && !text.is_empty() {
            // It comes again after somebody had removed it.
            self.was_there = true;
        }
        // A text is in a file, or on its way into one.
        self.is_there |= !text.is_empty();
        if let Some(splice) = self.review.difference(text) {
            self.spliced_by_user(splice, is_told);
        }
        (self.is_saved, self.on_disk) = (true, None);
    }

    /// Somebody has removed the file: what was left to decide in it waits until it is there again. Where it is gone
    /// already, the removal stays whose it was.
    pub fn user_removed(&mut self) {
        if !self.is_there {
            return;
        }
        let left = self.hunks().into_iter().enumerate().map(|(at, hunk)| self.undecided_at(at, hunk));
        let left: Vec<Undecided> = left.collect();
        let missing = std::mem::take(&mut self.missing);
        *self = Self { missing, ..Self::new(None) };
        left.into_iter().for_each(|each| self.missing.add(each, true));
    }

    /// The file holds this text by now.
    pub fn saved(&mut self) {
        (self.is_saved, self.on_disk) = (true, None);
    }

    /// The decision after which it was `now` is taken back, and the buffer may have been saved since.
    pub fn taken_back(&mut self, now: &Self) {
        if now.on_disk.is_none() {
            self.on_disk = None;
        }
    }

    /// The user changed lines. An earlier text that this brings back has its hunks again: `u` and its like do that.
    pub fn user_spliced(&mut self, splice: Splice) {
        self.spliced_by_user(splice, false);
    }

    fn spliced_by_user(&mut self, splice: Splice, is_told: bool) {
        self.remember(&splice);
        // What goes in the editor is in the history, and comes back with its text.
        let before = if is_told { self.undecided_near(&splice.rows) } else { Vec::new() };
        let gone: Vec<String> = match self.missing.is_empty() {
            true => Vec::new(),
            false => owned(self.review.lines(splice.rows.clone())),
        };
        let (lines, first) = (splice.lines.clone(), splice.rows.start);
        let changes = self.review.changes(&splice);
        self.authors.user_changed(&changes);
        self.review.user_spliced(splice);
        self.authors.fit(self.review.line_count());
        if let Some(earlier) = self.history.find(self.review.text_print())
            && self.review.restore(&earlier.hunks)
        {
            earlier.hunks.iter().for_each(|hunk| self.authors.put(hunk.rows.start, &hunk.authors));
            earlier.kept.iter().for_each(|kept| self.review.keep_lines(kept.row, &kept.lines));
            self.has_hunks_back = true;
            // To undo a file that an agent has made removes it.
            self.was_there &= !earlier.is_new || self.review.is_settled();
        }
        if self.on_disk.as_ref().is_some_and(|on_disk| on_disk.print == self.review.text_print()) {
            // It is the file's text again.
            self.on_disk = None;
        }
        self.remember_gone(before, first.saturating_sub(1)..first + lines.len() + 1);
        if !self.missing.is_empty() {
            for (each, is_told) in self.missing.take_likely(&gone, &lines) {
                self.stand(vec![each], is_told);
            }
        }
    }

    fn undecided_near(&self, rows: &Range<usize>) -> Vec<Undecided> {
        let at = self.hunks_at(rows.start.saturating_sub(1)..rows.end + 1);
        let all = if at.is_empty() { Vec::new() } else { self.hunks() };
        at.into_iter().map(|at| self.undecided_at(at, all[at].clone())).collect()
    }

    /// Remembers the hunks of which nothing is left in these rows.
    fn remember_gone(&mut self, before: Vec<Undecided>, rows: Range<usize>) {
        if before.is_empty() {
            return;
        }
        let all = self.hunks();
        let left: Vec<&Hunk> = self.hunks_at(rows).into_iter().filter_map(|at| all.get(at)).collect();
        let is_gone = |each: &Undecided| {
            let hunk = &each.anchor.hunk;
            !left.iter().any(|other| *other == hunk || shares(hunk, &other.removed, &other.added))
        };
        before.into_iter().filter(is_gone).for_each(|each| self.missing.add(each, true));
    }

    fn agent_spliced(&mut self, splice: Splice, origin: Option<OriginId>) {
        self.remember_text();
        self.typed_in = None;
        let changes = self.review.changes(&splice);
        self.authors.changed(&changes, origin);
        self.review.agent_spliced(splice);
        self.authors.fit(self.review.line_count());
    }

    /// Remembers the hunks of the present text, which is about to change, if the change may concern one.
    fn remember(&mut self, splice: &Splice) {
        let rows = &splice.rows;
        let typed_in = (rows.len() == 1 && splice.lines.len() == 1).then_some(rows.start);
        // Who types in one row of several needs no text per key: the hunk stays.
        let goes_on = typed_in.is_some() && self.typed_in == typed_in && self.review.is_within_hunk(rows);
        self.typed_in = typed_in;
        let concerns_hunk = || {
            self.review.has_hunks_near(rows) || self.history.find(self.review.print_after(splice)).is_some()
        };
        if self.is_saved || !goes_on && concerns_hunk() {
            self.remember_text();
        }
        self.is_saved = false;
        if self.on_disk.is_none() {
            self.on_disk = Some(OnDisk { print: self.review.text_print(), undecided: self.undecided_here() });
        }
    }

    fn remember_text(&mut self) {
        let hunks = (0..).map_while(|hunk| self.review.earlier_hunk(hunk, &self.authors)).collect();
        self.history.remember(self.review.text_print(), hunks, self.is_there && !self.was_there);
    }

    pub fn has_returns(&self) -> bool {
        self.review.lines(0..self.review.line_count()).iter().any(|line| line.contains('\r'))
    }

    /// A buffer holds lines without the carriage returns of its file.
    pub fn without_returns(&mut self) {
        let bare = |text: String| text.replace("\r\n", "\n").trim_end_matches('\r').to_owned();
        self.review = Review::new(&bare(self.review.base()), &bare(self.review.current()));
        self.history.clear();
        self.on_disk = None;
    }

    pub fn current(&self) -> String {
        self.review.current()
    }

    pub fn base(&self) -> String {
        self.review.base()
    }

    /// The text without what agents did to it, line by line.
    pub fn base_lines(&self) -> &[Line] {
        self.review.base_lines()
    }

    /// The present text, line by line.
    pub fn lines(&self) -> &[Line] {
        self.review.lines(0..self.review.line_count())
    }

    /// The number of lines that are there now.
    pub fn line_count(&self) -> usize {
        self.review.line_count()
    }

    /// What leads from the present text to another; `None` when they are the same.
    pub fn difference(&self, text: &str) -> Option<Splice> {
        self.review.difference(text)
    }

    pub fn differs_from(&self, text: &str) -> bool {
        self.review.difference(text).is_some()
    }

    /// The present text, to be known again; `None` where there is no file.
    pub fn text_identity(&self) -> Option<TextPrint> {
        self.is_there.then(|| self.review.text_print())
    }

    /// Nothing is left to decide.
    pub fn is_settled(&self) -> bool {
        self.review.is_settled() && self.was_there == self.is_there
    }

    pub fn hunks(&self) -> Vec<Hunk> {
        self.review.hunks()
    }

    /// The number of a hunk that is still the same.
    pub fn find(&self, hunk: &Hunk) -> Option<usize> {
        self.review.find(hunk)
    }

    pub fn hunk_count(&self) -> usize {
        self.review.hunk_count()
    }

    /// It was made or removed and has no lines: there is something to decide, but no hunk. Gives what was behind it.
    pub fn without_hunks(&self) -> Option<OriginId> {
        self.last.filter(|_| self.review.is_settled() && !self.is_settled())
    }

    pub fn is_mixed(&self, hunk: usize) -> bool {
        self.review.is_mixed(hunk)
    }

    /// The hunks that stand at rows of the present text.
    pub fn hunks_at(&self, rows: Range<usize>) -> Vec<usize> {
        let last = self.review.line_count() - 1;
        let meets = |hunk: &Range<usize>| {
            let (start, end) = (hunk.start.min(last), hunk.end.max(hunk.start.min(last) + 1));
            start < rows.end && rows.start < end
        };
        (0..)
            .map_while(|hunk| self.review.rows(hunk))
            .enumerate()
            .filter(|(_, hunk)| meets(hunk))
            .map(|(at, _)| at)
            .collect()
    }

    /// What was behind a hunk.
    pub fn origins(&self, hunk: usize) -> BTreeSet<OriginId> {
        self.review.rows(hunk).map(|rows| self.authors.of(rows)).unwrap_or_default()
    }

    /// What was behind a line, and whether the user has changed the line since.
    pub fn author(&self, row: usize) -> Option<(OriginId, bool)> {
        self.authors.at(row)
    }

    /// Takes a hunk over for good.
    pub fn keep(&mut self, hunk: usize) {
        self.keep_on_disk(hunk..hunk + 1);
        self.keep_in_history(hunk);
        self.review.keep(hunk);
        if self.review.is_settled() {
            self.was_there = self.is_there;
        }
    }

    fn keep_in_history(&mut self, hunk: usize) {
        if let Some(rows) = self.review.rows(hunk) {
            let lines = owned(self.review.lines(rows.clone()));
            self.history.keep(self.review.hunk_print(hunk), KeptLines { row: rows.start, lines });
        }
    }

    /// What is kept here is kept in the file, too, if it has the same.
    fn keep_on_disk(&mut self, kept: Range<usize>) {
        if self.on_disk.is_none() {
            return;
        }
        let hunks = self.hunks();
        let Some(OnDisk { undecided, .. }) = &mut self.on_disk else { return };
        for hunk in hunks.get(kept).unwrap_or_default() {
            let same = undecided.iter().enumerate().filter(|(_, each)| each.anchor.hunk.has_lines_of(hunk));
            let nearest = same.min_by_key(|(_, each)| each.anchor.hunk.row.abs_diff(hunk.row));
            if let Some((at, _)) = nearest {
                undecided.remove(at);
            }
        }
    }

    /// The hunks that stand wholly at rows of the present text, and the parts of those that do not.
    pub fn parts_at(&self, rows: &Range<usize>) -> (Vec<usize>, Vec<Part>) {
        let at = self.hunks_at(rows.clone());
        let parts: Vec<Part> = at.iter().filter_map(|hunk| self.review.part_at(*hunk, rows)).collect();
        let is_part = |hunk: &usize| parts.iter().any(|part| part.hunk == *hunk);
        (at.into_iter().filter(|hunk| !is_part(hunk)).collect(), parts)
    }

    /// Takes some lines of a hunk over for good.
    pub fn keep_part(&mut self, part: &Part) {
        self.keep_on_disk(part.hunk..part.hunk + 1);
        if let Some(all) = self.review.rows(part.hunk) {
            let rows = all.start + part.added.start..all.start + part.added.end;
            let lines = owned(self.review.lines(rows.clone()));
            self.history.keep(None, KeptLines { row: rows.start, lines });
        }
        self.review.keep_part(part);
        if self.review.is_settled() {
            self.was_there = self.is_there;
        }
    }

    /// Puts back what some lines of a hunk replaced, and gives what does so in the present text.
    pub fn undo_part(&mut self, part: &Part) -> Option<Splice> {
        self.remember_text();
        let splice = self.review.undo_part(part)?;
        self.put_back(&splice);
        Some(splice)
    }

    /// There is no line with anything in it.
    fn is_blank(&self) -> bool {
        self.review.line_count() == 1 && self.review.lines(0..1)[0].is_empty()
    }

    pub fn keep_all(&mut self) {
        self.keep_on_disk(0..self.hunk_count());
        (0..self.hunk_count()).for_each(|hunk| self.keep_in_history(hunk));
        self.review.keep_all();
        self.was_there = self.is_there;
    }

    /// Undoes that a file without lines was made or removed.
    pub fn undo_whole(&mut self) {
        self.is_there = self.was_there;
    }

    /// Puts back what was there before a hunk, and gives what does so in the present text.
    pub fn undo(&mut self, hunk: usize) -> Option<Splice> {
        self.remember_text();
        let splice = self.review.undo(hunk)?;
        self.put_back(&splice);
        Some(splice)
    }

    /// Lines of an agent's were replaced by what was there before.
    fn put_back(&mut self, splice: &Splice) {
        self.is_saved = true;
        self.authors.undone(splice.rows.clone(), splice.lines.len());
        self.authors.fit(self.review.line_count());
        if self.review.is_settled() {
            // Lines of the user's keep a file that the agent has made.
            self.is_there = self.was_there || !self.is_blank();
            self.was_there = self.is_there;
        }
    }
}

/// A text as it was before the diffs that are in it already; for agents that tell of their writes by
/// diffs alone.
pub fn without(text: &str, placed: &[Placed]) -> String {
    let mut hunks: Vec<_> = placed
        .iter()
        .filter(|placed| placed.state == PlacedState::Applied)
        .flat_map(|placed| &placed.hunks)
        .collect();
    hunks.sort_by_key(|hunk| hunk.row);
    let mut lines: Vec<&str> = text.split('\n').collect();
    let mut end = usize::MAX;
    for hunk in hunks.into_iter().rev() {
        let rows = hunk.row..hunk.row + hunk.added.len();
        // Two diffs that speak of the same lines cannot both be taken back.
        if rows.end <= end && rows.end <= lines.len() {
            lines.splice(rows.clone(), hunk.removed.iter().map(String::as_str));
            end = rows.start;
        }
    }
    lines.join("\n")
}

/// The rows of a text that differ from an earlier one, the lines between included.
fn changed_rows(before: &str, after: &str) -> Range<usize> {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.split('\n').collect(), after.split('\n').collect());
    let (first, last) = same_ends(&old, &new, |old, new| old == new);
    first..new.len() - last
}

/// Whether a diff has the lines of a hunk, on both sides.
fn speaks_of(diff: &FileDiff, hunk: &Hunk) -> bool {
    let has = |text: &str, lines: &[String]| {
        let text: Vec<&str> = text.lines().collect();
        lines.is_empty() || text.windows(lines.len()).any(|window| window == lines)
    };
    has(&diff.new_text, &hunk.added) && has(diff.old_text.as_deref().unwrap_or_default(), &hunk.removed)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::core::changes::diff::place;

    fn reviewed(before: &str, after: &str) -> FileReview {
        let mut file = FileReview::new(Some(before));
        file.agent_wrote(Some(before), Some(after), OriginId(1));
        file
    }

    #[test]
    fn what_the_user_typed_before_the_agent_wrote_is_not_the_agents() {
        let mut file = reviewed("a\nb\nc", "a\nB\nc");
        file.agent_wrote(Some("mine\na\nB\nc"), Some("mine\na\nB\nC"), OriginId(2));
        assert_eq!(file.base(), "mine\na\nb\nc");
        assert_eq!(file.origins(0), [OriginId(1), OriginId(2)].into());
        assert_eq!(file.author(2), Some((OriginId(1), false)));
        assert_eq!(file.author(0), None);
    }

    #[test]
    fn what_is_undone_and_brought_back_is_the_agents_again() {
        let mut file = reviewed("a\nb\nc\nd", "a\nB\nB2\nc\nd");
        assert!(file.undo(0).is_some());
        assert!(file.is_settled());
        file.user_wrote("a\nB\nB2\nc\nd");
        assert_eq!((file.hunks().len(), file.is_mixed(0)), (1, false));
        assert_eq!(file.author(2), Some((OriginId(1), false)));
        file.user_wrote("a\nb\nc\nd");
        assert!(file.is_settled());
    }

    #[test]
    fn a_new_file_whose_undo_is_taken_back_is_new_again_unless_it_was_kept() {
        let mut file = FileReview::new(None);
        file.agent_wrote(None, Some("a\nb"), OriginId(1));
        file.user_wrote("a\nb\nmine");
        assert!(file.undo(0).is_some());
        assert!(file.was_there && file.is_there, "the user's line keeps it");
        file.user_wrote("a\nb\nmine");
        assert!(!file.was_there && file.is_there && file.hunk_count() == 1);
        file.keep_all();
        file.user_wrote("a\nmine");
        file.user_wrote("a\nb\nmine");
        assert!(file.was_there && file.is_settled());
    }

    #[test]
    fn what_was_undone_after_other_edits_is_back_when_all_of_that_is_thrown_away() {
        let before: Vec<String> = (0..40).map(|line| line.to_string()).collect();
        let mut after = before.clone();
        (after[1], after[38]) = ("one".into(), "last but one".into());
        for is_saved_again in [false, true] {
            let mut file = reviewed(&before.join("\n"), &after.join("\n"));
            let mut on_disk = file.current();
            if is_saved_again {
                file.user_spliced(Splice { rows: 0..0, lines: vec!["mine".into()] });
                file.saved();
                on_disk = file.current();
            }
            let hunks = file.hunks();
            // Far from what the agent has changed.
            let row = 20;
            file.user_spliced(Splice { rows: row..row + 1, lines: vec!["typed".into()] });
            assert!(file.undo(0).is_some());
            file.user_wrote(&on_disk);
            assert_eq!(file.hunks(), hunks);
            assert_eq!(file.origins(0), [OriginId(1)].into());
        }
    }

    #[test]
    fn the_file_has_what_was_undone_or_changed_beside_unsaved_edits_until_these_are_saved() {
        let undecided = |file: &FileReview| -> Vec<String> {
            file.undecided_in_file().into_iter().map(|each| each.anchor.hunk.added.join(" ")).collect()
        };
        let before = "a\nb\nc\nd\ne\nf\ng";
        let mut file = reviewed(before, "A\nb\nc\nD\ne\nf\nG");
        let on_disk = file.current();
        file.user_spliced(Splice { rows: 1..2, lines: vec!["mine".into()] });
        assert!(file.undo(0).is_some());
        file.user_spliced(Splice { rows: 3..4, lines: vec!["D of mine".into()] });
        assert_eq!(undecided(&file), ["A", "D", "G", "D of mine"]);
        let again = FileReview::standing(Some(&on_disk), (true, true), None, file.undecided_in_file());
        assert_eq!((again.hunk_count(), again.missing().count()), (3, 0));
        // What is kept is kept in the file, too.
        file.keep(1);
        assert_eq!(undecided(&file), ["A", "D", "D of mine"]);
        file.saved();
        assert_eq!(undecided(&file), ["D of mine"]);
    }

    #[test]
    fn an_undo_of_the_unsaved_edits_makes_the_text_the_files_again() {
        let mut file = reviewed("a\nb\nc", "A\nb\nc");
        file.user_spliced(Splice { rows: 2..3, lines: vec!["mine".into()] });
        file.user_spliced(Splice { rows: 2..3, lines: vec!["c".into()] });
        assert!(file.undo(0).is_some());
        assert_eq!(file.undecided_in_file(), []);
    }

    #[test]
    fn a_hunk_that_the_user_takes_away_is_back_when_that_is_undone() {
        let (before, after) = ("a\nb\nc\nd\ne", "a\nB\nB2\nc\nd\nE");
        let mut file = reviewed(before, after);
        let hunks = file.hunks();
        // As gitsigns resets one, in one step or in two; then by the key.
        for steps in [vec!["a\nb\nc\nd\nE"], vec!["a\nB2\nc\nd\nE", "a\nb\nc\nd\nE"]] {
            for text in &steps {
                file.user_wrote(text);
            }
            assert_eq!(file.hunks(), [hunks[1].clone()].map(|hunk| Hunk { row: 4, ..hunk }));
            for text in steps.iter().rev().skip(1).chain([&after]) {
                file.user_wrote(text);
            }
            assert_eq!(file.hunks(), hunks);
            assert_eq!((file.is_mixed(0), file.author(2)), (false, Some((OriginId(1), false))));
        }
        // All of it at once, and again.
        for _ in 0..3 {
            file.user_wrote(before);
            assert!(file.is_settled());
            file.user_wrote(after);
            assert_eq!(file.hunks(), hunks);
        }
    }

    #[test]
    fn a_hunk_that_was_kept_meanwhile_does_not_come_back() {
        let mut file = reviewed("a\nb\nc\nd\ne", "A\nb\nc\nd\nE");
        file.user_wrote("a\nb\nc\nd\nE");
        file.keep(0);
        file.user_wrote("A\nb\nc\nd\nE");
        assert_eq!((file.hunks().len(), file.hunks()[0].row), (1, 0));
        file.keep_all();
        file.user_wrote("a\nb\nc\nd\nE");
        file.user_wrote("A\nb\nc\nd\nE");
        assert!(file.is_settled());
    }

    #[test]
    fn lines_that_were_kept_meanwhile_stay_kept_where_the_hunk_they_were_a_part_of_comes_back() {
        // A new file whose last line is undone, and the first, or all that is left, kept.
        for (rows, left) in [(0..1, vec![(1, 2)]), (0..2, vec![(2, 1)])] {
            let mut file = FileReview::new(None);
            file.agent_wrote(None, Some("a\nb\nc"), OriginId(1));
            let (_, parts) = file.parts_at(&(2..3));
            file.undo_part(&parts[0]);
            match file.parts_at(&rows) {
                (whole, parts) if parts.is_empty() => file.keep(whole[0]),
                (_, parts) => file.keep_part(&parts[0]),
            }
            typed(&mut file, "a\nb\nc");
            let hunks: Vec<_> = file.hunks().iter().map(|hunk| (hunk.row, hunk.added.len())).collect();
            assert_eq!(hunks, left, "{rows:?}");
            // And again, there and back.
            typed(&mut file, "a\nb");
            typed(&mut file, "a\nb\nc");
            let hunks: Vec<_> = file.hunks().iter().map(|hunk| (hunk.row, hunk.added.len())).collect();
            assert_eq!(hunks, left, "{rows:?}");
        }
        // Of lines that replaced others, each with what it replaced.
        let mut file = reviewed("a\nb\nc\nd", "a\nB\nC\nd");
        let (_, parts) = file.parts_at(&(2..3));
        file.undo_part(&parts[0]);
        file.keep(0);
        typed(&mut file, "a\nB\nC\nd");
        let hunks = file.hunks();
        assert_eq!(
            (hunks.len(), &hunks[0].removed[..], &hunks[0].added[..]),
            (1, &["c".into()][..], &["C".into()][..])
        );
    }

    /// The user makes this text of it in the editor.
    fn typed(file: &mut FileReview, text: &str) {
        if let Some(splice) = file.review.difference(text) {
            file.user_spliced(splice);
        }
    }

    #[test]
    fn what_the_user_types_elsewhere_is_no_hunk_that_comes_back() {
        let mut file = reviewed("a\nb\nc", "a\nb\nnew\nc");
        file.user_wrote("a\nb\nc");
        file.user_wrote("new\na\nb\nc");
        assert!(file.is_settled());
    }

    #[test]
    fn a_file_that_was_made_or_removed_is_not_settled_before_it_is_decided() {
        let mut file = FileReview::new(None);
        file.agent_wrote(None, Some(""), OriginId(1));
        assert!(!file.is_settled());
        file.keep_all();
        assert!(file.is_settled());
        file.agent_wrote(Some(""), None, OriginId(1));
        assert!(!file.is_settled());
    }

    #[test]
    fn a_file_without_lines_is_decided_as_a_whole() {
        let mut file = FileReview::new(None);
        file.agent_wrote(None, Some(""), OriginId(3));
        assert_eq!((file.hunks().len(), file.without_hunks()), (0, Some(OriginId(3))));
        file.undo_whole();
        assert_eq!((file.is_settled(), file.is_there, file.without_hunks()), (true, false, None));
        let mut file = FileReview::new(Some(""));
        file.agent_wrote(Some(""), None, OriginId(3));
        assert!(file.without_hunks().is_some());
        file.keep_all();
        assert!(file.is_settled());
    }

    #[test]
    fn lines_of_the_users_keep_a_file_that_the_agent_has_made() {
        let mut file = FileReview::new(None);
        file.agent_wrote(None, Some("a\nb"), OriginId(1));
        file.user_wrote("mine\na\nb");
        while !file.hunks().is_empty() {
            file.undo(0);
        }
        assert_eq!((file.current().as_str(), file.is_there, file.is_settled()), ("mine", true, true));
    }

    #[test]
    fn what_was_undone_and_is_done_again_is_the_same_hunk_however_it_is_told() {
        let (before, after) = ("one\ntwo\nthree\nfour\nfive", "one\ntwo\nTHREE\nfive");
        let mut file = FileReview::new(Some(before));
        file.agent_wrote(None, Some(after), OriginId(1));
        file.undo(0);
        // A buffer takes the text before it is known whose it is.
        file.user_wrote(after);
        file.agent_wrote(Some(before), Some(after), OriginId(2));
        let hunks = file.hunks();
        assert_eq!((hunks.len(), hunks[0].removed.len(), hunks[0].added.len()), (1, 2, 1));
        assert_eq!(file.origins(0), [OriginId(2)].into());
    }

    #[test]
    fn a_change_whose_origin_is_found_out_later_gets_it_and_no_other_does() {
        let (first, second) = ("A\nb\nc\nd", "A\nb\nC\nd");
        let mut file = FileReview::new(Some("a\nb\nc\nd"));
        file.agent_wrote(None, Some(first), OriginId(1));
        file.agent_wrote(None, Some(second), OriginId(1));
        file.attribute((Some(first), Some(second)), Some(OriginId(2)));
        assert_eq!((file.origins(0), file.origins(1)), ([OriginId(1)].into(), [OriginId(2)].into()));
        file.agent_wrote(None, Some("A\nb\nd"), OriginId(1));
        file.attribute((Some(second), Some("A\nb\nd")), Some(OriginId(3)));
        assert_eq!(
            (file.origins(0), file.origins(1)),
            ([OriginId(1)].into(), [OriginId(3)].into()),
            "a line that went"
        );
    }

    #[test]
    fn a_change_that_turns_out_to_be_from_outside_leaves_nothing_to_decide() {
        let mut file = FileReview::new(Some("a\nb\nc"));
        file.agent_wrote(None, Some("A\nb\nc"), OriginId(1));
        file.agent_wrote(None, Some("A\nb\nC"), OriginId(2));
        file.attribute((Some("A\nb\nc"), Some("A\nb\nC")), None);
        assert_eq!((file.hunks().len(), file.base().as_str()), (1, "a\nb\nC"));
        let mut file = FileReview::new(None);
        file.agent_wrote(None, Some("a"), OriginId(1));
        file.attribute((None, Some("a")), None);
        assert!(file.is_settled());
    }

    #[test]
    fn a_calls_diff_claims_the_hunks_that_it_speaks_of() {
        let diff = FileDiff { path: "a".into(), old_text: Some("b\nc\n".into()), new_text: "b\nC\n".into() };
        let mut file = FileReview::new(Some("a\nb\nc\nd\nc"));
        file.agent_wrote(None, Some("A\nb\nc\nd\nc"), OriginId(1));
        file.agent_wrote(None, Some("A\nb\nC\nd\nc"), OriginId(1));
        file.agent_wrote(None, Some("A\nb\nC\nd\nC"), OriginId(2));
        file.claim(&diff, &[OriginId(1)].into(), OriginId(3));
        let origins: Vec<_> = (0..3).map(|hunk| file.origins(hunk)).collect();
        assert_eq!(origins, [[OriginId(1)].into(), [OriginId(3)].into(), [OriginId(2)].into()]);
    }

    #[test]
    fn a_removed_file_that_the_user_has_written_again_is_settled() {
        let mut file = FileReview::new(Some("a\nb"));
        file.agent_wrote(Some("a\nb"), None, OriginId(1));
        file.user_wrote("a\nb\nmine");
        assert_eq!((file.base().as_str(), file.is_there, file.is_settled()), ("a\nb\nmine", true, true));
        file.agent_wrote(Some("a\nb\nmine"), None, OriginId(2));
        assert_eq!(file.base(), "a\nb\nmine", "none of it is there twice");
        assert_eq!(file.hunks().len(), 1);
    }

    #[test]
    fn what_was_left_to_decide_stands_again_in_the_same_text() {
        let file = reviewed("a\nb\nc\nd\ne", "A\nb\nc\nnew\nd");
        let again = FileReview::standing(Some("A\nb\nc\nnew\nd"), (true, true), None, file.undecided());
        assert_eq!((again.hunks(), again.base()), (file.hunks(), file.base()));
        assert_eq!(again.author(3), Some((OriginId(1), false)));
        assert_eq!(again.missing().count(), 0);
    }

    #[test]
    fn new_and_removed_files_stand_again() {
        let mut new = FileReview::new(None);
        new.agent_wrote(None, Some("a\nb"), OriginId(1));
        let again = FileReview::standing(Some("a\nb"), (false, true), None, new.undecided());
        assert_eq!((again.hunks(), again.was_there, again.is_there), (new.hunks(), false, true));
        let mut removed = FileReview::new(Some("a\nb"));
        removed.agent_wrote(None, None, OriginId(1));
        let again = FileReview::standing(None, (true, false), None, removed.undecided());
        assert_eq!((again.hunks(), again.was_there, again.is_there), (removed.hunks(), true, false));
        let back = FileReview::standing(Some("a"), (true, false), None, removed.undecided());
        assert!(back.is_settled(), "somebody has brought it back");
        let mut empty = FileReview::new(None);
        empty.agent_wrote(None, Some(""), OriginId(1));
        let again = FileReview::standing(Some(""), (false, true), empty.last(), empty.undecided());
        assert_eq!(again.without_hunks(), Some(OriginId(1)));
    }

    #[test]
    fn what_another_text_does_not_hold_is_told_and_stands_again_with_the_first_one() {
        let mut file = reviewed("a\nb\nc\nd\ne", "A\nb\nc\nd\nE");
        file.user_wrote("a\nb\nc\nd\ne");
        assert_eq!((file.is_settled(), file.missing().count()), (true, 2));
        file.user_wrote("mine\nA\nb\nc\nd\nE");
        assert_eq!((file.hunks().len(), file.missing().count()), (2, 0));
        assert_eq!(file.base(), "mine\na\nb\nc\nd\ne");
        let away = FileReview::standing(Some("x\ny"), (true, true), None, file.undecided());
        assert_eq!((away.is_settled(), away.missing().count(), away.undecided().len()), (true, 2, 2));
    }

    #[test]
    fn a_file_that_goes_and_comes_again_has_its_hunks_again() {
        let mut file = reviewed("a\nb", "A\nb");
        file.user_removed();
        assert_eq!((file.is_settled(), file.missing().count()), (true, 1));
        file.user_wrote("A\nb");
        assert_eq!((file.base().as_str(), file.missing().count()), ("a\nb", 0));
    }

    #[test]
    fn a_file_that_an_agent_removed_is_the_agents_to_have_removed_whoever_says_so_again() {
        let mut file = FileReview::new(Some("a\nb"));
        file.agent_wrote(None, None, OriginId(1));
        file.user_removed();
        assert_eq!(
            (file.hunks().len(), file.was_there, file.is_there, file.missing().count()),
            (1, true, false, 0)
        );
    }

    #[test]
    fn what_the_user_takes_back_in_the_editor_is_not_told_and_an_undo_brings_it_back() {
        let mut file = reviewed("a\nb\nc", "a\nB\nc");
        file.user_spliced(Splice { rows: 1..2, lines: vec!["b".into()] });
        assert_eq!((file.is_settled(), file.missing().count(), file.undecided().len()), (true, 0, 0));
        file.user_spliced(Splice { rows: 1..2, lines: vec!["B".into()] });
        assert_eq!((file.hunks().len(), file.is_mixed(0)), (1, false));
    }

    #[test]
    fn hunks_are_found_by_the_rows_they_stand_at() {
        let file = reviewed("a\nb\nc\nd\ne", "A\nb\nc\nnew\nd");
        assert_eq!(file.hunks().len(), 3);
        assert_eq!(file.hunks_at(0..1), [0]);
        assert_eq!(file.hunks_at(1..3), [0usize; 0]);
        assert_eq!(file.hunks_at(0..4), [0, 1]);
        assert_eq!(file.hunks_at(4..5), [2], "what was removed at the end is at the last line");
    }

    #[test]
    fn a_text_is_known_as_it_was_before_the_diffs_that_are_in_it() {
        let diff = |old: Option<&str>, new: &str| FileDiff {
            path: "a".into(),
            old_text: old.map(Into::into),
            new_text: new.into(),
        };
        let text = "one\nTWO\nthree\nFOUR";
        let diffs =
            [diff(Some("two"), "TWO"), diff(Some("three\nfour\n"), "three\nFOUR\n"), diff(Some("x"), "y")];
        assert_eq!(without(text, &place(text, &diffs)), "one\ntwo\nthree\nfour");
    }

    fn text() -> impl Strategy<Value = String> {
        prop::collection::vec(prop::sample::select(vec!["a", "b", "c", "", "ab"]), 1..10)
            .prop_map(|lines| lines.join("\n"))
    }

    proptest! {
        #[test]
        fn any_history_keeps_the_text_and_an_author_for_each_line(base in text(), texts in prop::collection::vec((0..4u8, text()), 0..6)) {
            let mut file = FileReview::new(Some(&base));
            for (who, text) in texts {
                match who {
                    0 => file.user_wrote(&text),
                    1 => { file.undo(0); }
                    who => file.agent_wrote(None, Some(&text), OriginId(who.into())),
                }
                if who != 1 { prop_assert_eq!(file.current(), text); }
                prop_assert_eq!(file.authors.line_count(), file.line_count());
                for hunk in 0..file.hunks().len() {
                    let rows = file.review.rows(hunk).unwrap_or_default();
                    prop_assert_eq!(file.hunks_at(rows.start..rows.end.max(rows.start + 1)).is_empty(), rows.start >= file.line_count());
                }
            }
        }

        #[test]
        fn going_back_through_the_texts_brings_the_hunks_of_each_back(base in text(), texts in prop::collection::vec((0..4u8, text()), 0..8)) {
            let mut file = FileReview::new(Some(&base));
            let mut seen = vec![(base, Vec::new(), Vec::new())];
            for (who, text) in texts {
                let mut next = file.clone();
                match who {
                    0 | 1 => typed(&mut next, &text),
                    2 => { next.undo(0); }
                    _ => next.agent_wrote(None, Some(&text), OriginId(1)),
                }
                // A text that comes about twice has the hunks of the second time.
                if seen.iter().any(|(text, ..)| *text == next.current()) {
                    continue;
                }
                file = next;
                let authors: Vec<_> = (0..file.hunks().len()).map(|hunk| file.origins(hunk)).collect();
                seen.push((file.current(), file.hunks(), authors));
            }
            for (text, hunks, authors) in seen.into_iter().rev() {
                typed(&mut file, &text);
                let found: Vec<_> = (0..file.hunks().len()).map(|hunk| file.origins(hunk)).collect();
                prop_assert_eq!((text, file.hunks(), found), (file.current(), hunks, authors));
            }
        }

        #[test]
        fn what_is_left_to_decide_stands_again(base in text(), texts in prop::collection::vec((0..4u8, text()), 0..6)) {
            let mut file = FileReview::new(Some(&base));
            for (who, text) in texts {
                match who {
                    0 => file.user_wrote(&text),
                    1 => { file.undo(0); }
                    who => file.agent_wrote(None, Some(&text), OriginId(who.into())),
                }
            }
            file.forget_missing();
            let again = FileReview::standing(Some(&file.current()), (true, true), None, file.undecided());
            prop_assert_eq!((again.base(), again.hunks()), (file.base(), file.hunks()));
        }

        #[test]
        fn without_an_agent_no_line_has_an_author(base in text(), texts in prop::collection::vec(text(), 0..4)) {
            let mut file = FileReview::new(Some(&base));
            texts.iter().for_each(|text| file.user_wrote(text));
            prop_assert!((0..file.line_count()).all(|row| file.author(row).is_none()));
        }
    }
}
