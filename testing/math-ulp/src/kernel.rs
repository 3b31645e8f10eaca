//! A library function compiled as a loop over arrays of 32-bit words.
//!
//! Narrow floats and integers travel in the low bits of a word; masks come back as 0 or 1. This is
//! the one file with `unsafe`: it calls what LLVM compiled.

use std::fmt::Write;

use anymetal_codegen::cpu::CpuFeatures;
use anymetal_codegen::cpu::math::{Library, caller_attributes, library_function};
use anymetal_cpu::loader::{LoadedObject, default_symbols};
use anymetal_ir::{FpMode, MathFn, Scalar, Type};
use anymetal_llvm::{CompileOptions, CpuLevel, Emit, Llvm, Target, VectorFacts};

/// Which function in which form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Variant {
    /// The function.
    pub function: MathFn,
    /// Type of its first argument.
    pub scalar: Scalar,
    /// Accuracy.
    pub mode: FpMode,
    /// Lanes per call.
    pub width: u32,
}

type Loop = unsafe extern "C" fn(*const u32, *const u32, *const u32, *mut u32, u64);

/// Compiled functions, in the order of the request.
#[derive(Debug)]
pub struct Kernels {
    loops: Vec<(Variant, Loop)>,
    /// Owns the code that `loops` points to.
    _object: LoadedObject,
}

impl Kernels {
    /// Compiles; an error is a message, for this is a tool.
    pub fn compile(variants: &[Variant]) -> Result<Self, String> {
        Self::compile_for(variants, None)
    }

    /// The same for a level of processors, which the host must have.
    pub fn compile_for(variants: &[Variant], level: Option<CpuLevel>) -> Result<Self, String> {
        let llvm = Llvm::load().map_err(|error| error.to_string())?;
        let target = level.map_or(llvm.host_target().clone(), |level| llvm.host_target().x86_64_level(level));
        let text = module_for(variants, target.vector);
        let resolve: fn(&str) -> Option<*const ()> =
            if target.vector.fma { refuse_library_calls } else { default_symbols };
        let options = CompileOptions { target: Some(target), ..CompileOptions::default() };
        let object = llvm.compile(&text, &options).map_err(|error| error.to_string())?;
        let object = LoadedObject::load(&object, &resolve).map_err(|error| error.to_string())?;
        let mut loops = Vec::new();
        for (index, &variant) in variants.iter().enumerate() {
            let address = object.symbol(&format!("loop{index}")).ok_or("a symbol is missing")?;
            // SAFETY: `module` defines the symbol with the C signature that `Loop` states, and the
            // object that owns the code is kept beside the pointer.
            let function = unsafe { std::mem::transmute::<*const u8, Loop>(address) };
            loops.push((variant, function));
        }
        Ok(Self { loops, _object: object })
    }

    /// The variants, in order.
    pub fn variants(&self) -> impl Iterator<Item = Variant> {
        self.loops.iter().map(|(variant, _)| *variant)
    }

    /// Runs the `index`-th function over the arguments. All four arrays must have the length of
    /// `output`, a multiple of the width.
    pub fn run(&self, index: usize, arguments: [&[u32]; 3], output: &mut [u32]) {
        let (variant, function) = self.loops[index];
        let length = output.len();
        assert!(arguments.iter().all(|argument| argument.len() == length), "arrays of different lengths");
        assert!(length.is_multiple_of(variant.width as usize), "a partial vector");
        // SAFETY: the loop reads and writes exactly `length` words of each array, unaligned; the
        // output is a unique borrow and overlaps nothing.
        unsafe {
            let [a, b, c] = arguments.map(<[u32]>::as_ptr);
            function(a, b, c, output.as_mut_ptr(), length as u64);
        }
    }
}

/// With fused multiply-add, the library must not call libm (or anything but LLVM's own conversions of narrow
/// floats). Processors without lack instructions for rounding, too.
fn refuse_library_calls(name: &str) -> Option<*const ()> {
    if name.starts_with("__") || name.starts_with("mem") { default_symbols(name) } else { None }
}

/// The module's text: the library and one loop per variant.
pub fn module(variants: &[Variant]) -> String {
    module_for(variants, VectorFacts::X86_64_V4)
}

fn module_for(variants: &[Variant], vector: VectorFacts) -> String {
    let features = CpuFeatures { avx512: vector.avx512f, neon: vector.neon, ..CpuFeatures::default() };
    let mut library = Library::new();
    let mut loops = String::new();
    for (index, variant) in variants.iter().enumerate() {
        let name = library.require(variant.function, variant.scalar, variant.mode, variant.width).to_owned();
        write_loop(&mut loops, index, &name, variant);
    }
    let declares: Vec<&str> = library.declares().collect();
    let attributes = format!("attributes #0 = {{ nounwind {}}}\n", caller_attributes(&features));
    format!("{}\n{}\n{loops}{attributes}", declares.join("\n"), library.definitions())
}

