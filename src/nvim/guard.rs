//! The one way in, from Lua and from the background: guards the features against being entered twice and
//! against panics, and runs what must wait until they are free. Which features there are is left to the
//! router.

use std::any::{Any, TypeId};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt::Display;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::time::Duration;

use mlua::{Function, Lua, Result, Table};

use crate::nvim::editor::{Editor, Level, first_line};
use crate::nvim::listeners::forget_listeners;

/// What functions of Neovim's say when a `<C-c>` came while they ran.
const INTERRUPTED: &str = "Keyboard interrupt";

/// May run the user's code, so it is only run when the features are free.
pub type Effect = Box<dyn FnOnce(&Editor)>;

/// All features together.
pub trait Features: Any {
    /// A feature by its type, and the context that all share.
    fn find(&mut self, feature: TypeId) -> Option<(&mut dyn Any, &mut dyn Any)>;
    /// Serves what features have left for each other and for the background.
    fn serve(&mut self) -> Result<()>;
    /// Does what must be done each time before the features are free again.
    fn settle(&mut self) -> Result<()>;
    /// Has the drain run again.
    fn ring(&mut self);
    fn next_effect(&mut self) -> Option<Effect>;
    /// Runs a key's action.
    fn key(&mut self, name: &str) -> Result<()>;
    /// `<C-c>` was pressed while a function of Neovim's ran.
    fn interrupted(&mut self) -> Result<()>;
}

/// How something goes on once its answer is there.
pub type Then<T> = Box<dyn FnOnce(&mut dyn Features, T) -> Result<()>>;

/// Something to be done with the features.
pub type Task = Box<dyn FnOnce(&mut dyn Features) -> Result<()>>;

thread_local! {
    // Lua functions are never dropped: a thread's locals go at the very end, when Lua may be closed already
    // (`os.exit(0, true)`).
    static FEATURES: RefCell<ManuallyDrop<Option<Box<dyn Features>>>> =
        const { RefCell::new(ManuallyDrop::new(None)) };
    /// What came while the features were busy.
    static LATE: RefCell<ManuallyDrop<VecDeque<Task>>> =
        const { RefCell::new(ManuallyDrop::new(VecDeque::new())) };
    /// The drain or a frame was due while the features were busy.
    static OVERDUE: Cell<bool> = const { Cell::new(false) };
    static EDITOR: RefCell<ManuallyDrop<Option<Rc<Editor>>>> =
        const { RefCell::new(ManuallyDrop::new(None)) };
}

/// Makes the features known. To be called once.
pub fn install(editor: Rc<Editor>, features: Box<dyn Features>) {
    EDITOR.set(ManuallyDrop::new(Some(editor)));
    FEATURES.set(ManuallyDrop::new(Some(features)));
}

pub fn is_installed() -> bool {
    FEATURES.with(|cell| cell.try_borrow().map_or(true, |features| features.is_some()))
}

/// A failure or a panic in one message harms only that message.
pub fn guarded(work: impl FnOnce() -> Result<()>) {
    let text = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => return,
        Ok(Err(error)) if was_interrupted(&error) => return,
        Ok(Err(error)) => first_line(&error),
        Err(_) => "an internal error; see acp-panic.log in :echo stdpath('log')".to_owned(),
    };
    if let Some(editor) = the_editor() {
        editor.notify(&text, Level::Error);
    }
}

/// Whether something failed since the user has pressed `<C-c>`; what that is for is seen to then.
pub fn was_interrupted(error: &impl Display) -> bool {
    let was = error.to_string().contains(INTERRUPTED);
    if was {
        run_task(Box::new(|features| features.interrupted()));
    }
    was
}

/// Runs `work` with the features, then what had to wait for them. Fails when they are busy: when called
/// from inside of them.
pub fn enter<R>(work: impl FnOnce(&mut dyn Features) -> Result<R>) -> Result<R> {
    forget_listeners();
    enter_again(work)
}

/// The same where no code of the user's has run since the last time.
pub fn enter_again<R>(work: impl FnOnce(&mut dyn Features) -> Result<R>) -> Result<R> {
    let result = FEATURES.with(|cell| match cell.try_borrow_mut() {
        Ok(mut features) => match features.as_mut() {
            Some(features) => work(features.as_mut()),
            None => Err(mlua::Error::runtime("acp was not started; call require(\"acp\").setup() first")),
        },
        Err(_) => Err(mlua::Error::runtime("acp is busy; wrap the call in vim.schedule()")),
    });
    settle();
    result
}

/// Whether this was called while something is done with the features: a user's autocommand that waits, for
/// example, lets everything run that is due.
pub fn is_busy() -> bool {
    FEATURES.with(|cell| cell.try_borrow_mut().is_err())
}

/// For timers. While the features are busy, `work` is left to the drain that follows.
pub fn when_free(work: impl FnOnce(&mut dyn Features) -> Result<()>) -> Result<()> {
    if is_busy() {
        OVERDUE.set(true);
        return Ok(());
    }
    guarded(|| enter(work));
    Ok(())
}

/// The drain is due again once the features are free.
pub fn set_overdue() {
    OVERDUE.set(true);
}

pub fn the_editor() -> Option<Rc<Editor>> {
    EDITOR.with_borrow(|editor| (**editor).clone())
}

/// Looks at the features, if they are there and free.
pub fn look<R>(at: impl FnOnce(&dyn Features) -> R) -> Option<R> {
    FEATURES.with(|cell| cell.try_borrow().ok()?.as_ref().map(|features| at(features.as_ref())))
}

/// Has a feature take note of something in the midst of an edit, when nothing else may be run; `None` while
/// the features are busy.
pub fn note<R>(work: impl FnOnce(&mut dyn Features) -> R) -> Option<R> {
    FEATURES.with(|cell| cell.try_borrow_mut().ok()?.as_mut().map(|features| work(features.as_mut())))
}

/// Runs `work` now, or as soon as the features are free.
pub fn run(work: impl FnOnce(&mut dyn Features) -> Result<()> + 'static) {
    run_task(Box::new(work));
}

/// Runs `work` when nothing else is being done, never at once: for those who can't know what they are called from.
pub fn soon(work: impl FnOnce(&mut dyn Features) -> Result<()> + 'static) {
    LATE.with_borrow_mut(|late| late.push_back(Box::new(work)));
    // While the features are busy, whoever is at it settles this, too.
    note(|features| features.ring());
}

fn run_task(task: Task) {
    if is_busy() {
        LATE.with_borrow_mut(|late| late.push_back(task));
    } else {
        guarded(|| enter(task));
    }
}

/// Runs `work` after a while.
pub fn later(
    lua: &Lua,
    after: Duration,
    work: impl FnOnce(&mut dyn Features) -> Result<()> + 'static,
) -> Result<()> {
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

/// What waited for the features to be free: tasks, then effects, one at a time, since each may bring more.
fn settle() {
    loop {
        let late = LATE.with_borrow_mut(|late| late.pop_front());
        let next = FEATURES.with(|cell| {
            let mut features = cell.try_borrow_mut().ok()?;
            let features = features.as_mut()?;
            if let Some(task) = late {
                let done = task(features.as_mut());
                return Some(Next::Done(done));
            }
            if let Err(error) = features.settle() {
                return Some(Next::Done(Err(error)));
            }
            features.next_effect().map(Next::Effect)
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
    if !is_busy() && OVERDUE.take() {
        note(|features| features.ring());
    }
}

enum Next {
    Done(Result<()>),
    Effect(Effect),
}
