//! Kinds of textures, levels, views, arrays of textures, and what else a texture can do.
//!
//! covers: MSL 2.9, MSL 6.12
//! oracle: exact

use anymetal::texture::{BindingRole, Filter, MipFilter, Swizzle, TextureError, TextureKind};
use anymetal::{Device, Error, PipelineDescriptor, PixelFormat, SamplerDescriptor, TextureDescriptor};

fn run(source: &str, set: impl FnOnce(anymetal::Launch<'_>) -> anymetal::Launch<'_>) -> Result<(), Error> {
    let source = format!("#include <metal_stdlib>\nusing namespace metal;\n{source}");
    let device = Device::system_default()?;
    let pipeline = device.library_from_source(&source)?.pipeline("k")?;
    let queue = device.queue()?;
    set(queue.launch(&pipeline)).submit()?.wait()?;
    Ok(())
}

fn plane(width: u32, height: u32) -> TextureDescriptor {
    TextureDescriptor::plane(PixelFormat::R32Float, width, height)
}

#[test]
fn rows_planes_volumes_and_buffers_keep_their_texels_apart() -> Result<(), Error> {
    let device = Device::system_default()?;
    let line = device.texture(&plane(6, 1).of_kind(TextureKind::D1))?;
    let lines = device.texture(&plane(6, 1).of_kind(TextureKind::D1Array).with_array_length(3))?;
    let layers = device.texture(&plane(6, 2).of_kind(TextureKind::D2Array).with_array_length(3))?;
    let volume = device.texture(&plane(6, 2).of_kind(TextureKind::D3).with_depth(3))?;
    let texels = device.texture(&plane(6, 1).of_kind(TextureKind::Buffer))?;
    run(
        "kernel void k(texture1d<float, access::write> line [[texture(0)]], texture1d_array<float, access::write> lines [[texture(1)]],
                       texture2d_array<float, access::write> layers [[texture(2)]], texture3d<float, access::write> volume [[texture(3)]],
                       texture_buffer<float, access::write> texels [[texture(4)]], uint3 at [[thread_position_in_grid]]) {
             float n = at.x + 10 * at.y + 100 * at.z;
             line.write(n + at.x, at.x);
             lines.write(n, at.x, at.z);
             layers.write(n, at.xy, at.z);
             volume.write(n, at);
             texels.write(at.x, at.x);
         }",
        |launch| {
            let launch = launch.texture(0, &line).texture(1, &lines).texture(2, &layers);
            launch.texture(3, &volume).texture(4, &texels).threads([6u32, 1, 3])
        },
    )?;
    let of = |x: u32, y: u32, z: u32| (x + 10 * y + 100 * z) as f32;
    let expected: Vec<f32> = (0..3).flat_map(|z| (0..6).map(move |x| of(x, 0, z))).collect();
    assert_eq!(lines.read::<f32>()?, expected);
    let rows: Vec<f32> = layers.read::<f32>()?;
    assert_eq!(rows, volume.read::<f32>()?);
    assert_eq!((rows[0], rows[5], rows[6], rows[12], rows[29]), (0.0, 5.0, 0.0, 100.0, 205.0));
    assert_eq!(texels.read::<f32>()?, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    Ok(())
}

#[test]
fn volumes_are_filtered_along_all_axes() -> Result<(), Error> {
    let device = Device::system_default()?;
    let volume = device.texture(&plane(2, 2).of_kind(TextureKind::D3).with_depth(2))?;
    volume.write(&[0.0f32, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0])?;
    let seen = device.buffer_zeroed::<f32>(3)?;
    run(
        "kernel void k(texture3d<float> t [[texture(0)]], device float* seen [[buffer(0)]]) {
             constexpr sampler s(filter::linear);
             seen[0] = t.sample(s, float3(0.5f)).x;
             seen[1] = t.sample(s, float3(0.25f, 0.25f, 0.75f)).x;
             seen[2] = t.sample(s, float3(0.25f, 0.25f, 0.25f), int3(1, 1, 0)).x;
         }",
        |launch| launch.texture(0, &volume).arg(&seen).threads(1),
    )?;
    assert_eq!(seen.read()?, [3.5, 4.0, 3.0]);
    Ok(())
}

