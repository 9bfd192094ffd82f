//! What the protocol still calls unstable, as a user sees it: forks, plans by id, suggestions for the next prompt, the
//! second version. The agents are scripted; the Neovim, the processes and the pipes are real.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use serde_json::{Value, json};

use support::Nvim;
use support::script::{Scripted, ends, initialized, opened, prompt, runs, says};

fn new_session() -> [Value; 2] {
    [json!({ "expect": "session/new" }), json!({ "reply": "session/new", "result": { "sessionId": "s1" } })]
}

fn in_session(id: &str, text: &str) -> Value {
    json!({ "send": { "method": "session/update", "params": { "sessionId": id, "update": {
        "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": text } } } } })
}

/// What stands in the chat of a session.
fn transcript_of(chat: &mut Scripted, number: u64) -> String {
    let code = "for _, session in ipairs(require('acp').status().sessions) do
                  if session.session == ... then
                    return table.concat(vim.api.nvim_buf_get_lines(session.buffer, 0, -1, false), '\\n')
                  end
                end
                return ''";
    chat.nvim.exec_lua(code, [number.into()]).as_str().expect("a text").to_owned()
}

/// A chat that is forked after its first turn.
fn forked(steps: Vec<Value>) -> Scripted {
    let mut chat = Scripted::new(&[], steps);
    chat.chat();
    chat.send("first");
    chat.wait_for("Done");
    chat.nvim.command("Acp fork");
    chat
}

fn wait_for_text(chat: &mut Scripted, number: u64, text: &str) {
    let limit = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while !transcript_of(chat, number).contains(text) {
        let there = transcript_of(chat, number);
        assert!(std::time::Instant::now() < limit, "no {text:?} in session {number}:\n{there}");
        std::thread::yield_now();
    }
}

#[test]
fn a_fork_has_what_was_said_and_both_chats_go_on_apart() {
    let can = json!({ "sessionCapabilities": { "fork": {} } });
    let steps = [
        initialized(can, json!([])),
        new_session().into(),
        vec![prompt(), says("Before the fork."), ends("end_turn")],
        vec![
            json!({ "expect": "session/fork", "params": { "sessionId": "s1", "cwd": "$PROJECT" } }),
            // Of the new session before it has its name, and after.
            in_session("s2", "Told early. "),
            json!({ "reply": "session/fork", "result": { "sessionId": "s2" } }),
            json!({ "expect": "session/prompt", "params": { "sessionId": "s2" } }),
            in_session("s2", "In the fork."),
            ends("end_turn"),
            json!({ "expect": "session/prompt", "params": { "sessionId": "s1" } }),
            in_session("s1", "In the original."),
            ends("end_turn"),
        ],
    ];
    let mut chat = Scripted::new(&[], steps.concat());
    chat.chat();
    chat.send("first");
    chat.wait_for("Before the fork.");
    chat.wait_for("Done");
    chat.nvim.command("Acp fork of it");
    chat.nvim.wait_for_screen(":Acp fork takes no argument; you gave \"of it\"");
    chat.nvim.command("Acp fork");
    wait_for_text(&mut chat, 2, "both go on apart");
    wait_for_text(&mut chat, 2, "Told early.");
    chat.nvim.exec_lua("require('acp').send('second', { session = 2 })", []);
    wait_for_text(&mut chat, 2, "In the fork.");
    chat.nvim.exec_lua("require('acp').send('third', { session = 1 })", []);
    wait_for_text(&mut chat, 1, "In the original.");
    let (source, fork) = (transcript_of(&mut chat, 1), transcript_of(&mut chat, 2));
    assert!(fork.contains("Before the fork.") && fork.contains("second"), "{fork}");
    assert!(!fork.contains("In the original."), "{fork}");
    assert!(!source.contains("In the fork.") && !source.contains("both go on apart"), "{source}");
}

#[test]
fn the_commands_in_a_fork_look_as_they_did_also_once_the_original_is_closed() {
    let can = json!({ "sessionCapabilities": { "fork": {} } });
    let mut call = runs("c", "printf 'from the command\\n'; exit 1");
    if let Some(over) = call.last_mut() {
        over["send"]["params"]["update"]["status"] = "failed".into();
    }
    let steps = [
        initialized(can, json!([])),
        new_session().into(),
        vec![prompt()],
        call,
        vec![ends("end_turn")],
        vec![
            json!({ "expect": "session/fork" }),
            json!({ "reply": "session/fork", "result": { "sessionId": "s2" } }),
        ],
    ];
    let mut chat = Scripted::new(&[], steps.concat());
    chat.chat();
    chat.send("first");
    chat.wait_for("from the command");
    chat.wait_for("Done");
    chat.nvim.command("Acp fork");
    wait_for_text(&mut chat, 2, "both go on apart");
    chat.nvim.command("Acp sessions 1");
    chat.nvim.command("Acp close");
    let fork = transcript_of(&mut chat, 2);
    assert!(fork.contains("from the command"), "{fork}");
}

