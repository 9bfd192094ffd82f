//! Content blocks, and what carries them. A block that cannot be read is a placeholder, never an error.

use agent_client_protocol_schema::v1;
use serde::Deserialize;
use serde_json::Value;

use super::json::{count, id, text};
use crate::core::ids::TerminalId;
use crate::core::message::{Content, FileDiff, ResourceBody, SESSION_URI, ToolContent};
use crate::core::text::Text;

/// One block, or a text, or a list of either: all of it as blocks.
pub fn blocks(value: &Value) -> Vec<Content> {
    match value {
        Value::Null => Vec::new(),
        Value::Array(items) => items.iter().flat_map(blocks).collect(),
        other => vec![block(other)],
    }
}

/// One block. A bare text is as good as a text block.
pub fn block(value: &Value) -> Content {
    if let Value::String(text) = value {
        return Content::Text(text.as_str().into());
    }
    let kind = value["type"].as_str().unwrap_or_default();
    known(kind, value).unwrap_or_else(|| Content::Unknown { kind: kind.to_owned() })
}

fn known(kind: &str, value: &Value) -> Option<Content> {
    match kind {
        "text" => read::<v1::TextContent>(value).map(|text| Content::Text(text.text.into())),
        "image" => read::<v1::ImageContent>(value).map(|image| Content::Image {
            data: image.data,
            mime: image.mime_type,
            uri: image.uri,
        }),
        "audio" => read::<v1::AudioContent>(value)
            .map(|audio| Content::Audio { data: audio.data, mime: audio.mime_type }),
        "resource_link" => link(value),
        "resource" => resource(&value["resource"]),
        _ => None,
    }
}

fn link(value: &Value) -> Option<Content> {
    let uri = text(&value["uri"])?;
    let name = text(&value["name"])
        .or_else(|| text(&value["title"]))
        .or_else(|| uri.trim_end_matches('/').rsplit('/').next().map(str::to_owned))
        .unwrap_or_default();
    let size = count(&value["size"]);
    Some(Content::Link { uri, name, title: text(&value["title"]), mime: text(&value["mimeType"]), size })
}

fn resource(value: &Value) -> Option<Content> {
    // The crate's type for both is untagged and would take a resource that has neither apart wrongly.
    if value["text"].is_string() {
        let resource = read::<v1::TextResourceContents>(value)?;
        let body = ResourceBody::Text(resource.text);
        Some(Content::Resource { uri: resource.uri, mime: resource.mime_type, body })
    } else {
        let resource = read::<v1::BlobResourceContents>(value)?;
        let body = ResourceBody::Blob(resource.blob);
        Some(Content::Resource { uri: resource.uri, mime: resource.mime_type, body })
    }
}

/// The content of a tool call: null is none, and an empty list clears.
pub fn tool_content(value: &Value) -> Option<Vec<ToolContent>> {
    match value {
        Value::Null => None,
        Value::Array(items) => Some(items.iter().flat_map(tool_items).collect()),
        other => Some(tool_items(other)),
    }
}

fn tool_items(item: &Value) -> Vec<ToolContent> {
    match item["type"].as_str() {
        Some("content") => blocks(&item["content"]).into_iter().map(ToolContent::Content).collect(),
        Some("diff") => vec![diff(item).map_or_else(|| unknown("diff"), ToolContent::Diff)],
        Some("terminal") => vec![
            id(&item["terminalId"])
                .map_or_else(|| unknown("terminal"), |terminal| ToolContent::Terminal(TerminalId(terminal))),
        ],
        Some("session") => vec![id(&item["sessionId"]).map_or_else(|| unknown("session"), session)],
        // A bare content block; a page of the protocol's own shows one.
        _ => vec![ToolContent::Content(block(item))],
    }
}

/// A subagent. Whether it is one that is known, and what it is called, the session knows.
fn session(id: String) -> ToolContent {
    let uri = format!("{SESSION_URI}{id}");
    ToolContent::Content(Content::Link { uri, name: id, title: None, mime: None, size: None })
}

fn unknown(kind: &str) -> ToolContent {
    ToolContent::Content(Content::Unknown { kind: kind.to_owned() })
}

fn diff(item: &Value) -> Option<FileDiff> {
    if let Some(diff) = read::<v1::Diff>(item) {
        let (old_text, new_text) = (diff.old_text.map(Into::into), diff.new_text.into());
        return Some(FileDiff { path: diff.path, old_text, new_text });
    }
    // A deleted file has no new text.
    let deleted = item["deleted"] == true;
    let (path, old_text) = (text(&item["path"])?, text(&item["oldText"]));
    deleted.then(|| FileDiff {
        path: path.into(),
        old_text: old_text.map(Into::into),
        new_text: Text::default(),
    })
}

