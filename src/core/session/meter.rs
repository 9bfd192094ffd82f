//! What a session has used up, from what its agent tells of it. Cost is told as a sum that grows, tokens as that or
//! turn by turn, and a session that is taken up may go on with its sums or begin anew. Whatever is not sure to be new is
//! not counted: nothing is counted twice. What becomes of the numbers is left to `core::store::usage`.

use crate::core::ids::AgentId;
use crate::core::message::spent::{Spent, Told};
use crate::core::message::{Cost, Counts, Tokens, TurnUsage};

/// So many currencies are told apart; what comes in another one is not counted.
const MOST_CURRENCIES: usize = 8;

#[derive(Default)]
pub struct Meter {
    told: Told,
    /// The process that has told the tokens, where it is one of this Neovim's.
    process: Option<AgentId>,
    /// The session has a past that may be in its sums.
    taken_up: bool,
    /// Nothing was asked of it since it was opened, so that what is told was used up before.
    quiet: bool,
    /// The currencies that were told since it was opened.
    heard: Vec<String>,
    /// Tokens were told since it was opened.
    counted: bool,
    /// What nobody has taken note of.
    news: Spent,
    /// Since the last prompt.
    turn: Spent,
}

impl Meter {
    /// The session is open. One that is taken up goes on with what it told before, as far as that is known.
    pub fn opened(&mut self, taken_up: bool) {
        let news = std::mem::take(&mut self.news);
        let before = std::mem::take(self);
        *self = match taken_up {
            true => Self {
                taken_up,
                quiet: true,
                told: before.told,
                process: before.process,
                news,
                ..Self::default()
            },
            false => Self { news, ..Self::default() },
        };
    }

    /// Whether the session has a past that this has not seen.
    pub fn wants_past(&self) -> bool {
        self.taken_up && self.told == Told::default()
    }

    /// What the session told before it was taken up, and which process of this Neovim's told it, if one did. What was
    /// heard since counts more.
    pub fn recalled(&mut self, told: Told, process: Option<AgentId>) {
        if !self.taken_up {
            return;
        }
        if self.told.tokens.is_none() {
            self.process = process;
        }
        for cost in told.costs {
            if !self.told.costs.iter().any(|known| known.currency == cost.currency) {
                self.told.costs.push(cost);
            }
        }
        self.told.tokens = self.told.tokens.or(told.tokens);
    }

    pub fn prompted(&mut self) {
        self.quiet = false;
        self.turn = Spent::default();
    }

    /// The agent tells what the session has cost so far.
    pub fn cost(&mut self, cost: &Cost) {
        let first = !self.heard.contains(&cost.currency);
        let known = self.told.costs.iter_mut().find(|known| known.currency == cost.currency);
        if (known.is_none() || first) && self.heard.len() >= MOST_CURRENCIES {
            return;
        }
        let more = match &known {
            // It may be the sum of all that there was, or what another one was converted to.
            None if self.taken_up || !self.heard.is_empty() => 0.0,
            None => cost.amount,
            Some(_) if self.quiet => 0.0,
            Some(known) if cost.amount >= known.amount => cost.amount - known.amount,
            // Lower than before: it began anew with the session, or in it, as after /clear ..
            Some(known) if first || cost.amount < known.amount / 2.0 => cost.amount,
            // .. or was corrected.
            Some(_) => {
                return;
            }
        };
        match known {
            Some(known) => known.amount = cost.amount,
            None => self.told.costs.push(cost.clone()),
        }
        if first {
            self.heard.push(cost.currency.clone());
        }
        if more > 0.0 {
            let costs = vec![Cost { amount: more, currency: cost.currency.clone() }];
            self.spent(&Spent { costs, ..Spent::default() });
        }
    }

    /// A turn is over. What it told of tokens, and the agent that did.
    pub fn turn_ended(&mut self, usage: Option<TurnUsage>, agent: AgentId) {
        let mut spent = Spent { turns: 1, ..Spent::default() };
        if let Some(TurnUsage { tokens, counts }) = usage {
            let before = self.told.tokens;
            spent.tokens = Some(match (counts, before) {
                (Counts::Turn | Counts::LastRequest, _) => tokens,
                (Counts::Process, Some(before)) if self.process == Some(agent) => tokens.since(before),
                (Counts::Process, _) => tokens,
                (Counts::Session, Some(before)) => tokens.since(before),
                // The sum of a past that is not known.
                (Counts::Session, None) if self.taken_up && !self.counted => Tokens::default(),
                (Counts::Session, None) => tokens,
            });
            spent.at_least = match counts {
                Counts::Turn | Counts::Process => false,
                Counts::LastRequest => true,
                // An agent that tells the turn's tells fewer than before at times, which looks like a new beginning.
                Counts::Session => before.is_some() || self.taken_up,
            };
            (self.told.tokens, self.process, self.counted) = (Some(tokens), Some(agent), true);
        }
        self.spent(&spent);
    }

