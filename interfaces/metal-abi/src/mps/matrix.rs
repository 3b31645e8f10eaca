//! `MPSMatrix` and `MPSVector`, with their descriptors: shapes of what lies in a buffer.

use anymetal::reflection::ScalarType;
use objc2::Message;
use objc2::rc::{Allocated, Retained};
use objc2::runtime::NSObject;

use crate::metal::buffer::Buffer;
use crate::metal::device::Device;
use crate::metal::resource_options::ResourceOptions;
use crate::metal::{allocation, violation};

/// `MPSDataTypeFloat32` and `MPSDataTypeFloat16`.
const FLOAT_32: u32 = 0x1000_0000 | 32;
const FLOAT_16: u32 = 0x1000_0000 | 16;
/// `MPSDataTypeInvalid`.
const INVALID: u32 = 0;
/// Rows that a descriptor recommends begin on multiples of that many bytes.
const ROW_ALIGNMENT: usize = 16;

/// The type of elements that a data type stands for: one of the types that products are computed in.
fn scalar_of(data_type: u32) -> ScalarType {
    match data_type {
        FLOAT_32 => ScalarType::F32,
        FLOAT_16 => ScalarType::F16,
        other => violation(
            "MPSMatrixDescriptor dataType",
            format_args!(
                "anymetal multiplies matrices of MPSDataTypeFloat32 and MPSDataTypeFloat16, not {other:#x}"
            ),
        ),
    }
}

fn data_type(element: ScalarType) -> u32 {
    match element {
        ScalarType::F32 => FLOAT_32,
        ScalarType::F16 => FLOAT_16,
        // Of an object that was not initialized.
        _ => INVALID,
    }
}

/// The shape of matrices side by side.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) matrices: usize,
    pub(crate) row_bytes: usize,
    pub(crate) matrix_bytes: usize,
    pub(crate) element: ScalarType,
}

impl Layout {
    /// The bytes from the first element to the end of the last.
    fn bytes(&self) -> Option<usize> {
        let rows = self.rows.checked_sub(1)?.checked_mul(self.row_bytes)?;
        let matrices = self.matrices.checked_sub(1)?.checked_mul(self.matrix_bytes)?;
        let row = self.columns.checked_mul(self.element.size() as usize)?;
        rows.checked_add(matrices)?.checked_add(row)
    }

    /// Checks rows and matrices, for a method that takes them.
    fn check(&self, method: &str) {
        let size = self.element.size() as usize;
        let fits = self.columns.checked_mul(size).is_some_and(|row| self.row_bytes >= row);
        if !fits || !self.row_bytes.is_multiple_of(size) || !self.matrix_bytes.is_multiple_of(size) {
            violation(
                method,
                format_args!(
                    "rows of {} elements of {size} bytes do not fit {} bytes",
                    self.columns, self.row_bytes
                ),
            );
        }
    }
}

