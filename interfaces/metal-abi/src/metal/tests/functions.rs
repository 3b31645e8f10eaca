//! Visible functions by Metal's messages: handles, tables, argument buffers, further functions.

use objc2::runtime::AnyObject;
use objc2::{class, msg_send};

use super::{Id, Setup, buffer, commit_and_wait, contents, failure, library, line};
use crate::foundation::{NSArray, NSError, NSString};

const KERNELS: &str = "
    #include <metal_stdlib>
    using namespace metal;
    [[visible]] int own(int x) { return x + 1; }
    kernel void apply(device int* x [[buffer(0)]], visible_function_table<int(int)> ops [[buffer(1)]],
                      uint i [[thread_position_in_grid]]) {
      x[i] = ops[i](x[i]);
    }
    struct Args { device int* x [[id(0)]]; visible_function_table<int(int)> ops [[id(1)]]; };
    kernel void from_memory(constant Args& args [[buffer(0)]], uint i [[thread_position_in_grid]]) {
      args.x[i] = args.ops[i](args.x[i]);
    }";

const OTHERS: &str = "
    constant int factor [[function_constant(0)]];
    [[visible]] int square(int x) { return x * x; }
    [[visible]] int scaled(int x) { return factor * x; }";

fn function(library: &AnyObject, name: &str) -> Id {
    // SAFETY: the class has the method.
    let made: Option<Id> = unsafe { msg_send![library, newFunctionWithName: &*NSString::of(name)] };
    made.expect("the library has the function")
}

/// `scaled` with a factor, by another name.
fn scaled(library: &AnyObject, factor: i32, name: &str) -> Id {
    // SAFETY: the classes have these methods.
    unsafe {
        let values: Id = msg_send![class!(MTLFunctionConstantValues), new];
        let pointer = (&raw const factor).cast::<std::ffi::c_void>();
        let () = msg_send![&*values, setConstantValue: pointer, type: 29usize, atIndex: 0usize];
        let descriptor: Id = msg_send![class!(MTLFunctionDescriptor), functionDescriptor];
        let () = msg_send![&*descriptor, setName: &*NSString::of("scaled")];
        let () = msg_send![&*descriptor, setSpecializedName: &*NSString::of(name)];
        let () = msg_send![&*descriptor, setConstantValues: &*values];
        let none: *mut *mut NSError = std::ptr::null_mut();
        let made: Option<Id> = msg_send![library, newFunctionWithDescriptor: &*descriptor, error: none];
        made.expect("the library has the function")
    }
}

fn array(objects: &[&Id]) -> objc2::rc::Retained<NSArray> {
    NSArray::of(objects.iter().map(|object| (*object).clone()).collect())
}

fn pipeline(setup: &Setup, kernel: &Id, functions: &[&Id]) -> Id {
    // SAFETY: the classes have these methods.
    unsafe {
        let linked: Id = msg_send![class!(MTLLinkedFunctions), linkedFunctions];
        let () = msg_send![&*linked, setFunctions: &*array(functions)];
        let descriptor: Id = msg_send![class!(MTLComputePipelineDescriptor), new];
        let () = msg_send![&*descriptor, setComputeFunction: &**kernel];
        let () = msg_send![&*descriptor, setLinkedFunctions: &*linked];
        let () = msg_send![&*descriptor, setSupportAddingBinaryFunctions: true];
        let none: *mut *mut NSError = std::ptr::null_mut();
        let nothing: *mut *mut AnyObject = std::ptr::null_mut();
        let made: Option<Id> = msg_send![&*setup.device, newComputePipelineStateWithDescriptor: &*descriptor, options: 0usize, reflection: nothing, error: none];
        made.expect("a pipeline state")
    }
}

fn handle(pipeline: &Id, function: &Id) -> Option<Id> {
    // SAFETY: the class has the method.
    unsafe { msg_send![&**pipeline, functionHandleWithFunction: &**function] }
}

fn table(pipeline: &Id, functions: &[Option<Id>]) -> Id {
    // SAFETY: the classes have these methods; the array holds so many objects or nils.
    unsafe {
        let descriptor: Id =
            msg_send![class!(MTLVisibleFunctionTableDescriptor), visibleFunctionTableDescriptor];
        let () = msg_send![&*descriptor, setFunctionCount: functions.len()];
        let table: Id = msg_send![&**pipeline, newVisibleFunctionTableWithDescriptor: &*descriptor];
        let raw =
            |function: &Option<Id>| function.as_deref().map_or(std::ptr::null(), |id| id as *const AnyObject);
        let handles: Vec<*const AnyObject> = functions.iter().map(raw).collect();
        let range = crate::foundation::Range { location: 0, length: handles.len() };
        let () = msg_send![&*table, setFunctions: handles.as_ptr(), withRange: range];
        table
    }
}

