//! The terminals of an agent's commands as a user sees them: their windows and bars, their last lines in
//! the chat, the places they name, and that an editor which is busy or flooded keeps nobody waiting.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use serde_json::{Value, json};

use support::Nvim;
use support::process::wait_for;
use support::script::{Scripted, answered, asks, ends, opened, prompt, says, update};

/// A turn in which the agent does this.
fn turn(parts: impl IntoIterator<Item = Value>) -> Vec<Value> {
    let mut all = opened();
    all.push(prompt());
    for part in parts {
        match part {
            Value::Array(parts) => all.extend(parts),
            part => all.push(part),
        }
    }
    all
}

/// The agent has a shell run this, and shows it in a tool call of that name.
fn runs(name: &str, script: &str) -> Value {
    let saved = format!("/result/{}", "terminalId");
    let mut save = serde_json::Map::new();
    save.insert(name.to_owned(), saved.into());
    json!([
        asks(name, "terminal/create", json!({ "command": "sh", "args": ["-c", script] })),
        { "expect_reply": name, "to": name, "save": save },
        update(json!({
            "sessionUpdate": "tool_call", "toolCallId": name, "title": name, "kind": "execute",
            "status": "in_progress", "content": [{ "type": "terminal", "terminalId": format!("${{{name}}}") }],
        })),
    ])
}

/// The agent asks about the terminal of that name; the answer has the method's last word as its id.
fn about(name: &str, method: &str) -> Value {
    let id = format!("{name}-{method}");
    json!([
        asks(&id, &format!("terminal/{method}"), json!({ "terminalId": format!("${{{name}}}") })),
        { "expect_reply": id, "to": id },
    ])
}

/// The chat, with these options for terminals, in a turn.
fn begin(steps: Vec<Value>, files: &[(&str, &str)], options: Value) -> Scripted {
    let mut chat = Scripted::new(files, steps);
    set_up(&mut chat, options);
    chat.chat();
    chat.send("go");
    chat
}

fn set_up(chat: &mut Scripted, options: Value) {
    chat.configure(&format!("terminal = vim.json.decode([[{options}]])"));
}

fn text(nvim: &mut Nvim, code: &str) -> String {
    nvim.exec_lua(code, []).as_str().unwrap_or_default().to_owned()
}

/// The windows that show terminals.
fn windows(nvim: &mut Nvim) -> u64 {
    let code = "return #vim.tbl_filter(function(win)
                  return vim.bo[vim.api.nvim_win_get_buf(win)].filetype == 'acp-terminal'
                end, vim.api.nvim_list_wins())";
    nvim.exec_lua(code, []).as_u64().expect("a number")
}

fn filetype(nvim: &mut Nvim) -> String {
    text(nvim, "return vim.bo.filetype")
}

fn wait_for_said(nvim: &mut Nvim, part: &str) {
    let said = |nvim: &mut Nvim| text(nvim, "return table.concat(_G.said, '\\n')").contains(part);
    nvim.wait_until(said, part);
}

#[test]
fn a_command_is_shown_with_its_state_and_in_its_colours_in_the_chat() {
    let script = "printf 'plain \\033[31mred words\\033[0m\\n'; read line; exit 3";
    let mut chat =
        begin(turn([runs("job", script), about("job", "wait_for_exit"), ends("end_turn")]), &[], json!({}));
    chat.nvim.wait_for_screen("running ");
    chat.nvim.wait_until(|nvim| nvim.screen().matches("red words").count() == 2, "the words in both");
    // The cursor stays where one types.
    assert_eq!(filetype(&mut chat.nvim), "acp-prompt");
    let in_chat = chat.nvim.exec_lua(
        "local chat = require('acp').status().sessions[1].buffer
         local groups = {}
         for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(chat, -1, 0, -1, { details = true })) do
           local details = mark[4]
           if details.hl_group == 'AcpRed' then
             groups[1] = vim.api.nvim_buf_get_text(chat, mark[2], mark[3], details.end_row, details.end_col, {})[1]
           end
         end
         return groups[1]",
        [],
    );
    assert_eq!(in_chat.as_str(), Some("red words"));
    chat.nvim.input("<Esc>");
    chat.nvim.command("Acp terminal");
    chat.nvim.input("i<CR>");
    assert_eq!(chat.answer("job-wait_for_exit")["result"]["exitCode"], 3);
    chat.nvim.wait_for_screen("exit 3 \u{b7} ");
    chat.nvim.wait_for_screen("exit code 3");
}

#[test]
fn an_editor_that_is_busy_keeps_no_agent_waiting() {
    let steps = turn([
        runs("one", "echo out; exit 4"),
        about("one", "wait_for_exit"),
        about("one", "output"),
        about("one", "release"),
        runs("two", "sleep 1000"),
        about("two", "output"),
        about("two", "kill"),
        about("two", "wait_for_exit"),
        runs("last", "touch served"),
        about("last", "wait_for_exit"),
        ends("end_turn"),
    ]);
    let mut chat = Scripted::new(&[], steps);
    chat.chat();
    // Nothing is handled in Neovim before this returns.
    let served = chat.nvim.exec_lua(
        "require('acp').send('go')
         local stop = vim.uv.hrtime() + 60e9
         while not vim.uv.fs_stat('served') do
           if vim.uv.hrtime() > stop then return false end
         end
         return true",
        [],
    );
    assert_eq!(served, true.into());
    assert_eq!(chat.answer("one-output")["result"]["output"], "out\n");
    assert_eq!(chat.answer("two-wait_for_exit")["result"]["signal"], "SIGTERM");
    assert!(chat.answer("one-release").get("error").is_none());
}

#[test]
fn the_places_that_a_command_names_go_to_the_quickfix_list() {
    let script =
        "printf 'src/a.txt:2:3: \\033[1merror\\033[0m: bad\\r\\nno.txt:1: gone\\nsrc/a.txt:1: note: see\\n'";
    let steps = turn([runs("job", script), about("job", "wait_for_exit"), ends("end_turn"), prompt()]);
    let files = [("src/a.txt", "one\ntwo two\nthree\n")];
    let mut chat = begin(steps, &files, json!({ "auto_open": "never" }));
    chat.answer("job-wait_for_exit");
    chat.nvim.input("<Esc>");
    chat.wait_for("Done");
    chat.nvim.command("Acp terminal quickfix");
    chat.nvim.wait_until(|nvim| filetype(nvim) == "qf", "the quickfix list");
    let list = text(
        &mut chat.nvim,
        "return table.concat(vim.tbl_map(function(item)
           local name = vim.fn.fnamemodify(vim.fn.bufname(item.bufnr), ':t')
           return ('%s:%d:%d %s %s'):format(name, item.lnum, item.col, item.type, item.text)
         end, vim.fn.getqflist()), '\\n')",
    );
    assert_eq!(list, "a.txt:2:3 E bad\na.txt:1:0 N see");
    let title = text(&mut chat.nvim, "return vim.fn.getqflist({ title = 1 }).title");
    assert_eq!(title, "acp: job", "as its call is called");
    chat.nvim.command("cclose");

    // And from the terminal itself, without losing sight of it.
    chat.nvim.command("Acp terminal open");
    chat.nvim.wait_until(|nvim| filetype(nvim) == "acp-terminal", "the terminal");
    chat.nvim.wait_for_screen("no.txt:1: gone");
    chat.nvim.input("gg0gF");
    chat.nvim.wait_until(|nvim| text(nvim, "return vim.fn.expand('%:t')") == "a.txt", "the file");
    assert_eq!(chat.nvim.exec_lua("return vim.fn.getpos('.')[2]", []).as_u64(), Some(2));
    assert_eq!(chat.nvim.exec_lua("return vim.fn.getpos('.')[3]", []).as_u64(), Some(3));
    assert_eq!(windows(&mut chat.nvim), 1);

    chat.nvim.listen();
    chat.nvim.command("Acp terminal open");
    chat.nvim.input("ggj0gf");
    wait_for_said(&mut chat.nvim, "no.txt is no file that can be opened");
}

