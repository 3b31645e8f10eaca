//! Calls of panel micro-kernels: the fragment rows of a SIMD-group, times one or two blocks of columns.
//!
//! A panel micro-kernel has fixed offsets from three pointers. Sums have such offsets, since they are in
//! accumulator tiles. For operands the offsets are a guess from the address computations, tested before the
//! call; where it fails (a fragment partly out of bounds is elsewhere), the operands are packed to these
//! offsets. Operands that are not `float`s in rows are always packed.

use anymetal_ir::{MatrixOp, Op, Scalar, Value};
use anymetal_opt::Feature;

use super::chains::{Chain, Row, Unit};
use super::deferred_mma::Product;
use super::operands::Operand;
use super::panel_microkernel::{Fit, PanelKernel, ROW, Side};
use super::{Rows, SIDE};
use crate::cpu::emit::Emitter;
use crate::cpu::emit::out_of_line::Helper;
use crate::limits::cpu::MAX_PANEL_EXTENT;
use crate::llvm::{I8, I64, IntPredicate, Opd};

/// Bytes of a row of a fragment.
const FRAGMENT_ROW: i64 = 4 * SIDE as i64;
/// Memory for products that are written together: what for, and its bytes.
pub(super) type PanelScratch = (ScratchUse, i64);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum ScratchUse {
    /// Left operands of a panel that are copied.
    Left,
    /// Right ones.
    Right,
    /// Sums that have no tile.
    Sums,
}

impl Emitter<'_, '_> {
    /// How panels fit the processor's registers; `None` if there are no panels.
    pub(in crate::cpu::emit) fn panel_fit(&self) -> Option<Fit> {
        Fit::of(&self.shared.options.features).filter(|_| self.has(Feature::MatrixPanels))
    }

    /// Of which products a row's panel consists on the right: by unit. `None` if it is none.
    pub(super) fn panel_key(
        &self,
        products: &[Product],
        chains: &[Chain],
        row: &Row,
        units: &[Unit],
    ) -> Option<Vec<[Value; 2]>> {
        let rounds = matches!(row.rounding, Scalar::F16 | Scalar::Bf16);
        if rounds || self.panel_fit().is_none() {
            return None;
        }
        let mut key = Vec::new();
        for unit in units {
            if !unit.is_pair() || !unit.rows.step.is_int(ROW) {
                return None;
            }
            for &chain in &unit.chains {
                let operands = chains[chain].products.iter().map(|&p| self.operand_key(products[p].right));
                key.extend(operands);
            }
        }
        Some(key)
    }

    /// Writes rows with the same key.
    pub(super) fn write_panels(
        &mut self,
        products: &[Product],
        chains: &[Chain],
        rows: &[(&Row, &[Unit])],
    ) -> bool {
        let (_, units) = rows.first().expect("there is at least one row with this key");
        let fit = self.panel_fit().expect("only rows that fit a panel have keys");
        let blocks = super::microkernel::blocks_at_once(&self.shared.options.features);
        let mut calls = Vec::new();
        for first in (0..units.len()).step_by(blocks) {
            let last = units.len().min(first + blocks);
            let Some(sums) = sums_of(rows, first..last) else {
                // Sums of one block in several memories: row by row then.
                return false;
            };
            calls.push((first..last, sums));
        }
        let products_of = |chain: usize| &chains[chain].products;
        let left: Vec<Vec<Value>> = rows
            .iter()
            .map(|(_, units)| products_of(units[0].chains[0]).iter().map(|&p| products[p].left).collect())
            .collect();
        let steps = left[0].len();
        assert!(
            left.iter().all(|row| row.len() == steps),
            "rows with one key have the same number of products"
        );
        let (left_start, left) = self.place_left(&left);
        for (range, sums) in calls {
            let right: Vec<Vec<Value>> = units[range.clone()]
                .iter()
                .map(|unit| {
                    let both = |step: usize| unit.chains.iter().map(move |&c| products_of(c)[step]);
                    (0..steps).flat_map(both).map(|p| products[p].right).collect()
                })
                .collect();
            let (right_start, right) = self.place_right(&right);
            let panel = PanelKernel { fit, steps, sums, left: left.clone(), right };
            let name = self.panel_function(panel);
            let sums = &units[range.start].rows.start;
            self.t.call_void(&name, &[sums, &left_start, &right_start]);
        }
        true
    }

