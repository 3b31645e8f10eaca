//! What hosts of compute work use beside the work itself: capture scopes, mutability of buffers, pipelines
//! that are told to handlers, listeners in queues, handles of shared events.

use std::sync::mpsc::channel;

use block2::RcBlock;
use objc2::rc::Retained;
use objc2::runtime::AnyObject;
use objc2::{class, msg_send};

use super::{Id, Setup, device, failure};
use crate::dispatch::object::dispatch_release;
use crate::dispatch::queue::dispatch_queue_create;
use crate::foundation::{NSArray, NSError, NSString};

fn is_same(one: &AnyObject, other: &AnyObject) -> bool {
    std::ptr::eq(one, other)
}

#[test]
fn capture_scopes_are_kept_by_the_one_manager_and_start_nothing() {
    let setup = Setup::new();
    // SAFETY: the classes have these methods.
    unsafe {
        let manager: Id = msg_send![class!(MTLCaptureManager), sharedCaptureManager];
        let scope: Id = msg_send![&*manager, newCaptureScopeWithCommandQueue: &*setup.queue];
        let () = msg_send![&*scope, setLabel: &*NSString::of("step")];
        let () = msg_send![&*manager, setDefaultCaptureScope: &*scope];
        let again: Id = msg_send![class!(MTLCaptureManager), sharedCaptureManager];
        let kept: Option<Id> = msg_send![&*again, defaultCaptureScope];
        let queue: Option<Id> = msg_send![&*scope, commandQueue];
        let [kept, queue] = [kept, queue].map(|object| object.expect("it is kept"));
        assert!(is_same(&kept, &scope) && is_same(&queue, &setup.queue));
        let label: Retained<NSString> = msg_send![&*scope, label];
        assert_eq!(label.to_string(), "step");
        let () = msg_send![&*manager, startCaptureWithScope: &*scope];
        let () = msg_send![&*scope, beginScope];
        let () = msg_send![&*scope, endScope];
        let is_capturing: bool = msg_send![&*manager, isCapturing];
        let none: *const AnyObject = std::ptr::null();
        let () = msg_send![&*manager, setDefaultCaptureScope: none];
        let of_device: Id = msg_send![&*manager, newCaptureScopeWithDevice: &*setup.device];
        let no_queue: Option<Id> = msg_send![&*of_device, commandQueue];
        assert!(!is_capturing && no_queue.is_none());
    }
}

#[test]
fn the_mutability_of_buffers_is_kept_with_the_pipeline_descriptor() {
    // SAFETY: the classes have these methods.
    unsafe {
        let descriptor: Id = msg_send![class!(MTLComputePipelineDescriptor), new];
        let buffers: Id = msg_send![&*descriptor, buffers];
        let third: Id = msg_send![&*buffers, objectAtIndexedSubscript: 3usize];
        let default: usize = msg_send![&*third, mutability];
        let () = msg_send![&*third, setMutability: 2usize];
        let buffers: Id = msg_send![&*descriptor, buffers];
        let third: Id = msg_send![&*buffers, objectAtIndexedSubscript: 3usize];
        let set: usize = msg_send![&*third, mutability];
        assert_eq!((default, set), (0, 2));
        let other: Id = msg_send![class!(MTLPipelineBufferDescriptor), new];
        let () = msg_send![&*other, setMutability: 1usize];
        let () = msg_send![&*buffers, setObject: &*other, atIndexedSubscript: 30usize];
        // The array has a copy.
        let () = msg_send![&*other, setMutability: 2usize];
        let read: Id = msg_send![&*buffers, objectAtIndexedSubscript: 30usize];
        let copied: usize = msg_send![&*read, mutability];
        assert_eq!(copied, 1);
        let beyond = failure(|| drop::<Id>(msg_send![&*buffers, objectAtIndexedSubscript: 31usize]));
        assert!(beyond.contains("index 31 is not below 31"), "{beyond}");
    }
}

#[test]
fn handlers_are_told_pipelines_with_their_reflection_or_why_there_is_none() {
    let setup = Setup::new();
    let (sender, told) = channel();
    let handler =
        RcBlock::new(move |pipeline: *mut AnyObject, reflection: *mut AnyObject, error: *mut NSError| {
            let bindings = (!reflection.is_null()).then(|| {
                // SAFETY: a handler is given a reflection.
                let bindings: Retained<NSArray> = unsafe { msg_send![reflection, bindings] };
                bindings.elements().len()
            });
            sender.send((pipeline.is_null(), bindings, error.is_null())).expect("someone listens");
        });
    // SAFETY: the classes have these methods.
    unsafe {
        let function: Id = msg_send![&*setup.library, newFunctionWithName: &*NSString::of("copy")];
        let () = msg_send![&*setup.device, newComputePipelineStateWithFunction: &*function, options: 1usize, completionHandler: &*handler];
        let descriptor: Id = msg_send![class!(MTLComputePipelineDescriptor), new];
        // It needs a value for its function constant.
        let function: Id = msg_send![&*setup.library, newFunctionWithName: &*NSString::of("scale")];
        let () = msg_send![&*descriptor, setComputeFunction: &*function];
        let () = msg_send![&*setup.device, newComputePipelineStateWithDescriptor: &*descriptor, options: 1usize, completionHandler: &*handler];
    }
    assert_eq!(told.recv(), Ok((false, Some(2), true)));
    assert_eq!(told.recv(), Ok((true, None, false)));
}

#[test]
fn a_listener_calls_blocks_in_its_queue() {
    let device = device();
    let queue = dispatch_queue_create(std::ptr::null(), std::ptr::null());
    let (sender, told) = channel();
    let block = RcBlock::new(move |_: *mut AnyObject, value: u64| {
        let thread = std::thread::current();
        sender.send((value, thread.name().map(str::to_owned))).expect("someone listens");
    });
    // SAFETY: the classes have these methods, and the queue is held by the listener when it is released.
    unsafe {
        let event: Id = msg_send![&*device, newSharedEvent];
        let listener: objc2::rc::Allocated<AnyObject> = msg_send![class!(MTLSharedEventListener), alloc];
        let pointer = queue.cast_mut().cast::<AnyObject>();
        let listener: Id = msg_send![listener, initWithDispatchQueue: pointer];
        dispatch_release(queue);
        let () = msg_send![&*event, notifyListener: &*listener, atValue: 2u64, block: &*block];
        let () = msg_send![&*event, setSignaledValue: 2u64];
        assert_eq!(told.recv(), Ok((2, Some("anymetal-dispatch".to_owned()))));
        let none = std::ptr::null_mut::<AnyObject>();
        let listener: objc2::rc::Allocated<AnyObject> = msg_send![class!(MTLSharedEventListener), alloc];
        let refused = failure(|| drop::<Id>(msg_send![listener, initWithDispatchQueue: none]));
        assert!(refused.contains("queue must not be nil"), "{refused}");
    }
}

#[test]
fn the_handle_of_a_shared_event_gives_the_event_again() {
    let device = device();
    // SAFETY: the classes have these methods.
    unsafe {
        let event: Id = msg_send![&*device, newSharedEvent];
        let () = msg_send![&*event, setLabel: &*NSString::of("done")];
        let handle: Id = msg_send![&*event, newSharedEventHandle];
        let label: Retained<NSString> = msg_send![&*handle, label];
        let again: Id = msg_send![&*device, newSharedEventWithHandle: &*handle];
        assert!(label.to_string() == "done" && is_same(&again, &event));
    }
}
