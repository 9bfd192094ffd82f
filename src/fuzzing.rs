//! What must hold for any bytes: one function for each thing that is cut, parsed or compared, which panics
//! when it does not hold. `fuzz/` feeds them by coverage, the tests below with seeds that are changed at
//! random. Not a part of the library: it is built for tests and with the feature `fuzzing` alone.

use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;

use serde_json::{Value, json};

use crate::acp::files::disk::{Located, Roots};
use crate::acp::wire::draft::Draft;
use crate::acp::wire::framing::{Framer, TooLong, trim};
use crate::acp::wire::from_acp::{self, Chunk, Fact};
use crate::acp::wire::rpc::{self, Message};
use crate::core::changes::diff::{self, place};
use crate::core::changes::merge::{Side, merge, shared};
use crate::core::changes::text_edits::{apply, edits};
use crate::core::ids::{AgentId, EntryId, Moment, SessionKey, SubagentId};
use crate::core::locations::absolute;
use crate::core::message::{AgentInfo, Branch, Content, FileDiff, Opened, Place, TurnEnd, Update};
use crate::core::rules::shell::{read, read_words};
use crate::core::rules::{Act, Case, Decision, Request, Rule, Source, danger, in_force};
use crate::core::session::entry::Entry;
use crate::core::session::{AgentRun, Session};
use crate::core::terminal::output::Output;
use crate::core::terminal::sanitize::Harmless;
use crate::core::terminal::screen::Screen;
use crate::core::text::fitting::{cut_end, cut_middle};
use crate::core::text::line_range;
use crate::core::text::uri;
use crate::core::transcript::subagents::draw_tree;
use crate::core::transcript::{Drawing, Standing, Style, draw_standing};

/// Panics when something does not hold for the bytes.
pub type Target = fn(&[u8]);

/// All of them, by the names of their targets in `fuzz/`.
pub const TARGETS: [(&str, Target); 6] = [
    ("envelope", envelope),
    ("updates", updates),
    ("diffs", diffs),
    ("truncation", truncation),
    ("paths", paths),
    ("shell", shell),
];

/// The longest line of the framing here.
const LIMIT: usize = 4096;

/// Bytes of an agent: wherever the reads are cut, the lines are the same; no line holds more than it may; a
/// message that is written down and read again is the same; the short way for text says what the long one says.
pub fn envelope(data: &[u8]) {
    let whole = lines(&[data]);
    for cut in [data.len() / 3, usize::from(data.first().copied().unwrap_or_default())] {
        let (head, tail) = data.split_at(cut.min(data.len()));
        assert_eq!(lines(&[head, tail]), whole, "cut at {cut}");
    }
    let single: Vec<&[u8]> = data.chunks(1).collect();
    assert_eq!(lines(&single), whole, "byte by byte");
    for line in whole.0.iter().map(|line| String::from_utf8_lossy(trim(line)).into_owned()) {
        assert!(line.len() <= LIMIT * 3, "each byte is at most three of a replacement character");
        let Ok(message) = rpc::read(&line) else { continue };
        let (id, method, params) = match &message {
            Message::Request { id, method, params } => (Some(id), method, params),
            Message::Notification { method, params } => (None, method, params),
            Message::Response { .. } | Message::Malformed { .. } => continue,
        };
        if let Some(chunk) = Chunk::read(&line) {
            assert!(id.is_none() && method == "session/update", "{line}");
            let long = from_acp::update(&params["update"]);
            assert_eq!(long, vec![Fact::Update(chunk.clone().update())], "{line}");
            assert_eq!(from_acp::session_of(params).as_deref(), Some(chunk.session.as_str()), "{line}");
        }
        if let Some(told) = Draft::new(1).quick(&line) {
            assert!(id.is_none() && method == "session/update", "{line}");
            let (long, mut draft) = (rpc::read(&line).expect("a message"), Draft::new(1));
            let long: Vec<_> = draft.incoming(long).messages.iter().flat_map(facts).collect();
            assert_eq!(told.facts(), long, "{line}");
        }
        let mut written = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        if let Some(id) = id {
            // As it came, also where no number of ours could hold it.
            let text = written.to_string();
            written = Value::Null;
            let text = format!("{},\"id\":{id}}}", &text[..text.len() - 1]);
            let again = rpc::read(&text);
            assert!(again.is_ok_and(|again| same(&again, &message)), "{text}");
        }
        if !written.is_null() {
            let again = rpc::read(&written.to_string());
            assert!(again.is_ok_and(|again| same(&again, &message)), "{written}");
        }
    }
}

