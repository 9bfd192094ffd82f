//! The user's rules for agents: which there are, which decides about a command or a file, and those that the user makes
//! by an answer, which can be changed and taken back on their page. What rules say is `core::rules`; how a request is
//! held against them is left to `sessions::permission`.

use std::path::PathBuf;

use mlua::Result;

use crate::config::Pane;
use crate::core::ids::SessionKey;
use crate::core::message::{Command, Outcome, RulesNews, Severity, Work};
use crate::core::rules::kept::Change;
use crate::core::rules::offer::{Offer, Scope};
use crate::core::rules::page::{Page, View, page, pattern_of, trial, with_pattern};
use crate::core::rules::project::{FILE, FolderRules};
use crate::core::rules::request::to_try;
use crate::core::rules::retrial_page;
use crate::core::rules::{Act, Request, Rule, Ruling, Source};
use crate::core::session::status::mode_id;
use crate::nvim::arguments::fail;
use crate::nvim::context::{self, Context};
use crate::nvim::editor::float::{float, refit};
use crate::nvim::editor::{Buf, Level, Win, picker};
use crate::nvim::events::EditorEvent;
use crate::nvim::keys::bind::bind_pane;
use crate::platform::paths::home_expanded;

/// The namespace of what a page's lines look like.
const MARKS: &str = "acp.permissions";
const NO_ANSWER: &str = "the disk does not answer";

/// What was taken back can be brought back, the last one first; so many at the most.
const MOST_REMOVED: usize = 50;

pub struct Rules {
    /// The record of what agents asked for.
    record: PathBuf,
    open: Option<Open>,
    removed: Vec<(Owner, Rule)>,
}

/// The page that is open.
struct Open {
    buf: Buf,
    owner: Owner,
    shows: Shows,
    /// The cells that its lines were made for.
    width: usize,
}

/// What a page shows.
enum Shows {
    Rules(Page),
    /// What the rules would have made of the past, with those that are proposed.
    Past(Vec<(usize, Offer)>),
}

/// For whom rules count that are made by answers.
#[derive(Clone, Debug, PartialEq)]
struct Owner {
    session: Option<SessionKey>,
    cwd: PathBuf,
}

impl Rules {
    pub fn new(record: PathBuf) -> Self {
        Self { record, open: None, removed: Vec::new() }
    }

    /// Shows the rules, or what they say of a command or a file, or would have said in the past.
    pub fn show(&mut self, cx: &mut Context, what: &str) -> Result<()> {
        let session = cx.session_here();
        let owner = |cx: &Context| -> Result<Owner> {
            Ok(Owner { session, cwd: cx.case(session, Request::default())?.cwd })
        };
        match what {
            "" => read(cx, owner(cx)?, None),
            "replay" => self.retry(cx, owner(cx)?, None),
            "test" => fail("say which command or file: `:Acp permissions test git push`"),
            what => try_out(cx, to_try(what)),
        }
    }

    /// Shows what the rules would have made of the past.
    fn retry(&self, cx: &mut Context, owner: Owner, buf: Option<Buf>) -> Result<()> {
        if !cx.config.audit {
            return fail("no record is kept: `audit` is off in your setup");
        }
        let case = cx.case(owner.session, Request::default())?;
        let work = Work::RetryRules { record: self.record.clone(), case: Box::new(case) };
        cx.compute(work, move |this: &mut Self, cx, outcome| {
            let Outcome::RulesRetried(trial) = outcome else { return Ok(()) };
            let keys = cx.config.keys.line(&[("rules_edit", "makes the rule for this project")]);
            let (page, offers) = retrial_page::page(&trial.map(|trial| *trial), &keys, width(cx));
            let buf = show_page(cx, &page, buf)?;
            this.open = Some(Open { buf, owner, shows: Shows::Past(offers), width: width(cx) });
            Ok(())
        });
        Ok(())
    }

    /// The user makes rules by an answer.
    pub fn made(cx: &mut Context, key: SessionKey, offer: Offer, scope: Scope) -> Result<()> {
        let Some(session) = cx.sessions.get(&key) else { return Ok(()) };
        let owner = Owner { session: Some(key), cwd: session.place.cwd.clone() };
        let said = offer.made_words(scope);
        change_and(cx, owner, scope, Change::Add(offer.within(scope)), move |cx| {
            cx.note(Some(key), Severity::Info, said);
        })
    }

