//! Private memory: the shapes of variables and locals, from the values that are stored to them.

use anymetal_ir::{Inst, Op, Space, Type, Value};

use super::context::{PrivateAccess, VariableType};
use super::transfer::all_uniform;
use super::{Affine, LANES, Part, Shape, Solver};

impl Solver<'_> {
    /// Whether the variable is live where switched-off lanes wait, and where other SIMD-groups do.
    fn waits_for(&self, variable: usize) -> (bool, bool) {
        let live_at = |block| self.context.is_live_at_entry(block, variable);
        self.waits(0, &|inst| self.context.is_live_after(inst, variable), &live_at)
    }

    /// Whether switched-off lanes wait where a variable is live, and whether other SIMD-groups do, in the
    /// constructs from a depth on.
    fn waits(
        &self,
        depth: usize,
        live_after: &dyn Fn(Inst) -> bool,
        live_at: &dyn Fn(anymetal_ir::Block) -> bool,
    ) -> (bool, bool) {
        let (mut lane, mut group) = (false, false);
        for enclosing in self.enclosing.iter().skip(depth) {
            let construct = self.divergence.construct(enclosing.inst);
            let after = live_after(enclosing.inst);
            let mut wait = |lanes: bool, groups: bool, live: bool| {
                lane |= lanes && live;
                group |= groups && live;
            };
            let (diverges, group_diverges) = (construct.diverges, construct.group_diverges);
            match (&self.function.inst(enclosing.inst).op, enclosing.part) {
                (Op::If { otherwise, .. }, Part::Then) => wait(diverges, group_diverges, live_at(*otherwise)),
                (Op::If { .. }, _) => wait(diverges, group_diverges, after),
                (Op::Switch { cases, default, .. }, _) => {
                    let entries = cases.iter().map(|case| case.body).chain([*default]);
                    let live = after || entries.into_iter().any(live_at);
                    wait(diverges, group_diverges, live);
                }
                (Op::Loop { continuing, .. }, Part::Body) => {
                    let live = live_at(*continuing);
                    wait(construct.continue_waits, construct.group_continue_waits, live);
                }
                // Lanes wait only at the end of scopes and of `continuing`.
                _ => {}
            }
            if enclosing.label.is_some() {
                wait(construct.break_waits, construct.group_break_waits, after);
            }
        }
        (lane, group)
    }

    fn assign(&mut self, inst: Inst, variable: usize, shape: &Shape) {
        let (lane, group) = self.waits_for(variable);
        if lane {
            self.changed |= self.divergence.masked_stores.insert((inst, variable));
        }
        let joined = self.divergence.variables[variable].join(&shape.passed_by_jumps(lane, group));
        if joined != self.divergence.variables[variable] {
            self.divergence.variables[variable] = joined;
            self.changed = true;
        }
    }

    /// Some bytes of locals become uniform or varying, as the shape is.
    fn assign_bytes(&mut self, access: &PrivateAccess, shape: &Shape) {
        let locals = match access {
            PrivateAccess::Local(local) => local.index()..local.index() + 1,
            PrivateAccess::AnyLocal => 0..self.divergence.locals.len(),
            // Each store to a variable is followed on its own; other memory is not followed.
            PrivateAccess::Variables(_) | PrivateAccess::Untracked => return,
        };
        for local in locals {
            let depth = self.local_depth[local].unwrap_or(0);
            let (lane, group) = self.waits(depth, &|_| true, &|_| true);
            let before = &self.divergence.locals[local];
            let joined = before.join(&shape.passed_by_jumps(lane, group));
            self.changed |= *before != joined;
            self.divergence.locals[local] = joined;
        }
    }

    /// A called function may store through the pointer.
    pub(super) fn escape(&mut self, pointer: Value) {
        let access = self.context.private_access(self.function, pointer, 0);
        self.assign_bytes(&access, &Shape::Varying);
    }

    fn type_of(&self, value: Value) -> VariableType {
        match self.function.ty(value) {
            Type::Scalar(scalar) | Type::Vector(scalar, _) => VariableType::Scalar(scalar),
            Type::Ptr(_) => VariableType::Pointer(self.form(value)),
        }
    }

    /// The shape that a value of one type has as another type of the same size.
    fn reinterpreted(from: VariableType, to: VariableType, shape: &Shape) -> Shape {
        let integer = |ty: VariableType| matches!(ty, VariableType::Scalar(scalar) if scalar.is_int());
        match (from, to) {
            (VariableType::Pointer(from), VariableType::Pointer(to)) => Self::in_form(shape, from, to),
            _ if from == to || integer(from) && integer(to) => shape.clone(),
            _ => all_uniform([shape]),
        }
    }

    pub(super) fn store(&mut self, inst: Inst, ptr: Value, value: Value) {
        let size = i64::from(self.function.ty(value).size());
        match self.context.private_access(self.function, ptr, size) {
            PrivateAccess::Variables(variables) => {
                let (from, shapes) = (self.type_of(value), self.divergence.values[value.index()].clone());
                debug_assert_eq!(variables.len(), shapes.len(), "a store writes one variable per component");
                for (variable, shape) in variables.zip(&shapes) {
                    let to = self.context.variable_type(variable);
                    self.assign(inst, variable, &Self::reinterpreted(from, to, shape));
                }
            }
            access => {
                let values = &self.divergence.values;
                let stored = all_uniform(values[ptr.index()].iter().chain(&values[value.index()]));
                self.assign_bytes(&access, &stored);
            }
        }
    }

    pub(super) fn clear(&mut self, inst: Inst, dst: Value, size: u64) {
        let size = i64::try_from(size).unwrap_or(i64::MAX);
        match self.context.private_access(self.function, dst, size) {
            PrivateAccess::Variables(variables) => {
                let zeros = Shape::Affine(Affine::known([0; LANES]));
                variables.for_each(|variable| self.assign(inst, variable, &zeros));
            }
            access => {
                let stored = all_uniform([self.divergence.shape(dst)]);
                self.assign_bytes(&access, &stored);
            }
        }
    }

    pub(super) fn copy(&mut self, inst: Inst, dst: Value, src: Value, size: u64) {
        let size = i64::try_from(size).unwrap_or(i64::MAX);
        let to = self.context.private_access(self.function, dst, size);
        let PrivateAccess::Variables(variables) = to else {
            self.assign_bytes(&to, &Shape::Varying);
            return;
        };
        let from = self.context.private_access(self.function, src, size);
        for variable in variables {
            let shape = match self.context.copied_variable(variable, dst, src, size) {
                Some(source) => {
                    let [from, to] = [source, variable].map(|variable| self.context.variable_type(variable));
                    Self::reinterpreted(from, to, &self.divergence.variables[source])
                }
                None => self.loaded(&from, src),
            };
            self.assign(inst, variable, &shape);
        }
    }

    pub(super) fn load(&self, ptr: Value, result: Value) -> Vec<Shape> {
        let ty = self.function.ty(result);
        match self.context.private_access(self.function, ptr, i64::from(ty.size())) {
            PrivateAccess::Variables(variables) => {
                let to = self.type_of(result);
                let of = |variable: usize| {
                    (self.context.variable_type(variable), &self.divergence.variables[variable])
                };
                variables.map(of).map(|(from, shape)| Self::reinterpreted(from, to, shape)).collect()
            }
            access => vec![self.loaded(&access, ptr); usize::from(ty.lanes())],
        }
    }

    pub(super) fn loaded_atomically(&self, ptr: Value) -> Shape {
        let access = self.context.private_access(self.function, ptr, 0);
        self.loaded(&access, ptr).not_group()
    }

    /// The shape of a load that does not read variables.
    fn loaded(&self, access: &PrivateAccess, ptr: Value) -> Shape {
        let address = self.divergence.shape(ptr);
        match access {
            PrivateAccess::Local(local) => all_uniform([address, &self.divergence.locals[local.index()]]),
            PrivateAccess::AnyLocal => all_uniform(self.divergence.locals.iter().chain([address])),
            PrivateAccess::Variables(_) => all_uniform([address]),
            PrivateAccess::Untracked if !self.context.loads_agree(self.function, ptr) => Shape::Varying,
            PrivateAccess::Untracked => match all_uniform([address]) {
                shape if self.function.ty(ptr) == Type::Ptr(Space::Constant) => shape,
                shape => shape.not_group(),
            },
        }
    }
}
