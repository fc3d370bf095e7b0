//! NVRTC, NVIDIA's run-time compiler: CUDA C++ to PTX. Needs no GPU.

use std::ffi::{CStr, CString, c_char, c_int};
use std::path::{Path, PathBuf};
use std::ptr;

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};

use crate::error::{Error, Result};

/// Environment variable with the path of NVRTC, for where the system's loader does not find it.
pub const PATH_VARIABLE: &str = "GSIM_NVRTC";

/// What the system's loader is asked for, newest first.
const LIBRARY_NAMES: [&str; 4] =
    ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"];

/// `nvrtcProgram` of nvrtc.h.
type Program = *mut std::ffi::c_void;
/// `nvrtcResult` of nvrtc.h; 0 is success.
type Status = c_int;

/// The functions of nvrtc.h that gsim calls.
struct Functions {
    version: unsafe extern "C" fn(*mut c_int, *mut c_int) -> Status,
    create: unsafe extern "C" fn(
        *mut Program,
        *const c_char,
        *const c_char,
        c_int,
        *const *const c_char,
        *const *const c_char,
    ) -> Status,
    compile: unsafe extern "C" fn(Program, c_int, *const *const c_char) -> Status,
    ptx_size: unsafe extern "C" fn(Program, *mut usize) -> Status,
    ptx: unsafe extern "C" fn(Program, *mut c_char) -> Status,
    log_size: unsafe extern "C" fn(Program, *mut usize) -> Status,
    log: unsafe extern "C" fn(Program, *mut c_char) -> Status,
    destroy: unsafe extern "C" fn(*mut Program) -> Status,
    message: unsafe extern "C" fn(Status) -> *const c_char,
}

/// NVRTC, loaded.
pub struct Nvrtc {
    functions: Functions,
    /// Major and minor version.
    version: (i32, i32),
    // Last, so that they are unloaded after everything that points into them.
    _library: Library,
    _builtins: Option<Library>,
}

impl Nvrtc {
    /// Loads NVRTC from `path`, else from the path in [`PATH_VARIABLE`], else by asking the system's
    /// loader (`LD_LIBRARY_PATH`, `ldconfig`) for version 13, 12 or 11.
    ///
    /// A path that is given must work: there is no silent change to another version. A name without a folder is a file of the
    /// current folder, where there is one, else one that the loader finds.
    pub fn load(path: Option<&Path>) -> Result<Self> {
        let from_variable =
            std::env::var_os(PATH_VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from);
        match path.map(Path::to_owned).or(from_variable) {
            // The loader would look for a bare name in its own path alone.
            Some(path) if path.is_file() => Nvrtc::open(&Path::new(".").join(path)),
            Some(path) => Nvrtc::open(&path),
            None => LIBRARY_NAMES
                .iter()
                .find_map(|name| Nvrtc::open(Path::new(name)).ok())
                .ok_or_else(|| {
                    Error::run("NVRTC, the CUDA compiler library, is not installed").hint(format!(
                        "pip install nvidia-cuda-nvrtc, and give its libnvrtc.so.13 with --nvrtc or \
                         {PATH_VARIABLE}"
                    ))
                }),
        }
    }

    fn open(path: &Path) -> Result<Self> {
        let builtins = open_builtins(path);
        let failed = |error: libloading::Error| {
            Error::input(format!("NVRTC cannot be loaded from {}: {error}", path.display()))
                .hint("give the path of a libnvrtc.so, as of pip install nvidia-cuda-nvrtc")
        };
        // SAFETY: NVRTC's initialisers have no precondition; a library of that name that is something
        // else lacks the functions below and is refused.
        let library = unsafe { Library::open(Some(path), RTLD_NOW) }.map_err(failed)?;
        macro_rules! function {
            ($name:literal) => {
                // SAFETY: the type is that of nvrtc.h, the same in all versions from 7.0 on; the
                // pointer does not outlive the library, for both are fields of `Nvrtc`.
                *unsafe { library.get(concat!($name, "\0").as_bytes()) }.map_err(failed)?
            };
        }
        let functions = Functions {
            version: function!("nvrtcVersion"),
            create: function!("nvrtcCreateProgram"),
            compile: function!("nvrtcCompileProgram"),
            ptx_size: function!("nvrtcGetPTXSize"),
            ptx: function!("nvrtcGetPTX"),
            log_size: function!("nvrtcGetProgramLogSize"),
            log: function!("nvrtcGetProgramLog"),
            destroy: function!("nvrtcDestroyProgram"),
            message: function!("nvrtcGetErrorString"),
        };
        let (mut major, mut minor) = (0, 0);
        // SAFETY: both pointers are to live integers.
        let status = unsafe { (functions.version)(&mut major, &mut minor) };
        let nvrtc =
            Nvrtc { functions, version: (major, minor), _library: library, _builtins: builtins };
        nvrtc.succeeded(status)?;
        Ok(nvrtc)
    }

    /// Name and version, as the header of a PTX file has it: `NVRTC 13.0`.
    pub fn version(&self) -> String {
        format!("NVRTC {}.{}", self.version.0, self.version.1)
    }

