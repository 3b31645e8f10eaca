//! Writes cases of all tensor operations, one a line, for `check.py`, which compares them with
//! PyTorch.
#![forbid(unsafe_code)]

mod case;
mod images;
mod maps;
mod rows;

use std::io::{BufWriter, stdout};

use anymetal_tensor_ops::{OpError, Ops};

use case::Cases;

fn main() -> Result<(), OpError> {
    let ops = Ops::new(&anymetal::Device::system_default()?)?;
    let mut cases = Cases::new(&ops, BufWriter::new(stdout()));
    maps::write(&mut cases)?;
    rows::write(&mut cases)?;
    images::write(&mut cases)
}
