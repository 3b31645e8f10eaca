//! Names that frameworks export as string objects: error domains and keys.
//!
//! Invariant: each symbol is null until the program starts and a string from then on: a function in
//! `.init_array` makes the strings before `main`.

use std::sync::atomic::{AtomicPtr, Ordering};

use objc2::rc::Retained;
use objc2::runtime::AnyObject;

use super::string::NSString;

/// The value of `NSLocalizedDescriptionKey`.
pub(crate) const LOCALIZED_DESCRIPTION: &str = "NSLocalizedDescription";

macro_rules! string_constants {
    ($($name:ident)*) => {
        $(
            #[unsafe(no_mangle)]
            #[allow(non_upper_case_globals, reason = "the frameworks name them so")]
            static $name: AtomicPtr<NSString> = AtomicPtr::new(std::ptr::null_mut());
        )*

        static ALL: &[(&AtomicPtr<NSString>, &str)] = &[$((&$name, stringify!($name))),*];
    };
}

string_constants! {
    MTLBinaryArchiveDomain MTLCaptureErrorDomain MTLCommandBufferErrorDomain
    MTLCommandBufferEncoderInfoErrorKey MTLCounterErrorDomain MTLDynamicLibraryDomain MTLIOErrorDomain
    MTLLibraryErrorDomain MTLLogStateErrorDomain MTLTensorDomain MTL4CommandQueueErrorDomain
    MTLDeviceWasAddedNotification MTLDeviceRemovalRequestedNotification MTLDeviceWasRemovedNotification
    NSCocoaErrorDomain NSPOSIXErrorDomain NSLocalizedDescriptionKey NSLocalizedFailureReasonErrorKey
    NSUnderlyingErrorKey NSFilePathErrorKey
    NSFileType NSFileSize NSFileTypeRegular NSFileTypeDirectory NSFileTypeSymbolicLink
    MTLCommonCounterTimestamp MTLCommonCounterTessellationInputPatches MTLCommonCounterVertexInvocations
    MTLCommonCounterPostTessellationVertexInvocations MTLCommonCounterClipperInvocations
    MTLCommonCounterClipperPrimitivesOut MTLCommonCounterFragmentInvocations MTLCommonCounterFragmentsPassed
    MTLCommonCounterComputeKernelInvocations MTLCommonCounterTotalCycles MTLCommonCounterVertexCycles
    MTLCommonCounterTessellationCycles MTLCommonCounterPostTessellationVertexCycles
    MTLCommonCounterFragmentCycles MTLCommonCounterRenderTargetWriteCycles MTLCommonCounterSetTimestamp
    MTLCommonCounterSetStageUtilization MTLCommonCounterSetStatistic
    kCGColorSpaceSRGB kCGColorSpaceExtendedSRGB kCGColorSpaceLinearSRGB kCGColorSpaceExtendedLinearSRGB
    kCGColorSpaceDisplayP3 kCGColorSpaceExtendedDisplayP3 kCGColorSpaceLinearDisplayP3
    kCGColorSpaceExtendedLinearDisplayP3 kCGColorSpaceITUR_709 kCGColorSpaceITUR_2020
    kCGColorSpaceExtendedITUR_2020 kCGColorSpaceExtendedLinearITUR_2020 kCGColorSpaceITUR_2100_HLG
    kCGColorSpaceITUR_2100_PQ kCGColorSpaceAdobeRGB1998 kCGColorSpaceGenericRGBLinear
}

/// The text of a constant: its name, except where the frameworks define another text.
///
/// Programs compare the texts of counters (`MTLCounters.h` does not document them; `wgpu`, `cubecl` and the
/// examples of `metal` name these).
fn text_of(name: &str) -> &str {
    match name {
        "MTLCommonCounterSetTimestamp" => "timestamp",
        "MTLCommonCounterSetStageUtilization" => "stageutilization",
        "MTLCommonCounterSetStatistic" => "statistic",
        "MTLCommonCounterTimestamp" => "GPUTimestamp",
        "NSLocalizedDescriptionKey" => LOCALIZED_DESCRIPTION,
        "NSLocalizedFailureReasonErrorKey" => "NSLocalizedFailureReason",
        "NSUnderlyingErrorKey" => "NSUnderlyingError",
        "NSFilePathErrorKey" => "NSFilePath",
        _ => name.strip_prefix("MTLCommonCounter").unwrap_or(name),
    }
}

/// A constant as an object, the same each time; a new string for any other name.
pub(crate) fn object(name: &str) -> Retained<AnyObject> {
    let known = ALL.iter().find(|(_, known)| *known == name).map(|(place, _)| place.load(Ordering::Acquire));
    // SAFETY: the place holds null or a string that lives for ever.
    let known = known.and_then(|known| unsafe { Retained::retain(known.cast::<AnyObject>()) });
    known.unwrap_or_else(|| NSString::object_of(name))
}

/// Makes the strings. They are never released.
extern "C" fn make() {
    for (place, name) in ALL {
        place.store(Retained::into_raw(NSString::of(text_of(name))), Ordering::Release);
    }
}

#[used]
#[unsafe(link_section = ".init_array")]
static MAKE: extern "C" fn() = make;
