//! Who changed a file, told by stories: what agents did, line by line, and who is held to have changed a file then.

use super::*;

const A: SessionKey = SessionKey(1);
const B: SessionKey = SessionKey(2);
const FILE: &str = "/p/a.txt";

/// Two sessions in one folder, with a turn in each that began at 1000.
fn two() -> Activities {
    let mut activities = one();
    activities.session_began(B, vec!["/p".into()]);
    activities.turn_began(B, 1000);
    activities
}

fn one() -> Activities {
    let mut activities = Activities::default();
    activities.session_began(A, vec!["/p".into()]);
    activities.turn_began(A, 1000);
    activities
}

fn id(name: &str) -> ToolCallId {
    ToolCallId(name.to_owned())
}

fn news(kind: ToolKind, status: WireStatus) -> CallNews {
    CallNews { kind: Some(kind), status: Some(status), ..CallNews::default() }
}

fn begins(activities: &mut Activities, session: SessionKey, call: &str, kind: ToolKind, now: Millis) {
    activities.call(session, &id(call), news(kind, WireStatus::InProgress), now);
}

fn ends(activities: &mut Activities, session: SessionKey, call: &str, now: Millis) {
    let news = CallNews { status: Some(WireStatus::Completed), ..CallNews::default() };
    activities.call(session, &id(call), news, now);
}

/// A command of an agent's runs from 2000 on, and the user has Neovim do something from 3000 to 3100.
#[test]
fn what_changes_while_the_user_has_neovim_do_something_is_not_taken_for_an_agents() {
    let run = |activities: &mut Activities| {
        begins(activities, A, "run", ToolKind::Execute, 2000);
        activities.command_began(A, TerminalId("t".to_owned()), 2010);
        activities.user_began(3000, 3000);
        activities.user_ended(3100);
    };
    let mut activities = one();
    run(&mut activities);
    let table = [
        ("before", (2900, 2900), "1:run/t"),
        ("in it", (3000, 3000), "outside"),
        ("at its end", (3050, 3100), "outside"),
        ("since before it", (2900, 3050), "1:run/t"),
        ("until after it", (3050, 3200), "1:run/t"),
        ("after it", (3200, 3200), "1:run/t"),
    ];
    for (what, (first, last), expected) in table {
        assert_eq!(who(&activities, first, last), expected, "{what}");
    }
    let holder = held_by([A], Some("t"));
    let held = activities.judge(Path::new(FILE), (3050, 3050), Some(&holder));
    assert_eq!(said(held), "1:run/t", "a process of the command was seen with the file");

    activities.user_began(4000, 4000);
    assert_eq!(who(&activities, 4500, 4500), "outside", "it goes on");
    assert!(activities.is_contested(Path::new(FILE)), "it is worth a look who has the file open");
    activities.user_ended(4600);
    assert!(!activities.is_contested(Path::new(FILE)));

    let mut named = one();
    let names = CallNews { names: vec![FILE.into()], ..news(ToolKind::Edit, WireStatus::InProgress) };
    named.call(A, &id("edit"), names, 2000);
    run(&mut named);
    assert_eq!(who(&named, 3050, 3050), "1:edit", "its call says that it is about this file");
}

/// A command's change at 2990, of which the system is heard while the user has Neovim do something from 3000 to 3100.
#[test]
fn what_was_written_before_the_user_began_is_not_the_users_because_it_was_heard_of_late() {
    let mut activities = one();
    begins(&mut activities, A, "run", ToolKind::Execute, 2000);
    activities.command_began(A, TerminalId("t".to_owned()), 2010);
    activities.user_began(3000, 3000);
    activities.user_ended(3100);
    activities.user_began(3200, 3200);
    activities.user_ended(3310);
    activities.user_began(3400, 3396);
    let table = [
        ("nobody has looked", 3050, None, "outside"),
        ("before", 3050, Some(2999), "1:run/t"),
        ("as the user begins", 3050, Some(3000), "outside"),
        ("while the user is at work", 3050, Some(3040), "outside"),
        ("as late as it may be heard of", 3050, Some(3050 - HEARD_LATE), "1:run/t"),
        ("by another machine's clock", 3050, Some(3049 - HEARD_LATE), "outside"),
        ("between the user's times", 3300, Some(3150), "1:run/t"),
        ("in the one before", 3300, Some(3090), "outside"),
        ("at the end of the one before, as far as that clock tells", 3300, Some(3105), "outside"),
        ("just before the user began, as that clock is late", 3403, Some(3399), "outside"),
        ("before that clock went on", 3403, Some(3395), "1:run/t"),
    ];
    for (what, heard, written, expected) in table {
        let times = Times { first: heard, last: heard, written };
        assert_eq!(said(activities.judge(Path::new(FILE), times, None)), expected, "{what}");
    }
}

