//! Tests of Metal's classes by the messages that `objc2-metal` sends.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use block2::RcBlock;
use objc2::rc::Retained;
use objc2::runtime::AnyObject;
use objc2::{class, msg_send};

use super::size::Size;
use crate::foundation::{NSError, NSString};

mod addresses;
mod argument_buffers;
mod argument_descriptors;
mod arguments;
#[cfg(debug_assertions)]
mod compiler_bugs;
mod counters;
mod encoded;
mod functions;
mod graphics;
mod host_interfaces;
mod indirect;
mod libraries;
mod logging;
mod memory;
mod protocols;
mod queues;
mod stage_input;
mod textures;
mod truths;

type Id = Retained<AnyObject>;

const SOURCE: &str = "
    constant int factor [[function_constant(0)]];
    kernel void scale(device int* x, constant int& y, uint i [[thread_position_in_grid]]) { x[i] *= factor * y; }
    kernel void fill(device int* x, uint i [[thread_position_in_grid]]) { x[i] = int(i); }
    kernel void copy(device const int* x, device int* y, uint i [[thread_position_in_grid]]) { y[i] = x[i]; }
";

fn device() -> Id {
    // SAFETY: the function gives a reference.
    unsafe { Retained::from_raw(super::devices::MTLCreateSystemDefaultDevice()) }.expect("a device")
}

fn library(device: &AnyObject, source: &str) -> Result<Id, Retained<NSError>> {
    let mut error: *mut NSError = std::ptr::null_mut();
    let options: *const AnyObject = std::ptr::null();
    // SAFETY: the class has the method.
    let library: Option<Id> = unsafe {
        msg_send![device, newLibraryWithSource: &*NSString::of(source), options: options, error: &mut error]
    };
    // SAFETY: what the method writes is an object.
    library.ok_or_else(|| unsafe { Retained::retain(error) }.expect("an error"))
}

fn pipeline(device: &AnyObject, library: &AnyObject, name: &str) -> Id {
    // SAFETY: the classes have these methods.
    unsafe {
        let function: Id = msg_send![library, newFunctionWithName: &*NSString::of(name)];
        let error: *mut *mut NSError = std::ptr::null_mut();
        msg_send![device, newComputePipelineStateWithFunction: &*function, error: error]
    }
}

fn buffer(device: &AnyObject, count: usize) -> Id {
    // SAFETY: the class has the method.
    unsafe { msg_send![device, newBufferWithLength: count * 4, options: 0usize] }
}

fn contents(buffer: &AnyObject, count: usize) -> Vec<i32> {
    // SAFETY: the buffer has so many elements, and no work uses it.
    unsafe {
        let bytes: *mut std::ffi::c_void = msg_send![buffer, contents];
        std::slice::from_raw_parts(bytes.cast::<i32>(), count).to_vec()
    }
}

fn line(width: usize) -> Size {
    Size { width, height: 1, depth: 1 }
}

fn failure(run: impl FnOnce()) -> String {
    let payload = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).expect_err("it fails");
    payload.downcast_ref::<String>().cloned().expect("a text")
}

struct Setup {
    device: Id,
    queue: Id,
    library: Id,
}

impl Setup {
    fn new() -> Setup {
        Self::of(device())
    }

    fn of(device: Id) -> Setup {
        // SAFETY: the class has the method.
        let queue: Id = unsafe { msg_send![&*device, newCommandQueue] };
        let library = library(&device, SOURCE).unwrap();
        Setup { device, queue, library }
    }

    fn command_buffer(&self) -> Id {
        // SAFETY: the class has the method.
        unsafe { msg_send![&*self.queue, commandBuffer] }
    }

    /// Encodes `fill` over so many elements.
    fn encode_fill(&self, commands: &AnyObject, buffer: &AnyObject, count: usize) {
        let fill = pipeline(&self.device, &self.library, "fill");
        // SAFETY: the classes have these methods.
        unsafe {
            let encoder: Id = msg_send![commands, computeCommandEncoder];
            let () = msg_send![&*encoder, setComputePipelineState: &*fill];
            let () = msg_send![&*encoder, setBuffer: buffer, offset: 0usize, atIndex: 0usize];
            let () = msg_send![&*encoder, dispatchThreads: line(count), threadsPerThreadgroup: line(32)];
            let () = msg_send![&*encoder, endEncoding];
        }
    }
}

fn commit_and_wait(commands: &AnyObject) -> usize {
    // SAFETY: the class has these methods.
    unsafe {
        let () = msg_send![commands, commit];
        let () = msg_send![commands, waitUntilCompleted];
        msg_send![commands, status]
    }
}

