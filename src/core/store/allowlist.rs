//! Files outside a session's folders: the answers that the user can give when an agent asks for one, and
//! what else each answer covers. Reading and writing are separate, and nothing is ever allowed beyond the
//! user's answer. Resolving a file's real path, and storing answers, is left to the background.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::core::ids::SessionKey;
use crate::core::message::files::Access;
use crate::core::message::question::{PermissionKind, PermissionOption};
use crate::core::store::stored_path;

/// What the user's options say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    /// Without it all is refused that is not allowed already.
    pub ask: bool,
    pub read: Vec<PathBuf>,
    pub write: Vec<PathBuf>,
    /// Where what is always allowed is kept.
    pub kept: Option<PathBuf>,
}

/// A folder with all that is in it, a single file, or a command that is run in a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allowed {
    #[serde(with = "stored_path")]
    pub path: PathBuf,
    pub access: Access,
    /// This command in this folder, and nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    pub until: Until,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Until {
    SessionEnds(SessionKey),
    /// Also after a restart.
    Revoked,
    /// It stands in the user's options.
    Configured,
}

/// What the user can say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Choice {
    Once,
    Session,
    Always,
    No,
    Never,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    Allowed,
    /// By the user's options.
    Refused,
    /// By what the user has said in this session.
    RefusedBefore,
    Ask,
}

impl Choice {
    pub const ALL: [Self; 5] = [Self::Once, Self::Session, Self::Always, Self::No, Self::Never];

    pub fn id(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Session => "session",
            Self::Always => "always",
            Self::No => "no",
            Self::Never => "never",
        }
    }

    pub fn of_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|choice| choice.id() == id)
    }

    pub fn allows(self) -> bool {
        matches!(self, Self::Once | Self::Session | Self::Always)
    }

    /// For what it counts, in a word or two, beside a mark for a yes or a no.
    pub fn fact(self) -> &'static str {
        match self {
            Self::Once => "allowed once",
            Self::Session => "this session",
            Self::Always => "always",
            Self::No => "refused",
            Self::Never => "not this session",
        }
    }

    fn kind(self) -> PermissionKind {
        match self {
            Self::Once => PermissionKind::AllowOnce,
            Self::Session | Self::Always => PermissionKind::AllowAlways,
            Self::No => PermissionKind::RejectOnce,
            Self::Never => PermissionKind::RejectAlways,
        }
    }

    fn label(self, doing: &str, place: &str) -> String {
        match self {
            Self::Once => "Allow once".to_owned(),
            Self::Session => format!("Allow {doing} {place} for this session"),
            Self::Always => format!("Always allow {doing} {place}"),
            Self::No => "Reject once".to_owned(),
            Self::Never => format!("Reject {doing} {place} for this session"),
        }
    }
}

/// The answers to a question for `path`; those that count for more count for `target`.
pub fn options(path: &Path, target: &Path, access: Access) -> Vec<PermissionOption> {
    let place = match path == target {
        true => "this file".to_owned(),
        false => format!("in {}", target.display()),
    };
    let option = |choice: Choice| PermissionOption {
        id: choice.id().to_owned(),
        name: choice.label(doing(access), &place),
        kind: choice.kind(),
    };
    Choice::ALL.into_iter().map(option).collect()
}

/// The answers to a question that a rule asks. One that counts for more counts for the same file or command; for
/// longer than the session there are rules.
pub fn options_under_rule(access: Access, is_command: bool) -> Vec<PermissionOption> {
    match is_command {
        true => options_for_session("running", "this command"),
        false => options_for_session(doing(access), "this file"),
    }
}

/// The answers to a question about a command that is to run in `folder`: they count for it there and for nothing else.
pub fn options_for_command(folder: &Path) -> Vec<PermissionOption> {
    options_for_session("running this command", &format!("in {}", folder.display()))
}

fn options_for_session(doing: &str, what: &str) -> Vec<PermissionOption> {
    let option = |choice: Choice| PermissionOption {
        id: choice.id().to_owned(),
        name: choice.label(doing, what),
        kind: choice.kind(),
    };
    Choice::ALL.into_iter().filter(|choice| *choice != Choice::Always).map(option).collect()
}

