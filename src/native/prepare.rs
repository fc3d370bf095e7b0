//! A workload on the GPU: its modules compiled, its buffers there, its launches ready to be asked for.

use std::path::PathBuf;
use std::rc::Rc;

use super::device::{Allocation, Device, Function, Module, Stream, Variable};
use super::tensor_map;
use crate::error::Result;
use crate::workload::{DeviceMemory, Launch, Symbol, TensorMap, Work, Workload};

/// The modules of a workload, each compiled once.
pub struct Modules<'d>(Vec<(PathBuf, Module<'d>)>);

impl<'d> Modules<'d> {
    /// Compiles the modules of all launches.
    ///
    /// # Errors
    /// What the driver's compiler refuses.
    ///
    /// # Panics
    /// When the workload is not that of a run for a GPU.
    pub fn load(device: &'d Device, workload: &Workload) -> Result<Self> {
        let mut modules: Vec<(PathBuf, Module)> = Vec::new();
        for work in workload.launches.distinct() {
            let launch = kernel(work);
            if !modules.iter().any(|(path, _)| *path == launch.ptx.path) {
                modules.push((launch.ptx.path.clone(), device.load(&launch.ptx)?));
            }
        }
        Ok(Modules(modules))
    }

    fn of(&self, launch: &Launch) -> &Module<'d> {
        let found = self.0.iter().find(|(path, _)| *path == launch.ptx.path);
        &found.expect("all are loaded").1
    }
}

fn kernel(work: &Work) -> &Launch {
    work.ptx().expect("a run for a GPU has kernels only")
}

/// A launch with its function and arguments.
struct Ready<'d, 'm> {
    function: Function<'m>,
    /// Its stream, where it may run at the same time as others.
    stream: Option<Rc<Stream<'d>>>,
    grid: [u32; 3],
    block: [u32; 3],
    dynamic_shared: u32,
    args: Vec<Vec<u8>>,
}

/// A workload that can be run on the GPU, again and again.
pub struct Prepared<'d, 'm> {
    memory: Allocation<'d>,
    /// What `memory` holds before the first launch.
    first: Allocation<'d>,
    /// Variables of the modules that are filled, and what they hold before the first launch.
    variables: Vec<(Variable<'m>, Allocation<'d>)>,
    /// Launches in order, those together that may run at the same time.
    steps: Vec<Step<'d, 'm>>,
}

/// Launches that may run at the same time.
struct Step<'d, 'm> {
    launches: Vec<Ready<'d, 'm>>,
    is_timed: bool,
}

/// The bytes of a launch's arguments, where device memory begins at `base`.
fn args(launch: &Launch, base: u64) -> Result<Vec<Vec<u8>>> {
    let map = |map: &TensorMap| tensor_map::encode(map, map.address - DeviceMemory::BASE + base);
    launch.args.iter().map(|arg| arg.bytes_at(base, &map)).collect()
}

/// Kernels that a GPU runs at the same time. Source: CUDA C++ Programming Guide, compute capabilities. The driver hands them to the GPU
/// through fewer queues, which `CUDA_DEVICE_MAX_CONNECTIONS` sets.
const STREAMS: usize = 128;

impl<'d, 'm> Prepared<'d, 'm> {
    /// Brings the buffers of `workload`, and what fills its variables, to the GPU.
    pub fn new(device: &'d Device, modules: &'m Modules<'d>, workload: &Workload) -> Result<Self> {
        let bytes = workload.memory.size();
        let memory = device.allocate(bytes)?;
        let mut first = device.allocate(bytes)?;
        first.write(&workload.memory.bytes_at(memory.address()))?;
        let base = memory.address();
        let mut variables = Vec::new();
        for (_, module) in &modules.0 {
            for symbol in &workload.own.symbols {
                variables.push(variable(device, module, symbol)?);
            }
        }
        let mut streams = Vec::new();
        let mut steps: Vec<Step> = Vec::new();
        let mut joins = false;
        for (place, work) in workload.launches.iter().enumerate() {
            let launch = kernel(work);
            let overlaps_next = workload.launches.overlaps_next(place);
            if !joins {
                let is_timed = workload.launches.is_timed(place);
                steps.push(Step { launches: Vec::new(), is_timed });
            }
            let step = &mut steps.last_mut().expect("one was begun").launches;
            let stream = match joins || overlaps_next {
                true => Some(stream(device, &mut streams, step.len() % STREAMS)?),
                false => None,
            };
            joins = overlaps_next;
            step.push(Ready {
                function: modules.of(launch).function(&launch.entry, launch.dynamic_shared)?,
                stream,
                grid: launch.grid,
                block: launch.block,
                dynamic_shared: launch.dynamic_shared,
                args: args(launch, base)?,
            });
        }
        Ok(Prepared { memory, first, variables, steps })
    }

    /// Steps: launches, and several at the same time.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Launches of step `number`.
    pub fn launches(&self, number: usize) -> usize {
        self.steps[number].launches.len()
    }

    /// Whether step `number` is there to be timed, not only for what it computes.
    pub fn is_timed(&self, number: usize) -> bool {
        self.steps[number].is_timed
    }

    /// The most registers and bytes of local memory that a thread of step `number` has.
    pub fn resources(&self, number: usize) -> Result<(u32, u32)> {
        self.steps[number].launches.iter().try_fold((0, 0), |(most, most_local), ready| {
            let (registers, local) = ready.function.resources()?;
            Ok((registers.max(most), local.max(most_local)))
        })
    }

    /// Puts the buffers, and the variables that the run file fills, back to what they hold before the first launch.
    pub fn restore(&mut self) -> Result<()> {
        self.memory.copy_from(&self.first)?;
        self.variables.iter_mut().try_for_each(|(variable, first)| variable.copy_from(first))
    }

    /// Asks for the launches of step `number`.
    pub fn launch(&mut self, number: usize) -> Result<()> {
        for Ready { function, stream, grid, block, dynamic_shared, args } in
            &mut self.steps[number].launches
        {
            // SAFETY: gsim's functional execution has shown that the kernel takes these arguments and stays within
            // its buffers.
            unsafe { function.launch(stream.as_deref(), *grid, *block, *dynamic_shared, args) }?;
        }
        Ok(())
    }

    /// What the buffers hold, as the host has it: addresses are those of [`DeviceMemory`].
    pub fn read(&self, into: &mut DeviceMemory) -> Result<()> {
        let mut bytes = vec![0; into.size()];
        self.memory.read(&mut bytes)?;
        into.set_from(self.memory.address(), &bytes);
        Ok(())
    }
}

/// Stream `number` of `streams`, which are made as they are asked for.
fn stream<'d>(
    device: &'d Device,
    streams: &mut Vec<Rc<Stream<'d>>>,
    number: usize,
) -> Result<Rc<Stream<'d>>> {
    while streams.len() <= number {
        streams.push(Rc::new(device.stream()?));
    }
    Ok(streams[number].clone())
}

/// A variable of a module, and what it holds before the first launch.
fn variable<'d, 'm>(
    device: &'d Device,
    module: &'m Module<'d>,
    symbol: &Symbol,
) -> Result<(Variable<'m>, Allocation<'d>)> {
    let variable = module.variable(&symbol.name).map_err(|error| symbol.refuse("", error))?;
    let mut first = device.allocate(variable.bytes())?;
    first.write(&symbol.content(variable.bytes() as u64)?)?;
    Ok((variable, first))
}
