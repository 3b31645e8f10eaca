//! How much text LLVM is to inline.
//!
//! Functions of the library are `alwaysinline`, so LLVM's time depends on how often they are called, not only
//! on the text that it reads: a thousand calls of `pow` are five megabytes. Invariant: the text that inlining
//! adds to a module is at most [`MAX_INLINED_BYTES`]; past it the functions that add the most are called.

use std::collections::{BTreeMap, BTreeSet};

use crate::limits::cpu::MAX_INLINED_BYTES;

/// The module with as much inlined as the budget allows.
pub(super) fn limit_inlining(text: String) -> String {
    let called = functions_to_call(&text, MAX_INLINED_BYTES);
    if called.is_empty() {
        return text;
    }
    let mut limited = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        match inlined_name(line).filter(|name| called.contains(name)) {
            Some(_) => limited.push_str(&line.replacen(" alwaysinline", " noinline", 1)),
            None => limited.push_str(line),
        }
    }
    limited
}

/// The name of the function that a line starts to define, if it is always inlined.
fn inlined_name(line: &str) -> Option<&str> {
    let header = line.strip_prefix("define ").filter(|header| header.contains(" alwaysinline"))?;
    let (_, after) = header.split_once('@').expect("a definition has a name");
    after.split_once('(').map(|(name, _)| name)
}

/// The functions that are to be called so that inlining the others adds at most `max` bytes.
fn functions_to_call(text: &str, max: usize) -> BTreeSet<&str> {
    let mut sizes: BTreeMap<&str, usize> = BTreeMap::new();
    let mut inlined = None;
    for line in text.split_inclusive('\n') {
        if line.starts_with("define ") {
            inlined = inlined_name(line);
        }
        if let Some(name) = inlined {
            *sizes.entry(name).or_default() += line.len();
        }
        if line.starts_with('}') {
            inlined = None;
        }
    }
    let mut added: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, _) in text.match_indices("call ") {
        let call = text[at..].split('\n').next().unwrap_or_default();
        let callee = call.split_once('@').and_then(|(_, after)| after.split_once('(')).map(|(name, _)| name);
        if let Some((&name, size)) = callee.and_then(|name| sizes.get_key_value(name)) {
            *added.entry(name).or_default() += size;
        }
    }
    let mut total: usize = added.values().sum();
    let mut largest: Vec<(usize, &str)> = added.into_iter().map(|(name, bytes)| (bytes, name)).collect();
    largest.sort_unstable_by(|a, b| b.cmp(a));
    let mut called = BTreeSet::new();
    for (bytes, name) in largest {
        if total <= max {
            break;
        }
        total -= bytes;
        called.insert(name);
    }
    called
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "define void @k() {\n  call void @big()\n  call void @big()\n  call void @small()\n}\n\
        define internal void @big() alwaysinline nounwind {\n  ; a long body\n  ret void\n}\n\
        define internal void @small() alwaysinline nounwind {\n  ret void\n}\n";

    #[test]
    fn the_functions_that_add_the_most_are_called() {
        assert_eq!(functions_to_call(TEXT, 1000), BTreeSet::new());
        assert_eq!(functions_to_call(TEXT, 100), BTreeSet::from(["big"]));
        assert_eq!(functions_to_call(TEXT, 10), BTreeSet::from(["big", "small"]));
    }

    #[test]
    fn a_module_within_the_budget_is_unchanged() {
        assert_eq!(limit_inlining(TEXT.to_owned()), TEXT);
    }
}
