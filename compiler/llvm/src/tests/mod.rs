//! Tests of the whole way: IR text → object → memory → call. They need a libLLVM; without one they
//! fail, unless `ANYMETAL_TEST_WITHOUT_LLVM=1` says that its absence is meant.

mod damaged;
mod errors;
mod joined;
mod running;

use std::sync::Arc;

use anymetal_cpu::loader::{LoadedObject, default_symbols};

use crate::{CompileOptions, Llvm};

/// The process's LLVM, or `None` when tests may go without.
#[allow(clippy::print_stderr, reason = "a skipped test has to say so where the tester looks")]
pub(crate) fn llvm() -> Option<Arc<Llvm>> {
    match Llvm::load() {
        Ok(llvm) => Some(llvm),
        Err(error) => {
            let allowed = std::env::var_os("ANYMETAL_TEST_WITHOUT_LLVM").is_some_and(|value| value == "1");
            assert!(allowed, "{error}");
            eprintln!("skipped: {error}");
            None
        }
    }
}

/// Compiles for the host with the default options.
pub(crate) fn object(llvm: &Llvm, ir: &str) -> Vec<u8> {
    llvm.compile(ir, &CompileOptions::default()).expect("the test's IR compiles")
}

/// Compiles and loads.
pub(crate) fn loaded(llvm: &Llvm, ir: &str) -> LoadedObject {
    LoadedObject::load(&object(llvm, ir), &default_symbols).expect("the object loads")
}

/// A module with one of everything the loader knows: calls inside and outside, constants, tables,
/// variables, addresses in data, and a jump table.
pub(crate) const EVERYTHING: &str = r#"
@table = internal constant [4 x i32] [i32 3, i32 5, i32 7, i32 11]
@counter = internal global i32 40
@zeros = internal global [64 x i32] zeroinitializer
@picks = internal constant [2 x ptr] [ptr @double, ptr @half]
@shared = global i32 7

declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare float @expf(float)

define internal i32 @double(i32 %x) noinline {
  %r = shl i32 %x, 1
  ret i32 %r
}
define internal i32 @half(i32 %x) noinline {
  %r = sdiv i32 %x, 2
  ret i32 %r
}
define i32 @pick(i32 %which, i32 %x) {
  %slot = getelementptr [2 x ptr], ptr @picks, i64 0, i32 %which
  %f = load ptr, ptr %slot
  %r = call i32 %f(i32 %x)
  ret i32 %r
}
define i32 @from_table(i64 %i) {
  %p = getelementptr [4 x i32], ptr @table, i64 0, i64 %i
  %r = load i32, ptr %p
  ret i32 %r
}
define i32 @count() {
  %old = load i32, ptr @counter
  %new = add i32 %old, 1
  store i32 %new, ptr @counter
  %z = load i32, ptr @zeros
  %s = load i32, ptr @shared
  %a = add i32 %new, %z
  %r = add i32 %a, %s
  ret i32 %r
}
define void @copy(ptr %to, ptr %from, i64 %n) {
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %n, i1 false)
  ret void
}
define float @exponential(float %x) {
  %e = call float @expf(float %x)
  %r = fadd float %e, 0x3FB99999A0000000
  ret float %r
}
define float @dispatch(i32 %which, float %x) {
  switch i32 %which, label %other [
    i32 0, label %a
    i32 1, label %b
    i32 2, label %c
    i32 3, label %d
    i32 4, label %e
  ]
a:
  %ra = fadd float %x, 1.0
  ret float %ra
b:
  %rb = fmul float %x, %x
  ret float %rb
c:
  %rc = fdiv float 1.0, %x
  ret float %rc
d:
  %rd = call float @expf(float %x)
  ret float %rd
e:
  %re = fsub float 3.0, %x
  ret float %re
other:
  ret float -1.0
}
"#;
