//! How a turn's calls collapse as they finish, as the user sees it.

use insta::assert_snapshot;
use proptest::prelude::*;

use super::groups::{Groups, Place, role};
use super::*;
use crate::core::ids::{EntryId, Moment, SessionKey, TerminalId};
use crate::core::message::{
    Content, Cost, FileDiff, Location, Opened, Place as Where, Role, StopReason, ToolCallPatch, ToolContent,
    ToolKind, TurnEnd, Update, WireStatus,
};
use crate::core::session::{AgentRun, Session};

fn style() -> Style {
    Style { icons: true, width: 60, clock: None, hints: Default::default() }
}

fn working() -> Session {
    let place = Where { cwd: "/p".into(), ..Where::default() };
    let mut session = Session::new(SessionKey(1), AgentRun::DEMO, place, Moment(0));
    session.opened(Opened::default(), Moment(0));
    session.prompt(vec![Content::Text("go".into())], Moment(0));
    session
}

fn call(id: &str, kind: ToolKind, title: &str) -> ToolCallPatch {
    let path = matches!(kind, ToolKind::Read).then(|| format!("/p/{title}"));
    ToolCallPatch {
        title: Some(title.into()),
        kind: Some(kind),
        status: Some(WireStatus::InProgress),
        locations: path.map(|path| vec![Location { path: path.into(), line: None }]),
        ..ToolCallPatch::new(id)
    }
}

fn status(id: &str, status: WireStatus) -> Update {
    Update::ToolCall(Box::new(ToolCallPatch { status: Some(status), ..ToolCallPatch::new(id) }))
}

/// A transcript as it is drawn: what is touched is drawn again, the rest stays.
#[derive(Default)]
struct Canvas {
    groups: Groups,
    drawn: Vec<Drawing>,
}

fn tail(terminal: &TerminalId) -> Option<Tail> {
    let lines = vec!["1 failed".to_owned()];
    Some(Tail {
        lines,
        spans: Vec::new(),
        total: 1,
        running: false,
        failed: terminal.0 == "failing",
        took: None,
    })
}

impl Canvas {
    fn update(&mut self, session: &mut Session) {
        let (touched, _) = session.take_touched();
        self.draw(session, touched.into_iter().map(|id| id.0).collect());
    }

    fn draw(&mut self, session: &Session, touched: Vec<usize>) {
        let entries = session.entries();
        let mut waiting: Vec<usize> = touched.clone();
        for index in touched {
            waiting.extend(self.groups.note(index, role(&entries[index], &tail)));
        }
        self.drawn.resize(entries.len(), Drawing::default());
        for index in waiting {
            let before = index.checked_sub(1).map(|before| &entries[before]);
            let tally = self.groups.run(index).map(|run| Tally::of(&entries[run])).unwrap_or_default();
            let standing = match (self.groups.run(index), self.groups.place(index)) {
                (Some(run), Place::Leads) => Standing::Leads { open: self.groups.is_open(&run), run: &tally },
                (Some(run), _) => Standing::Within { open: self.groups.is_open(&run) },
                (None, _) => Standing::Alone,
            };
            self.drawn[index] = draw_standing(before, &entries[index], standing, &style(), &tail);
        }
    }

    /// The lines under the agent's name.
    fn text(&self) -> String {
        let mut lines = Vec::new();
        for drawing in &self.drawn {
            for (row, line) in drawing.lines.iter().enumerate() {
                match drawing.right.iter().find(|(at, _)| *at == row) {
                    Some((_, right)) => lines.push(format!("{line} | {right}")),
                    None => lines.push(line.clone()),
                }
            }
        }
        lines.join("\n").split_once("\ndemo\n").map_or(String::new(), |(_, text)| text.to_owned())
    }
}

