//! What an agent lets the user choose: the values of its mode and its model, and the order of its options.

use crate::core::message::{ConfigOption, Named, OptionKind};
use crate::core::session::Session;

/// The modes there are: id and name.
pub fn modes(session: &Session) -> Vec<(String, String)> {
    values(session, "mode", session.modes.as_ref().map(|modes| modes.available.as_slice()))
}

pub fn models(session: &Session) -> Vec<(String, String)> {
    values(session, "model", session.models.as_ref().map(|models| models.available.as_slice()))
}

/// The values of the option of a category, else those of the older field.
fn values(session: &Session, category: &str, older: Option<&[Named]>) -> Vec<(String, String)> {
    let pair = |value: &Named| (value.id.clone(), value.name.clone());
    match session.selection(category).map(|option| &option.kind) {
        Some(OptionKind::Select { groups, .. }) => {
            groups.iter().flat_map(|group| &group.values).map(pair).collect()
        }
        _ => older.unwrap_or_default().iter().map(pair).collect(),
    }
}

/// What is chosen of an option, as its values are called.
pub fn chosen_name(option: &ConfigOption) -> String {
    match &option.kind {
        OptionKind::Toggle { current } => if *current { "on" } else { "off" }.to_owned(),
        OptionKind::Select { current, groups } => {
            let named = groups.iter().flat_map(|group| &group.values).find(|value| value.id == *current);
            named.map_or_else(|| current.clone(), |value| value.name.clone())
        }
    }
}

/// Options as the agent orders them, but what belongs to the model right after it.
pub fn in_order(options: &[ConfigOption]) -> Vec<&ConfigOption> {
    let is = |option: &ConfigOption, category| option.category.as_deref() == Some(category);
    let Some(model) = ConfigOption::selection(options, "model") else {
        return options.iter().collect();
    };
    let (own, others): (Vec<_>, Vec<_>) = options.iter().partition(|option| is(option, "model_config"));
    let before = options[..=model].iter().filter(|option| !is(option, "model_config")).count();
    [&others[..before], &own, &others[before..]].concat()
}

/// The most values that a message lists.
const LISTED: usize = 8;

/// What there is to choose from, for a message.
pub fn listed<S: AsRef<str>>(values: &[S]) -> String {
    let first: Vec<&str> = values.iter().take(LISTED).map(AsRef::as_ref).collect();
    let more = values.len() - first.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", first.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::ids::{Moment, SessionKey};
    use crate::core::message::{Models, Modes, Opened, OptionGroup, Place};
    use crate::core::session::AgentRun;
    use crate::core::session::status::{mode, model};

    fn named(id: &str) -> Named {
        Named { id: id.into(), name: id.to_uppercase(), description: None }
    }

    fn option(id: &str, category: Option<&str>) -> ConfigOption {
        let groups = vec![OptionGroup { name: String::new(), values: vec![named("new"), named("other")] }];
        let kind = OptionKind::Select { current: "new".into(), groups };
        ConfigOption {
            id: id.into(),
            name: id.into(),
            description: None,
            category: category.map(str::to_owned),
            kind,
        }
    }

    fn open(opened: Opened) -> Session {
        let mut session = Session::new(SessionKey(1), AgentRun::DEMO, Place::default(), Moment(0));
        session.opened(opened, Moment(0));
        session
    }

    fn ids(values: Vec<(String, String)>) -> Vec<String> {
        values.into_iter().map(|(id, _)| id).collect()
    }

    #[test]
    fn the_option_of_a_category_counts_and_else_the_older_field() {
        let modes_of = |options| {
            let older = Modes { current: "old".into(), available: vec![named("old")] };
            let models = Models { current: "old".into(), available: vec![named("old")] };
            open(Opened { modes: Some(older), models: Some(models), options, ..Opened::default() })
        };
        let session = modes_of(Vec::new());
        assert_eq!((ids(modes(&session)), mode(&session)), (vec!["old".into()], Some("OLD".into())));
        let session = modes_of(vec![option("mode", Some("mode"))]);
        assert_eq!(ids(modes(&session)), ["new", "other"]);
        assert_eq!(mode(&session).as_deref(), Some("NEW"));
        assert_eq!((ids(models(&session)), model(&session)), (vec!["old".into()], Some("OLD".into())));
    }

    #[test]
    fn what_is_chosen_of_an_option_is_called_by_its_name() {
        assert_eq!(chosen_name(&option("o", None)), "NEW");
        let kind = OptionKind::Select { current: "secret".into(), groups: Vec::new() };
        assert_eq!(chosen_name(&ConfigOption { kind, ..option("o", None) }), "secret");
        let kind = OptionKind::Toggle { current: true };
        assert_eq!(chosen_name(&ConfigOption { kind, ..option("o", None) }), "on");
    }

    #[test]
    fn a_current_mode_that_is_not_among_the_modes_is_called_by_its_id() {
        let modes = Modes { current: "secret".into(), available: vec![named("old")] };
        let session = open(Opened { modes: Some(modes), ..Opened::default() });
        assert_eq!(mode(&session).as_deref(), Some("secret"));
    }

    #[test]
    fn what_belongs_to_the_model_comes_right_after_it() {
        let ordered = |options: &[(&str, Option<&str>)]| -> Vec<String> {
            let options: Vec<_> = options.iter().map(|(id, category)| option(id, *category)).collect();
            in_order(&options).into_iter().map(|option| option.id.clone()).collect()
        };
        let options =
            [("a", Some("model_config")), ("m", Some("model")), ("b", None), ("c", Some("model_config"))];
        assert_eq!(ordered(&options), ["m", "a", "c", "b"]);
        assert_eq!(ordered(&[("a", Some("model_config")), ("b", None)]), ["a", "b"]);
        let options = [("provider", Some("model")), ("model", Some("model")), ("a", Some("model_config"))];
        assert_eq!(ordered(&options), ["provider", "model", "a"]);
    }
}
