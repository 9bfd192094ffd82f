//! References that are put into the prompt from elsewhere, by commands, pickers and other plugins; and those that are
//! one of a kind, such as a symbol, a commit or a part of the help. The pickers are stand-ins with the same functions.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use serde_json::{Value, json};

use support::Nvim;
use support::script::{Scripted, ends, opened, prompt, says};

/// An agent that takes files and answers each of so many prompts.
fn answering(count: usize) -> Vec<Value> {
    let mut all = opened();
    all[1]["result"]["agentCapabilities"] =
        json!({ "promptCapabilities": { "embeddedContext": true, "image": true } });
    all.extend((0..count).flat_map(|at| [prompt(), says(&format!("Answer {at}.")), ends("end_turn")]));
    all
}

fn typed(nvim: &mut Nvim) -> String {
    let code = "local chat = require('acp').status().sessions[1]
                return chat and table.concat(vim.api.nvim_buf_get_lines(chat.prompt, 0, -1, false), '\\n')";
    nvim.exec_lua(code, []).as_str().unwrap_or_default().to_owned()
}

#[track_caller]
fn wait_for_prompt(nvim: &mut Nvim, text: &str) {
    nvim.wait_until(|nvim| typed(nvim) == text, &format!("the prompt to read {text:?}"));
}

fn name(nvim: &mut Nvim) -> String {
    nvim.exec_lua("return vim.fn.expand('%:t')", []).as_str().unwrap_or_default().to_owned()
}

fn blocks(chat: &mut Scripted) -> Vec<Value> {
    chat.got("session/prompt")["params"]["prompt"].as_array().cloned().unwrap_or_default()
}

/// The chat's prompt is emptied.
fn clear(nvim: &mut Nvim) {
    nvim.exec_lua(
        "vim.api.nvim_buf_set_lines(require('acp').status().sessions[1].prompt, 0, -1, false, {})",
        [],
    );
}

const FILES: [(&str, &str); 3] =
    [("src/a.rs", "one\ntwo\nthree\nfour\n"), ("my notes.md", "# Notes\n"), ("b.txt", "b\n")];

#[test]
fn what_is_added_begins_a_session_and_leaves_the_user_where_they_are() {
    let mut chat = Scripted::new(&FILES, answering(1));
    chat.nvim.command("edit src/a.rs");
    chat.nvim.input("jVj");
    chat.nvim.input(":Acp add<CR>");
    wait_for_prompt(&mut chat.nvim, "@src/a.rs:2-3 ");
    assert_eq!((name(&mut chat.nvim).as_str(), chat.nvim.mode().name.as_str()), ("a.rs", "n"));
    chat.nvim.command("Acp add");
    wait_for_prompt(&mut chat.nvim, "@src/a.rs:2-3 @src/a.rs ");
    assert_eq!(name(&mut chat.nvim), "a.rs");
    // The lines are followed.
    chat.nvim.input("ggOzero<Esc>");
    chat.nvim.command("Acp add nosuch.md");
    chat.nvim.wait_for_screen("there is no file nosuch.md: it goes as text");
    chat.nvim.command("Acp add \"my notes.md\"");
    chat.nvim.command("AcpChat");
    chat.nvim
        .wait_until(|nvim| typed(nvim).starts_with("@src/a.rs:3-4 @src/a.rs "), "the lines to be followed");
}

