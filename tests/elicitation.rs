//! Forms and pages that an agent puts to the user: what the user is shown and asked, and what the
//! agent is answered. The agents are scripted, and so is what the user chooses; one test has real keys.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use std::net::TcpListener;

use serde_json::{Value, json};

use support::Nvim;
use support::process::wait_for;
use support::script::{Scripted, answered, asks, ends, in_second, opened, prompt, says};

/// Answers pickers: each takes the next answer, a choice by how its text begins. Without one left it
/// stays open; `_G.late` gives what comes in the end.
const PICKERS: &str = r#"
    local answers, later = ...
    _G.seen, _G.opened, _G.said = {}, {}, {}
    local function give(answer)
      if later then vim.schedule(answer) else answer() end
    end
    vim.ui.select = function(items, options, choose)
      table.insert(_G.seen, { kind = options.kind, prompt = options.prompt, items = items })
      local answer = table.remove(answers, 1)
      if answer == nil then
        _G.late = choose
      elseif answer == "<dismiss>" then
        give(function() choose(nil, nil) end)
      else
        for index, item in ipairs(items) do
          if vim.startswith(item, answer) then
            return give(function() choose(item, index) end)
          end
        end
        error(("%q is not offered in %s"):format(answer, vim.inspect(items)))
      end
    end
    vim.ui.input = function(options, typed)
      table.insert(_G.seen, { prompt = options.prompt, default = options.default })
      local answer = table.remove(answers, 1)
      if answer == nil then
        _G.late = typed
      elseif answer == "<dismiss>" then
        give(function() typed(nil) end)
      else
        give(function() typed(answer == "<keep>" and options.default or answer) end)
      end
    end
    vim.ui.open = function(url)
      table.insert(_G.opened, url)
      return nil, _G.browser_error
    end
    vim.notify = function(text) table.insert(_G.said, text) end
"#;

fn answers(nvim: &mut Nvim, answers: &[&str]) {
    let answers = answers.iter().map(|&answer| answer.into()).collect();
    nvim.exec_lua(PICKERS, [rmpv::Value::Array(answers), false.into()]);
}

/// What pickers were asked so far.
fn seen(nvim: &mut Nvim) -> Vec<Value> {
    let text = nvim.exec_lua("return vim.json.encode(_G.seen)", []);
    match serde_json::from_str(text.as_str().expect("a text")).expect("JSON") {
        Value::Array(seen) => seen,
        // An empty table.
        _ => Vec::new(),
    }
}

fn seen_count(nvim: &mut Nvim, count: usize) -> Vec<Value> {
    nvim.wait_until(|nvim| seen(nvim).len() >= count, &format!("{count} pickers"));
    let seen = seen(nvim);
    assert_eq!(seen.len(), count, "{seen:#?}");
    seen
}

fn said(nvim: &mut Nvim) -> String {
    nvim.exec_lua("return table.concat(_G.said, '\\n')", []).as_str().expect("a text").to_owned()
}

fn visited(nvim: &mut Nvim) -> Vec<String> {
    let opened = nvim.exec_lua("return _G.opened", []);
    opened.as_array().into_iter().flatten().map(|url| url.as_str().expect("an address").to_owned()).collect()
}

fn form(id: &str, message: &str, schema: Value) -> Value {
    asks(id, "elicitation/create", json!({ "mode": "form", "message": message, "requestedSchema": schema }))
}

fn page(id: &str, url: &str) -> Value {
    asks(
        id,
        "elicitation/create",
        json!({ "mode": "url", "message": "Log in, please", "url": url, "elicitationId": format!("e-{id}") }),
    )
}

/// A chat whose agent will show one form, on a screen of so many columns and rows.
fn one_form(message: &str, schema: Value, (columns, rows): (u16, u16)) -> Scripted {
    let mut all = opened();
    all.extend([prompt(), form("f", message, schema), answered("f"), ends("end_turn")]);
    let mut chat = Scripted::sized(&[], all, columns, rows);
    chat.chat();
    chat
}

/// A turn of these steps, sent on its way.
fn turn(parts: impl IntoIterator<Item = Value>, picks: &[&str]) -> Scripted {
    let mut all = opened();
    all.push(prompt());
    all.extend(parts);
    all.push(ends("end_turn"));
    let mut chat = Scripted::new(&[], all);
    chat.chat();
    answers(&mut chat.nvim, picks);
    chat.send("go");
    chat
}

/// A turn that asks one form.
fn asked(schema: Value, picks: &[&str]) -> Scripted {
    turn([form("f", "Tell me", schema), answered("f")], picks)
}

fn object(properties: Value, required: Value) -> Value {
    json!({ "type": "object", "properties": properties, "required": required })
}

