//! Divergence: how each value differs between the threads of a SIMD-group, and where their control flow
//! diverges.
//!
//! Owns [`Divergence`], a forward analysis of the structured code that is repeated until nothing changes, in
//! the sense of LLVM's uniformity analysis, with affine shapes ([`Shape`]) instead of one bit. Code
//! generators, passes and `analyze` use it through a [`DivergenceContext`], which describes the memory of the
//! code that will run. Lanes that a mask switches off *wait* somewhere (for the other arm, after the
//! construct, at `continuing`); values that lanes pass to one parameter or result at different times, or by
//! different jumps, are varying.
//!
//! Invariant: shapes only move up the lattice `Bottom < Affine < Varying`, and flags are only set, so that
//! the analysis ends.

mod context;
mod memory;
mod positions;
mod results;
mod shape;
pub mod transfer;

use std::collections::BTreeSet;

use anymetal_ir::{Block, Function, Inst, Label, Local, Op, Value, ValueDef};

use super::incoming::IncomingValues;
pub use context::{DivergenceContext, PlainContext, PointerForm, PrivateAccess, VariableType};
pub use positions::{Geometry, Position};
pub use shape::{Affine, Assumption, LANES, Shape, trailing_zeros};

/// The facts about an `if`, loop, switch or scope.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Construct {
    /// The condition or selector is not the same for all lanes.
    pub diverges: bool,
    /// Nor for all SIMD-groups.
    pub group_diverges: bool,
    /// Lanes that broke out may wait after it while others go on inside.
    pub break_waits: bool,
    /// Lanes that continued may wait at `continuing`.
    pub continue_waits: bool,
    /// A jump leaves some of its lanes behind.
    pub lanes_leave: bool,
    /// A jump inside leads out of it beyond its end.
    pub is_crossed: bool,
    group_break_waits: bool,
    group_continue_waits: bool,
}

/// The result of the analysis for one geometry.
#[derive(Debug)]
pub struct Divergence {
    /// One shape per component of each value. A pointer's is that of its [`PointerForm`].
    pub values: Vec<Vec<Shape>>,
    /// One per variable of the context.
    pub variables: Vec<Shape>,
    /// By instruction.
    pub constructs: Vec<Construct>,
    /// Stores that must keep the switched-off lanes of a variable of the context.
    pub masked_stores: BTreeSet<(Inst, usize)>,
    /// Some lanes may return before others.
    pub returns_diverge: bool,
    /// Locals that the context does not split into variables: uniform or varying as a whole.
    locals: Vec<Shape>,
    /// By label: its construct.
    labelled: Vec<Option<Inst>>,
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

/// A construct around the instruction that is visited.
struct Enclosing {
    inst: Inst,
    label: Option<Label>,
    part: Part,
}

struct Solver<'a> {
    function: &'a Function,
    geometry: Geometry,
    context: &'a dyn DivergenceContext,
    incoming: IncomingValues,
    divergence: Divergence,
    enclosing: Vec<Enclosing>,
    /// By local: the least number of constructs around a start of its lifetime.
    local_depth: Vec<Option<usize>>,
    changed: bool,
}

