import { gunzip } from '../archive/gzip.js'
import type { Opener } from './opener.js'

/** Visits the concatenated content of all gzip members. Errors outside the compressed data are thrown only at the end. */
export const openGzip: Opener = async (source, members) => {
  members.beginMember('')
  if (members.wasObserved(0)) return
  let damage: unknown
  const { step } = members
  const onError = (error: Error) => void (damage ??= error)
  await members.addStream(gunzip(source, { onMember: step, onUnpacked: step, onError }))
  if (damage) throw damage
}
