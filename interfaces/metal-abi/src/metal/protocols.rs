//! The protocols that Metal's objects conform to.
//!
//! Programs look them up by name (`objc_getProtocol("MTLDevice")`) and test whether an object conforms.
//! The protocols of Metal 4 are left out, since nothing here conforms to them. The methods are those that
//! Apple declares, whether objects have them here or not.

use std::ffi::{CStr, CString};

use crate::runtime::Sel;
use crate::runtime::protocol;

/// Written by `cargo xtask libmetal --declared` from `objc2-metal`.
const NAMES: &str = include_str!("../../inventory/declared.txt");

/// The protocols of `Metal/*.h` with the one that each adopts besides `NSObject`.
const DECLARED: &[(&CStr, Option<&CStr>)] = &[
    (c"MTLAccelerationStructure", Some(c"MTLResource")),
    (c"MTLAccelerationStructureCommandEncoder", Some(c"MTLCommandEncoder")),
    (c"MTLAllocation", None),
    (c"MTLArgumentEncoder", None),
    (c"MTLBinaryArchive", None),
    (c"MTLBinding", None),
    (c"MTLBlitCommandEncoder", Some(c"MTLCommandEncoder")),
    (c"MTLBuffer", Some(c"MTLResource")),
    (c"MTLBufferBinding", Some(c"MTLBinding")),
    (c"MTLCaptureScope", None),
    (c"MTLCommandBuffer", None),
    (c"MTLCommandBufferEncoderInfo", None),
    (c"MTLCommandEncoder", None),
    (c"MTLCommandQueue", None),
    (c"MTLComputeCommandEncoder", Some(c"MTLCommandEncoder")),
    (c"MTLComputePipelineState", Some(c"MTLAllocation")),
    (c"MTLCounter", None),
    (c"MTLCounterSampleBuffer", None),
    (c"MTLCounterSet", None),
    (c"MTLDepthStencilState", None),
    (c"MTLDevice", None),
    (c"MTLDrawable", None),
    (c"MTLDynamicLibrary", None),
    (c"MTLEvent", None),
    (c"MTLFence", None),
    (c"MTLFunction", None),
    (c"MTLFunctionHandle", None),
    (c"MTLFunctionLog", None),
    (c"MTLFunctionLogDebugLocation", None),
    (c"MTLFunctionStitchingAttribute", None),
    (c"MTLFunctionStitchingNode", None),
    (c"MTLHeap", Some(c"MTLAllocation")),
    (c"MTLIOCommandBuffer", None),
    (c"MTLIOCommandQueue", None),
    (c"MTLIOFileHandle", None),
    (c"MTLIOScratchBuffer", None),
    (c"MTLIOScratchBufferAllocator", None),
    (c"MTLIndirectCommandBuffer", Some(c"MTLResource")),
    (c"MTLIndirectComputeCommand", None),
    (c"MTLIndirectRenderCommand", None),
    (c"MTLIntersectionFunctionTable", Some(c"MTLResource")),
    (c"MTLLibrary", None),
    (c"MTLLogContainer", None),
    (c"MTLLogState", None),
    (c"MTLObjectPayloadBinding", Some(c"MTLBinding")),
    (c"MTLParallelRenderCommandEncoder", Some(c"MTLCommandEncoder")),
    (c"MTLRasterizationRateMap", None),
    (c"MTLRenderCommandEncoder", Some(c"MTLCommandEncoder")),
    (c"MTLRenderPipelineState", Some(c"MTLAllocation")),
    (c"MTLResidencySet", None),
    (c"MTLResource", Some(c"MTLAllocation")),
    (c"MTLResourceStateCommandEncoder", Some(c"MTLCommandEncoder")),
    (c"MTLSamplerState", None),
    (c"MTLSharedEvent", Some(c"MTLEvent")),
    (c"MTLTexture", Some(c"MTLResource")),
    (c"MTLTextureBinding", Some(c"MTLBinding")),
    (c"MTLThreadgroupBinding", Some(c"MTLBinding")),
    (c"MTLVisibleFunctionTable", Some(c"MTLResource")),
];

/// Makes the protocols known, before `main`.
extern "C" fn register() {
    for &(name, adopted) in DECLARED {
        let declared = protocol::named_or_new(name).0;
        for adopted in adopted.into_iter().chain([c"NSObject"]) {
            declared.adopt(protocol::named_or_new(adopted).0);
        }
    }
    NAMES.lines().filter_map(|line| line.strip_prefix("protocol ")).for_each(add_method);
}

/// Adds the method of a line: the name of the protocol, whether it is required, its selector, and its types.
fn add_method(line: &str) {
    let mut words = line.split(' ').map(|word| CString::new(word).expect("the list has no zeros"));
    let mut word = || words.next().expect("a line has four words");
    let (name, need, selector, types) = (word(), word(), word(), word());
    if let Some(protocol) = protocol::named(&name) {
        let types: &'static CStr = Box::leak(types.into_boxed_c_str());
        protocol.add_method(Sel::of(&selector), types, (&*need == c"required", true));
    }
}

#[used]
#[unsafe(link_section = ".init_array")]
static REGISTER: extern "C" fn() = register;
