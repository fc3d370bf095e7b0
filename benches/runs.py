#!/usr/bin/env python3
"""Measures the speed and the memory of gsim by a fixed list of runs, and prints the tables of results/performance.

    benches/runs.py                          every run, on one and on two threads
    benches/runs.py --only chase 'stencil*'  these runs; the rows of the others stay as they are
    benches/runs.py --scaling-threads        the table of threads: larger runs on 1, 2, 4, 8 and 16 threads

The rows go into results/performance/runs.csv, those of --scaling-threads into threads.csv beside it. Both tables are
those of one host and one program: measure everything anew when either changes.

Seconds are the wall time of the whole process, the best of several; the thread counts of a run take turns. The peak is the
largest resident set of these processes. Buffers are what the workload's buffers hold together; synthetic patterns have
addresses and no bytes. Needs the release binary, and Linux or another system whose `wait4` tells the peak in KiB.
"""

import argparse
import ast
import csv
import fnmatch
import glob
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = os.path.join(ROOT, "results", "performance")
COLUMNS = ["run", "settings", "machine", "threads", "warp_instructions", "seconds", "million_a_second", "peak_mib",
           "buffers_mib"]
MACHINES = ["gtx480", "gtx280", "gtx640", "v100", "h200"]
MIB = 1 << 20

# Runs of more seconds than this are measured a few times only.
LONG, TIMES_OF_LONG = 1.0, 3

# Million warp instructions a second on one thread: of a stencil on the GTX 480, and of every other run.
AIM_STENCIL, AIM = 5.0, 2.0


def stencil(element, *more):
    return ["stencil-char", f"workload.element={element}", *more]


LARGE = ["workload.elements=67108864", "workload.iterations=1"]
NEWER = ["gtx480", "v100", "h200"]

# Name: run file without its ending, fields to set; machines.
RUNS = {
    "stencil-int": (stencil("Int"), MACHINES),
    "stencil-short": (stencil("Short"), ["gtx480"]),
    "stencil-char": (stencil("Char"), MACHINES),
    "stencil-int-64Mi": (stencil("Int", *LARGE), ["gtx480"]),
    "stencil-char-64Mi": (stencil("Char", *LARGE), ["gtx480"]),
    "matmul": (["matmul"], ["gtx480"]),
    "matmul-192": (["matmul", "workload.size=192"], NEWER),
    "tensor-matmul": (["tensor-matmul"], ["h200"]),
    "warpgroup-matmul": (["warpgroup-matmul"], ["h200"]),
    "tensor-map-matmul": (["tensor-map-matmul"], ["h200"]),
    "fp8-matmul": (["fp8-matmul"], ["h200"]),
    "stereo": (["stereo"], ["gtx480"]),
    "stereo-96x72": (["stereo", "workload.width=96", "workload.height=72"], ["gtx480"]),
    "stream": (["stream"], NEWER),
    "gather": (["gather"], NEWER),
    "mixture": (["mixture"], ["gtx480"]),
    "spmv": (["spmv"], ["gtx480"]),
    "chase": (["chase"], ["gtx480"]),
    "chase-65536": (["chase", "workload.phases.0.accesses=65536"], ["gtx480"]),
    "heat": (["heat"], ["gtx480"]),
    "heat-1000-launches": (["heat", "workload.parameters.n=16", "workload.parameters.steps=1000"], ["gtx480", "h200"]),
}

# The same, for the table of threads.
SCALING = {
    "stencil-int-2Mi": (stencil("Int", "workload.elements=2097152"), ["gtx480"]),
    "stencil-char-2Mi": (stencil("Char", "workload.elements=2097152"), NEWER),
    "stream": (["stream"], ["gtx480"]),
    "mixture": (["mixture"], ["gtx480"]),
    "matmul": (["matmul"], ["gtx480"]),
}

