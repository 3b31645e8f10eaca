//! Chains of products, and where they are computed.
//!
//! Products added one after the other form a chain over several steps. Chains with the same left operands
//! form a row and share them; chains of a row with neighbouring sums form a unit.
//!
//! Invariant: a product whose result has any use but the next product of its chain ends the chain.

use std::collections::BTreeMap;

use anymetal_ir::{Scalar, Value};

use super::deferred_mma::{Product, Sum};
use super::panel_calls::ScratchUse;
use super::{Rows, SIDE};
use crate::cpu::emit::Emitter;
use crate::llvm::Opd;

/// Products that are added up one after the other.
#[derive(Clone, Debug)]
pub(super) struct Chain {
    /// In order.
    pub(super) products: Vec<usize>,
    pub(super) sum: Sum,
    /// Tiles that get the result.
    pub(super) tiles: Vec<usize>,
    /// After which others it can run.
    pub(super) wave: usize,
    /// The tile in which it is computed.
    pub(super) in_place: Option<usize>,
    /// Where it is computed.
    pub(super) rows: Option<Rows>,
}

/// One or two chains that are computed side by side.
#[derive(Clone, Debug)]
pub(super) struct Unit {
    pub(super) chains: Vec<usize>,
    pub(super) rows: Rows,
    /// In which memory, and where there.
    pub(super) place: (SumMemory, i64),
}

/// Where sums are while they are computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SumMemory {
    Frame,
    /// The tiles that are not in the frame.
    Tiles,
    /// For sums without a tile.
    Sums,
}

/// Memory for the sums without a tile of products that are written together, pair by pair.
#[derive(Clone, Debug)]
pub(super) struct SumScratch {
    start: Opd,
    taken: i64,
}

/// Bytes of two fragments side by side.
const PAIR: i64 = 8 * (SIDE * SIDE) as i64;

impl Unit {
    /// Whether the sums are contiguous.
    pub(super) fn is_pair(&self) -> bool {
        self.chains.len() == 2
    }
}

/// Chains with the same left operands.
pub(super) struct Row {
    pub(super) wave: usize,
    left: Vec<[Value; 2]>,
    pub(super) rounding: Scalar,
    /// By place of the right operands among all.
    pub(super) chains: Vec<(usize, usize)>,
}

impl Emitter<'_, '_> {
    /// Joins products into chains.
    pub(super) fn chains(&self, products: &[Product], assigned: &BTreeMap<usize, usize>) -> Vec<Chain> {
        let mut chains: Vec<Chain> = Vec::new();
        // By product: the chain that it ends.
        let mut ends: Vec<usize> = Vec::new();
        for (number, product) in products.iter().enumerate() {
            if let Sum::Product(before) = product.sum
                && self.is_only_continued(&products[before])
                && !assigned.values().any(|&kept| kept == before)
            {
                let chain = ends[before];
                chains[chain].products.push(number);
                ends.push(chain);
                continue;
            }
            assert!(
                !matches!(product.sum, Sum::Product(before) if before >= number),
                "a product adds to an earlier product"
            );
            let wave = match product.sum {
                Sum::Product(before) => chains[ends[before]].wave + 1,
                _ => 0,
            };
            ends.push(chains.len());
            chains.push(Chain {
                products: vec![number],
                sum: product.sum,
                tiles: Vec::new(),
                wave,
                in_place: None,
                rows: None,
            });
        }
        assert_eq!(ends.len(), products.len(), "each product is in a chain");
        for (&tile, &product) in assigned {
            chains[ends[product]].tiles.push(tile);
        }
        let readers =
            |tile: usize| chains.iter().filter(|chain| chain.sum == Sum::AccumulatorTile(tile)).count();
        let in_place: Vec<Option<usize>> = chains
            .iter()
            .map(|chain| match chain.sum {
                Sum::AccumulatorTile(tile) if chain.tiles.contains(&tile) && readers(tile) == 1 => Some(tile),
                // What a program made of a sum by itself is brought to where the result is kept.
                Sum::Value(_) => chain.tiles.iter().copied().find(|&tile| readers(tile) == 0),
                _ => None,
            })
            .collect();
        for (chain, in_place) in chains.iter_mut().zip(in_place) {
            chain.in_place = in_place;
        }
        chains
    }

    /// Whether the only use of the result is the one product added to it.
    fn is_only_continued(&self, product: &Product) -> bool {
        let uses = self.result_uses(product);
        uses.sums == 1 && uses.others == 0 && uses.kept == product.kept && !self.layout.keeps(product.result)
    }

