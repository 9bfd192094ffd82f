//! How an agent's forms and pages are put to the user. A form is asked for field by field and can be
//! gone over before it is sent; a page is opened only after the user has seen where it leads and
//! agreed. What fits a field is `core::session::form`'s word, whose turn it is `asking`'s.

use mlua::Result;
use serde_json::{Value, json};

use crate::core::ids::{AskId, Moment, SessionKey};
use crate::core::message::{Command, Question};
use crate::core::session::entry::Body;
use crate::core::session::form::{Choice, Control, Field, Filling};
use crate::core::session::{Session, Wanted};
use crate::core::text::url_check::Warning;
use crate::core::transcript::{cut_end, cut_middle};
use crate::nvim::app::App;
use crate::nvim::editor::picker::plain;
use crate::nvim::editor::{Editor, Level};
use crate::nvim::run;

const KIND: &str = "acp_elicitation";
/// The longest part of an agent's text in one line of a picker.
const LONGEST: usize = 60;
/// The longest prompt of a list.
const ROOM: usize = 160;
const ELSEWHERE: &str = "All fields, decline or cancel …";

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

/// An entry of a list, and what it stands for.
struct Items<T>(Vec<(String, T)>);

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

impl App {
    /// The agent wants to know something of the user.
    pub fn elicited(&mut self, key: SessionKey, ask: AskId, question: Question, now: Moment) -> Result<()> {
        let Some(session) = self.cx.sessions.get_mut(&key) else { return Ok(()) };
        let (commands, mode, message) = match question {
            Question::Form { message, schema, call: _ } => {
                (session.asked_to_fill(ask, message.clone(), &schema, now), "form", message)
            }
            Question::Url { message, url, elicitation: _ } => {
                (session.asked_to_open(ask, message.clone(), &url, now), "url", message)
            }
            Question::Permission { .. }
            | Question::Read { .. }
            | Question::Write { .. }
            | Question::Outside { .. } => return Ok(()),
        };
        let waits = commands.is_empty();
        let name = session.name();
        self.send_all(commands)?;
        if waits {
            self.announce(key, &cut_end(&format!("{name} asks: {}", plain(&message)), ROOM), Level::Warn);
            self.cx.emit("AcpQuestionAsked", key, json!({ "mode": mode, "message": message }));
        }
        Ok(())
    }

    /// `:Acp answer`: takes the oldest question up, or declines or cancels the oldest that is none
    /// for permission.
    pub fn answer_question(&mut self, word: Option<&str>) -> Result<()> {
        let here = self.cx.session_here().and_then(|key| self.cx.sessions.get(&key));
        let mut sessions = here.into_iter().chain(self.cx.sessions.values());
        let fail = |text: &str| Err(mlua::Error::runtime(text));
        let conclude = match word {
            None => {
                let oldest = |session: &Session| Some((session.key, session.asks().first()?.ask));
                let conflict = self.conflicts.waiting().next();
                let Some((key, ask)) = sessions.find_map(oldest).or(conflict) else {
                    return fail("nothing waits for you");
                };
                self.put_up(key, ask);
                return Ok(());
            }
            Some("decline") => Session::decline,
            Some("cancel") => Session::dismiss,
            Some(_) => return fail("answer takes decline or cancel, or nothing to be asked again"),
        };
        let oldest = |session: &Session| Some((session.key, session.elicitation()?.ask));
        match sessions.find_map(oldest) {
            Some((key, ask)) => self.conclude(key, |session| conclude(session, ask)),
            None => {
                fail("no form or page is waiting for you; :Acp allow and :Acp reject answer other questions")
            }
        }
    }

    fn conclude(
        &mut self,
        key: SessionKey,
        conclude: impl FnOnce(&mut Session) -> Vec<Command>,
    ) -> Result<()> {
        let Some(session) = self.cx.sessions.get_mut(&key) else { return Ok(()) };
        let commands = conclude(session);
        for command in &commands {
            if let Command::Answer { answer, .. } = command {
                use crate::core::message::Answer;
                let action = match answer {
                    Answer::Accepted(_) => "accept",
                    Answer::Declined => "decline",
                    _ => "cancel",
                };
                self.cx.emit("AcpQuestionAnswered", key, json!({ "action": action }));
            }
        }
        self.send_all(commands)?;
        self.after_change(key)
    }

    fn filling(&self, key: SessionKey, ask: AskId) -> Option<&Filling> {
        match &self.cx.sessions.get(&key)?.open_ask(ask)?.wanted {
            Wanted::Form(filling) => Some(filling),
            Wanted::Permission(_) | Wanted::Page(_) => None,
        }
    }

