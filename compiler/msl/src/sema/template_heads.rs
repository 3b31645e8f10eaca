//! Class and variable templates that are declared again: their parameters are alike, and a parameter has one
//! default argument (C++14 [temp.param.12], [temp.class]).

use super::table::{Decl, Layer};
use crate::ast::{ItemKind, TemplateParam, TemplateParamKind, TemplateParams, TypeKind};
use anymetal_diagnostics::{Diagnostic, Sink};

/// Reports the parameters of later declarations that differ from those of the first.
pub(super) fn check(layer: &Layer, sink: &mut Sink) {
    for (_, decls) in layer.own_names() {
        let mut known: Vec<&TemplateParams> = Vec::new();
        for &decl in decls {
            let Decl::Item(id) = decl else { continue };
            let item = &layer.entry(id).item;
            let (ItemKind::Record(_) | ItemKind::Variable(_), Some(head)) = (&item.kind, &item.template)
            else {
                continue;
            };
            if let Some(first) = known.first() {
                compare(first, head, sink);
            }
            report_defaults(&known, head, sink);
            known.push(head);
        }
    }
}

/// Reports the parameters that are not like those of another list.
fn compare(first: &TemplateParams, later: &TemplateParams, sink: &mut Sink) {
    if first.params.len() != later.params.len() {
        let message = "template redeclaration with another number of template parameters";
        let diagnostic = Diagnostic::error("template-parameter", later.span, message);
        return sink.push(diagnostic.with_note(first.span, "previously declared here"));
    }
    for (old, new) in first.params.iter().zip(&later.params) {
        let problem = if old.is_pack != new.is_pack {
            let [this, that] = if new.is_pack { [" pack", ""] } else { ["", " pack"] };
            let kind = kind(new);
            format!("{kind} parameter{this} conflicts with previous {kind} parameter{that}")
        } else {
            match (&old.kind, &new.kind) {
                (TemplateParamKind::Template(a, _), TemplateParamKind::Template(b, _)) => {
                    compare(a, b, sink);
                    continue;
                }
                (TemplateParamKind::Value(a, _), TemplateParamKind::Value(b, _)) => {
                    match (&a.kind, &b.kind) {
                        (TypeKind::Builtin(a), TypeKind::Builtin(b)) if a != b => {}
                        _ => continue,
                    }
                    "template non-type parameter has a different type in template redeclaration".to_owned()
                }
                (TemplateParamKind::Type(_), TemplateParamKind::Type(_)) => continue,
                _ => "template parameter has a different kind in template redeclaration".to_owned(),
            }
        };
        let diagnostic = Diagnostic::error("template-parameter", new.span, problem);
        sink.push(diagnostic.with_note(old.span, "previously declared here"));
    }
}

fn kind(param: &TemplateParam) -> &'static str {
    match param.kind {
        TemplateParamKind::Type(_) => "type template",
        TemplateParamKind::Value(..) => "non-type template",
        TemplateParamKind::Template(..) => "template template",
    }
}

/// Reports default arguments that an earlier declaration has.
fn report_defaults(earlier: &[&TemplateParams], later: &TemplateParams, sink: &mut Sink) {
    for (n, param) in later.params.iter().enumerate().filter(|(_, param)| has_default(param)) {
        let mut others = earlier.iter().filter_map(|head| head.params.get(n));
        if let Some(other) = others.find(|other| has_default(other)) {
            let message = "template parameter redefines default argument";
            let diagnostic = Diagnostic::error("template-parameter", param.span, message);
            sink.push(diagnostic.with_note(other.span, "previous default template argument defined here"));
        }
    }
}

fn has_default(param: &TemplateParam) -> bool {
    matches!(
        param.kind,
        TemplateParamKind::Type(Some(_))
            | TemplateParamKind::Value(_, Some(_))
            | TemplateParamKind::Template(_, Some(_))
    )
}
