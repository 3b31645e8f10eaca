//! Deferred multiply-adds: collected, then written by one micro-kernel call.
//!
//! A program multiplies fragment by fragment. One alone is slow: each element of the left operand is
//! broadcast for eight columns only, and the sum is loaded and stored for eight multiply-adds. So products
//! are deferred until a result is used, memory changes, or control flow branches. Then they form chains
//! (`chains`), of which the `microkernel` computes two or four at once.

use std::collections::BTreeMap;

use anymetal_ir::Value;

use super::chains::{Chain, Row, Unit};
use super::microkernel::{ENTRY, Variant, blocks_at_once};
use super::operands::Prepared;
use super::{Rows, SIDE};
use crate::cpu::emit::arith::{from_f32, to_f32};
use crate::cpu::emit::lane::{Lane, Width};
use crate::cpu::emit::{Emitter, Mask};
use crate::limits::cpu::MAX_DEFERRED_PRODUCTS;
use crate::llvm::{FLOAT, I8, Opd};
use anymetal_simd::fragments::ResultUses;

/// To what a product is added.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sum {
    /// A value's lanes.
    Value(Value),
    /// What is in a tile.
    AccumulatorTile(usize),
    /// The result of that product.
    Product(usize),
}

/// A product to be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Product {
    pub(super) left: Value,
    pub(super) right: Value,
    pub(super) sum: Sum,
    pub(super) result: Value,
    /// Stores to tiles that took the result.
    pub(super) kept: usize,
}

impl Emitter<'_, '_> {
    pub(super) fn multiply(&mut self, args: &[Value], result: Value) {
        assert_eq!(args.len(), 3, "a product takes two factors and a sum");
        if !self.gathers_products() {
            return self.multiply_some_lanes(args, result);
        }
        if args[..2].iter().any(|&operand| self.matrices.deferred.iter().any(|p| p.result == operand)) {
            self.write_products();
        }
        let sum = self.sum_of(args[2]);
        self.matrices.deferred.push(Product { left: args[0], right: args[1], sum, result, kept: 0 });
        if self.matrices.deferred.len() >= MAX_DEFERRED_PRODUCTS {
            self.write_products();
        }
    }

    fn sum_of(&self, value: Value) -> Sum {
        let matrices = &self.matrices;
        if let Some(product) = matrices.deferred.iter().rposition(|product| product.result == value) {
            return Sum::Product(product);
        }
        match matrices.lazy.get(&value) {
            Some(tile) => {
                matrices.assigned.get(tile).map_or(Sum::AccumulatorTile(*tile), |&p| Sum::Product(p))
            }
            None => Sum::Value(value),
        }
    }

    /// Notes that a tile gets the result of a product; `false` if the value is no such result.
    pub(super) fn assign_tile(&mut self, tile: usize, value: Value) -> bool {
        let matrices = &mut self.matrices;
        let Some(product) = matrices.deferred.iter().rposition(|product| product.result == value) else {
            // The value has lanes, which are stored.
            return false;
        };
        matrices.deferred[product].kept += 1;
        matrices.assigned.insert(tile, product);
        true
    }

    /// A product while lanes are off: their elements count as zeros.
    fn multiply_some_lanes(&mut self, args: &[Value], result: Value) {
        self.matrices.results.clear();
        self.matrices.scratch_used = 0;
        let mask = self.position.mask.operand();
        let mut places = Vec::new();
        for &arg in &args[..3] {
            let scalar = self.scalar(arg);
            let parts = [0, 1].map(|n| {
                let lanes = self.vector(arg, n);
                self.t.select(&mask, &lanes, 0)
            });
            let dense = self.dense_parts(&parts, false);
            let dense = to_f32(&mut self.t, Width::Few(SIDE * SIDE), scalar, &dense);
            let rows = Rows { start: self.scratch(), step: Opd::i64(4 * SIDE as i64) };
            self.store_dense(&dense, &rows);
            places.push(rows);
        }
        let tables = [0, 1].map(|n| self.write_table(&[places[n].clone()]));
        let variant = Variant { blocks: 1, columns: SIDE, transpose: false, rounding: self.scalar(result) };
        self.call_products(variant, &[&places[2]], &tables[0], &tables[1..], 1);
        let lanes = self.lanes_of_sum(result, &places[2]);
        self.define(result, lanes);
    }

    /// Lanes of a sum in rows.
    fn lanes_of_sum(&mut self, value: Value, rows: &Rows) -> Vec<Lane> {
        let scalar = self.scalar(value);
        let dense = self.load_dense(FLOAT, rows);
        let narrow = from_f32(&mut self.t, Width::Few(SIDE * SIDE), scalar, &dense);
        let lanes = self.fragment(&narrow, false);
        Self::varying(lanes)
    }

    pub(super) fn result_uses(&self, product: &Product) -> ResultUses {
        self.plan.fragments.results.get(&product.result).copied().unwrap_or_default()
    }

