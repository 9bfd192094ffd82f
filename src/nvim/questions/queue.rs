//! The queue of the agents' questions, on its way to the screen: they are shown one at a time, and never over
//! somebody who is typing. One that was deferred waits in the chat until the user takes it up. When a question
//! may be shown is decided by `core::session::question_queue`; how one is asked is left to `permission` and
//! `forms`.

use std::rc::Rc;
use std::time::Duration;

use mlua::{Result, Value};

use crate::core::ids::{AskId, EntryId, SessionKey};
use crate::core::session::question_queue::{
    Activity, Here, OpenQuestions, Position, Readiness, Sight, Step, Waiting,
};
use crate::core::session::staged::{Cover, Shape};
use crate::core::session::{Session, Wanted};
use crate::core::text::fitting::cut_end;
use crate::nvim::arguments::fail;
use crate::nvim::context::{self, Context, Then};
use crate::nvim::editor::autocommands::Group;
use crate::nvim::editor::picker::OpenPicker;
use crate::nvim::editor::{AFTER_PICKER, Editor, Level, picker};
use crate::nvim::events::{Choosing, EditorEvent};
use crate::nvim::guard::was_interrupted;
use crate::nvim::keys::last_input::quiet_for;
use crate::nvim::questions::{KeyAnswer, Questions};

/// The call that a question is about.
#[derive(Clone, Copy)]
pub struct AboutCall {
    pub call: (SessionKey, EntryId),
    /// How many rows at the end of the screen Neovim's own picker will cover.
    pub covered: usize,
    /// A picker has no room for all that it does.
    pub is_cut: bool,
}

impl Questions {
    /// Shows the next question, if there is one and the user is not busy. How much can be seen of what the front one is
    /// about, and its changes as lines, is known by others.
    pub fn ask_next(
        &mut self,
        cx: &mut Context,
        front: Option<(SessionKey, AskId)>,
        (sight, changes): (Sight, Rc<Vec<String>>),
    ) {
        // What a call proposes says more than what it does.
        self.preview = match changes.is_empty() {
            true => Rc::new(Self::subject_lines(cx, front)),
            false => changes,
        };
        let sign = self.ask_or_wait(cx, sight);
        let done = cx.editor.sign(sign.as_deref());
        cx.editor.notify_error(done);
    }

    /// The question that has its turn: what it is about is to be on the screen before it is asked.
    pub fn front(&self, cx: &Context) -> Option<(SessionKey, AskId)> {
        let front = self.queue.front(&waiting(cx))?;
        Some((front.session, front.ask))
    }

    /// The call that a question for permission is about.
    pub fn call_asked_about(cx: &Context, front: Option<(SessionKey, AskId)>) -> Option<AboutCall> {
        let (key, ask) = front?;
        let entry = cx.sessions.get(&key)?.open_ask(ask).filter(|open| open.is_permission())?.entry;
        let (call, covered) = ((key, entry), Self::picker_rows(cx, key, ask));
        Some(AboutCall { call, covered, is_cut: Self::is_cut(cx, call) })
    }

    /// How much can be seen of what a question is about; `in_chat`: how much of it the chat shows.
    pub fn sight(cx: &Context, shape: Shape, covered: usize, in_chat: Option<Sight>) -> Result<Sight> {
        let cover = match covered {
            0 => Cover::Nothing,
            _ if shape == Shape::Whole && picker::is_popup(&cx.editor)? => Cover::Floating,
            _ => Cover::Rows,
        };
        Ok(shape.sight(cx.config.permission.open, cover, in_chat))
    }

    /// Opens the question that the user would answer who wants to answer any.
    pub fn take_up_next(&mut self, cx: &Context) -> Result<()> {
        match self.queue.to_answer(&waiting(cx)).map(|question| question.ask) {
            Some(ask) => {
                self.take_up(ask);
                Ok(())
            }
            None => fail("nothing waits for you"),
        }
    }

    /// Opens what a session asks, where there is nothing in its prompt to be sent. Says whether there was both.
    pub fn take_up_instead(&mut self, cx: &Context, key: SessionKey) -> bool {
        let chat = cx.chats.get(&key);
        let is_blank = chat.is_some_and(|chat| chat.is_prompt_blank(&cx.editor).unwrap_or(false));
        let asks = cx.sessions.get(&key).into_iter().flat_map(Session::asks);
        let conflicts = cx.conflicts.waiting().filter(|(session, _)| *session == key);
        let waiting = asks.map(|open| (key, open.ask)).chain(conflicts).collect();
        // The one that the user saw last, else the oldest.
        let meant = self.queue.meant(waiting, None, Here::default()).first().map(|(_, ask)| *ask);
        match meant.filter(|_| is_blank) {
            Some(ask) => {
                self.take_up(ask);
                true
            }
            None => false,
        }
    }