    fn spent(&mut self, more: &Spent) {
        self.news.add(more);
        self.turn.add(more);
    }

    /// Since the last prompt.
    pub fn turn(&self) -> &Spent {
        &self.turn
    }

    /// What that has cost, in the currency that was told first.
    pub fn turn_cost(&self) -> f64 {
        self.turn.costs.first().map_or(0.0, |cost| cost.amount)
    }

    /// The sums as they were told last.
    pub fn told(&self) -> &Told {
        &self.told
    }

    /// What was used up since this was last asked.
    pub fn take_news(&mut self) -> Option<Spent> {
        let news = std::mem::take(&mut self.news);
        (!news.is_nothing()).then_some(news)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: AgentId = AgentId(1);
    const SECOND: AgentId = AgentId(2);

    fn dollars(amount: f64) -> Cost {
        Cost { amount, currency: "USD".into() }
    }

    fn new() -> Meter {
        let mut meter = Meter::default();
        meter.opened(false);
        meter.prompted();
        meter
    }

    fn taken_up(told: Option<f64>) -> Meter {
        let mut meter = Meter::default();
        meter.opened(true);
        meter.recalled(Told { costs: told.map(dollars).into_iter().collect(), tokens: None }, None);
        meter
    }

    /// What was counted, in cents.
    fn cents(meter: &mut Meter) -> i64 {
        let costs = meter.take_news().map(|news| news.costs).unwrap_or_default();
        (costs.iter().map(|cost| cost.amount).sum::<f64>() * 100.0).round() as i64
    }

    /// What is counted of sums that are told one after the other.
    fn counted(meter: &mut Meter, sums: &[f64]) -> Vec<i64> {
        let mut count = |sum: &f64| {
            meter.cost(&dollars(*sum));
            cents(meter)
        };
        sums.iter().map(&mut count).collect()
    }

    fn usage(total: u64, counts: Counts) -> Option<TurnUsage> {
        let tokens = Tokens { total, input: total - total / 6, output: total / 6, ..Tokens::default() };
        Some(TurnUsage { tokens, counts })
    }

    fn tokens(meter: &mut Meter, totals: &[u64], counts: Counts, agent: AgentId) -> Vec<u64> {
        let mut count = |total: &u64| {
            meter.prompted();
            meter.turn_ended(usage(*total, counts), agent);
            meter.take_news().and_then(|news| news.tokens).unwrap_or_default().total
        };
        totals.iter().map(&mut count).collect()
    }

    #[test]
    fn of_a_sum_that_grows_only_the_growth_counts() {
        assert_eq!(counted(&mut new(), &[0.10, 0.10, 0.25, 0.40]), [10, 0, 15, 15]);
    }

    #[test]
    fn a_corrected_sum_counts_once_it_is_beyond_what_it_was() {
        assert_eq!(counted(&mut new(), &[1.00, 0.98, 1.00, 1.03]), [100, 0, 0, 3]);
    }

    #[test]
    fn a_sum_that_begins_anew_counts_from_there() {
        assert_eq!(counted(&mut new(), &[1.00, 0.02, 0.05]), [100, 2, 3]);
    }

    #[test]
    fn a_session_taken_up_goes_on_from_what_was_told_before() {
        // Claude goes on with its sum in another process.
        let mut meter = taken_up(Some(0.32));
        meter.prompted();
        assert_eq!(counted(&mut meter, &[0.48, 0.48]), [16, 0]);
        // Another agent begins anew.
        let mut meter = taken_up(Some(0.32));
        meter.prompted();
        assert_eq!(counted(&mut meter, &[0.20, 0.35]), [20, 15]);
        // Of one that was never seen here nobody knows what is old.
        let mut meter = taken_up(None);
        meter.prompted();
        assert_eq!(counted(&mut meter, &[5.00, 5.10]), [0, 10]);
    }

    #[test]
    fn what_is_told_before_the_first_prompt_of_a_session_taken_up_was_spent_before() {
        for known in [None, Some(0.32)] {
            let mut meter = taken_up(known);
            assert_eq!(counted(&mut meter, &[0.50]), [0]);
            meter.prompted();
            assert_eq!(counted(&mut meter, &[0.60]), [10]);
        }
    }

    #[test]
    fn what_the_disk_says_late_does_not_count_more_than_what_was_heard() {
        let mut meter = taken_up(None);
        meter.prompted();
        assert_eq!(counted(&mut meter, &[0.50]), [0]);
        meter.recalled(Told { costs: vec![dollars(0.10)], tokens: None }, None);
        assert_eq!(counted(&mut meter, &[0.55]), [5]);
    }

    #[test]
    fn an_agent_that_is_started_again_in_the_same_chat_counts_nothing_twice() {
        let mut meter = new();
        assert_eq!(counted(&mut meter, &[0.30]), [30]);
        meter.opened(true);
        meter.prompted();
        assert_eq!(counted(&mut meter, &[0.40]), [10]);
        meter.opened(true);
        meter.prompted();
        assert_eq!(counted(&mut meter, &[0.05]), [5]);
        meter.opened(false);
        meter.prompted();
        assert_eq!(counted(&mut meter, &[0.50]), [50]);
    }

    #[test]
    fn currencies_are_kept_apart_and_a_conversion_is_no_cost() {
        let mut meter = new();
        meter.cost(&dollars(1.0));
        meter.cost(&Cost { amount: 0.9, currency: "EUR".into() });
        meter.cost(&Cost { amount: 1.0, currency: "EUR".into() });
        let costs = meter.take_news().expect("costs").costs;
        let found: Vec<(&str, i64)> =
            costs.iter().map(|cost| (cost.currency.as_str(), (cost.amount * 100.0).round() as i64)).collect();
        assert_eq!(found, [("USD", 100), ("EUR", 10)]);
        for number in 0..1000 {
            meter.cost(&Cost { amount: 1.0, currency: number.to_string() });
        }
        assert!(meter.told().costs.len() <= MOST_CURRENCIES);
    }

    #[test]
    fn tokens_of_turns_are_added_and_of_sums_the_growth_counts() {
        assert_eq!(tokens(&mut new(), &[240, 120, 120], Counts::Turn, FIRST), [240, 120, 120]);
        // Copilot tells the sum since its process has had the session.
        let mut meter = new();
        assert_eq!(tokens(&mut meter, &[120, 240, 360], Counts::Process, FIRST), [120, 120, 120]);
        meter.opened(true);
        assert_eq!(tokens(&mut meter, &[500], Counts::Process, SECOND), [500]);
        // As the protocol has it; where it is lower, it has begun anew.
        let mut meter = new();
        assert_eq!(tokens(&mut meter, &[120, 240, 240, 90], Counts::Session, FIRST), [120, 120, 0, 90]);
        meter.opened(true);
        assert_eq!(tokens(&mut meter, &[100], Counts::Session, SECOND), [10]);
        // The same process may go on with its sum although the chat was closed.
        let mut again = taken_up(None);
        let told = Told { tokens: usage(500, Counts::Process).map(|usage| usage.tokens), costs: Vec::new() };
        again.recalled(told, Some(SECOND));
        assert_eq!(tokens(&mut again, &[600], Counts::Process, SECOND), [100]);
        let mut unknown = taken_up(None);
        assert_eq!(tokens(&mut unknown, &[9000, 9100], Counts::Session, FIRST), [0, 100]);
    }

    #[test]
    fn it_is_said_where_there_may_have_been_more() {
        let at_least = |counts: Counts, turns: u64| {
            let mut meter = new();
            (1..=turns).for_each(|turn| meter.turn_ended(usage(turn * 10, counts), FIRST));
            meter.take_news().is_some_and(|news| news.at_least)
        };
        assert!(!at_least(Counts::Turn, 3) && !at_least(Counts::Process, 3));
        assert!(at_least(Counts::LastRequest, 1));
        assert!(!at_least(Counts::Session, 1) && at_least(Counts::Session, 2));
    }

    #[test]
    fn a_turn_of_an_agent_that_tells_nothing_is_a_turn() {
        let mut meter = new();
        meter.turn_ended(None, FIRST);
        let news = meter.take_news().expect("a turn");
        assert_eq!((news.turns, news.tokens, news.costs.len()), (1, None, 0));
        assert_eq!(meter.take_news(), None);
    }
}
