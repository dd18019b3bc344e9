// node --import: writes the renames and fsyncs of folders to the file that DISK_STEPS names, in their order. A power cut takes what
// was renamed and not synced, which no killed process can show.
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

const { renameSync, fsyncSync, openSync, mkdirSync } = fs
const folders = new Map()
const note = (...words) => fs.appendFileSync(process.env.DISK_STEPS, `${words.join(' ')}\n`)

fs.mkdirSync = (path, options) => {
  const made = mkdirSync(path, options)
  note('mkdir', path)
  return made
}
fs.renameSync = (from, to) => {
  renameSync(from, to)
  note('rename', from, to)
}
fs.openSync = (path, flags, mode) => {
  const descriptor = openSync(path, flags, mode)
  folders.set(descriptor, path)
  return descriptor
}
fs.fsyncSync = (descriptor) => {
  fsyncSync(descriptor)
  note('fsync', folders.get(descriptor))
}
syncBuiltinESMExports()
