//! When chats and bars are drawn: one frame at a time, each within its budget.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::{Duration, Instant};

use mlua::{Function, Result, Table};

use crate::core::ids::{EntryId, SessionKey, TerminalId};
use crate::core::session::Session;
use crate::core::transcript::{Hints, Style};
use crate::nvim::app::App;
use crate::nvim::chat::Chat;
use crate::nvim::chat::{winbar, windows};

/// One frame draws for at most this long, then the editor has its turn for as long again.
const BUDGET: Duration = Duration::from_millis(4);

/// What came in and what is drawn of it hold the editor for this long together, but for what has to be
/// drawn so that it goes on at all.
const SLICE: Duration = Duration::from_millis(6);
const LEAST: Duration = Duration::from_millis(2);

/// How often the time of a running turn moves on.
const TICK: Duration = Duration::from_millis(250);

impl App {
    /// Notes what changed, so that the next frame draws it.
    pub fn after_change(&mut self, key: SessionKey) -> Result<()> {
        let Some(session) = self.cx.sessions.get_mut(&key) else { return Ok(()) };
        let outdated = session.take_outdated();
        let (entries, status) = session.take_touched();
        if !outdated.is_empty() {
            self.discard(outdated);
        }
        self.sessions.tell_changes(&mut self.cx, key, &entries, status);
        let Some(session) = self.cx.sessions.get_mut(&key) else { return Ok(()) };
        if !entries.is_empty() {
            // A call that is over takes its virtual text along, however it ended.
            let over: BTreeSet<EntryId> = entries
                .iter()
                .copied()
                .filter(|entry| {
                    session
                        .entry(*entry)
                        .and_then(|entry| entry.tool())
                        .is_some_and(|call| call.status.is_over())
                })
                .collect();
            for entry in over {
                self.reviews.clear_proposal(&self.cx, (key, entry))?;
            }
            self.settle_split(key)?;
            let Some(session) = self.cx.sessions.get_mut(&key) else { return Ok(()) };
            if let Some(chat) = self.chats.get_mut(&key) {
                let terminals = &self.terminals;
                let tail = |terminal: &TerminalId| terminals.tail(&(key, terminal.clone()));
                chat.touch(session, entries, &tail);
            }
        }
        if status {
            self.show_queue(key)?;
            self.update_bar(key)?;
            self.update_plan(key)?;
            self.asking.retry = true;
        }
        Ok(())
    }

    pub fn settle(&mut self, key: SessionKey) -> Result<()> {
        self.draw(LEAST)?;
        match self.chats.get_mut(&key) {
            Some(chat) if !chat.has_waiting() => chat.settle(&self.cx.editor, &self.highlight),
            _ => Ok(()),
        }
    }

    /// Draws now when a frame is due, else sees to it that it comes.
    pub fn frame_due(&mut self) -> Result<()> {
        self.frame_due_after(Duration::ZERO)
    }

    /// The same when the editor has been held for a while already.
    pub fn frame_due_after(&mut self, held: Duration) -> Result<()> {
        self.refresh_status();
        if !self.chats.values().any(Chat::has_waiting) {
            return Ok(());
        }
        if !self.frames.is_due() {
            return self.frames.wait();
        }
        self.draw(SLICE.saturating_sub(held).clamp(LEAST, BUDGET))?;
        self.cx.editor.flush();
        let waits = |chat: &&Chat| chat.has_waiting();
        let Some(chat) = self.chats.values().find(waits) else { return Ok(()) };
        if chat.is_far_behind() || self.cx.sessions.get(&chat.session).is_some_and(Session::is_replaying) {
            // Nobody reads along: what is left is drawn as soon as keys and the screen had their turn.
            self.frames.drawn_in_part(Duration::ZERO)?;
            self.mailbox.rouse();
            return Ok(());
        }
        self.frames.drawn_in_part(BUDGET)?;
        self.frames.wait()
    }

    /// Has what is known on the screen before something that holds the editor, such as a picker.
    pub fn draw_now(&mut self) -> Result<()> {
        // What is asked about has to be there, on a busy machine as well.
        self.draw(8 * BUDGET)?;
        self.cx.editor.command("redraw")
    }

