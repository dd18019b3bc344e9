const opcodes: Record<string, number[]> = {
  block: [0x02, 0x40],
  loop: [0x03, 0x40],
  if: [0x04, 0x40],
  end: [0x0b],
  br: [0x0c],
  br_if: [0x0d],
  'local.get': [0x20],
  'local.set': [0x21],
  'local.tee': [0x22],
  'i32.load8_u': [0x2d, 0],
  'i32.store': [0x36, 2],
  'i32.const': [0x41],
  'i32.ge_u': [0x4f],
  'i32.popcnt': [0x69],
  'i32.add': [0x6a],
  'i32.or': [0x72],
  'v128.load': [0xfd, 0, 4],
  'v128.const': [0xfd, 12],
  'i8x16.swizzle': [0xfd, 14],
  'i32x4.extract_lane': [0xfd, 27],
  'i8x16.eq': [0xfd, 35],
  'v128.or': [0xfd, 80],
  'v128.any_true': [0xfd, 83],
  'i8x16.bitmask': [0xfd, 100],
  'i8x16.sub': [0xfd, 113],
  'i32x4.shr_u': [0xfd, 173, 1],
  'i32x4.mul': [0xfd, 181, 1],
}

/** Is given where the bytes end that it looks at, of those at the beginning of its memory. */
type Program = (end: number) => number

export interface VectorCode {
  run: Program
  memory: Buffer
}

// The compiler's library for servers does not know WebAssembly: the little of it that is used here.
declare namespace WebAssembly {
  class Module {
    constructor(bytes: Uint8Array)
  }
  class Instance {
    constructor(module: Module)
    readonly exports: { run: Program; memory: { buffer: ArrayBuffer } }
  }
}

const pageBytes = 64 * 1024

/**
 * A function of WebAssembly, which takes 16 bytes at a time where JavaScript takes four. `code` is one instruction a line, as its text
 * format names them: local 0 is the argument, then so many `i32` and `v128`. Undefined where the processor does not have such instructions.
 */
export function vectorCode({
  i32,
  v128,
  bytes,
  code,
}: {
  i32: number
  v128: number
  bytes: number
  code: string
}): VectorCode | undefined {
  const body = [2, i32, 0x7f, v128, 0x7b, ...code.trim().split('\n').flatMap(instruction), 0x0b]
  const module = Uint8Array.from([
    ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, [1, 0x60, 1, 0x7f, 1, 0x7f]),
    ...section(3, [1, 0]),
    ...section(5, [1, 0, ...leb(Math.ceil(bytes / pageBytes))]),
    ...section(7, [2, ...name('memory'), 2, 0, ...name('run'), 0, 0]),
    ...section(10, [1, ...leb(body.length), ...body]),
  ])
  try {
    const { run, memory } = new WebAssembly.Instance(new WebAssembly.Module(module)).exports
    return { run, memory: Buffer.from(memory.buffer) }
  } catch {
    return undefined
  }
}

function instruction(line: string): number[] {
  const [name, ...operands] = line.trim().split(' ')
  const opcode = opcodes[name!]
  if (!opcode) throw new Error(`No instruction is known as '${name}'.`)
  const numbers = operands.map(Number)
  return [...opcode, ...(name === 'v128.const' ? numbers : numbers.flatMap(name === 'i32.const' ? sleb : leb))]
}

const section = (id: number, content: number[]): number[] => [id, ...leb(content.length), ...content]

const name = (text: string): number[] => [text.length, ...Buffer.from(text)]

const leb = (value: number): number[] => (value < 128 ? [value] : [(value & 127) | 128, ...leb(value >>> 7)])

const sleb = (value: number): number[] => (value < 64 ? [value] : [(value & 127) | 128, ...sleb(value >>> 7)])
