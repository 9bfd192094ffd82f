//! Going along with an agent: which window follows, when it waits for the user, what marks the place, and
//! the lists of places. The agents are scripted or recorded, the Neovim is real.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

#[expect(dead_code, reason = "of a session that was played only the places are of interest")]
mod replay {
    pub mod player;
    pub mod recording;
}

use serde_json::{Value, json};

use replay::player::play_followed;
use replay::recording::Recording;
use support::Nvim;
use support::script::{Scripted, answered, ends, opened, permission, prompt, says, update};

/// A file whose lines say which file and line they are.
fn rows(name: &str) -> String {
    (1..=100).map(|line| format!("{name} row {line}\n")).collect()
}

/// A tool call that runs at a place.
fn call(id: &str, kind: &str, path: &str, line: u32) -> Value {
    update(
        json!({ "sessionUpdate": "tool_call", "toolCallId": id, "title": format!("{kind} {path}"), "kind": kind,
        "status": "in_progress", "locations": [{ "path": format!("$PROJECT/{path}"), "line": line }] }),
    )
}

fn done(id: &str) -> Value {
    update(json!({ "sessionUpdate": "tool_call_update", "toolCallId": id, "status": "completed" }))
}

/// The turn goes on until the user stops it.
fn until_stopped() -> [Value; 2] {
    [json!({ "expect": "session/cancel" }), ends("cancelled")]
}

/// A chat beside `a.txt`, with an agent that goes to each of these places in a turn of its own.
fn going_to(places: &[(&str, &str, u32)]) -> Scripted {
    let mut all = opened();
    for (number, (kind, path, line)) in places.iter().enumerate() {
        let id = number.to_string();
        all.extend([
            prompt(),
            call(&id, kind, path, *line),
            done(&id),
            says(&format!("Turn {number}.")),
            ends("end_turn"),
        ]);
    }
    let files = ["a.txt", "b.txt", "c.txt"].map(|name| (name, rows(name)));
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let mut chat = Scripted::new(&files, all);
    chat.nvim.command("edit a.txt");
    chat.nvim.input("10G");
    chat
}

/// `name:line` of a window, which is given by its number in the layout.
fn place_of(nvim: &mut Nvim, number: u64) -> String {
    let code = "local win = vim.fn.win_getid(...)
                local name = vim.fs.basename(vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(win)))
                return name .. ':' .. vim.api.nvim_win_get_cursor(win)[1]";
    nvim.exec_lua(code, [number.into()]).as_str().expect("a text").to_owned()
}

#[track_caller]
fn wait_for_place(nvim: &mut Nvim, number: u64, place: &str) {
    nvim.wait_until(|nvim| place_of(nvim, number) == place, &format!("window {number} to be at {place}"));
}

/// Where the user is: the buffer's name and the cursor.
fn here(nvim: &mut Nvim) -> String {
    let code =
        "return vim.fs.basename(vim.api.nvim_buf_get_name(0)) .. vim.inspect(vim.api.nvim_win_get_cursor(0))
                  .. vim.api.nvim_get_mode().mode";
    nvim.exec_lua(code, []).as_str().expect("a text").to_owned()
}

/// What the plugin says of the place that the agent is at.
fn location(nvim: &mut Nvim) -> Value {
    let code = "return vim.json.encode(require('acp').status().sessions[1].location or {})";
    let text = nvim.exec_lua(code, []);
    serde_json::from_str(text.as_str().expect("a text")).expect("JSON")
}

