//! Pictures as PNG files.

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::Path;

use crate::compare::Outcome;

/// Writes square pixels of red, green and blue.
pub(crate) fn write(folder: &Path, name: &str, size: usize, pixels: &[[u8; 3]]) -> Outcome<()> {
    fs::create_dir_all(folder)?;
    let path = folder.join(name);
    let mut encoder = png::Encoder::new(BufWriter::new(File::create(&path)?), size as u32, size as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.write_header()?.write_image_data(pixels.as_flattened())?;
    println!("wrote {}", path.display());
    Ok(())
}
