//! Compiled code gives the right answers.

use std::sync::Arc;

use super::{EVERYTHING, llvm, loaded, object};
use crate::discovery::Surroundings;
use anymetal_cpu::loader::{LoadedObject, default_symbols};

use crate::{Architecture, CompileOptions, CpuLevel, Emit, Llvm, OptLevel};

/// The function `name` of a loaded object, as the requested function pointer type.
macro_rules! function {
    ($object:expr, $name:literal as $ty:ty) => {{
        let address = $object.symbol($name).expect("the object defines the function");
        // SAFETY: the test's IR defines the function with this type, and the object outlives the use.
        unsafe { std::mem::transmute::<*const u8, $ty>(address) }
    }};
}

#[test]
fn adds_scalars() {
    let Some(llvm) = llvm() else { return };
    let code = loaded(&llvm, "define i32 @add(i32 %a, i32 %b) { %r = add i32 %a, %b ret i32 %r }");
    let add = function!(code, "add" as extern "C" fn(i32, i32) -> i32);
    assert_eq!(add(40, 2), 42);
    assert_eq!(code.symbol("absent"), None);
    assert_eq!(code.symbol_names().collect::<Vec<_>>(), ["add"]);
}

#[test]
fn runs_wide_vectors_at_every_level() {
    let Some(llvm) = llvm() else { return };
    let ir = "define void @saxpy(ptr %x, ptr %y, float %a) {
      %xs = load <32 x float>, ptr %x, align 4
      %ys = load <32 x float>, ptr %y, align 4
      %a0 = insertelement <32 x float> poison, float %a, i32 0
      %as = shufflevector <32 x float> %a0, <32 x float> poison, <32 x i32> zeroinitializer
      %p = fmul contract <32 x float> %as, %xs
      %r = fadd contract <32 x float> %p, %ys
      store <32 x float> %r, ptr %y, align 4
      ret void
    }";
    for opt in [OptLevel::O0, OptLevel::O1, OptLevel::O2, OptLevel::O3] {
        let options = CompileOptions { opt, ..CompileOptions::default() };
        let object = llvm.compile(ir, &options).expect("compiles");
        let code = LoadedObject::load(&object, &|_| None).expect("loads");
        let saxpy = function!(code, "saxpy" as extern "C" fn(*const f32, *mut f32, f32));
        let x: [f32; 32] = std::array::from_fn(|i| i as f32);
        let mut y = [1.0f32; 32];
        saxpy(x.as_ptr(), y.as_mut_ptr(), 2.0);
        let expected: [f32; 32] = std::array::from_fn(|i| 2.0 * i as f32 + 1.0);
        assert_eq!(y, expected, "{opt:?}");
    }
}

#[test]
fn links_everything_the_loader_knows() {
    let Some(llvm) = llvm() else { return };
    for opt in [OptLevel::O0, OptLevel::O1] {
        let options = CompileOptions { opt, ..CompileOptions::default() };
        let object = llvm.compile(EVERYTHING, &options).expect("compiles");
        let code = LoadedObject::load(&object, &default_symbols).expect("loads");
        let pick = function!(code, "pick" as extern "C" fn(i32, i32) -> i32);
        assert_eq!((pick(0, 10), pick(1, 10)), (20, 5));
        let from_table = function!(code, "from_table" as extern "C" fn(i64) -> i32);
        assert_eq!([0, 1, 2, 3].map(|i| from_table(i)), [3, 5, 7, 11]);
        let count = function!(code, "count" as extern "C" fn() -> i32);
        assert_eq!((count(), count()), (48, 49));
        let copy = function!(code, "copy" as extern "C" fn(*mut u8, *const u8, usize));
        let (from, mut to) = ([1u8, 2, 3, 4, 5], [0u8; 5]);
        copy(to.as_mut_ptr(), from.as_ptr(), 5);
        assert_eq!(to, from);
        let exponential = function!(code, "exponential" as extern "C" fn(f32) -> f32);
        assert_eq!(exponential(0.0), 1.1);
        let dispatch = function!(code, "dispatch" as extern "C" fn(i32, f32) -> f32);
        assert_eq!([0, 1, 2, 3, 4, 5].map(|i| dispatch(i, 0.0)), [1.0, 0.0, f32::INFINITY, 1.0, 3.0, -1.0]);
        let shared = code.symbol("shared").expect("a global variable").cast::<i32>();
        // SAFETY: `shared` is an i32 of the loaded object, which is alive.
        assert_eq!(unsafe { shared.read() }, 7);
    }
}

