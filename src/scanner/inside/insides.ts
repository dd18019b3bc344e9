import type { Container } from '../containers.js'
import { insideGzip } from './gzip.js'
import type { Inside } from './looker.js'
import { insideTar } from './tar.js'
import { insideZip } from './zip.js'

/** The reader of every container of which `containers` says that a reader unpacks it. */
export const insides: Partial<Record<Container, Inside>> = {
  zip: insideZip,
  gzip: insideGzip,
  tar: insideTar,
}
