use proptest::prelude::*;
use serde_json::json;

use super::*;

fn field(schema: Value) -> Field {
    let form = Form::read(&json!({"type": "object", "properties": {"a": schema}}));
    form.fields.into_iter().next().expect("a field")
}

fn why(schema: Value) -> String {
    match field(schema).control {
        Control::Unsupported { why, .. } => why,
        known => panic!("taken for {known:?}"),
    }
}

/// Read as typed: the value, or what to do.
fn read(schema: Value, typed: &str) -> Result<Value, String> {
    field(schema).read(typed)
}

fn refused(schema: Value, typed: &str) -> String {
    read(schema, typed).expect_err(typed)
}

// Reading the schema.

#[test]
fn fields_stand_in_the_agents_order() {
    let text = r#"{"type": "object", "title": "T", "properties": {
        "zebra": {"type": "string", "title": "Name", "description": "of it"}, "apple": {"type": "boolean"},
        "mango": {"type": "integer"}
    }, "required": ["mango", "gone"]}"#;
    let form = Form::read(&serde_json::from_str(text).expect("JSON"));
    let names: Vec<_> = form.fields.iter().map(|field| (field.label(), field.required)).collect();
    assert_eq!(names, [("Name", false), ("apple", false), ("mango", true)]);
    assert_eq!(form.title.as_deref(), Some("T"));
    assert_eq!(form.fields[0].description.as_deref(), Some("of it"));
}

#[test]
fn each_known_type_becomes_its_control() {
    let choice = |value: &str, title: Option<&str>| Choice {
        value: value.into(),
        title: title.map(Into::into),
        description: None,
    };
    for (schema, expected) in [
        (
            json!({"type": "string", "minLength": 1, "maxLength": 5.0, "pattern": "a", "format": "email"}),
            Control::Text {
                length: Limits { least: Some(1), most: Some(5) },
                pattern: Some("a".into()),
                format: Some(Format::Email),
            },
        ),
        (
            json!({"type": "string", "format": "colour"}),
            Control::Text {
                length: Limits::default(),
                pattern: None,
                format: Some(Format::Other("colour".into())),
            },
        ),
        (
            json!({"type": "string", "enum": ["x", "y", "x"]}),
            Control::One(vec![choice("x", None), choice("y", None)]),
        ),
        (
            json!({"type": "string", "oneOf": [{"const": "x", "title": "X"}, {"const": "y"}]}),
            Control::One(vec![choice("x", Some("X")), choice("y", None)]),
        ),
        (
            json!({"type": "integer", "minimum": 0.5, "maximum": 1e30}),
            Control::Integer(Limits { least: Some(1), most: Some(i64::MAX) }),
        ),
        (
            json!({"type": "number", "minimum": 0, "maximum": null}),
            Control::Number(Limits { least: Some(0.0), most: None }),
        ),
        (json!({"type": "boolean"}), Control::Toggle),
        (
            json!({"type": "array", "items": {"type": "string", "enum": ["x"]}, "minItems": 1}),
            Control::Many { options: vec![choice("x", None)], count: Limits { least: Some(1), most: None } },
        ),
        (
            json!({"type": "array", "items": {"anyOf": [{"const": "x", "title": "X"}]}, "maxItems": 2}),
            Control::Many {
                options: vec![choice("x", Some("X"))],
                count: Limits { least: None, most: Some(2) },
            },
        ),
    ] {
        assert_eq!(field(schema.clone()).control, expected, "{schema}");
    }
}

#[test]
fn what_is_not_known_is_kept_and_never_taken_for_what_is() {
    let date = json!({"type": "date", "title": "When", "zone": {"any": 1}});
    assert_eq!(why(date.clone()), "of the type \"date\"");
    let field = field(date.clone());
    assert!(!field.is_supported() && field.read("2026-01-01").is_err());
    assert!(matches!(field.control, Control::Unsupported { schema, .. } if schema == date));
    for schema in [
        json!({}),
        json!(true),
        json!("string"),
        json!({"type": ["string", "null"]}),
        json!({"type": "object", "properties": {}}),
        json!({"type": "string", "enum": []}),
        json!({"type": "string", "enum": ["x", 1]}),
        json!({"type": "string", "enum": "x"}),
        json!({"type": "string", "oneOf": [{"title": "X"}]}),
        json!({"type": "string", "minLength": "3"}),
        json!({"type": "string", "maxLength": -1}),
        json!({"type": "string", "pattern": 1}),
        json!({"type": "number", "minimum": "0"}),
        json!({"type": "array"}),
        json!({"type": "array", "items": {"type": "string"}}),
        json!({"type": "array", "items": {"type": "integer", "enum": [1]}}),
        json!({"type": "array", "items": {"type": "date", "anyOf": [{"const": "x"}]}}),
    ] {
        assert!(!why(schema.clone()).is_empty(), "{schema}");
    }
}