/// The lines of some reads, and what ended them.
fn lines(reads: &[&[u8]]) -> (Vec<Vec<u8>>, Option<TooLong>) {
    let mut framer = Framer::new(LIMIT);
    let mut lines: Vec<Vec<u8>> = Vec::new();
    for read in reads {
        if let Err(error) = framer.push(read, |line| lines.push(line.to_vec())) {
            return (lines, Some(error));
        }
    }
    lines.extend(framer.finish());
    assert!(lines.iter().all(|line| line.len() <= LIMIT && !line.contains(&b'\n')));
    (lines, None)
}

/// As their texts: a number of JSON may be none that equals itself.
fn facts(message: &Message) -> Vec<Fact> {
    match message {
        Message::Notification { params, .. } => from_acp::update(&params["update"]),
        _ => Vec::new(),
    }
}

fn same(one: &Message, other: &Message) -> bool {
    format!("{one:?}") == format!("{other:?}")
}

/// Lines of JSON as a session's updates, requests and answers: each is read or refused, what is absorbed can
/// be drawn, and what is drawn is whole lines with marks inside of them.
pub fn updates(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut session = Session::new(
        SessionKey(1),
        AgentRun { id: AgentId(1), name: "a", command: "b" },
        Place::default(),
        Moment(0),
    );
    session.connected(AgentInfo::default());
    session.opened(Opened { acp_id: "s".into(), ..Opened::default() }, Moment(0));
    session.prompt(vec![Content::Text("a prompt".into())], Moment(1));
    for (at, line) in text.lines().take(200).enumerate() {
        let now = Moment(2 + at as u64);
        let (method, params) = match rpc::read(line) {
            Ok(Message::Request { method, params, .. } | Message::Notification { method, params }) => {
                (method, params)
            }
            Ok(Message::Response { result: Ok(result), .. }) => {
                answer(&result);
                let end = from_acp::turn_end(&result);
                session.turn_ended(end, now);
                session.prompt(vec![Content::Text("another".into())], now);
                continue;
            }
            Ok(Message::Response { result: Err(error), .. }) => {
                session.turn_ended(TurnEnd::Failed(from_acp::failure(error)), now);
                continue;
            }
            _ => continue,
        };
        drop(from_acp::request(&method, &params));
        for fact in from_acp::update(&params["update"]) {
            if let Fact::Update(update) = fact {
                let named = from_acp::session_of(&params).map(SubagentId);
                let works = |id: &SubagentId| session.subagents().any(|(_, known)| known.id == *id);
                let branch = named.filter(works).map(Branch::Subagent);
                match branch.or_else(|| from_acp::started_by(&params["update"])) {
                    Some(branch) => session.apply(Update::Within { branch, update: Box::new(update) }, now),
                    None => session.apply(update, now),
                }
            }
        }
        if at % 16 == 0 {
            drawn(&session);
        }
    }
    drawn(&session);
    for index in 0..session.entries().len() {
        session.toggle(crate::core::ids::EntryId(index));
    }
    drawn(&session);
    session.apply(Update::Plan(Vec::new()), Moment(1000));
    let (touched, _) = session.take_touched();
    assert!(touched.iter().all(|id| session.entry(*id).is_some()), "only what is there is drawn again");
}

/// What may be asked of an answer, whichever request it belongs to.
fn answer(result: &Value) {
    drop(from_acp::connected(result));
    drop(from_acp::created(result));
    drop(from_acp::opened("s".to_owned(), result));
    drop(from_acp::listed(result));
    drop(from_acp::changed_options(result));
    drop(from_acp::steered(result));
}

