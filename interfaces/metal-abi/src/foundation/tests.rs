//! Tests of Foundation's classes by the messages that `objc2-foundation` sends.

use objc2::rc::Retained;
use objc2::runtime::AnyObject;
use objc2::{AnyThread, class, msg_send};

use super::dictionary::NSDictionary;
use super::{NSArray, NSError, NSString, Range, are_equal};

const TEXT: &str = "round trip ÆØ🦀";

fn text(object: &AnyObject) -> String {
    // SAFETY: every object answers `description` with a string.
    let text: Retained<NSString> = unsafe { msg_send![object, description] };
    text.to_string()
}

#[test]
fn a_string_keeps_its_text_in_every_form() {
    let string = NSString::of(TEXT);
    // SAFETY: the class has these methods.
    let (units, bytes): (usize, usize) =
        unsafe { (msg_send![&*string, length], msg_send![&*string, lengthOfBytesUsingEncoding: 4i32]) };
    assert_eq!((units, bytes), (TEXT.encode_utf16().count(), TEXT.len()));
    // SAFETY: as above.
    let same: Retained<NSString> = unsafe {
        let bytes = TEXT.as_ptr().cast::<std::ffi::c_void>();
        msg_send![NSString::alloc(), initWithBytes: bytes, length: TEXT.len(), encoding: 4i32]
    };
    assert!(are_equal(&string, &same));
    // SAFETY: as above.
    let part: Retained<NSString> =
        unsafe { msg_send![&*string, substringWithRange: Range { location: 6, length: 4 }] };
    assert_eq!(part.to_string(), "trip");
    // SAFETY: as above; these bytes are no UTF-8.
    let broken: Option<Retained<NSString>> = unsafe {
        let bytes = [0xffu8].as_ptr().cast::<std::ffi::c_void>();
        msg_send![NSString::alloc(), initWithBytes: bytes, length: 1usize, encoding: 4i32]
    };
    assert!(broken.is_none());
}

#[test]
fn a_mutable_string_grows_and_its_copy_does_not() {
    // SAFETY: the class has these methods.
    unsafe {
        let string: Retained<NSString> = msg_send![class!(NSMutableString), string];
        let () = msg_send![&*string, appendString: &*NSString::of("a")];
        let copy: Retained<NSString> = msg_send![&*string, copy];
        let () = msg_send![&*string, appendString: &*NSString::of("b")];
        assert_eq!((string.to_string(), copy.to_string()), ("ab".to_owned(), "a".to_owned()));
    }
}

#[test]
fn numbers_are_read_from_the_start_of_a_string() {
    // SAFETY: the class has these methods.
    let numbers = |text: &str| unsafe {
        let string = NSString::of(text);
        let (integer, number): (isize, f64) =
            (msg_send![&*string, integerValue], msg_send![&*string, doubleValue]);
        (integer, number)
    };
    assert_eq!(numbers(" -12.5e1x"), (-12, -125.0));
    assert_eq!(numbers("none"), (0, 0.0));
    assert_eq!(numbers("99999999999999999999").0, isize::MAX);
}

#[test]
fn arrays_give_their_elements_by_index_by_copy_and_by_enumeration() {
    let array = NSArray::of(["a", "b", "c"].map(NSString::object_of).to_vec());
    let mut out = [std::ptr::null_mut::<AnyObject>(); 2];
    // SAFETY: the class has these methods, and there is room for two.
    unsafe {
        let () = msg_send![&*array, getObjects: out.as_mut_ptr(), range: Range { location: 1, length: 2 }];
        assert_eq!((text(&*out[0]), text(&*out[1])), ("b".to_owned(), "c".to_owned()));
        let index: usize = msg_send![&*array, indexOfObject: &*NSString::of("c")];
        let added: Retained<NSArray> = msg_send![&*array, arrayByAddingObject: &*NSString::of("d")];
        assert_eq!((index, added.elements().len(), array.elements().len()), (2, 4, 3));
    }
    let beyond = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        // SAFETY: the class has the method.
        let _: Retained<AnyObject> = unsafe { msg_send![&*array, objectAtIndex: 3usize] };
    }));
    let message = beyond.expect_err("it fails").downcast_ref::<String>().cloned().unwrap();
    assert_eq!(message, "-[NSArray objectAtIndex:]: index 3 is beyond an array of 3");
}

#[test]
fn dictionaries_find_equal_keys_and_keep_their_order() {
    // SAFETY: the class has these methods.
    unsafe {
        let dictionary: Retained<NSDictionary> = msg_send![class!(NSMutableDictionary), dictionary];
        for (key, value) in [("z", "1"), ("a", "2"), ("z", "3")] {
            let () = msg_send![&*dictionary, setObject: &*NSString::of(value), forKey: &*NSString::of(key)];
        }
        let keys: Retained<NSArray> = msg_send![&*dictionary, allKeys];
        assert_eq!(keys.elements().iter().map(|key| text(key)).collect::<Vec<_>>(), ["z", "a"]);
        assert_eq!(dictionary.value(&NSString::of("z")).map(|value| text(&value)).as_deref(), Some("3"));
        let copy: Retained<NSDictionary> = msg_send![&*dictionary, copy];
        assert!(are_equal(&copy, &dictionary));
        let () = msg_send![&*dictionary, removeObjectForKey: &*NSString::of("z")];
        assert!(dictionary.value(&NSString::of("z")).is_none() && copy.pairs().len() == 2);
    }
}

