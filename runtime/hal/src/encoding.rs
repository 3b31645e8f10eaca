//! The byte encoding of an artifact, for the disk cache.
//!
//! Layout: magic, version, header length, code length, checksum (all little-endian), a JSON header, the code.
//! Invariant: [`decode`] answers any bytes with an artifact that [`encode`] made, or with an error; it never
//! panics and never allocates more than the input's own size announces. Machine code, PTX and source are
//! stored: the interpreter needs its compiler.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::artifact::{Artifact, ArtifactCode, ArtifactTarget, FaultSite, KernelInfo};
use crate::metal_source::{MetalOptions, MetalSource};

const MAGIC: [u8; 8] = *b"anymetal";
/// Raised whenever the header's meaning changes.
const VERSION: u32 = 6;
/// Magic, version, header length, code length, checksum.
const PREFIX_BYTES: usize = 8 + 4 + 4 + 8 + 8;

/// Why an artifact cannot be encoded or decoded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EncodingError {
    /// Interpreter artifacts have no bytes.
    #[error("an artifact for the interpreter has no encoding")]
    NoObjectCode,
    /// Too large for the format's fields.
    #[error("the artifact's header is too large to encode")]
    TooLarge,
    /// The bytes do not start like an artifact.
    #[error("not an encoded artifact")]
    NotAnArtifact,
    /// Another version wrote them.
    #[error("encoded by version {found} of the format, this is version {expected}")]
    WrongVersion {
        /// The version in the bytes.
        found: u32,
        /// The version of this build.
        expected: u32,
    },
    /// They end too early, go on too long, or differ from what was written.
    #[error("the encoded artifact is damaged")]
    Damaged,
    /// The header is not what this version writes.
    #[error("the header of the encoded artifact is malformed")]
    Header(#[source] serde_json::Error),
}

/// All of an artifact but its code.
#[derive(Serialize, Deserialize)]
struct Header<'a> {
    target: std::borrow::Cow<'a, ArtifactTarget>,
    code: CodeKind,
    /// How source is compiled.
    options: Option<std::borrow::Cow<'a, MetalOptions>>,
    kernels: std::borrow::Cow<'a, [KernelInfo]>,
    fault_sites: std::borrow::Cow<'a, [FaultSite]>,
    fingerprint: std::borrow::Cow<'a, str>,
}

/// What the bytes after the header are.
#[derive(Clone, Copy, Serialize, Deserialize)]
enum CodeKind {
    Object,
    Ptx,
    Source,
}

/// The bytes of an artifact with object code, PTX or source.
pub fn encode(artifact: &Artifact) -> Result<Vec<u8>, EncodingError> {
    let (kind, code): (CodeKind, &[u8]) = match &artifact.code {
        ArtifactCode::Object(code) => (CodeKind::Object, code),
        ArtifactCode::Ptx(text) => (CodeKind::Ptx, text.as_bytes()),
        ArtifactCode::Source(source) => (CodeKind::Source, source.text.as_bytes()),
        ArtifactCode::Interpreter(_) => return Err(EncodingError::NoObjectCode),
    };
    let options = match &artifact.code {
        ArtifactCode::Source(source) => Some(std::borrow::Cow::Borrowed(&source.options)),
        _ => None,
    };
    let header = Header {
        target: std::borrow::Cow::Borrowed(&artifact.target),
        code: kind,
        options,
        kernels: artifact.kernels.as_slice().into(),
        fault_sites: artifact.fault_sites.as_slice().into(),
        fingerprint: artifact.fingerprint.as_str().into(),
    };
    let header = serde_json::to_vec(&header).map_err(EncodingError::Header)?;
    let header_len = u32::try_from(header.len()).map_err(|_| EncodingError::TooLarge)?;
    let mut bytes = Vec::with_capacity(PREFIX_BYTES + header.len() + code.len());
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&header_len.to_le_bytes());
    bytes.extend_from_slice(&(code.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&checksum(&[&header, code]).to_le_bytes());
    bytes.extend_from_slice(&header);
    bytes.extend_from_slice(code);
    Ok(bytes)
}

/// The artifact that [`encode`] made those bytes from.
pub fn decode(bytes: &[u8]) -> Result<Artifact, EncodingError> {
    let (prefix, body) = bytes.split_at_checked(PREFIX_BYTES).ok_or(EncodingError::NotAnArtifact)?;
    if prefix[..8] != MAGIC {
        return Err(EncodingError::NotAnArtifact);
    }
    let word = |at: usize| u32::from_le_bytes([prefix[at], prefix[at + 1], prefix[at + 2], prefix[at + 3]]);
    let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
    let (version, header_len, code_len, sum) = (word(8), word(12), long(16), long(24));
    if version != VERSION {
        return Err(EncodingError::WrongVersion { found: version, expected: VERSION });
    }
    let (header, code) = body.split_at_checked(header_len as usize).ok_or(EncodingError::Damaged)?;
    if code.len() as u64 != code_len || checksum(&[header, code]) != sum {
        return Err(EncodingError::Damaged);
    }
    let header: Header<'_> = serde_json::from_slice(header).map_err(EncodingError::Header)?;
    let code = match header.code {
        CodeKind::Object => ArtifactCode::Object(Arc::from(code)),
        CodeKind::Ptx => ArtifactCode::Ptx(text(code)?),
        CodeKind::Source => {
            let options = header.options.ok_or(EncodingError::Damaged)?.into_owned();
            ArtifactCode::Source(Arc::new(MetalSource { text: text(code)?, options }))
        }
    };
    Ok(Artifact {
        target: header.target.into_owned(),
        code,
        kernels: header.kernels.into_owned(),
        fault_sites: header.fault_sites.into_owned(),
        fingerprint: header.fingerprint.into_owned(),
    })
}

