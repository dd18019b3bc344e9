import type { Container } from '@assay/formats/archive'
import { containerKinds } from '@assay/formats/walk'

/** The component that unpacks a container for the scan: a reader of Assay, the engine itself, or none. */
export type Unpacker = 'reader' | 'engine' | 'no one'

/** ClamAV reports OK even for containers that it does not unpack. */
const unpackedByClamav: ReadonlySet<Container> = new Set<Container>([
  ...(['zip', 'gzip', '7z', 'xz', 'bzip2', 'cab', 'rar', 'rar5', 'arj', 'lzh', 'cpio', 'xar', 'iso', 'swf', 'szdd'] as const),
  ...(['ole', 'tnef', 'onenote', 'alz', 'egg', 'rtf', 'pdf', 'mail', 'dmg', 'tar'] as const),
])

export interface ContainerRow {
  name: string
  builtIn: Unpacker
  clamav: Unpacker
  sevenZipType?: string
}

/** The unpacker of each container, by scanner. If nothing unpacks a container, its scan is incomplete, never clean. */
export const containers = Object.fromEntries(
  Object.entries(containerKinds).map(([container, { name, open, sevenZipType }]) => [
    container,
    {
      name,
      builtIn: open ? 'reader' : 'no one',
      clamav: unpackedByClamav.has(container as Container) ? 'engine' : 'no one',
      ...(sevenZipType && { sevenZipType }),
    },
  ]),
) as Readonly<Record<Container, ContainerRow>>
