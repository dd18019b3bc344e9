import type { Progress } from '../upload.js'

/** Invalid arguments (exit status 2). The message explains how to correct them. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

export interface Output {
  /** True if each result is printed as one line of JSON. */
  json: boolean
  /** Prints a result: `value` as JSON, or `columns` separated by tabs. */
  row(value: object, ...columns: unknown[]): void
  /** Prints a note on standard error. Does nothing with --json. */
  note(text: string): void
  /** Returns a function that draws a progress bar. Undefined without a terminal and with --json. */
  progress(name: string): ((progress: Progress) => void) | undefined
}

/** Creates the output of a run. Results go to standard output, notes and progress bars to standard error. */
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

/** Replaces control and direction characters. File names come from other users and could contain terminal escape sequences. */
const sanitize = (text: string): string => text.replaceAll(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, '�')

const barWidth = 30

function createProgressBar(name: string): (progress: Progress) => void {
  return ({ sent, total }) => {
    const filled = total ? Math.floor((sent / total) * barWidth) : 0
    const progressText = total
      ? `[${'='.repeat(filled)}${' '.repeat(barWidth - filled)}] ${Math.floor((sent / total) * 100)} %`
      : `${sent} bytes`
    process.stderr.write(`\r${sanitize(name)} ${progressText}${sent === total ? '\n' : ''}`)
  }
}