#[test]
fn a_command_that_allows_answers_no_other_chat_where_this_one_shows_a_form() {
    let write = json!({ "toolCallId": "c", "title": "Write a.txt", "kind": "edit" });
    let schema = object(json!({ "name": { "type": "string" } }), json!(["name"]));
    let mut all = opened();
    all.extend([
        prompt(),
        support::script::permission("p", write),
        json!({ "expect": "session/new" }),
        json!({ "reply": "session/new", "result": { "sessionId": "s2" } }),
        prompt(),
        in_second(form("f", "Tell me", schema)),
        answered("p"),
    ]);
    let mut chat = Scripted::new(&[], all);
    chat.chat();
    answers(&mut chat.nvim, &["<dismiss>", "<dismiss>", "<dismiss>"]);
    chat.send("go");
    seen_count(&mut chat.nvim, 1);
    chat.nvim.stop_insert();
    chat.nvim.command("AcpChat!");
    chat.nvim.wait_until(|nvim| nvim.mode().name == "i", "the prompt of the second chat");
    chat.send("go on");
    seen_count(&mut chat.nvim, 2);
    chat.nvim.stop_insert();
    chat.nvim.exec_lua("_G.said = {} vim.cmd('Acp allow')", []);
    let said = chat.nvim.exec_lua("return table.concat(_G.said, '|')", []);
    assert_eq!(said.as_str(), Some("acp: this chat asks something else; :Acp answer opens it"));
    // Where it is asked, the same command answers.
    chat.nvim.command("Acp sessions 1");
    chat.nvim.stop_insert();
    chat.nvim.command("Acp allow");
    assert_eq!(chat.answer("p")["result"]["outcome"]["optionId"], "a");
}

// Forms.

#[test]
fn an_input_of_a_plugins_is_given_no_more_than_its_title_has_room_for() {
    let schema = object(
        json!({ "name": { "type": "string", "title": "Name of the branch", "maxLength": 40 } }),
        json!(["name"]),
    );
    let message = "I have a long story to tell of why I want to know all of this from you";
    let mut chat = one_form(message, schema, (140, 40));
    answers(&mut chat.nvim, &[]);
    chat.send("go");
    let asked = seen_count(&mut chat.nvim, 1);
    let asked = asked[0]["prompt"].as_str().expect("a prompt");
    assert!(asked.contains("Name of the branch, at most 40 characters"), "{asked}");
    assert!(asked.chars().count() <= 58, "{asked}");
}

#[test]
fn a_prompt_to_type_at_has_no_half_of_a_question_at_80_columns() {
    let schema = object(
        json!({
            "name": { "type": "string", "title": "Name of the branch", "maxLength": 40 },
            "note": { "type": "string", "title": "Note", "description": "what the reviewers should look at first" },
        }),
        json!(["name"]),
    );
    let message = "Please tell me a few things about the release";
    let mut chat = one_form(message, schema, (80, 24));
    chat.send("go");
    let last =
        |nvim: &mut Nvim| nvim.screen().trim_end().lines().last().unwrap_or_default().trim_end().to_owned();
    // What has no room is in the chat.
    chat.nvim.wait_until(|nvim| last(nvim).contains("Name of the branch"), "the first field");
    assert_eq!(last(&mut chat.nvim), "Name of the branch, at most 40 characters:");
    assert!(chat.transcript().contains(message), "{}", chat.transcript());
    chat.nvim.input("main<CR>");
    chat.nvim.wait_until(|nvim| last(nvim).contains("Note"), "the second field");
    assert_eq!(last(&mut chat.nvim), "Note, what the reviewers should look at first (optional):");
    chat.nvim.input("<Esc>");
}

#[test]
fn each_control_is_asked_for_in_the_agents_order_and_gone_over_before_it_is_sent() {
    let schema = object(
        json!({
            "who": { "type": "string", "title": "Name", "description": "as on the door" },
            "age": { "type": "integer", "minimum": 1 },
            "size": { "type": "number" },
            "sure": { "type": "boolean" },
            "colour": { "type": "string", "oneOf": [
                { "const": "r", "title": "Red", "description": "like a rose" }, { "const": "b", "title": "Blue" },
            ] },
            "day": { "type": "string", "enum": ["mon", "tue"] },
            "tags": { "type": "array", "items": { "anyOf": [
                { "const": "1", "title": "One" }, { "const": "2", "title": "Two" }, { "const": "3", "title": "Three" },
            ] } },
        }),
        json!(["who"]),
    );
    let picks = [
        "Ada",
        "36",
        "1.5",
        "No",
        "Blue",
        "tue",
        "[ ] Three",
        "[ ] One",
        "[ ] Two",
        "[x] Two",
        "Done: 2",
        "Send",
    ];
    let mut chat = asked(schema, &picks);
    assert_eq!(
        chat.answer("f")["result"],
        json!({ "action": "accept", "content": {
            "who": "Ada", "age": 36, "size": 1.5, "sure": false, "colour": "b", "day": "tue", "tags": ["1", "3"],
        } })
    );
    let seen = seen_count(&mut chat.nvim, 12);
    assert_eq!(seen[0]["prompt"], "Fake asks: Tell me · Name, as on the door: ");
    // What is to be typed comes first where a plugin's input has no room for more.
    assert_eq!(seen[1]["prompt"], "age, a whole number, at least 1 (optional): ");
    assert_eq!(seen[4]["kind"], "acp_elicitation");
    assert_eq!(
        seen[4]["items"],
        json!(["Red — like a rose", "Blue", "Leave it out", "All fields · decline or cancel …"])
    );
    assert_eq!(
        seen[11]["items"],
        json!([
            "Send",
            "Change Name: Ada",
            "Change age: 36",
            "Change size: 1.5",
            "Change sure: no",
            "Change colour: Blue",
            "Change day: tue",
            "Change tags: One, Three",
            "Decline: tell the agent no",
            "Cancel: give no answer",
        ])
    );
    chat.wait_for("Done");
}

