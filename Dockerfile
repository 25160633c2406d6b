# Serves the methods over the packaged corpus: an API as OpenAI's, and a page (docs/install.md).
#   docker build --tag odqa .
#   docker run --env ODQA_TOKEN=… --publish 8900:8900 odqa
# Arguments are those of `odqa serve`. Without ODQA_TOKEN it refuses to start, since it listens on all addresses.
FROM python:3.13-slim AS built

WORKDIR /source
COPY . .
RUN pip install --no-cache-dir build==1.6.1 && python -m build --wheel --outdir /dist

FROM python:3.13-slim

ENV PYTHONUNBUFFERED=1
# hadolint ignore=DL3013  # the wheel has a version, and bounds for what it needs
RUN --mount=type=bind,from=built,source=/dist,target=/dist \
    pip install --no-cache-dir "$(echo /dist/*.whl)[fast,serve]" \
    && useradd --create-home --uid 10001 odqa
USER 10001
WORKDIR /home/odqa

EXPOSE 8900
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8900/health', timeout=4)"]
ENTRYPOINT ["odqa", "serve", "--host", "0.0.0.0", "--port", "8900"]
