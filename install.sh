#!/usr/bin/env bash
# Installs this checkout into VENV (.venv), with the extras that are named: `make run` calls it without, `make test` with
# dev and docs. Versions are those of constraints.txt. One line a step, with its seconds; output only where a step fails.
#
# pip fetches uv, and uv the rest, from pip's index. PIP_ARGS are arguments of pip: with them, pip does everything.
# PyTorch: PyPI's build for Linux brings gigabytes of CUDA. So it comes from the folder that PIP_FIND_LINKS (or
# UV_FIND_LINKS) names, where that has a fitting one, else from PyTorch's index, which has builds for this machine's GPU
# or for none. Without both it is PyPI's.
set -euo pipefail
cd "$(dirname "$0")"
python=${VENV:-.venv}/bin/python
arguments=(--quiet --constraint constraints.txt --editable ".${1:+[$(IFS=,; echo "$*")]}")

step() {  # TEXT COMMAND...
  local start=$SECONDS output
  printf '%s ... ' "$1"
  output=$("${@:2}" 2>&1) || { printf 'failed\n%s\n' "$output"; exit 1; }
  printf '%d s\n' $((SECONDS - start))
}
pip() { "$python" -m pip --disable-pip-version-check "$@"; }
setting_of_pip() { pip config get "global.$1" 2>/dev/null || true; }
uv() { "$python" -m uv pip install --python "$python" "$@"; }
folder_has_torch() { uv --quiet --dry-run --no-deps --reinstall --no-index --constraint constraints.txt torch 2>/dev/null; }
index_is_near() {
  "$python" -c 'import urllib.request as web
web.urlopen(web.Request("https://download.pytorch.org/whl/", method="HEAD"), timeout=5)' 2>/dev/null
}

[ -x "$python" ] || step "environment ${python%/bin/python}" "${PYTHON:-python3}" -m venv "${python%/bin/python}"
what="ldpsim and what a run needs"
[ $# -eq 0 ] || what="what the extras need: $*"
if [ -n "${PIP_ARGS:-}" ]; then
  eval "words=($PIP_ARGS)"  # with the shell's quotes, as words of a command
  step "$what, by pip" pip install "${words[@]}" "${arguments[@]}"
  exit
fi
"$python" -m uv --version >/dev/null 2>&1 || step "uv, which installs the rest" pip install --quiet --constraint constraints.txt uv
# uv reads no settings of pip.
index=${PIP_INDEX_URL:-$(setting_of_pip index-url)}
links=${PIP_FIND_LINKS:-$(setting_of_pip find-links)}
[ -z "$index" ] || export UV_DEFAULT_INDEX="${UV_DEFAULT_INDEX:-$index}"
export UV_FIND_LINKS="${UV_FIND_LINKS:-${links// /,}}"
torch="PyTorch from PyPI, with CUDA on Linux (about 3 GB)"
if folder_has_torch; then
  torch="PyTorch from $UV_FIND_LINKS"
elif index_is_near; then
  torch="PyTorch for this machine from its own index"
  arguments+=(--torch-backend auto)
fi
[ $# -gt 0 ] || what+="; $torch"
step "$what" uv "${arguments[@]}"
