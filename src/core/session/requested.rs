//! What a tool call comes to, for rules to judge: what it runs, which files it touches, whom it asks. It goes by what the
//! agent says of the call; what an agent doesn't say, no rule knows.

use std::path::Path;

use super::tool_call::ToolCall;
use super::tool_input;
use crate::core::message::ToolKind;
use crate::core::rules::{Act, Request};
use crate::core::text::url_check::Address;

/// Under these names adapters offer the agent's own tools, such as `mcp__acp__Bash`.
const ADAPTERS: [&str; 1] = ["acp"];

impl ToolCall {
    /// What is asked for with it, in a session that works in this folder.
    pub fn requested(&self, cwd: &Path) -> Request {
        let input = self.raw_input.as_ref();
        let mut acts = input.map(tool_input::runs).unwrap_or_default();
        let runs = !acts.is_empty() || self.kind == ToolKind::Execute;
        let mut diffs: Vec<_> = self.diffs().map(|diff| cwd.join(&diff.path)).collect();
        diffs.dedup();
        let changes = matches!(self.kind, ToolKind::Edit | ToolKind::Delete | ToolKind::Move);
        // The places of a command are where it runs, and what its output names.
        let named = self.places().into_iter().filter(|_| !runs).map(|place| cwd.join(place.path));
        for path in named.filter(|path| !diffs.contains(path)).collect::<Vec<_>>() {
            let act = Act::File { path, writes: changes };
            if !acts.contains(&act) {
                acts.push(act);
            }
        }
        acts.extend(diffs.into_iter().map(|path| Act::File { path, writes: true }));
        let addresses = input.map(tool_input::addresses).unwrap_or_default();
        acts.extend(addresses.iter().map(|address| Act::Host(Address::read(address).host)));
        acts.extend(self.server_tool().map(Act::Mcp));
        Request {
            kind: Some(self.kind.word().to_owned()),
            acts,
            folder: input.and_then(tool_input::folder).map(|folder| cwd.join(folder)),
            escapes: input.is_some_and(tool_input::escapes),
        }
    }

    /// The tool of an MCP server, as `server.tool`: agents write `mcp__server__tool`.
    fn server_tool(&self) -> Option<String> {
        let name = self.name.as_deref().unwrap_or(&self.title);
        let (server, tool) = name.strip_prefix("mcp__")?.split_once("__")?;
        let is_name = |text: &str| !text.is_empty() && !text.contains(char::is_whitespace);
        // What it does is judged by what it runs and changes.
        if ADAPTERS.contains(&server) && self.kind != ToolKind::Other {
            return None;
        }
        (is_name(server) && is_name(tool)).then(|| format!("{server}.{tool}"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::core::ids::{Moment, ToolCallId};
    use crate::core::message::{FileDiff, ToolCallPatch, ToolContent};

    fn requested(kind: ToolKind, input: Value) -> Request {
        let patch = ToolCallPatch { kind: Some(kind), raw_input: Some(input), ..ToolCallPatch::new("c1") };
        let mut call = ToolCall::new(ToolCallId("c1".into()), Moment(0));
        call.patch(patch, Moment(0));
        call.requested(Path::new("/p"))
    }

    fn line(text: &str) -> Act {
        Act::Line(text.to_owned())
    }

    #[test]
    fn each_shape_of_a_command_is_judged_as_it_is_run() {
        let acts = |input: Value| requested(ToolKind::Execute, input).acts;
        assert_eq!(acts(json!({ "command": "rm x; ls" })), [line("rm x; ls")]);
        let words = ["bash", "-lc", "rm x; ls"].map(str::to_owned).to_vec();
        assert_eq!(acts(json!({ "command": ["bash", "-lc", "rm x; ls"] })), [Act::Words(words)]);
        assert_eq!(acts(json!({ "commands": ["ls", "rm x"] })), [line("ls"), line("rm x")]);
        assert_eq!(acts(json!({ "command": "ls", "script": "rm x" })), [line("ls"), line("rm x")]);
        assert_eq!(acts(json!({ "command": [{ "command": "rm x" }] })), [line("rm x")]);
        assert_eq!(acts(json!({ "command": 7 })), [line("7")]);
        assert_eq!(acts(json!({})), []);
    }

    #[test]
    fn a_commands_folder_and_what_frees_it_from_a_sandbox_are_known() {
        let request = requested(ToolKind::Execute, json!({ "command": "ls", "workdir": "src" }));
        assert_eq!((request.folder, request.escapes), (Some("/p/src".into()), false));
        for input in [
            json!({ "command": "ls", "with_escalated_permissions": true }),
            json!({ "command": "ls", "sandbox_permissions": "require_escalated" }),
            json!({ "command": "ls", "env": { "LD_PRELOAD": "x" } }),
        ] {
            assert!(requested(ToolKind::Execute, input.clone()).escapes, "{input}");
        }
        for input in [json!({ "command": "ls", "sandbox_permissions": "use_default" }), json!({ "env": {} })]
        {
            assert!(!requested(ToolKind::Execute, input.clone()).escapes, "{input}");
        }
    }

    #[test]
    fn files_are_written_where_a_call_edits_or_has_a_diff() {
        let edit = json!({ "command": "str_replace", "path": "a.txt", "old_str": "a", "new_str": "b" });
        let written = Act::File { path: "/p/a.txt".into(), writes: true };
        assert_eq!(requested(ToolKind::Edit, edit).acts, std::slice::from_ref(&written));
        let read = Act::File { path: "/p/a.txt".into(), writes: false };
        assert_eq!(requested(ToolKind::Read, json!({ "file_path": "a.txt" })).acts, [read]);
        let mut call = ToolCall::new(ToolCallId("c1".into()), Moment(0));
        let diff = FileDiff { path: "a.txt".into(), old_text: None, new_text: "b".into() };
        let patch = ToolCallPatch {
            kind: Some(ToolKind::Read),
            content: Some(vec![ToolContent::Diff(diff)]),
            ..ToolCallPatch::new("c1")
        };
        call.patch(patch, Moment(0));
        assert_eq!(call.requested(Path::new("/p")).acts, [written], "whatever kind it says that it is");
    }

    #[test]
    fn hosts_and_tools_of_servers_are_named() {
        let fetch = requested(ToolKind::Fetch, json!({ "url": "https://docs.rs@evil.com/x" }));
        assert_eq!(fetch.acts, [Act::Host("evil.com".into())]);
        let mut call = ToolCall::new(ToolCallId("c1".into()), Moment(0));
        let title = Some("mcp__github__create_issue".to_owned());
        call.patch(ToolCallPatch { title, ..ToolCallPatch::new("c1") }, Moment(0));
        assert_eq!(call.requested(Path::new("/p")).acts, [Act::Mcp("github.create_issue".into())]);
    }
}
