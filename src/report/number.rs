//! Numbers as people read them.

use crate::units::noun;

/// `1234567` as `1,234,567`.
pub fn thousands(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count and its noun: `1 launch`, `2,048 launches`.
pub fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", thousands(count), noun(count, one, many))
}

/// A share of one as a percentage with one decimal. What is there but rounds to zero shows as `<0.1 %`, what is not all but
/// rounds to all as `>99.9 %`.
pub fn percent(share: f64) -> String {
    if share > 0.0 && share < 0.0005 {
        return "<0.1 %".to_owned();
    }
    if (0.9995..1.0).contains(&share) {
        return ">99.9 %".to_owned();
    }
    format!("{:.1} %", 100.0 * share)
}

/// About three significant digits and no exponent: `0.0123`, `1.23`, `12.3`, `123`, `1,234`.
pub fn short(value: f64) -> String {
    let size = value.abs();
    if size >= 999.5 {
        let sign = if value < 0.0 { "-" } else { "" };
        return format!("{sign}{}", thousands(size.round() as u64));
    }
    let decimals = match size {
        0.0 => 0,
        s if s >= 99.95 => 0,
        s if s >= 9.995 => 1,
        s if s >= 0.1 => 2,
        s if s >= 0.001 => 4,
        s => (2 - s.log10().floor() as i32).clamp(4, 12) as usize,
    };
    format!("{value:.decimals$}")
}

/// True for what is so small that it needs a prefix.
pub fn is_small(value: f64) -> bool {
    value != 0.0 && value.abs() < 0.0995
}

/// A quantity with a decimal prefix and its unit: `84.3 GB/s`, `1.27 ms`.
pub fn si(value: f64, unit: &str) -> String {
    const PREFIXES: [(f64, &str); 8] = [
        (1e12, "T"),
        (1e9, "G"),
        (1e6, "M"),
        (1e3, "k"),
        (1.0, ""),
        (1e-3, "m"),
        (1e-6, "µ"),
        (1e-9, "n"),
    ];
    let fits = PREFIXES.iter().find(|(scale, _)| value.abs() >= 0.9995 * scale);
    let &(scale, prefix) = fits.unwrap_or(&(1.0, ""));
    format!("{} {prefix}{unit}", short(value / scale))
}

/// A quantity with a binary prefix and its unit, as exact as it is: `768 KiB`, `1.5 Mi`.
pub fn binary(value: f64, unit: &str) -> String {
    const PREFIXES: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    let place =
        (1..PREFIXES.len()).take_while(|place| value >= 1024f64.powi(*place as i32)).count();
    format!("{} {}{unit}", value / 1024f64.powi(place as i32), PREFIXES[place])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated_from_the_right() {
        let shown: Vec<_> = [0, 999, 1000, 524_288, 1_234_567_890].map(thousands).into();
        assert_eq!(shown, ["0", "999", "1,000", "524,288", "1,234,567,890"]);
    }

    #[test]
    fn a_share_that_rounds_to_zero_does_not_look_like_none() {
        assert_eq!(
            [0.0, 0.0001, 0.0005, 0.25, 0.9994, 0.9996, 1.0].map(percent),
            ["0.0 %", "<0.1 %", "0.1 %", "25.0 %", "99.9 %", ">99.9 %", "100.0 %"]
        );
    }

    #[test]
    fn short_numbers_keep_about_three_digits() {
        assert_eq!(
            [0.0, 0.0123, 0.5, 9.99, 12.34, 123.4, 1234.0].map(short),
            ["0", "0.0123", "0.50", "9.99", "12.3", "123", "1,234"]
        );
    }

    #[test]
    fn prefixes_follow_the_size() {
        assert_eq!(si(84.3e9, "B/s"), "84.3 GB/s");
        assert_eq!(si(0.000_231, "s"), "231 µs");
        assert_eq!(si(999.9e6, "B"), "1.00 GB");
        assert_eq!(si(0.0, "s"), "0 s");
        assert_eq!(binary(1023.0, "B"), "1023 B");
        assert_eq!(binary(1024.0, ""), "1 Ki");
        assert_eq!(binary(1_572_864.0, "B"), "1.5 MiB");
    }
}
