//! What an agent has to do with beyond its project's open buffers: files that others change on the
//! disk, and files outside of the session's folders, which the user is asked about.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use serde_json::json;

use support::Nvim;
use support::project::TempProject;
use support::script::{Scripted, answered, asks, ends, prompt, says, steps, update};

// Changes on the disk.

#[test]
fn a_buffer_takes_what_another_program_writes_into_a_file_that_a_call_is_about() {
    let call = json!({ "sessionUpdate": "tool_call", "toolCallId": "1", "title": "Look", "kind": "read",
        "status": "completed", "locations": [{ "path": "$PROJECT/a.txt" }] });
    let script = steps([prompt(), update(call), ends("end_turn")]);
    let mut chat = Scripted::new(&[("a.txt", "one\n")], script);
    let path = chat.project.file("a.txt");
    chat.nvim.command(&format!("edit {}", path.display()));
    chat.chat();
    chat.send("Look");
    chat.wait_for("Done");
    let text = "return table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr('a.txt'), 0, -1, false), '\\n')";
    let mut number = 0;
    chat.nvim.wait_until(
        |nvim| {
            // When the background begins to watch it is not known.
            number += 1;
            std::fs::write(&path, format!("two {number}\n")).expect("a file");
            nvim.exec_lua(text, []).as_str().is_some_and(|text| text.starts_with("two"))
        },
        "the buffer to take the text",
    );
}

// Outside of the session's folders.

/// A folder beside the project with `a.txt` in it, and an agent that makes these requests of that file,
/// waits for all answers, and ends its turn.
fn outside(requests: &[(&str, &str)]) -> (Scripted, TempProject) {
    let other = TempProject::new(&[("a.txt", "theirs\n")]);
    let path = other.file("a.txt");
    let mut parts = vec![prompt()];
    for (id, method) in requests {
        let mut params = json!({ "path": path });
        if *method == WRITE {
            params["content"] = "new\n".into();
        }
        parts.push(asks(id, method, params));
    }
    parts.extend(requests.iter().map(|(id, _)| answered(id)));
    parts.extend([says("All answered."), ends("end_turn")]);
    (Scripted::new(&[("a.txt", "one\n")], steps(parts)), other)
}

const READ: &str = "fs/read_text_file";
const WRITE: &str = "fs/write_text_file";

/// Keeps what is offered, and leaves it to the test to choose with `_G.choose(number)`.
fn watch_pickers(nvim: &mut Nvim) {
    nvim.exec_lua(
        "_G.seen = {}
         vim.ui.select = function(items, options, choose)
           table.insert(_G.seen, options.prompt .. '\\n  ' .. table.concat(items, '\\n  '))
           _G.choose = function(number) choose(number and items[number], number) end
         end",
        [],
    );
}

fn wait_for_picker(nvim: &mut Nvim, number: u64) -> String {
    nvim.wait_until(|nvim| nvim.exec_lua("return #_G.seen", []).as_u64() == Some(number), "the picker");
    nvim.exec_lua("return _G.seen[#_G.seen]", []).as_str().expect("a text").to_owned()
}

fn choose(nvim: &mut Nvim, number: u64) {
    nvim.exec_lua("_G.choose(...)", [number.into()]);
}

/// Without the folder, whose name is another one in each run.
fn masked(text: &str, other: &TempProject, chat: &Scripted) -> String {
    text.replace(other.path().to_str().expect("text"), "/other")
        .replace(chat.project.path().to_str().expect("text"), "/project")
}

