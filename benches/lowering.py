#!/usr/bin/env python3
"""Holds the machine code that gsim lowers PTX to against that of ptxas.

    benches/lowering.py --ptxas PTXAS --nvdisasm NVDISASM [--runs RUN.ron ..] [--csv FILE] KERNELS.ptx ..

For each kernel: instructions of the PTX, of gsim's lowering and of ptxas, static and, for kernels that the runs launch,
executed by warps. Every PTX instruction gets a `.loc`, so that `ptxas -lineinfo` says which machine instruction stems
from which line; how often gsim executes a line is then how often that instruction runs. Where ptxas copies a
block (unrolling, tails), the block's instructions count as one copy: by how often it repeats the block's memory
instructions. Code of subroutines and of the slow paths of divisions has no place in the count, as it is not on the
way that ordinary numbers take.
"""

import argparse
import collections
import csv
import os
import re
import statistics
import subprocess
import sys
import tempfile

KINDS = ["move", "integer", "float", "double", "special", "memory", "control"]

KIND = [
    (r"MUFU|I2F\.|F2I|F2F|FRND|POPC|FLO|BREV|S2R|S2UR|I2I|I2F$", "special"),
    (r"LD[GSL]|LD$|LD\.|ST[GSL]|ST$|ST\.|ATOM|RED|LDGSTS", "memory"),
    (r"MOV|UMOV|IMAD\.MOV|LDC|ULDC|CS2R|R2UR|HFMA2\.MMA R\d+, -RZ, RZ|BSSY|BMOV|R2P|P2R", "move"),
    (r"BRA|EXIT|BSYNC|BAR|MEMBAR|ERRBAR|CCTL|CGAERRBAR|CALL|RET|WARPSYNC|BRX|JMP|BREAK|NANOSLEEP|DEPBAR|YIELD|LDGDEPBAR", "control"),
    (r"D(ADD|MUL|FMA|SETP)", "double"),
    (r"F(ADD|MUL|FMA|SETP|MNMX|SEL|CHK|SET)|H(ADD|MUL|FMA|SETP|MNMX)2|F2FP", "float"),
]


def kind_of(text):
    for pattern, kind in KIND:
        if re.match(pattern, text):
            return kind
    return "integer"


def annotate(path):
    """The PTX with a `.loc` for each instruction, and the basic block of each line of each kernel."""
    out, blocks, kernel, depth, block = ['.file 1 "kernel.ptx"'], {}, None, 0, 0
    opcodes = {}
    for number, line in enumerate(open(path), 1):
        words = line.split("//")[0].strip()
        match = re.search(r"\.entry\s+(\w+)", words)
        if match:
            kernel, block = match[1], 0
            blocks[kernel], opcodes[kernel] = {}, {}
        statement = re.match(r"(@!?%\w+\s+)?[a-z][\w.:]*\s*[^:]*;", words) and not words.startswith(".")
        if words.endswith(":") or re.match(r"\$?\w+:", words):
            block += 1
        if kernel and depth > 0 and statement:
            out.append(f".loc 1 {number} 0")
            blocks[kernel][number] = block
            opcodes[kernel][number] = words
            if re.search(r"\b(bra|ret|exit|bar|brx|call)\b", words):
                block += 1
        depth += words.count("{") - words.count("}")
        text = line.rstrip("\n")
        if re.match(r"\s*\.(file|loc)\b", text):
            text = ""
        if text.startswith(".address_size"):
            # `.file` may only follow the header.
            out.append(text)
            out.append(out.pop(0))
            continue
        out.append(text)
    return "\n".join(out), blocks, opcodes


def disassemble(args, text):
    with tempfile.TemporaryDirectory() as folder:
        ptx, cubin = os.path.join(folder, "kernel.ptx"), os.path.join(folder, "kernel.cubin")
        # What the text is for need not be what it is assembled for.
        open(ptx, "w").write(re.sub(r"\.target sm_\w+", f".target {args.arch}", text))
        subprocess.run([args.ptxas, f"-arch={args.arch}", "-O3", "-lineinfo", "-o", cubin, ptx], check=True)
        return subprocess.run([args.nvdisasm, "-g", "-c", cubin], check=True, capture_output=True, text=True).stdout


