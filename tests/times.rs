//! Where Neovim itself looks at the time of a file, and what the user gets to see of it: never a question
//! of Neovim's (W11, W12, W13, and the one before a `:write`), since the keys that are typed meanwhile would
//! answer it. Each place is a row of a table, and each is tried with unsaved edits, with none, with a
//! file that is gone, and with one that appears.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use support::Nvim;
use support::script::{Scripted, ends, opened, prompt, says, update, writes};

/// How a buffer's file is looked at: Lua that prepares it, run with the buffer and the file's name, then keys,
/// in which `FILE` is the file's name.
struct Place {
    name: &'static str,
    /// The buffer is in a window before its file changes.
    shown: bool,
    prepare: &'static str,
    keys: &'static str,
}

const fn hidden(name: &'static str, keys: &'static str) -> Place {
    Place { name, shown: false, prepare: "", keys }
}

const fn shown(name: &'static str, keys: &'static str) -> Place {
    Place { name, shown: true, prepare: "", keys }
}

const PLACES: &[Place] = &[
    hidden(":buffer", ":buffer FILE<CR>"),
    hidden(":edit", ":edit FILE<CR>"),
    hidden(":drop", ":drop FILE<CR>"),
    hidden(":split", ":split FILE<CR>"),
    hidden(":tabedit", ":tabedit FILE<CR>"),
    hidden(":diffsplit", ":diffsplit FILE<CR>:diffoff!<CR>"),
    hidden("the alternate file", "<C-^>"),
    hidden("nvim_win_set_buf()", "<Cmd>lua vim.api.nvim_win_set_buf(0, vim.g.it)<CR>"),
    hidden(":checktime of a hidden buffer", ":checktime FILE<CR>:buffer FILE<CR>"),
    Place {
        name: "a quickfix list",
        shown: false,
        prepare: "vim.fn.setqflist({ { bufnr = vim.g.it, lnum = 1 } })",
        keys: ":cfirst<CR>",
    },
    Place {
        name: "a terminal that is closed",
        shown: true,
        prepare: "vim.cmd('split | terminal true') vim.cmd.stopinsert() vim.fn.jobwait({ vim.b.terminal_job_id })",
        keys: "<C-Bslash><C-n>:bdelete!<CR>:buffer FILE<CR>:checktime<CR>",
    },
    Place {
        name: "a user's autocommand that shows the buffer",
        shown: false,
        prepare: "vim.api.nvim_create_autocmd('User', { pattern = 'Mine', nested = true, group = 'mine',
                    callback = function() vim.cmd.buffer(vim.g.it) end })",
        keys: "<Cmd>doautocmd User Mine<CR>",
    },
    Place {
        name: "a user's FileChangedShell",
        shown: false,
        prepare: "vim.api.nvim_create_autocmd('FileChangedShell', { group = 'mine', callback = function()
                    vim.g.heard = vim.v.fcs_reason
                  end })",
        keys: ":buffer FILE<CR>",
    },
    shown(":checktime", ":checktime<CR>"),
    shown("a command of the shell's", ":silent !true<CR>"),
    shown("a filter", ":silent 1!cat<CR>"),
    shown("system() and :checktime", ":call system('true') <Bar> checktime<CR>"),
    shown(":make", ":set makeprg=true<CR>:silent make!<CR>"),
    shown(":grep", ":set grepprg=true<CR>:silent grep! x<CR>"),
    Place { name: "another tab page", shown: true, prepare: "vim.cmd.tabnew()", keys: "gT:checktime<CR>" },
    Place {
        name: "a user's autocommand that checks",
        shown: false,
        prepare: "vim.api.nvim_create_autocmd({ 'BufEnter', 'WinEnter', 'CursorHold', 'FocusGained' },
                    { group = 'mine', command = 'checktime' })",
        keys: ":buffer FILE<CR><C-w>s",
    },
];