    /// The name of the function for a panel.
    fn panel_function(&mut self, panel: PanelKernel) -> String {
        let known = self.shared.matrix_kernels.panels.iter().position(|other| *other == panel);
        let number = known.unwrap_or(self.shared.matrix_kernels.panels.len());
        let name = format!("am.panel.{number}");
        if known.is_none() {
            let (definition, declares) = panel.definition(&name);
            self.shared.matrix_kernels.products.insert(name.clone(), definition);
            self.shared.declares.extend(declares);
            self.shared.matrix_kernels.panels.push(panel);
        }
        name
    }

    /// Left operands by row and step.
    fn place_left(&mut self, values: &[Vec<Value>]) -> (Opd, Side) {
        assert!(values.iter().all(|row| !row.is_empty()), "a sum has products");
        let deeper = |n: usize, step: i64, transpose: bool| {
            n as i64 * if transpose { SIDE as i64 * step } else { FRAGMENT_ROW }
        };
        if let Some(found) = self.use_in_place(ScratchUse::Left, values, deeper) {
            return found;
        }
        let step = FRAGMENT_ROW * values[0].len() as i64;
        let starts: Vec<i64> = (0..values.len()).map(|row| row as i64 * step * SIDE as i64).collect();
        let start = self.scratch_for_products((ScratchUse::Left, step * (values.len() * SIDE) as i64));
        // Rows of two begin at multiples of 64 bytes if there is no odd one.
        let at_once = if values[0].len().is_multiple_of(2) { 2 } else { 1 };
        for (values, &line) in values.iter().zip(&starts) {
            for (n, some) in values.chunks(at_once).enumerate() {
                let at = self.t.offset(&start, line + FRAGMENT_ROW * (n * at_once) as i64);
                let to = Rows { start: at, step: Opd::i64(step) };
                if let [left, right] = *some {
                    self.copy_pair([left, right], &to);
                } else {
                    let rows = self.float_rows(some[0]);
                    self.store_rows(&rows, &to);
                }
            }
        }
        (start, Side { starts, step, transpose: false })
    }

    /// Right operands by block, and by step and half.
    fn place_right(&mut self, values: &[Vec<Value>]) -> (Opd, Side) {
        let deeper =
            |n: usize, step: i64, _| (n / 2) as i64 * SIDE as i64 * step + (n % 2) as i64 * FRAGMENT_ROW;
        let is_upright =
            |value: &Value| self.matrices.operands.get(value).is_some_and(|(operand, _)| !operand.transpose);
        if values.iter().flatten().all(is_upright)
            && let Some(found) = self.use_in_place(ScratchUse::Right, values, deeper)
        {
            return found;
        }
        assert!(values[0].len().is_multiple_of(2), "right operands come in pairs");
        let step = ROW * values.len() as i64;
        let starts: Vec<i64> = (0..values.len()).map(|block| ROW * block as i64).collect();
        let steps = values[0].len() / 2;
        let start = self.scratch_for_products((ScratchUse::Right, step * (steps * SIDE) as i64));
        let mut pairs = Vec::new();
        for (values, &column) in values.iter().zip(&starts) {
            for (n, pair) in values.as_chunks().0.iter().enumerate() {
                let at = self.t.offset(&start, column + step * (n * SIDE) as i64);
                pairs.push((*pair, Rows { start: at, step: Opd::i64(step) }));
            }
        }
        self.copy_pairs(&pairs);
        (start, Side { starts, step, transpose: false })
    }

    /// Reads operands where they are, if they seem to lie evenly: `deeper(n, step, transposed)` bytes after
    /// the first one of their line.
    fn use_in_place(
        &mut self,
        side: ScratchUse,
        values: &[Vec<Value>],
        deeper: impl Fn(usize, i64, bool) -> i64,
    ) -> Option<(Opd, Side)> {
        let first = self.float_operand(values[0][0])?.clone();
        let (step, transpose) = (first.expected?, first.transpose);
        let mut starts = Vec::new();
        let mut places: Vec<(Value, i64)> = Vec::new();
        for line in values {
            let start = self.operand_distance(values[0][0], line[0])?;
            for (n, &value) in line.iter().enumerate() {
                let operand = self.float_operand(value)?;
                let at = self.operand_distance(values[0][0], value)?;
                let fits = operand.expected == Some(step) && operand.transpose == transpose;
                if !fits || at != start + deeper(n, step, transpose) {
                    return None;
                }
                places.push((value, at));
            }
            starts.push(start);
        }
        let low = places.iter().map(|&(_, at)| at).min()?;
        let bytes = places.iter().map(|&(_, at)| at - low + 7 * step + FRAGMENT_ROW).max()?;
        if bytes > MAX_PANEL_EXTENT || !are_apart(&places, step) {
            return None;
        }
        let start = self.check_layout(&first, &places, step, (side, bytes), low);
        Some((start, Side { starts, step, transpose }))
    }

