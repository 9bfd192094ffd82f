//! A call of a tool from its arguments to its answer: checked, run once nothing else is being done, answered once, and
//! stopped when nobody waits for it any more.

use std::path::{Component, Path};

use mlua::{Function, Lua, LuaSerdeExt as _, Result, Table, Value};
use serde_json::{Map, Value as Json};

use crate::core::ids::{SessionKey, ToolRunId};
use crate::core::locations::{Lines, Verb};
use crate::core::message::{Command, ToolAnswer};
use crate::core::tools::results::words;
use crate::core::tools::table::Tool;
use crate::core::tools::{Found, find, schema};
use crate::nvim::buffers::open;
use crate::nvim::buffers::path_cache::canonical;
use crate::nvim::context::{self, Context};
use crate::nvim::editor::{Editor, first_line};
use crate::nvim::events::EditorEvent;
use crate::nvim::lua_data::to_lua;
use crate::nvim::tools::state::{Running, Tools};
use crate::platform::files::{bytes_of_path, path_of_bytes};

/// An answer of one of the user's tools may be no longer.
const LONGEST: usize = 1 << 20;

impl Tools {
    pub fn called(
        &mut self,
        cx: &mut Context,
        session: SessionKey,
        run: ToolRunId,
        (name, args): (String, Json),
    ) {
        match self.checked(cx, session, &name, args) {
            Ok(args) => {
                follow(cx, session, &name, &args);
                let running = Running { session, name, args, stop: None, has_asked: false, waiting: None };
                self.running.insert(run, running);
                self.begin(cx, run);
            }
            Err(why) => cx.send(Command::AnswerTool { run, answer: ToolAnswer::failure(why) }),
        }
    }

    /// The arguments, complete, if the tool may be called with them.
    fn checked(
        &self,
        cx: &Context,
        session: SessionKey,
        name: &str,
        args: Json,
    ) -> std::result::Result<Map<String, Json>, String> {
        let Some(session) = cx.sessions.get(&session) else {
            return Err("the session is over".to_owned());
        };
        let denied = cx.config.tools_denied(&session.agent_name, &session.place.cwd);
        if denied.iter().any(|denied| denied == name) {
            return Err(format!("the user does not allow {name}"));
        }
        let tool = find(name);
        match (tool, self.own.get(name)) {
            (Some(tool), _) => schema::check(&tool.schema(), &args)?,
            (None, Some(own)) => schema::check(&own.spec.schema, &args)?,
            (None, None) => return Err(format!("there is no tool {name:?} any more")),
        }
        let Json::Object(mut args) = args else { return Err("the arguments should be an object".to_owned()) };
        if let Some(tool) = tool {
            tool.complete(&mut args);
        }
        Ok(args)
    }

    fn begin(&self, cx: &mut Context, run: ToolRunId) {
        let Some(running) = self.running.get(&run) else { return };
        let Some(session) = cx.sessions.get(&running.session) else { return };
        let place = session.place.clone();
        let roots = place.folders().map(|root| canonical(root));
        let call = Call {
            run,
            session: running.session,
            name: running.name.clone(),
            args: Json::Object(running.args.clone()),
            roots: roots.map(|root| bytes_of_path(&root).into_owned()).collect(),
            cwd: bytes_of_path(&canonical(&place.cwd)).into_owned(),
            own: self.own.get(&running.name).map(|own| own.run.clone()),
        };
        cx.effects.push_back(Box::new(move |editor| {
            let begun = start(editor, &call);
            context::run(move |tools: &mut Self, cx| {
                match begun {
                    Ok(stop) => tools.has_begun(cx, run, stop),
                    Err(error) => tools.ended(cx, run, Err(first_line(&error))),
                }
                Ok(())
            });
        }));
    }

    fn has_begun(&mut self, cx: &mut Context, run: ToolRunId, stop: Function) {
        match self.running.get_mut(&run) {
            Some(running) => running.stop = Some(stop),
            // It is done, which stops nothing; or it was cancelled just now.
            None => stop_later(cx, stop),
        }
    }

    fn ended(&mut self, cx: &mut Context, run: ToolRunId, outcome: std::result::Result<Outcome, String>) {
        let Some(running) = self.running.remove(&run) else { return };
        leave(cx, &running, run);
        let answer = match outcome {
            Ok(Outcome::Text(text)) if text.len() > LONGEST => {
                let length = text.len();
                ToolAnswer::failure(format!(
                    "the answer is too long: {length} bytes, of {LONGEST} at most; ask for less"
                ))
            }
            Ok(Outcome::Text(text)) => ToolAnswer { text, failed: false },
            Ok(Outcome::Found(tool, found)) => {
                let session = cx.sessions.get(&running.session);
                let cwd = session.map(|session| canonical(&session.place.cwd)).unwrap_or_default();
                ToolAnswer { text: words(tool, &running.args, &cwd, &found), failed: false }
            }
            Err(why) => ToolAnswer::failure(why),
        };
        cx.send(Command::AnswerTool { run, answer });
    }

    /// Nobody waits for it any more.
    pub fn cancelled(&mut self, cx: &mut Context, run: ToolRunId) {
        let Some(running) = self.running.remove(&run) else { return };
        leave(cx, &running, run);
        if let Some(stop) = running.stop {
            stop_later(cx, stop);
        }
    }

