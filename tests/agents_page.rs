//! The agents that the registry knows: the page that lists them, the question before one is run for the
//! first time, what is fetched by `npx`, `uvx` and the plugin itself, and the registry. Neovim, the
//! processes, the pipes and the web server are real; what is fetched is the demo agent.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use support::http::{Answer, Server};
use support::process::wait_for;
use support::project::TempProject;
use support::{Nvim, Options, demo_agent};

/// What the plugin and its programs need of a system.
const TOOLS: &[&str] = &[
    "sh",
    "cat",
    "kill",
    "curl",
    "tar",
    "gzip",
    "unzip",
    "sha256sum",
    "rm",
    "git",
    "env",
    "bzip2",
    "dirname",
    "readlink",
];

/// A machine on which nothing is installed, but what is named.
struct Machine {
    /// The user's home, the project in it, and the folder of programs.
    home: TempProject,
}

impl Machine {
    fn new(programs: &[&str]) -> Self {
        let machine = Self { home: TempProject::new(&[("code/README.md", "# A project\n")]) };
        let path = std::env::var_os("PATH").expect("a path");
        for tool in TOOLS {
            let found =
                std::env::split_paths(&path).map(|folder| folder.join(tool)).find(|file| file.is_file());
            fs::create_dir_all(machine.home.file("bin")).expect("a folder");
            if let Some(found) = found {
                symlink(found, machine.home.file("bin").join(tool)).expect("a link");
            }
        }
        for program in programs {
            machine.program(program);
        }
        machine
    }

    /// A program that writes down how it was called, and is the demo agent.
    fn program(&self, name: &str) {
        let log = self.home.file("called");
        let demo = demo_agent();
        let text = format!("#!/bin/sh\necho \"{name} $*\" >> {}\nexec {} \n", log.display(), demo.display());
        self.home.write(&format!("bin/{name}"), &text);
        let file = self.home.file(&format!("bin/{name}"));
        fs::set_permissions(file, fs::Permissions::from_mode(0o755)).expect("a program");
    }

    fn called(&self) -> String {
        fs::read_to_string(self.home.file("called")).unwrap_or_default()
    }

    /// A registry that was fetched before, with these agents only.
    fn registry(&self, agents: Value) {
        self.home.write("cache/nvim/acp/registry.json", &index(agents));
    }

    /// A web server with the files in `served`.
    fn server(&self) -> Server {
        let folder = self.home.file("served");
        fs::create_dir_all(&folder).expect("a folder");
        Server::start(&folder)
    }

    fn nvim(&self) -> Nvim {
        self.nvim_of(80, 24)
    }

    fn nvim_of(&self, columns: u16, rows: u16) -> Nvim {
        let folder = |name: &str| self.home.file(name).to_str().expect("a path").to_owned();
        let folders = ["config", "data", "state", "cache"].map(|name| {
            fs::create_dir_all(self.home.file(name)).expect("a folder");
            (format!("XDG_{}_HOME", name.to_uppercase()), folder(name))
        });
        let env = folders.into_iter().chain([
            ("PATH".to_owned(), folder("bin")),
            ("no_proxy".to_owned(), "*".to_owned()),
            ("ACP_NVIM_SLOW".to_owned(), "5".to_owned()),
        ]);
        let cwd = Some(self.home.file("code"));
        let mut nvim = Nvim::start(Options { columns, rows, cwd, env: env.collect(), ..Options::default() });
        nvim.listen();
        nvim
    }

    fn downloads(&self) -> PathBuf {
        self.home.file("data/nvim/acp/agents")
    }

    /// All below the folder of downloads, relative to it.
    fn downloaded(&self) -> Vec<String> {
        let mut all = Vec::new();
        let mut folders = vec![self.downloads()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if entry.file_type().expect("a kind").is_dir() {
                    folders.push(path.clone());
                }
                all.push(path.strip_prefix(self.downloads()).expect("below it").display().to_string());
            }
        }
        all.sort();
        all
    }
}

fn index(agents: Value) -> String {
    json!({ "version": "1.0.0", "agents": agents }).to_string()
}

