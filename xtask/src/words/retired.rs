//! The tables of retired words.

/// A word that must not be used any more.
#[derive(Debug)]
pub(super) struct Retired {
    /// The word counts in files whose path contains this; of [`FILES`], in what follows it.
    pub(super) scope: &'static str,
    /// A file or folder name without its ending, directly in the scope if it begins with `/`; or an
    /// identifier, a prefix of one if it ends in `*`.
    pub(super) word: &'static str,
    /// The term that replaces it.
    pub(super) instead: &'static str,
}

const fn row(scope: &'static str, word: &'static str, instead: &'static str) -> Retired {
    Retired { scope, word, instead }
}

/// The IR's passes, in whichever crate they are.
const PASSES: &str = "/src/passes/";
/// Their test files.
const PASS_TESTS: &str = "tests/ir/";
const CODEGEN: &str = "compiler/codegen/";
const DEVICE_CPU: &str = "devices/cpu/src/";
const HAL: &str = "runtime/hal/";
const IR: &str = "compiler/ir/";
const RUNTIME: &str = "runtime/core/src/";
const PARSER: &str = "compiler/msl/src/parser/";
const SEMA: &str = "compiler/msl/src/sema/";
const ANYWHERE: &str = "";

/// Names of files and folders.
pub(super) const FILES: &[Retired] = &[
    row(PASSES, "alike", "hoist_common_code"),
    row(PASSES, "choose", "if_convert"),
    row(PASSES, "pick", "speculate_select_loads"),
    row(PASSES, "forward", "mem2reg"),
    row(PASSES, "split", "sroa"),
    row(PASSES, "cells", "slices"),
    row(PASSES, "reuse", "early_cse"),
    row(PASSES, "hoist", "licm"),
    row(PASSES, "dead", "dce"),
    row(PASSES, "lift", "hoist_divergent_barriers"),
    row(PASSES, "rejoin", "localize_divergent_exits"),
    row(PASSES, "moves", "memcpy_idiom"),
    row(PASSES, "pair", "merge_stores"),
    row(PASSES, "columns", "separable_filter"),
    row(PASSES, "taps", "separable_filter"),
    row(PASSES, "/sums", "split_accumulators"),
    row(PASSES, "advance", "schedule_long_latency"),
    row(PASSES, "divisions", "div_rem_pairs"),
    row(PASSES, "quotients", "uniform_div_versioning"),
    row(PASSES, "slope", "stride"),
    row(PASSES, "worth", "cost_model"),
    row(PASSES, "trips", "trip_count"),
    row(PASS_TESTS, "alike", "hoist_common_code"),
    row(PASS_TESTS, "choose", "if_convert"),
    row(PASS_TESTS, "pick", "speculate_select_loads"),
    row(PASS_TESTS, "forward", "mem2reg"),
    row(PASS_TESTS, "split", "sroa"),
    row(PASS_TESTS, "reuse", "early_cse"),
    row(PASS_TESTS, "hoist", "licm"),
    row(PASS_TESTS, "dead", "dce"),
    row(PASS_TESTS, "lift", "hoist_divergent_barriers"),
    row(PASS_TESTS, "rejoin", "localize_divergent_exits"),
    row(PASS_TESTS, "moves", "memcpy_idiom"),
    row(PASS_TESTS, "pair", "merge_stores"),
    row(PASS_TESTS, "columns", "separable_filter"),
    row(PASS_TESTS, "sums", "split_accumulators"),
    row(PASS_TESTS, "advance", "schedule_long_latency"),
    row(PASS_TESTS, "divisions", "div_rem_pairs"),
    row(PASS_TESTS, "quotients", "uniform_div_versioning"),
    row(CODEGEN, "turned", "lane_order"),
    row(CODEGEN, "windows", "stencil_rows"),
    row(CODEGEN, "window", "stencil_rows"),
    row(CODEGEN, "held", "clamped_rows"),
    row(CODEGEN, "shifted", "lane_shift_reuse"),
    row(CODEGEN, "inside", "interior"),
    row(CODEGEN, "open_windows", "guard_versioning"),
    row(CODEGEN, "full_loop", "unmasked_loop"),
    row(CODEGEN, "counted", "bounded_loops"),
    row(CODEGEN, "near", "permute_gather"),
    row(CODEGEN, "rare", "cold_gather"),
    row(CODEGEN, "adjacent", "contiguity_check"),
    row(CODEGEN, "indexed", "indexed_gather"),
    row(CODEGEN, "together", "interleaved_cache"),
    row(CODEGEN, "tested", "available_checks"),
    row(CODEGEN, "scalar_tests", "mask_predicates"),
    row(CODEGEN, "marks", "wg_uniform"),
    row(CODEGEN, "cut", "form_regions"),
    row(CODEGEN, "crossing", "live_across"),
    row(CODEGEN, "frame", "context_save"),
    row(CODEGEN, "place", "allocation"),
    row(CODEGEN, "cells", "promoted"),
    row(CODEGEN, "streams", "nontemporal"),
    row(CODEGEN, "wishes", "prefetch_queue"),
    row(CODEGEN, "next_tile", "tile_prefetch"),
    row(CODEGEN, "homes", "tiles"),
    row(CODEGEN, "factors", "operands"),
    row(CODEGEN, "pending", "deferred_mma"),
    row(CODEGEN, "parts", "split_module"),
    row(CODEGEN, "quotients", "uniform_div_versioning"),
    row(HAL, "baton", "single_runner"),
    row(HAL, "permits", "semaphore"),
    row(HAL, "left_waker", "waker_slot"),
    row(DEVICE_CPU, "brief", "inline_policy"),
    row(DEVICE_CPU, "running", "execution"),
    row(DEVICE_CPU, "space", "backpressure"),
    row(RUNTIME, "spread", "partition"),
    row(RUNTIME, "picture", "svg"),
    row(RUNTIME, "forward", "dispatcher"),
    row(PARSER, "later", "lazy_body"),
    row(PARSER, "chain", "qualified_name"),
    row(SEMA, "outside", "out_of_line"),
    row(SEMA, "reach", "collect"),
    row("compiler/codegen/src/cpu/emit/", "panel", "panel_microkernel"),
    row("compiler/codegen/src/cpu/emit/", "panels", "panel_calls"),
    row("compiler/codegen/src/cpu/emit/", "conditional", "assumptions"),
    row("compiler/codegen/src/cpu/emit/", "kernel", "microkernel"),
    row("compiler/codegen/src/cpu/emit/", "distance", "pointer_distance"),
];

