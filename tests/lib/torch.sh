# shellcheck shell=bash
# torch.sh - for tests of PyTorch programs; sourced after tap.sh.

# find_torch: prints the Python that has PyTorch with gloo, or nothing
find_torch() {
    local python
    for python in python3 /usr/bin/python3; do
        if "$python" -c 'import torch.distributed as d; assert d.is_gloo_available()' 2>/dev/null; then
            echo "$python"
            return
        fi
    done
}
# need_torch NAME: sets $torch, and what a rank of these tests needs; without PyTorch the rest of the script is skipped as NAME
need_torch() {
    torch=$(find_torch)
    if [ -z "$torch" ]; then
        skip "$1" "no PyTorch with gloo (python3-torch)"
        finish
    fi
    # If memory went back to the system after each step, getting it again would cost more than the work.
    export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MALLOC_MMAP_THRESHOLD_=33554432 MALLOC_TRIM_THRESHOLD_=1073741824
}
# has NAME CONDITION: of the last report, $TMP/site
has() {
    if jq -e "$2" "$TMP/site/report.json" >"$TMP/jq" 2>&1; then ok "$1"; else not_ok "$1" "$(jq -c '.runs[0] | [.n_steps, .finding, .headline, .support, .parts_ns, .phases[].name], .notes' "$TMP/site/report.json")"; fi
}
