//! `NSProcessInfo`.

use objc2::encode::{Encode, Encoding};
use objc2::rc::Retained;
use objc2::runtime::NSObject;

use super::array::NSArray;
use super::dictionary::NSDictionary;
use super::string::NSString;

/// `NSOperatingSystemVersion`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version {
    major: isize,
    minor: isize,
    patch: isize,
}

// SAFETY: it is `NSOperatingSystemVersion`, field by field.
unsafe impl Encode for Version {
    const ENCODING: Encoding = Encoding::Struct("?", &[isize::ENCODING, isize::ENCODING, isize::ENCODING]);
}

/// The version of macOS whose Metal this crate follows: Metal 3.2.
const MACOS: Version = Version { major: 15, minor: 0, patch: 0 };

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "NSProcessInfo"]
    #[ivars = ()]
    #[derive(Debug)]
    pub(crate) struct NSProcessInfo;

    impl NSProcessInfo {
        #[unsafe(method_id(processInfo))]
        fn process_info() -> Retained<NSProcessInfo> {
            super::object(())
        }

        #[unsafe(method(operatingSystemVersion))]
        fn version(&self) -> Version {
            MACOS
        }

        #[unsafe(method(isOperatingSystemAtLeastVersion:))]
        fn is_at_least(&self, version: Version) -> bool {
            MACOS >= version
        }

        #[unsafe(method_id(operatingSystemVersionString))]
        fn version_string(&self) -> Retained<NSString> {
            NSString::of(&format!("Version {}.{} (anymetal on {})", MACOS.major, MACOS.minor, std::env::consts::OS))
        }

        #[unsafe(method(processorCount))]
        fn processor_count(&self) -> usize {
            std::thread::available_parallelism().map_or(1, usize::from)
        }

        #[unsafe(method(activeProcessorCount))]
        fn active_processor_count(&self) -> usize {
            std::thread::available_parallelism().map_or(1, usize::from)
        }

        #[unsafe(method(physicalMemory))]
        fn physical_memory(&self) -> u64 {
            // SAFETY: `sysconf` may be called with any name.
            let (pages, bytes) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
            u64::try_from(pages).unwrap_or(0).saturating_mul(u64::try_from(bytes).unwrap_or(0))
        }

        #[unsafe(method(processIdentifier))]
        fn process_identifier(&self) -> i32 {
            std::process::id().cast_signed()
        }

        #[unsafe(method_id(processName))]
        fn process_name(&self) -> Retained<NSString> {
            let program = std::env::args_os().next().unwrap_or_default();
            NSString::of(&std::path::Path::new(&program).file_name().unwrap_or_default().to_string_lossy())
        }

        #[unsafe(method_id(arguments))]
        fn arguments(&self) -> Retained<NSArray> {
            NSArray::of(std::env::args_os().map(|argument| NSString::object_of(&argument.to_string_lossy())).collect())
        }

        #[unsafe(method_id(environment))]
        fn environment(&self) -> Retained<NSDictionary> {
            let variables = std::env::vars_os();
            NSDictionary::of_pairs(variables.map(|(name, value)| (NSString::object_of(&name.to_string_lossy()), NSString::object_of(&value.to_string_lossy()))))
        }

        #[unsafe(method(isLowPowerModeEnabled))]
        fn is_low_power(&self) -> bool {
            false
        }

        #[unsafe(method(thermalState))]
        fn thermal_state(&self) -> isize {
            0
        }
    }
);