/// Places that write the buffer: it is not, since that would drop what is on the disk.
const WRITES: &[Place] = &[
    shown(":write", ":write<CR>"),
    shown(":update", ":silent update<CR>"),
    shown(":wall", ":wall<CR>"),
    // What is merged already is written, and then only the window is closed.
    Place { name: ":wq", shown: true, prepare: "vim.cmd.split()", keys: ":wq<CR>" },
    Place { name: "ZZ", shown: true, prepare: "vim.cmd.split()", keys: "ZZ" },
    shown(":write with the file's name", ":write FILE<CR>"),
    shown(":write behind another command", ":let g:x = 1 <Bar> write<CR>"),
    shown(":windo", ":windo update<CR>"),
    Place { name: ":exit", shown: true, prepare: "vim.cmd.split()", keys: ":exit<CR>" },
    shown("a mapping", "<Cmd>write<CR>"),
    shown("a look before the :write", ":checktime <Bar> write<CR>"),
];

fn number(nvim: &mut Nvim, code: &str) -> u64 {
    nvim.exec_lua(code, []).as_u64().expect("a number")
}

/// No question is open, and none comes up while a condition is waited for.
fn wait_unasked(nvim: &mut Nvim, place: &str, mut condition: impl FnMut(&mut Nvim) -> bool) {
    nvim.wait_until(
        |nvim| {
            let mode = nvim.mode();
            assert!(!mode.name.starts_with('r'), "{place}: Neovim asks\n{}", nvim.screen());
            condition(nvim)
        },
        place,
    );
}

/// A Neovim with a session, and nothing in the way: one window.
fn with_session(steps: Vec<Value>) -> Scripted {
    let mut chat = Scripted::new(&[("other.txt", "other\n")], steps);
    chat.chat();
    chat.nvim.stop_insert();
    chat.nvim.command("AcpChat");
    chat.nvim.stop_insert();
    alone(&mut chat.nvim);
    chat
}

fn alone(nvim: &mut Nvim) {
    nvim.exec_lua(
        "vim.cmd('silent! tabonly') vim.cmd('silent! edit! other.txt') vim.cmd('silent! only!')
         vim.o.autowrite, vim.o.autoread, vim.o.hidden = false, true, true
         vim.api.nvim_create_augroup('mine', { clear = true })",
        [],
    );
    nvim.wait_until(|nvim| nvim.mode().name == "n", "normal mode");
}

/// Loads a file of the project, changes its buffer as is said, and hides it where that is wanted.
fn open(chat: &mut Scripted, file: &str, place: &Place, unsaved: bool) -> u64 {
    chat.nvim.command(&format!("edit {file}"));
    let buf = number(&mut chat.nvim, "return vim.api.nvim_get_current_buf()");
    if unsaved {
        chat.nvim.exec_lua("vim.api.nvim_buf_set_lines(0, 0, 0, false, { 'mine' })", []);
    }
    if !place.shown {
        chat.nvim.command("buffer other.txt");
    }
    chat.nvim.exec_lua(&format!("vim.g.it, vim.g.heard = ..., vim.NIL\n{}", place.prepare), [buf.into()]);
    buf
}

/// Somebody else writes the file: later than before, also for a clock that is slower than a test.
fn change(chat: &Scripted, file: &str, text: &str) {
    chat.project.write(file, text);
    make_new(&chat.project.file(file));
}

fn make_new(path: &std::path::Path) {
    let file = std::fs::File::options().write(true).open(path).expect("a file");
    let time = std::time::SystemTime::now() + std::time::Duration::from_secs(2);
    file.set_modified(time).expect("a time");
}

/// Writes the buffer, as often as it takes: what is on the disk may still be on its way into it.
fn save(chat: &mut Scripted, buf: u64, file: &str, place: &str) {
    let write = "vim.api.nvim_buf_call(..., function() pcall(vim.cmd, 'silent! write') end)";
    let path = chat.project.file(file);
    wait_unasked(&mut chat.nvim, place, |nvim| {
        nvim.exec_lua(write, [buf.into()]);
        let text = nvim.buffer_text(buf) + "\n";
        std::fs::read_to_string(&path).is_ok_and(|written| written == text)
    });
}

