//! Addresses of buffers in other buffers, and what makes them reachable.

use objc2::rc::Retained;
use objc2::runtime::AnyObject;
use objc2::{class, msg_send};

use super::{Id, Setup, buffer, commit_and_wait, contents, failure, library, line, pipeline};
use crate::foundation::{NSError, NSString};

const SOURCE: &str = "
    #include <metal_stdlib>
    using namespace metal;
    struct Args { device int* values [[id(0)]]; device int* more [[id(4)]]; int scale; array<device int*, 2> rest; };
    kernel void fill(device const Args& args [[buffer(0)]], uint i [[thread_position_in_grid]]) {
      args.values[i] = i + 1;
      args.more[i] = 10 * (i + 1);
    }
    kernel void scale(device const Args* args [[buffer(2)]], uint i [[thread_position_in_grid]]) {
      args[1].rest[1][i] = args[1].scale * args[1].values[i];
    }";

fn address_of(buffer: &AnyObject) -> u64 {
    // SAFETY: the class has the method.
    unsafe { msg_send![buffer, gpuAddress] }
}

/// Runs `fill` through an argument buffer with those addresses; `using` makes the buffers reachable. The
/// status of the command buffer.
fn fill(setup: &Setup, addresses: [u64; 2], using: impl FnOnce(&AnyObject, &AnyObject)) -> usize {
    let library = library(&setup.device, SOURCE).expect("it compiles");
    let (pipeline, commands) = (pipeline(&setup.device, &library, "fill"), setup.command_buffer());
    let args = buffer(&setup.device, 10);
    // SAFETY: the classes have these methods, and the buffer has 16 bytes.
    unsafe {
        let start: *mut std::ffi::c_void = msg_send![&*args, contents];
        start.cast::<[u64; 2]>().write_unaligned(addresses);
        let encoder: Id = msg_send![&*commands, computeCommandEncoder];
        let () = msg_send![&*encoder, setComputePipelineState: &*pipeline];
        let () = msg_send![&*encoder, setBuffer: &*args, offset: 0usize, atIndex: 0usize];
        using(&commands, &encoder);
        let () = msg_send![&*encoder, dispatchThreads: line(4), threadsPerThreadgroup: line(4)];
        let () = msg_send![&*encoder, endEncoding];
    }
    commit_and_wait(&commands)
}

#[test]
fn kernels_follow_the_addresses_of_used_resources() {
    let setup = Setup::new();
    let (x, y) = (buffer(&setup.device, 8), buffer(&setup.device, 8));
    let addresses = [address_of(&x), address_of(&y) + 16];
    let status = fill(&setup, addresses, |_, encoder| {
        // SAFETY: the class has these methods; the array holds one object.
        unsafe {
            let () = msg_send![encoder, useResource: &*x, usage: 2usize];
            let all: [*const AnyObject; 1] = [&raw const *y];
            let () = msg_send![encoder, useResources: all.as_ptr(), count: 1usize, usage: 3usize];
        }
    });
    assert_eq!((status, contents(&x, 4)), (4, vec![1, 2, 3, 4]));
    assert_eq!(contents(&y, 8)[4..], [10, 20, 30, 40]);
}

#[test]
fn a_resource_that_is_not_used_is_a_page_fault() {
    let setup = Setup::new();
    let (x, y) = (buffer(&setup.device, 8), buffer(&setup.device, 8));
    let status = fill(&setup, [address_of(&x), address_of(&y)], |_, encoder| {
        // SAFETY: the class has the method.
        let () = unsafe { msg_send![encoder, useResource: &*x, usage: 2usize] };
    });
    assert_eq!((status, contents(&x, 4)), (5, vec![1, 2, 3, 4]));
    assert_eq!(contents(&y, 4), [0; 4], "stores that lead nowhere are dropped");
}

