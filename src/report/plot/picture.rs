//! A finished picture and its two file formats.

use std::path::Path;

use resvg::{tiny_skia, usvg};

use crate::error::{Error, Result};
use crate::report::write::write_file;

use super::font;

/// Pixels of the PNG for one pixel of the drawing: sharp on a screen of twice the usual density.
const SCALE: f32 = 2.0;

/// What stands in a PNG for a letter that the font does not have.
const UNKNOWN: &str = "?";

/// A finished picture. The PNG is made of the SVG: what the one shows, the other shows. Only letters that gsim's font does not
/// have are question marks in the PNG, where a reader of the SVG may have a font for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    svg: String,
}

impl Picture {
    pub(super) fn new(svg: String) -> Self {
        Picture { svg }
    }

    /// As SVG; text is text, so it can be searched and selected.
    pub fn svg(&self) -> &str {
        &self.svg
    }

    /// As PNG, at twice the size. The same bytes every time and everywhere: the font is gsim's own.
    pub fn png(&self) -> Result<Vec<u8>> {
        let failed = |why: &dyn std::fmt::Display| {
            Error::internal(format!("a picture cannot be turned into pixels: {why}"))
        };
        let options = usvg::Options { fontdb: font::database(), ..usvg::Options::default() };
        // Shapes and tags are of letters that the font has.
        let lacks = |letter: char| !letter.is_ascii_control() && !font::has(letter);
        let svg = self.svg.replace(lacks, UNKNOWN);
        let tree = usvg::Tree::from_str(&svg, &options).map_err(|why| failed(&why))?;
        let size = tree.size().to_int_size().scale_by(SCALE).ok_or_else(|| failed(&"no size"))?;
        let mut pixels = tiny_skia::Pixmap::new(size.width(), size.height())
            .ok_or_else(|| failed(&"no memory"))?;
        let scale = tiny_skia::Transform::from_scale(SCALE, SCALE);
        resvg::render(&tree, scale, &mut pixels.as_mut());
        encode(&pixels).map_err(|why| failed(&why))
    }

    /// Writes `STEM.svg` and `STEM.png`.
    pub fn write(&self, stem: &Path) -> Result<()> {
        write_file(&with_extension(stem, "svg"), self.svg.as_bytes())?;
        write_file(&with_extension(stem, "png"), &self.png()?)
    }
}

/// Drawings are flat areas: without row filters, and without the alpha channel that an opaque sheet
/// does not need, the file is half as large.
fn encode(pixels: &tiny_skia::Pixmap) -> std::result::Result<Vec<u8>, png::EncodingError> {
    let (pixels_of_four, _) = pixels.data().as_chunks();
    let rgb: Vec<u8> = pixels_of_four.iter().flat_map(|&[r, g, b, _]| [r, g, b]).collect();
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, pixels.width(), pixels.height());
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::Balanced);
    encoder.set_filter(png::Filter::NoFilter);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&rgb)?;
    writer.finish()?;
    Ok(bytes)
}

/// `set_extension` would take the end of a stem such as `l1.mshr` for an extension.
fn with_extension(stem: &Path, extension: &str) -> std::path::PathBuf {
    let mut path = stem.as_os_str().to_owned();
    path.push(".");
    path.push(extension);
    path.into()
}
