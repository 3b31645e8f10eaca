//! `--save` and `--print`: buffers after the launch.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use anymetal::reflection::{ArgumentInfo, ArgumentKind, ElementType, KernelInfo, ScalarType};
use anymetal::{Buffer, Texture, TextureDescriptor};
use serde_json::{Value, json};

use super::arguments::{Bound, declared_type};
use super::picture::Picture;
use super::textures::{Resources, find_bound};
use super::which::Which;
use crate::failure::Failure;
use crate::npy;
use crate::scalar;

/// Bytes read back at a time.
const PIECE_BYTES: usize = 1 << 20;
/// Elements printed when no number is given.
const DEFAULT_COUNT: u64 = 10;

/// `I=OUT.npy` for a buffer, `I=OUT.png` for a texture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Save {
    which: Which,
    path: PathBuf,
}

/// `I[:COUNT]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Print {
    which: Which,
    count: u64,
}

impl Save {
    /// Parses the option's text.
    pub(crate) fn parse(text: &str) -> Result<Save, String> {
        let (which, path) = text.split_once('=').ok_or("write I=OUT.npy or I=OUT.png")?;
        if path.is_empty() {
            return Err("the file's name is missing".to_owned());
        }
        Ok(Save { which: Which::parse(which)?, path: PathBuf::from(path) })
    }

    /// Whether a texture is to be saved.
    fn is_picture(&self) -> bool {
        self.path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("png"))
    }

    fn check_folder(&self) -> Result<(), Failure> {
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        match folder {
            Some(folder) if !folder.is_dir() => {
                Err(Failure::Input(format!("the folder of {} does not exist", self.path.display())))
            }
            _ => Ok(()),
        }
    }
}

impl Print {
    /// Parses the option's text.
    pub(crate) fn parse(text: &str) -> Result<Print, String> {
        let (which, count) = match text.split_once(':') {
            Some((which, count)) => {
                (which, count.parse().map_err(|_| format!("`{count}` is no number of elements"))?)
            }
            None => (text, DEFAULT_COUNT),
        };
        Ok(Print { which: Which::parse(which)?, count })
    }
}

/// A buffer with the known type of its elements.
#[derive(Debug)]
struct Output<'a> {
    argument: &'a ArgumentInfo,
    buffer: &'a Buffer<u8>,
    /// Bytes if the elements are structures of unknown layout.
    scalar: ScalarType,
    shape: Vec<u64>,
}

impl<'a> Output<'a> {
    fn find(which: &Which, kernel: &'a KernelInfo, arguments: &'a [Bound]) -> Result<Output<'a>, Failure> {
        let argument = which.find(kernel, ArgumentKind::Buffer)?;
        let bound = arguments.iter().find(|bound| bound.index == argument.index);
        let buffer = bound.and_then(|bound| bound.buffer.as_ref()).ok_or_else(|| {
            Failure::Input(format!("nothing is bound to argument {} `{}`", argument.index, argument.name))
        })?;
        let contents = bound.map(|bound| &bound.contents);
        let given = || contents.and_then(|contents| contents.scalar());
        let scalar = declared_type(argument).or_else(given).unwrap_or(match argument.element {
            ElementType::Scalar(byte) => byte,
            _ => ScalarType::U8,
        });
        let shape = match contents.and_then(|contents| contents.shape()) {
            Some(shape) => shape.to_vec(),
            None => shape_of(argument, scalar, buffer.len() as u64),
        };
        Ok(Output { argument, buffer, scalar, shape })
    }
}

/// One dimension of scalars, two of vectors and structures. Bytes beyond the last whole element are left out.
fn shape_of(argument: &ArgumentInfo, scalar: ScalarType, bytes: u64) -> Vec<u64> {
    let per_element = argument.element_size / u64::from(scalar.size());
    let is_scalar = matches!(argument.element, ElementType::Scalar(_));
    if is_scalar || per_element <= 1 || bytes < argument.element_size {
        return vec![bytes / u64::from(scalar.size())];
    }
    vec![bytes / argument.element_size, per_element]
}

/// A file to be written.
#[derive(Debug)]
pub(crate) struct PendingSave<'a> {
    output: Output<'a>,
    path: PathBuf,
}

/// A texture to be saved as a picture.
#[derive(Debug)]
pub(crate) struct PendingPicture<'a> {
    texture: &'a Texture,
    path: PathBuf,
}

