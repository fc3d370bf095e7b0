//! The GPU through the CUDA driver: found at run time, opened, asked for its facts; memory, modules, events.
//!
//! Thin owners over the driver's handles: each frees what it holds. All of it belongs to one thread, the one that
//! opened the device.

use std::ffi::{CStr, CString, c_void};
use std::marker::PhantomData;
use std::path::Path;
use std::ptr;

use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys::{
    self, CUdevice, CUdevice_attribute_enum as Attribute, CUdeviceptr, CUevent, CUfunction,
    CUfunction_attribute_enum as FunctionAttribute, CUjit_option_enum as JitOption, CUmodule,
    CUstream,
};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::workload::PtxSource;

/// Bytes that the driver's compiler may write about a mistake.
const LOG_BYTES: usize = 8192;

/// A GPU that has been opened.
pub struct Device {
    handle: CUdevice,
}

/// What the driver says of a GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceFacts {
    /// Its name.
    pub name: String,
    /// Compute capability, major and minor.
    pub compute_capability: (u8, u8),
    /// CUDA version of the driver, `13.0`.
    pub cuda: String,
    /// Version of the driver; empty where the system does not say.
    pub driver: String,
    /// SMs.
    pub sms: u32,
    /// The L2 `[bytes]`.
    pub l2_bytes: u64,
    /// Device memory `[bytes]`.
    pub memory_bytes: u64,
    /// Width of the memory bus `[bits]`.
    pub bus_bits: u32,
    /// The most that the SMs' clock can be `[MHz]`.
    pub core_mhz_max: f64,
    /// The memory clock that the driver states `[MHz]`.
    pub memory_mhz: f64,
    /// Shared memory that a CTA may have `[bytes]`.
    pub shared_bytes: u32,
}

impl Device {
    /// Opens the first GPU.
    ///
    /// # Errors
    /// One line that says what is missing: the driver, or a GPU.
    pub fn open() -> Result<Self> {
        // SAFETY: loads the driver's library, whose initialisers have no precondition, and unloads it again.
        if !unsafe { sys::is_culib_present() } {
            return Err(Error::run("there is no CUDA driver (libcuda.so) on this machine")
                .hint("gsim native needs an NVIDIA GPU; everything else runs without one"));
        }
        result::init().map_err(|cause| failed("the CUDA driver does not start", cause))?;
        let count = result::device::get_count()
            .map_err(|cause| failed("the GPUs cannot be counted", cause))?;
        if count == 0 {
            return Err(Error::run("the CUDA driver finds no GPU"));
        }
        let open = || {
            let handle = result::device::get(0)?;
            // SAFETY: the device is valid; the context is kept until the process ends.
            unsafe { result::ctx::set_current(result::primary_ctx::retain(handle)?)? };
            Ok(Device { handle })
        };
        open().map_err(|cause| failed("the GPU cannot be opened", cause))
    }

    /// What the driver says of it.
    pub fn facts(&self) -> Result<DeviceFacts> {
        let failed = |cause| failed("the GPU does not say what it is", cause);
        let attribute = |which| {
            // SAFETY: the device is valid.
            let value = unsafe { result::device::get_attribute(self.handle, which) };
            value.map_err(failed)
        };
        let mut version = 0;
        // SAFETY: the pointer is to a live integer.
        unsafe { sys::cuDriverGetVersion(&mut version) }.result().map_err(failed)?;
        // SAFETY: the device is valid.
        let memory = unsafe { result::device::total_mem(self.handle) }.map_err(failed)?;
        let positive = |which| attribute(which).map(|value| value.max(0) as u32);
        let mhz = |which| attribute(which).map(|khz| f64::from(khz) / 1e3);
        Ok(DeviceFacts {
            name: result::device::get_name(self.handle).map_err(failed)?,
            compute_capability: (
                attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)? as u8,
                attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)? as u8,
            ),
            cuda: format!("{}.{}", version / 1000, version % 1000 / 10),
            driver: kernel_module_version().unwrap_or_default(),
            sms: positive(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
            l2_bytes: u64::from(positive(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?),
            memory_bytes: memory as u64,
            bus_bits: positive(Attribute::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH)?,
            core_mhz_max: mhz(Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE)?,
            memory_mhz: mhz(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE)?,
            shared_bytes: positive(
                Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
            )?,
        })
    }

