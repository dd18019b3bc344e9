// Builds the dashboard into files with hashed names, each also compressed with brotli and gzip. esbuild bundles, and `npm run
// types` checks the types.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

const browser = fileURLToPath(new URL('../dashboard/', import.meta.url))

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
    minify: true,
    legalComments: 'none',
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    metafile: true,
    write: false,
    logLevel: 'warning',
  })
  mkdirSync(folder, { recursive: true })
  for (const { path, contents } of outputFiles) keep(folder, basename(path), contents)
  const nameOf = (kind) =>
    basename(
      Object.entries(metafile.outputs).find(
        ([path, { entryPoint }]) => entryPoint && path.endsWith(kind) && /(app|style)-/.test(path),
      )[0],
    )
  const page = readFileSync(join(browser, 'index.html'), 'utf8')
  keep(folder, 'index.html', Buffer.from(page.replace('{script}', nameOf('.js')).replace('{style}', nameOf('.css'))))
}

function keep(folder, name, contents) {
  writeFileSync(join(folder, name), contents)
  const best = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: contents.length }
  writeFileSync(join(folder, `${name}.br`), brotliCompressSync(contents, { params: best }))
  writeFileSync(join(folder, `${name}.gz`), gzipSync(contents, { level: 9 }))
}
