//! Prompts: what is sent, what is put into the prompt's buffer, and the answers to permission questions.

use mlua::Result;

use crate::core::ids::{AskId, SessionKey};
use crate::core::message::PermissionKind;
use crate::core::session::answer_label::label;
use crate::core::session::references::Lines;
use crate::core::text::{Text, one_line};
use crate::core::transcript::cut_middle;
use crate::nvim::actions::{Args, NO_SESSION, Range, fail};
use crate::nvim::app::App;
use crate::nvim::prompt::How;

impl App {
    /// Has the prompt refer to the lines that a command was given.
    pub fn add_to_prompt(&mut self, key: SessionKey, range: Option<Range>) -> Result<()> {
        match range.and_then(|range| Some((range.buf, Lines::new(range.first, range.last)?))) {
            Some((buf, lines)) => self.refer_to(key, buf, lines),
            None => Ok(()),
        }
    }

    pub fn send_prompt(&mut self, key: SessionKey) -> Result<()> {
        self.send_typed(key, How::InLine)
    }

    pub fn steer_prompt(&mut self, key: SessionKey) -> Result<()> {
        self.send_typed(key, How::Steer)
    }

    /// Sends what stands in the prompt, which is empty from here on.
    fn send_typed(&mut self, key: SessionKey, how: How) -> Result<()> {
        if self.chats.get(&key).is_some_and(|chat| chat.has_long_prompt(&self.cx.editor).unwrap_or(false)) {
            return self.send_long_prompt(key, how);
        }
        if let Some(text) = self.take_prompt(key)? {
            self.submit(key, &text, how)?;
        }
        self.frame_due()
    }

    pub fn send_text(&mut self, args: Args) -> Result<()> {
        let Some(key) = self.cx.session_here() else { return fail(NO_SESSION) };
        let how = if args.bang { How::Now } else { How::InLine };
        if args.text.trim().is_empty() && args.range.is_none() {
            return self.send_typed(key, how);
        }
        if self.is_dead(key) {
            return fail("the agent is gone; :Acp restart starts it again");
        }
        let text = self.with_range(key, &args.text, args.range);
        self.submit(key, &text.into(), how)
    }

    /// A text that ends with a reference to the lines of a range.
    fn with_range(&self, key: SessionKey, text: &str, range: Option<Range>) -> String {
        let target =
            range.and_then(|range| self.target_of(key, range.buf, Lines::new(range.first, range.last)?));
        match target {
            Some(target) => format!("{} {}", text.trim(), target.token()).trim().to_owned(),
            None => text.trim().to_owned(),
        }
    }

    /// Asks without leaving the window; begins a chat if there is none.
    pub fn ask(&mut self, args: Args) -> Result<()> {
        if args.text.trim().is_empty() {
            return fail("say what to ask: :Acp ask {text}");
        }
        let live = self.cx.session_here().filter(|key| !self.is_dead(*key));
        if let Some(key) = live {
            let text = self.with_range(key, &args.text, args.range);
            return self.submit(key, &text.into(), How::InLine);
        }
        let win = self.cx.editor.current_win()?;
        self.begin_with(None, move |app, key| {
            let text = app.with_range(key, &args.text, args.range);
            if app.cx.editor.win_is_valid(win) {
                app.cx.editor.command("stopinsert")?;
                app.cx.editor.set_current_win(win)?;
            }
            app.submit(key, &text.into(), How::InLine)
        })
    }

    /// Offers the prompts of before, newest first; the one chosen is put into the prompt.
    pub fn choose_past_prompt(&mut self) -> Result<()> {
        let Some(key) = self.cx.session_here() else { return fail(NO_SESSION) };
        let history =
            self.prompts.open.get(&key).and_then(|prompt| self.prompts.histories.get(&prompt.folder));
        let prompts: Vec<Text> =
            history.map(|history| history.prompts().iter().rev().cloned().collect()).unwrap_or_default();
        if prompts.is_empty() {
            return fail("no prompt was sent in this project yet");
        }
        let items = prompts.iter().map(|prompt| cut_middle(&one_line(prompt), 120)).collect();
        self.offer("Prompts", "acp_prompt", items, move |app, index| {
            app.show(key)?;
            app.give_back(key, &prompts[index])
        })
    }

    /// Offers the prompts that wait, then what may be done with the one chosen.
    pub fn choose_queued(&mut self) -> Result<()> {
        let Some(key) = self.cx.session_here() else { return fail(NO_SESSION) };
        let Some(session) = self.cx.sessions.get(&key) else { return fail(NO_SESSION) };
        let texts: Vec<Text> = session.queue().iter().map(|queued| queued.text()).collect();
        if texts.is_empty() {
            return fail("no prompt is queued");
        }
        let items = texts.iter().map(|text| cut_middle(&one_line(text), 120)).collect();
        self.offer("Waiting prompts", "acp_queue", items, move |app, index| {
            app.choose_for_queued(key, &texts[index])
        })
    }