#[test]
fn the_chat_says_what_waits_and_afterwards_what_was_answered_but_not_with_what() {
    let schema = object(
        json!({
            "word": { "type": "string", "title": "Password", "description": "of the server", "minLength": 4 },
            "more": { "type": "string" },
        }),
        json!(["word"]),
    );
    let mut chat = asked(schema, &["hunter2", "hunter3"]);
    chat.wait_for(":Acp answer [decline|cancel]");
    let text = chat.transcript();
    for part in [
        "● Fake asks: Tell me\n",
        "    Password (needed) — of the server — at least 4 characters\n",
        "    more\n",
    ] {
        assert!(text.contains(part), "{part:?} is missing in:\n{text}");
    }
    chat.nvim.wait_for_screen("Fake asks: Tell me");
    let groups = chat.nvim.groups_of("Fake asks: Tell me");
    assert!(groups.iter().any(|group| group == "DiagnosticWarn"), "{groups:?}");
    chat.nvim.wait_for_screen("waiting for you");
    chat.nvim.wait_until(|nvim| nvim.exec_lua("return _G.late ~= nil", []) == true.into(), "a picker");
    chat.nvim.exec_lua("_G.late('Send', 1)", []);
    assert_eq!(chat.answer("f")["result"]["content"], json!({ "word": "hunter2", "more": "hunter3" }));
    chat.wait_for("Done");
    let text = chat.transcript();
    assert!(text.contains("✓ Fake asked: Tell me\n    answered: Password, more\n"), "{text}");
    assert!(!text.contains("hunter") && !text.contains(":Acp answer"), "{text}");
}

#[test]
fn what_the_agent_proposes_is_filled_in_and_can_be_kept() {
    let schema = object(
        json!({
            "who": { "type": "string", "default": "Ada" },
            "age": { "type": "integer", "default": 36 },
            "sure": { "type": "boolean", "default": true },
            "colour": { "type": "string", "enum": ["red", "blue"], "default": "blue" },
            "tags": { "type": "array", "items": { "type": "string", "enum": ["a", "b"] }, "default": ["b"] },
            "odd": { "type": "integer", "default": 7, "maximum": 5 },
        }),
        json!([]),
    );
    let mut chat =
        asked(schema, &["<keep>", "<keep>", "Yes", "blue (proposed)", "Done: 1", "<keep>", "", "Send"]);
    assert_eq!(
        chat.answer("f")["result"]["content"],
        json!({ "who": "Ada", "age": 36, "sure": true, "colour": "blue", "tags": ["b"] })
    );
    let seen = seen_count(&mut chat.nvim, 8);
    assert_eq!((&seen[0]["default"], &seen[1]["default"]), (&json!("Ada"), &json!("36")));
    // What the agent proposes is the first answer, and nobody's choice.
    assert_eq!(seen[2]["items"][0], "Yes (proposed)");
    assert_eq!(
        seen[3]["items"].as_array().map(|items| &items[..2]),
        Some(&[json!("blue (proposed)"), json!("red")][..])
    );
    let tags = seen[4]["items"].as_array().map(|items| &items[..3]);
    assert_eq!(tags, Some(&[json!("Done: 1 chosen"), json!("[ ] a"), json!("[x] b")][..]));
    // What does not fit is a start all the same.
    assert_eq!(seen[5]["default"], "7");
    assert_eq!(seen[6]["prompt"], "Type a whole number, at most 5 · odd: ");
}

#[test]
fn what_the_agent_proposes_can_be_sent_without_going_through_it() {
    let schema = object(
        json!({
            "sure": { "type": "boolean" },
            "who": { "type": "string", "default": "Ada" },
            "age": { "type": "integer", "default": 36 },
        }),
        json!(["who"]),
    );
    let mut chat = asked(schema, &["All fields", "Send"]);
    assert_eq!(chat.answer("f")["result"]["content"], json!({ "who": "Ada", "age": 36 }));
    let seen = seen_count(&mut chat.nvim, 2);
    assert_eq!((&seen[1]["items"][0], &seen[1]["items"][1]), (&json!("Go on with sure"), &json!("Send")));
}

