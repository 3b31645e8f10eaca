//! The layer that takes spans from a `tracing` subscriber.
//!
//! Owns [`OtlpLayer`] and the numbers of traces and spans. Invariant: a span is put into the queue when it
//! closes, once; nothing here waits.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tracing::span::{Attributes as SpanAttributes, Id, Record};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use super::UnixTime;
use super::spans::{Attributes, FinishedSpan, SpanEvent};
use crate::bounded::Bounded;

/// Takes spans for an exporter. For subscribers with a registry of spans.
#[derive(Debug)]
pub struct OtlpLayer {
    queue: Arc<Bounded<FinishedSpan>>,
    time: UnixTime,
    numbers: Numbers,
}

/// Numbers that no other process gives: a keyed hash of a count.
#[derive(Debug, Default)]
struct Numbers {
    keys: RandomState,
    count: AtomicU64,
}

impl Numbers {
    /// Never 0, which the protocol has for none.
    fn next(&self) -> u64 {
        let mut hasher = self.keys.build_hasher();
        hasher.write_u64(self.count.fetch_add(1, Ordering::Relaxed));
        hasher.finish().max(1)
    }

    fn trace(&self) -> [u8; 16] {
        let mut trace = [0; 16];
        trace[..8].copy_from_slice(&self.next().to_be_bytes());
        trace[8..].copy_from_slice(&self.next().to_be_bytes());
        trace
    }
}

impl OtlpLayer {
    pub(super) fn new(queue: Arc<Bounded<FinishedSpan>>, time: UnixTime) -> Self {
        OtlpLayer { queue, time, numbers: Numbers::default() }
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for OtlpLayer {
    fn on_new_span(&self, attributes: &SpanAttributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let of_parent = span.parent().and_then(|parent| {
            let extensions = parent.extensions();
            extensions.get::<FinishedSpan>().map(|parent| (parent.trace, parent.id))
        });
        let mut values = Attributes::default();
        attributes.record(&mut values);
        let now = self.time.now();
        span.extensions_mut().insert(FinishedSpan {
            trace: of_parent.map_or_else(|| self.numbers.trace(), |(trace, _)| trace),
            id: self.numbers.next().to_be_bytes(),
            parent: of_parent.map(|(_, id)| id),
            name: attributes.metadata().name(),
            start_ns: now,
            end_ns: now,
            attributes: values,
            events: Vec::new(),
            events_left_out: 0,
        });
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(data) = span.extensions_mut().get_mut::<FinishedSpan>()
        {
            values.record(&mut data.attributes);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        if let Some(span) = context.event_span(event)
            && let Some(data) = span.extensions_mut().get_mut::<FinishedSpan>()
        {
            let mut attributes = Attributes::default();
            event.record(&mut attributes);
            data.add(SpanEvent { name: event.metadata().name(), time_ns: self.time.now(), attributes });
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let data = context.span(&id).and_then(|span| span.extensions_mut().remove::<FinishedSpan>());
        if let Some(data) = data {
            self.queue.push(FinishedSpan { end_ns: self.time.now(), ..data });
        }
    }
}
