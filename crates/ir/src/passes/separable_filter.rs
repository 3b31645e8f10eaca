//! Adds up weighed neighbours column by column, where the order of additions is free.
//!
//! A filter adds `weights[dy] * weights[dx] * source[y + dy][x + dx]` for all distances, row by row. Where the weights
//! of several columns are multiples of one column's, as in every filter that is a product of one along `y` and one
//! along `x`, the same sum is each column's own sum `Σ weights[dy] * source[y + dy]`, times a number. For one thread
//! that is no less work. But what is one thread's left column is its neighbour's middle one, so threads side by
//! side need each column's sum once: code generators that know which threads those are look for the same computation
//! on elements further along.
//!
//! For code generators, before sums are taken apart. Weights may change by a rounding in fast mode, as if the program had
//! computed them in another order; in relaxed mode they are multiples exactly.

mod addends;
mod rewrite;

use std::collections::{BTreeMap, BTreeSet};

use self::addends::{Grid, Sum, Term, rows_of};
use crate::analysis::use_counts;
use crate::op::FpMode;
use crate::{Block, Function, Inst, Value};

/// Fewer elements in columns that belong together are not worth it.
const LEAST: usize = 6;
/// A column's sum is multiplied by no more than this, and no less than the reciprocal.
const MAX_FACTOR: f64 = 65536.0;

/// Columns that are multiples of each other.
#[derive(Debug)]
struct Columns {
    /// Of each row, in order: the first column's weights.
    weights: Vec<f32>,
    /// Each column's factor, and its elements in order of rows.
    columns: Vec<(f32, Vec<Value>)>,
}

/// Reorders the sums of one function; returns whether there were any.
pub fn separable_filter(function: &mut Function) -> bool {
    let uses = use_counts(function);
    let mut changed = false;
    for block in 0..function.blocks.len() {
        changed |= in_block(function, &uses, Block(block as u32));
    }
    changed
}

fn in_block(function: &mut Function, uses: &[u32], block: Block) -> bool {
    let mut insts = function.block(block).to_vec();
    let here: BTreeSet<Inst> = insts.iter().copied().collect();
    let (mut inside, mut dead) = (BTreeSet::new(), BTreeSet::new());
    // A sum's last addition comes last.
    for at in (0..insts.len()).rev() {
        let root = insts[at];
        if inside.contains(&root) || function.inst(root).fp == FpMode::Safe {
            continue;
        }
        let Some(sum) = Sum::of(function, uses, &here, root) else { continue };
        inside.extend(sum.inside.iter().copied());
        let tolerance = if function.inst(root).fp == FpMode::Fast { f32::EPSILON } else { 0.0 };
        if let Some((groups, rest)) = together(function, &sum, tolerance) {
            dead.extend(sum.inside);
            insts.splice(at..at, rewrite::replace(function, root, &groups, &rest));
        }
    }
    insts.retain(|inst| !dead.contains(inst));
    function.blocks[block.index()].insts = insts;
    !dead.is_empty()
}

/// The columns of a sum that belong together, and its other terms; `None` if no columns do.
fn together(function: &Function, sum: &Sum, tolerance: f32) -> Option<(Vec<Columns>, Vec<Term>)> {
    let grid = rows_of(function, &sum.terms);
    let groups = groups_of(&grid, tolerance);
    if groups.is_empty() {
        return None;
    }
    let taken: BTreeSet<Value> = groups
        .iter()
        .flat_map(|group| group.columns.iter().flat_map(|(_, values)| values))
        .copied()
        .collect();
    let rest = sum.terms.iter().filter(|term| !taken.contains(&term.value)).copied().collect();
    Some((groups, rest))
}

fn groups_of(grid: &Grid, tolerance: f32) -> Vec<Columns> {
    let mut columns: BTreeMap<i64, BTreeMap<usize, Term>> = BTreeMap::new();
    for (row, elements) in grid.iter().enumerate() {
        for (&column, &term) in elements {
            columns.entry(column).or_default().insert(row, term);
        }
    }
    let mut open: Vec<_> = columns.into_values().filter(|column| column.len() > 1).collect();
    let mut groups = Vec::new();
    while let Some(first) = open.first().cloned() {
        let factors: Vec<_> = open.iter().map(|column| factor(&first, column, tolerance)).collect();
        let mut factors = factors.iter();
        let mut members = Vec::new();
        open.retain(|column| {
            let found = factors.next().copied().flatten();
            members.extend(found.map(|factor| (factor, column.values().map(|term| term.value).collect())));
            found.is_none()
        });
        if members.len() > 1 && members.len() * first.len() >= LEAST {
            groups.push(Columns {
                weights: first.values().map(|term| term.weight).collect(),
                columns: members,
            });
        }
    }
    groups
}

/// What the first column's weights are to be multiplied by to be the other one's, to a relative tolerance.
fn factor(first: &BTreeMap<usize, Term>, column: &BTreeMap<usize, Term>, tolerance: f32) -> Option<f32> {
    if !first.keys().eq(column.keys()) {
        return None;
    }
    let weights =
        || first.values().zip(column.values()).map(|(a, b)| (f64::from(a.weight), f64::from(b.weight)));
    let (most, its) = weights().max_by(|a, b| a.0.abs().total_cmp(&b.0.abs()))?;
    let factor = (its / most) as f32;
    let is_sane = f64::from(factor).abs() <= MAX_FACTOR && f64::from(factor).abs() >= 1.0 / MAX_FACTOR;
    let fits = |(a, b): (f64, f64)| (a * f64::from(factor) - b).abs() <= b.abs() * f64::from(tolerance);
    (is_sane && weights().all(fits)).then_some(factor)
}
