//! A form being filled in: its values so far, which field comes next, and what still prevents it from
//! being sent. An invalid value is never stored.

use serde_json::{Map, Value};

use super::{Field, Form, unsupported};

#[derive(Clone, Debug, PartialEq)]
pub struct Filling {
    pub form: Form,
    slots: Vec<Slot>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Slot {
    value: Option<Value>,
    /// The user saw it, and left it or changed it.
    seen: bool,
}

impl Filling {
    /// What the agent proposes is filled in, where it fits.
    pub fn new(form: Form) -> Self {
        let proposed = |field: &Field| field.default.clone().filter(|default| field.check(default).is_ok());
        let slots = form.fields.iter().map(|field| Slot { value: proposed(field), seen: false }).collect();
        Self { form, slots }
    }

    pub fn field(&self, index: usize) -> Option<&Field> {
        self.form.fields.get(index)
    }

    pub fn value(&self, index: usize) -> Option<&Value> {
        self.slots.get(index)?.value.as_ref()
    }

    /// Sets a value, or leaves the field out. The error says what to do.
    pub fn fill(&mut self, index: usize, value: Option<Value>) -> Result<(), String> {
        let (Some(field), Some(slot)) = (self.form.fields.get(index), self.slots.get_mut(index)) else {
            return Ok(());
        };
        match &value {
            Some(value) => field.check(value)?,
            None if field.required => return Err("the agent needs this one".to_owned()),
            None => {}
        }
        *slot = Slot { value, seen: true };
        Ok(())
    }

    /// Whether the user has left a field as it is, or changed it: until then its value is the agent's.
    pub fn is_seen(&self, index: usize) -> bool {
        self.slots.get(index).is_some_and(|slot| slot.seen)
    }

    /// Whether the user has been shown a field.
    pub fn is_begun(&self) -> bool {
        self.slots.iter().any(|slot| slot.seen)
    }

    /// The first field that the user has not seen.
    pub fn next(&self) -> Option<usize> {
        let mut fields = self.form.fields.iter().zip(&self.slots);
        fields.position(|(field, slot)| !slot.seen && field.is_supported())
    }

    /// All values that there are, or why the form cannot be sent yet.
    pub fn content(&self) -> Result<Value, String> {
        let mut content = Map::new();
        for (field, slot) in self.form.fields.iter().zip(&self.slots) {
            match (&slot.value, &field.control) {
                (Some(value), _) => {
                    content.insert(field.name.clone(), value.clone());
                }
                (None, super::Control::Unsupported { why, .. }) if field.required => {
                    return Err(format!("{}: {}", field.label(), unsupported(why)));
                }
                (None, _) if field.required => return Err(format!("{} is needed", field.label())),
                (None, _) => {}
            }
        }
        Ok(Value::Object(content))
    }

    /// What the fields with a value are called.
    pub fn filled(&self) -> Vec<String> {
        let fields = self.form.fields.iter().zip(&self.slots);
        fields.filter(|(_, slot)| slot.value.is_some()).map(|(field, _)| field.label().to_owned()).collect()
    }

    /// A field's value as the user reads it.
    pub fn review(&self, index: usize) -> String {
        match (self.field(index), self.value(index)) {
            (Some(field), Some(value)) => field.show(value),
            (Some(field), None) => match &field.control {
                super::Control::Unsupported { why, .. } => unsupported(why),
                _ if field.required => "needed".to_owned(),
                _ => "left out".to_owned(),
            },
            (None, _) => String::new(),
        }
    }
}
