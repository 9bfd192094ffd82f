//! The formats that a form's text may have. Only values that are certainly wrong are refused; unknown
//! formats are shown and left to the agent.

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Format {
    Email,
    Uri,
    Date,
    DateTime,
    Other(String),
}

impl Format {
    pub fn read(word: &str) -> Self {
        match word {
            "email" => Self::Email,
            "uri" => Self::Uri,
            "date" => Self::Date,
            "date-time" => Self::DateTime,
            other => Self::Other(other.to_owned()),
        }
    }

    pub fn hint(&self) -> String {
        match self {
            Self::Email => "an email address such as name@example.org".to_owned(),
            Self::Uri => "an address with its scheme, such as https://example.org".to_owned(),
            Self::Date => "a date such as 2026-01-31".to_owned(),
            Self::DateTime => "a date and time such as 2026-01-31T14:02:00Z".to_owned(),
            Self::Other(word) => format!("in the format {word:?}, which only the agent can check"),
        }
    }

    pub fn fits(&self, text: &str) -> bool {
        match self {
            Self::Email => {
                text.rsplit_once('@').is_some_and(|(name, domain)| !name.is_empty() && !domain.is_empty())
                    && !text.contains(is_blank)
            }
            Self::Uri => text.split_once(':').is_some_and(|(scheme, rest)| {
                let allowed = |char: char| char.is_ascii_alphanumeric() || "+-.".contains(char);
                scheme.starts_with(|first: char| first.is_ascii_alphabetic())
                    && scheme.chars().all(allowed)
                    && !rest.is_empty()
                    && !text.contains(is_blank)
            }),
            Self::Date => is_date(text),
            Self::DateTime => is_date_time(text).unwrap_or(false),
            Self::Other(_) => true,
        }
    }
}

fn is_blank(char: char) -> bool {
    char.is_whitespace() || char.is_control()
}

/// Digits only, exactly so many.
fn number(text: &str, digits: usize) -> Option<u32> {
    (text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| text.parse().ok())
        .flatten()
}

fn is_date(text: &str) -> bool {
    let mut parts = text.splitn(3, '-');
    let mut part = |digits| number(parts.next()?, digits);
    let (Some(year), Some(month), Some(day)) = (part(4), part(2), part(2)) else { return false };
    let leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let days = match month {
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        1..=12 => 31,
        _ => return false,
    };
    (1..=days).contains(&day)
}

/// As RFC 3339 has it; a second 60 is a leap second.
fn is_date_time(text: &str) -> Option<bool> {
    let (date, time) = text.split_once(['T', 't'])?;
    let at = time.find(['Z', 'z', '+', '-'])?;
    let (clock, zone) = time.split_at(at);
    let (clock, fraction) = clock.split_once('.').map_or((clock, None), |(clock, rest)| (clock, Some(rest)));
    let mut parts = clock.splitn(3, ':');
    let mut part = || number(parts.next()?, 2);
    let (hour, minute, second) = (part()?, part()?, part()?);
    let zone = match zone.strip_prefix(['+', '-']) {
        None => zone.len() == 1,
        Some(offset) => {
            let (hours, minutes) = offset.split_once(':')?;
            number(hours, 2)? < 24 && number(minutes, 2)? < 60
        }
    };
    let fraction = fraction
        .is_none_or(|digits| !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit()));
    Some(is_date(date) && hour < 24 && minute < 60 && second <= 60 && fraction && zone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_certainly_wrong_is_refused() {
        for (format, text, expected) in [
            ("email", "name@example.org", true),
            ("email", "\"a@b\"@c", true),
            ("email", "name", false),
            ("email", "@b", false),
            ("email", "a@", false),
            ("email", "a b@c", false),
            ("uri", "https://example.org/x?y", true),
            ("uri", "mailto:a@b", true),
            ("uri", "urn:x", true),
            ("uri", "example.org", false),
            ("uri", "https://a b", false),
            ("uri", "1a:b", false),
            ("uri", "a:", false),
            ("date", "2024-02-29", true),
            ("date", "2026-02-29", false),
            ("date", "1900-02-29", false),
            ("date", "2000-02-29", true),
            ("date", "2026-13-01", false),
            ("date", "2026-04-31", false),
            ("date", "2026-1-1", false),
            ("date", "2026-01-00", false),
            ("date", "+026-01-01", false),
            ("date", "2026-01-01-01", false),
            ("date-time", "2026-01-31T14:02:00Z", true),
            ("date-time", "2026-01-31t14:02:60.123+05:30", true),
            ("date-time", "2026-01-31T14:02:00-08:00", true),
            ("date-time", "2026-01-31T14:02:00", false),
            ("date-time", "2026-01-31 14:02:00Z", false),
            ("date-time", "2026-01-31T24:00:00Z", false),
            ("date-time", "2026-01-31T14:02Z", false),
            ("date-time", "2026-01-31T14:02:00.Z", false),
            ("date-time", "2026-01-31T14:02:00ZZ", false),
            ("date-time", "2026-01-31T14:02:00+5:30", false),
            ("colour", "whatever", true),
        ] {
            assert_eq!(Format::read(format).fits(text), expected, "{format} {text}");
        }
    }
}
