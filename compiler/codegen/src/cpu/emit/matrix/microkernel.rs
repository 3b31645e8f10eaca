//! Micro-kernel: eight rows of fragments, added to one, two or four neighbouring fragments.
//!
//! For each step of eight it broadcasts elements of a left operand and loads the rows of one or two blocks
//! of right operands. The sums stay in registers over all steps, as many rows at a time as the processor
//! has registers for. Each sum is the chain of multiply-adds that the IR prescribes.

use anymetal_ir::Scalar;

use super::SIDE;
use crate::cpu::emit::arith::{from_f32, to_f32};
use crate::cpu::emit::lane::Width;
use crate::limits::cpu::MAX_DEFERRED_PRODUCTS;
use crate::llvm::{self, Bound, Builder, FLOAT, I64, IntPredicate, Opd, PTR};
use anymetal_simd::target::CpuFeatures;

/// Bytes of a table's entry: the first row and the bytes from row to row, the fourth row and three times
/// as many bytes.
pub(super) const ENTRY: i64 = 32;

/// Steps of depth of which a row's multiply-adds stand together. One by one, each sum's turn comes only once
/// in all rows, and where sums are stored and the next loaded the processor runs dry: measured, 0.72 of the
/// multiply-add peak for sixteen steps of depth, 0.83 with two.
const TOGETHER: usize = 2;

/// An entry. With these four every row is one address computation of the processor away; LLVM does not
/// find that, and would keep eight pointers.
struct Operand {
    starts: [Opd; 2],
    steps: [Opd; 2],
}

impl Operand {
    fn row(&self, t: &mut Builder, row: usize) -> Opd {
        assert!(row < SIDE, "a matrix has no row {row}");
        let [one, three] = &self.steps;
        let (start, bytes) = match row {
            0 => (0, Opd::i64(0)),
            1 | 2 | 4 => (0, t.mul(one, row as i64)),
            3 => (1, Opd::i64(0)),
            6 => (1, three.clone()),
            _ => (1, t.mul(one, row as i64 - 3)),
        };
        t.offset(&self.starts[start], &bytes)
    }
}

/// A version of the function.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Variant {
    /// Blocks of sums side by side: 1 or 2.
    pub(super) blocks: usize,
    /// Columns of a block: 8 or 16.
    pub(super) columns: usize,
    /// Rows of left operands are columns in memory.
    pub(super) transpose: bool,
    /// The sum is rounded to this type after each step.
    pub(super) rounding: Scalar,
}

impl Variant {
    pub(super) fn name(self) -> String {
        let order = if self.transpose { "columns" } else { "rows" };
        let rounding = match self.rounding {
            Scalar::F16 => ".f16",
            Scalar::Bf16 => ".bf16",
            _ => "",
        };
        format!("am.products.{}x{}.{order}{rounding}", self.blocks, self.columns)
    }

    /// Its definition, and what that declares:
    /// `(sums, bytes from row to row of them; left table; one right table per block; steps)`.
    pub(super) fn definition(self, features: &CpuFeatures) -> (String, Vec<String>) {
        assert!((1..=2).contains(&self.blocks), "sums are computed in one or two blocks");
        assert!(self.columns == SIDE || self.columns == 2 * SIDE, "a block is one or two matrices wide");
        let mut t = Builder::new(0);
        let sums: Vec<Opd> = (0..self.blocks).map(|_| t.register(PTR)).collect();
        let (step, left) = (t.register(I64), t.register(PTR));
        let right: Vec<Opd> = (0..self.blocks).map(|_| t.register(PTR)).collect();
        let steps = t.register(I64);
        let mut parameters: Vec<String> = sums.iter().map(|sum| format!("ptr {sum}")).collect();
        parameters.push(format!("i64 {step}, ptr {left}"));
        parameters.extend(right.iter().map(|table| format!("ptr {table}")));
        let header = format!(
            "define internal void @{}({}, i64 {steps}) noinline #0",
            self.name(),
            parameters.join(", ")
        );
        let rows = if features.avx512 || self.columns == SIDE { SIDE } else { SIDE / 2 };
        let first = t.block();
        t.label(first);
        for from in (0..SIDE).step_by(rows) {
            let mut body = Body { variant: self, t: &mut t, rows: from..from + rows };
            body.write(&sums, &step, &left, &right, &steps);
        }
        t.ret_void();
        let declares = t.take_declares().into_iter().collect();
        (t.finish(&header, first), declares)
    }
}

/// Blocks of sums that fit in the registers of the processor.
pub(super) fn blocks_at_once(features: &CpuFeatures) -> usize {
    if features.avx512 { 2 } else { 1 }
}

struct Body<'a> {
    variant: Variant,
    t: &'a mut Builder,
    rows: std::ops::Range<usize>,
}

