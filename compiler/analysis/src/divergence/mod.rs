//! The analysis: shapes of all values and promoted variables, and where lanes diverge.
//!
//! One forward walk over the structured code, repeated until nothing changes; everything it finds
//! only grows. Lanes that a mask switches off *wait* somewhere (at the other arm, behind the
//! construct, at `continuing`); a store needs the mask only if the variable is live where they wait.

mod results;

use std::collections::BTreeSet;

use anymetal_analysis::CountedLoops;
use anymetal_ir::{Block, Function, Inst, Label, Op, Space, Type, Value};

use crate::cpu::bundles::Bundles;
use crate::cpu::liveness::Liveness;
use crate::cpu::llvm_text::LANES;
use crate::cpu::regions::GroupLevel;
use crate::cpu::shape::queries::Geometry;
use crate::cpu::shape::range::upper_bound;
use crate::cpu::shape::transfer::all_uniform;
use crate::cpu::shape::{Affine, Shape};
use crate::cpu::storage::{PromotedType, Root, Storage};

/// What is found about an `if`, loop, switch or scope.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(in crate::cpu) struct Construct {
    /// The condition or selector is not the same for all lanes.
    pub(in crate::cpu) diverges: bool,
    /// Nor for all SIMD-groups.
    pub(in crate::cpu) group_diverges: bool,
    /// Lanes that broke out may wait after it while others go on inside.
    pub(in crate::cpu) break_waits: bool,
    /// Lanes that continued may wait at `continuing`.
    pub(in crate::cpu) continue_waits: bool,
    /// A jump leaves some of its lanes behind.
    pub(in crate::cpu) lanes_leave: bool,
    /// A jump inside leads out of it beyond its end.
    pub(in crate::cpu) is_crossed: bool,
    group_break_waits: bool,
    group_continue_waits: bool,
}

/// The result of the analysis for one geometry.
#[derive(Debug)]
pub(in crate::cpu) struct Flow {
    /// One shape per component of each value. A pointer's is its offset's, or the encoded pointer's
    /// if its root is [`Root::Many`].
    pub(in crate::cpu) values: Vec<Vec<Shape>>,
    /// One per promoted variable.
    pub(in crate::cpu) vars: Vec<Shape>,
    /// By instruction.
    pub(in crate::cpu) constructs: Vec<Construct>,
    /// Stores that must keep the switched-off lanes of a promoted variable.
    pub(in crate::cpu) masked: BTreeSet<(Inst, usize)>,
    /// Some lanes may return before others.
    pub(in crate::cpu) returns_diverge: bool,
}

/// Which part of a construct is walked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Then,
    Otherwise,
    Body,
    Continuing,
    Case,
}

struct Context {
    inst: Inst,
    label: Option<Label>,
    part: Part,
}

/// The inputs of the analysis.
#[derive(Clone, Copy)]
pub(in crate::cpu) struct Facts<'a> {
    /// The kernel's function, whose loops have variables.
    pub(in crate::cpu) function: &'a Function,
    /// Its loops, when they had parameters.
    pub(in crate::cpu) loops: &'a CountedLoops<'a>,
    /// Its storage.
    pub(in crate::cpu) storage: &'a Storage,
    /// Its liveness.
    pub(in crate::cpu) liveness: &'a Liveness,
    /// Its group-level constructs.
    pub(in crate::cpu) group_level: &'a GroupLevel,
    /// Its loads that belong together.
    pub(in crate::cpu) bundles: &'a Bundles,
    /// What is known of the threadgroup.
    pub(in crate::cpu) geometry: Geometry,
}

struct Pass<'a> {
    facts: Facts<'a>,
    flow: Flow,
    stack: Vec<Context>,
    changed: bool,
}