fn npx_agent(id: &str, version: &str) -> Value {
    json!({ "id": id, "name": id.to_uppercase(), "version": version, "description": "Says hello.",
        "license": "MIT", "website": "https://example.org/hello",
        "distribution": { "npx": { "package": format!("{id}@{version}"), "args": ["--acp"] } } })
}

/// An agent that is downloaded, for whatever system this is.
fn binary_agent(url: &str, cmd: &str, sha256: Option<&str>) -> Value {
    let os = if cfg!(target_os = "macos") { "darwin" } else { std::env::consts::OS };
    let mut target = json!({ "archive": url, "cmd": cmd, "args": ["--from-download"] });
    if let Some(sha256) = sha256 {
        target["sha256"] = sha256.into();
    }
    let system = format!("{os}-{}", std::env::consts::ARCH);
    json!({ "id": "fetched", "name": "Fetched", "version": "1.0.0", "description": "Comes from far away.",
        "distribution": { "binary": { system: target } } })
}

/// The registry's path at the server.
const REGISTRY: &str = "/registry.json";

fn set_registry(nvim: &mut Nvim, host: &str) {
    let url = format!("{host}{REGISTRY}");
    nvim.exec_lua("require('acp').setup({ registry = { url = ... } })", [url.into()]);
}

/// Pickers are answered with these lines' beginnings, in order; what they asked is kept.
fn answer(nvim: &mut Nvim, answers: &[&str]) {
    let answers = answers.iter().map(|&answer| answer.into()).collect();
    nvim.exec_lua(
        "local answers = ...
         _G.asked = _G.asked or {}
         vim.ui.select = function(items, options, choose)
           table.insert(_G.asked, options.prompt)
           local wanted = table.remove(answers, 1)
           for index, item in ipairs(items) do
             if wanted and vim.startswith(item, wanted) then
               return choose(item, index)
             end
           end
           choose(nil)
         end",
        [rmpv::Value::Array(answers)],
    );
}

fn lua(nvim: &mut Nvim, code: &str) -> String {
    nvim.exec_lua(code, []).as_str().unwrap_or_default().to_owned()
}

fn asked(nvim: &mut Nvim) -> String {
    lua(nvim, "return table.concat(_G.asked or {}, '\\n')")
}

fn said(nvim: &mut Nvim) -> String {
    lua(nvim, "return table.concat(_G.said, '\\n')")
}

#[track_caller]
fn wait_for_said(nvim: &mut Nvim, text: &str) {
    nvim.wait_until(|nvim| said(nvim).contains(text), &format!("{text:?} to be said"));
}

fn page(nvim: &mut Nvim) -> String {
    let code = "for _, buf in ipairs(vim.api.nvim_list_bufs()) do
       if vim.bo[buf].filetype == 'acp-agents' then
         return table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), '\\n')
       end
     end";
    lua(nvim, code)
}

#[track_caller]
fn wait_for_page(nvim: &mut Nvim, text: &str) {
    let mut last = String::new();
    nvim.wait_until(
        |nvim| {
            last = page(nvim);
            last.contains(text)
        },
        &format!("the page to show {text:?}"),
    );
}

#[track_caller]
fn wait_for_chat(nvim: &mut Nvim) {
    let state = "local first = require('acp').status().sessions[1] return first and first.state";
    nvim.wait_until(|nvim| lua(nvim, state) == "idle", "the chat to be open");
}

/// Ends Neovim, and sees to it that nothing was kept.
#[track_caller]
fn leave(mut nvim: Nvim) {
    assert!(nvim.quit().success());
    wait_for(|| nvim.processes().is_empty(), "every process to be gone");
}

#[test]
fn the_page_lists_all_agents_ready_ones_first() {
    let machine = Machine::new(&["npx", "opencode"]);
    let mut nvim = machine.nvim();
    nvim.command("set statusline=%f");
    nvim.command("Acp agents");
    nvim.wait_for_screen("Agents: ");
    nvim.assert_screen("agents_80x24");
    nvim.input("/  cline<CR>");
    nvim.input("<Tab>");
    nvim.wait_for_screen("npx -y cline@");
    nvim.assert_screen("agents_details_80x24");
    nvim.resize(140, 40);
    nvim.input("gg");
    nvim.wait_for_screen("· x remove");
    nvim.assert_screen("agents_140x40");
    leave(nvim);
}

