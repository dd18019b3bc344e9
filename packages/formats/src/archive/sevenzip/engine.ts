import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { SevenZipModule, SevenZipModuleFactory } from '7z-wasm'
import { checkDeadline, type ReaderLimits } from '../../format.js'
import type { RandomAccessSource } from '../../random-access-source.js'
import type { SevenZipCommand } from './command.js'

// The compiler's library for servers does not know WebAssembly: the little of it that is used here.
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

export interface SevenZipRun {
  exitCode: number
  complaints: string[]
}

// Enough for a dictionary of 256 MiB; archives that want more are not unpacked, and noted.
const mostMemory = 384 * 1024 * 1024
const pageSize = 64 * 1024
/** Of what it complains: some of it is passed over, for every link one line. */
const mostSaid = 10_000

let compiled: Promise<{ factory: SevenZipModuleFactory; module: WebAssembly.Module }> | undefined

function engine() {
  compiled ??= (async () => {
    const { default: factory } = (await import('7z-wasm')) as unknown as { default: SevenZipModuleFactory }
    const wasm = createRequire(import.meta.url).resolve('7z-wasm/7zz.wasm')
    return { factory, module: await WebAssembly.compile(readFileSync(wasm)) }
  })()
  return compiled
}

/** Runs `command` (`l`, `t` or `x`, with switches) on the source, which is read as 7-Zip asks for it and never copied whole. */
export async function runSevenZip(
  source: RandomAccessSource,
  limits: ReaderLimits,
  { command, type, line, output, passedOver }: SevenZipCommand,
): Promise<SevenZipRun> {
  const { exitCode, said } = await execute(source, limits, { command, type, line, output })
  const complaints = said.filter((text) => !passedOver?.has(text))
  const passed = complaints.length < said.length
  return { exitCode: passed && complaints.length === 0 ? 0 : exitCode, complaints: complaints.slice(0, 20) }
}

async function execute(
  source: RandomAccessSource,
  limits: ReaderLimits,
  { command, type, line, output }: SevenZipCommand,
): Promise<{ exitCode: number; said: string[] }> {
  const said: string[] = []
  const { factory, module } = await engine()
  // What is thrown while it empties its buffers at the end, the library swallows.
  let thrown: { error: unknown } | undefined
  const heard = (text: string) => {
    if (thrown) return
    try {
      line?.(text)
    } catch (error) {
      thrown = { error }
      throw error
    }
  }
  const sevenZip = await factory({
    print: heard,
    printErr: (text) => {
      if (said.length < mostSaid && text.trim() !== '') said.push(text.slice(0, 300))
    },
    stdin: () => null as unknown as number,
    instantiateWasm: (
      imports: WebAssembly.Imports,
      done: (instance: WebAssembly.Instance, module: WebAssembly.Module) => void,
    ) => {
      void WebAssembly.instantiate(module, imports).then((instance) => {
        boundMemory(instance)
        done(instance, module)
      })
      return {}
    },
  } as Parameters<SevenZipModuleFactory>[0])
  mount(sevenZip, source, limits)
  if (output) redirect(sevenZip, output)
  // A password of our own: without one it would ask, and fail in another way.
  const exitCode = callMain(sevenZip, [...command, '-bd', '-y', '-p-', `-t${type}`, '/archive'])
  if (thrown) throw thrown.error
  return { exitCode, said }
}

/** A crash on a file is an answer about that file; what we threw ourselves (a trap, a deadline) passes through. */
function callMain(sevenZip: SevenZipModule, command: string[]): number {
  // The library takes itself for the whole program, and leaves its status as ours.
  const { exitCode } = process
  try {
    const result = sevenZip.callMain(command) as unknown
    return typeof result === 'number' ? result : 2
  } catch (error) {
    // C++ exceptions arrive as numbers.
    if (typeof error === 'number' || error instanceof WebAssembly.RuntimeError) return 2
    if ((error as { name?: string }).name === 'ExitStatus') return (error as { status: number }).status
    throw error
  } finally {
    process.exitCode = exitCode
  }
}

/** The library grows up to 2 GiB; a refused growth reads to it as memory used up. */
function boundMemory(instance: WebAssembly.Instance): void {
  for (const value of Object.values(instance.exports)) {
    if (!(value instanceof WebAssembly.Memory)) continue
    value.grow = (pages) => {
      if (value.buffer.byteLength + pages * pageSize > mostMemory)
        throw new RangeError('7-Zip wants more memory than it may have')
      return WebAssembly.Memory.prototype.grow.call(value, pages)
    }
  }
}

interface Node {
  usedBytes: number
  stream_ops: Record<string, unknown>
}

function redirect({ FS }: SevenZipModule, output: (bytes: Buffer) => void): void {
  const { streams } = FS as unknown as { streams: { stream_ops: Record<string, unknown> }[] }
  streams[1]!.stream_ops = {
    write(_stream: unknown, from: Uint8Array, offset: number, length: number): number {
      output(Buffer.from(from.buffer, from.byteOffset + offset, length))
      return length
    },
  }
}

function mount({ FS }: SevenZipModule, source: RandomAccessSource, limits: ReaderLimits): void {
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
