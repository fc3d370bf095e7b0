//! The embedded font: every picture is laid out with it, whatever the host has installed.

use std::sync::{Arc, LazyLock};

use resvg::usvg::fontdb::Database;
use ttf_parser::Face;

/// DejaVu Sans, as subset for gsim; its licence stands beside the file.
static REGULAR: &[u8] = include_bytes!("../../../assets/fonts/DejaVuSans-subset.ttf");
/// The same, bold.
static BOLD: &[u8] = include_bytes!("../../../assets/fonts/DejaVuSans-Bold-subset.ttf");

/// What a reader of the SVG needs installed, and what comes close: Verdana has the same proportions.
pub const FAMILIES: &str = "DejaVu Sans, Verdana, Geneva, sans-serif";

static FACES: LazyLock<[Face<'static>; 2]> = LazyLock::new(|| {
    [REGULAR, BOLD].map(|bytes| Face::parse(bytes, 0).expect("the embedded font is sound"))
});

static DATABASE: LazyLock<Arc<Database>> = LazyLock::new(|| {
    let mut database = Database::new();
    database.load_font_data(REGULAR.to_vec());
    database.load_font_data(BOLD.to_vec());
    Arc::new(database)
});

/// The fonts for turning SVG into pixels.
pub fn database() -> Arc<Database> {
    Arc::clone(&DATABASE)
}

/// Weight of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// Normal.
    Regular,
    /// Bold.
    Bold,
}

/// Width of `text` in letters of `size` pixels. The subset has no kerning: the sum is exact.
pub fn width(text: &str, size: f64, weight: Weight) -> f64 {
    let face = &FACES[weight as usize];
    let units: u64 = text
        .chars()
        .map(|letter| {
            let glyph = face.glyph_index(letter).unwrap_or_default();
            u64::from(face.glyph_hor_advance(glyph).unwrap_or_default())
        })
        .sum();
    units as f64 * size / f64::from(face.units_per_em())
}

/// `text`, or its beginning and an ellipsis, no wider than `limit`.
pub fn fit(text: &str, size: f64, weight: Weight, limit: f64) -> String {
    if width(text, size, weight) <= limit {
        return text.to_owned();
    }
    let mut kept = text.to_owned();
    while kept.pop().is_some() {
        let short = format!("{}…", kept.trim_end());
        if width(&short, size, weight) <= limit {
            return short;
        }
    }
    String::new()
}

/// `text`, or an ellipsis and its end, no wider than `limit`.
pub fn fit_end(text: &str, size: f64, weight: Weight, limit: f64) -> String {
    if width(text, size, weight) <= limit {
        return text.to_owned();
    }
    let shorter = text.char_indices().skip(1).map(|(start, _)| format!("…{}", &text[start..]));
    shorter.into_iter().find(|short| width(short, size, weight) <= limit).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_font_has_every_letter_that_pictures_use() {
        for letter in "AZaz09 .,:;%()+-–—×µ→←↑↓≤≥≈·…äéß<>/|#".chars() {
            for face in FACES.iter() {
                assert!(face.glyph_index(letter).is_some(), "no {letter}");
            }
        }
    }

    #[test]
    fn a_text_is_shortened_to_fit() {
        assert_eq!(fit("short", 16.0, Weight::Regular, 100.0), "short");
        let shortened = fit("rather a long label", 16.0, Weight::Regular, 100.0);
        assert!(shortened.ends_with('…') && shortened.starts_with("rather"), "{shortened}");
        assert!(width(&shortened, 16.0, Weight::Regular) <= 100.0);
        let end = fit_end("l1.mshr_mergers = 16", 16.0, Weight::Regular, 100.0);
        assert!(end.starts_with('…') && end.ends_with("= 16"), "{end}");
    }
}
