//! Atomic operations: relaxed, one lane after the other, or one for all lanes where that is the same.

use anymetal_abi::AccessKind;
use anymetal_ir::{AtomicOp, FpMode, Inst, Op, Scalar, SimdOp, Space, Type, Value};

use super::lane::Lane;
use super::memory::{Address, Decoder, Item};
use super::{Emitter, Mask, zero_of};
use crate::llvm::{
    self, Binary, Bound, Builder, FLOAT, I32, I64, IntPredicate, LANES, MASK, Opd, scalar_type, wrap_int,
};

/// One lane's operation.
struct Operation<'a> {
    op: &'a Op,
    scalar: Scalar,
    /// In memory that other processor threads see too. A threadgroup runs on one of them, so its own
    /// memory needs no locked instructions.
    shared: bool,
}

impl Emitter<'_, '_> {
    pub(super) fn atomic(&mut self, inst: Inst) {
        let data = self.plan.facts.function.inst(inst).clone();
        let (pointer, operands): (Value, Vec<Value>) = match &data.op {
            Op::AtomicLoad(pointer) => (*pointer, Vec::new()),
            Op::AtomicStore(pointer, value) | Op::AtomicRmw(_, pointer, value) => (*pointer, vec![*value]),
            Op::AtomicCas(pointer, expected, desired) => (*pointer, vec![*expected, *desired]),
            _ => return,
        };
        let scalar = match (data.result, operands.first()) {
            (Some(result), _) => self.scalar(result),
            (None, Some(&operand)) => self.scalar(operand),
            (None, None) => Scalar::I32,
        };
        let kind = match &data.op {
            Op::AtomicLoad(_) => AccessKind::Load,
            Op::AtomicStore(..) => AccessKind::Store,
            _ => AccessKind::Atomic,
        };
        let site = self.site(inst, pointer, kind, scalar.size());
        let shared = self.plan.facts.function.ty(pointer) != Type::Ptr(Space::Threadgroup);
        let operation = Operation { op: &data.op, scalar, shared };
        let results = if self.is_scattered(pointer) {
            let codes = self.vector(pointer, 0);
            let count = usize::from(data.result.is_some());
            let decoder = if kind == AccessKind::Load { Decoder::Loads } else { Decoder::Stores };
            self.waterfall(&codes, decoder, Item { scalar, count }, |this, address| {
                let address = Address { site, ..address };
                this.atomic_lanes(&operation, &address, &operands)
            })
        } else {
            let address = self.address(pointer, site, kind);
            self.atomic_at(&operation, &address, &operands, data.result, data.fp)
        };
        if let Some(result) = data.result {
            self.define(result, results);
        }
    }

    fn atomic_at(
        &mut self,
        operation: &Operation<'_>,
        address: &Address,
        operands: &[Value],
        result: Option<Value>,
        fp: FpMode,
    ) -> Vec<Lane> {
        let is_used = result.is_some_and(|result| self.plan.regions.is_used(result));
        if !address.offset.is_uniform() {
            return match operation.op {
                Op::AtomicRmw(op, _, operand)
                    if !operation.shared && !is_used && self.position.mask == Mask::All =>
                {
                    self.atomic_all_lanes(operation, *op, address, *operand)
                }
                _ => self.atomic_lanes(operation, address, operands),
            };
        }
        let element = scalar_type(operation.scalar);
        let mut scalars = Vec::new();
        match operation.op {
            Op::AtomicLoad(_) => {}
            Op::AtomicStore(..) => {
                let vector = self.vector(operands[0], 0);
                let last = self.last_lane();
                scalars.push(self.t.extract(&vector, &last));
            }
            Op::AtomicRmw(op, ..) if !is_used => {
                let Some(whole) = self.reduced(*op, operation.scalar, operands[0], fp) else {
                    return self.atomic_lanes(operation, address, operands);
                };
                scalars.push(whole);
            }
            _ => return self.atomic_lanes(operation, address, operands),
        }
        let offset = address.offset.at(&mut self.t, I64, 0);
        let start = self.t.add(&offset, address.extra);
        let bytes = i64::from(operation.scalar.size());
        let ok = self.in_bounds(&address.place, &start, bytes);
        let (fast, slow, join) = (self.t.block(), self.t.block(), self.t.block());
        self.t.branch_likely(&ok, fast, slow);
        self.t.label(slow);
        self.go_on_if_before(address, &start, bytes, fast);
        self.report(address, &start);
        let slow_from = self.t.current();
        self.t.branch(join);
        self.t.label(fast);
        let at = self.t.offset(&address.place.base, &start);
        let value = self.atomic_one(operation, &at, &scalars);
        let from = self.t.current();
        self.t.label(join);
        match value {
            None => Vec::new(),
            Some(value) if ok.is_true() => vec![self.shaped(result, Lane::uniform(value), element)],
            Some(value) => {
                let zero = zero_of(operation.scalar);
                let merged = self.t.phi(&[(&value, from), (&zero, slow_from)]);
                vec![self.shaped(result, Lane::uniform(merged), element)]
            }
        }
    }

