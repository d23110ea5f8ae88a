#!/usr/bin/env bash
# with_perf.sh COMMAND... - run one rank under `perf stat`, if this node has perf and lets us count.
#
# Started once per rank by profile.sh. Counts the rank and all it starts (the collector's own work is in it: well under
# a percent). Leaves $DCREPORT_PERF/rank<r>.csv as perf wrote it (field order: `man perf-stat`, CSV FORMAT), or
# rank<r>.txt with the reason why there is none. The command's status is passed on; measuring never stops it.
set -u
rank=${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-${SLURM_PROCID:-0}}}
out=${DCREPORT_PERF:?with_perf.sh: DCREPORT_PERF names no folder}/rank$rank

# What a CPU that stalls looks like, and what the kernel did meanwhile. Names are those of `perf list`.
events=task-clock,context-switches,cpu-migrations,page-faults
events+=,cycles,instructions,branches,branch-misses,cache-references,cache-misses
events+=,stalled-cycles-frontend,stalled-cycles-backend

without() {
    mkdir -p "${out%/*}"
    echo "no counters of rank $rank on $(hostname): $1" >"$out.txt"
    shift
    exec "$@"
}

command -v perf >/dev/null || without "perf is not installed on this node" "$@"
mkdir -p "${out%/*}"
if ! perf stat -x, -o "$out.try" -e "$events" true 2>"$out.err"; then
    reason="perf_event_paranoid is $(cat /proc/sys/kernel/perf_event_paranoid 2>/dev/null || echo unknown)"
    reason+=" (2 or less lets users count their own programs); perf says: $(tr '\n' ' ' <"$out.err" | cut -c 1-300)"
    rm -f "$out.try" "$out.err"
    without "$reason" "$@"
fi
# Permitted, yet a virtual machine may have no counters of the CPU behind the software ones.
if ! grep -Eq '^[0-9]+,[^,]*,(cycles|instructions)' "$out.try"; then
    echo "rank $rank on $(hostname): perf counts, but this machine shows it no hardware counters (a virtual machine often" \
        "does not): $out.csv has the kernel's own counters only" | sed "s|${out%/*}/||" >"$out.txt"
fi
rm -f "$out.try" "$out.err"
exec perf stat -x, -o "$out.csv" -e "$events" -- "$@"
