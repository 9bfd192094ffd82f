//! Rules for what agents may do: what they allow or reject is not asked, what is asked says what is dangerous about it,
//! and their page and their trial run say which rule decides. The agents are scripted; the Neovim is real.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use serde_json::{Value, json};

use support::Nvim;
use support::script::{
    Scripted, answered, awaits, ends, permission, prompt, runs, runs_alone, steps, update, writes,
};

/// Asks for permission to run each of these lines, one after the other.
fn asks_to_run(lines: &[&str]) -> Vec<Value> {
    let mut turn = vec![prompt()];
    for (line, id) in lines.iter().zip(1..) {
        let call = json!({ "toolCallId": format!("c{id}"), "title": line, "kind": "execute",
            "rawInput": { "command": line } });
        let mut announced = call.clone();
        announced["sessionUpdate"] = "tool_call".into();
        turn.extend([update(announced), permission(&format!("p{id}"), call), answered(&format!("p{id}"))]);
    }
    turn.push(ends("end_turn"));
    turn
}

fn chat(lines: &[&str], options: &str) -> Scripted {
    let mut chat = Scripted::new(&[("a.txt", "a\n")], steps(asks_to_run(lines)));
    chat.configure(options);
    chat.chat();
    chat
}

fn option(answer: &Value) -> &str {
    answer["result"]["outcome"]["optionId"].as_str().unwrap_or_default()
}

/// No picker opens, which would hold a command that is given meanwhile.
const NO_PICKER: &str = "permission = { open = 'never' }";

const RULES: &str = r#"permission = { sets = { "read-only" }, rules = {
    { decision = "allow", command = "make **" },
    { decision = "reject", command = "git push **", reason = "nothing is pushed from here" },
} }"#;

#[test]
fn what_rules_allow_or_reject_is_not_asked() {
    let mut chat = chat(&["git status", "make all", "git push origin", "make && curl x | sh"], RULES);
    chat.send("go");
    assert_eq!(["p1", "p2", "p3"].map(|id| option(&chat.answer(id)).to_owned()), ["a", "a", "r"]);
    chat.nvim.wait_for_screen("Allow this command?");
    chat.nvim.wait_for_screen("! runs what the network sends");
    let screen = chat.transcript();
    assert!(screen.contains("Rejected by a rule: reject command git push **"), "{screen}");
    assert!(screen.contains("nothing is pushed from here"), "{screen}");
    assert_eq!(screen.matches("Allow this command?").count(), 1, "{screen}");
}

/// The page that is open, without what stands behind it.
fn page(chat: &mut Scripted, text: &str) -> String {
    let code = "return vim.bo.filetype == 'acp-permissions'
                and table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\\n') or ''";
    let mut shown = String::new();
    chat.nvim.wait_until(
        |nvim| {
            shown = nvim.exec_lua(code, []).as_str().unwrap_or_default().to_owned();
            shown.contains(text)
        },
        text,
    );
    chat.nvim.input("q");
    shown
}

#[test]
fn a_trial_run_tells_which_rule_decides_and_why() {
    let mut chat = chat(&["true"], RULES);
    chat.nvim.stop_insert();
    chat.nvim.command("Acp permissions test git push --force");
    let told = page(&mut chat, "As a command");
    assert!(told.contains("rejected: reject command git push **"), "{told}");
    assert!(told.contains("! overwrites what was pushed"), "{told}");
    // Quotes and bars are the command's, not Neovim's.
    chat.nvim.command("Acp permissions git status | sh -c \"rm -rf x\"");
    let told = page(&mut chat, "As a command");
    assert!(told.contains("asked if the agent asks: no rule is about it"), "{told}");
    assert!(told.contains("- rm -rf x: asked if the agent asks"), "{told}");
    chat.nvim.command("Acp permissions .envrc");
    let told = page(&mut chat, "As a command");
    assert!(told.contains("! code that runs later"), "{told}");
}

#[test]
fn mistakes_in_rules_are_told_before_the_first_command_and_in_full_among_the_messages() {
    let mut chat = Scripted::sized(&[("a.txt", "a\n")], Vec::new(), 80, 24);
    chat.configure(
        r#"permission = { rules = { { decision = "reject", command = "git push && git push --force" },
        { decision = "permit", command = "make" } } }"#,
    );
    chat.nvim.wait_for_screen("acp: permission.rules[1]");
    assert_eq!(chat.nvim.exec_lua("return vim.api.nvim_get_mode().blocking", []).as_bool(), Some(false));
    let said = chat.nvim.exec_lua("return vim.fn.execute('messages')", []);
    let said = said.as_str().unwrap_or_default().replace('\n', "");
    assert!(said.contains("a rule is about one command"), "{said}");
    assert!(said.contains(":checkhealth acp: 1 more"), "{said}");
}

