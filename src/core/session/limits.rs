//! The rate limits of an account, as the agents of its sessions tell of them: which one counts, and what to say of it.

use super::Session;
use crate::core::ids::Moment;
use crate::core::message::{Limit, LimitStatus};
use crate::core::text::{cut, one_line};

/// An agent may have named so many; of more, the first told goes.
const MAX_LIMITS: usize = 16;
/// The name of one is cut after so many bytes.
const MAX_NAME_BYTES: usize = 40;
/// From here on a limit is near, also where the agent does not say so.
const NEAR_LIMIT_SHARE: f64 = 0.9;

impl Session {
    pub(super) fn limit_told(&mut self, mut limit: Limit) {
        limit.window = one_line(cut(&limit.window, MAX_NAME_BYTES));
        self.limits.retain(|known| known.window != limit.window);
        if self.limits.len() == MAX_LIMITS {
            self.limits.remove(0);
        }
        self.limits.push(limit);
        self.status_touched = true;
    }

    /// The limit to tell the user of without being asked: one that is near, or reached.
    pub fn pressing_limit(&self, now: Moment) -> Option<&Limit> {
        let pressing = self.limits.iter().filter(|limit| limit.standing(now) != LimitStatus::Fine);
        pressing.max_by(|one, other| {
            let rank =
                |limit: &Limit| (limit.standing(now) == LimitStatus::Reached, limit.used.unwrap_or(0.0));
            let (one, other) = (rank(one), rank(other));
            one.0.cmp(&other.0).then(one.1.total_cmp(&other.1))
        })
    }
}

impl Limit {
    /// How it stands by now: what has begun anew is fine until the agent says otherwise.
    pub fn standing(&self, now: Moment) -> LimitStatus {
        if self.resets.is_some_and(|resets| resets <= now.0) {
            return LimitStatus::Fine;
        }
        match self.status {
            LimitStatus::Fine if self.used.is_some_and(|used| used >= NEAR_LIMIT_SHARE) => LimitStatus::Near,
            status => status,
        }
    }

    /// In a word or two, for a bar.
    pub fn fact(&self, now: Moment) -> String {
        match (self.standing(now), self.percent()) {
            (LimitStatus::Reached, _) if self.overage => "beyond the limit".to_owned(),
            (LimitStatus::Reached, _) => "limit reached".to_owned(),
            (_, Some(percent)) => format!("limit {percent}%"),
            (_, None) => "limit near".to_owned(),
        }
    }

    /// What it counts: `5 hours`.
    pub fn name(&self) -> String {
        match self.window.as_str() {
            "" => "limit".to_owned(),
            "five_hour" => "5 hours".to_owned(),
            "seven_day" => "7 days".to_owned(),
            "overage" => "beyond the plan".to_owned(),
            other => match other.strip_prefix("seven_day_") {
                Some(model) => format!("7 days, {}", model.replace('_', " ")),
                None => other.replace('_', " "),
            },
        }
    }

    pub fn percent(&self) -> Option<u64> {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "saturates, which is what is wanted"
        )]
        self.used.map(|used| (used * 100.0 + 1e-6).floor() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::ids::SessionKey;
    use crate::core::message::{Place, Update};
    use crate::core::session::AgentRun;

    fn limit(window: &str, status: LimitStatus, used: Option<f64>) -> Limit {
        Limit { window: window.into(), status, used, resets: Some(1000), overage: false }
    }

    fn told(limits: &[Limit]) -> Session {
        let mut session = Session::new(SessionKey(1), AgentRun::DEMO, Place::default(), Moment(0));
        for limit in limits {
            session.apply(Update::Limit(limit.clone()), Moment(0));
        }
        session
    }

    fn fact(limits: &[Limit], now: u64) -> Option<String> {
        told(limits).pressing_limit(Moment(now)).map(|limit| limit.fact(Moment(now)))
    }

    #[test]
    fn only_a_limit_that_is_near_is_told_unasked_and_the_worst_of_them() {
        let fine = limit("five_hour", LimitStatus::Fine, Some(0.4));
        assert_eq!(fact(&[], 0), None);
        assert_eq!(fact(std::slice::from_ref(&fine), 0), None);
        let near = limit("seven_day", LimitStatus::Near, Some(0.824));
        assert_eq!(fact(&[fine.clone(), near.clone()], 0).as_deref(), Some("limit 82%"));
        let unsaid = limit("seven_day_opus", LimitStatus::Fine, Some(0.95));
        assert_eq!(fact(&[near.clone(), unsaid], 0).as_deref(), Some("limit 95%"));
        let reached = limit("five_hour", LimitStatus::Reached, None);
        assert_eq!(fact(&[reached.clone(), near.clone()], 0).as_deref(), Some("limit reached"));
        let overage = Limit { overage: true, ..reached };
        assert_eq!(fact(&[overage], 0).as_deref(), Some("beyond the limit"));
        assert_eq!(fact(&[limit("x", LimitStatus::Near, None)], 0).as_deref(), Some("limit near"));
    }

    #[test]
    fn a_limit_that_has_begun_anew_presses_nobody() {
        let near = limit("five_hour", LimitStatus::Reached, Some(1.0));
        assert_eq!(fact(std::slice::from_ref(&near), 1000), None);
        assert!(fact(&[near], 999).is_some());
    }

    #[test]
    fn what_is_told_later_of_the_same_limit_counts_and_few_are_kept() {
        let mut session = told(&[
            limit("five_hour", LimitStatus::Near, Some(0.9)),
            limit("five_hour", LimitStatus::Fine, Some(0.1)),
        ]);
        assert_eq!(session.limits.len(), 1);
        for number in 0..1000 {
            let long = format!("{number}{}", "x".repeat(999));
            session.apply(Update::Limit(limit(&long, LimitStatus::Near, None)), Moment(0));
        }
        assert_eq!(session.limits.len(), MAX_LIMITS);
        assert!(session.limits.iter().all(|limit| limit.window.len() <= MAX_NAME_BYTES));
    }

    #[test]
    fn limits_have_names_that_a_person_reads() {
        let name = |window: &str| limit(window, LimitStatus::Fine, None).name();
        assert_eq!(name("five_hour"), "5 hours");
        assert_eq!(name("seven_day_opus"), "7 days, opus");
        assert_eq!(name("per_minute"), "per minute");
        assert_eq!(name(""), "limit");
    }
}