#[test]
fn a_kernel_with_a_function_constant_and_bytes_computes() {
    let setup = Setup::new();
    let (commands, x) = (setup.command_buffer(), buffer(&setup.device, 100));
    setup.encode_fill(&commands, &x, 100);
    // SAFETY: the classes have these methods.
    unsafe {
        let values: Id = msg_send![class!(MTLFunctionConstantValues), new];
        let (three, int_type) = (3i32, 29usize);
        let pointer = (&raw const three).cast::<std::ffi::c_void>();
        let () = msg_send![&*values, setConstantValue: pointer, type: int_type, atIndex: 0usize];
        // A constant that the kernel does not have, as programs set them for whole libraries.
        let () = msg_send![&*values, setConstantValue: pointer, type: int_type, atIndex: 9usize];
        let none: *mut *mut NSError = std::ptr::null_mut();
        let name = NSString::of("scale");
        let function: Id =
            msg_send![&*setup.library, newFunctionWithName: &*name, constantValues: &*values, error: none];
        let scale: Id =
            msg_send![&*setup.device, newComputePipelineStateWithFunction: &*function, error: none];
        let encoder: Id = msg_send![&*commands, computeCommandEncoder];
        let () = msg_send![&*encoder, setComputePipelineState: &*scale];
        let () = msg_send![&*encoder, setBuffer: &*x, offset: 40usize, atIndex: 0usize];
        let () = msg_send![&*encoder, setBytes: (&raw const three).cast::<std::ffi::c_void>(), length: 4usize, atIndex: 1usize];
        let () = msg_send![&*encoder, dispatchThreadgroups: line(9), threadsPerThreadgroup: line(10)];
        let () = msg_send![&*encoder, endEncoding];
        let bindings: Id = msg_send![&*scale, reflection];
        let bindings: Retained<crate::foundation::NSArray> = msg_send![&*bindings, bindings];
        assert_eq!(bindings.elements().len(), 2);
    }
    assert_eq!(commit_and_wait(&commands), 4);
    let expected: Vec<i32> = (0..100).map(|i| if i < 10 { i } else { i * 9 }).collect();
    assert_eq!(contents(&x, 100), expected);
    // SAFETY: the class has these methods.
    let (start, end): (f64, f64) =
        unsafe { (msg_send![&*commands, GPUStartTime], msg_send![&*commands, GPUEndTime]) };
    assert!(start > 0.0 && end >= start);
}

#[test]
fn handlers_are_called_on_another_thread_before_the_wait_ends() {
    let setup = Setup::new();
    let (commands, x) = (setup.command_buffer(), buffer(&setup.device, 64));
    setup.encode_fill(&commands, &x, 64);
    let calls = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&calls);
    let handler = RcBlock::new(move |of: *mut AnyObject| {
        // SAFETY: a handler is given its command buffer.
        let status: usize = unsafe { msg_send![of, status] };
        told.lock().unwrap().push((status, std::thread::current().id()));
    });
    // SAFETY: the class has the method.
    let () = unsafe { msg_send![&*commands, addCompletedHandler: &*handler] };
    commit_and_wait(&commands);
    let calls = calls.lock().unwrap();
    assert!(calls.len() == 1 && calls[0].0 == 4 && calls[0].1 != std::thread::current().id());
}

#[test]
fn command_buffers_run_in_the_order_in_which_they_were_enqueued() {
    let setup = Setup::new();
    let order = Arc::new(Mutex::new(Vec::new()));
    let buffers: Vec<Id> = (0..3).map(|_| setup.command_buffer()).collect();
    for (number, commands) in buffers.iter().enumerate() {
        let order = Arc::clone(&order);
        let handler = RcBlock::new(move |_: *mut AnyObject| order.lock().unwrap().push(number));
        // SAFETY: the class has these methods.
        unsafe {
            let () = msg_send![&**commands, addCompletedHandler: &*handler];
            let () = msg_send![&**commands, enqueue];
        }
    }
    for commands in buffers.iter().rev() {
        // SAFETY: the class has the method.
        let () = unsafe { msg_send![&**commands, commit] };
    }
    for commands in &buffers {
        // SAFETY: the class has the method.
        let () = unsafe { msg_send![&**commands, waitUntilCompleted] };
    }
    assert_eq!(*order.lock().unwrap(), [0, 1, 2]);
}