/// Types the place's keys, and then a line in the buffer, without waiting in between.
fn go(chat: &mut Scripted, file: &str, place: &Place) {
    let keys = place.keys.replace("FILE", file);
    chat.nvim.type_ahead(&format!("{keys}ggOHello<Esc>"));
}

fn saved(nvim: &mut Nvim, buf: u64) -> bool {
    nvim.exec_lua("return not vim.bo[...].modified", [buf.into()]).as_bool().expect("a bool")
}

fn holds(nvim: &mut Nvim, buf: u64, lines: &[&str]) -> bool {
    let text = nvim.buffer_text(buf);
    lines.iter().all(|line| text.lines().any(|each| each == *line))
}

#[test]
fn unsaved_edits_are_merged_wherever_neovim_looks_at_the_file() {
    let mut chat = with_session(opened());
    for (at, place) in PLACES.iter().enumerate() {
        let file = format!("unsaved{at}.txt");
        chat.project.write(&file, "one\ntwo\nthree\n");
        let buf = open(&mut chat, &file, place, true);
        change(&chat, &file, "one\ntwo\nthree\nof the disk\n");
        go(&mut chat, &file, place);
        wait_unasked(&mut chat.nvim, place.name, |nvim| {
            holds(nvim, buf, &["mine", "two", "of the disk", "Hello"])
        });
        assert_eq!(chat.project.read(&file), "one\ntwo\nthree\nof the disk\n", "{}", place.name);
        if place.name.contains("FileChangedShell") {
            let heard = chat.nvim.exec_lua("return vim.g.heard", []);
            assert_eq!(heard.as_str(), Some("conflict"), "a user's autocommand hears of it");
        }
        // The merged text can be written without a question.
        save(&mut chat, buf, &file, place.name);
        alone(&mut chat.nvim);
    }
}

#[test]
fn a_write_never_asks_and_never_drops_what_is_on_the_disk() {
    let mut chat = with_session(opened());
    for (at, place) in WRITES.iter().enumerate() {
        let file = format!("written{at}.txt");
        chat.project.write(&file, "one\ntwo\nthree\n");
        let buf = open(&mut chat, &file, place, true);
        change(&chat, &file, "one\ntwo\nthree\nof the disk\n");
        go(&mut chat, &file, place);
        wait_unasked(&mut chat.nvim, place.name, |nvim| {
            holds(nvim, buf, &["mine", "two", "of the disk", "Hello"])
        });
        // By the time that it came, it may have been merged.
        assert!(chat.project.read(&file).ends_with("\nof the disk\n"), "{}", place.name);
        save(&mut chat, buf, &file, place.name);
        alone(&mut chat.nvim);
    }
}

/// So long after a file was written it is certain that it does not count as whole yet, if nobody heard it closed.
const UNCERTAIN: Duration = Duration::from_millis(500);

#[test]
fn half_a_text_is_not_taken_wherever_neovim_looks_at_the_file() {
    let mut chat = with_session(opened());
    let looks = [
        (shown(":checktime", ":checktime<CR>"), true),
        (shown(":write", ":write<CR>"), true),
        (shown(":checktime, nothing unsaved", ":checktime<CR>"), false),
    ];
    for (at, (place, unsaved)) in looks.iter().enumerate() {
        for half in ["", "one\ntw"] {
            // A machine that is too busy for it says nothing.
            let mut tries = (0..20).map(|try_| format!("half{at}{}{try_}.txt", half.len()));
            assert!(tries.any(|file| look_at_half(&mut chat, &file, place, *unsaved, half)), "never in time");
        }
    }
}