#[test]
fn a_session_that_was_given_a_name_is_found_by_it_also_when_nothing_was_asked_in_it() {
    let can = json!({ "loadSession": true, "sessionCapabilities": { "fork": {}, "list": {} } });
    let stored = json!([{ "sessionId": "s2", "cwd": "$PROJECT", "title": "first" }]);
    let steps = [
        initialized(can, json!([])),
        new_session().into(),
        vec![prompt(), says("Before the fork."), ends("end_turn")],
        vec![
            json!({ "expect": "session/fork" }),
            json!({ "reply": "session/fork", "result": { "sessionId": "s2" } }),
            json!({ "expect": "session/list" }),
            json!({ "reply": "session/list", "result": { "sessions": stored } }),
        ],
    ];
    let mut chat = Scripted::new(&[], steps.concat());
    chat.chat();
    chat.send("first");
    chat.wait_for("Done");
    chat.nvim.stop_insert();
    // The name is given before the agent has said what it calls the session.
    chat.nvim.command("Acp fork");
    chat.nvim.command("Acp rename Moon");
    wait_for_text(&mut chat, 2, "both go on apart");
    let idle =
        "return vim.iter(require('acp').status().sessions):all(function(one) return one.state == 'idle' end)";
    chat.nvim.wait_until(|nvim| nvim.exec_lua(idle, []).as_bool() == Some(true), "the fork to be open");
    chat.nvim.command("Acp close");
    chat.nvim.exec_lua(PICKS_THE_FIRST, []);
    chat.nvim.command("Acp sessions moon");
    let seen = "return table.concat(_G.seen, '\\n')";
    chat.nvim.wait_until(
        |nvim| nvim.exec_lua(seen, []).as_str().is_some_and(|seen| seen.contains("Fake: Moon · just now")),
        "the session to be listed by its name",
    );
}

#[test]
fn a_fork_is_remembered_as_one_before_anything_was_asked_in_it() {
    let can = json!({ "loadSession": true,
        "sessionCapabilities": { "fork": {}, "list": {}, "delete": {} } });
    let list = |ids: &[&str]| {
        let sessions: Vec<Value> = ids.iter().map(|id| listed(id, "first")).collect();
        vec![
            json!({ "expect": "session/list" }),
            json!({ "reply": "session/list", "result": { "sessions": sessions } }),
        ]
    };
    let fork = |id: &str| {
        vec![
            json!({ "expect": "session/fork" }),
            json!({ "reply": "session/fork", "result": { "sessionId": id } }),
        ]
    };
    let steps = [
        initialized(can, json!([])),
        new_session().into(),
        vec![prompt(), says("Before the fork."), ends("end_turn")],
        fork("s2"),
        fork("s3"),
        list(&["s1", "s2", "s3"]),
        list(&["s1", "s2", "s3"]),
    ];
    let mut chat = Scripted::new(&[], steps.concat());
    chat.chat();
    chat.send("first");
    chat.wait_for("Done");
    chat.nvim.stop_insert();
    // One of a session that has no name, and one of a session that the user has given one.
    for (number, rename) in [(2, None), (3, Some("Acp rename Moon"))] {
        chat.nvim.command("Acp sessions 1");
        rename.into_iter().for_each(|rename| chat.nvim.command(rename));
        chat.nvim.command("Acp fork");
        wait_for_text(&mut chat, number, "both go on apart");
        let idle = "return vim.iter(require('acp').status().sessions):all(function(one) return one.state == 'idle' end)";
        chat.nvim.wait_until(|nvim| nvim.exec_lua(idle, []).as_bool() == Some(true), "the fork to be open");
        chat.nvim.command("Acp close");
    }
    chat.nvim.command("Acp sessions 1");
    let seen = "return table.concat(_G.seen, '\\n')";
    let wait_seen = |nvim: &mut Nvim, texts: &[&str]| {
        let all = |seen: &str| texts.iter().all(|text| seen.contains(text));
        nvim.wait_until(|nvim| nvim.exec_lua(seen, []).as_str().is_some_and(all), &format!("{texts:?}"));
    };
    let no_choice = PICKS_THE_FIRST.replace("choose(items[1], 1)", "");
    chat.nvim.exec_lua(&no_choice, []);
    chat.nvim.command("Acp sessions");
    wait_seen(&mut chat.nvim, &["Fake: Moon (fork) · just now", "Fake: first (fork) · just now"]);
    chat.nvim.exec_lua(&no_choice, []);
    chat.nvim.command("Acp delete");
    wait_seen(&mut chat.nvim, &["Moon (fork)", "first (fork)"]);

    // After a restart, when no agent runs.
    let state = chat.nvim.home().join("state").to_string_lossy().into_owned();
    let mut again = Scripted::with_env(&[], Vec::new(), |_| vec![("XDG_STATE_HOME".into(), state)]);
    again.nvim.command(&format!("cd {}", chat.project.path().display()));
    again.nvim.exec_lua(&no_choice, []);
    again.nvim.command("Acp sessions");
    wait_seen(&mut again.nvim, &["Fake: Moon (fork) · just now", "Fake: first (fork) · just now"]);
}

