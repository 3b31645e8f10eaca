//! Files of a crate do not depend on each other in large cycles.
//!
//! A file depends on those whose modules it names in `use` or in paths. A re-export names the file that
//! declares the item, and is a dependency of the re-exporting file only if that file uses the name itself.
//! Calls of methods are not seen, and tests are not read. No file of a cycle can be understood, changed or
//! tested without the others, so strongly connected components of more than [`MAXIMUM`] files are findings.
//! [`KNOWN`] lists those that exist.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::source_tree::SourceFile;

/// The most files of a cycle.
const MAXIMUM: usize = 12;

/// The number of files of each crate that are in larger cycles. It may only fall.
const KNOWN: &[(&str, usize)] = &[
    ("anymetal", 28),
    ("compiler/codegen", 68),
    ("compiler/driver", 16),
    ("compiler/msl", 172),
    ("interfaces/cli", 17),
    ("interfaces/metal-abi", 106),
    ("testing/conformance", 20),
];

/// A file's module: the path from the root of its crate.
type ModulePath = Vec<String>;

/// The crates with more files in large cycles than [`KNOWN`], or with fewer.
pub(crate) fn check(files: &[SourceFile]) -> Vec<String> {
    let mut findings = Vec::new();
    for (folder, modules) in crates(files) {
        let mut cycles = cycles(&modules.dependencies());
        cycles.retain(|cycle| cycle.len() > MAXIMUM);
        let count: usize = cycles.iter().map(Vec::len).sum();
        let known = KNOWN.iter().find(|(name, _)| *name == folder).map_or(0, |(_, count)| *count);
        if count < known {
            findings
                .push(format!("xtask/src/cycles.rs: {folder} has {count} files in cycles: lower its number"));
        } else if count > known {
            findings.extend(cycles.iter().map(|cycle| {
                let (number, names) = (cycle.len(), cycle.join(" "));
                format!("{folder}: {number} files depend on each other in a cycle: {names}")
            }));
        }
    }
    findings
}

/// The modules of a crate, by path.
#[derive(Debug, Default)]
struct Modules<'a>(BTreeMap<ModulePath, Module<'a>>);

#[derive(Debug)]
struct Module<'a> {
    /// The file, from the crate's `src`.
    file: &'a str,
    tokens: Vec<String>,
    /// What each imported or re-exported name stands for.
    names: BTreeMap<String, ModulePath>,
    /// The paths that the file names, from the crate's root.
    used: BTreeSet<ModulePath>,
}

/// The crates, by folder. A program beside a library is a crate that uses the library, and is left out.
fn crates(files: &[SourceFile]) -> BTreeMap<&str, Modules<'_>> {
    let mut crates = BTreeMap::<&str, Modules<'_>>::new();
    for file in files.iter().filter(|file| file.path.ends_with(".rs")) {
        let Some((folder, within)) = file.path.split_once("/src/") else { continue };
        if within.starts_with("bin/") || within.ends_with("tests.rs") || within.contains("tests/") {
            continue;
        }
        // The compiler reports a file that is not Rust.
        let mut tokens = Vec::new();
        self::tokens(file.text.parse().unwrap_or_default(), &mut tokens);
        let module = Module { file: within, tokens, names: BTreeMap::new(), used: BTreeSet::new() };
        // `lib.rs` comes before `main.rs`.
        crates.entry(folder).or_default().0.entry(path_of(within)).or_insert(module);
    }
    for modules in crates.values_mut() {
        modules.read_paths();
    }
    crates
}

/// `a/b.rs` and `a/b/mod.rs` are the module `a::b`.
fn path_of(file: &str) -> ModulePath {
    let stem = file.trim_end_matches(".rs").trim_end_matches("/mod");
    match stem {
        "lib" | "main" => Vec::new(),
        stem => stem.split('/').map(str::to_owned).collect(),
    }
}

