//! Tasks from their first step to their last, and everything that may come in between.

use proptest::prelude::*;

use super::*;
use crate::core::changes::writers::Writer;
use crate::core::ids::{AskId, EntryId};

const SESSION: SessionKey = SessionKey(1);

fn read() -> Task {
    part(None, None)
}

fn part(line: Option<u32>, limit: Option<u32>) -> Task {
    Task::Read { session: SESSION, ask: AskId(1), line, limit, checked: false }
}

fn write(content: &str) -> Task {
    Task::Write { session: SESSION, ask: AskId(1), content: content.into(), checked: false }
}

fn take() -> Task {
    Task::Take { writers: writers(), about: Some(SESSION), told: true }
}

fn writers() -> Writers {
    Writers::guess(vec![Writer { session: SESSION, call: Some(EntryId(3)) }])
}

fn stamp(written: i64) -> Stamp {
    Stamp { written: (written, 0), size: 1, inode: 1 }
}

fn disk(text: &str, written: i64) -> OnDisk {
    OnDisk::Text { text: text.into(), bomb: false, stamp: stamp(written) }
}

fn text(tick: u64, text: &str) -> Input {
    Input::Read(BufferText { tick, text: text.into() })
}

/// A clean buffer of a file whose state is known.
fn facts() -> Facts {
    Facts {
        left: None,
        buffer: BufferFacts {
            tick: 1,
            modified: false,
            is_plain: true,
            fileformat: "unix".into(),
            fileencoding: "utf-8".into(),
            modifiable: true,
            readonly: false,
            lines: 1,
            is_blank: false,
            is_occupied: false,
        },
        known: Some(Known { stamp: Some(stamp(1)), saved: None }),
        agent: Some("Demo".into()),
        seen: None,
        look: None,
        owner: Owner::Nobody,
        writers: writers(),
        saves_always: false,
    }
}

/// The same with unsaved edits that began with this text.
fn modified(saved: Option<&str>) -> Facts {
    let mut facts = facts();
    facts.buffer.modified = true;
    facts.known = Some(Known { stamp: Some(stamp(1)), saved: saved.map(Text::from) });
    facts
}

/// What is done about a file that is gone.
fn gone(saved: Option<&str>) -> [Do; 3] {
    let known = Known { stamp: None, saved: saved.map(Text::from) };
    [Do::Know(known), Do::FileGone { was_there: true }, Do::End]
}

fn seen(text: &str, written: i64) -> Option<Seen> {
    Some(Seen { text: text.into(), stamp: Some(stamp(written)) })
}

/// Steps with the same facts; gives what the last one leads to.
fn run(job: &mut FileJob, facts: &Facts, inputs: impl IntoIterator<Item = Input>) -> Vec<Do> {
    inputs.into_iter().fold(Vec::new(), |_, input| job.step(input, facts))
}

/// A job whose texts are being merged.
fn merging(task: Task, facts: &Facts, on_disk: OnDisk, ours: &str) -> (FileJob, Sides) {
    let mut job = FileJob::new(task);
    let mut all = run(&mut job, facts, [Input::Begun, Input::Examined(on_disk), text(1, ours)]);
    if all == [Do::Compare] {
        all = job.step(Input::Compared { is_behind: false }, facts);
    }
    let sides = sides(all);
    (job, sides)
}

fn sides(all: Vec<Do>) -> Sides {
    match all.into_iter().next_back() {
        Some(Do::Merge(sides)) => *sides,
        other => panic!("nothing to merge: {other:?}"),
    }
}

fn merged(sides: &Sides, now: Option<i64>) -> Input {
    Input::Merged { outcome: sides.reconcile(), now: now.map(stamp) }
}

fn landing(all: Vec<Do>) -> Landing {
    match <[Do; 1]>::try_from(all) {
        Ok([Do::Land(landing)]) => landing,
        other => panic!("nothing landed: {other:?}"),
    }
}

fn is_edit(all: &[Do]) -> bool {
    matches!(all.last(), Some(Do::Edit { .. }))
}

fn refused(why: &str) -> [Do; 2] {
    [Do::Refuse(why.into()), Do::End]
}

// Reading.

#[test]
fn a_clean_buffer_is_read_when_the_disk_is_as_it_was() {
    let mut job = FileJob::new(read());
    let examine = Do::Examine { known: Some(stamp(1)), half: HalfWritten::Wait };
    assert_eq!(job.step(Input::Begun, &facts()), [Do::Touch, examine]);
    assert_eq!(job.step(Input::Examined(OnDisk::Same), &facts()), [Do::Read]);
    let done = [Do::See("a\n".into()), Do::Answer("a\n".into()), Do::End];
    assert_eq!(job.step(text(1, "a\n"), &facts()), done);
}

#[test]
fn unsaved_edits_are_what_an_agent_reads_without_a_look_at_the_disk() {
    let mut job = FileJob::new(read());
    assert_eq!(job.step(Input::Begun, &modified(None)), [Do::Read]);
    assert_eq!(job.step(text(1, "mine\n"), &modified(None)), [Do::Compare]);
    let done = job.step(Input::Compared { is_behind: true }, &modified(None));
    assert_eq!(done[1..], [Do::Answer("mine\n".into()), Do::End]);
}

