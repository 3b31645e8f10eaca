//! The proof on hand-made modules, and what the fused kernel looks like; in `sums`, the proof against an
//! enumeration of all threads.

mod sums;

use super::{FusedKernel, Launched, Refusal, arguments, fuse};
use anymetal_ir::{Module, Op, parse_module, print_module, verify};

/// A kernel with two device arguments and that body; `v2` is the position, widened in `v3`.
fn kernel(body: &str) -> Module {
    let text = format!(
        r#"
func f0 "k" (v0: ptr.device, v1: ptr.device) {{
  v2 = query.thread_position_in_grid.x : i32
  v3 = zext v2 : i64
{body}
}}

kernel "k" f0 {{
  arg "x" buffer 0 device "float" scalar f32 size 4 align 4 read_write
  arg "y" buffer 1 device "float" scalar f32 size 4 align 4 read_write
}}
"#
    );
    let module = parse_module(&text).expect("the text is well formed");
    verify(&module).expect("the module is valid");
    module
}

/// `y[at] = x[at]`.
const COPY: &str = "
  v4 = ptr_add v0 + v3 * 4 : ptr.device
  v5 = load v4, align 4 : f32
  v6 = ptr_add v1 + v3 * 4 : ptr.device
  store v6, v5, align 4";

/// A copy from the place 0 to the place 1, then the body with `x` at the place 1 and `y` at the place 2.
fn after_copy(body: &str) -> Result<Module, Refusal> {
    let (first, second) = (kernel(COPY), kernel(body));
    let parts = [
        FusedKernel { module: &first, places: &[0, 1], bytes: &[None; 2] },
        FusedKernel { module: &second, places: &[1, 2], bytes: &[None; 2] },
    ];
    fuse("copy + k", &parts, &Launched::ANY_LINE)
}

fn refusal(body: &str) -> String {
    after_copy(body).expect_err("it is not to be proved").to_string()
}

