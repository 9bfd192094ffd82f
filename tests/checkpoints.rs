//! Files put back to how they were before a turn: from buffers and on the disk, undone again, after a
//! restart of Neovim; in a real Neovim, against scripted agents.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use serde_json::json;
use support::script::{Scripted, answered, asks, ends, opened, prompt, says, update, writes};
use support::{Nvim, Options};

/// Two turns: one changes a loaded file, an ignored one and makes a third, the next changes the first
/// again.
fn two_turns() -> Scripted {
    let mut all = opened();
    all.push(prompt());
    all.extend(writes("a.txt", "one\nTWO\nthree\n"));
    all.extend(writes("ignored.log", "b\r\nnoise"));
    all.extend(writes("deep/new.txt", "fresh\n"));
    all.extend([says("First."), ends("end_turn"), prompt()]);
    all.extend(writes("a.txt", "one\nTWO\nTHREE\n"));
    all.extend([says("Second."), ends("end_turn"), prompt(), says("Heard."), ends("end_turn")]);
    let files = [("a.txt", "one\ntwo\nthree\n"), ("ignored.log", "a\r\nb"), (".gitignore", "*.log\n")];
    let mut chat = Scripted::new(&files, all);
    chat.nvim.command("edit a.txt");
    chat.chat();
    chat.send("Change two");
    chat.wait_for("First.");
    chat.wait_for("Done");
    chat.send("Change three");
    chat.wait_for("Second.");
    chat.nvim.stop_insert();
    chat.nvim.command("wincmd h");
    chat.nvim.wait_for_screen("- three");
    answer_by_hand(&mut chat.nvim);
    chat
}

/// Pickers and notifications are kept, and answered by `choose`.
fn answer_by_hand(nvim: &mut Nvim) {
    nvim.exec_lua(
        "_G.told = {}
         vim.notify = function(text) table.insert(_G.told, text) end
         vim.ui.select = function(items, options, answer)
           _G.picker = { prompt = options.prompt, items = items, answer = answer }
         end",
        [],
    );
}

/// The picker that is open: its prompt and items, a line each.
fn picker(chat: &mut Scripted) -> String {
    let shown = "return _G.picker and table.concat({ _G.picker.prompt, unpack(_G.picker.items) }, '\\n')";
    chat.nvim.wait_until(|nvim| nvim.exec_lua(shown, []).as_str().is_some(), "a picker");
    let shown = chat.nvim.exec_lua(shown, []);
    let text = shown.as_str().expect("a text").to_owned();
    let timeless = |line: &str| match line.as_bytes() {
        [b'0'..=b'2', b'0'..=b'9', b':', ..] => {
            format!("HH:MM{}\n", line.find(' ').map_or("", |time| &line[time..]))
        }
        _ => format!("{line}\n"),
    };
    text.lines().map(timeless).collect()
}

fn choose(chat: &mut Scripted, index: usize) {
    chat.nvim
        .exec_lua(&format!("local p = _G.picker; _G.picker = nil; p.answer(p.items[{index}], {index})"), []);
}

/// Goes back to a checkpoint, by its place in the list, with all that it has.
fn go_back_to(chat: &mut Scripted, at: usize) {
    chat.nvim.command("Acp checkpoints");
    picker(chat);
    choose(chat, at);
    restore(chat, None);
}

/// Waits for the preview of the chosen turn, and puts all of it back, or what a text in it is about.
fn restore(chat: &mut Scripted, only: Option<&str>) {
    chat.nvim.wait_for_screen("gx put back this hunk or file");
    match only {
        Some(text) => {
            chat.nvim.exec_lua("vim.fn.cursor(4, 1) vim.fn.search(..., 'c')", [text.into()]);
            chat.nvim.input("gx");
        }
        None => chat.nvim.input("gX"),
    }
}

/// The preview's lines.
fn preview(chat: &mut Scripted) -> String {
    chat.nvim.wait_for_screen("gx put back this hunk or file");
    chat.nvim.buffer_text(0)
}

fn back_in_the_file(chat: &mut Scripted) {
    chat.nvim.command("close | call win_gotoid(bufwinid('a.txt'))");
}

fn wait_told(chat: &mut Scripted, text: &str) {
    let told = "return table.concat(_G.told, '\\n')";
    let mut all = String::new();
    chat.nvim.wait_until(
        |nvim| {
            all = nvim.exec_lua(told, []).as_str().unwrap_or_default().to_owned();
            all.contains(text)
        },
        &format!("to be told {text:?}"),
    );
}

