//! A question to the simulator and to a GPU, with both answers.

/// One question with both answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// The benchmark's place in its file.
    pub benchmark: usize,
    /// The label of its point on each axis.
    pub labels: Vec<String>,
    /// Unit of the values.
    pub unit: String,
    /// The simulator's answer.
    pub simulated: f64,
    /// The GPU's, with its spread; none where it was not asked.
    pub measured: Option<[f64; 3]>,
}

impl Compared {
    /// (simulated - measured) / measured.
    pub fn error(&self) -> Option<f64> {
        self.measured.map(|[_, measured, _]| self.simulated / measured - 1.0)
    }
}
