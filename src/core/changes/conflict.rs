//! What the user is asked about lines that both sides have changed: about all places at once first, then, if they
//! like, about one after the other. How it is asked, and what is done with the decision, is left to others.

use crate::core::changes::reconcile::{ConflictHunk, Pick};

/// More lines are not shown beside a question.
const PREVIEWED: usize = 500;

/// A conflict on its way to a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    pub hunks: Vec<ConflictHunk>,
    /// Who the other side is; `None` for the disk.
    them: Option<String>,
    /// An agent waits for its write to be done or refused.
    is_write: bool,
    /// The user was asked about it before, and the texts have changed since.
    is_again: bool,
    asked: Asked,
}

/// What the open question is about.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Asked {
    All,
    /// The place after those that were decided.
    Each(Vec<Pick>),
}

/// A question with its choices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    pub prompt: String,
    pub items: Vec<String>,
}

/// What an answer means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// By place from the top down, and for those beyond.
    Pick { picks: Vec<Pick>, rest: Option<Pick> },
    /// There is another question.
    Continue,
    /// The file stays as the user has it.
    Leave,
    /// Nothing was chosen: the conflict stays open.
    PutOff,
}

impl Conflict {
    pub fn new(hunks: Vec<ConflictHunk>, them: Option<String>, is_write: bool) -> Self {
        Self { hunks, them, is_write, is_again: false, asked: Asked::All }
    }

    /// The same where the user has seen the question, and it is another one by now.
    pub fn asked_again(self, is_again: bool) -> Self {
        Self { is_again, ..self }
    }

    /// That it waits for the user, in a sentence about a file with this name.
    pub fn waits(&self, name: &str) -> String {
        let waits = match self.is_again {
            true => "has changed meanwhile, and waits for you again",
            false => "waits for you",
        };
        let (them, which, places) = (self.them(), self.which(), self.places());
        format!("{name} {waits}: you and {them} changed {which} ({places}); :Acp answer")
    }

    pub fn is_write(&self) -> bool {
        self.is_write
    }

    /// Who the other side is.
    pub fn them(&self) -> &str {
        self.them.as_deref().unwrap_or("the disk")
    }

    /// Whose the other side's lines are.
    pub fn theirs(&self) -> String {
        match &self.them {
            Some(them) => format!("{them}'s"),
            None => "what is on the disk".to_owned(),
        }
    }

