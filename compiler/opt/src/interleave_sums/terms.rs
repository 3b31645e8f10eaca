//! What a loop adds to its sums, as terms that are alike but for the places of their loads.

use std::collections::BTreeMap;

use super::form::{Forms, Rows};
use crate::fold::element;
use crate::limits::{MAX_INTERLEAVED_TERMS, MAX_TERM_DEPTH};
use anymetal_analysis::CountedLoops;
use anymetal_analysis::divergence::LANES;
use anymetal_ir::{BinOp, FpMode, Function, Inst, MathFn, Op, Scalar, Space, Type, Value};

/// A scalar expression of one lane.
#[derive(Clone, Debug)]
pub(super) enum Expr {
    /// A constant.
    Const(u64, Type),
    /// A component of a uniform value of before the loop.
    Uniform(Value, u8),
    /// An operation whose operands are replaced.
    Apply { op: Op, ty: Type, fp: FpMode, operands: Vec<Self> },
    /// An element of memory.
    Load(Box<Load>),
}

/// A load of one element.
#[derive(Clone, Debug)]
pub(super) struct Load {
    /// The instruction, which may load a vector.
    pub inst: Inst,
    pub scalar: Scalar,
    /// The uniform part of the address.
    terms: BTreeMap<Value, i64>,
    /// Bytes from it, per lane.
    pub lanes: [i64; LANES],
    /// Where the instruction loads in lane 0, which may be before the element.
    pub base: i64,
    pub align: u32,
    /// Bytes from an element's place to that of the next one, in the same lane.
    pub stride: i64,
}

/// A sum: terms, and sums that are multiplied.
#[derive(Clone, Debug, Default)]
pub(super) struct Sum {
    /// The terms; once they are [`Sum::grouped`] the first of each group, which stands for all of it.
    pub terms: Vec<Expr>,
    pub products: Vec<(Expr, Self)>,
}

impl Expr {
    fn loads(&self) -> Vec<&Load> {
        match self {
            Self::Load(load) => vec![load],
            Self::Apply { operands, .. } => operands.iter().flat_map(Self::loads).collect(),
            Self::Const(..) | Self::Uniform(..) => Vec::new(),
        }
    }

    fn loads_mut(&mut self) -> Vec<&mut Load> {
        match self {
            Self::Load(load) => vec![load],
            Self::Apply { operands, .. } => operands.iter_mut().flat_map(Self::loads_mut).collect(),
            Self::Const(..) | Self::Uniform(..) => Vec::new(),
        }
    }

    /// The same for expressions that differ in the loads' places in memory only.
    fn kind(&self) -> String {
        match self {
            Self::Const(bits, ty) => format!("{bits}:{ty:?}"),
            Self::Uniform(value, component) => format!("{value}.{component}"),
            Self::Apply { op, ty, fp, operands } => {
                let mut op = op.clone();
                op.for_each_operand_mut(|value| *value = Value(0));
                let operands: Vec<String> = operands.iter().map(Self::kind).collect();
                format!("{op:?}:{ty:?}:{fp:?}({})", operands.join(","))
            }
            Self::Load(load) => {
                let lanes = load.lanes.map(|lane| lane.wrapping_sub(load.lanes[0]));
                format!("load {:?} {} {:?} {lanes:?}", load.scalar, load.align, load.terms)
            }
        }
    }
}

/// Reads the terms of a loop.
pub(super) struct Reader<'a> {
    pub forms: &'a Forms<'a>,
    pub loops: &'a CountedLoops<'a>,
    pub inst: Inst,
}

