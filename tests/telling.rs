//! How users are told of what they did not ask for: never so that Neovim waits for a key or stands still,
//! where they see it while they type, and all of it in `:messages`.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use std::time::{Duration, Instant};

use serde_json::json;

use support::Nvim;
use support::script::{Scripted, answered, ends, permission, prompt, steps};

/// A chat beside a file in which the user is. Each prompt that means a line which is not there fails.
fn beside() -> Scripted {
    let call = json!({ "toolCallId": "1", "title": "Edit a.txt", "kind": "edit" });
    let steps = steps([prompt(), permission("p", call), answered("p"), ends("end_turn")]);
    let mut chat = Scripted::new(&[("a.txt", "one\n"), ("b.txt", "one\n")], steps);
    chat.chat();
    chat.nvim.input("<Esc>");
    chat.nvim.command("wincmd h | edit a.txt | set noruler noshowcmd");
    chat
}

fn fail(nvim: &mut Nvim, prompts: &[String]) {
    for prompt in prompts {
        nvim.exec_lua("require('acp').send(...)", [prompt.as_str().into()]);
    }
}

/// Without a key that Neovim waits for.
fn wait_for_message(nvim: &mut Nvim, text: &str) {
    let said = |nvim: &mut Nvim| nvim.messages().replace('\n', "").contains(text);
    nvim.wait_until(|nvim| nvim.mode().blocking || said(nvim), text);
    assert!(!nvim.mode().blocking, "neovim waits for a key:\n{}", nvim.screen());
}

#[test]
fn errors_that_come_at_once_are_one_line() {
    let mut chat = beside();
    fail(&mut chat.nvim, &["see @a.txt:8".into(), "see @b.txt:9".into()]);
    wait_for_message(&mut chat.nvim, "a.txt ends at line 1");
    wait_for_message(&mut chat.nvim, "b.txt ends at line 1");
    chat.nvim.wait_for_screen("b.txt ends at line 1; give other lines (+1 in :messages)");
    assert!(!chat.nvim.mode().blocking);
}

#[test]
fn a_message_ends_before_the_ruler_of_a_window_that_floats() {
    let mut chat = beside();
    chat.nvim.resize(70, 20);
    chat.nvim.command("set ruler");
    let floats = "vim.api.nvim_open_win(vim.api.nvim_create_buf(false, true), true,
        { relative = 'editor', row = 2, col = 2, width = 20, height = 3 })";
    chat.nvim.exec_lua(floats, []);
    chat.nvim.wait_for_screen("0,0-1");
    fail(&mut chat.nvim, &["see @a.txt:8".into(), "see @b.txt:9".into()]);
    wait_for_message(&mut chat.nvim, "b.txt ends at line 1");
    let last = |nvim: &mut Nvim| nvim.screen().lines().last().unwrap_or_default().to_owned();
    chat.nvim.wait_until(|nvim| last(nvim).contains("acp: "), "the message");
    let last = last(&mut chat.nvim);
    assert!(last.contains("messages") && last.contains("0,0-1"), "{last:?}");
}

#[test]
fn without_a_command_line_messages_can_be_read() {
    let mut chat = beside();
    chat.nvim.command("set cmdheight=0 laststatus=3");
    fail(&mut chat.nvim, &["see @a.txt:8".into()]);
    chat.nvim.wait_for_screen("a.txt ends at line 1");
    // Also when the screen was drawn once more, as after a command.
    chat.nvim.command("redraw!");
    assert!(chat.nvim.screen().contains("a.txt ends at line 1"), "{}", chat.nvim.screen());
    assert!(!chat.nvim.mode().blocking);
}

#[test]
fn errors_that_no_narrow_screen_has_room_for_are_cut() {
    let mut chat = beside();
    chat.nvim.resize(12, 8);
    fail(&mut chat.nvim, &["see @a.txt:8".into(), "see @b.txt:9".into()]);
    wait_for_message(&mut chat.nvim, "b.txt ends at line 1");
    let told = |nvim: &mut Nvim| nvim.screen().contains('\u{2026}');
    chat.nvim.wait_until(|nvim| nvim.mode().blocking || told(nvim), "the error on the screen");
    assert!(!chat.nvim.mode().blocking, "{}", chat.nvim.screen());
    assert_eq!(chat.nvim.exec_lua("return vim.v.errmsg", []), "".into());
}

