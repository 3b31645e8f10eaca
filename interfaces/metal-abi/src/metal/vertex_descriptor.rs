//! `MTLVertexDescriptor`: where a vertex function finds its attributes. Nothing reads it, since no vertex
//! function runs.

use objc2::rc::Retained;

use super::descriptor::descriptor;
use super::descriptor_array::{Descriptor, descriptor_array};
use super::stage_input::{MAX_ENTRIES, PER_VERTEX};

descriptor! {
    /// How vertices step through a buffer.
    VertexLayout = "MTLVertexBufferLayoutDescriptor", VertexLayoutProperties;
    values {
        stride, set_stride: usize = 0, [stride] [setStride:];
        step_function, set_step_function: usize = PER_VERTEX, [stepFunction] [setStepFunction:];
        step_rate, set_step_rate: usize = 1, [stepRate] [setStepRate:];
    }
    objects {}
}

descriptor! {
    /// The format and place of an attribute.
    VertexAttribute = "MTLVertexAttributeDescriptor", VertexAttributeProperties;
    values {
        format, set_format: usize = 0, [format] [setFormat:];
        offset, set_offset: usize = 0, [offset] [setOffset:];
        buffer_index, set_buffer_index: usize = 0, [bufferIndex] [setBufferIndex:];
    }
    objects {}
}

descriptor_array! { VertexLayouts = "MTLVertexBufferLayoutDescriptorArray", VertexLayout, MAX_ENTRIES }

descriptor_array! { VertexAttributes = "MTLVertexAttributeDescriptorArray", VertexAttribute, MAX_ENTRIES }

descriptor! {
    /// The input of a vertex function.
    VertexDescriptor = "MTLVertexDescriptor", VertexProperties;
    values {}
    objects {}
    arrays {
        layouts: VertexLayouts, [layouts];
        attributes: VertexAttributes, [attributes];
    }
    methods {
        #[unsafe(method_id(vertexDescriptor))]
        fn descriptor() -> Retained<Self> {
            Self::fresh()
        }

        #[unsafe(method(reset))]
        fn reset(&self) {
            self.ivars().reset();
        }
    }
}
