//! The process between Neovim and an agent that adopts whatever the agent's processes leave behind, where
//! the system has such a thing. Without one, agents are started straight, and `guard` and `escaped` find
//! what they can.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
pub use self::linux::{Keeper, spawn};

#[cfg(not(target_os = "linux"))]
mod none;
#[cfg(not(target_os = "linux"))]
pub use self::none::{Keeper, spawn};

mod kept;
pub use kept::{Kept, Unkept};
