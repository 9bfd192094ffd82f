//! What an agent lets the user choose: its mode, its model, its other options.

use mlua::Result;

use crate::core::ids::SessionKey;
use crate::core::message::{Command, OptionKind, OptionValue};
use crate::core::session::Session;
use crate::core::session::options::{chosen_name, in_order, models, modes};
use crate::core::session::status::mode;
use crate::nvim::arguments::{NO_SESSION, fail};
use crate::nvim::context::Context;
use crate::nvim::sessions::Sessions;

impl Sessions {
    pub fn choose_mode(cx: &mut Context, word: Option<&str>) -> Result<()> {
        let modes = here(cx).map(modes).unwrap_or_default();
        choose_of(cx, "mode", modes, word, set_mode)
    }

    /// The mode after the present one, and after the last the first.
    pub fn next_mode(cx: &mut Context) -> Result<()> {
        let Some(key) = cx.session_here() else { return fail(NO_SESSION) };
        let modes = here(cx).map(modes).unwrap_or_default();
        let current = cx.sessions.get(&key).and_then(mode);
        let at = modes
            .iter()
            .position(|(id, name)| Some(name) == current.as_ref() || Some(id) == current.as_ref());
        match modes.get(at.map_or(0, |at| (at + 1) % modes.len())) {
            Some((id, _)) => {
                set_mode(cx, key, id.clone());
                Ok(())
            }
            None => fail("this agent offers no choice of a mode"),
        }
    }

    pub fn choose_model(cx: &mut Context, word: Option<&str>) -> Result<()> {
        let models = here(cx).map(models).unwrap_or_default();
        choose_of(cx, "model", models, word, |cx, key, model| match option_of(cx, key, "model") {
            Some(option) => set_option(cx, key, option, OptionValue::Value(model)),
            None => cx.send(Command::SetModel { session: key, model }),
        })
    }

    pub fn choose_option(cx: &mut Context, words: &[String]) -> Result<()> {
        let Some(key) = cx.session_here() else { return fail(NO_SESSION) };
        let Some(session) = cx.sessions.get(&key) else { return fail(NO_SESSION) };
        if session.options.is_empty() {
            return fail("this agent offers no options");
        }
        if let Some(id) = words.first() {
            return choose_value(cx, key, id.clone(), words.get(1).map(String::as_str));
        }
        let options = in_order(&session.options);
        let ids: Vec<String> = options.iter().map(|option| option.id.clone()).collect();
        let items =
            options.iter().map(|option| format!("{}: {}", option.name, chosen_name(option))).collect();
        cx.offer("Options", "acp_option", items, move |_: &mut Self, cx, index| {
            choose_value(cx, key, ids[index].clone(), None)
        });
        Ok(())
    }
}

fn here(cx: &Context) -> Option<&Session> {
    cx.sessions.get(&cx.session_here()?)
}

fn set_mode(cx: &mut Context, key: SessionKey, mode: String) {
    match option_of(cx, key, "mode") {
        Some(option) => set_option(cx, key, option, OptionValue::Value(mode)),
        None => cx.send(Command::SetMode { session: key, mode }),
    }
}

fn set_option(cx: &mut Context, session: SessionKey, option: String, value: OptionValue) {
    cx.send(Command::SetOption { session, option, value });
}

fn option_of(cx: &Context, key: SessionKey, category: &str) -> Option<String> {
    Some(cx.sessions.get(&key)?.selection(category)?.id.clone())
}

/// Sets what the user names, or chooses, among values that are ids and names.
fn choose_of(
    cx: &mut Context,
    what: &str,
    values: Vec<(String, String)>,
    word: Option<&str>,
    set: impl FnOnce(&mut Context, SessionKey, String) + 'static,
) -> Result<()> {
    let Some(key) = cx.session_here() else { return fail(NO_SESSION) };
    if values.is_empty() {
        return fail(format!("this agent offers no choice of a {what}"));
    }
    if let Some(word) = word {
        let Some((id, _)) = values.into_iter().find(|(id, name)| id == word || name == word) else {
            return fail(format!("the agent has no {what} {word:?}"));
        };
        set(cx, key, id);
        return Ok(());
    }
    let items = values.iter().map(|(_, name)| name.clone()).collect();
    cx.offer(&format!("Choose a {what}"), "acp_choice", items, move |_: &mut Sessions, cx, index| {
        set(cx, key, values[index].0.clone());
        Ok(())
    });
    Ok(())
}

fn choose_value(cx: &mut Context, key: SessionKey, id: String, word: Option<&str>) -> Result<()> {
    let found = cx
        .sessions
        .get(&key)
        .and_then(|session| session.options.iter().find(|option| option.id == id))
        .map(|option| (option.kind.clone(), option.name.clone()));
    let name = found.as_ref().map(|(_, name)| name.clone()).unwrap_or_default();
    match found.map(|(kind, _)| kind) {
        None => fail(format!("the agent has no option {id:?}")),
        Some(OptionKind::Toggle { current }) => {
            let value = match word {
                None => !current,
                Some("on" | "true") => true,
                Some("off" | "false") => false,
                Some(other) => return fail(format!("{id} takes on or off, not {other:?}")),
            };
            set_option(cx, key, id, OptionValue::Toggle(value));
            Ok(())
        }
        Some(OptionKind::Select { groups, .. }) => {
            let values: Vec<_> = groups
                .into_iter()
                .flat_map(|group| group.values)
                .map(|value| (value.id, value.name))
                .collect();
            let option = id.clone();
            choose_of(cx, &name, values, word, move |cx, key, value| {
                set_option(cx, key, option, OptionValue::Value(value));
            })
        }
    }
}
