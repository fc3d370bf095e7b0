//! A user's own kernel: its PTX read or compiled, its buffers and variables filled, its launches listed, its
//! results held against files.

mod compare;
mod element;
mod files;
mod fill;
mod schedule;
mod symbol;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use compare::Tolerance;
use files::{Elements, Filling};
pub use symbol::Symbol;

use super::{Buffer, DeviceMemory, Output, Own, PtxSource, Verdict, Workload, ptx_header};
use crate::config::files::{folder_of, sha256};
use crate::config::kernel::{Amount, BufferSpec, Expect, Fill, MAX_BYTES, Scalar, Scope};
use crate::config::parse::{read_text, without_mark};
use crate::config::{KernelSpec, Origin};
use crate::error::{Error, Result};
use crate::nvrtc::Nvrtc;

/// Where a workload's files are, and what makes PTX of CUDA C++.
pub(super) struct Surroundings<'a> {
    /// Where the specification comes from; its files are relative to its folder.
    pub origin: &'a Origin,
    /// NVRTC's path, where it is given.
    pub nvrtc: Option<&'a Path>,
    /// Seed of everything random.
    pub seed: u64,
}

/// A buffer whose size is known.
struct Sized<'a> {
    name: &'a str,
    spec: &'a BufferSpec,
    shape: Vec<u64>,
    /// Elements.
    count: u64,
    /// The file that fills it.
    file: Option<Filling<'a>>,
}

impl Sized<'_> {
    fn element(&self) -> Scalar {
        self.spec.element
    }

    fn bytes(&self) -> u64 {
        self.count * self.element().bytes()
    }
}

/// Fills the buffers and lists the launches.
pub(super) fn build(spec: &KernelSpec, around: &Surroundings) -> Result<Workload> {
    let scope = spec.scope().map_err(|why| point(around.origin, "workload", why))?;
    let mut digests = BTreeMap::new();
    let ptx = ptx(spec, around, &mut digests)?;
    let sized = spec
        .buffers
        .iter()
        .map(|(name, buffer)| size(name, buffer, &scope, around))
        .collect::<Result<Vec<_>>>()?;
    let mut memory = allocate(&sized, around)?;
    let buffers: Vec<Buffer> =
        sized.iter().map(|one| memory.allocate(one.name, one.bytes())).collect();

    let schedule = schedule::expand(spec, scope.clone(), &ptx, &buffers)
        .map_err(|why| point(around.origin, "workload", why))?;
    let (mut outputs, mut checks) = (Vec::new(), Vec::new());
    for (index, one) in sized.iter().enumerate() {
        // What the name means after the last launch.
        let buffer = buffers[schedule.names[index]];
        if let Some(file) = &one.spec.output {
            let (element, shape) = (one.element(), one.shape.clone());
            outputs.push(Output { file: file.clone(), buffer, element, shape });
        }
        if let Some(expect) = &one.spec.expect {
            checks.push(expected(one, buffer, expect, &scope, around, &mut digests)?);
        }
    }
    for (one, buffer) in sized.into_iter().zip(&buffers) {
        fill_one(one, *buffer, &mut memory, &scope, around, &mut digests)?;
    }
    let symbols = spec
        .symbols
        .iter()
        .map(|(name, symbol)| Symbol::new(name, symbol, &scope, around, &mut digests))
        .collect::<Result<_>>()?;
    let (places, limit, checks_spec) =
        (schedule.places, Some(spec.instruction_limit.get()), spec.checks);
    let own = Own { places, limit, checks: checks_spec, symbols, outputs, digests };
    Ok(Workload {
        name: "kernel".to_owned(),
        memory,
        launches: schedule.launches,
        check: Box::new(move |memory| {
            let mut elements = 0;
            for check in &checks {
                elements += check.hold_against(memory)?;
            }
            Ok(Verdict { elements })
        }),
        own,
    })
}

/// An error about the field that the words in front of the first colon name.
fn point(origin: &Origin, path: &str, why: String) -> Error {
    match why.split_once(": ") {
        Some((field, why)) => origin.point(&format!("{path}.{field}"), Error::input(why)),
        None => origin.point(path, Error::input(why)),
    }
}

