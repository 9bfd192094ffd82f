//! A recording as a file holds it: one JSON object a line, with the time, the direction and what was said. The demo
//! agent reads by this, too, so it names nothing else of this program.

use serde::Deserialize;
use serde_json::Value;

/// One line of a recording.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Seconds since the recording began.
    pub at: f64,
    pub said: Said,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Said {
    ByClient(Value),
    ByAgent(Value),
    /// A line of the agent's that was no message.
    Noise(String),
    Stderr(String),
    Note(String),
}

#[derive(Deserialize)]
struct Written {
    t: f64,
    dir: String,
    msg: Option<Value>,
    raw: Option<String>,
    note: Option<String>,
}

/// The lines of a recording, or which of them can't be read, and why.
pub fn parse(text: &str) -> Result<Vec<Line>, String> {
    let first = text.lines().find(|line| !line.trim().is_empty());
    if first.is_some_and(|line| serde_json::from_str::<Value>(line).is_err()) {
        return Err("it is no recording of :Acp record".to_owned());
    }
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines.map(|(index, line)| read(line).map_err(|error| format!("line {}: {error}", index + 1))).collect()
}

fn read(line: &str) -> Result<Line, String> {
    let Written { t, dir, msg, raw, note } = serde_json::from_str(line).map_err(|error| error.to_string())?;
    if !t.is_finite() || t < 0.0 {
        return Err("a time that is none".to_owned());
    }
    let said = match (dir.as_str(), msg, raw, note) {
        ("client->agent" | "agent->client", Some(message), ..) if !message.is_object() => {
            return Err("a message that is not an object".to_owned());
        }
        ("client->agent", Some(message), ..) => Said::ByClient(message),
        ("agent->client", Some(message), ..) => Said::ByAgent(message),
        ("agent->client", None, Some(raw), _) => Said::Noise(raw),
        ("stderr", _, Some(raw), _) => Said::Stderr(raw),
        ("note", _, _, note) => Said::Note(note.unwrap_or_default()),
        (other, ..) => return Err(format!("a direction or content that I don't know: {other}")),
    };
    Ok(Line { at: t, said })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_is_broken_is_named() {
        let whole = r#"{"t":0,"dir":"note","note":"x"}"#;
        for (broken, why) in [
            ("{\"t\":0", "line 3: EOF"),
            (
                r#"{"t":0,"dir":"sideways","msg":{}}"#,
                "line 3: a direction or content that I don't know: sideways",
            ),
            (r#"{"t":0,"dir":"agent->client","msg":7}"#, "line 3: a message that is not an object"),
            (r#"{"t":-1,"dir":"note"}"#, "line 3: a time that is none"),
            (r#"{"dir":"note"}"#, "line 3: missing field `t`"),
        ] {
            let error = parse(&format!("{whole}\n\n{broken}\n")).expect_err("broken");
            assert!(error.starts_with(why), "{error}");
        }
        assert_eq!(parse("# Notes\n").expect_err("no JSON"), "it is no recording of :Acp record");
        assert_eq!(parse(whole), Ok(vec![Line { at: 0.0, said: Said::Note("x".into()) }]));
    }
}
