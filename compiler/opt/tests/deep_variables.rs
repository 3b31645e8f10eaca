//! Many variables that deeply nested constructs write: promoting all of them would multiply the code.

use std::fmt::Write;

use anymetal_analysis::walk_insts;
use anymetal_ir::{Function, Module, Op, parse_module, verify};
use anymetal_opt::mem2reg::mem2reg;

/// `variables` variables that are stored below `depth` branches and loaded after them.
fn nested(depth: usize, variables: usize) -> Module {
    let mut text = String::from("func f0 \"f\" (v0: ptr.device, v1: bool, v2: i32) {\n");
    for n in 0..variables {
        writeln!(text, "local l{n} \"x\" size 4 align 4").unwrap();
    }
    for n in 0..variables {
        writeln!(text, "v{} = local_addr l{n} : ptr.thread\nstore v{0}, v2, align 4", 3 + n).unwrap();
    }
    text.push_str(&"if v1 {\n".repeat(depth));
    for n in 0..variables {
        writeln!(text, "v{} = add v2, v2 : i32\nstore v{}, v{0}, align 4", 3 + variables + n, 3 + n).unwrap();
    }
    text.push_str(&"}\n".repeat(depth));
    for n in 0..variables {
        writeln!(text, "v{} = load v{}, align 4 : i32", 3 + 2 * variables + n, 3 + n).unwrap();
        writeln!(text, "store v0, v{}, align 4", 3 + 2 * variables + n).unwrap();
    }
    text.push('}');
    parse_module(&text).unwrap_or_else(|error| panic!("{error}"))
}

/// The results of all constructs, and the loads of variables.
fn results_and_loads(function: &Function) -> (usize, usize) {
    let (mut results, mut loads) = (0, 0);
    walk_insts(function, function.body, &mut |inst| {
        let op = &function.inst(inst).op;
        results += op.results().len();
        loads += usize::from(matches!(op, Op::Load { .. }));
    });
    (results, loads)
}

fn promoted(depth: usize, variables: usize) -> (usize, usize) {
    let mut module = nested(depth, variables);
    assert!(mem2reg(&mut module.functions[0]));
    assert_eq!(verify(&module), Ok(()));
    results_and_loads(&module.functions[0])
}

#[test]
fn variables_are_promoted_within_a_budget() {
    assert_eq!(promoted(10, 50), (10 * 50, 0));
    // 2^18 / 400 variables are promoted, the others stay in memory.
    let fit = (1 << 18) / 400;
    assert_eq!(promoted(400, 1000), (400 * fit, 1000 - fit));
}

/// One variable, which is stored below `depth` branches `times` times in a loop with a continuing block.
fn stored_in_a_loop(depth: usize, times: usize) -> Module {
    let mut text = String::from("func f0 \"f\" (v0: ptr.device, v1: bool, v2: i32) {\n");
    text.push_str("local l0 \"x\" size 4 align 4\nv3 = local_addr l0 : ptr.thread\nloop label0 {\n");
    for _ in 0..times {
        text.push_str(&"if v1 {\n".repeat(depth));
        text.push_str("store v3, v2, align 4\n");
        text.push_str(&"}\n".repeat(depth));
    }
    text.push_str("if v1 {\nbreak label0\n}\n} continuing {\nstore v3, v2, align 4\n}\n");
    text.push_str("v4 = load v3, align 4 : i32\nstore v0, v4, align 4\n}");
    parse_module(&text).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn merged_blocks_are_a_change_where_no_variable_is_promoted() {
    let mut module = stored_in_a_loop(20, (1 << 18) / 20 + 1);
    assert!(mem2reg(&mut module.functions[0]));
    assert_eq!(verify(&module), Ok(()));
    assert_eq!(results_and_loads(&module.functions[0]), (0, 1));
    let function = &module.functions[0];
    walk_insts(function, function.body, &mut |inst| {
        if let Some((_, _, continuing)) = function.as_loop(inst) {
            assert!(function.block(continuing).is_empty());
        }
    });
}
