//! What a trace says of its launch, line by line: `-grid dim = (2,1,1)`.

use crate::units::{MAX_CTA_THREADS, MAX_GRID};

/// What a trace says of its launch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// Name of the kernel.
    pub name: String,
    /// CTAs in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a CTA in x, y, z.
    pub block: [u32; 3],
    /// Shared memory of a CTA `[bytes]`.
    pub shared: u32,
    /// Registers of a thread.
    pub registers: u32,
    /// Compute capability of the code, times ten.
    pub binary_version: u32,
    /// Version of the tracer.
    pub tracer_version: u32,
    /// Where generic addresses of shared memory begin; 0 where that is not said.
    pub shared_base: u64,
    /// Where generic addresses of local memory begin; 0 where that is not said.
    pub local_base: u64,
    /// Whether instructions begin with their line in the source text.
    pub has_lines: bool,
}

/// Registers of a thread, at most. Source: CUDA C++ Programming Guide, compute capabilities; the 255 that it has are 256 in whole units.
const MOST_REGISTERS: u64 = 256;

/// The most that a lane accesses at once `[bytes]`.
const WIDEST: u64 = 16;

impl Head {
    /// Takes over what a line says.
    pub fn take(&mut self, key: &str, value: &str) -> Result<(), String> {
        let most = u64::from(u32::MAX);
        match key {
            "kernel name" => value.clone_into(&mut self.name),
            "grid dim" => self.grid = grid(value)?,
            "block dim" => self.block = block(value)?,
            "shmem" => self.shared = number(value, most)?,
            "nregs" => self.registers = number(value, MOST_REGISTERS)?,
            "binary version" => self.binary_version = number(value, most)?,
            "accelsim tracer version" => self.tracer_version = number(value, most)?,
            "shmem base_addr" => self.shared_base = base(value)?,
            "local mem base_addr" => self.local_base = base(value)?,
            "enable lineinfo" => self.has_lines = number::<u32>(value, most)? != 0,
            // What does not matter here: streams, versions of NVBit.
            _ => {}
        }
        Ok(())
    }

    /// What it does not say and has to.
    pub fn missing(&self) -> Option<&'static str> {
        match () {
            () if self.grid == [0; 3] => Some("grid dim"),
            () if self.block == [0; 3] => Some("block dim"),
            () => None,
        }
    }

    /// CTAs of the grid.
    pub fn ctas(&self) -> u64 {
        // Below 2^63 with the limits above.
        self.grid.iter().map(|size| u64::from(*size)).product()
    }

    /// The number in the grid of the CTA at `9,0,0`.
    pub fn cta(&self, place: &str) -> Result<u64, String> {
        let at =
            triple(place).ok_or_else(|| format!("{:?} is no place in a grid", shown(place)))?;
        let [width, height, depth] = self.grid.map(u64::from);
        match at[0] < width && at[1] < height && at[2] < depth {
            true => Ok((at[2] * height + at[1]) * width + at[0]),
            false => {
                let grid = written(&self.grid.map(u64::from));
                Err(format!("the CTA {} is not in the grid, which is {grid}", written(&at)))
            }
        }
    }

    /// The place in the grid of a CTA of this number: `(9,0,0)`.
    pub fn place(&self, cta: u64) -> String {
        let [width, height, _] = self.grid.map(u64::from);
        written(&[cta % width, cta / width % height, cta / width / height])
    }
}

fn grid(text: &str) -> Result<[u32; 3], String> {
    let sizes = sizes(text)?;
    let most = MAX_GRID.map(u64::from);
    match sizes.iter().zip(most).all(|(size, most)| (1..=most).contains(size)) {
        true => Ok(sizes.map(|size| size as u32)),
        false => {
            let (found, most) = (written(&sizes), written(&most));
            Err(format!("a grid of {found} CTAs, where (1,1,1) to {most} are possible"))
        }
    }
}

fn block(text: &str) -> Result<[u32; 3], String> {
    let sizes = sizes(text)?;
    let threads = sizes.iter().copied().fold(1, u64::saturating_mul);
    match (1..=MAX_CTA_THREADS).contains(&threads) {
        true => Ok(sizes.map(|size| size as u32)),
        false => {
            let found = written(&sizes);
            Err(format!(
                "a CTA of {found} threads, where 1 to {MAX_CTA_THREADS} in all are possible"
            ))
        }
    }
}

/// `(1,2,3)`.
fn sizes(text: &str) -> Result<[u64; 3], String> {
    let inner = text.trim_start_matches('(').trim_end_matches(')');
    triple(inner).ok_or_else(|| format!("{:?} is no size", shown(text)))
}

