//! The rules for a launch, shared by all devices so that all give the same answers.
//!
//! Owns pure functions from reflection and commands to checked shapes or errors. Invariant: a dispatch that
//! passes has every enabled argument bound to enough, well-aligned bytes within its buffer, a group size
//! within the limits, and counts that fit their fields. Start at [`crate::command::Dispatch::check`].

use std::ops::Range;

use crate::artifact::{ArgumentInfo, ArgumentKind, KernelInfo};
use crate::binding::{Binding, BoundResource, ThreadgroupMemory};
use crate::capabilities::Capabilities;
use crate::error::DeviceError;
use crate::grid::{Grid, groups_along};
use crate::launch::{ThreadgroupLayout, argument_slots};

/// The most threadgroups of one dispatch: leaves room for a device to count past the end.
const MAX_GROUP_COUNT: u64 = 1 << 62;

/// The bytes of the counts of an indirect dispatch.
pub const INDIRECT_COUNTS_BYTES: u64 = 12;

/// A checked grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DispatchShape {
    /// Threads per grid.
    pub grid_threads: [u32; 3],
    /// Threadgroups per grid.
    pub groups: [u32; 3],
    /// Threads per full threadgroup.
    pub group_size: [u32; 3],
    /// Threadgroups in all.
    pub group_count: u64,
}

impl DispatchShape {
    /// Threads per full threadgroup in all.
    pub fn threads_per_group(&self) -> u32 {
        self.group_size.iter().product()
    }

    /// The same grid in threadgroups of another size; `None` if they are too many.
    pub fn in_groups_of(&self, group_size: [u32; 3]) -> Option<Self> {
        let groups = groups_along(self.grid_threads, group_size);
        let count = groups.iter().try_fold(1u64, |count, &more| count.checked_mul(u64::from(more)))?;
        let is_possible = count <= MAX_GROUP_COUNT;
        is_possible.then_some(Self { groups, group_size, group_count: count, ..*self })
    }

    /// The threadgroup and the place in it of a thread that `other`, the same grid in other threadgroups, has
    /// under those linear indices; as linear indices.
    pub fn place_of(&self, other: &Self, group: u64, thread: u32) -> (u64, u32) {
        let (group, thread) = (other.group_position(group), other.thread_position(thread));
        let at = |axis: usize| {
            u64::from(group[axis]) * u64::from(other.group_size[axis]) + u64::from(thread[axis])
        };
        let [x, y, z] = [0, 1, 2].map(at);
        let size = self.group_size.map(|extent| u64::from(extent.max(1)));
        let groups = self.groups.map(u64::from);
        let group = x / size[0] + groups[0] * (y / size[1] + groups[1] * (z / size[2]));
        let thread = x % size[0] + size[0] * (y % size[1] + size[1] * (z % size[2]));
        (group, thread as u32)
    }

    /// The position of a threadgroup from its linear index.
    pub fn group_position(&self, linear: u64) -> [u32; 3] {
        unravel(linear, self.groups)
    }

    /// The position of a thread in its threadgroup from its linear index.
    pub fn thread_position(&self, linear: u32) -> [u32; 3] {
        unravel(u64::from(linear), self.group_size)
    }
}

fn unravel(linear: u64, extent: [u32; 3]) -> [u32; 3] {
    let [x, y] = [u64::from(extent[0].max(1)), u64::from(extent[1].max(1))];
    [(linear % x) as u32, (linear / x % y) as u32, (linear / x / y) as u32]
}

/// Checks grid and group size. An empty grid gives `None`: nothing is to be done.
pub(crate) fn dispatch_shape(
    kernel: &KernelInfo,
    grid: Grid,
    group_size: [u32; 3],
    limits: &Capabilities,
) -> Result<Option<DispatchShape>, DeviceError> {
    check_group_size(kernel, group_size, limits)?;
    let mut groups = [0; 3];
    let mut grid_threads = [0; 3];
    for dimension in 0..3 {
        let size = group_size[dimension];
        (groups[dimension], grid_threads[dimension]) = match grid {
            Grid::Threads(threads) => (threads[dimension].div_ceil(size), threads[dimension]),
            Grid::Threadgroups(groups) => {
                let too_large =
                    DeviceError::GridTooLarge { kernel: kernel.name.clone(), groups, size: group_size };
                (groups[dimension], groups[dimension].checked_mul(size).ok_or(too_large)?)
            }
        };
    }
    if kernel.whole_threadgroups_only && (0..3).any(|d| !grid_threads[d].is_multiple_of(group_size[d])) {
        return Err(DeviceError::PartialThreadgroups {
            kernel: kernel.name.clone(),
            threads: grid_threads,
            size: group_size,
        });
    }
    let group_count = groups.iter().try_fold(1u64, |product, &count| product.checked_mul(u64::from(count)));
    // A zero in a later dimension makes an overflow of the earlier ones harmless.
    let group_count = if groups.contains(&0) { Some(0) } else { group_count };
    match group_count {
        Some(0) => Ok(None),
        Some(group_count) if group_count <= MAX_GROUP_COUNT => {
            Ok(Some(DispatchShape { grid_threads, groups, group_size, group_count }))
        }
        _ => Err(DeviceError::GridTooLarge { kernel: kernel.name.clone(), groups, size: group_size }),
    }
}