    /// How the user wants things drawn.
    pub fn style(&self) -> Style {
        let ahead = || -> Result<i64> {
            let os: Table = self.cx.editor.lua.globals().get("os")?;
            let zone: String = os.get::<Function>("date")?.call("%z")?;
            let number: i64 = zone.parse().unwrap_or_default();
            Ok(number / 100 * 60 + number % 100)
        };
        let clock = self.cx.config.timestamps.then(|| ahead().unwrap_or_default());
        Style { icons: self.cx.config.icons, width: 80, clock, hints: self.hints() }
    }

    /// The keys that lines name, as they are bound.
    pub fn hints(&self) -> Rc<Hints> {
        let key = |names: &[&str]| {
            let bound = names.iter().find_map(|name| self.cx.config.keys.get(name).last());
            bound.cloned().unwrap_or_default()
        };
        Rc::new(Hints {
            send: key(&["send_insert", "send"]),
            cancel: key(&["cancel"]),
            help: key(&["help"]),
            restart: key(&["restart"]),
            toggle: self.cx.config.keys.get("toggle").first().cloned().unwrap_or_default(),
            details: key(&["details"]),
            go_to: key(&["go_to"]),
            answers: self.cx.config.keys.get("answer").to_vec(),
        })
    }

    /// Windows may have other sizes now.
    pub fn fit_chats(&mut self) {
        for (key, chat) in &mut self.chats {
            if let Some(session) = self.cx.sessions.get(key) {
                chat.fit(&self.cx.editor, session);
            }
        }
    }

    pub fn draw(&mut self, budget: Duration) -> Result<()> {
        let until = Instant::now() + budget;
        let editor = self.cx.editor.clone();
        let style = self.style();
        for (key, chat) in &mut self.chats {
            if !chat.has_waiting() {
                continue;
            }
            let Some(session) = self.cx.sessions.get(key) else { continue };
            let terminals = &self.terminals;
            let tail = |terminal: &TerminalId| terminals.tail(&(*key, terminal.clone()));
            chat.draw(&editor, &self.highlight, session, &style, &tail, until)?;
        }
        self.frames.drawn()?;
        // The frame that was waited for is not only for drawing: what came in meanwhile is taken then.
        if self.mailbox.is_empty() { Ok(()) } else { self.frames.wait() }
    }

    pub fn update_bar(&mut self, key: SessionKey) -> Result<()> {
        let now = self.cx.now();
        let (Some(session), Some(chat)) = (self.cx.sessions.get(&key), self.chats.get(&key)) else {
            return Ok(());
        };
        let wins = self.cx.editor.wins_of(chat.transcript);
        let width = wins
            .iter()
            .filter_map(|win| self.cx.editor.win_size(*win).ok())
            .map(|(columns, _)| columns)
            .min();
        let place = self.location_elsewhere(key);
        let bar = winbar::transcript(session, now, width.map_or(80, usize::from), place.as_deref());
        let hints = winbar::prompt(session, &self.cx.config.keys);
        let both = format!("{bar}\n{hints}");
        if self.bars.get(&key) != Some(&both) && !wins.is_empty() {
            for win in wins {
                windows::set_bar(&self.cx.editor, win, &bar)?;
            }
            for win in self.cx.editor.wins_of(chat.prompt) {
                windows::set_bar(&self.cx.editor, win, &hints)?;
            }
            self.bars.insert(key, both);
        }
        self.keep_time()
    }

    /// Has the clock run while there is time that moves on.
    pub fn keep_time(&mut self) -> Result<()> {
        let works = self.cx.sessions.values().any(Session::is_under_way);
        let busy = works || self.terminals.is_watched(&self.cx.editor);
        if busy != self.ticking {
            self.ticking = busy;
            if busy {
                self.tick.every(TICK)?;
            } else {
                self.tick.stop()?;
            }
        }
        Ok(())
    }

    /// The time of running turns moves on.
    pub fn ticked(&mut self) -> Result<()> {
        let now = self.cx.now();
        let keys: Vec<SessionKey> = self.cx.sessions.keys().copied().collect();
        keys.into_iter().try_for_each(|key| {
            if let Some(session) = self.cx.sessions.get_mut(&key) {
                session.ticked(now);
            }
            self.after_change(key)?;
            self.update_bar(key)
        })?;
        self.terminals.update_bars(&self.cx)?;
        self.keep_time()?;
        self.frame_due()
    }
}
