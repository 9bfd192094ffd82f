//! What the page of the rules says, and what a trial run of them says: lines, each with the groups of highlights that
//! parts of it have. Plain data in, lines and marks out.

use std::path::Path;

use super::project::{FILE, FolderRules, ProjectRules};
use super::rule::{Decision, Rule, Source};
use super::ruling::{Ruling, Step};
use super::sets::{RUNS_LATER, SECRETS, SETS};
use crate::core::text::visible::visible_line;

#[derive(Debug, Default, PartialEq)]
pub struct Page {
    pub lines: Vec<String>,
    /// Row, bytes from and to, group.
    pub marks: Vec<(usize, usize, usize, &'static str)>,
    /// The rules, each by the row that it begins in.
    pub rows: Vec<(usize, Rule)>,
}

/// What the page is made of.
pub struct View<'a> {
    pub own: &'a [Rule],
    /// Names of the sets that the user has turned on.
    pub sets: &'a [String],
    /// Those that the user has made for the session by answers.
    pub made: &'a [Rule],
    pub found: &'a FolderRules,
    /// The folder of the project whose rules these are, where that is not the one the user is in.
    pub folder: Option<&'a Path>,
    /// What keys do on the page.
    pub keys: &'a str,
    /// In cells.
    pub width: usize,
}

/// Longer is more than a page.
const LONGEST: usize = 2000;

pub fn page(view: &View<'_>) -> Page {
    let mut page = Builder::new(view.width);
    page.title("Rules for what agents may do");
    if let Some(folder) = view.folder {
        page.text(&format!("  In {}", visible_line(&folder.to_string_lossy())), "AcpMeta");
    }
    page.text("  What no rule decides is asked when the agent asks.", "AcpMeta");
    page.text("  :Acp permissions test {command or file} says which rule decides and why.", "AcpMeta");
    if !view.keys.is_empty() {
        page.text(&format!("  {}", view.keys), "AcpMeta");
    }
    page.made("By your answers, for this session", view.made);
    match &view.found.kept {
        Ok(kept) => page.made("By your answers, for this project", kept),
        Err(why) => {
            page.heading("By your answers, for this project");
            page.text(&format!("  {why}"), "AcpToolWaiting");
        }
    }
    page.heading("Yours (`permission.rules`)");
    if view.own.is_empty() {
        page.text("  None. See :help acp-rules.", "AcpMeta");
    }
    view.own.iter().for_each(|rule| page.rule(rule));
    page.heading(&format!("This project's ({FILE})"));
    match &view.found.project {
        ProjectRules::None => page.text("  None.", "AcpMeta"),
        ProjectRules::Denied => page.text("  It does not count: you have denied it by :trust.", "AcpMeta"),
        ProjectRules::Trusted(rules) => {
            let is_own = |rule: &&Rule| matches!(rule.source, Source::Project { .. });
            rules.iter().filter(is_own).for_each(|rule| page.rule(rule));
            let sets = SETS.iter().filter(|set| {
                rules.iter().any(|rule| matches!(&rule.source, Source::Set(name) if name == set.name))
            });
            sets.for_each(|set| page.text(&format!("  with the set {}", set.name), ""));
        }
        _ => {
            let problem = view.found.problem_of_project().unwrap_or_default();
            page.text(&format!("  {problem}"), "AcpToolWaiting");
            view.found.held.iter().for_each(|rule| page.rule(rule));
        }
    }
    page.heading("Ready sets (`permission.sets`)");
    for set in SETS {
        let is_on = view.sets.iter().any(|name| name == set.name);
        let (state, group) = if is_on { ("on ", "AcpToolDone") } else { ("off", "AcpMeta") };
        let row = page.page.lines.len();
        page.text(&format!("  {state}  {}: {}", set.name, set.about), "");
        page.page.marks.push((row, 2, 5, group));
    }
    page.heading("By default");
    page.text(&format!("  ask  before what is run later is written: {}", RUNS_LATER.join(" ")), "");
    page.text(&format!("  ask  before what may hold secrets is used: {}", SECRETS.join(" ")), "");
    for set in SETS {
        page.heading(&format!("What the set {} allows", set.name));
        page.shapes(set.commands);
    }
    page.page
}

