//! The examples of a user's own kernel: their data are what is said here, and they run from end to end.

use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use gsim::config::kernel::Scalar;
use gsim::workload::npy::Header;
use serde_json::Value;
use tempfile::TempDir;

const ROWS: usize = 2048;

/// SplitMix64 of Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// In -1..1, a multiple of 2^-10, so that products are exact in single precision.
    fn small(&mut self) -> f32 {
        ((self.next() % 2048) as f32 - 1024.0) / 1024.0
    }
}

/// The files of the example: a random sparse matrix whose rows have 4, 8, 16, 32 or 64 elements, each length
/// half as likely as the one before it; a random vector; their product, summed in double precision.
fn spmv_files() -> Vec<(&'static str, Vec<u8>)> {
    let mut random = SplitMix(480);
    let (mut offsets, mut columns, mut values) = (vec![0i32], Vec::new(), Vec::new());
    for _ in 0..ROWS {
        let length = 4usize << (random.next() | 16).trailing_zeros();
        let mut row: Vec<i32> = Vec::new();
        while row.len() < length {
            let column = (random.next() % ROWS as u64) as i32;
            if !row.contains(&column) {
                row.push(column);
            }
        }
        row.sort();
        values.extend(row.iter().map(|_| random.small()));
        columns.extend(row);
        offsets.push(columns.len() as i32);
    }
    let x: Vec<f32> = (0..ROWS).map(|_| random.small()).collect();
    let product = |row: usize| {
        let range = offsets[row] as usize..offsets[row + 1] as usize;
        let terms = range.map(|i| f64::from(values[i]) * f64::from(x[columns[i] as usize]));
        terms.sum::<f64>() as f32
    };
    let y: Vec<f32> = (0..ROWS).map(product).collect();
    let ints = |numbers: &[i32]| -> Vec<u8> {
        let bytes = numbers.iter().flat_map(|number| number.to_le_bytes());
        Header::write(Scalar::I32, &[numbers.len() as u64]).into_iter().chain(bytes).collect()
    };
    let floats = |numbers: &[f32]| -> Vec<u8> {
        let bytes = numbers.iter().flat_map(|number| number.to_le_bytes());
        Header::write(Scalar::F32, &[numbers.len() as u64]).into_iter().chain(bytes).collect()
    };
    vec![
        ("row_offsets.npy", ints(&offsets)),
        ("columns.npy", ints(&columns)),
        ("values.npy", floats(&values)),
        ("x.npy", floats(&x)),
        ("y.npy", floats(&y)),
    ]
}

fn runs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("configs/runs")
}

/// `GSIM_RENEW=1 cargo test --test kernel_examples` writes the files.
#[test]
fn the_matrix_in_the_repository_is_the_one_described_here() {
    let folder = runs().join("spmv");
    for (name, bytes) in spmv_files() {
        if std::env::var_os("GSIM_RENEW").is_some() {
            fs::write(folder.join(name), &bytes).unwrap();
        }
        assert!(fs::read(folder.join(name)).unwrap() == bytes, "{name}");
    }
}

#[test]
fn the_ptx_of_the_examples_is_made_of_their_sources() {
    let sources = [
        "spmv/spmv.cu",
        "heat/heat.cu",
        "convolution/convolution.cu",
        "tensor-matmul/tensor-matmul.cu",
        "warpgroup-matmul/warpgroup-matmul.cu",
        "tensor-map-matmul/tensor-map-matmul.cu",
        "fp8-matmul/fp8-matmul.cu",
        "pipeline/pipeline.cu",
    ]
    .map(|file| runs().join(file));
    let mut check = Command::cargo_bin("gsim").unwrap();
    check.args(["workload", "build", "--check"]).args(sources).assert().success();
}

