//! Textures over buffers, copies, encoders and graphs, and what is refused.

use anymetal::{
    AddressMode, ArgumentMemberKind, CheckMode, CompileOptions, Device, Error, Executable, GraphBuilder,
    PixelFormat, PlanOptions, ResourceUsage, SamplerDescriptor, Texture, TextureDescriptor, TextureError,
    sampler_handle,
};

const INVERT: &str = "#include <metal_stdlib>
using namespace metal;
kernel void invert(texture2d<float> in [[texture(0)]], texture2d<float, access::write> out [[texture(1)]], sampler s [[sampler(0)]],
                   uint2 at [[thread_position_in_grid]]) {
    out.write(1 - in.sample(s, (float2(at) + 0.5f) / float2(in.get_width(), in.get_height())), at);
}";

fn shape() -> TextureDescriptor {
    TextureDescriptor::plane(PixelFormat::R8Unorm, 3, 2)
}

#[test]
fn a_texture_over_a_buffer_shares_its_bytes() -> Result<(), Error> {
    let device = Device::system_default()?;
    let buffer = device.buffer(&[9u8, 9, 1, 2, 3, 0, 4, 5, 6, 9])?;
    let texture = buffer.texture(&shape(), 2, 4)?;
    assert_eq!(texture.read::<u8>()?, [1, 2, 3, 4, 5, 6]);
    let out = device.texture(&shape())?;
    let invert = device.library_from_source(INVERT)?.pipeline("invert")?;
    let queue = device.queue()?;
    let launch = queue.launch(&invert).texture(0, &texture).texture(1, &out);
    launch.sampler(0, &SamplerDescriptor::default()).threads((3, 2)).submit()?.wait()?;
    assert_eq!(out.read::<u8>()?, [254, 253, 252, 251, 250, 249]);
    assert!(matches!(buffer.texture(&shape(), 6, 4), Err(Error::Texture(TextureError::TooShort { .. }))));
    Ok(())
}

#[test]
fn encoders_copy_to_textures_run_kernels_and_copy_back() -> Result<(), Error> {
    let device = Device::system_default()?;
    let invert = device.library_from_source(INVERT)?.pipeline("invert")?;
    let (from, to) = (device.texture(&shape())?, device.texture(&shape())?);
    let source = device.buffer(&[1u8, 2, 3, 4, 5, 6])?;
    let destination = device.buffer_zeroed::<u8>(16)?;
    let queue = device.queue()?;
    let mut commands = queue.command_buffer()?;
    commands.blit_encoder().copy_to_texture(&source.view(0..6)?, 3, &from, 0, 0)?;
    let mut encoder = commands.compute_encoder().set_pipeline(&invert);
    encoder.set_texture(0, &from);
    encoder.set_texture(1, &to);
    encoder.set_sampler(0, &SamplerDescriptor::default());
    encoder.dispatch_threads((3, 2), (16, 16))?;
    encoder.end_encoding();
    commands.blit_encoder().copy_from_texture(&to, 0, 0, &destination.view(0..16)?, 8)?;
    commands.commit()?.wait()?;
    assert_eq!(destination.read()?[..11], [254, 253, 252, 0, 0, 0, 0, 0, 251, 250, 249]);
    Ok(())
}

#[test]
fn nodes_of_graphs_take_textures() -> Result<(), Error> {
    let device = Device::system_default()?;
    let invert = device.library_from_source(INVERT)?.pipeline("invert")?;
    let [a, b, c] = [device.texture(&shape())?, device.texture(&shape())?, device.texture(&shape())?];
    a.write(&[1u8, 2, 3, 4, 5, 6])?;
    let mut graph = GraphBuilder::new("twice");
    for (name, from, to) in [("first", &a, &b), ("second", &b, &c)] {
        let node = invert.node().texture(0, from).texture(1, to).sampler(0, &SamplerDescriptor::default());
        graph.kernel(name, node.threads((3, 2)).build()?)?;
    }
    graph.order_as_added();
    let graph = Executable::new(&graph.build()?, PlanOptions::default())?;
    device.queue()?.submit_graph(&graph)?.wait()?;
    assert_eq!(c.read::<u8>()?, [1, 2, 3, 4, 5, 6]);
    Ok(())
}

#[test]
fn what_does_not_fit_is_refused_by_name() -> Result<(), Error> {
    let device = Device::system_default()?;
    let invert = device.library_from_source(INVERT)?.pipeline("invert")?;
    let queue = device.queue()?;
    let integers = device.texture(&TextureDescriptor::plane(PixelFormat::R8Uint, 3, 2))?;
    let refused =
        queue.launch(&invert).texture(0, &integers).threads((3, 2)).submit().expect_err("no floats");
    let text = refused.to_string();
    assert!(text.contains("texture 0 `in`") && text.contains("2d texture of r8uint"), "{text}");
    let texture = device.texture(&shape())?;
    let missing =
        queue.launch(&invert).texture(0, &texture).threads((3, 2)).submit().expect_err("is missing");
    assert_eq!(missing.to_string(), "kernel `invert`: texture 1 `out` is missing");
    let surplus = queue.launch(&invert).texture(5, &texture).threads(1).submit().expect_err("has no such");
    assert_eq!(surplus.to_string(), "kernel `invert` has no texture 5; it has `in`, `out`");
    Ok(())
}

const LAYERS: &str = "#include <metal_stdlib>
using namespace metal;
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
fn kernels_reach_textures_and_samplers_through_an_argument_buffer() -> Result<(), Error> {
    let device = Device::system_default()?;
    let around = SamplerDescriptor { pixel_coordinates: true, ..SamplerDescriptor::default() };
    let around = sampler_handle(&around.with_address(AddressMode::ClampToEdge));
    for check_mode in [CheckMode::Bounds, CheckMode::Off, CheckMode::Sanitize] {
        let options = CompileOptions { check_mode, ..CompileOptions::default() };
        let library = device.library_from_source_with(LAYERS, &options)?;
        let layout = library.argument_layout("blend", 2)?.expect("it is a structure");
        let members: Vec<_> = layout.members.iter().map(|m| (m.id, m.offset, m.kind)).collect();
        let texture = ArgumentMemberKind::Texture;
        assert_eq!(members[..3], [(0, 0, texture), (1, 24, texture), (2, 48, texture)]);
        assert_eq!(members[3..5], [(3, 72, ArgumentMemberKind::Sampler), (4, 88, texture)]);
        assert_eq!((members[5], layout.size), ((5, 112, ArgumentMemberKind::Pointer), 120));

        let (pictures, out) = layers(&device)?;
        let widths = device.buffer_zeroed::<u32>(3)?;
        let mut words = Vec::new();
        for picture in &pictures {
            words.extend(picture.handle(&device)?);
        }
        let [a, b, c] = around;
        words.push(u64::from(a) | u64::from(b) << 32);
        words.push(u64::from(c));
        words.extend(out.handle(&device)?);
        words.push(widths.gpu_address()?);
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
fn a_view_has_a_handle_of_its_own() -> Result<(), Error> {
    let device = Device::system_default()?;
    let texture = device.texture(&TextureDescriptor::plane(PixelFormat::R32Float, 4, 4))?;
    let view = texture.view_as(PixelFormat::R32Uint)?;
    let (own, other) = (texture.handle(&device)?, view.handle(&device)?);
    assert_eq!(own[0], other[0]);
    assert_ne!(own[1..], other[1..]);
    assert_eq!((texture.handle(&device)?, texture.resources().len()), (own, 2));
    Ok(())
}
