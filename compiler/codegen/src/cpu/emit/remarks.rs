//! Optimization remarks of the code generator: how accesses, branches and loops are emitted, and why.
//!
//! Owns [`Remarks`]. A construct is often emitted several times (with all lanes active and without, for
//! several threadgroup sizes); in each version the first time counts, which is the fast path. Invariant:
//! nothing here emits code.

use std::collections::{BTreeMap, BTreeSet};

use anymetal_abi::AccessKind;
use anymetal_ir::{BinOp, Block, CastOp, Inst, Label, Loc, Op, Query, Space, Type, Value};
use anymetal_opt::if_convert;
use anymetal_opt::{Remark, RemarkId, RemarkValue};

use super::Emitter;
use super::lane::Lane;
use super::memory::{Address, Item};
use crate::limits::cpu::MAX_CAUSE_DISTANCE;
use crate::llvm::LANES;
use anymetal_analysis::divergence::{Geometry, Shape};
use anymetal_simd::access::{Run, Strategy};
use anymetal_simd::facts::Facts;
use anymetal_simd::storage::Root;

/// The remarks on a kernel's versions.
#[derive(Debug, Default)]
pub(in crate::cpu) struct Remarks {
    /// The threadgroups of the version that is emitted.
    version: String,
    /// The constructs of that version that have a remark, by instruction and pass.
    known: BTreeSet<(Inst, &'static str)>,
    /// The remarks, in order, and the versions that each holds for.
    found: Vec<(Remark, BTreeSet<String>)>,
}

impl Remarks {
    /// Begins a version.
    fn begin(&mut self, geometry: Geometry) {
        self.version = match geometry {
            Geometry::Full([x, y, z]) | Geometry::YMajor([x, y, z]) => format!("{x}x{y}x{z}"),
            Geometry::Line => "one-dimensional".to_owned(),
            Geometry::Any => "any".to_owned(),
        };
        self.known.clear();
    }

    fn add(&mut self, remark: Remark) {
        let version = self.version.clone();
        match self.found.iter_mut().find(|(known, _)| *known == remark) {
            Some((_, versions)) => {
                versions.insert(version);
            }
            None => self.found.push((remark, BTreeSet::from([version]))),
        }
    }

    /// All remarks, each with the threadgroups that it holds for unless these are all.
    pub(in crate::cpu) fn finish(self) -> Vec<Remark> {
        let all: BTreeSet<String> = self.found.iter().flat_map(|(_, versions)| versions.clone()).collect();
        let with_versions = |(remark, versions): (Remark, BTreeSet<String>)| match versions == all {
            true => remark,
            false => remark.with("threadgroups", Vec::from_iter(versions).join(", ")),
        };
        self.found.into_iter().map(with_versions).collect()
    }
}

/// The operation that makes a value vary between lanes.
struct Cause {
    /// In a few words.
    what: String,
    loc: Loc,
}

impl Cause {
    fn add_to(self, remark: Remark) -> Remark {
        let remark = remark.with("cause", self.what);
        if self.loc.is_known() { remark.with("cause_line", i64::from(self.loc.line)) } else { remark }
    }
}

impl Emitter<'_, '_> {
    /// Remarks on a version of the kernel, before it is emitted.
    pub(super) fn remark_version(&mut self) {
        let (facts, independent) = (self.plan.facts, self.shared.independent_simdgroups);
        let Some(remarks) = &mut self.shared.remarks else {
            // They are not requested.
            return;
        };
        remarks.begin(facts.geometry);
        let y_major = matches!(facts.geometry, Geometry::YMajor(_));
        let lanes = Remark::new(RemarkId::KernelVectorized, Loc::default()).with("lanes", LANES as i64);
        remarks.add(lanes.with("lanes_along", if y_major { "y" } else { "x" }));
        if independent {
            remarks.add(Remark::new(RemarkId::SimdgroupsIndependent, Loc::default()));
        }
        remarks_on_prefetches(facts).into_iter().for_each(|remark| remarks.add(remark));
    }

    /// Adds a remark on an instruction, if remarks are requested and this version has no remark of this pass
    /// on it.
    pub(super) fn remark(
        &mut self,
        inst: Inst,
        id: RemarkId,
        complete: impl FnOnce(&Self, Remark) -> Remark,
    ) {
        let is_new =
            self.shared.remarks.as_mut().is_some_and(|remarks| remarks.known.insert((inst, id.pass())));
        if is_new {
            let remark = complete(self, Remark::new(id, self.plan.facts.function.inst(inst).loc));
            let remarks = self.shared.remarks.as_mut().expect("remarks are requested");
            remarks.add(remark);
        }
    }

