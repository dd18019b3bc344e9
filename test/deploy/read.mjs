// Reads deployment files with parsers and schemas from npm, and prints parsed data and errors. Runs in a separate process because
// one parser is a Go program in WebAssembly.
import { readdirSync, readFileSync } from 'node:fs'
import { parse as parseHcl } from '@cdktf/hcl2json'
import { parser } from '@prometheus-io/lezer-promql'
import * as apps from 'kubernetes-models/apps/v1'
import * as autoscaling from 'kubernetes-models/autoscaling/v2'
import * as batch from 'kubernetes-models/batch/v1'
import * as networking from 'kubernetes-models/networking.k8s.io/v1'
import * as policy from 'kubernetes-models/policy/v1'
import * as core from 'kubernetes-models/v1'
import { parseAllDocuments } from 'yaml'

const root = new URL('../../', import.meta.url)
const read = (path) => readFileSync(new URL(path, root), 'utf8')
const faults = []

function readYaml(path) {
  return parseAllDocuments(read(path)).map((document) => {
    for (const fault of [...document.errors, ...document.warnings]) faults.push(`${path}: ${fault.message}`)
    return document.toJS()
  })
}

const kinds = {
  'apps/v1': apps,
  'batch/v1': batch,
  v1: core,
  'policy/v1': policy,
  'autoscaling/v2': autoscaling,
  'networking.k8s.io/v1': networking,
}

/** Validates an object and reports members that the schema ignores. */
function validate(path, object) {
  const Model = kinds[object.apiVersion]?.[object.kind]
  if (!Model) return void faults.push(`${path}: ${object.apiVersion} ${object.kind} has no schema here`)
  const requested = new Map()
  const watched = (value, at) =>
    value === null || typeof value !== 'object'
      ? value
      : new Proxy(value, {
          get(target, name, receiver) {
            if (typeof name === 'string') requested.set(`${at}/${name}`, true)
            const member = Reflect.get(target, name, receiver)
            return typeof name === 'string' && Object.hasOwn(target, name) ? watched(member, `${at}/${name}`) : member
          },
        })
  try {
    Model.prototype.validate.call(watched(object, ''))
  } catch (error) {
    faults.push(`${path}: ${error.message}`)
  }
  const unknown = (value, at) => {
    if (value === null || typeof value !== 'object') return
    for (const [name, member] of Object.entries(value)) {
      if (requested.has(`${at}/${name}`)) unknown(member, `${at}/${name}`)
      else faults.push(`${path}: ${object.kind} has no ${at}/${name}`)
    }
  }
  unknown(object, '')
}

function parsePromql(expression, from) {
  const names = new Map()
  parser.parse(expression).iterate({
    enter: (node) => {
      if (node.type.isError) faults.push(`${from}: ${expression}`)
      if (node.name === 'VectorSelector') {
        const text = expression.slice(node.from, node.to)
        const name = /^[a-zA-Z_:][\w:]*/.exec(text)[0]
        names.set(name, [...(names.get(name) ?? []), ...[...text.matchAll(/[{,]\s*(\w+)\s*[=!]/g)].map(([, label]) => label)])
      }
      if (node.name === 'GroupingLabels')
        names.set('', [...(names.get('') ?? []), ...expression.slice(node.from, node.to).match(/\w+/g)])
    },
  })
  return {
    expression,
    metrics: [...names].filter(([name]) => name !== '').map(([name, labels]) => ({ name, labels })),
    grouped: names.get('') ?? [],
  }
}

const kubernetes = {}
for (const name of readdirSync(new URL('deploy/kubernetes/', root)).filter((name) => name.endsWith('.yaml'))) {
  kubernetes[name] = readYaml(`deploy/kubernetes/${name}`)
  if (name !== 'kustomization.yaml') for (const object of kubernetes[name]) validate(name, object)
}
const terraform = {}
for (const name of readdirSync(new URL('deploy/terraform/', root)).filter((name) => name.endsWith('.tf')))
  terraform[name] = await parseHcl(name, read(`deploy/terraform/${name}`)).catch((error) => void faults.push(`${name}: ${error}`))
const dashboard = JSON.parse(read('deploy/grafana/dashboard.json'))
const [alerts] = readYaml('deploy/grafana/alerts.yaml')
const expressions = [
  ...dashboard.panels.flatMap(({ title, targets }) =>
    targets.map(({ expr }) => parsePromql(expr.replaceAll('$__rate_interval', '5m'), title)),
  ),
  ...alerts.groups.flatMap(({ rules }) => rules.map(({ alert, expr }) => parsePromql(expr, alert))),
]
const [compose] = readYaml('compose.yaml')
const monitoring = [
  ...readYaml('deploy/kubernetes/monitoring/kustomization.yaml'),
  ...readYaml('deploy/kubernetes/monitoring/service-monitor.yaml'),
]
console.log(JSON.stringify({ faults, compose, kubernetes, monitoring, terraform, dashboard, alerts, expressions }))
process.exit()
