//! 8×8 matrices over a SIMD-group, in Metal's lane layout.
//!
//! A product reads the row of A and the columns of B from the lanes that hold them, and adds up with fused
//! multiply-add in `float`: the accuracy that Metal's has, for every element type.

use anymetal_ir::{Inst, MatrixOp, Scalar, Type, Value};
use anymetal_launch_abi::AccessKind;

use super::Emitter;
use super::allocation::{Added, Address};
use super::memory::Mode;
use crate::elementwise::{Width, arith};
use crate::llvm_text::Opd;

/// The largest constant stride, in elements, that bounds are computed with.
const MAX_STRIDE: u64 = 1 << 20;

impl Emitter<'_> {
    pub(super) fn matrix(&mut self, inst: Inst, op: MatrixOp, args: &[Value]) {
        match op {
            MatrixOp::Load { transpose } => self.load_matrix(inst, args, transpose),
            MatrixOp::Store { transpose } => self.store_matrix(inst, args, transpose),
            MatrixOp::MultiplyAccumulate => {
                let parts = self.multiply(inst, [args[0], args[1], args[2]]);
                self.define(inst, parts);
            }
        }
    }

    /// Row and first column of the lane's two elements.
    fn place_of_lane(&mut self) -> (Opd, Opd) {
        let lane = self.lane();
        let bits = |this: &mut Self, shift: i64, mask: i64| {
            let shifted = match shift {
                0 => lane.clone(),
                1.. => this.t.value(format_args!("lshr i32 {lane}, {shift}")),
                _ => this.t.value(format_args!("shl i32 {lane}, {}", -shift)),
            };
            this.t.value(format_args!("and i32 {shifted}, {mask}"))
        };
        // q = lane / 4: row = (q & 4) + (lane / 2) % 4, column = (q & 2) * 2 + (lane % 2) * 2.
        let (high, low) = (bits(self, 2, 4), bits(self, 1, 3));
        let row = self.t.value(format_args!("or i32 {high}, {low}"));
        let (far, near) = (bits(self, 1, 4), bits(self, -1, 2));
        let column = self.t.value(format_args!("or i32 {far}, {near}"));
        (row, column)
    }

    /// Byte offsets of the lane's two elements from the pointer.
    fn element_offsets(&mut self, stride: Value, transpose: bool, size: u32) -> [Opd; 2] {
        let (row, column) = self.place_of_lane();
        let [row, column] = [row, column].map(|value| self.t.value(format_args!("zext i32 {value} to i64")));
        let stride = self.one(stride);
        let next = self.t.value(format_args!("add i64 {column}, 1"));
        [column, next].map(|column| {
            let (major, minor) = if transpose { (&column, &row) } else { (&row, &column) };
            let start = self.t.mul("i64", major, &stride);
            let element = self.t.add("i64", &start, minor);
            self.t.mul("i64", &element, &Opd::Int(i64::from(size)))
        })
    }

    /// The address of one of the lane's elements. With a constant stride it is known how far it can be.
    fn element_address(&mut self, matrix: &Address, offset: &Opd, stride: Value, size: u32) -> Address {
        let address = self.further(matrix, offset);
        let stride = self.input.function.as_const(stride).filter(|&stride| stride <= MAX_STRIDE);
        let added = match stride {
            Some(stride) => Added::AtMost { bytes: 7 * (stride + 1) * u64::from(size), align: size },
            None => Added::Anything,
        };
        Address { added, ..address }
    }

    fn load_matrix(&mut self, inst: Inst, args: &[Value], transpose: bool) {
        let Some(result) = self.input.function.inst(inst).result else { return };
        let scalar = self.scalar(result);
        let size = scalar.size();
        let site = self.site(inst, args[0], AccessKind::Load, size);
        let address = self.address(args[0]);
        let offsets = self.element_offsets(args[1], transpose, size);
        let mode = Mode { align: size, volatile: false };
        let parts = offsets.map(|offset| {
            let address = self.element_address(&address, &offset, args[1], size);
            self.checked_load(&address, Type::Scalar(scalar), mode, site).swap_remove(0)
        });
        self.define(inst, parts.to_vec());
    }

    fn store_matrix(&mut self, inst: Inst, args: &[Value], transpose: bool) {
        let scalar = self.scalar(args[2]);
        let size = scalar.size();
        let site = self.site(inst, args[0], AccessKind::Store, size);
        let address = self.address(args[0]);
        let offsets = self.element_offsets(args[1], transpose, size);
        let mode = Mode { align: size, volatile: false };
        let parts = self.parts(args[2]);
        for (offset, part) in offsets.iter().zip(parts) {
            let address = self.element_address(&address, offset, args[1], size);
            self.checked_store(&address, Type::Scalar(scalar), &[part], mode, site);
        }
    }

    /// `A × B + C`.
    fn multiply(&mut self, inst: Inst, [a, b, c]: [Value; 3]) -> Vec<Opd> {
        let mask = self.active_lanes();
        let (row, column) = self.place_of_lane();
        let mut sums: Vec<Opd> = self.parts(c);
        let from = self.scalar(c);
        sums = sums.iter().map(|sum| arith::to_f32(&mut self.t, Width::One, from, sum)).collect();
        let [a_words, b_words] = [a, b].map(|matrix| self.words(matrix));
        for pair in 0..4 {
            // Elements (row, 2 pair) and (row, 2 pair + 1) of A.
            let lane = self.lane_of(&row, &Opd::Int(2 * pair));
            let left = self.read_words(a, &a_words, &mask, &lane);
            for half in 0..2 {
                let lane = self.lane_of(&Opd::Int(2 * pair + half), &column);
                let right = self.read_words(b, &b_words, &mask, &lane);
                let factor = &left[half as usize];
                for (sum, right) in sums.iter_mut().zip(&right) {
                    *sum = self.t.intrinsic("fma", "float", "", &[factor, right, sum]);
                }
            }
        }
        let to = self.input.function.inst(inst).result.map_or(from, |result| self.scalar(result));
        sums.iter().map(|sum| self.round(to, sum)).collect()
    }

    /// The lane that holds the elements (row, column) and (row, column + 1), column being even.
    fn lane_of(&mut self, row: &Opd, column: &Opd) -> Opd {
        let mut lane = Opd::Int(0);
        // Bits of row: 4 to lane bit 4, 2 and 1 to bits 2 and 1; of column: 4 to bit 3, 2 to bit 0.
        for (value, mask, shift) in [(row, 4, 2), (row, 3, 1), (column, 4, 1), (column, 2, -1)] {
            let moved = match value {
                Opd::Int(value) => {
                    let bits = value & mask;
                    Opd::Int(if shift > 0 { bits << shift } else { bits >> -shift })
                }
                value => {
                    let bits = self.t.value(format_args!("and i32 {value}, {mask}"));
                    match shift {
                        0.. => self.t.value(format_args!("shl i32 {bits}, {shift}")),
                        _ => self.t.value(format_args!("lshr i32 {bits}, {}", -shift)),
                    }
                }
            };
            lane = self.t.add("i32", &lane, &moved);
        }
        lane
    }

    /// A fragment's elements in as few 32-bit words as hold them.
    fn words(&mut self, matrix: Value) -> Vec<Opd> {
        let scalar = self.scalar(matrix);
        let words: Vec<Opd> = self.parts(matrix).iter().map(|part| self.to_word(scalar, part)).collect();
        if scalar.bits() != 16 {
            return words;
        }
        let high = self.t.value(format_args!("shl i32 {}, 16", words[1]));
        vec![self.t.value(format_args!("or i32 {}, {high}", words[0]))]
    }

    /// The two elements of another lane, as `float`.
    fn read_words(&mut self, matrix: Value, words: &[Opd], mask: &Opd, lane: &Opd) -> Vec<Opd> {
        let scalar = self.scalar(matrix);
        let mut read: Vec<Opd> =
            words.iter().map(|word| self.exchange("idx", Scalar::I32, word, mask, lane)).collect();
        if let [word] = read[..].as_ref() {
            let high = self.t.value(format_args!("lshr i32 {word}, 16"));
            read.push(high);
        }
        read.iter()
            .map(|word| {
                let part = self.from_word(scalar, word);
                arith::to_f32(&mut self.t, Width::One, scalar, &part)
            })
            .collect()
    }
}