#[test]
fn a_fork_that_wants_a_login_first_is_made_after_it() {
    let can = json!({ "sessionCapabilities": { "fork": {} } });
    let steps = [
        initialized(can, json!([{ "id": "key", "name": "Key" }])),
        new_session().into(),
        vec![prompt(), says("Before the fork."), ends("end_turn")],
        vec![
            json!({ "expect": "session/fork", "as": "refused" }),
            json!({ "reply": "refused", "error": { "code": -32000, "message": "Log in first" } }),
            json!({ "expect": "authenticate" }),
            json!({ "reply": "authenticate", "result": {} }),
            json!({ "expect": "session/fork", "params": { "sessionId": "s1" }, "as": "again" }),
            json!({ "reply": "again", "result": { "sessionId": "s2" } }),
            json!({ "expect": "session/prompt", "params": { "sessionId": "s2" } }),
            in_session("s2", "In the fork."),
            ends("end_turn"),
        ],
    ];
    let mut chat = forked(steps.concat());
    wait_for_text(&mut chat, 2, "wants you to log in");
    chat.nvim.command("Acp login key");
    wait_for_text(&mut chat, 2, "both go on apart");
    chat.nvim.exec_lua("require('acp').send('second', { session = 2 })", []);
    wait_for_text(&mut chat, 2, "In the fork.");
    let fork = transcript_of(&mut chat, 2);
    assert!(fork.contains("Before the fork."), "{fork}");
}

#[test]
fn a_fork_that_can_not_be_had_says_what_to_do() {
    let mut chat = Scripted::new(&[], opened());
    chat.chat();
    let wait =
        "vim.wait(10000, function() return require('acp').status().sessions[1].state == 'idle' end, 5)";
    chat.nvim.exec_lua(wait, []);
    let said = chat.nvim.try_lua("vim.cmd('Acp fork')", []);
    let said = format!("{said:?}{}", chat.nvim.messages());
    assert!(said.contains("can't fork a session; :AcpChat! begins another one"), "{said}");
}

#[test]
fn a_fork_that_the_agent_refuses_leaves_the_source_as_it_was() {
    let can = json!({ "sessionCapabilities": { "fork": {} } });
    let steps = [
        initialized(can, json!([])),
        new_session().into(),
        vec![prompt(), says("Before the fork."), ends("end_turn")],
        vec![
            json!({ "expect": "session/fork" }),
            json!({ "reply": "session/fork", "error": { "code": -32603, "message": "no room" } }),
            json!({ "expect": "session/prompt", "params": { "sessionId": "s1" } }),
            in_session("s1", "Still here."),
            ends("end_turn"),
        ],
    ];
    let mut chat = forked(steps.concat());
    wait_for_text(&mut chat, 2, "no room");
    chat.nvim.exec_lua("require('acp').send('second', { session = 1 })", []);
    wait_for_text(&mut chat, 1, "Still here.");
    let fork = transcript_of(&mut chat, 2);
    assert!(fork.contains("Before the fork."), "{fork}");
}

/// Has the first item of each picker chosen, and keeps what pickers showed.
const PICKS_THE_FIRST: &str = "_G.seen = {}
    vim.ui.select = function(items, options, choose)
      table.insert(_G.seen, options.prompt .. ': ' .. table.concat(vim.tbl_map(tostring, items), ', '))
      choose(items[1], 1)
    end";

fn listed(id: &str, title: &str) -> Value {
    json!({ "sessionId": id, "cwd": "$PROJECT", "title": title })
}

