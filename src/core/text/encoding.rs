//! Text in the encodings that Neovim writes itself ('fileencoding'), as far as files can be compared with
//! buffers without its help. All others are left to Neovim.

/// What a byte order mark looks like in UTF-8.
const BOM: char = '\u{feff}';

/// How text is written down.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Utf8,
    Latin1,
    Utf16 { big: bool },
    Utf32 { big: bool },
}

impl Form {
    /// By the names that 'fileencoding' takes; empty is UTF-8 (`:help 'fileencoding'`).
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "" | "utf-8" | "utf8" => Self::Utf8,
            "latin1" | "iso-8859-1" | "ascii" => Self::Latin1,
            "utf-16" | "utf-16be" | "ucs-2" | "ucs-2be" => Self::Utf16 { big: true },
            "utf-16le" | "ucs-2le" => Self::Utf16 { big: false },
            "utf-32" | "utf-32be" | "ucs-4" | "ucs-4be" => Self::Utf32 { big: true },
            "utf-32le" | "ucs-4le" => Self::Utf32 { big: false },
            _ => return None,
        })
    }
}

pub fn is_known(encoding: &str) -> bool {
    Form::named(encoding).is_some()
}

/// A file's text without a byte order mark, and whether it had one. `None` when it is not text in this
/// encoding, or the encoding is not known here.
pub fn decode(bytes: Vec<u8>, encoding: &str) -> Option<(String, bool)> {
    let text = match Form::named(encoding)? {
        Form::Utf8 => String::from_utf8(bytes).ok()?,
        Form::Latin1 => bytes.into_iter().map(char::from).collect(),
        Form::Utf16 { big } => {
            let (units, rest) = bytes.as_chunks::<2>();
            let unit =
                |pair: &[u8; 2]| if big { u16::from_be_bytes(*pair) } else { u16::from_le_bytes(*pair) };
            let text: Result<String, _> = char::decode_utf16(units.iter().map(unit)).collect();
            text.ok().filter(|_| rest.is_empty())?
        }
        Form::Utf32 { big } => {
            let (units, rest) = bytes.as_chunks::<4>();
            let unit =
                |four: &[u8; 4]| if big { u32::from_be_bytes(*four) } else { u32::from_le_bytes(*four) };
            let text: Option<String> = units.iter().map(unit).map(char::from_u32).collect();
            text.filter(|_| rest.is_empty())?
        }
    };
    Some(match text.strip_prefix(BOM) {
        Some(rest) => (rest.to_owned(), true),
        None => (text, false),
    })
}

/// What a file holds with this text, and a byte order mark if it has one. `None` where the encoding lacks a character, or
/// is not known here.
pub fn encode(text: &str, bomb: bool, encoding: &str) -> Option<Vec<u8>> {
    let form = Form::named(encoding)?;
    let mark = if bomb && form != Form::Latin1 { Some(BOM) } else { None };
    let chars = || mark.into_iter().chain(text.chars());
    Some(match form {
        Form::Utf8 => chars().collect::<String>().into_bytes(),
        Form::Latin1 => chars().map(|char| u8::try_from(u32::from(char)).ok()).collect::<Option<_>>()?,
        Form::Utf16 { big } => {
            let units = chars().flat_map(|char| char.encode_utf16(&mut [0; 2]).to_vec());
            units.flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() }).collect()
        }
        Form::Utf32 { big } => {
            let units = chars().map(u32::from);
            units.flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() }).collect()
        }
    })
}

/// The first character of a text that cannot be written in an encoding. An encoding that is not known
/// here is taken to have all.
pub fn foreign(text: &str, encoding: &str) -> Option<char> {
    match Form::named(encoding) {
        Some(Form::Latin1) => text.chars().find(|char| u32::from(*char) > 0xff),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_in_its_encoding() {
        let some = |text: &str, bomb| Some((text.to_owned(), bomb));
        assert_eq!(decode(b"\xc3\xa4".to_vec(), ""), some("\u{e4}", false));
        assert_eq!(decode(b"\xef\xbb\xbfa".to_vec(), "utf-8"), some("a", true));
        assert_eq!(decode(b"\xe4".to_vec(), "latin1"), some("\u{e4}", false));
        assert_eq!(decode(b"\xff\xfea\0".to_vec(), "utf-16le"), some("a", true));
        assert_eq!(decode(b"\xd8\x3d\xde\0".to_vec(), "utf-16"), some("\u{1f600}", false));
        assert_eq!(decode(b"\0\0\0a".to_vec(), "ucs-4"), some("a", false));
    }

    #[test]
    fn text_is_written_as_it_is_read() {
        let encodings = ["", "utf-8", "latin1", "utf-16", "utf-16le", "ucs-4", "ucs-4le"];
        for encoding in encodings {
            for bomb in [false, encoding != "latin1"] {
                let text = "a\u{e4}\r\n";
                let bytes = encode(text, bomb, encoding).expect("it has all of them");
                assert_eq!(decode(bytes, encoding), Some((text.to_owned(), bomb)), "{encoding}");
            }
        }
        assert_eq!(encode("\u{1f600}", false, "utf-16").as_deref(), Some(&b"\xd8\x3d\xde\0"[..]));
        assert_eq!(encode("\u{20ac}", false, "latin1"), None);
        assert_eq!(encode("a", false, "cp1252"), None);
    }

    #[test]
    fn what_is_no_text_is_not_guessed_at() {
        assert_eq!(decode(b"\xe4".to_vec(), "utf-8"), None);
        assert_eq!(decode(b"a\0b".to_vec(), "utf-16"), None);
        assert_eq!(decode(b"a".to_vec(), "cp1252"), None);
        assert_eq!(foreign("a\u{20ac}", "latin1"), Some('\u{20ac}'));
        assert_eq!(foreign("\u{e4}", "latin1"), None);
    }
}
