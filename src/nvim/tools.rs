//! The editor's tools for agents: the user's own beside the plugin's, and the calls that are under way. Which there are
//! and how they answer is in `core::tools`, what they find out in `lua/acp/tools/`, the wire in the background.

mod running;
mod state;
mod watched;

use std::time::Duration;

use mlua::{Function, Lua, Result};
use serde::Deserialize;
use serde_json::Value as Json;

use crate::core::message::{Command, ToolSpec};
use crate::core::tools::{find, schema, specs};
use crate::nvim::context::{self, Context};
use crate::nvim::tools::state::Own;
pub use crate::nvim::tools::state::Tools;

/// What one of the user's tools may take, unless it says otherwise.
const PATIENCE: f64 = 60.0;
const LONGEST_PATIENCE: f64 = 24.0 * 3600.0;

/// What the user says of a tool.
#[derive(Deserialize)]
struct Wanted {
    name: String,
    description: String,
    #[serde(default)]
    schema: Option<Json>,
    #[serde(default)]
    timeout: Option<f64>,
    #[serde(default)]
    reads_only: bool,
}

/// Takes a tool, or without a function takes it away.
pub fn add(_: &Lua, (wanted, run): (String, Option<Function>)) -> Result<()> {
    context::enter(|tools: &mut Tools, cx| {
        let wanted: Wanted = serde_json::from_str(&wanted)
            .map_err(|error| mlua::Error::runtime(format!("couldn't add the tool: {error}")))?;
        match run {
            Some(run) => {
                let spec = spec(wanted)
                    .map_err(|why| mlua::Error::runtime(format!("couldn't add the tool: {why}")))?;
                tools.own.insert(spec.name.clone(), Own { spec, run });
            }
            None => {
                tools.own.remove(&wanted.name);
            }
        }
        cx.offers.own = tools.own.keys().cloned().collect();
        if cx.has_background {
            tools.tell(cx);
        }
        Ok(())
    })
}

fn spec(wanted: Wanted) -> std::result::Result<ToolSpec, String> {
    let Wanted { name, description, schema, timeout, reads_only } = wanted;
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if name.is_empty() || name.len() > 64 || !name.bytes().all(is_name) {
        return Err(format!("{name:?} should have letters, digits, _ and - only"));
    }
    if find(&name).is_some() {
        return Err(format!("{name:?} is one of the plugin's own"));
    }
    let mut schema = schema.unwrap_or_else(|| serde_json::json!({ "type": "object", "properties": {} }));
    // An empty table of Lua's is a list.
    if let Some(properties) = schema.get_mut("properties")
        && properties.as_array().is_some_and(Vec::is_empty)
    {
        *properties = serde_json::json!({});
    }
    if let Some(why) = schema::trouble(&schema) {
        return Err(why);
    }
    let patience = timeout.unwrap_or(PATIENCE);
    if !(patience > 0.0 && patience <= LONGEST_PATIENCE) {
        return Err("its timeout should be a number of seconds, a day at most".to_owned());
    }
    Ok(ToolSpec { name, description, schema, reads_only, patience: Duration::from_secs_f64(patience) })
}

impl Tools {
    /// Tells the background which tools there are.
    pub fn tell(&self, cx: &mut Context) {
        let own = self.own.values().map(|own| own.spec.clone());
        cx.send(Command::Tools { list: specs().into_iter().chain(own).collect() });
    }
}
