//! Commands and events can be written down and read back: they are recorded and replayed today, and may cross a socket
//! one day. Samples of them are made by a deserializer that invents what it is asked for, so a new variant is
//! part of this by itself.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::value::{StrDeserializer, StringDeserializer, U32Deserializer};
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};
use serde::{Serialize, forward_to_deserialize_any};

use super::{Command, Event, Update};
use crate::core::ids::SessionKey;
use crate::core::store::record::{Fact, Line, Owner, RecordRequest};

type Error = serde::de::value::Error;

/// Beyond this, lists are empty and nothing optional is there.
const DEEPEST: usize = 12;

const TEXTS: [&str; 6] =
    ["", "a", "two words", "line\nline\r\n", "\u{1b}[31m \"quoted\" \\", "\u{e9}\u{1f600}\0"];

/// What invents, and what it has seen.
#[derive(Default)]
struct Inventor {
    /// Numbers that look drawn, and are the same each time (xorshift*).
    state: u64,
    /// Taken by the first enum that is asked for.
    first: Option<u32>,
    /// All variants of all enums that were asked for, and those that were made.
    known: BTreeSet<(&'static str, &'static str)>,
    made: BTreeSet<(&'static str, &'static str)>,
}

impl Inventor {
    fn below(&mut self, limit: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        ((self.state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % limit as u64) as usize
    }

    fn text(&mut self) -> &'static str {
        TEXTS[self.below(TEXTS.len())]
    }
}

struct Sample<'a> {
    inventor: &'a mut Inventor,
    depth: usize,
}

impl Sample<'_> {
    fn deeper(&mut self) -> Sample<'_> {
        Sample { inventor: self.inventor, depth: self.depth + 1 }
    }

    fn length(&mut self) -> usize {
        if self.depth < DEEPEST { self.inventor.below(3) } else { 0 }
    }
}

/// So many elements, or fields of these names.
struct Several<'a> {
    sample: Sample<'a>,
    left: usize,
    names: &'static [&'static str],
}

impl<'de> Deserializer<'de> for Sample<'_> {
    type Error = Error;

    /// Plain JSON.
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let kinds = if self.depth < DEEPEST { 6 } else { 4 };
        match self.inventor.below(kinds) {
            0 => visitor.visit_unit(),
            1 => visitor.visit_bool(self.inventor.below(2) == 0),
            2 => visitor.visit_i64(self.inventor.below(200) as i64 - 100),
            3 => visitor.visit_str(self.inventor.text()),
            4 => self.deserialize_seq(visitor),
            _ => self.deserialize_map(visitor),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_bool(self.inventor.below(2) == 0)
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_u64(self.inventor.below(100) as u64)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_f64(self.inventor.below(100) as f64 / 4.0)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_str(self.inventor.text())
    }

    fn deserialize_option<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Error> {
        match self.length() {
            0 => visitor.visit_none(),
            _ => visitor.visit_some(self.deeper()),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Error> {
        let left = self.length();
        visitor.visit_seq(Several { sample: self, left, names: &[] })
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, left: usize, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_seq(Several { sample: self, left, names: &[] })
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        left: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_tuple(left, visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Error> {
        let left = self.length();
        visitor.visit_map(Several { sample: self, left, names: &[] })
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_map(Several { sample: self, left: names.len(), names })
    }

    fn deserialize_enum<V: Visitor<'de>>(
        mut self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let drawn = self.inventor.below(variants.len());
        let index = self.inventor.first.take().map_or(drawn, |first| first as usize % variants.len());
        self.inventor.known.extend(variants.iter().map(|variant| (name, *variant)));
        self.inventor.made.insert((name, variants[index]));
        visitor.visit_enum(Variant { sample: self.deeper(), index: index as u32 })
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    fn deserialize_i8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_u64(visitor)
    }

    fn deserialize_i16<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_u64(visitor)
    }

    fn deserialize_i32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_u64(visitor)
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_u64(visitor)
    }

    fn deserialize_u8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_u64(visitor)
    }

    fn deserialize_u16<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_u64(visitor)
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_u64(visitor)
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }

    forward_to_deserialize_any! { i128 u128 char bytes byte_buf identifier ignored_any }
}