#[test]
fn all_files_are_put_back_to_before_a_turn_and_that_is_undone_again() {
    let mut chat = two_turns();
    chat.nvim.command("Acp checkpoints");
    insta::assert_snapshot!(picker(&mut chat), @r"
    Restore files to their state before
    HH:MM · Change three · a.txt +1 -1
    HH:MM · Change two · a.txt and 2 more +4 -3
    ");
    choose(&mut chat, 2);
    insta::assert_snapshot!(preview(&mut chat), @r#"
    Back to before "Change two": 3 files · 4 hunks
    gx put back this hunk or file · gX put back all · <CR> go · q close · g? keys

    a.txt  1 hunk · +2 -2
      @@ 2
      - TWO
      - THREE
      + two
      + three
    ignored.log  2 hunks · +1 -1
      @@ 1
      + a
      @@ 2
      - noise
    deep/new.txt  1 hunk · +0 -1 · was not there: is removed, and the folder deep with it
      @@ 1
      - fresh
    "#);
    assert_eq!(chat.project.read("a.txt"), "one\nTWO\nTHREE\n", "nothing is changed by looking");
    restore(&mut chat, None);
    wait_told(&mut chat, "restored 3 files to before \"Change two\"");
    chat.nvim.wait_for_screen("Nothing has changed since then");
    back_in_the_file(&mut chat);
    assert_eq!(chat.nvim.buffer_text(0), "one\ntwo\nthree");
    assert_eq!(chat.project.read("a.txt"), "one\ntwo\nthree\n", "it is saved as it was");
    assert_eq!(chat.project.read("ignored.log"), "a\r\nb", "byte for byte");
    assert!(!chat.project.file("deep").exists(), "the folder that was made for it goes, too");
    chat.nvim.wait_until(|nvim| !nvim.screen().contains("- two"), "the hunks to go");
    chat.nvim.input("u");
    assert_eq!(chat.nvim.buffer_text(0), "one\nTWO\nTHREE", "it is one step");
    chat.nvim.input("<C-r>:write<CR>");
    chat.nvim.command("Acp checkpoints");
    insta::assert_snapshot!(picker(&mut chat), @r"
    Restore files to their state before
    HH:MM · Restored to before: Change two · a.txt and 2 more +4 -5
    HH:MM · Change three · a.txt +1 -1
    HH:MM · Change two · a.txt and 2 more +4 -3
    ");
    choose(&mut chat, 1);
    insta::assert_snapshot!(preview(&mut chat), @r#"
    Undo the restore to before "Change two": 3 files · 4 hunks
    gx put back this hunk or file · gX put back all · <CR> go · q close · g? keys

    a.txt  1 hunk · +2 -2
      @@ 2
      - two
      - three
      + TWO
      + THREE
    ignored.log  2 hunks · +1 -1
      @@ 1
      - a
      @@ 3
      + noise
    deep/new.txt  1 hunk · +1 -0 · comes back, and the folder deep with it
      @@ 1
      + fresh
    "#);
    restore(&mut chat, None);
    wait_told(&mut chat, "undid the restore of 3 files to before \"Change two\"");
    back_in_the_file(&mut chat);
    assert_eq!(chat.nvim.buffer_text(0), "one\nTWO\nTHREE");
    assert_eq!(chat.project.read("ignored.log"), "b\r\nnoise");
    assert_eq!(chat.project.read("deep/new.txt"), "fresh\n");
}

#[test]
fn what_becomes_of_unsaved_edits_is_said_first_and_then_happens() {
    let mut chat = two_turns();
    chat.nvim.input("Gomine<Esc>");
    chat.nvim.command("Acp checkpoints");
    picker(&mut chat);
    choose(&mut chat, 2);
    let shown = preview(&mut chat);
    let line = "\na.txt  1 hunk · +2 -3 · drops your unsaved edits; :write saves the result\n";
    assert!(shown.contains(line), "{shown}");
    restore(&mut chat, None);
    picker(&mut chat);
    choose(&mut chat, 1);
    wait_told(&mut chat, "restored 3 files to before \"Change two\"");
    let left = "\na.txt  the buffer holds this text already; :write saves it to the file";
    chat.nvim.wait_until(|nvim| nvim.buffer_text(0).ends_with(left), "what is left to do");
    back_in_the_file(&mut chat);
    assert_eq!(chat.nvim.buffer_text(0), "one\ntwo\nthree");
    assert_eq!(chat.project.read("a.txt"), "one\nTWO\nTHREE\n");
    chat.nvim.command("write");
    chat.nvim.command("Acp checkpoints");
    picker(&mut chat);
    choose(&mut chat, 3);
    chat.nvim.wait_for_screen("Nothing has changed since then");
}

#[test]
fn unsaved_lines_come_back_as_unsaved_ones_when_a_restore_is_taken_back() {
    let changed = "one\nTWO\nTHREE\n";
    for (name, saved, meanwhile) in [
        ("a.txt", changed, "write"),
        ("a.txt", changed, "write | bwipeout"),
        ("deep/new.txt", "fresh\n", "echo"),
        ("deep/new.txt", "fresh\n", "bwipeout!"),
    ] {
        let mut chat = two_turns();
        chat.nvim.command(&format!("edit {name}"));
        chat.nvim.input("Gomine<Esc>");
        go_back_to(&mut chat, 2);
        picker(&mut chat);
        choose(&mut chat, 1);
        wait_told(&mut chat, "restored 3 files to before \"Change two\"");
        chat.nvim.command(&format!("close | buffer {name} | {meanwhile}"));
        chat.nvim.command("Acp checkpoints");
        picker(&mut chat);
        choose(&mut chat, 1);
        let shown = preview(&mut chat);
        assert!(shown.contains("what was not saved comes back unsaved"), "{shown}");
        restore(&mut chat, None);
        wait_told(&mut chat, "undid the restore of ");
        chat.nvim.wait_for_screen("Nothing has changed since then");
        chat.nvim.command(&format!("close | buffer {name}"));
        assert_eq!(chat.nvim.buffer_text(0), format!("{saved}mine"), "{name} {meanwhile}");
        assert_eq!(chat.project.read(name), saved, "{name} {meanwhile}");
        assert_eq!(chat.nvim.exec_lua("return vim.bo.modified", []), true.into());
    }
}

#[test]
fn what_was_changed_since_is_asked_about_and_nothing_of_it_is_lost() {
    let mut chat = two_turns();
    chat.nvim.input("Gomine<Esc>");
    chat.project.write("ignored.log", "by another\n");
    go_back_to(&mut chat, 2);
    insta::assert_snapshot!(picker(&mut chat), @r"
    2 of these 3 files have changed since, by you or others: a.txt, ignored.log
    Restore all of them anyway; that can be undone
    Restore only the other one
    Restore nothing
    ");
    choose(&mut chat, 2);
    wait_told(&mut chat, "restored deep/new.txt to before \"Change two\"");
    back_in_the_file(&mut chat);
    assert_eq!(chat.nvim.buffer_text(0), "one\nTWO\nTHREE\nmine");
    assert_eq!(chat.project.read("ignored.log"), "by another\n");
    go_back_to(&mut chat, 3);
    picker(&mut chat);
    choose(&mut chat, 1);
    wait_told(&mut chat, "restored 2 files to before \"Change two\"");
    back_in_the_file(&mut chat);
    assert_eq!(chat.nvim.buffer_text(0), "one\ntwo\nthree");
    assert_eq!(chat.project.read("a.txt"), "one\nTWO\nTHREE\n", "unsaved edits are not saved by it");
    assert_eq!(chat.project.read("ignored.log"), "a\r\nb");
    go_back_to(&mut chat, 1);
    wait_told(&mut chat, "undid the restore of ");
    back_in_the_file(&mut chat);
    assert_eq!(chat.nvim.buffer_text(0), "one\nTWO\nTHREE\nmine", "what was typed is back");
    assert_eq!(chat.project.read("ignored.log"), "by another\n");
}

#[test]
fn the_agent_is_told_of_what_was_put_back_and_one_file_can_be_chosen() {
    let mut chat = two_turns();
    chat.nvim.command("Acp checkpoints");
    picker(&mut chat);
    choose(&mut chat, 1);
    restore(&mut chat, Some("a.txt"));
    wait_told(&mut chat, "restored a.txt to before \"Change three\"");
    back_in_the_file(&mut chat);
    assert_eq!(chat.nvim.buffer_text(0), "one\nTWO\nthree");
    chat.nvim.command("Acp send Go on");
    chat.wait_for("Heard.");
    let prompt = chat.got("session/prompt")["params"]["prompt"][1]["text"].to_string();
    assert!(prompt.contains("a.txt: all of it, back to before \\\"Change three\\\""), "{prompt}");
}

#[test]
fn checkpoints_of_one_minute_are_told_apart_by_the_second_and_fit_in_a_line() {
    let long = "Say the same thing again, at such a length that a line of the screen has no room for it";
    let mut all = opened();
    for text in ["1", "2", "3"] {
        all.push(prompt());
        all.extend(writes("a-file-with-a-long-name-that-goes-on.txt", text));
        all.push(ends("end_turn"));
    }
    let mut chat = Scripted::sized(&[], all, 80, 24);
    chat.chat();
    for count in 1..=3 {
        chat.send(long);
        let ends = format!("return #vim.fn.split('{{}}', 'Done', 1) > {count}").replace(
            "'{}'",
            "table.concat(vim.api.nvim_buf_get_lines(require('acp').status().sessions[1].buffer, 0, -1, false))",
        );
        chat.nvim.wait_until(|nvim| nvim.exec_lua(&ends, []).as_bool() == Some(true), "the turn's end");
    }
    chat.nvim.stop_insert();
    chat.nvim.exec_lua(
        "_G.items = {}
         vim.fn.inputlist = function(items) _G.items = items return 0 end",
        [],
    );
    chat.nvim.command("Acp checkpoints");
    let items = "return #_G.items > 3 and table.concat(_G.items, '\\n', 2) or nil";
    chat.nvim.wait_until(|nvim| nvim.exec_lua(items, []).as_str().is_some(), "the list");
    let items = chat.nvim.exec_lua(items, []);
    let lines: Vec<&str> = items.as_str().expect("a text").lines().collect();
    let times: Vec<&str> = lines.iter().filter_map(|line| line.split(' ').nth(1)).collect();
    for time in &times {
        let minute = &time[..5];
        let shared = times.iter().filter(|other| other.starts_with(minute)).count() > 1;
        assert_eq!(time.len(), if shared { 8 } else { 5 }, "{lines:#?}");
    }
    assert!(times.iter().any(|time| time.len() == 8), "three turns in three minutes? {lines:#?}");
    for line in lines {
        assert!(line.chars().count() < 80, "{line:?} needs two lines");
        assert!(line.contains("Say the same") && line.contains("goes-on.txt +1"), "{line:?}");
    }
}

#[test]
fn files_are_put_back_to_before_one_of_a_turns_calls() {
    let call = |id: &str, path: &str| {
        update(json!({
            "sessionUpdate": "tool_call", "toolCallId": id, "title": format!("Edit {path}"), "kind": "edit",
            "status": "in_progress", "locations": [{ "path": format!("$PROJECT/{path}") }],
        }))
    };
    let mut all = opened();
    all.extend([prompt(), call("1", "a.txt")]);
    all.extend(writes("a.txt", "A\n"));
    all.push(call("2", "b.txt"));
    all.extend(writes("b.txt", "B\n"));
    all.extend([says("Both."), ends("end_turn")]);
    let mut chat = Scripted::new(&[("a.txt", "a\n"), ("b.txt", "b\n")], all);
    chat.chat();
    chat.send("Change both");
    chat.wait_for("Done");
    chat.nvim.stop_insert();
    answer_by_hand(&mut chat.nvim);
    chat.nvim.command("Acp checkpoints");
    insta::assert_snapshot!(picker(&mut chat), @r"
    Restore files to their state before
    HH:MM · Change both · a.txt and 1 more +2 -2
    HH:MM · in it: Edit b.txt
    ");
    choose(&mut chat, 2);
    assert!(preview(&mut chat).starts_with("Back to before \"Edit b.txt\": 1 file · 1 hunk"));
    restore(&mut chat, None);
    wait_told(&mut chat, "restored b.txt to before \"Edit b.txt\"");
    assert_eq!((chat.project.read("a.txt").as_str(), chat.project.read("b.txt").as_str()), ("A\n", "b\n"));
}

#[test]
fn a_picker_that_is_closed_changes_nothing_and_without_changes_there_is_nothing_to_choose() {
    let mut chat = Scripted::new(&[], opened());
    chat.chat();
    chat.nvim.stop_insert();
    chat.nvim.input(":Acp checkpoints<CR>");
    chat.nvim.wait_for_screen("there is no checkpoint yet");
    let mut chat = two_turns();
    chat.nvim.command("Acp checkpoints");
    picker(&mut chat);
    chat.nvim.exec_lua("local p = _G.picker; _G.picker = nil; p.answer(nil)", []);
    chat.nvim.command("Acp checkpoints");
    picker(&mut chat);
    assert_eq!(chat.project.read("a.txt"), "one\nTWO\nTHREE\n");
}

#[test]
fn an_agent_that_writes_itself_leaves_checkpoints_too() {
    let edit = |status: &str| {
        update(json!({ "sessionUpdate": "tool_call", "toolCallId": "e", "title": "Edit b.txt",
            "kind": "edit", "status": status, "locations": [{ "path": "$PROJECT/b.txt" }] }))
    };
    let told = update(json!({ "sessionUpdate": "tool_call", "toolCallId": "d", "title": "Edit c.txt",
        "kind": "edit", "status": "completed", "content": [
            { "type": "diff", "path": "$PROJECT/c.txt", "oldText": "uno", "newText": "UNO" },
        ] }));
    let mut all = opened();
    let asked = asks(
        "p",
        "session/request_permission",
        json!({
            "toolCall": { "toolCallId": "e" },
            "options": [{ "optionId": "yes", "name": "Allow", "kind": "allow_once" }],
        }),
    );
    all.extend([prompt(), edit("in_progress"), asked, answered("p")]);
    all.extend([edit("completed"), told, says("Over."), ends("end_turn")]);
    let mut chat = Scripted::new(&[("b.txt", "old\n"), ("c.txt", "UNO\ndue\n")], all);
    answer_by_hand(&mut chat.nvim);
    chat.chat();
    chat.send("Change it");
    picker(&mut chat);
    chat.project.write("b.txt", "new\nand more\n");
    choose(&mut chat, 1);
    chat.wait_for("Over.");
    chat.nvim.stop_insert();
    chat.nvim.command("Acp checkpoints");
    insta::assert_snapshot!(picker(&mut chat), @r"
    Restore files to their state before
    HH:MM · Change it · b.txt and 1 more +3 -2
    HH:MM · in it: Edit c.txt
    ");
    choose(&mut chat, 1);
    restore(&mut chat, None);
    wait_told(&mut chat, "restored 2 files");
    assert_eq!(chat.project.read("b.txt"), "old\n");
    assert_eq!(chat.project.read("c.txt"), "uno\ndue\n");
}

#[cfg(unix)]
#[test]
fn bytes_and_permissions_are_put_back_and_shown_in_words() {
    use std::os::unix::fs::PermissionsExt as _;
    let call = |status: &str| {
        let places = ["picture", "tool.sh", "gone.sh", "made/deep/er"]
            .map(|path| json!({ "path": format!("$PROJECT/{path}") }));
        update(json!({ "sessionUpdate": "tool_call", "toolCallId": "c", "title": "Make it", "kind": "edit",
            "status": status, "locations": places }))
    };
    let asked = asks(
        "p",
        "session/request_permission",
        json!({
            "toolCall": { "toolCallId": "c" },
            "options": [{ "optionId": "yes", "name": "Allow", "kind": "allow_once" }],
        }),
    );
    let script = "cd $PROJECT; printf 'a\\0bc' > picture; chmod 644 tool.sh; rm gone.sh; mkdir -p made/deep; echo x > made/deep/er";
    let all = [
        prompt(),
        call("in_progress"),
        asked,
        answered("p"),
        json!({ "run": ["sh", "-ec", script] }),
        call("completed"),
        says("Over."),
        ends("end_turn"),
    ];
    let files = [("picture", "\0".repeat(2500)), ("tool.sh", "echo\n".into()), ("gone.sh", "true".into())];
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, &**text)).collect();
    let mut chat = Scripted::new(&files, support::script::steps(all));
    for name in ["tool.sh", "gone.sh"] {
        let mode = std::fs::Permissions::from_mode(0o750);
        std::fs::set_permissions(chat.project.file(name), mode).expect("its mode");
    }
    answer_by_hand(&mut chat.nvim);
    chat.chat();
    chat.send("Change it");
    picker(&mut chat);
    choose(&mut chat, 1);
    chat.wait_for("Over.");
    chat.nvim.stop_insert();
    chat.nvim.command("Acp checkpoints");
    picker(&mut chat);
    choose(&mut chat, 1);
    insta::assert_snapshot!(preview(&mut chat), @r#"
    Back to before "Change it": 4 files · 2 hunks
    gx put back this hunk or file · gX put back all · <CR> go · q close · g? keys

    gone.sh  1 hunk · +1 -0 · comes back
      @@ 1
      + true
    made/deep/er  1 hunk · +0 -1 · was not there: is removed, and the folder made with it
      @@ 1
      - x
    picture  binary, 4 bytes becomes binary, 3 kB
    tool.sh  mode 644 to 750
    "#);
    restore(&mut chat, None);
    wait_told(&mut chat, "restored 4 files");
    let mode = |name: &str| {
        std::fs::metadata(chat.project.file(name)).expect("its facts").permissions().mode() & 0o777
    };
    assert_eq!((mode("tool.sh"), mode("gone.sh")), (0o750, 0o750));
    assert_eq!(chat.project.read("gone.sh"), "true");
    assert_eq!(chat.project.read("picture"), "\0".repeat(2500));
    assert!(!chat.project.file("made").exists());
}

#[test]
fn files_in_other_encodings_are_put_back_byte_for_byte() {
    let mut all = opened();
    all.push(prompt());
    all.extend(writes("a.txt", "\u{e4}\nTWO\n"));
    all.extend(writes("b.txt", "\u{e4}\r\nTWO"));
    all.extend([says("Done."), ends("end_turn")]);
    let mut chat = Scripted::new(&[], all);
    let wide = "\u{feff}\u{e4}\r\ntwo".encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    std::fs::write(chat.project.file("a.txt"), b"\xe4\ntwo\n").expect("a file");
    std::fs::write(chat.project.file("b.txt"), &wide).expect("a file");
    chat.nvim.command("edit ++enc=latin1 a.txt | edit ++enc=utf-16le b.txt");
    chat.chat();
    chat.send("Change two");
    chat.wait_for("Done.");
    chat.nvim.stop_insert();
    answer_by_hand(&mut chat.nvim);
    chat.nvim.command("wincmd h | Acp checkpoints");
    picker(&mut chat);
    choose(&mut chat, 1);
    restore(&mut chat, None);
    wait_told(&mut chat, "restored 2 files");
    assert_eq!(std::fs::read(chat.project.file("a.txt")).expect("a file"), b"\xe4\ntwo\n");
    assert_eq!(std::fs::read(chat.project.file("b.txt")).expect("a file"), wide);
    let buffers = "return table.concat(vim.tbl_map(function(name)
                     return table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr(name), 0, -1, false), ' ')
                   end, { 'a.txt', 'b.txt' }), ', ')";
    let are_back = |nvim: &mut Nvim| nvim.exec_lua(buffers, []).as_str() == Some("\u{e4} two, \u{e4} two");
    chat.nvim.wait_until(are_back, "the buffers to take what is there");
}

#[test]
fn another_neovim_finds_what_this_one_kept_and_says_what_is_damaged() {
    let mut first = two_turns();
    first.nvim.command("Acp checkpoints");
    picker(&mut first);
    let state = first.nvim.exec_lua("return vim.fn.stdpath('state')", []);
    let state = std::path::Path::new(state.as_str().expect("a path")).to_owned();
    let mut second = Nvim::start(Options {
        cwd: Some(first.project.path().to_owned()),
        env: vec![("XDG_STATE_HOME".into(), state.parent().expect("its folder").display().to_string())],
        ..Options::default()
    });
    let mut turns = Vec::new();
    for entry in std::fs::read_dir(state.join("acp/checkpoints")).expect("the folder").flatten() {
        let Ok(entries) = std::fs::read_dir(entry.path()) else { continue };
        turns.extend(entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()));
        std::fs::write(entry.path().join("0000000000001-1-1.jsonl"), "{\"at\":1,").expect("half a line");
    }
    assert_eq!(turns.len(), 2, "a record for each turn");
    answer_by_hand(&mut second);
    second.command("edit ignored.log");
    second.command("Acp checkpoints");
    let mut again = first;
    std::mem::swap(&mut again.nvim, &mut second);
    let shown = picker(&mut again);
    assert!(shown.contains("Change two · a.txt and 2 more +4 -3 · Fake"), "{shown}");
    wait_told(&mut again, "1 checkpoint can't be read in full");
    again.nvim.command("edit a.txt");
    for (line, asked) in [(2, "asked: Change two"), (3, "asked: Change three")] {
        again.nvim.input(&format!("ggOmine<Esc>{}G:Acp blame<CR>", line + 1));
        again.nvim.wait_for_screen(asked);
        again.nvim.input(":edit!<CR>");
    }
    again.nvim.input("1G:Acp blame<CR>");
    wait_told(&mut again, "no agent wrote this line, as far as is recorded");
    choose(&mut again, 2);
    restore(&mut again, Some("ignored.log"));
    wait_told(&mut again, "restored ignored.log; :Acp checkpoints undoes it");
    assert_eq!(again.project.read("ignored.log"), "a\r\nb");
    assert_eq!(again.project.read("a.txt"), "one\nTWO\nTHREE\n", "the others are left alone");
    for entry in std::fs::read_dir(state.join("acp/checkpoints")).expect("the folder").flatten() {
        let Ok(texts) = std::fs::read_dir(entry.path().join("texts")) else { continue };
        texts.flatten().for_each(|text| std::fs::write(text.path(), "broken").expect("to break it"));
    }
    again.nvim.command("Acp checkpoints");
    picker(&mut again);
    choose(&mut again, 3);
    again.nvim.wait_for_screen("can't be put back");
    restore(&mut again, Some("a.txt"));
    wait_told(&mut again, "couldn't restore a.txt: the checkpoint's text");
    wait_told(&mut again, "is damaged");
    assert_eq!(again.project.read("a.txt"), "one\nTWO\nTHREE\n");
}

#[test]
fn one_hunk_of_a_turn_is_put_back_after_a_look_at_it() {
    let mut chat = two_turns();
    chat.nvim.command("Acp checkpoints");
    picker(&mut chat);
    choose(&mut chat, 2);
    preview(&mut chat);
    chat.nvim.input("/+ a<CR>gx");
    wait_told(&mut chat, "restored ignored.log to before \"Change two\"");
    assert_eq!(chat.project.read("ignored.log"), "a\r\nb\r\nnoise", "the other hunk is as it was");
    let left = "ignored.log  1 hunk · +0 -1";
    chat.nvim.wait_until(|nvim| nvim.buffer_text(0).contains(left), "the hunk to go from the preview");
    chat.nvim.input("gg]cgx");
    wait_told(&mut chat, "restored a.txt to before \"Change two\"");
    let file = chat.nvim.exec_lua("return vim.fn.bufnr('a.txt')", []).as_u64().expect("a buffer");
    assert_eq!(chat.nvim.buffer_text(file), "one\ntwo\nthree");
    chat.nvim.input("ga");
    wait_told(&mut chat, "this shows what would be put back");
    chat.nvim.input("g?");
    chat.nvim.wait_for_screen("g? all keys");
    insta::assert_snapshot!(chat.nvim.buffer_text(0), @"
    gx    put back          <CR>  go to the line    [c    previous change
    gX    put back all      ]c    next change       q     close

    g? all keys · :Acp lists the commands
    ");
    chat.nvim.input("q");
    chat.nvim.input("q");
    chat.nvim.wait_until(|nvim| !nvim.screen().contains("acp://restore"), "the preview to close");
}

#[cfg(unix)]
#[test]
fn what_git_keeps_for_itself_stays_and_that_is_said_before_and_after() {
    let call = |status: &str| {
        update(json!({
            "sessionUpdate": "tool_call", "toolCallId": "c", "title": "commit", "kind": "execute", "status": status,
        }))
    };
    let git = "git -c user.name=A -c user.email=a@example.org";
    let script =
        format!("cd $PROJECT; echo two > a.txt; {git} commit -qam two; {git} init -q sub; echo x > sub/x");
    let all = [
        prompt(),
        call("in_progress"),
        json!({ "run": ["sh", "-ec", script] }),
        call("completed"),
        says("Over."),
        ends("end_turn"),
    ];
    let mut chat = Scripted::new(&[("a.txt", "one\n")], support::script::steps(all));
    let setup = format!("{git} init -q . && {git} add a.txt && {git} commit -qm one");
    let made =
        std::process::Command::new("sh").args(["-ec", &setup]).current_dir(chat.project.path()).status();
    assert!(made.expect("a shell").success());
    answer_by_hand(&mut chat.nvim);
    chat.chat();
    chat.send("Change it");
    chat.wait_for("Over.");
    chat.nvim.wait_for_screen("changed 2 files");
    chat.nvim.stop_insert();
    chat.nvim.command("Acp checkpoints");
    picker(&mut chat);
    choose(&mut chat, 1);
    insta::assert_snapshot!(preview(&mut chat), @r#"
    Back to before "Change it": 2 files · 2 hunks
    gx put back this hunk or file · gX put back all · <CR> go · q close · g? keys
    ! .git stays as it is: commits, HEAD and index are git's to put back
    ! sub/.git came since and stays: what git keeps for itself is not looked at

    a.txt  1 hunk · +1 -1
      @@ 1
      - two
      + one
    sub/x  1 hunk · +0 -1 · was not there: is removed
      @@ 1
      - x
    "#);
    restore(&mut chat, None);
    wait_told(&mut chat, "git's own state stays as it is; restored 2 files");
    assert_eq!(chat.project.read("a.txt"), "one\n");
    assert!(chat.project.file("sub/.git/HEAD").exists());
    assert!(!chat.project.file("sub/x").exists());
}

#[test]
fn one_hunk_of_a_restore_is_taken_back_and_what_was_not_saved_stays_unsaved() {
    let (changed, restored) = ("one\nTWO\nTHREE\n", "one\ntwo\nthree\n");
    for (typed, hunk, shown, saved) in [
        ("ggOmine<Esc>", "+ mine", format!("mine\n{restored}"), restored),
        ("ggOmine<Esc>", "+ TWO", changed.to_owned(), changed),
        ("Gomine<Esc>", "+ TWO", format!("{changed}mine\n"), changed),
    ] {
        let mut chat = two_turns();
        chat.nvim.input(typed);
        go_back_to(&mut chat, 2);
        picker(&mut chat);
        choose(&mut chat, 1);
        wait_told(&mut chat, "restored 3 files to before \"Change two\"");
        back_in_the_file(&mut chat);
        chat.nvim.command("write");
        chat.nvim.command("Acp checkpoints");
        picker(&mut chat);
        choose(&mut chat, 1);
        restore(&mut chat, Some(hunk));
        wait_told(&mut chat, "undid the restore of a.txt to before \"Change two\"");
        back_in_the_file(&mut chat);
        assert_eq!(format!("{}\n", chat.nvim.buffer_text(0)), shown, "{typed} {hunk}");
        assert_eq!(chat.project.read("a.txt"), saved, "{typed} {hunk}");
        assert_eq!(
            chat.nvim.exec_lua("return vim.bo.modified", []),
            (shown != saved).into(),
            "{typed} {hunk}"
        );
    }
}

/// What becomes of unsaved edits is to be read before a file goes, and what is left to be true after that.
#[test]
fn the_page_of_a_restore_says_all_on_a_small_screen_and_what_is_left_afterwards() {
    let mut all = opened();
    all.push(prompt());
    all.extend(writes("tour-of-acp.lua", "fresh\nlines\n"));
    all.extend([says("First."), ends("end_turn")]);
    let mut chat = Scripted::sized(&[("a.txt", "a\n")], all, 80, 24);
    chat.nvim.command("edit a.txt");
    chat.chat();
    chat.send("Make it");
    chat.wait_for("Done");
    chat.nvim.stop_insert();
    chat.nvim.command("wincmd h | edit tour-of-acp.lua");
    chat.nvim.input("Gomine<Esc>");
    answer_by_hand(&mut chat.nvim);
    chat.nvim.command("Acp checkpoints");
    picker(&mut chat);
    choose(&mut chat, 1);
    let shown = preview(&mut chat);
    assert!(shown.contains("\n    was not there: is removed · drops your unsaved edits\n"), "{shown}");
    restore(&mut chat, None);
    picker(&mut chat);
    choose(&mut chat, 1);
    wait_told(&mut chat, "restored tour-of-acp.lua; :Acp checkpoints undoes it");
    chat.nvim.wait_for_screen("Nothing has changed since then");
    assert!(!chat.nvim.screen().contains("1 hunk"), "{}", chat.nvim.screen());
    chat.nvim.command("call win_gotoid(bufwinid('tour-of-acp.lua'))");
    chat.nvim.input("u");
    chat.nvim.wait_for_screen("drops your unsaved edits");
    // The first one says that there is no such file any more.
    chat.nvim.exec_lua("pcall(vim.cmd.write) vim.cmd.write({ bang = true })", []);
    chat.nvim.wait_for_screen("tour-of-acp.lua  1 hunk · +0 -3 · was not there: is removed");
}