#[test]
fn a_command_is_ended_and_put_away_by_hand() {
    let steps = turn([
        runs("quick", "echo quick"),
        about("quick", "wait_for_exit"),
        runs("slow", "echo slow; sleep 1000"),
        about("slow", "wait_for_exit"),
        says("Over."),
    ]);
    let mut chat = begin(steps, &[], json!({ "auto_open": "always" }));
    chat.nvim.wait_for_screen("\u{25cf} slow");
    chat.nvim.input("<Esc>");
    chat.nvim.exec_lua(
        "vim.ui.select = function(items, options, choose) _G.seen = items; choose(items[2], 2) end",
        [],
    );
    chat.nvim.command("Acp terminals");
    chat.nvim.wait_until(|nvim| filetype(nvim) == "acp-terminal", "the one that was picked");
    let seen = text(&mut chat.nvim, "return table.concat(_G.seen, '\\n')");
    let lines: Vec<&str> = seen.lines().collect();
    // As they are called in the chat and in the bar above them.
    assert!(lines[0].starts_with("running ") && lines[0].ends_with(" slow"), "{seen}");
    assert!(lines[1].starts_with("exit 0 \u{b7} ") && lines[1].ends_with(" quick"), "{seen}");
    let tells_when = |line: &&str| line.split_whitespace().any(|word| word.matches(':').count() == 2);
    assert!(lines.iter().all(tells_when), "when each began: {seen}");

    chat.nvim.listen();
    chat.nvim.command("Acp terminal kill");
    wait_for_said(&mut chat.nvim, "this command has ended already");
    chat.nvim.command("Acp terminal close");
    chat.nvim.wait_until(|nvim| windows(nvim) == 0, "no terminal");
    // Only one runs: nobody has to pick.
    chat.nvim.command("Acp terminal kill");
    assert_eq!(chat.answer("slow-wait_for_exit")["result"]["signal"], "SIGTERM");
    chat.wait_for("Over.");
    chat.nvim.listen();
    chat.nvim.command("Acp terminal kill");
    wait_for_said(&mut chat.nvim, "no command is running");
}

#[test]
fn the_terminal_that_is_on_the_screen_is_closed_and_searched_without_a_question() {
    let steps = turn([
        runs("one", "echo first"),
        about("one", "wait_for_exit"),
        runs("two", "echo second"),
        about("two", "wait_for_exit"),
        ends("end_turn"),
    ]);
    let mut chat = begin(steps, &[], json!({ "auto_open": "never" }));
    chat.wait_for("Done");
    chat.nvim.input("<Esc>");
    chat.nvim.exec_lua(
        "_G.asked = 0
         vim.ui.select = function(items, options, choose) _G.asked = _G.asked + 1; choose(items[2], 2) end",
        [],
    );
    chat.nvim.listen();
    // Nothing is on the screen: none is to be picked for that.
    chat.nvim.command("Acp terminal close");
    wait_for_said(&mut chat.nvim, "no window shows a terminal");
    let asked = |nvim: &mut Nvim| nvim.exec_lua("return _G.asked", []).as_u64();
    assert_eq!(asked(&mut chat.nvim), Some(0));
    chat.nvim.command("Acp terminal");
    chat.nvim.wait_until(|nvim| filetype(nvim) == "acp-terminal", "the one that was picked");
    assert_eq!(asked(&mut chat.nvim), Some(1), "there are two to go to");
    chat.nvim.command("wincmd p");
    chat.nvim.command("Acp terminal quickfix");
    wait_for_said(&mut chat.nvim, "the output of one names no place");
    chat.nvim.command("Acp terminal close");
    chat.nvim.wait_until(|nvim| windows(nvim) == 0, "no terminal");
    assert_eq!(asked(&mut chat.nvim), Some(1));
}

#[test]
fn the_keys_of_a_terminal_tell_of_typing_only_while_its_program_can_be_typed_into() {
    for input in [true, false] {
        let steps = turn([runs("job", "read -r line; echo got $line"), about("job", "wait_for_exit")]);
        let mut chat = begin(steps, &[], json!({ "auto_open": "always", "input": input }));
        chat.nvim.wait_for_screen(" job");
        chat.nvim.wait_for_screen("running ");
        chat.nvim.input("<Esc>");
        chat.nvim.command("Acp terminal");
        chat.nvim.wait_until(|nvim| filetype(nvim) == "acp-terminal", "the terminal");
        let keys = |chat: &mut Scripted| {
            chat.nvim.input("g?");
            chat.nvim.wait_for_screen("g? all keys");
            let all = chat.nvim.buffer_text(0);
            chat.nvim.input("q");
            chat.nvim.wait_until(|nvim| filetype(nvim) == "acp-terminal", "the terminal again");
            all
        };
        assert_eq!(keys(&mut chat).contains("type into the program"), input);
        if input {
            chat.nvim.input("iyes<CR>");
            chat.nvim.wait_for_screen("exit 0 \u{b7}");
            chat.nvim.input("<C-\\><C-n>");
            let all = keys(&mut chat);
            assert!(!all.contains("type into") && !all.contains("leave it again"), "{all}");
        }
    }
}

#[test]
fn a_window_closes_by_itself_only_after_success() {
    let steps = turn([
        runs("good", "echo good"),
        about("good", "wait_for_exit"),
        runs("bad", "echo bad; exit 1"),
        about("bad", "wait_for_exit"),
        says("Over."),
    ]);
    let mut chat = begin(steps, &[], json!({ "auto_open": "always", "auto_close": "success" }));
    chat.nvim.wait_for_screen("exit 1 \u{b7}");
    chat.nvim.wait_until(|nvim| windows(nvim) == 1, "one window");
    assert!(chat.nvim.screen().contains("exit 1 \u{b7}"));
    assert_eq!(filetype(&mut chat.nvim), "acp-prompt");
}

