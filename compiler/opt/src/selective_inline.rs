//! Inlines the calls of a large kernel except those of functions that are worth a call.
//!
//! Inlining everything multiplies: a point addition of an elliptic curve has sixteen products of 256-bit
//! numbers, a scalar multiplication hundreds of additions. Kernels that would be too large keep the
//! calls of functions that can be called ([`is_callable`](anymetal_analysis::is_callable)), are large and
//! have more than one call ([`KeptCalls`]). Those of the Metal library are always inlined.
//! Invariant: afterwards every call is of such a function, and its pointers to private memory are of the
//! caller's locals or parameters.

use super::compact::compact;
use super::forward_copies::{forward_copies, written_params};
use super::inline::{
    Callee, InlineError, Site, callee_of, check_size, inline_into, keep_functions, library_files,
};
use super::manager::PassManager;
use super::pipeline::simplify_function;
use crate::limits::MAX_KEPT_STACK_BYTES;
use anymetal_analysis::{has_callable_arguments, is_callable, local_uses, private_pointers, used_functions};
use anymetal_ir::{FuncId, Function, KernelArg, Module, Op};

/// Which calls stay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeptCalls {
    /// Instructions of a kernel with all calls inlined up to which none stay.
    pub max_inlined: usize,
    /// Instructions of a function below which a call costs more than it saves.
    pub min_instructions: usize,
    /// How many copies of a function inlining would make at least.
    pub min_copies: u64,
}

impl KeptCalls {
    /// Those of large kernels.
    pub const OF_LARGE_KERNELS: Self = Self { max_inlined: 20_000, min_instructions: 64, min_copies: 2 };
    /// All that can be.
    pub const ALL: Self = Self { max_inlined: 0, min_instructions: 0, min_copies: 1 };
}

/// Inlines the calls of a verified module, but not those worth a call. If calls may stay, functions are
/// simplified on the way: those whose calls may, kernels, and others once half of what they hold was not, so
/// that the work is linear in what there is at the end. Returns whether calls are left.
///
/// # Errors
/// If the result would be too large. The module is then partly transformed and unusable.
pub fn inline_selectively(
    module: &mut Module,
    kept_calls: KeptCalls,
    manager: &mut PassManager<'_>,
) -> Result<bool, InlineError> {
    let roots = roots(module);
    let order = used_functions(module, &roots);
    if inlined_size(module, &order) <= kept_calls.max_inlined {
        super::inline(module)?;
        return Ok(false);
    }
    let times = calls_of_each(module, &order, &roots);
    let mut selection = Selection {
        kept_calls,
        library: library_files(module),
        prepared: module.functions.iter().map(|_| None).collect(),
        kept: vec![None; module.functions.len()],
        writes: vec![Vec::new(); module.functions.len()],
        unsimplified: vec![0; module.functions.len()],
    };
    let mut total = 0_usize;
    for &id in &order {
        let is_root = roots.contains(&id);
        selection.inline_calls(module, id, manager, is_root || times[id.index()] >= kept_calls.min_copies)?;
        let function = module.function(id);
        total += function.insts.len();
        check_size(function, total)?;
        if !is_root {
            selection.decide(module, id, times[id.index()]);
        }
    }
    let reached = used_functions(module, &roots);
    keep_functions(module, &reached);
    Ok(module.functions.iter().any(|function| function.insts.iter().any(|data| callee_of(data).is_some())))
}

fn roots(module: &Module) -> Vec<FuncId> {
    let kernels = module.kernels.iter();
    kernels
        .flat_map(|kernel| {
            let of_arguments = kernel.args.iter().flat_map(KernelArg::evaluated);
            std::iter::once(kernel.function).chain(of_arguments)
        })
        .collect()
}

/// Instructions of the largest function with all calls inlined; callees come first in `order`.
fn inlined_size(module: &Module, order: &[FuncId]) -> usize {
    let mut sizes = vec![0_usize; module.functions.len()];
    for &id in order {
        let function = module.function(id);
        let callees = function.insts.iter().filter_map(callee_of);
        let inlined = callees.fold(0_usize, |sum, callee| sum.saturating_add(sizes[callee.index()]));
        sizes[id.index()] = function.insts.len().saturating_add(inlined);
    }
    sizes.into_iter().max().unwrap_or(0)
}

/// How many copies of each function inlining makes.
fn calls_of_each(module: &Module, order: &[FuncId], roots: &[FuncId]) -> Vec<u64> {
    let mut times = vec![0_u64; module.functions.len()];
    roots.iter().for_each(|root| times[root.index()] = 1);
    for &id in order.iter().rev() {
        for callee in module.function(id).insts.iter().filter_map(callee_of) {
            times[callee.index()] = times[callee.index()].saturating_add(times[id.index()]);
        }
    }
    times
}

