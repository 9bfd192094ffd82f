//! What a prompt refers to: `@src/auth.rs:40-88`, `@diagnostics`, `@https://..` in its text, and what
//! such a reference becomes when it is sent. Finding and reading the files is left to others.

use std::ops::Range;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::core::message::{Content, ResourceBody};
use crate::core::text::one_line;
use crate::core::text::uri;

/// A piece of a prompt's text that stands for something else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reference {
    /// Bytes in the text, the `@` included.
    pub at: Range<usize>,
    pub target: Target,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Target {
    /// As written: relative to the session's root, absolute, or from `~/`.
    File {
        path: String,
        lines: Option<Lines>,
    },
    /// Lines of a buffer that has no file, by the buffer's number.
    Numbered {
        buffer: i64,
        lines: Option<Lines>,
    },
    Named(Named),
    /// `@help:windows`, `@commit:3f2a91c`: one of its kind, by name.
    One {
        kind: Kind,
        name: String,
    },
    Url(String),
}

/// What has a name of its own beside its kind's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Kind {
    Help,
    Commit,
    Symbol,
    Diagnostics,
}

impl Kind {
    const ALL: [(Self, &'static str); 4] = [
        (Self::Help, "help"),
        (Self::Commit, "commit"),
        (Self::Symbol, "symbol"),
        (Self::Diagnostics, "diagnostics"),
    ];

    pub fn word(self) -> &'static str {
        Self::ALL.iter().find(|(kind, _)| *kind == self).map_or("", |(_, word)| word)
    }

    /// Reads `kind:name`, as far as it goes.
    fn read(text: &str) -> Option<(usize, Self, &str)> {
        let (word, rest) = text.split_once(':')?;
        let kind = Self::ALL.iter().find(|(_, known)| *known == word).map(|(kind, _)| *kind)?;
        let mut name = rest;
        loop {
            // What ends a sentence, or closes what stands before the reference.
            let shorter = name.trim_end_matches(['.', ',', ';', ':', '!', '?', '"']);
            let shorter = match shorter.chars().last() {
                Some(')') if shorter.matches(')').count() > shorter.matches('(').count() => {
                    &shorter[..shorter.len() - 1]
                }
                Some('\'') if shorter.matches('\'').count() % 2 == 1 => &shorter[..shorter.len() - 1],
                _ => shorter,
            };
            if shorter.len() == name.len() {
                break;
            }
            name = shorter;
        }
        // A file may be called as a kind is, and `:7` is a line of it; a commit has more digits.
        let is_lines = Lines::read(name).is_some() && (kind != Self::Commit || name.len() < 7);
        (!name.is_empty() && !name.starts_with('-') && !is_lines).then_some((
            word.len() + 1 + name.len(),
            kind,
            name,
        ))
    }
}

/// What is always called the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Named {
    Buffer,
    Selection,
    Diagnostics,
    Quickfix,
    Diff,
    Terminal,
    Symbol,
    Viewport,
    Commit,
}

/// 1-based lines, the last one included; never empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Lines {
    pub first: usize,
    pub last: usize,
}

impl Named {
    pub const ALL: [(Self, &'static str, &'static str); 9] = [
        (Self::Buffer, "buffer", "the buffer you were last in"),
        (Self::Selection, "selection", "the lines you last selected"),
        (Self::Diagnostics, "diagnostics", "errors and warnings of the buffer you were last in"),
        (Self::Quickfix, "quickfix", "the quickfix list"),
        (Self::Diff, "diff", "the output of `git diff`"),
        (Self::Terminal, "terminal", "the end of the last terminal's output"),
        (Self::Symbol, "symbol", "the function or class at the cursor of that buffer"),
        (Self::Viewport, "viewport", "the lines of that buffer that are on the screen"),
        (Self::Commit, "commit", "the last commit"),
    ];

    pub fn word(self) -> &'static str {
        Self::ALL.iter().find(|(named, _, _)| *named == self).map_or("", |(_, word, _)| word)
    }

    pub fn read(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known, _)| *known == word).map(|(named, _, _)| *named)
    }

    /// The one that a word of four letters or more is but for a letter, or two that changed places.
    pub fn near(word: &str) -> Option<Self> {
        let word: Vec<char> = word.to_lowercase().chars().collect();
        let is_near =
            |known: &str| word.len() >= 4 && differ_by_one(&word, &known.chars().collect::<Vec<_>>());
        Self::ALL.iter().find(|(_, known, _)| is_near(known)).map(|(named, _, _)| *named)
    }
}

/// Whether two words are the same but for a letter that is missing, added or another one, or two that changed places.
fn differ_by_one(one: &[char], other: &[char]) -> bool {
    let head = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    let (one, other) = (&one[head..], &other[head..]);
    match (one, other) {
        ([], []) => true,
        ([_, rest @ ..], other) if rest == other => true,
        (one, [_, rest @ ..]) if rest == one => true,
        ([a, b, rest @ ..], [c, d, other @ ..]) if (a, b) == (d, c) && rest == other => true,
        ([_, rest @ ..], [_, other @ ..]) => rest == other,
        _ => false,
    }
}

