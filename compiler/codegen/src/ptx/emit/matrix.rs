//! 8×8 matrices over a SIMD-group.
//!
//! A product of `float` reads the row of A and the columns of B from the lanes that hold them, and adds up
//! with fused multiply-add in `float`: the accuracy that Metal's has. Those of `half` and `bfloat` in
//! fast math mode are in `tensor`.

use std::collections::BTreeMap;

use anymetal_abi::AccessKind;
use anymetal_ir::{Inst, MatrixOp, Scalar, Type, Value};

use super::super::matrix_layout::MatrixLayout;
use super::Emitter;
use super::allocation::{Added, Address};
use super::memory::Mode;
use crate::elementwise::{Width, arith};
use crate::limits::ptx::MAX_MATRIX_STRIDE;
use crate::llvm::{BlockName, I64, Opd};

/// What of a factor a lane needs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Gather {
    /// Of A the row of its elements.
    Row,
    /// Of B the columns of both of its elements, element by element.
    Columns,
    /// The word of A that a tensor core takes.
    Left,
    /// The word of B that a tensor core takes.
    Right,
}

/// What was gathered in the block being written.
#[derive(Debug, Default)]
pub(super) struct Gathers {
    block: Option<BlockName>,
    known: BTreeMap<(Value, Gather), Vec<Opd>>,
}

impl Gathers {
    pub(super) fn get(&self, block: BlockName, matrix: Value, what: Gather) -> Option<Vec<Opd>> {
        self.known.get(&(matrix, what)).filter(|_| self.block == Some(block)).cloned()
    }

