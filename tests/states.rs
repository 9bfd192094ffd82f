//! What a chat looks like in each state that it can be in: while it starts, while it is empty, while text
//! streams, while it waits for its user, when a login is needed, when a turn or a start has failed, when its
//! agent is gone, when it was taken up again. Each on a small and on a big screen and without icons, and
//! before either background.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use serde_json::{Value, json};
use support::screens::{assert_looks, timeless};
use support::script::{Scripted, asks, initialized, opened, prompt, says, steps, update};

/// What a screen is like.
#[derive(Clone, Copy)]
struct Shape {
    columns: u16,
    rows: u16,
    icons: bool,
}

const SHAPES: [Shape; 3] = [
    Shape { columns: 80, rows: 24, icons: true },
    Shape { columns: 200, rows: 60, icons: true },
    Shape { columns: 80, rows: 24, icons: false },
];

/// What no screen has on it whose user wants no icons.
const ICONS: &str = "\u{2713}\u{2717}\u{25cf}\u{25cb}\u{25d0}\u{2298}\u{25cc}\u{25b8}\u{25be}";

/// Looks on each kind of screen at the state to which a chat comes with this agent and these options.
fn in_each_shape(name: &str, steps: &[Value], options: &str, come_to: impl Fn(&mut Scripted)) {
    for shape in SHAPES {
        let mut chat = alone(steps.to_vec(), options, shape);
        come_to(&mut chat);
        let Shape { columns, rows, icons } = shape;
        let kind = if icons { "" } else { "-words" };
        looks(&mut chat, &format!("{name}-{columns}x{rows}{kind}"));
        let screen = chat.nvim.screen();
        assert!(icons || !screen.contains(|char| ICONS.contains(char)), "{screen}");
        // Nothing was said where it would hold the editor.
        assert_eq!(chat.nvim.messages(), "", "{name}");
    }
}

/// The screen without what differs from run to run.
fn looks(chat: &mut Scripted, name: &str) {
    let screen = timeless(&chat.nvim.screen());
    // A command that is looked for in the PATH is named by where it was found.
    let masked =
        |line: &str| if line.ends_with("/sleep 600") { "(command)".to_owned() } else { line.to_owned() };
    let screen: Vec<String> = screen.lines().map(masked).collect();
    assert_looks(&format!("states/{name}"), &screen.join("\n"));
}

/// A chat that is all there is to see.
fn alone(steps: Vec<Value>, options: &str, shape: Shape) -> Scripted {
    let mut chat = Scripted::sized(&[], steps, shape.columns, shape.rows);
    chat.configure(&format!("window = {{ layout = 'current' }}, icons = {}, {options}", shape.icons));
    chat.nvim.exec_lua("vim.ui.select = function() end", []);
    chat.nvim.command("set laststatus=0");
    chat
}

/// What is said and done in a turn.
fn working(parts: impl IntoIterator<Item = Value>) -> Vec<Value> {
    steps([prompt()].into_iter().chain(parts))
}

fn call(id: &str, kind: &str, title: &str, status: &str) -> Value {
    update(json!({ "sessionUpdate": "tool_call", "toolCallId": id, "title": title, "kind": kind,
        "status": status }))
}

#[test]
fn an_agent_that_starts() {
    // A program that never says anything.
    in_each_shape("starting", &[], "agents = { fake = { command = 'sleep', args = { '600' } } }", |chat| {
        chat.nvim.command("AcpChat");
        chat.nvim.wait_for_screen("You can type already");
        chat.nvim.wait_for_screen("starting");
        chat.nvim.wait_for_screen("-- INSERT --");
    });
}

#[test]
fn a_chat_that_is_empty() {
    in_each_shape("empty", &opened(), "", |chat| {
        chat.chat();
        chat.nvim.wait_for_screen("ready");
        chat.nvim.wait_for_screen("-- INSERT --");
    });
}

#[test]
fn an_answer_that_streams() {
    in_each_shape("streaming", &working([says("# A plan\n\nFirst I look at `lock`, then")]), "", |chat| {
        chat.chat();
        chat.send("Fix it");
        // The colours, which hide the marks around code, come after the text.
        chat.nvim.wait_for_screen("look at lock, then");
        chat.nvim.wait_for_screen("working");
    });
}