    /// The form that the analysis gave the result.
    fn shaped(&mut self, result: Option<Value>, lane: Lane, element: llvm::Type) -> Lane {
        match result {
            Some(result) => {
                let shape = self.shape(result, 0);
                self.rebase(&lane, element, &shape)
            }
            None => lane,
        }
    }

    /// One operand for all lanes, if the operation allows it.
    fn reduced(&mut self, op: AtomicOp, scalar: Scalar, operand: Value, fp: FpMode) -> Option<Opd> {
        let simd = match op {
            AtomicOp::Add | AtomicOp::Sub => SimdOp::Sum,
            AtomicOp::FAdd if fp != FpMode::Safe => SimdOp::Sum,
            AtomicOp::And => SimdOp::And,
            AtomicOp::Or => SimdOp::Or,
            AtomicOp::Xor => SimdOp::Xor,
            AtomicOp::UMin => SimdOp::UMin,
            AtomicOp::UMax => SimdOp::UMax,
            AtomicOp::SMin => SimdOp::SMin,
            AtomicOp::SMax => SimdOp::SMax,
            AtomicOp::Exchange | AtomicOp::FAdd => return None,
        };
        Some(self.reduce_value(simd, scalar, fp, operand))
    }

    /// The operation in one lane; gives the old value, if there is one.
    fn atomic_one(&mut self, operation: &Operation<'_>, at: &Opd, operands: &[Opd]) -> Option<Opd> {
        if !operation.shared {
            return self.unlocked_one(operation, at, operands);
        }
        let Operation { op, scalar, .. } = operation;
        let (ty, align) = (scalar_type(*scalar), scalar.size());
        let t = &mut self.t;
        match op {
            Op::AtomicLoad(_) => Some(t.atomic_load(ty, at, "monotonic", align)),
            Op::AtomicStore(..) => {
                t.atomic_store(&operands[0], at, "monotonic", align);
                None
            }
            Op::AtomicRmw(op, ..) => Some(t.atomicrmw((*op).into(), at, &operands[0], "monotonic")),
            _ => {
                // Floats are compared as bits.
                let mut as_int = |opd: &Opd| match ty {
                    FLOAT => t.bitcast(opd, I32),
                    _ => opd.clone(),
                };
                let (expected, desired) = (as_int(&operands[0]), as_int(&operands[1]));
                let exchanged = t.cmpxchg(at, [&expected, &desired], "monotonic monotonic");
                let old = t.value_before(&exchanged);
                Some(if ty == FLOAT { t.bitcast(&old, FLOAT) } else { old })
            }
        }
    }

