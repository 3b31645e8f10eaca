//! Accesses through pointers whose allocation differs between lanes: one allocation after the other.

use super::{Address, Item};
use crate::cpu::emit::lane::Lane;
use crate::cpu::emit::{Emitter, Mask};
use crate::llvm::{Bound, IntPredicate, LANES, MASK, Opd, scalar_type};

/// How tagged pointers are taken apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::cpu::emit) enum Decoder {
    /// They point to locals.
    Private,
    /// To memory that lanes share, which is loaded.
    Loads,
    /// To memory that lanes share, which is stored to.
    Stores,
}

impl Emitter<'_, '_> {
    /// Runs `access` once per allocation that active lanes point to, with only those lanes on.
    pub(in crate::cpu::emit) fn waterfall(
        &mut self,
        codes: &Opd,
        decoder: Decoder,
        item: Item,
        mut access: impl FnMut(&mut Self, Address) -> Vec<Lane>,
    ) -> Vec<Lane> {
        let element = scalar_type(item.scalar);
        let ty = element.lanes();
        let results: Vec<Opd> = (0..item.count).map(|_| self.t.alloca(ty, 64)).collect();
        for result in &results {
            self.t.store(&Opd::zero(ty), result, 64);
        }
        let left_slot = self.t.alloca(MASK, 8);
        let outer = self.position.mask.clone();
        self.t.store(&outer.operand(), &left_slot, 8);
        let numbers = self.t.lshr(codes, 48);
        let offsets = self.decode_offset(codes);
        let (head, done) = (self.t.block(), self.t.block());
        self.t.loop_header(head, Bound::Lanes(LANES as u64));
        let left = self.t.load(MASK, &left_slot, 8);
        self.position.mask = Mask::Some(left.clone());
        let lane = self.first_lane();
        let code = self.t.extract(codes, &lane);
        let number = self.t.lshr(&code, 48);
        let same = self.t.splat(&number);
        let same = self.t.icmp(IntPredicate::Eq, &numbers, &same);
        let own = self.both(&Mask::Some(left.clone()), &same);
        let rest = self.without(&Mask::Some(left), &same);
        self.t.store(&rest, &left_slot, 8);
        self.position.mask = Mask::Some(own.clone());
        let (place, _) = match decoder {
            Decoder::Private => self.decode_local(&code),
            Decoder::Loads | Decoder::Stores => self.decode(&code, decoder == Decoder::Stores),
        };
        let address = Address { place, offset: Lane::Varying(offsets), value: None, extra: 0, site: 0 };
        let loaded = access(self, address);
        for (lane, result) in loaded.iter().zip(&results) {
            let new = lane.vector(&mut self.t, element);
            let old = self.t.load(ty, result, 64);
            let merged = self.t.select(&own, &new, &old);
            self.t.store(&merged, result, 64);
        }
        let more = self.any(&Mask::Some(rest));
        self.t.branch_if(&more, head, done);
        self.t.label(done);
        self.position.mask = outer;
        results.iter().map(|result| Lane::Varying(self.t.load(ty, result, 64))).collect()
    }
}