#[test]
fn a_turn_that_waits_for_its_user_while_prompts_wait_for_it() {
    let question = asks(
        "ask",
        "session/request_permission",
        json!({
            "toolCall": { "toolCallId": "1", "title": "rm -rf build && make all", "kind": "execute" },
            "options": [
                { "optionId": "a", "name": "Allow", "kind": "allow_once" },
                { "optionId": "r", "name": "Reject", "kind": "reject_once" },
            ],
        }),
    );
    in_each_shape("waiting", &working([says("I build it."), question]), "", |chat| {
        chat.chat();
        chat.send("Fix it");
        chat.nvim.wait_for_screen("Allow this command?");
        chat.nvim.wait_for_screen("waiting for you");
        chat.send("and then test it");
        chat.nvim.wait_for_screen("waiting: and then test it");
        chat.send("and write it down");
        chat.nvim.wait_for_screen("waiting: and write it down");
    });
}

#[test]
fn a_login_that_is_needed() {
    let methods = json!([
        { "id": "key", "name": "With a key", "description": "from your account" },
        { "id": "page", "name": "In the browser" },
    ]);
    let mut steps = initialized(json!({}), methods);
    steps.extend([
        json!({ "expect": "session/new" }),
        json!({ "reply": "session/new", "error": { "code": -32000, "message": "Authentication required" } }),
    ]);
    in_each_shape("login", &steps, "", |chat| {
        chat.nvim.command("AcpChat");
        chat.nvim.wait_for_screen("In the browser");
        chat.nvim.wait_for_screen("log in");
        chat.nvim.wait_for_screen("-- INSERT --");
    });
}

#[test]
fn a_start_that_fails() {
    let steps = vec![
        json!({ "expect": "initialize" }),
        json!({ "stderr": "no key was found" }),
        json!({ "exit": 3 }),
    ];
    in_each_shape("failed", &steps, "", |chat| {
        chat.nvim.command("AcpChat");
        chat.nvim.wait_for_screen("no key was found");
        chat.nvim.wait_for_screen("R starts it again");
        chat.nvim.wait_for_screen("-- INSERT --");
    });
}

#[test]
fn a_turn_that_fails() {
    let error = json!({ "code": -32603, "message": "429 {\"error\": {\"message\": \"Too many requests\"}}" });
    let fails = json!({ "reply": "session/prompt", "error": error });
    in_each_shape("turn-failed", &working([says("I look"), fails]), "", |chat| {
        chat.chat();
        chat.send("Fix it");
        chat.nvim.wait_for_screen("The turn failed");
        chat.nvim.wait_for_screen("ready");
    });
}

#[test]
fn an_agent_that_dies_at_work() {
    let dies = [says("I look"), json!({ "stderr": "out of memory" }), json!({ "exit": 3 })];
    in_each_shape("gone", &working(dies), "", |chat| {
        chat.chat();
        chat.send("Fix it");
        chat.nvim.wait_for_screen("out of memory");
        chat.nvim.wait_for_screen("ended");
    });
}

#[test]
fn a_session_that_was_taken_up() {
    let said = |kind: &str, text: &str| {
        json!({ "send": { "method": "session/update", "params": { "sessionId": "old", "update": {
            "sessionUpdate": kind, "content": { "type": "text", "text": text } } } } })
    };
    let mut steps =
        initialized(json!({ "loadSession": true, "sessionCapabilities": { "list": {} } }), json!([]));
    steps.extend([
        json!({ "expect": "session/new" }),
        json!({ "reply": "session/new", "result": { "sessionId": "s1" } }),
        json!({ "expect": "session/list" }),
        json!({ "reply": "session/list", "result": { "sessions": [
            { "sessionId": "old", "cwd": "$PROJECT", "title": "About tea" }] } }),
        json!({ "expect": "session/load" }),
        said("user_message_chunk", "How long does it draw?"),
        said("agent_message_chunk", "Three minutes."),
        // Nobody ever said what became of it.
        json!({ "send": { "method": "session/update", "params": { "sessionId": "old", "update": {
            "sessionUpdate": "tool_call", "toolCallId": "1", "title": "Boil water", "kind": "other",
            "status": "in_progress" } } } }),
        json!({ "reply": "session/load", "result": null }),
    ]);
    in_each_shape("taken-up", &steps, "", |chat| {
        chat.chat();
        chat.nvim.exec_lua("vim.ui.select = function(items, _, choose) choose(items[2], 2) end", []);
        chat.nvim.command("Acp sessions");
        chat.nvim.wait_for_screen("no result");
        chat.nvim.wait_for_screen("ready");
    });
}

fn everything() -> Vec<Value> {
    let plan = json!({ "sessionUpdate": "plan", "entries": [
        { "content": "look", "priority": "high", "status": "completed" },
        { "content": "act", "priority": "high", "status": "in_progress" },
        { "content": "test", "priority": "low", "status": "pending" },
    ] });
    let thought =
        json!({ "sessionUpdate": "agent_thought_chunk", "content": { "type": "text", "text": "Hm." } });
    working([
        update(thought),
        update(plan),
        call("1", "read", "a.rs", "completed"),
        call("2", "edit", "b.rs", "failed"),
        call("3", "execute", "make", "in_progress"),
        call("4", "search", "tea", "pending"),
        says("There **it** is."),
    ])
}

