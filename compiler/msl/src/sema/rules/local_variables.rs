//! Types that local variables do not have (MSL 2.9, 2.12.1).

use crate::hir::{QualTy, ResourceKind};
use crate::sema::checker::Checker;
use crate::sema::kernel;
use anymetal_diagnostics::Span;
use anymetal_ir::Access;

/// Reports a variable of a function that is an `array_ref`, or a texture that is written to.
pub(in crate::sema) fn check(cx: &mut Checker<'_>, ty: QualTy, span: Span) {
    let Some(record) = cx.types.as_record(ty.ty) else { return };
    let Some(first) = cx.types.record(record).fields.first() else { return };
    if first.name == cx.names.array_ref {
        cx.error("bad-variable", span, "a local variable cannot be an `array_ref`");
    } else if first.name == cx.names.texture_handle
        && let Some(ResourceKind::Texture(Access::Write | Access::ReadWrite)) =
            kernel::resource_kind(cx, record)
    {
        let message = "a texture that is a local variable has the access `sample` or `read`";
        cx.error("bad-variable", span, message);
    }
}
