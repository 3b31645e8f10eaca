//! The printed fault matrix is what happens.

#[path = "../examples/fault_matrix/matrix.rs"]
mod matrix;

#[test]
fn the_document_is_what_happens() {
    let document = matrix::document().unwrap_or_else(|broken| panic!("{broken}"));
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/fault-matrix.md");
    let printed = std::fs::read_to_string(path).expect("the document exists");
    assert_eq!(
        document, printed,
        "if this is meant: cargo run -p anymetal-service --example fault_matrix > docs/fault-matrix.md"
    );
}