/// Identifiers of Rust code.
pub(super) const IDENTIFIERS: &[Retired] = &[
    row(ANYWHERE, "MOST_*", "MAX_…"),
    row(ANYWHERE, "LEAST_*", "MIN_…"),
    row(ANYWHERE, "OnwardRead", "PrefetchHint::StreamRead"),
    row(ANYWHERE, "LaterRead", "PrefetchHint::ReadL2"),
    row(ANYWHERE, "Awaited", "PrefetchHint"),
    row(IR, "awaited", "PrefetchHint::Read"),
    row(ANYWHERE, "Baton", "SingleRunner"),
    row(ANYWHERE, "baton", "single_runner"),
    row(ANYWHERE, "Permits", "Semaphore"),
    row(HAL, "permits", "semaphore"),
    row(ANYWHERE, "LeftWaker", "WakerSlot"),
    row(ANYWHERE, "left_waker", "waker_slot"),
    row(DEVICE_CPU, "Brief", "InlinePolicy"),
    row(DEVICE_CPU, "Rhythm", "InlinePolicy"),
    row(CODEGEN, "Turned", "YMajor"),
    row(CODEGEN, "Laned", "Affine"),
    row(CODEGEN, "CellType", "PromotedType"),
    row(CODEGEN, "RareGather", "ColdGather"),
    row(CODEGEN, "Streams", "NonTemporal"),
    row(CODEGEN, "turned", "lane_order"),
    row(CODEGEN, "laned", "affine"),
    row(CODEGEN, "Held", "ClampedRow"),
    row(CODEGEN, "Inside", "Interior"),
    row(CODEGEN, "Way", "InteriorPath"),
    row(CODEGEN, "demands", "preconditions"),
    row(CODEGEN, "open_windows", "guard_versioning"),
    row(CODEGEN, "full_loop", "unmasked_loop"),
    row(CODEGEN, "scalar_tests", "mask_predicates"),
    row(CODEGEN, "Windows", "StencilRows"),
    row(CODEGEN, "Near", "PermuteGather"),
    row(CODEGEN, "Tested", "AvailableChecks"),
    row(CODEGEN, "Together", "InterleavedVector"),
    row(CODEGEN, "Wishes", "PrefetchQueue"),
    row(CODEGEN, "wishes", "prefetch_queue"),
    row(CODEGEN, "next_tile", "tile_prefetch"),
    row(CODEGEN, "Home", "AccumulatorTile"),
    row(CODEGEN, "homes", "tiles"),
    row(CODEGEN, "Panel", "PanelKernel"),
    row(IR, "Quotients", "UniformDivVersioning"),
    row(IR, "Rejoiner", "localize_divergent_exits"),
    row(IR, "Lifter", "hoist_divergent_barriers"),
    row(IR, "Reuser", "early_cse"),
    row(IR, "Picker", "speculate_select_loads"),
    row(IR, "Chooser", "if_convert"),
    row(IR, "Forwarder", "mem2reg"),
    row(IR, "Hoister", "licm"),
    row(RUNTIME, "spread", "partition"),
    row(RUNTIME, "picture", "svg"),
];