    /// "Fake asks: Which colour?", in so many characters.
    fn headline(&self, key: SessionKey, ask: AskId, room: usize) -> String {
        let asked = || {
            let session = self.cx.sessions.get(&key)?;
            match &session.entry(session.open_ask(ask)?.entry)?.body {
                Body::Elicitation(asked) => Some(format!("{} asks: {}", asked.asker, plain(&asked.message))),
                _ => None,
            }
        };
        cut_end(&asked().unwrap_or_default(), room)
    }

    /// A picker closed without an answer: the question stays in the chat.
    fn put_aside(&mut self, key: SessionKey, ask: AskId) {
        self.asking.put_off(ask);
        self.announce(key, "the question stays open; :Acp answer takes it up again", Level::Info);
    }

    // Forms.

    /// Begins a form with its first field, or shows what there is of one that was begun.
    pub fn put_up_form(&mut self, key: SessionKey, ask: AskId) {
        let Some(filling) = self.filling(key, ask) else { return };
        match filling.next().filter(|_| !filling.is_begun() && !self.asking.was_put_off(ask)) {
            Some(field) => self.ask_field(Step { key, ask, field, back: false, problem: None }),
            None => self.review(key, ask),
        }
    }

    fn ask_field(&mut self, step: Step) {
        let Some(filling) = self.filling(step.key, step.ask) else { return };
        let Some(field) = filling.field(step.field) else { return };
        let value = filling.value(step.field);
        match &field.control {
            Control::Text { .. } | Control::Integer(_) | Control::Number(_) => {
                // Also a proposal that does not fit is a start.
                let proposed = value.or(field.default.as_ref()).map(|value| field.show(value));
                match (&step.problem, proposed) {
                    (Some((_, typed)), _) => self.ask_typed(step.clone(), typed.clone()),
                    (None, Some(text)) if text.contains(char::is_control) => self.ask_proposed(step, text),
                    (None, text) => self.ask_typed(step, text.unwrap_or_default()),
                }
            }
            Control::Toggle => {
                let mark = |choice: bool| if value == Some(&json!(choice)) { " (chosen)" } else { "" };
                let items = [("Yes", true), ("No", false)];
                let items = items.map(|(text, yes)| (text.to_owned() + mark(yes), Some(json!(yes)))).to_vec();
                self.ask_one(step, items);
            }
            Control::One(options) => {
                let chosen = value.and_then(Value::as_str);
                let item = |option: &Choice| {
                    let mark = if chosen == Some(&*option.value) { " (chosen)" } else { "" };
                    (described(option, options) + mark, Some(json!(option.value)))
                };
                let items = options.iter().map(item).collect();
                self.ask_one(step, items);
            }
            Control::Many { .. } => {
                let chosen = value.and_then(Value::as_array).into_iter().flatten();
                let chosen = chosen.filter_map(|one| one.as_str().map(str::to_owned)).collect();
                self.ask_many(step, chosen);
            }
            Control::Unsupported { .. } => self.review(step.key, step.ask),
        }
    }

    fn ask_typed(&mut self, step: Step, text: String) {
        // A prompt that needs a second line is drawn twice.
        let room = usize::from(self.cx.editor.size().0).saturating_sub(24).max(30);
        let prompt = self.field_prompt(&step, room);
        self.ask_to_type(step.ask, prompt, text, move |app, typed| match typed {
            None => {
                app.put_aside(step.key, step.ask);
                Ok(())
            }
            Some(typed) => app.filled_in(step, &typed),
        });
    }

    fn filled_in(&mut self, step: Step, typed: &str) -> Result<()> {
        let Some(field) = self.filling(step.key, step.ask).and_then(|filling| filling.field(step.field))
        else {
            return Ok(());
        };
        let value = if typed.is_empty() { Ok(None) } else { field.read(typed).map(Some) };
        match value.and_then(|value| self.fill(&step, value)) {
            Ok(()) => self.go_on(&step),
            Err(problem) => {
                self.ask_field(Step { problem: Some((problem, typed.to_owned())), ..step });
            }
        }
        Ok(())
    }

