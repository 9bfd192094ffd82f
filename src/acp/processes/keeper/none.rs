//! There is none: nobody adopts but the system's first process, or nobody can leave.

use std::path::Path;
use std::process::{Command, ExitStatus};

use super::kept::{Kept, Unkept};
use crate::acp::processes::escaped::Mark;
use crate::acp::processes::sandbox::Confined;

pub struct Keeper;

impl Keeper {
    pub fn wait_for_agent(&self) -> Option<ExitStatus> {
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
