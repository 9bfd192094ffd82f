//! Serves the inspector: what came since it last asked, in batches at a pace that the editor can follow, what is found,
//! and a message as one reads it, without secrets. Nothing in here runs while nobody looks.

use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use super::replay;
use super::shared::Shared;
use super::wire::ring::{Agent, SharedRing};
use crate::core::inspector::json::{mended, pretty, shortened};
use crate::core::inspector::ring::{Kept, Way};
use crate::core::inspector::scrub::{Origin, Scrubber, hide};
use crate::core::inspector::summary::Summary;
use crate::core::inspector::{Batch, Recorded, Reply, Request, Target, recording};
use crate::core::message::Event;
use crate::platform::files::private;

/// The most messages that are told of at once.
const MAX_MESSAGES: usize = 1000;

/// What comes within this time is told together.
const PACE: Duration = Duration::from_millis(60);

pub fn serve(shared: &Arc<Shared>, request: Request) {
    let shared = shared.clone();
    tokio::spawn(async move {
        let ring = shared.log.ring.clone();
        if let Request::After { from, .. } = &request
            && ring.read(|ring| ring.numbers().end <= *from)
        {
            ring.wait_for(*from).await;
            sleep(PACE).await;
        }
        // To go through all that is kept takes milliseconds.
        let answered = spawn_blocking(move || answer(&ring, request)).await;
        if let Ok(reply) = answered {
            shared.mailbox.post(Event::Inspected(Box::new(reply)));
        }
    });
}

fn answer(ring: &SharedRing, request: Request) -> Reply {
    match request {
        Request::After { job, from } => Reply::Came { job, batch: batch(ring, from) },
        Request::Find { job, from, texts } => Reply::Found { job, numbers: find(ring, from, &texts) },
        Request::Read { job, number } => {
            let agents = ring.agents();
            let text = ring.read(|ring| ring.get(number).map(|kept| scrubbed(&kept, &agents)));
            Reply::Read { job, text }
        }
        Request::Record { job, agent, target, origin } => {
            let origin = with_real_names(origin);
            let recorded = check(&target).and_then(|()| record(ring, agent.as_deref(), &origin));
            Reply::Recorded { job, recorded }
        }
        Request::LookAt { job, path } => {
            let cwd = replay::read(&path)
                .map(|player| player.cwd().map(str::to_owned))
                .map_err(|why| format!("couldn't replay {}: {why}", path.display()));
            Reply::Playable { job, cwd }
        }
        Request::Save { job, target, text } => {
            let saved = save(&target, &text).map_err(|error| why(&target, &error));
            Reply::Saved { job, saved }
        }
    }
}

/// Folders are also known by what their links lead to.
fn with_real_names(mut origin: Origin) -> Origin {
    for folders in [&mut origin.projects, &mut origin.homes] {
        let real = folders.iter().filter_map(|folder| std::fs::canonicalize(folder).ok());
        let real: Vec<String> = real.map(|folder| folder.to_string_lossy().into_owned()).collect();
        folders.extend(real);
    }
    origin
}

/// Why a recording can't be written there, as far as that is known before.
fn check(target: &Target) -> Result<(), String> {
    let path = &target.path;
    if path.is_dir() {
        return Err(format!("{} is a folder; name a file in it", path.display()));
    }
    if path.exists() && !target.replaces {
        return Err(format!("{} exists; :Acp! record replaces it", path.display()));
    }
    match path.parent() {
        Some(folder) if !folder.is_dir() => {
            Err(format!("there is no folder {}; make it first", folder.display()))
        }
        _ => Ok(()),
    }
}

