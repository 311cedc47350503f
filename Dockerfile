# The desk in a container, under an account without rights. docs/how-to/container.md shows how to run it: the desk
# answers on 127.0.0.1 only, so it needs the network of the host, and no port is published.
FROM python:3.13-slim-bookworm AS build
WORKDIR /source
# Named one by one: records that lie in the folder never enter the image.
COPY pyproject.toml README.md LICENSE ./
COPY reidsim reidsim
COPY scenarios scenarios
COPY populations populations
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheel .

FROM python:3.13-slim-bookworm
RUN --mount=type=bind,from=build,source=/wheel,target=/wheel \
    pip install --no-cache-dir "$(echo /wheel/*.whl)[web]" \
    && useradd --uid 10001 --home-dir /sessions --no-create-home --shell /usr/sbin/nologin desk \
    && install -d -m 700 -o desk /sessions
# The only folder that the desk writes to: sessions, compiled code, settings of libraries.
ENV HOME=/sessions TMPDIR=/sessions NUMBA_CACHE_DIR=/sessions/numba MPLCONFIGDIR=/sessions/matplotlib
WORKDIR /sessions
USER 10001
ENTRYPOINT ["reidsim", "desk"]
