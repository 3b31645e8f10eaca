//! The launch rules, one by one, without a device.

use super::*;
use crate::artifact::{Access, AddressSpace, ElementType, ScalarType};
use crate::capabilities::DeviceKind;

fn limits() -> Capabilities {
    Capabilities {
        hardware_name: "none".into(),
        kind: DeviceKind::Cpu,
        architecture: "none".into(),
        unified_memory: true,
        memory_bytes: 1 << 30,
        working_set_bytes: 1 << 30,
        max_buffer_bytes: 1 << 30,
        max_threads_per_dimension: [1024; 3],
        max_threads_per_threadgroup: 1024,
        max_threadgroup_memory_bytes: 32768,
        max_inline_bytes: 4096,
        simd_width: 32,
        compute_units: 1,
        supports_half: true,
        supports_bfloat: true,
        supports_64_bit_atomics: true,
        supports_timestamps: true,
        supports_priorities: true,
        checks_accesses: true,
        supports_deadlines: true,
        supports_cancellation: true,
        supports_cooperative_launches: true,
    }
}

fn argument(index: u32, name: &str, kind: ArgumentKind, min_bytes: u64) -> ArgumentInfo {
    ArgumentInfo {
        index,
        name: name.into(),
        kind,
        address_space: AddressSpace::Constant,
        type_name: "float".into(),
        element: ElementType::Scalar(ScalarType::F32),
        element_size: 4,
        element_align: 4,
        min_bytes,
        is_reference: min_bytes > 0,
        access: Access::Read,
        enabled: true,
        slot: 0,
        value_words: 0,
    }
}

fn kernel() -> KernelInfo {
    let mut kernel = KernelInfo::new("k", "k");
    kernel.arguments.push(argument(3, "a", ArgumentKind::Buffer, 4));
    kernel.arguments.push(argument(0, "tile", ArgumentKind::ThreadgroupMemory, 0));
    kernel
}

fn bytes(index: u32, length: usize) -> Binding {
    Binding { index, resource: BoundResource::Bytes(vec![0; length]) }
}

#[test]
fn partial_groups_are_counted_up() {
    let kernel = kernel();
    let shape = |threads, size| dispatch_shape(&kernel, Grid::Threads(threads), size, &limits()).unwrap();
    assert_eq!(shape([0, 5, 5], [8, 1, 1]), None);
    let counted = shape([33, 7, 1], [32, 4, 1]).unwrap();
    assert_eq!((counted.groups, counted.group_count, counted.grid_threads), ([2, 2, 1], 4, [33, 7, 1]));
    assert_eq!(counted.group_position(3), [1, 1, 0]);
    assert_eq!(counted.thread_position(33), [1, 1, 0]);
    let whole =
        dispatch_shape(&kernel, Grid::Threadgroups([3, 1, 1]), [32, 1, 1], &limits()).unwrap().unwrap();
    assert_eq!((whole.grid_threads, whole.group_count), ([96, 1, 1], 3));
}

#[test]
fn counts_use_64_bits_and_overflow_is_an_error() {
    let kernel = kernel();
    let most = u32::MAX;
    let shape =
        dispatch_shape(&kernel, Grid::Threads([most, 1024, 1]), [1, 1, 1], &limits()).unwrap().unwrap();
    assert_eq!(shape.group_count, u64::from(most) * 1024);
    let too_many = dispatch_shape(&kernel, Grid::Threads([most; 3]), [1, 1, 1], &limits());
    assert!(matches!(too_many, Err(DeviceError::GridTooLarge { .. })));
    let too_wide = dispatch_shape(&kernel, Grid::Threadgroups([most, 1, 1]), [2, 1, 1], &limits());
    assert!(matches!(too_wide, Err(DeviceError::GridTooLarge { .. })));
    let empty = dispatch_shape(&kernel, Grid::Threads([most, most, 0]), [1, 1, 1], &limits());
    assert_eq!(empty, Ok(None));
}

