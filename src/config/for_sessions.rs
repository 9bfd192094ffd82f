//! Options as sessions have them: `core` names no options, and counts time in milliseconds.

use std::time::Duration;

use super::options::{LimitOptions, RecoveryOptions, SessionLimits, TurnLimits};
use crate::core::session::budget::{Bounds, Limits};
use crate::core::session::recovery::Recovery;

impl LimitOptions {
    pub fn bounds(&self) -> Bounds {
        let time =
            |time: Option<Duration>| time.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
        let TurnLimits { time: in_turn, cost, commands, files, lines } = self.turn;
        let turn = Limits { time: time(in_turn), cost, commands, files, lines };
        let SessionLimits { time: in_session, cost, commands, files, lines } = self.session;
        let session = Limits { time: time(in_session), cost, commands, files, lines };
        Bounds { turn, session }
    }
}

impl RecoveryOptions {
    pub fn wanted(&self) -> Recovery {
        let longest = u64::try_from(self.longest.as_millis()).unwrap_or(u64::MAX);
        Recovery { again: self.again, reconnect: self.reconnect, longest }
    }
}
