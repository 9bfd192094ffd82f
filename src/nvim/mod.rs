//! The editor: buffers, windows, keys, and the loop that feeds the core. This file is the way in
//! from Lua and from the background: it guards the one [`App`] against being entered twice, and
//! against panics, and runs what must wait until it is free.

pub mod actions;
pub mod agents;
pub mod app;
pub mod autocommands;
pub mod changed;
pub mod chat;
pub mod checkpoints;
pub mod editor;
pub mod effects;
pub mod extensions;
pub mod files;
pub mod follow;
pub mod keys;
pub mod prompt;
pub mod questions;
pub mod review;
pub mod sessions;
pub mod terminals;
pub mod waker;

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use mlua::{Function, Lua, LuaSerdeExt as _, Result, Table};

use crate::config::Config;
use crate::core::message::Command;
use crate::mailbox::Mailbox;
use crate::nvim::app::App;
use crate::nvim::chat::frame_clock::Frames;
use crate::nvim::editor::timer::Timer;
use crate::nvim::editor::{Editor, Level};
use crate::nvim::effects::forget_listeners;
use crate::nvim::terminals::Key;
use crate::nvim::waker::Waker;
pub use crate::nvim::waker::init;

/// One run of the drain takes events for this long, then the editor has its turn.
const BUDGET: Duration = Duration::from_millis(4);

/// What functions of Neovim's say when a `<C-c>` came while they ran.
const INTERRUPTED: &str = "Keyboard interrupt";

/// The other side, as this one sees it.
pub trait Background {
    /// Never blocks.
    fn send(&self, command: Command);
    /// Frees what is not needed any more, and may take long to free.
    fn discard(&self, what: Box<dyn Send>);
    /// Ends every process, or leaves that to whoever outlives Neovim. Waits for at most `limit`.
    fn leave(&self, limit: Duration);
}

/// Starts the background; the last two arguments are where to write the messages down, and the program
/// that comes with the library.
pub type Start = fn(Arc<Mailbox>, &Config, Option<PathBuf>, Option<PathBuf>) -> Box<dyn Background>;

type Task = Box<dyn FnOnce(&mut App) -> Result<()>>;

thread_local! {
    // What holds functions of Lua's is never dropped: a thread's locals go at the very end, when Lua may be
    // closed already (`os.exit(0, true)`).
    static APP: RefCell<ManuallyDrop<Option<App>>> = const { RefCell::new(ManuallyDrop::new(None)) };
    /// What came while the app was busy.
    static LATE: RefCell<ManuallyDrop<VecDeque<Task>>> =
        const { RefCell::new(ManuallyDrop::new(VecDeque::new())) };
    /// The drain or a frame was due while the app was busy.
    static OVERDUE: Cell<bool> = const { Cell::new(false) };
    /// What `status()` last gave, for those who ask while the app is busy: status lines that are drawn
    /// because of it. And whether anybody has asked yet.
    static STATUS: RefCell<serde_json::Value> = const { RefCell::new(serde_json::Value::Null) };
    static STATUS_ASKED: Cell<bool> = const { Cell::new(false) };
    static EDITOR: RefCell<ManuallyDrop<Option<Rc<Editor>>>> =
        const { RefCell::new(ManuallyDrop::new(None)) };
}

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
    module.set("call", lua.create_function(actions::call)?)?;
    module.set("complete", lua.create_function(actions::complete)?)?;
    module.set("handle", lua.create_function(extensions::handle)?)?;
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
    if APP.with_borrow(|app| app.is_some()) {
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
            MAILBOX.get_or_init(|| Mailbox::new(move |wake| waker.ring(wake))).clone()
        }
    };
    let editor = Rc::new(Editor::new(lua)?);
    EDITOR.set(ManuallyDrop::new(Some(editor.clone())));
    let tick = Timer::new(lua, lua.create_function(|_, ()| when_free(App::ticked))?)?;
    keep_panics_off_the_screen(PathBuf::from(editor.func::<String>("stdpath", "log")?).join("acp-panic.log"));
    let app = App::new(editor.clone(), mailbox, background, frames, tick, demo.map(PathBuf::from))?;
    APP.set(ManuallyDrop::new(Some(app)));
    crate::nvim::editor::highlight_groups::define(&editor)?;
    keys::listen(&editor)?;
    autocommands::watch(&editor)
}

/// A timer for when there is more to show of where the agents are.
fn follow_timer(lua: &Lua) -> Result<Timer> {
    let due = lua.create_function(|_, ()| {
        run(App::follow_due);
        Ok(())
    })?;
    Timer::new(lua, due)
}

/// Takes what the background posted, for a few milliseconds, then has it drawn.
fn drain() -> Result<()> {
    let Some(mailbox) = MAILBOX.get() else { return Ok(()) };
    if is_busy() {
        OVERDUE.set(true);
        return Ok(());
    }
    let began = Instant::now();
    forget_listeners();
    while let Some(event) = mailbox.take() {
        guarded(|| enter_again(|app| app.handle(event)));
        if began.elapsed() >= BUDGET {
            mailbox.rouse();
            break;
        }
    }
    guarded(|| enter(|app| app.frame_due_after(began.elapsed())));
    Ok(())
}

/// A failure or a panic in one message harms only that message.
fn guarded(work: impl FnOnce() -> Result<()>) {
    let text = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => return,
        Ok(Err(error)) if error.to_string().contains(INTERRUPTED) => return run(App::interrupted),
        Ok(Err(error)) => files::brief(&error),
        Err(_) => "an internal error; what it was is in acp-panic.log in :echo stdpath('log')".to_owned(),
    };
    if let Some(editor) = the_editor() {
        editor.notify(&text, Level::Error);
    }
}