/// The kernel's PTX: read, or made of CUDA C++.
fn ptx(
    spec: &KernelSpec,
    around: &Surroundings,
    digests: &mut BTreeMap<String, String>,
) -> Result<Arc<PtxSource>> {
    let path = around.origin.folder().join(&spec.source);
    let at_source = |error: Error| match &error.location {
        // A mistake in the kernel has its own place.
        Some(place) if place.position.is_some() => error,
        _ => around.origin.point("workload.source", error),
    };
    let text = read_text(&path).map_err(at_source)?;
    digests.insert(format!("{}: sha256", spec.source), sha256(&text));
    if !spec.source.ends_with(".cu") {
        return Ok(Arc::new(PtxSource { path, text: without_mark(text) }));
    }
    let (ptx, compiler) = {
        let options = (&spec.options[..], around.origin.folder());
        compile(&path, &text, options, around.nvrtc).map_err(at_source)?
    };
    digests.insert(format!("{}: compiler", spec.source), compiler);
    digests.insert(format!("{}: PTX sha256", spec.source), sha256(&ptx));
    // Messages name lines of the PTX, which is in no file.
    let mut name = path.into_os_string();
    name.push(" (PTX)");
    Ok(Arc::new(PtxSource { path: name.into(), text: ptx }))
}

/// PTX of CUDA C++, and the compiler that made it, with options whose paths are relative to a folder.
pub fn compile(
    path: &Path,
    text: &str,
    options: (&[String], &Path),
    nvrtc: Option<&Path>,
) -> Result<(String, String)> {
    let elsewhere = "or compile it elsewhere, with nvcc -ptx, and name the .ptx";
    let nvrtc = Nvrtc::load(nvrtc).map_err(|error| error.also_hint(elsewhere))?;
    Ok((compile_by(&nvrtc, path, text, options)?, nvrtc.version()))
}

/// The same, by a compiler that is loaded. Headers are looked for beside the source, too.
pub fn compile_by(
    nvrtc: &Nvrtc,
    path: &Path,
    text: &str,
    (options, folder): (&[String], &Path),
) -> Result<String> {
    let include = format!("--include-path={}", folder_of(path).display());
    let mut all = match options {
        [] => ptx_header::OPTIONS.map(str::to_owned).to_vec(),
        options => relative_to(folder, options),
    };
    all.push(include);
    nvrtc.compile(&path.display().to_string(), text, &all)
}

/// Compiler options whose folders of headers are relative to `folder`.
fn relative_to(folder: &Path, options: &[String]) -> Vec<String> {
    const FOLDERS: [&str; 3] = ["--include-path=", "-I=", "-I"];
    let mut is_folder = false;
    let mut resolved = |option: &String| {
        let prefix = if is_folder {
            Some("")
        } else {
            FOLDERS.into_iter().find(|prefix| option.starts_with(prefix))
        };
        // The folder may be the next word.
        is_folder = !is_folder && ["-I", "--include-path"].contains(&option.as_str());
        match prefix {
            Some(prefix) if !is_folder => {
                format!("{prefix}{}", folder.join(&option[prefix.len()..]).display())
            }
            _ => option.clone(),
        }
    };
    options.iter().map(&mut resolved).collect()
}

/// Finds out how large a buffer is, which a file may say.
fn size<'a>(
    name: &'a str,
    spec: &'a BufferSpec,
    scope: &Scope,
    around: &Surroundings,
) -> Result<Sized<'a>> {
    let path = format!("workload.buffers.{name}");
    let stated = spec.shape(scope).map_err(|why| point(around.origin, &path, why))?;
    let product = |shape: &[u64]| shape.iter().product::<u64>();
    let file = Filling::open(&spec.fill, spec.element, around.origin)
        .map_err(|error| around.origin.point(&format!("{path}.fill"), error))?;
    if let (Some(stated), Some(file)) = (&stated, &file)
        && product(stated) != file.count
    {
        let why = format!("{} elements, but {} has {}", product(stated), file.written, file.count);
        return Err(around.origin.point(&format!("{path}.elements"), Error::input(why)));
    }
    let shape = stated.unwrap_or_else(|| match (&file, &spec.fill) {
        (Some(file), _) => file.shape.clone(),
        (None, Fill::Values(values)) => vec![values.len() as u64],
        (None, _) => unreachable!("checked"),
    });
    Ok(Sized { name, spec, count: product(&shape), shape, file })
}