impl Reader<'_> {
    fn function(&self) -> &Function {
        self.forms.function
    }

    /// What is added to the parameter to get the value, if that is all that happens.
    pub(super) fn added(&self, param: Value, next: Value) -> Option<Sum> {
        let mut sum = Sum::default();
        let mut value = next;
        while value != param {
            let &Op::Binary(BinOp::FAdd, a, b) = self.inexact(value)? else {
                // Something else is done with the sum.
                return None;
            };
            let (before, added) = if self.leads_to(b, param) { (b, a) } else { (a, b) };
            self.add(added, 0, 0, &mut sum)?;
            value = before;
        }
        Some(sum)
    }

    /// Whether additions alone lead from the parameter to the value.
    fn leads_to(&self, value: Value, param: Value) -> bool {
        let mut value = value;
        for _ in 0..MAX_TERM_DEPTH {
            match self.inexact(value) {
                _ if value == param => return true,
                Some(&Op::Binary(BinOp::FAdd, a, _)) => value = a,
                _ => return false,
            }
        }
        false
    }

    fn add(&self, value: Value, component: u8, depth: u32, sum: &mut Sum) -> Option<()> {
        if depth == MAX_TERM_DEPTH || sum.terms.len() >= MAX_INTERLEAVED_TERMS {
            return None;
        }
        let (value, component) = element(self.function(), (value, component));
        let inexact = self.inexact(value);
        match inexact {
            _ if self.is_zero(value) => {}
            Some(&Op::Binary(BinOp::FAdd, a, b)) => {
                self.add(a, component, depth + 1, sum)?;
                self.add(b, component, depth + 1, sum)?;
            }
            Some(&Op::Binary(BinOp::FMul, a, b)) if self.is_sum(a, component) => {
                self.add_product((a, b), component, depth, sum)?;
            }
            Some(&Op::Binary(BinOp::FMul, a, b)) if self.is_sum(b, component) => {
                self.add_product((b, a), component, depth, sum)?;
            }
            Some(Op::Math(MathFn::Fma, operands)) => {
                let product = Op::Binary(BinOp::FMul, operands[0], operands[1]);
                sum.terms.push(self.apply(value, &product, component, depth)?);
                self.add(operands[2], component, depth + 1, sum)?;
            }
            _ => sum.terms.push(self.expr(value, component, depth + 1)?),
        }
        Some(())
    }

    fn add_product(&self, (of, by): (Value, Value), component: u8, depth: u32, sum: &mut Sum) -> Option<()> {
        let mut inner = Sum::default();
        self.add(of, component, depth + 1, &mut inner)?;
        sum.products.push((self.expr(by, component, depth + 1)?, inner));
        Some(())
    }

    /// The operation of an instruction of the loop that may be reassociated.
    fn inexact(&self, value: Value) -> Option<&Op> {
        let data = self.function().inst(self.function().defining_inst(value)?);
        (data.fp != FpMode::Safe && self.loops.is_inside(value, self.inst)).then_some(&data.op)
    }

    fn is_sum(&self, value: Value, component: u8) -> bool {
        let (value, _) = element(self.function(), (value, component));
        matches!(self.inexact(value), Some(Op::Binary(BinOp::FAdd, ..)))
    }

    fn is_zero(&self, value: Value) -> bool {
        self.function().as_const(value) == Some(0)
    }

    fn expr(&self, value: Value, component: u8, depth: u32) -> Option<Expr> {
        let (value, component) = element(self.function(), (value, component));
        let function = self.function();
        if depth == MAX_TERM_DEPTH {
            return None;
        }
        if let (Some(bits), ty @ Type::Scalar(_)) = (function.as_const(value), function.ty(value)) {
            return Some(Expr::Const(bits, ty));
        }
        if !self.loops.is_inside(value, self.inst) {
            let is_uniform = self.forms.divergence.is_uniform(value);
            return is_uniform.then_some(Expr::Uniform(value, component));
        }
        match function.def(value)? {
            Op::Load { .. } => self.load(value, component),
            op @ (Op::Unary(..) | Op::Binary(..) | Op::Cast(..) | Op::Math(..) | Op::Compare(..)) => {
                self.apply(value, op, component, depth)
            }
            _ => None,
        }
    }

    /// An operation on elements, with the type and mode of the value.
    fn apply(&self, value: Value, op: &Op, component: u8, depth: u32) -> Option<Expr> {
        let function = self.function();
        let inst = function.defining_inst(value)?;
        let mut operands = Vec::new();
        op.for_each_operand(|operand| operands.push(self.expr(operand, component, depth + 1)));
        Some(Expr::Apply {
            op: op.clone(),
            ty: Type::Scalar(function.ty(value).scalar()?),
            fp: function.inst(inst).fp,
            operands: operands.into_iter().collect::<Option<_>>()?,
        })
    }

    fn load(&self, value: Value, component: u8) -> Option<Expr> {
        let function = self.function();
        let inst = function.defining_inst(value)?;
        let &Op::Load { ptr, align, volatile: false } = &function.inst(inst).op else {
            // A volatile load stays what it is.
            return None;
        };
        let scalar = function.ty(value).scalar().filter(|&scalar| scalar != Scalar::Bool)?;
        if function.pointer_space(ptr) == Space::Thread {
            return None;
        }
        let form = self.forms.of(ptr)?;
        let offset = i64::from(component) * i64::from(scalar.size());
        let lanes = form.lanes.map(|lane| lane.wrapping_add(offset));
        let (base, align) = (form.lanes[0], align.min(scalar.size()));
        let load = Load { inst, scalar, terms: form.terms, lanes, base, align, stride: 0 };
        Some(Expr::Load(Box::new(load)))
    }
}