    /// Which lines both have changed.
    pub fn which(&self) -> &'static str {
        which(&self.hunks)
    }

    /// How many places there are.
    pub fn places(&self) -> String {
        places(self.hunks.len())
    }

    /// What was decided, as a part of a sentence about the user.
    pub fn told(&self, picks: &[Pick], rest: Option<Pick>) -> String {
        let of_place = |place| picks.get(place).copied().or(rest);
        let count = |pick| (0..self.hunks.len()).filter(|place| of_place(*place) == Some(pick)).count();
        let all = [
            (Pick::Theirs, format!("took {}", self.theirs())),
            (Pick::Ours, "kept yours".to_owned()),
            (Pick::Markers, "have both, with conflict markers,".to_owned()),
        ];
        let parts: Vec<String> = all
            .into_iter()
            .map(|(pick, what)| (what, count(pick)))
            .filter(|(_, count)| *count > 0)
            .map(|(what, count)| format!("{what} in {}", places(count)))
            .collect();
        match parts.as_slice() {
            [rest @ .., last] if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
            parts => parts.concat(),
        }
    }

    /// The same where nothing was decided.
    pub fn told_left(&self) -> String {
        match self.is_write {
            true => format!("{} write was refused, since you and it changed {}", self.theirs(), self.which()),
            false => "your text stays in the buffer".to_owned(),
        }
    }

    /// The same where the user wants none of it.
    pub fn told_refused(&self) -> String {
        match self.is_write {
            true => format!("you refused {} write, since you and it changed {}", self.theirs(), self.which()),
            false => self.told_left(),
        }
    }

    /// The place that the open question is about, or the first of all.
    pub fn place(&self) -> Option<&ConflictHunk> {
        match &self.asked {
            Asked::All => self.hunks.first(),
            Asked::Each(picks) => self.hunks.get(picks.len()),
        }
    }

    /// What the open question is about, for pickers that show it beside the answers: as a diff that leads from the user's
    /// lines to the others.
    pub fn preview(&self) -> Vec<String> {
        let meant = match &self.asked {
            Asked::All => &self.hunks[..],
            Asked::Each(picks) => self.hunks.get(picks.len()..picks.len() + 1).unwrap_or_default(),
        };
        let lines = meant.iter().flat_map(|hunk| {
            let ours = hunk.ours.iter().map(|line| format!("- {line}"));
            let theirs = hunk.theirs.iter().map(|line| format!("+ {line}"));
            let head = (meant.len() > 1).then(|| format!("@@ {}", hunk.row + 1));
            head.into_iter().chain(ours).chain(theirs)
        });
        lines.take(PREVIEWED).collect()
    }

    /// What was chosen so far counts no more: all is asked again.
    pub fn begin(&mut self) {
        self.asked = Asked::All;
    }

    /// The question that is open, for a file with this name. `None` when nothing is left to ask.
    pub fn question(&self, name: &str) -> Option<Question> {
        let theirs = self.theirs();
        match &self.asked {
            Asked::All => {
                let again = if self.is_again { ", changed meanwhile" } else { "" };
                let (them, which, places) = (self.them(), self.which(), self.places());
                let prompt = format!("{name}{again}: you and {them} changed {which} ({places})");
                let mut items = vec![
                    format!("Take {theirs}"),
                    "Keep mine".to_owned(),
                    "Both, with conflict markers".to_owned(),
                ];
                if self.hunks.len() > 1 {
                    items.push("One by one".to_owned());
                }
                items.push(if self.is_write { "Refuse the write" } else { "Decide later" }.to_owned());
                Some(Question { prompt, items })
            }
            Asked::Each(picks) => {
                let hunk = self.hunks.get(picks.len())?;
                let (number, count) = (picks.len() + 1, self.hunks.len());
                let prompt = format!("{name}:{} ({number} of {count})", hunk.row + 1);
                let items = vec![
                    format!("Take {theirs}: {}", first_line(&hunk.theirs)),
                    format!("Keep mine: {}", first_line(&hunk.ours)),
                    "Both, with conflict markers".to_owned(),
                ];
                Some(Question { prompt, items })
            }
        }
    }

    /// The user has chosen an item of the open question, counted from 0, or none.
    pub fn answer(&mut self, item: Option<usize>) -> Decision {
        const SIDES: [Pick; 3] = [Pick::Theirs, Pick::Ours, Pick::Markers];
        let Some(item) = item else { return Decision::PutOff };
        let pick = SIDES.get(item).copied();
        match (&mut self.asked, pick) {
            (Asked::All, Some(pick)) => Decision::Pick { picks: Vec::new(), rest: Some(pick) },
            (Asked::All, None) if item == SIDES.len() && self.hunks.len() > 1 => {
                self.asked = Asked::Each(Vec::new());
                Decision::Continue
            }
            (Asked::All, None) if item <= SIDES.len() + 1 => Decision::Leave,
            (Asked::Each(picks), Some(pick)) => {
                picks.push(pick);
                if picks.len() < self.hunks.len() {
                    return Decision::Continue;
                }
                Decision::Pick { picks: std::mem::take(picks), rest: None }
            }
            (_, None) => Decision::PutOff,
        }
    }
}

/// Which lines both sides have changed.
pub fn which(hunks: &[ConflictHunk]) -> &'static str {
    match hunks.iter().filter(|hunk| hunk.is_apart).count() {
        0 => "the same lines",
        some if some == hunks.len() => "lines next to each other",
        _ => "the same lines, and lines next to each other",
    }
}

pub fn places(count: usize) -> String {
    if count == 1 { "1 place".to_owned() } else { format!("{count} places") }
}