#[test]
fn a_session_is_archived_and_brought_back() {
    let can =
        json!({ "loadSession": true, "sessionCapabilities": { "list": {}, "archive": {}, "close": {} } });
    let list = |params: Value| json!({ "expect": "session/list", "params": params });
    let one = |session: Value| json!({ "reply": "session/list", "result": { "sessions": [session] } });
    let none = json!({ "reply": "session/list", "result": { "sessions": [] } });
    let steps = [
        initialized(can, json!([])),
        new_session().into(),
        vec![
            json!({ "expect": "session/list" }),
            json!({ "reply": "session/list", "result": { "sessions": [listed("old", "An old one"), listed("s1", "The open one")] } }),
            json!({ "expect": "session/archive", "params": { "sessionId": "old" } }),
            json!({ "reply": "session/archive", "result": {} }),
            // Archived ones alone, also on the second page.
            list(json!({ "archived": "only" })),
            json!({ "reply": "session/list", "result": { "sessions": [listed("old", "An old one")], "nextCursor": "2" } }),
            list(json!({ "archived": "only", "cursor": "2" })),
            one(listed("older", "An older one")),
            json!({ "expect": "session/unarchive", "params": { "sessionId": "old" } }),
            json!({ "reply": "session/unarchive", "result": {} }),
            list(json!({ "archived": "only" })),
            none,
            json!({ "expect": "session/list" }),
            json!({ "reply": "session/list", "result": { "sessions": [listed("old", "An old one")] } }),
            json!({ "expect": "session/archive" }),
            json!({ "reply": "session/archive", "error": { "code": -32002, "message": "no such session" } }),
            // The one that is open.
            json!({ "expect": "session/list" }),
            one(listed("s1", "The open one")),
            json!({ "expect": "session/archive", "params": { "sessionId": "s1" } }),
            json!({ "reply": "session/archive", "result": {} }),
        ],
    ];
    let mut chat = Scripted::new(&[], steps.concat());
    chat.nvim.exec_lua(PICKS_THE_FIRST, []);
    chat.chat();
    chat.nvim.command("Acp archive");
    chat.wait_for("the session is archived; :Acp! archive brings it back");
    assert!(chat.got("session/list")["params"].get("archived").is_none());
    chat.nvim.command("Acp! archive");
    chat.wait_for("the session is in the list again: :Acp sessions");
    let seen = chat.nvim.exec_lua("return table.concat(_G.seen, '|')", []);
    assert_eq!(
        seen.as_str(),
        Some(
            "Archive: An old one, The open one · open here; its chat goes with it|Bring back: An old one, An older one"
        )
    );
    chat.nvim.command("Acp! archive");
    let told = |chat: &mut Scripted, text: &str| {
        chat.nvim.wait_until(|nvim| nvim.messages().contains(text), text);
    };
    told(&mut chat, "has no archived sessions for this folder");
    chat.nvim.command("Acp archive");
    chat.wait_for("couldn't archive the session");
    chat.nvim.command("Acp archive");
    told(&mut chat, "the session is archived; :Acp! archive brings it back");
    let chats = "return vim.tbl_count(require('acp').status().sessions)";
    assert_eq!(chat.nvim.exec_lua(chats, []), 0.into());
    // It has ended with that.
    assert!(!chat.record().iter().any(|message| message["method"] == "session/close"));
}

/// Has the item of this number chosen, gives this name where one is asked for, and keeps what was shown.
fn picks_and_names(chat: &mut Scripted, number: u64, name: &str) {
    let code = "local number, name = ...
        _G.seen = {}
        vim.ui.select = function(items, options, choose)
          table.insert(_G.seen, options.prompt .. ': ' .. table.concat(items, ', '))
          if number > 0 then choose(items[number], number) end
        end
        vim.ui.input = function(options, done)
          table.insert(_G.seen, options.prompt .. options.default)
          done(name)
        end";
    chat.nvim.exec_lua(code, [number.into(), name.into()]);
}

/// What pickers and questions showed since they were last asked, once there is something.
fn was_shown(chat: &mut Scripted) -> String {
    let mut shown = String::new();
    chat.nvim.wait_until(
        |nvim| {
            let all = nvim.exec_lua("local all = table.concat(_G.seen, '|'); _G.seen = {}; return all", []);
            all.as_str().expect("a text").clone_into(&mut shown);
            !shown.is_empty()
        },
        "a picker",
    );
    shown
}

#[test]
fn a_stored_session_is_renamed_in_the_list_and_with_the_agent() {
    let can = json!({ "loadSession": true, "sessionCapabilities": { "list": {}, "title": {} } });
    let list = || {
        [
            json!({ "expect": "session/list" }),
            json!({ "reply": "session/list", "result": { "sessions": [listed("old", "An old one")] } }),
        ]
    };
    let title = |title: &str| json!({ "expect": "session/set_title", "params": { "sessionId": "old", "title": title } });
    let steps = [
        initialized(can, json!([])),
        new_session().into(),
        list().into(),
        vec![title("Mine"), json!({ "reply": "session/set_title", "result": { "title": "Mine!" } })],
        list().into(),
        list().into(),
        vec![
            title("Too long"),
            json!({ "reply": "session/set_title", "error": { "code": -32602, "message": "too long" } }),
        ],
        list().into(),
    ];
    let mut chat = Scripted::new(&[], steps.concat());
    chat.chat();
    picks_and_names(&mut chat, 2, " Mine ");
    chat.nvim.command("Acp! rename");
    let called = |nvim: &mut support::Nvim| nvim.messages().contains("the session is called \"Mine!\" now");
    chat.nvim.wait_until(called, "the agent's form of the name");
    assert_eq!(
        was_shown(&mut chat),
        "Rename: Fake: nothing said yet · idle, Fake: An old one|Call the session: An old one"
    );
    picks_and_names(&mut chat, 0, "");
    chat.nvim.command("Acp sessions");
    assert_eq!(was_shown(&mut chat), "Sessions: Fake: nothing said yet · idle, Fake: Mine!");
    // With the name at hand nothing is asked, and what the agent refuses is the name here all the same.
    picks_and_names(&mut chat, 2, "not asked");
    chat.nvim.command("Acp! rename Too long");
    chat.wait_for("couldn't keep the session's name: too long");
    assert_eq!(was_shown(&mut chat), "Rename: Fake: nothing said yet · idle, Fake: Mine!");
    picks_and_names(&mut chat, 0, "");
    chat.nvim.command("Acp sessions");
    assert_eq!(was_shown(&mut chat), "Sessions: Fake: nothing said yet · idle, Fake: Too long");
}

