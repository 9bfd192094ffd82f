//! How permission is asked for: the call's title, what it would change, and the agent's own options.

use std::collections::BTreeSet;

use mlua::Result;
use serde_json::json;

use crate::core::changes::review::Review;
use crate::core::ids::{AskId, EntryId, SessionKey};
use crate::core::message::{Command, FileDiff, PermissionKind, PermissionOption, RulesNews};
use crate::core::rules::offer::{Offer, Scope};
use crate::core::session::answer_label::{described_within, for_all_described, label};
use crate::core::session::budget::Word;
use crate::core::session::entry::Body;
use crate::core::session::tool_call::ASKED;
use crate::core::session::{OpenAsk, Pick, Session};
use crate::core::store::allowlist::Choice;
use crate::core::text::fitting::{BESIDE_MESSAGE, cut_end, cut_middle};
use crate::core::transcript::rules;
use crate::nvim::arguments::{NO_SESSION, fail};
use crate::nvim::context::{self, Context};
use crate::nvim::editor::picker::{self, plain};
use crate::nvim::editor::{AFTER_PICKER, Level};
use crate::nvim::events::{Choosing, EditorEvent};
use crate::nvim::questions::Questions;
use crate::nvim::questions::outside_files::is_command_cut;

/// So many cells of an item pickers of plugins show; Neovim's own wraps it.
const PICKER_WIDTH: usize = 70;

impl Questions {
    pub fn show_permission(&mut self, cx: &mut Context, key: SessionKey, ask: AskId) {
        let Some(prompt) = Self::permission_prompt(cx, key, ask) else { return };
        let Some(open) = cx.sessions.get(&key).and_then(|session| session.open_ask(ask)) else { return };
        let picks = open.picks();
        let room = if picker::is_builtin(&cx.editor) { usize::MAX } else { PICKER_WIDTH };
        let items = Self::items(open, room);
        let preview = self.preview.clone();
        let then = context::then(move |this: &mut Self, cx: &mut Context, index: Option<usize>| {
            match index.and_then(|index| picks.get(index)) {
                Some(pick) => this.take_pick(cx, key, ask, pick),
                // To close the picker is not an answer.
                None => this.left_open(cx, ask),
            }
            Ok(())
        });
        self.ask_to_choose(cx, Choosing { ask, kind: "acp_permission", prompt, items, preview, then });
    }

    /// What the user takes of what can be answered.
    pub fn take_pick(&mut self, cx: &mut Context, key: SessionKey, ask: AskId, pick: &Pick) {
        match pick {
            Pick::Option(option) => Self::answer(cx, key, ask, option),
            Pick::Rule => self.offer_rules(cx, key, ask),
            Pick::All { asks, allows } => Self::answer_all(cx, key, asks, *allows),
            Pick::Value(value) => Self::choose_value(cx, key, ask, value),
        }
    }

    /// The same answer to several; what is over by now is left alone.
    fn answer_all(cx: &mut Context, key: SessionKey, asks: &[AskId], allows: bool) {
        for ask in asks {
            let open = cx.sessions.get(&key).and_then(|session| session.open_ask(*ask));
            if let Some(option) = open.and_then(|open| open.once(allows)).map(str::to_owned) {
                Self::answer(cx, key, *ask, &option);
            }
        }
    }

    /// The rules that would answer a question, and the like of it from then on.
    fn offer_rules(&mut self, cx: &mut Context, key: SessionKey, ask: AskId) {
        let Some(open) = cx.sessions.get(&key).and_then(|session| session.open_ask(ask)) else { return };
        let rule = |offer: &Offer| Scope::ALL.map(|scope| (offer.clone(), scope));
        let rules: Vec<(Offer, Scope)> = open.offers.iter().flat_map(rule).collect();
        let items = rules.iter().map(|(offer, scope)| plain(&offer.in_words(*scope))).collect();
        let prompt = "Make a rule, which answers this and what is like it".to_owned();
        let preview = self.preview.clone();
        let then = context::then(move |this: &mut Self, cx: &mut Context, index: Option<usize>| {
            match index.and_then(|index| rules.into_iter().nth(index)) {
                Some((offer, scope)) => cx.raise(EditorEvent::RuleMade { session: key, offer, scope }),
                // Back to what was asked.
                None => this.take_up(ask),
            }
            Ok(())
        });
        self.ask_to_choose(cx, Choosing { ask, kind: "acp_rule", prompt, items, preview, then });
    }