#[test]
fn a_schema_without_properties_is_a_form_without_fields() {
    for schema in [json!({}), json!({"properties": []}), json!({"properties": {}}), json!(null)] {
        assert_eq!(Form::read(&schema).fields, []);
    }
}

// Values.

#[test]
fn what_does_not_fit_is_refused_with_what_to_do() {
    let text = |more: Value| {
        let mut schema = json!({"type": "string"});
        schema.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        schema
    };
    assert_eq!(
        refused(text(json!({"minLength": 3, "maxLength": 5})), "\u{e9}\u{e9}"),
        "type 3 to 5 characters; so far: 2"
    );
    assert_eq!(refused(text(json!({"maxLength": 1})), "ab"), "type at most 1 character; so far: 2");
    assert_eq!(refused(text(json!({"pattern": "^a+$"})), "b"), "type what fits ^a+$");
    assert!(refused(text(json!({"format": "email"})), "b").starts_with("type an email address"));
    let age = json!({"type": "integer", "minimum": 1, "maximum": 120});
    for typed in ["0", "121", "1.5", "x", "", "99999999999999999999"] {
        assert_eq!(refused(age.clone(), typed), "type a whole number, 1 to 120", "{typed}");
    }
    for typed in ["0.4", "inf", "NaN", "1,5", ""] {
        assert_eq!(
            refused(json!({"type": "number", "minimum": 0.5}), typed),
            "type a number, at least 0.5",
            "{typed}"
        );
    }
    let several =
        field(json!({"type": "array", "items": {"enum": ["x", "y"], "type": "string"}, "minItems": 2}));
    assert_eq!(several.check(&json!(["x"])).expect_err("too few"), "choose at least 2; so far: 1");
    assert!(several.check(&json!(["x", "z"])).is_err());
    assert!(field(json!({"type": "string", "enum": ["x"]})).check(&json!("z")).is_err());
    assert!(field(json!({"type": "boolean"})).check(&json!("true")).is_err());
}

#[test]
fn what_fits_is_taken_as_it_was_typed() {
    let string = json!({"type": "string"});
    assert_eq!(read(string.clone(), "  two words "), Ok(json!("  two words ")));
    assert_eq!(read(string, "12"), Ok(json!("12")));
    assert_eq!(read(json!({"type": "integer"}), " 42 "), Ok(json!(42)));
    assert_eq!(read(json!({"type": "number"}), "42"), Ok(json!(42)));
    assert_eq!(read(json!({"type": "number"}), "-0.25"), Ok(json!(-0.25)));
}

#[test]
fn a_pattern_that_cannot_be_decided_is_said_and_not_enforced() {
    let schema = json!({"type": "string", "pattern": r"^(?=.*\d).+$"});
    assert_eq!(read(schema.clone(), "none"), Ok(json!("none")));
    assert_eq!(
        field(schema).hint().as_deref(),
        Some(r"fitting ^(?=.*\d).+$, which only the agent can check")
    );
    let schema = json!({"type": "string", "pattern": r"^\d+$"});
    assert_eq!(field(schema).hint().as_deref(), Some(r"fitting ^\d+$"));
}

// Filling in.

fn filling() -> Filling {
    Filling::new(Form::read(&json!({"properties": {
        "name": {"type": "string", "title": "Name", "default": "Ada"},
        "age": {"type": "integer", "default": 200.0, "maximum": 120},
        "size": {"type": "integer", "default": 3.0},
        "when": {"type": "date"},
        "sure": {"type": "boolean"},
    }, "required": ["sure", "name"]})))
}

#[test]
fn what_the_agent_proposes_is_filled_in_where_it_fits() {
    let filling = filling();
    let reviews: Vec<_> = (0..5).map(|index| filling.review(index)).collect();
    let unsupported = "it is of the type \"date\", which can't be filled in here";
    assert_eq!(reviews, ["Ada", "left out", "3", unsupported, "needed"]);
    assert_eq!(filling.filled(), ["Name", "size"]);
    assert_eq!(filling.field(1).and_then(|field| field.default.clone()), Some(json!(200)));
}

