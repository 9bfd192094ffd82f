//! What is proposed can be read where it is asked about: each line of it can be brought on the screen before the
//! answer, on small and large screens, whatever is proposed; and afterwards the window shows what the user had in it.
//!
//! Neovim's own picker stands here unless a test says otherwise.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use serde_json::{Value, json};
use support::Nvim;
use support::script::{Scripted, answered, ends, in_second, permission, prompt, says, steps, update, writes};

/// An 80x24 screen and a larger one.
const SIZES: [(u16, u16); 2] = [(80, 24), (140, 40)];

fn numbered(word: &str, count: usize) -> String {
    (1..=count).map(|number| format!("{word} {number}\n")).collect()
}

/// A diff of a file of the project.
fn diff(file: &str, old: Option<&str>, new: &str) -> Value {
    json!({ "type": "diff", "path": format!("$PROJECT/{file}"), "oldText": old, "newText": new })
}

fn edit(id: &str, title: &str, content: Value) -> Value {
    json!({ "toolCallId": id, "title": title, "kind": "edit", "content": content })
}

/// A chat whose agent asks for these calls, one after the other, beside `mine.txt`.
fn asking(files: &[(&str, &str)], calls: &[Value], (columns, rows): (u16, u16)) -> Scripted {
    let mut all = vec![prompt()];
    for (at, call) in calls.iter().enumerate() {
        all.extend([permission(&format!("p{at}"), call.clone()), answered(&format!("p{at}"))]);
    }
    all.extend([says("Answered."), ends("end_turn")]);
    started(files, all, (columns, rows), "")
}

fn started(files: &[(&str, &str)], all: Vec<Value>, (columns, rows): (u16, u16), options: &str) -> Scripted {
    let mut files = files.to_vec();
    let mine = numbered("mine", 200);
    files.push(("mine.txt", &mine));
    let mut chat = Scripted::sized(&files, steps(all), columns, rows);
    chat.configure(options);
    chat.nvim.command("edit mine.txt | set number | normal! 120Gzt3jw");
    chat.chat();
    chat
}

