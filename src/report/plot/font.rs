//! The embedded font: every picture is laid out with it, whatever the host has installed.

use std::sync::{Arc, LazyLock};

use plotters::style::{FontDesc, FontFamily, FontStyle, register_font};
use resvg::usvg::fontdb::Database;
use ttf_parser::Face;

/// DejaVu Sans, as subset for gsim; its licence stands beside the file.
static REGULAR: &[u8] = include_bytes!("../../../assets/fonts/DejaVuSans-subset.ttf");
/// The same, bold.
static BOLD: &[u8] = include_bytes!("../../../assets/fonts/DejaVuSans-Bold-subset.ttf");

/// What a reader of the SVG needs installed, and what comes close: Verdana has the same proportions.
///
/// Plotters writes a font's name into the SVG, so the embedded font is registered under all of these.
const FAMILIES: &str = "DejaVu Sans, Verdana, Geneva, sans-serif";

/// Units of the font's em square.
const EM: f64 = 2048.0;
/// From the highest ascender to the lowest descender, in units: the size at which plotters measures a
/// text in units.
const HEIGHT: f64 = 2384.0;
/// Plotters' size of a font, which is that of a line, for one of its em square.
const LINE: f64 = 1.24;

static REGISTERED: LazyLock<()> = LazyLock::new(|| {
    for (weight, bytes) in [(Weight::Regular, REGULAR), (Weight::Bold, BOLD)] {
        let registered = register_font(FAMILIES, weight.into(), bytes);
        registered.ok().expect("the embedded font is sound");
    }
});

static DATABASE: LazyLock<Arc<Database>> = LazyLock::new(|| {
    let mut database = Database::new();
    database.load_font_data(REGULAR.to_vec());
    database.load_font_data(BOLD.to_vec());
    Arc::new(database)
});

static FACE: LazyLock<Face> =
    LazyLock::new(|| Face::parse(REGULAR, 0).expect("the embedded font is sound"));

/// The fonts for turning SVG into pixels.
pub fn database() -> Arc<Database> {
    Arc::clone(&DATABASE)
}

/// Whether the font has `letter`; it has the same letters in both weights.
pub fn has(letter: char) -> bool {
    FACE.glyph_index(letter).is_some()
}

/// Weight of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// Normal.
    Regular,
    /// Bold.
    Bold,
}

impl From<Weight> for FontStyle {
    fn from(weight: Weight) -> FontStyle {
        match weight {
            Weight::Regular => FontStyle::Normal,
            Weight::Bold => FontStyle::Bold,
        }
    }
}

fn described(line: f64, weight: Weight) -> FontDesc<'static> {
    LazyLock::force(&REGISTERED);
    FontDesc::new(FontFamily::Name(FAMILIES), line, weight.into())
}

/// The font whose em square is `size` units of a drawing high.
pub fn font(size: f64, weight: Weight) -> FontDesc<'static> {
    let line = LINE * size;
    // Plotters divides again; of the neighbours, the one from which it gets the size that was asked for.
    let exact =
        [line, line.next_down(), line.next_up()].into_iter().find(|near| near / LINE == size);
    described(exact.unwrap_or(line), weight)
}

/// Width of `text` in letters of `size` pixels. The subset has no kerning: the sum is exact.
pub fn width(text: &str, size: f64, weight: Weight) -> f64 {
    let layout = described(HEIGHT, weight).layout_box(text);
    let ((left, _), (right, _)) = layout.expect("the embedded font is registered");
    f64::from(right - left) * size / EM
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
    fn the_font_has_every_letter_that_pictures_use_and_widths_are_exact() {
        for (weight, bytes) in [(Weight::Regular, REGULAR), (Weight::Bold, BOLD)] {
            let face = Face::parse(bytes, 0).unwrap();
            assert_eq!(f64::from(face.units_per_em()), EM);
            for letter in "AZaz09 .,:;%()+-–—×µ→←↑↓≤≥≈·…äéß<>/|#".chars()
            {
                let Some(glyph) = face.glyph_index(letter) else { panic!("no {letter}") };
                assert!(has(letter));
                let advance = f64::from(face.glyph_hor_advance(glyph).unwrap());
                // Twice, so that kerning of a letter with itself would show.
                assert_eq!(width(&format!("{letter}{letter}"), EM, weight), 2.0 * advance);
            }
        }
    }

    #[test]
    fn both_weights_have_the_same_letters() {
        let bold = Face::parse(BOLD, 0).unwrap();
        for letter in '\0'..='\u{ffff}' {
            assert_eq!(has(letter), bold.glyph_index(letter).is_some(), "{letter:?}");
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
