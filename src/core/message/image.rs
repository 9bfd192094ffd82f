//! Identifies an image by its first bytes: its format and its size in pixels; and Base64, in which agents
//! send it. Pure functions on untrusted bytes. Where images are stored is left to others.

use super::content::{Picture, PicturePlace};
use crate::core::session::references;
use crate::core::text::one_line;
use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// A bigger one is not kept.
pub const MAX_IMAGE_BYTES: usize = 32 << 20;

/// A format that is known to be an image and nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Png,
    Jpeg,
    Gif,
    Webp,
    Bmp,
}

impl Format {
    pub fn name(self) -> &'static str {
        match self {
            Self::Png => "PNG",
            Self::Jpeg => "JPEG",
            Self::Gif => "GIF",
            Self::Webp => "WebP",
            Self::Bmp => "BMP",
        }
    }

    /// How the names of its files end.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Jpeg => "jpg",
            Self::Gif => "gif",
            Self::Webp => "webp",
            Self::Bmp => "bmp",
        }
    }
}

/// The format of an image, and its width and height in pixels where they can be told.
pub fn look(bytes: &[u8]) -> Option<(Format, Option<(u32, u32)>)> {
    let big = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let little = |at: usize| Some(u32::from(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?)));
    let pair = |width: Option<u32>, height: Option<u32>| {
        width.zip(height).filter(|(width, height)| *width > 0 && *height > 0)
    };
    if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        return Some((Format::Png, pair(big(16), big(20))));
    }
    if bytes.starts_with(b"\xff\xd8\xff") {
        return Some((Format::Jpeg, jpeg_size(bytes)));
    }
    if bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a") {
        return Some((Format::Gif, pair(little(6), little(8))));
    }
    if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        return Some((Format::Webp, webp_size(bytes)));
    }
    if bytes.starts_with(b"BM") && bytes.len() > 26 {
        return Some((Format::Bmp, pair(little(18), little(22))));
    }
    None
}

/// The size stands in the first frame's header, after other segments of any length.
fn jpeg_size(bytes: &[u8]) -> Option<(u32, u32)> {
    let number = |at: usize| Some(u32::from(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?)));
    let mut at = 2;
    loop {
        while *bytes.get(at)? == 0xff && *bytes.get(at + 1)? == 0xff {
            at += 1;
        }
        if *bytes.get(at)? != 0xff {
            return None;
        }
        match bytes.get(at + 1)? {
            0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf => {
                return Some((number(at + 7)?, number(at + 5)?));
            }
            0xd0..=0xd8 | 0x01 => at += 2,
            _ => at += 2 + number(at + 2)?.max(2) as usize,
        }
    }
}

