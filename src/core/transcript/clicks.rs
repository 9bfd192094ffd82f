//! What a click on a line of the transcript is for. What the line is about is told.

/// What there is at the line that was clicked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clicked {
    /// A question that waits for an answer.
    pub asks: bool,
    /// It leads to a file, a change or an image.
    pub leads: bool,
    /// It is the first line of what can be folded.
    pub folds: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    GoTo,
    Fold,
    Nothing,
}

impl Clicked {
    pub fn meaning(self) -> Meaning {
        match self {
            Self { asks: true, .. } | Self { leads: true, folds: false, .. } => Meaning::GoTo,
            Self { folds: true, .. } => Meaning::Fold,
            _ => Meaning::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_click_answers_then_folds_then_follows_what_leads_somewhere() {
        for (asks, leads, folds, expected) in [
            (false, false, false, Meaning::Nothing),
            (false, false, true, Meaning::Fold),
            (false, true, false, Meaning::GoTo),
            // What a call's own line leads to is found in the call as well, once it is open.
            (false, true, true, Meaning::Fold),
            (true, false, false, Meaning::GoTo),
            (true, false, true, Meaning::GoTo),
            (true, true, false, Meaning::GoTo),
            (true, true, true, Meaning::GoTo),
        ] {
            let clicked = Clicked { asks, leads, folds };
            assert_eq!(clicked.meaning(), expected, "{clicked:?}");
        }
    }
}
