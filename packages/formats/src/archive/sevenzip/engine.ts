import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { SevenZipModule, SevenZipModuleFactory } from '7z-wasm'
import { checkDeadline, type ReaderLimits } from '../../format.js'
import type { SevenZipRun } from '../../member-observer.js'
import type { RandomAccessSource } from '../../random-access-source.js'

// TypeScript declares WebAssembly only in its browser library (lib.dom).
declare namespace WebAssembly {
  type Module = object
  type Imports = object
  interface Instance {
    exports: Record<string, unknown>
  }
  class Memory {
    readonly buffer: ArrayBuffer
    grow(pages: number): number
  }
  class RuntimeError extends Error {}
  function compile(bytes: Uint8Array): Promise<Module>
  function instantiate(module: Module, imports: Imports): Promise<Instance>
}

export interface SevenZipCommand {
  /** Command-line arguments: `l` (list) or `x` (extract), followed by switches. */
  command: string[]
  type: string
  onLine?: (text: string) => void
  /** Receives the standard output as bytes instead of lines. The bytes are valid only during the call. */
  onOutput?: (bytes: Buffer) => void
  /** 7-Zip error messages to ignore. Each entry matches one occurrence. */
  expectedErrors?: string[]
}

const maxErrors = 20

// Memory limit in bytes, sufficient for a 256 MiB dictionary. If an archive needs more, the report states this.
const maxMemory = 384 * 1024 * 1024
const pageSize = 64 * 1024

let compiledEngine: Promise<{ factory: SevenZipModuleFactory; module: WebAssembly.Module }> | undefined

function loadEngine() {
  compiledEngine ??= (async () => {
    const { default: factory } = (await import('7z-wasm')) as unknown as { default: SevenZipModuleFactory }
    const wasm = createRequire(import.meta.url).resolve('7z-wasm/7zz.wasm')
    return { factory, module: await WebAssembly.compile(readFileSync(wasm)) }
  })()
  return compiledEngine
}

/** Runs 7-Zip in WebAssembly. 7-Zip reads the source through a virtual file, so it needs no copy. */
export async function runSevenZip(
  source: RandomAccessSource,
  limits: ReaderLimits,
  { command, type, onLine, onOutput, expectedErrors = [] }: SevenZipCommand,
): Promise<SevenZipRun> {
  const errors = new ErrorLines(expectedErrors)
  const { factory, module } = await loadEngine()
  // 7-Zip swallows exceptions that a callback throws during the final flush of the output, so the exception is rethrown after the
  // run.
  let thrown: { error: unknown } | undefined
  const printLine = (text: string) => {
    if (thrown) return
    try {
      onLine?.(text)
    } catch (error) {
      thrown = { error }
      throw error
    }
  }
  const sevenZip = await factory({
    print: printLine,
    printErr: (text) => errors.addLine(text),
    stdin: () => null as unknown as number,
    instantiateWasm: (
      imports: WebAssembly.Imports,
      done: (instance: WebAssembly.Instance, module: WebAssembly.Module) => void,
    ) => {
      void WebAssembly.instantiate(module, imports).then((instance) => {
        limitMemory(instance)
        done(instance, module)
      })
      return {}
    },
  } as Parameters<SevenZipModuleFactory>[0])
  mountSource(sevenZip, source, limits)
  if (onOutput) redirectOutput(sevenZip, onOutput)
  // Without the dummy password in `-p-`, 7-Zip would prompt for one and report a different error.
  const exitCode = callMain(sevenZip, [...command, '-bd', '-y', '-p-', `-t${type}`, '/archive'])
  if (thrown) throw thrown.error
  return { exitCode: errors.areAllExpected ? 0 : exitCode, errors: errors.lines }
}

class ErrorLines {
  readonly lines: string[] = []
  readonly #expected = new Map<string, number>()
  #found = 0

  constructor(expected: string[]) {
    for (const text of expected) this.#expected.set(text, (this.#expected.get(text) ?? 0) + 1)
  }

  get areAllExpected(): boolean {
    return this.#found > 0 && this.lines.length === 0
  }

  addLine(text: string): void {
    const expected = this.#expected.get(text) ?? 0
    if (expected > 0) {
      this.#expected.set(text, expected - 1)
      this.#found++
    } else if (this.lines.length < maxErrors && text.trim() !== '') this.lines.push(text.slice(0, 300))
  }
}

/** Calls 7-Zip and returns its exit code, which is 2 after a crash. Rethrows errors from callbacks. */
function callMain(sevenZip: SevenZipModule, command: string[]): number {
  // Like a command-line program, 7-Zip sets `process.exitCode`, so the previous value is restored afterwards.
  const { exitCode } = process
  try {
    const result = sevenZip.callMain(command) as unknown
    return typeof result === 'number' ? result : 2
  } catch (error) {
    // Emscripten throws C++ exceptions as numbers, so a number is treated as a crash.
    if (typeof error === 'number' || error instanceof WebAssembly.RuntimeError) return 2
    if ((error as { name?: string }).name === 'ExitStatus') return (error as { status: number }).status
    throw error
  } finally {
    process.exitCode = exitCode
  }
}

/** Limits the memory of 7-Zip, which could otherwise grow to 2 GiB. At the limit, 7-Zip reports that it is out of memory. */
function limitMemory(instance: WebAssembly.Instance): void {
  for (const value of Object.values(instance.exports)) {
    if (!(value instanceof WebAssembly.Memory)) continue
    value.grow = (pages) => {
      if (value.buffer.byteLength + pages * pageSize > maxMemory) throw new RangeError('7-Zip needs more memory than allowed')
      return WebAssembly.Memory.prototype.grow.call(value, pages)
    }
  }
}

interface Node {
  usedBytes: number
  stream_ops: Record<string, unknown>
}

function redirectOutput({ FS }: SevenZipModule, onOutput: (bytes: Buffer) => void): void {
  const { streams } = FS as unknown as { streams: { stream_ops: Record<string, unknown> }[] }
  streams[1]!.stream_ops = {
    write(_stream: unknown, from: Uint8Array, offset: number, length: number): number {
      onOutput(Buffer.from(from.buffer, from.byteOffset + offset, length))
      return length
    },
  }
}

function mountSource({ FS }: SevenZipModule, source: RandomAccessSource, limits: ReaderLimits): void {
  FS.writeFile('/archive', new Uint8Array(0))
  const node = FS.lookupPath('/archive').node as unknown as Node
  node.usedBytes = source.size
  node.stream_ops = {
    ...node.stream_ops,
    read(_stream: unknown, into: Uint8Array, offset: number, length: number, position: number): number {
      checkDeadline(limits)
      const bytes = source.read(position, length)
      into.set(bytes, offset)
      return bytes.length
    },
  }
}
