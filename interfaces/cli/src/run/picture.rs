//! Pictures as texels: PNG files to the bytes of a pixel format and back.
//!
//! Colours are taken as they are: a picture's 8 bits are those of `rgba8unorm` and of `rgba8unorm_srgb`
//! alike.

use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::Path;

use anymetal::texture::ChannelKind;
use anymetal::{PixelFormat, f16};
use png::{BitDepth, ColorType, Transformations};

/// A picture with four channels from 0 to 1.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Picture {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pixels: Vec<[f64; 4]>,
    /// The format that holds it as it is in its file.
    pub(crate) natural: PixelFormat,
}

impl Picture {
    /// Reads a PNG file.
    pub(crate) fn read(path: &Path) -> Result<Picture, String> {
        Self::decode(path).map_err(|problem| format!("{}: {problem}", path.display()))
    }

    fn decode(path: &Path) -> Result<Picture, String> {
        let file = anymetal_files::open(path).map_err(|error| error.reason())?;
        let mut decoder = png::Decoder::new(BufReader::new(file));
        decoder.set_transformations(Transformations::EXPAND);
        let mut reader = decoder.read_info().map_err(|error| error.to_string())?;
        let bytes = reader.output_buffer_size().ok_or("the picture is too large")?;
        let mut samples = vec![0; bytes];
        let info = reader.next_frame(&mut samples).map_err(|error| error.to_string())?;
        let is_wide = info.bit_depth == BitDepth::Sixteen;
        let values: Vec<f64> = if is_wide {
            let (pairs, _) = samples[..info.buffer_size()].as_chunks::<2>();
            pairs.iter().map(|&pair| f64::from(u16::from_be_bytes(pair)) / 65535.0).collect()
        } else {
            samples[..info.buffer_size()].iter().map(|&sample| f64::from(sample) / 255.0).collect()
        };
        let pixels = values.chunks(info.color_type.samples()).map(|pixel| match *pixel {
            [grey] => [grey, grey, grey, 1.0],
            [grey, alpha] => [grey, grey, grey, alpha],
            [r, g, b] => [r, g, b, 1.0],
            [r, g, b, a] => [r, g, b, a],
            _ => [0.0; 4],
        });
        let natural = match (info.color_type, is_wide) {
            (ColorType::Grayscale, false) => PixelFormat::R8Unorm,
            (ColorType::Grayscale, true) => PixelFormat::R16Unorm,
            (_, false) => PixelFormat::Rgba8Unorm,
            (_, true) => PixelFormat::Rgba16Unorm,
        };
        Ok(Picture { width: info.width, height: info.height, pixels: pixels.collect(), natural })
    }

    /// The texels in a format, row after row without gaps.
    pub(crate) fn texels(&self, format: PixelFormat) -> Result<Vec<u8>, String> {
        let of_pixel = |pixel: &[f64; 4]| {
            let mut texel = 0u128;
            for (&value, (width, position)) in pixel.iter().zip(format.channels()) {
                texel |= channel_bits(value, width, format.kind())? << position;
            }
            Some(texel.to_le_bytes()[..format.texel_bytes() as usize].to_vec())
        };
        let texels: Option<Vec<Vec<u8>>> = self.pixels.iter().map(of_pixel).collect();
        texels.map(|texels| texels.concat()).ok_or_else(|| format!("pictures are not stored as {format}"))
    }

    /// The picture that texels are, clamped to 0 to 1.
    pub(crate) fn of_texels(
        [width, height]: [u32; 2],
        format: PixelFormat,
        texels: &[u8],
    ) -> Result<Picture, String> {
        let of_texel = |bytes: &[u8]| {
            let texel = bytes.iter().rev().fold(0u128, |texel, &byte| texel << 8 | u128::from(byte));
            let mut pixel = [0.0, 0.0, 0.0, 1.0];
            for (value, (width, position)) in pixel.iter_mut().zip(format.channels()) {
                if width > 0 {
                    let bits = (texel >> position) & ((1u128 << width) - 1);
                    *value = channel_value(bits as u64, width, format.kind())?.clamp(0.0, 1.0);
                }
            }
            Some(pixel)
        };
        let pixels: Option<Vec<_>> = texels.chunks(format.texel_bytes() as usize).map(of_texel).collect();
        let pixels = pixels.ok_or_else(|| format!("textures of {format} are not saved as pictures"))?;
        Ok(Picture { width, height, pixels, natural: format })
    }