/// `1,2,3`.
fn triple(text: &str) -> Option<[u64; 3]> {
    let numbers: Option<Vec<u64>> =
        text.split(',').map(|number| number.trim().parse().ok()).collect();
    numbers?.try_into().ok()
}

/// As a trace writes three numbers.
fn written(numbers: &[u64; 3]) -> String {
    let [x, y, z] = numbers;
    format!("({x},{y},{z})")
}

/// A number up to `most`, which `N` holds.
pub fn number<N: TryFrom<u64>>(text: &str, most: u64) -> Result<N, String> {
    let number = text.parse::<u64>().ok().filter(|number| *number <= most);
    number
        .and_then(|number| N::try_from(number).ok())
        .ok_or_else(|| format!("{:?} is no number from 0 to {most}", shown(text)))
}

/// Where generic addresses of a space begin: what is aligned behind it is so in the space.
fn base(text: &str) -> Result<u64, String> {
    let base = u64::from_str_radix(text.trim_start_matches("0x"), 16)
        .map_err(|_| format!("{:?} is no address", shown(text)))?;
    match base.is_multiple_of(WIDEST) {
        true => Ok(base),
        false => Err(format!("a base at 0x{base:x}, where multiples of {WIDEST} are possible")),
    }
}

/// The beginning of a text from a file, for a message.
pub fn shown(text: &str) -> String {
    text.chars().take(60).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(lines: &[(&str, &str)]) -> Result<Head, String> {
        let mut head = Head::default();
        lines.iter().try_for_each(|(key, value)| head.take(key, value))?;
        Ok(head)
    }

    #[test]
    fn launches_have_the_limits_of_cuda() {
        let most = taken(&[
            ("grid dim", "(2147483647,65535,65535)"),
            ("block dim", "(1024,1,1)"),
            ("nregs", "256"),
        ]);
        assert_eq!(most.unwrap().ctas(), 2147483647 * 65535 * 65535);
        let refused = |key: &str, value: &str| taken(&[(key, value)]).unwrap_err();
        for grid in ["(2147483648,1,1)", "(1,65536,1)", "(0,1,1)"] {
            let expected = format!(
                "a grid of {grid} CTAs, where (1,1,1) to (2147483647,65535,65535) are possible"
            );
            assert_eq!(refused("grid dim", grid), expected);
        }
        for block in ["(32,0,1)", "(1025,1,1)", "(4294967296,4294967296,1)"] {
            let expected = format!("a CTA of {block} threads, where 1 to 1024 in all are possible");
            assert_eq!(refused("block dim", block), expected);
        }
        assert_eq!(refused("grid dim", "(-1,1,1)"), "\"(-1,1,1)\" is no size");
        assert_eq!(refused("nregs", "257"), "\"257\" is no number from 0 to 256");
        assert_eq!(
            refused("shmem", "4294967296"),
            "\"4294967296\" is no number from 0 to 4294967295"
        );
    }

    #[test]
    fn a_window_keeps_what_is_aligned() {
        for key in ["shmem base_addr", "local mem base_addr"] {
            let taken = |value: &str| taken(&[(key, value)]);
            let head = taken("0x00007e0000000000").unwrap();
            assert_eq!(head.shared_base.max(head.local_base), 0x7e00_0000_0000);
            let expected = "a base at 0x7e0000000001, where multiples of 16 are possible";
            assert_eq!(taken("0x00007e0000000001").unwrap_err(), expected);
            assert_eq!(taken("7g").unwrap_err(), "\"7g\" is no address");
        }
    }

    #[test]
    fn a_launch_has_a_grid_and_a_block() {
        assert_eq!(taken(&[]).unwrap().missing(), Some("grid dim"));
        let grid = ("grid dim", "(1,1,1)");
        assert_eq!(taken(&[grid]).unwrap().missing(), Some("block dim"));
        assert_eq!(taken(&[grid, ("block dim", "(32,1,1)")]).unwrap().missing(), None);
    }

    #[test]
    fn ctas_have_numbers_in_their_grid() {
        let head = taken(&[("grid dim", "(3,4,5)")]).unwrap();
        assert_eq!(head.cta("0,0,0"), Ok(0));
        assert_eq!(head.cta("2,1,0"), Ok(5));
        assert_eq!(head.cta("2, 3, 4"), Ok(59));
        assert_eq!(head.place(5), "(2,1,0)");
        assert_eq!(head.place(59), "(2,3,4)");
        let outside =
            |place: &str| Err(format!("the CTA ({place}) is not in the grid, which is (3,4,5)"));
        for place in ["3,0,0", "0,4,0", "0,0,5"] {
            assert_eq!(head.cta(place), outside(place));
        }
        assert_eq!(head.cta("1,2"), Err("\"1,2\" is no place in a grid".to_owned()));
    }
}
