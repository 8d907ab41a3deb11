#!/bin/sh
# build.sh FOLDER: the wheel and the sdist, in FOLDER. The same commit gives the same files: times in them are the commit's.
set -eu
cd "$(dirname "$0")/.."
folder=$1
mkdir -p "$folder"
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || echo 315532800)
export SOURCE_DATE_EPOCH
python=${PYTHON:-.venv/bin/python}
"$python" -m hatchling build -t sdist -t wheel -d "$folder"
