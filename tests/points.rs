//! The list of points that a client of the protocol is held to, and for each the tests that show it,
//! or why it is not ours. The words are reminders; what a point demands is the protocol's to say.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use acp_nvim::acp::quirks::{Handling, QUIRKS, Quirk};
use support::source::{Kind, Token, tokens};

/// Points of which only the background's part is shown by a test, or none at all, while the editor's
/// part is being written. Empty when all is there.
const PENDING: &[(usize, &str)] = &[];

/// How many points there are.
const COUNT: usize = 268;

/// A line for each point: its number, its level (MUST, SHOULD, MAY, or `robust`: no rule, but agents
/// in the field need it), its status, a few words, and a test, more of them on lines that begin with
/// `+`; or, behind `-`, why there is none. The status: `S` stable, `S+` stable since a later
/// revision, `new` stable since the last one, `U` unstable, `DEP` gone, `4` of the draft dialect
/// only, `-` no rule.
const POINTS: &str = "
  1 MUST     S   UTF-8: text_of_any_script_arrives_unchanged
  2 MUST     S   one message, one line: a_message_is_one_line_whatever_is_in_it
  3 MUST NOT S   nothing but messages to stdin: a_conversation_from_the_first_word_to_the_last
  4 MAY      S   stderr is no protocol: what_stands_on_stderr_is_never_a_message
  5 SHOULD   S   stdio: a_conversation_from_the_first_word_to_the_last
  6 MAY      S   other ways to connect: conversations_are_the_same_over_a_websocket
    + conversations_are_the_same_over_http
  7 SHOULD   S   closing, then ending the process: what_an_agent_started_does_not_outlive_it
  8 robust   -   noise on stdout: noise_around_the_messages_is_skipped
  9 robust   -   reads cut anywhere: messages_are_put_together_from_single_bytes_and_taken_apart_from_one_write
    + where_the_reads_are_cut_does_not_matter
 10 robust   -   a message has a bound: a_message_without_end_ends_the_conversation
 11 robust   -   no deadlock under load: both_sides_may_write_much_at_once
 12 robust   -   the framing of language servers: the_framing_of_a_language_server_is_named
 13 MUST     S   the end of the agent: an_agent_that_dies_in_a_turn_says_so_once_to_each_who_waits
 14 SHOULD   S   several sessions at once: two_sessions_of_one_agent_do_not_mix
 15 MUST     S   the version on each message: a_conversation_from_the_first_word_to_the_last
 16 MUST     S   ids of any type: an_id_goes_back_as_it_came
 17 MUST     S   one answer to each request: a_request_has_one_answer_and_a_notification_none
    + whatever_happens_each_request_has_one_answer
    + whatever_a_recording_is_turned_into_each_request_has_one_answer
 18 MUST     S   unknown methods: an_unknown_method_is_refused
    + what_is_not_offered_is_refused
 19 SHOULD   S   unknown notifications: a_request_has_one_answer_and_a_notification_none
 20 MUST     S   malformed params: a_malformed_request_is_refused_and_its_field_named
    + a_malformed_field_is_named
 21 MAY      -   answers to what is no message: noise_around_the_messages_is_skipped
 22 MUST     S   serving while waiting: requests_are_served_while_ours_wait_and_answers_come_in_any_order
 23 MUST     S   two spaces of ids: ids_of_both_sides_may_be_equal
 24 MUST NOT S   no batches: a_batch_is_passed_over
 25 robust   S   absent params: an_unknown_method_is_refused
    + params_must_be_an_object_and_none_are_an_empty_one
 26 robust   -   error beside a null result: an_error_beside_a_null_result_is_an_error
 27 robust   -   stray answers: a_stray_answer_is_dropped_and_so_is_a_second_one
 28 SHOULD   S   unknown error codes: an_error_of_an_unknown_code_shows_its_message_and_keeps_its_data
 29 MUST     S   initialize comes first: nothing_is_asked_before_initialize_is_answered
 30 MUST     S   version 1, a number: initialize_says_who_we_are_and_what_we_can
 31 SHOULD   S   abilities are stated: initialize_says_who_we_are_and_what_we_can
    + what_the_user_switches_off_is_neither_offered_nor_served
    + each_ability_of_this_client_is_switched_by_itself
 32 MUST     S   what is stated is true: what_is_offered_is_served
    + what_is_not_offered_is_refused
    + what_the_user_switches_off_is_neither_offered_nor_served
    + what_is_declined_is_what_is_not_said
 33 SHOULD   S+  who we are: initialize_says_who_we_are_and_what_we_can
 34 SHOULD   S   other versions end it: another_version_of_the_protocol_ends_it_at_once
 35 MUST     S   only what the agent offers: an_agent_that_offers_nothing_is_asked_for_nothing
 36 SHOULD   S   any mix of abilities: each_ability_is_read_by_itself
    + nothing_that_an_agent_says_is_too_odd_to_be_read
    + a_value_of_another_type_costs_no_more_than_itself
 37 robust   S   odd abilities: a_capability_is_an_object_or_true
 38 SHOULD   S+  the agent's title and version: what_an_agent_says_of_itself_is_passed_on
 39 MAY      S+  yes-or-no options: initialize_says_who_we_are_and_what_we_can
 40 MAY      S+  forms and addresses, each stated: a_form_of_an_unknown_kind_is_refused
 41 MAY      S+  logging in by a terminal: initialize_says_who_we_are_and_what_we_can
 42 MAY      new notices and compaction: initialize_says_who_we_are_and_what_we_can
 43 MAY      new subagents and plans by id: initialize_says_who_we_are_and_what_we_can
    + a_subagent_that_asks_for_permission_is_answered
    + a_plan_in_markdown_stands_in_the_chat_and_in_the_plans_window
 44 robust   -   a start that takes for ever: an_agent_that_never_answers_is_given_up
    + a_slow_start_can_be_given_up
 45 MAY      4   abilities demanded of us: initialize_says_in_both_forms_what_this_client_can_and_reads_what_the_agent_can
 46 MUST     S   only methods that are offered: after_logging_in_a_session_can_be_opened
 47 SHOULD   S   login, then try again: after_logging_in_a_session_can_be_opened
    + a_login_is_asked_for_and_the_session_opens_after_it
    + a_prompt_that_failed_for_want_of_a_login_is_sent_again_after_it
    + what_needs_a_login_is_given_back_to_be_done_again
    + what_an_agent_refuses_before_a_login_is_done_after_it
 48 MUST NOT S+  a terminal method is never a request: after_logging_in_a_session_can_be_opened
 49 MUST     S+  the agent's own program in a terminal: a_login_in_a_terminal_runs_the_agents_own_program_and_starts_it_anew
 50 MUST     S+  no command from a method's own fields is run: an_auth_method_of_an_unknown_type_is_shown_as_such
    + a_command_that_logs_in_is_one_by_its_meta_alone
    + a_command_that_the_agent_names_logs_in_and_the_prompt_is_sent_again
 51 robust   -   unknown kinds of login: an_auth_method_of_an_unknown_type_is_shown_as_such
    + after_logging_in_a_session_can_be_opened
 52 MUST NOT S+  logout only where offered: an_agent_that_offers_nothing_is_asked_for_nothing
    + logging_out_is_asked_for_where_it_is_offered
 53 SHOULD   S+  login again after a logout: after_a_logout_the_open_session_wants_a_login_and_then_goes_on
 54 MAY      S   hints in the error: a_way_to_log_in_may_be_told_by_the_error_that_demands_it
    + an_error_says_what_can_be_done_about_it
 55 MUST NOT 4   no secrets in the log: the_log_has_both_directions_and_no_secrets
 56 MAY      U   the state of the login: whether_it_is_logged_in_is_asked_where_that_is_offered
    + an_agents_account_is_shown_where_one_logs_in
 57 MUST     S   new sessions: a_new_session_says_where_it_works
 58 MUST     S   an absolute folder: the_sessions_folder_is_absolute_wherever_the_agent_is_started
    + the_sessions_folder_counts_wherever_the_agent_was_started
    + a_session_is_opened_in_its_folder_with_the_others_each_once_where_they_are_taken
 59 MUST     S   ids are opaque: a_sessions_name_is_the_agents_business
 60 MUST     S   loading where offered: a_session_is_loaded_with_all_that_was_said_in_it
    + an_agent_that_offers_nothing_is_asked_for_nothing
 61 MUST     S   the replay before the answer: what_is_replayed_comes_before_the_session_is_open
    + a_session_is_loaded_with_all_that_was_said_in_it
    + a_prompt_waits_until_the_session_is_loaded
 62 MUST     S+  resuming where offered: a_session_is_resumed_where_it_cannot_be_loaded
 63 MUST     S+  listing where offered: a_list_is_turned_page_by_page_and_cursors_are_not_looked_into
    + an_agent_that_offers_nothing_is_asked_for_nothing
 64 MUST     S+  pages: a_list_is_turned_page_by_page_and_cursors_are_not_looked_into
 65 MUST NOT S+  listed folders are not kept: what_a_list_says_of_folders_is_not_sent_back
 66 MUST     S+  deleting: a_session_may_be_deleted_twice
    + an_agent_that_offers_nothing_is_asked_for_nothing
 67 MUST     S+  closing: closing_a_session_ends_what_is_open_in_it
    + closing_where_that_is_not_offered_cancels_the_turn
 68 MUST     S+  further folders: further_folders_are_sent_where_they_are_taken_and_each_once
    + a_session_is_opened_in_its_folder_with_the_others_each_once_where_they_are_taken
 69 MUST NOT S   only granted folders, each once: further_folders_are_sent_where_they_are_taken_and_each_once
 70 MUST     S   the session's own folder: a_session_is_loaded_with_all_that_was_said_in_it
 71 MAY      S+  modes and options of the answer: modes_models_and_options_come_with_the_session
 72 robust   -   updates before the name: what_comes_before_a_session_has_its_name_is_kept_for_it
 73 robust   -   unknown sessions: what_is_for_no_session_is_dropped_or_refused
 74 robust   S   updates without a turn: updates_are_taken_when_no_turn_runs
 75 robust   DEP models as of old: modes_models_and_options_come_with_the_session
 76 MAY      U   forks, of which 255 says more: a_fork_has_what_was_said_and_both_chats_go_on_apart
 77 MAY      U   system prompts; of titles see 256, of archives and states 257: a_system_prompt_is_sent_as_the_agent_takes_it_and_no_further
 78 SHOULD   S   a session that is gone: a_session_that_is_gone_is_said_to_be
 79 robust   -   a slow opening can be given up: opening_can_be_given_up
 80 MUST     S   a session before a prompt: a_conversation_from_the_first_word_to_the_last
    + a_wish_to_an_agent_that_is_gone_is_answered
 81 MUST     S   only blocks that are taken: a_prompt_has_only_what_the_agent_takes
 82 SHOULD   S   whole files where taken: a_prompt_has_all_that_the_agent_takes
    + a_prompt_has_only_what_the_agent_takes
 83 MUST     S   the answer ends the turn: a_turn_ends_with_its_answer_and_not_before
 84 MUST     S   reasons to stop: a_turn_ends_for_each_reason_there_is_and_for_any_other
 85 SHOULD   S   a refused prompt is marked: a_refused_prompt_is_marked_as_out_of_the_context
    + what_was_refused_is_marked_from_its_prompt_on_and_nothing_before
 86 robust   -   unknown reasons to stop: a_turn_ends_for_each_reason_there_is_and_for_any_other
 87 robust   S   an error ends the turn: an_error_ends_the_turn_and_the_session_goes_on
 88 SHOULD   S   one prompt at a time: a_second_prompt_waits_for_the_end_of_the_first
 89 robust   -   no limit of time: a_turn_may_take_as_long_as_it_takes
 90 robust   S   an echo of the prompt: an_echo_of_the_prompt_is_not_shown_twice
 91 robust   -   floods: fifty_thousand_chunks_arrive_whole
    + an_agent_that_is_faster_than_the_editor_is_held_back
 92 MAY      U   tokens of a turn: a_turn_tells_its_tokens_where_the_agent_does
 93 SHOULD   S   Markdown: markdown_in_the_transcript_is_coloured
 94 robust   S   pictures and sounds: each_kind_of_update_arrives_in_order
    + a_broken_block_is_a_placeholder_of_its_kind
    + what_is_no_text_is_a_line_that_names_it
 95 MUST     S   embedded resources: embedded_resources_are_shown_as_text_or_as_what_they_are
    + an_embedded_resource_is_text_or_blob
 96 MUST     S   links: a_link_without_a_name_is_called_by_its_last_part
 97 MAY      S   annotations: - nothing depends on them here; that they do no harm is shown by the tests of 98
 98 robust   -   unknown blocks: a_block_of_an_unknown_type_stands_between_its_neighbours
    + each_kind_of_update_arrives_in_order
    + what_is_no_text_is_a_line_that_names_it
 99 robust   -   bare texts and lists: a_chunk_may_be_a_bare_text_or_a_list
