//! What is to be done with a file that a buffer holds, and the line in which that waits: one after the other, or
//! a read would miss the write before it. How one is done is in `file_job`.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};

use crate::core::changes::writers::Writers;
use crate::core::ids::{AskId, SessionKey};
use crate::core::text::Text;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Task {
    /// An agent reads. `line` is 1-based.
    Read { session: SessionKey, ask: AskId, line: Option<u32>, limit: Option<u32>, checked: bool },
    /// An agent writes.
    Write { session: SessionKey, ask: AskId, content: Text, checked: bool },
    /// The file was written without the editor. `about` is the session whose user is told of it. `told` says that somebody
    /// who watches the file has told of it, so that its text is known to be whole: Neovim's own look says nothing of that.
    Take { writers: Writers, about: Option<SessionKey>, told: bool },
    /// The buffer got its first unsaved edit: what is on the disk is what it began with.
    Remember,
}

impl Task {
    pub fn is_take(&self) -> bool {
        matches!(self, Self::Take { .. })
    }

    pub fn session(&self) -> Option<SessionKey> {
        match self {
            Self::Read { session, .. } | Self::Write { session, .. } => Some(*session),
            Self::Take { writers, about, .. } => writers.session().or(*about),
            Self::Remember => None,
        }
    }

    /// The same, to be done whatever the disk holds. `None` for what is done so already.
    pub fn checked(&self) -> Option<Self> {
        match self.clone() {
            Self::Read { session, ask, line, limit, checked: false } => {
                Some(Self::Read { session, ask, line, limit, checked: true })
            }
            Self::Write { session, ask, content, checked: false } => {
                Some(Self::Write { session, ask, content, checked: true })
            }
            _ => None,
        }
    }
}

/// What waits, file by file.
#[derive(Default)]
pub struct Queues(HashMap<PathBuf, Queue>);

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Task>,
    busy: bool,
    /// The task under way has begun to edit the buffer.
    editing: bool,
}

impl Queues {
    /// Puts a task behind those that wait. Says whether it can begin now.
    pub fn push(&mut self, path: &Path, task: Task) -> bool {
        let queue = self.0.entry(path.to_owned()).or_default();
        if let (
            Some(Task::Take { writers, about, told }),
            Task::Take { writers: later, about: then, told: is_told },
        ) = (queue.waiting.back_mut(), &task)
        {
            writers.merge(later.clone());
            *about = about.or(*then);
            *told &= *is_told;
            return !queue.busy;
        }
        let is_look = matches!(task, Task::Take { .. } | Task::Remember);
        let is_like = |last: &Task| std::mem::discriminant(last) == std::mem::discriminant(&task);
        // A file that is about to be looked at need not be looked at twice.
        if !(is_look && queue.waiting.back().is_some_and(is_like)) {
            queue.waiting.push_back(task);
        }
        !queue.busy
    }

    /// Puts a task before all others, and the one under way behind it.
    pub fn push_front(&mut self, path: &Path, mut task: Task) {
        let queue = self.0.entry(path.to_owned()).or_default();
        if let Task::Take { writers, .. } = &mut task {
            // What is taken first is what the report that waits is about.
            let waiting = queue.waiting.iter().find_map(|task| match task {
                Task::Take { writers, .. } => Some(writers.clone()),
                _ => None,
            });
            waiting.into_iter().for_each(|waiting| writers.merge(waiting));
        }
        queue.waiting.push_front(task);
    }

    /// The next task, if none is under way.
    pub fn begin(&mut self, path: &Path) -> Option<Task> {
        let queue = self.0.get_mut(path)?;
        if queue.busy {
            return None;
        }
        let Some(task) = queue.waiting.pop_front() else {
            self.0.remove(path);
            return None;
        };
        queue.busy = true;
        Some(task)
    }

    /// The task under way is done.
    pub fn ended(&mut self, path: &Path) {
        if let Some(queue) = self.0.get_mut(path) {
            (queue.busy, queue.editing) = (false, false);
        }
    }