#[test]
fn numbers_keep_their_value_across_types() {
    // SAFETY: the class has these methods.
    unsafe {
        let large: Retained<AnyObject> = msg_send![class!(NSNumber), numberWithUnsignedLongLong: u64::MAX];
        let half: Retained<AnyObject> = msg_send![class!(NSNumber), numberWithFloat: 0.5f32];
        let one: Retained<AnyObject> = msg_send![class!(NSNumber), numberWithInt: 1i32];
        let yes: Retained<AnyObject> = msg_send![class!(NSNumber), numberWithBool: true];
        let (value, number): (u64, f64) =
            (msg_send![&*large, unsignedLongLongValue], msg_send![&*half, doubleValue]);
        assert_eq!((value, number, text(&large)), (u64::MAX, 0.5, "18446744073709551615".to_owned()));
        assert!(are_equal(&one, &yes) && !are_equal(&one, &half));
        let order: isize = msg_send![&*half, compare: &*one];
        assert_eq!(order, -1);
    }
}

#[test]
fn an_error_tells_its_domain_code_and_text() {
    let error = NSError::of("MTLLibraryErrorDomain", 3, "a reason");
    assert_eq!(text(&error), "Error Domain=MTLLibraryErrorDomain Code=3 \"a reason\"");
    // SAFETY: the class has these methods.
    unsafe {
        let domain = NSString::of("MyDomain");
        let none: *const NSDictionary = std::ptr::null();
        let plain: Retained<NSError> =
            msg_send![class!(NSError), errorWithDomain: &*domain, code: 7isize, userInfo: none];
        assert_eq!(plain.text(), "The operation couldn't be completed. (MyDomain error 7.)");
    }
}

#[test]
fn data_holds_a_copy_of_bytes() {
    let bytes = [1u8, 2, 3];
    // SAFETY: the classes have these methods, and there are so many bytes.
    unsafe {
        let pointer = bytes.as_ptr().cast::<std::ffi::c_void>();
        let data: Retained<AnyObject> = msg_send![class!(NSData), dataWithBytes: pointer, length: 3usize];
        let mutable: Retained<AnyObject> = msg_send![&*data, mutableCopy];
        let () = msg_send![&*mutable, appendBytes: pointer, length: 2usize];
        let (length, longer): (usize, usize) = (msg_send![&*data, length], msg_send![&*mutable, length]);
        assert_eq!((length, longer), (3, 5));
    }
}

#[test]
fn file_urls_and_paths_are_each_others() {
    // SAFETY: the class has these methods.
    unsafe {
        let url: Retained<AnyObject> =
            msg_send![class!(NSURL), fileURLWithPath: &*NSString::of("/tmp/a b.metal")];
        let path: Retained<NSString> = msg_send![&*url, path];
        let extension: Retained<NSString> = msg_send![&*url, pathExtension];
        assert_eq!(
            (path.to_string(), extension.to_string()),
            ("/tmp/a b.metal".to_owned(), "metal".to_owned())
        );
        assert_eq!(text(&url), "file:///tmp/a b.metal");
        let other: Retained<AnyObject> =
            msg_send![class!(NSURL), URLWithString: &*NSString::of("https://example.org")];
        let is_file: bool = msg_send![&*other, isFileURL];
        assert!(!is_file);
    }
}

#[test]
fn a_pool_object_drains_like_a_pool() {
    let string = NSString::of("kept");
    // SAFETY: the class has these methods; the pool's reference goes with `drain`.
    unsafe {
        let pool: *mut AnyObject = msg_send![class!(NSAutoreleasePool), new];
        let _later = Retained::autorelease_ptr(string.clone());
        let before: usize = msg_send![&*string, retainCount];
        let () = msg_send![pool, drain];
        let after: usize = msg_send![&*string, retainCount];
        assert_eq!((before, after), (2, 1));
    }
}

#[test]
fn the_process_tells_what_it_runs_on() {
    // SAFETY: the class has these methods.
    unsafe {
        let info: Retained<AnyObject> = msg_send![class!(NSProcessInfo), processInfo];
        let (memory, processors): (u64, usize) =
            (msg_send![&*info, physicalMemory], msg_send![&*info, processorCount]);
        assert!(memory > 0 && processors > 0);
        let bundle: Retained<AnyObject> = msg_send![class!(NSBundle), mainBundle];
        let path: Retained<NSString> = msg_send![&*bundle, bundlePath];
        assert!(std::path::Path::new(&path.to_string()).is_dir());
    }
}