/// Whether a file may be read or written about which the user has not said anything in the session. `always` are the
/// paths for which that is always allowed; all paths are without links.
pub fn decision_by_options(path: &Path, always: &[PathBuf], ask: bool) -> Decision {
    match ask {
        _ if always.iter().any(|target| path.starts_with(target)) => Decision::Allowed,
        true => Decision::Ask,
        false => Decision::Refused,
    }
}

pub fn doing(access: Access) -> &'static str {
    match access {
        Access::Read => "reading",
        Access::Wrote => "writing",
    }
}

/// What an answer that counts for more counts for: the file's folder. Where that is the whole system
/// or the user's home, nobody means all of it.
pub fn target(path: &Path, home: Option<&Path>) -> PathBuf {
    let folder = path.parent().filter(|folder| folder.parent().is_some());
    let folder = folder.filter(|folder| home.is_none_or(|home| !home.starts_with(folder)));
    folder.unwrap_or(path).to_owned()
}

/// What the user has said in the sessions there are.
#[derive(Debug, Default)]
pub struct Answers {
    allowed: Vec<(SessionKey, Access, PathBuf)>,
    refused: Vec<(SessionKey, Access, PathBuf)>,
    commands: Vec<SaidOfCommand>,
}

/// What the user has said of a command in a folder.
#[derive(Debug)]
struct SaidOfCommand {
    session: SessionKey,
    folder: PathBuf,
    command: String,
    is_allowed: bool,
}

impl SaidOfCommand {
    fn is_of(&self, session: SessionKey, folder: &Path, command: &str) -> bool {
        (self.session, self.folder.as_path(), self.command.as_str()) == (session, folder, command)
    }
}

impl Answers {
    pub fn say(&mut self, session: SessionKey, access: Access, target: PathBuf, choice: Choice) {
        let said = (session, access, target);
        let list = match choice {
            Choice::Session => &mut self.allowed,
            Choice::Never => &mut self.refused,
            Choice::Once | Choice::Always | Choice::No => return,
        };
        if !list.contains(&said) {
            list.push(said);
        }
    }

    /// The same of a command that is run in a folder.
    pub fn say_of_command(&mut self, session: SessionKey, folder: PathBuf, command: String, choice: Choice) {
        if matches!(choice, Choice::Session | Choice::Never) {
            self.commands.retain(|said| !said.is_of(session, &folder, &command));
            self.commands.push(SaidOfCommand { session, folder, command, is_allowed: choice.allows() });
        }
    }

    /// What the user has said of just this command in just this folder, if anything.
    pub fn said_of_command(&self, session: SessionKey, folder: &Path, command: &str) -> Option<Decision> {
        let said = self.commands.iter().find(|said| said.is_of(session, folder, command))?;
        Some(if said.is_allowed { Decision::Allowed } else { Decision::RefusedBefore })
    }

    /// What the user has said of reading or writing a file, if it was asked about; the path is without links. A
    /// refusal outweighs what else was said.
    pub fn said_of_file(&self, session: SessionKey, access: Access, path: &Path) -> Option<Decision> {
        let said = |list: &[(SessionKey, Access, PathBuf)]| {
            list.iter()
                .any(|(of, what, target)| (*of, *what) == (session, access) && path.starts_with(target))
        };
        if said(&self.refused) {
            return Some(Decision::RefusedBefore);
        }
        said(&self.allowed).then_some(Decision::Allowed)
    }

    pub fn allowed(&self) -> impl Iterator<Item = Allowed> {
        let files = self.allowed.iter().map(|(session, access, path)| Allowed {
            path: path.clone(),
            access: *access,
            command: None,
            until: Until::SessionEnds(*session),
        });
        let commands = self.commands.iter().filter(|said| said.is_allowed).map(|said| Allowed {
            path: said.folder.clone(),
            access: Access::Wrote,
            command: Some(said.command.clone()),
            until: Until::SessionEnds(said.session),
        });
        files.chain(commands)
    }

