//! What a pipeline is made of, on any device, and the same as a session's file has it.
//!
//! Owns [`KernelSpec`]. Invariant: a recipe and its state are converted into each other without loss, or
//! not at all.

use std::collections::BTreeMap;

use anymetal::argument::Scalar;
use anymetal::notice::{self, NoticeKind};
use anymetal::reflection::ConstantKey;
use anymetal::{
    CheckMode, CompileOptions, Device, Error, FunctionConstants, LibraryDescriptor, MathMode, Pipeline,
    PipelineDescriptor,
};
use anymetal_audit::session::{PipelineState, TuningValue, source_hash};

#[derive(Debug)]
pub(super) struct KernelSpec {
    source: String,
    source_hash: String,
    options: CompileOptions,
    descriptor: PipelineDescriptor,
}

impl KernelSpec {
    pub(super) fn new(source: &str, options: &CompileOptions, descriptor: PipelineDescriptor) -> Self {
        let (source_hash, source) = (source_hash(source), source.to_owned());
        KernelSpec { source, source_hash, options: options.clone(), descriptor }
    }

    pub(super) fn source_hash(&self) -> &str {
        &self.source_hash
    }

    pub(super) fn kernel(&self) -> &str {
        &self.descriptor.kernel
    }

    /// The pipeline, with code for threadgroup sizes that an earlier process had code for. One that
    /// cannot be compiled any more is told and left out.
    pub(super) fn pipeline(&self, device: &Device, sizes: &[[u32; 3]]) -> Result<Pipeline, Error> {
        let library =
            device.create_library(&LibraryDescriptor::from_source(&self.source).options(&self.options))?;
        let pipeline = library.pipeline(self.descriptor.clone())?;
        for size in sizes {
            if let Err(error) = pipeline.warm_up([*size]) {
                let message = format!("`{}` is not warm for {size:?}: {error}", self.kernel());
                notice::emit(NoticeKind::Session, message);
            }
        }
        Ok(pipeline)
    }

    /// As a session has it; `None`: it has a value that the file cannot hold.
    pub(super) fn state(&self) -> Option<PipelineState> {
        let mut constants = BTreeMap::new();
        for (key, value) in self.descriptor.constants.iter() {
            constants.insert(written_key(key), constant_of(value)?);
        }
        Some(PipelineState {
            label: self.descriptor.label.clone(),
            kernel: self.descriptor.kernel.clone(),
            source_name: self.options.file_name.clone(),
            source_hash: self.source_hash.clone(),
            options: options_of(&self.options)?,
            constants,
            warm_up: Vec::new(),
        })
    }

    /// The recipe of a session's pipeline and its source; `None`: the file has something that this
    /// program does not know.
    pub(super) fn of(state: &PipelineState, source: &str) -> Option<Self> {
        let mut constants = FunctionConstants::new();
        for (key, value) in &state.constants {
            constants = constants.with(read_key(key), scalar_of(value)?);
        }
        let descriptor =
            PipelineDescriptor::new(state.kernel.as_str()).label(state.label.as_str()).constants(constants);
        Some(KernelSpec::new(source, &compile_options(state)?, descriptor))
    }
}

/// A constant in a session: `3`, `width`, or `stride.1`, a component. No name in MSL has a dot.
fn written_key(key: &ConstantKey) -> String {
    match key {
        ConstantKey::Index(index) => index.to_string(),
        ConstantKey::Name(name) => name.clone(),
        ConstantKey::Component(whole, lane) => format!("{}.{lane}", written_key(whole)),
    }
}

fn read_key(written: &str) -> ConstantKey {
    if let Some((whole, lane)) = written.rsplit_once('.')
        && let Ok(lane) = lane.parse()
    {
        return ConstantKey::Component(Box::new(read_key(whole)), lane);
    }
    written.parse().map_or_else(|_| ConstantKey::Name(written.to_owned()), ConstantKey::Index)
}

fn constant_of(value: Scalar) -> Option<TuningValue> {
    Some(match value {
        Scalar::Bool(flag) => TuningValue::Flag(flag),
        Scalar::Integer(integer) => TuningValue::Integer(i64::try_from(integer).ok()?),
        Scalar::Float(number) if number.is_finite() => TuningValue::Float(number),
        _ => return None,
    })
}

fn scalar_of(value: &TuningValue) -> Option<Scalar> {
    Some(match value {
        TuningValue::Flag(flag) => Scalar::Bool(*flag),
        TuningValue::Integer(integer) => Scalar::Integer(i128::from(*integer)),
        TuningValue::Float(number) => Scalar::Float(*number),
        _ => return None,
    })
}