100 MUST     S   URIs of files: a_path_is_sent_as_the_uri_of_its_file
101 MUST     S   the user's chunks: each_role_has_its_chunks
    + a_chunk_of_the_users_is_what_the_user_said
102 MUST     S   the agent's chunks: each_role_has_its_chunks
103 MUST     S   thoughts: each_role_has_its_chunks
    + a_thought_is_no_part_of_the_answer
104 MUST     S+  message ids: each_kind_of_update_arrives_in_order
    + chunks_join_by_message_id_even_around_a_tool_call
105 MUST     S   a call told twice: a_call_that_is_told_twice_is_one_with_the_later_values
106 MUST     S   updates change what they give: a_field_that_is_null_or_absent_is_not_given
    + absent_fields_stay_and_lists_are_replaced
107 robust   -   a call that begins with an update: a_tool_call_may_begin_with_an_update_or_with_a_question
108 MUST     S   the whole plan: a_plan_keeps_entries_of_an_odd_status
    + a_plan_is_replaced_in_place
109 MUST     S   the whole list of commands: commands_are_read_with_any_input
    + what_is_told_as_a_list_takes_the_place_of_the_list_before
110 MUST     S   the mode, by either name: a_mode_is_read_by_either_name
111 MUST     S+  the whole list of options: options_are_read_flat_and_in_groups_and_unknown_types_are_left_out
    + what_is_told_as_a_list_takes_the_place_of_the_list_before
