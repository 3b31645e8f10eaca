//! Blocks: functions with captured values, in the layout that compilers and `block2` make them in
//! (<https://clang.llvm.org/docs/Block-ABI-Apple.html>).
//!
//! Invariant: a block on the heap counts its references in the word that the layout reserves, as
//! GNUstep's runtime does; blocks on the stack and global ones are not counted.

use std::ffi::{c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI32, Ordering};

use super::arc::{objc_release, objc_retain};
use super::block_class;
use super::class::{Class, IS_BLOCK};
use super::object::Truth;

const NEEDS_FREE: i32 = 1 << 24;
const HAS_HELPERS: i32 = 1 << 25;
const IS_GLOBAL: i32 = 1 << 28;
const HAS_SIGNATURE: i32 = 1 << 30;

/// Captured things are of the kinds 3 (object), 7 (block) and 8 (variable that the block shares).
const KIND_OF_CAPTURED: c_int = 0xf;
const OBJECT: c_int = 3;
const BLOCK: c_int = 7;
const SHARED: c_int = 8;

#[unsafe(export_name = "_NSConcreteStackBlock")]
pub(crate) static STACK_BLOCK: Class = Class::unbuilt(c"__NSStackBlock", IS_BLOCK, Some(block_class::build));
#[unsafe(export_name = "_NSConcreteGlobalBlock")]
pub(crate) static GLOBAL_BLOCK: Class =
    Class::unbuilt(c"__NSGlobalBlock", IS_BLOCK, Some(block_class::build));
#[unsafe(export_name = "_NSConcreteMallocBlock")]
pub(crate) static HEAP_BLOCK: Class = Class::unbuilt(c"__NSMallocBlock", IS_BLOCK, Some(block_class::build));

/// The start of a block.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Block {
    isa: *const Class,
    flags: i32,
    references: AtomicI32,
    invoke: *const c_void,
    descriptor: *const Descriptor,
}

#[repr(C)]
#[derive(Debug)]
struct Descriptor {
    reserved: usize,
    bytes: usize,
}

/// What follows the descriptor of a block with captured values that must be copied.
#[repr(C)]
struct Helpers {
    copy: Option<unsafe extern "C-unwind" fn(*mut c_void, *const c_void)>,
    dispose: Option<unsafe extern "C-unwind" fn(*mut c_void)>,
}

impl Block {
    /// # Safety
    ///
    /// It is a whole block.
    unsafe fn helpers(&self) -> Option<&Helpers> {
        if self.flags & HAS_HELPERS == 0 {
            return None;
        }
        // SAFETY: as promised; the flag says that they follow the descriptor.
        unsafe { self.descriptor.add(1).cast::<Helpers>().as_ref() }
    }
}

/// A reference to the block: on the heap afterwards.
///
/// # Safety
///
/// `block` is null or a block.
pub(crate) unsafe fn copy_block(block: *const Block) -> *mut Block {
    // SAFETY: as promised.
    let Some(original) = (unsafe { block.as_ref() }) else { return null_mut() };
    if original.flags & IS_GLOBAL != 0 {
        return block.cast_mut();
    }
    if original.flags & NEEDS_FREE != 0 {
        original.references.fetch_add(1, Ordering::Relaxed);
        return block.cast_mut();
    }
    // SAFETY: as promised, the descriptor tells the block's bytes, and the copy gets as many.
    unsafe {
        let bytes = (*original.descriptor).bytes;
        let copy = libc::malloc(bytes).cast::<Block>();
        if copy.is_null() {
            return copy;
        }
        std::ptr::copy_nonoverlapping(block.cast::<u8>(), copy.cast::<u8>(), bytes);
        (*copy).isa = &raw const HEAP_BLOCK;
        (*copy).flags = original.flags | NEEDS_FREE;
        (*copy).references = AtomicI32::new(1);
        if let Some(helper) = original.helpers().and_then(|helpers| helpers.copy) {
            helper(copy.cast(), block.cast());
        }
        copy
    }
}

/// Gives a reference back.
///
/// # Safety
///
/// `block` is null or a block; one on the heap with a reference of the caller's.
pub(crate) unsafe fn release_block(block: *mut Block) {
    // SAFETY: as promised.
    let Some(shared) = (unsafe { block.as_ref() }) else { return };
    if shared.flags & NEEDS_FREE == 0 || shared.references.fetch_sub(1, Ordering::AcqRel) != 1 {
        return;
    }
    // SAFETY: that was the last reference, and the block's memory is `malloc`'s.
    unsafe {
        if let Some(helper) = shared.helpers().and_then(|helpers| helpers.dispose) {
            helper(block.cast());
        }
        libc::free(block.cast());
    }
}

/// The code of a block, to be called with the block as its first argument.
///
/// # Safety
///
/// `block` is a block, or the start of its layout up to the code.
pub(crate) unsafe fn code_of(block: *const c_void) -> *const c_void {
    // SAFETY: as promised.
    unsafe { (&raw const (*block.cast::<Block>()).invoke).read() }
}

/// Calls a block without arguments or a result.
///
/// # Safety
///
/// `block` is null or such a block.
pub(crate) unsafe fn invoke_block(block: *mut c_void) {
    // SAFETY: as promised, this is its code's type.
    unsafe {
        let Some(whole) = block.cast::<Block>().as_ref() else { return };
        let code =
            std::mem::transmute::<*const c_void, unsafe extern "C-unwind" fn(*mut c_void)>(whole.invoke);
        code(block);
    }
}

