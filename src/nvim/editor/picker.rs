//! `vim.ui.select` and `vim.ui.input`, which users replace with what they like. What these answer is
//! not to be trusted: it may come late, twice or never. Each answer is passed on once, and what an
//! agent wrote reaches them as plain lines. What an answer means is left to those who ask.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use mlua::{Function, Result, Table, Value};

use crate::core::text::cells;
use crate::core::text::visible::{visible, visible_line};
use crate::nvim::editor::Editor;

/// What a user may choose from.
pub struct Offer<'a> {
    pub prompt: &'a str,
    pub kind: &'a str,
    pub items: Vec<String>,
    /// What it is about, for pickers that show that beside the items.
    pub preview: Rc<Vec<String>>,
}

/// Lets the user choose among `items`; `then` gets the 0-based index, or nothing.
pub fn select(
    editor: &Editor,
    prompt: &str,
    kind: &str,
    items: Vec<String>,
    then: impl FnOnce(Option<usize>) + 'static,
) -> Result<()> {
    offer(editor, Offer { prompt, kind, items, preview: Rc::default() }, then)
}

/// The same, with a preview.
pub fn offer(editor: &Editor, offer: Offer, then: impl FnOnce(Option<usize>) + 'static) -> Result<()> {
    let Offer { prompt, kind, items, preview } = offer;
    let items: Vec<String> = items.iter().map(|item| plain(item)).collect();
    // Without a line for it ('cmdheight') Neovim's own loses the first line of what it shows.
    let lost = if is_builtin(editor) && has_no_line(editor) { "\n" } else { "" };
    let prompt = editor.string(format!("{lost}{}", plain(prompt)))?;
    let options = editor.table([("prompt", prompt), ("kind", editor.string(kind)?)])?;
    if !preview.is_empty() && !is_builtin(editor) {
        let lines: Vec<String> = preview.iter().map(|line| plain_code(line)).collect();
        helpers(editor)?.get::<Function>("add_preview")?.call::<()>((&options, lines))?;
    }
    let count = items.len();
    let answer = Answer::new(then);
    let chosen = answer.clone();
    let chosen = editor.lua.create_function(move |_, (_, index): (Value, Option<usize>)| {
        chosen.give(index.and_then(|index| index.checked_sub(1)).filter(|index| *index < count));
        Ok(())
    })?;
    match is_builtin(editor) {
        // It gets what the screen has room for, any other one gets all.
        true => pages(editor)?.get::<Function>("paged")?.call::<()>((items, options, chosen))?,
        false => helpers(editor)?.get::<Function>("ask")?.call::<()>((
            items,
            options,
            chosen,
            editor.notify.clone(),
        ))?,
    }
    answer.shown();
    Ok(())
}

/// What has Neovim's own picker show long lists.
fn pages(editor: &Editor) -> Result<Table> {
    editor.lua.globals().get::<Function>("require")?.call("acp.select")
}

/// A picker on the screen, to close it when what it asks about is over.
pub struct OpenPicker {
    /// The windows that were there before.
    before: Value,
    is_builtin: bool,
    /// Its function has not come back yet.
    is_running: Rc<Cell<bool>>,
}

impl OpenPicker {
    /// Notes that one is about to open.
    pub fn begin(editor: &Editor) -> Result<Self> {
        let before = helpers(editor)?.get::<Function>("windows")?.call(())?;
        Ok(Self { before, is_builtin: is_builtin(editor), is_running: Rc::new(Cell::new(true)) })
    }

    /// To be set when its function has come back.
    pub fn running(&self) -> Rc<Cell<bool>> {
        self.is_running.clone()
    }

    /// Closes it because another one opens. Neovim's own, while it runs, has the keys for itself and stays below.
    pub fn replace(self, editor: &Editor) -> Result<()> {
        if self.is_builtin && self.is_running.get() { Ok(()) } else { self.close(editor) }
    }

    /// Closes it, as far as that can be done: a picker that nobody knows closes with its window.
    pub fn close(self, editor: &Editor) -> Result<()> {
        if !self.is_builtin {
            return helpers(editor)?.get::<Function>("close")?.call(self.before);
        }
        // What it waits for is a key.
        match self.is_running.get() {
            true => editor.api::<Value>("nvim_input", "<Esc>").map(drop),
            false => Ok(()),
        }
    }
}

fn helpers(editor: &Editor) -> Result<Table> {
    const NAME: &str = "acp.picker";
    if let Some(helpers) = editor.lua.named_registry_value::<Option<Table>>(NAME)? {
        return Ok(helpers);
    }
    let helpers: Table = editor.lua.load(include_str!("picker.lua")).set_name("=acp/picker").eval()?;
    editor.lua.set_named_registry_value(NAME, &helpers)?;
    Ok(helpers)
}

/// Has `vim.ui.select` kept if it is Neovim's own: what a plugin puts in its place later is another function.
pub fn keep_builtin(editor: &Editor) -> Result<()> {
    pages(editor).map(drop)
}

/// Whether `vim.ui.select` is Neovim's own, which shows each item in full and has the screen for itself.
pub fn is_builtin(editor: &Editor) -> bool {
    let ask = || pages(editor)?.get::<Function>("is_builtin")?.call(());
    ask().unwrap_or(true)
}

