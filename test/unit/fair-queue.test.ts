import { describe, expect, test } from '@jest/globals'
import { seeded } from '../../packages/formats/test/support/samples/mutations.js'
import { background, FairQueue } from '../../src/inspection/workers/fair-queue.js'

interface Queued {
  name: string
  owner?: string
  size: number
}

const megabyte = 1_048_576
let created = 0
const file = (owner: string, size = 1): Queued => ({ name: `${owner}${created++}`, owner, size })
const files = (owner: string, count: number) => Array.from({ length: count }, () => file(owner))

const open = (maxLength: number, workers = 1) => new FairQueue<Queued>({ workers, maxLength })
const opened = (waiting: Queued[], { maxLength = 1000, workers = 1 } = {}) => {
  const queue = open(maxLength, workers)
  for (const each of waiting) expect(queue.add(each)).toBeUndefined()
  return queue
}

/** Starts and ends all files one after another. */
function drain(queue: FairQueue<Queued>): Queued[] {
  const started: Queued[] = []
  for (let next = queue.dequeue(); next; next = queue.dequeue()) {
    started.push(next)
    queue.release(next)
  }
  expect(queue.length).toBe(0)
  return started
}

const listOwners = (some: Queued[]) => some.map(({ owner }) => owner).join('')

describe('background work in the fair queue', () => {
  test('runs background work after all other work and leaves one worker free', () => {
    const [first, second] = files(background, 2)
    const own = file('a')
    const queue = opened([first!, second!, own], { workers: 2 })
    expect([queue.dequeue(), queue.dequeue(), queue.dequeue()]).toEqual([own, undefined, undefined])
    queue.release(own)
    expect([queue.dequeue(), queue.dequeue()]).toEqual([first, undefined])
    queue.release(first!)
    expect(queue.dequeue()).toBe(second)
  })

  test('removes background work from a full queue to make room for other work', () => {
    const waiting = [file('a'), file(background)]
    const queue = opened(waiting, { maxLength: 2 })
    const newcomer = file('a')
    expect(queue.add(newcomer)).toBe(waiting[1])
    const late = file(background)
    expect(queue.add(late)).toBe(late)
  })
})

describe('order of the fair queue', () => {
  test("processes a tenant's queued files in order, at most one per worker at a time", () => {
    const waiting = files('a', 5)
    const queue = opened(waiting, { workers: 2 })
    expect([queue.dequeue(), queue.dequeue(), queue.dequeue()]).toEqual([waiting[0], waiting[1], undefined])
    queue.release(waiting[1]!)
    expect([queue.dequeue(), queue.dequeue()]).toEqual([waiting[2], undefined])
    const ownerless = [1, 2, 3].map((size) => ({ name: `${size}`, size }))
    expect(drain(opened(ownerless))).toEqual(ownerless)
  })

  test('alternates between tenants if the fair queue has only one worker', () => {
    expect(listOwners(drain(opened([...files('a', 4), ...files('b', 2), ...files('c', 1)])))).toBe('abcabaa')
  })

  test('prefers tenants that use fewer workers', () => {
    const queue = opened(files('a', 3), { workers: 3 })
    const [slow, quick] = [queue.dequeue()!, queue.dequeue()!]
    queue.release(quick)
    for (const each of files('b', 3)) queue.add(each)
    const started = [queue.dequeue()!, queue.dequeue()!]
    for (const each of started) queue.release(each)
    // Owner a has had the same number of turns, but one of its files is still in progress.
    expect(listOwners([...started, queue.dequeue()!])).toBe('bbb')
    queue.release(slow)
    expect(queue.dequeue()?.owner).toBe('a')
  })

  test('prefers a tenant that recently used fewer workers', () => {
    const queue = opened(files('a', 20))
    for (let start = 0; start < 3; start++) queue.release(queue.dequeue()!)
    for (const each of files('b', 20)) queue.add(each)
    expect(listOwners(drain(queue))).toMatch(/^bbb(ab|ba){12}/)
  })

  test('makes a new tenant wait for at most one file from each other tenant', () => {
    const owners = Array.from({ length: 100 }, (_, at) => `owner ${at} `)
    const queue = opened(owners.flatMap((owner) => files(owner, 10)))
    for (let start = 0; start < 50; start++) queue.release(queue.dequeue()!)
    const newcomer = file('newcomer')
    queue.add(newcomer)
    expect(drain(queue).indexOf(newcomer)).toBeLessThanOrEqual(100)
  })
})

