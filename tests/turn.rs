//! A turn with an agent, from the keys a user types to the screen, and from there to what the agent
//! was sent. The agents are scripted; the Neovim, the processes and the pipes are real.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use serde_json::{Value, json};

use support::process::wait_for;
use support::project::TempProject;
use support::script::{
    Scripted, answered, asks, ends, opened, opened_with, permission, prompt, says, steps, update, writes,
};
use support::{Nvim, Options};

/// Lets a test answer pickers: `picked` says what to choose, `seen` holds what was offered.
fn pick(nvim: &mut Nvim, number: u64) {
    nvim.exec_lua(
        "local number = ...
         _G.seen = {}
         vim.ui.select = function(items, options, choose)
           table.insert(_G.seen, { items = items, prompt = options.prompt, kind = options.kind })
           if number > 0 then choose(items[number], number) else _G.choose = choose end
         end",
        [number.into()],
    );
}

fn seen(nvim: &mut Nvim) -> String {
    let code = "return vim.inspect(_G.seen)";
    nvim.exec_lua(code, []).as_str().expect("a text").to_owned()
}

/// How many agents run under this Neovim.
fn agents(nvim: &Nvim) -> usize {
    nvim.processes().iter().filter(|process| process.command.contains("acp-demo-agent")).count()
}

/// The chat of an agent that asks in its turn whether it may edit a file.
fn asking() -> Scripted {
    let call = json!({ "toolCallId": "1", "title": "Edit a.txt", "kind": "edit" });
    let steps = steps([prompt(), permission("p", call), answered("p"), ends("end_turn")]);
    let mut chat = Scripted::new(&[("a.txt", "a\n")], steps);
    chat.chat();
    chat
}

// The chat.

#[test]
fn the_chat_is_there_before_the_agent_and_keeps_what_is_typed_meanwhile() {
    let mut all = vec![json!({ "expect": "initialize" }), json!({ "delay_ms": 2000 })];
    all.extend(opened().into_iter().skip(1));
    all.extend([prompt(), says("Heard you."), ends("end_turn")]);
    let mut chat = Scripted::new(&[], all);
    chat.nvim.command("AcpChat");
    chat.nvim.wait_for_screen("Starting fake");
    chat.nvim.input("early words<C-s>");
    chat.nvim.wait_for_screen("1 waiting");
    chat.wait_for("Heard you.");
    assert_eq!(chat.got("session/prompt")["params"]["prompt"][0]["text"], "early words");
}

#[test]
fn a_turn_streams_into_the_transcript_and_a_second_prompt_continues() {
    let mut chat = Scripted::new(
        &[],
        steps([
            prompt(),
            update(
                json!({ "sessionUpdate": "agent_thought_chunk", "content": { "type": "text", "text": "Hm." } }),
            ),
            update(json!({ "sessionUpdate": "plan", "entries": [
                { "content": "look", "priority": "high", "status": "completed" },
                { "content": "answer", "priority": "high", "status": "in_progress" },
            ] })),
            says("The **answer**"),
            says(" is 42.\n\n- one\n- two\n"),
            update(json!({ "sessionUpdate": "tool_call", "toolCallId": "1", "title": "Read notes.txt",
                "kind": "read", "status": "completed" })),
            ends("end_turn"),
            prompt(),
            says("Again."),
            ends("max_tokens"),
        ]),
    );
    chat.chat();
    chat.send("What is it?");
    chat.wait_for("Done");
    chat.send("And now?");
    chat.wait_for("limit of tokens");
    let text = chat.transcript();
    let expected = [
        "You\nWhat is it?",
        "Fake\n▸ thought",
        "Plan 1/2\n  ✓ look\n  ● answer",
        "The **answer** is 42.\n\n- one\n- two\n",
        "✓ Read notes.txt",
        "Done · ",
        "You\nAnd now?",
        "Fake\nAgain.",
        "Stopped: the answer reached its limit of tokens",
    ];
    let mut at = 0;
    for part in expected {
        let found =
            text[at..].find(part).unwrap_or_else(|| panic!("{part:?} is missing or too early in:\n{text}"));
        at += found;
    }
}

#[test]
fn markdown_in_the_transcript_is_coloured() {
    let mut chat = Scripted::new(
        &[],
        steps([
            prompt(),
            says("# A heading\n\nSome `code` here.\n\n```lua\nlocal x = 1\n```\n"),
            ends("end_turn"),
        ]),
    );
    chat.chat();
    chat.send("see **bold words** here");
    chat.wait_for("Done");
    chat.nvim.wait_until(
        |nvim| nvim.screen().contains("**bold words**") && !nvim.groups_of("bold words").is_empty(),
        "the user's words to be coloured, with all that was typed",
    );
    chat.nvim.wait_until(
        |nvim| nvim.groups_of("A heading").iter().any(|group| group == "Title"),
        "the heading to be coloured",
    );
    chat.nvim.wait_until(
        |nvim| nvim.groups_of("local x").iter().any(|group| group == "Keyword" || group == "Statement"),
        "the code to be coloured",
    );
}

#[test]
fn a_reader_who_scrolled_up_is_left_where_they_are() {
    let lines: String = (1..=60).map(|line| format!("line {line}\n")).collect();
    let steps = steps([
        prompt(),
        says(&lines),
        json!({ "expect": "session/cancel" }),
        says("more"),
        ends("cancelled"),
    ]);
    let mut chat = Scripted::new(&[], steps);
    chat.chat();
    chat.send("go");
    chat.nvim.wait_for_screen("line 60");
    chat.nvim.input("<Esc><C-w>kgg");
    let place = "return vim.fn.line('.') * 1000 + vim.fn.line('w0')";
    chat.nvim
        .wait_until(|nvim| nvim.exec_lua(place, []).as_u64() == Some(1001), "the reader to be at the top");
    chat.nvim.command("Acp cancel");
    chat.wait_for("Cancelled");
    assert!(chat.transcript().contains("more"));
    assert_eq!(chat.nvim.exec_lua(place, []).as_u64(), Some(1001));
}

#[test]
fn hiding_and_wiping_the_chat_loses_nothing() {
    let mut chat = Scripted::new(&[], steps([prompt(), says("Kept."), ends("end_turn")]));
    chat.chat();
    chat.send("go");
    chat.wait_for("Done");
    chat.nvim.input("<Esc><C-w>kq");
    chat.nvim.wait_until(|nvim| !nvim.screen().contains("Kept."), "the chat to be hidden");
    chat.nvim.command("AcpChat");
    chat.nvim.wait_for_screen("Kept.");
    chat.nvim.exec_lua(
        "vim.api.nvim_buf_delete(require('acp').status().sessions[1].buffer, { force = true })",
        [],
    );
    chat.nvim.command("AcpChat");
    chat.nvim.wait_for_screen("Kept.");
}

// Cancel and permission.

