//! The transcript as a place to read and to move in: how calls gather and open, where keys lead, and
//! that nothing moves under a reader.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use serde_json::{Value, json};
use support::screens::{assert_looks, timeless};
use support::script::{Scripted, answered, asks, ends, permission, prompt, says, steps, update};

/// A tool call in a status.
fn call(id: &str, kind: &str, title: &str, status: &str) -> Value {
    update(json!({ "sessionUpdate": "tool_call", "toolCallId": id, "title": title, "kind": kind,
        "status": status }))
}

fn becomes(id: &str, status: &str) -> Value {
    update(json!({ "sessionUpdate": "tool_call_update", "toolCallId": id, "status": status }))
}

/// The agent waits until the user allows something.
fn gate(id: &str) -> [Value; 2] {
    let ask = asks(
        id,
        "session/request_permission",
        json!({
            "toolCall": { "toolCallId": format!("gate-{id}"), "title": format!("Gate {id}"), "kind": "execute" },
            "options": [{ "optionId": "a", "name": "Allow", "kind": "allow_once" }],
        }),
    );
    [ask, answered(id)]
}

/// The transcript under the agent's name.
fn answer(chat: &mut Scripted) -> String {
    let text = chat.transcript();
    let (_, answer) = text.split_once("\n\nFake\n").expect("an answer");
    answer.to_owned()
}

#[test]
fn calls_gather_under_a_line_that_opens_to_them_and_they_to_their_bodies() {
    let output = json!([{ "type": "content", "content": { "type": "text", "text": "beta" } }]);
    let mut chat = Scripted::new(
        &[],
        steps([
            prompt(),
            says("Looking."),
            call("1", "read", "src/a.rs", "in_progress"),
            call("2", "search", "beta", "in_progress"),
            becomes("2", "completed"),
            update(json!({ "sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "completed",
                "content": output })),
            call("3", "execute", "make", "completed"),
            call("4", "edit", "src/a.rs", "completed"),
            call("5", "read", "src/b.rs", "completed"),
            says("Found."),
            ends("end_turn"),
        ]),
    );
    chat.chat();
    chat.send("look");
    chat.wait_for("Done");
    let folded = "Looking.\n\n✓ read src/a.rs, searched once, ran a command\n✓ edit src/a.rs\n✓ read src/b.rs\n\nFound.";
    assert!(answer(&mut chat).starts_with(folded), "{}", answer(&mut chat));

    chat.go_to("searched once");
    chat.nvim.input("<Tab>");
    chat.wait_for("ran a command\n  ✓ read src/a.rs\n  ✓ search beta\n  ✓ run make\n✓ edit src/a.rs");
    chat.nvim.input("j<Tab>");
    chat.wait_for("  ✓ read src/a.rs\n      beta\n  ✓ search beta");
    // Entries are gone through one by one while they are shown.
    chat.nvim.input("]]");
    chat.nvim
        .wait_until(|nvim| nvim.exec_lua("return vim.fn.getline('.')", []) == "  ✓ search beta".into(), "]]");
    chat.go_to("searched once");
    chat.nvim.input("za");
    chat.nvim.wait_until(|nvim| !nvim.screen().contains("search beta"), "the run to fold");
    assert!(answer(&mut chat).starts_with(folded), "{}", answer(&mut chat));
    chat.nvim.input("]]");
    let line = chat.nvim.exec_lua("return vim.fn.getline('.')", []);
    assert_eq!(line, "✓ edit src/a.rs".into());
}

