//! Bundles: loads of one thread at constant distances from each other.
//!
//! Threads that each read a few neighbouring elements (the bytes of a quantised block, the components of a
//! point) would need one gather per element. A bundle groups such loads of a block, so that address, bounds
//! check and memory access are shared.
//!
//! Indices are often computed in 32 bits, `in[i * n + k + 1]` with an `int` or `uint`, where a sum may wrap
//! before it is extended. Such loads are members if no sum wraps, which code tests at run time
//! ([`NarrowIndex`]).
//!
//! Invariant: between the first load of a bundle and any other no instruction changes the memory they read
//! and no thread stops, so all may be hoisted to the first.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;

use crate::access::{Item, few_runs};
use crate::limits::{MAX_CHUNK_BYTES, MAX_SPAN};
use anymetal_analysis::divergence::{Affine, Assumption, Divergence, Geometry};
use anymetal_analysis::ranges::upper_bound;
use anymetal_analysis::{Linear, Memory, TermClass, TermPolicy, constants_taken_out, may_change};
use anymetal_ir::eval::{mask, sign_extend};
use anymetal_ir::{BinOp, Block, CastOp, Function, Inst, Op, Scalar, Space, Type, Value};

/// A load of a bundle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Member {
    /// The load.
    pub inst: Inst,
    /// Where it stands in its run.
    pub at: usize,
    /// Bytes from what the bundle's first load reads.
    pub offset: i64,
}

/// An index in a narrow type that addresses extend after adding constants, with which it may wrap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NarrowIndex {
    /// The index.
    pub value: Value,
    /// How it is extended.
    pub cast: CastOp,
    /// Bytes per index.
    pub scale: i64,
}

/// The loads of one thread at constant distances.
#[derive(Clone, Debug)]
pub struct Bundle {
    /// All, the lowest offset first.
    pub members: Vec<Member>,
    /// The offsets hold if the index plus the members' constants wrap in all members or in none.
    pub narrow: Option<NarrowIndex>,
    /// The members' constants, unless zero.
    constants: BTreeMap<Inst, i64>,
}

impl Bundle {
    /// What a load adds to the narrow index.
    pub fn constant(&self, inst: Inst) -> i64 {
        self.constants.get(&inst).copied().unwrap_or(0)
    }
}

/// The bundles of a function.
#[derive(Debug, Default)]
pub struct Bundles {
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
    pub fn new(function: &Function) -> Self {
        let mut found = Self::default();
        for memory in [Memory::Threadgroup, Memory::Elsewhere] {
            found.find_in(function, memory);
        }
        found
    }

    fn find_in(&mut self, function: &Function, memory: Memory) {
        for_each_run(function, function.body, memory, &mut |run| {
            let mut groups: BTreeMap<Vec<(Term, i64)>, Vec<Member>> = BTreeMap::new();
            let mut assumed: BTreeMap<Inst, (NarrowIndex, i64)> = BTreeMap::new();
            let own = loads(function, run).filter(|&(.., pointer)| memory.has(function, pointer));
            for (at, inst, pointer) in own {
                let Some((address, assumption)) = address(function, pointer) else {
                    // Its distance from other loads is not known.
                    continue;
                };
                assumed.extend(assumption.map(|assumption| (inst, assumption)));
                let member = Member { inst, at, offset: address.constant };
                groups.entry(address.terms.into_iter().collect()).or_default().push(member);
            }
            for members in groups.into_values().flat_map(near_each_other) {
                self.keep(members, &assumed);
            }
        });
    }

    /// `assumed`: the narrow indices of loads that have one, and what they add. A bundle has one at most.
    fn keep(&mut self, mut members: Vec<Member>, assumed: &BTreeMap<Inst, (NarrowIndex, i64)>) {
        debug_assert!(members.is_sorted_by_key(|member| member.offset), "the lowest member is the first");
        let (mut narrow, mut constants) = (None, BTreeMap::new());
        members.retain(|member| match assumed.get(&member.inst) {
            Some(&(index, constant)) if *narrow.get_or_insert(index) == index => {
                constants.insert(member.inst, constant);
                true
            }
            other => other.is_none(),
        });
        if let ([_, _, ..], Some(first)) = (members.as_slice(), first_of(&members)) {
            let bundle = Bundle { members: from_first(&members, first), narrow, constants };
            self.by_first.insert(first.inst, bundle);
        }
    }
}