fn drawn(session: &Session) {
    for width in [1, 20, 200] {
        let style = Style { icons: width > 20, width, clock: Some(60), hints: Default::default() };
        let mut before: Option<&Entry> = None;
        for (index, entry) in session.entries().iter().enumerate() {
            let drawing = draw_standing(before, entry, Standing::Alone, &style, &|_| None);
            sound(&drawing);
            let last = index.checked_sub(1).map(EntryId);
            sound(&draw_tree(session, (last, EntryId(index)), &style, &|_| None));
            before = Some(entry);
        }
    }
}

/// What Neovim would refuse, or draw elsewhere.
fn sound(drawing: &Drawing) {
    let Drawing { lines, marks, right, targets, answers, pictures, markdown, frames, is_typed: _, inner } =
        drawing;
    assert!(lines.iter().all(|line| !line.contains('\n')), "a line of a buffer has no line end: {lines:?}");
    for mark in marks {
        let line = lines.get(mark.row).unwrap_or_else(|| panic!("{mark:?} is below {lines:?}"));
        assert!(mark.start <= mark.end && mark.end <= line.len(), "{mark:?} is not in {line:?}");
        assert!(line.is_char_boundary(mark.start) && line.is_char_boundary(mark.end), "{mark:?} in {line:?}");
    }
    for span in answers {
        let line = lines.get(span.row).unwrap_or_else(|| panic!("{span:?} is below {lines:?}"));
        assert!(span.start <= span.end && span.end <= line.len(), "{span:?} is not in {line:?}");
    }
    let rows = right.iter().map(|(row, _)| *row).chain(targets.iter().map(|target| target.row));
    let rows = rows.chain(frames.iter().map(|(row, _)| *row));
    for row in rows.chain(pictures.iter().map(|(row, _)| *row)) {
        assert!(row < lines.len(), "row {row} is below {lines:?}");
    }
    assert!(inner.iter().all(|(rows, _)| rows.start <= rows.end && rows.end <= lines.len()), "{inner:?}");
    assert!(markdown.as_ref().is_none_or(|rows| rows.start <= rows.end && rows.end <= lines.len()));
}

/// Three texts, cut by NUL: the edits that lead from one to the other do that; a merge with an unchanged side
/// is the other side; both sides alike is no conflict; a diff is placed inside of the text.
pub fn diffs(data: &[u8]) {
    let mut parts = data.splitn(3, |byte| *byte == 0).map(String::from_utf8_lossy);
    let mut next = || parts.next().unwrap_or_default().into_owned();
    let (old, new, third) = (next(), next(), next());

    assert_eq!(apply(&old, &edits(&old, &new)), new, "{old:?}");
    assert_eq!(edits(&old, &old), [], "{old:?}");
    for edit in edits(&old, &new) {
        assert!(edit.start <= edit.end && edit.end.0 <= old.matches('\n').count(), "{edit:?} of {old:?}");
    }

    // Ends of lines are merged by themselves.
    let bare = |text: &str| text.replace("\r\n", "\n").trim_end_matches('\n').to_owned();
    if !(old.contains('\r') || new.contains('\r') || third.contains('\r')) {
        let same = |merged: Option<String>, text: &str| {
            assert_eq!(merged.map(|merged| bare(&merged)), Some(bare(text)), "{old:?} {new:?}");
        };
        same(merge(&old, &new, &old).clean(), &new);
        same(merge(&old, &old, &new).clean(), &new);
        same(merge(&old, &new, &new).clean(), &new);
    }
    let merged = merge(&old, &new, &third);
    for side in [Side::Ours, Side::Theirs, Side::Markers { ours: "a", theirs: "b" }] {
        drop(merged.resolve(side));
    }
    let base = shared(&old, &new);
    assert!(base.len() <= old.len().min(new.len()), "what both share is in both");

    let rows = old.lines().count();
    let diff = |old_text: Option<&str>| FileDiff {
        path: "a".into(),
        old_text: old_text.map(Into::into),
        new_text: third.as_str().into(),
    };
    for placed in place(&old, &[diff(Some(&new)), diff(None), diff(Some(&old))]) {
        for hunk in &placed.hunks {
            assert!(hunk.row <= rows + 1, "{hunk:?} is below the {rows} rows of {old:?}");
            for (removed, added) in diff::pairs(hunk) {
                let (removed, added) = (&hunk.removed[removed], &hunk.added[added]);
                let (gone, come) = diff::words(removed, added);
                assert!(gone.into_iter().all(|range| removed.get(range).is_some()), "{removed:?} {added:?}");
                assert!(come.into_iter().all(|range| added.get(range).is_some()), "{removed:?} {added:?}");
            }
        }
    }
}

