//! What windows that come and go do to a chat: whatever is opened, closed, split and resized around it, on whichever
//! screen and with whichever options, its prompt and its share are as the user left them. `ACP_WINDOWS` is how many
//! cases to try, and `ACP_WINDOWS_SEED` which. What stands in the windows is left to `windows`.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use serde_json::json;

use support::Nvim;
use support::script::{Scripted, opened};

/// The chat in a layout beside a file, with the cursor in the file.
fn chat(layout: &str, columns: u16, rows: u16) -> Scripted {
    let files = [("code.txt", "one\ntwo\nthree\n"), ("other.txt", "other\n")];
    let mut chat = Scripted::sized(&files, opened(), columns, rows);
    let window = json!({ "layout": layout });
    chat.configure(&format!("window = vim.json.decode([[{window}]])"));
    chat.nvim.command("edit code.txt");
    chat.nvim.command("AcpChat");
    let idle = "local all = require('acp').status().sessions return all[1] and all[1].state";
    chat.nvim.wait_until(|nvim| nvim.exec_lua(idle, []).as_str() == Some("idle"), "the session");
    chat.nvim.stop_insert();
    if layout != "float" {
        chat.nvim.command("wincmd p");
    }
    chat
}

/// The chat's width, and the heights of its transcript and its prompt.
fn sizes(nvim: &mut Nvim) -> (u64, u64, u64) {
    let code = "local chat = require('acp').status().sessions[1]
        local win, prompt = vim.fn.bufwinid(chat.buffer), vim.fn.bufwinid(chat.prompt)
        if win < 0 or prompt < 0 then return { 0, 0, 0 } end
        return { vim.api.nvim_win_get_width(win), vim.api.nvim_win_get_height(win), vim.api.nvim_win_get_height(prompt) }";
    let found = nvim.exec_lua(code, []);
    let size = |index: usize| found[index].as_u64().unwrap_or_default();
    (size(0), size(1), size(2))
}

#[track_caller]
fn wait_for_sizes(nvim: &mut Nvim, wanted: (u64, u64, u64), what: &str) {
    nvim.wait_until(|nvim| sizes(nvim) == wanted, &format!("{wanted:?} after {what}"));
}

fn prompt_of(whole: u64, wanted: u64) -> u64 {
    wanted.min(whole * 2 / 5).max(1)
}

#[test]
fn windows_that_come_and_go_leave_the_chat_as_it_was() {
    for (columns, rows) in [(140, 40), (80, 24)] {
        for layout in ["right", "left", "bottom", "top"] {
            let mut chat = chat(layout, columns, rows);
            let nvim = &mut chat.nvim;
            let before = sizes(nvim);
            for (open, close) in [
                ("botright new", "quit"),
                ("botright copen", "cclose"),
                ("botright 16new", "quit"),
                ("botright 20vnew", "quit"),
                ("topleft 20vnew", "quit"),
                ("help", "helpclose"),
                ("tabnew", "tabclose"),
                ("botright 9split | terminal", "bwipeout!"),
                ("vsplit", "quit"),
                ("split", "quit"),
                ("set cmdheight=4", "set cmdheight=1"),
                ("set laststatus=3", "set laststatus=2"),
                ("set showtabline=2", "set showtabline=1"),
            ] {
                // Small screens may have no room for some of them.
                if nvim.try_lua("vim.cmd(...)", [open.into()]).is_err() {
                    continue;
                }
                let (mut width, mut above, mut below) = (0, 0, 0);
                nvim.wait_until(
                    |nvim| {
                        (width, above, below) = sizes(nvim);
                        // With its bar it has two lines.
                        below == 0
                            || [1, 2].map(|least| prompt_of(above + below + 1, 5).max(least)).contains(&below)
                    },
                    &format!("the prompt's height beside {open}, {layout} {columns}x{rows}"),
                );
                nvim.command(close);
                wait_for_sizes(nvim, before, &format!("{open}, {close}, {layout} {columns}x{rows}"));
            }
        }
    }
}

