//! What each prompt plays: the slash commands, the tour, or an honest echo. The larger scenes have files
//! of their own.

use std::io::Write;
use std::process;
use std::time::{Duration, Instant};

use agent_client_protocol_schema::v1::{
    AvailableCommand, AvailableCommandInput, ContentBlock, ContentChunk, EmbeddedResourceResource, Error,
    PermissionOption, PermissionOptionKind, Plan, PlanEntry, PlanEntryPriority, PlanEntryStatus, PlanUpdate,
    PlanUpdateContent, SessionUpdate, ToolCall, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
    ToolKind, UnstructuredCommandInput,
};

use crate::flood::Flood;
use crate::timed::Timed;
use crate::turn::{Played, Stop, Turn};
use crate::{command, files, flood, larger, timed, tour};

const SLOW: Duration = Duration::from_secs(30);
const SLOW_STEP: Duration = Duration::from_millis(100);
const BIG: u64 = 2_000;
/// Seconds that the slow command takes.
const BUILD: u64 = 15;

/// What a prompt asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Scene {
    Tour,
    Plan,
    Edit,
    Run,
    Slow(Duration),
    Fail(String),
    Crash,
    Big(u64),
    Ask,
    Long,
    Several,
    Subagent,
    Build(u64),
    Form,
    Echo(Vec<ContentBlock>),
    Flood(Flood),
    Timed(Timed),
}

impl Scene {
    pub fn of(prompt: Vec<ContentBlock>, is_first: bool) -> Self {
        let text = texts_of(&prompt).next().unwrap_or_default().trim();
        let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        match word {
            "/plan" => Self::Plan,
            "/edit" => Self::Edit,
            "/run" => Self::Run,
            "/slow" => Self::Slow(rest.trim().parse().map_or(SLOW, Duration::from_secs)),
            "/fail" => Self::Fail(rest.trim().to_owned()),
            "/crash" => Self::Crash,
            "/big" => Self::Big(rest.trim().parse().unwrap_or(BIG)),
            "/ask" => Self::Ask,
            "/long" => Self::Long,
            "/files" => Self::Several,
            "/agent" => Self::Subagent,
            "/build" => Self::Build(rest.trim().parse().unwrap_or(BUILD)),
            "/form" => Self::Form,
            _ if texts_of(&prompt).any(asks_for_the_tour) => Self::Tour,
            _ if is_first && prompt.len() <= 1 && !text.contains(char::is_alphanumeric) => Self::Tour,
            _ => Self::Echo(prompt),
        }
    }
}

pub fn commands() -> Vec<AvailableCommand> {
    let plain = AvailableCommand::new;
    let with = |name: &str, description: &str, hint: &str| {
        let input = AvailableCommandInput::Unstructured(UnstructuredCommandInput::new(hint));
        AvailableCommand::new(name, description).input(input)
    };
    vec![
        plain("tour", "See everything once, in about a quarter of a minute"),
        plain("plan", "Watch a plan fill up"),
        plain("edit", "Get a diff to allow or to reject"),
        plain("run", "Run a colourful command in a terminal"),
        with("slow", "Stream until you cancel", "seconds (30)"),
        with("fail", "Answer with an error", "what the error says"),
        plain("crash", "Exit with code 3, after a few words on stderr"),
        with("big", "Send a lot at once", "lines (2000)"),
        plain("ask", "Be asked with six odd options"),
        plain("long", "Get a proposal of 120 lines"),
        plain("files", "Be asked about three files at once"),
        plain("agent", "Watch a subagent at work"),
        with("build", "Run a slow command that fails", "seconds (15)"),
        plain("form", "Fill in a form"),
    ]
}

pub fn play(turn: &mut Turn, scene: Scene) -> Played {
    match scene {
        Scene::Tour => tour::play(turn),
        Scene::Plan => plan(turn),
        Scene::Edit => {
            let seen = files::read(turn)?;
            files::edit(turn, seen).map(drop)
        }
        Scene::Run => command::run(turn).map(drop),
        Scene::Slow(duration) => slow(turn, duration),
        Scene::Fail(text) => fail(turn, text),
        Scene::Crash => crash(),
        Scene::Big(lines) => big(turn, lines),
        Scene::Ask => ask(turn),
        Scene::Long => larger::long(turn),
        Scene::Several => larger::several(turn),
        Scene::Subagent => larger::subagent(turn),
        Scene::Build(seconds) => larger::build(turn, seconds),
        Scene::Form => larger::form(turn),
        Scene::Echo(prompt) => turn.say(&echo(&prompt)),
        Scene::Flood(flood) => flood::play(turn, flood),
        Scene::Timed(timed) => timed::play(turn, &timed),
    }
}

