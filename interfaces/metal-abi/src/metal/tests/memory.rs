//! Buffers, heaps and residency sets, and where accesses of kernels to memory end.

use std::sync::{Arc, Mutex};

use anymetal::config::{CheckSetting, Layers};
use block2::RcBlock;
use objc2::rc::Retained;
use objc2::{class, msg_send};

use super::{Id, Setup, buffer, commit_and_wait, contents, failure, library, line, pipeline};
use crate::foundation::{NSError, NSString};
use crate::metal::device::Device;

/// A device of its own with that check of kernels.
fn device_with(check: CheckSetting) -> Id {
    let mut settings = Layers::default();
    settings.code.kernels.check = Some(check);
    let device: Retained<Device> =
        crate::foundation::object(anymetal::Device::with_settings(&settings).unwrap());
    Retained::into_super(Retained::into_super(device))
}

/// The status of `fill` over so many elements of a buffer of so many, and its error.
fn filled(setup: &Setup, elements: usize, threads: usize) -> (usize, Option<Retained<NSError>>) {
    let (commands, x) = (setup.command_buffer(), buffer(&setup.device, elements));
    setup.encode_fill(&commands, &x, threads);
    let status = commit_and_wait(&commands);
    // SAFETY: the class has the method.
    (status, unsafe { msg_send![&*commands, error] })
}

fn assert_page_fault(error: &NSError, names: &str) {
    // SAFETY: the class has these methods.
    let (code, domain): (isize, Retained<NSString>) =
        unsafe { (msg_send![error, code], msg_send![error, domain]) };
    assert_eq!((code, domain.to_string().as_str()), (3, "MTLCommandBufferErrorDomain"));
    assert!(error.text().contains(names), "{}", error.text());
}

#[test]
fn an_access_beyond_the_last_page_of_a_buffer_ends_its_command_buffer_with_a_page_fault() {
    let setup = Setup::new();
    let (status, error) = filled(&setup, 10, 4096);
    assert!(status == 4 && error.is_none());
    let (status, error) = filled(&setup, 10, 4097);
    assert_eq!(status, 5);
    assert_page_fault(&error.expect("an error"), "`x`");
}

#[test]
fn with_exact_bounds_an_access_beyond_a_buffer_is_a_page_fault() {
    let setup = Setup::of(device_with(CheckSetting::Bounds));
    assert_eq!(filled(&setup, 10, 10).0, 4);
    let (status, error) = filled(&setup, 10, 11);
    assert_eq!(status, 5);
    assert_page_fault(&error.expect("an error"), "`x`");
}

const BACKWARDS: &str = "
    kernel void backwards(device const int* x, device int* y, uint i [[thread_position_in_grid]]) {
        y[i] = x[-int(i)];
    }
";

/// The status of a kernel that reads a buffer of 100 elements back from its last one, by so many threads;
/// what it read, and its error.
fn backwards(device: Id, threads: usize) -> (usize, Vec<i32>, Option<Retained<NSError>>) {
    let setup = Setup::of(device);
    let library = library(&setup.device, BACKWARDS).unwrap();
    let backwards = pipeline(&setup.device, &library, "backwards");
    let (x, y) = (buffer(&setup.device, 100), buffer(&setup.device, threads));
    let commands = setup.command_buffer();
    setup.encode_fill(&commands, &x, 100);
    // SAFETY: the classes have these methods.
    unsafe {
        let encoder: Id = msg_send![&*commands, computeCommandEncoder];
        let () = msg_send![&*encoder, setComputePipelineState: &*backwards];
        let () = msg_send![&*encoder, setBuffer: &*x, offset: 396usize, atIndex: 0usize];
        let () = msg_send![&*encoder, setBuffer: &*y, offset: 0usize, atIndex: 1usize];
        let () = msg_send![&*encoder, dispatchThreads: line(threads), threadsPerThreadgroup: line(32)];
        let () = msg_send![&*encoder, endEncoding];
        let status = commit_and_wait(&commands);
        (status, contents(&y, threads), msg_send![&*commands, error])
    }
}

#[test]
fn a_kernel_reads_a_buffer_before_the_offset_at_which_it_is_bound_whatever_is_checked() {
    let expected: Vec<i32> = (0..100).rev().collect();
    for check in [CheckSetting::Library, CheckSetting::Bounds, CheckSetting::Sanitize, CheckSetting::Off] {
        let (status, found, error) = backwards(device_with(check), 100);
        assert!(status == 4 && found == expected, "{check:?}: {found:?} {error:?}");
    }
    let (status, found, error) = backwards(super::device(), 101);
    assert_eq!((status, &found[..100], found[100]), (5, &expected[..], 0));
    assert_page_fault(&error.expect("an error"), "`x` at index -100");
}

