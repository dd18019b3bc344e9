import type { Container } from '../containers.js'
import { insideGzip } from './gzip.js'
import type { Inside } from './looker.js'
import { insideMail } from './mail.js'
import { insideOle } from './ole.js'
import { insidePdf } from './pdf.js'
import { insideArchive, insideStream } from './sevenzip.js'
import { insideTar } from './tar.js'
import { insideZip } from './zip.js'

/** The reader of every container of which `containers` says that a reader unpacks it. */
export const insides: Partial<Record<Container, Inside>> = {
  zip: insideZip,
  gzip: insideGzip,
  tar: insideTar,
  '7z': insideArchive('7z'),
  cab: insideArchive('cab'),
  xz: insideStream('xz'),
  bzip2: insideStream('bzip2'),
  zstd: insideStream('zstd'),
  ole: insideOle,
  pdf: insidePdf,
  mail: insideMail,
}