#[test]
fn an_answer_that_does_not_fit_is_asked_for_again_with_the_reason() {
    let schema = object(
        json!({
            "mail": { "type": "string", "format": "email", "maxLength": 9 },
            "code": { "type": "string", "pattern": "^[A-Z]{2}$" },
            "age": { "type": "integer", "minimum": 1, "maximum": 120, "title": "How old?" },
            "tags": { "type": "array", "items": { "type": "string", "enum": ["a", "b", "c"] }, "minItems": 2 },
        }),
        json!(["mail", "tags"]),
    );
    let picks = ["", "nobody", "a@b", "xy", "XY", "121", "120", "[ ] b", "Done", "[ ] a", "Done", "Send"];
    let mut chat = asked(schema, &picks);
    assert_eq!(
        chat.answer("f")["result"]["content"],
        json!({ "mail": "a@b", "code": "XY", "age": 120, "tags": ["a", "b"] })
    );
    let seen = seen_count(&mut chat.nvim, 12);
    let prompts: Vec<_> = [1, 2, 4, 6, 9].iter().map(|index| &seen[*index]["prompt"]).collect();
    assert_eq!(
        prompts,
        [
            "The agent needs this one · mail: ",
            "Type an email address such as name@example.org · mail: ",
            "Type what fits ^[A-Z]{2}$ · code: ",
            "Type a whole number, 1 to 120 · How old?: ",
            "Choose at least 2; so far: 1 · tags",
        ]
    );
    assert_eq!((&seen[2]["default"], &seen[6]["default"]), (&json!("nobody"), &json!("121")));
}

#[test]
fn a_field_can_be_changed_or_left_out_before_the_form_is_sent() {
    let schema = object(
        json!({ "who": { "type": "string" }, "sure": { "type": "boolean" }, "age": { "type": "integer" } }),
        json!(["who"]),
    );
    let picks =
        ["Ada", "Yes", "36", "Change who", "Eve", "Change sure", "Leave it out", "Change age", "", "Send"];
    let mut chat = asked(schema, &picks);
    assert_eq!(chat.answer("f")["result"], json!({ "action": "accept", "content": { "who": "Eve" } }));
    let seen = seen_count(&mut chat.nvim, 10);
    assert_eq!((&seen[4]["default"], &seen[6]["items"][0]), (&json!("Ada"), &json!("Yes (chosen)")));
}

#[test]
fn a_form_can_be_declined_and_cancelled_from_the_review_and_by_command() {
    let schema =
        object(json!({ "sure": { "type": "boolean" }, "age": { "type": "integer" } }), json!(["sure"]));
    let mut parts = Vec::new();
    for id in ["a", "b", "c", "d"] {
        parts.extend([form(id, id, schema.clone()), answered(id)]);
    }
    let mut chat = turn(parts, &["Yes", "", "Decline", "All fields", "Cancel", "<dismiss>"]);
    assert_eq!(chat.answer("a")["result"], json!({ "action": "decline" }));
    assert_eq!(chat.answer("b")["result"], json!({ "action": "cancel" }));
    let seen = seen_count(&mut chat.nvim, 6);
    assert_eq!(seen[4]["prompt"], "Fake asks: b · sure is needed");
    assert!(!seen[4]["items"].to_string().contains("Send"), "{seen:?}");
    chat.nvim.command("Acp answer decline");
    assert_eq!(chat.answer("c")["result"], json!({ "action": "decline" }));
    seen_count(&mut chat.nvim, 7);
    chat.nvim.command("Acp answer cancel");
    assert_eq!(chat.answer("d")["result"], json!({ "action": "cancel" }));
    chat.wait_for("Done");
    chat.nvim.command("Acp answer");
    assert!(said(&mut chat.nvim).contains("nothing waits for you"));
}

#[test]
fn a_question_with_few_answers_is_answered_by_their_keys_in_the_chat() {
    let colours = json!(["red", "green", "blue"]);
    let colour = object(json!({ "colour": { "type": "string", "enum": colours } }), json!(["colour"]));
    let go_on = object(
        json!({ "on": { "type": "boolean", "title": "Go on?", "description": "all of it" } }),
        json!(["on"]),
    );
    let many: Vec<String> = (1..=10).map(|number| format!("n{number}")).collect();
    let many = object(json!({ "n": { "type": "string", "enum": many } }), json!(["n"]));
    let parts = [("a", colour), ("b", go_on), ("c", many)]
        .into_iter()
        .flat_map(|(id, schema)| [form(id, &format!("Question {id}"), schema), answered(id)]);
    // The pickers are left open, or closed, as by somebody who looks around first.
    let mut chat = turn(parts, &["<dismiss>", "<dismiss>", "<dismiss>"]);
    chat.wait_for("Answer?   1 red   2 green   3 blue");
    chat.nvim.input("<Esc><C-w>k");
    press_on(&mut chat, "Question a", "2", "Go on? (needed) — all of it");
    assert_eq!(chat.answer("a")["result"], json!({ "action": "accept", "content": { "colour": "green" } }));
    chat.wait_for("Answer?   1 Yes   2 No");
    press_on(&mut chat, "Question b", "2", "Question c");
    assert_eq!(chat.answer("b")["result"], json!({ "action": "accept", "content": { "on": false } }));
    // More than there are keys for: as ever.
    chat.wait_for("Answer?   <CR> or :Acp answer [decline|cancel]");
    assert!(chat.transcript().contains("n1 · n2"), "{}", chat.transcript());
}

