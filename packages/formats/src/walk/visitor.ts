import type { Container } from '../archive/containers.js'

export interface WindowPlace {
  first: boolean
  last: boolean
}

/** Receives one content in overlapping windows. A window is valid only during the call. */
export type WindowReceiver = (bytes: Buffer, place: WindowPlace) => void

/** The container of a content, and the way it was unpacked. */
export interface Origin {
  container: Container
  /** Receiver of the container's own bytes. */
  parent: WindowReceiver
  /** False if other programs may not find the content, or may not unpack it. */
  common: boolean
}

/** Receives everything that a walk unpacks. A method that throws `WalkEnded` ends the walk. */
export interface Visitor {
  /** Called at the start of a member. The name is empty if the container stores none. */
  member?(name: string): void
  /** True if each content is visited alone. Otherwise, small parts of a document are joined. */
  readonly separateParts?: boolean
  /** Called at the start of a content: the file, or a member at any depth. Its windows follow before the next content that is not inside it. */
  content(origin?: Origin): WindowReceiver
  /** A header of the container declares this unpacked size for a member. It may be wrong. */
  declaredSize?(bytes: number, container: WindowReceiver): void
}

export type GapCause = 'encrypted' | 'unsupported' | 'limit' | 'damaged'

/** A container, or part of one, that the walk could not open. Its bytes were visited only in compressed form. */
export interface Gap {
  cause: GapCause
  /** Undefined if the limit applies to the whole walk. */
  container?: Container
  /** Nesting depth of the container: 1 is the file itself. */
  depth: number
  reason: string
}

export interface WalkResult {
  /** The first 100. A limit that ended the walk comes first. */
  gaps: Gap[]
}

export interface WalkLimits {
  maxUnpackedBytes: number
  /** Ratio of unpacked bytes to the size of the file. Not applied to the first 64 MiB, or the first 1 GiB of a PDF. */
  maxRatio: number
  maxMembers: number
  maxNesting: number
}

const gibibyte = 1024 ** 3

// A mail with a tar.gz that contains a docx with a workbook has depth five. Deflate's own limit is 1032 to 1. Logs and spreadsheets stay below 200.
export const walkLimits: WalkLimits = { maxUnpackedBytes: 4 * gibibyte, maxRatio: 250, maxMembers: 20_000, maxNesting: 8 }

/** Ends the whole walk. Every other error means damage and ends only the container in which it occurs. */
export class WalkEnded extends Error {}

export class LimitExceeded extends WalkEnded {}
