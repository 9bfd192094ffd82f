//! What the user's rules are held against: a request of a session as it is now, with the rules of the options and those
//! that were made by answers. What the disk knows of rules is added in the background.

use std::path::PathBuf;

use mlua::Result;

use crate::core::ids::SessionKey;
use crate::core::message::Place;
use crate::core::rules::{Case, Request, RuleFiles, in_force};
use crate::core::session::status::mode_id;
use crate::nvim::context::Context;

impl Context {
    /// A request of a session; without one that of an agent without a name, in the current folder.
    pub fn case(&self, key: Option<SessionKey>, request: Request) -> Result<Case> {
        let session = key.and_then(|key| self.sessions.get(&key));
        let place = match session {
            Some(session) => session.place.clone(),
            None => Place { cwd: self.editor.func::<String>("getcwd", ())?.into(), ..Place::default() },
        };
        let permission = &self.config.permission;
        let mut rules = in_force(&permission.sets, &permission.rules);
        rules.extend(session.into_iter().flat_map(|session| session.rules.iter().cloned()));
        Ok(Case {
            request,
            agent: session.map(|session| session.agent_name.clone()).unwrap_or_default(),
            mode: session.and_then(mode_id),
            folders: place.folders().cloned().collect(),
            cwd: place.cwd,
            home: None,
            rules,
            files: self.rule_files()?,
        })
    }

    /// Where the disk knows something of rules.
    pub fn rule_files(&self) -> Result<RuleFiles> {
        let state = PathBuf::from(self.editor.func::<String>("stdpath", "state")?);
        Ok(RuleFiles { trust: Some(state.join("trust")), kept: Some(state.join("acp-rules.json")) })
    }
}