    /// What the keys of the page do; nothing if the user is not on it.
    pub fn key(&mut self, cx: &mut Context, name: &str) -> Option<Result<()>> {
        let open = self.open.as_ref()?;
        let here = cx.editor.current_buf().is_ok_and(|buf| buf == open.buf);
        if !here {
            return None;
        }
        let owner = open.owner.clone();
        Some(match name {
            "rules_edit" => match self.proposed(cx) {
                Some(offer) => {
                    cx.notify(format!("made: {}", offer.label(Scope::Project)), Level::Info);
                    change(cx, owner, Scope::Project, Change::Add(offer.within(Scope::Project)))
                }
                None => self.at_cursor(cx).and_then(|rule| edit(cx, owner, rule)),
            },
            "rules_remove" => self.at_cursor(cx).and_then(|rule| self.remove(cx, owner, rule)),
            "rules_restore" => match self.removed.pop() {
                Some((owner, rule)) => {
                    cx.notify(format!("it counts again: {}", rule.describe()), Level::Info);
                    let scope = scope_of(&rule.source).unwrap_or(Scope::Session);
                    change(cx, owner, scope, Change::Add(vec![rule]))
                }
                None => fail("no rule was taken back"),
            },
            _ => return None,
        })
    }

    pub fn is_page(&self, buf: Buf) -> bool {
        self.open.as_ref().is_some_and(|open| open.buf == buf)
    }

    /// The rules that are proposed where the cursor is.
    fn proposed(&self, cx: &Context) -> Option<Offer> {
        let (line, _) = cx.editor.cursor(cx.editor.current_win().ok()?).ok()?;
        match &self.open.as_ref()?.shows {
            // Examples stand below it.
            Shows::Past(offers) => {
                let near = offers.iter().find(|(row, _)| (*row + 1..=*row + 2).contains(&line));
                near.map(|(_, offer)| offer.clone())
            }
            Shows::Rules(_) => None,
        }
    }

    fn at_cursor(&self, cx: &Context) -> Result<Rule> {
        let (line, _) = cx.editor.cursor(cx.editor.current_win()?)?;
        let rows = match self.open.as_ref().map(|open| &open.shows) {
            Some(Shows::Rules(page)) => page.rows.as_slice(),
            _ => &[],
        };
        match rows.iter().find(|(row, _)| *row + 1 == line) {
            Some((_, rule)) => Ok(rule.clone()),
            None => fail("there is no rule in this line"),
        }
    }

    fn remove(&mut self, cx: &mut Context, owner: Owner, rule: Rule) -> Result<()> {
        let Some(scope) = scope_of(&rule.source) else { return fail(where_it_stands(cx, &rule)) };
        if self.removed.len() == MOST_REMOVED {
            self.removed.remove(0);
        }
        self.removed.push((owner.clone(), rule.clone()));
        let keys = cx.config.keys.line(&[("rules_restore", "brings it back")]);
        cx.notify(format!("it does not count any more: {}. {keys}", rule.about()), Level::Info);
        change(cx, owner, scope, Change::Remove(rule))
    }

    /// The rules are others: the page shows them if it is open.
    pub fn renew(&mut self, cx: &mut Context) -> Result<()> {
        self.open.take_if(|open| !cx.editor.buf_is_valid(open.buf));
        match &self.open {
            Some(Open { buf, owner, shows: Shows::Rules(_), .. }) => read(cx, owner.clone(), Some(*buf)),
            Some(Open { buf, owner, shows: Shows::Past(_), .. }) => self.retry(cx, owner.clone(), Some(*buf)),
            None => Ok(()),
        }
    }

    /// The screen may have another width, for which the lines of the page are others.
    pub fn resized(&mut self, cx: &mut Context) -> Result<()> {
        let now = width(cx);
        match &mut self.open {
            Some(open) if open.width != now => {
                open.width = now;
                self.renew(cx)
            }
            _ => Ok(()),
        }
    }

    fn draw(&mut self, cx: &mut Context, owner: Owner, buf: Option<Buf>, found: &FolderRules) -> Result<()> {
        let made =
            owner.session.and_then(|key| cx.sessions.get(&key)).map(|session| session.rules.as_slice());
        let permission = &cx.config.permission;
        let here = PathBuf::from(cx.editor.func::<String>("getcwd", ())?);
        let keys = [("rules_edit", "edit"), ("rules_remove", "take back"), ("rules_restore", "bring back")];
        let page = page(&View {
            own: &permission.rules,
            sets: &permission.sets,
            made: made.unwrap_or_default(),
            found,
            folder: (here != owner.cwd).then_some(&*owner.cwd),
            keys: &cx.config.keys.line(&keys),
            width: width(cx),
        });
        let is_new = buf.is_none();
        let buf = show_page(cx, &page, buf)?;
        // What keys do there is about the rule at the cursor.
        let first = page.rows.first().map(|(row, _)| row + 1).filter(|_| is_new);
        if let Some((line, win)) = first.zip(cx.editor.wins_of(buf).first()) {
            cx.editor.set_cursor(*win, line, 0)?;
        }
        self.open = Some(Open { buf, owner, shows: Shows::Rules(page), width: width(cx) });
        Ok(())
    }
}