/// Presses a key on the line with this text until the chat shows what comes of it: one that is on its way when the question
/// comes is a count.
fn press_on(chat: &mut Scripted, line: &str, key: &str, then: &str) {
    chat.go_to(line);
    chat.nvim.wait_until(
        |nvim| {
            let is_there = nvim.screen().contains(then);
            if !is_there {
                nvim.input(&format!("<Esc>{key}"));
            }
            is_there
        },
        then,
    );
    chat.nvim.input("<Esc>");
}

#[test]
fn a_dismissed_form_stays_open_and_is_taken_up_where_it_was_left() {
    let schema =
        object(json!({ "who": { "type": "string" }, "age": { "type": "integer" } }), json!(["who", "age"]));
    let mut chat = asked(schema, &["Ada", "<dismiss>"]);
    seen_count(&mut chat.nvim, 2);
    chat.wait_for(":Acp answer");
    answers(&mut chat.nvim, &["Go on with age", "36", "Send"]);
    chat.nvim.command("Acp answer");
    assert_eq!(chat.answer("f")["result"]["content"], json!({ "who": "Ada", "age": 36 }));
    assert_eq!(seen_count(&mut chat.nvim, 3)[0]["prompt"], "Fake asks: Tell me · age is needed");
}

#[test]
fn the_entry_of_a_form_takes_it_up_too() {
    let schema = object(json!({ "who": { "type": "string" } }), json!([]));
    let mut chat = asked(schema, &["<dismiss>"]);
    seen_count(&mut chat.nvim, 1);
    answers(&mut chat.nvim, &["Send"]);
    chat.nvim.input("<Esc><C-w>kG<CR>");
    assert_eq!(chat.answer("f")["result"], json!({ "action": "accept" }));
}

#[test]
fn what_this_client_does_not_know_is_never_shown_as_a_control() {
    let schema = object(
        json!({ "when": { "type": "date", "title": "When" }, "who": { "type": "string" } }),
        json!([]),
    );
    let needed = object(json!({ "when": { "type": "date" } }), json!(["when"]));
    let parts = [form("a", "One", schema), answered("a"), form("b", "Two", needed), answered("b")];
    let mut chat = turn(parts, &["Ada", "Change When", "Send", "Decline"]);
    assert_eq!(chat.answer("a")["result"]["content"], json!({ "who": "Ada" }));
    assert_eq!(chat.answer("b")["result"], json!({ "action": "decline" }));
    let seen = seen_count(&mut chat.nvim, 4);
    assert!(
        seen[3]["prompt"].as_str().is_some_and(|prompt| prompt.contains("of the type \"date\"")),
        "{seen:?}"
    );
    assert!(!seen[3]["items"].to_string().contains("Send"), "{seen:?}");
}

#[test]
fn a_form_without_fields_is_a_question_of_yes_or_no() {
    let mut chat = asked(json!({ "type": "object", "properties": {} }), &["Send"]);
    assert_eq!(chat.answer("f")["result"], json!({ "action": "accept" }));
    chat.wait_for("sent without a value");
}

#[test]
fn a_proposed_text_is_never_taken_for_keys() {
    let text = "a\u{12}=execute('let g:pwned = 1')\rb\nc";
    let schema = object(json!({ "text": { "type": "string", "default": text } }), json!([]));
    let parts =
        [form("a", "x\r\ny\u{1b}", schema.clone()), answered("a"), form("b", "x", schema), answered("b")];
    let mut chat = turn(parts, &["Keep", "Send", "Type another", "plain", "Send"]);
    assert_eq!(chat.answer("a")["result"]["content"], json!({ "text": text }));
    assert_eq!(chat.answer("b")["result"]["content"], json!({ "text": "plain" }));
    let seen = seen_count(&mut chat.nvim, 5).into_iter().map(|seen| seen.to_string()).collect::<String>();
    assert!(!seen.contains("\\u00") && !seen.contains("\\n") && !seen.contains("\\r"), "{seen}");
}

