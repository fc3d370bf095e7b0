//! The header of a PTX file in the repository: what it was made of, by which compiler and how.

use crate::config::files::sha256;

/// Compiler options of the PTX in the repository.
///
/// compute_75 is the oldest target of CUDA 13. PTX is a virtual instruction set: the kernels use
/// nothing that older chips lack.
pub const OPTIONS: [&str; 1] = ["--gpu-architecture=compute_75"];

const HASH: &str = "// source sha256: ";
const COMPILER: &str = "// compiler: ";
const MADE_WITH: &str = "// options: ";

/// Puts the header in front of a compiler's PTX.
///
/// `options` are those of the compiler, or none for [`OPTIONS`].
pub fn add(
    source_name: &str,
    source: &str,
    compiler: &str,
    options: &[String],
    ptx: &str,
) -> String {
    let options = if options.is_empty() { OPTIONS.join(" ") } else { options.join(" ") };
    let hash = sha256(source);
    format!(
        "// Made by `gsim workload build`; do not edit.\n\
         // source: {source_name}\n\
         {HASH}{hash}\n\
         {COMPILER}{compiler}\n\
         {MADE_WITH}{options}\n\
         {}\n",
        ptx.trim_end()
    )
}

/// The SHA-256 of the source that a PTX file was made of, from its header.
pub fn source_sha256(ptx: &str) -> Option<&str> {
    stated(ptx, HASH)
}

/// The compiler that made a PTX file, from its header.
pub fn compiler(ptx: &str) -> Option<&str> {
    stated(ptx, COMPILER)
}

/// The options that a PTX file was made with, from its header.
pub fn options(ptx: &str) -> Vec<String> {
    let options = stated(ptx, MADE_WITH).unwrap_or_default();
    options.split_whitespace().map(str::to_owned).collect()
}

/// What a line of the header says.
fn stated<'a>(ptx: &'a str, what: &str) -> Option<&'a str> {
    ptx.lines().take_while(|line| line.starts_with("//")).find_map(|line| line.strip_prefix(what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_states_what_was_put_in() {
        let ptx = add("a.cu", "abc", "NVRTC 13.0", &[], ".version 9.0\n\n");
        // The SHA-256 of "abc" in FIPS 180-2, appendix B.1.
        let hash = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(source_sha256(&ptx), Some(hash));
        assert_eq!(compiler(&ptx), Some("NVRTC 13.0"));
        assert!(ptx.ends_with("compute_75\n.version 9.0\n"));
        assert_eq!(options(&ptx), OPTIONS);
        let own = ["-Iinc", "-DN=4"].map(str::to_owned);
        assert_eq!(options(&add("a.cu", "abc", "NVRTC 13.0", &own, "")), own);
        assert_eq!(source_sha256(".version 9.0\n// source sha256: 1"), None);
    }
}
