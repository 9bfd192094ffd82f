//! What an agent says looks like what it is: no character of it is hidden, none is obeyed by the screen, none makes
//! it look like the plugin's own words. Which characters are meant is for `core::text::visible` and its tests.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use serde_json::{Value, json};

use support::script::{Scripted, answered, asks, ends, opened_with, prompt, says, steps, update};

/// Each has no look of its own: an override, a space without width, a tag, a filler, a bell, a C1 control, a joiner
/// between letters, a soft hyphen.
const ODD: &str = "a\u{202e}b\u{200b}c\u{e0041}d\u{3164}e\u{7}f\u{9b}g\u{200d}h\u{ad}i";
const SEEN: &str = "a<202e>b<200b>c<e0041>d<3164>e^Gf<9b>g<200d>h<ad>i";

fn chunk(kind: &str, text: &str) -> Value {
    update(json!({ "sessionUpdate": kind, "content": { "type": "text", "text": text } }))
}

fn register(chat: &mut Scripted, name: &str) -> String {
    let text = chat.nvim.exec_lua("return vim.fn.getreg(...)", [name.into()]);
    text.as_str().expect("a text in UTF-8").to_owned()
}

/// Goes to the transcript's line that holds a text.
fn go_to(chat: &mut Scripted, text: &str) {
    chat.nvim.exec_lua(
        "local text = ...
         local chat = require('acp').status().sessions[1]
         vim.cmd.stopinsert()
         vim.api.nvim_set_current_win(vim.fn.bufwinid(chat.buffer))
         for row, line in ipairs(vim.api.nvim_buf_get_lines(chat.buffer, 0, -1, false)) do
           if line:find(text, 1, true) then
             vim.api.nvim_win_set_cursor(0, { row, line:find(text, 1, true) - 1 })
             return
           end
         end
         error('no line holds ' .. text)",
        [text.into()],
    );
}

#[test]
fn what_cannot_be_seen_is_shown_and_yanked_as_it_was_said() {
    // Cut where that hurts: what comes next depends on what came before.
    let family = "\u{1f469}\u{200d}\u{1f467}";
    let (head, tail) = family.split_at(7);
    let mut chat = Scripted::new(
        &[],
        steps([
            prompt(),
            says("One a\u{202e}b, "),
            says(&format!("then\u{200b}.\r\nTwo {head}")),
            says(&format!("{tail} x\u{2066}y\n\n```sh\nrm\u{200b} \u{ad}x\n```\nThree ^G <202e> {ODD}\n")),
            ends("end_turn"),
        ]),
    );
    chat.chat();
    chat.send("go");
    chat.wait_for("Done");
    chat.wait_for("One a<202e>b, then<200b>.\n");
    chat.wait_for(&format!("Two {family} x<2066>y\n"));
    chat.wait_for(&format!("Three ^G <202e> {SEEN}"));
    // By itself where the scheme's colour has too little contrast, else what it is linked to; 0.12 links that further.
    let groups = chat.nvim.groups_of("<200b>");
    assert!(
        groups.iter().any(|group| group.starts_with("Special") || group == "AcpUnprintable"),
        "{groups:?}\n{}",
        chat.nvim.screen_with_groups()
    );

    go_to(&mut chat, "One a");
    chat.nvim.command("normal! yy");
    assert_eq!(register(&mut chat, "\""), "One a\u{202e}b, then\u{200b}.\n");
    chat.nvim.command("normal! 0wy2t,");
    chat.nvim.command("normal! 0wyt,");
    assert_eq!(register(&mut chat, "0"), "a\u{202e}b");
    // A part of a look is no character.
    chat.nvim.command("normal! 0wy3l");
    assert_eq!(register(&mut chat, "0"), "a<2");
    chat.nvim.command("normal! 0\"ayt,");
    go_to(&mut chat, "Two");
    chat.nvim.command("normal! \"Ayy");
    assert_eq!(register(&mut chat, "a"), format!("One a\u{202e}b\nTwo {family} x\u{2066}y\n"));
    // What was typed as it looks stays as it is.
    go_to(&mut chat, "Three");
    chat.nvim.command("normal! yy");
    assert_eq!(register(&mut chat, "0"), format!("Three ^G <202e> {ODD}\n"));
    go_to(&mut chat, "^G <202e>");
    chat.nvim.exec_lua("vim.cmd('normal! ' .. vim.keycode('<C-v>') .. '$y')", []);
    assert_eq!(register(&mut chat, "0"), format!("^G <202e> {ODD}"));
    go_to(&mut chat, "rm");
    chat.nvim.exec_lua("vim.cmd('normal gy')", []);
    assert_eq!(register(&mut chat, "0"), "rm\u{200b} \u{ad}x\n");
}

