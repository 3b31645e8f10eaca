//! Libraries as data: source in place of Apple's compiled `.metallib` format.
//!
//! Data that [`PackedSource::to_bytes`] writes starts and ends as Apple's does (`MTLB`, `ENDT`), because
//! programs check that, and holds source with the flags of its compiler. Sources as plain text are read too.

use anymetal::{CompileOptions, MathMode};

/// The first bytes of a library that Apple's compiler made.
pub(crate) const COMPILED: [u8; 4] = *b"MTLB";

/// The last bytes of such a library.
const END: [u8; 4] = *b"ENDT";

/// The bytes after [`COMPILED`] in packed sources.
const MARK: [u8; 12] = *b"anymetal\x01\0\0\0";

/// Source with the flags of its compiler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PackedSource {
    pub(crate) source: String,
    /// As on the command line of Apple's `metal`.
    pub(crate) flags: String,
}

/// Why data is not a library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotPacked {
    /// Made by Apple's compiler.
    Compiled,
    /// Packed source of which bytes are missing or wrong, or no text.
    Invalid,
}

impl NotPacked {
    pub(crate) fn text(self) -> &'static str {
        match self {
            NotPacked::Compiled => "Apple's compiled libraries are not read; give the source",
            // Apple's text.
            NotPacked::Invalid => "Invalid library file",
        }
    }
}

impl PackedSource {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let length = |text: &str| (text.len() as u64).to_le_bytes();
        let (flags, source) = (self.flags.as_bytes(), self.source.as_bytes());
        [&COMPILED[..], &MARK, &length(&self.flags), &length(&self.source), flags, source, &END].concat()
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<PackedSource, NotPacked> {
        let Some(rest) = bytes.strip_prefix(&COMPILED) else {
            let source = str::from_utf8(bytes).map_err(|_| NotPacked::Invalid)?;
            return Ok(PackedSource { source: source.to_owned(), flags: String::new() });
        };
        let rest = rest.strip_prefix(&MARK).ok_or(NotPacked::Compiled)?;
        let (flags, rest) = split_length(rest).ok_or(NotPacked::Invalid)?;
        let (source, rest) = split_length(rest).ok_or(NotPacked::Invalid)?;
        let (flags, rest) = split_text(rest, flags).ok_or(NotPacked::Invalid)?;
        let (source, rest) = split_text(rest, source).ok_or(NotPacked::Invalid)?;
        if rest != END {
            return Err(NotPacked::Invalid);
        }
        Ok(PackedSource { source, flags })
    }

    /// Options with those of the flags. Flags about files and caches change nothing.
    pub(crate) fn options(&self, mut options: CompileOptions) -> CompileOptions {
        let words = words(&self.flags);
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            if word == "-D" {
                options = options.defines(rest.next().map(|text| definition(text)));
            } else if let Some(text) = word.strip_prefix("-D") {
                options = options.defines([definition(text)]);
            } else {
                options = with_flag(options, word);
            }
        }
        options
    }
}

fn split_length(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    Some((u64::from_le_bytes(*length), rest))
}

fn split_text(bytes: &[u8], length: u64) -> Option<(String, &[u8])> {
    let (text, rest) = bytes.split_at_checked(usize::try_from(length).ok()?)?;
    Some((str::from_utf8(text).ok()?.to_owned(), rest))
}

/// The words of a command line; quotation marks keep spaces together.
fn words(flags: &str) -> Vec<String> {
    let (mut words, mut word, mut is_quoted) = (Vec::new(), String::new(), false);
    for character in flags.chars() {
        match character {
            '"' => is_quoted = !is_quoted,
            ' ' | '\n' | '\t' if !is_quoted => words.push(std::mem::take(&mut word)),
            other => word.push(other),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

fn definition(text: &str) -> (String, Option<String>) {
    match text.split_once('=') {
        Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
        None => (text.to_owned(), None),
    }
}

fn with_flag(options: CompileOptions, flag: &str) -> CompileOptions {
    match flag {
        "-fno-fast-math" | "-fmetal-math-mode=safe" => options.math_mode(MathMode::Safe),
        "-fmetal-math-mode=relaxed" => options.math_mode(MathMode::Relaxed),
        "-ffast-math" | "-fmetal-math-mode=fast" => options.math_mode(MathMode::Fast),
        other => match other.strip_prefix("-std=").and_then(language_version) {
            Some(version) => options.language_version(version),
            None => options,
        },
    }
}

/// The version of a standard, `metal3.1` or `macos-metal2.0`, as `__METAL_VERSION__` has it.
fn language_version(standard: &str) -> Option<u32> {
    let (_, version) = standard.rsplit_once("metal")?;
    let (major, minor) = version.split_once('.')?;
    Some(major.parse::<u32>().ok()? * 100 + minor.parse::<u32>().ok()? * 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(flags: &str) -> PackedSource {
        PackedSource { source: "kernel void k() {}".to_owned(), flags: flags.to_owned() }
    }

    #[test]
    fn what_is_written_is_read_and_what_is_cut_off_is_invalid() {
        let whole = packed("-DA=1 -std=metal3.1").to_bytes();
        assert_eq!((&whole[..4], &whole[whole.len() - 4..]), (&b"MTLB"[..], &b"ENDT"[..]));
        assert_eq!(PackedSource::from_bytes(&whole), Ok(packed("-DA=1 -std=metal3.1")));
        for length in 16..whole.len() {
            assert_eq!(PackedSource::from_bytes(&whole[..length]), Err(NotPacked::Invalid), "{length} bytes");
        }
        assert_eq!(PackedSource::from_bytes(b"MTLB\x01\x80\x02\0\x07\0"), Err(NotPacked::Compiled));
        assert_eq!(PackedSource::from_bytes(b"kernel void k() {}"), Ok(packed("")));
    }

    #[test]
    fn flags_are_options() {
        let flags = "-fno-fast-math -std=macos-metal2.0 --driver-mode=metal -x metal -D N=4 -DM \"-DT=a b\"";
        let options = packed(flags).options(CompileOptions::new());
        let text = |name: &str, value: Option<&str>| (name.to_owned(), value.map(str::to_owned));
        assert_eq!(options.defines, [text("N", Some("4")), text("M", None), text("T", Some("a b"))]);
        assert_eq!((options.math_mode, options.language_version), (MathMode::Safe, 200));
    }
}