#[test]
fn a_stored_session_of_an_agent_that_takes_no_names_is_renamed_here() {
    let can = json!({ "loadSession": true, "sessionCapabilities": { "list": {} } });
    let list = || {
        [
            json!({ "expect": "session/list" }),
            json!({ "reply": "session/list", "result": { "sessions": [listed("old", "An old one")] } }),
        ]
    };
    let steps = [
        initialized(can, json!([])),
        new_session().into(),
        list().into(),
        list().into(),
        list().into(),
        vec![json!({ "expect": "session/load" }), json!({ "reply": "session/load", "result": {} })],
    ];
    let mut chat = Scripted::new(&[], steps.concat());
    chat.chat();
    picks_and_names(&mut chat, 2, "");
    chat.nvim.command("Acp! rename Mine");
    was_shown(&mut chat);
    // One that is open is in the list, too.
    picks_and_names(&mut chat, 1, "");
    chat.nvim.command("Acp! rename Open one");
    assert_eq!(was_shown(&mut chat), "Rename: Fake: nothing said yet · idle, Fake: Mine");
    picks_and_names(&mut chat, 2, "");
    chat.nvim.command("Acp sessions");
    assert_eq!(was_shown(&mut chat), "Sessions: Fake: Open one · idle, Fake: Mine");
    let titles = "local titles = {}
        for _, session in ipairs(require('acp').status().sessions) do table.insert(titles, session.title or '') end
        table.sort(titles)
        return table.concat(titles, ', ')";
    chat.nvim.wait_until(
        |nvim| nvim.exec_lua(titles, []).as_str() == Some("Mine, Open one"),
        "the session to be taken up under its name",
    );
    chat.got("session/load");
    assert!(chat.record().iter().all(|message| message["method"] != "session/set_title"));
}

#[test]
fn sessions_are_deleted_by_the_names_that_the_user_gave_them() {
    let can = json!({ "loadSession": true, "sessionCapabilities": { "list": {}, "delete": {} } });
    let list = || {
        let sessions =
            json!([listed("old", "An old one"), listed("s1", "The first words"), listed("other", "Other")]);
        [
            json!({ "expect": "session/list" }),
            json!({ "reply": "session/list", "result": { "sessions": sessions } }),
        ]
    };
    let steps = [initialized(can, json!([])), new_session().into(), list().into(), list().into()];
    let mut chat = Scripted::new(&[], steps.concat());
    chat.chat();
    picks_and_names(&mut chat, 2, "");
    chat.nvim.command("Acp! rename Mine");
    was_shown(&mut chat);
    chat.nvim.command("Acp rename Open one");
    picks_and_names(&mut chat, 1, "");
    chat.nvim.command("Acp delete");
    let shown = "Delete for good: Mine, Open one, Other|Delete Mine for good?: No, Yes, delete it";
    assert_eq!(was_shown(&mut chat), shown);
}

#[test]
fn a_name_that_nobody_would_keep_is_refused() {
    let can = json!({ "loadSession": true, "sessionCapabilities": { "list": {} } });
    let list = [
        json!({ "expect": "session/list" }),
        json!({ "reply": "session/list", "result": { "sessions": [listed("old", "An old one")] } }),
    ];
    let steps = [initialized(can, json!([])), new_session().into(), list.into()];
    let mut chat = Scripted::new(&[], steps.concat());
    chat.configure("record = false");
    chat.chat();
    picks_and_names(&mut chat, 2, "");
    chat.nvim.command("Acp! rename Mine");
    let refused = |nvim: &mut support::Nvim| {
        nvim.messages().contains("Fake keeps no names; setup{ record = true } keeps them here")
    };
    chat.nvim.wait_until(refused, "a refusal");
}

