//! The inspector: the page of messages as they come, its filter, pairs and problems, and a message as one reads it. The
//! agents are scripted; the Neovim, the processes and the pipes are real.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use serde_json::{Value, json};

use support::Nvim;
use support::project::TempProject;
use support::script::{Scripted, ends, opened, prompt, says, update};

/// A turn with what an inspector is there for.
fn odd_turn() -> Vec<Value> {
    vec![
        prompt(),
        says("Hello."),
        update(json!({ "sessionUpdate": "hologram", "depth": 3 })),
        json!({ "send": { "id": "q1", "method": "session/blink", "params": { "sessionId": "s1", "token": "t-0-p" } } }),
        json!({ "expect_reply": "q1", "to": "q1" }),
        ends("end_turn"),
    ]
}

fn scripted(size: (u16, u16), turns: usize) -> Scripted {
    let steps = opened().into_iter().chain((0..turns).flat_map(|_| odd_turn()));
    Scripted::sized(&[], steps.collect(), size.0, size.1)
}

/// Plays a turn and waits for its end.
fn ask(chat: &mut Scripted) {
    chat.send("go");
    chat.nvim.wait_until(
        |nvim| nvim.exec_lua("return require('acp').status().sessions[1].state", []).as_str() == Some("idle"),
        "the turn to end",
    );
}

/// The lines of the page, without times of day and how long things took.
fn lines(nvim: &mut Nvim) -> Vec<String> {
    let code = "local buf = vim.fn.bufnr('acp://messages')
                return table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), '\\n')";
    let text = nvim.exec_lua(code, []).as_str().unwrap_or_default().to_owned();
    text.lines().map(timeless).collect()
}

fn timeless(line: &str) -> String {
    let is_time =
        line.get(2..14).is_some_and(|time| time.as_bytes()[2] == b':' && time.as_bytes()[8] == b'.');
    if !is_time {
        return line.to_owned();
    }
    let line = format!("{}hh:mm:ss.mmm{}", &line[..2], &line[14..]);
    match line.rfind(" ms").filter(|at| at + 3 == line.trim_end().len()) {
        Some(end) => {
            let start = line[..end].rfind(' ').unwrap_or(end);
            format!("{} - ms", line[..start].trim_end())
        }
        None => line.trim_end().to_owned(),
    }
}

/// The screen without what is another one each time.
fn screen(nvim: &mut Nvim) -> String {
    nvim.screen().lines().map(timeless).collect::<Vec<_>>().join("\n")
}

fn wait_for_lines(nvim: &mut Nvim, what: &str, fits: impl Fn(&[String]) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    nvim.wait_until(
        |nvim| {
            found = lines(nvim);
            fits(&found)
        },
        what,
    );
    found
}

/// Waits until all of a turn stands in the page.
fn wait_for_turn(nvim: &mut Nvim) -> Vec<String> {
    let is_over = |lines: &[String]| lines.iter().any(|line| line.contains("answer to session/prompt"));
    wait_for_lines(nvim, "the turn", is_over)
}

fn row_of(lines: &[String], text: &str) -> usize {
    let row = lines.iter().position(|line| line.contains(text));
    row.unwrap_or_else(|| panic!("no {text:?} in {lines:#?}")) + 1
}

fn go_to(nvim: &mut Nvim, row: usize) {
    nvim.command(&format!("call cursor({row}, 1)"));
}

#[test]
fn the_page_says_first_how_it_fills_and_shows_each_message_as_it_comes() {
    let mut chat = scripted((170, 30), 1);
    chat.nvim.command("Acp inspect");
    chat.nvim.wait_for_screen("No message yet.");
    chat.nvim.command("wincmd p");
    chat.chat();
    let all = wait_for_lines(&mut chat.nvim, "the start", |lines| {
        lines.iter().any(|line| line.contains("answer to session/new"))
    });
    assert!(
        all[0].contains("\u{2192} initialize") && all[1].contains("\u{2190} answer to initialize"),
        "{all:#?}"
    );
    ask(&mut chat);
    let all = wait_for_turn(&mut chat.nvim);
    assert!(all[row_of(&all, "hologram") - 1].starts_with("! "), "{all:#?}");
    assert!(all[row_of(&all, "hologram") - 1].contains("unknown update"), "{all:#?}");
    assert!(all[row_of(&all, "session/blink \u{b7} unknown method") - 1].contains("#q1"), "{all:#?}");
    assert!(
        all.iter().any(|line| line.contains("\u{2192} answer to session/") && line.contains("error -32601")),
        "{all:#?}"
    );
}

