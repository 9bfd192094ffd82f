//! There is none: nobody adopts but the system's first process, or nobody can leave.

use std::path::Path;
use std::process::{Command, ExitStatus};

use super::kept::{Kept, Unkept};
use crate::acp::processes::escaped::{Mark, Noted};
use crate::acp::processes::sandbox::Confined;
use crate::platform::confine::Confinement;
use crate::platform::group::Group;

pub struct Keeper;

impl Keeper {
    pub fn wait_for_leader(&self) -> Option<ExitStatus> {
        None
    }

    pub fn end(&self) {}
}

pub fn spawn(
    _program: Option<&Path>,
    _command: &Command,
    _mark: &Mark,
    _confined: Option<&Confined>,
) -> Result<Kept<Keeper>, Unkept> {
    Err(Unkept::NoKeeper)
}

/// There is none.
pub enum CommandKeeper {}

impl CommandKeeper {
    pub fn wait_for_command(&self) -> bool {
        match *self {}
    }

    pub fn take_status(&self) -> Option<ExitStatus> {
        match *self {}
    }

    pub fn process(&self) -> Option<u32> {
        match *self {}
    }

    pub fn wait(&self) {
        match *self {}
    }

    pub fn below(&self) -> Vec<Noted> {
        match *self {}
    }

    pub fn end(&self) {
        match *self {}
    }
}

pub fn spawn_command<T>(
    _program: Option<&Path>,
    _command: &Command,
    _theirs: &T,
    _mark: &Mark,
    _confinement: Option<&Confinement>,
) -> Result<(CommandKeeper, Group), Unkept> {
    Err(Unkept::NoKeeper)
}