#[test]
fn what_is_no_plain_file_is_not_looked_for_on_the_disk() {
    let mut facts = facts();
    facts.buffer.is_plain = false;
    assert_eq!(FileJob::new(read()).step(Input::Begun, &facts), [Do::Read]);
    assert_eq!(FileJob::new(write("a")).step(Input::Begun, &facts), [Do::Read]);
}

#[test]
fn an_agent_gets_the_line_ends_of_the_file() {
    let mut facts = facts();
    facts.buffer.fileformat = "dos".into();
    let mut job = FileJob::new(read());
    let all = run(&mut job, &facts, [Input::Begun, Input::Examined(OnDisk::Same), text(1, "a\nb\n")]);
    assert_eq!(all, [Do::See("a\nb\n".into()), Do::Answer("a\r\nb\r\n".into()), Do::End]);
}

#[test]
fn a_part_counts_as_seen_only_where_nothing_was_seen_before() {
    let inputs = || [Input::Begun, Input::Examined(OnDisk::Same), text(1, "a\nb\nc\n")];
    let first = run(&mut FileJob::new(part(Some(2), Some(1))), &facts(), inputs());
    assert_eq!(first[0], Do::See("a\nb\nc\n".into()));
    let known = Facts { seen: seen("old\n", 1), ..facts() };
    let second = run(&mut FileJob::new(part(Some(2), Some(1))), &known, inputs());
    assert!(matches!(&second[..], [Do::Answer(part), Do::End] if part.trim_end() == "b"), "{second:?}");
}

#[test]
fn what_somebody_else_wrote_is_taken_before_an_agent_reads_or_writes() {
    for task in [read(), write("b\n")] {
        let mut job = FileJob::new(task.clone());
        let all = run(&mut job, &facts(), [Input::Begun, Input::Examined(disk("new\n", 2)), text(1, "a\n")]);
        let checked = task.checked().expect("it was not checked");
        let take = Task::Take { writers: writers(), about: Some(SESSION), told: true };
        assert_eq!(all, [Do::PutFirst(checked.clone()), Do::PutFirst(take), Do::End]);
        let mut job = FileJob::new(checked);
        let again =
            run(&mut job, &facts(), [Input::Begun, Input::Examined(disk("new\n", 2)), text(1, "a\n")]);
        assert!(!again.iter().any(|each| matches!(each, Do::PutFirst(_))), "it would never end: {again:?}");
    }
}

#[test]
fn a_file_that_changed_at_a_time_nobody_knows_was_not_changed_by_the_agent() {
    let facts = Facts { known: Some(Known::default()), ..facts() };
    let mut job = FileJob::new(read());
    let all = run(&mut job, &facts, [Input::Begun, Input::Examined(disk("new\n", 2)), text(1, "a\n")]);
    assert_eq!(all[1], Do::PutFirst(Task::Take { writers: Writers::default(), about: None, told: true }));
}

#[test]
fn a_task_that_was_checked_takes_the_disk_as_it_is() {
    let checked = read().checked().expect("a read");
    let all = FileJob::new(checked).step(Input::Begun, &facts());
    assert_eq!(all[1], Do::Examine { known: Some(stamp(1)), half: HalfWritten::Take });
}

// What a write is compared with.

#[test]
fn an_agent_that_has_not_read_a_clean_buffer_writes_over_it() {
    let (_, sides) = merging(write("b\n"), &facts(), OnDisk::Same, "a\n");
    assert_eq!((sides.base, &*sides.ours, &*sides.theirs), (Base::Ours, "a\n", "b\n"));
    assert_eq!(sides.names, ["mine", "Demo"]);
}

#[test]
fn an_agent_changes_what_it_last_saw() {
    let facts = Facts { seen: seen("seen\n", 1), ..facts() };
    let (_, sides) = merging(write("b\n"), &facts, OnDisk::Same, "a\n");
    assert_eq!(sides.base, Base::Text("seen\n".into()));
}

#[test]
fn an_agent_may_have_read_what_the_user_saved_since() {
    let facts = Facts { seen: seen("seen\n", 0), ..facts() };
    let (_, sides) = merging(write("b\n"), &facts, OnDisk::Same, "a\n");
    assert_eq!(sides.base, Base::Either { seen: "seen\n".into(), disk: "a\n".into() });
}

#[test]
fn what_an_agent_saw_before_the_disk_was_known_counts_as_it_is() {
    let seen = Some(Seen { text: "seen\n".into(), stamp: None });
    let (_, sides) = merging(write("b\n"), &Facts { seen, ..facts() }, OnDisk::Same, "a\n");
    assert_eq!(sides.base, Base::Text("seen\n".into()));
}

#[test]
fn an_agent_that_has_read_the_disk_by_itself_changes_that() {
    let look = |written, done| Some(Look { stamp: stamp(written), done });
    for (look, base) in [(look(1, true), "a\n"), (look(1, false), "seen\n"), (look(9, true), "seen\n")] {
        let facts = Facts { seen: seen("seen\n", 1), look, ..facts() };
        let (_, sides) = merging(write("b\n"), &facts, OnDisk::Same, "a\n");
        assert_eq!(sides.base, Base::Text(base.into()), "{look:?}");
    }
}