/// Runs `apply` over 5, 5, …; the status and the results.
fn apply(setup: &Setup, pipeline: &Id, table: &Id, count: usize) -> (usize, Vec<i32>) {
    let (commands, x) = (setup.command_buffer(), buffer(&setup.device, count));
    // SAFETY: the classes have these methods; the buffer has so many elements.
    unsafe {
        let start: *mut std::ffi::c_void = msg_send![&*x, contents];
        (0..count).for_each(|n| start.cast::<i32>().add(n).write(5));
        let encoder: Id = msg_send![&*commands, computeCommandEncoder];
        let () = msg_send![&*encoder, setComputePipelineState: &**pipeline];
        let () = msg_send![&*encoder, setBuffer: &*x, offset: 0usize, atIndex: 0usize];
        let () = msg_send![&*encoder, setVisibleFunctionTable: &**table, atBufferIndex: 1usize];
        let () = msg_send![&*encoder, dispatchThreads: line(count), threadsPerThreadgroup: line(4)];
        let () = msg_send![&*encoder, endEncoding];
    }
    (commit_and_wait(&commands), contents(&x, count))
}

#[test]
fn tables_of_linked_functions_are_called() {
    let setup = Setup::new();
    let kernels = library(&setup.device, KERNELS).expect("it compiles");
    let others = library(&setup.device, OTHERS).expect("it compiles");
    let (kernel, own, square) =
        (function(&kernels, "apply"), function(&kernels, "own"), function(&others, "square"));
    let (three, ten) = (scaled(&others, 3, "three"), scaled(&others, 10, "ten"));
    // SAFETY: the classes have these methods.
    unsafe {
        let kinds: [usize; 2] = [msg_send![&*kernel, functionType], msg_send![&*square, functionType]];
        assert_eq!(kinds, [3, 5]);
        let names: objc2::rc::Retained<NSArray> = msg_send![&*others, functionNames];
        assert_eq!(names.elements().len(), 2);
    }
    let state = pipeline(&setup, &kernel, &[&own, &square, &three, &ten]);
    let handles = [&own, &square, &three, &ten].map(|function| handle(&state, function));
    assert!(handles.iter().all(Option::is_some));
    let entries = table(&state, &handles);
    assert_eq!(apply(&setup, &state, &entries, 4), (4, vec![6, 25, 15, 50]));
    // A null entry ends the command buffer with an error, and the call gives zero.
    // SAFETY: the class has the method.
    let () = unsafe { msg_send![&*entries, setFunction: std::ptr::null::<AnyObject>(), atIndex: 1usize] };
    assert_eq!(apply(&setup, &state, &entries, 4), (5, vec![6, 0, 15, 50]));
}

#[test]
fn functions_are_added_to_a_pipeline_state() {
    let setup = Setup::new();
    let kernels = library(&setup.device, KERNELS).expect("it compiles");
    let others = library(&setup.device, OTHERS).expect("it compiles");
    let (kernel, own, square) =
        (function(&kernels, "apply"), function(&kernels, "own"), function(&others, "square"));
    let state = pipeline(&setup, &kernel, &[&own]);
    assert!(handle(&state, &square).is_none(), "it is not linked");
    let none: *mut *mut NSError = std::ptr::null_mut();
    // SAFETY: the class has the method.
    let more: Option<Id> = unsafe {
        msg_send![&*state, newComputePipelineStateWithAdditionalBinaryFunctions: &*array(&[&square]), error: none]
    };
    let more = more.expect("a pipeline state");
    let entries = table(&more, &[handle(&more, &square), handle(&more, &own)]);
    assert_eq!(apply(&setup, &more, &entries, 2), (4, vec![25, 6]));
    // SAFETY: the class has the method.
    let beyond = failure(|| unsafe {
        msg_send![&*entries, setFunction: std::ptr::null::<AnyObject>(), atIndex: 2usize]
    });
    assert!(beyond.contains("beyond a table of 2 functions"), "{beyond}");
}

#[test]
fn an_argument_encoder_sets_tables() {
    let setup = Setup::new();
    let kernels = library(&setup.device, KERNELS).expect("it compiles");
    let (kernel, own) = (function(&kernels, "from_memory"), function(&kernels, "own"));
    let state = pipeline(&setup, &kernel, &[&own]);
    let entries = table(&state, &[handle(&state, &own), handle(&state, &own)]);
    let (commands, x, args) = (setup.command_buffer(), buffer(&setup.device, 2), buffer(&setup.device, 4));
    // SAFETY: the classes have these methods.
    unsafe {
        let arguments: Id = msg_send![&*kernel, newArgumentEncoderWithBufferIndex: 0usize];
        let () = msg_send![&*arguments, setArgumentBuffer: &*args, offset: 0usize];
        let () = msg_send![&*arguments, setBuffer: &*x, offset: 0usize, atIndex: 0usize];
        let () = msg_send![&*arguments, setVisibleFunctionTable: &*entries, atIndex: 1usize];
        let encoder: Id = msg_send![&*commands, computeCommandEncoder];
        let () = msg_send![&*encoder, setComputePipelineState: &*state];
        let () = msg_send![&*encoder, setBuffer: &*args, offset: 0usize, atIndex: 0usize];
        let () = msg_send![&*encoder, useResource: &*x, usage: 3usize];
        let () = msg_send![&*encoder, useResource: &*entries, usage: 1usize];
        let () = msg_send![&*encoder, dispatchThreads: line(2), threadsPerThreadgroup: line(2)];
        let () = msg_send![&*encoder, endEncoding];
    }
    assert_eq!((commit_and_wait(&commands), contents(&x, 2)), (4, vec![1, 1]));
}