/// What there is to know of the window for files: its buffer, its view, its options.
fn window(nvim: &mut Nvim) -> String {
    let code = "local win = _G.code_win or vim.fn.win_getid(1)
        _G.code_win = win
        local view = vim.api.nvim_win_call(win, vim.fn.winsaveview)
        local all = { vim.fs.basename(vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(win))),
          view.topline, view.lnum, view.col, view.topfill }
        for _, name in ipairs({ 'number', 'wrap', 'foldenable', 'signcolumn', 'winbar', 'list', 'statuscolumn' }) do
          all[#all + 1] = name .. '=' .. tostring(vim.wo[win][name])
        end
        local jumps = vim.fn.getjumplist(win)
        for _, jump in ipairs(jumps[1]) do
          all[#all + 1] = ('jump %s:%d'):format(vim.fs.basename(vim.api.nvim_buf_get_name(jump.bufnr)), jump.lnum)
        end
        all[#all + 1] = 'alternate ' .. vim.api.nvim_win_call(win, function() return vim.fn.bufnr('#') end)
        return vim.inspect(all)";
    nvim.exec_lua(code, []).as_str().expect("a text").to_owned()
}

/// The name of what the window for files shows.
fn shown(nvim: &mut Nvim) -> String {
    let code = "return vim.fs.basename(vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(_G.code_win)))";
    nvim.exec_lua(code, []).as_str().expect("a text").to_owned()
}

/// All lines of a text that the user gets to see: on the screen as it is, or else by scrolling the window for files,
/// or the chat, from its first line to its last. Nothing can be scrolled while a picker has the screen.
#[track_caller]
fn assert_readable(nvim: &mut Nvim, lines: &[String]) {
    let mut missing: Vec<&String> = lines.iter().collect();
    let mut look = |nvim: &mut Nvim| {
        let screen = nvim.screen();
        missing.retain(|line| !screen.lines().any(|row| row.contains(line.as_str())));
        missing.is_empty()
    };
    if look(nvim) {
        return;
    }
    if has_picker(nvim) {
        panic!("the picker hides {missing:?}\n{}", nvim.screen());
    }
    nvim.stop_insert();
    let beside = "vim.fn.bufwinid('^acp://proposed')";
    for window in [beside, "_G.code_win", "vim.fn.bufwinid(require('acp').status().sessions[1].buffer)"] {
        let code = format!("return {window} > 0 and pcall(vim.api.nvim_set_current_win, {window})");
        if nvim.exec_lua(&code, []) == false.into() {
            continue;
        }
        nvim.exec_lua("vim.cmd('keepjumps normal! gg')", []);
        for _ in 0..400 {
            if look(nvim) {
                return;
            }
            let view =
                "local view = vim.fn.winsaveview() return { view.topline, view.topfill, view.skipcol }";
            let before = nvim.exec_lua(view, []);
            nvim.input("5<C-e>");
            nvim.exec_lua("vim.cmd.redraw()", []);
            if before == nvim.exec_lua(view, []) {
                break;
            }
        }
        // What is wider than a window that does not wrap is reached with the cursor.
        for line in lines {
            let search = "vim.fn.search('\\\\V' .. (...), 'w') vim.cmd.redraw()";
            nvim.exec_lua(search, [line.as_str().into()]);
            if look(nvim) {
                return;
            }
        }
    }
    panic!(
        "{} of {} lines cannot be seen, such as {:?}\n{}",
        missing.len(),
        lines.len(),
        missing[0],
        nvim.screen()
    );
}

/// No buffer of ours is left of what was proposed, listed or not, and files have nothing to undo.
#[track_caller]
fn assert_nothing_is_left(nvim: &mut Nvim, what: &str) {
    let code = "local left = {}
        for _, buf in ipairs(vim.api.nvim_list_bufs()) do
          local name = vim.api.nvim_buf_get_name(buf)
          local ours = name:find('^acp://propos')
          local undo = vim.bo[buf].buftype == '' and vim.api.nvim_buf_is_loaded(buf) and vim.fn.undotree(buf).seq_last > 0
          if ours or undo then
            left[#left + 1] = (undo and 'changed: ' or '') .. name
          end
        end
        return table.concat(left, ', ')";
    assert_eq!(nvim.exec_lua(code, []).as_str(), Some(""), "{what}: nothing is left of it");
}

/// Whether Neovim's own picker has the screen.
fn has_picker(nvim: &mut Nvim) -> bool {
    nvim.screen().contains("Type number")
}

/// Waits until the question can be answered: the picker is open, or its call says how to go on.
#[track_caller]
fn wait_for_question(nvim: &mut Nvim) {
    nvim.wait_until(
        |nvim| {
            let screen = nvim.screen();
            screen.contains("Type number") || screen.contains("Read it, scroll if")
        },
        "the question",
    );
}

/// Rejects what is asked about, whether the picker is open or not.
fn reject(chat: &mut Scripted, id: &str) {
    if has_picker(&mut chat.nvim) {
        chat.nvim.input("3<CR>");
    } else {
        chat.nvim.stop_insert();
        chat.decide("reject");
    }
    assert_eq!(chat.answer(id)["result"]["outcome"]["optionId"], "r");
}

// What is proposed.

/// Files, the diffs of one call, and the lines that have to be readable.
type Proposal = (&'static str, Vec<(&'static str, String)>, Value, Vec<String>);

fn proposals() -> Vec<Proposal> {
    let old = numbered("line", 300);
    let changed = |from: usize, to: usize, with: &str| {
        (1..=300)
            .map(|number| match (from..=to).contains(&number) {
                true => format!("{with} {number}\n"),
                false => format!("line {number}\n"),
            })
            .collect::<String>()
    };
    let words = |word: &str, from: usize, to: usize| -> Vec<String> {
        (from..=to).map(|number| format!("{word} {number}")).collect()
    };
    let far = changed(10, 10, "FIRST").replace("line 250\n", "LAST 250\n");
    let long = format!("{} end\n", "word ".repeat(120));
    vec![
        ("a new file", vec![], json!([diff("new.txt", None, &numbered("new", 120))]), words("+ new", 1, 120)),
        (
            "lines at the top",
            vec![("a.txt", old.clone())],
            json!([diff("a.txt", Some(&old), &(numbered("top", 89) + &old))]),
            words("top", 1, 89),
        ),
        (
            "lines at the end",
            vec![("a.txt", old.clone())],
            json!([diff("a.txt", Some(&old), &(old.clone() + &numbered("tail", 60)))]),
            words("tail", 1, 60),
        ),
        (
            "many lines changed",
            vec![("a.txt", old.clone())],
            json!([diff("a.txt", Some(&old), &changed(100, 150, "other"))]),
            [words("line", 100, 150), words("other", 100, 150)].concat(),
        ),
        (
            "one line changed",
            vec![("a.txt", old.clone())],
            json!([diff("a.txt", Some("line 140\n"), "LINE 140\n")]),
            vec!["LINE 140".to_owned(), "line 140".to_owned()],
        ),
        (
            "two lines far from each other",
            vec![("a.txt", old.clone())],
            json!([diff("a.txt", Some(&old), &far)]),
            vec!["FIRST 10".to_owned(), "LAST 250".to_owned()],
        ),
        (
            "a file that goes",
            vec![("a.txt", old.clone())],
            json!([diff("a.txt", Some(&old), "")]),
            words("line", 1, 300),
        ),
        (
            "several files",
            vec![("a.txt", old.clone()), ("b.txt", old.clone())],
            json!([
                diff("a.txt", Some("line 7\n"), "A 7\n"),
                diff("b.txt", Some(&old), &changed(200, 240, "B")),
                diff("c.txt", None, &numbered("C", 30)),
            ]),
            [vec!["A 7".to_owned()], words("B", 200, 240), words("C", 1, 30)].concat(),
        ),
        (
            "a long line",
            vec![("a.txt", format!("one\n{long}three\n"))],
            json!([diff("a.txt", Some(&long), &format!("{}ENDMARK\n", "WORD ".repeat(200)))]),
            vec!["ENDMARK".to_owned()],
        ),
        (
            "nowhere in the file",
            vec![("a.txt", old.clone())],
            json!([diff("a.txt", Some(&numbered("gone", 30)), &numbered("fresh", 30))]),
            [words("gone", 1, 30), words("fresh", 1, 30)].concat(),
        ),
    ]
}

#[test]
fn each_line_of_a_proposal_can_be_read_before_it_is_answered() {
    for size in SIZES {
        for (what, files, content, lines) in proposals() {
            println!("{what} at {size:?}");
            let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
            let mut chat = asking(&files, &[edit("c", "Change it", content)], size);
            let before = window(&mut chat.nvim);
            chat.send("go");
            wait_for_question(&mut chat.nvim);
            assert_readable(&mut chat.nvim, &lines);
            reject(&mut chat, "p0");
            chat.wait_for("Answered.");
            assert_eq!(window(&mut chat.nvim), before, "{what} at {size:?}: the window is as it was");
            assert_nothing_is_left(&mut chat.nvim, what);
        }
    }
}

#[test]
fn a_picker_on_a_small_screen_hides_no_row_of_a_line_that_wraps() {
    // Letters that stand nowhere else end what goes and what comes.
    let line = |letter: &str, length: usize, end: &str| format!("{}{end}", letter.repeat(length - 1));
    let cases: Vec<(usize, usize)> =
        [20, 27, 28, 29, 56].iter().flat_map(|length| (0..4).map(|more| (*length, more))).collect();
    let old = |at: usize, length: usize| format!("{at:02}{}\n", line("o", length - 2, "\u{df}"));
    let text: String = cases
        .iter()
        .enumerate()
        .map(|(at, (length, _))| format!("before\n{}\n\n\n\n", old(at, *length)))
        .collect();
    let change = |at: usize, (length, more): (usize, usize)| {
        let new = format!("{}{}\n", "more\n".repeat(more), line("n", length, "\u{fe}"));
        edit(&format!("c{at}"), &format!("Edit {at}"), json!([diff("a.txt", Some(&old(at, length)), &new)]))
    };
    let calls: Vec<Value> = cases.iter().enumerate().map(|(at, case)| change(at, *case)).collect();
    for (size, options) in [
        ((60, 14), "number"),
        ((60, 14), "nonumber"),
        ((60, 16), "number signcolumn=yes"),
        ((70, 16), "nonumber"),
        ((50, 20), "nonumber"),
    ] {
        for lines in [1, 0] {
            let mut chat = asking(&[("a.txt", text.as_str())], &calls, (100, 30));
            chat.nvim.resize(size.0, size.1);
            chat.nvim.command(&format!("wincmd t | edit a.txt | setlocal {options} | set cmdheight={lines}"));
            chat.nvim.command("wincmd b");
            chat.send("go");
            let mut opened = 0;
            for (at, case) in cases.iter().enumerate() {
                chat.wait_for(&format!("Edit {at}"));
                wait_for_question(&mut chat.nvim);
                if has_picker(&mut chat.nvim) {
                    opened += 1;
                    let screen = chat.nvim.screen();
                    let is_shown = screen.contains('\u{df}')
                        && screen.contains('\u{fe}')
                        && screen.contains("Fake wants");
                    assert!(is_shown, "{case:?} at {size:?} with {options}, {lines}:\n{screen}");
                }
                reject(&mut chat, &format!("p{at}"));
            }
            println!("{options} at {size:?}: {opened} of {}", cases.len());
        }
    }
}

#[test]
fn the_words_of_a_long_line_on_a_page_stay_whole() {
    let line = "uncommonly lengthy vocabulary ".repeat(6);
    let text = format!("{line}\n{}", numbered("new", 60));
    let mut chat =
        asking(&[], &[edit("c", "Write new.txt", json!([diff("new.txt", None, &text)]))], (80, 24));
    chat.send("go");
    wait_for_question(&mut chat.nvim);
    chat.nvim.wait_for_screen("+ uncommonly");
    let screen = chat.nvim.screen();
    let left = |line: &str| line.split('│').next().unwrap_or_default().trim().to_owned();
    let rows: Vec<String> = screen.lines().map(left).collect();
    let first = rows.iter().position(|row| row.starts_with("+ uncommonly")).expect("the line");
    let rows = rows[first..].iter().take_while(|row| !row.contains("new 1"));
    let shown: Vec<&str> = rows.flat_map(|row| row.trim_start_matches("+ ").split_whitespace()).collect();
    assert_eq!(shown, line.split_whitespace().collect::<Vec<_>>(), "{screen}");
}

#[test]
fn each_line_of_a_proposal_can_be_read_before_it_is_answered_where_lines_do_not_wrap() {
    let short = "short\n".repeat(3);
    let wide = format!("{}ENDMARK", "wide ".repeat(40));
    let cases = [
        ("a long line", "SHORT".to_owned(), wide.clone()),
        ("a long line that goes", wide.clone(), "SHORT".to_owned()),
        ("short lines, looked at from the side", "SHORT".to_owned(), "ENDMARK".to_owned()),
    ];
    for size in SIZES {
        for (what, old, new) in &cases {
            println!("{what} at {size:?}");
            let text = format!("{short}{old}\n{}\n", "x".repeat(200));
            let files = [("a.txt", text.as_str())];
            let change = json!([diff("a.txt", Some(&format!("{old}\n")), &format!("{new}\n"))]);
            let mut chat = asking(&files, &[edit("c", "Change it", change)], size);
            let aside = "vim.api.nvim_win_call(vim.fn.win_getid(1), function()
                vim.cmd('set nowrap | edit a.txt')
                vim.fn.winrestview({ lnum = 5, col = 120, leftcol = 60 })
              end)";
            chat.nvim.exec_lua(aside, []);
            let before = window(&mut chat.nvim);
            chat.send("go");
            wait_for_question(&mut chat.nvim);
            assert_readable(&mut chat.nvim, &["ENDMARK".to_owned(), "SHORT".to_owned()]);
            reject(&mut chat, "p0");
            chat.wait_for("Answered.");
            assert_eq!(window(&mut chat.nvim), before, "{what} at {size:?}: the window is as it was");
            assert_nothing_is_left(&mut chat.nvim, what);
        }
    }
}

#[test]
fn a_proposal_is_laid_out_anew_when_its_window_gets_narrower() {
    let wide = format!("{}ENDMARK\n", "wide ".repeat(10));
    let change = json!([diff("a.txt", Some("two\n"), &wide)]);
    let mut chat = asking(&[("a.txt", "one\ntwo\nthree\n")], &[edit("c", "Change it", change)], (140, 40));
    let prepare = "vim.ui.select = function() end
        vim.api.nvim_win_call(vim.fn.win_getid(1), function() vim.cmd('edit a.txt') end)";
    chat.nvim.exec_lua(prepare, []);
    chat.send("go");
    chat.nvim.wait_for_screen("ENDMARK");
    for width in [40, 30, 50] {
        let narrow = "vim.api.nvim_win_set_width(vim.fn.win_getid(1), ...) vim.cmd.redraw()
            return vim.api.nvim_win_get_width(vim.fn.win_getid(1))";
        assert_eq!(chat.nvim.exec_lua(narrow, [width.into()]), width.into());
        let rows = |nvim: &mut Nvim| nvim.screen().lines().filter(|row| row.contains("wide wide")).count();
        let is_whole = |nvim: &mut Nvim| rows(nvim) > 1 && nvim.screen().contains("ENDMARK");
        chat.nvim.wait_until(is_whole, &format!("all of the line in {width} columns"));
    }
}

#[test]
fn each_line_of_a_proposal_beside_its_file_can_be_read_before_it_is_answered() {
    for size in SIZES {
        for (what, files, content, lines) in proposals() {
            println!("{what} at {size:?}");
            let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
            let mut all = vec![prompt(), permission("p0", edit("c", "Change it", content)), answered("p0")];
            all.extend([says("Answered."), ends("end_turn")]);
            let mut chat = started(&files, all, size, "diff = { style = 'split' }");
            let before = window(&mut chat.nvim);
            chat.send("go");
            wait_for_question(&mut chat.nvim);
            let plain: Vec<String> =
                lines.iter().map(|line| line.strip_prefix("+ ").unwrap_or(line).to_owned()).collect();
            if what == "several files" {
                // One of them stands there at a time.
                for (file, next) in [("A ", "b.txt"), ("B ", "c.txt"), ("C ", "a.txt")] {
                    let of_file: Vec<String> =
                        plain.iter().filter(|line| line.starts_with(file)).cloned().collect();
                    assert_readable(&mut chat.nvim, &of_file);
                    chat.nvim.command("Acp diff next");
                    chat.nvim.wait_until(|nvim| shown(nvim) == next, "the next file");
                }
            } else {
                assert_readable(&mut chat.nvim, &plain);
            }
            reject(&mut chat, "p0");
            chat.wait_for("Answered.");
            assert_eq!(window(&mut chat.nvim), before, "{what} at {size:?}: the window is as it was");
            assert_nothing_is_left(&mut chat.nvim, what);
        }
    }
}

/// The calls that recorded agents asked for, with lines that each of them proposes.
fn recorded() -> Vec<(String, Value, Vec<String>)> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut all = Vec::new();
    let files = std::fs::read_dir(folder).expect("recordings").flatten();
    for file in files.filter(|file| file.path().extension().is_some_and(|end| end == "jsonl")) {
        let text = std::fs::read_to_string(file.path()).expect("a recording");
        for line in text.lines() {
            let line: Value = serde_json::from_str(line).expect("JSON");
            if line["msg"]["method"] != "session/request_permission" {
                continue;
            }
            let call = line["msg"]["params"]["toolCall"].to_string();
            let call = call.replace("/home/user/project", "$PROJECT").replace("/project/", "$PROJECT/");
            let mut call: Value = serde_json::from_str(&call).expect("JSON");
            call["toolCallId"] = "c".into();
            let input = call["rawInput"].clone();
            let content = call["content"].as_array().into_iter().flatten();
            let new = content.map(|content| (content["oldText"].clone(), content["newText"].clone()));
            let told = [("old_string", "new_string"), ("old_text", "new_text")];
            let new = new.chain(told.map(|(old, new)| (input[old].clone(), input[new].clone())));
            let mut lines: Vec<String> = Vec::new();
            for (old, new) in new {
                let old = old.as_str().unwrap_or_default().to_owned();
                let is_new = |line: &&str| !line.is_empty() && !old.lines().any(|before| before == *line);
                lines.extend(new.as_str().unwrap_or_default().lines().filter(is_new).map(str::to_owned));
            }
            if !lines.is_empty() {
                // Some agents tell only before they ask that it is an edit.
                call["kind"] = "edit".into();
                all.push((file.file_name().to_string_lossy().into_owned(), call, lines));
            }
        }
    }
    all
}