/// What a rule names, and what that is.
pub fn pattern_of(rule: &Rule) -> Option<(&'static str, &str)> {
    let named = [("command", &rule.command), ("path", &rule.path), ("host", &rule.host), ("mcp", &rule.mcp)];
    named.into_iter().find_map(|(what, text)| Some((what, text.as_deref()?)))
}

/// The same rule about something else; the error says what is wrong with that.
pub fn with_pattern(rule: &Rule, text: &str) -> Result<Rule, String> {
    if text.is_empty() {
        return Err("a rule has to be about something; take it back to be rid of it".to_owned());
    }
    let mut new = rule.clone();
    let fields = [&mut new.command, &mut new.path, &mut new.host, &mut new.mcp];
    fields.into_iter().flatten().for_each(|field| text.clone_into(field));
    match new.shape_problem() {
        Some(problem) => Err(problem),
        None => new.checked(),
    }
}

/// What a trial run comes to: of one line or file, judged in one way or several ("Reading it", "Writing it"), and for
/// whom, where that matters.
pub fn trial(what: &str, whose: Option<&str>, rulings: &[(&str, Ruling)], width: usize) -> Page {
    let mut page = Builder::new(width);
    page.title("What your rules say");
    page.text(&format!("  {}", visible_line(what)), "AcpTool");
    whose.into_iter().for_each(|whose| page.text(&format!("  {whose}"), "AcpMeta"));
    for (how, ruling) in rulings {
        let (decision, group) = in_words(ruling.decision);
        page.heading(how);
        let row = page.page.lines.len();
        page.text(&format!("  {decision}: {}", visible_line(&ruling.why)), "");
        page.page.marks.push((row, 2, 2 + decision.len(), group));
        let dangers: Vec<&str> = ruling.dangers.iter().map(|danger| danger.words()).collect();
        if !dangers.is_empty() {
            page.text(&format!("  ! {}", dangers.join(", ")), "AcpDanger");
        }
        if ruling.steps.len() > 1 {
            page.page.lines.push(String::new());
            ruling
                .steps
                .iter()
                .for_each(|step| page.text(&format!("  - {}", step_in_words(step)), "AcpMeta"));
        }
    }
    if let Some(problem) = rulings.iter().find_map(|(_, ruling)| ruling.problem.as_ref()) {
        page.page.lines.push(String::new());
        page.text(problem, "AcpToolWaiting");
    }
    page.page
}

/// What was made of one part of a request.
pub fn step_in_words(step: &Step) -> String {
    visible_line(&format!("{}: {}: {}", step.what, in_words(step.decision).0, step.why))
}

fn in_words(decision: Option<Decision>) -> (&'static str, &'static str) {
    match decision {
        None => ("asked if the agent asks", "AcpMeta"),
        Some(Decision::Allow) => ("allowed", "AcpToolDone"),
        Some(Decision::Ask) => ("asked", "AcpToolWaiting"),
        Some(Decision::Reject) => ("rejected", "AcpError"),
    }
}

/// A page that is being made.
pub struct Builder {
    page: Page,
    /// In cells.
    width: usize,
}

impl Builder {
    pub fn new(width: usize) -> Self {
        Self { page: Page::default(), width: width.max(30) }
    }

    pub fn done(self) -> Page {
        self.page
    }

    /// The row that comes next.
    pub fn row(&self) -> usize {
        self.page.lines.len()
    }

    /// Has a part of a line look like a group.
    pub fn mark(&mut self, row: usize, from: usize, to: usize, group: &'static str) {
        self.page.marks.push((row, from, to, group));
    }

    pub fn title(&mut self, text: &str) {
        self.text(text, "AcpWinbar");
    }

    pub fn heading(&mut self, text: &str) {
        self.page.lines.push(String::new());
        self.text(text, "AcpUser");
    }