#[test]
fn a_window_of_the_chat_that_is_split_shares_its_columns_with_the_new_one() {
    for layout in ["right", "left"] {
        let mut chat = chat(layout, 80, 24);
        let nvim = &mut chat.nvim;
        let before = sizes(nvim);
        nvim.stop_insert();
        nvim.command("AcpChat");
        nvim.stop_insert();
        let widths = "local all = {}
            for _, win in ipairs(vim.fn.win_findbuf(vim.api.nvim_get_current_buf())) do
              all[#all + 1] = vim.api.nvim_win_get_width(win)
            end
            table.sort(all)
            return table.concat(all, ' ')";
        nvim.command("vsplit");
        let halves = |nvim: &mut Nvim| {
            let text = nvim.exec_lua(widths, []).as_str().unwrap_or_default().to_owned();
            let all: Vec<u64> = text.split(' ').filter_map(|cells| cells.parse().ok()).collect();
            all.len() == 2 && all[0] + 1 >= all[1]
        };
        nvim.wait_until(halves, &format!("two windows of the same width, {layout}"));
        nvim.command("quit");
        wait_for_sizes(nvim, before, layout);
    }
}

#[test]
fn a_page_gives_back_what_it_took_from_the_others() {
    for (open, name) in [("Acp inspect", "acp://messages"), ("Acp audit", "acp://audit")] {
        let mut chat = chat("right", 140, 40);
        let nvim = &mut chat.nvim;
        nvim.command("split | resize 8");
        let before = (nvim.sizes_of_files("height"), sizes(nvim));
        nvim.command(open);
        nvim.wait_until(|nvim| nvim.exec_lua("return vim.fn.bufname()", []) == name.into(), name);
        assert_ne!((nvim.sizes_of_files("height"), sizes(nvim)), before);
        nvim.input("q");
        nvim.wait_until(
            |nvim| (nvim.sizes_of_files("height"), sizes(nvim)) == before,
            "the sizes from before",
        );
    }
}

#[test]
fn a_notification_that_goes_while_a_page_is_open_changes_no_sizes() {
    let mut chat = chat("right", 140, 40);
    let nvim = &mut chat.nvim;
    let before = (nvim.sizes_of_files("width"), nvim.sizes_of_files("height"), sizes(nvim));
    let code = "return vim.api.nvim_open_win(vim.api.nvim_create_buf(false, true), false,
        { relative = 'editor', anchor = 'NE', row = 0, col = 140, width = 53, height = 3 })";
    let float = nvim.exec_lua(code, []);
    nvim.command("Acp inspect");
    nvim.wait_until(
        |nvim| nvim.exec_lua("return vim.fn.bufname()", []) == "acp://messages".into(),
        "the page",
    );
    nvim.exec_lua("vim.api.nvim_win_close(..., true)", [float]);
    nvim.input("q");
    let all = |nvim: &mut Nvim| (nvim.sizes_of_files("width"), nvim.sizes_of_files("height"), sizes(nvim));
    nvim.wait_until(|nvim| all(nvim) == before, "the sizes from before");
}

/// The windows of files, by the part of all their cells that each has, in percent.
fn parts(nvim: &mut Nvim, what: &str) -> Vec<u64> {
    let all = nvim.sizes_of_files(what);
    let whole: u64 = all.iter().sum();
    all.iter().map(|cells| (cells * 100 + whole / 2) / whole).collect()
}

