//! Which family has what: the only owner of these facts.
//!
//! From Apple's "Metal feature set tables" (editions of June 2025 and May 2026), rows that compute kernels
//! depend on. The tables give for each feature the first Apple family, and whether all GPUs of the families
//! Metal 3, Metal 4 and Mac have it. What they leave to the operating system (the language version) or to
//! the single GPU (the largest buffer) is not here, except for the paravirtual device, whose properties are
//! those that programs printed on hosted runners.

use serde::{Deserialize, Serialize};

use super::Family;

/// Something that a kernel can use and that not every family has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Feature {
    /// `quad_shuffle`, `quad_broadcast` and their like.
    QuadPermute,
    /// `quad_sum` and its like, votes.
    QuadReduction,
    /// `simd_shuffle`, `simd_broadcast` and their like.
    SimdPermute,
    /// `simd_sum` and its like, prefix sums, votes, masks of active threads.
    SimdReduction,
    /// `simd_shuffle_and_fill_up` and `…_down`.
    SimdShiftAndFill,
    /// `simdgroup_matrix`.
    SimdMatrix,
    /// `bfloat`.
    Bfloat,
    /// `atomic_float`.
    FloatAtomics,
    /// `atomic_ulong`.
    Atomics64,
    /// Grids in threads, with smaller threadgroups at the edge.
    NonuniformThreadgroups,
    /// Textures with `access::read_write`.
    ReadWriteTextures,
    /// Atomic functions of textures.
    TextureAtomics,
    /// `coherent(device)`.
    MemoryCoherence,
    /// `os_log`.
    ShaderLogging,
    /// Tensors of Metal 4.
    Tensors,
}

/// The families of one feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeatureRow {
    /// The feature.
    pub feature: Feature,
    /// Its name in Apple's table.
    pub name: &'static str,
    /// The first Apple family that has it.
    pub apple: u8,
    /// Whether all Metal 3 GPUs have it.
    pub metal3: bool,
    /// Whether all Metal 4 GPUs have it.
    pub metal4: bool,
    /// Whether Mac2 has it.
    pub mac: bool,
}

/// All features, one row each.
pub const FEATURES: &[FeatureRow] = &[
    row(Feature::QuadPermute, "quad-scoped permute operations", 4, Metal::Three, true),
    row(Feature::QuadReduction, "quad-scoped reduction operations", 7, Metal::Three, true),
    row(Feature::SimdPermute, "SIMD-scoped permute operations", 6, Metal::Three, true),
    row(Feature::SimdReduction, "SIMD-scoped reduction operations", 7, Metal::Three, true),
    row(Feature::SimdShiftAndFill, "SIMD shift and fill", 8, Metal::None, false),
    row(Feature::SimdMatrix, "SIMD-scoped matrix multiply operations", 7, Metal::Four, false),
    row(Feature::Bfloat, "brain float (bfloat)", 6, Metal::Three, true),
    row(Feature::FloatAtomics, "floating-point atomics", 7, Metal::Three, true),
    row(Feature::Atomics64, "64-bit atomics", 9, Metal::None, false),
    row(Feature::NonuniformThreadgroups, "nonuniform threadgroup size", 4, Metal::Three, true),
    row(Feature::ReadWriteTextures, "read/write textures in functions", 4, Metal::Three, true),
    row(Feature::TextureAtomics, "texture atomics", 6, Metal::Three, true),
    row(Feature::MemoryCoherence, "memory coherence in shaders", 6, Metal::Four, false),
    row(Feature::ShaderLogging, "shader logging", 6, Metal::Four, false),
    row(Feature::Tensors, "tensors", 7, Metal::Four, false),
];

/// The first of Metal 3 and 4 whose GPUs all have a feature.
enum Metal {
    Three,
    Four,
    None,
}

const fn row(feature: Feature, name: &'static str, apple: u8, metal: Metal, mac: bool) -> FeatureRow {
    let metal3 = matches!(metal, Metal::Three);
    FeatureRow { feature, name, apple, metal3, metal4: metal3 || matches!(metal, Metal::Four), mac }
}

impl Feature {
    /// Its row.
    pub fn row(self) -> &'static FeatureRow {
        // Rows are in the order of the features, which a test checks.
        &FEATURES[self as usize]
    }

    /// Its name in Apple's table.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The first Apple family that has it.
    pub fn first_family(self) -> Family {
        let has = |family: &Family| family.apple().is_some_and(|number| number >= self.row().apple);
        Family::ALL
            .into_iter()
            .find(|family| *family != Family::Paravirtual && has(family))
            .unwrap_or(Family::Apple10)
    }
}

impl Family {
    /// Whether all GPUs of the family have the feature.
    pub fn supports(self, feature: Feature) -> bool {
        let row = feature.row();
        match self {
            Family::Mac2 => row.mac,
            Family::Metal3 => row.metal3,
            Family::Metal4 => row.metal4,
            apple => apple.apple().is_some_and(|number| number >= row.apple),
        }
    }

    /// The limits of its GPUs.
    pub fn limits(self) -> Limits {
        let of_all = Limits {
            threads_per_threadgroup: 1024,
            threadgroup_memory_bytes: 32 << 10,
            buffer_arguments: 31,
            constant_buffer_arguments: 31,
            texture_arguments: 128,
            sampler_arguments: 16,
            inline_bytes: 4096,
            buffer_bytes: None,
            working_set_bytes: None,
        };
        match self {
            Family::Apple4 | Family::Apple5 => Limits { texture_arguments: 96, ..of_all },
            Family::Mac2 | Family::Metal3 => Limits { constant_buffer_arguments: 14, ..of_all },
            // Seen on hosted runners with 7 GiB of memory in 2026.
            Family::Paravirtual => Limits {
                texture_arguments: 96,
                buffer_bytes: Some(3_758_096_384),
                working_set_bytes: Some(5_010_800_640),
                ..of_all
            },
            _ => of_all,
        }
    }
}

/// How much a GPU of a family can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Threads of a threadgroup.
    pub threads_per_threadgroup: u32,
    /// Threadgroup memory of a threadgroup in bytes.
    pub threadgroup_memory_bytes: u64,
    /// Entries of the buffer argument table.
    pub buffer_arguments: u32,
    /// Arguments of a kernel in the constant address space.
    pub constant_buffer_arguments: u32,
    /// Entries of the texture argument table.
    pub texture_arguments: u32,
    /// Entries of the sampler argument table.
    pub sampler_arguments: u32,
    /// Bytes of an argument that is given inline.
    pub inline_bytes: u64,
    /// The largest buffer in bytes; `None`: the tables leave it to the device.
    pub buffer_bytes: Option<u64>,
    /// The recommended working set in bytes; `None`: it is the device's.
    pub working_set_bytes: Option<u64>,
}
