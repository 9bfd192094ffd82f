//! One conversation from its beginning to its end.

use acp_nvim::core::message::*;
use serde_json::json;

use super::support::*;

#[test]
fn a_conversation_from_the_first_word_to_the_last() {
    let mut test = Test::new();
    let path = test.file("notes.txt", "alpha\nbeta\n");
    let mut steps = turn_with_a_file_and_a_question(&path);
    steps.push(json!({"exit": 0}));
    test.open(&steps);
    test.prompt("Hi");
    let (ask, question) = test.question();
    assert!(matches!(question, Question::Permission { .. }));
    test.answer(ask, Answer::Selected("yes".into()));
    assert_eq!(test.stop_reason(), StopReason::EndTurn);
    let ending = test.exited();
    assert_eq!((ending.failure, ending.exit.unwrap().code, ending.expected), (None, Some(0), false));
    let said: String = test.updates().iter().filter_map(text).collect();
    assert_eq!(said, "Hello");
    let received = test.finish();
    assert_eq!(received.methods(), ["initialize", "session/new", "session/prompt"]);
    assert_eq!(
        received.params("session/prompt"),
        &json!({"sessionId": "s1", "prompt": [{"type": "text", "text": "Hi"}]})
    );
    assert_eq!(received.result(7), &json!({"outcome": {"outcome": "selected", "optionId": "yes"}}));
    assert_eq!(received.result(8), &json!({"content": "beta\n"}));
}
