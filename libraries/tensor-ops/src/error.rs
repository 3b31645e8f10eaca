//! The error of every operation.
//!
//! Owns [`OpError`]. Invariant: a mistake in a call is told before anything runs, with the
//! operation, what it was given, and the rule; only indices that a tensor holds are judged by the
//! device, and told by the next wait.

use crate::dtype::DType;

/// Why an operation has no result.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum OpError {
    /// The shapes do not fit.
    #[error("{operation} of shapes {}: {rule}", list(shapes))]
    Shape {
        /// The operation.
        operation: &'static str,
        /// The shapes of its tensors, in the order of the call.
        shapes: Vec<Vec<usize>>,
        /// What must hold.
        rule: String,
    },
    /// The element types do not fit.
    #[error("{operation} of types {}: {rule}", list(types))]
    Type {
        /// The operation.
        operation: &'static str,
        /// The types of its tensors, in the order of the call.
        types: Vec<DType>,
        /// What must hold.
        rule: String,
    },
    /// An argument that is no tensor is wrong.
    #[error("{operation}: {problem}")]
    Argument {
        /// The operation.
        operation: &'static str,
        /// What is wrong with which argument.
        problem: String,
    },
    /// A tensor of indices has one that names nothing.
    #[error("{operation}: index {index} at element {element} is not below {length}")]
    IndexOutOfRange {
        /// The operation.
        operation: &'static str,
        /// The index, as it was given.
        index: i64,
        /// Where in the tensor of indices, in the order of its elements; of several one of them.
        element: usize,
        /// How many elements the indexed axis has.
        length: usize,
    },
    /// A recording cannot have this.
    #[error("{operation} and a recording: {problem}")]
    Recording {
        /// The operation.
        operation: &'static str,
        /// What does not go together.
        problem: String,
    },
    /// The device or the layer below refused or failed.
    #[error(transparent)]
    Device(#[from] anymetal::Error),
}

impl OpError {
    pub(crate) fn shape(operation: &'static str, shapes: &[&[usize]], rule: impl Into<String>) -> Self {
        let shapes = shapes.iter().map(|shape| shape.to_vec()).collect();
        OpError::Shape { operation, shapes, rule: rule.into() }
    }

    pub(crate) fn dtype(operation: &'static str, types: &[DType], rule: impl Into<String>) -> Self {
        OpError::Type { operation, types: types.to_vec(), rule: rule.into() }
    }

    pub(crate) fn recording(operation: &'static str, problem: impl Into<String>) -> Self {
        OpError::Recording { operation, problem: problem.into() }
    }

    /// A tensor has no elements yet, which the operation needs.
    pub(crate) fn unfinished() -> Self {
        OpError::recording(
            "a call",
            "a tensor of a recording that is not finished is given to another context",
        )
    }

    pub(crate) fn argument(operation: &'static str, problem: impl Into<String>) -> Self {
        OpError::Argument { operation, problem: problem.into() }
    }
}

fn list(of: &[impl std::fmt::Debug]) -> String {
    of.iter().map(|one| format!("{one:?}")).collect::<Vec<_>>().join(" and ")
}
