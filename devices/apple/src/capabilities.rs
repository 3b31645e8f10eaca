//! What a device can do, from Metal's own answers.

use anymetal_hal::capabilities::{Capabilities, DeviceKind};
use anymetal_types::family::Family;
use anymetal_types::family::table::Feature;
use objc2::runtime::ProtocolObject;
use objc2::sel;
use objc2_foundation::NSProcessInfo;
use objc2_metal::{MTLDevice, MTLGPUFamily};

use crate::object::has;

/// Metal's limit for `setBytes`.
const MAX_INLINE_BYTES: u64 = 4096;
/// Threads of a SIMD-group on Apple GPUs. A pipeline tells its own.
const SIMD_WIDTH: u32 = 32;
/// The most threads of a threadgroup that Metal's feature tables give any GPU. A pipeline tells its own.
const MAX_THREADS_PER_THREADGROUP: u32 = 1024;

/// Asks the device.
pub(crate) fn query(device: &ProtocolObject<dyn MTLDevice>) -> Capabilities {
    let unified_memory = device.hasUnifiedMemory();
    let recommended = device.recommendedMaxWorkingSetSize();
    let memory_bytes = match unified_memory {
        true => NSProcessInfo::processInfo().physicalMemory(),
        false => recommended,
    };
    let threads = device.maxThreadsPerThreadgroup();
    let extents = [threads.width, threads.height, threads.depth];
    let max_threads_per_dimension = extents.map(|extent| u32::try_from(extent).unwrap_or(u32::MAX));
    Capabilities::new(DeviceKind::Apple, device.name().to_string())
        .architecture(architecture(device))
        .unified_memory(unified_memory)
        .memory_bytes(memory_bytes)
        .working_set_bytes(recommended.saturating_sub(device.currentAllocatedSize() as u64))
        .max_buffer_bytes(device.maxBufferLength() as u64)
        .max_threads_per_dimension(max_threads_per_dimension)
        .max_threads_per_threadgroup(MAX_THREADS_PER_THREADGROUP.min(max_threads_per_dimension[0]))
        .max_threadgroup_memory_bytes(device.maxThreadgroupMemoryLength() as u64)
        .max_inline_bytes(MAX_INLINE_BYTES)
        .simd_width(SIMD_WIDTH)
        // Metal does not tell how many cores a GPU has.
        .compute_units(0)
        .supports_half(true)
        .supports_bfloat(supports(device, Feature::Bfloat))
        .supports_64_bit_atomics(supports(device, Feature::Atomics64))
        .supports_timestamps(true)
}

/// The families that Metal knows by number, as far as the hal's tables have them.
const FAMILIES: [(Family, MTLGPUFamily); 10] = [
    (Family::Apple4, MTLGPUFamily::Apple4),
    (Family::Apple5, MTLGPUFamily::Apple5),
    (Family::Apple6, MTLGPUFamily::Apple6),
    (Family::Apple7, MTLGPUFamily::Apple7),
    (Family::Apple8, MTLGPUFamily::Apple8),
    (Family::Apple9, MTLGPUFamily::Apple9),
    (Family::Apple10, MTLGPUFamily::Apple10),
    (Family::Mac2, MTLGPUFamily::Mac2),
    (Family::Metal3, MTLGPUFamily::Metal3),
    (Family::Metal4, MTLGPUFamily::Metal4),
];

/// Whether one of the device's families has the feature.
fn supports(device: &ProtocolObject<dyn MTLDevice>, feature: Feature) -> bool {
    let mut having = FAMILIES.iter().filter(|(family, _)| family.supports(feature));
    having.any(|(_, number)| device.supportsFamily(*number))
}

/// Its architecture's name where the system tells it, or the last Apple family.
fn architecture(device: &ProtocolObject<dyn MTLDevice>) -> String {
    if has(device, sel!(architecture)) {
        return device.architecture().name().to_string();
    }
    let known = FAMILIES.iter().rev().find(|(_, number)| device.supportsFamily(*number));
    known.map_or_else(|| "unknown".to_owned(), |(family, _)| family.to_string())
}