#[test]
fn a_reader_above_stays_where_they_are_while_calls_gather() {
    let lines: String = (1..=60).map(|line| format!("line {line}\n")).collect();
    let mut parts =
        vec![prompt(), call("1", "read", "a", "in_progress"), call("2", "read", "b", "in_progress")];
    parts.extend([says(&format!("```\n{lines}```\n"))]);
    parts.extend(gate("go"));
    parts.extend([becomes("1", "completed"), becomes("2", "completed"), call("3", "read", "c", "completed")]);
    parts.extend([call("4", "read", "d", "completed"), says("The end."), ends("end_turn")]);
    let mut chat = Scripted::new(&[], steps(parts));
    // Nobody is asked; the gate opens by command.
    chat.nvim.exec_lua("vim.ui.select = function() end", []);
    chat.chat();
    chat.send("look");
    chat.wait_for("Gate go");
    chat.go_to("line 30");
    chat.nvim.input("zt5j");
    let place = "local view = vim.fn.winsaveview()
                 return vim.fn.getline(view.lnum) .. ' under ' .. vim.fn.getline(view.topline)";
    chat.nvim.wait_until(|nvim| nvim.exec_lua(place, []) == "line 35 under line 30".into(), "the view");
    chat.decide("allow a");
    chat.wait_for("Done");
    let text = answer(&mut chat);
    assert!(text.starts_with("✓ read twice\n\n```\nline 1\n"), "{text}");
    assert!(text.contains("✓ read twice\n\nThe end."), "{text}");
    assert_eq!(chat.nvim.exec_lua(place, []), "line 35 under line 30".into());
}

