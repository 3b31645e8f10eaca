//! Which built-in values each kind of graphics function has as input and as output, and their types
//! (MSL 5.2.3, tables 5.2 to 5.13); of intersection functions, with which tags (5.1.6, table 2.9).
//!
//! The values that object and mesh functions share with kernels are in [`super::super::kernel`].

use super::members::word;
use crate::ast::{self, GraphicsStage};
use crate::hir::{QualTy, ScalarTy, TyKind, Types};
use crate::sema::checker::Checker;
use crate::sema::kernel;
use anymetal_diagnostics::Span;
use anymetal_ir::Space;

/// The direction of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    Input,
    Output,
}

/// The types of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Takes {
    Bool,
    Float,
    Float2,
    Float2Or3,
    Float3,
    Float4,
    /// `float`, `float2` or `float3`
    Barycentric,
    /// `float` or an array of it
    ClipDistances,
    /// `float4x3`
    Transform,
    Uint,
    /// `ushort` or `uint`
    Index,
    /// `ushort2` or `uint2`
    Index2,
    /// `uchar`, `ushort` or `uint`
    SmallIndex,
    /// [`Takes::Index`], or the `array_ref<uint>` of several levels
    Instance,
    Color,
    /// A pointer or reference to constant data in device memory
    DeviceData,
}

/// A built-in value of the functions of some stages.
#[derive(Clone, Copy, Debug)]
pub(super) struct BuiltIn {
    pub(super) name: &'static str,
    stages: &'static [GraphicsStage],
    role: Role,
    pub(super) takes: Takes,
}

use GraphicsStage::{Fragment, Intersection, Mesh, Object, Vertex};
use Role::{Input, Output};

const fn row(name: &'static str, stages: &'static [GraphicsStage], role: Role, takes: Takes) -> BuiltIn {
    BuiltIn { name, stages, role, takes }
}

const BUILT_INS: &[BuiltIn] = &[
    row("accept_intersection", &[Intersection], Output, Takes::Bool),
    row("amplification_count", &[Vertex, Fragment, Object, Mesh], Input, Takes::Index),
    row("amplification_id", &[Vertex, Fragment, Mesh], Input, Takes::Index),
    row("barycentric_coord", &[Fragment], Input, Takes::Barycentric),
    row("barycentric_coord", &[Intersection], Input, Takes::Float2),
    row("base_instance", &[Vertex], Input, Takes::Index),
    row("base_vertex", &[Vertex], Input, Takes::Index),
    row("clip_distance", &[Vertex, Mesh], Output, Takes::ClipDistances),
    row("color", &[Fragment], Input, Takes::Color),
    row("color", &[Fragment], Output, Takes::Color),
    row("continue_search", &[Intersection], Output, Takes::Bool),
    row("curve_parameter", &[Intersection], Input, Takes::Float),
    row("depth", &[Fragment], Output, Takes::Float),
    row("direction", &[Intersection], Input, Takes::Float3),
    row("distance", &[Intersection], Input, Takes::Float),
    row("distance", &[Intersection], Output, Takes::Float),
    row("front_facing", &[Fragment, Intersection], Input, Takes::Bool),
    row("function_id", &[Intersection], Input, Takes::Index),
    row("geometry_id", &[Intersection], Input, Takes::Index),
    row("geometry_intersection_function_table_offset", &[Intersection], Input, Takes::Index),
    row("instance_id", &[Vertex], Input, Takes::Index),
    row("instance_id", &[Intersection], Input, Takes::Instance),
    row("instance_intersection_function_table_offset", &[Intersection], Input, Takes::Index),
    row("key_frame_count", &[Intersection], Input, Takes::Index),
    row("max_distance", &[Intersection], Input, Takes::Float),
    row("min_distance", &[Intersection], Input, Takes::Float),
    row("motion_end_time", &[Intersection], Input, Takes::Float),
    row("motion_start_time", &[Intersection], Input, Takes::Float),
    row("object_to_world_transform", &[Intersection], Input, Takes::Transform),
    row("opaque", &[Intersection], Input, Takes::Bool),
    row("opaque_primitive", &[Intersection], Input, Takes::Bool),
    row("origin", &[Intersection], Input, Takes::Float3),
    row("patch_id", &[Vertex], Input, Takes::Index),
    row("pixel_position_in_tile", &[Fragment], Input, Takes::Index2),
    row("pixels_per_tile", &[Fragment], Input, Takes::Index2),
    row("point_coord", &[Fragment], Input, Takes::Float2),
    row("point_size", &[Vertex, Mesh], Output, Takes::Float),
    row("position", &[Fragment], Input, Takes::Float4),
    row("position", &[Vertex, Mesh], Output, Takes::Float4),
    row("position_in_patch", &[Vertex], Input, Takes::Float2Or3),
    row("primitive_culled", &[Mesh], Output, Takes::Bool),
    row("primitive_data", &[Intersection], Input, Takes::DeviceData),
    row("primitive_id", &[Fragment], Input, Takes::Uint),
    row("primitive_id", &[Mesh], Output, Takes::Uint),
    row("primitive_id", &[Intersection], Input, Takes::Index),
    row("render_target_array_index", &[Fragment], Input, Takes::SmallIndex),
    row("render_target_array_index", &[Vertex, Mesh], Output, Takes::SmallIndex),
    row("sample_id", &[Fragment], Input, Takes::Uint),
    row("sample_mask", &[Fragment], Input, Takes::Uint),
    row("sample_mask", &[Fragment], Output, Takes::Uint),
    row("stencil", &[Fragment], Output, Takes::Uint),
    row("tile_index", &[Fragment], Input, Takes::Index),
    row("time", &[Intersection], Input, Takes::Float),
    row("user_data_buffer", &[Intersection], Input, Takes::DeviceData),
    row("user_instance_id", &[Intersection], Input, Takes::Instance),
    row("vertex_id", &[Vertex], Input, Takes::Index),
    row("viewport_array_index", &[Fragment], Input, Takes::SmallIndex),
    row("viewport_array_index", &[Vertex, Mesh], Output, Takes::SmallIndex),
    row("world_space_direction", &[Intersection], Input, Takes::Float3),
    row("world_space_origin", &[Intersection], Input, Takes::Float3),
    row("world_to_object_transform", &[Intersection], Input, Takes::Transform),
];

