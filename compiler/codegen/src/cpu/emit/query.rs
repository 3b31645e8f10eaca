//! Thread positions, computed once per SIMD-group from its number and the threadgroup's place.

use anymetal_abi::offsets::{LAUNCH_GRID_THREADS, LAUNCH_GROUP_SIZE, LAUNCH_GROUPS};
use anymetal_ir::{Query, Value};

use super::Emitter;
use super::lane::{Lane, Width};
use crate::llvm::{Binary, Cast, FLOAT, I32, MemFlags, Opd, vector_const};
use anymetal_analysis::divergence::{Affine, Position, Shape};

impl Emitter<'_, '_> {
    pub(super) fn query(&mut self, query: Query, result: Value) -> Lane {
        if let Shape::Affine(shape) = self.shape(result, 0)
            && shape.is_constant
        {
            return Lane::known(shape);
        }
        let axis_of = |axis: u8| usize::from(axis.min(2));
        match query {
            Query::ThreadIndexInSimdgroup | Query::ThreadIndexInQuadgroup => {
                let modulo = if query == Query::ThreadIndexInSimdgroup { 32 } else { 4 };
                Lane::Varying(vector_const(I32, (0..32).map(|lane| lane % modulo)))
            }
            Query::ThreadIndexInThreadgroup => self.based(&Position::linear(), 0, result),
            Query::ThreadPositionInThreadgroup(axis) => {
                let position = self.plan.facts.geometry.position(axis);
                self.based(&position, axis_of(axis), result)
            }
            Query::ThreadPositionInGrid(axis) => {
                let position = self.plan.facts.geometry.position(axis);
                let inside = self.based(&position, axis_of(axis), result);
                self.in_grid(inside, axis_of(axis), result)
            }
            Query::QuadgroupIndexInThreadgroup => {
                let base = self.t.mul(&self.position.simdgroup.clone(), 8);
                self.affine(base, result)
            }
            Query::SimdgroupIndexInThreadgroup => Lane::uniform(self.position.simdgroup.clone()),
            Query::ThreadgroupPositionInGrid(axis) => {
                Lane::uniform(self.group.position[axis_of(axis)].clone())
            }
            Query::ThreadsPerThreadgroup(axis) => Lane::uniform(self.group.size[axis_of(axis)].clone()),
            Query::ThreadsPerGrid(axis) => {
                Lane::uniform(self.launch_field(LAUNCH_GRID_THREADS, axis_of(axis)))
            }
            Query::ThreadgroupsPerGrid(axis) => {
                Lane::uniform(self.launch_field(LAUNCH_GROUPS, axis_of(axis)))
            }
            Query::DispatchThreadsPerThreadgroup(axis) => Lane::uniform(self.full_size(axis_of(axis))),
            Query::SimdgroupsPerThreadgroup => Lane::uniform(self.group.simdgroups.clone()),
            Query::DispatchSimdgroupsPerThreadgroup => {
                let mut threads = self.full_size(0);
                for axis in 1..3 {
                    let size = self.full_size(axis);
                    threads = self.t.mul(&threads, &size);
                }
                Lane::uniform(self.divided_up(&threads, 32))
            }
            Query::ThreadsPerSimdgroup => Lane::uniform(Opd::i32(32)),
            Query::QuadgroupsPerThreadgroup => {
                let threads = self.group.threads.clone();
                Lane::uniform(self.divided_up(&threads, 4))
            }
        }
    }

    pub(super) fn divided_up(&mut self, count: &Opd, by: i64) -> Opd {
        assert!(by > 0, "the divisor is positive, not {by}");
        let sum = self.t.add(count, by - 1);
        match sum {
            Opd::Int(_, sum) => Opd::i32(sum / by),
            sum => self.t.udiv(&sum, by),
        }
    }

    /// A number of the launch table, loaded in the entry block.
    pub(super) fn launch_field(&mut self, field: i64, axis: usize) -> Opd {
        assert!(axis < 3, "axes are x, y and z");
        let launch = self.group.launch.clone();
        let at = self.t.in_entry(|t| t.field(&launch, field + 4 * axis as i64));
        self.t.in_entry(|t| t.load(I32, &at, MemFlags::with(4, ", !invariant.load !1")))
    }

