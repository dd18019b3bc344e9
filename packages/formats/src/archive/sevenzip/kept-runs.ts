import type { RandomAccessSource } from '../../random-access-source.js'
import type { SevenZipCommand } from './command.js'

export interface RawRun {
  exitCode: number
  said: string[]
}

interface Recording extends RawRun {
  lines: string[]
  output: Buffer[]
}

// Characters and bytes: what is larger is listed and unpacked again.
const mostKept = 16 * 1024 * 1024

const kept = new WeakMap<RandomAccessSource, Map<string, Recording>>()

/** What 7-Zip does with this source is kept, and told again where the same is asked for, as long as the source is there. */
export const keepRuns = (source: RandomAccessSource): void => void kept.set(source, new Map())

/** Lists or unpacks it, or tells again what came of it the last time. */
export async function keptRun(
  source: RandomAccessSource,
  command: SevenZipCommand,
  execute: (command: SevenZipCommand) => Promise<RawRun>,
): Promise<RawRun> {
  const runs = kept.get(source)
  if (!runs) return execute(command)
  const name = [command.type, ...command.command].join(' ')
  const before = runs.get(name)
  if (before) return told(before, command)
  const recorder = new Recorder(command)
  const run = await execute(recorder.command)
  if (recorder.complete) runs.set(name, { ...run, lines: recorder.lines, output: recorder.output })
  return run
}

function told({ lines, output, ...run }: Recording, command: SevenZipCommand): RawRun {
  for (const line of lines) command.line?.(line)
  for (const bytes of output) command.output?.(bytes)
  return run
}

class Recorder {
  readonly lines: string[] = []
  readonly output: Buffer[] = []
  readonly command: SevenZipCommand
  complete = true
  #size = 0

  constructor({ line, output, ...rest }: SevenZipCommand) {
    this.command = {
      ...rest,
      line: (text) => {
        if (this.#hasRoom(text.length)) this.lines.push(text)
        line?.(text)
      },
      ...(output && {
        output: (bytes) => {
          // They are only lent.
          if (this.#hasRoom(bytes.length)) this.output.push(Buffer.from(bytes))
          output(bytes)
        },
      }),
    }
  }

  #hasRoom(size: number): boolean {
    this.#size += size
    if (this.#size <= mostKept) return true
    this.complete = false
    this.lines.length = 0
    this.output.length = 0
    return false
  }
}
