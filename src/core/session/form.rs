//! A form that an agent wants filled in: its flat schema parsed into typed fields, in the agent's order,
//! and whether a value is valid for one. What cannot be parsed is kept as it came and never taken for
//! something else. The values filled in so far are in `filling`; asking the user is left to the editor's
//! side.

mod filling;
mod format;
mod js_regex;

use std::fmt::Display;

use serde_json::Value;

pub use filling::Filling;
pub use format::Format;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Form {
    pub title: Option<String>,
    pub description: Option<String>,
    pub fields: Vec<Field>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// The key of its value.
    pub name: String,
    pub title: Option<String>,
    pub description: Option<String>,
    pub required: bool,
    pub control: Control,
    /// What the agent proposes; it may not fit.
    pub default: Option<Value>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Control {
    /// Lengths are in characters.
    Text {
        length: Limits<u64>,
        pattern: Option<String>,
        format: Option<Format>,
    },
    Integer(Limits<i64>),
    Number(Limits<f64>),
    Toggle,
    /// One of several.
    One(Vec<Choice>),
    /// Any number of several.
    Many {
        options: Vec<Choice>,
        count: Limits<u64>,
    },
    /// `why` is fit for "it is …".
    Unsupported {
        why: String,
        schema: Value,
    },
}

/// Both ends belong to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits<T> {
    pub least: Option<T>,
    pub most: Option<T>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    pub value: String,
    pub title: Option<String>,
    pub description: Option<String>,
}

impl Form {
    /// Reads a `requestedSchema`.
    pub fn read(schema: &Value) -> Self {
        let required = |name: &str| {
            schema["required"]
                .as_array()
                .is_some_and(|required| required.iter().any(|one| one.as_str() == Some(name)))
        };
        let fields = schema["properties"].as_object().into_iter().flatten();
        Self {
            title: text(schema, "title"),
            description: text(schema, "description"),
            fields: fields.map(|(name, schema)| Field::read_schema(name, schema, required(name))).collect(),
        }
    }

    /// Whether it is a question with one of several answers, and nothing else.
    pub fn is_choice(&self) -> bool {
        matches!(&*self.fields, [Field { control: Control::One(_) | Control::Toggle, required: true, .. }])
    }

    /// The answers to such a question, each with what it is called.
    pub fn answers(&self) -> Vec<(String, Value)> {
        match self.fields.first().filter(|_| self.is_choice()).map(|field| &field.control) {
            Some(Control::One(options)) => {
                let answer = |option: &Choice| (option.label().to_owned(), Value::from(option.value.clone()));
                options.iter().map(answer).collect()
            }
            Some(Control::Toggle) => vec![("Yes".to_owned(), true.into()), ("No".to_owned(), false.into())],
            _ => Vec::new(),
        }
    }

    /// The same where only the question itself says what it is about.
    pub fn is_plain_question(&self) -> bool {
        self.is_choice()
            && self.fields.iter().all(|field| field.title.is_none() && field.description.is_none())
    }
}

impl Field {
    fn read_schema(name: &str, schema: &Value, required: bool) -> Self {
        let control =
            read_control(schema).unwrap_or_else(|why| Control::Unsupported { why, schema: schema.clone() });
        let default = Some(&schema["default"]).filter(|default| !default.is_null()).map(|default| {
            match (&control, default.as_f64()) {
                // Some languages write all their numbers with a fraction.
                (Control::Integer(_), Some(number)) if !default.is_i64() && number.fract() == 0.0 => {
                    Value::from(number as i64)
                }
                _ => default.clone(),
            }
        });
        Self {
            name: name.to_owned(),
            title: text(schema, "title"),
            description: text(schema, "description"),
            required,
            control,
            default,
        }
    }

    pub fn label(&self) -> &str {
        self.title.as_deref().filter(|title| !title.trim().is_empty()).unwrap_or(&self.name)
    }

    pub fn is_supported(&self) -> bool {
        !matches!(self.control, Control::Unsupported { .. })
    }

    /// What a value must be like, in a few words.
    pub fn hint(&self) -> Option<String> {
        match &self.control {
            Control::Text { length, pattern, format } => {
                let mut hints: Vec<String> = format.iter().map(|format| format.hint()).collect();
                hints.extend(length.characters());
                hints.extend(pattern.as_ref().map(|pattern| match js_regex::is_decided(pattern) {
                    true => format!("fitting {pattern}"),
                    false => format!("fitting {pattern}, which only the agent can check"),
                }));
                (!hints.is_empty()).then(|| hints.join(", "))
            }
            Control::Integer(limits) => Some(ranged("a whole number", limits)),
            Control::Number(limits) => Some(ranged("a number", limits)),
            Control::Many { count, .. } => count.range().map(|range| format!("choose {range}")),
            Control::Toggle | Control::One(_) | Control::Unsupported { .. } => None,
        }
    }

