#!/bin/sh
# Creates the namespace of TEMPORAL_NAMESPACE and declares casebound's search attributes in it. Safe to repeat.
set -eu

# A port that accepts is not yet a server that answers, and a new namespace is known everywhere only some seconds later.
patiently() {
    tries=0
    until "$@"; do
        tries=$((tries + 1))
        if [ "$tries" -ge 60 ]; then
            echo "gave up after $tries tries: $*" >&2
            exit 1
        fi
        sleep 1
    done
}

# Histories are kept longer than the records of a run with the default record_ttl (deadline and 7 days).
namespace() {
    temporal operator namespace describe --namespace "$TEMPORAL_NAMESPACE" > /dev/null 2>&1 ||
        temporal operator namespace create --namespace "$TEMPORAL_NAMESPACE" --retention 30d
}

search_attribute() {
    temporal operator search-attribute create --namespace "$TEMPORAL_NAMESPACE" --type Keyword --name "$1"
}

patiently temporal operator cluster health
patiently namespace
# One at a time: of several names in one command only the first is declared.
for name in CaseboundOutcome CaseboundVerdict CaseboundOwner; do
    patiently search_attribute "$name"
done