#[test]
fn what_was_seen_counts_by_the_state_that_this_step_has_found_out() {
    let mut facts = Facts { seen: seen("a\n", 2), ..facts() };
    facts.known = Some(Known { stamp: Some(stamp(1)), saved: None });
    let (_, sides) = merging(write("b\n"), &facts, disk("a\n", 2), "a\n");
    assert_eq!(sides.base, Base::Text("a\n".into()), "the disk is as the agent saw it");
}

#[test]
fn unsaved_edits_began_with_what_was_saved() {
    let (_, sides) = merging(write("b\n"), &modified(Some("saved\n")), OnDisk::Same, "mine\n");
    assert_eq!(sides.base, Base::Text("saved\n".into()));
    let (_, sides) = merging(write("b\n"), &modified(None), OnDisk::Same, "mine\n");
    assert_eq!(sides.base, Base::Unknown);
    let (_, sides) = merging(write("b\n"), &modified(None), OnDisk::Gone, "mine\n");
    assert_eq!(sides.base, Base::Text("".into()), "there was no such file");
}

#[test]
fn a_text_that_the_disk_has_is_what_unseen_edits_began_with_unless_neovim_is_behind() {
    for (is_behind, base) in [(false, Base::Text("disk\n".into())), (true, Base::Unknown)] {
        let facts = modified(None);
        let mut job = FileJob::new(write("b\n"));
        run(&mut job, &facts, [Input::Begun, Input::Examined(disk("disk\n", 2)), text(1, "mine\n")]);
        let all = job.step(Input::Compared { is_behind }, &facts);
        let saved = (!is_behind).then(|| Text::from("disk\n"));
        let stamp = if is_behind { stamp(1) } else { stamp(2) };
        assert_eq!(all[0], Do::Know(Known { stamp: Some(stamp), saved }));
        assert_eq!(sides(all).base, base);
    }
}

#[test]
fn a_mark_at_the_beginning_is_no_text() {
    let (_, sides) = merging(write("\u{feff}b\n"), &facts(), OnDisk::Same, "a\n");
    assert_eq!(&*sides.theirs, "b\n");
}

#[test]
fn line_ends_are_those_of_the_buffer() {
    let mut facts = facts();
    facts.buffer.fileformat = "mac".into();
    let (_, sides) = merging(write("a\rb\r"), &facts, OnDisk::Same, "a\n");
    assert_eq!((&*sides.theirs, sides.dos), ("a\nb\n", false));
    facts.buffer.fileformat = "dos".into();
    assert!(merging(write("a\n"), &facts, OnDisk::Same, "a\n").1.dos);
    facts.buffer.fileformat = "unix".into();
    assert!(merging(take(), &facts, disk("a\r\n", 2), "b\n").1.dos, "the file has become one");
}

#[test]
fn a_buffer_that_may_not_be_written_says_why() {
    type Change = fn(&mut BufferFacts);
    let cases: [(Change, &str); 3] = [
        (|buffer| buffer.modifiable = false, "its buffer is not 'modifiable' in Neovim"),
        (|buffer| buffer.readonly = true, "its buffer is 'readonly' in Neovim; the user can :set noreadonly"),
        (
            |buffer| buffer.fileencoding = "latin1".into(),
            "the file is in latin1, which has no '\u{20ac}'; write it without",
        ),
    ];
    for (change, why) in cases {
        let mut facts = facts();
        change(&mut facts.buffer);
        let mut job = FileJob::new(write("\u{20ac}\n"));
        let all = run(&mut job, &facts, [Input::Begun, Input::Examined(OnDisk::Same), text(1, "a\n")]);
        assert_eq!(all, [Do::Fail(why.into())]);
    }
}

// From the merge to the buffer.

#[test]
fn a_write_goes_into_the_buffer_as_the_smallest_edits() {
    let (mut job, sides) = merging(write("a\nB\nc\n"), &facts(), OnDisk::Same, "a\nb\nc\n");
    assert!(is_edit(&job.step(merged(&sides, Some(1)), &facts())));
    let landed = landing(job.step(Input::Edited, &facts()));
    assert_eq!((&*landed.text, landed.is_theirs, landed.ranges), ("a\nB\nc\n", true, vec![(1, 2)]));
    assert_eq!(landed.start, Start { text: "a\nb\nc\n".into(), lines: 1, was_clean: true });
}

#[test]
fn when_the_user_types_meanwhile_the_text_is_read_and_merged_again() {
    let (mut job, first) = merging(write("a\nb\nC\n"), &facts(), OnDisk::Same, "a\nb\nc\n");
    let mut typed = modified(None);
    typed.buffer.tick = 2;
    assert_eq!(job.step(merged(&first, Some(1)), &typed), [Do::Read]);
    assert_eq!(job.step(text(2, "mine\nb\nc\n"), &typed), [Do::Compare]);
    let again = sides(job.step(Input::Compared { is_behind: false }, &typed));
    assert_eq!(again.base, Base::Text("a\nb\nc\n".into()), "what was clean is what the user began with");
    assert!(is_edit(&job.step(merged(&again, Some(1)), &typed)));
    let landed = landing(job.step(Input::Edited, &typed));
    assert_eq!((&*landed.text, landed.start.was_clean), ("mine\nb\nC\n", false));
}

