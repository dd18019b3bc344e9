import { hash, type KeyObject, sign, verify } from 'node:crypto'

/** Signed note (C2SP signed-note): a text that ends with a line break, and its signatures. */
interface Note {
  text: string
  signatures: { name: string; keyId: Buffer; signature: Buffer }[]
}

const ed25519 = 1
const keyIdBytes = 4
const maxNoteBytes = 1_000_000
const maxSignatures = 100
const signatureLine = /^\u2014 ([^\s+]+) ([A-Za-z0-9+/]+={0,2})$/

// The `buffer` package for browsers does not support `base64url`, but `base64` decodes it too.
const exportPublicKey = (key: KeyObject): Buffer => Buffer.from(key.export({ format: 'jwk' }).x!, 'base64')

const getKeyId = (name: string, key: KeyObject): Buffer =>
  hash('sha256', Buffer.concat([Buffer.from(`${name}\n`), Buffer.of(ed25519), exportPublicKey(key)]), 'buffer').subarray(
    0,
    keyIdBytes,
  )

/** Formats a verifier key (C2SP signed-note) as `name+hash+base64`. */
export const formatVerifierKey = (name: string, publicKey: KeyObject): string =>
  `${name}+${getKeyId(name, publicKey).toString('hex')}+${Buffer.concat([Buffer.of(ed25519), exportPublicKey(publicKey)]).toString('base64')}`

/** Signs text with Ed25519 and returns the note with its signature line. */
export function signNote(text: string, name: string, key: { privateKey: KeyObject; publicKey: KeyObject }): string {
  const signature = Buffer.concat([getKeyId(name, key.publicKey), sign(null, Buffer.from(text), key.privateKey)])
  return `${text}\n— ${name} ${signature.toString('base64')}\n`
}

/** Parses a signed note without verifying its signatures. Returns undefined if the note is malformed. */
export function parseNote(note: string): Note | undefined {
  const end = note.lastIndexOf('\n\n')
  if (end < 0 || !note.endsWith('\n') || note.length > maxNoteBytes) return undefined
  const lines = note.slice(end + 2, -1).split('\n')
  const signatures = lines.slice(0, maxSignatures).flatMap((line) => {
    const [, name, base64] = signatureLine.exec(line) ?? []
    if (name === undefined || base64 === undefined) return []
    const bytes = Buffer.from(base64, 'base64')
    return [{ name, keyId: bytes.subarray(0, keyIdBytes), signature: bytes.subarray(keyIdBytes) }]
  })
  return signatures.length === lines.length ? { text: note.slice(0, end + 1), signatures } : undefined
}

/** Checks whether the note has a valid signature with the given name and key. */
export const isSignedBy = ({ text, signatures }: Note, name: string, publicKey: KeyObject): boolean =>
  signatures.some(
    (each) =>
      each.name === name &&
      each.keyId.equals(getKeyId(name, publicKey)) &&
      verify(null, Buffer.from(text), publicKey, each.signature),
  )
