//! Argument encoders made of descriptors: where members are, what kernels read of them, and what is refused.

use std::ffi::c_void;

use objc2::rc::Retained;
use objc2::runtime::AnyObject;
use objc2::{class, msg_send};

use super::textures::{plane, region, replace, texture};
use super::{Id, Setup, buffer, commit_and_wait, contents, failure, library, line, pipeline};
use crate::foundation::{NSArray, NSString, Range};

const FLOAT: usize = 3;
const FLOAT3: usize = 5;
const FLOAT3X3: usize = 11;
const HALF: usize = 16;
const UINT: usize = 33;
const UCHAR: usize = 49;
const TEXTURE: usize = 58;
const SAMPLER: usize = 59;
const POINTER: usize = 60;

/// A descriptor of that data type from an index on; a length of 0 is no array.
fn described(data_type: usize, index: usize, length: usize) -> Id {
    // SAFETY: the class has these methods.
    unsafe {
        let descriptor: Id = msg_send![class!(MTLArgumentDescriptor), argumentDescriptor];
        let () = msg_send![&*descriptor, setDataType: data_type];
        let () = msg_send![&*descriptor, setIndex: index];
        let () = msg_send![&*descriptor, setArrayLength: length];
        descriptor
    }
}

fn encoder(setup: &Setup, descriptors: Vec<Id>) -> Id {
    let array = NSArray::of(descriptors);
    // SAFETY: the class has the method.
    let made: Option<Id> = unsafe { msg_send![&*setup.device, newArgumentEncoderWithArguments: &*array] };
    made.expect("an encoder")
}

fn shape(encoder: &AnyObject) -> [usize; 2] {
    // SAFETY: the class has these methods.
    unsafe { [msg_send![encoder, encodedLength], msg_send![encoder, alignment]] }
}

/// The byte in its structure of a constant with an index.
fn place(encoder: &AnyObject, target: &AnyObject, index: usize) -> usize {
    // SAFETY: the classes have these methods.
    unsafe {
        let () = msg_send![encoder, setArgumentBuffer: target, offset: 0usize];
        let start: *mut c_void = msg_send![target, contents];
        let at: *mut c_void = msg_send![encoder, constantDataAtIndex: index];
        at as usize - start as usize
    }
}

#[test]
fn members_are_where_a_structure_has_them() {
    let setup = Setup::new();
    let target = buffer(&setup.device, 256);
    let blocked = described(FLOAT, 4, 3);
    // SAFETY: the class has these methods.
    unsafe {
        let () = msg_send![&*blocked, setConstantBlockAlignment: 64usize];
        let () = msg_send![&*blocked, setAccess: 1usize];
        let copy: Id = msg_send![&*blocked, copy];
        let read: [usize; 5] = [
            msg_send![&*copy, dataType],
            msg_send![&*copy, index],
            msg_send![&*copy, arrayLength],
            msg_send![&*copy, access],
            msg_send![&*copy, constantBlockAlignment],
        ];
        assert_eq!(read, [FLOAT, 4, 3, 1, 64]);
    }
    // Not in the order of their indices: uchar 0, half[2] 1 to 2, float3 3, float[3] 4 to 6, pointer 7,
    // float3x3 9.
    let descriptors = vec![
        described(FLOAT3X3, 9, 0),
        described(POINTER, 7, 0),
        blocked,
        described(HALF, 1, 2),
        described(FLOAT3, 3, 1),
        described(UCHAR, 0, 0),
    ];
    let encoder = encoder(&setup, descriptors);
    assert_eq!(shape(&encoder), [192, 64]);
    let places = [0, 1, 2, 3, 4, 5, 6, 9].map(|index| place(&encoder, &target, index));
    assert_eq!(places, [0, 2, 4, 16, 64, 68, 72, 96]);
}