#[test]
fn an_error_that_is_longer_than_the_line_is_cut_and_stands_whole_in_messages() {
    let mut chat = beside();
    let name = format!("{}.txt", "long_".repeat(30));
    chat.project.write(&name, "one\n");
    fail(&mut chat.nvim, &[format!("see @{name}:9")]);
    wait_for_message(&mut chat.nvim, "ends at line 1");
    // What to do about it stays.
    chat.nvim.wait_for_screen("…; give other lines :messages");
    assert!(chat.nvim.messages().replace('\n', "").contains(&name), "{}", chat.nvim.messages());
    chat.nvim.command("set cmdheight=3");
    fail(&mut chat.nvim, &[format!("see @{name}:9")]);
    chat.nvim.wait_for_screen("ends at line 1");
    assert!(!chat.nvim.mode().blocking);
}

#[test]
fn a_message_is_cut_between_its_words() {
    let mut chat = beside();
    let text = "couldn't look at the thing that was asked for since all of the sessions' folders have been moved away \
                to another place without asking anybody about it at all";
    chat.nvim.exec_lua("require('acp.notify').show(..., vim.log.levels.ERROR)", [text.into()]);
    chat.nvim.wait_for_screen(":messages");
    let screen = chat.nvim.screen();
    let line = screen.lines().find(|line| line.contains(":messages")).unwrap_or_default();
    let said = line.trim_start_matches("acp: ").trim_end().trim_end_matches(" :messages");
    let (head, tail) = said.split_once('\u{2026}').expect("a text that was cut");
    let (head, tail) = (head.trim_end(), tail.trim_start());
    assert!(text.starts_with(&format!("{head} ")), "{line}");
    assert!(text.ends_with(&format!(" {tail}")), "{line}");
}

#[test]
fn a_message_that_is_cut_does_not_say_the_opposite() {
    // Messages that come close together are another line.
    let show = |text: &str| {
        let mut chat = beside();
        chat.nvim.resize(80, 24);
        chat.nvim.exec_lua("require('acp.notify').show(..., vim.log.levels.INFO)", [text.into()]);
        chat.nvim.wait_for_screen(":messages");
        let screen = chat.nvim.screen();
        screen.lines().find(|line| line.contains(":messages")).unwrap_or_default().trim_end().to_owned()
    };
    let line =
        show("the output of the build of all of its parts names no place in a file that exists anywhere");
    assert!(line.contains("\u{2026} names no place in a file that exists anywhere :messages"), "{line}");
    let line = show(
        "there is nothing of that kind yet; :Acp comment writes one on the line in which the cursor stands now",
    );
    assert!(line.starts_with("acp: there is nothing of that kind yet; :Acp comment writes"), "{line}");
    // What has no room from there on is left out.
    let line = show(
        "whatever the agent wrote into the file that you are looking at is not to be found in it, so it is shown where it was",
    );
    assert!(line.ends_with("\u{2026} :messages"), "{line}");
}

#[test]
fn what_to_do_stays_of_a_message_that_is_cut() {
    let name = "src/some/folder/of_the_file.rs";
    let told = [
        (
            format!("{name} has changed on the disk since it was read by the agent: :Acp answer decides"),
            ": :Acp answer decides",
        ),
        (
            format!("{name} has changed on the disk: :write once it is merged, or :write!"),
            ": :write once it is merged, or :write!",
        ),
        (
            format!("{name} is gone from the disk; its buffer keeps the text: :Acp settle in it chooses"),
            ": :Acp settle in it chooses",
        ),
        (
            format!(
                "couldn't undo {name} and 2 more: it is not writable; :Acp checkpoints has what was kept"
            ),
            "; :Acp checkpoints has what was kept",
        ),
        (
            format!(
                "{name} was not opened, since it is outside the session's folders: <CR> in :Acp locations opens it"
            ),
            ": <CR> in :Acp locations opens it",
        ),
        ("Claude Code did not stop within 10 s; :Acp restart ends it and starts it again, :Acp stop only ends it".to_owned(),
            "did not stop within 10 s; :Acp restart"),
        // The command comes first in a long clause.
        (
            format!(
                "{name} and some other files are waiting; :Acp review shows all of what is undecided and what of it is gone"
            ),
            "; :Acp review shows all of what",
        ),
    ];
    for (text, what) in told {
        let mut chat = beside();
        chat.nvim.resize(80, 24);
        chat.nvim.command("set ruler showcmd");
        chat.nvim.exec_lua("require('acp.notify').show(..., vim.log.levels.INFO)", [text.as_str().into()]);
        chat.nvim.wait_for_screen(":messages");
        let screen = chat.nvim.screen();
        let line = screen.lines().find(|line| line.contains(":messages")).unwrap_or_default();
        let begins = line.starts_with(&format!("acp: {}", text.chars().take(7).collect::<String>()));
        assert!(line.contains(what) && begins, "{text:?} is shown as\n{line}");
        assert!(chat.nvim.messages().replace('\n', "").contains(&text), "{}", chat.nvim.messages());
    }
}

