//! Numbers and lists of numbers as arguments: to the bytes that the kernel declares.
//!
//! Owns [`Casts`], the keyword `arg_casts`, and the conversions. Invariant: without a cast a number
//! has the type that the kernel's own signature has; what that type cannot hold is an exception.

use anymetal::argument::Scalar;
use anymetal::reflection::{ArgumentInfo, ElementType, ScalarType};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString};

use crate::element::cast_named;
use crate::items::items_of;

/// Types that numbers are to have instead of the declared ones: all, or by position.
#[derive(Debug, Default)]
pub(crate) struct Casts {
    all: Option<ScalarType>,
    each: Vec<(usize, ScalarType)>,
}

impl Casts {
    /// A word, or a dictionary from positions to words.
    pub(crate) fn of(given: Option<&Bound<'_, PyAny>>) -> PyResult<Casts> {
        let Some(given) = given else { return Ok(Casts::default()) };
        if let Ok(word) = given.cast::<PyString>() {
            return Ok(Casts { all: Some(cast(&word.to_string())?), each: Vec::new() });
        }
        let Ok(each) = given.cast::<PyDict>() else {
            return Err(PyTypeError::new_err(
                "`arg_casts` is a word such as \"int32\", or a dictionary from positions to words",
            ));
        };
        let one = |(position, word): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
            Ok((position.extract::<usize>()?, cast(&word.extract::<String>()?)?))
        };
        Ok(Casts { all: None, each: each.iter().map(one).collect::<PyResult<_>>()? })
    }

    fn at(&self, position: usize) -> Option<ScalarType> {
        self.each.iter().find(|(at, _)| *at == position).map(|(_, scalar)| *scalar).or(self.all)
    }

    /// The bytes of a number or list for the argument at that position, at most `limit` for a list.
    pub(crate) fn bytes(
        &self,
        value: &Bound<'_, PyAny>,
        position: usize,
        argument: &ArgumentInfo,
        limit: usize,
    ) -> PyResult<Vec<u8>> {
        let cast = self.at(position);
        match number(value)? {
            Some(number) => {
                let declared = match argument.element {
                    ElementType::Scalar(scalar) => Some(scalar),
                    ElementType::Vector(..) | ElementType::Struct(_) | ElementType::Other => None,
                };
                let Some(scalar) = cast.or(declared) else {
                    return Err(PyTypeError::new_err(format!(
                        "argument {position} (`{}`) is a `{}`; give a list of its elements, `bytes`, or an array, \
                         not one number",
                        argument.name, argument.type_name
                    )));
                };
                to_bytes(number, scalar, cast.is_some(), position, argument)
            }
            None => self.list(value, cast, position, argument, limit),
        }
    }

    fn list(
        &self,
        value: &Bound<'_, PyAny>,
        cast: Option<ScalarType>,
        position: usize,
        argument: &ArgumentInfo,
        limit: usize,
    ) -> PyResult<Vec<u8>> {
        let mut numbers = Vec::new();
        // Each number has a byte at least.
        for item in items_of(value, limit, &format!("argument {position} (`{}`)", argument.name))? {
            let number = number(&item)?.ok_or_else(|| {
                let kind = item.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
                PyTypeError::new_err(format!(
                    "argument {position} (`{}`) is a list of numbers with a {kind} in it; lists hold numbers, or arrays \
                     whose addresses the kernel is given",
                    argument.name
                ))
            })?;
            numbers.push(number);
        }
        let first = *numbers.first().ok_or_else(|| {
            PyValueError::new_err(format!("argument {position} (`{}`) is an empty list", argument.name))
        })?;
        let (scalar, padded) = match (cast, &argument.element) {
            (None, ElementType::Vector(scalar, lanes)) => {
                let lanes = usize::from(*lanes);
                if argument.is_reference && numbers.len() != lanes {
                    return Err(PyValueError::new_err(format!(
                        "argument {position} (`{}`) is a `{}`: {lanes} numbers, not {}",
                        argument.name,
                        argument.type_name,
                        numbers.len()
                    )));
                }
                return vectors(&numbers, *scalar, lanes, position, argument);
            }
            (None, ElementType::Scalar(scalar)) => (*scalar, 0),
            (Some(scalar), _) => (scalar, argument.min_bytes as usize),
            // What PyTorch passes for lists without a cast.
            (None, _) if matches!(first, Scalar::Float(_)) => (ScalarType::F32, 0),
            (None, _) => (ScalarType::I64, 0),
        };
        let mut bytes = Vec::with_capacity(numbers.len() * scalar.size() as usize);
        for number in numbers {
            bytes.extend(to_bytes(number, scalar, cast.is_some(), position, argument)?);
        }
        // A vector of three takes the room of four.
        let short_vector = matches!(argument.element, ElementType::Vector(_, 3)) && bytes.len() < padded;
        if short_vector {
            bytes.resize(padded, 0);
        }
        Ok(bytes)
    }
}

