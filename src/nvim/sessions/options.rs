//! What an agent lets the user choose: its mode, its model, its other options. What is chosen for good is left to
//! `remembering`.

use mlua::Result;

use crate::core::ids::SessionKey;
use crate::core::message::{Command, OptionKind, OptionValue};
use crate::core::session::Session;
use crate::core::session::options::{chosen_name, in_order, listed, models, modes};
use crate::core::session::status::mode;
use crate::core::store::remembered::What;
use crate::nvim::arguments::{Args, NO_SESSION, fail};
use crate::nvim::context::Context;
use crate::nvim::sessions::Sessions;

/// Values to choose among, and what the user has said of them.
struct Choosing {
    what: What,
    /// What it is called.
    name: String,
    /// Ids and names.
    values: Vec<(String, String)>,
    /// The value that was named, if one was.
    word: Option<String>,
    remember: bool,
}

impl Sessions {
    pub fn choose_mode(&mut self, cx: &mut Context, args: &Args) -> Result<()> {
        let values = here(cx).map(modes).unwrap_or_default();
        let word = args.first().map(str::to_owned);
        self.choose_here(
            cx,
            Choosing { what: What::Mode, name: "mode".into(), values, word, remember: args.bang },
        )
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
                set(cx, key, &What::Mode, id.clone());
                Ok(())
            }
            None => fail("this agent offers no choice of a mode"),
        }
    }

    pub fn choose_model(&mut self, cx: &mut Context, args: &Args) -> Result<()> {
        let values = here(cx).map(models).unwrap_or_default();
        let word = args.first().map(str::to_owned);
        self.choose_here(
            cx,
            Choosing { what: What::Model, name: "model".into(), values, word, remember: args.bang },
        )
    }

    pub fn choose_option(&mut self, cx: &mut Context, args: &Args) -> Result<()> {
        let Some(key) = cx.session_here() else { return fail(NO_SESSION) };
        let Some(session) = cx.sessions.get(&key) else { return fail(NO_SESSION) };
        if session.options.is_empty() {
            return fail("this agent offers no options");
        }
        let remember = args.bang;
        if let Some(id) = args.words.first() {
            return self.choose_value(cx, key, (id.clone(), args.words.get(1).cloned()), remember);
        }
        let options = in_order(&session.options);
        let ids: Vec<String> = options.iter().map(|option| option.id.clone()).collect();
        let items =
            options.iter().map(|option| format!("{}: {}", option.name, chosen_name(option))).collect();
        cx.offer("Options", "acp_option", items, move |sessions: &mut Self, cx, index| {
            sessions.choose_value(cx, key, (ids[index].clone(), None), remember)
        });
        Ok(())
    }

    fn choose_value(
        &mut self,
        cx: &mut Context,
        key: SessionKey,
        (id, word): (String, Option<String>),
        remember: bool,
    ) -> Result<()> {
        let found = cx
            .sessions
            .get(&key)
            .and_then(|session| session.options.iter().find(|option| option.id == id))
            .map(|option| (option.kind.clone(), option.name.clone()));
        match found {
            None => {
                let options = cx.sessions.get(&key).map(|session| in_order(&session.options));
                let ids: Vec<&String> = options.iter().flatten().map(|option| &option.id).collect();
                fail(format!("the agent has no option {id:?}; it has {}", listed(&ids)))
            }
            Some((OptionKind::Toggle { current }, _)) => {
                let (word, bang) = match word.as_deref() {
                    Some(word) => (Some(word.trim_end_matches('!')), word.ends_with('!')),
                    None => (None, false),
                };
                let value = match word {
                    None => !current,
                    Some("on" | "true") => true,
                    Some("off" | "false") => false,
                    Some(other) => return fail(format!("{id} takes on or off, not {other:?}")),
                };
                self.chosen_by_user(cx, key, What::Option(id), (value.to_string(), remember || bang));
                Ok(())
            }
            Some((OptionKind::Select { groups, .. }, name)) => {
                let values = groups.into_iter().flat_map(|group| group.values);
                let values = values.map(|value| (value.id, value.name)).collect();
                self.choose_in(cx, key, Choosing { what: What::Option(id), name, values, word, remember })
            }
        }
    }

    fn choose_here(&mut self, cx: &mut Context, choosing: Choosing) -> Result<()> {
        match cx.session_here() {
            Some(key) => self.choose_in(cx, key, choosing),
            None => fail(NO_SESSION),
        }
    }

    /// Sets what the user has named, or picks.
    fn choose_in(&mut self, cx: &mut Context, key: SessionKey, choosing: Choosing) -> Result<()> {
        let Choosing { what, name, values, word, remember } = choosing;
        if values.is_empty() {
            return fail(format!("this agent offers no choice of a {name}"));
        }
        if let Some(word) = word {
            let find = |word: &str| values.iter().find(|(id, name)| id == word || name == word);
            // `x!` remembers x, unless there is one that is called so.
            let found = find(&word).map(|(id, _)| (id, remember));
            let found = found.or_else(|| Some((&find(word.strip_suffix('!')?)?.0, true)));
            let Some((id, remember)) = found else {
                let ids: Vec<&String> = values.iter().map(|(id, _)| id).collect();
                return fail(format!("the agent has no {name} {word:?}; it has {}", listed(&ids)));
            };
            self.chosen_by_user(cx, key, what, (id.clone(), remember));
            return Ok(());
        }
        let current = cx.sessions.get(&key).and_then(|session| session.chosen_value(&what));
        let item = |(id, name): &(String, String)| match current.as_ref() == Some(id) {
            true => format!("{name} (now)"),
            false => name.clone(),
        };
        let items = values.iter().map(item).collect();
        let title = match remember {
            true => format!("Choose a {name} for this project"),
            false => format!("Choose a {name}"),
        };
        cx.offer(&title, "acp_choice", items, move |sessions: &mut Self, cx, index| {
            sessions.chosen_by_user(cx, key, what, (values[index].0.clone(), remember));
            Ok(())
        });
        Ok(())
    }

    fn chosen_by_user(
        &mut self,
        cx: &mut Context,
        key: SessionKey,
        what: What,
        (value, remember): (String, bool),
    ) {
        let is_chosen = cx.sessions.get(&key).and_then(|session| session.chosen_value(&what));
        if !remember || is_chosen.as_ref() != Some(&value) {
            set(cx, key, &what, value.clone());
        }
        if remember {
            self.remember(cx, key, what, value);
        }
    }
}

fn here(cx: &Context) -> Option<&Session> {
    cx.sessions.get(&cx.session_here()?)
}

/// Asks the agent for a value, by its id.
fn set(cx: &mut Context, session: SessionKey, what: &What, value: String) {
    let Some(open) = cx.sessions.get(&session) else { return };
    let option = match what {
        What::Mode => open.selection("mode"),
        What::Model => open.selection("model"),
        What::Option(id) => open.options.iter().find(|option| option.id == *id),
    };
    let command = match (option, what) {
        (Some(option), _) => {
            let value = match &option.kind {
                OptionKind::Toggle { .. } => OptionValue::Toggle(value == "true"),
                OptionKind::Select { .. } => OptionValue::Value(value),
            };
            Command::SetOption { session, option: option.id.clone(), value }
        }
        (None, What::Mode) => Command::SetMode { session, mode: value },
        (None, What::Model) => Command::SetModel { session, model: value },
        // It is gone since it was picked.
        (None, What::Option(_)) => return,
    };
    cx.send(command);
}