/// Rows that begin with a bar, without it.
fn framed(chat: &mut Scripted) -> Vec<String> {
    chat.nvim.screen();
    let screen = chat.nvim.screen();
    let rows = screen.lines().filter_map(|row| row.strip_prefix('\u{258e}'));
    rows.map(|row| row.trim_end().to_owned()).collect()
}

#[test]
fn text_that_imitates_the_plugins_lines_has_no_bar_in_the_margin() {
    let fake = "\u{258e}You\n\nYou\nrm everything\n\n\u{2713} read all of it\n\u{25cf} Edit x\n    Allow this edit?   1 Allow   2 Reject\n\n\
                Done \u{b7} 77 min\nError: the agent is gone\n";
    let call = json!({ "sessionUpdate": "tool_call", "toolCallId": "1", "title": "make\nYou\u{202e}", "kind": "execute",
        "status": "failed", "content": [{ "type": "content", "content": { "type": "text", "text": fake } }] });
    let mut chat = Scripted::sized(
        &[],
        steps([prompt(), says(fake), update(call), chunk("agent_thought_chunk", fake), ends("end_turn")]),
        60,
        60,
    );
    chat.configure("window = { layout = 'current' }");
    chat.nvim.command("set laststatus=0");
    chat.chat();
    chat.send("go");
    chat.wait_for("thought");
    chat.nvim.wait_until(|nvim| nvim.screen().matches("Done \u{b7} ").count() >= 2, "the turn's end");
    go_to(&mut chat, "thought");
    chat.nvim.exec_lua("vim.api.nvim_feedkeys(vim.keycode('<Tab>'), 'm', false)", []);
    chat.nvim.wait_for_screen("\u{25be} thought");
    let rows = framed(&mut chat);
    let is_done = |row: &String| row.starts_with("Done \u{b7} ") && row != "Done \u{b7} 77 min";
    assert_eq!(rows[..3], ["Fake 1.0", "You", "Fake"], "{rows:?}");
    assert!(rows[3].contains("run make \u{21b5} You<202e>"), "{rows:?}");
    assert_eq!(rows[4].trim(), "(6 more lines, <Tab>)");
    assert_eq!(rows[5], "\u{25be} thought");
    assert!(rows.len() == 7 && is_done(&rows[6]), "{rows:?}\n{}", chat.nvim.screen());
}

/// What is wrapped has a thinner bar where it goes on, or else its end could pass for a line of its own.
#[test]
fn the_bar_goes_on_where_a_line_wraps_and_text_that_fills_a_row_gains_nothing() {
    let odd = format!("{}You", "x".repeat(39));
    let names = ["Allow it for as long as this session is open", "Reject it and tell the agent why"];
    let options = json!([{ "optionId": "a", "name": names[0], "kind": "allow_always" },
        { "optionId": "b", "name": names[1], "kind": "reject_once" }]);
    let call = json!({ "toolCallId": "1", "title": "make", "kind": "execute" });
    let long: String = (1..30).map(|line| format!("{line}\n")).collect();
    let failed = json!({ "sessionUpdate": "tool_call", "toolCallId": "2", "title": "ls", "kind": "execute",
        "status": "failed", "content": [{ "type": "content", "content": { "type": "text", "text": long } }] });
    let mut chat = Scripted::sized(
        &[],
        steps([
            prompt(),
            update(failed),
            asks("p", "session/request_permission", json!({ "toolCall": call, "options": options })),
            answered("p"),
            ends(&odd),
        ]),
        40,
        40,
    );
    chat.configure("window = { layout = 'current' }, permission = { open = 'never' }");
    chat.nvim.command("set laststatus=0");
    chat.chat();
    chat.send("go");
    chat.nvim.wait_for_screen("Allow this command?");
    let rows = framed(&mut chat);
    assert!(rows.iter().any(|row| row.contains("more lines")), "the hint: {rows:?}");
    let first = rows.iter().position(|row| row.contains("1 Allow it")).expect("the first choice");
    let screen = chat.nvim.screen();
    let thin: Vec<&str> = screen.lines().filter_map(|row| row.strip_prefix('\u{258f}')).collect();
    assert!(rows[first + 1].contains("2 "), "the second choice: {rows:?}");
    assert!(thin.iter().any(|row| row.contains("session is open")), "{screen}");
    chat.decide("reject");
    // What was used stands on a row of its own where the sentence before takes all of one.
    chat.nvim.wait_for_screen("\u{258f}You");
    let screen = chat.nvim.screen();
    let rows = framed(&mut chat);
    assert!(screen.contains("\n\u{258f}You"), "{screen}");
    assert_eq!(rows.iter().filter(|row| row.starts_with("You")).count(), 1, "{screen}");
}

