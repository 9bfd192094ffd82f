//! How a line of the record comes about: what a request and a call say of themselves, what was decided and why, and what
//! of it is written down. Secrets are taken out by what the wire log and recordings use.

use std::path::Path;

use serde_json::Value;

use super::line::{By, Decision, Line};
use crate::core::inspector::scrub::{Origin, Scrubber};
use crate::core::message::call::{ToolCallPatch, ToolContent, ToolKind};
use crate::core::message::question::{PermissionOption, RuledBy};
use crate::core::policy::{self, Reason, Verdict};
use crate::core::session::tool_input;
use crate::core::store::allowlist::Choice;
use crate::core::text::cut;

/// The most bytes of one text in a line, and the most paths.
const MOST_TEXT: usize = 4096;
const MOST_PATHS: usize = 50;

impl Line {
    /// What a tool call says of itself; what is known already stays.
    pub fn take_call(&mut self, call: &ToolCallPatch, cwd: &Path) {
        self.call = Some(short(&call.id.0));
        self.tool = call.kind.or(self.tool);
        self.title = call.title.as_deref().map(short).or(self.title.take());
        let kind = self.tool.unwrap_or(ToolKind::Other);
        let input = call.raw_input.as_ref();
        self.command = input.and_then(tool_input::command).map(|it| short(&it)).or(self.command.take());
        let named = call.locations.iter().flatten().map(|location| location.path.clone());
        let told = input.map(|input| tool_input::locations(input, kind)).unwrap_or_default();
        let told = told.into_iter().map(|location| location.path);
        let diffs = call.content.iter().flatten().filter_map(|item| match item {
            ToolContent::Diff(diff) => Some(diff.path.clone()),
            _ => None,
        });
        for path in named.chain(told).chain(diffs) {
            self.add_path(&cwd.join(path));
        }
    }

    /// What another line has found out about a call.
    pub fn is_about(&mut self, of_call: &Self) {
        let Self { call, tool, title, command, paths, .. } = of_call;
        (self.call, self.tool) = (call.clone(), *tool);
        (self.title, self.command, self.paths) = (title.clone(), command.clone(), paths.clone());
    }

    pub fn add_path(&mut self, path: &Path) {
        let path = short(&path.to_string_lossy());
        if self.paths.len() < MOST_PATHS && !self.paths.contains(&path) {
            self.paths.push(path);
        }
    }

    pub fn offer(&mut self, options: &[PermissionOption]) {
        self.options = options.iter().map(|option| option.kind.word().to_owned()).collect();
    }

    /// What the policy says, as far as that decides it.
    pub fn decided(&mut self, decision: policy::Decision) {
        let (by, reason) = because(decision.reason);
        self.reason = reason.map(str::to_owned);
        match decision.verdict {
            Verdict::Ask => {}
            Verdict::Allow => (self.decision, self.by) = (Some(Decision::Allowed), Some(by)),
            Verdict::Deny => (self.decision, self.by) = (Some(Decision::Rejected), Some(by)),
        }
    }

    /// A person has taken this answer.
    pub fn answered(&mut self, kind: &str, allows: bool) {
        self.answer = Some(kind.to_owned());
        self.by = Some(By::Person);
        self.decision = Some(if allows { Decision::Allowed } else { Decision::Rejected });
    }

    /// The same where a rule has decided, if one has.
    pub fn decided_under(&mut self, decision: policy::Decision, rule: Option<String>) {
        self.decided(decision);
        self.rule = rule.or(self.rule.take());
    }

    /// They were not asked: this answer was taken for them.
    pub fn ruled(&mut self, kind: &str, allows: bool, by: RuledBy) {
        self.answered(kind, allows);
        match by {
            RuledBy::Rule(rule) => (self.by, self.rule) = (Some(By::Rule), Some(rule)),
            RuledBy::Auto(why) => (self.by, self.reason) = (Some(By::Auto), Some(why)),
        }
    }

