import type { FileParts } from './parts.d.mts'

export declare const kinds: Record<string, unknown>
export declare function generateDamagedCopies(kind: string, file: FileParts, options: { count: number; seed: number }): Buffer[]
