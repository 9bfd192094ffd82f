//! Images that an agent sends: the line that stands for each, what opens it, where it is kept and for how
//! long, and that it is drawn where something can do that.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use serde_json::{Value, json};

use support::Nvim;
use support::process::wait_for;
use support::script::{Scripted, ends, opened, prompt, says, update};

/// The beginning of a PNG of 640 times 480 pixels, and 100 bytes more.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAoAAAAHgCAYAAAB4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4";

fn image(data: &str, mime: &str) -> Value {
    json!({ "type": "image", "data": data, "mimeType": mime })
}

fn shows(content: Value) -> Value {
    update(json!({ "sessionUpdate": "agent_message_chunk", "messageId": "m", "content": content }))
}

/// A call that is done and holds these blocks.
fn call(id: &str, title: &str, blocks: &[Value]) -> Value {
    let content: Vec<Value> =
        blocks.iter().map(|block| json!({ "type": "content", "content": block })).collect();
    update(json!({ "sessionUpdate": "tool_call", "toolCallId": id, "title": title, "kind": "other",
        "status": "completed", "content": content }))
}

/// A turn in which the agent does this.
fn turn(parts: impl IntoIterator<Item = Value>) -> Scripted {
    let mut steps = opened();
    steps.push(prompt());
    steps.extend(parts);
    steps.push(ends("end_turn"));
    let mut chat = Scripted::new(&[], steps);
    chat.nvim.exec_lua(
        "_G.opened = {}
         vim.ui.open = function(what) table.insert(_G.opened, what); return {} end
         _G.said = {}
         vim.notify = function(text) table.insert(_G.said, text) end",
        [],
    );
    chat
}

fn go(chat: &mut Scripted) {
    chat.chat();
    chat.send("show me");
    chat.wait_for("Done");
}

/// Goes to the transcript's line that holds a text, and types a key there.
fn press(chat: &mut Scripted, text: &str, key: &str) {
    let code = "local text = ...
                local chat = require('acp').status().sessions[1]
                vim.cmd.stopinsert()
                vim.api.nvim_set_current_win(vim.fn.bufwinid(chat.buffer))
                return vim.fn.search(text, 'w')";
    assert_ne!(chat.nvim.exec_lua(code, [text.into()]).as_u64(), Some(0), "{text:?} is in the transcript");
    chat.nvim.wait_until(|nvim| nvim.mode().name == "n", "normal mode");
    chat.nvim.input(key);
}

fn opened_last(nvim: &mut Nvim) -> String {
    nvim.exec_lua("return _G.opened[#_G.opened] or ''", []).as_str().unwrap_or_default().to_owned()
}

fn said(nvim: &mut Nvim) -> String {
    nvim.exec_lua("return table.concat(_G.said, '\\n')", []).as_str().unwrap_or_default().to_owned()
}