fn first_line(lines: &[String]) -> String {
    match lines {
        [] => "(no lines)".to_owned(),
        [line] => line.trim().to_owned(),
        [line, rest @ ..] => format!("{} (and {} more)", line.trim(), rest.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hunk(row: usize, ours: &[&str], theirs: &[&str]) -> ConflictHunk {
        let lines = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
        ConflictHunk { row, ours: lines(ours), theirs: lines(theirs), is_apart: false }
    }

    fn two(them: Option<&str>, is_write: bool) -> Conflict {
        let hunks = vec![hunk(2, &["  mine"], &["a", "b"]), hunk(9, &[], &["c"])];
        Conflict::new(hunks, them.map(str::to_owned), is_write)
    }

    #[test]
    fn a_question_is_shown_with_the_lines_that_it_is_about() {
        let mut conflict = two(Some("Demo"), true);
        assert_eq!(conflict.preview(), ["@@ 3", "-   mine", "+ a", "+ b", "@@ 10", "+ c"]);
        assert_eq!(conflict.place().map(|hunk| hunk.row), Some(2));
        assert_eq!(conflict.answer(Some(3)), Decision::Continue);
        assert_eq!(conflict.preview(), ["-   mine", "+ a", "+ b"]);
        assert_eq!(conflict.answer(Some(0)), Decision::Continue);
        assert_eq!(conflict.preview(), ["+ c"]);
        assert_eq!(conflict.place().map(|hunk| hunk.row), Some(9));
    }

    #[test]
    fn what_was_decided_is_told_by_place() {
        let conflict = two(Some("Demo"), true);
        assert_eq!(conflict.told(&[], Some(Pick::Ours)), "kept yours in 2 places");
        assert_eq!(
            conflict.told(&[Pick::Theirs, Pick::Ours], None),
            "took Demo's in 1 place and kept yours in 1 place"
        );
        let disk = two(None, false);
        assert_eq!(
            disk.told(&[Pick::Theirs, Pick::Markers], None),
            "took what is on the disk in 1 place and have both, with conflict markers, in 1 place"
        );
    }

    fn items(conflict: &Conflict) -> Vec<String> {
        conflict.question("a.rs").map(|question| question.items).unwrap_or_default()
    }

    #[test]
    fn a_single_place_is_not_asked_about_one_by_one() {
        let mut conflict = Conflict::new(vec![hunk(0, &["x"], &["y"])], None, false);
        let question = conflict.question("a.rs").expect("it is open");
        assert_eq!(question.prompt, "a.rs: you and the disk changed the same lines (1 place)");
        let all = ["Take what is on the disk", "Keep mine", "Both, with conflict markers", "Decide later"];
        assert_eq!(question.items, all);
        assert_eq!(conflict.answer(Some(3)), Decision::Leave);
    }

    #[test]
    fn lines_that_only_touch_are_not_called_the_same() {
        let mut hunks = vec![hunk(2, &["mine"], &["a"])];
        hunks[0].is_apart = true;
        assert_eq!(Conflict::new(hunks.clone(), None, false).which(), "lines next to each other");
        hunks.push(hunk(9, &["x"], &["y"]));
        assert_eq!(Conflict::new(hunks, None, false).which(), "the same lines, and lines next to each other");
    }

    #[test]
    fn a_write_can_be_refused_whatever_stands_before_that() {
        let mut conflict = two(Some("Demo"), true);
        assert_eq!(items(&conflict).last().map(String::as_str), Some("Refuse the write"));
        assert_eq!(conflict.answer(Some(4)), Decision::Leave);
    }

    #[test]
    fn one_answer_decides_about_all_places() {
        for (item, pick) in [Pick::Theirs, Pick::Ours, Pick::Markers].into_iter().enumerate() {
            let decided = Decision::Pick { picks: Vec::new(), rest: Some(pick) };
            assert_eq!(two(None, false).answer(Some(item)), decided);
        }
    }

    #[test]
    fn places_are_asked_about_one_after_the_other() {
        let mut conflict = two(Some("Demo"), true);
        assert_eq!(conflict.answer(Some(3)), Decision::Continue);
        let question = conflict.question("a.rs").expect("the first place");
        assert_eq!(question.prompt, "a.rs:3 (1 of 2)");
        assert_eq!(question.items[..2], ["Take Demo's: a (and 1 more)", "Keep mine: mine"]);
        assert_eq!(conflict.answer(Some(1)), Decision::Continue);
        let question = conflict.question("a.rs").expect("the second place");
        assert_eq!(question.prompt, "a.rs:10 (2 of 2)");
        assert_eq!(question.items[1], "Keep mine: (no lines)");
        let decided = Decision::Pick { picks: vec![Pick::Ours, Pick::Markers], rest: None };
        assert_eq!(conflict.answer(Some(2)), decided);
    }

    #[test]
    fn a_question_that_is_closed_stays_open_and_begins_with_all_places() {
        let mut conflict = two(None, false);
        assert_eq!(conflict.answer(None), Decision::PutOff);
        conflict.answer(Some(3));
        conflict.answer(Some(0));
        assert_eq!(conflict.answer(None), Decision::PutOff);
        conflict.begin();
        assert_eq!(items(&conflict).len(), 5);
        conflict.answer(Some(3));
        assert_eq!(conflict.question("a").map(|question| question.prompt), Some("a:3 (1 of 2)".to_owned()));
    }

    #[test]
    fn an_item_that_is_not_there_decides_nothing() {
        let mut conflict = two(None, false);
        assert_eq!(conflict.answer(Some(9)), Decision::PutOff);
        conflict.answer(Some(3));
        assert_eq!(conflict.answer(Some(3)), Decision::PutOff);
    }
}
