# Gives a stage a network of its own, in which multicast stays. Sourced before common.sh, since it runs the stage again.
# PROOF_NETWORK: `multicast`, or `unicast` where no namespace can be made: then lines are addresses of this machine.
prepare='ip link set lo up && ip route add 224.0.0.0/4 dev lo'
if [ -z "${PROOF_NETWORK:-}" ]; then
    for way in "--net" "--user --map-root-user --net"; do
        # shellcheck disable=SC2086 # two words
        if unshare $way sh -c "$prepare" 2>/dev/null; then
            PROOF_NETWORK=multicast exec unshare $way sh -c "$prepare && exec \"\$@\"" sh "$0" "$@"
        fi
    done
    export PROOF_NETWORK=unicast
fi

# The lines of a feed, in $line_a and $line_b: lines PORT, in which the next ports are those of further units.
lines() {
    if [ "$PROOF_NETWORK" = multicast ]; then
        line_a=239.77.1.1:$1 line_b=239.77.1.2:$1
    else
        line_a=127.0.0.1:$1 line_b=127.0.0.1:$(($1 + 50))
        skip "no network namespace can be made (unshare, ip): the lines are not multicast"
    fi
}
