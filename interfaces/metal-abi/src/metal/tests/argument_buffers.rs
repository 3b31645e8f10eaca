//! Textures and samplers in argument buffers, by encoders and in structures that the host writes.

use std::ffi::c_void;

use objc2::rc::Retained;
use objc2::runtime::AnyObject;
use objc2::{class, msg_send};

use super::textures::{plane, region, replace, texture};
use super::{Id, Setup, buffer, commit_and_wait, failure, library, line, pipeline};
use crate::foundation::{NSString, Range};
use crate::metal::size::ResourceId;

const SOURCE: &str = "
    #include <metal_stdlib>
    using namespace metal;
    struct Picture { texture2d<float> image [[id(0)]]; float factor [[id(1)]]; };
    struct Scene {
        array<texture2d<float>, 4> pictures [[id(0)]];
        array<sampler, 2> samplers [[id(4)]];
        device float* factors [[id(6)]];
        uint count [[id(7)]];
        constant Picture* more [[id(8)]];
    };
    kernel void sum(constant Scene& scene [[buffer(0)]], device float* out [[buffer(1)]], uint i [[thread_position_in_grid]]) {
        float total = 0;
        for (uint n = 0; n < scene.count; n++) {
            texture2d<float> picture = scene.pictures[n];
            if (is_null_texture(picture)) { total += 1000; continue; }
            total += scene.factors[n] * picture.sample(scene.samplers[n % 2], float2(float(i) / 4, 0.5f)).r;
        }
        out[i] = total + scene.more[1].factor * scene.more[1].image.read(uint2(i, 0)).r;
    }
    struct Material { texture2d<float, access::read> color; device float* factor; };
    kernel void bindless(constant Material* materials [[buffer(0)]], device float* out [[buffer(1)]],
                         constant uint& count [[buffer(2)]], uint i [[thread_position_in_grid]]) {
        float total = 0;
        for (uint n = 0; n < count; n++) total += materials[n].color.read(uint2(i, 0)).r * materials[n].factor[i];
        out[i] = total;
    }";

const R32_FLOAT: usize = 55;

fn floats(buffer: &AnyObject, count: usize) -> Vec<f32> {
    super::contents(buffer, count).into_iter().map(|bits| f32::from_bits(bits as u32)).collect()
}

fn fill_row(texture: &AnyObject, texels: &[f32]) {
    let bytes: Vec<u8> = texels.iter().flat_map(|texel| texel.to_le_bytes()).collect();
    replace(texture, region([0; 3], [texels.len(), 1, 1]), 0, &bytes, bytes.len());
}

/// A sampler that repeats or clamps.
fn sampler(setup: &Setup, address: usize, in_argument_buffers: bool) -> Id {
    // SAFETY: the classes have these methods.
    unsafe {
        let descriptor: Id = msg_send![class!(MTLSamplerDescriptor), new];
        let () = msg_send![&*descriptor, setSAddressMode: address];
        let () = msg_send![&*descriptor, setSupportArgumentBuffers: in_argument_buffers];
        msg_send![&*setup.device, newSamplerStateWithDescriptor: &*descriptor]
    }
}

/// A heap with room for the textures of a test.
fn heap(setup: &Setup) -> Id {
    // SAFETY: the classes have these methods.
    unsafe {
        let descriptor: Id = msg_send![class!(MTLHeapDescriptor), new];
        let () = msg_send![&*descriptor, setSize: 1usize << 20];
        let () = msg_send![&*descriptor, setStorageMode: 0usize];
        msg_send![&*setup.device, newHeapWithDescriptor: &*descriptor]
    }
}

fn bytes_of(buffer: &AnyObject) -> *mut c_void {
    // SAFETY: the class has the method.
    unsafe { msg_send![buffer, contents] }
}