impl Lines {
    /// `None` where the last comes before the first.
    pub fn new(first: usize, last: usize) -> Option<Self> {
        (first > 0 && first <= last).then_some(Self { first, last })
    }

    fn read(text: &str) -> Option<Self> {
        let number = |text: &str| text.parse::<usize>().ok().filter(|_| !text.starts_with('+'));
        match text.split_once('-') {
            Some((first, last)) => Self::new(number(first)?, number(last)?),
            None => number(text).and_then(|line| Self::new(line, line)),
        }
    }

    /// `40-88`, or `40` for one line.
    pub fn text(self) -> String {
        if self.first == self.last { self.first.to_string() } else { format!("{}-{}", self.first, self.last) }
    }

    /// These lines of a text, without the last one's line break; `None` where the text is shorter.
    pub fn of(self, text: &str) -> Option<&str> {
        let mut start = 0;
        for _ in 1..self.first {
            start += text[start..].find('\n')? + 1;
        }
        if start >= text.len() && self.first > 1 {
            return None;
        }
        let mut end = start;
        for line in self.first..=self.last {
            match text[end..].find('\n') {
                Some(length) if line == self.last => end += length,
                Some(length) => end += length + 1,
                None => return Some(&text[start..]),
            }
        }
        Some(&text[start..end])
    }
}

impl Target {
    /// The reference as it is typed.
    pub fn token(&self) -> String {
        let with = |name: &str, lines: &Option<Lines>| match lines {
            Some(lines) => format!("{name}:{}", lines.text()),
            None => name.to_owned(),
        };
        match self {
            Self::File { path, lines } if is_plain(path) => format!("@{}", with(path, lines)),
            Self::File { path, lines } => format!("@{}", with(&format!("\"{path}\""), lines)),
            Self::Numbered { buffer, lines } => format!("@{}", with(&format!("#{buffer}"), lines)),
            Self::Named(named) => format!("@{}", named.word()),
            Self::One { kind, name } => format!("@{}:{name}", kind.word()),
            Self::Url(url) => format!("@{url}"),
        }
    }

    pub fn lines(&self) -> Option<Lines> {
        match self {
            Self::File { lines, .. } | Self::Numbered { lines, .. } => *lines,
            _ => None,
        }
    }

    pub fn with_lines(&self, new: Lines) -> Self {
        let mut target = self.clone();
        if let Self::File { lines, .. } | Self::Numbered { lines, .. } = &mut target {
            *lines = Some(new);
        }
        target
    }

    /// Whether it was surely meant as one: `@alice` may be a person, `@src/alice.rs` hardly is.
    pub fn is_deliberate(&self) -> bool {
        match self {
            Self::File { path, lines } => lines.is_some() || path.contains(['/', '.']) || !is_plain(path),
            _ => true,
        }
    }
}

/// Whether a path can be written without quotes, and is read back as it was.
fn is_plain(path: &str) -> bool {
    let text = format!("@{path}");
    let read = references(&text);
    matches!(&read[..], [Reference { at, target: Target::File { path: same, lines: None } }]
        if same == path && *at == (0..text.len()))
}

/// Of a prompt at most so many references are followed; the rest go as the text that they are.
pub const MOST_REFERENCES: usize = 500;

/// The references in a prompt, in order, as far as they are followed. What stands in code is none.
pub fn references(text: &str) -> Vec<Reference> {
    let mut found = Vec::new();
    let mut fence: Option<&str> = None;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim();
        let ticks = trimmed.len() - trimmed.trim_start_matches('`').len();
        match fence {
            Some(open) if ticks >= open.len() && ticks == trimmed.len() => fence = None,
            Some(_) => {}
            None if ticks >= 3 => fence = Some(&trimmed[..ticks]),
            None => in_line(line, start, &mut found),
        }
        start += line.len();
        if found.len() >= MOST_REFERENCES {
            found.truncate(MOST_REFERENCES);
            break;
        }
    }
    found
}

fn in_line(line: &str, start: usize, found: &mut Vec<Reference>) {
    let mut at = 0;
    let mut before = ' ';
    let mut code = false;
    // A tick that nothing closes is just a tick.
    let last_tick = line.rfind('`').unwrap_or_default();
    while let Some(char) = line[at..].chars().next() {
        if char == '`' {
            code = !code && at < last_tick;
        }
        if char == '@'
            && !code
            && (before.is_whitespace() || "([{<\"',;".contains(before))
            && let Some((length, target)) = token(&line[at + 1..])
        {
            found.push(Reference { at: start + at..start + at + 1 + length, target });
            at += 1 + length;
            before = 'x';
            continue;
        }
        before = char;
        at += char.len_utf8();
    }
}