/// The transcript with all that marks it, as far as it can be seen.
const LOOK: &str = "
    local buf = require('acp').status().sessions[1].buffer
    local look = { vim.api.nvim_buf_get_lines(buf, 0, -1, false) }
    local spaces = vim.api.nvim_get_namespaces()
    for _, name in ipairs({ 'acp.regions', 'acp.marks', 'acp.highlight', 'acp.highlight.regions' }) do
      -- What is far above is coloured when it is looked at.
      local first = name == 'acp.highlight' and #look[1] - 20 or 0
      local marks = vim.api.nvim_buf_get_extmarks(buf, spaces[name], { first, 0 }, -1, { details = true })
      look[#look + 1] = vim.tbl_map(function(mark)
        local row, column, details = mark[2], mark[3], mark[4]
        return vim.inspect({ name, row, column, details.end_row, details.end_col, details.hl_group,
          details.priority, details.conceal, details.virt_text })
      end, marks)
      table.sort(look[#look])
    end
    return vim.json.encode(look)";

fn look(chat: &mut Scripted) -> String {
    chat.nvim.exec_lua(LOOK, []).as_str().expect("a text").to_owned()
}

#[test]
fn a_chat_that_is_drawn_at_once_looks_as_it_did_when_it_was_drawn_step_by_step() {
    let thinks = |text: &str| {
        update(json!({ "sessionUpdate": "agent_thought_chunk",
            "content": { "type": "text", "text": text } }))
    };
    let failed = update(
        json!({ "sessionUpdate": "tool_call", "toolCallId": "5", "title": "make", "kind": "execute",
        "status": "failed", "content": [{ "type": "content", "content": { "type": "text", "text": "no\nrule" } }] }),
    );
    let plan = update(json!({ "sessionUpdate": "plan", "entries": [
        { "content": "look", "priority": "high", "status": "completed" },
        { "content": "write", "priority": "high", "status": "pending" }] }));
    let mut parts = vec![prompt(), thinks("Hm."), says("## First\n\nA *word*")];
    parts.extend(gate("1"));
    parts.extend([says(" and `more`:\n\n```lua\nlocal x = 1"), call("1", "read", "a", "in_progress")]);
    parts.extend(gate("2"));
    parts.extend([says("\n```\n\n"), call("2", "read", "b", "completed"), thinks("So.")]);
    parts.extend([call("3", "search", "c", "completed"), call("4", "read", "d", "completed"), failed, plan]);
    parts.extend(gate("3"));
    parts.extend([becomes("1", "completed"), says("\n\n- one\n- two"), ends("end_turn")]);
    parts.extend([prompt(), says(&"long **words**\n".repeat(2000)), ends("end_turn")]);
    parts.extend([prompt(), ends("end_turn"), prompt(), says("The *end*."), ends("end_turn")]);
    let mut chat = Scripted::new(&[], steps(parts));
    chat.nvim.exec_lua("vim.ui.select = function() end", []);
    chat.chat();
    chat.send("look at `this`");
    for number in 1..=3 {
        chat.wait_for(&format!("Gate {number}"));
        chat.decide("allow a");
    }
    for (prompt, end) in
        [("again", "- two\n\nDone"), ("and", "words**\n\nDone"), ("last", "without an answer")]
    {
        chat.wait_for(end);
        chat.send(prompt);
    }
    chat.wait_for("The *end*.\n\nDone");
    // What is on the screen is coloured a moment later.
    chat.nvim.wait_for_screen("The end.");
    let before = look(&mut chat);
    assert!(before.contains("AcpToolFailed") && before.contains("AcpPlan") && before.contains("@markup"));
    chat.nvim.exec_lua("vim.cmd('bwipeout! ' .. require('acp').status().sessions[1].buffer)", []);
    chat.nvim.command("AcpChat");
    chat.nvim.wait_for_screen("The end.");
    chat.nvim.wait_until(|nvim| nvim.exec_lua(LOOK, []).as_str() == Some(&before), "the same look");
}

/// A turn with something of everything to go to.
fn landscape() -> Vec<Value> {
    let read = json!({ "sessionUpdate": "tool_call", "toolCallId": "1", "title": "Read notes.txt", "kind": "read",
        "status": "completed", "locations": [{ "path": "$PROJECT/notes.txt", "line": 3 }],
        "rawInput": { "path": "notes.txt", "deep": { "er": [1, { "est": null }] } },
        "rawOutput": { "lines": 5 } });
    // As some agents do, it tells a part of the file.
    let edit = json!({ "sessionUpdate": "tool_call", "toolCallId": "2", "title": "Edit notes.txt", "kind": "edit",
        "status": "completed", "content": [{ "type": "diff", "path": "$PROJECT/notes.txt",
            "oldText": "three\nfour\n", "newText": "three\nFOUR\n" }] });
    steps([
        prompt(),
        says(
            "# What I see\n\nLook at `notes.txt:2` and at nothing.txt:1.\n\n```lua\n# no heading\nlocal x\n```\n\n## More\n",
        ),
        update(read),
        says("Then."),
        update(edit),
        says("So."),
        ends("end_turn"),
    ])
}

const NOTES: &[(&str, &str)] = &[("notes.txt", "one\ntwo\nthree\nFOUR\nfive\n")];

/// The file and line that the cursor is at.
fn place(chat: &mut Scripted) -> String {
    let code = "return vim.fn.expand('%:t') .. ':' .. vim.fn.line('.')";
    chat.nvim.exec_lua(code, []).as_str().expect("a text").to_owned()
}

/// The background looks at a file before it is shown.
#[track_caller]
fn wait_for_place(chat: &mut Scripted, wanted: &str) {
    let deadline = std::time::Instant::now() + support::DEADLINE;
    while place(chat) != wanted {
        assert!(std::time::Instant::now() < deadline, "at {}, not at {wanted}", place(chat));
        chat.nvim.next_flush(std::time::Duration::from_millis(10));
    }
}

#[test]
fn keys_lead_to_the_file_and_line_under_the_cursor() {
    let mut chat = Scripted::new(NOTES, landscape());
    chat.chat();
    chat.send("look");
    chat.wait_for("Done");
    chat.go_to("Look at");
    chat.nvim.input("fngd");
    wait_for_place(&mut chat, "notes.txt:2");
    chat.go_to("Read notes.txt");
    chat.nvim.input("<CR>");
    wait_for_place(&mut chat, "notes.txt:3");
    chat.go_to("Edit notes.txt");
    chat.nvim.input("<Tab>");
    chat.wait_for("    + FOUR");
    chat.go_to("+ FOUR");
    chat.nvim.input("gd");
    wait_for_place(&mut chat, "notes.txt:4");
    // A file that is not there leads nowhere, and says so.
    chat.go_to("Look at");
    chat.nvim.input("$gd");
    chat.nvim.wait_for_screen("leads to a file");
}

#[test]
fn what_is_opened_at_the_end_of_the_window_comes_into_sight_below_its_first_line() {
    let output = |lines: usize| {
        let lines: Vec<String> = (1..=lines).map(|line| format!("put out {line}.")).collect();
        json!([{ "type": "content", "content": { "type": "text", "text": lines.join("\n") } }])
    };
    let called = |id: &str, title: &str, lines: usize| {
        update(json!({ "sessionUpdate": "tool_call", "toolCallId": id, "title": title, "kind": "other",
            "status": "completed", "content": output(lines) }))
    };
    let filler: String = (1..=60).map(|line| format!("- line {line}\n")).collect();
    let all = [prompt(), says(&filler), called("1", "Short", 8), says("Between."), called("2", "Long", 70)];
    let mut chat = Scripted::new(&[], steps(all.into_iter().chain([ends("end_turn")])));
    chat.chat();
    chat.send("look");
    chat.wait_for("Done");
    for (title, last) in [("✓ Short", "put out 8."), ("✓ Long", "put out 12.")] {
        chat.go_to(title);
        chat.nvim.input("zb");
        chat.nvim.wait_for_screen(title);
        assert!(!chat.nvim.screen().contains(last), "{}", chat.nvim.screen());
        chat.nvim.input("<Tab>");
        chat.nvim.wait_for_screen(last);
        // The cursor stays on the line that was opened.
        let line = chat.nvim.exec_lua("return vim.fn.getline('.')", []);
        assert_eq!((line.as_str(), chat.nvim.screen().contains(title)), (Some(title), true));
        chat.nvim.input("<Tab>");
        chat.nvim.wait_until(|nvim| !nvim.screen().contains(last), "the call to fold");
    }
}

#[test]
fn keys_go_from_call_to_call_and_from_change_to_change() {
    let mut chat = Scripted::new(NOTES, landscape());
    chat.chat();
    chat.send("look");
    chat.wait_for("Done");
    let mut after = |keys: &str| {
        chat.go_to("# What I see");
        chat.nvim.input(keys);
        chat.nvim.exec_lua("return vim.fn.getline('.')", []).as_str().expect("a text").to_owned()
    };
    assert_eq!(after("]t"), "✓ Read notes.txt");
    assert_eq!(after("2]t"), "✓ Edit notes.txt");
    assert_eq!(after("]c"), "✓ Edit notes.txt");
    assert_eq!(after("]c[t"), "✓ Read notes.txt");
    assert_eq!(after("]c[c"), "✓ Edit notes.txt");
    assert_eq!(after("[t"), "# What I see");
    let plugs = chat.nvim.exec_lua(
        "return vim.fn.maparg('<Plug>(acp-next-call)', 'n') ~= '' or
        vim.fn.maparg('<Plug>(acp-next-call)', 'n', false, true).callback ~= nil",
        [],
    );
    assert_eq!(plugs, true.into());
}

#[test]
fn a_block_of_code_is_yanked_whole_into_the_register_that_was_named() {
    let mut chat = Scripted::new(NOTES, landscape());
    chat.chat();
    chat.send("look");
    chat.wait_for("Done");
    chat.go_to("local x");
    chat.nvim.input("gy");
    assert_eq!(chat.nvim.exec_lua("return vim.fn.getreg('\"')", []), "# no heading\nlocal x\n".into());
    chat.go_to("```lua");
    chat.nvim.input("\"qgy");
    assert_eq!(chat.nvim.exec_lua("return vim.fn.getreg('q')", []), "# no heading\nlocal x\n".into());
    chat.go_to("## More");
    chat.nvim.input("gy");
    chat.nvim.wait_for_screen("no block of code under the cursor");
}

#[test]
fn all_there_is_to_know_of_a_call_shows_in_a_window_that_q_closes() {
    let mut chat = Scripted::new(NOTES, landscape());
    chat.chat();
    chat.send("look");
    chat.wait_for("Done");
    chat.go_to("Read notes.txt");
    chat.nvim.input("K");
    let text = chat.nvim.exec_lua("return table.concat(vim.fn.getline(1, '$'), '\\n')", []);
    let text = text.as_str().expect("a text");
    assert!(text.starts_with("# Read notes.txt\nread · done"), "{text}");
    assert!(
        text.contains("\"est\": null") && text.contains("## Output") && text.contains("- notes.txt:3"),
        "{text}"
    );
    chat.nvim.input("q");
    let wins = chat.nvim.exec_lua("return #vim.api.nvim_list_wins()", []);
    assert_eq!(wins, 3.into());
}

#[test]
fn the_outline_lists_what_was_asked_and_the_headings_of_what_was_answered() {
    let mut chat = Scripted::new(NOTES, landscape());
    chat.chat();
    chat.send("look");
    chat.wait_for("Done");
    chat.go_to("So.");
    chat.nvim.input("gO");
    let code =
        "return table.concat(vim.tbl_map(function(item) return item.text end, vim.fn.getloclist(0)), '\\n')";
    assert_eq!(chat.nvim.exec_lua(code, []), "look\n  What I see\n    More".into());
    chat.nvim.input("3G<CR>");
    chat.nvim.wait_until(
        |nvim| nvim.exec_lua("return vim.fn.getline('.')", []) == "## More".into(),
        "the heading",
    );
}

/// A turn at work: what is done has gathered, something runs, something has failed, and it waits.
fn at_work() -> Vec<Value> {
    let thought =
        json!({ "sessionUpdate": "agent_thought_chunk", "content": { "type": "text", "text": "Hm." } });
    let plan = json!({ "sessionUpdate": "plan", "entries": [
        { "content": "reproduce", "priority": "high", "status": "completed" },
        { "content": "fix", "priority": "high", "status": "in_progress" },
        { "content": "test under load", "priority": "low", "status": "pending" },
    ] });
    let failed = json!({ "sessionUpdate": "tool_call", "toolCallId": "5", "title": "make", "kind": "execute",
        "status": "failed", "rawInput": { "command": "make test" },
        "content": [{ "type": "content", "content": { "type": "text", "text": "make: *** No rule\u{1b}[31m red" } }] });
    let long = "src/a/rather/deeply/nested/folder/with/a/long/name/that/goes/on/and/on/for/ever/lock.rs";
    let mut parts = vec![
        prompt(),
        update(thought),
        update(plan),
        says("I look at the **lock** first.\n"),
        call("1", "read", "src/a.rs", "completed"),
        call("2", "search", "session_lock", "completed"),
        call("3", "search", "guard", "completed"),
        call("4", "read", long, "in_progress"),
        update(failed),
    ];
    parts.extend(gate("go"));
    parts.extend([becomes("4", "completed"), says("Fixed."), ends("end_turn")]);
    steps(parts)
}

fn looks(nvim: &mut support::Nvim, name: &str) {
    assert_looks(&format!("transcript/{name}"), &timeless(&nvim.screen()));
}

fn quiet_pickers(chat: &mut Scripted) {
    chat.nvim.exec_lua("vim.ui.select = function() end", []);
    chat.nvim.exec_lua("vim.o.laststatus = 0", []);
}

#[test]
fn a_turn_at_work_on_a_small_screen() {
    let mut chat = Scripted::sized(&[], at_work(), 80, 24);
    quiet_pickers(&mut chat);
    chat.chat();
    chat.send("Fix it");
    chat.nvim.wait_for_screen("Allow this command?");
    chat.nvim.wait_for_screen("I look at the lock first.");
    looks(&mut chat.nvim, "at-work-80x24");
    // The next prompt waits in line.
    chat.send("and a test");
    chat.nvim.wait_for_screen("1 waiting");
    chat.nvim.wait_for_screen("waiting: and a test");
    looks(&mut chat.nvim, "queue-80x24");
}

#[test]
fn a_turn_at_work_on_a_big_screen_and_its_end() {
    let mut chat = Scripted::sized(&[], at_work(), 200, 60);
    quiet_pickers(&mut chat);
    chat.chat();
    chat.send("Fix it");
    chat.nvim.wait_for_screen("Allow this command?");
    chat.nvim.wait_for_screen("I look at the lock first.");
    looks(&mut chat.nvim, "at-work-200x60");
    chat.decide("allow a");
    chat.nvim.wait_for_screen("Done");
    looks(&mut chat.nvim, "done-200x60");
}

#[test]
fn a_start_that_fails() {
    let mut chat = Scripted::sized(
        &[],
        vec![
            json!({ "expect": "initialize" }),
            json!({ "stderr": "no key was found" }),
            json!({ "exit": 3 }),
        ],
        80,
        24,
    );
    quiet_pickers(&mut chat);
    chat.nvim.command("AcpChat");
    chat.nvim.wait_for_screen("no key was found");
    looks(&mut chat.nvim, "failed-80x24");
}

#[test]
fn an_empty_chat() {
    let mut chat = Scripted::sized(&[], steps([]), 80, 24);
    quiet_pickers(&mut chat);
    chat.chat();
    looks(&mut chat.nvim, "empty-80x24");
}

#[test]
fn titles_are_cut_anew_for_another_width() {
    let mut chat = Scripted::sized(&[], at_work(), 80, 24);
    quiet_pickers(&mut chat);
    chat.chat();
    chat.send("Fix it");
    chat.wait_for("Allow this command?");
    assert!(!chat.transcript().contains("/nested/folder/with/a/long/name/"));
    chat.nvim.resize(240, 24);
    chat.nvim.command("wincmd =");
    chat.wait_for("/nested/folder/with/a/long/name/");
}

#[test]
fn a_pinned_plan_follows_the_agents() {
    let plan = |first: &str, second: &str| {
        update(json!({ "sessionUpdate": "plan", "entries": [
            { "content": "look", "priority": "high", "status": first },
            { "content": "act", "priority": "high", "status": second },
        ] }))
    };
    let mut parts = vec![prompt(), plan("in_progress", "pending")];
    parts.extend(gate("go"));
    parts.extend([plan("completed", "in_progress"), says("Next.")]);
    parts.extend(gate("on"));
    let mut chat = Scripted::new(&[], steps(parts));
    quiet_pickers(&mut chat);
    chat.chat();
    let none = chat.nvim.exec_lua("return select(2, require('acp').call('plan'))", []);
    assert!(none.as_str().is_some_and(|none| none.contains("plan")), "{none}");
    chat.send("go");
    chat.nvim.wait_for_screen("plan 0/2");
    chat.nvim.command("Acp plan");
    let pinned = "for _, win in ipairs(vim.api.nvim_list_wins()) do
                    local buf = vim.api.nvim_win_get_buf(win)
                    if vim.bo[buf].filetype == 'acp-plan' then
                      return table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), '\\n')
                    end
                  end
                  return ''";
    let shows = |chat: &mut Scripted, text: &str| {
        chat.nvim.wait_until(|nvim| nvim.exec_lua(pinned, []) == text.into(), text);
    };
    shows(&mut chat, "Plan 0/2\n  ● look\n  ○ act");
    chat.decide("allow a");
    shows(&mut chat, "Plan 1/2\n  ✓ look\n  ● act");
    chat.nvim.wait_for_screen("plan 1/2");
    // It goes with its chat, and comes back with it.
    let layout = "return vim.inspect(vim.fn.winlayout()):gsub('%d+', '') .. vim.o.cmdheight
        .. ' ' .. vim.fn.winwidth(vim.fn.bufwinid(require('acp').status().sessions[1].buffer))";
    let before = chat.nvim.exec_lua(layout, []);
    for hide in ["Acp toggle", "wincmd b | quit"] {
        chat.nvim.command(hide);
        shows(&mut chat, "");
        chat.nvim.command("AcpChat");
        shows(&mut chat, "Plan 1/2\n  ✓ look\n  ● act");
        assert_eq!(chat.nvim.exec_lua(layout, []), before, "{hide}");
    }
    chat.nvim.command("Acp plan");
    shows(&mut chat, "");
}

