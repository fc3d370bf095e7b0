//! What makes numbers of two reports unlike.

use crate::config::WorkloadSpec;
use crate::report::Report;
use crate::report::number::thousands;

/// Of these reports, a clause each.
pub fn remarks(names: &[String], reports: &[&Report]) -> Vec<String> {
    let mut remarks = Vec::new();
    let what = |report: &Report| match &report.inputs.workload {
        WorkloadSpec::Kernel(kernel) => (true, kernel.source.clone()),
        _ => (false, report.workload_line().split(':').next().unwrap_or_default().to_owned()),
    };
    if reports.iter().any(|report| what(report) != what(reports[0])) {
        remarks
            .push("the workloads are others: rates and shares compare, amounts do not".to_owned());
    }
    let launches: Vec<u64> = reports.iter().map(|report| launch_cycles(report)).collect();
    if launches.contains(&0) && launches.iter().any(|&cycles| cycles > 0) {
        let each = names.iter().zip(&launches);
        let each = each.map(|(name, &cycles)| format!("{name} {}", thousands(cycles)));
        remarks.push(format!(
            "a launch alone takes cycles on one machine and none on the other ({}): launch.latency and launch.completion",
            each.collect::<Vec<_>>().join(", ")
        ));
    }
    remarks
}

/// What a launch takes before and behind its kernels [core cycles].
fn launch_cycles(report: &Report) -> u64 {
    let launch = &report.inputs.machine.launch;
    launch.latency.cycles() + launch.completion.cycles()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::parse::stated;
    use crate::config::presets;
    use crate::report::sample;

    #[test]
    fn what_is_unlike_is_said() {
        let names = ["a".to_owned(), "b".to_owned()];
        let base = sample::report();
        assert_eq!(remarks(&names, &[&base, &base]), [""; 0]);
        let mut other = base.clone();
        other.inputs.machine = presets::find("h100").unwrap().machine().unwrap();
        let [launch] = remarks(&names, &[&base, &other]).try_into().unwrap();
        assert!(launch.contains("(a 0, b 5,340)"), "{launch}");
        let mut other = base.clone();
        other.inputs.workload = stated("Matmul(element: Int)");
        let [workload] = remarks(&names, &[&base, &other]).try_into().unwrap();
        assert!(workload.starts_with("the workloads are others"), "{workload}");
        // Another element is the same application.
        other.inputs.workload = stated("Stencil1d(element: Int)");
        assert_eq!(remarks(&names, &[&base, &other]), [""; 0]);
    }
}