    /// The user wants to answer a question, also one that was deferred.
    pub fn take_up(&mut self, ask: AskId) {
        self.queue.want(ask);
        self.retry = true;
    }

    /// The user is in another window. Where several chats ask, theirs comes first.
    pub fn window_entered(cx: &Context) -> Result<()> {
        if cx.sessions.values().filter(|session| !session.asks().is_empty()).count() < 2 {
            return Ok(());
        }
        // Not now: many go to a window only to come back.
        cx.later(Duration::ZERO, |this: &mut Self, _| {
            this.retry = true;
            Ok(())
        })
    }

    /// Shows the next question, if it may be shown; gives what is to be on the screen while it waits.
    fn ask_or_wait(&mut self, cx: &mut Context, sight: Sight) -> Option<String> {
        self.retry = false;
        let waiting = waiting(cx);
        self.close_stale(cx, &waiting);
        if waiting.is_empty() {
            cx.editor.nothing_waits();
        }
        let now = self.now();
        let step = self.queue.next(&waiting, sight, now, |front| readiness(cx, front.is_sudden));
        let done = match step {
            Step::Nothing => return None,
            Step::Show(key, ask) => {
                self.show(cx, key, ask);
                return None;
            }
            Step::Stand(key, ask) => {
                self.stand(cx, key, ask);
                return None;
            }
            Step::Pause(rest) => cx.later(rest, |this: &mut Self, _| {
                this.queue.paused();
                this.retry = true;
                Ok(())
            }),
            Step::Tell(key, ask) => {
                self.tell_busy(cx, key, ask);
                // Never over somebody who types; but once they stop.
                cx.editor.notify_error(on_mode_change(&cx.editor));
                return waiting_sign(cx, key, ask);
            }
        };
        cx.editor.notify_error(done);
        None
    }

    /// A picker whose question is over without it would take a key for nothing, and hide what comes next.
    fn close_stale(&mut self, cx: &mut Context, waiting: &[Waiting]) {
        let is_over = |open: &mut (AskId, OpenPicker)| waiting.iter().all(|question| question.ask != open.0);
        if let Some((_, open)) = self.open.take_if(is_over) {
            cx.run_effect("couldn't close the picker", move |editor| open.close(editor));
        }
    }

    /// The question does not open by itself; its call says how it is read and answered.
    fn stand(&mut self, cx: &mut Context, key: SessionKey, ask: AskId) {
        let Some(session) = cx.sessions.get_mut(&key) else { return };
        if session.set_long(ask) {
            cx.raise(EditorEvent::SessionChanged(key));
            cx.raise(EditorEvent::FrameDue);
        }
    }

    /// Somebody who does not see the chat's last lines, or types elsewhere, is told once that a question
    /// waits. Whom `announce` has told is not told again.
    fn tell_busy(&mut self, cx: &mut Context, key: SessionKey, ask: AskId) {
        let (mode, blocking) = cx.editor.mode();
        // A message would stand over the command line that is being typed.
        if cx.here().chat == Some(key)
            || !cx.shows_chat(key)
            || cx.is_away
            || blocking
            || mode.starts_with('c')
            || !cx.config.notify
        {
            return;
        }
        let Some(prompt) = Self::permission_prompt(cx, key, ask) else { return };
        if !self.queue.tell(ask) {
            return;
        }
        let how = match cx.config.permission.open {
            OpenQuestions::Never => ":Acp answer",
            _ => "when you pause",
        };
        cx.notify_of_question(format!("{prompt} ({how})"), Level::Warn);
    }

    /// The answer that the key of this number gives in the chat, to the question of the entry under the cursor.
    pub fn answer_of_key(
        &self,
        cx: &Context,
        session: SessionKey,
        entry: EntryId,
        number: usize,
    ) -> Option<KeyAnswer> {
        let open = cx.sessions.get(&session)?.asked_at(entry)?;
        let pick = self.queue.pick_of_key(open, number, self.now())?;
        Some(KeyAnswer { session, ask: open.ask, pick })
    }

    /// A key in the chat answers.
    pub fn answer_by_key(&mut self, cx: &mut Context, answer: &KeyAnswer) {
        self.queue.answered_by_key(self.now());
        self.take_pick(cx, answer.session, answer.ask, &answer.pick);
    }

    /// Whether a key has just answered: another one like it was meant for the same question.
    pub fn has_just_answered(&self) -> bool {
        self.queue.has_just_answered(self.now())
    }