impl Modules<'_> {
    fn read_paths(&mut self) {
        let paths: BTreeSet<ModulePath> = self.0.keys().cloned().collect();
        for (path, module) in &mut self.0 {
            let mut reader = Reader { path, modules: &paths, names: BTreeMap::new(), used: BTreeSet::new() };
            let tokens: Vec<&str> = module.tokens.iter().map(String::as_str).collect();
            reader.read(&without_tests(&tokens));
            (module.names, module.used) = (reader.names, reader.used);
        }
    }

    /// The files that each file names, without itself.
    fn dependencies(&self) -> BTreeMap<&str, BTreeSet<&str>> {
        let of = |module: &Module<'_>| {
            let used = module.used.iter().map(|path| self.declaring(path, 0));
            used.filter(|file| *file != module.file).collect()
        };
        self.0.values().map(|module| (module.file, of(module))).collect()
    }

    /// The file that declares what a path from the root names.
    fn declaring(&self, path: &[String], depth: usize) -> &str {
        let mut end = path.len();
        while !self.0.contains_key(&path[..end]) {
            end = end.checked_sub(1).expect("a crate has a root");
        }
        let module = &self.0[&path[..end]];
        let target = path.get(end).and_then(|name| module.names.get(name.as_str()));
        match target {
            // Imports that lead to themselves do not compile, but this program reads them.
            Some(target) if depth < 16 && target != path => {
                let rest = path[end + 1..].iter().cloned();
                self.declaring(&target.iter().cloned().chain(rest).collect::<Vec<_>>(), depth + 1)
            }
            _ => module.file,
        }
    }
}

/// Reads the paths of one file.
struct Reader<'m> {
    path: &'m [String],
    modules: &'m BTreeSet<ModulePath>,
    names: BTreeMap<String, ModulePath>,
    used: BTreeSet<ModulePath>,
}

impl Reader<'_> {
    fn read(&mut self, tokens: &[&str]) {
        let count = |name: &str| tokens.iter().filter(|token| **token == name).count();
        let mut at = 0;
        // The depths of braces at which modules within the file end.
        let (mut depth, mut inner) = (0, Vec::new());
        while at < tokens.len() {
            match tokens[at] {
                "{" => depth += 1,
                "}" => {
                    depth -= 1;
                    inner.pop_if(|end| *end == depth);
                }
                "mod" if tokens.get(at + 2) == Some(&"{") => {
                    inner.push(depth);
                }
                "use" => {
                    let is_public = at > 0 && matches!(tokens[at - 1], "pub" | ")");
                    let end = at + tokens[at..].iter().position(|token| *token == ";").unwrap_or(0);
                    let mut imports = Vec::new();
                    tree(&tokens[at + 1..end.max(at + 1)], &mut 0, &[], &mut imports);
                    for (segments, name) in imports {
                        let Some(path) = self.absolute(&segments, inner.len()) else { continue };
                        if !is_public || count(name) > 1 {
                            self.used.insert(path.clone());
                        }
                        if inner.is_empty() {
                            self.names.insert(name.to_owned(), path);
                        }
                    }
                    at = end.max(at);
                }
                token if is_name(token) && (at == 0 || !matches!(tokens[at - 1], "::" | ".")) => {
                    let segments = path_at(tokens, at);
                    if segments.len() > 1 {
                        self.used.extend(self.absolute(&segments, inner.len()));
                    }
                    at += 2 * (segments.len() - 1);
                }
                _ => {}
            }
            at += 1;
        }
    }

    /// The path from the root; `None`: it leads to another crate or to something local. `inner` is the number
    /// of modules within the file around it.
    fn absolute(&self, segments: &[&str], inner: usize) -> Option<ModulePath> {
        let first = *segments.first()?;
        let owned =
            |segments: &[&str]| segments.iter().map(|segment| (*segment).to_owned()).collect::<Vec<_>>();
        match first {
            "crate" => Some(owned(&segments[1..])),
            "self" if inner == 0 => Some([self.path, &owned(&segments[1..])].concat()),
            "super" => {
                let ups = segments.iter().take_while(|segment| **segment == "super").count();
                let parent = self.path.len().checked_sub(ups.saturating_sub(inner))?;
                Some([&self.path[..parent], &owned(&segments[ups..])].concat())
            }
            _ => {
                let path = [self.path, &owned(segments)].concat();
                self.modules.contains(&path[..=self.path.len()]).then_some(path)
            }
        }
    }
}