/// Calls a block that takes a number and gives nothing.
///
/// # Safety
///
/// `block` is null or such a block.
pub(crate) unsafe fn invoke_block_with(block: *mut c_void, number: usize) {
    // SAFETY: as promised, this is its code's type.
    unsafe {
        let Some(whole) = block.cast::<Block>().as_ref() else { return };
        let code = std::mem::transmute::<*const c_void, unsafe extern "C-unwind" fn(*mut c_void, usize)>(
            whole.invoke,
        );
        code(block, number);
    }
}

/// # Safety
///
/// `block` is null or a block.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn _Block_copy(block: *const c_void) -> *mut c_void {
    // SAFETY: as promised.
    unsafe { copy_block(block.cast()) }.cast()
}

/// # Safety
///
/// `block` is null or a block; one on the heap with a reference of the caller's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn _Block_release(block: *const c_void) {
    // SAFETY: as promised.
    unsafe { release_block(block.cast_mut().cast()) }
}

/// A variable that blocks share with the function that declares it (`__block`).
#[repr(C)]
struct SharedVariable {
    isa: *const c_void,
    /// Where the variable is: itself, or its copy on the heap.
    forwarding: *mut SharedVariable,
    /// References in the low half, flags in the high half.
    flags: AtomicI32,
    bytes: i32,
}

/// # Safety
///
/// `variable` is a whole shared variable.
unsafe fn copy_shared(variable: *mut SharedVariable) -> *mut SharedVariable {
    // SAFETY: as promised; the helpers follow the head if the flag says so.
    unsafe {
        let source = (*variable).forwarding;
        if (*source).flags.load(Ordering::Relaxed) & NEEDS_FREE != 0 {
            (*source).flags.fetch_add(1, Ordering::Relaxed);
            return source;
        }
        let flags = (*source).flags.load(Ordering::Relaxed);
        let bytes = (*source).bytes as usize;
        let copy = libc::malloc(bytes).cast::<SharedVariable>();
        if copy.is_null() {
            return copy;
        }
        std::ptr::copy_nonoverlapping(source.cast::<u8>(), copy.cast::<u8>(), bytes);
        // One reference of the block's and one of the function's that declares it.
        (*copy).flags = AtomicI32::new(flags | NEEDS_FREE | 2);
        (*copy).forwarding = copy;
        (*source).forwarding = copy;
        if flags & HAS_HELPERS != 0
            && let Some(helper) = (*source.add(1).cast::<Helpers>()).copy
        {
            helper(copy.cast(), source.cast());
        }
        copy
    }
}

/// # Safety
///
/// `variable` is a whole shared variable with a reference of the caller's.
unsafe fn release_shared(variable: *mut SharedVariable) {
    // SAFETY: as promised.
    unsafe {
        let variable = (*variable).forwarding;
        let flags = (*variable).flags.load(Ordering::Relaxed);
        if flags & NEEDS_FREE == 0 || (*variable).flags.fetch_sub(1, Ordering::AcqRel) & 0xffff != 1 {
            return;
        }
        if flags & HAS_HELPERS != 0
            && let Some(helper) = (*variable.add(1).cast::<Helpers>()).dispose
        {
            helper(variable.cast());
        }
        libc::free(variable.cast());
    }
}

/// # Safety
///
/// `destination` may be written; `captured` is null or of the kind that the flags tell.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn _Block_object_assign(
    destination: *mut c_void,
    captured: *const c_void,
    flags: c_int,
) {
    super::require_place("_Block_object_assign", destination.cast());
    let captured = captured.cast_mut();
    // SAFETY: as promised.
    unsafe {
        let held = match flags & KIND_OF_CAPTURED {
            OBJECT => objc_retain(captured.cast()).cast(),
            BLOCK => copy_block(captured.cast()).cast(),
            SHARED if !captured.is_null() => copy_shared(captured.cast()).cast(),
            _ => captured,
        };
        destination.cast::<*mut c_void>().write(held);
    }
}

/// # Safety
///
/// `captured` is null or of the kind that the flags tell, with a reference of the caller's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn _Block_object_dispose(captured: *const c_void, flags: c_int) {
    let captured = captured.cast_mut();
    // SAFETY: as promised.
    unsafe {
        match flags & KIND_OF_CAPTURED {
            OBJECT => objc_release(captured.cast()),
            BLOCK => release_block(captured.cast()),
            SHARED if !captured.is_null() => release_shared(captured.cast()),
            _ => {}
        }
    }
}

/// # Safety
///
/// `block` is null or a block.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn _Block_has_signature(block: *const c_void) -> Truth {
    // SAFETY: as promised.
    let block = unsafe { block.cast::<Block>().as_ref() };
    Truth::from(block.is_some_and(|block| block.flags & HAS_SIGNATURE != 0))
}

/// # Safety
///
/// `block` is null or a block.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn _Block_signature(block: *const c_void) -> *const c_char {
    // SAFETY: as promised; the signature follows the descriptor and its helpers if the flag says
    // so.
    unsafe {
        let Some(block) = block.cast::<Block>().as_ref().filter(|block| block.flags & HAS_SIGNATURE != 0)
        else {
            return std::ptr::null();
        };
        let after = block.descriptor.add(1).cast::<u8>();
        let skipped = if block.flags & HAS_HELPERS != 0 { size_of::<Helpers>() } else { 0 };
        after.add(skipped).cast::<*const c_char>().read()
    }
}
