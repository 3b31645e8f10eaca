//! `available!` of `objc2`: which version of the system the program is on.
//!
//! Off Apple's systems it is false for every version of macOS, so programs take their ways around what
//! is there. The edit makes it compare with the version of macOS that `NSProcessInfo` of
//! `anymetal-metal-abi` reports.

use std::path::Path;

/// The file of `objc2` with the comparison; versions before it have no `available!`.
const FILE: &str = "src/__macro_helpers/os_version.rs";

/// What is replaced, and by what.
const EDITS: [(&str, &str); 2] = [
    (
        "let version = if cfg!(target_os = \"macos\") {",
        "let version = if cfg!(any(target_os = \"macos\", not(target_vendor = \"apple\"))) {",
    ),
    (
        "#[cfg(not(target_vendor = \"apple\"))]\n    return true;",
        "#[cfg(not(target_vendor = \"apple\"))]\n    return version <= OSVersion::from_str(\"15.0\");",
    ),
];

/// Whether the crate in that folder has the file.
pub(crate) fn is_checked_by(name: &str, folder: &Path) -> bool {
    name == "objc2" && folder.join(FILE).is_file()
}

/// A source of `objc2` with the edits that it has a place for, and their number.
pub(crate) fn on_macos(path: &Path, text: &str) -> Option<String> {
    let has_all = EDITS.iter().all(|(before, _)| text.contains(before));
    (path == Path::new(FILE) && has_all)
        .then(|| EDITS.iter().fold(text.to_owned(), |text, (before, after)| text.replace(before, after)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "pub fn is_available(version: AvailableVersion) -> bool {
    let version = if cfg!(target_os = \"macos\") {
        version.macos
    } else {
        version.__others
    };
    #[cfg(not(target_vendor = \"apple\"))]
    return true;
}";

    #[test]
    fn versions_of_macos_are_compared_off_apples_systems() {
        let edited = on_macos(Path::new(FILE), SOURCE).expect("it has both places");
        assert!(edited.contains("any(target_os = \"macos\", not(target_vendor = \"apple\"))"), "{edited}");
        assert!(edited.contains("return version <= OSVersion::from_str(\"15.0\");"), "{edited}");
    }

    #[test]
    fn other_files_and_other_versions_are_left_alone() {
        assert_eq!(on_macos(Path::new("src/lib.rs"), SOURCE), None);
        assert_eq!(on_macos(Path::new(FILE), "pub fn is_available() {}"), None);
    }
}
