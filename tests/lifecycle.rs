//! Starting, stopping, restarting and closing agents, soon after each other and in any order: a chat
//! comes to what its user asked for last, and what an earlier agent still says does not reach it.

#![cfg(unix)]

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use std::os::unix::fs::PermissionsExt as _;

use rmpv::Value;
use serde_json::json;

use support::process::wait_for;
use support::script::{Scripted, initialized, prompt, says, steps};
use support::{Nvim, demo_agent};

/// The states of all chats, the one used last first.
fn states(chat: &mut Scripted) -> Vec<String> {
    states_in(&mut chat.nvim)
}

/// Runs commands with so many milliseconds after each.
fn run(chat: &mut Scripted, commands: &[(&str, u64)]) {
    let code = "local commands = ...
                coroutine.wrap(function()
                  local this = coroutine.running()
                  for _, each in ipairs(vim.json.decode(commands)) do
                    vim.cmd(each[1])
                    if each[2] > 0 then
                      vim.defer_fn(function() coroutine.resume(this) end, each[2])
                      coroutine.yield()
                    end
                  end
                end)()";
    chat.nvim.exec_lua(code, [json!(commands).to_string().into()]);
}

/// Waits until there is one chat, and its agent is ready.
#[track_caller]
fn wait_until_ready(chat: &mut Scripted, what: &str) {
    let mut last = Vec::new();
    wait_for(
        || {
            last = states(chat);
            last == ["idle"] || last.iter().any(|state| state == "failed" || state == "ended")
        },
        what,
    );
    assert_eq!(last, ["idle"], "{what}");
}

#[test]
fn a_chat_right_after_another_was_closed_gets_an_agent_that_lives() {
    let mut chat = Scripted::new(&[], steps([]));
    for wait in [0, 1, 2, 5, 10, 20] {
        run(&mut chat, &[("AcpChat", 0)]);
        wait_until_ready(&mut chat, "the first chat");
        run(&mut chat, &[("Acp close", wait), ("AcpChat", 0)]);
        chat.nvim.wait_until(
            |nvim| {
                let code = "return #require('acp').status().sessions";
                nvim.exec_lua(code, []) == Value::from(1)
            },
            "a chat",
        );
        wait_until_ready(&mut chat, &format!("a chat {wait} ms after another was closed"));
        run(&mut chat, &[("Acp close", 0)]);
    }
}

#[test]
fn a_restart_right_after_another_counts() {
    let mut chat = Scripted::new(&[], steps([]));
    chat.chat();
    for wait in [0, 1, 2, 5, 10, 20, 50] {
        run(&mut chat, &[("Acp restart", wait), ("Acp restart", wait), ("Acp restart", 60)]);
        wait_until_ready(&mut chat, &format!("restarts {wait} ms after each other"));
    }
}

#[test]
fn a_prompt_typed_while_the_agent_ends_goes_to_the_next_one() {
    // It takes a while until nothing of the first one is left.
    let deaf = json!({ "spawn": ["sh", "-c", "trap '' TERM; sleep 1000 & wait; wait"] });
    let steps = steps([deaf, prompt(), says("I have it.")]);
    let mut chat = Scripted::new(&[], steps);
    chat.chat();
    chat.nvim.command("Acp stop");
    assert_eq!(states(&mut chat), ["stopping"]);
    chat.send("keep this");
    wait_for_states(&mut chat, &["ended"]);
    chat.nvim.command("Acp restart");
    chat.wait_for("I have it.");
    assert_eq!(chat.got("session/prompt")["params"]["prompt"][0]["text"], "keep this");
}

#[test]
fn a_turn_that_a_restart_ends_is_said_to_be_over() {
    let mut chat = Scripted::new(&[], steps([prompt(), says("I begin.")]));
    chat.chat();
    let listen = "_G.ended = {}
                  vim.api.nvim_create_autocmd('User', { pattern = 'AcpTurnEnded', callback = function(event)
                    table.insert(_G.ended, event.data.stop_reason .. ': ' .. event.data.error)
                  end })";
    chat.nvim.exec_lua(listen, []);
    chat.send("go");
    chat.wait_for("I begin.");
    chat.nvim.command("Acp restart");
    wait_until_ready(&mut chat, "a restart");
    let ended = chat.nvim.exec_lua("return _G.ended", []);
    assert_eq!(ended, Value::from(vec![Value::from("failed: the agent was started again")]));
}

