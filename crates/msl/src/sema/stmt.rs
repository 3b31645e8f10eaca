//! Statements.

use super::checker::{Checker, LocalDecl, Returns};
use super::lookup::Found;
use super::table::{Tag, tag_of};
use crate::ast::{self, ExprKind as Ast, ForInit, ItemKind, StmtKind as AstStmt, SwitchLabel};
use crate::hir::{
    Block, CompareOp, ConstValue, Expr, ExprKind, LoopHint, QualTy, ScalarTy, Stmt, StmtKind, SwitchCase, Ty,
};
use crate::token::Name;
use anymetal_diag::Span;

/// The most statements that fall-through may duplicate in one switch.
const MAX_DUPLICATED: usize = 10_000;

impl<'a> Checker<'a> {
    /// Checks statements in the current block scope.
    pub(super) fn stmts(&mut self, stmts: &'a [ast::Stmt], out: &mut Vec<Stmt>) {
        for stmt in stmts {
            if self.gave_up {
                return;
            }
            self.deeper(stmt.span, |s| s.stmt(stmt, out));
        }
    }

    /// Checks one statement in a scope of its own.
    fn body(&mut self, stmt: &'a ast::Stmt) -> Block {
        let mut stmts = Vec::new();
        self.in_block(|s| match &stmt.kind {
            AstStmt::Block(block) => s.stmts(&block.stmts, &mut stmts),
            _ => {
                s.deeper(stmt.span, |s| s.stmt(stmt, &mut stmts));
            }
        });
        Block { stmts }
    }

    fn push(out: &mut Vec<Stmt>, kind: StmtKind, span: Span) {
        out.push(Stmt { kind, span });
    }

    fn stmt(&mut self, stmt: &'a ast::Stmt, out: &mut Vec<Stmt>) {
        let span = stmt.span;
        match &stmt.kind {
            AstStmt::Empty => {}
            AstStmt::Block(_) => {
                let block = self.body(stmt);
                Self::push(out, StmtKind::Block(block), span);
            }
            AstStmt::Expr(expr) => {
                let value = self.expr(expr);
                if !value.ty.ty.is_error() {
                    Self::push(out, StmtKind::Expr(value), span);
                }
            }
            AstStmt::Variables(variables) => {
                for variable in variables {
                    self.local_variable(variable, out);
                }
            }
            AstStmt::Item(item) => self.local_item(item, out),
            AstStmt::Items(items) => items.iter().for_each(|item| self.local_item(item, out)),
            AstStmt::If { is_constexpr, init, cond, declared, then, otherwise } => self.in_block(|s| {
                if let Some(init) = init {
                    s.stmt(init, out);
                }
                if let Some(declared) = declared {
                    s.local_variable(declared, out);
                }
                s.if_stmt(*is_constexpr, cond, then, otherwise.as_deref(), span, out);
            }),
            AstStmt::Switch { selector, body } => self.switch_stmt(selector, body, span, out),
            AstStmt::Label(_) => {
                self.error("stray-label", span, "`case` and `default` belong directly into a `switch`");
            }
            AstStmt::For { init, cond, step, body, hint } => {
                self.for_stmt(init, cond.as_deref(), step.as_deref(), body, hint.as_deref(), span, out);
            }
            AstStmt::RangeFor { ty, variable, range, body, hint } => {
                self.range_for(ty, variable, range, body, hint.as_deref(), span, out);
            }
            AstStmt::While { cond, body, hint } => {
                let cond = self.loop_condition(Some(cond));
                let hint = self.loop_hint(hint.as_deref());
                let body = self.loop_body(body);
                Self::push(out, StmtKind::Loop { cond, post_test: false, step: None, body, hint }, span);
            }
            AstStmt::DoWhile { body, cond, hint } => {
                let hint = self.loop_hint(hint.as_deref());
                let body = self.loop_body(body);
                let cond = self.loop_condition(Some(cond));
                Self::push(out, StmtKind::Loop { cond, post_test: true, step: None, body, hint }, span);
            }
            AstStmt::Break => {
                if self.function.loops == 0 && self.function.switches == 0 {
                    self.error("stray-break", span, "`break` outside of a loop or switch");
                }
                Self::push(out, StmtKind::Break, span);
            }
            AstStmt::Continue => {
                if self.function.loops == 0 {
                    self.error("stray-continue", span, "`continue` outside of a loop");
                }
                Self::push(out, StmtKind::Continue, span);
            }
            AstStmt::Return(value) => self.return_stmt(value.as_ref(), span, out),
            AstStmt::MathMode(mode) => Self::push(out, StmtKind::MathMode(*mode), span),
        }
    }

