//! Why a kernel is refused for a family.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Family;
use super::table::Feature;

/// A place in a kernel's source that uses a feature.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeatureUse {
    /// The feature.
    pub feature: Feature,
    /// The source file; may be empty.
    pub file: String,
    /// The line, from 1; 0 if unknown.
    pub line: u32,
    /// The column, from 1; 0 if unknown.
    pub column: u32,
}

/// What a kernel uses that GPUs of a family lack.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub struct FamilyRefusal {
    /// The kernel.
    pub kernel: String,
    /// The family.
    pub family: Family,
    /// The first use of each feature that the family lacks, in the order of the source.
    pub uses: Vec<FeatureUse>,
    /// The bytes of the kernel's threadgroup variables, if they exceed the family's limit.
    pub threadgroup_bytes: Option<u64>,
}

impl fmt::Display for FeatureUse {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.feature.name())?;
        match (self.file.as_str(), self.line) {
            (_, 0) => {}
            ("", line) => write!(formatter, " at line {line}")?,
            (file, line) => write!(formatter, " at {file}:{line}:{}", self.column)?,
        }
        write!(formatter, " ({} and later)", self.feature.first_family())
    }
}

impl fmt::Display for FamilyRefusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "kernel `{}` uses what the GPU family {} does not have: ",
            self.kernel, self.family
        )?;
        for (place, one) in self.uses.iter().enumerate() {
            write!(formatter, "{}{one}", if place > 0 { "; " } else { "" })?;
        }
        if let Some(bytes) = self.threadgroup_bytes {
            let separator = if self.uses.is_empty() { "" } else { "; " };
            let most = self.family.limits().threadgroup_memory_bytes;
            write!(formatter, "{separator}{bytes} bytes of threadgroup variables (at most {most})")?;
        }
        Ok(())
    }
}
