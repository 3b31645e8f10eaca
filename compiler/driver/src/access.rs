//! What a kernel does with the memory of its arguments, from its IR.
//!
//! Owns [`MemoryUse`]: whether a pointer argument's memory is read, whether it may be stored to, and
//! whether the whole grid stores all of it. Invariants: what is not followed (a pointer in memory, as an
//! integer, in a call) counts as read; an argument that no store can reach, whatever its declaration,
//! counts as not stored to.

use anymetal_analysis::{MemoryObjects, ObjectSet, walk_insts};
use anymetal_hal::artifact::Overwritten;
use anymetal_ir::{BinOp, Block, CastOp, Function, Kernel, MatrixOp, Module, Op, Query, Type, Value};

/// What a kernel does with its arguments, by their places in its list.
pub(crate) struct MemoryUse<'a> {
    function: &'a Function,
    objects: MemoryObjects,
    /// The parameters that are read, or not followed.
    read: ObjectSet,
}

impl<'a> MemoryUse<'a> {
    /// Of a kernel without calls; calls are not followed.
    pub(crate) fn of(module: &'a Module, kernel: &Kernel) -> Self {
        let function = module.function(kernel.function);
        let objects = MemoryObjects::of(module, function);
        let mut uses = MemoryUse { function, objects, read: ObjectSet::default() };
        walk_insts(function, function.body, &mut |inst| uses.note(inst));
        uses
    }

    /// Whether the memory of the argument at that place is never read.
    pub(crate) fn only_writes(&self, place: usize) -> bool {
        // Pointers that are loaded may lead to any memory that is bound.
        !self.read.has_parameter(place) && !self.read.has_elsewhere()
    }

    /// Whether the kernel may store to the memory of the argument at that place.
    pub(crate) fn may_store_to(&self, kernel: &Kernel, place: usize) -> bool {
        self.objects.may_store_to(kernel, place)
    }

    fn note(&mut self, inst: anymetal_ir::Inst) {
        let function = self.function;
        let data = function.inst(inst);
        match &data.op {
            Op::PtrAdd { .. } | Op::Select(..) => {}
            // The address is written through; a pointer that is stored may be loaded again.
            Op::Store { value, .. } | Op::AtomicStore(_, value) => self.reads(*value),
            Op::MemZero { .. } | Op::Prefetch { .. } | Op::Compare(..) => {}
            Op::MemCopy { src, .. } => self.reads(*src),
            Op::Matrix(MatrixOp::Store { .. }, operands) => {
                operands.iter().skip(1).for_each(|operand| self.reads(*operand));
            }
            op => op.for_each_operand(|operand| self.reads(operand)),
        }
    }

    fn reads(&mut self, value: Value) {
        self.read = self.read.union(self.objects.pointees(value));
    }

    /// The arguments that the grid stores all of, given enough threads, and that nothing reads: every thread
    /// stores its element, whatever happens.
    pub(crate) fn overwritten(&self, kernel: &Kernel) -> Vec<Overwritten> {
        let function = self.function;
        let mut found: Vec<Overwritten> = Vec::new();
        for &inst in function.block(function.body) {
            let op = &function.inst(inst).op;
            if self.may_return(op) {
                break;
            }
            let Op::Store { ptr, value, .. } = op else { continue };
            let Some((place, dimensions)) = self.element_of_thread(*ptr, function.ty(*value)) else {
                continue;
            };
            let Some(argument) = kernel.args.get(place).filter(|_| self.only_writes(place)) else { continue };
            let bytes_per_thread = u64::from(function.ty(*value).size());
            let stored = Overwritten::new(argument.index, bytes_per_thread, dimensions);
            if !found.contains(&stored) {
                found.push(stored);
            }
        }
        found
    }

    /// Whether a thread may end in it.
    fn may_return(&self, op: &Op) -> bool {
        let returns = |block: Block| {
            let mut any = false;
            walk_insts(self.function, block, &mut |inst| {
                any |= matches!(self.function.inst(inst).op, Op::Return(_));
            });
            any
        };
        matches!(op, Op::Return(_)) || op.blocks().into_iter().any(returns)
    }

