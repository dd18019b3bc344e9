import { vectorCode } from '../vector-code.js'

// BEL, BS, TAB, LF, VT, FF, CR, SO, SI and ESC (terminal colours, ISO-2022), SUB (end of a DOS file): text has them.
const textControls = new Set([7, 8, 9, 10, 11, 12, 13, 14, 15, 26, 27])
const oddControl = new Uint8Array(256)
for (let code = 0; code < 32; code++) if (!textControls.has(code)) oddControl[code] = 1
oddControl[127] = 1

export const isOddControl = (code: number): boolean => oddControl[code] === 1

const chunkBytes = 64 * 1024
const lanes = 16
/** What a `swizzle` gives for each of 16 codes; for what is beyond them it gives 0. */
const oddFrom = (first: number) => [...oddControl.subarray(first, first + lanes)].map((odd) => odd * 255).join(' ')
const all = (value: number) => Array(lanes).fill(value).join(' ')

// Locals: 1 where it is, 2 how many, 3 sixteen bytes.
const counter = vectorCode({
  i32: 2,
  v128: 1,
  bytes: chunkBytes,
  code: `block
    loop
    local.get 1
    local.get 0
    i32.ge_u
    br_if 1
    v128.const ${oddFrom(0)}
    local.get 1
    v128.load 0
    local.tee 3
    i8x16.swizzle
    v128.const ${oddFrom(16)}
    local.get 3
    v128.const ${all(16)}
    i8x16.sub
    i8x16.swizzle
    v128.or
    local.get 3
    v128.const ${all(127)}
    i8x16.eq
    v128.or
    i8x16.bitmask
    i32.popcnt
    local.get 2
    i32.add
    local.set 2
    local.get 1
    i32.const ${lanes}
    i32.add
    local.set 1
    br 0
    end
    end
    local.get 2`,
})

/** How many bytes are controls that no text has: it is asked of every byte of a text. */
export function oddControls(bytes: Buffer): number {
  if (!counter || bytes.length < lanes) return countIn(bytes, 0)
  let odd = 0
  const whole = bytes.length - (bytes.length % lanes)
  for (let at = 0; at < whole; at += chunkBytes)
    odd += counter.run(bytes.copy(counter.memory, 0, at, Math.min(at + chunkBytes, whole)))
  return odd + countIn(bytes, whole)
}

function countIn(bytes: Buffer, start: number): number {
  let odd = 0
  for (let at = start; at < bytes.length; at++) odd += oddControl[bytes[at] as number] as number
  return odd
}