    /// The answers as a picker lists them that shows so many cells of each.
    fn items(open: &OpenAsk, room: usize) -> Vec<String> {
        let is_own = |option: &PermissionOption| {
            Choice::of_id(&option.id).is_some() || Word::of_id(&option.id).is_some()
        };
        let text = |option| match is_own(option) {
            true => label(option),
            false => described_within(option, room),
        };
        open.options().iter().map(text).chain(open.own_names(for_all_described)).collect()
    }

    /// How many rows at the bottom of the screen Neovim's own picker takes for a question; none where a plugin has put
    /// another in its place, which leaves the screen to the user.
    pub(super) fn picker_rows(cx: &Context, key: SessionKey, ask: AskId) -> usize {
        let prompt = Self::permission_prompt(cx, key, ask).unwrap_or_default();
        let open = cx.sessions.get(&key).and_then(|session| session.open_ask(ask));
        picker::rows_covered(
            &cx.editor,
            &prompt,
            &open.map(|open| Self::items(open, usize::MAX)).unwrap_or_default(),
        )
    }

    /// Whether a picker shows only the beginning and the end of what a call does.
    pub(super) fn is_cut(cx: &Context, (key, entry): (SessionKey, EntryId)) -> bool {
        let entry = cx.sessions.get(&key).and_then(|session| session.entry(entry));
        entry.is_some_and(|entry| match &entry.body {
            Body::Tool(call) => call.request().chars().count() > REQUEST || call.asked_input().len() > ASKED,
            Body::Elicitation(asked) => asked.command().is_some_and(is_command_cut),
            _ => false,
        })
    }

    /// Who asks for what, in a line.
    pub fn permission_prompt(cx: &Context, key: SessionKey, ask: AskId) -> Option<String> {
        let prompt = Self::prompt_without_title(cx.sessions.get(&key)?, ask)?;
        Some(cx.with_title(key, &prompt).unwrap_or(prompt))
    }

    fn prompt_without_title(session: &Session, ask: AskId) -> Option<String> {
        let open = session.open_ask(ask).filter(|open| open.is_permission())?;
        if let Some(prompt) = Self::outside_prompt(session, ask) {
            return Some(prompt);
        }
        let call = session.entry(open.entry).and_then(|entry| entry.tool());
        let request = call.map(|call| cut_middle(&call.request(), REQUEST)).unwrap_or_default();
        let counts = call.map(|call| {
            let files = call.diffs().map(|diff| &diff.path).collect::<BTreeSet<_>>().len();
            let hunks: usize = call.diffs().map(hunks_of).sum();
            let known = [
                (files > 1).then(|| format!("{files} files")),
                call.counted.map(|(added, removed)| format!("+{added} -{removed}")),
                (hunks > 1).then(|| format!("{hunks} hunks")),
            ];
            let known: Vec<String> = known.into_iter().flatten().collect();
            if known.is_empty() { String::new() } else { format!(" ({})", known.join(", ")) }
        });
        let dangers = call.and_then(|call| rules::dangers(call.ruling.as_deref()?));
        let dangers = dangers.map(|words| format!(" [! {words}]")).unwrap_or_default();
        Some(format!("{} {request}{}{dangers}", session.actor(open.entry), counts.unwrap_or_default()))
    }