impl Flow {
    /// Runs the analysis.
    pub(in crate::cpu) fn new(facts: Facts<'_>) -> Self {
        let function = facts.function;
        let flow = Self {
            values: function.values.iter().map(|v| vec![Shape::Bottom; usize::from(v.ty.lanes())]).collect(),
            vars: vec![Shape::Bottom; facts.storage.vars.len()],
            constructs: vec![Construct::default(); function.insts.len()],
            masked: BTreeSet::new(),
            returns_diverge: false,
        };
        let mut pass = Pass { facts, flow, stack: Vec::new(), changed: true };
        for &param in &function.params {
            pass.flow.values[param.index()] = vec![Shape::Affine(Affine::known([0; LANES]))];
        }
        while std::mem::take(&mut pass.changed) {
            pass.block(function.body);
        }
        debug_assert!(pass.stack.is_empty(), "the analysis leaves every construct that it enters");
        let mut flow = pass.flow;
        // What was never written has an arbitrary value; a uniform one is the cheapest.
        for shape in flow.values.iter_mut().flatten().chain(&mut flow.vars) {
            if *shape == Shape::Bottom {
                *shape = Shape::uniform(true);
            }
        }
        flow
    }

    /// The single shape of a scalar or pointer.
    pub(in crate::cpu) fn shape(&self, value: Value) -> &Shape {
        &self.values[value.index()][0]
    }

    /// The construct's facts.
    pub(in crate::cpu) fn construct(&self, inst: Inst) -> Construct {
        self.constructs[inst.index()]
    }
}

/// The shape of the addresses of offsets in one buffer.
pub(in crate::cpu) fn addressed(offsets: &Shape) -> Shape {
    match offsets {
        Shape::Affine(lanes) => Shape::Affine(Affine { align: 0, ..lanes.normal() }),
        other => other.clone(),
    }
}

/// The shape of tagged pointers, from that of their offsets. Offsets saturate, so lanes keep their distances
/// only if these are zero.
pub(in crate::cpu) fn tagged(offsets: &Shape) -> Shape {
    match offsets {
        Shape::Bottom => Shape::Bottom,
        Shape::Affine(lanes) if offsets.is_uniform() => {
            Shape::Affine(Affine { is_constant: false, align: 0, pattern: None, ..lanes.clone() })
        }
        Shape::Affine(_) | Shape::Varying => Shape::Varying,
    }
}