112 MUST     S+  absent and null of a title: absent_leaves_and_null_clears
    + a_title_is_kept_when_absent_and_cleared_by_null
113 MUST     S+  use and cost: usage_is_read_as_any_number
    + context_cost_and_title_are_shown_as_told_however_odd
114 MAY      new notices: a_notice_of_an_unknown_severity_is_information
    + a_notice_is_shown_at_its_place_and_ends_no_turn
    + each_word_of_a_plan_and_of_a_notice_is_read_as_itself
115 MUST     new compaction in place: a_compaction_is_an_upsert
    + a_failure_hides_neither_its_reason_nor_a_summary
    + later_words_about_a_compaction_change_the_same_entry_in_another_turn_too
116 MUST     new summaries in pieces: a_compaction_is_an_upsert
    + a_summary_is_kept_replaced_cleared_and_appended_to
117 MAY      U   plans by id, of which 260 says more: a_plan_has_an_id_and_one_of_three_forms
118 MAY      new subagents, also in older forms: what_a_subagent_says_is_not_said_by_its_session
    + what_a_subagent_says_and_does_stands_under_it_and_ids_are_its_own
    + older_forms_are_the_same_news
119 robust   -   unknown updates: an_unknown_or_broken_update_is_named
    + each_kind_of_update_arrives_in_order
    + an_unknown_update_is_counted_and_harms_nothing
    + an_unknown_update_costs_its_neighbours_nothing
    + the_log_has_both_directions_and_no_secrets
120 MUST     S   order of arrival: a_turn_ends_with_its_answer_and_not_before
    + each_kind_of_update_arrives_in_order
121 SHOULD   S   kinds of calls: words_that_are_unknown_are_kept_or_fall_back
    + each_kind_of_call_reads_as_what_it_does_and_each_status_as_how_far_it_is
122 robust   -   unknown kinds and statuses: words_that_are_unknown_are_kept_or_fall_back
    + each_kind_of_call_reads_as_what_it_does_and_each_status_as_how_far_it_is
123 MUST     S   four statuses: words_that_are_unknown_are_kept_or_fall_back
124 MUST     S   three kinds of content: tool_content_is_taken_in_every_form_that_is_seen
125 robust   -   bare blocks as content: tool_content_is_taken_in_every_form_that_is_seen
126 MUST     S   diffs, new files too: tool_content_is_taken_in_every_form_that_is_seen
127 MUST     S   terminals in calls: output_of_commands_that_the_agent_runs_itself_is_shown
    + a_command_runs_in_a_split_and_its_output_goes_to_the_agent
    + a_command_that_the_agent_runs_itself_is_seen_while_it_runs
128 MAY      S   places: an_odd_line_does_not_cost_the_location
    + following_moves_the_code_window_and_nothing_else
129 robust   S   any JSON as input: raw_input_and_output_are_any_json
    + what_is_nested_beyond_reason_costs_no_more_than_itself