#[test]
fn what_came_before_anybody_looked_is_there_at_both_sizes() {
    for (columns, rows) in [(80, 24), (140, 40)] {
        let mut chat = scripted((columns, rows), 1);
        chat.chat();
        ask(&mut chat);
        chat.nvim.stop_insert();
        chat.nvim.command("only | Acp inspect");
        wait_for_lines(&mut chat.nvim, "the turn", |lines| {
            lines.iter().any(|line| line.contains("answer to session/prompt"))
        });
        chat.nvim.wait_for_screen("answer to session/prompt");
        let shown = screen(&mut chat.nvim);
        let messages = shown.lines().filter(|line| line.contains("hh:mm:ss.mmm") && !line.contains("note: "));
        // How long the path of the project is makes a difference.
        let cut = |line: &str| line.find("\u{2192} session/new  ").map_or(line.len(), |at| at + 15);
        let messages: Vec<&str> = messages.map(|line| &line[..cut(line)]).collect();
        assert!(messages.len() > 7, "{shown}");
        support::screens::assert_looks(&format!("inspector/{columns}x{rows}"), &messages.join("\n"));
    }
}

#[test]
fn a_filter_holds_while_it_is_typed_also_for_what_stands_inside_of_messages() {
    let mut chat = scripted((100, 30), 2);
    chat.chat();
    ask(&mut chat);
    chat.nvim.stop_insert();
    chat.nvim.command("Acp inspect");
    let all = wait_for_lines(&mut chat.nvim, "the turn", |lines| lines.len() > 8);
    chat.nvim.input("f");
    chat.nvim.wait_for_screen("method:m \u{b7} size>10k \u{b7} time>1s \u{2500}");
    chat.nvim.resize(80, 24);
    chat.nvim.input("<C-c>f");
    chat.nvim.wait_for_screen("#id \u{b7} method:m \u{2500}");
    chat.nvim.resize(100, 30);
    chat.nvim.input("hello.");
    let found = wait_for_lines(&mut chat.nvim, "the text in a message", |lines| lines.len() == 1);
    assert!(found[0].contains("agent_message_chunk"), "{found:#?}");
    chat.nvim.input("<CR>F");
    wait_for_lines(&mut chat.nvim, "all", |lines| lines == all);
    chat.nvim.input("!");
    let wrong = wait_for_lines(&mut chat.nvim, "problems", |lines| lines.len() < all.len());
    assert!(wrong.iter().all(|line| line.starts_with("! ")) && wrong.len() == 3, "{wrong:#?}");
    chat.nvim.input("!fnowhere<CR>");
    wait_for_lines(&mut chat.nvim, "nothing", |lines| lines[0].starts_with("No message passes this filter"));
    // What comes while a filter holds is held against it too.
    chat.nvim.input("FfHELLO.<Esc>");
    wait_for_lines(&mut chat.nvim, "one", |lines| lines.len() == 1 && lines[0].contains("chunk"));
    chat.nvim.exec_lua("require('acp').send('again')", []);
    wait_for_lines(&mut chat.nvim, "another", |lines| lines.len() == 2);
}