# Starts the command and prints its seconds, its peak in KiB and its exit status. A process begins with the peak of the one that
# started it, so a small one has to: an interpreter without libraries has less than the smallest run.
LAUNCHER = """
import os, sys, time
start = time.perf_counter()
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(child, 0)
print(time.perf_counter() - start, usage.ru_maxrss, os.waitstatus_to_exitcode(status))
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=numbers, help="numbers of threads, by commas (default: 1,2)")
    parser.add_argument("--times", type=int, default=5,
                        help=f"processes of each point (default: 5); {TIMES_OF_LONG} at most, where one takes over a second")
    parser.add_argument("--only", nargs="+", default=["*"], metavar="NAME", help="runs to measure, also as patterns")
    parser.add_argument("--scaling-threads", action="store_true", help="the table of threads instead")
    parser.add_argument("--gsim", default=os.path.join(os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target")),
                                                       "release", "gsim"), help="the program (default: %(default)s)")
    parser.add_argument("--csv", metavar="FILE", help="where the rows go (default: see above)")
    args = parser.parse_args()
    runs = SCALING if args.scaling_threads else RUNS
    threads = args.threads or ([1, 2, 4, 8, 16] if args.scaling_threads else [1, 2])
    path = args.csv or os.path.join(FOLDER, "threads.csv" if args.scaling_threads else "runs.csv")
    for pattern in args.only:
        if not fnmatch.filter(runs, pattern):
            parser.error(f"no run is named {pattern}; there are {', '.join(runs)}")
    if not os.access(args.gsim, os.X_OK):
        parser.error(f"{args.gsim} is missing: cargo build --release, or --gsim PATH")

    rows = stored(path, runs)
    for name, (_, machines) in runs.items():
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in args.only):
            for machine in machines:
                for row in measure(args, runs, name, machine, threads):
                    rows[key(row)] = row
                    print(f"{name}, {machine}, --threads {row['threads']}: {row['seconds']} s, "
                          f"{row['million_a_second']} M/s, {row['peak_mib']} MiB", file=sys.stderr)
                write(path, runs, rows)
    if args.scaling_threads:
        print(threads_table(runs, rows))
    else:
        print(speed_table(runs, rows), memory_table(runs, rows), sep="\n\n")


def numbers(text):
    return [int(word) for word in text.split(",")]


# Measuring.

def measure(args, runs, name, machine, threads):
    """A row for each number of threads."""
    (file, *fields), _ = runs[name]
    command = [os.path.abspath(args.gsim), "run", os.path.join("configs", "runs", f"{file}.ron"), "--quiet", "--no-plots"]
    for field in [f"machine={machine}", *fields]:
        command += ["--set", field]
    points = {count: [] for count in threads}
    for turn in range(args.times):
        for count, done in points.items():
            if turn < TIMES_OF_LONG or min(seconds for seconds, _, _ in done) <= LONG:
                done.append(process([*command, "--threads", str(count)]))
    for count, done in points.items():
        seconds = min(seconds for seconds, _, _ in done)
        peak = max(peak for _, peak, _ in done)
        report = done[0][2]
        instructions = report["totals"]["warp_instructions"]
        held = buffers(report)
        yield {
            "run": name,
            "settings": " ".join([f"configs/runs/{file}.ron", *fields]),
            "machine": machine,
            "threads": str(count),
            "warp_instructions": str(instructions),
            "seconds": digits(seconds),
            "million_a_second": digits(instructions / seconds / 1e6),
            "peak_mib": f"{peak / MIB:.1f}",
            "buffers_mib": "" if held is None else f"{held / MIB:.2f}",
        }


def process(command):
    """Seconds, peak [bytes] and report of one process."""
    with tempfile.TemporaryDirectory() as folder:
        command = [*command, "--out", folder]
        launcher = [sys.executable, "-I", "-S", "-c", LAUNCHER, *command]
        result = subprocess.run(launcher, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
        seconds, peak, status = result.stdout.split()
        if int(status) != 0:
            sys.exit(f"exit status {status}: {' '.join(command)}")
        [path] = glob.glob(os.path.join(folder, "*", "report.json"))
        with open(path) as file:
            return float(seconds), int(peak) * 1024, json.load(file)


def buffers(report):
    """What the buffers of the workload hold together [bytes]; none where that cannot be told."""
    [(kind, spec)] = report["inputs"]["workload"].items()
    size = {"Int": 4, "Short": 2, "Char": 1}.get(spec.get("element"))
    if kind == "Stencil1d":
        return 2 * spec["elements"] * size
    if kind == "Matmul":
        return 3 * spec["size"] ** 2 * size
    if kind == "Stereo":
        # Five boxes of sixteen values for each pixel, and its label.
        return spec["width"] * spec["height"] * (5 * 16 + 1) * size
    if kind == "Synthetic" and not spec["as_kernel"]:
        return 0
    if kind == "Kernel":
        held = [buffer_of_kernel(buffer, spec["parameters"]) for buffer in spec["buffers"].values()]
        return None if None in held else sum(held)
    return None


def buffer_of_kernel(buffer, parameters):
    """Bytes of a buffer of a `Kernel` workload."""
    elements = buffer["elements"]
    if elements is None:
        with open(os.path.join(ROOT, "configs", "runs", buffer["fill"]["Npy"]), "rb") as file:
            start = file.read(10)
            header = file.read(int.from_bytes(start[8:10], "little"))
            extents = ast.literal_eval(header.decode().strip())["shape"]
    else:
        extents = elements if isinstance(elements, list) else [elements]
    product = 1 if buffer["type"] in ("E4M3", "E5M2") else int(buffer["type"].strip("BIUF")) // 8
    for extent in extents:
        product *= extent if isinstance(extent, int) else eval(extent, {"__builtins__": {}}, parameters)
    return product


def digits(number):
    """Three digits that count."""
    return f"{float(f'{number:.3g}'):.10f}".rstrip("0").rstrip(".")


# The table of numbers.

def key(row):
    return row["run"], row["machine"], int(row["threads"])


def stored(path, runs):
    """The rows of a table of before, by run, machine and threads."""
    if not os.path.exists(path):
        return {}
    with open(path) as file:
        return {key(row): row for row in csv.DictReader(file) if row["run"] in runs}


def write(path, runs, rows):
    names = list(runs)
    order = sorted(rows, key=lambda key: (names.index(key[0]), MACHINES.index(key[1]), key[2]))
    with open(path, "w") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows[key] for key in order)


# The tables of the page.

def markdown(header, rows):
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def speed_table(runs, rows):
    """Million warp instructions a second on one thread, bold where below the aim; in brackets, how many times as fast two
    threads are."""
    def cell(name, machine):
        one, two = (rows.get((name, machine, count)) for count in (1, 2))
        if one is None:
            return "TODO-MEASURE" if machine in runs[name][1] else ""
        aim = AIM_STENCIL if name.startswith("stencil") and machine == "gtx480" else AIM
        speed = one["million_a_second"]
        text = f"**{speed}**" if float(speed) < aim else speed
        return f"{text} ({float(one['seconds']) / float(two['seconds']):.2f})" if two else text

    def line(name):
        first = rows.get((name, "gtx480", 1))
        missing = "TODO-MEASURE" if "gtx480" in runs[name][1] else ""
        return [name, first["seconds"] if first else missing, *(cell(name, machine) for machine in MACHINES)]

    return markdown(["run", "gtx480 [s]", *MACHINES], map(line, runs))


def memory_table(runs, rows):
    """Peaks on one thread, and what they are beyond the buffers [MiB]."""
    def beyond(row):
        return f"{float(row['peak_mib']) - float(row['buffers_mib']):.0f}" if row and row["buffers_mib"] else ""

    def line(name):
        on = {machine: rows.get((name, machine, 1)) for machine in MACHINES}
        missing = {machine: "TODO-MEASURE" if machine in runs[name][1] else "" for machine in MACHINES}
        any_row = next((row for row in on.values() if row), None)
        held = f"{float(any_row['buffers_mib']):.1f}" if any_row and any_row["buffers_mib"] else ""
        first = on["gtx480"]
        peak = f"{float(first['peak_mib']):.0f}" if first else missing["gtx480"]
        return [name, held, peak, *(beyond(on[machine]) if on[machine] else missing[machine] for machine in MACHINES)]

    return markdown(["run", "buffers", "peak, gtx480", *(f"beyond, {machine}" for machine in MACHINES)], map(line, runs))


def threads_table(runs, rows):
    """Seconds by threads."""
    counts = sorted({count for _, _, count in rows})
    lines = []
    for name, (_, machines) in runs.items():
        for machine in machines:
            on = [rows.get((name, machine, count)) for count in counts]
            lines.append([name, machine, *(row["seconds"] if row else "TODO-MEASURE" for row in on)])
    return markdown(["run", "machine", *(f"{count} thread{'s' * (count > 1)} [s]" for count in counts)], lines)


if __name__ == "__main__":
    main()