#[test]
fn each_recorded_proposal_can_be_read_before_it_is_answered() {
    let recorded = recorded();
    assert!(recorded.len() >= 6, "{}", recorded.len());
    for size in SIZES {
        for (name, call, lines) in &recorded {
            println!("{name} at {size:?}");
            let mut chat =
                asking(&[("notes.txt", "alpha\nbeta\ngamma\ndelta\n")], std::slice::from_ref(call), size);
            let before = window(&mut chat.nvim);
            chat.send("go");
            wait_for_question(&mut chat.nvim);
            assert_readable(&mut chat.nvim, lines);
            reject(&mut chat, "p0");
            chat.wait_for("Answered.");
            assert_eq!(window(&mut chat.nvim), before, "{name} at {size:?}: the window is as it was");
        }
    }
}

// The file beside the question.

/// Keeps what pickers are asked, in place of Neovim's own: `_G.asked` holds the prompts, `_G.choose` answers.
fn capture(nvim: &mut Nvim) {
    nvim.exec_lua(
        "_G.asked = {}
         vim.ui.select = function(items, options, choose)
           table.insert(_G.asked, options.prompt)
           _G.options, _G.items, _G.choose = options, items, choose
         end",
        [],
    );
}

/// Waits until a picker that was captured asks.
#[track_caller]
fn wait_for_captured(nvim: &mut Nvim) {
    nvim.wait_until(|nvim| nvim.exec_lua("return _G.choose ~= nil", []) == true.into(), "the question");
}

#[test]
fn of_three_edits_at_once_each_question_has_its_own_file_in_view() {
    let text = numbered("line", 100);
    let mut all = vec![prompt()];
    for (at, name) in ["a", "b", "c"].into_iter().enumerate() {
        let change = json!([diff(&format!("{name}.txt"), Some("line 50\n"), &format!("{name} is here\n"))]);
        all.push(permission(&format!("p{at}"), edit(name, &format!("Edit {name}.txt"), change)));
    }
    all.extend([answered("p0"), answered("p1"), answered("p2"), says("Answered."), ends("end_turn")]);
    let files = [("a.txt", text.as_str()), ("b.txt", text.as_str()), ("c.txt", text.as_str())];
    for follow in ["false", "true"] {
        let mut chat = started(&files, all.clone(), (140, 40), &format!("follow = {follow}"));
        let before = window(&mut chat.nvim);
        capture(&mut chat.nvim);
        chat.send("go");
        for (at, name) in ["a", "b", "c"].into_iter().enumerate() {
            let count = at as u64 + 1;
            let asked = |nvim: &mut Nvim| nvim.exec_lua("return #_G.asked", []).as_u64() == Some(count);
            chat.nvim.wait_until(asked, "the next question");
            let prompt = chat.nvim.exec_lua("return _G.asked[#_G.asked]", []);
            assert!(
                prompt.as_str().is_some_and(|prompt| prompt.contains(&format!("{name}.txt"))),
                "{prompt}"
            );
            chat.nvim.wait_until(|nvim| shown(nvim) == format!("{name}.txt"), "its own file in view");
            chat.nvim.wait_for_screen(&format!("{name} is here"));
            chat.nvim.wait_for_screen(&format!("editing {name}.txt · waiting for you"));
            let answer = if at == 1 { "_G.choose('Reject', 3)" } else { "_G.choose('Allow', 1)" };
            chat.nvim.exec_lua(answer, []);
        }
        chat.wait_for("Answered.");
        // Who follows the agent is where it was last.
        let after = if follow == "true" { "c.txt" } else { "mine.txt" };
        chat.nvim.wait_until(|nvim| shown(nvim) == after, "the window to be given back");
        if follow == "false" {
            assert_eq!(window(&mut chat.nvim), before);
        }
    }
}

#[test]
fn of_edits_of_one_file_at_once_only_the_one_that_is_asked_about_stands_in_it() {
    let text = numbered("line", 30);
    let names = ["first", "second", "third"];
    let mut all = vec![prompt()];
    for (at, name) in names.into_iter().enumerate() {
        let old = format!("line {}\n", 10 + 2 * at);
        let change = json!([diff("a.txt", Some(&old), &format!("{name} change\n"))]);
        all.push(permission(&format!("p{at}"), edit(name, "Edit a.txt", change)));
    }
    all.extend([answered("p0"), answered("p1"), answered("p2"), says("Answered."), ends("end_turn")]);
    let mut chat = started(&[("a.txt", text.as_str())], all, (140, 40), "");
    // The file is on the screen before anything is asked.
    chat.nvim
        .exec_lua("vim.api.nvim_win_call(vim.fn.win_getid(1), function() vim.cmd.edit('a.txt') end)", []);
    capture(&mut chat.nvim);
    chat.send("go");
    for (at, name) in names.into_iter().enumerate() {
        let count = at as u64 + 1;
        let asked = |nvim: &mut Nvim| nvim.exec_lua("return #_G.asked", []).as_u64() == Some(count);
        chat.nvim.wait_until(asked, "the next question");
        chat.nvim.wait_for_screen(&format!("{name} change"));
        let screen = chat.nvim.screen();
        for other in names.into_iter().filter(|other| *other != name) {
            assert!(!screen.contains(&format!("{other} change")), "{name}: {screen}");
        }
        let answer = if at == 1 { "_G.choose('Reject', 3)" } else { "_G.choose('Allow', 1)" };
        chat.nvim.exec_lua(answer, []);
    }
    chat.wait_for("Answered.");
}