#[test]
fn a_request_and_its_answer_lead_to_each_other_and_a_message_opens_folded_without_secrets() {
    let mut chat = scripted((100, 30), 1);
    chat.chat();
    ask(&mut chat);
    chat.nvim.stop_insert();
    chat.nvim.command("Acp inspect");
    let all = wait_for_turn(&mut chat.nvim);
    let line = |nvim: &mut Nvim| nvim.exec_lua("return vim.fn.line('.')", []).as_u64().unwrap_or(0) as usize;
    let (asked, answered) = (row_of(&all, "session/blink \u{b7}"), row_of(&all, "answer to session/blink"));
    go_to(&mut chat.nvim, asked);
    chat.nvim.input("%");
    chat.nvim.wait_until(|nvim| line(nvim) == answered, "the answer");
    chat.nvim.input("%");
    chat.nvim.wait_until(|nvim| line(nvim) == asked, "the request");
    chat.nvim.input("<CR>");
    chat.nvim.wait_for_screen("\"method\": \"session/blink\"");
    let text = chat.nvim.buffer_text(0);
    assert!(text.contains("\n  \"method\": "), "{text}");
    assert!(text.contains("\"token\": \"[hidden]\"") && !text.contains("t-0-p"), "{text}");
    let folded = "return { vim.wo.foldenable, vim.bo.modifiable, vim.bo.syntax ~= '' or
                  vim.treesitter.highlighter.active[vim.api.nvim_get_current_buf()] ~= nil }";
    let facts = chat.nvim.exec_lua(folded, []);
    assert_eq!(format!("{facts}"), "[true, false, true]");
    chat.nvim.input("q");
    chat.nvim.wait_until(
        |nvim| nvim.exec_lua("return vim.bo.filetype", []).as_str() == Some("acp-messages"),
        "the page",
    );
    chat.nvim.input("g?");
    chat.nvim.wait_for_screen("request or answer");
}

#[test]
fn a_long_message_and_what_is_none_are_not_given_to_a_parser_that_may_take_long() {
    let entry = json!({ "content": "Long.", "priority": "low", "status": "pending" });
    let parts = [
        prompt(),
        says("Short."),
        update(json!({ "sessionUpdate": "plan", "entries": vec![entry; 300] })),
        json!({ "raw": "[[[[ no message\n" }),
        ends("end_turn"),
    ];
    let mut chat = Scripted::sized(&[], opened().into_iter().chain(parts).collect(), 100, 30);
    chat.chat();
    ask(&mut chat);
    chat.nvim.stop_insert();
    chat.nvim.exec_lua("vim.treesitter.start = function(_, lang) _G.parsed = lang end", []);
    chat.nvim.command("Acp inspect");
    let all = wait_for_turn(&mut chat.nvim);
    let short = row_of(&all, "agent_message_chunk");
    for (row, shown, parsed, syntax) in [
        (short, "\"text\": \"Short.\"", Some("json"), "acp-message"),
        (short + 1, "\"content\": \"Long.\"", None, "json"),
        (short + 2, "[[[[ no message", None, "acp-message"),
    ] {
        chat.nvim.exec_lua("_G.parsed = nil", []);
        go_to(&mut chat.nvim, row);
        chat.nvim.input("<CR>");
        chat.nvim.wait_until(
            |nvim| {
                let here = "return vim.bo.filetype == 'acp-message'";
                nvim.exec_lua(here, []) == true.into() && nvim.buffer_text(0).contains(shown)
            },
            shown,
        );
        assert_eq!(chat.nvim.exec_lua("return _G.parsed", []).as_str(), parsed, "{shown}");
        assert_eq!(chat.nvim.exec_lua("return vim.bo.syntax", []).as_str(), Some(syntax), "{shown}");
        chat.nvim.input("q");
    }
}

#[test]
fn an_agent_that_died_leaves_its_messages_and_what_it_owed() {
    let mut steps = opened();
    steps.extend([prompt(), json!({ "exit": 3 })]);
    let mut chat = Scripted::sized(&[], steps, 100, 30);
    chat.chat();
    chat.send("go");
    chat.nvim.wait_for_screen("exit");
    chat.nvim.stop_insert();
    chat.nvim.command("Acp inspect");
    let all =
        wait_for_lines(&mut chat.nvim, "the end", |lines| lines.iter().any(|line| line.contains("ended: ")));
    assert!(all[row_of(&all, "session/prompt") - 1].contains("never answered"), "{all:#?}");
    // The page follows in a second window, and at another size.
    chat.nvim.command("split");
    chat.nvim.resize(60, 20);
    wait_for_lines(&mut chat.nvim, "narrow lines", |lines| {
        lines.iter().all(|line| line.chars().count() <= 60)
    });
}

