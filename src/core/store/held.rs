//! What was at a path at some time, byte for byte: no file, a text, other bytes, or a symbolic link, with its permissions
//! where they are known. Also how a journal names it. Reading files and putting them back is left to `acp`.

use std::fmt;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::core::store::stored_path;
use crate::core::text::Text;

/// More bytes are not kept of a file.
pub const MAX_FILE_BYTES: usize = 4 << 20;

/// What a path held, byte for byte.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Held {
    /// There was nothing.
    Absent,
    /// A file of UTF-8 text.
    Text(Text, Mode),
    /// A file of anything else.
    Bytes(Bytes, Mode),
    /// A symbolic link, and where it led, as it says so itself.
    Link(#[serde(with = "stored_path")] PathBuf),
    /// More than is kept, a folder, a device, or what could not be read.
    Unknown,
}

/// The permission bits of a file; `None` where nobody looked, or where the system has none. What is not known counts as
/// the same as anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mode(pub Option<u32>);

/// Bytes that many may hold. A clone costs nothing.
#[derive(Clone, PartialEq, Eq)]
pub struct Bytes(Arc<Vec<u8>>);

/// In Base64: a list of numbers would be four times as long.
impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(&**self.0))
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = STANDARD.decode(text).map_err(D::Error::custom)?;
        Ok(Self(Arc::new(bytes)))
    }
}

/// The same as [`Held`] as the journal has it: contents are kept apart, under names that follow from what they are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stored {
    Absent,
    /// A file, text or not, whose permissions are not known.
    Text(String),
    /// A file, text or not.
    File {
        name: String,
        mode: u32,
    },
    /// A symbolic link. Where it leads is kept like a file's content, since it need not be text.
    Link(String),
    Unknown,
}

impl Held {
    /// A text whose permissions are not known.
    pub fn text(text: impl Into<Text>) -> Self {
        Self::Text(text.into(), Mode::default())
    }

    /// What a file with these bytes holds: text, where it is text that an editor shows as it is.
    pub fn of_bytes(bytes: Vec<u8>, mode: Mode) -> Self {
        if bytes.contains(&0) {
            return Self::Bytes(bytes.into(), mode);
        }
        match String::from_utf8(bytes) {
            Ok(text) => Self::Text(text.into(), mode),
            Err(error) => Self::Bytes(error.into_bytes().into(), mode),
        }
    }

    pub fn as_text(&self) -> Option<&Text> {
        match self {
            Self::Text(text, _) => Some(text),
            Self::Absent | Self::Bytes(..) | Self::Link(_) | Self::Unknown => None,
        }
    }

    /// What a file holds, text or not.
    pub fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Text(text, _) => Some(text.as_bytes()),
            Self::Bytes(bytes, _) => Some(bytes),
            Self::Absent | Self::Link(_) | Self::Unknown => None,
        }
    }

    /// The permissions of a file, as far as they are known.
    pub fn mode(&self) -> Mode {
        match self {
            Self::Text(_, mode) | Self::Bytes(_, mode) => *mode,
            Self::Absent | Self::Link(_) | Self::Unknown => Mode::default(),
        }
    }

    /// The same with other permissions, if it is a file.
    pub fn with_mode(self, mode: Mode) -> Self {
        match self {
            Self::Text(text, _) => Self::Text(text, mode),
            Self::Bytes(bytes, _) => Self::Bytes(bytes, mode),
            other => other,
        }
    }

    /// About how much memory it holds on to.
    pub fn size(&self) -> usize {
        match self {
            Self::Link(target) => target.as_os_str().len(),
            held => held.bytes().map_or(0, <[u8]>::len),
        }
    }

    /// Whether nothing is known that tells the two apart.
    pub fn matches(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Text(one, mode), Self::Text(other, of_other)) => one == other && mode.matches(*of_other),
            (Self::Bytes(one, mode), Self::Bytes(other, of_other)) => one == other && mode.matches(*of_other),
            (one, other) => one == other,
        }
    }
}

impl Mode {
    pub fn matches(self, other: Self) -> bool {
        match (self.0, other.0) {
            (Some(one), Some(other)) => one == other,
            _ => true,
        }
    }

    /// This, or else the other.
    pub fn or(self, other: Self) -> Self {
        Self(self.0.or(other.0))
    }
}

