//! Owners of LLVM objects: each frees its object exactly once, when dropped.
//!
//! Invariant: a handle's pointer is live as long as the handle is, and a module does not outlive its
//! context. The second is kept by [`Context::parse`] borrowing the context.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr;

use crate::bindings::{Bindings, Opaque, SEVERITY_ERROR, VERIFIER_RETURNS_STATUS};

/// Copies and frees a message that LLVM allocated. A null pointer gives an empty string.
///
/// # Safety
/// `message` must be null or a NUL-terminated string that LLVM expects `LLVMDisposeMessage` for.
pub(crate) unsafe fn take_message(llvm: &Bindings, message: *mut c_char) -> String {
    if message.is_null() {
        return String::new();
    }
    // SAFETY: not null, and a C string by the caller's word.
    let text = unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned();
    // SAFETY: the caller hands over ownership; the pointer is not used again.
    unsafe { (llvm.LLVMDisposeMessage)(message) };
    text
}

/// What the diagnostic handler collects for one context.
struct Collector<'l> {
    llvm: &'l Bindings,
    errors: RefCell<Vec<String>>,
}

/// Receives what LLVM would print; keeps the errors and drops remarks and warnings.
unsafe extern "C" fn collect(info: Opaque, user: *mut c_void) {
    // SAFETY: `user` is the collector that `Context::new` registered; it outlives the context, and
    // LLVM calls this on the compiling thread only, so the shared borrow is the only one.
    let collector = unsafe { &*user.cast::<Collector<'_>>() };
    // SAFETY: `info` is valid during this call.
    if unsafe { (collector.llvm.LLVMGetDiagInfoSeverity)(info) } != SEVERITY_ERROR {
        return;
    }
    // SAFETY: `info` is valid, and the description is ours to dispose of.
    let text = unsafe {
        let description = (collector.llvm.LLVMGetDiagInfoDescription)(info);
        take_message(collector.llvm, description)
    };
    collector.errors.borrow_mut().push(text);
}

/// An LLVM context: the world of one compile.
pub(crate) struct Context<'l> {
    llvm: &'l Bindings,
    raw: Opaque,
    collector: Box<Collector<'l>>,
}

impl<'l> Context<'l> {
    pub(crate) fn new(llvm: &'l Bindings) -> Self {
        let collector = Box::new(Collector { llvm, errors: RefCell::default() });
        // SAFETY: takes nothing; never returns null (LLVM ends the process when out of memory).
        let raw = unsafe { (llvm.LLVMContextCreate)() };
        let user: *const Collector<'_> = &*collector;
        // SAFETY: the collector is boxed, so its address holds, and it is dropped after the context.
        unsafe { (llvm.LLVMContextSetDiagnosticHandler)(raw, collect, user.cast_mut().cast()) };
        Self { llvm, raw, collector }
    }

    /// The errors reported since the last call, joined by line ends; `None` when there are none.
    pub(crate) fn take_errors(&self) -> Option<String> {
        let errors = self.collector.errors.take();
        (!errors.is_empty()).then(|| errors.join("\n"))
    }

    /// Parses IR text; the error is LLVM's message, which begins with `<name>:line:column:`.
    pub(crate) fn parse(&self, text: &str) -> Result<Module<'_>, String> {
        let llvm = self.llvm;
        let mut module = ptr::null_mut();
        let mut message = ptr::null_mut();
        // SAFETY: the range is that of `text`, which LLVM copies and ends with a NUL of its own.
        let buffer = unsafe {
            (llvm.LLVMCreateMemoryBufferWithMemoryRangeCopy)(text.as_ptr().cast(), text.len(), c"ir".as_ptr())
        };
        // SAFETY: context and buffer are live; the call consumes the buffer whatever it returns.
        let failed = unsafe { (llvm.LLVMParseIRInContext)(self.raw, buffer, &mut module, &mut message) } != 0;
        if failed {
            // SAFETY: on failure the message is LLVM's to hand over.
            return Err(unsafe { take_message(llvm, message) });
        }
        Ok(Module { llvm, raw: module, _context: self })
    }
}

impl Drop for Context<'_> {
    fn drop(&mut self) {
        // SAFETY: created by `new`, dropped once; modules borrow the context, so none is left.
        unsafe { (self.llvm.LLVMContextDispose)(self.raw) };
    }
}

/// A parsed module.
pub(crate) struct Module<'c> {
    llvm: &'c Bindings,
    raw: Opaque,
    _context: &'c Context<'c>,
}

impl Module<'_> {
    /// Runs the verifier; the error is its message.
    pub(crate) fn verify(&self) -> Result<(), String> {
        let mut message = ptr::null_mut();
        // SAFETY: the module is live and `message` is writable; the action makes the call return.
        let broken =
            unsafe { (self.llvm.LLVMVerifyModule)(self.raw, VERIFIER_RETURNS_STATUS, &mut message) } != 0;
        // SAFETY: LLVM allocates the message (empty on success) and hands it over.
        let text = unsafe { take_message(self.llvm, message) };
        if broken { Err(text) } else { Ok(()) }
    }

    /// The module as IR text.
    pub(crate) fn print(&self) -> String {
        // SAFETY: the module is live; the string is ours.
        unsafe { take_message(self.llvm, (self.llvm.LLVMPrintModuleToString)(self.raw)) }
    }
}

