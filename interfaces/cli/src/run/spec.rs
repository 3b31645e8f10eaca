//! The grammar of `--arg I=SPEC`.

use std::path::PathBuf;

use anymetal::reflection::ScalarType;
use anymetal::tensor::TensorShape;
use anymetal::{PixelFormat, SamplerDescriptor};

use super::tensors::parse_shape;
use super::textures::parse_sampler;
use super::which::Which;
use crate::scalar;

/// What to bind to which argument.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ArgumentSpec {
    /// Which.
    pub(crate) which: Which,
    /// What.
    pub(crate) spec: Spec,
}

/// What to bind.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Spec {
    /// A NumPy file.
    Npy(PathBuf),
    /// A file's bytes.
    Binary(PathBuf),
    /// Generated elements.
    Generated(Generator, ScalarType, u64),
    /// Values as written: their bits.
    Values(ScalarType, Vec<u64>),
    /// Bytes as written.
    Hex(Vec<u8>),
    /// A table of visible functions by their names; `None` for an entry without one.
    Functions(Vec<Option<String>>),
    /// A PNG file, as texels of a format if one is given.
    Picture(PathBuf, Option<PixelFormat>),
    /// A texture of that format, width and height, of zeros.
    Texture(PixelFormat, u32, u32),
    /// A sampler.
    Sampler(SamplerDescriptor),
    /// The shape of the tensor that another option gives the elements of.
    Shape(TensorShape),
    /// Nothing.
    Unbound,
}

/// How to generate elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Generator {
    /// Zeros.
    Zeros,
    /// 0, 1, 2, …
    Iota,
    /// Random numbers from a seed.
    Random(u64),
}

impl ArgumentSpec {
    /// Parses the option's text.
    pub(crate) fn parse(text: &str) -> Result<ArgumentSpec, String> {
        let (which, spec) = text.split_once('=').ok_or("write INDEX=SPEC or NAME=SPEC")?;
        Ok(ArgumentSpec { which: Which::parse(which)?, spec: Spec::parse(spec)? })
    }
}

impl Spec {
    /// Parses the text after `I=`.
    pub(crate) fn parse(text: &str) -> Result<Spec, String> {
        if text == "none" {
            return Ok(Spec::Unbound);
        }
        if let Some((head, rest)) = text.split_once(':') {
            match head {
                "zeros" => return generated(rest, |_| Ok(Generator::Zeros), 2),
                "iota" => return generated(rest, |_| Ok(Generator::Iota), 2),
                "rand" => return generated(rest, seed, 3),
                "hex" => return hex(rest).map(Spec::Hex),
                "functions" => {
                    let name = |name: &str| (name != "null").then(|| name.to_owned());
                    return Ok(Spec::Functions(rest.split(',').map(|text| name(text.trim())).collect()));
                }
                "texture" => return texture(rest),
                "shape" => return parse_shape(rest).map(Spec::Shape),
                "sampler" => return parse_sampler(rest).map(Spec::Sampler),
                _ => {}
            }
            if let Some(declared) = ScalarType::named(head) {
                let values = rest.split(',').map(|value| scalar::parse(declared, value.trim()));
                return Ok(Spec::Values(declared, values.collect::<Result<_, _>>()?));
            }
        }
        if let Some(picture) = picture(text) {
            return picture;
        }
        match text.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase()).as_deref() {
            Some("npy") => Ok(Spec::Npy(PathBuf::from(text))),
            Some("bin") => Ok(Spec::Binary(PathBuf::from(text))),
            _ => Err(format!(
                "`{text}` is no SPEC: write path.npy, path.bin, zeros:TYPE:COUNT, iota:TYPE:COUNT, \
                 rand:TYPE:COUNT[:SEED], TYPE:VALUE[,VALUE…], hex:BYTES, functions:NAME[,NAME…], picture.png[:FORMAT], \
                 texture:FORMAT:WIDTHxHEIGHT, sampler:WORD[,WORD…], shape:EXTENT[xEXTENT…] or none; TYPE is one of {}",
                scalar::all_names()
            )),
        }
    }
}

impl Spec {
    /// Whether it is for a texture.
    pub(crate) fn is_texture(&self) -> bool {
        matches!(self, Spec::Picture(..) | Spec::Texture(..))
    }

    /// Whether it is for a buffer.
    pub(crate) fn is_buffer(&self) -> bool {
        !self.is_texture() && !matches!(self, Spec::Sampler(_) | Spec::Shape(_))
    }
}

/// `path.png` or `path.png:FORMAT`; `None` for anything else.
fn picture(text: &str) -> Option<Result<Spec, String>> {
    let is_png = |path: &str| path.to_ascii_lowercase().ends_with(".png");
    if is_png(text) {
        return Some(Ok(Spec::Picture(PathBuf::from(text), None)));
    }
    let (path, format) = text.rsplit_once(':').filter(|(path, _)| is_png(path))?;
    Some(pixel_format(format).map(|format| Spec::Picture(PathBuf::from(path), Some(format))))
}