impl Body<'_> {
    fn ty(&self) -> llvm::Type {
        FLOAT.vector(self.variant.columns)
    }

    /// One pass over all steps for these rows.
    fn write(&mut self, sums: &[Opd], step: &Opd, left: &Opd, right: &[Opd], steps: &Opd) {
        let ty = self.ty();
        assert_eq!(sums.len(), self.variant.blocks, "each block has a sum");
        let mut places = Vec::new();
        for sum in sums {
            for row in self.rows.clone() {
                let bytes = self.t.mul(step, row as i64);
                let place = self.t.offset(sum, &bytes);
                let variable = self.t.alloca(ty, 64);
                let value = self.t.load(ty, &place, 32);
                self.t.store(&value, &variable, 64);
                places.push((place, variable));
            }
        }
        let variables: Vec<Opd> = places.iter().map(|(_, variable)| variable.clone()).collect();
        let counter = self.t.alloca(I64, 8);
        self.t.store(&Opd::int(I64, 0), &counter, 8);
        let (head, done) = (self.t.block(), self.t.block());
        self.t.loop_header(head, Bound::Lanes(MAX_DEFERRED_PRODUCTS as u64));
        let current = self.t.load(I64, &counter, 8);
        let bytes = self.t.mul(&current, ENTRY);
        let left = self.entry(left, &bytes);
        let right: Vec<_> = right.iter().map(|table| self.entry(table, &bytes)).collect();
        self.step(&left, right, &variables);
        self.round(&variables);
        let next = self.t.add(&current, 1);
        self.t.store(&next, &counter, 8);
        let more = self.t.icmp(IntPredicate::ULt, &next, steps);
        self.t.branch_with(&more, head, done, ", !llvm.loop !12");
        self.t.label(done);
        for (place, variable) in &places {
            let value = self.t.load(ty, variable, 64);
            self.t.store(&value, place, 32);
        }
    }

    fn entry(&mut self, table: &Opd, bytes: &Opd) -> Operand {
        let at = self.t.offset(table, bytes);
        let mut field = |ty: llvm::Type, n: i64| {
            let at = self.t.offset(&at, 8 * n);
            self.t.load(ty, &at, 8)
        };
        Operand { starts: [field(PTR, 0), field(PTR, 2)], steps: [field(I64, 1), field(I64, 3)] }
    }

    /// Eight multiply-adds per element, a row's side by side.
    fn step(&mut self, left: &Operand, right: Vec<Operand>, variables: &[Opd]) {
        let ty = self.ty();
        assert_eq!(right.len(), self.variant.blocks, "each block has right operands");
        assert_eq!(variables.len(), self.variant.blocks * self.rows.len(), "each row of a block has a sum");
        let n = self.variant.columns;
        let mut sums: Vec<Opd> = variables.iter().map(|variable| self.t.load(ty, variable, 64)).collect();
        let mut right: Vec<(Opd, Opd)> =
            right.into_iter().map(|Operand { starts: [start, _], steps: [step, _] }| (start, step)).collect();
        let count = self.rows.len();
        for first in (0..SIDE).step_by(TOGETHER) {
            let mut values = Vec::new();
            for _ in 0..TOGETHER {
                for (start, step) in &mut right {
                    values.push(self.t.load(ty, start, 4));
                    *start = self.t.offset(start, &*step);
                }
            }
            for row in self.rows.clone() {
                for k in first..first + TOGETHER {
                    let (line, place) = if self.variant.transpose { (k, row) } else { (row, k) };
                    let at = left.row(self.t, line);
                    let at = self.t.offset(&at, 4 * place as i64);
                    let element = self.t.load(FLOAT, &at, 4);
                    let element = self.t.splat_to(n, &element);
                    let blocks = self.variant.blocks;
                    for (block, values) in values[(k - first) * blocks..][..blocks].iter().enumerate() {
                        let sum = &mut sums[block * count + row - self.rows.start];
                        *sum = self.t.intrinsic("fma", "", &[&element, values, &*sum]);
                    }
                }
            }
            // No instruction, but LLVM would load what the next multiply-adds take, and spill it.
            self.t.fence("syncscope(\"singlethread\") seq_cst");
        }
        for (variable, sum) in variables.iter().zip(sums) {
            self.t.store(&sum, variable, 64);
        }
    }

    /// Rounds the sums to their type.
    fn round(&mut self, variables: &[Opd]) {
        let (ty, width) = (self.ty(), Width::Few(self.variant.columns));
        if !matches!(self.variant.rounding, Scalar::F16 | Scalar::Bf16) {
            return;
        }
        for variable in variables {
            let sum = self.t.load(ty, variable, 64);
            let rounded = from_f32(self.t, width, self.variant.rounding, &sum);
            let sum = to_f32(self.t, width, self.variant.rounding, &rounded);
            self.t.store(&sum, variable, 64);
        }
    }
}