/// A file's line 90 is to be another; the cursor was in its line 3.
fn asked_about_line_90() -> Scripted {
    let text = numbered("line", 100);
    let change = json!([diff("a.txt", Some("line 90\n"), "LINE 90\n")]);
    let mut all = vec![prompt(), permission("p0", edit("c", "Edit a.txt", change))];
    all.extend([answered("p0"), says("Answered."), ends("end_turn")]);
    let mut chat = started(&[("a.txt", &text)], all, (80, 24), "");
    capture(&mut chat.nvim);
    chat.nvim.exec_lua("vim.fn.win_execute(vim.fn.win_getid(1), 'edit a.txt | 3')", []);
    window(&mut chat.nvim);
    chat.send("go");
    chat.nvim.wait_for_screen(" LINE 90");
    chat.nvim.input("<Esc>");
    chat
}

#[test]
fn a_line_that_the_user_changes_is_no_longer_shown_as_the_one_that_goes() {
    let mut chat = asked_about_line_90();
    chat.nvim.exec_lua("vim.api.nvim_set_current_win(_G.code_win)", []);
    let note = "the file has changed since";
    for keys in ["90GAx<Esc>", "ccmine<Esc>", "dd"] {
        chat.nvim.input(keys);
        chat.nvim.wait_for_screen(note);
        let screen = chat.nvim.screen();
        let (old, new) = (screen.find("-     line 90"), screen.find("+     LINE 90"));
        assert!(old.is_some() && old < new, "what the agent has seen, then what it proposes: {screen}");
        let own = screen.lines().find(|line| line.contains("line 90x") || line.contains("mine"));
        assert!(own.is_none_or(|line| !line.contains('-')), "{screen}");
        chat.nvim.input("u");
        chat.nvim.wait_until(|nvim| !nvim.screen().contains(note), "what is right again to be drawn");
        chat.nvim.wait_for_screen("-  90 line 90");
    }
    // Elsewhere it is the same change.
    chat.nvim.input("88GOabove<Esc>");
    chat.nvim.wait_for_screen("above");
    chat.nvim.wait_for_screen("-  91 line 90");
    // The window stays where the user has it.
    chat.nvim.input("gg");
    chat.nvim.exec_lua("vim.api.nvim_buf_set_lines(0, 90, 91, true, { 'mine' })", []);
    let drawn = "for name, ns in pairs(vim.api.nvim_get_namespaces()) do
          if name:find('^acp.diff') then
            return vim.inspect(vim.api.nvim_buf_get_extmarks(0, ns, 0, -1, { details = true }))
          end
        end";
    chat.nvim.wait_until(
        |nvim| nvim.exec_lua(drawn, []).to_string().contains(note),
        "the proposal to be placed anew",
    );
    assert_eq!(chat.nvim.exec_lua("return vim.fn.line('w0')", []), 1.into());
    // Lines that come above it move it along.
    chat.nvim.exec_lua("vim.api.nvim_buf_set_lines(0, 0, 0, true, { 'new 1', 'new 2' })", []);
    chat.nvim.input("93Gzz");
    chat.nvim.wait_for_screen(note);
    let screen = chat.nvim.screen();
    let (proposed, own) = (screen.find("+     LINE 90"), screen.find(" 93 mine"));
    assert!(proposed.is_some() && proposed < own, "{screen}");
    assert!(
        screen[proposed.unwrap_or(0)..].lines().nth(1).is_some_and(|row| row.contains(" 93 mine")),
        "{screen}"
    );
    chat.decide("reject");
    chat.wait_for("Answered.");
    chat.nvim.wait_until(|nvim| !nvim.screen().contains("LINE 90"), "the proposal to go");
    let left = "return #vim.api.nvim_get_autocmds({ event = 'TextChanged', buffer = vim.fn.bufnr('a.txt') })";
    assert_eq!(chat.nvim.exec_lua(left, []), 0.into(), "nobody listens any more");
}

#[test]
fn who_reads_on_in_the_file_that_is_asked_about_stays_there() {
    let mut chat = asked_about_line_90();
    chat.nvim.exec_lua("vim.api.nvim_set_current_win(_G.code_win); vim.cmd('normal! 70G')", []);
    chat.decide("reject");
    chat.wait_for("Answered.");
    assert_eq!(chat.nvim.exec_lua("return vim.fn.line('.')", []), 70.into());
}

#[test]
fn a_window_that_the_user_types_in_is_not_taken_from_them() {
    let change = json!([diff("new.txt", None, &numbered("new", 50))]);
    let mut chat = asking(&[], &[edit("c", "Write new.txt", change)], (80, 24));
    window(&mut chat.nvim);
    chat.nvim.stop_insert();
    chat.nvim.command("call win_gotoid(win_getid(1)) | startinsert");
    chat.nvim.exec_lua("require('acp').send('go')", []);
    chat.wait_for("Allow this edit?");
    chat.nvim.input("typed");
    chat.nvim.wait_for_screen("typed");
    assert_eq!(shown(&mut chat.nvim), "mine.txt");
    chat.nvim.input("<Esc>");
    chat.nvim.wait_for_screen("+ new 1");
    assert_eq!(shown(&mut chat.nvim), "new.txt");
    chat.decide("reject");
    chat.wait_for("Answered.");
    assert_eq!(shown(&mut chat.nvim), "mine.txt");
}

#[test]
fn who_puts_away_what_they_are_asked_about_finds_it_in_the_chat() {
    for away in ["bdelete", "quit", "bwipeout"] {
        let new = numbered("new", 60);
        let mut chat =
            asking(&[], &[edit("c", "Write new.txt", json!([diff("new.txt", None, &new)]))], (80, 24));
        chat.send("go");
        chat.nvim.wait_for_screen("+ new 1");
        chat.nvim.stop_insert();
        assert!(!chat.transcript().contains("new 60"), "it is folded");
        chat.nvim.exec_lua("vim.api.nvim_set_current_win(vim.fn.win_getid(1))", []);
        chat.nvim.command(away);
        chat.wait_for("new 60");
        // The window was theirs: what they had in it is back, and they are there.
        let mine = "return vim.fn.bufname() .. ' ' .. vim.fn.line('w0') .. ' ' .. vim.fn.line('.')";
        chat.nvim.wait_until(|nvim| nvim.exec_lua(mine, []) == "mine.txt 120 123".into(), "the file");
        let width = "return vim.fn.winwidth(vim.fn.bufwinid('acp://fake prompt'))";
        chat.nvim.wait_until(|nvim| nvim.exec_lua(width, []).as_u64() == Some(40), "the chat's width");
        chat.nvim.command("AcpChat");
        chat.decide("reject");
        chat.wait_for("Answered.");
        let messages = chat.nvim.messages();
        assert!(!messages.contains("acp:"), "{away}: {messages}");
        let left = "return table.concat(vim.tbl_filter(function(name) return name:find('proposal') end,
            vim.tbl_map(vim.api.nvim_buf_get_name, vim.api.nvim_list_bufs())), ' ')";
        assert_eq!(chat.nvim.exec_lua(left, []).as_str(), Some(""), "{away}");
    }
}

#[test]
fn who_closes_a_chat_while_it_asks_has_their_file_back() {
    for lines in [60, 120] {
        let new = numbered("new", lines);
        let mut chat =
            asking(&[], &[edit("c", "Write new.txt", json!([diff("new.txt", None, &new)]))], (80, 24));
        chat.send("go");
        chat.nvim.wait_for_screen("+ new 1");
        chat.nvim.stop_insert();
        chat.nvim.command("Acp close");
        let mine = "return vim.fn.bufname() .. ' ' .. vim.fn.line('w0') .. ' ' .. vim.fn.line('.')";
        chat.nvim.wait_until(|nvim| nvim.exec_lua(mine, []) == "mine.txt 120 123".into(), "the file");
        assert_nothing_is_left(&mut chat.nvim, "a closed chat");
    }
}