    fn choose_for_queued(&mut self, key: SessionKey, text: &Text) -> Result<()> {
        let steers = self.cx.sessions.get(&key).is_some_and(|session| session.can_be_steered());
        let now = if steers { "send it into the turn now" } else { "stop the turn and send it now" };
        let words = ["edit it", now, "move it up", "move it down", "remove it"];
        let items = words.iter().map(|word| (*word).to_owned()).collect();
        let text = text.clone();
        let title = format!("With {:?}", cut_middle(&one_line(&text), 40));
        self.offer(&title, "acp_queue_action", items, move |app, choice| {
            // The line may have moved on while the picker was open.
            let queue = app.cx.sessions.get(&key).map(|session| session.queue().iter());
            let Some(index) = queue.and_then(|mut queue| queue.position(|queued| queued.text() == text))
            else {
                return fail("that prompt does not wait any more");
            };
            match choice {
                0 => {
                    app.take_back(key, Some(index))?;
                    app.show(key)
                }
                1 => app.send_queued(key, index),
                2 => app.move_queued(key, index, index.saturating_sub(1)),
                3 => app.move_queued(key, index, index + 1),
                _ => app.remove_queued(key, index),
            }
        })
    }

    /// What stands in the prompt, which is empty from here on.
    fn take_prompt(&mut self, key: SessionKey) -> Result<Option<Text>> {
        self.follow_anchors(key)?;
        let Some(chat) = self.chats.get(&key) else { return Ok(None) };
        let text = chat.prompt_text(&self.cx.editor)?;
        if text.trim().is_empty() {
            return Ok(None);
        }
        self.can_take_prompt(key)?;
        if let Some(prompt) = self.prompts.open.get_mut(&key) {
            prompt.browse = None;
        }
        self.set_prompt(key, &Text::default())?;
        Ok(Some(text.trim_end().into()))
    }

    pub fn can_take_prompt(&self, key: SessionKey) -> Result<()> {
        match self.is_dead(key) {
            true => fail("the agent is gone; R in the chat starts it again, and the prompt stays as it is"),
            false => Ok(()),
        }
    }

    /// Sends a prompt, and says in which turn of which session it will be answered.
    pub fn send_for_answer(&mut self, args: Args) -> Result<serde_json::Value> {
        let Some(key) = self.cx.session_here() else { return fail(NO_SESSION) };
        self.send_text(Args { session: Some(key), ..args })?;
        let waiting = self.cx.sessions.get(&key).map_or(0, |session| session.queue().len());
        // What it refers to may still be being read.
        let sending = self.prompts.open.get(&key).map_or(0, |prompt| prompt.sending.len());
        let waiting = (waiting + sending) as u64;
        Ok(serde_json::json!({ "session": key.0, "turn": self.turn_of(key) + waiting }))
    }

    /// Answers the oldest open question with the option named, else with the first of these kinds. What `fits` does
    /// not take is never answered, whatever it is called.
    pub fn decide(
        &mut self,
        named: Option<&str>,
        kinds: &[PermissionKind],
        fits: fn(&PermissionKind) -> bool,
    ) -> Result<()> {
        let Some(key) = self.cx.session_here() else { return fail(NO_SESSION) };
        let others = self.cx.sessions.values().filter(|_| self.cx.meant.is_none());
        let waiting = self.cx.sessions.get(&key).into_iter().chain(others);
        let Some((key, open)) =
            waiting.filter_map(|session| session.permission().map(|open| (session.key, open.clone()))).next()
        else {
            let other = self.cx.sessions.values().any(|session| session.elicitation().is_some());
            let more = if other { "; :Acp answer is for what else the agent asks" } else { "" };
            return fail(format!("nothing waits for your permission{more}"));
        };
        let option = match named {
            Some(named) => {
                let mut fitting = open.options().iter().filter(|option| fits(&option.kind));
                fitting.find(|option| option.id == named || option.name == named || label(option) == named)
            }
            None => kinds.iter().find_map(|kind| open.options().iter().find(|option| option.kind == *kind)),
        };
        match option {
            Some(option) => self.answer(key, open.ask, &option.id.clone()),
            None if named.is_some() => fail("the agent offers no such option"),
            None => {
                // Nothing of that kind is offered: the user sees what is.
                self.put_up(key, AskId(open.ask.0));
                Ok(())
            }
        }
    }
}