#[test]
fn calls_the_callers_own_functions() {
    extern "C" fn triple(x: i32) -> i32 {
        3 * x
    }
    let Some(llvm) = llvm() else { return };
    let ir = "declare i32 @our_triple(i32)
      @address = constant ptr @our_triple
      define i32 @twice(i32 %x) { %a = call i32 @our_triple(i32 %x) %b = call i32 @our_triple(i32 %a) ret i32 %b }
      define ptr @whose() { ret ptr @our_triple }";
    let resolve = |name: &str| (name == "our_triple").then_some(triple as *const ());
    let code = LoadedObject::load(&object(&llvm, ir), &resolve).expect("loads");
    assert_eq!(function!(code, "twice" as extern "C" fn(i32) -> i32)(5), 45);
    assert_eq!(function!(code, "whose" as extern "C" fn() -> *const ())(), triple as *const ());
}

/// The conversions that processors without F16C or AVX512-BF16 do with library calls.
#[test]
fn converts_small_floats_on_any_level() {
    let Some(llvm) = llvm() else { return };
    if llvm.host_target().architecture != Architecture::X86_64 {
        return;
    }
    let ir = "define void @narrow(ptr %from, ptr %to) {
      %x = load float, ptr %from %h = fptrunc float %x to half store half %h, ptr %to ret void }
    define void @narrow_double(ptr %from, ptr %to) {
      %x = load double, ptr %from %h = fptrunc double %x to half store half %h, ptr %to ret void }
    define void @widen(ptr %from, ptr %to) {
      %h = load half, ptr %from %x = fpext half %h to float store float %x, ptr %to ret void }
    define void @narrow_brain(ptr %from, ptr %to) {
      %x = load float, ptr %from %h = fptrunc float %x to bfloat store bfloat %h, ptr %to ret void }
    define void @sum(ptr %from, ptr %to) {
      %v = load <8 x half>, ptr %from %w = fadd <8 x half> %v, %v store <8 x half> %w, ptr %to ret void }";
    let host = llvm.host_target();
    let levels = CpuLevel::ALL.into_iter().filter(|level| level.is_available());
    for target in levels.map(|level| host.x86_64_level(level)).chain([host.clone()]) {
        let options = CompileOptions { target: Some(target.clone()), ..CompileOptions::default() };
        let object = llvm.compile(ir, &options).expect("compiles");
        let code = LoadedObject::load(&object, &default_symbols).expect("loads");
        type Convert<A, B> = extern "C" fn(*const A, *mut B);
        let mut bits = 0u16;
        function!(code, "narrow" as Convert<f32, u16>)(&0.1, &mut bits);
        assert_eq!(bits, 0x2e66, "{}", target.cpu);
        function!(code, "narrow_double" as Convert<f64, u16>)(&0.1, &mut bits);
        assert_eq!(bits, 0x2e66, "{}", target.cpu);
        function!(code, "narrow_brain" as Convert<f32, u16>)(&0.1, &mut bits);
        assert_eq!(bits, 0x3dcd, "{}", target.cpu);
        let mut wide = 0.0f32;
        function!(code, "widen" as Convert<u16, f32>)(&0x2e66, &mut wide);
        assert_eq!(wide, 0.099_975_586, "{}", target.cpu);
        let mut sums = [0u16; 8];
        function!(code, "sum" as Convert<[u16; 8], [u16; 8]>)(&[0x3c00; 8], &mut sums);
        assert_eq!(sums, [0x4000; 8], "{}", target.cpu);
    }
}