    /// The parameter and the dimensions of the grid, if the pointer is to the thread's element of the
    /// parameter and elements are contiguous in the order of the threads.
    fn element_of_thread(&self, ptr: Value, stored: Type) -> Option<(usize, u8)> {
        match *self.function.def(ptr)? {
            Op::PtrAdd { base, index: Some(index), scale, offset: 0 } if scale == stored.size() => {
                let place = self.function.params.iter().position(|param| *param == base)?;
                let number = match self.function.def(index) {
                    Some(Op::Cast(CastOp::ZExt | CastOp::SExt, number)) => *number,
                    _ => index,
                };
                Some((place, self.thread_number(number)?))
            }
            _ => None,
        }
    }

    /// Whether it is the thread's number in a grid of one dimension, or of two row by row.
    fn thread_number(&self, number: Value) -> Option<u8> {
        if self.is_query(number, Query::ThreadPositionInGrid(0)) {
            return Some(1);
        }
        let is_row = |y: Value, width: Value| {
            self.is_query(y, Query::ThreadPositionInGrid(1)) && self.is_query(width, Query::ThreadsPerGrid(0))
        };
        let is_row_and_column = |row: Value, column: Value| match self.function.def(row) {
            Some(&Op::Binary(BinOp::Mul, y, width)) => {
                self.is_query(column, Query::ThreadPositionInGrid(0))
                    && (is_row(y, width) || is_row(width, y))
            }
            _ => false,
        };
        match *self.function.def(number)? {
            Op::Binary(BinOp::Add, one, other) => {
                (is_row_and_column(one, other) || is_row_and_column(other, one)).then_some(2)
            }
            _ => None,
        }
    }

    /// Values of fewer than 32 bits would count anew within a large grid.
    fn is_query(&self, value: Value, query: Query) -> bool {
        self.function.ty(value).size() == 4
            && matches!(self.function.def(value), Some(Op::Query(found)) if *found == query)
    }
}

#[cfg(test)]
mod tests {
    use anymetal_hal::artifact::{Access, ArgumentInfo};

    use crate::{CacheConfig, Compiler, CompilerOptions, Source, SourceOptions, Specialisation};

    /// Access and, if it is overwritten, bytes for each thread and dimensions, of the arguments.
    fn told(parameters_and_body: &str) -> Vec<(Access, Option<(u64, u8)>)> {
        let compiler = Compiler::new(&CompilerOptions::with_cache(CacheConfig::memory_only()));
        let text =
            format!("#include <metal_stdlib>\nusing namespace metal;\nkernel void k({parameters_and_body}");
        let library =
            compiler.library(Source::from_text("k.metal", text.as_str(), SourceOptions::default())).unwrap();
        let info = library.reflect_specialised("k", &Specialisation::default()).unwrap();
        let row = |argument: &ArgumentInfo| {
            let mut stored = info.overwritten.iter();
            let stored = stored.find(|stored| stored.argument == argument.index);
            (argument.access, stored.map(|stored| (stored.bytes_per_thread, stored.dimensions)))
        };
        info.arguments.iter().map(row).collect()
    }

    const I: &str = "uint i [[thread_position_in_grid]])";

    #[test]
    fn elements_that_each_thread_stores_are_overwritten() {
        let read = (Access::Read, None);
        let body = format!("device const float4* x, device float4* y, {I} {{ y[i] = x[i] + 1; }}");
        assert_eq!(told(&body), [read, (Access::Write, Some((16, 1)))]);
        let both = format!(
            "device half* x, device half* y, constant half& a, {I} {{ half v = a * i; x[i] = v; y[i] = v; }}"
        );
        let stored = (Access::Write, Some((2, 1)));
        assert_eq!(told(&both), [stored, stored, read]);
        let rows = "device float* y, uint2 p [[thread_position_in_grid]], uint2 n [[threads_per_grid]]) \
                    { y[p.y * n.x + p.x] = p.y; }";
        assert_eq!(told(rows), [(Access::Write, Some((4, 2)))]);
        let loops = format!(
            "device const float* x, device float* y, {I} \
             {{ float sum = 0; for (uint j = 0; j < 9; j++) {{ if (x[j] > 0) sum += x[i + j]; }} y[i] = sum; }}"
        );
        assert_eq!(told(&loops), [read, (Access::Write, Some((4, 1)))]);
    }

