//! Textures and samplers in structures that kernels read, by their resource ids.
//!
//! covers: MSL 2.13
//! oracle: exact

use anymetal::command::ResourceUsage;
use anymetal::error::DeviceError;
use anymetal::memory::HeapDescriptor;
use anymetal::reflection::ArgumentMemberKind;
use anymetal::texture::{AddressMode, Filter, GpuResourceId, MipFilter};
use anymetal::{
    CheckMode, CompileOptions, Device, Error, Library, LibraryDescriptor, PixelFormat, SamplerDescriptor,
    Texture, TextureDescriptor,
};

const HEADER: &str = "#include <metal_stdlib>
using namespace metal;
";

/// The library for each way to check kernels.
fn libraries(device: &Device, source: &str) -> Result<Vec<(CheckMode, Library)>, Error> {
    let modes = [CheckMode::Bounds, CheckMode::Off, CheckMode::Sanitize];
    let library = |check_mode| {
        let options = CompileOptions::new().check_mode(check_mode);
        Ok((
            check_mode,
            device.create_library(
                &LibraryDescriptor::from_source(&format!("{HEADER}{source}")).options(&options),
            )?,
        ))
    };
    modes.into_iter().map(library).collect()
}

/// A texture of one row of floats.
fn row(device: &Device, texels: &[f32]) -> Result<Texture, Error> {
    let shape = TextureDescriptor::plane(PixelFormat::R32Float, texels.len() as u32, 1);
    let texture = device.texture(&shape)?;
    texture.write(texels)?;
    Ok(texture)
}

const LAYERS: &str = "
struct Layers {
    array<texture2d<float>, 3> pictures;
    sampler around;
    texture2d<float, access::write> out;
    device uint* widths;
};
kernel void blend(device const Layers& layers [[buffer(2)]], uint2 at [[thread_position_in_grid]]) {
    float sum = 0;
    for (uint n = 0; n < 3; n++) {
        texture2d<float> picture = layers.pictures[n];
        sum += picture.read(at).r + picture.sample(layers.around, float2(at) + 3.5f).r;
        if (at.x == 0 && at.y == 0) layers.widths[n] = picture.get_width();
    }
    layers.out.write(float4(sum / 255), at);
}";

/// Three pictures of several formats, and a place for the result.
fn layers(device: &Device) -> Result<([Texture; 3], Texture), Error> {
    let picture = |format| device.texture(&TextureDescriptor::plane(format, 3, 2));
    let pictures =
        [picture(PixelFormat::R8Unorm)?, picture(PixelFormat::R32Float)?, picture(PixelFormat::R16Float)?];
    let bytes: Vec<u8> = (1..7).map(|value| value * 10).collect();
    pictures[0].write(&bytes)?;
    pictures[1].write(&(1..7).map(|value| value as f32).collect::<Vec<_>>())?;
    Ok((pictures, picture(PixelFormat::R8Unorm)?))
}

