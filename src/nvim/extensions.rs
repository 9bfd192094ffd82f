//! Methods beyond the protocol, which the user serves in Lua: which there are, and calling them. The
//! agents' words come from the background, which asks for these methods only.

use std::collections::BTreeMap;

use mlua::{Function, Lua, Result, Table, Value};
use serde_json::Value as Json;

use crate::core::ids::{AskId, SessionKey};
use crate::core::message::{Answer, Command};
use crate::nvim::context::{self, Context};
use crate::nvim::editor::{Editor, Level, first_line};
use crate::nvim::lua_data::to_lua;

/// What an agent gets to read of a handler's error.
const LONGEST_ERROR: usize = 200;

/// The user's handlers by method.
#[derive(Default)]
pub struct Extensions {
    requests: BTreeMap<String, Function>,
    notifications: BTreeMap<String, Function>,
}

/// A request that an agent has made.
pub struct Call {
    pub ask: AskId,
    pub method: String,
    pub params: Json,
}

/// Takes a handler for a "request" or a "notification", or with none takes it away.
pub fn handle(_: &Lua, (kind, method, handler): (String, String, Option<Function>)) -> Result<()> {
    context::enter(|extensions: &mut Extensions, cx| {
        let handlers = match kind.as_str() {
            "request" => &mut extensions.requests,
            "notification" => &mut extensions.notifications,
            other => return Err(mlua::Error::runtime(format!("there are no handlers for a {other:?}"))),
        };
        match handler {
            Some(handler) => handlers.insert(method, handler),
            None => handlers.remove(&method),
        };
        extensions.tell(cx);
        Ok(())
    })
}

impl Extensions {
    /// Tells the background, if there is one, which methods the user serves.
    pub fn tell(&self, cx: &mut Context) {
        if cx.has_background {
            let names = |handlers: &BTreeMap<String, Function>| handlers.keys().cloned().collect();
            let (requests, notifications) = (names(&self.requests), names(&self.notifications));
            cx.send(Command::Handle { requests, notifications });
        }
    }

    /// An agent calls a method. The handler runs once nothing here is being changed, so that it may use
    /// the whole of the Lua API.
    pub fn called(&self, cx: &mut Context, session: Option<SessionKey>, call: Call) {
        let Call { ask, method, params } = call;
        let handler = self.requests.get(&method).cloned();
        cx.effects.push_back(Box::new(move |editor| {
            let answer = match handler.map(|handler| result(editor, &handler, session, &params)) {
                Some(Ok(result)) => Answer::Returned(result),
                Some(Err(error)) => {
                    let why = first_line(&error);
                    editor.notify(&format!("the handler for {method} failed: {why}"), Level::Error);
                    Answer::Refused(format!("the handler failed: {}", short(&why)))
                }
                // It was taken away while the request was under way.
                None => Answer::Refused("nobody handles it any more".to_owned()),
            };
            context::run(move |_: &mut Self, cx| {
                cx.send(Command::Answer { ask, answer });
                Ok(())
            });
        }));
    }

    /// An agent tells something.
    pub fn told(&self, cx: &mut Context, session: Option<SessionKey>, method: String, params: Json) {
        let Some(handler) = self.notifications.get(&method).cloned() else { return };
        cx.run_effect(format!("the handler for {method} failed"), move |editor| {
            call::<Value>(editor, &handler, session, &params).map(drop).map_err(|error| first_line(&error))
        });
    }
}

fn call<R: mlua::FromLuaMulti>(
    editor: &Editor,
    handler: &Function,
    session: Option<SessionKey>,
    params: &Json,
) -> Result<R> {
    handler.call((to_lua(&editor.lua, params)?, session.map(|session| session.0)))
}

/// What a handler returns, as JSON; nothing is null.
fn result(editor: &Editor, handler: &Function, session: Option<SessionKey>, params: &Json) -> Result<Json> {
    let value: Value = call(editor, handler, session, params)?;
    if value.is_nil() {
        return Ok(Json::Null);
    }
    // Neovim's own: it knows `vim.NIL` and `vim.empty_dict()`.
    let json: Table = editor.module("json")?;
    let encode: Function = json.get("encode")?;
    let text: mlua::LuaString = encode.call(value)?;
    serde_json::from_slice(&text.as_bytes())
        .map_err(|error| mlua::Error::runtime(format!("its result is no JSON: {error}")))
}

/// An error without the place in the user's files, which is of no use to an agent.
fn short(text: &str) -> String {
    let is_place = |place: &str| {
        let line = place.rsplit_once(':').map(|(_, line)| line);
        line.is_some_and(|line| !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let text = match text.split_once(": ") {
        Some((place, text)) if is_place(place) => text,
        _ => text,
    };
    text.chars().take(LONGEST_ERROR).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_learns_what_went_wrong_but_not_where() {
        assert_eq!(short("/home/me/.config/nvim/init.lua:12: no such thing: x"), "no such thing: x");
        assert_eq!(short("[string \"x\"]:1: boom"), "boom");
        assert_eq!(short("couldn't do it: boom"), "couldn't do it: boom");
        assert_eq!(short(&"é".repeat(1000)).chars().count(), LONGEST_ERROR);
    }
}