#[test]
fn divides_128_bit_integers() {
    let Some(llvm) = llvm() else { return };
    let ir = "define i64 @high(i64 %a, i64 %b, i64 %c) {
      %x = zext i64 %a to i128 %y = zext i64 %b to i128 %z = zext i64 %c to i128
      %p = mul i128 %x, %y %q = udiv i128 %p, %z %r = trunc i128 %q to i64 ret i64 %r }";
    let code = loaded(&llvm, ir);
    let high = function!(code, "high" as extern "C" fn(u64, u64, u64) -> u64);
    assert_eq!(high(u64::MAX, 1000, 1001), (u128::from(u64::MAX) * 1000 / 1001) as u64);
}

#[test]
fn loads_and_unloads_many_times() {
    let Some(llvm) = llvm() else { return };
    let object = object(&llvm, EVERYTHING);
    for round in 0..100 {
        let code = LoadedObject::load(&object, &default_symbols).expect("loads");
        // Each copy has variables of its own, so the counter starts again.
        assert_eq!(function!(code, "count" as extern "C" fn() -> i32)(), 48, "round {round}");
    }
}

/// Thousands of loads and stores in one block: without the option that `bindings::prepare` sets,
/// this takes minutes and not seconds.
#[test]
fn many_memory_accesses_in_one_block_compile() {
    let Some(llvm) = llvm() else { return };
    let mut ir = String::from("define void @triples(ptr %p) {\n");
    for i in 0..8000 {
        let at = i * 7 % 1000;
        ir += &format!(
            "%p{i} = getelementptr i32, ptr %p, i64 {at}\n%l{i} = load i32, ptr %p{i}\n\
             %m{i} = mul i32 %l{i}, 3\nstore i32 %m{i}, ptr %p{i}\n"
        );
    }
    ir += "ret void }";
    let code = loaded(&llvm, &ir);
    let mut values = [1u32; 1000];
    function!(code, "triples" as extern "C" fn(*mut u32))(values.as_mut_ptr());
    assert_eq!(values, [3u32.pow(8); 1000]);
}

#[test]
fn opening_the_same_library_twice_is_harmless() {
    let Some(llvm) = llvm() else { return };
    let path = llvm.info().path.clone();
    let surroundings = Surroundings { explicit: Some(path.into()), ..Default::default() };
    let again = Llvm::search(&surroundings).expect("the same library opens again");
    assert_eq!(again.info(), llvm.info());
}

#[test]
fn compiles_from_many_threads() {
    let Some(llvm) = llvm() else { return };
    let work = |llvm: Arc<Llvm>, seed: i32| {
        for step in 0..8 {
            let addend = seed * 100 + step;
            let ir = format!("define i32 @f(i32 %x) {{ %r = add i32 %x, {addend} ret i32 %r }}");
            let code = loaded(&llvm, &ir);
            assert_eq!(function!(code, "f" as extern "C" fn(i32) -> i32)(1), addend + 1);
        }
    };
    std::thread::scope(|scope| {
        for seed in 0..4 {
            let llvm = Arc::clone(&llvm);
            scope.spawn(move || work(llvm, seed));
        }
    });
}

#[test]
fn emits_text() {
    let Some(llvm) = llvm() else { return };
    let ir = "define i32 @f(i32 %x) { %a = add i32 %x, 1 %b = add i32 %a, 1 ret i32 %b }";
    let text = |emit, target| {
        let options = CompileOptions { emit, target, ..CompileOptions::default() };
        String::from_utf8(llvm.compile(ir, &options).expect("compiles")).expect("text")
    };
    assert!(text(Emit::OptimizedIr, None).contains("add i32 %x, 2"));
    assert!(text(Emit::Assembly, None).contains("f:"));
    if llvm.info().has_nvptx {
        let ptx = text(Emit::Assembly, Some(llvm.host_target().nvptx("sm_80", "+ptx70")));
        assert!(ptx.contains(".version 7.0") && ptx.contains(".target sm_80"), "{ptx}");
    }
}

#[test]
fn describes_itself() {
    let Some(llvm) = llvm() else { return };
    let info = llvm.info();
    assert!(info.version.major >= 18 && info.path.exists());
    let target = llvm.host_target();
    let print = target.fingerprint();
    assert!(print.contains(&info.version.to_string()) && print.contains(target.architecture.triple()));
    let [lowest, middle, highest] = CpuLevel::ALL.map(|level| target.x86_64_level(level).fingerprint());
    assert!(lowest != middle && middle != highest && lowest != highest);
}
