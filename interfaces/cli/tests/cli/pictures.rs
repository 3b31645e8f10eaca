//! Textures on the command line: pictures in, pictures out, samplers, and what is refused.

use crate::support::{Bench, source};

const DEVICES: [&str; 2] = ["cpu", "interpreter"];
/// The same kernels; those in OpenCL C are translated.
const SOURCES: [&str; 2] = ["sobel.metal", "sobel.cl"];

fn png(width: u32, height: u32, colour: png::ColorType, samples: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(colour);
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(samples).unwrap();
    writer.finish().unwrap();
    bytes
}

fn grey_samples(path: &std::path::Path) -> Vec<u8> {
    let file = std::io::BufReader::new(std::fs::File::open(path).unwrap());
    let mut reader = png::Decoder::new(file).read_info().unwrap();
    let mut samples = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut samples).unwrap();
    assert_eq!(info.color_type, png::ColorType::Grayscale);
    samples
}

#[test]
fn a_step_has_an_edge_between_its_columns() {
    let bench = Bench::new();
    let row = [0u8, 0, 0, 255, 255, 255];
    bench.write("step.png", png(6, 4, png::ColorType::Grayscale, &row.repeat(4)));
    for (device, file) in DEVICES.into_iter().flat_map(|device| SOURCES.map(|file| (device, source(file)))) {
        let base = ["run", &file, "-k", "sobel", "--threads", "6,4", "--device", device];
        let more =
            ["--arg", "in=step.png:rgba8unorm", "--arg", "1=texture:r8unorm:6x4", "--save", "out=edges.png"];
        bench.run(&[&base[..], &more[..]].concat()).expect(0);
        assert_eq!(
            grey_samples(&bench.path("edges.png")),
            [0, 0, 255, 255, 0, 0].repeat(4),
            "{file} on {device}"
        );
    }
}

#[test]
fn a_sampler_argument_shifts_a_picture_by_half_a_texel() {
    let bench = Bench::new();
    bench.write("in.png", png(4, 1, png::ColorType::Grayscale, &[0, 100, 200, 50]));
    for file in SOURCES.map(source) {
        let base = ["run", &file, "-k", "shift", "--threads", "4,1", "--arg", "in=in.png"];
        let more =
            ["--arg", "out=texture:r8unorm:4x1", "--arg", "s=sampler:linear,repeat", "--save", "out=out.png"];
        bench.run(&[&base[..], &more[..]].concat()).expect(0);
        assert_eq!(grey_samples(&bench.path("out.png")), [50, 150, 125, 25], "{file}");
    }
}

#[test]
fn mistakes_name_the_texture() {
    let bench = Bench::new();
    bench.write("in.png", png(2, 1, png::ColorType::Grayscale, &[1, 2]));
    let file = source("sobel.metal");
    let base = ["run", &file, "-k", "sobel", "--threads", "2,1"];
    for (arguments, expected) in [
        (&["--arg", "in=in.png"][..], "texture 1 `out`"),
        (&["--arg", "in=in.png:r8uint", "--arg", "out=texture:r8unorm:2x1"], "picture of r8uint"),
        (&["--arg", "in=none.png", "--arg", "out=texture:r8unorm:2x1"], "none.png"),
        (&["--arg", "5=in.png", "--arg", "out=texture:r8unorm:2x1"], "no texture 5"),
        (&["--arg", "in=in.png", "--arg", "out=zeros:f32:4"], "`out` is a texture: give it picture.png"),
        (&["--arg", "in=sampler:linear", "--arg", "out=in.png"], "`in` is a texture"),
    ] {
        let ran = bench.run(&[&base[..], arguments].concat()).expect(1);
        assert!(ran.stderr.contains(expected), "{arguments:?}: {}", ran.stderr);
    }
}

#[test]
fn reflection_shows_textures_as_the_source_has_them() {
    let bench = Bench::new();
    let ran = bench.run(&["compile", &source("sobel.metal"), "-k", "shift", "--emit", "reflect"]).expect(0);
    for line in
        ["texture(0) in texture2d<", "texture(1) out texture2d<float, access::write>", "sampler(0) s "]
    {
        assert!(ran.stdout.contains(line), "{}", ran.stdout);
    }
    assert!(!ran.stdout.contains("buffer("), "{}", ran.stdout);
}