/// What a command says that fails.
fn failure(nvim: &mut Nvim, command: &str) -> String {
    let code = "local command = ...
                _G.said = nil
                vim.notify = function(text) _G.said = text end
                local ok, why = pcall(vim.cmd, command)
                if not ok then _G.said = why end";
    nvim.exec_lua(code, [command.into()]);
    let mut said = String::new();
    nvim.wait_until(
        |nvim| {
            let text =
                nvim.exec_lua("return _G.said or vim.v.errmsg", []).as_str().unwrap_or_default().to_owned();
            said = text;
            !said.is_empty()
        },
        "an error",
    );
    said
}

#[test]
fn a_recording_is_shown_without_names_and_secrets_before_it_is_saved() {
    let mut chat = scripted((100, 30), 1);
    chat.chat();
    ask(&mut chat);
    chat.nvim.stop_insert();
    let file = chat.project.file("bug.jsonl");
    chat.nvim.command("Acp record bug.jsonl");
    chat.nvim.wait_until(
        |nvim| nvim.exec_lua("return vim.bo.filetype", []).as_str() == Some("acp-recording"),
        "the recording",
    );
    assert!(!file.exists(), "nothing is written before it was read");
    let shown = chat.nvim.buffer_text(0);
    let project = chat.project.path().to_string_lossy().into_owned();
    assert!(!shown.contains(&project) && shown.contains("\"cwd\":\"/project\""), "{shown}");
    assert!(!shown.contains("t-0-p") && shown.contains("\"token\":\"[hidden]\""), "{shown}");
    chat.nvim.wait_for_screen(":w saves");
    // What the user takes out is not saved.
    chat.nvim.command("g/hologram/d");
    chat.nvim.command("write");
    chat.nvim.wait_until(|_| file.exists(), "the file");
    chat.nvim.wait_until(
        |nvim| nvim.exec_lua("return vim.bo.filetype", []).as_str() != Some("acp-recording"),
        "the buffer to close",
    );
    let saved = std::fs::read_to_string(&file).expect("the file");
    let lines: Vec<Value> = saved.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert!(
        lines.iter().any(|line| line["dir"] == "client->agent" && line["msg"]["method"] == "session/prompt")
    );
    assert!(!saved.contains("hologram"), "{saved}");
    let said = failure(&mut chat.nvim, "Acp record bug.jsonl");
    assert!(said.contains("exists; :Acp! record replaces it"), "{said}");
    let said = failure(&mut chat.nvim, "Acp record nowhere/bug.jsonl");
    assert!(said.contains("there is no folder"), "{said}");
    // With a ! it is replaced; `q` abandons it.
    chat.nvim.command("Acp! record bug.jsonl");
    chat.nvim.wait_for_screen(":w saves");
    chat.nvim.input("q");
    chat.nvim.wait_until(
        |nvim| nvim.exec_lua("return vim.bo.filetype", []).as_str() != Some("acp-recording"),
        "the buffer to close",
    );
    assert_eq!(std::fs::read_to_string(&file).expect("the file"), saved);
}

#[test]
fn with_nothing_to_record_it_is_said_what_to_do() {
    let mut chat = scripted((100, 30), 0);
    let said = failure(&mut chat.nvim, "Acp record bug.jsonl");
    assert!(said.contains(":AcpChat starts one"), "{said}");
    let said = failure(&mut chat.nvim, "Acp record");
    assert!(said.contains("name the file"), "{said}");
}

const RECORDING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/");

