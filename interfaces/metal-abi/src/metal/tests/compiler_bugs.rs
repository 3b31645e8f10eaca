//! A bug of the compiler is an `NSError` with a report, and the process goes on.

use std::process::Command;

use super::*;

const CHILD: &str = "ANYMETAL_TEST_CHILD";
/// `MTLLibraryErrorInternal`.
const INTERNAL: isize = 2;

#[test]
fn a_compiler_bug_is_an_internal_error_of_the_library() {
    if std::env::var_os(CHILD).is_none() {
        // `newLibraryWithSource:` compiles kernels as far as the middle end; the rest is for the pipeline.
        for stage in ["front end", "code generator"] {
            let folder = std::env::temp_dir().join(format!("anymetal-bug-{}", std::process::id()));
            let mut child = Command::new(std::env::current_exe().unwrap());
            let name = std::thread::current().name().expect("tests have names").to_owned();
            child.args(["--exact", &name, "--nocapture"]).env(CHILD, "1");
            child.env("ANYMETAL_CACHE", folder.join("cache")).env("ANYMETAL_TEST_COMPILER_BUG", stage);
            let output = child.output().unwrap();
            let printed = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
            std::fs::remove_dir_all(&folder).unwrap();
            assert!(output.status.success() && printed.contains("1 passed"), "{stage}: {printed}");
        }
        return;
    }
    let stage = std::env::var("ANYMETAL_TEST_COMPILER_BUG").unwrap();
    let device = device();
    for _round in 0..2 {
        let error = match library(&device, SOURCE) {
            Err(error) => error,
            Ok(library) => pipeline_error(&device, &library, "fill"),
        };
        // SAFETY: the class has the method.
        let code: isize = unsafe { msg_send![&*error, code] };
        let text = error.text();
        assert_eq!(code, INTERNAL, "{text}");
        assert!(text.contains(&format!("compiler bug in stage `{stage}`")), "{text}");
        let path = text.rsplit_once("the reproducer ").expect("a path").1;
        assert!(std::fs::read_to_string(path.trim()).unwrap().contains("kernel void fill"), "{path}");
    }
}

fn pipeline_error(device: &AnyObject, library: &AnyObject, name: &str) -> Retained<NSError> {
    let mut error: *mut NSError = std::ptr::null_mut();
    // SAFETY: the classes have these methods; what the last one writes is an object.
    unsafe {
        let function: Id = msg_send![library, newFunctionWithName: &*NSString::of(name)];
        let made: Option<Id> =
            msg_send![device, newComputePipelineStateWithFunction: &*function, error: &mut error];
        assert!(made.is_none(), "a pipeline in spite of the bug");
        Retained::retain(error).expect("an error")
    }
}
