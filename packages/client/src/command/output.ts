import { AssayError } from '../errors.js'
import type { Progress } from '../upload.js'

/** Error for invalid arguments or a missing login. The command exits with status 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

export interface Output {
  /** True if the command prints each result as one line of JSON. */
  json: boolean
  /** Prints one result: `value` as JSON with --json, otherwise `columns` separated by tabs. */
  row(value: object, ...columns: unknown[]): void
  /** Prints a note to standard error, unless --json is set. */
  note(text: string): void
  /** Returns a function that draws a progress bar. Returns undefined if --json is set or standard error is not a terminal. */
  progress(name: string): ((progress: Progress) => void) | undefined
}

/** Creates the output of a command. Results go to standard output. Notes and progress bars go to standard error. */
export function createOutput(json: boolean): Output {
  return {
    json,
    row: (value, ...columns) =>
      process.stdout.write(
        json
          ? `${JSON.stringify(value)}\n`
          : `${columns.map((column) => replaceControlCharacters(String(column ?? '-'))).join('\t')}\n`,
      ),
    note: (text) => {
      if (!json) process.stderr.write(`${text}\n`)
    },
    progress: (name) => (json || !process.stderr.isTTY ? undefined : createProgressBar(name)),
  }
}

/** Replaces control and bidirectional characters, because other users' file names can contain terminal escape sequences. */
const replaceControlCharacters = (text: string): string =>
  text.replaceAll(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, '�')

const barWidth = 30

function createProgressBar(name: string): (progress: Progress) => void {
  let shown = ''
  return ({ sent, total }) => {
    const text = formatProgress(sent, total)
    // Progress events occur every 64 KiB, and most of them do not change the text, so the line is rewritten only if it changed.
    if (text === shown) return
    shown = text
    process.stderr.write(`\r${replaceControlCharacters(name)} ${text}${sent === total ? '\n' : ''}`)
  }
}

function formatProgress(sent: number, total: number | undefined): string {
  if (!total) return `${sent} bytes`
  const filled = Math.floor((sent / total) * barWidth)
  return `[${'='.repeat(filled)}${' '.repeat(barWidth - filled)}] ${Math.floor((sent / total) * 100)} %`
}

const localErrors: Record<string, (path: string) => string> = {
  ENOENT: (path) => `'${path}' does not exist.`,
  EACCES: (path) => `No permission to access '${path}'.`,
  EISDIR: (path) => `'${path}' is a folder, not a file.`,
  EEXIST: (path) => `'${path}' already exists. Choose another name with --output.`,
  ENOSPC: (path) => `No space left to write '${path}'.`,
}

/** Returns the error fields that the command prints with --json. */
export function toErrorFields(error: unknown): { code: string; message: string } {
  if (error instanceof AssayError) {
    const { code, message, details, status, requestId } = error
    return { code, message, details, status, request_id: requestId } as { code: string; message: string }
  }
  if (error instanceof UsageError) return { code: 'usage_error', message: error.message }
  const { code = '', path, message } = error as NodeJS.ErrnoException
  const describe = path === undefined ? undefined : localErrors[code]
  return { code: 'local_error', message: describe ? `${describe(path!)} (${code})` : message }
}
