//! One executed instruction: `PC mask destinations opcode sources width [addresses]`.

use crate::isa::{LaneMask, WARP, lanes};

/// What a line says.
#[derive(Clone, Copy, Debug)]
pub struct Line<'t> {
    /// Line of the source text; 0 where the trace has none.
    pub source: u32,
    /// Offset of the instruction in its function `[bytes]`.
    pub pc: u64,
    /// Lanes that execute it and whose predicate is true.
    pub mask: LaneMask,
    /// Destinations, opcode and sources: what is the same whenever it is executed.
    pub code: &'t str,
    /// Bytes of a lane's access, as the tracer has it: 0 where memory is not accessed, and not to be relied on else.
    pub width: u32,
    /// What is behind the width: the addresses, and in later versions the last immediate operand.
    rest: &'t str,
}

/// The part of a line that does not change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Static<'t> {
    /// Registers written.
    pub dsts: Vec<u8>,
    /// The opcode with its modifiers.
    pub opcode: &'t str,
    /// Registers read, in the order of the operands.
    pub srcs: Vec<u8>,
}

/// The register that is always zero. Source: CUDA Binary Utilities, "Instruction Set Reference".
pub const ZERO: u8 = 255;

/// Words of a text, and what is behind them.
#[derive(Clone, Copy)]
struct Words<'t>(&'t str);

impl<'t> Words<'t> {
    fn next(&mut self) -> Option<&'t str> {
        let text = self.0.trim_ascii_start();
        if text.is_empty() {
            return None;
        }
        let end = text.find(' ').unwrap_or(text.len());
        let (word, rest) = text.split_at(end);
        self.0 = rest;
        Some(word)
    }

    fn word(&mut self, what: &str) -> Result<&'t str, String> {
        self.next().ok_or_else(|| format!("{what} is missing"))
    }

    fn number<N: std::str::FromStr>(&mut self, what: &str) -> Result<N, String> {
        let word = self.word(what)?;
        word.parse().map_err(|_| format!("{what}: {word:?} is no number"))
    }

    fn hexadecimal(&mut self, what: &str) -> Result<u64, String> {
        let word = self.word(what)?;
        let digits = word.strip_prefix("0x").unwrap_or(word);
        u64::from_str_radix(digits, 16)
            .map_err(|_| format!("{what}: {word:?} is no hexadecimal number"))
    }

    /// A count and as many registers.
    fn registers(&mut self, what: &str) -> Result<Vec<u8>, String> {
        let count: usize = self.number(what)?;
        let mut registers = Vec::new();
        for _ in 0..count {
            let word = self.word(what)?;
            let number = word.strip_prefix('R').and_then(|number| number.parse().ok());
            match number {
                Some(number) => registers.push(number),
                None => return Err(format!("{what}: {word:?} is no register")),
            }
        }
        Ok(registers)
    }
}

impl<'t> Line<'t> {
    /// Takes a line apart.
    pub fn parse(text: &'t str, has_lines: bool) -> Result<Self, String> {
        let mut words = Words(text);
        let source = if has_lines { words.number("the source line")? } else { 0 };
        let pc = words.hexadecimal("the PC")?;
        let mask = words.hexadecimal("the mask")?;
        let mask =
            LaneMask::try_from(mask).map_err(|_| "a mask of more than 32 lanes".to_owned())?;
        let code = words.0;
        for _ in 0..words.number::<usize>("the destinations")? {
            words.word("a destination")?;
        }
        words.word("the opcode")?;
        for _ in 0..words.number::<usize>("the sources")? {
            words.word("a source")?;
        }
        let code = code[..code.len() - words.0.len()].trim_ascii();
        let width = words.number("the width")?;
        Ok(Line { source, pc, mask, code, width, rest: words.0 })
    }

    /// The last immediate operand of an instruction that does not access memory, where the trace has it.
    pub fn immediate(&self) -> Option<i64> {
        Words(self.rest).next()?.parse().ok()
    }