    /// Says how questions are answered that were closed and stay open, once the last of them is: a picker for the next
    /// one opens first.
    pub fn left_open(&mut self, cx: &Context, ask: AskId) {
        self.queue.defer(ask);
        self.left = Some(ask);
        self.tell_left_open(cx);
    }

    fn tell_left_open(&self, cx: &Context) {
        let Some(last) = self.left else { return };
        // Not right below what a picker wrote on the screen, or Neovim would wait for a key.
        let soon = cx.later(AFTER_PICKER, move |this: &mut Self, cx| {
            // Where one is in a chat no other chat's come next.
            let chat = cx.here().chat.filter(|chat| cx.sessions.contains_key(chat));
            let fits = |session: &&Session| chat.is_none_or(|chat| session.key == chat);
            let all = || cx.sessions.values().filter(fits).flat_map(Session::asks);
            if this.left != Some(last) || all().any(|open| !this.queue.is_deferred(open.ask)) {
                return Ok(());
            }
            this.left = None;
            let what = match all().count() {
                0 | 1 => "left open".to_owned(),
                some => format!("{some} left open"),
            };
            let how = how_to_answer(cx);
            cx.editor.notify_after_picker(&format!("{what}: {how}"), Level::Info)
        });
        cx.editor.notify_error(soon);
    }

    /// Asks a question.
    fn show(&mut self, cx: &mut Context, key: SessionKey, ask: AskId) {
        let open = cx.sessions.get(&key).and_then(|session| session.open_ask(ask));
        match open.map(|open| &open.wanted) {
            Some(Wanted::Permission(_)) => self.show_permission(cx, key, ask),
            Some(Wanted::Form(_)) => self.show_form(cx, key, ask),
            Some(Wanted::Page(_)) => self.show_page(cx, key, ask),
            None => cx.raise(EditorEvent::QuestionReached(ask)),
        }
    }

    /// Lets the user choose an answer to a question that is open; `then` gets the index, or nothing.
    pub fn ask_to_choose(&mut self, cx: &mut Context, choosing: Choosing) {
        let Choosing { ask, kind, prompt, items, preview, then } = choosing;
        self.ask_with(cx, ask, then, move |editor, answer| {
            picker::offer(editor, picker::Offer { prompt: &prompt, kind, items, preview }, answer)
        });
    }

    /// Lets the user type an answer to a question that is open.
    pub fn ask_to_type(
        &mut self,
        cx: &mut Context,
        ask: AskId,
        (prompt, text): (String, String),
        then: impl FnOnce(&mut Self, &mut Context, Option<String>) -> Result<()> + 'static,
    ) {
        self.ask_with(cx, ask, context::then(then), move |editor, answer| {
            picker::input(editor, &prompt, &text, answer)
        });
    }

    fn ask_with<T: 'static>(
        &mut self,
        cx: &mut Context,
        ask: AskId,
        then: Then<Option<T>>,
        picker: impl FnOnce(&Editor, Box<dyn FnOnce(Option<T>)>) -> Result<()> + 'static,
    ) {
        let shown = self.queue.show(ask);
        let earlier = self.open.take();
        cx.raise(EditorEvent::DrawingWanted);
        cx.effects.push_back(Box::new(move |editor| {
            // One that is still there has nothing to say any more.
            let replaced = earlier.map_or(Ok(()), |(_, earlier)| earlier.replace(editor));
            editor.notify_error(replaced);
            let open = OpenPicker::begin(editor);
            let running = open.as_ref().map(OpenPicker::running).unwrap_or_default();
            context::run(move |this: &mut Self, _| {
                this.open = open.ok().map(|open| (ask, open));
                Ok(())
            });
            let answer = Box::new(move |answer: Option<T>| {
                context::run(move |this: &mut Self, cx| {
                    if this.queue.close(shown) {
                        this.retry = true;
                        this.open = None;
                        cx.resume(then, answer);
                        this.tell_left_open(cx);
                    } else if answer.is_some() {
                        cx.raise(EditorEvent::AnsweredInVain(ask));
                    }
                    Ok(())
                });
            });
            let done = picker(editor, answer);
            running.set(false);
            if let Err(error) = done {
                context::run(move |this: &mut Self, _| {
                    if this.queue.close(shown) {
                        this.retry = true;
                        this.queue.defer(ask);
                    }
                    Ok(())
                });
                if !was_interrupted(&error) {
                    let text = format!("the picker failed ({error}); the chat says how to answer by command");
                    editor.notify(&text, Level::Error);
                }
            }
        }));
    }

    /// Somebody has answered what is not the question on the screen any more.
    pub fn answered_in_vain(cx: &Context, ask: AskId) {
        if !cx.conflicts.is_open(ask) && !cx.sessions.values().any(|session| session.open_ask(ask).is_some())
        {
            cx.editor.notify("the agent no longer waits for this answer", Level::Info);
        }
    }
}

