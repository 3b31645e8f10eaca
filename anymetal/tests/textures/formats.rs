//! Every format: what kernels read of texels, what they write of values, and what is outside.
//!
//! covers: MSL 2.9, MSL 6.12
//! oracle: exact

use crate::reference::{Value, decode, encode, is_integer};
use anymetal::texture::ChannelKind;
use anymetal::{
    CheckMode, CompileOptions, Device, Error, Library, LibraryDescriptor, PixelFormat, TextureDescriptor,
};
use anymetal_hal::split_mix::SplitMix64;

const SIZE: [u32; 2] = [37, 5];

/// Reads with an edge of three texels around the texture, writes the given values with the same edge.
const SOURCE: &str = r"
#include <metal_stdlib>
using namespace metal;
template <typename T> void both(texture2d<T, access::read> in, texture2d<T, access::write> out, device vec<T, 4>* seen,
                                const device vec<T, 4>* given, uint2 at, uint2 size) {
    uint n = at.y * size.x + at.x;
    seen[n] = in.read(at - 3);
    out.write(given[n], at - 3);
}
kernel void floats(texture2d<float, access::read> in [[texture(0)]], texture2d<float, access::write> out [[texture(1)]],
                   device float4* seen, const device float4* given, uint2 at [[thread_position_in_grid]],
                   uint2 size [[threads_per_grid]]) { both<float>(in, out, seen, given, at, size); }
kernel void signeds(texture2d<int, access::read> in [[texture(0)]], texture2d<int, access::write> out [[texture(1)]],
                    device int4* seen, const device int4* given, uint2 at [[thread_position_in_grid]],
                    uint2 size [[threads_per_grid]]) { both<int>(in, out, seen, given, at, size); }
kernel void unsigneds(texture2d<uint, access::read> in [[texture(0)]], texture2d<uint, access::write> out [[texture(1)]],
                      device uint4* seen, const device uint4* given, uint2 at [[thread_position_in_grid]],
                      uint2 size [[threads_per_grid]]) { both<uint>(in, out, seen, given, at, size); }
";

const GRID: [u32; 2] = [SIZE[0] + 6, SIZE[1] + 6];

fn library(check_mode: CheckMode) -> Result<Library, Error> {
    let options = CompileOptions::new().check_mode(check_mode);
    Device::system_default()?.create_library(&LibraryDescriptor::from_source(SOURCE).options(&options))
}

/// Bits with all patterns of small formats and many of large ones.
fn texels(format: PixelFormat) -> Vec<u8> {
    let mut random = SplitMix64::new(format.word().bits());
    let count = (SIZE[0] * SIZE[1]) as usize;
    let mut bytes: Vec<u8> =
        (0..count * format.texel_bytes() as usize).map(|_| random.next_number() as u8).collect();
    let texel = format.texel_bytes() as usize;
    bytes[..texel].fill(0);
    bytes[texel..2 * texel].fill(0xff);
    bytes[2 * texel..3 * texel].fill(0x80);
    bytes
}

/// Values around what formats can hold, as the bits of 32-bit channels.
fn values(format: PixelFormat) -> Vec<[u32; 4]> {
    let mut random = SplitMix64::new(!format.word().bits());
    let special = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        1.5 / 255.0,
        2.5 / 255.0,
        0.0031308,
        1e-5,
        1e-8,
        6.2e-5,
        65504.0,
        65024.0,
        65279.9,
        65280.0,
        65519.9,
        65520.0,
        64512.0,
        65408.0,
        1e6,
        -1e6,
        2.0,
        f32::INFINITY,
        -f32::INFINITY,
        f32::NAN,
        0.499_999_97,
    ];
    let integers = [0, 1, 127, 128, 255, 256, 32767, 32768, 65535, 65536, u32::MAX, 1 << 31, u32::MAX - 128];
    let one = |random: &mut SplitMix64| -> u32 {
        let bits = random.next_number();
        let (pick, rest) = (bits % 4, (bits >> 8) as u32);
        if is_integer(format) {
            return if pick == 0 { rest } else { integers[rest as usize % integers.len()] };
        }
        match pick {
            0 => special[rest as usize % special.len()].to_bits(),
            1 => (rest as f32 / 2e9 - 1.0).to_bits(),
            2 => (rest as f32 / 4.3e9).to_bits(),
            // Of all magnitudes that the small floats have.
            _ => 0x3000_0000 + rest % 0x1800_0000,
        }
    };
    (0..GRID[0] * GRID[1]).map(|_| [(); 4].map(|()| one(&mut random))).collect()
}

fn kernel_for(format: PixelFormat) -> &'static str {
    match format.kind() {
        ChannelKind::Uint => "unsigneds",
        ChannelKind::Sint => "signeds",
        _ => "floats",
    }
}

fn value_of(format: PixelFormat, bits: [u32; 4]) -> Value {
    match format.kind() {
        ChannelKind::Uint => Value::Integer(bits.map(i64::from)),
        ChannelKind::Sint => Value::Integer(bits.map(|bits| i64::from(bits as i32))),
        _ => Value::Float(bits.map(f32::from_bits)),
    }
}

/// Bit for bit, but for the bits of NaNs.
fn is_same(one: Value, other: Value) -> bool {
    match (one, other) {
        (Value::Float(one), Value::Float(other)) => {
            let alike = |(a, b): (f32, f32)| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
            one.into_iter().zip(other).all(alike)
        }
        (one, other) => one == other,
    }
}