#[test]
fn who_mistypes_a_mention_is_told_that_it_goes_as_text_and_who_names_a_person_is_not() {
    let mut chat = Scripted::new(&FILES, answering(3));
    chat.chat();
    chat.nvim.listen();
    let turns = "local chat = require('acp').status().sessions[1]
                 local all = table.concat(vim.api.nvim_buf_get_lines(chat.buffer, 0, -1, false), '\\n')
                 return select(2, all:gsub('Done · ', ''))";
    for (number, (text, told)) in (1..).zip([
        ("See @nosuch.rs", Some("There is no file nosuch.rs: it goes as text.")),
        (
            "See @diagnostic",
            Some("There is no @diagnostic: it goes as text. @diagnostics may be what you mean."),
        ),
        ("Ask @alice, a@b.org, and @param", None),
    ]) {
        chat.send(text);
        chat.nvim.wait_until(|nvim| nvim.exec_lua(turns, []).as_u64() == Some(number), "the turn's end");
        let sent = chat.got("session/prompt")["params"]["prompt"].clone();
        assert_eq!(sent, json!([{ "type": "text", "text": text }]));
        let said = "local said = table.concat(_G.said, ' ') _G.said = {} return said";
        let said = chat.nvim.exec_lua(said, []);
        assert_eq!(said.as_str().unwrap_or_default().contains("goes as text"), told.is_some(), "{said}");
        assert!(said.as_str().unwrap_or_default().contains(told.unwrap_or_default()), "{said}");
    }
}

/// A chat whose user is in a file beside it, and is told things.
fn beside_a_file() -> Scripted {
    let mut chat = Scripted::new(&FILES, answering(1));
    chat.nvim.listen();
    chat.chat();
    chat.nvim.stop_insert();
    chat.nvim.command("wincmd t");
    chat.nvim.command("edit src/a.rs");
    chat
}

fn said(nvim: &mut Nvim) -> String {
    nvim.exec_lua("return table.concat(_G.said, '|')", []).as_str().unwrap_or_default().to_owned()
}

#[test]
fn what_the_editor_knows_is_added_by_its_name_and_stays_what_it_was() {
    let mut chat = beside_a_file();
    for (what, why) in [
        ("diagnostics", "this buffer has no diagnostics"),
        ("quickfix", "the quickfix list is empty"),
        ("selection", "nothing was selected"),
        ("symbol", "no function or class is known at the cursor"),
    ] {
        chat.nvim.command(&format!("Acp add {what}"));
        chat.nvim.wait_until(|nvim| said(nvim).contains(why), why);
    }
    assert_eq!(typed(&mut chat.nvim), "");
    chat.nvim.exec_lua(
        "local ns = vim.api.nvim_create_namespace('test')
         vim.diagnostic.set(ns, 0, { { lnum = 1, col = 0, message = 'bad word', severity = 1 } })
         vim.fn.setqflist({ { filename = 'b.txt', lnum = 1, text = 'look here' } })",
        [],
    );
    chat.nvim.input("ggjVj<Esc>");
    for what in ["diagnostics", "quickfix", "selection", "viewport"] {
        chat.nvim.command(&format!("Acp add {what}"));
    }
    let all = "@diagnostics:src/a.rs @quickfix @src/a.rs:2-3 @src/a.rs:1-4 ";
    wait_for_prompt(&mut chat.nvim, all);
    // What is there is not added again.
    chat.nvim.command("Acp add quickfix");
    chat.nvim.wait_until(|nvim| said(nvim).contains("@quickfix is in the prompt already"), "to be told");
    assert_eq!(typed(&mut chat.nvim), all);
    // Elsewhere by the time it is sent, it is what it was.
    chat.nvim.command("edit b.txt");
    chat.nvim.command("Acp send");
    let sent = blocks(&mut chat);
    let texts: Vec<&str> = sent[1..].iter().filter_map(|block| block["resource"]["text"].as_str()).collect();
    let expected =
        ["src/a.rs:2:1: error: bad word", "b.txt:1: look here", "two\nthree", "one\ntwo\nthree\nfour"];
    assert_eq!(texts, expected);
}

#[test]
fn several_names_and_files_are_added_at_once_or_none_of_them() {
    let mut chat = beside_a_file();
    chat.nvim.command("Acp add viewport selection");
    let told = |nvim: &mut Nvim| said(nvim).contains("nothing was selected");
    chat.nvim.wait_until(told, "to be told that there is no selection");
    assert_eq!(typed(&mut chat.nvim), "");
    chat.nvim.command("Acp add viewport diff b.txt ./diff");
    wait_for_prompt(&mut chat.nvim, "@src/a.rs:1-4 @diff @b.txt @\"diff\" ");
    let words = "return table.concat(vim.fn.getcompletion('Acp add viewport sy', 'cmdline'), ' ')";
    assert_eq!(chat.nvim.exec_lua(words, []), "symbol".into());
}

