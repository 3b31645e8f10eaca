//! The shapes of a kernel's values, by iteration to a fixed point.
//!
//! Owns [`Lanes`]. Private variables have the shape that all their stores have, parameters and results that
//! of all that is passed to them. What is stored or passed under divergent control flow is varying,
//! unless the variable begins inside of it; what a loop stores that lanes leave at different times is varying
//! after the loop.

use std::collections::BTreeSet;

use anymetal_analysis::IncomingValues;
use anymetal_ir::eval::sign_extend;
use anymetal_ir::{CastOp, Function, Inst, Local, Op, Query, SimdOp, Space, Type, Value};

use crate::count::{Place, Places};
use crate::pattern::LANES;
use crate::shape::{Base, Shape};

/// The shapes of all values, for one threadgroup size.
pub(crate) struct Lanes<'f> {
    function: &'f Function,
    places: &'f Places,
    incoming: IncomingValues,
    group: [u32; 3],
    values: Vec<Option<Shape>>,
    locals: Vec<Option<Shape>>,
    /// The constructs in which each local's lifetime begins.
    starts: Vec<Vec<Inst>>,
    /// The loops that store each local.
    stored_in: Vec<BTreeSet<Inst>>,
    /// Constructs whose lanes part, and loops that lanes leave at different times.
    divergent: BTreeSet<Inst>,
    left_apart: BTreeSet<Inst>,
}

/// Rounds until a fixed point; shapes only lose facts, so that few are needed.
const MAX_ROUNDS: usize = 64;

impl<'f> Lanes<'f> {
    pub(crate) fn of(function: &'f Function, places: &'f Places, group: [u32; 3]) -> Self {
        let mut lanes = Self {
            function,
            places,
            incoming: IncomingValues::of(function),
            group,
            values: vec![None; function.values.len()],
            locals: vec![None; function.locals.len()],
            starts: vec![Vec::new(); function.locals.len()],
            stored_in: vec![BTreeSet::new(); function.locals.len()],
            divergent: BTreeSet::new(),
            left_apart: BTreeSet::new(),
        };
        for &param in &function.params {
            lanes.values[param.index()] = Some(Shape::based(Base::Multiple(7), [0; LANES]));
        }
        for place in places.list() {
            if let Op::LocalStart(local) = function.inst(place.inst).op {
                lanes.starts[local.index()].clone_from(&place.within);
            }
        }
        let settled = (0..MAX_ROUNDS).any(|_| !lanes.round());
        if !settled {
            lanes.values.fill(Some(Shape::Varying));
            lanes.divergent.extend(places.list().iter().map(|place| place.inst));
        }
        lanes
    }

    /// A value's shape; that of a value that is never computed is uniform.
    pub(crate) fn shape(&self, value: Value) -> Shape {
        self.values[value.index()].clone().unwrap_or_else(Shape::uniform)
    }

    /// Whether lanes of a SIMD-group take different ways at the construct.
    pub(crate) fn is_divergent(&self, construct: Inst) -> bool {
        self.divergent.contains(&construct) || self.left_apart.contains(&construct)
    }

    fn round(&mut self) -> bool {
        let mut changed = false;
        let places = self.places;
        for place in places.list() {
            changed |= self.visit(place);
            changed |= self.define_carried(place.inst);
        }
        changed
    }

    /// The parameters and results of a construct.
    fn define_carried(&mut self, construct: Inst) -> bool {
        let function = self.function;
        let op = &function.inst(construct).op;
        let params_part = self.divergent.contains(&construct);
        let results_part = params_part || self.left_apart.contains(&construct);
        let params = op.params().iter().map(|&value| (value, params_part));
        let mut changed = false;
        for (value, parts) in params.chain(op.results().iter().map(|&value| (value, results_part))) {
            let mut joined = if parts { Some(Shape::Varying) } else { self.values[value.index()].clone() };
            self.incoming.each_source(function, value, |source| {
                let passed = self.values[source.index()].as_ref();
                joined = match (joined.take(), passed) {
                    (Some(joined), Some(passed)) => Some(joined.join(passed)),
                    (joined, passed) => joined.or(passed.cloned()),
                };
            });
            changed |= self.values[value.index()] != joined;
            self.values[value.index()] = joined;
        }
        changed
    }