#[test]
fn who_shows_another_file_where_they_are_asked_finds_the_proposal_in_the_chat_and_brings_it_back() {
    let text = numbered("line", 20);
    let of_a_line = diff("a.txt", Some("line 5\n"), "LINE FIVE\n");
    for (change, proposed, folded) in [
        (diff("new.txt", None, &numbered("new", 60)), "+ new 1", "new 60"),
        (of_a_line, "+     LINE FIVE", "+ LINE FIVE"),
    ] {
        let files = [("a.txt", text.as_str()), ("other.txt", "other\n")];
        let mut chat = asking(&files, &[edit("c", "Change it", json!([change]))], (100, 24));
        window(&mut chat.nvim);
        capture(&mut chat.nvim);
        chat.send("go");
        wait_for_captured(&mut chat.nvim);
        chat.nvim.wait_for_screen(proposed);
        chat.nvim.stop_insert();
        chat.nvim.exec_lua("vim.api.nvim_set_current_win(_G.code_win)", []);
        chat.nvim.command("edit other.txt");
        chat.wait_for(folded);
        assert_eq!(shown(&mut chat.nvim), "other.txt");
        chat.nvim.command("Acp diff");
        chat.nvim.wait_for_screen(proposed);
        chat.nvim.wait_until(|nvim| shown(nvim) != "other.txt", "the proposal's window");
        chat.nvim.exec_lua("_G.choose('Reject', 3)", []);
        chat.wait_for("Answered.");
        assert_eq!(shown(&mut chat.nvim), "other.txt");
    }
}

#[test]
fn a_file_beside_what_it_was_gives_the_window_back_to_what_is_asked_about() {
    let mut all = vec![prompt()];
    all.extend(writes("made.txt", "made\n"));
    let change = json!([diff("new.txt", None, &numbered("new", 60))]);
    all.extend([permission("p0", edit("c", "Write new.txt", change)), answered("p0")]);
    all.extend([says("Answered."), ends("end_turn")]);
    let mut chat = started(&[], all, (140, 40), "");
    window(&mut chat.nvim);
    capture(&mut chat.nvim);
    chat.send("go");
    chat.nvim.wait_for_screen("+ new 1");
    wait_for_captured(&mut chat.nvim);
    chat.nvim.stop_insert();
    for _ in 0..2 {
        chat.nvim.command("Acp diff");
        chat.nvim.wait_until(|nvim| shown(nvim) == "made.txt", "the file beside what it was");
        // What is asked about can still be read.
        chat.wait_for("new 60");
        chat.nvim.command("Acp diff");
        chat.nvim.wait_until(|nvim| shown(nvim) == "new.txt", "the proposal");
    }
    chat.nvim.exec_lua("_G.choose('Reject', 3)", []);
    chat.wait_for("Answered.");
    assert_eq!(shown(&mut chat.nvim), "mine.txt");
}

#[test]
fn where_no_window_can_show_what_is_asked_about_the_diff_of_a_changed_file_opens() {
    let mut all = vec![prompt()];
    all.extend(writes("made.txt", "made\n"));
    let change = json!([diff("new.txt", None, &numbered("new", 60))]);
    all.extend([permission("p0", edit("c", "Write new.txt", change)), answered("p0")]);
    all.extend([says("Answered."), ends("end_turn")]);
    let mut chat = started(&[], all, (140, 40), "window = { layout = 'float' }");
    window(&mut chat.nvim);
    capture(&mut chat.nvim);
    chat.send("go");
    wait_for_captured(&mut chat.nvim);
    chat.nvim.stop_insert();
    chat.nvim.command("Acp diff");
    chat.nvim.wait_until(|nvim| shown(nvim) == "made.txt", "the file beside what it was");
    chat.nvim.command("Acp diff");
    chat.nvim.wait_until(|nvim| shown(nvim) == "mine.txt", "what was there");
}

#[test]
fn what_is_proposed_in_a_file_says_that_it_is_not_made() {
    let (mut all, text) = (vec![prompt()], numbered("line", 20));
    let change = json!([diff("a.txt", Some("line 5\n"), "LINE FIVE\n")]);
    all.extend([permission("p0", edit("c", "Edit a.txt", change)), answered("p0")]);
    all.extend(writes("a.txt", &text.replace("line 5\n", "LINE FIVE\n")));
    all.extend([says("Answered."), ends("end_turn")]);
    let mut chat = started(&[("a.txt", text.as_str())], all, (140, 24), "");
    capture(&mut chat.nvim);
    chat.send("go");
    let label = "line 5 Fake proposes this \u{b7} :Acp answer";
    chat.nvim.wait_for_screen(label);
    wait_for_captured(&mut chat.nvim);
    chat.nvim.exec_lua("_G.choose('Allow', 1)", []);
    chat.wait_for("Answered.");
    chat.nvim.stop_insert();
    chat.nvim.command("edit a.txt");
    chat.nvim.wait_for_screen("LINE FIVE");
    assert!(!chat.nvim.screen().contains("proposes this"), "{}", chat.nvim.screen());
}

#[test]
fn who_closes_the_page_of_the_first_of_several_proposals_answers_that_one() {
    for away in ["bdelete", "quit"] {
        let new = numbered("new", 60);
        let ids = ["one", "two", "three"];
        let ask = |id: &&str| {
            let name = format!("{id}.txt");
            permission(id, edit(id, &format!("Write {name}"), json!([diff(&name, None, &new)])))
        };
        let mut all = vec![prompt()];
        all.extend(ids.iter().map(ask));
        let mut chat = started(&[], all, (80, 24), "");
        chat.send("go");
        chat.nvim.wait_for_screen("+ new 1");
        chat.wait_for("three.txt");
        chat.nvim.stop_insert();
        chat.nvim.exec_lua("vim.api.nvim_set_current_win(vim.fn.win_getid(1))", []);
        chat.nvim.command(away);
        // Wherever Neovim puts the cursor then.
        chat.wait_for("new 60");
        chat.nvim.command("Acp reject");
        let is_answer = |line: &Value| line.get("method").is_none() && line["id"].is_string();
        let answers = |chat: &Scripted| chat.record().into_iter().filter(is_answer).collect::<Vec<_>>();
        let first = chat.answer("one");
        assert_eq!(first["result"]["outcome"]["optionId"], "r", "{away}");
        assert_eq!(answers(&chat).len(), 1, "{away}: one question was answered");
    }
}

#[test]
fn a_question_that_is_put_off_leaves_the_screen_to_the_next_one_and_comes_back() {
    for style in ["inline", "split"] {
        let text = numbered("line", 100);
        let change = |name: &str| {
            let change = diff(&format!("{name}.txt"), Some("line 50\n"), &format!("{name} is here\n"));
            edit(name, &format!("Edit {name}.txt"), json!([change]))
        };
        let mut all = vec![prompt(), permission("p0", change("a")), permission("p1", change("b"))];
        all.extend([answered("p0"), answered("p1"), says("Answered."), ends("end_turn")]);
        let files = [("a.txt", text.as_str()), ("b.txt", text.as_str())];
        let mut chat = started(&files, all, (140, 40), &format!("diff = {{ style = '{style}' }}"));
        let before = window(&mut chat.nvim);
        capture(&mut chat.nvim);
        chat.send("go");
        let count = |wanted: u64| {
            move |nvim: &mut Nvim| nvim.exec_lua("return #_G.asked", []).as_u64() == Some(wanted)
        };
        chat.nvim.wait_until(count(1), "the first question");
        assert_eq!(shown(&mut chat.nvim), "a.txt");
        chat.nvim.exec_lua("_G.choose(nil, nil)", []);
        chat.nvim.wait_until(count(2), "the second question");
        assert_eq!(shown(&mut chat.nvim), "b.txt");
        chat.nvim.exec_lua("_G.choose('Allow', 1)", []);
        chat.answer("p1");
        chat.nvim.wait_until(|nvim| shown(nvim) == "a.txt", "the first one again");
        chat.nvim.stop_insert();
        chat.nvim.command("Acp answer");
        chat.nvim.wait_until(count(3), "its question");
        chat.nvim.exec_lua("_G.choose('Reject', 3)", []);
        chat.wait_for("Answered.");
        assert_eq!(window(&mut chat.nvim), before, "{style}");
    }
}

// Where no window shows it.

#[test]
fn what_no_window_can_show_is_unfolded_in_the_chat_until_it_is_answered() {
    for options in
        ["window = { layout = 'float' }", "window = { layout = 'tab' }", "diff = { style = 'off' }"]
    {
        for size in SIZES {
            for count in [3, 60] {
                let change = json!([diff("new.txt", None, &numbered("new", count))]);
                let mut all = vec![prompt(), permission("p0", edit("c", "Write new.txt", change))];
                all.extend([answered("p0"), says("Answered."), ends("end_turn")]);
                let mut chat = started(&[], all, size, options);
                chat.nvim.exec_lua("_G.code_win = vim.api.nvim_get_current_win()", []);
                chat.send("go");
                wait_for_question(&mut chat.nvim);
                let lines: Vec<String> = (1..=count).map(|number| format!("+ new {number}")).collect();
                assert_readable(&mut chat.nvim, &lines);
                reject(&mut chat, "p0");
                chat.wait_for("Answered.");
                chat.nvim
                    .wait_until(|nvim| !nvim.screen().contains("+ new 2"), "the call to be folded again");
            }
        }
    }
}

