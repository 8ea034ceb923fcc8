# Builds the package as `npm pack` makes it, and installs it where nothing else is.
FROM node:22-bookworm-slim AS build
RUN apt-get update \
  && apt-get install -y --no-install-recommends git python3 make g++ pkg-config libpcsclite-dev \
  && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN npm ci && npm pack --pack-destination /tmp && npm install -g --prefix /opt/tapchip /tmp/tapchip-*.tgz

FROM node:22-bookworm-slim
# For card readers, where the socket of the machine's pcscd is mounted.
RUN apt-get update && apt-get install -y --no-install-recommends libpcsclite1 && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/tapchip /opt/tapchip
ENV PATH=/opt/tapchip/bin:$PATH TAPCHIP_DATA_DIR=/data
RUN mkdir /data && chown node:node /data
USER node
VOLUME /data
EXPOSE 8484
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
  CMD node -e "fetch('http://127.0.0.1:8484/healthz').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"
CMD ["tapchipd", "--host", "0.0.0.0"]
