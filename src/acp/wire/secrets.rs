//! Values that must be neither written down nor shown, wherever they turn up: those of an agent's environment, known
//! from the start, and those of the headers that its connection was made with.

use std::sync::{Arc, OnceLock};

use crate::core::inspector::scrub::{HIDDEN, is_secret};

/// What is shorter may stand anywhere by chance.
const SHORTEST: usize = 8;

/// Cheap to clone; all clones know what one is told.
#[derive(Clone, Debug, Default)]
pub struct Secrets {
    environment: Arc<[String]>,
    /// With those of the environment, once they are known.
    all: Arc<OnceLock<Arc<[String]>>>,
}

impl Secrets {
    pub fn of(env: &[(String, String)]) -> Self {
        let values = env.iter().filter(|(name, _)| is_secret(name)).flat_map(|(_, value)| forms(value));
        Self { environment: sorted(values), all: Arc::default() }
    }

    /// Adds the values of headers, and each word of them, as in `Bearer x`. It is said once.
    pub fn add_headers<'a>(&self, values: impl IntoIterator<Item = &'a str>) {
        let words = |value: &'a str| value.split_whitespace().map(|word| word.trim_end_matches([',', ';']));
        let parts = values.into_iter().flat_map(|value| words(value).chain([value]));
        let all = parts.flat_map(forms).chain(self.environment.iter().cloned());
        // It is said once for each connection, and each has secrets of its own.
        let _ = self.all.set(sorted(all));
    }

    /// All of them, longer ones first.
    pub fn all(&self) -> Arc<[String]> {
        self.all.get().unwrap_or(&self.environment).clone()
    }

    pub fn hidden(&self, text: &str) -> String {
        let all = self.all.get().unwrap_or(&self.environment);
        all.iter().fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), HIDDEN))
    }
}

/// A value as it is, and as it stands in JSON.
fn forms(value: &str) -> impl Iterator<Item = String> {
    let quoted = serde_json::Value::from(value).to_string();
    let escaped = quoted[1..quoted.len() - 1].to_owned();
    [value.to_owned(), escaped].into_iter().filter(|form| form.len() >= SHORTEST)
}

/// What is part of another must not be replaced before it.
fn sorted(values: impl Iterator<Item = String>) -> Arc<[String]> {
    let mut values: Vec<String> = values.collect();
    values.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
    values.dedup();
    values.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_hidden_as_a_whole_and_word_by_word() {
        let secrets = Secrets::of(&[("A_TOKEN".into(), "token-of-env".into())]);
        let shown = secrets.clone();
        secrets.add_headers(["Bearer sekrit-of-mine", "session=sekrit-of-cookie; x=1", "short"]);
        for (text, hidden) in [
            ("I got Bearer sekrit-of-mine!", "I got [hidden]!"),
            ("sekrit-of-mine it is", "[hidden] it is"),
            ("session=sekrit-of-cookie", "[hidden]"),
            ("token-of-env", "[hidden]"),
            ("a Bearer of short news", "a Bearer of short news"),
        ] {
            assert_eq!(shown.hidden(text), hidden);
        }
    }

    #[test]
    fn a_secret_is_hidden_in_json_too() {
        let secrets = Secrets::of(&[("A_TOKEN".into(), r#"with "quotes""#.into())]);
        let text = serde_json::json!({ "text": r#"with "quotes""# }).to_string();
        assert_eq!(secrets.hidden(&text), r#"{"text":"[hidden]"}"#);
    }
}