#[test]
fn a_buffer_over_a_programs_memory_uses_it_and_gives_it_back_when_work_has_ended() {
    #[repr(align(4096))]
    struct Page([i32; 1024]);
    let mut page = Box::new(Page([7; 1024]));
    let start: *mut std::ffi::c_void = page.0.as_mut_ptr().cast();
    let calls = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&calls);
    let deallocator = RcBlock::new(move |at: *mut std::ffi::c_void, length: usize| {
        told.lock().unwrap().push((at.addr(), length));
    });
    let setup = Setup::new();
    let around = |at: *mut std::ffi::c_void, options: usize| -> Option<Id> {
        // SAFETY: the class has the method; the page outlives the buffer.
        unsafe {
            msg_send![&*setup.device, newBufferWithBytesNoCopy: at, length: 4096usize, options: options, deallocator: &*deallocator]
        }
    };
    let x = around(start, 0).expect("a buffer");
    let commands = setup.command_buffer();
    setup.encode_fill(&commands, &x, 1000);
    drop(x);
    assert!(calls.lock().unwrap().is_empty());
    assert_eq!(commit_and_wait(&commands), 4);
    drop(commands);
    assert!(page.0[..1000].iter().copied().eq(0..1000) && page.0[1000..] == [7; 24]);
    let private = failure(|| drop(around(start, 0x20)));
    assert!(private.contains("shared or managed"), "{private}");
    let calls = calls.lock().unwrap();
    assert!(calls.contains(&(start.addr(), 4096)), "{calls:?}");
}

/// llama.cpp makes buffers of tensors in memory that `malloc` returned.
#[test]
fn a_buffer_over_memory_that_is_not_page_aligned_uses_it() {
    let mut values = [7i32; 64];
    let start: *mut std::ffi::c_void = values[3..].as_mut_ptr().cast();
    let (sender, freed) = std::sync::mpsc::channel();
    let deallocator = RcBlock::new(move |at: *mut std::ffi::c_void, length: usize| {
        sender.send((at.addr(), length)).unwrap();
    });
    let setup = Setup::new();
    // SAFETY: the class has the method; the values outlive the buffer.
    let x: Id = unsafe {
        msg_send![&*setup.device, newBufferWithBytesNoCopy: start, length: 80usize, options: 0usize, deallocator: &*deallocator]
    };
    let commands = setup.command_buffer();
    setup.encode_fill(&commands, &x, 20);
    drop(x);
    assert_eq!(commit_and_wait(&commands), 4);
    drop(commands);
    assert_eq!(freed.recv_timeout(std::time::Duration::from_secs(10)), Ok((start.addr(), 80)));
    assert!(values[3..23].iter().copied().eq(0..20) && values[..3] == [7; 3] && values[23..] == [7; 41]);
}

const STRIDES: &str = "
    kernel void last(device int* y, constant int* strides [[buffer(1)]], constant int& count [[buffer(2)]],
                     uint i [[thread_position_in_grid]]) {
        y[i] = strides[count - 1] == 12345 ? -1 : int(i);
    }
";

#[test]
fn bytes_that_were_set_have_a_page_around_them_unless_bounds_are_exact() {
    let last = |check| {
        let setup = Setup::of(device_with(check));
        let library = library(&setup.device, STRIDES).unwrap();
        let last = pipeline(&setup.device, &library, "last");
        let (commands, y) = (setup.command_buffer(), buffer(&setup.device, 4));
        let (strides, count) = (7i32, 0i32);
        // SAFETY: the classes have these methods.
        unsafe {
            let encoder: Id = msg_send![&*commands, computeCommandEncoder];
            let () = msg_send![&*encoder, setComputePipelineState: &*last];
            let () = msg_send![&*encoder, setBuffer: &*y, offset: 0usize, atIndex: 0usize];
            for (index, value) in [(1usize, &raw const strides), (2, &raw const count)] {
                let () = msg_send![&*encoder, setBytes: value.cast::<std::ffi::c_void>(), length: 4usize, atIndex: index];
            }
            let () = msg_send![&*encoder, dispatchThreads: line(4), threadsPerThreadgroup: line(4)];
            let () = msg_send![&*encoder, endEncoding];
        }
        commit_and_wait(&commands)
    };
    assert_eq!((last(CheckSetting::Library), last(CheckSetting::Bounds)), (4, 5));
}