/// The height of the pinned plan's window.
const PLAN_HEIGHT: &str = "for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
      if vim.bo[vim.api.nvim_win_get_buf(win)].filetype == 'acp-plan' then return vim.api.nvim_win_get_height(win) end
    end";

#[test]
fn the_pinned_plan_has_its_lines_again_when_other_windows_have_gone() {
    let plan = |steps: usize| {
        let entry =
            |step| json!({ "content": format!("step {step}"), "priority": "high", "status": "pending" });
        update(json!({ "sessionUpdate": "plan", "entries": (0..steps).map(entry).collect::<Vec<_>>() }))
    };
    let mut parts = vec![prompt(), plan(4)];
    parts.extend(gate("go"));
    parts.extend([plan(6), says("Longer."), ends("end_turn")]);
    let mut chat = Scripted::sized(&[("a.txt", "one\n")], steps(parts), 80, 24);
    quiet_pickers(&mut chat);
    chat.nvim.command("edit a.txt");
    chat.chat();
    chat.send("go");
    chat.wait_for("step 3");
    chat.nvim.stop_insert();
    chat.nvim.command("Acp plan");
    let is = |chat: &mut Scripted, rows: u64| {
        chat.nvim.wait_until(
            |nvim| nvim.exec_lua(PLAN_HEIGHT, []).as_u64() == Some(rows),
            &format!("{rows} lines for the plan"),
        );
    };
    is(&mut chat, 5);
    chat.nvim.command("botright 13new");
    chat.nvim.wait_until(
        |nvim| nvim.exec_lua(PLAN_HEIGHT, []).as_u64().is_some_and(|rows| rows < 5),
        "it to be squeezed",
    );
    chat.nvim.command("quit");
    is(&mut chat, 5);
    // The user's own height stays, until the plan has other lines.
    chat.nvim.exec_lua(
        "for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
           if vim.bo[vim.api.nvim_win_get_buf(win)].filetype == 'acp-plan' then
             vim.api.nvim_win_set_height(win, 3)
           end
         end",
        [],
    );
    is(&mut chat, 3);
    chat.decide("allow a");
    chat.wait_for("Longer.");
    // Seven would leave too little of the small screen to what is read.
    is(&mut chat, 5);
}