#[test]
fn the_code_window_goes_along_and_the_user_stays_where_they_are() {
    let mut chat = going_to(&[("read", "b.txt", 50), ("edit", "b.txt", 53)]);
    chat.chat();
    chat.nvim.command("Acp follow on");
    let user = here(&mut chat.nvim);
    chat.send("go");
    wait_for_place(&mut chat.nvim, 1, "b.txt:50");
    chat.wait_for("Turn 0.");
    assert_eq!(here(&mut chat.nvim), user);
    let top = "return vim.fn.line('w0', vim.fn.win_getid(1))";
    let before = chat.nvim.exec_lua(top, []);
    chat.send("go");
    wait_for_place(&mut chat.nvim, 1, "b.txt:53");
    assert_eq!(chat.nvim.exec_lua(top, []), before, "what is in sight stands still");
    assert_eq!(here(&mut chat.nvim), user);
    // Back to where the user was, in one step, though the agent went to two places.
    chat.nvim.input("<Esc><C-w>t<C-o>");
    wait_for_place(&mut chat.nvim, 1, "a.txt:10");
}

/// Has a prompt sent by nobody's keys, so that whatever is open stays so.
fn send_silently(nvim: &mut Nvim) {
    nvim.exec_lua("vim.schedule(function() require('acp').send('go') end)", []);
}

#[test]
fn nothing_moves_while_the_user_is_in_that_window_whatever_they_do_there() {
    for (what, keys) in [
        ("normal mode", "5j"),
        ("insert mode", "ix"),
        ("visual mode", "vj"),
        ("the command line", ":let x = 1"),
    ] {
        let mut chat = going_to(&[("read", "b.txt", 50)]);
        chat.chat();
        chat.nvim.command("Acp follow on");
        chat.nvim.input("<Esc><C-w>t");
        chat.nvim.input(keys);
        send_silently(&mut chat.nvim);
        chat.wait_for("Turn 0.");
        let place = place_of(&mut chat.nvim, 1);
        assert!(place.starts_with("a.txt:1"), "{what}: {place}");
        let location = location(&mut chat.nvim);
        assert_eq!((&location["shown"], &location["line"]), (&json!(false), &json!(50)), "{what}");
    }
}

#[test]
fn a_new_file_that_was_asked_about_is_followed_once_it_is_there() {
    let content =
        json!([{ "type": "diff", "path": "$PROJECT/new.txt", "oldText": null, "newText": "new\n" }]);
    let call = json!({ "toolCallId": "c", "title": "Write new.txt", "kind": "edit", "status": "pending",
        "locations": [{ "path": "$PROJECT/new.txt" }], "content": content });
    let mut all = opened();
    all.extend([prompt(), permission("p", call), answered("p"), says("Allowed.")]);
    all.extend(until_stopped());
    let mut chat = Scripted::new(&[("a.txt", "a\n")], all);
    chat.nvim.command("edit a.txt");
    chat.chat();
    chat.nvim.command("Acp follow on");
    chat.send("go");
    chat.wait_for("Allow this edit?");
    chat.nvim.stop_insert();
    chat.nvim.command("Acp allow");
    chat.wait_for("Allowed.");
    chat.nvim.wait_for_screen("new.txt (");
    assert_eq!(place_of(&mut chat.nvim, 1), "a.txt:1");
    chat.project.write("new.txt", "new\n");
    wait_for_place(&mut chat.nvim, 1, "new.txt:1");
}

#[test]
fn what_the_user_does_elsewhere_holds_nothing_up() {
    for (what, keys) in [
        ("insert mode in the prompt", "half a line"),
        ("visual mode in the chat", "<Esc><C-w>kV"),
        ("the command line of the prompt", "<Esc>:let x = 1"),
        ("terminal mode", "<Esc>:botright terminal cat<CR>i"),
    ] {
        let mut chat = going_to(&[("read", "b.txt", 50)]);
        chat.chat();
        chat.nvim.command("Acp follow on");
        chat.nvim.input(keys);
        if what == "terminal mode" {
            chat.nvim.wait_until(|nvim| nvim.mode().name == "t", "terminal mode");
        }
        let mode = chat.nvim.mode().name;
        send_silently(&mut chat.nvim);
        wait_for_place(&mut chat.nvim, 1, "b.txt:50");
        chat.nvim.wait_for_screen("b.txt row 50");
        assert_eq!(chat.nvim.mode().name, mode, "{what}");
    }
}

