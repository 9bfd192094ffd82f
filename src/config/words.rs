//! The options that take one of a few words: each an enum, and the words for its variants.

use super::kinds::Kind;
use super::spec::Takes;
use crate::core::message::ToolsTransport;
pub use crate::core::session::auto::AutoQuestions;
pub use crate::core::session::question_queue::OpenQuestions;

/// The words for the variants of an enum.
macro_rules! kind {
    ($name:ident: $($variant:ident = $word:literal,)*) => {
        impl $name {
            pub(super) const WORDS: &[(&str, Self)] = &[$(($word, Self::$variant),)*];

            pub(super) const KIND: Kind<Self> = Kind {
                takes: Takes::Word(&[$($word,)*]),
                read: |field| field.one_of(Self::WORDS),
                shown: |value| match value {
                    $(Self::$variant => concat!("\"", $word, "\"").to_owned(),)*
                },
            };
        }
    };
}

macro_rules! words {
    ($(
        $(#[$attribute:meta])*
        pub enum $name:ident {
            $($(#[$about:meta])* $variant:ident = $word:literal,)*
        }
    )*) => {$(
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[$about])* $variant,)*
        }

        kind!($name: $($variant = $word,)*);
    )*};
}

words! {
    pub enum Layout {
        Right = "right",
        Left = "left",
        Bottom = "bottom",
        Top = "top",
        Float = "float",
        Tab = "tab",
        Current = "current",
    }

    /// When completion opens by itself.
    pub enum Complete {
        /// Where no completion plugin does it.
        Auto = "auto",
        Always = "always",
        Never = "never",
    }

    /// How images of agents' show in the chat.
    pub enum Images {
        /// In place, where something can draw them.
        Auto = "auto",
        /// As a line that leads to them.
        Link = "link",
    }

    /// When an agent's command gets a window of its own without being asked for.
    pub enum AutoOpen {
        Always = "always",
        /// Once it has run for a while.
        Long = "long",
        Never = "never",
    }

    /// When the window of an agent's command that opened by itself closes by itself.
    pub enum AutoClose {
        Never = "never",
        /// Once the command has ended well.
        Success = "success",
    }

    pub enum Position {
        Bottom = "bottom",
        Top = "top",
        Right = "right",
        Left = "left",
        Tab = "tab",
    }

    pub enum DiffStyle {
        Inline = "inline",
        /// What is proposed stands beside the file.
        Split = "split",
        Off = "off",
    }

    pub enum Stay {
        /// Until the user has decided.
        Decided = "decided",
        /// Until the session's next prompt.
        Prompt = "prompt",
        /// Until the turn is over.
        Turn = "turn",
    }

    /// How the user's instructions stand to those of the agent.
    pub enum PromptMode {
        Append = "append",
        Override = "override",
    }

    /// What to do about lines that the user and the agent changed both.
    pub enum OnConflict {
        Ask = "ask",
        Refuse = "refuse",
        Markers = "markers",
    }

    /// What becomes of an agent's request for a file outside of its session's folders.
    pub enum OutsideFiles {
        Ask = "ask",
        Refuse = "refuse",
    }

    /// Which buffers are saved after an agent wrote into them.
    pub enum Save {
        Clean = "clean",
        Always = "always",
    }

    /// What to do about unsaved edits before a prompt.
    pub enum Unsaved {
        Mention = "mention",
        Save = "save",
        Nothing = "nothing",
    }
}

kind!(AutoQuestions: Wait = "wait", Reject = "reject",);
kind!(ToolsTransport: Stdio = "stdio", Http = "http", Acp = "acp",);
kind!(OpenQuestions: Auto = "auto", Always = "always", Never = "never",);