#[test]
fn textures_and_samplers_are_eight_bytes_of_a_structure() -> Result<(), Error> {
    let device = Device::system_default()?;
    let around = SamplerDescriptor::default().pixel_coordinates(true);
    let around = around.with_address(AddressMode::ClampToEdge).gpu_resource_id();
    for (check_mode, library) in libraries(&device, LAYERS)? {
        let layout = library.argument_layout("blend", 2, &[])?.expect("it is a structure");
        let members: Vec<_> = layout.members.iter().map(|m| (m.id, m.offset, m.size, m.kind)).collect();
        let (texture, sampler) = (ArgumentMemberKind::Texture, ArgumentMemberKind::Sampler);
        assert_eq!(members[..3], [(0, 0, 8, texture), (1, 8, 8, texture), (2, 16, 8, texture)]);
        assert_eq!(members[3..5], [(3, 24, 8, sampler), (4, 32, 8, texture)]);
        assert_eq!((members[5], layout.size), ((5, 40, 8, ArgumentMemberKind::Pointer), 48));

        let (pictures, out) = layers(&device)?;
        let widths = device.buffer_zeroed::<u32>(3)?;
        let mut words = Vec::new();
        for picture in &pictures {
            words.push(picture.gpu_resource_id(&device)?.bits());
        }
        words.extend([around.bits(), out.gpu_resource_id(&device)?.bits(), widths.gpu_address()?]);
        let (arguments, queue) = (device.buffer(&words)?, device.queue()?);
        let pipeline = library.pipeline("blend")?;
        let mut launch = queue.launch(&pipeline).arg_at(2, &arguments).threads((3, 2)).group_size((8, 8));
        for picture in &pictures {
            launch = launch.use_resources(picture.resources(), ResourceUsage::Read);
        }
        launch = launch.use_resources(out.resources(), ResourceUsage::ReadWrite);
        launch.use_resource(&widths, ResourceUsage::ReadWrite).submit()?.wait()?;
        // The last texel of each picture is that of the edge: 60 of 255 and 6.
        let expected = (1..7).map(|n| (f64::from(n) + f64::from(n * 10 + 60) / 255.0 + 6.0).round() as u8);
        assert_eq!(out.read::<u8>()?, expected.collect::<Vec<_>>(), "{check_mode:?}");
        assert_eq!(widths.read()?, [3, 3, 3]);
    }
    Ok(())
}

#[test]
fn a_view_has_an_id_of_its_own_and_is_reachable_with_its_texture() -> Result<(), Error> {
    let device = Device::system_default()?;
    let texture = row(&device, &[1.0, 2.0])?;
    let view = texture.view_as(PixelFormat::R32Uint)?;
    let (own, other) = (texture.gpu_resource_id(&device)?, view.gpu_resource_id(&device)?);
    assert!(own != other && own != GpuResourceId::NULL_TEXTURE);
    assert_eq!((texture.gpu_resource_id(&device)?, texture.clone().gpu_resource_id(&device)?), (own, own));
    assert_eq!((texture.resources().len(), view.resources().len()), (3, 3));
    let source = "kernel void bits(constant texture2d<uint>& t, device uint* out, uint i [[thread_position_in_grid]]) {
        out[i] = t.read(uint2(i, 0)).r;
    }";
    let library = device.library_from_source(&format!("{HEADER}{source}"))?;
    let (out, ids) = (device.buffer_zeroed::<u32>(2)?, device.buffer(&[other])?);
    let (queue, bits) = (device.queue()?, library.pipeline("bits")?);
    let launch = queue.launch(&bits).arg(&ids).arg(&out).threads(2);
    launch.use_resources(texture.resources(), ResourceUsage::Read).submit()?.wait()?;
    assert_eq!(out.read()?, [1.0f32.to_bits(), 2.0f32.to_bits()]);
    drop(view);
    assert_eq!(texture.resources().len(), 2);
    Ok(())
}

const BINDLESS: &str = "
struct Material { uint kind; texture2d<float> color; sampler s; device float* scale; };
kernel void shade(constant Material* materials, constant uint& count, device float* out, uint i [[thread_position_in_grid]]) {
    float sum = 0;
    for (uint n = 0; n < count; n++) {
        constant Material& m = materials[(i + n) % count];
        sum += m.color.read(uint2(m.kind, 0)).r * m.scale[m.kind];
    }
    Material own = materials[i % count];
    out[i] = sum + own.color.sample(own.s, float2(1.5f, 0.5f)).r;
}";

