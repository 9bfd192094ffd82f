//! Whatever is said, in one tick or a moment apart, in each mode and on each screen: Neovim never waits for a key that
//! nobody asked for, the keys typed next do what they are for, and each message can be read later. Each mode comes with
//! each screen, and with each message. `ACP_SAYINGS_SEED` draws the rest; with `ACP_SAYINGS` so many cases are drawn.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use std::time::{Duration, Instant};

use rmpv::Value;
use serde_json::json;

use support::script::{Scripted, ends, permission, prompt, says, steps};

/// What a user is in the middle of.
struct Mode {
    name: &'static str,
    /// How one gets there, from normal mode in a file whose lines are "one", "two", "three".
    enter: &'static str,
    /// `nvim_get_mode().mode` there.
    is: &'static str,
    /// What is typed next, and what is true then.
    then: &'static str,
    holds: &'static str,
}

const MODES: [Mode; 18] = [
    Mode { name: "normal", enter: "", is: "n", then: "Ax<Esc>", holds: "vim.fn.getline(1) == 'onex'" },
    Mode { name: "insert", enter: "A", is: "i", then: "x<Esc>", holds: "vim.fn.getline(1) == 'onex'" },
    Mode {
        name: "insert, one command",
        enter: "A<C-o>",
        is: "niI",
        then: "0x<Esc>",
        holds: "vim.fn.getline(1) == 'xone'",
    },
    Mode {
        name: "completion",
        enter: "ot<C-n>",
        is: "ic",
        then: "<C-e>x<Esc>",
        holds: "vim.fn.getline(2) == 'tx'",
    },
    Mode { name: "replace", enter: "R", is: "R", then: "x<Esc>", holds: "vim.fn.getline(1) == 'xne'" },
    Mode { name: "visual", enter: "V", is: "V", then: "jd", holds: "vim.fn.getline(1) == 'three'" },
    Mode { name: "block", enter: "<C-v>j", is: "\u{16}", then: "d", holds: "vim.fn.getline(2) == 'wo'" },
    Mode { name: "select", enter: "gh", is: "s", then: "x<Esc>", holds: "vim.fn.getline(1) == 'xne'" },
    Mode { name: "operator", enter: "d", is: "no", then: "d", holds: "vim.fn.getline(1) == 'two'" },
    Mode { name: "count", enter: "2", is: "n", then: "dd", holds: "vim.fn.getline(1) == 'three'" },
    Mode {
        name: "command line",
        enter: ":let g:typed = 4",
        is: "c",
        then: "2<CR>",
        holds: "vim.g.typed == 42",
    },
    Mode {
        name: "input()",
        enter: ":let g:typed = input('> ')<CR>",
        is: "c",
        then: "42<CR>",
        holds: "vim.g.typed == '42'",
    },
    Mode { name: "search", enter: "/thr", is: "c", then: "ee<CR>", holds: "vim.fn.line('.') == 3" },
    Mode {
        name: "command-line window",
        enter: "q:",
        is: "n",
        then: "ilet g:typed = 42<CR>",
        holds: "vim.g.typed == 42",
    },
    Mode {
        name: "terminal",
        enter: ":enew | terminal cat<CR>i",
        is: "t",
        then: "typed<CR>",
        holds: "#vim.tbl_filter(function(l) return l:find('typed') end, vim.fn.getline(1, '$')) > 0",
    },
    Mode {
        name: "getchar",
        enter: ":let g:typed = getchar()<CR>",
        is: "n",
        then: "z",
        holds: "vim.g.typed == 122",
    },
    Mode {
        name: "more-prompt",
        enter: ":for i in range(200) | echo i | endfor<CR>",
        is: "rm",
        then: "Ax<Esc>",
        holds: "vim.fn.getline(1) == 'onex'",
    },
    Mode {
        name: "recording",
        enter: "qa",
        is: "n",
        then: "Ax<Esc>q",
        holds: "vim.fn.getline(1) == 'onex' and vim.fn.getreg('a') == 'Ax' .. vim.keycode('<Esc>')",
    },
];