#[test]
fn an_agent_is_asked_about_once_and_simply_started_from_then_on() {
    let machine = Machine::new(&["npx"]);
    let mut nvim = machine.nvim();
    answer(&mut nvim, &["Yes"]);
    nvim.command("AcpChat cline");
    wait_for_chat(&mut nvim);
    assert_eq!(asked(&mut nvim), "Run npx -y cline@3.0.65 --acp?");
    assert_eq!(machine.called(), "npx -y cline@3.0.65 --acp\n");
    assert!(!nvim.screen().contains("acp://agents"), "the page is put away");
    leave(nvim);

    let mut nvim = machine.nvim();
    answer(&mut nvim, &[]);
    nvim.command("AcpChat cline");
    wait_for_chat(&mut nvim);
    assert_eq!(asked(&mut nvim), "");
    assert_eq!(machine.called().lines().count(), 2);
    nvim.command("Acp agents");
    wait_for_page(&mut nvim, "approved · Cline · npx · 3.0.65");
    leave(nvim);
}

#[test]
fn what_would_be_run_stands_on_the_screen_while_it_is_asked_about() {
    let machine = Machine::new(&["npx"]);
    let mut nvim = machine.nvim_of(100, 30);
    nvim.command("AcpChat auggie");
    nvim.wait_for_screen("1: Yes");
    let screen = nvim.screen();
    for part in [
        "Run AUGMENT_DISABLE_AUTO_UPDATE=1 npx -y @augmentcode/auggie@",
        "runs          AUGMENT_DISABLE_AUTO_UPDATE=1 npx -y @augmentcode/auggie@",
        "licence       proprietary",
        "website       https://www.augmentcode.com/",
    ] {
        assert!(screen.contains(part), "{part:?} is missing:\n{screen}");
    }
    nvim.input("2<CR>");
    nvim.wait_until(|nvim| !nvim.mode().blocking, "the question to be over");
    assert_eq!(machine.called(), "", "nothing was run");
    assert!(nvim.screen().contains("not approved · Auggie"), "the page stays");
    // Asked again: no is not remembered.
    answer(&mut nvim, &["No"]);
    nvim.input("<CR>");
    nvim.wait_until(|nvim| asked(nvim).contains("Run "), "the question");
    assert_eq!(machine.called(), "");
    leave(nvim);
}

#[test]
fn a_python_package_is_run_by_uvx() {
    let machine = Machine::new(&["uvx"]);
    let mut nvim = machine.nvim();
    answer(&mut nvim, &["Yes"]);
    nvim.command("AcpChat fast-agent");
    wait_for_chat(&mut nvim);
    assert_eq!(machine.called(), "uvx --from fast-agent-mcp==0.10.48 fast-agent-acp -x\n");
    leave(nvim);
}

#[test]
fn what_is_missing_is_said_with_what_to_do() {
    let machine = Machine::new(&[]);
    let mut nvim = machine.nvim();
    nvim.command("AcpChat cline");
    wait_for_said(
        &mut nvim,
        "couldn't start cline: no such program \"cline\": install it with `npm install -g cline`, or install Node.js",
    );
    nvim.command("AcpChat nobody-knows-it");
    wait_for_said(&mut nvim, "no agent is called \"nobody-knows-it\"");
    nvim.command("Acp agents");
    wait_for_page(&mut nvim, "needs Node.js · Cline");
    wait_for_page(&mut nvim, "needs uv · Kimi");
    nvim.input("/  kimi<CR>");
    nvim.input("<CR>");
    wait_for_said(&mut nvim, "install uv, whose uvx runs it");
    wait_for_page(&mut nvim, "to do ");
    leave(nvim);
}

