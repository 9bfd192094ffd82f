//! Prompts: what is sent, and what is put into the prompt's buffer.

use mlua::Result;

use crate::core::ids::SessionKey;
use crate::core::session::Session;
use crate::core::session::references::Lines;
use crate::core::text::fitting::cut_middle;
use crate::core::text::{Text, one_line};
use crate::nvim::arguments::{Args, NO_SESSION, Range, fail};
use crate::nvim::context::{self, Context};
use crate::nvim::editor::{Level, Win};
use crate::nvim::events::{EditorEvent, SendMode};
use crate::nvim::prompt::Prompts;
use crate::nvim::prompt::buffers::target_of;

impl Prompts {
    /// Has the prompt refer to the lines that a command was given.
    pub fn add_to_prompt(&mut self, cx: &mut Context, key: SessionKey, range: Option<Range>) -> Result<()> {
        match range.and_then(|range| Some((range.buf, Lines::new(range.first, range.last)?))) {
            Some((buf, lines)) => self.refer_to(cx, key, buf, lines),
            None => Ok(()),
        }
    }

    pub fn send_prompt(&mut self, cx: &mut Context, key: SessionKey) -> Result<()> {
        self.send_typed(cx, key, SendMode::InLine)
    }

    pub fn steer_prompt(&mut self, cx: &mut Context, key: SessionKey) -> Result<()> {
        self.send_typed(cx, key, SendMode::Steer)
    }

    /// Sends what stands in the prompt, which is empty from here on.
    fn send_typed(&mut self, cx: &mut Context, key: SessionKey, how: SendMode) -> Result<()> {
        if cx.chats.get(&key).copied().is_some_and(|chat| chat.has_long_prompt(&cx.editor).unwrap_or(false)) {
            return self.send_long_prompt(cx, key, how);
        }
        match self.take_prompt(cx, key, how)? {
            Some((text, mode)) => cx.raise(EditorEvent::PromptTyped { session: key, text, mode }),
            None => Self::send_held(cx, key)?,
        }
        cx.raise(EditorEvent::FrameDue);
        Ok(())
    }

    pub fn send_text(&mut self, cx: &mut Context, args: Args) -> Result<()> {
        let Some(key) = cx.session_here() else { return fail(NO_SESSION) };
        let how = if args.bang { SendMode::Now } else { SendMode::InLine };
        if args.text.trim().is_empty() && args.range.is_none() {
            return self.send_typed(cx, key, how);
        }
        refuse_recording(cx, key)?;
        if cx.is_dead(key) {
            return fail("the agent is gone; :Acp restart starts it again");
        }
        let text = Self::with_range(cx, key, &args.text, args.range);
        if how == SendMode::InLine {
            tell_queued(cx, key);
        }
        cx.raise(EditorEvent::PromptTyped { session: key, text: text.into(), mode: how });
        Ok(())
    }

    /// A text that ends with a reference to the lines of a range.
    fn with_range(cx: &Context, key: SessionKey, text: &str, range: Option<Range>) -> String {
        let target =
            range.and_then(|range| target_of(cx, key, range.buf, Lines::new(range.first, range.last)?));
        match target {
            Some(target) => format!("{} {}", text.trim(), target.token()).trim().to_owned(),
            None => text.trim().to_owned(),
        }
    }

    /// Asks without leaving the window; begins a chat if there is none.
    pub fn ask(&mut self, cx: &mut Context, args: Args) -> Result<()> {
        if args.text.trim().is_empty() {
            return fail("say what to ask: :Acp ask {text}");
        }
        let live = cx.session_here().filter(|key| !cx.is_dead(*key));
        if let Some(key) = live {
            let text = Self::with_range(cx, key, &args.text, args.range);
            tell_queued(cx, key);
            cx.raise(EditorEvent::PromptTyped { session: key, text: text.into(), mode: SendMode::InLine });
            return Ok(());
        }
        let win = cx.editor.current_win()?;
        let then = context::then(move |_: &mut Self, cx: &mut Context, key| {
            let text = Self::with_range(cx, key, &args.text, args.range);
            Self::stay_in(cx, win)?;
            cx.raise(EditorEvent::PromptTyped { session: key, text: text.into(), mode: SendMode::InLine });
            Ok(())
        });
        cx.raise(EditorEvent::ChatNeeded(then));
        Ok(())
    }

    /// A chat was begun for a prompt: the user stays where they were.
    pub fn stay_in(cx: &Context, win: Win) -> Result<()> {
        if cx.editor.win_is_valid(win) {
            cx.editor.command("stopinsert")?;
            cx.editor.set_current_win(win)?;
        }
        Ok(())
    }

    /// Offers the prompts of before, newest first; the one chosen is put into the prompt.
    pub fn choose_past_prompt(&mut self, cx: &mut Context) -> Result<()> {
        let Some(key) = cx.session_here() else { return fail(NO_SESSION) };
        let history = self.open.get(&key).and_then(|prompt| self.histories.get(&prompt.folder));
        let prompts: Vec<Text> =
            history.map(|history| history.prompts().iter().rev().cloned().collect()).unwrap_or_default();
        if prompts.is_empty() {
            return fail("no prompt was sent in this project yet");
        }
        let items = prompts.iter().map(|prompt| cut_middle(&one_line(prompt), 120)).collect();
        cx.offer("Prompts", "acp_prompt", items, move |_: &mut Self, cx, index| {
            cx.raise(EditorEvent::SessionChosen(key));
            let text = prompts[index].clone();
            let then = context::then(move |this: &mut Self, cx, ()| this.give_back(cx, key, &text));
            // The chat is there first.
            cx.resume(then, ());
            Ok(())
        });
        Ok(())
    }