/// Somebody writes half of a text, Neovim looks at it, and then the rest comes. Says whether that was in time.
fn look_at_half(chat: &mut Scripted, file: &str, place: &Place, unsaved: bool, half: &str) -> bool {
    chat.project.write(file, "one\ntwo\nthree\n");
    let buf = open(chat, file, place, unsaved);
    // The least of lines that the buffer ever has.
    chat.nvim.exec_lua(
        "vim.g.least = 100
         vim.api.nvim_buf_attach(0, false, { on_lines = function(_, buf)
           vim.g.least = math.min(vim.g.least, vim.api.nvim_buf_line_count(buf))
         end })",
        [],
    );
    let began = Instant::now();
    change(chat, file, half);
    let typed = if unsaved { "Hello" } else { "two" };
    chat.nvim.type_ahead(place.keys);
    if unsaved {
        chat.nvim.type_ahead("ggOHello<Esc>");
    }
    wait_unasked(&mut chat.nvim, place.name, |nvim| {
        holds(nvim, buf, &[typed]) || began.elapsed() > UNCERTAIN
    });
    // What follows for another file comes after what follows for this one.
    chat.project.write("after.txt", "after\n");
    chat.nvim.command("split after.txt");
    change(chat, "after.txt", "after\nall\n");
    chat.nvim.command("checktime after.txt");
    let after = number(&mut chat.nvim, "return vim.api.nvim_get_current_buf()");
    wait_unasked(&mut chat.nvim, place.name, |nvim| holds(nvim, after, &["all"]));
    chat.nvim.command("close");
    if began.elapsed() > UNCERTAIN {
        return false;
    }
    change(chat, file, "one\ntwo\nthree\nof the disk\n");
    chat.nvim.command("checktime");
    wait_unasked(&mut chat.nvim, place.name, |nvim| {
        holds(nvim, buf, &["one", "two", "three", "of the disk", typed])
    });
    assert_eq!(
        number(&mut chat.nvim, "return vim.g.least"),
        if unsaved { 5 } else { 4 },
        "{} of {half:?}",
        place.name
    );
    save(chat, buf, file, place.name);
    alone(&mut chat.nvim);
    true
}

#[test]
fn a_write_that_is_refused_leaves_no_prompt() {
    let mut chat = with_session(opened());
    for (at, keys) in [":write<CR>", ":wall<CR>", ":wq<CR>", ":x<CR>"].into_iter().enumerate() {
        let file = format!("prompt{at}.txt");
        chat.project.write(&file, "one\n");
        let buf = open(&mut chat, &file, &shown("", ""), true);
        chat.nvim.command("split");
        change(&chat, &file, "one\nof the disk\n");
        chat.nvim.type_ahead(keys);
        wait_unasked(&mut chat.nvim, keys, |nvim| holds(nvim, buf, &["mine", "of the disk"]));
        assert!(!chat.nvim.messages().contains("E605"), "{keys}");
        alone(&mut chat.nvim);
    }
}

#[test]
fn a_write_that_is_refused_is_done_once_it_is_known_that_there_is_nothing_to_merge() {
    let mut chat = with_session(opened());
    for kind in ["touched", "removed"] {
        for keys in [":write<CR>", ":wall<CR>", ":wq<CR>", ":update<CR>"] {
            let file = format!("{kind}{}.txt", keys.replace(':', "").replace("<CR>", ""));
            chat.project.write(&file, "one\ntwo\n");
            let buf = open(&mut chat, &file, &shown("", ""), true);
            chat.nvim.command("split");
            match kind {
                "touched" => change(&chat, &file, "one\ntwo\n"),
                _ => std::fs::remove_file(chat.project.file(&file)).expect("it is there"),
            }
            chat.nvim.type_ahead(keys);
            let written =
                |chat: &Scripted| std::fs::read_to_string(chat.project.file(&file)).unwrap_or_default();
            let what = format!("{keys} of a file that was {kind}");
            let deadline = Instant::now() + Duration::from_secs(8);
            while !written(&chat).contains("mine") && Instant::now() < deadline {
                wait_unasked(&mut chat.nvim, &what, |_| true);
            }
            assert!(written(&chat).contains("mine"), "{what}: {}", chat.nvim.messages());
            chat.nvim.wait_until(|nvim| saved(nvim, buf), "the buffer to be saved");
            alone(&mut chat.nvim);
        }
    }
}

