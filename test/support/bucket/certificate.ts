import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'

/** A certificate and its key in PEM format. */
export interface Certificate {
  cert: string
  key: string
}

interface Issuer {
  name: string
  key: KeyObject
}

// A minimal DER encoder (ITU-T X.690), because Node.js can verify certificates but not create them.
const tagged = (tag: number, ...parts: Buffer[]): Buffer => {
  const body = Buffer.concat(parts)
  const size = body.length
  const length = size < 128 ? [size] : size < 256 ? [0x81, size] : [0x82, size >> 8, size & 255]
  return Buffer.concat([Buffer.from([tag, ...length]), body])
}
const sequence = (...parts: Buffer[]) => tagged(0x30, ...parts)
const integer = (bytes: Buffer) => tagged(0x02, bytes)
const oid = (hex: string) => tagged(0x06, Buffer.from(hex, 'hex'))
const bits = (bytes: Buffer) => tagged(0x03, Buffer.from([0]), bytes)
const octets = (bytes: Buffer) => tagged(0x04, bytes)
const yes = tagged(0x01, Buffer.from([255]))
const time = (date: Date) => tagged(0x17, Buffer.from(date.toISOString().replace(/^\d\d|[-:T]|\.\d+/g, '')))
const commonName = (name: string) => sequence(tagged(0x31, sequence(oid('550403'), tagged(0x0c, Buffer.from(name)))))
const extension = (id: string, value: Buffer, critical = false) => sequence(oid(id), ...(critical ? [yes] : []), octets(value))

const ecdsaWithSha256 = sequence(oid('2a8648ce3d040302'))
const day = 24 * 60 * 60 * 1000

function certify({
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
  const described = sequence(
    tagged(0xa0, integer(Buffer.from([2]))),
    integer(serial),
    ecdsaWithSha256,
    commonName(issuer.name),
    sequence(time(new Date(Date.now() - day)), time(new Date(Date.now() + 7 * day))),
    commonName(name),
    key.export({ type: 'spki', format: 'der' }),
    tagged(0xa3, sequence(...extensions)),
  )
  const complete = sequence(described, ecdsaWithSha256, bits(sign('sha256', described, issuer.key)))
  const lines = complete.toString('base64').match(/.{1,64}/g)!
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`
}

/** Creates a test certificate authority and its certificate for 127.0.0.1 (RFC 5280). */
export function createLoopbackCertificate(): { authority: string; certificate: Certificate } {
  const [root, leaf] = [makeKeys(), makeKeys()]
  const issuer = { name: `Assay tests ${randomBytes(4).toString('hex')}`, key: root.privateKey }
  const authority = certify({
    name: issuer.name,
    key: root.publicKey,
    issuer,
    extensions: [extension('551d13', sequence(yes), true)],
  })
  const cert = certify({
    name: '127.0.0.1',
    key: leaf.publicKey,
    issuer,
    extensions: [extension('551d11', sequence(tagged(0x87, Buffer.from([127, 0, 0, 1]))))],
  })
  return { authority, certificate: { cert, key: leaf.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string } }
}

const makeKeys = () => generateKeyPairSync('ec', { namedCurve: 'P-256' })