#[test]
fn when_lines_go_the_transcript_leaves_no_blank_rows_below_its_last() {
    let ask = |id: &str| {
        let call = json!({ "toolCallId": id, "title": format!("Do {id}"), "kind": "execute" });
        permission(id, call)
    };
    let text: String = (0..30).map(|number| format!("Line {number}.\n\n")).collect();
    let mut parts = vec![prompt(), says(&text), ask("one"), ask("two"), answered("one")];
    parts.extend([answered("two"), says("Answered."), ends("end_turn")]);
    let mut chat = Scripted::sized(&[], steps(parts), 80, 24);
    quiet_pickers(&mut chat);
    // Nothing was shown of either, so the user says which one they mean.
    let first = "vim.ui.select = function(items, options, choose)
        if options.prompt:find('which') then choose(items[1], 1) end
      end";
    chat.nvim.exec_lua(first, []);
    chat.chat();
    chat.send("go");
    chat.wait_for("Do two\n    Allow this command?\n    1 Allow");
    chat.nvim.wait_for_screen("Do two");
    chat.nvim.stop_insert();
    let asked = chat.transcript().lines().count();
    chat.decide("allow");
    chat.answer("one");
    let blank = "local chat = require('acp').status().sessions[1]
        local win = vim.fn.bufwinid(chat.buffer)
        local info = vim.fn.getwininfo(win)[1]
        local rows = vim.api.nvim_win_text_height(win, { start_row = info.topline - 1 }).all
        return { vim.api.nvim_buf_line_count(chat.buffer), info.height - rows }";
    chat.nvim.wait_until(
        |nvim| {
            let now = nvim.exec_lua(blank, []);
            let (lines, rows) = (now[0].as_u64().unwrap_or_default(), now[1].as_i64().unwrap_or_default());
            usize::try_from(lines).is_ok_and(|lines| lines < asked) && rows <= 0
        },
        "lines to go, and no blank rows in their place",
    );
    chat.decide("allow");
    chat.wait_for("Answered.");
}

