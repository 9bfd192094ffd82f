//! What an agent or a user may make as large as they like: paragraphs without an end, plans of 100,000 steps,
//! prompts of megabytes, lines of megabytes. Nothing is lost of it, and no more than a slice's worth of it
//! gets into a buffer at once. Real keys, a real Neovim, a scripted agent.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use serde_json::{Value, json};

use support::script::{Scripted, awaits, ends, prompt, says, steps, turn_that_runs, update};

/// Neovim draws a line anew from its start whenever it grows.
const LONGEST_LINE: usize = 4096;

/// Counts, from now on, the most lines and the most bytes that one edit puts into a buffer or takes out.
const WATCH: &str = "
    local buf = ...
    most = { lines = 0, bytes = 0 }
    vim.api.nvim_buf_attach(buf, false, {
      on_lines = function(_, _, _, first, last, new)
        most.lines = math.max(most.lines, last - first, new - first)
      end,
      on_bytes = function(_, _, _, _, _, _, _, _, old, _, _, new)
        most.bytes = math.max(most.bytes, old, new)
      end,
    })";

fn transcript(chat: &mut Scripted) -> Value {
    let buf = chat.nvim.exec_lua("return require('acp').status().sessions[1].buffer", []);
    Value::from(buf.as_u64())
}

fn prompt_buffer(chat: &mut Scripted) -> u64 {
    let buf = chat.nvim.exec_lua("return require('acp').status().sessions[1].prompt", []);
    buf.as_u64().expect("a buffer")
}

fn watch(chat: &mut Scripted, buf: u64) {
    chat.nvim.exec_lua(WATCH, [buf.into()]);
}

/// The most lines and bytes of one edit.
fn most(chat: &mut Scripted) -> (u64, u64) {
    let most = chat.nvim.exec_lua("return { most.lines, most.bytes }", []);
    (most[0].as_u64().expect("a number"), most[1].as_u64().expect("a number"))
}

#[test]
fn a_paragraph_without_an_end_is_broken_into_lines() {
    let words = "word ".repeat(1000);
    let said = (0..40).map(|_| says(&words)).chain([says("END")]);
    let mut chat = Scripted::new(&[], steps([prompt()].into_iter().chain(said).chain([ends("end_turn")])));
    chat.chat();
    let buf = transcript(&mut chat).as_u64().expect("a buffer");
    watch(&mut chat, buf);
    chat.send("go");
    chat.wait_for("END");
    let text = chat.transcript();
    assert!(text.lines().all(|line| line.len() <= LONGEST_LINE));
    assert!(text.replace('\n', "").contains(&(words.repeat(40) + "END")), "{}", text.len());
    let (_, bytes) = most(&mut chat);
    assert!(bytes <= 32 << 10, "{bytes} bytes in one edit");
}

#[test]
fn a_long_plan_is_shown_in_part_and_k_shows_more_of_it() {
    let step = |number: usize| {
        let status = if number < 60 { "completed" } else { "pending" };
        json!({ "content": format!("step {number}"), "priority": "medium", "status": status })
    };
    let entries: Vec<Value> = (0..20_000).map(step).collect();
    let parts = [prompt(), update(json!({ "sessionUpdate": "plan", "entries": entries })), ends("end_turn")];
    let mut chat = Scripted::new(&[], steps(parts));
    chat.chat();
    let buf = transcript(&mut chat).as_u64().expect("a buffer");
    watch(&mut chat, buf);
    chat.send("go");
    chat.wait_for("Plan 60/20000");
    let text = chat.transcript();
    assert!(text.contains("step 60\n") && !text.contains("step 200\n"), "{text}");
    assert!(text.contains("55 before these") && text.contains("and 19,895 more"), "{text}");
    assert!(most(&mut chat).0 < 100);
    chat.nvim.command("Acp plan");
    chat.nvim.input("<Esc>");
    chat.nvim.exec_lua("vim.cmd.wincmd('k') vim.fn.search('Plan 60') vim.api.nvim_input('K')", []);
    chat.nvim.wait_for_screen("[x] step 0");
}