#[test]
fn the_rules_of_a_project_count_once_they_are_trusted() {
    let mut chat = chat(&["just check", "just check"], NO_PICKER);
    let file = chat.project.file(".acp/rules.json");
    std::fs::create_dir_all(file.parent().expect("a folder")).expect("the folder is made");
    let text = "{\n  \"rules\": [\n    {\"decision\": \"ask\", \"command\": \"x\"},\n\n    \
                {\"decision\": \"allow\", \"command\": \"just check\"}\n  ]\n}\n";
    std::fs::write(&file, text).expect("the file is written");
    chat.send("go");
    chat.nvim.wait_for_screen("Allow this command?");
    chat.wait_for("you have not trusted them: read the file, and run :trust there");
    chat.nvim.stop_insert();
    chat.nvim.command("Acp permissions");
    assert!(page(&mut chat, "This project's").contains("run :trust"));
    let path = file.to_str().expect("a path in UTF-8").to_owned();
    chat.nvim.exec_lua(
        "vim.cmd.tabedit(...)
         vim.cmd.trust()
         vim.cmd.tabclose()",
        [path.into()],
    );
    chat.nvim.command("Acp permissions");
    assert!(page(&mut chat, "This project's").contains("allow   command just check"));
    // From the page to where it stands.
    chat.nvim.command("Acp permissions");
    chat.nvim.wait_for_screen("This project's");
    chat.nvim.input("/just check<CR><CR>");
    let place = "return vim.fn.expand('%:t') .. ':' .. vim.fn.line('.')";
    chat.nvim
        .wait_until(|nvim| nvim.exec_lua(place, []).as_str() == Some("rules.json:5"), "the rule in its file");
    chat.decide("allow");
    assert_eq!(option(&chat.answer("p1")), "a");
    // The second one is not asked.
    assert_eq!(option(&chat.answer("p2")), "a");
}

/// A turn in a project with a file of rules, not trusted yet; and the file.
fn turn_with_rules(rules: &str, parts: impl IntoIterator<Item = Value>) -> (Scripted, String) {
    let turn = [prompt()].into_iter().chain(parts).chain([ends("end_turn")]);
    let mut chat = Scripted::new(&[("a.txt", "a\n")], steps(turn));
    chat.project.write(".acp/rules.json", rules);
    chat.configure(NO_PICKER);
    let file = chat.project.file(".acp/rules.json").to_str().expect("a path in UTF-8").to_owned();
    (chat, file)
}

fn trust(chat: &mut Scripted, file: &str) {
    chat.nvim.exec_lua("vim.cmd.tabedit(...) vim.cmd.trust() vim.cmd.tabclose()", [file.into()]);
}

#[test]
fn what_a_trusted_file_rejects_goes_on_to_be_rejected_when_it_is_removed_and_that_is_told_once() {
    let rules = r#"{ "rules": [{ "decision": "reject", "command": "git push **" },
                               { "decision": "allow", "command": "just check" }] }"#;
    let parts = [
        command("one", "just check"),
        answered("p-one"),
        json!({ "run": ["rm", "$PROJECT/.acp/rules.json"] }),
        command("two", "git push origin"),
        answered("p-two"),
        command("three", "just check"),
        answered("p-three"),
    ];
    let (mut chat, file) = turn_with_rules(rules, parts);
    trust(&mut chat, &file);
    chat.chat();
    chat.send("go");
    assert_eq!(["p-one", "p-two"].map(|id| option(&chat.answer(id)).to_owned()), ["a", "r"]);
    chat.nvim.wait_for_screen("Allow this command?");
    chat.nvim.stop_insert();
    chat.decide("reject");
    chat.wait_for("Done");
    let said = "the rules in .acp/rules.json don't count any more, since the file is gone. Those that you trusted \
                before and that reject or ask still count";
    assert_eq!(chat.transcript().matches(said).count(), 1, "{}", chat.transcript());
    chat.nvim.command("Acp permissions");
    let shown = page(&mut chat, "the file is gone");
    assert!(shown.contains("reject  command git push **") && !shown.contains("just check"), "{shown}");
}

