//! Agents: which there are, how each is started, and the page that lists them. This file has what is known
//! about them; a chat with one of them is left to others.

pub mod actions;
pub mod launch;
pub mod list;
pub mod page;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use mlua::{Function, Result};

use crate::config::Catalog;
use crate::config::agents::system;
use crate::core::ids::JobId;
use crate::core::store::registry::Files;
use crate::nvim::agents::page::Page;
use crate::nvim::context::Context;
use crate::nvim::editor::{Buf, Editor};

/// What is known about agents, and what is being done about it.
pub struct Agents {
    /// The program that comes with the library.
    bundled: Option<PathBuf>,
    catalog: Catalog,
    files: Files,
    system: String,
    /// What waits for the disk.
    reads: HashMap<JobId, AfterRead>,
    fetching: Option<Running>,
    /// Why the registry could not be fetched the last time.
    unfetched: Option<String>,
    downloading: BTreeMap<String, Running>,
    /// What went wrong the last time, by agent.
    failed: BTreeMap<String, String>,
    page: Option<OpenPage>,
}

/// What is done once the disk has been read; the text says why the change could not be made.
type AfterRead = Box<dyn FnOnce(&mut Agents, &mut Context, Option<String>) -> Result<()>>;

/// Work in Lua that takes a while.
#[derive(Default)]
struct Running {
    /// How far it is.
    progress: String,
    /// Not there before it has begun.
    cancel: Option<Function>,
}

/// The page in its buffer.
struct OpenPage {
    buf: Buf,
    page: Page,
    /// The agents whose details are shown.
    open: BTreeSet<String>,
}

impl Agents {
    pub fn new(editor: &Editor, bundled: Option<PathBuf>) -> Result<Self> {
        let folder = |name: &str| -> Result<PathBuf> {
            let path: String = editor.func("stdpath", name)?;
            Ok(Path::new(&path).join("acp"))
        };
        Ok(Self {
            bundled,
            catalog: Catalog::default(),
            files: Files {
                index: folder("cache")?.join("registry.json"),
                approved: folder("state")?.join("agents.json"),
                downloads: folder("data")?.join("agents"),
            },
            system: system(),
            reads: HashMap::new(),
            fetching: None,
            unfetched: None,
            downloading: BTreeMap::new(),
            failed: BTreeMap::new(),
            page: None,
        })
    }

    pub fn bundled(&self) -> Option<&Path> {
        self.bundled.as_deref()
    }

    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Whether a buffer shows the page.
    pub fn is_page(&self, buf: Buf) -> bool {
        self.page.as_ref().is_some_and(|page| page.buf == buf)
    }
}