#[test]
fn no_more_of_the_users_times_are_remembered_than_are_needed() {
    let mut activities = one();
    begins(&mut activities, A, "run", ToolKind::Execute, 2000);
    for at in 0..10_000 {
        activities.user_began(10_000 + at * 100, 10_000 + at * 100);
        activities.user_ended(10_000 + at * 100 + 20);
    }
    assert_eq!(activities.user.len(), MAX_USER_SPANS);
    assert_eq!(who(&activities, 10_000 + 9_999 * 100, 10_000 + 9_999 * 100), "outside");
}

/// As "1:call" or "1:call/terminal", those of one change joined by " or ".
fn who(activities: &Activities, first: Millis, last: Millis) -> String {
    who_changed(activities, FILE, first, last)
}

fn who_changed(activities: &Activities, path: &str, first: Millis, last: Millis) -> String {
    said(activities.judge(Path::new(path), (first, last), None))
}

fn said(judgement: Judgement) -> String {
    let one = |activity: &Activity| {
        let call = activity.call.as_ref().map_or("", |call| &call.0);
        let terminal = activity.terminal.as_ref().map(|id| format!("/{}", id.0)).unwrap_or_default();
        format!("{}:{call}{terminal}", activity.session.0)
    };
    match judgement {
        Judgement::Open => "open".to_owned(),
        Judgement::By(Cause::Outside) => "outside".to_owned(),
        Judgement::By(Cause::Session(activity)) => one(&activity),
        Judgement::By(Cause::OneOf(all)) => all.iter().map(one).collect::<Vec<_>>().join(" or "),
    }
}

#[test]
fn a_change_while_a_call_runs_is_the_calls() {
    let mut activities = one();
    begins(&mut activities, A, "c", ToolKind::Execute, 2000);
    assert_eq!(who(&activities, 2500, 2600), "1:c", "it still runs");
    ends(&mut activities, A, "c", 3000);
    for (first, last) in [(2000, 2000), (2999, 3000), (1500, 2100), (2900, 3500)] {
        assert_eq!(who(&activities, first, last), "1:c", "{first} to {last}");
    }
    assert_eq!(who(&activities, 1500, 1500), "outside", "before it");
}

#[test]
fn what_changes_while_no_call_runs_is_changed_from_outside() {
    let mut activities = one();
    begins(&mut activities, A, "c", ToolKind::Execute, 2000);
    ends(&mut activities, A, "c", 3000);
    assert_eq!(who(&activities, 4000, 4000), "open", "a call may still say that it was running");
    activities.heard(A, 5000);
    assert_eq!(who(&activities, 4000, 4000), "outside");
    activities.turn_ended(A, 6000);
    assert_eq!(who(&activities, 5500, 5500), "outside");
    assert_eq!(who(&activities, 7000, 7000), "outside");
}

#[test]
fn no_session_works_in_another_folder() {
    let mut activities = one();
    begins(&mut activities, A, "c", ToolKind::Execute, 2000);
    assert_eq!(who_changed(&activities, "/other/a.txt", 2500, 2500), "outside");
    assert_eq!(who_changed(&activities, "/prefix", 2500, 2500), "outside");
}

#[test]
fn a_call_that_waits_for_the_user_changes_nothing() {
    let mut activities = one();
    begins(&mut activities, A, "c", ToolKind::Edit, 2000);
    activities.asked(A, &id("c"), CallNews::default(), 3000);
    assert_eq!(who(&activities, 3500, 3500), "open");
    begins(&mut activities, A, "c", ToolKind::Edit, 3600);
    assert_eq!(who(&activities, 4500, 4500), "open", "it says that it runs, and waits all the same");
    activities.answered(A, &id("c"), true, 5000);
    assert_eq!(who(&activities, 5500, 5500), "1:c");
    ends(&mut activities, A, "c", 6000);
    assert_eq!(who(&activities, 3700, 4400), "outside");
}

