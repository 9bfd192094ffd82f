//! What the plugin costs before it is used, and when it is used first. Neovim says itself how long it
//! took to start.

use std::path::Path;
use std::process::{Command, Stdio};

use super::scenarios::{Samples, Values};
use super::stage::{self, LIMIT, Subject, argv};
use crate::support;
use crate::support::project::TempProject;

const SETUP: &str = "lua require('acp').setup({ agents = { bench = { command = 'bench' } } })";

pub fn startup(subject: Subject, starts: usize) -> Values {
    let (mut plain, mut with_setup) = (Samples::default(), Samples::default());
    for _ in 0..starts {
        plain.0.push(start(subject, None));
        with_setup.0.push(start(subject, Some(SETUP)));
    }
    let (open, ready) = first_use(subject);
    vec![
        ("start ms", plain.at(50)),
        ("start with setup ms", with_setup.at(50)),
        ("first chat open ms", open),
        ("agent ready ms", ready),
    ]
}

/// How long Neovim takes to start, with or without the plugin on its path.
fn start(subject: Subject, command: Option<&str>) -> f64 {
    let home = TempProject::new(&[]);
    let times = home.file("times");
    let ours = subject == Subject::Ours;
    let mut nvim = Command::new(support::neovim());
    nvim.args(["--clean", "--headless", "-n", "--startuptime"]).arg(&times);
    if ours {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        nvim.env("ACP_TEST_ROOT", root);
        nvim.args(["--cmd", r"let &runtimepath = escape($ACP_TEST_ROOT, '\,') . ',' . &runtimepath"]);
    }
    if let Some(command) = command.filter(|_| ours) {
        // As in a user's own configuration, which is read before the plugins.
        nvim.args(["--cmd", command]);
    }
    nvim.args(["+qall!"]).env("HOME", home.path()).stdin(Stdio::null()).stdout(Stdio::null());
    nvim.env_remove("NVIM").env("NVIM_LOG_FILE", home.file("log")).stderr(Stdio::null());
    for (name, folder) in
        [("XDG_STATE_HOME", "state"), ("XDG_DATA_HOME", "data"), ("XDG_CONFIG_HOME", "config")]
    {
        nvim.env(name, home.file(folder));
    }
    let status = nvim.status().expect("a Neovim");
    assert!(status.success(), "neovim ended with {status}");
    let text = home.read("times");
    let started = text.lines().rfind(|line| line.contains("NVIM STARTED")).expect("a line of that name");
    started.split_whitespace().next().and_then(|time| time.parse().ok()).expect("a number of milliseconds")
}

/// How long it takes until the chat is open, and until the agent is ready.
fn first_use(subject: Subject) -> (f64, f64) {
    let mut nvim = stage::neovim();
    let (code, way) = subject.module();
    let code_args = [code.into(), argv(&[]), way.into()];
    let open = nvim.exec_lua(
        "local code, argv, way = ...
         local clock = vim.uv.hrtime
         bench = load(code)()
         begun = clock()
         local timer = vim.uv.new_timer()
         bench.open(argv, way)
         vim.cmd.redraw()
         local open = (clock() - begun) / 1e6
         timer:start(1, 1, vim.schedule_wrap(function()
           if not ready and bench.idle() then
             ready = (clock() - begun) / 1e6
             timer:close()
             vim.rpcnotify(0, 'measured', ready)
           end
         end))
         return open",
        code_args,
    );
    let mut ready = None;
    let take = |nvim: &mut support::Nvim| {
        ready = nvim.take_notification("measured");
        ready.is_some()
    };
    nvim.wait_within(LIMIT, take, "the agent to be ready");
    let number = |value: &rmpv::Value| value.as_f64().expect("a number");
    (number(&open), number(&ready.expect("waited for above")[0]))
}
