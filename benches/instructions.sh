#!/usr/bin/env bash
# Counts the processor instructions of small runs, which do not depend on the machine's load, and compares them
# with the stored budget. A count more than 5 % above it is a regression and fails; one more than 5 % below asks
# for a new budget. Four times the elements may take 4.1 times the instructions: the cost grows with the work.
#
#   benches/instructions.sh            compare with results/performance/instructions.csv
#   benches/instructions.sh --update   write it anew
#
# Needs valgrind, and the release binary.
set -euo pipefail
cd "$(dirname "$0")/.."
budget=results/performance/instructions.csv
gsim="${CARGO_TARGET_DIR:-target}/release/gsim"
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

runs=(
    "stencil-int|configs/runs/stencil-char.ron --set workload.elements=32768 --set workload.element=Int"
    "stencil-short|configs/runs/stencil-char.ron --set workload.elements=32768 --set workload.element=Short"
    "stencil-char|configs/runs/stencil-char.ron --set workload.elements=32768"
    "stencil-char-x4|configs/runs/stencil-char.ron --set workload.elements=131072"
    "stencil-char-gtx280|configs/runs/stencil-char.ron --set workload.elements=32768 --set machine=gtx280"
    "stencil-char-v100|configs/runs/stencil-char.ron --set workload.elements=32768 --set machine=v100"
    "stencil-char-h200|configs/runs/stencil-char.ron --set workload.elements=32768 --set machine=h200"
    "matmul|configs/runs/matmul.ron --set workload.size=64"
    "stereo|configs/runs/stereo.ron --set workload.width=48 --set workload.height=24"
    "stream|configs/runs/stream.ron --set workload.ctas=100"
    "gather|configs/runs/gather.ron --set workload.ctas=20"
    "mixture|configs/runs/mixture.ron --set workload.ctas=20 --set workload.repeats=1"
    "spmv|configs/runs/spmv.ron"
    "tensor-map-matmul|configs/runs/tensor-map-matmul.ron --set workload.parameters.rows=128 --set workload.parameters.columns=128 --set workload.parameters.depth=64"
    "heat|configs/runs/heat.ron"
    "heat-100-launches-h200|configs/runs/heat.ron --set machine=h200 --set workload.parameters.n=16 --set workload.parameters.steps=100"
    "chase-h200|configs/runs/chase.ron --set machine=h200"
)

count() {
    # shellcheck disable=SC2086 # The arguments are words.
    valgrind --tool=callgrind --callgrind-out-file=/dev/null \
        "$gsim" run $1 --no-plots --quiet --out "$out" 2>&1 |
        sed -n 's/.*Collected *: *\([0-9][0-9]*\).*/\1/p' | grep . ||
        { echo "no count: $gsim run $1" >&2; exit 1; }
}

fresh="$out/instructions.csv"
echo "run,instructions" > "$fresh"
for run in "${runs[@]}"; do
    instructions=$(count "${run#*|}")
    echo "${run%%|*},$instructions" | tee -a "$fresh"
done

awk -F, '
    { count[$1] = $2 }
    END { growth = count["stencil-char-x4"] / count["stencil-char"]
          printf "four times the elements: %.2f times the instructions\n", growth
          exit growth > 4.1 }' "$fresh"
if [ "${1-}" = --update ]; then
    mv "$fresh" "$budget"
    exit
fi
awk -F, '
    FNR == 1 { next }
    NR == FNR { stored[$1] = $2; next }
    { change = 100 * ($2 / stored[$1] - 1)
      printf "%-24s %+6.2f %%\n", $1, change
      if (change > 5) { bad = 1; print "  more than the budget: find out why, or run benches/instructions.sh --update" }
      if (change < -5) print "  faster: run benches/instructions.sh --update" }
    END { exit bad }' "$budget" "$fresh"