    fn local_item(&mut self, item: &'a ast::Item, out: &mut Vec<Stmt>) {
        let span = item.span;
        match &item.kind {
            ItemKind::Alias(alias) => {
                self.declare_block_tag(&alias.ty);
                let ty = self.resolve_type(&alias.ty);
                // A tag of the same name as the alias is the same type.
                let scope = self.scope.0 as usize;
                if let super::checker::ScopeKind::Block(names) = &mut self.scopes[scope].kind {
                    names.insert(alias.name, LocalDecl::Type(ty));
                }
            }
            ItemKind::Record(record) => {
                let scope = self.scope;
                let ty = self.plain_record(record, scope);
                if let Some(name) = record.name {
                    self.declare_local(name, LocalDecl::Type(QualTy::plain(ty)), record.span);
                }
                self.complete_type(ty, span);
            }
            ItemKind::Enum(enumeration) => self.declare_block_enum(enumeration),
            ItemKind::StaticAssert(cond, message) => self.static_assert(cond, *message, span),
            ItemKind::Variable(variable) => self.local_variable(variable, out),
            ItemKind::UsingNamespace(path) => {
                // Names of the namespace become visible in the block.
                let from = self.enclosing_namespace(self.scope);
                match self.table.find_namespace(from, path) {
                    Some(ns) => self.block_directives.push((self.scope, ns)),
                    None => self.report(super::path::unknown_namespace(path, span)),
                }
            }
            ItemKind::UsingDeclaration(path) => match self.resolve_path(path) {
                Ok(target) => {
                    if let Some(last) = path.segments.last() {
                        self.block_usings.push((self.scope, last.name, target.found));
                    }
                }
                Err(miss) => self.report_miss(miss, "name"),
            },
            ItemKind::Function(_) => {
                self.error("local-function", span, "functions cannot be declared inside of functions");
            }
            _ => {}
        }
    }

    /// Declares the record or enumeration written inside a type, and its enumerators.
    pub(super) fn declare_block_tag(&mut self, ty: &'a ast::Type) {
        let scope = self.scope;
        match tag_of(ty) {
            Some(Tag::Record(record)) => {
                if let Some(name) = record.name {
                    let ty = self.plain_record(record, scope);
                    self.declare_local(name, LocalDecl::Type(QualTy::plain(ty)), record.span);
                }
            }
            Some(Tag::Enum(enumeration)) => self.declare_block_enum(enumeration),
            None => {}
        }
    }

    pub(super) fn declare_block_enum(&mut self, enumeration: &'a ast::Enum) {
        let scope = self.scope;
        let ty = self.enum_ty(enumeration, scope);
        if let Some(name) = enumeration.name {
            self.declare_local(name, LocalDecl::Type(QualTy::plain(ty)), enumeration.span);
        }
        if enumeration.is_scoped {
            return;
        }
        for (n, enumerator) in enumeration.enumerators.iter().flatten().enumerate() {
            if let Found::Enumerator(ty, value) = self.enumerator(enumeration, scope, n as u32) {
                self.declare_local(enumerator.name, LocalDecl::Enumerator(ty, value), enumerator.span);
            }
        }
    }