fn recommended_row(columns: usize, data_type: u32) -> usize {
    let bytes = columns.saturating_mul(scalar_of(data_type).size() as usize);
    bytes.checked_next_multiple_of(ROW_ALIGNMENT).unwrap_or(usize::MAX)
}

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "MPSMatrixDescriptor"]
    #[ivars = Layout]
    #[derive(Debug)]
    pub(crate) struct MatrixDescriptor;

    impl MatrixDescriptor {
        #[unsafe(method_id(matrixDescriptorWithRows:columns:rowBytes:dataType:))]
        fn with_rows(rows: usize, columns: usize, row_bytes: usize, data_type: u32) -> Retained<MatrixDescriptor> {
            Self::make(Layout { rows, columns, matrices: 1, row_bytes, matrix_bytes: rows.saturating_mul(row_bytes), element: scalar_of(data_type) })
        }

        #[unsafe(method_id(matrixDescriptorWithDimensions:columns:rowBytes:dataType:))]
        fn with_dimensions(rows: usize, columns: usize, row_bytes: usize, data_type: u32) -> Retained<MatrixDescriptor> {
            Self::make(Layout { rows, columns, matrices: 1, row_bytes, matrix_bytes: rows.saturating_mul(row_bytes), element: scalar_of(data_type) })
        }

        #[unsafe(method_id(matrixDescriptorWithRows:columns:matrices:rowBytes:matrixBytes:dataType:))]
        fn with_matrices(rows: usize, columns: usize, matrices: usize, row_bytes: usize, matrix_bytes: usize, data_type: u32) -> Retained<MatrixDescriptor> {
            Self::make(Layout { rows, columns, matrices, row_bytes, matrix_bytes, element: scalar_of(data_type) })
        }

        #[unsafe(method(rowBytesFromColumns:dataType:))]
        fn row_bytes_from(columns: usize, data_type: u32) -> usize {
            recommended_row(columns, data_type)
        }

        #[unsafe(method(rowBytesForColumns:dataType:))]
        fn row_bytes_for(columns: usize, data_type: u32) -> usize {
            recommended_row(columns, data_type)
        }

        #[unsafe(method(rows))]
        fn rows(&self) -> usize { self.ivars().rows }
        #[unsafe(method(columns))]
        fn columns(&self) -> usize { self.ivars().columns }
        #[unsafe(method(matrices))]
        fn matrices(&self) -> usize { self.ivars().matrices }
        #[unsafe(method(dataType))]
        fn data_type(&self) -> u32 { data_type(self.ivars().element) }
        #[unsafe(method(rowBytes))]
        fn row_bytes(&self) -> usize { self.ivars().row_bytes }
        #[unsafe(method(matrixBytes))]
        fn matrix_bytes(&self) -> usize { self.ivars().matrix_bytes }
    }
);

impl MatrixDescriptor {
    fn make(layout: Layout) -> Retained<MatrixDescriptor> {
        layout.check(
            "MPSMatrixDescriptor matrixDescriptorWithRows:columns:matrices:rowBytes:matrixBytes:dataType:",
        );
        crate::foundation::object(layout)
    }
}

/// Matrices in a buffer.
#[derive(Debug)]
pub(crate) struct Placed {
    pub(crate) buffer: Retained<Buffer>,
    pub(crate) offset: usize,
    pub(crate) layout: Layout,
}

impl Placed {
    fn new(method: &str, buffer: &Buffer, offset: usize, layout: Layout) -> Placed {
        let length = buffer.ivars().length;
        let end = layout.bytes().and_then(|bytes| bytes.checked_add(offset));
        if end.is_none_or(|end| end > length) {
            violation(method, format_args!("{layout:?} does not fit a buffer of {length} bytes at {offset}"));
        }
        Placed { buffer: buffer.retain(), offset, layout }
    }

    /// In a buffer of its own.
    fn alone(method: &str, device: &Device, layout: Layout) -> Placed {
        let bytes = layout.bytes().unwrap_or_else(|| violation(method, "the matrix is empty or too large"));
        let buffer = allocation::zeroed(device, bytes, ResourceOptions::default());
        let buffer = buffer.unwrap_or_else(|| violation(method, "there is no memory for the matrix"));
        Placed { buffer, offset: 0, layout }
    }
}

