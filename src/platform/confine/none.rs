//! There is nothing here that could confine a program: nothing is confined by half, so none ever is.

use std::io;
use std::process::Command;

use super::{Reach, Support, Unconfined};

/// Nobody has one.
#[derive(Debug)]
pub enum Confinement {}

impl Confinement {
    pub fn new(_reach: &Reach) -> Result<Self, Unconfined> {
        Err(Unconfined::System)
    }

    #[cfg_attr(windows, expect(dead_code, reason = "terminals have no names there"))]
    pub fn allow_terminal<T>(&self, _terminal: T) -> io::Result<()> {
        match *self {}
    }

    pub fn put_on(&self, _command: &mut Command) -> io::Result<()> {
        match *self {}
    }
}

pub fn support() -> Result<Support, Unconfined> {
    Err(Unconfined::System)
}