    /// Takes device memory.
    pub fn allocate(&self, bytes: usize) -> Result<Allocation<'_>> {
        // SAFETY: a context is current. Zero bytes cannot be asked for.
        let address = unsafe { result::malloc_sync(bytes.max(1)) }
            .map_err(|cause| failed(&format!("{bytes} bytes of device memory"), cause))?;
        Ok(Allocation { address, bytes, device: PhantomData })
    }

    /// Has the driver compile PTX.
    ///
    /// # Errors
    /// What the driver's compiler says, at the line of the PTX where it says one.
    pub fn load(&self, ptx: &PtxSource) -> Result<Module<'_>> {
        let text = CString::new(ptx.text.as_str())
            .map_err(|_| Error::input("contains a zero byte").in_file(&ptx.path))?;
        let mut log = vec![0u8; LOG_BYTES];
        let mut options =
            [JitOption::CU_JIT_ERROR_LOG_BUFFER, JitOption::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
        // The driver takes the size as the bits of a pointer.
        let mut values: [*mut c_void; 2] = [log.as_mut_ptr().cast(), LOG_BYTES as *mut c_void];
        let mut handle = ptr::null_mut();
        // SAFETY: the text ends in a zero byte; both options have their values, and the log has that size.
        let status = unsafe {
            sys::cuModuleLoadDataEx(
                &mut handle,
                text.as_ptr().cast(),
                options.len() as u32,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        };
        match status.result() {
            Ok(()) => Ok(Module { handle, device: PhantomData }),
            Err(cause) => {
                let log = CStr::from_bytes_until_nul(&log).unwrap_or_default().to_string_lossy();
                let line = log.lines().find(|line| line.contains("error"));
                let why = line.map_or_else(|| describe(cause), |line| line.trim().to_owned());
                Err(refused(&ptx.path, &why))
            }
        }
    }

    /// A mark in the order of launches.
    pub fn event(&self) -> Result<Event<'_>> {
        let handle = result::event::create(sys::CUevent_flags_enum::CU_EVENT_DEFAULT)
            .map_err(|cause| failed("an event cannot be made", cause))?;
        Ok(Event { handle, device: PhantomData })
    }

    /// A stream of launches beside others. What is asked for in order waits for its launches, and they for that.
    pub fn stream(&self) -> Result<Stream<'_>> {
        let handle = result::stream::create(result::stream::StreamKind::Default)
            .map_err(|cause| failed("a stream cannot be made", cause))?;
        Ok(Stream { handle, device: PhantomData })
    }

    /// Waits until all that was asked for is done.
    ///
    /// # Errors
    /// A fault of a kernel, such as an access outside of all memory. The device is of no more use then.
    pub fn synchronize(&self) -> Result<()> {
        result::ctx::synchronize().map_err(|cause| failed("the kernel fails on the GPU", cause))
    }
}

/// The version in `/proc`, where the kernel module is.
fn kernel_module_version() -> Option<String> {
    let text = std::fs::read_to_string("/proc/driver/nvidia/version").ok()?;
    let is_version =
        |word: &&str| word.contains('.') && word.chars().all(|c| c.is_ascii_digit() || c == '.');
    text.split_whitespace().find(is_version).map(str::to_owned)
}

/// An error of the driver in words.
pub(super) fn failed(what: &str, cause: DriverError) -> Error {
    Error::run(format!("{what}: {}", describe(cause)))
}

fn describe(cause: DriverError) -> String {
    match cause.error_string() {
        Ok(text) => text.to_string_lossy().into_owned(),
        Err(_) => format!("{:?}", cause.0),
    }
}

/// A refusal of the driver's compiler: `ptxas application ptx input, line 12; error   : ..`.
fn refused(path: &Path, why: &str) -> Error {
    let place = why.split_once("line ").and_then(|(_, rest)| {
        let (number, message) = rest.split_once(';')?;
        let message = message.split_once(':').map_or(message, |(_, message)| message);
        Some((number.trim().parse().ok()?, message.trim()))
    });
    match place {
        // The driver gives no column.
        Some((line, message)) => {
            Error::run(format!("the driver refuses it: {message}")).at(path, line, 1)
        }
        None => Error::run(format!("the driver refuses it: {why}")).in_file(path),
    }
}

/// Device memory.
pub struct Allocation<'d> {
    address: CUdeviceptr,
    bytes: usize,
    device: PhantomData<&'d Device>,
}