#[test]
fn lists_say_which_sessions_the_agent_has_open() {
    let can = json!({ "loadSession": true, "sessionCapabilities": { "list": {}, "archive": {}, "delete": {}, "status": {} } });
    let list = || {
        let sessions =
            json!([listed("a", "First"), listed("b", "Second"), listed("s1", "Mine"), listed("c", "Third")]);
        [
            json!({ "expect": "session/list" }),
            json!({ "reply": "session/list", "result": { "sessions": sessions } }),
        ]
    };
    let asked = |id: &str| json!({ "expect": "session/status", "params": { "sessionId": id }, "as": id });
    let says = |id: &str, word: &str| json!({ "reply": id, "result": { "status": word } });
    let gone = || json!({ "reply": "c", "error": { "code": -32002, "message": "Resource not found" } });
    let told = || [asked("a"), says("a", "open"), asked("b"), says("b", "frozen"), asked("c"), gone()];
    let steps = [
        initialized(can, json!([])),
        new_session().into(),
        list().into(),
        told().into(),
        list().into(),
        told().into(),
        list().into(),
        // What it never says is not waited for.
        vec![asked("a"), says("a", "open"), asked("b"), asked("c")],
    ];
    let mut chat = Scripted::new(&[], steps.concat());
    let keeps = "_G.seen = {}
        vim.ui.select = function(items, options) table.insert(_G.seen, options.prompt .. ': ' .. table.concat(items, ', ')) end";
    chat.nvim.exec_lua(keeps, []);
    chat.chat();
    for (command, shown) in [
        (
            "Acp archive",
            "Archive: First · open in the agent, Second, Mine · open here; its chat goes with it, Third · gone, says the agent",
        ),
        (
            "Acp sessions",
            "Sessions: Fake: nothing said yet · idle, Fake: First · open in the agent, Fake: Second, Fake: Third · gone, says the agent",
        ),
        ("Acp delete", "Delete for good: First · open in the agent, Second, Mine, Third"),
    ] {
        chat.nvim.command(command);
        let last = |nvim: &mut support::Nvim| {
            let seen = nvim.exec_lua("return table.remove(_G.seen) or ''", []);
            seen.as_str().expect("a text").to_owned()
        };
        let mut seen = String::new();
        chat.nvim.wait_until(
            |nvim| {
                seen = last(nvim);
                !seen.is_empty()
            },
            "the list",
        );
        assert_eq!(seen, shown);
    }
}

#[test]
fn an_agent_that_has_no_archive_is_not_asked_for_it() {
    let can = json!({ "loadSession": true, "sessionCapabilities": { "list": {} } });
    let mut chat = Scripted::new(&[], [initialized(can, json!([])), new_session().into()].concat());
    chat.chat();
    for command in ["Acp archive", "Acp! archive"] {
        chat.nvim.exec_lua("vim.cmd.messages('clear')", []);
        chat.nvim.command(&format!("silent! {command}"));
        chat.nvim.wait_until(|nvim| nvim.messages().contains("cannot archive sessions"), command);
    }
    assert!(chat.record().iter().all(|message| message["method"] != "session/list"));
}

fn told(update: Value) -> Value {
    json!({ "send": { "method": "session/update", "params": { "sessionId": "s1", "update": update } } })
}

fn plan(id: &str, text: &str) -> Value {
    let plan = json!({ "type": "markdown", "planId": id, "content": text });
    told(json!({ "sessionUpdate": "plan_update", "plan": plan }))
}

#[test]
fn a_plan_in_markdown_stands_in_the_chat_and_in_the_plans_window() {
    let turn = vec![
        prompt(),
        plan("p", "# Old\n\nNothing."),
        plan("p", "# Settle it\n\n1. Read `notes.txt`\n2. Change **beta**"),
        says("Settled."),
        ends("end_turn"),
        prompt(),
        told(json!({ "sessionUpdate": "plan_removed", "planId": "p" })),
        ends("end_turn"),
    ];
    let mut chat = Scripted::new(&[], [opened(), turn].concat());
    chat.chat();
    chat.send("plan it");
    chat.wait_for("Done");
    let text = chat.transcript();
    assert!(text.contains("Plan\n# Settle it\n\n1. Read `notes.txt`\n2. Change **beta**\n"), "{text}");
    assert!(!text.contains("# Old"), "{text}");
    chat.nvim.command("Acp plan");
    let window = "for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
                    local buf = vim.api.nvim_win_get_buf(win)
                    if vim.bo[buf].filetype == 'acp-plan' then
                      return table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), '\\n')
                    end
                  end
                  return ''";
    let pinned = chat.nvim.exec_lua(window, []);
    let pinned = pinned.as_str().expect("a text");
    assert!(pinned.starts_with("Plan\n# Settle it\n\n1. Read"), "{pinned}");
    chat.send("drop it");
    chat.wait_for("The agent dropped its plan");
    let pinned = |nvim: &mut support::Nvim| nvim.exec_lua(window, []).as_str().map(str::to_owned);
    chat.nvim.wait_until(
        |nvim| pinned(nvim).is_some_and(|text| text.contains("The agent dropped its plan")),
        "the window to say that the plan was dropped",
    );
}