    pub(super) fn set(&mut self, block: BlockName, matrix: Value, what: Gather, elements: Vec<Opd>) {
        if self.block.replace(block) != Some(block) {
            self.known.clear();
        }
        self.known.insert((matrix, what), elements);
    }
}

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
    pub(super) fn place_of_lane(&mut self) -> (Opd, Opd) {
        if self.facts.matrix_layout == MatrixLayout::Hardware {
            return self.place_in_hardware();
        }
        let lane = self.lane();
        let bits = |this: &mut Self, shift: i64, mask: i64| {
            let shifted = match shift {
                0 => lane.clone(),
                1.. => this.t.lshr(&lane, shift),
                _ => this.t.shl(&lane, -shift),
            };
            this.t.and(&shifted, mask)
        };
        // q = lane / 4: row = (q & 4) + (lane / 2) % 4, column = (q & 2) * 2 + (lane % 2) * 2.
        let (high, low) = (bits(self, 2, 4), bits(self, 1, 3));
        let row = self.t.or(&high, &low);
        let (far, near) = (bits(self, 1, 4), bits(self, -1, 2));
        let column = self.t.or(&far, &near);
        (row, column)
    }

    /// The same in the layout of tensor cores.
    pub(super) fn place_in_hardware(&mut self) -> (Opd, Opd) {
        let lane = self.lane();
        let row = self.t.lshr(&lane, 2);
        let pair = self.t.and(&lane, 3);
        (row, self.t.shl(&pair, 1))
    }

    /// Byte offsets of the lane's two elements from the pointer.
    fn element_offsets(&mut self, stride: Value, transpose: bool, size: u32) -> [Opd; 2] {
        let (row, column) = self.place_of_lane();
        let [row, column] = [row, column].map(|value| self.t.zext(&value, I64));
        let stride = self.one(stride);
        let next = self.t.add(&column, 1);
        [column, next].map(|column| {
            let (major, minor) = if transpose { (&column, &row) } else { (&row, &column) };
            let start = self.t.mul(major, &stride);
            let element = self.t.add(&start, minor);
            self.t.mul(&element, i64::from(size))
        })
    }

    /// The address of one of the lane's elements. With a constant stride it is known how far it can be.
    fn element_address(&mut self, matrix: &Address, offset: &Opd, stride: Value, size: u32) -> Address {
        let address = self.further(matrix, offset);
        let stride = self.input.function.as_const(stride).filter(|&stride| stride <= MAX_MATRIX_STRIDE);
        let added = match stride {
            Some(stride) => Added::AtMost { bytes: 7 * (stride + 1) * u64::from(size), align: size },
            None => Added::Anything,
        };
        Address { added, ..address }
    }

    /// The address of both of the lane's elements, if they lie side by side, at a multiple of their size, and
    /// need no check: those that do are checked one by one, so that a fault names the right one.
    fn pair_address(
        &mut self,
        matrix: &Address,
        offset: &Opd,
        stride: Value,
        (size, transpose): (u32, bool),
    ) -> Option<Address> {
        let is_even = self.input.function.as_const(stride).is_some_and(|stride| stride % 2 == 0);
        if transpose || !is_even {
            return None;
        }
        let address = self.element_address(matrix, offset, stride, size);
        let Added::AtMost { bytes, .. } = address.added else {
            // The stride is too large to be added up.
            return None;
        };
        let pair = Address { added: Added::AtMost { bytes, align: 2 * size }, ..address };
        let fits = self.known_alignment(&pair) >= 2 * size && self.is_valid(&pair, 2 * size, 1).is_true();
        fits.then_some(pair)
    }

    fn load_matrix(&mut self, inst: Inst, args: &[Value], transpose: bool) {
        let result = self.input.function.inst(inst).result.expect("a load has a result");
        let scalar = self.scalar(result);
        let size = scalar.size();
        let site = self.site(inst, args[0], AccessKind::Load, size);
        let address = self.address(args[0], AccessKind::Load);
        let offsets = self.element_offsets(args[1], transpose, size);
        let mode = Mode { align: size, volatile: false };
        if let Some(pair) = self.pair_address(&address, &offsets[0], args[1], (size, transpose)) {
            let parts = self.checked_load(&pair, Type::Vector(scalar, 2), mode, site);
            return self.define(inst, parts);
        }
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
        let address = self.address(args[0], AccessKind::Store);
        let offsets = self.element_offsets(args[1], transpose, size);
        let mode = Mode { align: size, volatile: false };
        let parts = self.parts(args[2]);
        assert_eq!(parts.len(), 2, "a lane holds two elements of a matrix");
        if let Some(pair) = self.pair_address(&address, &offsets[0], args[1], (size, transpose)) {
            return self.checked_store(&pair, Type::Vector(scalar, 2), &parts, mode, site);
        }
        for (offset, part) in offsets.iter().zip(parts) {
            let address = self.element_address(&address, offset, args[1], size);
            self.checked_store(&address, Type::Scalar(scalar), &[part], mode, site);
        }
    }

    /// `A × B + C`.
    fn multiply(&mut self, inst: Inst, [a, b, c]: [Value; 3]) -> Vec<Opd> {
        if self.has_tensor_product(inst, a, b) {
            return self.tensor_product(inst, [a, b, c]);
        }
        let mut sums: Vec<Opd> = self.parts(c);
        let from = self.scalar(c);
        sums = sums.iter().map(|sum| arith::to_f32(&mut self.t, Width::One, from, sum)).collect();
        let (row, columns) = (self.gathered(a, Gather::Row), self.gathered(b, Gather::Columns));
        assert_eq!((row.len(), columns.len()), (8, 16), "a row has 8 elements and two columns have 16");
        for (left, right) in row.iter().zip(columns.as_chunks::<2>().0) {
            for (sum, right) in sums.iter_mut().zip(right) {
                *sum = self.t.intrinsic("fma", "", &[left, right, sum]);
            }
        }
        let to = self.scalar(self.input.function.inst(inst).result.expect("a product has a result"));
        sums.iter().map(|sum| self.round(to, sum)).collect()
    }

    /// A row or columns of a matrix, as `float`: 8 or 16 elements. What several products of a block need is
    /// fetched once.
    fn gathered(&mut self, matrix: Value, what: Gather) -> Vec<Opd> {
        let block = self.t.current();
        if let Some(known) = self.gathers.get(block, matrix, what) {
            return known;
        }
        let mask = self.active_lanes();
        let (row, column) = self.place_of_lane();
        let words = self.words(matrix);
        let lanes: Vec<Opd> = match what {
            Gather::Row => (0..4).map(|pair| self.lane_of(&row, &Opd::i32(2 * pair))).collect(),
            Gather::Columns => (0..8).map(|k| self.lane_of(&Opd::i32(k), &column)).collect(),
            Gather::Left | Gather::Right => {
                unreachable!("tensor core operands are fetched as words, not gathered")
            }
        };
        let elements: Vec<Opd> =
            lanes.iter().flat_map(|lane| self.read_words(matrix, &words, &mask, lane)).collect();
        self.gathers.set(block, matrix, what, elements.clone());
        elements
    }

    /// The lane that holds the elements (row, column) and (row, column + 1), column being even.
    pub(super) fn lane_of(&mut self, row: &Opd, column: &Opd) -> Opd {
        let mut lane = Opd::i32(0);
        // The bits of row and column that go on, and by how much.
        let bits = match self.facts.matrix_layout {
            MatrixLayout::Metal => &[(row, 4, 2), (row, 3, 1), (column, 4, 1), (column, 2, -1)][..],
            MatrixLayout::Hardware => &[(row, 7, 2), (column, 6, -1)],
        };
        for &(value, mask, shift) in bits {
            let moved = match value {
                Opd::Int(_, value) => {
                    let bits = value & mask;
                    Opd::i32(if shift > 0 { bits << shift } else { bits >> -shift })
                }
                value => {
                    let bits = self.t.and(value, mask);
                    match shift {
                        0.. => self.t.shl(&bits, shift),
                        _ => self.t.lshr(&bits, -shift),
                    }
                }
            };
            lane = self.t.add(&lane, &moved);
        }
        lane
    }

    /// A fragment's elements in as few 32-bit words as hold them.
    pub(super) fn words(&mut self, matrix: Value) -> Vec<Opd> {
        let scalar = self.scalar(matrix);
        let words: Vec<Opd> = self.parts(matrix).iter().map(|part| self.to_word(scalar, part)).collect();
        if scalar.bits() != 16 {
            return words;
        }
        assert_eq!(words.len(), 2, "a lane holds two elements of a matrix");
        let high = self.t.shl(&words[1], 16);
        vec![self.t.or(&words[0], &high)]
    }

    /// The two elements of another lane, as `float`.
    fn read_words(&mut self, matrix: Value, words: &[Opd], mask: &Opd, lane: &Opd) -> Vec<Opd> {
        let scalar = self.scalar(matrix);
        let mut read: Vec<Opd> =
            words.iter().map(|word| self.exchange("idx", Scalar::I32, word, mask, lane)).collect();
        if let [word] = read[..].as_ref() {
            let high = self.t.lshr(word, 16);
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