/// The values of threads that fragment functions have (table 5.5); object and mesh functions have all that
/// kernels have.
const THREADS_OF_FRAGMENTS: &[&str] =
    &["thread_index_in_quadgroup", "thread_index_in_simdgroup", "threads_per_simdgroup"];

/// How an input of a fragment function is sampled and interpolated (5.4).
pub(super) const INTERPOLATIONS: &[&str] = &[
    "center_no_perspective",
    "center_perspective",
    "centroid_no_perspective",
    "centroid_perspective",
    "flat",
    "sample_no_perspective",
    "sample_perspective",
];

/// The built-in value of a name.
pub(super) fn built_in(name: &str, stage: GraphicsStage, role: Role) -> Option<&'static BuiltIn> {
    BUILT_INS.iter().find(|row| row.name == name && row.role == role && row.stages.contains(&stage))
}

/// Whether functions of the stage have the value of a thread that kernels know by this attribute.
pub(super) fn has_thread_value(attribute: &ast::Attribute, stage: GraphicsStage) -> bool {
    kernel::is_thread_attribute(attribute)
        && match stage {
            Object | Mesh => true,
            Fragment => THREADS_OF_FRAGMENTS.contains(&attribute.name.as_str()),
            Vertex | Intersection => false,
        }
}

/// Whether the name is that of a built-in value of any stage.
pub(super) fn is_built_in(attribute: &ast::Attribute) -> bool {
    kernel::is_thread_attribute(attribute) || BUILT_INS.iter().any(|row| row.name == attribute.name.as_str())
}

/// Whether a parameter is a value of tile functions, which are kernels (table 5.9).
pub(in crate::sema) fn is_tile_value(attribute: &ast::Attribute, types: &Types, ty: QualTy) -> bool {
    attribute.name.as_str() == "render_target_array_index" && Takes::SmallIndex.admits(types, ty)
}

impl Takes {
    /// The types, for messages.
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Bool => "`bool`",
            Self::Float => "`float`",
            Self::Float2 => "`float2`",
            Self::Float2Or3 => "`float2` or `float3`",
            Self::Float3 => "`float3`",
            Self::Float4 => "`float4`",
            Self::Barycentric => "`float`, `float2` or `float3`",
            Self::ClipDistances => "`float` or an array of `float`",
            Self::Transform => "`float4x3`",
            Self::Uint => "`uint`",
            Self::Index => "`ushort` or `uint`",
            Self::Index2 => "`ushort2` or `uint2`",
            Self::SmallIndex => "`uchar`, `ushort` or `uint`",
            Self::Instance => "`ushort`, `uint` or `array_ref<uint>`",
            Self::Color => "a scalar or vector of `float`, `half` or integers of 16 or 32 bits",
            Self::DeviceData => "a pointer or reference to `const device` data",
        }
    }

    pub(super) fn admits(self, types: &Types, ty: QualTy) -> bool {
        use ScalarTy::{Bool, F16, F32, I16, I32, U8, U16, U32};
        let value = value(types, ty);
        match self {
            Self::Bool => value == Some((Bool, 1)),
            Self::Float => value == Some((F32, 1)),
            Self::Float2 => value == Some((F32, 2)),
            Self::Float3 => value == Some((F32, 3)),
            Self::Float4 => value == Some((F32, 4)),
            Self::Float2Or3 => matches!(value, Some((F32, 2 | 3))),
            Self::Barycentric => matches!(value, Some((F32, 1..=3))),
            Self::ClipDistances => {
                let element = types.as_array(ty.ty).map_or(ty.ty, |(element, _)| element);
                types.as_scalar(element) == Some(F32)
            }
            Self::Transform => types.as_matrix(ty.ty) == Some((F32, 4, 3)),
            Self::Uint => value == Some((U32, 1)),
            Self::Index => matches!(value, Some((U16 | U32, 1))),
            Self::Index2 => matches!(value, Some((U16 | U32, 2))),
            Self::SmallIndex => matches!(value, Some((U8 | U16 | U32, 1))),
            Self::Instance => Self::Index.admits(types, ty) || types.as_record(ty.ty).is_some(),
            Self::Color => matches!(value, Some((F16 | F32 | I16 | U16 | I32 | U32, _))),
            Self::DeviceData => match *types.kind(ty.ty) {
                TyKind::Pointer(to) | TyKind::Reference { to, .. } => {
                    to.is_const && to.space == Space::Device
                }
                _ => false,
            },
        }
    }
}