def machine_code(listing):
    """For each kernel its machine instructions, each with the line of PTX that it stems from. Subroutines that every
    number takes (64-bit division) count; those behind a check (`_slowpath`) do not."""
    code, kernel, line = collections.defaultdict(list), None, 0
    for row in listing.splitlines():
        match = re.match(r"\.text\.(\w+):", row)
        if match:
            kernel, line, slow = match[1], 0, False
            continue
        match = re.match(r"\$\w+\$(\w+):", row)
        if match:
            division = re.search(r"(div|rem)_([su])(64|16)", match[1])
            slow, line = not division, f"{division[1]}.{division[2]}{division[3]}" if division else 0
        match = re.search(r'//## File "[^"]*", line (\d+)', row)
        if match and isinstance(line, int):
            line = int(match[1])
            continue
        match = re.match(r"\s*/\*[0-9a-f]+\*/\s+(@!?U?P\w+\s+)?([A-Z][^;]*?)\s*;", row)
        if kernel and match and not slow:
            text = match[2]
            if text.startswith("NOP"):
                continue
            code[kernel].append((line, text))
    for kernel, rows in code.items():
        # The branch to itself behind the last exit.
        while rows and rows[-1][1].startswith("BRA"):
            rows.pop()
    return code


def copies(rows, blocks, opcodes):
    """How often ptxas repeats each block, by its memory instructions."""
    seen = collections.defaultdict(collections.Counter)
    for line, text in rows:
        if line in blocks and kind_of(text) == "memory":
            seen[blocks[line]][line] += 1
    anchors = {line for line, text in opcodes.items() if re.search(r"\b(ld|st)\.(global|shared|local)", text)}
    result = {}
    for block, lines in seen.items():
        counts = [count for line, count in lines.items() if line in anchors]
        result[block] = max(1, statistics.median_high(counts)) if counts else 1
    return result


def called(rows, opcodes):
    """Machine instructions by line; those of subroutines once for each line that calls them."""
    for line, text in rows:
        if isinstance(line, int):
            yield line, text
        else:
            for caller, opcode in opcodes.items():
                if line in opcode:
                    yield caller, text


def table(args, ptx, runs):
    """What gsim says of a file and of runs: (set, kernel) -> line -> kind -> count."""
    environment = dict(os.environ, GSIM_PTX=os.path.abspath(ptx) if ptx else "",
                       GSIM_RUNS=",".join(map(os.path.abspath, runs)))
    command = ["cargo", "test", *args.cargo.split(), "--lib", "-q", "--", "--ignored", "--nocapture", "lowering::measure::table"]
    text = subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout
    counts = collections.defaultdict(lambda: collections.defaultdict(collections.Counter))
    for row in csv.reader(text.splitlines()):
        if len(row) == 5 and row[4].isdigit():
            counts[row[0], row[1]][int(row[2])][row[3]] += int(row[4])
    return counts


