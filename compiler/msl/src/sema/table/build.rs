//! Builds a layer from parsed declarations.
//!
//! Invariant: an item's id says where it is pushed; nothing else is between the first of its names and that.

use std::sync::Arc;

use anymetal_diagnostics::{Diagnostic, Sink};

use super::{Decl, Entry, ItemId, Layer, NsId, NsInfo, Tag, function_key, namespace_among, tag_of};
use crate::ast::{Enum, Function, FunctionName, Item, ItemKind, Path, Record, Type};
use crate::parser::MAX_DIRECTIVES;
use crate::sema::path::{segment_key, unknown_namespace};
use crate::token::Name;

impl Layer {
    /// Builds a layer on top of another from parsed declarations.
    pub(in crate::sema) fn build(below: Option<Arc<Layer>>, items: Vec<Item>, sink: &mut Sink) -> Self {
        let mut layer = Self::default();
        match &below {
            Some(below) => {
                layer.first_item = below.first_item + below.items.len() as u32;
                layer.first_ns = below.first_ns + below.namespaces.len() as u32;
            }
            None => layer.namespaces.push(NsInfo { name: None, parent: None, is_inline: false }),
        }
        layer.below = below;
        layer.add_items(NsId::GLOBAL, items, sink);
        layer
    }

    fn add_items(&mut self, ns: NsId, items: Vec<Item>, sink: &mut Sink) {
        for item in items {
            match item.kind {
                ItemKind::Namespace(namespace) => {
                    let inner = self.open_namespace(ns, namespace.name, namespace.is_inline);
                    self.add_items(inner, namespace.items, sink);
                }
                ItemKind::UsingNamespace(ref path) => match self.find_namespace(ns, path) {
                    Some(target) => {
                        self.add_directive(ns, target);
                        // The first one that is left out.
                        if self.directive_count == MAX_DIRECTIVES + 1 {
                            let message = format!("there are more than {MAX_DIRECTIVES} using-directives");
                            sink.push(Diagnostic::error("directive-limit", path.span, message));
                            self.directive_count += 1;
                        }
                    }
                    None => {
                        let span = path.segments.last().map_or(path.span, |last| last.span);
                        sink.push(unknown_namespace(path, span));
                    }
                },
                ItemKind::Empty => {}
                _ => self.add_item(ns, item),
            }
        }
    }

    fn add_directive(&mut self, ns: NsId, target: NsId) {
        let directives = &mut self.members.entry(ns).or_default().directives;
        if target != ns && !directives.contains(&target) {
            self.directive_count += usize::from(self.directive_count <= MAX_DIRECTIVES);
            if self.directive_count <= MAX_DIRECTIVES {
                directives.push(target);
            }
        }
    }

    fn open_namespace(&mut self, parent: NsId, name: Option<Name>, is_inline: bool) -> NsId {
        // All parts of an anonymous namespace are one; it goes by the empty name.
        let key = name.unwrap_or(Name::EMPTY);
        if let Some(existing) = namespace_among(&self.direct_decls(parent, key)) {
            return existing;
        }
        let id = NsId(self.first_ns + self.namespaces.len() as u32);
        self.namespaces.push(NsInfo { name, parent: Some(parent), is_inline });
        self.declare(parent, key, Decl::Namespace(id));
        self.named.entry(key).or_default().push(id);
        if is_inline || name.is_none() {
            self.add_directive(parent, id);
        }
        id
    }

    fn declare(&mut self, ns: NsId, name: Name, decl: Decl) {
        let decls = self.members.entry(ns).or_default().names.entry(name).or_default();
        if decls.is_empty() {
            self.declared.push((ns, name));
        }
        decls.push(decl);
    }

    fn add_item(&mut self, ns: NsId, item: Item) {
        let id = ItemId(self.first_item + self.items.len() as u32);
        match &item.kind {
            ItemKind::Function(function) => self.add_function(ns, id, function),
            ItemKind::Record(record) => self.add_record(ns, id, record),
            ItemKind::DeductionGuide(guide) => {
                if let FunctionName::Name(class) = guide.name {
                    self.specialisations.entry(class).or_default().push(id);
                }
            }
            ItemKind::Enum(enumeration) => self.add_enum(ns, id, enumeration, Decl::Item(id)),
            ItemKind::Alias(alias) => {
                self.declare(ns, alias.name, Decl::Item(id));
                self.add_tag(ns, id, &alias.ty, Some(alias.name));
            }
            ItemKind::Variable(variable) => {
                let declarator = &variable.declarator;
                if let Some(scope) = &declarator.scope {
                    self.add_out_of_line(scope, id);
                } else if declarator.specialisation.is_some() {
                    self.specialisations.entry(declarator.name).or_default().push(id);
                } else {
                    self.declare(ns, declarator.name, Decl::Item(id));
                }
                self.add_tag(ns, id, &variable.ty, None);
            }
            ItemKind::UsingDeclaration(using) => {
                if let Some(last) = using.path.segments.last() {
                    self.declare(ns, segment_key(last), Decl::Using(id));
                }
            }
            _ => {}
        }
        self.items.push(Entry { item, ns });
    }

    fn add_out_of_line(&mut self, scope: &Path, id: ItemId) {
        if let Some(last) = scope.segments.last() {
            self.out_of_line.entry(last.name).or_default().push(id);
        }
    }

    fn add_function(&mut self, ns: NsId, id: ItemId, function: &Function) {
        let Some(key) = function_key(&function.name) else { return };
        if let Some(scope) = &function.scope {
            // `S<T>::f` or, in a definition outside of its namespace, `n::f`.
            match self.find_namespace(ns, scope) {
                Some(target) => self.declare(target, key, Decl::Item(id)),
                None => self.add_out_of_line(scope, id),
            }
        } else {
            self.declare(ns, key, Decl::Item(id));
        }
    }

    fn add_record(&mut self, ns: NsId, id: ItemId, record: &Record) {
        let Some(name) = record.name else { return };
        if record.specialisation.is_some() {
            self.specialisations.entry(name).or_default().push(id);
        } else if let Some(scope) = &record.scope {
            match self.find_namespace(ns, scope) {
                Some(target) => self.declare(target, name, Decl::Item(id)),
                None => self.add_out_of_line(scope, id),
            }
        } else {
            self.declare(ns, name, Decl::Item(id));
        }
    }

    fn add_enum(&mut self, ns: NsId, id: ItemId, enumeration: &Enum, decl: Decl) {
        if let Some(name) = enumeration.name {
            self.declare(ns, name, decl);
        }
        if enumeration.is_scoped {
            return;
        }
        for (n, enumerator) in enumeration.enumerators.iter().flatten().enumerate() {
            self.declare(ns, enumerator.name, Decl::Enumerator(id, n as u32));
        }
    }

    fn add_tag(&mut self, ns: NsId, id: ItemId, ty: &Type, alias: Option<Name>) {
        match tag_of(ty) {
            Some(Tag::Record(record)) => {
                if let Some(name) = record.name
                    && Some(name) != alias
                {
                    self.declare(ns, name, Decl::Tag(id));
                }
            }
            Some(Tag::Enum(enumeration)) => {
                let is_alias = alias.is_some() && enumeration.name == alias;
                if is_alias {
                    let unnamed = Enum { name: None, ..Enum::clone(enumeration) };
                    self.add_enum(ns, id, &unnamed, Decl::Tag(id));
                } else {
                    self.add_enum(ns, id, enumeration, Decl::Tag(id));
                }
            }
            None => {}
        }
    }
}