/// Shows a plan of which the first `done` entries are completed and the next one is under way.
pub fn show_plan(turn: &Turn, entries: &[&str], done: usize) {
    let entries = entries.iter().enumerate().map(|(index, text)| {
        let priority = match index {
            0 | 1 => PlanEntryPriority::High,
            2 => PlanEntryPriority::Medium,
            _ => PlanEntryPriority::Low,
        };
        let status = match index.cmp(&done) {
            std::cmp::Ordering::Less => PlanEntryStatus::Completed,
            std::cmp::Ordering::Equal => PlanEntryStatus::InProgress,
            std::cmp::Ordering::Greater => PlanEntryStatus::Pending,
        };
        PlanEntry::new(*text, priority, status)
    });
    turn.update(SessionUpdate::Plan(Plan::new(entries.collect())));
}

fn plan(turn: &mut Turn) -> Played {
    const ENTRIES: [&str; 4] = ["Look around", "Think it over", "Do it", "Look again"];
    for done in 0..=ENTRIES.len() {
        show_plan(turn, &ENTRIES, done);
        turn.pause(900)?;
    }
    turn.say("All four done.\n")?;
    if turn.client.plan.is_some() {
        let text = "## Next time\n\n1. Look *twice*\n2. Then `do it`\n";
        let content = PlanUpdateContent::markdown("next-time", text);
        turn.update(SessionUpdate::PlanUpdate(PlanUpdate::new(content)));
    }
    Ok(())
}

/// Counts the time away, at its own pace whatever the speed is: a turn to be cancelled has to last.
fn slow(turn: &mut Turn, duration: Duration) -> Played {
    turn.say("I count until you stop me.\n\n")?;
    let begin = Instant::now();
    while begin.elapsed() < duration {
        let text = format!("{:.1} s, ", begin.elapsed().as_secs_f64());
        turn.update(SessionUpdate::AgentMessageChunk(ContentChunk::new(ContentBlock::from(text))));
        turn.sleep(SLOW_STEP)?;
    }
    turn.say("and nobody did.\n")
}

fn fail(turn: &mut Turn, text: String) -> Played {
    turn.say("This goes well, until it does not.\n")?;
    let text = if text.is_empty() { "the demo agent was asked to fail".to_owned() } else { text };
    let data = serde_json::json!({ "reason": "you sent /fail", "retryable": true });
    Err(Stop::Failed(Error::new(-32603, text).data(data)))
}

fn crash() -> ! {
    let mut stderr = std::io::stderr();
    for line in ["something is wrong with me", "I was asked to crash", "goodbye"] {
        // The exit code tells it too.
        let _ = writeln!(stderr, "acp-demo-agent: {line}");
    }
    process::exit(3);
}

fn big(turn: &mut Turn, lines: u64) -> Played {
    for line in 1..=lines {
        let text = match line % 50 {
            1 => format!("\n## From line {line}\n\n"),
            _ => format!("- line {line} of {lines}, with `code`, *emphasis* and a few more words\n"),
        };
        turn.update(SessionUpdate::AgentMessageChunk(ContentChunk::new(ContentBlock::from(text))));
        // A cancel is heard between two lines.
        turn.sleep(Duration::ZERO)?;
    }
    Ok(())
}

fn ask(turn: &mut Turn) -> Played {
    use PermissionOptionKind::{AllowAlways, AllowOnce, RejectAlways, RejectOnce};
    let call = turn.start_call(|id| {
        ToolCall::new(id, "Choose one of six").kind(ToolKind::Other).status(ToolCallStatus::Pending)
    });
    let long = "Yes, but only on days when the moon is full, the build is green and nobody is looking over \
                your shoulder while you read an option that goes on for longer than any window is wide";
    let options = vec![
        PermissionOption::new("no/always", "Never, whatever comes", RejectAlways),
        PermissionOption::new("0", "yes", AllowOnce),
        PermissionOption::new("0 ", "Yes", AllowOnce),
        PermissionOption::new("every \"time\"", long, AllowAlways),
        PermissionOption::new("\u{1f980}", "\u{1f980} Qu\u{e9} s\u{ed}, \u{597d}\u{7684}", AllowAlways),
        PermissionOption::new("", "No\nand that on two lines", RejectOnce),
    ];
    let fields = ToolCallUpdateFields::new().title("Choose one of six".to_owned()).kind(ToolKind::Other);
    let (allowed, told) = match turn.settled(ToolKind::Other) {
        Some(allowed) => {
            let word = if allowed { "allowed" } else { "rejected" };
            (allowed, format!("You have {word} this for the whole session, so I don't ask again.\n"))
        }
        None => match turn.ask(ToolCallUpdate::new(call.clone(), fields), options)? {
            Some(option) => (files::is_allowed(&option), format!("You chose {:?}.\n", option.option_id.0)),
            None => (false, "You chose nothing that I offered.\n".to_owned()),
        },
    };
    match allowed {
        true => turn.finish_call(&call, ToolCallStatus::Completed, ToolCallUpdateFields::new()),
        false => turn.reject_call(&call),
    }
    turn.say(&told)
}

