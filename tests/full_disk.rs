//! A disk without room: what stands on it is the old text or the new one, never a part, what buffers hold is
//! not lost, and agent and user are told why. Two kinds of it: a limit for the size of files, which every user
//! can set, and a small file system, for which one has to be root.

#![cfg(target_os = "linux")]

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use support::Nvim;
use support::script::{Scripted, asks, ends, opened, prompt, says};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Full {
    /// No file may grow over 100 KB.
    Limit,
    /// A file system of 64 KB.
    Disk,
}

const SKIPPED: &str = "skipped with a small file system, which only root can mount";

/// A small file system, gone when the test is over.
struct Mounted(PathBuf);

impl Mounted {
    fn at(path: PathBuf) -> Option<Self> {
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", "size=64k", "none"]).arg(&path).output();
        match mount {
            Ok(output) if output.status.success() => Some(Self(path)),
            _ => None,
        }
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg("-l").arg(&self.0).status();
        assert!(unmounted.is_ok_and(|status| status.success()), "couldn't unmount {}", self.0.display());
    }
}

/// Has no file of Neovim's grow over so many bytes.
fn limit(nvim: &mut Nvim, bytes: u64) {
    nvim.exec_lua(
        "local ffi = require('ffi')
         ffi.cdef [[
           void (*signal(int, void (*)(int)))(int);
           struct acp_rlimit { unsigned long soft, hard; };
           int setrlimit(int, const struct acp_rlimit *);
         ]]
         ffi.C.signal(25, ffi.cast('void (*)(int)', 1))
         assert(ffi.C.setrlimit(1, ffi.new('struct acp_rlimit', ..., -1)) == 0)",
        [bytes.into()],
    );
}

fn write(id: &str, path: &str, content: &str) -> Vec<Value> {
    let params = json!({ "path": format!("$PROJECT/{path}"), "content": content });
    vec![asks(id, "fs/write_text_file", params), json!({ "expect_reply": id, "to": id })]
}

fn turn(steps: Vec<Value>) -> Vec<Value> {
    [vec![prompt()], steps, vec![says("Well."), ends("end_turn")]].concat()
}

/// A Neovim whose project has a file in a folder without much room.
fn start(full: Full, old: &str, steps: Vec<Value>) -> Option<(Option<Mounted>, Scripted)> {
    let mut chat = Scripted::new(&[("small/.keep", "")], [opened(), steps].concat());
    let mounted = match full {
        Full::Limit => None,
        Full::Disk => Some(Mounted::at(chat.project.file("small"))?),
    };
    chat.project.write("small/a.txt", old);
    if full == Full::Limit {
        limit(&mut chat.nvim, 100_000);
    }
    Some((mounted, chat))
}

fn state(nvim: &mut Nvim, buf: u64) -> (usize, bool) {
    let text = nvim.buffer_text(buf);
    (
        text.len() + 1,
        nvim.exec_lua("return vim.bo[...].modified", [buf.into()]).as_bool().expect("true or false"),
    )
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("a file").file_name().into_string().expect("UTF-8"))
        .filter(|name| name != ".keep")
        .collect();
    names.sort();
    names
}

fn old() -> String {
    "old\n".repeat(5000)
}

fn new() -> String {
    "the new text\n".repeat(10_000)
}

#[test]
fn a_buffer_that_cannot_be_saved_leaves_the_old_text_on_the_disk() {
    let settings =
        ["", "nowritebackup", "backupcopy=yes", "backupcopy=no", "nowritebackup backupcopy=yes", "backup"];
    for full in [Full::Limit, Full::Disk] {
        for set in settings {
            let steps = turn(write("w", "small/a.txt", &new()));
            let Some((_mounted, mut chat)) = start(full, &old(), steps) else {
                println!("{SKIPPED}");
                break;
            };
            chat.nvim.command(&format!("set backupskip= {set}"));
            let is_brim = full == Full::Disk && set == "backupcopy=yes";
            if is_brim {
                // Not even a backup fits.
                let _ = fs::write(chat.project.file("small/filler"), "x".repeat(64 << 10));
            }
            chat.nvim.command("edit small/a.txt");
            let buf = chat.nvim.exec_lua("return vim.api.nvim_get_current_buf()", []).as_u64().expect("one");
            chat.chat();
            chat.send("go");
            let error = chat.answer("w")["error"]["message"].to_string();
            assert_eq!(chat.project.read("small/a.txt"), old(), "{full:?} {set}: {error}");
            assert_eq!(state(&mut chat.nvim, buf), (new().len(), true), "{full:?} {set}");
            assert!(error.contains("the change is in Neovim's buffer"), "{error}");
            assert!(error.contains("no space is left") || error.contains("larger than"), "{error}");
            chat.wait_for(":write it");
            let expected = if is_brim { vec!["a.txt", "filler"] } else { vec!["a.txt"] };
            assert_eq!(names(&chat.project.file("small")), expected, "{full:?} {set}");
        }
    }
}

#[test]
fn a_file_without_a_buffer_stays_as_it_is() {
    for full in [Full::Limit, Full::Disk] {
        let steps = turn([write("w", "small/a.txt", &new()), write("n", "small/new.txt", &new())].concat());
        let Some((_mounted, mut chat)) = start(full, &old(), steps) else {
            println!("{SKIPPED}");
            break;
        };
        chat.chat();
        chat.send("go");
        for id in ["w", "n"] {
            let error = chat.answer(id)["error"]["message"].to_string();
            assert!(error.contains("no space is left") || error.contains("larger than"), "{error}");
        }
        assert_eq!(chat.project.read("small/a.txt"), old());
        assert_eq!(names(&chat.project.file("small")), ["a.txt"]);
    }
}

#[test]
fn an_undo_that_cannot_be_saved_leaves_the_agents_text_on_the_disk() {
    for opened in [true, false] {
        let steps = turn(write("w", "small/a.txt", "small\n"));
        let Some((_mounted, mut chat)) = start(Full::Disk, &old(), steps) else {
            println!("{SKIPPED}");
            break;
        };
        if opened {
            chat.nvim.command("edit small/a.txt");
        }
        chat.chat();
        chat.nvim.listen();
        chat.send("go");
        chat.wait_for("Done · ");
        assert_eq!(chat.project.read("small/a.txt"), "small\n");
        // All the room that is left, whatever the writes need beside.
        let _ = fs::write(chat.project.file("small/filler"), "x".repeat(64 << 10));
        chat.nvim.exec_lua("vim.ui.select = function(items, _, choose) choose(items[1], 1) end", []);
        chat.nvim.command("Acp undo! all");
        chat.nvim.wait_until(
            |nvim| {
                let said = nvim.exec_lua("return table.concat(_G.said, '\\n')", []).to_string();
                said.contains("no space is left")
            },
            "to be told why",
        );
        assert_eq!(chat.project.read("small/a.txt"), "small\n", "opened: {opened}");
        assert_eq!(names(&chat.project.file("small")), ["a.txt", "filler"]);
    }
}
