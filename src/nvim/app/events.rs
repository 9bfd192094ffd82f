//! What the background tells, event by event: which feature takes it in.

use mlua::Result;

use crate::core::message::{Answer, Command, Event, Question};
use crate::core::session::lifecycle::Admitted;
use crate::core::terminal::shown::Program;
use crate::nvim::app::App;
use crate::nvim::editor::Level;
use crate::nvim::events::EditorEvent;
use crate::nvim::extensions::Call;
use crate::nvim::questions::Questions;
use crate::nvim::sessions::Sessions;

impl App {
    pub fn handle(&mut self, event: Event) -> Result<()> {
        match self.sessions.incoming(event) {
            Admitted::Event(event) => self.take_in(*event)?,
            Admitted::Stale(answer) => self.cx.send_all(answer.into_iter().collect()),
        }
        self.route()
    }

    #[expect(clippy::too_many_lines, reason = "a flat match")]
    fn take_in(&mut self, event: Event) -> Result<()> {
        Sessions::note_work(&mut self.cx, &event);
        let cx = &mut self.cx;
        match event {
            Event::Started { agent, pid } => self.sessions.agent_started(agent, pid),
            Event::Connected { agent, info } => self.sessions.agent_connected(cx, agent, &info),
            Event::Opened { session, opened } => self.sessions.opened(cx, session, *opened),
            Event::OpenFailed { session, failure } => self.sessions.open_failed(cx, session, failure),
            Event::Updated { session, update } => self.sessions.updated(cx, session, update),
            Event::Asked { session, ask, .. } if !cx.sessions.contains_key(&session) => {
                cx.send(Command::Answer { ask, answer: Answer::Cancelled });
            }
            Event::Asked { session, branch, ask, question } => {
                let asker = (session, branch.as_ref());
                match question {
                    Question::Permission { call, options } => {
                        Sessions::permission_asked(cx, asker, ask, *call, options);
                    }
                    Question::Read { .. } | Question::Write { .. } => {
                        self.files.asked(cx, (session, ask), question)?;
                    }
                    Question::Outside { .. } | Question::Form { .. } | Question::Url { .. } => {
                        Questions::asked(cx, asker, ask, question);
                    }
                }
                cx.raise(EditorEvent::SessionChanged(session));
            }
            Event::Called { agent: _, session, ask, method, params } => {
                self.extensions.called(cx, session, Call { ask, method, params });
            }
            Event::ToolCalled { session, run, name, args } => {
                self.tools.called(cx, session, run, (name, args))
            }
            Event::ToolServed { run, outcome } => self.tools.served(cx, run, outcome),
            Event::Archived { agent, open, archived } => Sessions::archived(cx, agent, open, archived),
            Event::CommandRefused { session, command, rule } => {
                Sessions::command_refused(cx, session, &command, rule);
            }
            Event::ToolsOutOfReach { session } => Sessions::without_tools(cx, session),
            Event::ToolCancelled { run } => self.tools.cancelled(cx, run),
            Event::Told { agent: _, session, method, params } => {
                self.extensions.told(cx, session, method, params)
            }
            Event::Withdrawn { session, ask } => Sessions::withdrawn(cx, session, ask),
            Event::TurnEnded { session, end } => self.sessions.turn_ended(cx, session, end),
            Event::LeftRunning { session, commands } => Sessions::left_running(cx, session, commands),
            Event::LeftSurvived { session, commands } => Sessions::left_survived(cx, session, &commands),
            Event::Steered { session, content, outcome } => Sessions::steered(cx, session, content, outcome),
            Event::Chosen { session, chosen } => self.sessions.chosen(cx, session, chosen),
            Event::TitleKept { session, asked, title } => {
                self.sessions.title_kept(cx, session, (&asked, &title))
            }
            Event::RequestFailed { agent, session, what, failure, again } => {
                self.sessions.request_failed(cx, (agent, session), (&what, &failure), again);
            }
            Event::LoggedIn { agent } => self.sessions.logged_in(cx, agent),
            Event::LoggedOut { agent } => Sessions::logged_out(cx, agent),
            Event::AuthReported { agent, status } => self.sessions.auth_reported(cx, agent, status),
            Event::AgentsRead { job, stored, failure } => self.agents.was_read(cx, job, *stored, failure)?,
            Event::Allowed { allowed, trouble } => Questions::offer_allowed(cx, allowed, trouble),
            Event::Advised { severity, text } => cx.notify(text, severity.into()),
            Event::Noted { agent, session, severity, text } => {
                Sessions::note(cx, (agent, session), severity, text);
            }
            Event::TerminalStarted { session, terminal, command, cwd, typing } => {
                let program = Program { command, cwd, typing, started: cx.now() };
                self.terminals.started(cx, (session, terminal), program)?;
            }
            Event::TerminalGrew { session, terminal, bytes, lines, skipped, cut } => {
                self.terminals.grew(cx, (session, terminal), (&bytes, lines), (skipped, cut))?;
            }
            Event::TerminalEnded { session, terminal, exit } => {
                self.terminals.ended(cx, (session, terminal), exit)?
            }
            Event::Resolved { names } => self.files.resolved(cx, names)?,
            Event::FilesChanged { cause, files } => self.files.files_changed(cx, cause, files)?,
            Event::FileChanged { path, kind, cause } => {
                self.files.file_changed_outside(cx, &path, &kind, cause)?
            }
            event @ Event::FileServed { .. } => self.files.served(cx, event),
            event @ (Event::Found { .. }
            | Event::PastPrompts { .. }
            | Event::Adopted { .. }
            | Event::NotKept { .. }) => self.prompts.kept(cx, event)?,
            Event::Computed { job, outcome } => {
                if let Some(then) = cx.take_job(job) {
                    then(self, outcome)?;
                }
            }
            Event::Recalled { job, kept } => self.sessions.recalled(cx, job, kept)?,
            Event::LimitMet { session, span, measure } => self.sessions.limit_met(cx, session, span, measure),
            Event::CountWanted { session, upto } => self.files.count(cx, session, upto),
            Event::ChoicesRead { job, choices } => self.sessions.choices_read(cx, job, choices)?,
            Event::AuditRead { job, reply } => self.audit.was_read(cx, job, reply)?,
            Event::UsageRead { job, reply } => self.usage.was_read(cx, job, reply)?,
            Event::Inspected(reply) => self.inspector.inspected(cx, *reply)?,
            Event::Checkpointed { job, reply } => self.checkpoints.replied(cx, job, reply)?,
            Event::FolderUnwatched { folder, why, is_looked_at } => {
                self.files.watching.folder_unwatched(cx, folder, why, is_looked_at);
            }
            Event::LeftUndecided { job, left } => self.reviews.left_undecided(cx, job, left)?,
            Event::RecordFailed { text } => cx.notify(text, Level::Warn),
            Event::Listed { agent, sessions, next_cursor } => {
                self.sessions.listed(cx, agent, sessions, next_cursor)?;
            }
            Event::StatusTold { agent, acp_id, state } => {
                self.sessions.status_told(cx, agent, &acp_id, state)?
            }
            Event::StoredTitleKept { agent, acp_id, asked, title } => {
                self.sessions.stored_title_kept(cx, (agent, acp_id), (&asked, &title));
            }
            Event::Exited { agent, why } => self.sessions.agent_exited(cx, agent, &why)?,
        }
        Ok(())
    }
}
