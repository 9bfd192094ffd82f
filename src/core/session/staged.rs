//! How what a question is about stands on the screen, and what of it can be seen while the question is asked.

use crate::core::session::question_queue::{OpenQuestions, Sight};

/// How a call's changes can be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Not now: the user is at work in the window.
    Blocked,
    /// They are on their way.
    Pending,
    /// In a window, all at once.
    Whole,
    /// In a window, by scrolling.
    Part,
    /// In no window: the chat has to show them.
    InChat,
    /// There is nothing but the call itself.
    Nothing,
}

impl Shape {
    /// `is_cut`: a picker shows only the beginning and the end of what the call does. The chat has all of it.
    pub fn with_call(self, is_cut: bool) -> Self {
        if self == Self::Nothing && is_cut { Self::InChat } else { self }
    }

    /// Whether there is something on the screen by which the user knows the question.
    pub fn is_on_screen(self) -> bool {
        matches!(self, Self::Whole | Self::Part | Self::InChat)
    }

    /// How much of it can be seen when the question is asked.
    pub fn sight(self, open: OpenQuestions, picker: Cover, in_chat: Option<Sight>) -> Sight {
        let sight = match self {
            Self::Pending => return Sight::Pending,
            Self::Blocked if open == OpenQuestions::Auto => return Sight::Blocked,
            Self::InChat => in_chat.unwrap_or(Sight::Whole),
            Self::Part => Sight::Part,
            // How many rows it takes at the end of the screen is of no use where it floats.
            Self::Whole if picker == Cover::Floating => Sight::Part,
            _ => Sight::Whole,
        };
        // Other pickers leave the screen to the user.
        if picker == Cover::Nothing { Sight::Whole } else { sight }
    }
}

/// What Neovim's own picker covers of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cover {
    /// It is another one, which leaves the screen to the user, or none.
    Nothing,
    /// Rows at the end.
    Rows,
    /// It floats somewhere.
    Floating,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sight(shape: Shape, cover: Cover) -> Sight {
        shape.sight(OpenQuestions::Auto, cover, Some(Sight::Part))
    }

    #[test]
    fn what_has_to_be_scrolled_is_seen_in_part_below_neovims_own_picker() {
        assert_eq!(sight(Shape::Part, Cover::Rows), Sight::Part);
        assert_eq!(sight(Shape::Part, Cover::Nothing), Sight::Whole);
        assert_eq!(sight(Shape::InChat, Cover::Rows), Sight::Part);
        assert_eq!(sight(Shape::InChat, Cover::Nothing), Sight::Whole);
    }

    #[test]
    fn a_picker_that_floats_may_cover_what_is_whole() {
        assert_eq!(sight(Shape::Whole, Cover::Floating), Sight::Part);
        assert_eq!(sight(Shape::Whole, Cover::Rows), Sight::Whole);
        assert_eq!(sight(Shape::Nothing, Cover::Floating), Sight::Whole);
    }

    #[test]
    fn what_is_to_come_is_waited_for_and_the_users_window_where_they_want_that() {
        assert_eq!(sight(Shape::Pending, Cover::Nothing), Sight::Pending);
        assert_eq!(sight(Shape::Blocked, Cover::Nothing), Sight::Blocked);
        assert_eq!(Shape::Blocked.sight(OpenQuestions::Always, Cover::Rows, None), Sight::Whole);
    }

    #[test]
    fn a_call_that_a_picker_cuts_is_shown_by_the_chat() {
        assert_eq!(Shape::Nothing.with_call(true), Shape::InChat);
        assert_eq!(Shape::Nothing.with_call(false), Shape::Nothing);
        assert_eq!(Shape::Part.with_call(true), Shape::Part);
        assert!(Shape::InChat.is_on_screen() && !Shape::Nothing.is_on_screen());
    }
}
