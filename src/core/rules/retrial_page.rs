//! What today's rules would have made of the past, as a page: lines, marks, and the rules that can be made from it.

use super::offer::Offer;
use super::page::{Builder, Page};
use super::retrial::{Change, Fate, Retrial};
use crate::core::text::visible::visible_line;

/// Longer lists are cut.
const MAX_LISTED: usize = 40;

/// The page, and the rules that are proposed, each by the row that it begins in. `trouble` is why the record can't be
/// read; `keys` says what keys do.
pub fn page(trial: &Result<Retrial, String>, keys: &str, width: usize) -> (Page, Vec<(usize, Offer)>) {
    let mut page = Builder::new(width);
    let mut offers = Vec::new();
    page.title("What today's rules would have made of the past");
    let trial = match trial {
        Ok(trial) => trial,
        Err(why) => {
            page.text(&format!("  {why}"), "AcpError");
            return (page.done(), offers);
        }
    };
    if trial.requests == 0 {
        page.text("  The record has no request of this project yet. See :help acp-audit.", "AcpMeta");
        return (page.done(), offers);
    }
    let Retrial { requests, asked, asked_now, .. } = trial;
    page.text(
        &format!(
            "  {}. You were asked {}, and would be asked {}.",
            several(*requests, "request"),
            times(*asked),
            times(*asked_now)
        ),
        "AcpMeta",
    );
    page.heading("Rules that would have spared you questions");
    if trial.proposals.is_empty() {
        page.text("  None: no question came more than once with the same answer.", "AcpMeta");
    } else if !keys.is_empty() {
        page.text(&format!("  {keys}"), "AcpMeta");
    }
    for proposal in &trial.proposals {
        offers.push((page.row(), proposal.offer.clone()));
        page.text(
            &format!("  {}: {}", visible_line(&proposal.label()), several(proposal.answers, "question")),
            "",
        );
        page.text(&format!("    such as {}", visible_line(&proposal.examples.join(", "))), "AcpMeta");
    }
    page.heading("What would be decided in another way");
    if trial.changes.is_empty() {
        page.text("  Nothing.", "AcpMeta");
    }
    for change in trial.changes.iter().take(MAX_LISTED) {
        changed(&mut page, change);
    }
    if trial.changes.len() > MAX_LISTED {
        page.text(&format!("  and {} more", trial.changes.len() - MAX_LISTED), "AcpMeta");
    }
    (page.done(), offers)
}

fn changed(page: &mut Builder, change: &Change) {
    let Change { was, now, what, why, count } = change;
    let count = if *count > 1 { format!(" ({})", times(*count)) } else { String::new() };
    let group = match now {
        Fate::Asked => "AcpToolWaiting",
        Fate::Allowed => "AcpToolDone",
        Fate::Rejected => "AcpError",
    };
    let (was, now) = (was.word(), now.word());
    let row = page.row();
    page.text(&format!("  {was} then, {now} now{count}: {}", visible_line(what)), "");
    let from = 2 + was.len() + " then, ".len();
    page.mark(row, from, from + now.len(), group);
    page.text(&format!("    {}", visible_line(why)), "AcpMeta");
}

fn several(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

fn times(count: usize) -> String {
    match count {
        0 => "never".to_owned(),
        1 => "once".to_owned(),
        count => format!("{count} times"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::rules::retrial::Proposal;
    use crate::core::rules::{Decision, Rule, Source};

    #[test]
    fn the_page_says_what_would_change_and_what_would_spare_questions() {
        let rule =
            Rule { command: Some("just check **".into()), ..Rule::new(Decision::Allow, Source::Session) };
        let offer = Offer { rules: vec![rule] };
        let proposal = Proposal { offer: offer.clone(), answers: 3, examples: vec!["just check a".into()] };
        let change = Change {
            was: Fate::Asked,
            now: Fate::Rejected,
            what: "git push".into(),
            why: "reject command git push **".into(),
            count: 2,
        };
        let trial =
            Retrial { requests: 9, asked: 5, asked_now: 1, changes: vec![change], proposals: vec![proposal] };
        let (page, offers) = page(&Ok(trial), "<CR> makes it", 76);
        insta::assert_snapshot!(page.lines.join("\n"), @r"
        What today's rules would have made of the past
          9 requests. You were asked 5 times, and would be asked once.

        Rules that would have spared you questions
          <CR> makes it
          Allow just check ** in this project: 3 questions
            such as just check a

        What would be decided in another way
          asked then, rejected now (2 times): git push
            reject command git push **
        ");
        assert_eq!(offers.len(), 1);
        assert!(page.lines[offers[0].0].contains("just check **"), "{offers:?}");
        let marked = page.marks.iter().map(|(row, from, to, _)| &page.lines[*row][*from..*to]);
        assert!(marked.collect::<Vec<_>>().contains(&"rejected"), "{:?}", page.marks);
    }

    #[test]
    fn an_empty_record_and_one_that_cannot_be_read_are_said() {
        let text = |trial| page(&trial, "", 76).0.lines.join("\n");
        assert!(text(Ok(Retrial::default())).contains("no request of this project yet"));
        assert!(text(Err("couldn't read it".into())).contains("couldn't read it"));
    }
}