    /// Has the background do what the agent could ask for.
    fn request(
        &mut self,
        cx: &mut Context,
        run: ToolRunId,
        (method, params): (String, Json),
        then: Function,
    ) {
        let Some(running) = self.running.get_mut(&run) else { return };
        running.waiting = Some(then);
        running.has_asked = true;
        cx.send(Command::ServeTool { session: running.session, run, method, params });
    }

    pub fn served(&mut self, cx: &mut Context, run: ToolRunId, outcome: std::result::Result<Json, String>) {
        let Some(then) = self.running.get_mut(&run).and_then(|running| running.waiting.take()) else {
            return;
        };
        cx.run_effect("couldn't go on with a tool", move |editor| {
            let (result, why) = match &outcome {
                Ok(result) => (to_lua(&editor.lua, result)?, None),
                Err(why) => (Value::Nil, Some(why.as_str())),
            };
            then.call::<()>((result, why))
        });
    }
}

enum Outcome {
    Text(String),
    Found(&'static Tool, Box<Found>),
}

struct Call {
    run: ToolRunId,
    session: SessionKey,
    name: String,
    args: Json,
    cwd: Vec<u8>,
    roots: Vec<Vec<u8>>,
    own: Option<Function>,
}

/// The file that a tool looks into is where the agent is.
fn follow(cx: &mut Context, session: SessionKey, name: &str, args: &Map<String, Json>) {
    let Some(file) = args.get("file").and_then(Json::as_str).filter(|_| find(name).is_some()) else { return };
    let Some(cwd) = cx.sessions.get(&session).map(|session| session.place.cwd.clone()) else { return };
    let line = args.get("line").and_then(Json::as_f64).map(|line| line as u32);
    let lines = line.and_then(|line| Lines::span(Some(line), Some(1)));
    let path = cwd.join(Path::new(file));
    // What is elsewhere is refused.
    let is_elsewhere = path.components().any(|part| part == Component::ParentDir);
    if path.starts_with(&cwd) && !is_elsewhere {
        cx.raise(EditorEvent::FileVisited { session, path, lines, verb: Verb::Reading });
    }
}

/// What the background does or holds for a call that is over, it need not any more.
fn leave(cx: &mut Context, running: &Running, run: ToolRunId) {
    if running.has_asked {
        cx.send(Command::LeaveTool { session: running.session, run });
    }
}

fn stop_later(cx: &mut Context, stop: Function) {
    cx.run_effect("couldn't stop a tool", move |_| stop.call::<()>(()));
}

/// Has Lua run it; gives what stops it.
fn start(editor: &Editor, call: &Call) -> Result<Function> {
    let lua = &editor.lua;
    let module: Table = lua.globals().get::<Function>("require")?.call("acp.tools")?;
    let load = lua.create_function(|_, path: mlua::LuaString| {
        let path = path_of_bytes(&path.as_bytes());
        // Loading seems to enter the buffer (BufEnter in a window of Neovim's own), which nobody does.
        context::enter(|_: &mut Tools, cx| open::load(&cx.editor, &path))
    })?;
    let roots: Vec<Value> = call.roots.iter().map(|root| editor.string(root)).collect::<Result<_>>()?;
    let facts = editor.table([
        ("name", editor.string(&call.name)?),
        ("session", Value::Integer(call.session.0.into())),
        ("cwd", editor.string(&call.cwd)?),
        ("roots", Value::Table(lua.create_sequence_from(roots)?)),
        ("load", Value::Function(load)),
        ("request", Value::Function(requests(lua, call.run)?)),
    ])?;
    let (run, tool, is_own) = (call.run, find(&call.name), call.own.is_some());
    let answer = lua.create_function(move |lua, (is_done, value): (bool, Value)| {
        let outcome = match (is_done, tool.filter(|_| !is_own)) {
            (true, Some(tool)) => {
                lua.from_value::<Found>(value).map(|found| Outcome::Found(tool, Box::new(found)))
            }
            (true, None) => text_of(&value).map(Outcome::Text),
            (false, _) => Err(mlua::Error::runtime(text_of(&value).unwrap_or_default())),
        };
        let outcome = outcome.map_err(|error| first_line(&error));
        context::run(move |tools: &mut Tools, cx| {
            tools.ended(cx, run, outcome);
            Ok(())
        });
        Ok(())
    })?;
    let args = to_lua(lua, &call.args)?;
    module.get::<Function>("start")?.call((facts, args, answer, call.own.clone()))
}

/// Takes a method of the protocol, its parameters and a function that is called with the result, or nil and an error.
fn requests(lua: &Lua, run: ToolRunId) -> Result<Function> {
    lua.create_function(move |lua, (method, params, then): (String, Value, Function)| {
        let params: Json = lua.from_value(params)?;
        context::run(move |tools: &mut Tools, cx| {
            tools.request(cx, run, (method, params), then);
            Ok(())
        });
        Ok(())
    })
}

fn text_of(value: &Value) -> Result<String> {
    match value {
        Value::String(text) => Ok(text.to_string_lossy()),
        Value::Nil => Ok(String::new()),
        other => Err(mlua::Error::runtime(format!("a tool gave a {}", other.type_name()))),
    }
}
