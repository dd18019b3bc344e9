import { createHmac, randomBytes } from 'node:crypto'
import type { KnownSigningKey, StoredSigningSecrets } from './signing-secrets.js'

/** What is kept of an API key's secret: its HMAC-SHA-256, and which pepper that is under. */
export interface SecretHash {
  pepperId: string
  hash: Buffer
}

/** A new pepper, for the `make` of its signing secrets. */
export const makePepper = () => ({ secret: randomBytes(32) })

/**
 * The peppers of API keys' hashes: secrets that lie encrypted under MASTER_KEY in `signing_keys`, so that a stolen database
 * alone cannot even test a guess, and a change of MASTER_KEY leaves every hash as it is.
 *
 * Only hashes are kept, so a new pepper cannot be applied to what is stored. Rotation therefore makes a new pepper for all new
 * keys, looks keys up under every live pepper, and re-hashes a key when it is next used (key-directory.ts). Once no row names the old pepper, `dropUnused` ends it;
 * keys that were never used in the meantime have to be rotated or end with it.
 */
export class Peppers {
  constructor(private readonly secrets: StoredSigningSecrets) {}

  /** The hash to keep of a new secret. */
  async hash(secret: string): Promise<SecretHash> {
    return under(await this.secrets.current(), secret)
  }

  /** The secret under every live pepper, today's first. */
  async hashes(secret: string): Promise<SecretHash[]> {
    return (await this.secrets.all()).map((pepper) => under(pepper, secret))
  }

  /** As `hashes`, with peppers read from the database just now: for a key that seems unknown while announcements may be missed. */
  async freshHashes(secret: string): Promise<SecretHash[]> {
    await this.secrets.fresh(0)
    return this.hashes(secret)
  }

  /** A new pepper for what is hashed from now on; gives its id. */
  rotate(): Promise<string> {
    return this.secrets.rotate()
  }

  /** Ends the retired peppers that no row names: `inUse` are all `pepper_id` and `previous_pepper_id` there are. */
  dropUnused(inUse: readonly string[]): Promise<number> {
    return this.secrets.drop(inUse)
  }
}

const under = (pepper: KnownSigningKey, secret: string): SecretHash => ({
  pepperId: pepper.id,
  hash: createHmac('sha256', pepper.secret).update(secret).digest(),
})