/// Screens and how Neovim shows messages on them.
const SCREENS: [(u16, u16, &str); 10] = [
    (80, 24, ""),
    (140, 40, "set cmdheight=2 ruler showcmd"),
    (80, 24, "set laststatus=0 shortmess="),
    (80, 24, "set shortmess=aoOTIcFWAs cmdheight=3"),
    (40, 10, "set noshowmode laststatus=3"),
    (80, 24, "set cmdheight=0"),
    (60, 15, "set cmdheight=0 laststatus=0 showcmd"),
    (20, 5, "set cmdheight=0 laststatus=3 shortmess="),
    (20, 5, ""),
    (12, 6, "set laststatus=0 showcmd ruler"),
];

/// What may be said: Lua that has the plugin say it, and a part of what can be read later.
const SAYINGS: [(&str, &str); 23] = [
    ("tell('the agent is gone', 4)", "the agent is gone"),
    ("tell('the agent is gone', 4) tell('the agent is gone', 4)", "the agent is gone"),
    ("tell('it ended: ' .. ('late words '):rep(60), 4)", "it ended: late words"),
    ("tell(('\u{65e5}\u{672c}\u{8a9e}'):rep(50), 3)", "\u{65e5}\u{672c}"),
    ("tell('one\\ntwo\\27[31m\\r three', 2)", "one"),
    ("tell('noted', 2)", "noted"),
    ("vim.cmd('Acp bogus')", "no subcommand"),
    ("vim.cmd('Acp allow')", "nothing waits for your permission"),
    ("vim.cmd('Acp reject x')", "nothing waits for your permission"),
    ("vim.cmd('Acp terminal frob')", "acp: "),
    ("vim.cmd('Acp follow frob')", "follow takes on, off"),
    ("vim.cmd('Acp locations frob')", "locations takes"),
    ("vim.cmd('Acp export /')", "acp: "),
    ("vim.cmd('Acp export /nowhere/at/all/x.md')", "acp: "),
    ("vim.cmd('AcpChat nobody')", "nobody"),
    ("vim.cmd('Acp mode frob')", "acp: "),
    ("vim.cmd('Acp config frob')", "acp: "),
    ("vim.cmd('Acp login frob')", "acp: "),
    ("vim.cmd('Acp keep')", "acp: "),
    ("vim.cmd('Acp undo')", "acp: "),
    ("vim.cmd('Acp build frob')", "release or cargo"),
    ("require('acp').send('see @gone.txt:8 and @a.txt:80')", "acp: "),
    ("vim.cmd('Acp restart') vim.cmd('Acp stop')", ""),
];

/// A generator of numbers, so that a case can be tried again.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn editor() -> Scripted {
    let call = json!({ "toolCallId": "1", "title": "Edit a.txt", "kind": "edit" });
    let steps = steps([prompt(), says("hm"), permission("p", call), ends("end_turn")]);
    let mut chat = Scripted::new(&[("a.txt", "one\n")], steps);
    chat.chat();
    chat.nvim.stop_insert();
    chat.nvim.exec_lua(
        "_G.tell = function(...) require('acp.notify').show(...) end
         vim.cmd('wincmd h | enew')
         _G.home = vim.api.nvim_get_current_buf()
         vim.bo.swapfile = false",
        [],
    );
    chat
}

/// Back in normal mode, alone in the file with its three lines.
fn at_home(chat: &mut Scripted) {
    chat.nvim.input("<C-\\><C-n><Esc>");
    chat.nvim.wait_until(|nvim| nvim.mode().name.starts_with('n') && !nvim.mode().blocking, "normal mode");
    chat.nvim.exec_lua(
        "vim.o.shortmess = 'ltToOCFI'
         pcall(vim.cmd, 'silent! close')
         vim.cmd('silent! only!')
         vim.api.nvim_set_current_buf(_G.home)
         for _, buf in ipairs(vim.api.nvim_list_bufs()) do
           if vim.bo[buf].buftype == 'terminal' then vim.api.nvim_buf_delete(buf, { force = true }) end
         end
         vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'one', 'two', 'three' })
         vim.api.nvim_win_set_cursor(0, { 1, 0 })
         vim.g.typed, _G.finished = nil, 0
         if vim.fn.reg_recording() ~= '' then vim.cmd('normal! q') end
         vim.cmd('silent! messages clear')
         vim.cmd('redraw!')",
        [],
    );
}

