//! Every failure is returned as the right error, and none ends the process.

use super::{EVERYTHING, llvm, object};
use crate::discovery::Surroundings;
use anymetal_cpu::loader::{LoadError, LoadedObject};

use crate::{CompileError, CompileOptions, Emit, Llvm, LlvmError, RefusalReason};

fn error(llvm: &Llvm, ir: &str) -> CompileError {
    llvm.compile(ir, &CompileOptions::default()).expect_err("the test's IR is wrong")
}

#[test]
fn parse_errors_name_the_line() {
    let Some(llvm) = llvm() else { return };
    let found = error(&llvm, "define i32 @f() {\n  ret i32 0\n}\ndefine bogus\n");
    let CompileError::Parse { line, message } = found else { panic!("{found:?}") };
    assert_eq!(line, Some(4));
    assert!(message.contains("expected type"), "{message}");
    assert!(matches!(error(&llvm, "\0\u{1}\u{fffd}"), CompileError::Parse { .. }));
    assert!(matches!(error(&llvm, "define void @f() { ret"), CompileError::Parse { .. }));
}

#[test]
fn an_empty_module_is_an_object() {
    let Some(llvm) = llvm() else { return };
    let code = LoadedObject::load(&object(&llvm, ""), &|_| None).expect("loads");
    assert_eq!(code.symbol_names().count(), 0);
}

#[test]
fn verifier_errors_come_back() {
    let Some(llvm) = llvm() else { return };
    // A value used before the block that defines it, which the reader accepts.
    let ir = "define i32 @f(i1 %c) {
      br i1 %c, label %a, label %b
    a:
      %x = add i32 1, 2
      br label %b
    b:
      ret i32 %x
    }";
    let found = error(&llvm, ir);
    let CompileError::Verify { message } = found else { panic!("{found:?}") };
    assert!(message.contains("does not dominate"), "{message}");
}

#[test]
fn unknown_intrinsics_are_refused() {
    let Some(llvm) = llvm() else { return };
    let ir = "declare float @llvm.no.such.thing(float)
      define float @f(float %x) { %r = call float @llvm.no.such.thing(float %x) ret float %r }";
    let name = "llvm.no.such.thing".to_owned();
    // LLVM 22 refuses such a declaration itself; older ones leave a symbol.
    match error(&llvm, ir) {
        CompileError::UndefinedIntrinsic { name: found } => assert_eq!(found, name),
        CompileError::Verify { message } | CompileError::Parse { message, .. } => {
            assert!(message.contains("intrinsic"), "{message}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn unknown_targets_are_refused() {
    let Some(llvm) = llvm() else { return };
    let mut target = llvm.host_target().clone();
    target.cpu = "a\0b".to_owned();
    let options = CompileOptions { target: Some(target), ..CompileOptions::default() };
    assert!(matches!(llvm.compile("", &options), Err(CompileError::UnknownTarget { .. })));
}

#[test]
fn code_generation_errors_come_back() {
    let Some(llvm) = llvm() else { return };
    let ir = r#"define void @f() { call void asm sideeffect "not an instruction", ""() ret void }"#;
    let found = error(&llvm, ir);
    assert!(matches!(found, CompileError::Codegen { .. }), "{found:?}");
}

#[test]
fn undefined_symbols_are_named() {
    let Some(llvm) = llvm() else { return };
    let found = LoadedObject::load(&object(&llvm, EVERYTHING), &|_| None).expect_err("nothing resolves");
    let LoadError::Undefined { name } = found else { panic!("{found:?}") };
    assert!(name == "memcpy" || name == "expf", "{name}");
}

#[test]
fn strange_objects_are_refused() {
    let load = |bytes: &[u8]| LoadedObject::load(bytes, &|_| None).expect_err("not an object");
    assert!(matches!(load(b""), LoadError::Damaged { .. }));
    assert!(matches!(load(b"!<arch>\n"), LoadError::Damaged { .. }));
    let mach_o = [0xcf, 0xfa, 0xed, 0xfe, 0, 0, 0, 0];
    assert_eq!(load(&mach_o), LoadError::UnsupportedFormat { format: "Mach-O" });
    assert!(matches!(load(b"\x7fELF"), LoadError::Damaged { .. }));
    let Some(llvm) = llvm() else { return };
    let mut other = object(&llvm, "");
    other[18..20].copy_from_slice(&8u16.to_le_bytes()); // e_machine: MIPS
    assert_eq!(load(&other), LoadError::WrongMachine { found: "ELF machine 8".to_owned() });
}

#[test]
fn thread_local_data_is_refused() {
    let Some(llvm) = llvm() else { return };
    let ir = "@t = thread_local global i32 1
      define i32 @f() { %r = load i32, ptr @t ret i32 %r }";
    let found = LoadedObject::load(&object(&llvm, ir), &|_| None).expect_err("has thread-local data");
    assert!(matches!(found, LoadError::UnsupportedSection { .. }), "{found:?}");
}

#[test]
fn a_large_object_is_refused_before_it_is_mapped() {
    let Some(llvm) = llvm() else { return };
    let ir = "@huge = global [4294967296 x i64] zeroinitializer";
    let found = LoadedObject::load(&object(&llvm, ir), &|_| None).expect_err("32 GiB");
    assert!(matches!(found, LoadError::TooLarge { .. }), "{found:?}");
}

#[test]
fn the_search_lists_the_paths_it_tried() {
    let folder = tempfile::tempdir().expect("temporary folder");
    std::fs::write(folder.path().join("libLLVM-14.so"), b"").expect("file");
    std::fs::write(folder.path().join("libLLVM-30.so"), b"no library").expect("file");
    let surroundings = Surroundings { explicit: Some(folder.path().into()), ..Default::default() };
    let found = Llvm::search(&surroundings).expect_err("no LLVM there");
    let LlvmError::NotFound { tried, .. } = &found else { panic!("{found:?}") };
    assert!(matches!(tried[0].reason, RefusalReason::Open(_)), "{tried:?}");
    assert_eq!(tried[1].reason, RefusalReason::TooOld(14));
    assert!(found.to_string().contains("libLLVM-14.so: is LLVM 14, too old"), "{found}");

    let gone = Surroundings { explicit: Some("/no/such/place".into()), ..Default::default() };
    let found = Llvm::search(&gone).expect_err("nothing there");
    assert!(found.to_string().contains("/no/such/place: not there"), "{found}");

    let off = Surroundings { explicit: Some("none".into()), ..Default::default() };
    let found = Llvm::search(&off).expect_err("switched off");
    assert_eq!(found, LlvmError::Disabled { value: "none".to_owned() });
}

#[test]
fn optimised_ir_is_verified_text() {
    let Some(llvm) = llvm() else { return };
    let options = CompileOptions { emit: Emit::OptimizedIr, ..CompileOptions::default() };
    let text = llvm.compile(EVERYTHING, &options).expect("compiles");
    let text = String::from_utf8(text).expect("text");
    // The printed text compiles again, including the data layout line.
    llvm.compile(&text, &CompileOptions::default()).expect("compiles again");
}
