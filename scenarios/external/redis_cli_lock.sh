#!/usr/bin/env bash
# A lock as it stands in many a cron job: SET NX PX by redis-cli, compare-and-delete by EVAL. As a client of Holdfast it
# sells from the stock under it. What it prints: checker/README.md, "What a program tells".
set -u
command -v redis-cli >/dev/null || { echo "redis-cli is missing: apt-get install redis-tools" >&2; exit 69; }
key=${HOLDFAST_KEYS%%,*}
address=${HOLDFAST_REDIS_URL#redis://} address=${address%/0}
think=${1:-0.4}
cli() { timeout --foreground 2 redis-cli -h "${address%:*}" -p "${address##*:}" "$@" 2>/dev/null; }
tell() { printf '{"type":"%s","f":"%s"%s}\n' "$1" "$2" "${3:+,$3}"; }
exec 3<>"/dev/tcp/${HOLDFAST_EFFECTS%:*}/${HOLDFAST_EFFECTS##*:}"
ask() { echo "$*" >&3; read -r answer <&3; }
milliseconds() { local now=${EPOCHREALTIME/./}; echo $((now / 1000)); }
unlock="if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0"

for ((round = 1, left = 1; left > 0; round++)); do
  mine=$HOLDFAST_CLIENT-$$-$round
  tell invoke acquire
  while sent=$(milliseconds); [ "$(cli SET "$key" "$mine" NX PX "$HOLDFAST_LEASE_MS")" != OK ]; do sleep 0.02; done
  tell ok acquire "\"valid_for_ms\":$((HOLDFAST_LEASE_MS - $(milliseconds) + sent))"
  ask READ
  left=$answer
  if [ "$left" -gt 0 ]; then
    sleep "$think"
    ask SELL $((left - 1))
  fi
  tell invoke release
  case $(cli EVAL "$unlock" 1 "$key" "$mine") in
    1) tell ok release ;;
    0) tell fail release '"error":"not-owner"' ;;
    *) tell info release '"error":"no answer"' ;;
  esac
done