/// Runs an example; gives its result folder and report.
fn run(name: &str, out: &Path, args: &[&str]) -> (PathBuf, Value) {
    let file = runs().join(format!("{name}.ron"));
    let output = Command::cargo_bin("gsim")
        .unwrap()
        .arg("run")
        .arg(file)
        .args(["--quiet", "--no-plots", "--out"])
        .arg(out)
        .args(args)
        .output()
        .unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), error.as_str()), (Some(0), ""));
    let folder = out.join(name);
    let report = serde_json::from_slice(&fs::read(folder.join("report.json")).unwrap()).unwrap();
    (folder, report)
}

/// Shape and elements of an output.
fn output(folder: &Path, name: &str) -> (Vec<u64>, Vec<f32>) {
    let bytes = fs::read(folder.join("outputs").join(name)).unwrap();
    let header = Header::read(&mut &bytes[..], bytes.len() as u64).unwrap();
    assert_eq!(header.element, Scalar::F32);
    let numbers = bytes[header.offset as usize..].chunks_exact(4);
    let numbers = numbers.map(|number| f32::from_le_bytes(number.try_into().unwrap())).collect();
    (header.shape, numbers)
}

#[test]
fn the_sparse_product_is_the_expected_one() {
    let out = TempDir::new().unwrap();
    let (folder, report) = run("spmv", out.path(), &[]);
    assert_eq!(report["check"]["elements"], ROWS as u64);
    let (shape, y) = output(&folder, "y.npy");
    assert_eq!((shape, y.len()), (vec![ROWS as u64], ROWS));
    // The report names every file that took part, as the run file does.
    let versions = report["inputs"]["versions"].as_object().unwrap();
    let names: Vec<&str> = versions.keys().map(String::as_str).collect();
    let want = ["columns.npy", "row_offsets.npy", "spmv.ptx", "values.npy", "x.npy", "y.npy"];
    assert_eq!(names, want.map(|file| format!("spmv/{file}: sha256")));
    // The same again, whatever the folder that gsim is started in.
    let again = TempDir::new().unwrap();
    let (second, _) = run("spmv", again.path(), &[]);
    for file in ["report.json", "outputs/y.npy"] {
        assert!(fs::read(folder.join(file)).unwrap() == fs::read(second.join(file)).unwrap());
    }
}

#[test]
fn the_heat_spreads_as_on_the_host() {
    let out = TempDir::new().unwrap();
    // An odd and an even number of swaps: `now` is what the last step wrote, either way.
    let steps = |count: usize| {
        let set = format!("workload.parameters.steps={count}");
        let (folder, report) = run("heat", out.path(), &["--set", &set]);
        assert_eq!(report["kernels"].as_array().unwrap().len(), 1 + count);
        assert_eq!(report["check"]["elements"], 0);
        let (shape, grid) = output(&folder, "heat.npy");
        assert_eq!(shape, [128, 128]);
        grid
    };
    let n = 128;
    let mut grid = steps(0);
    assert!(grid[..n].iter().all(|hot| *hot == 100.0));
    assert!(grid[n..].iter().all(|cold| (0.0..1.0).contains(cold)));
    for count in 1..=3 {
        let mut next = grid.clone();
        for i in (1..n - 1).flat_map(|row| (1..n - 1).map(move |column| row * n + column)) {
            // As the kernel adds them.
            next[i] = 0.25 * (grid[i - 1] + grid[i + 1] + grid[i - n] + grid[i + n]);
        }
        grid = next;
        // The border of `next` is zero before the first step and copied by every step.
        assert!(steps(count) == grid, "{count}");
    }
}