#[test]
fn a_call_that_waits_is_not_credited_with_what_another_one_does() {
    for (announced, asked) in [(2000, 3000), (2900, 3000)] {
        let mut activities = one();
        let named = CallNews { names: vec![FILE.into()], ..news(ToolKind::Edit, WireStatus::Pending) };
        activities.call(A, &id("asks"), named, announced);
        begins(&mut activities, A, "runs", ToolKind::Execute, 2950);
        assert_eq!(who(&activities, 2960, 2960), "1:asks", "it names the file");
        let count = activities.learned();
        activities.asked(A, &id("asks"), CallNews::default(), asked);
        assert!(activities.learned_since(count).is_some_and(|from| from <= 2960), "it is judged again");
        for (first, last) in [(2960, 2960), (3001, 3001), (3200, 3300)] {
            assert_eq!(who(&activities, first, last), "1:runs", "{first} to {last}");
        }
        activities.answered(A, &id("asks"), true, 4000);
        assert_eq!(who(&activities, 4100, 4100), "1:asks", "it goes on");
    }
    // Some try first what they may do without asking.
    let mut activities = one();
    begins(&mut activities, A, "tries", ToolKind::Execute, 2000);
    activities.asked(A, &id("tries"), CallNews::default(), 3000);
    assert_eq!(who(&activities, 2500, 2500), "1:tries");
}

#[test]
fn a_call_that_the_user_rejects_is_over() {
    let mut activities = one();
    activities.asked(A, &id("c"), news(ToolKind::Edit, WireStatus::Pending), 2000);
    activities.answered(A, &id("c"), false, 3000);
    activities.heard(A, 4000);
    assert_eq!(who(&activities, 3500, 3500), "outside");
}

#[test]
fn of_several_calls_the_one_that_writes_is_the_likelier() {
    for kind in [ToolKind::Execute, ToolKind::Edit, ToolKind::Delete, ToolKind::Move] {
        for other in [ToolKind::Read, ToolKind::Search, ToolKind::Think, ToolKind::Fetch] {
            let mut activities = one();
            begins(&mut activities, A, "writes", kind, 2000);
            begins(&mut activities, A, "reads", other, 2100);
            assert_eq!(who(&activities, 2500, 2500), "1:writes", "{kind:?} beside {other:?}");
            ends(&mut activities, A, "reads", 3000);
            ends(&mut activities, A, "writes", 3000);
            assert_eq!(who(&activities, 2500, 2500), "1:writes", "{kind:?} beside {other:?}, over");
        }
    }
    let mut activities = one();
    begins(&mut activities, A, "reads", ToolKind::Read, 2000);
    assert_eq!(who(&activities, 2500, 2500), "open", "another may say that it was running");
    activities.heard(A, 3000);
    assert_eq!(who(&activities, 2500, 2500), "1:reads", "there is no other");
}

#[test]
fn the_call_that_names_a_file_has_changed_it() {
    let mut activities = two();
    let names = vec![PathBuf::from(FILE)];
    let edit = CallNews { names: names.clone(), ..news(ToolKind::Edit, WireStatus::InProgress) };
    activities.call(A, &id("edits"), edit, 2000);
    begins(&mut activities, A, "runs", ToolKind::Execute, 2100);
    begins(&mut activities, B, "other", ToolKind::Execute, 2100);
    let read = CallNews { names, ..news(ToolKind::Read, WireStatus::InProgress) };
    activities.call(B, &id("reads"), read, 2200);
    assert_eq!(who(&activities, 2500, 2500), "1:edits");
    assert_eq!(who_changed(&activities, "/p/b.txt", 2500, 2500), "1:runs or 2:other");
}

#[test]
fn a_call_that_follows_another_without_a_pause_is_told_apart_by_what_it_names() {
    let mut activities = one();
    begins(&mut activities, A, "first", ToolKind::Execute, 2000);
    ends(&mut activities, A, "first", 2500);
    let edit = CallNews { names: vec![FILE.into()], ..news(ToolKind::Edit, WireStatus::InProgress) };
    activities.call(A, &id("second"), edit, 2501);
    assert_eq!(who(&activities, 2490, 2490), "1:second", "its message was read late");
    assert_eq!(who_changed(&activities, "/p/b.txt", 2490, 2490), "1:first");
    assert_eq!(who(&activities, 2050, 2050), "1:first", "but not as late as that");
}