#[test]
fn neovims_own_pickers_do_with_keys() {
    let schema = object(
        json!({
            "colour": { "type": "string", "enum": ["red", "blue"] },
            "why": { "type": "string", "description": "A long description of what is wanted here, ".repeat(9) },
        }),
        json!(["colour"]),
    );
    let mut chat = one_form(&"Which one? ".repeat(30), schema, (100, 30));
    chat.send("go");
    chat.nvim.wait_for_screen("2: blue");
    // Typed ahead of the questions.
    chat.nvim.input("2<CR>warm<BS>m, really<CR>1<CR>");
    assert_eq!(chat.answer("f")["result"]["content"], json!({ "colour": "blue", "why": "warm, really" }));
    chat.wait_for("Done");
    chat.nvim.wait_until(|nvim| !nvim.mode().blocking, "no prompt to be left");
    assert_eq!(chat.nvim.mode().name, "i");
    let history = chat.nvim.exec_lua("return vim.fn.execute('history input')", []);
    assert!(!history.as_str().expect("a text").contains("warm"), "{history}");
}

// Pages.

#[test]
fn a_page_is_shown_with_its_host_and_opened_only_after_the_user_agreed() {
    let server = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = server.local_addr().expect("an address").port();
    let url = format!("http://127.0.0.1:{port}/login?next=https://example.com");
    let mut chat = turn([page("p", &url), answered("p")], &[]);
    chat.wait_for(":Acp answer [decline|cancel]");
    let seen = seen_count(&mut chat.nvim, 1);
    assert_eq!(seen[0]["kind"], "acp_elicitation");
    assert_eq!(seen[0]["prompt"], "Fake asks: Log in, please · a page on 127.0.0.1");
    assert_eq!(
        seen[0]["items"],
        json!([
            format!("Open {url}"),
            "Copy the address, to open it elsewhere",
            "Decline: tell the agent no",
            "Cancel: give no answer",
        ])
    );
    let text = chat.transcript();
    let expected = format!(
        "● Fake asks you to open a page: Log in, please\n    {url}\n    Host: 127.0.0.1\n    Open it?"
    );
    assert!(text.contains(&expected), "{text}");
    assert_eq!(visited(&mut chat.nvim), [""; 0]);
    server.set_nonblocking(true).expect("a socket that does not wait");
    assert!(server.accept().is_err(), "somebody fetched the page");
    chat.nvim.exec_lua("_G.late('Open', 1); _G.late('Open', 1)", []);
    assert_eq!(chat.answer("p")["result"], json!({ "action": "accept" }));
    assert_eq!(visited(&mut chat.nvim), [url]);
    chat.wait_for("you agreed to open 127.0.0.1");
    assert!(server.accept().is_err(), "somebody fetched the page");
}

#[test]
fn a_page_that_may_deceive_is_warned_of() {
    let url = "http://google.com@xn--80ak6aa92e.com/";
    let mut chat = turn([page("p", url), answered("p")], &[]);
    chat.wait_for("Host: xn--80ak6aa92e.com");
    let text = chat.transcript();
    for part in
        ["Warning: the host's name", "Warning: the part before the @", "Warning: the connection is not"]
    {
        assert!(text.contains(part), "{part:?} is missing in:\n{text}");
    }
    let seen = seen_count(&mut chat.nvim, 1);
    let prompt = seen[0]["prompt"].as_str().expect("a prompt");
    assert!(prompt.contains("a page on xn--80ak6aa92e.com · Warning: the host's name"), "{prompt}");
    let groups = chat.nvim.groups_of("xn--80ak6aa92e.com/");
    assert!(groups.iter().any(|group| group == "DiagnosticWarn"), "{groups:?}");
}

#[test]
fn a_page_can_be_declined_cancelled_or_opened_elsewhere() {
    let mut parts = Vec::new();
    for id in ["a", "b", "c"] {
        parts.extend([page(id, "https://example.com/x"), answered(id)]);
    }
    let mut chat = turn(parts, &["Decline", "Cancel", "Copy"]);
    assert_eq!(chat.answer("a")["result"], json!({ "action": "decline" }));
    assert_eq!(chat.answer("b")["result"], json!({ "action": "cancel" }));
    assert_eq!(chat.answer("c")["result"], json!({ "action": "accept" }));
    chat.wait_for("Done");
    assert_eq!(visited(&mut chat.nvim), [""; 0]);
    let register = if said(&mut chat.nvim).contains("register +") { "+" } else { "\"" };
    let copied = chat.nvim.exec_lua("return vim.fn.getreg(...)", [register.into()]);
    assert_eq!(copied.as_str(), Some("https://example.com/x"));
}

#[test]
fn a_browser_that_cannot_be_opened_leaves_the_page_waiting() {
    let mut chat = turn([page("p", "https://example.com/"), answered("p")], &[]);
    seen_count(&mut chat.nvim, 1);
    chat.nvim.exec_lua("_G.browser_error = 'no handler found'; _G.late('Open', 1)", []);
    assert!(said(&mut chat.nvim).contains("couldn't open the browser: no handler found"));
    seen_count(&mut chat.nvim, 1);
    chat.nvim.exec_lua("_G.browser_error = nil", []);
    chat.nvim.command("Acp answer");
    chat.nvim.exec_lua("_G.late('Open', 1)", []);
    assert_eq!(chat.answer("p")["result"], json!({ "action": "accept" }));
    assert_eq!(visited(&mut chat.nvim).len(), 2);
}

