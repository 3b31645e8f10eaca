//! One product of matrices: what it is of, its kernel, its dispatch.

use anymetal::reflection::ScalarType;
use anymetal::{LibraryDescriptor, Pipeline};
use objc2::rc::Retained;

use super::matrix::Placed;
use crate::foundation::NSError;
use crate::metal::command_buffer::CommandBuffer;
use crate::metal::compile_options::default_options;
use crate::metal::device::Device;
use crate::metal::dispatches::{Bindings, Grid, Slot, UnboundReference};
use crate::metal::size::Size;
use crate::metal::{errors, violation};

const SOURCE: &str = include_str!("product.metal");
/// The kernel's tile of the result, in elements along each side, and the threads that compute it.
const TILE: usize = 32;
const THREADS: usize = 128;

/// How factors are taken and results combined.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Product {
    pub(crate) transposes: [bool; 2],
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) interior: usize,
    pub(crate) alpha: f32,
    pub(crate) beta: f32,
}

/// Which matrices of a batch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Batch {
    pub(crate) start: usize,
    pub(crate) size: usize,
}

/// The kernel for elements of those types: of the left and right factor and the result.
pub(crate) fn pipeline(device: &Device, elements: [ScalarType; 3]) -> Result<Pipeline, Retained<NSError>> {
    let names = ["LEFT", "RIGHT", "RESULT"].into_iter().zip(elements);
    let defines = names.map(|(name, element)| (name.to_owned(), Some(element.msl_name().to_owned())));
    let options = default_options().defines(defines).file_name("product.metal");
    let library = device.inner().create_library(&LibraryDescriptor::from_source(SOURCE).options(&options));
    library.and_then(|library| library.pipeline("product")).map_err(|error| errors::of_library(&error))
}

impl Product {
    /// Encodes it, for a method that does: of the factors and the result.
    pub(crate) fn encode(
        &self,
        method: &str,
        commands: &CommandBuffer,
        pipeline: &Pipeline,
        [left, right, result]: [&Placed; 3],
        batch: Batch,
    ) {
        let turned =
            |[rows, columns]: [usize; 2], turn: bool| if turn { [columns, rows] } else { [rows, columns] };
        check(method, "left matrix", left, turned([self.rows, self.interior], self.transposes[0]));
        check(method, "right matrix", right, turned([self.interior, self.columns], self.transposes[1]));
        check(method, "result matrix", result, [self.rows, self.columns]);
        let most = [left, right, result].map(|matrix| matrix.layout.matrices.saturating_sub(batch.start));
        let count = most.into_iter().min().unwrap_or_default().min(batch.size);
        if count == 0 {
            violation(method, format_args!("no matrix is in the batch from {}", batch.start));
        }
        let mut bindings = Bindings::default();
        for (index, matrix) in [left, right, result].into_iter().enumerate() {
            let offset = matrix.offset + batch.start * matrix.layout.matrix_bytes;
            bindings.put(index, Slot::of_buffer(method, Some(&matrix.buffer), offset));
        }
        bindings.put(3, Slot::Bytes(self.shape(method, [left, right, result]).into()));
        let commands = commands.commands();
        commands.require_no_encoder(method);
        let groups =
            Size { width: self.columns.div_ceil(TILE), height: self.rows.div_ceil(TILE), depth: count };
        let group = Size { width: THREADS, height: 1, depth: 1 };
        let pipeline = (pipeline, UnboundReference::Refused);
        bindings.encode(commands, method, pipeline, &Grid::Threadgroups(groups), group);
    }

    /// The kernel's `Shape`.
    fn shape(&self, method: &str, matrices: [&Placed; 3]) -> Vec<u8> {
        let elements = |bytes: fn(&Placed) -> usize| {
            matrices.map(|matrix| bytes(matrix) / matrix.layout.element.size() as usize)
        };
        let rows = elements(|matrix| matrix.layout.row_bytes);
        let strides = elements(|matrix| matrix.layout.matrix_bytes);
        let sizes = [self.rows, self.columns, self.interior];
        let turns = self.transposes.map(usize::from);
        let numbers = sizes.into_iter().chain(rows).chain(strides).chain(turns);
        let number = |number: usize| {
            u32::try_from(number)
                .unwrap_or_else(|_| violation(method, format_args!("{number} elements are too many")))
        };
        let mut bytes: Vec<u8> = numbers.flat_map(|each| number(each).to_ne_bytes()).collect();
        bytes.extend([self.alpha, self.beta].into_iter().flat_map(f32::to_ne_bytes));
        bytes
    }
}

fn check(method: &str, name: &str, matrix: &Placed, [rows, columns]: [usize; 2]) {
    let layout = &matrix.layout;
    if layout.rows < rows || layout.columns < columns {
        let (has_rows, has_columns) = (layout.rows, layout.columns);
        violation(
            method,
            format_args!("the {name} of {has_rows} by {has_columns} is smaller than {rows} by {columns}"),
        );
    }
}
