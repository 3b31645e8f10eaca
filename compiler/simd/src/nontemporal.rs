//! Stores that go past the caches.
//!
//! A plain store of a whole line first reads the line. What a dispatch only writes, and writes more of than
//! caches keep until somebody reads it, need not come in: such stores are non-temporal, two bytes moved for
//! what is three otherwise. Owns the choice ([`NonTemporal`], when the code is generated; a flag, when it
//! runs) and the two-way store. Invariants: nothing in the kernel reads the argument or orders memory between
//! threadgroups, and the entry ends with a fence, since these stores are not ordered with others.
//!
//! The thresholds are measured: see `docs/decisions/0009-non-temporal-stores.md`.

use std::collections::{BTreeMap, BTreeSet};

use anymetal_abi::offsets::LAUNCH_GRID_THREADS;
use anymetal_ir::{Block, Function, Op, Space, Type, Value};

use super::Emitter;
use super::memory::Address;
use crate::cpu::llvm_text::Opd;
use anymetal_simd::facts::Facts;
use anymetal_simd::storage::Root;

/// Buffers shorter than this are written through the caches.
const MIN_BUFFER_BYTES: i64 = 32 << 20;
/// So are those of which all threads together write less than this with one store each.
const MIN_WRITTEN_BYTES: i64 = 8 << 20;
/// Bytes of a line, the least that such a store is good for.
const LINE: i64 = 64;

/// The stores of a kernel that may be non-temporal, by their pointers.
#[derive(Debug, Default)]
pub(super) struct NonTemporal {
    pointers: BTreeSet<Value>,
    /// What a thread writes to each argument, if it executes each store once.
    bytes: BTreeMap<usize, i64>,
}

impl NonTemporal {
    /// Analyses a function.
    pub(super) fn new(facts: Facts<'_>) -> Self {
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

impl Emitter<'_, '_> {
    /// For a store that may be non-temporal, whether it does not: nonzero at run time.
    pub(super) fn kept_in_caches(&mut self, address: &Address) -> Option<Opd> {
        let Root::Argument(index) = address.place.root else {
            // Threadgroup memory stays in caches.
            return None;
        };
        let may_pass = self.nontemporal.pointers.contains(&address.value?);
        if may_pass { self.argument_kept(index) } else { None }
    }

    /// The same for the stores to an argument.
    pub(super) fn argument_kept(&mut self, index: usize) -> Option<Opd> {
        let &thread_bytes = self.nontemporal.bytes.get(&index)?;
        let features = &self.shared.options.features;
        if !(features.avx512 || features.avx2) || self.shared.kernel.args[index].space != Space::Device {
            return None;
        }
        self.shared.fences = true;
        if let Some(flag) = self.nontemporal_flags.get(&index) {
            return Some(flag.clone());
        }
        let len = self.place(Root::Argument(index)).len;
        let launch = self.group.launch.clone();
        let t = &mut self.t;
        let mut threads = Opd::Int(1);
        for axis in 0..3 {
            let field = LAUNCH_GRID_THREADS + 4 * axis;
            let at = t.entry_value(format_args!("getelementptr i8, ptr {launch}, i64 {field}"));
            let size = t.entry_value(format_args!("load i32, ptr {at}, align 4, !invariant.load !1"));
            let size = t.entry_value(format_args!("zext i32 {size} to i64"));
            threads = t.entry_value(format_args!("mul i64 {threads}, {size}"));
        }
        assert!(thread_bytes > 0, "each thread stores to an argument that may be non-temporal");
        let enough = MIN_WRITTEN_BYTES / thread_bytes;
        let short = t.entry_value(format_args!("icmp ult i64 {len}, {MIN_BUFFER_BYTES}"));
        let little = t.entry_value(format_args!("icmp ult i64 {threads}, {enough}"));
        let kept = t.entry_value(format_args!("or i1 {short}, {little}"));
        let flag = t.entry_value(format_args!("zext i1 {kept} to i64"));
        self.nontemporal_flags.insert(index, flag.clone());
        Some(flag)
    }

    /// Stores a vector of `bytes` bytes: with non-temporal stores if `kept` is zero and it covers whole
    /// lines.
    pub(super) fn store_nontemporal(
        &mut self,
        kept: &Opd,
        store: &str,
        at: &Opd,
        bytes: i64,
        metadata: &str,
    ) {
        self.t.expect(kept, "i64");
        assert!(bytes > 0, "a store of {bytes} bytes");
        if bytes % LINE != 0 {
            self.t.line(format_args!("{store}, ptr {at}, align 1{metadata}"));
            return;
        }
        let place = self.t.value(format_args!("ptrtoint ptr {at} to i64"));
        let low = self.t.value(format_args!("and i64 {place}, {}", LINE - 1));
        let kept = self.t.value(format_args!("or i64 {low}, {kept}"));
        let past = self.t.icmp("eq", "i64", &kept, &Opd::Int(0));
        let (past_block, through, done) = (self.t.block(), self.t.block(), self.t.block());
        self.t.branch_if(&past, past_block, through);
        self.t.label(past_block);
        self.t.line(format_args!("{store}, ptr {at}, align {LINE}, !nontemporal !14{metadata}"));
        self.t.branch(done);
        self.t.label(through);
        self.t.line(format_args!("{store}, ptr {at}, align 1{metadata}"));
        self.t.label(done);
    }
}
