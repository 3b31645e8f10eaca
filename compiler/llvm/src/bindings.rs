//! The C functions of libLLVM that are used, as one table of function pointers.
//!
//! Signatures follow `llvm-c/*.h` and are the same from LLVM 18 to 23. Everything is bound when the
//! library is opened, so a missing function is a refusal of that library and never a surprise later.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ops::RangeInclusive;
use std::sync::{Mutex, PoisonError};

use libloading::os::unix::Library;

use crate::discovery::{MINIMUM_MAJOR, NEWEST_TESTED};

/// Any LLVM object: the C API passes opaque pointers for all of them.
pub(crate) type Opaque = *mut c_void;
/// Callback for messages that LLVM would otherwise print.
pub(crate) type DiagnosticHandler = unsafe extern "C" fn(info: Opaque, user: *mut c_void);
/// Tells the version.
pub(crate) type GetVersion = unsafe extern "C" fn(*mut c_uint, *mut c_uint, *mut c_uint);
/// Reads options as from a command line.
type ParseCommandLine = unsafe extern "C" fn(c_int, *const *const c_char, *const c_char);
/// Initialises one part of one target.
type Initialise = unsafe extern "C" fn();

/// `LLVMReturnStatusAction`: report through the return value instead of ending the process.
pub(crate) const VERIFIER_RETURNS_STATUS: c_int = 2;
/// `LLVMDSError`.
pub(crate) const SEVERITY_ERROR: c_int = 0;
/// `LLVMRelocPIC`.
pub(crate) const RELOCATION_PIC: c_int = 2;
/// `LLVMCodeModelSmall`: everything of one object is within 2 GiB; calls out of it go through the
/// loader's stubs.
pub(crate) const CODE_MODEL_SMALL: c_int = 3;
/// `LLVMAssemblyFile`.
pub(crate) const FILE_ASSEMBLY: c_int = 0;
/// `LLVMObjectFile`.
pub(crate) const FILE_OBJECT: c_int = 1;

macro_rules! bind {
    ($($name:ident: ($($arg:ty),*) $(-> $ret:ty)?;)*) => {
        /// The bound functions, each under its C name.
        #[allow(non_snake_case, reason = "each field carries the name of the C function it holds")]
        pub(crate) struct Bindings {
            $(pub(crate) $name: unsafe extern "C" fn($($arg),*) $(-> $ret)?,)*
        }

        impl Bindings {
            /// Binds every function; the error is the name of the first that is missing.
            ///
            /// # Safety
            /// `library` must be a libLLVM, so that each name has the signature written here, and
            /// must stay open while the table is used.
            pub(crate) unsafe fn resolve(library: &Library) -> Result<Self, &'static str> {
                Ok(Self {
                    $($name: {
                        let name = concat!(stringify!($name), "\0").as_bytes();
                        // SAFETY: the caller vouches that the symbol, if present, has this type.
                        *unsafe { library.get(name) }.map_err(|_| stringify!($name))?
                    },)*
                })
            }
        }
    };
}

bind! {
    LLVMContextCreate: () -> Opaque;
    LLVMContextDispose: (Opaque);
    LLVMContextSetDiagnosticHandler: (Opaque, DiagnosticHandler, *mut c_void);
    LLVMGetDiagInfoDescription: (Opaque) -> *mut c_char;
    LLVMGetDiagInfoSeverity: (Opaque) -> c_int;
    LLVMCreateMemoryBufferWithMemoryRangeCopy: (*const c_char, usize, *const c_char) -> Opaque;
    LLVMGetBufferStart: (Opaque) -> *const c_char;
    LLVMGetBufferSize: (Opaque) -> usize;
    LLVMDisposeMemoryBuffer: (Opaque);
    LLVMParseIRInContext: (Opaque, Opaque, *mut Opaque, *mut *mut c_char) -> c_int;
    LLVMDisposeModule: (Opaque);
    LLVMVerifyModule: (Opaque, c_int, *mut *mut c_char) -> c_int;
    LLVMPrintModuleToString: (Opaque) -> *mut c_char;
    LLVMSetTarget: (Opaque, *const c_char);
    LLVMSetModuleDataLayout: (Opaque, Opaque);
    LLVMDisposeMessage: (*mut c_char);
    LLVMGetTargetFromTriple: (*const c_char, *mut Opaque, *mut *mut c_char) -> c_int;
    LLVMCreateTargetMachine: (Opaque, *const c_char, *const c_char, *const c_char, c_int, c_int, c_int) -> Opaque;
    LLVMDisposeTargetMachine: (Opaque);
    LLVMTargetMachineEmitToMemoryBuffer: (Opaque, Opaque, c_int, *mut *mut c_char, *mut Opaque) -> c_int;
    LLVMCreateTargetDataLayout: (Opaque) -> Opaque;
    LLVMCopyStringRepOfTargetData: (Opaque) -> *mut c_char;
    LLVMDisposeTargetData: (Opaque);
    LLVMCreatePassBuilderOptions: () -> Opaque;
    LLVMDisposePassBuilderOptions: (Opaque);
    LLVMRunPasses: (Opaque, *const c_char, Opaque, Opaque) -> Opaque;
    LLVMGetErrorMessage: (Opaque) -> *mut c_char;
    LLVMDisposeErrorMessage: (*mut c_char);
    LLVMGetHostCPUName: () -> *mut c_char;
    LLVMGetHostCPUFeatures: () -> *mut c_char;
}

