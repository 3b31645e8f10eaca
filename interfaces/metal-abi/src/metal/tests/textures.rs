//! Textures and samplers by the messages that `objc2-metal` sends.

use std::ffi::c_void;

use objc2::rc::Retained;
use objc2::runtime::AnyObject;
use objc2::{class, msg_send};

use super::{Id, Setup, buffer, commit_and_wait, contents, failure, library, pipeline};
use crate::foundation::{NSArray, NSString, Range};
use crate::metal::size::{Origin, Size, TextureRegion};

const SOURCE: &str = "
    #include <metal_stdlib>
    using namespace metal;
    kernel void invert(texture2d<float, access::read> from [[texture(0)]], texture2d<float, access::write> to [[texture(1)]],
                       uint2 at [[thread_position_in_grid]]) {
        if (at.x < to.get_width() && at.y < to.get_height()) to.write(1 - from.read(at), at);
    }
    kernel void magnify(texture2d<half> from [[texture(0)]], sampler s [[sampler(2)]], device float* out [[buffer(0)]],
                        uint i [[thread_position_in_grid]]) {
        out[i] = float(from.sample(s, float2((float(i) + 0.5f) / 8, 0.5f)).r);
    }
    kernel void sum(array<texture2d<uint, access::read>, 3> from [[texture(4)]], depth2d<float> d [[texture(9)]],
                    texture_buffer<int, access::read_write> row [[texture(0)]], device uint* out [[buffer(3)]],
                    constant uint& n [[buffer(1)]], uint i [[thread_position_in_grid]]) {
        uint total = 0;
        for (uint k = 0; k < n; k++) total += from[k].read(uint2(i, 0)).r;
        out[i] = total;
        row.write(row.read(i) + int(total), i);
    }
";

const R8_UNORM: usize = 10;
const R8_UINT: usize = 13;
const R32_SINT: usize = 54;
const RGBA8_UNORM: usize = 70;
const RGBA8_UINT: usize = 73;
const DEPTH32_FLOAT: usize = 252;
/// `MTLTextureUsageShaderRead` and `MTLTextureUsageShaderWrite`.
const ALL_USES: usize = 3;

fn size([width, height, depth]: [usize; 3]) -> Size {
    Size { width, height, depth }
}

pub(super) fn region([x, y, z]: [usize; 3], extent: [usize; 3]) -> TextureRegion {
    TextureRegion { origin: Origin { x, y, z }, size: size(extent) }
}

/// A descriptor of a plane.
pub(super) fn plane(format: usize, [width, height]: [usize; 2], mipmapped: bool) -> Id {
    // SAFETY: the class has these methods.
    unsafe {
        let descriptor: Id = msg_send![class!(MTLTextureDescriptor), texture2DDescriptorWithPixelFormat: format, width: width, height: height, mipmapped: mipmapped];
        let () = msg_send![&*descriptor, setUsage: ALL_USES];
        descriptor
    }
}

pub(super) fn texture(setup: &Setup, descriptor: &AnyObject) -> Id {
    // SAFETY: the class has the method.
    unsafe { msg_send![&*setup.device, newTextureWithDescriptor: descriptor] }
}

pub(super) fn replace(
    texture: &AnyObject,
    region: TextureRegion,
    level: usize,
    bytes: &[u8],
    row_bytes: usize,
) {
    let bytes: *const c_void = bytes.as_ptr().cast();
    // SAFETY: the class has the method, and the tests give so many bytes.
    unsafe {
        msg_send![texture, replaceRegion: region, mipmapLevel: level, withBytes: bytes, bytesPerRow: row_bytes]
    }
}

fn get(texture: &AnyObject, region: TextureRegion, level: usize, row_bytes: usize) -> Vec<u8> {
    let mut bytes = vec![0u8; row_bytes * region.size.height];
    let place: *mut c_void = bytes.as_mut_ptr().cast();
    // SAFETY: as above.
    let () = unsafe {
        msg_send![texture, getBytes: place, bytesPerRow: row_bytes, fromRegion: region, mipmapLevel: level]
    };
    bytes
}

