//! Values for function constants that were not given, so that a file can be checked as a whole.
//!
//! Metal compiles a library without them, too: they matter when a pipeline is made. `run` never guesses.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use anymetal_driver::hal::artifact::{ElementType, ScalarType};
use anymetal_driver::{CompileError, ConstantKey, ConstantValue, Specialisation};

/// The constants that got a value of ours, over all kernels.
#[derive(Debug, Default)]
pub(super) struct StandIns {
    given: Mutex<BTreeSet<(u32, String)>>,
}

impl StandIns {
    /// Compiles; once more, with values of ours, if all that is missing are values.
    pub(super) fn fill<T>(
        &self,
        specialisation: &Specialisation,
        compile: impl Fn(&Specialisation) -> Result<T, CompileError>,
    ) -> Result<T, CompileError> {
        let missing = match compile(specialisation) {
            Err(CompileError::MissingConstants { missing, .. }) => missing,
            other => return other,
        };
        let mut filled = specialisation.clone();
        for constant in missing {
            filled.constants.extend(values(constant.index, &constant.element));
            let described = format!("`{} {}` (index {})", constant.type_name, constant.name, constant.index);
            self.given.lock().unwrap_or_else(PoisonError::into_inner).insert((constant.index, described));
        }
        compile(&filled)
    }

    /// One line for stderr, if there is something to say.
    pub(super) fn report(&self) {
        let given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        if given.is_empty() {
            return;
        }
        let names: Vec<&str> = given.iter().map(|(_, described)| described.as_str()).collect();
        eprintln!(
            "note: compiled with stand-ins (true, 2) for function constants without a value: {}; \
             give them with --constant",
            names.join(", ")
        );
    }
}

/// `true` and 2 switch on most code.
fn values(index: u32, element: &ElementType) -> Vec<(ConstantKey, ConstantValue)> {
    let value = |scalar: ScalarType| match scalar {
        ScalarType::Bool => ConstantValue::from(true),
        _ => ConstantValue::from(2),
    };
    let whole = ConstantKey::Index(index);
    match *element {
        ElementType::Vector(scalar, lanes) => {
            let component = |lane| (ConstantKey::Component(Box::new(whole.clone()), lane), value(scalar));
            (0..lanes).map(component).collect()
        }
        ElementType::Scalar(scalar) => vec![(whole, value(scalar))],
        _ => vec![(whole, ConstantValue::from(2))],
    }
}
