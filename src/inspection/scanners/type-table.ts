import { getReaderNameByType, sharedExtensions, textTypes, types } from '@assay/formats'
import { containers } from './containers.js'

const unpacking = { reader: 'unpacked by Assay', engine: 'unpacked by ClamAV', none: 'not unpacked' }

export function createTypeTable(): string {
  const lines = Object.entries({ ...types, ...textTypes }).map(([type, { mime, extensions }]) => {
    const reader = getReaderNameByType(type)
    const how = reader ? `opened${reader === type ? '' : ` as ${reader}`}` : 'signature'
    return `| ${type} | ${mime} | ${how} | \`${extensions.join(' ')}\` |`
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
    "contains text or lacks the type's signature. Some types, such as raw disk images, have variants without a signature. Unknown binary content is",
    'accepted with the extensions of these types, with a note in the report. [Validation](validation.md) describes the checks.',
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
    ...Object.values(containers).map(({ name, builtIn, clamav }) => `| ${name} | ${unpacking[builtIn]} | ${unpacking[clamav]} |`),
    '',
  ].join('\n')
}
