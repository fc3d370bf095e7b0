#!/usr/bin/env python3
"""Counts, by component of gsim, what a request to memory costs: processor instructions, wrong branches, misses of the caches.

    benches/parts.py                                             the run stream with 60 CTAs
    benches/parts.py configs/runs/chase.ron                      another run
    benches/parts.py configs/runs/gather.ron --set workload.ctas=20

One process under callgrind, with caches of 32 KiB, 48 KiB and 1 MiB and its simple predictor of branches. A line
counts for the component that its file in `src` belongs to, wherever the compiler put it; the slices' inputs count for the
L2. Lines of the standard library, and of what all components share, count for the function that they became part of. The
rest is the engine, the front end, shared functions, and all that comes before and after the run. Needs valgrind, and the
release binary.
"""

import collections
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GSIM = os.path.abspath(os.path.join(os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target")), "release", "gsim"))
STREAM = ["configs/runs/stream.ron", "--set", "workload.ctas=60"]
VALGRIND = ["valgrind", "--tool=callgrind", "--branch-sim=yes", "--cache-sim=yes", "--I1=32768,8,64", "--D1=49152,12,64",
            "--LL=1048576,16,64"]
REST, TOGETHER = LAST = "the rest", "together"
# Title, and the events that are summed.
COLUMNS = {
    "instructions": ["Ir"],
    "wrong branches": ["Bcm", "Bim"],
    "misses of the data cache": ["D1mr", "D1mw"],
    "misses of the instruction cache": ["I1mr"],
}
# How paths in `src` begin, and what they are in the table; the first one counts.
PARTS = {
    "gpu/memory/replies": "networks", "gpu/memory/channel": "DRAM", "gpu/memory/ahead": "DRAM", "gpu/memory": "L2",
    "gpu/sm_side/requests": "networks", "gpu/sm_side": "SM", "sm": "SM", "l1": "L1", "noc": "networks", "l2": "L2", "dram": "DRAM",
    "gpu": REST, "simulate": REST, "frontend": REST, "workload": REST, "isa": REST, "config": REST, "report": REST, "cli": REST,
}


def main():
    run = sys.argv[1:] or STREAM
    if run[0] in ("-h", "--help"):
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        profile = os.path.join(folder, "profile")
        command = [*VALGRIND, f"--callgrind-out-file={profile}", GSIM, "run", *run, "--quiet", "--no-plots", "--out", folder]
        result = subprocess.run(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
        if result.returncode != 0:
            sys.exit(result.stderr)
        with open(profile) as file:
            costs = by_part(file)
        [path] = glob.glob(os.path.join(folder, "*", "report.json"))
        with open(path) as file:
            requests = json.load(file)["totals"]["memory_requests"]

    print(f"| a request of {os.path.basename(run[0]).removesuffix('.ron')} | {' | '.join(COLUMNS)} |")
    print("| --- |" + " --- |" * len(COLUMNS))
    costs[TOGETHER] = sum(costs.values(), collections.Counter())
    for name, cost in sorted(costs.items(), key=lambda item: (LAST.index(item[0]) if item[0] in LAST else -1, -item[1]["Ir"])):
        numbers = (sum(cost[event] for event in events) / requests for events in COLUMNS.values())
        print(f"| {name} | {' | '.join(f'{number:.0f}' if number >= 100 else f'{number:.1f}' for number in numbers)} |")


def by_part(profile):
    """Sums of callgrind's events for each component."""
    costs = collections.defaultdict(collections.Counter)
    files, events = {}, []
    function = part = REST
    skip = False
    for line in profile:
        match = re.match(r"(fl|fi|fe)=(\(\d+\)) ?(.*)", line)
        if match:
            kind, number, name = match.groups()
            if name:
                files[number] = part_of(name)
            if kind == "fl":
                function = files[number] or REST
            part = files[number] or function
        elif line.startswith("events:"):
            events = line.split()[1:]
        elif line.startswith("calls="):
            # What follows is the cost of the callee, which counts there.
            skip = True
        elif re.match(r"[\d+*-]", line):
            if not skip:
                costs[part].update(dict(zip(events, map(int, line.split()[1:]))))
            skip = False
        elif match := re.match(r"cfi=(\(\d+\)) (.+)|cfl=(\(\d+\)) (.+)", line):
            number, name = [group for group in match.groups() if group]
            files[number] = part_of(name)
    return costs


def part_of(file):
    """The component that a source file belongs to; none where all share it."""
    _, found, path = file.rpartition("/src/")
    if not found or "/rustc/" in file or "/registry/" in file:
        return None
    return next((part for prefix, part in PARTS.items() if path.startswith(prefix)), None)


if __name__ == "__main__":
    main()