#[test]
fn a_chat_takes_its_room_from_all_others_and_gives_it_back_to_all() {
    for (layout, split, what) in
        [("right", "vsplit", "width"), ("left", "vsplit", "width"), ("bottom", "split", "height")]
    {
        for equal in ["equalalways", "noequalalways"] {
            let mut chat = chat(layout, 140, 40);
            let nvim = &mut chat.nvim;
            nvim.command("Acp toggle");
            nvim.command(&format!("set {equal}"));
            let resize =
                format!("lua vim.api.nvim_win_set_{what}(0, math.floor(vim.api.nvim_win_get_{what}(0) / 2))");
            for command in [split, split, &resize, "topleft 10vsplit | setlocal winfixwidth | wincmd w"] {
                nvim.command(command);
            }
            let (before, cells) = (parts(nvim, what), nvim.sizes_of_files(what));
            let near = |now: &[u64], cells: u64| {
                now.len() == before.len()
                    && now.iter().zip(&before).all(|(now, before)| now.abs_diff(*before) <= cells)
            };
            nvim.command("Acp toggle");
            let beside = nvim.sizes_of_files(what);
            assert!(beside.iter().all(|cells| *cells > 1), "{layout} {equal}: {cells:?} became {beside:?}");
            let code = "return vim.iter(vim.api.nvim_tabpage_list_wins(0)):any(function(win)
                return vim.api.nvim_win_get_width(win) == 10 end)";
            assert_eq!(nvim.exec_lua(code, []), true.into(), "{layout} {equal}: {cells:?} became {beside:?}");
            nvim.command("Acp toggle");
            let after = nvim.sizes_of_files(what);
            let differ = cells.iter().zip(&after).map(|(before, after)| before.abs_diff(*after)).max();
            assert!(differ.is_some_and(|cells| cells <= 2), "{layout} {equal}: {cells:?} became {after:?}");
            assert!(near(&parts(nvim, what), 3), "{layout} {equal}");
        }
    }
}

#[test]
fn a_small_screen_leaves_nothing_behind() {
    for layout in ["right", "bottom", "top", "float", "current", "tab"] {
        let mut chat = chat(layout, 120, 40);
        let nvim = &mut chat.nvim;
        if layout == "tab" {
            nvim.command("tablast");
        }
        let before = sizes(nvim);
        for (columns, rows) in [(40, 10), (60, 14), (80, 24), (30, 10)] {
            nvim.resize(columns, rows);
            nvim.resize(120, 40);
            wait_for_sizes(nvim, before, &format!("{columns}x{rows}, {layout}"));
        }
    }
}

#[test]
fn equal_windows_leave_the_prompt_as_it_is_also_above_another_window() {
    for open in ["botright 8new", "topleft 8new"] {
        let mut chat = chat("right", 120, 40);
        let nvim = &mut chat.nvim;
        nvim.command(open);
        nvim.command("wincmd =");
        nvim.wait_until(
            |nvim| {
                let (_, above, below) = sizes(nvim);
                below == 5 && above < 28
            },
            "the prompt",
        );
    }
}

#[test]
fn what_the_user_makes_of_a_chat_is_kept() {
    let mut chat = chat("right", 120, 40);
    let nvim = &mut chat.nvim;
    let (_, above, below) = sizes(nvim);
    nvim.command("wincmd b | resize 8");
    nvim.command("wincmd k | vertical resize 40 | wincmd h");
    let wanted = (40, above + below - 8, 8);
    wait_for_sizes(nvim, wanted, "resizing");
    for (open, close) in [("botright new", "quit"), ("vsplit", "quit"), ("tabnew", "tabclose")] {
        nvim.command(open);
        nvim.command(close);
        wait_for_sizes(nvim, wanted, open);
    }
    nvim.resize(60, 20);
    nvim.wait_until(|nvim| sizes(nvim).0 == 20, "a third");
    nvim.resize(120, 40);
    wait_for_sizes(nvim, wanted, "a small screen");
}

#[test]
fn a_chat_that_was_made_whole_takes_its_share_when_a_file_is_back() {
    let mut chat = chat("right", 120, 40);
    let nvim = &mut chat.nvim;
    nvim.command("wincmd l | vertical resize 40");
    nvim.wait_until(|nvim| sizes(nvim).0 == 40, "a third");
    nvim.command("only");
    nvim.wait_until(|nvim| sizes(nvim).0 == 120 && sizes(nvim).2 == 5, "the whole screen");
    nvim.command("topleft vsplit code.txt");
    nvim.wait_until(|nvim| sizes(nvim).0 == 40 && sizes(nvim).2 == 5, "its share again");
}

