//! The symbol table: which names each namespace declares, before anything is checked.
//!
//! It is built in layers: one for the library, made once per process and shared, and one for each
//! user's program, which may re-open the library's namespaces. A layer owns its declarations; ids run
//! on from the layer below, so that one id space covers both. Invariant: a layer is immutable once
//! built, and nothing in it depends on types. `build` makes layers; here is what they are and answer.

mod build;
mod visible;

pub(super) use visible::Level;

use crate::ast::{Enum, FunctionName, Item, ItemKind, OperatorName, Path, Record, Type, TypeKind};
use crate::token::Name;
use anymetal_diagnostics::Span;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A declaration of either layer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct ItemId(pub(super) u32);

/// A namespace of either layer; 0 is the global one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct NsId(pub(super) u32);

impl NsId {
    pub(super) const GLOBAL: Self = Self(0);
}

/// What a name in a namespace stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Decl {
    /// The declaration itself.
    Item(ItemId),
    /// The n-th enumerator of the enumeration that the item declares.
    Enumerator(ItemId, u32),
    /// The record or enumeration written inside the type of an alias or variable.
    Tag(ItemId),
    /// A namespace.
    Namespace(NsId),
    /// `using a::b;`
    Using(ItemId),
}

/// A declaration and where it stands.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) item: Item,
    pub(super) ns: NsId,
}

/// The names of one namespace, as far as one layer declares them.
#[derive(Debug, Default)]
pub(super) struct Members {
    names: FxHashMap<Name, Vec<Decl>>,
    /// `using namespace`, and the inline and anonymous namespaces within.
    directives: Vec<NsId>,
}

#[derive(Debug)]
struct NsInfo {
    name: Option<Name>,
    parent: Option<NsId>,
    is_inline: bool,
}

/// One layer.
#[derive(Debug, Default)]
pub(super) struct Layer {
    below: Option<Arc<Layer>>,
    first_item: u32,
    first_ns: u32,
    items: Vec<Entry>,
    namespaces: Vec<NsInfo>,
    /// Directives, up to the limit.
    directive_count: usize,
    members: FxHashMap<NsId, Members>,
    /// The names in `members`, in the order of their first declarations.
    declared: Vec<(NsId, Name)>,
    /// This layer's namespaces by name.
    named: FxHashMap<Name, Vec<NsId>>,
    specialisations: FxHashMap<Name, Vec<ItemId>>,
    out_of_line: FxHashMap<Name, Vec<ItemId>>,
}

/// The key under which a function is declared: operators have names too.
pub(super) fn function_key(name: &FunctionName) -> Option<Name> {
    match name {
        FunctionName::Name(name) => Some(*name),
        FunctionName::Operator(op) => Some(operator_key(op)),
        FunctionName::Constructor(_) => Some(Name::new("(constructor)")),
        FunctionName::Destructor => None,
    }
}

/// The key of an operator function.
pub(super) fn operator_key(op: &OperatorName) -> Name {
    use crate::ast::UnaryOp;
    let text = match op {
        OperatorName::Binary(op) => return Name::new(&format!("operator{}", super::spelling::binary(*op))),
        OperatorName::Unary(UnaryOp::Not) => "operator!",
        OperatorName::Unary(UnaryOp::BitNot) => "operator~",
        OperatorName::Unary(UnaryOp::Minus) => "operator-",
        OperatorName::Unary(UnaryOp::Plus) => "operator+",
        OperatorName::Unary(UnaryOp::Deref) => "operator*",
        OperatorName::Unary(UnaryOp::AddressOf) => "operator&",
        OperatorName::Unary(UnaryOp::PreIncrement) | OperatorName::Increment { decrement: false } => {
            "operator++"
        }
        OperatorName::Unary(UnaryOp::PreDecrement) | OperatorName::Increment { decrement: true } => {
            "operator--"
        }
        OperatorName::Assign(op) => match op.0 {
            None => "operator=",
            Some(op) => return Name::new(&format!("operator{}=", super::spelling::binary(op))),
        },
        OperatorName::Call => "operator()",
        OperatorName::Index => "operator[]",
        OperatorName::Arrow => "operator->",
        OperatorName::Conversion(_) => "(conversion)",
        OperatorName::Literal(suffix) => return Name::new(&format!("operator\"\"{suffix}")),
    };
    Name::new(text)
}

