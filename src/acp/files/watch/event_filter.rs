//! What the system says of watched folders, sifted on the thread it says it on: of all that happens
//! there only what may concern a watched file is kept, each file once, however often it is told.

use std::path::{Path, PathBuf};
use std::time::Instant;

use notify::event::{AccessKind, AccessMode, ModifyKind, RenameMode};
use notify::{Event, EventKind};

use crate::core::changes::half_written::Input;
use crate::core::maps::{FastMap, FastSet};

/// Whether the system says that a file was closed; where it does not, what it says of writing is no more than
/// that something happened.
const TELLS_CLOSING: bool = cfg!(any(target_os = "linux", target_os = "android"));

#[derive(Default)]
pub struct EventFilter {
    /// What is said of the path concerns these files: itself, or what is in it.
    concerns: FastMap<PathBuf, FastSet<PathBuf>>,
    pending: FastMap<PathBuf, ChangedPath>,
    renamed: FastMap<PathBuf, PathBuf>,
    last: Option<Instant>,
}

/// What may have become of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedPath {
    /// A folder above came or went, so it has to be watched anew.
    pub folder: bool,
    /// The system called it, or a folder above, by another name.
    pub renamed: Option<PathBuf>,
    /// The last that was said of it, and when.
    pub said: Input,
    pub at: Instant,
}

impl Default for ChangedPath {
    fn default() -> Self {
        Self { folder: false, renamed: None, said: Input::Uncertain, at: Instant::now() }
    }
}

impl ChangedPath {
    fn hear(&mut self, said: Input) {
        self.at = Instant::now();
        // Who changes a file's time or rights has neither opened nor closed it.
        if said != Input::Uncertain {
            self.said = said;
        }
    }
}

impl EventFilter {
    /// From now on the file is watched through this folder, which is above it.
    pub fn watch(&mut self, file: &Path, folder: &Path) {
        for path in chain(file, folder) {
            self.concerns.entry(path.to_owned()).or_default().insert(file.to_owned());
        }
    }

    pub fn unwatch(&mut self, file: &Path, folder: &Path) {
        for path in chain(file, folder) {
            if let Some(files) = self.concerns.get_mut(path) {
                files.remove(file);
                if files.is_empty() {
                    self.concerns.remove(path);
                }
            }
        }
        self.pending.remove(file);
    }

    /// Takes in what the system says. Says whether it is the first of something to look at.
    pub fn take_in(&mut self, event: notify::Result<Event>) -> bool {
        let was_calm = self.pending.is_empty();
        match event {
            event if !concerns_content(&event) => return false,
            Ok(event) if !event.need_rescan() => {
                if let (EventKind::Modify(ModifyKind::Name(RenameMode::Both)), [from, to]) =
                    (event.kind, &event.paths[..])
                {
                    self.rename(from, to);
                    self.concern(from, Input::Uncertain);
                    self.concern(to, said(event.kind));
                } else {
                    event.paths.iter().for_each(|path| self.concern(path, said(event.kind)));
                }
            }
            // It lost count, so it may be any of them.
            _ => {
                let files: Vec<PathBuf> = self.concerns.values().flatten().cloned().collect();
                for file in files {
                    self.pending.entry(file).or_default().folder = true;
                }
            }
        }
        if !self.pending.is_empty() {
            self.last = Some(Instant::now());
        }
        was_calm && !self.pending.is_empty()
    }

    fn concern(&mut self, path: &Path, said: Input) {
        for file in self.concerns.get(path).into_iter().flatten() {
            let changed_path = self.pending.entry(file.clone()).or_default();
            if file == path {
                changed_path.hear(said);
            } else {
                changed_path.folder = true;
                changed_path.hear(Input::Uncertain);
            }
        }
    }

    fn rename(&mut self, from: &Path, to: &Path) {
        for file in self.concerns.get(from).into_iter().flatten() {
            let Ok(rest) = file.strip_prefix(from) else { continue };
            let to = if rest.as_os_str().is_empty() { to.to_owned() } else { to.join(rest) };
            self.pending.entry(file.clone()).or_default().renamed = Some(to.clone());
            self.renamed.insert(file.clone(), to);
        }
        // It goes on: what it is called now has a new name soon after.
        for (_, name) in self.renamed.iter_mut().filter(|(_, name)| *name == from) {
            to.clone_into(name);
        }
        for (file, changed_path) in &mut self.pending {
            if let Some(name) = self.renamed.get(file) {
                changed_path.renamed = Some(name.clone());
            }
        }
    }

    pub fn last(&self) -> Option<Instant> {
        self.last
    }

    /// The last that was said of a file since the last [`Self::drain`], and when.
    pub fn said_of(&self, file: &Path) -> Option<(Input, Instant)> {
        self.pending.get(file).map(|changed_path| (changed_path.said, changed_path.at))
    }

    /// The files to look at; they are looked at once.
    pub fn drain(&mut self) -> FastMap<PathBuf, ChangedPath> {
        self.renamed.clear();
        std::mem::take(&mut self.pending)
    }
}

/// A file that is read or opened is the same file still. The system says so of each that is opened, by this client, too.
pub fn concerns_content(event: &notify::Result<Event>) -> bool {
    match event {
        Ok(Event { kind: EventKind::Access(kind), .. }) => *kind == AccessKind::Close(AccessMode::Write),
        _ => true,
    }
}