#[test]
fn a_command_that_is_longer_than_the_screen_can_be_read_before_it_is_answered() {
    let command = (1..=60).map(|number| format!("echo part_{number}")).collect::<Vec<_>>().join(" && ");
    let call =
        json!({ "toolCallId": "c", "title": command, "kind": "execute", "rawInput": { "command": command } });
    let mut chat = asking(&[], &[call], (80, 24));
    chat.nvim.exec_lua("_G.code_win = vim.fn.win_getid(1)", []);
    chat.send("go");
    wait_for_question(&mut chat.nvim);
    assert_readable(&mut chat.nvim, &(1..=60).map(|number| format!("part_{number}")).collect::<Vec<_>>());
    reject(&mut chat, "p0");
    chat.wait_for("Answered.");
}

// The picker.

fn long() -> (Value, Vec<String>) {
    let change = json!([diff("new.txt", None, &numbered("new", 90))]);
    (edit("c", "Write new.txt", change), (1..=90).map(|number| format!("+ new {number}")).collect())
}

#[test]
fn a_question_about_more_than_the_screen_waits_and_opens_when_it_is_wanted() {
    for how in ["<CR> in the page", "<CR> on the call", "<CR> in the prompt", "<Plug>", ":Acp answer"] {
        let mut chat = asking(&[], &[long().0], (80, 24));
        window(&mut chat.nvim);
        chat.send("go");
        chat.nvim.wait_for_screen("Read it, scroll if");
        chat.nvim.wait_for_screen("<CR> answers");
        assert!(!has_picker(&mut chat.nvim));
        chat.nvim.stop_insert();
        match how {
            "<CR> in the page" => {
                chat.nvim.exec_lua("vim.api.nvim_set_current_win(_G.code_win)", []);
                chat.nvim.input("G");
                chat.nvim.wait_for_screen("+ new 90");
                chat.nvim.input("<CR>");
            }
            "<CR> on the call" => {
                chat.nvim.command("wincmd k");
                chat.nvim.exec_lua("vim.fn.search('Allow this edit')", []);
                chat.nvim.input("<CR>");
            }
            "<CR> in the prompt" => chat.nvim.input("<CR>"),
            "<Plug>" => {
                chat.nvim.command("nmap ,a <Plug>(acp-answer)");
                chat.nvim.input(",a");
            }
            _ => chat.nvim.input(":Acp answer<CR>"),
        }
        chat.nvim.wait_for_screen("3: Reject");
        chat.nvim.input("3<CR>");
        assert_eq!(chat.answer("p0")["result"]["outcome"]["optionId"], "r", "{how}");
    }
}

#[test]
fn what_a_chat_asks_is_asked_and_answered_there_whatever_another_chat_asks() {
    let change = edit("d", "Edit mine.txt", json!([diff("mine.txt", Some("mine 120\n"), "theirs\n")]));
    let all = vec![
        prompt(),
        permission("first", long().0),
        json!({ "expect": "session/new" }),
        json!({ "reply": "session/new", "result": { "sessionId": "s2" } }),
        prompt(),
        in_second(permission("second", change)),
        answered("second"),
        answered("first"),
    ];
    for how in ["the picker", ":Acp reject"] {
        let mut chat = started(&[], all.clone(), (80, 24), "");
        window(&mut chat.nvim);
        chat.send("go");
        chat.nvim.wait_for_screen("<CR> answers");
        chat.nvim.stop_insert();
        chat.nvim.command("AcpChat!");
        chat.nvim.wait_until(|nvim| nvim.mode().name == "i", "the prompt of the second chat");
        chat.send("go on");
        chat.nvim.wait_for_screen("3: Reject");
        chat.nvim.wait_until(|nvim| shown(nvim) == "mine.txt", "the file of the second chat");
        match how {
            "the picker" => chat.nvim.input("3<CR>"),
            _ => {
                chat.nvim.input("<Esc>");
                chat.nvim.wait_for_screen("left open");
                assert_eq!(shown(&mut chat.nvim), "mine.txt", "what this chat asks about");
                chat.nvim.stop_insert();
                chat.nvim.command("Acp reject");
            }
        }
        assert_eq!(chat.answer("second")["result"]["outcome"]["optionId"], "r", "{how}");
        chat.nvim.wait_for_screen("<CR> answers");
        chat.nvim.stop_insert();
        chat.nvim.command("Acp reject");
        assert_eq!(chat.answer("first")["result"]["outcome"]["optionId"], "r", "{how}");
    }
}

#[test]
fn of_two_chats_with_the_same_agent_each_question_says_whose_it_is() {
    let titled = |title: &str| update(json!({ "sessionUpdate": "session_info_update", "title": title }));
    let change = edit("d", "Edit mine.txt", json!([diff("mine.txt", Some("mine 120\n"), "theirs\n")]));
    let all = vec![
        prompt(),
        titled("Parser"),
        permission("first", long().0),
        json!({ "expect": "session/new" }),
        json!({ "reply": "session/new", "result": { "sessionId": "s2" } }),
        prompt(),
        in_second(titled("Tests")),
        in_second(permission("second", change)),
        answered("second"),
        answered("first"),
    ];
    let mut chat = started(&[], all, (140, 40), "");
    window(&mut chat.nvim);
    chat.send("go");
    // Alone it needs no title.
    chat.nvim.wait_for_screen("Fake: new.txt");
    chat.nvim.stop_insert();
    chat.nvim.command("AcpChat!");
    chat.nvim.wait_until(|nvim| nvim.mode().name == "i", "the prompt of the second chat");
    chat.send("go on");
    chat.nvim.wait_for_screen("3: Reject");
    chat.nvim.wait_for_screen("Fake (Tests) wants to");
    assert!(chat.nvim.screen().contains("Fake (Tests) proposes this"), "{}", chat.nvim.screen());
    chat.nvim.input("3<CR>");
    assert_eq!(chat.answer("second")["result"]["outcome"]["optionId"], "r");
    chat.nvim.wait_for_screen("Fake (Parser): new.txt");
}

