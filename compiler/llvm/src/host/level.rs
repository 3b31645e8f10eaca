//! The levels of x86-64, to one of which a user may limit the code: the same on every machine that has the
//! level.
//!
//! Invariant: a level that is handed out is one that the running processor has, because code of a higher one
//! would end the process with an illegal instruction.

use std::fmt;

use super::{VectorFacts, processor};

/// The variable that limits the code to a level.
pub const LEVEL_VARIABLE: &str = "ANYMETAL_CPU_LEVEL";

/// A level of the x86-64 psABI; the second, without wider vectors than the first, is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum CpuLevel {
    /// SSE2: every 64-bit x86 processor.
    X86_64,
    /// AVX2, FMA and F16C: Intel since 2013, AMD since 2015.
    X86_64V3,
    /// AVX-512 F, VL, BW and DQ.
    X86_64V4,
}

impl CpuLevel {
    /// All of them, the lowest first.
    pub const ALL: [Self; 3] = [Self::X86_64, Self::X86_64V3, Self::X86_64V4];

    /// Its name, which is LLVM's name of a processor with it.
    pub fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86-64",
            Self::X86_64V3 => "x86-64-v3",
            Self::X86_64V4 => "x86-64-v4",
        }
    }

    /// What it promises.
    pub fn vector(self) -> VectorFacts {
        match self {
            Self::X86_64 => VectorFacts::default(),
            Self::X86_64V3 => VectorFacts::X86_64_V3,
            Self::X86_64V4 => VectorFacts::X86_64_V4,
        }
    }

    /// The name of its widest vector extension.
    pub fn vector_extension(self) -> &'static str {
        match self {
            Self::X86_64 => "sse2",
            Self::X86_64V3 => "avx2",
            Self::X86_64V4 => "avx512",
        }
    }

    /// Whether the running processor has it.
    pub fn is_available(self) -> bool {
        processor::has_level(self)
    }

    /// The level that the variable requests; an empty one requests none.
    pub(super) fn from_setting(
        setting: Option<&str>,
        is_available: impl Fn(Self) -> bool,
    ) -> Result<Option<Self>, CpuLevelError> {
        let Some(value) = setting.map(str::trim).filter(|value| !value.is_empty()) else { return Ok(None) };
        let available = || Self::ALL.into_iter().filter(|&level| is_available(level)).collect();
        match Self::ALL.into_iter().find(|level| level.name() == value) {
            Some(level) if is_available(level) => Ok(Some(level)),
            Some(_) => Err(CpuLevelError { value: value.to_owned(), is_level: true, available: available() }),
            None => Err(CpuLevelError { value: value.to_owned(), is_level: false, available: available() }),
        }
    }
}

impl fmt::Display for CpuLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// `ANYMETAL_CPU_LEVEL` requests a level that does not exist, or that this processor lacks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, serde::Serialize, serde::Deserialize)]
#[error("`{value}` is no valid value for {LEVEL_VARIABLE}: {}", expected(*.is_level, .available))]
pub struct CpuLevelError {
    /// The value.
    pub value: String,
    /// Whether it names a level, which this processor lacks.
    pub is_level: bool,
    /// The levels of this processor; none if it is of another family.
    pub available: Vec<CpuLevel>,
}

fn expected(is_level: bool, available: &[CpuLevel]) -> String {
    let problem = if is_level { "this processor lacks it" } else { "there is no such level" };
    if available.is_empty() {
        return format!("{} processors have no levels; unset it", std::env::consts::ARCH);
    }
    let names: Vec<&str> = available.iter().map(|level| level.name()).collect();
    format!("{problem}; valid here: {}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_or_refused() {
        let up_to_v3 = |level| level <= CpuLevel::X86_64V3;
        let read = |value| CpuLevel::from_setting(value, up_to_v3);
        assert_eq!(read(None), Ok(None));
        assert_eq!(read(Some(" ")), Ok(None));
        assert_eq!(read(Some("x86-64")), Ok(Some(CpuLevel::X86_64)));
        assert_eq!(read(Some(" x86-64-v3 ")), Ok(Some(CpuLevel::X86_64V3)));
        let told = |value: &'static str| read(Some(value)).unwrap_err().to_string();
        let start = "is no valid value for ANYMETAL_CPU_LEVEL:";
        assert_eq!(
            told("avx2"),
            format!("`avx2` {start} there is no such level; valid here: x86-64, x86-64-v3")
        );
        assert_eq!(
            told("x86-64-v4"),
            format!("`x86-64-v4` {start} this processor lacks it; valid here: x86-64, x86-64-v3")
        );
    }

    #[test]
    fn other_families_have_no_levels() {
        for value in ["x86-64", "armv8"] {
            let error = CpuLevel::from_setting(Some(value), |_| false).unwrap_err();
            assert!(error.available.is_empty());
            assert!(error.to_string().ends_with("processors have no levels; unset it"), "{error}");
        }
    }

    #[test]
    fn a_processor_that_has_a_level_has_those_below() {
        let available = CpuLevel::ALL.map(CpuLevel::is_available);
        assert!(available.is_sorted_by(|lower, higher| lower >= higher), "{available:?}");
        assert_eq!(available[0], cfg!(target_arch = "x86_64"));
    }
}
