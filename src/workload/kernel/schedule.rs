//! Launches in order: loops unrolled, each launch that differs from all others kept once.

use std::collections::HashMap;
use std::sync::Arc;

use super::element::of_amount;
use crate::config::KernelSpec;
use crate::config::kernel::{ArgSpec, LaunchSpec, LaunchStep, Scope, hexadecimal};
use crate::workload::{Arg, Buffer, Launch, Launches, PtxSource};

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
    };
    expander.steps(&spec.launches, "launches")?;
    let Expander { launches, places, names, .. } = expander;
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
                    let times = rounds.times.whole(&self.scope);
                    let times = times.map_err(|why| format!("{here}.times: {why}"))?;
                    let pairs =
                        self.pairs(&rounds.swap).map_err(|why| format!("{here}.swap.{why}"))?;
                    let body = format!("{here}.body");
                    for round in 0..times {
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
            .map(|(index, arg)| self.arg(arg).map_err(|why| format!("args.{index}: {why}")))
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
        self.launches.repeat(number);
        Ok(())
    }

    fn arg(&self, arg: &ArgSpec) -> Result<Arg, String> {
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
