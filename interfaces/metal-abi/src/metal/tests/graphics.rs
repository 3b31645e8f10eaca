//! What libraries have for graphics, and passes that clear textures.

use std::ffi::c_void;

use objc2::rc::Retained;
use objc2::runtime::AnyObject;
use objc2::{class, msg_send};

use super::textures::{plane, region, texture};
use super::{Id, Setup, commit_and_wait, device, failure, library};
use crate::foundation::{NSArray, NSError, NSString};
use crate::metal::render_pass::ClearColor;

const SOURCE: &str = "#include <metal_stdlib>
    using namespace metal;
    struct Vertex { float3 at [[attribute(0)]]; ushort2 tag [[attribute(3)]]; };
    struct Out { float4 at [[position]]; };
    vertex Out shade(Vertex in [[stage_in]], constant float4x4& m [[buffer(1)]]) { return { m * float4(in.at, 1) }; }
    vertex Out by_number(uint id [[vertex_id]]) { return { float4(id) }; }
    fragment half4 paint(Out in [[stage_in]]) { return half4(1); }
    template <typename T> fragment vec<T, 4> any(Out in [[stage_in]]) { return vec<T, 4>(1); }
    template [[host_name(\"any_half\")]] fragment half4 any<half>(Out);
    using Triangles = mesh<Out, void, 3, 1, topology::triangle>;
    [[mesh]] void emit(Triangles out) { out.set_primitive_count(1); }
    [[object]] void spread(mesh_grid_properties grid) { grid.set_threadgroups_per_grid(uint3(1)); }
    [[intersection(triangle)]] bool hit(float distance [[distance]]) { return distance > 1; }
    [[visible]] int twice(int x) { return 2 * x; }
    kernel void fill(device int* x) { x[0] = 1; }
    vertex Out declared(uint id [[vertex_id]]);
";

fn function(library: &Id, name: &str) -> Id {
    // SAFETY: the class has the method.
    let made: Option<Id> = unsafe { msg_send![&**library, newFunctionWithName: &*NSString::of(name)] };
    made.unwrap_or_else(|| panic!("the library has no function {name}"))
}

#[test]
fn graphics_functions_have_names_and_types() {
    let library = library(&device(), SOURCE).unwrap();
    // SAFETY: the class has the method.
    let names: Retained<NSArray> = unsafe { msg_send![&*library, functionNames] };
    let mut names: Vec<String> =
        names.elements().into_iter().map(|name| name.downcast::<NSString>().unwrap().to_string()).collect();
    names.sort();
    let types = [
        ("any_half", 2usize),
        ("by_number", 1),
        ("emit", 7),
        ("fill", 3),
        ("hit", 6),
        ("paint", 2),
        ("shade", 1),
        ("spread", 8),
        ("twice", 5),
    ];
    assert_eq!(names, types.map(|(name, _)| name.to_owned()));
    for (name, number) in types {
        // SAFETY: the class has the method.
        let found: usize = unsafe { msg_send![&*function(&library, name), functionType] };
        assert_eq!(found, number, "{name}");
    }
}

#[test]
fn vertex_functions_have_attributes() {
    let library = library(&device(), SOURCE).unwrap();
    // SAFETY: the classes have these methods.
    let attributes = |name: &str| unsafe {
        let (vertices, inputs): (Option<Retained<NSArray>>, Option<Retained<NSArray>>) = (
            msg_send![&*function(&library, name), vertexAttributes],
            msg_send![&*function(&library, name), stageInputAttributes],
        );
        let described = |attribute: Id| {
            let name: Retained<NSString> = msg_send![&*attribute, name];
            let (index, ty): (usize, usize) =
                (msg_send![&*attribute, attributeIndex], msg_send![&*attribute, attributeType]);
            let is_active: bool = msg_send![&*attribute, isActive];
            assert!(is_active);
            (name.to_string(), index, ty)
        };
        let all = |array: Retained<NSArray>| array.elements().into_iter().map(described).collect::<Vec<_>>();
        (vertices.map(all), inputs.map(all))
    };
    // `MTLDataTypeFloat3` and `MTLDataTypeUShort2`.
    let expected = vec![("at".to_owned(), 0, 5), ("tag".to_owned(), 3, 42)];
    assert_eq!(attributes("shade"), (Some(expected.clone()), Some(expected)));
    assert_eq!(attributes("by_number"), (Some(Vec::new()), None));
    assert_eq!(attributes("paint"), (None, None));
    assert_eq!(attributes("fill"), (None, None));
}

#[test]
fn compute_pipelines_are_of_kernels() {
    let device = device();
    let library = library(&device, SOURCE).unwrap();
    for name in ["shade", "paint", "emit", "twice"] {
        let function = function(&library, name);
        let none: *mut *mut NSError = std::ptr::null_mut();
        // SAFETY: the class has the method; breaking a rule is answered by a failure.
        let refused = failure(|| unsafe {
            drop::<Option<Id>>(
                msg_send![&*device, newComputePipelineStateWithFunction: &*function, error: none],
            )
        });
        assert!(
            refused.contains("computeFunction functionType is not a MTLFunctionTypeKernel."),
            "{refused}"
        );
    }
}

#[test]
fn a_library_with_a_graphics_function_that_does_not_compile_is_nil() {
    for wrong in [
        "kernel void k(device int* x) {} fragment float4 f() { return undeclared; }",
        "kernel void k(device int* x) {} struct V { float x; }; vertex float4 v(V in [[stage_in]]) { return in.x; }",
    ] {
        let source = format!("#include <metal_stdlib>\nusing namespace metal;\n{wrong}");
        let error = library(&device(), &source).expect_err("a function is wrong").text();
        assert_eq!(error.matches("error[").count(), 1, "{error}");
    }
}

#[test]
fn kernels_need_values_for_constants_that_are_not_optional() {
    let library = library(
        &device(),
        "#include <metal_stdlib>
         using namespace metal;
         constant int needed [[function_constant(0)]];
         constant int optional [[function_constant(1)]];
         constant int used = is_function_constant_defined(optional) ? optional : 7;
         kernel void k(device int* x) { x[0] = needed + used; }
         kernel void other(device int* x) { x[0] = used; }",
    )
    .unwrap();
    let specialized = |name: &str, index: usize| {
        let (value, mut error) = (3i32, std::ptr::null_mut::<NSError>());
        // SAFETY: the classes have these methods, and what they write is an object.
        unsafe {
            let values: Id = msg_send![class!(MTLFunctionConstantValues), new];
            let pointer = (&raw const value).cast::<c_void>();
            let () = msg_send![&*values, setConstantValue: pointer, type: 29usize, atIndex: index];
            let name = NSString::of(name);
            let made: Option<Id> = msg_send![&*library, newFunctionWithName: &*name, constantValues: &*values, error: &mut error];
            made.map(drop).ok_or_else(|| Retained::retain(error).expect("an error").text())
        }
    };
    assert_eq!(specialized("k", 0), Ok(()));
    assert_eq!(specialized("other", 0), Ok(()));
    assert_eq!(specialized("other", 1), Ok(()));
    let missing = specialized("k", 1).expect_err("a value is missing");
    assert!(missing.contains("`needed` at index 0"), "{missing}");
}

/// `MTLTextureUsageRenderTarget`.
const RENDER_TARGET: usize = 4;

/// Encodes a pass with one texture, at that index of the colours or as depths.
fn encode_clear(commands: &Id, texture: &Id, color: Option<[f64; 4]>, place: [usize; 3]) {
    // SAFETY: the classes have these methods.
    unsafe {
        let pass: Id = msg_send![class!(MTLRenderPassDescriptor), renderPassDescriptor];
        let attachment: Id = match color {
            Some(color) => {
                let all: Id = msg_send![&*pass, colorAttachments];
                let attachment: Id = msg_send![&*all, objectAtIndexedSubscript: 1usize];
                let () = msg_send![&*attachment, setClearColor: ClearColor(color)];
                let () = msg_send![&*attachment, setLoadAction: 2usize];
                attachment
            }
            None => {
                let attachment: Id = msg_send![&*pass, depthAttachment];
                let () = msg_send![&*attachment, setClearDepth: 0.5f64];
                attachment
            }
        };
        let () = msg_send![&*attachment, setTexture: &**texture];
        let () = msg_send![&*attachment, setLevel: place[0]];
        let () = msg_send![&*attachment, setSlice: place[1]];
        let () = msg_send![&*attachment, setDepthPlane: place[2]];
        let encoder: Id = msg_send![&**commands, renderCommandEncoderWithDescriptor: &*pass];
        let () = msg_send![&*encoder, endEncoding];
    }
}

/// A slice of a level of a texture of 4 by 2 texels and more, after a clear.
fn cleared(descriptor: &Id, color: Option<[f64; 4]>, place: [usize; 3], texel_bytes: usize) -> Vec<u8> {
    let setup = Setup::new();
    // SAFETY: the class has the method.
    let () = unsafe { msg_send![&**descriptor, setUsage: RENDER_TARGET] };
    let (commands, texture) = (setup.command_buffer(), texture(&setup, descriptor));
    encode_clear(&commands, &texture, color, place);
    assert_eq!(commit_and_wait(&commands), 4);
    let (width, height) = (4usize >> place[0], 2usize >> place[0]);
    let mut bytes = vec![0u8; width * height * texel_bytes];
    let (part, pointer) = (region([0, 0, place[2]], [width, height, 1]), bytes.as_mut_ptr().cast::<c_void>());
    // SAFETY: the class has the method, and there are so many bytes.
    let () = unsafe {
        msg_send![&*texture, getBytes: pointer, bytesPerRow: width * texel_bytes, bytesPerImage: bytes.len(), fromRegion: part, mipmapLevel: place[0], slice: place[1]]
    };
    bytes
}

#[test]
fn a_pass_clears_textures_of_all_kinds_of_formats() {
    let half = [0.5, 0.0, 1.0, 1.0];
    assert_eq!(cleared(&plane(70, [4, 2], false), Some(half), [0; 3], 4), [128, 0, 255, 255].repeat(8));
    // `BGRA8Unorm_sRGB`: clear colours are linear.
    assert_eq!(cleared(&plane(81, [4, 2], false), Some(half), [0; 3], 4), [255, 0, 188, 255].repeat(8));
    let numbers = [7.0, 3e9, 0.0, 1.0];
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    assert_eq!(
        cleared(&plane(103, [4, 2], false), Some(numbers), [0; 3], 8),
        words(&[7, 3_000_000_000]).repeat(8)
    );
    assert_eq!(cleared(&plane(14, [4, 2], false), Some([-5.0, 0.0, 0.0, 0.0]), [0; 3], 1), [251].repeat(8));
    // `Depth32Float`.
    assert_eq!(cleared(&plane(252, [4, 2], false), None, [0; 3], 4), words(&[0.5f32.to_bits()]).repeat(8));
}

#[test]
fn a_pass_clears_a_level_a_slice_or_a_plane() {
    let texels = [1u8; 2];
    assert_eq!(cleared(&plane(13, [4, 2], true), Some([1.0; 4]), [1, 0, 0], 1), texels);
    let array = plane(13, [4, 2], false);
    let volume = plane(13, [4, 2], false);
    // SAFETY: the class has these methods.
    unsafe {
        let () = msg_send![&*array, setTextureType: 3usize];
        let () = msg_send![&*array, setArrayLength: 3usize];
        let () = msg_send![&*volume, setTextureType: 7usize];
        let () = msg_send![&*volume, setDepth: 3usize];
    }
    assert_eq!(cleared(&array, Some([1.0; 4]), [0, 2, 0], 1), [1; 8]);
    assert_eq!(cleared(&volume, Some([1.0; 4]), [0, 0, 2], 1), [1; 8]);
}

#[test]
fn rules_of_passes_that_clear() {
    let setup = Setup::new();
    let descriptor = plane(70, [4, 2], false);
    let readable = texture(&setup, &descriptor);
    let refused = failure(|| encode_clear(&setup.command_buffer(), &readable, Some([0.0; 4]), [0; 3]));
    assert!(refused.contains("MTLTextureUsageRenderTarget"), "{refused}");
    // SAFETY: the class has the method.
    let () = unsafe { msg_send![&*descriptor, setUsage: RENDER_TARGET] };
    let target = texture(&setup, &descriptor);
    for place in [[1, 0, 0], [0, 1, 0], [0, 0, 1], [usize::MAX; 3]] {
        let beyond = failure(|| encode_clear(&setup.command_buffer(), &target, Some([0.0; 4]), place));
        assert!(beyond.contains("renderCommandEncoderWithDescriptor:"), "{beyond}");
    }
}

/// The domain and code of an error, and the kind in its `userInfo`.
fn parts(error: &NSError) -> (String, isize, Option<String>) {
    // SAFETY: the classes have these methods.
    unsafe {
        let domain: Retained<NSString> = msg_send![error, domain];
        let code: isize = msg_send![error, code];
        let user_info: Id = msg_send![error, userInfo];
        let kind: Option<Retained<NSString>> =
            msg_send![&*user_info, objectForKey: &*NSString::of("AnymetalErrorKind")];
        (domain.to_string(), code, kind.map(|kind| kind.to_string()))
    }
}

fn new(class: &objc2::runtime::AnyClass) -> Id {
    // SAFETY: all classes of the tests have the method.
    unsafe { msg_send![class, new] }
}

#[test]
fn graphics_pipelines_are_refused_with_the_kind_of_the_error() {
    let device = device();
    let library = library(&device, SOURCE).unwrap();
    let mut errors: Vec<Retained<NSError>> = Vec::new();
    let descriptor = new(class!(MTLRenderPipelineDescriptor));
    // SAFETY: the classes have these methods, and the places are the test's own.
    unsafe {
        let () = msg_send![&*descriptor, setVertexFunction: &*function(&library, "shade")];
        let () = msg_send![&*descriptor, setFragmentFunction: &*function(&library, "paint")];
        let mut error: *mut NSError = std::ptr::null_mut();
        let made: Option<Id> =
            msg_send![&*device, newRenderPipelineStateWithDescriptor: &*descriptor, error: &mut error];
        assert!(made.is_none());
        errors.extend(Retained::retain(error));
        let reflection: *mut *mut AnyObject = std::ptr::null_mut();
        let made: Option<Id> = msg_send![
            &*device, newRenderPipelineStateWithDescriptor: &*descriptor, options: 0usize, reflection: reflection,
            error: &mut error
        ];
        assert!(made.is_none());
        errors.extend(Retained::retain(error));
        let mesh = new(class!(MTLMeshRenderPipelineDescriptor));
        let () = msg_send![&*mesh, setMeshFunction: &*function(&library, "emit")];
        let made: Option<Id> = msg_send![
            &*device, newRenderPipelineStateWithMeshDescriptor: &*mesh, options: 0usize, reflection: reflection,
            error: &mut error
        ];
        assert!(made.is_none());
        errors.extend(Retained::retain(error));
        let tile = new(class!(MTLTileRenderPipelineDescriptor));
        let made: Option<Id> = msg_send![
            &*device, newRenderPipelineStateWithTileDescriptor: &*tile, options: 0usize, reflection: reflection,
            error: &mut error
        ];
        assert!(made.is_none());
        errors.extend(Retained::retain(error));
    }
    assert_eq!(errors.len(), 4);
    for error in errors {
        let expected = ("AnymetalErrorDomain".to_owned(), 1, Some("Unsupported".to_owned()));
        assert_eq!(parts(&error), expected, "{}", error.text());
    }
}

#[test]
fn handlers_of_graphics_pipelines_receive_the_refusal() {
    let device = device();
    let (sender, receiver) = std::sync::mpsc::channel();
    let report = move |made: *mut AnyObject, error: *mut NSError| {
        // SAFETY: the error lives until the handler returns.
        let error = unsafe { Retained::retain(error) }.expect("an error");
        sender.send((made.is_null(), parts(&error).2)).unwrap();
    };
    let reflected = report.clone();
    let handler = block2::RcBlock::new(report);
    let reflected =
        block2::RcBlock::new(move |made: *mut AnyObject, reflection: *mut AnyObject, error: *mut NSError| {
            assert!(reflection.is_null());
            reflected(made, error);
        });
    let render = new(class!(MTLRenderPipelineDescriptor));
    let mesh = new(class!(MTLMeshRenderPipelineDescriptor));
    let tile = new(class!(MTLTileRenderPipelineDescriptor));
    // SAFETY: the class has these methods.
    unsafe {
        let () = msg_send![
            &*device, newRenderPipelineStateWithDescriptor: &*render, completionHandler: &*handler
        ];
        let () = msg_send![
            &*device, newRenderPipelineStateWithDescriptor: &*render, options: 0usize,
            completionHandler: &*reflected
        ];
        let () = msg_send![
            &*device, newRenderPipelineStateWithMeshDescriptor: &*mesh, options: 0usize,
            completionHandler: &*reflected
        ];
        let () = msg_send![
            &*device, newRenderPipelineStateWithTileDescriptor: &*tile, options: 0usize,
            completionHandler: &*reflected
        ];
    }
    let expected = (true, Some("Unsupported".to_owned()));
    assert_eq!(receiver.try_iter().collect::<Vec<_>>(), vec![expected; 4]);
}

#[test]
fn copies_of_descriptors_have_arrays_of_their_own_and_reset_gives_initial_values() {
    let descriptor = new(class!(MTLRenderPipelineDescriptor));
    // SAFETY: the classes have these methods.
    unsafe {
        let format = |of: &Id| -> usize {
            let colors: Id = msg_send![&**of, colorAttachments];
            let color: Id = msg_send![&*colors, objectAtIndexedSubscript: 0usize];
            msg_send![&*color, pixelFormat]
        };
        let set_format = |of: &Id, format: usize| {
            let colors: Id = msg_send![&**of, colorAttachments];
            let color: Id = msg_send![&*colors, objectAtIndexedSubscript: 0usize];
            let () = msg_send![&*color, setPixelFormat: format];
        };
        set_format(&descriptor, 70);
        let () = msg_send![&*descriptor, setSampleCount: 4usize];
        let copy: Id = msg_send![&*descriptor, copy];
        set_format(&copy, 80);
        assert_eq!((format(&descriptor), format(&copy)), (70, 80));
        let samples: usize = msg_send![&*copy, rasterSampleCount];
        assert_eq!(samples, 4);
        let () = msg_send![&*copy, reset];
        let samples: usize = msg_send![&*copy, sampleCount];
        assert_eq!((format(&copy), samples, format(&descriptor)), (0, 1, 70));
    }
}