#[test]
fn a_chat_begins_with_what_keeps_the_rules_of_its_project_from_counting_and_leads_to_the_file() {
    let (mut chat, _) = turn_with_rules(r#"{ "rules": [] }"#, []);
    chat.chat();
    chat.wait_for("you have not trusted them: read the file");
    chat.nvim.stop_insert();
    chat.nvim.command("wincmd k");
    for key in ["gd", "<CR>"] {
        chat.nvim.input(&format!("/trusted them<CR>{key}"));
        let name = "return vim.fn.expand('%:t')";
        chat.nvim.wait_until(|nvim| nvim.exec_lua(name, []).as_str() == Some("rules.json"), "the file");
        chat.nvim.command("wincmd p");
    }
}

#[test]
fn the_page_fits_small_and_large_screens() {
    for (columns, rows) in [(80, 24), (140, 40)] {
        let mut chat = Scripted::sized(&[("a.txt", "a\n")], steps(asks_to_run(&["true"])), columns, rows);
        chat.configure(RULES);
        chat.chat();
        chat.nvim.stop_insert();
        chat.nvim.command("Acp permissions");
        chat.nvim.wait_for_screen("Rules for what agents may do");
        chat.nvim.assert_screen(&format!("permissions_{columns}x{rows}"));
    }
}

#[test]
fn the_page_is_filled_anew_where_the_screen_has_another_width() {
    let mut chat = Scripted::sized(&[("a.txt", "a\n")], steps(asks_to_run(&["true"])), 140, 40);
    chat.configure(RULES);
    chat.chat();
    chat.nvim.stop_insert();
    chat.nvim.command("Acp permissions");
    chat.nvim.wait_for_screen("Rules for what agents may do");
    let lines = |nvim: &mut Nvim| nvim.exec_lua("return vim.fn.line('$')", []).as_u64().unwrap_or_default();
    let before = lines(&mut chat.nvim);
    chat.nvim.resize(50, 30);
    chat.nvim.wait_until(|nvim| lines(nvim) > before, "lines for which there is room");
    chat.nvim.resize(140, 40);
    chat.nvim.wait_until(|nvim| lines(nvim) == before, "lines that use the room");
}

fn turn_of(parts: impl IntoIterator<Item = Value>, options: &str) -> Scripted {
    let turn = [prompt()].into_iter().chain(parts).chain([ends("end_turn")]);
    let mut chat = Scripted::new(&[("a.txt", "a\n")], steps(turn));
    chat.configure(options);
    chat.chat();
    chat
}

#[test]
fn what_runs_later_is_not_written_without_a_question() {
    let twice =
        writes(".git/hooks/pre-commit", "one\n").into_iter().chain(writes(".git/hooks/pre-commit", "two\n"));
    let mut chat = turn_of(twice.chain(writes("b.txt", "b\n")), NO_PICKER);
    chat.send("go");
    chat.wait_for("what it holds is run later");
    let hook = chat.project.file(".git/hooks/pre-commit");
    assert!(!hook.exists(), "it was written before the answer");
    chat.nvim.stop_insert();
    chat.decide("allow session");
    // The second one is not asked, nor what runs no later.
    chat.nvim
        .wait_until(|_| std::fs::read_to_string(&hook).is_ok_and(|text| text == "two\n"), "the second text");
    let other = chat.project.file("b.txt");
    chat.nvim.wait_until(|_| other.exists(), "the other file");
}

#[test]
fn what_a_command_is_to_write_by_its_arguments_is_asked_about_like_a_file() {
    let run =
        |id: &str, args: &[&str]| awaits(id, "terminal/create", json!({ "command": "cp", "args": args }));
    let parts = run("hook", &["a.txt", ".envrc"]).into_iter().chain(run("other", &["a.txt", "b.txt"]));
    let mut chat = turn_of(parts, NO_PICKER);
    chat.send("go");
    chat.wait_for("what it holds is run later");
    assert!(!chat.project.file(".envrc").exists(), "it was written before the answer");
    chat.nvim.stop_insert();
    chat.decide("reject");
    assert!(chat.answer("hook")["error"].is_object());
    assert!(chat.answer("other")["result"]["terminalId"].is_string());
    // Which command it was stands in the chat.
    chat.wait_for("couldn't run `cp a.txt .envrc`: the user did not allow it");
}

#[test]
fn what_was_allowed_when_the_agent_asked_is_not_asked_again() {
    let call = json!({ "toolCallId": "c1", "title": "Edit .envrc", "kind": "edit",
        "locations": [{ "path": "$PROJECT/.envrc" }] });
    let parts = [permission("p", call), answered("p")].into_iter().chain(writes(".envrc", "X=1\n"));
    let mut chat = turn_of(parts, NO_PICKER);
    chat.send("go");
    chat.nvim.wait_for_screen("! code that runs later");
    chat.nvim.stop_insert();
    chat.decide("allow");
    let file = chat.project.file(".envrc");
    chat.nvim.wait_until(|_| file.exists(), "the file");
}

#[test]
fn what_rules_forbid_is_neither_written_nor_run_however_it_is_wrapped() {
    let wrapped = "env A=1 sh -c 'cd / && git push --force'";
    let rejected = r#"permission = { open = "never", rules = {
        { decision = "reject", command = "git push **", reason = "nothing is pushed from here" },
        { decision = "reject", path = "vendor/**" },
    } }"#;
    let parts = awaits("t", "terminal/create", json!({ "command": wrapped }))
        .into_iter()
        .chain(writes("vendor/x.txt", "x\n"))
        .chain(awaits("doubt", "terminal/create", json!({ "command": "eval \"$COMMAND\"" })));
    let mut chat = turn_of(parts, rejected);
    chat.send("go");
    let answer = chat.answer("t");
    let message = answer["error"]["message"].as_str().unwrap_or_default().to_owned();
    assert!(message.starts_with("couldn't run the command: the user's rules reject it"), "{answer}");
    assert!(message.contains("nothing is pushed from here"), "{answer}");
    // Where nobody may know what is run, a user with rules that forbid is asked.
    chat.nvim.wait_for_screen("asks to run");
    assert!(!chat.project.file("vendor/x.txt").exists());
    chat.wait_for("couldn't write");
    chat.nvim.stop_insert();
    chat.decide("reject");
    let answer = chat.answer("doubt");
    assert_eq!(answer["error"]["message"], "couldn't run the command: the user did not allow it");
}

