//! The page of agents as lines: those that are ready first, then those to approve, then those that
//! something is missing for, each with its details if they are wanted. Plain data in, lines and marks
//! out; the buffer is in `list`, what its keys do in `actions`.

use std::collections::{BTreeMap, BTreeSet};

use crate::config::agents::{Source, Standing, State};
use crate::config::{Choice, Keys};
use crate::core::store::registry::Plan;
use crate::core::text::fitting::{cut_end, filled};
use crate::nvim::editor::picker::plain;

/// What the page is made from.
pub struct View<'a> {
    pub choices: &'a [Choice],
    /// The names of those with details.
    pub open: &'a BTreeSet<String>,
    /// How far the downloads are, by name.
    pub downloading: &'a BTreeMap<String, String>,
    /// What went wrong with an agent, by name.
    pub failed: &'a BTreeMap<String, String>,
    /// Where the list is from: "bundled list of 2026-11-22".
    pub origin: &'a str,
    /// What goes on with the registry, or went wrong.
    pub notes: &'a [(String, &'static str)],
    /// The folder of the downloads, as one reads it.
    pub downloads: &'a str,
    pub keys: &'a Keys,
    pub width: usize,
}

#[derive(Debug, Default, PartialEq)]
pub struct Page {
    pub lines: Vec<String>,
    /// The name of the agent that a row is about.
    pub rows: Vec<Option<String>>,
    /// Row, bytes from and to, group.
    pub marks: Vec<(usize, usize, usize, &'static str)>,
    /// How wide it is.
    width: usize,
}

/// From this width on an agent has one line.
const WIDE: usize = 110;

/// The cells of an agent's name.
const NAME: usize = 15;

/// The cells of what a detail is called, so that details stand below what an agent's line says.
const LABEL: usize = NAME - 2;

const SECTIONS: &[(State, &str)] = &[
    (State::Ready, "Ready"),
    (State::Unapproved, "Needs your approval: the command is shown, and you are asked once"),
    (State::Missing, "Needs something installed first"),
    (State::OtherSystem, "Not published for this system"),
];

pub fn page(view: &View<'_>) -> Page {
    let mut page = Page { width: view.width, ..Page::default() };
    let ready = view.choices.iter().filter(|choice| choice.state == State::Ready).count();
    let head = format!("Agents: {ready} of {} ready \u{b7} {}", view.choices.len(), view.origin);
    page.add(cut_end(&head, view.width.max(20)), None, "AcpWinbar");
    page.add(hints(view.keys, view.width), None, "AcpMeta");
    for (note, group) in view.notes {
        for line in filled(&plain(note), view.width) {
            page.add(line, None, group);
        }
    }
    for (state, title) in SECTIONS {
        let mut choices = view.choices.iter().filter(|choice| choice.state == *state).peekable();
        if choices.peek().is_none() {
            continue;
        }
        page.add(String::new(), None, "");
        page.add(cut_end(title, view.width), None, "AcpUser");
        for choice in choices {
            page.agent(choice, view);
        }
    }
    if view.choices.is_empty() {
        page.add(String::new(), None, "");
        let text =
            "All agents are switched off by `enabled = false` in your options (:help acp-config-agents).";
        for line in filled(text, view.width) {
            page.add(line, None, "");
        }
    }
    page
}

/// The keys as they are bound; in a narrow window without the last ones.
fn hints(keys: &Keys, width: usize) -> String {
    let mut hints = String::new();
    for (name, what) in [
        ("agents_start", "start"),
        ("agents_details", "details"),
        ("agents_refresh", "fetch the registry"),
        ("agents_help", "all keys"),
        ("agents_close", "close"),
        ("agents_site", "website"),
        ("agents_remove", "remove"),
    ] {
        let hint = keys.line(&[(name, what)]);
        let gap = if hints.is_empty() { "" } else { " \u{b7} " };
        if !hint.is_empty() && hints.chars().count() + gap.len() + hint.chars().count() <= width {
            hints.push_str(gap);
            hints.push_str(&hint);
        }
    }
    hints
}

impl Page {
    fn add(&mut self, line: String, name: Option<&str>, group: &'static str) {
        if !group.is_empty() && !line.is_empty() {
            self.marks.push((self.lines.len(), 0, line.len(), group));
        }
        self.lines.push(line);
        self.rows.push(name.map(str::to_owned));
    }

