// Preloaded with `node --import`. Logs renames and directory fsyncs to the file in DISK_STEPS. A power failure loses unsynced
// renames, and killing a process does not reproduce this.
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

const { renameSync, fsyncSync, openSync, closeSync, mkdirSync } = fs
const folders = new Map()
const logStep = (...words) => fs.appendFileSync(process.env.DISK_STEPS, `${words.join(' ')}\n`)

fs.mkdirSync = (path, options) => {
  const created = mkdirSync(path, options)
  logStep('mkdir', path)
  return created
}
fs.renameSync = (from, to) => {
  renameSync(from, to)
  logStep('rename', from, to)
}
fs.openSync = (path, flags, mode) => {
  const descriptor = openSync(path, flags, mode)
  folders.set(descriptor, path)
  return descriptor
}
// The operating system reuses file descriptors.
fs.closeSync = (descriptor) => {
  folders.delete(descriptor)
  closeSync(descriptor)
}
fs.fsyncSync = (descriptor) => {
  fsyncSync(descriptor)
  logStep('fsync', folders.get(descriptor))
}
syncBuiltinESMExports()