#[test]
fn a_kernel_chooses_among_a_thousand_textures() -> Result<(), Error> {
    const COUNT: usize = 1000;
    let device = Device::system_default()?;
    let options = CompileOptions::default();
    let library = device
        .create_library(&LibraryDescriptor::from_source(&format!("{HEADER}{BINDLESS}")).options(&options))?;
    let textures: Vec<_> = (0..COUNT).map(|n| row(&device, &[n as f32, 1.0])).collect::<Result<_, _>>()?;
    let sampler = SamplerDescriptor::default().pixel_coordinates(true).gpu_resource_id();
    let scale = device.buffer(&[2.0f32, 5000.0])?;
    let mut words = Vec::new();
    for (n, texture) in textures.iter().enumerate() {
        words.extend([
            (n % 2) as u64,
            texture.gpu_resource_id(&device)?.bits(),
            sampler.bits(),
            scale.gpu_address()?,
        ]);
    }
    let (materials, out, queue) = (device.buffer(&words)?, device.buffer_zeroed::<f32>(70)?, device.queue()?);
    let shade = library.pipeline("shade")?;
    let mut launch = queue.launch(&shade).arg(&materials).arg(COUNT as u32).arg(&out).threads(70);
    for texture in &textures {
        launch = launch.use_resources(texture.resources(), ResourceUsage::Read);
    }
    launch.use_resource(&scale, ResourceUsage::Read).submit()?.wait()?;
    let even: f32 = (0..COUNT).step_by(2).map(|n| 2.0 * n as f32).sum();
    assert_eq!(out.read()?, [even + 5000.0 * 500.0 + 1.0; 70]);
    Ok(())
}

const COPIES: &str = "
struct Inner { array<texture2d<float>, 2> both; sampler s; };
struct Outer { float factor; Inner inner; texture2d<float> other; };
float from(Inner inner, uint n, uint x) { return inner.both[n].read(uint2(x, 0)).r; }
float other(texture2d<float> t, uint x) { return t.read(uint2(x, 0)).r; }
kernel void copies(constant Outer* all [[buffer(0)]], device float* out [[buffer(1)]], device Inner* kept [[buffer(2)]],
                   texture2d<float> direct [[texture(3)]], array<texture2d<float>, 2> row [[texture(5)]],
                   uint i [[thread_position_in_grid]]) {
    Outer own[2] = { all[0], all[1] };
    own[1].other = direct;
    own[0].inner.both[1] = row[i % 2];
    Outer picked = own[i % 2];
    texture2d<float> either = i < 2 ? direct : all[1].other;
    kept[i] = own[i & 1].inner;
    out[i] = picked.factor * from(picked.inner, i / 2, 0) + other(picked.other, 1)
           + 1000 * either.read(uint2(0, 0)).r + 10000 * from(kept[i], 1, 1) + 100000 * direct.read(uint2(1, 0)).r;
}";

#[test]
fn copies_of_structures_keep_their_textures() -> Result<(), Error> {
    let device = Device::system_default()?;
    let texels = |n: usize| [n as f32, 10.0 + n as f32];
    let rows: Vec<_> = (0..9).map(|n| row(&device, &texels(n))).collect::<Result<_, _>>()?;
    let id = |n: usize| rows[n].gpu_resource_id(&device).map(GpuResourceId::bits);
    let factor = |value: f32| u64::from(value.to_bits());
    let sampler = SamplerDescriptor::default().gpu_resource_id().bits();
    // Textures 0 and 1, then 2; 3 and 4, then 5. Arguments are 6, and 7 and 8.
    let words =
        [factor(1.0), id(0)?, id(1)?, sampler, id(2)?, factor(100.0), id(3)?, id(4)?, sampler, id(5)?];
    for (check_mode, library) in libraries(&device, COPIES)? {
        let (all, out) = (device.buffer(&words)?, device.buffer_zeroed::<f32>(4)?);
        let kept = device.buffer_zeroed::<u64>(12)?;
        let (queue, copies) = (device.queue()?, library.pipeline("copies")?);
        let mut launch = queue.launch(&copies).arg(&all).arg(&out).arg(&kept).texture(3, &rows[6]);
        launch = launch.texture(5, &rows[7]).texture(6, &rows[8]);
        for row in &rows[..6] {
            launch = launch.use_resources(row.resources(), ResourceUsage::Read);
        }
        launch.threads(4).submit()?.wait()?;
        let expected = (0..4).map(|i| {
            // What the kernel's arrays have for this thread.
            let both = if i % 2 == 0 { [0, 7 + i % 2] } else { [3, 4] };
            let (factor, other) = if i % 2 == 0 { (1.0, 2) } else { (100.0, 6) };
            let either = if i < 2 { 6 } else { 5 };
            factor * texels(both[i / 2])[0]
                + texels(other)[1]
                + 1000.0 * texels(either)[0]
                + 10000.0 * texels(both[1])[1]
                + 100_000.0 * texels(6)[1]
        });
        assert_eq!(out.read()?, expected.collect::<Vec<_>>(), "{check_mode:?}");
    }
    Ok(())
}