impl Pass<'_> {
    fn block(&mut self, block: Block) {
        for &inst in self.facts.function.block(block) {
            self.inst(inst);
        }
    }

    fn nested(&mut self, inst: Inst, label: Option<Label>, part: Part, block: Block) {
        self.stack.push(Context { inst, label, part });
        self.block(block);
        let left = self.stack.pop();
        debug_assert!(left.is_some_and(|left| left.inst == inst), "constructs nest");
    }

    fn update(&mut self, inst: Inst, change: impl FnOnce(&mut Construct)) {
        let construct = &mut self.flow.constructs[inst.index()];
        let before = *construct;
        change(construct);
        self.changed |= *construct != before;
    }

    fn branch_on(&mut self, inst: Inst, condition: Value) {
        // The barrier rules make the condition of a group-level construct uniform.
        if self.facts.group_level.contains(inst) {
            return;
        }
        let shape = self.flow.shape(condition);
        if *shape == Shape::Bottom {
            return;
        }
        let (lane, group) = (!shape.is_uniform(), !shape.is_group_uniform());
        self.update(inst, |construct| {
            construct.diverges |= lane;
            construct.group_diverges |= group;
        });
    }

    fn inst(&mut self, inst: Inst) {
        let function = self.facts.function;
        let data = function.inst(inst);
        match &data.op {
            Op::If { cond, then, otherwise, .. } => {
                self.branch_on(inst, *cond);
                self.nested(inst, None, Part::Then, *then);
                self.nested(inst, None, Part::Otherwise, *otherwise);
            }
            Op::Loop { label, body, continuing, .. } => {
                self.nested(inst, Some(*label), Part::Body, *body);
                self.nested(inst, Some(*label), Part::Continuing, *continuing);
            }
            Op::Scope { label, body, .. } => self.nested(inst, Some(*label), Part::Body, *body),
            Op::Switch { label, selector, cases, default, .. } => {
                self.branch_on(inst, *selector);
                for case in cases {
                    self.nested(inst, Some(*label), Part::Case, case.body);
                }
                self.nested(inst, Some(*label), Part::Case, *default);
            }
            Op::Break(label, _) => self.jump(Some(*label), false),
            Op::Continue(label, _) => self.jump(Some(*label), true),
            Op::Return(_) => self.jump(None, false),
            Op::Store { ptr, value, .. } => self.store(inst, *ptr, *value),
            Op::MemCopy { dst, src, size, .. } => self.copy(inst, *dst, *src, *size),
            Op::MemZero { dst, size, .. } => {
                let size = i64::try_from(*size).unwrap_or(i64::MAX);
                for var in self.facts.storage.vars_at(*dst, size).unwrap_or(0..0) {
                    self.assign(inst, var, Shape::Affine(Affine::known([0; LANES])));
                }
            }
            _ => {}
        }
        if let Some(result) = data.result {
            let shapes = self.result(inst, result);
            self.set(result, shapes);
        }
    }

    fn set(&mut self, value: Value, shapes: Vec<Shape>) {
        debug_assert_eq!(
            shapes.len(),
            self.flow.values[value.index()].len(),
            "{value} has one shape per component"
        );
        if self.flow.values[value.index()] != shapes {
            self.flow.values[value.index()] = shapes;
            self.changed = true;
        }
    }

    /// A jump to a label, or out of the function.
    fn jump(&mut self, target: Option<Label>, is_continue: bool) {
        let (mut lane, mut group) = (false, false);
        for depth in (0..self.stack.len()).rev() {
            let Context { inst, label, part } = self.stack[depth];
            let construct = self.flow.construct(inst);
            if label.is_some() && label == target {
                self.update(inst, |c| {
                    c.lanes_leave |= lane;
                    if is_continue {
                        c.continue_waits |= lane;
                        c.group_continue_waits |= group;
                    } else {
                        c.break_waits |= lane;
                        c.group_break_waits |= group;
                    }
                });
                return;
            }
            if part != Part::Body && part != Part::Continuing {
                lane |= construct.diverges;
                group |= construct.group_diverges;
            }
            if label.is_some() {
                self.update(inst, |c| {
                    c.is_crossed = true;
                    c.lanes_leave |= lane;
                });
                let in_body = part == Part::Body;
                lane |= construct.break_waits || in_body && construct.continue_waits;
                group |= construct.group_break_waits || in_body && construct.group_continue_waits;
            }
        }
        debug_assert!(target.is_none(), "the label of a break or continue belongs to an enclosing construct");
        if target.is_none() && lane && !self.flow.returns_diverge {
            self.flow.returns_diverge = true;
            self.changed = true;
        }
    }

    /// Whether the promoted variable is live where switched-off lanes wait, and where other SIMD-groups do.
    fn waits_for(&self, var: usize) -> (bool, bool) {
        let (mut lane, mut group) = (false, false);
        let liveness = self.facts.liveness;
        for context in &self.stack {
            let construct = self.flow.construct(context.inst);
            let after = liveness.after(context.inst).contains(var);
            let mut wait = |lanes: bool, groups: bool, live: bool| {
                lane |= lanes && live;
                group |= groups && live;
            };
            let (diverges, group_diverges) = (construct.diverges, construct.group_diverges);
            match (&self.facts.function.inst(context.inst).op, context.part) {
                (Op::If { otherwise, .. }, Part::Then) => {
                    wait(diverges, group_diverges, liveness.at_entry(*otherwise).contains(var));
                }
                (Op::If { .. }, _) => wait(diverges, group_diverges, after),
                (Op::Switch { cases, default, .. }, _) => {
                    let entries = cases.iter().map(|case| case.body).chain([*default]);
                    let live = after || entries.into_iter().any(|b| liveness.at_entry(b).contains(var));
                    wait(diverges, group_diverges, live);
                }
                (Op::Loop { continuing, .. }, Part::Body) => {
                    let live = liveness.at_entry(*continuing).contains(var);
                    wait(construct.continue_waits, construct.group_continue_waits, live);
                }
                _ => {}
            }
            if context.label.is_some() {
                wait(construct.break_waits, construct.group_break_waits, after);
            }
        }
        (lane, group)
    }

    fn assign(&mut self, inst: Inst, var: usize, shape: Shape) {
        let (lane, group) = self.waits_for(var);
        if lane {
            self.changed |= self.flow.masked.insert((inst, var));
        }
        let shape = match &shape {
            Shape::Bottom => return,
            _ if lane => Shape::Varying,
            Shape::Affine(lanes) if lanes.assumed => Shape::Varying,
            shape if group => shape.not_group(),
            shape => shape.clone(),
        };
        let joined = self.flow.vars[var].join(&shape);
        if joined != self.flow.vars[var] {
            self.flow.vars[var] = joined;
            self.changed = true;
        }
    }

    /// The shape that a value of one type has as another type of the same size.
    fn reinterpreted(from: PromotedType, to: PromotedType, shape: &Shape) -> Shape {
        let integer = |ty: PromotedType| matches!(ty, PromotedType::Scalar(s) if s.is_int());
        if from == to || integer(from) && integer(to) {
            return shape.clone();
        }
        match (from, to) {
            (PromotedType::Pointer(..), PromotedType::Pointer(Root::Many, _)) => tagged(shape),
            (PromotedType::Pointer(..), PromotedType::Pointer(..)) => shape.clone(),
            _ => all_uniform([shape]),
        }
    }

    fn type_of(&self, value: Value) -> PromotedType {
        match self.facts.function.ty(value) {
            Type::Scalar(scalar) | Type::Vector(scalar, _) => PromotedType::Scalar(scalar),
            Type::Ptr(space) => PromotedType::Pointer(self.facts.storage.pointer(value).root, space),
        }
    }

    fn store(&mut self, inst: Inst, ptr: Value, value: Value) {
        let size = i64::from(self.facts.function.ty(value).size());
        let Some(vars) = self.facts.storage.vars_at(ptr, size) else { return };
        let from = self.type_of(value);
        let shapes = self.flow.values[value.index()].clone();
        debug_assert_eq!(vars.len(), shapes.len(), "a store to promoted variables writes one per component");
        for (var, shape) in vars.zip(&shapes) {
            let to = self.facts.storage.vars[var].ty;
            self.assign(inst, var, Self::reinterpreted(from, to, shape));
        }
    }

    fn copy(&mut self, inst: Inst, dst: Value, src: Value, size: u64) {
        let storage = self.facts.storage;
        let size = i64::try_from(size).unwrap_or(i64::MAX);
        let Some(vars) = storage.vars_at(dst, size) else { return };
        let start = storage.pointer(dst).offset.expect("promoted variables are at known offsets");
        let memory = match storage.array_at(src) {
            Some(_) => Shape::Varying,
            None => self.loaded(src),
        };
        for var in vars {
            let to = storage.vars[var];
            let from = storage.pointer(src);
            let source = match from.root {
                Root::Local(local) if storage.vars_at(src, size).is_some() => {
                    let offset = from.offset.expect("promoted variables are at known offsets");
                    let place = offset + to.offset - start;
                    storage.vars_in(local, place, to.size).next()
                }
                _ => None,
            };
            let shape = match source {
                Some(source) => Self::reinterpreted(storage.vars[source].ty, to.ty, &self.flow.vars[source]),
                None => memory.clone(),
            };
            self.assign(inst, var, shape);
        }
    }

    /// The shape of what is loaded from memory that all lanes share.
    fn loaded(&self, ptr: Value) -> Shape {
        let constant = self.facts.function.ty(ptr) == Type::Ptr(Space::Constant);
        match all_uniform([self.flow.shape(ptr)]) {
            shape if constant => shape,
            shape => shape.not_group(),
        }
    }
}

/// The space of a pointer value.
pub(in crate::cpu) fn ptr_space(function: &Function, ptr: Value) -> Space {
    match function.ty(ptr) {
        Type::Ptr(space) => space,
        other => unreachable!("{ptr} is a {other:?}, not a pointer"),
    }
}

/// Whether the integer is known not to be negative when read as signed.
pub(in crate::cpu) fn is_non_negative(facts: Facts<'_>, value: Value) -> bool {
    match facts.function.ty(value) {
        Type::Scalar(scalar) if scalar.is_int() => {
            upper_bound(facts.function, facts.geometry, value) <= anymetal_ir::eval::mask(scalar) >> 1
        }
        _ => false,
    }
}