def wrong_pairs(order, rows):
    """Pairs of memory instructions of one straight piece of code: how many there are, and how many are in another order
    than ptxas has them. `order` has the lines as they are issued, each with its piece; lines that ptxas repeats or
    leaves out do not count."""
    seen = collections.Counter(line for line, text in rows if kind_of(text) == "memory")
    place = {line: at for at, (line, text) in enumerate(rows) if kind_of(text) == "memory"}
    pieces = collections.defaultdict(list)
    for line, piece in order.items():
        if seen[line] == 1:
            pieces[tuple(piece)].append(place[line])
    pairs = [(a, b) for places in pieces.values() for at, a in enumerate(places) for b in places[at + 1:]]
    return len(pairs), sum(a > b for a, b in pairs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ptxas", default="ptxas")
    parser.add_argument("--nvdisasm", default="nvdisasm")
    parser.add_argument("--arch", default="sm_90", help="what ptxas assembles for")
    parser.add_argument("--runs", nargs="*", default=[])
    parser.add_argument("--cargo", default="--release", help="options of cargo")
    parser.add_argument("--csv")
    parser.add_argument("--detail", help="a kernel to show line by line")
    parser.add_argument("ptx", nargs="+")
    args = parser.parse_args()
    runs = table(args, "", args.runs)
    rows = []
    orders = [collections.Counter(), collections.Counter()]
    for path in args.ptx:
        # Files may have kernels of the same name; runs name theirs by kernel only.
        gsim = {**runs, **table(args, path, [])}
        annotated, all_blocks, all_opcodes = annotate(path)
        code = machine_code(disassemble(args, annotated))
        for kernel, blocks in all_blocks.items():
            opcodes = all_opcodes[kernel]
            repeats = copies(code[kernel], blocks, opcodes)
            first = min(blocks)
            # Both within the pieces that gsim issues as one.
            lowered = gsim.get(("sass-order", kernel), {})
            text = {line: lowered[line] for line in sorted(lowered)}
            for at, order in enumerate([text, lowered]):
                pairs, wrong = wrong_pairs(order, code[kernel])
                orders[at].update(pairs=pairs, wrong=wrong)
                if args.detail == kernel:
                    print(f"order: {wrong} of {pairs} pairs unlike ptxas: {list(order)}")
            if args.detail == kernel:
                print("ptxas:", [line for line, text in code[kernel] if kind_of(text) == "memory"])
            for mode in ["", "-run"]:
                ptx, sass = gsim.get(("ptx" + mode, kernel)), gsim.get(("sass" + mode, kernel))
                if not ptx:
                    continue
                weight = {line: sum(kinds.values()) for line, kinds in ptx.items()}
                machine = collections.defaultdict(collections.Counter)
                for line, instruction in called(code[kernel], opcodes):
                    line = line if line in blocks else first
                    machine[line][kind_of(instruction)] += weight.get(line, 0) / repeats.get(blocks[line], 1)
                for name, counts in [("ptx", ptx), ("lowered", sass), ("ptxas", machine)]:
                    total = collections.Counter()
                    for kinds in counts.values():
                        total.update(kinds)
                    rows.append([kernel, "executed" if mode else "static", name, round(sum(total.values()))]
                                + [round(total[kind]) for kind in KINDS])
                if args.detail == kernel:
                    listing = collections.defaultdict(list)
                    for line, instruction in called(code[kernel], opcodes):
                        listing[line].append(instruction.split()[0])
                    for line in sorted(blocks):
                        print(f"{line:5} b{blocks[line]:<3} x{repeats.get(blocks[line], 1)} {weight.get(line, 0):8} "
                              f"lowered {sum(sass[line].values()):8} ptxas {sum(machine[line].values()):10.1f}  "
                              f"{opcodes[line][:60]:60} {' '.join(listing[line])[:150]}")
    header = ["kernel", "count", "of", "all"] + KINDS
    if args.csv:
        with open(args.csv, "w") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(header)
            writer.writerows(rows)
    report(rows)
    for name, order in zip(["PTX", "lowered"], orders):
        print(f"memory instructions in another order than ptxas': {name} {order['wrong']} of {order['pairs']} pairs", file=sys.stderr)


def report(rows):
    print("| kernel | count | PTX | lowered | ptxas | PTX error | lowered error |")
    print("|---|---|---:|---:|---:|---:|---:|")
    totals = collections.defaultdict(list)
    for ptx, lowered, machine in zip(rows[::3], rows[1::3], rows[2::3]):
        real = machine[3]
        errors = [100 * (row[3] / real - 1) for row in (ptx, lowered)] if real else [0, 0]
        totals[ptx[1]].append([abs(error) for error in errors])
        print(f"| {ptx[0]} | {ptx[1]} | {ptx[3]} | {lowered[3]} | {real} | {errors[0]:+.0f} % | {errors[1]:+.0f} % |")
    for count, errors in totals.items():
        mean = [statistics.mean(error[side] for error in errors) for side in (0, 1)]
        print(f"mean of the {count} errors without sign: PTX {mean[0]:.1f} %, lowered {mean[1]:.1f} %", file=sys.stderr)


if __name__ == "__main__":
    main()
