//! Files that are written slowly while a buffer holds them: what stands in the buffer, where the cursor is,
//! what undo brings back and what there is to review. The test is the writer, so it says when each step
//! happens; which text of a file is a whole one is tested as data in `core::changes::half_written`.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;
use std::time::Instant;

use serde_json::{Value, json};

use support::DEADLINE;
use support::script::{Scripted, ends, opened, prompt, says, update};

const BEFORE: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n";
const AFTER: &str = "one\ntwo\nTHREE\nfour\nfive\nsix\nseven\neight\nnine\n";

/// What the writer does to the file between two messages of the agent's.
type Step = fn(&mut Writer);

struct Writer {
    path: PathBuf,
    open: Option<File>,
}

impl Writer {
    fn open(&mut self) -> &mut File {
        let path = &self.path;
        self.open.get_or_insert_with(|| File::create(path).expect("the file"))
    }

    fn put(&mut self, from: usize, to: usize) {
        self.open().write_all(&AFTER.as_bytes()[from..to]).expect("room");
    }

    fn close(&mut self) {
        self.open = None;
    }

    fn aside(&self) -> PathBuf {
        self.path.with_extension("new")
    }
}

/// Each of them leads from `BEFORE` to `AFTER`.
fn habits() -> Vec<(&'static str, Vec<Step>)> {
    let end = |writer: &mut Writer| {
        writer.put(20, AFTER.len());
        writer.close();
    };
    vec![
        (
            "truncates, waits, writes pieces",
            vec![|writer: &mut Writer| _ = writer.open(), |writer| writer.put(0, 20), end],
        ),
        (
            "truncates and closes, then writes",
            vec![|writer: &mut Writer| fs::write(&writer.path, "").expect("the file"), |writer| {
                fs::write(&writer.path, AFTER).expect("the file")
            }],
        ),
        (
            "writes beside and renames",
            vec![
                |writer: &mut Writer| fs::write(writer.aside(), &AFTER[..20]).expect("a file"),
                |writer| fs::write(writer.aside(), AFTER).expect("a file"),
                |writer| fs::rename(writer.aside(), &writer.path).expect("the file"),
            ],
        ),
        (
            "deletes and creates",
            vec![
                |writer: &mut Writer| fs::remove_file(&writer.path).expect("the file"),
                |writer| _ = writer.open(),
                |writer| writer.put(0, 20),
                end,
            ],
        ),
        (
            "appends by opening it again and again",
            vec![|writer: &mut Writer| fs::write(&writer.path, &AFTER[..20]).expect("the file"), |writer| {
                let mut file = OpenOptions::new().append(true).open(&writer.path).expect("the file");
                file.write_all(&AFTER.as_bytes()[20..]).expect("room");
            }],
        ),
    ]
}

fn call(name: &str) -> Value {
    update(json!({ "sessionUpdate": "tool_call", "toolCallId": "edit", "title": "Edit", "kind": "edit",
        "status": "in_progress", "locations": [{ "path": format!("$PROJECT/{name}") }] }))
}

fn called(status: &str) -> Value {
    update(json!({ "sessionUpdate": "tool_call_update", "toolCallId": "edit", "status": status }))
}

/// An agent that speaks of its call before the first and after each of so many steps, each when it is told.
fn agent(name: &str, steps: usize) -> Vec<Value> {
    let mut all = opened();
    all.extend([prompt(), call(name), says("Step 0.\n\n")]);
    for step in 1..=steps {
        let again = if step == steps { called("completed") } else { called("in_progress") };
        all.extend([json!({ "cue": "$PROJECT/.agent/cue" }), again, says(&format!("Step {step}.\n\n"))]);
    }
    all.extend([json!({ "cue": "$PROJECT/.agent/cue" }), ends("end_turn")]);
    all
}

fn fifo(chat: &Scripted) -> File {
    let path = chat.project.file(".agent/cue");
    let name = CString::new(path.to_str().expect("a path in UTF-8")).expect("no NUL");
    // SAFETY: the name ends with a NUL.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    // For reading, too: so it opens before the agent does.
    OpenOptions::new().read(true).write(true).open(path).expect("the pipe")
}

