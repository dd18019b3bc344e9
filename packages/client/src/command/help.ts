import type { Command } from './command.js'

const exitStatuses =
  'Exit status: 0 on success, 1 if the service rejected a request or a check failed, 2 if the command could not run.'

export const formatHelp = (commands: Record<string, Command>): string => `Usage: assay COMMAND [--json]

${formatTable(Object.entries(commands).map(([name, { description }]) => [name, description]))}

Run \`assay COMMAND --help\` for the options of a command and examples.
ASSAY_URL and ASSAY_KEY override the stored login. With --json, each result is one line of JSON.
${exitStatuses}
`

export const formatCommandHelp = ({ usage, description, options, examples }: Command): string => `Usage: assay ${usage}

${description}

Options:
${formatTable([
  ...Object.entries(options).map(([name, option]): [string, string] => [`--${name} ${option.value}`, option.description]),
  ['--json', 'Prints each result as one line of JSON.'],
  ['--help', 'Shows this help.'],
])}

Examples:
${examples.map((example) => `  ${example}`).join('\n')}

${exitStatuses}
`

function formatTable(rows: [string, string][]): string {
  const width = Math.max(...rows.map(([name]) => name.length))
  return rows.map(([name, text]) => `  ${name.padEnd(width)}  ${text}`).join('\n')
}