struct Selection {
    kept_calls: KeptCalls,
    library: Vec<bool>,
    /// Functions that were decided on, as their callers copy them.
    prepared: Vec<Option<Callee>>,
    /// The bytes in memory of the functions whose calls stay.
    kept: Vec<Option<u64>>,
    /// Which parameters functions that are kept write through.
    writes: Vec<Vec<bool>>,
    /// Instructions of each function that was decided on that were not simplified.
    unsimplified: Vec<usize>,
}

impl Selection {
    /// Inlines what does not stay and simplifies, if that is wanted or much was not yet. Then it looks at the
    /// arguments of the calls that are left: simpler ones may be to private memory.
    fn inline_calls(
        &mut self,
        module: &mut Module,
        id: FuncId,
        manager: &mut PassManager<'_>,
        simplifies: bool,
    ) -> Result<(), InlineError> {
        let unsimplified = self.unsimplified_after(module.function(id));
        self.inline_sites(module, id, &|_, callee, _| self.kept[callee.index()].is_none())?;
        if !simplifies && unsimplified < module.function(id).insts.len() / 2 {
            self.unsimplified[id.index()] = unsimplified;
            return Ok(());
        }
        forward_copies(&mut module.functions[id.index()], &self.writes);
        simplify_function(module, id, manager);
        loop {
            let function = module.function(id);
            let private = private_pointers(function);
            let is_left = |data: &anymetal_ir::InstData| match &data.op {
                Op::Call(_, args) => !has_callable_arguments(function, &private, args),
                _ => false,
            };
            if !function.insts.iter().any(is_left) {
                return Ok(());
            }
            self.inline_sites(module, id, &|function, _, args| {
                // The next iteration looks at calls that come from inlined functions.
                let is_known = args.iter().all(|arg| arg.index() < private.len());
                is_known && !has_callable_arguments(function, &private, args)
            })?;
            simplify_function(module, id, manager);
        }
    }

    /// How many instructions of a function will not have been simplified when its calls are inlined.
    fn unsimplified_after(&self, function: &Function) -> usize {
        let inlined = function.insts.iter().filter_map(callee_of);
        inlined
            .fold(function.insts.len(), |sum, callee| sum.saturating_add(self.unsimplified[callee.index()]))
    }

    fn inline_sites(&self, module: &mut Module, id: FuncId, site: &Site<'_>) -> Result<(), InlineError> {
        let nothing = Function::new(String::new(), &[], None);
        let mut function = std::mem::replace(&mut module.functions[id.index()], nothing);
        let result = inline_into(&mut function, &self.prepared, &self.library, site);
        compact(&mut function);
        module.functions[id.index()] = function;
        result
    }

    /// Decides whether the calls of a simplified function stay.
    fn decide(&mut self, module: &Module, id: FuncId, times: u64) {
        let function = module.function(id);
        self.prepared[id.index()] = Some(Callee::new(function));
        let stack = self.stack_bytes(function);
        let stays = times >= self.kept_calls.min_copies
            && function.insts.len() >= self.kept_calls.min_instructions
            && stack <= MAX_KEPT_STACK_BYTES
            && !self.is_of_library(function)
            && is_callable(function);
        self.kept[id.index()] = stays.then_some(stack);
        if stays {
            self.writes[id.index()] = written_params(function, &self.writes);
        }
    }

    /// Whether all of a function that is of any file is of the Metal library. What of that is large reads
    /// textures, and is small where it is inlined: formats and states of samplers are known there.
    fn is_of_library(&self, function: &Function) -> bool {
        let mut known = function.insts.iter().map(|data| data.loc).filter(|loc| loc.line > 0).peekable();
        known.peek().is_some() && known.all(|loc| self.library.get(loc.file as usize) == Some(&true))
    }

    /// Bytes of the variables that stay in memory, with those of the functions called.
    fn stack_bytes(&self, function: &Function) -> u64 {
        let uses = local_uses(function);
        let in_memory = function.locals.iter().zip(&uses).filter(|(_, uses)| uses.escapes || uses.dynamic);
        let own = in_memory.fold(0_u64, |sum, (local, _)| sum.saturating_add(local.size));
        let callees = function.insts.iter().filter_map(callee_of);
        let called = callees.filter_map(|callee| self.kept[callee.index()]).max().unwrap_or(0);
        own.saturating_add(called)
    }
}