/// Memory that has room for all buffers, so that what is out of all measure is an error at once.
fn allocate(sized: &[Sized], around: &Surroundings) -> Result<DeviceMemory> {
    let mut memory = DeviceMemory::default();
    let padding = 2 * DeviceMemory::ALIGN;
    let bytes = sized
        .iter()
        .try_fold(0u64, |all, one| all.checked_add(one.bytes())?.checked_add(padding))
        .filter(|bytes| *bytes <= MAX_BYTES);
    let Some(bytes) = bytes else {
        let error = Error::input(format!("more than {MAX_BYTES} bytes in all"));
        return Err(around.origin.point("workload.buffers", error));
    };
    match memory.reserve(bytes) {
        true => Ok(memory),
        false => {
            let error = Error::run(format!("{bytes} bytes in all, which the system does not give"));
            Err(around.origin.point("workload.buffers", error))
        }
    }
}

fn fill_one(
    one: Sized,
    buffer: Buffer,
    memory: &mut DeviceMemory,
    scope: &Scope,
    around: &Surroundings,
    digests: &mut BTreeMap<String, String>,
) -> Result<()> {
    let path = format!("workload.buffers.{}.fill", one.name);
    let element = one.element();
    if let Fill::Ring { step, .. } = &one.spec.fill {
        let step = step.whole(scope).expect("checked") as usize;
        memory.mark_addresses(buffer, step * element.bytes() as usize);
    }
    let place = memory.of_mut(buffer);
    let Some(file) = one.file else {
        return fill::fill(
            place,
            buffer.address,
            element,
            &one.spec.fill,
            scope,
            around.seed,
            one.name,
        )
        .map_err(|why| around.origin.point(&path, Error::input(why)));
    };
    let name = format!("{}: sha256", file.written);
    let digest = file.read(place).map_err(|error| around.origin.point(&path, error))?;
    digests.insert(name, digest);
    Ok(())
}

/// A buffer and what it must hold after the last launch.
struct Compared {
    buffer: Buffer,
    element: Scalar,
    shape: Vec<u64>,
    want: Vec<u8>,
    tolerance: Tolerance,
    path: String,
    file: String,
    origin: Origin,
}

impl Compared {
    /// The elements that were compared; an error names the first difference.
    fn hold_against(&self, memory: &DeviceMemory) -> Result<u64> {
        let have = memory.of(self.buffer);
        let (want, file) = (&self.want, &self.file);
        compare::compare(self.element, &self.shape, have, want, file, self.tolerance)
            .map_err(|why| self.origin.point(&self.path, Error::run(why)))?;
        Ok(self.shape.iter().product())
    }
}

/// Reads an expected file before anything runs.
fn expected(
    one: &Sized,
    buffer: Buffer,
    expect: &Expect,
    scope: &Scope,
    around: &Surroundings,
    digests: &mut BTreeMap<String, String>,
) -> Result<Compared> {
    let path = format!("workload.buffers.{}.expect", one.name);
    let refuse = |error: Error| around.origin.point(&path, error);
    let file = around.origin.folder().join(&expect.file);
    let elements = Elements::open(&file, false).map_err(refuse)?;
    let header = elements.header.as_ref().expect("a .npy file has one");
    if !header.has(one.element()) || header.count != one.count {
        let error = Error::input(format!(
            "has {} elements of type {}, but the buffer has {} of type {}",
            header.count,
            header.type_name(),
            one.count,
            one.element()
        ));
        return Err(refuse(error.in_file(&file)));
    }
    let tolerance = |amount: &Amount| amount.real(scope).map_err(|why| refuse(Error::input(why)));
    let tolerance = Tolerance {
        absolute: tolerance(&expect.absolute)?,
        relative: tolerance(&expect.relative)?,
    };
    // No larger than the buffer, whose size has been checked.
    let mut want = vec![0; elements.bytes as usize];
    let digest = elements.read(&file, one.element().bytes(), &mut want).map_err(refuse)?;
    digests.insert(format!("{}: sha256", expect.file), digest);
    Ok(Compared {
        buffer,
        element: one.element(),
        shape: one.shape.clone(),
        want,
        tolerance,
        file: expect.file.clone(),
        origin: around.origin.clone(),
        path,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_headers_are_relative_to_the_run_file() {
        let options = ["-Iinc", "-I", "more", "--include-path=/usr/include", "-DI=4", "-I=../up"];
        let seen = relative_to(Path::new("runs"), &options.map(str::to_owned));
        let want = [
            "-Iruns/inc",
            "-I",
            "runs/more",
            "--include-path=/usr/include",
            "-DI=4",
            "-I=runs/../up",
        ];
        assert_eq!(seen, want);
    }
}