/// The words for options in a session's file.
const MATH: [(&str, MathMode); 3] =
    [("safe", MathMode::Safe), ("relaxed", MathMode::Relaxed), ("fast", MathMode::Fast)];
const CHECK: [(&str, CheckMode); 5] = [
    ("where-supported", CheckMode::WhereSupported),
    ("bounds", CheckMode::Bounds),
    ("pages", CheckMode::Pages),
    ("off", CheckMode::Off),
    ("sanitize", CheckMode::Sanitize),
];

/// The options that change what is compiled.
fn options_of(options: &CompileOptions) -> Option<BTreeMap<String, String>> {
    let mut all = BTreeMap::new();
    let math = MATH.iter().find(|(_, mode)| *mode == options.math_mode)?.0;
    let check = CHECK.iter().find(|(_, mode)| *mode == options.check_mode)?.0;
    all.insert("math".to_owned(), math.to_owned());
    all.insert("check".to_owned(), check.to_owned());
    all.insert("version".to_owned(), options.language_version.to_string());
    for (number, (name, value)) in options.defines.iter().enumerate() {
        let define = value.as_ref().map_or_else(|| name.clone(), |value| format!("{name}={value}"));
        all.insert(format!("define.{number:04}"), define);
    }
    for (number, folder) in options.include_folders.iter().enumerate() {
        all.insert(format!("include.{number:04}"), folder.to_str()?.to_owned());
    }
    if options.require_machine_code {
        all.insert("require-machine-code".to_owned(), "1".to_owned());
    }
    if options.whole_buffers {
        all.insert("whole-buffers".to_owned(), "1".to_owned());
    }
    if let Some(family) = options.family {
        all.insert("family".to_owned(), family.to_string());
    }
    Some(all)
}

fn compile_options(state: &PipelineState) -> Option<CompileOptions> {
    let mut options = CompileOptions::new().file_name(state.source_name.clone());
    for (name, value) in &state.options {
        match name.as_str() {
            "math" => options.math_mode = MATH.iter().find(|(word, _)| word == value)?.1,
            "check" => options.check_mode = CHECK.iter().find(|(word, _)| word == value)?.1,
            "version" => options.language_version = value.parse().ok()?,
            "require-machine-code" => options.require_machine_code = true,
            "whole-buffers" => options.whole_buffers = true,
            "family" => options.family = Some(value.parse().ok()?),
            name if name.starts_with("define.") => options.defines.push(match value.split_once('=') {
                Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
                None => (value.clone(), None),
            }),
            name if name.starts_with("include.") => options.include_folders.push(value.into()),
            _ => return None,
        }
    }
    Some(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recipe_comes_back_from_its_state_as_it_was() {
        let options = CompileOptions::new()
            .file_name("a.metal")
            .defines(vec![("N".to_owned(), Some("4=4".to_owned())), ("FAST".to_owned(), None)])
            .include_folders(vec!["shaders/include".into()])
            .math_mode(MathMode::Safe)
            .check_mode(CheckMode::Off)
            .whole_buffers(true)
            .language_version(310);
        let constants = FunctionConstants::new().with(3, 7).with("scale", 0.5).with("on", true);
        let descriptor = PipelineDescriptor::new("run").label("a run").constants(constants);
        let recipe = KernelSpec::new("source", &options, descriptor);
        let state = recipe.state().unwrap();
        let again = KernelSpec::of(&state, "source").unwrap();
        assert_eq!(again.state().unwrap(), state);
        assert_eq!(again.options, options);
        assert_eq!(again.descriptor.label, "a run");
        let unknown = PipelineState { options: [("later".to_owned(), "1".to_owned())].into(), ..state };
        assert!(KernelSpec::of(&unknown, "source").is_none());
    }

    #[test]
    fn every_check_mode_has_a_word() {
        for check_mode in CheckMode::ALL {
            assert!(options_of(&CompileOptions::new().check_mode(check_mode)).is_some());
        }
    }

    #[test]
    fn a_constant_that_a_file_cannot_hold_keeps_its_pipeline_out() {
        let constants = FunctionConstants::new().with(0, f64::INFINITY);
        let descriptor = PipelineDescriptor::new("run").constants(constants);
        assert!(KernelSpec::new("source", &CompileOptions::default(), descriptor).state().is_none());
    }
}