    // --- writing

    /// Writes all deferred products.
    pub(in crate::cpu::emit) fn write_products(&mut self) {
        if self.matrices.deferred.is_empty() {
            return;
        }
        // Products wait only while all lanes are on; the mask here may be that of what comes next.
        let mask = std::mem::replace(&mut self.position.mask, Mask::All);
        let products = std::mem::take(&mut self.matrices.deferred);
        let assigned = std::mem::take(&mut self.matrices.assigned);
        self.matrices.results.clear();
        self.matrices.scratch_used = 0;
        let mut chains = self.chains(&products, &assigned);
        let rows = self.rows_of(&products, &chains);
        let units = self.units(&rows, &mut chains);
        // Sums that are computed elsewhere are copied before any tile changes.
        for chain in &chains {
            let is_there = matches!(chain.sum, Sum::AccumulatorTile(_)) && chain.in_place.is_some();
            if !matches!(chain.sum, Sum::Product(_)) && !is_there {
                self.copy_sum(&chains, chain);
            }
        }
        let waves = chains.iter().map(|chain| chain.wave).max().unwrap_or(0);
        let mut right = BTreeMap::new();
        let mut left = BTreeMap::new();
        for wave in 0..=waves {
            for chain in chains.iter().filter(|chain| chain.wave == wave) {
                if matches!(chain.sum, Sum::Product(_)) {
                    self.copy_sum(&chains, chain);
                }
            }
            let now: Vec<(&Row, &[Unit])> = rows
                .iter()
                .zip(&units)
                .filter(|(row, _)| row.wave == wave)
                .map(|(row, units)| (row, units.as_slice()))
                .collect();
            let key = |&(row, units): &(&Row, &[Unit])| self.panel_key(&products, &chains, row, units);
            let keys: Vec<_> = now.iter().map(key).collect();
            let mut from = 0;
            while from < now.len() {
                let count = keys[from..].iter().take_while(|key| **key == keys[from]).count();
                let same = &now[from..from + count];
                if keys[from].is_none() || !self.write_panels(&products, &chains, same) {
                    for (row, units) in same {
                        self.write_row(&products, &chains, row, units, &mut left, &mut right);
                    }
                }
                from += count;
            }
        }
        for chain in &chains {
            self.finish_chain(&products, chain);
        }
        self.forget_operands(&products);
        assert!(self.matrices.deferred.is_empty(), "writing products defers none");
        self.position.mask = mask;
    }

    /// Brings the sum to where the chain is computed.
    fn copy_sum(&mut self, chains: &[Chain], chain: &Chain) {
        let to = chain.rows.as_ref().expect("every chain has rows once its units are formed");
        let from = match chain.sum {
            Sum::Value(value) => {
                let values = self.float_rows(value);
                return self.store_rows(&values, to);
            }
            Sum::AccumulatorTile(tile) => self.tile_rows(tile),
            Sum::Product(before) => {
                let found = chains.iter().find(|chain| chain.products.last() == Some(&before));
                let found = found.expect("the sum is the end of an earlier chain");
                found.rows.clone().expect("every chain has rows once its units are formed")
            }
        };
        let values = self.load_rows(FLOAT, &from);
        self.store_rows(&values, to);
    }

    fn write_row(
        &mut self,
        products: &[Product],
        chains: &[Chain],
        row: &Row,
        units: &[Unit],
        left: &mut BTreeMap<[Value; 2], Prepared>,
        right: &mut BTreeMap<Vec<[Value; 2]>, Opd>,
    ) {
        let &(_, first) = row.chains.first().expect("a row has chains");
        let operands: Vec<Value> = chains[first].products.iter().map(|&p| products[p].left).collect();
        let mut prepared: Vec<Prepared> = Vec::new();
        for &operand in &operands {
            let key = self.operand_key(operand);
            let known = left.get(&key).cloned();
            let one = known.unwrap_or_else(|| self.prepare_left(operand));
            left.insert(key, one.clone());
            prepared.push(one);
        }
        let transpose = prepared.iter().all(|one| one.transpose);
        for (one, &operand) in prepared.iter_mut().zip(&operands) {
            if one.transpose != transpose {
                *one = self.prepare_copy(operand);
            }
        }
        let places: Vec<Rows> = prepared.into_iter().map(|one| one.rows).collect();
        let left = self.write_table(&places);
        let tables: Vec<Opd> =
            units.iter().map(|unit| self.right_table(products, chains, unit, right)).collect();
        let at_once = blocks_at_once(&self.shared.options.features);
        let mut next = 0;
        while next < units.len() {
            let is_pair = units[next].is_pair();
            let same = |unit: &Unit| is_pair && unit.is_pair() && unit.rows.step == units[next].rows.step;
            let blocks = units[next..].iter().take(at_once).take_while(|unit| same(unit)).count().max(1);
            let columns = if is_pair { 2 * SIDE } else { SIDE };
            let variant = Variant { blocks, columns, transpose, rounding: row.rounding };
            let sums: Vec<&Rows> = units[next..next + blocks].iter().map(|unit| &unit.rows).collect();
            self.call_products(variant, &sums, &left, &tables[next..next + blocks], operands.len());
            next += blocks;
        }
    }

