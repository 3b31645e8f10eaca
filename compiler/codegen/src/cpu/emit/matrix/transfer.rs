//! Matrices between memory and fragments.
//!
//! Fast path: one bounds check, then whole rows. Otherwise, and where lanes are off, a function goes
//! element by element.

use anymetal_abi::AccessKind;
use anymetal_ir::{Inst, Scalar, Value};

use super::{Rows, SIDE};
use crate::cpu::emit::arith::from_f32;
use crate::cpu::emit::lane::{Lane, Width};
use crate::cpu::emit::memory::Address;
use crate::cpu::emit::out_of_line::Helper;
use crate::cpu::emit::{Emitter, Mask};
use crate::llvm::{self, FLOAT, I64, IntPredicate, Opd, PTR, scalar_type};
use anymetal_simd::storage::Root;

/// How a matrix is in memory: bytes from row to row, the type of its elements, whether its rows there are
/// its columns.
type Layout<'a> = (&'a Opd, Scalar, bool);

impl Emitter<'_, '_> {
    /// The first lane's value of an argument that the IR promises to be uniform.
    fn promised_uniform(&mut self, value: Value) -> Opd {
        debug_assert!(self.scalar(value) == Scalar::I64, "pointers and strides have 64 bits");
        if self.shape(value, 0).is_uniform() {
            return self.uniform(value, 0);
        }
        let vector = self.vector(value, 0);
        let lane = self.first_lane();
        self.t.extract(&vector, &lane)
    }

    /// The matrix's address as one offset, whatever the pointer's shape.
    fn matrix_address(&mut self, pointer: Value, site: u32, stores: bool) -> (Address, Opd) {
        let code = self.promised_uniform(pointer);
        let root = self.plan.facts.storage.pointer(pointer).root;
        let (place, offset) = match root {
            Root::Many => self.decode(&code, stores),
            root => (self.place(root), code),
        };
        // An affine form that holds under a condition only is not the pointer's.
        let is_exact = !self.shape(pointer, 0).affine().is_some_and(|lanes| lanes.is_assumed());
        let value = (root != Root::Many && is_exact).then_some(pointer);
        let address = Address { place, offset: Lane::uniform(offset.clone()), value, extra: 0, site };
        (address, offset)
    }

    /// Whether all rows are in bounds and near each other, as `i1`.
    pub(super) fn rows_in_bounds(&mut self, address: &Address, start: &Opd, step: &Opd, size: i64) -> Opd {
        if self.position.mask != Mask::All {
            return Opd::bool(false);
        }
        if !self.shared.options.checks {
            return Opd::bool(true);
        }
        assert!(size > 0, "elements have bytes");
        let row = SIDE as i64 * size;
        if let Opd::Int(_, step) = step {
            return match *step >= 0 && *step < 1 << 32 {
                true if self.is_in_bounds(address, 7 * step + row) => Opd::bool(true),
                true => self.in_bounds(&address.place, start, 7 * step + row),
                false => Opd::bool(false),
            };
        }
        let near = self.t.icmp(IntPredicate::ULt, step, 1_i64 << 35);
        let below = self.t.icmp(IntPredicate::ULt, start, 1_i64 << 48);
        let last = self.t.mul(step, 7);
        let end = self.t.add(start, &last);
        let end = self.t.add(&end, row);
        let inside = self.t.icmp(IntPredicate::ULe, &end, &address.place.len);
        let ok = self.t.and(&near, &below);
        self.t.and(&ok, &inside)
    }

    pub(super) fn load_matrix(&mut self, inst: Inst, args: &[Value], result: Value, transpose: bool) {
        assert_eq!(args.len(), 2, "a matrix load takes a pointer and a stride");
        let scalar = self.scalar(result);
        let size = i64::from(scalar.size());
        let site = self.site(inst, args[0], AccessKind::Load, scalar.size());
        let stride = self.promised_uniform(args[1]);
        let (address, start) = self.matrix_address(args[0], site, false);
        let step = self.t.mul(&stride, size);
        let layout = (&step, scalar, transpose);
        if self.gathers_products()
            && let Some(&uses) = self.plan.fragments.operands.get(&result)
        {
            let operand = self.operand_at(&address, &start, [site; 2], (step.clone(), scalar, transpose));
            self.matrices.operands.insert(result, (operand, uses));
            return;
        }
        let lanes = self.load_matrix_lanes(&address, &start, layout);
        self.define(result, Self::varying(lanes));
    }

    fn load_matrix_lanes(&mut self, address: &Address, start: &Opd, layout: Layout<'_>) -> [Opd; 2] {
        let (step, scalar, transpose) = layout;
        let element = scalar_type(scalar);
        let ok = self.rows_in_bounds(address, start, step, i64::from(scalar.size()));
        let (fast, slow, join) = (self.t.block(), self.t.block(), self.t.block());
        if !ok.is_false() {
            self.t.branch_likely(&ok, fast, slow);
            self.t.label(slow);
        }
        let buffer = self.load_rows_slowly(address, start, [address.site; 2], layout, false);
        let rows = Rows { start: buffer, step: Opd::i64(i64::from(scalar.size()) * SIDE as i64) };
        let dense = self.load_dense(element, &rows);
        let careful = self.fragment(&dense, false);
        if ok.is_false() {
            return careful;
        }
        let slow_from = self.t.current();
        self.t.branch(join);
        self.t.label(fast);
        let base = self.t.offset(&address.place.base, start);
        let dense = self.load_dense(element, &Rows { start: base, step: step.clone() });
        let loaded = self.fragment(&dense, transpose);
        let from = self.t.current();
        self.t.label(join);
        [0, 1].map(|n| self.t.phi(&[(&loaded[n], from), (&careful[n], slow_from)]))
    }

