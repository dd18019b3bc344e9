import { gunzipped } from '@assay/formats/archive'
import type { Inside } from './looker.js'

/** All members of a gzip file are one content; what else is wrong with it is told after that was looked at. */
export const insideGzip: Inside = async (source, look) => {
  look.member('')
  let damage: unknown
  await look.stream(
    gunzipped(source, {
      member: look.step,
      unpacked: look.step,
      fault: (fault) => {
        damage ??= fault
      },
    }),
  )
  if (damage) throw damage
}
