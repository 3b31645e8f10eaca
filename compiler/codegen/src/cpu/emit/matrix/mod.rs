//! 8×8 matrices distributed over a SIMD-group.
//!
//! In the IR a fragment is a vector of two per lane. Products use rows instead: the operands are in memory
//! as eight rows, and one function multiplies blocks of fragments. The folder: `uses` (analysis before
//! emission), `accumulator_tiles` (sums kept in rows), `operands` (where the other fragments are read),
//! `deferred_mma` (products collected until a result is used), `chains` (which are added up, and where),
//! `microkernel` (multiplies some rows), `panel_microkernel` (all rows of a SIMD-group at once),
//! `panel_calls` (where that is called), `pointer_distance` (constant distances between fragments),
//! `transfer` (loads and stores), `element_stores` (stores of single elements).
//!
//! Invariant: code outside this folder finds a fragment's lanes defined like any other value's.

mod accumulator_tiles;
mod chains;
mod deferred_mma;
mod element_stores;
mod microkernel;
mod operands;
mod panel_calls;
mod panel_microkernel;
mod pointer_distance;
mod transfer;

use std::collections::BTreeMap;

use anymetal_ir::{Inst, MatrixOp, Op, Value};
use anymetal_opt::Feature;

use super::lane::Lane;
use super::{Emitter, Mask};
use crate::llvm::{self, LANES, Opd};
use anymetal_simd::fragments::{Fragments, SIDE, Slot, place_of};
use deferred_mma::Product;
use operands::Operand;
pub(super) use panel_microkernel::PanelKernel;

/// Eight rows of eight in memory: the first, and the bytes from row to row.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Rows {
    start: Opd,
    step: Opd,
}

/// What is known of matrices at the current position.
#[derive(Debug, Default)]
pub(super) struct Matrices {
    /// The memory of tiles.
    slots: Vec<Slot>,
    /// Products whose code is still to be written.
    deferred: Vec<Product>,
    /// By tile: the product whose result it is to get.
    assigned: BTreeMap<usize, usize>,
    /// Values that are the contents of a tile and nothing else.
    lazy: BTreeMap<Value, usize>,
    /// Fragments that are to be read where they are, and how often yet.
    operands: BTreeMap<Value, (Operand, usize)>,
    /// Scalar loads left out because the fragment that they are part of is such a one.
    omitted: std::collections::BTreeSet<Value>,
    /// Results as `float`s in rows, good until the next products are written.
    results: BTreeMap<Value, Rows>,
    /// Memory for fragments and pairs of them, by what of it is in use now.
    scratch: Vec<Opd>,
    scratch_used: usize,
    /// Memory for the operands of panels.
    panel_scratch: BTreeMap<panel_calls::PanelScratch, Opd>,
    /// The memory of all tiles that are not in the frame.
    tiles_on_stack: Option<Opd>,
}

impl Matrices {
    pub(super) fn new(fragments: &Fragments) -> Self {
        Self { slots: fragments.slots.clone(), ..Self::default() }
    }
}

/// For each element of a fragment: where it is among 64 in rows.
fn dense_index(lane: usize, element: usize, transpose: bool) -> usize {
    assert!(element < 2, "a lane holds two elements of a matrix");
    let (row, column) = place_of(lane);
    let column = column + element;
    if transpose { column * SIDE + row } else { row * SIDE + column }
}

impl Emitter<'_, '_> {
    pub(super) fn matrix(&mut self, inst: Inst, op: MatrixOp, args: &[Value], result: Option<Value>) {
        match op {
            MatrixOp::MultiplyAccumulate => {
                self.multiply(args, result.expect("a product has a result"));
            }
            MatrixOp::Load { transpose } => {
                let result = result.expect("a load has a result");
                self.load_matrix(inst, args, result, transpose);
            }
            MatrixOp::Store { transpose } => self.store_matrix(inst, args, transpose),
        }
    }

