#!/usr/bin/env python3
"""Writes a study of loops by the length of their code: what instructions cost that the instruction caches do not hold.

    benches/code_length.py target/code

One warp executes a million multiply-adds of a register and two parameters in loops of 256 to 12,288 of them, which are
machine instructions of 16 bytes. Then, on a machine with a GPU, and anywhere:

    gsim native run target/code/code.ron --out results/h100/code/native
    gsim calibrate correlate target/code/code.ron --set machine=h100 --native results/h100/code/native --out results/h100/code

The sources have 1.5 MB and are easily made again, so they are not stored.
"""

import os
import sys

LENGTHS = [256, 1024, 1792, 2048, 2560, 4096, 8192, 9216, 12288]
ALL = 1 << 20
CHAINS = 8

HEADER = """.version 8.0
.target sm_75
.address_size 64
"""

KERNEL = """
.visible .entry code_{length}(.param .u64 out, .param .u32 turns, .param .f32 a, .param .f32 b)
{{
    .reg .pred %p;
    .reg .b32 %i, %n;
    .reg .f32 %f<{registers}>;
    .reg .b64 %rd;
    ld.param.u64 %rd, [out];
    ld.param.u32 %n, [turns];
    ld.param.f32 %f{a}, [a];
    ld.param.f32 %f{b}, [b];
{start}
    mov.u32 %i, 0;
LOOP:
    .pragma "nounroll";
{body}
    add.u32 %i, %i, 1;
    setp.lt.u32 %p, %i, %n;
    @%p bra LOOP;
{sum}
    cvta.to.global.u64 %rd, %rd;
    st.global.f32 [%rd], %f0;
    ret;
}}
"""


def kernel(length):
    chains = range(CHAINS)
    a, b = CHAINS, CHAINS + 1
    return KERNEL.format(
        length=length,
        registers=CHAINS + 2,
        a=a,
        b=b,
        start="\n".join(f"    add.f32 %f{chain}, %f{a}, 0f{0x3F800000 + (chain << 20):08X};" for chain in chains),
        body="\n".join(f"    fma.rn.f32 %f{step % CHAINS}, %f{step % CHAINS}, %f{a}, %f{b};" for step in range(length)),
        sum="\n".join(f"    add.f32 %f0, %f0, %f{chain};" for chain in chains[1:]),
    )


def point(length):
    launch = f'Launch(entry: "code_{length}", grid: 1, block: 32, args: [Buffer("out"), U32({ALL // length}), F32(1), F32(2)])'
    buffers = '{"out": (type: F32, elements: 32)}'
    workload = f'Kernel(source: "code.ptx", parameters: {{}}, buffers: {buffers}, launches: [{launch}])'
    return f'            (label: "{length}", set: {{"workload": {workload}}}),'


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    points = "\n".join(map(point, LENGTHS))
    texts = {
        "code.ptx": HEADER + "".join(map(kernel, LENGTHS)),
        "base.ron": 'Run(name: "code", machine: "h200", workload: Stencil1d(element: Int))\n',
        "code.ron": 'Study(\n    name: "code", run: "base.ron", about: "Loops by the length of their code.",\n'
        f'    axes: [\n        Together(name: "multiply-adds", points: [\n{points}\n        ]),\n    ],\n)\n',
    }
    for name, text in texts.items():
        with open(os.path.join(folder, name), "w") as file:
            file.write(text)


main()
