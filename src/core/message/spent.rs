//! What a session has used up, as a difference and as its agent tells it. What is new of what an agent tells is
//! `core::session::meter`'s part.

use serde::{Deserialize, Serialize};

use super::turn::Tokens;
use super::update::Cost;

/// What was used up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spent {
    /// One of each currency.
    pub costs: Vec<Cost>,
    /// None where the agent tells no tokens.
    pub tokens: Option<Tokens>,
    pub turns: u64,
    /// There were more tokens than are known.
    pub at_least: bool,
}

/// The sums that an agent told last, with which it may go on when the session is taken up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Told {
    pub costs: Vec<Cost>,
    pub tokens: Option<Tokens>,
}

impl Spent {
    pub fn add(&mut self, more: &Self) {
        for cost in &more.costs {
            add_cost(&mut self.costs, cost);
        }
        if let Some(tokens) = more.tokens {
            self.tokens.get_or_insert_default().add(tokens);
        }
        self.turns = self.turns.saturating_add(more.turns);
        self.at_least |= more.at_least;
    }

    pub fn is_nothing(&self) -> bool {
        self.costs.is_empty() && self.tokens.is_none() && self.turns == 0
    }
}

fn add_cost(costs: &mut Vec<Cost>, more: &Cost) {
    match costs.iter_mut().find(|cost| cost.currency == more.currency) {
        Some(cost) => cost.amount += more.amount,
        None => costs.push(more.clone()),
    }
}