    /// The same with plain accesses.
    fn unlocked_one(&mut self, operation: &Operation<'_>, at: &Opd, operands: &[Opd]) -> Option<Opd> {
        let (ty, align) = (scalar_type(operation.scalar), operation.scalar.size());
        let t = &mut self.t;
        if matches!(operation.op, Op::AtomicStore(..)) {
            t.store(&operands[0], at, align);
            return None;
        }
        let old = t.load(ty, at, align);
        let new = match operation.op {
            Op::AtomicRmw(op, ..) => updated(t, *op, &old, &operands[0]),
            Op::AtomicCas(..) => {
                // Floats are compared as bits.
                let mut as_int = |opd: &Opd| match ty {
                    FLOAT => t.bitcast(opd, I32),
                    _ => opd.clone(),
                };
                let (found, expected) = (as_int(&old), as_int(&operands[0]));
                let same = t.icmp(IntPredicate::Eq, &found, &expected);
                t.select(&same, &operands[1], &old)
            }
            _ => return Some(old),
        };
        t.store(&new, at, align);
        Some(old)
    }

    /// A vector in memory, for access lane by lane.
    fn spill(&mut self, vector: &Opd) -> Opd {
        let slot = self.t.alloca(vector.ty(), 64);
        self.t.store(vector, &slot, 64);
        slot
    }

    /// Offsets into threadgroup memory, two in each 64-bit number: scalar code takes them apart. Moving each
    /// one out of a vector register costs more, and where updates wait for such moves AMD's Zen 4 takes 4 ns
    /// for each.
    fn pairs_of_offsets(&mut self, offsets: &Opd) -> Opd {
        let halves = self.t.trunc(offsets, I32.lanes());
        self.t.bitcast(&halves, I64.vector(16))
    }

    /// One of [`Self::pairs_of_offsets`].
    fn offset_of_pair(&mut self, pairs: &Opd, lane: i64) -> Opd {
        let pair = self.t.extract(pairs, (lane / 2) as usize);
        match lane % 2 {
            0 => self.t.and(&pair, i64::from(u32::MAX)),
            _ => self.t.lshr(&pair, 32),
        }
    }

    /// All lanes, in memory that no other processor thread sees, for effect only: checked together, and
    /// written out, because a loop over lanes costs several times the update of a counter in the cache.
    fn atomic_all_lanes(
        &mut self,
        operation: &Operation<'_>,
        op: AtomicOp,
        address: &Address,
        operand: Value,
    ) -> Vec<Lane> {
        let (ty, align) = (scalar_type(operation.scalar), operation.scalar.size());
        let offsets = self.offsets_with_extra(address);
        let (ok, _) = self.lanes_in_bounds(address, &offsets, i64::from(align));
        let (fast, slow, join) = (self.t.block(), self.t.block(), self.t.block());
        self.t.branch_likely(&ok, fast, slow);
        self.t.label(fast);
        let pairs = self.pairs_of_offsets(&offsets);
        let one = match self.kept_lane(operand, 0) {
            Lane::Affine { shape, bases, .. } if shape.is_uniform() && !shape.is_constant => {
                Some(bases[0].clone())
            }
            Lane::Affine { shape, .. } if shape.is_uniform() => Some(Opd::int(ty, wrap_int(ty, shape.at(0)))),
            _ => None,
        };
        let one = one.filter(|_| operation.scalar.is_int());
        let operands = match &one {
            Some(_) => None,
            None => {
                let vector = self.vector(operand, 0);
                Some(self.spill(&vector))
            }
        };
        for lane in 0..LANES as i64 {
            let offset = self.offset_of_pair(&pairs, lane);
            let at = self.t.offset(&address.place.base, &offset);
            let value = match (&one, &operands) {
                (Some(one), _) => one.clone(),
                (None, Some(slots)) => {
                    let slot = self.t.offset(slots, i64::from(align) * lane);
                    self.t.load(ty, &slot, align)
                }
                (None, None) => zero_of(operation.scalar),
            };
            let old = self.t.load(ty, &at, align);
            let new = updated(&mut self.t, op, &old, &value);
            self.t.store(&new, &at, align);
        }
        self.t.branch(join);
        if !ok.is_true() {
            self.t.label(slow);
            self.atomic_lanes(operation, address, &[operand]);
            self.t.branch(join);
        }
        self.t.label(join);
        vec![Lane::Varying(Opd::zero(ty))]
    }

