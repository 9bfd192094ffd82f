//! Which part of what an agent tells of a command's output is new. Agents tell either what is new or all
//! there is, under the same names; which of both it is shows only as more of it comes.

use std::mem;

use crate::acp::wire::from_acp::Data;

/// Beyond this it is no longer looked into whether all output comes again and again.
const MOST_COMPARED: usize = 1 << 20;

/// What was put out so far, as long as it takes to see which way the agent tells it. By the custom
/// each piece is new, also under the name that sounds like all there is; an agent that takes that
/// name at its word sends everything each time.
pub enum Written {
    /// All of it; nothing speaks for either way yet.
    Unclear(String),
    /// Each piece is new.
    Pieces,
    /// Each is all there is; this was the last.
    Whole(String),
}

impl Default for Written {
    fn default() -> Self {
        Self::Unclear(String::new())
    }
}

impl Written {
    /// What of the data was not there yet, and whether it takes the place of all that was.
    pub fn what_is_new<'t>(&mut self, data: &'t Data) -> (bool, &'t str) {
        let (text, piece) = match data {
            Data::Piece(text) => (text.as_str(), true),
            Data::PieceOrWhole(text) => (text.as_str(), false),
        };
        let (next, new) = match (mem::replace(self, Self::Pieces), piece) {
            (Self::Unclear(mut all), true) => {
                all.push_str(text);
                (Self::Unclear(all), (false, text))
            }
            (Self::Unclear(all), false) if all.is_empty() => (Self::Unclear(text.to_owned()), (false, text)),
            (Self::Unclear(all), false) if repeats(&all, text) => {
                (Self::Whole(text.to_owned()), (false, &text[all.len()..]))
            }
            (Self::Unclear(_) | Self::Pieces, _) => (Self::Pieces, (false, text)),
            (Self::Whole(mut all), true) => {
                all.push_str(text);
                (Self::Whole(all), (false, text))
            }
            (Self::Whole(all), false) => match text.strip_prefix(all.as_str()) {
                Some(new) => (Self::Whole(text.to_owned()), (false, new)),
                // Such as the end of a text that has grown too long.
                None => (Self::Whole(text.to_owned()), (true, text)),
            },
        };
        *self = match next {
            Self::Unclear(all) if all.len() > MOST_COMPARED => Self::Pieces,
            next => next,
        };
        new
    }
}

/// Whether a text is all that was there and something more, rather than a piece that looks like it:
/// what a command says every second may come twice in one piece, and a dot says nothing.
fn repeats(all: &str, text: &str) -> bool {
    let telling = all.contains('\n') || all.len() >= 8;
    telling && text.len() > all.len() && text.starts_with(all) && !text.ends_with(all)
}