impl<'de> SeqAccess<'de> for Several<'_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        seed.deserialize(self.sample.deeper()).map(Some)
    }
}

impl<'de> MapAccess<'de> for Several<'_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        match self.names {
            // No name twice, and none that is empty.
            [] => seed.deserialize(StringDeserializer::<Error>::new(format!("key {}", self.left))),
            names => seed.deserialize(StrDeserializer::<Error>::new(names[names.len() - 1 - self.left])),
        }
        .map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Error> {
        seed.deserialize(self.sample.deeper())
    }
}

struct Variant<'a> {
    sample: Sample<'a>,
    index: u32,
}

impl<'de> EnumAccess<'de> for Variant<'_> {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, Self), Error> {
        let index: U32Deserializer<Error> = self.index.into_deserializer();
        Ok((seed.deserialize(index)?, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'_> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Error> {
        seed.deserialize(self.sample)
    }

    fn tuple_variant<V: Visitor<'de>>(self, left: usize, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_seq(Several { sample: self.sample, left, names: &[] })
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_map(Several { sample: self.sample, left: names.len(), names })
    }
}

/// Writes samples of every variant down, one a line, reads them back, and says which variants could not be made.
fn unmade<T>(name: &'static str, by_hand: Vec<T>) -> Vec<String>
where
    T: DeserializeOwned + Serialize + PartialEq + fmt::Debug,
{
    let mut inventor = Inventor { state: 1, ..Inventor::default() };
    let mut samples = by_hand;
    let mut errors = BTreeSet::new();
    let mut made = BTreeSet::new();
    // Each variant of the enum itself in turn, whatever is drawn inside of it.
    for round in 0..600_000 {
        if round > 3_000 && made == inventor.known {
            break;
        }
        inventor.first = Some(round);
        match T::deserialize(Sample { inventor: &mut inventor, depth: 0 }) {
            Ok(sample) => {
                samples.push(sample);
                made.append(&mut inventor.made);
            }
            Err(error) => drop(errors.insert(error.to_string())),
        }
        inventor.made.clear();
    }
    let mut recorded = Vec::new();
    for sample in &samples {
        serde_json::to_writer(&mut recorded, sample).unwrap_or_else(|error| panic!("{sample:?}: {error}"));
        recorded.push(b'\n');
    }
    let lines = recorded.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    for (sample, line) in samples.iter().zip(lines) {
        let replayed: T = serde_json::from_slice(line)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(line)));
        assert_eq!(&replayed, sample, "{}", String::from_utf8_lossy(line));
    }
    assert!(inventor.known.iter().any(|(of, _)| *of == name));
    assert!(samples.len() > 1_500, "{}: {errors:?}", samples.len());
    let unmade = inventor.known.difference(&made);
    unmade.map(|(of, variant)| format!("{of}::{variant}")).collect()
}

#[test]
fn every_command_is_the_same_after_it_was_recorded_and_replayed() {
    // Flattened fields have no names that could be asked for.
    let facts = [Fact::Prompt("p".into()), Fact::Title("t".into()), Fact::Name("n".into())];
    let owner = Owner { agent: "a".into(), acp_id: "s".into(), cwd: "/p".into(), called: Some("A".into()) };
    let by_hand = facts.map(|fact| {
        let (owner, line) = (owner.clone(), Line { at: 7, fact });
        Command::Record { folder: "/r".into(), request: RecordRequest::Keep { owner: Box::new(owner), line } }
    });
    assert_eq!(unmade("Command", by_hand.into()), ["RecordRequest::Keep"]);
}

#[test]
fn every_event_is_the_same_after_it_was_recorded_and_replayed() {
    // Absent is something else than null.
    let update = Update::Info { title: None, updated_at: Some(None) };
    let by_hand = vec![Event::Updated { session: SessionKey(1), update }];
    assert_eq!(unmade("Event", by_hand), [""; 0]);
}