#[test]
fn a_question_about_more_than_the_screen_is_answered_by_a_digit_on_its_call() {
    let mut chat = asking(&[], &[long().0], (80, 24));
    chat.send("go");
    chat.nvim.wait_for_screen("Read it, scroll if");
    chat.nvim.stop_insert();
    chat.nvim.command("wincmd k");
    chat.nvim.exec_lua("vim.fn.search('Allow this edit')", []);
    let record = chat.project.file(".agent/record.jsonl");
    chat.nvim.wait_until(
        |nvim| {
            let text = std::fs::read_to_string(&record).unwrap_or_default();
            let answered = text.contains(r#""outcome":"selected""#);
            // In the first moment a digit is a count.
            if !answered {
                nvim.input("<Esc>3");
            }
            answered
        },
        "the answer",
    );
    assert_eq!(chat.answer("p0")["result"]["outcome"]["optionId"], "r");
    chat.wait_for("Answered.");
    assert!(!chat.transcript().contains("Read it, scroll if"));
}

#[test]
fn what_is_left_to_decide_in_a_file_is_marked_beside_what_is_proposed_in_it() {
    let made = "first\n\nsecond\nthird\n";
    let change = json!([diff("new.txt", Some("second\n"), "SECOND\n")]);
    let mut all = vec![prompt()];
    all.extend(writes("new.txt", made));
    all.extend([permission("p0", edit("c", "Edit new.txt", change)), answered("p0")]);
    all.extend([says("Answered."), ends("end_turn")]);
    let mut chat = started(&[], all, (80, 24), "");
    capture(&mut chat.nvim);
    chat.send("go");
    chat.nvim.wait_for_screen("-   3 second");
    chat.nvim.wait_for_screen("+     SECOND");
    let screen = chat.nvim.screen();
    // Told apart from what is proposed, and not over its lines.
    assert!(screen.contains("|   1 first") && screen.contains("|   4 third"), "{screen}");
    assert!(!screen.contains("+   1 first") && !screen.contains("+   4 third"), "{screen}");
    // The key goes to what is asked about.
    let keys = "local win = vim.fn.bufwinid('new.txt')
        return vim.api.nvim_win_call(win, function()
          vim.api.nvim_win_set_cursor(win, { 1, 0 })
          vim.fn.maparg(']c', 'n', false, true).callback()
          return vim.fn.line('.')
        end)";
    assert_eq!(chat.nvim.exec_lua(keys, []), 3.into());
    wait_for_captured(&mut chat.nvim);
    chat.nvim.exec_lua("_G.choose('Reject', 3)", []);
    chat.wait_for("Answered.");
    chat.nvim.stop_insert();
    chat.nvim.command("edit new.txt");
    for line in ["+   1 first", "+   2", "+   3 second", "+   4 third"] {
        chat.nvim.wait_for_screen(line);
    }
    assert!(!chat.nvim.screen().contains("|   1 first"), "{}", chat.nvim.screen());
}

#[test]
fn what_is_left_to_decide_stays_marked_also_where_lines_went_and_while_the_user_types() {
    let before = numbered("line", 12);
    let made = before.replace("line 2\n", "").replace("line 9\n", "line nine\n");
    let change = json!([diff("file.txt", Some("line 6\n"), "line six\n")]);
    let mut all = vec![prompt()];
    all.extend(writes("file.txt", &made));
    all.extend([permission("p0", edit("c", "Edit file.txt", change)), answered("p0")]);
    all.extend([says("Answered."), ends("end_turn")]);
    let mut chat = started(&[("file.txt", &before)], all, (80, 40), "");
    capture(&mut chat.nvim);
    chat.send("go");
    chat.nvim.wait_for_screen("-   5 line 6");
    chat.nvim.wait_for_screen("|   2 line 3");
    chat.nvim.wait_for_screen("|   8 line nine");
    let screen = chat.nvim.screen();
    assert!(!screen.contains("line 9") && screen.contains("    9 line 10"), "{screen}");
    chat.nvim.exec_lua("vim.api.nvim_buf_set_lines(vim.fn.bufnr('file.txt'), 0, 0, true, { 'mine' })", []);
    for line in ["    1 mine", "|   3 line 3", "-   6 line 6", "|   9 line nine"] {
        chat.nvim.wait_for_screen(line);
    }
}

#[test]
fn a_new_file_that_is_undone_while_more_is_proposed_in_it_leaves_the_window_to_the_proposal() {
    for (away, is_there, shown) in [
        ("Acp undo turn", false, "proposal/new.txt"),
        ("lua vim.cmd.bdelete(vim.fn.winbufnr(1))", true, "mine.txt"),
    ] {
        let change = json!([diff("new.txt", Some("second\n"), "SECOND\n")]);
        let mut all = vec![prompt()];
        all.extend(writes("new.txt", "first\nsecond\n"));
        all.extend([permission("p0", edit("c", "Edit new.txt", change)), answered("p0")]);
        all.extend([says("Answered."), ends("end_turn")]);
        let mut chat = started(&[], all, (80, 24), "");
        capture(&mut chat.nvim);
        chat.send("go");
        chat.nvim.wait_for_screen("+     SECOND");
        wait_for_captured(&mut chat.nvim);
        chat.nvim.stop_insert();
        chat.nvim.command(away);
        let file = chat.project.file("new.txt");
        chat.nvim.wait_until(
            |nvim| {
                let screen = nvim.screen();
                file.exists() == is_there && screen.contains("SECOND") && screen.contains(shown)
            },
            &format!("{away}: the proposal"),
        );
        chat.nvim.exec_lua("_G.choose('Reject', 3)", []);
        chat.wait_for("Answered.");
        let mine = "return vim.api.nvim_win_call(vim.fn.win_getid(1), function()
            return vim.fn.bufname() .. ' ' .. vim.fn.line('w0') .. ' ' .. vim.fn.line('.')
          end)";
        chat.nvim.wait_until(
            |nvim| nvim.exec_lua(mine, []) == "mine.txt 120 123".into(),
            &format!("{away}: the window as it was"),
        );
    }
}

#[test]
fn the_bar_above_a_page_fits_the_window_also_when_the_chat_comes_back() {
    let (file, text) = ("a-rather-long-name.txt", numbered("new", 60));
    let call = edit("1", "Write it", json!([diff(file, None, &text)]));
    let mut chat = asking(&[], &[call], (80, 24));
    chat.send("go");
    wait_for_question(&mut chat.nvim);
    chat.nvim.stop_insert();
    let wide = "Fake: a-rather-long-name.txt  +60 -0";
    chat.nvim.command("Acp toggle");
    chat.nvim.wait_for_screen(wide);
    chat.nvim.command("AcpChat");
    let is_narrow = |row: &str| row.contains(" a-rather-long-name.txt ") && row.contains("<CR> answers │");
    chat.nvim.wait_until(|nvim| nvim.screen().lines().any(is_narrow), "a bar that fits beside the chat");
    chat.nvim.command("Acp toggle");
    chat.nvim.wait_for_screen(wide);
}

#[test]
fn the_changes_on_a_page_are_gone_through_with_the_keys() {
    let text = numbered("line", 300);
    let new = text.replace("line 7\n", "seven\n").replace("line 250\n", "two hundred\n");
    let mut chat = asking(
        &[("a.txt", &text)],
        &[edit("c", "Edit a.txt", json!([diff("a.txt", Some(&text), &new)]))],
        (80, 24),
    );
    capture(&mut chat.nvim);
    window(&mut chat.nvim);
    chat.send("go");
    chat.nvim.wait_for_screen("a.txt  2 hunks");
    chat.nvim.stop_insert();
    chat.nvim.exec_lua("vim.api.nvim_set_current_win(_G.code_win)", []);
    let line = |nvim: &mut Nvim| {
        nvim.exec_lua("return vim.fn.getline('.')", []).as_str().unwrap_or_default().to_owned()
    };
    chat.nvim.input("]c");
    assert_eq!(line(&mut chat.nvim), "  @@ 7");
    chat.nvim.input("]c");
    assert_eq!(line(&mut chat.nvim), "  @@ 250");
    chat.nvim.input("[c");
    assert_eq!(line(&mut chat.nvim), "  @@ 7");
    assert!(chat.nvim.groups_of("seven").contains(&"DiffAdd".to_owned()));
}