/// All questions, the oldest of each session first. Those of other features come of edits of the user's.
fn waiting(cx: &Context) -> Vec<Waiting> {
    let of_session =
        |session: &Session| session.asks().iter().map(|open| (session.key, open.ask)).collect::<Vec<_>>();
    let asked = cx.sessions.values().flat_map(of_session).map(|question| (question, false));
    let others = cx.conflicts.waiting().map(|question| (question, true));
    let chat = cx.here().chat;
    let is_left_alone = |key| cx.sessions.get(&key).is_some_and(|session: &Session| session.auto().is_some());
    let question = |((session, ask), is_sudden): ((SessionKey, AskId), bool)| {
        // A conflict is about what the user types: they are there.
        let is_quiet = !is_sudden && is_left_alone(session);
        Waiting { session, ask, is_sudden, is_quiet, is_here: Some(session) == chat }
    };
    asked.chain(others).map(question).collect()
}

/// What somebody sees who types elsewhere than in the chat: who waits, and how to answer.
fn waiting_sign(cx: &Context, key: SessionKey, ask: AskId) -> Option<String> {
    let (mode, blocking) = cx.editor.mode();
    let typing = mode.starts_with(['i', 'R', 't']) && !blocking;
    let is_there = cx.here().chat == Some(key) || !cx.chats.contains_key(&key);
    if !typing || is_there || !cx.config.notify {
        return None;
    }
    let how = match cx.config.permission.open {
        OpenQuestions::Never => ":Acp answer",
        _ if mode.starts_with('t') => "leave the terminal to answer",
        _ => "<Esc> to answer",
    };
    // A conflict is nobody's question: a shell may have changed the file.
    let conflict = || Some(format!("{} has conflicts", cx.short_name(Some(key), cx.conflicts.path_of(ask)?)));
    let asks = || Some(format!("{} asks", cx.sessions.get(&key)?.name()));
    let prompt = Questions::permission_prompt(cx, key, ask).or_else(conflict).or_else(asks)?;
    let room = usize::from(cx.editor.size().0).saturating_sub(how.len() + 8).max(20);
    Some(format!("{} \u{b7} {how}", cut_end(&prompt, room)))
}

/// Tries to ask again once the user may have stopped typing.
fn on_mode_change(editor: &Editor) -> Result<()> {
    let once = vec![("once", Value::Boolean(true))];
    Group::new(editor, "acp.ask")?.create(&["ModeChanged", "WinEnter", "CmdwinLeave"], once, |lua, _| {
        // The mode is still changing: look again when it has settled.
        context::later(lua, Duration::from_millis(1), |this: &mut Questions, _| {
            this.retry = true;
            Ok(())
        })
    })
}

/// What to type for a question whose picker was closed. In a prompt's insert mode a command would be text.
fn how_to_answer(cx: &Context) -> String {
    let is_typing = cx.here().chat.is_some() && cx.editor.mode().0.starts_with('i');
    let sends = cx.config.keys.shown("send_insert");
    let keys = cx.config.keys.shown("answer");
    match keys.is_empty() {
        _ if is_typing && !sends.is_empty() => {
            format!("{sends} in the empty prompt, or <Esc> and :Acp answer")
        }
        true => ":Acp answer".to_owned(),
        false => format!(":Acp answer, or {keys} in the chat"),
    }
}

/// Whether a picker would take the keys of somebody who is writing.
fn readiness(cx: &Context, is_sudden: bool) -> Readiness {
    let (mode, is_blocking) = cx.editor.mode();
    let position = position(cx).unwrap_or(Position::Unknown);
    Activity { mode, is_blocking, position, quiet: quiet_for() }
        .readiness(cx.config.permission.open, is_sudden)
}

fn position(cx: &Context) -> Result<Position> {
    let editor = &cx.editor;
    let buf = editor.current_buf()?;
    if let Some(chat) = cx.chats.values().find(|chat| chat.prompt == buf) {
        return Ok(Position::Prompt { is_blank: chat.is_prompt_blank(editor)? });
    }
    let is_transcript = cx.chat_of_transcript(buf).is_some();
    Ok(if !editor.func::<String>("getcmdwintype", ())?.is_empty() {
        Position::Captured
    } else if is_transcript {
        Position::Transcript
    } else if editor.is_floating(editor.current_win()?) {
        Position::Captured
    } else {
        Position::Elsewhere
    })
}
