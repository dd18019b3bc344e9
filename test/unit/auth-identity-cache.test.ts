import { setTimeout } from 'node:timers/promises'
import { describe, expect, test } from '@jest/globals'
import { IdentityCache } from '../../src/access/identity-cache.js'

interface Value {
  id: string
  text: string
}

const cacheWith = (options: { trusted?: () => boolean; capacity?: number; unknownCapacity?: number; maxAgeMs?: number } = {}) => {
  const { trusted = () => true, ...rest } = options
  return new IdentityCache<Value>({ trust: { isTrusted: trusted }, idsOf: ({ id }) => [id], ...rest })
}

const counting = (value: Value | null) => {
  const load = async () => {
    load.calls++
    return value
  }
  load.calls = 0
  return load
}

describe('identity cache', () => {
  test('queries an identity only once and then returns it from the cache synchronously', async () => {
    const cache = cacheWith()
    const load = counting({ id: 'a', text: 'A' })
    await cache.get('k', load)
    expect(cache.get('k', load)).toEqual({ id: 'a', text: 'A' })
    expect(load.calls).toBe(1)
  })

  test('queries an identity only once for concurrent lookups', async () => {
    const cache = cacheWith()
    const load = counting({ id: 'a', text: 'A' })
    await Promise.all(Array.from({ length: 50 }, () => cache.get('k', load)))
    expect(load.calls).toBe(1)
  })

  test('caches unknown identities but not errors', async () => {
    const cache = cacheWith()
    const unknown = counting(null)
    await cache.get('k', unknown)
    expect(cache.get('k', unknown)).toBeNull()
    expect(unknown.calls).toBe(1)
    await expect(cache.get('f', () => Promise.reject(new Error('away')))).rejects.toThrow('away')
    expect(await cache.get('f', counting({ id: 'f', text: 'back' }))).toMatchObject({ text: 'back' })
  })

  test('evicts the least recently used identities if the cache exceeds its size limit', async () => {
    const cache = cacheWith({ capacity: 3, unknownCapacity: 10 })
    const load = counting({ id: 'a', text: 'A' })
    for (const key of ['1', '2', '3']) await cache.get(key, load)
    cache.get('1', load)
    await cache.get('4', load)
    for (let guess = 0; guess < 1000; guess++) await cache.get(`guess ${guess}`, counting(null))
    expect(cache.size).toBe(13)
    expect(cache.get('1', load)).toEqual({ id: 'a', text: 'A' })
    expect(cache.get('2', load)).toBeInstanceOf(Promise)
  })

  test('bypasses the identity cache while notifications are unavailable', async () => {
    let trusted = true
    const cache = cacheWith({ trusted: () => trusted })
    const load = counting({ id: 'a', text: 'A' })
    await cache.get('k', load)
    trusted = false
    await cache.get('k', load)
    await cache.get('k', load)
    expect(load.calls).toBe(3)
    const expiringCache = cacheWith({ maxAgeMs: 1 })
    // The age counts from the start of the lookup.
    const slow = async () => setTimeout(5).then(load)
    await expiringCache.get('k', slow)
    await expiringCache.get('k', slow)
    expect(load.calls).toBe(5)
  })

  test('never caches an identity that was loaded before a change', async () => {
    const cache = cacheWith()
    let finish = (_: Value) => {}
    const before = cache.get('k', () => new Promise<Value>((resolve) => (finish = resolve)))
    cache.forget('a')
    const after = cache.get('k', counting({ id: 'a', text: 'new' }))
    finish({ id: 'a', text: 'old' })
    expect(await before).toMatchObject({ text: 'old' })
    expect(await after).toMatchObject({ text: 'new' })
    expect(await cache.get('k', counting({ id: 'a', text: 'newer' }))).toMatchObject({ text: 'new' })
  })

  test('invalidates only the cached identities that are affected by a change', async () => {
    const cache = cacheWith()
    await cache.get('1', counting({ id: 'a', text: '1' }))
    await cache.get('2', counting({ id: 'a', text: '2' }))
    await cache.get('3', counting({ id: 'b', text: '3' }))
    cache.forget('a')
    expect(cache.get('1', counting(null))).toBeInstanceOf(Promise)
    expect(cache.get('2', counting(null))).toBeInstanceOf(Promise)
    expect(cache.get('3', counting(null))).toMatchObject({ text: '3' })
  })
})