130 MAY      new the tool's name: each_kind_of_update_arrives_in_order
    + the_name_of_a_tool_stands_beside_what_it_does
    + each_word_of_a_call_is_read_as_itself
131 MAY      U   deleted files, output in the meta field: tool_content_is_taken_in_every_form_that_is_seen
    + output_that_an_agent_reports_itself_is_a_terminal
    + a_command_that_streams_its_output_as_text_shows_the_end_of_it
132 MUST     S   permission: a_question_for_permission_carries_what_the_agent_said
133 MUST     S   every option by its name: a_question_for_permission_carries_what_the_agent_said
    + what_is_chosen_for_the_user_goes_by_kind_and_neither_by_name_nor_by_place
    + a_permission_question_shows_every_option_and_is_answered_by_id
134 MUST     S   only offered answers: an_answer_that_was_not_offered_is_never_sent
135 MUST     S   cancelling answers questions: cancelling_answers_what_is_open_and_waits_for_the_agent
    + cancelling_the_turn_leaves_a_subagents_question_to_the_agent
136 MAY      S   rules that decide: what_rules_allow_or_reject_is_not_asked
137 SHOULD   S   chosen by kind: what_is_chosen_for_the_user_goes_by_kind_and_neither_by_name_nor_by_place
138 robust   -   unknown kinds of options: a_question_for_permission_carries_what_the_agent_said
    + what_is_chosen_for_the_user_goes_by_kind_and_neither_by_name_nor_by_place
139 robust   -   no options: a_question_without_answers_is_cancelled_and_told
    + a_question_without_options_is_answered_as_cancelled_and_said
140 MUST     S   questions update their call: a_question_for_permission_carries_what_the_agent_said
    + a_permission_may_carry_almost_nothing_and_options_of_any_kind
141 robust   S   several questions: questions_may_be_answered_in_any_order
    + questions_stand_in_line_and_one_that_is_put_off_stays_open
142 robust   S   a closed question: a_closed_question_stays_open_says_how_it_is_answered_and_a_late_answer_does_nothing
    + questions_stand_in_line_and_one_that_is_put_off_stays_open
143 robust   S   questions without a turn: permission_may_be_asked_when_no_turn_runs
    + permission_is_asked_for_when_no_turn_runs_too
144 MAY      S+  questions taken back: an_agent_may_take_its_question_back
145 SHOULD   4   asked before it is done: a_permission_question_shows_every_option_and_is_answered_by_id
    + a_proposed_change_stands_in_the_file_and_a_made_one_until_it_is_kept
146 MAY      S   cancel is a notification: cancelling_answers_what_is_open_and_waits_for_the_agent
147 SHOULD   S   open calls look cancelled at once: cancelling_answers_every_open_question_and_marks_open_calls_at_once
148 SHOULD   S   updates after a cancel: cancelling_answers_what_is_open_and_waits_for_the_agent
    + what_comes_after_a_cancel_is_shown_and_an_error_is_no_failure
    + a_late_completion_replaces_the_cancelled_mark
149 MUST     S   the turn ends with its answer: cancelling_answers_what_is_open_and_waits_for_the_agent
    + an_agent_that_ignores_cancelling_can_be_ended
150 robust   -   errors after a cancel: an_error_after_cancelling_is_the_cancelling
    + what_comes_after_a_cancel_is_shown_and_an_error_is_no_failure
151 robust   -   a cancel without an answer: an_agent_that_ignores_cancelling_can_be_ended
    + an_agent_that_does_not_stop_can_be_ended_and_started_again
    + an_agent_that_does_not_confirm_a_cancel_is_said_to_be_stuck_once
152 MUST     S+  requests taken back: waiting_for_a_command_can_be_taken_back
    + an_agent_may_take_its_question_back
153 SHOULD   S+  internal cancels: a_read_that_waits_for_the_editor_is_answered_at_the_end
154 MAY      S+  requests of ours taken back: opening_can_be_given_up
155 robust   S+  forms at a cancel, and a second cancel: cancelling_answers_what_is_open_and_waits_for_the_agent
    + cancelling_the_turn_cancels_its_forms_and_pages
156 MUST     S   reads see unsaved text: a_file_in_a_buffer_is_asked_of_the_editor
    + a_read_gives_the_unsaved_text_and_just_the_lines_asked_for
157 MUST     S   lines and limits: a_file_that_no_buffer_holds_is_served_from_the_disk
    + lines_count_from_one_and_zero_is_taken_for_one
    + past_the_end_there_is_nothing
158 MUST     S   absolute paths: a_path_that_is_not_absolute_is_refused
159 SHOULD   S   missing files: a_missing_file_is_an_error_except_for_an_agent_that_stumbles_over_it
160 MUST     S   new files: a_file_that_no_buffer_holds_is_served_from_the_disk
    + a_new_file_is_created_with_its_folders
161 MUST     S   exact text: a_file_that_no_buffer_holds_is_served_from_the_disk
    + a_file_that_is_no_text_is_an_error
    + text_is_read_exactly
    + what_is_no_text_is_an_error_that_says_so
162 SHOULD   S   open buffers: a_file_in_a_buffer_is_asked_of_the_editor
    + a_write_shows_at_once_is_saved_and_is_one_undo_step
    + a_write_into_unsaved_edits_leaves_them_unsaved_and_says_so
163 MUST     S+  the session's folders: a_file_outside_of_the_sessions_folders_is_refused_and_told
    + further_folders_are_the_sessions_too
    + siblings_and_parents_are_outside
    + a_link_is_where_it_leads_to
    + dots_in_a_missing_folder_are_refused
164 MAY      4   folders outside by the user's word: what_is_allowed_once_is_asked_again_and_by_its_real_path
    + an_answer_for_the_session_counts_for_its_folder_and_not_for_writing
    + the_users_options_allow_without_a_question_or_refuse_without_one
