//! Characters that are invisible, or change how others are displayed, as visible text: `<202e>`, `^[`,
//! the way Neovim shows unprintable characters. Those that belong to a script or to an emoji stay as they
//! are. The decision about a character depends only on those before it, so a text may come in pieces.

use std::borrow::Cow;
use std::ops::Range;

/// So many characters before one decide about it.
const MEMORY: usize = 8;

/// Whether nothing in a text needs a look. Most texts are ASCII, and this is how long they take.
pub fn is_plain(text: &str) -> bool {
    let is_ordinary = |byte: &u8| matches!(byte, b' '..=b'~' | b'\t' | b'\n');
    text.as_bytes().chunks(64).all(|chunk| chunk.iter().fold(true, |all, byte| all & is_ordinary(byte)))
        || !has_hidden(text)
}

fn has_hidden(text: &str) -> bool {
    let mut before = Before::default();
    text.chars().any(|char| before.hides(char))
}

/// A text with a look for each character that has none. Tabs and line breaks stay.
pub fn visible(text: &str) -> Cow<'_, str> {
    match is_plain(text) {
        true => Cow::Borrowed(text),
        false => Cow::Owned(Visible::after("").read(text).0),
    }
}

/// The same on one line: each run of blanks and line breaks is one blank.
pub fn visible_line(text: &str) -> String {
    crate::core::text::one_line(&visible(text))
}

/// Reads a text piece by piece.
#[derive(Default)]
pub struct Visible {
    before: Before,
}

impl Visible {
    /// For what comes after a text.
    pub fn after(text: &str) -> Self {
        let mut before = Before::default();
        let start = text.char_indices().rev().nth(MEMORY - 1).map_or(0, |(at, _)| at);
        text[start..].chars().for_each(|char| {
            before.hides(char);
        });
        Self { before }
    }

    /// The text as it can be seen, and where in that the looks are, in bytes.
    pub fn read(&mut self, text: &str) -> (String, Vec<Range<usize>>) {
        let mut seen = String::with_capacity(text.len() + 16);
        let mut looks = Vec::new();
        for char in text.chars() {
            let start = seen.len();
            if self.push(char, &mut seen) {
                looks.push(start..seen.len());
            }
        }
        (seen, looks)
    }

    /// Adds the next character to a text as it can be seen. Says whether that is a look.
    pub fn push(&mut self, char: char, seen: &mut String) -> bool {
        let hides = self.before.hides(char);
        if hides {
            push_look(seen, char);
        } else {
            seen.push(char);
        }
        hides
    }
}

fn push_look(seen: &mut String, char: char) {
    match char as u32 {
        code @ 0..0x20 => {
            seen.push('^');
            seen.push(char::from((code as u8) ^ 0x40));
        }
        0x7f => seen.push_str("^?"),
        code => seen.push_str(&format!("<{code:02x}>")),
    }
}

/// What decides about the next character.
#[derive(Default)]
struct Before {
    last: Option<char>,
    /// The letters of a flag so far: the tags after a black flag.
    flag: Option<String>,
}

/// The flags that are written with tags: England, Scotland, Wales.
const FLAGS: [&str; 3] = ["gbeng\u{7f}", "gbsct\u{7f}", "gbwls\u{7f}"];

impl Before {
    /// Whether the next character needs a look.
    fn hides(&mut self, char: char) -> bool {
        let hidden = match char {
            ' '..='~' | '\t' | '\n' => false,
            '\u{e0020}'..='\u{e007f}' => return self.hides_tag(char),
            _ => !self.belongs(char),
        };
        self.flag = (char == '\u{1f3f4}').then(String::new);
        self.last = Some(char);
        hidden
    }

    fn hides_tag(&mut self, char: char) -> bool {
        self.last = Some(char);
        let letter = u8::try_from(char as u32 - 0xe0000).map(char::from);
        let flag = self.flag.take().zip(letter.ok()).map(|(mut flag, letter)| {
            flag.push(letter);
            flag
        });
        self.flag = flag.filter(|flag| FLAGS.iter().any(|whole| whole.starts_with(flag)));
        self.flag.is_none()
    }

