//! Whether an agent is logged in: as the protocol has it, which is still unstable, and as agents told it before that.
//! Both are only shown, so whatever is odd about them is left out.

use serde_json::Value;

use super::json::{each, text};
use crate::core::message::login::{Account, AuthState, AuthStatus};

/// The form of before: no request, and one account.
pub const AUTH_STATUS_OF_META: &str = "_auth/status_update";

/// The answer to `auth/status`, and what `auth/status_update` says.
pub fn auth_status(said: &Value) -> AuthStatus {
    let state = match said["state"].as_str() {
        Some("authenticated") => AuthState::Authenticated,
        Some("unauthenticated") => AuthState::Unauthenticated,
        Some("not_required") => AuthState::NotRequired,
        _ => AuthState::Unknown,
    };
    AuthStatus { state, accounts: each(&said["accounts"], account) }
}

/// What `_auth/status_update` says.
pub fn auth_status_of_meta(said: &Value) -> AuthStatus {
    let said = &said["authStatus"];
    match said["kind"].as_str() {
        None => AuthStatus::default(),
        Some("none") => AuthStatus { state: AuthState::Unauthenticated, accounts: Vec::new() },
        Some(_) => AuthStatus {
            state: AuthState::Authenticated,
            accounts: text(&said["label"])
                .map(|label| Account {
                    label,
                    active: None,
                    owner: text(&said["detail"]).into_iter().collect(),
                })
                .into_iter()
                .collect(),
        },
    }
}

fn account(account: &Value) -> Option<Account> {
    let owner = ["name", "email", "organization"].map(|field| text(&account[field]));
    Some(Account {
        label: text(&account["label"])?,
        active: account["active"].as_bool(),
        owner: owner.into_iter().flatten().collect(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_state_is_read_by_its_word_and_any_other_is_unknown() {
        for word in ["authenticated", "unauthenticated", "not_required", "unknown"] {
            assert_eq!(auth_status(&json!({ "state": word })).state.word(), word);
        }
        for odd in [json!({ "state": "_frozen" }), json!({ "state": 3 }), json!({}), json!(null), json!([])] {
            assert_eq!(auth_status(&odd), AuthStatus::default(), "{odd}");
        }
    }

    #[test]
    fn an_account_that_is_odd_costs_no_other() {
        let accounts = json!([{ "label": "Max", "active": true, "name": null, "email": "a@b", "organization": 4 }, 5, {},
            { "label": "Key", "active": "yes" }]);
        let said = auth_status(&json!({ "state": "authenticated", "accounts": accounts }));
        let label = |label: &str, active, owner: &[&str]| Account {
            label: label.into(),
            active,
            owner: owner.iter().map(|&part| part.into()).collect(),
        };
        assert_eq!(said.accounts, [label("Max", Some(true), &["a@b"]), label("Key", None, &[])]);
    }

    #[test]
    fn the_older_form_names_one_account_or_none() {
        let words = |said: Value| auth_status_of_meta(&json!({ "authStatus": said })).words();
        let key = json!({ "kind": "api_key", "label": "Anthropic API key", "detail": "ANTHROPIC_API_KEY" });
        assert_eq!(words(key).as_deref(), Some("logged in with Anthropic API key (ANTHROPIC_API_KEY)"));
        assert_eq!(words(json!({ "kind": "subscription" })).as_deref(), Some("logged in"));
        assert_eq!(words(json!({ "kind": "none" })).as_deref(), Some("not logged in"));
        for odd in [json!(null), json!({}), json!({ "kind": 4 }), json!("none")] {
            assert_eq!(words(odd), None);
        }
    }
}