#[test]
fn typing_can_be_switched_off_while_programs_still_get_their_answers() {
    // The program asks where the cursor is, which the terminal answers by itself.
    let script = "stty -icanon -echo min 1; printf '\\033[6n'; dd bs=1 count=6 2>/dev/null | od -c | head -1; \
                  stty icanon; read -r line; echo got $line";
    let mut chat = begin(
        turn([runs("job", script), about("job", "wait_for_exit")]),
        &[],
        json!({ "auto_open": "always", "input": false }),
    );
    chat.nvim.wait_for_screen("033");
    chat.nvim.listen();
    chat.nvim.input("<Esc>");
    chat.nvim.command("Acp terminal");
    chat.nvim.input("ihello<CR>");
    wait_for_said(&mut chat.nvim, "typing in terminals is switched off (terminal.input)");
    chat.nvim.input("<C-\\><C-n>");
    chat.nvim.command("Acp terminal kill");
    assert_eq!(chat.answer("job-wait_for_exit")["result"]["signal"], "SIGTERM");
    assert!(!chat.nvim.screen().contains("got hello"));
}

/// The agent runs a command itself, and streams all that it has put out as the text of its call.
fn streams(id: &str, command: &str, pieces: &[&str]) -> Vec<Value> {
    let call = update(json!({
        "sessionUpdate": "tool_call", "toolCallId": id, "title": "bash", "kind": "execute",
        "status": "pending", "rawInput": { "command": command, "description": "Build it" },
    }));
    let mut all = String::new();
    let piece = |piece: &&str| {
        all.push_str(piece);
        update(json!({
            "sessionUpdate": "tool_call_update", "toolCallId": id, "title": "Build it",
            "kind": "execute", "status": "in_progress",
            "content": [{ "type": "content", "content": { "type": "text", "text": all } }],
        }))
    };
    let pieces: Vec<Value> = pieces.iter().map(piece).collect();
    let over = update(json!({
        "sessionUpdate": "tool_call_update", "toolCallId": id, "title": "Build it", "kind": "execute",
        "status": "completed", "rawOutput": { "output": all, "metadata": { "exit": 2 } },
        "content": [{ "type": "content", "content": { "type": "text", "text": all } }],
    }));
    // Before its last update it waits until it is allowed to go on.
    let go_on = asks(
        "go-on",
        "session/request_permission",
        json!({
            "toolCall": { "toolCallId": "gate", "title": "Go on", "kind": "other" },
            "options": [{ "optionId": "a", "name": "Allow", "kind": "allow_once" }],
        }),
    );
    let mut steps = vec![call];
    steps.extend(pieces);
    steps.extend([go_on, answered("go-on"), over, ends("end_turn")]);
    steps
}

#[test]
fn output_that_an_agent_streams_as_text_has_a_terminal_like_any_other() {
    let pieces = ["\u{1b}[31mred\u{1b}[0m words\n", "src/a.txt:2:3: error: bad\n", "10%\r20%\rmost of it\n"];
    let steps = turn([Value::from(streams("job", "make all", &pieces))]);
    let mut chat = Scripted::new(&[("src/a.txt", "one\ntwo two\nthree\n")], steps);
    set_up(&mut chat, json!({ "auto_open": "never" }));
    chat.nvim.exec_lua("vim.ui.select = function(_, _, choose) _G.choose = choose end", []);
    chat.chat();
    chat.send("go");
    chat.wait_for("most of it");
    assert!(chat.transcript().contains("\n    red words\n    src/a.txt:2:3: error: bad\n    most of it\n"));
    chat.nvim.wait_for_screen("red words");
    assert_eq!(chat.nvim.groups_of("red words"), ["AcpRed"]);

    // The key in the chat, the bar, the colours.
    chat.nvim.wait_until(|nvim| nvim.exec_lua("return _G.choose ~= nil", []) == true.into(), "the question");
    chat.nvim.input("<Esc>");
    chat.nvim.exec_lua(
        "vim.api.nvim_set_current_win(vim.fn.bufwinid(require('acp').status().sessions[1].buffer))",
        [],
    );
    chat.nvim.exec_lua("vim.fn.search('most of it', 'w')", []);
    chat.nvim.input("<CR>");
    chat.nvim.wait_until(|nvim| filetype(nvim) == "acp-terminal", "the terminal");
    chat.nvim.wait_for_screen("running ");
    chat.nvim.wait_for_screen(" Build it: make all ");
    chat.nvim.listen();
    chat.nvim.input("ix");
    wait_for_said(&mut chat.nvim, "Fake runs this command itself: what you type does not reach it");
    chat.nvim.input("<C-\\><C-n>");

    // Its end, by the call's own word.
    chat.nvim.exec_lua("_G.choose('Allow', 1)", []);
    chat.nvim.wait_for_screen("exit 2 \u{b7} ");
    chat.nvim.wait_for_screen("[The command ended with exit code 2]");
    let shown =
        text(&mut chat.nvim, "return table.concat(vim.api.nvim_buf_get_lines(0, 0, 4, false), '\\n')");
    assert_eq!(shown, "red words\nsrc/a.txt:2:3: error: bad\nmost of it\n");
    chat.nvim.command("Acp terminal quickfix");
    chat.nvim.wait_until(|nvim| filetype(nvim) == "qf", "the quickfix list");
    chat.nvim.wait_for_screen("src/a.txt|2 col 3 error| bad");
    chat.nvim.command("cclose");
    chat.nvim.command("Acp terminal close");
    chat.nvim.command("Acp terminals");
    chat.nvim.wait_until(|nvim| filetype(nvim) == "acp-terminal", "the only one");
    // What failed still says so in the chat.
    chat.wait_for("most of it");
}

#[test]
fn limits_are_named_to_the_agent() {
    let steps = turn([
        runs("one", "sleep 1000"),
        asks("two", "terminal/create", json!({ "command": "true" })),
        answered("two"),
        about("one", "wait_for_exit"),
        about("one", "output"),
    ]);
    let mut chat = begin(steps, &[], json!({ "limit": 1, "timeout": 1, "output_limit": 70 }));
    let refused = chat.answer("two")["error"]["message"].as_str().expect("a text").to_owned();
    assert!(refused.contains("the user's limit (terminal.limit)"), "{refused}");
    let output = chat.answer("one-output")["result"].clone();
    let text = output["output"].as_str().expect("a text");
    assert!(text.contains("[ended after 1 s, the user's limit for a command (terminal.timeout)]"), "{text}");
    assert_eq!(output["exitStatus"]["signal"], "SIGTERM");
}