    /// Remarks on an access that is done together with others.
    pub(super) fn remark_together(&mut self, inst: Inst, id: RemarkId, pointer: Value, count: usize) {
        self.remark(inst, id, |this, remark| this.with_variable(remark, pointer).with("loads", count as i64));
    }

    /// Remarks on an access to a private array in memory.
    pub(super) fn remark_private(&mut self, inst: Inst, id: RemarkId, pointer: Value) {
        self.remark(inst, id, |this, remark| {
            let remark = this.with_variable(remark, pointer);
            match this.shape(pointer, 0).is_uniform() {
                true => remark.with("index", "uniform"),
                false => this.cause(pointer).add_to(remark.with("index", "varying")),
            }
        });
    }

    /// Remarks on an access by pointers to several allocations.
    pub(super) fn remark_waterfall(&mut self, inst: Inst, id: RemarkId, pointer: Value) {
        self.remark(inst, id, |this, remark| this.cause(pointer).add_to(remark));
    }

    /// Remarks on a load or store of one allocation.
    pub(super) fn remark_access(
        &mut self,
        inst: Inst,
        kind: AccessKind,
        (address, item): (&Address, Item),
        strategy: &Strategy,
    ) {
        if self.shared.remarks.is_none() {
            // They are not requested.
            return;
        }
        let pointer = address.value;
        let guess =
            pointer.filter(|_| *strategy != Strategy::Varying).and_then(|pointer| self.guess(pointer));
        let id = match (&guess, kind) {
            (Some(_), AccessKind::Store) => RemarkId::StoreGuarded,
            (Some(_), _) => RemarkId::LoadGuarded,
            (None, _) => access_id(kind, strategy),
        };
        self.remark(inst, id, |this, remark| {
            let mut remark = pointer.map_or(remark.clone(), |pointer| this.with_variable(remark, pointer));
            if let Some(guess) = guess {
                remark = guess.add_to(remark);
            }
            remark = match strategy {
                Strategy::Runs(runs) if runs.len() > 1 => remark.with("runs", runs.len() as i64),
                Strategy::Span { elements, .. } => remark.with("elements", *elements as i64),
                Strategy::Runs(_) | Strategy::Uniform => remark,
                Strategy::Pieces(_) | Strategy::Lanes | Strategy::Varying => {
                    this.with_reason(remark, address)
                }
            };
            let bounds = match (this.shared.options.checks, this.is_in_bounds(address, item.bytes())) {
                (false, _) => "unchecked",
                (true, true) => "proved",
                (true, false) => "checked",
            };
            remark.with("bytes", item.bytes()).with("bounds", bounds)
        });
    }

    /// The guess that the pattern of a value depends on. Sums that may wrap are none: they hardly ever do.
    fn guess(&self, value: Value) -> Option<Cause> {
        let function = self.plan.facts.function;
        let is_assumed = |value| self.shape(value, 0).affine().is_some_and(|lanes| lanes.is_assumed());
        let mut at = value;
        for _ in 0..MAX_CAUSE_DISTANCE {
            let inst = function.defining_inst(at).filter(|_| is_assumed(at))?;
            let data = function.inst(inst);
            let mut assumed = None;
            data.op.for_each_operand(|operand| {
                assumed = assumed.or_else(|| is_assumed(operand).then_some(operand));
            });
            let what = match (&data.op, assumed) {
                (_, Some(operand)) => {
                    at = operand;
                    continue;
                }
                (Op::Binary(BinOp::Mul, ..), None) => "stride that is 1 only if an argument is",
                (Op::Binary(BinOp::SMin | BinOp::SMax | BinOp::UMin | BinOp::UMax, ..), None) => {
                    "minimum or maximum that may clamp lanes"
                }
                // A widened sum.
                (_, None) => return None,
            };
            return Some(Cause { what: what.to_owned(), loc: data.loc });
        }
        None
    }

    /// Why the lanes of an access are not in a pattern that vectors have.
    fn with_reason(&self, remark: Remark, address: &Address) -> Remark {
        match (&address.offset, address.value) {
            (Lane::Affine { shape, .. }, _) if !shape.is_assumed() => {
                let stride = shape.at(1).wrapping_sub(shape.at(0));
                remark.with("cause", "stride").with("stride_bytes", stride)
            }
            (_, Some(pointer)) => self.cause(pointer).add_to(remark),
            (_, None) => remark.with("cause", "pointer loaded from memory"),
        }
    }

