import { describe, expect, test } from '@jest/globals'
import { inspect, MemorySource } from '../src/index.js'
import * as basic from './support/samples/basic.js'

const open = async (extension: string, bytes: Buffer) => {
  const { type, fits, verdict } = await inspect(new MemorySource(bytes, extension))
  return { type, fits, ...verdict }
}
const accepted = { fits: true, sound: true }
const container = (path: string, type = '') =>
  `<container><rootfiles><rootfile full-path="${path}" media-type="${type}"/></rootfiles></container>`
const manifest = (namespace: string) => `<manifest xmlns="${namespace}"/>`

describe('zip-based formats', () => {
  test.each<[string, Record<string, string>]>([
    ['mxl', { 'META-INF/container.xml': container('score.musicxml'), 'score.musicxml': '<score-partwise/>' }],
    [
      'mxl',
      { mimetype: 'application/vnd.recordare.musicxml', 'META-INF/container.xml': container('score.xml'), 'score.xml': '' },
    ],
    ['idml', { mimetype: 'application/vnd.adobe.indesign-idml-package', 'META-INF/container.xml': container('designmap.xml') }],
    ['hwpx', { mimetype: 'application/hwp+zip', 'META-INF/container.xml': container('Contents/content.hpf'), 'version.xml': '' }],
    ['mscz', { 'META-INF/container.xml': container('score.mscx'), 'score.mscx': '<museScore/>' }],
    [
      'xmind',
      {
        'content.xml': '<xmap-content/>',
        'styles.xml': '<xmap-styles/>',
        'meta.xml': '<meta/>',
        'META-INF/manifest.xml': manifest('urn:xmind:xmap:xmlns:manifest:1.0'),
      },
    ],
  ])('accepts .%s files, which are zip-based but neither EPUB nor OpenDocument', async (extension, members) => {
    expect(await open(extension, basic.zip(members))).toMatchObject({ type: 'zip', ...accepted })
  })

  test('detects an EPUB or OpenDocument file without a mimetype member', async () => {
    const book = basic.zip({ 'META-INF/container.xml': container('OEBPS/content.opf'), 'OEBPS/content.opf': '<package/>' })
    expect(await open('epub', book)).toMatchObject({ type: 'epub', ...accepted })
    const other = basic.zip({
      'META-INF/container.xml': container('book.xml', 'application/oebps-package+xml'),
      'book.xml': '<package/>',
    })
    expect(await open('epub', other)).toMatchObject({ type: 'epub', ...accepted })
    const document = {
      'content.xml': '<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"/>',
      'META-INF/manifest.xml': manifest('urn:oasis:names:tc:opendocument:xmlns:manifest:1.0'),
    }
    expect(await open('odt', basic.zip(document))).toMatchObject({ type: 'odf', ...accepted })
    expect(await open('odt', basic.zip({ ...document, 'META-INF/manifest.xml': '<other/>' }))).toMatchObject({ fits: false })
  })

  test('accepts a Flash project in a zip archive or a compound file', async () => {
    expect(await open('fla', basic.zip({ 'DOMDocument.xml': '<DOMDocument/>' }))).toMatchObject(accepted)
    expect(await open('fla', basic.ole('Contents'))).toMatchObject(accepted)
  })
})
