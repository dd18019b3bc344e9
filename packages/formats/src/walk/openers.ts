import type { Container } from '../archive/containers.js'
import { openGzip } from './gzip.js'
import { openMail } from './mail.js'
import { openOle } from './ole.js'
import { openOneNote } from './onenote.js'
import type { Opener } from './opener.js'
import { openPdf } from './pdf.js'
import { openRtf } from './rtf.js'
import { createSevenZipOpener, openIso } from './sevenzip.js'
import { openSwf } from './swf.js'
import { openTar } from './tar.js'
import { openZip } from './zip.js'

interface ContainerKind {
  name: string
  /** Function that opens the container. If undefined, the container is unsupported, and the walk reports an `UnscannedPart`. */
  open?: Opener
  /** Name of the format in 7-Zip, if 7-Zip unpacks the container. */
  sevenZipType?: string
}

const createSevenZipKind = (
  name: string,
  sevenZipType: string,
  open = createSevenZipOpener(sevenZipType, name),
): ContainerKind => ({
  name,
  open,
  sevenZipType,
})

export const containerKinds: Readonly<Record<Container, ContainerKind>> = {
  zip: { name: 'ZIP archive or ZIP-based document', open: openZip },
  gzip: { name: 'gzip file', open: openGzip },
  '7z': createSevenZipKind('7z archive', '7z'),
  xz: createSevenZipKind('xz file', 'xz'),
  bzip2: createSevenZipKind('bzip2 file', 'bzip2'),
  zstd: createSevenZipKind('Zstandard file', 'zstd'),
  lzma: createSevenZipKind('LZMA file', 'lzma'),
  z: createSevenZipKind('compress file (.Z)', 'Z'),
  cab: createSevenZipKind('cabinet archive', 'cab'),
  rar: createSevenZipKind('RAR archive', 'Rar'),
  rar5: createSevenZipKind('RAR 5 archive', 'Rar5'),
  arj: createSevenZipKind('ARJ archive', 'Arj'),
  lzh: createSevenZipKind('LHA archive', 'Lzh'),
  cpio: createSevenZipKind('cpio archive', 'Cpio'),
  ar: createSevenZipKind('Unix archive or Debian package', 'Ar'),
  rpm: createSevenZipKind('RPM package', 'Rpm'),
  xar: createSevenZipKind('xar archive', 'Xar'),
  wim: createSevenZipKind('Windows disk image (WIM)', 'wim'),
  iso: createSevenZipKind('ISO 9660 image', 'Iso', openIso),
  udf: createSevenZipKind('UDF image', 'Udf'),
  swf: { name: 'compressed Flash movie', open: openSwf },
  szdd: createSevenZipKind('COMPRESS.EXE file', 'MsLZ'),
  ole: { name: 'OLE document', open: openOle },
  chm: createSevenZipKind('compiled HTML help', 'Chm'),
  tnef: { name: 'TNEF message' },
  onenote: { name: 'OneNote section', open: openOneNote },
  alz: { name: 'ALZ archive' },
  egg: { name: 'EGG archive' },
  lz4: { name: 'LZ4 file' },
  lzip: { name: 'lzip file' },
  ace: { name: 'ACE archive' },
  zoo: { name: 'zoo archive' },
  stuffit: { name: 'StuffIt archive' },
  installshield: { name: 'InstallShield cabinet' },
  squashfs: { name: 'SquashFS image' },
  disk: { name: 'disk image' },
  rtf: { name: 'rich text document with objects', open: openRtf },
  pdf: { name: 'PDF', open: openPdf },
  mail: { name: 'mail message', open: openMail },
  dmg: createSevenZipKind('macOS disk image', 'Dmg'),
  tar: { name: 'tar archive', open: openTar },
}

export const getContainerBySevenZipType = (type: string): Container | undefined =>
  (Object.keys(containerKinds) as Container[]).find((container) => containerKinds[container].sevenZipType === type)