    #[test]
    fn what_only_some_threads_or_bytes_get_is_written_and_not_overwritten() {
        let written = (Access::Write, None);
        for body in [
            "{ if (i < 10) y[i] = 1; }",
            "{ if (i >= 10) return; y[i] = 1; }",
            "{ y[i / 2] = 1; }",
            "{ y[2 * i] = 1; }",
            "{ y[i + 1] = 1; }",
            "{ y[ushort(i)] = 1; }",
            "{ for (uint j = 0; j < i; j++) y[i] = 1; }",
            "{ ((device uchar*)y)[4 * i] = 1; }",
            "{ atomic_store_explicit((device atomic_uint*)y + i, 1, memory_order_relaxed); }",
        ] {
            assert_eq!(told(&format!("device uint* y, {I} {body}")), [written], "{body}");
        }
    }

    #[test]
    fn whatever_may_be_read_is_read() {
        for body in [
            "{ y[i] += 1; }",
            "{ y[i] = 1; y[i + 1] = y[i + 2]; }",
            "{ atomic_fetch_add_explicit((device atomic_uint*)y + i, 1, memory_order_relaxed); }",
            "{ atomic_exchange_explicit((device atomic_uint*)y + i, 1, memory_order_relaxed); }",
            "{ device uint* p[2] = {y, y + 4}; y[i] = *p[i % 2]; }",
            "{ device uint* p = i > 3 ? y : y + 8; y[i] = *p; }",
        ] {
            assert_eq!(told(&format!("device uint* y, {I} {body}")), [(Access::ReadWrite, None)], "{body}");
        }
        let either = "{ device uint* p = i > 3 ? y : z; z[i] = *p; }";
        let either = told(&format!("device uint* y, device uint* z, {I} {either}"));
        assert_eq!(either, [(Access::Read, None), (Access::ReadWrite, None)]);
    }

    #[test]
    fn what_stores_can_reach_decides_whatever_the_declaration_says() {
        let (read, written) = (Access::Read, Access::Write);
        let both = Access::ReadWrite;
        for (parameters, body, expected) in [
            ("device uint* x, device uint* y", "{ y[i] = x[i]; }", [read, written]),
            (
                "device const uint* x, device uint* y",
                "{ ((device uint*)x)[i] = 1; y[i] = x[i]; }",
                [both, written],
            ),
            (
                "device const uint* x, device uint* y",
                "{ ulong a = (ulong)x; ((device uint*)a)[i] = 1; y[i] = x[i]; }",
                [both, written],
            ),
            (
                "device const uint* x, device uint* y",
                "{ device uint* p[2] = {(device uint*)x, y}; p[i % 2][0] = 1; }",
                [both, both],
            ),
            (
                "device const uint* x, device uint* y",
                "{ device const uint* p[2] = {x, y}; y[i] = p[i % 2][0]; }",
                [read, both],
            ),
            ("constant ulong* x, device uint* y", "{ *(device uint*)x[i] = 1; y[i] = 1; }", [read, written]),
            ("constant ulong* x, device uint* y", "{ y[i] = *(device uint*)x[i]; }", [read, both]),
            (
                "device const uint* x, device uint* y",
                "{ atomic_fetch_add_explicit((device atomic_uint*)x, 1u, memory_order_relaxed); y[i] = 1; }",
                [both, written],
            ),
        ] {
            let found = told(&format!("{parameters}, {I} {body}"));
            let found: Vec<Access> = found.into_iter().map(|(access, _)| access).collect();
            assert_eq!(found, expected, "{parameters} {body}");
        }
    }
}