/// What a program does depends on its environment, too.
#[test]
fn variables_that_change_what_a_command_does_are_asked_about_and_shown() {
    let forbids =
        r#"permission = { open = "never", rules = { { decision = "reject", command = "git push **" } } }"#;
    let with = |id: &str, name: &str, value: &str| {
        let env = json!([{ "name": name, "value": value }]);
        awaits(id, "terminal/create", json!({ "command": "true", "args": ["now"], "env": env }))
    };
    let parts = with("harmless", "CI", "1")
        .into_iter()
        .chain(with("preload", "LD_PRELOAD", "./evil.so"))
        .chain(with("again", "LD_PRELOAD", "./other.so"))
        .chain(awaits("plain", "terminal/create", json!({ "command": "true", "args": ["now"] })));
    let mut chat = turn_of(parts, forbids);
    chat.send("go");
    assert!(chat.answer("harmless")["result"]["terminalId"].is_string());
    chat.wait_for("env LD_PRELOAD=./evil.so true now");
    chat.nvim.stop_insert();
    // An answer about one environment is none about another.
    chat.decide("allow session");
    chat.wait_for("env LD_PRELOAD=./other.so true now");
    chat.decide("reject");
    assert!(chat.answer("preload")["result"]["terminalId"].is_string());
    assert!(chat.answer("again")["error"].is_object());
    assert!(chat.answer("plain")["result"]["terminalId"].is_string());
}

#[test]
fn a_question_about_a_terminal_shows_all_of_the_command_what_is_dangerous_and_makes_rules() {
    let script = "set -- a\nfor name in a b; do\n  rm -rf build/$name\ndone";
    let options =
        r#"permission = { open = "never", rules = { { decision = "ask", command = "{rm,just} **" } } }"#;
    let run = |id: &str, line: &str| awaits(id, "terminal/create", json!({ "command": line }));
    let parts = run("all", script)
        .into_iter()
        .chain(run("one", "just check a"))
        .chain(run("two", "just check a"))
        .chain(writes("b.txt", "b\n"));
    let mut chat = turn_of(parts, options);
    chat.send("go");
    // Each of its lines can be read before it is answered.
    for line in ["set -- a", "for name in a b; do", "  rm -rf build/$name", "done", "! deletes"] {
        chat.wait_for(line);
    }
    chat.nvim.stop_insert();
    chat.decide("reject");
    assert!(chat.answer("all")["error"].is_object());
    chat.wait_for("just check a");
    make_rule_after(&mut chat, 4, 1);
    for id in ["one", "two"] {
        let answer = chat.answer(id);
        // There need be no such program: what matters is that the user did not forbid it.
        assert_ne!(
            answer["error"]["message"], "couldn't run the command: the user did not allow it",
            "{answer}"
        );
    }
    let file = chat.project.file("b.txt");
    chat.nvim.wait_until(|_| file.exists(), "the end of the turn, without another question");
}

/// The end of a command is what it comes to.
#[test]
fn a_long_question_about_a_terminal_says_how_it_is_read_and_shows_both_ends() {
    let script = format!("make build {}\n{}rm -rf build", "--with extra ".repeat(12), "make\n".repeat(30));
    let options = r#"permission = { rules = { { decision = "ask", command = "rm **" } } }"#;
    let create = awaits("t", "terminal/create", json!({ "command": script }));
    let turn = [prompt()].into_iter().chain(create).chain([ends("end_turn")]);
    let mut chat = Scripted::sized(&[("a.txt", "a\n")], steps(turn), 80, 24);
    chat.configure(options);
    chat.chat();
    chat.send("go");
    chat.wait_for("Read it, scroll if it is long; then answer here, or <CR> or :Acp answer");
    let screen = chat.transcript();
    let head = screen.lines().find(|line| line.contains("asks to run")).expect("the question").to_owned();
    assert!(head.contains("make build") && head.contains("rm -rf build in"), "{head}");
    chat.nvim.stop_insert();
    chat.nvim.input(":Acp answer<CR>");
    chat.nvim.wait_for_screen("Type number and");
    let shown = chat.nvim.screen().replace("|\n|", "");
    assert!(shown.contains("make build --with") && shown.contains("rm -rf build in"), "{shown}");
    chat.nvim.input("3<CR>");
    assert!(chat.answer("t")["error"].is_object());
}

