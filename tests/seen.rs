//! Changes that agents make without the editor's help, by real commands in real terminals: each is a hunk that can be
//! judged, and counts once. What others change meanwhile is no agent's.
//!
//! To write such a test: `turn_that_runs(&[".."])` is a turn in which the agent runs shell lines in the project's
//! folder, `Ran` is a Neovim whose agent has played such turns, `review()` is the page of hunks once it holds a text.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use support::script::{
    Scripted, awaits, ends, prompt, runs_alone, says, steps, turn_that_runs, update, writes,
};

/// A Neovim in a project, and an agent that plays these turns.
struct Ran {
    chat: Scripted,
    turns: usize,
}

impl Ran {
    fn new(files: &[(&str, &str)], turns: &[Vec<Value>]) -> Self {
        let chat = Scripted::new(files, steps(turns.concat()));
        Self { chat, turns: 0 }
    }

    /// Opens a file in the window beside the chat, if there is a chat.
    fn edit(&mut self, name: &str) {
        self.chat.nvim.command(&format!("edit {name}"));
    }

    fn open_chat(&mut self) {
        self.chat.chat();
        self.chat.nvim.stop_insert();
        self.chat.nvim.command("wincmd h");
    }

    /// Has the agent play its next turn, and waits for the end.
    fn turn(&mut self) {
        self.chat.nvim.command("AcpChat");
        self.chat.nvim.command("startinsert");
        self.chat.send("Go on");
        self.turns += 1;
        let done = "local chat = require('acp').status().sessions[1]
                    local text = table.concat(vim.api.nvim_buf_get_lines(chat.buffer, 0, -1, false), '\\n')
                    return select(2, text:gsub('Done', ''))";
        let turns = self.turns as u64;
        self.chat.nvim.wait_until(|nvim| nvim.exec_lua(done, []).as_u64() >= Some(turns), "the turn to end");
        self.chat.nvim.stop_insert();
        self.chat.nvim.command("wincmd h");
    }

    /// Runs a command as another program of the user's would.
    fn outside(&self, program: &str, args: &[&str]) {
        let status = Command::new(program).args(args).current_dir(self.chat.project.path()).status();
        assert!(status.expect("the program to start").success(), "{program} {args:?}");
    }

    /// The review's lines below its head, once one of them holds a text.
    #[track_caller]
    fn review(&mut self, text: &str) -> String {
        let lines = "vim.cmd('silent! Acp review')
                     local page = vim.fn.bufnr('acp://review')
                     if page < 0 then return '' end
                     local lines = table.concat(vim.api.nvim_buf_get_lines(page, 3, -1, false), '\\n')
                     vim.api.nvim_buf_delete(page, { force = true })
                     return lines";
        let mut found = String::new();
        self.chat.nvim.wait_until(
            |nvim| {
                found = nvim.exec_lua(lines, []).as_str().unwrap_or_default().to_owned();
                found.contains(text)
            },
            &format!("the review to hold {text:?}"),
        );
        found
    }

    /// Waits until `:Acp changes` lists this. Pickers are caught from then on: where nothing is known yet, one comes later.
    #[track_caller]
    fn wait_for_changes(&mut self, all: &str) {
        let listed = "local found = {}
                      vim.ui.select = function(items) found = items end
                      vim.cmd('Acp changes')
                      return table.concat(found, '\\n')";
        let is_listed = |nvim: &mut support::Nvim| nvim.exec_lua(listed, []).as_str() == Some(all);
        self.chat.nvim.wait_until(is_listed, &format!("the changes to be {all:?}"));
    }

    #[track_caller]
    fn wait_for_file(&mut self, name: &str, text: &str) {
        let project = &self.chat.project;
        let read = || std::fs::read_to_string(project.file(name)).is_ok_and(|now| now == text);
        self.chat.nvim.wait_until(|_| read(), &format!("{name} to hold {text:?}"));
    }
}

/// A turn in which the agent runs a shell line that no call of its tells of.
fn turn_of_no_call(line: &str) -> Vec<Value> {
    let ran = [says("Ran."), ends("end_turn")];
    std::iter::once(prompt()).chain(runs_alone("t", line)).chain(ran).collect()
}

const LINES: &str = "one\ntwo\nthree\nfour\nfive\n";

#[test]
fn what_others_change_between_two_turns_is_no_agents() {
    let mut first = vec![prompt()];
    first.extend(writes("a.txt", "one\nTWO\nthree\nfour\nfive\n"));
    first.extend([says("Changed."), ends("end_turn")]);
    let second = vec![prompt(), says("Heard."), ends("end_turn")];
    let mut ran = Ran::new(&[("a.txt", LINES)], &[first, second]);
    ran.edit("a.txt");
    ran.open_chat();
    ran.turn();
    ran.outside("sed", &["-i", "s/four/4/", "a.txt"]);
    ran.chat.nvim.wait_until(|nvim| nvim.buffer_text(0).contains('4'), "the buffer to take the text");
    assert_eq!(ran.review("TWO").lines().count(), 4, "one hunk: a file, a head, two lines");
    ran.chat.nvim.command("Acp undo! all");
    ran.wait_for_file("a.txt", "one\ntwo\nthree\n4\nfive\n");
    ran.turn();
    let told = ran.chat.got("session/prompt")["params"]["prompt"].to_string();
    assert!(told.contains("TWO") && !told.contains('4'), "{told}");
}

#[test]
fn what_a_command_changes_is_a_hunk_of_its_call() {
    let mut ran = Ran::new(&[("a.txt", LINES)], &[turn_that_runs(&["sed -i s/two/TWO/ a.txt"])]);
    ran.open_chat();
    ran.turn();
    assert_eq!(
        ran.review("TWO"),
        "a.txt  1 hunk · +1 -1\n  @@ 2  Fake: run sed -i s/two/TWO/ a.txt\n  - two\n  + TWO"
    );
    ran.chat.nvim.command("Acp undo! all");
    ran.wait_for_file("a.txt", LINES);
}

#[test]
fn what_a_command_changes_in_a_buffers_file_is_a_hunk_in_the_buffer() {
    let mut ran = Ran::new(&[("a.txt", LINES)], &[turn_that_runs(&["sed -i s/two/TWO/ a.txt"])]);
    ran.edit("a.txt");
    ran.open_chat();
    ran.turn();
    ran.chat.nvim.wait_for_screen("- two");
    assert_eq!(
        ran.review("TWO"),
        "a.txt  1 hunk · +1 -1\n  @@ 2  Fake: run sed -i s/two/TWO/ a.txt\n  - two\n  + TWO"
    );
    ran.chat.nvim.command("Acp undo! all");
    ran.wait_for_file("a.txt", LINES);
}

#[test]
fn what_a_command_changes_below_unsaved_edits_is_a_hunk_beside_them() {
    let mut ran = Ran::new(&[("a.txt", LINES)], &[turn_that_runs(&["sed -i s/two/TWO/ a.txt"])]);
    ran.edit("a.txt");
    ran.chat.nvim.input("Gomine<Esc>");
    ran.open_chat();
    ran.turn();
    ran.chat.nvim.wait_for_screen("- two");
    let review = ran.review("TWO");
    assert_eq!(review.lines().count(), 4, "{review}");
    ran.chat.nvim.command("Acp undo! all");
    assert_eq!(ran.chat.nvim.buffer_text(0), "one\ntwo\nthree\nfour\nfive\nmine");
    assert_eq!(ran.chat.project.read("a.txt"), LINES.replace("two", "TWO"), "unsaved edits stay unsaved");
}

/// What the user does in Neovim while a command of the agent's runs: a name for it, and the keys.
const USERS: &[(&str, &str)] = &[
    ("an edit that is saved", ":edit b.txt | 2s/two/mine/ | write<CR>"),
    ("an edit that is saved by :wall", ":edit b.txt | 2s/two/mine/ | wall<CR>"),
    ("a new file", ":edit new.txt | call setline(1, 'mine') | write<CR>"),
    (":saveas", ":edit b.txt | saveas new.txt<CR>"),
    (":write to another name", ":edit b.txt | write new.txt<CR>"),
    (":write of some lines to another name", ":edit b.txt | 2,3write new.txt<CR>"),
    (":write that appends", ":edit a.txt | 1,2write >> b.txt<CR>"),
    ("writefile()", ":call writefile(['mine'], 'new.txt')<CR>"),
    ("delete()", ":call delete('b.txt')<CR>"),
    ("rename()", ":call rename('b.txt', 'new.txt')<CR>"),
    (":!", ":!rm b.txt<CR><CR>"),
    (":! that takes a while", ":!sleep 1; rm b.txt<CR><CR>"),
    ("system()", ":call system('echo mine > new.txt')<CR>"),
    (":lua", ":lua os.remove('b.txt')<CR>"),
    ("a key of a file explorer's", ":new explorer<CR>x"),
    ("a key of a file explorer's that asks", ":new explorer<CR>Xy<CR>"),
];

