import type { Progress } from '../upload.js'

/** A call whose words are wrong: its message says what would be right; exit status 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

export interface Output {
  /** Every answer as one line of JSON. */
  json: boolean
  /** A result: an object as JSON, or a row of a table for people. */
  row(value: object, ...columns: unknown[]): void
  /** For people alone; left out with --json. */
  note(text: string): void
  /** A bar where there is a terminal. */
  progress(name: string): ((progress: Progress) => void) | undefined
}

/** Output for one run: results on standard output, notes and bars on standard error. */
export function openOutput(json: boolean): Output {
  return {
    json,
    row: (value, ...columns) =>
      process.stdout.write(
        json ? `${JSON.stringify(value)}\n` : `${columns.map((column) => sanitize(String(column ?? '-'))).join('\t')}\n`,
      ),
    note: (text) => {
      if (!json) process.stderr.write(`${text}\n`)
    },
    progress: (name) => (json || !process.stderr.isTTY ? undefined : createProgressBar(name)),
  }
}

/** File names are other people's: what would steer a terminal is not written to one. */
const sanitize = (text: string): string => text.replaceAll(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, '�')

const barWidth = 30

function createProgressBar(name: string): (progress: Progress) => void {
  return ({ sent, total }) => {
    const done = total ? Math.floor((sent / total) * barWidth) : 0
    const drawn = total
      ? `[${'='.repeat(done)}${' '.repeat(barWidth - done)}] ${Math.floor((sent / total) * 100)} %`
      : `${sent} bytes`
    process.stderr.write(`\r${sanitize(name)} ${drawn}${sent === total ? '\n' : ''}`)
  }
}