#[test]
fn a_deleted_buffer_comes_back_and_goes_with_its_session() {
    let steps = turn([runs("job", "echo some words; sleep 1000"), about("job", "wait_for_exit")]);
    let mut chat = begin(steps, &[], json!({ "auto_open": "always" }));
    chat.nvim.wait_until(|nvim| nvim.screen().matches("some words").count() == 3, "the output");
    chat.nvim.input("<Esc>");
    chat.nvim.command("Acp terminal");
    chat.nvim.command("bdelete!");
    chat.nvim.wait_until(|nvim| windows(nvim) == 0, "no window");
    chat.nvim.command("Acp terminal");
    chat.nvim.wait_until(|nvim| filetype(nvim) == "acp-terminal", "the terminal");
    chat.nvim.wait_until(|nvim| nvim.screen().matches("some words").count() == 3, "the output again");
    chat.nvim.command("Acp close");
    let left = "local left = 0
                for _, buf in ipairs(vim.api.nvim_list_bufs()) do
                  left = left + (vim.bo[buf].filetype == 'acp-terminal' and 1 or 0)
                end
                return left";
    chat.nvim.wait_until(|nvim| nvim.exec_lua(left, []).as_u64() == Some(0), "no terminal");
    let sleeps = |nvim: &Nvim| nvim.processes().iter().any(|process| process.command.contains("sleep 1000"));
    wait_for(|| !sleeps(&chat.nvim), "the command to be gone");
}

#[test]
fn the_program_follows_its_windows_size() {
    let script = "trap 'echo size $(stty size).' WINCH; echo ready; while :; do read line || sleep 0.1; done";
    let mut chat = begin(turn([runs("job", script)]), &[], json!({ "auto_open": "always", "size": 9 }));
    chat.nvim.wait_until(|nvim| windows(nvim) == 1, "the terminal");
    chat.nvim.wait_for_screen("ready");
    chat.nvim.input("<Esc>");
    chat.nvim.command("Acp terminal");
    for height in (3..20).chain([7]) {
        chat.nvim.command(&format!("resize {height}"));
    }
    let columns = chat.nvim.exec_lua("return vim.api.nvim_win_get_width(0)", []).as_u64().expect("a number");
    // The bar takes a row.
    chat.nvim.wait_for_screen(&format!("size 6 {columns}."));
}

#[test]
fn what_a_program_sends_to_the_terminal_does_not_reach_the_users_own() {
    let script = "printf '\\033]52;c;c3RvbGVu\\007\\033]0;stolen title\\007\\033]2;stolen too\\033\\\\\\007\\007'; \
                  printf '\\033]9;notify\\007\\033]777;notify;a;b\\007\\033]4;1;#123456\\007\\033]10;#ff0000\\007'; echo done";
    let steps = turn([runs("job", script), about("job", "wait_for_exit"), about("job", "output")]);
    let mut chat = Scripted::new(&[], steps);
    chat.nvim.exec_lua(
        "_G.copied = 0
         local copy = function() _G.copied = _G.copied + 1 end
         local paste = function() return { {}, 'v' } end
         vim.g.clipboard = { name = 'test', copy = { ['+'] = copy, ['*'] = copy }, paste = { ['+'] = paste, ['*'] = paste } }
         vim.o.title = true",
        [],
    );
    set_up(&mut chat, json!({ "auto_open": "always" }));
    chat.chat();
    chat.send("go");
    assert_eq!(chat.answer("job-output")["result"]["output"], "done\n");
    chat.nvim.wait_for_screen("exit 0");
    chat.nvim.command("redraw!");
    assert_eq!(chat.nvim.exec_lua("return _G.copied", []).as_u64(), Some(0));
    assert!(!text(&mut chat.nvim, "return vim.o.titlestring").contains("stolen"));
    assert_eq!(chat.nvim.messages(), "");
}

#[test]
fn a_program_with_the_whole_screen_for_itself_works() {
    let nvim = support::neovim();
    let script = format!(
        "{} --clean -n -i NONE --cmd 'set noswapfile laststatus=0' +'call setline(1, \"typed in an inner editor\")'",
        nvim.display()
    );
    let steps = turn([runs("edit", &script), about("edit", "wait_for_exit"), says("Over.")]);
    let mut chat = begin(steps, &[], json!({ "auto_open": "always" }));
    chat.nvim.wait_for_screen("typed in an inner editor");
    chat.nvim.wait_for_screen("it has the whole terminal for itself");
    chat.nvim.input("<Esc>");
    chat.nvim.command("Acp terminal");
    chat.nvim.input("i:call setline(1, 'and')<CR>");
    chat.nvim.wait_until(|nvim| !nvim.screen().contains("typed in"), "the edit");
    chat.nvim.input(":q!<CR>");
    assert_eq!(chat.answer("edit-wait_for_exit")["result"]["exitCode"], 0);
    chat.wait_for("Over.");
}

#[test]
fn garbage_and_a_flood_leave_the_editor_as_it_was() {
    let script = "head -c 200000 /dev/urandom; printf '\\033c\\033[0m\\033[2J'; yes 'a line of the flood' | head -c 6000000; \
                  printf '\\nthe end of it\\n'; read line";
    let steps = turn([runs("job", script), about("job", "output"), says("Asked.")]);
    let mut chat = begin(steps, &[], json!({ "auto_open": "always", "output_limit": 1000 }));
    chat.wait_for("Asked.");
    // Keys are taken in the middle of it.
    chat.nvim.input("typed meanwhile");
    chat.nvim.wait_for_screen("typed meanwhile");
    chat.nvim.wait_for_screen("MB not shown");
    chat.nvim.wait_for_screen("the end of it");
    assert_eq!(chat.nvim.messages(), "");
}

/// Whether a program is there.
fn is_there(program: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|folder| folder.join(program).is_file()))
}

/// The command of a Neovim in the terminal, with nothing of the user's.
fn neovim(args: &str) -> String {
    let bare = "-u NONE -i NONE -n --cmd 'set laststatus=0 noruler noshowmode shortmess+=F'";
    format!("'{}' {bare} {args}", support::neovim().display())
}

/// A chat whose agent runs a program that takes the whole terminal, in the terminal's window.
fn full_screen(script: &str) -> Scripted {
    let steps = turn([runs("job", script), about("job", "wait_for_exit"), ends("end_turn")]);
    let lines: String = (1..=200).map(|number| format!("line {number} of it\n")).collect();
    let mut chat = begin(steps, &[("lines.txt", &lines)], json!({ "auto_open": "always", "size": 12 }));
    chat.nvim.wait_for_screen("line 3 of it");
    chat.wait_for("(it has the whole terminal for itself, <CR> shows it)");
    chat.nvim.input("<Esc>");
    chat.nvim.command("Acp terminal");
    chat.nvim.input("i");
    chat.nvim.wait_until(|nvim| nvim.mode().name == "t", "typing in the terminal");
    chat
}

/// The lines of the file that are on the screen.
fn lines_shown(nvim: &mut Nvim) -> usize {
    nvim.screen().matches(" of it").count()
}