/// What an event means for a file of this name.
fn said(kind: EventKind) -> Input {
    match kind {
        _ if !TELLS_CLOSING => Input::Uncertain,
        EventKind::Access(AccessKind::Close(AccessMode::Write))
        | EventKind::Modify(ModifyKind::Name(RenameMode::To | RenameMode::Both)) => Input::Closed,
        EventKind::Modify(ModifyKind::Data(_)) => Input::Touched,
        _ => Input::Uncertain,
    }
}

/// The file, and the folders down to it from the one that is watched.
fn chain<'a>(file: &'a Path, folder: &'a Path) -> impl Iterator<Item = &'a Path> {
    file.ancestors().take_while(move |path| path.starts_with(folder))
}

#[cfg(test)]
mod tests {
    use notify::event::{CreateKind, DataChange, MetadataKind};

    use super::*;

    fn told(kind: EventKind, paths: &[&str]) -> notify::Result<Event> {
        let mut event = Event::new(kind);
        event.paths = paths.iter().map(PathBuf::from).collect();
        Ok(event)
    }

    const CHANGED: EventKind = EventKind::Modify(ModifyKind::Data(DataChange::Any));
    const RENAMED: EventKind = EventKind::Modify(ModifyKind::Name(RenameMode::Both));

    fn filter() -> EventFilter {
        let mut filter = EventFilter::default();
        filter.watch(Path::new("/p/a"), Path::new("/p"));
        filter.watch(Path::new("/p/new/deep/b"), Path::new("/p"));
        filter
    }

    #[test]
    fn only_what_concerns_a_watched_file_is_kept_and_each_file_once() {
        let mut filter = filter();
        for path in ["/p/x", "/p/a/x", "/p/ab", "/p/new/c"] {
            assert!(!filter.take_in(told(CHANGED, &[path])), "{path}");
        }
        assert!(!filter.take_in(told(EventKind::Access(AccessKind::Any), &["/p/a"])));
        assert!(filter.take_in(told(CHANGED, &["/p/a"])));
        assert!(!filter.take_in(told(CHANGED, &["/p/a"])), "it was told already");
        assert!(filter.last().is_some());
        let all = filter.drain();
        assert_eq!(all.keys().collect::<Vec<_>>(), [Path::new("/p/a")]);
        assert!(!all[Path::new("/p/a")].folder);
        assert!(filter.take_in(told(CHANGED, &["/p/a"])));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn of_writing_and_closing_the_last_word_counts() {
        const CLOSED: EventKind = EventKind::Access(AccessKind::Close(AccessMode::Write));
        const RIGHTS: EventKind = EventKind::Modify(ModifyKind::Metadata(MetadataKind::Any));
        let mut filter = filter();
        let mut said = |kind| {
            filter.take_in(told(kind, &["/p/a"]));
            filter.said_of(Path::new("/p/a")).map(|(said, _)| said)
        };
        assert_eq!(said(EventKind::Access(AccessKind::Open(AccessMode::Any))), None);
        assert_eq!(said(CHANGED), Some(Input::Touched));
        assert_eq!(said(CLOSED), Some(Input::Closed));
        assert_eq!(said(RIGHTS), Some(Input::Closed));
        assert_eq!(said(CHANGED), Some(Input::Touched));
        filter.take_in(told(RENAMED, &["/p/a.new", "/p/a"]));
        assert_eq!(filter.said_of(Path::new("/p/a")).map(|(said, _)| said), Some(Input::Closed));
        filter.drain();
        filter.take_in(told(RENAMED, &["/p/a", "/p/b"]));
        assert_eq!(filter.said_of(Path::new("/p/a")).map(|(said, _)| said), Some(Input::Uncertain));
    }

    #[test]
    fn a_folder_above_a_file_concerns_it() {
        let mut filter = filter();
        assert!(filter.take_in(told(EventKind::Create(CreateKind::Folder), &["/p/new"])));
        assert!(filter.drain()[Path::new("/p/new/deep/b")].folder);
        filter.unwatch(Path::new("/p/new/deep/b"), Path::new("/p"));
        assert!(!filter.take_in(told(EventKind::Create(CreateKind::Folder), &["/p/new"])));
        filter.unwatch(Path::new("/p/a"), Path::new("/p"));
        assert!(filter.concerns.is_empty(), "nothing is left of what is not watched");
    }

    #[test]
    fn a_name_is_followed_from_one_to_the_next() {
        let mut filter = filter();
        filter.take_in(told(RENAMED, &["/p/a", "/p/a1"]));
        filter.take_in(told(RENAMED, &["/p/a1", "/p/a2"]));
        filter.take_in(told(RENAMED, &["/p/new", "/p/old"]));
        let all = filter.drain();
        assert_eq!(all[Path::new("/p/a")].renamed, Some("/p/a2".into()));
        assert_eq!(all[Path::new("/p/new/deep/b")].renamed, Some("/p/old/deep/b".into()));
    }

    #[test]
    fn when_the_system_lost_count_every_file_is_looked_at() {
        let mut filter = filter();
        let lost = Event::new(EventKind::Other).set_flag(notify::event::Flag::Rescan);
        assert!(filter.take_in(Ok(lost)));
        assert_eq!(filter.drain().len(), 2);
        assert!(filter.take_in(Err(notify::Error::generic("lost"))));
        assert_eq!(filter.drain().len(), 2);
    }
}
