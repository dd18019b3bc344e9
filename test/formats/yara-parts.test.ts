import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type EngineKind, hasNativeEngine } from '../../src/inspection/scanners/yara/engine.js'
import { YaraScanner } from '../../src/inspection/scanners/yara/yara.js'
import { clean, createFileContent, createMemoryContent, createZip } from '../support/eicar.js'

const mebibyte = 1024 * 1024
const never = () => ({ signal: new AbortController().signal })
const words = Buffer.alloc(5 * mebibyte, 'Plain words, a line of them. \n')
const file = (...parts: (string | Buffer)[]) => Buffer.concat(parts.map((part) => Buffer.from(part as string)))

// The string is split so that virus scanners do not detect this source file.
const php = ['<?php\n', `ev${''}al($_PO${''}ST['x']);`] as const
const dropper = [`WScript.Sh${''}ell`, 'MSXML2.XMLHTTP', `ADODB.Str${''}eam`].map((name) => `new ActiveXObject("${name}");`)
const script = `<script>var u=at${''}ob("aHR0");window.location.href=u</script>`

describe.each<EngineKind>(hasNativeEngine() ? ['native', 'wasm'] : ['wasm'])(
  'YARA rules with several strings, %s engine',
  (kind) => {
    let scanner: YaraScanner
    beforeAll(async () => {
      scanner = await YaraScanner.open({ kind, workers: 1 })
    }, 60_000)
    afterAll(() => scanner.close())

    const scan = async (bytes: Buffer) => {
      const content = await createFileContent(bytes)
      try {
        return await scanner.scan(content, never())
      } finally {
        await content.remove()
      }
    }

    // Scan windows have 4 MiB, so strings that are 5 MiB apart never share a window.
    test.each<[string, string, Buffer]>([
      ['PHP.Webshell', 'in order', file(php[0], words, php[1])],
      ['PHP.Webshell', 'in reverse order', file(php[1], words, words, php[0])],
      ['PHP.Webshell', 'at both ends of binary content', file('GIF89a\0\x01', php[0], Buffer.alloc(9 * mebibyte, 1), php[1])],
      ['JSP.Webshell', 'in order', file('<%', words, `Runtime.getRun${''}time().exec(request.getParameter("c"));`)],
      ['Office.AutoMacroShell', 'in order', file(`Sub AutoOp${''}en()\n`, words, 'Shell "cmd /c calc"')],
      ['Script.Dropper', 'in three windows', file(dropper[2]!, words, dropper[0]!, words, dropper[1]!)],
      ['SVG.ScriptRedirect', 'in order', file('<svg xmlns="http://www.w3.org/2000/svg">', words, script)],
    ])('the YARA rule %s matches strings in distant windows: %s', async (signature, _, bytes) => {
      expect(await scan(bytes)).toMatchObject({ verdict: 'infected', signature })
      expect(await scanner.scan(createMemoryContent(gzipSync(bytes, { level: 1 })), never())).toMatchObject({
        verdict: 'infected',
        signature,
      })
    })

    test('does not combine strings from different files to match a YARA rule', async () => {
      expect(await scan(file(php[0], words))).toEqual(clean)
      expect(await scan(file(words, php[1]))).toEqual(clean)
      const members = createZip({ name: 'a.txt', bytes: file(php[0], words) }, { name: 'b.txt', bytes: file(words, php[1]) })
      expect(await scanner.scan(createMemoryContent(members), never())).toEqual(clean)
    })

    test('matches strings of a YARA rule only at the start of a file if the rule requires it', async () => {
      expect(await scan(file(words, '<svg>', words, script))).toEqual(clean)
      // The second scan window starts 64 KiB before the end of the first one.
      const second = Buffer.from(file(words, words))
      second.write('<svg>', 4 * mebibyte - 64 * 1024 + 10)
      expect(await scan(file(second, script))).toEqual(clean)
    })
  },
)
