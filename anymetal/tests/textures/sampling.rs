//! Samplers that are arguments: all address modes, filters and kinds of coordinates, at edges and far away.
//!
//! covers: MSL 2.10, MSL 6.12
//! oracle: exact

use crate::reference::{Plane, Rule};
use anymetal::texture::{AddressMode, BorderColor, Filter};
use anymetal::{
    CheckMode, CompileOptions, Device, Error, LibraryDescriptor, PixelFormat, SamplerDescriptor,
    TextureDescriptor,
};
use anymetal_hal::split_mix::SplitMix64;

const SIZE: [u32; 2] = [7, 5];

const SOURCE: &str = r"
#include <metal_stdlib>
using namespace metal;
kernel void look(texture2d<float> in [[texture(0)]], sampler s [[sampler(0)]], const device float2* at, device float4* seen,
                 uint n [[thread_position_in_grid]]) { seen[n] = in.sample(s, at[n]); }
";

const MODES: [AddressMode; 5] = [
    AddressMode::ClampToEdge,
    AddressMode::ClampToZero,
    AddressMode::Repeat,
    AddressMode::MirrorRepeat,
    AddressMode::ClampToBorder,
];

fn rules() -> Vec<Rule> {
    let mut rules = Vec::new();
    for (n, address) in MODES.into_iter().enumerate() {
        for linear in [false, true] {
            for pixel in [false, true] {
                // Only clamped modes have pixel coordinates.
                if pixel && matches!(address, AddressMode::Repeat | AddressMode::MirrorRepeat) {
                    continue;
                }
                let borders =
                    [BorderColor::TransparentBlack, BorderColor::OpaqueBlack, BorderColor::OpaqueWhite];
                let border = borders[(n + usize::from(linear) + 2 * usize::from(pixel)) % 3];
                rules.push(Rule { address, linear, pixel, border });
            }
        }
    }
    rules
}

/// Inside, at and beyond the edges, at corners of texels.
fn coordinates(pixel: bool) -> Vec<[f32; 2]> {
    let mut random = SplitMix64::new(7);
    let scale = |n: usize| if pixel { SIZE[n] as f32 } else { 1.0 };
    let mut found = Vec::new();
    for x in [-1.0, -0.01, 0.0, 0.25, 0.5, 0.999, 1.0, 1.01, 1.75, 3.2, -2.6] {
        for y in [-1.3, 0.0, 0.1, 0.5, 1.0, 2.0] {
            found.push([x * scale(0), y * scale(1)]);
        }
    }
    for _ in 0..400 {
        found.push(
            [0, 1].map(|n| (random.next_number() % 100_000) as f32 / 25_000.0 * scale(n) - 1.5 * scale(n)),
        );
    }
    found
}

fn check(check_mode: CheckMode, formats: &[PixelFormat]) -> Result<(), Error> {
    let options = CompileOptions::new().check_mode(check_mode);
    let library = Device::system_default()?
        .create_library(&LibraryDescriptor::from_source(SOURCE).options(&options))?;
    let (device, pipeline) = (library.device(), library.pipeline("look")?);
    let queue = device.queue()?;
    for &format in formats {
        let mut random = SplitMix64::new(3);
        let count = (SIZE[0] * SIZE[1] * format.texel_bytes()) as usize;
        // Halves from 0 to 2, and exponents that are alike.
        let byte = |n: usize, bits: u64| match format {
            PixelFormat::R16Float if n % 2 == 1 => 0x34 + (bits % 12) as u8,
            PixelFormat::Rgb9e5Float if n % 4 == 3 => 0x78 | (bits as u8 & 7),
            _ => bits as u8,
        };
        let bytes: Vec<u8> = (0..count).map(|n| byte(n, random.next_number())).collect();
        let texture = device.texture(&TextureDescriptor::plane(format, SIZE[0], SIZE[1]))?;
        texture.write(&bytes)?;
        let plane = Plane { format, size: SIZE, bytes: &bytes };
        for rule in rules() {
            let at = coordinates(rule.pixel);
            let filter = if rule.linear { Filter::Linear } else { Filter::Nearest };
            let sampler = SamplerDescriptor::default().with_address(rule.address).with_filter(filter);
            let sampler = sampler.pixel_coordinates(rule.pixel).border(rule.border);
            let flat: Vec<f32> = at.iter().flatten().copied().collect();
            let (places, seen) = (device.buffer(&flat)?, device.buffer_zeroed::<f32>(at.len() * 4)?);
            let launch = queue.launch(&pipeline).texture(0, &texture).sampler(0, &sampler);
            launch.arg(&places).arg(&seen).threads(at.len()).submit()?.wait()?;
            let seen = seen.read()?;
            for (n, &at) in at.iter().enumerate() {
                let expected = plane.sample(at, rule);
                for c in 0..4 {
                    let (got, expected) = (f64::from(seen[4 * n + c]), expected[c]);
                    // Nearest is exact; of linear, far less than a unit of 8 bits.
                    let tolerance = if rule.linear { 1e-5 * expected.abs().max(1.0) } else { 0.0 };
                    let close = (got - expected).abs() <= tolerance;
                    assert!(close, "{format}, {rule:?} at {at:?}, channel {c}: {got}, not {expected}");
                }
            }
        }
    }
    Ok(())
}

/// The first eight rules have code of their own, the others code for any sampler and format.
#[test]
fn compiled_kernels_sample_by_every_rule() -> Result<(), Error> {
    check(CheckMode::default(), &[PixelFormat::Bgra8UnormSrgb, PixelFormat::R16Float])
}

#[test]
fn the_interpreter_samples_by_every_rule() -> Result<(), Error> {
    let formats = [
        PixelFormat::Rgba8Unorm,
        PixelFormat::R16Float,
        PixelFormat::Bgra8UnormSrgb,
        PixelFormat::Rgb9e5Float,
    ];
    check(CheckMode::Sanitize, &formats)
}