    fn if_stmt(
        &mut self,
        is_constexpr: bool,
        cond: &'a ast::Expr,
        then: &'a ast::Stmt,
        otherwise: Option<&'a ast::Stmt>,
        span: Span,
        out: &mut Vec<Stmt>,
    ) {
        let value = self.expr(cond);
        if is_constexpr {
            let chosen = match self.constant_condition(value) {
                Some(true) => Some(then),
                Some(false) => otherwise,
                None => None,
            };
            if let Some(chosen) = chosen {
                let block = self.body(chosen);
                Self::push(out, StmtKind::Block(block), span);
            }
            return;
        }
        let cond = self.condition(value);
        let then = self.body(then);
        let otherwise = otherwise.map_or_else(Block::default, |otherwise| self.body(otherwise));
        if let ExprKind::Const(ConstValue::Scalar(bits)) = cond.kind {
            let block = if bits != 0 { then } else { otherwise };
            Self::push(out, StmtKind::Block(block), span);
            return;
        }
        if !cond.ty.ty.is_error() {
            Self::push(out, StmtKind::If { cond, then, otherwise }, span);
        }
    }

    // --- loops

    fn loop_condition(&mut self, cond: Option<&'a ast::Expr>) -> Option<Expr> {
        let value = self.expr(cond?);
        let cond = self.condition(value);
        match cond.kind {
            ExprKind::Const(ConstValue::Scalar(1)) => None,
            _ => Some(cond),
        }
    }

    fn loop_body(&mut self, body: &'a ast::Stmt) -> Block {
        self.function.loops += 1;
        let switches = std::mem::take(&mut self.function.switches);
        let block = self.body(body);
        self.function.switches = switches;
        self.function.loops -= 1;
        block
    }

    fn loop_hint(&mut self, hint: Option<&'a ast::LoopHint>) -> Option<LoopHint> {
        Some(match hint? {
            ast::LoopHint::Full => LoopHint::Full,
            ast::LoopHint::Enable => LoopHint::Enable,
            ast::LoopHint::Disable => LoopHint::Disable,
            ast::LoopHint::Count(expr) => {
                // A count that is not constant (a function constant, say) is no more than "please".
                let count = self.quietly(|s| {
                    let value = s.expr(expr);
                    s.constant_integer(value)
                });
                match count.ok().flatten() {
                    Some(n @ 1..=65_536) => LoopHint::Count(n as u32),
                    _ => LoopHint::Enable,
                }
            }
        })
    }

    #[allow(clippy::too_many_arguments, reason = "the parts of one statement")]
    fn for_stmt(
        &mut self,
        init: &'a ForInit,
        cond: Option<&'a ast::Expr>,
        step: Option<&'a ast::Expr>,
        body: &'a ast::Stmt,
        hint: Option<&'a ast::LoopHint>,
        span: Span,
        out: &mut Vec<Stmt>,
    ) {
        let mut stmts = Vec::new();
        self.in_block(|s| {
            match init {
                ForInit::Empty => {}
                ForInit::Declaration(variables) => {
                    variables.iter().for_each(|variable| s.local_variable(variable, &mut stmts));
                }
                ForInit::Expr(expr) => {
                    let value = s.expr(expr);
                    Self::push(&mut stmts, StmtKind::Expr(value), span);
                }
            }
            let hint = s.loop_hint(hint);
            let cond = s.loop_condition(cond);
            let step = step.map(|step| s.expr(step));
            let body = s.loop_body(body);
            Self::push(&mut stmts, StmtKind::Loop { cond, post_test: false, step, body, hint }, span);
        });
        Self::push(out, StmtKind::Block(Block { stmts }), span);
    }