/// No system's clock of files goes on by more.
const STEP: Duration = Duration::from_millis(20);

/// A file explorer, as plugins make them.
const EXPLORER: &str =
    "vim.api.nvim_create_autocmd('BufNewFile', { pattern = 'explorer', callback = function(event)
    vim.bo.buftype = 'nofile'
    vim.keymap.set('n', 'x', function() os.remove('b.txt') end, { buffer = event.buf })
    vim.keymap.set('n', 'X', function()
      if vim.fn.input('Delete? ') == 'y' then os.remove('b.txt') end
    end, { buffer = event.buf })
  end })";

#[test]
fn what_the_user_does_while_a_command_runs_is_no_agents() {
    let mut wrong = String::new();
    for (what, keys) in USERS {
        let line = "sed -i s/two/TWO/ a.txt; read go < .agent/gate";
        let mut ran = Ran::new(&[("a.txt", LINES), ("b.txt", LINES)], &[turn_that_runs(&[line])]);
        let gate = ran.chat.project.file(".agent/gate");
        ran.outside("mkfifo", &[".agent/gate"]);
        ran.chat.nvim.exec_lua(EXPLORER, []);
        ran.open_chat();
        ran.chat.nvim.command("AcpChat");
        ran.chat.nvim.command("startinsert");
        ran.chat.send("Go on");
        ran.wait_for_file("a.txt", &LINES.replace("two", "TWO"));
        let changed = std::fs::metadata(ran.chat.project.file("a.txt")).expect("a file");
        let changed = changed.modified().expect("a time");
        ran.chat.nvim.stop_insert();
        ran.chat.nvim.command("wincmd h");
        // The clock of files goes on by steps: what comes in one step has one time.
        let is_later = || changed.elapsed().is_ok_and(|ago| ago > STEP);
        ran.chat.nvim.wait_until(|_| is_later(), "the clock to go on");
        ran.chat.nvim.input(keys);
        let (b, new) = (ran.chat.project.file("b.txt"), ran.chat.project.file("new.txt"));
        let is_done = || new.exists() || std::fs::read_to_string(&b).map_or(true, |now| now != LINES);
        ran.chat.nvim.wait_until(|_| is_done(), what);
        std::fs::write(gate, "go\n").expect("the command waits");
        ran.chat.nvim.wait_for_screen("Done");
        let page = ran.review("TWO");
        if page.contains("b.txt") || page.contains("new.txt") {
            wrong += &format!("== {what}\n{page}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn what_a_command_changes_after_a_restart_is_a_hunk_too() {
    let turn = turn_of_no_call("echo six >> a.txt; echo new >> b.txt");
    let mut ran = Ran::new(&[("a.txt", LINES)], &[turn]);
    ran.open_chat();
    ran.turn();
    ran.chat.nvim.wait_for_screen("changed 2 files");
    ran.chat.nvim.command("Acp keep! all");
    ran.chat.nvim.command("Acp restart");
    let idle = "return require('acp').status().sessions[1].state";
    ran.chat.nvim.wait_until(|nvim| nvim.exec_lua(idle, []).as_str() == Some("idle"), "a session");
    ran.turn();
    assert_eq!(ran.review("six").matches("@@").count(), 2);
}

/// Two sessions with one agent, each with a call under way when a file changes; then the turns end.
#[test]
fn what_one_of_two_sessions_has_changed_is_a_hunk_of_either() {
    let of = |session: &str, update: Value| json!({ "send": { "method": "session/update", "params": { "sessionId": session, "update": update } } });
    let begins = |session: &str, call: &str| {
        of(
            session,
            json!({ "sessionUpdate": "tool_call", "toolCallId": call, "title": format!("run {call}"),
            "kind": "execute", "status": "in_progress" }),
        )
    };
    let ends = |session: &str, call: &str, prompt: &str| {
        let over = json!({ "sessionUpdate": "tool_call_update", "toolCallId": call, "status": "completed" });
        let text =
            json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": "Ran." } });
        [
            of(session, over),
            of(session, text),
            json!({ "reply": prompt, "result": { "stopReason": "end_turn" } }),
        ]
    };
    let mut turn = vec![
        json!({ "expect": "session/new" }),
        json!({ "reply": "session/new", "result": { "sessionId": "s2" } }),
        json!({ "expect": "session/prompt", "as": "one" }),
        json!({ "expect": "session/prompt", "as": "two" }),
        begins("s1", "this"),
        begins("s2", "that"),
    ];
    // When this is answered, both calls have been heard of.
    turn.extend(awaits("r", "fs/read_text_file", json!({ "path": "$PROJECT/b.txt" })));
    turn.push(json!({ "run": ["sh", "-ec", "cd $PROJECT; sed -i s/two/TWO/ a.txt; echo new > c.txt"] }));
    turn.extend(ends("s1", "this", "one"));
    turn.extend(ends("s2", "that", "two"));
    let mut ran = Ran::new(&[("a.txt", LINES), ("b.txt", LINES)], &[turn]);
    ran.edit("a.txt");
    ran.open_chat();
    let state = |number: usize| {
        format!(
            "local session = require('acp').status().sessions[{number}]; return session and session.state"
        )
    };
    let is = |ran: &mut Ran, number: usize, wanted: &str| {
        let state = state(number);
        let wait = |nvim: &mut support::Nvim| nvim.exec_lua(&state, []).as_str() == Some(wanted);
        ran.chat.nvim.wait_until(wait, &format!("session {number} to be {wanted}"));
    };
    ran.chat.nvim.command("AcpChat!");
    is(&mut ran, 2, "idle");
    is(&mut ran, 1, "idle");
    for session in [1, 2] {
        let send = "require('acp').send('Go on', { session = ... })";
        ran.chat.nvim.exec_lua(send, [session.into()]);
    }
    ran.chat.wait_for("Ran.");
    is(&mut ran, 1, "idle");
    is(&mut ran, 2, "idle");
    ran.review("new");
    assert_eq!(
        ran.review("TWO"),
        "a.txt  1 hunk · +1 -1\n  @@ 2  Fake: run this or run that\n  - two\n  + TWO\n\
         c.txt  1 hunk · +1 -0 · new file\n  @@ 1  Fake: run this or run that\n  + new"
    );
    ran.chat.nvim.command("Acp undo! all");
    ran.wait_for_file("a.txt", LINES);
}

#[test]
fn a_command_of_no_call_has_a_line_in_the_chat_as_a_call_has() {
    let line = "sed -i s/two/TWO/ a.txt; rm b.txt; mv c.txt d.txt; echo new > e.txt; exit 3";
    let files = [("a.txt", LINES), ("b.txt", LINES), ("c.txt", "c\n")];
    for open in [&[][..], &["a.txt", "b.txt", "c.txt", "d.txt", "e.txt"]] {
        let mut ran = Ran::new(&files, &[turn_of_no_call(line)]);
        open.iter().for_each(|name| ran.edit(name));
        ran.open_chat();
        ran.turn();
        ran.chat.nvim.command("AcpChat");
        ran.chat.nvim.command("wincmd |");
        ran.chat.nvim.wait_for_screen("changed 4 files · exit 3");
        ran.chat.nvim.wait_for_screen("✗ run sh -c 'sed -i s/two/TWO/ a.tx");
        let shown = ran.chat.nvim.screen();
        assert!(!shown.contains("on the disk"), "{shown}");
        assert!(ran.review("TWO").contains("@@ 2  Fake: run sh -c 'sed -i s/two/TWO/ a.txt; rm"));
    }
}

#[test]
fn what_an_agent_changes_without_a_call_that_says_so_has_a_line_in_the_chat() {
    let call = |status: &str| {
        json!({ "send": { "method": "session/update", "params": { "sessionId": "s1", "update": {
            "sessionUpdate": "tool_call", "toolCallId": "c", "title": "Look", "kind": "read", "status": status } } } })
    };
    let table = [
        ("sed -i s/two/TWO/ a.txt; rm e.txt", &["wrote a.txt", "deleted e.txt"][..]),
        ("echo new > b.txt; mv c.txt d.txt", &["created b.txt", "renamed c.txt to d.txt"]),
    ];
    let files = [("a.txt", LINES), ("c.txt", "c\n"), ("e.txt", "one\ntwo\n")];
    for (line, told) in table {
        let run = json!({ "run": ["sh", "-ec", format!("cd $PROJECT; {line}")] });
        let turn = [prompt(), call("in_progress"), run, call("completed"), says("Ran."), ends("end_turn")];
        for open in [&[][..], &["b.txt", "d.txt", "c.txt", "a.txt"]] {
            let mut ran = Ran::new(&files, &[turn.to_vec()]);
            open.iter().for_each(|name| ran.edit(name));
            ran.open_chat();
            ran.turn();
            told.iter().for_each(|told| ran.chat.wait_for(&format!("{told} on the disk")));
            let shown = ran.chat.nvim.screen();
            assert!(!shown.contains("times") && !shown.contains("deleted c.txt"), "{shown}");
        }
    }
}

#[test]
fn a_review_that_has_the_screen_alone_gives_way_to_the_file() {
    let mut ran = Ran::new(&[("a.txt", LINES)], &[turn_that_runs(&["sed -i s/two/TWO/ a.txt"])]);
    ran.edit("a.txt");
    ran.open_chat();
    ran.turn();
    ran.review("TWO");
    ran.chat.nvim.command("Acp review");
    ran.chat.nvim.command("only");
    ran.chat.nvim.input("q");
    let shown = |nvim: &mut support::Nvim| nvim.exec_lua("return vim.fn.expand('%:t')", []) == "a.txt".into();
    ran.chat.nvim.wait_until(shown, "the file to take the review's place");
}

#[test]
fn of_many_files_that_were_taken_back_nothing_is_left_to_decide() {
    let command = "for i in 1 2 3 4 5 6 7 8; do for j in 1 2 3 4 5 6 7 8; do echo x > g$i$j.txt; done; done";
    let mut ran = Ran::new(&[("a.txt", LINES)], &[turn_that_runs(&[command])]);
    ran.open_chat();
    ran.turn();
    ran.review("g88.txt");
    ran.chat.nvim.exec_lua("vim.ui.select = function(items, _, choose) choose(items[1], 1) end", []);
    ran.chat.nvim.command("Acp checkpoints");
    ran.chat.nvim.wait_for_screen("g11.txt");
    ran.chat.nvim.input("gX");
    let last = ran.chat.project.file("g88.txt");
    ran.chat.nvim.wait_until(|_| !last.exists(), "the files to be taken back");
    ran.chat.nvim.command("Acp review");
    // On the page, or in a message if all of it is known already.
    ran.chat.nvim.wait_for_screen("othing is left to decide");
}

#[test]
fn made_removed_and_renamed_files_are_listed_and_brought_back() {
    let commands = ["printf 'x\\ny\\n' > new.txt", "rm gone.txt", "mv old.txt moved.txt", "touch empty.txt"];
    let files = [("a.txt", LINES), ("gone.txt", "g\n"), ("old.txt", "first\nsecond\n")];
    let mut ran = Ran::new(&files, &[turn_that_runs(&commands)]);
    ran.edit("a.txt");
    ran.open_chat();
    ran.turn();
    let review = ran.review("empty.txt");
    let heads: Vec<&str> = review.lines().filter(|line| !line.starts_with("  ")).collect();
    insta::assert_snapshot!(heads.join("\n"), @r"
    empty.txt  empty · new file  Fake: run touch empty.txt
    gone.txt  1 hunk · +0 -1 · deleted
    old.txt → moved.txt  renamed  Fake: run mv old.txt moved.txt
    new.txt  1 hunk · +2 -0 · new file
    ");
    assert!(!review.lines().any(|line| line == "  - "), "no line of a file that was not there: {review}");
    ran.chat.nvim.command("Acp undo! all");
    ran.wait_for_file("gone.txt", "g\n");
    ran.wait_for_file("old.txt", "first\nsecond\n");
    for name in ["new.txt", "moved.txt", "empty.txt"] {
        let path = ran.chat.project.file(name);
        ran.chat.nvim.wait_until(|_| !path.exists(), &format!("{name} to go"));
    }
}

#[test]
fn a_new_file_that_is_undone_leaves_no_buffer() {
    let mut ran = Ran::new(&[("a.txt", LINES)], &[turn_that_runs(&["printf 'x\\ny\\n' > new.txt"])]);
    ran.edit("a.txt");
    ran.open_chat();
    ran.turn();
    ran.review("new.txt");
    ran.edit("new.txt");
    ran.chat.nvim.command("Acp undo file");
    let path = ran.chat.project.file("new.txt");
    ran.chat.nvim.wait_until(|_| !path.exists(), "the file to go");
    ran.chat.nvim.wait_until(
        |nvim| nvim.exec_lua("return vim.fn.bufloaded('new.txt')", []) == 0.into(),
        "its buffer to go",
    );
}

#[test]
fn a_file_of_which_nobody_knows_the_text_is_listed_with_the_reason() {
    let mut ran = Ran::new(&[("a.txt", LINES)], &[turn_that_runs(&["printf '\\000\\001' > pic.bin"])]);
    ran.open_chat();
    ran.turn();
    let review = ran.review("pic.bin");
    assert!(review.contains("pic.bin  new file · no hunks: "), "{review}");
    assert_eq!(review.lines().count(), 1);
}

#[test]
fn other_permissions_alone_are_listed_and_undone() {
    use std::os::unix::fs::PermissionsExt as _;
    let mut ran = Ran::new(&[("a.sh", LINES)], &[turn_that_runs(&["chmod 755 a.sh"])]);
    let path = ran.chat.project.file("a.sh");
    let mode = move || std::fs::metadata(&path).map(|file| file.permissions().mode() & 0o777).ok();
    let before = mode();
    ran.open_chat();
    ran.turn();
    assert_eq!(mode(), Some(0o755));
    assert_eq!(
        ran.review("a.sh"),
        "a.sh  changed · no hunks: its permissions changed  Fake: run chmod 755 a.sh"
    );
    ran.chat.nvim.command("Acp undo! all");
    ran.chat.nvim.wait_until(|_| mode() == before, "the permissions to be back");
}

#[test]
fn a_command_that_removes_ignored_files_is_listed_since_nobody_knows_which() {
    let call = json!({ "sessionUpdate": "tool_call", "toolCallId": "c", "title": "clean", "kind": "execute",
        "status": "completed", "rawInput": { "command": "git clean -fdx" } });
    let turn = [support::script::prompt(), support::script::update(call), support::script::ends("end_turn")];
    let mut chat = Scripted::new(&[("a.txt", LINES)], support::script::steps(turn));
    chat.chat();
    chat.send("go");
    chat.wait_for("Done");
    chat.nvim.stop_insert();
    chat.nvim.command("Acp changes quickfix");
    let shown = chat.nvim.buffer_text(0);
    assert_eq!(shown, "|| `git clean -fdx`: which ignored files it removed is not known");
}

#[test]
fn changes_are_listed_as_the_review_has_them_and_what_was_undone_is_said_to_be() {
    let command = "sed -i -e s/two/TWO/ -e s/five/5/ a.txt; sed -i 1d b.txt; rm c.txt; echo new > d.txt";
    let files = [("a.txt", LINES), ("b.txt", LINES), ("c.txt", "c\n")];
    for open in [&[][..], &["c.txt", "b.txt", "a.txt"]] {
        let mut ran = Ran::new(&files, &[turn_that_runs(&[command])]);
        open.iter().for_each(|name| ran.edit(name));
        ran.open_chat();
        ran.turn();
        for head in ["a.txt  2 hunks · +2 -2\n", "b.txt  1 hunk · +0 -1\n"] {
            ran.review(head);
        }
        ran.wait_for_changes(
            "a.txt 2 hunks · +2 -2\nb.txt 1 hunk · +0 -1\nc.txt 1 hunk · +0 -1 · deleted\nd.txt 1 hunk · +1 -0 · new file",
        );
        ran.edit("a.txt");
        ran.chat.nvim.command("2Acp keep");
        ran.wait_for_changes(
            "a.txt 1 hunk · +1 -1\nb.txt 1 hunk · +0 -1\nc.txt 1 hunk · +0 -1 · deleted\nd.txt 1 hunk · +1 -0 · new file",
        );
        ran.chat.nvim.command("Acp undo! all");
        ran.wait_for_changes("a.txt kept\nb.txt undone\nc.txt undone\nd.txt undone");
    }
}

#[test]
fn what_others_change_between_two_turns_is_listed_as_such() {
    let turns = [turn_that_runs(&["sed -i s/two/TWO/ a.txt"])];
    let mut ran = Ran::new(&[("a.txt", LINES), ("b.txt", LINES)], &turns);
    ran.open_chat();
    ran.turn();
    ran.outside("sed", &["-i", "s/four/4/", "a.txt", "b.txt"]);
    let all = "a.txt 1 hunk · +1 -1\na.txt +1 -1, changed from outside\nb.txt +1 -1, changed from outside";
    ran.wait_for_changes(all);
    assert_eq!(ran.review("TWO").lines().count(), 4, "one hunk, and no other file");
    ran.chat.nvim.command("Acp undo! all");
    ran.wait_for_file("a.txt", "one\ntwo\nthree\n4\nfive\n");
    assert_eq!(ran.chat.project.read("b.txt"), LINES.replace("four", "4"));
}

#[test]
fn a_list_of_changes_names_the_agent_only_where_it_has_changed_something() {
    let mut ran =
        Ran::new(&[("a.txt", LINES), ("b.txt", LINES)], &[turn_that_runs(&["sed -i s/two/TWO/ a.txt"])]);
    let title = |ran: &mut Ran| {
        ran.chat.nvim.command("Acp changes quickfix");
        let title = ran.chat.nvim.exec_lua("return vim.fn.getqflist({ title = true }).title", []);
        ran.chat.nvim.command("cclose");
        title.as_str().expect("a title").to_owned()
    };
    ran.open_chat();
    ran.outside("sed", &["-i", "s/four/4/", "b.txt"]);
    ran.wait_for_changes("b.txt +1 -1, changed from outside");
    assert_eq!(title(&mut ran), "Changed from outside");
    ran.turn();
    ran.wait_for_changes("a.txt 1 hunk · +1 -1\nb.txt +1 -1, changed from outside");
    assert_eq!(title(&mut ran), "Changed by Fake and from outside");
}

#[test]
fn what_is_undecided_of_a_closed_chat_is_listed_without_one_and_in_the_next_one() {
    let mut ran = Ran::new(
        &[("a.txt", LINES), ("b.txt", LINES)],
        &[turn_that_runs(&["sed -i s/two/TWO/ a.txt b.txt"])],
    );
    ran.open_chat();
    ran.turn();
    ran.wait_for_changes("a.txt 1 hunk · +1 -1\nb.txt 1 hunk · +1 -1");
    ran.chat.nvim.command("Acp close");
    let left = "a.txt 1 hunk · +1 -1, undecided from before\nb.txt 1 hunk · +1 -1, undecided from before";
    ran.wait_for_changes(left);
    ran.edit("b.txt");
    ran.chat.nvim.command("Acp keep file");
    ran.wait_for_changes("a.txt 1 hunk · +1 -1, undecided from before");
    ran.open_chat();
    ran.wait_for_changes("a.txt 1 hunk · +1 -1, undecided from before");
}

/// Each runs in the project while no call of an agent does.
const OUTSIDE: &[(&str, &str)] = &[
    ("git checkout of a branch", "git checkout -q other"),
    ("git checkout of a file", "git checkout -q other -- b.txt"),
    ("a program that syncs", "cp b.txt .b.txt.Xa3f && sed -i s/four/4/ .b.txt.Xa3f && mv .b.txt.Xa3f b.txt"),
];

#[test]
fn what_git_and_syncing_change_outside_of_a_call_is_listed_as_such() {
    for (what, line) in OUTSIDE {
        let mut ran =
            Ran::new(&[("a.txt", LINES), ("b.txt", LINES)], &[turn_that_runs(&["sed -i s/two/TWO/ a.txt"])]);
        let prepare = format!(
            "{GIT} && git checkout -qb other && sed -i s/four/4/ b.txt && git commit -qam second && git checkout -q -"
        );
        ran.outside("sh", &["-c", &prepare]);
        ran.open_chat();
        ran.turn();
        ran.outside("sh", &["-c", line]);
        ran.wait_for_changes("a.txt 1 hunk · +1 -1\nb.txt +1 -1, changed from outside");
        assert_eq!(ran.review("TWO").lines().count(), 4, "{what}");
        ran.chat.nvim.command("Acp undo! all");
        ran.wait_for_file("a.txt", LINES);
        assert_eq!(ran.chat.project.read("b.txt"), LINES.replace("four", "4"), "{what}");
    }
}

#[test]
fn a_line_that_a_command_wrote_is_blamed_on_its_call() {
    let turns = [
        turn_that_runs(&["sed -i s/two/TWO/ a.txt"]),
        turn_that_runs(&["echo six >> a.txt", "sed -i s/three/3/ b.txt"]),
    ];
    let mut ran = Ran::new(&[("a.txt", LINES), ("b.txt", LINES)], &turns);
    ran.edit("a.txt");
    ran.open_chat();
    for text in ["TWO", "six"] {
        ran.turn();
        ran.chat.nvim.wait_until(|nvim| nvim.buffer_text(0).contains(text), "the buffer to take the text");
    }
    for (file, line, said) in [
        ("a.txt", 2, ["Fake · turn 1", "run sed -i s/two/TWO/ a.txt", "asked: Go on"]),
        ("a.txt", 6, ["Fake · turn 2", "run echo six >> a.txt", "asked: Go on"]),
        // No buffer had it then.
        ("b.txt", 3, ["Fake · turn 2", "run sed -i s/three/3/ b.txt", "asked: Go on"]),
    ] {
        ran.edit(file);
        // Whose it was may be found out a moment later.
        ran.chat.nvim.wait_until(|nvim| has_hunk_in(nvim, line), "the line to be an agent's");
        ran.chat.nvim.command(&line.to_string());
        ran.chat.nvim.command("Acp blame");
        // The chat beside it names the calls, too.
        let wait = |nvim: &mut support::Nvim| {
            let note = nvim.exec_lua(FLOATING, []);
            said.iter().all(|part| note.as_str().is_some_and(|note| note.contains(part)))
        };
        ran.chat.nvim.wait_until(wait, &format!("{said:?} beside line {line} of {file}"));
    }
    ran.edit("a.txt");
    ran.chat.nvim.command("4");
    ran.chat.nvim.command("Acp blame");
    ran.chat.nvim.wait_for_screen("no agent wrote this line");
}

/// Whether a line of the buffer has a mark of the review.
fn has_hunk_in(nvim: &mut support::Nvim, line: u64) -> bool {
    let code = "local ns, row = vim.api.nvim_get_namespaces()['acp.review'], ... - 1
        return ns ~= nil and #vim.api.nvim_buf_get_extmarks(0, ns, { row, 0 }, { row, -1 }, { overlap = true }) > 0";
    nvim.exec_lua(code, [line.into()]) == true.into()
}

/// The text of all floating windows.
const FLOATING: &str = "local text = {}
    for _, win in ipairs(vim.api.nvim_list_wins()) do
      if vim.api.nvim_win_get_config(win).relative ~= '' then
        vim.list_extend(text, vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(win), 0, -1, false))
      end
    end
    return table.concat(text, '\\n')";

#[test]
fn each_file_that_a_command_changes_is_told_of_with_what_became_of_it() {
    let line = "echo six >> a.txt; rm b.txt; mv c.txt d.txt; echo new > e.txt";
    let files = [("a.txt", LINES), ("b.txt", "b\n"), ("c.txt", "c1\nc2\nc3\n"), ("f.txt", "f\n")];
    let mut ran = Ran::new(&files, &[turn_that_runs(&[line])]);
    ran.chat.nvim.exec_lua(
        "_G.told = {}
         vim.api.nvim_create_autocmd('User', { pattern = 'AcpFileChanged', callback = function(event)
           table.insert(_G.told, event.data)
         end })",
        [],
    );
    ran.edit("a.txt");
    ran.open_chat();
    ran.turn();
    ran.outside("sh", &["-c", "echo g >> f.txt"]);
    ran.review("six");
    let told = ran.chat.nvim.exec_lua("return vim.json.encode(_G.told)", []);
    let told: Vec<Value> = serde_json::from_str(told.as_str().expect("a text")).expect("JSON");
    let root = ran.chat.project.path().display().to_string();
    let name = |path: &Value| path.as_str().map(|path| path.trim_start_matches(&root).to_owned());
    let mut lines: Vec<String> = told
        .iter()
        .map(|told| {
            assert_eq!(
                (&told["session"], &told["tool_call"], &told["saved"]),
                (&json!(1), &json!("c0"), &json!(true))
            );
            let [path, to, from] =
                ["path", "renamed_to", "renamed_from"].map(|key| name(&told[key]).unwrap_or_default());
            format!("{path} {} {to}{from} {}", told["type"], told["ranges"])
        })
        .collect();
    lines.sort();
    assert_eq!(
        lines,
        [
            "/a.txt \"changed\"  [[6,6]]",
            "/b.txt \"deleted\"  []",
            "/c.txt \"deleted\" /d.txt []",
            "/d.txt \"created\" /c.txt []",
            "/e.txt \"created\"  []"
        ]
    );
}

#[test]
fn in_a_folder_with_too_many_files_the_chat_says_once_what_is_not_seen() {
    let turns = [turn_that_runs(&["echo six >> a.txt"]), turn_that_runs(&["echo seven >> b.txt"])].concat();
    let most = |_: &support::project::TempProject| vec![("ACP_NVIM_MOST_FILES".to_owned(), "2".to_owned())];
    let files = [("a.txt", LINES), ("b.txt", LINES), ("c.txt", LINES)];
    let mut ran = Ran { chat: Scripted::with_env(&files, steps(turns), most), turns: 0 };
    ran.open_chat();
    ran.turn();
    ran.turn();
    let text = ran.chat.transcript();
    let said = format!("What commands change in {} is not seen", ran.chat.project.path().display());
    assert_eq!(text.matches(&said).count(), 1, "{text}");
    assert!(text.contains("since it has more than 2 files"), "{text}");
}

/// More of `AcpFileChanged` in one round of the editor's loop than a slice has files would be a stall.
#[test]
fn a_thousand_files_are_one_line_and_are_read_as_they_are_seen() {
    let text = format!("{}two\n", "a line that stays as it is\n".repeat(40));
    let names: Vec<String> = (0..1000).map(|number| format!("f{number:04}.txt")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), text.as_str())).collect();
    let mut ran = Ran::new(&files, &[turn_that_runs(&["sed -i s/two/TWO/ f*.txt"])]);
    ran.edit("f0000.txt");
    ran.open_chat();
    let count = "_G.round, _G.seen, _G.most = 0, {}, 0
                 vim.uv.new_check():start(function() _G.round = _G.round + 1 end)
                 vim.api.nvim_create_autocmd('User', { pattern = 'AcpFileChanged', callback = function()
                   _G.seen[_G.round] = (_G.seen[_G.round] or 0) + 1
                   _G.most = math.max(_G.most, _G.seen[_G.round])
                   _G.all = (_G.all or 0) + 1
                 end })";
    ran.chat.nvim.exec_lua(count, []);
    ran.turn();
    ran.chat.nvim.wait_until(|nvim| nvim.exec_lua("return _G.all", []) == 1000.into(), "all events");
    let most = ran.chat.nvim.exec_lua("return _G.most", []).as_u64().expect("a number");
    assert!(most <= 17, "{most} files in one round");
    // A slow machine says how long it took, too, and has less room.
    ran.chat.nvim.wait_for_screen("1000 files");
    assert_eq!(ran.chat.nvim.screen().matches("files").count(), 1, "one line says so");
    let buffers = "return #vim.api.nvim_list_bufs()";
    let before = ran.chat.nvim.exec_lua(buffers, []).as_u64().expect("a number");
    ran.chat.nvim.command("Acp review");
    ran.chat.nvim.wait_for_screen("Review: 1000 files");
    let left = "local text = vim.api.nvim_buf_get_lines(vim.fn.bufnr('acp://review'), 0, 1, false)[1]
                return tonumber(text:match(', (%d+) files? to be read')) or 0";
    let unread = ran.chat.nvim.exec_lua(left, []).as_u64().expect("a number");
    assert!((900..1000).contains(&unread), "{unread} are to be read");
    assert!(ran.chat.nvim.screen().contains("- two"), "those on the screen have been read");
    ran.chat.nvim.command("$");
    ran.chat.nvim.wait_until(
        |nvim| nvim.exec_lua("return vim.fn.getline('$')", []).as_str() == Some("  + TWO"),
        "the last file to be read",
    );
    let still = ran.chat.nvim.exec_lua(left, []).as_u64().expect("a number");
    assert!(still > 800 && still < unread, "{still} are to be read");
    assert_eq!(ran.chat.nvim.exec_lua(buffers, []).as_u64(), Some(before + 1), "the review alone");
    // To undo them all, each has to be read, but nobody sees that.
    let most = "_G.most = 0
                vim.api.nvim_buf_attach(vim.fn.bufnr('acp://review'), false, { on_lines = function(_, buf)
                  _G.most = math.max(_G.most, vim.api.nvim_buf_line_count(buf))
                end })
                return vim.api.nvim_buf_line_count(vim.fn.bufnr('acp://review'))";
    let lines = ran.chat.nvim.exec_lua(most, []).as_u64().expect("a number");
    ran.chat.nvim.command("Acp undo! all");
    let project = &ran.chat.project;
    ran.chat.nvim.wait_until(|_| names.iter().all(|name| project.read(name) == text), "all to be back");
    ran.chat.nvim.wait_for_screen("Nothing is left to decide");
    let most = ran.chat.nvim.exec_lua("return _G.most", []).as_u64().expect("a number");
    assert!((1..=lines + 8).contains(&most), "the review had {lines} lines, and {most} while all was undone");
}

/// Waits for a word of the test's, which no project knows of.
const WAITS: &str = "until [ -e .agent/go ]; do sleep 0.01; done";

#[test]
fn a_file_that_is_opened_while_a_command_changes_it_has_all_of_the_change() {
    for windows in ["edit a.txt", "edit a.txt | split"] {
        let line = format!("echo six >> a.txt; {WAITS}; sed -i s/two/TWO/ a.txt");
        let mut ran = Ran::new(&[("a.txt", LINES)], &[turn_that_runs(&[&line])]);
        ran.open_chat();
        ran.chat.nvim.command("AcpChat");
        ran.chat.nvim.command("startinsert");
        ran.chat.send("Go on");
        ran.wait_for_file("a.txt", &format!("{LINES}six\n"));
        ran.chat.nvim.stop_insert();
        ran.chat.nvim.command("wincmd h");
        ran.chat.nvim.command(windows);
        ran.chat.project.write(".agent/go", "");
        ran.chat.nvim.wait_until(|nvim| nvim.buffer_text(0).contains("TWO"), "the buffer to take the text");
        ran.chat.wait_for("Done");
        let review = ran.review("TWO");
        assert!(review.contains("+2 -1"), "{windows}: {review}");
        ran.chat.nvim.command("Acp undo! all");
        ran.wait_for_file("a.txt", LINES);
        ran.chat
            .nvim
            .wait_until(|nvim| nvim.buffer_text(0) == LINES.trim_end(), "the buffer to have it, too");
    }
}

#[test]
fn what_an_agent_changed_in_the_moment_before_it_was_gone_is_its_own() {
    let call = json!({ "sessionUpdate": "tool_call", "toolCallId": "c", "title": "Edit", "kind": "edit",
        "status": "in_progress", "locations": [{ "path": "$PROJECT/a.txt" }] });
    let turn = vec![
        prompt(),
        update(call),
        json!({ "run": ["sed", "-i", "s/two/TWO/", "$PROJECT/a.txt"] }),
        json!({ "exit": 1 }),
    ];
    for name in ["a.txt", "b.txt"] {
        let mut ran = Ran::new(&[("a.txt", LINES), ("b.txt", LINES)], std::slice::from_ref(&turn));
        ran.edit(name);
        ran.open_chat();
        ran.chat.nvim.command("AcpChat");
        ran.chat.nvim.command("startinsert");
        ran.chat.send("Go on");
        ran.chat.nvim.wait_for_screen("ended");
        ran.chat.nvim.stop_insert();
        ran.chat.nvim.command("wincmd h");
        let review = ran.review("TWO");
        assert!(review.contains("a.txt  1 hunk") && review.contains("Fake: Edit"), "{review}");
    }
}

#[test]
fn what_a_command_has_left_behind_writes_after_the_turn_is_from_outside() {
    let begun = "until [ -e .agent/begun ]; do sleep 0.01; done";
    let later = format!("touch .agent/begun; {WAITS}; echo six >> a.txt");
    let line = format!("echo six >> b.txt; setsid -f sh -c '{later}'; {begun}");
    let files = [("a.txt", LINES), ("b.txt", LINES)];
    let mut ran = Ran::new(&files, &[turn_that_runs(&[&line])]);
    ran.edit("a.txt");
    ran.open_chat();
    ran.turn();
    ran.chat.project.write(".agent/go", "");
    ran.chat.nvim.wait_until(|nvim| nvim.buffer_text(0).contains("six"), "the buffer to take the text");
    let review = ran.review("b.txt");
    assert!(!review.contains("a.txt"), "{review}");
    ran.chat.nvim.command("Acp undo! all");
    ran.wait_for_file("b.txt", LINES);
    assert_eq!(ran.chat.project.read("a.txt"), format!("{LINES}six\n"));
}

#[test]
fn five_thousand_files_are_taken_back_by_a_checkpoint() {
    let names: Vec<String> = (0..5000).map(|number| format!("d{}/f{number:04}.txt", number / 100)).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), LINES)).collect();
    let mut ran =
        Ran::new(&files, &[turn_that_runs(&["sed -i s/two/TWO/ d*/f*.txt; rm -r d49; cp -r d1 e1"])]);
    ran.open_chat();
    ran.turn();
    ran.chat.nvim.wait_for_screen("5100 files");
    ran.go_back(false);
    let project = &ran.chat.project;
    let is_back = |name: &String| std::fs::read_to_string(project.file(name)).is_ok_and(|text| text == LINES);
    ran.chat.nvim.wait_within(
        Duration::from_secs(120),
        |_| names.iter().all(is_back) && !project.file("e1").exists(),
        "all to be back",
    );
}

