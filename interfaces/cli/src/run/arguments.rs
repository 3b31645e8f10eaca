//! Matching what the command line gives to what the kernel takes.
//!
//! Owns [`Bound`]. Invariant: when [`bind`] succeeds, every enabled buffer argument is given exactly once,
//! with elements of its type, and its buffer exists; nothing has been read but the headers of files.

use anymetal::reflection::{Access, ArgumentInfo, ArgumentKind, ElementType, KernelInfo, ScalarType};
use anymetal::texture::BindingRole;
use anymetal::{Buffer, Device};

use super::contents::Contents;
use super::spec::{ArgumentSpec, Spec};
use crate::failure::Failure;

/// An argument with its buffer.
#[derive(Debug)]
pub(crate) struct Bound {
    /// The Metal index.
    pub(crate) index: u32,
    /// The buffer; `None`: nothing is bound, on purpose.
    pub(crate) buffer: Option<Buffer<u8>>,
    /// What the buffer holds before a launch.
    pub(crate) contents: Contents,
    access: Access,
}

impl Bound {
    /// Whether a launch may change the buffer.
    pub(crate) fn is_written(&self) -> bool {
        self.access != Access::Read
    }

    /// Gives the buffer its contents.
    pub(crate) fn fill(&self) -> Result<(), Failure> {
        match &self.buffer {
            Some(buffer) => self.contents.write_to(buffer),
            None => Ok(()),
        }
    }
}

/// Finds each specification's argument and makes its buffer.
pub(crate) fn bind(
    kernel: &KernelInfo,
    specs: &[ArgumentSpec],
    device: &Device,
) -> Result<Vec<Bound>, Failure> {
    let mut bound: Vec<Bound> = Vec::with_capacity(specs.len());
    for ArgumentSpec { which, spec } in specs.iter().filter(|given| given.spec.is_buffer()) {
        let argument = which.find(kernel, ArgumentKind::Buffer)?;
        if bound.iter().any(|bound| bound.index == argument.index) {
            return Err(Failure::Input(format!(
                "argument {} `{}` is given twice",
                argument.index, argument.name
            )));
        }
        let describe = |problem: String| {
            let (index, name) = (argument.index, &argument.name);
            Failure::Input(format!("kernel `{}`: argument {index} `{name}`: {problem}", kernel.name))
        };
        let padded = padded_values(argument, spec);
        let spec = padded.as_ref().unwrap_or(spec);
        if argument.is_function_table() != matches!(spec, Spec::Functions(_)) && *spec != Spec::Unbound {
            let what = match argument.is_function_table() {
                true => "it is a table of visible functions: write functions:NAME[,NAME…]",
                false => "it is no table of visible functions",
            };
            return Err(describe(what.to_owned()));
        }
        let contents = Contents::open(spec).map_err(describe)?;
        check_type(argument, spec, &contents).map_err(describe)?;
        let buffer = match spec {
            Spec::Unbound => None,
            _ => Some(allocate(device, &contents).map_err(describe_allocation(argument))?),
        };
        bound.push(Bound { index: argument.index, buffer, contents, access: argument.access });
    }
    let missing = kernel.arguments.iter().filter(|argument| {
        argument.enabled
            && argument.kind == ArgumentKind::Buffer
            && argument.role() == BindingRole::Buffer
            && !bound.iter().any(|bound| bound.index == argument.index)
    });
    let missing: Vec<String> = missing.map(describe_missing).collect();
    if !missing.is_empty() {
        return Err(Failure::Input(format!("kernel `{}`: {}", kernel.name, missing.join("; "))));
    }
    Ok(bound)
}

fn describe_missing(argument: &ArgumentInfo) -> String {
    let pointer = if argument.is_reference { "&" } else { "*" };
    let ArgumentInfo { index, name, type_name, .. } = argument;
    format!("argument {index} `{name}` (`{type_name}{pointer}`) is missing")
}

fn allocate(device: &Device, contents: &Contents) -> Result<Buffer<u8>, anymetal::Error> {
    let count = usize::try_from(contents.bytes());
    let count = count.map_err(|_| anymetal::Error::TooManyElements { count: usize::MAX, element_size: 1 })?;
    device.buffer_zeroed(count)
}