165 MUST     S   files not offered: what_is_not_offered_is_refused
166 robust   S   files of no session: what_is_for_no_session_is_dropped_or_refused
167 MUST     S   commands start at once: a_command_that_takes_long_is_answered_at_once_and_has_no_exit_yet
168 MUST     S   arguments, environment, folder: a_command_runs_and_its_output_is_read
    + environment_and_folder_are_as_asked_for
169 MUST     S   the limit of output: limits_cut_the_start_at_a_character
170 MUST     S   output at any time: a_command_runs_and_its_output_is_read
    + a_command_that_takes_long_is_answered_at_once_and_has_no_exit_yet
171 MUST     S   waiting: three_waiters_get_the_same_answer_and_a_late_one_gets_it_at_once
172 MUST     S   codes and signals: waiting_for_a_command_can_be_taken_back
    + a_death_by_signal_has_the_signals_name_and_no_code
173 MUST     S   killing a group: kill_ends_a_shell_and_its_background_child
174 MUST     S   releasing: a_command_runs_and_its_output_is_read
    + release_ends_the_command_answers_who_waits_and_forgets_the_id
175 SHOULD   S   output after the release: a_command_runs_in_a_split_and_its_output_goes_to_the_agent
176 robust   S   output is text: bytes_that_are_no_text_and_sequences_do_no_harm
177 robust   S   commands that do not start: a_command_runs_and_its_output_is_read
    + a_command_that_cannot_start_is_an_error_and_leaves_nothing
178 robust   S   no command outlives its agent: commands_end_with_their_agent
    + a_killed_neovim_leaves_nothing_behind
    + the_end_of_a_session_ends_its_commands_and_no_others
    + quitting_neovim_leaves_no_process_behind
179 MAY      4   limits on commands: limits_are_named_to_the_agent
180 MUST     S   terminals not offered: what_is_not_offered_is_refused
181 MUST     S   listed modes only: a_mode_that_is_not_listed_is_shown_as_it_is_and_never_asked_for
182 SHOULD   S+  options stand for modes: options_stand_in_the_agents_order_and_a_models_own_next_to_it
183 robust   S   modes that are not listed: a_mode_that_is_not_listed_is_shown_as_it_is_and_never_asked_for
184 SHOULD   S+  the agent's order: options_stand_in_the_agents_order_and_a_models_own_next_to_it
185 MUST     S+  odd categories: options_stand_in_the_agents_order_and_a_models_own_next_to_it
186 SHOULD   S+  unknown types: options_are_read_flat_and_in_groups_and_unknown_types_are_left_out
    + options_stand_in_the_agents_order_and_a_models_own_next_to_it
187 MUST     S+  setting an option: modes_models_and_options_come_with_the_session
188 MUST     S   the answer is the list: modes_models_and_options_come_with_the_session
    + options_stand_in_the_agents_order_and_a_models_own_next_to_it
189 MUST     S+  groups: options_are_read_flat_and_in_groups_and_unknown_types_are_left_out
    + options_stand_in_the_agents_order_and_a_models_own_next_to_it
190 SHOULD   S+  a model's own options: options_stand_in_the_agents_order_and_a_models_own_next_to_it
191 MAY      S+  a choice refused: a_choice_that_is_confirmed_without_the_list_is_a_choice
    + options_stand_in_the_agents_order_and_a_models_own_next_to_it
192 MUST     S   a plan is replaced: a_plan_is_replaced_in_place
193 robust   -   odd plan entries: a_plan_keeps_entries_of_an_odd_status
194 MUST     S   commands are text: a_slash_command_is_sent_as_it_was_typed
195 SHOULD   S   completing commands: commands_are_read_with_any_input
    + a_slash_command_is_completed_with_what_it_does
196 SHOULD   S+  use and cost on screen: context_cost_and_title_are_shown_as_told_however_odd
    + the_bar_shows_only_what_the_agent_reports
197 MAY      U   tokens on screen: context_cost_and_title_are_shown_as_told_however_odd
198 SHOULD   S+  titles of any length: context_cost_and_title_are_shown_as_told_however_odd
199 MUST     S+  forms name who asks: what_the_agent_wants_to_know_is_shown_in_full_while_it_waits
    + a_form_can_be_declined_and_cancelled_from_the_review_and_by_command
200 MUST     S+  forms are reviewed: each_control_is_asked_for_in_the_agents_order_and_gone_over_before_it_is_sent
    + a_field_can_be_changed_or_left_out_before_the_form_is_sent
201 SHOULD   S+  forms are checked: an_answer_that_does_not_fit_is_asked_for_again_with_the_reason
    + what_the_agent_proposes_is_filled_in_and_can_be_kept
    + what_does_not_fit_is_refused_with_what_to_do
202 MUST NOT S+  unknown fields of forms: a_form_of_an_unknown_kind_is_refused
    + what_this_client_does_not_know_is_never_shown_as_a_control
203 MUST     S+  addresses are shown first: an_address_is_shown_to_the_user_and_opened_by_nobody_else
    + a_page_is_shown_with_its_host_and_opened_only_after_the_user_agreed
204 SHOULD   S+  addresses that deceive: a_page_that_may_deceive_is_warned_of
    + what_may_deceive_is_warned_of
205 MUST     S+  the three answers: a_form_is_answered_by_its_values_or_not_at_all
    + a_form_of_an_unknown_kind_is_refused
    + a_page_can_be_declined_cancelled_or_opened_elsewhere
