#!/usr/bin/env bash
# Builds gsim with profile-guided optimisation: the compiler sees which way the branches of small runs go.
# The program takes up to 5 % less time than that of `cargo build --release`; building it takes twice as long.
#
#   benches/pgo.sh            writes target/pgo/release/gsim
#
# Needs llvm-profdata: of rustup's component llvm-tools, of the PATH, or the one that LLVM_PROFDATA names. It has to
# read the profiles of rustc's LLVM: a version or two older is mostly good enough.
set -euo pipefail
cd "$(dirname "$0")/.."
target="${CARGO_TARGET_DIR:-target}"

tools="$(rustc --print target-libdir)/../bin"
profdata="${LLVM_PROFDATA:-$(PATH="$tools:$PATH" command -v llvm-profdata || true)}"
if [ -z "$profdata" ]; then
    echo "llvm-profdata is missing: rustup component add llvm-tools" >&2
    exit 1
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Better now than after the first build.
echo 'fn main() {}' > "$work/probe.rs"
rustc -Cprofile-generate="$work/probe" -o "$work/probe.program" "$work/probe.rs"
"$work/probe.program"
if ! "$profdata" merge -o "$work/probe.profdata" "$work"/probe/*.profraw; then
    echo "$profdata cannot read the profiles of $(rustc --version): rustup component add llvm-tools" >&2
    exit 1
fi

# Each kind of workload, and machines of each kind of L1, L2 and DRAM.
runs=(
    "stencil-char.ron --set workload.elements=131072"
    "stencil-char.ron --set workload.elements=131072 --set workload.element=Int"
    "stencil-char.ron --set workload.elements=65536 --set machine=gtx280"
    "stencil-char.ron --set workload.elements=65536 --set machine=v100"
    "stencil-char.ron --set workload.elements=131072 --set machine=h200"
    "matmul.ron --set workload.size=96"
    "stereo.ron --set workload.width=48 --set workload.height=36"
    "stream.ron --set workload.ctas=100"
    "stream.ron --set workload.ctas=100 --set machine=h200"
    "gather.ron"
    "mixture.ron --set workload.ctas=60"
    "spmv.ron"
    "heat.ron"
    "chase.ron"
)

build() {
    RUSTFLAGS="${RUSTFLAGS-} $1" cargo build --release --locked --bin gsim --target-dir "$2"
}

build "-Cprofile-generate=$work" "$target/pgo-train"
for run in "${runs[@]}"; do
    echo "training: $run"
    # shellcheck disable=SC2086 # The arguments are words.
    "$target/pgo-train/release/gsim" run configs/runs/$run --no-plots --quiet --threads 1 --out "$work/out" > "$work/log"
done
"$profdata" merge -o "$work/runs.profdata" "$work"/*.profraw
build "-Cprofile-use=$work/runs.profdata" "$target/pgo"
ls "$target/pgo/release/gsim"