describe('large files in the fair queue', () => {
  const large = (owner: string) => file(owner, 16 * megabyte)

  test('leaves one of several workers free for small files', () => {
    const waiting = [large('a'), large('b'), large('c'), file('a'), file('a')]
    const queue = opened(waiting, { workers: 3 })
    expect([queue.dequeue(), queue.dequeue(), queue.dequeue(), queue.dequeue()]).toEqual([
      waiting[0],
      waiting[1],
      waiting[3],
      undefined,
    ])
    queue.release(waiting[3]!)
    expect([queue.dequeue(), queue.dequeue()]).toEqual([waiting[4], undefined])
    queue.release(waiting[4]!)
    expect(queue.dequeue()).toBeUndefined()
    queue.release(waiting[0]!)
    expect(queue.dequeue()).toBe(waiting[2])
  })

  test('processes large files in order of arrival even with a single worker', () => {
    const waiting = [large('a'), file('a'), large('a'), file('a'), file('a')]
    expect(drain(opened(waiting))).toEqual(waiting)
    const turns = [large('a'), large('a'), file('b'), file('b')]
    expect(listOwners(drain(opened(turns)))).toBe('abab')
  })
})

describe('full fair queues', () => {
  test("rejects further files if one tenant's files fill the queue", () => {
    const queue = opened(files('a', 3), { maxLength: 3 })
    const late = file('a')
    expect(queue.add(late)).toBe(late)
    expect(queue.length).toBe(3)
  })

  test("drops the largest tenant's latest file to make room for a tenant with far fewer files", () => {
    const [a, b] = [files('a', 4), files('b', 2)]
    const queue = opened([...a, ...b], { maxLength: 6 })
    const c = files('c', 2)
    expect(queue.add(c[0]!)).toBe(a[3])
    expect(queue.add(c[1]!)).toBe(a[2])
    expect(drain(queue)).toEqual([a[0], b[0], c[0], a[1], b[1], c[1]])
  })

  test.each([
    ['the most files', 3],
    ['as many files as the largest tenant', 2],
    ['one file fewer than the largest tenant', 1],
  ])('rejects a file from a tenant with %s if the queue is full', (_how, own) => {
    const queue = opened([...files('a', 2), ...files('b', own)], { maxLength: 2 + own })
    const late = file('b')
    expect(queue.add(late)).toBe(late)
  })

  test('drops files of two tenants until a third tenant has an equal share', () => {
    const counts: Record<string, number> = { a: 128, b: 128, c: 0 }
    const queue = opened([...files('a', 128), ...files('b', 128)], { maxLength: 256 })
    for (const each of files('c', 128)) {
      counts.c!++
      counts[queue.add(each)!.owner!]!--
    }
    expect(Object.values(counts).sort()).toEqual([85, 85, 86])
    expect(queue.length).toBe(256)
  })

  test('accepts another file after a queued file starts or its client disconnects', () => {
    const waiting = files('a', 4)
    const queue = opened(waiting, { maxLength: 4 })
    queue.remove(waiting[1]!)
    queue.remove(waiting[1]!)
    queue.remove(waiting[3]!)
    const started = queue.dequeue()!
    // Removing a file that no longer waits has no effect.
    queue.remove(started)
    queue.release(started)
    const more = files('a', 3)
    for (const each of more) expect(queue.add(each)).toBeUndefined()
    expect(queue.add(file('a'))).toBeDefined()
    expect(drain(queue)).toEqual([waiting[2], ...more])
  })

  test('always queues a retried file before other files of its tenant', () => {
    const waiting = files('a', 4)
    const queue = opened(waiting, { maxLength: 4 })
    const fallen = queue.dequeue()!
    const last = file('a')
    queue.add(last)
    queue.release(fallen)
    queue.requeue(fallen)
    expect(queue.length).toBe(5)
    const others = [...files('b', 1), ...files('c', 1), ...files('d', 1), ...files('e', 1)]
    const responses = others.map((each) => queue.add(each))
    expect(responses).toEqual([last, waiting[3], waiting[2], others[3]])
    expect(drain(queue).filter(({ owner }) => owner === 'a')).toEqual([fallen, waiting[1]])
  })

  test('returns all waiting files when the fair queue is closed', () => {
    const waiting = [...files('a', 2), ...files('b', 1)]
    const queue = opened(waiting)
    expect(queue.clear()).toEqual(waiting)
    expect([queue.length, queue.dequeue()]).toEqual([0, undefined])
  })
})

