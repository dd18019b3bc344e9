// Builds the dashboard into files with hashed names. esbuild only bundles. `npm run types` checks the types.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const browser = fileURLToPath(new URL('../dashboard/', import.meta.url))

/**
 * Adds an import of `Buffer`, a Node.js global, to packages/proofs. The esbuild option `inject` would add it to the initial
 * chunk.
 */
const bufferForProofs = {
  name: 'buffer-for-proofs',
  setup: ({ onLoad }) =>
    onLoad({ filter: /[\\/]packages[\\/]proofs[\\/]dist[\\/].*\.js$/ }, ({ path }) => ({
      contents: `import { Buffer } from ${JSON.stringify(join(browser, 'node/buffer.ts'))}\n${readFileSync(path, 'utf8')}`,
      loader: 'js',
    })),
}

/** Writes index.html and its files into `folder`. */
export async function bundleDashboard(folder) {
  // Imported dynamically, because this file is loaded before the packages are installed.
  const { build } = await import('esbuild')
  const { metafile, outputFiles } = await build({
    entryPoints: { app: join(browser, 'main.tsx'), style: join(browser, 'style.css') },
    outdir: folder,
    bundle: true,
    splitting: true,
    format: 'esm',
    target: ['chrome123', 'firefox121', 'safari17.5'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    // packages/proofs verifies receipts with `node:crypto`, which browsers do not have.
    alias: { 'node:crypto': join(browser, 'node/crypto.ts') },
    plugins: [bufferForProofs],
    minify: true,
    legalComments: 'none',
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    metafile: true,
    write: false,
    logLevel: 'warning',
  })
  for (const { path, contents } of outputFiles) writeFile(folder, basename(path), contents)
  const findOutput = (source) => Object.entries(metafile.outputs).find(([, { entryPoint }]) => entryPoint?.endsWith(source))
  const [script, { imports }] = findOutput('main.tsx')
  const [style] = findOutput('style.css')
  // Preload links let the browser request the chunks in parallel with the script that imports them.
  const preload = imports
    .filter(({ kind }) => kind === 'import-statement')
    .map(({ path }) => `<link rel="modulepreload" href="/assets/${basename(path)}">\n`)
    .join('')
  const page = readFileSync(join(browser, 'index.html'), 'utf8')
    .replace('{style}', basename(style))
    .replace('{script}', basename(script))
    .replace('{preload}\n', preload)
  writeFile(folder, 'index.html', page)
}

export function writeFile(folder, name, contents) {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, name), contents)
}
