//! What is remembered for projects, on the disk: a small file that a person can read and mend. A lock on a file beside
//! it keeps Neovims apart. One that is broken is moved aside rather than written over.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::acp::files::disk;
use crate::acp::worker::{Serve, Service};
use crate::core::message::{Event, Severity};
use crate::core::store::remembered::{Remembered, Request, forget, remember};
use crate::mailbox::Mailbox;
use crate::platform::files::{create_private_folder, private, wait_lock};

const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Contents {
    version: u32,
    remembered: Vec<Remembered>,
}

/// The handle to the file.
pub type Choices = Service<Chosen>;

pub struct Chosen {
    mailbox: Arc<Mailbox>,
}

impl Service<Chosen> {
    pub fn new(mailbox: Arc<Mailbox>) -> Self {
        Self::named("acp-choices", move || Chosen { mailbox: mailbox.clone() })
    }
}

impl Serve for Chosen {
    type Request = Request;

    fn serve(&mut self, file: &Path, request: Request) {
        serve(&self.mailbox, file, request);
    }

    fn refuse(&mut self, file: &Path, request: Request, why: &io::Error) {
        match request {
            Request::Read { job } => {
                let choices = Err(unread(file, &why.to_string()));
                self.mailbox.post(Event::ChoicesRead { job, choices });
            }
            _ => advise(&self.mailbox, format!("couldn't remember this: {why}")),
        }
    }
}

fn serve(mailbox: &Mailbox, file: &Path, request: Request) {
    let told = match request {
        Request::Read { job } => {
            let choices = load(file).map_err(|why| unread(file, &why));
            return mailbox.post(Event::ChoicesRead { job, choices });
        }
        Request::Remember(new) => change(file, |all| remember(all, new)),
        Request::Forget(gone) => change(file, |all| forget(all, &gone)),
    };
    if let Some(text) = told {
        advise(mailbox, text);
    }
}

fn advise(mailbox: &Mailbox, text: String) {
    mailbox.post(Event::Advised { severity: Severity::Warning, text });
}

fn unread(file: &Path, why: &str) -> String {
    format!("couldn't read what is remembered for projects in {}: {why}", file.display())
}

/// What is remembered; the error says what is wrong with the file.
fn load(file: &Path) -> Result<Vec<Remembered>, String> {
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error.to_string()),
    };
    let contents: Contents = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    if contents.version != VERSION {
        return Err(format!("it is of version {}, and this plugin knows {VERSION}", contents.version));
    }
    Ok(contents.remembered)
}

/// Changes what is remembered. Gives what the user should know about the file: where a broken one is now, or why nothing
/// could be kept.
fn change(file: &Path, change: impl FnOnce(&mut Vec<Remembered>)) -> Option<String> {
    match try_change(file, change) {
        Ok(told) => told,
        Err(error) => Some(format!("couldn't remember this in {}: {error}", file.display())),
    }
}

fn try_change(file: &Path, change: impl FnOnce(&mut Vec<Remembered>)) -> io::Result<Option<String>> {
    if let Some(folder) = file.parent() {
        create_private_folder(folder)?;
    }
    let lock = file.with_extension("lock");
    let held = private().read(true).write(true).create(true).truncate(false).open(lock)?;
    wait_lock(&held)?;
    let (mut all, told) = match load(file) {
        Ok(all) => (all, None),
        Err(why) => {
            let aside = disk::aside(file);
            fs::rename(file, &aside)?;
            (
                Vec::new(),
                Some(format!("{} was broken ({why}); it is now {}", file.display(), aside.display())),
            )
        }
    };
    change(&mut all);
    let mut text = serde_json::to_vec_pretty(&Contents { version: VERSION, remembered: all })?;
    text.push(b'\n');
    disk::replace_private(file, &text)?;
    Ok(told)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::thread;

    use super::*;
    use crate::core::store::remembered::What;

    fn file(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("acp-choices-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        folder.join("state/choices.json")
    }

    fn choice(project: &str, what: What, value: &str) -> Remembered {
        Remembered { project: project.into(), agent: "claude".into(), what, value: value.into() }
    }

    #[test]
    fn what_is_remembered_is_text_that_a_person_can_read() {
        let file = file("text");
        assert_eq!(load(&file), Ok(Vec::new()));
        let model = choice("/p", What::Model, "opus");
        assert_eq!(change(&file, |all| remember(all, model.clone())), None);
        let option = choice("/p", What::Option("fast".into()), "true");
        assert_eq!(change(&file, |all| remember(all, option.clone())), None);
        assert_eq!(load(&file), Ok(vec![model.clone(), option]));
        assert_eq!(change(&file, |all| forget(all, &model)), None);
        insta::assert_snapshot!(fs::read_to_string(&file).expect("a file"), @r#"
        {
          "version": 1,
          "remembered": [
            {
              "project": "/p",
              "agent": "claude",
              "what": {
                "option": "fast"
              },
              "value": "true"
            }
          ]
        }
        "#);
    }

    #[test]
    fn two_neovims_that_remember_at_once_lose_nothing() {
        let file = file("two");
        thread::scope(|scope| {
            for who in 0..4 {
                let file = &file;
                scope.spawn(move || {
                    for number in 0..10 {
                        let new = choice(&format!("/{who}/{number}"), What::Mode, "plan");
                        assert_eq!(change(file, |all| remember(all, new)), None);
                    }
                });
            }
        });
        assert_eq!(load(&file).expect("all of them").len(), 40);
    }

    #[test]
    fn a_broken_file_remembers_nothing_and_is_not_lost() {
        let file = file("broken");
        fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        for (number, text) in
            ["{ \"remembered\": [", "{ \"version\": 2, \"remembered\": [] }"].iter().enumerate()
        {
            fs::write(&file, text).expect("a file");
            assert!(load(&file).is_err(), "{text}");
            let told = change(&file, |all| remember(all, choice("/p", What::Mode, "plan")))
                .expect("a word about it");
            assert!(
                told.contains("was broken") && told.contains(&format!(".broken-{}", number + 1)),
                "{told}"
            );
            assert_eq!(load(&file).map(|all| all.len()), Ok(1));
        }
    }
}
