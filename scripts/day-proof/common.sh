# Shared by the stages: the program, a folder, and the words for what held. Sourced, not run.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[1]}")" && pwd)
root=$(cd "$here/../../.." && pwd)

# NANOTAPE names a binary that is already built, with nanotape-lab beside it; otherwise both are built here.
if [ -z "${NANOTAPE:-}" ]; then
    (cd "$root" && cargo build --release --locked -p nanotape-cli -p nanotape-lab-cli --quiet)
    NANOTAPE="${CARGO_TARGET_DIR:-$root/target}/release/nanotape"
fi
# In the background the program itself is started, so that signals reach it and not a shell.
nanotape() { "$NANOTAPE" "$@"; }

folder=$(mktemp -d "${TMPDIR:-/tmp}/nanotape-proof.XXXXXX")
ring="proof-$$"
cleanup() {
    jobs -p | xargs -r kill -KILL 2>/dev/null || true
    [ -z "${small:-}" ] || { mountpoint -q "$small" 2>/dev/null && umount -l "$small"; } || true
    rm -rf "$folder" "/dev/shm/nanotape-$ring".* "/dev/shm/nanotape-$ring"
}
trap cleanup EXIT

failed=0 skipped=0
say() { printf '\n== %s\n' "$*"; }
good() { printf 'good: %s\n' "$*"; }
bad() { printf 'BAD: %s\n' "$*"; failed=1; }
skip() { printf 'SKIPPED: %s\n' "$*"; skipped=1; }
holds() {
    local what=$1
    shift
    if "$@"; then good "$what"; else bad "$what"; fi
}
# Whether something becomes true within a minute: comes WHAT COMMAND...
comes() {
    local what=$1 end=$((SECONDS + 60))
    shift
    until "$@"; do
        [ "$SECONDS" -lt "$end" ] || { bad "$what: not within a minute"; return; }
        sleep 0.01
    done
    good "$what"
}
fresh() { rm -f "/dev/shm/nanotape-$ring" "/dev/shm/nanotape-$ring".*; }

# Kills the keeper of a plant that runs, some times. kill_keeper_of PLANT EVERY_SECONDS TIMES
kill_keeper_of() {
    local times=$3
    while [ "$times" -gt 0 ] && kill -0 "$1" 2>/dev/null; do
        times=$((times - 1))
        sleep "$2"
        pgrep -P "$1" -f 'latest keep' | xargs -r kill -KILL 2>/dev/null || true
    done
}

# A number from a line of JSON: number NAME <LINE
number() { sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p" | tail -1; }

# The digest of the records of a run, from its stop record. digest_of RING [FIRST_SEQUENCE]
digest_of() {
    nanotape tap "$1" --from "${2:-oldest}" --records status --format csv 2>/dev/null \
        | sed -n 's/.*,stop,.* digest \([0-9a-f]*\)".*/\1/p' | tail -1
}

# The options of a stage: --quick, --list, numbers of parts. Sets `is_quick` and `parts`.
options() {
    is_quick=0 parts=()
    local argument
    for argument in "$@"; do
        case "$argument" in
            --quick) is_quick=1 ;;
            --list) sed -n 's/^# part \([0-9]\): \(.*\)$/\1  \2/p' "$0"; exit 0 ;;
            [1-9]) parts+=("$argument") ;;
            *) echo "${0##*/}: unknown argument $argument; see README.md" >&2; exit 2 ;;
        esac
    done
    [ ${#parts[@]} -gt 0 ] || mapfile -t parts < <(sed -n 's/^# part \([0-9]\):.*$/\1/p' "$0")
}

# A Python that has these packages, in $python; NANOTAPE_PYTHON names one.
python="${NANOTAPE_PYTHON:-}"
find_python() {
    local imports
    imports=$(printf 'import %s;' "$@")
    if [ -z "$python" ] && python3 -m venv "$folder/python"; then
        python="$folder/python/bin/python"
    fi
    if [ "$python" = "$folder/python/bin/python" ]; then
        "$folder/python/bin/pip" install --quiet "$@" || true
    fi
    "$python" -c "$imports" 2>/dev/null && return
    skip "python3 lacks one of $*, and pip could not install it"
    return 1
}

# Runs the parts, and ends with the status of the stage.
run_parts() {
    local part
    for part in "${parts[@]}"; do "part_$part"; done
    [ "$failed" = 0 ] || { echo "something did NOT hold"; exit 1; }
    [ "$skipped" = 0 ] || { echo "everything that was run held; something was skipped"; exit 3; }
    echo "everything held"
}