    /// What was typed as a value that fits, or what to do instead.
    pub fn read(&self, typed: &str) -> Result<Value, String> {
        let number = typed.trim();
        let value = match &self.control {
            Control::Text { .. } => Value::from(typed),
            Control::Integer(limits) => number
                .parse::<i64>()
                .map(Value::from)
                .map_err(|_| format!("type {}", ranged("a whole number", limits)))?,
            Control::Number(limits) => {
                read_number(number).ok_or_else(|| format!("type {}", ranged("a number", limits)))?
            }
            Control::Toggle | Control::One(_) | Control::Many { .. } => {
                return Err("choose from the list".to_owned());
            }
            Control::Unsupported { why, .. } => return Err(unsupported(why)),
        };
        self.check(&value).map(|()| value)
    }

    /// Whether a value fits; if not, what to do.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        match &self.control {
            Control::Text { length, pattern, format } => {
                let text = value.as_str().ok_or("type a text")?;
                let count = text.chars().count() as u64;
                if !length.hold(count) {
                    let length = length.characters().unwrap_or_default();
                    return Err(format!("type {length}; so far: {count}"));
                }
                if let Some(format) = format.as_ref().filter(|format| !format.fits(text)) {
                    return Err(format!("type {}", format.hint()));
                }
                match pattern {
                    Some(pattern) if js_regex::fits(pattern, text) == Some(false) => {
                        Err(format!("type what fits {pattern}"))
                    }
                    _ => Ok(()),
                }
            }
            Control::Integer(limits) => match value.as_i64() {
                Some(number) if limits.hold(number) => Ok(()),
                _ => Err(format!("type {}", ranged("a whole number", limits))),
            },
            Control::Number(limits) => match value.as_f64() {
                Some(number) if limits.hold(number) => Ok(()),
                _ => Err(format!("type {}", ranged("a number", limits))),
            },
            Control::Toggle => value.as_bool().map(drop).ok_or_else(|| "choose yes or no".to_owned()),
            Control::One(options) => match value.as_str() {
                Some(value) if options.iter().any(|option| option.value == value) => Ok(()),
                _ => Err("choose one from the list".to_owned()),
            },
            Control::Many { options, count } => {
                let chosen = value.as_array().ok_or("choose from the list")?;
                let offered =
                    |value: &Value| options.iter().any(|option| Some(&*option.value) == value.as_str());
                if !chosen.iter().all(offered) {
                    return Err("choose from the list".to_owned());
                }
                if !count.hold(chosen.len() as u64) {
                    let range = count.range().unwrap_or_default();
                    return Err(format!("choose {range}; so far: {}", chosen.len()));
                }
                Ok(())
            }
            Control::Unsupported { why, .. } => Err(unsupported(why)),
        }
    }

    /// A value as the user reads it, and could type it again.
    pub fn show(&self, value: &Value) -> String {
        let title = |value: &Value| match &self.control {
            Control::One(options) | Control::Many { options, .. } => options
                .iter()
                .find(|option| Some(&*option.value) == value.as_str())
                .map(|option| option.label().to_owned()),
            _ => None,
        };
        match value {
            Value::String(text) => title(value).unwrap_or_else(|| text.clone()),
            Value::Bool(yes) => if *yes { "yes" } else { "no" }.to_owned(),
            Value::Array(values) if values.is_empty() => "none of them".to_owned(),
            Value::Array(values) => {
                values.iter().map(|value| self.show(value)).collect::<Vec<_>>().join(", ")
            }
            other => other.to_string(),
        }
    }
}

impl Choice {
    pub fn label(&self) -> &str {
        self.title.as_deref().filter(|title| !title.trim().is_empty()).unwrap_or(&self.value)
    }
}

impl<T: Copy + PartialOrd + Display> Limits<T> {
    pub fn hold(&self, value: T) -> bool {
        self.least.is_none_or(|least| value >= least) && self.most.is_none_or(|most| value <= most)
    }

    fn range(&self) -> Option<String> {
        match (self.least, self.most) {
            (Some(least), Some(most)) if least == most => Some(format!("exactly {least}")),
            (Some(least), Some(most)) => Some(format!("{least} to {most}")),
            (Some(least), None) => Some(format!("at least {least}")),
            (None, Some(most)) => Some(format!("at most {most}")),
            (None, None) => None,
        }
    }
}

impl Limits<u64> {
    fn characters(&self) -> Option<String> {
        let one = self.most.or(self.least) == Some(1);
        self.range().map(|range| format!("{range} {}", if one { "character" } else { "characters" }))
    }
}