    /// Compiles CUDA C++ to PTX. `name` is what messages call the source.
    ///
    /// An error holds the compiler's first message, and where in the source it is.
    pub fn compile(&self, name: &str, source: &str, options: &[String]) -> Result<String> {
        let text = |text: &str| {
            CString::new(text).map_err(|_| Error::input(format!("{name} contains a zero byte")))
        };
        let (source, c_name) = (text(source)?, text(name)?);
        let options = options.iter().map(|option| text(option)).collect::<Result<Vec<_>>>()?;
        let options: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();

        let mut handle: Program = ptr::null_mut();
        // SAFETY: the texts end in a zero byte and outlive the call, which copies them; no headers.
        let status = unsafe {
            (self.functions.create)(
                &mut handle,
                source.as_ptr(),
                c_name.as_ptr(),
                0,
                ptr::null(),
                ptr::null(),
            )
        };
        self.succeeded(status)?;
        let program = Handle { nvrtc: self, handle };
        let count = c_int::try_from(options.len()).expect("a handful of options");
        // SAFETY: the program was created above; `options` holds `count` zero-terminated texts.
        let status = unsafe { (self.functions.compile)(program.handle, count, options.as_ptr()) };
        if status != 0 {
            let log = program.read(self.functions.log_size, self.functions.log)?;
            return Err(compiler_error(name, &log));
        }
        program.read(self.functions.ptx_size, self.functions.ptx)
    }

    fn succeeded(&self, status: Status) -> Result<()> {
        if status == 0 {
            return Ok(());
        }
        // SAFETY: NVRTC returns a constant text for every status, also for unknown ones.
        let message = unsafe { CStr::from_ptr((self.functions.message)(status)) };
        Err(Error::run(format!("NVRTC failed: {}", message.to_string_lossy())))
    }
}

/// A program that is destroyed when it goes.
struct Handle<'a> {
    nvrtc: &'a Nvrtc,
    handle: Program,
}

impl Handle<'_> {
    /// Reads a text that NVRTC gives in two calls: its size with the final zero byte, and the text.
    fn read(
        &self,
        size_of: unsafe extern "C" fn(Program, *mut usize) -> Status,
        read: unsafe extern "C" fn(Program, *mut c_char) -> Status,
    ) -> Result<String> {
        let mut size = 0;
        // SAFETY: the program is alive as long as `self`.
        self.nvrtc.succeeded(unsafe { size_of(self.handle, &mut size) })?;
        let mut text = vec![0u8; size];
        // SAFETY: `text` has the size that NVRTC asked for.
        self.nvrtc.succeeded(unsafe { read(self.handle, text.as_mut_ptr().cast()) })?;
        while text.last() == Some(&0) {
            text.pop();
        }
        Ok(String::from_utf8_lossy(&text).into_owned())
    }
}

impl Drop for Handle<'_> {
    fn drop(&mut self) {
        // SAFETY: the program was created and is destroyed only here.
        unsafe { (self.nvrtc.functions.destroy)(&mut self.handle) };
    }
}

/// Loads the library that NVRTC looks for by its bare name, from beside NVRTC.
///
/// NVRTC finds `libnvrtc-builtins.so` in the loader's path only, where a pip package is not. Once it
/// is loaded, the loader knows it by its name. Where NVRTC itself comes from the loader's path, its
/// builtins do as well, and there is nothing to do.
fn open_builtins(nvrtc: &Path) -> Option<Library> {
    let folder = nvrtc.parent().filter(|folder| !folder.as_os_str().is_empty())?;
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder)
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            name.starts_with("libnvrtc-builtins.so")
        })
        .collect();
    found.sort();
    // SAFETY: the library holds data for NVRTC and has no initialisers with preconditions.
    found.iter().find_map(|path| unsafe { Library::open(Some(path), RTLD_NOW | RTLD_GLOBAL) }.ok())
}

/// The first error of a compiler's log, `file.cu(12): error: ..`, as one line with its place.
fn compiler_error(name: &str, log: &str) -> Error {
    let Some(line) = log.lines().find(|line| line.contains("error")) else {
        return Error::input(format!(
            "does not compile: {}",
            log.lines().next().unwrap_or_default()
        ))
        .in_file(Path::new(name));
    };
    let place = line.split_once("): ").and_then(|(place, message)| {
        let (_, number) = place.rsplit_once('(')?;
        Some((number.parse().ok()?, message))
    });
    match place {
        // NVRTC gives no column.
        Some((number, message)) => Error::input(message).at(Path::new(name), number, 1),
        None => Error::input(line).in_file(Path::new(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compiler_error_has_the_place_in_the_source() {
        let log = "a.cu(3): warning #1: unused\n\na.cu(12): error: identifier \"x\" is undefined\n\n1 error";
        assert_eq!(
            compiler_error("dir/a.cu", log).to_string(),
            "dir/a.cu:12:1: error: identifier \"x\" is undefined"
        );
        assert_eq!(
            compiler_error("a.cu", "nvrtc: error: invalid option").to_string(),
            "a.cu: nvrtc: error: invalid option"
        );
    }

    #[test]
    fn a_path_that_is_given_must_work() {
        let error = Nvrtc::load(Some(Path::new("/nowhere/libnvrtc.so"))).err().unwrap();
        assert!(error.message.starts_with("NVRTC cannot be loaded from /nowhere/libnvrtc.so: "));
        assert_eq!(error.exit_code(), 2);
    }
}