#[test]
fn a_buffer_without_unsaved_edits_takes_the_disk_wherever_neovim_looks_at_the_file() {
    let mut chat = with_session(opened());
    for autoread in [true, false] {
        for (at, place) in PLACES.iter().enumerate() {
            let file = format!("clean{at}{autoread}.txt");
            chat.project.write(&file, "one\ntwo\n");
            chat.nvim.exec_lua("vim.o.autoread = ...", [autoread.into()]);
            let buf = open(&mut chat, &file, place, false);
            change(&chat, &file, "one\ntwo\nof the disk\n");
            // Typed only then: keys typed before are unsaved edits.
            chat.nvim.type_ahead(&place.keys.replace("FILE", &file));
            wait_unasked(&mut chat.nvim, place.name, |nvim| holds(nvim, buf, &["of the disk", "two"]));
            chat.nvim.command(&format!("buffer {buf}"));
            chat.nvim.input("ggOHello<Esc>:silent write<CR>");
            wait_unasked(&mut chat.nvim, place.name, |nvim| holds(nvim, buf, &["Hello"]));
            let path = chat.project.file(&file);
            wait_unasked(&mut chat.nvim, place.name, |_| {
                std::fs::read_to_string(&path).is_ok_and(|text| text == "Hello\none\ntwo\nof the disk\n")
            });
            alone(&mut chat.nvim);
        }
    }
}

#[test]
fn the_text_of_a_deleted_file_stays_without_a_pause_or_a_question() {
    let mut chat = with_session(opened());
    for unsaved in [true, false] {
        for (at, place) in PLACES.iter().enumerate() {
            let file = format!("deleted{at}{unsaved}.txt");
            chat.project.write(&file, "one\ntwo\n");
            let buf = open(&mut chat, &file, place, unsaved);
            std::fs::remove_file(chat.project.file(&file)).expect("a file");
            go(&mut chat, &file, place);
            wait_unasked(&mut chat.nvim, place.name, |nvim| holds(nvim, buf, &["two", "Hello"]));
            let modified = "return vim.bo[...].modified";
            assert_eq!(chat.nvim.exec_lua(modified, [buf.into()]).as_bool(), Some(true), "{}", place.name);
            assert!(!chat.nvim.messages().contains("E211"), "{}", place.name);
            chat.nvim.command("messages clear");
            alone(&mut chat.nvim);
        }
    }
}

#[test]
fn a_file_that_appears_under_a_new_buffer_is_merged() {
    let mut chat = with_session(opened());
    // Two texts that have nothing in common.
    chat.configure("files = { conflict = 'markers' }");
    for (at, place) in PLACES.iter().chain(WRITES).enumerate() {
        let file = format!("new{at}.txt");
        let buf = open(&mut chat, &file, place, true);
        change(&chat, &file, "of the disk\n");
        go(&mut chat, &file, place);
        wait_unasked(&mut chat.nvim, place.name, |nvim| holds(nvim, buf, &["mine", "Hello"]));
        // Nobody is told of such a file but by its call, or a :write.
        chat.nvim.exec_lua("vim.cmd.buffer(...) pcall(vim.cmd, 'silent write')", [buf.into()]);
        wait_unasked(&mut chat.nvim, place.name, |nvim| holds(nvim, buf, &["mine", "Hello", "of the disk"]));
        save(&mut chat, buf, &file, place.name);
        alone(&mut chat.nvim);
    }
}