/// The messages of one run of an agent: the last one of this name, or whose messages are the newest.
fn record(ring: &SharedRing, agent: Option<&str>, origin: &Origin) -> Result<Recorded, String> {
    let agents = ring.agents();
    let is_meant = |number: u32| {
        let its = agents.get(number as usize);
        agent.is_none_or(|name| its.is_some_and(|its| *its.name == *name))
    };
    ring.read(|ring| {
        let newest = ring.since(0).filter(|kept| is_meant(kept.agent)).map(|kept| kept.agent).max();
        let Some(newest) = newest else {
            return Err(match agent {
                Some(agent) => format!("no message has gone to {agent} or come from it yet"),
                None => {
                    "no message has gone to an agent or come from one yet; :AcpChat starts one".to_owned()
                }
            });
        };
        let its = agents.get(newest as usize);
        let secrets = its.map(|agent| agent.secrets.all()).unwrap_or_default();
        let mut scrubber = Scrubber::new(origin, &secrets);
        let kept: Vec<Kept<'_>> = ring.since(0).filter(|kept| kept.agent == newest).collect();
        let begun = kept.first().map_or(0, |kept| kept.at);
        let lines: Vec<String> =
            kept.iter().map(|kept| recording::line(kept, begun, &mut scrubber)).collect();
        let is_whole = ring.numbers().start == 0;
        let agent = its.map(|agent| agent.name.to_string()).unwrap_or_default();
        Ok(Recorded { agent, replaced: scrubber.replaced(), is_whole, lines })
    })
}