/// What is said in a case, in which order and after how many milliseconds: what is said after the same time is said in
/// one tick.
fn told(numbers: &mut Numbers, first: usize) -> Vec<((&'static str, &'static str), usize)> {
    let mut said: Vec<_> = (0..3).map(|next| SAYINGS[(first + next) % SAYINGS.len()]).collect();
    said.rotate_left(numbers.below(3));
    said.into_iter().map(|saying| (saying, [0, 0, 1, 30, 70][numbers.below(5)])).collect()
}

#[expect(clippy::too_many_lines, reason = "one story, told in order")]
fn one_case(chat: &mut Scripted, mode: &Mode, screen: (u16, u16, &str), first: usize, numbers: &mut Numbers) {
    let (columns, rows, options) = screen;
    let said = told(numbers, first);
    let count = said.len();
    let case = format!("{} on {columns}x{rows} with {options:?}: {said:?}", mode.name);
    at_home(chat);
    chat.nvim.resize(columns, rows);
    if columns >= 80 && numbers.below(2) == 0 {
        chat.nvim.exec_lua(
            "require('acp').chat() vim.cmd.stopinsert() vim.fn.win_gotoid(vim.fn.win_findbuf(_G.home)[1])",
            [],
        );
        chat.nvim.wait_until(|nvim| nvim.mode().name == "n", "normal mode beside the chat");
    }
    chat.nvim.command("set cmdheight=1 laststatus=2 showmode noruler noshowcmd shortmess=ltToOCFI");
    if !options.is_empty() {
        chat.nvim.command(options);
    }
    let mut ticks = std::collections::BTreeMap::<usize, String>::new();
    for ((code, _), delay) in &said {
        let each = format!("pcall(function() {code} end) _G.finished = _G.finished + 1\n");
        ticks.entry(*delay).or_default().push_str(&each);
    }
    let timer = |(delay, code)| {
        format!("vim.uv.new_timer():start(40 + {delay}, 0, vim.schedule_wrap(function() {code} end))\n")
    };
    let code: String = ticks.iter().map(timer).collect();
    chat.nvim.exec_lua(&code, []);
    chat.nvim.input(mode.enter);
    let waits = matches!(mode.name, "getchar" | "more-prompt" | "operator" | "count");
    let began = Instant::now();
    let mut was = chat.nvim.mode();
    while was.name != mode.is && began.elapsed() < Duration::from_secs(2) {
        was = chat.nvim.mode();
    }
    assert_eq!(was.name, mode.is, "{case}");
    // Neovim answers nothing but this while it waits for a key.
    let check = |nvim: &mut support::Nvim, when: &str| {
        let now = nvim.mode();
        let is_prompt = now.name.starts_with('r') && mode.is != "rm" || now.blocking && !waits;
        assert!(!is_prompt, "{now:?} {when}: {case}\n{}", nvim.screen());
        now
    };
    if waits {
        chat.nvim.wait_until(
            |nvim| {
                check(nvim, "while it waits");
                began.elapsed() > Duration::from_millis(160)
            },
            "a while",
        );
    } else {
        chat.nvim.wait_until(
            |nvim| {
                let now = check(nvim, "while it is said");
                now.blocking || nvim.exec_lua("return _G.finished", []) == Value::from(count)
            },
            &case,
        );
        let over = Instant::now();
        chat.nvim.wait_until(
            |nvim| {
                check(nvim, "afterwards");
                over.elapsed() > Duration::from_millis(30)
            },
            "a moment",
        );
    }
    if mode.is == "rm" {
        // What was listed has scrolled the screen, so Neovim asks for one more key, with or without us.
        chat.nvim.input("q");
        chat.nvim.wait_until(|nvim| nvim.mode().name != "rm", "the more-prompt to end");
        if chat.nvim.mode().name.starts_with('r') {
            chat.nvim.input("<CR>");
        }
        chat.nvim.wait_until(|nvim| nvim.mode().name == "n", "normal mode");
    }
    chat.nvim.input(mode.then);
    let holds = format!("return {} and _G.finished == {count}", mode.holds);
    let began = Instant::now();
    chat.nvim.wait_until(
        |nvim| {
            let now = nvim.mode();
            let gone = Duration::from_millis(600);
            assert!(
                !(now.name.starts_with('r') && began.elapsed() > gone),
                "{now:?} after the keys: {case}\n{}",
                nvim.screen()
            );
            !now.blocking && nvim.exec_lua(&holds, []) == true.into()
        },
        &format!("the keys to do what they are for: {case}"),
    );
    let mut missing = String::new();
    chat.nvim.wait_until(
        |nvim| {
            let now = nvim.mode();
            assert!(
                !now.name.starts_with('r') && !now.blocking,
                "{now:?} at the end: {case}\n{}",
                nvim.screen()
            );
            let messages = nvim.messages().replace('\n', "");
            missing = said
                .iter()
                .map(|((_, part), _)| *part)
                .find(|part| !messages.contains(part))
                .unwrap_or_default()
                .into();
            missing.is_empty() || began.elapsed() > Duration::from_secs(3)
        },
        "the messages",
    );
    assert!(missing.is_empty(), "{missing:?} is not in :messages: {case}\n{}", chat.nvim.messages());
}

