import { type ExecFileException, execFile } from 'node:child_process'
import { pipeline, Readable } from 'node:stream'
import { toPrintableText } from '../../../platform/errors/errors.js'
import type { Content } from '../../../platform/spool/content.js'
import type { ClamdConnector } from '../clamd/commands.js'
import { ClamdFault } from '../clamd/exchange.js'

export interface Program {
  path: string
  flags: string[]
}

/**
 * Time limit for a scan. Loading a large signature database takes half a minute, and the scan itself is no faster than with the
 * daemon.
 */
const timeoutMs = 300_000
const versionMs = 30_000
const maxOutputBytes = 1024 * 1024

/**
 * Runs one process per scan. The npm package `clamscan` 2.4.0 supports neither abort signals nor timeouts, treats any last line
 * with `: OK` as clean, and falls back to another program or to the default database.
 */
export function createClamscanConnector({ path, flags }: Program): ClamdConnector {
  return {
    async queryVersion(_, signal) {
      const versionFlags = flags.filter((flag) => /^--(database|config-file)=/.test(flag))
      const { output } = await runProgram({ path, flags: [...versionFlags, '--version'], deadlineMs: versionMs, signal })
      return output.split('\n').find((line) => line.startsWith('ClamAV ')) ?? output
    },
    async scan(_, content, signal) {
      const file = content.path
      const { code, output } = await runProgram({
        path,
        flags: [...flags, file ?? '-'],
        deadlineMs: timeoutMs,
        signal,
        content: file ? undefined : content,
      })
      return toClamdResponse(output, { code, path, inputNames: file ? [file] : ['stdin', 'stream'], size: content.size })
    },
  }
}

interface ProgramResult {
  code: number | null
  path: string
  inputNames: string[]
  size: number
}

/**
 * Converts the output to clamd's format (`stream: OK`). Throws unless the output is a single line that matches the exit status.
 */
function toClamdResponse(output: string, { code, path, inputNames, size }: ProgramResult): string {
  const lines = output.split('\n').filter((line) => line !== '')
  const [line = ''] = lines
  const name = inputNames.find((each) => line.startsWith(`${each}: `))
  const result = name === undefined ? '' : line.slice(name.length + 2)
  if (lines.length === 1 && code === 0 && (result === 'OK' || (result === 'Empty file' && size === 0))) return 'stream: OK'
  if (lines.length === 1 && code === 1 && /^\S+ FOUND$/.test(result)) return `stream: ${result}`
  throw new ClamdFault(`${path} exited with status ${code} and the output '${toPrintableText(output.slice(0, 200))}'`)
}

interface Run {
  path: string
  flags: string[]
  deadlineMs: number
  signal: AbortSignal
  content?: Content | undefined
}

/**
 * Runs the program. After the process has ended, resolves with its output, or rejects with `ClamdFault` or the signal's reason.
 */
function runProgram({ path, flags, deadlineMs, signal, content }: Run): Promise<{ code: number | null; output: string }> {
  if (signal.aborted) return Promise.reject(signal.reason)
  return new Promise((resolve, reject) => {
    let failure: unknown
    const options = { timeout: deadlineMs, maxBuffer: maxOutputBytes, killSignal: 'SIGKILL' } as const
    const child = execFile(path, flags, options, (error, stdout) => {
      signal.removeEventListener('abort', onAbort)
      if (failure !== undefined) reject(failure)
      else if (error && (error.killed || typeof error.code === 'string')) reject(toFault(path, deadlineMs, error))
      else resolve({ code: error ? (error.code as number | null) : 0, output: stdout.trimEnd() })
    })
    // Discard warnings. A file with many damaged parts can produce more of them than the output limit allows.
    child.stderr!.removeAllListeners('data').resume()
    const killProgram = (reason: unknown) => {
      failure ??= reason
      child.kill('SIGKILL')
      // Close the pipes, because a child process of the program may keep them open.
      for (const pipe of [child.stdout!, child.stderr!]) pipe.destroy()
    }
    const onAbort = () => killProgram(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    if (!content) {
      child.stdin!.end()
      return
    }
    // Ignore EPIPE, because the program may respond before it has read all content. A read error makes the scan fail.
    pipeline(content.bytes ? Readable.from([content.bytes]) : content.stream(), child.stdin!, (error) => {
      if (error && !/EPIPE|ERR_STREAM_PREMATURE_CLOSE/.test((error as NodeJS.ErrnoException).code ?? '')) killProgram(error)
    })
  })
}

function toFault(path: string, deadlineMs: number, error: ExecFileException): ClamdFault {
  if ((error.code as unknown) === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER')
    return new ClamdFault(`The output of ${path} exceeds the maximum length`)
  if (error.killed) return new ClamdFault(`${path} did not finish within ${deadlineMs} ms`, { isUnresponsive: true })
  return new ClamdFault(`${path} cannot be run (${error.code})`, { line: 'refused', cause: error })
}
