//! Extracts one kernel and its dependences from a module.

use anymetal_analysis::used_functions;
use anymetal_ir::{FuncId, Kernel, KernelArg, Module, Op};

/// A module with only the kernel of that name, its functions and those of its arguments. Data
/// tables are kept whole, so that their indices do not change. `None` if there is no such kernel.
pub fn extract_kernel(module: &Module, name: &str) -> Option<Module> {
    Some(extract(module, module.kernel(name)?.clone()))
}

/// A module with that kernel only, which need not be one of the module's.
pub(super) fn extract(module: &Module, mut kernel: Kernel) -> Module {
    let mut roots = vec![kernel.function];
    roots.extend(kernel.args.iter().flat_map(KernelArg::evaluated));
    let mut used = used_functions(module, &roots);
    used.sort_unstable();
    let new_id = |id: FuncId| {
        let position = used.binary_search(&id).expect("every reference is among the used functions");
        FuncId(position as u32)
    };
    let mut functions: Vec<_> = used.iter().map(|&id| module.function(id).clone()).collect();
    for function in &mut functions {
        for data in &mut function.insts {
            if let Op::Call(callee, _) = &mut data.op {
                // An unreachable instruction may call a function that is not kept.
                *callee = if used.binary_search(callee).is_ok() { new_id(*callee) } else { FuncId(0) };
            }
        }
    }
    let params = module.function(kernel.function).params.len();
    assert_eq!(params, kernel.args.len(), "a kernel's function has one parameter for each argument");
    kernel.function = new_id(kernel.function);
    for arg in &mut kernel.args {
        arg.evaluated_mut().for_each(|id| *id = new_id(*id));
    }
    Module {
        files: module.files.clone(),
        function_constants: module.function_constants.clone(),
        globals: module.globals.clone(),
        threadgroup_vars: module.threadgroup_vars.clone(),
        threadgroup_reserve: module.threadgroup_reserve,
        whole_buffers: module.whole_buffers,
        functions,
        kernels: vec![kernel],
    }
}
