//! Whether anybody listens to an event of ours. What is told is left to others.

use std::cell::RefCell;

use mlua::Result;

use crate::core::maps::FastMap;
use crate::nvim::editor::Editor;

thread_local! {
    /// Which events somebody listens to.
    static HEARD: RefCell<FastMap<&'static str, bool>> = RefCell::default();
}

/// Code of the user's has run, which may listen to other events now.
pub fn forget_listeners() {
    HEARD.with_borrow_mut(FastMap::clear);
}

/// The same as [`has_listeners`], asked once for each event until the user's code had its turn: a turn of
/// thousands of calls sets off thousands.
pub fn is_heard(editor: &Editor, event: &'static str) -> bool {
    if let Some(known) = HEARD.with_borrow(|heard| heard.get(event).copied()) {
        return known;
    }
    let known = has_listeners(editor, event);
    HEARD.with_borrow_mut(|heard| heard.insert(event, known));
    known
}

/// Whether a `User` autocommand may want to hear of this. What cannot be told counts as yes.
pub fn has_listeners(editor: &Editor, event: &str) -> bool {
    let any = || -> Result<bool> {
        let events = editor.table([("event", editor.string("User")?)])?;
        let all: mlua::Table = editor.api("nvim_get_autocmds", events)?;
        for autocommand in all.sequence_values::<mlua::Table>() {
            let pattern: String = autocommand?.get("pattern")?;
            if pattern == event || pattern.contains(['*', '?', '[', '{', '\\']) {
                return Ok(true);
            }
        }
        Ok(false)
    };
    any().unwrap_or(true)
}