    /// Remarks on a branch whose condition is not uniform.
    pub(super) fn remark_branch(&mut self, inst: Inst, cond: Value, then: Block, otherwise: Block) {
        self.remark(inst, RemarkId::BranchDivergent, |this, remark| {
            let reason = if_convert::refusal(this.plan.facts.function, then, otherwise);
            this.cause(cond).add_to(remark).with("not_converted", reason)
        });
    }

    /// Remarks on a loop within a SIMD-group; `has_copy`: with a copy for the iterations in which all lanes
    /// are active.
    pub(super) fn remark_loop(&mut self, inst: Inst, (label, body): (Label, Block), has_copy: bool) {
        let is_masked = self.plan.divergence.construct(inst).lanes_leave;
        let id = if is_masked { RemarkId::LoopMasked } else { RemarkId::LoopUniform };
        self.remark(inst, id, |this, remark| {
            let remark = match this.divergent_exit(body, label).filter(|_| is_masked) {
                Some(cond) => this.cause(cond).add_to(remark),
                None => remark,
            };
            let remark = if is_masked { remark.with("unmasked_copy", yes_or_no(has_copy)) } else { remark };
            match this.plan.polls.of_loop(inst).trips() {
                Some(trips) => remark.with("polls", "never").with("max_trips", trips as i64),
                None => remark.with("polls", "each iteration"),
            }
        });
    }

    /// The condition of the first divergent branch around a jump out of a loop.
    fn divergent_exit(&self, block: Block, label: Label) -> Option<Value> {
        let function = self.plan.facts.function;
        let leaves = |block: Block| {
            let mut found = false;
            anymetal_analysis::walk_insts(function, block, &mut |inst| {
                found |= matches!(function.inst(inst).op, Op::Break(l, _) | Op::Continue(l, _) if l == label);
                found |= matches!(function.inst(inst).op, Op::Return(_));
            });
            found
        };
        function.block(block).iter().find_map(|&inst| match function.inst(inst).op {
            Op::If { cond, then, otherwise, .. } if self.plan.divergence.construct(inst).diverges => {
                (leaves(then) || leaves(otherwise)).then_some(cond)
            }
            ref op => op.blocks().iter().find_map(|&nested| self.divergent_exit(nested, label)),
        })
    }

    fn with_variable(&self, remark: Remark, pointer: Value) -> Remark {
        let module = self.shared.module;
        let name = match self.plan.facts.storage.pointer(pointer).root {
            Root::Argument(index) => &self.shared.kernel.args[index].name,
            Root::Threadgroup(var) => &module.threadgroup_vars[var.index()].name,
            Root::Global(global) => &module.globals[global.index()].name,
            Root::Local(local) => &self.plan.facts.function.locals[local.index()].name,
            Root::Unset | Root::Null | Root::Many => return remark,
        };
        if name.is_empty() { remark } else { remark.with("variable", name.clone()) }
    }

    /// Follows varying operands to the first operation whose operands do not vary.
    fn cause(&self, value: Value) -> Cause {
        let function = self.plan.facts.function;
        let (mut at, mut loc) = (value, Loc::default());
        for _ in 0..MAX_CAUSE_DISTANCE {
            let Some(inst) = function.defining_inst(at) else {
                return Cause { what: "argument".to_owned(), loc };
            };
            let data = function.inst(inst);
            if data.loc.is_known() {
                loc = data.loc;
            }
            if let Op::Load { ptr, .. } = data.op {
                return Cause { what: self.loaded(ptr), loc };
            }
            let mut varying = None;
            data.op.for_each_operand(|operand| {
                if varying.is_none() && self.varies(operand) {
                    varying = Some(operand);
                }
            });
            match varying {
                Some(operand) if !self.is_explained(&data.op) => at = operand,
                _ => return Cause { what: operation(&data.op).to_owned(), loc },
            }
        }
        Cause { what: "long computation".to_owned(), loc }
    }

    /// Whether lanes differ in a value by more than a pattern.
    fn varies(&self, value: Value) -> bool {
        let follows_pattern = |shape: &Shape| shape.affine().is_some_and(|lanes| !lanes.is_assumed());
        !self.plan.divergence.values[value.index()].iter().all(follows_pattern)
    }

    /// Whether an operation on varying values is itself the best explanation: data, not a position.
    fn is_explained(&self, op: &Op) -> bool {
        matches!(op, Op::Cast(CastOp::FToS | CastOp::FToU, _) | Op::Simd(..) | Op::Call(..))
            || op.may_write_memory()
    }

