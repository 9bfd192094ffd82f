//! What features leave for each other, and the order in which it is served: what something leads to comes before what
//! waited with it, so that nobody hears of two things mixed. Events come first; who goes on later does so when all have
//! heard of them.

use std::collections::VecDeque;

use crate::nvim::events::EditorEvent;
use crate::nvim::guard::Task;

#[derive(Default)]
pub struct Leftovers {
    events: VecDeque<EditorEvent>,
    tasks: VecDeque<Task>,
}

/// One of them.
pub enum Left {
    Event(EditorEvent),
    Task(Task),
}

impl Leftovers {
    pub fn raise(&mut self, event: EditorEvent) {
        self.events.push_back(event);
    }

    pub fn add_task(&mut self, task: Task) {
        self.tasks.push_back(task);
    }

    /// Puts what was left since the last time before what waits; gives the first of all.
    pub fn next(&mut self, waiting: &mut VecDeque<Left>) -> Option<Left> {
        self.tasks.drain(..).rev().for_each(|task| waiting.push_front(Left::Task(task)));
        self.events.drain(..).rev().for_each(|event| waiting.push_front(Left::Event(event)));
        waiting.pop_front()
    }

    /// What waits is to be served another time.
    pub fn put_back(&mut self, waiting: VecDeque<Left>) {
        for left in waiting.into_iter().rev() {
            match left {
                Left::Event(event) => self.events.push_front(event),
                Left::Task(task) => self.tasks.push_front(task),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::ids::SessionKey;

    /// An event that can be told from others.
    fn raise(leftovers: &mut Leftovers, number: u32) {
        leftovers.raise(EditorEvent::SessionChanged(SessionKey(number)));
    }

    fn add_task(leftovers: &mut Leftovers) {
        leftovers.add_task(Box::new(|_| Ok(())));
    }

    /// The next one: the number of an event, or none for a task.
    fn next(leftovers: &mut Leftovers, waiting: &mut VecDeque<Left>) -> Option<Option<u32>> {
        leftovers.next(waiting).map(|left| match left {
            Left::Event(EditorEvent::SessionChanged(key)) => Some(key.0),
            _ => None,
        })
    }

    #[test]
    fn what_an_event_leads_to_comes_before_those_that_waited_with_it() {
        let (mut leftovers, mut waiting) = (Leftovers::default(), VecDeque::new());
        raise(&mut leftovers, 1);
        raise(&mut leftovers, 2);
        assert_eq!(next(&mut leftovers, &mut waiting), Some(Some(1)));
        raise(&mut leftovers, 11);
        raise(&mut leftovers, 12);
        let mut all = Vec::new();
        while let Some(left) = next(&mut leftovers, &mut waiting) {
            all.push(left);
        }
        assert_eq!(all, [Some(11), Some(12), Some(2)]);
    }

    #[test]
    fn who_goes_on_later_does_so_after_the_events_of_the_same_time_alone() {
        let (mut leftovers, mut waiting) = (Leftovers::default(), VecDeque::new());
        raise(&mut leftovers, 1);
        raise(&mut leftovers, 2);
        assert_eq!(next(&mut leftovers, &mut waiting), Some(Some(1)));
        add_task(&mut leftovers);
        raise(&mut leftovers, 11);
        assert_eq!(next(&mut leftovers, &mut waiting), Some(Some(11)));
        assert_eq!(next(&mut leftovers, &mut waiting), Some(None));
        assert_eq!(next(&mut leftovers, &mut waiting), Some(Some(2)));
        assert_eq!(next(&mut leftovers, &mut waiting), None);
    }

    #[test]
    fn what_could_not_be_served_keeps_its_place() {
        let (mut leftovers, mut waiting) = (Leftovers::default(), VecDeque::new());
        [1, 2, 3].iter().for_each(|number| raise(&mut leftovers, *number));
        add_task(&mut leftovers);
        assert_eq!(next(&mut leftovers, &mut waiting), Some(Some(1)));
        raise(&mut leftovers, 4);
        leftovers.put_back(std::mem::take(&mut waiting));
        let all: Vec<_> = std::iter::from_fn(|| next(&mut leftovers, &mut waiting)).collect();
        assert_eq!(all, [Some(2), Some(3), Some(4), None]);
    }
}