#[test]
fn a_call_that_works_by_a_command_has_done_nothing_when_that_was_over() {
    let mut activities = one();
    begins(&mut activities, A, "edits", ToolKind::Edit, 2000);
    begins(&mut activities, A, "runs", ToolKind::Execute, 2100);
    let shows = CallNews { terminals: vec![TerminalId("t".to_owned())], ..CallNews::default() };
    activities.call(A, &id("runs"), shows, 2100);
    activities.command_began(A, TerminalId("t".to_owned()), 2200);
    assert_eq!(who(&activities, 2250, 2250), "1:runs/t");
    activities.command_ended(A, &TerminalId("t".to_owned()), 2300);
    assert_eq!(who(&activities, 2350, 2350), "1:edits");
    assert_eq!(who(&activities, 2150, 2150), "1:edits", "nor before");
    ends(&mut activities, A, "edits", 2400);
    assert_eq!(
        who(&activities, 2500, 2500),
        "1:runs/t",
        "unless nobody else did anything: it may have left a process"
    );
}

#[test]
fn a_command_that_is_begun_here_has_done_nothing_before() {
    let mut activities = one();
    activities.heard(A, 1500);
    activities.command_began(A, TerminalId("t".to_owned()), 3000);
    activities.heard(A, 4000);
    assert_eq!(who(&activities, 2990, 2990), "outside");
    assert_eq!(who(&activities, 3000, 3000), "1:/t");
}

#[test]
fn a_call_that_is_announced_when_it_is_over_reaches_back_to_the_message_before() {
    let mut activities = one();
    activities.heard(A, 2000);
    assert_eq!(who(&activities, 2500, 2500), "open");
    activities.call(A, &id("late"), news(ToolKind::Edit, WireStatus::Completed), 3000);
    assert_eq!(who(&activities, 2500, 2500), "1:late");
    assert_eq!(who(&activities, 1500, 1500), "outside", "before that message");
    activities.call(A, &id("later"), news(ToolKind::Edit, WireStatus::Completed), 4000);
    assert_eq!(who(&activities, 2500, 2500), "1:late");
    assert_eq!(who(&activities, 3500, 3500), "1:later");
}

#[test]
fn a_call_may_have_begun_a_little_before_its_message_was_read() {
    let mut activities = one();
    begins(&mut activities, A, "c", ToolKind::Execute, 2000);
    assert_eq!(who(&activities, 1990, 1990), "1:c");
    ends(&mut activities, A, "c", 2500);
    begins(&mut activities, A, "d", ToolKind::Execute, 2510);
    assert_eq!(who(&activities, 2495, 2495), "1:c", "the one that was running is the likelier");
}

#[test]
fn what_changes_when_the_turn_is_over_is_never_a_late_calls() {
    let mut activities = one();
    begins(&mut activities, A, "c", ToolKind::Execute, 2000);
    activities.turn_ended(A, 3000);
    assert_eq!(who(&activities, 3001, 3001), "outside", "at once");
    activities.call(A, &id("late"), news(ToolKind::Edit, WireStatus::Completed), 3010);
    begins(&mut activities, A, "begins", ToolKind::Edit, 3020);
    assert_eq!(who(&activities, 3001, 3001), "outside");
    activities.turn_began(A, 3030);
    begins(&mut activities, A, "next", ToolKind::Edit, 3040);
    assert_eq!(who(&activities, 3025, 3025), "1:begins");
    assert_eq!(who(&activities, 3001, 3001), "outside");
}

#[test]
fn what_changes_just_before_the_user_allows_a_call_is_not_the_calls() {
    let mut activities = one();
    activities.asked(A, &id("c"), news(ToolKind::Edit, WireStatus::Pending), 2000);
    activities.answered(A, &id("c"), true, 3000);
    assert_eq!(who(&activities, 3001, 3001), "1:c");
    activities.heard(A, 4000);
    assert_eq!(who(&activities, 3000, 3000), "outside");
}

#[test]
fn a_change_stays_open_as_long_as_a_late_call_would_reach_back_to_it() {
    let mut activities = one();
    activities.heard(A, 2100);
    assert_eq!(who(&activities, 2000, 2000), "open", "the message may have been read late");
    activities.call(A, &id("late"), news(ToolKind::Edit, WireStatus::Completed), 3000);
    assert_eq!(who(&activities, 2000, 2000), "1:late");
}

#[test]
fn nothing_that_changed_before_a_turn_is_the_turns() {
    let mut activities = Activities::default();
    activities.session_began(A, vec!["/p".into()]);
    activities.turn_began(A, 2000);
    begins(&mut activities, A, "c", ToolKind::Execute, 2010);
    assert_eq!(who(&activities, 1990, 1990), "outside");
    assert_eq!(who(&activities, 2005, 2005), "1:c");
}