    /// `for (T x : array)`: by index over an array.
    #[allow(clippy::too_many_arguments, reason = "the parts of one statement")]
    fn range_for(
        &mut self,
        ty: &'a ast::Type,
        variable: &'a ast::Variable,
        range: &'a ast::Expr,
        body: &'a ast::Stmt,
        hint: Option<&'a ast::LoopHint>,
        span: Span,
        out: &mut Vec<Stmt>,
    ) {
        let range_span = range.span;
        let range = self.expr(range);
        if range.ty.ty.is_error() {
            return;
        }
        let Some(array) = self.range_array(range) else {
            self.error("bad-range", range_span, "only arrays can be iterated over");
            return;
        };
        let Some((_, count)) = self.types.as_array(array.ty.ty) else { return };
        let mut stmts = Vec::new();
        self.in_block(|s| {
            let pointer_ty = s.types.pointer(array.ty);
            let pointer = s.new_local(Name::EMPTY, pointer_ty, span);
            let array_ty = array.ty;
            let address = Expr::value(ExprKind::AddressOf(Box::new(array)), pointer_ty, span);
            Self::push(&mut stmts, StmtKind::Declare { local: pointer, init: Some(address) }, span);
            let index = s.new_local(Name::EMPTY, Ty::LONG, span);
            let zero = super::expr::scalar_const(ScalarTy::I64, 0, span);
            Self::push(&mut stmts, StmtKind::Declare { local: index, init: Some(zero) }, span);
            let place = |local, ty| Expr::place(ExprKind::Local(local), QualTy::plain(ty), span);
            let load = |local, ty| Expr::value(ExprKind::Load(Box::new(place(local, ty))), ty, span);
            let end = super::expr::scalar_const(ScalarTy::I64, count, span);
            let compare = ExprKind::Compare(CompareOp::Lt, Box::new(load(index, Ty::LONG)), Box::new(end));
            let cond = Some(Expr::value(compare, Ty::BOOL, span));
            let one = super::expr::scalar_const(ScalarTy::I64, 1, span);
            let step = s.compound_assign(ast::BinaryOp::Add, place(index, Ty::LONG), one, span);
            let array = Expr::place(ExprKind::Deref(Box::new(load(pointer, pointer_ty))), array_ty, span);
            let element = s.index_checked(array, load(index, Ty::LONG), span);
            let hint = s.loop_hint(hint);
            let body = s.range_body(ty, variable, element, body, span);
            Self::push(
                &mut stmts,
                StmtKind::Loop { cond, post_test: false, step: Some(step), body, hint },
                span,
            );
        });
        Self::push(out, StmtKind::Block(Block { stmts }), span);
    }

    fn range_body(
        &mut self,
        ty: &'a ast::Type,
        variable: &'a ast::Variable,
        element: Expr,
        body: &'a ast::Stmt,
        span: Span,
    ) -> Block {
        self.in_block(|s| {
            let mut stmts = Vec::new();
            let ty = if super::function::mentions_auto(ty) {
                s.auto_type(ty, &element, span)
            } else {
                Some(s.resolve_type(ty)).filter(|ty| !ty.ty.is_error())
            };
            if let Some(ty) = ty {
                let to = s.initialised_type(ty);
                let value = if s.types.as_array(element.ty.ty).is_some() && to.ty == element.ty.ty {
                    s.whole_value(element)
                } else {
                    s.convert(element, to, "in this initialiser")
                };
                let repr = s.value_repr(ty);
                let name = variable.declarator.name;
                let local = s.new_local(name, repr, span);
                s.declare_local(name, LocalDecl::Variable { local, ty, function: s.function.serial }, span);
                Self::push(&mut stmts, StmtKind::Declare { local, init: Some(value) }, span);
            }
            stmts.extend(s.loop_body(body).stmts);
            Block { stmts }
        })
    }

    /// The array to iterate over: the range itself, or the only member of a class such as `array`.
    fn range_array(&mut self, range: Expr) -> Option<Expr> {
        let range = self.materialize(range);
        if self.types.as_array(range.ty.ty).is_some() {
            return Some(range);
        }
        let record = self.types.as_record(range.ty.ty)?;
        let [only] = self.types.record(record).fields.as_slice() else { return None };
        self.types.as_array(only.ty.ty)?;
        let (qual, span) = (range.ty.with_ty(only.ty.ty), range.span);
        Some(Expr::place(ExprKind::Field(Box::new(range), record, 0), qual, span))
    }

