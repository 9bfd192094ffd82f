//! Whether the library that runs belongs to the plugin's files on the disk: the background computes what its
//! sources are, the Lua that loaded the library compares and says so.

use std::path::PathBuf;

use mlua::Result;

use crate::core::message::{Outcome, Work};
use crate::nvim::actions::{Args, fail};
use crate::nvim::agents::Agents;
use crate::nvim::app::App;

impl App {
    /// Computes which sources are in the folder named first, for a function of Lua's.
    pub fn compute_fingerprint(&mut self, args: Args) -> Result<()> {
        let (Some(root), Some(then)) = (args.first().map(PathBuf::from), args.then) else {
            return fail("the plugin's folder or its function for fingerprints is missing");
        };
        // What is told needs the context alone, so any feature will do.
        self.cx.compute(Work::Fingerprint { root }, move |_: &mut Agents, cx, outcome| {
            if let Outcome::Fingerprint(found) = outcome {
                cx.run_effect("couldn't compare the library with its sources", move |_| {
                    then.call::<()>(found)
                });
            }
            Ok(())
        });
        Ok(())
    }
}