/// Whether `vim.ui.input` is Neovim's own, which shows all of a prompt that the screen has room for.
pub fn is_builtin_input(editor: &Editor) -> bool {
    let ask = || pages(editor)?.get::<Function>("is_builtin_input")?.call(());
    ask().unwrap_or(true)
}

/// How many rows at the end of the screen Neovim's own picker covers; none where another one is in its place.
pub fn rows_covered(editor: &Editor, prompt: &str, items: &[String]) -> usize {
    if !is_builtin(editor) {
        return 0;
    }
    let asks: String = pages(editor).and_then(|pages| pages.get("ASKS")).unwrap_or_default();
    let columns = usize::from(editor.size().0).max(1);
    let rows = |text: &str, beside: usize| (cells(text) + beside).div_ceil(columns).max(1);
    // The line above it, and the one that asks for a number, with the cursor behind it.
    let asks = rows(&asks, 1);
    // Of several rows Neovim draws all but the last twice, once something is drawn meanwhile.
    let asks = asks * 2 - 1;
    // Without lines for commands it scrolls more: by the row that is lost then, and one.
    let more = if has_no_line(editor) { 2 } else { 0 };
    let number = |at: usize| (at + 1).to_string().len() + ": ".len();
    let items: usize = items.iter().enumerate().map(|(at, item)| rows(&plain(item), number(at))).sum();
    rows(&plain(prompt), 0) + items + 1 + asks + more
}

/// Whether something draws Neovim's own picker over the middle of the screen, and not at its end.
pub fn is_popup(editor: &Editor) -> Result<bool> {
    helpers(editor)?.get::<Function>("is_popup")?.call(())
}

/// Whether 'cmdheight' is 0.
fn has_no_line(editor: &Editor) -> bool {
    editor.global_option::<i64>("cmdheight").is_ok_and(|lines| lines == 0)
}

/// Lets the user type a line, beginning with `text`; `then` gets it, or nothing.
pub fn input(
    editor: &Editor,
    prompt: &str,
    text: &str,
    then: impl FnOnce(Option<String>) + 'static,
) -> Result<()> {
    // Neovim takes the text for typed keys: a control character would be a command.
    let options = editor.table([
        ("prompt", editor.string(plain(prompt) + ": ")?),
        ("default", editor.string(plain_keys(text))?),
    ])?;
    let answer = Answer::new(then);
    let typed = answer.clone();
    let typed = editor.lua.create_function(move |_, text: Option<mlua::LuaString>| {
        typed.give(text.map(|text| text.to_string_lossy()));
        Ok(())
    })?;
    let ui: Table = editor.module("ui")?;
    let entries: i64 = editor.func("histnr", "@")?;
    ui.get::<Function>("input")?.call::<()>((options, typed))?;
    if editor.func::<i64>("histnr", "@")? > entries {
        // What is typed for an agent is not for the history, which is kept on the disk.
        editor.func::<i64>("histdel", ("@", -1))?;
    }
    answer.shown();
    Ok(())
}

/// One line, in which nothing is hidden.
pub fn plain(text: &str) -> String {
    visible_line(text)
}

/// The same with its indentation.
fn plain_code(line: &str) -> String {
    visible(&line.replace(['\n', '\r'], " ")).into_owned()
}

fn plain_keys(text: &str) -> String {
    text.chars().filter(|char| !char.is_control()).collect()
}

/// What to do with an answer. One that is given while the picker's function still runs is passed on
/// when that has returned, or pickers that follow each other would nest until Lua's stack is full.
struct Answer<T, F>(Rc<RefCell<Progress<T, F>>>);

enum Progress<T, F> {
    Showing(F),
    Given(F, T),
    Waiting(F),
    Over,
}

impl<T, F> Clone for Answer<T, F> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T, F: FnOnce(T)> Answer<T, F> {
    fn new(then: F) -> Self {
        Self(Rc::new(RefCell::new(Progress::Showing(then))))
    }

    fn give(&self, value: T) {
        let progress = self.0.replace(Progress::Over);
        match progress {
            Progress::Showing(then) => drop(self.0.replace(Progress::Given(then, value))),
            Progress::Waiting(then) => then(value),
            answered => drop(self.0.replace(answered)),
        }
    }

    fn shown(&self) {
        match self.0.replace(Progress::Over) {
            Progress::Showing(then) => drop(self.0.replace(Progress::Waiting(then))),
            Progress::Given(then, value) => then(value),
            over => drop(self.0.replace(over)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_passed_on_once_and_never_inside_the_picker() {
        let got = Rc::new(RefCell::new(Vec::new()));
        let keep = got.clone();
        let answer = Answer::new(move |value: u32| keep.borrow_mut().push(value));
        answer.give(1);
        answer.give(2);
        assert!(got.borrow().is_empty());
        answer.shown();
        answer.give(3);
        assert_eq!(*got.borrow(), [1]);
        let keep = got.clone();
        let late = Answer::new(move |value: u32| keep.borrow_mut().push(value));
        late.shown();
        late.give(4);
        late.give(5);
        assert_eq!(*got.borrow(), [1, 4]);
    }

    #[test]
    fn what_an_agent_wrote_is_one_plain_line() {
        assert_eq!(plain(" a\n\n b\u{12}=c\0\t "), "a b^R=c^@");
        assert_eq!(plain_keys("a b\u{12}=x\u{1b}\r\n"), "a b=x");
    }
}
