# shellcheck shell=bash
# fixture.sh - made-up but well-formed run folders and archives, as text, for the renderer's tests. Sourced by
# tests/integration/render_*.sh. The numbers come from a small generator (awk, integers only), so that every machine
# makes the same bytes.
#
#   fixture_run DIR NODES [NAME=VALUE...]   write the files of a run of NODES nodes, one rank each
#       compute=NS   compute per step at one node (divided among ranks)    data=NS transfer=NS io=NS  per step
#       slow_rank=R  a rank that computes 1.5 times as long                steps=N batch=N id=TEXT kind=TEXT
#       node_cores=N node_link=BIT_PER_S node_period=US                    with kind=emulated: parts of one machine (0: not limited)
#       quota=N last_quota=N throttled=PERCENT   cores by cgroup quota, of all nodes and of the last; time it stopped them
#   fixture_calibrate DIR                   all-reduces of 2 and 4 ranks: a latency of 1 ms times log2, 0.06 GB/s, and some scatter
#   fixture_pack DIR TAR                    write manifest.json and the tar
#   fixture_manifest DIR                    (re)write DIR/manifest.json

fixture_steps() { # rank; settings in the caller's variables
    awk -v rank="$1" -v ranks="$nodes" -v steps="$steps" -v compute="$compute" -v data="$data" -v transfer="$transfer" \
        -v io="$io" -v slow="$slow_rank" -v batch="$batch" '
    # The same draws on every rank, because each rank knows how long the others take.
    function draw() { seed = (seed * 1103 + 12345) % 65536; return seed }
    BEGIN {
        print "epoch,step,rank,start_ns,step_ns,data_ns,h2d_ns,forward_ns,backward_ns,allreduce_ns,optimizer_ns,checkpoint_ns,samples,allreduce_bytes,loss"
        seed = 7; now = 1000000000
        for (s = 0; s < steps; s++) {
            longest = 0
            for (r = 0; r < ranks; r++) {
                warm = s == 0 ? 3 : 1
                work[r] = int(compute / ranks) * warm + draw() % 1000 * 100
                if (r == slow) work[r] = int(work[r] * 3 / 2)
                if (work[r] > longest) longest = work[r]
            }
            forward = int(work[rank] * 4 / 10); backward = work[rank] - forward
            allreduce = ranks > 1 ? transfer + longest - work[rank] : 0
            checkpoint = s % 10 == 9 ? io : 0
            total = data + forward + backward + allreduce + 500000 + checkpoint + 200000
            printf "%d,%d,%d,%d,%d,%d,,%d,%d,%d,500000,%d,%d,%d,%d.%02d\n", int(s / 20) + 1, s, rank, now, total, data, forward, \
                backward, allreduce, checkpoint, batch / ranks, 400000, 5 - int(s / 20), s % 100
            now += total + 100000
        }
    }'
}

# A rank of an emulated node always wants to run, and has its share. The kernel counts all of the rest as waiting.
fixture_process() { # rank; settings in the caller's variables
    echo "timestamp,t_ns,rank,pid,user_ns,system_ns,run_delay_ns,processes"
    awk -v rank="$1" -v n="$samples" -v cores="$node_cores" 'BEGIN { for (i = 0; i < n; i++) printf "%d.%d00,%.0f,%d,%d,%.0f,0,%.0f,1\n",
        1900000000 + int(i / 10), i % 10, 1000000000 + i * 100000000, rank, 100 + rank, i * cores * 100000000, i * (1 - cores) * 100000000 }'
}

fixture_run() {
    local dir=$1 nodes=$2 compute=80000000 data=1000000 transfer=10000000 io=0 slow_rank=-1 steps=40 batch=64 id='' kind=machines
    local node_cores='' node_link=0 node_period=4000 quota='' last_quota='' throttled=0
    local cores=8 r samples=20 times=%d boot facts
    shift 2
    local setting
    for setting; do
        local "${setting?}"
    done
    id=${id:-fixture-$nodes}
    mkdir -p "$dir"
    [ -z "$node_cores" ] || samples=40 # over all steps: waiting on the quota is separated from waiting for a core
    # %d of mawk ends at 2^31: the times of the older fixtures do, and their checksums are in goldens
    [ "$throttled" = 0 ] || times=%.0f
    {
        echo "epoch,train_loss,val_loss,val_mae,val_rmse,epoch_time_sec,throughput_samples_per_sec,data_load_time_sec,compute_time_sec,gpu_util_avg,cpu_util_avg"
        echo "1,5.1,4.9,4.9,9.8,2.5,512.5,0.05,2.2,,"
        echo "2,4.2,4.1,4.1,8.7,2.4,533.3,0.05,2.1,,"
    } > "$dir/metrics.csv"
    local node_list='' rank_list=''
    for ((r = 0; r < nodes; r++)); do
        mkdir -p "$dir/rank$r" "$dir/node$r"
        fixture_steps "$r" > "$dir/rank$r/steps.csv"
        {
            echo "timestamp,cpu_percent,memory_percent,memory_used_gb,memory_total_gb,t_ns,iowait_percent,steal_percent,runnable,ctxt_per_sec,throttled_ns,nr_throttled"
            awk -v n=$samples -v throttled="$throttled" -v t="$times" 'BEGIN { for (i = 0; i < n; i++) printf "%d.%d00,%d,25.0,4.0,16.0," t ",0.1,0.0,2,900,%.0f,%d\n",
                1900000000 + int(i / 10), i % 10, 90 + i % 7, 1000000000 + i * 100000000, i * throttled * 1000000, throttled ? i * 25 : 0 }'
        } > "$dir/node$r/cpu_monitor.csv"
        facts='' boot=boot-$r
        [ -z "$quota" ] || facts="\"cores_quota\":$quota,"
        if [ $r -eq $((nodes - 1)) ] && [ -n "$last_quota" ]; then facts="\"cores_quota\":$last_quota,"; fi
        if [ -n "$node_cores" ]; then
            boot=boot-0 facts+="\"emulated\":{\"cores\":$node_cores,\"period_us\":$node_period,\"link_bit_per_s\":$node_link,\"is_default\":true},"
            [ "$node_cores" = 0 ] || fixture_process "$r" > "$dir/rank$r/process_monitor.csv"
        fi
        node_list+="${node_list:+,}{\"node\":$r,\"host\":\"node$((r + 1))\",\"boot_id\":\"$boot\",$facts\"cpu_model\":\"Example CPU\",\"cores\":$cores,\"cores_allowed\":$cores,\"memory_bytes\":16000000000,\"kernel\":\"6.1\",\"gpus\":[],\"monitors\":{\"cpu\":\"ok\",\"gpu\":\"absent: no NVIDIA driver\"}}"
        rank_list+="${rank_list:+,}{\"rank\":$r,\"node\":$r,\"host\":\"node$((r + 1))\",\"pid\":$((100 + r)),\"exit_status\":0,\"signal\":0}"
    done
    cat > "$dir/job_metadata.json" << META
{"command":["dcrnn-train","--epochs","2","--batch","$batch","--out","out-$nodes"],"started":1900000000,"ended":1900000009,
 "program":{"name":"dcrnn-train","version":"0.1.0","model":"DCRNN","parameters":45000,"precision":"fp32","backend":"cpu","blas":"OpenBLAS",
  "threads":1,"global_batch":$batch,"local_batch":$((batch / nodes)),"n_sensors":48,"allreduce_bytes_per_step":400000,"dataset":"generated",
  "dataset_is_generated":true,"seed":1,"strong_scaling":true},
 "scheduler":{"name":"none"},"nodes":[$node_list],"ranks":[$rank_list],
 "collector":{"version":"0.1.0","nvtx":"nothing recorded because this is a fixture"},"environment":{"OMP_NUM_THREADS":"1"},"labels":{}}