    /// The task under way edits the buffer; or it stops doing so, since the user has changed it.
    pub fn set_editing(&mut self, path: &Path, editing: bool) {
        if let Some(queue) = self.0.get_mut(path) {
            queue.editing = editing;
        }
    }

    pub fn is_being_edited(&self, path: &Path) -> bool {
        self.0.get(path).is_some_and(|queue| queue.editing)
    }

    /// Something waits for a file or is under way.
    pub fn is_busy(&self, path: &Path) -> bool {
        self.0.contains_key(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::changes::writers::Writer;
    use crate::core::ids::EntryId;

    fn read(ask: u64) -> Task {
        Task::Read { session: SessionKey(1), ask: AskId(ask), line: None, limit: None, checked: false }
    }

    fn take(entry: usize) -> Task {
        Task::Take { writers: writers(entry), about: None, told: true }
    }

    fn writers(entry: usize) -> Writers {
        Writers::guess(vec![Writer { session: SessionKey(1), call: Some(EntryId(entry)) }])
    }

    #[test]
    fn tasks_of_a_file_are_done_one_after_the_other() {
        let (mut queues, path) = (Queues::default(), Path::new("/a"));
        assert!(queues.push(path, read(1)));
        assert_eq!(queues.begin(path), Some(read(1)));
        assert!(!queues.push(path, read(2)), "one is under way");
        assert_eq!(queues.begin(path), None);
        assert!(queues.push(Path::new("/b"), read(3)), "another file does not wait for it");
        queues.ended(path);
        assert_eq!(queues.begin(path), Some(read(2)));
        queues.ended(path);
        assert!(queues.is_busy(path));
        assert_eq!(queues.begin(path), None);
        assert!(!queues.is_busy(path), "nothing is left of it");
    }

    #[test]
    fn a_file_that_is_about_to_be_looked_at_is_not_looked_at_twice() {
        let (mut queues, path) = (Queues::default(), Path::new("/a"));
        queues.push(path, take(1));
        queues.push(path, take(2));
        queues.push(path, read(1));
        queues.push(path, take(3));
        let all: Vec<Task> = std::iter::from_fn(|| {
            let task = queues.begin(path);
            queues.ended(path);
            task
        })
        .collect();
        assert_eq!(all, [take(2), read(1), take(3)], "a read in between has to see what came before it");
    }

    #[test]
    fn what_is_taken_first_is_the_change_of_those_who_are_known_to_have_written_it() {
        let (mut queues, path) = (Queues::default(), Path::new("/a"));
        let known = Task::Take { writers: Writers::known(Vec::new()), about: None, told: true };
        queues.push(path, known.clone());
        queues.push(path, take(1));
        queues.push_front(path, take(2));
        assert_eq!(queues.begin(path), Some(known.clone()));
        queues.ended(path);
        assert_eq!(queues.begin(path), Some(known));
        queues.ended(path);
        assert_eq!(queues.begin(path), None);
    }

    #[test]
    fn what_comes_first_goes_before_all_that_waits() {
        let (mut queues, path) = (Queues::default(), Path::new("/a"));
        queues.push(path, read(1));
        queues.push_front(path, read(2));
        queues.push_front(path, take(1));
        assert_eq!(queues.begin(path), Some(take(1)));
        queues.ended(path);
        assert_eq!(queues.begin(path), Some(read(2)));
    }

    #[test]
    fn a_file_is_being_edited_until_its_task_is_over_or_the_user_types() {
        let (mut queues, path) = (Queues::default(), Path::new("/a"));
        queues.push(path, read(1));
        queues.begin(path);
        queues.set_editing(path, true);
        assert!(queues.is_being_edited(path));
        queues.set_editing(path, false);
        assert!(!queues.is_being_edited(path));
        queues.set_editing(path, true);
        queues.ended(path);
        assert!(!queues.is_being_edited(path));
    }

    #[test]
    fn a_task_is_checked_once() {
        let checked = read(1).checked().expect("a read");
        assert_eq!(checked.checked(), None);
        assert_eq!(take(1).checked(), None);
        assert_eq!(Task::Remember.checked(), None);
    }
}