#[test]
fn what_has_no_text_of_its_own_to_tell_is_no_news() {
    let mut chat = with_session(opened());
    for (at, place) in PLACES.iter().enumerate() {
        for touch in ["touch -d 2020-01-01", "chmod 600"] {
            let file = format!("touched{at}-{}.txt", touch.len());
            chat.project.write(&file, "one\ntwo\n");
            chat.nvim.exec_lua("vim.o.autoread = false", []);
            let buf = open(&mut chat, &file, place, false);
            let words: Vec<&str> = touch.split(' ').collect();
            let path = chat.project.file(&file);
            let done = std::process::Command::new(words[0]).args(&words[1..]).arg(&path).status();
            assert!(done.is_ok_and(|status| status.success()));
            go(&mut chat, &file, place);
            wait_unasked(&mut chat.nvim, place.name, |nvim| holds(nvim, buf, &["one", "two", "Hello"]));
            save(&mut chat, buf, &file, place.name);
            assert_eq!(chat.project.read(&file), "Hello\none\ntwo\n", "{}", place.name);
            alone(&mut chat.nvim);
        }
    }
}

#[test]
fn the_focus_comes_back_without_a_question() {
    let mut chat = with_session(opened());
    chat.project.write("a.txt", "one\ntwo\nthree\n");
    let buf = open(&mut chat, "a.txt", &shown("", ""), true);
    chat.nvim.request("nvim_ui_set_focus", vec![false.into()]).expect("no focus");
    change(&chat, "a.txt", "one\ntwo\nthree\nof the disk\n");
    chat.nvim.request("nvim_ui_set_focus", vec![true.into()]).expect("the focus");
    // Neovim puts off the look until a key was typed.
    chat.nvim.type_ahead("ggOHello<Esc>");
    wait_unasked(&mut chat.nvim, "focus", |nvim| holds(nvim, buf, &["mine", "of the disk", "Hello"]));
}

#[test]
fn a_buffer_that_no_session_has_to_do_with_is_left_to_neovim() {
    let mut chat = with_session(opened());
    let outside = support::project::TempProject::new(&[("a.txt", "one\n")]);
    let path = outside.file("a.txt");
    chat.nvim.command(&format!("edit {}", path.display()));
    chat.nvim.exec_lua("vim.api.nvim_buf_set_lines(0, 0, 1, false, { 'mine' })", []);
    let own = "return #vim.api.nvim_get_autocmds({ event = { 'FileChangedShell', 'BufWritePre' } })";
    let before = number(&mut chat.nvim, own);
    outside.write("a.txt", "one of the disk\n");
    make_new(&outside.file("a.txt"));
    chat.nvim.type_ahead(":checktime<CR>");
    chat.nvim.wait_until(|nvim| nvim.screen().contains("W12"), "Neovim's own question");
    chat.nvim.input("o");
    chat.nvim.wait_until(|nvim| nvim.mode().name == "n", "the question to be over");
    assert_eq!(number(&mut chat.nvim, own), before);
}

#[test]
fn neovim_asks_again_when_the_session_is_over() {
    let mut chat = with_session(opened());
    chat.project.write("a.txt", "one\n");
    open(&mut chat, "a.txt", &shown("", ""), true);
    chat.nvim.command("Acp close");
    chat.nvim.wait_until(
        |nvim| nvim.exec_lua("return #require('acp').status().sessions", []).as_u64() == Some(0),
        "the session to go",
    );
    change(&chat, "a.txt", "one of the disk\n");
    chat.nvim.type_ahead(":checktime<CR>");
    chat.nvim.wait_until(|nvim| nvim.screen().contains("W12"), "Neovim's own question");
}

