//! Pictures as PNG files.

use crate::workload::Picture;
use std::fs::File;
use std::io::{BufWriter, Error, Result};
use std::path::Path;

/// Writes the picture into the folder, as `NAME.png`.
pub(super) fn write(folder: &Path, picture: &Picture) -> Result<()> {
    let file = BufWriter::new(File::create(folder.join(format!("{}.png", picture.name)))?);
    let mut encoder = png::Encoder::new(file, picture.width, picture.height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().map_err(Error::other)?;
    writer.write_image_data(&picture.rgb).map_err(Error::other)?;
    writer.finish().map_err(Error::other)
}
