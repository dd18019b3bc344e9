import { readdirSync, readFileSync, statSync } from 'node:fs'
import { extname, join } from 'node:path'
import { decodeImage } from './dist/formats/image/libvips.js'
import { decodeImagesWith } from './dist/formats/image/vips.js'
import { MemorySource } from './dist/formats/random-access-source.js'
import { examine } from './dist/validation/examine.js'
import { lookAt } from './dist/scanner/unpack.js'
decodeImagesWith((source, task) => decodeImage(source.whole(2 ** 30), task))
const dirs = process.argv.slice(2)
const end = Date.now() + Number(process.env.SECONDS ?? 400) * 1000
const byExt = new Map()
for (const dir of dirs) for (const e of readdirSync(dir, { recursive: true, withFileTypes: true })) {
  if (!e.isFile()) continue
  const p = join(e.parentPath, e.name), x = extname(p).slice(1).toLowerCase()
  if (statSync(p).size > 600_000) continue
  if (!byExt.has(x)) byExt.set(x, [])
  byExt.get(x).push(p)
}
let worst = []
let n = 0, maxRss = 0
const limits = { maxUnpackedBytes: 4e9, maxRatio: 250, maxMembers: 20000, maxNesting: 4 }
async function one(bytes, ext, label) {
  n++
  const t = performance.now()
  let err = ''
  try { await examine(new MemorySource(bytes, ext), { path: undefined, size: bytes.length, extension: ext, blank: true, deadlineMs: 20000 }) } catch (e) { err = 'EX ' + e.stack.slice(0,300) }
  const t2 = performance.now()
  try { await lookAt(new MemorySource(bytes, ext), { find: () => undefined, limits, cancelled: () => false }) } catch (e) { err = 'SCAN ' + e.stack.slice(0,300) }
  const t3 = performance.now()
  if (err) console.log('ERR', label, err)
  if (t2 - t > 1500 || t3 - t2 > 1500) console.log('SLOW', label, Math.round(t2 - t), Math.round(t3 - t2))
  const rss = process.memoryUsage().rss / 1e6
  if (rss > maxRss + 40) { maxRss = rss; console.log('RSS', Math.round(rss), label) }
}
const values = [Buffer.from('00000000','hex'), Buffer.from('ffffffff','hex'), Buffer.from('7fffffff','hex'), Buffer.from('ffffff7f','hex'), Buffer.from('00000001','hex'), Buffer.from('01000000','hex')]
const queues = [...byExt].map(([ext, files]) => { files.sort((a,b)=>statSync(a).size-statSync(b).size); return { ext, files: files.slice(0, 2).concat(files.slice(Math.floor(files.length/2), Math.floor(files.length/2)+1)), gen: null } })
function* cases(ext, files) {
  for (const f of files) {
    const b = readFileSync(f)
    const spots = []
    for (let i = 0; i < Math.min(b.length - 4, 400); i++) spots.push(i)
    for (let i = Math.max(0, b.length - 300); i < b.length - 4; i++) spots.push(i)
    for (let i = 0; i < 300; i++) spots.push(Math.floor(Math.random() * Math.max(1, b.length - 4)))
    spots.sort(() => Math.random() - 0.5)
    for (const s of spots) for (const v of [values[Math.floor(Math.random()*values.length)], values[Math.floor(Math.random()*values.length)]]) { const c = Buffer.from(b); v.copy(c, s); yield [c, `${f}@${s}=${v.toString('hex')}`] }
    for (let i = 0; i < 60; i++) { const k = Math.floor(Math.random() * b.length); yield [b.subarray(0, k), `${f} cut ${k}`] }
    for (let i = 0; i < 30; i++) { const a = Math.floor(Math.random()*b.length), l = Math.floor(Math.random()*2000), d = Math.floor(Math.random()*b.length); const c = Buffer.from(b); b.copy(c, a, d, d + l); yield [c, `${f} copy ${d}+${l} to ${a}`] }
  }
}
for (const q of queues) q.gen = cases(q.ext, q.files)
let live = queues
while (live.length && Date.now() < end) { const next = []; for (const q of live) { for (let k = 0; k < 5; k++) { const r = q.gen.next(); if (r.done) { q.done = true; break } await one(r.value[0], q.ext, r.value[1]) } if (!q.done) next.push(q) } live = next }
console.log('cases', n, 'max rss', Math.round(maxRss), 'left', live.length)
process.exit(0)
