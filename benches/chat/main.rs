//! What the chat costs: `cargo bench --bench chat -- [scenario...] [--runs N] [--quick] [--json FILE]
//! [--printed BYTES]`, the last for `terminal`.
//! Every run is a fresh Neovim with a screen attached, and beside the plugin the plain Lua of `floor.lua`
//! does the least that is possible, so that figures of different machines can be compared.

#[path = "mod.rs"]
mod chat;
#[expect(dead_code, reason = "the tests use other parts of it")]
#[path = "../../tests/support/mod.rs"]
mod support;

use std::io::{self, Write as _};
use std::process::ExitCode;

use serde_json::json;

use chat::report::{Report, machine};
use chat::scenarios::{Scenario, Size};
use chat::stage::{Subject, neovim};

struct Wanted {
    scenarios: Vec<Scenario>,
    subjects: Option<Vec<Subject>>,
    size: Size,
    json: Option<String>,
}

fn main() -> ExitCode {
    let wanted = match read(std::env::args().skip(1)) {
        Ok(wanted) => wanted,
        Err(error) => {
            say(&format!("couldn't run the benchmarks: {error}"));
            return ExitCode::from(64);
        }
    };
    let about = about();
    say(&format!("{about}\n"));
    let mut report = Report::new();
    for scenario in wanted.scenarios {
        for run in 1..=wanted.size.runs {
            // One after the other, so that a busy moment of the machine's meets them all.
            for subject in scenario.subjects() {
                if wanted.subjects.as_ref().is_some_and(|subjects| !subjects.contains(subject)) {
                    continue;
                }
                let values = scenario.run(*subject, &wanted.size);
                let text: Vec<_> = values.iter().map(|(name, value)| format!("{name} {value:.2}")).collect();
                let names = format!("{}, {}", scenario.name(), subject.name());
                say(&format!("{names}, run {run}: {}", text.join(", ")));
                report.add(scenario, *subject, values);
            }
        }
    }
    say(&format!("\n{}\n{about}, {}", report.table(), report.load()));
    if let Some(file) = wanted.json
        && let Err(error) = std::fs::write(&file, report.json(&json!(about)))
    {
        say(&format!("couldn't write {file}: {error}"));
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn read(args: impl Iterator<Item = String>) -> Result<Wanted, String> {
    let mut wanted = Wanted { scenarios: Vec::new(), subjects: None, size: Size::FULL, json: None };
    let (mut runs, mut printed) = (None, None);
    let mut args = args;
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} wants a value"));
        match arg.as_str() {
            // Cargo says so to every benchmark.
            "--bench" => {}
            "--quick" => wanted.size = Size::QUICK,
            "--json" => wanted.json = Some(value()?),
            "--runs" => {
                let text = value()?;
                runs = Some(text.parse().map_err(|_| format!("--runs wants a number, not {text}"))?);
            }
            "--printed" => {
                let text = value()?;
                let number = text.parse().map_err(|_| format!("--printed wants bytes, not {text}"))?;
                printed = Some(number);
            }
            "--only" => {
                let name = value()?;
                let subject = Subject::named(&name).ok_or_else(|| format!("no subject is called {name}"))?;
                wanted.subjects.get_or_insert_default().push(subject);
            }
            name => match Scenario::named(name) {
                Some(scenario) => wanted.scenarios.push(scenario),
                None => return Err(format!("no scenario is called {name}")),
            },
        }
    }
    if wanted.scenarios.is_empty() {
        wanted.scenarios = Scenario::ALL.to_vec();
    }
    wanted.size.runs = runs.unwrap_or(wanted.size.runs);
    wanted.size.printed = printed.unwrap_or(wanted.size.printed);
    Ok(wanted)
}

/// What was measured where.
fn about() -> String {
    let mut nvim = neovim();
    let code = "local version = vim.version()
                local library = require('acp.native').load()
                return ('Neovim %d.%d.%d, %s build of the plugin'):format(
                  version.major, version.minor, version.patch, library.profile)";
    let versions = nvim.exec_lua(code, []);
    format!("{}, {}", versions.as_str().expect("a text"), machine())
}

fn say(text: &str) {
    // Nobody reads a closed pipe.
    let _ = writeln!(io::stdout(), "{text}");
}