/// Whoever was asked has read it, so it may be read by others too where its owner says so; until then it is theirs.
fn save(target: &Target, text: &str) -> io::Result<()> {
    let mut options: OpenOptions = private();
    match target.replaces {
        true => options.create(true).truncate(true),
        // It may have come into being while the user read.
        false => options.create_new(true),
    };
    let mut file = options.write(true).open(&target.path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

fn why(target: &Target, error: &io::Error) -> String {
    let path: &Path = &target.path;
    match error.kind() {
        ErrorKind::AlreadyExists => format!("{} exists; :Acp! record replaces it", path.display()),
        _ => format!("couldn't write {}: {error}; name another file", path.display()),
    }
}

fn batch(ring: &SharedRing, from: u64) -> Batch {
    let agents = ring.agents();
    let names = agents.iter().map(|agent| agent.name.to_string()).collect();
    ring.read(|ring| {
        let summaries: Vec<Summary> = ring
            .since(from)
            .take(MAX_MESSAGES)
            .map(|kept| {
                let mut summary = Summary::of(&kept);
                summary.hide(&|text| without_secrets(text, &agents, kept.agent));
                summary
            })
            .collect();
        let numbers = ring.numbers();
        let next = summaries.last().map_or(numbers.end, |last| last.number + 1);
        Batch { first: numbers.start, next, agents: names, summaries }
    })
}

/// For each text, in lower case, the messages that hold it.
fn find(ring: &SharedRing, from: u64, texts: &[String]) -> Vec<Vec<u64>> {
    let agents = ring.agents();
    let mut numbers = vec![Vec::new(); texts.len()];
    ring.read(|ring| {
        for kept in ring.since(from) {
            // What is hidden is not found either, or one could guess it.
            let text =
                without_secrets(&String::from_utf8_lossy(kept.text), &agents, kept.agent).to_lowercase();
            for (found, wanted) in numbers.iter_mut().zip(texts) {
                if text.contains(wanted.as_str()) {
                    found.push(kept.number);
                }
            }
        }
    });
    numbers
}

/// A message as one reads it.
fn scrubbed(kept: &Kept<'_>, agents: &[Agent]) -> String {
    let text = String::from_utf8_lossy(kept.text);
    let whole = if kept.is_whole() { text.into_owned() } else { mended(&text) };
    let shown = match (kept.way, serde_json::from_str::<Value>(&whole)) {
        (Way::ToAgent | Way::FromAgent, Ok(mut message)) => {
            hide(&mut message);
            pretty(&message)
        }
        _ => shortened(&whole),
    };
    without_secrets(&shown, agents, kept.agent)
}

fn without_secrets(text: &str, agents: &[Agent], agent: u32) -> String {
    agents.get(agent as usize).map_or_else(|| text.to_owned(), |agent| agent.secrets.hidden(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acp::wire::dialect::Converter;
    use crate::acp::wire::log::{Direction, WireLog};
    use crate::acp::wire::message_reader::MessageReader;
    use crate::core::ids::JobId;
    use crate::core::inspector::ring::LONGEST;
    use crate::core::inspector::summary::Kind;
    use crate::core::message::Launch;

    fn read(log: &WireLog, number: u64) -> String {
        match answer(&log.ring, Request::Read { job: JobId(1), number }) {
            Reply::Read { text: Some(text), .. } => text,
            other => panic!("{other:?}"),
        }
    }

    fn reader(log: &WireLog) -> MessageReader {
        let agent = log.agent("claude", &[("MY_API_KEY".into(), "sk-12345678".into())]);
        MessageReader::new(64 << 20, agent, Converter::to(&Launch::default(), 1))
    }

    #[test]
    fn all_that_is_read_is_kept_in_order_also_what_takes_the_short_way() {
        let log = WireLog::start(None);
        let mut reader = reader(&log);
        let chunk = r#"{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"t"}}}}"#;
        let text = format!("{{\"id\":1,\"result\":null}}\n\n{chunk}\nhello\n{chunk}\r\n{{\"id\":2,\"me");
        // In pieces, so that lines begin in one read and end in another.
        for piece in text.as_bytes().chunks(37) {
            reader.push(piece);
        }
        reader.push(b"thod\":\"m\"}");
        reader.finish();
        let batch = batch(&log.ring, 0);
        let kinds: Vec<&Kind> = batch.summaries.iter().map(|summary| &summary.kind).collect();
        let update =
            |kind: &str| Kind::Notification { method: "session/update".into(), update: Some(kind.into()) };
        assert_eq!(
            kinds,
            [
                &Kind::Answer { id: "1".into(), error: None },
                &update("agent_message_chunk"),
                &Kind::Noise("hello".into()),
                &update("agent_message_chunk"),
                &Kind::Request { id: "2".into(), method: "m".into() },
            ]
        );
        assert_eq!((batch.first, batch.next, batch.agents), (0, 5, vec!["claude".to_owned()]));
    }

    #[test]
    fn of_a_message_too_long_to_keep_what_it_is_is_known_and_secrets_in_it_are_hidden() {
        let log = WireLog::start(None);
        let mut reader = reader(&log);
        let long = "x".repeat(20 << 20);
        let line = format!(r#"{{"result":{{"token":"t-1","text":"sk-12345678 {long}"}},"id":"q"}}"#);
        reader.push(format!("{line}\n").as_bytes());
        let batch = batch(&log.ring, 0);
        assert_eq!(batch.summaries[0].kind, Kind::Answer { id: "\"q\"".into(), error: None });
        assert_eq!(batch.summaries[0].size, line.len() as u64);
        let shown = read(&log, 0);
        assert!(
            shown.contains("\"token\": \"[hidden]\"") && shown.contains("[hidden] xxx"),
            "{}",
            &shown[..200]
        );
        assert!(!shown.contains("t-1") && !shown.contains("sk-1") && shown.len() < LONGEST);
    }

    #[test]
    fn what_is_hidden_is_neither_shown_in_a_line_nor_found() {
        let log = WireLog::start(None);
        let agent = log.agent("claude", &[("MY_API_KEY".into(), "sk-12345678".into())]);
        agent.raw(Direction::Stderr, "using sk-12345678 today");
        let summaries = batch(&log.ring, 0).summaries;
        assert_eq!(summaries[0].kind, Kind::Text("using [hidden] today".into()));
        assert_eq!(find(&log.ring, 0, &["sk-1234".into(), "today".into()]), [vec![], vec![0]]);
    }

    #[test]
    fn what_the_headers_hold_is_neither_shown_nor_found_nor_recorded() {
        let log = WireLog::start(None);
        let agent = log.agent("far", &[]);
        agent.secrets.add_headers(["Bearer open-sesame-7"]);
        let mut reader = MessageReader::new(64 << 20, agent, Converter::to(&Launch::default(), 1));
        reader.push(b"{\"id\":1,\"error\":{\"code\":1,\"message\":\"not open-sesame-7\"}}\n");
        let error = Some((1, "not [hidden]".to_owned()));
        assert_eq!(batch(&log.ring, 0).summaries[0].kind, Kind::Answer { id: "1".into(), error });
        assert!(read(&log, 0).contains("not [hidden]"));
        assert_eq!(find(&log.ring, 0, &["open-sesame".into(), "not".into()]), [vec![], vec![0]]);
        let recorded = record(&log.ring, None, &Origin::default()).expect("a recording");
        let lines = recorded.lines.join("\n");
        assert!(lines.contains("not [hidden]") && !lines.contains("sesame"), "{lines}");
    }
}