#[test]
fn the_product_of_tensor_cores_is_that_of_the_host() {
    let out = TempDir::new().unwrap();
    // Rows and columns of a tile, and what is deep enough for several. Every number is exact in half precision, and every sum in single
    // precision.
    for (name, size, depth) in
        [("tensor-matmul", 64, 64), ("warpgroup-matmul", 128, 192), ("tensor-map-matmul", 128, 384)]
    {
        let set = |a: &str, b: &str| {
            let fills = [("a", a), ("b", b)]
                .map(|(name, fill)| format!("workload.buffers.{name}.fill={fill}"));
            let sizes = [("rows", size), ("columns", size), ("depth", depth)];
            let sizes = sizes.map(|(name, size)| format!("workload.parameters.{name}={size}"));
            let all = fills.iter().chain(&sizes).flat_map(|set| ["--set", set]).collect::<Vec<_>>();
            let (folder, _) = run(name, out.path(), &all);
            output(&folder, "product.npy")
        };
        let (shape, by_column) = set("Constant(0.5)", "Iota(start: 0, step: 0.0625)");
        assert_eq!(shape, [size as u64, size as u64]);
        let in_half = |number: f32| {
            // Beyond 2048 sixteenths half precision has eighths, and so on.
            let bits = (number.log2().floor() - 10.0).max(-24.0).exp2();
            (number / bits).round_ties_even() * bits
        };
        for (index, sum) in by_column.iter().enumerate() {
            let number = |row: usize| in_half((row * size + index % size) as f32 * 0.0625);
            let want: f32 = (0..depth).map(|row| 0.5 * number(row)).sum();
            assert_eq!(*sum, want, "{name} {index}");
        }
        let (_, by_row) = set("Iota(start: 0, step: 0.0625)", "Constant(0.5)");
        for (index, sum) in by_row.iter().enumerate() {
            let number = |column: usize| in_half((index / size * depth + column) as f32 * 0.0625);
            let want: f32 = (0..depth).map(|column| 0.5 * number(column)).sum();
            assert_eq!(*sum, want, "{name} {index}");
        }
    }
}

/// A number in `.e4m3`: four bits, or fewer below 2^-6.
fn in_e4m3(number: f64) -> f64 {
    let bits = (number.abs().log2().floor().max(-6.0) - 3.0).exp2();
    (number / bits).round_ties_even() * bits
}

#[test]
fn the_product_of_short_numbers_is_that_of_the_host_but_for_bits_that_tensor_cores_lack() {
    let out = TempDir::new().unwrap();
    let (size, depth) = (128, 384);
    let sizes = [("rows", size), ("columns", size), ("depth", depth)];
    let sizes = sizes.map(|(name, size)| format!("workload.parameters.{name}={size}"));
    let fills = [
        "workload.buffers.a.fill=Iota(start: -1.5, step: 0.0000625)".to_owned(),
        "workload.buffers.b.fill=Iota(start: 2, step: -0.00003125)".to_owned(),
    ];
    let all = fills.iter().chain(&sizes).flat_map(|set| ["--set", set]).collect::<Vec<_>>();
    let (folder, _) = run("fp8-matmul", out.path(), &all);
    let (shape, product) = output(&folder, "product.npy");
    assert_eq!(shape, [size as u64; 2]);
    let row = |row: usize, start: f64, step: f64| -> Vec<f64> {
        (row * depth..(row + 1) * depth).map(|at| in_e4m3(start + at as f64 * step)).collect()
    };
    let (mut exact, mut near) = (0, 0);
    for i in 0..size {
        let a = row(i, -1.5, 0.0000625);
        for j in 0..size {
            let terms = a.iter().zip(row(j, 2.0, -0.00003125)).map(|(a, b)| a * b);
            let (want, sizes) =
                terms.fold((0.0, 0.0), |(sum, sizes), term: f64| (sum + term, sizes + term.abs()));
            let error = (f64::from(product[i * size + j]) - want).abs();
            // Terms and sums are cut off 13 bits behind the point of the greatest, four times a tile.
            assert!(error <= sizes * 2f64.powi(-9), "{i} {j}: {error} of {sizes}");
            *(if error == 0.0 { &mut exact } else { &mut near }) += 1;
        }
    }
    assert!(exact > 0 && near > 1000, "{exact} {near}");
}

