//! 8×8 matrices spread over a SIMD-group.
//!
//! A fragment is a vector of two per lane; an operation turns it into 64 elements in rows, where a
//! product is eight steps of a column of A times a row of B.

use anymetal_ir::{Inst, MatrixOp, Scalar, Type, Value};

use super::arith::{from_f32, to_f32};
use super::lane::{Lane, Width};
use super::memory::{Address, Item};
use super::{Emitter, Mask};
use crate::cpu::llvm_text::{LANES, Opd, scalar_type, vector_const};
use crate::cpu::options::AccessKind;

/// The side of a matrix.
const SIDE: usize = 8;

/// Row and first column that a lane holds, in Metal's layout.
fn place_of(lane: usize) -> (usize, usize) {
    let quad = lane / 4;
    ((quad & 4) + (lane / 2) % 4, (quad & 2) * 2 + (lane % 2) * 2)
}

/// For each element of a fragment: where it lies among 64 in rows.
fn dense_index(lane: usize, element: usize, transpose: bool) -> usize {
    let (row, column) = place_of(lane);
    let column = column + element;
    if transpose { column * SIDE + row } else { row * SIDE + column }
}

impl Emitter<'_, '_> {
    pub(super) fn matrix(&mut self, inst: Inst, op: MatrixOp, args: &[Value], result: Option<Value>) {
        match op {
            MatrixOp::MultiplyAccumulate => {
                let Some(result) = result else { return };
                let lanes = self.multiply(args, result);
                self.define(result, lanes);
            }
            MatrixOp::Load { transpose } => {
                let Some(result) = result else { return };
                let scalar = self.scalar(result);
                let lanes = self.load_matrix(inst, args[0], args[1], scalar, transpose);
                self.define(result, lanes);
            }
            MatrixOp::Store { transpose } => self.store_matrix(inst, args, transpose),
        }
    }

    /// The 64 elements in rows.
    fn dense(&mut self, fragment: Value) -> Opd {
        let element = scalar_type(self.scalar(fragment));
        let (even, odd) = (self.vector(fragment, 0), self.vector(fragment, 1));
        let mut picks = vec![None; SIDE * SIDE];
        for lane in 0..LANES {
            for n in 0..2 {
                picks[dense_index(lane, n, false)] = Some(n * LANES + lane);
            }
        }
        self.t.shuffle(element, LANES, &even, &odd, &picks)
    }

    /// The fragment of 64 elements in rows.
    fn fragment(&mut self, element: &str, dense: &Opd, transpose: bool) -> Vec<Opd> {
        (0..2)
            .map(|n| {
                let picks: Vec<_> = (0..LANES).map(|lane| Some(dense_index(lane, n, transpose))).collect();
                self.t.shuffle(element, SIDE * SIDE, dense, &Opd::text("poison"), &picks)
            })
            .collect()
    }

    fn multiply(&mut self, args: &[Value], result: Value) -> Vec<Lane> {
        let width = Width::Few(SIDE * SIDE);
        let mut dense = Vec::new();
        for &arg in &args[..3] {
            let (scalar, elements) = (self.scalar(arg), self.dense(arg));
            dense.push(to_f32(&mut self.t, width, scalar, &elements));
        }
        let ty = width.of("float");
        let mut sum = dense[2].clone();
        for k in 0..SIDE {
            let column: Vec<_> = (0..SIDE * SIDE).map(|n| Some(n / SIDE * SIDE + k)).collect();
            let row: Vec<_> = (0..SIDE * SIDE).map(|n| Some(k * SIDE + n % SIDE)).collect();
            let poison = Opd::text("poison");
            let a = self.t.shuffle("float", SIDE * SIDE, &dense[0], &poison, &column);
            let b = self.t.shuffle("float", SIDE * SIDE, &dense[1], &poison, &row);
            sum = self.t.intrinsic("fma", &ty, "", &[&a, &b, &sum]);
        }
        let scalar = self.scalar(result);
        let narrow = from_f32(&mut self.t, width, scalar, &sum);
        self.fragment(scalar_type(scalar), &narrow, false).into_iter().map(Lane::Varying).collect()
    }

    /// The first lane's value of an argument that the IR promises to be uniform.
    fn promised_uniform(&mut self, value: Value) -> Opd {
        if self.shape(value, 0).is_uniform() {
            return self.uniform(value, 0);
        }
        let vector = self.vector(value, 0);
        let lane = self.first_lane();
        self.t.value(format_args!("extractelement <32 x i64> {vector}, i32 {lane}"))
    }

    /// The matrix's address as one offset, whatever the pointer's shape.
    fn matrix_address(&mut self, pointer: Value, site: u32) -> (Address, Opd) {
        let code = self.promised_uniform(pointer);
        let root = self.facts.storage.pointer(pointer).root;
        let (place, offset) = match root {
            crate::cpu::storage::Root::Many => self.decode(&code),
            root => (self.place(root), code),
        };
        let address = Address { place, offset: Lane::uniform(offset.clone()), value: None, extra: 0, site };
        (address, offset)
    }

    /// Whether all rows are in bounds and near each other, as `i1`.
    fn rows_in_bounds(&mut self, address: &Address, start: &Opd, stride: &Opd, size: i64) -> Opd {
        if self.mask != Mask::All {
            return Opd::bool(false);
        }
        if !self.shared.options.checks {
            return Opd::bool(true);
        }
        let near = self.t.value(format_args!("icmp ult i64 {stride}, {}", 1_i64 << 32));
        let below = self.t.value(format_args!("icmp ult i64 {start}, {}", 1_i64 << 48));
        let last = self.t.mul("i64", stride, &Opd::Int(7 * size));
        let end = self.t.add("i64", start, &last);
        let end = self.t.add("i64", &end, &Opd::Int(8 * size));
        let inside = self.t.value(format_args!("icmp ule i64 {end}, {}", address.place.len));
        let ok = self.t.and(&near, &below);
        self.t.and(&ok, &inside)
    }