#[test]
fn of_two_sessions_at_once_it_is_one() {
    let mut activities = two();
    begins(&mut activities, A, "a", ToolKind::Execute, 2000);
    begins(&mut activities, B, "b", ToolKind::Edit, 2100);
    assert_eq!(who(&activities, 2500, 2500), "1:a or 2:b");
    assert_eq!(who(&activities, 2050, 2050), "1:a");
    ends(&mut activities, A, "a", 3000);
    assert_eq!(who(&activities, 3500, 3500), "2:b");
}

#[test]
fn who_only_reads_is_not_suspected_beside_another_session_that_writes() {
    let mut activities = two();
    begins(&mut activities, A, "a", ToolKind::Execute, 2000);
    begins(&mut activities, B, "b", ToolKind::Read, 2100);
    assert_eq!(who(&activities, 2500, 2500), "1:a");
    begins(&mut activities, B, "unknown", ToolKind::Other, 2200);
    assert_eq!(who(&activities, 2500, 2500), "1:a or 2:unknown");
}

fn held_by<const N: usize>(sessions: [SessionKey; N], terminal: Option<&str>) -> Holder {
    Holder { sessions: sessions.into(), terminal: terminal.map(|terminal| TerminalId(terminal.to_owned())) }
}

#[test]
fn of_an_agents_sessions_it_is_one_that_was_at_work() {
    const C: SessionKey = SessionKey(3);
    let mut activities = two();
    activities.session_began(C, vec!["/p".into()]);
    begins(&mut activities, A, "a", ToolKind::Execute, 2000);
    begins(&mut activities, B, "b", ToolKind::Execute, 2000);
    let judge = |activities: &Activities, holder: Option<&Holder>| {
        said(activities.judge(Path::new(FILE), (2500, 2500), holder))
    };
    assert_eq!(judge(&activities, None), "1:a or 2:b");
    assert_eq!(judge(&activities, Some(&held_by([A, C], None))), "1:a");
    assert_eq!(judge(&activities, Some(&held_by([B], None))), "2:b");
    assert_eq!(judge(&activities, Some(&held_by([A, B], None))), "1:a or 2:b");
    begins(&mut activities, C, "c", ToolKind::Execute, 2000);
    assert_eq!(judge(&activities, Some(&held_by([B, C], None))), "2:b or 3:c");
}

#[test]
fn a_process_that_was_seen_with_the_file_settles_it() {
    let mut activities = two();
    begins(&mut activities, A, "a", ToolKind::Execute, 2000);
    begins(&mut activities, B, "b", ToolKind::Execute, 2000);
    let holder = held_by([B], Some("t"));
    let judge =
        |activities: &Activities, at| said(activities.judge(Path::new(FILE), (at, at), Some(&holder)));
    assert_eq!(judge(&activities, 2500), "2:b/t");
    activities.command_began(B, TerminalId("t".to_owned()), 2600);
    begins(&mut activities, B, "later", ToolKind::Execute, 2700);
    activities.command_began(B, TerminalId("u".to_owned()), 2700);
    assert_eq!(judge(&activities, 2800), "2:b/t", "of two commands the one that was seen");
    ends(&mut activities, B, "later", 2900);
    ends(&mut activities, B, "b", 3000);
    assert_eq!(judge(&activities, 3500), "2:b/t", "a server that goes on after its call");
}

#[test]
fn a_commands_changes_are_those_of_the_call_that_shows_it() {
    let mut activities = one();
    begins(&mut activities, A, "c", ToolKind::Execute, 2000);
    begins(&mut activities, A, "d", ToolKind::Execute, 2000);
    activities.command_began(A, TerminalId("t".to_owned()), 2100);
    let shows = CallNews { terminals: vec![TerminalId("t".to_owned())], ..CallNews::default() };
    activities.call(A, &id("c"), shows, 2200);
    assert_eq!(who(&activities, 2500, 2500), "1:c/t");
    activities.command_ended(A, &TerminalId("t".to_owned()), 3000);
    assert_eq!(who(&activities, 2500, 2500), "1:c/t");
}

#[test]
fn a_command_that_no_call_shows_is_that_of_the_only_call_that_runs() {
    let mut activities = one();
    activities.command_began(A, TerminalId("early".to_owned()), 1500);
    assert_eq!(who(&activities, 1600, 1600), "1:/early");
    begins(&mut activities, A, "c", ToolKind::Execute, 2000);
    begins(&mut activities, A, "reads", ToolKind::Read, 2000);
    activities.command_began(A, TerminalId("t".to_owned()), 2100);
    assert_eq!(who(&activities, 2500, 2500), "1:c/t");
}