#[test]
fn pickers_stay_open_and_prompts_come_first() {
    // A picker as many are: a floating window that is entered.
    let mut chat = going_to(&[("read", "b.txt", 50)]);
    chat.chat();
    chat.nvim.command("Acp follow on");
    chat.nvim.input("<Esc>");
    chat.nvim.exec_lua(
        "local buf = vim.api.nvim_create_buf(false, true)
         vim.api.nvim_open_win(buf, true, { relative = 'editor', row = 2, col = 2, width = 20, height = 4 })",
        [],
    );
    send_silently(&mut chat.nvim);
    wait_for_place(&mut chat.nvim, 1, "b.txt:50");
    let float = "return vim.api.nvim_win_get_config(0).relative";
    assert_eq!(chat.nvim.exec_lua(float, []).as_str(), Some("editor"));
    // The one that comes with Neovim, and a prompt that wants <Enter>: nothing else runs before.
    for (ask, shows, keys) in [
        ("vim.ui.select({ 'one', 'two' }, {}, function(item) _G.picked = item end)", "2: two", "2<CR>"),
        ("_G.picked = 'two' print('one\\ntwo\\nthree')", "Press ENTER", "<CR>"),
    ] {
        let mut chat = going_to(&[("read", "b.txt", 50)]);
        chat.chat();
        chat.nvim.command("Acp follow on");
        chat.nvim.input("<Esc>");
        // Typed, since older versions show what is printed by itself without a prompt.
        chat.nvim.input(&format!(":lua require('acp').send('go') {ask}<CR>"));
        chat.nvim.wait_for_screen(shows);
        chat.nvim.input(keys);
        wait_for_place(&mut chat.nvim, 1, "b.txt:50");
        assert_eq!(chat.nvim.exec_lua("return _G.picked", []).as_str(), Some("two"));
    }
}

/// A chat whose agent is at work at `b.txt:50` until it is stopped.
fn at_work() -> Scripted {
    let mut all = opened();
    all.extend([prompt(), call("1", "read", "b.txt", 50), says("On it.")]);
    all.extend(until_stopped());
    let mut chat = Scripted::new(&[("a.txt", &rows("a.txt")), ("b.txt", &rows("b.txt"))], all);
    chat.nvim.command("edit a.txt");
    chat.nvim.input("10G");
    chat
}

#[test]
fn it_waits_says_so_and_goes_on_when_the_user_has_been_quiet_elsewhere() {
    let mut chat = at_work();
    chat.configure("follow = { enabled = true, resume_after = 0.5 }");
    chat.chat();
    chat.nvim.input("<Esc><C-w>t3j");
    send_silently(&mut chat.nvim);
    chat.nvim.wait_for_screen("follow paused: b.txt:50");
    assert_eq!(place_of(&mut chat.nvim, 1), "a.txt:13");
    assert_eq!(location(&mut chat.nvim)["waiting"], true);
    // In another window nothing is to be done for it.
    chat.nvim.input("<C-w>b");
    wait_for_place(&mut chat.nvim, 1, "b.txt:50");
    chat.nvim.wait_until(|nvim| !nvim.screen().contains("follow paused"), "the bar to be as before");
    assert_eq!(location(&mut chat.nvim)["shown"], true);
}