fn text(code: &[u8]) -> Result<Arc<str>, EncodingError> {
    Ok(Arc::from(std::str::from_utf8(code).map_err(|_| EncodingError::Damaged)?))
}

/// A 64-bit multiply-and-rotate sum over 8-byte words. It finds damage; it does not defend against an
/// attacker, who could as well write another program into the user's cache folder.
pub fn checksum(parts: &[&[u8]]) -> u64 {
    let mut sum: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut mix = |word: u64| sum = (sum ^ word).wrapping_mul(0xff51_afd7_ed55_8ccd).rotate_left(29);
    for part in parts {
        let (words, rest) = part.as_chunks::<8>();
        words.iter().for_each(|word| mix(u64::from_le_bytes(*word)));
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        mix(u64::from_le_bytes(last));
        mix(part.len() as u64);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::{
        Access, AccessKind, AddressSpace, ArgumentInfo, ArgumentKind, ElementType, ScalarType,
    };
    use crate::metal_source::{MathMode, MetalConstant};

    fn sample() -> Artifact {
        let mut kernel = KernelInfo::new("saxpy", "anymetal.saxpy");
        kernel.arguments.push(ArgumentInfo {
            index: 2,
            name: "a".into(),
            kind: ArgumentKind::Buffer,
            address_space: AddressSpace::Constant,
            type_name: "float".into(),
            element: ElementType::Scalar(ScalarType::F32),
            element_size: 4,
            element_align: 4,
            min_bytes: 4,
            is_reference: true,
            access: Access::Read,
            enabled: true,
            slot: 0,
            value_words: 0,
        });
        let site = FaultSite {
            kernel: "saxpy".into(),
            argument: Some(2),
            argument_name: "a".into(),
            address_space: AddressSpace::Device,
            kind: AccessKind::Store,
            access_bytes: 4,
            element_bytes: 4,
            file: "saxpy.metal".into(),
            line: 3,
            column: 9,
        };
        Artifact {
            target: ArtifactTarget::Cpu { triple: "x".into(), cpu: "y".into(), features: String::new() },
            code: ArtifactCode::Object(Arc::from(&b"\x7fELF and more"[..])),
            kernels: vec![kernel],
            fault_sites: vec![site],
            fingerprint: "f00".into(),
        }
    }

    #[test]
    fn an_artifact_survives_the_round_trip() {
        let artifact = sample();
        let decoded = decode(&encode(&artifact).unwrap()).unwrap();
        assert_eq!(decoded.target, artifact.target);
        assert_eq!(decoded.kernels, artifact.kernels);
        assert_eq!(decoded.fault_sites, artifact.fault_sites);
        assert_eq!(decoded.fingerprint, artifact.fingerprint);
        let (ArtifactCode::Object(left), ArtifactCode::Object(right)) = (&decoded.code, &artifact.code)
        else {
            panic!("the kind of code changed");
        };
        assert_eq!(left, right);
    }

    #[test]
    fn ptx_stays_ptx() {
        let target = ArtifactTarget::Nvidia { sm: 80 };
        let artifact = Artifact { target, code: ArtifactCode::Ptx(Arc::from(".version 7.0")), ..sample() };
        let decoded = decode(&encode(&artifact).unwrap()).unwrap();
        assert_eq!(decoded.target, artifact.target);
        assert!(matches!(&decoded.code, ArtifactCode::Ptx(text) if &**text == ".version 7.0"));
    }

    #[test]
    fn source_keeps_its_options() {
        let constants = vec![MetalConstant { index: 3, scalar: ScalarType::I16, bits: vec![0xfffe, 1] }];
        let options = MetalOptions { math_mode: MathMode::Relaxed, language_version: 310, constants };
        let source = Arc::new(MetalSource { text: Arc::from("kernel void k() {}"), options });
        let code = ArtifactCode::Source(Arc::clone(&source));
        let artifact = Artifact { target: ArtifactTarget::Metal, code, ..sample() };
        let decoded = decode(&encode(&artifact).unwrap()).unwrap();
        assert_eq!(decoded.target, ArtifactTarget::Metal);
        assert!(matches!(&decoded.code, ArtifactCode::Source(known) if *known == source));
    }

    #[test]
    fn ptx_that_is_no_text_is_damaged() {
        let code = ArtifactCode::Object(Arc::from(&b"\xff\xfe"[..]));
        let bytes = encode(&Artifact { code, ..sample() }).unwrap();
        let end = bytes.len() - 2;
        let header = String::from_utf8(bytes[PREFIX_BYTES..end].to_vec()).unwrap();
        let header = header.replace("\"Object\"", "\"Ptx\"").into_bytes();
        let mut forged = bytes[..PREFIX_BYTES].to_vec();
        forged[12..16].copy_from_slice(&(header.len() as u32).to_le_bytes());
        forged[24..32].copy_from_slice(&checksum(&[&header, b"\xff\xfe"]).to_le_bytes());
        forged.extend_from_slice(&header);
        forged.extend_from_slice(b"\xff\xfe");
        assert!(matches!(decode(&forged), Err(EncodingError::Damaged)));
    }

    #[test]
    fn any_flipped_byte_and_any_cut_is_an_error() {
        let bytes = encode(&sample()).unwrap();
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x40;
            assert!(decode(&damaged).is_err(), "byte {at} flipped");
            assert!(decode(&bytes[..at]).is_err(), "cut at {at}");
        }
        let mut longer = bytes;
        longer.push(0);
        assert!(matches!(decode(&longer), Err(EncodingError::Damaged)));
    }
}