    pub fn chosen(&mut self, choice: Choice) {
        self.answered(choice.id(), choice.allows());
    }

    /// The user did not want lines of theirs to be overwritten.
    pub fn write_refused(&mut self) {
        (self.decision, self.by) = (Some(Decision::Rejected), Some(By::Person));
        self.decided = Some("you refused the write".to_owned());
    }

    /// Nobody has decided it, and nobody will.
    pub fn dropped(&mut self) {
        self.decision.get_or_insert(Decision::Undecided);
    }

    /// What takes secrets out of lines.
    pub fn scrubber(secrets: &[String]) -> Scrubber {
        Scrubber::new(&Origin::default(), secrets)
    }

    /// As it is written, as JSON: without secrets, and no longer than a line should be.
    pub fn written(mut self, scrubber: &mut Scrubber) -> String {
        let error = self.error.take().map(|error| short(&error));
        self.error = error;
        self.args = self.args.iter().take(MOST_PATHS).map(|arg| short(arg)).collect();
        match serde_json::to_string(&self) {
            // Most hold no secret, and no field is called like one.
            Ok(text) if !scrubber.may_find(&text) => text,
            _ => self.without_secrets(scrubber).to_string(),
        }
    }

    fn without_secrets(&self, scrubber: &mut Scrubber) -> Value {
        let mut value = serde_json::to_value(self).unwrap_or_default();
        scrubber.message(&mut value);
        value
    }

    /// The command as one reads it.
    pub fn command_line(&self) -> Option<String> {
        let command = self.command.as_ref()?;
        Some([command].into_iter().chain(&self.args).map(String::as_str).collect::<Vec<_>>().join(" "))
    }
}

fn short(text: &str) -> String {
    cut(text, MOST_TEXT).to_owned()
}

