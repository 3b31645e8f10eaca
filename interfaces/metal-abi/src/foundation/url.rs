//! `NSURL`, as far as files need it.

use std::ffi::{CStr, c_char};

use objc2::Message;
use objc2::rc::{Allocated, Retained};
use objc2::runtime::{AnyObject, NSObject, NSZone};

use super::string::NSString;

/// The instance variables of a URL.
#[derive(Debug)]
pub(crate) struct UrlIvars {
    /// All of it, such as `file:///tmp/a.metal`.
    text: String,
    /// The path of a file URL, with a zero after it.
    path: Option<String>,
}

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "NSURL"]
    #[ivars = UrlIvars]
    #[derive(Debug)]
    pub(crate) struct NSURL;

    impl NSURL {
        #[unsafe(method_id(fileURLWithPath:))]
        fn with_path(path: &NSString) -> Retained<NSURL> {
            super::object(of_file(&path.to_string()))
        }

        #[unsafe(method_id(fileURLWithPath:isDirectory:))]
        fn with_directory(path: &NSString, _is_directory: bool) -> Retained<NSURL> {
            super::object(of_file(&path.to_string()))
        }

        #[unsafe(method_id(initFileURLWithPath:))]
        fn init_path(this: Allocated<Self>, path: &NSString) -> Retained<Self> {
            super::initialized(this, of_file(&path.to_string()))
        }

        #[unsafe(method_id(initFileURLWithPath:isDirectory:))]
        fn init_directory(this: Allocated<Self>, path: &NSString, _is_directory: bool) -> Retained<Self> {
            super::initialized(this, of_file(&path.to_string()))
        }

        #[unsafe(method_id(initFileURLWithFileSystemRepresentation:isDirectory:relativeToURL:))]
        fn init_representation(this: Allocated<Self>, path: &CStr, _is_directory: bool, base: Option<&NSURL>) -> Retained<Self> {
            let path = path.to_string_lossy();
            let path = match base.and_then(NSURL::path_text) {
                Some(base) => std::path::Path::new(base).join(&*path).to_string_lossy().into_owned(),
                None => path.into_owned(),
            };
            super::initialized(this, of_file(&path))
        }

        #[unsafe(method_id(URLWithString:))]
        fn with_string(text: &NSString) -> Option<Retained<NSURL>> {
            of_text(&text.to_string()).map(super::object)
        }

        #[unsafe(method_id(initWithString:))]
        fn init_string(this: Allocated<Self>, text: &NSString) -> Option<Retained<Self>> {
            of_text(&text.to_string()).map(|ivars| super::initialized(this, ivars))
        }

        #[unsafe(method(isFileURL))]
        fn is_file(&self) -> bool {
            self.ivars().path.is_some()
        }

        #[unsafe(method_id(path))]
        fn path(&self) -> Option<Retained<NSString>> {
            self.path_text().map(NSString::of)
        }

        #[unsafe(method_id(absoluteString))]
        fn absolute_string(&self) -> Option<Retained<NSString>> {
            Some(NSString::of(&self.ivars().text))
        }

        #[unsafe(method_id(lastPathComponent))]
        fn last_component(&self) -> Option<Retained<NSString>> {
            let name = |path| std::path::Path::new(path).file_name().unwrap_or_default();
            self.path_text().map(|path| NSString::of(&name(path).to_string_lossy()))
        }

        #[unsafe(method_id(pathExtension))]
        fn path_extension(&self) -> Option<Retained<NSString>> {
            let extension = |path| std::path::Path::new(path).extension().unwrap_or_default();
            self.path_text().map(|path| NSString::of(&extension(path).to_string_lossy()))
        }

        #[unsafe(method(fileSystemRepresentation))]
        fn file_system_representation(&self) -> *const c_char {
            self.ivars().path.as_deref().map_or(c"".as_ptr(), |path| path.as_ptr().cast())
        }

        #[unsafe(method(isEqual:))]
        fn is_equal(&self, other: Option<&AnyObject>) -> bool {
            let other = other.and_then(|other| other.downcast_ref::<NSURL>());
            other.is_some_and(|other| self.ivars().text == other.ivars().text)
        }

        #[unsafe(method(hash))]
        fn hash(&self) -> usize {
            self.ivars().text.len()
        }

        #[unsafe(method_id(description))]
        fn description(&self) -> Retained<NSString> {
            NSString::of(&self.ivars().text)
        }

        #[unsafe(method_id(copyWithZone:))]
        fn copy_with_zone(&self, _zone: *mut NSZone) -> Retained<NSURL> {
            self.retain()
        }
    }
);

impl NSURL {
    /// The path of a file.
    pub(crate) fn path_text(&self) -> Option<&str> {
        self.ivars().path.as_deref().map(|path| &path[..path.len() - 1])
    }

    /// The URL of a file.
    pub(crate) fn of_path(path: &str) -> Retained<NSURL> {
        super::object(of_file(path))
    }
}

fn of_file(path: &str) -> UrlIvars {
    let path = std::path::absolute(path)
        .map_or_else(|_| path.to_owned(), |path| path.to_string_lossy().into_owned());
    UrlIvars { text: format!("file://{path}"), path: Some(format!("{path}\0")) }
}

/// Any URL; `None` without a scheme.
fn of_text(text: &str) -> Option<UrlIvars> {
    let (scheme, rest) = text.split_once(':')?;
    let path = (scheme == "file").then(|| format!("{}\0", rest.trim_start_matches("//")));
    Some(UrlIvars { text: text.to_owned(), path })
}
