import { spawn } from 'node:child_process'
import { pipeline, Readable } from 'node:stream'
import { printable } from '../../../platform/errors/errors.js'
import type { Content } from '../../../platform/spool/content.js'
import { ClamdFault } from '../clamd/exchange.js'
import type { ClamdConnector } from '../clamd/line.js'

export interface Program {
  path: string
  flags: string[]
}

/** Milliseconds. A large database takes half a minute to load, and a scan as long as a daemon's. */
const timeoutMs = 300_000
const versionMs = 30_000
const longestOutput = 64 * 1024

/**
 * Runs ClamAV's command line, one process for each scan. The package `clamscan` finds the program and builds its flags. It does not run the
 * scan, because it offers no process handle, signal or time-out: an aborted scan would continue, and a hanging one would never end. It also
 * treats any last line with `: OK` as clean.
 */
export function programLine({ path, flags }: Program): ClamdConnector {
  return {
    async version(_, signal) {
      const versionFlags = flags.filter((flag) => /^--(database|config-file)=/.test(flag))
      const { output } = await run({ path, flags: [...versionFlags, '--version'], ms: versionMs, signal })
      return output.split('\n').find((line) => line.startsWith('ClamAV ')) ?? output
    },
    async scan(_, content, signal) {
      const file = content.path
      const { code, output } = await run({
        path,
        flags: [...flags, file ?? '-'],
        ms: timeoutMs,
        signal,
        content: file ? undefined : content,
      })
      return answerOf(output, { code, path, called: file ? [file] : ['stdin', 'stream'], size: content.size })
    },
  }
}

interface Told {
  code: number | null
  path: string
  called: string[]
  size: number
}

/** The one line that it says, as clamd would: `stream: OK` or `stream: NAME FOUND`, and the exit code that belongs to it. */
function answerOf(output: string, { code, path, called, size }: Told): string {
  const lines = output.split('\n').filter((line) => line !== '')
  const [line = ''] = lines
  const name = called.find((each) => line.startsWith(`${each}: `))
  const said = name === undefined ? '' : line.slice(name.length + 2)
  if (lines.length === 1 && code === 0 && (said === 'OK' || (said === 'Empty file' && size === 0))) return 'stream: OK'
  if (lines.length === 1 && code === 1 && /^\S+ FOUND$/.test(said)) return `stream: ${said}`
  throw new ClamdFault(`${path} ended with status ${code} and the output '${printable(output.slice(0, 200))}'`)
}

interface Run {
  path: string
  flags: string[]
  ms: number
  signal: AbortSignal
  content?: Content | undefined
}

/** Rejects with the signal's reason, or with `ClamdFault`, when the process is gone. */
function run({ path, flags, ms, signal, content }: Run): Promise<{ code: number | null; output: string }> {
  if (signal.aborted) return Promise.reject(signal.reason)
  return new Promise((resolve, reject) => {
    const child = spawn(path, flags, { stdio: [content ? 'pipe' : 'ignore', 'pipe', 'ignore'] })
    let failure: unknown
    const end = (reason: unknown) => {
      failure ??= reason
      child.kill('SIGKILL')
      // A child of the program may keep its output open.
      child.stdout!.destroy()
    }
    const aborted = () => end(signal.reason)
    signal.addEventListener('abort', aborted, { once: true })
    const timer = setTimeout(() => end(new ClamdFault(`${path} did not finish within ${ms} ms`, { mute: true })), ms)
    let output = ''
    child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      output += text
      if (output.length > longestOutput) end(new ClamdFault(`The output of ${path} exceeds the maximum length`))
    })
    child.on('error', (error) => {
      failure ??= new ClamdFault(`${path} cannot be run (${(error as NodeJS.ErrnoException).code})`, {
        line: 'refused',
        cause: error,
      })
    })
    child.on('close', (code) => {
      clearTimeout(timer)
      signal.removeEventListener('abort', aborted)
      if (failure === undefined) resolve({ code, output: output.trimEnd() })
      else reject(failure)
    })
    // A program that has its answer need not read to the end; a content that cannot be read is no scan.
    if (content)
      pipeline(content.bytes ? Readable.from([content.bytes]) : content.stream(), child.stdin!, (error) => {
        if (error && !/EPIPE|ERR_STREAM_PREMATURE_CLOSE/.test((error as NodeJS.ErrnoException).code ?? '')) end(error)
      })
  })
}
