//! Shapes of parameters and results of constructs, and of locals as a whole.

use anymetal_ir::{Inst, Module, Op, Value, parse_module};

use super::{Divergence, Geometry, PlainContext, Shape};

fn module(body: &str) -> Module {
    let text = format!("func f0 \"f\" (v0: ptr.device, v1: ptr.constant) {{\n{body}\n}}\n");
    parse_module(&text).expect("the text is well formed")
}

fn divergence(module: &Module) -> Divergence {
    Divergence::of(&module.functions[0], Geometry::Line, &PlainContext)
}

fn uniform(body: &str, value: u32) -> bool {
    divergence(&module(body)).is_uniform(Value(value))
}

#[test]
fn a_counter_of_a_loop_that_lanes_leave_apart_is_uniform_inside_and_varying_after() {
    let body = "
  v2 = query.thread_position_in_grid.x : i32
  v3 = const 0 : i32
  v4 = const 1 : i32
  v5: i32 = loop label0 (v6: i32 = v3) {
    v7 = uge v6, v2 : bool
    if v7 {
      break label0 v6
    }
    v8 = add v6, v4 : i32
    continue label0 v8
  }";
    let module = module(body);
    let function = &module.functions[0];
    let divergence = divergence(&module);
    let is_loop = |inst: &Inst| matches!(function.inst(*inst).op, Op::Loop { .. });
    let construct = (0..function.insts.len() as u32).map(Inst).find(is_loop).expect("there is a loop");
    assert!(divergence.construct(construct).break_waits && !divergence.construct(construct).continue_waits);
    let values = |op: &Op| (op.params().to_vec(), op.results().to_vec());
    let (params, results) = values(&function.inst(construct).op);
    assert!(params.iter().all(|&param| divergence.is_uniform(param)));
    assert!(results.iter().all(|&result| *divergence.shape(result) == Shape::Varying));
}

#[test]
fn a_pointer_that_a_loop_advances_keeps_its_distances_between_lanes() {
    let body = "
  v2 = query.thread_position_in_grid.x : i32
  v3 = zext v2 : i64
  v4 = load v1, align 4 : i32
  v5 = zext v4 : i64
  v6 = const 8 : i64
  loop label0 (v7: i64 = v3) {
    v8 = uge v7, v5 : bool
    if v8 {
      break label0
    }
    v9 = add v7, v6 : i64
    continue label0 v9
  }";
    let module = module(body);
    let divergence = divergence(&module);
    let function = &module.functions[0];
    let param = function.insts.iter().find_map(|inst| inst.op.params().first()).expect("the loop has one");
    let lanes = divergence.shape(*param).affine().expect("the sums have one pattern");
    assert_eq!((lanes.rising_step(), lanes.is_constant), (Some(1), false));
}

#[test]
fn results_of_a_branch_vary_only_if_lanes_part() {
    let result = |condition: &str| {
        let body = format!(
            "
  v2 = query.thread_index_in_simdgroup : i32
  v3 = load v1, align 4 : i32
  v4 = const 3 : i32
  v5 = const 4 : i32
  v6 = ult {condition}, v4 : bool
  v7: i32 = if v6 {{
    yield v3
  }} else {{
    yield v5
  }}"
        );
        let module = module(&body);
        let function = &module.functions[0];
        let result =
            function.insts.iter().find_map(|inst| inst.op.results().first()).expect("the branch has one");
        divergence(&module).is_uniform(*result)
    };
    assert!(result("v3"));
    assert!(!result("v2"));
}

#[test]
fn locals_are_uniform_until_some_lanes_store() {
    let loaded = |store: &str| {
        let body = format!(
            "  local l0 \"x\" size 8 align 4
  v2 = query.thread_index_in_simdgroup : i32
  v3 = load v1, align 4 : i32
  v4 = const 3 : i32
  v5 = ult v2, v4 : bool
  v6 = local_addr l0 : ptr.thread
  local_start l0
  {store}
  v7 = load v6, align 4 : i32"
        );
        uniform(&body, 7)
    };
    assert!(loaded("store v6, v3, align 4"));
    assert!(!loaded("store v6, v2, align 4"));
    assert!(!loaded("if v5 {\n store v6, v3, align 4\n }"));
}

#[test]
fn memory_that_others_write_is_as_the_context_says() {
    struct Racing;
    impl super::DivergenceContext for Racing {
        fn loads_agree(&self, function: &anymetal_ir::Function, pointer: Value) -> bool {
            function.pointer_space(pointer) == anymetal_ir::Space::Constant
        }
    }
    let module = module("  v2 = load v0, align 4 : i32\n  v3 = load v1, align 4 : i32");
    let of = |context| Divergence::of(&module.functions[0], Geometry::Any, context);
    assert!(of(&PlainContext).is_uniform(Value(2)));
    assert!(!of(&Racing).is_uniform(Value(2)) && of(&Racing).is_uniform(Value(3)));
}
