//! What agents have done on their own is held against the user's rules in the background, some at a time, and marked in
//! the chat where rules would have asked about it or rejected it. What counts is decided by `core`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;

use crate::core::ids::{EntryId, SessionKey};
use crate::core::message::{Command, Outcome};
use crate::core::rules::unasked::{Unasked, UnaskedAction, UnaskedActions};
use crate::nvim::context::Context;
use crate::nvim::events::{Change, EditorEvent};
use crate::nvim::sessions::Sessions;

/// What comes within this time is judged together.
const GATHERED: Duration = Duration::from_millis(50);
/// At most so many at once: the background has other things to do, too.
const MAX_JUDGED: usize = 200;

/// Where something that was done is shown.
pub enum Done {
    /// What is marked is the call; a file that it has changed may be why.
    Call(EntryId, Option<PathBuf>),
    File(PathBuf),
}

/// What waits to be judged.
#[derive(Default)]
pub struct Unjudged {
    waiting: BTreeMap<SessionKey, Vec<(Done, UnaskedAction)>>,
    is_scheduled: bool,
}

impl Sessions {
    /// Calls may have ended that nobody was asked about.
    pub fn calls_done(&mut self, cx: &mut Context, key: SessionKey) {
        let Some(session) = cx.sessions.get_mut(&key) else { return };
        let done = session.take_done();
        // What was recorded was done long ago.
        if session.plays_recording() {
            return;
        }
        self.add_done(
            cx,
            key,
            done.into_iter().map(|(entry, action)| (Done::Call(entry, None), action)).collect(),
        );
    }

    /// A file was changed, by a call or by what nobody can tell.
    pub(super) fn file_done(&mut self, cx: &mut Context, change: &Change) {
        let Some(session) = cx.sessions.get(&change.session) else { return };
        let Some(action) = session.changed_file_action(change.call, &change.path) else { return };
        if session.plays_recording() {
            return;
        }
        let path = change.path.clone();
        let done = match change.call {
            Some(call) => Done::Call(call, Some(path)),
            None => Done::File(path),
        };
        self.add_done(cx, change.session, vec![(done, action)]);
    }

    fn add_done(&mut self, cx: &mut Context, key: SessionKey, done: Vec<(Done, UnaskedAction)>) {
        if done.is_empty() {
            return;
        }
        self.unjudged.waiting.entry(key).or_default().extend(done);
        if std::mem::replace(&mut self.unjudged.is_scheduled, true) {
            return;
        }
        let scheduled = cx.later(GATHERED, |sessions: &mut Self, cx| {
            sessions.unjudged.is_scheduled = false;
            sessions.judge_done(cx);
            Ok(())
        });
        self.unjudged.is_scheduled = scheduled.is_ok();
    }

    fn judge_done(&mut self, cx: &mut Context) {
        for (key, done) in std::mem::take(&mut self.unjudged.waiting) {
            let Some(place) = cx.sessions.get(&key).map(|session| session.place.clone()) else { continue };
            let mut done = done.into_iter().peekable();
            while done.peek().is_some() {
                let (shown, done): (Vec<Done>, Vec<UnaskedAction>) = done.by_ref().take(MAX_JUDGED).unzip();
                let folders = place.folders().cloned().collect();
                let actions = Box::new(UnaskedActions { cwd: place.cwd.clone(), folders, done });
                let job = cx.expect_outcome(move |_: &mut Self, cx, outcome| {
                    if let Outcome::JudgedDone(judged) = outcome {
                        shown
                            .into_iter()
                            .zip(judged)
                            .for_each(|(done, unasked)| tell(cx, key, done, unasked));
                    }
                    Ok(())
                });
                cx.send(Command::JudgeDone { session: key, job, actions });
            }
        }
    }
}

/// Marks what rules would have had a say in.
fn tell(cx: &mut Context, key: SessionKey, done: Done, unasked: Option<Unasked>) {
    let (Some(session), Some(unasked)) = (cx.sessions.get_mut(&key), unasked) else { return };
    let (is_news, data) = match &done {
        Done::Call(entry, path) => {
            let is_news = session.mark_unasked(*entry, unasked.clone());
            let call = session.entry(*entry).and_then(|entry| entry.tool());
            let (title, id) = call.map(|call| (call.headline(), call.told_id())).unzip();
            (is_news, json!({ "title": title, "tool_call": id, "path": path }))
        }
        Done::File(path) => {
            let is_news = session.mark_written(path, &unasked);
            (is_news, json!({ "title": format!("wrote {}", path.display()), "path": path }))
        }
    };
    if !is_news {
        return;
    }
    let mut data = data;
    data["rule"] = unasked.rule.into();
    data["decision"] = unasked.decision.word().into();
    cx.emit("AcpUnasked", key, data);
    cx.raise(EditorEvent::SessionChanged(key));
}
