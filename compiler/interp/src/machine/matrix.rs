//! 8×8 matrices spread over a SIMD-group, in the lane layout of [`anymetal_ir::MatrixOp`].
//!
//! A product is accumulated in `f32`: `acc = C`, then `acc = fma(A[row][k], B[k][col], acc)` for `k` from 0
//! to 7, each rounded once, and the sum converted to C's type. Elements of inactive lanes count as zero.

use anymetal_ir::Scalar;
use anymetal_ir::eval::{narrow, widen};

use super::memory::Request;
use super::{Environment, Machine};
use crate::lanes::{Lanes, fused, lanes_in};
use crate::observer::{AccessOp, Stored};
use crate::program::step::{Element, Pc, PtrSlots, Slot};

/// Row and first column that a lane holds.
fn place_of(lane: usize) -> (usize, usize) {
    let quad = lane / 4;
    ((quad & 4) + (lane / 2) % 4, (quad & 2) * 2 + (lane % 2) * 2)
}

impl Machine {
    /// Byte offsets of each lane's element `n` (0 or 1). The pointer and the row length are uniform: the
    /// first active lane speaks for all.
    fn element_offsets(
        &self,
        (ptr, stride): (PtrSlots, Slot),
        ty: Scalar,
        transpose: bool,
        n: usize,
    ) -> Lanes {
        let first = self.active.trailing_zeros() as usize & 31;
        let base = self.registers[ptr.offset.index()][first];
        let stride = self.registers[stride.index()][first];
        std::array::from_fn(|lane| {
            let (row, col) = place_of(lane);
            let (row, col) = if transpose { (col + n, row) } else { (row, col + n) };
            let element = (row as u64).wrapping_mul(stride).wrapping_add(col as u64);
            base.wrapping_add(element.wrapping_mul(u64::from(ty.size())))
        })
    }

    pub(super) fn load_matrix(
        &mut self,
        env: &mut Environment<'_, '_>,
        pc: Pc,
        dst: [Slot; 2],
        from: (PtrSlots, Slot),
        ty: Scalar,
        transpose: bool,
    ) {
        for (n, dst) in dst.into_iter().enumerate() {
            let offsets = self.element_offsets(from, ty, transpose, n);
            let request = request(pc, AccessOp::Load, ty, Stored::Unknown);
            let located = self.locate(env, &self.registers[from.0.region.index()], &offsets, request);
            self.read(env, from.0, &located, Element::of(ty), 0, dst);
        }
    }

    pub(super) fn store_matrix(
        &mut self,
        env: &mut Environment<'_, '_>,
        pc: Pc,
        src: [Slot; 2],
        to: (PtrSlots, Slot),
        ty: Scalar,
        transpose: bool,
    ) {
        for (n, src) in src.into_iter().enumerate() {
            let offsets = self.element_offsets(to, ty, transpose, n);
            let request = request(pc, AccessOp::Store, ty, Stored::One(src, Element::of(ty)));
            let located = self.locate(env, &self.registers[to.0.region.index()], &offsets, request);
            let value = self.registers[src.index()];
            self.write_one(env, to.0, &located, Element::of(ty), &value);
        }
    }

    /// `operands`: two of the result, then two each of A, B and C.
    pub(super) fn multiply(&mut self, operands: &[Slot], types: [Scalar; 3]) {
        let [a, b, c] = [0, 1, 2].map(|n| self.gather(&operands[2 + 2 * n..4 + 2 * n], types[n]));
        let mut out = [[0; 32]; 2];
        for lane in lanes_in(self.active) {
            let (row, col) = place_of(lane);
            for (n, out) in out.iter_mut().enumerate() {
                let mut sum = c[row][col + n];
                for k in 0..8 {
                    sum = fused(a[row][k], b[k][col + n], sum);
                }
                out[lane] = narrow(types[2], f64::from(sum));
            }
        }
        self.registers[operands[0].index()] = out[0];
        self.registers[operands[1].index()] = out[1];
    }

    fn gather(&self, slots: &[Slot], ty: Scalar) -> [[f32; 8]; 8] {
        let mut matrix = [[0.0; 8]; 8];
        for lane in lanes_in(self.active) {
            let (row, col) = place_of(lane);
            for (n, slot) in slots.iter().enumerate() {
                matrix[row][col + n] = widen(ty, self.registers[slot.index()][lane]) as f32;
            }
        }
        matrix
    }
}

fn request(pc: Pc, op: AccessOp, ty: Scalar, stored: Stored) -> Request {
    Request { op, bytes: u64::from(ty.size()), pieces: None, align: ty.size(), pc, stored, notify: true }
}

#[cfg(test)]
mod tests {
    use super::place_of;

    #[test]
    fn lanes_cover_the_matrix_once() {
        let mut seen = [[false; 8]; 8];
        for lane in 0..32 {
            let (row, col) = place_of(lane);
            for col in [col, col + 1] {
                assert!(!std::mem::replace(&mut seen[row][col], true), "({row}, {col}) twice");
            }
        }
        assert_eq!(place_of(9), (0, 6));
        assert_eq!(place_of(16), (4, 0));
    }
}
