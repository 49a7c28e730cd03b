#!/usr/bin/env bash
# slurm_sweep.sh FOLDER SHARDS BENCH OPTIONS...: spreads one sweep over a Slurm cluster. An array job measures SHARDS
# shards, each with a GPU of its own, and a job after it joins them. FOLDER, which all nodes see, gets
# shard-N.json, results.json, report.html and what the jobs print.
#
#     scripts/workflows/slurm_sweep.sh /scratch/sweep 8 --cases bench/cases/training.txt --rounds 11
#
# A shard that is stopped, by its time limit say, goes on where it was when the same command is given again, and a
# requeued one by itself. FMHA_BWD names the program (build/release/fmha_bwd), FMHA_BWD_GRES what a shard asks for
# (gpu:1); sbatch takes partition, account and time limit from SBATCH_PARTITION, SBATCH_ACCOUNT and
# SBATCH_TIMELIMIT. Prints the ids of both jobs.
set -euo pipefail

# Runs in a job of the array. The count is not SLURM_ARRAY_TASK_COUNT, which is another when only some shards are
# submitted again.
measure_shard() {
  local program=$1 folder=$2 shards=$3 shard=$SLURM_ARRAY_TASK_ID
  shift 3
  exec srun "$program" bench "$@" --shard "$shard/$shards" --resume --output "$folder/shard-$shard.json"
}

# Runs in the last job.
join_shards() {
  local program=$1 folder=$2 shards=$3 shard
  local files=()
  for ((shard = 1; shard <= shards; ++shard)); do
    if [[ ! -f $folder/shard-$shard.json ]]; then
      echo "slurm_sweep: shard $shard of $shards left no results: see $folder/shard-$shard.log" >&2
      exit 3
    fi
    files+=("$folder/shard-$shard.json")
  done
  local code=0  # a case that failed is no reason to have no page
  "$program" merge "${files[@]}" --output "$folder/results.json" || code=$?
  "$program" report "$folder/results.json" -o "$folder/report.html"
  exit "$code"
}

submit() {
  if (($# < 2)) || [[ ! $2 =~ ^[1-9][0-9]*$ ]]; then
    echo "usage: slurm_sweep.sh FOLDER SHARDS BENCH OPTIONS..." >&2
    exit 2
  fi
  local folder shards=$2 program array last
  mkdir -p -- "$1"
  folder=$(realpath -- "$1")
  program=$(realpath -- "${FMHA_BWD:-build/release/fmha_bwd}")
  shift 2
  array=$(sbatch --parsable --job-name=fmha_bwd --array="1-$shards" --ntasks=1 --gres="${FMHA_BWD_GRES:-gpu:1}" \
    --requeue --open-mode=append --output="$folder/shard-%a.log" \
    "$0" --measure-shard "$program" "$folder" "$shards" "$@")
  array=${array%%;*}  # on a federation a cluster's name follows
  # afterany: a case that failed is in its shard's results, and no reason to lose the others.
  last=$(sbatch --parsable --job-name=fmha_bwd_join --dependency="afterany:$array" --ntasks=1 \
    --output="$folder/join.log" "$0" --join-shards "$program" "$folder" "$shards")
  echo "shards: $array, join: ${last%%;*}"
}

case ${1:-} in
  --measure-shard) measure_shard "${@:2}" ;;
  --join-shards) join_shards "${@:2}" ;;
  *) submit "$@" ;;
esac