/// A compute encoder with a kernel of the source.
fn encoder(setup: &Setup, commands: &AnyObject, kernel: &str) -> Id {
    let library = library(&setup.device, SOURCE).unwrap();
    let pipeline = pipeline(&setup.device, &library, kernel);
    // SAFETY: the classes have these methods.
    unsafe {
        let encoder: Id = msg_send![commands, computeCommandEncoder];
        let () = msg_send![&*encoder, setComputePipelineState: &*pipeline];
        encoder
    }
}

fn dispatch(encoder: &AnyObject, threads: [usize; 3]) {
    // SAFETY: the class has these methods.
    unsafe {
        let () = msg_send![encoder, dispatchThreads: size(threads), threadsPerThreadgroup: size([8, threads[1].min(8), 1])];
        msg_send![encoder, endEncoding]
    }
}

#[test]
fn the_host_writes_and_reads_boxes_of_a_texture_and_a_kernel_inverts_it() {
    let setup = Setup::new();
    let shape = plane(R8_UNORM, [5, 3], false);
    let (from, to) = (texture(&setup, &shape), texture(&setup, &shape));
    replace(&from, region([0; 3], [5, 3, 1]), 0, &(0..21).collect::<Vec<u8>>(), 7);
    replace(&from, region([3, 1, 0], [2, 1, 1]), 0, &[100, 200], 2);
    let commands = setup.command_buffer();
    // SAFETY: the classes have these methods.
    unsafe {
        let encoder = encoder(&setup, &commands, "invert");
        let both: [*const AnyObject; 2] = [&*from, &*to];
        let range = Range { location: 0, length: 2 };
        let () = msg_send![&*encoder, setTextures: both.as_ptr(), withRange: range];
        let () = msg_send![&*encoder, useResource: &*to, usage: 2usize];
        dispatch(&encoder, [5, 3, 1]);
        assert_eq!(commit_and_wait(&commands), 4);
        let (width, kind, format): (usize, usize, usize) =
            (msg_send![&*to, width], msg_send![&*to, textureType], msg_send![&*to, pixelFormat]);
        assert_eq!((width, kind, format), (5, 2, R8_UNORM));
    }
    assert_eq!(get(&to, region([0; 3], [5, 1, 1]), 0, 5), [255, 254, 253, 252, 251]);
    assert_eq!(
        get(&to, region([1, 1, 0], [4, 2, 1]), 0, 6),
        [247, 246, 155, 55, 0, 0, 240, 239, 238, 237, 0, 0]
    );
    let outside = failure(|| drop(get(&to, region([3, 0, 0], [3, 1, 1]), 0, 3)));
    assert!(
        outside.contains("getBytes:bytesPerRow:fromRegion:") && outside.contains("not within"),
        "{outside}"
    );
}

#[test]
fn a_sampler_filters_and_its_levels_may_be_clamped() {
    let setup = Setup::new();
    let from = texture(&setup, &plane(R8_UNORM, [4, 4], true));
    replace(&from, region([0; 3], [4, 4, 1]), 0, &[0, 255, 0, 255].repeat(4), 4);
    replace(&from, region([0; 3], [2, 2, 1]), 1, &[51; 4], 2);
    let run = |filter: usize, clamp: Option<[f32; 2]>| {
        let (commands, out) = (setup.command_buffer(), buffer(&setup.device, 8));
        // SAFETY: the classes have these methods.
        unsafe {
            let descriptor: Id = msg_send![class!(MTLSamplerDescriptor), new];
            let () = msg_send![&*descriptor, setMagFilter: filter];
            let () = msg_send![&*descriptor, setMinFilter: filter];
            let () = msg_send![&*descriptor, setMipFilter: 1usize];
            let () = msg_send![&*descriptor, setLabel: &*NSString::of("s")];
            let sampler: Id = msg_send![&*setup.device, newSamplerStateWithDescriptor: &*descriptor];
            let label: Retained<NSString> = msg_send![&*sampler, label];
            assert_eq!(label.to_string(), "s");
            let encoder = encoder(&setup, &commands, "magnify");
            let () = msg_send![&*encoder, setTexture: &*from, atIndex: 0usize];
            let () = match clamp {
                None => msg_send![&*encoder, setSamplerState: &*sampler, atIndex: 2usize],
                Some([least, largest]) => {
                    msg_send![&*encoder, setSamplerState: &*sampler, lodMinClamp: least, lodMaxClamp: largest, atIndex: 2usize]
                }
            };
            let () = msg_send![&*encoder, setBuffer: &*out, offset: 0usize, atIndex: 0usize];
            dispatch(&encoder, [8, 1, 1]);
        }
        assert_eq!(commit_and_wait(&commands), 4);
        contents(&out, 8).into_iter().map(|bits| f32::from_bits(bits as u32)).collect::<Vec<f32>>()
    };
    assert_eq!(run(0, None), [0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0]);
    assert_eq!(run(1, None), [0.0, 0.25, 0.75, 0.75, 0.25, 0.25, 0.75, 1.0]);
    for found in run(0, Some([1.0, 1.0])) {
        assert!((found - 0.2).abs() < 1e-3, "{found}");
    }
}

