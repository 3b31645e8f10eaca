//! The functions that one module needs, each once.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use anymetal_ir::{FpMode, MathFn, Scalar};

use super::{MathDef, library_function, rsqrt_of_positive_normal};

/// Collects definitions and the declarations of the intrinsics that they call. The order of the
/// output depends only on what was asked for.
#[derive(Clone, Debug, Default)]
pub struct Library {
    names: BTreeMap<(MathFn, Scalar, FpMode, u32), String>,
    definitions: BTreeMap<String, String>,
    declares: BTreeSet<String>,
}

impl Library {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes sure that the function is in, and gives its name (without the `@`). Arguments as for
    /// [`library_function`].
    pub fn require(&mut self, function: MathFn, scalar: Scalar, mode: FpMode, width: u32) -> &str {
        let key = (function, scalar, mode, width);
        if let Entry::Vacant(vacant) = self.names.entry(key) {
            let definition = library_function(function, scalar, mode, width);
            vacant.insert(definition.name.clone());
            self.add(definition);
        }
        &self.names[&key]
    }

    /// The same for fast `rsqrt` of `float` numbers that are positive and normal, or NaN.
    pub(crate) fn require_rsqrt_of_positive_normal(&mut self, width: u32) -> String {
        let definition = rsqrt_of_positive_normal(width);
        let name = definition.name.clone();
        self.add(definition);
        name
    }

    fn add(&mut self, definition: MathDef) {
        let mut pending = vec![definition];
        while let Some(definition) = pending.pop() {
            self.declares.extend(definition.declares);
            let before = self.definitions.insert(definition.name.clone(), definition.ir_text);
            debug_assert!(
                before.is_none_or(|text| text == self.definitions[&definition.name]),
                "{} has two definitions",
                definition.name
            );
            pending.extend(definition.depends);
        }
    }

    /// The declaration lines, sorted, without duplicates. Merge them with the module's own: LLVM
    /// refuses a function declared twice.
    pub fn declares(&self) -> impl Iterator<Item = &str> {
        self.declares.iter().map(String::as_str)
    }

    /// The text of all definitions.
    pub fn definitions(&self) -> String {
        self.definitions.values().map(String::as_str).collect()
    }
}
