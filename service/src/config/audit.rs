//! The section `[audit]`: the log of what the execution manager did.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::str::FromStr;

use serde::Deserialize;

use super::{ConfigError, ServiceLayers, Setter, Size, check, parse, value};

/// A file that is smaller would be little more than the records of its beginning.
const MIN_ROTATE_BYTES: Size = Size(4096);

/// What happens when records cannot be written, such as on a full disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AuditFailing {
    /// Nothing new is run.
    #[default]
    Stop,
    /// Work goes on; records are given up and counted.
    GoOn,
}

impl FromStr for AuditFailing {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "stop" => Ok(Self::Stop),
            "go-on" => Ok(Self::GoOn),
            _ => Err(()),
        }
    }
}

/// When a record counts as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AuditDurability {
    /// When it is on the disk: it survives a loss of power.
    #[default]
    Disk,
    /// When the system has it: it survives the end of the process.
    System,
}

impl FromStr for AuditDurability {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "disk" => Ok(Self::Disk),
            "system" => Ok(Self::System),
            _ => Err(()),
        }
    }
}

/// What an execution waits for before it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AuditBegin {
    /// Until the record of its begin counts as written.
    #[default]
    Written,
    /// Nothing: the record is written soon. What ran before a crash may be missing.
    Queued,
}

impl FromStr for AuditBegin {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "written" => Ok(Self::Written),
            "queued" => Ok(Self::Queued),
            _ => Err(()),
        }
    }
}

/// The section `[audit]` of a layer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct AuditLayer {
    /// The log's folder; without one there is no log.
    pub folder: Option<PathBuf>,
    /// What happens when records cannot be written: `stop` or `go-on`.
    pub when_failing: Option<AuditFailing>,
    /// When a record counts as written: `disk` or `system`.
    pub durability: Option<AuditDurability>,
    /// What an execution waits for before it begins: `written` or `queued`.
    pub begin: Option<AuditBegin>,
    /// The size from which on a new file begins.
    pub rotate_bytes: Option<Size>,
    /// How many files are kept.
    pub keep_files: Option<u32>,
}

/// The variables, one for each setting.
pub(super) const VARIABLES: &[(&str, Setter)] = &[
    ("ANYMETAL_AUDIT_FOLDER", |layer, text| parse(&mut layer.audit.folder, text, "a path")),
    ("ANYMETAL_AUDIT_WHEN_FAILING", |layer, text| {
        parse(&mut layer.audit.when_failing, text, "`stop` or `go-on`")
    }),
    ("ANYMETAL_AUDIT_DURABILITY", |layer, text| {
        parse(&mut layer.audit.durability, text, "`disk` or `system`")
    }),
    ("ANYMETAL_AUDIT_BEGIN", |layer, text| parse(&mut layer.audit.begin, text, "`written` or `queued`")),
    ("ANYMETAL_AUDIT_ROTATE_BYTES", |layer, text| parse(&mut layer.audit.rotate_bytes, text, Size::EXPECTED)),
    ("ANYMETAL_AUDIT_KEEP_FILES", |layer, text| parse(&mut layer.audit.keep_files, text, "a whole number")),
];

/// The section's settings that count, checked.
pub(super) fn resolve(layers: &ServiceLayers) -> Result<AuditConfig, ConfigError> {
    let defaults = AuditConfig::default();
    let folder = layers.find("ANYMETAL_AUDIT_FOLDER", |layer| &layer.audit.folder);
    let when_failing = layers.find("ANYMETAL_AUDIT_WHEN_FAILING", |layer| &layer.audit.when_failing);
    let durability = layers.find("ANYMETAL_AUDIT_DURABILITY", |layer| &layer.audit.durability);
    let begin = layers.find("ANYMETAL_AUDIT_BEGIN", |layer| &layer.audit.begin);
    let rotate_bytes = layers.find("ANYMETAL_AUDIT_ROTATE_BYTES", |layer| &layer.audit.rotate_bytes);
    let keep_files = layers.find("ANYMETAL_AUDIT_KEEP_FILES", |layer| &layer.audit.keep_files);

    check("audit.rotate-bytes", &rotate_bytes, |size| *size >= MIN_ROTATE_BYTES, "less than 4 KiB")?;
    check("audit.keep-files", &keep_files, |count| *count > 0, "a log has at least one file")?;
    Ok(AuditConfig {
        folder: value(folder),
        when_failing: value(when_failing).unwrap_or_default(),
        durability: value(durability).unwrap_or_default(),
        begin: value(begin).unwrap_or_default(),
        rotate_bytes: value(rotate_bytes).map_or(defaults.rotate_bytes, |size| size.0),
        keep_files: value(keep_files).and_then(NonZeroU32::new),
    })
}

/// The settings of the audit log, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditConfig {
    /// The log's folder; `None`: there is no log.
    pub folder: Option<PathBuf>,
    /// What happens when records cannot be written.
    pub when_failing: AuditFailing,
    /// When a record counts as written.
    pub durability: AuditDurability,
    /// What an execution waits for before it begins.
    pub begin: AuditBegin,
    /// Bytes of a file from which on a new one begins.
    pub rotate_bytes: u64,
    /// How many files are kept; `None`: all.
    pub keep_files: Option<NonZeroU32>,
}

impl Default for AuditConfig {
    fn default() -> Self {
        AuditConfig {
            folder: None,
            when_failing: AuditFailing::default(),
            durability: AuditDurability::default(),
            begin: AuditBegin::default(),
            rotate_bytes: 16 << 20,
            keep_files: None,
        }
    }
}