/// The address as a sum. It assumes that the index does not wrap when the constant is added.
fn address(function: &Function, pointer: Value) -> Option<(Linear<Term>, Option<(NarrowIndex, i64)>)> {
    let assuming = Opaque { function, indices: Some(RefCell::default()) };
    let sum = Linear::of(function, pointer, &assuming)?;
    let mut indices = assuming.indices.expect("it was given").into_inner();
    indices.sort_unstable_by_key(|&(_, constant)| constant == 0);
    match indices.as_slice() {
        [] | [(_, 0), ..] => return Some((sum, None)),
        [(term, constant), rest @ ..]
            if rest.iter().all(|(other, c)| other != term && *c == 0)
                && let Some(&scale) = sum.terms.get(term) =>
        {
            let (value, cast) = match *term {
                Term::ZExt(value) => (value, CastOp::ZExt),
                Term::SExt(value) => (value, CastOp::SExt),
                Term::Whole(_) => unreachable!("what is not extended has no constants"),
            };
            return Some((sum, Some((NarrowIndex { value, cast, scale }, *constant))));
        }
        // More than one sum may wrap, or a factor of a product.
        _ => {}
    }
    Some((Linear::of(function, pointer, &Opaque { function, indices: None })?, None))
}

/// A load that is done together with others.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// The load.
    pub inst: Inst,
    /// Its pointer.
    pub pointer: Value,
    /// Its result.
    pub result: Value,
    /// What each lane loads.
    pub item: Item,
    /// Bytes from the first load of the group in program order.
    pub offset: i64,
    /// What it adds to the narrow index of its bundle.
    pub constant: i64,
}

impl Part {
    /// A member of a bundle or stencil row.
    pub(crate) fn of(function: &Function, member: &Member) -> Self {
        let &Member { inst, offset, .. } = member;
        let data = function.inst(inst);
        let (&Op::Load { ptr: pointer, .. }, Some(result)) = (&data.op, data.result) else {
            unreachable!("loads are grouped, and {inst} is not a load")
        };
        Self { inst, pointer, result, item: Item::of(function.ty(result)), offset, constant: 0 }
    }
}

/// Contiguous loads of a bundle, of one type.
#[derive(Clone, Debug)]
pub struct Chunk {
    /// The loads, the lowest first.
    pub parts: Vec<Part>,
    /// All elements of one thread.
    pub item: Item,
}

impl Chunk {
    /// Bytes from the bundle's first load.
    pub fn start(&self) -> i64 {
        self.parts[0].offset
    }

    /// Where the last element ends.
    pub fn end(&self) -> i64 {
        self.start() + self.item.bytes()
    }

    fn takes(&self, part: &Part) -> bool {
        self.item.scalar == part.item.scalar
            && self.end() == part.offset
            && self.item.bytes() + part.item.bytes() <= MAX_CHUNK_BYTES
    }
}

/// What of a bundle is loaded together.
#[derive(Clone, Debug)]
pub struct LoadBundle {
    /// Its loads, at least two in each chunk.
    pub chunks: Vec<Chunk>,
    /// The lanes' offsets, if they are loaded by their pattern.
    pub lanes: Option<Affine>,
    /// The index that is not to wrap in some loads only, and what the first load adds to it.
    pub narrow: Option<(NarrowIndex, i64)>,
}

impl LoadBundle {
    /// The bytes that a lane loads, from the address of the first load.
    pub fn range(&self) -> Range<i64> {
        let last = self.chunks.len() - 1;
        self.chunks[0].start()..self.chunks[last].end()
    }

    /// The loads.
    pub fn loads(&self) -> impl Iterator<Item = Inst> {
        self.chunks.iter().flat_map(|chunk| &chunk.parts).map(|part| part.inst)
    }
}

impl Bundles {
    /// What is worth loading together of each bundle, by its first load: at least two contiguous loads whose
    /// lanes are no runs. `is_apart` says that a load is not done with the first, and `is_known_at` that a
    /// value is computed where the load is.
    pub(crate) fn load_bundles(
        &self,
        function: &Function,
        divergence: &Divergence,
        is_apart: &dyn Fn(Inst, &Part) -> bool,
        is_known_at: &dyn Fn(Value, Inst) -> bool,
    ) -> BTreeMap<Inst, LoadBundle> {
        let load_bundle = |first: Inst, bundle: &Bundle| {
            let narrow = bundle.narrow.map(|narrow| (narrow, bundle.constant(first)));
            if narrow.is_some_and(|(narrow, _)| !is_known_at(narrow.value, first)) {
                // Another region computed the address, and left the index in its registers.
                return None;
            }
            let &Op::Load { ptr, .. } = &function.inst(first).op else {
                unreachable!("loads are bundled, and {first} is not a load")
            };
            let lanes = divergence.shape(ptr).affine();
            if lanes.is_some_and(Affine::is_uniform) {
                // Of one place each lane loads all, as a scalar.
                return None;
            }
            // Where the lanes' distance is known at run time only, it is seldom that of one row or column. A
            // test of the lanes themselves serves all loads.
            let lanes = lanes.filter(|lanes| lanes.assumption != Some(Assumption::UnitFactor));
            let mut chunks: Vec<Chunk> = Vec::new();
            for member in &bundle.members {
                let part = Part { constant: bundle.constant(member.inst), ..Part::of(function, member) };
                let is_plain = lanes.is_some_and(|lanes| few_runs(lanes, part.item).is_some());
                if is_plain || is_apart(first, &part) {
                    continue;
                }
                match chunks.last_mut().filter(|chunk| chunk.takes(&part)) {
                    Some(chunk) => {
                        chunk.item.count += part.item.count;
                        chunk.parts.push(part);
                    }
                    None => chunks.push(Chunk { item: part.item, parts: vec![part] }),
                }
            }
            chunks.retain(|chunk| chunk.parts.len() > 1);
            (!chunks.is_empty()).then(|| LoadBundle { chunks, lanes: lanes.cloned(), narrow })
        };
        let all = self.by_first.iter();
        all.filter_map(|(&first, bundle)| Some((first, load_bundle(first, bundle)?))).collect()
    }
}