/// Command lines in a project that was prepared by others, and what is to come of them.
struct Tried {
    what: &'static str,
    /// Run by the user before the session begins.
    before: &'static str,
    run: &'static str,
    /// What the review can't undo, and says so.
    no_hunks: &'static [&'static str],
}

const fn tried(what: &'static str, before: &'static str, run: &'static str) -> Tried {
    Tried { what, before, run, no_hunks: &[] }
}

const GIT: &str = "git init -q . && git config user.email a@b && git config user.name a && git add -A && \
                   git commit -qm first";

const OTHER: &str = "git init -qb main . && git config user.email a@b && git config user.name a && git add -A && \
                     git commit -qm 1 && git checkout -qb other && echo six >> a.txt && git rm -q b.txt && \
                     echo c > c.txt && git add -A && git commit -qm 2 && git checkout -q main";

const HIDDEN: &str = "git init -q . && git config user.email a@b && git config user.name a && git add -A && \
                      git commit -qm first && git update-index --assume-unchanged a.txt && \
                      git update-index --skip-worktree b.txt && sed -i s/two/TWO/ a.txt && sed -i s/one/ONE/ b.txt";

const SUBMODULE: &str = "mkdir up && cd up && git init -q . && git config user.email a@b && git config user.name a && \
                         echo s > s.txt && git add -A && git commit -qm 1 && cd .. && git init -q . && \
                         git -c protocol.file.allow=always submodule add -q ./up sub 2>/dev/null && cd sub && \
                         git config user.email a@b && git config user.name a";

