//! The windows beside a chat share what it leaves them as they shared it before. How much each gets is
//! `core::window_shares`'s part.

use std::collections::HashMap;

use mlua::{Result, Table, Value};

use crate::core::window_shares::{Change, Node, Size};
use crate::nvim::editor::{Editor, Win};

/// Opens or closes windows of the tab page; those that stay keep their shares of what they have together.
pub fn keeping_shares<T>(editor: &Editor, change: impl FnOnce() -> Result<T>) -> Result<T> {
    let before = layout(editor)?.sizes();
    let tab: i64 = editor.api("nvim_get_current_tabpage", ())?;
    let changed = change()?;
    if editor.api::<i64>("nvim_get_current_tabpage", ())? == tab {
        share(editor, &before)?;
    }
    Ok(changed)
}

fn share(editor: &Editor, before: &HashMap<i64, Size>) -> Result<()> {
    let now = layout(editor)?;
    let windows = now.sizes();
    if windows.len() == before.len() && windows.keys().all(|win| before.contains_key(win)) {
        return Ok(());
    }
    now.shared_as(before).into_iter().try_for_each(|change| match change {
        Change::Width(win, cells) => editor.api("nvim_win_set_width", (win, cells)),
        Change::Height(win, cells) => editor.api("nvim_win_set_height", (win, cells)),
    })
}

fn layout(editor: &Editor) -> Result<Node> {
    node(editor, &editor.func("winlayout", ())?)
}

fn node(editor: &Editor, table: &Table) -> Result<Node> {
    let kind: String = table.get(1)?;
    if kind == "leaf" {
        let win: i64 = table.get(2)?;
        let keeps =
            (editor.win_option(Win(win), "winfixwidth")?, editor.win_option(Win(win), "winfixheight")?);
        return Ok(Node::Window { win, size: editor.win_size(Win(win))?, keeps });
    }
    let within: Vec<Value> = table.get(2)?;
    let nodes = within.iter().filter_map(Value::as_table).map(|table| node(editor, table));
    let nodes = nodes.collect::<Result<Vec<_>>>()?;
    Ok(if kind == "row" { Node::Row(nodes) } else { Node::Column(nodes) })
}