#[test]
fn a_long_prompt_goes_out_whole_and_in_pieces_and_comes_back_by_u() {
    let parts = [prompt(), says("Thanks."), ends("end_turn"), prompt(), ends("end_turn")];
    let mut chat = Scripted::new(&[("a.txt", "of the file\n")], steps(parts));
    chat.chat();
    let buf = prompt_buffer(&mut chat);
    let code = "local buf = ...
                local lines = {}
                for i = 1, 30000 do
                  lines[i] = 'line ' .. i .. ' of a log, ä'
                end
                lines[#lines + 1] = 'look at @a.txt:1'
                vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
                return table.concat(lines, '\\n')";
    let text = chat.nvim.exec_lua(code, [buf.into()]);
    let text = text.as_str().expect("a text").to_owned();
    watch(&mut chat, buf);
    chat.nvim.input("<C-s>");
    chat.wait_for("Thanks.");
    let sent = chat.got("session/prompt")["params"]["prompt"].clone();
    assert!(sent[0]["text"] == text.as_str(), "{} bytes", sent[0]["text"].as_str().map_or(0, str::len));
    // What stands at its end is followed.
    assert_eq!(sent[1]["type"], "resource_link");
    let empty = "return vim.api.nvim_buf_line_count((...)) == 1";
    chat.nvim.wait_until(|nvim| nvim.exec_lua(empty, [buf.into()]) == true.into(), "an empty prompt");
    let (lines, bytes) = most(&mut chat);
    assert!(lines <= 5000 && bytes <= 512 << 10, "{lines} lines, {bytes} bytes in one edit");
    // The transcript has its beginning.
    let shown = chat.transcript();
    assert!(shown.contains("line 400 of a log") && !shown.contains("line 2000 of a log"));
    assert!(shown.contains("more lines, K shows all of it"), "{shown}");
    chat.nvim.input("<Esc>u");
    let back = "return table.concat(vim.api.nvim_buf_get_lines(..., 0, -1, false), '\\n')";
    chat.nvim.wait_until(
        |nvim| nvim.exec_lua(back, [buf.into()]).as_str() == Some(&text),
        "the prompt to be back by one u",
    );
}

#[test]
fn a_long_prompt_comes_back_from_the_history() {
    let mut chat = Scripted::new(&[], steps([prompt(), says("Thanks."), ends("end_turn")]));
    chat.chat();
    let text = (0..20_000).map(|number| format!("line {number} of it")).collect::<Vec<_>>().join("\n");
    chat.nvim.exec_lua("require('acp').send(...)", [text.as_str().into()]);
    chat.wait_for("Thanks.");
    let buf = prompt_buffer(&mut chat);
    watch(&mut chat, buf);
    chat.nvim.input("<C-p>");
    let there = "return table.concat(vim.api.nvim_buf_get_lines(..., 0, -1, false), '\\n')";
    chat.nvim.wait_until(
        |nvim| nvim.exec_lua(there, [buf.into()]).as_str() == Some(&text),
        "the prompt of before",
    );
    let (lines, bytes) = most(&mut chat);
    assert!(lines <= 5000 && bytes <= 512 << 10, "{lines} lines, {bytes} bytes in one edit");
}

#[test]
fn a_line_of_megabytes_is_read_as_it_is() {
    let line = "aä€🦀".repeat(120_000);
    let text = format!("first\n{line}\nlast\n");
    let read = awaits("r", "fs/read_text_file", json!({ "path": "$PROJECT/a.txt" }));
    let parts = [prompt()].into_iter().chain(read).chain([says("END"), ends("end_turn")]);
    let mut chat = Scripted::new(&[("a.txt", &text)], steps(parts));
    chat.nvim.exec_lua("vim.cmd.edit('a.txt') vim.api.nvim_buf_set_lines(0, 0, 1, true, { 'changed' })", []);
    chat.chat();
    chat.send("go");
    let answer = chat.answer("r");
    let content = answer["result"]["content"].as_str().unwrap_or_default();
    assert!(content == format!("changed\n{line}\nlast\n"), "{} bytes", content.len());
}

#[test]
fn titles_and_notes_of_megabytes_stand_in_short_lines() {
    let long = "x y".repeat(300_000);
    let calls = ["completed", "failed"].map(|status| {
        update(json!({ "sessionUpdate": "tool_call", "toolCallId": status, "title": long, "kind": "execute",
            "status": status, "rawInput": { "command": long },
            "content": [{ "type": "content", "content": { "type": "text", "text": long } }] }))
    });
    let info = update(json!({ "sessionUpdate": "session_info_update", "title": long }));
    let parts = [prompt()].into_iter().chain(calls).chain([info, says("END"), ends("end_turn")]);
    let mut chat = Scripted::new(&[], steps(parts));
    chat.chat();
    chat.send("go");
    chat.wait_for("END");
    assert!(chat.transcript().lines().all(|line| line.len() <= LONGEST_LINE));
    let title = chat.nvim.exec_lua("return #require('acp').status().sessions[1].title", []);
    assert!(title.as_u64().expect("a number") <= 1024);
}

/// An agent makes a file of so many lines by one command, and changes each third of them by another.
fn long_hunk(lines: usize) -> Scripted {
    let calls = ["sh .agent/make", "sh .agent/change"];
    let mut chat = Scripted::new(&[], steps(turn_that_runs(&calls)));
    let text: String = (0..lines).map(|at| format!("line {at}\n")).collect();
    chat.project.write(".agent/text", &text);
    chat.project.write(".agent/other", &text.replace("0\n", "0, changed\n"));
    chat.project.write(".agent/make", "cat .agent/text > huge.txt\n");
    chat.project.write(".agent/change", "cat .agent/other > huge.txt\n");
    chat.chat();
    chat.send("go");
    chat.wait_for("Ran.");
    chat.nvim.stop_insert();
    chat
}

#[test]
fn the_review_of_one_long_hunk_takes_no_more_than_its_lines_do() {
    let memory = "collectgarbage() return vim.uv.resident_set_memory()";
    // What it takes beyond a short one.
    let [short, long] = [3_000, 30_000].map(|lines| {
        let mut chat = long_hunk(lines);
        let before = chat.nvim.exec_lua(memory, []).as_u64().expect("a number");
        chat.nvim.command("Acp review");
        chat.nvim.wait_for_screen(&format!("1 hunk \u{b7} +{lines} -0 \u{b7} new file"));
        // All of it once more.
        chat.nvim.input("gcwhy?<C-s>");
        chat.nvim.wait_for_screen("1 commented");
        let after = chat.nvim.exec_lua(memory, []).as_u64().expect("a number");
        after.saturating_sub(before)
    });
    assert!(long < short + (100 << 20), "{long} bytes for 30,000 lines, {short} for 3,000");
}

#[test]
fn of_a_long_hunk_the_review_shows_a_part_and_all_of_it_is_decided_about() {
    let mut chat = long_hunk(30_000);
    let whole = chat.project.read("huge.txt");
    chat.nvim.command("Acp review");
    chat.nvim.wait_for_screen("1 hunk \u{b7} +30000 -0 \u{b7} new file");
    let lines = chat.nvim.exec_lua("return vim.api.nvim_buf_line_count(0)", []).as_u64();
    assert!(lines.is_some_and(|lines| lines < 2000), "{lines:?} lines");
    // What is shown can be edited; the rest stays.
    chat.nvim.command("call search('+ line 3$') | normal! A!");
    chat.nvim.command("write");
    let edited = whole.replacen("line 3\n", "line 3!\n", 1);
    let path = chat.project.file("huge.txt");
    let holds = |text: &str| std::fs::read_to_string(&path).is_ok_and(|now| now == text);
    chat.nvim.wait_until(|_| holds(&edited), "the edit to be written");
    chat.nvim.wait_for_screen("(with your edits)");
    chat.nvim.input("u");
    chat.nvim.wait_until(|_| holds(&whole), "the edit to be taken back");
    chat.nvim.exec_lua("vim.fn.search('more lines') vim.api.nvim_input('<CR>')", []);
    chat.nvim.wait_until(
        |nvim| nvim.exec_lua("return vim.fn.expand('%:t')", []).as_str() == Some("huge.txt"),
        "the file, where the lines go on",
    );
    let row = chat.nvim.exec_lua("return vim.fn.line('.')", []).as_u64();
    assert!(row.is_some_and(|row| Some(row + 10) > lines), "{row:?}");
    let marked =
        "return #vim.api.nvim_buf_get_extmarks(0, vim.api.nvim_get_namespaces()['acp.review'], 0, -1, {})";
    chat.nvim.wait_until(|nvim| nvim.exec_lua(marked, []).as_u64() == Some(30_000), "each line to be marked");
    chat.nvim.command("Acp undo");
    chat.nvim.wait_until(|_| !path.exists(), "the file to go");
}
