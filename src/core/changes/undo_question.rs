//! What the user is asked before more is undone than what they mean: hunks come and go as a whole, also where the
//! user's own edits are in them, or what another call, turn or session did. What is done with the answer is left to
//! others.

/// Hunks that are to be undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UndoQuestion {
    pub hunks: usize,
    /// So many have the user's edits in them.
    pub mixed: usize,
    /// So many were changed by others of their kind as well.
    pub shared: usize,
    /// So many are one of the two, or both.
    pub held: usize,
    /// Of what kind the others are: "turns".
    pub others: &'static str,
}

impl UndoQuestion {
    /// `None` where nothing but what is meant would go.
    pub fn prompt(&self) -> Option<String> {
        let who = match (self.mixed, self.shared) {
            (0, 0) => return None,
            (_, 0) => "You have".to_owned(),
            (0, _) => format!("Other {} have", self.others),
            _ => format!("You or other {} have", self.others),
        };
        Some(match self.hunks {
            1 => format!("{who} changed this hunk, too"),
            hunks => format!("{who} changed {} of these {hunks} hunks, too", self.held),
        })
    }

    /// To undo all, the others alone if there are any, or nothing; in this order.
    pub fn items(&self) -> Vec<String> {
        let (it, them) = if self.hunks == 1 { ("it", "it") } else { ("all of them", "them") };
        let mut items = vec![match (self.mixed, self.shared) {
            (_, 0) => format!("Undo {it} with my edits in {them}"),
            (0, _) => format!("Undo {it} as a whole"),
            _ => format!("Undo {it} as a whole, with my edits in {them}"),
        }];
        if self.held < self.hunks {
            items.push(format!("Undo the other {} alone", self.hunks - self.held));
        }
        items.push(match self.shared {
            0 => "Leave it as it is".to_owned(),
            _ => "Leave it as it is (:Acp checkpoints goes back by turns)".to_owned(),
        });
        items
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(hunks: usize, mixed: usize, shared: usize, held: usize) -> Vec<String> {
        let question = UndoQuestion { hunks, mixed, shared, held, others: "turns" };
        question.prompt().into_iter().chain(question.items()).collect()
    }

    #[test]
    fn what_is_meant_alone_is_not_asked_about() {
        let question = UndoQuestion { hunks: 3, mixed: 0, shared: 0, held: 0, others: "turns" };
        assert_eq!(question.prompt(), None);
    }

    #[test]
    fn who_has_a_part_in_the_hunks_is_said() {
        assert_eq!(
            asked(1, 1, 0, 1),
            ["You have changed this hunk, too", "Undo it with my edits in it", "Leave it as it is"]
        );
        assert_eq!(
            asked(1, 0, 1, 1),
            [
                "Other turns have changed this hunk, too",
                "Undo it as a whole",
                "Leave it as it is (:Acp checkpoints goes back by turns)"
            ]
        );
        assert_eq!(
            asked(5, 1, 2, 3)[..3],
            [
                "You or other turns have changed 3 of these 5 hunks, too",
                "Undo all of them as a whole, with my edits in them",
                "Undo the other 2 alone"
            ]
        );
    }
}
