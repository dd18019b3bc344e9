/** Something was found: on its way out of all the archives that it was found in. */
export class Found extends Error {
  readonly signature: string

  constructor(signature: string) {
    super(signature)
    this.signature = signature
  }
}

export class Enough extends Error {}

export class Cancelled extends Error {}

/** True for what ends the look at all of an upload; what else goes wrong is damage, and ends the look at one archive. */
export const endsAll = (error: unknown): boolean =>
  error instanceof Found || error instanceof Enough || error instanceof Cancelled
