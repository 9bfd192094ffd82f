//! What agents may do outside of their sessions' folders, for all agents: the user's options, what the
//! user has said, and what is kept of it. What an answer counts for is `core::store::allowlist`; who waits for
//! one is `files`. It reads the disk: call it where waiting is allowed.

mod allowlist;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use self::allowlist::Kept;
use crate::core::ids::SessionKey;
use crate::core::message::Access;
use crate::core::store::allowlist::{Allowed, Answers, Choice, Decision, Rules, Until, decision_by_options};
use crate::platform::paths::canonicalize;

/// Until the editor says otherwise, all is refused.
#[derive(Default)]
pub struct FileAccess(Mutex<State>);

#[derive(Default)]
struct State {
    rules: Rules,
    answers: Answers,
    /// What is wrong with the file of what is kept, as the user was told.
    told: Option<String>,
}

impl FileAccess {
    pub fn set(&self, rules: Rules) {
        self.lock().rules = rules;
    }

    /// Whether a file, whose links are resolved, may be read or written; and what the user should know.
    pub fn decide(&self, session: SessionKey, access: Access, path: &Path) -> (Decision, Option<String>) {
        let rules = self.lock().rules.clone();
        let kept = rules.kept.as_deref().map_or(Ok(Vec::new()), allowlist::load);
        let configured = match access {
            Access::Read => &rules.read,
            Access::Wrote => &rules.write,
        };
        // One that can't be resolved allows nothing.
        let mut always: Vec<PathBuf> = configured.iter().filter_map(|path| canonicalize(path).ok()).collect();
        let of_access = |kept: &Kept| Access::from(kept.access) == access;
        always.extend(kept.iter().flatten().filter(|kept| of_access(kept)).map(|kept| kept.path.clone()));
        let trouble = kept.err().map(|why| {
            let file = rules.kept.as_deref().unwrap_or(Path::new("")).display();
            format!("couldn't read what you always allow: {file}: {why}; until it is mended you are asked")
        });
        let mut state = self.lock();
        let news = trouble.clone().filter(|_| state.told != trouble);
        state.told = trouble;
        let said = state.answers.said_of_file(session, access, path);
        (said.unwrap_or_else(|| decision_by_options(path, &always, rules.ask)), news)
    }

    /// The same of a command that is to run in a folder: what the user has said of it comes first, then what counts for
    /// writing there.
    pub fn decide_command(
        &self,
        session: SessionKey,
        command: &str,
        folder: &Path,
    ) -> (Decision, Option<String>) {
        let said = self.lock().answers.said_of_command(session, folder, command);
        match (said, self.decide(session, Access::Wrote, folder)) {
            // A refusal outweighs what else was said.
            (Some(said), (decision, trouble)) if decision != Decision::RefusedBefore => (said, trouble),
            (_, decided) => decided,
        }
    }

    /// Takes the user's answer about a command in.
    pub fn say_of_command(&self, session: SessionKey, command: String, folder: PathBuf, choice: Choice) {
        self.lock().answers.say_of_command(session, folder, command, choice);
    }

    /// Takes the user's answer in. Gives what the user should know of it.
    pub fn say(
        &self,
        session: SessionKey,
        access: Access,
        target: PathBuf,
        choice: Choice,
    ) -> Option<String> {
        if choice != Choice::Always {
            self.lock().answers.say(session, access, target, choice);
            return None;
        }
        let kept = Kept { path: target.clone(), access: access.into() };
        let file = self.lock().rules.kept.clone();
        let trouble = match file {
            Some(file) => allowlist::change(&file, |all| {
                if !all.contains(&kept) {
                    all.push(kept);
                }
            }),
            None => Some("couldn't keep this: there is no place for it".to_owned()),
        };
        if trouble.is_some() {
            // What can't be kept counts as long as it can.
            self.lock().answers.say(session, access, target, Choice::Session);
        }
        trouble
    }

    /// All that is allowed, and what is wrong with the file of what is kept.
    pub fn list(&self) -> (Vec<Allowed>, Option<String>) {
        let state = self.lock();
        let mut allowed: Vec<Allowed> = state.answers.allowed().collect();
        let Rules { read, write, kept, .. } = state.rules.clone();
        drop(state);
        let stored = kept.as_deref().map_or(Ok(Vec::new()), allowlist::load);
        allowed.extend(stored.iter().flatten().map(|kept| Allowed {
            path: kept.path.clone(),
            access: kept.access.into(),
            command: None,
            until: Until::Revoked,
        }));
        for (paths, access) in [(read, Access::Read), (write, Access::Wrote)] {
            let of = |path| Allowed { path, access, command: None, until: Until::Configured };
            allowed.extend(paths.into_iter().map(of));
        }
        let trouble =
            stored.err().map(|why| format!("couldn't read {}: {why}", kept.unwrap_or_default().display()));
        (allowed, trouble)
    }

    /// It is asked again from now on. Gives what the user should know of it.
    pub fn revoke(&self, allowed: Allowed) -> Option<String> {
        let Allowed { path, access, command, until } = allowed;
        match until {
            Until::SessionEnds(session) => {
                let mut state = self.lock();
                match command {
                    Some(command) => state.answers.take_command_back(session, &path, &command),
                    None => state.answers.take_back(session, access, &path),
                }
                None
            }
            Until::Revoked => {
                let file = self.lock().rules.kept.clone()?;
                let gone = Kept { path, access: access.into() };
                allowlist::change(&file, |all| all.retain(|kept| *kept != gone))
            }
            Until::Configured => None,
        }
    }

    pub fn ended(&self, session: SessionKey) {
        self.lock().answers.ended(session);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No step under this lock can panic halfway.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
