# Image for deployments. Requires DATABASE_URL and MASTER_KEY, or their _FILE variables.
# To pin the base image, add --build-arg NODE_IMAGE=node:24-bookworm-slim@sha256:…. `docker buildx imagetools inspect node:24-bookworm-slim` shows the digest.
ARG NODE_IMAGE=node:24-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /app
# Install packages first, so that this layer is rebuilt only if the lock file changes.
COPY package.json package-lock.json ./
COPY packages/formats/package.json packages/formats/
COPY packages/proofs/package.json packages/proofs/
COPY packages/client/package.json packages/client/
COPY packages/uploader/package.json packages/uploader/
COPY dashboard/package.json dashboard/
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund
COPY tsconfig*.json ./
COPY scripts scripts
COPY prisma prisma
COPY packages packages
COPY dashboard dashboard
COPY src src
RUN node scripts/prepare.mjs && node scripts/prune.mjs

FROM ${NODE_IMAGE}
# npm runs the operator commands, and writes only to /tmp, so that the root file system can be read-only.
ENV NODE_ENV=production PORT=8080 DATA_DIR=/data UV_THREADPOOL_SIZE=12 MALLOC_ARENA_MAX=1 \
    npm_config_cache=/tmp/.npm npm_config_logs_max=0 npm_config_update_notifier=false
WORKDIR /app
RUN mkdir /data && chown 1000:1000 /data
COPY --from=build /app/package.json ./
COPY llms.txt ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/prisma prisma
COPY --from=build /app/packages packages
COPY --from=build /app/dist dist
# The user id is numeric, because Kubernetes' runAsNonRoot cannot resolve names.
USER 1000:1000
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.PORT + '/health/live').then((response) => process.exit(response.ok ? 0 : 1), () => process.exit(1))"]
# Node.js is the first process and handles SIGTERM: 5 s of shutdown delay, then up to 30 s for open requests (docker stop --time 45).
# The heap's young generation is small, because collecting it frees the received chunks. Otherwise V8 marks the whole heap for every
# 9 uploads of 1 MiB. For the same reason, the old generation may double between two markings, instead of growing by a tenth, and
# V8 does not predict which objects will live long: it predicted wrong, and collecting them took up to 30 % of the CPU time of reads.
CMD ["node", "--max-semi-space-size=4", "--heap-growing-percent=100", "--no-allocation-site-pretenuring", "dist/main.js"]
