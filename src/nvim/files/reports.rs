//! Files that changed on the disk, as the background reports them: each change of an agent's is told to the other
//! features once, and each one from outside as such. A buffer takes the new text first. Who wrote what is found out by
//! the background; taking a text into a buffer is left to `engine`.

use std::path::Path;
use std::time::Duration;

use mlua::Result;

use crate::core::changes::told::News;
use crate::core::changes::writers::{Writer, Writers};
use crate::core::ids::SessionKey;
use crate::core::message::{Cause, ChangedFile, Outcome, Work};
use crate::core::session::written_files::Road;
use crate::core::store::checkpoint::Held;
use crate::core::text::Text;
use crate::nvim::context::Context;
use crate::nvim::editor::Buf;
use crate::nvim::events::{Attribution, Change, EditorEvent, OutsideChange, Renamed};
use crate::nvim::files::Files;
use crate::nvim::files::after_apply::{change_kind, note_write};
use crate::nvim::files::on_disk::Report;
use crate::nvim::files::whose::{call_about, writers_of};

/// At most this many files are gone through before the editor has its turn, and no more than these bytes.
const MAX_FILES: usize = 16;
const MAX_BYTES: usize = 256 << 10;

const PAUSE: Duration = Duration::from_millis(1);

impl Files {
    /// The background has found files of sessions' folders changed.
    pub fn files_changed(&mut self, cx: &mut Context, cause: Cause, files: Vec<ChangedFile>) -> Result<()> {
        let writers = writers_of(cx, cause);
        let reports = files.into_iter().map(|file| Report { writers: writers.clone(), file, renamed: None });
        self.on_disk.waiting.extend(reports);
        if self.on_disk.is_scheduled { Ok(()) } else { self.go_through(cx) }
    }

    /// Says so when all that was reported until now is told.
    pub fn count(&mut self, cx: &mut Context, session: SessionKey, upto: u64) {
        self.on_disk.asked.push((session, upto));
        self.answer_asked(cx);
    }

    pub fn answer_asked(&mut self, cx: &mut Context) {
        let on_disk = &mut self.on_disk;
        if on_disk.waiting.is_empty() && !on_disk.is_scheduled && on_disk.in_buffers.is_empty() {
            for (session, upto) in on_disk.asked.drain(..) {
                cx.raise(EditorEvent::ChangesCounted { session, upto });
            }
        }
    }

    /// Goes through some of the files, then the editor has its turn. Texts that stayed in the background are fetched.
    fn go_through(&mut self, cx: &mut Context) -> Result<()> {
        let (mut bytes, mut ready, mut numbers) = (0, Vec::new(), Vec::new());
        while ready.len() < MAX_FILES && bytes < MAX_BYTES {
            let Some(report) = self.on_disk.waiting.pop_front() else { break };
            bytes += report.file.before.size() + report.file.after.size();
            numbers.extend(report.file.later);
            ready.push(report);
        }
        self.on_disk.is_scheduled = !ready.is_empty();
        if ready.is_empty() {
            self.answer_asked(cx);
            return Ok(());
        }
        if numbers.is_empty() {
            return self.tell_ready(cx, ready, Vec::new());
        }
        cx.compute(Work::ChangedTexts { numbers }, |files: &mut Self, cx, outcome| match outcome {
            Outcome::ChangedTexts(texts) => files.tell_ready(cx, ready, texts),
            _ => Ok(()),
        });
        Ok(())
    }

    /// A file that can't be told of costs no other: the rest is gone through in the next turn.
    fn tell_ready(
        &mut self,
        cx: &mut Context,
        ready: Vec<Report>,
        texts: Vec<Option<(Held, Held)>>,
    ) -> Result<()> {
        let ready = with_texts(ready, texts);
        let count = ready.len();
        ready.into_iter().rev().for_each(|report| self.on_disk.waiting.push_front(report));
        cx.later(PAUSE, |files: &mut Self, cx| files.go_through(cx))?;
        for _ in 0..count {
            let Some(report) = self.on_disk.waiting.pop_front() else { break };
            for report in sides(report) {
                self.file_reported(cx, report)?;
            }
        }
        Ok(())
    }

    fn file_reported(&mut self, cx: &mut Context, mut report: Report) -> Result<()> {
        if self.on_disk.is_by_user(&report.file.path, cx.now()) {
            report.writers = Writers::known(Vec::new());
        }
        if report.file.is_told {
            self.tell_again(cx, report);
            return Ok(());
        }
        let is_link = self.on_disk.note_kind(&report.file);
        let buf = cx.buf_of(&report.file.path);
        let Some(buf) = buf.filter(|_| !is_link) else {
            let path = report.file.path.clone();
            self.tell_report(cx, None, report);
            // What the buffer shows from now on is no text of an agent's.
            return self.file_touched(cx, Writers::known(Vec::new()), &path);
        };
        let path = cx.buffers.name_of(buf).map_or_else(|| report.file.path.clone(), Path::to_owned);
        let writers = report.writers.clone();
        if let Some(Renamed::To(to)) = &report.renamed
            && let Some(held) = cx.buffers.held(&path)
        {
            held.moved = Some(to.clone());
        }
        self.on_disk.add_for_buffer(&path, report);
        self.take(cx, path, writers, true)
    }

