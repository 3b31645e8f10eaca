//! What the typed program of a kernel looks like.

use super::{program, unit};

fn indices(source: &str, kernel: &str) -> Vec<u32> {
    let program = program(source, kernel);
    program.kernel.arguments().filter_map(|param| param.kind.binding()).map(|binding| binding.index).collect()
}

#[test]
fn indices_are_assigned_in_order_around_given_ones() {
    let source = "kernel void k(device int* a, device int* b [[buffer(0)]], constant int& c, device int* d [[buffer(5)]],
                      constant int* e, threadgroup int* s [[threadgroup(1)]], threadgroup int* t, uint i [[thread_position_in_grid]]) {}";
    assert_eq!(indices(source, "k"), [1, 0, 2, 5, 3, 1, 0]);
}

#[test]
fn entry_points_are_listed_without_checking() {
    let source = "namespace n { kernel void inner() {} }
                  template <typename T> kernel void t(device T* p) { p[0] = nonsense; }
                  template [[host_name(\"t_\" \"float\")]] [[kernel]] decltype(t<float>) t<float>;
                  typedef decltype(t<int>) t_t;
                  template [[host_name(\"t_int\")]] kernel t_t t<int>;
                  template [[host_name(\"t_half\")]] kernel void t<half>(device half* p);
                  [[host_name(\"renamed\")]] kernel void original() {}";
    let (unit, _, sink) = unit(source);
    assert!(!sink.has_errors());
    let names: Vec<String> = unit.kernels().into_iter().map(|kernel| kernel.name).collect();
    assert_eq!(names, ["n::inner", "t_float", "t_int", "t_half", "renamed"]);
}

#[test]
fn the_three_spellings_of_instantiation_agree() {
    let source =
        "template <typename T, int N = 2> kernel void t(device T* p, constant int& n) { p[n] = T(N); }
                  template [[host_name(\"a\")]] [[kernel]] decltype(t<half>) t<half>;
                  typedef decltype(t<half>) t_t;
                  template [[host_name(\"b\")]] kernel t_t t<half>;
                  template [[host_name(\"c\")]] kernel void t<half>(device half* p, constant int& n);";
    for name in ["a", "b", "c"] {
        let program = program(source, name);
        assert_eq!(program.functions[0].name, "t<half, 2>", "{name}");
        assert_eq!(program.kernel.params.len(), 2);
    }
}

#[test]
fn attributes_are_taken_from_the_definition() {
    let source = "namespace n {
                  template <typename T> kernel void t(device T* out, constant T* in, uint index);
                  template <typename T> kernel void t(device T* out [[buffer(4)]], constant T* in [[buffer(2)]],
                                                      uint index [[thread_position_in_grid]]) { out[index] = in[index]; }
                  }
                  template [[host_name(\"k\")]] kernel void ::n::t<float>(device float* out, constant float* in, uint index);";
    assert_eq!(indices(source, "k"), [4, 2]);
}

#[test]
fn only_what_is_reached_is_in_the_program() {
    let source = "constant bool on [[function_constant(3)]];
                  constant bool off [[function_constant(4)]];
                  constant bool both = on && off;
                  constant float used[2] = {1, 2};
                  constant float unused[2] = {1, 2};
                  float helper(uint i) { return used[i]; }
                  float other() { return missing(); }
                  kernel void k(device float* a [[function_constant(both)]], uint i [[thread_position_in_grid]]) {
                      threadgroup float tile[32];
                      if (both) { tile[i] = helper(i); a[i] = tile[i]; }
                  }";
    let program = program(source, "k");
    assert_eq!(program.functions.len(), 2);
    assert_eq!(program.globals.len(), 1);
    assert_eq!(program.threadgroup_vars.len(), 1);
    let mut constants: Vec<u32> = program.function_constants.iter().map(|constant| constant.index).collect();
    constants.sort_unstable();
    assert_eq!(constants, [3, 4]);
}

#[test]
fn recursion_at_the_end_becomes_a_loop() {
    let source = "void down(device int* p, int n) { if (n > 0) { p[n] = n; down(p, n - 1); } }
                  kernel void k(device int* p) { down(p, 5); }";
    let program = program(source, "k");
    let down = &program.functions[1];
    assert!(matches!(down.body.stmts[0].kind, crate::hir::StmtKind::Loop { .. }));
}

#[test]
fn max_threads_may_depend_on_template_arguments() {
    let source =
        "template <int W> [[kernel, max_total_threads_per_threadgroup(W * 32)]] void t(device int* p) {}
                  template [[host_name(\"k\")]] [[kernel]] decltype(t<4>) t<4>;";
    assert_eq!(program(source, "k").kernel.max_threads, Some(128));
}

#[test]
fn a_required_size_may_depend_on_template_arguments() {
    let source =
        "template <int W> [[kernel, required_threads_per_threadgroup(W * 8, 2)]] void t(device int* p) {}
                  template [[host_name(\"k\")]] [[kernel]] decltype(t<4>) t<4>;";
    assert_eq!(program(source, "k").kernel.required_threads, Some([32, 2, 1]));
}