#[test]
fn an_agent_that_was_paused_is_not_said_to_work_and_can_be_ended() {
    let mut chat = Scripted::new(&[], steps([prompt(), says("I begin.")]));
    chat.chat();
    chat.send("go");
    chat.wait_for("I begin.");
    let agents = chat.nvim.processes();
    let agent = agents.iter().find(|process| process.command.contains("--script")).expect("an agent");
    // SAFETY: takes two numbers, of which one is a process of this test.
    assert_eq!(unsafe { libc::kill(agent.pid.cast_signed(), libc::SIGSTOP) }, 0);
    chat.nvim.command("Acp cancel");
    assert_eq!(states(&mut chat), ["stopping"]);
    chat.nvim.command("Acp stop");
    assert_eq!(states(&mut chat), ["stopping"]);
    wait_for_states(&mut chat, &["ended"]);
    wait_for(|| chat.nvim.processes().len() == 1, "the agent to be gone");
}

#[track_caller]
fn wait_for_states(chat: &mut Scripted, wanted: &[&str]) {
    let mut last = Vec::new();
    chat.nvim.wait_until(
        |nvim| {
            last = states_in(nvim);
            last == wanted
        },
        &format!("the chats to be {wanted:?}"),
    );
}

/// Agents of every kind, and what a user may do to them in any order: whatever comes of it, all chats
/// come to rest, each process belongs to a chat, a restart brings each chat back, and after the last
/// chat nothing is left.
#[test]
fn in_any_order_of_steps_chats_come_to_rest_and_every_process_has_one() {
    let opens = json!({ "repeat": 30, "steps": [
        { "expect": "session/new" },
        { "delay_ms": 15 },
        { "reply": "session/new", "result": { "sessionId": "s${i}" } },
    ] });
    let slow = [json!({ "delay_ms": 15 }), json!({ "expect": "initialize" }), json!({ "delay_ms": 15 })];
    let answer = json!({ "reply": "initialize", "result": { "protocolVersion": 1 } });
    let mut chat = Scripted::new(&[], slow.into_iter().chain([answer, opens]).collect());
    let methods = json!([{ "id": "key", "name": "Key", "description": "A key" }]);
    let wants_login = json!({ "code": -32000, "message": "log in first" });
    let mut login = initialized(json!({}), methods);
    // Nobody ever gets in.
    login.push(json!({ "repeat": 30, "steps": [
        { "expect": "session/new" },
        { "reply": "session/new", "error": wants_login },
    ] }));
    chat.project.write(".agent/login.json", &json!(login).to_string());
    chat.project.write(".agent/dying.json", &json!([{ "expect": "initialize" }, { "exit": 3 }]).to_string());
    let broken = chat.project.file(".agent/broken");
    chat.project.write(".agent/broken", "#!/no/such/interpreter\n");
    std::fs::set_permissions(&broken, std::fs::Permissions::from_mode(0o755)).expect("a program");
    let broken = broken.to_str().expect("a path in UTF-8");
    let agent = demo_agent().to_str().expect("a path in UTF-8");
    chat.configure(&format!(
        "agents = {{
           demo = {{ command = '{agent}', env = {{ ACP_DEMO_SPEED = '0' }} }},
           login = {{ command = '{agent}', args = {{ '--script', '.agent/login.json' }} }},
           dying = {{ command = '{agent}', args = {{ '--script', '.agent/dying.json' }} }},
           broken = {{ command = '{broken}' }},
         }}"
    ));
    for seed in 1..=20 {
        chat.nvim.exec_lua(STEPS, [seed.into()]);
        chat.nvim.wait_until(|nvim| nvim.exec_lua("return _G.done", []) == true.into(), "all steps");
        let what = format!("all to come to rest after the steps of seed {seed}: {}", steps_of(&mut chat));
        let settled = ["idle", "waiting", "failed", "ended"];
        // A prompt to "fake" is never answered.
        let rests = |(name, state): &(String, String)| settled.contains(&state.as_str()) || name == "fake";
        chat.nvim.wait_until(|nvim| names_and_states(nvim).iter().all(rests), &what);
        // What has no chat any more goes by itself.
        wait_for(|| agents(&chat.nvim) == known(&mut chat), &what);
        assert!(known(&mut chat).len() <= states(&mut chat).len(), "{what}: more agents than chats");
        let close = "for _, session in ipairs(require('acp').status().sessions) do
                       require('acp').call('close', { session = session.session })
                     end";
        chat.nvim.exec_lua(
            "for _, session in ipairs(require('acp').status().sessions) do
                              require('acp').call('restart', { session = session.session })
                            end",
            [],
        );
        chat.nvim.wait_until(
            |nvim| {
                let fails = ["dying", "broken"];
                names_and_states(nvim).iter().all(|(name, state)| match state.as_str() {
                    "failed" => fails.contains(&name.as_str()),
                    "waiting" => name == "login",
                    "working" => name == "fake",
                    state => state == "idle",
                })
            },
            &format!("a restart to bring all back, and {what}"),
        );
        chat.nvim.exec_lua(close, []);
        wait_for(|| agents(&chat.nvim).is_empty() && known(&mut chat).is_empty(), &what);
    }
}

