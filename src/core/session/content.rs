//! Content blocks as text: how a prompt is shown to its user, and what a message shows for a block that
//! is not text.

use std::path::Path;

use crate::core::message::image;
use crate::core::message::{Content, ResourceBody};
use crate::core::session::references;
use crate::core::text::{Text, one_line};

/// A prompt as its user sees it: the text, and a line for each attachment.
pub(super) fn describe(content: &[Content], root: &Path) -> (Text, Vec<String>) {
    let mut text = Text::default();
    let mut attachments = Vec::new();
    for block in content {
        match block {
            // One text alone, which may be long, is shared.
            Content::Text(part) if text.is_empty() => text = part.clone(),
            Content::Text(part) => text.push_str(part),
            other => attachments.push(references::label(other, root).unwrap_or_else(|| as_markdown(other))),
        }
    }
    (text, attachments)
}

/// A content block as Markdown; what is no text becomes a line that names it.
pub fn as_markdown(content: &Content) -> String {
    match content {
        Content::Text(text) => text.to_string(),
        Content::Image { data, mime, uri } => media("image", mime, data, uri.as_deref()),
        Content::Audio { data, mime } => media("audio", mime, data, None),
        Content::Link { uri, name, title, .. } => {
            let name = title.as_deref().unwrap_or(name);
            format!("[{}]({uri})", one_line(name))
        }
        Content::Resource { uri, body: ResourceBody::Text(text), .. } => {
            format!("[{uri}]({uri}) ({} lines)", text.lines().count())
        }
        Content::Resource { uri, mime, body: ResourceBody::Blob(data) } => {
            media("resource", mime.as_deref().unwrap_or("binary"), data, Some(uri))
        }
        Content::Picture(picture) => image::label(picture),
        Content::Unknown { kind } => format!("[{}: this client cannot show it]", one_line(kind)),
    }
}

/// A text without blank lines at its beginning, and without an indent that means nothing in Markdown.
pub(super) fn without_lead(text: &str) -> &str {
    let text = text.trim_start_matches(['\r', '\n']);
    let inner = text.trim_start_matches(' ');
    if text.len() - inner.len() < 4 { inner } else { text }
}

fn media(what: &str, mime: &str, data: &str, uri: Option<&str>) -> String {
    let bytes = data.len() / 4 * 3;
    let size = match bytes {
        0..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => format!("{} kB", bytes / 1024),
        _ => format!("{} MB", bytes / 1_048_576),
    };
    let label = format!("{what}: {}, {size}", one_line(mime));
    match uri {
        Some(uri) => format!("[{label}]({uri})"),
        None => format!("[{label}]"),
    }
}
