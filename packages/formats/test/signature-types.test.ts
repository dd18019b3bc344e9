import { describe, expect, test } from '@jest/globals'
import { inspect, MemorySource } from '../src/index.js'
import * as basic from './support/samples/basic.js'

const open = async (extension: string, bytes: Buffer) => {
  const { type, fits, verdict } = await inspect(new MemorySource(bytes, extension))
  return { type, fits, ...verdict }
}
const accepted = { fits: true, sound: true }

describe('formats with several signatures', () => {
  const dicom = (preamble: string) => {
    const bytes = Buffer.alloc(400, 3)
    bytes.fill(0, 0, 128)
    bytes.write(preamble, 0, 'latin1')
    bytes.write('DICM\x02\0\0\0UL', 128, 'latin1')
    return bytes
  }

  test.each(['', 'II*\0\x90\x01\0\0', 'MM\0*\0\0\x01\x90'])('accepts a DICOM file with the preamble %j', async (preamble) => {
    expect(await open('dcm', dicom(preamble))).toMatchObject({ type: 'dcm', ...accepted })
  })

  test('identifies a Windows program that contains the DICOM signature as a program', async () => {
    const program = Buffer.concat([basic.exe(), Buffer.alloc(400)])
    program.write('DICM', 128, 'latin1')
    expect(await open('dcm', program)).toMatchObject({ type: 'exe', fits: false })
  })

  test.each<[string, string, string, Buffer]>([
    ['macOS TrueType font', 'ttf', 'ttf', Buffer.concat([Buffer.from('true\0\x0c\0\x80\0\x03\0\x40OS/2'), Buffer.alloc(300, 1)])],
    ['MIDI file in RIFF', 'rmi', 'mid', Buffer.concat([Buffer.from('RIFF\x40\0\0\0RMIDdata'), Buffer.alloc(64, 1)])],
    ['raw photo of an Olympus camera', 'orf', 'raw-photo', Buffer.concat([Buffer.from('IIRS\x08\0\0\0'), Buffer.alloc(300, 1)])],
    [
      'thin library archive',
      'a',
      'ar',
      Buffer.from('!<thin>\n//                                              6         `\na.o/\n\n'),
    ],
    [
      'OneNote section',
      'one',
      'one',
      Buffer.concat([Buffer.from('e4525c7b8cd8a74daeb15378d02996d3', 'hex'), Buffer.alloc(1000, 1)]),
    ],
    ['film with the M4A brand', 'mp4', 'm4a', basic.isoMedia('M4A ', ['soun'])],
  ])("detects a file of the type '%s' by its signature", async (_, extension, type, bytes) => {
    expect(await open(extension, bytes)).toMatchObject({ type, fits: true })
  })

  test('detects a dBASE table whose records are mostly text', async () => {
    const bytes = Buffer.alloc(33 + 32 + 100 * 81, 'text ')
    bytes.fill(0, 0, 65)
    bytes.set([3, 124, 1, 1], 0)
    bytes.writeUInt32LE(100, 4)
    bytes.writeUInt16LE(65, 8)
    bytes.writeUInt16LE(81, 10)
    bytes.write('NAME\0\0\0\0\0\0\0C', 32, 'latin1')
    bytes[64] = 13
    expect(await open('dbf', bytes)).toMatchObject({ type: 'dbf', ...accepted })
  })

  test('accepts a public key as .pub and a Keynote file as .key, but rejects text and a truncated file', async () => {
    const key = Buffer.from('ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAbbbb user@host\n')
    expect(await open('pub', key)).toMatchObject(accepted)
    expect(await open('pub', Buffer.from('just text\n'.repeat(50)))).toMatchObject({ sound: false })
    expect(await open('key', basic.zip({ 'Index.zip': 'x' }))).toMatchObject({ type: 'zip', ...accepted })
    const keynote = basic.zip({ 'Index.zip': 'x' })
    expect(await open('key', keynote.subarray(0, keynote.length - 30))).toMatchObject({ sound: false })
  })
})
