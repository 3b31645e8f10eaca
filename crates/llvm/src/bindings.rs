//! The C functions of libLLVM that are used, as one table of function pointers.
//!
//! Signatures follow `llvm-c/*.h` and are the same from LLVM 18 to 22. Everything is bound when the
//! library is opened, so a missing function is a refusal of that library and never a surprise later.

use std::ffi::{c_char, c_int, c_uint, c_void};

use libloading::os::unix::Library;

/// Any LLVM object: the C API passes opaque pointers for all of them.
pub(crate) type Opaque = *mut c_void;
/// Callback for messages that LLVM would otherwise print.
pub(crate) type DiagnosticHandler = unsafe extern "C" fn(info: Opaque, user: *mut c_void);
/// Initialises one part of one target.
pub(crate) type Initialise = unsafe extern "C" fn();

/// `LLVMReturnStatusAction`: report through the return value instead of ending the process.
pub(crate) const VERIFIER_RETURNS_STATUS: c_int = 2;
/// `LLVMDSError`.
pub(crate) const SEVERITY_ERROR: c_int = 0;
/// `LLVMRelocPIC`.
pub(crate) const RELOCATION_PIC: c_int = 2;
/// `LLVMCodeModelSmall`: everything of one object lies within 2 GiB; calls out of it go through the
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

/// Asks the library for its version; `None` when it is too old to have the function (before 16).
///
/// # Safety
/// `library` must be a libLLVM.
pub(crate) unsafe fn version(library: &Library) -> Option<(u32, u32, u32)> {
    type GetVersion = unsafe extern "C" fn(*mut c_uint, *mut c_uint, *mut c_uint);
    // SAFETY: the caller vouches that this is libLLVM, whose LLVMGetVersion has this type.
    let get = unsafe { library.get::<GetVersion>(b"LLVMGetVersion\0") }.ok()?;
    let (mut major, mut minor, mut patch) = (0, 0, 0);
    // SAFETY: three valid pointers to writable integers, as the function wants.
    unsafe { get(&mut major, &mut minor, &mut patch) };
    Some((major, minor, patch))
}

/// Initialises one target (`X86`, `AArch64`, `NVPTX`), if the library has it.
///
/// # Safety
/// `library` must be a libLLVM, and no other thread may be using it yet.
pub(crate) unsafe fn initialise_target(library: &Library, target: &str) {
    for part in ["TargetInfo", "Target", "TargetMC", "AsmPrinter", "AsmParser"] {
        let name = format!("LLVMInitialize{target}{part}\0");
        // SAFETY: the caller vouches for libLLVM, whose initialisers take and return nothing.
        if let Ok(initialise) = unsafe { library.get::<Initialise>(name.as_bytes()) } {
            // SAFETY: as above; initialisers may be called in any order, once or more.
            unsafe { initialise() };
        }
    }
}
