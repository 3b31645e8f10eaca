//! Panel micro-kernel: all fragment rows of a SIMD-group, added to one or two blocks of 16 columns.
//!
//! All offsets from three pointers are compile-time constants, so no step computes an address. The sums of
//! some rows at a time stay in registers over all steps of depth. Each sum is the chain of multiply-adds
//! that the IR prescribes.
//!
//! Loads and stores of sums must not delay the multiply-adds: measured, moving sixteen at once costs as
//! much as forty cycles of multiply-adds. So a row's multiply-adds of four steps are adjacent, and after
//! the last ones the row's sums are stored and the next block's loaded.

use super::SIDE;
use crate::llvm::{self, Bound, Builder, FLOAT, I64, IntPredicate, Opd, PTR};
use anymetal_simd::target::CpuFeatures;

/// Bytes of a row of 16 columns.
pub(super) const ROW: i64 = 64;
/// Columns of a block.
const COLUMNS: usize = 16;

/// What the processor has registers for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::cpu::emit) struct Fit {
    /// Steps of depth that are multiplied together.
    together: usize,
    /// Rows of 16 columns in all registers.
    rows: usize,
    /// Of these, for elements of the left operand.
    spare: usize,
}

impl Fit {
    /// `None`: panels are not worth it.
    pub(in crate::cpu::emit) fn of(features: &CpuFeatures) -> Option<Self> {
        match features {
            CpuFeatures { avx512: true, .. } => Some(Self { together: 4, rows: 32, spare: 2 }),
            // Two registers to a row.
            CpuFeatures { avx2: true, fma: true, .. } => Some(Self { together: 2, rows: 8, spare: 1 }),
            _ => None,
        }
    }

    /// How many times steps of depth, eight for each product, are multiplied together.
    pub(super) fn groups(self, products: usize) -> usize {
        assert!((products * SIDE).is_multiple_of(self.together), "steps of depth divide evenly");
        products * SIDE / self.together
    }
}

/// Where the operands lie, in bytes from the first of their kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::cpu::emit) struct PanelKernel {
    pub(super) fit: Fit,
    /// Products for each sum: eight steps of depth each.
    pub(super) steps: usize,
    /// Sums by row of fragments and block; `ROW` from row to row.
    pub(super) sums: Vec<Vec<i64>>,
    pub(super) left: Side,
    pub(super) right: Side,
}

/// One operand of all products.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Side {
    /// The left operand by row of fragments, the right one by block of columns.
    pub(super) starts: Vec<i64>,
    /// From row to row; or column to column, transposed.
    pub(super) step: i64,
    /// Rows in memory are columns. Only a left operand can be so.
    pub(super) transpose: bool,
}

impl Side {
    /// From one step of depth to the next, on the left.
    fn deeper(&self) -> i64 {
        if self.transpose { self.step } else { 4 }
    }

    /// From one row to the next, on the left.
    fn down(&self) -> i64 {
        if self.transpose { 4 } else { self.step }
    }
}

impl PanelKernel {
    /// The definition of the function, and what it declares: `(sums, left, right)`.
    pub(super) fn definition(&self, name: &str) -> (String, Vec<String>) {
        let mut t = Builder::new(0);
        let [sums, left, right] = [(); 3].map(|()| t.register(PTR));
        let header = format!("define internal void @{name}(ptr {sums}, ptr {left}, ptr {right}) noinline #0");
        let first = t.block();
        t.label(first);
        assert_eq!(self.sums.len(), self.left.starts.len(), "each row of fragments has sums");
        assert!(self.sums.iter().all(|row| row.len() == self.blocks()), "each block of a row has a sum");
        assert!(!self.right.transpose, "only left operands are transposed");
        let heights = self.heights();
        let room = heights.iter().copied().max().expect("a panel has rows") * self.blocks();
        let variables = (0..room).map(|_| t.alloca(VECTOR, 64)).collect();
        let mut writer = Writer { panel: self, t: &mut t, pointers: [sums, left, right], variables };
        writer.write(&heights);
        t.ret_void();
        let declares = t.take_declares().into_iter().collect();
        (t.finish(&header, first), declares)
    }

    fn blocks(&self) -> usize {
        self.right.starts.len()
    }

    /// How many rows are in registers at a time: as many as there are registers for, about as many each time.
    fn heights(&self) -> Vec<usize> {
        let rows = self.left.starts.len() * SIDE;
        let blocks = self.blocks();
        // Besides the sums: the rows of the right operand, and an element of the left one or two.
        assert!(
            blocks > 0 && self.fit.rows > self.fit.together * blocks + self.fit.spare,
            "{blocks} blocks leave no registers for sums"
        );
        let max = (self.fit.rows - self.fit.together * blocks - self.fit.spare) / blocks;
        let passes = rows.div_ceil(max);
        let heights: Vec<usize> = (0..passes)
            .map(|pass| (rows * (pass + 1)).div_ceil(passes) - (rows * pass).div_ceil(passes))
            .collect();
        assert_eq!(heights.iter().sum::<usize>(), rows, "the passes cover all rows");
        assert!(
            heights.iter().all(|&height| (1..=max).contains(&height)),
            "a pass has {heights:?} rows of {max}"
        );
        heights
    }
}

const VECTOR: llvm::Type = llvm::Type::Vector(16, llvm::Element::Float);