/// The record or enumeration written inside a type.
pub(super) enum Tag<'t> {
    Record(&'t Arc<Record>),
    Enum(&'t Arc<Enum>),
}

/// Finds the tag in `struct S {…} * x[4]`.
pub(super) fn tag_of(ty: &Type) -> Option<Tag<'_>> {
    match &ty.kind {
        TypeKind::Record(record) => Some(Tag::Record(record)),
        TypeKind::Enum(enumeration) => Some(Tag::Enum(enumeration)),
        TypeKind::Pointer(inner)
        | TypeKind::Array(inner, _)
        | TypeKind::Reference { referent: inner, .. } => tag_of(inner),
        _ => None,
    }
}

/// The namespace among the declarations of a name.
fn namespace_among(decls: &[(Decl, NsId)]) -> Option<NsId> {
    decls.iter().find_map(|(decl, _)| if let Decl::Namespace(id) = *decl { Some(id) } else { None })
}

impl Layer {
    /// The declaration.
    pub(super) fn entry(&self, id: ItemId) -> &Entry {
        match &self.below {
            Some(below) if id.0 < self.first_item => below.entry(id),
            _ => &self.items[(id.0 - self.first_item) as usize],
        }
    }

    /// Whether a place is in the files of the layer below, the Metal library.
    pub(super) fn is_below(&self, place: Span) -> bool {
        let mut layers = std::iter::successors(self.below.as_deref(), |layer| layer.below.as_deref());
        layers.any(|layer| layer.items.iter().any(|entry| entry.item.span.file == place.file))
    }

    /// Whether a declaration is of this layer.
    pub(super) fn is_own(&self, decl: Decl) -> bool {
        match decl {
            Decl::Item(id) | Decl::Enumerator(id, _) | Decl::Tag(id) | Decl::Using(id) => {
                id.0 >= self.first_item
            }
            Decl::Namespace(ns) => ns.0 >= self.first_ns,
        }
    }

    /// Where a declaration is; nowhere for a namespace, which has several places.
    pub(super) fn span(&self, decl: Decl) -> Span {
        match decl {
            Decl::Item(id) | Decl::Enumerator(id, _) | Decl::Tag(id) | Decl::Using(id) => {
                self.entry(id).item.span
            }
            Decl::Namespace(_) => Span::NONE,
        }
    }

    /// Whether a declaration is of a class or an enumeration.
    pub(super) fn is_tag(&self, decl: Decl) -> bool {
        match decl {
            Decl::Item(id) => matches!(self.entry(id).item.kind, ItemKind::Record(_) | ItemKind::Enum(_)),
            Decl::Tag(_) => true,
            Decl::Enumerator(..) | Decl::Namespace(_) | Decl::Using(_) => false,
        }
    }

