//! The attributes that the front end knows, by name without surrounding underscores, and what each one means.
//!
//! Invariant: an attribute that changes what a program computes or how its data are laid out is either
//! carried out or refused; only the others may be dropped.

/// What becomes of an attribute.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Meaning {
    /// Says nothing that changes a result: inlining, warnings, visibility.
    Harmless,
    /// Metal's own, kept in the syntax tree for whoever needs it.
    Metal,
    /// `packed`
    Packed,
    /// `aligned(n)`
    Aligned,
    /// `ext_vector_type(n)`
    ExtVector,
    /// Changes what a declaration means and is not supported.
    Refused,
}

use Meaning::{Aligned, ExtVector, Harmless, Metal, Packed, Refused};

/// In the order of the names.
const TABLE: &[(&str, Meaning)] = &[
    ("accept_intersection", Metal),
    ("access", Harmless),
    ("address_space", Refused),
    ("alias", Refused),
    ("alias_implicit_imageblock", Metal),
    ("alias_implicit_imageblock_color", Metal),
    ("align_value", Harmless),
    ("aligned", Aligned),
    ("alloc_size", Harmless),
    ("always_inline", Harmless),
    ("amplification_count", Metal),
    ("amplification_id", Metal),
    ("annotate", Harmless),
    ("artificial", Harmless),
    ("assume", Harmless),
    ("assume_aligned", Harmless),
    ("attribute", Metal),
    ("availability", Harmless),
    ("barycentric_coord", Metal),
    ("base_instance", Metal),
    ("base_vertex", Metal),
    ("buffer", Metal),
    ("carries_dependency", Harmless),
    ("center_no_perspective", Metal),
    ("center_perspective", Metal),
    ("centroid_no_perspective", Metal),
    ("centroid_perspective", Metal),
    ("cleanup", Refused),
    ("clip_distance", Metal),
    ("code_align", Harmless),
    ("cold", Harmless),
    ("color", Metal),
    ("const", Harmless),
    ("constructor", Refused),
    ("continue_search", Metal),
    ("convergent", Harmless),
    ("curve_parameter", Metal),
    ("deprecated", Harmless),
    ("depth", Metal),
    ("destructor", Refused),
    ("diagnose_if", Harmless),
    ("direction", Metal),
    ("dispatch_quadgroups_per_threadgroup", Metal),
    ("dispatch_simdgroups_per_threadgroup", Metal),
    ("dispatch_threads_per_threadgroup", Metal),
    ("distance", Metal),
    ("early_fragment_tests", Metal),
    ("enable_if", Refused),
    ("error", Harmless),
    ("ext_vector_type", ExtVector),
    ("fallthrough", Harmless),
    ("flat", Metal),
    ("flatten", Harmless),
    ("format", Harmless),
    ("fragment", Metal),
    ("front_facing", Metal),
    ("function_constant", Metal),
    ("function_groups", Metal),
    ("function_id", Metal),
    ("geometry_id", Metal),
    ("geometry_intersection_function_table_offset", Metal),
    ("gnu_inline", Harmless),
    ("grid_origin", Metal),
    ("grid_size", Metal),
    ("host_name", Metal),
    ("hot", Harmless),
    ("id", Metal),
    ("ifunc", Refused),
    ("imageblock_data", Metal),
    ("index", Metal),
    ("instance_id", Metal),
    ("instance_intersection_function_table_offset", Metal),
    ("internal_linkage", Harmless),
    ("intersection", Metal),
    ("invariant", Metal),
    ("kernel", Metal),
    ("key_frame_count", Metal),
    ("leaf", Harmless),
    ("likely", Harmless),
    ("malloc", Harmless),
    ("matrix_type", Refused),
    ("max_distance", Metal),
    ("max_total_threadgroups_per_mesh_grid", Metal),
    ("max_total_threads_per_threadgroup", Metal),
    ("may_alias", Harmless),
    ("maybe_unused", Harmless),
    ("mesh", Metal),
    ("min_distance", Metal),
    ("minsize", Harmless),
    ("mode", Refused),
    ("motion_end_time", Metal),
    ("motion_start_time", Metal),
    ("ms_struct", Refused),
    ("musttail", Harmless),
    ("naked", Refused),
    ("neon_polyvector_type", Refused),
    ("neon_vector_type", Refused),
    ("no_sanitize", Harmless),
    ("no_unique_address", Refused),
    ("nodebug", Harmless),
    ("nodiscard", Harmless),
    ("noduplicate", Harmless),
    ("noescape", Harmless),
    ("noinline", Harmless),
    ("nomerge", Harmless),
    ("nonnull", Harmless),
    ("noreturn", Harmless),
    ("nothrow", Harmless),
    ("object", Metal),
    ("object_to_world_transform", Metal),
    ("opaque", Metal),
    ("opaque_primitive", Metal),
    ("optnone", Harmless),
    ("origin", Metal),
    ("overloadable", Harmless),
    ("packed", Packed),
    ("patch", Metal),
    ("patch_id", Metal),
    ("payload", Metal),
    ("pixel_position_in_tile", Metal),
    ("pixels_per_tile", Metal),
    ("point_coord", Metal),
    ("point_size", Metal),
    ("position", Metal),
    ("position_in_patch", Metal),
    ("post_depth_coverage", Metal),
    ("primitive_culled", Metal),
    ("primitive_data", Metal),
    ("primitive_id", Metal),
    ("pure", Harmless),
    ("quadgroup_index_in_threadgroup", Metal),
    ("quadgroups_per_threadgroup", Metal),
    ("raster_order_group", Metal),
    ("render_target_array_index", Metal),
    ("required_threads_per_threadgroup", Metal),
    ("retain", Harmless),
    ("returns_nonnull", Harmless),
    ("sample_id", Metal),
    ("sample_mask", Metal),
    ("sample_no_perspective", Metal),
    ("sample_perspective", Metal),
    ("sampler", Metal),
    ("scalar_storage_order", Refused),
    ("section", Refused),
    ("shared", Metal),
    ("simdgroup_index_in_threadgroup", Metal),
    ("simdgroups_per_threadgroup", Metal),
    ("stage_in", Metal),
    ("stencil", Metal),
    ("stitchable", Metal),
    ("texture", Metal),
    ("thread_execution_width", Metal),
    ("thread_index_in_quadgroup", Metal),
    ("thread_index_in_simdgroup", Metal),
    ("thread_index_in_threadgroup", Metal),
    ("thread_position_in_grid", Metal),
    ("thread_position_in_threadgroup", Metal),
    ("threadgroup", Metal),
    ("threadgroup_imageblock", Metal),
    ("threadgroup_position_in_grid", Metal),
    ("threadgroups_per_grid", Metal),
    ("threads_per_grid", Metal),
    ("threads_per_simdgroup", Metal),
    ("threads_per_threadgroup", Metal),
    ("tile_index", Metal),
    ("time", Metal),
    ("transparent_union", Refused),
    ("trivial_abi", Harmless),
    ("unavailable", Harmless),
    ("uninitialized", Harmless),
    ("unlikely", Harmless),
    ("unused", Harmless),
    ("used", Harmless),
    ("user", Metal),
    ("user_annotation", Metal),
    ("user_data_buffer", Metal),
    ("user_instance_id", Metal),
    ("vector_size", Refused),
    ("vertex", Metal),
    ("vertex_id", Metal),
    ("viewport_array_index", Metal),
    ("visibility", Harmless),
    ("visible", Metal),
    ("warn_unused", Harmless),
    ("warn_unused_result", Harmless),
    ("warning", Harmless),
    ("weak", Refused),
    ("weakref", Refused),
    ("world_space_direction", Metal),
    ("world_space_origin", Metal),
    ("world_to_object_transform", Metal),
];

/// The name without the underscores that GNU allows around it.
pub(super) fn plain_name(name: &str) -> &str {
    name.strip_prefix("__").and_then(|name| name.strip_suffix("__")).unwrap_or(name)
}

/// What an attribute of that name means; `None` for names that are not known.
pub(super) fn meaning(name: &str) -> Option<Meaning> {
    let name = plain_name(name);
    TABLE.binary_search_by_key(&name, |row| row.0).ok().map(|at| TABLE[at].1)
}

/// Whether the standard attribute of that name has no arguments (C++17 [dcl.attr]).
pub(super) fn takes_no_arguments(name: &str) -> bool {
    matches!(name, "carries_dependency" | "fallthrough" | "maybe_unused" | "noreturn")
}

/// Whether `__has_attribute` says yes.
pub(crate) fn is_supported(name: &str) -> bool {
    meaning(name).is_some_and(|meaning| meaning != Refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_order_and_found() {
        assert!(TABLE.windows(2).all(|pair| pair[0].0 < pair[1].0), "binary search needs the order");
        assert_eq!(meaning("__packed__"), Some(Packed));
        assert_eq!(meaning("vector_size"), Some(Refused));
        assert_eq!(meaning("frobnicate"), None);
    }
}
