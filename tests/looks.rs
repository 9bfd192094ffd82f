//! What the screens look like beside the transcript: colours that can be read, names of buffers, the small pages of
//! commands and keys, what stands beside a line.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use serde_json::json;
use support::Nvim;
use support::script::{Scripted, ends, permission, prompt, runs, says, steps, update, writes};

const FIVE: &[(&str, &str)] = &[("a.txt", "one\ntwo\nthree\nfour\nfive\n")];

/// An agent that has changed a file, which is on the screen with the cursor in it.
fn changed() -> Scripted {
    let mut all = vec![prompt()];
    all.extend(writes("a.txt", "one\nTWO\nthree\nfour\nfive\n"));
    all.extend([says("# First\n\n## Second"), ends("end_turn")]);
    let mut chat = Scripted::new(FIVE, steps(all));
    chat.change_beside("a.txt");
    chat.nvim.wait_for_screen("- two");
    chat
}

// Colours.

fn ratio(one: u64, other: u64) -> f64 {
    let luminance = |colour: u64| {
        let part = |shift: u64| {
            let value = (colour >> shift & 0xff) as f64 / 255.0;
            if value <= 0.03928 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * part(16) + 0.7152 * part(8) + 0.0722 * part(0)
    };
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

/// What xterm shows for the numbers of a terminal's colours.
fn of_256(number: u64) -> u64 {
    const SIXTEEN: [u64; 16] = [
        0x000000, 0xcd0000, 0x00cd00, 0xcdcd00, 0x0000ee, 0xcd00cd, 0x00cdcd, 0xe5e5e5, 0x7f7f7f, 0xff0000,
        0x00ff00, 0xffff00, 0x5c5cff, 0xff00ff, 0x00ffff, 0xffffff,
    ];
    let level = |step: u64| if step == 0 { 0 } else { 55 + step * 40 };
    match number {
        0..16 => SIXTEEN[number as usize],
        16..232 => {
            let at = number - 16;
            level(at / 36) << 16 | level(at / 6 % 6) << 8 | level(at % 6)
        }
        _ => (8 + (number - 232) * 10) * 0x010101,
    }
}

#[test]
fn every_group_can_be_read_on_every_stock_scheme_light_and_dark_with_and_without_true_colours() {
    let mut chat = Scripted::new(&[], steps([]));
    chat.chat();
    let schemes = chat.nvim.exec_lua("return vim.fn.getcompletion('', 'color')", []);
    let schemes: Vec<String> = schemes
        .as_array()
        .expect("a list")
        .iter()
        .map(|name| name.as_str().expect("a name").to_owned())
        .collect();
    assert!(schemes.len() > 20, "{schemes:?}");
    // Text and background of each group, as a screen of true colours and as one of 256 has them.
    let code = "local scheme, background = ...
        vim.o.background = background
        vim.cmd.colorscheme(scheme)
        vim.o.background = background
        local dark = vim.o.background == 'dark'
        local function looks(name)
          return vim.api.nvim_get_hl(0, { name = name, link = false })
        end
        local normal, all = looks('Normal'), {}
        -- The bars of the chat, of terminals and of pages. One whose background is another one altogether is not for the
        -- same text.
        local bars, bars_256 = {}, {}
        for _, name in ipairs({ 'WinBar', 'WinBarNC' }) do
          local bar = looks(name)
          local cterm = bar.cterm or {}
          if bar.reverse then bars[#bars + 1] = bar.fg else bars[#bars + 1] = bar.bg end
          if cterm.reverse then bars_256[#bars_256 + 1] = bar.ctermfg else bars_256[#bars_256 + 1] = bar.ctermbg end
        end
        for _, name in ipairs(vim.fn.getcompletion('Acp', 'highlight')) do
          local own = looks(name)
          local cterm = own.cterm or {}
          local fg, bg = own.fg or normal.fg or (dark and 0xffffff or 0), own.bg or normal.bg or (dark and 0 or 0xffffff)
          local cfg = own.ctermfg or normal.ctermfg or (dark and 15 or 0)
          local cbg = own.ctermbg or normal.ctermbg or (dark and 0 or 15)
          if own.reverse then fg, bg = bg, fg end
          if cterm.reverse then cfg, cbg = cbg, cfg end
          all[#all + 1] = { name, fg, bg, cfg, cbg, own.bg and {} or bars, own.ctermbg and {} or bars_256 }
        end
        return all";
    let mut bad = Vec::new();
    let mut seen = 0;
    for (scheme, background) in schemes.iter().flat_map(|scheme| ["dark", "light"].map(|it| (scheme, it))) {
        let groups = chat.nvim.exec_lua(code, [scheme.as_str().into(), background.into()]);
        for group in groups.as_array().expect("a list") {
            let name = group[0].as_str().expect("a name");
            // What commands print on a background is theirs.
            if name.starts_with("AcpOn") {
                continue;
            }
            seen += 1;
            let number = |at: usize| group[at].as_u64().expect("a colour");
            let bars = |at: usize| -> Vec<u64> {
                group[at].as_array().into_iter().flatten().filter_map(|bar| bar.as_u64()).collect()
            };
            let is_dark = |colour: u64| ratio(0xffffff, colour) > ratio(0, colour);
            let least = |text: u64, behind: u64, bars: Vec<u64>| {
                let alike = bars.into_iter().filter(|bar| is_dark(*bar) == is_dark(behind));
                alike.chain([behind]).map(|behind| ratio(text, behind)).fold(f64::MAX, f64::min)
            };
            let bars_256 = bars(6).into_iter().map(of_256).collect();
            let gui = least(number(1), number(2), bars(5));
            let cterm = least(of_256(number(3)), of_256(number(4)), bars_256);
            if gui < 4.5 || cterm < 4.5 {
                bad.push(format!("{scheme} {background} {name}: {gui:.1}, {cterm:.1}"));
            }
        }
    }
    assert!(seen > 1000 && bad.is_empty(), "of {seen}: {bad:#?}");
}

/// Every pair of a stock colour scheme and a background.
fn schemes(nvim: &mut Nvim) -> Vec<(String, &'static str)> {
    let found = nvim.exec_lua("return vim.fn.getcompletion('', 'color')", []);
    let names =
        found.as_array().expect("a list").iter().map(|name| name.as_str().expect("a name").to_owned());
    let all: Vec<_> = names.flat_map(|name| ["dark", "light"].map(|it| (name.clone(), it))).collect();
    assert!(all.len() > 40, "{all:?}");
    all
}

#[test]
fn proposed_code_can_be_read_on_every_stock_scheme() {
    let old = "local function greet(name)\n  return name\nend\n";
    let new = "local function greet(name)\n  -- About the name.\n  name = name or 'nobody'\n  \
               return ('%s!'):format(name, 12, true)\nend\n";
    let content = json!([{ "type": "diff", "path": "$PROJECT/a.lua", "oldText": old, "newText": new }]);
    let call = json!({ "toolCallId": "c", "title": "Edit a.lua", "kind": "edit", "content": content });
    let mut chat = Scripted::sized(&[("a.lua", old)], steps([prompt(), permission("p", call)]), 120, 30);
    chat.configure("permission = { open = 'never' }");
    chat.nvim.command("set termguicolors | edit a.lua");
    chat.chat();
    chat.send("go");
    chat.nvim.wait_for_screen("About the name");
    for (scheme, background) in schemes(&mut chat.nvim) {
        let behind = chat.nvim.exec_lua(
            "local scheme, background = ...
             vim.o.background = background
             vim.cmd.colorscheme(scheme)
             vim.o.background = background
             local look = vim.api.nvim_get_hl(0, { name = 'AcpDiffAdd', link = false })
             return look.reverse and look.fg or look.bg",
            [scheme.as_str().into(), background.into()],
        );
        // Each line as a whole has the background of what is added, and letters that can be read.
        let can_be_read = |nvim: &mut Nvim| {
            let lines = ["-- About the name.", "name = name or 'nobody'", "return ('%s!')"];
            let cells = lines.map(|line| nvim.styles_of(line)).concat();
            cells.iter().all(|(letter, style)| {
                let contrast = ratio(style.foreground.into(), style.background.into());
                u64::from(style.background) == behind.as_u64().expect("a colour")
                    && (letter == " " || contrast >= 3.0)
            })
        };
        chat.nvim.wait_until(can_be_read, &format!("code that can be read: {scheme}, {background}"));
    }
}

#[test]
fn pages_that_float_have_the_background_on_which_their_colours_can_be_read() {
    let mut chat = changed();
    let groups = "for _, win in ipairs(vim.api.nvim_list_wins()) do
          if vim.api.nvim_win_get_config(win).relative ~= '' and vim.api.nvim_win_get_config(win).focusable then
            return vim.wo[win].winhighlight
          end
        end
        return ''";
    for page in ["Acp", "Acp usage", "Acp keys", "Acp comment"] {
        chat.nvim.command(page);
        chat.nvim.wait_until(|nvim| nvim.exec_lua(groups, []) != "".into(), page);
        let found = chat.nvim.exec_lua(groups, []);
        assert!(
            found.as_str().is_some_and(|groups| groups.contains("NormalFloat:Normal")),
            "{page}: {found}"
        );
        chat.nvim.stop_insert();
        chat.nvim.command("close!");
    }
    // Of no other window.
    chat.nvim.command("botright new");
    assert_eq!(chat.nvim.exec_lua("return vim.wo.winhighlight", []), "".into());
}

#[test]
fn the_margin_has_groups_of_its_own_only_where_it_would_be_seen() {
    let mut chat = Scripted::new(&[], steps([]));
    chat.chat();
    let groups = |nvim: &mut support::Nvim| {
        let code = "local chat = require('acp').status().sessions[1]
                    return vim.wo[vim.fn.bufwinid(chat.buffer)].winhighlight
                      .. ' ' .. vim.wo[vim.fn.bufwinid(chat.prompt)].winhighlight";
        nvim.exec_lua(code, []).as_str().expect("a text").to_owned()
    };
    // A change of colours that comes while something else is done is seen to after it.
    let has = |nvim: &mut support::Nvim, expected: &str, what: &str| {
        nvim.wait_until(|nvim| groups(nvim) == expected, what);
    };
    chat.nvim.command("highlight FoldColumn NONE | doautocmd ColorScheme");
    has(&mut chat.nvim, " ", "no groups");
    let margin = "FoldColumn:EndOfBuffer";
    for looks in ["guibg=#303030", "ctermbg=4", "gui=reverse", "cterm=underline"] {
        chat.nvim.command(&format!("highlight FoldColumn {looks} | doautocmd ColorScheme"));
        has(&mut chat.nvim, &format!("{margin} {margin}"), looks);
        chat.nvim.command("highlight FoldColumn NONE | doautocmd ColorScheme");
        has(&mut chat.nvim, " ", looks);
    }
    chat.nvim.command("highlight Normal guibg=#303030 | highlight FoldColumn guibg=#303030 guifg=#808080");
    chat.nvim.command("doautocmd ColorScheme");
    has(&mut chat.nvim, " ", "it has the text's background by itself");
    chat.nvim.exec_lua(
        "vim.wo[vim.fn.bufwinid(require('acp').status().sessions[1].prompt)].winhighlight = 'Normal:Visual'",
        [],
    );
    chat.nvim.command("highlight FoldColumn guibg=#404040 | doautocmd ColorScheme");
    has(&mut chat.nvim, &format!("{margin} Normal:Visual"), "what the user has set stays");
}

#[test]
fn a_group_that_the_user_has_set_stays_as_it_is() {
    let mut chat = Scripted::new(&[], steps([]));
    chat.nvim.command("highlight AcpMeta guifg=#202020");
    chat.chat();
    let of = "return vim.api.nvim_get_hl(0, { name = 'AcpMeta' }).fg";
    assert_eq!(chat.nvim.exec_lua(of, []), 0x202020.into());
    chat.nvim.command("highlight AcpThought guifg=#303030");
    chat.nvim.command("set background=light");
    let of = "return vim.api.nvim_get_hl(0, { name = 'AcpThought' }).fg";
    assert_eq!(chat.nvim.exec_lua(of, []), 0x303030.into());
}

// Names.

#[test]
fn buffers_have_names_that_a_person_would_choose() {
    let mut all = vec![prompt()];
    all.extend(runs("1", "printf 'a\\n'; exec sleep 60"));
    let mut chat = Scripted::new(&[], steps(all));
    chat.configure("terminal = { auto_open = 'always' }");
    chat.chat();
    chat.send("run it");
    let names = "local names = {}
        for _, buf in ipairs(vim.api.nvim_list_bufs()) do names[#names + 1] = vim.api.nvim_buf_get_name(buf) end
        return table.concat(names, '\\n')";
    chat.nvim.wait_until(
        |nvim| nvim.exec_lua(names, []).as_str().is_some_and(|names| names.contains("acp://terminal printf")),
        "the terminal's name",
    );
    let all = chat.nvim.exec_lua(names, []);
    let all = all.as_str().expect("names");
    assert!(all.contains("acp://fake chat") && all.contains("acp://fake prompt"), "{all}");
    chat.nvim.command("AcpChat! fake");
    chat.nvim.wait_until(
        |nvim| nvim.exec_lua(names, []).as_str().is_some_and(|names| names.contains("acp://fake chat 2")),
        "the second chat's name",
    );
}

#[test]
fn closing_one_of_two_chats_shows_the_other_in_its_windows() {
    let mut chat = Scripted::new(FIVE, steps([]));
    chat.nvim.command("edit a.txt");
    chat.chat();
    chat.nvim.command("AcpChat! fake");
    chat.nvim.wait_for_screen("acp://fake chat 2");
    let sizes = "return vim.fn.winrestcmd()";
    let before = chat.nvim.exec_lua(sizes, []);
    chat.nvim.command("Acp close");
    chat.nvim.wait_until(
        |nvim| nvim.screen().contains("acp://fake chat") && !nvim.screen().contains("acp://fake chat 2"),
        "the first chat",
    );
    assert_eq!(chat.nvim.exec_lua(sizes, []), before, "in the same windows");
}

// Pages.

#[test]
fn acp_alone_is_a_small_page_that_says_what_each_command_does_and_runs_it() {
    for (columns, rows) in [(80, 24), (140, 40)] {
        let mut chat = Scripted::sized(&[], steps([]), columns, rows);
        chat.nvim.command("Acp");
        chat.nvim.wait_for_screen("Start another session with an agent");
        let screen = chat.nvim.screen();
        for name in ["Chat", "Answer", "Review", "checkpoints", "build", "<CR> runs it"] {
            assert!(screen.contains(name), "{name} at {columns}: {screen}");
        }
        let touches = |row: &&str| {
            let inside = row.split('│').nth(1);
            inside.is_some_and(|inside| !inside.starts_with(' ') || !inside.ends_with(' '))
        };
        assert_eq!(screen.lines().find(touches), None, "a row at {columns} touches the border:\n{screen}");
        chat.nvim.input("<Tab>");
        chat.nvim.wait_for_screen("Show or hide the chat");
        chat.nvim.input("j");
        chat.nvim.wait_until(|nvim| !nvim.screen().contains("Show or hide the chat"), "another line");
        chat.nvim.input("gg0<Tab><CR>");
        chat.nvim.wait_for_screen("Fake 1.0");
    }
}

#[test]
fn the_keys_of_here_come_first_and_the_rest_is_one_key_away() {
    let mut chat = Scripted::sized(&[], steps([]), 80, 24);
    chat.chat();
    chat.nvim.input("<Esc>g?");
    chat.nvim.wait_for_screen("g? all keys");
    let screen = chat.nvim.screen();
    assert!(screen.contains("previous prompt") && !screen.contains("take back"), "{screen}");
    chat.nvim.input("g?");
    chat.nvim.wait_for_screen("Ask again");
    chat.nvim.input("q");
    chat.nvim.wait_until(|nvim| !nvim.screen().contains("Ask again"), "the page to close");
    chat.nvim.input("<C-w>kg?");
    chat.nvim.wait_for_screen("open or fold");
    assert!(!chat.nvim.screen().contains("answer"), "nothing is asked: {}", chat.nvim.screen());
}

#[test]
fn who_wrote_a_line_stands_beside_it_until_the_cursor_moves() {
    let mut chat = changed();
    chat.nvim.input("2G:Acp blame<CR>");
    chat.nvim.wait_for_screen("asked: Change it");
    assert_eq!(
        chat.nvim.exec_lua("return vim.api.nvim_get_current_buf() == vim.fn.bufnr('a.txt')", []),
        true.into()
    );
    assert!(chat.nvim.screen().contains("Fake · turn 1"), "{}", chat.nvim.screen());
    chat.nvim.input("j");
    chat.nvim.wait_until(|nvim| !nvim.screen().contains("asked: Change it"), "the note to go");
}

#[test]
fn the_outline_is_words_without_line_numbers() {
    let mut chat = changed();
    chat.nvim.command("wincmd l");
    chat.nvim.input("<Esc><C-w>kgO");
    chat.nvim.wait_for_screen("[Location List]");
    let lines =
        chat.nvim.exec_lua("return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\\n')", []);
    assert_eq!(lines, "Change it\n  First\n    Second".into());
    chat.nvim.input("G<CR>");
    let line = chat.nvim.exec_lua("return vim.api.nvim_get_current_line()", []);
    assert_eq!(line, "## Second".into(), "it leads there");
}

#[test]
fn the_columns_of_tables_are_aligned_and_the_text_stays_as_it_is() {
    let table = "| name | what it is |\n|---|--:|\n| a | `x` |\n| longer one | **yes** |\n\nAfter.";
    let mut chat = Scripted::new(&[], steps([prompt(), says(table), ends("end_turn")]));
    chat.chat();
    chat.send("a table");
    chat.wait_for("Done");
    chat.nvim.wait_for_screen("| name       | what it is |");
    let screen = chat.nvim.screen();
    for line in ["|------------|-----------:|", "| a          |          x |", "| longer one |        yes |"]
    {
        assert!(screen.contains(line), "{line:?}: {screen}");
    }
    assert!(chat.transcript().contains(table), "{}", chat.transcript());
}

#[test]
fn tables_are_aligned_for_the_width_that_the_chat_has_now() {
    let cell = "x".repeat(30);
    let table = format!("| name | what |\n|---|---|\n| a | {cell} |\n| bb | y |\n");
    let streamed = format!("| n | w |\n|---|---|\n| {cell} | b |\n| c | d |");
    // The second one is at the end of a turn that goes on.
    let grows = steps([prompt(), says(&format!("{table}\nAfter.\n\n{streamed}")), prompt()]);
    let mut chat = Scripted::sized(FIVE, grows, 100, 44);
    chat.chat();
    chat.send("a table");
    let [closed, growing] =
        [format!("| bb   | y{} |", " ".repeat(29)), format!("| c{} | d   |", " ".repeat(29))];
    chat.nvim.wait_for_screen(&closed);
    chat.nvim.wait_for_screen(&growing);
    let resize = |chat: &mut Scripted, columns: u16| {
        let win = "local win = vim.fn.win_findbuf(vim.fn.bufnr('acp://* chat'))[1]";
        chat.nvim.exec_lua(&format!("{win} vim.api.nvim_win_set_width(win, {columns})"), []);
    };
    resize(&mut chat, 30);
    chat.nvim.wait_for_screen("| bb | y |");
    chat.nvim.wait_for_screen("| c | d |");
    resize(&mut chat, 60);
    chat.nvim.wait_for_screen(&closed);
    chat.nvim.wait_for_screen(&growing);
}

/// The rows of the screen from one that holds a text on, as far as the chat's windows go.
fn rows_of_chat(nvim: &mut Nvim) -> Vec<String> {
    let place = nvim.exec_lua(
        "local win = vim.fn.bufwinid(require('acp').status().sessions[1].buffer)
         local at = vim.api.nvim_win_get_position(win)
         return { at[1], at[2], vim.api.nvim_win_get_height(win), vim.api.nvim_win_get_width(win) }",
        [],
    );
    let number = |at: usize| place[at].as_u64().expect("a number") as usize;
    let screen = nvim.screen();
    let rows = screen.lines().skip(number(0)).take(number(2));
    rows.map(|row| row.chars().skip(number(1)).take(number(3)).collect()).collect()
}

#[test]
fn each_row_of_a_question_has_a_bar_in_the_margin_however_narrow_its_window_is() {
    let call =
        json!({ "toolCallId": "c", "title": "Run it", "kind": "execute", "rawInput": { "command": "make" } });
    let options = json!([
        { "optionId": "a", "name": "Yes, this once", "kind": "allow_once" },
        { "optionId": "b", "name": "Yes, allow it always", "kind": "allow_always" },
        { "optionId": "c", "name": "Yes, and all commands like this one from now on", "kind": "allow_always" },
        { "optionId": "r", "name": "No, and say what else to do", "kind": "reject_once" },
    ]);
    let asks = support::script::asks(
        "p",
        "session/request_permission",
        json!({ "toolCall": call, "options": options }),
    );
    for columns in [30, 40, 46, 60, 80] {
        let mut chat = Scripted::sized(FIVE, steps([prompt(), asks.clone()]), columns, 30);
        chat.configure("permission = { open = 'never' }");
        chat.nvim.command("edit a.txt");
        chat.chat();
        chat.send("go");
        chat.wait_for("what else to do");
        chat.nvim.wait_until(|nvim| rows_of_chat(nvim).concat().contains("rule"), "the answers");
        let rows = rows_of_chat(&mut chat.nvim);
        let first = rows.iter().position(|row| row.contains("Allow")).expect("the question");
        let last = rows.iter().rposition(|row| row.contains("rule")).expect("the last answer");
        for row in &rows[first..=last] {
            assert!(row.starts_with(['▎', '▏']), "{row:?} at {columns}:\n{}", chat.nvim.screen());
        }
    }
}

// What is told.

#[test]
fn who_hears_of_a_question_knows_what_it_is_about() {
    let call = json!({ "toolCallId": "1", "title": "Run it", "kind": "execute",
        "locations": [{ "path": "$PROJECT/a.txt" }], "rawInput": { "command": "make test" } });
    let mut chat = Scripted::new(FIVE, steps([prompt(), permission("p", call)]));
    chat.nvim.exec_lua("require('acp').on('PermissionAsked', function(data) _G.asked = data end)", []);
    chat.chat();
    chat.send("ask");
    chat.nvim.wait_until(|nvim| nvim.exec_lua("return _G.asked ~= nil", []) == true.into(), "the event");
    let asked = chat.nvim.exec_lua(
        "local asked = _G.asked
         return table.concat({ asked.kind, asked.command, vim.fs.basename(asked.paths[1]), asked.options[1].kind,
           asked.tool_call }, ' ')",
        [],
    );
    assert_eq!(asked, "execute make test a.txt allow_once 1".into());
}

#[test]
fn a_title_of_an_agent_is_plain_text_wherever_it_stands() {
    let title = update(json!({ "sessionUpdate": "session_info_update", "title": "Fix `a`\\nand b" }));
    let call = update(json!({ "sessionUpdate": "tool_call", "toolCallId": "1", "title": "Read `src/a.rs`",
        "kind": "read", "status": "in_progress" }));
    let mut chat = Scripted::new(&[], steps([prompt(), title, call]));
    chat.chat();
    chat.send("go");
    chat.wait_for("Read src/a.rs");
    chat.nvim.wait_for_screen("Fix a and b");
}

#[test]
fn keys_that_edit_a_file_do_no_harm_in_the_transcript() {
    let mut chat = Scripted::new(FIVE, steps([]));
    chat.chat();
    for keys in ["dd", "x", "p", "u", "J", "rx", "."] {
        chat.nvim.input("<Esc><C-w>k");
        chat.nvim.input(keys);
        chat.nvim.wait_for_screen("the transcript can't be edited; i goes to the prompt");
        chat.nvim.input("<C-w>j:mess clear<CR>:echo ''<CR>");
        chat.nvim.wait_until(|nvim| !nvim.screen().contains("can't be edited"), "the hint to go");
    }
    for keys in ["A", "o", "cc", "I"] {
        chat.nvim.input("<Esc><C-w>k");
        chat.nvim.input(keys);
        chat.nvim.wait_until(
            |nvim| {
                nvim.exec_lua("return vim.bo.filetype", []) == "acp-prompt".into() && nvim.mode().name == "i"
            },
            "the prompt",
        );
        chat.nvim.stop_insert();
    }
    assert!(!chat.nvim.messages().contains("E21"), "{}", chat.nvim.messages());
}

#[test]
fn a_warning_that_something_waits_goes_with_the_answer() {
    let call = json!({ "toolCallId": "1", "title": "Run it", "kind": "execute",
        "rawInput": { "command": "make test" } });
    let mut chat = Scripted::new(FIVE, steps([prompt(), permission("p", call), says("Going on.")]));
    chat.configure("permission = { open = 'never' }");
    chat.nvim.command("edit a.txt");
    chat.chat();
    chat.nvim.input("<Esc>");
    chat.nvim.command("Acp toggle");
    chat.nvim.wait_until(|nvim| !nvim.screen().contains("fake prompt"), "the chat to be hidden");
    chat.nvim.command("Acp send ask");
    chat.nvim.wait_for_screen("acp: Fake wants to run");
    chat.decide("allow");
    chat.nvim.wait_until(|nvim| !nvim.screen().contains("Fake wants to run"), "the warning to go");
    // Another message that came meanwhile stays.
    chat.nvim.exec_lua("require('acp.notify').ask('Fake wants to run make test', 3)", []);
    chat.nvim.wait_for_screen("Fake wants to run make test");
    chat.nvim.command("echomsg 'something else'");
    chat.nvim.wait_for_screen("something else");
    chat.nvim.exec_lua("require('acp.notify').answered()", []);
    chat.nvim.exec_lua("vim.schedule(function() vim.g.later = true end)", []);
    chat.nvim.wait_until(|nvim| nvim.exec_lua("return vim.g.later", []) == true.into(), "what was scheduled");
    assert!(chat.nvim.screen().contains("something else"));
}

#[test]
fn what_a_command_cannot_do_is_one_line_also_through_a_stub_that_loads_the_plugin() {
    let mut chat = Scripted::new(FIVE, steps([]));
    // As plugin managers define commands that load a plugin when they are first used.
    chat.nvim.exec_lua(
        "vim.api.nvim_create_user_command('Acp', function(event)
           vim.api.nvim_del_user_command('Acp')
           vim.g.loaded_acp = nil
           vim.cmd.runtime({ 'plugin/acp.lua', bang = true })
           vim.cmd({ cmd = 'Acp', bang = event.bang, args = event.fargs, mods = event.smods })
         end, { bang = true, range = true, nargs = '*' })",
        [],
    );
    for (command, told) in [
        ("Acp nonsense", ":Acp has no subcommand \"nonsense\""),
        ("Acp keep", "no agent has changed anything here"),
        ("Acp follow nonsense", "not \"nonsense\""),
        ("Acp terminal", "no command has been run yet"),
    ] {
        chat.nvim.input(&format!(":{command}<CR>"));
        chat.nvim.wait_for_screen(told);
        assert!(!chat.nvim.mode().blocking, "{command}: {}", chat.nvim.screen());
    }
    let messages = chat.nvim.messages();
    assert!(!messages.contains("traceback") && !messages.contains("E5108"), "{messages}");
    assert!(!messages.contains("]c goes"), "there is no next change: {messages}");
    let error = "local _, err = require('acp').mode('nonsense'); return err";
    assert!(chat.nvim.exec_lua(error, []).as_str().is_some(), "scripts get the error");
}

#[test]
fn a_saved_session_is_restored_without_a_key() {
    let mut chat = Scripted::sized(FIVE, steps([]), 80, 24);
    chat.nvim.command("edit a.txt");
    chat.chat();
    chat.nvim.input("<Esc>");
    chat.nvim.command("mksession! session.vim");
    let cwd = Some(chat.project.path().to_owned());
    let args = vec!["-S".to_owned(), "session.vim".to_owned()];
    let mut again =
        support::Nvim::start(support::Options { cwd, args, columns: 80, rows: 24, ..Default::default() });
    again.wait_for_screen("This chat was saved with the session.");
    assert!(!again.mode().blocking, "{}", again.screen());
}

#[test]
fn the_note_of_a_deleted_file_stands_above_its_first_line_however_long_that_is() {
    let long = format!("{}\nsecond\n", "long ".repeat(30));
    let mut all = vec![prompt()];
    all.extend(runs("1", "rm a.txt"));
    all.push(ends("end_turn"));
    let mut chat = Scripted::sized(&[("a.txt", &long)], steps(all), 80, 24);
    chat.nvim.command("edit a.txt");
    chat.chat();
    chat.send("delete it");
    chat.nvim.wait_for_screen("deleted on the disk · :Acp settle");
    let screen = chat.nvim.screen();
    let rows: Vec<&str> = screen.lines().collect();
    let note = rows.iter().position(|row| row.contains("deleted on the disk")).expect("the note");
    assert!(rows[note + 1].contains("long long"), "{screen}");
}

#[test]
fn what_stands_above_the_first_line_is_seen_in_a_buffer_that_is_entered_later() {
    let to = "folder/of/a/longer/name/c.txt";
    let mut all = vec![prompt()];
    all.extend(runs(
        "1",
        &format!("sed -i 1d a.txt; mkdir -p folder/of/a/longer/name; mv b.txt {to}; rm d.txt"),
    ));
    all.push(ends("end_turn"));
    let lines = "one\ntwo\nthree\n";
    let files = [("a.txt", lines), ("b.txt", "b\n"), ("d.txt", "d\n"), ("z.txt", "z\n")];
    let mut chat = Scripted::sized(&files, steps(all), 80, 24);
    for name in ["a.txt", "b.txt", "d.txt", "z.txt"] {
        chat.nvim.command(&format!("edit {name}"));
    }
    chat.chat();
    chat.send("Go on");
    chat.wait_for("Done");
    let gone = |name: &str| {
        format!("return #vim.api.nvim_buf_get_extmarks(vim.fn.bufnr('{name}'), -1, 0, -1, {{}}) > 0")
    };
    for name in ["a.txt", "b.txt", "d.txt"] {
        let is_marked = |nvim: &mut support::Nvim| nvim.exec_lua(&gone(name), []) == true.into();
        chat.nvim.wait_until(is_marked, &format!("{name} to have a mark"));
    }
    chat.nvim.stop_insert();
    chat.nvim.command("Acp toggle");
    for _ in 0..2 {
        chat.nvim.command("buffer a.txt");
        chat.nvim.wait_for_screen("- one");
        chat.nvim.command("buffer z.txt");
        chat.nvim.wait_until(|nvim| !nvim.screen().contains("- one"), "another buffer");
    }
    chat.nvim.command("buffer b.txt");
    chat.nvim.wait_for_screen(&format!("renamed to {to} · :Acp settle"));
    chat.nvim.command("30vsplit d.txt");
    chat.nvim.wait_for_screen("deleted on the disk           │");
    chat.nvim.wait_for_screen(":Acp settle                   │");
    chat.nvim.command("buffer b.txt");
    chat.nvim.wait_for_screen("renamed to folder/of/a/longer/│");
    chat.nvim.wait_for_screen("name/c.txt                    │");
    // Nobody knows where the user is at work once the chat's folder is another one than Neovim's.
    chat.nvim.command("cd /");
    chat.nvim.command("close");
    chat.nvim.wait_for_screen(&format!("renamed to {to} · :Acp settle"));
}

#[test]
fn changes_that_a_screen_has_no_room_for_are_a_quickfix_list() {
    let mut all = vec![prompt()];
    for number in 0..40 {
        all.extend(writes(&format!("file{number}.txt"), "new\n"));
    }
    all.push(ends("end_turn"));
    let mut chat = Scripted::sized(&[], steps(all), 80, 24);
    chat.chat();
    chat.send("write");
    chat.wait_for("Done");
    chat.nvim.stop_insert();
    chat.nvim.command("Acp changes");
    chat.nvim.wait_until(|nvim| nvim.exec_lua("return vim.bo.buftype", []) == "quickfix".into(), "the list");
    assert_eq!(chat.nvim.exec_lua("return #vim.fn.getqflist()", []), 40.into());
}

#[test]
fn the_users_own_prompt_is_shown_as_it_was_typed() {
    let mut chat = Scripted::new(&[], steps([prompt(), says("**bold**"), ends("end_turn")]));
    chat.chat();
    chat.send("make **this** `bold`");
    chat.wait_for("Done");
    chat.nvim.wait_for_screen("make **this** `bold`");
    chat.nvim.wait_until(|nvim| !nvim.screen().contains("**bold**"), "the answer to be rendered");
}

#[test]
fn a_reference_to_nothing_looks_as_if_something_is_missing() {
    let mut chat = Scripted::new(FIVE, steps([]));
    chat.chat();
    chat.nvim.input("see @missing and @a.txt");
    chat.nvim.wait_for_screen("see @missing and @a.txt");
    for (word, group) in [("@a.txt", "Underlined"), ("@missing", "DiagnosticWarn")] {
        chat.nvim.wait_until(
            |nvim| nvim.groups_of(word).iter().any(|shown| shown == group),
            &format!("{word} to look like {group}"),
        );
    }
}