fn webp_size(bytes: &[u8]) -> Option<(u32, u32)> {
    let byte = |at: usize| bytes.get(at).copied().map(u32::from);
    match bytes.get(12..16)? {
        b"VP8 " => {
            let side = |at: usize| Some((byte(at)? | byte(at + 1)? << 8) & 0x3fff);
            Some((side(26)?, side(28)?))
        }
        b"VP8L" => {
            let bits = byte(21)? | byte(22)? << 8 | byte(23)? << 16 | byte(24)? << 24;
            Some(((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1))
        }
        b"VP8X" => {
            let side = |at: usize| Some((byte(at)? | byte(at + 1)? << 8 | byte(at + 2)? << 16) + 1);
            Some((side(24)?, side(27)?))
        }
        _ => None,
    }
}

/// What a picture is, on one line: `image · PNG 640x480 · 120 kB`.
pub fn label(picture: &Picture) -> String {
    let mut text = format!("image \u{b7} {}", one_line(&picture.format));
    if let Some((width, height)) = picture.size {
        text.push_str(&format!(" {width}x{height}"));
    }
    if let Some(bytes) = picture.bytes {
        text.push_str(&format!(" \u{b7} {}", references::size(bytes)));
    }
    if let PicturePlace::Nowhere(why) = &picture.place {
        text.push_str(&format!(" (not shown: {})", one_line(why)));
    }
    text
}

/// Reads Base64, with or without the padding at its end, in either alphabet, across lines.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    const LENIENT: GeneralPurpose = GeneralPurpose::new(
        &STANDARD,
        GeneralPurposeConfig::new()
            .with_encode_padding(false)
            .with_decode_padding_mode(DecodePaddingMode::RequireNone)
            .with_decode_allow_trailing_bits(true),
    );
    let digits = text.bytes().filter(|byte| !matches!(byte, b'\n' | b'\r' | b' ' | b'\t'));
    let mut digits: Vec<u8> = digits
        .map(|byte| match byte {
            b'-' => b'+',
            b'_' => b'/',
            byte => byte,
        })
        .collect();
    digits.truncate(digits.iter().rposition(|byte| *byte != b'=').map_or(0, |last| last + 1));
    LENIENT.decode(digits).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn encode(bytes: &[u8]) -> String {
        const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut text = String::new();
        for chunk in bytes.chunks(3) {
            let bits = chunk.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte))
                << (8 * (3 - chunk.len()));
            for digit in 0..4 {
                let char =
                    if digit > chunk.len() { b'=' } else { DIGITS[(bits >> (18 - 6 * digit) & 63) as usize] };
                text.push(char::from(char));
            }
        }
        text
    }

    #[test]
    fn each_format_is_known_by_its_first_bytes() {
        let png = [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".as_slice(), &[0, 0, 2, 128, 0, 0, 1, 224]].concat();
        assert_eq!(look(&png), Some((Format::Png, Some((640, 480)))));
        assert_eq!(look(&png[..20]), Some((Format::Png, None)), "cut short");
        let jpeg = b"\xff\xd8\xff\xe0\0\x04ab\xff\xff\xc0\0\x11\x08\x01\xe0\x02\x80";
        assert_eq!(look(jpeg), Some((Format::Jpeg, Some((640, 480)))));
        assert_eq!(look(b"\xff\xd8\xff\xe0\xff\xffab"), Some((Format::Jpeg, None)));
        assert_eq!(look(b"GIF89a\x10\0\x20\0"), Some((Format::Gif, Some((16, 32)))));
        let webp = b"RIFF\0\0\0\0WEBPVP8X\0\0\0\0\0\0\0\0\x7f\x02\0\xdf\x01\0";
        assert_eq!(look(webp), Some((Format::Webp, Some((640, 480)))));
        let lossless = b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f\x7f\xc2\x77\0";
        assert_eq!(look(lossless), Some((Format::Webp, Some((640, 480)))));
        let lossy = b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a\x80\x02\xe0\x01";
        assert_eq!(look(lossy), Some((Format::Webp, Some((640, 480)))));
        assert_eq!(look(b"<svg></svg>"), None);
        assert_eq!(look(b""), None);
    }

    #[test]
    fn base64_is_read_in_the_forms_that_are_seen() {
        assert_eq!(decode("aGVsbG8=").as_deref(), Some(b"hello".as_slice()));
        assert_eq!(decode("aGVsbG8").as_deref(), Some(b"hello".as_slice()));
        assert_eq!(decode("aGVs\r\nbG8=\n").as_deref(), Some(b"hello".as_slice()));
        assert_eq!(decode("-_8").as_deref(), Some([251, 255].as_slice()));
        assert_eq!(decode(""), Some(Vec::new()));
        for bad in ["a", "aGVsb", "aG=sbG8=", "aGVs!", "\u{e9}"] {
            assert_eq!(decode(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_label_says_what_there_is_to_know() {
        let place = PicturePlace::Nowhere("it is\nno Base64".into());
        let mut picture =
            Picture { format: "PNG".into(), size: Some((640, 480)), bytes: Some(122_900), place };
        assert_eq!(label(&picture), "image \u{b7} PNG 640x480 \u{b7} 120 kB (not shown: it is no Base64)");
        picture =
            Picture { size: None, bytes: None, place: PicturePlace::Link("https://a".into()), ..picture };
        assert_eq!(label(&picture), "image \u{b7} PNG");
    }

    proptest! {
        #[test]
        fn what_was_written_is_read_again(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            prop_assert_eq!(decode(&encode(&bytes)), Some(bytes));
        }

        #[test]
        fn no_bytes_break_it(bytes in prop::collection::vec(any::<u8>(), 0..60), head in 0..4_usize) {
            let heads = [b"\xff\xd8\xff".as_slice(), b"RIFF\0\0\0\0WEBPVP8 ", b"\x89PNG\r\n\x1a\n", b"BM"];
            let all = [heads[head], &bytes].concat();
            prop_assert!(look(&all).is_some() || head == 3);
        }
    }
}
