import { type ClamdEmulator, detectEicar, startClamdEmulator } from './scripted-clamd.js'
import type { World } from './world.js'

/** Content that only newer signatures detect. */
export const newlyInfected = 'what is a virus only tomorrow'

/** A clamd whose signatures a test can update. */
export class UpdatableClamd {
  #version = 27_900

  private constructor(readonly daemon: ClamdEmulator) {
    this.stopDetecting()
  }

  static async start(): Promise<UpdatableClamd> {
    return new UpdatableClamd(await startClamdEmulator())
  }

  get url(): string {
    return this.daemon.url
  }

  /** Version that reports contain. */
  get version(): string {
    return String(this.#version)
  }

  /** Publishes new signatures that detect `bad` and makes these replicas use them immediately. */
  async updateSignatures(...worlds: World[]): Promise<string> {
    this.#version++
    this.startDetecting()
    for (const { app } of worlds) await app.scanner.verifyDetection()
    return this.version
  }

  /** Detects `bad` without a new version. */
  startDetecting(): void {
    const response = (stream: Buffer) => (stream.includes(newlyInfected) ? 'stream: Test.Tomorrow FOUND\0' : detectEicar(stream))
    this.daemon.script = { version: this.#versionReply, response }
  }

  stopDetecting(): void {
    this.daemon.script = { version: this.#versionReply }
  }

  get #versionReply(): string {
    // The signature version determines the signature date.
    const day = new Date(Date.UTC(2026, 10, 22 + this.#version - 27_900)).toUTCString()
    return `ClamAV 1.4.6/${this.#version}/${day}`
  }
}

/** Runs all pending rescans and returns the number of batches. */
export async function rescanAll({ app }: World): Promise<number> {
  let batches = 0
  while (await app.rescanner.scanNextBatch()) batches++
  return batches
}