    /// One lane after the other.
    fn atomic_lanes(
        &mut self,
        operation: &Operation<'_>,
        address: &Address,
        operands: &[Value],
    ) -> Vec<Lane> {
        let scalar = operation.scalar;
        let element = scalar_type(scalar);
        let ty = element.lanes();
        let offsets = self.offsets_with_extra(address);
        let offsets = self.spill(&offsets);
        let mut operand_slots = Vec::new();
        for &operand in operands {
            let vector = self.vector(operand, 0);
            operand_slots.push(self.spill(&vector));
        }
        let results = self.spill(&Opd::zero(ty));
        let left_slot = self.t.alloca(I32, 4);
        let mask = self.position.mask.clone();
        let bits = self.mask_bits(&mask);
        self.t.store(&bits, &left_slot, 4);
        let (head, body, next, done) = (self.t.block(), self.t.block(), self.t.block(), self.t.block());
        self.t.loop_header(head, Bound::Lanes(LANES as u64));
        let left = self.t.load(I32, &left_slot, 4);
        let some = self.t.icmp(IntPredicate::Ne, &left, 0);
        self.t.branch_if(&some, body, done);
        self.t.label(body);
        let lane = self.t.count_zeros("cttz", &left, false);
        let less = self.t.sub(&left, 1);
        let rest = self.t.and(&left, &less);
        self.t.store(&rest, &left_slot, 4);
        let item = |this: &mut Self, ty: llvm::Type, slot: &Opd| {
            let at = this.t.address(ty, slot, &lane);
            (this.t.load(ty, &at, 1), at)
        };
        let (start, _) = item(self, I64, &offsets);
        let ok = self.in_bounds(&address.place, &start, i64::from(scalar.size()));
        let (good, bad) = (self.t.block(), self.t.block());
        self.t.branch_likely(&ok, good, bad);
        self.t.label(bad);
        self.go_on_if_before(address, &start, i64::from(scalar.size()), good);
        // The report names the first active lane, which is to be this one.
        let one = self.t.shl(&Opd::int(I32, 1), &lane);
        self.position.mask = Mask::Some(self.t.bitcast(&one, MASK));
        self.report(address, &start);
        self.position.mask = mask;
        self.t.branch(next);
        self.t.label(good);
        let at = self.t.offset(&address.place.base, &start);
        let scalars: Vec<Opd> = operand_slots.iter().map(|slot| item(self, element, slot).0).collect();
        if let Some(old) = self.atomic_one(operation, &at, &scalars) {
            let place = self.t.address(element, &results, &lane);
            self.t.store(&old, &place, 1);
        }
        self.t.label(next);
        self.t.branch(head);
        self.t.label(done);
        if matches!(operation.op, Op::AtomicStore(..)) {
            return Vec::new();
        }
        vec![Lane::Varying(self.t.load(ty, &results, 64))]
    }
}

/// What a read-modify-write leaves in memory.
fn updated(t: &mut Builder, op: AtomicOp, old: &Opd, operand: &Opd) -> Opd {
    let predicate = match op {
        AtomicOp::Exchange => return operand.clone(),
        AtomicOp::UMin => IntPredicate::ULt,
        AtomicOp::UMax => IntPredicate::UGt,
        AtomicOp::SMin => IntPredicate::SLt,
        AtomicOp::SMax => IntPredicate::SGt,
        AtomicOp::Add => return t.binary(Binary::Add, old, operand),
        AtomicOp::Sub => return t.binary(Binary::Sub, old, operand),
        AtomicOp::And => return t.binary(Binary::And, old, operand),
        AtomicOp::Or => return t.binary(Binary::Or, old, operand),
        AtomicOp::Xor => return t.binary(Binary::Xor, old, operand),
        AtomicOp::FAdd => return t.binary(Binary::FAdd, old, operand),
    };
    let keep = t.icmp(predicate, old, operand);
    t.select(&keep, old, operand)
}