/// Puts a page into its buffer, which is opened if it is not there.
fn show_page(cx: &Context, page: &Page, buf: Option<Buf>) -> Result<Buf> {
    let editor = &cx.editor;
    let buf = match buf.filter(|buf| editor.buf_is_valid(*buf)) {
        Some(buf) => {
            editor.set_buf_option(buf, "modifiable", true)?;
            editor.set_lines(buf, 0..editor.line_count(buf)?, &page.lines)?;
            editor.set_buf_option(buf, "modifiable", false)?;
            for win in editor.wins_of(buf).into_iter().filter(|win| editor.is_floating(*win)) {
                refit(editor, win, &page.lines)?;
            }
            buf
        }
        None => {
            let buf = editor.win_buf(open_float(cx, page)?)?;
            bind_pane(editor, &cx.config.keys, Pane::Rules, buf)?;
            buf
        }
    };
    editor.paint_groups(buf, MARKS, page.marks.iter().copied())?;
    Ok(buf)
}

/// Reads what the folder has of rules, and shows all.
fn read(cx: &mut Context, owner: Owner, buf: Option<Buf>) -> Result<()> {
    let work = Work::FolderRules { cwd: owner.cwd.clone(), files: cx.rule_files()? };
    cx.compute(work, move |this: &mut Rules, cx, outcome| match outcome {
        Outcome::FolderRules(found) => this.draw(cx, owner, buf, &found),
        _ => Ok(()),
    });
    Ok(())
}

/// Changes rules that were made by answers. What waits is held against them then.
fn change(cx: &mut Context, owner: Owner, scope: Scope, change: Change) -> Result<()> {
    change_and(cx, owner, scope, change, |_| {})
}

/// The same, and something else once they are changed.
fn change_and(
    cx: &mut Context,
    owner: Owner,
    scope: Scope,
    change: Change,
    then: impl FnOnce(&mut Context) + 'static,
) -> Result<()> {
    if scope == Scope::Project {
        let Some(file) = cx.rule_files()?.kept else { return Ok(()) };
        let work = Work::KeepRules { cwd: owner.cwd, file, change: Box::new(change) };
        cx.compute(work, |_: &mut Rules, cx, outcome| {
            match outcome {
                Outcome::RulesKept(Some(trouble)) => cx.notify(trouble, Level::Warn),
                _ => then(cx),
            }
            cx.raise(EditorEvent::RulesChanged);
            Ok(())
        });
        return Ok(());
    }
    let Some(key) = owner.session else { return Ok(()) };
    let Some(session) = cx.sessions.get_mut(&key) else { return fail("the session is closed") };
    change.apply_to(&mut session.rules);
    let rules = session.rules.clone();
    cx.send(Command::Rules(RulesNews::OfSession { session: key, rules }));
    then(cx);
    cx.raise(EditorEvent::RulesChanged);
    Ok(())
}

/// For how long a rule counts, if it was made by an answer.
fn scope_of(source: &Source) -> Option<Scope> {
    Scope::ALL.into_iter().find(|scope| scope.source() == *source)
}

/// Has the user change what a rule is about.
fn edit(cx: &mut Context, owner: Owner, rule: Rule) -> Result<()> {
    if let Source::Project { line, .. } = rule.source {
        cx.editor.close_page()?;
        let path = owner.cwd.join(FILE);
        cx.raise(EditorEvent::LocationChosen { path, line: Some(line), column: None });
        return Ok(());
    }
    let (Some(scope), Some((what, text))) = (scope_of(&rule.source), pattern_of(&rule)) else {
        return fail(where_it_stands(cx, &rule));
    };
    let (prompt, text) = (format!("{} {what}", rule.decision.word()), text.to_owned());
    ask_for_pattern(cx, (owner, scope, rule), prompt.clone(), prompt, text);
    Ok(())
}