const TRIED: &[Tried] = &[
    tried(
        "a copy with rsync's manner",
        "",
        "cp -a a.txt .a.txt.X1 && echo six >> .a.txt.X1 && mv .a.txt.X1 a.txt",
    ),
    tried("install with a mode", "", "install -m 755 b.txt a.txt"),
    tried("a link over a file", "", "ln -sf b.txt a.txt"),
    tried("a hard link", "", "ln b.txt c.txt"),
    tried("bytes in the middle", "", "printf XX | dd of=a.txt bs=1 seek=4 conv=notrunc 2>/dev/null"),
    tried("cut short", "", "truncate -s 6 a.txt"),
    tried("emptied", "", ": > a.txt"),
    tried("touched alone", "", "touch a.txt; touch -d 2001-01-01 b.txt"),
    tried("a new empty file", "", "touch c.txt"),
    tried("other permissions", "", "chmod 755 a.txt"),
    tried("other permissions and text", "", "chmod 700 a.txt; echo six >> a.txt"),
    tried("a pipe in the file system", "", "mkfifo pipe; echo six >> a.txt"),
    tried(
        "a cycle of names",
        "cp a.txt c.txt; echo c >> c.txt",
        "mv a.txt x; mv b.txt a.txt; mv c.txt b.txt; mv x c.txt",
    ),
    tried("two that change names", "echo b >> b.txt", "mv a.txt x; mv b.txt a.txt; mv x b.txt"),
    tried("a file gives way to a folder", "", "rm a.txt; mkdir -p a.txt/b; echo in > a.txt/b/in.txt"),
    tried("a folder gives way to a file", "", "rm -r d; echo file > d"),
    tried("a name in another case", "", "mv a.txt A.txt"),
    tried("a line break in a name", "", "printf 'x\\n' > \"$(printf 'new\\nline.txt')\""),
    tried("a quote in a name", "", "printf 'x\\n' > \"it's \\\"q\\\".txt\""),
    tried("other letters in a name", "", "printf 'x\\n' > 'naïve 日本.txt'"),
    tried("blanks and signs in a name", "", "printf 'x\\n' > ' a b#%|*.txt'"),
    tried("a nested repository", "", "mkdir n && cd n && git init -q . && echo x > x.txt"),
    tried(
        "one that was there",
        "mkdir n && cd n && git init -q . && echo x > x.txt && git add x.txt",
        "echo y >> n/x.txt",
    ),
    tried("a folder by a link", "ln -s d l", "echo six >> l/deep.txt"),
    tried("made and removed", "", "echo x > c.txt; rm c.txt"),
    tried("removed and made again", "", "cp a.txt /tmp/$$; rm a.txt; cp /tmp/$$ a.txt; rm /tmp/$$"),
    tried("stashed with what is new", GIT, "echo new > c.txt; echo six >> a.txt; git stash -qu"),
    tried("stashed and back", GIT, "echo new > c.txt; echo six >> a.txt; git stash -qu; git stash pop -q"),
    tried(
        "a rebase",
        "git init -qb main . && git config user.email a@b && git config user.name a && git add -A && git commit -qm 1 && \
         git checkout -qb side && echo six >> a.txt && git commit -qam 2 && git checkout -q main && echo b >> b.txt && \
         git commit -qam 3 && git checkout -q side",
        "git rebase -q main",
    ),
    tried("a worktree inside", GIT, "git worktree add -q w 2>/dev/null; echo six >> w/a.txt"),
    tried(
        "an ignored file that is tracked",
        "echo '*.log' > .gitignore; echo l > t.log; git init -q .; git add -f .",
        "echo m >> t.log",
    ),
    Tried {
        no_hunks: &["big.txt"],
        ..tried("a large file", "head -c 6000000 /dev/zero | tr '\\0' x > big.txt", "echo end >> big.txt")
    },
    Tried { no_hunks: &["hole"], ..tried("a file with a hole", "", "truncate -s 300M hole") },
    tried("bytes that are no text", "printf '\\000\\001\\377' > a.bin", "printf '\\002' >> a.bin"),
    tried("a file that can't be read", "", "echo x > c.txt; echo six >> a.txt; chmod 000 c.txt"),
    tried("no last line break", "printf 'a\\nb' > c.txt", "printf 'a\\nB' > c.txt"),
    tried("line ends and a mark", "printf '\\357\\273\\277a\\r\\nb\\r\\n' > c.txt", "sed -i s/b/B/ c.txt"),
    tried("all of a folder moved", "", "mv d e"),
    tried("a folder copied", "", "cp -r d e"),
    tried("many by a pipe", "", "ls *.txt | xargs sed -i s/two/TWO/"),
    tried("in the background", "", "(echo six >> a.txt) & wait"),
    tried("a link that points elsewhere", "ln -s a.txt l", "ln -sfn b.txt l"),
    tried("a link that points nowhere", "", "ln -s nowhere l; rm -f a.txt"),
    tried(
        "an older file is put in place",
        "touch -d 2001-01-01 old.txt; echo old > /tmp/acp-old.$PPID",
        "cp -p old.txt b.txt",
    ),
    tried("a stream editor in place", "", "perl -pi -e 's/two/TWO/' a.txt b.txt d/*.txt"),
    tried("opened for writing", "", "python3 -c 'open(\"a.txt\", \"w\").write(\"one\\nTWO\\n\")'"),
    tried("a here-document", "", "cat > a.txt <<END\none\nTWO\nEND\ncat > c.txt <<END\nnew\nEND"),
    tried("tee", "", "echo six | tee -a a.txt b.txt > c.txt"),
    tried("moved by git", GIT, "git mv a.txt c.txt; git mv d e; echo six >> c.txt"),
    tried(
        "another branch",
        GIT,
        "git checkout -qb other; echo six >> a.txt; git commit -qam 2; git checkout -q -",
    ),
    tried("a branch that differs", OTHER, "git checkout -q other"),
    tried("a file moved onto another", "", "mv a.txt b.txt"),
    tried("a folder moved into another", "", "mkdir e; mv d e/d"),
    tried(
        "a generator",
        "",
        "mkdir -p gen/a gen/b; for i in 1 2 3 4 5; do echo $i > gen/a/$i.txt; cp a.txt gen/b/$i.txt; done",
    ),
    tried(
        "a build into an ignored folder",
        "echo target > .gitignore",
        "mkdir -p target/d; echo x > target/d/main.o; echo six >> a.txt",
    ),
    tried("a submodule", SUBMODULE, "cd sub && echo six >> s.txt && git commit -qam 2"),
    tried("a file that git is told to take for unchanged", HIDDEN, "echo six >> a.txt; echo six >> b.txt"),
    tried(
        "a file that goes through a filter of the user's",
        "git init -q . && git config user.email a@b && git config user.name a && git config filter.r.clean 'tr a-z b-za' && \
         git config filter.r.smudge 'tr b-za a-z' && echo '*.txt filter=r' > .gitattributes && git add -A && \
         git commit -qm first",
        "echo six >> a.txt; rm b.txt",
    ),
    tried(
        "other line ends than git's",
        "git init -q . && git config user.email a@b && git config user.name a && git config core.autocrlf true && \
         sed -i 's/$/\\r/' a.txt && git add -A 2>/dev/null && git commit -qm first",
        "printf 'six\\r\\n' >> a.txt; rm b.txt",
    ),
    tried("a name that is no text", "", "printf 'x\\n' > \"$(printf 'a\\377b.txt')\""),
    tried("a name that begins with a dash", "", "printf 'x\\n' > ./-rf; printf 'x\\n' > ./+cmd"),
    tried(
        "a text without an end, and an end",
        "printf 'a\\nb' > c.txt; printf 'a\\nb\\n' > e.txt",
        "printf 'a\\nb\\n' > c.txt; printf 'a\\nb' > e.txt",
    ),
    tried(
        "other line ends",
        "printf 'a\\r\\nb\\r\\n' > c.txt",
        "sed -i 's/\\r$//' c.txt; sed -i 's/$/\\r/' b.txt",
    ),
    tried("another encoding", "printf '\\344\\nb\\n' > c.txt", "sed -i s/b/B/ c.txt"),
    tried("written over by a link's target", "ln -s a.txt l", "echo six >> l"),
    tried("a link becomes a file", "ln -s a.txt l", "sed -i s/two/TWO/ l"),
    tried("a file becomes a link", "", "mv a.txt e.txt; ln -s e.txt a.txt"),
    tried("other permissions of a removed file", "chmod 755 a.txt; chmod 600 b.txt", "rm a.txt b.txt"),
    tried("a folder removed", "", "rm -r d"),
    tried("a long name", "", "echo x > $(printf 'x%.0s' $(seq 240)).txt"),
    tried(
        "many folders deep",
        "",
        "mkdir -p 1/2/3/4/5/6/7/8/9/10/11/12; echo x > 1/2/3/4/5/6/7/8/9/10/11/12/x.txt",
    ),
    tried("a lock file", "", "(flock 9; echo six >> a.txt) 9> .lock; rm .lock"),
    tried("a swap file's name", "", "echo x > .a.txt.swp; echo six >> a.txt; rm .a.txt.swp"),
    tried("what is removed in a folder that goes", "", "rm d/two.txt; echo six >> d/deep.txt; mv d e"),
    tried(
        "a patch",
        "",
        "printf -- '--- a.txt\\n+++ a.txt\\n@@ -1,2 +1,2 @@\\n one\\n-two\\n+TWO\\n' | patch -s",
    ),
];