/// Checks where the counts of an indirect dispatch lie.
pub(crate) fn check_counts(kernel: &KernelInfo, offset: u64, buffer_len: u64) -> Result<(), DeviceError> {
    if !offset.is_multiple_of(4) {
        return Err(DeviceError::MisalignedCounts { kernel: kernel.name.clone(), offset });
    }
    check_range(offset, INDIRECT_COUNTS_BYTES, buffer_len)
}

/// Checks a threadgroup size: not empty, within the limits, and the one that the kernel requires.
pub fn check_group_size(
    kernel: &KernelInfo,
    size: [u32; 3],
    limits: &Capabilities,
) -> Result<(), DeviceError> {
    let name = || kernel.name.clone();
    if size.contains(&0) {
        return Err(DeviceError::GroupEmpty { kernel: name(), size });
    }
    let threads: u128 = size.iter().map(|&extent| u128::from(extent)).product();
    let limit = kernel.max_threads_per_threadgroup.min(limits.max_threads_per_threadgroup);
    let too_wide = size.iter().zip(limits.max_threads_per_dimension).any(|(&extent, most)| extent > most);
    if threads > u128::from(limit) || too_wide {
        return Err(DeviceError::GroupTooLarge { kernel: name(), size, threads, limit });
    }
    for needs in [kernel.required_threads_per_threadgroup, kernel.specialised_group].into_iter().flatten() {
        if needs != size {
            return Err(DeviceError::GroupSizeMismatch { kernel: name(), needs, got: size });
        }
    }
    Ok(())
}

/// Checks a kernel's reflection once, when its pipeline is made: no arguments that no device of ours binds
/// yet, and slots as [`argument_slots`] numbers them.
pub fn check_arguments(kernel: &KernelInfo, device: &str) -> Result<(), DeviceError> {
    let unsupported = [ArgumentKind::Texture, ArgumentKind::Sampler];
    if let Some(argument) = unsupported.iter().find_map(|&kind| enabled(kernel, kind).next()) {
        return Err(DeviceError::Unsupported {
            device: device.to_owned(),
            what: format!("textures and samplers (argument `{}` of kernel `{}`)", argument.name, kernel.name),
            alternative: "use a buffer".to_owned(),
        });
    }
    let slots = argument_slots(kernel.arguments.iter().map(|argument| (argument.kind, argument.enabled)));
    let differs =
        |(argument, slot): (&ArgumentInfo, Option<u32>)| slot.is_some_and(|slot| slot != argument.slot);
    if kernel.arguments.iter().zip(slots).any(differs) {
        let reason = "the slots of its arguments are not numbered in order".to_owned();
        return Err(DeviceError::UnloadableCode { kernel: kernel.name.clone(), reason });
    }
    Ok(())
}

/// Refuses a kernel with barriers of the grid in a launch that is not cooperative: it would never end.
pub(crate) fn check_cooperative(kernel: &KernelInfo, cooperative: bool) -> Result<(), DeviceError> {
    if kernel.grid_barriers && !cooperative {
        return Err(DeviceError::NotCooperative { kernel: kernel.name.clone() });
    }
    Ok(())
}

/// Checks that each enabled buffer argument that programs bind is bound to enough well-aligned bytes, and
/// that nothing else is bound.
pub(crate) fn check_bindings(
    kernel: &KernelInfo,
    bindings: &[Binding],
    limits: &Capabilities,
) -> Result<(), DeviceError> {
    for binding in bindings {
        if kernel.argument(ArgumentKind::Buffer, binding.index).is_none() {
            return Err(surplus(kernel, ArgumentKind::Buffer, binding.index));
        }
    }
    check_arguments_bound(kernel, bindings, limits, |argument| !argument.role().is_bound_late())
}

/// Checks the enabled arguments that are bound when the work is given to a device: logs, the tables that
/// encoding needs, and the region of stage-in data.
pub(crate) fn check_late_bindings(
    kernel: &KernelInfo,
    bindings: &[Binding],
    limits: &Capabilities,
) -> Result<(), DeviceError> {
    check_arguments_bound(kernel, bindings, limits, |argument| argument.role().is_bound_late())
}

fn check_arguments_bound(
    kernel: &KernelInfo,
    bindings: &[Binding],
    limits: &Capabilities,
    counts: impl Fn(&ArgumentInfo) -> bool,
) -> Result<(), DeviceError> {
    for argument in enabled(kernel, ArgumentKind::Buffer).filter(|&argument| counts(argument)) {
        // The last binding of an index counts, as with Metal's setters.
        let binding = bindings.iter().rev().find(|binding| binding.index == argument.index);
        let binding = binding.ok_or_else(|| missing(kernel, argument))?;
        check_binding(kernel, argument, &binding.resource, limits)?;
    }
    Ok(())
}

