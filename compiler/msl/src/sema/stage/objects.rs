//! Classes of the Metal library whose objects are parameters, except textures, samplers and tables of visible
//! functions. The name of the first member, which programs cannot use, identifies the class.

use crate::hir::{RecordId, Types};

/// A class of such objects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::sema) enum Object {
    AccelerationStructure,
    Imageblock,
    Interpolant,
    IntersectionTable,
    Mesh,
    MeshGrid,
    PatchControlPoints,
}

impl Object {
    /// Whether kernels have such parameters, tile functions included.
    pub(in crate::sema) fn is_of_kernels(self) -> bool {
        matches!(self, Self::AccelerationStructure | Self::Imageblock | Self::IntersectionTable)
    }
}

/// The object that a complete class is.
pub(in crate::sema) fn object(types: &Types, id: RecordId) -> Option<Object> {
    Some(match types.record(id).fields.first()?.name.as_str() {
        "__acceleration" => Object::AccelerationStructure,
        "__imageblock" => Object::Imageblock,
        "__interpolant" => Object::Interpolant,
        "__intersections" => Object::IntersectionTable,
        "__mesh" => Object::Mesh,
        "__mesh_grid" => Object::MeshGrid,
        "__patch" => Object::PatchControlPoints,
        _ => return None,
    })
}
