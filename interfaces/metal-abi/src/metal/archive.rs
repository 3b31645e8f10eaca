//! `MTLBinaryArchive` over the compiler's cache on disk: adding a function compiles it, so that a
//! later run finds its code in the cache. The archive's file lists what was added; it holds no
//! code.

use std::sync::{Mutex, PoisonError};

use objc2::rc::Retained;
use objc2::runtime::NSObject;

use super::descriptors::{BinaryArchiveDescriptor, PipelineDescriptor};
use super::device::Device;
use super::errors;
use super::label::Label;
use crate::arguments::ErrorOut;
use crate::foundation::url::NSURL;
use crate::foundation::{NSError, NSString};

/// The first line of an archive's file.
const HEADER: &str = "anymetal binary archive 1";

/// The instance variables of an archive.
#[derive(Debug)]
pub(crate) struct ArchiveIvars {
    device: Retained<Device>,
    label: Label,
    functions: Mutex<Vec<String>>,
}

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "AnymetalBinaryArchive"]
    #[ivars = ArchiveIvars]
    #[derive(Debug)]
    pub(crate) struct Archive;

    impl Archive {
        #[unsafe(method_id(device))]
        fn device(&self) -> Retained<Device> {
            self.ivars().device.clone()
        }

        #[unsafe(method_id(label))]
        fn label(&self) -> Option<Retained<NSString>> {
            self.ivars().label.get()
        }

        #[unsafe(method(setLabel:))]
        fn set_label(&self, label: Option<&NSString>) {
            self.ivars().label.set(label);
        }

        #[unsafe(method(addComputePipelineFunctionsWithDescriptor:error:))]
        fn add(&self, descriptor: &PipelineDescriptor, error: ErrorOut) -> bool {
            self.compile(descriptor).map_or_else(|problem| error.fail::<()>(problem), Some).is_some()
        }

        #[unsafe(method(serializeToURL:error:))]
        fn serialize(&self, url: &NSURL, error: ErrorOut) -> bool {
            self.write(url).map_or_else(|problem| error.fail::<()>(problem), Some).is_some()
        }
    }
);

impl Archive {
    /// The archive of a descriptor: of its file, or empty.
    pub(crate) fn open(
        device: Retained<Device>,
        descriptor: &BinaryArchiveDescriptor,
    ) -> Result<Retained<Archive>, Retained<NSError>> {
        let functions = match descriptor.ivars().url() {
            Some(url) => listed(url.path_text().unwrap_or_default())?,
            None => Vec::new(),
        };
        let (label, functions) = (Label::default(), Mutex::new(functions));
        Ok(crate::foundation::object(ArchiveIvars { device, label, functions }))
    }

    fn compile(&self, descriptor: &PipelineDescriptor) -> Result<(), Retained<NSError>> {
        let function = descriptor
            .ivars()
            .function()
            .ok_or_else(|| errors::archive_compilation("the descriptor has no function"))?;
        let stage_input = descriptor.ivars().stage_input().map(|stage_input| stage_input.description());
        let stage_input = stage_input.transpose().map_err(|problem| errors::archive_compilation(&problem))?;
        let pipeline = function
            .pipeline("", anymetal::functions::LinkedFunctions::new(), stage_input.as_ref())
            .map_err(|error| errors::of_library(&error))?;
        pipeline.compile().map_err(|error| errors::of_library(&error))?;
        let mut functions = self.ivars().functions.lock().unwrap_or_else(PoisonError::into_inner);
        functions.push(pipeline.name().to_owned());
        Ok(())
    }

    fn write(&self, url: &NSURL) -> Result<(), Retained<NSError>> {
        let path = url.path_text().ok_or_else(|| errors::archive_file("the URL is not a file's"))?;
        let functions = self.ivars().functions.lock().unwrap_or_else(PoisonError::into_inner);
        let text = format!("{HEADER}\n{}\n", functions.join("\n"));
        std::fs::write(path, text).map_err(|problem| NSError::of_file(path, &problem))
    }
}

/// The largest archive that is read: it lists functions, one on a line.
const MAX_BYTES: u64 = 64 << 20;

/// The functions that a file lists.
fn listed(path: &str) -> Result<Vec<String>, Retained<NSError>> {
    let text = anymetal_files::read_text(path.as_ref(), MAX_BYTES);
    let text = text.map_err(|problem| NSError::of_file(path, &problem.into()))?;
    let mut lines = text.lines();
    if lines.next() != Some(HEADER) {
        return Err(errors::archive_file(&format!("{path} is no archive of anymetal's")));
    }
    Ok(lines.map(str::to_owned).collect())
}