/// As `chmod` takes it.
impl fmt::Display for Mode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(bits) => write!(formatter, "{bits:03o}"),
            None => formatter.write_str("unknown"),
        }
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Arc::new(bytes))
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "b\"{}\"", self.escape_ascii())
    }
}

impl Stored {
    /// A file whose content is kept under a name.
    pub fn file(name: String, mode: Mode) -> Self {
        match mode.0 {
            Some(mode) => Self::File { name, mode },
            None => Self::Text(name),
        }
    }

    /// The permissions of a file, as far as they are known.
    pub fn mode(&self) -> Mode {
        match self {
            Self::File { mode, .. } => Mode(Some(*mode)),
            Self::Absent | Self::Text(_) | Self::Link(_) | Self::Unknown => Mode::default(),
        }
    }

    /// The same with other permissions, if it is a file.
    pub fn with_mode(self, mode: Mode) -> Self {
        match self {
            Self::Text(name) | Self::File { name, .. } => Self::file(name, mode),
            other => other,
        }
    }

    /// Under which name bytes are kept for it.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Text(name) | Self::File { name, .. } | Self::Link(name) => Some(name),
            Self::Absent | Self::Unknown => None,
        }
    }

    /// Whether nothing is known that tells the two apart.
    pub fn matches(&self, other: &Self) -> bool {
        let is_file = |stored: &Self| matches!(stored, Self::Text(_) | Self::File { .. });
        match is_file(self) && is_file(other) {
            true => self.name() == other.name() && self.mode().matches(other.mode()),
            false => self == other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_editor_would_not_show_as_it_is_counts_as_bytes() {
        let of = |bytes: &[u8]| Held::of_bytes(bytes.to_vec(), Mode(Some(0o644)));
        assert_eq!(of(b"a\r\n"), Held::Text("a\r\n".into(), Mode(Some(0o644))));
        for bytes in [&b"a\0b"[..], b"\xff\xfea\0", b"caf\xe9\n"] {
            let held = of(bytes);
            assert!(matches!(held, Held::Bytes(..)), "{held:?}");
            assert_eq!(held.bytes(), Some(bytes));
        }
    }

    #[test]
    fn a_mode_that_is_not_known_is_the_same_as_any() {
        let text = |mode| Held::Text("a".into(), Mode(mode));
        assert!(text(None).matches(&text(Some(0o755))));
        assert!(text(Some(0o755)).matches(&text(Some(0o755))));
        assert!(!text(Some(0o644)).matches(&text(Some(0o755))));
        assert!(!text(None).matches(&Held::text("b")));
        assert!(!text(None).matches(&Held::Bytes(b"a".to_vec().into(), Mode(None))));
        assert!(!Held::Link("a".into()).matches(&Held::Link("b".into())));
    }

    #[test]
    fn the_journal_says_no_more_than_is_known_and_is_read_as_it_was_once() {
        let file = |mode| Stored::file("x".into(), Mode(mode));
        let all = [
            (Stored::Absent, r#""absent""#),
            (file(None), r#"{"text":"x"}"#),
            (file(Some(0o755)), r#"{"file":{"name":"x","mode":493}}"#),
            (Stored::Link("y".into()), r#"{"link":"y"}"#),
            (Stored::Unknown, r#""unknown""#),
        ];
        for (stored, text) in all {
            assert_eq!(serde_json::to_string(&stored).expect("plain data"), text);
            assert_eq!(serde_json::from_str::<Stored>(text).expect("it can be read"), stored);
        }
    }

    #[test]
    fn a_file_of_a_journal_without_modes_is_the_same_with_any() {
        let file = |name: &str, mode| Stored::file(name.into(), Mode(mode));
        assert!(file("x", None).matches(&file("x", Some(0o644))));
        assert!(!file("x", Some(0o755)).matches(&file("x", Some(0o644))));
        assert!(!file("x", None).matches(&Stored::Link("x".into())));
    }

    #[test]
    fn a_mode_is_written_as_chmod_takes_it() {
        assert_eq!(Mode(Some(0o644)).to_string(), "644");
        assert_eq!(Mode(Some(0o4755)).to_string(), "4755");
        assert_eq!(Mode(Some(0o7)).to_string(), "007");
    }
}
