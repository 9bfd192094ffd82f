//! What particular agents do that the protocol does not foresee, as data: who, what, and what is done
//! about it. Most of it is survived by rules that hold for every agent, and then a test is named that
//! shows so; code that treats one agent differently asks here instead of naming it.

/// One habit of one agent.
#[derive(Debug)]
pub struct AgentQuirk {
    /// What `agentInfo.name` looks like: `*` at either end stands for anything.
    pub agent: &'static str,
    /// The version that was seen doing it.
    pub seen: &'static str,
    pub does: &'static str,
    pub handling: Handling,
}

#[derive(Debug)]
pub enum Handling {
    /// This agent is treated differently from others.
    Special(Quirk),
    /// A rule for every agent covers it; the test of this name shows that.
    General { test: &'static str },
}

/// What is done for some agents only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quirk {
    /// A file that is not there reads as an empty one.
    MissingFileIsEmpty,
    /// The tokens at the end of a turn are those of this turn.
    TokensOfTurn,
    /// They are those of its last request to the model.
    TokensOfLastRequest,
    /// They are those of all turns since the agent has opened or loaded the session.
    TokensOfProcess,
}

/// Where the extra data of a question for permission has what the user is asked, which the protocol has no place for
/// there: qwen-code 0.24.4 offers to submit or to cancel, and says nothing else of it.
pub const QUESTIONS_IN_META: &[&str] = &["qwenQuestions"];

/// Whether an agent of this name is to be treated differently in this.
pub fn has(agent: Option<&str>, special: Quirk) -> bool {
    let Some(name) = agent else { return false };
    QUIRKS.iter().any(|quirk| {
        matches!(quirk.handling, Handling::Special(known) if known == special) && fits(quirk.agent, name)
    })
}

fn fits(pattern: &str, name: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(end), None) => name.ends_with(end),
        (None, Some(start)) => name.starts_with(start),
        (Some(_), Some(_)) => name.contains(pattern.trim_matches('*')),
        (None, None) => name == pattern,
    }
}

const fn survived(
    agent: &'static str,
    seen: &'static str,
    does: &'static str,
    test: &'static str,
) -> AgentQuirk {
    AgentQuirk { agent, seen, does, handling: Handling::General { test } }
}

