import { type ScriptedClamd, startScriptedClamd } from './scripted-clamd.js'
import type { World } from './world.js'

/** What the signatures of tomorrow find. */
export const bad = 'what is a virus only tomorrow'

/** A clamd that gets new signatures when a test says so. */
export class LearningClamd {
  #version = 27_900

  private constructor(readonly daemon: ScriptedClamd) {
    this.forget()
  }

  static async start(): Promise<LearningClamd> {
    return new LearningClamd(await startScriptedClamd())
  }

  get url(): string {
    return this.daemon.url
  }

  /** As reports name it. */
  get version(): string {
    return String(this.#version)
  }

  /** The next version of the signatures, which finds `bad`; for these replicas from now on, and not up to a minute later. */
  async learn(...worlds: World[]): Promise<string> {
    this.#version++
    this.find()
    for (const { app } of worlds) await app.scanner.prove()
    return this.version
  }

  /** Finds `bad`, without a new version. */
  find(): void {
    const answer = (stream: Buffer) => (stream.includes(bad) ? 'stream: Test.Tomorrow FOUND\0' : 'stream: OK\0')
    this.daemon.script = { version: this.#said, answer }
  }

  /** Finds nothing in `bad`. */
  forget(): void {
    this.daemon.script = { version: this.#said }
  }

  get #said(): string {
    // A day for each.
    const day = new Date(Date.UTC(2026, 10, 22 + this.#version - 27_900)).toUTCString()
    return `ClamAV 1.4.6/${this.#version}/${day}`
  }
}

/** Scans whatever is to be scanned again; gives how many batches that were. */
export async function rescanAll({ app }: World): Promise<number> {
  let batches = 0
  while (await app.rescanner.turn()) batches++
  return batches
}