#[test]
fn a_key_or_a_command_goes_on_at_once_even_where_the_user_is() {
    let mut chat = at_work();
    chat.configure("follow = { enabled = true, resume_after = 600 }");
    chat.chat();
    chat.nvim.input("<Esc><C-w>t3j<C-w>b<C-w>k");
    send_silently(&mut chat.nvim);
    // Who sends a prompt has turned to the agent; who then goes back has not.
    wait_for_place(&mut chat.nvim, 1, "b.txt:50");
    let mut chat = at_work();
    chat.configure("follow = { enabled = true, resume_after = 600 }");
    chat.chat();
    chat.nvim.input("<Esc><C-w>t3j");
    send_silently(&mut chat.nvim);
    chat.nvim.wait_for_screen("follow paused");
    chat.nvim.input("<C-w>b<C-w>kgw");
    wait_for_place(&mut chat.nvim, 1, "b.txt:50");
    let mut chat = at_work();
    chat.configure("follow = { enabled = true }");
    chat.chat();
    chat.nvim.input("<Esc><C-w>t3j");
    send_silently(&mut chat.nvim);
    chat.nvim.wait_for_screen("follow paused");
    chat.nvim.command("Acp follow resume");
    wait_for_place(&mut chat.nvim, 1, "b.txt:50");
}

#[test]
fn windows_that_cannot_be_given_away_are_passed_over() {
    for (what, before) in [
        ("'winfixbuf'", "set winfixbuf"),
        ("unsaved and not 'hidden'", "set nohidden | call setline(1, 'unsaved')"),
        ("a buffer that would be gone", "setlocal bufhidden=wipe"),
        ("a diff", "diffthis"),
        ("a preview window", "set previewwindow"),
        ("a special buffer", "setlocal buftype=nofile"),
    ] {
        let mut chat = going_to(&[("read", "b.txt", 50)]);
        chat.nvim.command("split c.txt | wincmd j");
        chat.nvim.command(before);
        chat.chat();
        chat.nvim.command("Acp follow on");
        chat.send("go");
        wait_for_place(&mut chat.nvim, 1, "b.txt:50");
        assert_eq!(place_of(&mut chat.nvim, 2), "a.txt:10", "{what}");
        assert_eq!(chat.nvim.messages().matches("E").count(), 0, "{what}: {}", chat.nvim.messages());
    }
    // Without any other a new window is opened.
    let mut chat = going_to(&[("read", "b.txt", 50)]);
    chat.nvim.command("set nohidden | call setline(1, 'unsaved')");
    chat.chat();
    chat.nvim.command("Acp follow on");
    chat.send("go");
    wait_for_place(&mut chat.nvim, 1, "b.txt:50");
    assert_eq!(place_of(&mut chat.nvim, 2), "a.txt:10");
}

#[test]
fn a_pinned_window_follows_and_no_other() {
    let mut chat = going_to(&[("read", "b.txt", 50), ("read", "c.txt", 7)]);
    chat.nvim.command("vsplit | vsplit");
    chat.nvim.command("Acp follow pin");
    chat.nvim.input("<C-w>l");
    chat.chat();
    chat.send("go");
    wait_for_place(&mut chat.nvim, 1, "b.txt:50");
    chat.wait_for("Turn 0.");
    chat.nvim.command("Acp follow unpin");
    let error =
        chat.nvim.exec_lua("return select(2, require('acp').call('follow', { args = { 'unpin' } }))", []);
    assert_eq!(error.as_str(), Some("no window is pinned; :Acp follow pin pins the one you are in"));
    // Two messages at once would have Neovim wait for a key.
    chat.nvim.command("redraw!");
    let error =
        chat.nvim.exec_lua("return select(2, require('acp').call('follow', { args = { 'pin' } }))", []);
    assert_eq!(error.as_str(), Some("this window does not show a file; pin one that does"));
}

#[test]
fn the_mark_says_who_is_there_and_goes_with_the_call() {
    let mut chat = at_work();
    chat.configure("follow = true");
    chat.chat();
    chat.send("go");
    chat.nvim.wait_for_screen("◂ Fake: reading");
    chat.nvim.wait_for_screen("F▸b.txt row 50");
    assert_eq!(chat.nvim.groups_of("b.txt row 50"), ["Visual"]);
    chat.nvim.wait_until(|nvim| nvim.groups_of("b.txt row 50").is_empty(), "the lines to fade");
    chat.nvim.wait_for_screen("◂ Fake: reading");
    chat.nvim.command("Acp cancel");
    chat.nvim.wait_until(|nvim| !nvim.screen().contains("◂ Fake: reading"), "the mark to go");
}

