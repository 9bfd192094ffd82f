//! `acp-demo-agent`: an agent without a model that speaks ACP version 1 over stdio. It plays a guided
//! tour, a script of steps, a recorded session of a real agent or a flood of text. The same program is the
//! keeper of other agents and of commands on Linux, since it is the one that comes with the library; this file only
//! reads the command line and hands over to the one that was asked for.

mod agent;
mod args;
mod between;
#[path = "../../core/text/civil_date.rs"]
#[cfg_attr(not(test), expect(dead_code, reason = "it only writes dates"))]
mod civil_date;
mod command;
mod dialect;
mod disk;
mod faults;
mod files;
mod flood;
#[cfg(target_os = "linux")]
mod keeper;
mod larger;
mod lines;
mod mapping;
mod protocol2;
#[path = "../../core/replay/lines.rs"]
mod recorded;
mod recording;
mod replay;
mod scenes;
mod script;
mod settings;
mod steps;
mod stored;
mod timed;
mod tour;
mod turn;
mod wire;
mod workbench;

use std::io::Write;
use std::process::ExitCode;

use args::Task;

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    if let [_, task, descriptor] = &std::env::args_os().collect::<Vec<_>>()[..]
        && let Some(code) = keeper::run(task, descriptor)
    {
        return code;
    }
    let mut args = std::env::args_os().skip(1).peekable();
    if args.next_if(|arg| arg == "--dialect").is_some() {
        return match args.next() {
            Some(name) if name == "draft" => between::serve(args, dialect::translator()),
            _ => {
                print_error("--dialect wants `draft`");
                ExitCode::from(64)
            }
        };
    }
    if args.next_if(|arg| arg == "--protocol").is_some() {
        return match args.next() {
            Some(version) if version == "2" => between::serve(args, protocol2::translator()),
            _ => {
                print_error("--protocol wants `2`");
                ExitCode::from(64)
            }
        };
    }
    let task = match args::read(args) {
        Ok(task) => task,
        Err(error) => {
            print_error(&format!("{error}\n\n{}", args::USAGE));
            return ExitCode::from(64);
        }
    };
    match task {
        Task::Help => {
            // Nobody reads the help of a closed pipe.
            let _ = std::io::stdout().write_all(args::USAGE.as_bytes());
            ExitCode::SUCCESS
        }
        Task::Serve { always } => agent::serve(always),
        Task::Script { script, record } => script::run(&script, record.as_deref()),
        Task::Replay(options) => replay::run(&options),
        Task::Faults(options) => faults::run(&options),
        Task::Prompts(options) => replay::print_prompts(&options),
    }
}

/// A line for the person who started the agent. stderr that nobody reads any more is no reason to stop.
fn print_error(text: &str) {
    let _ = writeln!(std::io::stderr(), "acp-demo-agent: {text}");
}
