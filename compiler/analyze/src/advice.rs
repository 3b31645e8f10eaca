//! What to change, and at which line.

use crate::access::{AccessSite, Operation};
use crate::pattern::Pattern;

/// One sentence for each kind of access that costs more than it must; a line is named once.
pub(crate) fn advice(sites: &[AccessSite]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for site in sites {
        let Some(text) = of(site) else { continue };
        let name = site.variable.as_deref().unwrap_or("memory");
        let text = format!("line {}: `{name}` {text}", site.line);
        if !all.contains(&text) {
            all.push(text);
        }
    }
    all
}

fn of(site: &AccessSite) -> Option<String> {
    if let Some(degree) = site.bank_conflicts.filter(|&degree| u64::from(degree) > site.bytes.div_ceil(4)) {
        return Some(format!(
            "has {degree} words of one bank accessed at once; pad the rows of the array by one word"
        ));
    }
    if site.threadgroup {
        return None;
    }
    match (site.operation, site.pattern) {
        (Operation::Atomic, Pattern::Uniform) => Some(
            "is one atomic for all lanes; reduce in the SIMD-group first and let one lane access it"
                .to_owned(),
        ),
        (Operation::Load | Operation::Store, Pattern::Strided { bytes: Some(by) }) => Some(format!(
            "is accessed with {by} bytes between lanes; let neighbouring threads access neighbouring elements, or \
             stage a tile in threadgroup memory"
        )),
        (Operation::Load | Operation::Store, Pattern::Strided { bytes: None }) => Some(
            "is accessed with a run-time distance between lanes; let the thread's x be the fastest index"
                .to_owned(),
        ),
        _ => None,
    }
}