fn pixel_format(name: &str) -> Result<PixelFormat, String> {
    name.parse::<PixelFormat>().map_err(|error| {
        let known: Vec<&str> = PixelFormat::ALL.iter().map(|format| format.name()).collect();
        format!("{error}; there are {}", known.join(" "))
    })
}

/// `FORMAT:WIDTHxHEIGHT`
fn texture(text: &str) -> Result<Spec, String> {
    let extent = |extent: &str| {
        let (width, height) = extent.split_once('x')?;
        Some((width.parse().ok()?, height.parse().ok()?))
    };
    let (format, size) = text.split_once(':').ok_or("write texture:FORMAT:WIDTHxHEIGHT")?;
    let (width, height) = extent(size).ok_or_else(|| format!("`{size}` is no WIDTHxHEIGHT"))?;
    Ok(Spec::Texture(pixel_format(format)?, width, height))
}

fn generated(
    text: &str,
    generator: impl Fn(Option<&str>) -> Result<Generator, String>,
    most_parts: usize,
) -> Result<Spec, String> {
    let parts: Vec<&str> = text.split(':').collect();
    let [name, count, ..] = parts[..] else {
        return Err("the number of elements is missing: write TYPE:COUNT".to_owned());
    };
    if parts.len() > most_parts {
        return Err(format!("`{}` is one part too many", parts[most_parts]));
    }
    let declared = ScalarType::named(name)
        .ok_or_else(|| format!("`{name}` is no type; there are {}", scalar::all_names()))?;
    let count: u64 = count.parse().map_err(|_| format!("`{count}` is no number of elements"))?;
    if count.checked_mul(declared.size().into()).is_none() {
        return Err(format!("{count} elements are too many"));
    }
    Ok(Spec::Generated(generator(parts.get(2).copied())?, declared, count))
}

fn seed(text: Option<&str>) -> Result<Generator, String> {
    let text = text.unwrap_or("0");
    text.parse().map(Generator::Random).map_err(|_| format!("`{text}` is no seed"))
}

fn hex(text: &str) -> Result<Vec<u8>, String> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !matches!(byte, b' ' | b'_')).collect();
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let (pairs, rest) = digits.as_chunks::<2>();
    if !rest.is_empty() {
        return Err("hex: needs two digits for each byte".to_owned());
    }
    let byte = |pair: &[u8; 2]| Some(digit(pair[0])? << 4 | digit(pair[1])?);
    pairs.iter().map(byte).collect::<Option<_>>().ok_or_else(|| format!("`{text}` has other than hex digits"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(text: &str) -> Spec {
        ArgumentSpec::parse(&format!("0={text}")).unwrap().spec
    }

    #[test]
    fn every_form_is_understood() {
        assert_eq!(spec("a/b.npy"), Spec::Npy("a/b.npy".into()));
        assert_eq!(spec("a:b.BIN"), Spec::Binary("a:b.BIN".into()));
        assert_eq!(spec("zeros:f16:3"), Spec::Generated(Generator::Zeros, ScalarType::F16, 3));
        assert_eq!(spec("rand:u8:3"), Spec::Generated(Generator::Random(0), ScalarType::U8, 3));
        assert_eq!(spec("rand:u8:3:9"), Spec::Generated(Generator::Random(9), ScalarType::U8, 3));
        assert_eq!(spec("f32:2.0"), Spec::Values(ScalarType::F32, vec![0x4000_0000]));
        assert_eq!(spec("u64:3, 0x10,5"), Spec::Values(ScalarType::U64, vec![3, 16, 5]));
        assert_eq!(spec("hex:00fF_10"), Spec::Hex(vec![0, 255, 16]));
        assert_eq!(spec("a:b.PNG"), Spec::Picture("a:b.PNG".into(), None));
        let picture = Spec::Picture("a.png".into(), Some(PixelFormat::R8Unorm));
        assert_eq!(spec("a.png:R8Unorm"), picture);
        assert_eq!(spec("texture:rgba16float:3x4"), Spec::Texture(PixelFormat::Rgba16Float, 3, 4));
        let sampler = SamplerDescriptor::default().with_filter(anymetal::texture::Filter::Linear);
        assert_eq!(spec("sampler:linear"), Spec::Sampler(sampler));
        let twice = Some("twice".to_owned());
        assert_eq!(spec("functions:twice,null"), Spec::Functions(vec![twice, None]));
        assert_eq!(spec("none"), Spec::Unbound);
        assert_eq!(ArgumentSpec::parse("out=none").unwrap().which, Which::Name("out".into()));
    }

    #[test]
    fn malformed_specifications_are_errors() {
        for text in [
            "",
            "0",
            "0=",
            "=none",
            "0=f99:1",
            "0=zeros:f32",
            "0=zeros:f32:x",
            "0=zeros:f32:-1",
            "0=iota:f32:3:4",
            "0=rand:f32:3:x",
            "0=rand:f32:3:4:5",
            "0=hex:abc",
            "0=hex:zz",
            "0=u8:300",
            "0=a.png:rgba9",
            "0=texture:r8unorm:3",
            "0=sampler:round",
            "0=data.txt",
            "0=zeros:u64:18446744073709551615",
            "a b=none",
        ] {
            assert!(ArgumentSpec::parse(text).is_err(), "{text}");
        }
    }
}
