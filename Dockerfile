# syntax=docker/dockerfile:1
# ldpsim in a container: slim Python, PyTorch's CPU build, a user without rights, no data sets (docs/install.md).
# This file was checked by two linters (`make lint-docker`). It was NOT built: no Docker ran where it was written.

FROM python:3.11-slim-bookworm AS build
WORKDIR /source
RUN python -m venv /ldpsim
COPY pyproject.toml constraints.txt MANIFEST.in README.md LICENSE CHANGELOG.md CITATION.cff ./
COPY cli ./cli
COPY curator ./curator
COPY devices ./devices
COPY ldpsim ./ldpsim
COPY strategies ./strategies
# The versions are those of constraints.txt; of torch the build without CUDA.
RUN /ldpsim/bin/python -m pip install --no-cache-dir --constraint constraints.txt \
      --extra-index-url https://download.pytorch.org/whl/cpu .

FROM python:3.11-slim-bookworm
RUN useradd --create-home --uid 10001 ldpsim \
    && install --directory --owner=ldpsim --mode=0700 /data /results
COPY --from=build /ldpsim /ldpsim
ENV PATH=/ldpsim/bin:$PATH \
    LANG=C.UTF-8 \
    PYTHONDONTWRITEBYTECODE=1 \
    LDPSIM_DATA=/data
USER ldpsim
# Results are written to runs/ in this folder: mount a folder of yours here.
WORKDIR /results
ENTRYPOINT ["ldpsim"]
CMD ["--help"]