const NULL: &str = "
struct Scene { texture2d<float> color; texture2d_array<half> layers; depth2d<float> depth; texture2d<float, access::read_write> out; sampler s; };
kernel void null(constant Scene& scene, device float* out) {
    texture2d<float> t = scene.color;
    out[0] = is_null_texture(t);
    out[1] = t.get_width() + t.get_num_mip_levels();
    out[2] = t.read(uint2(0, 0)).a;
    out[3] = t.sample(scene.s, float2(0.5f)).a;
    out[4] = scene.layers.sample(scene.s, float2(0.5f), 1).a + scene.layers.get_array_size();
    out[5] = scene.depth.sample_compare(scene.s, float2(0.5f), 0.5f) + scene.depth.gather(scene.s, float2(0.5f)).x;
    scene.out.write(float4(1), uint2(0, 0));
    out[6] = scene.out.read(uint2(0, 0)).r;
    out[7] = t.sample(scene.s, float2(0.5f), gradient2d(1, 1)).a;
}";

#[test]
fn a_null_texture_has_no_texels() -> Result<(), Error> {
    let device = Device::system_default()?;
    for (check_mode, library) in libraries(&device, NULL)? {
        let mut ids = [GpuResourceId::NULL_TEXTURE; 5];
        ids[4] = SamplerDescriptor::default().with_filter(Filter::Linear).gpu_resource_id();
        let (scene, out) = (device.buffer(&ids.map(GpuResourceId::bits))?, device.buffer(&[9.0f32; 8])?);
        let (queue, null) = (device.queue()?, library.pipeline("null")?);
        queue.launch(&null).arg(&scene).arg(&out).threads(1).submit()?.wait()?;
        assert_eq!(out.read()?, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], "{check_mode:?}");
    }
    Ok(())
}

#[test]
fn an_id_of_no_resident_texture_is_a_fault_that_names_it() -> Result<(), Error> {
    let device = Device::system_default()?;
    let library = device.library_from_source(&format!("{HEADER}{LAYERS}"))?;
    let (pictures, out) = layers(&device)?;
    let missing = pictures[1].gpu_resource_id(&device)?.bits();
    let widths = device.buffer_zeroed::<u32>(3)?;
    let first = pictures[0].gpu_resource_id(&device)?.bits();
    let sampler = SamplerDescriptor::default().gpu_resource_id().bits();
    let arguments =
        [first, missing, first, sampler, out.gpu_resource_id(&device)?.bits(), widths.gpu_address()?];
    let (arguments, queue, blend) = (device.buffer(&arguments)?, device.queue()?, library.pipeline("blend")?);
    let mut launch = queue
        .launch(&blend)
        .arg_at(2, &arguments)
        .threads((1, 1))
        .use_resource(&widths, ResourceUsage::Write);
    for texture in [&pictures[0], &out] {
        launch = launch.use_resources(texture.resources(), ResourceUsage::ReadWrite);
    }
    let error = launch.submit()?.wait().expect_err("the texture is not resident");
    assert!(matches!(error, Error::Device(DeviceError::OutOfBounds { .. })), "{error:?}");
    let text = error.to_string();
    assert!(text.contains(&format!("{missing:#x}")), "{text} does not name {missing:#x}");
    Ok(())
}

