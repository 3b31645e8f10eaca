//! Faults: the sites, and the registers that carry a thread's first fault to its end.
//!
//! As long as no check has failed, each check selects its site and offset into registers; from the first
//! one that fails on they stay. The record is written once, where the thread ends, if one has failed. A
//! branch that records at once would keep the assembler from moving loads.

use anymetal_abi::{AccessKind, nvidia, offsets};
use anymetal_ir::{ArgKind, Inst, Space, Type, Value};

use super::Emitter;
use super::allocation::Place;
use crate::cpu::FaultSite;
use crate::llvm::{Builder, GLOBAL, I1, I32, I64, IntPredicate, MemFlags, Opd};
use anymetal_analysis::roots::Root;

/// Sites and registers.
#[derive(Debug, Default)]
pub(super) struct Faults {
    pub(super) sites: Vec<FaultSite>,
    /// The allocation of each site.
    roots: Vec<Root>,
    noted: Option<Noted>,
    rounds: Option<Opd>,
}

/// The variables of a thread's latest check, or of the first one that failed.
#[derive(Debug, Clone)]
struct Noted {
    /// Whether no check has failed.
    is_clean: Opd,
    site: Opd,
    offset: Opd,
    /// The length and the address of the allocation, of sites whose allocation is not known here.
    length: Opd,
    base: Opd,
}

impl Faults {
    fn noted(&mut self, t: &mut Builder) -> Noted {
        self.noted.get_or_insert_with(|| Noted::new(t)).clone()
    }

    /// The variable that counts the rounds of all loops.
    pub(super) fn rounds(&mut self, t: &mut Builder) -> Opd {
        if let Some(rounds) = &self.rounds {
            return rounds.clone();
        }
        let rounds = t.alloca(I32, 4);
        t.in_entry(|t| t.store(&Opd::int(I32, 0), &rounds, 4));
        self.rounds = Some(rounds.clone());
        rounds
    }
}

impl Noted {
    /// Variables of a thread that has done no check.
    fn new(t: &mut Builder) -> Self {
        let mut variable = |start: Opd| {
            let variable = t.alloca(start.ty(), 8);
            t.in_entry(|t| t.store(&start, &variable, 8));
            variable
        };
        Noted {
            is_clean: variable(Opd::bool(true)),
            site: variable(Opd::i32(0)),
            offset: variable(Opd::i64(0)),
            length: variable(Opd::i64(0)),
            base: variable(Opd::i64(0)),
        }
    }
}

