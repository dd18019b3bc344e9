// npm run types:table: writes docs/types.md.
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { exitOnError, prepare } from './prepare.mjs'

/** Returns the text of docs/types.md. */
export async function createTypeTable() {
  const { getReaderNameByType, sharedExtensions, textTypes, types } = await import('@assay/formats')
  const { containerKinds } = await import('@assay/formats/walk')
  const { openedByClamav } = await import('../dist/inspection/scanners/scan-coverage.js')
  const lines = Object.entries({ ...types, ...textTypes }).map(([type, { mime, extensions }]) => {
    const reader = getReaderNameByType(type)
    const how = reader ? `opened${reader === type ? '' : ` as ${reader}`}` : 'signature'
    return `| ${type} | ${mime} | ${how} | \`${extensions.join(' ')}\` |`
  })
  const containers = Object.entries(containerKinds).map(([container, { name, open }]) => {
    const unpacked = open ? 'unpacked by Assay' : 'not unpacked'
    return `| ${name} | ${unpacked} | ${openedByClamav.has(container) ? 'unpacked by ClamAV' : unpacked} |`
  })
  return [
    '# Types',
    '',
    'This page lists the file types that Assay recognizes, and their extensions. `npm run types:table` generates this page. To check a file:',
    '',
    '```sh',
    'npm run --silent validate -- report.pdf',
    '```',
    '',
    '- *opened*: Assay opens the file as common programs do. *opened as zip* means that the ZIP reader opens the file.',
    '- *signature*: Assay checks only the first bytes of the file.',
    '',
    'A file with an unlisted extension passes the type check, unless it is a program. A file with a binary extension in this table is rejected if it',
    "contains text or lacks the type's signature. Some types, such as raw disk images, have variants without a signature. A file with unknown",
    'binary content and an extension of such a type is accepted, and its report contains a note. [Validation](validation.md) describes the checks.',
    '',
    `Several formats share the extensions \`${[...sharedExtensions].join(' ')}\`. Files with these extensions may therefore also contain`,
    'text or unknown content.',
    '',
    '## Types and extensions',
    '',
    '| type | content type | check | extensions |',
    '|---|---|---|---|',
    ...lines,
    '',
    '## Unpacking for the virus scan',
    '',
    'Containers are unpacked for the virus scan, either by Assay before the scan or by ClamAV. A scan is incomplete if the file is or contains a container',
    'that is not unpacked.',
    '',
    '| container | with the built-in scanner | with ClamAV |',
    '|---|---|---|',
    ...containers,
    '',
  ].join('\n')
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await exitOnError(() => prepare())
  writeFileSync(new URL('../docs/types.md', import.meta.url), await createTypeTable())
}