    /// Rules that were made by answers, if there are any.
    fn made(&mut self, heading: &str, rules: &[Rule]) {
        if !rules.is_empty() {
            self.heading(heading);
            rules.iter().for_each(|rule| self.rule(rule));
        }
    }

    /// The decision, and what it is about.
    fn rule(&mut self, rule: &Rule) {
        let reason = rule.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let row = self.page.lines.len();
        let word = rule.decision.word();
        let about = visible_line(&format!("{}{reason}", rule.about()));
        self.text(&format!("  {word:<6}  {about}"), "");
        self.page.marks.push((row, 2, 2 + word.len(), in_words(Some(rule.decision)).1));
        self.page.rows.push((row, rule.clone()));
    }

    /// A text in as many lines as it takes; those after the first stand further in.
    pub fn text(&mut self, text: &str, group: &'static str) {
        let text: String = text.chars().take(LONGEST).collect();
        let indent = text.chars().take_while(|char| *char == ' ').count();
        let mut line = " ".repeat(indent);
        for (word, at) in text.trim_start().split(' ').zip(0..) {
            if at > 0 && line.chars().count() + 1 + word.chars().count() > self.width {
                self.add(std::mem::replace(&mut line, " ".repeat(indent + 2)), group);
            } else if at > 0 {
                line.push(' ');
            }
            line.push_str(word);
        }
        self.add(line, group);
    }

    /// As many in a line as there is room for; one that takes more than a line is broken between its words.
    fn shapes(&mut self, shapes: &[&str]) {
        let mut line = String::new();
        for shape in shapes {
            if !line.is_empty() && line.chars().count() + 2 + shape.chars().count() > self.width {
                self.add(std::mem::take(&mut line), "AcpMeta");
            }
            if shape.chars().count() + 2 > self.width {
                self.text(&format!("  {shape}"), "AcpMeta");
                continue;
            }
            line.push_str("  ");
            line.push_str(shape);
        }
        if !line.is_empty() {
            self.add(line, "AcpMeta");
        }
    }

    fn add(&mut self, line: String, group: &'static str) {
        if !group.is_empty() && !line.is_empty() {
            self.page.marks.push((self.page.lines.len(), 0, line.len(), group));
        }
        self.page.lines.push(line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_lists_rules_by_where_they_stand_and_fits_its_width() {
        let own = [Rule {
            command: Some("git push **".into()),
            reason: Some("nothing is pushed from here".into()),
            ..Rule::new(Decision::Reject, Source::Options(1))
        }];
        let kept = Rule { command: Some("make all".into()), ..Rule::new(Decision::Allow, Source::Kept) };
        let found = FolderRules { project: ProjectRules::Untrusted, held: Vec::new(), kept: Ok(vec![kept]) };
        for width in [36, 76] {
            let view = View {
                own: &own,
                sets: &["tests".to_owned()],
                made: &[],
                found: &found,
                folder: Some(Path::new("/p")),
                keys: "x take back",
                width,
            };
            let page = page(&view);
            let text = page.lines.join("\n");
            // What has no blanks is not broken.
            let is_long = |line: &&String| line.chars().count() > width && line.trim().contains(' ');
            let long = page.lines.iter().filter(is_long);
            assert_eq!(long.collect::<Vec<_>>(), Vec::<&String>::new());
            let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
            for part in [
                "By your answers, for this project allow command make all",
                "reject command git push **: nothing is pushed from here",
                "you have not trusted them: read the file, and run :trust there",
                "off read-only: Commands that look at files",
                "on tests: Commands that build",
                "What the set read-only allows basename ** cat ** cd * !-*",
                "ask before what is run later is written: **/.git/hooks/**",
            ] {
                assert!(words.contains(part), "{part} is missing:\n{text}");
            }
            let marked = page.marks.iter().map(|(row, from, to, _)| &page.lines[*row][*from..*to]);
            assert!(marked.collect::<Vec<_>>().contains(&"reject"), "{text}");
            let rows: Vec<&str> = page.rows.iter().map(|(row, _)| &*page.lines[*row]).collect();
            assert!(rows[0].starts_with("  allow   command make all"), "{rows:?}");
        }
    }
}