    /// The user's answer to a question for permission.
    pub fn answer(cx: &mut Context, key: SessionKey, ask: AskId, option: &str) {
        let now = cx.now();
        let Some(session) = cx.sessions.get_mut(&key) else { return };
        let allowed = session.open_ask(ask).filter(|open| open.allows(option)).map(|open| open.entry);
        let commands = session.answer(ask, option, now);
        let call = allowed.and_then(|entry| session.entry(entry)?.tool());
        if let Some(request) = call.map(|call| call.requested(&session.place.cwd)) {
            cx.send(Command::Rules(RulesNews::Granted { session: key, request }));
        }
        if !commands.is_empty() {
            cx.emit("AcpPermissionAnswered", key, json!({ "option": option }));
        }
        cx.send_all(commands);
        cx.raise(EditorEvent::SessionChanged(key));
    }

    /// The questions for permission that a command may mean which names none.
    pub fn meant(&self, cx: &Context, under_cursor: Option<AskId>) -> Vec<(SessionKey, AskId)> {
        if Self::asks_only_else(cx) {
            return Vec::new();
        }
        let fits = |session: &&Session| cx.meant.is_none_or(|meant| session.key == meant);
        let asks = |session: &Session| {
            let open = session.asks().iter().filter(|open| open.is_permission());
            open.map(|open| (session.key, open.ask)).collect::<Vec<_>>()
        };
        let waiting = cx.sessions.values().filter(fits).flat_map(asks).collect();
        self.queue.meant(waiting, under_cursor, cx.here())
    }

    /// Whether the chat that the user is in asks something, and for no permission: what another chat asks can't be meant.
    fn asks_only_else(cx: &Context) -> bool {
        let here = cx.here().chat.filter(|_| cx.meant.is_none());
        let asks = here.and_then(|key| cx.sessions.get(&key)).map(Session::asks).unwrap_or_default();
        !asks.is_empty() && !asks.iter().any(OpenAsk::is_permission)
    }

    /// Answers a question; which one, the user says where it is not clear.
    pub fn decide(
        &mut self,
        cx: &mut Context,
        under_cursor: Option<AskId>,
        decision: Decision,
    ) -> Result<()> {
        if cx.session_here().is_none() {
            return fail(NO_SESSION);
        }
        match self.meant(cx, under_cursor).as_slice() {
            [] if Self::asks_only_else(cx) => fail("this chat asks something else; :Acp answer opens it"),
            [] => {
                let other = cx.sessions.values().any(|session| session.elicitation().is_some());
                let more = if other { "; :Acp answer is for what else the agent asks" } else { "" };
                fail(format!("nothing waits for your permission{more}"))
            }
            [one] => self.decide_one(cx, *one, &decision),
            // A list would take what is typed already for itself.
            several if cx.editor.has_keys_waiting()? => {
                fail(format!("{} questions wait: say which one, or answer in the chat", several.len()))
            }
            several => {
                let several = several.to_vec();
                Self::ask_which(cx, several, decision);
                Ok(())
            }
        }
    }

    /// Has the user say which of several questions a command is for.
    fn ask_which(cx: &mut Context, several: Vec<(SessionKey, AskId)>, decision: Decision) {
        let prompt = |(key, ask): &(SessionKey, AskId)| Self::permission_prompt(cx, *key, *ask);
        let items = several.iter().map(|one| prompt(one).unwrap_or_default()).collect();
        cx.run_effect("the picker failed", move |editor| {
            picker::select(editor, decision.which(), "acp_question", items, move |index| {
                context::run(move |this: &mut Self, cx| match index.and_then(|index| several.get(index)) {
                    Some(one) => this.decide_one(cx, *one, &decision),
                    // Also a command that was typed into the list.
                    None => cx.later(AFTER_PICKER, move |_: &mut Self, cx| {
                        let text = format!("none was chosen: {} questions still wait", several.len());
                        cx.editor.notify_after_picker(&text, Level::Info)
                    }),
                });
            })
        });
    }