#[test]
fn a_picker_in_place_of_neovims_own_opens_in_any_case_and_gets_a_preview() {
    let mut chat = asking(&[], &[long().0], (80, 24));
    capture(&mut chat.nvim);
    chat.send("go");
    chat.nvim.wait_until(|nvim| nvim.exec_lua("return #_G.asked", []) == 1.into(), "the picker");
    let code = "local lines = {}
        local buf = _G.options.preview_item(_G.items[1]).buf
        local core = vim.api.nvim_buf_get_lines(buf, 0, -1, false)
        local snacks
        local preview = { reset = function() end, highlight = function(_, how) _G.ft = how.ft end,
          set_lines = function(_, all) snacks = all end }
        _G.options.snacks.preview({ preview = preview })
        return { core[1], core[#core], snacks[#snacks], _G.ft, vim.bo[buf].buflisted, _G.items[1], _G.items[3] }";
    let seen = chat.nvim.exec_lua(code, []);
    let seen: Vec<String> = seen.as_array().expect("a list").iter().map(ToString::to_string).collect();
    assert_eq!(
        seen,
        [
            // Where a picker shows a single line of it, that one changes.
            "\"+ new 1\"",
            "\"+ new 90\"",
            "\"+ new 90\"",
            "\"diff\"",
            "false",
            "\"Allow · this once\"",
            "\"Reject · not this time\""
        ]
    );
    assert!(!chat.transcript().contains("Read it, scroll if"));
    chat.nvim.exec_lua("_G.choose('Reject', 3)", []);
    chat.wait_for("Answered.");
}

#[test]
fn a_picker_closes_when_its_question_is_over() {
    let mut all = vec![prompt(), permission("p0", edit("c", "Edit a.txt", json!([])))];
    all.push(json!({ "expect": "session/cancel" }));
    all.extend([answered("p0"), says("Stopped."), ends("cancelled")]);
    let mut chat = started(&[], all, (80, 24), "");
    chat.nvim.exec_lua(
        "vim.ui.select = function(items, options, choose)
           vim.schedule(function()
             local buf = vim.api.nvim_create_buf(false, true)
             vim.api.nvim_open_win(buf, true, { relative = 'editor', row = 2, col = 2, width = 20, height = 4 })
             _G.picker = vim.api.nvim_get_current_win()
           end)
         end",
        [],
    );
    chat.send("go");
    chat.nvim.wait_until(|nvim| !nvim.exec_lua("return _G.picker", []).is_nil(), "the picker");
    chat.nvim.exec_lua("require('acp').call('cancel')", []);
    chat.nvim.wait_until(
        |nvim| nvim.exec_lua("return vim.api.nvim_win_is_valid(_G.picker)", []) == false.into(),
        "the picker to be closed",
    );
    chat.wait_for("Stopped.");
}

#[test]
fn a_picker_that_is_open_makes_way_for_the_one_that_is_asked_for() {
    let mut all = vec![prompt(), permission("p0", edit("c", "Edit a.txt", json!([])))];
    all.extend([answered("p0"), says("Answered."), ends("end_turn")]);
    let mut chat = started(&[], all, (80, 24), "");
    // It says that nothing was chosen when its window goes, as many do.
    chat.nvim.exec_lua(
        "_G.pickers = {}
         vim.ui.select = function(items, options, choose)
           local buf = vim.api.nvim_create_buf(false, true)
           local win = vim.api.nvim_open_win(buf, true,
             { relative = 'editor', row = 2, col = 2, width = 20, height = 4 })
           vim.cmd.stopinsert()
           vim.api.nvim_create_autocmd('WinClosed', { pattern = tostring(win), once = true, callback = function()
             choose(nil)
           end })
           table.insert(_G.pickers, { win = win, choose = function() choose(items[1], 1) end })
         end",
        [],
    );
    chat.send("go");
    let count = |nvim: &mut Nvim| nvim.exec_lua("return #_G.pickers", []).as_u64();
    chat.nvim.wait_until(|nvim| count(nvim) == Some(1), "the picker");
    chat.nvim.command("Acp answer");
    chat.nvim.wait_until(|nvim| count(nvim) == Some(2), "the picker that was asked for");
    let valid = "return vim.tbl_map(function(one) return vim.api.nvim_win_is_valid(one.win) end, _G.pickers)";
    let valid = chat.nvim.exec_lua(valid, []);
    assert_eq!(valid, rmpv::Value::Array(vec![false.into(), true.into()]));
    chat.nvim.exec_lua("_G.pickers[2].choose()", []);
    chat.wait_for("Answered.");
    assert!(!chat.nvim.messages().contains("left open"), "{}", chat.nvim.messages());
}

#[test]
fn neovims_own_picker_closes_when_its_turn_is_cancelled() {
    let mut all = vec![prompt(), permission("p0", edit("c", "Edit a.txt", json!([])))];
    all.push(json!({ "expect": "session/cancel" }));
    all.extend([answered("p0"), says("Stopped."), ends("cancelled")]);
    let mut chat = started(&[], all, (80, 24), "");
    if chat.nvim.exec_lua("return vim.fn.has('nvim-0.11')", []) == 0.into() {
        // There nothing reaches Neovim while its picker waits for a key.
        return;
    }
    chat.nvim.exec_lua(
        "local timer = vim.uv.new_timer()
         timer:start(20, 20, vim.schedule_wrap(function()
           if vim.api.nvim_get_mode().mode ~= 'i' and not timer:is_closing() then
             timer:close()
             require('acp').call('cancel')
           end
         end))",
        [],
    );
    chat.send("go");
    chat.nvim.wait_for_screen("Stopped.");
    chat.nvim.wait_until(|nvim| !has_picker(nvim) && nvim.mode().name != "c", "the picker to be closed");
}

#[test]
fn a_question_comes_once_the_command_line_window_is_left() {
    let mut chat = asking(&[], &[long().0], (80, 24));
    window(&mut chat.nvim);
    chat.nvim.listen();
    chat.nvim.stop_insert();
    chat.nvim.input("q:");
    chat.nvim.wait_until(
        |nvim| nvim.exec_lua("return vim.fn.getcmdwintype()", []).as_str() == Some(":"),
        "the window",
    );
    chat.nvim.exec_lua("require('acp').send('go')", []);
    chat.wait_for("Allow this edit?");
    chat.nvim.input(":quit<CR>");
    chat.nvim.wait_for_screen("+ new 1");
    let said = chat.nvim.exec_lua("return table.concat(_G.said, '\\n')", []);
    assert!(!said.as_str().unwrap_or_default().contains("E11"), "{said}");
    chat.decide("reject");
    chat.wait_for("Answered.");
}

#[test]
fn without_lines_for_commands_the_title_of_the_question_is_still_there() {
    let change = json!([diff("mine.txt", Some("mine 120\n"), "MINE 120\n")]);
    let mut chat = asking(&[], &[edit("c", "Edit mine.txt", change)], (80, 24));
    chat.nvim.command("set cmdheight=0");
    chat.send("go");
    chat.nvim.wait_for_screen("3: Reject");
    chat.nvim.wait_for_screen("Fake wants to edit mine.txt");
    chat.nvim.wait_for_screen(" MINE 120");
    chat.nvim.input("3<CR>");
    chat.wait_for("Answered.");
}

#[test]
fn without_lines_for_commands_a_question_opens_or_its_call_says_how_it_is_answered() {
    let changes = [(1, "one line"), (6, "a few lines"), (40, "more than the screen")];
    for size in [(80, 24), (100, 30), (60, 14)] {
        for (count, what) in changes {
            let new: String = (1..=count).map(|number| format!("MINE {number}\n")).collect();
            let change = json!([diff("mine.txt", Some("mine 120\n"), &new)]);
            let mut chat = asking(&[], &[edit("c", "Edit mine.txt", change)], (100, 30));
            chat.nvim.resize(size.0, size.1);
            chat.nvim.command("set cmdheight=0");
            chat.send("go");
            wait_for_question(&mut chat.nvim);
            let screen = chat.nvim.screen();
            let opens = has_picker(&mut chat.nvim);
            assert!(size.1 < 24 || opens == (count < 40), "{what} at {size:?}:\n{screen}");
            assert!(!chat.nvim.screen().contains("Press ENTER"), "{what} at {size:?}:\n{screen}");
            reject(&mut chat, "p0");
            chat.wait_for("Answered.");
        }
    }
}

#[test]
fn what_is_proposed_says_so_also_beside_a_long_line() {
    let [long, longer] = ["x".repeat(70), "y ".repeat(70)];
    let text = format!("first {long}\nsecond\n{longer}\nlast\n");
    let changes = [
        ("a long line", format!("first {long}\n"), "FIRST\n".to_owned()),
        ("below a long line", "second\n".to_owned(), "second\nadded\n".to_owned()),
        ("a line that wraps", format!("{longer}\n"), "THIRD\n".to_owned()),
        ("below a line that wraps", format!("{longer}\nlast\n"), format!("{longer}\nadded\nlast\n")),
    ];
    for options in ["wrap", "nowrap"] {
        for (what, old, new) in &changes {
            let change = json!([diff("a.txt", Some(old), new)]);
            let all = vec![
                prompt(),
                permission("p0", edit("c", "Edit a.txt", change)),
                answered("p0"),
                says("Answered."),
                ends("end_turn"),
            ];
            let mut chat = started(
                &[("a.txt", text.as_str())],
                all,
                (80, 30),
                "permission = { open = 'never' }, window = { layout = 'bottom' }",
            );
            chat.nvim.command(&format!("wincmd t | edit a.txt | setlocal number {options}"));
            chat.nvim.exec_lua("require('acp').send('go')", []);
            chat.wait_for("Allow this edit?");
            chat.nvim.wait_until(
                |nvim| nvim.screen().lines().any(|row| row.contains("Fake proposes this")),
                &format!("the label of {what} with {options}"),
            );
            chat.decide("reject");
            chat.wait_for("Answered.");
            chat.nvim.wait_until(|nvim| !nvim.screen().contains("proposes this"), "the label to go");
        }
    }
}

#[test]
fn a_command_that_is_being_typed_is_ended_first() {
    let change = json!([diff("mine.txt", Some("mine 120\n"), "MINE 120\n")]);
    let mut chat = asking(&[], &[edit("c", "Edit mine.txt", change)], (80, 24));
    capture(&mut chat.nvim);
    chat.nvim.listen();
    chat.nvim.stop_insert();
    chat.nvim.command("wincmd h");
    chat.nvim.exec_lua("require('acp').send('go')", []);
    chat.nvim.input("d");
    chat.wait_for("Allow this edit?");
    assert_eq!(chat.nvim.exec_lua("return #_G.asked", []), 0.into());
    assert_eq!(chat.nvim.mode().name, "no");
    chat.nvim.input("<Esc>");
    chat.nvim.wait_until(|nvim| nvim.exec_lua("return #_G.asked", []) == 1.into(), "the question");
    chat.nvim.exec_lua("_G.choose('Reject', 3)", []);
    chat.wait_for("Answered.");
}