/// Keeps every text that the buffer ever holds.
const KEEP_TEXTS: &str = r"
    _G.texts = {}
    vim.api.nvim_buf_attach(..., false, {
      on_lines = function(_, buf)
        vim.schedule(function()
          table.insert(_G.texts, table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), '\n') .. '\n')
        end)
      end,
      on_reload = function() table.insert(_G.texts, 'reloaded') end,
    })";

fn texts(chat: &mut Scripted) -> Vec<String> {
    let all = chat.nvim.exec_lua("return _G.texts", []);
    let all = all.as_array().into_iter().flatten();
    all.map(|text| text.as_str().expect("a text").to_owned()).collect()
}

/// The hunks that wait for a review, as the list of `:Acp review!` has them.
fn hunks(chat: &mut Scripted) -> Vec<String> {
    chat.nvim.command("Acp! review");
    chat.nvim.wait_until(
        |nvim| {
            nvim.exec_lua("return vim.fn.getqflist({ title = 1 }).title", []).as_str() == Some("acp: changes")
        },
        "the list of changes",
    );
    let lines = chat.nvim.exec_lua(
        "return vim.tbl_map(function(item)
           return ('%d-%d %s'):format(item.lnum, item.end_lnum, item.text)
         end, vim.fn.getqflist())",
        [],
    );
    let lines = lines.as_array().into_iter().flatten();
    lines.map(|line| line.as_str().expect("a text").to_owned()).collect()
}

/// Runs a turn in which the file is written so, and the agent knows of the first `told` steps. The user's command
/// comes after each of them.
fn check(habit: &str, name: &str, steps: &[Step], told: usize, command: &str) {
    let mut chat = Scripted::new(&[("a.txt", BEFORE)], agent(name, told));
    std::os::unix::fs::symlink("a.txt", chat.project.file("link.txt")).expect("a link");
    let mut cue = fifo(&chat);
    chat.nvim.command(&format!("edit {name} | normal! 6G2l"));
    let buf = chat.nvim.exec_lua("return vim.api.nvim_get_current_buf()", []).as_u64().expect("a number");
    let win = chat.nvim.exec_lua("return vim.api.nvim_get_current_win()", []);
    chat.nvim.exec_lua(KEEP_TEXTS, [buf.into()]);
    chat.chat();
    chat.send("go");
    chat.wait_for("Step 0.");
    let mut writer = Writer { path: chat.project.file("a.txt"), open: None };
    for (number, step) in steps[..told].iter().enumerate() {
        step(&mut writer);
        chat.nvim.command(command);
        writeln!(cue, "go on").expect("the agent reads");
        chat.wait_for(&format!("Step {}.", number + 1));
    }
    writeln!(cue, "go on").expect("the agent reads");
    if told < steps.len() {
        chat.wait_for("Done · ");
        for step in &steps[told..] {
            step(&mut writer);
            chat.nvim.command(command);
        }
    }
    chat.nvim.wait_until(|nvim| nvim.buffer_text(buf) + "\n" == AFTER, &format!("the new text ({habit})"));
    let kept = texts(&mut chat);
    assert!(kept.iter().all(|text| text == AFTER), "{habit}: {kept:#?}");
    let cursor = chat.nvim.exec_lua("return vim.api.nvim_win_get_cursor(...)", [win]);
    assert_eq!(cursor.to_string(), "[6, 2]", "{habit}");
    chat.wait_for("Done · ");
    // A file that was written beside, and is gone by then, is listed until that is known.
    let deadline = Instant::now() + DEADLINE;
    let mut changes = hunks(&mut chat);
    while changes.len() != 2 && Instant::now() < deadline {
        changes = hunks(&mut chat);
    }
    assert_eq!(changes.len(), 2, "{habit}: {changes:?}");
    assert!(changes[0].starts_with("3-3") && changes[1].starts_with("9-9"), "{habit}: {changes:?}");
    let undo = "local buf = ...
                vim.api.nvim_buf_call(buf, function() vim.cmd('silent undo') end)
                return table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), '\\n') .. '\\n'";
    assert_eq!(chat.nvim.exec_lua(undo, [buf.into()]).as_str(), Some(BEFORE), "{habit}");
}

