import { readFileSync } from 'node:fs'
import { describe, expect, test } from '@jest/globals'
import { eventTypes } from '../../src/ledger/event-types.js'

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

/** Returns the event types in the table of docs/events.md, where `.updated` after `user.created` means `user.updated`. */
function listDocumentedTypes(page: string): string[] {
  const section = page.split('## Event types')[1]?.split('\n## ')[0] ?? ''
  return [...section.matchAll(/^\| (`[^|]+) \|/gm)].flatMap(([, cell = '']) => {
    const names = [...cell.matchAll(/`([\w.]+)`/g)].map(([, name = '']) => name)
    const prefix = names[0]?.split('.')[0] ?? ''
    return names.map((name) => (name.startsWith('.') ? prefix + name : name))
  })
}

describe('names documented in several files', () => {
  test('docs/events.md lists exactly the event types that the service sends', () => {
    expect(listDocumentedTypes(read('docs/events.md')).sort()).toEqual(Object.keys(eventTypes).sort())
  })

  test('the webhook dialog has a label for every event type prefix', () => {
    const labeled = [...read('dashboard/texts/webhooks.ts').matchAll(/^ {6}'(\w+)\.[\w*]+': '/gm)].map(([, prefix]) => prefix)
    const prefixes = new Set(Object.keys(eventTypes).map((type) => type.split('.')[0]))
    expect(labeled.sort()).toEqual([...prefixes].sort())
  })

  test('serves the dashboard at the path of every view', () => {
    const names = [...read('dashboard/views.ts').matchAll(/^ {4}name: '([\w-]+)',/gm)].map(([, name]) => name ?? '')
    const [, served = ''] = read('src/api/http/dashboard.ts').match(/\/\^\\\/\(\?:\(\?:([\w|-]+)\)/) ?? []
    expect(names.length).toBeGreaterThan(5)
    expect(served.split('|').sort()).toEqual(names.sort())
  })
})
