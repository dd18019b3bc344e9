import type { Container } from '../archive/containers.js'

export interface WindowPlace {
  first: boolean
  last: boolean
}

/** Receives a content in overlapping windows. A window is valid only during the call. */
export type WindowReceiver = (bytes: Buffer, place: WindowPlace) => void

/** Origin of a content: its container and how it was unpacked. */
export interface Origin {
  container: Container
  /** Receives the raw bytes of the container. */
  parent: WindowReceiver
  /** False if other programs may not find the content or may be unable to unpack it. */
  common: boolean
}

/** Receives all unpacked content. A method can end the walk by throwing `WalkEnded`. */
export interface Visitor {
  /** Called at the start of each member. The name is empty if the container does not store one. */
  member?(name: string): void
  /** If true, each content is visited separately. Otherwise, small parts of a document are joined. */
  readonly separateParts?: boolean
  /**
   * Called at the start of a content, which is the file or a member at any depth. Returns the receiver of its windows, which
   * follow before the next content that is not inside it.
   */
  content(origin?: Origin): WindowReceiver
  /** Called with the unpacked size that a container declares for a member. The size may be wrong. */
  declaredSize?(bytes: number, container: WindowReceiver): void
}

export type GapCause = 'encrypted' | 'unsupported' | 'limit' | 'damaged'

/** A container, or a part of one, that the walk could not open. Its bytes were visited only in compressed form. */
export interface Gap {
  cause: GapCause
  /** Undefined if a limit ended the whole walk. */
  container?: Container
  /** Nesting depth of the container. The outermost file has depth 1. */
  depth: number
  reason: string
}

export interface WalkResult {
  /** First 100 gaps. A limit that ended the walk comes first. */
  gaps: Gap[]
}

export interface WalkLimits {
  maxUnpackedBytes: number
  /** Maximum ratio of unpacked bytes to the file size. The first 64 MiB are exempt, or the first 1 GiB in a PDF. */
  maxRatio: number
  maxMembers: number
  maxNesting: number
}

const gibibyte = 1024 ** 3

// A mail with a tar.gz of a docx with a workbook has depth five. Deflate compresses at most 1032 to 1, logs and spreadsheets
// below 200 to 1.
export const walkLimits: WalkLimits = { maxUnpackedBytes: 4 * gibibyte, maxRatio: 250, maxMembers: 20_000, maxNesting: 8 }

/** Ends the whole walk. Other errors mean damage and end only the container in which they occur. */
export class WalkEnded extends Error {}

export class LimitExceeded extends WalkEnded {}