#[test]
fn somebody_who_never_stops_typing_waits_once() {
    let (mut job, mut next) = merging(write("a\nB\n"), &facts(), OnDisk::Same, "a\nb\n");
    let mut facts = facts();
    let mut all = Vec::new();
    for tick in 2.. {
        facts.buffer.tick = tick;
        all = job.step(merged(&next, Some(1)), &facts);
        if all != [Do::Read] {
            break;
        }
        next = sides(job.step(text(tick, "a\nb\n"), &facts));
    }
    assert_eq!(all, [Do::ReadNow]);
    assert_eq!(facts.buffer.tick, u64::from(TRIES) + 1);
    facts.buffer.tick += 1;
    assert!(is_edit(&job.step(text(facts.buffer.tick, "a\nb\n"), &facts)), "merged at once");
}

#[test]
fn an_edit_waits_for_an_open_menu_but_not_for_ever() {
    let (mut job, sides) = merging(write("b\n"), &facts(), OnDisk::Same, "a\n");
    let mut busy = facts();
    busy.buffer.is_occupied = true;
    for _ in 0..WAITS {
        let wait = Do::Wait { outcome: sides.reconcile(), now: Some(stamp(1)) };
        assert_eq!(job.step(merged(&sides, Some(1)), &busy), [wait]);
    }
    assert!(is_edit(&job.step(merged(&sides, Some(1)), &busy)));
}

#[test]
fn a_file_that_changed_since_it_was_looked_at_is_looked_at_again() {
    let (mut job, sides) = merging(write("b\n"), &facts(), OnDisk::Same, "a\n");
    let all = job.step(merged(&sides, Some(2)), &facts());
    assert_eq!(all, [Do::Touch, Do::Examine { known: Some(stamp(1)), half: HalfWritten::Wait }]);
    let (mut job, sides) = merging(write("b\n"), &facts(), disk("a\n", 2), "a\n");
    assert!(is_edit(&job.step(merged(&sides, Some(2)), &facts())), "it is the one that was looked at");
    let (mut job, sides) = merging(write("b\n"), &facts(), OnDisk::Gone, "");
    assert!(matches!(job.step(merged(&sides, Some(2)), &facts())[..], [_, Do::Examine { .. }]), "it came");
    let (mut job, sides) = merging(write("b\n"), &facts(), OnDisk::Gone, "");
    assert!(is_edit(&job.step(merged(&sides, None), &facts())));
}

#[test]
fn what_will_not_be_saved_need_not_look_at_the_disk_again() {
    let unsaved = modified(Some("a\n"));
    let (mut job, sides) = merging(write("a\nb\n"), &unsaved, OnDisk::Same, "mine\na\n");
    assert!(is_edit(&job.step(merged(&sides, Some(2)), &unsaved)));
    let always = Facts { saves_always: true, ..modified(Some("a\n")) };
    let (mut job, sides) = merging(write("a\nb\n"), &always, OnDisk::Same, "mine\na\n");
    assert!(!is_edit(&job.step(merged(&sides, Some(2)), &always)));
}

#[test]
fn a_file_that_never_stays_as_it_is_is_given_up() {
    let (mut job, mut next) = merging(write("b\n"), &facts(), OnDisk::Same, "a\n");
    let mut looks = 1;
    loop {
        let all = job.step(merged(&next, Some(9)), &facts());
        if all.len() == 2 && all[1] == Do::End {
            assert_eq!(all, refused("the file keeps changing on the disk; read it again"));
            break;
        }
        looks += 1;
        next = sides(run(&mut job, &facts(), [Input::Examined(OnDisk::Same), text(1, "a\n")]));
    }
    assert_eq!(looks, TRIES);
}

#[test]
fn edits_that_are_half_in_are_finished_around_what_was_typed() {
    let (mut job, first) = merging(write("A\nb\nC\n"), &facts(), OnDisk::Same, "a\nb\nc\n");
    assert!(is_edit(&job.step(merged(&first, Some(1)), &facts())));
    let overtaken = Input::Overtaken { so_far: "a\nb\nC\n".into() };
    let typed = modified(None);
    assert_eq!(job.step(overtaken, &typed), [Do::Read]);
    assert_eq!(job.step(text(2, "a\nb\nC\nmine\n"), &typed), [Do::Compare]);
    let rest = sides(job.step(Input::Compared { is_behind: false }, &typed));
    assert_eq!((&rest.base, &*rest.theirs), (&Base::Text("a\nb\nC\n".into()), "A\nb\nC\n"));
    let mut now = modified(None);
    now.buffer.tick = 2;
    assert!(is_edit(&job.step(merged(&rest, Some(1)), &now)));
    let landed = landing(job.step(Input::Edited, &now));
    assert_eq!((&*landed.text, landed.is_theirs), ("A\nb\nC\nmine\n", false));
    let start = Start { text: "a\nb\nc\n".into(), lines: 1, was_clean: false };
    assert_eq!(landed.start, start, "undone and told as one change; the user's edits are not saved");
}

#[test]
fn line_ends_of_a_half_done_edit_are_the_buffers_own() {
    let mut dos = facts();
    dos.buffer.fileformat = "dos".into();
    let (mut job, first) = merging(write("A\r\n"), &dos, OnDisk::Same, "a\n");
    job.step(merged(&first, Some(1)), &dos);
    job.step(Input::Overtaken { so_far: "a\n".into() }, &dos);
    assert!(!sides(job.step(text(2, "a\nx\n"), &dos)).dos);
}

// Conflicts.

