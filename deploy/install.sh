#!/bin/sh
# install.sh FOLDER: clew with the driver for PostgreSQL, in an environment of its own in FOLDER. Run it in the root of the project.
set -eu
folder=$1
python3 -m venv "$folder"
pip() { "$folder/bin/python" -m pip --quiet --disable-pip-version-check --no-cache-dir "$@"; }
pip install --only-binary :all: --require-hashes -r requirements/image.txt
pip install --no-deps .
# What only installs, and what only tests, has no place in an image.
"$folder/bin/python" -m compileall -q "$folder/lib" || true
pip uninstall --yes pip
