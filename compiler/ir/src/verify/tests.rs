//! Rules of the verifier, broken one at a time in the body of one function.

use super::verify;
use crate::{Block, Function, Module, Op, Type, Value, parse_module};

fn first_error(text: &str) -> String {
    let module = parse_module(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    match verify(&module) {
        Ok(()) => "none".to_owned(),
        Err(errors) => errors[0].message.clone(),
    }
}

/// The first error of a function body; `v0` is a device pointer, `v1` an `i32`, `v2` an `f32x4`,
/// `v3` a `bool`, `v4` a constant pointer.
fn body_error(body: &str) -> String {
    let params = "v0: ptr.device, v1: i32, v2: f32x4, v3: bool, v4: ptr.constant";
    first_error(&format!("func f0 \"f\" ({params}) {{\nlocal l0 \"x\" size 4 align 4\n{body}\n}}"))
}

#[test]
fn types_of_instructions() {
    let cases = [
        ("v9 = add v1, v3 : i32", "v1 is i32 but v3 is bool"),
        ("v9 = fadd v1, v1 : i32", "v1 must be a float, is i32"),
        ("v9 = add v1, v1 : i64", "the result must be i32"),
        ("add v1, v1", "the result must be i32"),
        ("v9 = const 0x100 : i8", "0x100 is not a i8 constant"),
        ("v9 = const 0x1 : i32x2", "0x1 is not a i32x2 constant"),
        ("v9 = zext v1 : i16", "zext cannot turn i32 into i16"),
        ("v9 = bitcast v2 : i64", "bitcast cannot turn f32x4 into i64"),
        ("v9 = select v1, v2, v2 : f32x4", "v1 must be bool"),
        ("v9 = extract v2, 4 : f32", "v2 has no element 4"),
        ("v9 = compose v2, v2 : f32x4", "8 elements cannot make 4"),
        ("v9 = shuffle v2, v2, [8] : f32", "there is no element 8"),
        ("v9 = math.fma v2 : f32x4", "fma takes 3 arguments"),
        ("v9 = simd.shuffle v2, v2 : f32x4", "v2 must be i32"),
        ("v9 = local_addr l1 : ptr.thread", "l1 does not exist"),
        ("store v4, v1, align 4", "constant memory is read-only"),
        ("v9 = load v0, align 3 : i32", "the alignment 3 is not a power of two"),
        ("v9 = atomic.fadd v0, v1 : i32", "no atomic fadd of i32"),
        ("v9 = call f3() : i32", "f3 does not exist"),
        ("if v1 {\n}", "v1 must be bool"),
        ("switch label0 v1 case 1, 1 {\n} default {\n}", "the case 1 occurs twice"),
        ("return v1", "the function's result has another type"),
        ("v9 = add v1, v1 : i32 @0:1:1", "file 0 does not exist"),
    ];
    for (body, message) in cases {
        let found = body_error(body);
        assert!(found.starts_with(message), "{body}: {found}");
    }
}

#[test]
fn structure_of_functions() {
    let cases = [
        ("if v3 {\nv9 = const 1 : i32\n}\nv10 = add v9, v9 : i32", "v9 is not defined here"),
        ("loop label0 {\nv9 = add v1, v1 : i32\n} continuing {\nv10 = add v9, v9 : i32\n}", "v9 is not"),
        ("return\nfence", "the block goes on after its end"),
        ("break label0\n", "label0 is not around"),
        ("scope label0 {\ncontinue label0\n}", "label0 is not a loop around"),
        ("loop label0 {\n} continuing {\ncontinue label0\n}", "label0 is not a loop around"),
        ("scope label0 {\n}\nscope label0 {\n}", "label0 belongs to two constructs"),
        ("loop label0 {\nloop label1 {\n} continuing {\ncontinue label0\n}\n}", "none"),
        ("loop label0 {\n} continuing {\nbreak label0\n}", "none"),
    ];
    for (body, message) in cases {
        let found = body_error(body);
        assert!(found.starts_with(message), "{body}: {found}");
    }
}

#[test]
fn calls_do_not_recurse() {
    let text = "func f0 \"f\" () {\ncall f1()\n}\nfunc f1 \"g\" () {\ncall f0()\n}";
    assert_eq!(first_error(text), "\"f\" calls itself");
    let text = "func f0 \"f\" () {\ncall f1()\ncall f1()\n}\nfunc f1 \"g\" () {\n}";
    assert_eq!(first_error(text), "none");
}

#[test]
fn kernels_fit_their_functions() {
    let kernel = |function: &str, arg: &str| {
        let arg = format!("arg \"a\" {arg} scalar i32 size 4 align 4 read");
        first_error(&format!("func f0 \"f\" ({function} {{\n}}\nkernel \"f\" f0 {{\n{arg}\n}}"))
    };
    assert_eq!(kernel("v0: ptr.device)", "buffer 0 device \"int\""), "none");
    assert!(kernel("v0: i32)", "buffer 0 device \"int\"").contains("not a pointer into device"));
    assert!(kernel(")", "buffer 0 device \"int\"").contains("1 arguments but 0 parameters"));
    assert!(
        kernel("v0: ptr.threadgroup)", "buffer 0 threadgroup \"int\"")
            .contains("a buffer cannot be in threadgroup")
    );
}

#[test]
fn broken_tables_do_not_panic() {
    let mut module = Module::new();
    let mut function = Function::new("f", &[Type::I32], None);
    function.params.push(Value(7));
    // `Function::add_inst` refuses such operands.
    function.insts.push(crate::InstData {
        op: Op::branch(Value(9), Block(0), Block(5)),
        result: None,
        fp: crate::FpMode::Safe,
        loc: crate::Loc::default(),
    });
    let inst = crate::Inst(0);
    function.blocks[0].insts = vec![inst, inst, crate::Inst(77)];
    module.functions.push(function);
    let errors = verify(&module).unwrap_err();
    assert_eq!(errors.len(), 4, "{errors:?}");
    // Printing it must end, too.
    assert!(module.to_string().contains("b0 does not exist or is printed above"));
}

#[test]
fn a_block_inside_itself_is_reported() {
    let mut function = Function::new("f", &[Type::BOOL], None);
    let cond = function.params[0];
    let inst = function.add_inst(
        Op::branch(cond, Block(0), Block(0)),
        None,
        crate::FpMode::Safe,
        crate::Loc::default(),
    );
    function.blocks[0].insts = vec![inst];
    let module = Module { functions: vec![function], ..Module::new() };
    assert_eq!(verify(&module).unwrap_err()[0].message, "b0 appears twice");
}

#[test]
fn values_of_constructs() {
    let cases = [
        ("v9: i32 = if v3 {\nyield v1\n} else {\nyield v1\n}\nv10 = add v9, v9 : i32", "none"),
        ("v9: i32 = if v3 {\nyield v1\n} else {\nreturn\n}", "none"),
        ("v9: i32 = if v3 {\nyield v1\n}", "the block of a construct with results does not yield"),
        ("v9: i32 = if v3 {\nyield v1\n} else {\nyield v2\n}", "v2 is passed to v9, which has another type"),
        ("if v3 {\nyield v1\n}", "there are no results to yield"),
        ("yield v1", "there are no results to yield"),
        ("scope label0 {\nbreak label0 v1\n}", "1 values are passed to 0"),
        ("v9: i32 = scope label0 {\nif v3 {\nbreak label0 v1\n}\nyield v1\n}", "none"),
        ("v9: i32 = switch label0 v1 case 1 {\nyield v1\n} default {\nbreak label0 v1\n}", "none"),
        ("v9: i32 = switch label0 v1 case 1 {\n} default {\nbreak label0 v1\n}", "the block of a construct"),
        (
            "v9: i32 = loop label0 (v8: i32 = v1) {\nif v3 {\nbreak label0 v8\n}\ncontinue label0 v1\n}",
            "none",
        ),
        (
            "loop label0 (v8: i32 = v1) {\nif v3 {\nbreak label0\n}\n}",
            "the body of a loop with parameters ends",
        ),
        ("loop label0 (v8: i32 = v2) {\ncontinue label0 v1\n}", "v2 is passed to v8, which has another type"),
        ("loop label0 (v8: i32 = v1) {\ncontinue label0\n}", "0 values are passed to 1"),
        (
            "loop label0 (v8: i32 = v1) {\ncontinue label0 v8\n} continuing {\nfence\n}",
            "a loop with parameters has",
        ),
        (
            "loop label0 (v8: i32 = v1) {\ncontinue label0 v8\n}\nv9 = add v8, v8 : i32",
            "v8 is not defined here",
        ),
    ];
    for (body, message) in cases {
        let found = body_error(body);
        assert!(found.starts_with(message), "{body}: {found}");
    }
}
