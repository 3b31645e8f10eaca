//! Resources at program scope: `device float* constant p [[buffer(1)]];` (MSL 5.9).
//!
//! A use of one is an [`ExprKind::Resource`] until the program of a kernel is complete. Then each becomes an
//! argument of the kernel, and a parameter of each function that uses it or calls one that does. Variables
//! that are bound to one index are one resource.

use super::indices::{Indices, Table};
use super::structure;
use crate::ast;
use crate::hir::{
    Expr, ExprKind, FuncId, Function, Kernel, KernelParam, KernelParamKind, Local, LocalId, QualTy,
    ResourceId, ResourceKind,
};
use crate::sema::checker::Checker;
use crate::sema::stage::Attributed;
use crate::sema::walk;
use anymetal_diagnostics::Diagnostic;
use std::collections::BTreeSet;

/// The resources at program scope that a check met.
#[derive(Debug, Default)]
pub(in crate::sema) struct ScopeResources {
    params: Vec<KernelParam>,
}

/// Whether a variable is bound by the host.
pub(in crate::sema) fn is_resource(variable: &ast::Variable) -> bool {
    let binds = |attribute: &ast::Attribute| {
        Table::ALL.into_iter().any(|table| table.attribute() == attribute.name.as_str())
    };
    variable.init.is_none() && variable.attributes.iter().any(binds)
}

/// The resource that a variable of this type is. `None` after an error.
pub(in crate::sema) fn resource_of_variable<'a>(
    cx: &mut Checker<'a>,
    variable: &'a ast::Variable,
    ty: QualTy,
) -> Option<ResourceId> {
    let argument = Attributed::of_variable(variable, ty);
    let (name, span) = (argument.name, variable.span);
    let errors = cx.diagnostics.error_count();
    let mut indices = Indices::default();
    let Some(kind) = structure::argument(cx, &argument, &mut indices) else {
        let shown = cx.show(ty);
        let message = format!("`{name}` of type `{shown}` cannot be bound: it is not a resource");
        cx.error("kernel-parameter", span, message);
        return None;
    };
    let mut param = KernelParam { name, ty: cx.values().value_repr(ty), kind: kind?, span };
    if !indices.are_given() {
        let message = format!("`{name}` at program scope needs an index that fits its type");
        let hint = "`buffer` is for pointers, `texture` for textures, `sampler` for samplers, `threadgroup` for \
                    pointers to threadgroup memory";
        cx.report(Diagnostic::error("attribute-argument", span, message).with_hint(hint));
        return None;
    }
    indices.assign_to(&mut cx.diagnostics, std::slice::from_mut(&mut param));
    if cx.diagnostics.error_count() > errors {
        return None;
    }
    if let Some(other) = cx.data.resources.of_place(&param) {
        if cx.data.resources.get(other).ty == param.ty {
            return Some(other);
        }
        let earlier = cx.data.resources.get(other).span;
        let message = "one index is bound to variables of different types";
        cx.report(
            Diagnostic::error("duplicate-index", span, message).with_secondary(earlier, "the other one"),
        );
        return None;
    }
    cx.data.resources.params.push(param);
    Some(ResourceId(cx.data.resources.params.len() as u32 - 1))
}

impl ScopeResources {
    fn get(&self, id: ResourceId) -> &KernelParam {
        &self.params[id.0 as usize]
    }

    pub(in crate::sema) fn params_mut(&mut self) -> impl Iterator<Item = &mut KernelParam> {
        self.params.iter_mut()
    }

    /// The resource at the index of a parameter.
    fn of_place(&self, param: &KernelParam) -> Option<ResourceId> {
        let wanted = place(&param.kind)?;
        let found = self.params.iter().position(|known| place(&known.kind) == Some(wanted))?;
        Some(ResourceId(found as u32))
    }
}

