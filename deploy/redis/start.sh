#!/bin/sh
# Starts Redis for casebound: nothing is evicted, what was answered is kept, and one user who may touch
# casebound's keys only. The password comes from the environment and is kept nowhere but as a digest.
# Redis 7.0 does not know client|setinfo: leave it out of users.acl there.
set -eu

here=$(dirname "$0")
run=${REDIS_RUN:-/run/redis}

digest=$(printf %s "$CASEBOUND_REDIS_PASSWORD" | sha256sum | cut -d ' ' -f 1)
sed "s/PASSWORD_SHA256/$digest/" "$here/users.acl" > "$run/users.acl"
unset CASEBOUND_REDIS_PASSWORD

exec "${REDIS_SERVER:-redis-server}" \
    --port "${REDIS_PORT:-6379}" \
    --dir "${REDIS_DATA:-/data}" \
    --aclfile "$run/users.acl" \
    --maxmemory "${REDIS_MAXMEMORY:-1gb}" \
    --maxmemory-policy noeviction \
    --appendonly yes \
    --appendfsync everysec
