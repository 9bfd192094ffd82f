//! Plugins that draw messages: what is asked is neither hidden nor cut by them, nor does it hide what it is about.

use serde_json::json;

use crate::load;
use crate::support::script::{Scripted, answered, ends, permission, prompt, says, steps};

fn asking(size: (u16, u16)) -> Scripted {
    let text: String = (1..=8).map(|number| format!("new {number}\n")).collect();
    let diff = json!({ "type": "diff", "path": "$PROJECT/new.txt", "newText": text });
    let call = json!({ "toolCallId": "c", "title": "Write new.txt", "kind": "edit", "content": [diff] });
    let all = [prompt(), permission("p", call), answered("p"), says("Answered."), ends("end_turn")];
    Scripted::sized(&[("a.txt", "mine\n")], steps(all), size.0, size.1)
}

#[test]
#[ignore = "make test-neighbours"]
fn under_noice_neovims_picker_does_not_open_over_the_proposal() {
    for size in [(80, 24), (140, 40)] {
        let mut chat = asking(size);
        if !load(&mut chat.nvim, "0.10", &["nui.nvim", "noice.nvim"]) {
            return;
        }
        chat.nvim.exec_lua("require('noice').setup({})", []);
        chat.nvim.command("edit a.txt");
        chat.chat();
        chat.send("go");
        chat.nvim.wait_for_screen("Read it, scroll if");
        let screen = chat.nvim.screen();
        assert!((1..=8).all(|number| screen.contains(&format!("+ new {number}"))), "{screen}");
        assert!(!screen.contains("Type number"), "{screen}");
        // It is opened by the user, and answers.
        chat.nvim.stop_insert();
        chat.nvim.input("<CR>");
        chat.nvim.wait_for_screen("2: Always allow");
        chat.nvim.input("1<CR>");
        assert_eq!(chat.answer("p")["result"]["outcome"]["optionId"], "a");
        chat.wait_for("Answered.");
    }
}

#[test]
#[ignore = "make test-neighbours"]
fn under_noice_the_line_of_a_question_stays_readable() {
    for size in [(80, 24), (140, 40)] {
        let mut chat = asking(size);
        if !load(&mut chat.nvim, "0.10", &["nui.nvim", "noice.nvim"]) {
            return;
        }
        chat.nvim.exec_lua("require('noice').setup({})", []);
        chat.nvim.command("edit a.txt");
        chat.chat();
        chat.nvim.stop_insert();
        chat.nvim.command("wincmd t | startinsert");
        chat.nvim.input("typing");
        chat.nvim.exec_lua("require('acp').send('go')", []);
        let line = "Fake wants to write new.txt (+8 -0) \u{b7} <Esc> to answer";
        chat.nvim.wait_for_screen(line);
        // A message of somebody else, in the same line.
        chat.nvim.exec_lua("vim.notify(('other '):rep(12), vim.log.levels.WARN)", []);
        let shown = "for _, win in ipairs(vim.api.nvim_list_wins()) do
            local lines = vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(win), 0, -1, false)
            if table.concat(lines):find('other other', 1, true) then return true end
          end
          return false";
        chat.nvim.wait_until(|nvim| nvim.exec_lua(shown, []) == true.into(), "noice to show the message");
        chat.nvim.exec_lua("vim.cmd.redraw()", []);
        chat.nvim.wait_for_screen(line);
        chat.nvim.input("more");
        chat.nvim.wait_for_screen("typingmore");
        chat.nvim.wait_for_screen(line);
        chat.nvim.stop_insert();
        chat.decide("allow");
        chat.wait_for("Answered.");
        chat.nvim.wait_until(|nvim| !nvim.screen().contains(line), "the line to go");
    }
}

#[test]
#[ignore = "make test-neighbours"]
fn snacks_notifications_do_not_hide_the_line_of_a_question() {
    let mut chat = asking((80, 24));
    if !load(&mut chat.nvim, "0.10", &["snacks.nvim"]) {
        return;
    }
    chat.nvim.exec_lua("require('snacks').setup({ notifier = { enabled = true } })", []);
    chat.nvim.command("edit a.txt");
    chat.chat();
    chat.nvim.stop_insert();
    chat.nvim.command("wincmd t | startinsert");
    chat.nvim.input("typing");
    chat.nvim.exec_lua("require('acp').send('go')", []);
    let line = "Fake wants to write new.txt (+8 -0) \u{b7} <Esc> to answer";
    chat.nvim.wait_for_screen(line);
    chat.nvim.exec_lua(
        "for n = 1, 9 do vim.notify('other ' .. n, vim.log.levels.WARN, { timeout = false }) end",
        [],
    );
    chat.nvim.wait_for_screen("other 1");
    chat.nvim.wait_for_screen(line);
    chat.nvim.stop_insert();
    chat.decide("allow");
    chat.wait_for("Answered.");
}

#[test]
#[ignore = "make test-neighbours"]
fn mini_notify_is_given_what_the_plugin_says() {
    let mut chat = asking((80, 24));
    if !load(&mut chat.nvim, "0.10", &["mini.nvim"]) {
        return;
    }
    chat.nvim.exec_lua("require('mini.notify').setup() vim.notify = MiniNotify.make_notify()", []);
    chat.chat();
    chat.nvim.stop_insert();
    chat.nvim.command("Acp allow");
    let said = "for _, said in pairs(MiniNotify.get_all()) do
        if said.msg:find('acp: nothing waits', 1, true) then return true end
      end
      return vim.inspect(MiniNotify.get_all())";
    chat.nvim.wait_until(|nvim| nvim.exec_lua(said, []) == true.into(), "the notification");
}
