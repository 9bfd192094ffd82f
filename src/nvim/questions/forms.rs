//! How an agent's forms and pages are put to the user. A form is asked for field by field and can be
//! gone over before it is sent; a page is opened only after the user has seen where it leads and
//! agreed. What fits a field is left to `core::session::form`, which question is next to `queue`.

use std::rc::Rc;

use mlua::Result;
use serde_json::{Value, json};

use crate::core::ids::{AskId, Moment, SessionKey};
use crate::core::message::{Branch, Command, Question};
use crate::core::session::entry::Body;
use crate::core::session::form::{Choice, Control, Field, Filling};
use crate::core::session::outside::OutsideUse;
use crate::core::session::{OpenAsk, Session, Wanted};
use crate::core::text::fitting::{cut_at_word, cut_end, cut_middle};
use crate::core::text::url_check::Warning;
use crate::core::text::{capitalized, cells};
use crate::nvim::arguments::fail;
use crate::nvim::context::{self, Context};
use crate::nvim::editor::picker::{is_builtin_input, plain};
use crate::nvim::editor::{Editor, Level};
use crate::nvim::events::{Choosing, EditorEvent};
use crate::nvim::questions::Questions;

const KIND: &str = "acp_elicitation";
/// The longest part of an agent's text in one line of a picker.
const LONGEST: usize = 60;
/// Less of a part of a prompt is not worth its room.
const LEAST: usize = 16;
/// The longest prompt of a line to type in that a plugin draws: it is a title there, of a window of 60 cells.
const TITLE: usize = 56;
/// The longest prompt of a list.
const ROOM: usize = 160;
const ELSEWHERE: &str = "All fields · decline or cancel …";
/// The same where there is one field alone.
const NO_ANSWER: &str = "Decline or cancel …";

/// A form's question, and the field that is asked for.
#[derive(Clone)]
struct Step {
    key: SessionKey,
    ask: AskId,
    field: usize,
    /// To go back to the review afterwards, rather than to the next field.
    back: bool,
    /// What was wrong with the last try, and what that was.
    problem: Option<(String, String)>,
}

/// The list for a question: its entries, and what each stands for.
struct Items<T> {
    ask: AskId,
    prompt: String,
    items: Vec<(String, T)>,
}

enum Pick {
    Value(Option<Value>),
    Review,
}

#[derive(Clone, Copy)]
enum Review {
    Send,
    Ask { field: usize, back: bool },
    Decline,
    Cancel,
}

#[derive(Clone, Copy)]
enum Page {
    Open,
    Copy,
    Decline,
    Cancel,
}

impl Questions {
    /// The agent wants to know something of the user.
    /// An agent asks for a file outside its folders, to have a form filled in, or to have a page opened.
    pub fn asked(
        cx: &mut Context,
        (key, branch): (SessionKey, Option<&Branch>),
        ask: AskId,
        question: Question,
    ) {
        let now = cx.now();
        match question {
            Question::Outside { path, target, access, why, command, judgement } => {
                let usage = OutsideUse { path, target, access, why, command, judgement };
                Self::asked_outside(cx, (key, ask), usage, now);
            }
            question => Self::elicited(cx, (key, branch), ask, question, now),
        }
    }

    fn elicited(
        cx: &mut Context,
        (key, branch): (SessionKey, Option<&Branch>),
        ask: AskId,
        question: Question,
        now: Moment,
    ) {
        let Some(session) = cx.sessions.get_mut(&key) else { return };
        let (commands, mode, message) = match question {
            Question::Form { message, schema, call: _ } => {
                let fill = |session: &mut Session| session.asked_to_fill(ask, message.clone(), &schema, now);
                (session.within(branch, fill), "form", message)
            }
            Question::Url { message, url, elicitation: _ } => {
                let open = |session: &mut Session| session.asked_to_open(ask, message.clone(), &url, now);
                (session.within(branch, open), "url", message)
            }
            Question::Permission { .. }
            | Question::Read { .. }
            | Question::Write { .. }
            | Question::Outside { .. } => return,
        };
        let waits = commands.is_empty();
        let asker = session.open_ask(ask).map(|open| session.actor(open.entry));
        let name = asker.unwrap_or_else(|| session.name());
        cx.send_all(commands);
        if waits {
            cx.announce(key, &cut_end(&format!("{name} asks: {}", plain(&message)), ROOM), Level::Warn);
            cx.emit("AcpQuestionAsked", key, json!({ "mode": mode, "message": message }));
        }
    }