    /// Groups chains by their left operands.
    pub(super) fn rows_of(&self, products: &[Product], chains: &[Chain]) -> Vec<Row> {
        let mut rows: Vec<Row> = Vec::new();
        let mut columns: Vec<Vec<[Value; 2]>> = Vec::new();
        for (number, chain) in chains.iter().enumerate() {
            let keys = |pick: fn(&Product) -> Value| -> Vec<[Value; 2]> {
                chain.products.iter().map(|&p| self.operand_key(pick(&products[p]))).collect()
            };
            let (left, right) = (keys(|product| product.left), keys(|product| product.right));
            let column = columns.iter().position(|known| *known == right).unwrap_or_else(|| {
                columns.push(right);
                columns.len() - 1
            });
            let rounding = self.scalar(products[chain.products[0]].result);
            let fits = |row: &Row| row.wave == chain.wave && row.rounding == rounding && row.left == left;
            match rows.iter_mut().find(|row| fits(row)) {
                Some(row) => row.chains.push((column, number)),
                None => {
                    rows.push(Row { wave: chain.wave, left, rounding, chains: vec![(column, number)] });
                }
            }
        }
        let count: usize = rows.iter().map(|row| row.chains.len()).sum();
        assert_eq!(count, chains.len(), "each chain is in a row");
        for row in &mut rows {
            row.chains.sort_unstable();
        }
        rows
    }

    /// Decides where the chains are computed, by row.
    pub(super) fn units(&mut self, rows: &[Row], chains: &mut [Chain]) -> Vec<Vec<Unit>> {
        let elsewhere = |row: &Row| row.chains.iter().filter(|&&(_, c)| chains[c].in_place.is_none()).count();
        let pairs: usize = rows.iter().map(|row| elsewhere(row).div_ceil(2)).sum();
        let start = if pairs == 0 {
            Opd::null()
        } else {
            self.scratch_for_products((ScratchUse::Sums, PAIR * pairs as i64))
        };
        let mut scratch = SumScratch { start, taken: 0 };
        let units = rows.iter().map(|row| self.units_of(row, chains, &mut scratch)).collect();
        assert_eq!(
            scratch.taken,
            PAIR * pairs as i64,
            "sums without a tile fill the scratch memory allocated for them"
        );
        assert!(chains.iter().all(|chain| chain.rows.is_some()), "each chain is computed somewhere");
        units
    }

    /// Pairs of tiles are computed where they are, the other chains in pairs in memory of their own.
    fn units_of(&mut self, row: &Row, chains: &mut [Chain], scratch: &mut SumScratch) -> Vec<Unit> {
        let mut units = Vec::new();
        let mut elsewhere = Vec::new();
        let mut taken = Vec::new();
        for &(_, chain) in &row.chains {
            let Some(tile) = chains[chain].in_place else {
                elsewhere.push(chain);
                continue;
            };
            if taken.contains(&chain) {
                continue;
            }
            let slot = self.plan.fragments.tiles[tile].slot;
            let beside = row.chains.iter().map(|&(_, other)| other).find(|&other| {
                let is_same = |tile: usize| self.plan.fragments.tiles[tile].slot == slot;
                other != chain && chains[other].in_place.is_some_and(is_same)
            });
            let mut own = vec![chain];
            own.extend(beside);
            own.sort_by_key(|&chain| chains[chain].in_place.map(|tile| self.plan.fragments.tiles[tile].side));
            assert!(own.len() <= 2, "a slot has two sides");
            taken.extend(&own);
            for &chain in &own {
                if let Some(tile) = chains[chain].in_place {
                    chains[chain].rows = Some(self.tile_rows(tile));
                }
            }
            let first = &chains[own[0]];
            let (in_frame, offset) =
                self.tile_place(first.in_place.expect("both sides are computed in place"));
            let rows = first.rows.clone().expect("chains computed in place have rows");
            let memory = if in_frame { SumMemory::Frame } else { SumMemory::Tiles };
            units.push(Unit { chains: own, rows, place: (memory, offset) });
        }
        for pair in elsewhere.chunks(2) {
            let place = (SumMemory::Sums, scratch.taken);
            let start = self.t.offset(&scratch.start, scratch.taken);
            scratch.taken += PAIR;
            let step = Opd::i64(8 * SIDE as i64);
            for (side, &chain) in pair.iter().enumerate() {
                let start = self.t.offset(&start, 4 * SIDE as i64 * side as i64);
                chains[chain].rows = Some(Rows { start, step: step.clone() });
            }
            units.push(Unit { chains: pair.to_vec(), rows: Rows { start, step }, place });
        }
        units
    }
}