#[test]
fn a_command_that_goes_on_after_its_turn_has_changed_nothing() {
    let mut activities = one();
    activities.command_began(A, TerminalId("server".to_owned()), 2000);
    activities.turn_ended(A, 3000);
    assert_eq!(who(&activities, 4000, 4000), "outside");
}

#[test]
fn a_calls_name_that_is_used_again_is_another_call() {
    let mut activities = one();
    begins(&mut activities, A, "c", ToolKind::Execute, 2000);
    ends(&mut activities, A, "c", 3000);
    activities.turn_ended(A, 3100);
    activities.turn_began(A, 5000);
    begins(&mut activities, A, "c", ToolKind::Read, 6000);
    assert_eq!(who(&activities, 4000, 4000), "outside");
    assert_eq!(who(&activities, 2500, 2500), "1:c");
    activities.heard(A, 7000);
    assert_eq!(who(&activities, 6500, 6500), "1:c");
}

#[test]
fn a_session_that_is_over_has_changed_nothing_more() {
    let mut activities = one();
    begins(&mut activities, A, "c", ToolKind::Execute, 2000);
    activities.session_ended(A);
    assert_eq!(who(&activities, 2500, 2500), "outside");
    begins(&mut activities, A, "d", ToolKind::Execute, 3000);
    assert_eq!(who(&activities, 3500, 3500), "outside", "who still speaks of it comes too late");
}

#[test]
fn progress_that_comes_late_does_not_take_a_call_up_again() {
    let mut activities = one();
    begins(&mut activities, A, "c", ToolKind::Execute, 2000);
    ends(&mut activities, A, "c", 3000);
    begins(&mut activities, A, "c", ToolKind::Execute, 3500);
    activities.heard(A, 5000);
    assert_eq!(who(&activities, 4000, 4000), "outside");
}

/// What is known of a call, the change that is asked about, and whether it is the call's.
struct Reach {
    what: &'static str,
    names: Option<&'static str>,
    /// By when its agent had not said that it begins, which was read at 3000.
    unsaid: Option<Millis>,
    /// When it said that it was done.
    ended: Option<Millis>,
    turn_ended: Option<Millis>,
    at: Millis,
    expected: &'static str,
}

const PLAIN: Reach =
    Reach { what: "", names: None, unsaid: None, ended: None, turn_ended: None, at: 3000, expected: "1:c" };

const REACHES: &[Reach] = &[
    Reach { what: "nobody knows when it was said", at: 2601, ..PLAIN },
    Reach { what: "nor did it last so long", at: 2599, expected: "outside", ..PLAIN },
    Reach { what: "it was not said then", at: 2601, unsaid: Some(2900), expected: "outside", ..PLAIN },
    Reach { what: "it was said right after", at: 2870, unsaid: Some(2900), ..PLAIN },
    Reach { what: "it may have been said before", at: 2950, unsaid: Some(2900), ..PLAIN },
    Reach { what: "it names the file", names: Some(FILE), at: 2601, unsaid: Some(2900), ..PLAIN },
    Reach {
        what: "it names another file",
        names: Some("/p/b.txt"),
        at: 2601,
        unsaid: Some(2900),
        expected: "outside",
        ..PLAIN
    },
    Reach { what: "it is over", ended: Some(3500), at: 3501, expected: "outside", ..PLAIN },
    Reach { what: "over, and names the file", names: Some(FILE), ended: Some(3500), at: 3900, ..PLAIN },
    Reach {
        what: "over for longer",
        names: Some(FILE),
        ended: Some(3500),
        at: 3901,
        expected: "outside",
        ..PLAIN
    },
    Reach {
        what: "over, and its turn",
        names: Some(FILE),
        ended: Some(3500),
        turn_ended: Some(3600),
        at: 3601,
        expected: "outside",
        ..PLAIN
    },
];

#[test]
fn how_far_a_call_reaches_depends_on_what_it_names_and_on_when_it_was_said() {
    for Reach { what, names, unsaid, ended, turn_ended, at, expected } in REACHES {
        let mut activities = one();
        activities.heard(A, 2000);
        let names = names.iter().map(PathBuf::from).collect();
        let begins = CallNews { names, unsaid: *unsaid, ..news(ToolKind::Edit, WireStatus::InProgress) };
        activities.call(A, &id("c"), begins, 3000);
        ended.iter().for_each(|ended| ends(&mut activities, A, "c", *ended));
        turn_ended.iter().for_each(|ended| activities.turn_ended(A, *ended));
        activities.heard(A, 9000);
        assert_eq!(who(&activities, *at, *at), *expected, "{what}");
    }
}

