//! `mlx_sort.metal`: merge sorts of rows within one threadgroup (`c…` and `nc…`), and the three steps of
//! sorts over several: blocks, where to cut, merging. All are stable, so ties have one right order.
//!
//! The merge reads the next element of both its inputs before it looks whether there is one, which is after
//! the array for the last thread.

use super::input::Inputs;
use super::{guarded, untouched};
use crate::case::{Case, Expected, Faults, Grid, Launch};
use crate::compare::Tolerance;
use crate::data::{Data, Dtype};
use crate::suite::Level;

/// The cases of a kernel.
pub fn cases(kernel: &str, _level: Level) -> Option<Vec<Case>> {
    let (name, tile) = kernel.rsplit_once("_bn")?;
    let (threads, per_thread) = tile.split_once("_tn")?;
    let block = Block { threads: threads.parse().ok()?, per_thread: per_thread.parse().ok()? };
    let (step, types) = ["nc_block_sort_", "ncarg_block_sort_", "c_block_sort_", "carg_block_sort_"]
        .into_iter()
        .chain(["sort_mbsort_", "partition_mbsort_", "merge_mbsort_"])
        .find_map(|step| name.strip_prefix(step).map(|types| (step, types)))?;
    let dtype = mlx_type(types.split_once('_')?.0)?;
    let rows = |sizes: &[(usize, usize)]| -> Vec<Rows> {
        sizes.iter().map(|&(rows, columns)| Rows::new(dtype, rows, columns)).collect()
    };
    let block_size = block.size();
    let several = rows(&[(2, 2 * block_size + block_size / 2), (1, block_size + 1)]);
    let cases: Vec<Case> = match step {
        "sort_mbsort_" => several.iter().map(|rows| sort_blocks(kernel, block, rows)).collect(),
        "partition_mbsort_" => several.iter().map(|rows| merge(kernel, block, rows, false)).collect(),
        "merge_mbsort_" => several.iter().map(|rows| merge(kernel, block, rows, true)).collect(),
        _ => {
            let strided = step.starts_with("nc");
            let rows = rows(&[(1, 1), (3, 33), (2, 1000), (1, block_size)]);
            rows.iter().map(|rows| sort_rows(kernel, block, rows, step.contains("arg"), strided)).collect()
        }
    };
    Some(cases.into_iter().map(|case| Case { faults: Faults::Harmless, ..case }).collect())
}

fn mlx_type(name: &str) -> Option<Dtype> {
    Some(match name {
        "uint8" => Dtype::U8,
        "uint32" => Dtype::U32,
        "int64" => Dtype::I64,
        "float16" => Dtype::F16,
        "bfloat16" => Dtype::BF16,
        "float32" => Dtype::F32,
        _ => return None,
    })
}

#[derive(Clone, Copy, Debug)]
struct Block {
    threads: usize,
    per_thread: usize,
}

impl Block {
    fn size(self) -> usize {
        self.threads * self.per_thread
    }

    fn launch(self, kernel: &str, blocks: usize, rows: usize) -> Launch {
        Launch::new(kernel, Grid::Groups([blocks as u32, rows as u32, 1]), [self.threads as u32, 1, 1])
    }
}

/// Rows of values, as ranks: some are equal.
struct Rows {
    dtype: Dtype,
    columns: usize,
    ranks: Vec<Vec<usize>>,
}

impl Rows {
    fn new(dtype: Dtype, rows: usize, columns: usize) -> Self {
        let mut inputs = Inputs::new(columns as u64);
        let distinct = if dtype == Dtype::U8 { 250 } else { 12_000 };
        let row = |_| (0..columns).map(|_| inputs.below(distinct)).collect();
        Self { dtype, columns, ranks: (0..rows).map(row).collect() }
    }

    /// A value that ascends with its rank.
    fn value(&self, rank: usize) -> Vec<u8> {
        let dtype = self.dtype;
        match dtype {
            // The next bit pattern is the next number.
            Dtype::BF16 | Dtype::F16 => (0x2000 + rank as u16).to_le_bytes().to_vec(),
            Dtype::F32 => Data::from_numbers(dtype, [(rank as f64 - 100.0) / 4.0]).bytes,
            Dtype::I64 => Data::from_integers(dtype, [(rank as i128 - 500) << 32]).bytes,
            Dtype::U32 => Data::from_integers(dtype, [rank as i128 * 300_000]).bytes,
            _ => Data::from_integers(dtype, [rank as i128]).bytes,
        }
    }

    fn values(&self, ranks: impl IntoIterator<Item = usize>) -> Data {
        Data { dtype: self.dtype, bytes: ranks.into_iter().flat_map(|rank| self.value(rank)).collect() }
    }

    /// The orders that sort each piece of that many columns of a row.
    fn sorted_pieces(&self, row: usize, piece: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.columns).collect();
        order.chunks_mut(piece).for_each(|piece| piece.sort_by_key(|&column| self.ranks[row][column]));
        order
    }
}

fn int(launch: Launch, value: usize) -> Launch {
    launch.scalar((value as i32).to_le_bytes())
}