fn conflict() -> (FileJob, Facts) {
    let facts = modified(Some("a\n"));
    let (mut job, sides) = merging(write("agent\n"), &facts, OnDisk::Same, "mine\n");
    let all = job.step(merged(&sides, Some(1)), &facts);
    assert!(matches!(&all[..], [Do::Conflict(hunks)] if hunks.len() == 1), "{all:?}");
    (job, facts)
}

#[test]
fn what_the_user_picks_is_merged_with_what_there_is_by_then() {
    let (mut job, facts) = conflict();
    let picked = Input::Picked { picks: vec![Pick::Theirs], rest: None };
    assert!(matches!(job.step(picked, &facts)[..], [Do::Touch, Do::Examine { .. }]));
    run(&mut job, &facts, [Input::Examined(OnDisk::Same), text(1, "mine\nmore\n")]);
    let again = sides(job.step(Input::Compared { is_behind: false }, &facts));
    assert_eq!((again.picks, &*again.ours), (vec![Pick::Theirs], "mine\nmore\n"));
}

#[test]
fn picks_are_for_the_text_of_the_disk_that_was_shown() {
    for (now, picks) in [("disk\n", vec![Pick::Theirs]), ("another\n", Vec::new())] {
        let facts = modified(Some("a\n"));
        let (mut job, sides_then) = merging(take(), &facts, disk("disk\n", 2), "mine\n");
        job.step(merged(&sides_then, Some(2)), &facts);
        assert_eq!(job.disk_in_conflict().map(|text| &**text), Some("disk\n"));
        job.step(Input::Picked { picks: vec![Pick::Theirs], rest: None }, &facts);
        run(&mut job, &facts, [Input::Examined(disk(now, 3)), text(1, "mine\n")]);
        assert_eq!(sides(job.step(Input::Compared { is_behind: false }, &facts)).picks, picks, "{now:?}");
    }
}

#[test]
fn what_the_user_has_left_on_the_disk_is_asked_about_once() {
    for (now, expected) in [("disk\n", vec![Do::End]), ("another\n", vec![Do::Read])] {
        let facts = Facts { left: Some("disk\n".into()), ..modified(Some("a\n")) };
        let mut job = FileJob::new(take());
        assert_eq!(run(&mut job, &facts, [Input::Begun, Input::Examined(disk(now, 3))]), expected, "{now:?}");
    }
}

#[test]
fn markers_need_no_look_at_the_disk() {
    let (mut job, facts) = conflict();
    assert_eq!(job.step(Input::Marked, &facts), [Do::Read]);
    job.step(text(1, "mine\n"), &facts);
    let again = sides(job.step(Input::Compared { is_behind: false }, &facts));
    assert_eq!(again.rest, Some(Pick::Markers));
    let Reconciled::Edits { text, .. } = again.reconcile() else { panic!("no conflict is left") };
    assert_eq!(&*text, "<<<<<<< mine\nmine\n=======\nagent\n>>>>>>> Demo\n");
}

#[test]
fn picks_are_for_the_conflict_that_was_shown_and_not_for_what_is_typed_later() {
    let (mut job, facts) = conflict();
    job.step(Input::Picked { picks: vec![Pick::Theirs], rest: None }, &facts);
    run(&mut job, &facts, [Input::Examined(OnDisk::Same), text(1, "mine\n")]);
    let again = sides(job.step(Input::Compared { is_behind: false }, &facts));
    assert!(is_edit(&job.step(merged(&again, Some(1)), &facts)));
    job.step(Input::Overtaken { so_far: "mine\n".into() }, &facts);
    job.step(text(2, "mine!\n"), &facts);
    let rest = sides(job.step(Input::Compared { is_behind: false }, &facts));
    assert_eq!((rest.picks, rest.rest), (Vec::new(), None));
}

// What somebody else has put on the disk.

#[test]
fn each_state_of_the_disk_has_its_consequence_for_a_clean_buffer_and_for_one_with_edits() {
    let unreadable = || OnDisk::Unreadable("it is no UTF-8 text".into());
    let acknowledge = |only_if_behind| Do::Acknowledge { stamp: stamp(1), only_if_behind };
    let cases = [
        (OnDisk::Same, facts(), vec![Do::CatchUp, Do::End]),
        (OnDisk::Same, modified(None), vec![Do::CatchUp, Do::End]),
        (OnDisk::HalfWritten, facts(), vec![Do::NotWhole, Do::End]),
        (OnDisk::Gone, facts(), vec![Do::Read]),
        (OnDisk::Gone, modified(None), gone(None).into()),
        (OnDisk::Gone, modified(Some("a\n")), gone(Some("a\n")).into()),
        (unreadable(), facts(), vec![Do::TakeFromDisk, Do::End]),
        (unreadable(), modified(None), refused("it is no UTF-8 text").into()),
        (disk("a\n", 1), facts(), vec![Do::Read]),
        (disk("a\n", 1), modified(Some("a\n")), vec![acknowledge(true), Do::End]),
        (disk("a\n", 1), modified(Some("b\n")), vec![Do::Read]),
    ];
    for (on_disk, facts, expected) in cases {
        let mut job = FileJob::new(take());
        let examine = Do::Examine { known: Some(stamp(1)), half: HalfWritten::Tell };
        assert_eq!(job.step(Input::Begun, &facts), [examine]);
        let modified = facts.buffer.modified;
        assert_eq!(job.step(Input::Examined(on_disk.clone()), &facts), expected, "{on_disk:?} {modified}");
    }
    let mut job = FileJob::new(take());
    let all = run(&mut job, &modified(Some("a\n")), [Input::Begun, Input::Examined(disk("a\n", 2))]);
    let newer = Do::Acknowledge { stamp: stamp(2), only_if_behind: false };
    assert_eq!(all, [newer, Do::End], "written again with the same text");
}

