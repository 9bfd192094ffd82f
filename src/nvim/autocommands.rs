//! The autocommands that keep the app's picture of the editor right: which events it hears of, and when.
//! What it makes of them is left to the app.

use mlua::{Result, Value};

use crate::nvim::app::App;
use crate::nvim::editor::autocommands::Group;
use crate::nvim::editor::{Buf, Editor, Win};
use crate::nvim::events::EditorEvent;
use crate::nvim::files::Files;
use crate::nvim::follow::Follow;
use crate::nvim::questions::Questions;
use crate::nvim::run;
use crate::platform::files::path_of_bytes;

impl Group<'_> {
    fn on(&self, events: &[&str], run: fn(&mut App) -> Result<()>) -> Result<()> {
        self.create(events, Vec::new(), move |_, _| {
            crate::nvim::run(move |app| routed(app, run));
            Ok(())
        })
    }

    fn on_buffer(&self, events: &[&str], run: fn(&mut App, Buf) -> Result<()>) -> Result<()> {
        self.create(events, Vec::new(), move |_, event| {
            let buf: Buf = event.get("buf")?;
            crate::nvim::run(move |app| routed(app, |app| run(app, buf)));
            Ok(())
        })
    }

    fn on_options(&self, names: &[&str], run: fn(&mut App) -> Result<()>) -> Result<()> {
        let names = self.editor.lua.create_sequence_from(names.iter().copied())?;
        self.create(&["OptionSet"], vec![("pattern", Value::Table(names))], move |_, _| {
            crate::nvim::run(move |app| routed(app, run));
            Ok(())
        })
    }
}

/// Has the others hear of what came of it, before anything else that waits.
fn routed(app: &mut App, work: impl FnOnce(&mut App) -> Result<()>) -> Result<()> {
    work(app)?;
    app.route()
}

/// What the app hears of from its start to its end.
pub fn watch(editor: &Editor) -> Result<()> {
    let acp = Group::new(editor, "acp")?;
    acp.on_buffer(&["BufReadPost"], |app, buf| app.files.buffer_read(&mut app.cx, buf))?;
    acp.on_buffer(&["BufNewFile"], |app, buf| app.files.buffer_new(&mut app.cx, buf))?;
    acp.on_buffer(&["BufFilePost"], |app, buf| app.files.buffer_loaded(&mut app.cx, buf))?;
    acp.on_buffer(&["BufUnload"], |app, buf| {
        app.files.buffer_unloaded(&mut app.cx, buf);
        Ok(())
    })?;
    acp.on_buffer(&["BufModifiedSet", "BufWritePost", "TextChanged", "InsertLeave"], |app, buf| {
        app.checkpoints.buffer_changed(&mut app.cx, buf)
    })?;
    acp.on_buffer(&["BufModifiedSet"], |app, buf| app.files.buffer_modified(&mut app.cx, buf))?;
    acp.on_buffer(&["BufWritePost"], |app, buf| {
        app.cx.raise(EditorEvent::BufferSaved(buf));
        Ok(())
    })?;
    acp.create(&["BufWritePost", "FileWritePost", "FileAppendPost"], Vec::new(), |_, event| {
        let buf: Buf = event.get("buf")?;
        let path = path_of_bytes(&event.get::<mlua::LuaString>("match")?.as_bytes());
        run(move |app| routed(app, |app| app.files.file_written(&mut app.cx, buf, &path)));
        Ok(())
    })?;
    listen_to_times(editor)?;
    acp.on_buffer(&["BufWinEnter"], App::buffer_shown)?;
    acp.on_buffer(&["BufEnter"], |app, buf| app.prompts.buffer_entered(&mut app.cx, buf))?;
    acp.on_buffer(&["BufEnter"], |app, buf| Follow::buffer_visited(&app.cx, buf))?;
    acp.on_buffer(&["InsertLeave"], |app, buf| app.prompts.insert_left(&mut app.cx, buf))?;
    acp.on_buffer(&["BufEnter", "BufWinEnter"], |app, buf| Files::user_entered(&app.cx, buf))?;
    acp.create(
        &["CmdlineLeave"],
        vec![("pattern", Value::String(editor.lua.create_string(":")?))],
        |_, _| {
            run(|app| routed(app, |app| app.files.user_commands(&mut app.cx)));
            Ok(())
        },
    )?;
    // What a `:!` has put out may have the user press a key before anything else comes.
    acp.on(&["ShellCmdPost"], |app| app.files.user_is_done(&mut app.cx))?;
    acp.on(&["WinNew"], |app| app.chats.window_opened(&app.cx))?;
    acp.on(&["WinEnter"], |app| {
        app.chats.window_entered(&app.cx)?;
        Questions::window_entered(&app.cx)
    })?;
    acp.on(&["VimResized"], |app| {
        app.chats.windows_moved();
        app.terminals.screen_resized();
        app.resized()
    })?;
    acp.on(&["WinResized", "TabEnter"], App::resized)?;
    acp.on(&["WinScrolled"], |app| app.reviews.read_seen(&mut app.cx))?;
    acp.on(&["FocusLost"], |app| {
        app.cx.is_away = true;
        Ok(())
    })?;
    acp.on(&["FocusGained"], |app| {
        app.cx.is_away = false;
        Ok(())
    })?;
    acp.on(&["QuitPre"], |app| app.chats.quitting(&mut app.cx))?;
    acp.create(&["WinClosed"], Vec::new(), |_, event| {
        // The window is about to be closed; the autocommand's `match` is its id.
        let id: String = event.get("match")?;
        if let Ok(id) = id.parse() {
            run(move |app| {
                routed(app, |app| {
                    app.reviews.window_closing(&app.cx, Win(id))?;
                    app.chats.window_closing(&mut app.cx, Win(id))
                })
            });
        }
        Ok(())
    })?;
    // Lines may look otherwise in a buffer then: have other tabs, or wrap.
    acp.on_options(
        &["tabstop", "list", "listchars", "wrap", "number", "relativenumber", "signcolumn", "foldcolumn"],
        |app| app.reviews.looks_changed(&mut app.cx),
    )?;
    acp.on(&["ColorScheme"], App::colours_changed)?;
    // Without a colour scheme another 'background' comes without the event of one.
    acp.on_options(&["background"], App::colours_changed)
}

/// Has the app told of what Neovim finds when it looks at the times of files.
fn listen_to_times(editor: &Editor) -> Result<()> {
    let changed = editor.lua.create_function(|_, buf: Buf| {
        run(move |app| routed(app, |app| app.files.file_looked_at(&mut app.cx, buf)));
        Ok(())
    })?;
    let refused = editor.lua.create_function(|_, (buf, tick): (Buf, u64)| {
        run(move |app| routed(app, |app| app.files.write_refused(&mut app.cx, buf, tick)));
        Ok(())
    })?;
    editor.helper("listen", (changed, refused))
}
