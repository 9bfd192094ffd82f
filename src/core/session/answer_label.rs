//! The labels of the answers to a permission request. An agent names its answers as it likes, and only an
//! answer's kind says what it does, so the kind is put before each name that does not plainly say the
//! same.

use crate::core::message::{PermissionKind, PermissionOption};
use crate::core::text::fitting::cut_end;
use crate::core::text::one_line;

/// So many cells of a name are left in any case.
const LEAST_NAME: usize = 20;

/// `Always allow`, or `allow always: Reject` where the name tells something else than the kind.
pub fn label(option: &PermissionOption) -> String {
    let name = one_line(&option.name);
    let kind = match &option.kind {
        _ if is_plain(&name, &option.kind) => return name,
        PermissionKind::AllowOnce => "allow once".to_owned(),
        PermissionKind::AllowAlways => "allow always".to_owned(),
        PermissionKind::RejectOnce => "reject once".to_owned(),
        PermissionKind::RejectAlways => "reject always".to_owned(),
        PermissionKind::Other(kind) if kind.trim().is_empty() => "unknown effect".to_owned(),
        PermissionKind::Other(kind) => format!("unknown effect {:?}", one_line(kind)),
    };
    if name.is_empty() { kind } else { format!("{kind}: {name}") }
}

/// How an answer is called that is meant for so many questions, below each of them.
pub fn for_all(count: usize, allows: bool) -> String {
    format!("{} all {count}", if allows { "Allow" } else { "Reject" })
}

/// The same in a list of answers.
pub fn for_all_described(count: usize, allows: bool) -> String {
    format!("{} alike \u{b7} this once", for_all(count, allows))
}

/// The same for a list of answers: with what it comes to, where the name leaves that open.
pub fn described(option: &PermissionOption) -> String {
    described_within(option, usize::MAX)
}

/// The same in about so many cells, for lists that cut what is longer: what it comes to is left whole.
pub fn described_within(option: &PermissionOption, room: usize) -> String {
    let label = label(option);
    // A kind that is told says it already.
    if label != one_line(&option.name) {
        return label;
    }
    let (meaning, said): (&str, &[&str]) = match &option.kind {
        PermissionKind::AllowOnce => ("this once", &["once", "this"]),
        PermissionKind::RejectOnce => ("not this time", &["once", "this"]),
        PermissionKind::AllowAlways | PermissionKind::RejectAlways => {
            ("the agent won't ask again", &["session", "again", "all", "every", "everything", "auto"])
        }
        PermissionKind::Other(_) => return label,
    };
    let words = option.name.to_lowercase();
    let mut words = words.split(|char: char| !char.is_alphanumeric());
    if words.any(|word| said.contains(&word)) {
        return label;
    }
    let room = room.saturating_sub(meaning.chars().count() + 3).max(LEAST_NAME);
    format!("{} \u{b7} {meaning}", cut_end(&label, room))
}

const ALLOWS: [&str; 14] = [
    "allow", "allowed", "yes", "ok", "okay", "approve", "accept", "proceed", "permit", "grant", "confirm",
    "continue", "run", "trust",
];
const REJECTS: [&str; 17] = [
    "reject", "rejected", "no", "deny", "decline", "refuse", "disallow", "block", "forbid", "skip", "cancel",
    "abort", "stop", "not", "don't", "dont", "never",
];
/// Words of a name whose answer counts for more than this once.
const LASTS: [&str; 13] = [
    "always",
    "session",
    "again",
    "all",
    "every",
    "everything",
    "any",
    "auto",
    "forever",
    "never",
    "permanently",
    "future",
    "remember",
];

/// Whether a name says what the kind means, to everybody who reads its words. What is quoted in it, such as a
/// command, is no part of that.
fn is_plain(name: &str, kind: &PermissionKind) -> bool {
    let said: String = name.split('`').step_by(2).collect::<Vec<_>>().join(" ").to_lowercase();
    let said = said.replace('\u{2019}', "'");
    let words: Vec<&str> = said
        .split(|char: char| !(char.is_alphanumeric() || char == '\''))
        .filter(|word| !word.is_empty())
        .collect();
    // "Don't ask again" is how long the answer counts, not what it is.
    let answers: Vec<&str> = words
        .iter()
        .enumerate()
        .filter(|(at, word)| !(is_negation(word) && words.get(at + 1) == Some(&"ask")))
        .map(|(_, word)| *word)
        .collect();
    let first = answers.iter().find(|word| **word != "always");
    let begins = |list: &[&str]| first.is_some_and(|word| list.contains(word));
    let has = |list: &[&str]| answers.iter().any(|word| list.contains(word));
    let lasts = words.iter().any(|word| LASTS.contains(word));
    // A few words of Latin letters are read in the same way by all; others only look like them.
    let is_legible = said.chars().all(|char| char.is_ascii_graphic() || char == ' ');
    is_legible
        && match kind {
            PermissionKind::AllowOnce => begins(&ALLOWS) && !has(&REJECTS) && !lasts,
            // "Always" alone allows.
            PermissionKind::AllowAlways => {
                (begins(&ALLOWS) || answers == ["always"]) && !has(&REJECTS) && lasts
            }
            PermissionKind::RejectOnce => begins(&REJECTS) && !has(&ALLOWS) && !lasts,
            PermissionKind::RejectAlways => begins(&REJECTS) && !has(&ALLOWS) && lasts,
            PermissionKind::Other(_) => false,
        }
}