    fn loaded(&self, pointer: Value) -> String {
        let storage = self.plan.facts.storage;
        match storage.pointer(pointer).root {
            Root::Local(local) => {
                let name = &self.plan.facts.function.locals[local.index()].name;
                let is_named = !name.is_empty();
                if is_named { format!("variable `{name}`") } else { "variable".to_owned() }
            }
            Root::Argument(index) => format!("value loaded from `{}`", self.shared.kernel.args[index].name),
            Root::Threadgroup(var) => {
                format!("value loaded from `{}`", self.shared.module.threadgroup_vars[var.index()].name)
            }
            _ => "value loaded from memory".to_owned(),
        }
    }
}

/// Prefetches that passes inserted.
fn remarks_on_prefetches(facts: Facts<'_>) -> Vec<Remark> {
    let function = facts.function;
    let mut found: BTreeMap<(u32, u32, u32), Remark> = BTreeMap::new();
    anymetal_analysis::walk_insts(function, function.body, &mut |inst| {
        let data = function.inst(inst);
        if let Op::Prefetch { ptr, bytes, .. } = data.op {
            let is_device = function.ty(ptr) == Type::Ptr(Space::Device);
            let space = if is_device { "device" } else { "constant" };
            let remark = Remark::new(RemarkId::Prefetched, data.loc);
            let remark = remark.with("space", space).with("bytes_per_thread", i64::from(bytes));
            found.entry((data.loc.file, data.loc.line, data.loc.column)).or_insert(remark);
        }
    });
    found.into_values().collect()
}

fn access_id(kind: AccessKind, strategy: &Strategy) -> RemarkId {
    let is_contiguous = |runs: &[Run]| matches!(runs, [Run { same: false, .. }]);
    match (kind, strategy) {
        (AccessKind::Store, Strategy::Uniform) => RemarkId::StoreUniform,
        (AccessKind::Store, Strategy::Runs(runs)) if is_contiguous(runs) => RemarkId::StoreContiguous,
        (AccessKind::Store, Strategy::Runs(_)) => RemarkId::StoreRuns,
        (AccessKind::Store, _) => RemarkId::StoreScatter,
        (_, Strategy::Uniform) => RemarkId::LoadUniform,
        (_, Strategy::Runs(runs)) if is_contiguous(runs) => RemarkId::LoadContiguous,
        (_, Strategy::Runs(_)) => RemarkId::LoadRuns,
        (_, Strategy::Span { .. }) => RemarkId::LoadStrided,
        (_, Strategy::Pieces(_) | Strategy::Lanes | Strategy::Varying) => RemarkId::LoadGather,
    }
}

/// An operation whose operands follow a pattern and whose result does not, in a few words.
fn operation(op: &Op) -> &'static str {
    match op {
        Op::Binary(BinOp::UDiv | BinOp::SDiv, ..) => "integer division",
        Op::Binary(BinOp::URem | BinOp::SRem, ..) => "integer remainder",
        Op::Binary(BinOp::And | BinOp::Or | BinOp::Xor, ..) => "bitwise operation",
        Op::Binary(BinOp::Shl | BinOp::LShr | BinOp::AShr, ..) => "shift",
        Op::Binary(BinOp::SMin | BinOp::SMax | BinOp::UMin | BinOp::UMax, ..) => "minimum or maximum",
        Op::Binary(op, ..) if op.is_float() => "floating-point arithmetic",
        Op::Binary(..) | Op::Unary(..) => "integer arithmetic",
        Op::Cast(CastOp::FToS | CastOp::FToU, _) => "conversion from floating point",
        Op::Cast(..) => "conversion of an integer that may wrap",
        Op::PtrAdd { .. } => "sum of indices that may wrap",
        Op::Compare(..) => "comparison of thread positions",
        Op::Select(..) => "choice between values",
        Op::Math(..) => "math function",
        Op::Query(Query::ThreadPositionInGrid(_) | Query::ThreadPositionInThreadgroup(_)) => {
            "thread position"
        }
        Op::Query(_) => "built-in value",
        Op::Simd(..) => "SIMD-group operation",
        Op::Call(..) => "result of a call",
        op if op.may_write_memory() => "result of an atomic operation",
        _ => "computation",
    }
}

fn yes_or_no(is_so: bool) -> RemarkValue {
    RemarkValue::from(if is_so { "yes" } else { "no" })
}