#[test]
fn several_files_and_a_hidden_chat_and_a_buffer_without_a_file() {
    let mut chat = Scripted::new(&FILES, answering(1));
    chat.nvim.listen();
    chat.chat();
    chat.nvim.stop_insert();
    chat.nvim.command("Acp toggle");
    chat.nvim.exec_lua("require('acp').add({ 'src/a.rs', 'my notes.md', 'src/' })", []);
    let all = "@src/a.rs @\"my notes.md\" @src/ ";
    wait_for_prompt(&mut chat.nvim, all);
    let told = |nvim: &mut Nvim| said(nvim).contains("added @src/a.rs and 2 more to the prompt");
    chat.nvim.wait_until(told, "to be told, since no prompt shows it");
    chat.nvim.command("enew | call setline(1, ['scratch', 'text'])");
    chat.nvim.command("Acp add");
    let number = chat.nvim.exec_lua("return vim.api.nvim_get_current_buf()", []).as_u64().unwrap_or_default();
    wait_for_prompt(&mut chat.nvim, &format!("{all}@#{number} "));
    chat.nvim.command("Acp send");
    let sent = blocks(&mut chat);
    assert_eq!(sent.len(), 5, "{sent:#?}");
    assert_eq!(sent[4]["resource"]["text"], "scratch\ntext\n");
}

/// Stand-ins for plugins, each with the functions that are called of it; what was chosen is `src/a.rs` and `b.txt`.
const STAND_INS: &str = r#"
  local what, root = ...
  local both = { 'src/a.rs', 'b.txt' }
  local set = function(name, module) package.loaded[name] = module end
  if what == 'snacks' then
    set('snacks', { config = { picker = { enabled = true } }, picker = { files = function(opts)
      local closed = false
      opts.confirm({
        selected = function(_, o) assert(o.fallback); return { { file = both[1], cwd = opts.cwd }, { file = both[2] } } end,
        close = function() closed = true end,
      })
      assert(closed)
    end } })
  elseif what == 'telescope' then
    set('telescope.actions.state', {
      get_current_picker = function() return { get_multi_selection = function()
        return { { path = root .. '/' .. both[1] }, { both[2] } }
      end } end,
      get_selected_entry = error,
    })
    local replaced
    set('telescope.actions', { close = function() end, select_default = { replace = function(_, fn) replaced = fn end } })
    set('telescope.builtin', { find_files = function(opts) assert(opts.attach_mappings(7)); replaced() end })
  elseif what == 'fzf-lua' then
    set('fzf-lua.path', { entry_to_file = function(line) return { path = line:gsub('^icon ', '') } end })
    set('fzf-lua', { files = function(opts) opts.actions.default({ 'icon ' .. both[1], 'icon ' .. both[2] }, opts) end })
  elseif what == 'mini.pick' then
    _G.MiniPick = {}
    set('mini.pick', { builtin = { files = function(_, opts) opts.source.choose_marked(both) end } })
  else
    local answers = { 'src/a.rs', 'b.txt' }
    vim.ui.select = function(items, _, choose)
      local answer = table.remove(answers, 1)
      for index, item in ipairs(items) do
        if item == answer then return choose(item, index) end
      end
      choose(nil)
    end
  end
"#;

