import type { Container } from '../archive/containers.js'

export interface WindowPosition {
  first: boolean
  last: boolean
}

/** Receives content in overlapping windows. A window is valid only during the call. */
export type WindowReceiver = (bytes: Buffer, position: WindowPosition) => void

/** Origin of content: its container and how it was unpacked. */
export interface Origin {
  container: Container
  /** Receives the raw bytes of the container. */
  parent: WindowReceiver
  /** False if other programs may not find the content or may be unable to unpack it. */
  isCommon: boolean
}

/** Receives all unpacked content. A method can end the walk by throwing `WalkEnded`. */
export interface Visitor {
  /** Called at the start of each member. The name is empty if the container does not store one. */
  onMember?(name: string): void
  /** If true, each part of a document is visited separately. Otherwise, small parts are joined. */
  readonly separateParts?: boolean
  /**
   * Called at the start of the file and of each member, at any depth. Returns the receiver for the windows of that content. All
   * of its windows arrive before the next call for content that is not nested in it.
   */
  onContent(origin?: Origin): WindowReceiver
  /** Called with the unpacked size that a container declares for a member. The size may be wrong. */
  onDeclaredSize?(bytes: number, container: WindowReceiver): void
}

export type UnscannedCause = 'encrypted' | 'unsupported' | 'limit' | 'damaged'

/** A container, or a part of one, that the walk could not open. Its bytes were visited only in compressed form. */
export interface UnscannedPart {
  cause: UnscannedCause
  /** Undefined if a limit ended the whole walk. */
  container?: Container
  /** Nesting depth of the container. The outermost file has depth 1. */
  depth: number
  reason: string
}

export interface WalkResult {
  /** First 100 unscanned parts. A limit that ended the walk comes first. */
  unscannedParts: UnscannedPart[]
}

export interface WalkLimits {
  maxUnpackedBytes: number
  /** Maximum ratio of unpacked bytes to the file size. The first 64 MiB are exempt, or the first 1 GiB in a PDF. */
  maxRatio: number
  maxMembers: number
  maxNesting: number
}

const gibibyte = 1024 ** 3

// An email that contains a tar.gz of a docx with an embedded workbook has depth five. Deflate compresses at most 1032:1. Logs and
// spreadsheets compress less than 200:1.
export const walkLimits: WalkLimits = { maxUnpackedBytes: 4 * gibibyte, maxRatio: 250, maxMembers: 20_000, maxNesting: 8 }

/** Ends the whole walk. Other errors mean damage and end only the container in which they occur. */
export class WalkEnded extends Error {}

export class LimitExceeded extends WalkEnded {}
