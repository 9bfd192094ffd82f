//! What the user of a session can choose: modes, models, options, and the current choices. How they are
//! chosen is left to the editor's side.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named {
    pub id: String,
    pub name: String,
    pub description: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Modes {
    pub current: String,
    pub available: Vec<Named>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Models {
    pub current: String,
    pub available: Vec<Named>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigOption {
    pub id: String,
    pub name: String,
    pub description: Option<String>,
    /// `mode`, `model`, `thought_level`, … as the agent wrote it.
    pub category: Option<String>,
    pub kind: OptionKind,
}

impl ConfigOption {
    /// The selection of a category, such as the model: the one that is called so where an agent puts several into
    /// it (one lists its providers before its models), else the first. By its place in the list.
    pub fn selection(options: &[Self], category: &str) -> Option<usize> {
        let is = |option: &Self| {
            option.category.as_deref() == Some(category) && matches!(option.kind, OptionKind::Select { .. })
        };
        let called = |option: &Self| option.id == category || option.name.eq_ignore_ascii_case(category);
        let named = options.iter().position(|option| is(option) && called(option));
        named.or_else(|| options.iter().position(is))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OptionKind {
    Select { current: String, groups: Vec<OptionGroup> },
    Toggle { current: bool },
}

/// `name` is empty for an ungrouped list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OptionGroup {
    pub name: String,
    pub values: Vec<Named>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OptionValue {
    Value(String),
    Toggle(bool),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Chosen {
    Mode(String),
    Model(String),
    /// The whole list, which replaces the old one.
    Options(Vec<ConfigOption>),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn option(id: &str, name: &str, category: &str) -> ConfigOption {
        ConfigOption {
            id: id.into(),
            name: name.into(),
            description: None,
            category: Some(category.into()),
            kind: OptionKind::Select { current: String::new(), groups: Vec::new() },
        }
    }

    #[test]
    fn of_several_options_of_a_category_the_one_called_so_is_meant() {
        let toggle =
            ConfigOption { kind: OptionKind::Toggle { current: true }, ..option("model", "Model", "model") };
        let cases = [
            (vec![option("provider", "Provider", "model"), option("model", "Pick one", "model")], Some(1)),
            (vec![option("provider", "Provider", "model"), option("m", "Model", "model")], Some(1)),
            (vec![option("a", "A", "model"), option("b", "B", "model")], Some(0)),
            (vec![option("model", "Model", "other")], None),
            (vec![toggle, option("b", "B", "model")], Some(1)),
            (vec![], None),
        ];
        for (options, wanted) in cases {
            assert_eq!(ConfigOption::selection(&options, "model"), wanted, "{options:?}");
        }
    }
}