impl Divergence {
    /// Analyses a function whose threads are assigned to SIMD-groups by the geometry.
    pub fn of(function: &Function, geometry: Geometry, context: &dyn DivergenceContext) -> Self {
        let divergence = Self {
            values: function.values.iter().map(|v| vec![Shape::Bottom; usize::from(v.ty.lanes())]).collect(),
            variables: vec![Shape::Bottom; context.variables()],
            constructs: vec![Construct::default(); function.insts.len()],
            masked_stores: BTreeSet::new(),
            returns_diverge: false,
            locals: vec![Shape::Bottom; function.locals.len()],
            labelled: vec![None; function.labels as usize],
        };
        let incoming = IncomingValues::of(function);
        let local_depth = vec![None; function.locals.len()];
        let enclosing = Vec::new();
        let mut solver = Solver {
            function,
            geometry,
            context,
            incoming,
            divergence,
            enclosing,
            local_depth,
            changed: true,
        };
        for (index, &param) in function.params.iter().enumerate() {
            let components = usize::from(function.ty(param).lanes());
            solver.divergence.values[param.index()] = vec![context.parameter(index); components];
        }
        while std::mem::take(&mut solver.changed) {
            solver.block(function.body);
        }
        debug_assert!(solver.enclosing.is_empty(), "the analysis leaves every construct that it enters");
        let mut divergence = solver.divergence;
        // A value that is never written is arbitrary; a uniform value is the cheapest.
        let memory = divergence.variables.iter_mut().chain(&mut divergence.locals);
        for shape in divergence.values.iter_mut().flatten().chain(memory) {
            if *shape == Shape::Bottom {
                *shape = Shape::uniform(true);
            }
        }
        divergence
    }

    /// The single shape of a scalar or pointer.
    pub fn shape(&self, value: Value) -> &Shape {
        &self.values[value.index()][0]
    }

    /// Whether the value is equal in all lanes that execute its definition together.
    pub fn is_uniform(&self, value: Value) -> bool {
        self.values[value.index()].iter().all(Shape::is_uniform)
    }

    /// Whether all lanes that read the local, which the context does not split, read the same.
    pub fn is_uniform_local(&self, local: Local) -> bool {
        self.locals[local.index()].is_uniform()
    }

    /// The construct's facts.
    pub fn construct(&self, inst: Inst) -> Construct {
        self.constructs[inst.index()]
    }

    /// Whether some lanes leave for the label, or beyond its construct, while others stay.
    pub fn exits_diverge(&self, label: Label) -> bool {
        let construct = self.labelled[label.index()].map(|construct| self.construct(construct));
        // The breaks of a switch run under its selector.
        construct.is_some_and(|construct| construct.lanes_leave || construct.diverges)
    }
}

impl Construct {
    /// Whether its lanes take different paths, or leave it at different times.
    pub fn separates_lanes(self) -> bool {
        self.diverges || self.break_waits || self.continue_waits
    }
}