fn read<'de, T: Deserialize<'de>>(value: &'de Value) -> Option<T> {
    T::deserialize(value).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn unknown_block(kind: &str) -> Content {
        Content::Unknown { kind: kind.into() }
    }

    #[test]
    fn a_block_of_an_unknown_type_stands_between_its_neighbours() {
        let blocks = blocks(
            &json!([{"type": "text", "text": "a"}, {"type": "video", "data": "…"}, "b", {"text": "c"}]),
        );
        assert_eq!(
            blocks,
            [Content::Text("a".into()), unknown_block("video"), Content::Text("b".into()), unknown_block("")]
        );
    }

    #[test]
    fn a_broken_block_is_a_placeholder_of_its_kind() {
        for (kind, block) in [
            ("text", json!({"type": "text"})),
            ("image", json!({"type": "image", "data": "AAAA"})),
            ("audio", json!({"type": "audio", "mimeType": "audio/wav"})),
            ("resource", json!({"type": "resource", "resource": {"uri": "file:///a"}})),
            ("resource_link", json!({"type": "resource_link", "name": "a"})),
        ] {
            assert_eq!(super::block(&block), unknown_block(kind));
        }
    }

    #[test]
    fn what_is_seen_and_heard_keeps_its_type_and_where_it_comes_from() {
        let image = json!({"type": "image", "data": "AAAA", "mimeType": "image/png", "uri": "file:///a.png"});
        assert_eq!(
            block(&image),
            Content::Image {
                data: "AAAA".into(),
                mime: "image/png".into(),
                uri: Some("file:///a.png".into())
            }
        );
        let audio = json!({"type": "audio", "data": "BBBB", "mimeType": "audio/wav"});
        assert_eq!(block(&audio), Content::Audio { data: "BBBB".into(), mime: "audio/wav".into() });
    }

    #[test]
    fn an_embedded_resource_is_text_or_blob() {
        let of = |resource: Value| block(&json!({"type": "resource", "resource": resource}));
        assert_eq!(
            of(json!({"uri": "file:///a", "text": "t", "mimeType": null})),
            Content::Resource { uri: "file:///a".into(), mime: None, body: ResourceBody::Text("t".into()) }
        );
        assert_eq!(
            of(json!({"uri": "file:///a", "blob": "AA==", "mimeType": "image/png"})),
            Content::Resource {
                uri: "file:///a".into(),
                mime: Some("image/png".into()),
                body: ResourceBody::Blob("AA==".into())
            }
        );
    }

    #[test]
    fn a_link_without_a_name_is_called_by_its_last_part() {
        let Content::Link { name, size, .. } =
            block(&json!({"type": "resource_link", "uri": "file:///a/b.rs", "size": 12.0}))
        else {
            panic!("no link")
        };
        assert_eq!((name.as_str(), size), ("b.rs", Some(12)));
    }

    #[test]
    fn tool_content_is_taken_in_every_form_that_is_seen() {
        let text = |text: &str| ToolContent::Content(Content::Text(text.into()));
        assert_eq!(tool_content(&Value::Null), None);
        assert_eq!(tool_content(&json!([])), Some(vec![]));
        assert_eq!(tool_content(&json!("bare")), Some(vec![text("bare")]));
        assert_eq!(
            tool_content(&json!([
                {"type": "content", "content": {"type": "text", "text": "a"}},
                {"type": "content", "content": ["b", {"type": "text", "text": "c"}]},
                {"type": "text", "text": "raw"},
                {"type": "terminal", "terminalId": "t1"},
                {"type": "terminal"},
                {"type": "diff", "path": "a", "newText": "n"},
                {"type": "diff", "path": "a", "oldText": "o", "deleted": true},
                {"type": "diff", "path": "a"},
                {"type": "hologram"},
            ])),
            Some(vec![
                text("a"),
                text("b"),
                text("c"),
                text("raw"),
                ToolContent::Terminal(TerminalId("t1".into())),
                unknown("terminal"),
                ToolContent::Diff(FileDiff { path: "a".into(), old_text: None, new_text: "n".into() }),
                ToolContent::Diff(FileDiff {
                    path: "a".into(),
                    old_text: Some("o".into()),
                    new_text: Text::default()
                }),
                unknown("diff"),
                unknown("hologram"),
            ])
        );
    }
}