#[test]
fn a_file_outside_is_asked_for_in_the_chat_and_by_a_picker() {
    let (mut chat, other) = outside(&[("r", READ), ("w", WRITE), ("again", READ)]);
    watch_pickers(&mut chat.nvim);
    chat.chat();
    chat.send("Look");
    let picker = wait_for_picker(&mut chat.nvim, 1);
    insta::assert_snapshot!(masked(&picker, &other, &chat), @r"
    Fake asks to read /other/a.txt, outside of its folders
      Allow once
      Allow reading in /other for this session
      Always allow reading in /other
      Reject once
      Reject reading in /other for this session
    ");
    let text = chat.transcript();
    insta::assert_snapshot!(masked(&text[text.find("Fake asks").expect("it asks")..], &other, &chat), @r"
    Fake asks to read: /other/a.txt
        outside of the session's folders (/project)
        Allow this?
        1 Allow once
        2 Allow reading in /other for this session
        3 Always allow reading in /other
        4 Reject once
        5 Reject reading in /other for this session
    ");
    choose(&mut chat.nvim, 2);
    let picker = wait_for_picker(&mut chat.nvim, 2);
    assert!(picker.starts_with("Fake asks to write "), "{picker}");
    choose(&mut chat.nvim, 4);
    chat.wait_for("All answered.");
    assert_eq!(chat.answer("r")["result"]["content"], "theirs\n");
    assert_eq!(chat.answer("again")["result"]["content"], "theirs\n");
    let error = chat.answer("w")["error"]["message"].clone();
    assert!(error.as_str().is_some_and(|text| text.contains("the user did not allow it")), "{error}");
    assert_eq!(other.read("a.txt"), "theirs\n");
    for line in ["✓ Fake asked to read: ", " this session", "⊘ Fake asked to write: ", "refused"] {
        chat.nvim.wait_for_screen(line);
    }
}

/// Takes back what is allowed, in the picker of this number; gives what it said.
fn take_back_the_only_one(chat: &mut Scripted, number: u64) -> String {
    chat.nvim.command("Acp paths");
    let picker = wait_for_picker(&mut chat.nvim, number);
    choose(&mut chat.nvim, 1);
    chat.nvim.wait_until(
        |nvim| {
            nvim.command("Acp paths");
            nvim.messages().contains("may use no path outside")
        },
        "nothing to be allowed any more",
    );
    picker
}

#[test]
fn a_file_outside_is_allowed_by_command_and_never_asked_over_typing() {
    let (mut chat, _other) = outside(&[("r", READ)]);
    watch_pickers(&mut chat.nvim);
    chat.chat();
    chat.send("Look");
    chat.nvim.input("typing on");
    chat.wait_for("Allow this?");
    assert_eq!(chat.nvim.exec_lua("return #_G.seen", []).as_u64(), Some(0));
    chat.nvim.input("<Esc>");
    wait_for_picker(&mut chat.nvim, 1);
    chat.decide("allow always");
    chat.wait_for("All answered.");
    assert_eq!(chat.answer("r")["result"]["content"], "theirs\n");
    // The picker comes too late.
    choose(&mut chat.nvim, 4);
    let kept = "return table.concat(vim.fn.readfile(vim.fn.stdpath('state') .. '/acp-allowed.json'))";
    let kept = chat.nvim.exec_lua(kept, []).as_str().expect("a text").to_owned();
    assert!(kept.contains("\"access\": \"read\""), "{kept}");

    let picker = take_back_the_only_one(&mut chat, 2);
    assert!(picker.contains("reading in /") && picker.contains("(always)"), "{picker}");
}

#[test]
fn an_answer_about_a_command_elsewhere_is_about_it_and_allows_nothing_else() {
    let other = TempProject::new(&[("a.txt", "theirs\n")]);
    let run = |id: &str, args: &[&str]| {
        let create = json!({ "command": "ls", "args": args, "cwd": other.path() });
        [asks(id, "terminal/create", create), answered(id)]
    };
    let write = json!({ "path": other.file("a.txt"), "content": "new\n" });
    let parts = [prompt()]
        .into_iter()
        .chain(run("first", &["-a"]))
        .chain(run("again", &["-a"]))
        .chain(run("else", &["-l"]))
        .chain([asks("w", WRITE, write), answered("w"), says("All answered."), ends("end_turn")]);
    let mut chat = Scripted::new(&[], steps(parts));
    watch_pickers(&mut chat.nvim);
    chat.chat();
    chat.send("Look");
    let picker = wait_for_picker(&mut chat.nvim, 1);
    insta::assert_snapshot!(masked(&picker, &other, &chat), @r"
    Fake asks to run ls -a in /other, outside of its folders
      Allow once
      Allow running this command in /other for this session
      Reject once
      Reject running this command in /other for this session
    ");
    choose(&mut chat.nvim, 2);
    // The same runs, another one is asked about; and nothing may be written there.
    let picker = wait_for_picker(&mut chat.nvim, 2);
    assert!(picker.starts_with("Fake asks to run ls -l in "), "{picker}");
    choose(&mut chat.nvim, 3);
    let picker = wait_for_picker(&mut chat.nvim, 3);
    assert!(picker.starts_with("Fake asks to write "), "{picker}");
    choose(&mut chat.nvim, 4);
    chat.wait_for("All answered.");
    for id in ["first", "again"] {
        assert!(chat.answer(id)["result"]["terminalId"].is_string(), "{id}");
    }
    assert!(chat.answer("else")["error"].is_object());
    let picker = take_back_the_only_one(&mut chat, 4);
    assert!(picker.contains("running ls -a in /") && picker.contains("until session"), "{picker}");
}

#[test]
fn a_picker_that_is_closed_allows_nothing() {
    let (mut chat, _other) = outside(&[("r", READ)]);
    watch_pickers(&mut chat.nvim);
    chat.chat();
    chat.send("Look");
    wait_for_picker(&mut chat.nvim, 1);
    chat.nvim.exec_lua("_G.choose(nil)", []);
    assert!(!chat.record().iter().any(|line| line["id"] == "r"), "closing it is no answer");
    chat.decide("reject");
    chat.wait_for("All answered.");
    assert_eq!(chat.answer("r")["error"]["code"], -32602);
}

#[test]
fn cancelling_the_turn_answers_what_waits_for_a_file_outside() {
    let other = TempProject::new(&[("a.txt", "theirs\n")]);
    let path = other.file("a.txt");
    let mut chat = Scripted::new(
        &[],
        steps([
            prompt(),
            asks("r", READ, json!({ "path": path })),
            asks("w", WRITE, json!({ "path": path, "content": "new\n" })),
            answered("r"),
            answered("w"),
            ends("cancelled"),
        ]),
    );
    watch_pickers(&mut chat.nvim);
    chat.chat();
    chat.send("Look");
    wait_for_picker(&mut chat.nvim, 1);
    chat.nvim.command("Acp cancel");
    chat.wait_for("Cancelled · ");
    for id in ["r", "w"] {
        assert_eq!(chat.answer(id)["error"]["code"], -32800);
    }
    choose(&mut chat.nvim, 3);
    assert_eq!(other.read("a.txt"), "theirs\n");
    chat.nvim.command("Acp paths");
    chat.nvim.wait_until(|nvim| nvim.messages().contains("may use no path outside"), "nothing to be allowed");
}

#[test]
fn the_options_refuse_or_allow_without_a_question() {
    let (mut chat, other) = outside(&[("r", READ), ("w", WRITE)]);
    watch_pickers(&mut chat.nvim);
    chat.chat();
    // From now on, also for agents that run.
    let configure = "require('acp').setup({ files = { outside = 'refuse', allowed = { read = { ... } } } })";
    chat.nvim.exec_lua(configure, [other.path().to_str().expect("text").into()]);
    chat.send("Look");
    chat.wait_for("All answered.");
    assert_eq!(chat.answer("r")["result"]["content"], "theirs\n");
    assert_eq!(chat.answer("w")["error"]["code"], -32602);
    assert_eq!(chat.nvim.exec_lua("return #_G.seen", []).as_u64(), Some(0));
    assert!(chat.transcript().contains("couldn't write"));
}