/// The transcript of the newest session.
fn transcript(nvim: &mut Nvim) -> String {
    let code = "local sessions = require('acp').status().sessions
                local session = sessions[#sessions]
                return session and table.concat(vim.api.nvim_buf_get_lines(session.buffer, 0, -1, false), '\\n') or ''";
    nvim.exec_lua(code, []).as_str().unwrap_or_default().to_owned()
}

fn wait_for_transcript(nvim: &mut Nvim, text: &str) -> String {
    let mut found = String::new();
    nvim.wait_until(
        |nvim| {
            found = transcript(nvim);
            found.contains(text)
        },
        text,
    );
    found
}

#[test]
fn a_recording_is_played_into_a_chat_and_touches_nothing() {
    let mut chat = scripted((100, 30), 0);
    // The recording edits a file of this folder, which a player that wrote would make.
    let place = TempProject::new(&[]);
    let folder = place.file("project");
    let text =
        std::fs::read_to_string(format!("{RECORDING}claude-code-acp-edit.jsonl")).expect("the recording");
    assert!(text.contains("\"/project/notes.txt\""), "the recording names other files");
    place.write("recording.jsonl", &text.replace("/project", &folder.to_string_lossy()));
    chat.nvim.command(&format!("Acp replay {} max", place.file("recording.jsonl").display()));
    let text = wait_for_transcript(&mut chat.nvim, "The recording is over");
    assert!(text.contains("The recorded answer: "), "{text}");
    assert!(!folder.exists(), "playing a recording made {}", folder.display());
    // Nor are the folders of the recording looked after, which may be large.
    let threads = chat.nvim.exec_lua(
        "local names = {}
         for _, file in ipairs(vim.fn.glob('/proc/self/task/*/comm', false, true)) do
           vim.list_extend(names, vim.fn.readfile(file))
         end
         return table.concat(names, ' ')",
        [],
    );
    assert!(!threads.as_str().is_some_and(|names| names.contains("acp-index")), "{threads}");
    assert!(chat.nvim.processes().iter().all(|process| !format!("{process:?}").contains("acp-demo-agent")));
    chat.nvim.stop_insert();
    chat.nvim.command("Acp close");
    chat.nvim.wait_until(
        |nvim| nvim.exec_lua("return #require('acp').status().sessions", []).as_u64() == Some(0),
        "the chat to close",
    );
}

#[test]
fn a_recording_of_the_second_version_is_played_into_a_chat() {
    let mut chat = scripted((100, 30), 0);
    chat.nvim.command(&format!("Acp replay {RECORDING}claude-agent-acp101-v2.jsonl max"));
    let text = wait_for_transcript(&mut chat.nvim, "The recording is over");
    assert!(text.contains("The recorded answer: ") && text.contains("Cancelled · "), "{text}");
    chat.nvim.wait_for_screen("played to its end");
    // Nobody is there to send a prompt to.
    chat.nvim.wait_for_screen(":Acp close ends it");
    assert!(!chat.nvim.grid().text().contains("<C-s> send"), "{}", chat.nvim.grid().text());
    chat.nvim.input("ihello<C-s>");
    chat.nvim.wait_for_screen("a recording answers nobody");
    assert!(!transcript(&mut chat.nvim).contains("The turn failed"));
    chat.nvim.wait_for_screen("hello");
}

#[test]
fn a_replay_can_be_played_message_by_message() {
    let mut chat = scripted((80, 24), 0);
    chat.nvim.command(&format!("Acp replay {RECORDING}sdk-example-stream.jsonl step"));
    chat.nvim.wait_for_screen("Recording of");
    chat.nvim.wait_for_screen(":Acp replay plays the next message");
    chat.nvim.wait_for_screen("So does ]m in this window");
    chat.nvim.wait_for_screen("by steps");
    assert!(!chat.nvim.grid().text().contains("Ask for a change"), "{}", chat.nvim.grid().text());
    let before = transcript(&mut chat.nvim);
    chat.nvim.command("Acp replay");
    let after = wait_for_transcript(&mut chat.nvim, "mock: think");
    assert!(!before.contains("mock: think") && !after.contains("help you with that"), "{after}");
    chat.nvim.command("Acp replay");
    wait_for_transcript(&mut chat.nvim, "help you with that");
    // Some messages show nothing in the transcript.
    chat.nvim.wait_until(
        |nvim| {
            nvim.command("Acp replay");
            transcript(nvim).contains("The recording is over")
        },
        "the end",
    );
    // As the turn ended, in the recorded time; nothing comes after it.
    let text = transcript(&mut chat.nvim);
    assert!(text.contains("\nDone · "), "{text}");
    chat.nvim.wait_for_screen("played to its end");
    let said = failure(&mut chat.nvim, "Acp replay");
    assert!(said.contains("the recording is over; :Acp close ends it"), "{said}");
}

#[test]
fn a_broken_recording_is_refused_with_its_line() {
    let mut chat = scripted((100, 30), 0);
    chat.project.write("broken.jsonl", "{\"t\":0,\"dir\":\"note\",\"note\":\"x\"}\n{\"t\":1,");
    let said = failure(&mut chat.nvim, "Acp replay broken.jsonl");
    assert!(said.contains("couldn't replay") && said.contains("line 2: "), "{said}");
    chat.project.write("notes.md", "# Notes\n");
    let said = failure(&mut chat.nvim, "Acp replay notes.md");
    assert!(said.contains("notes.md: it is no recording of :Acp record"), "{said}");
    let said = failure(&mut chat.nvim, "Acp replay nowhere.jsonl");
    assert!(said.contains("there is no such file"), "{said}");
    let said = failure(&mut chat.nvim, "Acp replay broken.jsonl fast");
    assert!(said.contains("is no speed"), "{said}");
}

#[test]
fn a_file_that_is_no_recording_is_refused_and_says_why() {
    let mut chat = scripted((100, 30), 0);
    let foreign = "{\"level\":\"info\",\"msg\":\"started\"}\n{\"level\":\"warn\",\"msg\":{\"id\":1}}\n";
    for (text, said) in [
        (b"".as_slice(), "there is no session in it"),
        (b"\n\n", "there is no session in it"),
        (foreign.as_bytes(), "line 1: "),
        (b"[1, 2]\n", "line 1: "),
        (b"\x89PNG\r\n\x1a\n\0\0", "line 1: "),
        (b"{\"t\":0,\"dir\":\"agent->client\",\"msg\":\"\"}\n", "line 1: "),
        (b"{\"t\":0,\"dir\":\"sideways\",\"msg\":{}}\n", "line 1: "),
    ] {
        std::fs::write(chat.project.file("other.jsonl"), text).expect("the file");
        let told = failure(&mut chat.nvim, "Acp replay other.jsonl");
        assert!(told.contains("couldn't replay") && told.contains(said), "{text:?}: {told}");
    }
}

#[test]
fn a_recording_that_can_not_be_saved_stays_on_the_screen() {
    let mut chat = scripted((100, 30), 1);
    chat.chat();
    ask(&mut chat);
    chat.nvim.stop_insert();
    let folder = chat.project.file("sub");
    std::fs::create_dir(&folder).expect("a folder");
    chat.nvim.command("Acp record sub/bug.jsonl");
    chat.nvim.wait_for_screen(":w saves");
    std::fs::remove_dir(&folder).expect("the folder");
    chat.nvim.command("write");
    chat.nvim.wait_for_screen("couldn't");
    assert_eq!(chat.nvim.exec_lua("return vim.bo.filetype", []).as_str(), Some("acp-recording"));
    assert!(chat.nvim.buffer_text(0).contains("session/prompt"));
    // Once it can be, it is.
    std::fs::create_dir(&folder).expect("a folder");
    chat.nvim.command("write");
    chat.nvim.wait_until(|_| folder.join("bug.jsonl").exists(), "the file");
}

#[test]
fn the_last_of_a_hundred_thousand_messages_and_a_huge_one_are_shown_in_no_time() {
    let chunk = json!({ "jsonrpc": "2.0", "method": "session/update", "params": { "sessionId": "s1",
        "update": { "sessionUpdate": "agent_thought_chunk", "content": { "type": "text", "text": "x " } } } });
    let huge = json!({ "jsonrpc": "2.0", "method": "session/update", "params": { "sessionId": "s1",
        "update": { "sessionUpdate": "tool_call", "toolCallId": "c", "title": "huge", "rawInput": "h".repeat(5 << 20) } } });
    let parts = [
        prompt(),
        json!({ "repeat": 100, "steps": [{ "raw": format!("{chunk}\n").repeat(1000) }] }),
        json!({ "raw": format!("{huge}\n") }),
        says("Done."),
        ends("end_turn"),
    ];
    let mut chat = Scripted::sized(&[], opened().into_iter().chain(parts).collect(), 100, 30);
    chat.chat();
    ask(&mut chat);
    chat.nvim.stop_insert();
    let took = "local begun = vim.uv.hrtime()
                vim.cmd('Acp inspect')
                return (vim.uv.hrtime() - begun) / 1e6";
    let opening = chat.nvim.exec_lua(took, []).as_f64().expect("a number");
    let all = wait_for_lines(&mut chat.nvim, "the end of the turn", |lines| {
        lines.last().is_some_and(|line| line.contains("answer to a request that is not here"))
    });
    // The beginning was given up, and the request with it, which is nothing wrong; the end is whole.
    assert!(all.len() >= 5_000 && all.len() < 100_000, "{}", all.len());
    assert!(!chat.nvim.screen().contains("answers nothing"), "{}", chat.nvim.screen());
    assert!(opening < 500.0, "{opening} ms");
    let row = row_of(&all, "tool_call");
    assert!(all[row - 1].contains("5.") && all[row - 1].contains("MB"), "{}", all[row - 1]);
    go_to(&mut chat.nvim, row);
    chat.nvim.input("<CR>");
    chat.nvim.wait_until(
        |nvim| nvim.exec_lua("return vim.bo.filetype", []).as_str() == Some("acp-message"),
        "the message",
    );
    assert!(chat.nvim.buffer_text(0).len() < 1 << 20, "only its beginning is kept");
}

/// The bar of the current window as it is drawn, and the window's width.
fn bar(nvim: &mut Nvim) -> (String, usize) {
    let code = "return { vim.api.nvim_eval_statusline(vim.wo.winbar, { use_winbar = true }).str, vim.fn.winwidth(0) }";
    let found = nvim.exec_lua(code, []);
    let width = found[1].as_u64().expect("a width") as usize;
    (found[0].as_str().expect("a text").to_owned(), width)
}

/// Whether all that a bar says is one of these, whole and apart from the others.
fn says_whole_parts(bar: &str, parts: &[&str]) -> bool {
    let mut said = bar.split(" \u{b7} ").flat_map(|part| part.split("  ")).map(str::trim);
    said.all(|part| part.is_empty() || parts.contains(&part))
}

#[test]
fn a_bar_that_is_too_long_for_its_window_is_left_whole_parts() {
    let mut chat = scripted((140, 40), 2);
    chat.chat();
    ask(&mut chat);
    ask(&mut chat);
    chat.nvim.stop_insert();
    let filter = "method:session -nowhere";
    let named = format!("filter: {filter}");
    for (page, title) in [("inspect", "Messages"), ("audit", "Record")] {
        chat.nvim.resize(140, 40);
        chat.nvim.command(&format!("only | Acp {page}"));
        let is_filtered = |nvim: &mut Nvim| {
            let bar = bar(nvim).0;
            bar.contains(&named) && (page == "audit" || !bar.contains(" 0 shown"))
        };
        if page == "inspect" {
            chat.nvim.input(&format!("f{filter}<CR>"));
        } else {
            chat.nvim.command(&format!("Acp audit {filter}"));
        }
        chat.nvim.wait_until(is_filtered, "the filter in the bar");
        let whole = bar(&mut chat.nvim).0;
        let parts: Vec<&str> =
            whole.split(" \u{b7} ").flat_map(|part| part.split("  ")).map(str::trim).collect();
        for (columns, rows) in [(80, 24), (60, 24), (140, 40)] {
            chat.nvim.resize(columns, rows);
            let fits = |nvim: &mut Nvim| {
                let (bar, width) = bar(nvim);
                bar.chars().count() == width
                    && bar.trim_start().starts_with(title)
                    && bar.contains(&named)
                    && bar
                        .strip_suffix("g? keys ")
                        .map(|rest| rest.trim_end_matches("f filter \u{b7} "))
                        .is_some_and(|rest| rest.ends_with(' ') && says_whole_parts(rest, &parts))
            };
            chat.nvim.wait_until(fits, &format!("whole parts of {whole:?} at {columns} in {page}"));
        }
    }
}

#[test]
fn a_message_says_above_it_what_has_room() {
    let mut chat = scripted((80, 24), 1);
    chat.chat();
    ask(&mut chat);
    chat.nvim.stop_insert();
    chat.nvim.command("only | Acp inspect");
    let all = wait_for_turn(&mut chat.nvim);
    go_to(&mut chat.nvim, row_of(&all, "session/blink \u{b7}"));
    chat.nvim.input("<CR>");
    let is_message = |nvim: &mut Nvim| bar(nvim).0.starts_with(" session/blink #\"q1\" \u{b7} received ");
    chat.nvim.wait_until(is_message, "the message");
    chat.nvim.command("vsplit | vertical resize 30");
    let is_short = |nvim: &mut Nvim| bar(nvim).0.trim_end() == " session/blink #\"q1\"";
    chat.nvim.wait_until(is_short, "what has room in a narrow window");
}

#[test]
fn a_filter_goes_to_the_nearest_hit_and_leaves_no_blank_lines() {
    let mut chat = scripted((80, 24), 30);
    chat.chat();
    for _ in 0..30 {
        ask(&mut chat);
    }
    chat.nvim.stop_insert();
    chat.nvim.command("only | Acp inspect");
    let all = wait_for_lines(&mut chat.nvim, "all turns", |lines| {
        lines.iter().filter(|line| line.contains("answer to session/prompt")).count() == 30
    });
    let place = "return { vim.fn.line('.'), vim.fn.line('w0'), vim.fn.line('w$'), vim.fn.line('$'),
        vim.fn.getwininfo(vim.api.nvim_get_current_win())[1].height }";
    let hits: Vec<usize> = (1..=all.len()).filter(|row| all[row - 1].contains("unknown update")).collect();
    for keys in ["60Gzt", "Gzt", "gg", "40Gzb"] {
        chat.nvim.input(&format!("F{keys}"));
        chat.nvim.wait_until(
            |nvim| nvim.exec_lua("return vim.fn.line('$')", []).as_u64() == Some(all.len() as u64),
            "all messages",
        );
        let from = chat.nvim.exec_lua(place, [])[0].as_u64().expect("a row") as usize;
        let nearest = (0..hits.len()).min_by_key(|at| hits[*at].abs_diff(from)).expect("a hit");
        chat.nvim.input("fmethod:hologram<CR>");
        let fits = |nvim: &mut Nvim| {
            let seen: Vec<usize> = nvim
                .exec_lua(place, [])
                .as_array()
                .expect("numbers")
                .iter()
                .map(|number| number.as_u64().expect("a number") as usize)
                .collect();
            let [row, first, last, count, height] = seen[..] else { return false };
            count == hits.len() && row == nearest + 1 && last + 1 - first == count.min(height)
        };
        chat.nvim.wait_until(fits, &format!("hit {} from {from} ({keys})", nearest + 1));
        // Without the filter it is the same message, and who was at the end is there again.
        let back = if from == all.len() { from } else { hits[nearest] };
        chat.nvim.input("F");
        chat.nvim.wait_until(
            |nvim| nvim.exec_lua(place, [])[0].as_u64() == Some(back as u64),
            "the message that the cursor was on",
        );
    }
}

