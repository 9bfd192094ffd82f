use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::core::message::Launch;

fn read(value: Value) -> Config {
    Config::from_value(&value).expect("no mistakes")
}

fn mistakes(value: Value) -> Vec<String> {
    Config::from_value(&value).expect_err("a mistake").iter().map(ToString::to_string).collect()
}

/// A machine on which these programs are installed, all in `/bin`.
fn installed(programs: &'static [&'static str]) -> impl Fn(&str) -> Option<PathBuf> {
    move |program| programs.contains(&program).then(|| Path::new("/bin").join(program))
}

/// A Linux machine with these programs, on which all has been approved that `catalog` says.
fn on_machine<R>(
    programs: &'static [&'static str],
    catalog: &Catalog,
    bundled: Option<&Path>,
    work: impl FnOnce(&Machine<'_>) -> R,
) -> R {
    let find = installed(programs);
    let downloads = Path::new("/data");
    work(&Machine { find: &find, bundled, catalog, system: "linux-x86_64", downloads })
}

fn standing(
    config: &Config,
    name: &str,
    programs: &'static [&'static str],
    catalog: &Catalog,
) -> Result<Standing, String> {
    let bundled = Path::new("/plugin/acp-demo-agent");
    on_machine(programs, catalog, Some(bundled), |machine| {
        config.standing(name, Path::new("/code"), machine).map_err(|error| error.to_string())
    })
}

fn launch(config: &Config, name: &str, programs: &'static [&'static str]) -> Result<Launch, String> {
    match standing(config, name, programs, &Catalog::default())? {
        Standing::Ready(launch, _) => Ok(launch),
        Standing::Missing(_, error) => Err(error.to_string()),
        other => Err(format!("{other:?}")),
    }
}

fn command_line(launch: &Launch) -> String {
    format!("{} {}", launch.command, launch.args.join(" ")).trim_end().to_owned()
}

mod reading {
    use super::*;

    #[test]
    fn nothing_given_is_the_default() {
        assert_eq!(read(json!({})), Config::default());
        assert_eq!(read(json!([])), Config::default(), "how Lua's empty table may arrive");
    }

    #[test]
    fn an_empty_lua_table_is_an_empty_list_and_an_empty_map() {
        for empty in [json!({}), json!([])] {
            let config = read(json!({
                "agents": empty, "keys": empty, "window": empty, "mcp_servers": empty,
                "additional_directories": empty,
            }));
            assert_eq!(config, Config::default());
            let config =
                read(json!({ "agents": { "claude": { "args": empty, "env": empty, "options": empty } } }));
            assert_eq!(config.agents["claude"].args, Some(vec![]));
        }
    }

    #[test]
    fn the_defaults_in_the_list_of_options_are_those_that_hold() {
        for option in options::all() {
            let default = (option.default)();
            if option.key.contains('{') || default == "nil" {
                continue;
            }
            let value: Value = serde_json::from_str(&default).expect("a plain Lua value is JSON too");
            let value = option
                .key
                .rsplit('.')
                .fold(value, |value, key| Value::Object([(key.into(), value)].into_iter().collect()));
            assert_eq!(read(value), Config::default(), "{}", option.key);
        }
    }

    /// Each option with a value that is not its default.
    fn all_options() -> serde_json::Value {
        json!({
            "agents": { "{name}": {
                "command": "c", "args": ["a"], "env": { "K": "v" }, "cwd": "/c", "title": "T",
                "mcp_servers": [{ "name": "m", "command": "/m" }], "mode": "a", "model": "b", "effort": "c",
                "options": { "x": true }, "enabled": true, "follow": true, "system_prompt": "s", "system_prompt_mode": "override",
                "dialect": "draft", "protocol": 2,
                "paths": { "/srv": "/x" }, "files": false, "terminals": false, "tools": false,
                "sandbox": { "write": ["/cache"], "read": ["~/docs"], "network": [443] },
                "tools_denied": ["rename"], "tools_transport": "http",
            } },
            "default_agent": "{name}",
            "registry": { "url": "https://example.org/registry.json" },
            "window": { "layout": "float", "width": 60, "height": "40%", "prompt_height": 3 },
            "prompt": { "complete": "never", "suggestions": false },
            "icons": false,
            "timestamps": true,
            "follow": { "enabled": true, "resume_after": 2 },
            "permission": { "open": "never", "sets": ["read-only"],
                "rules": [{ "decision": "allow", "command": "make **", "agent": "a", "mode": "b", "kind": "execute", "reason": "c" }] },
            "auto": { "questions": "reject", "reason": "later" },
            "limits": { "turn": { "time": 60, "cost": 1.5, "commands": 10, "files": 5, "lines": 100 },
                "session": { "time": 600, "cost": 15, "commands": 100, "files": 50, "lines": 1000 } },
            "keys": { "hide": "Q" },
            "chat": { "images": "link" },
            "terminal": { "auto_open": "never", "position": "right", "size": "30%",
                "auto_close": "success", "input": false, "enabled": false, "limit": 3, "timeout": 60, "output_limit": 1000 },
            "diff": { "style": "off", "stay": "turn", "persist": false, "tell_undone": false },
            "files": { "conflict": "markers", "save": "always", "format_on_save": true, "unsaved": "nothing",
                "reads": false, "writes": false, "outside": "refuse", "allowed": { "read": ["/docs"], "write": ["~/scratch"] } },
            "mcp_servers": [{ "type": "http", "name": "h", "url": "http://localhost/mcp" }],
            "tools": false,
            "tools_denied": ["hover"],
            "tools_transport": "acp",
            "additional_directories": ["/lib"],
            "projects": { "{folder}": {
                "mcp_servers": [{ "name": "p", "command": "/p" }], "additional_directories": ["/more"], "system_prompt": "a.md",
                "tools": true, "tools_denied": ["format"],
            } },
            "log": true,
            "notify": false,
            "bell": true,
            "record": false,
            "audit": false,
            "login_commands": true,
            "checkpoints": { "enabled": false, "days": 2, "size": 3 },
            "timeouts": { "initialize": 1.5, "request": 2 },
            "recovery": { "again": false, "reconnect": false, "longest": 30 },
        })
    }