#[test]
fn a_turn_with_all_there_may_be_in_it() {
    in_each_shape("working", &everything(), "", |chat| {
        chat.chat();
        chat.send("Fix it");
        chat.nvim.wait_for_screen("There it is.");
        chat.nvim.wait_for_screen("working");
    });
}

#[test]
fn before_either_background_each_thing_has_the_same_meaning_in_colours_of_its_own() {
    let mut chat = alone(everything(), "", SHAPES[0]);
    chat.chat();
    chat.send("Fix it");
    chat.nvim.wait_for_screen("There it is.");
    let things = ["Plan", "✓ read", "✗ edit", "◐ run", "○ search", "▸ thought"];
    let colour = "return vim.api.nvim_get_hl(0, { name = 'AcpToolDone', link = false }).fg";
    let mut seen = Vec::new();
    for background in ["dark", "light"] {
        chat.nvim.command(&format!("set background={background}"));
        let groups: Vec<String> = things.iter().map(|thing| chat.nvim.groups_of(thing).join("+")).collect();
        // What the scheme's own colour can't be read in has one of its own.
        let expected = [
            ["Title", "AcpPlan"],
            ["DiagnosticOk", "AcpToolDone"],
            ["DiagnosticError", "AcpToolFailed"],
            ["DiagnosticInfo", "AcpToolRunning"],
            ["Comment", "AcpToolPending"],
            ["Comment", "AcpThought"],
        ];
        for (group, expected) in groups.iter().zip(expected) {
            assert!(expected.contains(&group.as_str()), "{background}: {groups:?}");
        }
        seen.push(chat.nvim.exec_lua(colour, []));
    }
    assert_ne!(seen[0], seen[1]);
}

#[test]
fn what_commands_print_in_colour_can_be_read_before_either_background() {
    let coloured = update(json!({
        "sessionUpdate": "tool_call", "toolCallId": "1", "title": "make", "kind": "execute",
        "status": "in_progress", "content": [{ "type": "content", "content": {
            "type": "text", "text": "\u{1b}[32mgreen\u{1b}[0m and \u{1b}[41mon red\u{1b}[0m" } }],
    }));
    let mut chat = alone(working([coloured]), "terminal = { auto_open = 'never' }", SHAPES[0]);
    chat.chat();
    chat.send("Fix it");
    chat.nvim.wait_for_screen("green and on red");
    let colours = "local group, place = ...
                   local normal = vim.api.nvim_get_hl(0, { name = 'Normal', link = false })
                   local function light(colour)
                     local part = function(n) return math.floor(colour / n) % 256 end
                     return 0.299 * part(65536) + 0.587 * part(256) + 0.114 * part(1)
                   end
                   local colour = vim.api.nvim_get_hl(0, { name = group, link = false })[place]
                   local behind = normal.bg or (vim.o.background == 'light' and 0xffffff or 0)
                   local before = normal.fg or (vim.o.background == 'light' and 0 or 0xffffff)
                   return math.floor(math.abs(light(colour) - light(place == 'fg' and behind or before)))";
    let mut seen = Vec::new();
    for background in ["dark", "light", "dark"] {
        chat.nvim.command(&format!("set background={background}"));
        chat.nvim
            .wait_until(|nvim| nvim.groups_of("green and").contains(&"AcpGreen".to_owned()), "its colour");
        assert!(chat.nvim.groups_of("on red").contains(&"AcpOnRed".to_owned()), "{background}");
        for (group, place) in [("AcpGreen", "fg"), ("AcpOnRed", "bg"), ("AcpOnGreen", "bg")] {
            let apart = chat.nvim.exec_lua(colours, [group.into(), place.into()]).as_u64();
            // Of 255; less than this is hard to read.
            assert!(apart.is_some_and(|apart| apart > 60), "{group} before {background}: {apart:?}");
        }
        let green = "local groups = {}
                     for _, name in ipairs({ 'AcpGreen', 'AcpOnGreen' }) do
                       local look = vim.api.nvim_get_hl(0, { name = name, link = false })
                       table.insert(groups, ('%s %s'):format(look.fg or '', look.bg or ''))
                     end
                     return table.concat(groups, ', ')";
        seen.push(chat.nvim.exec_lua(green, []));
    }
    assert!(seen[0] != seen[1] && seen[0] == seen[2], "{seen:?}");
}
