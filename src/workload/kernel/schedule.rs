//! Launches in order: loops unrolled, each launch that differs from all others kept once.

use std::collections::HashMap;
use std::sync::Arc;

use super::element::of_amount;
use crate::config::KernelSpec;
use crate::config::kernel::{
    ArgSpec, LaunchSpec, LaunchStep, MAX_LAUNCHES, Scope, TENSOR_PIECE, TensorMapSpec, hexadecimal,
};
use crate::workload::{Arg, Buffer, Launch, Launches, PtxSource, TensorMap};

/// The launches of a workload.
pub struct Schedule {
    /// The launches.
    pub launches: Launches,
    /// For each launch that differs from all others, the path of its step: `launches.0.body.1`.
    pub places: Vec<String>,
    /// By buffer of the specification, the buffer that its name means after the last launch.
    pub names: Vec<usize>,
}

/// Unrolls the loops.
///
/// # Errors
/// What only some round of a loop shows, such as an argument out of range: the path of a field, a colon, and
/// words.
pub fn expand(
    spec: &KernelSpec,
    scope: Scope,
    ptx: &Arc<PtxSource>,
    buffers: &[Buffer],
) -> Result<Schedule, String> {
    let mut expander = Expander {
        spec,
        scope,
        ptx,
        buffers,
        names: (0..buffers.len()).collect(),
        launches: Launches::default(),
        places: Vec::new(),
        known: HashMap::new(),
        rounds: 0,
    };
    expander.steps(&spec.launches, "launches")?;
    let Expander { launches, places, names, .. } = expander;
    if spec.launches.is_empty() {
        return Err("launches: the list is empty".to_owned());
    }
    if launches.is_empty() {
        return Err("launches: no launch is left: loops without rounds, or empty bodies".to_owned());
    }
    if launches.timed() == 0 {
        return Err("launches: all of them stand in `Untimed`".to_owned());
    }
    Ok(Schedule { launches, places, names })
}

/// What makes a launch differ from others: its step, its shape, its arguments.
type Key = (*const LaunchSpec, [u32; 7], Vec<Vec<u8>>);

struct Expander<'a> {
    spec: &'a KernelSpec,
    scope: Scope,
    ptx: &'a Arc<PtxSource>,
    buffers: &'a [Buffer],
    names: Vec<usize>,
    launches: Launches,
    places: Vec<String>,
    known: HashMap<Key, u32>,
    /// Rounds of all loops so far.
    rounds: u64,
}

