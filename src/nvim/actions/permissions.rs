//! The user's rules for agents, to be looked at and to be tried: which are there, and which decides about a command or
//! a file, and why. What they say is `core::rules`.

use std::path::PathBuf;

use mlua::{Result, Value};

use crate::core::message::{Outcome, Work};
use crate::core::rules::page::{Page, View, page, trial};
use crate::core::rules::project::ProjectRules;
use crate::core::rules::{Act, Request, Ruling};
use crate::nvim::app::App;
use crate::nvim::arguments::Args;
use crate::nvim::context::Context;
use crate::nvim::editor::float::float;
use crate::nvim::sessions::Sessions;
use crate::nvim::sessions::permission::trust_list;

const NO_ANSWER: &str = "the disk does not answer";

impl App {
    /// The rules, or what they say of a command or a file.
    pub fn permissions(&mut self, args: &Args) -> Result<()> {
        match args.text.trim() {
            "" => self.list_rules(),
            what => self.try_rules(what),
        }
    }

    fn list_rules(&mut self) -> Result<()> {
        let case = Sessions::case(&self.cx, self.cx.session_here(), Request::default())?;
        let work = Work::ProjectRules { cwd: case.cwd, trust: trust_list(&self.cx.editor) };
        self.cx.compute(work, |_: &mut Sessions, cx, outcome| {
            let Outcome::ProjectRules(project) = outcome else { return Ok(()) };
            show(cx, &list(cx, &project))
        });
        self.route()
    }

    fn try_rules(&mut self, what: &str) -> Result<()> {
        let line = Request {
            kind: Some("execute".into()),
            acts: vec![Act::Line(what.to_owned())],
            ..Request::default()
        };
        let mut ways = Vec::new();
        // What can be the name of a file is judged as one, too.
        if !what.contains(char::is_whitespace) && what.contains(['/', '.', '~']) {
            let path = home_replaced(what);
            let file = |kind: &str, writes| {
                let acts = vec![Act::File { path: path.clone(), writes }];
                Request { kind: Some(kind.to_owned()), acts, ..Request::default() }
            };
            ways.push(("Reading it", file("read", false)));
            ways.push(("Writing it", file("edit", true)));
        }
        ways.push(("As a command", line));
        let what = what.to_owned();
        judge_all(&mut self.cx, ways, Vec::new(), what)?;
        self.route()
    }
}

/// Judges one after the other, and shows what came of all.
fn judge_all(
    cx: &mut Context,
    mut ways: Vec<(&'static str, Request)>,
    mut judged: Vec<(&'static str, Ruling)>,
    what: String,
) -> Result<()> {
    if ways.is_empty() {
        return show(cx, &trial(&what, &judged, width(cx)));
    }
    let (how, request) = ways.remove(0);
    let case = Sessions::case(cx, cx.session_here(), request)?;
    cx.compute(Work::Judge(Box::new(case)), move |_: &mut Sessions, cx, outcome| {
        let Outcome::Judged(ruling) = outcome else { return Ok(()) };
        let unknown = || Ruling { why: NO_ANSWER.to_owned(), ..Ruling::default() };
        judged.push((how, ruling.map_or_else(unknown, |ruling| *ruling)));
        judge_all(cx, ways, judged, what)
    });
    Ok(())
}

fn list(cx: &Context, project: &ProjectRules) -> Page {
    let permission = &cx.config.permission;
    page(&View { own: &permission.rules, sets: &permission.sets, project, width: width(cx) })
}

fn show(cx: &Context, page: &Page) -> Result<()> {
    let editor = &cx.editor;
    let win = float(editor, &page.lines)?;
    let buf = editor.win_buf(win)?;
    editor.set_buf_option(buf, "filetype", "acp-permissions")?;
    // Words that are longer than the window go on where their line begins.
    editor.set_win_option(win, "breakindent", true)?;
    let namespace = editor.namespace("acp.permissions")?;
    let marks = editor.lua.create_table()?;
    for (row, from, to, group) in &page.marks {
        marks.raw_push(*row)?;
        marks.raw_push(*from)?;
        marks.raw_push(
            editor.table([("end_col", Value::Integer(*to as i64)), ("hl_group", editor.string(group)?)])?,
        )?;
    }
    editor.paint(buf, namespace, marks)
}

/// The cells of a line on a page.
fn width(cx: &Context) -> usize {
    usize::from(cx.editor.size().0.saturating_sub(6)).min(90)
}

fn home_replaced(path: &str) -> PathBuf {
    match path.strip_prefix("~/").zip(std::env::home_dir()) {
        Some((rest, home)) => home.join(rest),
        None => path.into(),
    }
}