/// A class of what lies in a buffer: how it is made, where it is, and methods of its own.
macro_rules! placed_class {
    ($name:literal, $Class:ident, $Descriptor:ident, { $($own:tt)* }) => {
        define_class!(
            // SAFETY: `NSObject` asks nothing of those below it.
            #[unsafe(super(NSObject))]
            #[name = $name]
            #[ivars = Placed]
            #[derive(Debug)]
            pub(crate) struct $Class;

            impl $Class {
                #[unsafe(method_id(initWithBuffer:descriptor:))]
                fn init_in(this: Allocated<Self>, buffer: &Buffer, descriptor: &$Descriptor) -> Retained<Self> {
                    let method = concat!($name, " initWithBuffer:descriptor:");
                    crate::foundation::initialized(this, Placed::new(method, buffer, 0, *descriptor.ivars()))
                }

                #[unsafe(method_id(initWithBuffer:offset:descriptor:))]
                fn init_at(
                    this: Allocated<Self>,
                    buffer: &Buffer,
                    offset: usize,
                    descriptor: &$Descriptor,
                ) -> Retained<Self> {
                    let method = concat!($name, " initWithBuffer:offset:descriptor:");
                    let placed = Placed::new(method, buffer, offset, *descriptor.ivars());
                    crate::foundation::initialized(this, placed)
                }

                #[unsafe(method_id(initWithDevice:descriptor:))]
                fn init_alone(this: Allocated<Self>, device: &Device, descriptor: &$Descriptor) -> Retained<Self> {
                    let method = concat!($name, " initWithDevice:descriptor:");
                    crate::foundation::initialized(this, Placed::alone(method, device, *descriptor.ivars()))
                }

                #[unsafe(method_id(device))]
                fn device(&self) -> Retained<Device> { self.ivars().buffer.ivars().device.clone() }
                #[unsafe(method_id(data))]
                fn data(&self) -> Retained<Buffer> { self.ivars().buffer.clone() }
                #[unsafe(method(offset))]
                fn offset(&self) -> usize { self.ivars().offset }
                #[unsafe(method(dataType))]
                fn data_type(&self) -> u32 { data_type(self.ivars().layout.element) }
                $($own)*
            }
        );
    };
}

placed_class!("MPSMatrix", Matrix, MatrixDescriptor, {
    #[unsafe(method(rows))]
    fn rows(&self) -> usize {
        self.ivars().layout.rows
    }
    #[unsafe(method(columns))]
    fn columns(&self) -> usize {
        self.ivars().layout.columns
    }
    #[unsafe(method(matrices))]
    fn matrices(&self) -> usize {
        self.ivars().layout.matrices
    }
    #[unsafe(method(rowBytes))]
    fn row_bytes(&self) -> usize {
        self.ivars().layout.row_bytes
    }
    #[unsafe(method(matrixBytes))]
    fn matrix_bytes(&self) -> usize {
        self.ivars().layout.matrix_bytes
    }
});

/// The layout of vectors, as matrices of one column.
fn vectors(length: usize, vectors: usize, vector_bytes: usize, data_type: u32) -> Layout {
    let element = scalar_of(data_type);
    Layout {
        rows: length,
        columns: 1,
        matrices: vectors,
        row_bytes: element.size() as usize,
        matrix_bytes: vector_bytes,
        element,
    }
}

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "MPSVectorDescriptor"]
    #[ivars = Layout]
    #[derive(Debug)]
    pub(crate) struct VectorDescriptor;

    impl VectorDescriptor {
        #[unsafe(method_id(vectorDescriptorWithLength:dataType:))]
        fn with_length(length: usize, data_type: u32) -> Retained<VectorDescriptor> {
            crate::foundation::object(vectors(length, 1, recommended_row(length, data_type), data_type))
        }

        #[unsafe(method_id(vectorDescriptorWithLength:vectors:vectorBytes:dataType:))]
        fn with_vectors(length: usize, count: usize, bytes: usize, data_type: u32) -> Retained<VectorDescriptor> {
            crate::foundation::object(vectors(length, count, bytes, data_type))
        }

        #[unsafe(method(vectorBytesForLength:dataType:))]
        fn vector_bytes_for(length: usize, data_type: u32) -> usize {
            recommended_row(length, data_type)
        }

        #[unsafe(method(length))]
        fn length(&self) -> usize { self.ivars().rows }
        #[unsafe(method(vectors))]
        fn vectors(&self) -> usize { self.ivars().matrices }
        #[unsafe(method(dataType))]
        fn data_type(&self) -> u32 { data_type(self.ivars().element) }
        #[unsafe(method(vectorBytes))]
        fn vector_bytes(&self) -> usize { self.ivars().matrix_bytes }
    }
);

placed_class!("MPSVector", Vector, VectorDescriptor, {
    #[unsafe(method(length))]
    fn length(&self) -> usize {
        self.ivars().layout.rows
    }
    #[unsafe(method(vectors))]
    fn vectors(&self) -> usize {
        self.ivars().layout.matrices
    }
    #[unsafe(method(vectorBytes))]
    fn vector_bytes(&self) -> usize {
        self.ivars().layout.matrix_bytes
    }
});
