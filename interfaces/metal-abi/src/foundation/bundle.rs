//! `NSBundle`: the folder of the running program.

use std::path::PathBuf;

use objc2::rc::Retained;
use objc2::runtime::NSObject;

use super::string::NSString;
use super::url::NSURL;

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "NSBundle"]
    #[ivars = PathBuf]
    #[derive(Debug)]
    pub(crate) struct NSBundle;

    impl NSBundle {
        #[unsafe(method_id(mainBundle))]
        fn main_bundle() -> Retained<NSBundle> {
            let program = std::env::current_exe().unwrap_or_default();
            super::object(program.parent().map(std::path::Path::to_owned).unwrap_or_default())
        }

        #[unsafe(method_id(bundleWithPath:))]
        fn with_path(path: &NSString) -> Option<Retained<NSBundle>> {
            let path = PathBuf::from(path.to_string());
            path.is_dir().then(|| super::object(path))
        }

        #[unsafe(method_id(bundlePath))]
        fn bundle_path(&self) -> Retained<NSString> {
            NSString::of(&self.ivars().to_string_lossy())
        }

        #[unsafe(method_id(resourcePath))]
        fn resource_path(&self) -> Option<Retained<NSString>> {
            Some(NSString::of(&self.ivars().to_string_lossy()))
        }

        #[unsafe(method_id(bundleURL))]
        fn bundle_url(&self) -> Retained<NSURL> {
            NSURL::of_path(&self.ivars().to_string_lossy())
        }

        #[unsafe(method_id(bundleIdentifier))]
        fn bundle_identifier(&self) -> Option<Retained<NSString>> {
            None
        }

        #[unsafe(method_id(pathForResource:ofType:))]
        fn path_for(&self, name: Option<&NSString>, extension: Option<&NSString>) -> Option<Retained<NSString>> {
            self.resource(name, extension).map(|path| NSString::of(&path.to_string_lossy()))
        }

        #[unsafe(method_id(URLForResource:withExtension:))]
        fn url_for(&self, name: Option<&NSString>, extension: Option<&NSString>) -> Option<Retained<NSURL>> {
            self.resource(name, extension).map(|path| NSURL::of_path(&path.to_string_lossy()))
        }
    }
);

impl NSBundle {
    /// The file of that name beside the program, if there is one.
    fn resource(&self, name: Option<&NSString>, extension: Option<&NSString>) -> Option<PathBuf> {
        let (name, extension) = (name?.to_string(), extension.map(|extension| extension.to_string()));
        let file = match extension.filter(|extension| !extension.is_empty()) {
            Some(extension) => format!("{name}.{extension}"),
            None => name,
        };
        let path = self.ivars().join(file);
        path.exists().then_some(path)
    }
}