#[test]
fn a_pipeline_of_copies_gives_the_polynomial_of_the_host() {
    let out = TempDir::new().unwrap();
    let fill = "workload.buffers.x.fill=Iota(start: -1, step: 0.001)";
    let sizes = ["workload.parameters.tiles=37", "workload.parameters.ctas=5"];
    for entry in ["workload.launches.0.entry=pipeline", "workload.launches.0.entry=in_bulk"] {
        let all = [fill, entry, sizes[0], sizes[1]].map(|set| ["--set", set]).concat();
        let (folder, report) = run("pipeline", out.path(), &all);
        let (_, values) = output(&folder, "y.npy");
        assert_eq!(values.len(), 37 * 512);
        for (index, value) in values.iter().enumerate() {
            let x = (-1.0 + 0.001 * index as f64) as f32;
            let sum = (0..8).fold(1.0, |sum: f32, _| sum.mul_add(x, 1.0));
            assert_eq!(*value, sum, "{entry} {index}");
        }
        // Each of the warps that compute waits for every tile, and the one that copies for every tile that is free again.
        assert!(report["ledgers"]["issue"]["parts"]["barrier"].as_u64().unwrap() > 0);
    }
}

#[test]
fn a_machine_without_a_unit_for_bulk_copies_refuses_them() {
    let out = TempDir::new().unwrap();
    let mut refused = Command::cargo_bin("gsim").unwrap();
    refused.arg("run").arg(runs().join("pipeline.ron")).args(["--set", "machine=a100"]);
    refused.args(["--set", "workload.launches.0.entry=in_bulk", "--out"]).arg(out.path());
    let output = refused.output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(error.contains("begins a bulk copy, but the A100"), "{error}");
    assert!(!out.path().join("pipeline").exists());
}

#[test]
fn a_machine_without_tensor_cores_refuses_products_of_matrices() {
    let out = TempDir::new().unwrap();
    let file = runs().join("tensor-matmul.ron");
    let mut refused = Command::cargo_bin("gsim").unwrap();
    refused.arg("run").arg(file).args(["--set", "machine=gtx480", "--out"]).arg(out.path());
    let output = refused.output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        error.contains(
            "multiplies matrices, but the GeForce GTX 480 is a machine without tensor cores"
        ),
        "{error}"
    );
    assert!(!out.path().join("tensor-matmul").exists());
}

#[test]
fn a_machine_before_hopper_refuses_products_of_warpgroups() {
    let out = TempDir::new().unwrap();
    let mut refused = Command::cargo_bin("gsim").unwrap();
    refused.arg("run").arg(runs().join("warpgroup-matmul.ron")).args(["--set", "machine=a100"]);
    let output = refused.arg("--out").arg(out.path()).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        error.contains("multiplies matrices by warpgroups, but the A100 is a machine without"),
        "{error}"
    );
    assert!(error.contains("use a machine with `sm.arithmetic.tensor.warpgroups`"), "{error}");
}

#[test]
fn the_image_is_blurred_as_on_the_host() {
    let out = TempDir::new().unwrap();
    let (folder, report) = run("convolution", out.path(), &[]);
    let (shape, blurred) = output(&folder, "blurred.npy");
    assert_eq!(shape, [96, 160]);
    // One in the middle leaves the image as it is.
    let zeros = "0, ".repeat(12);
    let pass = format!("workload.symbols.coefficients.fill=Values([{zeros}1, {zeros}])");
    let (same, _) = run("convolution", out.path(), &["--set", &pass]);
    let (_, image) = output(&same, "blurred.npy");
    let binomial = [1.0, 4.0, 6.0, 4.0, 1.0];
    let at = |row: usize, column: usize| {
        let mut sum = 0f32;
        for (i, j) in (0..5).flat_map(|i| (0..5).map(move |j| (i, j))) {
            let (y, x) = (row + i, column + j);
            if (2..96 + 2).contains(&y) && (2..160 + 2).contains(&x) {
                let coefficient: f32 = binomial[i] * binomial[j] / 256.0;
                sum = coefficient.mul_add(image[(y - 2) * 160 + x - 2], sum);
            }
        }
        sum
    };
    for (index, point) in blurred.iter().enumerate() {
        assert_eq!(*point, at(index / 160, index % 160), "{index}");
    }
    assert_eq!(report["check"]["elements"], 0);
}