    /// A text that cannot be typed on one line is taken as a whole, or replaced.
    fn ask_proposed(&mut self, step: Step, text: String) {
        let lines = text.lines().count();
        let items = vec![
            (format!("Keep the proposed text ({lines} lines): {}", short(&text)), true),
            ("Type another".to_owned(), false),
        ];
        let prompt = self.field_prompt(&step, ROOM);
        self.offer_items(step.key, step.ask, prompt, Items(items), move |app, keep| {
            if !keep {
                app.ask_typed(step, String::new());
                return Ok(());
            }
            match app.fill(&step, Some(json!(text))) {
                Ok(()) => app.go_on(&step),
                Err(problem) => {
                    app.ask_typed(Step { problem: Some((problem, String::new())), ..step }, String::new())
                }
            }
            Ok(())
        });
    }

    fn ask_one(&mut self, step: Step, items: Vec<(String, Option<Value>)>) {
        let mut items: Vec<_> = items.into_iter().map(|(text, value)| (text, Pick::Value(value))).collect();
        items.extend(self.ways_out(&step));
        let prompt = self.field_prompt(&step, ROOM);
        self.offer_items(step.key, step.ask, prompt, Items(items), move |app, pick| app.picked(&step, pick));
    }

    /// Leaving a field out, and the way to the review.
    fn ways_out(&self, step: &Step) -> Vec<(String, Pick)> {
        let field = self.filling(step.key, step.ask).and_then(|filling| filling.field(step.field));
        let optional = field.is_some_and(|field| !field.required);
        let leave = optional.then(|| ("Leave it out".to_owned(), Pick::Value(None)));
        leave.into_iter().chain([(ELSEWHERE.to_owned(), Pick::Review)]).collect()
    }

    fn picked(&mut self, step: &Step, pick: Pick) -> Result<()> {
        match pick {
            Pick::Review => self.review(step.key, step.ask),
            Pick::Value(value) => match self.fill(step, value) {
                Ok(()) => self.go_on(step),
                Err(problem) => {
                    self.ask_field(Step { problem: Some((problem, String::new())), ..step.clone() })
                }
            },
        }
        Ok(())
    }

    /// A list whose entries are switched on and off until the user is done.
    fn ask_many(&mut self, step: Step, chosen: Vec<String>) {
        let Some(Field { control: Control::Many { options, .. }, .. }) =
            self.filling(step.key, step.ask).and_then(|filling| filling.field(step.field))
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
        let mut items: Vec<_> = options.iter().map(item).collect();
        items.push((format!("Done: {} chosen", chosen.len()), Many::Done));
        items.extend(self.ways_out(&step).into_iter().map(|(text, pick)| (text, Many::Out(pick))));
        // In the order in which they are offered.
        let ordered: Vec<String> = options
            .iter()
            .map(|option| &option.value)
            .filter(|value| chosen.contains(value))
            .cloned()
            .collect();
        let prompt = self.field_prompt(&step, ROOM);
        self.offer_items(step.key, step.ask, prompt, Items(items), move |app, pick| match pick {
            Many::Switch(value) => {
                let mut chosen = chosen;
                match chosen.iter().position(|one| *one == value) {
                    Some(index) => drop(chosen.remove(index)),
                    None => chosen.push(value),
                }
                app.ask_many(Step { problem: None, ..step }, chosen);
                Ok(())
            }
            Many::Done => {
                match app.fill(&step, Some(json!(ordered))) {
                    Ok(()) => app.go_on(&step),
                    Err(problem) => {
                        app.ask_many(Step { problem: Some((problem, String::new())), ..step }, chosen)
                    }
                }
                Ok(())
            }
            Many::Out(pick) => app.picked(&step, pick),
        });
    }

    fn fill(&mut self, step: &Step, value: Option<Value>) -> std::result::Result<(), String> {
        match self.cx.sessions.get_mut(&step.key) {
            Some(session) => session.fill(step.ask, step.field, value),
            None => Ok(()),
        }
    }

    fn go_on(&mut self, step: &Step) {
        let next = self.filling(step.key, step.ask).and_then(Filling::next).filter(|_| !step.back);
        match next {
            Some(field) => self.ask_field(Step { field, problem: None, ..step.clone() }),
            None => self.review(step.key, step.ask),
        }
    }

    /// All values before they are sent: to send, to change, to decline.
    fn review(&mut self, key: SessionKey, ask: AskId) {
        let Some(filling) = self.filling(key, ask) else { return };
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
        let headline = self.headline(key, ask, ROOM);
        let prompt = match content {
            Ok(_) => headline,
            Err(problem) => format!("{headline} · {problem}"),
        };
        self.offer_items(key, ask, prompt, Items(items), move |app, review| match review {
            Review::Ask { field, back } => {
                app.ask_field(Step { key, ask, field, back, problem: None });
                Ok(())
            }
            Review::Send => app.conclude(key, |session| session.accept(ask)),
            Review::Decline => app.conclude(key, |session| session.decline(ask)),
            Review::Cancel => app.conclude(key, |session| session.dismiss(ask)),
        });
    }