    fn agent(&mut self, choice: &Choice, view: &View<'_>) {
        let name = choice.name.as_str();
        let said = view.downloading.get(name);
        let status = said.map_or(choice.status.as_str(), |_| "downloading");
        let text = |text: &Option<String>| text.as_deref().map(plain).unwrap_or_default();
        let (version, license) = (text(&choice.version), text(&choice.license));
        let mut about = text(&choice.description);
        if about.is_empty() {
            about = plain(&choice.detail);
        }
        let title = plain(&choice.title);
        let head = format!("  {:<NAME$} ", cut_end(name, NAME));
        let column = head.len();
        let row = self.lines.len();
        let mut is_cut = false;
        let mut fit = |text: &str, room: usize| {
            is_cut = text.chars().count() > room;
            cut_end(text, room)
        };
        let group = match (said, choice.state) {
            (Some(_), _) => "AcpToolRunning",
            (_, State::Ready) => "AcpToolDone",
            (_, State::Unapproved) => "AcpToolWaiting",
            _ => "AcpMeta",
        };
        if view.width >= WIDE {
            let about =
                if title.eq_ignore_ascii_case(name) { about } else { format!("{title} \u{b7} {about}") };
            let (version, license) = (cut_end(&version, 11), cut_end(&license, 12));
            let facts = format!("{status:<14} {:<9} {version:<12} {license:<13} ", choice.runs_by);
            let room = view.width.saturating_sub(column + facts.chars().count());
            self.add(
                format!("{head}{facts}{}", fit(&about, room.max(10))).trim_end().to_owned(),
                Some(name),
                "",
            );
        } else {
            let facts = [version, license].into_iter().filter(|fact| !fact.is_empty());
            let facts: Vec<String> = std::iter::once(choice.runs_by.clone()).chain(facts).collect();
            let line = format!("{head}{status} \u{b7} {title} \u{b7} {}", facts.join(" \u{b7} "));
            self.add(cut_end(&line, view.width), Some(name), "");
            let about = fit(&about, view.width.saturating_sub(column));
            self.add(format!("{}{about}", " ".repeat(column)), Some(name), "AcpMeta");
        }
        self.marks.push((row, 2, 2 + cut_end(name, NAME).len(), "AcpAgent"));
        let end = (column + status.len()).min(self.lines[row].len());
        self.marks.push((row, column, end, group));
        if let Some(said) = said {
            self.detail(name, "", &plain(said), "AcpToolRunning");
        }
        if let Some(why) = view.failed.get(name) {
            self.detail(name, "failed", &plain(why), "AcpError");
        }
        if view.open.contains(name) {
            if is_cut && let Some(description) = &choice.description {
                self.detail(name, "", &plain(description), "");
            }
            for (what, how) in details(choice, view) {
                self.detail(name, what, &plain(&how), "");
            }
        }
    }

