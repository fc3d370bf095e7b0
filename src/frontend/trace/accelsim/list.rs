//! `kernelslist.g`: what the traced program launched and copied, in order.

use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::config::parse::read_text;
use crate::error::{Error, Result};

/// What a list names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct List {
    /// The traces of the kernels, in the order of their launches.
    pub kernels: Vec<PathBuf>,
    /// Memory that the host wrote, in the order of addresses, without overlaps `[bytes]`.
    pub buffers: Vec<Range<u64>>,
}

impl List {
    /// Reads the list at `path`. The trace of one kernel is a list of itself.
    pub fn read(path: &Path) -> Result<Self> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with(".traceg") || name.ends_with(".traceg.xz") {
            return Ok(List { kernels: vec![path.to_owned()], buffers: Vec::new() });
        }
        let folder = path.parent().unwrap_or(Path::new(""));
        let mut list = List::default();
        for (number, line) in (1..).zip(read_text(path)?.lines()) {
            let line = line.trim();
            if line.starts_with("kernel") {
                list.kernels.push(folder.join(line));
            } else if let Some(copy) = line.strip_prefix("MemcpyHtoD,") {
                let buffer = buffer(copy).ok_or_else(|| {
                    Error::input(format!("{line:?} is no copy")).at(path, number, 1)
                })?;
                list.buffers.push(buffer);
            } else if !line.is_empty() && !line.starts_with("Memcpy") {
                return Err(Error::input(format!("{line:?} is neither a kernel nor a copy"))
                    .hint("a kernelslist.g of Accel-Sim is expected, or a kernel's .traceg")
                    .at(path, number, 1));
            }
        }
        list.buffers = merged(list.buffers);
        Ok(list)
    }
}

/// A copy's target: `0x00007efe7b500000,2052`.
fn buffer(copy: &str) -> Option<Range<u64>> {
    let (address, bytes) = copy.split_once(',')?;
    let start = u64::from_str_radix(address.trim().trim_start_matches("0x"), 16).ok()?;
    Some(start..start.checked_add(bytes.trim().parse().ok()?)?)
}

fn merged(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_by_key(|range| range.start);
    let mut merged: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_that_touch_are_one_buffer() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("kernelslist.g");
        let text = "MemcpyHtoD,0x00007efe00000100,256\nkernel-1.traceg\n\nMemcpyDtoH,0x0,4\n\
                    MemcpyHtoD,0x00007efe00000000,256\nMemcpyHtoD,0x0,4\nkernel-2.traceg.xz\n";
        std::fs::write(&path, text).unwrap();
        let list = List::read(&path).unwrap();
        assert_eq!(list.buffers, [0..4, 0x7efe_0000_0000..0x7efe_0000_0200]);
        let kernels =
            ["kernel-1.traceg", "kernel-2.traceg.xz"].map(|name| folder.path().join(name));
        assert_eq!(list.kernels, kernels);
        std::fs::write(&path, "kernel-1.traceg\nwhatever\n").unwrap();
        let error = List::read(&path).unwrap_err().to_string();
        assert!(
            error.contains("kernelslist.g:2:1: \"whatever\" is neither a kernel nor a copy"),
            "{error}"
        );
    }
}