#[test]
fn an_argument_that_is_not_bound_is_named_when_the_kernel_accesses_it() {
    let setup = Setup::new();
    let commands = setup.command_buffer();
    let copy = pipeline(&setup.device, &setup.library, "copy");
    let x = buffer(&setup.device, 8);
    // SAFETY: the classes have these methods.
    let error: Retained<NSError> = unsafe {
        let encoder: Id = msg_send![&*commands, computeCommandEncoder];
        let () = msg_send![&*encoder, setComputePipelineState: &*copy];
        let () = msg_send![&*encoder, setBuffer: &*x, offset: 0usize, atIndex: 0usize];
        let () = msg_send![&*encoder, dispatchThreads: line(8), threadsPerThreadgroup: line(8)];
        let () = msg_send![&*encoder, endEncoding];
        assert_eq!(commit_and_wait(&commands), 5);
        msg_send![&*commands, error]
    };
    assert!(error.text().contains("`y`"), "{}", error.text());
}

#[test]
fn source_that_does_not_compile_gives_metals_error_with_the_line() {
    let setup = Setup::new();
    let error = match library(&setup.device, "kernel void broken( {") {
        Err(error) => error,
        Ok(_) => panic!("it compiled"),
    };
    // SAFETY: the class has the method.
    let code: isize = unsafe { msg_send![&*error, code] };
    assert_eq!(code, 3);
    assert!(error.text().contains(":1:"), "{}", error.text());
}

#[test]
fn broken_rules_fail_with_the_method_and_the_rule() {
    let setup = Setup::new();
    let (commands, x) = (setup.command_buffer(), buffer(&setup.device, 8));
    let fill = pipeline(&setup.device, &setup.library, "fill");
    // SAFETY: the classes have these methods; breaking a rule is answered by a failure.
    unsafe {
        let encoder: Id = msg_send![&*commands, computeCommandEncoder];
        let second = failure(|| drop::<Option<Id>>(msg_send![&*commands, blitCommandEncoder]));
        assert!(second.contains("A command encoder is already encoding to this command buffer"), "{second}");
        let early = failure(|| msg_send![&*commands, commit]);
        assert!(early.contains("-[MTLCommandBuffer commit]: failed assertion"), "{early}");
        let without =
            failure(|| msg_send![&*encoder, dispatchThreads: line(8), threadsPerThreadgroup: line(8)]);
        assert!(without.contains("no compute pipeline state is set"), "{without}");
        let () = msg_send![&*encoder, setComputePipelineState: &*fill];
        let () = msg_send![&*encoder, setBuffer: &*x, offset: 0usize, atIndex: 0usize];
        let large =
            failure(|| msg_send![&*encoder, dispatchThreads: line(8), threadsPerThreadgroup: line(5000)]);
        assert!(
            large.contains("dispatchThreads:threadsPerThreadgroup:") && large.contains("5000"),
            "{large}"
        );
        let empty =
            failure(|| msg_send![&*encoder, dispatchThreads: line(8), threadsPerThreadgroup: line(0)]);
        assert!(empty.contains("fill"), "{empty}");
        let offset = failure(|| msg_send![&*encoder, setBuffer: &*x, offset: 33usize, atIndex: 0usize]);
        assert!(offset.contains("offset(33) must be < [buffer length](32)."), "{offset}");
        let index = failure(|| msg_send![&*encoder, setBuffer: &*x, offset: 0usize, atIndex: 31usize]);
        assert!(index.contains("index(31) must be < 31."), "{index}");
        let () = msg_send![&*encoder, endEncoding];
        let late = failure(|| msg_send![&*encoder, dispatchThreads: line(8), threadsPerThreadgroup: line(8)]);
        assert!(late.contains("encoding has ended"), "{late}");
        let () = msg_send![&*commands, commit];
        let twice = failure(|| msg_send![&*commands, commit]);
        assert!(twice.contains("Commit an already committed command buffer"), "{twice}");
        let after = failure(|| drop::<Option<Id>>(msg_send![&*commands, computeCommandEncoder]));
        assert!(after.contains("was committed"), "{after}");
        let nothing: *const AnyObject = std::ptr::null();
        let none: *mut *mut NSError = std::ptr::null_mut();
        let nil = failure(|| {
            drop::<Option<Id>>(
                msg_send![&*setup.device, newComputePipelineStateWithFunction: nothing, error: none],
            )
        });
        assert!(nil.contains("the compute function is nil"), "{nil}");
    }
}