#[test]
fn an_image_is_a_line_that_opens_it_and_its_file_goes_with_the_session() {
    let mut chat = turn([
        shows(json!({ "type": "text", "text": "Look:" })),
        shows(image(PNG, "image/png")),
        shows(json!({ "type": "text", "text": "\n\nIt is **blue**." })),
        call("1", "Take a screenshot", &[json!({ "type": "text", "text": "done" }), image(PNG, "image/png")]),
        says("That was it."),
    ]);
    go(&mut chat);
    let text = chat.transcript();
    let (_, answer) = text.split_once("\n\nFake\n").expect("an answer");
    let (answer, _) = answer.split_once("\n\nDone").expect("an end");
    insta::assert_snapshot!(answer, @r"
    Look:

    image · PNG 640x480 · 129 bytes

    It is **blue**.

    ✓ Take a screenshot
        image · PNG 640x480 · 129 bytes

    That was it.
    ");
    for key in ["<CR>", "gd"] {
        press(&mut chat, "^    image", key);
        chat.nvim.wait_until(|nvim| !opened_last(nvim).is_empty(), "the image to be opened");
        let path = opened_last(&mut chat.nvim);
        chat.nvim.exec_lua("_G.opened = {}", []);
        let cache = chat.nvim.home().join("cache");
        assert!(path.starts_with(&*cache.to_string_lossy()) && path.ends_with(".png"), "{path}");
        assert_eq!(std::fs::read(&path).expect("the image").len(), 129);
    }
    press(&mut chat, "^image", "<CR>");
    chat.nvim.wait_until(|nvim| !opened_last(nvim).is_empty(), "the image to be opened");
    let path = opened_last(&mut chat.nvim);
    chat.nvim.command("Acp close");
    wait_for(|| !std::path::Path::new(&path).exists(), "the file to be gone");
    assert_eq!(said(&mut chat.nvim), "");
}

#[test]
fn what_cannot_be_shown_says_why_and_breaks_nothing() {
    let svg = "PHN2Zz48L3N2Zz4=";
    let blob = json!({ "type": "resource", "resource": {
        "uri": "file:///a.png", "mimeType": "image/png", "blob": PNG } });
    let link = json!({ "type": "resource_link", "uri": "https://a.example/b.png", "name": "b",
        "mimeType": "image/png", "size": 2048 });
    let blocks = [
        image("no Base64!", "image/png"),
        image(svg, "image/svg+xml"),
        image(svg, "image/png"),
        image("", "image/gif"),
        blob,
        link,
    ];
    let mut chat = turn([call("1", "Paint", &blocks)]);
    go(&mut chat);
    let text = chat.transcript();
    let (_, answer) = text.split_once("\n\nFake\n").expect("an answer");
    let (answer, _) = answer.split_once("\n\nDone").expect("an end");
    insta::assert_snapshot!(answer, @r"
    ✓ Paint
        image · PNG · 6 bytes (not shown: it is not valid Base64)
        image · SVG · 12 bytes (not shown: an SVG may hold programs)
        image · PNG · 11 bytes (not shown: it is no PNG, JPEG, GIF, WebP or BMP)
        image · GIF (not shown: the agent sent nothing of it)
        image · PNG 640x480 · 129 bytes
        image · PNG · 2 kB
    ");
    press(&mut chat, "may hold programs", "<CR>");
    let part = "the image cannot be shown: an SVG may hold programs";
    chat.nvim.wait_until(|nvim| said(nvim).contains(part), part);
    press(&mut chat, "2 kB$", "<CR>");
    chat.nvim.wait_until(|nvim| opened_last(nvim) == "https://a.example/b.png", "the link");
}

/// A Neovim that draws images, as far as its API tells.
const DRAWS: &str = "_G.drawn = {}
    local count = 0
    vim.ui.img = {
      set = function(data, options)
        local id = data
        if type(data) == 'string' then
          count = count + 1
          id = count
        end
        local before = _G.drawn[id] or {}
        _G.drawn[id] = vim.tbl_extend('force', before, options, {
          bytes = type(data) == 'string' and #data or before.bytes })
        return id
      end,
      del = function(id)
        local was = _G.drawn[id] ~= nil
        _G.drawn[id] = nil
        return was
      end,
    }";

fn drawn(nvim: &mut Nvim) -> Vec<Value> {
    let code = "return vim.json.encode(vim.tbl_values(_G.drawn))";
    let text = nvim.exec_lua(code, []).as_str().unwrap_or_default().to_owned();
    serde_json::from_str::<Vec<Value>>(&text).unwrap_or_default()
}

/// The screen's row of the image's line, from 1.
fn row_of_line(nvim: &mut Nvim) -> Option<usize> {
    nvim.screen().lines().position(|line| line.contains("image \u{b7} PNG")).map(|row| row + 1)
}

#[test]
fn an_image_is_drawn_under_its_line_and_goes_where_that_goes() {
    let mut chat = turn([
        shows(json!({ "type": "text", "text": "Look:" })),
        shows(image(PNG, "image/png")),
        shows(json!({ "type": "text", "text": "It is blue." })),
    ]);
    chat.nvim.resize(100, 45);
    chat.nvim.exec_lua(DRAWS, []);
    go(&mut chat);
    chat.nvim.wait_until(|nvim| drawn(nvim).len() == 1, "the image to be drawn");
    let stands_under = |nvim: &mut Nvim| {
        let row = row_of_line(nvim);
        let all = drawn(nvim);
        all.len() == 1 && row.is_some_and(|row| all[0]["row"] == row + 1)
    };
    chat.nvim.wait_until(stands_under, "the image under its line");
    let image = drawn(&mut chat.nvim).remove(0);
    assert_eq!(image["bytes"], 129);
    // Half of a hundred columns less a margin; a cell is twice as high as wide.
    assert_eq!((&image["width"], &image["height"]), (&json!(40), &json!(15)));
    let rows = image["height"].as_u64().expect("a number") as usize;
    let screen = chat.nvim.screen();
    let at = |text: &str| screen.lines().position(|line| line.contains(text)).expect("a line");
    assert_eq!(at("It is blue.") - at("image \u{b7} PNG"), rows + 2, "it has room");

    chat.nvim.input("<Esc>");
    chat.nvim.exec_lua(
        "vim.api.nvim_set_current_win(vim.fn.bufwinid(require('acp').status().sessions[1].buffer))",
        [],
    );
    chat.nvim.input("gg3<C-e>");
    chat.nvim.wait_until(stands_under, "the image under its line again");
    // Where its line is out of sight, nothing is drawn, nor where its foot has no room.
    chat.nvim.input("20<C-e>");
    chat.nvim.wait_until(|nvim| drawn(nvim).is_empty(), "no image");
    chat.nvim.input("gg");
    chat.nvim.wait_until(stands_under, "the image");
    chat.nvim.resize(100, 30);
    chat.nvim.wait_until(|nvim| drawn(nvim).is_empty(), "no image");
    chat.nvim.resize(100, 45);
    chat.nvim.wait_until(stands_under, "the image");
    chat.nvim.input("q");
    chat.nvim.wait_until(|nvim| drawn(nvim).is_empty(), "no image beside a hidden chat");
    assert_eq!(said(&mut chat.nvim), "");
    assert_eq!(chat.nvim.messages(), "");
}

#[test]
fn images_that_are_wanted_as_lines_are_not_drawn() {
    let mut chat = turn([shows(image(PNG, "image/png")), says("It is blue.")]);
    chat.nvim.exec_lua(DRAWS, []);
    chat.configure("chat = { images = 'link' }");
    go(&mut chat);
    chat.wait_for("image \u{b7} PNG");
    press(&mut chat, "^image", "<CR>");
    chat.nvim.wait_until(|nvim| !opened_last(nvim).is_empty(), "the image to be opened");
    assert_eq!(drawn(&mut chat.nvim).len(), 0);
}