/// Reads what follows an `@`: how long it is, and what it means.
fn token(text: &str) -> Option<(usize, Target)> {
    if let Some(quoted) = text.strip_prefix('"') {
        let end = quoted.find(['"', '\n']).filter(|end| *end > 0 && quoted[*end..].starts_with('"'))?;
        let path = quoted[..end].to_owned();
        let rest = &quoted[end + 1..];
        let numbers = rest.strip_prefix(':').map_or("", digits);
        let lines = Lines::read(numbers);
        let length = end + 2 + lines.map_or(0, |_| numbers.len() + 1);
        return Some((length, Target::File { path, lines }));
    }
    let word = text.split(char::is_whitespace).next().unwrap_or_default();
    if ["http://", "https://"].iter().any(|scheme| word.starts_with(scheme) && word.len() > scheme.len()) {
        let url = word.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '}', '>', '"', '\'']);
        return Some((url.len(), Target::Url(url.to_owned())));
    }
    if let Some((length, kind, name)) = Kind::read(word) {
        return Some((length, Target::One { kind, name: name.to_owned() }));
    }
    // What ends a sentence, or closes a bracket that stands before the reference, is no part of it.
    let word = word.split(['"', '`', '<', '>', '|']).next().unwrap_or_default();
    let mut word = word;
    loop {
        let shorter = word.trim_end_matches(['.', ',', ';', ':', '!', '?', '\'']);
        let shorter = match shorter.chars().last() {
            Some(')') if !shorter.contains('(') => &shorter[..shorter.len() - 1],
            Some(']') if !shorter.contains('[') => &shorter[..shorter.len() - 1],
            Some('}') if !shorter.contains('{') => &shorter[..shorter.len() - 1],
            _ => shorter,
        };
        if shorter.len() == word.len() {
            break;
        }
        word = shorter;
    }
    if word.is_empty() || word.starts_with('@') {
        return None;
    }
    let (name, lines) = match word.rsplit_once(':') {
        Some((name, numbers)) if !name.is_empty() => match Lines::read(numbers) {
            Some(lines) => (name, Some(lines)),
            None => (word, None),
        },
        _ => (word, None),
    };
    if let Some(number) = name.strip_prefix('#') {
        let buffer = number.parse().ok().filter(|number: &i64| *number > 0)?;
        return Some((word.len(), Target::Numbered { buffer, lines }));
    }
    if let (Some(named), None) = (Named::read(name), lines) {
        return Some((word.len(), Target::Named(named)));
    }
    Some((word.len(), Target::File { path: name.to_owned(), lines }))
}

fn digits(text: &str) -> &str {
    let end = text.find(|char: char| !char.is_ascii_digit() && char != '-').unwrap_or(text.len());
    text[..end].trim_end_matches('-')
}

/// A file's URI (RFC 8089), with its lines as the fragment that editors agree on: `#L40:88`.
pub fn file_uri(path: &Path, lines: Option<Lines>) -> String {
    let mut uri = uri::from_path(&path.to_string_lossy());
    if let Some(lines) = lines {
        uri.push_str(&format!("#L{}:{}", lines.first, lines.last));
    }
    uri
}

/// How the transcript names what went along with a prompt: `src/auth.rs:40-88 (49 lines)`.
pub fn label(content: &Content, root: &Path) -> Option<String> {
    Some(match content {
        Content::Resource { uri, body: ResourceBody::Text(text), .. } => {
            let count = text.lines().count();
            format!("{} ({count} {})", name_of(uri, root), if count == 1 { "line" } else { "lines" })
        }
        Content::Link { uri, .. } => name_of(uri, root),
        Content::Image { mime, data, uri: Some(uri) } => {
            let kind = mime.trim_start_matches("image/").to_uppercase();
            format!("{} ({kind}, {})", name_of(uri, root), size((data.len() / 4 * 3) as u64))
        }
        _ => return None,
    })
}

/// A size in bytes as people say it.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => format!("{} kB", bytes / 1024),
        _ => format!("{:.1} MB", bytes as f64 / 1_048_576.0),
    }
}

/// A file's URI as its path, relative to the root where it is inside; other URIs as they are.
fn name_of(uri: &str, root: &Path) -> String {
    let (address, fragment) = uri.split_once('#').unwrap_or((uri, ""));
    let Some(path) = uri::to_path(address) else {
        return one_line(uri.strip_prefix("acp://context/").unwrap_or(uri));
    };
    let inside = Path::new(&path).strip_prefix(root).ok().and_then(Path::to_str);
    let name = one_line(inside.filter(|inside| !inside.is_empty()).unwrap_or(&path));
    match fragment.strip_prefix('L').map(|lines| lines.replace(':', "-")).and_then(|text| Lines::read(&text))
    {
        Some(lines) => format!("{name}:{}", lines.text()),
        None => name,
    }
}

/// The media type of an image that agents may take, by its first bytes.
pub fn image_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// Base64 (RFC 4648), with padding.
pub fn base64(bytes: &[u8]) -> String {
    base64::Engine::encode(&base64::engine::general_purpose::STANDARD, bytes)
}

#[cfg(test)]
mod tests;
