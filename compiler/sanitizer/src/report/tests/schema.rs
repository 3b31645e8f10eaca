//! SARIF against the official JSON schema, which the crate `serde-sarif` ships.

use std::path::PathBuf;
use std::sync::OnceLock;

use jsonschema::Validator;

use super::{all, report, sources, suppressed};

/// The schema, where cargo has unpacked the crate.
fn schema_file() -> PathBuf {
    let mut command = cargo_metadata::MetadataCommand::new();
    command.manifest_path(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
    let metadata = command.exec().expect("the workspace has metadata");
    let package = metadata.packages.iter().find(|package| package.name.as_str() == "serde-sarif");
    let manifest = &package.expect("it is a development dependency").manifest_path;
    manifest.with_file_name("src").join("schema.json").into_std_path_buf()
}

fn validator() -> &'static Validator {
    static VALIDATOR: OnceLock<Validator> = OnceLock::new();
    VALIDATOR.get_or_init(|| {
        let text = std::fs::read_to_string(schema_file()).expect("the crate ships the schema");
        // The pattern of languages, which reports do not name, has a stray bracket that is no valid
        // expression.
        let text = text.replace("[a-zA-Z]{2}]?$", "[a-zA-Z]{2}$");
        let schema = serde_json::from_str(&text).expect("it is JSON");
        jsonschema::draft7::options().should_validate_formats(true).build(&schema).expect("it is a schema")
    })
}

/// Panics with every violation.
pub(super) fn validate(sarif: &str) {
    let document = serde_json::from_str(sarif).expect("it is JSON");
    let errors = validator().iter_errors(&document);
    let errors: Vec<String> = errors.map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

#[test]
fn sarif_is_valid() {
    validate(&suppressed().sarif(&sources()));
    validate(&report(all(), None).sarif(&sources()));
    validate(&report(Vec::new(), None).sarif(&sources()));
    validate(&report(all(), Some("stopped")).sarif(&sources()));
}

#[test]
fn the_schema_refuses_what_is_wrong() {
    let valid: serde_json::Value = serde_json::from_str(&suppressed().sarif(&sources())).expect("it is JSON");
    let mut wrong = valid.clone();
    wrong["runs"][0]["results"][0]["level"] = "bad".into();
    assert!(!validator().is_valid(&wrong));
    let mut wrong = valid;
    wrong["runs"][0]["results"][0]["message"] = "text".into();
    assert!(!validator().is_valid(&wrong));
}
