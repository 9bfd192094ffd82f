//! The one who sends a prompt from Lua and hears in which session it is answered, once there is one.

use mlua::{Function, IntoLuaMulti, Result, Value};
use serde_json::Value as Json;

use crate::nvim::context;
use crate::nvim::editor::Editor;
use crate::nvim::guard;
use crate::nvim::lua_data::to_lua;
use crate::nvim::prompt::Prompts;

const NO_SESSION_BEGUN: &str = "no session was begun: no agent was chosen, or it could not be started";

/// A Lua function that hears where its prompt is answered, or that it never will be, as no session was begun: whatever
/// keeps one from being begun, this is dropped then.
pub struct Asker(Option<Function>);

impl Asker {
    pub fn new(then: Option<Function>) -> Self {
        Self(then)
    }

    pub fn begun(mut self, sent: Json) {
        if let Some(then) = self.0.take() {
            tell_asker(then, move |editor| to_lua(&editor.lua, &sent));
        }
    }
}

impl Drop for Asker {
    fn drop(&mut self) {
        if let Some(then) = self.0.take() {
            tell_asker(then, |_| Ok((Value::Nil, NO_SESSION_BEGUN)));
        }
    }
}

/// Not now: it may be Lua that has let go of the one who asked.
fn tell_asker<T: IntoLuaMulti>(then: Function, what: impl FnOnce(&Editor) -> Result<T> + 'static) {
    let tell = context::then(move |_: &mut Prompts, cx, ()| {
        cx.run_effect("what waits for an answer failed", move |editor| then.call::<()>(what(editor)?));
        Ok(())
    });
    guard::soon(move |features| tell(features, ()));
}
