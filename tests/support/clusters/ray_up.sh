#!/bin/bash
# Ray on this machine's loopback: a head and one more node; each further line of standard input is one more node, with that number.
# Its end ends all. To be run in a network namespace of its own, as Ray listens on every address, and in a namespace of processes.
#   ray_up.sh FOLDER PORT
set -eu
folder=$1 port=$2
export RAY_USAGE_STATS_ENABLED=0 RAY_health_check_initial_delay_ms=1000 RAY_health_check_timeout_ms=1000
export RAY_health_check_period_ms=1000 RAY_health_check_failure_threshold=3
common=(--node-ip-address=127.0.0.1 --num-cpus=1 --object-store-memory=100000000 --log-color=false)

agents() { # the ports of node $1, or two nodes would share them
  echo "--dashboard-agent-listen-port=$((port + 100 * $1 + 10)) --dashboard-agent-grpc-port=$((port + 100 * $1 + 11)) --metrics-export-port=$((port + 100 * $1 + 12))"
}

ray start --head --port=$((port + 1)) --dashboard-host=127.0.0.1 --dashboard-port="$port" --temp-dir="$folder" --disable-usage-stats \
  "${common[@]}" $(agents 1)
ray start --address="127.0.0.1:$((port + 1))" "${common[@]}" $(agents 2)
touch "$folder/up"
while read -r number; do
  ray start --address="127.0.0.1:$((port + 1))" "${common[@]}" $(agents "$number")
done