/// Calls `each` for the stretches of a block, and of those nested in it, in which the memory does not change.
pub fn for_each_run(function: &Function, block: Block, memory: Memory, each: &mut impl FnMut(&[Inst])) {
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
pub fn loads<'a>(
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
pub fn near_each_other(mut members: Vec<Member>) -> Vec<Vec<Member>> {
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
pub fn first_of(members: &[Member]) -> Option<Member> {
    members.iter().min_by_key(|member| member.at).copied()
}

/// The members with offsets from one of them.
pub fn from_first(members: &[Member], first: Member) -> Vec<Member> {
    assert!(!members.is_empty(), "a bundle has members");
    let from = |member: &Member| Member { offset: member.offset.wrapping_sub(first.offset), ..*member };
    members.iter().map(from).collect()
}

/// Everything that cannot be taken apart is a term.
struct Opaque<'a> {
    function: &'a Function,
    /// The narrow terms that were met, and the constants with which they may wrap. `None`: none may wrap.
    indices: Option<RefCell<Vec<(Term, i64)>>>,
}

impl Opaque<'_> {
    /// A value that is extended, as a term and a constant.
    fn extended(&self, cast: CastOp, value: Value) -> (Term, i64) {
        let (mut rest, proven) = constants_taken_out(self.function, cast, value, &|function, value| {
            upper_bound(function, Geometry::Any, value)
        });
        let term = |rest| if cast == CastOp::SExt { Term::SExt(rest) } else { Term::ZExt(rest) };
        let (Some(indices), Some(scalar)) = (&self.indices, self.function.ty(value).scalar()) else {
            // No sum may wrap.
            return (term(rest), proven);
        };
        // Up to a quarter of the type, so that the distance of two constants is a number of the type.
        let mut constant = 0i64;
        while let Some(&Op::Binary(BinOp::Add, a, b)) = self.function.def(rest)
            && let Some(added) = self.function.as_const(b)
            && let Some(sum) = constant.checked_add(sign_extend(scalar, added))
            && sum.unsigned_abs() <= (mask(scalar) / 4).min(MAX_SPAN as u64)
        {
            (rest, constant) = (a, sum);
        }
        indices.borrow_mut().push((term(rest), constant));
        (term(rest), proven.wrapping_add(constant))
    }
}

impl TermPolicy for Opaque<'_> {
    type Term = Term;

    fn find(&self, value: Value) -> Option<TermClass<Term>> {
        let function = self.function;
        Some(match function.def(value) {
            Some(&Op::Cast(cast @ (CastOp::ZExt | CastOp::SExt), a)) => {
                let (term, constant) = self.extended(cast, a);
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
    fn sums_that_may_wrap_are_of_one_index() {
        let sums = "
  v2 = load v1, align 4 : i32
  v3 = const 1 : i32
  v4 = add v2, v3 : i32
  v5 = zext v2 : i64
  v6 = zext v4 : i64
  v7 = ptr_add v0 + v5 * 4 : ptr.device
  v8 = ptr_add v0 + v6 * 4 : ptr.device
  v9 = load v7, align 4 : f32
  v10 = load v8, align 4 : f32";
        assert_eq!(offsets(sums), [[0, 4]]);
        // Both an index of rows and one of columns may wrap.
        let both = "
  v11 = ptr_add v7 + v5 * 32 : ptr.device
  v12 = ptr_add v8 + v6 * 32 : ptr.device
  v13 = load v11, align 4 : f32
  v14 = load v12, align 4 : f32";
        assert_eq!(offsets(&format!("{sums}{both}")), [[0, 4]]);
    }

    #[test]
    fn stores_that_others_see_part_bundles() {
        let store = "  store v1, v5, align 4\n  v12 = load v11, align 4 : f32";
        assert_eq!(offsets(&format!("{THREE}\n{store}")), [[-4, 0]]);
    }
}