impl Emitter<'_> {
    /// The number of an access through a pointer.
    pub(super) fn site(&mut self, inst: Inst, pointer: Value, kind: AccessKind, bytes: u32) -> usize {
        let Type::Ptr(space) = self.ty(pointer) else {
            unreachable!("{pointer} is accessed, and not a pointer")
        };
        let root = self.root(pointer);
        let Self { input, .. } = self;
        let (mut argument, mut variable) = (None, String::new());
        match root {
            Root::Argument(index) => argument = Some(index),
            Root::Threadgroup(var) => variable.clone_from(&input.module.threadgroup_vars[var.index()].name),
            Root::Global(global) => variable.clone_from(&input.module.globals[global.index()].name),
            Root::Local(local) => variable.clone_from(&input.function.locals[local.index()].name),
            Root::Unset | Root::Null | Root::Many => {}
        }
        let loc = input.function.inst(inst).loc;
        let site = FaultSite { argument, variable, space, kind, access_bytes: bytes, loc };
        self.faults.sites.push(site);
        self.faults.roots.push(root);
        assert_eq!(self.faults.roots.len(), self.faults.sites.len(), "every fault site has an allocation");
        self.faults.sites.len() - 1
    }

    /// Notes a check of an access at an offset, which fails unless `ok`, if none has failed.
    pub(super) fn note_fault(&mut self, ok: &Opd, site: usize, offset: &Opd, place: &Place) {
        if ok.is_true() {
            return;
        }
        self.t.expect(ok, I1);
        self.t.expect(offset, I64);
        let noted = self.faults.noted(&mut self.t);
        let is_known = self.faults.roots[site] != Root::Many;
        let loads_pointers = self.residents.is_some() && place.base.ty() == GLOBAL;
        let start = (!is_known && loads_pointers).then(|| self.t.address_of(&place.base));
        let is_clean = self.t.load(I1, &noted.is_clean, 8);
        let mut note = |variable: &Opd, new: &Opd| {
            let old = self.t.load(new.ty(), variable, 8);
            let value = self.t.select(&is_clean, new, &old);
            self.t.store(&value, variable, 8);
        };
        note(&noted.site, &Opd::i32(site as i64));
        note(&noted.offset, offset);
        if !is_known {
            note(&noted.length, &place.len);
            note(&noted.base, &start.unwrap_or(Opd::i64(0)));
        }
        let is_clean = self.t.and(&is_clean, ok);
        self.t.store(&is_clean, &noted.is_clean, 8);
    }

    /// Where the thread ends: writes its first fault to the record, if it has one and is the first to come
    /// here with one.
    pub(super) fn record_fault(&mut self) {
        // A kernel without checks has no faults.
        let Some(noted) = self.faults.noted.clone() else { return };
        let (faulted, first, write, done) = (self.t.block(), self.t.block(), self.t.block(), self.t.block());
        let is_clean = self.t.load(I1, &noted.is_clean, 8);
        self.t.branch_likely(&is_clean, done, faulted);
        self.t.label(faulted);
        let record = self.grid.fault.clone();
        // Looks before it claims: a kernel that faults in every thread comes here often.
        let device = "syncscope(\"device\") monotonic";
        let claimed = self.t.atomic_load(I32, &record, device, 4);
        let free = self.t.icmp(IntPredicate::Eq, &claimed, 0);
        self.t.branch_if(&free, first, done);
        self.t.label(first);
        let claim = format!("{device} monotonic");
        let exchanged = self.t.cmpxchg(&record, [&Opd::i32(0), &Opd::i32(1)], &claim);
        let won = self.t.is_exchanged(&exchanged);
        self.t.branch_if(&won, write, done);
        self.t.label(write);
        self.write_record(&record, &noted);
        self.tell_host(&record);
        self.t.label(done);
    }

    /// Writes what was noted to the record, which this thread has claimed.
    fn write_record(&mut self, record: &Opd, noted: &Noted) {
        let site = self.t.load(I32, &noted.site, 8);
        let offset = self.t.load(I64, &noted.offset, 8);
        let allocation = [&noted.length, &noted.base].map(|variable| self.t.load(I64, variable, 8));
        let [length, base] = self.allocation_of_site(&site, &allocation);
        let (group, thread) = (self.linear_group(), self.thread_by_full_size());
        self.put(record, offsets::FAULT_SITE, &site);
        self.put(record, offsets::FAULT_BYTE_OFFSET, &offset);
        self.put(record, offsets::FAULT_BOUND_LEN, &length);
        if self.residents.is_some() {
            self.put(record, offsets::FAULT_BASE, &base);
        }
        self.put(record, offsets::FAULT_GROUP_LINEAR, &group);
        self.put(record, offsets::FAULT_THREAD_IN_GROUP, &thread);
    }

    fn put(&mut self, record: &Opd, offset: i64, value: &Opd) {
        assert!(offset >= 0 && offset % 4 == 0, "record fields are at multiples of 4, not at {offset}");
        let at = self.t.field(record, offset);
        self.t.store(value, &at, 4);
    }

    /// Sets the host's flag that there is a record to be read.
    fn tell_host(&mut self, record: &Opd) {
        let at = self.t.field(record, nvidia::RECORD_FLAG);
        let flag = self.t.load(GLOBAL, &at, 8);
        self.t.store(&Opd::int(I32, 1), &flag, MemFlags::from(4).volatile(true));
    }

    /// The length and the address of the allocation that a site is to: as noted where only the access knew
    /// it, without an address elsewhere, where the record's reader knows what was bound.
    fn allocation_of_site(&mut self, site: &Opd, noted: &[Opd; 2]) -> [Opd; 2] {
        let mut groups: Vec<(Root, Vec<usize>)> = Vec::new();
        for (number, &root) in self.faults.roots.iter().enumerate() {
            match groups.iter_mut().find(|(known, _)| *known == root) {
                Some((_, numbers)) => numbers.push(number),
                None => groups.push((root, vec![number])),
            }
        }
        groups.retain(|(root, _)| *root != Root::Many);
        let (join, other) = (self.t.block(), self.t.block());
        let blocks: Vec<_> = groups.iter().map(|_| self.t.block()).collect();
        let cases = groups.iter().zip(&blocks);
        let cases = cases
            .flat_map(|((_, numbers), &block)| numbers.iter().map(move |&number| (number as i64, block)));
        self.t.switch(site, other, &cases.collect::<Vec<_>>());
        let mut edges = Vec::new();
        for ((root, _), &block) in groups.iter().zip(&blocks) {
            self.t.label(block);
            let place = self.place(*root, Space::Device);
            edges.push((place.len, self.t.current()));
            self.t.branch(join);
        }
        self.t.label(other);
        self.t.label(join);
        let [noted_length, noted_base] = noted;
        let nowhere = Opd::i64(0);
        let mut lengths: Vec<(&Opd, u32)> = edges.iter().map(|(length, block)| (length, *block)).collect();
        let mut bases: Vec<(&Opd, u32)> = edges.iter().map(|(_, block)| (&nowhere, *block)).collect();
        lengths.push((noted_length, other));
        bases.push((noted_base, other));
        [self.t.phi(&lengths), self.t.phi(&bases)]
    }

    /// Whether the argument is a buffer that must hold its element: a reference.
    pub(super) fn bound_bytes(&self, root: Root) -> i64 {
        let Root::Argument(index) = root else {
            // Nothing is bound to other allocations.
            return 0;
        };
        let argument = &self.input.kernel.args[index];
        let is_bound = argument.reference && argument.kind == ArgKind::Buffer;
        if is_bound { i64::try_from(argument.element_size).unwrap_or(0) } else { 0 }
    }
}