    /// Tests that the operands lie so, and copies them if not.
    fn check_layout(
        &mut self,
        first: &Operand,
        places: &[(Value, i64)],
        step: i64,
        scratch: PanelScratch,
        low: i64,
    ) -> Opd {
        assert!(step > 0 && scratch.1 <= MAX_PANEL_EXTENT, "operands in place are near each other");
        let start = &first.rows.start;
        let mut ok = Opd::bool(true);
        for &(value, at) in places {
            let rows = self.float_operand(value).expect("operands in place are floats").rows.clone();
            let guess = self.t.offset(start, at);
            if rows.start != guess {
                let same = self.t.icmp(IntPredicate::Eq, &rows.start, &guess);
                ok = self.t.and(&ok, &same);
            }
            if !rows.step.is_int(step) {
                let same = self.t.icmp(IntPredicate::Eq, &rows.step, step);
                ok = self.t.and(&ok, &same);
            }
        }
        if ok.is_true() {
            return start.clone();
        }
        let from = self.t.current();
        let (copy, join) = (self.t.block(), self.t.block());
        self.t.branch_likely(&ok, join, copy);
        self.t.label(copy);
        let memory = self.scratch_for_products(scratch);
        let copied = self.t.offset(&memory, -low);
        self.need(Helper::CopyRows);
        for &(value, at) in places {
            let rows = self.float_operand(value).expect("operands in place are floats").rows.clone();
            let to = self.t.offset(&copied, at);
            self.t.call_void("am.rows.copy", &[&to, &Opd::int(I64, step), &rows.start, &rows.step]);
        }
        let copy_from = self.t.current();
        self.t.label(join);
        self.t.phi(&[(start, from), (&copied, copy_from)])
    }

    /// How far a fragment lies behind another, if the program's address computations say so.
    pub(super) fn operand_distance(&self, from: Value, to: Value) -> Option<i64> {
        let pointer = |value: Value| match self.plan.facts.function.def(value) {
            Some(Op::Matrix(MatrixOp::Load { .. }, args)) => args.first().copied(),
            _ => self.plan.fragments.joined.get(&value).map(|(joined, _)| joined.pointer),
        };
        self.distance(pointer(from)?, pointer(to)?)
    }

    /// Memory good until the next products.
    pub(super) fn scratch_for_products(&mut self, scratch: PanelScratch) -> Opd {
        assert!(scratch.1 > 0, "{scratch:?} has a size");
        if let Some(known) = self.matrices.panel_scratch.get(&scratch) {
            return known.clone();
        }
        let memory = self.t.alloca_array(scratch.1 as u64, I8, 64);
        self.matrices.panel_scratch.insert(scratch, memory.clone());
        memory
    }
}

/// Where the sums lie from the first one on, by row and block.
fn sums_of(rows: &[(&Row, &[Unit])], units: std::ops::Range<usize>) -> Option<Vec<Vec<i64>>> {
    assert!(
        rows.iter().all(|(_, of_row)| of_row.len() >= units.end),
        "rows with one key have the same units"
    );
    let (memory, first) = rows[0].1[units.start].place;
    let offset = |unit: &Unit| (unit.place.0 == memory).then_some(unit.place.1 - first);
    rows.iter().map(|(_, of_row)| of_row[units.clone()].iter().map(offset).collect()).collect()
}

/// Whether no two of the fragments overlap: so each can be copied without harm to the others.
fn are_apart(places: &[(Value, i64)], step: i64) -> bool {
    let mut rows: Vec<i64> =
        places.iter().flat_map(|&(_, at)| (0..SIDE as i64).map(move |row| at + row * step)).collect();
    rows.sort_unstable();
    rows.windows(2).all(|pair| pair[1] - pair[0] >= FRAGMENT_ROW)
}