/// What a project holds: of each path its permissions and bytes, or where it points.
fn held(root: &std::path::Path) -> std::collections::BTreeMap<String, String> {
    use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
    let mut all = std::collections::BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            let Ok(about) = entry.metadata() else { continue };
            if name == ".git" || name == ".agent" || about.file_type().is_fifo() {
                continue;
            }
            let key = path.strip_prefix(root).expect("inside").display().to_string();
            if about.is_dir() {
                folders.push(path);
            } else if about.is_symlink() {
                // It may go at this moment.
                let Ok(target) = std::fs::read_link(&path) else { continue };
                all.insert(key, format!("-> {}", target.display()));
            } else if about.len() > 1 << 20 {
                all.insert(key, format!("{} bytes", about.len()));
            } else {
                let text = std::fs::read(&path).map(|bytes| bytes.escape_ascii().to_string());
                all.insert(
                    key,
                    format!("{:o} {}", about.permissions().mode() & 0o777, text.unwrap_or_default()),
                );
            }
        }
    }
    all
}

/// How what a command did is tried.
#[derive(Clone, Copy, Debug)]
struct How {
    buffers: Buffers,
    /// It is taken back by a checkpoint, not by the review.
    by_checkpoint: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Buffers {
    None,
    /// All files are in buffers, one of them in two windows.
    Saved,
    /// The same, and the first line of that one is another one, not saved.
    Unsaved,
}

const HOW: [How; 6] = {
    const fn how(buffers: Buffers, by_checkpoint: bool) -> How {
        How { buffers, by_checkpoint }
    }
    [
        how(Buffers::None, false),
        how(Buffers::None, true),
        how(Buffers::Saved, false),
        how(Buffers::Saved, true),
        how(Buffers::Unsaved, false),
        how(Buffers::Unsaved, true),
    ]
};

/// Waits for what is to come, and goes on all the same: what is wrong then is told with all the rest.
fn soon(is_there: impl FnMut() -> bool) {
    within(Duration::from_secs(5), is_there);
}

fn within(limit: Duration, mut is_there: impl FnMut() -> bool) {
    let deadline = std::time::Instant::now() + limit;
    while !is_there() && std::time::Instant::now() < deadline {
        std::thread::yield_now();
    }
}

impl Ran {
    /// Opens all of these that are text, and one of them in two windows.
    fn open_all<'a>(&mut self, names: impl Iterator<Item = &'a String>) {
        for name in names.filter(|name| !name.contains('\n')) {
            self.chat.nvim.exec_lua("vim.cmd.edit(vim.fn.fnameescape(...))", [name.as_str().into()]);
        }
        self.chat.nvim.command("edit a.txt | split");
    }

