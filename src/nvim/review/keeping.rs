//! What is known of what is kept on the disk: what is not kept yet, whose project files belong to, and which projects are
//! being asked for what was left in them. Keeping and taking it over is left to `kept`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use crate::core::ids::JobId;
use crate::core::store::project::project_name;

#[derive(Default)]
pub struct Keeping {
    /// Where the projects' folders are.
    state: PathBuf,
    /// Files that are not kept as they are now.
    pub unsaved: BTreeSet<PathBuf>,
    pub are_comments_unsaved: bool,
    pub is_scheduled: bool,
    /// The projects of files whose sessions are gone.
    pub projects: HashMap<PathBuf, PathBuf>,
    /// The projects in which comments are kept.
    pub commented: BTreeSet<PathBuf>,
    /// The projects that are being asked for what was left in them.
    pub asked: HashMap<JobId, PathBuf>,
    /// In how many files other Neovims have something to decide, by project.
    pub elsewhere: BTreeMap<PathBuf, usize>,
    /// Why it is not known what was left.
    pub failure: Option<String>,
}

impl Keeping {
    pub fn new(state: PathBuf) -> Self {
        Self { state, ..Self::default() }
    }

    /// Where what is left of a project is kept.
    pub fn folder(&self, project: &Path) -> PathBuf {
        self.state.join(project_name(project))
    }
}