    fn visit(&mut self, place: &Place) -> bool {
        let data = self.function.inst(place.inst);
        match &data.op {
            Op::Store { ptr, value, .. } => return self.store(place, *ptr, Some(*value)),
            Op::MemCopy { dst, .. } => return self.store(place, *dst, None),
            Op::MemZero { dst, .. } => return self.store_shape(place, *dst, Shape::constant(0)),
            Op::If { cond: value, .. } | Op::Switch { selector: value, .. } => {
                return self.values[value.index()].as_ref().is_some_and(|shape| !shape.is_uniform())
                    && self.divergent.insert(place.inst);
            }
            Op::Break(label, _) | Op::Continue(label, _) => return self.jump(place, *label),
            _ => {}
        }
        let Some(result) = data.result else {
            // The other instructions without a result store nothing.
            return false;
        };
        let Some(new) = self.transfer(place, &data.op, result) else {
            // An operand has no shape yet: a later round comes back.
            return false;
        };
        let old = &mut self.values[result.index()];
        let joined = old.as_ref().map_or_else(|| new.clone(), |old| old.join(&new));
        if old.as_ref() == Some(&joined) {
            return false;
        }
        *old = Some(joined);
        true
    }

    /// Lanes that jump part from the others if the jump is under divergent control flow.
    fn jump(&mut self, place: &Place, label: anymetal_ir::Label) -> bool {
        let target = place.within.iter().rposition(|&construct| {
            matches!(self.function.inst(construct).op,
                Op::Loop { label: of, .. } | Op::Switch { label: of, .. } | Op::Scope { label: of, .. } if of == label)
        });
        let target = target.expect("the label of a jump belongs to an enclosing construct");
        if !place.within[target + 1..].iter().any(|construct| self.is_divergent(*construct)) {
            return false;
        }
        let (construct, is_break) =
            (place.within[target], matches!(self.function.inst(place.inst).op, Op::Break(..)));
        let is_loop = matches!(self.function.inst(construct).op, Op::Loop { .. });
        if is_loop && is_break { self.left_apart.insert(construct) } else { self.divergent.insert(construct) }
    }

    fn store(&mut self, place: &Place, ptr: Value, value: Option<Value>) -> bool {
        match value.map(|value| self.values[value.index()].clone()) {
            Some(None) => false,
            Some(Some(shape)) => self.store_shape(place, ptr, shape),
            None => self.store_shape(place, ptr, Shape::Varying),
        }
    }

    fn store_shape(&mut self, place: &Place, ptr: Value, shape: Shape) -> bool {
        let Some(local) = self.local_of(ptr) else {
            // Only what is stored to locals is followed.
            return false;
        };
        let outside = &self.starts[local.index()];
        let inner = place.within.iter().filter(|construct| !outside.contains(construct));
        let apart = inner.clone().any(|construct| self.divergent.contains(construct));
        let loops: Vec<Inst> = inner.copied().collect();
        let whole = self.values[ptr.index()].as_ref().is_some_and(Shape::is_uniform);
        let shape = if apart || !whole { Shape::Varying } else { shape };
        self.stored_in[local.index()].extend(loops);
        let old = &mut self.locals[local.index()];
        let joined = old.as_ref().map_or_else(|| shape.clone(), |old| old.join(&shape));
        let changed = old.as_ref() != Some(&joined);
        *old = Some(joined);
        changed
    }

    fn load(&self, place: &Place, ptr: Value) -> Option<Shape> {
        let address = self.values[ptr.index()].as_ref()?;
        if self.function.ty(ptr) != Type::Ptr(Space::Thread) {
            return Some(Shape::of_operands(&[address]));
        }
        let Some(local) = self.local_of(ptr) else { return Some(Shape::Varying) };
        let apart =
            |construct: &Inst| self.left_apart.contains(construct) && !place.within.contains(construct);
        if !address.is_uniform() || self.stored_in[local.index()].iter().any(apart) {
            return Some(Shape::Varying);
        }
        self.locals[local.index()].clone()
    }

    fn local_of(&self, mut ptr: Value) -> Option<Local> {
        loop {
            match self.function.def(ptr)? {
                Op::LocalAddr(local) => return Some(*local),
                Op::PtrAdd { base, .. } => ptr = *base,
                _ => return None,
            }
        }
    }