    #[test]
    #[cfg_attr(windows, ignore = "its paths are those of Unix")]
    fn every_option_in_the_list_is_read() {
        let all = all_options();
        let config = read(all.clone());
        assert_ne!(config.agents, Config::default().agents);
        assert_eq!(config.default_agent.as_deref(), Some("{name}"));
        assert_eq!(
            config.window,
            WindowOptions {
                layout: Layout::Float,
                width: Some(Size::Cells(60)),
                height: Some(Size::Percent(40)),
                prompt_height: 3
            }
        );
        assert!(!config.icons && config.follow.enabled && !config.notify);
        assert_eq!(config.keys.get("hide"), ["Q"]);
        assert_eq!(config.chat.images, Images::Link);
        assert_eq!(
            config.terminal,
            TerminalOptions {
                auto_open: AutoOpen::Never,
                position: Position::Right,
                size: Size::Percent(30),
                auto_close: AutoClose::Success,
                input: false,
                enabled: false,
                limit: 3,
                timeout: Some(Duration::from_secs(60)),
                output_limit: 1000,
            }
        );
        let (style, stay) = (DiffStyle::Off, Stay::Turn);
        assert_eq!(config.diff, DiffOptions { style, stay, persist: false, tell_undone: false });
        assert_eq!((config.prompt.complete, config.files.format_on_save), (Complete::Never, true));
        assert!(!config.prompt.suggestions);
        assert_eq!(
            (config.files.conflict, config.files.save, config.files.unsaved),
            (OnConflict::Markers, Save::Always, Unsaved::Nothing)
        );
        assert_eq!(config.files.outside, OutsideFiles::Refuse);
        assert!(!config.files.reads && !config.files.writes);
        assert_eq!(config.files.allowed.read, [PathBuf::from("/docs")]);
        assert!(config.files.allowed.write[0].is_absolute());
        assert_eq!(config.additional_directories, [PathBuf::from("/lib")]);
        let project = &config.projects[Path::new("{folder}")];
        assert_eq!((project.mcp_servers.len(), project.additional_directories.len()), (1, 1));
        assert_eq!(config.log, Log::On);
        let auto = AutoOptions { questions: AutoQuestions::Reject, reason: Some("later".into()) };
        assert_eq!(config.auto, auto);
        let recovery = config.recovery.wanted();
        assert_eq!((recovery.again, recovery.reconnect, recovery.longest), (false, false, 30_000));
        assert_eq!((config.timeouts.initialize.as_millis(), config.timeouts.request.as_secs()), (1500, 2));

        // What stands in place of others, or is no value.
        let others = ["agents.{name}.cmd", "agents.{name}.url", "agents.{name}.headers"];
        let is_value =
            |option: &&OptionSpec| !others.contains(&option.key) && option.takes.help() != "function";
        for option in options::all().filter(is_value) {
            let pointer = format!("/{}", option.key.replace('.', "/"));
            assert!(all.pointer(&pointer).is_some(), "the example lacks {}", option.key);
        }
    }

    #[test]
    fn what_sessions_of_an_agent_begin_with_is_the_agents_own() {
        let config = read(json!({ "agents": { "x": {
            "mode": "plan", "model": "opus", "effort": "high",
            "options": { "web": true, "steps": 3, "tone": "dry" },
        } } }));
        let defaults = config.defaults("x");
        let named = (defaults.mode.as_deref(), defaults.model.as_deref(), defaults.effort.as_deref());
        assert_eq!(named, (Some("plan"), Some("opus"), Some("high")));
        let values = [("web", "true"), ("steps", "3"), ("tone", "dry")];
        assert_eq!(defaults.options, values.map(|(id, value)| (id.to_owned(), value.to_owned())));
        assert_eq!(config.defaults("y"), Defaults::default());
    }

