//! Fragments whose elements the program stores one by one.

use anymetal_ir::{Block, CastOp, Inst, Op, Scalar, Space, Type, Value};

use super::Finder;
use super::operands::layout;
use crate::regions::Regions;
use crate::storage::Root;
use anymetal_analysis::divergence::Shape;

/// A fragment whose two elements the program stores by itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ElementStores {
    /// The fragment.
    pub fragment: Value,
    /// The stores of the elements.
    pub stores: [Inst; 2],
    /// Their pointers.
    pub pointers: [Value; 2],
    /// What takes the elements out and rounds them, in order.
    pub parts: Vec<Inst>,
    /// The type of elements in memory.
    pub scalar: Scalar,
    /// Bytes from row to row, and whether rows in memory are columns, where that is known beforehand.
    pub step: Option<(i64, bool)>,
}

/// An element of a fragment on its way to memory.
struct Element {
    fragment: Value,
    number: u8,
    /// What takes it out and rounds it.
    parts: Vec<Inst>,
}

impl Finder<'_> {
    /// Finds stores that can wait until the fragment's second element is stored, too.
    pub(super) fn find_element_stores(&mut self, regions: &Regions) {
        for block in self.blocks.clone() {
            let insts = self.facts.function.block(block);
            for (at, &first) in insts.iter().enumerate() {
                let second = insts[at + 1..].iter().find(|&&inst| !self.is_quiet(inst));
                if let Some(&second) = second
                    && let Some(element_stores) = self.element_stores([first, second], block, regions)
                {
                    let waiting = element_stores.parts.iter().chain(&element_stores.stores[..1]);
                    self.found.put_off.extend(waiting.map(|&inst| (inst, second)));
                    let before = self.found.element_stores.insert(second, element_stores);
                    assert!(before.is_none(), "{second} stores the second element of one fragment");
                }
            }
        }
    }

    /// Whether a store may as well be done after the instruction.
    fn is_quiet(&self, inst: Inst) -> bool {
        let op = &self.facts.function.inst(inst).op;
        let reads = match *op {
            Op::Load { ptr, .. } => self.facts.function.pointer_space(ptr) != Space::Thread,
            Op::Barrier(..) | Op::Matrix(..) | Op::Simd(..) => true,
            _ => false,
        };
        op.blocks().is_empty() && !op.is_terminator() && !reads && !op.may_write_memory()
    }

    fn element_stores(&self, stores: [Inst; 2], block: Block, regions: &Regions) -> Option<ElementStores> {
        let function = self.facts.function;
        let mut pointers = [Value(0); 2];
        let mut values = [Value(0); 2];
        for (n, &store) in stores.iter().enumerate() {
            let Op::Store { ptr, value, volatile: false, .. } = function.inst(store).op else {
                // Some other instruction follows.
                return None;
            };
            let root = self.facts.storage.pointer(ptr).root;
            if !matches!(root, Root::Argument(_) | Root::Threadgroup(_)) {
                return None;
            }
            (pointers[n], values[n]) = (ptr, value);
        }
        let root = |pointer: Value| self.facts.storage.pointer(pointer).root;
        let [first, second] = [self.element(values[0])?, self.element(values[1])?];
        if first.fragment != second.fragment
            || [first.number, second.number] != [0, 1]
            || function.ty(values[0]) != function.ty(values[1])
            || root(pointers[0]) != root(pointers[1])
        {
            return None;
        }
        let parts: Vec<Inst> = first.parts.into_iter().chain(second.parts).collect();
        let is_near =
            |&inst: &Inst| regions.is_same_region(inst, stores[1]) && self.places[inst.index()].0 == block;
        if !parts.iter().chain(&stores).chain(&self.def(first.fragment)).all(is_near) {
            return None;
        }
        let scalar = function.ty(values[0]).scalar()?;
        let step = match self.divergence.values[pointers[0].index()].as_slice() {
            [Shape::Varying] => None,
            [Shape::Affine(shape)] if shape.is_assumed() => None,
            [Shape::Affine(shape)] => {
                let size = i64::from(scalar.size());
                let apart = self.bytes_between(pointers[0], pointers[1]);
                let known = layout(shape, apart.unwrap_or(size), size)?;
                apart.map(|_| known)
            }
            _ => return None,
        };
        Some(ElementStores { fragment: first.fragment, stores, pointers, parts, scalar, step })
    }

    /// The element that a stored number is, perhaps rounded, if nothing else takes it.
    fn element(&self, value: Value) -> Option<Element> {
        let function = self.facts.function;
        let is_own = |value: Value| self.uses[value.index()].len() == 1 && !self.saved.contains(&value);
        let is_fit = |scalar: Scalar| matches!(scalar, Scalar::F32 | Scalar::F16 | Scalar::Bf16);
        let mut parts = vec![self.def(value)?];
        let mut element = value;
        if let Some(&Op::Cast(CastOp::FCast, wide)) = function.def(value)
            && is_own(value)
        {
            if function.ty(wide) != Type::Scalar(Scalar::F32) || !is_fit(function.ty(value).scalar()?) {
                return None;
            }
            parts.insert(0, self.def(wide)?);
            element = wide;
        }
        let &Op::Extract(fragment, number) = function.def(element)? else {
            // Not an element of a vector.
            return None;
        };
        match function.ty(fragment) {
            Type::Vector(scalar, 2) if is_fit(scalar) && is_own(element) => {
                Some(Element { fragment, number, parts })
            }
            _ => None,
        }
    }
}