#[test]
fn a_call_that_the_turn_ends_without_is_said_to_have_no_result() {
    let mut chat = Scripted::sized(
        &[],
        steps([prompt(), call("1", "execute", "make", "in_progress"), says("I am done."), ends("end_turn")]),
        80,
        24,
    );
    chat.chat();
    chat.send("build");
    chat.wait_for("Done");
    chat.nvim.wait_for_screen("no result");
    assert!(answer(&mut chat).starts_with("◌ run make\n"), "{}", answer(&mut chat));
    assert!(!chat.nvim.screen().contains("◐"), "{}", chat.nvim.screen());
    chat.nvim.command("set laststatus=0");
    chat.nvim.wait_until(|nvim| !nvim.screen().contains("acp://fake prompt"), "the status line to go");
    looks(&mut chat.nvim, "no-result-80x24");
}

#[test]
fn what_comes_and_what_goes_in_a_diff_has_its_colours_wherever_it_is_shown() {
    let patch = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n same\n-gone\n+come\n- no part of it";
    let text = json!([{ "type": "content", "content": { "type": "text", "text": patch } },
        { "type": "diff", "path": "/x/y.rs", "oldText": "left\n", "newText": "right\n" }]);
    let done = update(json!({ "sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "completed",
        "content": text }));
    let mut chat =
        Scripted::new(&[], steps([prompt(), call("1", "edit", "x", "in_progress"), done, ends("end_turn")]));
    chat.chat();
    chat.send("edit");
    chat.wait_for("Done");
    let check = |chat: &mut Scripted, lines: [(&str, &str); 5]| {
        for (line, group) in lines {
            chat.nvim.wait_for_screen(line);
            let groups = chat.nvim.groups_of(line);
            let any = groups.iter().any(|shown| shown.contains("Diff"));
            assert_eq!(any, !group.is_empty(), "{line}: {groups:?}");
            assert!(group.is_empty() || groups.iter().any(|shown| shown == group), "{line}: {groups:?}");
        }
    };
    let (add, delete) = ("DiffAdd", "AcpDiffDelete");
    chat.go_to("edit x");
    chat.nvim.input("<Tab>");
    check(
        &mut chat,
        [("-gone", delete), ("+come", add), ("- no part", ""), ("- left", delete), ("+ right", add)],
    );
    chat.nvim.input("K");
    chat.nvim.wait_for_screen("## Content");
    check(
        &mut chat,
        [("-gone", delete), ("+come", add), ("- no part", ""), ("-left", delete), ("+right", add)],
    );
}

