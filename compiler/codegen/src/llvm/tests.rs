//! Tests of the builder: the text that it writes, and the mistakes that it refuses.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{
    Binary, Builder, Cast, DOUBLE, FLOAT, FloatPredicate, HALF, I1, I8, I16, I32, I64, IntPredicate, MASK,
    MemFlags, Opd, PTR, Type, vector_const, wrap_int,
};

/// The lines between the label and the return of a function with these instructions.
fn lines(write: impl FnOnce(&mut Builder)) -> Vec<String> {
    let mut t = Builder::new(0);
    let first = t.block();
    t.label(first);
    write(&mut t);
    t.ret_void();
    let text = t.finish("define void @f()", first);
    let body = text.lines().skip_while(|line| !line.starts_with("b1:")).skip(1);
    body.take_while(|line| !line.contains("ret void")).map(|line| line.trim().to_owned()).collect()
}

fn refuses(what: &str, write: impl FnOnce(&mut Builder)) {
    let outcome = catch_unwind(AssertUnwindSafe(|| lines(write)));
    assert!(outcome.is_err(), "{what} is refused");
}

#[test]
fn instructions_take_their_types_from_their_operands() {
    let written = lines(|t| {
        let pointer = t.register(PTR);
        let floats = t.load(FLOAT.lanes(), &pointer, 4);
        let sum = t.binary_with(Binary::FAdd, "reassoc ", &floats, &floats);
        let less = t.fcmp(FloatPredicate::Olt, &sum, &floats);
        let chosen = t.select(&less, &sum, 0);
        let one = t.extract(&chosen, 3);
        let bits = t.bitcast(&one, I32);
        let masked = t.and(&bits, 7);
        let is = t.icmp(IntPredicate::ULt, &masked, 4);
        let wide = t.zext(&masked, I64);
        let at = t.offset(&pointer, &wide);
        let all = t.splat(&masked);
        let shifted = t.shl(&all, 2);
        t.store(&shifted, &at, MemFlags::with(64, ", !noalias !7").volatile(true));
        let bytes = t.intrinsic("umin", "", &[&masked, &Opd::i32(9)]);
        t.call_void("g", &[&is, &bytes, &Opd::null()]);
    });
    assert_eq!(
        written,
        [
            "%r3 = load <32 x float>, ptr %r2, align 4",
            "%r4 = fadd reassoc <32 x float> %r3, %r3",
            "%r5 = fcmp olt <32 x float> %r4, %r3",
            "%r6 = select <32 x i1> %r5, <32 x float> %r4, <32 x float> zeroinitializer",
            "%r7 = extractelement <32 x float> %r6, i64 3",
            "%r8 = bitcast float %r7 to i32",
            "%r9 = and i32 %r8, 7",
            "%r10 = icmp ult i32 %r9, 4",
            "%r11 = zext i32 %r9 to i64",
            "%r12 = getelementptr i8, ptr %r2, i64 %r11",
            "%r13 = insertelement <32 x i32> poison, i32 %r9, i64 0",
            "%r14 = shufflevector <32 x i32> %r13, <32 x i32> poison, <32 x i32> zeroinitializer",
            "%r15 = shl <32 x i32> %r14, splat (i32 2)",
            "store volatile <32 x i32> %r15, ptr %r12, align 64, !noalias !7",
            "%r16 = call i32 @llvm.umin.i32(i32 %r9, i32 9)",
            "call void @g(i1 %r10, i32 %r16, ptr null)",
        ]
    );
}

#[test]
fn constants_fold() {
    let written = lines(|t| {
        let sum = t.add(&Opd::int(I8, 127), 1);
        assert_eq!(sum, Opd::int(I8, -128));
        let unknown = t.register(I8);
        assert_eq!(t.mul(&unknown, 1), unknown);
        assert_eq!(t.sub(&unknown, 0), unknown);
        assert_eq!(t.icmp(IntPredicate::SLt, &sum, 0), Opd::bool(true));
        assert_eq!(t.select(&Opd::bool(false), &unknown, &sum), sum);
        assert_eq!(t.splat(&Opd::int(I8, 0)), Opd::zero(I8.lanes()));
    });
    assert!(written.is_empty(), "{written:?}");
    assert_eq!(wrap_int(I16, 0x1_8000), -0x8000);
    assert_eq!(vector_const(I16, [0, 1]).to_string(), "<i16 0, i16 1>");
}

#[test]
fn operands_of_another_type_are_refused() {
    refuses("a sum of two widths", |t| {
        let (a, b) = (t.register(I32), t.register(I64));
        t.add(&a, &b);
    });
    refuses("an integer sum of floats", |t| {
        let a = t.register(FLOAT);
        t.add(&a, &a);
    });
    refuses("a floating-point sum of integers", |t| {
        let a = t.register(I32);
        t.binary(Binary::FAdd, &a, &a);
    });
    refuses("a store through an integer", |t| {
        let a = t.register(I64);
        t.store(&a, &a, 8);
    });
    refuses("a branch on an integer", |t| {
        let (a, to) = (t.register(I32), t.block());
        t.label(to);
        t.branch_if(&a, to, to);
    });
    refuses("a choice of scalars by a mask", |t| {
        let (mask, a) = (t.register(MASK), t.register(I32));
        t.select(&mask, &a, 1);
    });
    refuses("an offset of 32 bits", |t| {
        let (pointer, a) = (t.register(PTR), t.register(I32));
        t.offset(&pointer, &a);
    });
    refuses("an element of a scalar", |t| {
        let a = t.register(I32);
        t.extract(&a, 0);
    });
    refuses("a constant that does not fit", |_| drop(Opd::int(I8, 256)));
    refuses("a vector of vectors", |_| _ = I32.lanes().lanes());
}

#[test]
fn conversions_that_do_not_exist_are_refused() {
    let wrong: [(Cast, Type, Type); 6] = [
        (Cast::Bitcast, MASK, I64),
        (Cast::ZExt, I32, I16),
        (Cast::Trunc, I32.vector(4), I16.vector(2)),
        (Cast::FpExt, FLOAT, HALF),
        (Cast::UiToFp, FLOAT, DOUBLE),
        (Cast::PtrToInt, I64, I64),
    ];
    for (op, from, to) in wrong {
        refuses(&format!("{op} of {from} to {to}"), |t| {
            let a = t.register(from);
            t.cast(op, &a, to);
        });
    }
}

#[test]
fn blocks_that_are_not_complete_are_refused() {
    refuses("a branch to a block without a label", |t| {
        let (condition, to) = (t.register(I1), t.block());
        t.branch_if(&condition, to, to);
    });
    refuses("a second label", |t| {
        let block = t.block();
        t.label(block);
        t.label(block);
    });
    refuses("a case that is listed twice", |t| {
        let (a, to) = (t.register(I32), t.block());
        t.switch(&a, to, &[(1, to), (1, to)]);
        t.label(to);
    });
    refuses("an alignment that is not a power of two", |t| {
        let pointer = t.register(PTR);
        t.load(I32, &pointer, 3);
    });
}
