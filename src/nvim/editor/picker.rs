//! `vim.ui.select` and `vim.ui.input`, which users replace with what they like. What these answer is
//! not to be trusted: it may come late, twice or never. Each answer is passed on once, and what an
//! agent wrote reaches them as plain lines. What an answer means is left to those who ask.

use std::cell::RefCell;
use std::rc::Rc;

use mlua::{Function, Result, Table, Value};

use crate::core::text::visible::visible_line;
use crate::nvim::editor::Editor;

/// Lets the user choose among `items`; `then` gets the 0-based index, or nothing.
pub fn select(
    editor: &Editor,
    prompt: &str,
    kind: &str,
    items: Vec<String>,
    then: impl FnOnce(Option<usize>) + 'static,
) -> Result<()> {
    let items: Vec<String> = items.iter().map(|item| plain(item)).collect();
    let options =
        editor.table([("prompt", editor.string(plain(prompt))?), ("kind", editor.string(kind)?)])?;
    let count = items.len();
    let answer = Answer::new(then);
    let chosen = answer.clone();
    let chosen = editor.lua.create_function(move |_, (_, index): (Value, Option<usize>)| {
        chosen.give(index.and_then(|index| index.checked_sub(1)).filter(|index| *index < count));
        Ok(())
    })?;
    let ui: Table = editor.module("ui")?;
    ui.get::<Function>("select")?.call::<()>((items, options, chosen))?;
    answer.shown();
    Ok(())
}

/// Whether `vim.ui.select` is Neovim's own, which shows each item in full.
pub fn is_builtin(editor: &Editor) -> bool {
    let read = || -> Result<bool> {
        let ui: Table = editor.module("ui")?;
        let info = ui.get::<Function>("select")?.info();
        Ok(info.source.is_some_and(|source| source.ends_with("vim/ui.lua") || source.ends_with("vim/ui")))
    };
    read().unwrap_or(true)
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
