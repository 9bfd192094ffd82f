//! What sessions use up: the page that adds it up, over turns, sessions, Neovims and restarts, and the rate limits in
//! the bar. The agents are scripted; the Neovim, the processes and the files are real.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use std::path::PathBuf;

use serde_json::{Value, json};

use support::script::{Scripted, initialized, prompt, update};
use support::{Nvim, Options};

fn costs(amount: f64, currency: &str) -> Value {
    let cost = json!({ "amount": amount, "currency": currency });
    update(json!({ "sessionUpdate": "usage_update", "used": 120, "size": 1000, "cost": cost }))
}

/// A turn ends, with the tokens of that turn.
fn ends_with(tokens: u64) -> Value {
    let count = json!({ "totalTokens": tokens, "inputTokens": tokens - 20, "outputTokens": 20 });
    json!({ "reply": "session/prompt", "result": { "stopReason": "end_turn", "usage": count,
        "_meta": { "quota": { "token_count": count } } } })
}

fn opens() -> Vec<Value> {
    let mut steps = initialized(json!({ "loadSession": true }), json!([]));
    steps.push(json!({ "expect": "session/new" }));
    steps.push(json!({ "reply": "session/new", "result": { "sessionId": "s1" } }));
    steps
}

fn loads() -> Vec<Value> {
    let mut steps = initialized(json!({ "loadSession": true }), json!([]));
    steps.push(json!({ "expect": "session/load" }));
    // As codex does: what is told with the session was used up before, in part elsewhere.
    steps.push(costs(0.30, "USD"));
    steps.push(json!({ "reply": "session/load", "result": null }));
    steps
}

fn turn(cost: f64, tokens: u64) -> Vec<Value> {
    vec![prompt(), costs(cost, "USD"), ends_with(tokens)]
}

fn all(groups: impl IntoIterator<Item = Vec<Value>>) -> Vec<Value> {
    groups.into_iter().flatten().collect()
}

/// A Neovim with the state of another one.
fn beside(first: &Scripted, steps: Vec<Value>) -> Scripted {
    let state = first.nvim.home().join("state").to_string_lossy().into_owned();
    Scripted::with_env(&[], steps, |_| vec![("XDG_STATE_HOME".into(), state)])
}

fn folder(nvim: &Nvim) -> PathBuf {
    nvim.home().join("state/nvim/acp/usage")
}

/// What is kept on the disk.
fn kept(nvim: &Nvim) -> String {
    let files = std::fs::read_dir(folder(nvim)).into_iter().flatten().flatten();
    files.filter_map(|file| std::fs::read_to_string(file.path()).ok()).collect()
}

/// Sends a prompt and waits until its turn is over, and kept as the one of this number.
fn ask(chat: &mut Scripted, text: &str) {
    chat.send(text);
    chat.nvim.wait_until(
        |nvim| {
            let code = "local session = require('acp').status().sessions[1]
                        return session.state == 'idle' and
                          table.concat(vim.api.nvim_buf_get_lines(session.buffer, 0, -1, false), '\\n') or ''";
            let transcript = nvim.exec_lua(code, []).as_str().unwrap_or_default().to_owned();
            transcript.rfind(text).is_some_and(|at| transcript[at..].contains(" · "))
        },
        "the turn to end",
    );
}

fn wait_kept(nvim: &mut Nvim, home: &Kept, text: &str) {
    let folder = home.0.clone();
    nvim.wait_until(
        |_| {
            let files = std::fs::read_dir(&folder).into_iter().flatten().flatten();
            files.filter_map(|file| std::fs::read_to_string(file.path()).ok()).any(|all| all.contains(text))
        },
        "it to be kept",
    );
}

/// Where a Neovim keeps its numbers.
struct Kept(PathBuf);

/// Opens the page and gives its text.
fn page(nvim: &mut Nvim) -> String {
    nvim.stop_insert();
    nvim.command("Acp usage");
    nvim.wait_until(
        |nvim| nvim.exec_lua("return vim.bo.filetype", []).as_str() == Some("acp-usage"),
        "the page to open",
    );
    let text = nvim.buffer_text(0);
    nvim.input("q");
    nvim.wait_until(
        |nvim| nvim.exec_lua("return vim.bo.filetype", []).as_str() != Some("acp-usage"),
        "the page to close",
    );
    text
}