#[test]
fn a_kernel_reads_what_an_encoder_of_descriptors_writes() {
    const SOURCE: &str = "
        #include <metal_stdlib>
        using namespace metal;
        struct Arguments {
            array<texture2d<float>, 2> pictures [[id(0)]];
            sampler nearest [[id(2)]];
            device int* out [[id(3)]];
            array<constant int*, 2> terms [[id(4)]];
            uint scale [[id(6)]];
            float3 more [[id(7)]];
        };
        kernel void gather(constant Arguments& a [[buffer(0)]], uint i [[thread_position_in_grid]]) {
            float texels = 0;
            for (int n = 0; n < 2; n++) texels += a.pictures[n].sample(a.nearest, float2(float(i) / 2 + 0.25f, 0.5f)).r;
            a.out[i] = int(texels) + a.terms[0][i] + a.scale * a.terms[1][i] + int(a.more.z);
        }";
    let setup = Setup::new();
    let encoder = encoder(
        &setup,
        vec![
            described(TEXTURE, 0, 2),
            described(SAMPLER, 2, 0),
            described(POINTER, 3, 0),
            described(POINTER, 4, 2),
            described(UINT, 6, 0),
            described(FLOAT3, 7, 0),
        ],
    );
    let row = plane(55, [2, 1], false);
    let pictures = [texture(&setup, &row), texture(&setup, &row)];
    for (picture, texels) in pictures.iter().zip([[1.0f32, 2.0], [10.0, 20.0]]) {
        replace(picture, region([0; 3], [2, 1, 1]), 0, &texels.map(f32::to_le_bytes).concat(), 8);
    }
    let [out, first, second] = [0; 3].map(|_| buffer(&setup.device, 2));
    // SAFETY: the classes have these methods; memory is written within its bounds.
    unsafe {
        for (terms, values) in [(&first, [100, 200]), (&second, [1000, 2000])] {
            let bytes: *mut c_void = msg_send![&**terms, contents];
            bytes.cast::<[i32; 2]>().write(values);
        }
        let [length, _] = shape(&encoder);
        // From the second structure of an array on.
        let target: Id = msg_send![&*setup.device, newBufferWithLength: 2 * length, options: 0usize];
        let () = msg_send![&*encoder, setArgumentBuffer: &*target, startOffset: 0usize, arrayElement: 1usize];
        let both: [*const AnyObject; 2] = [&raw const *pictures[0], &raw const *pictures[1]];
        let range = Range { location: 0, length: 2 };
        let () = msg_send![&*encoder, setTextures: both.as_ptr(), withRange: range];
        let descriptor: Id = msg_send![class!(MTLSamplerDescriptor), new];
        let () = msg_send![&*descriptor, setSupportArgumentBuffers: true];
        let nearest: Id = msg_send![&*setup.device, newSamplerStateWithDescriptor: &*descriptor];
        let () = msg_send![&*encoder, setSamplerState: &*nearest, atIndex: 2usize];
        for (index, buffer) in [(3usize, &out), (4, &first), (5, &second)] {
            let () = msg_send![&*encoder, setBuffer: &**buffer, offset: 0usize, atIndex: index];
        }
        let scale: *mut c_void = msg_send![&*encoder, constantDataAtIndex: 6usize];
        scale.cast::<u32>().write(3);
        let more: *mut c_void = msg_send![&*encoder, constantDataAtIndex: 7usize];
        more.cast::<[f32; 3]>().write([0.0, 0.0, 100_000.0]);

        let library = library(&setup.device, SOURCE).expect("it compiles");
        let (gather, commands) = (pipeline(&setup.device, &library, "gather"), setup.command_buffer());
        let encoder: Id = msg_send![&*commands, computeCommandEncoder];
        let () = msg_send![&*encoder, setComputePipelineState: &*gather];
        let () = msg_send![&*encoder, setBuffer: &*target, offset: length, atIndex: 0usize];
        for resource in pictures.iter().chain([&out, &first, &second]) {
            let () = msg_send![&*encoder, useResource: &**resource, usage: 3usize];
        }
        let () = msg_send![&*encoder, dispatchThreads: line(2), threadsPerThreadgroup: line(2)];
        let () = msg_send![&*encoder, endEncoding];
        assert_eq!(commit_and_wait(&commands), 4);
    }
    assert_eq!(contents(&out, 2), [103_111, 106_222]);
}

#[test]
fn descriptors_that_describe_no_structure_are_refused() {
    let setup = Setup::new();
    let refused = |descriptors: Vec<Id>, rule: &str| {
        let told = failure(|| drop(encoder(&setup, descriptors)));
        assert!(told.contains("newArgumentEncoderWithArguments:") && told.contains(rule), "{told}");
    };
    refused(vec![], "no descriptors");
    refused(vec![described(1, 0, 0)], "the data type 1 is none");
    refused(vec![described(FLOAT, 0, 3), described(FLOAT, 2, 0)], "the index 2 is of two descriptors");
    refused(vec![described(TEXTURE, 0, (1 << 20) + 1)], "no more than 1048576 members");
    refused(vec![described(TEXTURE, usize::MAX, 2)], "no more than");
    refused(vec![setup.queue.clone()], "an element is no descriptor");
    for (data_type, alignment) in [(FLOAT, 3usize), (POINTER, 16), (FLOAT, 1 << 40)] {
        let descriptor = described(data_type, 0, 0);
        // SAFETY: the class has the method.
        let () = unsafe { msg_send![&*descriptor, setConstantBlockAlignment: alignment] };
        refused(vec![descriptor], "constantBlockAlignment is a power of two");
    }
    let pointers = encoder(&setup, vec![described(POINTER, 0, 0)]);
    // SAFETY: the class has the method.
    let nested = || drop::<Id>(unsafe { msg_send![&*pointers, newArgumentEncoderForBufferAtIndex: 0usize] });
    assert!(failure(nested).contains("was made of descriptors"));
}

#[test]
fn a_binding_gives_the_encoder_of_its_structure() {
    const SOURCE: &str = "
        struct Arguments { device int* x [[id(2)]]; int factor [[id(5)]]; };
        kernel void scale(constant Arguments& a [[buffer(3)]], uint i [[thread_position_in_grid]]) { a.x[i] *= a.factor; }";
    let setup = Setup::new();
    let library = library(&setup.device, SOURCE).expect("it compiles");
    let scale = pipeline(&setup.device, &library, "scale");
    // SAFETY: the classes have these methods.
    unsafe {
        let reflection: Id = msg_send![&*scale, reflection];
        let bindings: Retained<NSArray> = msg_send![&*reflection, bindings];
        let binding = bindings.elements().remove(0);
        let of_binding: Id = msg_send![&*setup.device, newArgumentEncoderWithBufferBinding: &*binding];
        let function: Id = msg_send![&*library, newFunctionWithName: &*NSString::of("scale")];
        let of_function: Id = msg_send![&*function, newArgumentEncoderWithBufferIndex: 3usize];
        assert_eq!((shape(&of_binding), shape(&of_function)), ([16, 8], [16, 8]));
        let target = buffer(&setup.device, 4);
        assert_eq!(place(&of_binding, &target, 5), 8);
    }
}