#[test]
fn directions_find_the_faces_of_cubes() -> Result<(), Error> {
    let device = Device::system_default()?;
    let cube = device.texture(&plane(1, 1).of_kind(TextureKind::Cube))?;
    cube.write(&[0.0f32, 1.0, 2.0, 3.0, 4.0, 5.0])?;
    let cubes = device.texture(&plane(1, 1).of_kind(TextureKind::CubeArray).with_array_length(2))?;
    cubes.write(&(0..12).map(|n| n as f32).collect::<Vec<_>>())?;
    let seen = device.buffer_zeroed::<f32>(12)?;
    run(
        "kernel void k(texturecube<float> t [[texture(0)]], texturecube_array<float> ts [[texture(1)]], device float* seen [[buffer(0)]],
                       uint n [[thread_position_in_grid]]) {
             constexpr sampler s;
             float3 direction = float3(0.1f, -0.2f, 0.05f);
             direction[n / 2] = n % 2 ? -1 : 1;
             seen[n] = t.sample(s, direction).x;
             seen[n + 6] = ts.sample(s, direction, 1).x;
         }",
        |launch| launch.texture(0, &cube).texture(1, &cubes).arg(&seen).threads(6),
    )?;
    assert_eq!(seen.read()?, [0., 1., 2., 3., 4., 5., 6., 7., 8., 9., 10., 11.]);
    Ok(())
}

#[test]
fn gather_of_cubes_takes_the_face_that_the_direction_meets() -> Result<(), Error> {
    let device = Device::system_default()?;
    let cube = device.texture(&plane(2, 2).of_kind(TextureKind::Cube))?;
    cube.write(&(0..24).map(|n| n as f32).collect::<Vec<_>>())?;
    let cubes = device.texture(&plane(2, 2).of_kind(TextureKind::CubeArray).with_array_length(2))?;
    cubes.write(&(0..48).map(|n| n as f32).collect::<Vec<_>>())?;
    let seen = device.buffer_zeroed::<f32>(12)?;
    run(
        "kernel void k(texturecube<float> t [[texture(0)]], texturecube_array<float> ts [[texture(1)]],
                       device float4* seen [[buffer(0)]]) {
             constexpr sampler s;
             seen[0] = t.gather(s, float3(0, 1, 0));
             seen[1] = ts.gather(s, float3(0, 0, -1), 1, component::x);
             seen[2] = t.gather(s, float3(1, 0, 0), component::w);
         }",
        |launch| launch.texture(0, &cube).texture(1, &cubes).arg(seen.bytes()).threads(1),
    )?;
    assert_eq!(seen.read()?, [10., 11., 9., 8., 46., 47., 45., 44., 1., 1., 1., 1.]);
    Ok(())
}

#[test]
fn levels_are_means_and_are_mixed_by_their_number() -> Result<(), Error> {
    let device = Device::system_default()?;
    let shape = plane(4, 4);
    let texture = device.texture(&shape.with_levels(shape.all_levels()))?;
    texture.write(&(0..16).map(|n| n as f32).collect::<Vec<_>>())?;
    let queue = device.queue()?;
    texture.generate_mipmaps(&queue)?.expect("there are levels").wait()?;
    assert_eq!(texture.read_slice::<f32>(1, 0)?, [2.5, 4.5, 10.5, 12.5]);
    assert_eq!(texture.level(2)?.read::<f32>()?, [7.5]);
    let seen = device.buffer_zeroed::<f32>(6)?;
    let sampler = SamplerDescriptor::default().mip_filter(MipFilter::Linear).with_filter(Filter::Linear);
    run(
        "kernel void k(texture2d<float> t [[texture(0)]], sampler s [[sampler(0)]], device float* seen [[buffer(0)]]) {
             constexpr sampler nearest(mip_filter::nearest), clamped(mip_filter::nearest, lod_clamp(2.0f, 2.0f)), none;
             seen[0] = t.sample(s, float2(0.25f), level(1.5f)).x;
             seen[1] = t.sample(nearest, float2(0.1f), level(0.9f)).x;
             seen[2] = t.sample(clamped, float2(0.1f)).x;
             seen[3] = t.sample(none, float2(0.9f), level(2)).x;
             seen[4] = t.read(uint2(1, 1), 1).x + t.get_num_mip_levels() + t.get_width(1);
             seen[5] = t.sample(nearest, float2(0.1f), gradient2d(float2(0.5f, 0), float2(0))).x;
         }",
        |launch| launch.texture(0, &texture).sampler(0, &sampler).arg(&seen).threads(1),
    )?;
    assert_eq!(seen.read()?, [5.0, 2.5, 7.5, 15.0, 12.5 + 3.0 + 2.0, 2.5]);
    Ok(())
}

