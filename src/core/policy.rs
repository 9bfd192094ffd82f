//! What an agent may do. Each of its requests for permission, for a file or for a command is put here as an
//! [`Action`], and what comes of it is a decision with its reason. What the user has configured and answered
//! is looked up by the caller; what a decision leads to is the caller's part, too.

use std::path::Path;

use crate::core::message::files::Access;
use crate::core::rules;
use crate::core::store::allowlist;

/// What an agent wants to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action<'a> {
    /// It asks the user for permission.
    Permission {
        /// It offers answers to choose from.
        has_options: bool,
        /// The turn that it asks in was cancelled.
        is_cancelled: bool,
    },
    /// It reads or writes a file through this client. The path is without links.
    File { access: Access, path: &'a Path, location: FileLocation },
    /// It runs a command in a terminal of this client, in this folder, whose path is without links.
    Command { command: &'a str, folder: &'a Path, location: FileLocation },
}

/// Where a file is, as the session sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileLocation {
    InFolders,
    Outside,
    /// In the session's folders, with other names (hard links) outside of them.
    LinkedOutside,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    pub verdict: Verdict,
    pub reason: Reason,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Allow,
    Ask,
    Deny,
}

/// Why it was decided so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Nothing forbids it.
    Default,
    /// The agent leaves it to the user.
    AgentAsks,
    NothingToChoose,
    TurnCancelled,
    InFolders,
    OutsideFolders,
    LinkedOutside,
    /// By the user's options, or by an answer that counts for more than once.
    AllowedBefore,
    DeniedBefore,
    /// By a rule of the user's.
    RuleAsks,
    RuleRejects,
}

impl Decision {
    /// The same where a rule is about it, too: it may ask for more, and never allows more.
    pub fn under(self, rule: Option<rules::Decision>) -> Self {
        match (rule, self.verdict) {
            (None | Some(rules::Decision::Allow), _) | (_, Verdict::Deny) => self,
            (Some(rules::Decision::Reject), _) => {
                Self { verdict: Verdict::Deny, reason: Reason::RuleRejects }
            }
            (Some(rules::Decision::Ask), Verdict::Allow) => {
                Self { verdict: Verdict::Ask, reason: Reason::RuleAsks }
            }
            (Some(rules::Decision::Ask), Verdict::Ask) => self,
        }
    }
}

impl Action<'_> {
    /// Decides. `rule` says what the options and the answers so far say about a file outside of the session's
    /// folders; it is asked for no other action.
    pub fn decide(&self, rule: impl FnOnce(Access, &Path) -> allowlist::Decision) -> Decision {
        let (verdict, reason) = match *self {
            Self::Permission { is_cancelled: true, .. } => (Verdict::Deny, Reason::TurnCancelled),
            Self::Permission { has_options: false, .. } => (Verdict::Deny, Reason::NothingToChoose),
            Self::Permission { .. } => (Verdict::Ask, Reason::AgentAsks),
            Self::Command { location: FileLocation::InFolders, .. } => (Verdict::Allow, Reason::Default),
            // What runs in a folder can write there.
            Self::Command { folder, location, .. } => {
                return Self::File { access: Access::Wrote, path: folder, location }.decide(rule);
            }
            Self::File { location: FileLocation::InFolders, .. } => (Verdict::Allow, Reason::InFolders),
            Self::File { access, path, location } => {
                let outside = match location {
                    FileLocation::LinkedOutside => Reason::LinkedOutside,
                    FileLocation::InFolders | FileLocation::Outside => Reason::OutsideFolders,
                };
                match rule(access, path) {
                    allowlist::Decision::Allowed => (Verdict::Allow, Reason::AllowedBefore),
                    allowlist::Decision::RefusedBefore => (Verdict::Deny, Reason::DeniedBefore),
                    allowlist::Decision::Refused => (Verdict::Deny, outside),
                    allowlist::Decision::Ask => (Verdict::Ask, outside),
                }
            }
        };
        Decision { verdict, reason }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decided(action: Action, rule: Option<allowlist::Decision>) -> (Verdict, Reason) {
        let rule = |_: Access, _: &Path| rule.expect("nobody to be asked");
        let Decision { verdict, reason } = action.decide(rule);
        (verdict, reason)
    }

    #[test]
    fn a_file_in_the_sessions_folders_is_allowed_without_a_question() {
        for access in [Access::Read, Access::Wrote] {
            let action = Action::File { access, path: Path::new("/p/a"), location: FileLocation::InFolders };
            assert_eq!(decided(action, None), (Verdict::Allow, Reason::InFolders));
        }
    }

    #[test]
    fn a_file_outside_is_decided_by_the_options_and_the_answers_so_far() {
        use allowlist::Decision::{Allowed, Ask, Refused, RefusedBefore};
        for (location, why) in [
            (FileLocation::Outside, Reason::OutsideFolders),
            (FileLocation::LinkedOutside, Reason::LinkedOutside),
        ] {
            let action = Action::File { access: Access::Wrote, path: Path::new("/etc/a"), location };
            assert_eq!(decided(action, Some(Allowed)), (Verdict::Allow, Reason::AllowedBefore));
            assert_eq!(decided(action, Some(RefusedBefore)), (Verdict::Deny, Reason::DeniedBefore));
            assert_eq!(decided(action, Some(Refused)), (Verdict::Deny, why));
            assert_eq!(decided(action, Some(Ask)), (Verdict::Ask, why));
        }
    }

    #[test]
    fn a_rule_makes_a_decision_stricter_and_never_looser() {
        use rules::Decision::{Allow, Ask, Reject};
        let all = [
            Decision { verdict: Verdict::Allow, reason: Reason::InFolders },
            Decision { verdict: Verdict::Ask, reason: Reason::OutsideFolders },
            Decision { verdict: Verdict::Deny, reason: Reason::DeniedBefore },
        ];
        let verdicts = |rule| all.map(|decision| decision.under(rule).verdict);
        use Verdict::{Allow as Yes, Ask as Perhaps, Deny as No};
        assert_eq!(verdicts(None), [Yes, Perhaps, No]);
        assert_eq!(verdicts(Some(Allow)), [Yes, Perhaps, No]);
        assert_eq!(verdicts(Some(Ask)), [Perhaps, Perhaps, No]);
        assert_eq!(verdicts(Some(Reject)), [No, No, No]);
    }

    #[test]
    fn a_permission_is_the_users_to_give_unless_the_turn_is_cancelled_or_nothing_is_offered() {
        for (has_options, is_cancelled, decision) in [
            (true, false, (Verdict::Ask, Reason::AgentAsks)),
            (false, false, (Verdict::Deny, Reason::NothingToChoose)),
            (true, true, (Verdict::Deny, Reason::TurnCancelled)),
            (false, true, (Verdict::Deny, Reason::TurnCancelled)),
        ] {
            assert_eq!(decided(Action::Permission { has_options, is_cancelled }, None), decision);
        }
    }

    #[test]
    fn a_command_runs_without_a_question_in_the_sessions_folders_and_elsewhere_as_writing_is_decided() {
        let action = |location| Action::Command { command: "make", folder: Path::new("/p"), location };
        assert_eq!(decided(action(FileLocation::InFolders), None), (Verdict::Allow, Reason::Default));
        for rule in [allowlist::Decision::Allowed, allowlist::Decision::Ask, allowlist::Decision::Refused] {
            let file = Action::File {
                access: Access::Wrote,
                path: Path::new("/p"),
                location: FileLocation::Outside,
            };
            assert_eq!(decided(action(FileLocation::Outside), Some(rule)), decided(file, Some(rule)));
        }
    }
}