206 MUST     S+  endings of what is over: an_address_is_shown_to_the_user_and_opened_by_nobody_else
207 MUST     S   servers by stdio: mcp_servers_are_sent_as_far_as_the_agent_can_reach_them
208 MUST     S   servers by address: mcp_servers_are_sent_as_far_as_the_agent_can_reach_them
209 MAY      S   only the user's servers: a_new_session_says_where_it_works
210 MUST NOT S   no secrets of servers in the log: the_log_has_both_directions_and_no_secrets
211 MAY      U   servers over the protocol itself, where the user prefers them: an_agent_lists_and_calls_the_tools_by_messages_of_acp
    + a_call_is_stopped_when_the_agent_takes_its_message_back
212 MUST NOT S   nothing of our own at the root: a_conversation_from_the_first_word_to_the_last
213 MUST NOT S   foreign meta fields: unknown_fields_and_foreign_meta_are_passed_over
    + foreign_meta_of_any_type_is_harmless
214 MUST     S   methods with an underscore: an_unknown_method_is_refused
215 SHOULD   S   extensions are stated: initialize_says_who_we_are_and_what_we_can
216 robust   S   unknown fields: unknown_fields_and_foreign_meta_are_passed_over
    + nothing_that_an_agent_says_is_too_odd_to_be_read
    + a_field_that_nobody_knows_changes_nothing
217 MUST     S   error codes: an_error_code_becomes_what_a_user_can_do_something_about
    + each_error_ends_its_turn_and_says_what_to_do
218 SHOULD   S   reasons and times in errors: an_error_says_what_can_be_done_about_it
    + each_error_ends_its_turn_and_says_what_to_do
219 SHOULD   S   our own errors: an_answer_that_was_not_offered_is_never_sent
    + a_malformed_request_is_refused_and_its_field_named
    + files_outside_the_project_that_the_user_refuses_stay_as_they_are
220 SHOULD   4   what to do after an error: each_error_has_its_way_back
    + a_prompt_that_comes_too_soon_is_counted_down_and_sent_again
    + a_session_that_the_agent_has_forgotten_is_opened_anew_with_the_same_prompt
    + what_the_agent_has_begun_is_not_sent_again
    + an_idle_agent_that_dies_comes_back_with_its_session_and_without_a_key
    + an_error_says_what_can_be_done_about_it
    + a_session_that_is_gone_is_said_to_be
    + each_error_ends_its_turn_and_says_what_to_do
221 SHOULD   S   the bounds of file operations: a_file_outside_of_the_sessions_folders_is_refused_and_told
    + what_is_inside_is_allowed_whether_it_is_there_or_not
222 SHOULD   S   no sandbox: the_help_says_that_folders_are_no_sandbox
223 MAY      4   an audit log: a_turn_leaves_a_line_for_each_thing_with_who_decided_it_and_without_secrets
    + nothing_is_recorded_where_that_is_off
224 MUST     4   encryption: what_is_not_encrypted_is_reached_on_this_machine_alone
    + an_encrypted_agent_is_talked_to_where_its_signer_is_trusted
    + an_agent_whose_signer_is_not_trusted_is_sent_nothing
    + what_is_wrong_with_an_address_is_said
225 robust   -   nothing of an agent's is run: nothing_that_an_agent_says_is_run_or_breaks_the_screen
    + colours_titles_and_links_are_removed
    + a_proposed_text_is_never_taken_for_keys
226 MUST     new subagents only where all of this holds: subagents_are_stated_since_each_rule_about_them_has_a_test
    + initialize_says_who_we_are_and_what_we_can
    + what_makes_no_sense_about_subagents_harms_nothing
227 MUST     new one place for each, the first: a_subagent_keeps_the_place_where_it_was_announced_first
228 MUST     new absent, null and given: what_is_left_out_null_and_given_are_three_things
    + a_field_that_is_left_out_stays_and_null_clears_it
229 robust   -   what comes too early: what_comes_before_the_announcement_is_shown_after_it_and_what_is_never_announced_is_not
230 MUST     new ids are each session's own: what_a_subagent_says_is_not_said_by_its_session
    + what_a_subagent_says_and_does_stands_under_it_and_ids_are_its_own
231 MUST     new requests of subagents: a_subagent_that_asks_for_permission_is_answered
    + a_subagents_question_is_asked_in_its_name_and_its_change_is_followed_and_its_own
232 MUST     new where a subagent works: a_subagent_reads_and_runs_where_it_works
    + each_root_is_inherited_by_itself
233 MUST NOT new nothing is sent to subagents: no_command_on_a_subagents_line_or_page_is_sent_to_it
    + one_subagent_is_stopped_alone_and_only_where_that_is_offered
234 MUST NOT new cancel only while offered: a_subagent_is_cancelled_by_itself_only_while_that_is_offered
235 SHOULD   new one alone is cancelled: one_subagent_is_stopped_alone_and_only_where_that_is_offered
    + one_is_cancelled_alone_as_long_as_that_is_offered
236 SHOULD   new questions of subagents outlive a cancel: cancelling_the_turn_leaves_a_subagents_question_to_the_agent
    + cancelling_the_turn_leaves_the_questions_of_subagents_to_the_agent
237 MUST     new idle is no end: time_counts_while_it_works_and_an_equal_word_ends_nothing_twice
238 MUST     new unknown states: a_line_says_how_a_subagent_is
    + a_state_is_read_with_why_it_ended
239 MUST     new why it failed: a_line_says_how_a_subagent_is
    + a_subagent_is_one_line_that_opens_to_what_it_was_told_and_did
240 MUST     new messages between sessions: what_sessions_say_to_each_other_stands_once_and_is_nobodys_answer
    + pieces_of_such_a_message_may_come_before_it_is_known_between_whom_it_goes
241 MUST     new loading tells of subagents, too: claude_takes_up_a_session_that_had_a_subagent
242 robust   -   ends that leave it open: the_end_of_a_turn_ends_no_subagent_and_the_end_of_the_agent_leaves_it_unknown
243 robust   -   the flat form: the_older_form_puts_calls_under_the_call_that_started_them
    + the_older_form_names_the_call_that_started_it
