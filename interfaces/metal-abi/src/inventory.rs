//! The list of all classes and methods of this crate, for `anymetal doctor --program`.
//!
//! `ANYMETAL_TEST_BLESS=1 cargo test -p anymetal-metal-abi inventory` writes it. The list of functions and
//! constants is a test's of `libmetal`, whose library exports them.

use std::collections::BTreeSet;
use std::path::Path;

use crate::classes;
use crate::runtime::class::Class;

const FILE: &str = "inventory/implemented.txt";

/// Methods that begin so exist only to return an error.
const REFUSED: &str = "newRenderPipelineStateWith";

fn inventory() -> String {
    let mut lines = BTreeSet::new();
    for class in classes::ALL.iter().copied().filter(|class| class.is_implemented()).map(Class::ready) {
        lines.insert(format!("class {}\n", class.name().to_string_lossy()));
        for class in [Some(class), class.metaclass()].into_iter().flatten() {
            let methods = class.body().methods.clone();
            lines.extend(methods.iter().map(|method| {
                let selector = method.selector().name().to_string_lossy().into_owned();
                let kind = if selector.starts_with(REFUSED) { "refused" } else { "method" };
                format!("{kind} {selector}\n")
            }));
        }
    }
    lines.into_iter().collect()
}

#[test]
fn the_inventory_is_that_of_the_source() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(FILE);
    let inventory = inventory();
    if std::env::var_os("ANYMETAL_TEST_BLESS").is_some() {
        std::fs::write(&path, &inventory).expect("it can be written");
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == inventory, "{FILE} is out of date; {} says how to write it", file!());
}
