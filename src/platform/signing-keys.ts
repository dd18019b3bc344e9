export interface SigningSecret {
  /** Part of the signature, so that existing signatures stay valid after a rotation. */
  id: string
  secret: Buffer
}

/** Signing keys of one purpose. They are encrypted in the database. */
export interface SigningSecrets {
  current(): Promise<SigningSecret>
  /** Finds the current key, or a retired key that may still verify. */
  find(id: string): Promise<SigningSecret | undefined>
}

/** Values of the column `purpose` in `signing_keys`. */
export const signingPurposes = ['download_url', 'session', 'receipt', 'log'] as const
export type SigningPurpose = (typeof signingPurposes)[number]