#[test]
fn a_prompt_grows_with_its_text_and_shrinks_again() {
    for layout in ["right", "bottom", "float"] {
        let mut chat = chat(layout, 120, 40);
        let nvim = &mut chat.nvim;
        let before = sizes(nvim);
        let whole = before.1 + before.2;
        nvim.command("AcpChat");
        nvim.input(&"a line<CR>".repeat(6));
        // A row more than the seven, for the bar.
        let grown = 8.min((whole + u64::from(layout != "float")) * 2 / 5);
        wait_for_sizes(nvim, (before.0, whole - grown, grown), &format!("seven lines, {layout}"));
        nvim.input(&"a line<CR>".repeat(40));
        nvim.wait_until(
            |nvim| sizes(nvim).2 == (whole + u64::from(layout != "float")) * 2 / 5,
            "its part of the chat",
        );
        nvim.input("<Esc>ggdG");
        wait_for_sizes(nvim, before, &format!("deleting the text, {layout}"));
        // One long line counts with the rows it takes.
        nvim.input(&format!("i{}<Esc>", "word ".repeat(200)));
        nvim.wait_until(|nvim| sizes(nvim).2 > 5, "the rows of a long line");
        nvim.input("dd");
        wait_for_sizes(nvim, before, &format!("deleting the line, {layout}"));
    }
}

/// What a user may do.
const DEEDS: [&str; 25] = [
    "botright new",
    "botright 16new",
    "botright 20vnew",
    "topleft new",
    "topleft vnew",
    "new",
    "vnew",
    "split",
    "vsplit",
    "belowright split other.txt",
    "botright copen",
    "cclose",
    "help",
    "helpclose",
    "Acp toggle",
    "tab split",
    "tabnext",
    "wincmd =",
    "wincmd w",
    "wincmd p",
    "resize +3",
    "vertical resize -7",
    "set equalalways!",
    "set splitright! splitbelow!",
    "set laststatus=3",
];

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

/// Runs an Ex command in no window of the chat's.
fn outside(nvim: &mut Nvim, command: &str) {
    let code = "local function is_chat(win)
          return vim.bo[vim.api.nvim_win_get_buf(win)].filetype:find('^acp') ~= nil
        end
        if is_chat(0) then
          for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
            if not is_chat(win) then vim.api.nvim_set_current_win(win) end
          end
        end
        local deed, count = ..., #vim.api.nvim_tabpage_list_wins(0)
        local splits = deed:find('new') or deed:find('tab') or deed:find('split') or deed:find('help$') or deed:find('copen')
        if not is_chat(0) and not (count > 7 and splits) then pcall(vim.cmd, deed) end";
    nvim.exec_lua(code, [command.into()]);
}

/// Leaves a file and the chat, in one tab page, and the options as they come.
fn tidy(nvim: &mut Nvim, layout: &str) {
    let split = match layout {
        "right" => "topleft vsplit",
        "left" => "botright vsplit",
        "bottom" => "topleft split",
        _ => "botright split",
    };
    let code = "vim.cmd('tabonly')
        local chat, file = require('acp').status().sessions[1], nil
        for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
          local buf = vim.api.nvim_win_get_buf(win)
          local is_chat = buf == chat.buffer or buf == chat.prompt
          if not is_chat and not file then
            file = win
          elseif not is_chat then
            vim.api.nvim_win_close(win, true)
          end
        end
        vim.cmd('set equalalways& splitright& splitbelow& laststatus& cmdheight&')
        local shown = vim.fn.bufwinid(chat.buffer)
        if shown > 0 and vim.api.nvim_win_get_config(shown).relative ~= '' then
          -- There was no room for anything else.
          vim.cmd('Acp toggle')
          shown = -1
        end
        if shown < 0 then
          vim.cmd('edit code.txt | AcpChat')
        else
          vim.cmd(... .. ' code.txt')
          if file then vim.api.nvim_win_close(file, true) end
        end
        vim.cmd('stopinsert')";
    nvim.exec_lua(code, [split.into()]);
}