#[test]
fn counts_count_where_one_goes_from_problem_to_problem() {
    let mut chat = scripted((100, 30), 2);
    chat.chat();
    ask(&mut chat);
    ask(&mut chat);
    chat.nvim.stop_insert();
    chat.nvim.command("Acp inspect");
    let all = wait_for_lines(&mut chat.nvim, "both turns", |lines| {
        lines.iter().filter(|line| line.contains("answer to session/prompt")).count() == 2
    });
    let wrong: Vec<usize> = (1..=all.len()).filter(|row| all[row - 1].starts_with("! ")).collect();
    assert!(wrong.len() >= 4, "{all:#?}");
    for (keys, row) in [("gg3]e", wrong[2]), ("2[e", wrong[0]), ("99]e", wrong[wrong.len() - 1])] {
        chat.nvim.input(keys);
        chat.nvim.wait_until(
            |nvim| nvim.exec_lua("return vim.fn.line('.')", []).as_u64() == Some(row as u64),
            keys,
        );
    }
}

#[test]
fn a_count_plays_so_many_messages_of_a_replay() {
    let mut chat = scripted((80, 24), 0);
    chat.nvim.command(&format!("Acp replay {RECORDING}sdk-example-stream.jsonl step"));
    chat.nvim.wait_for_screen("So does ]m in this window");
    chat.nvim.stop_insert();
    chat.nvim.command("wincmd k");
    let before = transcript(&mut chat.nvim);
    chat.nvim.input("2]m");
    let after = wait_for_transcript(&mut chat.nvim, "help you with that");
    assert!(!before.contains("mock: think") && after.contains("mock: think"), "{after}");
}
