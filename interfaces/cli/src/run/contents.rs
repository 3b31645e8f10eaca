//! What buffers hold before a launch: files and generators, written in pieces.
//!
//! Invariant: opening checks everything that can be checked without reading the data (type, shape, length);
//! no more than a piece is in memory beside the device's buffer.

use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::{Path, PathBuf};

use anymetal::Buffer;
use anymetal::functions::entry;
use anymetal::reflection::ScalarType;
use anymetal::testing::SplitMix64;
use anymetal_driver::function_number;

use super::spec::{Generator, Spec};
use crate::failure::Failure;
use crate::npy::{self, Header};
use crate::scalar;

/// Bytes generated or read at a time; a multiple of every element size.
const PIECE_BYTES: usize = 1 << 20;

/// The contents of one buffer.
#[derive(Debug)]
pub(crate) enum Contents {
    /// A NumPy file whose header has been read.
    Npy { path: PathBuf, header: Header, data_start: u64 },
    /// A file of that many bytes.
    Binary { path: PathBuf, bytes: u64 },
    /// Generated elements.
    Generated { generator: Generator, scalar: ScalarType, count: u64 },
    /// Values as written.
    Values { scalar: ScalarType, values: Vec<u64> },
    /// Bytes of unknown type.
    Bytes(Vec<u8>),
}

impl Contents {
    /// Looks at what the specification names.
    pub(crate) fn open(spec: &Spec) -> Result<Contents, String> {
        match spec {
            Spec::Npy(path) => open_npy(path).map_err(|problem| format!("{}: {problem}", path.display())),
            Spec::Binary(path) => {
                let (_, bytes) =
                    open_file(path).map_err(|problem| format!("{}: {problem}", path.display()))?;
                Ok(Contents::Binary { path: path.clone(), bytes })
            }
            Spec::Generated(generator, scalar, count) => {
                Ok(Contents::Generated { generator: *generator, scalar: *scalar, count: *count })
            }
            Spec::Values(scalar, values) => Ok(Contents::Values { scalar: *scalar, values: values.clone() }),
            Spec::Hex(bytes) => Ok(Contents::Bytes(bytes.clone())),
            Spec::Functions(names) => {
                let number = |name: &Option<String>| name.as_deref().map_or(0, function_number);
                let entries = names.iter().map(|name| entry(number(name), names.len() as u32));
                Ok(Contents::Bytes(entries.flat_map(u64::to_le_bytes).collect()))
            }
            Spec::Unbound | Spec::Picture(..) | Spec::Texture(..) | Spec::Sampler(_) | Spec::Shape(_) => {
                Ok(Contents::Bytes(Vec::new()))
            }
        }
    }

    /// How many bytes they are.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Contents::Npy { header, .. } => header.data_bytes,
            Contents::Binary { bytes, .. } => *bytes,
            // The product was checked when the specification was parsed.
            Contents::Generated { scalar, count, .. } => count.saturating_mul(scalar.size().into()),
            Contents::Values { scalar, values } => u64::from(scalar.size()) * values.len() as u64,
            Contents::Bytes(bytes) => bytes.len() as u64,
        }
    }

    /// The elements' type, if it is known.
    pub(crate) fn scalar(&self) -> Option<ScalarType> {
        match self {
            Contents::Npy { header, .. } => Some(header.scalar),
            Contents::Generated { scalar, .. } | Contents::Values { scalar, .. } => Some(*scalar),
            Contents::Binary { .. } | Contents::Bytes(_) => None,
        }
    }

    /// The shape of a NumPy file.
    pub(crate) fn shape(&self) -> Option<&[u64]> {
        match self {
            Contents::Npy { header, .. } => Some(&header.shape),
            _ => None,
        }
    }

    /// Writes them into a buffer of [`Contents::bytes`] bytes.
    pub(crate) fn write_to(&self, buffer: &Buffer<u8>) -> Result<(), Failure> {
        match self {
            Contents::Npy { path, header, data_start } => {
                let swapped = if header.big_endian { header.scalar.size() as usize } else { 1 };
                copy_file(path, *data_start, header.data_bytes, swapped, buffer)
            }
            Contents::Binary { path, bytes } => copy_file(path, 0, *bytes, 1, buffer),
            Contents::Generated { generator, scalar, count } => generate(*generator, *scalar, *count, buffer),
            Contents::Values { scalar, values } => Ok(buffer.write(&scalar::bytes_of(*scalar, values))?),
            Contents::Bytes(bytes) => Ok(buffer.write(bytes)?),
        }
    }
}

fn open_file(path: &Path) -> Result<(File, u64), String> {
    let file = anymetal_files::open(path).map_err(|error| error.reason())?;
    let length = file.metadata().map_err(|error| error.to_string())?.len();
    Ok((file, length))
}

fn open_npy(path: &Path) -> Result<Contents, String> {
    let (file, length) = open_file(path)?;
    let mut reader = BufReader::new(file);
    let header = npy::read_header(&mut reader, length)?;
    let data_start = reader.stream_position().map_err(|error| error.to_string())?;
    Ok(Contents::Npy { path: path.to_owned(), header, data_start })
}

/// Copies a range of a file, reversing the bytes of each group of `swapped`.
fn copy_file(
    path: &Path,
    start: u64,
    length: u64,
    swapped: usize,
    buffer: &Buffer<u8>,
) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::Input(format!("cannot read {}: {error}", path.display()));
    let mut file = anymetal_files::open(path).map_err(|error| failed(error.into()))?;
    file.seek(std::io::SeekFrom::Start(start)).map_err(failed)?;
    let mut piece = vec![0; PIECE_BYTES.min(usize::try_from(length).unwrap_or(PIECE_BYTES))];
    let mut done = 0usize;
    while (done as u64) < length {
        let count = piece.len().min(usize::try_from(length - done as u64).unwrap_or(PIECE_BYTES));
        file.read_exact(&mut piece[..count]).map_err(failed)?;
        if swapped > 1 {
            piece[..count].chunks_exact_mut(swapped).for_each(<[u8]>::reverse);
        }
        buffer.write_at(done, &piece[..count])?;
        done += count;
    }
    Ok(())
}

fn generate(
    generator: Generator,
    scalar: ScalarType,
    count: u64,
    buffer: &Buffer<u8>,
) -> Result<(), Failure> {
    let per_piece = PIECE_BYTES as u64 / u64::from(scalar.size());
    let mut random = match generator {
        Generator::Random(seed) => SplitMix64::new(seed),
        Generator::Zeros | Generator::Iota => SplitMix64::new(0),
    };
    let mut piece = Vec::with_capacity(PIECE_BYTES);
    let mut done = 0;
    while done < count {
        let end = count.min(done + per_piece);
        piece.clear();
        match generator {
            Generator::Zeros => piece.resize((end - done) as usize * scalar.size() as usize, 0),
            Generator::Iota => (done..end).for_each(|index| scalar::push_iota(scalar, index, &mut piece)),
            Generator::Random(_) => {
                (done..end).for_each(|_| scalar::push_random(scalar, random.next_number(), &mut piece));
            }
        }
        buffer.write_at(done as usize * scalar.size() as usize, &piece)?;
        done = end;
    }
    Ok(())
}