#[test]
fn in_any_order_the_chat_has_its_sizes_in_the_end() {
    let number = |name: &str, default: u64| {
        std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
    };
    let (cases, seed) = (number("ACP_WINDOWS", 6), number("ACP_WINDOWS_SEED", 1));
    for case in seed..seed + cases {
        let mut random = Random(case);
        let layout = ["right", "left", "bottom", "top"][random.below(4)];
        let (columns, rows) = [(140, 40), (80, 24), (100, 30)][random.below(3)];
        let mut chat = chat(layout, columns, rows);
        let nvim = &mut chat.nvim;
        let before = sizes(nvim);
        let mut done = vec![format!("{layout} {columns}x{rows}")];
        for _ in 0..25 {
            if random.below(6) == 0 {
                let (columns, rows) = [(80, 24), (columns, rows), (100, 20)][random.below(3)];
                // With many windows Neovim keeps a larger screen than that.
                println!("case {case}: {columns}x{rows}");
                let size = vec![columns.into(), rows.into()];
                nvim.request("nvim_ui_try_resize", size).expect("a new size");
                done.push(format!("{columns}x{rows}"));
            } else {
                let deed = DEEDS[random.below(DEEDS.len())];
                // Who resizes the window beside a chat resizes the chat.
                let beside = if matches!(layout, "right" | "left") { "vertical resize" } else { "resize" };
                if deed.starts_with(beside) {
                    continue;
                }
                done.push(deed.to_owned());
                println!("case {case}: {deed}");
                outside(nvim, deed);
            }
            let what = format!("case {case}: {}", done.join(" | "));
            nvim.wait_until(
                |nvim| {
                    let (_, above, below) = sizes(nvim);
                    below <= 5 && (below == 0 || below >= prompt_of(above + below, 5))
                },
                &format!("the prompt's height, {what}"),
            );
            assert_eq!(nvim.messages().trim(), "", "{what}");
        }
        tidy(nvim, layout);
        nvim.resize(columns, rows);
        let what = format!("case {case}: {}", done.join(" | "));
        wait_for_sizes(nvim, before, &what);
    }
}

#[test]
fn a_file_is_made_as_narrow_as_entering_it_would_make_it() {
    let mut chat = chat("right", 80, 24);
    let nvim = &mut chat.nvim;
    nvim.command("wincmd t");
    nvim.wait_until(|nvim| sizes(nvim).2 == 5, "the prompt");
    for width in [20, 30, 20] {
        nvim.command(&format!("vertical resize {width}"));
        // Sizes are put right at the end of what the user did.
        nvim.input("0");
        nvim.wait_until(|nvim| sizes(nvim).0 == 79 - width, &format!("a file of {width} columns"));
    }
}

