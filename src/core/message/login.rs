//! Whether an agent is logged in and by which accounts, as it reports it without being asked for a login. Only the state
//! means anything; the accounts are to be read.

use serde::{Deserialize, Serialize};

use crate::core::text::one_line;

/// What an agent reported last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthStatus {
    pub state: AuthState,
    pub accounts: Vec<Account>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum AuthState {
    /// There are credentials; whether they are valid is not known.
    Authenticated,
    Unauthenticated,
    NotRequired,
    /// The agent can't tell, or uses a word that this client does not know.
    #[default]
    Unknown,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    pub label: String,
    pub active: Option<bool>,
    /// Who it belongs to: name, email, organization, as far as they are told.
    pub owner: Vec<String>,
}

impl AuthStatus {
    /// `logged in with Claude Max (ada@example.org)`; nothing where nothing is known.
    pub fn words(&self) -> Option<String> {
        let accounts = self.account_names().join(", ");
        let state = match self.state {
            AuthState::Authenticated => "logged in",
            AuthState::Unauthenticated => "not logged in",
            AuthState::NotRequired => "no login needed",
            AuthState::Unknown if accounts.is_empty() => return None,
            AuthState::Unknown => "perhaps logged in",
        };
        Some(match accounts.as_str() {
            "" => state.to_owned(),
            accounts => format!("{state} with {accounts}"),
        })
    }

    /// Those in use, or all where the agent does not say which are.
    pub fn account_names(&self) -> Vec<String> {
        let any = self.accounts.iter().any(|account| account.active == Some(true));
        let used = self.accounts.iter().filter(|account| !any || account.active == Some(true));
        used.map(Account::words).collect()
    }
}

impl AuthState {
    /// The protocol's own word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Authenticated => "authenticated",
            Self::Unauthenticated => "unauthenticated",
            Self::NotRequired => "not_required",
            Self::Unknown => "unknown",
        }
    }
}

impl Account {
    fn words(&self) -> String {
        let label = one_line(&self.label);
        let owner: Vec<String> = self.owner.iter().map(|part| one_line(part)).collect();
        if owner.is_empty() { label } else { format!("{label} ({})", owner.join(", ")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(label: &str, active: Option<bool>, owner: &[&str]) -> Account {
        let owner = owner.iter().map(|&part| part.to_owned()).collect();
        Account { label: label.into(), active, owner }
    }

    #[test]
    fn accounts_in_use_are_named_and_all_where_none_is_marked() {
        let words = |state, accounts: &[Account]| AuthStatus { state, accounts: accounts.to_vec() }.words();
        let (max, key) = (account("Max", Some(true), &["Ada", "a@b"]), account("a\nkey", Some(false), &[]));
        let unmarked = account("Vertex", None, &[]);
        assert_eq!(words(AuthState::Unknown, &[]), None);
        assert_eq!(words(AuthState::Unauthenticated, &[]).as_deref(), Some("not logged in"));
        assert_eq!(words(AuthState::NotRequired, &[]).as_deref(), Some("no login needed"));
        let both = words(AuthState::Authenticated, &[key.clone(), max]);
        assert_eq!(both.as_deref(), Some("logged in with Max (Ada, a@b)"));
        let neither = words(AuthState::Unknown, &[key, unmarked]);
        assert_eq!(neither.as_deref(), Some("perhaps logged in with a key, Vertex"));
    }
}
