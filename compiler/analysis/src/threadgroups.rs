//! Whether a kernel can tell how the grid's threads are divided into threadgroups.

use anymetal_ir::{ArgKind, BarrierScope, Function, Kernel, Module, Op, Query};

use super::uses::used_functions;
use super::waiting_loops::waits_for_threads;
use super::walk::walk_insts;

/// Whether the kernel, or a function that it calls, could give another result or communicate otherwise if the
/// same grid were divided into other threadgroups: it asks for positions in threadgroups or their number, has
/// threadgroup memory, barriers, or operations of SIMD-groups.
pub fn observes_threadgroups(module: &Module, kernel: &Kernel) -> bool {
    let has_memory = kernel.args.iter().any(|arg| arg.enabled && arg.kind == ArgKind::ThreadgroupMemory);
    has_memory
        || used_functions(module, &[kernel.function]).into_iter().any(|id| observed_in(module.function(id)))
        // Threads wait for each other within a threadgroup only.
        || waits_for_threads(module, kernel.function)
}

fn observed_in(function: &Function) -> bool {
    let mut observed = false;
    walk_insts(function, function.body, &mut |inst| observed |= observes(&function.inst(inst).op));
    observed
}

fn observes(op: &Op) -> bool {
    match op {
        Op::Query(query) => !matches!(query, Query::ThreadPositionInGrid(_) | Query::ThreadsPerGrid(_)),
        Op::Barrier(scope, _) => *scope != BarrierScope::Thread,
        Op::ThreadgroupAddr(_) | Op::Simd(..) | Op::Matrix(..) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anymetal_ir::parse_module;

    fn observes_with(line: &str) -> bool {
        observes_in(line, "", "")
    }

    fn observes_in(line: &str, parameters: &str, arguments: &str) -> bool {
        let text = format!(
            "threadgroup tg0 \"shared\" size 4 align 4

func f0 \"inner\" () {{
  v0 = query.thread_position_in_grid.x : i32
  {line}
}}

func f1 \"k\" ({parameters}) {{
  v0 = query.threads_per_grid.y : i32
  call f0()
}}

kernel \"k\" f1 {{
  {arguments}
}}
"
        );
        let module = parse_module(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        observes_threadgroups(&module, &module.kernels[0])
    }

    #[test]
    fn positions_in_the_grid_tell_nothing() {
        assert!(!observes_with(""));
        assert!(!observes_with("barrier.thread"));
    }

    #[test]
    fn memory_that_is_an_argument_does() {
        let argument = |kind| format!("arg \"slots\" {kind} \"uint\" scalar i32 size 4 align 4 read_write");
        assert!(observes_in("", "v9: ptr.threadgroup", &argument("threadgroup_memory 0 threadgroup")));
        assert!(!observes_in("", "v9: ptr.device", &argument("buffer 0 device")));
    }

    #[test]
    fn positions_in_threadgroups_and_what_threads_share_do() {
        for line in [
            "v1 = query.thread_position_in_threadgroup.x : i32",
            "v1 = query.threads_per_threadgroup.x : i32",
            "v1 = query.thread_index_in_simdgroup : i32",
            "v1 = query.threadgroups_per_grid.x : i32",
            "v1 = threadgroup_addr tg0 : ptr.threadgroup",
            "v1 = simd.sum v0 : i32",
            "barrier.threadgroup",
            "barrier.simdgroup",
        ] {
            assert!(observes_with(line), "{line}");
        }
    }
}