#[test]
fn what_a_file_held_that_is_gone_is_what_unsaved_edits_began_with() {
    let dos = Facts { buffer: BufferFacts { fileformat: "dos".into(), ..facts().buffer }, ..facts() };
    for (facts, saved) in [(facts(), "a\nb\n"), (dos, "a\r\nb\r\n")] {
        let mut job = FileJob::new(take());
        let all = run(&mut job, &facts, [Input::Begun, Input::Examined(OnDisk::Gone), text(1, "a\nb\n")]);
        assert_eq!(all, gone(Some(saved)));
    }
    let mut job = FileJob::new(take());
    run(&mut job, &facts(), [Input::Begun, Input::Examined(OnDisk::Gone)]);
    let typed = run(&mut job, &modified(None), [text(2, "a\nmine\n"), Input::Compared { is_behind: false }]);
    assert_eq!(typed, gone(None), "the user typed while the buffer was read");
}

#[test]
fn neovim_reads_a_file_itself_that_its_empty_buffer_was_made_for() {
    let mut blank = facts();
    blank.buffer.is_blank = true;
    let mut job = FileJob::new(take());
    let all = run(&mut job, &blank, [Input::Begun, Input::Examined(disk("a\n", 1))]);
    assert_eq!(all, [Do::TakeFromDisk, Do::End]);
    blank.buffer.modified = true;
    let mut job = FileJob::new(take());
    let all = run(&mut job, &blank, [Input::Begun, Input::Examined(disk("a\n", 1))]);
    assert_eq!(all, [Do::Read], "that it is empty is an edit of the user's");
}

#[test]
fn a_clean_buffer_takes_the_disk_and_counts_as_modified_once_that_is_undone() {
    let (mut job, sides) = merging(take(), &facts(), disk("new\n", 2), "a\n");
    assert_eq!(sides.base, Base::Ours);
    let all = job.step(merged(&sides, Some(2)), &facts());
    assert!(all[0] == Do::MarkModified && is_edit(&all), "{all:?}");
    let (mut job, sides) = merging(take(), &facts(), disk("a\n", 2), "a\n");
    let all = job.step(merged(&sides, Some(2)), &facts());
    assert!(!all.contains(&Do::MarkModified), "nothing is there to be undone");
}

#[test]
fn what_is_on_the_disk_is_taken_as_it_is_now_also_among_unsaved_edits() {
    let unsaved = modified(Some("a\n"));
    let (mut job, sides) = merging(take(), &unsaved, disk("a\nb\n", 2), "mine\na\n");
    let all = job.step(merged(&sides, Some(3)), &unsaved);
    assert!(matches!(all[..], [Do::Examine { .. }]), "{all:?}");
}

#[test]
fn only_neovim_changes_a_buffer_that_is_not_modifiable() {
    let mut locked = facts();
    locked.buffer.modifiable = false;
    let mut job = FileJob::new(take());
    let all = run(&mut job, &locked, [Input::Begun, Input::Examined(disk("new\n", 2)), text(1, "a\n")]);
    assert_eq!(all[all.len() - 2..], [Do::TakeFromDisk, Do::End]);
    let mut locked = modified(Some("b\n"));
    locked.buffer.modifiable = false;
    let mut job = FileJob::new(take());
    run(&mut job, &locked, [Input::Begun, Input::Examined(disk("new\n", 2)), text(1, "a\n")]);
    let all = job.step(Input::Compared { is_behind: false }, &locked);
    assert_eq!(all[all.len() - 2..], refused("its buffer is not 'modifiable' in Neovim"));
}

// The first unsaved edit.

#[test]
fn what_the_disk_holds_is_what_the_first_edit_began_with() {
    let mut job = FileJob::new(Task::Remember);
    let examine = Do::Examine { known: None, half: HalfWritten::Before };
    assert_eq!(job.step(Input::Begun, &modified(None)), [examine]);
    assert_eq!(job.step(Input::Examined(disk("a\n", 1)), &modified(None)), [Do::Compare]);
    let known = Known { stamp: Some(stamp(1)), saved: Some("a\n".into()) };
    let all = job.step(Input::Compared { is_behind: false }, &modified(None));
    assert_eq!(all, [Do::Know(known), Do::End]);
}

#[test]
fn a_buffer_that_was_saved_or_undone_meanwhile_has_nothing_to_remember() {
    assert_eq!(FileJob::new(Task::Remember).step(Input::Begun, &facts()), [Do::End]);
    let mut job = FileJob::new(Task::Remember);
    job.step(Input::Begun, &modified(None));
    assert_eq!(job.step(Input::Examined(disk("a\n", 1)), &facts()), [Do::End]);
}