mod whatever_order {
    use proptest::prelude::*;

    use super::*;
    use crate::core::changes::attribution::verdicts::{Verdict, Verdicts};
    use crate::core::message::ChangedFile;
    use crate::core::store::checkpoint::Held;

    /// What an agent says, in its order; each may say it with less or more.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Said {
        Read,
        Announced,
        Updated,
        Ended,
        TurnEnded,
    }

    fn file() -> ChangedFile {
        let (before, after) = (Held::text("a"), Held::text("b"));
        let path = FILE.into();
        ChangedFile { path, renamed_from: None, before, after, unknown: None, later: None, is_told: false }
    }

    fn say(activities: &mut Activities, said: Said, (names, kind): (Said, Said), now: Millis) {
        let mut news = CallNews::default();
        if names == said {
            news.names.push(FILE.into());
        }
        news.kind = (kind == said).then_some(ToolKind::Edit);
        news.status = match said {
            Said::Announced => Some(WireStatus::Pending),
            Said::Updated => Some(WireStatus::InProgress),
            Said::Ended => Some(WireStatus::Completed),
            Said::Read => return begins(activities, A, "reads", ToolKind::Read, now),
            Said::TurnEnded => return activities.turn_ended(A, now),
        };
        activities.call(A, &id("edits"), news, now);
    }

    fn is_some_of_the_call() -> impl Strategy<Value = Said> {
        prop_oneof![Just(Said::Announced), Just(Said::Updated), Just(Said::Ended)]
    }

    proptest! {
        /// A call edits a file, and says so in one of its messages. Whenever the file changes and whenever that is
        /// noticed, in the end it is said to be the call's.
        #[test]
        fn the_same_is_said_in_the_end(
            changed in 0..5_usize, noticed in 0..6_usize, names in is_some_of_the_call(), kind in is_some_of_the_call(),
            pauses in prop::collection::vec(1..60_u64, 12),
        ) {
            let mut activities = one();
            let mut verdicts = Verdicts::default();
            let (mut now, mut times, mut told) = (2000, None, None);
            let mut pauses = pauses.into_iter();
            let messages = [Said::Read, Said::Announced, Said::Updated, Said::Ended, Said::TurnEnded];
            for at in 0..=messages.len() {
                now += pauses.next().unwrap_or(1);
                if at == changed {
                    times = Some((now, now));
                    now += 1;
                }
                let mut look = |activities: &Activities| {
                    if let Some((cause, file)) = verdicts.revise(activities).pop() {
                        prop_assert!(file.is_told && told.is_some());
                        told = Some(cause);
                    }
                    let Some(times) = times.filter(|_| told.is_none() && at >= noticed.min(messages.len())) else {
                        return Ok(());
                    };
                    if let Judgement::By(cause) = activities.judge(Path::new(FILE), times, None) {
                        told = Some(cause.clone());
                        verdicts.add(Verdict { file: file(), times: times.into(), holder: None, cause });
                    }
                    Ok(())
                };
                look(&activities)?;
                if let Some(said) = messages.get(at) {
                    say(&mut activities, *said, (names, kind), now);
                }
                look(&activities)?;
            }
            prop_assert_eq!(said(Judgement::By(told.expect("it is told"))), "1:edits");
        }
    }

    #[test]
    fn what_is_known_of_a_change_is_forgotten_with_it_and_in_the_end() {
        let mut activities = one();
        let mut verdicts = Verdicts::default();
        let tell = |verdicts: &mut Verdicts, activities: &Activities| {
            let Judgement::By(cause) = activities.judge(Path::new(FILE), (2500, 2500), None) else {
                panic!("open")
            };
            verdicts.add(Verdict { file: file(), times: (2500, 2500).into(), holder: None, cause });
            assert!(verdicts.revise(activities).is_empty(), "nothing is learned");
        };
        begins(&mut activities, A, "runs", ToolKind::Execute, 2000);
        tell(&mut verdicts, &activities);
        let edit = || CallNews { names: vec![FILE.into()], ..news(ToolKind::Edit, WireStatus::InProgress) };
        activities.call(A, &id("edits"), edit(), 2600);
        verdicts.forget(Path::new(FILE));
        assert!(verdicts.revise(&activities).is_empty(), "it was written again");
        tell(&mut verdicts, &activities);
        activities.turn_ended(A, 2700);
        activities.turn_began(A, 2710);
        activities.call(A, &id("edits"), edit(), 2720);
        assert!(verdicts.revise(&activities).is_empty(), "another turn has begun");
        assert!(verdicts.has_room(1 << 20), "nothing is kept of it");
    }
}

