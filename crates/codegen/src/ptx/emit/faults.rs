//! Faults: the sites, and the registers that carry a thread's fault to its end.
//!
//! A check that fails selects its site and offset into registers; the record is written once, where the
//! thread ends. A branch that records at once would keep the assembler from moving loads.

use anymetal_ir::{ArgKind, Inst, Space, Type, Value};
use anymetal_launch_abi::{AccessKind, nvidia, offsets};

use super::Emitter;
use super::allocation::{Place, pointer_type};
use crate::cpu::FaultSite;
use crate::llvm_text::{Opd, Text};
use crate::roots::Root;

/// Sites and registers.
#[derive(Debug, Default)]
pub(super) struct Faults {
    pub(super) sites: Vec<FaultSite>,
    /// The allocation of each site.
    roots: Vec<Root>,
    /// 1 + the site, 0 for none; the offset; length and address for sites whose allocation is not known here.
    registers: Option<[Opd; 4]>,
    rounds: Option<Opd>,
}

impl Faults {
    fn registers(&mut self, t: &mut Text) -> [Opd; 4] {
        if let Some(registers) = &self.registers {
            return registers.clone();
        }
        let registers = ["i32", "i64", "i64", "i64"].map(|ty| {
            let register = t.alloca(ty, 8);
            t.entry_line(format_args!("store {ty} 0, ptr {register}, align 8"));
            register
        });
        self.registers = Some(registers.clone());
        registers
    }

    /// The variable that counts the rounds of all loops.
    pub(super) fn rounds(&mut self, t: &mut Text) -> Opd {
        if let Some(rounds) = &self.rounds {
            return rounds.clone();
        }
        let rounds = t.alloca("i32", 4);
        t.entry_line(format_args!("store i32 0, ptr {rounds}, align 4"));
        self.rounds = Some(rounds.clone());
        rounds
    }
}

