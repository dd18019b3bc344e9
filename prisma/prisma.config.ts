// Configuration for Prisma's command line: npx prisma migrate deploy --config prisma/prisma.config.ts
export default {
  schema: 'schema.prisma',
  migrations: { path: 'migrations' },
  datasource: { url: process.env.DATABASE_URL ?? '' },
}