#[test]
fn calls_gather_as_they_are_done() {
    let mut session = working();
    let mut canvas = Canvas::default();
    for (id, kind, title) in [
        ("1", ToolKind::Read, "src/a.rs"),
        ("2", ToolKind::Read, "src/b.rs"),
        ("3", ToolKind::Search, "lock"),
        ("4", ToolKind::Execute, "cargo test"),
    ] {
        session.apply(Update::ToolCall(Box::new(call(id, kind, title))), Moment(0));
    }
    session.apply(status("2", WireStatus::Completed), Moment(800));
    canvas.update(&mut session);
    assert_snapshot!(canvas.text(), @r"
    ◐ read src/a.rs
    ✓ read src/b.rs
    ◐ search lock
    ◐ run cargo test
    ");
    session.apply(status("1", WireStatus::Completed), Moment(1000));
    session.apply(status("4", WireStatus::Completed), Moment(1000));
    canvas.update(&mut session);
    assert_snapshot!(canvas.text(), @r"
    ✓ read 2 files | 1.0 s
    ◐ search lock
    ✓ run cargo test | 1.0 s
    ");
    session.apply(status("3", WireStatus::Completed), Moment(2500));
    canvas.update(&mut session);
    assert_snapshot!(canvas.text(), @"✓ read 2 files, searched once, ran a command | 2.5 s");
    let run = canvas.groups.run(4).expect("a run");
    canvas.groups.toggle(&run);
    session.toggle(EntryId(run.start));
    canvas.draw(&session, run.collect());
    assert_snapshot!(canvas.text(), @r"
    ✓ read 2 files, searched once, ran a command | 2.5 s
      ✓ read src/a.rs | 1.0 s
          src/a.rs
      ✓ read src/b.rs
      ✓ search lock | 2.5 s
      ✓ run cargo test | 1.0 s
    ");
}

#[test]
fn what_failed_or_changed_something_or_shows_something_stands_alone() {
    let mut session = working();
    let mut canvas = Canvas::default();
    let done = |id: &str, kind, title: &str, content| {
        let status = Some(WireStatus::Completed);
        Update::ToolCall(Box::new(ToolCallPatch { status, content, ..call(id, kind, title) }))
    };
    session.apply(done("1", ToolKind::Read, "a", None), Moment(0));
    session.apply(done("2", ToolKind::Edit, "b", None), Moment(0));
    let diff = FileDiff { path: "/p/c".into(), old_text: Some("1\n".into()), new_text: "2\n".into() };
    session.apply(done("3", ToolKind::Other, "c", Some(vec![ToolContent::Diff(diff)])), Moment(0));
    let terminal = |name: &str| Some(vec![ToolContent::Terminal(TerminalId(name.into()))]);
    session.apply(done("4", ToolKind::Execute, "make", terminal("failing")), Moment(0));
    session.apply(done("5", ToolKind::Execute, "make", terminal("fine")), Moment(0));
    let image = Content::Image { data: "AAAA".into(), mime: "image/png".into(), uri: None };
    session.apply(done("6", ToolKind::Read, "d", Some(vec![ToolContent::Content(image)])), Moment(0));
    session.apply(done("7", ToolKind::Read, "e", None), Moment(0));
    session.apply(status("7", WireStatus::Failed), Moment(0));
    canvas.update(&mut session);
    assert_snapshot!(canvas.text(), @r"
    ✓ read a
    ✓ edit b
    ✓ c | +1 -1
    ✓ run make
        1 failed
    ✓ run make
    ✓ read d
    ✗ read e | failed
    ");
}

#[test]
fn a_thought_between_gathered_calls_goes_along_and_one_after_them_stays() {
    let mut session = working();
    let mut canvas = Canvas::default();
    let thinks =
        || Update::Message { role: Role::Thought, message: None, content: Content::Text("hm".into()) };
    for (id, at) in [("1", 0), ("2", 10)] {
        session.apply(thinks(), Moment(at));
        let mut call = call(id, ToolKind::Execute, "make");
        call.raw_input = Some(serde_json::json!({ "command": format!("make {id}") }));
        session.apply(Update::ToolCall(Box::new(call)), Moment(at + 5));
        session.apply(status(id, WireStatus::Completed), Moment(at + 6));
    }
    session.apply(thinks(), Moment(20));
    canvas.update(&mut session);
    assert_snapshot!(canvas.text(), @r"
    ▸ thought
    ✓ ran 2 commands
    ▸ thinking …
    ");
}

#[test]
fn a_turn_tells_what_it_has_cost_and_when_on_request() {
    let mut session = working();
    let mut spend = |amount: f64, at: u64| {
        let cost = Some(Cost { amount, currency: "USD".into() });
        session.apply(Update::Usage { used: 1, size: 2, cost }, Moment(at));
        session.turn_ended(TurnEnd::Stopped { reason: StopReason::EndTurn, usage: None }, Moment(at));
        session.prompt(vec![Content::Text("more".into())], Moment(at));
        let entries = session.entries();
        draw(None, &entries[entries.len() - 2], &Style { clock: Some(90), ..style() }, &|_| None)
    };
    // A quarter past midnight, an hour and a half to the east.
    assert_eq!(spend(0.5, 15 * 60_000).right, [(0, "01:45".to_owned())]);
    assert_eq!(spend(0.75, 15 * 60_000 + 2000).lines, ["The agent ended without an answer · 2.0 s · $0.25"]);
    assert_eq!(spend(0.75, 15 * 60_000 + 2000).lines, ["The agent ended without an answer · 0 ms"]);
    let asked = draw(None, &session.entries()[1], &Style { clock: Some(-1), ..style() }, &|_| None);
    assert_eq!(asked.right, [(0, "23:59".to_owned())]);
}

fn step() -> impl Strategy<Value = (u8, String, ToolKind, WireStatus, bool)> {
    let kind = prop_oneof![
        4 => Just(ToolKind::Read),
        2 => Just(ToolKind::Execute),
        1 => Just(ToolKind::Edit),
    ];
    let status = prop_oneof![
        3 => Just(WireStatus::Completed),
        2 => Just(WireStatus::InProgress),
        1 => Just(WireStatus::Failed),
    ];
    (0..12_u8, "[0-9]{1}", kind, status, any::<bool>())
}

proptest! {
    #[test]
    fn what_is_drawn_step_by_step_is_what_is_drawn_at_once(steps in prop::collection::vec(step(), 1..60)) {
        let mut session = working();
        let mut canvas = Canvas::default();
        canvas.update(&mut session);
        for (now, (what, id, kind, status, flag)) in steps.into_iter().enumerate() {
            let now = Moment(now as u64 * 400);
            let text = |role| Update::Message { role, message: None, content: Content::Text("some\ntext ".into()) };
            match what {
                0 => session.apply(text(Role::Agent), now),
                1 | 2 => session.apply(text(Role::Thought), now),
                3 => {
                    let at = id.parse::<usize>().unwrap_or_default();
                    if at < session.entries().len() {
                        session.toggle(EntryId(at));
                    }
                }
                4 => {
                    let at = id.parse::<usize>().unwrap_or_default();
                    if let Some(run) = canvas.groups.run(at) {
                        canvas.groups.toggle(&run);
                        canvas.draw(&session, run.collect());
                    }
                }
                _ => session.apply(
                    Update::ToolCall(Box::new(ToolCallPatch { status: Some(status), ..call(&id, kind, &id) })),
                    now,
                ),
            }
            if flag {
                canvas.update(&mut session);
            }
        }
        canvas.update(&mut session);
        let mut at_once = Canvas { groups: canvas.groups.clone(), drawn: Vec::new() };
        at_once.draw(&session, (0..session.entries().len()).collect());
        prop_assert_eq!(&canvas.drawn, &at_once.drawn);
        // Whatever gathers, nothing that was said goes missing: each call is counted or has its line.
        let hidden = at_once.drawn.iter().filter(|drawing| drawing.lines.is_empty()).count();
        let within = (0..session.entries().len())
            .filter(|index| at_once.groups.place(*index) == Place::Within)
            .count();
        prop_assert!(hidden <= within);
    }
}
