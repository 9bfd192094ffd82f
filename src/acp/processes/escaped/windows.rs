//! There are none: nobody can leave a job.

use std::time::Duration;

use super::mark::{Mark, Noted, Origin, Span};
use crate::core::message::LeftCommand;
use crate::platform::Signal;
use crate::platform::group::Group;

pub fn end(
    _mark: Mark,
    _groups: Vec<Group>,
    _grace: Duration,
    _below: impl Fn() -> Vec<Noted> + Send + 'static,
) {
}

pub fn signal(_mark: &Mark, _noted: &[Noted], _groups: &[Group], _signal: Signal) -> usize {
    0
}

pub fn live(_mark: &Mark, _noted: &[Noted]) -> bool {
    false
}

pub fn below(_process: u32) -> Vec<Noted> {
    Vec::new()
}

pub fn now() -> u64 {
    0
}

pub fn begun(_origin: &Origin, _when: &[Span]) -> Vec<LeftCommand> {
    Vec::new()
}

pub fn wait_for_one(_commands: &[LeftCommand]) {}

pub fn end_all(_commands: Vec<LeftCommand>, _grace: Duration) -> Vec<LeftCommand> {
    Vec::new()
}
