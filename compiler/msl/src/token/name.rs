//! Interned strings: identifiers, literal spellings.
//!
//! One table serves the whole process, because the library's parsed snapshot and every user's
//! translation unit share names. Strings are never freed, so the table is bounded: once
//! [`Name::CAPACITY_BYTES`] are stored, every new string becomes one overflow name
//! ([`Name::is_overflow`]), which the preprocessor turns into a diagnostic. Invariant: equal strings have
//! equal names (overflow aside), and an index once given is readable without a lock from every thread.

use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::fmt;
use std::sync::{Mutex, OnceLock, PoisonError};

use super::keyword::{RESERVED_COUNT, reserved_spellings};

/// An interned string. Comparing, hashing and copying are those of an integer; the order is the order
/// of first use, so never let it reach output.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(u32);

/// Chunk `k` holds `FIRST_CHUNK << k` strings, so that a stored string never moves.
const FIRST_CHUNK: usize = 1024;
const CHUNK_COUNT: usize = 13;

/// How many names a thread remembers for itself.
const SEEN_CAPACITY: usize = 1 << 16;

type Chunk = OnceLock<Box<[OnceLock<&'static str>]>>;

static CHUNKS: [Chunk; CHUNK_COUNT] = [const { OnceLock::new() }; CHUNK_COUNT];
static TABLE: Mutex<Option<Table>> = Mutex::new(None);

thread_local! {
    /// What this thread has looked up before; spares the lock on nearly every call.
    static SEEN: RefCell<FxHashMap<&'static str, u32>> = RefCell::new(FxHashMap::default());
}

/// The writers' side. Only touched with the lock held.
#[derive(Default)]
struct Table {
    indices: FxHashMap<&'static str, u32>,
    bytes: usize,
}

impl Table {
    fn with_reserved() -> Self {
        let mut table = Self::default();
        for text in reserved_spellings() {
            table.add(text);
        }
        table.add(OVERFLOW_TEXT);
        table.add("");
        table
    }

    /// Stores a string that is not in the table; `None` when the table is full.
    fn add(&mut self, text: &'static str) -> Option<u32> {
        let index = self.indices.len();
        let (chunk, offset) = locate(index)?;
        let slots = CHUNKS[chunk].get_or_init(|| vec![OnceLock::new(); FIRST_CHUNK << chunk].into());
        slots[offset].get_or_init(|| text);
        self.indices.insert(text, index as u32);
        self.bytes += text.len();
        Some(index as u32)
    }

    fn intern(&mut self, text: &str) -> Option<(&'static str, u32)> {
        if let Some((&text, &index)) = self.indices.get_key_value(text) {
            return Some((text, index));
        }
        if self.bytes + text.len() > Name::CAPACITY_BYTES || locate(self.indices.len()).is_none() {
            return None;
        }
        let text: &'static str = Box::leak(text.into());
        self.add(text).map(|index| (text, index))
    }
}

const OVERFLOW_TEXT: &str = "<too many names>";

/// The chunk and the place in it of the string with this index.
fn locate(index: usize) -> Option<(usize, usize)> {
    let chunk = (index / FIRST_CHUNK + 1).ilog2() as usize;
    let offset = index - FIRST_CHUNK * ((1 << chunk) - 1);
    (chunk < CHUNK_COUNT).then_some((chunk, offset))
}

impl Name {
    /// The empty string.
    pub const EMPTY: Self = Self(RESERVED_COUNT as u32 + 1);

    /// The most text the process-wide table stores. There is a bound on the number of names, too: with
    /// everything around them they take about a gigabyte at most.
    pub const CAPACITY_BYTES: usize = 256 << 20;

    /// Interns a string.
    pub fn new(text: &str) -> Self {
        SEEN.with_borrow_mut(|seen| {
            if let Some(&index) = seen.get(text) {
                return Self(index);
            }
            let mut guard = TABLE.lock().unwrap_or_else(PoisonError::into_inner);
            let table = guard.get_or_insert_with(Table::with_reserved);
            match table.intern(text) {
                Some((text, index)) => {
                    if seen.len() < SEEN_CAPACITY {
                        seen.insert(text, index);
                    }
                    Self(index)
                }
                None => Self(RESERVED_COUNT as u32),
            }
        })
    }

    /// Whether the table was full when this name was made.
    pub fn is_overflow(self) -> bool {
        self.0 == RESERVED_COUNT as u32
    }

    /// The string.
    pub fn as_str(self) -> &'static str {
        let slot =
            locate(self.0 as usize).and_then(|(chunk, offset)| CHUNKS[chunk].get()?.get(offset)?.get());
        slot.copied().unwrap_or_else(|| {
            // Only a keyword's name or the empty one can be looked up before anything was interned.
            reserved_spellings().nth(self.0 as usize).unwrap_or("")
        })
    }

    /// The position in the table.
    pub(super) fn index(self) -> u32 {
        self.0
    }

    /// The name with a reserved index.
    pub(super) fn from_reserved_index(index: u32) -> Self {
        Self(index)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.as_str())
    }
}

impl From<&str> for Name {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl PartialEq<str> for Name {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for Name {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::Kw;

    #[test]
    fn equal_strings_have_equal_names_in_every_thread() {
        let here = Name::new("an_identifier");
        let there = std::thread::spawn(|| Name::new("an_identifier")).join().expect("the thread runs");
        assert_eq!(here, there);
        assert_eq!(here.as_str(), "an_identifier");
        assert_ne!(here, Name::new("another"));
    }

    #[test]
    fn keywords_are_recognised_by_name() {
        assert_eq!(Kw::from_name(Name::new("kernel")), Some(Kw::Kernel));
        assert_eq!(Kw::from_name(Name::new("__restrict__")), Some(Kw::Restrict));
        assert_eq!(Kw::from_name(Name::new("float4")), None);
        assert_eq!(Kw::While.name(), Name::new("while"));
        assert_eq!(Kw::Restrict.as_str(), "__restrict");
    }

    #[test]
    fn the_chunks_hold_consecutive_indices() {
        for index in [0, 1, 1023, 1024, 3071, 3072, 7167, 7168] {
            let (chunk, offset) = locate(index).expect("in range");
            assert_eq!(FIRST_CHUNK * ((1 << chunk) - 1) + offset, index);
            assert!(offset < FIRST_CHUNK << chunk);
        }
        assert_eq!(locate(FIRST_CHUNK * ((1 << CHUNK_COUNT) - 1)), None);
    }
}