#[test]
fn arrays_of_textures_texture_buffers_and_reflection_agree() {
    let setup = Setup::new();
    let shape = plane(R8_UINT, [8, 1], false);
    let textures: Vec<Id> = (0..2u8)
        .map(|n| {
            let texture = texture(&setup, &shape);
            replace(&texture, region([0; 3], [8, 1, 1]), 0, &[n + 1; 8], 8);
            texture
        })
        .collect();
    let (row, out) = (buffer(&setup.device, 16), buffer(&setup.device, 8));
    let run = |count: u32| {
        let commands = setup.command_buffer();
        // SAFETY: the classes have these methods.
        unsafe {
            let descriptor: Id = msg_send![class!(MTLTextureDescriptor), textureBufferDescriptorWithPixelFormat: R32_SINT, width: 8usize, resourceOptions: 0usize, usage: ALL_USES];
            let over: Id = msg_send![&*row, newTextureWithDescriptor: &*descriptor, offset: 16usize, bytesPerRow: 32usize];
            let encoder = encoder(&setup, &commands, "sum");
            for (n, texture) in textures.iter().enumerate() {
                let () = msg_send![&*encoder, setTexture: &**texture, atIndex: 4 + n];
            }
            let () = msg_send![&*encoder, setTexture: &*over, atIndex: 0usize];
            let depth = texture(&setup, &plane(DEPTH32_FLOAT, [1, 1], false));
            let () = msg_send![&*encoder, setTexture: &*depth, atIndex: 9usize];
            let () = msg_send![&*encoder, setBuffer: &*out, offset: 0usize, atIndex: 3usize];
            let count: *const c_void = (&raw const count).cast();
            let () = msg_send![&*encoder, setBytes: count, length: 4usize, atIndex: 1usize];
            dispatch(&encoder, [8, 1, 1]);
            let buffer: Id = msg_send![&*over, buffer];
            assert!(std::ptr::eq(&*buffer, &*row));
        }
        commit_and_wait(&commands)
    };
    assert_eq!(run(2), 4);
    assert_eq!(contents(&out, 8), [3; 8]);
    assert_eq!(contents(&row, 16), [0, 0, 0, 0, 3, 3, 3, 3, 3, 3, 3, 3, 0, 0, 0, 0]);
    // An element that is not bound has no texels.
    assert_eq!(run(3), 4);
    assert_eq!(contents(&out, 8), [3; 8]);
    assert_eq!(
        reflected(&setup),
        [
            ("from".to_owned(), 2, 4, 3),
            ("d".to_owned(), 2, 9, 1),
            ("row".to_owned(), 2, 0, 1),
            ("out".to_owned(), 0, 3, 1),
            ("n".to_owned(), 0, 1, 1),
        ]
    );
}

/// Name, type, index and array length of each binding of `sum`.
fn reflected(setup: &Setup) -> Vec<(String, isize, usize, usize)> {
    let library = library(&setup.device, SOURCE).unwrap();
    let sum = pipeline(&setup.device, &library, "sum");
    // SAFETY: the classes have these methods.
    unsafe {
        let reflection: Id = msg_send![&*sum, reflection];
        let bindings: Retained<NSArray> = msg_send![&*reflection, bindings];
        let bindings = bindings.elements();
        let types: Vec<(usize, usize, bool)> = bindings[..3]
            .iter()
            .map(|b| {
                (
                    msg_send![&**b, textureType],
                    msg_send![&**b, textureDataType],
                    msg_send![&**b, isDepthTexture],
                )
            })
            .collect();
        assert_eq!(types, [(2, 33, false), (2, 3, true), (9, 29, false)]);
        let access: Vec<usize> = bindings[..3].iter().map(|b| msg_send![&**b, access]).collect();
        assert_eq!((access[0], access[2]), (0, 1));
        let told = |b: &Id| -> (String, isize, usize, usize) {
            let name: Retained<NSString> = msg_send![&**b, name];
            (name.to_string(), msg_send![&**b, type], msg_send![&**b, index], msg_send![&**b, arrayLength])
        };
        bindings.iter().map(told).collect()
    }
}