// Over without the user.

#[test]
fn a_form_that_is_taken_back_goes_away_and_a_late_answer_does_nothing() {
    let schema = object(json!({ "who": { "type": "string" } }), json!(["who"]));
    let parts = [
        form("f", "Tell me", schema.clone()),
        json!({ "delay_ms": 900 }),
        json!({ "send": { "method": "$/cancel_request", "params": { "requestId": "f" } } }),
        answered("f"),
        form("g", "Tell me more", schema),
        answered("g"),
    ];
    let mut chat = turn(parts, &[]);
    seen_count(&mut chat.nvim, 1);
    chat.nvim.exec_lua("_G.first = _G.late", []);
    assert_eq!(chat.answer("f")["result"], json!({ "action": "cancel" }));
    chat.wait_for("⊘ Fake asked: Tell me");
    let seen = seen_count(&mut chat.nvim, 2);
    assert_eq!(seen[1]["prompt"], "Fake asks: Tell me more · who: ");
    chat.nvim.exec_lua("_G.first('Ada')", []);
    assert!(said(&mut chat.nvim).contains("no longer waits"));
    answers(&mut chat.nvim, &["Send"]);
    chat.nvim.exec_lua("_G.late('Eve')", []);
    assert_eq!(chat.answer("g")["result"]["content"], json!({ "who": "Eve" }));
    let count = chat.record().iter().filter(|line| line["id"] == "f").count();
    assert_eq!(count, 1);
}

#[test]
fn cancelling_the_turn_cancels_its_forms_and_pages() {
    let schema = object(json!({ "who": { "type": "string" } }), json!([]));
    let mut all = opened();
    all.extend([
        prompt(),
        form("f", "Tell me", schema),
        page("p", "https://example.com/"),
        answered("f"),
        json!({ "expect": "session/cancel" }),
        ends("cancelled"),
    ]);
    let mut chat = Scripted::new(&[], all);
    chat.chat();
    answers(&mut chat.nvim, &[]);
    chat.send("go");
    chat.wait_for("Host: example.com");
    seen_count(&mut chat.nvim, 1);
    chat.nvim.input("<C-c>");
    assert_eq!(chat.answer("f")["result"], json!({ "action": "cancel" }));
    assert_eq!(chat.answer("p")["result"], json!({ "action": "cancel" }));
    chat.wait_for("Cancelled · ");
    let text = chat.transcript();
    assert!(text.contains("⊘ Fake asked: Tell me") && !text.contains(":Acp answer"), "{text}");
    seen_count(&mut chat.nvim, 1);
}

#[test]
fn an_agent_that_is_gone_asks_nothing_any_more() {
    let schema = object(json!({ "who": { "type": "string" } }), json!([]));
    let mut all = opened();
    all.extend([prompt(), form("f", "Tell me", schema), json!({ "delay_ms": 900 }), json!({ "exit": 3 })]);
    let mut chat = Scripted::new(&[], all);
    chat.chat();
    answers(&mut chat.nvim, &[]);
    chat.send("go");
    seen_count(&mut chat.nvim, 1);
    chat.wait_for("R starts it again");
    let text = chat.transcript();
    assert!(text.contains("⊘ Fake asked: Tell me") && !text.contains(":Acp answer"), "{text}");
    chat.nvim.command("Acp answer");
    assert!(said(&mut chat.nvim).contains("nothing waits for you"));
}

#[test]
fn stopping_the_agent_cancels_what_waits() {
    let schema = object(json!({ "who": { "type": "string" } }), json!([]));
    let parts =
        [form("f", "Tell me", schema), page("p", "https://example.com/"), answered("f"), answered("p")];
    let mut chat = turn(parts, &[]);
    chat.wait_for("Host: example.com");
    chat.nvim.command("Acp stop");
    for id in ["f", "p"] {
        assert_eq!(chat.answer(id)["result"], json!({ "action": "cancel" }));
    }
    chat.wait_for("⊘ Fake asked: Tell me");
    // Each question is drawn on its own.
    let text = "local chat = require('acp').status().sessions[1]
        return table.concat(vim.api.nvim_buf_get_lines(chat.buffer, 0, -1, false), '\\n')";
    chat.nvim.wait_until(
        |nvim| !nvim.exec_lua(text, []).to_string().contains(":Acp answer"),
        "no question to be left",
    );
}

#[test]
fn neovim_can_be_left_while_a_form_waits() {
    let schema = object(json!({ "who": { "type": "string" } }), json!([]));
    let mut chat = asked(schema, &[]);
    chat.wait_for(":Acp answer");
    assert!(chat.nvim.quit().success());
    wait_for(|| chat.nvim.processes().is_empty(), "the agent to be gone");
}

