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

    /// Ink or white, whichever is easier to read on this colour.
    pub fn text_on(self) -> Colour {
        // Luma as of Rec. 601; the threshold favours white, which looks bolder than it measures.
        let luma = 299 * u32::from(self.0) + 587 * u32::from(self.1) + 114 * u32::from(self.2);
        if luma > 145_000 { Colour::INK } else { Colour::WHITE }
    }
}

/// Colours for series that have none of their own, in order, then again from the start.
///
/// Okabe and Ito, "Color universal design", 2008: told apart with every kind of colour vision.
pub const SERIES: [Colour; 7] = [
    Colour(0, 114, 178),
    Colour(230, 159, 0),
    Colour(0, 158, 115),
    Colour(213, 94, 0),
    Colour(86, 180, 233),
    Colour(204, 121, 167),
    Colour(110, 110, 110),
];

/// How a ledger's reason is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Its colour: green for work, reds and browns for a stalled load/store unit, purples for
    /// arithmetic, blues for the memory system, greys for nothing to do.
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
        "issued" => (Colour(44, 151, 103), "an instruction was issued"),
        "serving" => (Colour(44, 151, 103), "last access of an instruction"),
        "nomerger" => (Colour(203, 45, 37), "no free merger field for the line"),
        "lsu_nomerger" => (Colour(203, 45, 37), "LSU stalled: no free merger field"),
        "nomshrline" => (Colour(240, 115, 40), "no free MSHR entry"),
        "lsu_nomshrline" => (Colour(240, 115, 40), "LSU stalled: no free MSHR entry"),
        "nocacheline" => (Colour(252, 174, 108), "every way of the set is reserved"),
        "lsu_nocacheline" => (Colour(252, 174, 108), "LSU stalled: every way reserved"),
        "coalescing" => (Colour(243, 201, 62), "further accesses of one instruction"),
        "lsu_coalescing" => (Colour(243, 201, 62), "LSU serialises another instruction"),
        "missqueue" => (Colour(140, 81, 32), "the queue to the network is full"),
        "lsu_missqueue" => (Colour(140, 81, 32), "LSU stalled: queue to network full"),
        "bankconflict" => (Colour(190, 90, 140), "shared-memory bank conflicts"),
        "lsu_bankconflict" => (Colour(190, 90, 140), "LSU serialises bank conflicts"),
        "lsu_serving" => (Colour(157, 211, 178), "LSU serves others at full rate"),
        "unit_busy" => (Colour(125, 96, 173), "arithmetic unit taken"),
        "arithmetic" => (Colour(186, 168, 217), "waits for an arithmetic result"),
        "memory_lsu" => (Colour(206, 190, 160), "oldest access is in the LSU"),
        "lsu" => (Colour(206, 190, 160), "from issue to the L1"),
        "memory_l1" => (Colour(190, 219, 240), "oldest access is in the L1"),
        "l1" => (Colour(190, 219, 240), "tags, data, release"),
        "memory_merged" => (Colour(128, 182, 222), "oldest access waits, merged, for its line"),
        "l1_merged" => (Colour(128, 182, 222), "merged into another's L1 miss"),
        "memory_noc" => (Colour(79, 168, 170), "oldest access is in the network"),
        "request_network" => (Colour(79, 168, 170), "to the L2"),
        "reply_network" => (Colour(34, 116, 122), "back to the L1"),
        "l2_queue" => (Colour(138, 151, 222), "waits for the L2's tags"),
        "memory_l2" => (Colour(52, 120, 192), "oldest access is in the L2"),
        "l2" => (Colour(52, 120, 192), "tags, data, wait for the network"),
        "l2_merged" => (Colour(98, 108, 196), "merged into another's L2 miss"),
        "dram_queue" => (Colour(52, 70, 140), "waits in the DRAM controller"),
        "memory_dram" => (Colour(25, 42, 92), "oldest access is in the DRAM"),
        "dram_service" => (Colour(25, 42, 92), "row and column access, data"),
        "memory_shared" => (Colour(214, 150, 188), "oldest access is in shared memory"),
        "barrier" => (Colour(84, 84, 88), "every warp waits at a barrier"),
        "no_warp" => (Colour(205, 208, 212), "no warp has work left"),
        "idle" => (Colour(205, 208, 212), "no access was offered"),
        _ => return None,
    };
    Some(Look { colour, phrase })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::{IssueReason, LatencyStage, LsuReason, Reason};

    #[test]
    fn every_reason_has_a_look_of_its_own_within_its_ledger() {
        for glossary in [IssueReason::GLOSSARY, LsuReason::GLOSSARY, LatencyStage::GLOSSARY] {
            let mut seen = Vec::new();
            for (name, _) in glossary {
                let look = look(name);
                assert!(known_look(name).is_some(), "{name} has no look");
                assert!(!seen.contains(&look.colour), "{name} has another's colour");
                seen.push(look.colour);
            }
        }
    }

    #[test]
    fn text_contrasts_with_what_it_stands_on() {
        assert_eq!(look("dram_service").colour.text_on(), Colour::WHITE);
        assert_eq!(look("nomerger").colour.text_on(), Colour::WHITE);
        assert_eq!(look("idle").colour.text_on(), Colour::INK);
        assert_eq!(look("coalescing").colour.text_on(), Colour::INK);
    }
}