    /// Buffers that hold something else than their files, or have unsaved edits.
    fn wrong_buffers(&mut self) -> String {
        let find = "local wrong = {}
                    for _, buf in ipairs(vim.api.nvim_list_bufs()) do
                      local name = vim.api.nvim_buf_get_name(buf)
                      local is_text = not name:find('%.bin$')
                      if is_text and vim.bo[buf].buftype == '' and name ~= '' and vim.api.nvim_buf_is_loaded(buf) then
                        local ok, lines = pcall(vim.fn.readfile, name)
                        local file = ok and table.concat(lines, '\\n') or 'no file'
                        local encoding = vim.bo[buf].fileencoding
                        file = vim.iconv(file, encoding ~= '' and encoding or 'utf-8', 'utf-8') or file
                        file = file:gsub('\\r', ''):gsub('^\\239\\187\\191', '')
                        local text = table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), '\\n'):gsub('\\r', '')
                        if vim.bo[buf].modified or text ~= file then
                          table.insert(wrong, name .. (vim.bo[buf].modified and ' modified' or '') .. ':\\n' .. text .. '\\n-- but the file:\\n' .. file)
                        end
                      end
                    end
                    return table.concat(wrong, '\\n')";
        self.chat.nvim.exec_lua(find, []).as_str().unwrap_or_default().to_owned()
    }

    /// Whether a line is in any buffer of a file.
    fn holds_line(&mut self, line: &str) -> bool {
        let find = "for _, buf in ipairs(vim.api.nvim_list_bufs()) do
                      if vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == ''
                        and vim.tbl_contains(vim.api.nvim_buf_get_lines(buf, 0, -1, false), ...) then
                        return true
                      end
                    end
                    return false";
        self.chat.nvim.exec_lua(find, [line.into()]).as_bool() == Some(true)
    }

    /// Goes back to before the last turn. May leave what others have changed as it is.
    fn go_back(&mut self, leaves: bool) {
        let open = "local leaves = ...
                    _G.told = {}
                    vim.notify = function(text) table.insert(_G.told, text) end
                    vim.ui.select = function(items, options, answer)
                      table.insert(_G.told, options.prompt)
                      local at = #_G.told > 1 and leaves and #items or 1
                      vim.schedule(function() answer(items[at], at) end)
                    end
                    vim.cmd('Acp checkpoints')";
        self.chat.nvim.exec_lua(open, [leaves.into()]);
        let told = "return table.concat(_G.told, ' ')";
        let mut is_shown = false;
        // Thousands of files take a while where the machine has other things to do.
        within(Duration::from_secs(60), || {
            is_shown = self.chat.nvim.screen().contains("gX put back all");
            is_shown || self.chat.nvim.exec_lua(told, []).as_str().unwrap_or_default().contains("no ")
        });
        if is_shown {
            self.chat.nvim.input("gX");
        }
    }
}