META
    echo "$nodes $id $kind $nodes${node_cores:+ $node_cores $node_link}" > "$dir/.fixture"
}

fixture_calibrate() {
    # shellcheck disable=SC2016  # names of jq
    local group='{n_ranks: $n, n_nodes: $n, ranks_share_cores: false, latency_ns: (1000000 * $l), points: [range(7) | (1000 * pow(8; .)) as $bytes
        | (1000000 * $l + $bytes * 2 * ($n - 1) / $n / 0.06 | . * (1 + (($bytes / 1000 | log2) % 2 - 0.5) / 25) | floor) as $ns
        | {bytes: $bytes, n: 9, median_ns: $ns, min_ns: $ns, max_ns: $ns}]}'
    jq -n "{format: \"dcreport-calibration\", version: 1, measured: 1900000000, mpi_library: \"\", nodes: [],
        allreduce: [[2, 1], [4, 2] | .[0] as \$n | .[1] as \$l | $group]}" > "$1/calibration.json"
}

fixture_manifest() {
    local dir=$1 nodes id kind config name role place members='' names sizes sums i
    read -r nodes id kind config < "$dir/.fixture"
    # One program for all files, because starting one takes longer than its work here.
    mapfile -t names < <(cd "$dir" && find . -type f ! -name .fixture ! -name manifest.json -printf '%P\n' | LC_ALL=C sort)
    mapfile -t sizes < <(cd "$dir" && stat -c %s -- "${names[@]}")
    mapfile -t sums < <(cd "$dir" && sha256sum -- "${names[@]}" < /dev/null)
    [ ${#names[@]} -gt 0 ] && [ ${#sums[@]} -eq ${#names[@]} ] && [ ${#sizes[@]} -eq ${#names[@]} ] || return 1
    for i in "${!names[@]}"; do
        name=${names[i]} place=''
        case ${name##*/} in
        job_metadata.json) role=metadata ;;
        metrics.csv) role=metrics ;;
        steps.csv) role=steps ;;
        cpu_monitor.csv) role=cpu-monitor ;;
        gpu_monitor.csv) role=gpu-monitor ;;
        process_monitor.csv) role=process-monitor ;;
        *.dct) role=trace ;;
        calibration.json) role=calibration ;;
        *) role=other ;;
        esac
        [[ $name =~ ^node([0-9]+)/ ]] && place="\"node\":${BASH_REMATCH[1]},"
        [[ $name =~ ^rank([0-9]+)/ ]] && place="\"rank\":${BASH_REMATCH[1]},"
        members+="${members:+,}
  {\"name\":\"$name\",\"role\":\"$role\",$place\"size\":${sizes[i]},\"sha256\":\"${sums[i]%% *}\"}"
    done
    cat > "$dir/manifest.json" << MANIFEST
{"format":"dcreport-run","version":1,"run_id":"$id","config_hash":"$(printf 'dcrnn-train %s' "$config" | sha256sum | cut -c1-64)",
 "complete":true,"incomplete_because":[],"n_nodes":$nodes,"n_ranks":$nodes,"node_kind":"$kind","members":[$members]}
MANIFEST
}

fixture_pack() {
    fixture_manifest "$1"
    fixture_tar "$1" "$2"
}

fixture_tar() { # the manifest first, then the rest by name
    (cd "$1" && {
        [ -e manifest.json ] && echo manifest.json
        find . -type f ! -name .fixture ! -name manifest.json -printf '%P\n' | LC_ALL=C sort
    } | tar cf - --format=ustar --owner=0 --group=0 --mtime=@1900000000 --mode=0644 -T -) > "$2"
}
