//! Special cases of the CPU's code generator, each of which can be switched off like a pass.
//!
//! Owns [`Feature`]: the name that `--disable-pass` takes, and the files of each. They are listed here, not
//! in the code generator, because [`PassOptions`](crate::PassOptions) has the switches and is part of the
//! keys of caches. Invariant: without any of them the code computes the same results.

/// Declares features: the variant, its name, one line, and its files below `compiler/`.
macro_rules! features {
    ($($variant:ident = $name:literal, $summary:literal, [$($file:literal),* $(,)?];)*) => {
        /// A special case of the CPU's code generator.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Feature {
            $(#[doc = $summary] $variant,)*
        }

        impl Feature {
            /// All features.
            pub const ALL: &[Feature] = &[$(Feature::$variant),*];

            /// The name that `--disable-pass` takes: `codegen:bundles`.
            pub fn name(self) -> &'static str {
                match self {
                    $(Feature::$variant => concat!("codegen:", $name),)*
                }
            }

            /// Its purpose, in one line.
            pub fn summary(self) -> &'static str {
                match self {
                    $(Feature::$variant => $summary,)*
                }
            }

            /// The files and folders below `compiler/` that implement nothing else.
            pub fn files(self) -> &'static [&'static str] {
                match self {
                    $(Feature::$variant => &[$($file),*],)*
                }
            }
        }
    };
}

features! {
    StencilRows = "stencil_rows",
        "Load the neighbours of a stencil's row together, after one check.",
        ["simd/src/stencil_rows.rs", "codegen/src/cpu/emit/stencil_rows.rs"];
    ClampedRows = "clamped_rows",
        "Load stencil rows of which some lanes are clamped by permuting a short stretch.",
        ["codegen/src/cpu/emit/clamped_rows.rs"];
    GuardVersioning = "guard_versioning",
        "Check several stencil rows at once, and emit the code after them once without checks.",
        ["codegen/src/cpu/emit/guard_versioning.rs"];
    Interior = "interior",
        "Emit a version without checks for the threadgroups in a stencil's interior.",
        [
            "simd/src/interior.rs",
            "simd/src/interior_path.rs",
            "simd/src/polynomial.rs",
            "codegen/src/cpu/emit/interior.rs",
        ];
    Bundles = "bundles",
        "Do the loads of a thread at constant distances with one wide load per lane.",
        ["simd/src/bundles.rs", "codegen/src/cpu/emit/bundle.rs"];
    LoopPredication = "loop_predication",
        "Check the accesses of a counted loop for its first and last iteration, before it.",
        ["simd/src/loop_predication.rs", "codegen/src/cpu/emit/loop_predication.rs"];
    ContiguityCheck = "contiguity_check",
        "Test at run time whether the lanes of a gather or scatter are contiguous.",
        // Its file also has the form of addresses that other features use.
        [];
    PermuteGather = "permute_gather",
        "With AVX-512, permute gathered lanes out of a short stretch if a run-time test finds them there.",
        ["codegen/src/cpu/emit/permute_gather.rs"];
    IndexedGather = "indexed_gather",
        "Gather and scatter by a base and 32-bit indices where the processor has no fast gather.",
        ["codegen/src/cpu/emit/indexed_gather.rs"];
    ColdGather = "cold_gather",
        "Call one function for gathers that are rarely needed.",
        ["codegen/src/cpu/emit/cold_gather.rs"];
    StorePieces = "store_pieces",
        "Store strided lanes as one vector per contiguous run.",
        [];
    QuarterTranspose = "quarter_transpose",
        "Without AVX-512, transpose vectors of four within 128-bit quarters.",
        [];
    InterleavedCache = "interleaved_cache",
        "Store vectors that were only moved in the interleaved form in which they were loaded.",
        ["codegen/src/cpu/emit/interleaved_cache.rs"];
    NonTemporal = "nontemporal",
        "Store large outputs past the caches.",
        ["codegen/src/cpu/emit/nontemporal.rs"];
    DeferredProducts = "deferred_products",
        "Collect matrix products and multiply blocks of them, with sums kept in rows.",
        [
            "codegen/src/cpu/emit/matrix/accumulator_tiles.rs",
            "codegen/src/cpu/emit/matrix/chains.rs",
            "codegen/src/cpu/emit/matrix/deferred_mma.rs",
            "codegen/src/cpu/emit/matrix/microkernel.rs",
        ];
    MatrixPanels = "matrix_panels",
        "Multiply all rows of a SIMD-group's matrices by one micro-kernel.",
        [
            "codegen/src/cpu/emit/matrix/panel_calls.rs",
            "codegen/src/cpu/emit/matrix/panel_microkernel.rs",
            "codegen/src/cpu/emit/matrix/pointer_distance.rs",
        ];
    UnmaskedLoop = "unmasked_loop",
        "Emit a copy of a loop without masks for the iterations in which all lanes are active.",
        ["codegen/src/cpu/emit/unmasked_loop.rs"];
    AllActiveCopies = "all_active_copies",
        "Emit a copy of guarded code for the case that all lanes are active.",
        [];
    ExecutedGroup = "executed_group",
        "Execute grids of small square threadgroups in rows of whole SIMD-groups.",
        ["codegen/src/cpu/executed_group.rs"];
    LaneOrder = "lane_order",
        "Run the lanes of a SIMD-group along y where kernels access rows by x.",
        ["simd/src/lane_order.rs"];
    Subroutines = "subroutines",
        "Keep the calls of large functions in large kernels.",
        ["codegen/src/cpu/emit/subroutine", "codegen/src/cpu/emit/call.rs", "opt/src/selective_inline.rs"];
}

impl Feature {
    /// The feature of that name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|feature| feature.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::pass_names;

    #[test]
    fn features_have_names_that_no_pass_has() {
        for &feature in Feature::ALL {
            assert_eq!(Feature::by_name(feature.name()), Some(feature));
            assert!(
                feature.name().starts_with("codegen:") && !pass_names().any(|name| name == feature.name())
            );
        }
    }
}
