//! The process between Neovim and an agent, or a command in a terminal, that adopts whatever their processes leave
//! behind, where the system has such a thing. Without one they are started directly, and `guard` and `escaped` find
//! what they can.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
pub use self::linux::{CommandKeeper, Keeper, spawn, spawn_command};

#[cfg(not(target_os = "linux"))]
mod none;
#[cfg(not(target_os = "linux"))]
pub use self::none::{CommandKeeper, Keeper, spawn, spawn_command};

mod kept;
pub use kept::{Kept, Unkept};