fn ranged<T: Copy + PartialOrd + Display>(what: &str, limits: &Limits<T>) -> String {
    match limits.range() {
        Some(range) => format!("{what}, {range}"),
        None => what.to_owned(),
    }
}

fn unsupported(why: &str) -> String {
    format!("it is {why}, which can't be filled in here")
}

fn read_number(typed: &str) -> Option<Value> {
    let whole = typed.parse::<i64>().map(Value::from).or_else(|_| typed.parse::<u64>().map(Value::from));
    whole.ok().or_else(|| {
        let number = typed.parse::<f64>().ok()?;
        serde_json::Number::from_f64(number).map(Value::from)
    })
}

// The schema.

fn text(schema: &Value, key: &str) -> Option<String> {
    schema[key].as_str().map(str::to_owned)
}

/// The error says what it is instead.
fn read_control(schema: &Value) -> Result<Control, String> {
    let known = match &schema["type"] {
        Value::String(known) => known.as_str(),
        Value::Null => return Err("of no type".to_owned()),
        other => return Err(format!("of the type {other}")),
    };
    let given = |key: &str| !schema[key].is_null();
    Ok(match known {
        "string" if given("oneOf") => Control::One(titled(&schema["oneOf"])?),
        "string" if given("enum") => Control::One(plain(&schema["enum"])?),
        "string" => Control::Text {
            length: limits(schema, ["minLength", "maxLength"], whole)?,
            pattern: typed(schema, "pattern")?,
            format: typed(schema, "format")?.as_deref().map(Format::read),
        },
        "integer" => Control::Integer(Limits {
            least: limit(schema, "minimum", |value| integer(value, f64::ceil))?,
            most: limit(schema, "maximum", |value| integer(value, f64::floor))?,
        }),
        "number" => Control::Number(limits(schema, ["minimum", "maximum"], Value::as_f64)?),
        "boolean" => Control::Toggle,
        "array" => {
            let items = &schema["items"];
            let options = match (&items["anyOf"], &items["type"]) {
                (Value::Null, Value::String(kind)) if kind == "string" => plain(&items["enum"])?,
                (options @ Value::Array(_), Value::Null) => titled(options)?,
                (options @ Value::Array(_), Value::String(kind)) if kind == "string" => titled(options)?,
                _ => return Err("a list of other things than texts to choose from".to_owned()),
            };
            Control::Many { options, count: limits(schema, ["minItems", "maxItems"], whole)? }
        }
        other => return Err(format!("of the type {other:?}")),
    })
}

fn plain(values: &Value) -> Result<Vec<Choice>, String> {
    choices(values, |value| {
        Some(Choice { value: value.as_str()?.to_owned(), title: None, description: None })
    })
}

fn titled(options: &Value) -> Result<Vec<Choice>, String> {
    choices(options, |option| {
        Some(Choice {
            value: option["const"].as_str()?.to_owned(),
            title: text(option, "title"),
            description: text(option, "description"),
        })
    })
}

fn choices(all: &Value, read: impl Fn(&Value) -> Option<Choice>) -> Result<Vec<Choice>, String> {
    let mut choices: Vec<Choice> = Vec::new();
    for one in all.as_array().into_iter().flatten() {
        let choice = read(one).ok_or("a choice of other things than texts")?;
        if !choices.iter().any(|known| known.value == choice.value) {
            choices.push(choice);
        }
    }
    if choices.is_empty() { Err("a choice of nothing".to_owned()) } else { Ok(choices) }
}

fn typed(schema: &Value, key: &str) -> Result<Option<String>, String> {
    limit(schema, key, |value| value.as_str().map(str::to_owned))
}

fn limits<T>(
    schema: &Value,
    keys: [&str; 2],
    read: impl Fn(&Value) -> Option<T>,
) -> Result<Limits<T>, String> {
    Ok(Limits { least: limit(schema, keys[0], &read)?, most: limit(schema, keys[1], &read)? })
}

fn limit<T>(schema: &Value, key: &str, read: impl Fn(&Value) -> Option<T>) -> Result<Option<T>, String> {
    match &schema[key] {
        Value::Null => Ok(None),
        value => read(value).map(Some).ok_or_else(|| format!("described by a {key} that can't be read")),
    }
}

/// Not negative.
fn whole(value: &Value) -> Option<u64> {
    let number = value.as_f64().filter(|number| *number >= 0.0 && number.fract() == 0.0);
    value.as_u64().or(number.map(|number| number as u64))
}

/// What is out of reach is taken for the nearest that is not.
fn integer(value: &Value, round: impl Fn(f64) -> f64) -> Option<i64> {
    value.as_i64().or_else(|| value.as_f64().map(|number| round(number) as i64))
}

#[cfg(test)]
mod tests;