/// What is cut to a limit: never longer than that, never in the middle of a character, the same however the
/// bytes came, and the end of what it would be without a limit.
pub fn truncation(data: &[u8]) {
    let (head, bytes) = data.split_at(data.len().min(2));
    let [limit, piece] = [0, 1].map(|at| usize::from(head.get(at).copied().unwrap_or(7)));

    let output = |limit: usize, piece: usize| {
        let mut output = Output::new(limit);
        bytes.chunks(piece.max(1)).for_each(|bytes| output.feed(bytes));
        output.finish();
        output
    };
    let (all, cut) = (output(usize::MAX / 4, bytes.len()), output(limit, piece));
    let (all, text) = (all.text(), cut.text());
    assert!(text.len() <= limit, "{} bytes of {limit}", text.len());
    assert!(all.ends_with(&text), "{text:?} is not the end of {all:?}");
    assert_eq!(cut.dropped() + text.len(), all.len(), "{text:?} of {all:?}");
    assert_eq!(text, output(limit, 1).text(), "cut otherwise");
    assert!(!text.contains('\x1b'), "{text:?}");

    let mut harmless = Harmless::default();
    let whole = harmless.pass(bytes);
    let mut harmless = Harmless::default();
    let pieces: Vec<u8> = bytes.chunks(piece.max(1)).flat_map(|bytes| harmless.pass(bytes)).collect();
    assert!(std::str::from_utf8(&whole).is_ok(), "a terminal gets text");
    assert!(pieces.len() <= whole.len() + 16 && whole.len() <= pieces.len() + 16, "as much in pieces");

    let mut screen = Screen::new(1 + limit % 8);
    bytes.chunks(piece.max(1)).for_each(|bytes| screen.feed(bytes));
    assert!(screen.tail(5).len() <= 5);

    let text = String::from_utf8_lossy(bytes);
    for cut in [cut_end(&text, limit), cut_middle(&text, limit)] {
        assert!(cut.chars().count() <= limit, "{cut:?} of {limit}");
    }
    let lines = line_range::lines(&text, Some(limit as u32), Some(piece as u32));
    assert!(text.contains(lines) && lines.lines().count() <= piece, "{lines:?} of {text:?}");
    assert_eq!(line_range::lines(&text, None, None), text);
}

/// A path that counts as inside of a folder is inside of it, wherever its links lead; an address made of a
/// path is the path again.
pub fn paths(data: &[u8]) {
    let tree = TREE.get_or_init(Tree::new);
    let text = String::from_utf8_lossy(data).replace('\0', "");
    let named = text.trim_end_matches('\n');

    // Parts by single letters, so that chance finds the links: see `Tree`.
    for path in [tree.root.join(named), Path::new(named).to_owned()] {
        if let Ok(Located::Inside(inside)) = tree.roots.locate(&path) {
            let plain = |part: Component| {
                matches!(part, Component::RootDir | Component::Normal(_) | Component::Prefix(_))
            };
            assert!(inside.components().all(plain), "{inside:?} of {path:?}");
            assert!(inside.starts_with(&tree.root), "{inside:?} of {path:?}");
            // What is there of it already leads to no other place.
            let there = inside.ancestors().find_map(|path| path.canonicalize().ok());
            let there = there.expect("the root of all is there");
            assert!(
                there.starts_with(&tree.root) || tree.root.starts_with(&there),
                "{inside:?} of {path:?} leads to {there:?}"
            );
            assert!(inside.starts_with(&there), "{inside:?} of {path:?} is {there:?} in truth");
            let again = tree.roots.locate(&inside).ok();
            assert_eq!(again, Some(Located::Inside(inside.clone())), "{path:?}");
        }
    }

    if named.starts_with('/') && !uri::has_drive(&named[1..]) {
        assert_eq!(uri::to_path(&uri::from_path(named)).as_deref(), Some(named));
    }
    drop(uri::to_path(&text));
    let absolute = absolute(Path::new(named), Path::new("/root"));
    assert!(absolute.is_absolute(), "{absolute:?} of {named:?}");
}

