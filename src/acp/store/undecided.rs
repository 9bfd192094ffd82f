//! What is left to decide about agents' changes, kept on the disk: a journal for each Neovim in its project's folder,
//! taken over by the next one when it is gone. One thread does all of it in order. What the lines say is
//! `core::store::undecided`'s part.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::acp::files::disk;
use crate::acp::store::owned::{Names, Owned, others};
use crate::acp::worker::{Serve, Service};
use crate::core::ids::JobId;
use crate::core::message::{Event, Severity};
use crate::core::store::undecided::{Adopted, Fact, Left, MAX_BYTES, MAX_FILES, UndecidedRequest};
use crate::mailbox::Mailbox;
use crate::platform::files::private;

const NAMES: Names = Names { prefix: "review", extension: "jsonl" };

/// A journal of more bytes than this, and than four times what counts of it, is written anew.
const SMALL: usize = 64 << 10;

/// The handle to what is kept; what is asked for is about the folder of a project.
pub type UndecidedStore = Service<Writer>;

impl Service<Writer> {
    pub fn new(mailbox: Arc<Mailbox>) -> Self {
        Self::named("acp-undecided", move || Writer {
            mailbox: mailbox.clone(),
            own: HashMap::new(),
            told: false,
        })
    }
}

impl Serve for Writer {
    type Request = UndecidedRequest;

    fn serve(&mut self, folder: &Path, request: UndecidedRequest) {
        self.handle(folder, request);
    }

    fn refuse(&mut self, folder: &Path, request: UndecidedRequest, why: &io::Error) {
        self.failed(folder, job_of(&request), why);
    }

    fn end(self) {
        self.remove_empty();
    }
}

pub struct Writer {
    mailbox: Arc<Mailbox>,
    own: HashMap<PathBuf, Journal>,
    /// It was said already that something can't be kept.
    told: bool,
}

/// This Neovim's journal of one project.
struct Journal {
    owned: Owned,
    left: Left,
    /// How long it is, and how long it would be if it were written anew.
    bytes: usize,
    needed: usize,
    /// Something could not be written: it is not what counts.
    is_behind: bool,
}

impl Writer {
    fn handle(&mut self, folder: &Path, request: UndecidedRequest) {
        let job = job_of(&request);
        let done = match request {
            UndecidedRequest::Note(facts) => self.keep(folder, facts),
            UndecidedRequest::Adopt { job } => self.adopt(folder).map(|adopted| {
                self.mailbox.post(Event::LeftUndecided { job, left: Ok(Box::new(adopted)) });
            }),
        };
        if let Err(error) = done {
            self.failed(folder, job, &error);
        }
    }

    /// What can't be kept is told of once; the reason will be the same next time.
    fn failed(&mut self, folder: &Path, job: Option<JobId>, error: &io::Error) {
        let folder = folder.display();
        if let Some(job) = job {
            let why = format!("couldn't read what was left to decide in {folder}: {error}");
            return self.mailbox.post(Event::LeftUndecided { job, left: Err(why) });
        }
        self.warn(format!(
            "couldn't keep what is left to decide in {folder}: {error}; decide on it before you leave Neovim"
        ));
    }

    fn warn(&mut self, text: String) {
        if !std::mem::replace(&mut self.told, true) {
            self.mailbox.post(Event::Advised { severity: Severity::Warning, text });
        }
    }

    fn journal(&mut self, folder: &Path) -> io::Result<&mut Journal> {
        if !self.own.contains_key(folder) {
            let owned = Owned::new(folder, NAMES)?;
            let journal = Journal { owned, left: Left::default(), bytes: 0, needed: 0, is_behind: false };
            self.own.insert(folder.to_owned(), journal);
        }
        self.own.get_mut(folder).ok_or_else(|| io::Error::other("no journal"))
    }

