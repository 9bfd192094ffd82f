//! The command line: which of the agent's tasks is wanted, and its usage text. Does nothing itself.

use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use crate::faults::{self, Start};
use crate::flood::{self, Amount, Flood};
use crate::recording::Selection;
use crate::replay;
use crate::scenes::Scene;
use crate::timed::{Timed, What};

pub const USAGE: &str = "\
acp-demo-agent: an agent without a model that speaks the Agent Client Protocol (version 1) on stdio

usage:
  acp-demo-agent                                 the demo agent: /tour, /plan, /edit, /run, ...; it stores its
                                                 sessions, which it lists, resumes and loads
  acp-demo-agent --script FILE [--record FILE]   play the steps of a JSON file
  acp-demo-agent --replay FILE [options]         play the agent's side of a recorded session
  acp-demo-agent --prompts FILE [options]        print what the user typed in a recorded session
  acp-demo-agent --faults LEDGER [--start HOW]   do what a prompt of `fault NAME NUMBER` says, and list the
                                                 requests and their answers in LEDGER; HOW is sound, crash,
                                                 refuse, noise or mute
  acp-demo-agent --flood N [--size BYTES]        answer each prompt with N chunks of text, fast
  acp-demo-agent --paced RATE SECONDS [--size BYTES]
                                                 the same with RATE chunks a second
  acp-demo-agent --time OUT --reads N FILE       answer each prompt with N reads of FILE by the client,
                                                 and leave in OUT how long each took
  acp-demo-agent --time OUT --writes N FILE [--changed LINES]
                                                 the same with writes, of which each changes some lines
  acp-demo-agent --time OUT --polls COMMAND      the same with looks at what a command prints
  acp-demo-agent --dialect draft [...]           any of these, spoken in the draft dialect of the protocol
  acp-demo-agent --protocol 2 [...]              any of these, spoken in version 2 of the protocol if that is asked for

options of --flood and --paced:
  --stamps              write t and eight digits into the text now and then: the time of writing in units
                        of ten microseconds, its last digits; the first before all other text
  --fill BYTES          answer the first prompt with this much text at once, later ones with the flood

options of --replay:
  --map RECORDED=REAL   a folder of the recording is this one here (several times; the session's
                        working folder is mapped without it)
  --speed X             X times as fast as recorded; 0, the default, waits nowhere
  --part N              the Nth agent process of the recording, from 1
  --session N           the Nth session of that process alone, from 1
  --without METHOD      without what the client asked by this method (several times)
  --no-disk             leave the files alone that the recorded agent changed by itself
  --slow-disk MS        change them slowly, while it goes on: empty, after a pause half, after another all
  --record FILE         write what comes in on stdin to a file

environment:
  ACP_DEMO_SESSIONS  the folder for sessions, else acp-demo-agent below $XDG_STATE_HOME
  ACP_DEMO_SPEED     1 is the tour's own pace, 2 is twice as fast, 0 waits nowhere
";

/// What the process is asked to do.
#[derive(Debug, PartialEq)]
pub enum Task {
    Help,
    /// With a scene, that is what every prompt gets.
    Serve {
        always: Option<Scene>,
    },
    Script {
        script: PathBuf,
        record: Option<PathBuf>,
    },
    Replay(replay::Options),
    Prompts(replay::Options),
    Faults(faults::Options),
}

/// The command line before it is known whether its parts go together.
#[derive(Default)]
struct Given {
    script: Option<PathBuf>,
    replay: Option<PathBuf>,
    prompts: Option<PathBuf>,
    faults: Option<PathBuf>,
    start: Option<Start>,
    amount: Option<Amount>,
    time: Option<PathBuf>,
    what: Option<What>,
    changed: Option<usize>,
    record: Option<PathBuf>,
    size: Option<usize>,
    stamps: bool,
    fill: Option<usize>,
    folders: Vec<(String, String)>,
    speed: Option<f64>,
    selection: Selection,
    no_disk: bool,
    slow_disk: Option<u64>,
}

