//! Bundles: loads of one thread that lie at known distances from each other.
//!
//! Threads that each read a few neighbouring elements (the bytes of a quantised block, the components of
//! a point) make one gather per element. A bundle says which loads of a block belong together, so that
//! addresses, checks and the way to memory are paid for once.
//!
//! Invariant: between the first load of a bundle and any other nothing changes the memory that they read,
//! and no thread stops; so all may be done where the first is.

use std::collections::BTreeMap;

use anymetal_ir::{BinOp, Block, CastOp, Function, Inst, MatrixOp, Op, Scalar, Space, Type, Value};

use super::shape::flow::ptr_space;
use super::shape::range::upper_bound;

/// How far definitions are followed.
const DEPTH: u32 = 16;
/// The most terms of an address.
const MAX_TERMS: usize = 6;
/// The farthest that loads of a bundle are apart.
const MAX_REACH: i64 = 1024;

/// A load of a bundle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Member {
    /// The load.
    pub(super) inst: Inst,
    /// Bytes from what the bundle's first load reads.
    pub(super) offset: i64,
}

/// The bundles of a function.
#[derive(Debug, Default)]
pub(super) struct Bundles {
    /// By the first load of each in program order: all, the lowest offset first.
    by_first: BTreeMap<Inst, Vec<Member>>,
}

/// What an address is made of, besides its allocation and a constant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Term {
    /// A 64-bit value, or a pointer.
    Whole(Value),
    /// A narrower value, widened.
    ZExt(Value),
    SExt(Value),
}

/// A sum of scaled terms and a constant, modulo 2^64.
#[derive(Clone, Debug, Default)]
struct Linear {
    terms: BTreeMap<Term, i64>,
    constant: i64,
}

struct Finder<'a> {
    function: &'a Function,
    found: Bundles,
    /// The loads that others may still join, by the terms of their addresses, in program order.
    open: BTreeMap<Vec<(Term, i64)>, Vec<Member>>,
}

impl Bundles {
    /// Looks through a function.
    pub(super) fn new(function: &Function) -> Self {
        let mut finder = Finder { function, found: Self::default(), open: BTreeMap::new() };
        finder.block(function.body);
        finder.found
    }

    /// The bundle whose first load this is.
    pub(super) fn of_first(&self, inst: Inst) -> Option<&[Member]> {
        self.by_first.get(&inst).map(Vec::as_slice)
    }
}

impl Finder<'_> {
    fn block(&mut self, block: Block) {
        let function = self.function;
        for &inst in function.block(block) {
            let data = function.inst(inst);
            if let (Op::Load { ptr, volatile: false, .. }, Some(result)) = (&data.op, data.result) {
                self.note(inst, *ptr, result);
                continue;
            }
            let nested = data.op.blocks();
            if ends_bundles(function, &data.op) || !nested.is_empty() {
                self.close();
            }
            for block in nested {
                self.block(block);
            }
        }
        self.close();
    }

    fn note(&mut self, inst: Inst, pointer: Value, result: Value) {
        let function = self.function;
        let ty = function.ty(result);
        let is_plain =
            ty.scalar().is_some_and(|scalar| scalar != Scalar::Bool) && !matches!(ty, Type::Ptr(_));
        if !is_plain || ptr_space(function, pointer) == Space::Thread {
            return;
        }
        let mut address = Linear::default();
        address.add(function, pointer, 1, DEPTH);
        if address.terms.len() > MAX_TERMS {
            return;
        }
        let key = address.terms.into_iter().filter(|&(_, scale)| scale != 0).collect();
        self.open.entry(key).or_default().push(Member { inst, offset: address.constant });
    }

    /// What was found so far is not joined by what follows.
    fn close(&mut self) {
        for members in std::mem::take(&mut self.open).into_values() {
            let mut ordered: Vec<(usize, Member)> = members.into_iter().enumerate().collect();
            ordered.sort_by_key(|(_, member)| member.offset);
            let mut rest = ordered.as_slice();
            while let Some(low) = rest.first().map(|(_, member)| member.offset) {
                let near = |member: &Member| member.offset.wrapping_sub(low) < MAX_REACH;
                let count = rest.iter().take_while(|(_, member)| near(member)).count();
                let (bundle, others) = rest.split_at(count);
                self.keep(bundle);
                rest = others;
            }
        }
    }

    fn keep(&mut self, members: &[(usize, Member)]) {
        let Some(&(_, first)) = members.iter().min_by_key(|(order, _)| order) else { return };
        if members.len() < 2 {
            return;
        }
        let from_first =
            |&(_, Member { inst, offset })| Member { inst, offset: offset.wrapping_sub(first.offset) };
        self.found.by_first.insert(first.inst, members.iter().map(from_first).collect());
    }
}

