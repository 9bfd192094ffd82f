//! Lua's garbage, collected in slices: Lua itself collects only when more of it is made.

use std::rc::Rc;
use std::time::{Duration, Instant};

use mlua::Result;

use crate::nvim::editor::Editor;
use crate::nvim::guard;

const PAUSE: Duration = Duration::from_millis(10);

/// A cycle that takes more slices than this is left to Lua.
const MAX_SLICES: u32 = 1000;

/// Begins a cycle, and goes on with it until it is complete.
pub fn collect_garbage(editor: &Rc<Editor>) -> Result<()> {
    collect_slice(editor.clone(), 0)
}

fn collect_slice(editor: Rc<Editor>, done: u32) -> Result<()> {
    let until = Instant::now() + Duration::from_millis(2);
    while Instant::now() < until {
        // True at the end of a cycle.
        if editor.lua.gc_step()? {
            return Ok(());
        }
    }
    if done < MAX_SLICES {
        let lua = editor.lua.clone();
        guard::later(&lua, PAUSE, move |_| collect_slice(editor, done + 1))?;
    }
    Ok(())
}
