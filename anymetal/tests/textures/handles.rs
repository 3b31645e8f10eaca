//! Textures over buffers, copies, encoders and graphs, and what is refused.

use anymetal::graph::{Executable, GraphBuilder, PlanOptions};
use anymetal::texture::TextureError;
use anymetal::{Device, Error, PixelFormat, SamplerDescriptor, TextureDescriptor};

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
    let mut encoder = commands.compute_encoder();
    encoder.set_pipeline(&invert);
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
