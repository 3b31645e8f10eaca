//! Reassociates a separable 2-D filter into sums over columns, where reassociation is allowed.
//!
//! A filter sums `weights[dy] * weights[dx] * source[y + dy][x + dx]` over all taps, row by row. Where the
//! columns' weights are multiples of one column's, as in every separable filter, the result is the sum of
//! `factor[dx] * Σ weights[dy] * source[y + dy][x + dx]`. For one thread that is as much work, but one
//! thread's left column is its neighbour's middle column. A code generator that vectorises over threads finds
//! that column sums are equal to other lanes' sums shifted by a lane, and computes each once.
//!
//! Runs for code generators, before `split_accumulators`. In fast mode weights may change by one rounding, as
//! if the program had computed them in another order; in relaxed mode they must be exact multiples.

mod addends;
mod rewrite;

use std::collections::{BTreeMap, BTreeSet};

use self::addends::{Grid, Term, WeightedSum, rows_of};
use anymetal_analysis::use_counts;
use anymetal_ir::{Block, FpMode, Function, Inst, Value};

/// Minimum number of elements in a group of columns.
const MIN_ELEMENTS: usize = 6;
/// Maximum of a column's factor; the minimum is its reciprocal.
const MAX_FACTOR: f64 = 65536.0;

/// ColumnGroup whose weights are multiples of each other.
#[derive(Debug)]
struct ColumnGroup {
    /// The first column's weights, in order of rows.
    weights: Vec<f32>,
    /// Each column's factor, and its elements in order of rows.
    columns: Vec<(f32, Vec<Value>)>,
}

/// Reassociates the filters of one function; returns whether anything changed.
pub fn separable_filter(function: &mut Function) -> bool {
    let uses = use_counts(function);
    let mut changed = false;
    for block in 0..function.blocks.len() {
        changed |= rewrite_block(function, &uses, Block(block as u32));
    }
    changed
}

/// Rewrites the sums of one block; returns whether anything changed.
fn rewrite_block(function: &mut Function, uses: &[u32], block: Block) -> bool {
    let mut insts = function.block(block).to_vec();
    let here: BTreeSet<Inst> = insts.iter().copied().collect();
    let (mut inside, mut dead) = (BTreeSet::new(), BTreeSet::new());
    // Backwards: a sum's last addition is its root.
    for at in (0..insts.len()).rev() {
        let root = insts[at];
        if inside.contains(&root) || function.inst(root).fp == FpMode::Safe {
            continue;
        }
        let Some(sum) = WeightedSum::of(function, uses, &here, root) else { continue };
        inside.extend(sum.inside.iter().copied());
        let tolerance = if function.inst(root).fp == FpMode::Fast { f32::EPSILON } else { 0.0 };
        if let Some((groups, rest)) = column_groups(function, &sum, tolerance) {
            dead.extend(sum.inside);
            insts.splice(at..at, rewrite::replace(function, root, &groups, &rest));
        }
    }
    insts.retain(|inst| !dead.contains(inst));
    function.blocks[block.index()].insts = insts;
    !dead.is_empty()
}

/// The groups of proportional columns of a sum, and its other terms; `None` if there are no groups.
fn column_groups(
    function: &Function,
    sum: &WeightedSum,
    tolerance: f32,
) -> Option<(Vec<ColumnGroup>, Vec<Term>)> {
    let grid = rows_of(function, &sum.terms);
    let groups = proportional_columns(&grid, tolerance);
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

/// Groups columns whose weights are multiples of each other.
fn proportional_columns(grid: &Grid, tolerance: f32) -> Vec<ColumnGroup> {
    let mut columns: BTreeMap<i64, BTreeMap<usize, Term>> = BTreeMap::new();
    for (row, elements) in grid.iter().enumerate() {
        for (&column, &term) in elements {
            columns.entry(column).or_default().insert(row, term);
        }
    }
    let mut remaining: Vec<_> = columns.into_values().filter(|column| column.len() > 1).collect();
    let mut groups = Vec::new();
    while let Some(first) = remaining.first().cloned() {
        let factors: Vec<_> = remaining.iter().map(|column| factor(&first, column, tolerance)).collect();
        let mut factors = factors.iter();
        let mut members = Vec::new();
        remaining.retain(|column| {
            let found = factors.next().copied().flatten();
            members.extend(found.map(|factor| (factor, column.values().map(|term| term.value).collect())));
            found.is_none()
        });
        if members.len() > 1 && members.len() * first.len() >= MIN_ELEMENTS {
            groups.push(ColumnGroup {
                weights: first.values().map(|term| term.weight).collect(),
                columns: members,
            });
        }
    }
    groups
}

/// The factor from the first column's weights to the other one's, within a relative tolerance.
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
