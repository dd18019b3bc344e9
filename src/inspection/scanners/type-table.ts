import { getReaderNameByType, sharedExtensions, textTypes, types } from '@assay/formats'
import { containers } from './containers.js'

export function createTypeTable(): string {
  const lines = Object.entries({ ...types, ...textTypes }).map(([type, { mime, extensions }]) => {
    const reader = getReaderNameByType(type)
    const how = reader ? `opened${reader === type ? '' : `, as ${reader}`}` : 'signature'
    return `| ${type} | ${mime} | ${how} | \`${extensions.join(' ')}\` |`
  })
  return [
    '# Types',
    '',
    'This page lists the file types that Assay recognizes and their extensions. `npm run types:table` generates the page from the code. To check a file:',
    '',
    '```sh',
    'npm run --silent validate -- report.pdf',
    '```',
    '',
    '- *opened*: a reader opens the file as common programs do.',
    '- *signature*: only the first bytes are checked.',
    '',
    'An extension that is not listed is accepted for any content except programs. Under a binary extension in this table, text is rejected, and so is',
    "content without the type's signature. Some types have variants without a signature, such as raw disk images. For their extensions, unknown",
    'binary content is accepted with a note in the report. [Validation](validation.md) describes the checks.',
    '',
    `Extensions that other formats share also accept text and unknown content: \`${[...sharedExtensions].join(' ')}\`.`,
    '',
    '## Types and extensions',
    '',
    '| type | content type | check | extensions |',
    '|---|---|---|---|',
    ...lines,
    '',
    '## Unpacking for the virus scan',
    '',
    'A scan is incomplete if a container is not unpacked. *reader* means that Assay unpacks the container before the scan. *engine* means that ClamAV',
    'unpacks the container. *none* means that the container is not unpacked.',
    '',
    '| container | built-in scanner | ClamAV |',
    '|---|---|---|',
    ...Object.values(containers).map(({ name, builtIn, clamav }) => `| ${name} | ${builtIn} | ${clamav} |`),
    '',
  ].join('\n')
}
