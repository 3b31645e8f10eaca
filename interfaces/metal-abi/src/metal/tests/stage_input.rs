//! Stage-in data: descriptors, regions, reflection.

use objc2::rc::Retained;
use objc2::{class, msg_send};

use super::{Id, buffer, commit_and_wait, contents, device, library, line};
use crate::foundation::{NSError, NSString};
use crate::metal::pipeline::Reflection;
use crate::metal::size::{Origin, Size, TextureRegion};

/// As a vertex shader before tessellation: what each vertex gets, where the grid says.
const SOURCE: &str = "#include <metal_stdlib>
    using namespace metal;
    struct Vertex { float2 at [[attribute(0)]]; int kind [[attribute(2)]]; };
    kernel void capture(Vertex in [[stage_in]], device int* x [[buffer(0)]], uint3 at [[thread_position_in_grid]],
                        uint3 size [[grid_size]], uint3 origin [[grid_origin]]) {
        if (any(at >= size)) return;
        x[at.y * size.x + at.x] = int(in.at.y) + 1000 * in.kind + 10000 * int(origin.x);
    }
    kernel void region(device int* x [[buffer(0)]], uint3 size [[grid_size]], uint3 origin [[grid_origin]]) {
        x[0] = int(size.x); x[1] = int(origin.y);
    }
";

fn region(x: usize, y: usize, width: usize, height: usize) -> TextureRegion {
    TextureRegion { origin: Origin { x, y, z: 0 }, size: Size { width, height, depth: 1 } }
}

/// Positions as pairs of 16 bits in buffer 1, found by indices in buffer 2; kinds as bytes in buffer 3, one
/// for two rows.
fn descriptor(format: usize, step: usize) -> Id {
    // SAFETY: the classes have these methods.
    unsafe {
        let stage_input: Id = msg_send![class!(MTLStageInputOutputDescriptor), stageInputOutputDescriptor];
        let (layouts, attributes): (Id, Id) =
            (msg_send![&*stage_input, layouts], msg_send![&*stage_input, attributes]);
        for (index, stride, step, rate) in [(1usize, 4usize, step, 1usize), (3, 1, 6, 2)] {
            let layout: Id = msg_send![&*layouts, objectAtIndexedSubscript: index];
            let () = msg_send![&*layout, setStride: stride];
            let () = msg_send![&*layout, setStepFunction: step];
            let () = msg_send![&*layout, setStepRate: rate];
        }
        for (number, format, buffer) in [(0usize, format, 1usize), (2, 46, 3)] {
            let attribute: Id = msg_send![class!(MTLAttributeDescriptor), new];
            let () = msg_send![&*attribute, setFormat: format];
            let () = msg_send![&*attribute, setBufferIndex: buffer];
            let () = msg_send![&*attributes, setObject: &*attribute, atIndexedSubscript: number];
        }
        let () = msg_send![&*stage_input, setIndexBufferIndex: 2usize];
        let () = msg_send![&*stage_input, setIndexType: 0usize];
        stage_input
    }
}