#[test]
fn a_pager_draws_takes_keys_follows_its_windows_size_and_ends() {
    // Where there is no pager, Neovim takes the same keys.
    let pager = if is_there("less") { "LESS= less lines.txt".to_owned() } else { neovim("-R lines.txt") };
    let mut chat = full_screen(&pager);
    // The bar and the pager's own line have a row each.
    assert_eq!(lines_shown(&mut chat.nvim), 10);
    chat.nvim.input("G");
    chat.nvim.wait_for_screen("line 200 of it");
    chat.nvim.input("1G");
    chat.nvim.wait_for_screen("line 1 of it");
    chat.nvim.input("<C-\\><C-n>");
    chat.nvim.command("resize 7");
    chat.nvim.wait_until(|nvim| lines_shown(nvim) == 5, "five lines");
    chat.nvim.command("resize 15");
    chat.nvim.wait_until(|nvim| lines_shown(nvim) == 13, "thirteen lines");
    assert!(chat.nvim.screen().contains("line 13 of it"));
    chat.nvim.input("i/line 77 <CR>");
    chat.nvim.wait_for_screen("line 77 of it");
    chat.nvim.input(":q<CR>");
    assert_eq!(chat.answer("job-wait_for_exit")["result"]["exitCode"], 0);
    chat.nvim.wait_for_screen("exit 0 \u{b7} ");
    chat.nvim.wait_for_screen("[The command ended with exit code 0]");
    chat.nvim.input("<C-\\><C-n>");
    chat.wait_for("Done");
    let code = "local chat = require('acp').status().sessions[1]
                return table.concat(vim.api.nvim_buf_get_lines(chat.buffer, 0, -1, false), '\\n')";
    let is_over = |nvim: &mut Nvim| !text(nvim, code).contains("it has the whole terminal");
    chat.nvim.wait_until(is_over, "the chat without the pager");
}

#[test]
fn an_editor_in_a_terminal_is_used_as_anywhere_else() {
    let mut chat = full_screen(&neovim("lines.txt"));
    chat.nvim.input("2GAand more<Esc>");
    chat.nvim.wait_for_screen("line 2 of itand more");
    // What it draws is drawn in the colours that it wants.
    chat.nvim.input("/line 43<CR>:set hlsearch<CR>");
    chat.nvim.wait_for_screen("line 43 of it");
    chat.nvim.input(":wq<CR>");
    assert_eq!(chat.answer("job-wait_for_exit")["result"]["exitCode"], 0);
    let written = std::fs::read_to_string(chat.project.file("lines.txt")).expect("the file");
    assert!(written.starts_with("line 1 of it\nline 2 of itand more\n"), "{written}");
    chat.nvim.wait_for_screen("exit 0 \u{b7} ");
}

#[test]
fn the_bar_says_what_the_agent_cannot_read_any_more() {
    let script = "i=0; while [ $i -lt 600 ]; do echo 0123456789; i=$((i + 1)); done; read line";
    let steps = turn([runs("job", script), about("job", "wait_for_exit"), about("job", "output")]);
    let mut chat = begin(steps, &[], json!({ "auto_open": "always", "output_limit": 100 }));
    // 6600 bytes, of which a hundred are kept; 11 a line.
    chat.nvim.wait_for_screen("7 kB cut for the agent \u{b7} running ");
    chat.nvim.input("<Esc>");
    chat.nvim.command("Acp terminal");
    chat.nvim.input("i<CR>");
    let output = chat.answer("job-output")["result"].clone();
    assert_eq!(output["truncated"], true);
    assert!(output["output"].as_str().is_some_and(|text| text.len() <= 100), "{output}");
    chat.nvim.wait_for_screen("7 kB cut for the agent \u{b7} exit 0");
    // Where there is no room for all of it, how the command goes is what stays.
    chat.nvim.resize(40, 30);
    chat.nvim.wait_for_screen("exit 0 \u{b7} ");
}

/// Goes to the transcript and there to the first line that holds a text.
fn go(chat: &mut Scripted, text: &str) {
    let code = "local text = ...
                local chat = require('acp').status().sessions[1]
                vim.cmd.stopinsert()
                vim.api.nvim_set_current_win(vim.fn.bufwinid(chat.buffer))
                return vim.fn.search(text, 'cw')";
    let row = chat.nvim.exec_lua(code, [text.into()]);
    assert!(row.as_u64().is_some_and(|row| row > 0), "{text:?} is not in the transcript");
    chat.nvim.wait_until(|nvim| nvim.mode().name == "n", "normal mode");
}

/// The agent has a shell run this in a call, and never says which call the terminal belongs to.
fn runs_unattached(name: &str, script: &str) -> Value {
    let saved = format!("/result/{}", "terminalId");
    let mut save = serde_json::Map::new();
    save.insert(name.to_owned(), saved.into());
    json!([
        update(json!({ "sessionUpdate": "tool_call", "toolCallId": name, "title": name, "kind": "execute",
            "status": "in_progress" })),
        asks(name, "terminal/create", json!({ "command": "sh", "args": ["-c", script] })),
        { "expect_reply": name, "to": name, "save": save },
    ])
}

fn over(name: &str, status: &str, text: &str) -> Value {
    update(json!({ "sessionUpdate": "tool_call_update", "toolCallId": name, "status": status,
        "content": [{ "type": "content", "content": { "type": "text", "text": text } }] }))
}

#[test]
fn a_terminal_that_no_call_shows_is_its_calls_and_stays_it_when_the_content_is_replaced() {
    let mut chat = begin(
        turn([
            runs_unattached("loose", "echo first; echo last; exit 3"),
            about("loose", "wait_for_exit"),
            over("loose", "completed", "It is done."),
            runs("shown", "echo seen"),
            about("shown", "wait_for_exit"),
            over("shown", "completed", "Nothing to tell."),
            ends("end_turn"),
        ]),
        &[],
        json!({ "auto_open": "never" }),
    );
    chat.wait_for("Done");
    // The code is at the right edge, as virtual text.
    chat.nvim.wait_for_screen("exit 3");
    go(&mut chat, "run loose");
    chat.nvim.input("<Tab>");
    chat.wait_for("    It is done.");
    assert!(chat.transcript().contains("    It is done.\n    first\n    last"), "{}", chat.transcript());
    go(&mut chat, "run loose");
    chat.nvim.input("<CR>");
    chat.nvim.wait_until(|nvim| filetype(nvim) == "acp-terminal", "the terminal to be shown");
    chat.nvim.command("Acp export out.md");
    let exported = chat.project.file("out.md");
    let text = || std::fs::read_to_string(&exported).unwrap_or_default();
    wait_for(|| text().contains("seen"), "the export");
    let text = text();
    assert!(
        text.contains("(exit 3)") && text.contains("first\nlast") && text.contains("```text\nseen"),
        "{text}"
    );
}

