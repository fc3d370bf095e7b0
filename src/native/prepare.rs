//! A workload on the GPU: its modules compiled, its buffers there, its launches ready to be asked for.

use std::path::PathBuf;

use super::device::{Allocation, Device, Function, Module};
use crate::error::Result;
use crate::workload::{Arg, DeviceMemory, Launch, Work, Workload};

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
struct Ready<'m> {
    function: Function<'m>,
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
    launches: Vec<Ready<'m>>,
}

impl<'d, 'm> Prepared<'d, 'm> {
    /// Brings the buffers of `workload` to the GPU.
    pub fn new(device: &'d Device, modules: &'m Modules<'d>, workload: &Workload) -> Result<Self> {
        let bytes = workload.memory.size();
        let memory = device.allocate(bytes)?;
        let mut first = device.allocate(bytes)?;
        first.write(&workload.memory.bytes_at(memory.address()))?;
        let base = memory.address();
        let launches = workload.launches.iter().map(|work| {
            let launch = kernel(work);
            Ok(Ready {
                function: modules.of(launch).function(&launch.entry, launch.dynamic_shared)?,
                grid: launch.grid,
                block: launch.block,
                dynamic_shared: launch.dynamic_shared,
                args: launch.args.iter().map(|arg| bytes_of(arg, base)).collect(),
            })
        });
        let launches = launches.collect::<Result<_>>()?;
        Ok(Prepared { memory, first, launches })
    }

    /// Launches.
    pub fn len(&self) -> usize {
        self.launches.len()
    }

    /// Registers and bytes of local memory of a thread of launch `number`.
    pub fn resources(&self, number: usize) -> Result<(u32, u32)> {
        self.launches[number].function.resources()
    }

    /// Puts the buffers back to what they hold before the first launch.
    pub fn restore(&mut self) -> Result<()> {
        self.memory.copy_from(&self.first)
    }

    /// Asks for launch `number`.
    pub fn launch(&mut self, number: usize) -> Result<()> {
        let Ready { function, grid, block, dynamic_shared, args } = &mut self.launches[number];
        // SAFETY: gsim's functional execution has shown that the kernel takes these arguments and stays within
        // its buffers.
        unsafe { function.launch(*grid, *block, *dynamic_shared, args) }
    }

    /// What the buffers hold, as the host has it: addresses are those of [`DeviceMemory`].
    pub fn read(&self, into: &mut DeviceMemory) -> Result<()> {
        let mut bytes = vec![0; into.size()];
        self.memory.read(&mut bytes)?;
        into.set_from(self.memory.address(), &bytes);
        Ok(())
    }
}

/// The bytes of an argument, where the memory begins at `base`.
fn bytes_of(arg: &Arg, base: u64) -> Vec<u8> {
    match arg {
        Arg::Buffer(buffer) => (buffer.address - DeviceMemory::BASE + base).to_le_bytes().to_vec(),
        other => other.bytes(),
    }
}