#[test]
fn group_sizes_are_checked() {
    let mut kernel = kernel();
    let check = |kernel: &KernelInfo, size| dispatch_shape(kernel, Grid::Threads([9; 3]), size, &limits());
    assert!(check(&kernel, [1024, 1, 1]).is_ok());
    assert!(matches!(check(&kernel, [1024, 2, 1]), Err(DeviceError::GroupTooLarge { threads: 2048, .. })));
    assert!(matches!(check(&kernel, [u32::MAX; 3]), Err(DeviceError::GroupTooLarge { .. })));
    assert!(matches!(check(&kernel, [4, 0, 1]), Err(DeviceError::GroupEmpty { .. })));
    kernel.max_threads_per_threadgroup = 64;
    assert!(matches!(check(&kernel, [65, 1, 1]), Err(DeviceError::GroupTooLarge { limit: 64, .. })));
    kernel.specialised_group = Some([8, 8, 1]);
    assert!(check(&kernel, [8, 8, 1]).is_ok());
    assert!(matches!(check(&kernel, [64, 1, 1]), Err(DeviceError::GroupSizeMismatch { .. })));
    kernel.whole_threadgroups_only = true;
    let check = |grid| dispatch_shape(&kernel, grid, [8, 8, 1], &limits());
    assert!(check(Grid::Threads([16, 8, 3])).is_ok());
    assert!(check(Grid::Threadgroups([9; 3])).is_ok());
    assert!(matches!(check(Grid::Threads([16, 9, 1])), Err(DeviceError::PartialThreadgroups { .. })));
}

#[test]
fn bindings_are_named_in_errors() {
    let kernel = kernel();
    let check = |bindings: &[Binding]| check_bindings(&kernel, bindings, &limits());
    assert_eq!(check(&[bytes(3, 4)]), Ok(()));
    let mut pointer = kernel.clone();
    pointer.arguments.iter_mut().for_each(|argument| argument.is_reference = false);
    let unbound = [Binding { index: 3, resource: BoundResource::Unbound }];
    assert_eq!(check_bindings(&pointer, &unbound, &limits()), Ok(()));
    let mut reference = kernel.clone();
    reference.arguments.iter_mut().for_each(|argument| argument.is_reference = true);
    let unbound = check_bindings(&reference, &unbound, &limits()).unwrap_err();
    assert_eq!(unbound.to_string(), "kernel `k`: argument 3 `a` is missing", "references are never null");
    let missing = check(&[]).unwrap_err();
    assert_eq!(missing.to_string(), "kernel `k`: argument 3 `a` is missing");
    let surplus = check(&[bytes(3, 4), bytes(0, 4)]).unwrap_err();
    assert_eq!(surplus.to_string(), "kernel `k` has no buffer argument 0; it has `3 a`");
    let short = check(&[bytes(3, 3)]).unwrap_err();
    assert_eq!(short.to_string(), "kernel `k`: argument 3 `a` needs 4 bytes, but 3 are bound");
    assert!(matches!(check(&[bytes(3, 4097)]), Err(DeviceError::InlineBytesTooLong { .. })));
}

#[test]
fn threadgroup_memory_is_required_and_limited() {
    let mut kernel = kernel();
    let layout =
        |kernel: &KernelInfo, lengths: &[ThreadgroupMemory]| threadgroup_layout(kernel, lengths, &limits());
    let given = |index, length| ThreadgroupMemory { index, length };
    assert!(matches!(layout(&kernel, &[]), Err(DeviceError::NoThreadgroupLength { index: 0, .. })));
    assert!(matches!(layout(&kernel, &[given(0, 4), given(1, 4)]), Err(DeviceError::SurplusArgument { .. })));
    kernel.threadgroup_static_bytes = 10;
    let laid_out = layout(&kernel, &[given(0, 100)]).unwrap();
    assert_eq!((laid_out.slots[0].offset, laid_out.slots[0].len, laid_out.total_bytes), (64, 100, 164));
    let too_large = layout(&kernel, &[given(0, 32768)]);
    assert!(matches!(too_large, Err(DeviceError::ThreadgroupMemoryTooLarge { needs: 32832, .. })));
    assert!(matches!(
        layout(&kernel, &[given(0, u64::MAX)]),
        Err(DeviceError::ThreadgroupMemoryTooLarge { .. })
    ));
}

#[test]
fn ranges_do_not_overflow() {
    assert_eq!(check_range(0, 0, 0), Ok(()));
    assert_eq!(check_range(4, 4, 8), Ok(()));
    assert!(check_range(5, 4, 8).is_err());
    assert!(check_range(u64::MAX, 2, 8).is_err());
    assert_eq!(bound_length(8, None, 8), Ok(0));
    assert!(bound_length(9, None, 8).is_err());
}

#[test]
fn reflection_is_checked_once() {
    let mut kernel = kernel();
    assert_eq!(check_arguments(&kernel, "cpu"), Ok(()));
    kernel.arguments[0].slot = 1;
    assert!(matches!(check_arguments(&kernel, "cpu"), Err(DeviceError::UnloadableCode { .. })));
    kernel.arguments[0].slot = 0;
    kernel.arguments.push(argument(0, "image", ArgumentKind::Texture, 0));
    assert!(matches!(check_arguments(&kernel, "cpu"), Err(DeviceError::Unsupported { .. })));
}
