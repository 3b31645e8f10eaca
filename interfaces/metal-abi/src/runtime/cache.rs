//! The cache of a class: which code runs for a selector, found without a lock.
//!
//! Owns [`Cache`], an open hash table. Invariants: at least half of a table's entries are free, so
//! a search ends; an entry is written once, its code before its key, and never changes. A full
//! table is replaced by one twice as large, a stale one by the empty one. Tables that were replaced
//! are never freed, because a reader may still be in one: doubling bounds the first kind, and the
//! second needs a method that is added to a class that had messages.
//!
//! Concurrency: anyone may search at any time; whoever inserts or clears holds
//! [`mutation`](super::registry::mutation).

use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use super::object::Imp;

/// The entries of the first table that is allocated.
const FIRST_ENTRIES: usize = 8;

/// A selector's code in one class.
#[repr(C)]
#[derive(Debug)]
struct Entry {
    /// The selector's; 0: free.
    key: AtomicUsize,
    code: AtomicPtr<c_void>,
}

/// A table's head; its entries come directly after it.
#[repr(C)]
#[derive(Debug)]
struct Table {
    /// The number of entries, a power of two, less one.
    mask: usize,
    used: AtomicUsize,
}

/// The byte of a table at which its entries begin; the trampolines of `send` search there too.
pub(crate) const ENTRIES_OFFSET: usize = size_of::<Table>();

/// A table of one free entry.
#[repr(C)]
struct EmptyTable {
    table: Table,
    entry: Entry,
}

static EMPTY: EmptyTable = EmptyTable {
    table: Table { mask: 0, used: AtomicUsize::new(0) },
    entry: Entry { key: AtomicUsize::new(0), code: AtomicPtr::new(std::ptr::null_mut()) },
};

/// The cache of one class.
#[derive(Debug)]
pub(crate) struct Cache {
    table: AtomicPtr<Table>,
}

impl Cache {
    pub(crate) const fn empty() -> Cache {
        Cache { table: AtomicPtr::new(empty_table()) }
    }

    /// The code for the key, if a message with it was sent before.
    #[inline]
    pub(crate) fn find(&self, key: usize) -> Option<Imp> {
        let table = self.table.load(Ordering::Acquire);
        // SAFETY: the pointer is to a table, and tables are never freed.
        let mask = unsafe { (*table).mask };
        let mut at = place(key) & mask;
        loop {
            // SAFETY: `at` is at most the mask of a table that is never freed.
            let entry = unsafe { entry(table, at) };
            match entry.key.load(Ordering::Acquire) {
                found if found == key => return code(entry.code.load(Ordering::Relaxed)),
                0 => return None,
                _ => at = (at + 1) & mask,
            }
        }
    }

    /// Notes the code for a key that was not found. The caller holds the mutation lock.
    pub(crate) fn insert(&self, key: usize, found: Imp) {
        if self.find(key).is_some() {
            return;
        }
        let mut table = self.table.load(Ordering::Acquire);
        // SAFETY: the pointer is to a table, and tables are never freed.
        let (mask, used) = unsafe { ((*table).mask, (*table).used.load(Ordering::Relaxed)) };
        if (used + 1) * 2 > mask + 1 {
            let larger = allocate(((mask + 1) * 2).max(FIRST_ENTRIES));
            for at in 0..=mask {
                // SAFETY: `at` is at most the mask of a table that is never freed.
                let old = unsafe { entry(table, at) };
                let key = old.key.load(Ordering::Relaxed);
                if key != 0 {
                    put(larger, key, old.code.load(Ordering::Relaxed));
                }
            }
            table = larger;
        }
        put(table, key, found as *mut c_void);
        self.table.store(table, Ordering::Release);
    }

    /// Forgets everything. The caller holds the mutation lock.
    pub(crate) fn clear(&self) {
        self.table.store(empty_table(), Ordering::Release);
    }
}

/// The table without entries. Nothing is ever put there, because it is always too full.
const fn empty_table() -> *mut Table {
    (&raw const EMPTY).cast::<Table>().cast_mut()
}

/// Writes a free entry: the code first, so that whoever sees the key sees the code.
fn put(table: *mut Table, key: usize, found: *mut c_void) {
    // SAFETY: the pointer is to an allocated table, and those are never freed.
    let head = unsafe { &*table };
    let mut at = place(key) & head.mask;
    loop {
        // SAFETY: `at` is at most the mask of a table that is never freed.
        let entry = unsafe { entry(table, at) };
        if entry.key.load(Ordering::Relaxed) == 0 {
            entry.code.store(found, Ordering::Relaxed);
            entry.key.store(key, Ordering::Release);
            head.used.fetch_add(1, Ordering::Relaxed);
            return;
        }
        at = (at + 1) & head.mask;
    }
}

/// A table of so many free entries, a power of two.
fn allocate(entries: usize) -> *mut Table {
    let bytes = size_of::<Table>() + entries * size_of::<Entry>();
    let layout = Layout::from_size_align(bytes, align_of::<EmptyTable>()).expect("a table is small");
    // SAFETY: the layout has a size.
    let memory = unsafe { alloc_zeroed(layout) };
    let Some(table) = NonNull::new(memory.cast::<Table>()) else { handle_alloc_error(layout) };
    let head = Table { mask: entries - 1, used: AtomicUsize::new(0) };
    // SAFETY: the memory is new and aligned, and its zeros are free entries.
    unsafe { table.write(head) };
    table.as_ptr()
}

/// An entry of a table.
///
/// # Safety
///
/// `at` is at most the table's mask, and the table is never freed.
#[inline]
unsafe fn entry(table: *mut Table, at: usize) -> &'static Entry {
    // SAFETY: as promised; entries come directly after the head and are valid when zero.
    unsafe { &*table.add(1).cast::<Entry>().add(at) }
}

/// Where a key's search starts. Keys are addresses of small allocations. The trampolines of `send`
/// compute the same.
#[inline]
fn place(key: usize) -> usize {
    (key >> 4) ^ (key >> 11)
}

#[inline]
fn code(address: *mut c_void) -> Option<Imp> {
    // SAFETY: what is stored was an `Imp`; null is `None`.
    unsafe { std::mem::transmute::<*mut c_void, Option<Imp>>(address) }
}