fn check_binding(
    kernel: &KernelInfo,
    argument: &ArgumentInfo,
    resource: &BoundResource,
    limits: &Capabilities,
) -> Result<(), DeviceError> {
    let got = match resource {
        // Code loads references without a check: there is always one.
        BoundResource::Unbound if argument.is_reference => return Err(missing(kernel, argument)),
        BoundResource::Unbound => return Ok(()),
        BoundResource::Bytes(bytes) => {
            let got = bytes.len() as u64;
            if got > limits.max_inline_bytes {
                return Err(DeviceError::InlineBytesTooLong { got, limit: limits.max_inline_bytes });
            }
            got
        }
        BoundResource::Buffer { buffer, offset, length } => {
            let length = bound_length(*offset, *length, buffer.length())?;
            if argument.element_align > 1 && offset % argument.element_align != 0 {
                return Err(DeviceError::MisalignedArgument {
                    kernel: kernel.name.clone(),
                    index: argument.index,
                    name: argument.name.clone(),
                    offset: *offset,
                    align: argument.element_align,
                });
            }
            length
        }
    };
    check_length(kernel, argument, got)
}

/// The bytes that a binding of that offset and length covers, checked against the buffer.
pub fn bound_length(offset: u64, length: Option<u64>, buffer_len: u64) -> Result<u64, DeviceError> {
    let length = length.unwrap_or(buffer_len.saturating_sub(offset));
    check_range(offset, length, buffer_len)?;
    Ok(length)
}

/// Lays out the threadgroup memory and checks that every enabled argument for it, and nothing else, is given.
pub(crate) fn threadgroup_layout(
    kernel: &KernelInfo,
    lengths: &[ThreadgroupMemory],
    limits: &Capabilities,
) -> Result<ThreadgroupLayout, DeviceError> {
    for given in lengths {
        if kernel.argument(ArgumentKind::ThreadgroupMemory, given.index).is_none() {
            return Err(surplus(kernel, ArgumentKind::ThreadgroupMemory, given.index));
        }
    }
    let mut by_slot = vec![0; kernel.threadgroup_slots() as usize];
    for argument in enabled(kernel, ArgumentKind::ThreadgroupMemory) {
        let given = lengths.iter().rev().find(|given| given.index == argument.index);
        let given = given.ok_or_else(|| DeviceError::NoThreadgroupLength {
            kernel: kernel.name.clone(),
            index: argument.index,
            name: argument.name.clone(),
        })?;
        check_length(kernel, argument, given.length)?;
        by_slot[argument.slot as usize] = given.length;
    }
    let limit = limits.max_threadgroup_memory_bytes;
    let too_large =
        |needs| DeviceError::ThreadgroupMemoryTooLarge { kernel: kernel.name.clone(), needs, limit };
    let layout =
        ThreadgroupLayout::new(kernel.threadgroup_static_bytes, &by_slot).ok_or(too_large(u64::MAX))?;
    if layout.total_bytes > limit {
        return Err(too_large(layout.total_bytes));
    }
    Ok(layout)
}

/// Checks that a range is within a buffer.
pub fn check_range(offset: u64, len: u64, buffer_len: u64) -> Result<(), DeviceError> {
    match offset.checked_add(len) {
        Some(end) if end <= buffer_len => Ok(()),
        _ => Err(DeviceError::RangeOutsideBuffer { offset, len, buffer_len }),
    }
}

/// The length of a range that is within a buffer.
pub fn range_length(range: &Range<u64>, buffer_len: u64) -> Result<u64, DeviceError> {
    let outside = DeviceError::RangeOutsideBuffer { offset: range.start, len: 0, buffer_len };
    let length = range.end.checked_sub(range.start).ok_or(outside)?;
    check_range(range.start, length, buffer_len)?;
    Ok(length)
}

fn enabled(kernel: &KernelInfo, kind: ArgumentKind) -> impl Iterator<Item = &ArgumentInfo> {
    kernel.arguments.iter().filter(move |argument| argument.enabled && argument.kind == kind)
}

fn check_length(kernel: &KernelInfo, argument: &ArgumentInfo, got: u64) -> Result<(), DeviceError> {
    if got >= argument.min_bytes {
        return Ok(());
    }
    Err(DeviceError::ArgumentTooShort {
        kernel: kernel.name.clone(),
        index: argument.index,
        name: argument.name.clone(),
        needs: argument.min_bytes,
        got,
    })
}

fn missing(kernel: &KernelInfo, argument: &ArgumentInfo) -> DeviceError {
    DeviceError::MissingArgument {
        kernel: kernel.name.clone(),
        index: argument.index,
        name: argument.name.clone(),
    }
}

/// The error for an argument that the kernel does not have.
pub fn surplus(kernel: &KernelInfo, kind: ArgumentKind, index: u32) -> DeviceError {
    let what = match kind {
        ArgumentKind::ThreadgroupMemory => "threadgroup memory argument",
        ArgumentKind::Buffer | ArgumentKind::Texture | ArgumentKind::Sampler => "buffer argument",
    };
    let existing = enabled(kernel, kind).map(|argument| format!("{} {}", argument.index, argument.name));
    DeviceError::SurplusArgument { kernel: kernel.name.clone(), what, index, existing: existing.collect() }
}

#[cfg(test)]
mod tests;