/// The version function and what it says; `None` when it is too old to have the function (before 16).
///
/// # Safety
/// `library` must be a libLLVM.
pub(crate) unsafe fn version(library: &Library) -> Option<(GetVersion, (u32, u32, u32))> {
    // SAFETY: the caller vouches that this is libLLVM, whose LLVMGetVersion has this type.
    let get = unsafe { library.get::<GetVersion>(b"LLVMGetVersion\0") }.ok()?;
    let (mut major, mut minor, mut patch) = (0, 0, 0);
    // SAFETY: three valid pointers to writable integers, as the function requires.
    unsafe { get(&mut major, &mut minor, &mut patch) };
    Some((*get, (major, minor, patch)))
}

/// Options of LLVM's that have no other way in. They hold for the whole library.
///
/// `dag-maps-huge-region`: in one block with thousands of loads and stores, as unrolled gathers and
/// scatters make, the schedulers keep a map of all pairs that may touch the same memory, which takes
/// time with the square of their number. From this many on they merge entries; measured on 2000
/// loads and stores in one block, code generation takes 0.2 s instead of 3.4 s.
///
/// `grow-region-complexity-budget`: when registers run out, the allocator looks for a region of blocks to
/// keep a value in, for each value and register anew. Functions with thousands of blocks spent half of their
/// compile time there, for more code; those of a few hundred never come near the limit.
const COMMAND_LINE: &[&CStr] =
    &[c"anymetal", c"-dag-maps-huge-region=128", c"-grow-region-complexity-budget=500"];

/// The versions that are known to have the options; LLVM ends the process at one it does not know.
const COMMAND_LINE_VERSIONS: RangeInclusive<u32> = MINIMUM_MAJOR..=NEWEST_TESTED;

/// Initialises the named targets (`X86`, `AArch64`, `NVPTX`), those of them that the library has, and
/// sets [`COMMAND_LINE`]. Once per library however often it is opened: LLVM refuses to be given an
/// option twice, and another thread may be compiling with it by then.
///
/// # Safety
/// `library` must be a libLLVM of the given version.
pub(crate) unsafe fn prepare(library: &Library, major: u32, version: GetVersion, targets: &[&str]) {
    static PREPARED: Mutex<Vec<usize>> = Mutex::new(Vec::new());
    let mut prepared = PREPARED.lock().unwrap_or_else(PoisonError::into_inner);
    // The same file opened twice is the same library, with its functions at the same addresses.
    let identity = version as usize;
    if prepared.contains(&identity) {
        return;
    }
    prepared.push(identity);
    for target in targets {
        // SAFETY: the caller vouches for libLLVM, and it is not used before it is initialised.
        unsafe { initialise_target(library, target) };
    }
    if COMMAND_LINE_VERSIONS.contains(&major) {
        // SAFETY: as above, and the version is one that knows the options.
        unsafe { set_options(library) };
    }
}

unsafe fn initialise_target(library: &Library, target: &str) {
    for part in ["TargetInfo", "Target", "TargetMC", "AsmPrinter", "AsmParser"] {
        let name = format!("LLVMInitialize{target}{part}\0");
        // SAFETY: the caller vouches for libLLVM, whose initialisers take and return nothing.
        if let Ok(initialise) = unsafe { library.get::<Initialise>(name.as_bytes()) } {
            // SAFETY: as above; they may be called in any order.
            unsafe { initialise() };
        }
    }
}

unsafe fn set_options(library: &Library) {
    // SAFETY: the caller vouches for libLLVM, whose function has this type.
    let parse = unsafe { library.get::<ParseCommandLine>(b"LLVMParseCommandLineOptions\0") };
    let Ok(parse) = parse else { return };
    let arguments: Vec<*const c_char> = COMMAND_LINE.iter().map(|argument| argument.as_ptr()).collect();
    // SAFETY: the count is that of the C strings; LLVM copies what it keeps.
    unsafe { parse(COMMAND_LINE.len() as c_int, arguments.as_ptr(), c"".as_ptr()) };
}
