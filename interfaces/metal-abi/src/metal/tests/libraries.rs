//! Libraries of source and of data, and the compiler service that makes such data.

use std::ffi::{CStr, c_char, c_void};

use block2::RcBlock;
use objc2::msg_send;
use objc2::rc::Retained;
use objc2::runtime::AnyObject;

use super::{Id, device, library};
use crate::dispatch::data::dispatch_data_create;
use crate::foundation::{NSArray, NSError, NSString};
use crate::metal::code_service::{MTLCodeGenServiceBuildRequest, MTLCodeGenServiceCreate};

const ONE_IS_WRONG: &str = "
    kernel void right(device int* x) { x[0] = 1; }
    kernel void wrong(device int* x) { x[0] = undeclared; }
";

#[test]
fn a_library_with_a_kernel_that_does_not_compile_is_nil() {
    let device = device();
    for _ in 0..2 {
        let error = library(&device, ONE_IS_WRONG).expect_err("a kernel is wrong");
        // SAFETY: the class has the method.
        let code: isize = unsafe { msg_send![&*error, code] };
        assert_eq!(code, 3);
        assert!(error.text().contains("undeclared") && error.text().contains(":3:"), "{}", error.text());
    }
    let many = "template <typename T> T twice(T x) { return x + y; }
        kernel void k(device int* x) { x[0] = twice(1); }
        kernel void l(device int* x) { x[0] = twice(1); }";
    let error = library(&device, many).expect_err("an instance is wrong").text();
    assert_eq!(error.matches("error[").count(), 1, "{error}");
}

/// The reply's bytes, or the error's text.
fn requested(source: &str, flags: &str) -> Result<Vec<u8>, String> {
    let padded = |text: &str| {
        let mut bytes = text.as_bytes().to_vec();
        bytes.resize((bytes.len() + 1).next_multiple_of(4), 0);
        bytes
    };
    let (source, flags) = (padded(source), padded(flags));
    let length = |bytes: &[u8]| (bytes.len() as u64).to_le_bytes();
    let request = [&length(&source)[..], &length(&flags), &source, &flags].concat();
    let (sender, receiver) = std::sync::mpsc::channel();
    let reply = RcBlock::new(move |error: i32, bytes: *const c_void, length: usize, text: *const c_char| {
        // SAFETY: a reply without an error has so many bytes, one with an error a C string.
        let reply = unsafe {
            match error {
                0 => Ok(std::slice::from_raw_parts(bytes.cast::<u8>(), length).to_vec()),
                _ => Err(CStr::from_ptr(text).to_string_lossy().into_owned()),
            }
        };
        sender.send(reply).unwrap();
    });
    let service = MTLCodeGenServiceCreate(c"test".as_ptr());
    // SAFETY: the request has so many bytes, and the block takes what it is called with.
    unsafe {
        let block = RcBlock::as_ptr(&reply).cast_const().cast();
        MTLCodeGenServiceBuildRequest(
            service,
            std::ptr::null(),
            13,
            request.as_ptr().cast(),
            request.len(),
            block,
        );
    }
    receiver.recv().unwrap()
}

fn from_data(bytes: &[u8]) -> Result<Id, Retained<NSError>> {
    let mut error: *mut NSError = std::ptr::null_mut();
    // SAFETY: the bytes are copied; the class has the method, and what it writes is an object.
    unsafe {
        let null = std::ptr::null();
        let data = dispatch_data_create(bytes.as_ptr().cast_mut().cast(), bytes.len(), null, null.cast());
        let data = Retained::from_raw(data).expect("data");
        let made: Option<Id> = msg_send![&*device(), newLibraryWithData: &*data, error: &mut error];
        made.ok_or_else(|| Retained::retain(error).expect("an error"))
    }
}

fn names(library: &AnyObject) -> Vec<String> {
    // SAFETY: the class has the method, which returns strings.
    let names: Retained<NSArray> = unsafe { msg_send![library, functionNames] };
    names.elements().into_iter().map(|name| name.downcast::<NSString>().unwrap().to_string()).collect()
}

#[test]
fn what_the_compiler_service_makes_is_a_library() {
    let source = "#ifdef N\nkernel void named(device int* x) { x[0] = N; }\n#endif";
    let reply = requested(source, "-fno-fast-math -std=metal3.1 -DN=3 -x metal").unwrap();
    let word = |at: usize| u32::from_le_bytes(reply[at..at + 4].try_into().unwrap()) as usize;
    let packed = &reply[word(8) + word(12)..];
    assert_eq!((&packed[..4], &packed[packed.len() - 4..]), (&b"MTLB"[..], &b"ENDT"[..]));
    assert_eq!(names(&from_data(packed).unwrap()), ["named"]);
    let cut = from_data(&packed[..40]).expect_err("bytes are missing");
    assert!(cut.text().contains("Invalid library file"), "{}", cut.text());
    assert_eq!(names(&from_data(b"kernel void plain() {}").unwrap()), ["plain"]);
    let apples = from_data(b"MTLB\x01\x80\x02\x00\x07\x00\x00\x81").expect_err("not read");
    assert!(apples.text().contains("Apple's compiled libraries"), "{}", apples.text());
}

#[test]
fn the_compiler_service_reports_errors_of_the_source() {
    let error = requested("this is not valid metal", "-x metal").expect_err("it is not");
    assert!(error.contains("error"), "{error}");
}
