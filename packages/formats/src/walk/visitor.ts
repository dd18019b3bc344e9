import type { Container } from '../archive/containers.js'

export interface WindowPlace {
  first: boolean
  last: boolean
}

/** Receives one content in overlapping windows. A window is valid only during the call. */
export type WindowReceiver = (bytes: Buffer, place: WindowPlace) => void

/** Receives what a walk unpacks. A method that throws `WalkEnded` ends the walk. */
export interface Visitor {
  /** A member begins. The name is empty if the container stores none. */
  member?(name: string): void
  /** A content begins: the file, or a member at any depth. Its windows follow before the next content that is not inside it. */
  content(): WindowReceiver
}

export type GapCause = 'encrypted' | 'unsupported' | 'limit' | 'damaged'

/** A container, or a part of one, that the walk could not open. Its bytes were visited only in packed form. */
export interface Gap {
  cause: GapCause
  /** Unset if the limit belongs to the whole walk. */
  container?: Container
  /** Nesting depth of the container: 1 is the file itself. */
  depth: number
  reason: string
}

/** A damaged container. Everything before the damage was unpacked and visited. */
export interface Damage {
  container: Container
  depth: number
  problem: string
}

export interface WalkResult {
  /** The first 100. A limit that ended the walk comes first. */
  gaps: Gap[]
  damage: Damage[]
}

export interface WalkLimits {
  maxUnpackedBytes: number
  /** Ratio of unpacked bytes to the size of the file. Not applied to the first 64 MiB, or the first 1 GiB of a PDF. */
  maxRatio: number
  maxMembers: number
  maxNesting: number
}

const gibibyte = 1024 ** 3

// A docx in a zip in a tar.gz is four. Deflate's own limit is 1032 to 1; logs and spreadsheets stay below 200.
export const walkLimits: WalkLimits = { maxUnpackedBytes: 4 * gibibyte, maxRatio: 250, maxMembers: 20_000, maxNesting: 4 }

/** Ends the whole walk. Every other error is damage and ends the container in which it occurs. */
export class WalkEnded extends Error {}

export class LimitExceeded extends WalkEnded {}
