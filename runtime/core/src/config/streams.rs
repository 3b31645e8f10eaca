//! The section `[streams]`: how much work a stream may hold, how long a request for more waits, and the
//! default deadline.

use std::time::Duration;

use anymetal_hal::command::Deadline;
use anymetal_hal::queue::WhenFull;
use serde::Deserialize;

use super::{ConfigError, Layers, Setter, Span, check, parse, value};
use crate::stream::StreamOptions;

/// The section `[streams]` of a layer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct StreamsLayer {
    /// Command buffers of a stream: being encoded, waiting or running.
    pub command_buffers: Option<usize>,
    /// Submissions of a stream that the device has at once.
    pub in_flight: Option<usize>,
    /// How long who wants one more waits before the refusal; `0 s`: not at all.
    pub wait: Option<Span>,
    /// The deadline of work that specifies none; `0 s`: no deadline.
    pub deadline: Option<Span>,
}

/// The variables, one for each setting.
pub(super) const VARIABLES: &[(&str, Setter)] = &[
    ("ANYMETAL_STREAMS_COMMAND_BUFFERS", |layer, text| {
        parse(&mut layer.streams.command_buffers, text, "a whole number")
    }),
    ("ANYMETAL_STREAMS_IN_FLIGHT", |layer, text| parse(&mut layer.streams.in_flight, text, "a whole number")),
    ("ANYMETAL_STREAMS_WAIT", |layer, text| parse(&mut layer.streams.wait, text, Span::EXPECTED)),
    ("ANYMETAL_STREAMS_DEADLINE", |layer, text| parse(&mut layer.streams.deadline, text, Span::EXPECTED)),
];

/// The section's settings that count, checked.
pub(super) fn resolve(layers: &Layers) -> Result<StreamsConfig, ConfigError> {
    let defaults = StreamsConfig::default();
    let command_buffers =
        layers.find("ANYMETAL_STREAMS_COMMAND_BUFFERS", |layer| &layer.streams.command_buffers);
    let in_flight = layers.find("ANYMETAL_STREAMS_IN_FLIGHT", |layer| &layer.streams.in_flight);
    let wait = layers.find("ANYMETAL_STREAMS_WAIT", |layer| &layer.streams.wait);
    let deadline = layers.find("ANYMETAL_STREAMS_DEADLINE", |layer| &layer.streams.deadline);

    let nothing = "a stream that may hold nothing runs nothing";
    check("streams.command-buffers", &command_buffers, |count| *count > 0, nothing)?;
    check("streams.in-flight", &in_flight, |count| *count > 0, nothing)?;
    let most = command_buffers.as_ref().map_or(defaults.command_buffers, |(count, _)| *count);
    let above = "more than streams.command-buffers allows in all";
    check("streams.in-flight", &in_flight, |count| *count <= most, above)?;
    Ok(StreamsConfig {
        command_buffers: most,
        in_flight: value(in_flight).unwrap_or(defaults.in_flight.min(most)),
        wait: value(wait).map_or(defaults.wait, |span| span.0),
        deadline: match value(deadline) {
            None => defaults.deadline,
            Some(Span(Duration::ZERO)) => Deadline::Never,
            Some(Span(after)) => Deadline::After(after),
        },
    })
}

/// The settings of streams, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamsConfig {
    /// Command buffers of a stream: being encoded, waiting or running.
    pub command_buffers: usize,
    /// Submissions of a stream that the device has at once.
    pub in_flight: usize,
    /// How long who wants one more waits.
    pub wait: Duration,
    /// The deadline of work that specifies none.
    pub deadline: Deadline,
}

impl Default for StreamsConfig {
    fn default() -> Self {
        let StreamOptions { max_command_buffers, max_in_flight, when_exhausted, deadline, .. } =
            StreamOptions::default();
        let wait = match when_exhausted {
            WhenFull::Wait(longest) => longest,
            WhenFull::Refuse => Duration::ZERO,
        };
        StreamsConfig { command_buffers: max_command_buffers, in_flight: max_in_flight, wait, deadline }
    }
}

impl StreamsConfig {
    /// These options with the limits of the settings.
    pub fn options(&self, options: StreamOptions) -> StreamOptions {
        let when_exhausted = if self.wait.is_zero() { WhenFull::Refuse } else { WhenFull::Wait(self.wait) };
        StreamOptions {
            max_command_buffers: self.command_buffers,
            max_in_flight: self.in_flight,
            when_exhausted,
            deadline: self.deadline,
            ..options
        }
    }
}