    /// A buffer has taken what there was to take: what has not been told with that is told now.
    pub fn tell_taken(&mut self, cx: &mut Context, path: &Path) {
        if let Some(report) = self.on_disk.take_report(path) {
            self.tell_report(cx, cx.buf_of(path), report);
        }
        self.answer_asked(cx);
    }

    /// More is known by now of whose change it was. It may have been told, or wait until its buffer has taken it.
    fn tell_again(&mut self, cx: &mut Context, report: Report) {
        let Report { writers, file, .. } = report;
        let name = cx.buf_of(&file.path).and_then(|buf| cx.buffers.name_of(buf)).map(Path::to_owned);
        let path = name.unwrap_or(file.path);
        if let Some(waiting) = self.on_disk.in_buffers.get_mut(&path)
            && waiting.file.after.matches(&file.after)
        {
            waiting.writers = writers.clone();
        }
        let told = self.on_disk.told.writers(&path, &file.after).to_vec();
        self.attribute(cx, &path, (told, &writers), (&file.before, &file.after));
    }

    fn tell_report(&mut self, cx: &mut Context, buf: Option<Buf>, report: Report) {
        let Report { writers, file, renamed } = report;
        let ChangedFile { path, mut before, after, unknown, .. } = file;
        let told = self.on_disk.told.writers(&path, &after).to_vec();
        if !told.is_empty() && !self.attribute(cx, &path, (told, &writers), (&before, &after)) {
            return;
        }
        let Some(Writer { session, call }) = writers.first() else {
            self.on_disk.told.holds(&path, &after);
            let change = OutsideChange { path, before, after };
            return cx.raise(EditorEvent::FileChangedOutside(Box::new(change)));
        };
        match self.on_disk.told.news(&path, &before, &after) {
            News::Nothing => return,
            News::Mode => before = after.clone().with_mode(before.mode()),
            News::All => self.on_disk.told.set_writers(&path, writers.all().to_vec()),
        }
        // A renamed file is one: the one that is there.
        if call.is_none() && !matches!(renamed, Some(Renamed::To(_))) {
            let from = match &renamed {
                Some(Renamed::From(from)) => Some(&**from),
                _ => None,
            };
            let kind = change_kind(cx, session, from, (&before, &after));
            note_write(cx, session, (&path, Road::Disk), kind, (plain(&before), plain(&after)));
        }
        cx.raise(EditorEvent::FileChanged(Box::new(Change {
            session,
            call,
            others: writers.others().to_vec(),
            path,
            // What a buffer shows of a file that is gone is the user's to write or to drop.
            buf: buf.filter(|_| after != Held::Absent),
            before: plain(&before),
            after: plain(&after),
            held: (before, after),
            ranges: Vec::new(),
            lines: None,
            saved: true,
            is_in_buffer: false,
            unknown,
            renamed,
        })));
        cx.raise(EditorEvent::SessionChanged(session));
    }

    /// A change is reported that was told already. Says whether there is more to tell of it than who did it.
    fn attribute(
        &mut self,
        cx: &mut Context,
        path: &Path,
        (told, writers): (Vec<Writer>, &Writers),
        (before, after): (&Held, &Held),
    ) -> bool {
        let names =
            |writer: &Writer| writer.call.is_some() && call_about(cx, writer.session, path) == writer.call;
        if writers.correct(&told, names) {
            self.on_disk.told.set_writers(path, writers.all().to_vec());
            cx.raise(EditorEvent::ChangeAttributed(Box::new(Attribution {
                path: path.to_owned(),
                from: told,
                to: writers.all().to_vec(),
                held: (before.clone(), after.clone()),
            })));
            return true;
        }
        !writers.is_outside()
    }
}

/// The reports with what was fetched for them.
fn with_texts(ready: Vec<Report>, texts: Vec<Option<(Held, Held)>>) -> Vec<Report> {
    let mut texts = texts.into_iter();
    let fetched = ready.into_iter().filter_map(|mut report| {
        if report.file.later.take().is_some() {
            match texts.next().flatten() {
                Some((before, after)) => (report.file.before, report.file.after) = (before, after),
                // It stays as it was told.
                None if report.file.is_told => return None,
                None => {
                    let why = || "too many files changed at once to keep it".to_owned();
                    report.file.unknown.get_or_insert_with(why);
                }
            }
        }
        Some(report)
    });
    fetched.collect()
}

/// A renamed file is gone by its old name, and new by the other one.
fn sides(report: Report) -> Vec<Report> {
    let Report { writers, mut file, .. } = report;
    let Some(from) = file.renamed_from.take() else { return vec![Report { writers, file, renamed: None }] };
    let gone = ChangedFile {
        path: from.clone(),
        renamed_from: None,
        before: file.before,
        after: Held::Absent,
        unknown: file.unknown.clone(),
        later: None,
        is_told: file.is_told,
    };
    let to = Some(Renamed::To(file.path.clone()));
    let new = ChangedFile { before: Held::Absent, ..file };
    vec![
        Report { writers: writers.clone(), file: gone, renamed: to },
        Report { writers, file: new, renamed: Some(Renamed::From(from)) },
    ]
}

/// A file's text as buffers hold it.
fn plain(held: &Held) -> Option<Text> {
    held.as_text().map(Text::plain_lines)
}
