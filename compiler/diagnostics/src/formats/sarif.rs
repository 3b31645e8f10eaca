//! SARIF 2.1.0: names of files, and fingerprints that outlive changes elsewhere in a file.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// The schema of a document.
pub const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";
/// The folder that relative names of files start at.
pub const ROOT: &str = "%SRCROOT%";

/// The unit of columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Columns {
    /// UTF-16 code units.
    Utf16,
    /// Code points, as [`crate::LineCol`] has them.
    CodePoints,
}

/// One run of the tool.
#[derive(Clone, Debug)]
pub struct Run {
    /// The rules.
    pub rules: Vec<Value>,
    /// How the run ended.
    pub invocation: Value,
    /// The unit of columns.
    pub columns: Columns,
    /// What folder [`ROOT`] is.
    pub root: &'static str,
    /// The results.
    pub results: Vec<Value>,
}

/// A document of one run.
pub fn document(run: Run) -> String {
    let Run { rules, invocation, columns, root, results } = run;
    let columns = match columns {
        Columns::Utf16 => "utf16CodeUnits",
        Columns::CodePoints => "unicodeCodePoints",
    };
    let document = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "anymetal",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            } },
            "invocations": [invocation],
            "columnKind": columns,
            "originalUriBaseIds": { ROOT: { "description": { "text": root } } },
            "results": results,
        }],
    });
    format!("{document:#}\n")
}

/// The location of a file. A relative name is relative to [`ROOT`].
pub fn artifact(file: &str) -> Value {
    let path = slashes(file);
    let bytes = path.as_bytes();
    let has_drive = bytes.len() > 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':' && bytes[2] == b'/';
    if path.starts_with('/') {
        json!({ "uri": format!("file://{}", encoded(&path)) })
    } else if has_drive {
        json!({ "uri": format!("file:///{}:{}", &path[..1], encoded(&path[2..])) })
    } else {
        json!({ "uri": encoded(path.trim_start_matches("./")), "uriBaseId": ROOT })
    }
}

/// A path with `/` between its parts.
pub fn slashes(file: &str) -> String {
    file.replace('\\', "/")
}

/// Percent-encoded but for `/` and what URIs never reserve.
fn encoded(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'.' | b'_' | b'~') {
            uri.push(char::from(byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri
}

/// The fingerprints of a document's results. Equal texts in one document have different ones.
#[derive(Clone, Debug, Default)]
pub struct Fingerprints {
    /// How many results have a hash so far.
    known: BTreeMap<u64, u32>,
}

impl Fingerprints {
    /// The fingerprint of a result with those texts: names, and the text of lines instead of their numbers.
    pub fn of<'a>(&mut self, texts: impl IntoIterator<Item = &'a str>) -> String {
        let hash = texts.into_iter().fold(FNV_OFFSET, fnv);
        let before = self.known.entry(hash).or_default();
        *before += 1;
        format!("{hash:016x}:{before}")
    }
}

const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;

/// The 64-bit hash FNV-1a of a text and its end: the same on every machine and in every version.
fn fnv(hash: u64, text: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().chain([0xff]).fold(hash, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_uris() {
        let uri = |file: &str| artifact(file)["uri"].as_str().expect("a URI").to_owned();
        assert_eq!(uri("a b/ö%#?.metal"), "a%20b/%C3%B6%25%23%3F.metal");
        assert_eq!(uri("./a:b"), "a%3Ab");
        assert_eq!(uri("/x/y"), "file:///x/y");
        assert_eq!(uri(r"C:\x\y z"), "file:///C:/x/y%20z");
        assert_eq!(uri(r"x\y"), "x/y");
    }

    #[test]
    fn equal_results_have_different_fingerprints_that_depend_on_no_others() {
        let of = |texts: &[&str]| {
            let mut fingerprints = Fingerprints::default();
            texts.iter().map(|text| fingerprints.of([*text, "b"])).collect::<Vec<_>>()
        };
        let all = of(&["x", "y", "x"]);
        let hash = |fingerprint: &str| fingerprint.split(':').next().map(str::to_owned);
        assert_eq!(hash(&all[0]), hash(&all[2]));
        assert_ne!(all[0], all[2]);
        assert_eq!(all[1], of(&["y"])[0]);
        assert_ne!(Fingerprints::default().of(["ab", "c"]), Fingerprints::default().of(["a", "bc"]));
    }
}
