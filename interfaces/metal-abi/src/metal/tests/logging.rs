//! Messages of kernels and the handlers of log states.

use std::sync::{Arc, Mutex};

use block2::RcBlock;
use objc2::rc::Retained;
use objc2::runtime::{AnyObject, Bool};
use objc2::{class, msg_send};

use super::{Id, buffer, commit_and_wait, device, line, pipeline};
use crate::foundation::{NSError, NSString};

const LOGGING: &str = r#"
    #include <metal_logging>
    constant metal::os_log own("sub", "cat");
    kernel void note(device int* x, uint i [[thread_position_in_grid]]) {
        x[i] = int(i);
        if (i == 2) own.log_error("value %d", x[i]);
        if (i == 3) metal::os_log_default.log_debug("quiet");
        if (i == 4) metal::os_log_default.log("plain");
    }
    kernel void fault(device int* x) { own.log_fault("broken"); }
"#;

/// What a handler was told: subsystem, category, level, text.
type Told = (Option<String>, Option<String>, isize, String);

fn library(device: &AnyObject) -> Id {
    let error: *mut *mut NSError = std::ptr::null_mut();
    // SAFETY: the classes have these methods.
    let library: Option<Id> = unsafe {
        let options: Id = msg_send![class!(MTLCompileOptions), new];
        let () = msg_send![&*options, setEnableLogging: Bool::YES];
        msg_send![device, newLibraryWithSource: &*NSString::of(LOGGING), options: &*options, error: error]
    };
    library.expect("a library")
}

fn log_state(device: &AnyObject, level: isize) -> Id {
    let error: *mut *mut NSError = std::ptr::null_mut();
    // SAFETY: the classes have these methods.
    unsafe {
        let descriptor: Id = msg_send![class!(MTLLogStateDescriptor), new];
        let () = msg_send![&*descriptor, setLevel: level];
        let () = msg_send![&*descriptor, setBufferSize: 4096isize];
        msg_send![device, newLogStateWithDescriptor: &*descriptor, error: error]
    }
}

fn listen(state: &AnyObject) -> Arc<Mutex<Vec<Told>>> {
    let told = Arc::new(Mutex::new(Vec::new()));
    let calls = Arc::clone(&told);
    let handler = RcBlock::new(
        move |subsystem: *mut NSString, category: *mut NSString, level: isize, text: *mut NSString| {
            // SAFETY: a handler is given strings, of which the first two may be nil.
            let [subsystem, category, text] =
                unsafe { [subsystem.as_ref(), category.as_ref(), text.as_ref()] }
                    .map(|string| string.map(ToString::to_string));
            calls.lock().unwrap().push((subsystem, category, level, text.expect("a text")));
        },
    );
    // SAFETY: the class has the method.
    let () = unsafe { msg_send![state, addLogHandler: &*handler] };
    told
}

/// Runs a kernel on a queue with that log state; the status, and the error's text.
fn run(device: &AnyObject, state: &AnyObject, kernel: &str) -> (usize, Option<String>) {
    let kernel = pipeline(device, &library(device), kernel);
    let x = buffer(device, 8);
    // SAFETY: the classes have these methods.
    unsafe {
        let descriptor: Id = msg_send![class!(MTLCommandQueueDescriptor), new];
        let () = msg_send![&*descriptor, setLogState: state];
        let queue: Id = msg_send![device, newCommandQueueWithDescriptor: &*descriptor];
        let commands: Id = msg_send![&*queue, commandBuffer];
        let encoder: Id = msg_send![&*commands, computeCommandEncoder];
        let () = msg_send![&*encoder, setComputePipelineState: &*kernel];
        let () = msg_send![&*encoder, setBuffer: &*x, offset: 0usize, atIndex: 0usize];
        let () = msg_send![&*encoder, dispatchThreads: line(8), threadsPerThreadgroup: line(8)];
        let () = msg_send![&*encoder, endEncoding];
        // A command buffer with a completion handler has ended once that was called, and messages go first.
        let handler = RcBlock::new(|_: *mut AnyObject| {});
        let () = msg_send![&*commands, addCompletedHandler: &*handler];
        let status = commit_and_wait(&commands);
        let error: Option<Retained<NSError>> = msg_send![&*commands, error];
        let text = error.map(|error| {
            let text: Retained<NSString> = msg_send![&*error, localizedDescription];
            text.to_string()
        });
        (status, text)
    }
}

#[test]
fn handlers_are_told_of_messages_from_the_level_on() {
    let device = device();
    let state = log_state(&device, 2);
    let told = listen(&state);
    assert_eq!(run(&device, &state, "note"), (4, None));
    let mut told = told.lock().unwrap().clone();
    told.sort();
    let name = |text: &str| Some(text.to_owned());
    let expected = [(None, None, 3, "plain".to_owned()), (name("sub"), name("cat"), 4, "value 2".to_owned())];
    assert_eq!(told, expected);
}

#[test]
fn a_fault_is_the_error_of_its_command_buffer() {
    let device = device();
    let state = log_state(&device, 0);
    let told = listen(&state);
    let (status, error) = run(&device, &state, "fault");
    assert_eq!(status, 5);
    assert!(error.as_ref().is_some_and(|text| text.contains("broken")), "{error:?}");
    assert_eq!(told.lock().unwrap().len(), 8);
}