test('the fair queue behaves like a simple reference queue under random operations', () => {
  const random = seeded(20_261_122)
  const [maxLength, workers] = [12, 3]
  const queue = open(maxLength, workers)
  const waiting: Queued[] = []
  const running: Queued[] = []
  const again = new Set<Queued>()
  const of = (owner: string | undefined) => waiting.filter((each) => each.owner === owner && !again.has(each))
  const forget = (each: Queued) => waiting.splice(waiting.indexOf(each), 1)
  const observed = { rejected: 0, displaced: 0, started: 0, again: 0, cancelled: 0 }
  for (let step = 0; step < 20_000; step++) {
    const deed = random(10)
    if (deed < 5) {
      const newcomer = file('abcdef'[Math.min(random(6), random(6))]!, random(4) === 0 ? 20 * megabyte : 1)
      const max = Math.max(...waiting.map(({ owner }) => of(owner).length))
      const out = queue.add(newcomer)
      if (out === newcomer) {
        observed.rejected++
        expect(waiting.length).toBeGreaterThanOrEqual(maxLength)
        expect(of(newcomer.owner).length + 1).toBeGreaterThanOrEqual(max)
        continue
      }
      if (out) {
        observed.displaced++
        expect(waiting.length).toBeGreaterThanOrEqual(maxLength)
        expect(of(newcomer.owner).length + 1).toBeLessThan(max)
        expect(of(out.owner)).toHaveLength(max)
        expect(of(out.owner).at(-1)).toBe(out)
        forget(out)
      } else expect(waiting.length).toBeLessThan(maxLength)
      waiting.push(newcomer)
    } else if (deed < 7) {
      const next = queue.dequeue()
      const large = running.filter(({ size }) => size > megabyte).length
      const may = waiting.filter(({ size }) => size === 1 || large < workers - 1)
      if (running.length === workers || may.length === 0) {
        expect(next).toBeUndefined()
        continue
      }
      observed.started++
      const busy = ({ owner }: Queued) => running.filter((each) => each.owner === owner).length
      expect(busy(next!)).toBe(Math.min(...may.map(busy)))
      const rivals = may.filter(({ owner }) => owner === next!.owner)
      if (!again.has(next!)) expect(rivals[0]).toBe(next)
      again.delete(next!)
      forget(next!)
      running.push(next!)
    } else if (deed < 9 && running.length > 0) {
      const [over] = running.splice(random(running.length), 1)
      queue.release(over!)
      if (random(4) > 0) continue
      observed.again++
      again.add(over!)
      waiting.unshift(over!)
      queue.requeue(over!)
    } else if (deed === 9 && waiting.length > 0 && random(3) === 0) {
      observed.cancelled++
      const leaver = waiting[random(waiting.length)]!
      again.delete(leaver)
      forget(leaver)
      queue.remove(leaver)
    }
    expect(queue.length).toBe(waiting.length)
  }
  for (const count of Object.values(observed)) expect(count).toBeGreaterThan(100)
})
