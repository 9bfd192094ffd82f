//! Many sessions of several Neovims at once: each agent reaches the Neovim and the session that it was told of, and what
//! ends takes nothing else with it.

use serde_json::{Value, json};

use crate::client::{Client, Told};
use crate::support::script::{Scripted, opened};

const EACH: usize = 5;

/// A tool that says for which session it was called, and one that is never done.
const OWN: &str = "local acp = require('acp')
    acp.tool({ name = 'who', description = 'who', run = function(_, ctx) return ctx.session .. ' ' .. _G.name end })
    acp.tool({ name = 'never', description = 'never', run = function(_, ctx)
      _G.begun = (_G.begun or 0) + 1
      ctx.on_end(function() _G.stopped = (_G.stopped or 0) + 1 end)
    end })";

struct Neovim {
    chat: Scripted,
    clients: Vec<Client>,
}

/// A Neovim with some sessions, and a client of each.
fn neovim(name: &str) -> Neovim {
    let mut script = opened();
    for number in 2..=EACH {
        let result = json!({ "sessionId": format!("s{number}") });
        script.extend([
            json!({ "expect": "session/new" }),
            json!({ "reply": "session/new", "result": result }),
        ]);
    }
    // It goes on when its sessions are over.
    script.push(json!({ "wait_eof": true }));
    let mut chat = Scripted::new(&[], script);
    chat.nvim.exec_lua("_G.name = ...", [name.into()]);
    chat.nvim.exec_lua(OWN, []);
    chat.chat();
    for number in 2..=EACH {
        chat.nvim.command("Acp new");
        let code = "return #require('acp').status().sessions == ...";
        chat.nvim.wait_until(|nvim| nvim.exec_lua(code, [number.into()]) == true.into(), "one session more");
    }
    let opened = |message: &Value| message["method"] == "session/new";
    let mut told: Vec<Value> = chat.record().into_iter().filter(opened).collect();
    assert_eq!(told.len(), EACH);
    let server = |message: Value| message["params"]["mcpServers"][0].clone();
    let clients = told.drain(..).map(|message| Told::by(&server(message)).connect()).collect();
    Neovim { chat, clients }
}

impl Neovim {
    fn says_who(&mut self, name: &str) {
        for (index, client) in self.clients.iter_mut().enumerate() {
            assert_eq!(client.gives("who", json!({})), format!("{} {name}", index + 1));
        }
    }
}

#[test]
fn ten_sessions_of_two_neovims_are_told_apart_and_end_alone() {
    let (mut one, mut other) = (neovim("one"), neovim("other"));
    one.says_who("one");
    other.says_who("other");

    // All of them wait when one session is closed, the bridge of one is killed, and one Neovim is.
    for neovim in [&mut one, &mut other] {
        for client in &mut neovim.clients {
            client.begin_call("never", json!({}));
        }
        let all = format!("return _G.begun == {EACH}");
        neovim.chat.nvim.wait_until(|nvim| nvim.exec_lua(&all, []) == true.into(), "all calls to begin");
    }
    one.chat.nvim.command("Acp close");
    one.clients.pop().expect("the newest session's").ended();
    one.clients.pop().expect("a client").bridge.kill().expect("a bridge that runs");
    let two = "return _G.stopped == 2";
    one.chat.nvim.wait_until(|nvim| nvim.exec_lua(two, []) == true.into(), "two calls to stop");
    one.says_who("one");
    one.chat.nvim.kill9();
    for mut client in one.clients {
        client.ended();
    }
    other.says_who("other");
    assert_eq!(other.chat.nvim.exec_lua("return _G.stopped == nil", []), true.into());
}