#[test]
fn blits_copy_and_fill_parts_of_buffers() {
    let setup = Setup::new();
    let (commands, from, to) = (setup.command_buffer(), buffer(&setup.device, 8), buffer(&setup.device, 8));
    setup.encode_fill(&commands, &from, 8);
    // SAFETY: the classes have these methods.
    unsafe {
        let blit: Id = msg_send![&*commands, blitCommandEncoder];
        let range = crate::foundation::Range { location: 28, length: 4 };
        let () = msg_send![&*blit, fillBuffer: &*to, range: range, value: 0xffu8];
        let () = msg_send![&*blit, copyFromBuffer: &*from, sourceOffset: 8usize, toBuffer: &*to, destinationOffset: 4usize, size: 12usize];
        let outside = failure(
            || msg_send![&*blit, copyFromBuffer: &*from, sourceOffset: 24usize, toBuffer: &*to, destinationOffset: 0usize, size: 12usize],
        );
        assert!(outside.contains("copyFromBuffer"), "{outside}");
        let () = msg_send![&*blit, endEncoding];
    }
    assert_eq!(commit_and_wait(&commands), 4);
    assert_eq!(contents(&to, 8), [0, 2, 3, 4, 0, 0, 0, -1]);
}

#[test]
fn an_event_that_the_host_signals_lets_waiting_work_go_on() {
    let setup = Setup::new();
    let (commands, x) = (setup.command_buffer(), buffer(&setup.device, 8));
    // SAFETY: the classes have these methods.
    unsafe {
        let event: Id = msg_send![&*setup.device, newSharedEvent];
        let () = msg_send![&*commands, encodeWaitForEvent: &*event, value: 1u64];
        setup.encode_fill(&commands, &x, 8);
        let () = msg_send![&*commands, encodeSignalEvent: &*event, value: 2u64];
        let () = msg_send![&*commands, commit];
        let reached: bool = msg_send![&*event, waitUntilSignaledValue: 2u64, timeoutMS: 0u64];
        assert!(!reached);
        let () = msg_send![&*event, setSignaledValue: 1u64];
        let reached: bool = msg_send![&*event, waitUntilSignaledValue: 2u64, timeoutMS: 60_000u64];
        assert!(reached);
        let () = msg_send![&*commands, waitUntilCompleted];
    }
    assert_eq!(contents(&x, 8), [0, 1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn an_indirect_dispatch_reads_its_counts_when_its_turn_comes() {
    let setup = Setup::new();
    let (commands, x, counts) = (setup.command_buffer(), buffer(&setup.device, 64), buffer(&setup.device, 4));
    let fill = pipeline(&setup.device, &setup.library, "fill");
    // SAFETY: the classes have these methods, and the counts have four elements.
    unsafe {
        let encoder: Id = msg_send![&*commands, computeCommandEncoder];
        let () = msg_send![&*encoder, setComputePipelineState: &*fill];
        let () = msg_send![&*encoder, setBuffer: &*x, offset: 0usize, atIndex: 0usize];
        let () = msg_send![&*encoder, dispatchThreadgroupsWithIndirectBuffer: &*counts, indirectBufferOffset: 4usize, threadsPerThreadgroup: line(16)];
        let () = msg_send![&*encoder, endEncoding];
        let bytes: *mut std::ffi::c_void = msg_send![&*counts, contents];
        std::slice::from_raw_parts_mut(bytes.cast::<u32>(), 4).copy_from_slice(&[9, 2, 1, 1]);
    }
    assert_eq!(commit_and_wait(&commands), 4);
    let expected: Vec<i32> = (0..64).map(|i| if i < 32 { i } else { 0 }).collect();
    assert_eq!(contents(&x, 64), expected);
}

#[test]
fn objects_of_finished_work_are_gone() {
    let setup = Setup::new();
    let x = buffer(&setup.device, 64);
    let alive = Arc::new(AtomicUsize::new(0));
    objc2::rc::autoreleasepool(|_| {
        for _ in 0..50 {
            let commands = setup.command_buffer();
            setup.encode_fill(&commands, &x, 64);
            alive.fetch_add(1, Ordering::SeqCst);
            let guard = Guard(Arc::clone(&alive));
            let handler = RcBlock::new(move |_: *mut AnyObject| {
                let _held = &guard;
            });
            // SAFETY: the class has the method.
            let () = unsafe { msg_send![&*commands, addCompletedHandler: &*handler] };
            commit_and_wait(&commands);
        }
    });
    // SAFETY: every object has the method.
    let references: usize = unsafe { msg_send![&*x, retainCount] };
    assert_eq!((alive.load(Ordering::SeqCst), references), (0, 1));
}

struct Guard(Arc<AtomicUsize>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
