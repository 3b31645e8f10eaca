//! The section `[history]`: the ring of what was given to the device.

use crate::record::recorder::RecorderOptions;
use serde::Deserialize;

use super::{ConfigError, Layers, Setter, flag, parse, value};
use crate::history::History;

/// The section `[history]` of a layer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct HistoryLayer {
    /// How many submissions the ring holds; 0: there is none.
    pub entries: Option<usize>,
    /// Whether it keeps all commands, contents of buffers and code, so that it can be replayed.
    pub replayable: Option<bool>,
}

/// The variables, one for each setting.
pub(super) const VARIABLES: &[(&str, Setter)] = &[
    ("ANYMETAL_HISTORY_ENTRIES", |layer, text| parse(&mut layer.history.entries, text, "a whole number")),
    ("ANYMETAL_HISTORY_REPLAYABLE", |layer, text| flag(&mut layer.history.replayable, text)),
];

/// The section's settings that count.
pub(super) fn resolve(layers: &Layers) -> Result<HistoryConfig, ConfigError> {
    let entries = layers.find("ANYMETAL_HISTORY_ENTRIES", |layer| &layer.history.entries);
    let replayable = layers.find("ANYMETAL_HISTORY_REPLAYABLE", |layer| &layer.history.replayable);
    Ok(HistoryConfig {
        entries: value(entries).unwrap_or_default(),
        replayable: value(replayable).unwrap_or_default(),
    })
}

/// The settings of the history.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct HistoryConfig {
    /// How many submissions the ring holds; 0, the default: there is none.
    pub entries: usize,
    /// Whether it can be replayed. It then waits before each submission until the device is done with the
    /// buffers, so it is for finding faults, not for speed.
    pub replayable: bool,
}

impl HistoryConfig {
    /// The ring, if there is one.
    pub fn history(&self) -> Option<History> {
        let options = match self.replayable {
            true => RecorderOptions::replayable(self.entries),
            false => RecorderOptions { entries: self.entries, ..RecorderOptions::default() },
        };
        (self.entries > 0).then(|| History::new(options))
    }
}