#[test]
fn blits_copy_between_buffers_and_textures_and_make_mip_levels() {
    let setup = Setup::new();
    let (source, target) = (buffer(&setup.device, 64), buffer(&setup.device, 64));
    // SAFETY: the buffer has so many bytes, and the classes have these methods.
    unsafe {
        let bytes: *mut c_void = msg_send![&*source, contents];
        for (n, byte) in std::slice::from_raw_parts_mut(bytes.cast::<u8>(), 256).iter_mut().enumerate() {
            *byte = (n % 20 * 10) as u8;
        }
        let shape = plane(R8_UNORM, [8, 4], true);
        let (a, b) = (texture(&setup, &shape), texture(&setup, &shape));
        let commands = setup.command_buffer();
        let blit: Id = msg_send![&*commands, blitCommandEncoder];
        let start = Origin::default();
        let () = msg_send![&*blit, copyFromBuffer: &*source, sourceOffset: 0usize, sourceBytesPerRow: 20usize, sourceBytesPerImage: 0usize, sourceSize: size([8, 4, 1]), toTexture: &*a, destinationSlice: 0usize, destinationLevel: 0usize, destinationOrigin: start];
        let () = msg_send![&*blit, generateMipmapsForTexture: &*a];
        let () = msg_send![&*blit, copyFromTexture: &*a, toTexture: &*b];
        let to = Origin { x: 5, y: 2, z: 0 };
        let () = msg_send![&*blit, copyFromTexture: &*a, sourceSlice: 0usize, sourceLevel: 0usize, sourceOrigin: start, sourceSize: size([3, 2, 1]), toTexture: &*b, destinationSlice: 0usize, destinationLevel: 0usize, destinationOrigin: to];
        let () = msg_send![&*blit, copyFromTexture: &*b, sourceSlice: 0usize, sourceLevel: 0usize, sourceOrigin: Origin { x: 4, y: 1, z: 0 }, sourceSize: size([4, 2, 1]), toBuffer: &*target, destinationOffset: 4usize, destinationBytesPerRow: 6usize, destinationBytesPerImage: 0usize];
        let () = msg_send![&*blit, endEncoding];
        assert_eq!(commit_and_wait(&commands), 4);
        let bytes: Vec<u8> = contents(&target, 4).into_iter().flat_map(i32::to_ne_bytes).collect();
        assert_eq!(bytes, [0, 0, 0, 0, 40, 50, 60, 70, 0, 0, 40, 0, 10, 20, 0, 0]);
        assert_eq!(get(&b, region([0; 3], [4, 1, 1]), 1, 4), [5, 25, 45, 65]);
        assert_eq!(get(&b, region([0; 3], [1, 1, 1]), 3, 1), [35]);
        let late = failure(|| msg_send![&*blit, generateMipmapsForTexture: &*a]);
        assert!(late.contains("encoding has ended"), "{late}");
    }
}