    #[test]
    fn all_mistakes_are_named_with_their_keys() {
        let mistakes = mistakes(json!({
            "agents": { "claude": { "comand": "x", "args": "--flag", "env": { "A": true }, "options": { "x": {} } } },
            "window": { "width": true, "layout": "rigth", "height": "400%", "prompt_height": 0 },
            "icon": true,
            "keys": { "send": 3, "next": "]" },
            "notify": "yes",
            "permissions": {},
        }));
        insta::assert_snapshot!(mistakes.join("\n"), @r#"
        agents.claude.args: expected a list of strings, got "--flag"
        agents.claude.env.A: expected a string, got true
        agents.claude.options.x: expected a string, a number or a boolean, got a table
        agents.claude.comand: unknown key, did you mean "command"?
        keys.send: expected a string, a list of strings, or false, got 3
        keys.next: unknown key, see :help acp-config
        notify: expected true or false, got "yes"
        window.layout: expected one of "right", "left", "bottom", "top", "float", "tab", "current", got "rigth"
        window.width: expected a number or a string such as "40%", got true
        window.height: expected a number or a string such as "40%", got "400%"
        window.prompt_height: expected a number from 1, got 0
        icon: unknown key, did you mean "icons"?
        permissions: unknown key, did you mean "permission"?
        "#);
    }

    #[test]
    fn a_rule_that_could_not_be_held_against_anything_is_a_mistake() {
        let mistakes = mistakes(json!({ "permission": { "sets": ["all"], "rules": [
            { "decision": "permit", "command": "x" },
            { "decision": "allow" },
            { "decision": "allow", "command": "x", "path": "y" },
            { "command": "x", "kind": "exec" },
            { "decision": "allow", "command": "x", "kind": "exec" },
            { "decision": "reject", "comand": "x", "path": 3 },
        ] } }));
        insta::assert_snapshot!(mistakes.join("\n"), @r#"
        permission.rules[1].decision: expected one of "allow", "ask", "reject", got "permit"
        permission.rules[2]: a rule needs one of command, path, host, mcp or kind, to say what it is about
        permission.rules[3]: a rule is about one thing, not both of path and command
        permission.rules[4].decision: missing
        permission.rules[5]: there is no kind "exec"; there are "read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other", "write", "any"
        permission.rules[6].path: expected a string, got 3
        permission.rules[6].comand: unknown key, did you mean "command"?
        permission.sets: there is no set "all"; there are "read-only", "tests"
        "#);
    }

    #[test]
    fn a_table_where_a_value_belongs_and_the_reverse_are_told_apart() {
        assert_eq!(mistakes(json!("claude")), [r#"setup(): expected a table, got "claude""#]);
        assert_eq!(mistakes(json!({ "window": "float" })), [r#"window: expected a table, got "float""#]);
        assert_eq!(
            mistakes(json!({ "default_agent": { "a": 1 } })),
            ["default_agent: expected a string, got a table"]
        );
        assert_eq!(mistakes(json!({ "agents": ["claude"] })), ["agents: expected a table, got a list"]);
    }

    #[test]
    fn nil_is_as_good_as_absent() {
        assert_eq!(read(json!({ "window": null, "icons": null })), Config::default());
    }

    #[test]
    fn one_list_may_stand_for_command_and_args() {
        let options = &read(json!({ "agents": { "x": { "cmd": ["prog", "--acp"] } } })).agents["x"];
        assert_eq!(options.command.as_deref(), Some("prog"));
        assert_eq!(options.args.as_deref(), Some(&["--acp".to_owned()][..]));
        assert_eq!(
            mistakes(json!({ "agents": { "gemini": { "cmd": ["a"], "args": ["b"] } } })),
            ["agents.gemini.cmd: stands for command and args: give either it or them"]
        );
        assert_eq!(
            mistakes(json!({ "agents": { "gemini": { "cmd": [] } } })),
            ["agents.gemini.cmd: expected a list with a program and its arguments, got a list"]
        );
        let options = &read(json!({ "agents": { "x": { "command": ["prog", "--acp"] } } })).agents["x"];
        assert_eq!(options.command.as_deref(), Some("prog"));
        assert_eq!(options.args.as_deref(), Some(&["--acp".to_owned()][..]));
        assert_eq!(
            mistakes(json!({ "agents": { "gemini": { "command": ["a"], "args": ["b"] } } })),
            ["agents.gemini.command: the list has the arguments, too: give either it or args"]
        );
        assert_eq!(
            mistakes(json!({ "agents": { "gemini": { "command": ["a", 1] } } })),
            ["agents.gemini.command[2]: expected a string, got 1"]
        );
    }

    #[test]
    fn whether_to_follow_is_a_boolean_or_a_table() {
        assert_eq!(
            mistakes(json!({ "follow": "yes" })),
            ["follow: expected true, false or a table, got \"yes\""]
        );
    }

    #[test]
    fn an_environment_may_be_a_table_or_pairs_as_in_acp() {
        for env in [json!({ "PORT": 8080 }), json!([{ "name": "PORT", "value": "8080" }])] {
            let config = read(json!({ "agents": { "claude": { "env": env } } }));
            assert_eq!(config.agents["claude"].env, [("PORT".to_owned(), "8080".to_owned())]);
        }
        assert_eq!(
            mistakes(json!({ "agents": { "claude": { "env": [{ "name": "A" }, "B=c"] } } })),
            ["agents.claude.env[1].value: missing", r#"agents.claude.env[2]: expected a table, got "B=c""#]
        );
    }

    #[test]
    fn an_agent_elsewhere_has_an_address_in_place_of_a_command() {
        let far = json!({ "url": "wss://h.example/acp?key=k", "headers": { "Authorization": "env:TOKEN" } });
        let config = read(json!({ "agents": { "far": far } }));
        let launch = launch(&config, "far", &[]).expect("found");
        let remote = launch.remote.expect("an agent elsewhere");
        assert_eq!((launch.command.as_str(), remote.address.port), ("wss://h.example/acp", 443));
        assert_eq!(remote.headers, [("Authorization".to_owned(), "env:TOKEN".to_owned())]);
    }

    #[test]
    fn what_is_wrong_with_an_address_is_said_without_its_secrets() {
        let far = |far: Value| mistakes(json!({ "agents": { "far": far } }));
        let both =
            "agents.far: has a url, so nothing is run: leave out command, args, env and cwd, or the url";
        assert_eq!(far(json!({ "url": "wss://h", "command": "x" })), [both]);
        assert_eq!(far(json!({ "url": "wss://h", "cmd": ["x"] })), [both]);
        let alone = far(json!({ "command": "x", "headers": { "A": "b" } }));
        assert_eq!(alone, ["agents.far: has headers, which are sent to a url: give one, or leave them out"]);
        let plain = far(json!({ "url": "ws://h.example" })).join(" ");
        assert!(plain.contains("agents.far.url: is not encrypted"), "{plain}");
        let header = far(json!({ "url": "wss://h", "headers": { "Host": "sekrit", "B": 1 } })).join(" ");
        assert!(header.contains("agents.far.headers.Host") && !header.contains("sekrit"), "{header}");
    }

    #[test]
    #[cfg_attr(windows, ignore = "its paths are those of Unix")]
    fn folders_of_another_machine_lead_to_one_each_of_this_one() {
        let paths = |paths: Value| json!({ "agents": { "box": { "command": "ssh", "paths": paths } } });
        let config = read(paths(json!({ "/srv/shop": "/home/me/shop" })));
        let launch = launch(&config, "box", &["ssh"]).expect("found");
        assert_eq!(launch.paths.to_here("/srv/shop/a").as_deref(), Some("/home/me/shop/a"));
        let spelled = read(paths(json!({ "/srv/shop": "/home//me/./shop/" })));
        assert_eq!(spelled.agents["box"].paths, [("/srv/shop".to_owned(), "/home/me/shop".to_owned())]);
        for (wrong, problem) in [
            (json!({ "srv": "/a" }), "has to begin with /"),
            (json!({ "/srv": "a" }), "is not absolute"),
            (json!({ "/a": "/x", "/b": "/x/" }), "leads to the same folder"),
        ] {
            let said = mistakes(paths(wrong)).join(" ");
            assert!(said.contains(problem), "{said}");
        }
    }

    #[test]
    fn an_agent_without_a_program_is_only_allowed_where_one_is_known() {
        read(json!({ "agents": { "claude": { "env": { "A": "b" } } } }));
        read(json!({ "agents": { "other": { "enabled": false } } }));
        assert_eq!(
            mistakes(json!({ "agents": { "cluade": { "env": { "A": "b" } }, "Mine": {} } })),
            [
                "agents.Mine.command: missing; say which program to start",
                "agents.cluade.command: which program to start is not said; did you mean agents.claude?"
            ]
        );
    }

    #[test]
    fn the_default_agent_must_be_one_that_can_be_started() {
        read(json!({ "default_agent": "claude" }));
        assert_eq!(
            mistakes(json!({ "default_agent": "claud" })),
            [r#"default_agent: no agent is called "claud", did you mean "claude"?"#]
        );
        assert_eq!(
            mistakes(json!({ "default_agent": "goose", "agents": { "goose": { "enabled": false } } })),
            [r#"default_agent: "goose" is switched off: remove `enabled = false` from agents.goose"#]
        );
    }

    #[test]
    fn home_is_expanded_where_a_path_is_meant() {
        let home = std::env::home_dir().expect("a home");
        let config = read(json!({
            "agents": { "x": { "command": "~/bin/x", "args": ["~/kept"], "cwd": "~" } },
            "additional_directories": ["~/lib", "~other/lib", "sub"],
            "log": "~/acp.log",
        }));
        let options = &config.agents["x"];
        assert_eq!(options.command.as_deref().map(Path::new), Some(home.join("bin/x").as_path()));
        assert_eq!(options.args.as_deref(), Some(&["~/kept".to_owned()][..]));
        assert_eq!(options.cwd.as_deref(), Some(home.as_path()));
        assert_eq!(config.log, Log::File(home.join("acp.log")));
        assert_eq!(
            config.additional_directories(Path::new("/code")),
            [home.join("lib"), PathBuf::from("/code/~other/lib"), PathBuf::from("/code/sub")]
        );
    }
}

mod sizes_and_keys {
    use super::*;

    #[test]
    fn a_size_is_cells_or_a_share() {
        let size = |value: Value| read(json!({ "window": { "width": value } })).window.width;
        assert_eq!(size(json!(60)), Some(Size::Cells(60)));
        assert_eq!(size(json!(60.0)), Some(Size::Cells(60)));
        assert_eq!(size(json!(0.4)), Some(Size::Percent(40)));
        assert_eq!(size(json!("40%")), Some(Size::Percent(40)));
        for wrong in [json!(0), json!(-3), json!("40"), json!("0%"), json!("101%"), json!("%")] {
            assert_eq!(mistakes(json!({ "window": { "width": wrong } })).len(), 1, "{wrong}");
        }
    }

    #[test]
    fn a_size_never_leaves_the_editor() {
        assert_eq!(Size::Percent(40).of(160), 64);
        assert_eq!(Size::Percent(1).of(20), 1);
        assert_eq!(Size::Percent(100).of(u16::MAX), u16::MAX);
        assert_eq!(Size::Cells(200).of(80), 80);
        assert_eq!(Size::Cells(3).of(0), 1);
    }

    #[test]
    fn keys_are_replaced_one_by_one_and_false_takes_one_away() {
        let keys = read(json!({ "keys": { "send": ["<CR>", "<C-CR>"], "hide": false } })).keys;
        assert_eq!(keys.get("send"), ["<CR>", "<C-CR>"]);
        assert!(keys.get("hide").is_empty());
        assert_eq!(keys.get("help"), ["g?"]);
        assert!(keys.get("no such key").is_empty());
    }

    #[test]
    fn a_buffer_gets_its_own_keys_only() {
        let keys = Keys::default();
        let prompt: Vec<_> = keys.of(Pane::Prompt).map(|(key, lhs)| (key.name, lhs)).collect();
        let expected = [
            ("send", "<CR>"),
            ("send_insert", "<C-s>"),
            ("steer", "<C-x><C-s>"),
            ("cancel", "<C-c>"),
            ("next_mode", "<S-Tab>"),
            ("take_suggestion", "<Tab>"),
            ("take_back", "<Up>"),
            ("queue", "<C-q>"),
            ("older_prompt", "<C-p>"),
            ("newer_prompt", "<C-n>"),
            ("help", "g?"),
        ];
        assert_eq!(prompt, expected);
        assert!(keys.of(Pane::Transcript).any(|(key, lhs)| (key.name, lhs) == ("go_to", "<CR>")));
    }

    #[test]
    fn no_two_default_keys_collide() {
        let keys = Keys::default();
        for pane in [Pane::Prompt, Pane::Transcript] {
            let mut seen = std::collections::HashSet::new();
            for (key, lhs) in keys.of(pane) {
                for mode in key.modes {
                    assert!(seen.insert((*mode, lhs)), "{lhs} twice in {mode} of {pane:?}");
                }
            }
        }
    }
}

mod servers {
    use super::*;

    #[test]
    fn servers_are_written_as_in_acp() {
        let config = read(json!({ "mcp_servers": [
            { "name": "files", "command": "mcp-files", "args": ["--ro"], "env": { "A": "b" } },
            { "type": "http", "name": "web", "url": "https://example.org/mcp",
              "headers": [{ "name": "Authorization", "value": "Bearer x" }] },
            { "type": "sse", "name": "old", "url": "https://example.org/sse" },
        ] }));
        let pair = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
        assert_eq!(
            config.mcp_servers("claude", Path::new("/code"), installed(&["mcp-files"])),
            [
                McpServer::Stdio {
                    name: "files".into(),
                    command: "/bin/mcp-files".into(),
                    args: vec!["--ro".into()],
                    env: pair("A", "b"),
                },
                McpServer::Http {
                    name: "web".into(),
                    url: "https://example.org/mcp".into(),
                    headers: pair("Authorization", "Bearer x"),
                },
                McpServer::Sse { name: "old".into(), url: "https://example.org/sse".into(), headers: vec![] },
            ]
        );
    }

    #[test]
    fn an_agent_s_own_servers_stand_in_place_of_the_common_ones() {
        let config = read(json!({
            "mcp_servers": [{ "name": "common", "command": "/c" }],
            "agents": { "claude": { "mcp_servers": [] }, "codex": {} },
        }));
        let count = |agent| config.mcp_servers(agent, Path::new("/code"), installed(&[])).len();
        assert_eq!((count("claude"), count("codex"), count("gemini")), (0, 1, 1));
    }

    #[test]
    fn half_a_server_is_a_mistake() {
        let both = "a server needs either a command (stdio) or a url (http, sse)";
        assert_eq!(
            mistakes(json!({ "mcp_servers": [
                { "command": "x" },
                { "name": "a" },
                { "name": "b", "type": "http", "command": "x" },
                { "name": "c", "type": "pipe", "command": "x" },
                { "name": "d", "command": "x", "cwd": "/" },
            ] })),
            [
                "mcp_servers[1].name: missing".to_owned(),
                format!("mcp_servers[2]: {both}"),
                format!("mcp_servers[3]: {both}"),
                r#"mcp_servers[4].type: expected one of "stdio", "http", "sse", got "pipe""#.to_owned(),
                "mcp_servers[5].cwd: unknown key, see :help acp-config".to_owned(),
            ]
        );
    }

    #[test]
    #[cfg_attr(windows, ignore = "its paths are those of Unix")]
    fn a_system_prompt_is_the_agents_with_the_file_of_the_innermost_project() {
        let config = read(json!({
            "agents": {
                "claude": { "system_prompt": "Be brief.", "system_prompt_mode": "override" },
                "codex": { "system_prompt": " " },
            },
            "projects": {
                "/code": { "system_prompt": "/rules.md" },
                "/code/shop": { "system_prompt": "docs/agents.md" },
                "/code/shop/api": {},
            },
        }));
        let prompt = |agent: &str, cwd: &str| {
            let prompt = config.system_prompt(agent, Path::new(cwd))?;
            let file = prompt.file.map(|file| file.display().to_string());
            Some((prompt.text, file.unwrap_or_default(), prompt.replaces))
        };
        let of = |text: &str, file: &str, replaces| Some((text.to_owned(), file.to_owned(), replaces));
        assert_eq!(prompt("claude", "/home"), of("Be brief.", "", true));
        assert_eq!(prompt("claude", "/code/shop/api"), of("Be brief.", "/code/shop/docs/agents.md", true));
        assert_eq!(prompt("codex", "/code/other"), of(" ", "/rules.md", false));
        assert_eq!((prompt("codex", "/home"), prompt("gemini", "/home")), (None, None));
    }

    #[test]
    fn a_project_adds_its_servers_and_folders_for_sessions_in_it_and_below() {
        let config = read(json!({
            "mcp_servers": [{ "name": "common", "command": "/c" }],
            "additional_directories": ["/lib", "/code/shop"],
            "projects": { "/code/shop": {
                "mcp_servers": [{ "name": "shop", "command": "/s" }],
                "additional_directories": ["/lib", "../shared"],
            } },
        }));
        let servers = |cwd: &str| config.mcp_servers("claude", Path::new(cwd), installed(&[])).len();
        assert_eq!((servers("/code/shop/api"), servers("/code/shop"), servers("/code/shopping")), (2, 2, 1));
        let folders = config.additional_directories(Path::new("/code/shop"));
        assert_eq!(folders, ["/lib", "/code/shop/../shared"].map(PathBuf::from));
        let [mistake] = &mistakes(json!({ "projects": { "/code": { "mcp_server": [] } } }))[..] else {
            panic!("one mistake");
        };
        assert!(
            mistake.contains("projects./code.mcp_server") && mistake.contains("mcp_servers"),
            "{mistake}"
        );
    }
}

mod starting {
    use super::*;

    #[test]
    #[cfg_attr(windows, ignore = "its paths are those of Unix")]
    fn a_known_agent_is_started_by_its_own_program() {
        let config = Config::default();
        let launch = launch(&config, "gemini", &["gemini", "npx"]).expect("found");
        assert_eq!(
            launch,
            Launch {
                name: "gemini".into(),
                title: None,
                command: "/bin/gemini".into(),
                args: vec!["--acp".into()],
                env: vec![],
                cwd: "/code".into(),
                ..Launch::default()
            }
        );
    }

    #[test]
    #[cfg_attr(windows, ignore = "its paths are those of Unix")]
    fn npx_stands_in_for_a_program_that_is_not_installed() {
        let config = read(json!({ "agents": { "codex": { "args": ["-c", "model=x"] } } }));
        let line = |programs| command_line(&launch(&config, "codex", programs).expect("found"));
        assert_eq!(line(&["codex-acp", "npx"]), "/bin/codex-acp -c model=x");
        assert_eq!(line(&["npx"]), "/bin/npx -y @agentclientprotocol/codex-acp -c model=x");
    }

    /// What is given for Gemini CLI, what runs then, and what the user is told to add.
    #[test]
    #[cfg_attr(windows, ignore = "its paths are those of Unix")]
    fn a_command_for_a_known_agent_replaces_its_arguments_in_every_shape() {
        let needs = "agents.gemini.command replaces the arguments, too: to speak ACP, Gemini needs \
                     agents.gemini.args = { \"--acp\" }";
        let table = [
            (json!({}), "/bin/gemini --acp", None),
            (json!({ "args": ["--x"] }), "/bin/gemini --x", None),
            (json!({ "command": "my-wrapper" }), "/bin/my-wrapper", None),
            (json!({ "command": "/opt/gemini" }), "/opt/gemini", Some(needs)),
            (json!({ "command": "gemini" }), "/bin/gemini", Some(needs)),
            (json!({ "command": "/opt/gemini", "args": [] }), "/opt/gemini", None),
            (json!({ "command": "/opt/gemini", "args": ["--acp"] }), "/opt/gemini --acp", None),
            (json!({ "command": ["/opt/gemini"] }), "/opt/gemini", None),
            (json!({ "command": ["/opt/gemini", "--acp", "-d"] }), "/opt/gemini --acp -d", None),
            (json!({ "cmd": ["/opt/gemini", "--acp"] }), "/opt/gemini --acp", None),
        ];
        for (given, runs, note) in table {
            let config = read(json!({ "agents": { "gemini": given } }));
            let there = &["gemini", "my-wrapper", "/opt/gemini"];
            assert_eq!(command_line(&launch(&config, "gemini", there).expect("found")), runs, "{given}");
            let catalog = Catalog::default();
            let agent = config.agent("gemini", &catalog).expect("known");
            assert_eq!(agent.command_note().as_deref(), note, "{given}");
        }
    }

    #[test]
    #[cfg_attr(windows, ignore = "its paths are those of Unix")]
    fn an_entry_of_a_known_name_changes_only_what_it_gives() {
        let config = read(json!({ "agents": {
            "claude": { "env": { "ANTHROPIC_MODEL": "opus" } },
            "gemini": { "command": "/opt/gemini", "cwd": "sub" },
        } }));
        let claude = launch(&config, "claude", &["claude-agent-acp"]).expect("found");
        assert_eq!(claude.command, "/bin/claude-agent-acp");
        assert_eq!(claude.env, [("ANTHROPIC_MODEL".to_owned(), "opus".to_owned())]);
        let catalog = Catalog::default();
        assert_eq!(config.agent("claude", &catalog).expect("known").title(), "Claude");
        let gemini = launch(&config, "gemini", &["/opt/gemini"]).expect("found");
        assert_eq!(command_line(&gemini), "/opt/gemini");
        assert_eq!(gemini.cwd, Path::new("/code/sub"));
    }

    #[test]
    fn the_demo_agent_comes_with_the_plugin() {
        let launch = launch(&Config::default(), "demo", &[]).expect("bundled");
        assert_eq!(launch.command, "/plugin/acp-demo-agent");
    }

    #[test]
    fn a_program_is_not_refused_where_the_agent_has_a_path_of_its_own() {
        let config =
            read(json!({ "agents": { "x": { "command": "only-there", "env": { "PATH": "/there" } } } }));
        assert_eq!(launch(&config, "x", &[]).expect("left to the start").command, "only-there");
    }

    #[test]
    fn what_cannot_be_started_says_what_to_do() {
        let config = read(json!({ "agents": {
            "mine": { "command": "mine" },
            "spaced": { "command": "gemini --acp" },
            "goose": { "enabled": false },
        } }));
        let error = |name| launch(&config, name, &[]).expect_err("cannot");
        insta::assert_snapshot!(
            ["gemini", "claude", "mine", "spaced", "goose", "gemni", "zzz"].map(error).join("\n"),
            @r#"
        no such program "gemini": install it with `npm install -g @google/gemini-cli`, or install Node.js, whose npx runs it
        no such program "claude-agent-acp": install it with `npm install -g @agentclientprotocol/claude-agent-acp`, or install Node.js, whose npx runs it
        no such program "mine": install it, or correct agents.mine.command
        no such program "gemini --acp": put its arguments into agents.spaced.args
        "goose" is switched off: remove `enabled = false` from agents.goose
        no agent is called "gemni", did you mean "gemini"?
        no agent is called "zzz", see :help acp-agents
        "#
        );
        let unbuilt = on_machine(&[], &Catalog::default(), None, |machine| {
            Config::default().standing("demo", Path::new("/code"), machine)
        });
        let Ok(Standing::Missing(_, error)) = unbuilt else { panic!("not built") };
        assert_eq!(error.to_string(), r#"no such program "acp-demo-agent": run `:Acp build!`"#);
    }
}

/// Agents that the registry knows how to run.
mod registered {
    use super::*;
    use crate::config::agents::{Lack, Source};
    use crate::core::store::registry::{Plan, Stored, parse};

    const INDEX: &str = r#"{ "agents": [
        { "id": "snake", "distribution": { "uvx": { "package": "snake==1", "args": ["acp"] } } },
        { "id": "both", "version": "1.0.0", "distribution": {
            "npx": { "package": "both@1", "env": { "A": "1", "B": "2" } },
            "binary": { "linux-x86_64": { "archive": "https://e.org/both.zip", "cmd": "bin/both", "args": ["acp"] } } } },
        { "id": "apple", "distribution": { "binary": {
            "darwin-aarch64": { "archive": "https://e.org/apple.zip", "cmd": "apple" } } } },
        { "id": "qwen-code", "name": "Qwen", "distribution": { "npx": { "package": "qwen@2", "args": ["--acp"] } } }
    ] }"#;

    fn catalog(approved: &[(&str, Plan)], downloaded: &[&str]) -> Catalog {
        Catalog::new(Stored {
            index: Some(parse(INDEX).expect("an index")),
            fetched: u64::MAX,
            approved: approved.iter().map(|(name, plan)| ((*name).to_owned(), plan.clone())).collect(),
            downloaded: downloaded.iter().map(|&folder| folder.to_owned()).collect(),
            problems: vec![],
        })
    }

    fn unapproved(name: &str, programs: &'static [&'static str]) -> Plan {
        match standing(&Config::default(), name, programs, &catalog(&[], &[])) {
            Ok(Standing::Unapproved { plan, changed: false }) => plan,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_runs_it_decides_how_it_is_run() {
        assert_eq!(unapproved("snake", &["uvx"]).line(), "uvx snake==1 acp");
        assert_eq!(unapproved("both", &["npx", "uvx"]).line(), "A=1 B=2 npx -y both@1");
        let download = unapproved("both", &[]);
        assert_eq!(download.line(), "bin/both acp");
        assert!(download.download.is_some());
    }

    #[test]
    fn what_is_missing_is_named() {
        let missing = |name, programs| match standing(&Config::default(), name, programs, &catalog(&[], &[]))
        {
            Ok(Standing::Missing(lack, error)) => (lack, error.to_string()),
            other => panic!("{other:?}"),
        };
        assert_eq!(missing("snake", &[]), (Lack::Uv, r#"no such program "uvx": install uv"#.to_owned()));
        assert_eq!(
            missing("apple", &["npx"]),
            (
                Lack::System,
                "apple isn't published for this system (linux-x86_64): see its website in :Acp agents"
                    .to_owned()
            )
        );
        let (lack, text) = missing("qwen", &[]);
        assert_eq!(lack, Lack::Node);
        assert!(text.ends_with("or install Node.js, whose npx runs it"), "{text}");
    }

    #[test]
    #[cfg_attr(windows, ignore = "its paths are those of Unix")]
    fn what_was_approved_is_started_with_what_the_user_adds() {
        let plan = unapproved("both", &["npx"]);
        let catalog = catalog(&[("both", plan)], &[]);
        let config =
            read(json!({ "agents": { "both": { "env": { "B": "3" }, "args": ["--mine"], "cwd": "sub" } } }));
        let Ok(Standing::Ready(launch, Source::Approved)) = standing(&config, "both", &["npx"], &catalog)
        else {
            panic!("approved");
        };
        assert_eq!(command_line(&launch), "/bin/npx -y both@1 --mine");
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(launch.env, [pair("A", "1"), pair("B", "2"), pair("B", "3")], "the last one counts");
        assert_eq!(launch.cwd, Path::new("/code/sub"));
    }

    #[test]
    #[cfg_attr(windows, ignore = "its paths are those of Unix")]
    fn a_download_is_started_from_its_folder_once_it_is_there() {
        let plan = unapproved("both", &[]);
        let folder = plan.download.clone().expect("a download").folder;
        let without = standing(&Config::default(), "both", &[], &catalog(&[("both", plan.clone())], &[]));
        assert_eq!(without, Ok(Standing::Undownloaded(plan.clone())));
        let with = standing(&Config::default(), "both", &[], &catalog(&[("both", plan.clone())], &[&folder]));
        let Ok(Standing::Ready(launch, Source::Approved)) = with else { panic!("{with:?}") };
        assert_eq!(command_line(&launch), format!("/data/{folder}/bin/both acp"));
        // Node.js came later: what was approved still counts.
        let later = standing(&Config::default(), "both", &["npx"], &catalog(&[("both", plan)], &[&folder]));
        assert!(matches!(later, Ok(Standing::Ready(_, Source::Approved))), "{later:?}");
    }

    #[test]
    fn another_command_is_asked_about_again() {
        let plan = unapproved("snake", &["uvx"]);
        let differ: [fn(&mut Plan); 3] = [
            |plan| plan.command[1] = "snake==2".into(),
            |plan| plan.args.push("--more".into()),
            |plan| drop(plan.env.insert("A".into(), "1".into())),
        ];
        for change in differ {
            let mut before = plan.clone();
            change(&mut before);
            let now = standing(&Config::default(), "snake", &["uvx"], &catalog(&[("snake", before)], &[]));
            assert_eq!(now, Ok(Standing::Unapproved { plan: plan.clone(), changed: true }));
        }
    }

    #[test]
    fn another_file_or_checksum_is_asked_about_again() {
        let plan = unapproved("both", &[]);
        for url in [true, false] {
            let mut before = plan.clone();
            let download = before.download.as_mut().expect("a download");
            if url {
                download.url.push('x')
            } else {
                download.sha256 = Some("ab".repeat(32))
            }
            let now = standing(&Config::default(), "both", &[], &catalog(&[("both", before)], &[]));
            assert!(matches!(now, Ok(Standing::Unapproved { changed: true, .. })), "{now:?}");
        }
    }

    #[test]
    fn an_installed_program_needs_no_approval() {
        let ready = standing(&Config::default(), "qwen", &["qwen", "npx"], &catalog(&[], &[]));
        assert!(matches!(ready, Ok(Standing::Ready(_, Source::Installed))), "{ready:?}");
        let own = read(json!({ "agents": { "snake": { "command": "snake" } } }));
        let ready = standing(&own, "snake", &["snake", "uvx"], &catalog(&[], &[]));
        assert!(matches!(ready, Ok(Standing::Ready(_, Source::Configured))), "{ready:?}");
        let lost = standing(&own, "snake", &["uvx"], &catalog(&[], &[]));
        assert!(
            matches!(lost, Ok(Standing::Missing(Lack::Program, _))),
            "the user's command counts: {lost:?}"
        );
    }

    #[test]
    fn a_registered_id_is_as_good_as_the_agents_name() {
        let (config, catalog) = (Config::default(), catalog(&[], &[]));
        let name = |name: &'static str| {
            config.agent(name, &catalog).map(|agent| (agent.name.to_owned(), agent.title().to_owned()))
        };
        assert_eq!(name("qwen-code"), Some(("qwen".to_owned(), "Qwen Code".to_owned())));
        assert_eq!(name("snake"), Some(("snake".to_owned(), "snake".to_owned())));
        assert_eq!(name("nobody"), None);
        let both = config.names(&catalog).iter().filter(|name| name.starts_with("qwen")).count();
        assert_eq!(both, 1, "not listed twice");
    }

    #[test]
    fn one_that_is_switched_off_stays_off() {
        let config = read(json!({ "agents": { "snake": { "enabled": false } } }));
        let all = on_machine(&["uvx"], &catalog(&[], &[]), None, |machine| config.all(machine));
        assert!(all.iter().all(|choice| choice.name != "snake"));
        let refused = standing(&config, "snake", &["uvx"], &catalog(&[], &[]));
        assert!(refused.expect_err("off").contains("switched off"));
    }

    #[test]
    fn a_default_agent_may_be_one_that_only_the_registry_knows() {
        let config =
            read(json!({ "default_agent": "snake", "agents": { "snake": { "env": { "A": "1" } } } }));
        assert_eq!(config.default_agent.as_deref(), Some("snake"));
        assert!(matches!(
            standing(&config, "snake", &["uvx"], &catalog(&[], &[])),
            Ok(Standing::Unapproved { .. })
        ));
    }
}

mod choosing {
    use super::*;

    fn offered(config: &Config, programs: &'static [&'static str]) -> String {
        let demo = Path::new("/plugin/acp-demo-agent");
        let choices =
            on_machine(programs, &Catalog::default(), Some(demo), |machine| config.available(machine));
        let line = |choice: &Choice| {
            let mark = if choice.found { '+' } else { '-' };
            format!("{mark} {} | {} | {}", choice.name, choice.title, choice.detail)
        };
        choices.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn what_is_installed_is_offered_and_the_demo_is_last() {
        insta::assert_snapshot!(offered(&Config::default(), &["opencode", "claude-agent-acp"]), @r#"
        + claude | Claude | claude-agent-acp
        + opencode | OpenCode | opencode acp
        + demo | Demo | a tour of the plugin without an account
        "#);
    }

    #[test]
    fn npx_offers_what_it_would_download() {
        insta::assert_snapshot!(offered(&Config::default(), &["npx"]), @r#"
        + claude | Claude | npx -y @agentclientprotocol/claude-agent-acp (the first start downloads it)
        + codex | Codex | npx -y @agentclientprotocol/codex-acp (the first start downloads it)
        + demo | Demo | a tour of the plugin without an account
        "#);
    }

    #[test]
    fn configured_agents_come_first_whether_they_are_found_or_not() {
        let config = read(json!({ "agents": {
            "work": { "command": "work-agent", "title": "At work" },
            "gemini": { "args": ["--acp", "--model", "flash"] },
            "claude": { "enabled": false },
        } }));
        insta::assert_snapshot!(offered(&config, &["gemini", "npx", "claude-agent-acp"]), @r#"
        + gemini | Gemini | gemini --acp --model flash
        - work | At work | no such program "work-agent": install it, or correct agents.work.command
        + codex | Codex | npx -y @agentclientprotocol/codex-acp (the first start downloads it)
        + demo | Demo | a tour of the plugin without an account
        "#);
    }

    #[test]
    fn on_a_bare_machine_only_the_demo_is_left() {
        let available = |config: &Config, demo: Option<&Path>| {
            on_machine(&[], &Catalog::default(), demo, |machine| config.available(machine))
        };
        let demo = Path::new("/d");
        assert!(available(&Config::default(), None).is_empty());
        let choices = available(&Config::default(), Some(demo));
        assert_eq!(choices.iter().map(|choice| choice.name.as_str()).collect::<Vec<_>>(), ["demo"]);
        let off = read(json!({ "agents": { "demo": { "enabled": false } } }));
        assert!(available(&off, Some(demo)).is_empty());
    }

    #[test]
    fn what_is_missing_can_be_listed_with_how_to_install_it() {
        let config = read(json!({ "agents": { "mine": { "command": "m" }, "goose": { "enabled": false } } }));
        let all = on_machine(&["qwen"], &Catalog::default(), None, |machine| config.all(machine));
        let names: Vec<_> = all.iter().map(|choice| (choice.name.as_str(), choice.found)).collect();
        assert_eq!(names.first(), Some(&("mine", false)));
        assert_eq!(names.last(), Some(&("demo", false)));
        let unnamed = Catalog::default().unnamed().count();
        assert_eq!(names.len(), presets().len() + unnamed, "mine is there, goose is not");
        let codex = all.iter().find(|choice| choice.name == "codex").expect("known");
        assert_eq!(codex.install, Some("npm install -g @agentclientprotocol/codex-acp"));
        assert!(!codex.configured && codex.state == agents::State::Missing);
    }

    #[test]
    fn names_are_those_that_launch_takes() {
        let config = read(json!({ "agents": { "mine": { "command": "m" }, "goose": { "enabled": false } } }));
        let catalog = Catalog::default();
        let names = config.names(&catalog);
        assert_eq!(names[0], "mine");
        assert!(names.contains(&"claude") && !names.contains(&"goose"));
    }
}

mod sandboxes {
    use serde_json::json;

    use super::*;
    use crate::core::message::Network;

    fn sandbox(value: Value) -> Result<Option<SandboxOptions>, String> {
        let config = Config::from_value(&json!({ "agents": { "x": { "command": "c", "sandbox": value } } }));
        config
            .map(|config| config.agents["x"].sandbox.clone())
            .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
    }

    #[test]
    #[cfg_attr(windows, ignore = "its paths are those of Unix")]
    fn what_can_be_held_is_named_and_nothing_else() {
        assert_eq!(sandbox(json!(false)), Ok(None));
        assert_eq!(sandbox(json!("project")), Ok(Some(SandboxOptions::default())));
        assert_eq!(sandbox(json!([])), Ok(Some(SandboxOptions::default())), "an empty table of Lua's");
        let network =
            |value| sandbox(json!({ "network": value })).map(|options| options.map(|it| it.network));
        assert_eq!(network(json!(false)), Ok(Some(Network::Ports(Vec::new()))));
        assert_eq!(network(json!([443, 53])), Ok(Some(Network::Ports(vec![443, 53]))));
        let host = network(json!(["api.anthropic.com"])).unwrap_err();
        assert!(host.contains("the kernel knows ports and no names"), "{host}");
        assert!(network(json!([0])).is_err() && network(json!([70000])).is_err());
        assert!(sandbox(json!("strict")).is_err());
        assert!(sandbox(json!({ "write": ["cache"] })).unwrap_err().contains("is not absolute"));
        assert!(sandbox(json!({ "deny": ["/x"] })).is_err());
    }

    #[test]
    fn what_known_agents_keep_is_in_the_home() {
        for preset in presets() {
            assert!(preset.state.iter().all(|path| path.starts_with("~/")), "{}", preset.name);
        }
    }
}
