import { looksLikeTar } from './tar/header.js'

/** Detects a nested archive. An empty zip, which has an end record but no local header, does not count. */
export function detectArchiveKind(head: Buffer): 'zip' | 'gzip' | 'tar' | '7z' | undefined {
  const start = head.toString('latin1', 0, 6)
  if (start.startsWith('PK\x03\x04')) return 'zip'
  if (start.startsWith('\x1f\x8b\x08')) return 'gzip'
  if (start === '7z\xbc\xaf\x27\x1c') return '7z'
  return looksLikeTar(head) ? 'tar' : undefined
}