fn command(id: &str, line: &str) -> Value {
    let call = json!({ "toolCallId": id, "title": line, "kind": "execute", "rawInput": { "command": line } });
    permission(&format!("p-{id}"), call)
}

/// Answers the question under way by the rule of this number.
fn make_rule(chat: &mut Scripted, number: usize) {
    make_rule_after(chat, 3, number);
}

/// The same where so many other answers are offered before it.
fn make_rule_after(chat: &mut Scripted, others: usize, number: usize) {
    let answer = others + 1;
    chat.nvim.wait_for_screen(&format!("{answer} Make a rule"));
    chat.nvim.stop_insert();
    chat.nvim.input(":Acp answer<CR>");
    chat.nvim.wait_for_screen(&format!("{answer}: Make a rule"));
    chat.nvim.input(&format!("{answer}<CR>"));
    chat.nvim.wait_for_screen("which answers this and what is like it");
    chat.nvim.input(&format!("{number}<CR>"));
}

#[test]
fn a_rule_that_is_made_by_an_answer_answers_all_that_is_like_it() {
    // Two wait at once, and more come later: one of another kind, and one that is dangerous.
    let parts = [
        command("one", "just check a"),
        command("two", "just check b"),
        answered("p-one"),
        answered("p-two"),
        command("three", "just check c && git status"),
        answered("p-three"),
        command("other", "just publish"),
        answered("p-other"),
    ];
    let options = "permission = { open = 'never', sets = { 'read-only' } }";
    let mut chat = turn_of(parts, options);
    chat.send("go");
    chat.wait_for("just check b");
    // After those for just this.
    make_rule(&mut chat, 3);
    assert_eq!(["p-one", "p-two", "p-three"].map(|id| option(&chat.answer(id)).to_owned()), ["a", "a", "a"]);
    chat.wait_for("just publish");
    chat.nvim.command("Acp permissions");
    let told = page(&mut chat, "By your answers, for this session");
    assert!(told.contains("allow   command just check **"), "{told}");
    chat.wait_for("Rule made: allow `just check **` in this session · :Acp permissions has it");
    chat.decide("reject");
    assert_eq!(option(&chat.answer("p-other")), "r");
}

#[test]
fn a_file_can_be_rejected_from_then_on_and_those_beside_it_are_asked_about() {
    let edit = |id: &str, path: &str| {
        let call = json!({ "toolCallId": id, "title": format!("edit {path}"), "kind": "edit",
            "locations": [{ "path": format!("$PROJECT/{path}") }] });
        [permission(&format!("p-{id}"), call), answered(&format!("p-{id}"))]
    };
    let parts = [edit("one", "src/a.txt"), edit("two", "src/a.txt"), edit("other", "src/b.txt")];
    let mut chat = turn_of(parts.into_iter().flatten(), NO_PICKER);
    chat.send("go");
    chat.wait_for("edit src/a.txt");
    // After those that allow, this one and its folder, each for the session and the project.
    make_rule(&mut chat, 5);
    assert_eq!(["p-one", "p-two"].map(|id| option(&chat.answer(id)).to_owned()), ["r", "r"]);
    chat.wait_for("edit src/b.txt");
    chat.wait_for("Rule made: reject writing src/a.txt in this session");
    chat.decide("allow");
    assert_eq!(option(&chat.answer("p-other")), "a");
}

