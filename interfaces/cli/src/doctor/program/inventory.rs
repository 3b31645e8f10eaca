//! The names that `interfaces/metal-abi` implements, and those that Apple declares.

use std::collections::BTreeSet;

/// Written by a test of `anymetal-metal-abi`: lines of a kind and a name.
const IMPLEMENTED: &str = include_str!("../../../../metal-abi/inventory/implemented.txt");

/// Written by a test of `anymetal-libmetal`, likewise.
const SYMBOLS: &str = include_str!("../../../../metal-abi/inventory/symbols.txt");

/// Written by `cargo xtask libmetal --declared` from `objc2-metal`, likewise.
const DECLARED: &str = include_str!("../../../../metal-abi/inventory/declared.txt");

/// Prefixes of the functions of the runtime and of Grand Central Dispatch.
const RUNTIME_PREFIXES: [&str; 20] = [
    "_Block_",
    "_NSConcrete",
    "__gnustep_",
    "__objc_",
    "_dispatch_",
    "class_",
    "dispatch_",
    "imp_",
    "ivar_",
    "kCF",
    "kCG",
    "mach_absolute_",
    "mach_timebase_",
    "method_get",
    "objc_",
    "object_get",
    "object_set",
    "property_get",
    "protocol_",
    "sel_",
];

/// Prefixes of the functions and constants of the frameworks; a word follows (`NSLog`, not `NSS_Init`).
const FRAMEWORK_PREFIXES: [&str; 5] = ["CF", "CG", "MPS", "MTL", "NS"];

/// The names by kind.
#[derive(Debug)]
pub(super) struct Inventory {
    classes: BTreeSet<&'static str>,
    selectors: BTreeSet<&'static str>,
    refused: BTreeSet<&'static str>,
    symbols: BTreeSet<&'static str>,
    declared_classes: BTreeSet<&'static str>,
    declared_selectors: BTreeSet<&'static str>,
}

impl Inventory {
    pub(super) fn of_this_version() -> Inventory {
        let named = |text: &'static str, kind: &str| {
            let name = move |line: &'static str| line.strip_prefix(kind)?.strip_prefix(' ');
            text.lines().filter_map(name).collect::<BTreeSet<_>>()
        };
        Inventory {
            classes: named(IMPLEMENTED, "class"),
            selectors: named(IMPLEMENTED, "method"),
            refused: named(IMPLEMENTED, "refused"),
            symbols: named(SYMBOLS, "symbol"),
            declared_classes: named(DECLARED, "class"),
            declared_selectors: named(DECLARED, "method"),
        }
    }

    pub(super) fn has_class(&self, name: &str) -> bool {
        self.classes.contains(name)
    }

    pub(super) fn has_selector(&self, name: &str) -> bool {
        self.selectors.contains(name)
    }

    /// Whether the method exists only to return an error.
    pub(super) fn refuses(&self, name: &str) -> bool {
        self.refused.contains(name)
    }

    pub(super) fn has_symbol(&self, name: &str) -> bool {
        self.symbols.contains(name)
    }

    /// Whether the runtime or a framework of Apple's would have the symbol.
    pub(super) fn is_of_framework(name: &str) -> bool {
        let is_word = |rest: &str| {
            let mut characters = rest.chars();
            characters.next().is_some_and(|first| first.is_ascii_uppercase())
                && characters.next().is_some_and(|second| second.is_ascii_lowercase())
        };
        RUNTIME_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
            || FRAMEWORK_PREFIXES.iter().any(|prefix| name.strip_prefix(prefix).is_some_and(is_word))
    }

    /// Whether a string of a program is the name of a class that Apple declares or that is here.
    pub(super) fn is_class(&self, text: &str) -> bool {
        self.declared_classes.contains(text) || self.classes.contains(text)
    }

    /// Whether a string of a program is a selector with arguments that Apple declares or that is here. Those
    /// without arguments are words that programs contain for other reasons.
    pub(super) fn is_selector(&self, text: &str) -> bool {
        text.ends_with(':') && (self.declared_selectors.contains(text) || self.selectors.contains(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_frameworks_are_told_from_others() {
        for name in [
            "objc_msgSend",
            "MTLCreateSystemDefaultDevice",
            "NSLog",
            "_Block_copy",
            "dispatch_async",
            "CFRelease",
        ] {
            assert!(Inventory::is_of_framework(name), "{name}");
        }
        for name in ["malloc", "CFLAGS", "method", "NSS_Init", "CGx", "MTLx", "object_store"] {
            assert!(!Inventory::is_of_framework(name), "{name}");
        }
    }
}