    fn decide_one(
        &mut self,
        cx: &mut Context,
        (key, ask): (SessionKey, AskId),
        decision: &Decision,
    ) -> Result<()> {
        let open = cx.sessions.get(&key).and_then(|session| session.open_ask(ask)).cloned();
        let Some(open) = open else { return fail("the agent no longer waits for this answer") };
        let Decision { named, kinds, fits } = decision;
        let option = match named {
            Some(named) => {
                let mut fitting = open.options().iter().filter(|option| fits(&option.kind));
                fitting.find(|option| option.id == *named || option.name == *named || label(option) == *named)
            }
            None => kinds.iter().find_map(|kind| open.options().iter().find(|option| option.kind == *kind)),
        };
        match option {
            Some(option) => {
                let said = Self::said(cx, (key, ask), &option.kind);
                Self::answer(cx, key, ask, &option.id);
                if let Some(said) = said {
                    cx.notify(said, Level::Info);
                }
                Ok(())
            }
            None if named.is_some() => {
                let fitting = open.options().iter().filter(|option| fits(&option.kind));
                let names: Vec<&str> = fitting.map(|option| option.name.as_str()).collect();
                match names.is_empty() {
                    true => fail("the agent offers no such option"),
                    false => fail(format!("the agent offers no such option; it offers {}", names.join(", "))),
                }
            }
            None => {
                // Nothing of that kind is offered: the user sees what is.
                self.take_up(ask);
                Ok(())
            }
        }
    }

    /// Which question an answer is for, to somebody who might mean another one.
    fn said(cx: &Context, (key, ask): (SessionKey, AskId), kind: &PermissionKind) -> Option<String> {
        let asks = cx.sessions.values().flat_map(Session::asks);
        let more = asks.filter(|open| open.is_permission() && open.ask != ask).count();
        let prompt = Self::permission_prompt(cx, key, ask).filter(|_| more > 0)?;
        let verdict = match kind {
            kind if kind.allows() => "allowed",
            kind if kind.rejects() => "rejected",
            _ => "answered",
        };
        let wait = if more == 1 { "waits" } else { "wait" };
        let rest = format!(" \u{b7} {more} more {wait}");
        // How many wait is what one can't do without.
        let room =
            usize::from(cx.editor.size().0).saturating_sub(rest.chars().count() + BESIDE_MESSAGE + VERDICT);
        let prompt = cut_end(&prompt, room.max(LEAST_PROMPT));
        Some(format!("{verdict}: {prompt}{rest}"))
    }
}

/// What a command answers.
pub struct Decision {
    /// The option of this id or name.
    pub named: Option<String>,
    /// Without one, the first of these kinds.
    pub kinds: &'static [PermissionKind],
    /// What this does not take is never answered, whatever it is called.
    pub fits: fn(&PermissionKind) -> bool,
}

impl Decision {
    /// What `:Acp allow`, `:Acp reject` and `:Acp choose` are for.
    pub fn of(verb: &str, named: Option<&str>) -> Self {
        use PermissionKind::{AllowAlways, AllowOnce, RejectAlways, RejectOnce};
        let (kinds, fits): (&'static [PermissionKind], fn(&PermissionKind) -> bool) = match verb {
            "allow" => (&[AllowOnce, AllowAlways], |kind| !kind.rejects()),
            "reject" => (&[RejectOnce, RejectAlways], |kind| !kind.allows()),
            _ => (&[], |_| true),
        };
        Self { named: named.map(str::to_owned), kinds, fits }
    }

    fn which(&self) -> &'static str {
        match self.kinds.first() {
            Some(kind) if kind.allows() => "Allow which?",
            Some(kind) if kind.rejects() => "Reject which?",
            _ => "Answer which?",
        }
    }
}

/// A picker has room for so much, in characters; the chat and the details have all of it.
const REQUEST: usize = 160;

/// The verdict before a question, and what is between them.
const VERDICT: usize = 10;

/// What is said of a question at least.
const LEAST_PROMPT: usize = 16;

/// Larger diffs, in bytes, are not counted by the hunk: the question must be there at once.
const LARGE: usize = 64 << 10;

fn hunks_of(diff: &FileDiff) -> usize {
    let old = diff.old_text.as_deref().unwrap_or_default();
    match old.len() + diff.new_text.len() {
        size if size > LARGE => 0,
        _ => Review::new(old, &diff.new_text).hunks().len(),
    }
}
