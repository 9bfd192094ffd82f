//! Sessions: how they are opened, resumed and closed, what they are told and what they tell users' handlers.

pub mod actions;
pub mod call_effects;
pub mod lifecycle;
pub mod options;
pub mod record;
pub mod stored;
pub mod user_events;