const STRAYS: &str = "
    kernel void stray(device int* y, threadgroup int* given, constant int& beyond, uint i [[thread_index_in_threadgroup]]) {
        threadgroup int own[16];
        own[i] = int(i);
        given[i] = int(i);
        threadgroup_barrier(metal::mem_flags::mem_threadgroup);
        int both = own[i + beyond] + given[i + beyond];
        y[i] = beyond ? int(i) : both;
    }
";

/// The status of a kernel of 16 threads that read so many elements beyond their own of threadgroup
/// arrays of 16.
fn strayed(device: Id, beyond: i32) -> (usize, Vec<i32>, Option<Retained<NSError>>) {
    let setup = Setup::of(device);
    let library = library(&setup.device, STRAYS).unwrap();
    let stray = pipeline(&setup.device, &library, "stray");
    let (commands, y) = (setup.command_buffer(), buffer(&setup.device, 16));
    // SAFETY: the classes have these methods.
    unsafe {
        let encoder: Id = msg_send![&*commands, computeCommandEncoder];
        let () = msg_send![&*encoder, setComputePipelineState: &*stray];
        let () = msg_send![&*encoder, setBuffer: &*y, offset: 0usize, atIndex: 0usize];
        let () = msg_send![&*encoder, setThreadgroupMemoryLength: 64usize, atIndex: 0usize];
        let () = msg_send![&*encoder, setBytes: (&raw const beyond).cast::<std::ffi::c_void>(), length: 4usize, atIndex: 1usize];
        let () = msg_send![&*encoder, dispatchThreads: line(16), threadsPerThreadgroup: line(16)];
        let () = msg_send![&*encoder, endEncoding];
        let status = commit_and_wait(&commands);
        (status, contents(&y, 16), msg_send![&*commands, error])
    }
}

#[test]
fn threadgroup_memory_ends_where_that_of_a_gpu_does() {
    let whole: Vec<i32> = (0..16).map(|i| 2 * i).collect();
    let (status, found, _) = strayed(super::device(), 0);
    assert_eq!((status, found), (4, whole));
    let (status, found, _) = strayed(super::device(), 100);
    assert_eq!((status, found), (4, (0..16).collect()));
    let (status, _, error) = strayed(super::device(), 16384);
    assert_eq!(status, 5);
    assert_page_fault(&error.expect("an error"), "own");
    let (status, _, error) = strayed(device_with(CheckSetting::Bounds), 1);
    assert_eq!(status, 5);
    assert_page_fault(&error.expect("an error"), "own");
}

const ROW_SUM: &str = "
    kernel void row_sum(device int* y, constant int& count, uint i [[thread_position_in_grid]]) {
        int row[4];
        int left = count - 4 * int(i);
        for (int k = 0; k < (left < 4 ? left : 4); k++) row[k] = 4 * int(i) + k;
        for (int k = left; k < 4; k++) row[k] = 0;
        y[i] = row[0] + row[1] + row[2] + row[3] + (left < -4 ? row[left] + row[4 - left] : 0);
    }
";

#[test]
fn what_strays_out_of_a_threads_array_reaches_nobody_unless_bounds_are_exact() {
    let row_sums = |check| {
        let setup = Setup::of(device_with(check));
        let library = library(&setup.device, ROW_SUM).unwrap();
        let row_sum = pipeline(&setup.device, &library, "row_sum");
        let (commands, y) = (setup.command_buffer(), buffer(&setup.device, 32));
        let count = 10i32;
        // SAFETY: the classes have these methods.
        unsafe {
            let encoder: Id = msg_send![&*commands, computeCommandEncoder];
            let () = msg_send![&*encoder, setComputePipelineState: &*row_sum];
            let () = msg_send![&*encoder, setBuffer: &*y, offset: 0usize, atIndex: 0usize];
            let () = msg_send![&*encoder, setBytes: (&raw const count).cast::<std::ffi::c_void>(), length: 4usize, atIndex: 1usize];
            let () = msg_send![&*encoder, dispatchThreads: line(32), threadsPerThreadgroup: line(32)];
            let () = msg_send![&*encoder, endEncoding];
            let status = commit_and_wait(&commands);
            let error: Option<Retained<NSError>> = msg_send![&*commands, error];
            (status, contents(&y, 32), error)
        }
    };
    let (status, found, error) = row_sums(CheckSetting::Library);
    let expected: Vec<i32> = [6, 22, 17].into_iter().chain([0; 29]).collect();
    assert!(status == 4 && found == expected, "{found:?} {error:?}");
    let (status, _, error) = row_sums(CheckSetting::Bounds);
    assert_eq!(status, 5);
    assert_page_fault(&error.expect("an error"), "`row` at byte -");
}