/// The line of an agent below a title.
fn line(page: &str, title: &str, agent: &str) -> String {
    let below = page.split(title).nth(1).unwrap_or_else(|| panic!("no {title:?} in {page}"));
    let line = below.lines().skip(1).take_while(|line| !line.is_empty()).find(|line| line.contains(agent));
    let line = line.unwrap_or_else(|| panic!("no {agent:?} below {title:?} in {page}"));
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_page_goes_along_with_a_turn_while_it_is_open_and_fits_the_screen() {
    let steps = all([opens(), turn(0.25, 100), vec![prompt(), costs(0.75, "USD"), prompt()]]);
    let mut chat = Scripted::new(&[], steps);
    chat.chat();
    ask(&mut chat, "first");
    chat.nvim.stop_insert();
    chat.nvim.command("wincmd h");
    chat.nvim.command("Acp usage");
    // The chat's bar has the same sum.
    chat.nvim.wait_for_screen("cost      $0.25");
    chat.nvim.command("split | wincmd p");
    // The turn goes on below the page.
    chat.nvim.exec_lua("require('acp').send('second')", []);
    chat.nvim.wait_for_screen("$0.75");
    chat.nvim.wait_until(
        |nvim| {
            let wins = "return #vim.fn.win_findbuf(vim.api.nvim_get_current_buf())";
            nvim.exec_lua(wins, []) == 2.into()
        },
        "both windows to show it",
    );
    chat.nvim.command("Acp usage");
    let shown = "local count = 0
         for _, win in ipairs(vim.api.nvim_list_wins()) do
           if vim.bo[vim.api.nvim_win_get_buf(win)].filetype == 'acp-usage' then count = count + 1 end
         end
         return count";
    assert_eq!(chat.nvim.exec_lua(shown, []), 2.into(), "it is not opened once more");
    chat.nvim.resize(60, 14);
    let fits = "local fits = true
         for _, win in ipairs(vim.api.nvim_list_wins()) do
           local config = vim.api.nvim_win_get_config(win)
           if config.relative ~= '' and vim.bo[vim.api.nvim_win_get_buf(win)].filetype == 'acp-usage' then
             fits = config.row + config.height <= 13 and config.col + config.width <= 58
           end
         end
         return fits";
    chat.nvim.wait_until(|nvim| nvim.exec_lua(fits, []) == true.into(), "it to fit the screen");
}

#[test]
fn the_page_says_first_how_it_fills_and_then_what_was_used_up() {
    let mut chat = Scripted::new(&[], all([opens(), turn(0.10, 120), turn(0.25, 130)]));
    let empty = page(&mut chat.nvim);
    assert!(empty.contains("There is none yet") && empty.contains("Nothing yet."), "{empty}");
    chat.chat();
    ask(&mut chat, "one");
    ask(&mut chat, "two");
    let folder = Kept(folder(&chat.nvim));
    wait_kept(&mut chat.nvim, &folder, "130");
    let page = page(&mut chat.nvim);
    assert!(page.contains("This session, Fake"), "{page}");
    assert_eq!(line(&page, "This session", "cost"), "cost $0.25");
    assert_eq!(line(&page, "This session", "tokens"), "tokens 250 · 210 in · 40 out");
    assert_eq!(line(&page, "Today", "Fake"), "Fake $0.25 250 tokens 2 turns 1 session");
    assert_eq!(line(&page, "This month", "Fake"), "Fake $0.25 250 tokens 2 turns 1 session");
}

#[test]
fn a_session_that_is_loaded_in_another_neovim_counts_nothing_twice() {
    let mut first = Scripted::new(&[], all([opens(), turn(0.25, 120)]));
    first.chat();
    ask(&mut first, "one");
    let folder = Kept(folder(&first.nvim));
    wait_kept(&mut first.nvim, &folder, "120");
    let cwd = first.project.path().to_string_lossy().into_owned();
    first.nvim.kill9();
    let mut second = beside(&first, all([loads(), turn(0.45, 130)]));
    second.nvim.command(&format!("cd {cwd} | Acp resume"));
    second.nvim.wait_for_screen("Fake 1.0");
    ask(&mut second, "two");
    wait_kept(&mut second.nvim, &folder, "130");
    let page = page(&mut second.nvim);
    assert_eq!(line(&page, "This session", "cost"), "cost $0.40 here; $0.45 in all, its agent says");
    assert_eq!(line(&page, "Today", "Fake"), "Fake $0.40 250 tokens 2 turns 1 session");
    let transcript = second.transcript();
    assert!(transcript.contains("130 tokens · $0.15"), "the turn has cost what is new: {transcript}");
}

#[test]
fn two_neovims_at_once_and_two_currencies_are_added_up() {
    let mut first = Scripted::new(&[], all([opens(), turn(0.25, 120)]));
    let mut euros = opens();
    euros[3]["result"]["sessionId"] = "s2".into();
    let mut cost = costs(0.5, "EUR");
    cost["send"]["params"]["sessionId"] = "s2".into();
    let mut second = beside(&first, all([euros, vec![prompt(), cost, ends_with(130)]]));
    first.chat();
    second.chat();
    ask(&mut first, "one");
    ask(&mut second, "two");
    let folder = Kept(folder(&first.nvim));
    wait_kept(&mut first.nvim, &folder, "130");
    wait_kept(&mut first.nvim, &folder, "120");
    for nvim in [&mut first.nvim, &mut second.nvim] {
        let page = page(nvim);
        assert_eq!(line(&page, "Today", "Fake"), "Fake $0.25 + 0.50 EUR 250 tokens 2 turns 2 sessions");
    }
}

#[test]
fn days_begin_where_the_user_is_and_what_is_broken_is_left_out_and_said() {
    let mut chat = Scripted::new(&[], Vec::new());
    let now: u64 = chat.nvim.exec_lua("return os.time()", []).as_u64().expect("a time") * 1000;
    let midnight: u64 = chat
        .nvim
        .exec_lua(
            "local t = os.date('*t') t.hour, t.min, t.sec, t.isdst = 0, 0, 0, nil return os.time(t)",
            [],
        )
        .as_u64()
        .expect("a time")
        * 1000;
    let kept = |at: u64, agent: &str| {
        json!({ "at": at, "agent": agent, "session": "s", "told": { "costs": [], "tokens": null },
            "spent": { "costs": [{ "amount": 1.5, "currency": "USD" }], "tokens": null, "turns": 1,
                "at_least": false } })
    };
    let text = format!("{}\nno json\n{}\n", kept(midnight - 1000, "before"), kept(midnight, "since"));
    let period = now / (30 * 86_400_000);
    std::fs::create_dir_all(folder(&chat.nvim)).expect("a folder");
    std::fs::write(folder(&chat.nvim).join(format!("{period}.jsonl")), text).expect("a file");
    let text = page(&mut chat.nvim);
    assert!(text.contains("1 line of what was kept can't be read"), "{text}");
    let today = text.split("Today").nth(1).and_then(|rest| rest.split("\n\n").next()).unwrap_or_default();
    assert!(today.contains("since") && !today.contains("before"), "{text}");
    // A folder that is no folder.
    std::fs::remove_dir_all(folder(&chat.nvim)).expect("to be removed");
    std::fs::write(folder(&chat.nvim), "in the way").expect("a file");
    let text = page(&mut chat.nvim);
    assert!(text.contains("Couldn't read what was used up in"), "{text}");
}

#[test]
fn an_agent_that_tells_nothing_is_listed_and_nothing_is_kept_without_leave() {
    let silent = json!({ "reply": "session/prompt", "result": { "stopReason": "end_turn" } });
    let mut chat = Scripted::new(&[], all([opens(), vec![prompt(), silent]]));
    chat.chat();
    ask(&mut chat, "one");
    let folder = Kept(folder(&chat.nvim));
    wait_kept(&mut chat.nvim, &folder, "\"turns\":1");
    let text = page(&mut chat.nvim);
    assert_eq!(line(&text, "Today", "Fake"), "Fake tells no numbers 1 turn 1 session");
    assert!(text.contains("Its agent tells neither cost nor tokens."), "{text}");

    let mut chat = Scripted::new(&[], all([opens(), turn(0.25, 120)]));
    chat.configure("record = false");
    chat.chat();
    ask(&mut chat, "one");
    let text = page(&mut chat.nvim);
    assert!(text.contains("`record` is off") && text.contains("$0.25"), "{text}");
    chat.nvim.quit();
    assert_eq!(kept(&chat.nvim), "");
}

#[test]
fn a_rate_limit_that_is_near_is_in_the_bar_and_on_the_page() {
    let limit = |status: &str, used: f64| {
        let limit = json!({ "status": status, "utilization": used, "rateLimitType": "five_hour",
            "resetsAt": 4_000_000_000_u64 });
        update(json!({ "sessionUpdate": "usage_update", "used": 1, "size": 1000,
            "_meta": { "_claude/rateLimit": limit } }))
    };
    let turns = [
        vec![prompt(), limit("allowed", 0.3), ends_with(120)],
        vec![prompt(), limit("allowed_warning", 0.82), ends_with(120)],
    ];
    let mut chat = Scripted::new(&[], all([vec![opens()], turns.into()].concat()));
    chat.chat();
    ask(&mut chat, "one");
    assert!(!chat.nvim.screen().contains("limit"), "{}", chat.nvim.screen());
    assert!(page(&mut chat.nvim).contains("5 hours · 30% used · begins anew 20"));
    chat.nvim.input("i");
    ask(&mut chat, "two");
    chat.nvim.wait_for_screen("limit 82%");
    assert!(page(&mut chat.nvim).contains("5 hours · 82% used · begins anew 20"));
}

#[test]
fn the_page_fits_a_small_screen_and_a_large_one() {
    for (columns, rows) in [(80, 24), (140, 40)] {
        let mut nvim = Nvim::start(Options { columns, rows, ..Options::default() });
        nvim.command("Acp usage");
        nvim.wait_for_screen("Usage, as agents tell it");
        nvim.assert_screen(&format!("usage_{columns}x{rows}"));
    }
}
