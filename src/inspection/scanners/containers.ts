import type { Container } from '@assay/formats/archive'
import { containerKinds } from '@assay/formats/walk'

/** Component that unpacks a container for the scan: one of Assay's readers, the scan engine, or none. */
type Unpacker = 'reader' | 'engine' | 'none'

/** Containers that ClamAV unpacks in the same way as common programs. ClamAV may skip members of all other containers. */
export const openedByClamav: ReadonlySet<Container> = new Set<Container>(['zip', 'gzip', 'tar', 'ole', 'pdf'])

/** Unpacker of each container, per scanner. If nothing unpacks a container, its scan is incomplete, never clean. */
export const containers = Object.fromEntries(
  Object.entries(containerKinds).map(([container, { name, open, sevenZipType }]) => [
    container,
    {
      name,
      builtIn: open ? 'reader' : 'none',
      clamav: openedByClamav.has(container as Container) ? 'engine' : open ? 'reader' : 'none',
      ...(sevenZipType && { sevenZipType }),
    },
  ]),
) as Readonly<Record<Container, { name: string; builtIn: Unpacker; clamav: Unpacker; sevenZipType?: string }>>