/// The status of a kernel that has a reference which it does not read, and to which nothing is bound.
fn with_unread_reference(device: Id) -> (usize, Vec<i32>) {
    let setup = Setup::of(device);
    let source = "
        kernel void number(device int* y, constant int& scale, constant bool& is_scaled, uint i [[thread_position_in_grid]]) {
            y[i] = is_scaled ? int(i) * scale : int(i);
        }";
    let library = library(&setup.device, source).unwrap();
    let number = pipeline(&setup.device, &library, "number");
    let (commands, y) = (setup.command_buffer(), buffer(&setup.device, 4));
    // SAFETY: the classes have these methods.
    unsafe {
        let encoder: Id = msg_send![&*commands, computeCommandEncoder];
        let () = msg_send![&*encoder, setComputePipelineState: &*number];
        let () = msg_send![&*encoder, setBuffer: &*y, offset: 0usize, atIndex: 0usize];
        let () = msg_send![&*encoder, setBytes: [0u8].as_ptr().cast::<std::ffi::c_void>(), length: 1usize, atIndex: 2usize];
        let () = msg_send![&*encoder, dispatchThreads: line(4), threadsPerThreadgroup: line(4)];
        let () = msg_send![&*encoder, endEncoding];
    }
    (commit_and_wait(&commands), contents(&y, 4))
}

#[test]
fn a_reference_that_is_not_bound_may_be_left_unread() {
    assert_eq!(with_unread_reference(super::device()), (4, vec![0, 1, 2, 3]));
    let told = failure(|| drop(with_unread_reference(device_with(CheckSetting::Bounds))));
    assert!(told.contains("argument 1 `scale` is missing"), "{told}");
}

#[test]
fn a_kernel_strays_behind_a_buffer_to_the_end_of_its_heap_unless_bounds_are_exact() {
    let filled = |check, threads: usize| {
        let setup = Setup::of(device_with(check));
        // SAFETY: the classes have these methods.
        let x: Id = unsafe {
            let descriptor: Id = msg_send![class!(MTLHeapDescriptor), new];
            let () = msg_send![&*descriptor, setSize: 4096usize];
            let () = msg_send![&*descriptor, setStorageMode: 0usize];
            let heap: Id = msg_send![&*setup.device, newHeapWithDescriptor: &*descriptor];
            msg_send![&*heap, newBufferWithLength: 64usize, options: 0usize]
        };
        let commands = setup.command_buffer();
        setup.encode_fill(&commands, &x, threads);
        commit_and_wait(&commands)
    };
    assert_eq!([16, 17, 1024, 1025].map(|threads| filled(CheckSetting::Library, threads)), [4, 4, 4, 5]);
    assert_eq!([16, 17].map(|threads| filled(CheckSetting::Bounds, threads)), [4, 5]);
}

#[test]
fn heaps_private_buffers_and_residency_sets_know_what_they_hold() {
    let setup = Setup::new();
    // SAFETY: the classes have these methods.
    unsafe {
        let descriptor: Id = msg_send![class!(MTLHeapDescriptor), new];
        let () = msg_send![&*descriptor, setSize: 4096usize];
        let () = msg_send![&*descriptor, setStorageMode: 0usize];
        let heap: Id = msg_send![&*setup.device, newHeapWithDescriptor: &*descriptor];
        let cut: Id = msg_send![&*heap, newBufferWithLength: 100usize, options: 0usize];
        let used: usize = msg_send![&*heap, usedSize];
        let too_much: Option<Id> = msg_send![&*heap, newBufferWithLength: 4096usize, options: 0usize];
        assert!(used >= 100 && too_much.is_none());
        let private: Id = msg_send![&*setup.device, newBufferWithLength: 64usize, options: 0x20usize];
        let (address, mode): (*mut std::ffi::c_void, usize) =
            (msg_send![&*private, contents], msg_send![&*private, storageMode]);
        assert!(address.is_null() && mode == 2);
        let set_descriptor: Id = msg_send![class!(MTLResidencySetDescriptor), new];
        let none: *mut *mut NSError = std::ptr::null_mut();
        let set: Id = msg_send![&*setup.device, newResidencySetWithDescriptor: &*set_descriptor, error: none];
        let () = msg_send![&*set, addAllocation: &*cut];
        let () = msg_send![&*set, addAllocation: &*private];
        let () = msg_send![&*set, addAllocation: &*private];
        let (count, bytes): (usize, u64) =
            (msg_send![&*set, allocationCount], msg_send![&*set, allocatedSize]);
        assert_eq!((count, bytes), (2, 128 + 64 + 16384));
        let () = msg_send![&*set, removeAllocation: &*cut];
        let holds: bool = msg_send![&*set, containsAllocation: &*cut];
        assert!(!holds);
    }
}