/// The table and the index of a single resource that always exists.
fn place(kind: &KernelParamKind) -> Option<(Table, u32)> {
    let table = match kind {
        KernelParamKind::Buffer { .. } => Table::Buffer,
        KernelParamKind::ThreadgroupMemory { .. } => Table::Threadgroup,
        KernelParamKind::Resource { kind: ResourceKind::Texture(_), .. } => Table::Texture,
        KernelParamKind::Resource { kind: ResourceKind::Sampler, .. } => Table::Sampler,
        KernelParamKind::Resource { .. } => Table::Buffer,
        KernelParamKind::Structure { .. }
        | KernelParamKind::StageIn { .. }
        | KernelParamKind::Thread { .. } => return None,
    };
    let binding = kind.binding().filter(|binding| binding.index_by.is_none() && binding.enabled.is_none())?;
    Some((table, binding.index))
}

/// Makes the resources that a kernel's functions use parameters of these functions, and of the kernel.
pub(in crate::sema) fn into_parameters(
    resources: &ScopeResources,
    functions: &mut [Function],
    kernel: &mut Kernel,
) {
    if resources.params.is_empty() {
        return;
    }
    let uses = used_resources(functions);
    let root = kernel.function.0 as usize;
    // A parameter of the kernel that is bound to the same index is the resource.
    let own_param = |id: &ResourceId| {
        let resource = resources.get(*id);
        let wanted = place(&resource.kind)?;
        let is_same = |param: &KernelParam| param.ty == resource.ty && place(&param.kind) == Some(wanted);
        kernel.params.iter().position(is_same)
    };
    for (n, (function, own)) in functions.iter_mut().zip(&uses).enumerate() {
        let parameter = |id: &ResourceId| {
            if let Some(position) = own_param(id).filter(|_| n == root) {
                return (*id, function.params[position]);
            }
            let KernelParam { name, ty, span, .. } = *resources.get(*id);
            function.locals.push(Local { name, ty, span });
            let local = LocalId(function.locals.len() as u32 - 1);
            function.params.push(local);
            (*id, local)
        };
        let parameters: Vec<(ResourceId, LocalId)> = own.iter().map(parameter).collect();
        let value = |id: ResourceId, at: &Expr| {
            let (_, local) = parameters.iter().find(|(known, _)| *known == id).expect("it is used");
            let ty = resources.get(id).ty;
            let place = Expr::place(ExprKind::Local(*local), QualTy::plain(ty), at.span);
            Expr::value(ExprKind::Load(Box::new(place)), ty, at.span)
        };
        walk::each_in_block_mut(&mut function.body, &mut |expr| match &expr.kind {
            ExprKind::Resource(id) => *expr = value(*id, expr),
            ExprKind::Call(callee, _) | ExprKind::Construct(callee, _) => {
                let passed: Vec<Expr> = uses[callee.0 as usize].iter().map(|&id| value(id, expr)).collect();
                if let ExprKind::Call(_, args) | ExprKind::Construct(_, args) = &mut expr.kind {
                    args.extend(passed);
                }
            }
            _ => {}
        });
    }
    let added: Vec<KernelParam> =
        uses[root].iter().filter(|id| own_param(id).is_none()).map(|&id| resources.get(id).clone()).collect();
    kernel.params.extend(added);
}

/// By function: the resources that it uses, or that functions that it calls use.
fn used_resources(functions: &[Function]) -> Vec<BTreeSet<ResourceId>> {
    let mut uses = vec![BTreeSet::new(); functions.len()];
    let mut callers: Vec<Vec<FuncId>> = vec![Vec::new(); functions.len()];
    for (n, function) in functions.iter().enumerate() {
        walk::each_in_block(&function.body, &mut |expr| match expr.kind {
            ExprKind::Resource(id) => {
                uses[n].insert(id);
            }
            ExprKind::Call(callee, _) | ExprKind::Construct(callee, _) => {
                callers[callee.0 as usize].push(FuncId(n as u32));
            }
            _ => {}
        });
    }
    let mut changed: Vec<usize> = (0..functions.len()).filter(|&n| !uses[n].is_empty()).collect();
    while let Some(n) = changed.pop() {
        let passed = uses[n].clone();
        for caller in &callers[n] {
            let known = uses[caller.0 as usize].len();
            uses[caller.0 as usize].extend(&passed);
            if uses[caller.0 as usize].len() > known {
                changed.push(caller.0 as usize);
            }
        }
    }
    uses
}
