//! The accesses of a kernel to memory that threads share.

use anymetal_abi::MAX_THREADS_PER_THREADGROUP;
use anymetal_analysis::divergence::{
    Affine, Assumption, Divergence, DivergenceContext, Geometry, LANES, PointerForm, Shape,
};
use anymetal_ir::{Function, Inst, Kernel, MatrixOp, Module, Op, Space, Type, Value};
use serde::Serialize;

use crate::count::{Counts, Place, Places};
use crate::pattern::{Cost, Pattern, bank_conflicts};

/// What an access does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Reads.
    Load,
    /// Writes.
    Store,
    /// An atomic access of any kind.
    Atomic,
    /// A matrix that a SIMD-group reads together.
    MatrixLoad,
    /// A matrix that a SIMD-group writes together.
    MatrixStore,
}

/// An instruction that accesses device, constant or threadgroup memory.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct AccessSite {
    /// What it does.
    pub operation: Operation,
    /// The argument or variable, if it is known.
    pub variable: Option<String>,
    /// Whether it is threadgroup memory.
    pub threadgroup: bool,
    /// Bytes for each thread; of a matrix, two elements.
    pub bytes: u64,
    /// The index of the source file in [`Module::files`].
    #[serde(skip)]
    pub file: u32,
    /// Line in the source; 0: unknown.
    pub line: u32,
    /// Column in the source.
    pub column: u32,
    /// The region, by position.
    pub region: usize,
    /// How lanes access it.
    pub pattern: Pattern,
    /// Of device memory, where the lanes' distances are known.
    pub cost: Option<Cost>,
    /// Of threadgroup memory: the most words of one bank at once, where the distances are known.
    pub bank_conflicts: Option<u32>,
}

/// Finds the accesses, and adds their bytes to the regions.
pub(crate) fn find(
    module: &Module,
    kernel: &Kernel,
    places: &mut Places,
    group: [u32; 3],
) -> (Vec<AccessSite>, Vec<Inst>) {
    let function = module.function(kernel.function);
    let (mut sites, mut divergent) = (Vec::new(), Vec::new());
    let group = group.map(|size| size.max(1));
    let threads = group.iter().fold(1, |threads: u32, &size| threads.saturating_mul(size));
    // A launch refuses larger threadgroups, so they have no positions.
    let is_valid = threads <= MAX_THREADS_PER_THREADGROUP;
    let geometry = if is_valid { Geometry::Full(group) } else { Geometry::Any };
    let divergence = Divergence::of(function, geometry, &Addresses);
    // Those of a threadgroup's first SIMD-group.
    let lanes = threads.min(LANES as u32) as usize;
    for place in places.list() {
        let finder = Finder { module, kernel, function, divergence: &divergence, place, lanes };
        finder.add(&mut sites);
        if divergence.construct(place.inst).separates_lanes() {
            divergent.push(place.inst);
        }
    }
    for site in &sites {
        add_bytes(site, places.counts_mut(site.region));
    }
    (sites, divergent)
}

fn add_bytes(site: &AccessSite, counts: &mut Counts) {
    counts.atomics += u64::from(site.operation == Operation::Atomic);
    let bytes = match (site.threadgroup, site.operation) {
        (true, _) => &mut counts.threadgroup_bytes,
        (false, Operation::Store | Operation::MatrixStore) => &mut counts.bytes_written,
        (false, _) => &mut counts.bytes_read,
    };
    *bytes += site.bytes;
}

/// Pointers as a GPU has them: addresses, whose allocation does not matter.
struct Addresses;

impl DivergenceContext for Addresses {
    fn parameter(&self, _index: usize) -> Shape {
        Shape::Affine(Affine::based([0; LANES], 7))
    }

    fn pointer_form(&self, _function: &Function, _pointer: Value) -> PointerForm {
        PointerForm::Offset
    }
}