/// The names of a path that begins at a token: `a::b`.
fn path_at<'a>(tokens: &[&'a str], at: usize) -> Vec<&'a str> {
    let mut segments = vec![tokens[at]];
    let mut rest = &tokens[at + 1..];
    while let ["::", name, after @ ..] = rest
        && is_name(name)
    {
        segments.push(name);
        rest = after;
    }
    segments
}

/// The imports of a tree of `use`, each with the name that it declares.
fn tree<'a>(
    tokens: &[&'a str],
    at: &mut usize,
    prefix: &[&'a str],
    imports: &mut Vec<(Vec<&'a str>, &'a str)>,
) {
    let mut path = prefix.to_vec();
    while let Some(token) = tokens.get(*at) {
        *at += 1;
        match *token {
            "::" => {}
            "{" => {
                while tokens.get(*at).is_some_and(|token| *token != "}") {
                    tree(tokens, at, &path, imports);
                    if tokens.get(*at) == Some(&",") {
                        *at += 1;
                    }
                }
                *at += 1;
                return;
            }
            "," | "}" => {
                *at -= 1;
                break;
            }
            "*" => {
                imports.push((path, "*"));
                return;
            }
            "as" => {
                let name = tokens.get(*at).copied().unwrap_or("_");
                *at += 1;
                imports.push((path, name));
                return;
            }
            "self" if !path.is_empty() => {}
            name => path.push(name),
        }
    }
    if let Some(name) = path.last().copied() {
        imports.push((path, name));
    }
}

fn is_name(token: &str) -> bool {
    token.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

/// The tokens of a file, as far as paths need them: without literals and comments.
fn tokens(stream: TokenStream, tokens: &mut Vec<String>) {
    for tree in stream {
        match tree {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::None => ("", ""),
                };
                tokens.push(open.to_owned());
                self::tokens(group.stream(), tokens);
                tokens.push(close.to_owned());
            }
            TokenTree::Ident(name) => tokens.push(name.to_string()),
            TokenTree::Punct(mark) => match tokens.last_mut() {
                Some(last) if mark.as_char() == ':' && last == ":" => last.push(':'),
                _ => tokens.push(mark.as_char().to_string()),
            },
            TokenTree::Literal(_) => tokens.push(String::new()),
        }
    }
}

/// The tokens without items that only tests have.
fn without_tests<'a>(tokens: &[&'a str]) -> Vec<&'a str> {
    const MARK: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let (mut kept, mut rest) = (Vec::new(), tokens);
    while let Some(first) = rest.first() {
        if rest.starts_with(&MARK) {
            rest = &rest[item(rest)..];
        } else {
            kept.push(*first);
            rest = &rest[1..];
        }
    }
    kept
}

/// The number of tokens of an item: to its `;`, or to the end of its block.
fn item(tokens: &[&str]) -> usize {
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate() {
        match *token {
            "{" => depth += 1,
            "}" if depth <= 1 => return at + 1,
            "}" => depth -= 1,
            ";" if depth == 0 => return at + 1,
            _ => {}
        }
    }
    tokens.len()
}

/// The strongly connected components of a graph (Tarjan's algorithm), sorted.
fn cycles<'a>(graph: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> Vec<Vec<&'a str>> {
    let mut search = Search { graph, found: BTreeMap::new(), stack: Vec::new(), cycles: Vec::new() };
    for node in graph.keys() {
        if !search.found.contains_key(node) {
            search.visit(node);
        }
    }
    search.cycles
}

struct Search<'a, 'g> {
    graph: &'g BTreeMap<&'a str, BTreeSet<&'a str>>,
    /// For each node its number, and the lowest number on the stack that it leads to.
    found: BTreeMap<&'a str, (usize, usize)>,
    stack: Vec<&'a str>,
    cycles: Vec<Vec<&'a str>>,
}

