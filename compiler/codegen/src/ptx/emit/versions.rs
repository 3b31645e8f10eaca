//! Two versions of a kernel's body: one for threadgroups of which much is known, and one for any.
//!
//! The first takes the first bytes of buffers to be multiples of 16, and integers given by value that rows
//! are long by to be multiples of 4: Metal asks a binding for no more than the alignment of its element, so
//! vectors behind a pointer to scalars could be anywhere, and are accessed by elements, but nearly all are
//! such multiples. And it checks no access that is in bounds in all threads of the threadgroup, which the
//! kernel finds out at its start (see `region`). A branch or a selection at each access would cost more,
//! most of all where they keep the assembler from moving accesses.

use std::collections::BTreeSet;

use anymetal_analysis::walk_insts;
use anymetal_ir::{ArgKind, Inst, Op, Scalar, Type, Value};

use super::super::alignment::{Alignment, Assumed};
use super::Emitter;
use super::memory::is_one_access;
use super::region::Regions;
use crate::cpu::CodegenError;
use crate::limits::ptx::{MAX_BOUND_DEFINITIONS, MAX_VERSIONED_SIZE};
use crate::llvm::{I1, IntPredicate, Opd};
use anymetal_analysis::roots::Root;

/// What the first version takes the buffers to be multiples of.
const BINDINGS: u32 = 16;
/// And the zero bits of integers.
const WORD_BITS: u32 = 2;

/// What the version being written need not check.
#[derive(Debug, Default)]
pub(super) struct Version {
    /// The accesses that are in bounds.
    in_bounds: BTreeSet<Inst>,
    /// The access being written is one of them.
    is_in_bounds: bool,
}

impl Version {
    /// An access begins.
    pub(super) fn begin(&mut self, inst: Inst) {
        assert!(!self.is_in_bounds, "accesses do not nest");
        self.is_in_bounds = self.in_bounds.contains(&inst);
    }

    /// It ends.
    pub(super) fn end(&mut self) {
        self.is_in_bounds = false;
    }

    pub(super) fn is_in_bounds(&self) -> bool {
        self.is_in_bounds
    }
}

impl<'a> Emitter<'a> {
    /// The kernel's body, in one or two versions; control goes on after it or at the exit.
    pub(super) fn body(&mut self) -> Result<(), CodegenError> {
        let body = self.input.function.body;
        if self.input.order.len() > MAX_VERSIONED_SIZE {
            return self.block(body);
        }
        let mut holds = Opd::bool(true);
        let aligned = self.aligned_version(&mut holds);
        let in_bounds = self.accesses_in_bounds(&mut holds);
        if aligned.is_none() && in_bounds.is_empty() {
            return self.block(body);
        }
        let (first, second) = (self.t.block(), self.t.block());
        self.t.branch_if(&holds, first, second);
        self.t.label(first);
        let any = aligned.map(|aligned| std::mem::replace(&mut self.facts.alignment, aligned));
        self.version.in_bounds = in_bounds;
        self.block(body)?;
        if !self.t.is_ended() {
            self.t.branch(self.exit);
        }
        self.t.label(second);
        if let Some(any) = any {
            self.facts.alignment = any;
        }
        self.version = Version::default();
        self.values = super::first_values(self.input.function);
        self.block(body)
    }

    /// The pointer, type and guaranteed alignment of a load or store through an argument.
    fn access_of(&self, inst: Inst) -> Option<(Value, Type, u32)> {
        let data = self.input.function.inst(inst);
        let access = match data.op {
            Op::Load { ptr, align, .. } => (ptr, self.ty(data.result?), align),
            Op::Store { ptr, value, align, .. } => (ptr, self.ty(value), align),
            _ => return None,
        };
        matches!(self.root(access.0), Root::Argument(_)).then_some(access)
    }

    // --- alignment