#[test]
fn a_call_whose_command_a_cancel_ended_is_not_said_to_be_done() {
    let mut chat = begin(
        turn([
            runs("endless", "echo begun; sleep 1000"),
            json!({ "expect": "session/cancel" }),
            about("endless", "kill"),
            about("endless", "wait_for_exit"),
            over("endless", "completed", "Ended."),
            ends("cancelled"),
        ]),
        &[],
        json!({ "auto_open": "never" }),
    );
    chat.wait_for("begun");
    chat.nvim.command("Acp cancel");
    chat.wait_for("Cancelled");
    chat.nvim.wait_for_screen("run endless");
    let screen = chat.nvim.screen();
    let line = screen.lines().find(|line| line.contains("run endless")).unwrap_or_default().to_owned();
    assert!(line.contains("cancelled"), "{screen}");
}

#[test]
fn the_bar_says_what_runs_or_waits_and_not_the_file_that_was_edited_before() {
    let edit =
        update(json!({ "sessionUpdate": "tool_call", "toolCallId": "e", "title": "Edit", "kind": "edit",
        "status": "completed", "locations": [{ "path": "$PROJECT/a.txt" }] }));
    let mut chat = begin(
        turn([
            edit,
            asks(
                "p",
                "session/request_permission",
                json!({ "toolCall": { "toolCallId": "q", "title": "Ask" },
                "options": [{ "optionId": "yes", "name": "Yes", "kind": "allow_once" }] }),
            ),
            answered("p"),
            update(json!({ "sessionUpdate": "tool_call_update", "toolCallId": "q", "status": "completed" })),
            runs("Check it", "echo begun; sleep 1000"),
            json!({ "expect": "session/cancel" }),
            ends("cancelled"),
        ]),
        &[("a.txt", "a\n")],
        json!({ "auto_open": "never" }),
    );
    chat.nvim.wait_for_screen("waiting for you");
    let bar = |nvim: &mut Nvim| nvim.screen().lines().find(|line| line.contains("Fake ")).map(str::to_owned);
    let waiting = bar(&mut chat.nvim);
    assert!(waiting.as_ref().is_some_and(|bar| !bar.contains("a.txt")), "{waiting:?}");
    chat.nvim.exec_lua("require('acp').answer('allow')", []);
    chat.nvim.wait_for_screen("running Check it");
}

#[test]
fn a_terminal_leaves_a_file_its_lines_on_a_small_screen_and_has_its_size_back_on_a_large_one() {
    let steps = turn([runs("first", "sleep 60")]);
    let mut chat = Scripted::sized(&[("a.txt", "one\n")], steps, 80, 24);
    chat.nvim.command("edit a.txt");
    chat.chat();
    chat.send("go");
    chat.nvim.wait_until(|nvim| windows(nvim) == 1, "the terminal's window");
    let sizes = "local all = { vim.o.cmdheight }
        for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
          all[#all + 1] = vim.fn.fnamemodify(vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(win)), ':t')
            .. ' ' .. vim.api.nvim_win_get_width(win) .. 'x' .. vim.api.nvim_win_get_height(win)
        end
        return table.concat(all, ', ')";
    let file = "local win = vim.fn.bufwinid('a.txt') return vim.api.nvim_win_get_height(win)";
    let before = text(&mut chat.nvim, sizes);
    chat.nvim.resize(60, 14);
    let rows = |nvim: &mut Nvim| nvim.exec_lua(file, []).as_u64().expect("a height");
    chat.nvim.wait_until(|nvim| rows(nvim) >= 4, "the file to have lines");
    chat.nvim.resize(80, 24);
    chat.nvim.wait_until(|nvim| text(nvim, sizes) == before, &before);
}

/// In Lua: the window of a terminal, if there is one.
const WINDOW: &str = "local win = vim.tbl_filter(function(win)
      return vim.bo[vim.api.nvim_win_get_buf(win)].filetype == 'acp-terminal'
    end, vim.api.nvim_tabpage_list_wins(0))[1] ";

/// What the terminal on the screen shows.
fn shown(nvim: &mut Nvim) -> String {
    let lines =
        "local lines = win and vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(win), 0, -1, false)
        return vim.trim(table.concat(lines or {}, '\\n'))";
    text(nvim, &format!("{WINDOW} {lines}"))
}

/// A chat beside a file, in which the agent has had a command run.
fn built(script: &str, options: Value) -> Scripted {
    let parts = turn([runs("build", script), about("build", "wait_for_exit"), says("it is over")]);
    let mut chat = Scripted::sized(&[("a.txt", "one\n")], parts, 80, 24);
    set_up(&mut chat, options);
    chat.nvim.command("edit a.txt");
    chat.chat();
    chat.send("go");
    chat
}

#[test]
fn a_terminal_that_is_opened_late_has_all_lines_also_of_a_command_that_began_beside_a_tall_window() {
    let script = "for i in $(seq 33); do echo compiling part $i; done; exit 3";
    let mut chat = built(script, json!({ "auto_open": "never", "size": 6 }));
    chat.nvim.input("<Esc><C-w>h");
    chat.nvim.wait_for_screen("it is over");
    chat.nvim.command("Acp terminal");
    let whole: Vec<String> = (1..=33).map(|number| format!("compiling part {number}")).collect();
    chat.nvim.wait_until(|nvim| shown(nvim).contains("[The command"), "its end");
    let all = shown(&mut chat.nvim);
    assert!(all.lines().take(33).eq(&whole), "{all}");
}

