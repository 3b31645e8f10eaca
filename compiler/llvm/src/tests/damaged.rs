//! No damage to an object's bytes makes the loader do worse than return an error.

use super::{EVERYTHING, llvm, object};
use anymetal_cpu::loader::{LoadedObject, default_symbols};

#[test]
fn truncated_objects_are_errors() {
    let Some(llvm) = llvm() else { return };
    let object = object(&llvm, EVERYTHING);
    for length in (0..object.len()).step_by(64) {
        // The section header table comes last, so every truncation loses some of it.
        assert!(LoadedObject::load(&object[..length], &default_symbols).is_err(), "{length} bytes");
    }
}

#[test]
fn flipped_bits_never_crash_the_loader() {
    let Some(llvm) = llvm() else { return };
    let mut object = object(&llvm, EVERYTHING);
    let (mut refused, mut taken) = (0, 0);
    for at in 0..object.len() {
        for bit in [0, 3, 7] {
            object[at] ^= 1 << bit;
            match LoadedObject::load(&object, &default_symbols) {
                Ok(_) => taken += 1, // A changed constant, instruction or name; nothing to notice.
                Err(_) => refused += 1,
            }
            object[at] ^= 1 << bit;
        }
    }
    assert!(refused > 100 && taken > 100, "{refused} refused, {taken} taken");
}

#[test]
fn overwritten_words_never_crash_the_loader() {
    let Some(llvm) = llvm() else { return };
    let object = object(&llvm, EVERYTHING);
    for at in (0..object.len() - 8).step_by(4) {
        for word in [0u64, u64::MAX, 0x7fff_ffff_ffff_ffff, 0x8000_0000, 0x1_0000] {
            let mut damaged = object.clone();
            damaged[at..at + 8].copy_from_slice(&word.to_le_bytes());
            drop(LoadedObject::load(&damaged, &default_symbols));
        }
    }
}
