//! Offering the editor's tools to a session. How its agent reaches them is settled where that is known; running them is left to the feature.

use std::path::Path;

use mlua::{Function, Result, Table};

use crate::core::ids::SessionKey;
use crate::core::message::{Command, EditorTools, Launch, Place, Sandbox, ToolsTransport};
use crate::core::tools::table::TOOLS;
use crate::core::tools::titles::SERVER;
use crate::nvim::context::Context;
use crate::nvim::context::offers::Door;
use crate::nvim::editor::{Editor, Level, first_line};

/// What agents call the server where the user has one named [`SERVER`].
const OTHER_NAME: &str = "acp-neovim";

impl Context {
    /// Gives the editor's tools to a session that is to be opened in this place; says which.
    pub fn offer_tools(&mut self, launch: &Launch, place: &mut Place) -> Vec<String> {
        place.tools = None;
        let prefers = self.config.tools_transport(&launch.name);
        let is_elsewhere = launch.remote.is_some() || !launch.paths.is_empty();
        let is_reached = !is_elsewhere || prefers == ToolsTransport::Acp;
        // A recording calls nothing.
        let is_given = launch.replay.is_none() && self.config.gives_tools(&launch.name, &place.cwd);
        if !is_reached || !is_given {
            return Vec::new();
        }
        let offered = self.door().and_then(|door| Ok((door, token(&self.editor)?)));
        let (door, token) = match offered {
            Ok(offered) => offered,
            Err(error) => {
                let why = first_line(&error);
                self.notify(format!("couldn't offer the editor's tools to agents: {why}"), Level::Warn);
                return Vec::new();
            }
        };
        let is_taken = place.mcp_servers.iter().any(|server| server.name() == SERVER);
        let name = if is_taken { OTHER_NAME } else { SERVER };
        place.tools = Some(Box::new(EditorTools {
            name: name.to_owned(),
            prefers,
            is_elsewhere,
            token,
            program: door.program.into(),
            args: vec!["--clean".into(), "-l".into(), door.bridge],
            socket: door.socket.into(),
        }));
        let without = self.config.tools_denied(&launch.name, &place.cwd);
        let own = self.offers.own.iter().map(String::as_str);
        let names = TOOLS.iter().map(|tool| tool.name).chain(own);
        let names = names.filter(|name| !without.iter().any(|denied| denied == name));
        names.map(str::to_owned).collect()
    }

    /// Tells the background who may use the tools of a session that is being opened, perhaps not for the first time.
    pub fn tell_offer(&mut self, key: SessionKey) {
        let Some(session) = self.sessions.get(&key) else { return };
        let without = self.config.tools_denied(&session.agent_name, &session.place.cwd);
        let Some(tools) = &session.place.tools else { return };
        let (socket, token) = (tools.socket.clone(), tools.token.clone());
        self.send(Command::OfferTools { session: key, socket, token, without });
    }

    /// What a confined agent must be able to read in order to start a bridge. Running it was not allowed otherwise.
    pub fn let_bridge_in(&mut self, sandbox: &mut Sandbox) {
        // Without a door no tools are offered, which says so.
        let Ok(door) = self.door() else { return };
        let (program, bridge) = (Path::new(&door.program), Path::new(&door.bridge));
        for path in [Some(program), bridge.parent()].into_iter().flatten() {
            if !sandbox.read.iter().any(|known| known == path) {
                sandbox.read.push(path.to_owned());
            }
        }
    }

    fn door(&mut self) -> Result<Door> {
        if let Some(door) = &self.offers.door {
            return Ok(door.clone());
        }
        let table: Table = helper(&self.editor, "door")?.call(())?;
        let door = Door {
            program: table.get("program")?,
            bridge: table.get("bridge")?,
            socket: table.get("socket")?,
        };
        self.offers.door = Some(door.clone());
        Ok(door)
    }
}

fn token(editor: &Editor) -> Result<String> {
    helper(editor, "token")?.call(())
}

fn helper(editor: &Editor, name: &str) -> Result<Function> {
    let module: Table = editor.lua.globals().get::<Function>("require")?.call("acp.tools")?;
    module.get(name)
}
