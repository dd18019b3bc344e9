// Builds the page /graphql into files with hashed names.
import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { writeFile } from './dashboard.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const source = join(root, 'src', 'api', 'http', 'graphql-page')
const graphiql = join(root, 'node_modules', 'graphiql', 'dist')

/** Writes page.html and its files into `folder`. */
export async function bundleExplorer(folder) {
  const { build } = await import('esbuild')
  const { outputFiles } = await build({
    entryPoints: [join(source, 'explorer.js'), join(source, 'explorer.css')],
    outdir: folder,
    bundle: true,
    format: 'esm',
    target: ['chrome123', 'firefox121', 'safari17.5'],
    // The GraphiQL bundle includes all of its dependencies except React, so they need not be installed.
    alias: { graphiql: join(graphiql, 'index.umd.js'), 'graphiql/style.css': join(graphiql, 'style.css') },
    define: { 'process.env.NODE_ENV': '"production"' },
    minify: true,
    legalComments: 'none',
    entryNames: '[name]-[hash]',
    write: false,
    logLevel: 'warning',
  })
  for (const { path, contents } of outputFiles) writeFile(folder, basename(path), contents)
  const getName = (ending) => basename(outputFiles.find(({ path }) => path.endsWith(ending)).path)
  const page = readFileSync(join(source, 'page.html'), 'utf8')
  writeFile(folder, 'page.html', page.replace('{script}', getName('.js')).replace('{style}', getName('.css')))
}
