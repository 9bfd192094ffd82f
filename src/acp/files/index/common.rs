//! What the workers that look after sessions' folders have in common with all others: the clock, what agents are
//! doing, and the texts of changes that the editor's side may ask for later.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::allowed::AllowedCommands;
use super::holders::Holders;
use super::texts::{Location, Pack};
use super::walk::MAX_FILES;
use crate::acp::mutex::lock;
use crate::acp::wire::log::WireLog;
use crate::core::changes::attribution::Activities;
use crate::core::changes::half_written::Millis;
use crate::core::message::Event;
use crate::core::store::checkpoint::{Held, Mode};
use crate::mailbox::Mailbox;
use crate::platform::files;
use crate::platform::paths::resolve_file;

/// Texts of changes that were told without them have no more bytes together; the oldest half goes then. They lie on the
/// disk, and what is told is asked for at once, so only what is more than this and told at once is lost.
const MAX_TEXTS_BYTES: u64 = 256 << 20;

/// No more bytes of texts are told to the editor's side in this time.
pub const ALLOWANCE: usize = 1 << 20;
const REFILL: Duration = Duration::from_secs(2);

/// The clock is never ahead of the time by more than this.
const AHEAD: Millis = 50;

/// The clock begins here, so that there are times before.
const START: Millis = 24 * 60 * 60 * 1000;

pub struct Common {
    pub mailbox: Arc<Mailbox>,
    pub log: WireLog,
    pub activities: Mutex<Activities>,
    pub holders: Holders,
    pub allowed: Mutex<AllowedCommands>,
    /// The folders of each worker, by its number.
    pub roots: Mutex<HashMap<u64, Vec<PathBuf>>>,
    pub later: Mutex<Later>,
    /// Where copies are kept.
    pub cache: Mutex<PathBuf>,
    /// Folders of Neovim's own, which are nobody's project.
    pub own: Mutex<Vec<PathBuf>>,
    /// A change waits for what its agent says next.
    pub waits: AtomicBool,
    began: Instant,
    /// The clock is never before this.
    floor: AtomicU64,
    allowance: Mutex<(Instant, usize)>,
    /// Of a folder with more files no changes are noticed.
    pub most_files: usize,
}

/// What files held before and after changes that were told without their texts.
pub struct Later {
    pack: Pack,
    last: u64,
    changes: BTreeMap<u64, (Side, Side)>,
    /// The bytes from which on the oldest half goes.
    most: u64,
}

enum Side {
    Known(Held),
    At(Location, Mode),
}

impl Common {
    pub fn new(mailbox: Arc<Mailbox>, log: WireLog) -> Self {
        let cache = std::env::temp_dir();
        Self {
            mailbox,
            log,
            activities: Mutex::default(),
            holders: Holders::default(),
            allowed: Mutex::default(),
            roots: Mutex::default(),
            later: Mutex::new(Later::new(cache.clone(), MAX_TEXTS_BYTES)),
            cache: Mutex::new(cache),
            own: Mutex::default(),
            waits: AtomicBool::new(false),
            began: Instant::now(),
            floor: AtomicU64::new(0),
            most_files: MAX_FILES,
            allowance: Mutex::new((Instant::now(), ALLOWANCE)),
        }
    }

    pub fn at(&self, time: Instant) -> Millis {
        on_clock(time.saturating_duration_since(self.began))
    }

    /// The system's clock showed this, and what came then has no time before the one given here: nothing is rounded up, and
    /// it does not count by how much this clock is ahead.
    pub fn since(&self, time: SystemTime) -> Millis {
        let now = self.began.elapsed();
        let ago = SystemTime::now().duration_since(time).unwrap_or_default();
        on_clock(now.saturating_sub(ago))
    }