/// Runs `work` with the app, then what had to wait for it. An error says so when the app is busy:
/// when called from inside of it.
fn enter<R>(work: impl FnOnce(&mut App) -> Result<R>) -> Result<R> {
    forget_listeners();
    enter_again(work)
}

/// The same where no code of the user's has run since the last time.
fn enter_again<R>(work: impl FnOnce(&mut App) -> Result<R>) -> Result<R> {
    let result = APP.with(|cell| match cell.try_borrow_mut() {
        Ok(mut app) => match app.as_mut() {
            Some(app) => work(app),
            None => Err(mlua::Error::runtime("acp was not started; call require(\"acp\").setup() first")),
        },
        Err(_) => Err(mlua::Error::runtime("acp is busy; wrap the call in vim.schedule()")),
    });
    settle();
    result
}

/// Whether this was called while something is done with the app: an autocommand of the user's that
/// waits, for example, lets everything run that is due.
fn is_busy() -> bool {
    APP.with(|cell| cell.try_borrow_mut().is_err())
}

/// What comes of a timer. While the app is busy it is left to the drain that follows.
fn when_free(work: impl FnOnce(&mut App) -> Result<()>) -> Result<()> {
    if is_busy() {
        OVERDUE.set(true);
        return Ok(());
    }
    guarded(|| enter(work));
    Ok(())
}

fn the_editor() -> Option<Rc<Editor>> {
    EDITOR.with_borrow(|editor| (**editor).clone())
}

/// Looks at the app, if there is one and it is free.
fn look<R>(at: impl FnOnce(&App) -> R) -> Option<R> {
    APP.with(|cell| cell.try_borrow().ok()?.as_ref().map(at))
}

fn keep_status(status: serde_json::Value) {
    STATUS.set(status);
}

fn status_was_asked() -> bool {
    STATUS_ASKED.get()
}

/// What the sessions are doing, as it is known when the app is busy.
fn status() -> serde_json::Value {
    STATUS_ASKED.set(true);
    if let Some(status) = look(|app| app.status(None)) {
        keep_status(status);
    }
    let status = STATUS.with_borrow(Clone::clone);
    match status.is_null() {
        // It is asked for the first time, and in the midst of something.
        true => serde_json::json!({ "sessions": [], "agents": [], "following": false }),
        false => status,
    }
}

/// Has the app take note of something in the midst of an edit, when nothing else may be run; `None` while
/// it is busy.
fn note<R>(work: impl FnOnce(&mut App) -> R) -> Option<R> {
    APP.with(|cell| cell.try_borrow_mut().ok()?.as_mut().map(work))
}

/// Runs `work` now, or as soon as the app is free.
fn run(work: impl FnOnce(&mut App) -> Result<()> + 'static) {
    if is_busy() {
        LATE.with_borrow_mut(|late| late.push_back(Box::new(work)));
    } else {
        guarded(|| enter(work));
    }
}

/// What waited for the app to be free: tasks, then effects, one at a time, since each may bring more.
fn settle() {
    loop {
        let late = LATE.with_borrow_mut(|late| late.pop_front());
        let next = APP.with(|cell| {
            let mut app = cell.try_borrow_mut().ok()?;
            let app = app.as_mut()?;
            if let Some(task) = late {
                let done = task(app);
                return Some(Next::Done(done));
            }
            if app.asking.retry {
                app.ask_next();
            }
            if let Err(error) = app.ask_names() {
                return Some(Next::Done(Err(error)));
            }
            app.effects.pop_front().map(Next::Effect)
        });
        match next {
            None => break,
            Some(Next::Done(done)) => guarded(|| done),
            Some(Next::Effect(effect)) => {
                if let Some(editor) = the_editor() {
                    guarded(|| {
                        effect(&editor);
                        Ok(())
                    });
                    forget_listeners();
                }
            }
        }
    }
    if !is_busy()
        && OVERDUE.take()
        && let Some(mailbox) = MAILBOX.get()
    {
        mailbox.rouse_again();
    }
}

enum Next {
    Done(Result<()>),
    Effect(effects::Effect),
}

/// Plain data for Lua: what is absent is absent, since Neovim takes no `null` of a library's.
fn to_lua(lua: &Lua, data: &impl serde::Serialize) -> Result<mlua::Value> {
    let options = mlua::serde::SerializeOptions::new()
        .serialize_none_to_null(false)
        .serialize_unit_to_null(false)
        .set_array_metatable(false);
    lua.to_value_with(data, options)
}

/// A function for Lua that runs a key's action.
fn key_action(lua: &Lua, name: &'static str) -> Result<Function> {
    lua.create_function(move |lua, ()| {
        // A mapping's error would be shown without its words (E5108).
        guarded(|| actions::key(lua, name));
        Ok(())
    })
}

/// A function for `nvim_open_term()` that hands on what the user types.
fn typed(lua: &Lua, key: Key) -> Result<Function> {
    lua.create_function(
        move |_, (_, _, _, data): (mlua::Value, mlua::Value, mlua::Value, mlua::LuaString)| {
            let (key, bytes) = (key.clone(), data.as_bytes().to_vec());
            run(move |app| app.typed(key, bytes));
            Ok(())
        },
    )
}

/// Runs `work` after a while.
fn later(lua: &Lua, after: Duration, work: impl FnOnce(&mut App) -> Result<()> + 'static) -> Result<()> {
    let work = RefCell::new(Some(work));
    let callback = lua.create_function(move |_, ()| {
        if let Some(work) = work.borrow_mut().take() {
            run(work);
        }
        Ok(())
    })?;
    let vim: Table = lua.globals().get("vim")?;
    let defer: Function = vim.get("defer_fn")?;
    defer.call::<mlua::Value>((callback, after.as_millis() as u64)).map(drop)
}
