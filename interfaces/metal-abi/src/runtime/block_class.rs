//! The classes of blocks, by which blocks answer messages: they are copied, counted and described as
//! other objects are.

use std::sync::Once;

use super::block::{GLOBAL_BLOCK, HEAP_BLOCK, STACK_BLOCK, copy_block, release_block};
use super::class::Class;
use super::class_builder::{add_method, allocate_pair, register_pair};
use super::object::{Imp, Object};
use super::pool;
use super::registry::class_named;
use super::selector::Sel;

/// The statics that blocks point to.
pub(crate) static ALL: [&Class; 3] = [&STACK_BLOCK, &GLOBAL_BLOCK, &HEAP_BLOCK];

type Id = *mut Object;

/// Builds all of them, below `NSObject`.
pub(crate) fn build() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let root = class_named(c"NSObject");
        for name in ALL.map(Class::name) {
            let Some(class) = allocate_pair(root, name) else { continue };
            let gives: [(_, unsafe extern "C-unwind" fn(Id, Sel) -> Id); 3] =
                [(c"copy", copy), (c"retain", copy), (c"autorelease", autorelease)];
            for (selector, code) in gives {
                // SAFETY: whoever calls a method's code casts it to the method's type first.
                let code =
                    unsafe { std::mem::transmute::<unsafe extern "C-unwind" fn(Id, Sel) -> Id, Imp>(code) };
                add_method(class, Sel::of(selector), code, c"@16@0:8");
            }
            let code: unsafe extern "C-unwind" fn(Id, Sel) = release;
            // SAFETY: as above.
            let code = unsafe { std::mem::transmute::<unsafe extern "C-unwind" fn(Id, Sel), Imp>(code) };
            add_method(class, Sel::of(c"release"), code, c"v16@0:8");
            register_pair(class);
        }
    });
}

unsafe extern "C-unwind" fn copy(block: Id, _: Sel) -> Id {
    // SAFETY: the receiver is a block.
    unsafe { copy_block(block.cast()) }.cast()
}

unsafe extern "C-unwind" fn release(block: Id, _: Sel) {
    // SAFETY: the receiver is a block, and the sender gives up a reference.
    unsafe { release_block(block.cast()) }
}

extern "C-unwind" fn autorelease(block: Id, _: Sel) -> Id {
    pool::add(block);
    block
}
