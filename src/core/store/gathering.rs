//! Earlier sessions, from the record and from the agents that run. Agents are asked when the list is to
//! open, which waits for them a moment: what they say in time is in it. Asking them is left to others.

use std::collections::BTreeSet;

use crate::core::ids::AgentId;
use crate::core::message::StoredSession;
use crate::core::store::record::Kept;
use crate::core::store::stored_sessions::Listed;

/// What is known so far.
#[derive(Default)]
pub struct Gathering {
    under_way: Option<Gathered>,
    number: u64,
    /// Agents that have yet to answer, and whose answer nobody waits for.
    late: BTreeSet<AgentId>,
}

/// What the list is made of.
#[derive(Debug, PartialEq)]
pub struct Gathered {
    /// What the user looks for.
    pub words: Vec<String>,
    pub kept: Vec<Kept>,
    pub listed: Vec<Listed>,
    /// The agents that have not answered.
    pub waiting: BTreeSet<AgentId>,
}

/// What comes of an agent's answer.
#[derive(Debug, PartialEq)]
pub enum Step {
    /// Others have yet to answer, or nobody wants to know any more.
    Nothing,
    Offer(Gathered),
    /// The user wants to see what this agent has.
    OfferAlone(Vec<StoredSession>),
}

impl Gathering {
    /// A list is wanted, for which these agents are asked. Gives its number, by which the time is up.
    pub fn begin(&mut self, words: Vec<String>, kept: Vec<Kept>, agents: BTreeSet<AgentId>) -> u64 {
        self.number += 1;
        self.under_way = Some(Gathered { words, kept, listed: Vec::new(), waiting: agents });
        self.number
    }

    /// The list with this number waits no longer.
    pub fn time_is_up(&mut self, number: u64) -> Option<Gathered> {
        if self.number == number { self.finish() } else { None }
    }

    /// An agent has told all the sessions that it stores; `name` is how it is configured.
    pub fn told(&mut self, agent: AgentId, name: &str, stored: Vec<StoredSession>) -> Step {
        if let Some(gathered) = &mut self.under_way
            && gathered.waiting.remove(&agent)
        {
            gathered.listed.extend(stored.into_iter().map(|stored| (agent, name.to_owned(), stored)));
            if !gathered.waiting.is_empty() {
                return Step::Nothing;
            }
            return self.finish().map_or(Step::Nothing, Step::Offer);
        }
        match self.late.remove(&agent) {
            true => Step::Nothing,
            false => Step::OfferAlone(stored),
        }
    }

    /// What an agent tells next is what the user wants to see.
    pub fn listen_to(&mut self, agent: AgentId) {
        self.late.remove(&agent);
        if let Some(gathered) = &mut self.under_way {
            gathered.waiting.remove(&agent);
        }
    }

    fn finish(&mut self) -> Option<Gathered> {
        let gathered = self.under_way.take()?;
        self.late.extend(&gathered.waiting);
        Some(gathered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: AgentId = AgentId(1);
    const TWO: AgentId = AgentId(2);

    fn stored(id: &str) -> Vec<StoredSession> {
        vec![StoredSession { acp_id: id.into(), cwd: "/p".into(), ..StoredSession::default() }]
    }

    fn asking(agents: &[AgentId]) -> (Gathering, u64) {
        let mut gathering = Gathering::default();
        let number = gathering.begin(Vec::new(), Vec::new(), agents.iter().copied().collect());
        (gathering, number)
    }

    fn ids(gathered: &Gathered) -> Vec<(u32, &str)> {
        gathered.listed.iter().map(|(agent, _, stored)| (agent.0, stored.acp_id.as_str())).collect()
    }

    #[test]
    fn the_list_opens_when_the_last_agent_has_answered() {
        let (mut gathering, number) = asking(&[ONE, TWO]);
        assert_eq!(gathering.told(ONE, "one", stored("a")), Step::Nothing);
        let Step::Offer(gathered) = gathering.told(TWO, "two", stored("b")) else { panic!("it opens") };
        assert_eq!(ids(&gathered), [(1, "a"), (2, "b")]);
        assert!(gathered.waiting.is_empty());
        assert_eq!(gathering.time_is_up(number), None, "it is open already");
    }

    #[test]
    fn the_list_opens_without_agents_that_take_too_long_and_whose_answer_nobody_waits_for_then() {
        let (mut gathering, number) = asking(&[ONE, TWO]);
        gathering.told(ONE, "one", stored("a"));
        let gathered = gathering.time_is_up(number).expect("the time is up");
        assert_eq!(ids(&gathered), [(1, "a")]);
        assert_eq!(gathered.waiting, BTreeSet::from([TWO]));
        assert_eq!(gathering.told(TWO, "two", stored("b")), Step::Nothing);
        assert_eq!(gathering.told(TWO, "two", stored("b")), Step::OfferAlone(stored("b")));
    }

    #[test]
    fn a_late_agent_that_the_user_asks_for_is_offered_alone() {
        let (mut gathering, number) = asking(&[ONE]);
        gathering.time_is_up(number);
        gathering.listen_to(ONE);
        assert_eq!(gathering.told(ONE, "one", stored("a")), Step::OfferAlone(stored("a")));
    }

    #[test]
    fn an_agent_that_is_asked_for_itself_is_in_no_list() {
        let (mut gathering, number) = asking(&[ONE, TWO]);
        gathering.listen_to(ONE);
        assert_eq!(gathering.told(ONE, "one", stored("a")), Step::OfferAlone(stored("a")));
        let gathered = gathering.time_is_up(number).expect("the time is up");
        assert!(gathered.listed.is_empty());
        assert_eq!(gathered.waiting, BTreeSet::from([TWO]));
    }

    #[test]
    fn the_time_of_an_earlier_list_is_not_that_of_the_next_one() {
        let (mut gathering, first) = asking(&[ONE]);
        let second = gathering.begin(vec!["word".into()], Vec::new(), BTreeSet::from([ONE]));
        assert_eq!(gathering.time_is_up(first), None);
        assert_eq!(gathering.time_is_up(second).expect("the time is up").words, ["word"]);
    }
}