#[test]
fn each_of_several_agents_has_a_mark_of_its_own() {
    let mut chat = at_work();
    let file = |name: &str| chat.project.file(name).to_string_lossy().into_owned();
    let args = ["--script".to_owned(), file(".agent/script.json")].map(rmpv::Value::from).to_vec();
    let agent = support::demo_agent().to_str().expect("a path in UTF-8");
    chat.nvim.exec_lua(
        "local command, args = ...
         local agent = { command = command, args = args }
         require('acp').setup({ agents = { fake = agent, other = agent }, follow = true })",
        [agent.into(), rmpv::Value::Array(args)],
    );
    let marks = |nvim: &mut Nvim| nvim.screen().matches("◂ Fake: r").count();
    for name in ["fake", "other"] {
        chat.nvim.command(&format!("AcpChat {name}"));
        chat.nvim.wait_for_screen("Fake 1.0");
        chat.nvim.wait_until(|nvim| nvim.mode().name == "i", "the prompt");
        chat.send("go");
        chat.nvim.wait_until(|nvim| marks(nvim) > 0, "a mark");
    }
    chat.nvim.wait_until(|nvim| marks(nvim) == 2, "a mark for each");
    chat.nvim.command("Acp cancel");
    chat.nvim.wait_until(|nvim| marks(nvim) == 1, "the mark of the one that goes on");
}

#[test]
fn a_file_that_another_neovim_has_open_is_shown_without_a_question() {
    let mut chat = going_to(&[("read", "b.txt", 50)]);
    let swap = "set swapfile updatecount=1 directory=.";
    let mut other = Nvim::in_project(&chat.project);
    other.command(swap);
    other.command("edit b.txt | call setline(1, 'changed there') | preserve");
    let exists = chat.project.file(".b.txt.swp");
    other.wait_until(|_| exists.exists(), "the swap file");
    chat.nvim.command(swap);
    chat.chat();
    chat.nvim.command("Acp follow on");
    chat.send("go");
    wait_for_place(&mut chat.nvim, 1, "b.txt:50");
    chat.wait_for("has another swap file, so it may be open in another Neovim");
    assert!(!chat.nvim.mode().blocking);
}

#[test]
fn a_diff_without_a_line_tells_which_lines_are_touched() {
    let mut all = opened();
    let path = "$PROJECT/b.txt";
    all.extend([
        prompt(),
        update(json!({ "sessionUpdate": "tool_call", "toolCallId": "1", "title": "Edit", "kind": "edit",
            "status": "in_progress" })),
        update(json!({ "sessionUpdate": "tool_call_update", "toolCallId": "1", "content": [{ "type": "diff",
            "path": path, "oldText": "b.txt row 60\nb.txt row 61\n", "newText": "sixty\n" }] })),
    ]);
    all.extend(until_stopped());
    let mut chat = Scripted::new(&[("a.txt", "a\n"), ("b.txt", &rows("b.txt"))], all);
    chat.configure("follow = true, diff = { style = 'off' }");
    chat.nvim.command("edit a.txt");
    chat.chat();
    chat.send("go");
    wait_for_place(&mut chat.nvim, 1, "b.txt:60");
    chat.nvim.wait_for_screen("◂ Fake: editing");
    assert_eq!(chat.nvim.groups_of("b.txt row 61"), ["Visual"]);
    assert!(chat.nvim.groups_of("b.txt row 62").is_empty());
}

