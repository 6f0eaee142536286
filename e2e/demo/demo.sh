#!/bin/sh
# What make demo runs: builds the story and becomes it, so that its exit status is the demo's.
set -eu
cd "$(dirname "$0")/../.."
go build -o bin/demo ./e2e/demo
exec bin/demo "$@"
