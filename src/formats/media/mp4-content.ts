import { checkDeadline, type ReaderLimits } from '../format.js'
import type { RandomAccessSource } from '../random-access-source.js'
import type { Coding } from './mp4-entries.js'
import type { SamplePlace } from './mp4-samples.js'
import { number32 } from './window.js'

// Codecs of which no sample is all zeros: there, zeros are space that was set aside and never filled.
const neverZero = new Set('avc1 avc3 hvc1 hev1 av01 vp08 vp09 mp4a mp4v jpeg mjpa alac fLaC Opus'.split(' '))

/** Looks into some samples of a track. Says what is wrong where not one of them can be decoded; players skip single bad ones. */
export function checkContent(
  source: RandomAccessSource,
  limits: ReaderLimits,
  coding: Coding,
  places: SamplePlace[],
): string | undefined {
  if (coding.bare && (places.length === 0 || !places.every((place) => startCode(source, place))))
    return 'its codec is not described (avcC or hvcC)'
  if (places.length === 0) return undefined
  if (neverZero.has(coding.codec) && places.every((place) => allZeros(source, limits, place)))
    return 'its samples are nothing but zeros'
  const { lengthSize } = coding
  if (lengthSize > 0 && !places.some((place) => startCode(source, place) || unitsFit(source, limits, lengthSize, place)))
    return 'its samples are damaged: the lengths of their units do not add up'
  return undefined
}

function allZeros(source: RandomAccessSource, limits: ReaderLimits, place: SamplePlace): boolean {
  checkDeadline(limits)
  return source.read(place.offset, Math.min(place.size, 65_536)).every((byte) => byte === 0)
}

/** Some programs write units of H.264 behind start codes, as streams have them; decoders take both. */
function startCode(source: RandomAccessSource, place: SamplePlace): boolean {
  const value = number32(source, place.offset)
  return place.size >= 4 && (value === 1 || value >>> 8 === 1)
}

function unitsFit(source: RandomAccessSource, limits: ReaderLimits, lengthSize: number, place: SamplePlace): boolean {
  const end = place.offset + place.size
  let at = place.offset
  // The first thousands of units tell: nothing is gained by walking through a sample of a gigabyte.
  for (let units = 0; at + lengthSize < end && units < 4096; units++) {
    if ((units & 255) === 255) checkDeadline(limits)
    const length = source.read(at, lengthSize)
    if (length.length < lengthSize) return false
    at += lengthSize + length.readUIntBE(0, lengthSize)
    if (at > end) return false
  }
  return at > place.offset
}