#[test]
fn fields_are_asked_for_one_after_the_other_and_what_is_needed_is_missed() {
    let mut filling = filling();
    assert!(!filling.is_begun());
    assert_eq!(filling.next(), Some(0));
    filling.fill(0, Some(json!("Eve"))).expect("a fit");
    filling.fill(1, None).expect("optional");
    filling.fill(2, None).expect("optional");
    assert_eq!(filling.next(), Some(4), "what is unsupported is not asked for");
    assert_eq!(filling.content().expect_err("not yet"), "sure is needed");
    assert!(filling.fill(4, None).is_err());
    filling.fill(4, Some(json!(false))).expect("a fit");
    assert_eq!((filling.next(), filling.is_begun()), (None, true));
    assert_eq!(filling.content(), Ok(json!({"name": "Eve", "sure": false})));
}

#[test]
fn a_value_that_does_not_fit_never_gets_in() {
    let mut filling = filling();
    assert!(filling.fill(4, Some(json!("yes"))).is_err());
    assert!(filling.fill(3, Some(json!("2026-01-01"))).is_err());
    assert_eq!(filling.filled(), ["Name", "size"]);
    filling.fill(9, Some(json!(1))).expect("no field, no harm");
}

#[test]
fn a_form_that_needs_what_is_unsupported_cannot_be_sent() {
    let form = Form::read(&json!({"properties": {"when": {"type": "date"}}, "required": ["when"]}));
    let filling = Filling::new(form);
    assert_eq!(filling.next(), None);
    assert!(filling.content().expect_err("impossible").starts_with("when: it is of the type \"date\""));
}

// Whatever comes.

fn json_value() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(vec![
        "string", "integer", "number", "boolean", "array", "date", "email", "x", "^a$", "(", "",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word.prop_map(Value::from),
    ];
    let key = prop::sample::select(vec![
        "type",
        "properties",
        "required",
        "enum",
        "oneOf",
        "anyOf",
        "items",
        "const",
        "title",
        "default",
        "minLength",
        "maxLength",
        "minimum",
        "maximum",
        "minItems",
        "pattern",
        "format",
        "a",
    ]);
    leaf.prop_recursive(4, 32, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..6).prop_map(|pairs| {
                Value::Object(pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
            }),
        ]
    })
}

/// A schema of a known type, and a value for it that mostly fits.
fn schema_and_value() -> impl Strategy<Value = (Value, Value)> {
    let text = ("\\PC{1,12}", 0u64..6, 0u64..14).prop_map(|(text, least, most)| {
        (json!({"type": "string", "minLength": least, "maxLength": most}), json!(text))
    });
    let integer = (any::<i64>(), any::<i64>())
        .prop_map(|(value, least)| (json!({"type": "integer", "minimum": least}), json!(value)));
    let number = (any::<f64>(), -1e3..1e3)
        .prop_map(|(value, most)| (json!({"type": "number", "maximum": most}), json!(value)));
    let big = any::<u64>().prop_map(|value| (json!({"type": "number"}), json!(value)));
    prop_oneof![text, integer, number, big]
}

proptest! {
    #[test]
    fn a_value_that_fits_is_accepted_as_it_is((schema, value) in schema_and_value()) {
        let field = field(schema.clone());
        prop_assert!(field.is_supported());
        if field.check(&value).is_ok() {
            prop_assert_eq!(field.read(&field.show(&value)), Ok(value.clone()));
            let mut filling = Filling::new(Form::read(&json!({"properties": {"a": schema}, "required": ["a"]})));
            prop_assert_eq!(filling.fill(0, Some(value.clone())), Ok(()));
            prop_assert_eq!(filling.content(), Ok(json!({"a": value})));
        } else {
            prop_assert!(field.read(&field.show(&value)).is_err());
        }
    }

    #[test]
    fn what_is_read_fits((schema, _) in schema_and_value(), typed in "\\PC{0,12}|-?[0-9]{1,20}(\\.[0-9]{1,3})?") {
        let field = field(schema);
        if let Ok(value) = field.read(&typed) {
            prop_assert_eq!(field.check(&value), Ok(()));
        }
    }

    #[test]
    fn no_schema_fails(schema in json_value(), value in json_value(), typed in "\\PC{0,9}") {
        let schema = json!({"properties": {"a": schema}, "required": ["a"]});
        let mut filling = Filling::new(Form::read(&schema));
        let field = filling.field(0).expect("a field").clone();
        if let Control::Unsupported { schema: kept, .. } = &field.control {
            prop_assert_eq!(kept, &schema["properties"]["a"]);
            prop_assert!(filling.fill(0, Some(value)).is_err());
        } else {
            let _ = (field.hint(), field.show(&value), field.read(&typed));
            let fits = field.check(&value);
            prop_assert_eq!(filling.fill(0, Some(value)), fits);
        }
    }
}