impl Emitter<'_> {
    /// The number of an access through a pointer.
    pub(super) fn site(&mut self, inst: Inst, pointer: Value, kind: AccessKind, bytes: u32) -> usize {
        let Type::Ptr(space) = self.ty(pointer) else { return 0 };
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
        self.faults.sites.len() - 1
    }

    /// Remembers a fault at an offset unless `ok`.
    pub(super) fn note_fault(&mut self, ok: &Opd, site: usize, offset: &Opd, place: &Place) {
        if ok.is_text("true") {
            return;
        }
        let [number, at, length, base] = self.faults.registers(&mut self.t);
        let is_known = self.faults.roots[site] != Root::Many;
        let loads_pointers = self.residents.is_some() && place.ty == pointer_type(Space::Device);
        let start = (!is_known && loads_pointers)
            .then(|| self.t.value(format_args!("ptrtoint {} {} to i64", place.ty, place.base)));
        let mut keep = |ty: &str, register: &Opd, new: &Opd| {
            let old = self.t.load(ty, register, 8);
            let value = self.t.select("i1", ok, ty, &old, new);
            self.t.store(ty, &value, register, 8);
        };
        keep("i32", &number, &Opd::Int(site as i64 + 1));
        keep("i64", &at, offset);
        if !is_known {
            keep("i64", &length, &place.len);
            keep("i64", &base, &start.unwrap_or(Opd::Int(0)));
        }
    }

    /// Where the thread ends: writes the record if it has a fault and is the first to have one.
    pub(super) fn record_fault(&mut self) {
        let Some([number, at, length, base]) = self.faults.registers.clone() else { return };
        let (faulted, first, write, done) = (self.t.block(), self.t.block(), self.t.block(), self.t.block());
        let number = self.t.load("i32", &number, 8);
        let none = self.t.value(format_args!("icmp eq i32 {number}, 0"));
        self.t.branch_likely(&none, done, faulted);
        self.t.label(faulted);
        let record = self.grid.fault.clone();
        // Looks before it claims: a kernel that faults in every thread comes here often.
        let device = "syncscope(\"device\") monotonic";
        let claimed =
            self.t.value(format_args!("load atomic i32, ptr addrspace(1) {record} {device}, align 4"));
        let free = self.t.value(format_args!("icmp eq i32 {claimed}, 0"));
        self.t.branch_if(&free, first, done);
        self.t.label(first);
        let pair =
            self.t.value(format_args!("cmpxchg ptr addrspace(1) {record}, i32 0, i32 1 {device} monotonic"));
        let won = self.t.value(format_args!("extractvalue {{ i32, i1 }} {pair}, 1"));
        self.t.branch_if(&won, write, done);
        self.t.label(write);
        let site = self.t.value(format_args!("sub i32 {number}, 1"));
        let offset = self.t.load("i64", &at, 8);
        let length = self.t.load("i64", &length, 8);
        let length = self.length_of_site(&site, length);
        let (group, thread) = (self.linear_group(), self.thread_by_full_size());
        self.put(&record, offsets::FAULT_SITE, "i32", &site);
        self.put(&record, offsets::FAULT_BYTE_OFFSET, "i64", &offset);
        self.put(&record, offsets::FAULT_BOUND_LEN, "i64", &length);
        if self.residents.is_some() {
            let base = self.t.load("i64", &base, 8);
            self.put(&record, offsets::FAULT_BASE, "i64", &base);
        }
        self.put(&record, offsets::FAULT_GROUP_LINEAR, "i64", &group);
        self.put(&record, offsets::FAULT_THREAD_IN_GROUP, "i32", &thread);
        self.tell_host(&record);
        self.t.label(done);
    }

    fn put(&mut self, record: &Opd, offset: i64, ty: &str, value: &Opd) {
        let at = self.t.value(format_args!("getelementptr i8, ptr addrspace(1) {record}, i64 {offset}"));
        self.t.line(format_args!("store {ty} {value}, ptr addrspace(1) {at}, align 4"));
    }

    /// Sets the host's flag that there is a record to be read.
    fn tell_host(&mut self, record: &Opd) {
        let at = nvidia::RECORD_FLAG;
        let at = self.t.value(format_args!("getelementptr i8, ptr addrspace(1) {record}, i64 {at}"));
        let flag = self.t.value(format_args!("load ptr addrspace(1), ptr addrspace(1) {at}, align 8"));
        self.t.line(format_args!("store volatile i32 1, ptr addrspace(1) {flag}, align 4"));
    }

    /// The length of the allocation that a site is to; `noted` where only the access knew it.
    fn length_of_site(&mut self, site: &Opd, noted: Opd) -> Opd {
        let mut groups: Vec<(Root, Vec<usize>)> = Vec::new();
        for (number, &root) in self.faults.roots.iter().enumerate() {
            match groups.iter_mut().find(|(known, _)| *known == root) {
                Some((_, numbers)) => numbers.push(number),
                None => groups.push((root, vec![number])),
            }
        }
        groups.retain(|(root, _)| *root != Root::Many);
        let (join, other) = (self.t.block(), self.t.block());
        let mut list = String::new();
        let blocks: Vec<_> = groups.iter().map(|_| self.t.block()).collect();
        for ((_, numbers), block) in groups.iter().zip(&blocks) {
            numbers.iter().for_each(|number| list += &format!(" i32 {number}, label %b{block}"));
        }
        self.t.terminator(format_args!("switch i32 {site}, label %b{other} [{list} ]"));
        let mut edges = Vec::new();
        for ((root, _), &block) in groups.iter().zip(&blocks) {
            self.t.label(block);
            let place = self.place(*root, Space::Device);
            edges.push((place.len, self.t.current()));
            self.t.branch(join);
        }
        self.t.label(other);
        edges.push((noted, other));
        self.t.label(join);
        let edges: Vec<(&Opd, u32)> = edges.iter().map(|(len, block)| (len, *block)).collect();
        self.t.phi("i64", &edges)
    }

    /// Whether the argument is a buffer that must hold its element: a reference.
    pub(super) fn bound_bytes(&self, root: Root) -> i64 {
        let Root::Argument(index) = root else { return 0 };
        let argument = &self.input.kernel.args[index];
        let is_bound = argument.reference && argument.kind == ArgKind::Buffer;
        if is_bound { i64::try_from(argument.element_size).unwrap_or(0) } else { 0 }
    }
}
