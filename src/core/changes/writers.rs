//! Which sessions may have written a file on the disk, and whether that is known or a guess. How it is found out is
//! left to the background, which watches the folders; what follows from it is left to reviews and checkpoints.

use crate::core::ids::{EntryId, SessionKey};

/// None means somebody else: the user, or another program. Several mean one of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Writers {
    sessions: Vec<Writer>,
    /// The background has told; otherwise the editor guesses.
    is_known: bool,
}

/// A session, and its tool call if that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Writer {
    pub session: SessionKey,
    pub call: Option<EntryId>,
}

impl Writers {
    pub fn known(sessions: Vec<Writer>) -> Self {
        Self { sessions, is_known: true }
    }

    pub fn guess(sessions: Vec<Writer>) -> Self {
        Self { sessions, is_known: false }
    }

    /// The session that speaks for all of them.
    pub fn first(&self) -> Option<Writer> {
        self.sessions.first().copied()
    }

    /// The others of which it may have been one.
    pub fn others(&self) -> &[Writer] {
        self.sessions.get(1..).unwrap_or_default()
    }

    pub fn all(&self) -> &[Writer] {
        &self.sessions
    }

    /// Whether these are told instead of those who were said to have done a change before. `names` says whether a
    /// writer's call itself says that it edits the file.
    pub fn correct(&self, told: &[Writer], names: impl Fn(&Writer) -> bool) -> bool {
        let knows_less = match (told, &self.sessions[..]) {
            ([told], [now]) => told.session == now.session && now.call.is_none(),
            _ => false,
        };
        let is_sure = matches!(told, [told] if names(told)) && !self.sessions.iter().any(&names);
        self.is_known && !told.is_empty() && told != self.sessions && !knows_less && !is_sure
    }

    pub fn session(&self) -> Option<SessionKey> {
        self.first().map(|writer| writer.session)
    }

    pub fn is_outside(&self) -> bool {
        self.sessions.is_empty()
    }

    /// Two reports of one change: what is known counts before what is guessed, and otherwise the later one.
    pub fn merge(&mut self, later: Self) {
        if later.is_known || !self.is_known {
            *self = later;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writer(session: u32) -> Writer {
        Writer { session: SessionKey(session), call: None }
    }

    #[test]
    fn what_was_told_is_corrected_by_who_knows_more() {
        let of =
            |session, call: Option<usize>| Writer { session: SessionKey(session), call: call.map(EntryId) };
        let corrects = |told: &[Writer], now: &[Writer]| {
            Writers::known(now.to_vec()).correct(told, |writer| writer.call == Some(EntryId(7)))
        };
        assert!(corrects(&[of(1, None)], &[of(1, Some(3))]));
        assert!(corrects(&[of(1, Some(2))], &[of(1, Some(3))]));
        assert!(corrects(&[of(1, Some(2))], &[of(2, None)]));
        assert!(corrects(&[of(1, Some(2))], &[]), "it came from outside");
        assert!(!corrects(&[of(1, Some(2))], &[of(1, None)]), "that is less");
        assert!(!corrects(&[of(1, Some(7))], &[]), "its call says that it writes the file");
        assert!(!corrects(&[], &[of(1, Some(3))]), "it was told as nobody's");
        assert!(!Writers::guess(vec![of(1, Some(3))]).correct(&[of(1, None)], |_| false));
    }

    #[test]
    fn a_guess_does_not_replace_what_is_known() {
        let mut writers = Writers::known(Vec::new());
        writers.merge(Writers::guess(vec![writer(1)]));
        assert!(writers.is_outside());
        let mut writers = Writers::guess(vec![writer(1)]);
        writers.merge(Writers::known(vec![writer(2), writer(3)]));
        assert_eq!((writers.session(), writers.others()), (Some(SessionKey(2)), &[writer(3)][..]));
        writers.merge(Writers::known(Vec::new()));
        assert!(writers.is_outside(), "the later one of two that are known");
    }
}
