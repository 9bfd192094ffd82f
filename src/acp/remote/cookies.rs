//! The cookies of one connection, by which a server's front end finds the same server again. They are kept as long
//! as the connection, and go nowhere else, so that nothing but names and values matters.

/// More than any front end sets.
const MAX_COOKIES: usize = 32;

/// The most bytes of one.
const LONGEST: usize = 4 << 10;

#[derive(Default)]
pub struct Cookies(Vec<(String, String)>);

impl Cookies {
    /// Takes a `Set-Cookie` header.
    pub fn set(&mut self, header: &str) {
        let mut parts = header.split(';').map(str::trim);
        let Some((name, value)) = parts.next().and_then(|pair| pair.split_once('=')) else { return };
        if name.is_empty() || header.len() > LONGEST {
            return;
        }
        self.0.retain(|(known, _)| known != name);
        let is_over = parts.filter_map(|part| part.split_once('=')).any(|(key, value)| {
            key.eq_ignore_ascii_case("max-age") && value.parse::<i64>().is_ok_and(|age| age <= 0)
        });
        if !is_over && self.0.len() < MAX_COOKIES {
            self.0.push((name.to_owned(), value.to_owned()));
        }
    }

    /// What is sent with a request, if there is any.
    pub fn header(&self) -> Option<String> {
        let pairs: Vec<String> = self.0.iter().map(|(name, value)| format!("{name}={value}")).collect();
        (!pairs.is_empty()).then(|| pairs.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_are_sent_back_until_they_are_over() {
        let mut cookies = Cookies::default();
        assert_eq!(cookies.header(), None);
        cookies.set("node=a1; Path=/; HttpOnly");
        cookies.set("team=x=y");
        assert_eq!(cookies.header().as_deref(), Some("node=a1; team=x=y"));
        cookies.set("node=b2");
        cookies.set("team=; Max-Age=0");
        cookies.set("no pair");
        assert_eq!(cookies.header().as_deref(), Some("node=b2"));
    }

    #[test]
    fn they_are_bounded() {
        let mut cookies = Cookies::default();
        (0..100).for_each(|number| cookies.set(&format!("c{number}=1")));
        cookies.set(&format!("big={}", "x".repeat(LONGEST)));
        assert_eq!(cookies.header().map(|header| header.split(';').count()), Some(MAX_COOKIES));
    }
}
