//! Linking for another processor than the host's: the bytes can be checked, if not run.

use anymetal_llvm::{CompileError, CompileOptions, Llvm};

use super::*;

const BASE: u64 = 0x10_0000;

fn word(memory: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(*memory[at..].first_chunk().expect("a word"))
}

/// The address that `adrp` at `at` and the 64-bit `ldr` after it read from.
fn adrp_ldr_target(memory: &[u8], at: usize) -> usize {
    let (adrp, ldr) = (word(memory, at), word(memory, at + 4));
    assert_eq!(adrp & 0x9f00_0000, 0x9000_0000, "adrp: {adrp:#x}");
    assert_eq!(ldr & 0xffc0_0000, 0xf940_0000, "ldr: {ldr:#x}");
    let pages = (adrp >> 5 & 0x7_ffff) << 2 | adrp >> 29 & 3;
    let page = ((BASE as usize + at) & !0xfff) + ((pages as usize) << 12);
    page + ((ldr >> 10 & 0xfff) as usize) * 8 - BASE as usize
}

#[test]
fn aarch64_objects_are_linked() {
    let Ok(llvm) = Llvm::load() else {
        assert!(std::env::var("ANYMETAL_TEST_WITHOUT_LLVM").is_ok_and(|value| value == "1"), "no LLVM");
        return;
    };
    let target = llvm.host_target().aarch64();
    let options = CompileOptions { target: Some(target), ..CompileOptions::default() };
    let ir = "@number = internal constant i64 77
      @numbers = global [2 x ptr] [ptr @number, ptr @far]
      declare void @far()
      define void @calls() { tail call void @far() ret void }
      define ptr @reads() { %p = load ptr, ptr @numbers ret ptr %p }";
    let object = match llvm.compile(ir, &options) {
        Ok(object) => object,
        Err(CompileError::UnknownTarget { .. }) => return, // A libLLVM without this target.
        Err(other) => panic!("{other}"),
    };
    let far = |name: &str| (name == "far").then_some(0x1234_5678_9abc as *const ());
    assert_eq!(parse(&object).expect("an object").1, Machine::Aarch64);
    let (memory, symbols) = linked(&object, BASE, &far).expect("links");
    assert!(matches!(LoadedObject::check(&object, &|_| None), Err(LoadError::Undefined { .. })));
    // A call far away: a branch to a stub that loads the address.
    let branch = word(&memory, symbols["calls"]);
    assert_eq!(branch & 0xfc00_0000, 0x1400_0000, "b: {branch:#x}");
    let stub = symbols["calls"] + (branch & 0x03ff_ffff) as usize * 4;
    assert_eq!(memory[stub..stub + 16], machine::Machine::Aarch64.stub(0x1234_5678_9abc));
    // An address in data, and a global reached through its slot.
    let table = symbols["numbers"];
    let pointer = |at: usize| u64::from_le_bytes(*memory[at..].first_chunk().expect("a pointer"));
    let number = (pointer(table) - BASE) as usize;
    assert_eq!(pointer(number), 77);
    assert_eq!(pointer(table + 8), 0x1234_5678_9abc);
    let slot = adrp_ldr_target(&memory, symbols["reads"]);
    assert_eq!(pointer(slot), BASE + table as u64);
}