244 robust   -   permission for a call never told of: a_call_that_is_first_told_of_by_its_question_is_shown_and_decided
245 robust   -   odd ids of subagents: a_subagents_id_may_be_anything_and_leads_nowhere
    + what_a_subagent_says_is_not_said_by_its_session
246 MAY      new a subagent's options and context: a_subagents_plan_and_context_are_not_the_sessions
247 MAY      -   older updates: older_forms_are_the_same_news
248 robust   -   links to sessions in calls: a_call_that_points_to_a_subagent_names_it_and_to_any_other_session_is_a_placeholder
249 MUST NOT new only what the agent takes of a system prompt: a_system_prompt_is_sent_as_the_agent_takes_it_and_no_further
250 SHOULD   new the system prompt again, or not at all: a_session_that_is_taken_up_is_told_again
    + an_agent_that_refuses_the_prompt_has_a_session_without_it
251 MUST     new a summary is kept, replaced, cleared: a_summary_is_kept_replaced_cleared_and_appended_to
    + later_words_about_a_compaction_change_the_same_entry_in_another_turn_too
252 robust   -   a compaction that never ends: what_was_under_way_is_unknown_once_the_agent_is_gone
    + later_words_about_a_compaction_change_the_same_entry_in_another_turn_too
253 robust   -   what continues a conversation is not sent back: claude_takes_up_a_shortened_conversation
254 robust   -   odd notices: notices_before_a_session_is_open_and_of_any_length_are_plain_lines
    + a_notice_that_is_told_again_at_once_is_shown_once
    + a_notice_is_shown_at_its_place_and_ends_no_turn
255 MUST     U   forks: a_fork_has_what_was_said_and_both_chats_go_on_apart
    + a_fork_that_the_agent_refuses_leaves_the_source_as_it_was
256 SHOULD   U   titles given to the agent: a_name_that_the_user_gives_is_kept_by_an_agent_that_takes_one
    + a_stored_session_is_renamed_in_the_list_and_with_the_agent
    + a_name_is_told_only_where_that_is_offered
257 MAY      U   archives, the filter on each page, and states: a_session_is_archived_and_brought_back
    + what_an_agent_has_open_is_asked_where_that_is_offered_and_unknown_words_are_saved
    + an_agent_that_can_not_tell_what_it_has_open_is_not_asked
    + lists_say_which_sessions_the_agent_has_open
    + an_agent_that_has_no_archive_is_not_asked_for_it
258 robust   U   the state of the login, at any time: a_state_of_the_login_is_read_at_any_time_in_either_form
    + a_state_is_read_by_its_word_and_any_other_is_unknown
    + the_log_has_both_directions_and_no_secrets
259 MUST NOT U   headers of providers: - unstable; providers are neither asked for nor changed
260 MAY      U   plans by id: a_plan_has_an_id_and_one_of_three_forms
    + a_plan_in_markdown_stands_in_the_chat_and_in_the_plans_window
261 robust   -   a question without content: a_question_without_content_does_not_hide_what_the_call_shows
262 SHOULD NOT - no cancel without a turn: nothing_is_cancelled_where_no_turn_runs
263 robust   -   the mode that a session begins in: the_mode_that_a_session_begins_in_is_shown_before_the_first_prompt
264 robust   -   an update of the meta field alone: absent_fields_stay_and_lists_are_replaced
    + a_field_that_is_null_or_absent_is_not_given
265 MAY      U   rate limits: a_limit_is_read_in_either_unit_and_whatever_is_odd_about_it
    + only_a_limit_that_is_near_is_told_unasked_and_the_worst_of_them
266 robust   -   unknown categories and fields: options_stand_in_the_agents_order_and_a_models_own_next_to_it
    + a_field_that_nobody_knows_changes_nothing
267 MAY      -   values that a session begins with: what_the_agent_offers_is_set_by_id_or_name_before_the_first_prompt
    + what_the_agent_lacks_is_said_once_with_what_there_is
268 MUST NOT -   no login command unseen: what_a_login_runs_is_shown_whole_and_nothing_runs_before_the_user_says_so
    + a_login_that_can_not_be_shown_whole_is_not_asked_about
    + all_that_a_login_runs_is_on_its_page_and_dangerous_variables_come_first
    + a_command_that_logs_in_is_one_by_its_meta_alone
    + initialize_says_who_we_are_and_what_we_can
    + agents_may_name_a_command_to_log_in_by_only_where_the_user_wants_it
";

struct Point {
    number: usize,
    level: &'static str,
    status: &'static str,
    tests: Vec<&'static str>,
    reason: Option<&'static str>,
}

impl Point {
    /// Whether a reason is not enough: it must be shown.
    fn is_ours(&self) -> bool {
        self.level != "MAY" && (matches!(self.status, "S" | "S+" | "new") || self.level == "robust")
    }
}

fn points() -> Vec<Point> {
    let mut points: Vec<Point> = Vec::new();
    for line in POINTS.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(test) = line.strip_prefix("+ ") {
            points.last_mut().expect("a point before its second test").tests.push(test);
            continue;
        }
        let (head, proof) = line.split_once(": ").unwrap_or_else(|| panic!("no test and no reason: {line}"));
        let mut words = head.split_whitespace();
        let number = words.next().and_then(|word| word.parse().ok());
        let number = number.unwrap_or_else(|| panic!("no number: {line}"));
        let level = words.next().unwrap_or_default();
        let status = match words.next().unwrap_or_default() {
            "NOT" => words.next().unwrap_or_default(),
            status => status,
        };
        assert!(["MUST", "SHOULD", "MAY", "robust"].contains(&level), "no level: {line}");
        assert!(["S", "S+", "new", "U", "DEP", "4", "-"].contains(&status), "no status: {line}");
        assert!(words.next().is_some(), "no words: {line}");
        let reason = proof.strip_prefix("- ");
        let tests = if reason.is_some() { Vec::new() } else { vec![proof] };
        points.push(Point { number, level, status, tests, reason });
    }
    points
}

