//! Values equal to another value shifted by k lanes.
//!
//! Each member of a stencil row is the lowest one, shifted. The same holds for what equal operations
//! compute from them: the sum of a column two to the right is, in each lane, the sum of this column two
//! lanes further. Such values form a family. Its operations are done once, on all elements that a member
//! needs, and members are extracted from the result.
//!
//! Invariant: in each lane a member is the family's operation on the operands' elements, shifted by its
//! shift. A family's operands are kept families, stencil rows, or uniform.

use std::collections::{BTreeMap, BTreeSet};

use anymetal_analysis::walk_insts;
use anymetal_ir::{BinOp, FpMode, Function, Inst, Op, Scalar, Type, Value};
use rustc_hash::FxHashMap;

use super::shape::flow::Flow;

/// Where a value is in its family.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    /// The family's name: one of its values.
    pub(super) family: Value,
    /// Elements from the family's first.
    pub(super) shift: usize,
}

/// The families of some code, stencil rows among them.
#[derive(Clone, Debug, Default)]
pub(super) struct Shifted {
    places: BTreeMap<Value, Place>,
    /// Members that something else has a use for.
    wanted: BTreeSet<Value>,
}

/// The search for families.
struct Search<'a> {
    function: &'a Function,
    flow: &'a Flow,
    places: BTreeMap<Value, Place>,
    /// By operation, on families instead of their members. Never iterated.
    known: FxHashMap<(Op, FpMode), usize>,
    families: Vec<Vec<(Value, Place)>>,
}

impl Shifted {
    /// The families that begin with some stencil rows' members, in a row of instructions.
    pub(super) fn new(
        function: &Function,
        flow: &Flow,
        insts: &[Inst],
        stencil_rows: BTreeMap<Value, Place>,
    ) -> Self {
        let known = FxHashMap::default();
        let mut search = Search { function, flow, places: stencil_rows, known, families: Vec::new() };
        insts.iter().for_each(|&inst| search.find(inst));
        search.kept()
    }

    /// Where a value is in a family.
    pub(super) fn place(&self, value: Value) -> Option<Place> {
        self.places.get(&value).copied()
    }

    /// Whether a member is used for anything but members of other families.
    pub(super) fn is_wanted(&self, member: Value) -> bool {
        self.wanted.contains(&member)
    }
}

impl Search<'_> {
    /// Adds what an instruction computes from members that are as far along as each other.
    fn find(&mut self, inst: Inst) {
        let data = self.function.inst(inst);
        let Some(result) = data.result else { return };
        let is_elementwise = matches!(data.op, Op::Unary(..) | Op::Binary(..) | Op::Math(..));
        let has_type = |value| self.function.ty(value) == Type::Scalar(Scalar::F32);
        if !is_elementwise || !has_type(result) {
            return;
        }
        let (mut op, mut shift, mut fits) = (data.op.clone(), None, true);
        op.for_each_operand_mut(|operand| {
            fits &= has_type(*operand);
            match self.places.get(operand) {
                Some(place) => {
                    fits &= *shift.get_or_insert(place.shift) == place.shift;
                    *operand = place.family;
                }
                None => fits &= self.is_uniform(*operand),
            }
        });
        let Some(shift) = shift.filter(|_| fits) else { return };
        let number = *self.known.entry((op, data.fp)).or_insert(self.families.len());
        if number == self.families.len() {
            self.families.push(Vec::new());
        }
        let members = &mut self.families[number];
        let family = members.first().map_or(result, |(_, place)| place.family);
        members.push((result, Place { family, shift }));
        self.places.insert(result, Place { family, shift });
    }

    fn is_uniform(&self, value: Value) -> bool {
        match self.flow.values[value.index()].as_slice() {
            [shape] => shape.is_uniform(),
            _ => false,
        }
    }

    /// Leaves out families of one member, and products that only sums of others have a use for: there they
    /// cost nothing.
    fn kept(self) -> Shifted {
        let Self { function, mut places, families, .. } = self;
        let mut users: BTreeMap<Value, Vec<Inst>> = BTreeMap::new();
        walk_insts(function, function.body, &mut |inst| {
            function.inst(inst).op.for_each_operand(|operand| {
                if places.contains_key(&operand) {
                    users.entry(operand).or_default().push(inst);
                }
            });
        });
        let is_member = |places: &BTreeMap<_, _>, inst: Inst| {
            function.inst(inst).result.is_some_and(|result| places.contains_key(&result))
        };
        // What a family is made of comes before it.
        for family in families.iter().rev() {
            let shifts: BTreeSet<_> = family.iter().map(|(_, place)| place.shift).collect();
            let mut users = family.iter().flat_map(|(value, _)| users.get(value)).flatten();
            let contracts = is_product(function, family)
                && users.all(|&user| is_addition(function, user) && !is_member(&places, user));
            if shifts.len() < 2 || contracts {
                for (value, _) in family {
                    places.remove(value);
                }
            }
        }
        let wanted = users
            .into_iter()
            .filter(|(_, users)| users.iter().any(|&user| !is_member(&places, user)))
            .map(|(value, _)| value)
            .collect();
        Shifted { places, wanted }
    }
}

fn is_product(function: &Function, family: &[(Value, Place)]) -> bool {
    let product = |&(value, _)| matches!(function.def(value), Some(Op::Binary(BinOp::FMul, ..)));
    family.iter().all(product)
}

fn is_addition(function: &Function, inst: Inst) -> bool {
    matches!(function.inst(inst).op, Op::Binary(BinOp::FAdd | BinOp::FSub, ..))
}