impl Expander<'_> {
    fn steps(&mut self, steps: &[LaunchStep], path: &str) -> Result<(), String> {
        for (index, step) in steps.iter().enumerate() {
            let here = format!("{path}.{index}");
            match step {
                LaunchStep::Launch(launch) => {
                    self.launch(launch, &here).map_err(|why| format!("{here}.{why}"))?
                }
                LaunchStep::Loop(rounds) => {
                    // Of an inner loop, this may depend on the round of an outer one.
                    let times = rounds.times.within(&self.scope, 0, MAX_LAUNCHES.into());
                    let times = times.map_err(|why| format!("{here}.times: {why}"))?;
                    let pairs =
                        self.pairs(&rounds.swap).map_err(|why| format!("{here}.swap.{why}"))?;
                    let body = format!("{here}.body");
                    for round in 0..times {
                        self.rounds += 1;
                        if self.rounds > MAX_LAUNCHES {
                            let most = MAX_LAUNCHES;
                            return Err(format!("launches: more than {most} rounds of loops"));
                        }
                        if let Some(name) = &rounds.index {
                            self.scope.push((name.clone(), round));
                        }
                        self.steps(&rounds.body, &body)?;
                        if rounds.index.is_some() {
                            self.scope.pop();
                        }
                        for (first, second) in &pairs {
                            self.names.swap(*first, *second);
                        }
                    }
                }
                LaunchStep::Concurrent(several) => {
                    let first = self.launches.len();
                    self.steps(&several.body, &format!("{here}.body"))?;
                    self.launches.overlap_from(first);
                }
                LaunchStep::Untimed(several) => {
                    let first = self.launches.len();
                    self.steps(&several.body, &format!("{here}.body"))?;
                    self.launches.leave_untimed_from(first);
                }
            }
        }
        Ok(())
    }

    /// Buffers that a loop swaps, by their places in the specification.
    fn pairs(&self, swap: &[(String, String)]) -> Result<Vec<(usize, usize)>, String> {
        let pair = |(index, (first, second)): (usize, &(String, String))| {
            let [a, b] = [first, second].map(|name| self.named(name));
            let [x, y] = [a, b].map(|place| self.buffers[place].bytes);
            match x == y {
                true => Ok((a, b)),
                false => Err(format!("{index}: `{first}` has {x} bytes, and `{second}` has {y}")),
            }
        };
        swap.iter().enumerate().map(pair).collect()
    }

    fn named(&self, name: &str) -> usize {
        self.spec.buffers.position(name).expect("checked")
    }

    /// The buffer that a name means now.
    fn buffer(&self, name: &str) -> Buffer {
        self.buffers[self.names[self.named(name)]]
    }

    fn launch(&mut self, launch: &LaunchSpec, path: &str) -> Result<(), String> {
        let scope = &self.scope;
        let (grid, block, shared) =
            (launch.grid(scope)?, launch.block(scope)?, launch.shared(scope)?);
        let args = launch
            .args
            .iter()
            .enumerate()
            .map(|(index, arg)| self.arg(arg, &format!("args.{index}")))
            .collect::<Result<Vec<Arg>, String>>()?;
        let shape = [grid[0], grid[1], grid[2], block[0], block[1], block[2], shared];
        let key = (std::ptr::from_ref(launch), shape, args.iter().map(Arg::bytes).collect());
        let number = match self.known.get(&key) {
            Some(number) => *number,
            None => {
                let number = self.launches.add(Launch {
                    ptx: self.ptx.clone(),
                    entry: launch.entry.clone(),
                    grid,
                    block,
                    dynamic_shared: shared,
                    args,
                });
                self.places.push(path.to_owned());
                self.known.insert(key, number);
                number
            }
        };
        if self.launches.len() as u64 == MAX_LAUNCHES {
            return Err(format!("entry: this is one more than {MAX_LAUNCHES} launches"));
        }
        self.launches.repeat(number);
        Ok(())
    }

    /// The argument at `path`.
    fn arg(&self, arg: &ArgSpec, path: &str) -> Result<Arg, String> {
        if let ArgSpec::Struct(fields) = arg {
            let fields = fields.iter().enumerate();
            let fields = fields.map(|(index, field)| self.arg(field, &format!("{path}.{index}")));
            return Ok(Arg::Struct(fields.collect::<Result<_, _>>()?));
        }
        if let ArgSpec::TensorMap(map) = arg {
            let map = self.tensor_map(map).map_err(|why| format!("{path}.{why}"))?;
            return Ok(Arg::TensorMap(map));
        }
        self.plain(arg).map_err(|why| format!("{path}: {why}"))
    }

    /// A tensor map; an error begins with one of its fields.
    fn tensor_map(&self, spec: &TensorMapSpec) -> Result<TensorMap, String> {
        let element = self.spec.buffers.get(&spec.buffer).expect("checked").element;
        let buffer = self.buffer(&spec.buffer);
        let (axes, rank) = spec.axes(&self.scope, element)?;
        let first = spec.first.within(&self.scope, 0, (buffer.bytes / element.bytes()).into());
        let first = first.map_err(|why| format!("first: {why}"))? as u64 * element.bytes();
        if !(buffer.address + first).is_multiple_of(TENSOR_PIECE) {
            let why = format!("the tensor begins at byte {first} of `{}`", spec.buffer);
            return Err(format!("first: {why}, which is no multiple of {TENSOR_PIECE}"));
        }
        let behind = axes.iter().try_fold(first + element.bytes(), |end, axis| {
            (axis.size - 1).checked_mul(axis.stride)?.checked_add(end)
        });
        if behind.is_none_or(|end| end > buffer.bytes) {
            let end = behind.map_or("2^64".to_owned(), |end| end.to_string());
            let (name, bytes) = (&spec.buffer, buffer.bytes);
            return Err(format!(
                "dims: the tensor ends at byte {end} of `{name}`, which has {bytes}"
            ));
        }
        let TensorMapSpec { swizzle, oob_fill, .. } = *spec;
        let address = buffer.address + first;
        Ok(TensorMap { address, element, rank, axes, swizzle, oob_fill })
    }

    /// An argument that has no fields.
    fn plain(&self, arg: &ArgSpec) -> Result<Arg, String> {
        Ok(match arg {
            ArgSpec::Buffer(name) => Arg::Buffer(self.buffer(name)),
            ArgSpec::Element(name, element) => {
                let element = element.whole(&self.scope)?;
                let buffer = self.buffer(name);
                let size = self.spec.buffers.get(name).expect("checked").element.bytes();
                let count = buffer.bytes / size;
                let index = u64::try_from(element).ok().filter(|index| *index < count);
                let index = index.ok_or_else(|| {
                    format!("there is no element {element} in `{name}`, which has {count}")
                })?;
                let offset = index * size;
                let (address, bytes) = (buffer.address + offset, buffer.bytes - offset);
                Arg::Buffer(Buffer { address, bytes })
            }
            ArgSpec::Bytes(text) => Arg::Bytes(hexadecimal(text)?.into()),
            number => {
                let (ty, amount) = number.number().expect("all others are numbers");
                let bytes = of_amount(ty, amount, &self.scope)?;
                Arg::Number { ty, bits: u64::from_le_bytes(bytes) }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::RunFile;
    use crate::config::WorkloadSpec;

    /// Unrolls steps over three buffers `a`, `b` and `c` of 64 bytes at 0, 64 and 128.
    fn expanded(steps: &str) -> Result<Schedule, String> {
        let text = format!(
            r#"Run(name: "x", machine: "gtx480", workload: Kernel(source: "k.ptx", parameters: {{"n": 3}},
            buffers: {{"a": (type: I32, elements: 16), "b": (type: I32, elements: 16),
            "c": (type: I32, elements: 16)}}, launches: {steps}))"#
        );
        let run = RunFile::from_text("x.ron".as_ref(), text).map_err(|error| error.to_string())?;
        let WorkloadSpec::Kernel(spec) = &run.config.workload else { panic!("{run:?}") };
        let ptx = PtxSource { path: "k.ptx".into(), text: String::new() };
        let buffers = [0, 64, 128].map(|address| Buffer { address, bytes: 64 });
        expand(spec, spec.scope().unwrap(), &Arc::new(ptx), &buffers)
    }

    /// First argument of each launch, as a number.
    fn firsts(schedule: &Schedule) -> Vec<u64> {
        let first = |launch: &Launch| {
            let mut word = launch.args[0].bytes();
            word.resize(8, 0);
            u64::from_le_bytes(word.try_into().unwrap())
        };
        schedule.launches.ptx().map(first).collect()
    }

    const STEP: &str =
        r#"Launch(entry: "k", grid: 1, block: 32, args: [Buffer("a"), Buffer("b")])"#;

    #[test]
    fn rounds_that_repeat_each_other_share_their_launch() {
        let steps = format!(r#"[Loop(times: 100001, body: [{STEP}], swap: [("a", "b")])]"#);
        let schedule = expanded(&steps).unwrap();
        assert_eq!((schedule.launches.len(), schedule.launches.distinct().len()), (100_001, 2));
        assert_eq!(firsts(&schedule)[..4], [0, 64, 0, 64]);
        assert_eq!(schedule.places, ["launches.0.body.0"; 2]);
        // After an odd number of rounds `a` is what `b` was.
        assert_eq!(schedule.names, [1, 0, 2]);
    }

    #[test]
    fn swaps_hold_on_after_their_loop_and_rotate_in_their_order() {
        let rotate =
            format!(r#"[Loop(times: 4, body: [{STEP}], swap: [("a", "b"), ("b", "c")]), {STEP}]"#);
        let schedule = expanded(&rotate).unwrap();
        assert_eq!(firsts(&schedule), [0, 64, 128, 0, 64]);
        assert_eq!(schedule.names, [1, 2, 0]);
        assert_eq!(schedule.places.last().unwrap(), "launches.1");
    }

    #[test]
    fn concurrent_launches_overlap_up_to_the_last_of_them() {
        let steps = format!(
            "[{STEP}, Concurrent(body: [{STEP}, Loop(times: 2, body: [{STEP}])]), {STEP},
            Concurrent(body: []), Concurrent(body: [{STEP}])]"
        );
        let schedule = expanded(&steps).unwrap();
        let overlap: Vec<bool> =
            (0..6).map(|place| schedule.launches.overlaps_next(place)).collect();
        assert_eq!(overlap, [false, true, true, false, false, false]);
        assert_eq!(schedule.launches.len(), 6);
        let error = expanded(&format!("[Concurrent(body: [Concurrent(body: [{STEP}])])]"));
        let why = "launches.0.body.0.body: it stands in `Concurrent` already";
        assert!(error.err().unwrap().contains(why));
        let swaps =
            format!(r#"[Concurrent(body: [Loop(times: 2, body: [{STEP}], swap: [("a", "b")])])]"#);
        let why = "launches.0.body.0.swap: its rounds run at the same time";
        assert!(expanded(&swaps).err().unwrap().contains(why));
    }

    #[test]
    fn untimed_launches_are_those_of_their_step() {
        let steps = format!(
            "[Untimed(body: [Loop(times: 2, body: [{STEP}])]), {STEP}, Untimed(body: []),
            Loop(times: 2, body: [Untimed(body: [{STEP}]), {STEP}])]"
        );
        let launches = expanded(&steps).unwrap().launches;
        let timed: Vec<bool> = (0..7).map(|place| launches.is_timed(place)).collect();
        assert_eq!(timed, [false, false, true, false, true, false, true]);
        assert_eq!((launches.len(), launches.timed()), (7, 3));
        let error = |steps: &str| expanded(steps).err().unwrap();
        let only = error(&format!("[Untimed(body: [{STEP}])]"));
        assert!(only.contains("launches: all of them stand in `Untimed`"), "{only}");
        let none = error(&format!("[Loop(times: 0, body: [{STEP}]), Concurrent(body: [])]"));
        assert!(none.contains("launches: no launch is left"), "{none}");
        // No launch in the first round of the outer loop.
        let inner =
            format!(r#"Loop(times: 3, index: "i", body: [Loop(times: "i", body: [{STEP}])])"#);
        let launches = expanded(&format!("[Untimed(body: [{STEP}]), {inner}]")).unwrap().launches;
        assert_eq!((launches.len(), launches.timed()), (4, 3));
        let both = error(&format!("[Concurrent(body: [Untimed(body: [{STEP}])])]"));
        assert!(both.contains("0.body.0.body: it stands in `Concurrent` already"), "{both}");
    }

    #[test]
    fn inner_loops_know_the_round_of_outer_ones() {
        let inner = r#"Launch(entry: "k", grid: 1, block: 32, args: [I64("10 * i + j")])"#;
        let steps = format!(
            r#"[Loop(times: "n", index: "i", body: [Loop(times: "i", index: "j", body: [{inner}])]), {STEP}]"#
        );
        assert_eq!(firsts(&expanded(&steps).unwrap()), [10, 20, 21, 0]);
    }

    #[test]
    fn rounds_without_a_launch_are_bounded_too() {
        let mut steps = STEP.to_owned();
        for _ in 0..7 {
            steps = format!("Loop(times: \"0 * n\", body: [{steps}])");
            steps = format!("Loop(times: 1000000, body: [{steps}])");
            let error = expanded(&format!("[{steps}, {STEP}]"));
            match error {
                Ok(schedule) => assert_eq!(schedule.launches.len(), 1),
                Err(why) => {
                    assert!(why.contains("nested at most 8 deep"), "{why}");
                    return;
                }
            }
        }
        panic!("the nesting has no end");
    }

    #[test]
    fn loops_that_grow_with_a_round_are_bounded() {
        let steps = format!(
            r#"[Loop(times: 1000000, index: "i", body: [Loop(times: "i", body: [])]), {STEP}]"#
        );
        assert_eq!(expanded(&steps).err().unwrap(), "launches: more than 1000000 rounds of loops");
        let steps = format!(
            r#"[Loop(times: 2000, index: "i", body: [Loop(times: "i", body: [{STEP}, {STEP}])]), {STEP}]"#
        );
        let error = expanded(&steps).err().unwrap();
        assert!(error.ends_with("entry: this is one more than 1000000 launches"), "{error}");
    }
}