#[test]
fn the_keys_are_read_in_a_small_window_that_scrolls_and_q_closes() {
    let mut chat = Scripted::sized(&[], steps([]), 80, 24);
    quiet_pickers(&mut chat);
    chat.chat();
    chat.nvim.input("<Esc>g?");
    chat.nvim.wait_for_screen("g? all keys");
    chat.nvim.input("g?");
    chat.nvim.wait_for_screen("Ask again");
    looks(&mut chat.nvim, "keys-80x24");
    assert!(chat.nvim.groups_of("<C-s>").contains(&"Title".to_owned()));
    chat.nvim.input("G");
    chat.nvim.wait_for_screen("q closes");
    chat.nvim.input("q");
    chat.nvim.wait_until(|nvim| !nvim.screen().contains("q closes"), "the window to close");
}

/// What is given up for its time, for its errors, for its length, and for want of a parser.
#[test]
fn k_on_a_fence_that_stays_plain_says_why() {
    let bad = "local s = [==[ x ]] \"y\n";
    let texts = [
        ("plain = 1", "```nosuchlang\nplain = 1\n```\n".to_owned(), "there is no parser for nosuchlang"),
        // A short fence is read as Markdown, of which longer lines are read.
        (
            "long = {",
            format!("```lua\nlong = {{{}}}\n{}```\n", "1,".repeat(700), "local x\n".repeat(2500)),
            "is read up to a limit",
        ),
        ("tangled", format!("```lua\ntangled\n{}\n```\n", "(".repeat(8000)), "this code has too many errors"),
        ("slow", format!("```lua\n{}slow\n```\n", bad.repeat(1400)), "takes too long to read this code"),
    ];
    let mut parts = Vec::new();
    for (_, text, _) in &texts {
        parts.extend([prompt(), says(text), ends("end_turn")]);
    }
    let mut chat = Scripted::new(&[], steps(parts));
    chat.chat();
    for (line, _, why) in &texts {
        if *line == "slow" {
            // As on a machine on which each slice takes so long.
            let clock = "local now = 0
                         require('acp.highlight.budget').clock = function() now = now + 2e9 return now end";
            chat.nvim.exec_lua(clock, []);
        }
        chat.nvim.exec_lua("require('acp').send('go')", []);
        chat.wait_for(line);
        chat.go_to(line);
        chat.nvim.wait_until(
            |nvim| {
                nvim.input("K");
                nvim.messages().replace('\n', "").contains(why)
            },
            why,
        );
        chat.nvim.command("messages clear");
    }
}