#[test]
fn nothing_but_a_whole_text_ever_gets_into_a_buffer() {
    for (habit, steps) in habits() {
        check(habit, "a.txt", &steps, steps.len(), "");
    }
}

/// With 'autoread' on, as it is by default, Neovim takes what there is.
#[test]
fn a_look_of_neovims_own_takes_no_half_of_a_text() {
    for (habit, steps) in habits() {
        check(habit, "a.txt", &steps, steps.len(), "checktime a.txt");
    }
}

#[test]
fn an_agent_that_is_done_before_its_disk_is_waited_for() {
    // Of what is closed in between nobody could know that it is not all.
    for (habit, steps) in habits().into_iter().filter(|(habit, _)| !habit.starts_with("appends")) {
        check(habit, "a.txt", &steps, 1, "");
    }
}

#[test]
fn a_link_is_as_good_as_its_file() {
    let (habit, steps) = habits().swap_remove(0);
    check(habit, "link.txt", &steps, steps.len(), "");
}

/// By the time that anybody hears of the save, the file is another one.
#[test]
fn a_writer_that_begins_right_after_a_save_is_waited_for() {
    let mut chat = Scripted::new(&[("a.txt", BEFORE)], agent("a.txt", 2));
    let mut cue = fifo(&chat);
    chat.nvim.command("edit a.txt");
    let buf = chat.nvim.exec_lua("return vim.api.nvim_get_current_buf()", []).as_u64().expect("a number");
    let win = chat.nvim.exec_lua("return vim.api.nvim_get_current_win()", []);
    chat.chat();
    chat.send("go");
    chat.wait_for("Step 0.");
    chat.nvim.exec_lua(KEEP_TEXTS, [buf.into()]);
    chat.nvim.exec_lua(
        "vim.api.nvim_create_autocmd('BufWritePost', { once = true, callback = function(event)
           io.open(event.match, 'w'):close()
         end })
         vim.api.nvim_win_call(..., function() vim.cmd('silent write') end)",
        [win],
    );
    writeln!(cue, "go on").expect("the agent reads");
    chat.wait_for("Step 1.");
    chat.project.write("a.txt", AFTER);
    writeln!(cue, "go on\ngo on").expect("the agent reads");
    chat.nvim.wait_until(|nvim| nvim.buffer_text(buf) + "\n" == AFTER, "the new text");
    let kept = texts(&mut chat);
    assert!(kept.iter().all(|text| text == AFTER), "{kept:#?}");
    assert_eq!(hunks(&mut chat).len(), 2);
}

#[test]
fn a_file_that_is_really_emptied_is_shown_so_once_its_call_is_over() {
    let mut chat = Scripted::new(&[("a.txt", BEFORE)], agent("a.txt", 2));
    let mut cue = fifo(&chat);
    chat.nvim.command("edit a.txt");
    let buf = chat.nvim.exec_lua("return vim.api.nvim_get_current_buf()", []).as_u64().expect("a number");
    chat.chat();
    chat.send("go");
    chat.wait_for("Step 0.");
    chat.project.write("a.txt", "");
    writeln!(cue, "go on").expect("the agent reads");
    chat.wait_for("Step 1.");
    assert_eq!(chat.nvim.buffer_text(buf) + "\n", BEFORE);
    writeln!(cue, "go on\ngo on").expect("the agent reads");
    chat.nvim.wait_until(|nvim| nvim.buffer_text(buf).is_empty(), "the buffer to be empty");
    let modified = chat.nvim.exec_lua("return vim.bo[...].modified", [buf.into()]);
    assert_eq!(modified.as_bool(), Some(false), "it is what the disk holds");
}