    /// A time of a file's, which is never later than now, or nothing where the system has none.
    pub fn at_time(&self, (seconds, nanos): (i64, i64)) -> Option<Millis> {
        if seconds == 0 {
            return None;
        }
        let now = self.now();
        let today = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let ago = i128::try_from(today.as_millis()).unwrap_or_default()
            - (i128::from(seconds) * 1000 + i128::from(nanos) / 1_000_000);
        Some(now.saturating_sub(Millis::try_from(ago).unwrap_or_default()))
    }

    /// By when a file in this state was changed last, by its own time; of one that is gone, its folder's.
    pub fn written(&self, path: &Path, state: Option<&Metadata>) -> Option<Millis> {
        let (seconds, nanos) = match state {
            Some(state) => files::changed(state),
            None => files::changed(&fs::symlink_metadata(path.parent()?).ok()?),
        };
        let since_1970 = Duration::new(u64::try_from(seconds).ok()?, u32::try_from(nanos).ok()?);
        // It is rounded up, as `since` rounds down: what is not certainly earlier is not.
        let ago = SystemTime::now().duration_since(UNIX_EPOCH + since_1970).unwrap_or_default();
        let at = on_clock(self.began.elapsed().saturating_sub(ago));
        (seconds > 0).then(|| at.saturating_add(1))
    }

    pub fn now(&self) -> Millis {
        self.at(Instant::now()).max(self.floor.load(Ordering::Acquire))
    }

    /// What comes from here on is later than `now`, also within the same millisecond.
    pub fn pass(&self, now: Millis) {
        // An agent that says much in a millisecond does not have the clock run away.
        let most = self.at(Instant::now()) + AHEAD;
        self.floor.fetch_max((now + 1).min(most), Ordering::AcqRel);
    }

    /// Whether so much text may be told at once with all that was told just before.
    pub fn may_tell(&self, bytes: usize) -> bool {
        let mut allowance = lock(&self.allowance);
        if allowance.0.elapsed() > REFILL {
            *allowance = (Instant::now(), ALLOWANCE);
        }
        let is_allowed = bytes <= allowance.1;
        if is_allowed {
            allowance.1 -= bytes;
        }
        is_allowed
    }

    /// The system refuses to watch a folder: the files of all of its project are looked at instead.
    pub fn is_unwatched(&self, root: &Path, folder: &Path, error: &io::Error) {
        let why = files::watch_limit(error).map_or_else(|| error.to_string(), str::to_owned);
        self.log.note(&format!(
            "couldn't watch {}: {why}; all files are looked at when a call or a turn ends instead",
            folder.display()
        ));
        self.mailbox.post(Event::FolderUnwatched { folder: root.to_owned(), why, is_looked_at: true });
    }

    /// What of Neovim's own lies below these folders.
    pub fn own_below(&self, roots: &[PathBuf]) -> Vec<PathBuf> {
        let own = lock(&self.own).clone();
        let real = own.into_iter().map(|folder| resolve_file(&folder));
        real.filter(|own| roots.iter().any(|root| own != root && own.starts_with(root))).collect()
    }

    pub fn wait_for_word(&self, waits: bool) {
        self.waits.store(waits, Ordering::Relaxed);
    }

    /// Whether the worker is the one that tells of this file: folders may lie in each other.
    pub fn is_told_by(&self, path: &Path, worker: u64) -> bool {
        let roots = lock(&self.roots);
        let inside = roots.iter().flat_map(|(worker, roots)| roots.iter().map(move |root| (root, *worker)));
        let nearest = inside
            .filter(|(root, _)| path.starts_with(root))
            .max_by_key(|(root, worker)| (root.as_os_str().len(), *worker));
        nearest.is_none_or(|(_, nearest)| nearest == worker)
    }
}

/// What the clock shows so long after it began.
fn on_clock(since: Duration) -> Millis {
    START.saturating_add(Millis::try_from(since.as_millis()).unwrap_or(Millis::MAX))
}

impl Later {
    fn new(folder: PathBuf, most: u64) -> Self {
        Self { pack: Pack::new(folder), last: 0, changes: BTreeMap::new(), most }
    }