#[test]
fn a_permission_question_shows_every_option_and_is_answered_by_id() {
    let mut chat = asking();
    pick(&mut chat.nvim, 2);
    chat.send("go");
    assert_eq!(chat.answer("p")["result"], json!({ "outcome": { "outcome": "selected", "optionId": "aa" } }));
    let seen = seen(&mut chat.nvim);
    for word in ["Allow", "Always allow", "Reject", "edit a.txt", "acp_permission"] {
        assert!(seen.contains(word), "{word} is not offered in {seen}");
    }
    chat.wait_for("Done");
}

#[test]
fn a_closed_question_stays_open_says_how_it_is_answered_and_a_late_answer_does_nothing() {
    let mut chat = asking();
    pick(&mut chat.nvim, 0);
    chat.send("go");
    chat.nvim.wait_until(|nvim| seen(nvim).contains("edit a.txt"), "the question");
    chat.nvim.listen();
    chat.nvim.exec_lua("_G.choose(nil, nil)", []);
    let said = |nvim: &mut Nvim| nvim.exec_lua("return table.concat(_G.said)", []);
    // In the prompt's insert mode a command would be text.
    let how = "acp: left open: <C-s> in the empty prompt, or <Esc> and :Acp answer";
    chat.nvim.wait_until(|nvim| said(nvim).as_str() == Some(how), "to be told how to answer");
    chat.nvim.input("<C-s>");
    let asked = |nvim: &mut Nvim| nvim.exec_lua("return #_G.seen", []).as_u64();
    chat.nvim.wait_until(|nvim| asked(nvim) == Some(2), "the key to open the question");
    chat.nvim.stop_insert();
    chat.nvim.exec_lua("_G.said = {} _G.choose(nil, nil)", []);
    let how = "acp: left open: :Acp answer, or 1 .. 9 in the chat";
    chat.nvim.wait_until(|nvim| said(nvim).as_str() == Some(how), "to be told how to answer in normal mode");
    assert!(!chat.record().iter().any(|line| line["id"] == "p"), "closing it is no answer");
    chat.nvim.command("Acp answer");
    chat.nvim.exec_lua("_G.choose('Reject', 3)", []);
    assert_eq!(chat.answer("p")["result"]["outcome"]["optionId"], "r");
    chat.nvim.exec_lua("_G.choose('Allow', 1)", []);
    chat.wait_for("Done");
    let answers = chat.record().iter().filter(|line| line["id"] == "p").count();
    assert_eq!(answers, 1);
}

#[test]
fn a_long_title_is_cut_in_the_picker_and_stands_in_full_in_the_details() {
    let title = format!("Run a check {}of all", "and a check ".repeat(400));
    let call = json!({ "toolCallId": "1", "title": title, "kind": "execute" });
    let steps = steps([prompt(), permission("p", call), answered("p"), ends("end_turn")]);
    let mut chat = Scripted::new(&[], steps);
    chat.chat();
    pick(&mut chat.nvim, 0);
    chat.send("go");
    chat.nvim.wait_until(|nvim| seen(nvim).contains("wants to"), "the question");
    let prompt = chat.nvim.exec_lua("return _G.seen[1].prompt", []);
    let prompt = prompt.as_str().expect("a text");
    assert!(prompt.starts_with("Fake wants to run a check and") && prompt.ends_with("of all"), "{prompt}");
    assert!(prompt.chars().count() < 200, "{} characters", prompt.chars().count());
    chat.nvim.input("<Esc>");
    chat.nvim.exec_lua(
        "vim.api.nvim_set_current_win(vim.fn.bufwinid(require('acp').status().sessions[1].buffer))",
        [],
    );
    chat.nvim.exec_lua("vim.fn.search('Allow this')", []);
    chat.nvim.input("K");
    chat.nvim.wait_for_screen("## Title");
    let page =
        chat.nvim.exec_lua("return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\\n')", []);
    assert!(page.as_str().is_some_and(|page| page.replace('\n', "").contains(&title)), "{page}");
    assert!(
        page.as_str().and_then(|page| page.lines().next()).is_some_and(|line| line.len() < 220),
        "{page}"
    );
}

#[test]
fn allow_and_reject_answer_by_command() {
    let call = |id: &str| json!({ "toolCallId": id, "title": format!("Edit {id}"), "kind": "edit" });
    let mut chat = Scripted::new(
        &[],
        steps([
            prompt(),
            permission("p", call("one")),
            answered("p"),
            permission("q", call("two")),
            answered("q"),
            ends("end_turn"),
        ]),
    );
    chat.chat();
    pick(&mut chat.nvim, 0);
    chat.send("go");
    chat.wait_for("Allow this edit?");
    chat.decide("reject");
    assert_eq!(chat.answer("p")["result"]["outcome"]["optionId"], "r");
    chat.wait_for("Edit two");
    chat.decide("allow");
    assert_eq!(chat.answer("q")["result"]["outcome"]["optionId"], "a");
}

/// Asks three things at once; a test closes each or answers it.
fn asking_thrice() -> Scripted {
    let call = |id: &str| json!({ "toolCallId": id, "title": format!("Run {id}"), "kind": "execute" });
    let asks = ["one", "two", "three"].map(|id| permission(id, call(id)));
    let answers = ["one", "two", "three"].map(answered);
    let steps = steps([prompt()].into_iter().chain(asks).chain(answers).chain([ends("end_turn")]));
    let mut chat = Scripted::new(&[], steps);
    chat.chat();
    chat.nvim.exec_lua(
        "_G.seen, _G.builtin = {}, vim.ui.select
         vim.ui.select = function(items, options, choose)
           table.insert(_G.seen, options.prompt)
           _G.choose = choose
         end",
        [],
    );
    chat.send("go");
    chat
}

fn has_asked(chat: &mut Scripted, prompt: &str) {
    let code = "return _G.seen[#_G.seen] or ''";
    chat.nvim.wait_until(|nvim| nvim.exec_lua(code, []).as_str() == Some(prompt), prompt);
}

