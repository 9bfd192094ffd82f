//! Finding a project's files by a part of their names. The files are listed once and again when that
//! is some seconds old; what .gitignore and its like leave out is not among them. What is done with
//! what was found is the editor's side's business.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ignore::{WalkBuilder, WalkState};
use nucleo_matcher::pattern::{AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use crate::acp::mutex::lock;
use crate::core::ids::JobId;
use crate::core::message::Event;
use crate::mailbox::Mailbox;

/// At most this many files are handed out.
const MAX_FOUND_FILES: usize = 50;
/// A folder with more, such as a whole disk, is listed in part.
const MAX_LISTED_FILES: usize = 400_000;
/// Listing takes no longer than this; what is known then counts.
const PATIENCE: Duration = Duration::from_secs(10);
/// A list this old is made again.
const OLD: Duration = Duration::from_secs(3);
/// A list that took no longer than this is made again before it is used, a dearer one after.
const QUICK: Duration = Duration::from_millis(30);
/// How often a search looks whether a newer one has come.
const STRIDE: usize = 1024;

#[derive(Default)]
pub struct Finder {
    roots: HashMap<PathBuf, Arc<Mutex<Option<Listing>>>>,
    newest: Arc<AtomicU64>,
}

/// All files and folders below a root.
pub struct Listing {
    /// Relative to the root; folders end with a slash.
    paths: Vec<String>,
    made: Instant,
    took: Duration,
}

/// One search, to be run where waiting is allowed.
pub struct Search {
    id: JobId,
    root: PathBuf,
    query: String,
    listing: Arc<Mutex<Option<Listing>>>,
    newest: Arc<AtomicU64>,
}

impl Finder {
    /// From here on earlier searches are over.
    pub fn begin(&mut self, id: JobId, root: PathBuf, query: String) -> Search {
        self.newest.store(id.0, Ordering::Relaxed);
        let listing = self.roots.entry(root.clone()).or_default().clone();
        Search { id, root, query, listing, newest: self.newest.clone() }
    }
}

impl Search {
    pub fn run(self, mailbox: &Mailbox) {
        let mut listing = lock(&self.listing);
        if self.is_over() {
            return mailbox.post(Event::Found { search: self.id, files: None });
        }
        let fresh = match listing.take() {
            Some(known) if known.made.elapsed() < OLD || known.took > QUICK => known,
            _ => Listing::make(&self.root),
        };
        let known = listing.insert(fresh);
        let files = known.best(&self.query, &|| self.is_over());
        mailbox.post(Event::Found { search: self.id, files });
        if known.made.elapsed() >= OLD {
            *known = Listing::make(&self.root);
        }
    }

    fn is_over(&self) -> bool {
        self.newest.load(Ordering::Relaxed) != self.id.0
    }
}

impl Listing {
    pub fn make(root: &Path) -> Self {
        let began = Instant::now();
        let paths = Mutex::new(Vec::new());
        let count = AtomicUsize::new(0);
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(4);
        let walk = WalkBuilder::new(root)
            // .github and the like are files of the project; without git, .gitignore means the same.
            .hidden(false)
            .require_git(false)
            .filter_entry(|entry| entry.file_name() != ".git" && entry.file_name() != ".jj")
            .threads(threads)
            .build_parallel();
        walk.run(|| {
            let mut own = Batch { paths: Vec::new(), all: &paths };
            let count = &count;
            Box::new(move |entry| {
                let Ok(entry) = entry else { return WalkState::Continue };
                let Ok(path) = entry.path().strip_prefix(root) else { return WalkState::Continue };
                // A name that is no UTF-8 can't be typed.
                let Some(path) = path.to_str().filter(|path| !path.is_empty() && !path.contains('\n')) else {
                    return WalkState::Continue;
                };
                // Typed, and told to agents, with slashes everywhere.
                let path = path.replace(std::path::MAIN_SEPARATOR, "/");
                let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
                let name = if is_folder { format!("{path}/") } else { path };
                own.paths.push((entry.depth(), name));
                let many = count.fetch_add(1, Ordering::Relaxed) >= MAX_LISTED_FILES;
                if many || began.elapsed() > PATIENCE { WalkState::Quit } else { WalkState::Continue }
            })
        });
        let mut paths: Vec<(usize, String)> = paths.into_inner().unwrap_or_else(PoisonError::into_inner);
        // What is near the root comes first where nothing else tells.
        paths.sort_unstable();
        let paths = paths.into_iter().map(|(_, path)| path).collect();
        Self { paths, made: Instant::now(), took: began.elapsed() }
    }

    pub fn len(&self) -> usize {
        self.paths.len()
    }

    pub fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// The best for a query, best first; `None` once it is `over`.
    pub fn best(&self, query: &str, over: &dyn Fn() -> bool) -> Option<Vec<String>> {
        if query.is_empty() {
            return Some(self.paths.iter().take(MAX_FOUND_FILES).cloned().collect());
        }
        let pattern = Pattern::new(query, CaseMatching::Smart, Normalization::Smart, AtomKind::Fuzzy);
        let mut matcher = Matcher::new(Config::DEFAULT.match_paths());
        let mut letters = Vec::new();
        let mut fits: Vec<(Reverse<u32>, usize, usize)> = Vec::new();
        for (index, path) in self.paths.iter().enumerate() {
            if index % STRIDE == 0 && over() {
                return None;
            }
            if let Some(score) = pattern.score(Utf32Str::new(path, &mut letters), &mut matcher) {
                fits.push((Reverse(score), path.len(), index));
            }
        }
        if fits.len() > MAX_FOUND_FILES {
            fits.select_nth_unstable(MAX_FOUND_FILES);
            fits.truncate(MAX_FOUND_FILES);
        }
        fits.sort_unstable();
        Some(fits.into_iter().map(|(_, _, index)| self.paths[index].clone()).collect())
    }
}

/// What one of the walking threads has found.
struct Batch<'a> {
    /// With how deep they lie.
    paths: Vec<(usize, String)>,
    all: &'a Mutex<Vec<(usize, String)>>,
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        lock(self.all).append(&mut self.paths);
    }
}
