//! Where the host binds arguments: the attributes `buffer`, `texture`, `sampler` and `threadgroup`, and
//! `function_constant` (MSL 5.2.1, 5.8.1.2, 5.8.1.4).
//!
//! Invariant: no two arguments of a kind share an index, unless function constants specify whether one
//! exists or what its index is.

use crate::ast;
use crate::hir::{Binding, CastKind, Expr, ExprKind, KernelParam, Ty};
use crate::sema::checker::Checker;
use crate::sema::diagnostics::Diagnostics;
use crate::sema::stage::Attributed;
use crate::sema::{convert, evaluate, expr, walk};
use anymetal_abi::textures::{MAX_SAMPLERS, MAX_TEXTURES};
use anymetal_diagnostics::Span;

/// Which indices: those of each kind of argument are its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::sema) enum Table {
    Buffer,
    Threadgroup,
    Texture,
    Sampler,
}

impl Table {
    pub(super) const ALL: [Table; 4] = [Table::Buffer, Table::Threadgroup, Table::Texture, Table::Sampler];

    /// The largest index.
    fn last(self) -> u32 {
        match self {
            Table::Buffer | Table::Threadgroup => 30,
            Table::Texture => MAX_TEXTURES - 1,
            Table::Sampler => MAX_SAMPLERS - 1,
        }
    }

    /// The attribute that gives an index.
    pub(super) fn attribute(self) -> &'static str {
        match self {
            Table::Buffer => "buffer",
            Table::Threadgroup => "threadgroup",
            Table::Texture => "texture",
            Table::Sampler => "sampler",
        }
    }
}

/// An index that an attribute gives.
#[derive(Debug)]
pub(in crate::sema) enum Index {
    Known(u32),
    /// An `int` that depends on function constants (MSL 5.8.1.4).
    Specialised(Box<Expr>),
}

/// An argument whose index may still have to be assigned.
#[derive(Debug)]
struct Slot {
    index: Option<u32>,
    /// Whether function constants specify the index, which then counts for no other argument.
    is_specialised: bool,
    table: Table,
    /// How many indices it takes.
    count: u32,
    /// Whether a function constant says if it exists: it may share its index.
    is_conditional: bool,
    span: Span,
}

/// The places of the arguments of one function, in order of declaration.
#[derive(Debug, Default)]
pub(in crate::sema) struct Indices {
    slots: Vec<Slot>,
}

impl Indices {
    /// The index of each argument: its own, or the lowest that no other has, in order. The distance from the
    /// index that function constants specify is 0.
    pub(in crate::sema) fn assign(&self, diagnostics: &mut Diagnostics) -> Vec<u32> {
        let mut indices = vec![0; self.slots.len()];
        for table in Table::ALL {
            let of_table = || {
                let in_table = move |(_, slot): &(usize, &Slot)| slot.table == table && !slot.is_specialised;
                self.slots.iter().enumerate().filter(in_table)
            };
            let mut used: Vec<u32> = Vec::new();
            for (n, slot) in of_table() {
                let Some(index) = slot.index else { continue };
                let taken = index..index + slot.count;
                if taken.end > table.last() + 1 {
                    let message =
                        format!("the last of its indices is {}, beyond {}", taken.end - 1, table.last());
                    diagnostics.error("attribute-argument", slot.span, message);
                }
                // Parameters that exclude each other by function constants may share an index.
                let shared = used.iter().find(|used| taken.contains(used));
                if let Some(index) = shared.filter(|_| !slot.is_conditional) {
                    let message = format!("index {index} is given to two parameters");
                    diagnostics.error("duplicate-index", slot.span, message);
                }
                used.extend(taken);
                indices[n] = index;
            }
            for (n, slot) in of_table().filter(|(_, slot)| slot.index.is_none()) {
                let is_free = |&first: &u32| !(first..first + slot.count).any(|index| used.contains(&index));
                let first =
                    (0..=table.last()).find(is_free).filter(|first| first + slot.count <= table.last() + 1);
                let Some(first) = first else {
                    diagnostics.error("attribute-argument", slot.span, "no index is left for this parameter");
                    continue;
                };
                used.extend(first..first + slot.count);
                indices[n] = first;
            }
        }
        indices
    }

    /// Whether each argument has an index of its own.
    pub(super) fn are_given(&self) -> bool {
        self.slots.iter().all(|slot| slot.index.is_some() || slot.is_specialised)
    }