#[test]
fn what_cannot_be_shown_is_named_and_not_opened() {
    let mut all = opened();
    for (number, path) in
        ["sub", "none.txt", "binary", "file://$PROJECT/b%20c.txt", "sub/../b.txt", "link.txt"]
            .iter()
            .enumerate()
    {
        let path = if path.contains(':') { (*path).to_owned() } else { format!("$PROJECT/{path}") };
        let line = [json!(0), Value::Null, json!(7), json!(999), json!(3), json!(4)][number].clone();
        all.extend([
            prompt(),
            update(json!({ "sessionUpdate": "tool_call", "toolCallId": number.to_string(), "title": "Read",
                "kind": "read", "status": "in_progress", "locations": [{ "path": path, "line": line }] })),
        ]);
        all.extend(until_stopped());
    }
    let mut chat = Scripted::new(
        &[
            ("a.txt", "a\n"),
            ("b.txt", &rows("b.txt")),
            ("b c.txt", &rows("b c.txt")),
            ("binary", "a\0b"),
            ("sub/x", ""),
        ],
        all,
    );
    std::os::unix::fs::symlink(chat.project.file("b.txt"), chat.project.file("link.txt")).expect("a link");
    chat.configure("follow = true");
    chat.nvim.command("edit a.txt");
    chat.nvim.resize(140, 30);
    chat.chat();
    for shows in ["(a folder)", "none.txt (not there)", "binary:7 (binary, not opened)"] {
        chat.send("go");
        chat.nvim.wait_for_screen(shows);
        chat.nvim.command("Acp cancel");
        chat.nvim.wait_for_screen("ready");
    }
    assert_eq!(place_of(&mut chat.nvim, 1), "a.txt:1");
    for place in ["b c.txt:100", "b.txt:3", "b.txt:4"] {
        chat.send("go");
        wait_for_place(&mut chat.nvim, 1, place);
        chat.nvim.command("Acp cancel");
        chat.nvim.wait_for_screen("ready");
    }
}

