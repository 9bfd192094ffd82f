//! The editor: buffers, windows, keys, and the loop that feeds the core. This file is the way in
//! from Lua and from the background: it guards the one [`App`] against being entered twice, and
//! against panics, and runs what must wait until it is free.

pub mod actions;
pub mod agents;
pub mod app;
pub mod arguments;
pub mod audit;
pub mod autocommands;
pub mod background;
pub mod buffers;
pub mod chat;
pub mod checkpoints;
pub mod context;
pub mod diff_view;
pub mod editor;
pub mod events;
pub mod extensions;
pub mod files;
pub mod follow;
pub mod frame_clock;
pub mod garbage;
pub mod guard;
pub mod inspector;
pub mod keys;
pub mod listeners;
pub mod lua_data;
pub mod prints;
pub mod prompt;
pub mod questions;
pub mod review;
mod rules;
pub mod sessions;
pub mod terminals;
pub mod tools;
pub mod usage;
pub mod waker;

use std::any::Any;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use mlua::{Lua, Result, Table};

use crate::mailbox::Mailbox;
use crate::nvim::agents::Agents;
use crate::nvim::app::App;
use crate::nvim::background::Link;
pub use crate::nvim::background::{Background, Places, Start};
use crate::nvim::chat::Chats;
use crate::nvim::editor::Editor;
use crate::nvim::editor::timer::Timer;
use crate::nvim::frame_clock::Frames;
use crate::nvim::guard::Features;
use crate::nvim::guard::guarded;
use crate::nvim::guard::is_busy;
use crate::nvim::listeners::forget_listeners;
use crate::nvim::waker::Waker;
pub use crate::nvim::waker::init;

/// One run of the drain takes events for this long, then the editor has its turn.
const BUDGET: Duration = Duration::from_millis(4);

static MAILBOX: OnceLock<Arc<Mailbox>> = OnceLock::new();

/// The table that `require("acp.native")` gives to Lua.
pub fn module(lua: &Lua, background: Start) -> Result<Table> {
    let module = lua.create_table()?;
    module.set("version", env!("CARGO_PKG_VERSION"))?;
    module.set("profile", env!("ACP_PROFILE"))?;
    module.set("fingerprint", env!("ACP_FINGERPRINT"))?;
    module.set("interface", env!("ACP_INTERFACE"))?;
    module.set("start", lua.create_function(move |lua, options| start(lua, options, background))?)?;
    module.set("configure", lua.create_function(actions::configure)?)?;
    module.set("check", lua.create_function(actions::check)?)?;
    module.set("call", lua.create_function(actions::call)?)?;
    module.set("complete", lua.create_function(actions::complete)?)?;
    module.set("handle", lua.create_function(extensions::handle)?)?;
    module.set("tool", lua.create_function(tools::add)?)?;
    module.set("status", lua.create_function(actions::status)?)?;
    module.set(
        "shutdown",
        lua.create_function(|_, ()| {
            enter(|app| {
                app.shut_down();
                Ok(())
            })
        })?,
    )?;
    Ok(module)
}

/// Panics are written down; the default hook would write over the user's screen.
fn keep_panics_off_the_screen(log: PathBuf) {
    use std::io::Write as _;
    std::panic::set_hook(Box::new(move |panic| {
        let file = std::fs::OpenOptions::new().create(true).append(true).open(&log);
        // There is nowhere else to say it.
        let _ = file.and_then(|mut file| writeln!(file, "{panic}"));
    }));
}

/// Makes the app; later calls do nothing.
fn start(lua: &Lua, options: Option<Table>, background: Start) -> Result<()> {
    if guard::is_installed() {
        return Ok(());
    }
    let demo: Option<String> = options.and_then(|options| options.get("demo").ok()).flatten();
    let drain = lua.create_function(|_, ()| drain())?;
    let frames = Rc::new(Frames::new(lua, drain.clone())?);
    let mailbox = match MAILBOX.get() {
        Some(mailbox) => mailbox.clone(),
        None => {
            let waker = Waker::new(lua, drain, frames.clone()).map_err(|error| {
                mlua::Error::runtime(format!("couldn't join Neovim's event loop: {error}"))
            })?;
            MAILBOX.get_or_init(|| Mailbox::new(move |wake| waker.wake(wake))).clone()
        }
    };
    let editor = Rc::new(Editor::new(lua)?);
    crate::nvim::editor::picker::keep_builtin(&editor)?;
    let tick = Timer::new(lua, lua.create_function(|_, ()| when_free(App::ticked))?)?;
    keep_panics_off_the_screen(PathBuf::from(editor.func::<String>("stdpath", "log")?).join("acp-panic.log"));
    let chats = Chats::new(&editor, frames, tick, mailbox.clone());
    let agents = Agents::new(&editor, demo.map(PathBuf::from))?;
    let app = App::new(editor.clone(), Link::new(background, mailbox), chats, agents)?;
    guard::install(editor.clone(), Box::new(app));
    crate::nvim::editor::highlight_groups::define(&editor)?;
    keys::listen(&editor)?;
    autocommands::watch(&editor)
}

/// Takes what the background posted, for a few milliseconds, then has it drawn.
fn drain() -> Result<()> {
    let Some(mailbox) = MAILBOX.get() else { return Ok(()) };
    if is_busy() {
        guard::set_overdue();
        return Ok(());
    }
    let began = Instant::now();
    forget_listeners();
    while let Some(event) = mailbox.take() {
        guarded(|| enter_again(|app| app.handle(event)));
        if began.elapsed() >= BUDGET {
            mailbox.wake_again();
            break;
        }
    }
    guarded(|| enter(|app| app.frame_due(began.elapsed())));
    Ok(())
}

// The same as in `guard`, with the whole app.

pub fn app_of(features: &mut dyn Features) -> &mut App {
    (features as &mut dyn Any).downcast_mut().expect("the app is what was installed")
}

pub fn enter<R>(work: impl FnOnce(&mut App) -> Result<R>) -> Result<R> {
    guard::enter(|features| work(app_of(features)))
}

pub fn enter_again<R>(work: impl FnOnce(&mut App) -> Result<R>) -> Result<R> {
    guard::enter_again(|features| work(app_of(features)))
}

pub fn when_free(work: impl FnOnce(&mut App) -> Result<()>) -> Result<()> {
    guard::when_free(|features| work(app_of(features)))
}

pub fn look<R>(at: impl FnOnce(&App) -> R) -> Option<R> {
    guard::look(|features| {
        let features: &dyn Any = features;
        features.downcast_ref().map(at)
    })?
}

/// Runs `work` now, or as soon as the app is free.
pub fn run(work: impl FnOnce(&mut App) -> Result<()> + 'static) {
    guard::run(|features| work(app_of(features)));
}

/// Runs `work` after a while.
pub fn later(lua: &Lua, after: Duration, work: impl FnOnce(&mut App) -> Result<()> + 'static) -> Result<()> {
    guard::later(lua, after, |features| work(app_of(features)))
}

/// What the sessions are doing, as it is known when the app is busy.
fn status() -> serde_json::Value {
    sessions::status::ask(|| look(|app| app.status()))
}
