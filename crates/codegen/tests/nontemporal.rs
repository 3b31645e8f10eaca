//! Which stores may go past the caches: those to what the kernel only writes, and writes once. And where to
//! lines that are asked for ahead come.

mod support;

use anymetal_codegen::cpu::generate;
use anymetal_ir::Module;
use anymetal_llvm::VectorFacts;
use support::{Launch, agree, options_for, parsed};

fn module(body: &str) -> Module {
    let text = format!(
        "func f0 \"k\" (v0: ptr.device, v1: ptr.device) {{
  local l0 \"i\" size 4 align 4
  v2 = query.thread_position_in_grid.x : i32
  v3 = zext v2 : i64
  v4 = ptr_add v0 + v3 * 4 : ptr.device
  v5 = ptr_add v1 + v3 * 4 : ptr.device
  v6 = load v4, align 4 : i32
{body}
}}
kernel \"k\" f0 {{
  arg \"a\" buffer 0 device \"T\" scalar i32 size 4 align 4 read_write
  arg \"b\" buffer 1 device \"U\" scalar i32 size 4 align 4 read_write
}}
"
    );
    parsed(&text)
}

/// A loop of eight iterations around `body`, in which `v8` is the iteration.
fn repeated(body: &str) -> String {
    format!(
        "  v7 = local_addr l0 : ptr.thread
  v20 = const 0 : i32
  v21 = const 1 : i32
  v22 = const 8 : i32
  local_start l0
  store v7, v20, align 4
  loop label0 {{
    v8 = load v7, align 4 : i32
    v23 = ult v8, v22 : bool
    if v23 {{
    }} else {{
      break label0
    }}
{body}
  }} continuing {{
    v24 = load v7, align 4 : i32
    v25 = add v24, v21 : i32
    store v7, v25, align 4
  }}"
    )
}

/// Whether stores may be non-temporal on processors with AVX2; the results are the interpreter's either way.
fn streams(body: &str) -> bool {
    let module = module(body);
    let launch = Launch::new([100, 1, 1], [64, 1, 1]);
    let buffers = [(0..400u32).map(|n| n as u8).collect(), vec![0; 4000]];
    agree(&module, "k", &launch, &buffers, body);
    let options = options_for(&launch, VectorFacts::X86_64_V3);
    let text = generate(&module, "k", &options).expect("code").llvm_ir;
    assert_eq!(text.contains("!nontemporal"), text.contains("call void @llvm.x86.sse.sfence"), "{body}");
    text.contains("!nontemporal")
}

#[test]
fn what_is_only_written_streams() {
    assert!(streams("  store v5, v6, align 4"));
    // By a loop that goes on from place to place.
    let walk =
        "    v9 = zext v8 : i64\n    v10 = ptr_add v5 + v9 * 400 : ptr.device\n    store v10, v6, align 4";
    assert!(streams(&repeated(walk)));
}

#[test]
fn what_is_read_or_written_again_does_not() {
    // Read before, read behind, read through the other pointer's argument.
    assert!(!streams("  v7 = load v5, align 4 : i32\n  v8 = add v6, v7 : i32\n  store v5, v8, align 4"));
    assert!(!streams("  store v5, v6, align 4\n  v7 = load v5, align 4 : i32\n  store v5, v7, align 4"));
    assert!(!streams("  store v4, v6, align 4"));
    // Again and again to one place.
    assert!(!streams(&repeated("    v9 = add v6, v8 : i32\n    store v5, v9, align 4")));
}

#[test]
fn kernels_that_order_memory_do_not() {
    assert!(!streams("  store v5, v6, align 4\n  fence"));
}

#[test]
fn lines_for_later_wait_behind_the_first_level() {
    let hints = |hint: &str| {
        let module = module(&format!("  store v5, v6, align 4\n  {hint} v4, size 4"));
        let options = options_for(&Launch::new([64, 1, 1], [64, 1, 1]), VectorFacts::X86_64_V3);
        let text = generate(&module, "k", &options).expect("code").llvm_ir;
        let of = |wanted: &str| {
            text.lines()
                .filter(|line| line.contains("call void @llvm.prefetch") && line.ends_with(wanted))
                .count()
        };
        ["i32 0, i32 3, i32 1)", "i32 0, i32 2, i32 1)", "i32 1, i32 3, i32 1)"].map(of)
    };
    // The pass asks for a stretch ahead by itself.
    let [soon, later, write] = hints("prefetch");
    assert!(soon > 0 && later == 0 && write == 0);
    assert_eq!(hints("prefetch_l2"), [soon / 2, soon / 2, 0]);
    assert_eq!(hints("prefetch_write"), [soon / 2, 0, soon / 2]);
    assert_eq!(hints("prefetch_write_l2"), [soon / 2, soon / 2, 0]);
}
