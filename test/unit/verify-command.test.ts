import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from '@jest/globals'
import { SignJWT } from 'jose'
import { formatCheckpoint } from '../../packages/proofs/src/checkpoint.js'
import { runVerifyCommand } from '../../packages/proofs/src/command/verify-command.js'
import { signNote } from '../../packages/proofs/src/signed-note.js'
import { createKeySet, createReceipt, createSigningKey, MemoryLog } from '../support/memory-log.js'

const folder = mkdtempSync(join(tmpdir(), 'assay-verify-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const keys = { receiptKey: createSigningKey('sig_receipt'), logKey: createSigningKey('sig_log') }
const file = 'id,amount\n1\n'
const sha256 = createHash('sha256').update(file).digest('hex')
const place = (name: string, text: string) => {
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}
const keysPath = place('jwks.json', createKeySet(keys.receiptKey, keys.logKey))
const filePath = place('a.csv', file)

async function verify(...argv: string[]) {
  const lines: string[] = []
  const note = (line: string) => void lines.push(line)
  return { status: await runVerifyCommand(argv, { writeOutput: note, writeError: note }), output: lines.join('\n') }
}
const verifyReceipt = (receipt: string, ...more: string[]) => verify(place('r.jws', receipt), ...more, '--keys', keysPath)

test('verifies the issuer, the file and the log position of a valid receipt', async () => {
  const { status, output } = await verifyReceipt(await createReceipt(keys, {}, sha256), filePath)
  expect(output).toBe(
    [
      'Proven: https://files.example.org issued this receipt for file_01jd0000000000000000000001 at 2026-11-18T11:06:40.000Z and signed it with key sig_receipt.',
      `Proven: a.csv is the validated file: 12 bytes, SHA-256 ${sha256}.`,
      "Proven: The log entry matches the receipt: 'a.csv' was accepted.",
      'Proven: The log entry is number 3 of 7 in log files.example.org/log/ten_01jd0000000000000000000000.',
      'Proven: The log checkpoint is signed with key sig_log.',
      'All checks passed.',
    ].join('\n'),
  )
  expect(status).toBe(0)
})

test('reports that no file was compared if none is passed to the verify command', async () => {
  const receipt = await createReceipt(keys)
  const { status, output } = await verifyReceipt(JSON.stringify({ data: { receipt } }))
  expect(output).toContain('Not checked: no file was compared with the receipt.')
  expect(status).toBe(0)
})

describe('invalid proofs', () => {
  const log = new MemoryLog(['another', 'log'])
  const origin = 'files.example.org/log/ten_01jd0000000000000000000000'
  const checkpoint = (size: number, root = log.computeRoot(), key = keys.logKey) =>
    signNote(formatCheckpoint({ origin, size, root }), origin, key)

  test.each([
    ['another file', () => createReceipt(keys, {}, 'cd'.repeat(32)), 'a.csv is not the validated file'],
    [
      'no checksum',
      () => createReceipt(keys, { receipt: { sha256: null } }),
      'the receipt contains no checksum of the uploaded file',
    ],
    [
      'another name than the entry',
      () => createReceipt(keys, { receipt: { filename: 'b.csv' } }, sha256),
      'differs from the receipt in these fields: filename',
    ],
    [
      'another outcome than the entry',
      () => createReceipt(keys, { receipt: { outcome: 'rejected' } }, sha256),
      'differs from the receipt in these fields: outcome',
    ],
    [
      'another subject than the entry',
      () => createReceipt(keys, { receipt: { sub: 'file_2' } }, sha256),
      'differs from the receipt in these fields: sub',
    ],
    [
      'another entry than the leaf',
      () => createReceipt(keys, { log: { entry: '{}' } }, sha256),
      'its inclusion proof does not match the root hash',
    ],
    [
      'another leaf than the entry',
      () => createReceipt(keys, { log: { leaf: log.leaves[0]!.toString('base64') } }, sha256),
      'its inclusion proof does not match the root hash',
    ],
    [
      'another position',
      () => createReceipt(keys, { log: { index: 3 } }, sha256),
      'differs from the receipt in these fields: number',
    ],
    [
      'a truncated proof',
      () => createReceipt(keys, { log: { proof: [] } }, sha256),
      'its inclusion proof does not match the root hash',
    ],
    [
      'another checkpoint',
      () => createReceipt(keys, { log: { checkpoint: checkpoint(7) } }, sha256),
      'its inclusion proof does not match the root hash',
    ],
    [
      'a smaller checkpoint',
      () => createReceipt(keys, { log: { checkpoint: checkpoint(2) } }, sha256),
      'The log entry is not number 3 of 2',
    ],
    [
      'a checkpoint with an unknown key',
      async () => createReceipt({ ...keys, logKey: createSigningKey('sig_log') }, {}, sha256),
      'not signed with any key in the key set',
    ],
    ['no checkpoint', () => createReceipt(keys, { log: { checkpoint: 'hello' } }, sha256), 'contains no valid checkpoint'],
    [
      'the log of another tenant',
      () => createReceipt(keys, { receipt: { tenant_id: 'ten_2' } }, sha256),
      'is not the log of tenant ten_2',
    ],
    [
      'the log of another service',
      () => createReceipt(keys, { receipt: { iss: 'https://evil.example' } }, sha256),
      'at https://evil.example',
    ],
    [
      'an unknown key',
      () => createReceipt({ ...keys, receiptKey: createSigningKey('sig_other') }),
      "The key set does not contain key 'sig_other'",
    ],
    [
      'a key with the same name',
      () => createReceipt({ ...keys, receiptKey: createSigningKey('sig_receipt') }),
      'The receipt signature is invalid',
    ],
  ])('rejects a receipt with %s', async (_, receipt, message) => {
    const { status, output } = await verifyReceipt(await receipt(), filePath)
    expect(output).toContain('NOT PROVEN: ')
    expect(output).toContain(message)
    expect(output).toContain('Do not rely on this receipt')
    expect(status).toBe(1)
  })

  test('rejects a receipt with one changed character at any position', async () => {
    const receipt = await createReceipt(keys, {}, sha256)
    for (let at = 0; at < receipt.length - 1; at += 97) {
      const changed = `${receipt.slice(0, at)}${receipt[at] === 'A' ? 'B' : 'A'}${receipt.slice(at + 1)}`
      expect([at, (await verifyReceipt(changed, filePath)).status]).toEqual([at, 1])
    }
  })

  test('does not accept a session token or an unsigned receipt as a receipt', async () => {
    const token = await new SignJWT({ sub: 'x' })
      .setProtectedHeader({ alg: 'EdDSA', kid: 'sig_receipt', typ: 'JWT' })
      .sign(keys.receiptKey.privateKey)
    expect(await verifyReceipt(token)).toMatchObject({
      status: 1,
      output: expect.stringContaining("It must have type 'receipt+jws' and algorithm EdDSA"),
    })
    const [, payload] = (await createReceipt(keys)).split('.')
    const header = Buffer.from('{"alg":"none","typ":"receipt+jws","kid":"sig_receipt"}').toString('base64url')
    expect((await verifyReceipt(`${header}.${payload}.`)).status).toBe(1)
  })
})

describe('invalid input for the verify command', () => {
  test.each([
    [[], 'npm run --silent verify -- RECEIPT.jws [FILE] --keys JWKS.json'],
    [['a', 'b', 'c', '--keys', keysPath], 'npm run --silent verify --'],
    [['a'], 'npm run --silent verify --'],
    [['a', '--key', 'b'], 'npm run --silent verify --'],
    [['a', '--keys', '/nowhere/jwks.json'], 'File /nowhere/jwks.json does not exist.'],
    [['/nowhere/r.jws', '--keys', keysPath], 'File /nowhere/r.jws does not exist.'],
    [[folder, '--keys', keysPath], `Cannot read ${folder} (EISDIR).`],
    [[filePath, '--keys', filePath], 'This file is not a key set'],
    [[filePath, '--keys', keysPath], 'The receipt is not a compact JWS'],
    [[keysPath, '--keys', keysPath], 'The receipt is not a compact JWS'],
  ])('reports the invalid arguments %j of the verify command in one sentence', async (argv, message) => {
    const { status, output } = await verify(...argv)
    expect(output).toContain(message)
    expect(status).toBe(1)
  })

  test('rejects a malformed key set and a key set without valid keys', async () => {
    const odd = place(
      'odd.json',
      JSON.stringify({ keys: [null, 1, {}, { kid: 'k', kty: 'OKP', crv: 'Ed25519', x: 'AAAA' }, { kty: 'RSA', kid: 'r' }] }),
    )
    expect(await verify(place('r.jws', await createReceipt(keys)), '--keys', odd)).toEqual({
      status: 1,
      output: expect.stringContaining("The key set does not contain key 'sig_receipt'"),
    })
  })
})
