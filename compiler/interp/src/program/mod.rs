//! Programs: one kernel of a module, made ready to run.
//!
//! [`Program::new`] lowers every function the kernel reaches to steps (`lower.rs`, `lower_value.rs`,
//! `lower_memory.rs`), gives their components places in one register file (`registers.rs`) and joins
//! them (`link.rs`). Locals that can be are registers (`promote.rs`). Because recursion does not exist
//! and a SIMD-group has one flow of control, each function is active at most once per SIMD-group; so
//! registers and locals have fixed places, laid out like a stack over the call graph.

mod call_graph;
mod layout;
mod link;
mod lower;
mod lower_memory;
mod lower_value;
mod promote;
mod registers;
pub(crate) mod step;

use std::sync::Arc;

use anymetal_ir::{Access, ArgKind, Inst, Loc, Module, Origin, Query};

use crate::InterpError;
use crate::report::Variable;
pub(crate) use layout::{Arena, MAX_BYTES, MAX_REGIONS, Region, limit};
use step::{Pc, Slot, Step};

/// A component that never changes while a SIMD-group runs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Persistent {
    /// The same bits in all lanes.
    Bits(u64),
    /// A fact about each thread.
    Query(Query),
}

/// A kernel argument as the interpreter sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProgramArgument {
    /// Its name in the source.
    pub name: String,
    /// Metal's index.
    pub index: u32,
    /// What must be bound.
    pub kind: ArgKind,
    /// Whether stores are refused (constant memory).
    pub read_only: bool,
    /// As it is declared: through pointers that come out of memory, nothing that is declared for reading
    /// can be stored to.
    pub access: Access,
    /// False if specialisation found that it is not declared; its binding is ignored.
    pub enabled: bool,
}

/// What a step was made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StepOrigin {
    /// The instruction, in its function; `None`: of constructs and jumps, and at ends of blocks.
    pub inst: Option<Inst>,
    /// Float operations of each execution, as [`anymetal_ir::Op::float_operations`] counts.
    pub float_operations: u8,
}

/// A kernel, ready to run any number of times.
#[derive(Debug)]
pub struct Program {
    kernel: String,
    arguments: Vec<ProgramArgument>,
    files: Vec<String>,
    /// By region number.
    variable_names: Vec<String>,
    pub(crate) steps: Vec<Step>,
    pub(crate) locs: Vec<Loc>,
    step_origins: Vec<StepOrigin>,
    /// Of all functions.
    origins: Arc<[Origin]>,
    pub(crate) operands: Vec<Slot>,
    pub(crate) case_values: Vec<u64>,
    /// These take the first places of the register file.
    pub(crate) persistent: Vec<Persistent>,
    pub(crate) register_count: usize,
    pub(crate) entry: Pc,
    /// The scope that is all of the kernel: to leave it is to return.
    pub(crate) body_scope: Option<Pc>,
    /// By number; the arguments' are filled in by a run.
    pub(crate) regions: Vec<Region>,
    /// The contents of the constant data that are used.
    pub(crate) globals: Vec<Vec<u8>>,
    pub(crate) static_threadgroup_bytes: u64,
    /// As [`Module::threadgroup_reserve`].
    pub(crate) threadgroup_reserve: u64,
    /// As [`Module::reports_thread_accesses`].
    pub(crate) reports_thread_accesses: bool,
    /// As [`Module::whole_buffers`].
    pub(crate) whole_buffers: bool,
    pub(crate) private_bytes: u64,
}

impl Program {
    /// Prepares a kernel of a *verified* module. Function constants should have been specialised away; one
    /// that remains is zero and counts as undefined.
    ///
    /// # Panics
    /// May panic on a module that the verifier rejects.
    pub fn new(module: &Module, kernel: &str) -> Result<Self, InterpError> {
        let kernel =
            module.kernel(kernel).ok_or_else(|| InterpError::UnknownKernel { kernel: kernel.to_owned() })?;
        let order = call_graph::callers_first(module, kernel.function)?;
        let mut layout = layout::Layout::new(kernel);
        let mut lowered = Vec::with_capacity(order.len());
        let mut tables = lower::Tables::default();
        for &id in &order {
            let is_kernel = id == kernel.function;
            lowered.push(lower::lower(module, id, is_kernel, &mut layout, &mut tables)?);
        }
        link::link(module, kernel, order, lowered, layout, tables)
    }

    /// The kernel's name.
    pub fn kernel(&self) -> &str {
        &self.kernel
    }

    /// The kernel's arguments, in the order of [`crate::Memory::arguments`].
    pub fn arguments(&self) -> &[ProgramArgument] {
        &self.arguments
    }

    /// The name of the file of a position; empty if unknown.
    pub fn file(&self, loc: Loc) -> &str {
        if loc.is_known() { self.files.get(loc.file as usize).map_or("", String::as_str) } else { "" }
    }

    /// The origin of a step, by the number that is passed to observers.
    ///
    /// # Panics
    /// If the program has no step of that number.
    pub fn step_origin(&self, site: u32) -> StepOrigin {
        self.step_origins[site as usize]
    }

    /// The source files, for [`Loc::file`].
    pub fn files(&self) -> &[String] {
        &self.files
    }

    /// What is known of a position of this program besides file, line and column: nothing, unless the module
    /// is for sanitizers.
    pub fn origin(&self, loc: Loc) -> Option<&Origin> {
        self.origins.get((loc.origin as usize).checked_sub(1)?)
    }

    /// All that [`Self::origin`] gives, by [`Loc::origin`] - 1.
    pub fn origins(&self) -> Arc<[Origin]> {
        Arc::clone(&self.origins)
    }

    /// The variables that pointers may point into, with their names in the source.
    pub fn variables(&self) -> impl Iterator<Item = (Variable, &str)> {
        self.regions.iter().zip(&self.variable_names).map(|(region, name)| (region.variable, name.as_str()))
    }

    /// The name of a variable in the source; empty for [`Variable::Nothing`].
    pub fn variable_name(&self, variable: Variable) -> &str {
        self.regions
            .iter()
            .position(|region| region.variable == variable)
            .map_or("", |number| &self.variable_names[number])
    }

    /// The bytes of a variable; 0 for arguments, which a run binds.
    pub fn variable_bytes(&self, variable: Variable) -> u64 {
        self.regions.iter().find(|region| region.variable == variable).map_or(0, |region| region.len)
    }

    /// `file:line:column`, for messages.
    pub fn position(&self, loc: Loc) -> String {
        if loc.is_known() {
            format!("{}:{}:{}", self.file(loc), loc.line, loc.column)
        } else {
            "unknown position".to_owned()
        }
    }

    /// How many steps the program has.
    pub fn step_count(&self) -> usize {
        self.steps.len()
    }
}