#[test]
fn several_files_are_chosen_in_the_picker_that_the_user_has() {
    let mut chat = Scripted::new(&FILES, answering(1));
    chat.chat();
    chat.nvim.stop_insert();
    let root = chat.project.path().to_string_lossy().into_owned();
    for picker in ["vim.ui.select", "mini.pick", "fzf-lua", "telescope", "snacks"] {
        clear(&mut chat.nvim);
        chat.nvim.exec_lua(STAND_INS, [picker.into(), root.as_str().into()]);
        chat.nvim.command("Acp add files");
        wait_for_prompt(&mut chat.nvim, "@src/a.rs @b.txt ");
    }
    // A snacks whose picker is off is none.
    clear(&mut chat.nvim);
    chat.nvim.exec_lua("require('snacks').config.picker.enabled = false", []);
    chat.nvim.command("Acp add files");
    wait_for_prompt(&mut chat.nvim, "@src/a.rs @b.txt ");
    assert_eq!(chat.nvim.messages(), "");
}

/// The blocks of code below a tag of the help.
fn recipes(tag: &str) -> Vec<String> {
    let help = include_str!("../doc/acp.txt");
    let from = help.find(&format!("*{tag}*")).expect("the tag");
    let section = &help[from..];
    let end = section[1..].find("*acp-completion*").expect("the next section");
    let parts = section[..end].split(">lua\n").skip(1);
    parts.map(|part| part.split("\n<\n").next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn the_recipes_of_the_help_add_what_is_chosen_in_other_plugins() {
    let mut chat = Scripted::new(&FILES, answering(1));
    chat.chat();
    chat.nvim.stop_insert();
    let root = chat.project.path().to_string_lossy().into_owned();
    // What each plugin calls of its setup() when the key is pressed.
    let plugins = r#"
      local root = ...
      local a, b = root .. '/src/a.rs', root .. '/b.txt'
      package.loaded['oil'] = {
        get_cursor_entry = function() return { name = 'a.rs', type = 'file' } end,
        get_current_dir = function() return root .. '/src/' end,
        setup = function(opts) opts.keymaps['<leader>aa']() require('acp').add({ b }) end,
      }
      package.loaded['neo-tree'] = { setup = function(opts)
        assert(opts.commands[opts.window.mappings['<leader>aa']])
        opts.commands.acp_add({ tree = { get_node = function() return { path = a } end } })
        opts.commands.acp_add_visual({}, { { path = a }, { path = b } })
      end }
      local marked = { { absolute_path = a } }
      package.loaded['nvim-tree.api'] = {
        config = { mappings = { default_on_attach = function() end } },
        marks = { list = function() return marked end },
        tree = { get_node_under_cursor = function() return { absolute_path = b } end },
      }
      package.loaded['nvim-tree'] = { setup = function(opts)
        local buffer = vim.api.nvim_create_buf(false, true)
        opts.on_attach(buffer)
        local press = vim.api.nvim_buf_call(buffer, function()
          return vim.fn.maparg('<leader>aa', 'n', false, true).callback
        end)
        press()
        marked = {}
        press()
      end }
      package.loaded['telescope.actions'] = { close = function() end }
      package.loaded['telescope.actions.state'] = {
        get_current_picker = function() return { get_multi_selection = function() return { { path = a } } end } end,
      }
      package.loaded['telescope'] = { setup = function(opts)
        opts.defaults.mappings.i['<C-a>'](1)
        package.loaded['telescope.actions.state'] = {
          get_current_picker = function() return { get_multi_selection = function() return {} end } end,
          get_selected_entry = function() return { path = b } end,
        }
        opts.defaults.mappings.n['<C-a>'](1)
      end }
      package.loaded['snacks'] = {
        picker = { util = { path = function(item) return item.cwd .. '/' .. item.file end } },
        setup = function(opts)
          assert(opts.picker.actions[opts.picker.win.input.keys['<C-a>'][1]])
          local is_closed = false
          opts.picker.actions[opts.picker.win.list.keys['<C-a>']]({
            opts = { source = 'files' },
            close = function() is_closed = true end,
            selected = function()
              return { { cwd = root, file = 'src/a.rs' }, { cwd = root, file = 'b.txt' } }
            end,
          })
          assert(is_closed)
        end,
      }"#;
    chat.nvim.exec_lua(plugins, [root.as_str().into()]);
    let mut used = 0;
    for recipe in recipes("acp-adding") {
        if !recipe.contains("setup(") {
            continue;
        }
        clear(&mut chat.nvim);
        chat.nvim.exec_lua(&recipe, []);
        wait_for_prompt(&mut chat.nvim, "@src/a.rs @b.txt ");
        used += 1;
    }
    assert_eq!(used, 5);
    // The keys of the first one.
    let keys = &recipes("acp-adding")[0];
    chat.nvim.exec_lua(&format!("vim.g.mapleader = ' '\n{keys}"), []);
    clear(&mut chat.nvim);
    chat.nvim.command("wincmd t | edit b.txt");
    chat.nvim.input("<Space>aa");
    wait_for_prompt(&mut chat.nvim, "@b.txt ");
}

// One of a kind.

#[test]
fn a_symbol_a_commit_and_a_part_of_the_help_go_along() {
    let code =
        "local M = {}\n\nfunction M.first()\n  return 1\nend\n\nlocal function second()\n  return 2\nend\n";
    let mut chat = Scripted::new(&[("code.lua", code)], answering(1));
    let git = |args: &[&str]| {
        let identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
        let mut command = std::process::Command::new("git");
        let status = command.current_dir(chat.project.path()).args(identity).args(args).status();
        assert!(status.expect("git").success());
    };
    git(&["init", "-q"]);
    git(&["add", "code.lua"]);
    git(&["commit", "-qm", "the first commit"]);
    chat.nvim.command("edit code.lua");
    chat.nvim.command("4");
    chat.chat();
    chat.send("@symbol @symbol:second @viewport @commit @help:'number' @help:no-such-tag-at-all");
    let sent = blocks(&mut chat);
    let text = |at: usize| sent[at]["resource"]["text"].as_str().unwrap_or_default();
    assert_eq!(text(1), "function M.first()\n  return 1\nend");
    assert_eq!(text(2), "local function second()\n  return 2\nend");
    assert_eq!(text(3), code.trim_end());
    assert!(text(4).contains("the first commit") && text(4).contains("+function M.first()"), "{}", text(4));
    assert!(text(5).contains("Print the line number in front of each line"), "{}", text(5));
    assert_eq!(sent.len(), 6);
    chat.nvim
        .wait_until(|nvim| nvim.messages().contains("There is no help on no-such-tag-at-all"), "to be told");
    chat.wait_for("+ code.lua:3-5 (3 lines)");
}

/// A language server within Neovim, which answers when `_G.answer` is called, if it ever is.
const SERVER: &str = "
    local function symbol(name, kind, first, last, children)
      local range = { start = { line = first, character = 0 }, ['end'] = { line = last, character = 3 } }
      return { name = name, kind = kind, range = range, selectionRange = range, children = children }
    end
    local symbols = { symbol('Shop', 5, 0, 4, { symbol('total', 6, 1, 2), symbol('name', 8, 3, 3) }), symbol('x', 13, 6, 6) }
    _G.count = 0
    vim.lsp.start({ name = 'fake', cmd = function()
      return {
        request = function(method, _, done)
          if method == 'initialize' then
            done(nil, { capabilities = { documentSymbolProvider = true } })
          elseif method == 'textDocument/documentSymbol' then
            _G.count = _G.count + 1
            _G.answer = function() done(nil, symbols) end
          end
          return true, 1
        end,
        notify = function() return true end,
        is_closing = function() return false end,
        terminate = function() end,
      }
    end })";

const SHOP: &str = "shop\n  total\n  sum\n  name\nend\n\nx\n";

#[test]
fn symbols_are_those_of_the_language_server_where_there_is_one() {
    let mut chat = Scripted::new(&[("shop.txt", SHOP)], answering(2));
    chat.nvim.command("edit shop.txt");
    chat.nvim.exec_lua(SERVER, []);
    let attached = "return #vim.lsp.get_clients({ bufnr = 0, method = 'textDocument/documentSymbol' }) == 1";
    chat.nvim.wait_until(|nvim| nvim.exec_lua(attached, []) == true.into(), "the server");
    chat.nvim.command("3");
    chat.chat();
    chat.nvim.exec_lua("require('acp.symbols').patience = 1e6", []);
    chat.send("@symbol @symbol:Shop @symbol:x");
    chat.nvim.wait_until(|nvim| nvim.exec_lua("return _G.answer ~= nil", []) == true.into(), "the request");
    // The user can go on until it answers.
    chat.nvim.input("next");
    chat.nvim.wait_for_screen("next");
    chat.nvim.exec_lua("_G.answer()", []);
    let sent = blocks(&mut chat);
    let text = |at: usize| sent[at]["resource"]["text"].as_str().unwrap_or_default();
    assert_eq!([text(1), text(2), text(3)], ["  total\n  sum", "shop\n  total\n  sum\n  name\nend", "x"]);
    // What is known of an unchanged buffer is not asked for again.
    chat.nvim.input("<C-u>@symbol:");
    chat.nvim.wait_for_screen("@symbol:total");
    assert_eq!(chat.nvim.exec_lua("return _G.count", []), 1.into());
}

#[test]
fn a_language_server_that_does_not_answer_is_not_waited_for() {
    let code = "local function first()\n  return 1\nend\n";
    let mut chat = Scripted::new(&[("code.lua", code)], answering(1));
    chat.nvim.command("edit code.lua");
    chat.nvim.exec_lua(SERVER, []);
    chat.nvim.exec_lua("require('acp.symbols').patience = 20", []);
    chat.chat();
    chat.send("@symbol:first");
    let sent = blocks(&mut chat);
    assert_eq!(sent[1]["resource"]["text"], "local function first()\n  return 1\nend");
    assert_eq!(chat.nvim.exec_lua("return _G.count", []), 1.into(), "it was asked");
    // An answer that comes too late does no harm.
    chat.nvim.exec_lua("_G.answer()", []);
    chat.wait_for("Answer 0.");
}

#[test]
fn names_of_symbols_commits_and_help_tags_are_completed() {
    let mut chat = Scripted::new(&[("code.lua", "local function parse_it()\nend\n")], answering(1));
    let git = |args: &[&str]| {
        let identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
        let mut command = std::process::Command::new("git");
        let status = command.current_dir(chat.project.path()).args(identity).args(args).status();
        assert!(status.expect("git").success());
    };
    git(&["init", "-q"]);
    git(&["commit", "-qm", "make it right", "--allow-empty"]);
    chat.nvim.command("edit code.lua");
    chat.chat();
    chat.nvim.input("@view");
    chat.nvim.wait_for_screen("@viewport");
    chat.nvim.input("<C-y> @symbol:pa");
    chat.nvim.wait_for_screen("@symbol:parse_it");
    chat.nvim.input("<C-y> @help:nvim_buf_set_li");
    let menu = "return vim.fn.pumvisible() == 1";
    chat.nvim.wait_until(|nvim| nvim.exec_lua(menu, []).as_bool() == Some(true), "the menu of help tags");
    chat.nvim.input("<C-y> @commit:make");
    chat.nvim.wait_for_screen("make it r");
    chat.nvim.input("<C-y>");
    let is_complete = |nvim: &mut Nvim| {
        let text = typed(nvim);
        let (before, hash) = text.rsplit_once("@commit:").unwrap_or_default();
        before == "@viewport @symbol:parse_it @help:nvim_buf_set_lines() " && hash.len() >= 7
    };
    chat.nvim.wait_until(is_complete, "all of it to be completed");
}

// Earlier prompts.

/// The prompt that an agent's session got, once it is there.
fn sent_to(chat: &mut Scripted, session: &str) -> Value {
    let path = chat.project.file(".agent/record.jsonl");
    let fits = |one: &Value| one["method"] == "session/prompt" && one["params"]["sessionId"] == session;
    let mut sent = None;
    chat.nvim.wait_until(
        |_| {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let mut messages = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            sent = messages.find(|one| fits(one));
            sent.is_some()
        },
        &format!("a prompt to be sent in the session {session}"),
    );
    sent.unwrap_or_default()
}

#[test]
fn an_earlier_prompt_is_edited_and_sent_again_with_what_came_before_it() {
    let again = |name: &str| json!({ "reply": "session/new", "result": { "sessionId": name } });
    let mut steps = answering(3);
    // The next session, of the same agent.
    steps.extend([json!({ "expect": "session/new" }), again("s2"), prompt(), ends("end_turn")]);
    steps.extend([json!({ "expect": "session/new" }), again("s3"), prompt(), ends("end_turn")]);
    let mut chat = Scripted::new(&[], steps);
    chat.chat();
    for (at, text) in ["first thing", "second thing", "third thing"].iter().enumerate() {
        chat.send(text);
        chat.wait_for(&format!("Answer {at}."));
    }
    chat.nvim.input("half a thought<Esc>");
    chat.nvim.exec_lua(
        "vim.ui.select = function(items, _, choose)
           _G.items = items
           choose(items[2], 2)
         end
         vim.cmd('Acp edit-prompt')",
        [],
    );
    let items = chat.nvim.exec_lua("return table.concat(_G.items, '|')", []);
    assert_eq!(
        items.as_str(),
        Some("third thing \u{b7} just now|second thing \u{b7} just now|first thing \u{b7} just now")
    );
    let prompt_of = |session: u64| {
        format!(
            "for _, chat in ipairs(require('acp').status().sessions) do
               if chat.session == {session} then
                 return table.concat(vim.api.nvim_buf_get_lines(chat.prompt, 0, -1, false), '\\n')
               end
             end"
        )
    };
    let reads = |nvim: &mut Nvim, session: u64, text: &str| {
        nvim.exec_lua(&prompt_of(session), []).as_str() == Some(text)
    };
    chat.nvim.wait_until(|nvim| reads(nvim, 2, "second thing"), "the prompt to be edited");
    assert!(reads(&mut chat.nvim, 1, "half a thought"), "what was typed there stays");
    chat.nvim.wait_for_screen("What was said before this prompt");
    chat.nvim.input("<Esc>A, better<C-s>");
    let sent = sent_to(&mut chat, "s2");
    let blocks = sent["params"]["prompt"].as_array().cloned().unwrap_or_default();
    assert_eq!(blocks[0]["text"], "second thing, better");
    let before = blocks[1]["resource"]["text"].as_str().unwrap_or_default();
    assert!(before.contains("## User\n\nfirst thing\n\n## Agent\n\nAnswer 0.\n"), "{before}");
    assert!(!before.contains("second thing") && !before.contains("third"), "{before}");
    assert_eq!(blocks.len(), 2);

    // The first one has nothing before it; the cursor on it in the chat says which is meant.
    chat.nvim.command("stopinsert");
    chat.nvim.wait_until(|nvim| nvim.mode().name == "n", "normal mode");
    chat.nvim.exec_lua("require('acp').chat({ session = 1 })", []);
    chat.nvim.wait_until(|nvim| nvim.mode().name == "i", "insert mode in the first chat");
    chat.nvim.input("<Esc><C-w>k");
    chat.nvim
        .wait_until(|nvim| nvim.exec_lua("return vim.bo.filetype", []).as_str() == Some("acp"), "the chat");
    chat.nvim.input("gg/first thing<CR>");
    chat.nvim.command("Acp edit-prompt");
    chat.nvim.wait_until(|nvim| reads(nvim, 3, "first thing"), "the first prompt to be edited");
    chat.nvim.input("<C-s>");
    let sent = sent_to(&mut chat, "s3");
    assert_eq!(sent["params"]["prompt"], json!([{ "type": "text", "text": "first thing" }]));
}