/// Has the user type what a rule is about, until it is right or they give it up; `asks` is the prompt, with what was wrong.
fn ask_for_pattern(
    cx: &mut Context,
    (owner, scope, rule): (Owner, Scope, Rule),
    prompt: String,
    asks: String,
    text: String,
) {
    cx.run_effect("couldn't ask for the rule", move |editor| {
        picker::input(editor, &asks, &text, move |typed| {
            let Some(typed) = typed else { return };
            context::run(move |_: &mut Rules, cx| match with_pattern(&rule, typed.trim()) {
                Ok(new) if new == rule => Ok(()),
                Ok(new) => change(cx, owner, scope, Change::Replace(Box::new((rule, new)))),
                Err(why) => {
                    let asks = format!("{why}. {prompt}");
                    ask_for_pattern(cx, (owner, scope, rule), prompt, asks, typed);
                    Ok(())
                }
            });
        })
    });
}

/// Where a rule is changed that was made by no answer.
fn where_it_stands(cx: &Context, rule: &Rule) -> String {
    match &rule.source {
        Source::Options(at) => format!("this rule stands in your options, as permission.rules[{at}]"),
        Source::Set(name) => format!("this rule is of the set {name:?}: take that out of permission.sets"),
        Source::Project { .. } => {
            format!("this rule stands in {FILE}: {}", cx.config.keys.line(&[("rules_edit", "opens it")]))
        }
        Source::BuiltIn | Source::Session | Source::Kept => {
            "this counts by default; a rule of yours about just this goes before it".to_owned()
        }
    }
}

fn try_out(cx: &mut Context, what: &str) -> Result<()> {
    let line = Request {
        kind: Some("execute".into()),
        acts: vec![Act::Line(what.to_owned())],
        ..Request::default()
    };
    let mut ways = Vec::new();
    // What can be the name of a file is judged as one, too.
    if !what.contains(char::is_whitespace) && what.contains(['/', '.', '~']) {
        let path = home_expanded(what);
        let file = |kind: &str, writes| {
            let acts = vec![Act::File { path: path.clone(), writes }];
            Request { kind: Some(kind.to_owned()), acts, ..Request::default() }
        };
        ways.push(("Reading it", file("read", false)));
        ways.push(("Writing it", file("edit", true)));
    }
    ways.push(("As a command", line));
    judge_all(cx, ways, Vec::new(), what.to_owned())
}

/// For whom it is judged, where that can make a difference.
fn whose(cx: &Context) -> Option<String> {
    let is_for_some = |rule: &Rule| rule.agent.is_some() || rule.mode.is_some();
    if !cx.config.permission.rules.iter().any(is_for_some) {
        return None;
    }
    Some(match cx.session_here().and_then(|key| cx.sessions.get(&key)) {
        Some(session) => match mode_id(session) {
            Some(mode) => format!("As asked by {} in mode {mode}", session.agent_name),
            None => format!("As asked by {}", session.agent_name),
        },
        None => "Rules for one agent or mode don't count without a chat: open one with that agent".to_owned(),
    })
}

/// Judges one after the other, and shows what came of all.
fn judge_all(
    cx: &mut Context,
    mut ways: Vec<(&'static str, Request)>,
    mut judged: Vec<(&'static str, Ruling)>,
    what: String,
) -> Result<()> {
    if ways.is_empty() {
        let page = trial(&what, whose(cx).as_deref(), &judged, width(cx));
        let win = open_float(cx, &page)?;
        let buf = cx.editor.win_buf(win)?;
        return cx.editor.paint_groups(buf, MARKS, page.marks.iter().copied());
    }
    let (how, request) = ways.remove(0);
    let case = cx.case(cx.session_here(), request)?;
    cx.compute(Work::Judge(Box::new(case)), move |_: &mut Rules, cx, outcome| {
        let Outcome::Judged(ruling) = outcome else { return Ok(()) };
        let unknown = || Ruling { why: NO_ANSWER.to_owned(), ..Ruling::default() };
        judged.push((how, ruling.map_or_else(unknown, |ruling| *ruling)));
        judge_all(cx, ways, judged, what)
    });
    Ok(())
}

fn open_float(cx: &Context, page: &Page) -> Result<Win> {
    let editor = &cx.editor;
    let win = float(editor, &page.lines)?;
    editor.set_buf_option(editor.win_buf(win)?, "filetype", "acp-permissions")?;
    Ok(win)
}

/// The cells of a line on a page.
fn width(cx: &Context) -> usize {
    usize::from(cx.editor.size().0.saturating_sub(6)).min(90)
}