/// The device's own message, with the argument's name.
fn describe_allocation(argument: &ArgumentInfo) -> impl Fn(anymetal::Error) -> Failure {
    let (index, name) = (argument.index, argument.name.clone());
    move |error| match error.class() {
        anymetal::error::ErrorClass::Caller => Failure::Input(format!("argument {index} `{name}`: {error}")),
        _ => Failure::Refused(error),
    }
}

/// The type of an argument's elements. `None` if it takes any: structures, matrices and arrays, whose layout
/// is the caller's, and pointers to bytes, which is how programs declare memory whose type they choose
/// themselves.
pub(super) fn declared_type(argument: &ArgumentInfo) -> Option<ScalarType> {
    match argument.element {
        ElementType::Scalar(ScalarType::I8 | ScalarType::U8) if !argument.is_reference => None,
        ElementType::Scalar(declared) | ElementType::Vector(declared, _) => Some(declared),
        ElementType::Struct(_) | ElementType::Other => None,
    }
}

/// Three values for one element of a vector of three, which takes the room of four: with a zero in the
/// fourth.
fn padded_values(argument: &ArgumentInfo, spec: &Spec) -> Option<Spec> {
    let (ElementType::Vector(_, 3), Spec::Values(scalar, values)) = (&argument.element, spec) else {
        return None;
    };
    let is_padded = values.len() == 3 && argument.element_size == u64::from(4 * scalar.size());
    is_padded.then(|| Spec::Values(*scalar, values.iter().copied().chain([0]).collect()))
}

/// Elements must have the declared type.
fn check_type(argument: &ArgumentInfo, spec: &Spec, contents: &Contents) -> Result<(), String> {
    let Some(given) = contents.scalar() else { return check_bytes(argument, spec, contents) };
    let Some(declared) = declared_type(argument) else {
        // The layout is the caller's, the size is not.
        return match spec {
            Spec::Values(scalar, values) if argument.is_reference => {
                check_count(argument, values.len() as u64, argument.element_size / u64::from(scalar.size()))
            }
            _ => Ok(()),
        };
    };
    if given != declared {
        // NumPy's own 16-bit integers may hold bfloat16 bits; NumPy has no other way.
        let raw_bfloat =
            declared == ScalarType::BF16 && given == ScalarType::U16 && matches!(spec, Spec::Npy(_));
        if !raw_bfloat {
            return Err(format!(
                "its elements are `{}` ({}), but {} was given",
                argument.type_name,
                declared.name(),
                given.name()
            ));
        }
    }
    if let Spec::Values(scalar, values) = spec {
        check_count(argument, values.len() as u64, argument.element_size / u64::from(scalar.size()))?;
    }
    if let ElementType::Vector(_, lanes) = argument.element {
        let padded = lanes == 3 && argument.element_size == u64::from(4 * declared.size());
        if padded && contents.shape().is_some_and(|shape| shape.len() > 1 && shape.last() == Some(&3)) {
            return Err(format!(
                "a `{}` takes the room of four elements: give the array a last dimension of 4, or declare \
                 packed_{}",
                argument.type_name, argument.type_name
            ));
        }
    }
    Ok(())
}

/// The values of an argument must make up whole elements of `values` values each; a reference takes one
/// element.
fn check_count(argument: &ArgumentInfo, given: u64, values: u64) -> Result<(), String> {
    let whole = values > 0 && given.is_multiple_of(values);
    if whole && (!argument.is_reference || given == values) {
        return Ok(());
    }
    let plural = if values == 1 { "" } else { "s" };
    let room = match argument.element {
        ElementType::Vector(_, 3) if values == 4 => {
            ", the last for nothing; three alone will do for one element"
        }
        _ => "",
    };
    Err(format!("a `{}` has {values} value{plural}{room}, but {given} were given", argument.type_name))
}

/// Raw bytes must make up whole elements of a reference; the length of other buffers is not checked.
fn check_bytes(argument: &ArgumentInfo, spec: &Spec, contents: &Contents) -> Result<(), String> {
    if matches!(spec, Spec::Unbound) || !argument.is_reference || contents.bytes() == argument.element_size {
        return Ok(());
    }
    let (type_name, size) = (&argument.type_name, argument.element_size);
    Err(format!("`{type_name}&` takes {size} bytes, but {} were given", contents.bytes()))
}