/// The place of a load in lane 0.
type Place = (BTreeMap<Value, i64>, i64);

impl Load {
    /// Where the lanes load in turn `turn`, when element `n` of all is loaded by lane `n % LANES` in turn
    /// `n / LANES`, and each lane has `count` elements.
    fn turn(&self, turn: usize, count: usize) -> [i64; LANES] {
        std::array::from_fn(|lane| {
            let element = turn * LANES + lane;
            let own = self.lanes[element / count].wrapping_sub(self.base);
            own.wrapping_add(self.stride.wrapping_mul((element % count) as i64))
        })
    }

    /// Where the lanes load in the first turn, and the bytes to the same in the next one, if all turns are
    /// alike.
    pub(super) fn turns(&self, count: usize) -> Option<(Rows, u32)> {
        let first = self.turn(0, count);
        let advance = self.turn(1, count)[0].wrapping_sub(first[0]);
        let is_alike = |turn: usize| {
            let distance = advance.wrapping_mul(turn as i64);
            self.turn(turn, count) == first.map(|lane| lane.wrapping_add(distance))
        };
        let rows = Rows::of(&first).filter(|_| (0..count).all(is_alike))?;
        Some((rows, u32::try_from(advance).ok()?))
    }

    fn place(&self) -> Place {
        (self.terms.clone(), self.lanes[0])
    }
}

impl Sum {
    fn by_kind(&self) -> BTreeMap<String, Vec<&Expr>> {
        let mut kinds: BTreeMap<String, Vec<&Expr>> = BTreeMap::new();
        for term in &self.terms {
            kinds.entry(term.kind()).or_default().push(term);
        }
        for terms in kinds.values_mut() {
            terms.sort_by_key(|term| term.loads().iter().map(|load| load.lanes[0]).collect::<Vec<_>>());
        }
        kinds
    }

    /// The numbers of terms that are alike.
    pub(super) fn counts(&self, counts: &mut Vec<usize>) {
        counts.extend(self.by_kind().values().map(Vec::len));
        self.products.iter().for_each(|(_, sum)| sum.counts(counts));
    }

    /// Notes for each load of groups of `count` terms at which place the group's first term loads.
    pub(super) fn note_groups(&self, count: usize, firsts: &mut BTreeMap<Place, i64>) {
        for terms in self.by_kind().values().filter(|terms| terms.len() == count) {
            for term in terms {
                for (load, first) in term.loads().iter().zip(terms[0].loads()) {
                    firsts.entry(load.place()).or_insert(first.lanes[0]);
                }
            }
        }
        self.products.iter().for_each(|(_, sum)| sum.note_groups(count, firsts));
    }

    /// The sum with one term for each group of `count` terms whose loads are at equal distances.
    pub(super) fn grouped(&self, count: usize, firsts: &BTreeMap<Place, i64>) -> Option<Self> {
        let mut grouped = Self::default();
        for terms in self.by_kind().into_values() {
            let mut groups: BTreeMap<Option<i64>, Vec<&Expr>> = BTreeMap::new();
            for term in terms {
                let load = term.loads().first().copied()?;
                groups.entry(firsts.get(&load.place()).copied()).or_default().push(term);
            }
            for terms in groups.values() {
                for terms in terms.chunks(count) {
                    grouped.terms.push(group(terms, count)?);
                }
            }
        }
        for (factor, sum) in &self.products {
            grouped.products.push((factor.clone(), sum.grouped(count, firsts)?));
        }
        Some(grouped)
    }

    /// All loads.
    pub(super) fn loads(&self) -> Vec<&Load> {
        let own = self.terms.iter().flat_map(Expr::loads);
        let nested = self.products.iter().flat_map(|(factor, sum)| [factor.loads(), sum.loads()].concat());
        own.chain(nested).collect()
    }
}

/// The first of `count` terms whose loads are at equal distances.
fn group(terms: &[&Expr], count: usize) -> Option<Expr> {
    let (first, second) = (*terms.first()?, *terms.get(1)?);
    let place = |term: &Expr, at: usize| term.loads()[at].lanes[0];
    let mut found = first.clone();
    for (at, load) in found.loads_mut().into_iter().enumerate() {
        load.stride = place(second, at).wrapping_sub(place(first, at));
        let is_there = |(n, term): (usize, &&Expr)| {
            place(term, at) == place(first, at).wrapping_add(load.stride.wrapping_mul(n as i64))
        };
        if terms.len() != count || !terms.iter().enumerate().all(is_there) {
            return None;
        }
    }
    Some(found)
}