fn answer_of(chat: &mut Scripted, id: &str) -> String {
    chat.answer(id)["result"]["outcome"]["optionId"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn of_several_questions_a_command_answers_the_one_that_was_seen_last_and_says_so() {
    let mut chat = asking_thrice();
    has_asked(&mut chat, "Fake wants to run one");
    chat.nvim.exec_lua("_G.choose(nil, nil)", []);
    has_asked(&mut chat, "Fake wants to run two");
    chat.wait_for("Run three");
    chat.nvim.listen();
    chat.nvim.command("Acp allow");
    assert_eq!(answer_of(&mut chat, "two"), "a");
    let said = "return table.concat(_G.said, '\\n')";
    let text = "acp: allowed: Fake wants to run two \u{b7} 2 more wait";
    let is_said = |nvim: &mut Nvim| nvim.exec_lua(said, []).as_str().is_some_and(|all| all.contains(text));
    chat.nvim.wait_until(is_said, text);
    // The cursor on a question says which.
    has_asked(&mut chat, "Fake wants to run three");
    chat.nvim.exec_lua("_G.choose(nil, nil)", []);
    chat.go_to("Run one");
    // On a narrow screen as well it says how many wait.
    chat.nvim.resize(50, 30);
    chat.nvim.command("Acp reject");
    assert_eq!(answer_of(&mut chat, "one"), "r");
    let text = "acp: rejected: Fake wants to r\u{2026} \u{b7} 1 more waits";
    let is_said = |nvim: &mut Nvim| nvim.exec_lua(said, []).as_str().is_some_and(|all| all.contains(text));
    chat.nvim.wait_until(is_said, text);
    chat.nvim.command("Acp allow");
    assert_eq!(answer_of(&mut chat, "three"), "a");
}

#[test]
fn of_several_questions_that_were_not_seen_a_command_asks_which_is_meant() {
    let mut chat = asking_thrice();
    chat.nvim.listen();
    for id in ["one", "two", "three"] {
        has_asked(&mut chat, &format!("Fake wants to run {id}"));
        chat.nvim.exec_lua("_G.choose(nil, nil)", []);
    }
    let said = "return table.concat(_G.said, ' / ')";
    let how = "acp: 3 left open: <C-s> in the empty prompt, or <Esc> and :Acp answer";
    chat.nvim.wait_until(|nvim| nvim.exec_lua(said, []) == how.into(), "to be told once how to answer");
    chat.nvim.command("Acp review");
    let all = format!("{how} / acp: nothing is left to decide; a question waits: :Acp answer");
    chat.nvim.wait_until(|nvim| nvim.exec_lua(said, []) == all.as_str().into(), "what waits");
    chat.nvim.command("Acp allow nonsense");
    let offers = "the agent offers no such option; it offers Allow, Always allow";
    let last = "return _G.said[#_G.said]";
    chat.nvim.wait_until(|nvim| nvim.exec_lua(last, []).to_string().contains(offers), "what is offered");
    chat.nvim.command("Acp allow");
    assert_eq!(answer_of(&mut chat, "three"), "a");
    chat.nvim.command("Acp reject");
    has_asked(&mut chat, "Reject which?");
    chat.nvim.exec_lua("_G.choose('two', 2)", []);
    assert_eq!(answer_of(&mut chat, "two"), "r");
    chat.nvim.command("Acp allow");
    assert_eq!(answer_of(&mut chat, "one"), "a");
    chat.wait_for("Done");
}

#[test]
fn who_closes_one_question_and_answers_the_others_is_told_how_to_answer_it() {
    let mut chat = asking_thrice();
    chat.nvim.listen();
    has_asked(&mut chat, "Fake wants to run one");
    chat.nvim.exec_lua("_G.choose(nil, nil)", []);
    for id in ["two", "three"] {
        has_asked(&mut chat, &format!("Fake wants to run {id}"));
        chat.nvim.exec_lua("_G.choose('Allow', 1)", []);
    }
    let said = "return _G.said[#_G.said] or ''";
    let how = "acp: left open: <C-s> in the empty prompt, or <Esc> and :Acp answer";
    chat.nvim.wait_until(|nvim| nvim.exec_lua(said, []) == how.into(), "to be told how to answer");
}

#[test]
fn commands_that_are_typed_ahead_are_not_typed_into_a_list() {
    let mut chat = asking_thrice();
    has_asked(&mut chat, "Fake wants to run one");
    // Nobody has seen any of them: they are closed one after the other, and nothing is under the cursor.
    chat.nvim.exec_lua(
        "vim.ui.select = function(_, options, choose) table.insert(_G.seen, options.prompt) choose(nil, nil) end
         _G.choose(nil, nil)",
        [],
    );
    has_asked(&mut chat, "Fake wants to run three");
    chat.nvim.stop_insert();
    // The one that was seen last is answered by the first, and the rest by nobody.
    chat.nvim.exec_lua("vim.ui.select = _G.builtin", []);
    chat.nvim.type_ahead(":Acp allow<CR>:Acp allow<CR>:Acp allow<CR>");
    assert_eq!(answer_of(&mut chat, "three"), "a");
    chat.nvim.wait_for_screen("Allow which?");
    chat.nvim.input("<CR>");
    chat.nvim.wait_until(
        |nvim| {
            let said = nvim.messages();
            said.contains("2 questions wait: say which one") && said.contains("2 questions still wait")
        },
        "to be told what became of the others",
    );
    let answers = chat.record().iter().filter(|line| line["id"] == "one" || line["id"] == "two").count();
    assert_eq!(answers, 0);
    chat.nvim.input(":Acp allow<CR>");
    chat.nvim.wait_for_screen("Allow which?");
    chat.nvim.input("1<CR>");
    assert_eq!(answer_of(&mut chat, "one"), "a");
    chat.decide("allow");
    assert_eq!(answer_of(&mut chat, "two"), "a");
}

#[test]
fn the_default_picker_takes_a_digit() {
    let mut chat = asking();
    chat.send("go");
    chat.nvim.wait_for_screen("3: Reject");
    chat.nvim.input("3<CR>");
    assert_eq!(chat.answer("p")["result"]["outcome"]["optionId"], "r");
}

#[test]
fn a_question_does_not_open_over_somebody_who_types_elsewhere() {
    let mut chat = asking();
    pick(&mut chat.nvim, 1);
    chat.nvim.input("<Esc>");
    chat.nvim.command("wincmd h");
    chat.nvim.input("iwriting");
    chat.nvim.wait_for_screen("writing");
    chat.nvim.exec_lua("require('acp').send('go')", []);
    chat.wait_for("Allow this edit?");
    assert_eq!(seen(&mut chat.nvim), "{}");
    chat.nvim.input(" on");
    chat.nvim.wait_for_screen("writing on");
    assert_eq!(seen(&mut chat.nvim), "{}");
    chat.nvim.input("<Esc>");
    assert_eq!(chat.answer("p")["result"]["outcome"]["optionId"], "a");
}

/// A chat in which a question waits that no picker has shown, the cursor on it.
fn asked(options: &str) -> Scripted {
    let call = json!({ "toolCallId": "1", "title": "Edit a.txt", "kind": "edit" });
    let mut chat = Scripted::new(
        &[("a.txt", "a\nb\nc\n")],
        steps([prompt(), permission("p", call), answered("p"), says("Heard."), ends("end_turn")]),
    );
    chat.configure(&format!("permission = {{ open = 'never' }}, {options}"));
    chat.chat();
    chat.send("go");
    chat.wait_for("Allow this edit?");
    chat.nvim.input("<Esc><C-w>kG");
    chat
}

#[test]
fn the_keys_on_a_waiting_call_answer_it_and_only_once() {
    let mut chat = asked("");
    chat.nvim.wait_for_screen("1 Allow   2 Always allow   3 Reject");
    // A key that is on its way when the question comes is a count; this one comes later.
    press_until_answered(&mut chat, "<Esc>2");
    chat.nvim.input("2");
    // What was drawn before it is not looked at.
    chat.nvim.wait_for_screen("Heard.");
    assert_eq!(chat.answer("p")["result"]["outcome"]["optionId"], "aa");
    assert_eq!(chat.record().iter().filter(|line| line["id"] == "p").count(), 1);
    assert!(!chat.nvim.screen().contains("1 Allow"), "{}", chat.nvim.screen());
}

#[test]
fn digits_elsewhere_in_the_chat_are_counts() {
    let mut chat = asked("");
    chat.nvim.wait_for_screen("3 Reject");
    chat.nvim.input("gg2j");
    assert_eq!(chat.nvim.exec_lua("return vim.fn.line('.')", []), 3.into());
    chat.nvim.input("2G012l");
    assert_eq!(chat.nvim.exec_lua("return vim.fn.col('.')", []), 13.into());
    // Nor is there a fourth answer.
    chat.nvim.input("G4k");
    let lines = chat.transcript().lines().count() as u64;
    assert_eq!(chat.nvim.exec_lua("return vim.fn.line('.')", []), (lines - 4).into());
    assert!(!chat.record().iter().any(|line| line["id"] == "p"), "nothing was answered");
    press_until_answered(&mut chat, "<Esc>G3");
    assert_eq!(chat.answer("p")["result"]["outcome"]["optionId"], "r");
}

#[test]
fn the_keys_that_answer_are_others_or_none() {
    let mut chat = asked("keys = { answer = false }");
    chat.nvim.wait_for_screen("Allow this edit?   :Acp allow   :Acp reject");
    chat.nvim.input("1");
    chat.nvim.input("k");
    assert!(!chat.record().iter().any(|line| line["id"] == "p"), "nothing was answered");
    let mut chat = asked("keys = { answer = { '<leader>y' } }");
    chat.nvim.wait_for_screen("<leader>y Allow");
    press_until_answered(&mut chat, "\\y");
    assert_eq!(chat.answer("p")["result"]["outcome"]["optionId"], "a");
}

/// Until a question has been on the screen for a moment, no key answers it.
fn press_until_answered(chat: &mut Scripted, keys: &str) {
    let record = chat.project.file(".agent/record.jsonl");
    let answered = |nvim: &mut Nvim| {
        let text = std::fs::read_to_string(&record).unwrap_or_default();
        let answered = text.contains(r#""outcome":"selected""#);
        if !answered {
            nvim.input(keys);
        }
        answered
    };
    chat.nvim.wait_until(answered, "the answer");
}

#[test]
fn a_question_that_is_not_to_open_is_announced_and_opens_when_it_is_wanted() {
    let mut chat = asked("");
    pick(&mut chat.nvim, 1);
    chat.nvim.wait_for_screen("waiting for you");
    assert_eq!(seen(&mut chat.nvim), "{}");
    chat.nvim.input("<CR>");
    assert_eq!(chat.answer("p")["result"]["outcome"]["optionId"], "a");
}

#[test]
fn a_question_opens_over_whoever_wants_it_to() {
    let mut chat = asking();
    chat.nvim.exec_lua("require('acp').setup({ permission = { open = 'always' } })", []);
    pick(&mut chat.nvim, 1);
    chat.nvim.input("<Esc><C-w>hiwriting");
    chat.nvim.exec_lua("require('acp').send('go')", []);
    assert_eq!(chat.answer("p")["result"]["outcome"]["optionId"], "a");
    assert_eq!(chat.nvim.mode().name, "i");
}

#[test]
fn what_is_typed_in_the_prompt_never_reaches_a_question() {
    let mut chat = asking();
    chat.nvim.input("1 more");
    chat.nvim.wait_for_screen("1 more");
    chat.nvim.exec_lua("require('acp').send('go')", []);
    chat.wait_for("Allow this edit?");
    chat.nvim.input(" thing");
    chat.nvim.wait_for_screen("1 more thing");
    assert_eq!(chat.nvim.mode().name, "i");
    // Back in normal mode it does not come before a pause.
    chat.nvim.input("<Esc>dd");
    chat.nvim.wait_for_screen("3: Reject");
    chat.nvim.input("<Esc>");
    chat.nvim.wait_for_screen("left open: :Acp answer");
    assert!(!chat.record().iter().any(|line| line["id"] == "p"), "nothing was answered");
    chat.decide("reject");
    assert_eq!(chat.answer("p")["result"]["outcome"]["optionId"], "r");
}

#[test]
fn who_types_elsewhere_is_told_that_a_question_waits() {
    let mut chat = asking();
    pick(&mut chat.nvim, 1);
    chat.nvim.listen();
    chat.nvim.input("<Esc><C-w>hiwriting");
    chat.nvim.exec_lua("require('acp').send('go')", []);
    let said = "return table.concat(_G.said)";
    chat.nvim.wait_until(
        |nvim| nvim.exec_lua(said, []).as_str().is_some_and(|text| text.contains("when you pause")),
        "to be told",
    );
    let text = chat.nvim.exec_lua("return #_G.said .. _G.said[1]", []);
    assert_eq!(text.as_str(), Some("1acp: Fake wants to edit a.txt (when you pause)"));
    chat.nvim.input("<Esc>");
    assert_eq!(chat.answer("p")["result"]["outcome"]["optionId"], "a");
}

#[test]
fn cancel_answers_the_open_question_and_ends_the_turn() {
    let call = json!({ "toolCallId": "1", "title": "Edit a.txt", "kind": "edit" });
    let mut chat = Scripted::new(
        &[],
        steps([
            prompt(),
            permission("p", call),
            answered("p"),
            json!({ "expect": "session/cancel" }),
            ends("cancelled"),
        ]),
    );
    chat.chat();
    pick(&mut chat.nvim, 0);
    chat.send("go");
    chat.wait_for("Allow this edit?");
    chat.nvim.input("<C-c>");
    assert_eq!(chat.answer("p")["result"], json!({ "outcome": { "outcome": "cancelled" } }));
    chat.wait_for("Cancelled · ");
    assert!(chat.got("session/cancel").get("id").is_none());
    assert!(chat.transcript().contains("⊘ Edit a.txt"), "{}", chat.transcript());
}

/// Neovim takes a <C-c> that it finds after it was busy for an interrupt, and passes mappings by.
#[test]
fn a_stop_that_comes_while_the_editor_is_busy_is_not_lost() {
    for pane in ["", "<Esc><C-w>k"] {
        let mut chat = Scripted::new(
            &[],
            steps([prompt(), says("On it."), json!({ "expect": "session/cancel" }), ends("cancelled")]),
        );
        chat.chat();
        chat.send("go");
        chat.wait_for("On it.");
        chat.nvim.input(pane);
        let busy = "local till = vim.uv.hrtime() + 2e8; while vim.uv.hrtime() < till do end";
        chat.nvim.exec_lua(&format!("vim.schedule(function() {busy} end)"), []);
        let mode = chat.nvim.mode();
        chat.nvim.input("<C-c>");
        chat.wait_for("Cancelled");
        chat.nvim.wait_until(|nvim| nvim.mode() == mode, "the mode from before");
    }
}

/// Whoever waits in an autocommand has all run that is due, the plugin's own work among it.
#[test]
fn an_autocommand_that_waits_loses_no_message() {
    let call = json!({ "toolCallId": "1", "title": "Edit a.txt", "kind": "edit", "content": [
        { "type": "diff", "path": "$PROJECT/a.txt", "oldText": "two", "newText": "TWO" },
    ] });
    let mut all = steps([prompt(), permission("p", call)]);
    all.extend((0..20).flat_map(|number| [says(&format!("word{number} ")), json!({ "delay_ms": 10 })]));
    all.extend([answered("p"), ends("end_turn")]);
    let mut chat = Scripted::new(&[("a.txt", "one\ntwo\n")], all);
    chat.nvim.exec_lua(
        "_G.said = {}
         vim.notify = function(text) table.insert(_G.said, text) end
         vim.api.nvim_create_autocmd('BufReadPre', { callback = function() vim.wait(300) end })",
        [],
    );
    chat.chat();
    pick(&mut chat.nvim, 1);
    chat.send("go");
    chat.nvim.wait_for_screen("Done");
    let words: String = (0..20).map(|number| format!("word{number} ")).collect();
    assert!(chat.transcript().contains(words.trim_end()), "{}", chat.transcript());
    assert_eq!(chat.nvim.exec_lua("return vim.inspect(_G.said)", []).as_str(), Some("{}"));
}

/// An error in a command of Lua's ends that command, one in a command of Vim's all that goes on.
#[test]
fn a_stop_that_interrupts_the_opening_of_a_file_stops_the_turn() {
    let call = json!({ "toolCallId": "1", "title": "Edit a.txt", "kind": "edit", "content": [
        { "type": "diff", "path": "$PROJECT/a.txt", "oldText": "two", "newText": "TWO" },
    ] });
    for listener in [
        "autocmd BufReadPre a.txt ++once call writefile([], g:opening) | sleep 1",
        "lua vim.api.nvim_create_autocmd('BufReadPre', \
         { pattern = 'a.txt', once = true, callback = function() vim.cmd('call writefile([], g:opening) | sleep 1') end })",
    ] {
        let all = [
            prompt(),
            permission("p", call.clone()),
            json!({ "expect": "session/cancel" }),
            ends("cancelled"),
        ];
        let mut chat = Scripted::new(&[("a.txt", "one\ntwo\n")], steps(all));
        // A Neovim that sleeps tells nobody so.
        let opening = chat.project.file("opening");
        chat.nvim.exec_lua(
            "local opening, listener = ...
             _G.said = {}
             vim.notify = function(text) table.insert(_G.said, text) end
             _G.ignored = vim.o.eventignore
             vim.g.opening = opening
             vim.cmd(listener)",
            [opening.to_str().expect("a path").into(), listener.into()],
        );
        chat.chat();
        pick(&mut chat.nvim, 0);
        chat.send("go");
        wait_for(|| opening.exists(), "the file to be opened");
        chat.nvim.input("<C-c>");
        chat.nvim.wait_for_screen("Cancelled");
        let after = "return vim.inspect({ _G.said, vim.o.eventignore == _G.ignored })";
        assert_eq!(chat.nvim.exec_lua(after, []).as_str(), Some("{ {}, true }"), "{listener}");
        // What was read of the file then is not taken for the file.
        let text = "vim.fn.bufload('a.txt') return vim.fn.join(vim.fn.getbufline('a.txt', 1, '$'))";
        assert_eq!(chat.nvim.exec_lua(text, []).as_str(), Some("one two"), "{listener}");
    }
}

// Prompts that are sent again by themselves.

fn refuses(error: Value) -> Value {
    json!({ "reply": "session/prompt", "error": error })
}

#[test]
fn a_prompt_that_comes_too_soon_is_counted_down_and_sent_again() {
    let limited = json!({ "code": -32050, "message": "Slow down", "data": { "reason": "rate_limited", "retryAfter": 2 } });
    let all = [prompt(), refuses(limited), prompt(), says("Now it goes."), ends("end_turn")];
    let mut chat = Scripted::new(&[], steps(all));
    chat.chat();
    chat.send("go on");
    chat.nvim.wait_for_screen("<C-c> stops that");
    chat.nvim.wait_for_screen("again in 1 s");
    // What is typed meanwhile is not lost.
    chat.nvim.input("half of ");
    chat.wait_for("Now it goes.");
    let text = chat.transcript();
    assert!(text.contains("the prompt was sent again"), "{text}");
    assert_eq!(text.matches("go on").count(), 1, "{text}");
    chat.nvim.wait_for_screen("half of");
    let prompts = chat.record().into_iter().filter(|message| message["method"] == "session/prompt");
    let sent: Vec<Value> = prompts.map(|message| message["params"].clone()).collect();
    assert_eq!((sent.len(), &sent[0]), (2, &sent[1]));
}

#[test]
fn the_key_that_stops_a_turn_stops_the_wait_and_the_prompt_waits_in_line() {
    let limited = json!({ "code": -32050, "message": "Slow down", "data": { "retryAfter": 300 } });
    let all = [prompt(), refuses(limited), prompt(), says("Now it goes."), ends("end_turn")];
    let mut chat = Scripted::new(&[], steps(all));
    chat.chat();
    chat.send("go on");
    chat.nvim.wait_for_screen("is sent again in");
    chat.nvim.input("<C-c>");
    chat.nvim.wait_for_screen("it waits in line");
    chat.nvim.wait_for_screen("1 held");
    chat.nvim.input("<C-s>");
    chat.wait_for("Now it goes.");
}

#[test]
fn a_session_that_the_agent_has_forgotten_is_opened_anew_with_the_same_prompt() {
    let gone = json!({ "code": -32002, "message": "Session not found: s1" });
    let all = [
        prompt(),
        refuses(gone),
        json!({ "expect": "session/new" }),
        json!({ "reply": "session/new", "result": { "sessionId": "s2" } }),
        json!({ "expect": "session/prompt", "params": { "sessionId": "s2" } }),
        ends("end_turn"),
    ];
    let mut chat = Scripted::new(&[], steps(all));
    chat.chat();
    chat.send("go on");
    chat.nvim.wait_for_screen("R opens a new one and sends");
    chat.nvim.input("<Esc><C-w>kR");
    chat.nvim.wait_until(
        |nvim| nvim.exec_lua("return require('acp').status().sessions[1].state", []).as_str() == Some("idle"),
        "the new session's turn to end",
    );
    assert_eq!(chat.got("session/prompt")["params"]["sessionId"], "s2");
    assert_eq!(chat.transcript().matches("go on").count(), 1, "{}", chat.transcript());
}

// Agents that fail.

#[test]
fn an_agent_that_dies_says_why_and_can_be_started_again() {
    let mut chat = Scripted::new(
        &[],
        steps([prompt(), says("Half a sen"), json!({ "stderr": "cannot go on" }), json!({ "exit": 3 })]),
    );
    chat.chat();
    chat.send("go");
    chat.wait_for("R starts it again");
    let text = chat.transcript();
    for part in ["Half a sen", "Fake ended with exit code 3", "cannot go on", "R starts it again"] {
        assert!(text.contains(part), "{part:?} is missing in:\n{text}");
    }
    chat.nvim.input("<Esc><C-w>kR");
    chat.nvim.wait_until(
        |nvim| nvim.exec_lua("return require('acp').status().sessions[1].state", []).as_str() == Some("idle"),
        "the agent to be there again",
    );
    assert!(chat.transcript().contains("Half a sen"), "{}", chat.transcript());
}

#[test]
fn a_program_that_does_not_exist_is_named_with_what_to_do() {
    let mut chat = Scripted::new(&[], opened());
    chat.nvim.exec_lua("require('acp').setup({ agents = { gone = { command = '/no/such/agent' } } })", []);
    chat.nvim.listen();
    chat.nvim.command("AcpChat gone");
    let said = chat.nvim.exec_lua("return vim.inspect(_G.said)", []);
    let said = said.as_str().expect("a text");
    assert!(said.contains("/no/such/agent") && said.contains("agents.gone.command"), "{said}");
}

#[test]
fn noise_half_lines_and_unknown_messages_do_no_harm() {
    let mut all = vec![
        json!({ "raw": "Welcome to the agent!\n\nnot json {\n" }),
        json!({ "expect": "initialize" }),
        json!({ "raw": "{\"jsonrpc\":\"2.0\",\"met" }),
        json!({ "raw": "hod\":\"_x/y\"}\r\n" }),
    ];
    all.extend(opened().into_iter().skip(1));
    all.extend([
        prompt(),
        says("before "),
        update(json!({ "sessionUpdate": "future_thing", "x": 1 })),
        update(json!({ "sessionUpdate": "future_thing", "x": 2 })),
        json!({ "raw": "{\"jsonrpc\": broken}\n" }),
        asks("u", "editor/teleport", json!({})),
        answered("u"),
        says("after"),
        ends("end_turn"),
    ]);
    let mut chat = Scripted::new(&[], all);
    chat.chat();
    chat.send("go");
    chat.wait_for("Done");
    let text = chat.transcript();
    assert!(text.contains("before after"), "{text}");
    let told = "Note: 2 messages of a kind this version does not know: `:Acp log`";
    assert_eq!((text.matches(told).count(), text.matches("does not know").count()), (1, 1), "{text}");
    assert_eq!(chat.answer("u")["error"]["code"], -32601);
}

#[test]
fn another_version_of_the_protocol_ends_the_connection_with_a_clear_text() {
    let mut chat = Scripted::new(
        &[],
        vec![
            json!({ "expect": "initialize" }),
            json!({ "reply": "initialize", "result": { "protocolVersion": 7 } }),
        ],
    );
    chat.nvim.command("AcpChat");
    chat.wait_for("version 7");
    chat.nvim.wait_until(|nvim| agents(nvim) == 0, "the agent to be gone");
}

#[test]
fn an_agent_that_says_nothing_can_be_given_up() {
    let mut chat = Scripted::new(&[], vec![json!({ "expect": "initialize" })]);
    chat.nvim.exec_lua("_G.acp = require('acp')", []);
    chat.nvim.command("AcpChat");
    chat.nvim.wait_for_screen("starting 1 s");
    chat.nvim.input("<C-c>");
    chat.wait_for("Starting fake was stopped");
    chat.nvim.wait_until(|nvim| agents(nvim) == 0, "the agent to be gone");
}

#[test]
fn an_agent_that_says_nothing_is_given_up_after_the_time_set_for_it() {
    let mut chat = Scripted::new(&[], vec![json!({ "expect": "initialize" })]);
    let script = chat.project.file(".agent/script.json");
    chat.nvim.exec_lua(
        "local command, script = ...
         require('acp').setup({
           agents = { mute = { command = command, args = { '--script', script } } },
           timeouts = { initialize = 0.2 },
         })",
        [support::demo_agent().to_str().expect("a path").into(), script.to_str().expect("a path").into()],
    );
    chat.nvim.command("AcpChat mute");
    chat.wait_for("R starts it again");
    assert!(chat.transcript().to_lowercase().contains("mute"), "{}", chat.transcript());
}

#[test]
fn a_wrong_option_is_named_with_its_path() {
    let mut chat = Scripted::new(&[], opened());
    chat.nvim.listen();
    chat.nvim.exec_lua("require('acp').setup({ agents = { x = { comand = 'y' } } })", []);
    chat.nvim.command("AcpChat x");
    let said = chat.nvim.exec_lua("return vim.inspect(_G.said)", []);
    let said = said.as_str().expect("a text");
    assert!(said.contains("agents.x.comand") && said.contains("command"), "{said}");
}

// Files.

/// An agent that writes a file in its turn.
fn writing(files: &[(&str, &str)], path: &str, content: &str) -> Scripted {
    let parts = [prompt()].into_iter().chain(writes(path, content)).chain([ends("end_turn")]);
    Scripted::new(files, steps(parts))
}

#[test]
fn a_read_gives_the_unsaved_text_and_just_the_lines_asked_for() {
    let read = |id: &str, more: Value| {
        let mut params = json!({ "path": "$PROJECT/a.txt" });
        if let (Value::Object(params), Value::Object(more)) = (&mut params, more) {
            params.extend(more);
        }
        asks(id, "fs/read_text_file", params)
    };
    let mut chat = Scripted::new(
        &[("a.txt", "one\ntwo\nthree\n"), ("b.txt", "on disk\r\nonly")],
        steps([
            prompt(),
            read("all", json!({})),
            read("some", json!({ "line": 2, "limit": 1 })),
            read("past", json!({ "line": 9 })),
            asks("disk", "fs/read_text_file", json!({ "path": "$PROJECT/b.txt" })),
            answered("disk"),
            ends("end_turn"),
        ]),
    );
    chat.nvim.command("edit a.txt");
    chat.nvim.input("Goadded<Esc>ggccONE<Esc>");
    chat.nvim.wait_for_screen("ONE");
    chat.chat();
    chat.send("go");
    assert_eq!(chat.answer("all")["result"]["content"], "ONE\ntwo\nthree\nadded\n");
    assert_eq!(chat.answer("some")["result"]["content"], "two\n");
    assert_eq!(chat.answer("past")["result"]["content"], "");
    assert_eq!(chat.answer("disk")["result"]["content"], "on disk\r\nonly");
}

#[test]
fn a_write_shows_at_once_is_saved_and_is_one_undo_step() {
    let mut chat = writing(&[("a.txt", "one\ntwo\nthree\nfour\n")], "a.txt", "one\n2\nthree\n4\nfive\n");
    chat.nvim.command("edit a.txt");
    chat.nvim.input("3Gma");
    chat.chat();
    chat.send("go");
    assert_eq!(chat.answer("w")["result"], json!({}));
    assert_eq!(chat.project.read("a.txt"), "one\n2\nthree\n4\nfive\n");
    chat.nvim.input("<Esc>");
    chat.nvim.command("wincmd t");
    let buffer = "a.txt";
    assert_eq!(chat.nvim.buffer_text(0), "one\n2\nthree\n4\nfive", "{buffer}");
    assert_eq!(chat.nvim.exec_lua("return vim.bo.modified", []).as_bool(), Some(false));
    assert_eq!(chat.nvim.exec_lua("return vim.fn.line(\"'a\")", []).as_u64(), Some(3), "the mark stays");
    chat.nvim.input("u");
    chat.nvim
        .wait_until(|nvim| nvim.buffer_text(0) == "one\ntwo\nthree\nfour", "one undo to bring it all back");
}

#[test]
fn a_write_into_unsaved_edits_leaves_them_unsaved_and_says_so() {
    let mut chat = writing(&[("a.txt", "one\ntwo\n")], "a.txt", "ONE\ntwo\nthree\n");
    chat.nvim.command("edit a.txt");
    chat.nvim.input("ccONE<Esc>");
    chat.chat();
    chat.send("go");
    assert_eq!(chat.answer("w")["result"], json!({}));
    chat.wait_for("a.txt had unsaved edits");
    assert_eq!(chat.project.read("a.txt"), "one\ntwo\n");
    chat.nvim.command("wincmd t");
    assert_eq!(chat.nvim.buffer_text(0), "ONE\ntwo\nthree");
}

#[test]
fn files_outside_the_project_that_the_user_refuses_stay_as_they_are() {
    let outside = TempProject::new(&[("secret.txt", "secret\n")]);
    let path = outside.file("secret.txt");
    let mut chat = Scripted::new(
        &[],
        steps([
            prompt(),
            asks("r", "fs/read_text_file", json!({ "path": path })),
            asks("w", "fs/write_text_file", json!({ "path": path, "content": "x" })),
            answered("w"),
            ends("end_turn"),
        ]),
    );
    // The answers begin with those that allow.
    pick(&mut chat.nvim, 4);
    chat.chat();
    chat.send("go");
    for id in ["r", "w"] {
        let error = &chat.answer(id)["error"];
        let message = error["message"].as_str().expect("a message").to_owned();
        assert!(message.contains("outside"), "{message}");
    }
    assert_eq!(outside.read("secret.txt"), "secret\n");
}

#[test]
fn a_new_file_is_written_with_its_folders() {
    let mut chat = writing(&[], "deep/new.txt", "fresh\n");
    chat.chat();
    chat.send("go");
    assert_eq!(chat.answer("w")["result"], json!({}));
    assert_eq!(chat.project.read("deep/new.txt"), "fresh\n");
}

// Diffs and places.

#[test]
fn a_proposed_change_stands_in_the_file_and_a_made_one_until_it_is_kept() {
    let call = json!({ "toolCallId": "1", "title": "Edit a.txt", "kind": "edit", "content": [
        { "type": "diff", "path": "$PROJECT/a.txt", "oldText": "two", "newText": "TWO\nand a half" },
    ] });
    let mut chat = Scripted::new(
        &[("a.txt", "one\ntwo\nthree\n")],
        steps([
            prompt(),
            permission("p", call),
            answered("p"),
            asks(
                "w",
                "fs/write_text_file",
                json!({ "path": "$PROJECT/a.txt", "content": "one\nTWO\nand a half\nthree\n" }),
            ),
            answered("w"),
            json!({ "delay_ms": 300 }),
            update(json!({ "sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "completed" })),
            ends("end_turn"),
        ]),
    );
    chat.nvim.command("edit a.txt");
    chat.chat();
    pick(&mut chat.nvim, 0);
    chat.send("go");
    chat.nvim.wait_for_screen("+ and a half");
    assert!(chat.nvim.screen().contains("+ TWO"), "{}", chat.nvim.screen());
    assert!(chat.nvim.groups_of("two").contains(&"AcpDiffDelete".to_owned()));
    let focused = chat.nvim.exec_lua("return vim.bo.filetype", []);
    assert_eq!(focused.as_str(), Some("acp-prompt"), "the focus stays");
    chat.nvim.wait_until(|nvim| seen(nvim).contains("edit a.txt"), "the question");
    chat.nvim.exec_lua("_G.choose('Allow', 1)", []);
    chat.nvim.wait_for_screen("- two");
    assert!(chat.nvim.groups_of("and a half").contains(&"DiffAdd".to_owned()));
    chat.wait_for("Done");
    assert!(chat.nvim.screen().contains("- two"), "{}", chat.nvim.screen());
    chat.nvim.command("Acp keep! all");
    chat.nvim.wait_until(|nvim| !nvim.screen().contains("- two"), "the old line to go");
    assert!(chat.nvim.screen().contains("and a half"));
}

#[test]
fn a_rejected_change_leaves_the_file_as_it_was() {
    let call = json!({ "toolCallId": "1", "title": "Edit a.txt", "kind": "edit", "content": [
        { "type": "diff", "path": "$PROJECT/a.txt", "oldText": "one\ntwo\n", "newText": "one\nfresh\ntwo\n" },
    ] });
    let mut chat = Scripted::new(
        &[("a.txt", "one\ntwo\n")],
        steps([prompt(), permission("p", call), answered("p"), ends("end_turn")]),
    );
    chat.nvim.command("edit a.txt");
    chat.chat();
    pick(&mut chat.nvim, 0);
    chat.send("go");
    chat.nvim.wait_for_screen("+ fresh");
    // What is proposed on the screen can be answered.
    chat.nvim.command("Acp reject");
    chat.nvim.wait_until(|nvim| !nvim.screen().contains("+ fresh"), "the proposal to go");
    assert_eq!(chat.project.read("a.txt"), "one\ntwo\n");
}

#[test]
fn following_moves_the_code_window_and_nothing_else() {
    let lines: String = (1..=100).map(|line| format!("row {line}\n")).collect();
    let call = json!({ "sessionUpdate": "tool_call", "toolCallId": "1", "title": "Read", "kind": "read",
        "status": "in_progress", "locations": [{ "path": "$PROJECT/b.txt", "line": 50 }] });
    let mut chat = Scripted::new(
        &[("a.txt", "first\n"), ("b.txt", &lines)],
        steps([
            prompt(),
            update(call.clone()),
            says("On it."),
            json!({ "delay_ms": 200 }),
            ends("end_turn"),
            prompt(),
            update(call),
            says("Off it."),
            ends("end_turn"),
        ]),
    );
    chat.nvim.command("edit a.txt");
    chat.chat();
    chat.nvim.command("Acp follow on");
    chat.send("go");
    chat.nvim.wait_for_screen("row 50");
    assert_eq!(chat.nvim.exec_lua("return vim.bo.filetype", []).as_str(), Some("acp-prompt"));
    chat.wait_for("Done");
    chat.nvim.command("Acp follow off");
    chat.nvim.exec_lua("vim.fn.win_execute(vim.fn.win_getid(1), 'edit a.txt')", []);
    chat.send("go");
    chat.wait_for("Off it.");
    assert!(!chat.nvim.screen().contains("row 50"), "{}", chat.nvim.screen());
}

// Terminals.

#[test]
fn a_command_runs_in_a_split_and_its_output_goes_to_the_agent() {
    let mut chat = Scripted::new(
        &[],
        steps([
            prompt(),
            asks(
                "c",
                "terminal/create",
                json!({ "command": "sh",
                "args": ["-c", "printf '\\033[31mred\\033[0m words\\n'; read line; echo got $line; exit 3"] }),
            ),
            json!({ "expect_reply": "c", "to": "c", "save": { "term": "/result/terminalId" } }),
            update(
                json!({ "sessionUpdate": "tool_call", "toolCallId": "1", "title": "run it", "kind": "execute",
                "status": "in_progress", "content": [{ "type": "terminal", "terminalId": "${term}" }] }),
            ),
            asks("w", "terminal/wait_for_exit", json!({ "terminalId": "${term}" })),
            answered("w"),
            asks("o", "terminal/output", json!({ "terminalId": "${term}" })),
            answered("o"),
            asks("r", "terminal/release", json!({ "terminalId": "${term}" })),
            answered("r"),
            asks("again", "terminal/output", json!({ "terminalId": "${term}" })),
            answered("again"),
            ends("end_turn"),
        ]),
    );
    chat.chat();
    chat.send("go");
    chat.wait_for("red words");
    chat.nvim.wait_until(|nvim| nvim.screen().matches("red words").count() == 2, "the split");
    chat.nvim.input("<Esc>");
    chat.nvim.command("Acp terminals");
    chat.nvim.input("ihello<CR>");
    assert_eq!(chat.answer("w")["result"]["exitCode"], 3);
    let output = chat.answer("o");
    let text = output["result"]["output"].as_str().expect("a text").to_owned();
    assert!(text.starts_with("red words\n") && text.ends_with("got hello\n"), "{text:?}");
    assert!(chat.answer("again").get("error").is_some());
    chat.nvim.wait_for_screen("exit code 3");
}

// Nothing stays behind.

fn busy_steps() -> Vec<Value> {
    steps([
        prompt(),
        json!({ "ignore_term": true }),
        json!({ "spawn": ["sleep", "1000"] }),
        asks(
            "c",
            "terminal/create",
            json!({ "command": "sh", "args": ["-c", "setsid sleep 1002 & sleep 1000 & sleep 1001"] }),
        ),
        answered("c"),
        says("All is running."),
    ])
}

#[test]
fn quitting_neovim_leaves_no_process_behind() {
    let mut chat = Scripted::new(&[], busy_steps());
    chat.chat();
    chat.send("go");
    chat.wait_for("All is running.");
    assert!(chat.nvim.processes().len() >= 4);
    chat.nvim.quit();
    wait_for(|| chat.nvim.processes().is_empty(), "every process to be gone");
}

#[test]
fn killing_neovim_leaves_no_process_behind() {
    let mut chat = Scripted::new(&[], busy_steps());
    chat.chat();
    chat.send("go");
    chat.wait_for("All is running.");
    assert!(chat.nvim.processes().len() >= 4);
    chat.nvim.kill9();
    wait_for(|| chat.nvim.processes().is_empty(), "every process to be gone");
}

// Choices.

#[test]
fn without_an_agent_the_user_is_asked_among_those_found_the_demo_and_all_others_last() {
    let mut nvim = Nvim::start(Options::default());
    pick(&mut nvim, 0);
    nvim.exec_lua(
        "require('acp').setup({ agents = { mine = { command = 'sh' }, other = { command = 'sh' } } })",
        [],
    );
    nvim.command("AcpChat");
    nvim.wait_until(|nvim| nvim.exec_lua("return #_G.seen", []) == 1.into(), "the picker");
    let items = nvim.exec_lua("return table.concat(_G.seen[1].items, '\\n')", []);
    let items: Vec<&str> = items.as_str().expect("a text").lines().collect();
    let [first, second, .., demo, others] = &items[..] else { panic!("{items:?}") };
    assert!(first.starts_with("mine") && second.starts_with("other"), "{items:?}");
    assert!(demo.starts_with("Demo") && others.starts_with("Other agents"), "{items:?}");
}

#[test]
fn a_mode_is_chosen_and_shown() {
    let modes = json!({ "modes": { "currentModeId": "ask", "availableModes": [
        { "id": "ask", "name": "Ask first" }, { "id": "auto", "name": "Go ahead" },
    ] } });
    let mut all = opened_with(modes);
    all.extend([
        json!({ "expect": "session/set_mode" }),
        json!({ "reply": "session/set_mode", "result": {} }),
    ]);
    let mut chat = Scripted::new(&[], all);
    chat.chat();
    chat.nvim.wait_for_screen("Ask first");
    chat.nvim.command("Acp mode auto");
    chat.nvim.wait_for_screen("Go ahead");
    assert_eq!(chat.got("session/set_mode")["params"]["modeId"], "auto");
}

#[test]
fn a_file_that_the_agent_wrote_itself_is_fresh_in_its_buffer() {
    let call = json!({ "sessionUpdate": "tool_call", "toolCallId": "1", "title": "Edit a.txt", "kind": "edit",
        "status": "in_progress", "content": [
            { "type": "diff", "path": "$PROJECT/a.txt", "oldText": "one", "newText": "two" },
        ] });
    let mut chat = Scripted::new(
        &[("a.txt", "one\n")],
        steps([
            prompt(),
            update(call),
            json!({ "expect": "session/cancel" }),
            update(json!({ "sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "completed" })),
            ends("end_turn"),
        ]),
    );
    chat.nvim.command("edit a.txt");
    chat.chat();
    chat.send("go");
    chat.wait_for("Edit a.txt");
    chat.project.write("a.txt", "two\nand more\n");
    chat.nvim.command("Acp cancel");
    chat.wait_for("Done");
    chat.nvim.wait_for_screen("and more");
}

#[test]
fn a_file_that_the_agent_made_itself_comes_into_its_empty_buffer_without_a_question() {
    let call = json!({ "toolCallId": "1", "title": "Write new.txt", "kind": "edit", "content": [
        { "type": "diff", "path": "$PROJECT/new.txt", "newText": "fresh\n" },
    ] });
    let mut chat = Scripted::new(
        &[],
        steps([
            prompt(),
            permission("p", call),
            answered("p"),
            json!({ "expect": "session/cancel" }),
            update(json!({ "sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "completed" })),
            ends("end_turn"),
        ]),
    );
    chat.nvim.command("edit new.txt");
    chat.chat();
    pick(&mut chat.nvim, 0);
    chat.send("go");
    chat.nvim.wait_for_screen("fresh");
    chat.nvim.command("Acp allow");
    chat.answer("p");
    chat.project.write("new.txt", "fresh\nfrom the disk\n");
    chat.nvim.command("Acp cancel");
    chat.wait_for("Done");
    chat.nvim.wait_for_screen("from the disk");
    assert!(!chat.nvim.mode().blocking);
}