impl Allocation<'_> {
    /// The address of its first byte.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Copies the host's bytes to its start.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        assert!(bytes.len() <= self.bytes);
        // SAFETY: the memory is valid and large enough.
        unsafe { result::memcpy_htod_sync(self.address, bytes) }
            .map_err(|cause| failed("a copy to the GPU", cause))
    }

    /// Copies its start to the host.
    pub fn read(&self, bytes: &mut [u8]) -> Result<()> {
        assert!(bytes.len() <= self.bytes);
        // SAFETY: the memory is valid and large enough.
        unsafe { result::memcpy_dtoh_sync(bytes, self.address) }
            .map_err(|cause| failed("a copy from the GPU", cause))
    }

    /// Becomes equal to another of the same size, after what was asked for before.
    pub fn copy_from(&mut self, other: &Allocation) -> Result<()> {
        assert_eq!(self.bytes, other.bytes);
        // SAFETY: both are valid and equally large.
        unsafe { copy(self.address, other) }
    }

    /// Sets every byte to zero.
    pub fn clear(&mut self) -> Result<()> {
        // SAFETY: the memory is valid and that large.
        unsafe { result::memset_d8_sync(self.address, 0, self.bytes) }
            .map_err(|cause| failed("device memory cannot be cleared", cause))
    }
}

/// Copies all of `from` to an address on the GPU, in the order of the null stream.
///
/// # Safety
/// The memory at `to` must be valid and have as many bytes.
unsafe fn copy(to: CUdeviceptr, from: &Allocation) -> Result<()> {
    // SAFETY: the caller's promise; the null stream keeps the order.
    unsafe { result::memcpy_dtod_async(to, from.address, from.bytes, ptr::null_mut()) }
        .map_err(|cause| failed("a copy on the GPU", cause))
}

impl Drop for Allocation<'_> {
    fn drop(&mut self) {
        // SAFETY: it was allocated and is freed only here. After a fault the driver refuses, and nothing is lost.
        let _ = unsafe { result::free_sync(self.address) };
    }
}

/// A compiled module.
pub struct Module<'d> {
    handle: CUmodule,
    device: PhantomData<&'d Device>,
}

/// A variable of a module.
pub struct Variable<'m> {
    address: CUdeviceptr,
    bytes: usize,
    module: PhantomData<&'m ()>,
}

impl Variable<'_> {
    /// Its size `[bytes]`.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Becomes equal to device memory of the same size, after what was asked for before.
    pub fn copy_from(&mut self, other: &Allocation) -> Result<()> {
        assert_eq!(self.bytes, other.bytes);
        // SAFETY: both are valid and equally large.
        unsafe { copy(self.address, other) }
    }
}

/// A kernel of a module.
pub struct Function<'m> {
    handle: CUfunction,
    module: PhantomData<&'m ()>,
}

impl Module<'_> {
    /// An entry by its name; `dynamic_shared` bytes are the most that a launch of it takes.
    pub fn function(&self, name: &str, dynamic_shared: u32) -> Result<Function<'_>> {
        let failed = |cause| failed(&format!("entry `{name}` on the GPU"), cause);
        let text = CString::new(name).map_err(|_| Error::input("an entry has no zero byte"))?;
        // SAFETY: the module is loaded.
        let handle = unsafe { result::module::get_function(self.handle, text) }.map_err(failed)?;
        if dynamic_shared > 0 {
            let which = FunctionAttribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            // SAFETY: the function is valid.
            unsafe {
                result::function::set_function_attribute(handle, which, dynamic_shared as i32)
            }
            .map_err(failed)?;
        }
        Ok(Function { handle, module: PhantomData })
    }

    /// A variable in constant or global memory by its name.
    ///
    /// # Errors
    /// The driver finds none, for one that no kernel of the module names may have been left out.
    pub fn variable(&self, name: &str) -> Result<Variable<'_>> {
        let failed = |cause| {
            failed(&format!("variable `{name}` on the GPU"), cause)
                .hint("the driver leaves out what no kernel of the module names")
        };
        let text = CString::new(name).map_err(|_| Error::input("a variable has no zero byte"))?;
        // SAFETY: the module is loaded.
        let (address, bytes) =
            unsafe { result::module::get_global(self.handle, text) }.map_err(failed)?;
        Ok(Variable { address, bytes, module: PhantomData })
    }
}

