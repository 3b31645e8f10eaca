//! Spans as they are kept until they are sent.
//!
//! Invariant: a span has at most [`MAX_EVENTS`] events and [`MAX_ATTRIBUTES`] attributes, texts of at most
//! [`MAX_TEXT`] bytes; what is left out is counted, as the protocol has it.

use tracing::field::{Field, Visit};

/// The most events of a span.
const MAX_EVENTS: usize = 32;
/// The most attributes of a span or an event.
const MAX_ATTRIBUTES: usize = 32;
/// The most bytes of a text.
const MAX_TEXT: usize = 1024;

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum AttributeValue {
    Text(String),
    Integer(i64),
    Float(f64),
    Bool(bool),
}

/// Attributes, in the order in which they were first given.
#[derive(Debug, Clone, Default)]
pub(crate) struct Attributes {
    pub(crate) list: Vec<(&'static str, AttributeValue)>,
    pub(crate) left_out: u32,
}

/// A span that has ended.
#[derive(Debug, Clone)]
pub(crate) struct FinishedSpan {
    pub(crate) trace: [u8; 16],
    pub(crate) id: [u8; 8],
    pub(crate) parent: Option<[u8; 8]>,
    pub(crate) name: &'static str,
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) attributes: Attributes,
    pub(crate) events: Vec<SpanEvent>,
    pub(crate) events_left_out: u32,
}

/// Something that happened within a span.
#[derive(Debug, Clone)]
pub(crate) struct SpanEvent {
    pub(crate) name: &'static str,
    pub(crate) time_ns: u64,
    pub(crate) attributes: Attributes,
}

impl FinishedSpan {
    pub(crate) fn add(&mut self, event: SpanEvent) {
        if self.events.len() < MAX_EVENTS {
            self.events.push(event);
        } else {
            self.events_left_out += 1;
        }
    }

    /// Why it failed, if it did.
    pub(crate) fn error(&self) -> Option<String> {
        let error = self.attributes.list.iter().find(|(name, _)| *name == "error")?;
        Some(match &error.1 {
            AttributeValue::Text(text) => text.clone(),
            other => format!("{other:?}"),
        })
    }
}

impl Attributes {
    fn set(&mut self, name: &'static str, value: AttributeValue) {
        if let Some((_, known)) = self.list.iter_mut().find(|(known, _)| *known == name) {
            *known = value;
        } else if self.list.len() < MAX_ATTRIBUTES {
            self.list.push((name, value));
        } else {
            self.left_out += 1;
        }
    }
}

fn bounded(mut text: String) -> String {
    if text.len() > MAX_TEXT {
        let end = (0..=MAX_TEXT).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        text.truncate(end);
    }
    text
}

impl Visit for Attributes {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.set(field.name(), AttributeValue::Text(bounded(format!("{value:?}"))));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.set(field.name(), AttributeValue::Text(bounded(value.to_owned())));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.set(field.name(), AttributeValue::Integer(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.set(field.name(), AttributeValue::Integer(i64::try_from(value).unwrap_or(i64::MAX)));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.set(field.name(), AttributeValue::Float(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.set(field.name(), AttributeValue::Bool(value));
    }
}