#[test]
fn a_notifier_that_cuts_lines_gets_short_ones() {
    let mut chat = beside();
    chat.nvim.resize(80, 24);
    chat.nvim.exec_lua(
        "local code = [[_G.shown = {} vim.notify = function(text) table.insert(_G.shown, text) end]]
         loadstring(code, '@/plugins/snacks.nvim/lua/snacks/notifier.lua')()",
        [],
    );
    let text = "src/some/folder/of_the_file.rs has changed on the disk, too: :Acp answer decides";
    chat.nvim.exec_lua("require('acp.notify').show(..., vim.log.levels.INFO)", [text.into()]);
    let shown = chat.nvim.exec_lua("return _G.shown[1]", []);
    let shown = shown.as_str().expect("a text");
    assert!(shown.lines().all(|line| line.chars().count() <= 32), "{shown}");
    assert_eq!(shown.replace('\n', ""), format!("acp: {text}"));
}

#[test]
fn who_types_sees_an_error_and_is_not_held_up_by_it() {
    let mut chat = beside();
    chat.nvim.input("i");
    chat.nvim.wait_until(|nvim| nvim.mode().name == "i", "insert mode");
    // How long the main loop ever stands still.
    chat.nvim.exec_lua(
        "_G.worst, _G.last = 0, vim.uv.hrtime()
         vim.uv.new_timer():start(0, 10, vim.schedule_wrap(function()
           local now = vim.uv.hrtime()
           _G.worst, _G.last = math.max(_G.worst, now - _G.last), now
         end))",
        [],
    );
    fail(&mut chat.nvim, &["see @a.txt:8".into()]);
    chat.nvim.wait_for_screen("acp: couldn't send the prompt: a.txt ends at line 1");
    let shown = Instant::now();
    chat.nvim.input("typed on");
    chat.nvim.wait_for_screen("typed on");
    assert!(shown.elapsed() < Duration::from_millis(900), "{:?}", shown.elapsed());
    chat.nvim.wait_until(|_| shown.elapsed() > Duration::from_millis(300), "a while");
    assert!(chat.nvim.screen().contains("-- INSERT --"));
    assert_eq!(chat.nvim.screen().matches("a.txt ends at line 1").count(), 1, "{}", chat.nvim.screen());
    let worst = chat.nvim.exec_lua("return _G.worst / 1e6", []).as_f64().expect("a number");
    assert!(worst < 900.0, "the editor stood still for {worst} ms");
}

#[test]
fn who_types_sees_that_a_question_waits_until_it_is_there() {
    let mut chat = beside();
    chat.nvim.exec_lua("vim.ui.select = function(items) _G.items = items end", []);
    chat.nvim.input("iwords");
    chat.nvim.wait_for_screen("words");
    chat.nvim.exec_lua("require('acp').send('go')", []);
    chat.nvim.wait_for_screen("Fake wants to edit a.txt · <Esc> to answer");
    chat.nvim.input(" and more");
    chat.nvim.wait_for_screen("words and more");
    assert!(chat.nvim.screen().contains("<Esc> to answer"), "{}", chat.nvim.screen());
    assert_eq!(chat.nvim.exec_lua("return _G.items", []), rmpv::Value::Nil);
    chat.nvim.input("<Esc>");
    chat.nvim.wait_until(|nvim| !nvim.screen().contains("<Esc> to answer"), "the sign to go");
    chat.nvim.wait_until(|nvim| nvim.exec_lua("return _G.items ~= nil", []) == true.into(), "the question");
}

#[test]
fn the_sign_goes_with_its_question() {
    let mut chat = beside();
    chat.nvim.input("iwords");
    chat.nvim.exec_lua("require('acp').send('go')", []);
    chat.nvim.wait_for_screen("<Esc> to answer");
    chat.nvim.exec_lua("require('acp').cancel()", []);
    chat.nvim.wait_until(|nvim| !nvim.screen().contains("<Esc> to answer"), "the sign to go");
    assert_eq!(chat.nvim.mode().name, "i");
}
