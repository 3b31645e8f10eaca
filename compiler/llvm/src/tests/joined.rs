//! Objects joined into one run as if they had been compiled together.

use anymetal_cpu::loader::{LoadedObject, default_symbols};

use super::{EVERYTHING, llvm, object};
use crate::join;

/// Calls what another module defines, and has constants, variables and an undefined function of its own.
const CALLER: &str = "
@counter = internal global i32 1
@table = internal constant [2 x i32] [i32 100, i32 200]
declare hidden i32 @pick(i32, i32)
declare float @expf(float)
define i32 @through(i32 %which, i32 %x) {
  %picked = call i32 @pick(i32 %which, i32 %x)
  %slot = getelementptr [2 x i32], ptr @table, i64 0, i32 %which
  %more = load i32, ptr %slot
  %sum = add i32 %picked, %more
  ret i32 %sum
}
define i32 @own_count() {
  %old = load i32, ptr @counter
  %new = add i32 %old, 1
  store i32 %new, ptr @counter
  ret i32 %new
}
define float @scaled(float %x) {
  %e = call float @expf(float %x)
  %r = fmul float %e, 0x3FF8000000000000
  ret float %r
}
";

#[test]
fn calls_between_pieces_are_resolved() {
    let Some(llvm) = llvm() else { return };
    let pieces = [object(&llvm, EVERYTHING), object(&llvm, CALLER)];
    for pieces in [pieces.clone(), [pieces[1].clone(), pieces[0].clone()]] {
        let bytes = join(pieces.to_vec()).expect("joins");
        let code = LoadedObject::load(&bytes, &default_symbols).expect("loads");
        let function = |name: &str| code.symbol(name).expect("the object defines the function");
        // SAFETY: the modules define these functions with these types, and the object outlives the uses.
        let (through, pick, own_count, count, scaled) = unsafe {
            (
                std::mem::transmute::<*const u8, extern "C" fn(i32, i32) -> i32>(function("through")),
                std::mem::transmute::<*const u8, extern "C" fn(i32, i32) -> i32>(function("pick")),
                std::mem::transmute::<*const u8, extern "C" fn() -> i32>(function("own_count")),
                std::mem::transmute::<*const u8, extern "C" fn() -> i32>(function("count")),
                std::mem::transmute::<*const u8, extern "C" fn(f32) -> f32>(function("scaled")),
            )
        };
        assert_eq!((pick(0, 10), pick(1, 10)), (20, 5));
        assert_eq!((through(0, 10), through(1, 10)), (120, 205));
        // Variables of the same name are two where no module shows its own.
        assert_eq!((own_count(), count(), own_count()), (2, 48, 3));
        assert_eq!(scaled(0.0), 1.5);
    }
}

#[test]
fn one_name_is_defined_once() {
    let Some(llvm) = llvm() else { return };
    let piece = object(&llvm, CALLER);
    let error = join(vec![piece.clone(), piece.clone()]).expect_err("every function is there twice");
    assert!(error.to_string().contains("defined twice"), "{error}");
    assert_eq!(join(vec![piece.clone()]).expect("one is itself"), piece);
    assert!(join(Vec::new()).is_err());
    assert!(join(vec![piece, b"no object".to_vec()]).is_err());
}
