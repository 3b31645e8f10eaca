//! Which storage mode a buffer should have, and why.
//!
//! Owns [`decide`], a pure function from what a buffer is for and what memory the device has to a storage
//! mode. Invariant: every combination has an answer with a reason in a sentence, or a typed refusal; nothing
//! here asks a device.

use std::fmt;
use std::str::FromStr;

use anymetal_hal::buffer::StorageMode;
use anymetal_hal::capabilities::Capabilities;

/// Whose memory a device computes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MemoryKind {
    /// The host's: both see the same bytes at the same speed.
    Unified,
    /// Its own, behind a bus.
    Discrete,
}

impl MemoryKind {
    /// The kind that a device reports.
    pub fn of(capabilities: &Capabilities) -> Self {
        if capabilities.unified_memory { MemoryKind::Unified } else { MemoryKind::Discrete }
    }
}

/// How often one side touches a buffer in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum AccessFrequency {
    /// Not at all.
    #[default]
    Never,
    /// Once: an upload, a result.
    Once,
    /// Again and again.
    Often,
}

/// What a buffer is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub struct BufferUsage {
    /// How often the host reads or writes it.
    pub host: AccessFrequency,
    /// How often kernels and copies use it.
    pub device: AccessFrequency,
    /// Whether it stands for memory that the host already has (zero-copy import).
    pub imported: bool,
}

impl BufferUsage {
    /// The usage of new memory.
    pub const fn new(host: AccessFrequency, device: AccessFrequency) -> Self {
        BufferUsage { host, device, imported: false }
    }

    /// That of memory which the host already has, or not.
    pub const fn imported(mut self, imported: bool) -> Self {
        self.imported = imported;
        self
    }
}

/// The storage mode that a caller asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ModeRequest {
    /// The best for the usage.
    #[default]
    Automatic,
    /// [`StorageMode::Shared`].
    Shared,
    /// [`StorageMode::Private`].
    Private,
    /// [`StorageMode::Managed`].
    Managed,
    /// Metal's memoryless mode, which only render targets can have.
    Memoryless,
}

impl FromStr for ModeRequest {
    type Err = ModeError;

    fn from_str(text: &str) -> Result<Self, ModeError> {
        match text {
            "automatic" => Ok(ModeRequest::Automatic),
            "shared" => Ok(ModeRequest::Shared),
            "private" => Ok(ModeRequest::Private),
            "managed" => Ok(ModeRequest::Managed),
            "memoryless" => Ok(ModeRequest::Memoryless),
            _ => Err(ModeError::Unknown { text: text.to_owned() }),
        }
    }
}

/// Why a storage mode was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModeError {
    /// Memoryless is for render targets.
    #[error("a buffer cannot be memoryless: that mode is for render targets; use private")]
    Memoryless,
    /// The host wants bytes that it cannot see.
    #[error("the host uses this buffer again and again, so it cannot be private; use {instead}")]
    HostCannotSee {
        /// The mode that fits: "shared" or "managed".
        instead: &'static str,
    },
    /// Memory of the host's cannot become anything but shared.
    #[error("imported host memory is shared by nature, not {asked}")]
    ImportedIsShared {
        /// The mode asked for.
        asked: &'static str,
    },
    /// Not a mode's name.
    #[error("`{text}` is no storage mode; there are automatic, shared, private, managed and memoryless")]
    Unknown {
        /// What was given.
        text: String,
    },
}

/// A storage mode and the reason for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModeDecision {
    /// The mode.
    pub mode: StorageMode,
    reason: Reason,
}

impl ModeDecision {
    /// Why, in a sentence.
    pub fn why(&self) -> &'static str {
        self.reason.text()
    }

    /// Whether the host must move bytes by commands (a staging buffer and a copy).
    pub fn needs_staging(&self) -> bool {
        self.reason == Reason::StagedOnce
    }
}

impl fmt::Display for ModeDecision {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", name(self.mode), self.why())
    }
}

/// The rows of the decision table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reason {
    Imported,
    Asked,
    DeviceOnly,
    HostOnly,
    Unified,
    StagedOnce,
    StreamedOnce,
    BothOften,
}

impl Reason {
    fn text(self) -> &'static str {
        match self {
            Reason::Imported => "it is the host's own memory, used in place",
            Reason::Asked => "the caller asked for it, and the usage allows it",
            Reason::DeviceOnly => "the host never touches it, so the device may keep it where it is fastest",
            Reason::HostOnly => "the device never touches it, so it stays in host memory",
            Reason::Unified => "host and device share one memory, so no copy is ever needed",
            Reason::StagedOnce => {
                "the device uses it again and again and has its own memory, so one staged copy pays"
            }
            Reason::StreamedOnce => {
                "the device reads or writes it once, so going over the bus directly saves a copy"
            }
            Reason::BothOften => {
                "both sides use it again and again, so each keeps a copy that is synchronised explicitly"
            }
        }
    }
}