    /// `:Acp answer`: takes a question up, or declines or cancels one that is none for permission: the one under the
    /// cursor, else the one that was seen last, else the oldest. `others` are those of other features.
    pub fn answer_question(
        &mut self,
        cx: &mut Context,
        word: Option<&str>,
        under_cursor: Option<AskId>,
    ) -> Result<()> {
        let here = cx.here();
        let asks = |fits: fn(&OpenAsk) -> bool| {
            let asks = cx.sessions.values().flat_map(move |session| {
                session.asks().iter().filter(move |open| fits(open)).map(|open| (session.key, open.ask))
            });
            asks.collect::<Vec<_>>()
        };
        let meant = |waiting| self.queue.meant(waiting, under_cursor, here).first().copied();
        let answer = match word {
            None => {
                let waiting = asks(|_| true).into_iter().chain(cx.conflicts.waiting());
                let Some((_, ask)) = meant(waiting.collect()) else { return fail("nothing waits for you") };
                self.take_up(ask);
                return Ok(());
            }
            Some("decline") => Session::decline,
            Some("cancel") => Session::dismiss,
            Some(_) => return fail("answer takes decline or cancel, or nothing to be asked again"),
        };
        match meant(asks(|open| !open.is_permission())) {
            Some((key, ask)) => conclude(cx, key, |session, now| answer(session, ask, now)),
            None if cx.sessions.values().all(|session| session.asks().is_empty()) => {
                fail("nothing waits for you")
            }
            None => fail("no form waits for you; :Acp answer has other questions"),
        }
    }

    // Forms.

    /// Begins a form with its first field, or shows what there is of one that was begun.
    pub fn show_form(&mut self, cx: &mut Context, key: SessionKey, ask: AskId) {
        let Some(filling) = filling(cx, key, ask) else { return };
        match filling.next().filter(|_| !filling.is_begun() && !self.queue.is_deferred(ask)) {
            Some(field) => self.ask_field(cx, Step { key, ask, field, back: false, problem: None }),
            None => self.review(cx, key, ask),
        }
    }

    fn ask_field(&mut self, cx: &mut Context, step: Step) {
        let Some(filling) = filling(cx, step.key, step.ask) else { return };
        let Some(field) = filling.field(step.field) else { return };
        let value = filling.value(step.field);
        match &field.control {
            Control::Text { .. } | Control::Integer(_) | Control::Number(_) => {
                // Also a proposal that does not fit is a start.
                let proposed = value.or(field.default.as_ref()).map(|value| field.show(value));
                match (&step.problem, proposed) {
                    (Some((_, typed)), _) => self.ask_typed(cx, step.clone(), typed.clone()),
                    (None, Some(text)) if text.contains(char::is_control) => {
                        self.ask_proposed(cx, step, text)
                    }
                    (None, text) => self.ask_typed(cx, step, text.unwrap_or_default()),
                }
            }
            Control::Toggle => {
                let item = |(text, yes): (&str, bool)| {
                    let is_chosen = value == Some(&json!(yes));
                    (text.to_owned(), Some(json!(yes)), is_chosen)
                };
                let items = [("Yes", true), ("No", false)].map(item).to_vec();
                self.ask_one(cx, step, items);
            }
            Control::One(options) => {
                let chosen = value.and_then(Value::as_str);
                let item = |option: &Choice| {
                    let is_chosen = chosen == Some(&*option.value);
                    (described(option, options), Some(json!(option.value)), is_chosen)
                };
                let items = options.iter().map(item).collect();
                self.ask_one(cx, step, items);
            }
            Control::Many { .. } => {
                let chosen = value.and_then(Value::as_array).into_iter().flatten();
                let chosen = chosen.filter_map(|one| one.as_str().map(str::to_owned)).collect();
                self.ask_many(cx, step, chosen);
            }
            Control::Unsupported { .. } => self.review(cx, step.key, step.ask),
        }
    }