impl Drop for Module<'_> {
    fn drop(&mut self) {
        // SAFETY: it was loaded and is unloaded only here.
        let _ = unsafe { result::module::unload(self.handle) };
    }
}

impl Function<'_> {
    /// Registers of a thread, and bytes of local memory of a thread, as the driver's compiler made it.
    pub fn resources(&self) -> Result<(u32, u32)> {
        let attribute = |which| {
            // SAFETY: the function is valid.
            unsafe { result::function::get_function_attribute(self.handle, which) }
                .map(|value| value.max(0) as u32)
                .map_err(|cause| failed("a kernel's registers", cause))
        };
        Ok((
            attribute(FunctionAttribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
            attribute(FunctionAttribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?,
        ))
    }

    /// Asks for a launch, in order or in a stream of its own; `args` hold the bytes of each parameter.
    ///
    /// # Errors
    /// A launch that the driver refuses. A fault of the kernel shows at the next [`Device::synchronize`].
    ///
    /// # Safety
    /// The arguments must be those of the kernel, and what it accesses must be memory of the device.
    pub unsafe fn launch(
        &self,
        stream: Option<&Stream>,
        grid: [u32; 3],
        block: [u32; 3],
        dynamic_shared: u32,
        args: &mut [Vec<u8>],
    ) -> Result<()> {
        let mut pointers: Vec<*mut c_void> =
            args.iter_mut().map(|bytes| bytes.as_mut_ptr().cast()).collect();
        let [x, y, z] = grid;
        let grid = (x, y, z);
        let [x, y, z] = block;
        // SAFETY: the caller's promise; the driver copies the arguments before it returns.
        unsafe {
            result::launch_kernel(
                self.handle,
                grid,
                (x, y, z),
                dynamic_shared,
                stream.map_or(ptr::null_mut(), |stream| stream.handle),
                &mut pointers,
            )
        }
        .map_err(|cause| failed("the GPU refuses the launch", cause))
    }
}

/// Launches that may run at the same time as those of other streams.
pub struct Stream<'d> {
    handle: CUstream,
    device: PhantomData<&'d Device>,
}

impl Drop for Stream<'_> {
    fn drop(&mut self) {
        // SAFETY: it was made and is destroyed only here; the driver lets it end what it has to do.
        let _ = unsafe { result::stream::destroy(self.handle) };
    }
}

/// A mark in the order of launches, with the time at which it was passed.
pub struct Event<'d> {
    handle: CUevent,
    device: PhantomData<&'d Device>,
}

impl Event<'_> {
    /// Puts the mark behind all that was asked for.
    pub fn record(&self) -> Result<()> {
        // SAFETY: the event is valid; the null stream is of its context.
        unsafe { result::event::record(self.handle, ptr::null_mut()) }
            .map_err(|cause| failed("an event cannot be recorded", cause))
    }

    /// Microseconds from `start` to this one, when both have been passed.
    pub fn since(&self, start: &Event) -> Result<f64> {
        // SAFETY: both events are valid.
        unsafe { result::event::elapsed(start.handle, self.handle) }
            .map(|milliseconds| f64::from(milliseconds) * 1e3)
            .map_err(|cause| failed("the kernel fails on the GPU", cause))
    }
}

impl Drop for Event<'_> {
    fn drop(&mut self) {
        // SAFETY: it was made and is destroyed only here.
        let _ = unsafe { result::event::destroy(self.handle) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_of_the_drivers_compiler_has_its_line() {
        let why = "ptxas application ptx input, line 12; error   : Unknown symbol 'x'";
        let error = refused(Path::new("k.ptx"), why).to_string();
        assert_eq!(error, "k.ptx:12:1: the driver refuses it: Unknown symbol 'x'");
        assert_eq!(
            refused(Path::new("k.ptx"), "a PTX JIT compilation failed").to_string(),
            "k.ptx: the driver refuses it: a PTX JIT compilation failed"
        );
    }

    #[test]
    fn without_a_driver_one_line_says_so() {
        // SAFETY: as in `Device::open`.
        if unsafe { sys::is_culib_present() } {
            eprintln!("skipped: this machine has a CUDA driver");
            return;
        }
        let error = Device::open().err().unwrap();
        assert!(error.message.starts_with("there is no CUDA driver"), "{error}");
        assert_eq!(error.exit_code(), 1);
    }
}