    // --- switch

    fn switch_stmt(&mut self, selector: &'a ast::Expr, body: &'a ast::Stmt, span: Span, out: &mut Vec<Stmt>) {
        let selector = self.expr(selector);
        let selector = self.builtin_operand(selector);
        let selector = self.rvalue(selector);
        if selector.ty.ty.is_error() {
            return;
        }
        let Some(scalar) = self.types.scalar_repr(selector.ty.ty).filter(|scalar| scalar.is_integral())
        else {
            let shown = self.show(selector.ty);
            self.error(
                "bad-selector",
                selector.span,
                format!("a value of type `{shown}` cannot select a case"),
            );
            return;
        };
        let promoted = Ty::scalar(super::convert::promote(scalar));
        let at = selector.span;
        let selector = self.cast_value(crate::hir::CastKind::Convert, selector, promoted, at);
        let AstStmt::Block(block) = &body.kind else {
            self.error("bad-switch", body.span, "the body of a switch must be a block");
            return;
        };
        self.function.switches += 1;
        let cases = self.in_block(|s| s.switch_cases(&block.stmts, promoted));
        self.function.switches -= 1;
        if let Some(cases) = cases {
            Self::push(out, StmtKind::Switch { selector, cases }, span);
        }
    }

    fn switch_cases(&mut self, stmts: &'a [ast::Stmt], ty: Ty) -> Option<Vec<SwitchCase>> {
        let mut cases: Vec<SwitchCase> = Vec::new();
        let mut seen: Vec<i64> = Vec::new();
        let mut ok = true;
        let mut at = 0;
        while at < stmts.len() {
            let mut case = SwitchCase { values: Vec::new(), is_default: false, body: Block::default() };
            while let Some(AstStmt::Label(label)) = stmts.get(at).map(|stmt| &stmt.kind) {
                ok &= self.case_label(label, ty, stmts[at].span, &mut case, &mut seen, &cases);
                at += 1;
            }
            let end = stmts[at..].iter().position(|stmt| matches!(stmt.kind, AstStmt::Label(_)));
            let end = end.map_or(stmts.len(), |n| at + n);
            let mut body = Vec::new();
            self.stmts(&stmts[at..end], &mut body);
            at = end;
            case.body = Block { stmts: body };
            if case.values.is_empty() && !case.is_default {
                // Declarations before the first case: their code never runs.
                continue;
            }
            cases.push(case);
        }
        ok &= self.resolve_fall_through(&mut cases);
        ok.then_some(cases)
    }

    fn case_label(
        &mut self,
        label: &'a SwitchLabel,
        ty: Ty,
        span: Span,
        case: &mut SwitchCase,
        seen: &mut Vec<i64>,
        cases: &[SwitchCase],
    ) -> bool {
        match label {
            SwitchLabel::Default => {
                if case.is_default || cases.iter().any(|case| case.is_default) {
                    self.error("duplicate-case", span, "the switch has two `default` labels");
                    return false;
                }
                case.is_default = true;
                true
            }
            SwitchLabel::Case(expr) => {
                let value = self.expr(expr);
                if value.ty.ty.is_error() {
                    return false;
                }
                let value = self.builtin_operand(value);
                let value = self.rvalue(value);
                let value = if self.types.scalar_repr(value.ty.ty).is_some() {
                    self.cast_value(crate::hir::CastKind::Convert, value, ty, span)
                } else {
                    value
                };
                let Some(n) = self.constant_integer(value) else { return false };
                let n = n as i64;
                if seen.contains(&n) {
                    self.error("duplicate-case", span, format!("the switch has two cases for {n}"));
                    return false;
                }
                seen.push(n);
                case.values.push(n);
                true
            }
        }
    }

