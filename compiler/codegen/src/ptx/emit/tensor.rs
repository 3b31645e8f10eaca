//! Products of matrices of `half` and `bfloat` on the tensor cores.
//!
//! The smallest product with sums in `float` has 16 rows in A; its upper half is used, the lower one is zero.
//! Products of two numbers of 11 or 8 bits are exact in `float`, and the sums are `float`'s, which is what
//! Metal's have. (PTX: `mma.sync.aligned.m16n8k8`.)

use anymetal_ir::{FpMode, Inst, Scalar, Value};

use super::super::matrix_layout::MatrixLayout;
use super::Emitter;
use super::matrix::Gather;
use super::value::is_16_bit_float;
use crate::elementwise::{Width, arith};
use crate::llvm::{FLOAT, I32, Opd};

/// The first architecture with all of it.
const FIRST: u32 = 80;

impl Emitter<'_> {
    /// Whether a product of such elements is for the tensor cores. They sum in an order of their own, and not
    /// as if rounded after each addition, which safe math mode asks for.
    pub(super) fn has_tensor_product(&self, inst: Inst, a: Value, b: Value) -> bool {
        if self.input.function.inst(inst).fp == FpMode::Safe {
            return false;
        }
        let scalar = self.scalar(a);
        let is_exact = matches!(scalar, Scalar::F16 | Scalar::Bf16) && self.scalar(b) == scalar;
        is_exact && self.input.options.sm >= FIRST
    }

    /// `A × B + C`.
    pub(super) fn tensor_product(&mut self, inst: Inst, [a, b, c]: [Value; 3]) -> Vec<Opd> {
        let (of_factors, of_sums) = (self.scalar(a), self.scalar(c));
        let (left, right) = (self.factor(a, Gather::Left), self.factor(b, Gather::Right));
        let mut sums = self.parts(c);
        sums = sums.iter().map(|sum| arith::to_f32(&mut self.t, Width::One, of_sums, sum)).collect();
        if self.facts.matrix_layout == MatrixLayout::Metal {
            let from = self.lane_of_hardware();
            sums = sums.iter().map(|sum| self.from_lane(Scalar::F32, sum, &from)).collect();
        }
        let mut products = self.multiply_in_hardware(of_factors, &left, &right, &sums);
        if self.facts.matrix_layout == MatrixLayout::Metal {
            let (row, column) = self.place_of_lane();
            let first = self.t.shl(&row, 2);
            let pair = self.t.lshr(&column, 1);
            let from = self.t.or(&first, &pair);
            products = products.iter().map(|sum| self.from_lane(Scalar::F32, sum, &from)).collect();
        }
        let to = self.scalar(self.input.function.inst(inst).result.expect("a product has a result"));
        products.iter().map(|sum| self.round(to, sum)).collect()
    }

    /// The lane that holds in Metal's layout what this one has to hold.
    fn lane_of_hardware(&mut self) -> Opd {
        let (row, column) = self.place_in_hardware();
        self.lane_of(&row, &column)
    }

    /// The word of A or B that this lane has to have. What several products of a block need is made once.
    fn factor(&mut self, matrix: Value, what: Gather) -> Opd {
        assert!(
            matches!(what, Gather::Left | Gather::Right),
            "a factor is on the left or right, not {what:?}"
        );
        let block = self.t.current();
        if let Some(mut known) = self.gathers.get(block, matrix, what) {
            return known.swap_remove(0);
        }
        let mut word = self.words(matrix).swap_remove(0);
        if self.facts.matrix_layout == MatrixLayout::Metal {
            let from = self.lane_of_hardware();
            word = self.from_lane(Scalar::I32, &word, &from);
        }
        if what == Gather::Right {
            let transposes = ("movmatrix.sync.aligned.m8n8.trans.b16 $0, $1;", "=r,r");
            word = self.t.asm(I32, transposes, &[&word], " #2");
        }
        self.gathers.set(block, matrix, what, vec![word.clone()]);
        word
    }

    /// What another lane has; all 32 take part.
    fn from_lane(&mut self, scalar: Scalar, value: &Opd, lane: &Opd) -> Opd {
        self.exchange("idx", scalar, value, &Opd::i32(-1), lane)
    }

    /// `b` is the word of the transposed B.
    fn multiply_in_hardware(&mut self, scalar: Scalar, a: &Opd, b: &Opd, sums: &[Opd]) -> Vec<Opd> {
        assert!(is_16_bit_float(scalar), "tensor cores do not multiply {scalar:?}");
        assert_eq!(sums.len(), 2, "a lane holds two elements of a matrix");
        let element = if scalar == Scalar::Bf16 { "bf16" } else { "f16" };
        let template = format!(
            "mma.sync.aligned.m16n8k8.row.col.f32.{element}.{element}.f32 \
             {{$0, $1, $2, $3}}, {{$4, $5}}, {{$6}}, {{$7, $8, $9, $10}};"
        );
        let zero = Opd::zero(FLOAT);
        let args = [a, &Opd::i32(0), b, &sums[0], &sums[1], &zero, &zero];
        self.t.asm_of_four(FLOAT, (&template, "=f,=f,=f,=f,r,r,r,f,f,f,f"), &args, " #2", 2)
    }
}