    /// Assigns the indices to parameters whose places are these, in the same order.
    pub(super) fn assign_to(&self, diagnostics: &mut Diagnostics, params: &mut [KernelParam]) {
        let mut indices = self.assign(diagnostics).into_iter();
        let mut first = 0;
        for param in params {
            param.kind.each_binding_mut(&mut |binding| {
                // A binding at distance 0 begins a place; the elements of an array of pointers follow.
                if binding.index == 0 {
                    first = indices.next().expect("each argument has a place");
                }
                binding.index += first;
            });
        }
        assert!(indices.next().is_none(), "each place is that of an argument");
    }
}

/// Where an argument that takes `count` indices is bound, and whether it exists.
pub(in crate::sema) fn argument_binding<'a>(
    cx: &mut Checker<'a>,
    argument: &Attributed<'a>,
    table: Table,
    count: u32,
    indices: &mut Indices,
) -> Option<Binding> {
    let (index, index_by) = match argument.attribute(table.attribute()) {
        Some(attribute) => match index_of(cx, attribute, table.last())? {
            Index::Known(index) => (Some(index), None),
            Index::Specialised(by) => (None, Some(*by)),
        },
        None => (None, None),
    };
    let enabled = argument_condition(cx, argument)?;
    let (is_conditional, is_specialised) = (enabled.is_some(), index_by.is_some());
    indices.slots.push(Slot { index, is_specialised, table, count, is_conditional, span: argument.span });
    Some(Binding { index: 0, index_by, enabled })
}

/// The number that an attribute takes.
pub(in crate::sema) fn index_of<'a>(
    cx: &mut Checker<'a>,
    attribute: &'a ast::Attribute,
    last: u32,
) -> Option<Index> {
    let Some(arg) = attribute.args.first() else {
        cx.error("attribute-argument", attribute.span, format!("`{}` takes an index", attribute.name));
        return None;
    };
    let value = expr::check(cx, arg);
    if evaluate::mentions_function_constant(&value) {
        return specialised_index(cx, value);
    }
    let index = evaluate::constant_integer(cx, value)?;
    if !(0..=i128::from(last)).contains(&index) {
        let message = format!("an index is between 0 and {last}, not {index}");
        cx.error("attribute-argument", arg.span, message);
        return None;
    }
    Some(Index::Known(index as u32))
}

/// An index that depends on function constants, which are scalar integers.
fn specialised_index(cx: &mut Checker<'_>, value: Expr) -> Option<Index> {
    let value = convert::builtin_operand(cx, value);
    let value = cx.values().rvalue(value);
    let is_integer = cx.types.as_scalar(value.ty.ty).is_some_and(|scalar| !scalar.is_float());
    if !is_integer {
        let shown = cx.show(value.ty);
        let message = format!("function constants that specify an index are integers, not `{shown}`");
        cx.error("attribute-argument", value.span, message);
        return None;
    }
    let mut differs = None;
    walk::each_expr(&value, &mut |part| {
        if let ExprKind::Local(_) | ExprKind::ThreadFact { .. } = part.kind {
            differs = Some(part.span);
        }
    });
    if let Some(span) = differs {
        cx.error("attribute-argument", span, "an index depends on constants and function constants only");
        return None;
    }
    let span = value.span;
    Some(Index::Specialised(Box::new(cx.values().cast_value(CastKind::Convert, value, Ty::INT, span))))
}

/// The number that an attribute takes, where function constants cannot specify it.
pub(in crate::sema) fn attribute_index<'a>(
    cx: &mut Checker<'a>,
    attribute: &'a ast::Attribute,
    last: u32,
) -> Option<u32> {
    match index_of(cx, attribute, last)? {
        Index::Known(index) => Some(index),
        Index::Specialised(value) => {
            let message = format!("function constants cannot specify the number of `{}`", attribute.name);
            cx.error("attribute-argument", value.span, message);
            None
        }
    }
}

/// The condition of `[[function_constant(c)]]`: `Some(None)` when there is none.
pub(in crate::sema) fn argument_condition<'a>(
    cx: &mut Checker<'a>,
    argument: &Attributed<'a>,
) -> Option<Option<Expr>> {
    match argument.attribute("function_constant") {
        Some(attribute) => condition(cx, attribute).map(Some),
        None => Some(None),
    }
}

/// The condition of `[[function_constant(c)]]`.
pub(in crate::sema) fn condition<'a>(cx: &mut Checker<'a>, attribute: &'a ast::Attribute) -> Option<Expr> {
    let Some(arg) = attribute.args.first() else {
        cx.error("attribute-argument", attribute.span, "`function_constant` takes the name of a constant");
        return None;
    };
    let value = expr::check(cx, arg);
    let value = expr::condition(cx, value);
    (!value.ty.ty.is_error()).then_some(value)
}