    /// Offers the prompts that wait, then what may be done with the one chosen.
    pub fn choose_queued(&mut self, cx: &mut Context) -> Result<()> {
        let Some(key) = cx.session_here() else { return fail(NO_SESSION) };
        let Some(session) = cx.sessions.get(&key) else { return fail(NO_SESSION) };
        let texts: Vec<Text> = session.queue().iter().map(|queued| queued.text()).collect();
        if texts.is_empty() {
            return fail("no prompt is queued");
        }
        let items = texts.iter().map(|text| cut_middle(&one_line(text), 120)).collect();
        cx.offer("Waiting prompts", "acp_queue", items, move |this: &mut Self, cx, index| {
            this.choose_for_queued(cx, key, &texts[index]);
            Ok(())
        });
        Ok(())
    }

    fn choose_for_queued(&mut self, cx: &mut Context, key: SessionKey, text: &Text) {
        let steers = cx.sessions.get(&key).is_some_and(|session| session.can_be_steered());
        let now = if steers { "send it into the turn now" } else { "stop the turn and send it now" };
        let words = ["edit it", now, "move it up", "move it down", "remove it"];
        let items = words.iter().map(|word| (*word).to_owned()).collect();
        let text = text.clone();
        let title = format!("With {:?}", cut_middle(&one_line(&text), 40));
        cx.offer(&title, "acp_queue_action", items, move |this: &mut Self, cx, choice| {
            // The line may have moved on while the picker was open.
            let queue = cx.sessions.get(&key).map(|session| session.queue().iter());
            let Some(index) = queue.and_then(|mut queue| queue.position(|queued| queued.text() == text))
            else {
                return fail("that prompt does not wait any more");
            };
            match choice {
                0 => {
                    this.take_back(cx, key, Some(index))?;
                    cx.raise(EditorEvent::SessionChosen(key));
                }
                1 => Self::send_queued(cx, key, index),
                2 => Self::move_queued(cx, key, index, index.saturating_sub(1)),
                3 => Self::move_queued(cx, key, index, index + 1),
                _ => this.remove_queued(cx, key, index),
            }
            Ok(())
        });
    }

    /// What stands in the prompt, which is empty from here on, and how it is sent.
    fn take_prompt(
        &mut self,
        cx: &mut Context,
        key: SessionKey,
        how: SendMode,
    ) -> Result<Option<(Text, SendMode)>> {
        self.follow_anchors(cx, key)?;
        let Some(chat) = cx.chats.get(&key).copied() else { return Ok(None) };
        let text = chat.prompt_text(&cx.editor)?;
        if text.trim().is_empty() {
            return Ok(None);
        }
        Self::can_take_prompt(cx, key)?;
        if let Some(prompt) = self.open.get_mut(&key) {
            if is_command(&text) && prompt.doubted.as_deref() != Some(&*text) {
                let command = text.trim().to_owned();
                prompt.doubted = Some(text.into());
                return fail(format!("{command} is a command: <Esc> first, or send it once more"));
            }
            prompt.doubted = None;
            prompt.browse = None;
        }
        let how = Self::mode_of_edited(cx, key, how);
        self.set_prompt(cx, key, &Text::default())?;
        Ok(Some((text.trim_end().into(), how)))
    }

    /// How what stands in the prompt is sent: one that was taken out of the line goes back to its place, unless it goes
    /// into the turn.
    pub(super) fn mode_of_edited(cx: &mut Context, key: SessionKey, how: SendMode) -> SendMode {
        let Some(session) = cx.sessions.get_mut(&key) else { return how };
        match how {
            SendMode::InLine if session.send_edited() => SendMode::InPlace,
            SendMode::InLine => how,
            _ => {
                session.forget_edited();
                how
            }
        }
    }

    pub fn can_take_prompt(cx: &Context, key: SessionKey) -> Result<()> {
        refuse_recording(cx, key)?;
        match cx.is_dead(key) {
            true => {
                fail(format!("the agent is gone, your prompt stays; {} starts it", cx.config.keys.restart()))
            }
            false => Ok(()),
        }
    }

    /// How many prompts of a session come before the next one that is sent: what they refer to may still be being
    /// read.
    pub fn count_waiting(&self, cx: &Context, key: SessionKey) -> u64 {
        let waiting = cx.sessions.get(&key).map_or(0, |session| session.queue().len() - session.held());
        let sending = self.open.get(&key).map_or(0, |prompt| prompt.sending.len());
        (waiting + sending) as u64
    }
}

/// A replay has nobody who would answer.
fn refuse_recording(cx: &Context, key: SessionKey) -> Result<()> {
    match cx.sessions.get(&key).is_some_and(Session::plays_recording) {
        true => fail("a recording answers nobody; :AcpChat! begins a session"),
        false => Ok(()),
    }
}

/// Whether a prompt is nothing but a command of the plugin's.
fn is_command(text: &str) -> bool {
    let text = text.trim();
    let word = text.split(char::is_whitespace).next().unwrap_or_default().trim_end_matches('!');
    matches!(word, ":Acp" | ":AcpChat") && !text.contains('\n')
}

/// Says when a prompt goes that is about to wait in line, where no chat shows that. Who names the session is a script,
/// which can ask.
fn tell_queued(cx: &mut Context, key: SessionKey) {
    let when = cx.sessions.get(&key).and_then(Session::goes_when);
    let Some(when) = when.filter(|_| cx.meant.is_none() && !cx.shows_chat(key)) else { return };
    cx.notify(format!("queued: it goes when {when}; :Acp queue"), Level::Info);
}
