// node test/bench/verdicts.mjs FOLDER FILE [AGAINST]: validates every file below FOLDER and seeded mutations of it, and writes
// the verdicts to FILE. AGAINST is a FILE from an earlier build to compare with, which shows files that a removed reader had
// rejected. Requires a build (dist/).
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { extname, join, relative } from 'node:path'

const [folder, file, against] = process.argv.slice(2)
if (!file) throw new Error('Usage: node test/bench/verdicts.mjs FOLDER FILE [AGAINST]')
const { decodeImage } = await import('@assay/formats/image/libvips')
const { decodeImagesWith } = await import('@assay/formats/image')
const { examine, MemorySource } = await import('@assay/formats')
const mutantsEach = Number(process.env.MUTANTS ?? 24)
decodeImagesWith((source, task) => decodeImage(source.readAll(2 ** 30), task))

const verdicts = {}
for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true }).sort(compareByPath)) {
  if (!entry.isFile()) continue
  const path = join(entry.parentPath ?? entry.path, entry.name)
  const extension = extname(path).slice(1).toLowerCase()
  const bytes = readFileSync(path)
  const name = relative(folder, path)
  verdicts[name] = await getVerdict(bytes, extension)
  let number = 0
  if (bytes.length <= 4 * 1024 * 1024)
    for (const mutant of createMutants(bytes, createRandom(name.length * 7919 + bytes.length)))
      verdicts[`${name}#${number++}`] = await getVerdict(mutant, extension)
}
writeFileSync(file, JSON.stringify(verdicts, null, 1))
const countVerdicts = (kind) =>
  Object.entries(verdicts).filter(([name, verdict]) => name.includes('#') === kind[1] && verdict.startsWith('sound') === kind[0])
    .length
console.log(
  `${countVerdicts([true, false])} files sound, ${countVerdicts([false, false])} refused; of their mutants ${countVerdicts([true, true])} sound, ${countVerdicts([false, true])} refused`,
)
if (against) {
  const before = JSON.parse(readFileSync(against, 'utf8'))
  let changed = 0
  for (const [name, verdict] of Object.entries(verdicts)) {
    if (before[name] === undefined || before[name].startsWith('sound') === verdict.startsWith('sound')) continue
    changed++
    console.log(`${name}: ${before[name]} -> ${verdict}`)
  }
  console.log(`${changed} verdicts differ`)
}

function compareByPath(one, other) {
  return join(one.parentPath, one.name) < join(other.parentPath, other.name) ? -1 : 1
}

async function getVerdict(bytes, extension) {
  const { recognition, blankness, soundness } = await examine(new MemorySource(bytes, extension), { blank: true })
  if (!recognition.fits) return `no: ${recognition.type}`
  if (blankness?.blank) return 'blank'
  const { verdict } = soundness
  return verdict.sound ? 'sound' : `${verdict.maliciousConstruction ?? 'broken'}: ${verdict.problem}`
}

function createRandom(seed) {
  let state = seed >>> 0
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

function* createMutants(bytes, random) {
  const pickOffset = () => random(bytes.length)
  const insertBytes = (at, length, fill) => Buffer.concat([bytes.subarray(0, at), fill(length), bytes.subarray(at)])
  for (let number = 0; number < mutantsEach; number++) {
    const at = pickOffset()
    const copy = Buffer.from(bytes)
    const kind = number % 6
    if (kind === 0) yield copy.subarray(0, at)
    if (kind === 1) yield copy.fill(0, at, Math.min(copy.length, at + 1 + random(4096)))
    if (kind === 2) {
      for (let flips = 1 + random(16); flips > 0; flips--) copy[pickOffset()] ^= 1 << random(8)
      yield copy
    }
    if (kind === 3) yield insertBytes(at, 1 + random(64), (length) => Buffer.from(Array.from({ length }, () => random(256))))
    if (kind === 4) yield Buffer.concat([copy.subarray(0, at), copy.subarray(at + 1 + random(512))])
    if (kind === 5)
      yield number % 12 === 5
        ? copy.subarray(0, Math.floor((bytes.length * (100 - number)) / 100))
        : Buffer.concat([copy, copy.subarray(0, random(4096))])
  }
}
