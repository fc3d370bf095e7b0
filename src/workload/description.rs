//! How a workload is described.

/// What `gsim workload list` says about a workload.
#[derive(Clone, Copy, Debug)]
pub struct Description {
    /// Its name in a run file.
    pub name: &'static str,
    /// What it computes, in one line.
    pub summary: &'static str,
    /// Its parameters, in the order of its specification.
    pub parameters: &'static [Parameter],
    /// It as a run file may have it.
    pub example: &'static str,
}

/// A parameter of a workload.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name in a run file; `workload.` in front makes the path of an override.
    pub name: &'static str,
    /// What it means, with unit and range.
    pub meaning: &'static str,
    /// Its value where the run file says nothing, as RON; `None` where the run file must say it.
    pub default: Option<&'static str>,
}