    /// Each lane's offset of element `n` of its fragment.
    fn element_address(
        &mut self,
        address: &Address,
        start: &Opd,
        stride: &Opd,
        size: i64,
        n: usize,
        transpose: bool,
    ) -> Address {
        let ty = "<32 x i64>";
        let place = |lane: usize| {
            let (row, column) = place_of(lane);
            if transpose { (column + n, row) } else { (row, column + n) }
        };
        let rows = vector_const("i64", (0..LANES).map(|lane| place(lane).0 as i64));
        let columns = vector_const("i64", (0..LANES).map(|lane| place(lane).1 as i64));
        let stride = self.t.splat("i64", stride);
        let start = self.t.splat("i64", start);
        let elements = self.t.value(format_args!("mul {ty} {rows}, {stride}"));
        let elements = self.t.value(format_args!("add {ty} {elements}, {columns}"));
        let bytes = self.t.value(format_args!("mul {ty} {elements}, splat (i64 {size})"));
        let offsets = self.t.value(format_args!("add {ty} {start}, {bytes}"));
        Address { offset: Lane::Varying(offsets), ..address.clone() }
    }

    fn load_matrix(
        &mut self,
        inst: Inst,
        pointer: Value,
        stride: Value,
        scalar: Scalar,
        transpose: bool,
    ) -> Vec<Lane> {
        let site = self.site(inst, pointer, AccessKind::Load, scalar.size());
        let size = i64::from(scalar.size());
        let element = scalar_type(scalar);
        let stride = self.promised_uniform(stride);
        let (address, start) = self.matrix_address(pointer, site);
        let ok = self.rows_in_bounds(&address, &start, &stride, size);
        let (fast, slow, join) = (self.t.block(), self.t.block(), self.t.block());
        self.t.branch_likely(&ok, fast, slow);
        self.t.label(slow);
        let mut careful = Vec::new();
        for n in 0..2 {
            let address = self.element_address(&address, &start, &stride, size, n, transpose);
            let lanes = self.load_address(&address, Item { scalar, count: 1 });
            careful.push(lanes[0].vector(&mut self.t, element));
        }
        let slow_from = self.t.current();
        self.t.branch(join);
        self.t.label(fast);
        let mut rows = Vec::new();
        let base = self.t.offset(&address.place.base, &start);
        let step = self.t.mul("i64", &stride, &Opd::Int(size));
        for row in 0..SIDE as i64 {
            let bytes = self.t.mul("i64", &step, &Opd::Int(row));
            let at = self.t.offset(&base, &bytes);
            rows.push(self.t.value(format_args!("load <8 x {element}>, ptr {at}, align 1")));
        }
        let dense = self.t.concat(element, SIDE, rows);
        let loaded = self.fragment(element, &dense, transpose);
        let from = self.t.current();
        self.t.label(join);
        let ty = Width::All.of(element);
        let merge = |(x, y): (&Opd, &Opd)| Lane::Varying(self.t.phi(&ty, &[(x, from), (y, slow_from)]));
        loaded.iter().zip(&careful).map(merge).collect()
    }

    fn store_matrix(&mut self, inst: Inst, args: &[Value], transpose: bool) {
        let [pointer, stride, fragment] = args else { return };
        let scalar = self.scalar(*fragment);
        debug_assert!(matches!(self.facts.function.ty(*fragment), Type::Vector(_, 2)));
        let site = self.site(inst, *pointer, AccessKind::Store, scalar.size());
        let size = i64::from(scalar.size());
        let element = scalar_type(scalar);
        let stride = self.promised_uniform(*stride);
        let (address, start) = self.matrix_address(*pointer, site);
        let ok = self.rows_in_bounds(&address, &start, &stride, size);
        let (fast, slow, join) = (self.t.block(), self.t.block(), self.t.block());
        let parts = [self.vector(*fragment, 0), self.vector(*fragment, 1)];
        self.t.branch_likely(&ok, fast, slow);
        self.t.label(slow);
        for (n, part) in parts.iter().enumerate() {
            let address = self.element_address(&address, &start, &stride, size, n, transpose);
            self.store_address(&address, Item { scalar, count: 1 }, &[Lane::Varying(part.clone())]);
        }
        self.t.branch(join);
        self.t.label(fast);
        let mut picks = vec![None; SIDE * SIDE];
        for lane in 0..LANES {
            for n in 0..2 {
                picks[dense_index(lane, n, transpose)] = Some(n * LANES + lane);
            }
        }
        let dense = self.t.shuffle(element, LANES, &parts[0], &parts[1], &picks);
        let base = self.t.offset(&address.place.base, &start);
        let step = self.t.mul("i64", &stride, &Opd::Int(size));
        for row in 0..SIDE {
            let own: Vec<_> = (row * SIDE..(row + 1) * SIDE).map(Some).collect();
            let values = self.t.shuffle(element, SIDE * SIDE, &dense, &Opd::text("poison"), &own);
            let bytes = self.t.mul("i64", &step, &Opd::Int(row as i64));
            let at = self.t.offset(&base, &bytes);
            self.t.line(format_args!("store <8 x {element}> {values}, ptr {at}, align 1"));
        }
        self.t.label(join);
    }
}
