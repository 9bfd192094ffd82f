//! What the faulty agents wrote down: each request that they made of the client, and each answer. Says
//! which requests of agents that still listen wait for an answer.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;

use serde_json::Value;

pub struct Ledger {
    path: PathBuf,
    read: u64,
    rest: String,
    /// By process and id: the method, and how many answers are due.
    open: BTreeMap<(u64, String), (String, i64)>,
    gone: BTreeSet<u64>,
    pub asked: u64,
    pub answered: u64,
    /// Answers that nobody had asked for.
    pub surplus: Vec<String>,
    /// What the client sent that is no message.
    pub bad: Vec<String>,
}

impl Ledger {
    pub fn new(path: PathBuf) -> Self {
        Self {
            path,
            read: 0,
            rest: String::new(),
            open: BTreeMap::new(),
            gone: BTreeSet::new(),
            asked: 0,
            answered: 0,
            surplus: Vec::new(),
            bad: Vec::new(),
        }
    }

    /// Takes in what was written since the last time.
    pub fn catch_up(&mut self) {
        let Ok(mut file) = File::open(&self.path) else { return };
        file.seek(SeekFrom::Start(self.read)).expect("a file that only grows");
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).expect("a ledger that can be read");
        self.read += bytes.len() as u64;
        self.rest.push_str(&String::from_utf8_lossy(&bytes));
        while let Some(end) = self.rest.find('\n') {
            let line: String = self.rest.drain(..=end).collect();
            let note: Value = serde_json::from_str(&line).expect("a line of JSON");
            self.note(&note);
        }
    }

    fn note(&mut self, note: &Value) {
        let pid = note["pid"].as_u64().expect("each line has its process");
        if note.get("asked").is_some() {
            self.asked += 1;
            let method = note["method"].as_str().unwrap_or_default().to_owned();
            self.open.entry((pid, note["asked"].to_string())).or_insert((method, 0)).1 += 1;
        } else if note.get("answered").is_some() {
            self.answered += 1;
            let key = (pid, note["answered"].to_string());
            match self.open.get_mut(&key) {
                Some((_, due)) if *due > 1 => *due -= 1,
                Some(_) => drop(self.open.remove(&key)),
                None => self.surplus.push(note.to_string()),
            }
        } else if note.get("end").is_some() {
            self.gone.insert(pid);
        } else if note.get("bad").is_some() {
            self.bad.push(note.to_string());
        }
    }

    /// The requests that wait for an answer, of agents that are there to hear it.
    pub fn unanswered(&self) -> Vec<String> {
        let waits = self.open.iter().filter(|((pid, _), _)| !self.gone.contains(pid) && is_alive(*pid));
        waits.map(|((pid, id), (method, due))| format!("{method} {id} of {pid}, {due} times")).collect()
    }

    /// Forgets what the agents that are gone by now had asked.
    pub fn forget_the_gone(&mut self) {
        self.open.retain(|(pid, _), _| !self.gone.contains(pid) && is_alive(*pid));
    }
}

fn is_alive(pid: u64) -> bool {
    // The state stands after the name, which may hold anything.
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(['Z', 'X']))
}