    /// A case that runs on into the next gets a copy of the next one's code.
    fn resolve_fall_through(&mut self, cases: &mut [SwitchCase]) -> bool {
        let mut duplicated = 0;
        for n in (0..cases.len().saturating_sub(1)).rev() {
            if ends(&cases[n].body) {
                continue;
            }
            let next = cases[n + 1].body.stmts.clone();
            duplicated += next.len();
            if duplicated > MAX_DUPLICATED {
                let span = next.first().map_or(Span::NONE, |stmt| stmt.span);
                self.error("fall-through", span, "too many cases fall through to the next");
                return false;
            }
            cases[n].body.stmts.extend(next);
        }
        true
    }

    // --- return

    fn return_stmt(&mut self, value: Option<&'a ast::Expr>, span: Span, out: &mut Vec<Stmt>) {
        let Some(value) = value else {
            if let Returns::Type(ty) = self.function.returns
                && ty.ty != Ty::VOID
            {
                let shown = self.show(ty);
                self.error("missing-result", span, format!("the function must return a `{shown}`"));
            }
            if let Returns::Auto(known @ None) = &mut self.function.returns {
                *known = Some(QualTy::plain(Ty::VOID));
            }
            Self::push(out, StmtKind::Return(None), span);
            return;
        };
        let result = match self.function.returns {
            Returns::Type(ty) | Returns::Auto(Some(ty)) => self.returned(value, ty),
            Returns::Auto(None) => self.deduced_return(value),
        };
        let Some(result) = result else { return };
        if result.ty.ty == Ty::VOID {
            Self::push(out, StmtKind::Expr(result), span);
            Self::push(out, StmtKind::Return(None), span);
        } else {
            Self::push(out, StmtKind::Return(Some(result)), span);
        }
    }

    fn returned(&mut self, value: &'a ast::Expr, ty: QualTy) -> Option<Expr> {
        if let Ast::InitList(clauses) = &value.kind {
            let result = self.list_value(clauses, ty, value.span);
            return (!result.ty.ty.is_error()).then_some(result);
        }
        let checked = self.expr(value);
        if checked.ty.ty.is_error() {
            return None;
        }
        if ty.ty == Ty::VOID {
            if checked.ty.ty != Ty::VOID {
                self.error("excess-result", value.span, "a function without result returns a value");
                return None;
            }
            return Some(checked);
        }
        let result = self.convert(checked, ty, "for the function's result");
        (!result.ty.ty.is_error()).then_some(result)
    }

    fn deduced_return(&mut self, value: &'a ast::Expr) -> Option<Expr> {
        let checked = self.expr(value);
        if checked.ty.ty.is_error() {
            return None;
        }
        let ty = if checked.ty.ty == Ty::VOID {
            QualTy::plain(Ty::VOID)
        } else {
            self.deduced_result_type(&checked)
        };
        self.function.returns = Returns::Auto(Some(ty));
        if ty.ty == Ty::VOID {
            return Some(checked);
        }
        let result = self.convert(checked, ty, "for the function's result");
        (!result.ty.ty.is_error()).then_some(result)
    }

    fn deduced_result_type(&mut self, value: &Expr) -> QualTy {
        if let Some(written) = self.function.auto_return
            && let Some(pointer) = self.auto_return_type(&written, value)
        {
            return pointer;
        }
        self.decayed_value(value.ty).unqualified()
    }

    /// `auto&` and `auto*` as result types.
    fn auto_return_type(&mut self, written: &super::checker::AutoReturn, value: &Expr) -> Option<QualTy> {
        match written {
            super::checker::AutoReturn::Reference { is_const } if value.is_place => {
                let mut to = value.ty;
                to.is_const |= is_const;
                Some(QualTy::plain(self.types.reference(to, false)))
            }
            _ => None,
        }
    }
}

/// Whether control never reaches the end of a block.
fn ends(block: &Block) -> bool {
    match block.stmts.last().map(|stmt| &stmt.kind) {
        Some(StmtKind::Break | StmtKind::Continue | StmtKind::Return(_)) => true,
        Some(StmtKind::Block(inner)) => ends(inner),
        Some(StmtKind::If { then, otherwise, .. }) => ends(then) && ends(otherwise),
        _ => false,
    }
}
