//! The section `[history]`: the ring of what was given to the device.

use anymetal_hal::record::recorder::RecorderOptions;
use serde::Deserialize;

use super::{ConfigError, Layers, Setter, parse, value};
use crate::history::History;

/// The section `[history]` of a layer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct HistoryLayer {
    /// How many submissions the ring holds; 0: there is none.
    pub entries: Option<usize>,
}

/// The variables, one for each setting.
pub(super) const VARIABLES: &[(&str, Setter)] =
    &[("ANYMETAL_HISTORY_ENTRIES", |layer, text| parse(&mut layer.history.entries, text, "a whole number"))];

/// The section's settings that count.
pub(super) fn resolve(layers: &Layers) -> Result<HistoryConfig, ConfigError> {
    let entries = layers.find("ANYMETAL_HISTORY_ENTRIES", |layer| &layer.history.entries);
    Ok(HistoryConfig { entries: value(entries).unwrap_or_default() })
}

/// The settings of the history.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HistoryConfig {
    /// How many submissions the ring holds; 0, the default: there is none.
    pub entries: usize,
}

impl HistoryConfig {
    /// The ring, if there is one.
    pub fn history(&self) -> Option<History> {
        let options = RecorderOptions { entries: self.entries, ..RecorderOptions::default() };
        (self.entries > 0).then(|| History::new(options))
    }
}
