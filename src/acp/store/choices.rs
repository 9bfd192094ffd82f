//! What is remembered for projects, on the disk: a list in a file of its own.

use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::acp::store::list_file;
use crate::acp::worker::{Serve, Service};
use crate::core::message::{Event, Severity};
use crate::core::store::remembered::{Remembered, Request, forget, remember};
use crate::mailbox::Mailbox;

/// What the list is called in the file.
const NAME: &str = "remembered";

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
            _ => warn_user(&self.mailbox, format!("couldn't remember this: {why}")),
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
        warn_user(mailbox, text);
    }
}

fn warn_user(mailbox: &Mailbox, text: String) {
    mailbox.post(Event::Advised { severity: Severity::Warning, text });
}

fn unread(file: &Path, why: &str) -> String {
    format!("couldn't read what is remembered for projects in {}: {why}", file.display())
}

fn load(file: &Path) -> Result<Vec<Remembered>, String> {
    list_file::load(file, NAME)
}

/// Changes what is remembered. Gives what the user should know about the file: where a broken one is now, or why nothing
/// could be kept.
fn change(file: &Path, change: impl FnOnce(&mut Vec<Remembered>)) -> Option<String> {
    list_file::change(file, NAME, change)
        .unwrap_or_else(|error| Some(format!("couldn't remember this in {}: {error}", file.display())))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

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
}