    /// Before an instruction that is neither a construct nor a jump: writes the products that it needs, or
    /// that read what it overwrites.
    pub(super) fn flush_matrices(&mut self, inst: Inst) {
        if self.matrices.deferred.is_empty() && self.matrices.operands.is_empty() {
            return;
        }
        let function = self.plan.facts.function;
        let op = &function.inst(inst).op;
        match op {
            Op::Matrix(MatrixOp::MultiplyAccumulate | MatrixOp::Load { .. }, _) => {}
            Op::Store { ptr, value, .. } => {
                let size = i64::from(function.ty(*value).size());
                match self.plan.facts.storage.vars_at(*ptr, size) {
                    Some(vars) if self.tile_of(&vars).is_some() => {}
                    Some(_) if !self.is_deferred(*value) => {}
                    Some(_) => self.write_products(),
                    None => self.flush_all_matrices(),
                }
            }
            Op::Load { .. } | Op::LocalStart(_) | Op::Barrier(..) => {}
            op if op.may_write_memory() => self.flush_all_matrices(),
            op => {
                let mut needed = false;
                op.for_each_operand(|operand| needed |= self.is_deferred(operand));
                if needed {
                    self.write_products();
                }
            }
        }
    }

    /// Where control flow goes elsewhere or memory changes: nothing waits any longer.
    pub(super) fn flush_all_matrices(&mut self) {
        self.write_products();
        self.matrices.results.clear();
        for (value, (operand, _)) in std::mem::take(&mut self.matrices.operands) {
            let lanes = self.lanes_of_operand(value, &operand);
            self.define(value, lanes);
        }
    }

    /// Whether the value is the result of a deferred product.
    pub(in crate::cpu::emit) fn is_deferred(&self, value: Value) -> bool {
        self.matrices.deferred.iter().any(|product| product.result == value)
    }

    // --- between lanes and rows

    /// The 64 elements in rows, or in columns.
    fn dense(&mut self, fragment: Value, transpose: bool) -> Opd {
        let parts = [self.vector(fragment, 0), self.vector(fragment, 1)];
        self.dense_parts(&parts, transpose)
    }

    fn dense_parts(&mut self, parts: &[Opd; 2], transpose: bool) -> Opd {
        let mut picks = vec![None; SIDE * SIDE];
        for lane in 0..LANES {
            for n in 0..2 {
                picks[dense_index(lane, n, transpose)] = Some(n * LANES + lane);
            }
        }
        debug_assert!(picks.iter().all(Option::is_some), "the lanes hold each element of a matrix");
        self.t.shuffle(&parts[0], &parts[1], &picks)
    }

    /// The lanes of 64 elements in rows, or in columns.
    fn fragment(&mut self, dense: &Opd, transpose: bool) -> [Opd; 2] {
        [0, 1].map(|n| {
            let picks: Vec<_> = (0..LANES).map(|lane| Some(dense_index(lane, n, transpose))).collect();
            self.t.pick(dense, &picks)
        })
    }

    fn varying(parts: [Opd; 2]) -> Vec<Lane> {
        parts.into_iter().map(Lane::Varying).collect()
    }

    /// One row of 64 elements.
    fn row_of(&mut self, dense: &Opd, row: usize) -> Opd {
        let own: Vec<_> = (row * SIDE..(row + 1) * SIDE).map(Some).collect();
        self.t.pick(dense, &own)
    }

    /// The address of a row.
    fn row_at(&mut self, rows: &Rows, row: usize) -> Opd {
        assert!(row < SIDE, "a matrix has no row {row}");
        let bytes = self.t.mul(&rows.step, row as i64);
        self.t.offset(&rows.start, &bytes)
    }

    fn load_rows(&mut self, element: llvm::Type, rows: &Rows) -> Vec<Opd> {
        (0..SIDE)
            .map(|row| {
                let at = self.row_at(rows, row);
                self.t.load(element.vector(8), &at, 1)
            })
            .collect()
    }

    fn load_dense(&mut self, element: llvm::Type, rows: &Rows) -> Opd {
        let rows = self.load_rows(element, rows);
        self.t.concat(rows)
    }

    fn store_rows(&mut self, values: &[Opd], rows: &Rows) {
        assert_eq!(values.len(), SIDE, "a matrix has eight rows");
        for (row, value) in values.iter().enumerate() {
            let at = self.row_at(rows, row);
            self.t.store(value, &at, 1);
        }
    }

    fn store_dense(&mut self, dense: &Opd, rows: &Rows) {
        let values: Vec<_> = (0..SIDE).map(|row| self.row_of(dense, row)).collect();
        self.store_rows(&values, rows);
    }

    /// Whether products may wait: all lanes take part.
    fn gathers_products(&self) -> bool {
        self.position.mask == Mask::All && self.has(Feature::DeferredProducts)
    }
}
