import { type Container } from '@assay/formats/archive'
import { containers } from '../containers.js'
import { insideGzip } from './gzip.js'
import type { Inside } from './looker.js'
import { insideMail } from './mail.js'
import { insideOle } from './ole.js'
import { insidePdf } from './pdf.js'
import { insideRtf } from './rtf.js'
import { insideIso, insideSevenZip } from './sevenzip.js'
import { insideSwf } from './swf.js'
import { insideTar } from './tar.js'
import { insideZip } from './zip.js'

const ofSevenZip = Object.entries(containers).flatMap(([container, { name, sevenZip }]) =>
  sevenZip ? [[container, insideSevenZip(sevenZip, name)]] : [],
)

export const insides: Partial<Record<Container, Inside>> = {
  ...Object.fromEntries(ofSevenZip),
  iso: insideIso,
  swf: insideSwf,
  zip: insideZip,
  gzip: insideGzip,
  tar: insideTar,
  ole: insideOle,
  pdf: insidePdf,
  mail: insideMail,
  rtf: insideRtf,
}
