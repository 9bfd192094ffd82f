//! Which requests are alike, so that one answer may be meant for all of them: the same programs with the same first word,
//! files in the same folder, the same host or tool. What is dangerous, or not known for sure, is like nothing else.

use std::collections::BTreeSet;
use std::path::Path;

use super::line::{Certainty, Line, Run, base};
use super::request::{Act, Request};
use super::ruling::{Ground, Ruling};
use super::shell;

/// A text that requests which are alike have in common; nothing where one is to be looked at alone.
pub fn of(request: &Request, ruling: &Ruling) -> Option<String> {
    let is_doubtful = ruling.steps.iter().any(|step| matches!(step.ground, Ground::Doubt | Ground::Place));
    if is_doubtful || !ruling.dangers.is_empty() || request.acts.is_empty() || request.escapes {
        return None;
    }
    let mut parts = BTreeSet::new();
    for act in &request.acts {
        match act {
            Act::Line(line) => parts.extend(of_line(&shell::read(line))?),
            Act::Words(words) => parts.extend(of_line(&shell::read_words(words))?),
            Act::File { path, writes } => {
                let verb = if *writes { "write" } else { "read" };
                parts.insert(format!("{verb} {}", path.parent().unwrap_or(Path::new("")).display()));
            }
            Act::Host(host) => {
                parts.insert(format!("host {host}"));
            }
            Act::Mcp(tool) => {
                parts.insert(format!("mcp {tool}"));
            }
        }
    }
    let kind = request.kind.as_deref().unwrap_or_default();
    let folder = request.folder.iter().map(|folder| folder.display().to_string());
    let parts = [kind.to_owned()].into_iter().chain(folder).chain(parts);
    Some(parts.collect::<Vec<_>>().join("\n"))
}

fn of_line(line: &Line) -> Option<Vec<String>> {
    let is_clear = line.doubts.is_empty() && line.redirects.is_empty() && !line.runs.is_empty();
    let runs = line.runs.iter().map(of_run);
    if is_clear { runs.collect() } else { None }
}

/// A program and what it is told first, which most name what they do by.
fn of_run(run: &Run) -> Option<String> {
    if run.certainty == Certainty::Possible {
        return None;
    }
    let mut words = run.words.iter();
    let program = base(words.next()?.plain()?).to_owned();
    let first = match words.next() {
        Some(word) => word.plain()?,
        None => "",
    };
    let first = if first.starts_with('-') { "" } else { first };
    Some(format!("run {program} {first}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::rules::danger::Danger;

    fn likeness(acts: &[Act]) -> Option<String> {
        of(
            &Request { kind: Some("execute".into()), acts: acts.to_vec(), ..Request::default() },
            &Ruling::default(),
        )
    }

    fn lines(one: &str, other: &str) -> bool {
        let [one, other] = [one, other].map(|line| likeness(&[Act::Line(line.to_owned())]));
        one.is_some() && one == other
    }

    #[test]
    fn commands_are_alike_by_their_program_and_first_word() {
        for (one, other, are_alike) in [
            ("git status", "git status -s", true),
            ("git status", "git log", false),
            ("cargo test a", "cargo test b -- --nocapture", true),
            ("ls src && git log", "git log -3 && ls src", true),
            ("ls -l src", "ls -a tests", true),
            ("ls src", "ls tests", false),
            ("make", "make", true),
            ("make", "make install", false),
            ("/usr/bin/git status", "git status", true),
            // What is not known for sure is like nothing, not even itself.
            ("echo $(x)", "echo $(x)", false),
            ("echo a > b", "echo a > b", false),
            ("$x", "$x", false),
            ("", "", false),
        ] {
            assert_eq!(lines(one, other), are_alike, "{one} | {other}");
        }
    }

    #[test]
    fn files_are_alike_by_their_folder_and_what_is_done_to_them() {
        let file = |path: &str, writes| likeness(&[Act::File { path: path.into(), writes }]);
        assert_eq!(file("/p/a", true), file("/p/b", true));
        assert_ne!(file("/p/a", true), file("/p/a", false));
        assert_ne!(file("/p/a", true), file("/p/sub/a", true));
        let tool = |name: &str| likeness(&[Act::Mcp(name.into())]);
        assert_eq!(tool("db.read"), tool("db.read"));
        assert_ne!(tool("db.read"), tool("db.write"));
        assert_eq!(likeness(&[]), None, "nothing is known of it");
    }

    #[test]
    fn what_is_dangerous_is_looked_at_alone() {
        let request = Request { acts: vec![Act::Line("rm a".into())], ..Request::default() };
        let ruling = Ruling { dangers: vec![Danger::Deletes], ..Ruling::default() };
        assert_eq!(of(&request, &ruling), None);
    }
}
