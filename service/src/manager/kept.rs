//! What a manager keeps in a file for its next start: a session.
//!
//! Owns [`SessionStore`]: the session as it was found, and what this process adds to it. Invariants: a file
//! that cannot be used is set aside and told, and everything starts as without one; nothing in a
//! file makes a call fail.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anymetal_audit::session::{
    BufferState, PipelineState, Restored, Session, SessionError, SetAside, TuningValue,
};
use anymetal_hal::sync::lock;

use anymetal::notice::{self, NoticeKind};

/// The most pipelines, and the most buffers, that are kept.
const MAX_KEPT: usize = 4096;

#[derive(Debug)]
pub(super) struct SessionStore {
    path: PathBuf,
    found: Restored,
    state: Mutex<SessionStoreState>,
}

#[derive(Debug, Default)]
struct SessionStoreState {
    /// Of this process, by the numbers of their kernels.
    made: BTreeMap<u64, PipelineState>,
    /// Of the process before, not made in this one so far.
    waiting: Vec<PipelineState>,
    tuning: BTreeMap<String, TuningValue>,
    /// By their labels.
    buffers: BTreeMap<String, BufferState>,
}

impl SessionStore {
    /// Reads the file, if there is one.
    pub(super) fn open(path: PathBuf) -> Result<Self, SessionError> {
        let found = Session::restore(&path)?;
        if let Some(aside) = &found.set_aside {
            notice::emit(NoticeKind::Session, aside.to_string());
        }
        let Session { pipelines, tuning, buffers } = found.session.clone();
        let buffers = buffers.into_iter().map(|buffer| (buffer.label.clone(), buffer)).collect();
        let state = SessionStoreState { made: BTreeMap::new(), waiting: pipelines, tuning, buffers };
        Ok(SessionStore { path, found, state: Mutex::new(state) })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn found(&self) -> &Session {
        &self.found.session
    }

    pub(super) fn set_aside(&self) -> Option<&SetAside> {
        self.found.set_aside.as_ref()
    }

    /// The threadgroup sizes for which a pipeline had code in the process before.
    pub(super) fn sizes(&self, pipeline: &PipelineState) -> Vec<[u32; 3]> {
        let state = lock(&self.state);
        let mut known = state.waiting.iter().chain(state.made.values());
        known.find(|known| is_same(known, pipeline)).map_or_else(Vec::new, |known| known.warm_up.clone())
    }

    /// A kernel was made.
    pub(super) fn made(&self, kernel: u64, mut pipeline: PipelineState) {
        pipeline.warm_up = self.sizes(&pipeline);
        let mut state = lock(&self.state);
        // The same kernel of a source that has changed since is not made again.
        state.waiting.retain(|known| !is_same(known, &pipeline) && !is_older(known, &pipeline));
        if state.made.len() < MAX_KEPT {
            state.made.insert(kernel, pipeline);
        }
    }

    /// A kernel has code for those threadgroup sizes.
    pub(super) fn note_sizes(&self, kernel: u64, sizes: &[[u32; 3]]) {
        if let Some(pipeline) = lock(&self.state).made.get_mut(&kernel) {
            for size in sizes.iter().filter(|size| size.iter().all(|extent| *extent > 0)) {
                if !pipeline.warm_up.contains(size) {
                    pipeline.warm_up.push(*size);
                }
            }
        }
    }

    /// A buffer with a label was made.
    pub(super) fn note_buffer(&self, label: &str, bytes: u64) {
        let mut state = lock(&self.state);
        if state.buffers.len() < MAX_KEPT || state.buffers.contains_key(label) {
            let buffer = BufferState {
                label: label.to_owned(),
                bytes,
                storage: "shared".to_owned(),
                contents: String::new(),
            };
            state.buffers.insert(label.to_owned(), buffer);
        }
    }

    pub(super) fn tuning(&self, name: &str) -> Option<TuningValue> {
        lock(&self.state).tuning.get(name).cloned()
    }

    /// The number of streams that a device had.
    pub(super) fn streams(&self, device: &str) -> Option<usize> {
        match self.tuning(&streams_name(device)) {
            Some(TuningValue::Integer(streams)) => usize::try_from(streams).ok(),
            _ => None,
        }
    }

    pub(super) fn note_streams(&self, device: &str, streams: usize) {
        let streams = i64::try_from(streams).unwrap_or(i64::MAX);
        self.tune(&streams_name(device), TuningValue::Integer(streams));
    }

    pub(super) fn tune(&self, name: &str, value: TuningValue) {
        lock(&self.state).tuning.insert(name.to_owned(), value);
    }

    /// What the file is to have: the pipelines of this process, and those of the one before that may
    /// still be made.
    pub(super) fn session(&self) -> Session {
        let state = lock(&self.state);
        let mut pipelines: Vec<PipelineState> = Vec::new();
        for pipeline in state.made.values() {
            match pipelines.iter_mut().find(|known| is_same(known, pipeline)) {
                Some(known) => {
                    let new: Vec<_> = pipeline
                        .warm_up
                        .iter()
                        .filter(|size| !known.warm_up.contains(*size))
                        .copied()
                        .collect();
                    known.warm_up.extend(new);
                }
                None => pipelines.push(pipeline.clone()),
            }
        }
        pipelines.extend(state.waiting.iter().cloned());
        pipelines.truncate(MAX_KEPT);
        let buffers = state.buffers.values().cloned().collect();
        Session { pipelines, tuning: state.tuning.clone(), buffers }
    }

    pub(super) fn save(&self) -> Result<(), SessionError> {
        self.session().save(&self.path)
    }
}

fn streams_name(device: &str) -> String {
    format!("streams.{device}")
}

/// Whether they are the same pipeline, whatever sizes have code.
fn is_same(one: &PipelineState, other: &PipelineState) -> bool {
    let key = |state: &PipelineState| PipelineState { warm_up: Vec::new(), ..state.clone() };
    key(one) == key(other)
}

fn is_older(known: &PipelineState, made: &PipelineState) -> bool {
    (&known.kernel, &known.source_name, &known.options, &known.constants)
        == (&made.kernel, &made.source_name, &made.options, &made.constants)
        && known.source_hash != made.source_hash
}