    fn ask_typed(&mut self, cx: &mut Context, step: Step, text: String) {
        // A prompt that needs a second line is drawn twice.
        let room = usize::from(cx.editor.size().0).saturating_sub(24).max(30);
        let room = if is_builtin_input(&cx.editor) { room } else { room.min(TITLE) };
        let prompt = field_prompt(cx, &step, room);
        self.ask_to_type(cx, step.ask, (prompt, text), move |this, cx, typed| match typed {
            None => {
                this.left_open(cx, step.ask);
                Ok(())
            }
            Some(typed) => this.filled_in(cx, step, &typed),
        });
    }

    fn filled_in(&mut self, cx: &mut Context, step: Step, typed: &str) -> Result<()> {
        let Some(field) = filling(cx, step.key, step.ask).and_then(|filling| filling.field(step.field))
        else {
            return Ok(());
        };
        let value = if typed.is_empty() { Ok(None) } else { field.read(typed).map(Some) };
        match value.and_then(|value| fill(cx, &step, value)) {
            Ok(()) => return self.go_on(cx, &step),
            Err(problem) => {
                self.ask_field(cx, Step { problem: Some((problem, typed.to_owned())), ..step });
            }
        }
        Ok(())
    }

    /// A text that cannot be typed on one line is taken as a whole, or replaced.
    fn ask_proposed(&mut self, cx: &mut Context, step: Step, text: String) {
        let lines = text.lines().count();
        let items = vec![
            (format!("Keep the proposed text ({lines} lines): {}", short(&text)), true),
            ("Type another".to_owned(), false),
        ];
        let prompt = field_prompt(cx, &step, ROOM);
        let items = Items { ask: step.ask, prompt, items };
        self.offer_items(cx, items, move |this, cx, keep| {
            if !keep {
                this.ask_typed(cx, step, String::new());
                return Ok(());
            }
            match fill(cx, &step, Some(json!(text))) {
                Ok(()) => return this.go_on(cx, &step),
                Err(problem) => this.ask_typed(
                    cx,
                    Step { problem: Some((problem, String::new())), ..step },
                    String::new(),
                ),
            }
            Ok(())
        });
    }

    /// Each item is what it says, its value, and whether that is the field's by now. Such a one is the first: a key that
    /// takes what is offered leaves it as it is.
    fn ask_one(&mut self, cx: &mut Context, step: Step, mut items: Vec<(String, Option<Value>, bool)>) {
        items.sort_by_key(|(.., is_chosen)| !is_chosen);
        let is_users = filling(cx, step.key, step.ask).is_some_and(|filling| filling.is_seen(step.field));
        let whose = if is_users { " (chosen)" } else { " (proposed)" };
        let item = |(text, value, is_chosen): (String, Option<Value>, bool)| {
            (text + if is_chosen { whose } else { "" }, Pick::Value(value))
        };
        let mut items: Vec<_> = items.into_iter().map(item).collect();
        items.extend(ways_out(cx, &step));
        let prompt = field_prompt(cx, &step, ROOM);
        let items = Items { ask: step.ask, prompt, items };
        self.offer_items(cx, items, move |this, cx, pick| this.picked(cx, &step, pick));
    }

    fn picked(&mut self, cx: &mut Context, step: &Step, pick: Pick) -> Result<()> {
        match pick {
            Pick::Review => self.review(cx, step.key, step.ask),
            Pick::Value(value) => match fill(cx, step, value) {
                Ok(()) => return self.go_on(cx, step),
                Err(problem) => {
                    self.ask_field(cx, Step { problem: Some((problem, String::new())), ..step.clone() })
                }
            },
        }
        Ok(())
    }