    fn keep(&mut self, folder: &Path, facts: Vec<Fact>) -> io::Result<()> {
        if !self.own.contains_key(folder) && facts.iter().all(is_nothing) {
            return Ok(());
        }
        let mut too_much = 0;
        let journal = self.journal(folder)?;
        let mut text = Vec::new();
        for fact in facts {
            let fact = match fact {
                Fact::Undecided(file) => Fact::Undecided(Box::new(file.with_hunks())),
                other => other,
            };
            let mut line = serde_json::to_vec(&fact)?;
            line.push(b'\n');
            let is_much = match &fact {
                Fact::Undecided(file) => {
                    let is_new = !journal.left.files.contains_key(&file.path);
                    line.len() > MAX_BYTES || is_new && journal.left.files.len() >= MAX_FILES
                }
                _ => false,
            };
            if is_much {
                too_much += 1;
                continue;
            }
            text.append(&mut line);
            journal.left.add(fact);
        }
        journal.append(&text)?;
        if too_much > 0 {
            self.warn(
                "there is too much left to decide to keep all of it; decide before you leave Neovim".into(),
            );
        }
        Ok(())
    }

    /// Takes over the journals of Neovims that are gone. They are in this one's before they go.
    fn adopt(&mut self, folder: &Path) -> io::Result<Adopted> {
        let (gone, living) = others(folder, NAMES, self.own.get(folder).map(|journal| &journal.owned))?;
        let mut left = Left::default();
        for owned in &gone {
            left.join(read(&owned.file)?);
        }
        if !left.is_empty() {
            let journal = self.journal(folder)?;
            // Those of this Neovim that have changed since come in between; the editor joins them.
            let mut all = left.clone();
            all.join(std::mem::take(&mut journal.left));
            journal.left = all;
            journal.write_anew()?;
        }
        gone.into_iter().for_each(Owned::remove);
        // Only if it is empty.
        let _ = fs::remove_dir(folder);
        let mut elsewhere = 0;
        for file in living {
            elsewhere += read(&file)?.files.len();
        }
        Ok(Adopted { left, elsewhere })
    }

    /// Journals in which nothing is left are of no use.
    fn remove_empty(self) {
        for (folder, journal) in self.own {
            if journal.left.is_empty() {
                journal.owned.remove()
            } else {
                journal.owned.end()
            }
            // Only if it is empty: a Neovim looks in there when it starts.
            let _ = fs::remove_dir(folder);
        }
    }
}

impl Journal {
    fn append(&mut self, text: &[u8]) -> io::Result<()> {
        if std::mem::replace(&mut self.is_behind, true) {
            return self.write_anew();
        }
        let mut file = private().append(true).read(true).create(true).open(&self.owned.file)?;
        disk::append_lines(&mut file, text)?;
        // Windows replaces no file that is open.
        drop(file);
        self.bytes += text.len();
        self.is_behind = false;
        match self.bytes > SMALL.max(4 * self.needed) {
            true => self.write_anew(),
            false => Ok(()),
        }
    }

    fn write_anew(&mut self) -> io::Result<()> {
        let mut text = Vec::new();
        for fact in self.left.facts() {
            serde_json::to_writer(&mut text, &fact)?;
            text.push(b'\n');
        }
        disk::replace_private(&self.owned.file, &text)?;
        (self.bytes, self.needed, self.is_behind) = (text.len(), text.len(), false);
        Ok(())
    }
}

fn read(file: &Path) -> io::Result<Left> {
    match fs::read(file) {
        Ok(bytes) => Ok(Left::read(&String::from_utf8_lossy(&bytes))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Left::default()),
        Err(error) => Err(error),
    }
}

fn is_nothing(fact: &Fact) -> bool {
    match fact {
        Fact::Undecided(_) => false,
        Fact::Settled(_) => true,
        Fact::Comments(comments) => comments.is_empty(),
    }
}

