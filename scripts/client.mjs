// Builds packages/client as ES modules, CommonJS modules and a command-line program.
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

/** Writes the compiled client into `folder`. `compile(configPath, folder)` runs tsc. */
export async function buildClient(client, folder, compile) {
  await compile(join(client, 'tsconfig.json'), folder)
  const commonJs = join(folder, 'cjs')
  await compile(join(client, 'tsconfig.cjs.json'), commonJs)
  writeFileSync(join(commonJs, 'package.json'), '{ "type": "commonjs" }\n')
  await bundleVerification(join(folder, 'command', 'verify.js'))
}

/** Bundles the unpublished @assay/proofs, and jose with its license. Only the verify command needs them. */
async function bundleVerification(path) {
  const jose = dirname(createRequire(import.meta.url).resolve('jose/package.json'))
  const license = readFileSync(join(jose, 'LICENSE.md'), 'utf8').trim()
  // Imported dynamically, because this file is loaded before the packages are installed.
  const { build } = await import('esbuild')
  await build({
    entryPoints: [path],
    outfile: path,
    allowOverwrite: true,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    banner: { js: `/*! This file contains jose.\n\n${license}\n*/` },
    logLevel: 'warning',
  })
}
