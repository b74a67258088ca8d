# askbook as a service. docs/deploy.md describes how to run it; compose.yaml runs it with its databases.
FROM python:3.13-slim-bookworm AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /source
RUN python -m venv /opt/askbook
COPY requirements.lock ./
RUN /opt/askbook/bin/pip install --require-hashes --no-deps -r requirements.lock
COPY . .
RUN pip wheel --no-deps --wheel-dir /wheels . && /opt/askbook/bin/pip install --no-deps /wheels/*.whl

FROM python:3.13-slim-bookworm
# The home holds the index, the conversations and the caches. Nothing is written elsewhere.
ENV PATH=/opt/askbook/bin:$PATH \
    ASKBOOK_HOME=/var/lib/askbook/home \
    ASKBOOK_LOG=json \
    HOME=/var/lib/askbook \
    PYTHONDONTWRITEBYTECODE=1
RUN useradd --system --uid 10001 --user-group --home-dir /var/lib/askbook --create-home askbook
COPY --from=build /opt/askbook /opt/askbook
USER 10001:10001
WORKDIR /var/lib/askbook
VOLUME ["/var/lib/askbook"]
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/healthz', timeout=8)"]
ENTRYPOINT ["askbook"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8000"]
