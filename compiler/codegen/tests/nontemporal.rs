//! Non-temporal stores: only to buffers that the kernel writes once and never reads. And the cache level of
//! prefetches.

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
fn uses_nontemporal_stores(body: &str) -> bool {
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
fn write_only_buffers_use_nontemporal_stores() {
    assert!(uses_nontemporal_stores("  store v5, v6, align 4"));
    // In a loop whose address advances.
    let walk =
        "    v9 = zext v8 : i64\n    v10 = ptr_add v5 + v9 * 400 : ptr.device\n    store v10, v6, align 4";
    assert!(uses_nontemporal_stores(&repeated(walk)));
}

#[test]
fn buffers_accessed_again_use_plain_stores() {
    // Read before the store, read after it, read through the other pointer argument.
    assert!(!uses_nontemporal_stores(
        "  v7 = load v5, align 4 : i32\n  v8 = add v6, v7 : i32\n  store v5, v8, align 4"
    ));
    assert!(!uses_nontemporal_stores(
        "  store v5, v6, align 4\n  v7 = load v5, align 4 : i32\n  store v5, v7, align 4"
    ));
    assert!(!uses_nontemporal_stores("  store v4, v6, align 4"));
    // In a loop, to one address.
    assert!(!uses_nontemporal_stores(&repeated("    v9 = add v6, v8 : i32\n    store v5, v9, align 4")));
}

#[test]
fn kernels_with_fences_use_plain_stores() {
    assert!(!uses_nontemporal_stores("  store v5, v6, align 4\n  fence"));
}

#[test]
fn read_l2_prefetch_goes_to_the_second_level() {
    let prefetches = |hint: &str| {
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
    // The prefetch pass adds one of its own.
    let [soon, later, write] = prefetches("prefetch");
    assert!(soon > 0 && later == 0 && write == 0);
    assert_eq!(prefetches("prefetch_l2"), [soon / 2, soon / 2, 0]);
    assert_eq!(prefetches("prefetch_write"), [soon / 2, 0, soon / 2]);
    assert_eq!(prefetches("prefetch_write_l2"), [soon / 2, soon / 2, 0]);
}
