//! What the user chooses for good: a mode, a model or another option that new sessions of an agent begin with in this
//! project. It is remembered once the agent has taken it over. Where it is kept is the background's part.

use mlua::Result;

use crate::core::ids::{JobId, SessionKey};
use crate::core::message::Command;
use crate::core::store::remembered::{Remembered, Request, What};
use crate::core::text::fitting::cut_middle;
use crate::core::text::visible::visible_line;
use crate::nvim::arguments::fail;
use crate::nvim::context::Context;
use crate::nvim::editor::Level;
use crate::nvim::sessions::Sessions;

impl Sessions {
    fn read_choices(
        &mut self,
        cx: &mut Context,
        then: impl FnOnce(&mut Self, &mut Context, std::result::Result<Vec<Remembered>, String>) -> Result<()>
        + 'static,
    ) {
        let job = cx.next_job();
        self.choice_reads.insert(job, Box::new(then));
        self.ask_choices(cx, Request::Read { job });
    }

    fn ask_choices(&self, cx: &mut Context, request: Request) {
        // Beside the record of sessions.
        let file = self.record_folder.with_file_name("choices.json");
        cx.send(Command::Choices { file, request });
    }

    pub fn choices_read(
        &mut self,
        cx: &mut Context,
        job: JobId,
        choices: std::result::Result<Vec<Remembered>, String>,
    ) -> Result<()> {
        match self.choice_reads.remove(&job) {
            Some(then) => then(self, cx, choices),
            None => Ok(()),
        }
    }

    /// A new session begins with what is remembered.
    pub(super) fn recall_choices(&mut self, cx: &mut Context, key: SessionKey) {
        self.read_choices(cx, move |_, cx, choices| {
            let now = cx.now();
            let Some(session) = cx.sessions.get_mut(&key) else { return Ok(()) };
            match choices {
                Ok(all) => {
                    let fits = |one: &Remembered| one.is_for(&session.place.cwd, &session.agent_name);
                    let choices = all.into_iter().filter(fits).map(|one| (one.what, one.value)).collect();
                    let commands = session.remembered(choices, now);
                    cx.send_all(commands);
                }
                Err(why) => cx.notify(why, Level::Warn),
            }
            Ok(())
        });
    }

    /// The user wants a value to be remembered, which is chosen already or about to be.
    pub(super) fn remember(&mut self, cx: &mut Context, key: SessionKey, what: What, value: String) {
        self.to_remember.retain(|(of, same, _)| (*of, same) != (key, &what));
        self.to_remember.push((key, what, value));
        self.remember_chosen(cx, key);
    }

    /// The agent has taken something over.
    pub(super) fn remember_chosen(&mut self, cx: &mut Context, key: SessionKey) {
        let Some(session) = cx.sessions.get(&key) else { return };
        let is_chosen = |what: &What, value: &String| session.chosen_value(what).as_ref() == Some(value);
        let (chosen, wanted) = std::mem::take(&mut self.to_remember)
            .into_iter()
            .partition(|(of, what, value)| *of == key && is_chosen(what, value));
        self.to_remember = wanted;
        let (project, agent, title) = (session.place.cwd.clone(), session.agent_name.clone(), session.name());
        for (_, what, value) in Vec::<_>::from_iter::<Vec<_>>(chosen) {
            // Sessions that are started again begin with it, too.
            for session in cx.sessions.values_mut() {
                if session.place.cwd == project && session.agent_name == agent {
                    session.defaults.remembered.retain(|(same, _)| *same != what);
                    session.defaults.remembered.push((what.clone(), value.clone()));
                }
            }
            // Short enough for one line of a small screen.
            let value_shown = cut_middle(&visible_line(&value), 24);
            let text = format!("{title} begins with {} {value_shown} in this project", what.words());
            let new = Remembered { project: project.clone(), agent: agent.clone(), what, value };
            self.ask_choices(cx, Request::Remember(new));
            cx.notify(text, Level::Info);
        }
    }

    /// The agent has refused something: what it was chosen for is not remembered.
    pub fn not_chosen(&mut self, key: Option<SessionKey>) {
        self.to_remember.retain(|(of, ..)| Some(*of) != key);
    }

    /// Lists what is remembered, this project's first; what is picked is forgotten.
    pub fn list_remembered(&mut self, cx: &mut Context) {
        self.read_choices(cx, |_, cx, choices| {
            let mut all = match choices {
                Ok(all) => all,
                Err(why) => return fail(why),
            };
            if all.is_empty() {
                return fail("nothing is remembered; :Acp model {name}! remembers one");
            }
            let root = cx.root();
            all.sort_by_key(|one| one.project != root);
            let item = |one: &Remembered| {
                let title = cx.called(&one.agent, None);
                let value = cut_middle(&visible_line(&one.value), 40);
                let what = visible_line(&one.what.words());
                let project = match one.project == root {
                    true => "this project".to_owned(),
                    false => one.project.display().to_string(),
                };
                format!("{title}: {what} {value} · {project}")
            };
            let items = all.iter().map(item).collect();
            cx.offer(
                "Forget what is remembered",
                "acp_remembered",
                items,
                move |sessions: &mut Self, cx, index| {
                    let gone = all.swap_remove(index);
                    for session in cx.sessions.values_mut() {
                        if gone.is_for(&session.place.cwd, &session.agent_name) {
                            session.defaults.remembered.retain(|(what, _)| *what != gone.what);
                        }
                    }
                    let text =
                        format!("{} of {} is forgotten", gone.what.words(), cx.called(&gone.agent, None));
                    sessions.ask_choices(cx, Request::Forget(gone));
                    cx.notify(text, Level::Info);
                    Ok(())
                },
            );
            Ok(())
        });
    }
}