    /// The right operands of a unit, for each step.
    fn right_table(
        &mut self,
        products: &[Product],
        chains: &[Chain],
        unit: &Unit,
        known: &mut BTreeMap<Vec<[Value; 2]>, Opd>,
    ) -> Opd {
        let steps = chains[unit.chains[0]].products.len();
        assert!(
            unit.chains.iter().all(|&chain| chains[chain].products.len() == steps),
            "chains in one unit have the same number of products"
        );
        let operands: Vec<Vec<Value>> = (0..steps)
            .map(|step| unit.chains.iter().map(|&c| products[chains[c].products[step]].right).collect())
            .collect();
        let mut key: Vec<[Value; 2]> =
            operands.iter().flatten().map(|&operand| self.operand_key(operand)).collect();
        // As many keys may be one long chain or two short ones.
        key.push([Value(unit.chains.len() as u32); 2]);
        if let Some(table) = known.get(&key) {
            return table.clone();
        }
        let places: Vec<Rows> = operands
            .iter()
            .map(|operands| match *operands.as_slice() {
                [left, right] => self.prepare_pair([left, right]),
                _ => self.prepare_right(operands[0]).rows,
            })
            .collect();
        let table = self.write_table(&places);
        known.insert(key, table.clone());
        table
    }

    fn write_table(&mut self, places: &[Rows]) -> Opd {
        assert!(!places.is_empty(), "a table has an entry per product");
        let table = self.t.alloca_array(ENTRY as u64 * places.len() as u64, I8, 16);
        for (number, rows) in places.iter().enumerate() {
            let at = self.t.offset(&table, ENTRY * number as i64);
            let three = self.t.mul(&rows.step, 3);
            let fourth = self.t.offset(&rows.start, &three);
            for (n, field) in [&rows.start, &rows.step, &fourth, &three].into_iter().enumerate() {
                let at = self.t.offset(&at, 8 * n as i64);
                self.t.store(field, &at, 8);
            }
        }
        table
    }

    fn call_products(&mut self, variant: Variant, sums: &[&Rows], left: &Opd, right: &[Opd], steps: usize) {
        assert!(steps > 0, "a chain has products");
        assert_eq!(
            (sums.len(), right.len()),
            (variant.blocks, variant.blocks),
            "each block has a sum and a right table"
        );
        debug_assert!(
            sums.iter().all(|sum| sum.step == sums[0].step),
            "sums that are computed together have the same distance between rows"
        );
        let name = variant.name();
        if !self.shared.matrix_kernels.products.contains_key(&name) {
            let (definition, declares) = variant.definition(&self.shared.options.features);
            self.shared.matrix_kernels.products.insert(name.clone(), definition);
            self.shared.declares.extend(declares);
        }
        let mut args: Vec<&Opd> = sums.iter().map(|sum| &sum.start).collect();
        args.extend([&sums[0].step, left]);
        args.extend(right);
        let steps = Opd::i64(steps as i64);
        args.push(&steps);
        self.t.call_void(&name, &args);
    }

    /// Brings the result where it is wanted.
    fn finish_chain(&mut self, products: &[Product], chain: &Chain) {
        let rows = chain.rows.as_ref().expect("every chain has rows once its units are formed");
        let &last = chain.products.last().expect("a chain has products");
        for &tile in &chain.tiles {
            if chain.in_place != Some(tile) {
                let values = self.load_rows(FLOAT, rows);
                let to = self.tile_rows(tile);
                self.store_rows(&values, &to);
            }
        }
        let product = &products[last];
        let uses = self.result_uses(product);
        // Somebody may take the result as a sum only after these products are written.
        if uses.others > 0 || uses.sums > 0 || uses.kept > product.kept || self.layout.keeps(product.result) {
            let lanes = self.lanes_of_sum(product.result, rows);
            self.define(product.result, lanes);
            self.save_value(product.result);
            self.matrices.results.insert(product.result, rows.clone());
        }
    }

    /// Counts the uses of operands that are over.
    fn forget_operands(&mut self, products: &[Product]) {
        for product in products {
            for operand in [product.left, product.right] {
                if let Some((_, uses)) = self.matrices.operands.get_mut(&operand) {
                    assert!(*uses > 0, "{operand} has more uses than counted");
                    *uses -= 1;
                    if *uses == 0 {
                        self.matrices.operands.remove(&operand);
                    }
                }
            }
        }
    }
}