/// Vectors one after the other, each with the room that the kernel's type takes.
fn vectors(
    numbers: &[Scalar],
    scalar: ScalarType,
    lanes: usize,
    position: usize,
    argument: &ArgumentInfo,
) -> PyResult<Vec<u8>> {
    let mut bytes = Vec::new();
    for vector in numbers.chunks(lanes) {
        let start = bytes.len();
        for &number in vector {
            bytes.extend(to_bytes(number, scalar, false, position, argument)?);
        }
        bytes.resize(start + argument.element_size as usize, 0);
    }
    Ok(bytes)
}

/// A number, if it is one.
fn number(value: &Bound<'_, PyAny>) -> PyResult<Option<Scalar>> {
    if let Ok(truth) = value.cast::<PyBool>() {
        return Ok(Some(Scalar::Bool(truth.is_true())));
    }
    if value.is_instance_of::<PyInt>() {
        return integer(value).map(Some);
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(Some(Scalar::Float(value.extract()?)));
    }
    // A scalar of NumPy.
    if value.hasattr("item")? && value.hasattr("dtype")? {
        // `item` of a date or duration is an integer for some units.
        if let Some(kind) = value.getattr("dtype")?.getattr_opt("kind")?
            && kind.extract::<String>().is_ok_and(|kind| !matches!(&*kind, "b" | "i" | "u" | "f"))
        {
            return Ok(None);
        }
        let item = value.call_method0("item")?;
        if !item.is(value) && (item.is_instance_of::<PyInt>() || item.is_instance_of::<PyFloat>()) {
            return number(&item);
        }
    }
    Ok(None)
}

/// Whether it is a number or a list, to be passed by value.
pub(crate) fn is_value(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PyInt>()
        || value.is_instance_of::<PyFloat>()
        || value.is_instance_of::<pyo3::types::PyList>()
        || value.is_instance_of::<pyo3::types::PyTuple>()
}

fn integer(value: &Bound<'_, PyAny>) -> PyResult<Scalar> {
    if let Ok(number) = value.extract::<i64>() {
        return Ok(Scalar::Integer(number.into()));
    }
    value.extract::<u64>().map(|number| Scalar::Integer(number.into())).map_err(|_| {
        PyOverflowError::new_err(format!("{value} does not fit the 64 bits of a kernel's argument"))
    })
}

/// The bytes of a number as that type. A cast takes what C takes: fractions are cut off.
fn to_bytes(
    number: Scalar,
    scalar: ScalarType,
    is_cast: bool,
    position: usize,
    argument: &ArgumentInfo,
) -> PyResult<Vec<u8>> {
    let is_float = matches!(scalar, ScalarType::F16 | ScalarType::BF16 | ScalarType::F32);
    let number = match number {
        Scalar::Integer(value) if is_float => Scalar::Float(value as f64),
        Scalar::Integer(value @ (0 | 1)) if scalar == ScalarType::Bool => Scalar::Bool(value == 1),
        Scalar::Bool(value) if is_float => Scalar::Float(f64::from(u8::from(value))),
        Scalar::Bool(value) if scalar != ScalarType::Bool => Scalar::Integer(i128::from(value)),
        Scalar::Float(value) if is_cast && !is_float && value.is_finite() => Scalar::Integer(value as i128),
        same => same,
    };
    number.to_bytes(scalar).ok_or_else(|| {
        let (name, msl) = (&argument.name, scalar.msl_name());
        let (shown, hint) = match number {
            Scalar::Float(value) => (
                format!("{value:?}"),
                format!("; give an int, or cast it with arg_casts={{{position}: \"int32\"}}"),
            ),
            Scalar::Integer(value) => (value.to_string(), String::new()),
            Scalar::Bool(value) => (value.to_string(), String::new()),
        };
        let message = format!("argument {position} (`{name}`) is a `{msl}`, which has no {shown}{hint}");
        match number {
            Scalar::Integer(_) => PyOverflowError::new_err(message),
            Scalar::Float(_) | Scalar::Bool(_) => PyTypeError::new_err(message),
        }
    })
}

fn cast(word: &str) -> PyResult<ScalarType> {
    cast_named(word).ok_or_else(|| {
        PyValueError::new_err(format!(
            "`arg_casts` has no `{word}`; there are fp16, bf16, fp32, bool, int8, int16, int32, int64, uint8, \
             uint16, uint32, uint64"
        ))
    })
}