/// The distances of the lanes' addresses from the first lane's.
fn offsets_of(shape: &Shape) -> Result<[i64; LANES], Pattern> {
    // Lanes whose bases differ have no pattern.
    let affine = shape.affine().filter(|affine| affine.segments == 1).ok_or(Pattern::Gathered)?;
    let offsets = affine.values().map(|offset| offset.wrapping_sub(affine.at(0)));
    match affine.assumption {
        // A factor is known at run time only, and so is the distance.
        Some(Assumption::UnitFactor) if affine.step().is_some() => Err(Pattern::Strided { bytes: None }),
        Some(Assumption::UnitFactor | Assumption::Unclamped) => Err(Pattern::Gathered),
        Some(Assumption::NoWrap) | None => Ok(offsets),
    }
}

struct Finder<'a> {
    module: &'a Module,
    kernel: &'a Kernel,
    function: &'a Function,
    divergence: &'a Divergence,
    place: &'a Place,
    /// Threads of a SIMD-group.
    lanes: usize,
}

impl Finder<'_> {
    fn add(&self, sites: &mut Vec<AccessSite>) {
        let data = self.function.inst(self.place.inst);
        let size = |value: Option<Value>| {
            let value = value.expect("a load has a result");
            u64::from(self.function.ty(value).size())
        };
        let mut add = |operation, ptr, bytes| sites.extend(self.site(operation, ptr, bytes));
        match &data.op {
            Op::Load { ptr, .. } => add(Operation::Load, *ptr, size(data.result)),
            Op::Store { ptr, value, .. } => add(Operation::Store, *ptr, size(Some(*value))),
            Op::MemCopy { dst, src, size, .. } => {
                add(Operation::Load, *src, *size);
                add(Operation::Store, *dst, *size);
            }
            Op::MemZero { dst, size, .. } => add(Operation::Store, *dst, *size),
            Op::AtomicLoad(ptr) => add(Operation::Atomic, *ptr, size(data.result)),
            Op::AtomicStore(ptr, value) | Op::AtomicRmw(_, ptr, value) | Op::AtomicCas(ptr, value, _) => {
                add(Operation::Atomic, *ptr, size(Some(*value)));
            }
            Op::Matrix(MatrixOp::Load { .. }, args) => add(Operation::MatrixLoad, args[0], size(data.result)),
            Op::Matrix(MatrixOp::Store { .. }, args) => {
                add(Operation::MatrixStore, args[0], size(Some(args[2])))
            }
            _ => {}
        }
    }

    fn site(&self, operation: Operation, ptr: Value, bytes: u64) -> Option<AccessSite> {
        let Type::Ptr(space) = self.function.ty(ptr) else {
            unreachable!("{ptr} is accessed, and not a pointer")
        };
        if space == Space::Thread {
            return None;
        }
        let matrix = matches!(operation, Operation::MatrixLoad | Operation::MatrixStore);
        let offsets = if matrix { Err(Pattern::Gathered) } else { offsets_of(self.divergence.shape(ptr)) };
        let offsets = offsets.as_ref().map(|offsets| &offsets[..self.lanes]);
        let listed = |offsets: &[i64]| offsets.iter().copied().enumerate().collect::<Vec<_>>();
        let pattern = offsets.map_or_else(|&pattern| pattern, |offsets| Pattern::of(&listed(offsets), bytes));
        let (threadgroup, known) = (space == Space::Threadgroup, offsets.ok());
        let loc = self.function.inst(self.place.inst).loc;
        Some(AccessSite {
            operation,
            variable: self.variable(ptr),
            threadgroup,
            bytes,
            file: loc.file,
            line: loc.line,
            column: loc.column,
            region: self.place.region,
            pattern,
            cost: known.filter(|_| !threadgroup).map(|at| Cost::of(at, bytes)),
            bank_conflicts: known.filter(|_| threadgroup).map(bank_conflicts),
        })
    }

    fn variable(&self, mut ptr: Value) -> Option<String> {
        loop {
            if let Some(position) = self.function.params.iter().position(|&param| param == ptr) {
                return self.kernel.args.get(position).map(|argument| argument.name.clone());
            }
            match self.function.def(ptr)? {
                Op::PtrAdd { base, .. } => ptr = *base,
                Op::ThreadgroupAddr(id) => {
                    return Some(self.module.threadgroup_vars[id.index()].name.clone());
                }
                Op::GlobalAddr(id) => return Some(self.module.globals[id.index()].name.clone()),
                _ => return None,
            }
        }
    }
}