#[test]
fn a_file_that_was_written_before_the_first_edit_is_taken_where_a_session_has_to_do_with_it() {
    let forget = || Do::Know(Known { stamp: Some(stamp(1)), saved: None });
    for (written, is_behind) in [(2, false), (1, true)] {
        let inputs = || [Input::Begun, Input::Examined(disk("a\n", written)), Input::Compared { is_behind }];
        let mut job = FileJob::new(Task::Remember);
        assert_eq!(run(&mut job, &modified(None), inputs()), [forget(), Do::End]);
        let facts = Facts { owner: Owner::Session(Some(SESSION)), ..modified(None) };
        let mut job = FileJob::new(Task::Remember);
        let examine = Do::Examine { known: None, half: HalfWritten::Tell };
        assert_eq!(run(&mut job, &facts, inputs()), [forget(), examine]);
        assert_eq!(job.task(), &Task::Take { writers: writers(), about: Some(SESSION), told: false });
        let all = job.step(Input::Examined(OnDisk::HalfWritten), &facts);
        assert_eq!(all, [Do::NotWhole, Do::End], "half of a text is nothing that edits could begin with");
    }
}

#[test]
fn what_looks_cut_is_looked_at_once_more_by_somebody_who_watches() {
    let known = |saved: Option<&str>| Facts {
        known: Some(Known { stamp: Some(stamp(1)), saved: saved.map(Into::into) }),
        ..modified(None)
    };
    let look = || Task::Take { writers: writers(), about: Some(SESSION), told: false };
    for (saved, now) in [(None, ""), (None, "a\nb"), (Some("a\nb\n"), "a\n"), (Some("a\nb\n"), "")] {
        let facts = known(saved);
        let mut job = FileJob::new(look());
        job.step(Input::Begun, &facts);
        let examine = Do::Examine { known: Some(stamp(1)), half: HalfWritten::Tell };
        assert_eq!(job.step(Input::Examined(disk(now, 2)), &facts), [Do::Watch, examine], "{now:?}");
        assert_eq!(job.step(Input::Examined(disk(now, 2)), &facts), [Do::Read], "it is whole: {now:?}");
    }
    let mut job = FileJob::new(take());
    job.step(Input::Begun, &known(None));
    assert_eq!(job.step(Input::Examined(disk("a", 2)), &known(None)), [Do::Read], "somebody has told of it");
    for (saved, now) in [(None, "a\n"), (Some("a\n"), "a\nb\n"), (Some("a\nb\n"), "b\n")] {
        let facts = known(saved);
        let mut job = FileJob::new(look());
        job.step(Input::Begun, &facts);
        assert_eq!(job.step(Input::Examined(disk(now, 2)), &facts), [Do::Read], "{now:?}");
    }
}

// Anything else.

#[test]
fn a_buffer_that_was_closed_has_the_task_begun_anew() {
    let closed = Facts { known: None, ..facts() };
    let mut job = FileJob::new(read());
    job.step(Input::Begun, &facts());
    assert_eq!(job.step(Input::Examined(OnDisk::Same), &closed), [Do::Restart]);
    let mut job = FileJob::new(write("b\n"));
    run(&mut job, &facts(), [Input::Begun, Input::Examined(OnDisk::Same)]);
    assert_eq!(job.step(text(1, "a\n"), &closed), [Do::Restart]);
    assert_eq!(job.into_task(), write("b\n"));
}

#[test]
fn what_belongs_to_another_stage_changes_nothing() {
    let (mut job, sides) = merging(write("b\n"), &facts(), OnDisk::Same, "a\n");
    for late in [Input::Begun, Input::Examined(OnDisk::Gone), Input::Edited, Input::Marked, text(1, "x")] {
        assert_eq!(job.step(late, &facts()), []);
    }
    assert!(is_edit(&job.step(merged(&sides, Some(1)), &facts())));
    job.step(Input::Edited, &facts());
    assert_eq!(job.step(merged(&sides, Some(1)), &facts()), [], "it is over");
}

#[test]
fn an_empty_file_and_one_empty_line_are_the_same() {
    let mut job = FileJob::new(read());
    let all = run(&mut job, &facts(), [Input::Begun, Input::Examined(disk("", 2)), text(1, "\n")]);
    assert_eq!(all[0], Do::Know(Known { stamp: Some(stamp(2)), saved: None }));
    assert_eq!(all.last(), Some(&Do::End));
}

#[test]
fn touched_rows_are_those_of_the_new_text() {
    let ranges_of = |ours: &str, theirs: &str| ranges(&crate::core::changes::text_edits::edits(ours, theirs));
    assert_eq!(ranges_of("a\nb\nc\nd", "a\nx\ny\nc\nD"), [(1, 3), (4, 5)]);
    assert_eq!(ranges_of("a\nb\nc", "a\nc"), [(1, 1)]);
    assert_eq!(ranges_of("a", "a"), []);
}

// Whatever order things come in.

/// A file and its buffer, and what the editor and Neovim know of them.
#[derive(Debug)]
struct World {
    disk: Option<(Text, i64)>,
    buffer: String,
    modified: bool,
    known: Known,
    /// The file as Neovim has last seen it.
    looked: Option<i64>,
    tick: u64,
    writes: i64,
}

impl World {
    fn new() -> Self {
        let known = Known { stamp: Some(stamp(1)), saved: None };
        let disk = Some((Text::from("a\nb\nc\n"), 1));
        Self { disk, buffer: "a\nb\nc\n".into(), modified: false, known, looked: Some(1), tick: 1, writes: 1 }
    }