/// The storage mode for a buffer: the best for its usage, or the one asked for if the usage allows it.
pub fn decide(
    request: ModeRequest,
    usage: BufferUsage,
    memory: MemoryKind,
) -> Result<ModeDecision, ModeError> {
    let best = best(usage, memory);
    let asked = match request {
        ModeRequest::Automatic => return Ok(best),
        ModeRequest::Memoryless => return Err(ModeError::Memoryless),
        ModeRequest::Shared => StorageMode::Shared,
        ModeRequest::Private => StorageMode::Private,
        ModeRequest::Managed => StorageMode::Managed,
    };
    if asked == best.mode {
        return Ok(best);
    }
    if usage.imported {
        return Err(ModeError::ImportedIsShared { asked: name(asked) });
    }
    if asked == StorageMode::Private && usage.host == AccessFrequency::Often {
        return Err(ModeError::HostCannotSee { instead: name(best.mode) });
    }
    let staged = asked == StorageMode::Private && usage.host == AccessFrequency::Once;
    Ok(ModeDecision { mode: asked, reason: if staged { Reason::StagedOnce } else { Reason::Asked } })
}

fn best(usage: BufferUsage, memory: MemoryKind) -> ModeDecision {
    let (mode, reason) = match (usage.imported, usage.host, usage.device, memory) {
        (true, ..) => (StorageMode::Shared, Reason::Imported),
        (_, AccessFrequency::Never, ..) => (StorageMode::Private, Reason::DeviceOnly),
        (_, _, AccessFrequency::Never, _) => (StorageMode::Shared, Reason::HostOnly),
        (.., MemoryKind::Unified) => (StorageMode::Shared, Reason::Unified),
        (_, _, AccessFrequency::Once, MemoryKind::Discrete) => (StorageMode::Shared, Reason::StreamedOnce),
        (_, AccessFrequency::Once, AccessFrequency::Often, MemoryKind::Discrete) => {
            (StorageMode::Private, Reason::StagedOnce)
        }
        (_, AccessFrequency::Often, AccessFrequency::Often, MemoryKind::Discrete) => {
            (StorageMode::Managed, Reason::BothOften)
        }
    };
    ModeDecision { mode, reason }
}

fn name(mode: StorageMode) -> &'static str {
    match mode {
        StorageMode::Shared => "shared",
        StorageMode::Private => "private",
        StorageMode::Managed => "managed",
    }
}

#[cfg(test)]
mod tests {
    use super::AccessFrequency::{Never, Often, Once};
    use super::MemoryKind::{Discrete, Unified};
    use super::*;

    fn usage(host: AccessFrequency, device: AccessFrequency) -> BufferUsage {
        BufferUsage { host, device, imported: false }
    }

    #[test]
    fn the_table() {
        use StorageMode::{Managed, Private, Shared};
        let rows = [
            (Never, Never, Unified, Private, "the host never touches it"),
            (Never, Often, Unified, Private, "the host never touches it"),
            (Never, Once, Discrete, Private, "the host never touches it"),
            (Never, Often, Discrete, Private, "the host never touches it"),
            (Once, Never, Unified, Shared, "the device never touches it"),
            (Often, Never, Discrete, Shared, "the device never touches it"),
            (Once, Once, Unified, Shared, "share one memory"),
            (Once, Often, Unified, Shared, "share one memory"),
            (Often, Often, Unified, Shared, "share one memory"),
            (Once, Once, Discrete, Shared, "over the bus directly"),
            (Often, Once, Discrete, Shared, "over the bus directly"),
            (Once, Often, Discrete, Private, "one staged copy"),
            (Often, Often, Discrete, Managed, "synchronised explicitly"),
        ];
        for (host, device, memory, mode, why) in rows {
            let decision = decide(ModeRequest::Automatic, usage(host, device), memory).unwrap();
            assert_eq!(decision.mode, mode, "{host:?} {device:?} {memory:?}");
            assert!(decision.why().contains(why), "{host:?} {device:?} {memory:?}: {}", decision.why());
            let staged = mode == Private && host != Never;
            assert_eq!(decision.needs_staging(), staged, "{host:?} {device:?} {memory:?}");
        }
    }

    #[test]
    fn what_is_asked_for_is_checked_against_the_usage() {
        let both = usage(Often, Often);
        let refused = decide(ModeRequest::Private, both, Discrete);
        assert_eq!(refused, Err(ModeError::HostCannotSee { instead: "managed" }));
        let refused = decide(ModeRequest::Private, both, Unified);
        assert_eq!(refused, Err(ModeError::HostCannotSee { instead: "shared" }));
        assert_eq!(decide(ModeRequest::Memoryless, both, Unified), Err(ModeError::Memoryless));
        let imported = BufferUsage { imported: true, ..both };
        let refused = decide(ModeRequest::Managed, imported, Discrete);
        assert_eq!(refused, Err(ModeError::ImportedIsShared { asked: "managed" }));
        assert_eq!(decide(ModeRequest::Shared, imported, Discrete).unwrap().mode, StorageMode::Shared);
        let allowed = decide(ModeRequest::Shared, usage(Never, Often), Discrete).unwrap();
        assert_eq!(allowed.to_string(), "shared: the caller asked for it, and the usage allows it");
        assert!(decide(ModeRequest::Private, usage(Once, Once), Unified).unwrap().needs_staging());
    }

    #[test]
    fn names_are_read() {
        assert_eq!("managed".parse(), Ok(ModeRequest::Managed));
        let error = "tiled".parse::<ModeRequest>().unwrap_err();
        assert!(error.to_string().contains("`tiled` is no storage mode"), "{error}");
    }
}
