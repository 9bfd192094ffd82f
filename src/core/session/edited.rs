//! A prompt that waited and is edited: it goes back to where it stood in the line, also when the line has moved on
//! meanwhile.

use super::{Edited, Queued, Session};
use crate::core::ids::Moment;
use crate::core::message::{Command, Content};

impl Session {
    /// Takes a prompt out of the line to be edited.
    pub fn unqueue_to_edit(&mut self, index: usize) -> Option<Queued> {
        let queued = self.unqueue(index)?;
        self.queue.iter_mut().zip(1..).for_each(|(queued, rank)| queued.rank = rank);
        self.edited = Some(Edited { before: index, is_sent: false });
        Some(queued)
    }

    /// Where in the line the prompt goes that is being edited, from 0 on; nothing where it is sent already.
    pub fn edited_place(&self) -> Option<usize> {
        self.edited.filter(|edited| !edited.is_sent).map(|edited| self.place_of(edited))
    }

    fn place_of(&self, Edited { before, .. }: Edited) -> usize {
        let ranked = || self.queue.iter().enumerate().filter(|(_, queued)| queued.rank > 0);
        // The nearest one of those that stood after it, else of those before it.
        let after = ranked().filter(|(_, queued)| queued.rank > before).min_by_key(|(_, queued)| queued.rank);
        let first = usize::from(self.queue.front().is_some_and(|queued| queued.again));
        let place = match after {
            Some((at, _)) => at,
            None => ranked().next_back().map_or(first, |(at, _)| at + 1),
        };
        place.max(first)
    }

    /// The user sends what they have edited. Says whether there was such a prompt.
    pub fn send_edited(&mut self) -> bool {
        self.mark_edited(true)
    }

    /// It could not be sent, and is edited on.
    pub fn edit_on(&mut self) {
        self.mark_edited(false);
    }

    fn mark_edited(&mut self, is_sent: bool) -> bool {
        self.status_touched |= self.edited.is_some();
        self.edited.as_mut().map(|edited| edited.is_sent = is_sent).is_some()
    }

    /// It does not go back into the line. Says whether one was being edited.
    pub fn forget_edited(&mut self) -> bool {
        let is_edited = self.edited_place().is_some();
        if is_edited {
            (self.edited, self.status_touched) = (None, true);
        }
        is_edited
    }

    /// Sends the prompt that was edited, or puts it back to where it stood.
    pub fn prompt_edited(&mut self, content: Vec<Content>, now: Moment) -> Vec<Command> {
        let Some(edited) = self.edited.take() else { return self.prompt(content, now) };
        let place = self.place_of(edited);
        self.queue.insert(place, Queued::new(content));
        self.status_touched = true;
        self.next_prompt(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::ids::SessionKey;
    use crate::core::message::{Opened, Place, StopReason, TurnEnd};
    use crate::core::session::AgentRun;

    fn text(text: &str) -> Vec<Content> {
        vec![Content::Text(text.into())]
    }

    /// A session at work in which these prompts wait.
    fn waiting(prompts: &[&str]) -> Session {
        let mut session = Session::new(SessionKey(1), AgentRun::DEMO, Place::default(), Moment(0));
        session.opened(Opened::default(), Moment(0));
        session.prompt(text("go"), Moment(0));
        prompts.iter().for_each(|prompt| _ = session.prompt(text(prompt), Moment(0)));
        session
    }

    fn end_turn(session: &mut Session) {
        session.turn_ended(TurnEnd::Stopped { reason: StopReason::EndTurn, usage: None }, Moment(1));
    }

    fn line(session: &Session) -> Vec<String> {
        session.queue().iter().map(Queued::line).collect()
    }

    /// What comes of editing the prompt at an index, after something happened meanwhile.
    fn edited(index: usize, meanwhile: impl FnOnce(&mut Session)) -> Vec<String> {
        let mut session = waiting(&["one", "two", "three"]);
        assert!(session.unqueue_to_edit(index).is_some());
        meanwhile(&mut session);
        assert!(session.send_edited());
        assert_eq!(session.edited_place(), None, "it is on its way");
        session.prompt_edited(text("new"), Moment(2));
        line(&session)
    }

    #[test]
    fn a_prompt_that_was_edited_goes_back_to_where_it_stood() {
        assert_eq!(edited(0, |_| ()), ["new", "two", "three"]);
        assert_eq!(edited(1, |_| ()), ["one", "new", "three"]);
        assert_eq!(edited(2, |_| ()), ["one", "two", "new"]);
    }

    #[test]
    fn it_keeps_its_neighbours_while_the_line_moves_on() {
        assert_eq!(edited(1, end_turn), ["new", "three"]);
        assert_eq!(edited(2, end_turn), ["two", "new"]);
        let grows = |session: &mut Session| _ = session.prompt(text("four"), Moment(1));
        assert_eq!(edited(1, grows), ["one", "new", "three", "four"]);
        assert_eq!(edited(2, grows), ["one", "two", "new", "four"]);
        assert_eq!(edited(1, |session| session.move_queued(1, 0)), ["new", "three", "one"]);
        let removes = |session: &mut Session| _ = session.unqueue(1);
        assert_eq!(edited(1, removes), ["one", "new"]);
        // All that waited with it is gone, and something else has come.
        let drains = |session: &mut Session| {
            session.prompt(text("four"), Moment(1));
            (0..2).for_each(|_| end_turn(session));
        };
        assert_eq!(edited(1, drains), ["new", "four"]);
    }

    #[test]
    fn it_goes_at_once_where_nothing_is_waited_for_any_more() {
        let mut session = waiting(&["one"]);
        session.unqueue_to_edit(0);
        end_turn(&mut session);
        session.send_edited();
        assert_eq!(session.prompt_edited(text("new"), Moment(2)).len(), 1);
        assert_eq!(line(&session), [""; 0]);
    }

    #[test]
    fn one_that_is_given_up_or_could_not_be_sent_holds_no_place() {
        let mut session = waiting(&["one", "two"]);
        session.unqueue_to_edit(0);
        session.send_edited();
        assert!(!session.forget_edited(), "it is on its way");
        session.edit_on();
        assert_eq!(session.edited_place(), Some(0));
        assert!(session.forget_edited());
        assert!(!session.send_edited());
        session.prompt_edited(text("new"), Moment(2));
        assert_eq!(line(&session), ["two", "new"]);
    }
}