#[test]
fn an_ended_command_keeps_the_ends_of_its_lines_when_its_window_was_narrower() {
    let line = |number: u32| format!("compiling part {number} of the program");
    let script = "for i in $(seq 30); do echo compiling part $i of the program; done; exit 3";
    let mut chat = built(script, json!({ "auto_open": "always" }));
    let whole: Vec<String> = (1..=30).map(line).collect();
    let is_whole = |nvim: &mut Nvim| {
        let text = shown(nvim);
        text.contains("[The command ended with exit code 3]") && text.lines().take(30).eq(&whole)
    };
    chat.nvim.wait_until(is_whole, "all lines");
    let facts = "local buf = vim.api.nvim_win_get_buf(win)
        return table.concat({ vim.api.nvim_buf_get_name(buf), tostring(vim.wo[win].number), tostring(vim.wo[win].wrap),
          vim.wo[win].winbar, tostring(#vim.fn.maparg('gF', 'n', false, true)) }, ' ')";
    let facts = format!("{WINDOW} {facts}");
    let before = text(&mut chat.nvim, &facts);
    // Rows that are pushed out of a narrow screen stay as they are.
    let narrow = "local width, height = vim.api.nvim_win_get_width(win), vim.api.nvim_win_get_height(win)
        for _, size in ipairs({ { 19, height }, { 28, height }, { 28, 5 }, { 19, 5 }, { width, height }, { ... } }) do
          vim.api.nvim_win_set_width(win, size[1] or width)
          vim.api.nvim_win_set_height(win, size[2] or height)
          vim.cmd.redraw()
        end";
    let narrow = format!("{WINDOW} {narrow}");
    chat.nvim.exec_lua(&narrow, [28.into(), 5.into()]);
    // In so few columns lines go on in the next row.
    let has_ends = |nvim: &mut Nvim| {
        shown(nvim).replace('\n', "").contains("compiling part 30 of the program[ended with exit code 3]")
    };
    chat.nvim.wait_until(has_ends, "the ends of lines in a narrow window");
    let widen = "vim.cmd('wincmd t') vim.api.nvim_win_set_width(0, 40)";
    chat.nvim.exec_lua(widen, []);
    chat.nvim.wait_until(is_whole, "all lines again");
    // Nobody has seen that it was narrower in between.
    let blink = format!(
        "local columns, lines = vim.o.columns, vim.o.lines
        vim.o.columns, vim.o.lines = 60, 14 vim.cmd.redraw()
        {narrow}
        vim.o.columns, vim.o.lines = columns, lines {widen}"
    );
    chat.nvim.exec_lua(&blink, []);
    chat.nvim.wait_until(|nvim| !is_whole(nvim), "cut lines");
    chat.nvim.wait_until(is_whole, "all lines once more");
    for _ in 0..2 {
        chat.nvim.resize(60, 14);
        chat.nvim.wait_until(has_ends, "the ends of lines on a small screen");
        chat.nvim.resize(80, 24);
        chat.nvim.wait_until(is_whole, "all lines on a large screen");
        chat.nvim.wait_until(|nvim| text(nvim, &facts) == before, &before);
    }
}

#[test]
fn a_command_whose_window_was_narrower_while_it_ran_has_whole_lines_at_its_end() {
    let script = "for i in $(seq 30); do echo compiling part $i of the program; done
        while [ ! -e go ]; do sleep 0.02; done";
    let mut chat = built(script, json!({ "auto_open": "always", "auto_close": "never" }));
    let whole: Vec<String> =
        (1..=30).map(|number| format!("compiling part {number} of the program")).collect();
    let is_whole = |nvim: &mut Nvim| shown(nvim).lines().take(30).eq(&whole);
    chat.nvim.wait_until(is_whole, "all lines");
    for (columns, lines) in [(60, 14), (40, 14), (80, 24)] {
        chat.nvim.resize(columns, lines);
    }
    chat.nvim.wait_until(|nvim| !is_whole(nvim), "lines to be cut");
    chat.project.write("go", "");
    chat.nvim.wait_until(|nvim| shown(nvim).contains("[The command"), "its end");
    chat.nvim.wait_until(is_whole, "all lines again");
}

#[test]
fn where_the_user_reads_an_ended_command_stays_when_its_window_is_resized() {
    let script = "for i in $(seq 200); do echo line $i of two hundred; done";
    let mut chat = built(script, json!({ "auto_open": "always", "auto_close": "never" }));
    chat.nvim.wait_until(|nvim| shown(nvim).contains("[The command"), "its end");
    chat.nvim.input("<Esc><C-w>h<C-w>j:50<CR>zt");
    let at = "return vim.fn.getline('.') .. ' ' .. vim.fn.line('w0') .. ' ' .. tostring(vim.fn.bufnr())";
    let before = text(&mut chat.nvim, at);
    assert!(before.starts_with("line 50 of two hundred 50 "), "{before}");
    chat.nvim.command("vertical resize -8");
    chat.nvim.wait_until(
        |nvim| {
            let now = text(nvim, at);
            now.starts_with("line 50 of two hundred 50 ") && now != before
        },
        "the same place in a new buffer",
    );
}

#[test]
fn a_terminal_alone_with_a_chat_has_its_share_back_with_the_screens_size_and_its_name() {
    let steps = turn([
        runs("Test", "exit 1"),
        about("Test", "wait_for_exit"),
        runs("Build, slowly", "echo out; exit 1"),
        about("Build, slowly", "wait_for_exit"),
    ]);
    let mut chat = Scripted::sized(&[("a.txt", "one\n")], steps, 80, 24);
    set_up(&mut chat, json!({ "auto_open": "always" }));
    chat.nvim.command("edit a.txt");
    chat.chat();
    chat.send("go");
    chat.nvim.wait_for_screen("[The command ended with exit code 1]");
    chat.nvim.stop_insert();
    chat.nvim.exec_lua(
        "for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
           if vim.bo[vim.api.nvim_win_get_buf(win)].buftype == 'terminal' then vim.api.nvim_set_current_win(win) end
         end",
        [],
    );
    chat.nvim.command("only");
    chat.nvim.command("AcpChat");
    let sizes = "local all = {}
        for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
          all[#all + 1] = vim.api.nvim_win_get_width(win) .. 'x' .. vim.api.nvim_win_get_height(win)
        end
        return table.concat(all, ', ')";
    let wide = "39x22, 40x16, 40x5";
    let narrow = "29x12, 30x";
    chat.nvim.wait_until(|nvim| text(nvim, sizes) == wide, wide);
    let bar = |nvim: &mut Nvim| nvim.screen().lines().next().unwrap_or_default().to_owned();
    chat.nvim.wait_until(|nvim| bar(nvim).contains("Build, slowly"), "the name");
    chat.nvim.resize(60, 14);
    chat.nvim.wait_until(|nvim| text(nvim, sizes).starts_with(narrow), "their shares of a small screen");
    chat.nvim.wait_until(|nvim| bar(nvim).contains("owly "), "the name in a narrow window");
    chat.nvim.resize(80, 24);
    chat.nvim.wait_until(|nvim| text(nvim, sizes) == wide, wide);
    chat.nvim.wait_until(|nvim| bar(nvim).contains("Build, slowly"), "the name");
}

#[test]
fn a_tab_page_has_one_window_for_all_commands() {
    let mut parts: Vec<Value> = (1..=4)
        .map(|number| {
            runs(
                &format!("job{number}"),
                &format!(
                    "echo out{number}; while [ ! -e go{number} ]; do sleep 0.02; done; exit {}",
                    number % 2
                ),
            )
        })
        .collect();
    parts.extend((1..=4).map(|number| about(&format!("job{number}"), "wait_for_exit")));
    let mut chat = Scripted::sized(&[("code.txt", "one\n")], turn(parts), 140, 40);
    set_up(&mut chat, json!({ "auto_open": "always" }));
    chat.nvim.command("edit code.txt");
    chat.chat();
    chat.send("go");
    // The newest is shown, the line names all of them.
    let bar = "local text = vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(win), 0, 1, false)[1]
        return text .. ':' .. vim.api.nvim_eval_statusline(vim.wo[win].winbar, { winid = win, use_winbar = true }).str";
    let bar = format!("{WINDOW} {bar}");
    let is = |nvim: &mut Nvim, first: &str, signs: &[&str]| {
        let bar =
            nvim.try_lua(&bar, []).ok().and_then(|bar| bar.as_str().map(str::to_owned)).unwrap_or_default();
        bar.starts_with(first) && signs.iter().all(|sign| bar.contains(sign))
    };
    let running = ["\u{25cf} job1", "\u{25cf} job2", "\u{25cf} job3", "\u{25cf} job4", "running "];
    chat.nvim.wait_until(|nvim| is(nvim, "out4", &running), "all four in the line");
    assert_eq!(windows(&mut chat.nvim), 1);
    let height = "local win = vim.fn.bufwinid('code.txt') return vim.api.nvim_win_get_height(win)";
    assert_eq!(chat.nvim.exec_lua(height, []), 25.into());
    // One that fails is shown, and stays when another one is done.
    chat.project.write("go1", "");
    chat.nvim.wait_until(|nvim| is(nvim, "out1", &["\u{2717} job1", "exit 1"]), "the one that failed");
    chat.project.write("go2", "");
    chat.nvim.wait_until(|nvim| is(nvim, "out1", &["\u{2713} job2"]), "the one that is done");
    // The others are a key away.
    chat.nvim.command("Acp terminal next");
    chat.nvim.wait_until(|nvim| is(nvim, "out2", &["exit 0"]), "the next one");
    chat.nvim.command("Acp terminal previous");
    chat.nvim.wait_until(|nvim| is(nvim, "out1", &[]), "the one before");
    chat.nvim.input("<Esc>");
    chat.nvim.command("Acp terminal next");
    chat.nvim.command("Acp terminal next");
    chat.nvim.command("Acp terminal next");
    // One that ends well makes room for another.
    chat.nvim.wait_until(|nvim| is(nvim, "out4", &[]), "the last one");
    chat.project.write("go4", "");
    chat.nvim.wait_until(|nvim| is(nvim, "out3", &["\u{25cf} job3"]), "the one that still runs");
    assert_eq!(windows(&mut chat.nvim), 1);
}

/// Every look of a cell in which a text stands.
fn looks(nvim: &mut Nvim, text: &str) -> String {
    format!("{:?}", nvim.styles_of(text))
}

#[test]
fn the_buffer_of_an_ended_command_goes_like_any_other_and_comes_back() {
    let script = "for i in $(seq 60); do printf '\\033[31mred %s\\033[0m\\n' $i; done; exit 3";
    let mut chat = built(script, json!({ "auto_open": "always" }));
    chat.nvim.wait_until(|nvim| shown(nvim).contains("[The command ended with exit code 3]"), "its end");
    chat.nvim.stop_insert();
    let before = (shown(&mut chat.nvim), looks(&mut chat.nvim, "red 60"));
    chat.nvim.command("Acp terminal");
    chat.nvim.input("gg");
    chat.nvim.wait_for_screen("red 1 ");
    // Keys in terminal mode do nothing to it either.
    chat.nvim.input("ixx");
    chat.nvim.input("<C-\\><C-n>G");
    assert_eq!((shown(&mut chat.nvim), looks(&mut chat.nvim, "red 60")), before);
    chat.nvim.exec_lua("_G.buf = vim.api.nvim_get_current_buf()", []);
    let gone = chat.nvim.try_lua("vim.v.errmsg = '' vim.cmd('bdelete') return vim.v.errmsg", []);
    assert_eq!(gone, Ok("".into()));
    chat.nvim.wait_until(|nvim| windows(nvim) == 0, "no window");
    chat.nvim.command("Acp terminal");
    chat.nvim.wait_until(|nvim| shown(nvim) == before.0, "all of it again");
    chat.nvim.wait_until(|nvim| looks(nvim, "red 60") == before.1, "its colours");
    let messages = chat.nvim.messages();
    assert!(!messages.contains("E89") && !messages.contains("losed"), "{messages}");
}

#[test]
fn the_buffer_of_an_ended_command_that_no_window_has_shown_goes_like_any_other_too() {
    for (is_deleted, show) in
        [(true, "Acp terminal"), (false, "Acp terminal"), (false, "execute 'sbuffer' g:buf")]
    {
        let mut chat = built("echo built; exit 3", json!({ "auto_open": "never" }));
        chat.wait_for("it is over");
        chat.nvim.stop_insert();
        let buf = "for _, buf in ipairs(vim.api.nvim_list_bufs()) do
              if vim.bo[buf].filetype == 'acp-terminal' then vim.g.buf = buf return buf end
            end";
        let number = chat.nvim.exec_lua(buf, []).as_u64().expect("a buffer");
        if is_deleted {
            let delete = format!("bdelete {number}");
            let is_gone = |nvim: &mut Nvim| nvim.try_lua("vim.cmd(...)", [delete.as_str().into()]).is_ok();
            chat.nvim.wait_until(is_gone, "the buffer to go");
        }
        // All of it is shown where it is asked for, whichever way.
        chat.nvim.command(show);
        let is_there = |nvim: &mut Nvim| shown(nvim).starts_with("built\n\n[The command ended");
        chat.nvim.wait_until(is_there, &format!("its output after {show}, {is_deleted}"));
    }
}

#[test]
fn a_narrow_terminal_says_in_one_line_how_its_command_ended() {
    // What draws over its own lines is not given anew to a narrower window.
    for script in ["echo some words; exit 3", "printf 'no words\\r'; echo some words; exit 3"] {
        let mut chat = built(script, json!({ "auto_open": "always" }));
        let whole = "[The command ended with exit code 3]";
        chat.nvim.wait_until(|nvim| shown(nvim).contains(whole), "its end");
        for (width, line) in [(30, "[ended with exit code 3]"), (20, "[exit 3]"), (38, whole)] {
            let resize = format!("{WINDOW} vim.api.nvim_win_set_width(win, ...)");
            chat.nvim.exec_lua(&resize, [width.into()]);
            let fits = |nvim: &mut Nvim| {
                let all = shown(nvim);
                all.lines().next() == Some("some words") && all.lines().last() == Some(line)
            };
            chat.nvim.wait_until(fits, &format!("{line} after {script}"));
        }
    }
}

#[test]
fn a_terminal_that_is_typed_into_when_its_command_ends_stays_until_it_is_deleted() {
    let script = "while [ ! -e go ]; do sleep 0.02; done; exit 3";
    let mut chat = built(script, json!({ "auto_open": "always" }));
    chat.nvim.wait_until(|nvim| windows(nvim) == 1, "the terminal");
    chat.nvim.stop_insert();
    chat.nvim.command("Acp terminal");
    chat.nvim.input("i");
    chat.nvim.wait_until(|nvim| nvim.mode().name == "t", "terminal mode");
    chat.project.write("go", "");
    chat.nvim.wait_until(|nvim| shown(nvim).contains("[The command ended"), "its end");
    chat.nvim.input("xx<C-\\><C-n>");
    chat.nvim.wait_until(|nvim| nvim.mode().name == "nt", "normal mode");
    assert!(shown(&mut chat.nvim).contains("[The command ended"), "what was typed has wiped it out");
    chat.nvim.wait_until(|nvim| nvim.try_lua("vim.cmd('bdelete')", []).is_ok(), "the buffer to go");
    assert_eq!(windows(&mut chat.nvim), 0);
}
