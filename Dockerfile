# An image of arkaudit, for audits on a schedule: docs/deployment.md.
# Versions and digests of all packages come from constraints.txt; uv refuses a file with another digest.
FROM python:3.13.7-slim-bookworm@sha256:adafcc17694d715c905b4c7bebd96907a1fd5cf183395f0ebc4d3428bd22d92d AS build
WORKDIR /src
COPY . .
RUN python -m venv /opt/uv \
    && /opt/uv/bin/pip install --no-cache-dir --quiet uv==0.13.9 \
    && python -m venv --without-pip /opt/arkaudit \
    && /opt/uv/bin/uv pip install --no-cache --python /opt/arkaudit/bin/python \
        --constraint constraints.txt '.[dns,duckdb,identity,notify,schedule,xlsx]'

FROM python:3.13.7-slim-bookworm@sha256:adafcc17694d715c905b4c7bebd96907a1fd5cf183395f0ebc4d3428bd22d92d
RUN useradd --uid 10001 --create-home --home-dir /srv/arkaudit arkaudit
COPY --from=build /opt/arkaudit /opt/arkaudit
ENV PATH=/opt/arkaudit/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    ARKAUDIT_CACHE=/srv/arkaudit/.cache
USER 10001
WORKDIR /srv/arkaudit
VOLUME /srv/arkaudit
HEALTHCHECK --interval=5m --timeout=30s --start-period=30s CMD ["arkaudit", "doctor"]
ENTRYPOINT ["arkaudit"]
CMD ["schedule", "run"]
