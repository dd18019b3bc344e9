// Usage: node packages/formats/bench/damage.mjs [FOLDER]. Damages valid files in 20 ways. For each type and kind of damage,
// prints how many damaged copies inspect() rejects and how many a library for the type rejects. FOLDER contains valid files. The
// default is the test samples. COPIES sets the number of copies per file and kind (default: 10). TYPES is a space-separated list
// of types to test. DETAILS=1 also prints why inspect() rejected copies that the library accepts, and the number of copies that
// only the library rejects.
import { detect, inspect, MemorySource } from '@assay/formats'
import { generateDamagedCopies, kinds } from './damage/kinds.mjs'
import { libraries } from './damage/libraries.mjs'
import { isRejectedByLibrary } from './damage/library-process.mjs'
import { findParts } from './damage/parts.mjs'
import { loadSampleFiles } from './damage/samples.mjs'

const count = Number(process.env.COPIES ?? 10)
const onlyTypes = process.env.TYPES?.split(' ')

/** File types for each output table. */
const groups = {
  Images: 'png jpg gif webp tif bmp heic avif',
  Documents: 'pdf docx xlsx pptx odt epub doc xls ppt',
  Archives: 'zip tar gz 7z rar cab xz bz2',
  'Audio and video': 'mp3 aac wav flac ogg mp4 m4a mov webm mkv',
  'Data and text': 'json xml svg csv',
}

async function findProblem(bytes, extension) {
  const createSource = () => new MemorySource(bytes, extension)
  const { fits, type } = await detect(createSource())
  if (!fits) return `it has the type ${type}`
  const { verdict } = await inspect(createSource())
  if (!verdict.sound) return verdict.problem
  // A partially playable recording is accepted, but the report states the damage.
  return verdict.evidence?.incomplete ? 'reported as incomplete' : undefined
}

const incrementCount = (map, key, amount = 1) => map.set(key, (map.get(key) ?? 0) + amount)
/** Replaces the values in a message, so that similar messages are counted together. */
const maskValues = (problem) =>
  problem
    .replace(/\d+/g, 'N')
    .replace(/'[^']*'/g, "'…'")
    .slice(0, 110)

async function measureFile(extension, bytes, result) {
  const seed = [...bytes.subarray(0, 4096)].reduce((sum, byte) => (Math.imul(sum, 31) + byte) | 0, bytes.length)
  if ((await findProblem(bytes, extension)) !== undefined) return incrementCount(result.skipped, extension)
  // Skips the library if it cannot read the undamaged file.
  const comparable = libraries.has(extension) && !(await isRejectedByLibrary(extension, bytes))
  incrementCount(result.files, extension)
  for (const [index, kind] of Object.keys(kinds).entries()) {
    const cell = result.getCell(extension, kind)
    for (const copy of generateDamagedCopies(kind, findParts(bytes, extension), { count, seed: seed + index })) {
      const problem = await findProblem(copy, extension)
      const rejects = comparable && (await isRejectedByLibrary(extension, copy))
      cell.copies++
      if (problem !== undefined) cell.assay++
      if (rejects) cell.library++
      if (problem !== undefined && !rejects) incrementCount(result.reasons, `${extension}: ${maskValues(problem)}`)
      if (problem === undefined && rejects) incrementCount(result.missed, `${extension}: ${kind}`)
    }
  }
}

function createResult() {
  const cells = new Map()
  const getCell = (extension, kind) => {
    const key = `${extension} ${kind}`
    if (!cells.has(key)) cells.set(key, { copies: 0, assay: 0, library: 0 })
    return cells.get(key)
  }
  return { getCell, files: new Map(), skipped: new Map(), reasons: new Map(), missed: new Map() }
}

const formatPercent = (part, whole) => Math.round((part * 100) / whole)
const formatDetectionRates = ({ copies, assay, library }, hasLibrary) =>
  copies === 0 ? '' : `${formatPercent(assay, copies)} / ${hasLibrary ? formatPercent(library, copies) : '–'}`

function printTable(title, types, result) {
  const present = types.filter((type) => result.files.has(type))
  if (present.length === 0) return
  const printRow = (cells) => console.log(`| ${cells.join(' | ')} |`)
  console.log(`\n### ${title}\n`)
  printRow(['damage', ...present])
  printRow(['---', ...present.map(() => '---')])
  for (const kind of Object.keys(kinds))
    printRow([kind, ...present.map((type) => formatDetectionRates(result.getCell(type, kind), libraries.has(type)))])
  const totals = present.map((type) => {
    const sum = { copies: 0, assay: 0, library: 0 }
    for (const kind of Object.keys(kinds)) for (const name of Object.keys(sum)) sum[name] += result.getCell(type, kind)[name]
    return formatDetectionRates(sum, libraries.has(type))
  })
  printRow(['**all**', ...totals.map((total) => `**${total}**`)])
  printRow(['library', ...present.map((type) => libraries.get(type)?.name ?? 'none')])
}

const result = createResult()
for (const [extension, bytes] of await loadSampleFiles(process.argv[2]))
  if (!onlyTypes || onlyTypes.includes(extension)) await measureFile(extension, bytes, result)
for (const [title, types] of Object.entries(groups)) printTable(title, types.split(' '), result)
const formatCounts = (map) => [...map].sort((a, b) => b[1] - a[1]).map(([key, number]) => `${number}\t${key}`)
if (result.skipped.size > 0) console.error(`Valid files that were rejected:\n${formatCounts(result.skipped).join('\n')}`)
if (process.env.DETAILS) {
  console.log(`\nRejected by inspect() only:\n${formatCounts(result.reasons).join('\n')}`)
  console.log(`\nRejected by the library only:\n${formatCounts(result.missed).join('\n')}`)
}
process.exit()