    /// The class or enumeration written inside the type of an alias or a variable.
    pub(super) fn tag_of_item(&self, id: ItemId) -> Option<Tag<'_>> {
        match &self.entry(id).item.kind {
            ItemKind::Alias(alias) => tag_of(&alias.ty),
            ItemKind::Variable(variable) => tag_of(&variable.ty),
            _ => None,
        }
    }

    /// The enumeration that an item declares.
    pub(super) fn enum_of_item(&self, id: ItemId) -> Option<&Enum> {
        match &self.entry(id).item.kind {
            ItemKind::Enum(enumeration) => Some(enumeration),
            _ => match self.tag_of_item(id)? {
                Tag::Enum(enumeration) => Some(enumeration),
                Tag::Record(_) => None,
            },
        }
    }

    /// This layer's own declarations.
    pub(super) fn own_items(&self) -> impl Iterator<Item = (ItemId, &Entry)> {
        self.items.iter().enumerate().map(|(n, entry)| (ItemId(self.first_item + n as u32), entry))
    }

    /// The names that this layer declares in each namespace, with their declarations in the order of the
    /// source.
    pub(super) fn own_names(&self) -> impl Iterator<Item = (Name, &[Decl])> {
        self.declared.iter().map(|(ns, name)| (*name, self.members[ns].names[name].as_slice()))
    }

    fn ns_info(&self, id: NsId) -> &NsInfo {
        match &self.below {
            Some(below) if id.0 < self.first_ns => below.ns_info(id),
            _ => &self.namespaces[(id.0 - self.first_ns) as usize],
        }
    }

    /// The enclosing namespace.
    pub(super) fn parent(&self, ns: NsId) -> Option<NsId> {
        self.ns_info(ns).parent
    }

    /// `a::b::`, empty for the global namespace; anonymous ones are left out.
    pub(super) fn prefix(&self, ns: NsId) -> String {
        let info = self.ns_info(ns);
        let Some(parent) = info.parent else { return String::new() };
        let outer = self.prefix(parent);
        match info.name {
            Some(name) => format!("{outer}{name}::"),
            None => outer,
        }
    }

    /// Calls `f` for each declaration of `name` in the namespace itself, lower layer first.
    pub(super) fn own_decls(&self, ns: NsId, name: Name, f: &mut impl FnMut(Decl)) {
        if let Some(below) = &self.below {
            below.own_decls(ns, name, f);
        }
        if let Some(decls) = self.members.get(&ns).and_then(|members| members.names.get(&name)) {
            decls.iter().copied().for_each(f);
        }
    }

    /// The namespaces that directives in this one nominate, and its inline and anonymous namespaces.
    fn directives(&self, ns: NsId) -> Vec<NsId> {
        let below = self.below.as_ref().map_or_else(Vec::new, |below| below.directives(ns));
        let own = self.members.get(&ns).into_iter().flat_map(|members| &members.directives);
        // Each layer has a namespace once.
        let new: Vec<NsId> = own.copied().filter(|target| !below.contains(target)).collect();
        [below, new].concat()
    }

    /// The namespace a path names, seen from `from`.
    pub(super) fn find_namespace(&self, from: NsId, path: &Path) -> Option<NsId> {
        let (first, rest) = path.segments.split_first()?;
        if path.segments.iter().any(|segment| segment.args.is_some() || segment.operator.is_some()) {
            return None;
        }
        let mut ns = if path.global {
            namespace_among(&self.qualified_decls(NsId::GLOBAL, first.name))?
        } else if let Some(only) = self.only_namespace(from, first.name) {
            only
        } else {
            let levels = self.levels(from, &[]);
            levels.iter().find_map(|level| namespace_among(&level.decls(self, first.name)))?
        };
        for segment in rest {
            ns = namespace_among(&self.qualified_decls(ns, segment.name))?;
        }
        Some(ns)
    }

    /// The specialisations written of templates of that name, anywhere.
    pub(super) fn specialisations(&self, name: Name) -> Vec<ItemId> {
        let mut all = self.below.as_ref().map_or_else(Vec::new, |below| below.specialisations(name));
        all.extend(self.specialisations.get(&name).into_iter().flatten());
        all
    }

    /// Members defined outside of classes of that name.
    pub(super) fn out_of_line(&self, class: Name) -> Vec<ItemId> {
        let mut all = self.below.as_ref().map_or_else(Vec::new, |below| below.out_of_line(class));
        all.extend(self.out_of_line.get(&class).into_iter().flatten());
        all
    }

    /// All names of a namespace, for suggestions.
    pub(super) fn names(&self, ns: NsId, out: &mut Vec<Name>) {
        if let Some(below) = &self.below {
            below.names(ns, out);
        }
        if let Some(members) = self.members.get(&ns) {
            // Only feeds the nearest-name search, whose result does not depend on the order except
            // among equals; sorting makes that stable too.
            #[allow(clippy::iter_over_hash_type, reason = "sorted right below")]
            for name in members.names.keys() {
                out.push(*name);
            }
            out.sort_by_key(|name| name.as_str());
        }
    }
}