#[test]
fn an_exported_text_cannot_imitate_the_headings_around_it() {
    let said = "Fine.\n\n## You\n\nDo it.\n\n<!-- \n```\nopen";
    let mut chat = Scripted::new(&[], steps([prompt(), says(said), ends("end_turn")]));
    chat.chat();
    chat.send("go");
    chat.wait_for("Done");
    chat.nvim.stop_insert();
    chat.nvim.command("Acp export");
    let text = chat.nvim.buffer_text(0);
    assert_eq!(text.matches("\n## You\n").count(), 1, "{text}");
    assert!(
        text.contains("\n\\## You\n") && text.contains("\n\\<!--") && text.contains("open\n```\n\n> Done"),
        "{text}"
    );
}

/// An agent all of whose names and texts hold what cannot be seen, and what bars and pickers would obey.
#[test]
fn nothing_is_hidden_or_obeyed_wherever_an_agent_is_named_or_quoted() {
    let odd = format!("%{{execute('let g:obeyed=1')}}%#ErrorMsg#{ODD}\nnext");
    let named = json!({ "id": "m", "name": odd, "description": odd });
    let modes = json!({ "modes": { "currentModeId": "m", "availableModes": [named] } });
    let option = json!([{ "optionId": "a", "name": odd, "kind": "allow_once" }]);
    let call = json!({ "toolCallId": "1", "title": odd, "kind": "edit", "rawInput": { &odd: odd },
        "locations": [{ "path": format!("$PROJECT/{ODD}"), "line": 1 }] });
    let command = json!({ "name": "ok", "description": odd, "input": { "hint": odd } });
    let broken = json!({ "name": format!("x{ODD}"), "description": "d" });
    let schema = json!({ "type": "object", "title": odd, "description": odd, "properties": { "x": {
        "type": "string", "title": odd, "description": odd, "enum": ["a"], "enumNames": [odd] } } });
    let mut all = opened_with(modes);
    all.extend([
        prompt(),
        update(json!({ "sessionUpdate": "session_info_update", "title": odd })),
        update(
            json!({ "sessionUpdate": "available_commands_update", "availableCommands": [command, broken] }),
        ),
        update(json!({ "sessionUpdate": "plan", "entries": [
            { "content": odd, "priority": "high", "status": "pending" }] })),
        says(&odd),
        chunk("agent_thought_chunk", &odd),
        asks("p", "session/request_permission", json!({ "toolCall": call, "options": option })),
        answered("p"),
        asks("f", "elicitation/create", json!({ "mode": "form", "message": odd, "requestedSchema": schema })),
        answered("f"),
        ends(&odd),
    ]);
    let mut chat = Scripted::sized(&[], all, 300, 50);
    chat.configure("permission = { open = 'never' }");
    chat.nvim.exec_lua(
        "_G.offered = {}
         vim.ui.select = function(items, options, done)
           for i, item in ipairs(items) do
             table.insert(_G.offered, (options.format_item or tostring)(item))
           end
           table.insert(_G.offered, options.prompt)
         end",
        [],
    );
    chat.chat();
    chat.send("go");
    chat.nvim.wait_for_screen("Allow this edit?");
    let look = |chat: &mut Scripted, what: &str| {
        let screen = chat.nvim.screen();
        let raw = |char: char| ODD.contains(char) && !char.is_ascii_lowercase();
        assert!(!screen.contains(raw), "{what}:\n{screen}");
        assert_eq!(chat.nvim.exec_lua("return vim.g.obeyed", []), rmpv::Value::Nil, "{what}");
        screen
    };
    let screen = look(&mut chat, "a question");
    assert!(screen.contains(" Fake  %{exec"), "the bar shows the title:\n{screen}");
    for command in
        ["Acp answer", "Acp mode", "Acp sessions", "Acp plan", "Acp locations pick", "Acp locations"]
    {
        chat.nvim.stop_insert();
        let _ = chat.nvim.try_lua(&format!("vim.cmd('{command}')"), []);
        look(&mut chat, command);
    }
    let commands = chat.nvim.exec_lua("return vim.json.encode(require('acp').call('commands'))", []);
    let commands = commands.as_str().expect("JSON").to_owned();
    assert!(commands.contains("\"ok\"") && !commands.contains("\"x"), "{commands}");
    chat.decide("allow");
    chat.nvim.wait_for_screen("Answer?");
    look(&mut chat, "a form");
    chat.nvim.command("Acp answer");
    look(&mut chat, "a form's picker");
    chat.nvim.command("Acp answer cancel");
    chat.nvim.wait_for_screen("Ended: ");
    look(&mut chat, "the end");
    go_to(&mut chat, "edit");
    chat.nvim.exec_lua("vim.api.nvim_feedkeys('K', 'm', false)", []);
    look(&mut chat, "details");
    let offered = chat.nvim.exec_lua("return table.concat(_G.offered, '\\n')", []);
    let offered = offered.as_str().expect("UTF-8").to_owned();
    let raw = |char: char| ODD.contains(char) && !char.is_ascii_lowercase();
    assert!(offered.contains("allow once: %{execute") && offered.contains(SEEN), "{offered}");
    assert!(!offered.contains(raw), "{offered}");
}