/// What was sent, in the agent's words.
fn echo(prompt: &[ContentBlock]) -> String {
    let mut text =
        "I am the demo agent: I have no model and only play prepared scenes. You sent me:\n\n".to_owned();
    if prompt.is_empty() {
        text.push_str("- nothing at all\n");
    }
    for block in prompt {
        text.push_str(&format!("- {}\n", describe(block)));
    }
    text.push_str("\nSay `/tour` and I show what this client can do.\n");
    text
}

fn describe(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) if text.text.contains('\n') => {
            format!("text:\n\n  > {}\n", text.text.trim_end().replace('\n', "\n  > "))
        }
        ContentBlock::Text(text) => format!("text: {}", text.text),
        ContentBlock::ResourceLink(link) => format!("a link to {} ({})", link.name, link.uri),
        ContentBlock::Resource(resource) => match &resource.resource {
            EmbeddedResourceResource::TextResourceContents(text) => {
                format!("the text of {}, {} bytes", text.uri, text.text.len())
            }
            EmbeddedResourceResource::BlobResourceContents(blob) => {
                format!("the bytes of {}, {} as base64", blob.uri, blob.blob.len())
            }
            _ => "a resource of a kind that I don't know".to_owned(),
        },
        ContentBlock::Image(image) => {
            format!("an image ({}, {} bytes as base64)", image.mime_type, image.data.len())
        }
        ContentBlock::Audio(audio) => {
            format!("a sound ({}, {} bytes as base64)", audio.mime_type, audio.data.len())
        }
        _ => "something of a kind that I don't know".to_owned(),
    }
}

/// The prompt's texts: what the user wrote, then what the client adds of itself.
fn texts_of(prompt: &[ContentBlock]) -> impl Iterator<Item = &str> {
    prompt.iter().filter_map(|block| match block {
        ContentBlock::Text(text) => Some(text.text.as_str()),
        _ => None,
    })
}

/// Whether "tour" stands in the text as a word of its own, a slash command or not. Lines after a first one are
/// comments, something that was pasted, or what the client adds of itself.
fn asks_for_the_tour(text: &str) -> bool {
    let text = text.trim();
    let mut words = text.split(|character: char| !character.is_alphanumeric());
    !text.contains('\n') && words.any(|word| word.eq_ignore_ascii_case("tour"))
}

#[cfg(test)]
mod tests {
    use agent_client_protocol_schema::v1::ResourceLink;

    use super::*;

    fn scene(text: &str, is_first: bool) -> Scene {
        Scene::of(vec![ContentBlock::from(text)], is_first)
    }

    #[test]
    fn the_tour_starts_on_its_name_and_on_an_empty_beginning() {
        assert_eq!(scene("/tour", false), Scene::Tour);
        assert_eq!(scene("Show me the Tour, please", false), Scene::Tour);
        assert_eq!(scene(" ... ", true), Scene::Tour);
        assert!(matches!(scene(" ... ", false), Scene::Echo(_)));
        assert!(matches!(scene("a detour", true), Scene::Echo(_)));
        assert!(matches!(scene("Comments:\nacp-tour.lua:2: why a tour?", false), Scene::Echo(_)));
    }

    #[test]
    fn what_the_client_adds_changes_nothing_of_what_was_asked_for() {
        let with_edits = |text: &str| {
            let edits = "The user has unsaved edits:\n\n```diff\n+a tour\n```\n";
            Scene::of(vec![ContentBlock::from(text), ContentBlock::from(edits)], false)
        };
        assert_eq!(with_edits("/tour"), Scene::Tour);
        assert_eq!(with_edits("/fail"), Scene::Fail(String::new()));
        assert!(matches!(with_edits("hello"), Scene::Echo(_)));
    }

    #[test]
    fn commands_take_their_argument_or_go_without() {
        assert_eq!(scene("/slow 2", false), Scene::Slow(Duration::from_secs(2)));
        assert_eq!(scene("/slow", false), Scene::Slow(SLOW));
        assert_eq!(scene("/big x", false), Scene::Big(BIG));
        assert_eq!(scene("/fail on tour", false), Scene::Fail("on tour".to_owned()));
    }

    #[test]
    fn every_offered_command_plays_its_own_scene() {
        for command in commands() {
            let scene = scene(&format!("/{}", command.name), false);
            assert!(!matches!(scene, Scene::Echo(_)), "/{} is an echo", command.name);
        }
    }

    #[test]
    fn the_echo_names_links_and_sizes() {
        let link = ContentBlock::ResourceLink(ResourceLink::new("a.rs", "file:///p/a.rs"));
        let text = echo(&[ContentBlock::from("look at"), link]);
        assert!(text.contains("text: look at"));
        assert!(text.contains("a link to a.rs (file:///p/a.rs)"));
    }
}