fn is_negation(word: &str) -> bool {
    matches!(word, "don't" | "dont" | "not" | "never")
}

#[cfg(test)]
mod tests {
    use super::*;
    use PermissionKind::{AllowAlways, AllowOnce, Other, RejectAlways, RejectOnce};

    fn option(name: &str, kind: PermissionKind) -> PermissionOption {
        PermissionOption { id: "x".into(), name: name.into(), kind }
    }

    fn labelled(name: &str, kind: PermissionKind) -> String {
        label(&option(name, kind))
    }

    #[test]
    fn an_answer_in_a_list_says_what_it_comes_to() {
        for (name, kind, said) in [
            ("Allow", AllowOnce, "Allow \u{b7} this once"),
            ("Allow once", AllowOnce, "Allow once"),
            ("Always allow", AllowAlways, "Always allow \u{b7} the agent won't ask again"),
            ("Allow for this session", AllowAlways, "Allow for this session"),
            ("No", RejectOnce, "No \u{b7} not this time"),
            ("Never", RejectAlways, "Never \u{b7} the agent won't ask again"),
            // The name says something else than the kind.
            ("Reject", AllowAlways, "allow always: Reject"),
        ] {
            assert_eq!(described(&option(name, kind)), said);
        }
        assert_eq!(described(&option("x", Other("odd".into()))), "unknown effect \"odd\": x");
    }

    #[test]
    fn what_an_answer_comes_to_is_left_whole_where_its_name_is_cut() {
        let name = "Yes, but only on days when the moon is full, for any build there is";
        let always = option(name, AllowAlways);
        let cut = described_within(&always, 60);
        assert!(cut.starts_with("Yes, but only on days"), "{cut}");
        assert!(cut.ends_with("\u{2026} \u{b7} the agent won't ask again"), "{cut}");
        assert!(cut.chars().count() <= 60, "{cut}");
        assert_eq!(described_within(&option("Allow", AllowOnce), 10), "Allow \u{b7} this once");
    }

    #[test]
    fn what_agents_call_their_answers_stays_as_it_is() {
        for (name, kind) in [
            ("Allow", AllowOnce),
            ("Yes", AllowOnce),
            ("Yes, proceed", AllowOnce),
            ("Yes, manually approve edits", AllowOnce),
            ("Allow once", AllowOnce),
            ("Allow this change", AllowOnce),
            ("Always Allow", AllowAlways),
            ("Always", AllowAlways),
            ("Allow always", AllowAlways),
            ("Allow for this session", AllowAlways),
            ("Yes, allow all edits during this session", AllowAlways),
            ("Yes, and don't ask again for exit 3 commands", AllowAlways),
            ("Yes, and don't ask again for these files", AllowAlways),
            ("Yes, and don't ask again for commands that start with `sleep 20; rm -rf no`", AllowAlways),
            ("Yes, and use auto mode", AllowAlways),
            ("Reject", RejectOnce),
            ("No", RejectOnce),
            ("Deny", RejectOnce),
            ("No, keep planning", RejectOnce),
            ("No, provide feedback", RejectOnce),
            ("No, and tell Codex what to do differently", RejectOnce),
            ("Skip this change", RejectOnce),
            ("Always reject", RejectAlways),
            ("Never", RejectAlways),
        ] {
            assert_eq!(labelled(name, kind), name);
        }
    }

    #[test]
    fn the_kind_stands_before_a_name_that_says_something_else() {
        for (name, kind, said) in [
            ("Reject", AllowAlways, "allow always: Reject"),
            ("Reject", AllowOnce, "allow once: Reject"),
            ("Allow", RejectOnce, "reject once: Allow"),
            ("Allow", AllowAlways, "allow always: Allow"),
            ("Always", RejectAlways, "reject always: Always"),
            ("Always allow", AllowOnce, "allow once: Always allow"),
            ("Always allow", RejectAlways, "reject always: Always allow"),
            ("Yes, reject it, always", AllowAlways, "allow always: Yes, reject it, always"),
            ("No", AllowAlways, "allow always: No"),
            ("reject once: Stop", AllowAlways, "allow always: reject once: Stop"),
            // Cyrillic.
            ("\u{410}llow", AllowOnce, "allow once: \u{410}llow"),
            ("\u{5141}\u{8bb8}", AllowOnce, "allow once: \u{5141}\u{8bb8}"),
            ("`Allow`", AllowOnce, "allow once: `Allow`"),
            (" \n", AllowAlways, "allow always"),
            ("Allow", Other("allow_session".into()), "unknown effect \"allow_session\": Allow"),
            ("Allow", Other(String::new()), "unknown effect: Allow"),
        ] {
            assert_eq!(labelled(name, kind), said);
        }
    }
}