#[test]
fn an_example_can_be_the_run_of_a_study() {
    let folder = TempDir::new().unwrap();
    let run = runs().join("heat.ron");
    let study = format!(
        r#"Study(
            name: "sizes",
            run: {run:?},
            axes: [Field(path: "workload.parameters.n", values: [32, 64])],
        )"#
    );
    fs::write(folder.path().join("sizes.ron"), study).unwrap();
    Command::cargo_bin("gsim")
        .unwrap()
        .current_dir(folder.path())
        .args(["study", "sizes.ron", "--quiet"])
        .assert()
        .success();
    let table = fs::read_to_string(folder.path().join("results/sizes/runs.csv")).unwrap();
    let column = |line: &str| line.split(',').map(str::to_owned).collect::<Vec<_>>();
    let rows: Vec<Vec<String>> = table.lines().map(column).collect();
    assert_eq!(rows[0][..2], ["workload.parameters.n", "totals.cycles"]);
    assert_eq!((rows[1][0].as_str(), rows[2][0].as_str()), ("32", "64"));
    assert!(rows[1][1] != rows[2][1], "{table}");
}

/// What `gsim workload show` prints.
fn show(what: &str) -> String {
    let output = Command::cargo_bin("gsim")
        .unwrap()
        .current_dir(runs())
        .args(["workload", "show", what])
        .output()
        .unwrap();
    assert!(output.status.success(), "{what}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_kernel_is_shown_by_its_own_file_and_by_its_run_file() {
    let shown = show("spmv/spmv.ptx");
    for part in [
        "spmv/spmv.ptx\n",
        "\nentry spmv_csr\n",
        ".u32  spmv_csr_param_0  4 bytes\n",
        ".u64  spmv_csr_param_5  8 bytes\n",
        " registers a thread\n",
        "float multiply-add 5, ",
        "global store 1, ",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert_eq!(show("spmv.ron"), shown);
    assert!(!shown.contains("variables"), "{shown}");
    let convolution = show("convolution.ron");
    let variables = "\n\nvariables\n   constant  coefficients  100 bytes\n";
    assert!(convolution.ends_with(variables), "{convolution}");
    let heat = show("heat.ron");
    assert!(heat.contains("entry jacobi\n") && heat.contains("entry heat_border\n"), "{heat}");
}

#[test]
fn the_run_file_that_a_workload_shows_runs() {
    for workload in gsim::workload::catalogue::WORKLOADS {
        let shown = show(workload.name);
        let (_, run) = shown.split_once("A run file:\n").unwrap();
        let folder = TempDir::new().unwrap();
        fs::write(folder.path().join("run.ron"), run).unwrap();
        gsim::config::load_run(&folder.path().join("run.ron"), &[]).unwrap();
    }
    let error = Command::cargo_bin("gsim").unwrap().args(["workload", "show", "kernal"]).output();
    let error = error.unwrap();
    assert_eq!(error.status.code(), Some(2));
    let text = String::from_utf8(error.stderr).unwrap();
    assert!(
        text.starts_with("error: no workload is called \"kernal\" (hint: did you mean Kernel?")
    );
}

#[test]
fn a_stored_report_is_read_back() {
    for name in ["spmv", "heat"] {
        let run = gsim::config::load_run(&runs().join(format!("{name}.ron")), &[]).unwrap();
        let report =
            gsim::simulate::simulate(&run, gsim::gpu::Stepping::SkipAhead, &mut |_| ()).unwrap();
        let out = TempDir::new().unwrap();
        let folder = report.save(out.path(), gsim::report::Pictures::None).unwrap();
        assert!(gsim::report::Report::read(&folder).unwrap() == report, "{name}");
    }
}