/// The files that the review says something else of than was done to them: by how many lines were added and removed.
fn wrong_counts(
    review: &str,
    expected: &[&String],
    held: [&std::collections::BTreeMap<String, String>; 2],
) -> Vec<String> {
    let mut wrong = Vec::new();
    for name in expected {
        let sides = held.map(|all| all.get(*name).map_or("644 ", String::as_str));
        let is_text =
            |side: &&str| !side.starts_with("->") && !side.ends_with("bytes") && !side.contains("\\x");
        let head =
            review.lines().find(|line| line.starts_with(&format!("{name} ")) && line.contains(" \u{b7} +"));
        let head = head.filter(|head| !head.contains("renamed"));
        let Some(head) = head.filter(|_| sides.iter().all(is_text)) else { continue };
        let [was, is] = sides.map(|side| side[4..].split_inclusive("\\n").collect::<Vec<_>>());
        let (mut added, mut removed) = (0, 0);
        for step in similar::capture_diff_slices(similar::Algorithm::Myers, &was, &is) {
            added += if step.tag() == similar::DiffTag::Equal { 0 } else { step.new_range().len() };
            removed += if step.tag() == similar::DiffTag::Equal { 0 } else { step.old_range().len() };
        }
        if !format!("{head} ").contains(&format!("+{added} -{removed} ")) {
            wrong.push(format!("{name} should be +{added} -{removed}:\n{review}"));
        }
    }
    wrong
}