#[test]
fn the_picker_offers_what_is_ready_and_leads_to_the_page() {
    let machine = Machine::new(&["npx", "opencode"]);
    let mut nvim = machine.nvim();
    answer(&mut nvim, &["Yes"]);
    nvim.command("AcpChat kilo");
    wait_for_chat(&mut nvim);
    nvim.exec_lua(
        "vim.ui.select = function(items, _, choose)
           _G.items = items
           choose(items[#items], #items)
         end",
        [],
    );
    nvim.command("Acp new");
    nvim.wait_for_screen("acp://agents");
    insta::assert_snapshot!(lua(&mut nvim, "return table.concat(_G.items, '\\n')"), @r#"
    Claude — npx -y @agentclientprotocol/claude-agent-acp (the first start downloads it)
    Codex — npx -y @agentclientprotocol/codex-acp (the first start downloads it)
    OpenCode — opencode acp
    Kilo Code — npx -y @kilocode/cli@7.8.1 acp
    Demo — a tour of the plugin without an account
    Other agents … — list all known agents (:Acp agents)
    "#);
    leave(nvim);
}

#[test]
fn lua_gets_the_list_with_what_was_approved() {
    let machine = Machine::new(&["npx"]);
    let mut nvim = machine.nvim();
    answer(&mut nvim, &["Yes"]);
    nvim.command("AcpChat cline");
    wait_for_chat(&mut nvim);
    leave(nvim);
    let mut nvim = machine.nvim();
    nvim.exec_lua("require('acp').agents(function(list) _G.list = list end)", []);
    nvim.wait_until(|nvim| nvim.exec_lua("return _G.list ~= nil", []) == true.into(), "the list");
    let cline = "local cline = vim.iter(_G.list):find(function(agent) return agent.name == 'cline' end)
        return ('%s %s %s %s %s'):format(cline.state, cline.status, cline.runs_by, cline.version, cline.found)";
    assert_eq!(lua(&mut nvim, cline), "ready approved npx 3.0.65 true");
    leave(nvim);
}

#[test]
fn an_installed_program_comes_before_npx_and_asks_nothing() {
    let machine = Machine::new(&["npx", "cline"]);
    let mut nvim = machine.nvim();
    answer(&mut nvim, &[]);
    nvim.command("AcpChat cline");
    wait_for_chat(&mut nvim);
    assert_eq!((asked(&mut nvim).as_str(), machine.called().as_str()), ("", "cline --acp\n"));
    leave(nvim);
}

#[test]
fn a_new_version_is_asked_about_again() {
    let machine = Machine::new(&["npx"]);
    machine.registry(json!([npx_agent("hello", "1.0.0")]));
    let mut nvim = machine.nvim();
    answer(&mut nvim, &["Yes", "Yes"]);
    nvim.command("AcpChat hello");
    wait_for_chat(&mut nvim);
    let server = machine.server();
    server.answer(REGISTRY, Answer::Text(index(json!([npx_agent("hello", "2.0.0")]))));
    set_registry(&mut nvim, &server.url());
    nvim.command("Acp! agents");
    wait_for_said(&mut nvim, "the registry was fetched");
    wait_for_page(&mut nvim, "changed · HELLO · npx · 2.0.0 · MIT");
    nvim.input("/  hello<CR>");
    nvim.input("<CR>");
    nvim.wait_until(|_| machine.called().lines().count() == 2, "the new version to be run");
    assert_eq!(
        asked(&mut nvim),
        "Run npx -y hello@1.0.0 --acp?\nhello has changed. Run npx -y hello@2.0.0 --acp?"
    );
    assert!(machine.called().ends_with("npx -y hello@2.0.0 --acp\n"));
    leave(nvim);
}

#[test]
fn an_approval_can_be_taken_back() {
    let machine = Machine::new(&["npx"]);
    machine.registry(json!([npx_agent("hello", "1.0.0")]));
    let mut nvim = machine.nvim();
    answer(&mut nvim, &["Yes", "Yes, remove it", "No"]);
    nvim.command("AcpChat hello");
    wait_for_chat(&mut nvim);
    nvim.command("Acp agents");
    wait_for_page(&mut nvim, "approved · HELLO");
    nvim.input("/  hello<CR>");
    nvim.input("x");
    wait_for_page(&mut nvim, "not approved · HELLO");
    nvim.input("/  hello<CR>");
    nvim.input("x");
    wait_for_said(&mut nvim, "nothing of hello was approved or downloaded here");
    nvim.command("Acp! new hello");
    nvim.wait_until(|nvim| asked(nvim).lines().count() == 3, "the question to come again");
    leave(nvim);
}

#[test]
fn the_website_is_opened() {
    let machine = Machine::new(&["npx"]);
    let mut nvim = machine.nvim();
    nvim.exec_lua("vim.ui.open = function(url) _G.opened = url end", []);
    nvim.command("Acp agents");
    nvim.wait_for_screen("Agents: ");
    nvim.input("/  cline<CR>");
    nvim.input("gx");
    nvim.wait_until(|nvim| lua(nvim, "return _G.opened") == "https://cline.bot/cli", "the website");
    nvim.input("ggx");
    wait_for_said(&mut nvim, "the cursor is not on an agent");
    leave(nvim);
}

#[test]
fn the_page_is_the_same_in_several_windows_and_after_it_was_closed() {
    let machine = Machine::new(&["npx"]);
    let mut nvim = machine.nvim_of(140, 40);
    nvim.command("Acp agents");
    nvim.wait_for_screen("· x remove");
    nvim.input("/  cline<CR>");
    nvim.command("vsplit");
    // Both have to fit: so the narrower one decides.
    wait_for_page(&mut nvim, "not approved · Cline · npx");
    let line = "return vim.api.nvim_get_current_line()";
    assert!(lua(&mut nvim, line).starts_with("  cline "));
    nvim.command("close");
    wait_for_page(&mut nvim, "not approved   npx       3.0.65");
    assert!(lua(&mut nvim, line).starts_with("  cline "), "the cursor stays on its agent");
    nvim.input("q");
    nvim.wait_until(|nvim| !nvim.screen().contains("acp://agents"), "the page to be closed");
    nvim.command("Acp agents");
    nvim.wait_for_screen("acp://agents");
    nvim.command("only");
    nvim.input("q");
    nvim.wait_until(|nvim| !nvim.screen().contains("Agents: "), "the page to be gone from the last window");
    nvim.command("bwipeout! acp://agents");
    nvim.command("Acp agents");
    nvim.wait_for_screen("Agents: ");
    assert_eq!(said(&mut nvim), "");
    leave(nvim);
}

// The registry.

#[test]
fn the_registry_is_fetched_when_it_is_asked_for_and_a_broken_one_changes_nothing() {
    let machine = Machine::new(&["npx"]);
    let server = machine.server();
    let mut nvim = machine.nvim_of(100, 30);
    set_registry(&mut nvim, &server.url());
    nvim.command("Acp agents");
    wait_for_page(&mut nvim, "bundled list of 2026-11-22");
    assert!(server.asked().is_empty(), "nothing is fetched before");

    nvim.input("R");
    wait_for_page(&mut nvim, "couldn't fetch the registry: there is no such file");
    wait_for_page(&mut nvim, "R tries again");

    let mut broken = npx_agent("broken", "1.0.0");
    broken["distribution"] = json!({ "npx": 5 });
    server.answer(REGISTRY, Answer::Text(index(json!([npx_agent("hello", "1.0.0"), broken]))));
    nvim.input("R");
    wait_for_page(&mut nvim, "registry fetched 2");
    wait_for_page(&mut nvim, "not approved · HELLO");
    wait_for_page(&mut nvim, "agent \"broken\": invalid type");
    assert!(!page(&mut nvim).contains("couldn't fetch"));

    machine.home.write("served/registry.json", &index(json!([npx_agent("other", "1.0.0")])));
    let bad = [
        (Answer::Text("<html>".into()), "couldn't use what came as the registry: it is no JSON"),
        (Answer::Text("{}".into()), "it has no list of agents"),
        (Answer::Cut(20), "the connection ended early"),
    ];
    for (answer, why) in bad {
        server.answer(REGISTRY, answer);
        nvim.input("R");
        wait_for_page(&mut nvim, why);
        assert!(page(&mut nvim).contains("not approved · HELLO"), "the old one stays");
    }
    let cached = fs::read_dir(machine.home.file("cache/nvim/acp")).expect("the cache");
    let names: Vec<_> = cached.flatten().map(|entry| entry.file_name()).collect();
    assert!(names.iter().all(|name| !name.to_string_lossy().contains("new")), "{names:?}");
    leave(nvim);
}

#[test]
fn a_slow_registry_can_be_stopped_and_holds_nothing_up() {
    let machine = Machine::new(&["npx"]);
    let server = machine.server();
    machine.home.write("served/registry.json", &index(json!([npx_agent("hello", "1.0.0")])));
    server.answer(REGISTRY, Answer::Stalled(20));
    let mut nvim = machine.nvim();
    set_registry(&mut nvim, &server.url());
    nvim.command("Acp agents!");
    wait_for_page(&mut nvim, "fetching the registry");
    nvim.wait_until(|_| !server.asked().is_empty(), "the server to be asked");
    nvim.input("R");
    wait_for_said(&mut nvim, "the registry is being fetched already");
    nvim.input("<C-c>");
    nvim.wait_until(|nvim| !page(nvim).contains("fetching"), "it to be stopped");
    assert!(!machine.home.file("cache/nvim/acp/registry.json").exists());
    leave(nvim);
}

#[test]
fn without_a_network_the_page_says_what_to_do() {
    let machine = Machine::new(&["npx"]);
    // A port that nobody listens at any more.
    let port = std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("one").port();
    let mut nvim = machine.nvim_of(100, 30);
    set_registry(&mut nvim, &format!("http://127.0.0.1:{port}"));
    nvim.command("Acp agents!");
    wait_for_page(&mut nvim, "the server refused the connection; showing");
    wait_for_page(&mut nvim, "R tries again");
    leave(nvim);
}

// Downloads.

/// A program that is the demo agent, and says in a file how it was called.
fn program(machine: &Machine) -> String {
    let (log, demo) = (machine.home.file("called"), demo_agent());
    format!("#!/bin/sh\necho \"download $*\" >> {}\nexec {}\n", log.display(), demo.display())
}

/// An archive made by `tar` or `zip`, whose command is run in a folder with `dir/agent`.
fn archive(machine: &Machine, command: &[&str]) -> Vec<u8> {
    machine.home.write("pack/dir/agent", &program(machine));
    machine.home.write("pack/dir/more/text", "more\n");
    let packed = Command::new(command[0]).args(&command[1..]).current_dir(machine.home.file("pack")).output();
    let packed = packed.expect("a program that packs");
    assert!(packed.status.success(), "{}", String::from_utf8_lossy(&packed.stderr));
    let name = command.iter().find_map(|word| word.strip_prefix("../packed")).expect("its name");
    fs::read(machine.home.file(&format!("packed{name}"))).expect("an archive")
}

fn sum(machine: &Machine, bytes: &[u8]) -> String {
    let file = machine.home.file("to-sum");
    fs::write(&file, bytes).expect("a file");
    let output = Command::new("sha256sum").arg(file).output().expect("sha256sum");
    String::from_utf8(output.stdout).expect("text")[..64].to_owned()
}

const TAR: &[&str] = &["tar", "-czf", "../packed", "dir"];

/// A machine whose registry has the one agent, at a server with this file of that name.
fn serving(name: &str, cmd: &str, content: &[u8], sha256: Option<&str>) -> (Machine, Server) {
    let machine = Machine::new(&[]);
    let server = machine.server();
    fs::write(machine.home.file("served").join(name), content).expect("a file");
    machine.registry(json!([binary_agent(&format!("{}/{name}", server.url()), cmd, sha256)]));
    (machine, server)
}

const ARCHIVE: &str = "agent.tar.gz";

#[test]
fn an_agent_is_downloaded_checked_unpacked_and_started() {
    let first = Machine::new(&[]);
    let tar = archive(&first, TAR);
    let (machine, server) = serving(ARCHIVE, "./dir/agent", &tar, Some(&sum(&first, &tar)));
    let mut nvim = machine.nvim();
    answer(&mut nvim, &["Yes"]);
    nvim.command("AcpChat fetched");
    wait_for_chat(&mut nvim);
    let asked = asked(&mut nvim);
    let url = format!("{}/{ARCHIVE}", server.url());
    assert!(asked.starts_with(&format!("Download {url} (SHA-256 ")), "{asked}");
    assert!(first.called().ends_with("download --from-download\n"), "{}", first.called());
    assert_eq!(server.asked(), [format!("/{ARCHIVE}")]);
    let downloaded = machine.downloaded();
    let [_, folder, ..] = &downloaded[..] else { panic!("{downloaded:?}") };
    assert!(folder.starts_with("fetched/1.0.0-"), "{downloaded:?}");
    assert!(downloaded.contains(&format!("{folder}/dir/more/text")), "{downloaded:?}");
    assert!(!downloaded.iter().any(|name| name.contains(".tmp")), "{downloaded:?}");
    nvim.command("Acp agents");
    wait_for_page(&mut nvim, "approved · Fetched · download");
    nvim.input("/  fetched<CR>");
    nvim.input("x");
    wait_for_said(&mut nvim, "fetched is running; :Acp stop ends it first");
    leave(nvim);

    // The next Neovim neither asks nor fetches.
    let mut nvim = machine.nvim();
    answer(&mut nvim, &["Yes, remove it"]);
    nvim.command("AcpChat fetched");
    wait_for_chat(&mut nvim);
    assert_eq!(server.asked(), [""; 0]);
    nvim.command("Acp close");
    let running = "local agent = require('acp').status().agents[1] return agent and agent.state";
    nvim.wait_until(|nvim| lua(nvim, running) == "ended", "the agent to be gone");
    nvim.command("Acp agents");
    wait_for_page(&mut nvim, "approved · Fetched");
    nvim.input("/  fetched<CR>");
    nvim.input("x");
    wait_for_page(&mut nvim, "not approved · Fetched");
    assert_eq!(machine.downloaded(), [""; 0]);
    leave(nvim);
}

#[test]
fn a_zip_file_and_a_bare_program_are_downloaded_too() {
    let first = Machine::new(&[]);
    let zip = archive(&first, &["zip", "-qr", "../packed.zip", "dir"]);
    let raw = program(&first).into_bytes();
    for (name, cmd, body) in [("agent.zip", "dir/agent", zip), ("agent-linux-amd64", "./agent", raw)] {
        let (machine, _server) = serving(name, cmd, &body, None);
        let mut nvim = machine.nvim();
        answer(&mut nvim, &["Yes"]);
        nvim.command("AcpChat fetched");
        wait_for_chat(&mut nvim);
        assert!(asked(&mut nvim).contains("NO checksum published"), "{name}");
        leave(nvim);
    }
    assert_eq!(first.called(), "download --from-download\ndownload --from-download\n");
}

/// The program, the file, how the server answers, the checksum, and what is said.
type Case<'a> = (&'a str, &'a [u8], Answer, Option<&'a str>, &'a str);

#[test]
fn what_is_not_what_it_should_be_is_not_run_and_leaves_nothing() {
    let first = Machine::new(&[]);
    let tar = archive(&first, TAR);
    fs::write(first.home.file("outside"), "outside\n").expect("a file");
    let outside = archive(&first, &["tar", "-czPf", "../packed", "dir", "../outside"]);
    let (absolute, secret) = (first.home.file("secret"), first.home.file("secret").display().to_string());
    fs::write(&absolute, "secret\n").expect("a file");
    let absolute = archive(&first, &["tar", "-czPf", "../packed", "dir", &secret]);
    symlink("/etc", first.home.file("pack/dir/link")).expect("a link");
    let link = archive(&first, TAR);
    let wrong = "ab".repeat(32);
    let whole = Answer::Whole;
    let cases: &[Case<'_>] = &[
        ("dir/agent", &tar, whole.clone(), Some(&wrong), "its SHA-256 sum is"),
        ("dir/agent", &tar, Answer::Cut(100), None, "the connection ended early"),
        ("dir/agent", &tar, Answer::Missing, None, "there is no such file"),
        ("dir/other", &tar, whole.clone(), None, "there is no program dir/other in it"),
        ("dir", &tar, whole.clone(), None, "there is no program dir in it"),
        ("dir/agent", b"no archive", whole.clone(), None, "couldn't unpack agent.tar.gz"),
        ("dir/agent", &outside, whole.clone(), None, "it holds ../outside, which leads out"),
        ("dir/agent", &absolute, whole.clone(), None, "secret, which leads out of the folder"),
        ("dir/agent", &link, whole, None, "it holds dir/link, a link that leads out"),
    ];
    for (cmd, content, answered, sha256, why) in cases {
        let (machine, server) = serving(ARCHIVE, cmd, content, *sha256);
        server.answer(&format!("/{ARCHIVE}"), answered.clone());
        let mut nvim = machine.nvim();
        answer(&mut nvim, &["Yes"]);
        nvim.command("AcpChat fetched");
        wait_for_said(&mut nvim, why);
        assert_eq!(machine.downloaded(), [""; 0], "{why}");
        wait_for_page(&mut nvim, "failed ");
        let session = lua(&mut nvim, "return tostring(#require('acp').status().sessions)");
        assert_eq!(session, "0", "nothing was started: {why}");
        leave(nvim);
    }
    assert_eq!(first.called(), "");
}

#[test]
fn a_download_shows_how_far_it_is_and_can_be_stopped() {
    let first = Machine::new(&[]);
    let tar = archive(&first, TAR);
    let (machine, server) = serving(ARCHIVE, "dir/agent", &tar, None);
    server.answer(&format!("/{ARCHIVE}"), Answer::Stalled(100));
    let mut nvim = machine.nvim();
    answer(&mut nvim, &["Yes"]);
    nvim.command("AcpChat fetched");
    wait_for_page(&mut nvim, "downloading · Fetched");
    nvim.wait_until(|_| !server.asked().is_empty(), "the server to be asked");
    assert!(machine.downloaded().iter().any(|name| name.starts_with(".tmp-")));
    nvim.command("AcpChat fetched");
    wait_for_said(&mut nvim, "fetched is already being downloaded");
    nvim.input("<C-c>");
    wait_for_said(&mut nvim, "the download of fetched was stopped; nothing was kept");
    assert_eq!(machine.downloaded(), [""; 0]);
    // Approved it is still: the next time it is only fetched.
    wait_for_page(&mut nvim, "to download · Fetched");
    server.answer(&format!("/{ARCHIVE}"), Answer::Whole);
    nvim.input("<CR>");
    wait_for_chat(&mut nvim);
    leave(nvim);
}

#[test]
fn a_neovim_that_leaves_in_the_midst_of_a_download_leaves_nothing() {
    let first = Machine::new(&[]);
    let tar = archive(&first, TAR);
    let (machine, server) = serving(ARCHIVE, "dir/agent", &tar, None);
    server.answer(&format!("/{ARCHIVE}"), Answer::Stalled(100));
    let mut nvim = machine.nvim();
    answer(&mut nvim, &["Yes"]);
    nvim.command("AcpChat fetched");
    nvim.wait_until(|_| !server.asked().is_empty(), "the server to be asked");
    leave(nvim);
    assert_eq!(machine.downloaded(), [""; 0]);
}

#[test]
fn a_finished_download_does_not_steal_the_focus() {
    let first = Machine::new(&[]);
    let tar = archive(&first, TAR);
    let (machine, server) = serving(ARCHIVE, "dir/agent", b"", None);
    // The server waits for what is written into the pipe.
    let pipe = machine.home.file("served").join(ARCHIVE);
    fs::remove_file(&pipe).expect("a file");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let mut nvim = machine.nvim();
    answer(&mut nvim, &["Yes"]);
    nvim.command("AcpChat fetched");
    nvim.wait_until(|_| !server.asked().is_empty(), "the server to be asked");
    nvim.command("wincmd p");
    nvim.input("ihello");
    fs::write(&pipe, tar).expect("a pipe");
    wait_for_said(&mut nvim, "fetched is downloaded; :AcpChat fetched starts it");
    assert_eq!(nvim.mode().name, "i");
    assert_eq!(lua(&mut nvim, "return vim.api.nvim_get_current_line()"), "hello");
    leave(nvim);
}
