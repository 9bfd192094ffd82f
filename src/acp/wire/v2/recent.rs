//! What was told last, of which an agent could tell without end.

use std::collections::VecDeque;

/// So many values by their keys, those that were added last.
pub struct Recent<K, V, const MOST: usize>(VecDeque<(K, V)>);

impl<K, V, const MOST: usize> Default for Recent<K, V, MOST> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<K: PartialEq, V: Default, const MOST: usize> Recent<K, V, MOST> {
    /// The value of a key, which is there from now on.
    pub fn of(&mut self, key: K) -> &mut V {
        // What was told last is told of again.
        let at = match self.0.iter().rposition(|(known, _)| *known == key) {
            Some(at) => at,
            None => {
                if self.0.len() == MOST {
                    self.0.pop_front();
                }
                self.0.push_back((key, V::default()));
                self.0.len() - 1
            }
        };
        &mut self.0[at].1
    }
}
