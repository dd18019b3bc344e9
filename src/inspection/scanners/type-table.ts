import { readerOf, textTypes, types } from '@assay/formats'
import { containers } from './containers.js'

export function typeTable(): string {
  const lines = Object.entries({ ...types, ...textTypes }).map(([type, { mime, extensions }]) => {
    const reader = readerOf(type)
    const how = reader ? `opened${reader === type ? '' : `, as ${reader}`}` : 'signature'
    return `| ${type} | ${mime} | ${how} | ${extensions.join(' ')} |`
  })
  return [
    '# Types',
    '',
    'Made from the code by `npm run types:table`. *Opened*: a reader reads the file as the usual program does. *Signature*: its first bytes must be those of',
    'the type, and no more is looked at. An extension that is not here stands for what the content is found to be, programs excepted; where nothing is',
    'recognised, the content is unknown and passes, the report saying so.',
    '',
    '| type | content type | how far | may be called |',
    '|---|---|---|---|',
    ...lines,
    '',
    '## Who unpacks what is scanned',
    '',
    'A pass of the virus check is only said about what was seen: what no one unpacks is incomplete. *Reader*: Assay unpacks it before the engine.',
    '*Engine*: ClamAV does.',
    '',
    '| container | built-in scanner | ClamAV |',
    '|---|---|---|',
    ...Object.values(containers).map(({ name, builtIn, clamav }) => `| ${name} | ${builtIn} | ${clamav} |`),
    '',
  ].join('\n')
}
