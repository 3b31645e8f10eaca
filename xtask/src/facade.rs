//! The rule on the public crate: few names at its root.

use syn::{Attribute, Item, UseTree, Visibility};

use crate::source_tree::SourceFile;

/// The root of the public crate.
const ROOT: &str = "anymetal/src/lib.rs";

/// Names that the root may have, modules included: what a reader of the documentation takes in on one page.
const MOST_NAMES: usize = 62;

/// Too many public names at the root.
pub(crate) fn check(files: &[SourceFile]) -> Vec<String> {
    let Some(root) = files.iter().find(|file| file.path == ROOT) else {
        return vec![format!("{ROOT}: there is no such file")];
    };
    match names(&root.text) {
        Ok(names) if names.len() > MOST_NAMES => {
            let (count, modules) = (names.len(), "move some to a module");
            vec![format!("{ROOT}: {count} public names at the root, more than {MOST_NAMES}; {modules}")]
        }
        Ok(_) => Vec::new(),
        Err(error) => vec![format!("{ROOT}: {error}")],
    }
}

/// The public names of a file's items, without hidden ones.
fn names(text: &str) -> syn::Result<Vec<String>> {
    let mut names = Vec::new();
    for item in syn::parse_file(text)?.items {
        match item {
            Item::Use(item) if is_public(&item.vis) && !is_hidden(&item.attrs) => {
                leaves(&item.tree, &mut names);
            }
            Item::Mod(item) if is_public(&item.vis) && !is_hidden(&item.attrs) => {
                names.push(item.ident.to_string());
            }
            _ => {}
        }
    }
    Ok(names)
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

fn is_hidden(attributes: &[Attribute]) -> bool {
    let is_hidden = |attribute: &Attribute| {
        let words = attribute.meta.require_list().map(|list| list.tokens.to_string());
        attribute.path().is_ident("doc") && words.is_ok_and(|words| words == "hidden")
    };
    attributes.iter().any(is_hidden)
}

/// The names that a `use` brings in.
fn leaves(tree: &UseTree, names: &mut Vec<String>) {
    match tree {
        UseTree::Path(path) => leaves(&path.tree, names),
        UseTree::Name(name) => names.push(name.ident.to_string()),
        UseTree::Rename(name) => names.push(name.rename.to_string()),
        UseTree::Glob(_) => names.push("*".to_owned()),
        UseTree::Group(group) => group.items.iter().for_each(|tree| leaves(tree, names)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_leaves_of_public_items() {
        let text = "mod a; pub mod b; #[doc(hidden)] pub mod c; pub use d::{E, f::G as H}; use i::J;\n\
                    pub(crate) use k::L; pub use m::N;";
        assert_eq!(names(text).expect("it parses"), ["b", "E", "H", "N"]);
    }
}
