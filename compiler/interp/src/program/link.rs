//! Joins lowered functions: places in the register file, private memory, jump and call targets.

use anymetal_ir::{FuncId, Kernel, Loc, Module, Origin, Space};

use super::layout::{Layout, limit};
use super::lower::{Lowered, Tables};
use super::registers::{FOREIGN, PERSISTENT};
use super::step::{Pc, Step};
use super::{Program, ProgramArgument, call_graph};
use crate::InterpError;

/// A SIMD-group's register file: 2^20 places are 256 MiB.
const MAX_REGISTERS: u64 = 1 << 20;

/// Where a function's things begin.
#[derive(Clone, Copy, Default)]
struct Window {
    registers: u32,
    private: u64,
    entry: u32,
}

/// `order` and `lowered` go together; callers come before callees.
pub(super) fn link(
    module: &Module,
    kernel: &Kernel,
    order: Vec<FuncId>,
    lowered: Vec<Lowered>,
    mut layout: Layout,
    mut tables: Tables,
) -> Result<Program, InterpError> {
    assert_eq!(order.len(), lowered.len(), "each function of the program is lowered once");
    let mut windows = vec![Window::default(); module.functions.len()];
    let (register_count, private_bytes) =
        place_windows(module, &order, &lowered, &mut layout, tables.persistent.len() as u32, &mut windows)?;

    let mut steps = Vec::new();
    let mut locs = Vec::new();
    let mut step_origins = Vec::new();
    let mut origins = Vec::new();
    let foreign = std::mem::take(&mut tables.foreign);
    for (id, function) in order.iter().zip(lowered) {
        let window = windows[id.index()];
        let mut code = function.steps;
        for step in &mut code {
            step.for_each_slot(&mut tables.operands, &mut |slot, _| {
                slot.0 = if slot.0 & PERSISTENT != 0 {
                    slot.0 & !PERSISTENT
                } else if slot.0 & FOREIGN != 0 {
                    let (callee, place) = foreign[(slot.0 & !FOREIGN) as usize];
                    windows[callee.index()].registers + place
                } else {
                    window.registers + slot.0
                };
            });
            if let Some(target) = step.target_mut() {
                *target += window.entry;
            }
            if let Step::Call { entry } = step {
                *entry = windows[*entry as usize].entry;
            }
        }
        steps.extend(code);
        step_origins.extend(function.origins);
        let first = origins.len() as u32;
        let rebased = |loc: Loc| Loc { origin: loc.origin + if loc.origin == 0 { 0 } else { first }, ..loc };
        locs.extend(function.locs.into_iter().map(rebased));
        origins.extend(module.function(*id).origins.iter().map(|origin| {
            let inlined_at = origin.inlined_at.map(rebased);
            Origin { inlined_at, ..origin.clone() }
        }));
    }
    assert!(
        steps.len() == locs.len() && steps.len() == step_origins.len(),
        "each step has a position and an origin"
    );
    let entry = windows[order[0].index()].entry;
    let body_scope = body_scope(&steps, entry);
    Ok(Program {
        kernel: kernel.name.clone(),
        arguments: arguments(kernel),
        files: module.files.clone(),
        variable_names: layout.names,
        steps,
        locs,
        step_origins,
        origins: origins.into(),
        operands: tables.operands,
        case_values: tables.case_values,
        persistent: tables.persistent,
        register_count,
        entry,
        body_scope,
        regions: layout.regions,
        globals: layout.globals.iter().map(|id| module.globals[id.index()].bytes.clone()).collect(),
        static_threadgroup_bytes: layout.threadgroup_bytes,
        threadgroup_reserve: module.threadgroup_reserve,
        reports_thread_accesses: module.reports_thread_accesses(),
        whole_buffers: module.whole_buffers,
        private_bytes,
    })
}

/// The scope at the end of the kernel, as inlining leaves it around a body with several returns.
fn body_scope(steps: &[Step], entry: Pc) -> Option<Pc> {
    let kernel = &steps[entry as usize..];
    let end = kernel.iter().position(|step| matches!(step, Step::EndFunction))?;
    let end = end.checked_sub(1).filter(|&end| matches!(kernel[end], Step::EndScope { .. }))?;
    let mut open = 0;
    let begin = kernel[..=end].iter().rposition(|step| {
        match step {
            Step::EndScope { .. } => open += 1,
            Step::Scope => open -= 1,
            _ => {}
        }
        open == 0
    })?;
    Some(entry + begin as Pc)
}

/// Gives each function its windows, above those of all its callers. Returns the sizes in all.
fn place_windows(
    module: &Module,
    order: &[FuncId],
    lowered: &[Lowered],
    layout: &mut Layout,
    persistent: u32,
    windows: &mut [Window],
) -> Result<(usize, u64), InterpError> {
    let (mut register_count, mut private_bytes, mut entry) = (persistent, 0, 0u32);
    windows[order[0].index()].registers = persistent;
    for (id, function) in order.iter().zip(lowered) {
        let window = windows[id.index()];
        windows[id.index()].entry = entry;
        entry += function.steps.len() as u32;
        let registers = window.registers + function.places;
        limit("registers of a kernel", u64::from(registers), MAX_REGISTERS)?;
        let private = layout.move_locals(*id, window.private)?;
        register_count = register_count.max(registers);
        private_bytes = private_bytes.max(private);
        for callee in call_graph::callees(module.function(*id)) {
            let window = &mut windows[callee.index()];
            window.registers = window.registers.max(registers);
            window.private = window.private.max(private);
        }
    }
    Ok((register_count as usize, private_bytes))
}

fn arguments(kernel: &Kernel) -> Vec<ProgramArgument> {
    kernel
        .args
        .iter()
        .map(|arg| ProgramArgument {
            name: arg.name.clone(),
            index: arg.index,
            kind: arg.kind,
            read_only: arg.space == Space::Constant,
            access: arg.access,
            enabled: arg.enabled,
        })
        .collect()
}