/// What was searched for stays in the last line, and Neovim itself waits for a key if it has no room there.
fn is_neovims_own(mode: &Mode, (columns, ..): (u16, u16, &str)) -> bool {
    mode.name == "search" && columns < 20
}

/// Each mode on these screens. The messages go on from screen to screen, so that each mode comes with all of them.
fn each_mode_on(screens: std::ops::Range<usize>) {
    let seed = number("ACP_SAYINGS_SEED").unwrap_or(1);
    let mut numbers = Numbers(seed);
    let mut chat = editor();
    for screen in screens {
        for (at, mode) in MODES.iter().enumerate() {
            if is_neovims_own(mode, SCREENS[screen]) {
                continue;
            }
            one_case(&mut chat, mode, SCREENS[screen], at * 7 + screen * 3, &mut numbers);
        }
    }
}

#[test]
fn whatever_is_said_neovim_never_waits_for_a_key_on_usual_screens() {
    each_mode_on(0..2);
}

#[test]
fn whatever_is_said_neovim_never_waits_for_a_key_on_small_screens() {
    each_mode_on(2..5);
}

#[test]
fn whatever_is_said_neovim_never_waits_for_a_key_without_a_command_line() {
    each_mode_on(5..8);
}

#[test]
fn whatever_is_said_neovim_never_waits_for_a_key_on_tiny_screens() {
    each_mode_on(8..10);
}

/// As many cases as one has time for.
#[test]
fn whatever_is_drawn_neovim_never_waits_for_a_key() {
    let Some(cases) = number("ACP_SAYINGS") else { return };
    let seed = number("ACP_SAYINGS_SEED").unwrap_or(1);
    let only = std::env::var("ACP_SAYINGS_MODE").ok();
    let mut numbers = Numbers(seed);
    let mut chat = editor();
    for case in 0..cases {
        eprintln!("case {case} of seed {seed}");
        let drawn = &MODES[numbers.below(MODES.len())];
        let mode = MODES.iter().find(|mode| Some(mode.name) == only.as_deref()).unwrap_or(drawn);
        let screen = SCREENS[numbers.below(SCREENS.len())];
        let first = numbers.below(SAYINGS.len());
        if !is_neovims_own(mode, screen) {
            one_case(&mut chat, mode, screen, first, &mut numbers);
        }
    }
}