#[test]
fn a_pinned_plan_in_markdown_looks_as_it_does_in_the_chat_and_shows_its_steps_where_it_is_cut() {
    let text = "# Settle it\n\n- [x] Read `notes.txt`\n- [ ] Change **beta** now\n- [ ] Look again";
    let turn = vec![prompt(), plan("p", text), says(&"Settled.\n\n".repeat(40)), ends("end_turn")];
    let mut chat = Scripted::sized(&[], [opened(), turn].concat(), 80, 16);
    chat.chat();
    chat.send("plan it");
    chat.wait_for("Done");
    chat.nvim.stop_insert();
    assert!(!chat.nvim.screen().contains("Change"), "{}", chat.nvim.screen());
    chat.nvim.command("Acp plan");
    chat.nvim.wait_for_screen("Change beta now");
    chat.nvim.wait_for_screen("Look again");
    chat.nvim.wait_until(|nvim| !nvim.screen().contains("**"), "its colours");
    let groups = chat.nvim.groups_of("beta");
    assert!(groups.iter().any(|group| group.contains("strong")), "{groups:?}");
    // With room for it all it begins at its beginning.
    chat.nvim.resize(80, 40);
    chat.nvim.command("Acp plan");
    chat.nvim.command("Acp plan");
    let is_whole = |screen: &str| screen.contains("Settle it") && screen.contains("Read notes.txt");
    let shown = |nvim: &mut support::Nvim| {
        let screen = nvim.screen();
        is_whole(&screen) && !screen.contains('`')
    };
    chat.nvim.wait_until(shown, "all of the plan in its colours");
}

fn suggestion(texts: &[&str]) -> Value {
    let list: Vec<Value> =
        texts.iter().map(|text| json!({ "prompt": [{ "type": "text", "text": text }] })).collect();
    told(json!({ "sessionUpdate": "prompt_suggestions_update", "suggestions": list }))
}

/// What shows in grey in the prompt.
fn ghost(nvim: &mut support::Nvim) -> String {
    let code = "local ns = vim.api.nvim_create_namespace('acp.suggestions')
                for _, buf in ipairs(vim.api.nvim_list_bufs()) do
                  for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buf, ns, 0, -1, { details = true })) do
                    return mark[4].virt_text[1][1]
                  end
                end
                return ''";
    nvim.exec_lua(code, []).as_str().expect("a text").to_owned()
}

fn wait_for_ghost(chat: &mut Scripted, text: &str) {
    chat.nvim.wait_until(|nvim| ghost(nvim) == text, &format!("the suggestion {text:?}"));
}

#[test]
fn a_suggestion_shows_in_an_empty_prompt_and_its_key_takes_it() {
    let turns = vec![
        prompt(),
        says("Fixed."),
        ends("end_turn"),
        suggestion(&["Run the tests\nand say\u{202e} what fails", "Commit it"]),
        prompt(),
        ends("end_turn"),
    ];
    let mut chat = Scripted::new(&[], [opened(), turns].concat());
    chat.chat();
    // The user's own key, in this buffer, that means something else.
    chat.nvim.command("inoremap <buffer> <Tab> mine");
    chat.nvim.input("<Esc>i");
    chat.send("fix it");
    wait_for_ghost(&mut chat, "Run the tests … (1 of 2)");
    chat.nvim.wait_for_screen("Run the tests … (1 of 2)");
    // Typing takes it away and gives the key back; nothing was sent.
    chat.nvim.input("i<Space>");
    wait_for_ghost(&mut chat, "");
    chat.nvim.input("<Tab>");
    let typed = |nvim: &mut support::Nvim| nvim.buffer_text(0);
    chat.nvim.wait_until(|nvim| typed(nvim).contains(" mine"), "the user's own mapping");
    chat.nvim.input("<Esc>cc");
    wait_for_ghost(&mut chat, "Run the tests … (1 of 2)");
    chat.nvim.input("<Tab>");
    chat.nvim
        .wait_until(|nvim| typed(nvim).starts_with("Run the tests\nand say"), "the suggestion to be taken");
    wait_for_ghost(&mut chat, "");
    let text = typed(&mut chat.nvim);
    assert!(!text.contains('\u{202e}') && !text.contains("mine"), "{text:?}");
    let prompts = |chat: &Scripted| {
        chat.record().iter().filter(|message| message["method"] == "session/prompt").count()
    };
    assert_eq!(prompts(&chat), 1);
    chat.nvim.input(" at once<Esc><CR>");
    chat.nvim.wait_until(|nvim| typed(nvim).trim().is_empty(), "the prompt to be sent");
    chat.nvim.wait_until(|nvim| ghost(nvim).is_empty(), "nothing to be suggested any more");
}

#[test]
fn suggestions_are_not_shown_where_the_option_says_so() {
    let turns = vec![prompt(), suggestion(&["Run the tests"]), says("Fixed."), ends("end_turn")];
    let mut chat = Scripted::new(&[], [opened(), turns].concat());
    chat.configure("prompt = { suggestions = false }");
    chat.chat();
    chat.send("fix it");
    chat.wait_for("Done");
    assert_eq!(ghost(&mut chat.nvim), "");
}