mod whatever_agents_do {
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Act {
        Call(SessionKey, u8, Option<ToolKind>, Option<WireStatus>),
        Asked(SessionKey, u8),
        Answered(SessionKey, u8, bool),
        Heard(SessionKey),
        Command(SessionKey, u8, bool),
        Turn(SessionKey, bool),
    }

    fn act() -> impl Strategy<Value = Act> {
        let session = || prop_oneof![Just(A), Just(B)];
        let kind = proptest::option::of(prop_oneof![
            Just(ToolKind::Edit),
            Just(ToolKind::Read),
            Just(ToolKind::Other),
            Just(ToolKind::Execute)
        ]);
        let status = proptest::option::of(prop_oneof![
            Just(WireStatus::Pending),
            Just(WireStatus::InProgress),
            Just(WireStatus::Completed),
            Just(WireStatus::Other("odd".to_owned()))
        ]);
        prop_oneof![
            (session(), 0..3_u8, kind, status)
                .prop_map(|(session, call, kind, status)| Act::Call(session, call, kind, status)),
            (session(), 0..3_u8).prop_map(|(session, call)| Act::Asked(session, call)),
            (session(), 0..3_u8, any::<bool>())
                .prop_map(|(session, call, yes)| Act::Answered(session, call, yes)),
            session().prop_map(Act::Heard),
            (session(), 0..2_u8, any::<bool>())
                .prop_map(|(session, number, begins)| Act::Command(session, number, begins)),
            (session(), any::<bool>()).prop_map(|(session, begins)| Act::Turn(session, begins)),
        ]
    }

    fn apply(activities: &mut Activities, act: Act, now: Millis) {
        let call = |number: u8| id(&number.to_string());
        let terminal = |number: u8| TerminalId(number.to_string());
        match act {
            Act::Call(session, number, kind, status) => {
                let news = CallNews { kind, status, ..CallNews::default() };
                activities.call(session, &call(number), news, now);
            }
            Act::Asked(session, number) => activities.asked(session, &call(number), CallNews::default(), now),
            Act::Answered(session, number, yes) => activities.answered(session, &call(number), yes, now),
            Act::Heard(session) => activities.heard(session, now),
            Act::Command(session, number, true) => activities.command_began(session, terminal(number), now),
            Act::Command(session, number, false) => activities.command_ended(session, &terminal(number), now),
            Act::Turn(session, true) => activities.turn_began(session, now),
            Act::Turn(session, false) => activities.turn_ended(session, now),
        }
    }

    proptest! {
        /// What agents do later makes no change of theirs of one from outside, nor one from outside of theirs. It may be
        /// open again, where what counted as the work of a call turns out to be a call that only reads; in the end
        /// everything is judged.
        #[test]
        fn what_is_judged_stays_judged(acts in proptest::collection::vec(act(), 1..40), at in 0..40_usize) {
            let mut activities = two();
            let mut first = None;
            let mut now = 2000;
            let seen = 2000 + 400 * at as Millis + 200;
            for act in acts {
                apply(&mut activities, act, now);
                now += 400;
                if now > seen + SLACK {
                    let judgement = activities.judge(Path::new(FILE), (seen, seen), None);
                    let is_outside = judgement == Judgement::By(Cause::Outside);
                    if judgement != Judgement::Open {
                        prop_assert_eq!(*first.get_or_insert(is_outside), is_outside);
                    }
                }
            }
            activities.turn_ended(A, now + 1000);
            activities.turn_ended(B, now + 1000);
            let last = activities.judge(Path::new(FILE), (seen, seen), None);
            prop_assert!(last != Judgement::Open);
            let is_outside = last == Judgement::By(Cause::Outside);
            prop_assert_eq!(first.unwrap_or(is_outside), is_outside);
        }

        /// Without a turn, a call or a command nobody has done anything.
        #[test]
        fn idle_sessions_are_never_to_blame(at in 0..10_000_u64) {
            let mut activities = Activities::default();
            activities.session_began(A, vec!["/p".into()]);
            activities.turn_began(A, 100);
            activities.turn_ended(A, 200);
            let expected = Judgement::By(Cause::Outside);
            prop_assert_eq!(activities.judge(Path::new(FILE), (at + 400, at + 400), None), expected);
        }
    }
}