/// A folder with links in it that lead in and out, as `a/../l/x`: `a` a folder, `f` a file, `i` a link into the
/// folder, `o` one out of it, `u` one to the folder above, `m` one to nothing outside, `l` one to itself.
struct Tree {
    root: PathBuf,
    roots: Roots,
}

static TREE: OnceLock<Tree> = OnceLock::new();

impl Tree {
    fn new() -> Self {
        let name = format!("acp-fuzz-{}", std::process::id());
        let above = std::env::temp_dir().canonicalize().expect("a folder for temporary files").join(name);
        let root = above.join("root");
        // One is left of a process that had the same number.
        let _ = std::fs::remove_dir_all(&above);
        for folder in ["root/a/b", "out", "root-beside"] {
            std::fs::create_dir_all(above.join(folder)).expect("a folder of our own");
        }
        for file in ["root/f", "root/a/f", "out/f"] {
            std::fs::write(above.join(file), "x").expect("a file of our own");
        }
        #[cfg(unix)]
        for (name, to) in [
            ("i", "a"),
            ("o", "../out"),
            ("u", ".."),
            ("m", "../missing/x"),
            ("l", "l"),
            ("r", "../root-beside"),
        ] {
            std::os::unix::fs::symlink(to, root.join(name)).expect("a link of our own");
        }
        Self { roots: Roots::new(&root, &[]), root }
    }
}

#[cfg(test)]
mod tests;

/// More commands are not looked for in a line.
const MOST_RUNS: usize = 400;

/// A line of shell code as rules judge it: reading it ends, and says the same each time; what comes before it on lines of
/// their own decides whatever it is; and a shell that is given it as its argument may do no more than it may itself.
pub fn shell(data: &[u8]) {
    let text = String::from_utf8_lossy(data).into_owned();
    let line = read(&text);
    assert!(line.runs.len() <= MOST_RUNS, "{} commands", line.runs.len());
    assert_eq!(line, read(&text));
    let _ = danger::of_line(&line);
    let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    let _ = danger::of_line(&read_words(&words));
    let plain = judged(Act::Line(text.clone()));
    assert!(line.doubts.is_empty() || plain != Some(Decision::Allow), "allowed with a doubt: {text:?}");
    // A shell takes no zero, so nothing can be run of a line that has one.
    if text.contains('\0') {
        return;
    }
    for before in ["rm -rf /p/x\n", "ls\nrm x\n", "true && rm x;\n", "(rm x)\n"] {
        let decision = judged(Act::Line(format!("{before}{text}")));
        assert_ne!(decision, Some(Decision::Allow), "{before:?} before {text:?}");
    }
    let quoted = text.replace('\'', r"'\''");
    for wrapped in
        [format!("sh -c '{quoted}'"), format!("env -i sh -c '{quoted}'"), format!("$(sh -c '{quoted}')")]
    {
        let decision = judged(Act::Line(wrapped.clone()));
        assert!(
            decision != Some(Decision::Allow) || plain == Some(Decision::Allow),
            "{plain:?}, but {wrapped:?}"
        );
    }
}

/// By the ready sets, and one rule that rejects.
fn judged(act: Act) -> Option<Decision> {
    static RULES: OnceLock<Vec<Rule>> = OnceLock::new();
    let rules = RULES.get_or_init(|| {
        let own =
            Rule { command: Some("rm **".to_owned()), ..Rule::new(Decision::Reject, Source::Options(1)) };
        in_force(&["read-only".to_owned(), "tests".to_owned()], &[own])
    });
    let request = Request { kind: Some("execute".to_owned()), acts: vec![act], ..Request::default() };
    let folder = PathBuf::from("/p");
    let case =
        Case { request, cwd: folder.clone(), folders: vec![folder], rules: rules.clone(), ..Case::default() };
    case.judge(&|path| Some(path.to_owned())).decision
}
