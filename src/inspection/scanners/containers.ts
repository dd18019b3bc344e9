import type { Container } from '@assay/formats/archive'

/** Who brings what is in a container before the engine: a reader of ours, the engine itself, or no one. */
export type Unpacker = 'reader' | 'engine' | 'no one'

interface ContainerRow {
  name: string
  builtIn: Unpacker
  clamav: Unpacker
  sevenZip?: string
}

const row = (name: string, [builtIn, clamav]: [Unpacker, Unpacker], sevenZip?: string): ContainerRow => ({
  name,
  builtIn,
  clamav,
  ...(sevenZip && { sevenZip }),
})

const both: [Unpacker, Unpacker] = ['reader', 'engine']
const builtInOnly: [Unpacker, Unpacker] = ['reader', 'no one']
const clamavOnly: [Unpacker, Unpacker] = ['no one', 'engine']
const neither: [Unpacker, Unpacker] = ['no one', 'no one']

/** For every container, who unpacks it. What no one unpacks is never called clean: the scan is incomplete. */
export const containers: Readonly<Record<Container, ContainerRow>> = {
  zip: row('ZIP archive or document', both),
  gzip: row('gzip file', both),
  '7z': row('7z archive', both, '7z'),
  xz: row('xz file', both, 'xz'),
  bzip2: row('bzip2 file', both, 'bzip2'),
  zstd: row('Zstandard file', builtInOnly, 'zstd'),
  lzma: row('LZMA file', builtInOnly, 'lzma'),
  z: row('compress file (.Z)', builtInOnly, 'Z'),
  cab: row('cabinet archive', both, 'cab'),
  rar: row('RAR archive', both, 'Rar'),
  rar5: row('RAR 5 archive', both, 'Rar5'),
  arj: row('ARJ archive', both, 'Arj'),
  lzh: row('LHA archive', both, 'Lzh'),
  cpio: row('cpio archive', both, 'Cpio'),
  ar: row('Unix archive or Debian package', builtInOnly, 'Ar'),
  rpm: row('RPM package', builtInOnly, 'Rpm'),
  xar: row('xar archive', both, 'Xar'),
  wim: row('Windows image', builtInOnly, 'wim'),
  iso: row('ISO 9660 image', both, 'Iso'),
  // ClamAV says OK to those that it cannot read.
  udf: row('UDF image', builtInOnly, 'Udf'),
  swf: row('packed Flash film', both),
  szdd: row('file of COMPRESS.EXE', both, 'MsLZ'),
  ole: row('OLE document', both),
  chm: row('compiled HTML help', builtInOnly, 'Chm'),
  tnef: row('TNEF message', clamavOnly),
  onenote: row('OneNote section', clamavOnly),
  alz: row('ALZ archive', clamavOnly),
  egg: row('EGG archive', clamavOnly),
  lz4: row('LZ4 file', neither),
  lzip: row('lzip file', neither),
  ace: row('ACE archive', neither),
  zoo: row('zoo archive', neither),
  stuffit: row('StuffIt archive', neither),
  installshield: row('InstallShield cabinet', neither),
  squashfs: row('SquashFS image', neither),
  disk: row('disk image', neither),
  rtf: row('rich text with objects', both),
  pdf: row('PDF', both),
  mail: row('mail message', both),
  dmg: row('macOS disk image', both, 'Dmg'),
  tar: row('tar archive', both),
}