/// The review's lines, of which there are none where there is nothing to review.
const PAGE: &str = "vim.cmd('silent! Acp review')
             local page = vim.fn.bufnr('acp://review')
             if page < 0 then return '' end
             local lines = table.concat(vim.api.nvim_buf_get_lines(page, 0, -1, false), '\\n')
             vim.api.nvim_buf_delete(page, { force = true })
             return lines";

/// What went otherwise than it should.
fn try_one(tried: &Tried, how: How) -> Vec<String> {
    let files = [("a.txt", LINES), ("b.txt", "one\nb\n"), ("d/deep.txt", LINES), ("d/two.txt", "two\n")];
    let mut ran = Ran::new(&files, &[turn_that_runs(&[tried.run])]);
    ran.outside("sh", &["-c", &format!("true; {}", tried.before)]);
    let root = ran.chat.project.path().to_owned();
    let before = held(&root);
    let is_unsaved = how.buffers == Buffers::Unsaved;
    if how.buffers != Buffers::None {
        let is_file = |text: &str| !text.starts_with("->") && !text.ends_with("bytes");
        ran.open_all(before.iter().filter(|(_, text)| is_file(text)).map(|(name, _)| name));
    }
    if is_unsaved {
        // Where both have changed a line the user is asked, and nobody answers.
        ran.chat.nvim.exec_lua("vim.ui.select = function(_, options) _G.asked = options.prompt end", []);
        ran.chat.nvim.command("call setline(1, 'mine')");
    }
    ran.open_chat();
    ran.turn();
    let after = held(&root);
    let changed = |name: &&String| before.get(*name) != after.get(*name);
    let all: std::collections::BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let (ignored, expected): (Vec<&String>, Vec<&String>) =
        all.into_iter().filter(changed).partition(|name| name.starts_with("target/"));
    let mut wrong = Vec::new();
    let mut tell = |text: String| wrong.push(format!("{}, {how:?}: {text}", tried.what));
    let shown = |name: &str| name.replace('\n', "\u{2424}");
    let is_in = |review: &str, name: &str| {
        let name = shown(name);
        let name = name.trim_start();
        let mut heads = review.lines().filter(|line| !line.starts_with("  "));
        // Not of one whose name only begins like that.
        heads.any(|line| line.ends_with(name) || line.contains(&format!("{name} ")))
    };
    let wrong_counts = |review: &str| match is_unsaved {
        true => Vec::new(),
        false => wrong_counts(review, &expected, [&before, &after]),
    };
    let mut review = String::new();
    soon(|| {
        review = ran.chat.nvim.exec_lua(PAGE, []).as_str().unwrap_or_default().to_owned();
        expected.iter().all(|name| is_in(&review, name)) && wrong_counts(&review).is_empty()
    });
    let asked = ran.chat.nvim.exec_lua("return _G.asked or ''", []);
    let asked = asked.as_str().unwrap_or_default();
    for name in expected.iter().filter(|name| !is_in(&review, name) && !asked.contains(name.as_str())) {
        tell(format!("{name:?} is not in the review:\n{review}, nor asked about: {asked}"));
    }
    wrong_counts(&review).into_iter().for_each(&mut tell);
    if expected.is_empty() && review.contains("@@") || ignored.iter().any(|name| is_in(&review, name)) {
        tell(format!("that is no change:\n{review}"));
    }
    if how.by_checkpoint {
        ran.go_back(is_unsaved);
    } else {
        ran.chat.nvim.command("silent! Acp undo! all");
    }
    if is_unsaved {
        if !ran.holds_line("mine") {
            tell("the user's line is gone".to_owned());
        }
        return wrong;
    }
    let left = |map: &std::collections::BTreeMap<String, String>| -> Vec<(String, String)> {
        let known = map.iter().filter(|(name, _)| !tried.no_hunks.contains(&name.as_str()));
        known
            .filter(|(name, _)| !ignored.contains(name))
            .map(|(name, text)| (name.clone(), text.clone()))
            .collect()
    };
    let is_back = || left(&held(&root)) == left(&before);
    soon(is_back);
    if !is_back() {
        let told = ran.chat.nvim.exec_lua("return table.concat(_G.told or {}, '\\n')", []);
        let now = held(&root);
        tell(format!("was {before:#?}\nbecame {after:#?}\nand is {now:#?}\n{review}\n{told:?}"));
    }
    soon(|| ran.wrong_buffers().is_empty());
    let buffers = ran.wrong_buffers();
    if !buffers.is_empty() {
        tell(format!("buffers: {buffers}"));
    }
    wrong
}

#[test]
fn whatever_a_command_does_is_seen_and_undone() {
    let only = std::env::var("ACP_TRIED").unwrap_or_default();
    let all = HOW.into_iter().flat_map(|how| TRIED.iter().map(move |tried| (tried, how)));
    let waiting = std::sync::Mutex::new(
        all.filter(|(tried, how)| format!("{} {how:?}", tried.what).contains(&only)).collect::<Vec<_>>(),
    );
    let wrong = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while let Some((tried, how)) = {
                    let mut all = waiting.lock().expect("no panic");
                    all.pop()
                } {
                    let found = std::panic::catch_unwind(|| try_one(tried, how))
                        .unwrap_or_else(|_| vec![format!("{}, {how:?}", tried.what)]);
                    wrong.lock().expect("no panic").extend(found);
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("no panic");
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n\n"));
}
