import type { Container } from '../archive/containers.js'
import { openGzip } from './gzip.js'
import { openMail } from './mail.js'
import { openOle } from './ole.js'
import { openOneNote } from './onenote.js'
import type { Opener } from './opener.js'
import { openPdf } from './pdf.js'
import { openRtf } from './rtf.js'
import { openIso, openSevenZip } from './sevenzip.js'
import { openSwf } from './swf.js'
import { openTar } from './tar.js'
import { openZip } from './zip.js'

interface ContainerKind {
  name: string
  /** Undefined if the container is not supported. The walk then reports a gap. */
  open?: Opener
  /** Format name of 7-Zip, if 7-Zip unpacks the container. */
  sevenZipType?: string
}

const sevenZip = (name: string, sevenZipType: string, open = openSevenZip(sevenZipType, name)): ContainerKind => ({
  name,
  open,
  sevenZipType,
})

export const containerKinds: Readonly<Record<Container, ContainerKind>> = {
  zip: { name: 'ZIP archive or ZIP-based document', open: openZip },
  gzip: { name: 'gzip file', open: openGzip },
  '7z': sevenZip('7z archive', '7z'),
  xz: sevenZip('xz file', 'xz'),
  bzip2: sevenZip('bzip2 file', 'bzip2'),
  zstd: sevenZip('Zstandard file', 'zstd'),
  lzma: sevenZip('LZMA file', 'lzma'),
  z: sevenZip('compress file (.Z)', 'Z'),
  cab: sevenZip('cabinet archive', 'cab'),
  rar: sevenZip('RAR archive', 'Rar'),
  rar5: sevenZip('RAR 5 archive', 'Rar5'),
  arj: sevenZip('ARJ archive', 'Arj'),
  lzh: sevenZip('LHA archive', 'Lzh'),
  cpio: sevenZip('cpio archive', 'Cpio'),
  ar: sevenZip('Unix archive or Debian package', 'Ar'),
  rpm: sevenZip('RPM package', 'Rpm'),
  xar: sevenZip('xar archive', 'Xar'),
  wim: sevenZip('Windows image', 'wim'),
  iso: sevenZip('ISO 9660 image', 'Iso', openIso),
  udf: sevenZip('UDF image', 'Udf'),
  swf: { name: 'compressed Flash film', open: openSwf },
  szdd: sevenZip('file of COMPRESS.EXE', 'MsLZ'),
  ole: { name: 'OLE document', open: openOle },
  chm: sevenZip('compiled HTML help', 'Chm'),
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
  rtf: { name: 'rich text with objects', open: openRtf },
  pdf: { name: 'PDF', open: openPdf },
  mail: { name: 'mail message', open: openMail },
  dmg: sevenZip('macOS disk image', 'Dmg'),
  tar: { name: 'tar archive', open: openTar },
}

/** Maps a 7-Zip format name to the container. */
export const fromSevenZipType = (type: string): Container | undefined =>
  (Object.keys(containerKinds) as Container[]).find((container) => containerKinds[container].sevenZipType === type)
