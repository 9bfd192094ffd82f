//! What a session lets its user choose: modes, models, options, and what was chosen. How it is chosen is left
//! to the editor's side.

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