/// An agent that asks, and goes before it is answered; a line of it that is no message, and one too many.
#[test]
fn an_agent_that_goes_in_the_midst_of_a_question_asks_for_no_key() {
    let call = json!({ "toolCallId": "1", "title": "Edit a.txt ".repeat(20), "kind": "edit" });
    let ending = [
        prompt(),
        says("hm"),
        json!({ "raw": "{\"jsonrpc\": 2\n" }),
        json!({ "send": { "id": 77, "method": "no/such", "params": {} } }),
        permission("p", call),
        json!({ "stderr": "cannot go on: ".repeat(30) }),
        json!({ "exit": 3 }),
    ];
    for mode in
        MODES.iter().filter(|mode| ["normal", "insert", "command line", "getchar"].contains(&mode.name))
    {
        for (columns, rows, options) in [SCREENS[0], SCREENS[2], SCREENS[5]] {
            let case = format!("{} on {columns}x{rows} with {options:?}", mode.name);
            let mut chat = Scripted::sized(&[], steps(ending.clone()), columns, rows);
            chat.chat();
            chat.nvim.stop_insert();
            chat.nvim.command("wincmd h | enew | call setline(1, ['one', 'two', 'three'])");
            if !options.is_empty() {
                chat.nvim.command(options);
            }
            chat.nvim.exec_lua(
                "vim.uv.new_timer():start(60, 0, vim.schedule_wrap(function()
                   require('acp').send('go')
                   vim.defer_fn(function() require('acp').answer('allow') end, 25)
                   vim.defer_fn(function() require('acp').send('again') end, 120)
                 end))
                 _G.finished = 0",
                [],
            );
            chat.nvim.input(mode.enter);
            let began = Instant::now();
            chat.nvim.wait_until(
                |nvim| {
                    let now = nvim.mode();
                    assert!(!now.name.starts_with('r'), "{now:?} while it goes: {case}\n{}", nvim.screen());
                    began.elapsed() > Duration::from_millis(500)
                },
                "a while",
            );
            chat.nvim.input(mode.then);
            chat.nvim.wait_until(
                |nvim| {
                    let now = nvim.mode();
                    assert!(!now.name.starts_with('r'), "{now:?} after the keys: {case}\n{}", nvim.screen());
                    nvim.exec_lua(&format!("return {}", mode.holds), []) == true.into()
                },
                &case,
            );
            chat.nvim.wait_until(|nvim| !nvim.messages().is_empty(), "a message");
        }
    }
}

#[test]
fn a_plugin_that_wraps_its_notifications_gets_them() {
    let mut chat = editor();
    chat.nvim.exec_lua(
        "_G.said = {}
         vim.notify = vim.schedule_wrap(function(text) table.insert(_G.said, text) end)
         _G.tell('by the plugin', vim.log.levels.WARN)
         vim.notify = setmetatable({}, { __call = function(_, text) table.insert(_G.said, text) end })
         _G.tell('by a table', vim.log.levels.WARN)",
        [],
    );
    chat.nvim.wait_until(
        |nvim| {
            let said = nvim.exec_lua("return table.concat(_G.said, ', ')", []);
            said.as_str() == Some("acp: by a table, acp: by the plugin")
        },
        "both plugins to be told",
    );
}

#[test]
fn what_draws_messages_in_windows_of_its_own_is_told_once() {
    let mut chat = editor();
    for plugin in [
        "package.loaded['vim._core.ui2'] = { cfg = { enable = true } }",
        "package.loaded['noice.config'] = { is_running = function() return true end }",
    ] {
        let count = "local echo, said = vim.api.nvim_echo, {}
            vim.api.nvim_echo = function(chunks, ...) said[#said + 1] = chunks[1][1] end
            _G.tell('a message', vim.log.levels.WARN)
            vim.wait(2000, function() return #said > 0 end)
            vim.api.nvim_echo = echo
            return table.concat(said, ', ')";
        let said = chat.nvim.exec_lua(&format!("{plugin} {count}"), []);
        assert_eq!(said.as_str(), Some("acp: a message"), "{plugin}");
        chat.nvim.exec_lua("package.loaded['vim._core.ui2'], package.loaded['noice.config'] = nil, nil", []);
    }
}
