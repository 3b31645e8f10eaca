//! The function whose body is being checked.

use crate::hir::{self, ConstValue, LocalId, QualTy, Ty};
use crate::token::Name;
use anymetal_diagnostics::Span;
use rustc_hash::FxHashMap;

/// The result type of the function being checked.
#[derive(Clone, Copy, Debug)]
pub(super) enum Returns {
    /// Known.
    Type(QualTy),
    /// `auto`: set by the first return statement.
    Auto(Option<QualTy>),
}

/// The spelling of `auto` in a result type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AutoReturn {
    /// `auto`
    Plain,
    /// `auto*`
    Pointer,
    /// `auto&`, `const auto&`
    Reference {
        is_const: bool,
        /// `auto&&`
        is_rvalue: bool,
    },
    /// `decltype(auto)`
    Decltype,
}

/// Why a variable may be uniform.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Uniformity {
    /// It is declared as `uniform<T>`.
    Declared,
    /// Its type is deduced, and `uniform<T>` is the type `T` here.
    Deduced,
}

/// The state of one function body.
#[derive(Debug)]
pub(super) struct FnContext {
    /// Distinguishes the variables of nested functions.
    pub(super) serial: u32,
    /// The value of `__func__`; empty outside of functions.
    pub(super) name: String,
    pub(super) locals: Vec<hir::Local>,
    /// The locals that are or may be uniform.
    pub(super) uniform: FxHashMap<LocalId, Uniformity>,
    /// Whether the result is declared as uniform.
    pub(super) returns_uniform: bool,
    /// The number of the first locals that are parameters.
    pub(super) params: u32,
    /// The pointer parameter and the object type (with space and const).
    pub(super) this: Option<(LocalId, QualTy)>,
    pub(super) returns: Returns,
    pub(super) loops: u32,
    pub(super) switches: u32,
    pub(super) auto_return: Option<AutoReturn>,
    /// Where the result type is written.
    pub(super) result_at: Span,
    /// The number of unevaluated operands (`decltype`, `sizeof`) around the current expression: in them,
    /// bodies need no check.
    pub(super) unevaluated: u32,
    /// The number of constant conditions around the current code that keep it from running: nothing is warned
    /// about there.
    pub(super) dead: u32,
}

impl FnContext {
    pub(super) fn new(serial: u32, returns: Returns) -> Self {
        Self {
            serial,
            name: String::new(),
            locals: Vec::new(),
            uniform: FxHashMap::default(),
            returns_uniform: false,
            params: 0,
            this: None,
            returns,
            loops: 0,
            switches: 0,
            auto_return: None,
            result_at: Span::NONE,
            unevaluated: 0,
            dead: 0,
        }
    }

    /// Outside of functions, where nothing is returned.
    pub(super) fn outside(serial: u32) -> Self {
        Self::new(serial, Returns::Type(QualTy::plain(Ty::VOID)))
    }

    /// Adds a variable.
    pub(super) fn new_local(&mut self, name: Name, ty: Ty, span: Span) -> LocalId {
        self.locals.push(hir::Local { name, ty, span });
        LocalId(self.locals.len() as u32 - 1)
    }

    pub(super) fn local_ty(&self, local: LocalId) -> Ty {
        self.locals[local.0 as usize].ty
    }
}

/// The values of constant variables of all functions, which lambdas and local classes use without capturing
/// them.
#[derive(Debug, Default)]
pub(super) struct LocalConstants {
    /// By the function's serial number.
    values: FxHashMap<(u32, LocalId), ConstValue>,
    functions: u32,
}

impl LocalConstants {
    /// The serial number of a new function. Code outside of functions has 0.
    pub(super) fn new_function(&mut self) -> u32 {
        self.functions += 1;
        self.functions
    }

    pub(super) fn get(&self, serial: u32, local: LocalId) -> Option<&ConstValue> {
        self.values.get(&(serial, local))
    }

    pub(super) fn insert(&mut self, serial: u32, local: LocalId, value: ConstValue) {
        self.values.insert((serial, local), value);
    }
}