/// Does what a user may do, in an order that a number decides on.
const STEPS: &str = "
    local seed = ...
    local state = seed * 7919
    local function random(n)
      state = (state * 1103515245 + 12345) % 2147483648
      return math.floor(state / 65536) % n + 1
    end
    local names = { 'fake', 'demo', 'login', 'dying', 'broken' }
    local acts = {
      function() return 'AcpChat! ' .. names[random(#names)] end,
      function() return 'AcpChat ' .. names[random(#names)] end,
      function() return 'Acp close' end,
      function() return 'Acp restart' end,
      function() return 'Acp stop' end,
      function() return 'Acp cancel' end,
      function() return 'Acp login key' end,
      function() return 'Acp send hello' end,
    }
    _G.done, _G.taken = false, {}
    local left = 14
    local function step()
      if left == 0 then
        _G.done = true
        return
      end
      left = left - 1
      local line = acts[random(#acts)]()
      local wait = random(3) == 1 and 0 or random(30)
      table.insert(_G.taken, line .. ' (' .. wait .. ')')
      -- That there is nothing to do it to is fine.
      pcall(vim.cmd, line)
      vim.defer_fn(step, wait)
    end
    step()";

fn steps_of(chat: &mut Scripted) -> String {
    chat.nvim.exec_lua("return table.concat(_G.taken, ', ')", []).as_str().unwrap_or_default().to_owned()
}

fn names_and_states(nvim: &mut Nvim) -> Vec<(String, String)> {
    let code = "return vim.tbl_map(function(session) return { session.name, session.state } end,
                                   require('acp').status().sessions)";
    let pairs = nvim.exec_lua(code, []);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let pairs = pairs.as_array().into_iter().flatten();
    pairs.map(|pair| (text(&pair[0]), text(&pair[1]))).collect()
}

fn states_in(nvim: &mut Nvim) -> Vec<String> {
    names_and_states(nvim).into_iter().map(|(_, state)| state).collect()
}

/// The agents' processes there are.
fn agents(nvim: &Nvim) -> Vec<u32> {
    let agents = nvim.processes().into_iter().filter(|process| process.command.contains("acp-demo-agent"));
    let mut agents: Vec<u32> = agents.map(|process| process.pid).collect();
    agents.sort_unstable();
    agents
}

/// The agents' processes that the plugin knows of.
fn known(chat: &mut Scripted) -> Vec<u32> {
    let code =
        "return vim.tbl_map(function(agent) return agent.pid or 0 end, require('acp').status().agents)";
    let pids = chat.nvim.exec_lua(code, []);
    let pids = pids.as_array().into_iter().flatten().filter_map(Value::as_u64);
    let mut pids: Vec<u32> = pids.filter_map(|pid| u32::try_from(pid).ok()).filter(|pid| *pid > 0).collect();
    pids.sort_unstable();
    pids
}
