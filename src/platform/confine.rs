//! Keeping a program, and all that it starts, to a part of the files and of the network, by what the system has for
//! it. What that part is, is the callers' business.

use std::io;
use std::path::PathBuf;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
pub use self::linux::{Confinement, support};

#[cfg(not(target_os = "linux"))]
mod none;
#[cfg(not(target_os = "linux"))]
pub use self::none::{Confinement, support};

/// What a confined program can reach. A path that is not there counts as not named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// Files and folders with all that is in them: to be read, and run.
    pub read: Vec<PathBuf>,
    /// To be changed as well.
    pub write: Vec<PathBuf>,
    /// The ports that may be connected to, by TCP alone; without them, nothing is kept from the network.
    pub ports: Option<Vec<u16>>,
    /// It runs on a terminal of its own, which it may open as `/dev/tty`.
    pub on_terminal: bool,
}

/// What the system can hold a program to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Support {
    /// The version of the kernel's interface.
    pub abi: u32,
    /// Ports can be kept from it.
    pub ports: bool,
    /// Other programs can be kept from its signals.
    pub signals: bool,
}

/// Why a program cannot be confined.
#[derive(Debug)]
pub enum Unconfined {
    /// Nothing is known of it for this system.
    System,
    /// The kernel has no Landlock, or it is switched off.
    NoLandlock,
    /// It has one that leaves holes.
    TooOld {
        abi: u32,
        needed: &'static str,
    },
    Failed(io::Error),
}
