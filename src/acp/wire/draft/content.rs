//! Content blocks, in both directions. What is not of the dialect stays as it is.

use serde_json::{Value, json};

use super::fields::{rename, take, with};
use super::left_out::LeftOut;

/// A block of ours. The dialect has no data beside text in a resource, so that one becomes a link.
pub fn to_agent(mut block: Value, left_out: &mut LeftOut) -> Value {
    match block["type"].as_str() {
        Some("image" | "audio") => {
            let source = json!({ "type": "base64", "mediaType": take(&mut block, "mimeType"), "data": take(&mut block, "data") });
            if take(&mut block, "uri").is_some() {
                left_out.field("prompt", "uri");
            }
            block["source"] = source;
        }
        Some("resource_link") => {
            let (name, title) = (take(&mut block, "name"), take(&mut block, "title"));
            if title.is_some() && name.is_some() && title != name {
                left_out.field("prompt.resource_link", "name");
            }
            if let Some(title) = title.or(name) {
                block["title"] = title;
            }
            for field in ["size", "description"] {
                if take(&mut block, field).is_some() {
                    left_out.field("prompt.resource_link", field);
                }
            }
        }
        Some("resource") => {
            let Some(mut resource) = take(&mut block, "resource") else { return block };
            let uri = take(&mut resource, "uri").unwrap_or_default();
            match take(&mut resource, "text") {
                Some(text) => block["content"] = text,
                None => block["type"] = "resource_link".into(),
            }
            if let Some(mime) = take(&mut resource, "mimeType") {
                block["mimeType"] = mime;
            }
            left_out.rest("prompt.resource", &resource);
            block["title"] = file_name(&uri);
            block["uri"] = uri;
        }
        _ => {}
    }
    block
}

/// A block of the agent's; a bare text is one, too.
pub fn from_agent(mut block: Value, left_out: &mut LeftOut) -> Value {
    if let Value::String(text) = block {
        return json!({ "type": "text", "text": text });
    }
    match block["type"].as_str() {
        Some("image" | "audio") => {
            let Some(mut source) = take(&mut block, "source") else { return block };
            if let Some(mime) = take(&mut source, "mediaType") {
                block["mimeType"] = mime;
            }
            take(&mut source, "type");
            match (take(&mut source, "url"), take(&mut source, "data")) {
                // What both say is the same picture.
                (Some(url), Some(data)) => {
                    block["data"] = data;
                    block["uri"] = url;
                }
                (Some(url), None) => {
                    (block["type"], block["name"]) = ("resource_link".into(), file_name(&url));
                    block["uri"] = url;
                }
                (None, data) => block["data"] = data.unwrap_or_default(),
            }
            left_out.rest("content.source", &source);
            block
        }
        Some("resource") if block.get("resource").is_none() => {
            rename(&mut block, "content", "text");
            take(&mut block, "type");
            if take(&mut block, "title").is_some() {
                left_out.field("content.resource", "title");
            }
            json!({ "type": "resource", "resource": block })
        }
        Some("resource_link") if block.get("name").is_none() => {
            let title = block.get("title").cloned();
            let name = title.unwrap_or_else(|| file_name(&block["uri"]));
            with(block, "name", name)
        }
        _ => block,
    }
}

fn file_name(uri: &Value) -> Value {
    let path = uri.as_str().unwrap_or_default().trim_end_matches('/');
    path.rsplit('/').next().unwrap_or_default().into()
}