/// Runs a kernel over four threads with its first two buffers; `using` binds the rest. The status.
fn run(setup: &Setup, kernel: &str, buffers: [&AnyObject; 2], using: impl FnOnce(&AnyObject)) -> usize {
    let library = library(&setup.device, SOURCE).expect("it compiles");
    let (pipeline, commands) = (pipeline(&setup.device, &library, kernel), setup.command_buffer());
    // SAFETY: the classes have these methods.
    unsafe {
        let encoder: Id = msg_send![&*commands, computeCommandEncoder];
        let () = msg_send![&*encoder, setComputePipelineState: &*pipeline];
        for (index, buffer) in buffers.into_iter().enumerate() {
            let () = msg_send![&*encoder, setBuffer: buffer, offset: 0usize, atIndex: index];
        }
        using(&encoder);
        let () = msg_send![&*encoder, dispatchThreads: line(4), threadsPerThreadgroup: line(4)];
        let () = msg_send![&*encoder, endEncoding];
    }
    commit_and_wait(&commands)
}

#[test]
fn encoders_write_arrays_of_textures_of_a_heap_with_samplers_and_nested_structures() {
    let setup = Setup::new();
    let heap = heap(&setup);
    let shape = plane(R32_FLOAT, [2, 1], false);
    // SAFETY: the classes have these methods; memory is written within its bounds.
    unsafe {
        let () = msg_send![&*shape, setStorageMode: 0usize];
        let of_heap = || -> Id { msg_send![&*heap, newTextureWithDescriptor: &*shape] };
        let pictures = [of_heap(), of_heap(), texture(&setup, &shape)];
        for (n, picture) in pictures.iter().enumerate() {
            fill_row(picture, &[n as f32 + 1.0, 10.0 * (n as f32 + 1.0)]);
        }
        let last = texture(&setup, &plane(R32_FLOAT, [4, 1], false));
        fill_row(&last, &[1.0, 2.0, 3.0, 4.0]);
        let factors = buffer(&setup.device, 4);
        bytes_of(&factors).cast::<[f32; 4]>().write([1.0, 100.0, 10000.0, 0.0]);
        let samplers = [sampler(&setup, 0, true), sampler(&setup, 2, true)];

        let functions = library(&setup.device, SOURCE).expect("it compiles");
        let function: Id = msg_send![&*functions, newFunctionWithName: &*NSString::of("sum")];
        let arguments: Id = msg_send![&*function, newArgumentEncoderWithBufferIndex: 0usize];
        let length: usize = msg_send![&*arguments, encodedLength];
        assert_eq!(length, 4 * 8 + 2 * 8 + 8 + 8 + 8);
        let scene: Id = msg_send![&*setup.device, newBufferWithLength: length, options: 0usize];
        let () = msg_send![&*arguments, setArgumentBuffer: &*scene, offset: 0usize];
        let some: [*const AnyObject; 3] =
            [&raw const *pictures[0], &raw const *pictures[1], std::ptr::null()];
        let () =
            msg_send![&*arguments, setTextures: some.as_ptr(), withRange: Range { location: 0, length: 3 }];
        let () = msg_send![&*arguments, setTexture: &*pictures[2], atIndex: 3usize];
        let both: [*const AnyObject; 2] = [&raw const *samplers[0], &raw const *samplers[1]];
        let () = msg_send![&*arguments, setSamplerStates: both.as_ptr(), withRange: Range { location: 4, length: 2 }];
        let () = msg_send![&*arguments, setBuffer: &*factors, offset: 0usize, atIndex: 6usize];
        let count: *mut c_void = msg_send![&*arguments, constantDataAtIndex: 7usize];
        count.cast::<u32>().write(3);

        let nested: Id = msg_send![&*arguments, newArgumentEncoderForBufferAtIndex: 8usize];
        let length: usize = msg_send![&*nested, encodedLength];
        let more: Id = msg_send![&*setup.device, newBufferWithLength: 2 * length, options: 0usize];
        let () = msg_send![&*nested, setArgumentBuffer: &*more, startOffset: 0usize, arrayElement: 1usize];
        let () = msg_send![&*nested, setTexture: &*last, atIndex: 0usize];
        let factor: *mut c_void = msg_send![&*nested, constantDataAtIndex: 1usize];
        factor.cast::<f32>().write(0.25);
        let () = msg_send![&*arguments, setBuffer: &*more, offset: 0usize, atIndex: 8usize];

        let out = buffer(&setup.device, 4);
        let status = run(&setup, "sum", [&scene, &out], |encoder| {
            let () = msg_send![encoder, useHeap: &*heap];
            for resource in [&pictures[2], &last, &factors, &more] {
                let () = msg_send![encoder, useResource: &**resource, usage: 1usize];
            }
        });
        // The second sampler repeats: the fourth thread's coordinate is 0.75, as that of the third is 0.5.
        let first = [1.0, 1.0, 10.0, 10.0];
        let second = [200.0, 200.0, 2000.0, 2000.0];
        let expected: Vec<f32> =
            (0..4).map(|i| first[i] + second[i] + 1000.0 + 0.25 * (i as f32 + 1.0)).collect();
        assert_eq!((status, floats(&out, 4)), (4, expected));

        let plain = sampler(&setup, 0, false);
        let refused = failure(|| {
            let () = msg_send![&*arguments, setSamplerState: &*plain, atIndex: 4usize];
        });
        assert!(refused.contains("supportArgumentBuffers"), "{refused}");
        let wrong = failure(|| {
            let () = msg_send![&*arguments, setTexture: &*last, atIndex: 6usize];
        });
        assert!(wrong.contains("the member with the index 6 is no texture"), "{wrong}");
        let none = failure(|| drop::<Id>(msg_send![&*arguments, newArgumentEncoderForBufferAtIndex: 6usize]));
        assert!(none.contains("points to no structure"), "{none}");
    }
}