#[test]
fn heaps_and_residency_sets_make_their_buffers_reachable_from_their_commit_on() {
    let setup = Setup::new();
    // SAFETY: the classes have these methods.
    unsafe {
        let descriptor: Id = msg_send![class!(MTLHeapDescriptor), new];
        let () = msg_send![&*descriptor, setSize: 65536usize];
        let () = msg_send![&*descriptor, setStorageMode: 0usize];
        let heap: Id = msg_send![&*setup.device, newHeapWithDescriptor: &*descriptor];
        let cut: Id = msg_send![&*heap, newBufferWithLength: 16usize, options: 0usize];
        let other = buffer(&setup.device, 4);
        let set_descriptor: Id = msg_send![class!(MTLResidencySetDescriptor), new];
        let none: *mut *mut NSError = std::ptr::null_mut();
        let set: Id = msg_send![&*setup.device, newResidencySetWithDescriptor: &*set_descriptor, error: none];
        let () = msg_send![&*set, addAllocation: &*other];
        let addresses = [address_of(&cut), address_of(&other)];
        let run = |committed: bool| {
            fill(&setup, addresses, |commands, encoder| {
                if committed {
                    let () = msg_send![&*set, commit];
                }
                let () = msg_send![encoder, useHeap: &*heap];
                let () = msg_send![commands, useResidencySet: &*set];
            })
        };
        assert_eq!((run(false), contents(&cut, 4)), (5, vec![1, 2, 3, 4]));
        assert_eq!((run(true), contents(&other, 4)), (4, vec![10, 20, 30, 40]));
        let by_queue = |add: bool| {
            fill(&setup, [address_of(&other); 2], |commands, _| {
                let queue: Retained<AnyObject> = msg_send![commands, commandQueue];
                match add {
                    true => msg_send![&*queue, addResidencySet: &*set],
                    false => msg_send![&*queue, removeResidencySet: &*set],
                }
            })
        };
        assert_eq!((by_queue(true), by_queue(false)), (4, 5));
    }
}

#[test]
fn an_argument_encoder_writes_addresses_and_values_by_the_numbers_of_members() {
    let setup = Setup::new();
    let (x, y, args) = (buffer(&setup.device, 8), buffer(&setup.device, 4), buffer(&setup.device, 20));
    // SAFETY: the classes have these methods; memory is written within its bounds.
    unsafe {
        let start: *mut std::ffi::c_void = msg_send![&*x, contents];
        start.cast::<[i32; 8]>().write([0, 0, 0, 0, 1, 2, 3, 4]);
        let library = library(&setup.device, SOURCE).expect("it compiles");
        let function: Id = msg_send![&*library, newFunctionWithName: &*NSString::of("scale")];
        let arguments: Id = msg_send![&*function, newArgumentEncoderWithBufferIndex: 2usize];
        let (length, alignment): (usize, usize) =
            (msg_send![&*arguments, encodedLength], msg_send![&*arguments, alignment]);
        assert_eq!((length, alignment), (40, 8));
        let unset = failure(|| {
            let () = msg_send![&*arguments, setBuffer: &*x, offset: 0usize, atIndex: 0usize];
        });
        assert!(unset.contains("no argument buffer is set"), "{unset}");
        let () = msg_send![&*arguments, setArgumentBuffer: &*args, startOffset: 0usize, arrayElement: 1usize];
        let () = msg_send![&*arguments, setBuffer: &*x, offset: 16usize, atIndex: 0usize];
        let value: *mut std::ffi::c_void = msg_send![&*arguments, constantDataAtIndex: 5usize];
        value.cast::<i32>().write(3);
        let () = msg_send![&*arguments, setBuffer: &*y, offset: 0usize, atIndex: 7usize];
        for (index, told) in [(3usize, "no member with the index 3"), (5, "is no pointer")] {
            let wrong = failure(|| {
                let () = msg_send![&*arguments, setBuffer: &*y, offset: 0usize, atIndex: index];
            });
            assert!(wrong.contains(told), "{wrong}");
        }
        let beyond = failure(|| {
            let () = msg_send![&*arguments, setArgumentBuffer: &*args, offset: 48usize];
        });
        assert!(beyond.contains("is not within a buffer of 80 bytes"), "{beyond}");
        let (pipeline, commands) = (pipeline(&setup.device, &library, "scale"), setup.command_buffer());
        let encoder: Id = msg_send![&*commands, computeCommandEncoder];
        let () = msg_send![&*encoder, setComputePipelineState: &*pipeline];
        let () = msg_send![&*encoder, setBuffer: &*args, offset: 0usize, atIndex: 2usize];
        let all: [*const AnyObject; 2] = [&raw const *x, &raw const *y];
        let () = msg_send![&*encoder, useResources: all.as_ptr(), count: 2usize, usage: 3usize];
        let () = msg_send![&*encoder, dispatchThreads: line(4), threadsPerThreadgroup: line(4)];
        let () = msg_send![&*encoder, endEncoding];
        assert_eq!(commit_and_wait(&commands), 4);
    }
    assert_eq!(contents(&y, 4), [3, 6, 9, 12]);
}