#[test]
fn gather_goes_against_the_clock_from_the_lower_left() -> Result<(), Error> {
    let device = Device::system_default()?;
    let texture = device.texture(&plane(2, 2))?;
    texture.write(&[0.0f32, 1.0, 2.0, 3.0])?;
    let seen = device.buffer_zeroed::<f32>(8)?;
    run(
        "kernel void k(texture2d<float> t [[texture(0)]], device float4* seen [[buffer(0)]]) {
             constexpr sampler s;
             seen[0] = t.gather(s, float2(0.5f));
             seen[1] = t.gather(s, float2(0.5f), int2(0), component::w);
         }",
        |launch| launch.texture(0, &texture).arg(seen.bytes()).threads(1),
    )?;
    assert_eq!(seen.read()?, [2.0, 3.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0]);
    Ok(())
}

#[test]
fn views_reorder_channels_and_reinterpret_bits() -> Result<(), Error> {
    let device = Device::system_default()?;
    let texture = device.texture(&TextureDescriptor::plane(PixelFormat::Rgba8Unorm, 1, 1))?;
    texture.write(&[255u8, 0, 51, 102])?;
    let swizzle = [Swizzle::Alpha, Swizzle::One, Swizzle::Red, Swizzle::Zero];
    let other = texture.view(&texture.whole().swizzle(swizzle))?;
    let back = [Swizzle::Blue, Swizzle::Red, Swizzle::Green, Swizzle::Alpha];
    let again = other.view(&other.whole().swizzle(back))?;
    let bits = texture.view_as(PixelFormat::R32Uint)?;
    let (seen, word) = (device.buffer_zeroed::<f32>(8)?, device.buffer_zeroed::<u32>(1)?);
    run(
        "kernel void k(texture2d<float> a [[texture(0)]], texture2d<float> b [[texture(1)]], texture2d<uint> bits [[texture(2)]],
                       device float4* seen [[buffer(0)]], device uint* word [[buffer(1)]]) {
             seen[0] = a.read(uint2(0)); seen[1] = b.read(uint2(0)); word[0] = bits.read(uint2(0)).x;
         }",
        |launch| {
            let launch = launch.texture(0, &other).texture(1, &again).texture(2, &bits);
            launch.arg(seen.bytes()).arg(&word).threads(1)
        },
    )?;
    assert_eq!(seen.read()?, [0.4, 1.0, 1.0, 0.0, 1.0, 0.4, 1.0, 0.0]);
    assert_eq!(word.read()?, [0x6633_00ff]);
    let refused = texture.view_as(PixelFormat::R8Unorm);
    assert!(matches!(refused, Err(Error::Texture(TextureError::ViewFormat { .. }))));
    Ok(())
}

#[test]
fn slices_of_views_are_those_of_their_texture() -> Result<(), Error> {
    let device = Device::system_default()?;
    let layers =
        device.texture(&plane(2, 1).of_kind(TextureKind::D2Array).with_array_length(3).with_levels(2))?;
    layers.write(&[0.0f32, 1.0, 2.0, 3.0, 4.0, 5.0])?;
    layers.write_slice(1, 2, &[9.0f32])?;
    let of = |level: u32| layers.whole().kind(TextureKind::D2).levels(level..level + 1).slices(2..3);
    assert_eq!(layers.view(&of(0))?.read::<f32>()?, [4.0, 5.0]);
    let small = layers.view(&of(1))?;
    assert_eq!(small.read::<f32>()?, [9.0]);
    let seen = device.buffer_zeroed::<f32>(1)?;
    run(
        "kernel void k(texture2d<float> t [[texture(0)]], device float* seen [[buffer(0)]]) { seen[0] = t.read(uint2(0)).x + t.get_width(); }",
        |launch| launch.texture(0, &small).arg(&seen).threads(1),
    )?;
    assert_eq!(seen.read()?, [10.0]);
    Ok(())
}