    /// The full threadgroup's size along an axis.
    fn full_size(&mut self, axis: usize) -> Opd {
        match self.shared.options.group_size {
            Some(size) => Opd::i32(i64::from(size[axis])),
            None => self.launch_field(LAUNCH_GROUP_SIZE, axis),
        }
    }

    /// A base in the shape that the analysis gave the result.
    fn affine(&mut self, base: Opd, result: Value) -> Lane {
        match self.shape(result, 0) {
            Shape::Affine(shape) if shape.is_constant => Lane::known(shape),
            Shape::Affine(shape) => {
                Lane::Affine { bases: vec![base; shape.segments], shape, assumption: None }
            }
            other => unreachable!("the analysis knows a pattern for {result}, not {other:?}"),
        }
    }

    fn based(&mut self, position: &Position, axis: usize, result: Value) -> Lane {
        match position {
            Position::Zero => Lane::uniform(Opd::i32(0)),
            Position::Known(pattern) => Lane::known(Affine::known(*pattern)),
            Position::Based { divide, modulo, .. } => {
                let mut base = self.position.first.clone();
                assert!(*divide > 0, "threadgroup sizes are not zero");
                if *divide != 1 {
                    base = self.t.udiv(&base, i64::from(*divide));
                }
                if *modulo != 0 {
                    base = self.t.urem(&base, i64::from(*modulo));
                }
                self.affine(base, result)
            }
            Position::Computed => Lane::Varying(self.computed(axis)),
        }
    }

    /// The position along an axis by division, lane by lane.
    fn computed(&mut self, axis: usize) -> Opd {
        let ints = Width::All.of(I32);
        let first = self.position.first.clone();
        let base = self.t.splat(&first);
        let lanes = vector_const(I32, 0..32);
        let linear = self.t.add(&base, &lanes);
        let [x, y, _] = self.group.size.clone();
        let divide = |this: &mut Self, op: Binary, a: &Opd, by: &Opd| {
            let by_all = this.t.splat(by);
            if by.is_const() {
                return this.t.binary(op, a, &by_all);
            }
            // Exact: the index is below 2^11.
            let floats = Width::All.of(FLOAT);
            let p = this.t.cast(Cast::UiToFp, a, floats);
            let q = this.t.cast(Cast::UiToFp, &by_all, floats);
            let quotient = this.t.binary(Binary::FDiv, &p, &q);
            let quotient = this.t.cast(Cast::FpToUi, &quotient, ints);
            if op == Binary::UDiv {
                return quotient;
            }
            let whole = this.t.mul(&quotient, &by_all);
            this.t.sub(a, &whole)
        };
        match axis {
            0 => divide(self, Binary::URem, &linear, &x),
            1 => {
                let row = divide(self, Binary::UDiv, &linear, &x);
                divide(self, Binary::URem, &row, &y)
            }
            _ => {
                let row = divide(self, Binary::UDiv, &linear, &x);
                divide(self, Binary::UDiv, &row, &y)
            }
        }
    }

    /// Where the threadgroup begins in the grid.
    pub(super) fn start_of_group(&mut self, axis: usize) -> Opd {
        let size = self.full_size(axis);
        let position = self.group.position[axis].clone();
        self.t.mul(&position, &size)
    }

    /// Adds where the threadgroup begins.
    fn in_grid(&mut self, inside: Lane, axis: usize, result: Value) -> Lane {
        let start = self.start_of_group(axis);
        match (&inside, self.shape(result, 0)) {
            (Lane::Varying(vector), _) => {
                let start = self.t.splat(&start);
                Lane::Varying(self.t.add(vector, &start))
            }
            (lane, Shape::Affine(shape)) => {
                let step = shape.segment_len();
                let bases = (0..shape.segments)
                    .map(|segment| {
                        let inner = lane.at(&mut self.t, I32, segment * step);
                        self.t.add(&start, &inner)
                    })
                    .collect();
                Lane::Affine { bases, shape, assumption: None }
            }
            (lane, shape) => unreachable!("a position in the grid is {shape:?}, in the threadgroup {lane:?}"),
        }
    }
}