    fn offer_items<T: 'static>(
        &mut self,
        key: SessionKey,
        ask: AskId,
        prompt: String,
        items: Items<T>,
        then: impl FnOnce(&mut App, T) -> Result<()> + 'static,
    ) {
        let (texts, mut meant): (Vec<String>, Vec<T>) = items.0.into_iter().unzip();
        self.ask_to_choose(ask, KIND, prompt, texts, move |app, index| match index {
            Some(index) => then(app, meant.swap_remove(index)),
            None => {
                app.put_aside(key, ask);
                Ok(())
            }
        });
    }

    /// What is asked for, by whom, and what was wrong with the last answer, in so many characters.
    fn field_prompt(&self, step: &Step, room: usize) -> String {
        let field = self.filling(step.key, step.ask).and_then(|filling| filling.field(step.field));
        let Some(field) = field else { return String::new() };
        let label = short(field.label());
        if let Some((problem, _)) = &step.problem {
            return cut_end(&format!("{label}: {problem}"), room);
        }
        let hint: String = field.hint().iter().map(|hint| format!(", {}", plain(hint))).collect();
        let optional = if field.required { "" } else { " (optional)" };
        // What the answer must be like comes first, then whose question it is, then the rest.
        let left =
            room.saturating_sub([&label, &hint, optional].map(|part| part.chars().count()).iter().sum());
        let mut head = String::new();
        if left > 16 {
            head = self.headline(step.key, step.ask, left.min(LONGEST) - 3) + " · ";
        }
        let left = left.saturating_sub(head.chars().count());
        let about = field.description.as_deref().map(plain).filter(|about| !about.is_empty() && left > 16);
        let about = about.map(|about| format!(", {}", cut_end(&about, left - 2))).unwrap_or_default();
        cut_end(&format!("{head}{label}{about}{hint}{optional}"), room)
    }

    // Pages.

    pub fn put_up_page(&mut self, key: SessionKey, ask: AskId) {
        let Some(Wanted::Page(address)) =
            self.cx.sessions.get(&key).and_then(|session| session.open_ask(ask)).map(|open| &open.wanted)
        else {
            return;
        };
        let url = address.url.clone();
        let warnings: String = address
            .warnings
            .iter()
            .map(|warning| format!(" · Warning: {}", Warning::text(*warning)))
            .collect();
        let prompt = format!("{} · a page on {}{warnings}", self.headline(key, ask, LONGEST), address.host);
        let items = vec![
            (format!("Open {url}"), Page::Open),
            ("Copy the address, to open it elsewhere".to_owned(), Page::Copy),
            ("Decline: tell the agent no".to_owned(), Page::Decline),
            ("Cancel: give no answer".to_owned(), Page::Cancel),
        ];
        self.offer_items(key, ask, prompt, Items(items), move |app, page| match page {
            Page::Open => {
                app.visit(key, ask, move |editor| open(editor, &url));
                Ok(())
            }
            Page::Copy => {
                app.visit(key, ask, move |editor| copy(editor, &url));
                Ok(())
            }
            Page::Decline => app.conclude(key, |session| session.decline(ask)),
            Page::Cancel => app.conclude(key, |session| session.dismiss(ask)),
        });
    }

    /// Does what the user agreed to, then tells the agent; what cannot be done leaves the question open.
    fn visit(
        &mut self,
        key: SessionKey,
        ask: AskId,
        visit: impl FnOnce(&Editor) -> std::result::Result<(), String> + 'static,
    ) {
        if self.cx.sessions.get(&key).is_none_or(|session| session.open_ask(ask).is_none()) {
            return;
        }
        let shown = self.asking.show(ask);
        self.cx.effects.push_back(Box::new(move |editor| {
            let visited = visit(editor);
            if let Err(why) = &visited {
                let text = format!("{why}; the address is in the chat, and :Acp answer asks again");
                editor.notify(&text, Level::Error);
            }
            run(move |app| {
                if app.asking.close(shown) && visited.is_err() {
                    app.asking.put_off(ask);
                }
                match visited {
                    Ok(()) => app.conclude(key, |session| session.accept(ask)),
                    Err(_) => Ok(()),
                }
            });
        }));
    }
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
