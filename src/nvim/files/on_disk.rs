//! What the background reports of files that changed on the disk, as far as it is not told to the other features yet,
//! and what has been told. How it is gone through is in `reports`.

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};

use crate::core::changes::told::Told;
use crate::core::changes::writers::{Writer, Writers};
use crate::core::ids::{Moment, SessionKey};
use crate::core::message::ChangedFile;
use crate::core::store::checkpoint::{Held, Mode};
use crate::nvim::events::Renamed;
use crate::nvim::prints::seed;

/// What is written is reported within this time, if it is.
const REPORT_MS: u64 = 1000;

pub struct OnDisk {
    pub told: Told,
    /// What is still to be gone through, in order.
    pub waiting: VecDeque<Report>,
    /// The next ones will be gone through in a moment.
    pub is_scheduled: bool,
    /// Who waits until all that was reported is told: a session, and the number that it asked for.
    pub asked: Vec<(SessionKey, u64)>,
    /// What is told once a file's buffer has taken it.
    pub in_buffers: HashMap<PathBuf, Report>,
    /// What has become a symbolic link: what a buffer of that name shows is another file's text.
    links: HashSet<PathBuf>,
    /// The texts of these are still being written: what is reported of them waits.
    not_whole: HashSet<PathBuf>,
    /// Files that the user has written from buffers of other names, and when.
    written_by_user: HashMap<PathBuf, Moment>,
}

impl Default for OnDisk {
    fn default() -> Self {
        Self {
            told: Told::new(seed()),
            waiting: VecDeque::new(),
            is_scheduled: false,
            asked: Vec::new(),
            in_buffers: HashMap::new(),
            links: HashSet::new(),
            not_whole: HashSet::new(),
            written_by_user: HashMap::new(),
        }
    }
}

/// A file that has become another one.
pub struct Report {
    pub writers: Writers,
    pub file: ChangedFile,
    pub renamed: Option<Renamed>,
}

impl OnDisk {
    /// A file's buffer is to take its text. Of two reports that wait the later one says what became of the file. Half of
    /// a text is nobody's text before, whoever was taken for its writer.
    pub fn add_for_buffer(&mut self, path: &Path, mut report: Report) {
        if let Some(earlier) = self.in_buffers.remove(path)
            && (report.writers.is_outside() == earlier.writers.is_outside()
                || is_half(&earlier.file.after, &[&earlier.file.before, &report.file.after]))
        {
            report.file.before = earlier.file.before;
        }
        self.in_buffers.insert(path.to_owned(), report);
    }

    /// The user has written a file just now, links resolved: the next report of it is about that.
    pub fn was_written_by_user(&mut self, path: PathBuf, now: Moment) {
        self.written_by_user.retain(|_, at| now.since(*at) < REPORT_MS);
        self.written_by_user.insert(path, now);
    }

    /// Whether a report is about what the user has written.
    pub fn is_by_user(&mut self, path: &Path, now: Moment) -> bool {
        self.written_by_user.remove(path).is_some_and(|at| now.since(at) < REPORT_MS)
    }

    /// Takes note of what a path is; says whether it is a link now, or was one.
    pub fn note_kind(&mut self, file: &ChangedFile) -> bool {
        let is_link = |held: &Held| matches!(held, Held::Link(_));
        if is_link(&file.after) {
            self.links.insert(file.path.clone());
        } else {
            self.links.remove(&file.path);
        }
        is_link(&file.before) || is_link(&file.after)
    }

    /// Whether this has become a link.
    pub fn is_link(&self, path: &Path) -> bool {
        self.links.contains(path)
    }

    pub fn is_not_whole(&mut self, path: &Path) {
        self.not_whole.insert(path.to_owned());
    }

    /// What is to be told of a file whose buffer has taken what there was to take.
    pub fn take_report(&mut self, path: &Path) -> Option<Report> {
        if self.not_whole.remove(path) { None } else { self.in_buffers.remove(path) }
    }

    /// A change was told as the buffer has it, with these as its writers: that is all of it, unless its report knows
    /// better who it was.
    pub fn has_told(&mut self, path: &Path, writers: Vec<Writer>) {
        if self.in_buffers.get(path).is_none_or(|report| report.writers.all() == writers) {
            self.in_buffers.remove(path);
        }
        self.told.set_writers(path, writers);
    }

    /// The permissions that a file had and has, as far as its report knows them.
    pub fn modes_of(&self, path: &Path) -> (Mode, Mode) {
        let report = self.in_buffers.get(path);
        report.map(|report| (report.file.before.mode(), report.file.after.mode())).unwrap_or_default()
    }

    /// What a file held and holds, byte for byte, according to its report. Of a buffer in some encodings nobody can tell.
    pub fn bytes_of(&self, path: &Path) -> Option<(Held, Held)> {
        let file = &self.in_buffers.get(path)?.file;
        Some((file.before.clone(), file.after.clone()))
    }

    /// The text that a file had before it got this one, according to its report. A buffer that was opened while the file
    /// was being changed has never seen it.
    pub fn text_before(&self, path: &Path, now: &Held) -> Option<Held> {
        let file = &self.in_buffers.get(path)?.file;
        let is_known = file.before.as_text().is_some() && file.after.matches(now);
        is_known.then(|| file.before.clone())
    }

    /// Whether a file that a buffer has just taken is a new one.
    pub fn is_new(&self, path: &Path) -> bool {
        self.in_buffers.get(path).is_some_and(|report| report.file.before == Held::Absent)
    }
}

/// Whether a text looks as if its writer was still at it: it is the beginning of the one before or after it.
fn is_half(text: &Held, others: &[&Held]) -> bool {
    let Some(text) = text.as_text() else { return false };
    let begins = |other: &&Held| {
        other.as_text().is_some_and(|other| text.len() < other.len() && other.starts_with(&**text))
    };
    others.iter().any(begins)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::ids::SessionKey;

    fn report(by_agent: bool, before: &str, after: &str) -> Report {
        let writers = by_agent.then_some(Writer { session: SessionKey(1), call: None });
        let file = ChangedFile {
            path: "/a.txt".into(),
            renamed_from: None,
            before: Held::text(before),
            after: Held::text(after),
            unknown: None,
            later: None,
            is_told: false,
        };
        Report { writers: Writers::known(writers.into_iter().collect()), file, renamed: None }
    }

    fn texts(reports: [Report; 2]) -> (Held, Held) {
        let (mut on_disk, path) = (OnDisk::default(), Path::new("/a.txt"));
        reports.into_iter().for_each(|report| on_disk.add_for_buffer(path, report));
        let Report { file, .. } = on_disk.take_report(path).expect("a report");
        (file.before, file.after)
    }

    #[test]
    fn two_changes_of_one_writer_are_one() {
        let reports = [report(true, "a\n", "b\n"), report(true, "b\n", "c\n")];
        assert_eq!(texts(reports), (Held::text("a\n"), Held::text("c\n")));
    }

    #[test]
    fn what_came_from_outside_is_no_part_of_an_agents_change() {
        let reports = [report(false, "a\n", "b\n"), report(true, "b\n", "c\n")];
        assert_eq!(texts(reports), (Held::text("b\n"), Held::text("c\n")));
    }

    #[test]
    fn half_of_a_text_is_no_text_before_whoever_wrote_it() {
        for half in ["", "a\n", "a\nB\n"] {
            let reports = [report(false, "a\nb\n", half), report(true, half, "a\nB\nc\n")];
            assert_eq!(texts(reports), (Held::text("a\nb\n"), Held::text("a\nB\nc\n")), "{half:?}");
        }
    }
}