    /// Whether a character that is not ASCII can be seen, or is a part of what can.
    fn belongs(&self, char: char) -> bool {
        let Some(last) = self.last else { return !is_hidden(char) };
        match char {
            // Joiners shape the letters of some scripts, and put emoji together.
            '\u{200c}' => is_joining(last),
            '\u{200d}' => is_joining(last) || is_emoji(last) || last == '\u{fe0f}',
            '\u{fe00}'..='\u{fe0e}' => is_varying(last),
            '\u{fe0f}' => is_varying(last) || matches!(last, '0'..='9' | '#' | '*'),
            '\u{e0100}'..='\u{e01ef}' => is_ideograph(last),
            '\u{180b}'..='\u{180d}' | '\u{180f}' => matches!(last, '\u{1820}'..='\u{18aa}'),
            _ => !is_hidden(char),
        }
    }
}

/// Neither a space nor anything else that is meant to be seen.
fn is_hidden(char: char) -> bool {
    matches!(char,
        '\0'..='\x1f' | '\x7f'..='\u{9f}'
        | '\u{ad}' | '\u{34f}' | '\u{61c}'
        // Fillers of Hangul, and vowels of Khmer that are never drawn.
        | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{fdd0}'..='\u{fdef}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
        || char as u32 & 0xfffe == 0xfffe
}

/// Letters and marks of scripts that are written with joiners: Arabic and its neighbours, those of India and around
/// it, Mongolian.
fn is_joining(char: char) -> bool {
    matches!(char,
        '\u{620}'..='\u{8ff}' | '\u{900}'..='\u{dff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17b3}'
        | '\u{17b6}'..='\u{17ff}' | '\u{1820}'..='\u{18aa}' | '\u{1a20}'..='\u{1aad}' | '\u{1b00}'..='\u{1b7f}'
        | '\u{a800}'..='\u{a82f}' | '\u{a880}'..='\u{a8ff}' | '\u{a980}'..='\u{a9df}' | '\u{aa60}'..='\u{aa7f}'
        | '\u{fb50}'..='\u{fdcf}' | '\u{fdf0}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}'
        | '\u{10a00}'..='\u{10aff}' | '\u{10f30}'..='\u{10fdf}' | '\u{11000}'..='\u{11fff}' | '\u{1e900}'..='\u{1e95f}')
}

fn is_emoji(char: char) -> bool {
    matches!(char,
        '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}' | '\u{2190}'..='\u{21ff}'
        | '\u{2300}'..='\u{23ff}' | '\u{24c2}' | '\u{25a0}'..='\u{27bf}' | '\u{2900}'..='\u{297f}'
        | '\u{2b00}'..='\u{2bff}' | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}' | '\u{1f000}'..='\u{1faff}')
}

/// What a variation selector may follow, once.
fn is_varying(char: char) -> bool {
    !char.is_ascii() && !char.is_whitespace() && !is_hidden(char)
}

fn is_ideograph(char: char) -> bool {
    matches!(char, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_has_no_look_gets_one() {
        for (text, seen) in [
            ("if admin\u{202e} { \u{2066}// no", "if admin<202e> { <2066>// no"),
            ("a\u{0}\u{1b}[31m\u{7f}\u{85}\u{9b}\r", "a^@^[[31m^?<85><9b>^M"),
            ("pay\u{ad}pal \u{200b}\u{feff}x", "pay<ad>pal <200b><feff>x"),
            ("\u{200e}\u{200f}\u{61c}", "<200e><200f><61c>"),
            ("\u{115f}\u{1160}\u{3164}\u{ffa0}", "<115f><1160><3164><ffa0>"),
            ("x\u{e0041}\u{e0042}\u{e0001}", "x<e0041><e0042><e0001>"),
            ("a\u{200d}b\u{200c}c", "a<200d>b<200c>c"),
            // A secret in selectors after an emoji: one is ordinary.
            ("\u{1f600}\u{fe0f}\u{e0110}\u{fe0e}\u{fe01}", "\u{1f600}\u{fe0f}<e0110><fe0e><fe01>"),
            ("a\u{fe01}", "a<fe01>"),
            ("\u{1f3f4}\u{e0067}\u{e0062}\u{e0063}", "\u{1f3f4}\u{e0067}\u{e0062}<e0063>"),
            ("\u{fffe}\u{10ffff}\u{2028}", "<fffe><10ffff><2028>"),
        ] {
            assert_eq!(visible(text), seen);
        }
        assert_eq!(visible_line("a\n\t b\u{200b}"), "a b<200b>");
    }

    #[test]
    fn what_people_write_stays_as_it_is() {
        for text in [
            "plain\ttext\nwith lines",
            "Gr\u{fc}\u{df}e, na\u{ef}ve, e\u{301}",
            // Persian with its joiner, Arabic, Hebrew with points.
            "\u{645}\u{6cc}\u{200c}\u{62e}\u{648}\u{627}\u{647}\u{645} \u{627}\u{644}\u{639}\u{64e}\u{631} \u{5e9}\u{5c1}\u{5b8}",
            // Hindi and Sinhala with joiners, Thai, Tibetan, Khmer, Burmese.
            "\u{915}\u{94d}\u{200d}\u{937} \u{dc1}\u{dca}\u{200d}\u{dbb}\u{dd3} \u{e20}\u{e32} \u{f56}\u{f7c} \u{1781}\u{17d2}\u{1798} \u{1019}\u{103c}",
            // Chinese with a variant, Japanese, Korean, Mongolian with a variant.
            "\u{845b}\u{e0100} \u{65e5}\u{672c}\u{8a9e}\u{306e} \u{d55c}\u{ae00} \u{182a}\u{180b}",
            // A family, a rainbow flag, a keycap, a skin, a heart, Scotland.
            "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467} \u{1f3f3}\u{fe0f}\u{200d}\u{1f308} 1\u{fe0f}\u{20e3} \u{1f44d}\u{1f3fd} \u{2764}\u{fe0f} \
             \u{1f3f4}\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
            "\u{a0}\u{3000}\u{2014}\u{2028}".trim_end_matches('\u{2028}'),
        ] {
            assert_eq!(visible(text), text, "{text:?}");
            assert!(matches!(visible(text), Cow::Borrowed(_)));
        }
    }

    /// Every letter, digit, sign and mark of every script. Those that are hidden are listed in this test on their own.
    #[test]
    fn every_script_passes() {
        let exceptions = ['\u{34f}', '\u{115f}', '\u{1160}', '\u{3164}', '\u{ffa0}', '\u{17b4}', '\u{17b5}'];
        for char in ('\u{a1}'..=char::MAX).filter(|char| char.is_alphanumeric()) {
            let text = char.to_string();
            assert!(visible(&text) == text || exceptions.contains(&char), "{:x}", char as u32);
        }
    }

    fn odd() -> impl Strategy<Value = char> {
        let some = "ab 1#\t\n\r\u{1b}\u{0}\u{9b}\u{ad}\u{200b}\u{200c}\u{200d}\u{200e}\u{202e}\u{2066}\u{feff}\u{fe0f}\u{fe01}\u{e0100}\
                    \u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}\u{1f3f4}\u{1f600}\u{2764}\u{645}\u{915}\u{845b}\u{1820}\u{180b}\u{3164}";
        prop_oneof![3 => prop::sample::select(some.chars().collect::<Vec<_>>()), 1 => any::<char>()]
    }

    proptest! {
        #[test]
        fn nothing_hidden_is_left_and_nothing_else_is_lost(text in prop::collection::vec(odd(), 0..40)) {
            let text: String = text.into_iter().collect();
            let (seen, looks) = Visible::default().read(&text);
            prop_assert_eq!(visible(&text), seen.as_str());
            prop_assert_eq!(is_plain(&text), looks.is_empty());
            // What was never in context is never left.
            let never = |char: char| matches!(char, '\u{ad}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{feff}' | '\u{3164}')
                || char.is_control() && char != '\t' && char != '\n';
            prop_assert!(!seen.chars().any(never), "{:?}", seen);
            // Seen once more it looks the same.
            let mut back = String::new();
            let mut at = 0;
            for look in looks {
                back.push_str(&seen[at..look.start]);
                back.push(meant(&seen[look.clone()]));
                at = look.end;
            }
            back.push_str(&seen[at..]);
            prop_assert_eq!(back, text);
        }

        #[test]
        fn pieces_look_like_the_whole(text in prop::collection::vec(odd(), 0..40), cut in any::<prop::sample::Index>()) {
            let cut = cut.index(text.len() + 1);
            let (head, tail): (String, String) = (text[..cut].iter().collect(), text[cut..].iter().collect());
            let whole = visible(&format!("{head}{tail}")).into_owned();
            prop_assert_eq!(format!("{}{}", visible(&head), Visible::after(&head).read(&tail).0), whole);
        }
    }

    fn meant(look: &str) -> char {
        match look.strip_prefix('^') {
            Some(letter) => char::from(letter.as_bytes()[0] ^ 0x40),
            None => {
                let code = look.trim_matches(['<', '>']);
                char::from_u32(u32::from_str_radix(code, 16).expect("a number")).expect("a character")
            }
        }
    }
}