#[test]
fn no_bytes_at_all_bind_nothing() {
    let setup = Setup::new();
    let source =
        "kernel void some(device int* x, constant int* y, constant int& n) { x[0] = n > 0 ? y[0] : 7; }";
    let library = library(&setup.device, source).unwrap();
    let (some, x) = (pipeline(&setup.device, &library, "some"), buffer(&setup.device, 1));
    for (count, status) in [(0i32, 4), (1, 5)] {
        let commands = setup.command_buffer();
        let (nothing, count) =
            (std::ptr::null::<std::ffi::c_void>(), (&raw const count).cast::<std::ffi::c_void>());
        // SAFETY: the classes have these methods.
        unsafe {
            let encoder: Id = msg_send![&*commands, computeCommandEncoder];
            let () = msg_send![&*encoder, setComputePipelineState: &*some];
            let () = msg_send![&*encoder, setBuffer: &*x, offset: 0usize, atIndex: 0usize];
            let () = msg_send![&*encoder, setBytes: nothing, length: 0usize, atIndex: 1usize];
            let () = msg_send![&*encoder, setBytes: count, length: 4usize, atIndex: 2usize];
            let () = msg_send![&*encoder, dispatchThreads: line(1), threadsPerThreadgroup: line(1)];
            let nil = failure(|| msg_send![&*encoder, setBytes: nothing, length: 4usize, atIndex: 1usize]);
            assert!(nil.contains("bytes must not be NULL"), "{nil}");
            let () = msg_send![&*encoder, endEncoding];
        }
        assert_eq!(commit_and_wait(&commands), status);
        assert!(status == 5 || contents(&x, 1) == [7]);
    }
}

/// gpu-allocator makes heaps of this type, and places buffers itself.
#[test]
fn a_placement_heap_has_buffers_at_the_programs_offsets() {
    let setup = Setup::new();
    // SAFETY: the classes have these methods.
    unsafe {
        let descriptor: Id = msg_send![class!(MTLHeapDescriptor), new];
        let () = msg_send![&*descriptor, setSize: 1usize << 20];
        let () = msg_send![&*descriptor, setType: 1isize];
        let () = msg_send![&*descriptor, setStorageMode: 0usize];
        let heap: Id = msg_send![&*setup.device, newHeapWithDescriptor: &*descriptor];
        let kind: isize = msg_send![&*heap, type];
        let place = |length: usize, offset: usize| -> Id {
            msg_send![&*heap, newBufferWithLength: length, options: 0usize, offset: offset]
        };
        let (low, high, same) = (place(4096, 0), place(4096, 65_536), place(8192, 65_536));
        let offset: usize = msg_send![&*high, heapOffset];
        assert_eq!((kind, offset), (1, 65_536));
        let commands = setup.command_buffer();
        setup.encode_fill(&commands, &high, 100);
        assert_eq!(commit_and_wait(&commands), 4);
        let expected: Vec<i32> = (0..100).collect();
        assert_eq!((contents(&same, 100), contents(&low, 100)), (expected, vec![0; 100]));
        let addresses: [u64; 2] = [msg_send![&*low, gpuAddress], msg_send![&*high, gpuAddress]];
        assert_eq!(addresses[1] - addresses[0], 65_536);
        let beyond = failure(|| drop(place(4096, 1 << 20)));
        assert!(beyond.contains("must be <= [heap size]"), "{beyond}");
        let without =
            failure(|| drop::<Option<Id>>(msg_send![&*heap, newBufferWithLength: 64usize, options: 0usize]));
        assert!(without.contains("MTLHeapTypePlacement"), "{without}");
    }
}
