//! Content blocks, in both directions. What is not of the dialect stays as it is.

use serde_json::{Value, json};

use super::fields::{rename, take, with};

/// A block of ours. The dialect has no data beside text in a resource, so that one becomes a link.
pub fn to_agent(mut block: Value) -> Value {
    match block["type"].as_str() {
        Some("image" | "audio") => {
            let source = json!({ "type": "base64", "mediaType": take(&mut block, "mimeType"), "data": take(&mut block, "data") });
            take(&mut block, "uri");
            block["source"] = source;
        }
        Some("resource_link") => {
            let name = take(&mut block, "name");
            if let Some(title) = take(&mut block, "title").or(name) {
                block["title"] = title;
            }
            take(&mut block, "size");
            take(&mut block, "description");
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
            block["title"] = file_name(&uri);
            block["uri"] = uri;
        }
        _ => {}
    }
    block
}

/// A block of the agent's; a bare text is one, too.
pub fn from_agent(mut block: Value) -> Value {
    if let Value::String(text) = block {
        return json!({ "type": "text", "text": text });
    }
    match block["type"].as_str() {
        Some("image" | "audio") => {
            let kind = take(&mut block, "type");
            let Some(mut source) = block.get_mut("source").map(Value::take) else { return block };
            let mime = take(&mut source, "mediaType").unwrap_or_default();
            match take(&mut source, "url") {
                Some(url) => {
                    json!({ "type": "resource_link", "name": file_name(&url), "uri": url, "mimeType": mime })
                }
                None => json!({ "type": kind, "mimeType": mime, "data": take(&mut source, "data") }),
            }
        }
        Some("resource") if block.get("resource").is_none() => {
            rename(&mut block, "content", "text");
            take(&mut block, "type");
            take(&mut block, "title");
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