pub fn read(mut args: impl Iterator<Item = OsString>) -> Result<Task, String> {
    let mut given = Given::default();
    while let Some(arg) = args.next() {
        let name = arg.to_string_lossy().into_owned();
        let mut value = || args.next().ok_or_else(|| format!("{name} wants a value"));
        match name.as_str() {
            "-h" | "--help" => return Ok(Task::Help),
            "--script" => given.script = Some(value()?.into()),
            "--replay" => given.replay = Some(value()?.into()),
            "--prompts" => given.prompts = Some(value()?.into()),
            "--record" => given.record = Some(value()?.into()),
            "--flood" => given.amount = Some(Amount::Count(number(&name, &value()?)?)),
            "--paced" => {
                let per_second = positive(&name, &value()?)?;
                given.amount = Some(Amount::Paced { per_second, seconds: positive(&name, &value()?)? });
            }
            "--time" => given.time = Some(value()?.into()),
            "--reads" => {
                given.what = Some(What::Reads { count: number(&name, &value()?)?, path: value()?.into() });
            }
            "--writes" => {
                let (count, path) = (number(&name, &value()?)?, value()?.into());
                given.what = Some(What::Writes { count, path, changed: 1 });
            }
            "--polls" => given.what = Some(What::Polls { command: text(&name, value()?)? }),
            "--changed" => given.changed = Some(number(&name, &value()?)?),
            "--faults" => given.faults = Some(value()?.into()),
            "--start" => {
                let how = text(&name, value()?)?;
                given.start = Some(Start::named(&how).ok_or_else(|| format!("{name} wants no {how}"))?);
            }
            "--size" => given.size = Some(number(&name, &value()?)?),
            "--stamps" => given.stamps = true,
            "--fill" => given.fill = Some(number(&name, &value()?)?),
            "--map" => given.folders.push(folders(&value()?)?),
            "--speed" => given.speed = Some(positive(&name, &value()?)?),
            "--part" => given.selection.part = number(&name, &value()?)?,
            "--session" => given.selection.session = Some(number(&name, &value()?)?),
            "--without" => given.selection.without.push(text(&name, value()?)?),
            "--no-disk" => given.no_disk = true,
            "--slow-disk" => given.slow_disk = Some(number(&name, &value()?)?),
            _ => return Err(format!("unknown argument {name}")),
        }
    }
    given.task()
}

impl Given {
    fn task(self) -> Result<Task, String> {
        let tasks = [
            self.script.is_some(),
            self.replay.is_some(),
            self.prompts.is_some(),
            self.faults.is_some(),
            self.amount.is_some(),
            self.time.is_some(),
        ];
        if tasks.into_iter().filter(|is_given| *is_given).count() > 1 {
            return Err("these tasks do not go together".to_owned());
        }
        if let Some(script) = self.script {
            return Ok(Task::Script { script, record: self.record });
        }
        if let Some(ledger) = self.faults {
            return Ok(Task::Faults(faults::Options { ledger, start: self.start.unwrap_or_default() }));
        }
        let timed = match (self.time, self.what) {
            (None, None) => None,
            (Some(out), Some(mut what)) => {
                if let (What::Writes { changed, .. }, Some(lines)) = (&mut what, self.changed) {
                    *changed = lines;
                }
                Some(Timed { what, out })
            }
            _ => return Err("--time goes with --reads, --writes or --polls".to_owned()),
        };
        let flood = self.amount.map(|amount| Flood {
            amount,
            size: self.size.unwrap_or(flood::SIZE),
            stamps: self.stamps,
            fill: self.fill.unwrap_or(0),
        });
        let prints = self.prompts.is_some();
        let Some(recording) = self.replay.or(self.prompts) else {
            return match self.record {
                Some(_) => Err("--record goes with --script and --replay".to_owned()),
                None => Ok(Task::Serve { always: flood.map(Scene::Flood).or(timed.map(Scene::Timed)) }),
            };
        };
        let options = replay::Options {
            recording,
            selection: self.selection,
            folders: self.folders,
            speed: self.speed.unwrap_or(0.0),
            write_disk: !self.no_disk,
            slow_disk: self.slow_disk.map(Duration::from_millis),
            record: self.record,
        };
        Ok(if prints { Task::Prompts(options) } else { Task::Replay(options) })
    }
}