#[test]
fn an_array_of_textures_is_indexed_by_each_thread() -> Result<(), Error> {
    let device = Device::system_default()?;
    let textures: Vec<_> = (0..3)
        .map(|n| {
            // Each of its own format.
            let format = [PixelFormat::R32Float, PixelFormat::R8Unorm, PixelFormat::R16Float][n];
            device.texture(&TextureDescriptor::plane(format, 1, 1))
        })
        .collect::<Result<_, _>>()?;
    textures[0].write(&[3.0f32])?;
    textures[1].write(&[255u8])?;
    textures[2].write(&[anymetal::f16::from_f32(2.0).to_bits()])?;
    let seen = device.buffer_zeroed::<f32>(40)?;
    run(
        "kernel void k(array<texture2d<float>, 3> all [[texture(2)]], device float* seen [[buffer(0)]], uint n [[thread_position_in_grid]]) {
             seen[n] = all[n % 3].read(uint2(0)).x;
         }",
        |launch| {
            let launch = textures.iter().zip(2..).fold(launch, |launch, (texture, n)| launch.texture(n, texture));
            launch.arg(&seen).threads(40)
        },
    )?;
    assert_eq!(seen.read()?, (0..40).map(|n| [3.0, 1.0, 2.0][n % 3]).collect::<Vec<f32>>());
    Ok(())
}

#[test]
fn depths_are_compared_and_words_are_counted() -> Result<(), Error> {
    let device = Device::system_default()?;
    let depth = device.texture(&TextureDescriptor::plane(PixelFormat::Depth32Float, 2, 1))?;
    depth.write(&[0.25f32, 0.75])?;
    let counts = device.texture(&TextureDescriptor::plane(PixelFormat::R32Uint, 2, 1))?;
    let seen = device.buffer_zeroed::<f32>(3)?;
    run(
        "kernel void k(depth2d<float> d [[texture(0)]], texture2d<uint, access::read_write> counts [[texture(1)]], device float* seen [[buffer(0)]],
                       uint n [[thread_position_in_grid]]) {
             constexpr sampler s(compare_func::less, filter::linear), p;
             seen[0] = d.sample_compare(s, float2(0.5f), 0.5f);
             seen[1] = d.sample(p, float2(0.9f, 0.5f));
             seen[2] = d.read(uint2(0));
             counts.atomic_fetch_add(uint2(n % 2, 0), 1u);
             counts.atomic_fetch_max(uint2(5, 5), 1u);
         }",
        |launch| launch.texture(0, &depth).texture(1, &counts).arg(&seen).threads(70),
    )?;
    assert_eq!(seen.read()?, [0.5, 0.75, 0.25]);
    assert_eq!(counts.read::<u32>()?, [35, 35]);
    Ok(())
}

#[test]
fn arguments_that_constants_disable_are_null() -> Result<(), Error> {
    let device = Device::system_default()?;
    let source = "#include <metal_stdlib>
         using namespace metal;
         constant bool has [[function_constant(0)]];
         kernel void k(texture2d<float> t [[texture(0), function_constant(has)]], sampler s [[sampler(0), function_constant(has)]],
                       device float* seen [[buffer(0)]]) {
             seen[0] = is_null_texture(t) ? -1 : t.sample(s, float2(0.5f)).x;
         }";
    let library = device.library_from_source(source)?;
    let (texture, queue, seen) =
        (device.texture(&plane(1, 1))?, device.queue()?, device.buffer_zeroed::<f32>(1)?);
    texture.write(&[2.0f32])?;
    let without = library.pipeline(
        PipelineDescriptor::new("k").constants(anymetal::FunctionConstants::new().with(0, false)),
    )?;
    queue.launch(&without).arg(&seen).threads(1).submit()?.wait()?;
    assert_eq!(seen.read()?, [-1.0]);
    let with = library
        .pipeline(PipelineDescriptor::new("k").constants(anymetal::FunctionConstants::new().with(0, true)))?;
    let launch = queue.launch(&with).texture(0, &texture).sampler(0, &SamplerDescriptor::default());
    launch.arg(&seen).threads(1).submit()?.wait()?;
    assert_eq!(seen.read()?, [2.0]);
    let roles: Vec<_> =
        with.kernel().arguments.iter().map(anymetal::reflection::ArgumentInfo::role).collect();
    let expected =
        [BindingRole::Texels(0), BindingRole::Description(0), BindingRole::Sampler(0), BindingRole::Buffer];
    assert_eq!(roles, expected);
    Ok(())
}
