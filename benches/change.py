#!/usr/bin/env python3
"""Holds the change of times from one GPU to another against the change that gsim predicts.

    benches/change.py results/h200/correlation results/h100/correlation

Each folder is one that `gsim calibrate correlate` wrote, of the same study; the study's name in front of a run does not
count. Prints a table in Markdown: the second GPU's time over the first one's, on the cards and in gsim.
"""

import csv
import os
import sys

QUANTITY = "time in core cycles"


def times(folder):
    """By run: core cycles on the GPU, and in gsim."""
    with open(os.path.join(folder, "correlation.csv")) as file:
        rows = [row for row in csv.DictReader(file) if row["quantity"] == QUANTITY]
    prefix = len(os.path.commonprefix([row["run"] for row in rows]))
    return {row["run"][prefix:]: (float(row["gpu"]), float(row["gsim"])) for row in rows}


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    base, other = map(times, sys.argv[1:])
    print("| run | GPU | gsim | gsim / GPU |\n| --- | --- | --- | --- |")
    errors = []
    for run in (run for run in base if run in other):
        gpu, gsim = (after / before for before, after in zip(base[run], other[run]))
        errors.append(abs(gsim / gpu - 1))
        print(f"| {run} | {gpu:.2f} | {gsim:.2f} | {gsim / gpu:.2f} |")
    errors.sort()
    mean, median = sum(errors) / len(errors), errors[len(errors) // 2]
    print(f"\n{len(errors)} runs: mean difference {100 * mean:.1f} %, median {100 * median:.1f} %")


if __name__ == "__main__":
    main()