/// Finds the textures to save: those of files that end in `.png`.
pub(crate) fn resolve_pictures<'a>(
    saves: &[Save],
    kernel: &KernelInfo,
    resources: &'a Resources,
) -> Result<Vec<PendingPicture<'a>>, Failure> {
    let resolve = |save: &Save| {
        let texture = find_bound(&save.which, kernel, resources)?;
        save.check_folder()?;
        Ok(PendingPicture { texture, path: save.path.clone() })
    };
    saves.iter().filter(|save| save.is_picture()).map(resolve).collect()
}

impl PendingPicture<'_> {
    /// Writes the file.
    pub(crate) fn write(&self) -> Result<(), Failure> {
        let failed = |problem| Failure::Input(format!("cannot write {}: {problem}", self.path.display()));
        let TextureDescriptor { format, width, height, .. } = *self.texture.descriptor();
        let picture = Picture::of_texels([width, height], format, &self.texture.read::<u8>()?);
        picture.and_then(|picture| picture.write(&self.path)).map_err(failed)
    }
}

/// Finds the buffers to save.
pub(crate) fn resolve_saves<'a>(
    saves: &[Save],
    kernel: &'a KernelInfo,
    arguments: &'a [Bound],
) -> Result<Vec<PendingSave<'a>>, Failure> {
    let resolve = |save: &Save| {
        let output = Output::find(&save.which, kernel, arguments)?;
        save.check_folder()?;
        Ok(PendingSave { output, path: save.path.clone() })
    };
    saves.iter().filter(|save| !save.is_picture()).map(resolve).collect()
}

impl PendingSave<'_> {
    /// Writes the file.
    pub(crate) fn write(&self) -> Result<(), Failure> {
        let failed =
            |error: std::io::Error| Failure::Input(format!("cannot write {}: {error}", self.path.display()));
        let Output { buffer, scalar, shape, .. } = &self.output;
        let bytes = shape.iter().product::<u64>() as usize * scalar.size() as usize;
        let mut file = BufWriter::new(File::create(&self.path).map_err(failed)?);
        file.write_all(&npy::header_bytes(*scalar, shape)).map_err(failed)?;
        let mut piece = vec![0; PIECE_BYTES.min(bytes)];
        let mut done = 0;
        while done < bytes {
            let count = piece.len().min(bytes - done);
            buffer.read_into(done, &mut piece[..count])?;
            file.write_all(&piece[..count]).map_err(failed)?;
            done += count;
        }
        file.flush().map_err(failed)
    }
}

/// Elements to be printed.
#[derive(Debug)]
pub(crate) struct PendingPrint<'a> {
    output: Output<'a>,
    count: u64,
}

/// Finds the buffers to print.
pub(crate) fn resolve_prints<'a>(
    prints: &[Print],
    kernel: &'a KernelInfo,
    arguments: &'a [Bound],
) -> Result<Vec<PendingPrint<'a>>, Failure> {
    let resolve = |print: &Print| {
        Ok(PendingPrint { output: Output::find(&print.which, kernel, arguments)?, count: print.count })
    };
    prints.iter().map(resolve).collect()
}

/// The first elements of a buffer.
#[derive(Debug)]
pub(crate) struct Printed {
    index: u32,
    name: String,
    scalar: ScalarType,
    values: Vec<String>,
    all: u64,
}

impl PendingPrint<'_> {
    /// Reads the elements.
    pub(crate) fn read(&self) -> Result<Printed, Failure> {
        let Output { argument, buffer, scalar, .. } = &self.output;
        let all = buffer.len() as u64 / u64::from(scalar.size());
        let mut bytes = vec![0; self.count.min(all) as usize * scalar.size() as usize];
        buffer.read_into(0, &mut bytes)?;
        let values = bytes.chunks_exact(scalar.size() as usize).map(|bytes| scalar::show(*scalar, bytes));
        Ok(Printed {
            index: argument.index,
            name: argument.name.clone(),
            scalar: *scalar,
            values: values.collect(),
            all,
        })
    }
}

impl Printed {
    /// One line of text output.
    pub(crate) fn to_text(&self) -> String {
        let more = if self.all > self.values.len() as u64 { " …" } else { "" };
        format!("{} ({} {}): {}{more}", self.name, self.all, self.scalar.name(), self.values.join(" "))
    }

    /// For programs: numbers where JSON has them, strings for infinities and NaNs.
    pub(crate) fn to_json(&self) -> Value {
        let value =
            |text: &String| serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone()));
        json!({
            "index": self.index,
            "name": self.name,
            "type": self.scalar.name(),
            "count": self.all,
            "values": self.values.iter().map(value).collect::<Vec<Value>>(),
        })
    }
}
