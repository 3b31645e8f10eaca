//! What a card can do, as capabilities.

use anymetal_hal::capabilities::{Capabilities, DeviceKind};

use crate::driver::Card;

/// As on Apple GPUs: inline bytes are for small structures.
const MAX_INLINE_BYTES: u64 = 4096;

pub(crate) fn of(card: &Card) -> Capabilities {
    Capabilities::new(DeviceKind::Nvidia, card.name.clone())
        .architecture(format!("sm_{}", card.sm))
        .memory_bytes(card.memory_bytes)
        .working_set_bytes(card.memory_bytes)
        .max_buffer_bytes(card.memory_bytes)
        .max_threads_per_dimension(card.max_group_size)
        .max_threads_per_threadgroup(card.max_threads_per_group)
        .max_threadgroup_memory_bytes(card.max_shared_bytes)
        .max_inline_bytes(MAX_INLINE_BYTES)
        .simd_width(anymetal_hal::artifact::SIMD_WIDTH)
        .compute_units(card.multiprocessors)
        .supports_half(true)
        .supports_bfloat(true)
        .supports_64_bit_atomics(true)
        .supports_timestamps(true)
        .supports_priorities(true)
        .checks_accesses(true)
        .supports_deadlines(true)
        .supports_cancellation(true)
        .supports_cooperative_launches(true)
}