pub const QUIRKS: &[AgentQuirk] = &[
    // Files.
    AgentQuirk {
        agent: "gemini-cli",
        seen: "0.61.0",
        does: "reads a file before it creates it, and takes any error for a reason to give up",
        handling: Handling::Special(Quirk::MissingFileIsEmpty),
    },
    survived(
        "*opencode*",
        "1.18.33",
        "writes files through a client that refused to serve that",
        "what_is_not_offered_is_refused",
    ),
    survived(
        "*vibe*",
        "3.0.3",
        "names the file of a diff by a path that is not absolute",
        "a_proposed_change_stands_in_the_file_and_a_made_one_until_it_is_kept",
    ),
    survived(
        "*claude*",
        "0.100.0",
        "shows a fragment of a file as a diff, and a hunk in its place when it is done",
        "a_fragment_may_begin_and_end_in_the_middle_of_lines",
    ),
    survived(
        "*codex-acp",
        "2.6.0",
        "shows lines with context as a diff",
        "lines_with_context_are_found_where_they_stand",
    ),
    survived(
        "*kimi*",
        "1.51.0",
        "leaves the newline at a file's end out of its diffs",
        "a_whole_file_is_found_with_and_without_its_last_newline",
    ),
    // Tool calls and permission.
    survived(
        "gemini-cli",
        "0.61.0",
        "asks about a call it has not told of, and only ever updates it",
        "a_tool_call_may_begin_with_an_update_or_with_a_question",
    ),
    survived(
        "*cline*",
        "3.0.65",
        "tells of a call after it ran, and sets it back to pending",
        "every_cause_has_its_effect_on_every_status",
    ),
    survived(
        "*claude-code-acp",
        "0.16.2",
        "tells of a call twice, the second time with its real title",
        "a_call_that_is_told_twice_is_one_with_the_later_values",
    ),
    survived(
        "*example*",
        "0.26.0",
        "uses the ids of tool calls again in the next turn",
        "a_tool_call_id_used_again_in_the_next_turn_is_another_call",
    ),
    survived(
        "*vibe*",
        "3.0.3",
        "asks for permission with a call's id and nothing else",
        "a_permission_may_carry_almost_nothing_and_options_of_any_kind",
    ),
    survived(
        "*qwen*",
        "0.24.4",
        "offers two ways to allow always, before the narrower one",
        "what_is_chosen_for_the_user_goes_by_kind_and_neither_by_name_nor_by_place",
    ),
    // Turns.
    survived(
        "*kimi*",
        "1.51.0",
        "leaves the calls of a cancelled turn open",
        "cancelling_answers_every_open_question_and_marks_open_calls_at_once",
    ),
    survived(
        "*kimi*",
        "1.51.0",
        "ends a turn that failed as if all were well, without a word",
        "a_turn_without_an_answer_says_so",
    ),
    survived(
        "*fast-agent*",
        "0.10.48",
        "never releases its terminals",
        "a_cancelled_turn_takes_its_commands_with_it",
    ),
    survived(
        "Copilot",
        "1.0.102",
        "speaks of a session before it has named it",
        "what_comes_before_a_session_has_its_name_is_kept_for_it",
    ),
    survived(
        "*vibe*",
        "3.0.3",
        "sends the user's words back while it answers them",
        "an_echo_of_the_prompt_is_not_shown_twice",
    ),
    survived("*pi*", "0.0.34", "speaks before it was asked anything", "updates_are_taken_when_no_turn_runs"),
    // Commands.
    survived(
        "*kimi*",
        "1.51.0",
        "gives a whole line of shell code as the program to run",
        "a_line_of_shell_code_as_the_command_runs_in_a_shell",
    ),
    survived(
        "*claude-code-acp",
        "0.16.2",
        "waits for a command and releases it at the same time",
        "release_ends_the_command_answers_who_waits_and_forgets_the_id",
    ),
    survived(
        "*codex-acp",
        "2.6.0",
        "shows terminals that no client made, and tells their output in `_meta`",
        "output_that_an_agent_reports_itself_is_a_terminal",
    ),
    // Numbers. The protocol has the tokens of the session; where `_meta.quota` is there, it has the turn's.
    AgentQuirk {
        agent: "*claude*",
        seen: "0.101.0",
        does: "tells the tokens of the turn",
        handling: Handling::Special(Quirk::TokensOfTurn),
    },
    AgentQuirk {
        agent: "*codex-acp",
        seen: "2.6.0",
        does: "tells the tokens of the turn",
        handling: Handling::Special(Quirk::TokensOfTurn),
    },
    AgentQuirk {
        agent: "*OpenCode*",
        seen: "1.18.33",
        does: "tells the tokens of the turn's last request to the model",
        handling: Handling::Special(Quirk::TokensOfLastRequest),
    },
    AgentQuirk {
        agent: "Copilot",
        seen: "1.0.102",
        does: "tells the tokens since it has opened or loaded the session",
        handling: Handling::Special(Quirk::TokensOfProcess),
    },
    survived(
        "*codex-acp",
        "2.6.0",
        "tells the context of a session when it is loaded",
        "what_is_told_before_the_first_prompt_of_a_session_taken_up_was_spent_before",
    ),
    // Choices, sessions and logins.
    survived(
        "gemini-cli",
        "0.61.0",
        "offers models by a field that the protocol gave up",
        "modes_models_and_options_come_with_the_session",
    ),
    survived(
        "gemini-cli",
        "0.61.0",
        "tells of a new mode by a message, in the place of the update that there is for it",
        "a_mode_that_comes_as_a_message_is_a_mode",
    ),
    survived(
        "*vibe*",
        "3.0.3",
        "confirms a choice without the list that comes of it",
        "a_choice_that_is_confirmed_without_the_list_is_a_choice",
    ),
    survived(
        "gemini-cli",
        "0.61.0",
        "offers to load sessions that it then does not find",
        "a_session_that_is_gone_is_said_to_be",
    ),
    survived(
        "*qwen*",
        "0.24.4",
        "tells the ways to log in with the error that demands it",
        "a_way_to_log_in_may_be_told_by_the_error_that_demands_it",
    ),
    // The wire and the process.
    survived(
        "*qwen*",
        "0.24.4",
        "writes lines of half a megabyte, and asks for methods of its own",
        "an_unknown_method_is_refused",
    ),
    survived(
        "*codex-acp",
        "2.6.0",
        "answers methods it does not know with an empty success",
        "a_running_turn_can_be_steered_where_that_is_declared",
    ),
    survived(
        "*claude-code-acp",
        "0.16.2",
        "lives on when its input ends",
        "what_an_agent_started_does_not_outlive_it",
    ),
    survived(
        "*cline*",
        "3.0.65",
        "leaves a process of its own behind",
        "what_an_agent_started_does_not_outlive_it",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_stands_for_a_name_or_for_its_beginning_end_or_middle() {
        for (pattern, fitting, other) in [
            ("gemini-cli", "gemini-cli", "gemini-cli-2"),
            ("*/codex", "@x/codex", "@x/codex-acp"),
            ("codex*", "codex-acp", "my-codex"),
            ("*vibe*", "mistral-vibe-acp", "mistral"),
        ] {
            assert!(fits(pattern, fitting) && !fits(pattern, other), "{pattern}");
        }
    }

    #[test]
    fn only_the_agent_that_needs_it_is_treated_differently() {
        assert!(has(Some("gemini-cli"), Quirk::MissingFileIsEmpty));
        assert!(!has(Some("Copilot"), Quirk::MissingFileIsEmpty));
        assert!(!has(None, Quirk::MissingFileIsEmpty));
    }
}
