//! Estimates how much memory an event takes, from lengths of texts and numbers of items, so that it is
//! cheap to ask. What to do when there are too many events is left to `mailbox`.

use serde_json::Value;

use super::{
    ChangedFile, Content, Event, Location, PlanItem, Question, ResourceBody, SlashCommand, ToolCallPatch,
    ToolContent, Update,
};

/// What an event counts beside the texts in it, and an item that is small.
const SMALL: usize = 256;

impl Event {
    /// About how much memory an event holds on to, itself included. It is asked for once for each event and once
    /// for each that is joined to it, so for a chunk of text it must cost nothing.
    pub fn size(&self) -> usize {
        SMALL
            + match self {
                Self::Updated { update, .. } => update_size(update),
                Self::TerminalGrew { bytes, lines, .. } => bytes.len() + lines.size(),
                Self::TerminalStarted { command, .. } => command.len(),
                Self::FileServed { before, after, .. } => {
                    [before, after].into_iter().flatten().map(|text| text.len()).sum()
                }
                Self::FilesChanged { files, .. } => files.iter().map(changed_size).sum(),
                Self::Called { params, .. } | Self::Told { params, .. } => json_size(params),
                Self::ToolCalled { args, .. } => json_size(args),
                Self::ToolServed { outcome, .. } => outcome.as_ref().map_or(0, json_size),
                Self::Asked { question, .. } => match question {
                    Question::Permission { call, options } => call_size(call) + SMALL * options.len(),
                    Question::Write { content, .. } => content.len(),
                    Question::Form { message, schema, .. } => message.len() + json_size(schema),
                    Question::Url { message, url, .. } => message.len() + url.len(),
                    Question::Read { .. } | Question::Outside { .. } => 0,
                },
                Self::Steered { content, .. } => content.iter().map(content_size).sum(),
                Self::Inspected(reply) => reply.size(),
                Self::Listed { sessions, .. } => SMALL * sessions.len(),
                Self::Advised { text, .. } | Self::Noted { text, .. } => text.len(),
                _ => 0,
            }
    }
}

fn changed_size(file: &ChangedFile) -> usize {
    size_of::<ChangedFile>() + file.path.as_os_str().len() + file.before.size() + file.after.size()
}

fn update_size(update: &Update) -> usize {
    let optional = |text: &Option<Option<String>>| text.iter().flatten().map(String::len).sum::<usize>();
    match update {
        Update::Message { content, .. } => content_size(content),
        Update::ToolCall(call) => call_size(call),
        Update::Plan(items) => items.iter().map(|item| size_of::<PlanItem>() + item.content.len()).sum(),
        Update::PlanTold { plan, .. } => plan.size(),
        Update::PlanRemoved { id } => id.len(),
        Update::Suggestions(texts) => texts.iter().map(|text| SMALL + text.len()).sum(),
        Update::Commands(commands) => {
            let texts = |command: &SlashCommand| command.name.len() + command.description.len();
            commands.iter().map(|command| size_of::<SlashCommand>() + texts(command)).sum()
        }
        Update::Options(options) => SMALL * options.len(),
        Update::Info { title, updated_at } => optional(title) + optional(updated_at),
        Update::Notice { title, description, .. } => {
            title.len() + description.as_ref().map_or(0, String::len)
        }
        Update::Compaction { summary, error, .. } => optional(summary) + optional(error),
        Update::CompactionSummary { text, .. } => text.len(),
        Update::Mode(text) | Update::Unknown { kind: text } => text.len(),
        Update::Subagent(patch) => optional(&patch.title) + optional(&patch.description),
        Update::SessionMessage(message) => message.content.iter().flatten().map(content_size).sum(),
        Update::Within { update, .. } => update_size(update),
        Update::Usage { .. } | Update::Dated(_) | Update::Replayed(_) => 0,
        Update::Limit(limit) => limit.window.len(),
    }
}

fn call_size(call: &ToolCallPatch) -> usize {
    let content = call.content.iter().flatten().map(|content| {
        size_of::<ToolContent>()
            + match content {
                ToolContent::Content(content) => content_size(content),
                ToolContent::Diff(diff) => {
                    diff.new_text.len() + diff.old_text.as_ref().map_or(0, |text| text.len())
                }
                ToolContent::Terminal(_) => 0,
            }
    });
    let places = call.locations.iter().flatten();
    let places = places.map(|place| size_of::<Location>() + place.path.as_os_str().len());
    let raw = [&call.raw_input, &call.raw_output].into_iter().flatten().map(json_size);
    size_of::<ToolCallPatch>()
        + call.title.as_ref().map_or(0, String::len)
        + content.sum::<usize>()
        + places.sum::<usize>()
        + raw.sum::<usize>()
}

fn content_size(content: &Content) -> usize {
    match content {
        Content::Text(text) => text.len(),
        Content::Image { data, .. } | Content::Audio { data, .. } => data.len(),
        Content::Link { uri, name, .. } => uri.len() + name.len(),
        Content::Resource { uri, body: ResourceBody::Text(body) | ResourceBody::Blob(body), .. } => {
            uri.len() + body.len()
        }
        Content::Picture(picture) => size_of_val(&**picture),
        Content::Unknown { kind } => kind.len(),
    }
}

fn json_size(value: &Value) -> usize {
    size_of::<Value>()
        + match value {
            Value::String(text) => text.len(),
            Value::Array(items) => items.iter().map(json_size).sum(),
            Value::Object(fields) => {
                fields.iter().map(|(name, value)| size_of::<String>() + name.len() + json_size(value)).sum()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        }
}
