//! Families of Apple GPUs (DEV-3).
//!
//! - [`table`] is the one place that says which family has what, from Apple's published feature set tables;
//! - [`FamilyRefusal`] names what a kernel uses that a family lacks, and where.

mod refusal;
pub mod table;
#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use refusal::{FamilyRefusal, FeatureUse};

/// A family of GPUs, by the name of Metal's `MTLGPUFamily`, or a device that is known for lacking much.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Family {
    /// A11.
    Apple4,
    /// A12.
    Apple5,
    /// A13.
    Apple6,
    /// A14, M1.
    Apple7,
    /// A15, A16, M2.
    Apple8,
    /// A17, A18, M3, M4.
    Apple9,
    /// A19, M5.
    Apple10,
    /// Macs with GPUs of Intel and AMD.
    Mac2,
    /// What all GPUs with Metal 3 have: Apple7 on, and Macs.
    Metal3,
    /// What all GPUs with Metal 4 have: Apple7 on.
    Metal4,
    /// The paravirtual device of macOS guests, such as hosted CI runners: Apple5 with the limits that it was
    /// seen to report.
    Paravirtual,
}

impl Family {
    /// All of them, the least capable Apple family first.
    pub const ALL: [Family; 11] = [
        Family::Apple4,
        Family::Apple5,
        Family::Apple6,
        Family::Apple7,
        Family::Apple8,
        Family::Apple9,
        Family::Apple10,
        Family::Mac2,
        Family::Metal3,
        Family::Metal4,
        Family::Paravirtual,
    ];

    /// What settings and options accept, in words.
    pub const EXPECTED: &'static str = "a family: apple4 to apple10, mac2, metal3, metal4 or paravirtual";

    /// Its name in lower case, as settings and the command line have it.
    pub fn name(self) -> &'static str {
        match self {
            Family::Apple4 => "apple4",
            Family::Apple5 => "apple5",
            Family::Apple6 => "apple6",
            Family::Apple7 => "apple7",
            Family::Apple8 => "apple8",
            Family::Apple9 => "apple9",
            Family::Apple10 => "apple10",
            Family::Mac2 => "mac2",
            Family::Metal3 => "metal3",
            Family::Metal4 => "metal4",
            Family::Paravirtual => "paravirtual",
        }
    }

    /// The GPUs in it.
    pub fn hardware(self) -> &'static str {
        match self {
            Family::Apple4 => "A11",
            Family::Apple5 => "A12",
            Family::Apple6 => "A13",
            Family::Apple7 => "A14, M1",
            Family::Apple8 => "A15, A16, M2",
            Family::Apple9 => "A17, A18, M3, M4",
            Family::Apple10 => "A19, M5",
            Family::Mac2 => "Macs with Intel or AMD GPUs",
            Family::Metal3 => "all GPUs with Metal 3",
            Family::Metal4 => "all GPUs with Metal 4",
            Family::Paravirtual => "macOS guests, hosted CI runners",
        }
    }

    /// The number of an Apple family.
    fn apple(self) -> Option<u8> {
        Some(match self {
            Family::Apple4 => 4,
            Family::Apple5 | Family::Paravirtual => 5,
            Family::Apple6 => 6,
            Family::Apple7 => 7,
            Family::Apple8 => 8,
            Family::Apple9 => 9,
            Family::Apple10 => 10,
            Family::Mac2 | Family::Metal3 | Family::Metal4 => return None,
        })
    }
}

impl fmt::Display for Family {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// The name of no family.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is not {}", Family::EXPECTED)]
#[non_exhaustive]
pub struct UnknownFamily {
    /// The name.
    pub name: String,
}

impl FromStr for Family {
    type Err = UnknownFamily;

    fn from_str(text: &str) -> Result<Self, UnknownFamily> {
        let found = Family::ALL.into_iter().find(|family| family.name().eq_ignore_ascii_case(text.trim()));
        found.ok_or_else(|| UnknownFamily { name: text.to_owned() })
    }
}

impl Serialize for Family {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Family {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}