/// The tests of the whole project, and whether each is left out of a usual run.
fn tests() -> BTreeMap<String, bool> {
    let mut tests = BTreeMap::new();
    for file in sources() {
        let tokens = tokens(&std::fs::read_to_string(&file).expect("a source"));
        let mut is_test = false;
        let mut ignored = false;
        for at in 0..tokens.len() {
            match (word(&tokens, at), word(&tokens, at + 1)) {
                (Some("test"), _) if is_attribute(&tokens, at) => is_test = true,
                (Some("ignore"), _) if is_attribute(&tokens, at) => ignored = true,
                (Some("fn"), Some(name)) => {
                    if is_test {
                        tests.insert(name.to_owned(), ignored);
                    }
                    (is_test, ignored) = (false, false);
                }
                _ => {}
            }
        }
    }
    tests
}

fn word(tokens: &[Token], at: usize) -> Option<&str> {
    match tokens.get(at).map(|token| &token.kind) {
        Some(Kind::Word(word)) => Some(word),
        _ => None,
    }
}

fn is_attribute(tokens: &[Token], at: usize) -> bool {
    at >= 2 && tokens[at - 2].kind == Kind::Mark('#') && tokens[at - 1].kind == Kind::Mark('[')
}

fn sources() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = vec![root.join("src"), root.join("tests")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder of sources").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files
}

/// What is wrong with the list, a line each.
fn complaints(points: &[Point], tests: &BTreeMap<String, bool>, pending: &[(usize, &str)]) -> Vec<String> {
    let mut wrong = Vec::new();
    let numbers: Vec<usize> = points.iter().map(|point| point.number).collect();
    if numbers != (1..=COUNT).collect::<Vec<_>>() {
        wrong.push(format!("not each point once and in order: {numbers:?}"));
    }
    for point in points {
        let Point { number, level, status, .. } = point;
        for test in &point.tests {
            match tests.get(*test) {
                Some(false) => {}
                Some(true) => wrong.push(format!("{number}: {test} is ignored")),
                None => wrong.push(format!("{number}: there is no test {test}")),
            }
        }
        if point.tests.is_empty() && point.reason.is_none_or(|reason| reason.trim().is_empty()) {
            wrong.push(format!("{number}: neither test nor reason"));
        }
        let is_pending = pending.iter().any(|(pending, _)| pending == number);
        if point.is_ours() && point.tests.is_empty() && !is_pending {
            wrong.push(format!("{number} ({level}, {status}) needs a test, not a reason"));
        }
    }
    for (number, what) in pending {
        if what.is_empty() || !(1..=COUNT).contains(number) {
            wrong.push(format!("{number} cannot be pending without saying what"));
        }
    }
    wrong
}

#[test]
fn each_point_is_shown_by_a_test_or_is_not_ours() {
    let wrong = complaints(&points(), &tests(), PENDING);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn subagents_are_stated_since_each_rule_about_them_has_a_test() {
    let stated = include_str!("../src/acp/wire/to_acp.rs").contains(".subagents(");
    let points = points();
    let rules = points.iter().filter(|point| (227..=241).contains(&point.number));
    let bare: Vec<usize> = rules.filter(|point| point.tests.is_empty()).map(|point| point.number).collect();
    assert!(stated, "then these points are about nothing");
    assert!(bare.is_empty(), "stated without a test of {bare:?}");
}

#[test]
fn a_list_with_a_gap_does_not_pass() {
    let tests = tests();
    let after = |change: &dyn Fn(&mut Vec<Point>)| {
        let mut points = points();
        change(&mut points);
        complaints(&points, &tests, &[]).len() - complaints(&self::points(), &tests, &[]).len()
    };
    assert_eq!(after(&|_| {}), 0);
    assert_eq!(after(&|points| drop(points.remove(7))), 1, "a point is missing");
    assert_eq!(after(&|points| points[0].tests = vec!["no_such_test"]), 1);
    assert_eq!(after(&|points| points[0].tests = vec!["victim"]), 1, "it is ignored");
    let excuse = |point: &mut Point| {
        point.tests.clear();
        point.reason = Some("no time");
    };
    assert_eq!(after(&|points| excuse(&mut points[0])), 1, "a rule that is stable");
    assert_eq!(after(&|points| excuse(&mut points[7])), 1, "what agents in the field need");
    assert_eq!(after(&|points| excuse(&mut points[127])), 0, "a freedom");
    assert_eq!(after(&|points| points[258].reason = Some(" ")), 1, "a reason that says nothing");
}

#[test]
fn each_quirk_is_acted_on_or_survived_by_a_rule_that_a_test_shows() {
    let tests = tests();
    for quirk in QUIRKS {
        assert!(![quirk.agent, quirk.seen, quirk.does].contains(&""), "{quirk:?}");
        match quirk.handling {
            Handling::General { test } => assert_eq!(tests.get(test), Some(&false), "{quirk:?}"),
            Handling::Special(special) => assert!(is_used(special), "nothing asks for it: {quirk:?}"),
        }
    }
}

/// Whether code outside of the table asks for it.
fn is_used(special: Quirk) -> bool {
    let name = format!("{special:?}");
    let acp = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/acp");
    let users = sources().into_iter().filter(|file| file.starts_with(&acp) && !file.ends_with("quirks.rs"));
    users.map(|file| tokens(&std::fs::read_to_string(file).expect("a source"))).any(|tokens| {
        // With the two colons between them.
        (0..tokens.len()).any(|at| word(&tokens, at) == Some("Quirk") && word(&tokens, at + 3) == Some(&name))
    })
}
