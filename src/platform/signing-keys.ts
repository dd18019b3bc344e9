export interface SigningSecret {
  /** Each signature contains this id, so that existing signatures stay valid after a key rotation. */
  id: string
  secret: Buffer
}

/** Signing keys for one purpose. The database stores them encrypted. */
export interface SigningSecrets {
  getCurrentKey(): Promise<SigningSecret>
  /** Returns the key with this id: the current key, or a retired key whose signatures are still valid. */
  findKey(id: string): Promise<SigningSecret | undefined>
}

/** Values of the `purpose` column in the `signing_keys` table. */
export const signingPurposes = ['download_url', 'session', 'receipt', 'log'] as const
export type SigningPurpose = (typeof signingPurposes)[number]