/// One launch that sorts rows, each within a threadgroup; with `strided`, the rows are interleaved.
fn sort_rows(kernel: &str, block: Block, rows: &Rows, indices: bool, strided: bool) -> Case {
    let (count, columns) = (rows.ranks.len(), rows.columns);
    let (step, row_stride) = if strided { (count, 1) } else { (1, columns) };
    let place = |row: usize, column: usize| row * row_stride + column * step;
    let mut source = Data::zeros(rows.dtype, count * columns);
    let mut expected = Data::zeros(if indices { Dtype::U32 } else { rows.dtype }, count * columns);
    let put = |data: &mut Data, at: usize, bytes: &[u8]| {
        let size = data.dtype.size();
        data.bytes[at * size..(at + 1) * size].copy_from_slice(bytes);
    };
    for (row, ranks) in rows.ranks.iter().enumerate() {
        for (column, &rank) in ranks.iter().enumerate() {
            put(&mut source, place(row, column), &rows.value(rank));
        }
        for (column, &from) in rows.sorted_pieces(row, columns).iter().enumerate() {
            let bytes = if indices { (from as u32).to_le_bytes().to_vec() } else { rows.value(ranks[from]) };
            put(&mut expected, place(row, column), &bytes);
        }
    }
    let launch = block.launch(kernel, 1, count).data(&source).data(&untouched(&expected));
    let launch = int(int(int(launch, columns), step), step);
    let launch = if strided {
        let strides = (row_stride as i64).to_le_bytes();
        int(int(launch, 1), count).scalar(strides).scalar(strides)
    } else {
        int(int(launch, row_stride), row_stride)
    };
    Case::exact(format!("{count} rows of {columns}"), launch, 1, guarded(expected))
}

fn exact(index: u32, data: Data) -> Expected {
    Expected { index, data: guarded(data), tolerance: Tolerance::Exact, agreement: Tolerance::Exact }
}

/// The first step: blocks of each row, with their indices.
fn sort_blocks(kernel: &str, block: Block, rows: &Rows) -> Case {
    let (count, columns) = (rows.ranks.len(), rows.columns);
    let source = rows.values(rows.ranks.iter().flatten().copied());
    let (values, indices) = sorted(rows, block.size());
    let launch = block.launch(kernel, columns.div_ceil(block.size()), count).data(&source);
    let launch = launch.data(&untouched(&values)).data(&untouched(&indices));
    let launch = int(int(int(int(launch, columns), 1), 1), count).scalar((columns as i64).to_le_bytes());
    let name = format!("{count} rows of {columns}");
    let case = Case::exact(name, launch, 1, guarded(values));
    let mut expected = case.expected.clone();
    expected.push(exact(2, indices));
    Case { expected, ..case }
}

/// Values and indices after pieces of each row are sorted.
fn sorted(rows: &Rows, piece: usize) -> (Data, Data) {
    let orders: Vec<Vec<usize>> = (0..rows.ranks.len()).map(|row| rows.sorted_pieces(row, piece)).collect();
    let ranks = orders.iter().zip(&rows.ranks).flat_map(|(order, ranks)| order.iter().map(|&i| ranks[i]));
    let indices = orders.iter().flatten().map(|&i| i as i128);
    (rows.values(ranks), Data::from_integers(Dtype::U32, indices))
}

/// The second step of a merge of pairs of blocks, which finds where each output block begins in the first of
/// its pair, or the third, which merges.
fn merge(kernel: &str, block: Block, rows: &Rows, is_merge: bool) -> Case {
    let (count, columns, size) = (rows.ranks.len(), rows.columns, block.size());
    let blocks = columns.div_ceil(size);
    let (values, indices) = sorted(rows, size);
    let mut cuts = Data::new(Dtype::U32);
    for row in 0..count {
        let merged = rows.sorted_pieces(row, 2 * size);
        for cut in 0..=blocks {
            let first = (cut / 2 * 2 * size).min(columns);
            let middle = (first + size).min(columns);
            let end = (middle + size).min(columns);
            let taken = (cut % 2 * size).min(end - first);
            let from_first = merged[first..first + taken].iter().filter(|&&i| i < middle).count();
            cuts.push_integer((first + from_first) as i128);
        }
    }
    let name = format!("{count} rows of {columns}");
    if !is_merge {
        let threads = [(blocks + 1) as u32, 1, 1];
        let launch = Launch::new(kernel, Grid::Groups([1, count as u32, 1]), threads);
        let launch = launch.data(&untouched(&cuts)).data(&values).data(&indices);
        return Case::exact(name, int(int(int(launch, columns), 2), blocks), 0, guarded(cuts));
    }
    let (merged_values, merged_indices) = sorted(rows, 2 * size);
    let launch = block.launch(kernel, blocks, count).data(&cuts).data(&values).data(&indices);
    let launch = launch.data(&untouched(&merged_values)).data(&untouched(&merged_indices));
    let case = Case::exact(name, int(int(int(launch, columns), 2), blocks), 3, guarded(merged_values));
    let mut expected = case.expected.clone();
    expected.push(exact(4, merged_indices));
    Case { expected, ..case }
}