const LEVELS: &str = "
struct Scene { texture2d<float> t; sampler s[3]; };
kernel void levels(constant Scene& scene, device float* out, uint i [[thread_position_in_grid]]) {
    constexpr sampler same(mip_filter::linear, lod_clamp(0.25f, 1.5f));
    out[i] = scene.t.sample(scene.s[i], float2(0.5f), level(i == 0 ? 0.0f : 5.0f)).r;
    out[3 + i] = scene.t.sample(same, float2(0.5f), level(i == 0 ? 0.0f : 5.0f)).r;
}";

#[test]
fn an_id_has_all_of_a_sampler() -> Result<(), Error> {
    let device = Device::system_default()?;
    let shape = TextureDescriptor::plane(PixelFormat::R32Float, 4, 4);
    let texture = device.texture(&shape.with_levels(3))?;
    for (level, texels) in [(0, 16), (1, 4), (2, 1)] {
        texture.write_slice(level, 0, &vec![level as f32; texels])?;
    }
    let sampler = |lod_clamp| {
        let state = SamplerDescriptor::default().mip_filter(MipFilter::Linear).lod_clamp(lod_clamp);
        state.gpu_resource_id()
    };
    let ids = [
        texture.gpu_resource_id(&device)?,
        sampler(Some([0.25, 1.5])),
        sampler(Some([0.25, 1.5])),
        sampler(None),
    ];
    assert!(ids.iter().all(|id| *id != GpuResourceId::default()));
    for (check_mode, library) in libraries(&device, LEVELS)? {
        let (scene, out) = (device.buffer(&ids.map(GpuResourceId::bits))?, device.buffer_zeroed::<f32>(6)?);
        let (queue, levels) = (device.queue()?, library.pipeline("levels")?);
        let launch = queue.launch(&levels).arg(&scene).arg(&out).threads(3);
        launch.use_resources(texture.resources(), ResourceUsage::Read).submit()?.wait()?;
        assert_eq!(out.read()?, [0.25, 1.5, 2.0, 0.25, 1.5, 1.5], "{check_mode:?}");
    }
    Ok(())
}

#[test]
fn a_heap_makes_its_textures_reachable() -> Result<(), Error> {
    let device = Device::system_default()?;
    let heap = device.create_heap(&HeapDescriptor::new(1 << 16).label("textures"))?;
    let shape = TextureDescriptor::plane(PixelFormat::R32Float, 2, 1);
    let textures = [heap.texture(&shape)?, heap.texture(&shape)?];
    textures[0].write(&[1.0f32, 2.0])?;
    textures[1].write(&[10.0f32, 20.0])?;
    let ids = [textures[0].gpu_resource_id(&device)?, textures[1].gpu_resource_id(&device)?];
    let source = "struct Two { texture2d<float> t[2]; };
    kernel void sum(constant Two& two, device float* out, uint i [[thread_position_in_grid]]) {
        out[i] = two.t[0].read(uint2(i, 0)).r + two.t[1].read(uint2(i, 0)).r;
    }";
    let library = device.library_from_source(&format!("{HEADER}{source}"))?;
    let ids = device.buffer(&ids.map(GpuResourceId::bits))?;
    let (out, queue) = (device.buffer_zeroed::<f32>(2)?, device.queue()?);
    let mut commands = queue.command_buffer()?;
    let mut encoder = commands.compute_encoder();
    encoder.set_pipeline(&library.pipeline("sum")?);
    encoder.set_buffer(0, &ids, 0)?;
    encoder.set_buffer(1, &out, 0)?;
    encoder.use_heap(&heap);
    encoder.dispatch_threads(2, 2)?;
    encoder.end_encoding();
    commands.commit()?.wait()?;
    assert_eq!(out.read()?, [11.0, 22.0]);
    Ok(())
}