#[test]
fn views_heaps_slices_and_private_textures_are_what_they_say() {
    let setup = Setup::new();
    // SAFETY: the classes have these methods.
    unsafe {
        let cube: Id = msg_send![class!(MTLTextureDescriptor), textureCubeDescriptorWithPixelFormat: RGBA8_UNORM, size: 2usize, mipmapped: true];
        let heap_shape: Id = msg_send![class!(MTLHeapDescriptor), new];
        let () = msg_send![&*heap_shape, setSize: 65536usize];
        let () = msg_send![&*heap_shape, setStorageMode: 0usize];
        let heap: Id = msg_send![&*setup.device, newHeapWithDescriptor: &*heap_shape];
        let texture_of_heap: Id = msg_send![&*heap, newTextureWithDescriptor: &*cube];
        let of: Id = msg_send![&*texture_of_heap, heap];
        assert!(std::ptr::eq(&*of, &*heap));
        let face: Vec<u8> = (1..=16).collect();
        let bytes: *const c_void = face.as_ptr().cast();
        let () = msg_send![&*texture_of_heap, replaceRegion: region([0; 3], [2, 2, 1]), mipmapLevel: 0usize, slice: 4usize, withBytes: bytes, bytesPerRow: 8usize, bytesPerImage: 0usize];
        let (levels, faces) = (Range { location: 0, length: 1 }, Range { location: 4, length: 1 });
        let view: Id = msg_send![&*texture_of_heap, newTextureViewWithPixelFormat: RGBA8_UINT, textureType: 2usize, levels: levels, slices: faces];
        assert_eq!(get(&view, region([0; 3], [2, 2, 1]), 0, 8), face);
        let (parent, slice): (Id, usize) =
            (msg_send![&*view, parentTexture], msg_send![&*view, parentRelativeSlice]);
        assert!(std::ptr::eq(&*parent, &*texture_of_heap) && slice == 4);
        let too_far = Range { location: 6, length: 1 };
        let outside = failure(|| {
            drop::<Id>(
                msg_send![&*texture_of_heap, newTextureViewWithPixelFormat: RGBA8_UINT, textureType: 2usize, levels: levels, slices: too_far],
            )
        });
        assert!(outside.contains("slice"), "{outside}");
        let shape = plane(RGBA8_UNORM, [4, 4], false);
        let () = msg_send![&*shape, setResourceOptions: 0x20usize];
        let private = texture(&setup, &shape);
        let refused = failure(|| drop(get(&private, region([0; 3], [1, 1, 1]), 0, 4)));
        assert!(refused.contains("private"), "{refused}");
        let mode: usize = msg_send![&*shape, storageMode];
        assert_eq!(mode, 2);
    }
}

#[test]
fn what_textures_cannot_be_is_refused_with_the_rule() {
    let setup = Setup::new();
    let refused = |descriptor: &AnyObject| failure(|| drop(texture(&setup, descriptor)));
    let astc = refused(&plane(204, [4, 4], false));
    assert!(
        astc.contains("MTLPixelFormatASTC_4x4_LDR") && astc.contains("newTextureWithDescriptor:"),
        "{astc}"
    );
    let empty = refused(&plane(R8_UNORM, [0, 4], false));
    assert!(empty.contains("width"), "{empty}");
    // SAFETY: the classes have these methods; breaking a rule is answered by a failure.
    unsafe {
        let multisampled = plane(R8_UNORM, [4, 4], false);
        let () = msg_send![&*multisampled, setTextureType: 4usize];
        assert!(refused(&multisampled).contains("multisampled"));
        let misplaced = failure(|| {
            let shape = plane(R8_UNORM, [4, 4], false);
            let over = buffer(&setup.device, 64);
            drop::<Id>(
                msg_send![&*over, newTextureWithDescriptor: &*shape, offset: 4usize, bytesPerRow: 16usize],
            );
        });
        assert!(misplaced.contains("multiples of 16"), "{misplaced}");
        let mirrored: Id = msg_send![class!(MTLSamplerDescriptor), new];
        let () = msg_send![&*mirrored, setSAddressMode: 1usize];
        let clamp =
            failure(|| drop::<Id>(msg_send![&*setup.device, newSamplerStateWithDescriptor: &*mirrored]));
        assert!(clamp.contains("MirrorClampToEdge"), "{clamp}");
        let read_only = plane(R8_UNORM, [8, 8], false);
        let () = msg_send![&*read_only, setUsage: 1usize];
        let read_only = texture(&setup, &read_only);
        let commands = setup.command_buffer();
        let encoder = encoder(&setup, &commands, "invert");
        let () = msg_send![&*encoder, setTexture: &*read_only, atIndex: 1usize];
        let missing = failure(|| dispatch(&encoder, [8, 8, 1]));
        assert!(missing.contains("texture `from` is not bound at index 0"), "{missing}");
        let () = msg_send![&*encoder, setTexture: &*read_only, atIndex: 0usize];
        let usage = failure(|| dispatch(&encoder, [8, 8, 1]));
        assert!(usage.contains("`to`") && usage.contains("usage"), "{usage}");
        let far = failure(|| msg_send![&*encoder, setTexture: &*read_only, atIndex: 128usize]);
        assert!(far.contains("not below 128"), "{far}");
        let () = msg_send![&*encoder, endEncoding];
    }
}
