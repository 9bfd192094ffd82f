//! A session's configuration options.

use serde_json::Value;

use super::json::{self, each, id, text};
use crate::core::message::{ConfigOption, Named, OptionGroup, OptionKind};

/// The list of configuration options; those of an unknown type are left out.
pub fn options(value: &Value) -> Vec<ConfigOption> {
    each(value, |option| {
        let id = id(&option["id"])?;
        let kind = match option["type"].as_str()? {
            "select" => OptionKind::Select {
                current: json::id(&option["currentValue"])?,
                groups: groups(&option["options"]),
            },
            "boolean" => OptionKind::Toggle { current: option["currentValue"].as_bool()? },
            _ => return None,
        };
        let name = text(&option["name"]).unwrap_or_else(|| id.clone());
        Some(ConfigOption {
            id,
            name,
            description: text(&option["description"]),
            category: text(&option["category"]),
            kind,
        })
    })
}

/// Values come flat or in groups, and here also mixed: flat ones in a row are one nameless group.
fn groups(value: &Value) -> Vec<OptionGroup> {
    let mut groups: Vec<OptionGroup> = Vec::new();
    for item in value.as_array().into_iter().flatten() {
        if item["options"].is_array() {
            let name = text(&item["name"]).or_else(|| id(&item["group"])).unwrap_or_default();
            groups.push(OptionGroup { name, values: each(&item["options"], |value| named(value, "value")) });
        } else if let Some(value) = named(item, "value") {
            match groups.last_mut() {
                Some(group) if group.name.is_empty() => group.values.push(value),
                _ => groups.push(OptionGroup { name: String::new(), values: vec![value] }),
            }
        }
    }
    groups
}

/// A value with its name, whose id is under this key.
pub fn named(value: &Value, key: &str) -> Option<Named> {
    let id = id(&value[key])?;
    let name = text(&value["name"]).unwrap_or_else(|| id.clone());
    Some(Named { id, name, description: text(&value["description"]) })
}