#[test]
fn a_form_that_a_login_or_a_session_waits_for_is_asked_before_the_session_is_there() {
    let mut all = opened();
    all[2]["save"] = json!({ "new": "/id" });
    let question = json!({ "requestId": "${new}", "mode": "form", "message": "Which account?",
        "requestedSchema": object(json!({ "who": { "type": "string" } }), json!(["who"])) });
    let send = json!({ "send": { "id": "f", "method": "elicitation/create", "params": question } });
    all.splice(3..3, [send, answered("f")]);
    let mut chat = Scripted::new(&[], all);
    answers(&mut chat.nvim, &["Ada"]);
    chat.nvim.command("AcpChat");
    chat.nvim.wait_for_screen("waiting for you");
    seen_count(&mut chat.nvim, 2);
    chat.nvim.exec_lua("_G.late('Send', 1)", []);
    assert_eq!(chat.answer("f")["result"]["content"], json!({ "who": "Ada" }));
    chat.nvim.wait_for_screen("Fake 1.0");
}

// Whose turn it is.

#[test]
fn a_form_does_not_open_over_somebody_who_types_elsewhere() {
    let schema = object(json!({ "who": { "type": "string" } }), json!([]));
    let mut all = opened();
    all.extend([prompt(), form("f", "Tell me", schema), answered("f"), ends("end_turn")]);
    let mut chat = Scripted::new(&[("a.txt", "a\n")], all);
    chat.chat();
    answers(&mut chat.nvim, &["Ada", "Send"]);
    chat.nvim.input("<Esc>");
    chat.nvim.command("wincmd h");
    chat.nvim.input("iwriting");
    chat.nvim.wait_for_screen("writing");
    chat.nvim.exec_lua("require('acp').send('go')", []);
    chat.wait_for(":Acp answer");
    assert_eq!(seen(&mut chat.nvim), [json!(null); 0]);
    chat.nvim.input("<Esc>");
    assert_eq!(chat.answer("f")["result"]["content"], json!({ "who": "Ada" }));
}

#[test]
fn permission_and_forms_wait_for_each_other() {
    let schema = object(json!({ "who": { "type": "string" }, "age": { "type": "integer" } }), json!([]));
    let permission = asks(
        "p",
        "session/request_permission",
        json!({ "toolCall": { "toolCallId": "1", "title": "Edit a.txt" }, "options": [
            { "optionId": "a", "name": "Allow", "kind": "allow_once" },
        ] }),
    );
    let parts = [form("f", "Tell me", schema), permission, says("Both."), answered("f"), answered("p")];
    let mut chat = turn(parts, &["Ada"]);
    chat.wait_for("Both.");
    let seen = seen_count(&mut chat.nvim, 2);
    assert!(seen[1]["prompt"].as_str().is_some_and(|prompt| prompt.contains("age")), "{seen:?}");
    chat.nvim.exec_lua("_G.ask_again = _G.late", []);
    answers(&mut chat.nvim, &["Send", "Allow"]);
    chat.nvim.exec_lua("_G.ask_again('36')", []);
    assert_eq!(chat.answer("p")["result"]["outcome"]["optionId"], "a");
    assert_eq!(chat.answer("f")["result"]["content"], json!({ "who": "Ada", "age": 36 }));
    assert_eq!(seen_count(&mut chat.nvim, 2)[1]["kind"], "acp_permission");
}

#[test]
fn pickers_that_answer_later_do_as_well() {
    let schema = object(
        json!({ "who": { "type": "string" }, "tags": { "type": "array", "items": {
            "type": "string", "enum": ["a", "b"] } } }),
        json!([]),
    );
    let mut chat = one_form("Tell me", schema, (100, 30));
    let picks = ["Ada", "[ ] b", "Done", "Send"].map(rmpv::Value::from).to_vec();
    chat.nvim.exec_lua(PICKERS, [rmpv::Value::Array(picks), true.into()]);
    chat.send("go");
    assert_eq!(chat.answer("f")["result"]["content"], json!({ "who": "Ada", "tags": ["b"] }));
}

#[test]
fn events_tell_of_a_question_and_of_its_answer() {
    let schema = object(json!({ "who": { "type": "string" } }), json!([]));
    let mut chat = one_form("Tell me", schema, (100, 30));
    answers(&mut chat.nvim, &["secret", "Send"]);
    chat.nvim.exec_lua(
        "_G.events = {}
         for _, name in ipairs({ 'QuestionAsked', 'QuestionAnswered' }) do
           require('acp').on(name, function(data) table.insert(_G.events, data) end)
         end",
        [],
    );
    chat.send("go");
    chat.wait_for("Done");
    let events = chat.nvim.exec_lua("return vim.json.encode(_G.events)", []);
    let events: Value = serde_json::from_str(events.as_str().expect("a text")).expect("JSON");
    assert_eq!((&events[0]["mode"], &events[0]["message"]), (&json!("form"), &json!("Tell me")));
    assert_eq!(events[1]["action"], "accept");
    assert!(!events.to_string().contains("secret"), "{events}");
}