struct Writer<'a> {
    panel: &'a PanelKernel,
    t: &'a mut Builder,
    /// The sums, the left and the right operand.
    pointers: [Opd; 3],
    /// The sums in registers, by row and block.
    variables: Vec<Opd>,
}

/// Rows that are in registers at the same time.
#[derive(Clone, Copy)]
struct Pass {
    from: usize,
    rows: usize,
}

impl Writer<'_> {
    fn write(&mut self, heights: &[usize]) {
        let mut passes = Vec::new();
        let mut from = 0;
        for &rows in heights {
            passes.push(Pass { from, rows });
            from += rows;
        }
        for row in 0..passes[0].rows {
            self.load_sums(passes[0], row);
        }
        for (number, &pass) in passes.iter().enumerate() {
            self.write_pass(pass, passes.get(number + 1).copied());
        }
    }

    /// One pass over all steps: a loop, and the last steps with the sums' change.
    fn write_pass(&mut self, pass: Pass, next: Option<Pass>) {
        let groups = self.panel.fit.groups(self.panel.steps) as i64;
        // The last group is written apart, after a loop that runs at least once.
        assert!(groups >= 2, "a panel has at least two groups of steps");
        let counter = self.t.alloca(I64, 8);
        self.t.store(&Opd::int(I64, 0), &counter, 8);
        let (head, done) = (self.t.block(), self.t.block());
        self.t.loop_header(head, Bound::Lanes(groups as u64));
        let group = self.t.load(I64, &counter, 8);
        self.write_group(pass, &group, None);
        let more = self.t.add(&group, 1);
        self.t.store(&more, &counter, 8);
        let again = self.t.icmp(IntPredicate::ULt, &more, groups - 1);
        self.t.branch_with(&again, head, done, ", !llvm.loop !12");
        self.t.label(done);
        self.write_group(pass, &Opd::i64(groups - 1), Some(next));
    }

    /// Some steps of depth for all rows of the pass. `change`: stores the sums, and loads those of the next
    /// pass.
    fn write_group(&mut self, pass: Pass, group: &Opd, change: Option<Option<Pass>>) {
        let (left, right) = (&self.panel.left, &self.panel.right);
        let together = self.panel.fit.together as i64;
        let bytes = self.t.mul(group, together * left.deeper());
        let left_start = self.t.offset(&self.pointers[1], &bytes);
        let bytes = self.t.mul(group, together * right.step);
        let right_start = self.t.offset(&self.pointers[2], &bytes);
        let mut values = Vec::new();
        for k in 0..together {
            for start in &right.starts {
                let at = self.t.offset(&right_start, start + k * right.step);
                values.push(self.t.load(VECTOR, &at, 4));
            }
        }
        self.keep_order();
        for row in 0..pass.rows {
            let line = pass.from + row;
            let start = left.starts[line / SIDE] + left.down() * (line % SIDE) as i64;
            for k in 0..self.panel.fit.together {
                let at = self.t.offset(&left_start, start + left.deeper() * k as i64);
                let element = self.t.load(FLOAT, &at, 4);
                let element = self.t.splat_to(COLUMNS, &element);
                self.add_products(row, &element, &values[k * self.panel.blocks()..]);
                self.keep_order();
            }
            if let Some(next) = change {
                self.store_sums(pass, row);
                if let Some(next) = next.filter(|next| row < next.rows) {
                    self.load_sums(next, row);
                }
                self.keep_order();
            }
        }
        // The next pass may have more rows.
        if let Some(Some(next)) = change {
            for row in pass.rows..next.rows {
                self.load_sums(next, row);
            }
        }
    }

    fn add_products(&mut self, row: usize, element: &Opd, values: &[Opd]) {
        assert!(values.len() >= self.panel.blocks(), "each block has right operands");
        for block in 0..self.panel.blocks() {
            let variable = self.variable(row, block);
            let sum = self.t.load(VECTOR, &variable, 64);
            let sum = self.t.intrinsic("fma", "", &[element, &values[block], &sum]);
            self.t.store(&sum, &variable, 64);
        }
    }

    fn variable(&self, row: usize, block: usize) -> Opd {
        assert!(block < self.panel.blocks(), "a panel has no block {block}");
        self.variables[row * self.panel.blocks() + block].clone()
    }

    fn sum(&mut self, pass: Pass, row: usize, block: usize) -> Opd {
        let line = pass.from + row;
        let bytes = self.panel.sums[line / SIDE][block] + ROW * (line % SIDE) as i64;
        self.t.offset(&self.pointers[0], bytes)
    }

    fn load_sums(&mut self, pass: Pass, row: usize) {
        for block in 0..self.panel.blocks() {
            let at = self.sum(pass, row, block);
            let sum = self.t.load(VECTOR, &at, 32);
            let variable = self.variable(row, block);
            self.t.store(&sum, &variable, 64);
        }
    }

    fn store_sums(&mut self, pass: Pass, row: usize) {
        for block in 0..self.panel.blocks() {
            let variable = self.variable(row, block);
            let sum = self.t.load(VECTOR, &variable, 64);
            let at = self.sum(pass, row, block);
            self.t.store(&sum, &at, 32);
        }
    }

    /// No instruction, but LLVM would load what later multiply-adds take, and spill it.
    fn keep_order(&mut self) {
        self.t.fence("syncscope(\"singlethread\") seq_cst");
    }
}