impl Drop for Module<'_> {
    fn drop(&mut self) {
        // SAFETY: created by `Context::parse`, dropped once, its context still lives.
        unsafe { (self.llvm.LLVMDisposeModule)(self.raw) };
    }
}

/// A code generator for one target, processor and level.
pub(crate) struct TargetMachine<'l> {
    llvm: &'l Bindings,
    raw: Opaque,
    triple: CString,
}

impl<'l> TargetMachine<'l> {
    /// Looks the triple up and creates the machine; the error is LLVM's message.
    pub(crate) fn new(
        llvm: &'l Bindings,
        triple: &str,
        cpu: &str,
        features: &str,
        code_level: i32,
    ) -> Result<Self, String> {
        let c_string = |text: &str| CString::new(text).map_err(|_| "a target name holds a NUL".to_owned());
        let (triple, cpu, features) = (c_string(triple)?, c_string(cpu)?, c_string(features)?);
        let mut target = ptr::null_mut();
        let mut message = ptr::null_mut();
        // SAFETY: a C string and two writable pointers.
        if unsafe { (llvm.LLVMGetTargetFromTriple)(triple.as_ptr(), &mut target, &mut message) } != 0 {
            // SAFETY: on failure the message is LLVM's to hand over.
            return Err(unsafe { take_message(llvm, message) });
        }
        // SAFETY: a target just looked up, three C strings, and constants of the C API.
        let raw = unsafe {
            (llvm.LLVMCreateTargetMachine)(
                target,
                triple.as_ptr(),
                cpu.as_ptr(),
                features.as_ptr(),
                code_level,
                crate::bindings::RELOCATION_PIC,
                crate::bindings::CODE_MODEL_SMALL,
            )
        };
        if raw.is_null() {
            return Err("the target was built without code generation".to_owned());
        }
        Ok(Self { llvm, raw, triple })
    }

    /// The target's data layout, as the IR's `target datalayout` states it.
    pub(crate) fn data_layout(&self) -> String {
        // SAFETY: the machine is live; the layout is disposed of after its text has been copied.
        unsafe {
            let layout = (self.llvm.LLVMCreateTargetDataLayout)(self.raw);
            let text = take_message(self.llvm, (self.llvm.LLVMCopyStringRepOfTargetData)(layout));
            (self.llvm.LLVMDisposeTargetData)(layout);
            text
        }
    }

    /// Makes the module's triple and data layout this machine's.
    pub(crate) fn adopt(&self, module: &Module<'_>) {
        // SAFETY: machine, module and string are live; the layout is copied by the call.
        unsafe {
            (self.llvm.LLVMSetTarget)(module.raw, self.triple.as_ptr());
            let layout = (self.llvm.LLVMCreateTargetDataLayout)(self.raw);
            (self.llvm.LLVMSetModuleDataLayout)(module.raw, layout);
            (self.llvm.LLVMDisposeTargetData)(layout);
        }
    }

    /// Runs a pass pipeline. Only pipelines that are constants of this crate may come here.
    pub(crate) fn run_passes(&self, module: &Module<'_>, pipeline: &CStr) -> Result<(), String> {
        // SAFETY: takes nothing and returns options that are disposed of below.
        let options = unsafe { (self.llvm.LLVMCreatePassBuilderOptions)() };
        // SAFETY: all four are live.
        let error = unsafe { (self.llvm.LLVMRunPasses)(module.raw, pipeline.as_ptr(), self.raw, options) };
        // SAFETY: created above and not used again.
        unsafe { (self.llvm.LLVMDisposePassBuilderOptions)(options) };
        if error.is_null() {
            return Ok(());
        }
        // SAFETY: the call consumes the error and hands over a C string, freed by its own function.
        unsafe {
            let message = (self.llvm.LLVMGetErrorMessage)(error);
            let text = CStr::from_ptr(message).to_string_lossy().into_owned();
            (self.llvm.LLVMDisposeErrorMessage)(message);
            Err(text)
        }
    }

    /// Generates code into memory; `kind` is `FILE_ASSEMBLY` or `FILE_OBJECT`.
    pub(crate) fn emit(&self, module: &Module<'_>, kind: i32) -> Result<Vec<u8>, String> {
        let mut message = ptr::null_mut();
        let mut buffer = ptr::null_mut();
        let emit = self.llvm.LLVMTargetMachineEmitToMemoryBuffer;
        // SAFETY: machine and module are live, both out pointers writable.
        if unsafe { emit(self.raw, module.raw, kind, &mut message, &mut buffer) } != 0 {
            // SAFETY: on failure the message is LLVM's to hand over.
            return Err(unsafe { take_message(self.llvm, message) });
        }
        // SAFETY: on success the buffer is ours, spans `size` bytes, and is freed after the copy.
        unsafe {
            let start = (self.llvm.LLVMGetBufferStart)(buffer).cast::<u8>();
            let size = (self.llvm.LLVMGetBufferSize)(buffer);
            let bytes = std::slice::from_raw_parts(start, size).to_vec();
            (self.llvm.LLVMDisposeMemoryBuffer)(buffer);
            Ok(bytes)
        }
    }
}

impl Drop for TargetMachine<'_> {
    fn drop(&mut self) {
        // SAFETY: created by `new`, dropped once.
        unsafe { (self.llvm.LLVMDisposeTargetMachine)(self.raw) };
    }
}
