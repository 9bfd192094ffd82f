//! What is still to be taken into a file's review, in order, while a buffer's text is read or the background
//! compares. What is taken in, and how, is left to those who own the queue.

use std::collections::VecDeque;

/// Inputs in the order in which they came about.
pub struct InputQueue<T>(VecDeque<Slot<T>>);

enum Slot<T> {
    Input(T),
    /// A text that is being read; by its number.
    Reading(u64),
}

impl<T> Default for InputQueue<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T> InputQueue<T> {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What waits, in order.
    pub fn inputs(&self) -> impl Iterator<Item = &T> {
        self.0.iter().filter_map(|slot| match slot {
            Slot::Input(input) => Some(input),
            Slot::Reading(_) => None,
        })
    }

    pub fn push(&mut self, input: T) {
        self.0.push_back(Slot::Input(input));
    }

    /// An input that comes before all others.
    pub fn push_front(&mut self, input: T) {
        self.0.push_front(Slot::Input(input));
    }

    /// Keeps the position of a text that is being read.
    pub fn push_reading(&mut self, number: u64) {
        self.0.push_back(Slot::Reading(number));
    }

    /// The next input; `None` also while what comes next is being read.
    pub fn take_next(&mut self) -> Option<T> {
        match self.0.pop_front()? {
            Slot::Input(input) => Some(input),
            reading @ Slot::Reading(_) => {
                self.0.push_front(reading);
                None
            }
        }
    }

    /// A text was read, or could not be: then nothing takes its position. What came in after the reading began
    /// and is in the text already, as `is_in_text` says, is dropped. Says whether the reading was waited for.
    pub fn has_read(&mut self, number: u64, input: Option<T>, is_in_text: impl Fn(&T) -> bool) -> bool {
        let is_it = |slot: &Slot<T>| matches!(slot, Slot::Reading(other) if *other == number);
        let Some(at) = self.0.iter().position(is_it) else { return false };
        let mut later = self.0.split_off(at);
        later.pop_front();
        if let Some(input) = input {
            later.retain(|slot| !matches!(slot, Slot::Input(input) if is_in_text(input)));
            self.push(input);
        }
        self.0.append(&mut later);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drained(queue: &mut InputQueue<&'static str>) -> Vec<&'static str> {
        std::iter::from_fn(|| queue.take_next()).collect()
    }

    fn is_typed(input: &&str) -> bool {
        input.starts_with("typed")
    }

    #[test]
    fn inputs_are_taken_in_order() {
        let mut queue = InputQueue::default();
        queue.push("a");
        queue.push("b");
        queue.push_front("first");
        assert_eq!(drained(&mut queue), ["first", "a", "b"]);
        assert!(queue.is_empty());
    }

    #[test]
    fn nothing_overtakes_a_text_that_is_being_read() {
        let mut queue = InputQueue::default();
        queue.push("a");
        queue.push_reading(1);
        queue.push("agent");
        assert_eq!(drained(&mut queue), ["a"]);
        assert!(!queue.is_empty());
        assert!(queue.has_read(1, Some("text"), is_typed));
        assert_eq!(drained(&mut queue), ["text", "agent"]);
    }

    #[test]
    fn what_was_typed_while_a_text_was_read_is_in_it() {
        let mut queue = InputQueue::default();
        queue.push("typed before");
        queue.push_reading(1);
        queue.push("typed meanwhile");
        queue.push("agent");
        queue.has_read(1, Some("text"), is_typed);
        assert_eq!(drained(&mut queue), ["typed before", "text", "agent"]);
    }

    #[test]
    fn what_was_typed_counts_where_the_text_could_not_be_read() {
        let mut queue = InputQueue::default();
        queue.push_reading(1);
        queue.push("typed");
        assert!(queue.has_read(1, None, is_typed));
        assert_eq!(drained(&mut queue), ["typed"]);
    }

    #[test]
    fn a_reading_that_nobody_waits_for_changes_nothing() {
        let mut queue = InputQueue::default();
        queue.push_reading(1);
        queue.push("typed");
        assert!(!queue.has_read(2, Some("text"), is_typed));
        queue.has_read(1, Some("text"), is_typed);
        assert!(!queue.has_read(1, Some("text"), is_typed));
        assert_eq!(drained(&mut queue), ["text"]);
    }

    #[test]
    fn two_readings_keep_their_positions_whichever_ends_first() {
        let mut queue = InputQueue::default();
        queue.push_reading(1);
        queue.push("agent");
        queue.push_reading(2);
        queue.has_read(2, Some("second"), is_typed);
        assert_eq!(drained(&mut queue), [""; 0]);
        queue.has_read(1, Some("first"), is_typed);
        assert_eq!(drained(&mut queue), ["first", "agent", "second"]);
    }
}
