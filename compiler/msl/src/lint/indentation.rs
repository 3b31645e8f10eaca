//! Statements that are indented as if they belonged to the statement before them.

use super::Linter;
use crate::ast::{Stmt, StmtKind};
use anymetal_diagnostics::{ExpansionId, SourceFile};

pub(super) fn check(linter: &mut Linter<'_>, stmts: &[Stmt]) {
    if !linter.wants("misleading-indentation") {
        return;
    }
    for pair in stmts.windows(2) {
        let [stmt, next] = pair else { continue };
        let (body, word) = match &stmt.kind {
            StmtKind::If { then, otherwise: None, .. } => (then, "if"),
            StmtKind::For { body, .. } | StmtKind::RangeFor { body, .. } => (body, "for"),
            StmtKind::While { body, .. } => (body, "while"),
            _ => continue,
        };
        if matches!(body.kind, StmtKind::Block(_))
            || matches!(next.kind, StmtKind::Empty | StmtKind::Label(_))
        {
            continue;
        }
        let spans = [stmt.span, body.span, next.span];
        if spans.iter().any(|span| span.file != stmt.span.file || span.expansion != ExpansionId::NONE) {
            continue;
        }
        let Some(file) = linter.map.file(stmt.span.file) else { continue };
        let [stmt_at, body_at, next_at] = spans.map(|span| file.line_col(span.lo));
        let is_aligned = body_at.column > stmt_at.column && body_at.column == next_at.column;
        let looks_inside = is_aligned || !begins_line(file, next.span.lo);
        if looks_inside && stmt_at.line != next_at.line && stmt_at.line != body_at.line {
            let message = format!("misleading indentation; statement is not part of the previous '{word}'");
            linter.warn("misleading-indentation", next.span, message, None);
        }
    }
}

/// Whether only white space precedes an offset on its line.
fn begins_line(file: &SourceFile, offset: u32) -> bool {
    let start = file.line_start(file.line_number(offset)) as usize;
    file.text.get(start..offset as usize).is_some_and(|text| text.trim().is_empty())
}
