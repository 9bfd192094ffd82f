//! The benchmarks, small and once: that each scenario runs to its end with each of its subjects. Nothing
//! is said about how fast, since tests run on busy machines with a library that is not optimized.

#[expect(dead_code, reason = "measuring takes more than playing")]
#[path = "../benches/chat/mod.rs"]
mod chat;
#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use chat::report::Report;
use chat::scenarios::{Scenario, Size};
use chat::stage::Subject;

fn play(scenario: Scenario) {
    let mut report = Report::new();
    for subject in scenario.subjects() {
        let values = scenario.run(*subject, &Size::QUICK);
        assert!(values.iter().all(|(_, value)| value.is_finite()), "{values:?}");
        report.add(scenario, *subject, values);
    }
    let table = report.table();
    assert!(table.contains(scenario.about()), "{table}");
    assert!(Scenario::named(scenario.name()) == Some(scenario) && Subject::named("floor").is_some());
}

#[test]
fn a_burst_runs_to_its_end() {
    play(Scenario::Burst);
}

#[test]
fn a_paced_stream_runs_to_its_end() {
    play(Scenario::Paced);
}

#[test]
fn a_paced_stream_in_a_full_chat_runs_to_its_end() {
    play(Scenario::Paced100K);
    play(Scenario::Paced10M);
}

#[test]
fn keys_are_typed_into_bursts_and_on_a_busy_machine() {
    play(Scenario::KeysBurst);
    play(Scenario::Busy);
}

#[test]
fn an_earlier_session_is_loaded() {
    play(Scenario::Load);
}

#[test]
fn a_long_chat_goes_on() {
    play(Scenario::Lines);
}

#[test]
fn questions_with_diffs_are_shown() {
    play(Scenario::Diff);
    play(Scenario::DiffLarge);
}

#[test]
fn a_review_is_opened_and_decided() {
    play(Scenario::Review);
    play(Scenario::LongHunk);
}

#[test]
fn files_are_read_and_written() {
    play(Scenario::Reads);
    play(Scenario::ReadLarge);
    play(Scenario::Writes);
    play(Scenario::Rewrite);
}

#[test]
fn prompts_arrive() {
    play(Scenario::Prompt);
}

#[test]
fn tool_calls_run_to_their_end() {
    play(Scenario::Tools);
}

#[test]
fn a_flooded_terminal_comes_to_its_end() {
    play(Scenario::Terminal);
}

#[test]
fn a_burst_of_places_is_followed() {
    play(Scenario::Follow);
}

#[test]
fn what_is_large_runs_to_its_end() {
    play(Scenario::Paragraph);
    play(Scenario::Plan);
    play(Scenario::PromptLong);
    play(Scenario::ToolsFiles);
    play(Scenario::Closed);
    play(Scenario::Chats);
}

#[test]
fn a_chat_opens() {
    play(Scenario::Startup);
}

#[test]
fn texts_that_are_hard_to_parse_run_to_their_end() {
    let values = Scenario::Hostile.run(Subject::Ours, &Size::QUICK);
    assert_eq!(Scenario::named("hostile"), Some(Scenario::Hostile));
    assert!(values.contains(&("texts", 4.0)), "two texts, at once and in pieces: {values:?}");
}
