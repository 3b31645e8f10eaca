//! Bundles: loads of one thread at constant distances from each other.
//!
//! Threads that each read a few neighbouring elements (the bytes of a quantised block, the components of a
//! point) would need one gather per element. A bundle groups such loads of a block, so that address, bounds
//! check and memory access are shared.
//!
//! Indices are often computed in 32 bits, `in[i * n + k + 1]` with an `int` or `uint`, where a sum may wrap
//! before it is extended. Such loads are members if no sum wraps, which code tests at run time ([`Narrow`]).
//!
//! Invariant: between the first load of a bundle and any other no instruction changes the memory they read
//! and no thread stops, so all may be hoisted to the first.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::limits::cpu::MAX_SPAN;
use anymetal_analysis::divergence::Geometry;
use anymetal_analysis::ranges::upper_bound;
use anymetal_analysis::{Linear, Memory, TermClass, TermPolicy, constants_taken_out, may_change};
use anymetal_ir::eval::sign_extend;
use anymetal_ir::{BinOp, Block, CastOp, Function, Inst, Op, Scalar, Space, Type, Value};

/// A load of a bundle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Member {
    /// The load.
    pub(super) inst: Inst,
    /// Where it stands in its run.
    pub(super) at: usize,
    /// Bytes from what the bundle's first load reads.
    pub(super) offset: i64,
}

/// An assumption of a bundle: no sum of the value and a constant in the range wraps before it is extended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Narrow {
    pub(super) value: Value,
    pub(super) cast: CastOp,
    /// The least and the greatest constant.
    pub(super) low: i64,
    pub(super) high: i64,
}

impl Narrow {
    /// The assumption that both assumptions hold, if they are about one value.
    fn and(self, other: Self) -> Option<Self> {
        let is_same = (self.value, self.cast) == (other.value, other.cast);
        is_same.then(|| Self { low: self.low.min(other.low), high: self.high.max(other.high), ..self })
    }
}

/// The loads of one thread at constant distances.
#[derive(Clone, Debug)]
pub(super) struct Bundle {
    /// All, the lowest offset first.
    pub(super) members: Vec<Member>,
    /// The offsets hold if this does.
    pub(super) narrow: Option<Narrow>,
}

/// The bundles of a function.
#[derive(Debug, Default)]
pub(super) struct Bundles {
    /// By the first load of each in program order.
    by_first: BTreeMap<Inst, Bundle>,
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

impl Bundles {
    /// Analyses a function.
    pub(super) fn new(function: &Function) -> Self {
        let mut found = Self::default();
        for memory in [Memory::Threadgroup, Memory::Elsewhere] {
            found.find_in(function, memory);
        }
        found
    }

    fn find_in(&mut self, function: &Function, memory: Memory) {
        for_each_run(function, function.body, memory, &mut |run| {
            let mut groups: BTreeMap<Vec<(Term, i64)>, Vec<Member>> = BTreeMap::new();
            let mut assumed: BTreeMap<Inst, Narrow> = BTreeMap::new();
            let own = loads(function, run).filter(|&(.., pointer)| memory.has(function, pointer));
            for (at, inst, pointer) in own {
                let Some((address, narrow)) = address(function, pointer) else {
                    // Its distance from other loads is not known.
                    continue;
                };
                assumed.extend(narrow.map(|narrow| (inst, narrow)));
                let member = Member { inst, at, offset: address.constant };
                groups.entry(address.terms.into_iter().collect()).or_default().push(member);
            }
            for members in groups.into_values().flat_map(near_each_other) {
                self.keep(members, &assumed);
            }
        });
    }

    /// The bundle whose first load this is.
    pub(super) fn of_first(&self, inst: Inst) -> Option<&Bundle> {
        self.by_first.get(&inst)
    }

    /// `assumed`: the assumptions of loads that have one. A bundle has assumptions about one value at most.
    fn keep(&mut self, mut members: Vec<Member>, assumed: &BTreeMap<Inst, Narrow>) {
        debug_assert!(members.is_sorted_by_key(|member| member.offset), "the lowest member is the first");
        let mut all: Option<Narrow> = None;
        members.retain(|member| match (all, assumed.get(&member.inst)) {
            (_, None) => true,
            (None, Some(&narrow)) => {
                all = Some(narrow);
                true
            }
            (Some(before), Some(&narrow)) => {
                let both = before.and(narrow);
                all = both.or(all);
                both.is_some()
            }
        });
        if let ([_, _, ..], Some(first)) = (members.as_slice(), first_of(&members)) {
            let bundle = Bundle { members: from_first(&members, first), narrow: all };
            self.by_first.insert(first.inst, bundle);
        }
    }
}

/// The address as a sum, and what that assumes.
fn address(function: &Function, pointer: Value) -> Option<(Linear<Term>, Option<Narrow>)> {
    let assuming = Opaque { function, assumed: Some(RefCell::default()) };
    let sum = Linear::of(function, pointer, &assuming)?;
    let mut assumed = assuming.assumed.expect("it was given").into_inner();
    match (assumed.pop(), assumed.as_slice()) {
        (last, []) => Some((sum, last)),
        // More than one sum may wrap.
        _ => Some((Linear::of(function, pointer, &Opaque { function, assumed: None })?, None)),
    }
}

/// Calls `each` for the stretches of a block, and of those nested in it, in which the memory does not change.
pub(super) fn for_each_run(
    function: &Function,
    block: Block,
    memory: Memory,
    each: &mut impl FnMut(&[Inst]),
) {
    let insts = function.block(block);
    let mut start = 0;
    for (at, &inst) in insts.iter().enumerate() {
        let op = &function.inst(inst).op;
        let nested = op.blocks();
        if may_change(function, op, memory) || op.is_terminator() || !nested.is_empty() {
            each(&insts[start..at]);
            start = at + 1;
        }
        for block in nested {
            for_each_run(function, block, memory, each);
        }
    }
    each(&insts[start..]);
}

/// The loads of a run from memory that threads share: where they stand in it, and their pointers.
pub(super) fn loads<'a>(
    function: &'a Function,
    run: &'a [Inst],
) -> impl Iterator<Item = (usize, Inst, Value)> + use<'a> {
    run.iter().enumerate().filter_map(|(at, &inst)| {
        let data = function.inst(inst);
        let (&Op::Load { ptr, volatile: false, .. }, Some(result)) = (&data.op, data.result) else {
            // Not a load, or a volatile load.
            return None;
        };
        let ty = function.ty(result);
        let is_plain =
            ty.scalar().is_some_and(|scalar| scalar != Scalar::Bool) && !matches!(ty, Type::Ptr(_));
        (is_plain && function.pointer_space(ptr) != Space::Thread).then_some((at, inst, ptr))
    })
}