fn check(library: &Library, format: PixelFormat) -> Result<(), Error> {
    let device = library.device();
    let pipeline = library.pipeline(kernel_for(format))?;
    let shape = TextureDescriptor::plane(format, SIZE[0], SIZE[1]);
    let (input, output) = (device.texture(&shape)?, device.texture(&shape)?);
    let (bytes, given) = (texels(format), values(format));
    input.write(&bytes)?;
    let seen = device.buffer_zeroed::<[u32; 4]>(given.len())?.bytes();
    let given_buffer = device.buffer(bytemuck_bytes(&given).as_slice())?;
    let queue = device.queue()?;
    let launch = queue.launch(&pipeline).texture(0, &input).texture(1, &output);
    launch.arg(&seen).arg(&given_buffer).threads((GRID[0], GRID[1])).submit()?.wait()?;
    let seen = seen.read()?;
    let written = output.read::<u8>()?;
    let texel = format.texel_bytes() as usize;
    for (n, &given) in given.iter().enumerate() {
        let (x, y) = (n as i64 % i64::from(GRID[0]) - 3, n as i64 / i64::from(GRID[0]) - 3);
        let inside = (0..i64::from(SIZE[0])).contains(&x) && (0..i64::from(SIZE[1])).contains(&y);
        let at = |x: i64, y: i64| (y as usize * SIZE[0] as usize + x as usize) * texel;
        let bits = [0, 1, 2, 3].map(|c| {
            let at = n * 16 + c * 4;
            u32::from_le_bytes([seen[at], seen[at + 1], seen[at + 2], seen[at + 3]])
        });
        let zeros = vec![0; texel];
        let stored = if inside { &bytes[at(x, y)..at(x, y) + texel] } else { &zeros };
        let (seen, expected) = (value_of(format, bits), decode(format, stored));
        assert!(
            is_same(seen, expected),
            "{format}: read of {stored:02x?} at {x}, {y}: {seen:?}, not {expected:?}"
        );
        if inside {
            let value = value_of(format, given);
            let (stored, expected) = (&written[at(x, y)..at(x, y) + texel], encode(format, value));
            let alike = stored == expected
                || is_same(decode(format, stored), decode(format, &expected)) && has_nan(value);
            assert!(alike, "{format}: write of {value:?} gave {stored:02x?}, not {expected:02x?}");
        }
    }
    Ok(())
}

fn has_nan(value: Value) -> bool {
    matches!(value, Value::Float(values) if values.iter().any(|value| value.is_nan()))
}

fn bytemuck_bytes(values: &[[u32; 4]]) -> Vec<u8> {
    values.iter().flatten().flat_map(|bits| bits.to_le_bytes()).collect()
}

/// A pipeline has code of its own for a few formats only, so each format has its own pipeline.
#[test]
fn compiled_kernels_read_and_write_every_format() -> Result<(), Error> {
    let library = library(CheckMode::default())?;
    PixelFormat::ALL.iter().try_for_each(|&format| check(&library, format))
}

/// Its code is for any format: it finds out when it runs.
#[test]
fn the_interpreter_reads_and_writes_every_format() -> Result<(), Error> {
    let library = library(CheckMode::Sanitize)?;
    PixelFormat::ALL.iter().try_for_each(|&format| check(&library, format))
}

/// Every code of normalised channels of up to 16 bits reads as the quotient, rounded once.
#[test]
fn all_codes_of_normalized_channels() -> Result<(), Error> {
    let library = library(CheckMode::default())?;
    let device = library.device();
    for format in [PixelFormat::R8Unorm, PixelFormat::R8Snorm, PixelFormat::R16Unorm, PixelFormat::R16Snorm] {
        let texel = format.texel_bytes();
        let height = if texel == 1 { 1 } else { 256 };
        let shape = TextureDescriptor::plane(format, 256, height);
        let (input, output) = (device.texture(&shape)?, device.texture(&shape)?);
        let codes = 0..256 * height;
        let bytes: Vec<u8> =
            codes.flat_map(|code| code.to_le_bytes().into_iter().take(texel as usize)).collect();
        input.write(&bytes)?;
        let grid = [256 + 6, height + 6];
        let threads = (grid[0] * grid[1]) as usize;
        let seen = device.buffer_zeroed::<[u32; 4]>(threads)?.bytes();
        let given = device.buffer_zeroed::<[u32; 4]>(threads)?.bytes();
        let pipeline = library.pipeline("floats")?;
        let queue = device.queue()?;
        let launch = queue.launch(&pipeline).texture(0, &input).texture(1, &output);
        launch.arg(&seen).arg(&given).threads((grid[0], grid[1])).submit()?.wait()?;
        let seen = seen.read()?;
        for (n, stored) in bytes.chunks(texel as usize).enumerate() {
            let at = 16 * ((n / 256 + 3) * grid[0] as usize + n % 256 + 3);
            let red = u32::from_le_bytes([seen[at], seen[at + 1], seen[at + 2], seen[at + 3]]);
            let Value::Float([expected, ..]) = decode(format, stored) else {
                panic!("{format} is of floats")
            };
            assert_eq!(f32::from_bits(red), expected, "{format}: code {n:#x}");
        }
    }
    Ok(())
}