fn pipeline(device: &Id, stage_input: Option<&Id>, name: &str) -> Result<Id, Retained<NSError>> {
    let library = library(device, SOURCE).unwrap();
    let (mut error, reflection): (*mut NSError, *mut *mut Reflection) =
        (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: the classes have these methods, and what they write is an object.
    unsafe {
        let function: Id = msg_send![&*library, newFunctionWithName: &*NSString::of(name)];
        let descriptor: Id = msg_send![class!(MTLComputePipelineDescriptor), new];
        let () = msg_send![&*descriptor, setComputeFunction: &*function];
        if let Some(stage_input) = stage_input {
            let copy: Id = msg_send![&**stage_input, copy];
            let () = msg_send![&*descriptor, setStageInputDescriptor: &*copy];
        }
        let made: Option<Id> = msg_send![&**device, newComputePipelineStateWithDescriptor: &*descriptor, options: 0usize, reflection: reflection, error: &mut error];
        made.ok_or_else(|| Retained::retain(error).expect("an error"))
    }
}

fn filled(device: &Id, words: &[i32]) -> Id {
    let made = buffer(device, words.len());
    // SAFETY: the buffer has so many elements, and no work uses it.
    unsafe {
        let bytes: *mut std::ffi::c_void = msg_send![&*made, contents];
        bytes.cast::<i32>().copy_from_nonoverlapping(words.as_ptr(), words.len());
    }
    made
}

#[test]
fn vertices_are_fetched_by_indices_and_instances_by_rows() {
    let device = device();
    // `MTLAttributeFormatShort2`, `MTLStepFunctionThreadPositionInGridXIndexed`.
    let pipeline = pipeline(&device, Some(&descriptor(16, 7)), "capture").unwrap();
    // The y coordinate of vertex n is 100 - n.
    let vertices: Vec<i32> = (0..16).map(|n| (100 - n) << 16 | 7).collect();
    let (vertices, indices) = (filled(&device, &vertices), filled(&device, &[3 | 5 << 16, 1 | 9 << 16]));
    let (kinds, x) = (filled(&device, &[0x0403_0201]), buffer(&device, 12));
    // SAFETY: the classes have these methods.
    unsafe {
        let queue: Id = msg_send![&*device, newCommandQueue];
        let commands: Id = msg_send![&*queue, commandBuffer];
        let encoder: Id = msg_send![&*commands, computeCommandEncoder];
        let () = msg_send![&*encoder, setComputePipelineState: &*pipeline];
        for (index, buffer) in [&x, &vertices, &indices, &kinds].into_iter().enumerate() {
            let () = msg_send![&*encoder, setBuffer: &**buffer, offset: 0usize, atIndex: index];
        }
        // Vertices count from the second, instances from the third; threads beyond are not to read.
        let () = msg_send![&*encoder, setStageInRegion: region(1, 2, 4, 3)];
        let group = Size { width: 8, height: 1, depth: 1 };
        let groups = Size { width: 1, height: 3, depth: 1 };
        let () = msg_send![&*encoder, dispatchThreadgroups: groups, threadsPerThreadgroup: group];
        let () = msg_send![&*encoder, endEncoding];
        assert_eq!(commit_and_wait(&commands), 4);
    }
    let row = |kind: i32| [4, 6, 2, 10].map(|vertex| 100 - vertex + 1000 * kind + 10000);
    assert_eq!(contents(&x, 12), [row(3), row(3), row(4)].concat());
}

#[test]
fn a_region_comes_from_a_buffer_and_needs_no_descriptor() {
    let device = device();
    let pipeline = pipeline(&device, None, "region").unwrap();
    let (x, arguments) = (buffer(&device, 2), filled(&device, &[-1, 4, 5, 6, 7, 8, 9]));
    // SAFETY: the classes have these methods.
    unsafe {
        let queue: Id = msg_send![&*device, newCommandQueue];
        for is_given in [false, true] {
            let commands: Id = msg_send![&*queue, commandBuffer];
            let encoder: Id = msg_send![&*commands, computeCommandEncoder];
            let () = msg_send![&*encoder, setComputePipelineState: &*pipeline];
            let () = msg_send![&*encoder, setBuffer: &*x, offset: 0usize, atIndex: 0usize];
            if is_given {
                let () = msg_send![&*encoder, setStageInRegionWithIndirectBuffer: &*arguments, indirectBufferOffset: 4usize];
            }
            let () = msg_send![&*encoder, dispatchThreads: line(3), threadsPerThreadgroup: line(3)];
            let () = msg_send![&*encoder, endEncoding];
            assert_eq!(commit_and_wait(&commands), 4);
            assert_eq!(contents(&x, 2), if is_given { [7, 5] } else { [3, 0] });
        }
    }
}

#[test]
fn descriptors_that_do_not_fit_are_errors() {
    let device = device();
    let text = |made: Result<Id, Retained<NSError>>| {
        let error = made.expect_err("there is none");
        // SAFETY: the class has the method.
        let text: Retained<NSString> = unsafe { msg_send![&*error, localizedDescription] };
        text.to_string()
    };
    assert!(text(pipeline(&device, None, "capture")).contains("needs a stage-input descriptor"));
    // `MTLAttributeFormatInvalid` is no description; 44 is no format, 1 the step function of vertices.
    let missing = text(pipeline(&device, Some(&descriptor(0, 7)), "capture"));
    assert!(missing.contains("attribute 0 (`at`)"), "{missing}");
    let unknown = text(pipeline(&device, Some(&descriptor(44, 7)), "capture"));
    assert!(unknown.contains("format 44"), "{unknown}");
    let of_vertices = text(pipeline(&device, Some(&descriptor(16, 1)), "capture"));
    assert!(of_vertices.contains("step function 1 of buffer 1"), "{of_vertices}");
}

#[test]
fn attributes_are_reflected_and_descriptors_can_be_reset() {
    let device = device();
    let library = library(&device, SOURCE).unwrap();
    let described = descriptor(16, 7);
    // SAFETY: the classes have these methods.
    unsafe {
        let function: Id = msg_send![&*library, newFunctionWithName: &*NSString::of("capture")];
        let attributes: Id = msg_send![&*function, stageInputAttributes];
        let count: usize = msg_send![&*attributes, count];
        assert_eq!(count, 2);
        let kind: Id = msg_send![&*attributes, objectAtIndex: 1usize];
        let name: Retained<NSString> = msg_send![&*kind, name];
        let (index, ty): (usize, usize) =
            (msg_send![&*kind, attributeIndex], msg_send![&*kind, attributeType]);
        // `MTLDataTypeInt`.
        assert_eq!((name.to_string().as_str(), index, ty), ("kind", 2, 29));
        let () = msg_send![&*described, reset];
        let attributes: Id = msg_send![&*described, attributes];
        let first: Id = msg_send![&*attributes, objectAtIndexedSubscript: 0usize];
        let format: usize = msg_send![&*first, format];
        assert_eq!(format, 0);
        let plain: Id = msg_send![&*library, newFunctionWithName: &*NSString::of("region")];
        let none: Option<Id> = msg_send![&*plain, stageInputAttributes];
        assert!(none.is_none());
    }
}
