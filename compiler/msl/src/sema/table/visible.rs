//! Which namespaces a name is looked up in: after `n::` and on its own.
//!
//! `n::x` finds declarations of `n` itself before those that `using namespace` makes visible there (C++14
//! [namespace.qual]). A name on its own finds a nominated namespace's declarations as if they were in the
//! nearest namespace that encloses both it and the directive ([namespace.udir]).

use super::{Decl, Layer, NsId};
use crate::token::Name;
use rustc_hash::FxHashSet;

/// A namespace that encloses the place of a lookup, with those whose declarations appear in it.
#[derive(Clone, Debug)]
pub(in crate::sema) struct Level {
    pub(in crate::sema) ns: NsId,
    /// The namespace itself first.
    shown: Vec<NsId>,
}

impl Level {
    /// The declarations of a name at this level, and the namespace of each.
    pub(in crate::sema) fn decls(&self, table: &Layer, name: Name) -> Vec<(Decl, NsId)> {
        let mut decls = Vec::new();
        for &ns in &self.shown {
            table.own_decls(ns, name, &mut |decl| decls.push((decl, ns)));
        }
        decls
    }

    /// All names at this level, for suggestions.
    pub(in crate::sema) fn names(&self, table: &Layer, out: &mut Vec<Name>) {
        self.shown.iter().for_each(|&ns| table.names(ns, out));
    }
}

impl Layer {
    /// The namespaces from `from` outwards. Directives at `from` also nominate `nominated`.
    pub(in crate::sema) fn levels(&self, from: NsId, nominated: &[NsId]) -> Vec<Level> {
        let enclosing = std::iter::successors(Some(from), |&ns| self.parent(ns));
        let mut levels: Vec<Level> = enclosing.map(|ns| Level { ns, shown: vec![ns] }).collect();
        for at in 0..levels.len() {
            let mut reached = self.directives(levels[at].ns);
            reached.extend(nominated.iter().filter(|_| at == 0));
            // Namespaces that all nominate one another have as many directives as pairs.
            let mut seen: FxHashSet<NsId> = reached.iter().copied().collect();
            let mut next = 0;
            while next < reached.len() {
                let target = reached[next];
                next += 1;
                let level = levels[at..].iter_mut().find(|level| self.encloses(level.ns, target));
                let level = level.expect("the global namespace encloses all");
                if !level.shown.contains(&target) {
                    level.shown.push(target);
                }
                for further in self.directives(target) {
                    if seen.insert(further) {
                        reached.push(further);
                    }
                }
            }
        }
        levels
    }

    /// The declarations of `name` in a namespace and its inline namespaces, and the namespace of each.
    pub(in crate::sema) fn direct_decls(&self, ns: NsId, name: Name) -> Vec<(Decl, NsId)> {
        let mut decls = Vec::new();
        for at in self.inline_set(ns) {
            self.own_decls(at, name, &mut |decl| decls.push((decl, at)));
        }
        decls
    }

    /// The declarations that `ns::name` can mean, and the namespace of each.
    pub(in crate::sema) fn qualified_decls(&self, ns: NsId, name: Name) -> Vec<(Decl, NsId)> {
        let mut decls = Vec::new();
        let mut visited = vec![ns];
        let mut seen: FxHashSet<NsId> = visited.iter().copied().collect();
        let mut next = 0;
        while next < visited.len() {
            let at = visited[next];
            next += 1;
            let direct = self.direct_decls(at, name);
            if !direct.is_empty() {
                decls.extend(direct);
                continue;
            }
            for target in self.inline_set(at).into_iter().flat_map(|ns| self.directives(ns)) {
                if seen.insert(target) {
                    visited.push(target);
                }
            }
        }
        decls
    }

    /// A namespace and the inline namespaces in it.
    fn inline_set(&self, ns: NsId) -> Vec<NsId> {
        let mut set = vec![ns];
        let mut next = 0;
        while next < set.len() {
            let at = set[next];
            next += 1;
            let is_inline = |inner: &NsId| self.parent(*inner) == Some(at) && self.ns_info(*inner).is_inline;
            set.extend(self.directives(at).into_iter().filter(is_inline));
        }
        set
    }

    /// The namespace of that name that encloses `from` or is in one that does, if no other has the name: then
    /// directives need not be followed, which may be many.
    pub(super) fn only_namespace(&self, from: NsId, name: Name) -> Option<NsId> {
        let layers = std::iter::successors(Some(self), |layer| layer.below.as_deref());
        let mut named = layers.filter_map(|layer| layer.named.get(&name)).flatten();
        let (Some(&only), None) = (named.next(), named.next()) else { return None };
        self.parent(only).filter(|&parent| self.encloses(parent, from)).map(|_| only)
    }

    /// A namespace and those that it is a part of because it is inline, innermost first (C++14
    /// [namespace.def.9], the enclosing namespace set).
    pub(in crate::sema) fn enclosing_set(&self, ns: NsId) -> Vec<NsId> {
        let outer = |&ns: &NsId| {
            let info = self.ns_info(ns);
            info.parent.filter(|_| info.is_inline)
        };
        std::iter::successors(Some(ns), outer).collect()
    }

    /// Whether a namespace is another or one around it.
    pub(in crate::sema) fn encloses(&self, outer: NsId, inner: NsId) -> bool {
        std::iter::successors(Some(inner), |&ns| self.parent(ns)).any(|ns| ns == outer)
    }
}