    /// The addresses of the lanes of the mask: all of them, a base and a stride, or a base and the differences from lane to lane.
    pub fn addresses(&self) -> Result<[u64; WARP], String> {
        let mut words = Words(self.rest);
        let mut addresses = [0; WARP];
        if self.mask == 0 {
            return Ok(addresses);
        }
        let mode: u32 = words.number("the form of the addresses")?;
        match mode {
            0 => {
                for lane in lanes(self.mask) {
                    addresses[lane] = words.hexadecimal("an address")?;
                }
            }
            1 => {
                let mut address = words.hexadecimal("the base")?;
                let stride: i64 = words.number("the stride")?;
                for lane in lanes(self.mask) {
                    addresses[lane] = address;
                    address = address.wrapping_add_signed(stride);
                }
            }
            2 => {
                let mut address = words.hexadecimal("the base")?;
                let first = self.mask.trailing_zeros() as usize;
                for lane in lanes(self.mask) {
                    if lane > first {
                        address = address.wrapping_add_signed(words.number("a difference")?);
                    }
                    addresses[lane] = address;
                }
            }
            _ => return Err(format!("addresses of form {mode}")),
        }
        Ok(addresses)
    }
}

impl<'t> Static<'t> {
    /// Takes [`Line::code`] apart.
    pub fn parse(code: &'t str) -> Result<Self, String> {
        let mut words = Words(code);
        let dsts = words.registers("the destinations")?;
        let opcode = words.word("the opcode")?;
        let srcs = words.registers("the sources")?;
        Ok(Static { dsts, opcode, srcs })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_taken_apart() {
        let text =
            "1020 0000000f 1 R24 LDG.E.128.CONSTANT.SYS 1 R44 16 2 0x7efe7b60c300 16 16 2000 7";
        let line = Line::parse(text, false).unwrap();
        assert_eq!((line.source, line.pc, line.mask, line.width), (0, 0x1020, 0xf, 16));
        let parts = Static::parse(line.code).unwrap();
        let opcode = "LDG.E.128.CONSTANT.SYS";
        assert_eq!(parts, Static { dsts: vec![24], opcode, srcs: vec![44] });
        let base = 0x7efe_7b60_c300;
        let addresses = line.addresses().unwrap();
        assert_eq!(addresses[..5], [base, base + 16, base + 32, base + 2032, 0]);
    }

    #[test]
    fn addresses_have_three_forms() {
        let of = |text: &str| Line::parse(text, true).and_then(|line| line.addresses());
        assert_eq!(of("7 10 c 0 STG.E 2 R2 R0 4 0 0x100 0x140").unwrap()[1..4], [0, 0x100, 0x140]);
        assert_eq!(of("7 10 7 0 STG.E 2 R2 R0 4 1 0x100 -4 0").unwrap()[..3], [0x100, 0xfc, 0xf8]);
        assert_eq!(
            of("7 10 b 0 STG.E 2 R2 R0 4 2 0x200 8 72").unwrap()[..4],
            [0x200, 0x208, 0, 0x250]
        );
        assert_eq!(of("7 10 0 0 STG.E 2 R2 R0 4 1 0x0 0").unwrap(), [0; WARP]);
        let missing = of("7 10 c 0 STG.E 2 R2 R0 4 0 0x100").unwrap_err();
        assert_eq!(missing, "an address is missing");
    }

    #[test]
    fn what_is_no_line_is_refused() {
        let refused = |text: &str| Line::parse(text, false).map(drop).unwrap_err();
        assert_eq!(refused("zz 1"), "the PC: \"zz\" is no hexadecimal number");
        assert_eq!(refused("0010 fffffffff 0 EXIT 0 0"), "a mask of more than 32 lanes");
        assert_eq!(refused("0010 ffffffff 3 R1"), "a destination is missing");
        assert_eq!(refused("0010 ffffffff 0 EXIT 0"), "the width is missing");
        let register = Static::parse("1 UR4 MOV 0").unwrap_err();
        assert_eq!(register, "the destinations: \"UR4\" is no register");
    }
}