    /// `None` while an operand has no shape yet.
    fn transfer(&self, place: &Place, op: &Op, result: Value) -> Option<Shape> {
        let of = |value: &Value| self.values[value.index()].as_ref();
        let ty = self.function.ty(result);
        Some(match op {
            Op::Const(bits) => {
                Shape::constant(ty.scalar().map_or(*bits as i64, |scalar| sign_extend(scalar, *bits)))
            }
            Op::Query(query) => self.query(*query),
            Op::Load { ptr, .. } => return self.load(place, *ptr),
            Op::LocalAddr(_) | Op::ThreadgroupAddr(_) | Op::GlobalAddr(_) => {
                Shape::based(Base::Multiple(7), [0; LANES])
            }
            Op::PtrAdd { base, index, scale, offset } => {
                let index = match index {
                    Some(index) => of(index)?.times(i64::from(*scale)),
                    None => Shape::constant(0),
                };
                of(base)?.plus(&index, 1).plus(&Shape::constant(*offset), 1)
            }
            Op::Binary(op, a, b) => match ty {
                Type::Scalar(scalar) => Shape::binary(*op, scalar, of(a)?, of(b)?),
                _ => Shape::of_operands(&[of(a)?, of(b)?]),
            },
            Op::Cast(CastOp::ZExt | CastOp::SExt | CastOp::Trunc, a) if ty.lanes() == 1 => of(a)?.clone(),
            Op::Select(cond, a, b) if of(cond)?.is_uniform() => of(a)?.join(of(b)?),
            Op::Simd(simd, args) => self.simd(*simd, args),
            Op::Matrix(..) | Op::AtomicRmw(..) | Op::AtomicCas(..) | Op::Call(..) => Shape::Varying,
            _ => {
                let mut shapes = Vec::new();
                op.for_each_operand(|operand| shapes.push(of(&operand)));
                let shapes: Option<Vec<&Shape>> = shapes.into_iter().collect();
                Shape::of_operands(&shapes?)
            }
        })
    }

    fn simd(&self, op: SimdOp, args: &[Value]) -> Shape {
        let uniform = op.is_simdgroup_reduction()
            || matches!(
                op,
                SimdOp::BroadcastFirst
                    | SimdOp::Broadcast
                    | SimdOp::Any
                    | SimdOp::All
                    | SimdOp::Ballot
                    | SimdOp::ActiveMask
            );
        // A shuffle reads one lane only if all lanes name the same.
        let from_one =
            op == SimdOp::Shuffle && args.get(1).is_some_and(|lane| self.shape(*lane).is_uniform());
        debug_assert!(op != SimdOp::Shuffle || args.len() == 2, "a shuffle takes a value and a lane");
        if uniform || from_one { Shape::uniform() } else { Shape::Varying }
    }

    fn query(&self, query: Query) -> Shape {
        let threads: u32 = self.group.iter().product();
        match query {
            Query::ThreadPositionInThreadgroup(axis) | Query::ThreadPositionInGrid(axis) => {
                self.position(usize::from(axis), matches!(query, Query::ThreadPositionInThreadgroup(_)))
            }
            Query::ThreadIndexInSimdgroup => Shape::from_values(std::array::from_fn(|lane| lane as i64)),
            Query::ThreadIndexInThreadgroup if threads <= LANES as u32 => {
                Shape::from_values(std::array::from_fn(|lane| lane as i64))
            }
            Query::ThreadIndexInThreadgroup => {
                Shape::based(Base::Multiple(5), std::array::from_fn(|lane| lane as i64))
            }
            Query::ThreadIndexInQuadgroup => Shape::from_values(std::array::from_fn(|lane| lane as i64 % 4)),
            Query::QuadgroupIndexInThreadgroup => {
                Shape::based(Base::Multiple(3), std::array::from_fn(|lane| lane as i64 / 4))
            }
            Query::ThreadsPerSimdgroup => Shape::constant(LANES as i64),
            Query::DispatchThreadsPerThreadgroup(axis) => self
                .group
                .get(usize::from(axis))
                .map_or_else(Shape::uniform, |&size| Shape::constant(size.into())),
            _ => Shape::uniform(),
        }
    }

    /// The position in the threadgroup along an axis, or in the grid.
    fn position(&self, axis: usize, in_group: bool) -> Shape {
        assert!(axis < self.group.len(), "axes are x, y and z");
        let size = |axis: usize| i64::from(self.group.get(axis).copied().unwrap_or(1).max(1));
        let before: i64 = (0..axis).map(size).product();
        let at = |thread: i64| thread / before % size(axis);
        let threads = self.group.iter().map(|&size| i64::from(size.max(1))).product::<i64>();
        let of = |group: i64| -> [i64; LANES] {
            std::array::from_fn(|lane| at(group * LANES as i64 + lane as i64) - at(group * LANES as i64))
        };
        let groups = (threads + LANES as i64 - 1) / LANES as i64;
        // All SIMD-groups of the threadgroup must look alike; a partial one has no lanes that differ.
        let whole = threads % LANES as i64 == 0 || groups == 1;
        if !whole || (1..groups).any(|group| of(group) != of(0)) {
            return Shape::Varying;
        }
        let first = |group: i64| at(group * LANES as i64);
        let zeros = (0..groups).map(|group| first(group).trailing_zeros()).min().unwrap_or(0).min(31);
        if in_group && groups == 1 {
            return Shape::from_values(std::array::from_fn(|lane| at(lane as i64)));
        }
        let zeros = if in_group { zeros } else { zeros.min(size(axis).trailing_zeros()) };
        Shape::based(Base::Multiple(zeros), of(0))
    }
}