/// Who has decided for this reason, and what there is to say of it.
fn because(reason: Reason) -> (By, Option<&'static str>) {
    match reason {
        Reason::Default => (By::Default, None),
        Reason::AgentAsks => (By::Person, None),
        Reason::NothingToChoose => (By::Default, Some("no answer to choose from")),
        Reason::TurnCancelled => (By::Default, Some("the turn was cancelled")),
        Reason::InFolders => (By::Default, Some("in the session's folders")),
        Reason::OutsideFolders => (By::Default, Some("outside of the session's folders")),
        Reason::LinkedOutside => (By::Default, Some("has another name outside of the session's folders")),
        Reason::RuleAsks | Reason::RuleRejects => (By::Rule, None),
        Reason::AllowedBefore | Reason::DeniedBefore => {
            (By::Earlier, Some("the options or an earlier answer"))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use proptest::prelude::*;

    use crate::core::audit::line::{Outcome, What};
    use crate::core::message::question::PermissionKind;

    #[test]
    fn a_line_holds_what_rules_can_be_tried_on_and_survives_json() {
        let mut call = ToolCallPatch::new("c1");
        call.title = Some("Run tests".into());
        call.kind = Some(ToolKind::Execute);
        call.raw_input = Some(json!({ "command": "cargo test" }));
        let mut line = Line { at: 5, agent: "claude".into(), what: What::Permission, ..Line::default() };
        line.take_call(&call, Path::new("/p"));
        let kinds = [PermissionKind::AllowOnce, PermissionKind::RejectOnce];
        let options = kinds.map(|kind| PermissionOption { id: "x".into(), name: "y".into(), kind });
        line.offer(&options);
        line.decided(policy::Decision { verdict: Verdict::Ask, reason: Reason::AgentAsks });
        line.answered("allow_once", true);
        let written = line.clone().written(&mut Line::scrubber(&[]));
        assert_eq!(serde_json::from_str::<Line>(&written).expect("a line"), line);
        let written: Value = serde_json::from_str(&written).expect("JSON");
        assert_eq!(written["command"], "cargo test");
        assert_eq!(written["tool"], "Execute");
        assert_eq!(written["options"], json!(["allow_once", "reject_once"]));
        assert_eq!((&written["decision"], &written["by"]), (&json!("allowed"), &json!("person")));
    }

    #[test]
    fn what_a_later_message_leaves_out_of_a_call_stays() {
        let mut call = ToolCallPatch::new("c1");
        call.raw_input = Some(json!({ "command": "make", "path": "a.c" }));
        call.kind = Some(ToolKind::Edit);
        let mut line = Line::default();
        line.take_call(&call, Path::new("/p"));
        line.take_call(&ToolCallPatch::new("c1"), Path::new("/p"));
        assert_eq!((line.command.as_deref(), &line.paths[..]), (Some("make"), &["/p/a.c".to_owned()][..]));
    }

    #[test]
    fn secrets_do_not_get_into_the_record() {
        let mut line = Line { what: What::Command, command: Some("curl".into()), ..Line::default() };
        line.args = vec!["-H".into(), "Authorization: Bearer abcdefghi".into(), "of-the-environment".into()];
        line.error = Some("sk-0123456789abcdef is no key".into());
        let written = line.written(&mut Line::scrubber(&["of-the-environment".into()]));
        for secret in ["abcdefghi", "of-the-environment", "0123456789abcdef"] {
            assert!(!written.contains(secret), "{secret} in {written}");
        }
    }

    #[test]
    fn a_long_text_is_cut_and_a_line_of_another_version_is_read() {
        let line = Line { error: Some("x".repeat(100_000)), ..Line::default() };
        assert!(line.written(&mut Line::scrubber(&[])).len() < 2 * MOST_TEXT);
        let line: Line =
            serde_json::from_value(json!({ "at": 1, "what": "read", "new": {} })).expect("a line");
        assert_eq!((line.at, line.what), (1, What::Read));
    }

    /// A text in which secrets may stand, also behind what JSON writes otherwise.
    fn text() -> impl Strategy<Value = String> {
        let part = prop_oneof![
            "[a-zA-Z0-9_./:@ -]{0,12}",
            Just("sk-0123456789abcdef".to_owned()),
            Just("MY_TOKEN=\"abcdefgh\"".to_owned()),
            Just("Bearer\tabcdefgh\n".to_owned()),
            Just("https://me:abcdefgh@host".to_owned()),
            Just("quoted\"secret\\".to_owned()),
            Just("öffentlich".to_owned()),
        ];
        prop::collection::vec(part, 0..4).prop_map(|parts| parts.concat())
    }

    proptest! {
        #[test]
        fn a_line_is_written_as_if_each_text_were_looked_at(
            (title, command, cwd, error) in (text(), text(), text(), text()),
            (args, paths) in (prop::collection::vec(text(), 0..3), prop::collection::vec(text(), 0..3)),
            secrets in prop::sample::subsequence(vec!["quoted\"secret\\", "öffentlich", "zz"], 0..=3),
        ) {
            let line = Line {
                // All fields are there, so that none is called like one that holds a secret.
                call: Some("c".into()),
                options: vec!["allow_once".into()],
                answer: Some("allow_once".into()),
                rule: Some("a rule".into()),
                unasked: Some("a rule".into()),
                reason: Some("why".into()),
                decided: Some("what".into()),
                tool: Some(ToolKind::Edit),
                decision: Some(Decision::Allowed),
                by: Some(By::Rule),
                outcome: Some(Outcome::Done),
                exit: Some(1),
                at: 1,
                what: What::Call,
                agent: "a".into(),
                session: "s".into(),
                project: "/p".into(),
                title: Some(title),
                command: Some(command),
                cwd: Some(cwd),
                error: Some(error),
                args,
                paths,
            };
            let secrets: Vec<String> = secrets.into_iter().map(str::to_owned).collect();
            let each = line.without_secrets(&mut Line::scrubber(&secrets)).to_string();
            prop_assert_eq!(line.written(&mut Line::scrubber(&secrets)), each);
        }
    }
}
