// node bundle.mjs BUNDLER: bundles bundle-entry.mjs for browsers into out/BUNDLER and prints every error and warning.
import process from 'node:process'

const entry = 'sessions/bundle-entry.mjs'
const bundlers = {
  async esbuild() {
    const { build } = await import('esbuild')
    const { warnings } = await build({ entryPoints: { app: entry }, outdir: 'out/esbuild', bundle: true, logLevel: 'warning' })
    return warnings
  },
  async webpack() {
    const { default: webpack } = await import('webpack')
    const output = { path: `${process.cwd()}/out/webpack`, filename: 'app.js', publicPath: 'auto' }
    const compiler = webpack({ mode: 'production', entry: `./${entry}`, output, performance: false })
    return new Promise((resolve, reject) => {
      compiler.run((error, stats) =>
        error ? reject(error) : resolve([...stats.compilation.errors, ...stats.compilation.warnings]),
      )
    })
  },
  async vite() {
    const { build } = await import('vite')
    const output = { entryFileNames: 'app.js', format: 'es' }
    const rollupOptions = { input: entry, output }
    await build({ configFile: false, base: './', logLevel: 'warn', build: { outDir: 'out/vite', rollupOptions } })
    return []
  },
}
for (const problem of await bundlers[process.argv[2]]()) console.log(problem.message ?? problem.text)
