//! `NSFileManager`: questions about files.

use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

use objc2::rc::Retained;
use objc2::runtime::{AnyObject, NSObject};

use super::array::NSArray;
use super::constants;
use super::dictionary::NSDictionary;
use super::error::NSError;
use super::number::{NSNumber, Value};
use super::string::NSString;
use crate::arguments::ErrorOut;

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "NSFileManager"]
    #[ivars = ()]
    #[derive(Debug)]
    pub(crate) struct NSFileManager;

    impl NSFileManager {
        #[unsafe(method_id(defaultManager))]
        fn default_manager() -> Retained<NSFileManager> {
            super::object(())
        }

        #[unsafe(method(fileExistsAtPath:))]
        fn exists(&self, path: Option<&NSString>) -> bool {
            path.is_some_and(|path| path_of(path).exists())
        }

        #[unsafe(method(isReadableFileAtPath:))]
        fn is_readable(&self, path: Option<&NSString>) -> bool {
            // A pipe or device is not opened: that may block and has effects.
            path.is_some_and(|path| match fs::metadata(path_of(path)) {
                Ok(metadata) if metadata.is_dir() => fs::read_dir(path_of(path)).is_ok(),
                Ok(metadata) => !metadata.is_file() || anymetal_files::open(&path_of(path)).is_ok(),
                Err(_) => false,
            })
        }

        #[unsafe(method_id(currentDirectoryPath))]
        fn current_directory(&self) -> Retained<NSString> {
            NSString::of(&std::env::current_dir().unwrap_or_default().to_string_lossy())
        }

        #[unsafe(method_id(contentsOfDirectoryAtPath:error:))]
        fn contents(&self, path: &NSString, error: ErrorOut) -> Option<Retained<NSArray>> {
            answer(path, &error, |path| {
                let names = fs::read_dir(path)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
                let names: Vec<String> = names.collect::<std::io::Result<_>>()?;
                Ok(NSArray::of(names.iter().map(|name| NSString::object_of(name)).collect()))
            })
        }

        #[unsafe(method_id(attributesOfItemAtPath:error:))]
        fn attributes(&self, path: &NSString, error: ErrorOut) -> Option<Retained<NSDictionary>> {
            answer(path, &error, |path| Ok(attributes_of(&fs::symlink_metadata(path)?)))
        }

        #[unsafe(method_id(destinationOfSymbolicLinkAtPath:error:))]
        fn destination(&self, path: &NSString, error: ErrorOut) -> Option<Retained<NSString>> {
            answer(path, &error, |path| Ok(NSString::of(&fs::read_link(path)?.to_string_lossy())))
        }

        #[unsafe(method(removeItemAtPath:error:))]
        fn remove(&self, path: &NSString, error: ErrorOut) -> bool {
            answer(path, &error, |path| if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }).is_some()
        }
    }
);

fn path_of(path: &NSString) -> PathBuf {
    PathBuf::from(path.to_string())
}

/// What a question gives, or nothing and the error.
fn answer<T>(path: &NSString, error: &ErrorOut, ask: impl FnOnce(&Path) -> std::io::Result<T>) -> Option<T> {
    match ask(&path_of(path)) {
        Ok(answer) => Some(answer),
        Err(problem) => error.fail(NSError::of_file(&path.to_string(), &problem)),
    }
}

fn attributes_of(metadata: &Metadata) -> Retained<NSDictionary> {
    let kind = if metadata.is_symlink() {
        "NSFileTypeSymbolicLink"
    } else if metadata.is_dir() {
        "NSFileTypeDirectory"
    } else {
        "NSFileTypeRegular"
    };
    let size = Retained::into_super(Retained::into_super(NSNumber::of(Value::Unsigned(metadata.len()))));
    let size: Retained<AnyObject> = size;
    let pairs = [("NSFileType", constants::object(kind)), ("NSFileSize", size)];
    NSDictionary::of_pairs(pairs.map(|(key, value)| (constants::object(key), value)))
}
