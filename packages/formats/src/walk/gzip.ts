import { gunzip } from '../archive/gzip.js'
import type { Opener } from './opener.js'

/** All members of a gzip file form one content. Damage outside the compressed data is thrown after that content has been visited. */
export const openGzip: Opener = async (source, members) => {
  members.begin('')
  if (members.wasObserved(0)) return
  let damage: unknown
  const { step } = members
  const onError = (error: Error) => void (damage ??= error)
  await members.addStream(gunzip(source, { member: step, unpacked: step, onError }))
  if (damage) throw damage
}