fn job_of(request: &UndecidedRequest) -> Option<JobId> {
    match request {
        UndecidedRequest::Adopt { job } => Some(*job),
        UndecidedRequest::Note(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::store::undecided::StoredFile;

    fn file(path: &str) -> Fact {
        Fact::Undecided(Box::new(StoredFile {
            path: path.into(),
            sides: (true, true),
            hunks: Vec::new(),
            last: None,
            origins: Vec::new(),
            original: None,
            renamed_from: None,
            unknown: None,
            undo: None,
            texts: Some((Some("a".into()), Some("b".into()))),
        }))
    }

    fn writer() -> Writer {
        Writer { mailbox: Mailbox::new(|_| {}), own: HashMap::new(), told: false }
    }

    fn names(adopted: &Adopted) -> Vec<&str> {
        adopted.left.files.keys().filter_map(|path| path.to_str()).collect()
    }

    fn in_folder(name: &str, test: impl FnOnce(&Path)) {
        let folder = std::env::temp_dir().join(format!("acp-undecided-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        test(&folder);
        let _ = fs::remove_dir_all(&folder);
    }

    #[test]
    fn what_a_neovim_leaves_is_taken_over_once_it_is_gone_and_by_one_only() {
        in_folder("adopt", |folder| {
            let (mut one, mut two) = (writer(), writer());
            one.keep(folder, vec![file("/a"), file("/b"), Fact::Settled("/b".into())]).expect("to be kept");
            let living = two.adopt(folder).expect("to be read");
            assert_eq!((names(&living), living.elsewhere), (vec![], 1));
            two.keep(folder, vec![file("/c")]).expect("to be kept");
            drop(one);
            let adopted = two.adopt(folder).expect("to be read");
            assert_eq!((names(&adopted), adopted.elsewhere), (vec!["/a"], 0));
            assert_eq!(adopted.left.files[Path::new("/a")].hunks.len(), 1, "its hunks are worked out");
            assert_eq!(names(&two.adopt(folder).expect("to be read")), [""; 0]);
            drop(two);
            assert_eq!(names(&writer().adopt(folder).expect("to be read")), ["/a", "/c"]);
        });
    }

    #[test]
    fn a_journal_stays_short_and_goes_when_nothing_is_left() {
        in_folder("short", |folder| {
            let mut one = writer();
            for _ in 0..2000 {
                one.keep(folder, vec![file("/a")]).expect("to be kept");
            }
            let journal = &one.own[folder].owned.file.clone();
            assert!(fs::metadata(journal).expect("a file").len() < 2 * SMALL as u64);
            one.keep(folder, vec![Fact::Settled("/a".into())]).expect("to be kept");
            one.remove_empty();
            assert!(!folder.exists());
        });
    }

    #[test]
    fn what_could_not_be_written_is_made_up_for_by_the_next_that_can() {
        in_folder("behind", |folder| {
            let mut one = writer();
            one.keep(folder, vec![file("/a")]).expect("to be kept");
            let journal = one.own[folder].owned.file.clone();
            fs::remove_file(&journal).expect("a file");
            fs::create_dir(&journal).expect("something that can't be written");
            one.keep(folder, vec![file("/b")]).expect_err("it can't be kept");
            fs::remove_dir(&journal).expect("a folder");
            one.keep(folder, vec![file("/c")]).expect("to be kept");
            drop(one);
            assert_eq!(names(&writer().adopt(folder).expect("to be read")), ["/a", "/b", "/c"]);
        });
    }

    #[test]
    #[cfg(unix)]
    fn names_that_are_no_text_are_kept_byte_for_byte() {
        in_folder("bytes", |folder| {
            let path = |name: &[u8]| crate::platform::files::path_of_bytes(name);
            let Fact::Undecided(mut stored) = file("/a") else { panic!("a file") };
            (stored.path, stored.renamed_from) = (path(b"/p/caf\xe9"), Some(path(b"/p/th\xe9")));
            stored.original = Some(crate::core::store::held::Held::Link(path(b"\xff/..")));
            let gone = Fact::Settled(path(b"/p/\xfe"));
            let mut one = writer();
            one.keep(folder, vec![Fact::Undecided(stored.clone()), gone, file("/b")]).expect("to be kept");
            drop(one);
            let left = writer().adopt(folder).expect("to be read").left;
            let expected = StoredFile { ..stored.with_hunks() };
            assert_eq!(left.files.get(&expected.path), Some(&expected));
            assert_eq!(left.files.len(), 2);
        });
    }

    #[test]
    fn nothing_is_written_where_nothing_is_to_be_kept() {
        in_folder("nothing", |folder| {
            writer().keep(folder, vec![Fact::Settled("/a".into()), Fact::Comments(vec![])]).expect("nothing");
            assert!(!folder.exists());
        });
    }
}