    /// Writes a PNG file: grey where there is one channel, 16 bits where the format has more than 8.
    pub(crate) fn write(&self, path: &Path) -> Result<(), String> {
        let is_grey = self.natural.channels()[1].0 == 0;
        let is_wide = self.natural.kind() == ChannelKind::Unorm && self.natural.channels()[0].0 == 16;
        let file = BufWriter::new(File::create(path).map_err(|error| error.to_string())?);
        let mut encoder = png::Encoder::new(file, self.width, self.height);
        encoder.set_color(if is_grey { ColorType::Grayscale } else { ColorType::Rgba });
        encoder.set_depth(if is_wide { BitDepth::Sixteen } else { BitDepth::Eight });
        let channels = if is_grey { 1 } else { 4 };
        let values = self.pixels.iter().flat_map(|pixel| &pixel[..channels]);
        let samples: Vec<u8> = if is_wide {
            values.flat_map(|value| ((value * 65535.0).round() as u16).to_be_bytes()).collect()
        } else {
            values.map(|value| (value * 255.0).round() as u8).collect()
        };
        let mut writer = encoder.write_header().map_err(|error| error.to_string())?;
        writer.write_image_data(&samples).map_err(|error| error.to_string())?;
        writer.finish().map_err(|error| error.to_string())
    }
}

/// A value's bits; `None` for kinds that pictures are not stored as.
fn channel_bits(value: f64, width: u32, kind: ChannelKind) -> Option<u128> {
    Some(match (kind, width) {
        (_, 0) => 0,
        (ChannelKind::Unorm, _) => (value * ((1u64 << width) - 1) as f64).round() as u128,
        // The picture's own 8 bits.
        (ChannelKind::Uint, 8..) => (value * 255.0).round() as u128,
        (ChannelKind::Float, 32) => (value as f32).to_bits().into(),
        (ChannelKind::Float, 16) => f16::from_f64(value).to_bits().into(),
        _ => return None,
    })
}

fn channel_value(bits: u64, width: u32, kind: ChannelKind) -> Option<f64> {
    Some(match (kind, width) {
        (ChannelKind::Unorm, _) => bits as f64 / ((1u64 << width) - 1) as f64,
        (ChannelKind::Uint, 8..) => bits as f64 / 255.0,
        (ChannelKind::Float, 32) => f32::from_bits(bits as u32).into(),
        (ChannelKind::Float, 16) => f16::from_bits(bits as u16).to_f64(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_come_back_from_files_and_texels() {
        let folder = tempfile::tempdir().unwrap();
        for format in
            [PixelFormat::Rgba8Unorm, PixelFormat::R8Unorm, PixelFormat::R16Unorm, PixelFormat::Bgra8Unorm]
        {
            let bytes: Vec<u8> = (0..6 * format.texel_bytes()).map(|n| (n * 37) as u8).collect();
            let picture = Picture::of_texels([3, 2], format, &bytes).unwrap();
            let path = folder.path().join("picture.png");
            picture.write(&path).unwrap();
            let again = Picture::read(&path).unwrap();
            assert_eq!((again.width, again.height), (3, 2));
            assert_eq!(again.texels(format).unwrap(), bytes, "{format}");
        }
        assert!(Picture::read(&folder.path().join("none.png")).is_err());
    }

    #[test]
    fn floats_hold_parts_of_one_and_packed_floats_no_pictures() {
        let picture = Picture::of_texels([1, 1], PixelFormat::Rgba8Unorm, &[255, 0, 51, 255]).unwrap();
        let texels = picture.texels(PixelFormat::Rgba32Float).unwrap();
        assert_eq!(texels[..8], [1.0f32.to_le_bytes(), 0.0f32.to_le_bytes()].concat());
        assert_eq!(picture.texels(PixelFormat::Rgba8Uint).unwrap(), [255, 0, 51, 255]);
        assert!(picture.texels(PixelFormat::Rgb9e5Float).is_err());
    }
}
