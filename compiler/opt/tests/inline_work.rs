//! How much work selective inlining does, in instructions: linear in the program.

use anymetal_ir::{Function, Module, parse_module};
use anymetal_opt::manager::Execution;
use anymetal_opt::{KeptCalls, PassManager, PassOptions, inline_selectively};

/// A kernel and so many functions, each of which the one before calls.
fn chain(functions: usize) -> Module {
    let mut text = String::from(
        "func f0 \"main\" (v0: ptr.device) {\n  v1 = load v0, align 4 : i32\n  v2 = call f1(v1) : i32\n  store v0, v2, align 4\n}\n",
    );
    for n in 1..functions {
        text += &format!(
            "\nfunc f{n} \"f{n}\" (v0: i32) -> i32 {{\n  v1 = const 0 : i32\n  v2 = add v0, v1 : i32\n  v3 = mul v2, v2 : i32\n  v4 = call f{}(v3) : i32\n  v5 = xor v4, v0 : i32\n  return v5\n}}\n",
            n + 1
        );
    }
    text += &format!(
        "\nfunc f{functions} \"last\" (v0: i32) -> i32 {{\n  return v0\n}}\n\nkernel \"main\" f0 {{\n  arg \"x\" buffer 0 device \"uint\" scalar i32 size 4 align 4 read_write\n}}\n"
    );
    parse_module(&text).expect("the text is well formed")
}

/// The instructions that passes left behind when they changed something, all together.
fn work(functions: usize) -> usize {
    let (mut module, mut work) = (chain(functions), 0);
    let mut note = |_: Execution<'_>, _: &Module, function: &Function| work += function.insts.len();
    let kept = KeptCalls { max_inlined: 0, ..KeptCalls::OF_LARGE_KERNELS };
    let calls =
        inline_selectively(&mut module, kept, &mut PassManager::watched(&PassOptions::new(), &mut note));
    assert_eq!(calls, Ok(false));
    work
}

#[test]
fn work_is_linear_in_the_length_of_a_chain_of_calls() {
    let (short, long) = (work(100), work(400));
    assert!(long < 5 * short, "{short} for 100 functions, {long} for 400");
}

/// An argument that is loaded from memory cannot be passed, so the call is inlined, with calls in it whose
/// arguments are new to the caller.
#[test]
fn calls_in_functions_that_are_inlined_after_all_may_stay() {
    let text = "func f0 \"main\" (v0: ptr.device) {
  local l0 \"numbers\" size 8 align 8
  local l1 \"pointers\" size 16 align 8
  v1 = query.thread_position_in_grid.x : i32
  v2 = zext v1 : i64
  v3 = local_addr l0 : ptr.thread
  v4 = local_addr l1 : ptr.thread
  v5 = ptr_add v4 + v2 * 8 : ptr.thread
  store v5, v3, align 8
  v6 = load v4, align 8 : ptr.thread
  call f1(v6)
  v7 = load v3, align 4 : i32
  store v0, v7, align 4
}

func f1 \"outer\" (v0: ptr.thread) {
  v1 = ptr_add v0 + 4 : ptr.thread
  call f2(v1)
  call f2(v0)
}

func f2 \"inner\" (v0: ptr.thread) {
  v1 = load v0, align 4 : i32
  v2 = const 3 : i32
  v3 = mul v1, v2 : i32
  store v0, v3, align 4
}

kernel \"main\" f0 {
  arg \"x\" buffer 0 device \"uint\" scalar i32 size 4 align 4 read_write
}
";
    let mut module = parse_module(text).expect("the text is well formed");
    let calls = inline_selectively(&mut module, KeptCalls::ALL, &mut PassManager::default());
    // Pointers that come from memory reach no call.
    assert_eq!(calls, Ok(false));
}
