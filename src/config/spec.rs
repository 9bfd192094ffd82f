//! An option, and a table of options, as the help and the language server show them.

/// What an option takes, for its readers.
#[derive(Clone, Copy, Debug)]
pub enum Takes {
    /// In the help's words and as a type of the language server.
    Type(&'static str, &'static str),
    /// One of these.
    Word(&'static [&'static str]),
}

impl Takes {
    pub fn help(self) -> String {
        match self {
            Self::Type(help, _) => help.to_owned(),
            Self::Word(words) => {
                let quoted: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
                let (last, others) = quoted.split_last().expect("an option has two words at least");
                format!("{} or {last}", others.join(", "))
            }
        }
    }

    pub fn lua(self) -> String {
        match self {
            Self::Type(_, lua) => lua.to_owned(),
            Self::Word(words) => words.iter().map(|word| format!("{word:?}")).collect::<Vec<_>>().join("|"),
        }
    }
}

/// An option as the help and the language server show it.
#[derive(Clone, Copy, Debug)]
pub struct OptionSpec {
    /// The path in the table given to `setup()`; `{name}` stands for any name.
    pub key: &'static str,
    pub takes: Takes,
    /// As Lua writes it; `nil` where there is none.
    pub default: fn() -> String,
    pub about: &'static str,
}

/// A table of options.
#[derive(Clone, Copy, Debug)]
pub struct GroupSpec {
    /// What its options begin with.
    pub prefix: &'static str,
    /// The struct that has them.
    pub name: &'static str,
    pub options: &'static [OptionSpec],
    /// The tables in it, by their names and structs.
    pub groups: &'static [(&'static str, &'static str)],
}

impl GroupSpec {
    /// The names that may stand in the table.
    pub(super) fn known(&self) -> Vec<&'static str> {
        let own = self.options.iter().map(|option| &option.key[self.prefix.len()..]);
        own.chain(self.groups.iter().map(|(name, _)| *name)).collect()
    }
}