    fn is_behind(&self) -> bool {
        self.disk.as_ref().is_some_and(|(_, written)| self.looked != Some(*written))
    }

    fn put(&mut self, text: &str) {
        self.writes += 1;
        self.disk = Some((text.into(), self.writes));
    }

    fn facts(&self) -> Facts {
        let mut facts = Facts { known: Some(self.known.clone()), ..facts() };
        facts.buffer.modified = self.modified;
        facts.buffer.tick = self.tick;
        facts.buffer.is_blank = self.buffer.trim_end().is_empty();
        facts
    }

    /// Has a task done, as the editor does it.
    fn run(&mut self, task: Task) {
        let mut job = FileJob::new(task);
        let mut next = Some(Input::Begun);
        while let Some(input) = next.take() {
            for what in job.step(input, &self.facts()) {
                next = self.carry_out(what);
            }
        }
    }

    fn carry_out(&mut self, what: Do) -> Option<Input> {
        let written = self.disk.as_ref().map(|(_, written)| *written);
        match what {
            Do::Examine { known, .. } => Some(Input::Examined(match &self.disk {
                None => OnDisk::Gone,
                Some((_, written)) if known == Some(stamp(*written)) => OnDisk::Same,
                Some((text, written)) => disk(text, *written),
            })),
            Do::Compare => Some(Input::Compared { is_behind: self.is_behind() }),
            Do::Read => Some(text(self.tick, &self.buffer)),
            Do::Merge(sides) => Some(merged(&sides, written)),
            Do::Conflict(_) => Some(Input::Marked),
            Do::Edit { text, .. } => {
                self.buffer = text.to_string();
                (self.tick, self.modified) = (self.tick + 1, true);
                Some(Input::Edited)
            }
            Do::Know(known) => {
                self.known = known;
                None
            }
            Do::Land(landing) => {
                let OnDisk::Text { text, stamp, .. } = landing.disk else { panic!("nothing was taken") };
                self.modified = !landing.is_theirs;
                self.known = Known { stamp: Some(stamp), saved: self.modified.then_some(text) };
                self.looked = written;
                None
            }
            Do::FileGone { .. } => {
                (self.looked, self.modified) = (None, true);
                None
            }
            Do::TakeFromDisk => {
                assert!(!self.modified, "unsaved edits would be lost");
                self.buffer = self.disk.as_ref().map(|(text, _)| text.to_string()).unwrap_or_default();
                (self.tick, self.looked) = (self.tick + 1, written);
                self.known = Known { stamp: written.map(stamp), saved: None };
                None
            }
            Do::CatchUp | Do::Acknowledge { .. } => {
                self.looked = written;
                None
            }
            Do::MarkModified => {
                self.modified = true;
                None
            }
            Do::End | Do::Watch => None,
            other => panic!("not to be done here: {other:?}"),
        }
    }
}

#[derive(Clone, Debug)]
enum Happens {
    /// Somebody removes the file, or writes it.
    Gone,
    Put(String),
    /// The editor hears that something has become of it.
    Reported,
    /// The user types a line; the editor takes note of that at once, or too late.
    Typed(usize, bool),
    Saved,
}

fn happens() -> impl Strategy<Value = Happens> {
    prop_oneof![
        Just(Happens::Gone),
        Just(Happens::Put("a\nb\nc\n".to_owned())),
        "([abc]?\n){1,4}".prop_map(Happens::Put),
        Just(Happens::Reported),
        (0..4usize, any::<bool>()).prop_map(|(row, noted)| Happens::Typed(row, noted)),
        Just(Happens::Saved),
    ]
}

proptest! {
    #[test]
    fn unsaved_lines_stay_whatever_becomes_of_the_file(all in prop::collection::vec(happens(), 1..20)) {
        let mut world = World::new();
        let mut unsaved: Vec<String> = Vec::new();
        let mut has_typed = false;
        for (number, each) in all.into_iter().chain([Happens::Reported, Happens::Saved]).enumerate() {
            match each.clone() {
                Happens::Gone => world.disk = None,
                Happens::Put(text) => world.put(&text),
                Happens::Reported => world.run(take()),
                Happens::Typed(row, noted) => {
                    let line = format!("mine {number}");
                    let mut lines: Vec<&str> = world.buffer.lines().collect();
                    lines.insert(row.min(lines.len()), &line);
                    world.buffer = lines.join("\n") + "\n";
                    world.tick += 1;
                    if !std::mem::replace(&mut world.modified, true) && noted {
                        world.run(Task::Remember);
                    }
                    unsaved.push(line);
                    has_typed = true;
                }
                // One that would overwrite something is refused, and what is there is merged.
                Happens::Saved if world.is_behind() => world.run(take()),
                Happens::Saved => {
                    let text = world.buffer.clone();
                    world.put(&text);
                    world.known = Known { stamp: Some(stamp(world.writes)), saved: None };
                    (world.looked, world.modified) = (Some(world.writes), false);
                    unsaved.clear();
                }
            }
            if let (Happens::Reported, false, Some((text, _))) = (&each, has_typed, &world.disk) {
                prop_assert_eq!(body(&world.buffer), body(text), "nobody has typed: {:?}", world);
                prop_assert!(!world.modified, "{:?}", world);
            }
            for line in &unsaved {
                prop_assert!(world.buffer.lines().any(|other| other == line), "{line} is lost: {world:?}");
            }
        }
    }
}