#[test]
fn one_kernel_calls_both_with_the_shared_bytes_once() {
    let module = after_copy(COPY).unwrap();
    verify(&module).unwrap();
    let kernel = &module.kernels[0];
    assert_eq!(kernel.args.iter().map(|argument| argument.index).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(module.functions.len(), 1);
    let stores: Vec<u32> = (0..)
        .zip(&module.functions[0].insts)
        .filter_map(|(at, inst)| matches!(inst.op, Op::Store { .. } | Op::Barrier(..)).then_some(at))
        .collect();
    // A store, what keeps the launches apart, a store.
    assert_eq!(stores.len(), 3, "{}", print_module(&module));
}

#[test]
fn windows_of_several_elements_are_proved() {
    // Two floats for each thread, in another order and through sums and shifts of 64 bits.
    let pair = |low: i64| {
        format!(
            "
  v4 = const 3 : i64
  v5 = shl v3, v4 : i64
  v6 = ptr_add v0 + v5 * 1 + {low} : ptr.device
  v7 = load v6, align 4 : f32"
        )
    };
    let write = "
  v4 = const 2 : i64
  v5 = mul v3, v4 : i64
  v6 = const 1 : i64
  v7 = add v5, v6 : i64
  v8 = ptr_add v1 + v7 * 4 : ptr.device
  v9 = const 0 : i32
  store v8, v9, align 4";
    let fused = |low| {
        let (first, second) = (kernel(write), kernel(&pair(low)));
        let parts = [
            FusedKernel { module: &first, places: &[0, 1], bytes: &[None; 2] },
            FusedKernel { module: &second, places: &[1, 2], bytes: &[None; 2] },
        ];
        fuse("k + k", &parts, &Launched::ANY_LINE)
    };
    assert!(fused(0).is_ok() && fused(4).is_ok() && fused(8).is_ok());
    assert!(matches!(fused(12), Err(Refusal::Overlap { .. })), "the window is wider than the stride");
    assert!(matches!(fused(-4), Err(Refusal::Overlap { .. })));
}

#[test]
fn addresses_that_other_threads_may_access_are_refused() {
    let narrow = "
  v4 = const 4 : i32
  v5 = mul v2, v4 : i32
  v6 = zext v5 : i64
  v7 = ptr_add v0 + v6 * 4 : ptr.device
  v8 = load v7, align 4 : f32";
    assert_eq!(refusal(narrow), "a thread of k may access x at another thread's position (line 0)");
    let fixed = "  v4 = load v0, align 4 : f32";
    assert!(refusal(fixed).contains("another thread's position"));
    let reversed = "
  v4 = const 0 : i64
  v5 = sub v4, v3 : i64
  v6 = ptr_add v0 + v5 * 4 : ptr.device
  v7 = load v6, align 4 : f32";
    assert!(refusal(reversed).contains("overlap"), "of other threads than in the copy");
    let wider = "
  v4 = ptr_add v0 + v3 * 8 : ptr.device
  v5 = load v4, align 4 : f32";
    assert_eq!(refusal(wider), "the threads' bytes of k's x overlap those of other threads");
    let neighbour = "
  v4 = ptr_add v0 + v3 * 4 + 4 : ptr.device
  v5 = load v4, align 4 : f32";
    assert!(refusal(neighbour).contains("overlap"));
}

/// Sums of sums of sums, through conversions, vectors and numbers from memory: no more is looked at than is
/// of use.
#[test]
fn exponential_address_expressions_are_refused_at_once() {
    let through = |step: &dyn Fn(u32) -> String| {
        let steps: String = (0..200).map(|level| step(3 + level * 6)).collect();
        let last = 3 + 200 * 6;
        format!(
            "{steps}  v{} = ptr_add v0 + v{last} * 4 : ptr.device\n  v{} = load v{}, align 4 : f32",
            last + 1,
            last + 2,
            last + 1
        )
    };
    let by_vectors = through(&|from| {
        let [one, vector, sum, zero, two, to] = [1, 2, 3, 4, 5, 6].map(|at| from + at);
        format!(
            "  v{one} = add v{from}, v{from} : i64\n  v{vector} = compose v{one}, v{from} : i64x2\n  \
             v{sum} = extract v{vector}, 0 : i64\n  v{zero} = const 0 : i64\n  \
             v{two} = add v{sum}, v{zero} : i64\n  v{to} = add v{two}, v{zero} : i64\n"
        )
    });
    let by_memory = through(&|from| {
        let [one, pointer, number, zero, two, to] = [1, 2, 3, 4, 5, 6].map(|at| from + at);
        format!(
            "  v{one} = sub v{from}, v{from} : i64\n  v{pointer} = ptr_add v1 + v{one} * 8 : ptr.device\n  \
             v{number} = load v{pointer}, align 8 : i64\n  v{zero} = const 0 : i64\n  \
             v{two} = add v{number}, v{zero} : i64\n  v{to} = add v{two}, v{zero} : i64\n"
        )
    });
    for body in [by_vectors, by_memory] {
        assert!(refusal(&body).contains("another thread's position"));
    }
}

#[test]
fn pointers_that_are_not_followed_are_refused() {
    let stored = "  store v1, v0, align 8";
    assert_eq!(refusal(stored), "the address of k's x is more than accessed");
    let found = "
  v4 = load v1, align 8 : ptr.device
  v5 = load v4, align 4 : f32";
    assert_eq!(refusal(found), "k takes pointers from memory");
    // Nothing is known of the other argument's address, and nothing need be.
    assert!(after_copy("  v4 = ptr_to_int v1 : i64").is_ok());
    assert!(refusal("  v4 = ptr_to_int v0 : i64").contains("more than accessed"));
}

#[test]
fn arguments_of_the_same_bytes_and_space_are_one() {
    let parts = [vec![(5, 'd'), (6, 'd')], vec![(6, 'd'), (5, 'c'), (7, 'd')], vec![(7, 'd'), (5, 'd')]];
    assert_eq!(arguments(&parts), [(0, 0), (0, 1), (1, 1), (1, 2)]);
}
