//! Depth and stencil states: descriptors and an object that keeps a label. No draw uses one.

use objc2::rc::Retained;
use objc2::runtime::{Bool, NSObject};

use super::descriptor::descriptor;
use super::descriptor_array::Descriptor;
use super::device::Device;
use crate::foundation::NSString;

/// `MTLCompareFunctionAlways`.
const ALWAYS: usize = 7;

descriptor! {
    /// How a face compares with and writes stencils.
    StencilDescriptor = "MTLStencilDescriptor", StencilProperties;
    values {
        compare, set_compare: usize = ALWAYS, [stencilCompareFunction] [setStencilCompareFunction:];
        stencil_failure, set_stencil_failure: usize = 0, [stencilFailureOperation] [setStencilFailureOperation:];
        depth_failure, set_depth_failure: usize = 0, [depthFailureOperation] [setDepthFailureOperation:];
        pass, set_pass: usize = 0, [depthStencilPassOperation] [setDepthStencilPassOperation:];
        read_mask, set_read_mask: u32 = u32::MAX, [readMask] [setReadMask:];
        write_mask, set_write_mask: u32 = u32::MAX, [writeMask] [setWriteMask:];
    }
    objects {}
}

descriptor! {
    /// How draws compare with and write depths.
    DepthStencilDescriptor = "MTLDepthStencilDescriptor", DepthStencilProperties;
    values {
        compare, set_compare: usize = ALWAYS, [depthCompareFunction] [setDepthCompareFunction:];
        writes, set_writes: Bool = Bool::NO, [isDepthWriteEnabled] [setDepthWriteEnabled:];
    }
    objects {
        label, set_label: NSString, [label] [setLabel:];
        front, set_front: StencilDescriptor = StencilDescriptor::fresh(), [frontFaceStencil] [setFrontFaceStencil:];
        back, set_back: StencilDescriptor = StencilDescriptor::fresh(), [backFaceStencil] [setBackFaceStencil:];
    }
}

/// The instance variables of a state.
#[derive(Debug)]
pub(crate) struct DepthStencilIvars {
    pub(crate) device: Retained<Device>,
    pub(crate) label: Option<Retained<NSString>>,
}

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "AnymetalDepthStencilState"]
    #[ivars = DepthStencilIvars]
    #[derive(Debug)]
    pub(crate) struct DepthStencil;

    impl DepthStencil {
        #[unsafe(method_id(device))]
        fn device(&self) -> Retained<Device> {
            self.ivars().device.clone()
        }

        #[unsafe(method_id(label))]
        fn label(&self) -> Option<Retained<NSString>> {
            self.ivars().label.clone()
        }
    }
);