#[test]
fn a_file_is_the_user_s_only_once_they_are_in_it() {
    let mut chat = going_to(&[("read", "b.py", 2)]);
    chat.project.write("b.py", "import os\nprint(os)\n");
    chat.chat();
    chat.nvim.command("Acp follow on");
    let started = std::time::Instant::now();
    chat.send("go");
    wait_for_place(&mut chat.nvim, 1, "b.py:2");
    let took = started.elapsed();
    let facts = "local buf = vim.fn.bufnr('b.py')
                 return { vim.bo[buf].buflisted, vim.bo[buf].filetype, vim.bo[buf].omnifunc ~= '', vim.fn.exists('g:loaded_python3_provider') }";
    let before = chat.nvim.exec_lua(facts, []).to_string();
    assert_eq!(before, r#"[false, "python", false, 0]"#, "after {took:?}");
    // Looking for a Python takes long, and is not what this is about.
    chat.nvim.command("let g:loaded_python3_provider = 0");
    chat.nvim.input("<Esc><C-w>t");
    chat.nvim.wait_until(
        |nvim| nvim.exec_lua(facts, []).to_string().starts_with(r#"[true, "python""#),
        "the file to be the user's",
    );
    let comments = "return vim.bo.commentstring .. vim.fn.exists('b:undo_ftplugin')";
    assert_eq!(chat.nvim.exec_lua(comments, []).as_str(), Some("# %s1"));
}

#[test]
fn the_user_s_function_chooses_the_window() {
    let mut chat =
        going_to(&[("read", "b.txt", 50), ("edit", "b.txt", 50), ("edit", "c.txt", 9), ("edit", "c.txt", 8)]);
    chat.configure(
        "follow = { enabled = true, window = function(place)
           _G.place = place
           if place.line == 9 then error('no idea') end
           if place.line == 8 then return 'x' end
           return place.verb == 'editing' and vim.fn.win_getid(2)
         end }",
    );
    chat.nvim.command("split");
    chat.chat();
    chat.send("go");
    chat.nvim.wait_until(|nvim| !nvim.exec_lua("return _G.place", []).is_nil(), "the function to be asked");
    chat.wait_for("Turn 0.");
    assert_eq!(place_of(&mut chat.nvim, 1), "a.txt:10");
    chat.send("go");
    wait_for_place(&mut chat.nvim, 2, "b.txt:50");
    let place = "local place = _G.place
                 return ('%s %s %s %s %d'):format(place.verb, place.kind, place.call, place.agent, place.session)";
    assert_eq!(chat.nvim.exec_lua(place, []).as_str(), Some("editing edit 1 fake 1"));
    chat.wait_for("Turn 1.");
    chat.send("go");
    wait_for_place(&mut chat.nvim, 2, "c.txt:9");
    chat.wait_for("Turn 2.");
    chat.send("go");
    wait_for_place(&mut chat.nvim, 2, "c.txt:8");
    let messages = chat.nvim.messages();
    assert_eq!(messages.matches("follow.window failed").count(), 1, "{messages}");
}

#[test]
fn the_places_are_listed_with_what_was_done() {
    let mut chat = going_to(&[("read", "b.txt", 50), ("edit", "c.txt", 3)]);
    let error = "return select(2, require('acp').call('locations', { args = ... }))";
    let none = rmpv::Value::Array(vec![]);
    chat.chat();
    let empty = chat.nvim.exec_lua(error, [none]);
    assert_eq!(empty.as_str(), Some("the agent has neither read nor edited a file yet"));
    for turn in ["Turn 0.", "Turn 1."] {
        chat.send("go");
        chat.wait_for(turn);
    }
    chat.nvim.input("<Esc>");
    chat.nvim.command("Acp locations");
    let listed = "local lines = {}
                  for _, item in ipairs(...) do
                    local name = vim.fs.basename(vim.api.nvim_buf_get_name(item.bufnr))
                    table.insert(lines, name .. ':' .. item.lnum .. item.text:gsub('%d+:%d+:%d+', '(time)'))
                  end
                  return vim.bo.filetype .. ' ' .. table.concat(lines, ', ')";
    chat.nvim
        .wait_until(|nvim| nvim.exec_lua("return vim.bo.filetype", []).as_str() == Some("qf"), "the list");
    let list = chat.nvim.exec_lua("return vim.fn.getqflist()", []);
    assert_eq!(chat.nvim.exec_lua(listed, [list]).as_str(), Some("qf c.txt:3(time)  editing  edit c.txt"));
    chat.nvim.input("<CR>");
    chat.nvim.wait_until(|nvim| here(nvim).starts_with("c.txt"), "the place");
    chat.nvim.command("cclose");
    chat.nvim.command("Acp locations session loclist");
    chat.nvim
        .wait_until(|nvim| nvim.exec_lua("return vim.bo.filetype", []).as_str() == Some("qf"), "the list");
    let list = chat.nvim.exec_lua("return vim.fn.getloclist(0)", []);
    assert_eq!(
        chat.nvim.exec_lua(listed, [list]).as_str(),
        Some("qf b.txt:50(time)  reading  read b.txt, c.txt:3(time)  editing  edit c.txt")
    );
    chat.nvim.command("lclose");
    chat.nvim
        .exec_lua("vim.ui.select = function(items, _, choose) _G.items = items choose(items[2], 2) end", []);
    chat.nvim.command("Acp locations session pick");
    chat.nvim.wait_until(|nvim| here(nvim).starts_with("b.txt{ 50"), "the picked place");
}

/// Follows a recorded agent from its start to its end, and tells where it was.
fn followed(name: &str) -> String {
    let data = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let recording = Recording::read(&data.join(format!("{name}.jsonl")));
    let played = play_followed(&recording);
    assert_eq!((played.exit.as_str(), played.messages.as_str()), ("0", ""), "{name}");
    assert_eq!(played.complaints, [""; 0], "{name}");
    let listed: Vec<String> = played.listed.iter().map(|path| format!("listed {path}")).collect();
    [played.places, listed].concat().join("\n")
}

#[test]
fn claude_is_followed_to_what_it_edits() {
    insta::assert_snapshot!(followed("claude-agent-acp-edit"), @r"
    reading /project/notes.txt:1
    editing /project/notes.txt
    editing /project/notes.txt:1
    listed /project/notes.txt
    ");
}

#[test]
fn an_older_claude_is_followed_through_the_editor() {
    insta::assert_snapshot!(followed("claude-code-acp-edit"), @r"
    reading /project/notes.txt:1
    editing /project/notes.txt
    editing /project/notes.txt:2
    editing /project/notes.txt:1
    listed /project/notes.txt
    ");
}

#[test]
fn codex_is_followed_as_far_as_it_tells() {
    insta::assert_snapshot!(followed("codex-acp-cancel-perm"), @r"
    reading /project/notes.txt
    editing /project/notes.txt
    ");
}

#[test]
fn gemini_is_followed_through_the_editor() {
    insta::assert_snapshot!(followed("gemini-edit"), @r"
    reading /project/notes.txt
    editing /project/notes.txt
    editing /project/notes.txt:2
    listed /project/notes.txt
    ");
}

/// Its calls name files in their input alone.
#[test]
fn cline_is_followed_by_what_it_puts_into_its_tools() {
    insta::assert_snapshot!(followed("cline-edit"), @r"
    reading /project/notes.txt
    editing /project/notes.txt
    listed /project/notes.txt
    ");
}

#[test]
fn copilot_is_followed_to_what_it_may_not_edit() {
    insta::assert_snapshot!(followed("copilot-edit-reject"), @r"
    reading /project/notes.txt
    editing /project/notes.txt
    ");
}

#[test]
fn a_burst_of_places_costs_a_few_moves_and_holds_nothing_up() {
    let mut all = opened();
    all.push(prompt());
    for line in 1..=1000_u32 {
        all.push(call(
            &line.to_string(),
            "read",
            if line % 2 == 0 { "b.txt" } else { "c.txt" },
            line % 100 + 1,
        ));
    }
    all.push(says("That was all."));
    all.extend(until_stopped());
    let rows = rows("row");
    let mut chat = Scripted::new(&[("a.txt", "a\n"), ("b.txt", &rows), ("c.txt", &rows)], all);
    chat.configure("follow = { enabled = true, window = function() _G.moves = (_G.moves or 0) + 1 end }");
    chat.nvim.command("edit a.txt");
    chat.chat();
    // How long nothing else can run at the most.
    chat.nvim.exec_lua(
        "local last = vim.uv.hrtime()
         _G.longest = 0
         vim.uv.new_timer():start(0, 2, function()
           local now = vim.uv.hrtime()
           _G.longest = math.max(_G.longest, (now - last) / 1e6)
           last = now
         end)",
        [],
    );
    let started = std::time::Instant::now();
    chat.send("go");
    chat.wait_for("That was all.");
    let took = started.elapsed();
    // The last place is the one that is shown in the end.
    wait_for_place(&mut chat.nvim, 1, "b.txt:1");
    let moves = chat.nvim.exec_lua("return _G.moves", []).as_u64().expect("a number");
    let longest = chat.nvim.exec_lua("return _G.longest", []).as_f64().expect("a number");
    println!("1,000 places in {took:?}: {moves} moves, never held up for more than {longest:.1} ms");
    assert!(moves <= 3 + took.as_millis() as u64 / 300, "{moves} moves in {took:?}");
    assert!(longest < 250.0, "held up for {longest} ms");
    chat.nvim.input("<Esc>");
    chat.nvim.command("Acp locations");
    let size = "return vim.fn.getqflist({ size = 0 }).size";
    chat.nvim.wait_until(|nvim| nvim.exec_lua(size, []).as_u64() == Some(1000), "the list");
}
