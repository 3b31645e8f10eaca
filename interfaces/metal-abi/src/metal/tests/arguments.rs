//! Arguments that the documentation excludes. `testing/metal-misuse` calls all methods with such; these
//! tests state what some of them answer.

use objc2::rc::Allocated;
use objc2::runtime::Sel;

use super::*;
use crate::foundation::Range;

const NIL: *const AnyObject = std::ptr::null();

#[test]
fn nil_is_refused_with_class_selector_and_argument() {
    let (device, key) = (device(), NSString::of("key"));
    // SAFETY: the classes have these methods, which take any pointers to objects.
    unsafe {
        let dictionary: Id = msg_send![class!(NSMutableDictionary), dictionary];
        let refused = failure(|| msg_send![&*dictionary, setObject: NIL, forKey: &*key]);
        assert_eq!(refused, "-[NSMutableDictionary setObject:forKey:]: object cannot be nil");
        let refused = failure(|| {
            let error: *mut *mut NSError = std::ptr::null_mut();
            let _library: Option<Id> =
                msg_send![&*device, newLibraryWithSource: NIL, options: NIL, error: error];
        });
        let rule = "failed assertion: source must not be nil";
        assert_eq!(refused, format!("-[MTLDevice newLibraryWithSource:options:error:]: {rule}"));
        let queue: Id = msg_send![&*device, newCommandQueue];
        let commands: Id = msg_send![&*queue, commandBuffer];
        let no_block: *const block2::Block<dyn Fn(*mut AnyObject)> = std::ptr::null();
        let refused = failure(|| msg_send![&*commands, addCompletedHandler: no_block]);
        assert_eq!(
            refused,
            "-[MTLCommandBuffer addCompletedHandler:]: failed assertion: handler must not be nil"
        );
        let refused = failure(|| drop::<Option<Id>>(msg_send![class!(NSArray), arrayWithObject: NIL]));
        assert_eq!(refused, "+[NSArray arrayWithObject:]: object cannot be nil");
    }
}

#[test]
fn nil_works_where_foundation_takes_it() {
    // SAFETY: the classes have these methods, which take any pointers to objects.
    unsafe {
        let empty: Id = msg_send![class!(NSArray), arrayWithArray: NIL];
        let count: usize = msg_send![&*empty, count];
        let contains: bool = msg_send![&*empty, containsObject: NIL];
        let index: usize = msg_send![&*empty, indexOfObject: NIL];
        assert_eq!((count, contains, index), (0, false, isize::MAX as usize));
        let dictionary: Id = msg_send![class!(NSDictionary), dictionary];
        let found: Option<Id> = msg_send![&*dictionary, objectForKey: NIL];
        let is_equal: bool = msg_send![&*dictionary, isEqual: NIL];
        assert!(found.is_none() && !is_equal);
    }
}

#[test]
fn objects_of_other_classes_and_without_init_are_refused() {
    let device = device();
    // SAFETY: the classes have these methods, which take any pointers to objects.
    unsafe {
        let queue: Id = msg_send![&*device, newCommandQueue];
        let commands: Id = msg_send![&*queue, commandBuffer];
        let encoder: Id = msg_send![&*commands, computeCommandEncoder];
        let text = NSString::of("text");
        let refused = failure(|| msg_send![&*encoder, setBuffer: &*text, offset: 0usize, atIndex: 0usize]);
        let rule = "failed assertion: buffer is an instance of NSString, not of MTLBuffer";
        assert_eq!(refused, format!("-[MTLComputeCommandEncoder setBuffer:offset:atIndex:]: {rule}"));
        let raw: Allocated<AnyObject> = msg_send![class!(NSMutableArray), alloc];
        let array = Allocated::as_ptr(&raw);
        let refused = failure(|| {
            let _count: usize = msg_send![&*array, count];
        });
        assert_eq!(refused, "+[NSArray alloc]: the object is used without having been initialized");
        let () = msg_send![&*encoder, endEncoding];
    }
}

#[test]
fn a_message_without_a_selector_is_one_that_nothing_answers() {
    let text = NSString::of("text");
    let none: Option<Sel> = None;
    // SAFETY: the class has these methods.
    unsafe {
        let answers: bool = msg_send![&*text, respondsToSelector: none];
        assert!(!answers);
        let refused = failure(|| drop::<Option<Id>>(msg_send![&*text, performSelector: none]));
        assert_eq!(refused, "-[NSString <null selector>]: anymetal has no such method");
    }
}

#[test]
fn lengths_counts_and_ranges_are_checked_before_memory_is_read_or_reserved() {
    let device = device();
    // SAFETY: the classes have these methods; one byte is there.
    unsafe {
        let queue: Id = msg_send![&*device, newCommandQueue];
        let commands: Id = msg_send![&*queue, commandBuffer];
        let encoder: Id = msg_send![&*commands, computeCommandEncoder];
        let byte = 0u8;
        let bytes: *const std::ffi::c_void = (&raw const byte).cast();
        let most = [7u8; 4096];
        let longest: *const std::ffi::c_void = most.as_ptr().cast();
        let () = msg_send![&*encoder, setBytes: longest, length: 4096usize, atIndex: 0usize];
        let refused = failure(|| msg_send![&*encoder, setBytes: longest, length: 4097usize, atIndex: 0usize]);
        assert!(refused.contains("4097") && refused.contains("4096"), "{refused}");
        for length in [1usize << 40, 1 << 62, usize::MAX] {
            let refused = failure(|| msg_send![&*encoder, setBytes: bytes, length: length, atIndex: 0usize]);
            assert!(
                refused.starts_with("-[MTLComputeCommandEncoder setBytes:length:atIndex:]: "),
                "{refused}"
            );
            assert!(refused.contains(&length.to_string()), "{refused}");
            let buffer: Option<Id> = msg_send![&*device, newBufferWithLength: length, options: 0usize];
            assert!(buffer.is_none(), "{length}");
        }
        let (none, offsets): (*const *const AnyObject, *const usize) = (std::ptr::null(), std::ptr::null());
        let all = Range { location: 0, length: usize::MAX };
        let refused = failure(|| msg_send![&*encoder, setBuffers: none, offsets: offsets, withRange: all]);
        assert!(refused.ends_with("is not within 31 indices"), "{refused}");
        let objects: *mut *mut AnyObject = std::ptr::null_mut();
        let refused = failure(|| {
            drop::<Option<Id>>(msg_send![class!(NSArray), arrayWithObjects: objects, count: 1usize << 61])
        });
        assert_eq!(
            refused,
            "+[NSArray arrayWithObjects:count:]: objects has an absurd count: 2305843009213693952"
        );
        let descriptor: Id = msg_send![class!(MTLIndirectCommandBufferDescriptor), new];
        let () = msg_send![&*descriptor, setCommandTypes: 32usize];
        let make = |count: usize| {
            failure(|| {
                let descriptor: &AnyObject = &descriptor;
                let made: Option<Id> = msg_send![&*device, newIndirectCommandBufferWithDescriptor: descriptor, maxCommandCount: count, options: 0usize];
                drop(made);
            })
        };
        assert!(make(1 << 40).ends_with("1099511627776 commands are more than 1048576"));
        let () = msg_send![&*descriptor, setMaxKernelBufferBindCount: 1_000_000usize];
        assert!(make(1).ends_with("maxKernelBufferBindCount is 1000000, and at most 31"));
        let () = msg_send![&*encoder, endEncoding];
    }
}