    /// A line below an agent, or several where it is long.
    fn detail(&mut self, name: &str, what: &str, how: &str, group: &'static str) {
        let indent = 4 + LABEL + 1;
        for (at, line) in filled(how, self.width.saturating_sub(indent)).into_iter().enumerate() {
            let what = if at == 0 { what } else { "" };
            let row = self.lines.len();
            self.add(format!("    {what:<LABEL$} {line}"), Some(name), group);
            if group.is_empty() && !what.is_empty() {
                self.marks.push((row, 4, 4 + what.len(), "AcpMeta"));
            }
        }
    }
}

/// All that there is to know before an agent is run.
fn details(choice: &Choice, view: &View<'_>) -> Vec<(&'static str, String)> {
    let mut all: Vec<(&'static str, String)> = Vec::new();
    match &choice.standing {
        Standing::Ready(launch, source) => {
            let words = std::iter::once(&launch.command).chain(&launch.args);
            let how = if launch.remote.is_some() { "is at" } else { "runs" };
            all.push((how, words.cloned().collect::<Vec<_>>().join(" ")));
            if *source == Source::Approved {
                all.push(("approved", "yes; this exact command starts without asking".to_owned()));
            }
        }
        Standing::Undownloaded(plan) => all.extend(plan_details(plan, view.downloads)),
        Standing::Unapproved { plan, changed } => {
            if *changed {
                all.push(("changed", "the command differs from the one you approved".to_owned()));
            }
            all.extend(plan_details(plan, view.downloads));
        }
        Standing::Missing(_, error) => all.push(("to do", error.to_string())),
    }
    if let Some(sandbox) = &choice.sandbox {
        let why = choice.sandbox_problem.as_deref().or(choice.sandbox_holds.as_deref()).unwrap_or_default();
        all.push(("sandbox", format!("{sandbox}; {why}")));
    }
    let more = [
        ("install", choice.install.map(str::to_owned)),
        ("log in", choice.login.map(str::to_owned)),
        ("licence", choice.license.clone()),
        ("website", choice.website.clone()),
        ("registry", choice.id.clone().filter(|id| *id != choice.name)),
    ];
    all.extend(more.into_iter().filter_map(|(what, how)| Some((what, how?))));
    all
}

/// What is run, and what is fetched for it from where to where.
fn plan_details(plan: &Plan, downloads: &str) -> Vec<(&'static str, String)> {
    let mut all = Vec::new();
    match &plan.download {
        Some(download) => {
            all.push(("runs", format!("{} (from the download)", plan.line())));
            all.push(("downloads", download.url.clone()));
            all.push((
                "checksum",
                match &download.sha256 {
                    Some(sum) => format!("SHA-256 {sum}"),
                    None => "none published, so the download can't be verified".to_owned(),
                },
            ));
            all.push(("into", format!("{downloads}/{}", download.folder)));
        }
        None => {
            let runner = plan.runner().unwrap_or_default();
            all.push(("runs", plan.line()));
            all.push(("downloads", format!("{runner} fetches the package, at the first start")));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::config::{Catalog, Config, Machine};
    use crate::core::store::registry::{Stored, parse};

    const INDEX: &str = r#"{ "agents": [
        { "id": "cline", "name": "Cline", "version": "3.0.65", "description": "Writes code.", "license": "Apache-2.0",
          "website": "https://cline.bot", "distribution": { "npx": { "package": "cline@3.0.65", "args": ["--acp"] } } },
        { "id": "raw", "name": "A \u001b[31mraw\n one", "version": "1.0.0", "description": "Fetched.",
          "repository": "https://example.org/raw",
          "distribution": { "binary": { "linux-x86_64": { "archive": "https://example.org/a/very/long/path/to/raw-linux-amd64", "cmd": "./raw" } } } },
        { "id": "snake", "name": "Snake", "version": "2.0.0", "description": "Written in Python, and described at some length so that it cannot fit into one line.",
          "distribution": { "uvx": { "package": "snake" } } },
        { "id": "apple", "name": "Apple", "version": "1.0.0",
          "distribution": { "binary": { "darwin-aarch64": { "archive": "https://example.org/a.zip", "cmd": "a" } } } }
    ] }"#;

    /// The page of a machine with Node.js and one program, with only the agents of that index.
    fn drawn(width: usize, open: &[&str]) -> Page {
        let index = parse(INDEX).expect("an index");
        let catalog = Catalog::new(Stored { index: Some(index), fetched: u64::MAX, ..Stored::default() });
        let find = |name: &str| ["npx", "opencode"].contains(&name).then(|| PathBuf::from("/bin").join(name));
        let machine = Machine {
            find: &find,
            bundled: None,
            catalog: &catalog,
            system: "linux-x86_64",
            downloads: Path::new("/data"),
        };
        let mut choices = Config::default().all(&machine);
        choices.retain(|choice| {
            ["cline", "raw", "snake", "apple", "opencode", "kiro"].contains(&choice.name.as_str())
        });
        page(&View {
            choices: &choices,
            open: &open.iter().map(|&name| name.to_owned()).collect(),
            downloading: &BTreeMap::from([("raw".to_owned(), "downloading raw: 35%".to_owned())]),
            failed: &BTreeMap::new(),
            origin: "registry fetched 2026-11-22 10:00",
            notes: &[("couldn't fetch the registry: no network; R tries again".to_owned(), "AcpError")],
            downloads: "~/data",
            keys: &Keys::default(),
            width,
        })
    }

    #[test]
    fn a_narrow_page_has_two_lines_for_each_agent() {
        insta::assert_snapshot!(drawn(72, &["raw"]).lines.join("\n"), @r#"
        Agents: 1 of 6 ready · registry fetched 2026-11-22 10:00
        <CR> start · <Tab> details · R fetch the registry · g? all keys
        couldn't fetch the registry: no network; R tries again

        Ready
          opencode        installed · OpenCode · program · MIT
                          Open source agent that works with most model providers

        Needs your approval: the command is shown, and you are asked once
          cline           not approved · Cline · npx · 3.0.65 · Apache-2.0
                          Writes code.
          raw             downloading · A ^[[31mraw one · download · 1.0.0
                          Fetched.
                          downloading raw: 35%
            runs          raw (from the download)
            downloads     https://example.org/a/very/long/path/to/raw-linux-
                          amd64
            checksum      none published, so the download can't be verified
            into          ~/data/raw/1.0.0-b51c6817
            website       https://example.org/raw

        Needs something installed first
          kiro            not installed · Kiro · program · proprietary
                          Amazon's agent for the terminal
          snake           needs uv · Snake · uvx · 2.0.0
                          Written in Python, and described at some length so th…

        Not published for this system
          apple           other systems · Apple · download · 1.0.0
                          apple isn't published for this system (linux-x86_64):…
        "#);
    }

    #[test]
    fn a_wide_page_has_one_line_for_each_agent() {
        insta::assert_snapshot!(drawn(130, &["cline", "kiro"]).lines.join("\n"), @r#"
        Agents: 1 of 6 ready · registry fetched 2026-11-22 10:00
        <CR> start · <Tab> details · R fetch the registry · g? all keys · q close · gx website · x remove
        couldn't fetch the registry: no network; R tries again

        Ready
          opencode        installed      program                MIT           Open source agent that works with most model providers

        Needs your approval: the command is shown, and you are asked once
          cline           not approved   npx       3.0.65       Apache-2.0    Writes code.
            runs          npx -y cline@3.0.65 --acp
            downloads     npx fetches the package, at the first start
            install       npm install -g cline
            log in        `:Acp login` in the chat, or run `cline auth` once
            licence       Apache-2.0
            website       https://cline.bot
          raw             downloading    download  1.0.0                      A ^[[31mraw one · Fetched.
                          downloading raw: 35%

        Needs something installed first
          kiro            not installed  program                proprietary   Amazon's agent for the terminal
            to do         no such program "kiro-cli": install it with `curl -fsSL https://cli.kiro.dev/install | bash`
            install       curl -fsSL https://cli.kiro.dev/install | bash
            log in        run `kiro-cli login` once, or set $KIRO_API_KEY
            licence       proprietary
            website       https://kiro.dev/docs/cli/
          snake           needs uv       uvx       2.0.0                      Written in Python, and described at some length so that it …

        Not published for this system
          apple           other systems  download  1.0.0                      apple isn't published for this system (linux-x86_64): see i…
        "#);
    }

    #[test]
    fn nothing_is_wider_than_the_window_and_marks_are_inside_of_lines() {
        for width in [40, 72, 79, 110, 140] {
            let page = drawn(width, &["cline", "raw", "snake", "apple", "kiro", "opencode"]);
            assert_eq!(page.lines.len(), page.rows.len());
            for line in &page.lines {
                assert!(line.chars().count() <= width, "{line:?} in {width}");
            }
            for (row, from, to, _) in &page.marks {
                let line = &page.lines[*row];
                assert!(from <= to && line.is_char_boundary(*from) && line.is_char_boundary(*to), "{line:?}");
            }
        }
    }

    #[test]
    fn words_longer_than_a_line_are_broken() {
        assert_eq!(filled("a bcd", 16), ["a bcd"]);
        let long = "x".repeat(40);
        assert_eq!(
            filled(&format!("to {long} y"), 16),
            ["to", &"x".repeat(16), &"x".repeat(16), &format!("{} y", "x".repeat(8))]
        );
    }
}
