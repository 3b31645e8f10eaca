//! `NSError`.

use objc2::Message;
use objc2::rc::{Allocated, Retained};
use objc2::runtime::{NSObject, NSZone};

use super::constants;
use super::dictionary::NSDictionary;
use super::string::NSString;

/// `NSFileReadUnknownError` and `NSFileReadInapplicableStringEncodingError`.
const FILE_READ_UNKNOWN: isize = 256;
const FILE_READ_ENCODING: isize = 261;

/// The instance variables of an error.
#[derive(Debug)]
pub(crate) struct ErrorIvars {
    domain: Retained<NSString>,
    code: isize,
    user_info: Retained<NSDictionary>,
}

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "NSError"]
    #[ivars = ErrorIvars]
    #[derive(Debug)]
    pub(crate) struct NSError;

    impl NSError {
        #[unsafe(method_id(initWithDomain:code:userInfo:))]
        fn init(this: Allocated<Self>, domain: &NSString, code: isize, user_info: Option<&NSDictionary>) -> Retained<Self> {
            super::initialized(this, ErrorIvars { domain: domain.retain(), code, user_info: or_empty(user_info) })
        }

        #[unsafe(method_id(errorWithDomain:code:userInfo:))]
        fn with(domain: &NSString, code: isize, user_info: Option<&NSDictionary>) -> Retained<NSError> {
            super::object(ErrorIvars { domain: domain.retain(), code, user_info: or_empty(user_info) })
        }

        #[unsafe(method_id(domain))]
        fn domain(&self) -> Retained<NSString> {
            self.ivars().domain.clone()
        }

        #[unsafe(method(code))]
        fn code(&self) -> isize {
            self.ivars().code
        }

        #[unsafe(method_id(userInfo))]
        fn user_info(&self) -> Retained<NSDictionary> {
            self.ivars().user_info.clone()
        }

        #[unsafe(method_id(localizedDescription))]
        fn localized_description(&self) -> Retained<NSString> {
            self.description_object()
        }

        #[unsafe(method_id(localizedFailureReason))]
        fn localized_failure_reason(&self) -> Option<Retained<NSString>> {
            None
        }

        #[unsafe(method_id(localizedRecoverySuggestion))]
        fn localized_recovery_suggestion(&self) -> Option<Retained<NSString>> {
            None
        }

        #[unsafe(method_id(description))]
        fn description(&self) -> Retained<NSString> {
            let (domain, code, text) = (self.ivars().domain.to_string(), self.ivars().code, self.text());
            NSString::of(&format!("Error Domain={domain} Code={code} \"{text}\""))
        }

        #[unsafe(method_id(copyWithZone:))]
        fn copy_with_zone(&self, _zone: *mut NSZone) -> Retained<NSError> {
            self.retain()
        }
    }
);

impl NSError {
    /// An error with that text as its localized description.
    pub(crate) fn of(domain: &str, code: isize, text: &str) -> Retained<NSError> {
        NSError::of_entries(domain, code, [(constants::LOCALIZED_DESCRIPTION, text)])
    }

    /// An error with that text and another entry in its `userInfo`.
    pub(crate) fn with_entry(
        domain: &str,
        code: isize,
        text: &str,
        entry: (&str, &str),
    ) -> Retained<NSError> {
        NSError::of_entries(domain, code, [(constants::LOCALIZED_DESCRIPTION, text), entry])
    }

    fn of_entries<const N: usize>(
        domain: &str,
        code: isize,
        entries: [(&str, &str); N],
    ) -> Retained<NSError> {
        let pairs = entries.map(|(key, value)| (NSString::object_of(key), NSString::object_of(value)));
        let user_info = NSDictionary::of_pairs(pairs);
        super::object(ErrorIvars { domain: NSString::of(domain), code, user_info })
    }

    /// The error for a file that cannot be read.
    pub(crate) fn of_file(path: &str, problem: &std::io::Error) -> Retained<NSError> {
        NSError::of("NSCocoaErrorDomain", FILE_READ_UNKNOWN, &format!("{path}: {problem}"))
    }

    /// The error for a file that is not text of the encoding.
    pub(crate) fn of_encoding(path: &str) -> Retained<NSError> {
        let text = format!("{path} is not text of an encoding that is understood: UTF-8 and ASCII are");
        NSError::of("NSCocoaErrorDomain", FILE_READ_ENCODING, &text)
    }

    /// What went wrong.
    pub(crate) fn text(&self) -> String {
        self.description_object().to_string()
    }

    /// The text that was given with the error, the same object each time, or else one that names
    /// the error.
    fn description_object(&self) -> Retained<NSString> {
        let key = NSString::of(constants::LOCALIZED_DESCRIPTION);
        let found = self.ivars().user_info.value(&key);
        found.and_then(|found| found.downcast::<NSString>().ok()).unwrap_or_else(|| {
            let ErrorIvars { domain, code, .. } = self.ivars();
            NSString::of(&format!("The operation couldn't be completed. ({domain} error {code}.)"))
        })
    }
}

fn or_empty(user_info: Option<&NSDictionary>) -> Retained<NSDictionary> {
    user_info.map_or_else(|| NSDictionary::of_pairs([]), Message::retain)
}
