//! What a kernel does with the memory of its arguments, from its IR.
//!
//! Owns [`MemoryUse`]: whether a pointer argument's memory is read, and whether the whole grid stores all of
//! it. Invariant: what is not followed (a pointer in memory, as an integer, in a call) counts as read. Memory
//! that is reached through pointers inside buffers is no argument's.

use anymetal_hal::artifact::Overwritten;
use anymetal_ir::analysis::walk_insts;
use anymetal_ir::{BinOp, Block, CastOp, Function, Kernel, MatrixOp, Module, Op, Query, Type, Value};

/// The most parameters that are followed: a bit of a set each.
const MAX_PARAMS: usize = 128;

/// What a kernel does with its arguments, by their places in its list.
pub(crate) struct MemoryUse<'a> {
    function: &'a Function,
    /// The parameters that each value may point into: bits.
    roots: Vec<u128>,
    /// The parameters that are read, or not followed: bits.
    read: u128,
}

impl<'a> MemoryUse<'a> {
    /// Of a kernel without calls; calls are not followed.
    pub(crate) fn of(module: &'a Module, kernel: &Kernel) -> Self {
        let function = module.function(kernel.function);
        let mut roots = vec![0; function.values.len()];
        let is_small = function.params.len() <= MAX_PARAMS;
        for (bit, param) in function.params.iter().enumerate().filter(|_| is_small) {
            roots[param.index()] = 1 << bit;
        }
        let mut uses = MemoryUse { function, roots, read: if is_small { 0 } else { u128::MAX } };
        walk_insts(function, function.body, &mut |inst| uses.note(inst));
        uses
    }

    /// Whether the memory of the argument at that place is never read.
    pub(crate) fn only_writes(&self, place: usize) -> bool {
        place < MAX_PARAMS && self.read >> place & 1 == 0
    }

    fn note(&mut self, inst: anymetal_ir::Inst) {
        let function = self.function;
        let data = function.inst(inst);
        match &data.op {
            Op::PtrAdd { base, .. } => self.derive(data.result, &[*base]),
            Op::Select(_, then, otherwise) => self.derive(data.result, &[*then, *otherwise]),
            // The address is written through; a pointer that is stored may be loaded again.
            Op::Store { value, .. } | Op::AtomicStore(_, value) => self.reads(*value),
            Op::MemZero { .. } | Op::Prefetch { .. } | Op::Compare(..) => {}
            Op::MemCopy { src, .. } | Op::MemConvert { src, .. } => self.reads(*src),
            Op::Matrix(MatrixOp::Store { .. }, operands) => {
                operands.iter().skip(1).for_each(|operand| self.reads(*operand));
            }
            op => op.for_each_operand(|operand| self.reads(operand)),
        }
    }

    fn derive(&mut self, result: Option<Value>, from: &[Value]) {
        if let Some(result) = result {
            let all = from.iter().fold(0, |all, value| all | self.roots[value.index()]);
            self.roots[result.index()] |= all;
        }
    }

    fn reads(&mut self, value: Value) {
        self.read |= self.roots[value.index()];
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
            let stored = Overwritten { argument: argument.index, bytes_per_thread, dimensions };
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

    /// The parameter and the dimensions of the grid, if the pointer is to the thread's element of the parameter
    /// and elements are contiguous in the order of the threads.
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
        let compiler = Compiler::new(&CompilerOptions { cache: CacheConfig::memory_only() });
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
        let told = told(&format!("device uint* y, device uint* z, {I} {either}"));
        assert_eq!(told, [(Access::ReadWrite, None); 2]);
    }
}