/// A chat with an agent that is asked for the second version of the protocol.
fn second(steps: Vec<Value>) -> Scripted {
    let mut chat = Scripted::new(&[("notes.txt", "alpha\nbeta\n")], steps);
    chat.configure("agents = { fake = { protocol = 2 } }");
    chat.nvim.command("AcpChat");
    chat
}

#[test]
fn an_agent_without_the_second_version_is_spoken_to_in_the_first_and_that_is_said_once() {
    let initialize = json!({ "expect": "initialize", "params": { "protocolVersion": 2 } });
    let mut steps = opened();
    steps[0] = initialize;
    let turn = vec![prompt(), says("Understood."), ends("end_turn")];
    let mut chat = second([steps, turn].concat());
    chat.wait_for("no version 2 of the protocol");
    chat.nvim.wait_for_screen("Fake 1.0");
    chat.nvim.input("hello<C-s>");
    chat.wait_for("Done");
    let text = chat.transcript();
    assert!(text.contains("Understood.") && text.matches("no version 2").count() == 1, "{text}");
}

#[test]
fn a_turn_in_the_second_version_asks_edits_and_runs() {
    let path = "$PROJECT/notes.txt";
    let patch = "--- a/notes.txt\n+++ b/notes.txt\n@@ -1,2 +1,2 @@\n alpha\n-beta\n+BETA\n";
    let diff = json!({
        "type": "diff", "changes": [{ "operation": "modify", "path": path }],
        "patch": { "format": "git_patch", "text": patch },
    });
    let call = json!({ "toolCallId": "c", "title": "Edit notes.txt", "kind": "edit", "content": [diff] });
    let asked = json!({
        "sessionId": "s1", "title": "Edit notes.txt", "subject": { "type": "tool_call", "toolCall": call },
        "options": [
            { "optionId": "y", "name": "Yes", "kind": "allow_once" },
            { "optionId": "n", "name": "No", "kind": "reject_once" },
        ],
    });
    let state = |state: &str| told(json!({ "sessionUpdate": "state_update", "state": state }));
    let terminal = |mut fields: Value| {
        (fields["sessionUpdate"], fields["terminalId"]) = ("terminal_update".into(), "t".into());
        told(fields)
    };
    let shows = json!([{ "type": "terminal", "terminalId": "t" }]);
    let whole = json!([{ "type": "text", "text": "All done." }]);
    let steps = vec![
        json!({ "expect": "initialize", "params": { "protocolVersion": 2 } }),
        json!({ "reply": "initialize", "result": {
            "protocolVersion": 2, "info": { "name": "fake", "title": "Fake", "version": "1.0" },
            "capabilities": { "session": {} },
        } }),
        json!({ "expect": "session/new" }),
        json!({ "reply": "session/new", "result": { "sessionId": "s1" } }),
        prompt(),
        told(
            json!({ "sessionUpdate": "user_message", "messageId": "u", "content": [{ "type": "text", "text": "go" }] }),
        ),
        json!({ "reply": "session/prompt", "result": { "messageId": "u" } }),
        state("running"),
        state("requires_action"),
        json!({ "send": { "id": "q", "method": "session/request_permission", "params": asked } }),
        json!({ "expect_reply": "q", "to": "q" }),
        state("running"),
        told(json!({ "sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed" })),
        terminal(json!({ "command": "echo late", "output": { "data": "bGF0ZQo=" } })),
        told(
            json!({ "sessionUpdate": "tool_call_update", "toolCallId": "r", "title": "Run it", "kind": "execute",
            "status": "in_progress", "content": shows }),
        ),
        terminal(json!({ "exitStatus": { "exitCode": 0 } })),
        told(json!({ "sessionUpdate": "tool_call_update", "toolCallId": "r", "status": "completed" })),
        told(json!({ "sessionUpdate": "agent_message", "messageId": "m", "content": whole })),
        told(json!({ "sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn" })),
    ];
    let mut chat = second(steps);
    chat.nvim.wait_for_screen("Fake 1.0");
    chat.nvim.input("go<C-s>");
    chat.nvim.wait_until(
        |nvim| {
            nvim.exec_lua("return require('acp').status().sessions[1].state", []).as_str() == Some("waiting")
        },
        "the question",
    );
    // As the patch shows it.
    chat.nvim.wait_for_screen("BETA");
    chat.decide("allow");
    chat.wait_for("Done");
    assert_eq!(chat.answer("q")["result"]["outcome"]["optionId"], "y");
    let text = chat.transcript();
    for part in ["Edit notes.txt", "All done."] {
        assert!(text.contains(part), "no {part:?} in:\n{text}");
    }
    assert_eq!(text.matches("go\n").count(), 1, "{text}");
}