    pub fn keep_in(&mut self, folder: PathBuf) {
        if self.changes.is_empty() {
            self.pack = Pack::new(folder);
        }
    }

    /// The newest stay, as far as they fit into half of what is kept.
    fn drop_oldest(&mut self) {
        let (mut left, mut pack) = (self.most / 2, self.pack.empty());
        let changes = std::mem::take(&mut self.changes).into_iter().rev();
        let newest = changes.take_while(|(_, (before, after))| {
            let rest = left.checked_sub(before.bytes().saturating_add(after.bytes()));
            left = rest.unwrap_or_default();
            rest.is_some()
        });
        for (number, (before, after)) in newest.collect::<Vec<_>>() {
            let sides = [before, after].map(|side| side.moved(&mut self.pack, &mut pack));
            self.changes.insert(number, sides.into());
        }
        self.pack = pack;
    }

    /// Takes the texts of a change, and gives the number that it is asked for by.
    pub fn add(&mut self, before: &Held, after: &Held) -> u64 {
        if self.pack.bytes() > self.most {
            self.drop_oldest();
        }
        let sides = (self.side(before), self.side(after));
        self.last += 1;
        self.changes.insert(self.last, sides);
        self.last
    }

    fn side(&mut self, held: &Held) -> Side {
        match held {
            Held::Absent | Held::Link(_) | Held::Unknown => Side::Known(held.clone()),
            Held::Text(..) | Held::Bytes(..) => match self.pack.add(held.bytes().unwrap_or_default()) {
                Ok(location) => Side::At(location, held.mode()),
                // Without room it is not known when it is asked for.
                Err(_) => Side::Known(Held::Unknown),
            },
        }
    }

    pub fn texts(&mut self, number: u64) -> Option<(Held, Held)> {
        let (before, after) = self.changes.get(&number)?;
        let mut held = |side: &Side| match side {
            Side::Known(held) => Some(held.clone()),
            Side::At(location, mode) => Some(Held::of_bytes(self.pack.read(*location).ok()?, *mode)),
        };
        Some((held(before)?, held(after)?))
    }
}

impl Side {
    fn bytes(&self) -> u64 {
        match self {
            Self::Known(_) => 0,
            Self::At(location, _) => location.bytes(),
        }
    }

    fn moved(self, from: &mut Pack, to: &mut Pack) -> Self {
        match self {
            Self::Known(held) => Self::Known(held),
            Self::At(location, mode) => {
                let moved = from.copy(location, to);
                // As when it was taken.
                moved.map_or(Self::Known(Held::Unknown), |location| Self::At(location, mode))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(text: &str) -> Held {
        Held::of_bytes(text.as_bytes().to_vec(), Mode::default())
    }

    #[test]
    fn the_oldest_texts_go_and_all_that_fit_stay() {
        let mut later = Later::new(std::env::temp_dir(), 40);
        let text = |number: usize| format!("{number:10}");
        let numbers: Vec<u64> = (0..9).map(|at| later.add(&held(&text(at)), &Held::Absent)).collect();
        let known: Vec<bool> = numbers.iter().map(|number| later.texts(*number).is_some()).collect();
        assert_eq!(known, [false, false, false, false, false, false, true, true, true]);
        for (at, number) in numbers.iter().enumerate().skip(6) {
            assert_eq!(later.texts(*number), Some((held(&text(at)), Held::Absent)), "{at}");
        }
    }

    #[test]
    fn what_came_after_a_time_of_the_systems_has_no_time_before_it() {
        let common = Common::new(Mailbox::new(|_| {}), WireLog::start(None));
        for _ in 0..2000 {
            let (began, first) = (SystemTime::now(), common.now());
            // A message moves the clock on before it is told when that was.
            common.pass(common.now() + 3);
            assert!(common.since(began) <= first);
        }
    }
}