    /// Loads the active lanes' elements one by one into rows of eight, zeros for the others. `as_memory`:
    /// a transposed matrix stays transposed.
    pub(super) fn load_rows_slowly(
        &mut self,
        address: &Address,
        start: &Opd,
        sites: [u32; 2],
        layout: Layout<'_>,
        as_memory: bool,
    ) -> Opd {
        let bits = layout.1.size() * 8;
        let buffer = self.t.alloca_array(64, llvm::Type::int(bits), 64);
        self.need(Helper::LoadRows(bits));
        self.call_rows("load", address, start, sites, (&buffer, as_memory), layout);
        buffer
    }

    fn call_rows(
        &mut self,
        what: &str,
        address: &Address,
        start: &Opd,
        sites: [u32; 2],
        (buffer, as_memory): (&Opd, bool),
        (step, scalar, transpose): Layout<'_>,
    ) {
        self.t.expect(start, I64);
        self.t.expect(buffer, PTR);
        let size = Opd::i64(i64::from(scalar.size()));
        let row = Opd::i64(i64::from(scalar.size()) * SIDE as i64);
        let (down, right) = if transpose { (&size, step) } else { (step, &size) };
        let (own_down, own_right) = if as_memory { (&size, &row) } else { (&row, &size) };
        let len = if self.shared.options.checks { address.place.len.clone() } else { Opd::i64(i64::MAX) };
        let before = self.before(&address.place);
        let mask = self.position.mask.clone();
        let mask = self.mask_bits(&mask);
        let record = self.slow_buffers().record;
        let bits = scalar.size() * 8;
        self.t.call_void(
            format!("am.rows.{what}.{bits}"),
            &[
                buffer,
                own_down,
                own_right,
                &address.place.base,
                &len,
                &before,
                start,
                down,
                right,
                &mask,
                &record,
                &Opd::i32(sites[0].into()),
                &Opd::i32(sites[1].into()),
                &self.position.first,
            ],
        );
    }

    pub(super) fn store_matrix(&mut self, inst: Inst, args: &[Value], transpose: bool) {
        let [pointer, stride, fragment] = args else {
            unreachable!("a matrix store takes a pointer, a stride and a fragment")
        };
        let scalar = self.scalar(*fragment);
        let size = i64::from(scalar.size());
        let site = self.site(inst, *pointer, AccessKind::Store, scalar.size());
        let stride = self.promised_uniform(*stride);
        let (address, start) = self.matrix_address(*pointer, site, true);
        let step = self.t.mul(&stride, size);
        let values = self.rows_to_store(*fragment, scalar, transpose);
        let ok = self.rows_in_bounds(&address, &start, &step, size);
        let (fast, slow, join) = (self.t.block(), self.t.block(), self.t.block());
        if !ok.is_false() {
            self.t.branch_likely(&ok, fast, slow);
            self.t.label(fast);
            let base = self.t.offset(&address.place.base, &start);
            self.store_rows(&values, &Rows { start: base, step: step.clone() });
            self.t.branch(join);
            self.t.label(slow);
        }
        if !ok.is_true() {
            let bits = scalar.size() * 8;
            let buffer = self.t.alloca_array(64, llvm::Type::int(bits), 64);
            let rows = Rows { start: buffer.clone(), step: Opd::i64(size * SIDE as i64) };
            self.store_rows(&values, &rows);
            self.need(Helper::StoreRows(bits));
            self.call_rows(
                "store",
                &address,
                &start,
                [site; 2],
                (&buffer, transpose),
                (&step, scalar, transpose),
            );
        }
        self.t.label(join);
    }

    /// The fragment's rows, or columns, as this type.
    pub(super) fn rows_to_store(&mut self, fragment: Value, to: Scalar, transpose: bool) -> Vec<Opd> {
        let rows = match (self.matrices.lazy.get(&fragment), self.matrices.results.get(&fragment)) {
            (Some(&tile), _) => Some(self.tile_rows(tile)),
            (None, Some(rows)) => Some(rows.clone()),
            (None, None) => None,
        };
        if let (Some(rows), false) = (&rows, transpose) {
            let rows = self.load_rows(FLOAT, rows);
            return rows.iter().map(|row| from_f32(&mut self.t, Width::Few(SIDE), to, row)).collect();
        }
        let dense = match rows {
            Some(rows) => {
                let dense = self.load_dense(FLOAT, &rows);
                let picks: Vec<_> = (0..SIDE * SIDE).map(|n| Some(n % SIDE * SIDE + n / SIDE)).collect();
                let dense = self.t.pick(&dense, &picks);
                from_f32(&mut self.t, Width::Few(SIDE * SIDE), to, &dense)
            }
            None => {
                let from = self.scalar(fragment);
                let dense = self.dense(fragment, transpose);
                if from == to { dense } else { from_f32(&mut self.t, Width::Few(SIDE * SIDE), to, &dense) }
            }
        };
        (0..SIDE).map(|row| self.row_of(&dense, row)).collect()
    }
}
