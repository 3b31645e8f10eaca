//! Stores that may go past the caches.
//!
//! A plain store of a whole line first reads the line. What a dispatch only writes, and writes more of than
//! caches keep until somebody reads it, need not come in: such stores are non-temporal, two bytes moved for
//! what is three otherwise. Owns the choice of those that may ([`NonTemporal`]); a flag decides at run time.
//! Invariant: nothing in the kernel reads the argument or orders memory between threadgroups.
//!
//! See `docs/decisions/0009-non-temporal-stores.md`.

use std::collections::{BTreeMap, BTreeSet};

use anymetal_ir::{Block, Function, Op, Type, Value};

use crate::facts::Facts;
use crate::storage::Root;

/// The stores of a kernel that may be non-temporal, by their pointers.
#[derive(Debug, Default)]
pub struct NonTemporal {
    /// The pointers.
    pub pointers: BTreeSet<Value>,
    /// What a thread writes to each argument, if it executes each store once.
    pub bytes: BTreeMap<usize, i64>,
}

impl NonTemporal {
    /// Analyses a function.
    pub fn new(facts: Facts<'_>) -> Self {
        let mut finder = Finder {
            facts,
            loops: vec![0; facts.function.insts.len()],
            next: 0,
            stores: Vec::new(),
            read: BTreeSet::new(),
        };
        if finder.walk(facts.function.body, 0).is_none() {
            return Self::default();
        }
        let Finder { stores, read, .. } = finder;
        let mut nontemporal = Self::default();
        for (pointer, bytes) in stores {
            if let Root::Argument(index) = facts.storage.pointer(pointer).root
                && !read.contains(&index)
            {
                nontemporal.pointers.insert(pointer);
                *nontemporal.bytes.entry(index).or_default() += i64::from(bytes);
            }
        }
        nontemporal
    }
}

struct Finder<'a> {
    facts: Facts<'a>,
    /// The innermost loop around each instruction; 0 for none.
    loops: Vec<u32>,
    next: u32,
    stores: Vec<(Value, u32)>,
    /// The arguments that are read.
    read: BTreeSet<usize>,
}

impl Finder<'_> {
    /// `None` if the kernel orders memory, or reads it may be of any allocation.
    fn walk(&mut self, block: Block, around: u32) -> Option<()> {
        let function: &Function = self.facts.function;
        for &inst in function.block(block) {
            self.loops[inst.index()] = around;
            let op = &function.inst(inst).op;
            match op {
                Op::AtomicLoad(_)
                | Op::AtomicStore(..)
                | Op::AtomicRmw(..)
                | Op::AtomicCas(..)
                | Op::Fence(_) => {
                    return None;
                }
                Op::Store { ptr, value, .. } if self.moves(*ptr, around) => {
                    self.stores.push((*ptr, function.ty(*value).size()));
                }
                Op::Load { ptr, .. } => self.reads(*ptr)?,
                Op::MemCopy { src, .. } => self.reads(*src)?,
                Op::Matrix(_, args) => {
                    for &arg in args {
                        if matches!(function.ty(arg), Type::Ptr(_)) {
                            self.reads(arg)?;
                        }
                    }
                }
                _ => {}
            }
            let inside = if let Op::Loop { .. } = op {
                self.next += 1;
                self.next
            } else {
                around
            };
            for nested in op.blocks() {
                self.walk(nested, inside)?;
            }
        }
        Some(())
    }

    fn reads(&mut self, pointer: Value) -> Option<()> {
        match self.facts.storage.pointer(pointer).root {
            Root::Many => return None,
            Root::Argument(index) => {
                self.read.insert(index);
            }
            _ => {}
        }
        Some(())
    }

    /// Whether the place written is another one in each iteration of the loop around.
    fn moves(&self, pointer: Value, around: u32) -> bool {
        let made = self.facts.function.defining_inst(pointer);
        around == 0 || made.is_some_and(|inst| self.loops[inst.index()] == around)
    }
}
