//! What would be run in a terminal for a login, as the user is shown it before: all of it, since the agent has chosen its
//! arguments and variables, and perhaps the program. Running it is left to others.

use std::path::PathBuf;

use crate::core::rules::variables::is_harmless;
use crate::core::text::typed;
use crate::core::text::visible::visible;

/// A command that logs in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginCommand {
    /// The program and its arguments.
    pub words: Vec<String>,
    /// What the agent wants to be set.
    pub env: Vec<(String, String)>,
    /// What the user has configured for the agent. The agent's own takes its place.
    pub own_env: Vec<(String, String)>,
    pub cwd: PathBuf,
    /// The agent is in a sandbox, which a terminal of Neovim's is not.
    pub leaves_sandbox: bool,
}

impl LoginCommand {
    /// All of it as lines, without a character that can't be seen. What the user has configured is named without its
    /// values: they may be keys.
    pub fn page(&self, agent: &str) -> Vec<String> {
        let mut page = vec![
            format!("To log in to {agent}, this would be run in a terminal:"),
            format!("  {}", typed(&[], &self.words)),
            "In the folder:".to_owned(),
            format!("  {}", self.cwd.display()),
        ];
        let (harmless, others): (Vec<_>, Vec<_>) =
            self.env.iter().partition(|(name, value)| is_harmless(name, value));
        let mut group = |head: &str, variables: Vec<&(String, String)>| {
            if !variables.is_empty() {
                page.push(head.to_owned());
                let line = |one| format!("  {}", typed(std::slice::from_ref(one), &[]));
                page.extend(variables.into_iter().map(line));
            }
        };
        group("With variables that may change what it runs or does:", others);
        group("With variables that change only what it says:", harmless);
        let is_own = |name: &&String| !self.env.iter().any(|(other, _)| other == *name);
        let own: Vec<&str> =
            self.own_env.iter().map(|(name, _)| name).filter(is_own).map(String::as_str).collect();
        if !own.is_empty() {
            page.push(format!("With variables of your own: {}", own.join(" ")));
        }
        if self.leaves_sandbox {
            page.push("It runs outside of the agent's sandbox.".to_owned());
        }
        page.into_iter().map(|line| visible(&line).into_owned()).collect()
    }

    /// The variables that are set, the later of two that have a name in common.
    pub fn variables(&self) -> Vec<(String, String)> {
        self.own_env.iter().chain(&self.env).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    #[test]
    fn all_that_a_login_runs_is_on_its_page_and_dangerous_variables_come_first() {
        let command = LoginCommand {
            words: ["/opt/a b", "it's", "\u{202e}x", ""].map(str::to_owned).to_vec(),
            env: pairs(&[("NO_COLOR", "1"), ("LD_PRELOAD", "/tmp/x y.so"), ("A", "")]),
            own_env: pairs(&[("API_KEY", "secret"), ("A", "mine")]),
            cwd: "/p".into(),
            leaves_sandbox: true,
        };
        let page = [
            "To log in to Fake, this would be run in a terminal:",
            r"  '/opt/a b' 'it'\''s' '<202e>x' ''",
            "In the folder:",
            "  /p",
            "With variables that may change what it runs or does:",
            "  LD_PRELOAD='/tmp/x y.so'",
            "  A=",
            "With variables that change only what it says:",
            "  NO_COLOR=1",
            "With variables of your own: API_KEY",
            "It runs outside of the agent's sandbox.",
        ];
        assert_eq!(command.page("Fake"), page);
        assert_eq!(command.variables().last(), Some(&("A".into(), String::new())));
    }

    #[test]
    fn a_plain_login_is_a_command_and_a_folder() {
        let command = LoginCommand {
            words: vec!["/opt/a".into(), "login".into()],
            env: Vec::new(),
            own_env: Vec::new(),
            cwd: "/p".into(),
            leaves_sandbox: false,
        };
        assert_eq!(command.page("Fake")[1..], ["  /opt/a login", "In the folder:", "  /p"]);
    }
}