impl Solver<'_> {
    fn block(&mut self, block: Block) {
        let function = self.function;
        for &inst in function.block(block) {
            self.inst(inst);
        }
    }

    fn nested(&mut self, inst: Inst, label: Option<Label>, part: Part, block: Block) {
        self.enclosing.push(Enclosing { inst, label, part });
        self.block(block);
        let left = self.enclosing.pop();
        debug_assert!(left.is_some_and(|left| left.inst == inst), "constructs nest");
    }

    fn update(&mut self, inst: Inst, change: impl FnOnce(&mut Construct)) {
        let construct = &mut self.divergence.constructs[inst.index()];
        let before = *construct;
        change(construct);
        self.changed |= *construct != before;
    }

    fn branch_on(&mut self, inst: Inst, condition: Value) {
        // The rules of barriers make the condition uniform.
        if self.context.runs_per_threadgroup(inst) {
            return;
        }
        let shape = self.divergence.shape(condition);
        if *shape == Shape::Bottom {
            // A later round visits the construct again.
            return;
        }
        let (lane, group) = (!shape.is_uniform(), !shape.is_group_uniform());
        self.update(inst, |construct| {
            construct.diverges |= lane;
            construct.group_diverges |= group;
        });
    }

    fn inst(&mut self, inst: Inst) {
        let function = self.function;
        let data = function.inst(inst);
        if let Some(label) = data.op.label() {
            self.divergence.labelled[label.index()] = Some(inst);
        }
        match &data.op {
            Op::If { cond, then, otherwise, .. } => {
                self.branch_on(inst, *cond);
                self.nested(inst, None, Part::Then, *then);
                self.nested(inst, None, Part::Otherwise, *otherwise);
            }
            Op::Loop { label, body, continuing, .. } => {
                self.define_carried(inst, data.op.params());
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
            Op::LocalStart(local) => {
                let (start, here) = (&mut self.local_depth[local.index()], self.enclosing.len());
                *start = Some(start.map_or(here, |start| start.min(here)));
            }
            Op::Store { ptr, value, .. } => self.store(inst, *ptr, *value),
            Op::MemCopy { dst, src, size, .. } => self.copy(inst, *dst, *src, *size),
            Op::MemZero { dst, size, .. } => self.clear(inst, *dst, *size),
            Op::Call(_, args) => {
                args.iter().filter(|arg| function.ty(**arg).is_ptr()).for_each(|&arg| self.escape(arg));
            }
            _ => {}
        }
        self.define_carried(inst, data.op.results());
        if let Some(result) = data.result {
            let shapes = self.result(inst, result);
            self.set(result, shapes);
        }
    }

    fn set(&mut self, value: Value, shapes: Vec<Shape>) {
        debug_assert_eq!(
            shapes.len(),
            self.divergence.values[value.index()].len(),
            "{value} has one shape per component"
        );
        if self.divergence.values[value.index()] != shapes {
            self.divergence.values[value.index()] = shapes;
            self.changed = true;
        }
    }

    /// The parameters or results of a construct: what the jumps to it pass.
    fn define_carried(&mut self, construct: Inst, values: &[Value]) {
        for &value in values {
            let mut sources = Vec::new();
            self.incoming.each_source(self.function, value, |source| sources.push(source));
            let own = self.divergence.constructs[construct.index()];
            let is_param = matches!(self.function.values[value.index()].def, ValueDef::LoopParam(..));
            let (lanes_part, groups_part) = if is_param {
                (own.continue_waits, own.group_continue_waits)
            } else {
                // One source only: all other lanes are elsewhere.
                let arms = sources.len() > 1;
                (own.break_waits || own.diverges && arms, own.group_break_waits || own.group_diverges && arms)
            };
            let shapes = (0..usize::from(self.function.ty(value).lanes())).map(|component| {
                let of = |value: &Value| &self.divergence.values[value.index()][component];
                let joined = sources.iter().fold(of(&value).clone(), |joined, source| {
                    joined.join(&self.passed(*source, value, component))
                });
                joined.passed_by_jumps(lanes_part, groups_part)
            });
            let shapes = shapes.collect();
            self.set(value, shapes);
        }
    }

    /// The shape in which a parameter or result receives a component of a value: encoded where the parameter
    /// is an encoded pointer.
    fn passed(&self, source: Value, to: Value, component: usize) -> Shape {
        let shape = &self.divergence.values[source.index()][component];
        if self.function.ty(to).is_ptr() {
            Self::in_form(shape, self.form(source), self.form(to))
        } else {
            shape.clone()
        }
    }

    fn form(&self, pointer: Value) -> PointerForm {
        self.context.pointer_form(self.function, pointer)
    }

    /// The shape of a pointer in another form.
    fn in_form(shape: &Shape, from: PointerForm, to: PointerForm) -> Shape {
        match to {
            PointerForm::Encoded if from != PointerForm::Encoded => transfer::encoded(shape),
            _ => shape.clone(),
        }
    }

    /// A jump to a label, or out of the function.
    fn jump(&mut self, target: Option<Label>, is_continue: bool) {
        let (mut lane, mut group) = (false, false);
        for depth in (0..self.enclosing.len()).rev() {
            let Enclosing { inst, label, part } = self.enclosing[depth];
            let construct = self.divergence.construct(inst);
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
            if matches!(part, Part::Then | Part::Otherwise | Part::Case) {
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
        if target.is_none() && lane && !self.divergence.returns_diverge {
            self.divergence.returns_diverge = true;
            self.changed = true;
        }
    }
}

#[cfg(test)]
mod tests;