    /// A list whose entries are switched on and off until the user is done.
    fn ask_many(&mut self, cx: &mut Context, step: Step, chosen: Vec<String>) {
        let Some(Field { control: Control::Many { options, .. }, .. }) =
            filling(cx, step.key, step.ask).and_then(|filling| filling.field(step.field))
        else {
            return;
        };
        enum Many {
            Switch(String),
            Done,
            Out(Pick),
        }
        let item = |option: &Choice| {
            let mark = if chosen.contains(&option.value) { "[x]" } else { "[ ]" };
            (format!("{mark} {}", described(option, options)), Many::Switch(option.value.clone()))
        };
        let mut items = vec![(format!("Done: {} chosen", chosen.len()), Many::Done)];
        items.extend(options.iter().map(item));
        items.extend(ways_out(cx, &step).into_iter().map(|(text, pick)| (text, Many::Out(pick))));
        // In the order in which they are offered.
        let ordered: Vec<String> = options
            .iter()
            .map(|option| &option.value)
            .filter(|value| chosen.contains(value))
            .cloned()
            .collect();
        let prompt = field_prompt(cx, &step, ROOM);
        let items = Items { ask: step.ask, prompt, items };
        self.offer_items(cx, items, move |this, cx, pick| match pick {
            Many::Switch(value) => {
                let mut chosen = chosen;
                match chosen.iter().position(|one| *one == value) {
                    Some(index) => drop(chosen.remove(index)),
                    None => chosen.push(value),
                }
                this.ask_many(cx, Step { problem: None, ..step }, chosen);
                Ok(())
            }
            Many::Done => {
                match fill(cx, &step, Some(json!(ordered))) {
                    Ok(()) => return this.go_on(cx, &step),
                    Err(problem) => {
                        this.ask_many(cx, Step { problem: Some((problem, String::new())), ..step }, chosen)
                    }
                }
                Ok(())
            }
            Many::Out(pick) => this.picked(cx, &step, pick),
        });
    }

    fn go_on(&mut self, cx: &mut Context, step: &Step) -> Result<()> {
        let filling = filling(cx, step.key, step.ask).filter(|_| !step.back);
        let is_choice = filling.is_some_and(|filling| filling.form.is_choice());
        let next = filling.and_then(Filling::next);
        match next {
            Some(field) => self.ask_field(cx, Step { field, problem: None, ..step.clone() }),
            // There is nothing to be gone over.
            None if is_choice => return conclude(cx, step.key, |session, now| session.accept(step.ask, now)),
            None => self.review(cx, step.key, step.ask),
        }
        Ok(())
    }

    /// All values before they are sent: to send, to change, to decline.
    fn review(&mut self, cx: &mut Context, key: SessionKey, ask: AskId) {
        let Some(filling) = filling(cx, key, ask) else { return };
        let mut items = Vec::new();
        let content = filling.content();
        if let Some(field) = filling.next() {
            let label = filling.field(field).map(Field::label).unwrap_or_default();
            items.push((format!("Go on with {}", short(label)), Review::Ask { field, back: false }));
        }
        if content.is_ok() {
            items.push(("Send".to_owned(), Review::Send));
        }
        for (index, field) in filling.form.fields.iter().enumerate() {
            let (label, value) = (short(field.label()), short(&filling.review(index)));
            items.push((format!("Change {label}: {value}"), Review::Ask { field: index, back: true }));
        }
        items.push(("Decline: tell the agent no".to_owned(), Review::Decline));
        items.push(("Cancel: give no answer".to_owned(), Review::Cancel));
        let headline = headline(cx, key, ask, ROOM);
        let prompt = match content {
            Ok(_) => headline,
            Err(problem) => format!("{headline} · {problem}"),
        };
        let items = Items { ask, prompt, items };
        self.offer_items(cx, items, move |this, cx, review| match review {
            Review::Ask { field, back } => {
                this.ask_field(cx, Step { key, ask, field, back, problem: None });
                Ok(())
            }
            Review::Send => conclude(cx, key, |session, now| session.accept(ask, now)),
            Review::Decline => conclude(cx, key, |session, now| session.decline(ask, now)),
            Review::Cancel => conclude(cx, key, |session, now| session.dismiss(ask, now)),
        });
    }