    pub fn take_back(&mut self, session: SessionKey, access: Access, target: &Path) {
        self.allowed.retain(|(of, what, path)| (*of, *what, path.as_path()) != (session, access, target));
    }

    pub fn take_command_back(&mut self, session: SessionKey, folder: &Path, command: &str) {
        self.commands.retain(|said| !said.is_of(session, folder, command));
    }

    pub fn ended(&mut self, session: SessionKey) {
        self.allowed.retain(|(of, ..)| *of != session);
        self.refused.retain(|(of, ..)| *of != session);
        self.commands.retain(|said| said.session != session);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ONE: SessionKey = SessionKey(1);
    const TWO: SessionKey = SessionKey(2);

    fn decide(answers: &Answers, session: SessionKey, access: Access, path: &str) -> Decision {
        answers.said_of_file(session, access, Path::new(path)).unwrap_or(Decision::Ask)
    }

    #[test]
    fn an_answer_counts_for_its_session_its_access_and_its_folder_alone() {
        let mut answers = Answers::default();
        answers.say(ONE, Access::Read, "/x".into(), Choice::Session);
        assert_eq!(decide(&answers, ONE, Access::Read, "/x/deep/a"), Decision::Allowed);
        assert_eq!(decide(&answers, ONE, Access::Wrote, "/x/a"), Decision::Ask);
        assert_eq!(decide(&answers, TWO, Access::Read, "/x/a"), Decision::Ask);
        assert_eq!(decide(&answers, ONE, Access::Read, "/x2/a"), Decision::Ask);
        answers.say(ONE, Access::Read, "/x/secret".into(), Choice::Never);
        assert_eq!(decide(&answers, ONE, Access::Read, "/x/secret/a"), Decision::RefusedBefore);
        assert_eq!(decide(&answers, ONE, Access::Read, "/x/a"), Decision::Allowed);
        answers.ended(ONE);
        assert_eq!(decide(&answers, ONE, Access::Read, "/x/a"), Decision::Ask);
        assert_eq!(decide(&answers, ONE, Access::Read, "/x/secret/a"), Decision::Ask);
    }

    #[test]
    fn what_is_allowed_once_or_refused_once_is_asked_again() {
        let mut answers = Answers::default();
        for choice in [Choice::Once, Choice::No] {
            answers.say(ONE, Access::Read, "/x".into(), choice);
        }
        assert_eq!(decide(&answers, ONE, Access::Read, "/x/a"), Decision::Ask);
        assert_eq!(answers.allowed().count(), 0);
    }

    #[test]
    fn a_refusal_outweighs_what_else_was_said() {
        let mut answers = Answers::default();
        answers.say(ONE, Access::Read, "/x".into(), Choice::Session);
        answers.say(ONE, Access::Read, "/x/secret".into(), Choice::Never);
        answers.say(ONE, Access::Read, "/x/secret".into(), Choice::Session);
        assert_eq!(decide(&answers, ONE, Access::Read, "/x/secret/a"), Decision::RefusedBefore);
    }

    #[test]
    fn what_nobody_was_asked_about_is_decided_by_the_options() {
        let always = [PathBuf::from("/x")];
        let by_options = |path: &str, ask| decision_by_options(Path::new(path), &always, ask);
        assert_eq!(by_options("/x/a", false), Decision::Allowed);
        assert_eq!(by_options("/y", false), Decision::Refused);
        assert_eq!(by_options("/y", true), Decision::Ask);
    }

    #[test]
    fn an_answer_about_a_command_counts_for_it_in_its_folder_alone() {
        let mut answers = Answers::default();
        let said = |answers: &Answers, session, folder: &str, command: &str| {
            answers.said_of_command(session, Path::new(folder), command)
        };
        answers.say_of_command(ONE, "/x".into(), "ls".into(), Choice::Once);
        assert_eq!(said(&answers, ONE, "/x", "ls"), None);
        answers.say_of_command(ONE, "/x".into(), "ls".into(), Choice::Session);
        answers.say_of_command(ONE, "/y".into(), "ls".into(), Choice::Never);
        assert_eq!(said(&answers, ONE, "/x", "ls"), Some(Decision::Allowed));
        assert_eq!(said(&answers, ONE, "/y", "ls"), Some(Decision::RefusedBefore));
        for (session, folder, command) in
            [(TWO, "/x", "ls"), (ONE, "/x/in", "ls"), (ONE, "/x", "ls -l"), (ONE, "/", "ls")]
        {
            assert_eq!(said(&answers, session, folder, command), None);
        }
        assert_eq!(decide(&answers, ONE, Access::Wrote, "/x/a"), Decision::Ask, "no file is written for it");
        let allowed: Vec<Allowed> = answers.allowed().collect();
        assert_eq!(allowed.len(), 1, "what is refused is not allowed");
        assert_eq!(allowed[0].command.as_deref(), Some("ls"));
        answers.take_command_back(ONE, Path::new("/x"), "ls");
        assert_eq!(said(&answers, ONE, "/x", "ls"), None);
        answers.ended(ONE);
        assert_eq!(said(&answers, ONE, "/y", "ls"), None);
    }

    #[test]
    fn nobody_allows_the_whole_system_or_a_whole_home_by_accident() {
        let home = Some(Path::new("/home/me"));
        for path in ["/etc", "/home/me/.netrc", "/home/x"] {
            assert_eq!(target(Path::new(path), home), Path::new(path));
        }
        assert_eq!(target(Path::new("/etc/hosts"), home), Path::new("/etc"));
        assert_eq!(target(Path::new("/home/me/notes/a"), home), Path::new("/home/me/notes"));
        assert_eq!(target(Path::new("/"), home), Path::new("/"));
    }

    #[test]
    fn the_answers_name_what_they_count_for() {
        let names = |path: &str, target: &str| -> Vec<String> {
            let options = options(Path::new(path), Path::new(target), Access::Wrote);
            options.into_iter().map(|option| format!("{}: {}", option.id, option.name)).collect()
        };
        insta::assert_snapshot!(names("/x/a", "/x").join("\n"), @r"
        once: Allow once
        session: Allow writing in /x for this session
        always: Always allow writing in /x
        no: Reject once
        never: Reject writing in /x for this session
        ");
        let of_command = options_for_command(Path::new("/x"));
        let of_command: Vec<String> = of_command.into_iter().map(|option| option.name).collect();
        insta::assert_snapshot!(of_command.join("\n"), @r"
        Allow once
        Allow running this command in /x for this session
        Reject once
        Reject running this command in /x for this session
        ");
        assert_eq!(names("/a", "/a")[2], "always: Always allow writing this file");
    }

    proptest! {
        #[test]
        fn only_what_was_allowed_is_allowed(
            said in prop::collection::vec((1..3_u32, prop::bool::ANY, 0..5_usize, "[ab]{1,2}(/[ab]{1,2})?"), 0..8),
            session in 1..3_u32,
            writes in prop::bool::ANY,
            path in "[ab]{1,2}(/[ab]{1,2}){0,3}",
        ) {
            let access = |writes| if writes { Access::Wrote } else { Access::Read };
            let mut answers = Answers::default();
            for (session, writes, choice, target) in &said {
                let target = PathBuf::from(format!("/{target}"));
                answers.say(SessionKey(*session), access(*writes), target, Choice::ALL[*choice]);
            }
            let path = format!("/{path}");
            let fits = |choice: Choice| said.iter().any(|(of, by_writing, said, target)| {
                let inside = path == format!("/{target}") || path.starts_with(&format!("/{target}/"));
                (*of, *by_writing, Choice::ALL[*said]) == (session, writes, choice) && inside
            });
            let decision = decide(&answers, SessionKey(session), access(writes), &path);
            let expected = match (fits(Choice::Never), fits(Choice::Session)) {
                (true, _) => Decision::RefusedBefore,
                (false, true) => Decision::Allowed,
                (false, false) => Decision::Ask,
            };
            prop_assert_eq!(decision, expected);
        }
    }
}
