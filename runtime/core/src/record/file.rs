//! The byte encoding of a recording.
//!
//! Layout: magic, version, header length, checksum (little-endian), a JSON header, then the blobs (buffer
//! contents and artifacts) whose lengths the header lists. Equal contents are stored once. Invariant:
//! decoding answers any bytes with a recording or an error, and allocates no more than the input's own size.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::record::{Entry, PipelineRecord, Recording};
use anymetal_hal::encoding::{self, checksum};

const MAGIC: [u8; 8] = *b"anymrec\0";
/// Raised whenever the header's meaning changes.
const VERSION: u32 = 1;
/// Magic, version, header length, checksum.
const PREFIX_BYTES: usize = 8 + 4 + 4 + 8;

/// Why a recording cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// The file cannot be read or written.
    #[error("{path}: {source}")]
    File {
        /// Its path.
        path: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// The bytes do not start like a recording.
    #[error("not a recording")]
    NotARecording,
    /// Another version wrote them.
    #[error("recorded by version {found} of the format, this is version {VERSION}")]
    WrongVersion {
        /// The version in the bytes.
        found: u32,
    },
    /// They end too early, go on too long, or differ from what was written.
    #[error("the recording is damaged")]
    Damaged,
    /// The header is not what this version writes.
    #[error("the header of the recording is malformed")]
    Header(#[source] serde_json::Error),
    /// An artifact cannot be written or read.
    #[error(transparent)]
    Artifact(#[from] encoding::EncodingError),
    /// Too large for the format's fields.
    #[error("the recording is too large to encode")]
    TooLarge,
}

#[derive(Serialize, Deserialize)]
struct Header {
    entries: Vec<Entry>,
    /// By entry, by buffer: the blob with its contents.
    contents: Vec<Vec<Option<usize>>>,
    pipelines: Vec<StoredPipeline>,
    blob_lengths: Vec<usize>,
}

#[derive(Serialize, Deserialize)]
struct StoredPipeline {
    kernel: String,
    fingerprint: String,
    artifact: Option<usize>,
}

/// Distinct blobs.
#[derive(Default)]
struct Blobs {
    bytes: Vec<Arc<[u8]>>,
    known: BTreeMap<u64, Vec<usize>>,
}

impl Blobs {
    fn add(&mut self, bytes: Arc<[u8]>) -> usize {
        let alike = self.known.entry(checksum(&[&bytes])).or_default();
        if let Some(&at) = alike.iter().find(|&&at| self.bytes[at] == bytes) {
            return at;
        }
        alike.push(self.bytes.len());
        self.bytes.push(bytes);
        self.bytes.len() - 1
    }
}

impl Recording {
    /// The bytes of the recording.
    pub fn to_bytes(&self) -> Result<Vec<u8>, RecordingError> {
        let mut blobs = Blobs::default();
        let of_entry = |entry: &Entry, blobs: &mut Blobs| {
            let contents = entry.buffers.iter().map(|buffer| buffer.contents.clone());
            contents.map(|contents| contents.map(|contents| blobs.add(contents))).collect()
        };
        let contents = self.entries.iter().map(|entry| of_entry(entry, &mut blobs)).collect();
        let mut pipelines = Vec::new();
        for PipelineRecord { kernel, fingerprint, artifact } in &self.pipelines {
            let artifact = match artifact {
                Some(artifact) => Some(blobs.add(encoding::encode(artifact)?.into())),
                None => None,
            };
            let (kernel, fingerprint) = (kernel.clone(), fingerprint.clone());
            pipelines.push(StoredPipeline { kernel, fingerprint, artifact });
        }
        let blob_lengths = blobs.bytes.iter().map(|blob| blob.len()).collect();
        let header = Header { entries: self.entries.clone(), contents, pipelines, blob_lengths };
        let header = serde_json::to_vec(&header).map_err(RecordingError::Header)?;
        let header_len = u32::try_from(header.len()).map_err(|_| RecordingError::TooLarge)?;
        let mut body = header;
        blobs.bytes.iter().for_each(|blob| body.extend_from_slice(blob));
        let mut bytes = Vec::with_capacity(PREFIX_BYTES + body.len());
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&header_len.to_le_bytes());
        bytes.extend_from_slice(&checksum(&[&body]).to_le_bytes());
        bytes.extend_from_slice(&body);
        Ok(bytes)
    }

    /// The recording that [`Recording::to_bytes`] made those bytes from.
    pub fn from_bytes(bytes: &[u8]) -> Result<Recording, RecordingError> {
        let (prefix, body) = bytes.split_at_checked(PREFIX_BYTES).ok_or(RecordingError::NotARecording)?;
        let (magic, numbers) = prefix.split_at(8);
        if magic != MAGIC {
            return Err(RecordingError::NotARecording);
        }
        let word =
            |at: usize| numbers[at..at + 4].iter().rev().fold(0, |sum, byte| sum << 8 | u32::from(*byte));
        let (version, header_len) = (word(0), word(4));
        let sum = u64::from(word(8)) | u64::from(word(12)) << 32;
        if version != VERSION {
            return Err(RecordingError::WrongVersion { found: version });
        }
        if checksum(&[body]) != sum {
            return Err(RecordingError::Damaged);
        }
        let (header, blobs) = body.split_at_checked(header_len as usize).ok_or(RecordingError::Damaged)?;
        let header: Header = serde_json::from_slice(header).map_err(RecordingError::Header)?;
        header.into_recording(blobs)
    }

    /// Writes the recording to a file.
    pub fn save(&self, path: &Path) -> Result<(), RecordingError> {
        let bytes = self.to_bytes()?;
        let write = || anymetal_files::create(path)?.write_all(&bytes);
        write().map_err(|source| file_error(path, source))
    }

    /// Reads a file that [`Recording::save`] wrote.
    pub fn load(path: &Path) -> Result<Recording, RecordingError> {
        /// A recording holds the contents of all buffers; more than this is not read into memory.
        const MAX_BYTES: u64 = 16 << 30;
        let bytes = anymetal_files::read(path, MAX_BYTES).map_err(|error| file_error(path, error.into()))?;
        Recording::from_bytes(&bytes)
    }
}

impl Header {
    fn into_recording(self, mut bytes: &[u8]) -> Result<Recording, RecordingError> {
        let mut blobs: Vec<Arc<[u8]>> = Vec::new();
        for length in self.blob_lengths {
            let (blob, rest) = bytes.split_at_checked(length).ok_or(RecordingError::Damaged)?;
            blobs.push(blob.into());
            bytes = rest;
        }
        let blob = |at: usize| blobs.get(at).cloned().ok_or(RecordingError::Damaged);
        let mut entries = self.entries;
        for (entry, contents) in entries.iter_mut().zip(self.contents) {
            for (buffer, at) in entry.buffers.iter_mut().zip(contents) {
                buffer.contents = at.map(blob).transpose()?;
            }
        }
        let mut pipelines = Vec::new();
        for StoredPipeline { kernel, fingerprint, artifact } in self.pipelines {
            let artifact = match artifact {
                Some(at) => Some(Arc::new(encoding::decode(&blob(at)?)?)),
                None => None,
            };
            pipelines.push(PipelineRecord { kernel, fingerprint, artifact });
        }
        Ok(Recording { entries, pipelines })
    }
}

fn file_error(path: &Path, source: std::io::Error) -> RecordingError {
    RecordingError::File { path: path.display().to_string(), source }
}
