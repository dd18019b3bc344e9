// Bundles the web component in packages/uploader into one script that any site can load.
import { fileURLToPath } from 'node:url'

const entry = fileURLToPath(new URL('../packages/uploader/src/index.ts', import.meta.url))

export async function bundleUploader(file) {
  // Imported dynamically, because this file is loaded before the packages are installed.
  const { build } = await import('esbuild')
  await build({
    entryPoints: [entry],
    outfile: file,
    bundle: true,
    format: 'esm',
    target: ['chrome123', 'firefox121', 'safari17.5'],
    minify: true,
    legalComments: 'none',
    logLevel: 'warning',
  })
}
