//! `sort.metal`: `asort_asc_TYPE` and `asort_desc_TYPE`, the order that sorts each row.

use super::input::Inputs;
use super::{guarded, untouched};
use crate::case::{Case, Grid, Launch};
use crate::data::{Data, Dtype};
use crate::suite::Level;

/// The cases of a kernel.
pub fn cases(kernel: &str, level: Level) -> Option<Vec<Case>> {
    let (order, dtype) = kernel.strip_prefix("asort_")?.split_once('_')?;
    let dtype = Dtype::named(dtype)?;
    let ascending = match order {
        "asc" => true,
        "desc" => false,
        _ => return None,
    };
    let mut sizes = vec![(1, 1), (1, 2), (2, 31), (1, 32), (3, 33), (2, 200), (1, 1000)];
    if level == Level::Full {
        // A row fits a threadgroup, so many elements are many rows.
        sizes.push((1049, 1000));
    }
    // Equal elements may come in any order, so all are distinct: 1000 bytes cannot be.
    let fits = |&(_, columns): &(usize, usize)| dtype.size() > 1 || columns <= 256;
    Some(
        sizes
            .into_iter()
            .filter(fits)
            .map(|(rows, columns)| case(kernel, dtype, ascending, rows, columns))
            .collect(),
    )
}

fn case(kernel: &str, dtype: Dtype, ascending: bool, rows: usize, columns: usize) -> Case {
    let mut inputs = Inputs::new(columns as u64);
    let mut input = Data::new(dtype);
    let mut expected = Data::new(Dtype::U32);
    for _ in 0..rows {
        let ranks = inputs.permutation(columns);
        for &rank in &ranks {
            input.bytes.extend(ranked(dtype, rank).bytes);
        }
        let mut order: Vec<usize> = (0..columns).collect();
        order.sort_by_key(|&column| if ascending { ranks[column] } else { columns - ranks[column] });
        order.iter().for_each(|&column| expected.push_integer(column as i128));
    }
    let padded = columns.next_power_of_two();
    let launch = Launch::new(kernel, Grid::Groups([1, rows as u32, 1]), [padded as u32, 1, 1]);
    let launch = launch.data(&input).data(&untouched(&expected)).size(columns).size(padded);
    let launch = launch.threadgroup(0, (padded as u64 * 4).max(16));
    Case::exact(format!("{rows} rows of {columns}"), launch, 1, guarded(expected))
}

/// Values that ascend with their rank, all distinct, some negative.
fn ranked(dtype: Dtype, rank: usize) -> Data {
    match dtype {
        // The next bit pattern is the next number.
        Dtype::BF16 => Data { dtype, bytes: (0x3f80 + rank as u16).to_le_bytes().to_vec() },
        Dtype::F16 | Dtype::F32 => Data::from_numbers(dtype, [(rank as f64 - 100.0) / 4.0]),
        Dtype::I64 => Data::from_integers(dtype, [(rank as i128 - 500) << 32]),
        Dtype::U32 => Data::from_integers(dtype, [(rank as i128) << 22]),
        _ => Data::from_integers(dtype, [rank as i128]),
    }
}