/// Whether loads behind the operation may find other memory than those before it.
fn ends_bundles(function: &Function, op: &Op) -> bool {
    match op {
        // Nobody else sees a thread's own memory.
        Op::Store { ptr, .. } | Op::MemCopy { dst: ptr, .. } | Op::MemZero { dst: ptr, .. } => {
            ptr_space(function, *ptr) != Space::Thread
        }
        Op::AtomicLoad(_)
        | Op::AtomicStore(..)
        | Op::AtomicRmw(..)
        | Op::AtomicCas(..)
        | Op::Fence
        | Op::Barrier(_)
        | Op::Call(..)
        | Op::Matrix(MatrixOp::Store { .. }, _) => true,
        op => op.is_terminator(),
    }
}

impl Linear {
    fn term(&mut self, term: Term, scale: i64) {
        let sum = self.terms.entry(term).or_default();
        *sum = sum.wrapping_add(scale);
    }

    /// Adds a pointer or a 64-bit value.
    fn add(&mut self, function: &Function, value: Value, scale: i64, depth: u32) {
        let (Some(op), true) = (function.def(value), depth > 0) else {
            return self.term(Term::Whole(value), scale);
        };
        let constant = |value: Value| function.as_const(value).map(|bits| bits as i64);
        match *op {
            Op::PtrAdd { base, index, scale: bytes, offset } => {
                self.add(function, base, scale, depth - 1);
                self.constant = self.constant.wrapping_add(offset.wrapping_mul(scale));
                if let Some(index) = index {
                    self.add(function, index, scale.wrapping_mul(i64::from(bytes)), depth - 1);
                }
            }
            Op::Const(bits) => self.constant = self.constant.wrapping_add((bits as i64).wrapping_mul(scale)),
            Op::Binary(BinOp::Add, a, b) => {
                self.add(function, a, scale, depth - 1);
                self.add(function, b, scale, depth - 1);
            }
            Op::Binary(BinOp::Sub, a, b) => {
                self.add(function, a, scale, depth - 1);
                self.add(function, b, scale.wrapping_neg(), depth - 1);
            }
            Op::Binary(BinOp::Mul, a, b) if constant(b).is_some() => {
                self.add(function, a, scale.wrapping_mul(constant(b).unwrap_or(1)), depth - 1);
            }
            Op::Cast(CastOp::ZExt, a) => {
                let a = self.narrow(function, a, scale, anymetal_ir::eval::mask);
                self.term(Term::ZExt(a), scale);
            }
            Op::Cast(CastOp::SExt, a) => {
                let a = self.narrow(function, a, scale, |scalar| anymetal_ir::eval::mask(scalar) >> 1);
                self.term(Term::SExt(a), scale);
            }
            _ => self.term(Term::Whole(value), scale),
        }
    }

    /// Takes constants out of a narrow sum that stays below its limit.
    fn narrow(
        &mut self,
        function: &Function,
        mut value: Value,
        scale: i64,
        limit: impl Fn(Scalar) -> u64,
    ) -> Value {
        while let Some(&Op::Binary(BinOp::Add, a, b)) = function.def(value)
            && let (Some(constant), Some(scalar)) = (function.as_const(b), function.ty(a).scalar())
            && upper_bound(function, a).checked_add(constant).is_some_and(|sum| sum <= limit(scalar))
        {
            self.constant = self.constant.wrapping_add((constant as i64).wrapping_mul(scale));
            value = a;
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The offsets of all bundles of the only function.
    fn offsets(body: &str) -> Vec<Vec<i64>> {
        let text = format!("func f0 \"f\" (v0: ptr.device, v1: ptr.device) {{\n{body}\n}}\n");
        let module = anymetal_ir::parse_module(&text).expect("the text is well formed");
        let bundles = Bundles::new(&module.functions[0]);
        bundles.by_first.values().map(|members| members.iter().map(|m| m.offset).collect()).collect()
    }

    const THREE: &str = "
  v2 = query.thread_index_in_threadgroup : i32
  v3 = zext v2 : i64
  v4 = ptr_add v0 + v3 * 12 + 4 : ptr.device
  v5 = load v4, align 4 : f32
  v6 = ptr_add v0 + v3 * 12 : ptr.device
  v7 = load v6, align 4 : f32
  v8 = const 1 : i32
  v9 = add v2, v8 : i32
  v10 = zext v9 : i64
  v11 = ptr_add v0 + v10 * 12 : ptr.device";

    #[test]
    fn neighbours_are_found_through_narrow_sums() {
        // A thread's index leaves room for one more.
        assert_eq!(offsets(&format!("{THREE}\n  v12 = load v11, align 4 : f32")), [[-4, 0, 8]]);
    }

    #[test]
    fn stores_that_others_see_part_bundles() {
        let store = "  store v1, v5, align 4\n  v12 = load v11, align 4 : f32";
        assert_eq!(offsets(&format!("{THREE}\n{store}")), [[-4, 0]]);
    }
}
