#!/bin/sh
# Brings both databases of the Temporal server to the schema of this image's release. Safe to repeat.
set -eu

schema=/etc/temporal/schema/postgresql/v12

migrate() {
    tool="temporal-sql-tool --plugin postgres12 --ep postgres --port 5432 --user temporal --db $1"
    $tool create
    $tool setup-schema --version 0.0
    $tool update-schema --schema-dir "$schema/$2/versioned"
}

migrate temporal temporal
migrate temporal_visibility visibility