#[test]
fn terminals_keep_their_sizes_when_the_chat_is_hidden_and_shown() {
    let code = "local found = {}
        for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
          if vim.bo[vim.api.nvim_win_get_buf(win)].buftype == 'terminal' then
            found[#found + 1] = vim.api.nvim_win_get_width(win) .. 'x' .. vim.api.nvim_win_get_height(win)
          end
        end
        return table.concat(found, ' ')";
    let terminals = |nvim: &mut Nvim| nvim.exec_lua(code, []).as_str().unwrap_or_default().to_owned();
    let width = |nvim: &mut Nvim| {
        let code = "return vim.fn.winwidth(vim.fn.bufwinid(require('acp').status().sessions[1].prompt))";
        nvim.exec_lua(code, []).as_u64()
    };
    // Below the file, below everything, beside the file, two of them; and whether the width can stay, too.
    for (open, whole) in [
        ("belowright 8split | terminal", false),
        ("botright 8split | terminal", true),
        ("belowright 30vsplit | terminal", true),
        ("belowright 30vsplit | terminal | 12split | terminal", true),
    ] {
        for hide in ["Acp toggle", "wincmd b | quit", "wincmd b | wincmd k | close"] {
            if hide.starts_with("wincmd b") && open.starts_with("botright") {
                continue;
            }
            let mut chat = chat("right", 120, 30);
            let nvim = &mut chat.nvim;
            let sized = |nvim: &mut Nvim| {
                let sizes = terminals(nvim);
                if whole { sizes } else { sizes.split_once('x').expect("a size").1.to_owned() }
            };
            for part in open.split(" | ") {
                nvim.command(part);
            }
            nvim.command("wincmd t");
            nvim.wait_until(|nvim| sizes(nvim).2 == 5, "the prompt");
            let before = sized(nvim);
            let wide = width(nvim);
            nvim.command(hide);
            nvim.wait_until(|nvim| sizes(nvim).0 == 0, "the chat to be hidden");
            assert_eq!(sized(nvim), before, "{open}, {hide}");
            nvim.command("AcpChat");
            nvim.wait_until(|nvim| sizes(nvim).2 == 5, "the chat to be back");
            // A chat at the edge is beside what had all of the width.
            if !open.starts_with("botright") {
                assert_eq!(sized(nvim), before, "{open}, {hide}, shown again");
            }
            assert_eq!(width(nvim), wide, "{open}, {hide}: the chat's width");
            let kept = nvim.exec_lua("return vim.wo[vim.fn.win_getid(2)].winfixwidth", []);
            assert_eq!(kept.as_bool(), Some(false), "{open}, {hide}");
        }
    }
}

/// What squeezes the windows of a chat between others.
const SQUEEZES: [&str; 20] = [
    "botright new",
    "botright 16new",
    "botright 18new",
    "botright 20vnew",
    "topleft new",
    "topleft 9new",
    "topleft vnew",
    "belowright split",
    "vsplit",
    "belowright 3split",
    "botright copen 14",
    "cclose",
    "help",
    "helpclose",
    "resize",
    "resize 1",
    "wincmd =",
    "wincmd w",
    "wincmd p",
    "close",
];

/// With bars in low windows Neovim lays windows out beyond the screen when it makes room for others; 0.11 may end when
/// it draws them.
#[test]
fn however_the_windows_are_squeezed_all_of_them_are_on_the_screen() {
    let number = |name: &str, default: u64| {
        std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
    };
    // Case 23 has windows beyond the screen unless they are laid out anew.
    let (cases, seed) = (number("ACP_WINDOWS", 8), number("ACP_WINDOWS_SEED", 20));
    for case in seed..seed + cases {
        let mut random = Random(case);
        let layout = ["right", "left", "bottom", "current"][random.below(4)];
        let mut chat = chat(layout, 80, 24);
        let nvim = &mut chat.nvim;
        let mut done = vec![layout.to_owned()];
        for _ in 0..40 {
            let deed = SQUEEZES[random.below(SQUEEZES.len())];
            let code = "local deed, count = ..., #vim.api.nvim_tabpage_list_wins(0)
                local splits = deed:find('new') or deed:find('split') or deed:find('help$') or deed:find('copen')
                if count > 7 and splits or count < 4 and deed == 'close' then return false end
                return (pcall(vim.cmd, deed))";
            if nvim.exec_lua(code, [deed.into()]).as_bool() != Some(true) {
                continue;
            }
            done.push(deed.to_owned());
            println!("case {case}: {deed}");
            let below = "local last = vim.o.lines - vim.o.cmdheight - 1
                for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
                  local row, height = vim.api.nvim_win_get_position(win)[1], vim.api.nvim_win_get_height(win)
                  if vim.wo[win].winbar ~= '' and height < 3 then return 'a bar in a window of ' .. height end
                  if row + height > last then return 'a window below the screen' end
                end
                return ''";
            let what = format!("case {case}: {}", done.join(" | "));
            nvim.wait_until(|nvim| nvim.exec_lua(below, []).as_str() == Some(""), &what);
            assert_eq!(nvim.messages().trim(), "", "{what}");
        }
        // With room again the bars are back. A window that has all of the screen gives lines to the command line.
        nvim.command("silent! only! | set cmdheight=1");
        let bars = "local of = require('acp').status().sessions[1]
            local win, prompt = vim.fn.bufwinid(of.buffer), vim.fn.bufwinid(of.prompt)
            -- What was left of it may be closed a moment later.
            if win < 0 or prompt < 0 then vim.cmd('AcpChat') return false end
            -- A prompt of one line may be what is wanted of it.
            local is_low = vim.api.nvim_win_get_height(prompt) < 3
            return vim.wo[win].winbar ~= '' and (vim.wo[prompt].winbar ~= '' or is_low)";
        nvim.wait_until(
            |nvim| nvim.exec_lua(bars, []).as_bool() == Some(true),
            &format!("the bars, case {case}"),
        );
    }
}

#[test]
fn a_chat_that_is_split_leaves_the_file_its_share() {
    for (columns, least) in [(80, 24), (140, 44)] {
        for layout in ["right", "left"] {
            let mut chat = chat(layout, columns, 24);
            let nvim = &mut chat.nvim;
            let before = sizes(nvim);
            let go =
                "vim.api.nvim_set_current_win(vim.fn.bufwinid(require('acp').status().sessions[1].buffer))";
            nvim.exec_lua(go, []);
            nvim.command("vsplit");
            let widths = "local all = {}
                for _, win in ipairs(vim.fn.win_findbuf(vim.api.nvim_get_current_buf())) do
                  all[#all + 1] = vim.api.nvim_win_get_width(win)
                end
                return all";
            let fits = |nvim: &mut Nvim| {
                let all = nvim.exec_lua(widths, []);
                let all: Vec<u64> =
                    all.as_array().expect("widths").iter().filter_map(rmpv::Value::as_u64).collect();
                all.len() == 2
                    && all[0].abs_diff(all[1]) <= 1
                    && nvim.sizes_of_files("width").iter().all(|width| *width >= least)
            };
            nvim.wait_until(fits, &format!("room for the file, {layout} {columns}"));
            nvim.command("quit");
            wait_for_sizes(nvim, before, layout);
            assert!(!nvim.messages().contains("Invalid"), "{}", nvim.messages());
        }
    }
}

#[test]
fn a_terminal_that_is_split_off_a_prompt_has_half_of_its_columns_and_a_file_after_it_room() {
    for side in ["nosplitright", "splitright"] {
        let mut chat = chat("right", 100, 24);
        let nvim = &mut chat.nvim;
        let before = sizes(nvim);
        let go = "vim.api.nvim_set_current_win(vim.fn.bufwinid(require('acp').status().sessions[1].prompt))";
        nvim.exec_lua(go, []);
        nvim.command(&format!("set {side}"));
        nvim.command("vsplit | terminal");
        let widths = "local prompt = vim.fn.bufwinid(require('acp').status().sessions[1].prompt)
            return { vim.fn.winwidth(prompt), vim.fn.winwidth(0) }";
        let are_halves = |nvim: &mut Nvim| {
            let found = nvim.exec_lua(widths, []);
            let width = |index: usize| found[index].as_u64().unwrap_or_default();
            width(0).abs_diff(width(1)) <= 1
        };
        nvim.wait_until(are_halves, &format!("halves, {side}"));
        nvim.exec_lua(go, []);
        nvim.command("vsplit other.txt");
        let have_room =
            |nvim: &mut Nvim| nvim.sizes_of_files("width").iter().filter(|width| **width >= 20).count() == 2;
        nvim.wait_until(have_room, &format!("room for both files, {side}"));
        wait_for_sizes(nvim, before, side);
    }
}

#[test]
fn a_page_has_the_same_part_of_every_screen() {
    for open in ["Acp inspect", "Acp audit", "Acp agents"] {
        let mut chat = chat("right", 140, 40);
        let nvim = &mut chat.nvim;
        nvim.command(open);
        let is_page = "return vim.bo.filetype:find('^acp%-') ~= nil and vim.fn.winnr('$') > 3";
        nvim.wait_until(|nvim| nvim.exec_lua(is_page, []) == true.into(), open);
        let height = |nvim: &mut Nvim| nvim.exec_lua("return vim.api.nvim_win_get_height(0)", []).as_u64();
        let all = |nvim: &mut Nvim| (height(nvim), nvim.sizes_of_files("height"), sizes(nvim));
        let before = all(nvim);
        nvim.resize(60, 14);
        let is_read = |nvim: &mut Nvim| height(nvim).is_some_and(|height| height >= 6);
        nvim.wait_until(is_read, &format!("a good part of a small screen for {open}"));
        nvim.resize(140, 40);
        nvim.wait_until(|nvim| all(nvim) == before, &format!("{before:?} for {open}"));
    }
}