fn number<T: FromStr>(name: &str, value: &OsString) -> Result<T, String> {
    let text = value.to_string_lossy();
    text.parse().map_err(|_| format!("{name} wants a number, not {text}"))
}

fn text(name: &str, value: OsString) -> Result<String, String> {
    value.into_string().map_err(|_| format!("{name} wants a text in UTF-8"))
}

fn positive(name: &str, value: &OsString) -> Result<f64, String> {
    let number: f64 = number(name, value)?;
    if number.is_finite() && number >= 0.0 {
        Ok(number)
    } else {
        Err(format!("{name} wants a number from 0 on, not {number}"))
    }
}

fn folders(value: &OsString) -> Result<(String, String), String> {
    let text = value.to_str().ok_or("--map wants a path that is UTF-8")?;
    let halves = text.split_once('=').filter(|(recorded, real)| !recorded.is_empty() && !real.is_empty());
    let (recorded, real) = halves.ok_or("--map wants RECORDED=REAL")?;
    let trim = |path: &str| path.strip_suffix('/').filter(|rest| !rest.is_empty()).unwrap_or(path).to_owned();
    Ok((trim(recorded), trim(real)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(line: &str) -> Result<Task, String> {
        read(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn every_task_has_its_line() {
        assert_eq!(task(""), Ok(Task::Serve { always: None }));
        let flood = Flood { amount: Amount::Count(5), size: 9, stamps: false, fill: 0 };
        assert_eq!(task("--flood 5 --size 9"), Ok(Task::Serve { always: Some(Scene::Flood(flood)) }));
        let paced = Amount::Paced { per_second: 10.0, seconds: 2.5 };
        let flood = Flood { amount: paced, size: flood::SIZE, stamps: true, fill: 7 };
        assert_eq!(
            task("--paced 10 2.5 --stamps --fill 7"),
            Ok(Task::Serve { always: Some(Scene::Flood(flood)) })
        );
        let what = What::Writes { count: 3, path: "a.txt".into(), changed: 7 };
        let timed = Scene::Timed(Timed { what, out: "out".into() });
        let line = "--time out --writes 3 a.txt --changed 7";
        assert_eq!(task(line), Ok(Task::Serve { always: Some(timed) }));
        let script = Task::Script { script: "a".into(), record: Some("b".into()) };
        assert_eq!(task("--script a --record b"), Ok(script));
        let faults = faults::Options { ledger: "a".into(), start: Start::Crash };
        assert_eq!(task("--faults a --start crash"), Ok(Task::Faults(faults)));
        let Ok(Task::Replay(options)) =
            task("--replay a --map /project=/real/ --speed 2 --no-disk --slow-disk 5")
        else {
            panic!("a replay")
        };
        assert_eq!(options.folders, [("/project".to_owned(), "/real".to_owned())]);
        assert_eq!((options.speed, options.write_disk), (2.0, false));
        assert_eq!(options.slow_disk, Some(Duration::from_millis(5)));
        assert_eq!(options.selection, Selection::default());
        let Ok(Task::Prompts(options)) = task("--prompts a --part 2 --session 3 --without x --without y")
        else {
            panic!("prompts")
        };
        let without = ["x", "y"].map(str::to_owned).to_vec();
        assert_eq!(options.selection, Selection { part: 2, session: Some(3), without });
    }

    #[test]
    fn a_line_that_makes_no_sense_says_why() {
        assert!(task("--flood x").unwrap_err().contains("a number, not x"));
        assert!(task("--reads 3 a.txt").unwrap_err().contains("--time goes with"));
        assert!(task("--script").unwrap_err().contains("wants a value"));
        assert!(task("--script a --replay b").unwrap_err().contains("together"));
        assert!(task("--speed -1 --replay a").unwrap_err().contains("from 0 on"));
        assert!(task("--sript a").unwrap_err().contains("--sript"));
    }
}