#[test]
fn a_kernel_reads_a_thousand_textures_by_the_ids_in_a_structure_of_the_host() {
    const COUNT: usize = 1000;
    #[repr(C)]
    struct Material {
        color: ResourceId,
        factor: u64,
    }
    let setup = Setup::new();
    let shape = plane(R32_FLOAT, [4, 1], false);
    let textures: Vec<Id> = (0..COUNT).map(|_| texture(&setup, &shape)).collect();
    for (n, texture) in textures.iter().enumerate() {
        fill_row(texture, &[n as f32, 1.0, 2.0, (n % 7) as f32]);
    }
    let (factor, out) = (buffer(&setup.device, 4), buffer(&setup.device, 4));
    // SAFETY: the classes have these methods; memory is written within its bounds.
    unsafe {
        bytes_of(&factor).cast::<[f32; 4]>().write([1.0, 2.0, 3.0, 4.0]);
        let address: u64 = msg_send![&*factor, gpuAddress];
        let materials: Id =
            msg_send![&*setup.device, newBufferWithLength: size_of::<Material>() * COUNT, options: 0usize];
        for (n, texture) in textures.iter().enumerate() {
            let material = Material { color: msg_send![&**texture, gpuResourceID], factor: address };
            bytes_of(&materials).cast::<Material>().add(n).write(material);
        }
        let run_with = |resident: usize| {
            run(&setup, "bindless", [&materials, &out], |encoder| {
                let count = COUNT as u32;
                let bytes = (&raw const count).cast::<c_void>();
                let () = msg_send![encoder, setBytes: bytes, length: 4usize, atIndex: 2usize];
                let all: Vec<*const AnyObject> =
                    textures[..resident].iter().map(Retained::as_ptr).map(<*const _>::cast).collect();
                let () = msg_send![encoder, useResources: all.as_ptr(), count: resident, usage: 1usize];
                let () = msg_send![encoder, useResource: &*factor, usage: 1usize];
            })
        };
        assert_eq!(run_with(COUNT), 4);
        let sevens: f32 = (0..COUNT).map(|n| (n % 7) as f32).sum();
        assert_eq!(floats(&out, 4), [499_500.0, 2000.0, 6000.0, 4.0 * sevens]);
        assert_eq!(run_with(COUNT - 1), 5, "the last texture is not resident");
    }
}