    /// The alignments of the first version, if they make vectors one access; adds their conditions, which are
    /// of everything that an alignment may rest on.
    fn aligned_version(&mut self, holds: &mut Opd) -> Option<Alignment<'a>> {
        let of = |this: &Self, word_bits| {
            let assumed = Assumed { bindings: BINDINGS, word_bits };
            let alignment = this.facts.alignment.with(this.input.order, assumed);
            let gains = this.gains(&alignment);
            (alignment, gains)
        };
        let (with_words, plain) = (of(self, WORD_BITS), of(self, 0));
        let words = with_words.0.words();
        let are_given = words.iter().all(|&(argument, _)| self.is_given_argument(argument));
        let use_words = are_given && with_words.1 > plain.1;
        let (alignment, gains) = if use_words { with_words } else { plain };
        if gains == 0 {
            return None;
        }
        for index in 0..self.input.kernel.args.len() {
            if self.input.kernel.args[index].kind != ArgKind::Buffer {
                continue;
            }
            let Some(base) = self.places.base(index) else { continue };
            let address = self.t.address_of(&base);
            let low = self.t.and(&address, i64::from(BINDINGS - 1));
            let is_multiple = self.t.icmp(IntPredicate::Eq, &low, 0);
            *holds = self.t.and(holds, &is_multiple);
        }
        for &(argument, offset) in words.iter().filter(|_| use_words) {
            let word = self.given_scalar(argument, offset, Scalar::I32);
            let word = word.expect("words are used only if all are given by value");
            let low = self.t.and(&word, (1 << WORD_BITS) - 1);
            let is_multiple = self.t.icmp(IntPredicate::Eq, &low, 0);
            *holds = self.t.and(holds, &is_multiple);
        }
        Some(alignment)
    }

    /// How many vectors become one access.
    fn gains(&self, assumed: &Alignment<'_>) -> usize {
        let gains = |&&inst: &&Inst| {
            let Some((pointer, ty, align)) = self.access_of(inst) else {
                // Only alignments of arguments are assumed.
                return false;
            };
            let known = self.facts.alignment.of_pointer(pointer).max(align);
            is_one_access(ty) && known < ty.size() && assumed.of_pointer(pointer) >= ty.size()
        };
        self.input.order.iter().filter(gains).count()
    }

    // --- bounds

    /// The accesses that are in bounds in all threads of the threadgroup; adds their conditions.
    fn accesses_in_bounds(&mut self, holds: &mut Opd) -> BTreeSet<Inst> {
        if !self.input.options.checks {
            return BTreeSet::new();
        }
        let mut in_loops = BTreeSet::new();
        for &inst in self.input.order {
            let op = &self.input.function.inst(inst).op;
            if matches!(op, Op::Loop { .. }) {
                for block in op.blocks() {
                    walk_insts(self.input.function, block, &mut |inst| {
                        in_loops.insert(inst);
                    });
                }
            }
        }
        let (looped, straight): (Vec<Inst>, Vec<Inst>) =
            self.input.order.iter().partition(|inst| in_loops.contains(inst));
        let mut regions = Regions::new();
        let (mut found, condition) = self.in_bounds_of(&mut regions, &looped);
        *holds = self.t.and(holds, &condition);
        let before = regions.steps_taken();
        let (more, condition) = self.in_bounds_of(&mut regions, &straight);
        if regions.steps_taken() - before <= MAX_BOUND_DEFINITIONS * more.len() as u32 {
            *holds = self.t.and(holds, &condition);
            found.extend(more);
        }
        found
    }

    /// Those of the accesses whose bounds can be told, and whether they are in bounds.
    fn in_bounds_of(&mut self, regions: &mut Regions, accesses: &[Inst]) -> (BTreeSet<Inst>, Opd) {
        let (mut found, mut done, mut holds) = (BTreeSet::new(), BTreeSet::new(), Opd::bool(true));
        for &inst in accesses {
            let Some((pointer, ty, _)) = self.access_of(inst) else { continue };
            if self.is_given(pointer) {
                continue;
            }
            let Some((argument, bounds)) = self.bounds_of_offset(regions, pointer) else { continue };
            let root = Root::Argument(argument);
            let Some(space) = self.space(pointer).filter(|_| root == self.root(pointer)) else { continue };
            let place = self.place(root, space);
            if place.base.is_null() || !bounds.is_tight() {
                continue;
            }
            found.insert(inst);
            if !done.insert((pointer, ty.size())) {
                continue;
            }
            self.t.expect(&bounds.when, I1);
            let end = self.t.add(&bounds.hi, i64::from(ty.size()));
            let above = self.at_least(&bounds.lo, &Opd::i64(0));
            let below = self.at_least(&place.len, &end);
            for condition in [&bounds.when, &above, &below] {
                holds = self.t.and(&holds, condition);
            }
        }
        (found, holds)
    }

    fn space(&self, pointer: Value) -> Option<anymetal_ir::Space> {
        match self.ty(pointer) {
            Type::Ptr(space) => Some(space),
            _ => None,
        }
    }
}
