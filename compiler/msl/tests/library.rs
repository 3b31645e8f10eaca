//! The Metal library as programs see it: every kernel under `tests/msl/library` must compile to a
//! module without a single diagnostic. A file per family of headers; add calls of new functions there.

use anymetal_msl::pp::MemoryIncludes;
use anymetal_msl::{CompileOptions, Library};
use std::path::Path;

fn compile(file: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/msl/library").join(file);
    let source = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let options = CompileOptions::default();
    let (library, diagnostics) = Library::parse(file, &source, &options, &mut MemoryIncludes::default());
    assert!(diagnostics.list.is_empty(), "{}", diagnostics.render_text(false));
    let library = library.expect("a program without errors parses");
    let all = library.check_all();
    assert!(all.list.is_empty(), "{}", all.render_text(false));
    assert!(!library.kernels().is_empty(), "{file} has no kernel");
    for kernel in library.kernels() {
        if let Err(diagnostics) = library.module(&kernel.name) {
            panic!("{file}, {}:\n{}", kernel.name, diagnostics.render_text(false));
        }
    }
}

macro_rules! families {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            compile(concat!(stringify!($name), ".metal"));
        })*

        #[test]
        fn every_file_is_compiled() {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/msl/library");
            let mut files: Vec<String> = std::fs::read_dir(folder)
                .expect("the folder of library kernels is part of the repository")
                .map(|entry| entry.expect("its entries can be read").file_name().to_string_lossy().into_owned())
                .collect();
            files.sort();
            assert_eq!(files, [$(concat!(stringify!($name), ".metal")),*]);
        }
    };
}

families! {
    array atomic geometric groups integer internals logging math matrix pack relational simdgroup simdgroup_matrix texture traits types
}