/// The element and the number of them, of a scalar or a vector that is not packed.
pub(super) fn value(types: &Types, ty: QualTy) -> Option<(ScalarTy, u8)> {
    match *types.kind(ty.ty) {
        TyKind::Scalar(element) => Some((element, 1)),
        TyKind::Vector { elem, len, packed: false } => Some((elem, len)),
        _ => None,
    }
}

/// The primitives of intersection functions (table 5.1).
const PRIMITIVES: &[&str] = &["triangle", "bounding_box", "curve"];

/// Values and tags that are available with others only: one of each list.
type Requirement = (&'static str, &'static [&'static [&'static str]]);

const INTERSECTION_INPUTS: &[Requirement] = &[
    ("barycentric_coord", &[&["triangle"], &["triangle_data"]]),
    ("curve_parameter", &[&["curve_data"]]),
    ("distance", &[&["triangle", "curve"]]),
    ("front_facing", &[&["triangle_data"]]),
    ("function_id", &[&["intersection_function_buffer"]]),
    ("instance_id", &[&["instancing"]]),
    ("key_frame_count", &[&["primitive_motion"]]),
    ("motion_end_time", &[&["primitive_motion"]]),
    ("motion_start_time", &[&["primitive_motion"]]),
    ("object_to_world_transform", &[&["instancing"], &["world_space_data"]]),
    ("opaque", &[&["bounding_box"]]),
    ("time", &[&["primitive_motion", "instance_motion"]]),
    ("user_data_buffer", &[&["intersection_function_buffer"], &["user_data"]]),
    ("user_instance_id", &[&["instancing"]]),
    ("world_space_direction", &[&["world_space_data"]]),
    ("world_space_origin", &[&["world_space_data"]]),
    ("world_to_object_transform", &[&["instancing"], &["world_space_data"]]),
];

const INTERSECTION_OUTPUTS: &[Requirement] = &[("distance", &[&["bounding_box"]])];

const INTERSECTION_TAGS: &[Requirement] =
    &[("user_data", &[&["intersection_function_buffer"]]), ("world_space_data", &[&["instancing"]])];

/// The words of `[[intersection(primitive, tags…)]]`; nothing for functions of other stages.
#[derive(Default)]
pub(super) struct Tags {
    words: Option<Vec<&'static str>>,
}

impl Tags {
    /// Reads the attribute, and reports a missing primitive and tags that do not go together.
    pub(super) fn of(cx: &mut Checker<'_>, ast: &ast::Function) -> Self {
        let attribute = ast.attributes.iter().find(|attribute| attribute.name.as_str() == "intersection");
        let Some(attribute) = attribute else { return Self::default() };
        let words: Vec<&'static str> =
            attribute.args.iter().filter_map(word).map(|word| word.as_str()).collect();
        if words.first().is_none_or(|first| !PRIMITIVES.contains(first)) {
            let message = "`intersection` takes `triangle`, `bounding_box` or `curve`, and tags";
            cx.error("attribute-argument", attribute.span, message);
            return Self::default();
        }
        let tags = Self { words: Some(words) };
        for tag in tags.words.iter().flatten() {
            tags.require(cx, INTERSECTION_TAGS, "attribute-argument", tag, attribute.span);
        }
        tags
    }

    pub(super) fn check_input(&self, cx: &mut Checker<'_>, name: &str, span: Span) {
        self.require(cx, INTERSECTION_INPUTS, "stage-attribute", name, span);
    }

    pub(super) fn check_output(&self, cx: &mut Checker<'_>, name: &str, span: Span) {
        self.require(cx, INTERSECTION_OUTPUTS, "stage-attribute", name, span);
    }

    fn require(&self, cx: &mut Checker<'_>, table: &[Requirement], id: &'static str, name: &str, span: Span) {
        let Some(words) = &self.words else { return };
        let Some((_, lists)) = table.iter().find(|(known, _)| *known == name) else { return };
        let is_missing = |list: &&&[&'static str]| !list.iter().any(|wanted| words.contains(wanted));
        if let Some(missing) = lists.iter().find(is_missing) {
            let missing = missing.join("` or `");
            let message =
                format!("`{name}` is available with `{missing}` in the attribute `intersection` only");
            cx.error(id, span, message);
        }
    }
}
