//! What the user has undone of each session's changes, until its agent is told with the next prompt.

use std::collections::HashMap;
use std::path::Path;

use crate::core::changes::diff::{Hunk, counts};
use crate::core::ids::SessionKey;

/// At most this many undone changes are told one by one.
const MAX_LINES: usize = 20;

/// As the agents will read it.
#[derive(Default)]
pub struct Undone(HashMap<SessionKey, Vec<String>>);

impl Undone {
    pub fn add(&mut self, session: SessionKey, line: String) {
        self.0.entry(session).or_default().push(line);
    }

    /// A hunk in a file below the session's folder was undone.
    pub fn add_hunk(&mut self, session: SessionKey, cwd: &Path, path: &Path, hunk: &Hunk) {
        let name = path.strip_prefix(cwd).unwrap_or(path).display();
        let (added, removed) = counts(std::slice::from_ref(hunk));
        let first =
            hunk.added.iter().chain(&hunk.removed).map(|line| line.trim()).find(|line| !line.is_empty());
        let first = first.map(|line| format!(": {line}")).unwrap_or_default();
        self.add(session, format!("- {name}:{} (+{added} -{removed}){first}", hunk.row + 1));
    }

    /// What is added to a session's prompt. It is told once.
    pub fn take(&mut self, session: SessionKey) -> Option<String> {
        let mut lines = self.0.remove(&session)?;
        let more = lines.len().saturating_sub(MAX_LINES);
        lines.truncate(MAX_LINES);
        if more > 0 {
            lines.push(format!("- and {more} more"));
        }
        Some(format!("\n\nI undid these changes of yours:\n{}", lines.join("\n")))
    }

    /// A session is over.
    pub fn forget(&mut self, session: SessionKey) {
        self.0.remove(&session);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: SessionKey = SessionKey(1);

    fn hunk(removed: &[&str], added: &[&str]) -> Hunk {
        let lines = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
        Hunk { row: 2, removed: lines(removed), added: lines(added) }
    }

    #[test]
    fn an_undone_hunk_is_told_by_its_position_its_size_and_its_first_line() {
        let mut undone = Undone::default();
        undone.add_hunk(ONE, Path::new("/p"), Path::new("/p/src/a.rs"), &hunk(&["x"], &["", "  new"]));
        assert_eq!(
            undone.take(ONE).as_deref(),
            Some("\n\nI undid these changes of yours:\n- src/a.rs:3 (+2 -1): new")
        );
    }

    #[test]
    fn of_removed_lines_the_first_one_is_told_and_of_empty_ones_none() {
        let mut undone = Undone::default();
        undone.add_hunk(ONE, Path::new("/p"), Path::new("/q/a"), &hunk(&["", "gone"], &[]));
        undone.add_hunk(ONE, Path::new("/p"), Path::new("/p/a"), &hunk(&[], &["", " "]));
        let told = undone.take(ONE).unwrap_or_default();
        assert!(told.ends_with("\n- /q/a:3 (+0 -2): gone\n- a:3 (+2 -0)"), "{told}");
    }

    #[test]
    fn what_was_undone_is_told_once_and_to_its_own_session() {
        let mut undone = Undone::default();
        undone.add(ONE, "- a".into());
        assert_eq!(undone.take(SessionKey(2)), None);
        assert!(undone.take(ONE).is_some());
        assert_eq!(undone.take(ONE), None);
        undone.add(ONE, "- a".into());
        undone.forget(ONE);
        assert_eq!(undone.take(ONE), None);
    }

    #[test]
    fn many_undone_changes_are_told_by_their_number() {
        let mut undone = Undone::default();
        (0..MAX_LINES + 3).for_each(|at| undone.add(ONE, format!("- {at}")));
        let told = undone.take(ONE).unwrap_or_default();
        assert_eq!(told.lines().count(), 3 + MAX_LINES + 1);
        assert!(told.ends_with("\n- 19\n- and 3 more"), "{told}");
        (0..MAX_LINES).for_each(|at| undone.add(ONE, format!("- {at}")));
        assert!(undone.take(ONE).unwrap_or_default().ends_with("\n- 19"));
    }
}