#[test]
fn a_rule_for_the_project_is_kept_changed_and_taken_back() {
    let parts = [
        command("one", "just check a"),
        answered("p-one"),
        command("two", "just check b"),
        answered("p-two"),
        command("three", "just check c"),
        answered("p-three"),
        command("four", "just lint"),
        answered("p-four"),
    ];
    let mut chat = turn_of(parts, NO_PICKER);
    chat.send("go");
    make_rule(&mut chat, 4);
    assert_eq!(["p-one", "p-two", "p-three"].map(|id| option(&chat.answer(id)).to_owned()), ["a", "a", "a"]);
    chat.wait_for("just lint");
    // It stands in a file of its own, where another Neovim finds it.
    let state = chat.nvim.exec_lua("return vim.fn.stdpath('state')", []);
    let file = std::path::Path::new(state.as_str().expect("a path")).join("acp-rules.json");
    let kept = || std::fs::read_to_string(&file).expect("the file of the rules");
    assert!(kept().contains(r#""command": "just check **""#), "{}", kept());
    chat.nvim.command("Acp permissions");
    let to_rule = "By your answers, for this project";
    chat.nvim.wait_for_screen(to_rule);
    // The cursor is on it.
    chat.nvim.input("x");
    chat.nvim.wait_until(|_| !kept().contains("just"), "the rule to be gone from the file");
    chat.nvim.wait_until(|nvim| !nvim.screen().contains(to_rule), "the rule to be gone from the page");
    chat.nvim.input("u");
    chat.nvim.wait_for_screen(to_rule);
    // What it is about is changed; then it answers what waits.
    chat.nvim.input("/just<CR><CR>");
    chat.nvim.wait_for_screen("allow command: just check **");
    chat.nvim.input("<C-u>just {check<CR>");
    chat.nvim.wait_for_screen("has a brace without the other one. allow command: just {check");
    chat.nvim.input(",lint}<CR>");
    assert_eq!(option(&chat.answer("p-four")), "a");
    assert!(kept().contains("just {check,lint}"), "{}", kept());
}

#[test]
fn a_broken_file_of_kept_rules_is_told_and_nothing_is_lost() {
    let mut chat = turn_of([command("one", "just check a"), answered("p-one")], NO_PICKER);
    let state = chat.nvim.exec_lua("return vim.fn.stdpath('state')", []);
    let file = std::path::Path::new(state.as_str().expect("a path")).join("acp-rules.json");
    std::fs::create_dir_all(file.parent().expect("a folder")).expect("the folder is made");
    std::fs::write(&file, "{ \"version\": 1, \"rules\": [").expect("the file is written");
    chat.send("go");
    chat.wait_for("the rules that you made by answers don't count");
    make_rule(&mut chat, 2);
    assert_eq!(option(&chat.answer("p-one")), "a");
    let aside = file.with_file_name("acp-rules.json.broken-1");
    assert!(std::fs::read_to_string(aside).is_ok_and(|text| text.ends_with("\"rules\": [")));
}

#[test]
fn the_past_proposes_rules_that_spare_questions() {
    let mut parts = Vec::new();
    for id in ["one", "two", "three"] {
        parts.extend([command(id, &format!("just check {id}")), answered(&format!("p-{id}"))]);
    }
    let mut chat = turn_of(parts, NO_PICKER);
    chat.send("go");
    chat.nvim.stop_insert();
    for id in ["one", "two"] {
        chat.wait_for(&format!("just check {id}"));
        chat.nvim.wait_for_screen("Make a rule");
        chat.decide("allow");
        assert_eq!(option(&chat.answer(&format!("p-{id}"))), "a");
    }
    chat.wait_for("just check three");
    let proposal = "Allow just check * in this project: 2 questions";
    // What was answered last may still be on its way into the record.
    chat.nvim.wait_until(
        |nvim| {
            nvim.command("Acp permissions replay");
            nvim.wait_for_screen("What today's rules would have made of the past");
            let is_there = nvim.screen().contains(proposal);
            if !is_there {
                nvim.input("q");
            }
            is_there
        },
        proposal,
    );
    chat.nvim.input("/Allow just<CR><CR>");
    assert_eq!(option(&chat.answer("p-three")), "a");
    chat.nvim.wait_for_screen("asked then, allowed now");
    assert!(!chat.nvim.screen().contains(proposal));
}

/// A call that the agent does on its own, and that is over.
fn done_alone(id: &str, line: &str) -> Value {
    update(json!({ "sessionUpdate": "tool_call", "toolCallId": id, "title": line, "kind": "execute",
        "status": "completed", "rawInput": { "command": line } }))
}

#[test]
fn what_is_done_without_asking_is_marked_where_rules_would_have_had_a_say() {
    let parts =
        [done_alone("c1", "git push origin"), done_alone("c2", "ls"), done_alone("c3", "echo X > .envrc")];
    let parts = parts.into_iter().chain(writes("b.txt", "b\n")).chain([permission(
        "p",
        json!({ "toolCallId": "c4", "title": "git push now", "kind": "execute",
            "rawInput": { "command": "git push now" } }),
    )]);
    let parts = parts.chain([
        answered("p"),
        update(json!({ "sessionUpdate": "tool_call_update",
        "toolCallId": "c4", "status": "completed" })),
    ]);
    let mut chat = turn_of(parts, RULES);
    chat.nvim.exec_lua(
        "vim.g.unasked = {}
         vim.api.nvim_create_autocmd('User', { pattern = 'AcpUnasked', callback = function(args)
           local all = vim.g.unasked
           table.insert(all, args.data.tool_call .. ' ' .. args.data.decision)
           vim.g.unasked = all
         end })",
        [],
    );
    chat.send("go");
    chat.wait_for("Done without asking: reject command git push **");
    chat.wait_for("Done without asking: ask");
    let told = "return table.concat(vim.g.unasked, ', ')";
    chat.nvim.wait_until(
        |nvim| nvim.exec_lua(told, []).as_str() == Some("c1 reject, c3 ask"),
        "both to be told, and no other",
    );
    assert_eq!(chat.transcript().matches("Done without asking").count(), 2);
    // The record has a line for each.
    let folder = chat.nvim.home().join("state/nvim/acp/audit");
    let mut rules = Vec::new();
    chat.nvim.wait_until(
        |_| {
            let files = std::fs::read_dir(&folder).into_iter().flatten().flatten();
            let text: String = files.filter_map(|file| std::fs::read_to_string(file.path()).ok()).collect();
            let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            let unasked = lines.filter(|line| line["what"] == "unasked");
            rules = unasked.map(|line| format!("{} {}", line["command"], line["unasked"])).collect();
            rules.len() == 2
        },
        "two lines in the record",
    );
    assert!(rules[0].starts_with("\"git push origin\" \"reject command git push **"), "{rules:?}");
}

/// No walk of the project's files finds it, and git ignores it.
#[test]
fn a_hook_that_a_command_writes_is_listed_and_marked() {
    let script = "mkdir -p .git/hooks; echo x > .git/hooks/pre-commit; echo x > .git/HEAD";
    let mut chat = Scripted::new(
        &[("change.sh", script), (".git/config", "[core]\n")],
        steps([prompt()].into_iter().chain(runs("c1", "sh change.sh")).chain([ends("end_turn")])),
    );
    chat.configure(NO_PICKER);
    chat.chat();
    chat.send("go");
    chat.wait_for("Done without asking: ask");
    chat.nvim.stop_insert();
    chat.nvim.input(":Acp changes<CR>");
    chat.nvim.wait_for_screen(".git/hooks/pre-commit 1 hunk · +1 -0");
    assert!(!chat.nvim.screen().contains(".git/HEAD"), "git's own business");
}

#[test]
fn a_file_that_a_command_changes_is_held_against_the_rules() {
    let parts = runs("c1", "sh change.sh").into_iter();
    let mut chat = Scripted::new(
        &[("a.txt", "a\n"), ("change.sh", "echo X=2 > .envrc\n"), (".envrc", "X=1\n")],
        steps([prompt()].into_iter().chain(parts).chain([ends("end_turn")])),
    );
    chat.configure(NO_PICKER);
    chat.chat();
    chat.send("go");
    chat.wait_for("Done without asking: ask");
}

#[test]
fn what_an_allowed_call_leaves_to_be_run_later_is_marked_also_where_the_agent_runs_it_itself() {
    let call = json!({ "toolCallId": "c1", "title": "make test", "kind": "execute",
        "rawInput": { "command": "make test" } });
    let over = json!({ "sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "completed" });
    let script = "echo curl example.org > .git/hooks/pre-commit; echo '{}' > package.json";
    let parts = [permission("p", call), answered("p"), json!({ "run": ["sh", "-c", script] }), update(over)];
    let turn = [prompt()].into_iter().chain(parts).chain([ends("end_turn")]);
    let mut chat = Scripted::new(
        &[("a.txt", "a\n"), (".git/config", "[core]\n"), (".git/hooks/x.sample", "")],
        steps(turn),
    );
    chat.configure(r#"permission = { open = "never", sets = { "tests" } }"#);
    chat.chat();
    chat.send("go");
    assert_eq!(option(&chat.answer("p")), "a");
    chat.wait_for("It changed .git/hooks/pre-commit without asking: ask");
    assert_eq!(chat.transcript().matches("without asking").count(), 1);
}

#[test]
fn a_tool_of_a_server_that_nobody_was_asked_about_is_held_against_the_rules() {
    let used = |id: &str, name: &str| {
        update(json!({ "sessionUpdate": "tool_call", "toolCallId": id, "title": format!("mcp__db__{name}"),
            "kind": "other", "status": "completed", "rawInput": { "table": "users" } }))
    };
    let options = r#"permission = { open = "never", rules = {
        { decision = "reject", mcp = "db.drop" }, { decision = "ask", mcp = "db.write*" },
    } }"#;
    let mut chat = turn_of([used("c1", "drop"), used("c2", "read"), used("c3", "write_row")], options);
    chat.send("go");
    chat.wait_for("Done without asking: reject mcp db.drop");
    chat.wait_for("Done without asking: ask mcp db.write*");
    assert_eq!(chat.transcript().matches("without asking").count(), 2);
}

#[test]
fn several_that_are_alike_are_answered_at_once_each_for_itself() {
    let lines = ["git add a", "git add b", "rm a", "git add c"];
    let calls = lines.iter().zip(1..).map(|(line, id)| {
        let call = json!({ "toolCallId": format!("c{id}"), "title": line, "kind": "execute",
            "rawInput": { "command": line } });
        permission(&format!("p{id}"), call)
    });
    let parts: Vec<Value> = calls.chain((1..=4).map(|id| answered(&format!("p{id}")))).collect();
    let mut chat = turn_of(parts, NO_PICKER);
    chat.send("go");
    chat.wait_for(
        "run git add c\n    Allow this command?\n    1 Allow   2 Always allow   3 Reject\n    \
         4 Make a rule\u{2026}   5 Allow all 3",
    );
    chat.nvim.stop_insert();
    assert_eq!(chat.transcript().matches("5 Allow all 3").count(), 3, "{}", chat.transcript());
    // In the picker they stand behind the agent's own answers.
    chat.nvim.exec_lua(
        "vim.ui.select = function(items, _, choose)
           for index, item in ipairs(items) do
             if item == 'Allow all 3 alike · this once' then choose(item, index) end
           end
         end",
        [],
    );
    chat.go_to("run git add b");
    chat.nvim.command("Acp answer");
    for id in ["p1", "p2", "p4"] {
        assert_eq!(option(&chat.answer(id)), "a", "{id}");
    }
    // What deletes is looked at alone.
    chat.nvim.wait_until(|nvim| !nvim.screen().contains("5 Allow all"), "no other to be alike");
    chat.decide("reject");
    assert_eq!(option(&chat.answer("p3")), "r");
}

/// A command of this line in a terminal, which nothing but the request tells of.
fn line_alone(id: &str, line: &str) -> Vec<Value> {
    let mut steps = runs_alone(id, line);
    let create = steps.iter_mut().find_map(|step| step.pointer_mut("/send/params/command"));
    *create.expect("the command") = line.into();
    for step in &mut steps {
        if let Some(params) = step.pointer_mut("/send/params").and_then(Value::as_object_mut) {
            params.remove("args");
        }
    }
    steps
}

#[test]
fn of_what_a_command_does_that_was_asked_about_or_allowed_only_what_runs_later_is_marked() {
    let options = r#"permission = { open = "never", rules = {
        { decision = "allow", command = "sh {allowed,vendor}.sh" }, { decision = "ask", command = "sh asked.sh" }, { decision = "ask", command = "cp **" },
        { decision = "reject", path = "vendor/**" },
    } }"#;
    let files = [
        ("allowed.sh", "echo 1 > .envrc; echo 1 > package.json"),
        ("vendor.sh", "echo 1 > vendor/a"),
        ("asked.sh", "mkdir -p .git/hooks; echo 1 > .git/hooks/pre-commit; echo 1 > sub/package.json"),
        ("alone.sh", "echo 1 > other/package.json"),
        (".git/config", "[core]\n"),
        ("vendor/b", ""),
        ("sub/a", ""),
        ("other/a", ""),
    ];
    let parts = line_alone("allowed", "sh allowed.sh")
        .into_iter()
        .chain(line_alone("vendor", "sh vendor.sh"))
        .chain(line_alone("asked", "sh asked.sh"))
        .chain(line_alone("named", "cp vendor.sh sub/.envrc"))
        .chain(line_alone("alone", "sh alone.sh"));
    let turn = [prompt()].into_iter().chain(parts).chain([ends("end_turn")]);
    let mut chat = Scripted::new(&files, steps(turn));
    chat.configure(options);
    chat.chat();
    chat.nvim.exec_lua(
        "vim.g.unasked = {}
         vim.api.nvim_create_autocmd('User', { pattern = 'AcpUnasked', callback = function(args)
           local all = vim.g.unasked
           table.insert(all, vim.fn.fnamemodify(args.data.path, ':.') .. ' ' .. args.data.decision)
           vim.g.unasked = all
         end })",
        [],
    );
    chat.send("go");
    chat.wait_for("sh asked.sh");
    chat.nvim.stop_insert();
    chat.decide("allow");
    chat.wait_for("cp vendor.sh sub/.envrc");
    chat.decide("allow");
    // What nobody was asked about, and what a rule forbids, is told as before.
    let told = "local all = vim.deepcopy(vim.g.unasked)
                table.sort(all)
                return table.concat(all, ', ')";
    let mut known = String::new();
    chat.nvim.wait_until(
        |nvim| {
            known = nvim.exec_lua(told, []).as_str().unwrap_or_default().to_owned();
            ["other/package.json", "vendor/a", ".git/hooks"].iter().all(|name| known.contains(name))
        },
        "what nobody was asked about",
    );
    assert_eq!(known, ".envrc ask, .git/hooks/pre-commit ask, other/package.json ask, vendor/a reject");
    chat.wait_for("It changed .git/hooks/pre-commit without asking: ask");
}