impl<'a> Search<'a, '_> {
    fn visit(&mut self, node: &'a str) -> usize {
        let number = self.found.len();
        self.found.insert(node, (number, number));
        self.stack.push(node);
        let mut lowest = number;
        for next in self.graph.get(node).into_iter().flatten() {
            let reached = match self.found.get(next) {
                None => self.visit(next),
                Some((known, _)) if self.stack.contains(next) => *known,
                Some(_) => continue,
            };
            lowest = lowest.min(reached);
        }
        self.found.insert(node, (number, lowest));
        if lowest == number {
            let start = self.stack.iter().position(|on_stack| *on_stack == node).expect("it was pushed");
            let mut cycle = self.stack.split_off(start);
            cycle.sort_unstable();
            self.cycles.push(cycle);
        }
        lowest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dependencies(files: &[(&str, &str)]) -> Vec<(String, Vec<String>)> {
        let files: Vec<SourceFile> = files
            .iter()
            .map(|(path, text)| SourceFile { path: format!("c/src/{path}"), text: (*text).to_owned() })
            .collect();
        let crates = crates(&files);
        let all = crates["c"].dependencies();
        let owned = |(file, of): (&&str, &BTreeSet<&str>)| {
            ((*file).to_owned(), of.iter().map(|file| (*file).to_owned()).collect())
        };
        all.iter().map(owned).collect()
    }

    /// The dependencies of `a/mod.rs` with that text, among these files.
    fn of(text: &str) -> Vec<String> {
        let files = [
            ("lib.rs", "mod a; mod b; pub use b::B;"),
            ("a/mod.rs", text),
            ("a/child.rs", ""),
            ("b.rs", "pub(crate) mod deep; pub(crate) use deep::D; pub struct B;"),
            ("b/deep.rs", ""),
        ];
        let all = dependencies(&files);
        all.into_iter().find(|(file, _)| file == "a/mod.rs").expect("the file is there").1
    }

    #[test]
    fn imports_and_paths_are_dependencies() {
        assert_eq!(of("use crate::b::B;"), ["b.rs"]);
        assert_eq!(of("use crate::{b::{self, deep::X as Y}, other};"), ["b.rs", "b/deep.rs", "lib.rs"]);
        assert_eq!(of("fn f() -> super::b::B { child::make(self::child::y) }"), ["a/child.rs", "b.rs"]);
        assert_eq!(of("use std::b::B; fn f(b: x::b::B) { y.b::<u8>() }"), [""; 0]);
        assert_eq!(of("mod child;"), [""; 0], "a declaration is not a use");
    }

    #[test]
    fn re_exports_lead_to_the_declaration() {
        assert_eq!(of("use crate::B;"), ["b.rs"]);
        assert_eq!(of("use crate::b::D;"), ["b/deep.rs"]);
        assert_eq!(of("pub(crate) use child::C;"), [""; 0]);
        assert_eq!(of("pub use child::C; fn f(c: C) {}"), ["a/child.rs"]);
    }

    #[test]
    fn comments_literals_and_tests_are_not_read() {
        let text = r##"
            // crate::b::B
            /* crate::b::B */ const S: &str = "crate::b::B \" crate::b::B"; const R: &str = r#"crate::b " "#;
            fn f<'a>(c: char) -> bool { c == '"' || c == '\'' || c == 'c' }
            #[cfg(test)] use crate::b::B;
            #[cfg(test)] mod tests { fn f() { crate::b::g() } }
        "##;
        assert_eq!(of(text), [""; 0]);
        assert_eq!(
            of("mod within { use super::child; fn f() { super::super::b::g() } }"),
            ["a/child.rs", "b.rs"]
        );
    }

    #[test]
    fn cycles_are_found() {
        let graph =
            [("a", vec!["b"]), ("b", vec!["c", "d"]), ("c", vec!["a"]), ("d", vec!["e"]), ("e", vec![])];
        let graph = graph.into_iter().map(|(node, next)| (node, next.into_iter().collect())).collect();
        let mut found = cycles(&graph);
        found.sort();
        assert_eq!(found, [vec!["a", "b", "c"], vec!["d"], vec!["e"]]);
    }

    #[test]
    fn a_large_cycle_is_a_finding() {
        let file = |number: usize| SourceFile {
            path: format!("c/src/m{number}.rs"),
            text: format!("use crate::m{};", (number + 1) % 13),
        };
        let root = SourceFile { path: "c/src/lib.rs".to_owned(), text: String::new() };
        let mut files: Vec<SourceFile> = (0..13).map(file).chain([root]).collect();
        assert_eq!(check(&files).len(), 1);
        files[12].text.clear();
        assert_eq!(check(&files), [""; 0]);
    }
}