    fn offer_items<T: 'static>(
        &mut self,
        cx: &mut Context,
        items: Items<T>,
        then: impl FnOnce(&mut Self, &mut Context, T) -> Result<()> + 'static,
    ) {
        let Items { ask, prompt, items } = items;
        let (items, mut meant): (Vec<String>, Vec<T>) = items.into_iter().unzip();
        let then = context::then(move |this: &mut Self, cx, index: Option<usize>| match index {
            Some(index) => then(this, cx, meant.swap_remove(index)),
            None => {
                this.left_open(cx, ask);
                Ok(())
            }
        });
        self.ask_to_choose(cx, Choosing { ask, kind: KIND, prompt, items, preview: Rc::default(), then });
    }

    /// A form that is a question with one of several answers is sent with this one.
    pub fn choose_value(cx: &mut Context, key: SessionKey, ask: AskId, value: &Value) {
        let done = conclude(cx, key, |session, now| match session.fill(ask, 0, Some(value.clone())) {
            Ok(()) => session.accept(ask, now),
            // It is over, or another one by now.
            Err(_) => Vec::new(),
        });
        cx.editor.notify_error(done);
    }

    // Pages.

    pub fn show_page(&mut self, cx: &mut Context, key: SessionKey, ask: AskId) {
        let Some(Wanted::Page(address)) =
            cx.sessions.get(&key).and_then(|session| session.open_ask(ask)).map(|open| &open.wanted)
        else {
            return;
        };
        let url = address.url.clone();
        let warnings: String = address
            .warnings
            .iter()
            .map(|warning| format!(" · Warning: {}", Warning::text(*warning)))
            .collect();
        let prompt = format!("{} · a page on {}{warnings}", headline(cx, key, ask, LONGEST), address.host);
        let items = vec![
            (format!("Open {url}"), Page::Open),
            ("Copy the address, to open it elsewhere".to_owned(), Page::Copy),
            ("Decline: tell the agent no".to_owned(), Page::Decline),
            ("Cancel: give no answer".to_owned(), Page::Cancel),
        ];
        let items = Items { ask, prompt, items };
        self.offer_items(cx, items, move |this, cx, page| match page {
            Page::Open => {
                this.visit(cx, (key, ask), move |editor| open(editor, &url));
                Ok(())
            }
            Page::Copy => {
                this.visit(cx, (key, ask), move |editor| copy(editor, &url));
                Ok(())
            }
            Page::Decline => conclude(cx, key, |session, now| session.decline(ask, now)),
            Page::Cancel => conclude(cx, key, |session, now| session.dismiss(ask, now)),
        });
    }

    /// Does what the user agreed to, then tells the agent; what cannot be done leaves the question open.
    fn visit(
        &mut self,
        cx: &mut Context,
        (key, ask): (SessionKey, AskId),
        visit: impl FnOnce(&Editor) -> std::result::Result<(), String> + 'static,
    ) {
        if cx.sessions.get(&key).is_none_or(|session| session.open_ask(ask).is_none()) {
            return;
        }
        let shown = self.queue.show(ask);
        cx.effects.push_back(Box::new(move |editor| {
            let visited = visit(editor);
            if let Err(why) = &visited {
                let text = format!("{why}; the address is in the chat, and :Acp answer asks again");
                editor.notify(&text, Level::Error);
            }
            context::run(move |this: &mut Self, cx| {
                if this.queue.close(shown) {
                    this.retry = true;
                    if visited.is_err() {
                        this.queue.defer(ask);
                    }
                }
                match visited {
                    Ok(()) => conclude(cx, key, |session, now| session.accept(ask, now)),
                    Err(_) => Ok(()),
                }
            });
        }));
    }
}

fn conclude(
    cx: &mut Context,
    key: SessionKey,
    conclude: impl FnOnce(&mut Session, Moment) -> Vec<Command>,
) -> Result<()> {
    let now = cx.now();
    let Some(session) = cx.sessions.get_mut(&key) else { return Ok(()) };
    let commands = conclude(session, now);
    for command in &commands {
        if let Command::Answer { answer, .. } = command {
            use crate::core::message::Answer;
            let action = match answer {
                Answer::Accepted(_) => "accept",
                Answer::Declined => "decline",
                _ => "cancel",
            };
            cx.emit("AcpQuestionAnswered", key, json!({ "action": action }));
        }
    }
    cx.send_all(commands);
    cx.raise(EditorEvent::SessionChanged(key));
    Ok(())
}

fn filling(cx: &Context, key: SessionKey, ask: AskId) -> Option<&Filling> {
    match &cx.sessions.get(&key)?.open_ask(ask)?.wanted {
        Wanted::Form(filling) => Some(filling),
        Wanted::Permission(_) | Wanted::Page(_) => None,
    }
}

/// "Fake asks: Which colour?", in so many characters.
fn headline(cx: &Context, key: SessionKey, ask: AskId, room: usize) -> String {
    let asked = || {
        let session = cx.sessions.get(&key)?;
        match &session.entry(session.open_ask(ask)?.entry)?.body {
            Body::Elicitation(asked) => Some(format!("{} asks: {}", asked.asker, plain(&asked.message))),
            _ => None,
        }
    };
    cut_end(&asked().unwrap_or_default(), room)
}