/// The members by their offsets, split where they are too far apart.
pub(super) fn near_each_other(mut members: Vec<Member>) -> Vec<Vec<Member>> {
    // Stable: what has the same offset stays in program order.
    members.sort_by_key(|member| member.offset);
    let mut parts = Vec::new();
    let mut rest = members.as_slice();
    while let Some(low) = rest.first().map(|member| member.offset) {
        let near = |member: &&Member| member.offset.wrapping_sub(low) < MAX_SPAN;
        let (part, others) = rest.split_at(rest.iter().take_while(near).count());
        parts.push(part.to_vec());
        rest = others;
    }
    parts
}

/// The member that comes first in the program.
pub(super) fn first_of(members: &[Member]) -> Option<Member> {
    members.iter().min_by_key(|member| member.at).copied()
}

/// The members with offsets from one of them.
pub(super) fn from_first(members: &[Member], first: Member) -> Vec<Member> {
    assert!(!members.is_empty(), "a bundle has members");
    let from = |member: &Member| Member { offset: member.offset.wrapping_sub(first.offset), ..*member };
    members.iter().map(from).collect()
}

/// Everything that cannot be taken apart is a term.
struct Opaque<'a> {
    function: &'a Function,
    /// What the sum assumes. `None`: it may not assume anything.
    assumed: Option<RefCell<Vec<Narrow>>>,
}

impl Opaque<'_> {
    /// Takes the constants out of a value that is extended, also those with which the sum may wrap.
    fn without_constants(&self, cast: CastOp, value: Value) -> (Value, i64) {
        let (mut rest, proven) = constants_taken_out(self.function, cast, value, &|function, value| {
            upper_bound(function, Geometry::Any, value)
        });
        let (Some(assumed), Some(scalar)) = (&self.assumed, self.function.ty(value).scalar()) else {
            // A vector is not extended in an address.
            return (rest, proven);
        };
        let mut constant = 0i64;
        while let Some(&Op::Binary(BinOp::Add, a, b)) = self.function.def(rest)
            && let Some(added) = self.function.as_const(b)
            && let Some(sum) = constant.checked_add(sign_extend(scalar, added))
            && sum.unsigned_abs() <= MAX_SPAN as u64
        {
            (rest, constant) = (a, sum);
        }
        if constant != 0 {
            let (low, high) = (constant.min(0), constant.max(0));
            assumed.borrow_mut().push(Narrow { value: rest, cast, low, high });
        }
        (rest, proven.wrapping_add(constant))
    }
}

impl TermPolicy for Opaque<'_> {
    type Term = Term;

    fn find(&self, value: Value) -> Option<TermClass<Term>> {
        let function = self.function;
        Some(match function.def(value) {
            Some(&Op::Cast(cast @ (CastOp::ZExt | CastOp::SExt), a)) => {
                let (rest, constant) = self.without_constants(cast, a);
                let term = if cast == CastOp::SExt { Term::SExt(rest) } else { Term::ZExt(rest) };
                TermClass::Sum(plus(term, constant))
            }
            // Products of two values and shifts are terms as they are.
            Some(&Op::Binary(BinOp::Mul, _, b)) if function.as_const(b).is_none() => {
                TermClass::Sum(Linear::term(Term::Whole(value)))
            }
            Some(Op::Binary(BinOp::Shl, ..)) => TermClass::Sum(Linear::term(Term::Whole(value))),
            _ => TermClass::Arithmetic,
        })
    }

    fn opaque(&self, value: Value) -> Option<Linear<Term>> {
        Some(Linear::term(Term::Whole(value)))
    }
}

fn plus(term: Term, constant: i64) -> Linear<Term> {
    Linear { constant, ..Linear::term(term) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The offsets of all bundles of the only function.
    fn offsets(body: &str) -> Vec<Vec<i64>> {
        let text = format!("func f0 \"f\" (v0: ptr.device, v1: ptr.device) {{\n{body}\n}}\n");
        let module = anymetal_ir::parse_module(&text).expect("the text is well formed");
        let bundles = Bundles::new(&module.functions[0]);
        bundles.by_first.values().map(|bundle| bundle.members.iter().map(|m| m.offset).collect()).collect()
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