#[test]
fn autoread_is_as_it_was_when_the_session_is_over() {
    let mut chat = Scripted::new(&[("a.txt", "one\n"), ("b.txt", "one\n"), ("c.txt", "one\n")], opened());
    let [a, b, c] = ["a.txt", "b.txt", "c.txt"].map(|file| open(&mut chat, file, &shown("", ""), false));
    chat.nvim.exec_lua("vim.bo[...].autoread = true", [b.into()]);
    let local = |chat: &mut Scripted| {
        let code = "return vim.tbl_map(function(buf) return tostring(vim.bo[buf].autoread) end, { ... })";
        chat.nvim.exec_lua(code, [a, b, c].map(Into::into)).to_string()
    };
    chat.chat();
    assert_eq!(local(&mut chat), r#"["false", "false", "false"]"#);
    chat.nvim.exec_lua("vim.bo[...].autoread = true", [c.into()]);
    chat.nvim.stop_insert();
    chat.nvim.command("Acp close");
    chat.nvim.wait_until(
        |nvim| nvim.exec_lua("return #require('acp').status().sessions", []).as_u64() == Some(0),
        "the session to go",
    );
    assert_eq!(local(&mut chat), r#"["nil", "true", "true"]"#);
    change(&chat, "a.txt", "one of the disk\n");
    chat.nvim.command(&format!("checktime {a}"));
    assert_eq!(chat.nvim.buffer_text(a), "one of the disk");
}

/// An agent may write while it ends.
#[test]
fn a_file_that_an_agent_wrote_is_not_asked_about_when_its_session_is_over_either() {
    let mut parts = opened();
    parts.push(prompt());
    parts.extend(writes("a.txt", "one\nTWO\nthree\n"));
    parts.push(ends("end_turn"));
    let mut chat = with_session(parts);
    chat.project.write("a.txt", "one\ntwo\nthree\n");
    let buf = open(&mut chat, "a.txt", &shown("", ""), false);
    chat.nvim.command("AcpChat");
    chat.send("go");
    chat.nvim.wait_until(|nvim| holds(nvim, buf, &["TWO"]), "what the agent wrote");
    chat.nvim.stop_insert();
    chat.nvim.command("Acp close");
    chat.nvim.wait_until(
        |nvim| nvim.exec_lua("return #require('acp').status().sessions", []).as_u64() == Some(0),
        "the session to go",
    );
    chat.nvim.exec_lua("vim.api.nvim_buf_set_lines(..., 0, 0, false, { 'mine' })", [buf.into()]);
    change(&chat, "a.txt", "one\nTWO\nthree\nof the disk\n");
    chat.nvim.type_ahead(":checktime<CR>");
    wait_unasked(&mut chat.nvim, "after the session", |nvim| holds(nvim, buf, &["mine", "of the disk"]));
}

#[test]
fn what_shows_a_file_asks_nothing_while_the_app_is_at_work() {
    let call = |id: &str, text: &str| {
        json!({ "toolCallId": id, "title": "Edit a.txt", "kind": "edit", "status": "pending",
            "locations": [{ "path": "$PROJECT/a.txt", "line": 1 }],
            "content": [{ "type": "diff", "path": "$PROJECT/a.txt", "oldText": "one\ntwo\nthree\n", "newText": text }] })
    };
    let mut steps = opened();
    steps.push(prompt());
    steps.push(support::script::permission("p", call("c", "one\ntwo\nTHREE\n")));
    steps.push(support::script::answered("p"));
    let mut done = call("c", "one\ntwo\nTHREE\n");
    done["sessionUpdate"] = "tool_call_update".into();
    done["status"] = "completed".into();
    steps.push(update(done));
    steps.extend([says("Well."), ends("end_turn")]);
    let mut chat = with_session(steps);
    chat.project.write("a.txt", "one\ntwo\nthree\n");
    let buf = open(&mut chat, "a.txt", &hidden("", ""), true);
    change(&chat, "a.txt", "one\ntwo\nthree\nof the disk\n");
    chat.nvim.exec_lua("require('acp').send('go')", []);
    chat.nvim.type_ahead("ggOHello<Esc>");
    let other = number(&mut chat.nvim, "return vim.fn.bufnr('other.txt')");
    wait_unasked(&mut chat.nvim, "a question with a diff", |nvim| {
        holds(nvim, buf, &["mine", "of the disk"]) || holds(nvim, other, &["Hello"])
    });
    chat.nvim.command(&format!("buffer {buf}"));
    wait_unasked(&mut chat.nvim, "a question with a diff", |nvim| holds(nvim, buf, &["mine", "of the disk"]));
    assert!(!chat.nvim.messages().contains("busy"));
}
