//! Colours, and which reason has which: one palette for the terminal and for every picture.

/// A colour, 8 bits a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colour(pub u8, pub u8, pub u8);

impl Colour {
    /// White.
    pub const WHITE: Colour = Colour(255, 255, 255);
    /// Text.
    pub const INK: Colour = Colour(31, 36, 43);
    /// Text of less weight.
    pub const GREY: Colour = Colour(92, 101, 112);
    /// Grid lines and frames.
    pub const LINE: Colour = Colour(222, 226, 231);

    /// As in SVG and CSS: `#rrggbb`.
    pub fn hex(self) -> String {
        format!("#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }

    /// With so much of another one [percent].
    fn mixed(self, other: Colour, part: u32) -> Colour {
        let mix = |this: u8, other: u8| {
            ((u32::from(this) * (100 - part) + u32::from(other) * part) / 100) as u8
        };
        Colour(mix(self.0, other.0), mix(self.1, other.1), mix(self.2, other.2))
    }

    /// Ink or white, whichever is easier to read on this colour.
    pub fn text_on(self) -> Colour {
        // Luma as of Rec. 601; the threshold is where both contrast alike.
        let luma = 299 * u32::from(self.0) + 587 * u32::from(self.1) + 114 * u32::from(self.2);
        if luma > 130_000 { Colour::INK } else { Colour::WHITE }
    }
}

/// Colours for series that have none of their own, in order.
///
/// Okabe and Ito, "Color universal design", 2008: told apart with every kind of colour vision.
const SERIES: [Colour; 7] = [
    Colour(0, 114, 178),
    Colour(230, 159, 0),
    Colour(0, 158, 115),
    Colour(213, 94, 0),
    Colour(86, 180, 233),
    Colour(204, 121, 167),
    Colour(110, 110, 110),
];

/// The colour of a series that has none of its own. Behind the last one they begin again, first darker, then lighter.
pub fn series(index: usize) -> Colour {
    let colour = SERIES[index % SERIES.len()];
    match index / SERIES.len() % 3 {
        0 => colour,
        1 => colour.mixed(Colour(0, 0, 0), 45),
        _ => colour.mixed(Colour::WHITE, 55),
    }
}

/// How a ledger's reason is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Its colour: green for work, reds and browns for a stalled load/store unit, purples for
    /// arithmetic, olive for instructions, blues for the memory system, greys for nothing to do.
    pub colour: Colour,
    /// Its meaning in a few words.
    pub phrase: &'static str,
}

/// How the reason called `name` is shown; the same thing has the same colour in every ledger.
pub fn look(name: &str) -> Look {
    known_look(name).unwrap_or(Look { colour: Colour(160, 160, 160), phrase: "" })
}

/// How the reason called `name` is shown; `None` when no ledger has it.
pub fn known_look(name: &str) -> Option<Look> {
    let (colour, phrase) = match name {
        "issued" => (Colour(73, 172, 131), "an instruction was issued"),
        "serving" => (Colour(73, 172, 131), "last access of an instruction"),
        "nomerger" => (Colour(206, 48, 33), "no free merger field for the line"),
        "lsu_nomerger" => (Colour(206, 48, 33), "LSU stalled: no free merger field"),
        "nomshrline" => (Colour(240, 115, 40), "no free MSHR entry"),
        "lsu_nomshrline" => (Colour(240, 115, 40), "LSU stalled: no free MSHR entry"),
        "nocacheline" => (Colour(250, 174, 108), "every way of the set is reserved"),
        "lsu_nocacheline" => (Colour(250, 174, 108), "LSU stalled: every way reserved"),
        "coalescing" => (Colour(242, 205, 62), "further accesses of one instruction"),
        "lsu_coalescing" => (Colour(242, 205, 62), "LSU serialises another instruction"),
        "missqueue" => (Colour(104, 56, 22), "the queue to the network is full"),
        "lsu_missqueue" => (Colour(104, 56, 22), "LSU stalled: queue to network full"),
        "bankconflict" => (Colour(190, 90, 134), "shared-memory bank conflicts"),
        "lsu_bankconflict" => (Colour(190, 90, 134), "LSU serialises bank conflicts"),
        "lsu_serving" => (Colour(182, 239, 202), "LSU serves others at full rate"),
        "unit_busy" => (Colour(127, 105, 161), "arithmetic unit taken"),
        "fetch" => (Colour(163, 163, 75), "waits for an instruction"),
        "arithmetic" => (Colour(190, 166, 205), "waits for an arithmetic result"),
        "memory_lsu" => (Colour(216, 195, 158), "oldest access is in the LSU"),
        "lsu" => (Colour(216, 195, 158), "from issue to the L1"),
        "memory_l1" => (Colour(193, 211, 250), "oldest access is in the L1"),
        "l1" => (Colour(193, 211, 250), "tags, data, release"),
        "memory_merged" => (Colour(120, 176, 232), "oldest access waits, merged, for its line"),
        "l1_merged" => (Colour(120, 176, 232), "merged into another's L1 miss"),
        "memory_noc" => (Colour(100, 154, 164), "oldest access is in the network"),
        "request_network" => (Colour(100, 154, 164), "to the L2"),
        "reply_network" => (Colour(34, 102, 115), "back to the L1"),
        "l2_queue" => (Colour(135, 142, 229), "waits for the L2's tags"),
        "memory_l2" => (Colour(55, 116, 188), "oldest access is in the L2"),
        "l2" => (Colour(55, 116, 188), "way, tags, data, wait for the network"),
        "l2_merged" => (Colour(114, 81, 201), "waits for what another fetched"),
        "dram_queue" => (Colour(52, 68, 143), "waits for a DRAM command"),
        "memory_dram" => (Colour(25, 43, 90), "oldest access is in the DRAM"),
        "dram_service" => (Colour(25, 43, 90), "way, row and column access, data"),
        "memory_shared" => (Colour(218, 166, 172), "oldest access is in shared memory"),
        "fence" => (Colour(96, 32, 224), "a fence, or stores before it"),
        "barrier" => (Colour(84, 84, 88), "every warp waits at a barrier"),
        "lsu_taken" => (Colour(206, 48, 33), "ready, the LSU is taken"),
        "turn" => (Colour(127, 105, 161), "ready, others come first"),
        "memory" => (Colour(55, 116, 188), "waits for data of a load"),
        "control" => (Colour(242, 205, 62), "behind a branch"),
        "start" => (Colour(142, 106, 100), "the warp has just come"),
        "read" => (Colour(73, 172, 131), "a burst was read"),
        "write" => (Colour(182, 239, 202), "a burst was written"),
        "row" => (Colour(206, 48, 33), "a row is closed and opened"),
        "activates" => (Colour(240, 115, 40), "a row waits for others to open"),
        "bank_group" => (Colour(250, 174, 108), "a burst behind one of its bank group"),
        "turnaround" => (Colour(242, 205, 62), "from reads to writes, or back"),
        "refresh" => (Colour(190, 90, 134), "the bank is refreshed"),
        "write_hold" => (Colour(104, 56, 22), "writes wait for a batch"),
        "no_request" => (Colour(208, 209, 212), "no request waits"),
        "launch" => (Colour(142, 106, 100), "the launch has not begun"),
        "no_warp" => (Colour(208, 209, 212), "no warp has work left"),
        "idle" => (Colour(208, 209, 212), "no access was offered"),
        _ => return None,
    };
    Some(Look { colour, phrase })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::{DramReason, IssueReason, LatencyStage, LsuReason, Reason, WaitReason};

    const LEDGERS: [&[(&str, &str)]; 5] = [
        IssueReason::GLOSSARY,
        LsuReason::GLOSSARY,
        LatencyStage::GLOSSARY,
        DramReason::GLOSSARY,
        WaitReason::GLOSSARY,
    ];

    #[test]
    fn every_reason_has_a_look_of_its_own_within_its_ledger() {
        for glossary in LEDGERS {
            let mut seen = Vec::new();
            for (name, _) in glossary {
                let look = look(name);
                assert!(known_look(name).is_some(), "{name} has no look");
                assert!(!seen.contains(&look.colour), "{name} has another's colour");
                seen.push(look.colour);
            }
        }
    }

    /// CIE L*a*b* of a colour as seen with the given kind of vision.
    fn seen(colour: Colour, vision: [[f64; 3]; 3]) -> [f64; 3] {
        let linear = [colour.0, colour.1, colour.2].map(|channel| {
            let value = f64::from(channel) / 255.0;
            if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        });
        let product = |rows: [[f64; 3]; 3], v: [f64; 3]| {
            rows.map(|row| row.iter().zip(v).map(|(a, b)| a * b).sum::<f64>())
        };
        let rgb = product(vision, linear).map(|value| value.clamp(0.0, 1.0));
        const XYZ: [[f64; 3]; 3] =
            [[0.4339, 0.3762, 0.1899], [0.2126, 0.7152, 0.0722], [0.0177, 0.1095, 0.8730]];
        let [x, y, z] = product(XYZ, rgb).map(|value| {
            if value > 0.008_856 { value.cbrt() } else { 7.787 * value + 16.0 / 116.0 }
        });
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    const NORMAL: [[f64; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

    /// How far two colours are from each other as seen with the given kind of vision.
    fn difference(first: Colour, second: Colour, vision: [[f64; 3]; 3]) -> f64 {
        let (a, b) = (seen(first, vision), seen(second, vision));
        a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
    }

    #[test]
    fn the_reasons_of_a_ledger_stay_apart_with_every_kind_of_colour_vision() {
        // Machado, Oliveira and Fernandes, "A Physiologically-based Model for Simulation of Color
        // Vision Deficiency", 2009, severity 1. A difference of 2.3 is just noticeable.
        let visions = [
            ("normal", NORMAL),
            (
                "protanopia",
                [
                    [0.152286, 1.052583, -0.204868],
                    [0.114503, 0.786281, 0.099216],
                    [-0.003882, -0.048116, 1.051998],
                ],
            ),
            (
                "deuteranopia",
                [
                    [0.367322, 0.860646, -0.227968],
                    [0.280085, 0.672501, 0.047413],
                    [-0.011820, 0.042940, 0.968881],
                ],
            ),
            (
                "tritanopia",
                [
                    [1.255528, -0.076749, -0.178779],
                    [-0.078411, 0.930809, 0.147602],
                    [0.004733, 0.691367, 0.303900],
                ],
            ),
        ];
        for glossary in LEDGERS {
            for (place, (first, _)) in glossary.iter().enumerate() {
                for (second, _) in &glossary[place + 1..] {
                    let names = format!("{first} and {second}");
                    for (kind, vision) in visions {
                        let (first, second) = (look(first).colour, look(second).colour);
                        let difference = difference(first, second, vision);
                        assert!(difference > 10.0, "{names}, {kind}: {difference:.1}");
                    }
                }
            }
        }
    }

    #[test]
    fn twenty_one_series_have_colours_of_their_own() {
        for first in 0..21 {
            for second in 0..first {
                let difference = difference(series(first), series(second), NORMAL);
                assert!(difference > 10.0, "{first} and {second}");
            }
        }
        assert_eq!(series(21), series(0));
    }

    #[test]
    fn text_contrasts_with_what_it_stands_on() {
        assert_eq!(look("dram_service").colour.text_on(), Colour::WHITE);
        assert_eq!(look("nomerger").colour.text_on(), Colour::WHITE);
        assert_eq!(look("idle").colour.text_on(), Colour::INK);
        assert_eq!(look("coalescing").colour.text_on(), Colour::INK);
    }
}
