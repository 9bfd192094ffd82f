//! The plugin in a real Neovim, from keys to screen. Few and broad: what can be said about data
//! alone is said beside the code.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use support::process::wait_for;
use support::project::TempProject;
use support::{Nvim, Options};

/// The text that a failing closure panics with.
fn failure(test: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(test)).expect_err("a failure");
    *panic.downcast::<String>().expect("a panic with a text")
}

#[test]
fn typed_text_stands_on_the_screen_and_in_the_buffer() {
    let mut nvim = Nvim::start(Options { columns: 40, rows: 6, ..Options::default() });
    nvim.input("iplain, <lt>wide> 日本, done");
    nvim.wait_for_screen("plain, <wide> 日本, done");
    assert_eq!(nvim.buffer_text(0), "plain, <wide> 日本, done");
    assert_eq!(nvim.cursor(), (0, 24));
    assert_eq!(nvim.mode().name, "i");
    nvim.input("<Esc>");
    nvim.wait_until(|nvim| nvim.mode().name == "n", "normal mode");
}

#[test]
fn a_screen_is_compared_with_its_file() {
    let mut nvim = Nvim::start(Options { columns: 40, rows: 6, ..Options::default() });
    nvim.input("ione<CR>two<Esc>:vsplit named<CR>");
    nvim.wait_for_screen("│");
    nvim.assert_screen("typed_text");
}

#[test]
fn scrolled_text_moves_on_the_screen() {
    let lines: String = (1..=100).map(|number| format!("line {number}\n")).collect();
    let project = TempProject::new(&[("long.txt", &lines)]);
    let mut nvim = Nvim::start(Options {
        columns: 20,
        rows: 6,
        cwd: Some(project.path().to_owned()),
        args: vec!["long.txt".to_owned()],
        ..Options::default()
    });
    nvim.command("set laststatus=0");
    nvim.wait_for_screen("line 5");
    nvim.input("<C-e><C-e><C-e>");
    nvim.wait_for_screen("line 8");
    assert!(nvim.screen().starts_with("line 4\nline 5\nline 6\nline 7\nline 8\n"), "{}", nvim.screen());
    nvim.input("<C-y>");
    nvim.wait_for_screen("line 3");
    assert!(nvim.screen().starts_with("line 3\nline 4\nline 5\nline 6\nline 7\n"), "{}", nvim.screen());
}

#[test]
fn a_resized_screen_shows_more() {
    let mut nvim = Nvim::start(Options { columns: 40, rows: 6, ..Options::default() });
    nvim.input("i0123456789012345678901234567890123456789 and more");
    nvim.wait_until(|nvim| !nvim.screen().contains("9 and more"), "a wrapped line");
    nvim.resize(60, 10);
    nvim.wait_for_screen("6789 and more");
    assert_eq!(nvim.screen().lines().count(), 10);
}

#[test]
fn highlight_groups_are_known_by_name() {
    let mut nvim = Nvim::start(Options { columns: 40, rows: 6, ..Options::default() });
    nvim.input("ifind the needle here<Esc>:set hlsearch<CR>/needle<CR>");
    nvim.wait_until(|nvim| nvim.screen_with_groups().contains("CurSearch"), "a match to be lit");
    assert_eq!(nvim.groups_of("needle"), ["CurSearch"]);
    assert_eq!(nvim.groups_of("find"), [""; 0]);
    assert!(nvim.screen_with_groups().starts_with("find the {CurSearch:needle} here\n"));
}

#[test]
fn a_blocked_editor_still_takes_keys_and_tells_its_mode() {
    let mut nvim = Nvim::start(Options::default());
    nvim.input(":echo \"one\\ntwo\\nthree\"<CR>");
    nvim.wait_for_screen("Press ENTER");
    let mode = nvim.mode();
    assert_eq!((mode.name.as_str(), mode.blocking), ("r", true));
    nvim.input("<CR>");
    nvim.wait_until(|nvim| !nvim.mode().blocking, "the prompt to go");
    assert_eq!(nvim.exec_lua("return ... + 1", [41.into()]), 42.into());
}

#[test]
fn a_request_to_a_blocked_editor_fails_the_test_and_shows_the_screen() {
    let mut nvim = Nvim::start(Options { timeout: Duration::from_millis(300), ..Options::default() });
    nvim.input(":echo \"one\\ntwo\\nthree\"<CR>");
    nvim.wait_for_screen("Press ENTER");
    let failure = failure(|| nvim.command("echo"));
    assert!(failure.starts_with("nvim_command got no answer in 300ms"), "{failure}");
    assert!(failure.contains("Press ENTER"), "{failure}");
    assert!(failure.contains("\"blocking\": true"), "{failure}");
}

#[test]
fn an_error_in_lua_is_an_answer_with_its_text() {
    let mut nvim = Nvim::start(Options::default());
    let answer = nvim.try_lua("error('so be it')", []);
    assert!(answer.expect_err("an error").contains("so be it"));
}

#[test]
fn an_editor_that_dies_fails_the_test_at_once() {
    let mut nvim = Nvim::start(Options::default());
    let failure = failure(|| {
        nvim.exec_lua("vim.uv.kill(vim.uv.os_getpid(), 'sigkill')", []);
    });
    assert!(failure.starts_with("neovim ended by itself: signal: 9"), "{failure}");
}

#[test]
fn every_process_under_the_editor_is_found_even_after_its_end() {
    let mut nvim = Nvim::start(Options::default());
    nvim.exec_lua("vim.system({ 'sh', '-c', 'sleep 1000 & wait' }, { detach = true })", []);
    wait_for(|| nvim.processes().len() == 2, "a shell and its child");
    nvim.kill9();
    assert_eq!(nvim.processes().len(), 2, "{:?}", nvim.processes());
    for process in nvim.processes() {
        process.kill();
    }
    wait_for(|| nvim.processes().is_empty(), "the two to be gone");
}

#[test]
fn a_dropped_editor_takes_everything_with_it() {
    let mut nvim =
        Nvim::start(Options { env: vec![("A_MARK".into(), "dropped".into())], ..Options::default() });
    nvim.exec_lua("vim.system({ 'sleep', '1000' }, { detach = true })", []);
    wait_for(|| nvim.processes().len() == 1, "a child");
    let home = nvim.home().to_owned();
    drop(nvim);
    wait_for(|| support::process::processes_with_env("A_MARK=dropped").is_empty(), "both to be gone");
    assert!(!home.exists());
}

#[test]
fn quitting_leaves_unsaved_text_behind_with_exit_code_0() {
    let mut nvim = Nvim::start(Options::default());
    nvim.input("iunsaved");
    nvim.wait_for_screen("unsaved");
    assert!(nvim.quit().success());
}
