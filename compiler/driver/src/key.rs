//! Keys of caches: hashes over everything that a result depends on.
//!
//! Owns [`Key`] and [`KeyBuilder`]. Invariant: fields are length-prefixed, so two different sequences of
//! fields never give the same input to the hash.

use std::fmt;

/// What this build of the compiler is. Part of every key that reaches the disk.
pub const COMPILER_IDENTITY: &str =
    concat!(env!("CARGO_PKG_VERSION"), "-", env!("ANYMETAL_COMPILER_SOURCES"));

/// A hash that identifies a source, a library or an artifact.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Key([u8; 32]);

impl Key {
    /// The hash of some bytes as they are.
    pub(crate) fn of_bytes(bytes: &[u8]) -> Key {
        Key(*blake3::hash(bytes).as_bytes())
    }

    /// The raw hash.
    pub(crate) fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// Collects the fields of a key.
pub(crate) struct KeyBuilder(blake3::Hasher);

impl KeyBuilder {
    /// A key of that kind, for this build of the compiler.
    pub(crate) fn new(kind: &str) -> Self {
        KeyBuilder(blake3::Hasher::new()).field(kind).field(COMPILER_IDENTITY)
    }

    /// Adds a field.
    pub(crate) fn field(mut self, bytes: impl AsRef<[u8]>) -> Self {
        let bytes = bytes.as_ref();
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
        self
    }

    /// Adds a number.
    pub(crate) fn number(self, number: u64) -> Self {
        self.field(number.to_le_bytes())
    }

    pub(crate) fn numbers(self, numbers: impl IntoIterator<Item = u32>) -> Self {
        numbers.into_iter().fold(self, |key, number| key.number(number.into()))
    }

    /// The key.
    pub(crate) fn finish(self) -> Key {
        Key(*self.0.finalize().as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_do_not_run_into_each_other() {
        let key = |fields: &[&str]| {
            fields.iter().fold(KeyBuilder::new("test"), |builder, field| builder.field(field)).finish()
        };
        assert_eq!(key(&["ab", "c"]), key(&["ab", "c"]));
        assert_ne!(key(&["ab", "c"]), key(&["a", "bc"]));
        assert_ne!(key(&["ab"]), key(&["ab", ""]));
        assert_eq!(key(&[]).to_string().len(), 64);
    }
}
