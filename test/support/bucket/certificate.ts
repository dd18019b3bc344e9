import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'

export interface Certificate {
  cert: string
  key: string
}

interface Issuer {
  name: string
  key: KeyObject
}

// A minimal DER encoder (ITU-T X.690), because Node.js can verify certificates but not create them.
const encodeTagged = (tag: number, ...parts: Buffer[]): Buffer => {
  const body = Buffer.concat(parts)
  const size = body.length
  const length = size < 128 ? [size] : size < 256 ? [0x81, size] : [0x82, size >> 8, size & 255]
  return Buffer.concat([Buffer.from([tag, ...length]), body])
}
const encodeSequence = (...parts: Buffer[]) => encodeTagged(0x30, ...parts)
const encodeInteger = (bytes: Buffer) => encodeTagged(0x02, bytes)
const encodeObjectId = (hex: string) => encodeTagged(0x06, Buffer.from(hex, 'hex'))
const encodeBitString = (bytes: Buffer) => encodeTagged(0x03, Buffer.from([0]), bytes)
const encodeOctetString = (bytes: Buffer) => encodeTagged(0x04, bytes)
const encodedTrue = encodeTagged(0x01, Buffer.from([255]))
const encodeTime = (date: Date) => encodeTagged(0x17, Buffer.from(date.toISOString().replace(/^\d\d|[-:T]|\.\d+/g, '')))
const encodeCommonName = (name: string) =>
  encodeSequence(encodeTagged(0x31, encodeSequence(encodeObjectId('550403'), encodeTagged(0x0c, Buffer.from(name)))))
const encodeExtension = (id: string, value: Buffer, critical = false) =>
  encodeSequence(encodeObjectId(id), ...(critical ? [encodedTrue] : []), encodeOctetString(value))

const ecdsaWithSha256 = encodeSequence(encodeObjectId('2a8648ce3d040302'))
const day = 24 * 60 * 60 * 1000

function createCertificate({
  name,
  key,
  issuer,
  extensions,
}: {
  name: string
  key: KeyObject
  issuer: Issuer
  extensions: Buffer[]
}): string {
  const serial = Buffer.concat([Buffer.from([1]), randomBytes(8)])
  const described = encodeSequence(
    encodeTagged(0xa0, encodeInteger(Buffer.from([2]))),
    encodeInteger(serial),
    ecdsaWithSha256,
    encodeCommonName(issuer.name),
    encodeSequence(encodeTime(new Date(Date.now() - day)), encodeTime(new Date(Date.now() + 7 * day))),
    encodeCommonName(name),
    key.export({ type: 'spki', format: 'der' }),
    encodeTagged(0xa3, encodeSequence(...extensions)),
  )
  const complete = encodeSequence(described, ecdsaWithSha256, encodeBitString(sign('sha256', described, issuer.key)))
  const lines = complete.toString('base64').match(/.{1,64}/g)!
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`
}

/** Creates a test certificate authority and its certificate for 127.0.0.1 (RFC 5280). */
export function createLoopbackCertificate(): { authority: string; certificate: Certificate } {
  const [root, leaf] = [generateKeys(), generateKeys()]
  const issuer = { name: `Assay tests ${randomBytes(4).toString('hex')}`, key: root.privateKey }
  const authority = createCertificate({
    name: issuer.name,
    key: root.publicKey,
    issuer,
    extensions: [encodeExtension('551d13', encodeSequence(encodedTrue), true)],
  })
  const cert = createCertificate({
    name: '127.0.0.1',
    key: leaf.publicKey,
    issuer,
    extensions: [encodeExtension('551d11', encodeSequence(encodeTagged(0x87, Buffer.from([127, 0, 0, 1]))))],
  })
  return { authority, certificate: { cert, key: leaf.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string } }
}

const generateKeys = () => generateKeyPairSync('ec', { namedCurve: 'P-256' })