/// The module's machine code as text, for the host or another target.
pub fn assembly(variants: &[Variant], target: Option<Target>) -> Result<String, String> {
    let llvm = Llvm::load().map_err(|error| error.to_string())?;
    let options = CompileOptions { emit: Emit::Assembly, target, ..CompileOptions::default() };
    let text = llvm.compile(&module(variants), &options).map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// The text of one function and all it depends on, for inspection.
pub fn function_text(variant: Variant) -> String {
    library_function(variant.function, variant.scalar, variant.mode, variant.width).ir_text
}

fn llvm_name(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::Bool => "i1",
        Scalar::I8 => "i8",
        // The library takes the bits of a bfloat.
        Scalar::I16 | Scalar::Bf16 => "i16",
        Scalar::I32 => "i32",
        Scalar::I64 => "i64",
        Scalar::F16 => "half",
        Scalar::F32 => "float",
    }
}

fn write_loop(out: &mut String, index: usize, name: &str, variant: &Variant) {
    let width = variant.width;
    let vector = |ty: &str| if width == 1 { ty.to_owned() } else { format!("<{width} x {ty}>") };
    let words = vector("i32");
    let mut line = |text: String| writeln!(out, "{text}").expect("writing to a string");
    line(format!("define void @loop{index}(ptr %p0, ptr %p1, ptr %p2, ptr noalias %out, i64 %n) #0 {{"));
    line("entry:\n  br label %head\nhead:".to_owned());
    line("  %i = phi i64 [ 0, %entry ], [ %next, %head ]".to_owned());
    let mut actual = Vec::new();
    for argument in 0..variant.function.arity() {
        let scalar =
            if variant.function == MathFn::Ldexp && argument == 1 { Scalar::I32 } else { variant.scalar };
        line(format!("  %q{argument} = getelementptr i32, ptr %p{argument}, i64 %i"));
        line(format!("  %w{argument} = load {words}, ptr %q{argument}, align 4"));
        from_word(&mut line, argument, scalar, &vector);
        actual.push(format!("{} %x{argument}", vector(llvm_name(scalar))));
    }
    let result = match variant.function.result_type(Type::Scalar(variant.scalar)) {
        Type::Scalar(scalar) => scalar,
        other => panic!("a scalar function with a result of {other:?}"),
    };
    line(format!("  %y = call {} @{name}({})", vector(llvm_name(result)), actual.join(", ")));
    to_word(&mut line, result, &vector);
    line("  %q = getelementptr i32, ptr %out, i64 %i".to_owned());
    line(format!("  store {words} %yw, ptr %q, align 4"));
    line(format!("  %next = add i64 %i, {width}\n  %more = icmp ult i64 %next, %n"));
    line("  br i1 %more, label %head, label %done\ndone:\n  ret void\n}".to_owned());
}

fn from_word(
    line: &mut impl FnMut(String),
    argument: usize,
    scalar: Scalar,
    vector: &impl Fn(&str) -> String,
) {
    let (words, ty) = (vector("i32"), vector(llvm_name(scalar)));
    match scalar {
        Scalar::F32 | Scalar::I32 => {
            line(format!("  %x{argument} = bitcast {words} %w{argument} to {ty}"));
        }
        Scalar::I64 => line(format!("  %x{argument} = zext {words} %w{argument} to {ty}")),
        Scalar::F16 => {
            let half = vector("i16");
            line(format!("  %h{argument} = trunc {words} %w{argument} to {half}"));
            line(format!("  %x{argument} = bitcast {half} %h{argument} to {ty}"));
        }
        _ => line(format!("  %x{argument} = trunc {words} %w{argument} to {ty}")),
    }
}

fn to_word(line: &mut impl FnMut(String), scalar: Scalar, vector: &impl Fn(&str) -> String) {
    let (words, ty) = (vector("i32"), vector(llvm_name(scalar)));
    match scalar {
        Scalar::F32 | Scalar::I32 => line(format!("  %yw = bitcast {ty} %y to {words}")),
        Scalar::I64 => line(format!("  %yw = trunc {ty} %y to {words}")),
        Scalar::F16 => {
            let half = vector("i16");
            line(format!("  %yh = bitcast {ty} %y to {half}\n  %yw = zext {half} %yh to {words}"));
        }
        _ => line(format!("  %yw = zext {ty} %y to {words}")),
    }
}