/// Leaving a field out, and the way to the review.
fn ways_out(cx: &Context, step: &Step) -> Vec<(String, Pick)> {
    let field = filling(cx, step.key, step.ask).and_then(|filling| filling.field(step.field));
    let optional = field.is_some_and(|field| !field.required);
    let leave = optional.then(|| ("Leave it out".to_owned(), Pick::Value(None)));
    let is_choice = filling(cx, step.key, step.ask).is_some_and(|filling| filling.form.is_choice());
    let elsewhere = if is_choice { NO_ANSWER } else { ELSEWHERE };
    leave.into_iter().chain([(elsewhere.to_owned(), Pick::Review)]).collect()
}

fn fill(cx: &mut Context, step: &Step, value: Option<Value>) -> std::result::Result<(), String> {
    match cx.sessions.get_mut(&step.key) {
        Some(session) => session.fill(step.ask, step.field, value),
        None => Ok(()),
    }
}

/// What is asked for, by whom, and what was wrong with the last answer, in so many characters.
fn field_prompt(cx: &Context, step: &Step, room: usize) -> String {
    let Some(filling) = filling(cx, step.key, step.ask) else { return String::new() };
    let Some(field) = filling.field(step.field) else { return String::new() };
    // The question says what a single answer is for.
    let asked = headline(cx, step.key, step.ask, room);
    if filling.form.is_plain_question()
        && step.problem.is_none()
        && !asked.is_empty()
        && !asked.ends_with(": ")
    {
        return asked;
    }
    let label = short(field.label());
    let ends_sentence = label.ends_with(['?', '!', '.', ':']);
    if let Some((problem, _)) = &step.problem {
        // First, since pickers cut what is too long for them.
        return cut_end(&format!("{} · {label}", capitalized(problem)), room);
    }
    let hint = field.hint().map(|hint| plain(&hint));
    let hint = match hint {
        // Nothing goes on after that.
        Some(hint) if ends_sentence => format!(" ({hint})"),
        Some(hint) => format!(", {hint}"),
        None => String::new(),
    };
    let optional = if field.required { "" } else { " (optional)" };
    // What the answer must be like comes first, then what it is about, then the whole question, or else who asks: half a
    // question says nothing, and the chat has it all.
    let left = room.saturating_sub([&*label, &hint, optional].map(cells).iter().sum());
    let about = field.description.as_deref().map(plain).filter(|about| !about.is_empty() && left > LEAST);
    let before = if ends_sentence { " " } else { ", " };
    let about = about.map(|about| before.to_owned() + &cut_at_word(&about, left - 2)).unwrap_or_default();
    let left = left.saturating_sub(cells(&about));
    let whole = headline(cx, step.key, step.ask, usize::MAX);
    let asks = whole.split_once(": ").map(|(asks, _)| asks.to_owned()).filter(|_| left > LEAST);
    let head = [Some(whole), asks].into_iter().flatten().map(|head| head + " · ");
    let head = head.into_iter().find(|head| cells(head) <= left).unwrap_or_default();
    cut_end(&format!("{head}{label}{about}{hint}{optional}"), room)
}

/// Outside of Neovim, where the user's browser is.
fn open(editor: &Editor, url: &str) -> std::result::Result<(), String> {
    editor.open_outside(url).map_err(|error| format!("couldn't open the browser: {error}"))
}

fn copy(editor: &Editor, url: &str) -> std::result::Result<(), String> {
    let copy = || -> Result<&str> {
        let register = if editor.func::<i64>("has", "clipboard")? == 1 { "+" } else { "\"" };
        editor.func::<i64>("setreg", (register, url))?;
        Ok(register)
    };
    let register = copy().map_err(|error| format!("couldn't copy the address: {error}"))?;
    editor.notify(&format!("the address is in the register {register}"), Level::Info);
    Ok(())
}

/// An option in a line; its value, too, where another has the same title.
fn described(option: &Choice, all: &[Choice]) -> String {
    let twins = all.iter().filter(|other| other.label() == option.label()).count();
    let value = if twins > 1 { format!(" ({})", short(&option.value)) } else { String::new() };
    let about = option
        .description
        .as_deref()
        .map(|text| format!(" — {}", cut_end(&plain(text), ROOM)))
        .unwrap_or_default();
    format!("{}{value}{about}", short(option.label()))
}

fn short(text: &str) -> String {
    cut_middle(&plain(text), LONGEST)
}
