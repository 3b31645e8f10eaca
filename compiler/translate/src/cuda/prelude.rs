//! Functions that CUDA has and Metal lacks. Each stands before the translation if it is called.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use crate::prelude::Prelude;

fn prelude() -> &'static Prelude {
    static PRELUDE: OnceLock<Prelude> = OnceLock::new();
    PRELUDE
        .get_or_init(|| Prelude::new(concat!(include_str!("../math.metal"), include_str!("prelude.metal"))))
}

/// Whether there is such a function here.
pub(super) fn has(name: &str) -> bool {
    prelude().find(name).is_some()
}

/// The hidden parameters that calls of a function pass first.
pub(super) fn needs(name: &str) -> impl Iterator<Item = &'static str> {
    prelude().needs(name)
}

/// The text of functions, in the order of the file.
pub(super) fn text(names: &BTreeSet<String>) -> String {
    let mut out = prelude().text(names);
    if !out.is_empty() {
        out.push('\n');
    }
    out
}
