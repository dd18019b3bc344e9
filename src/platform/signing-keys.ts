export interface SigningSecret {
  /** Travels with the signature, so that keys can rotate without breaking what is out. */
  id: string
  secret: Buffer
}

/** Keys of one purpose, kept encrypted in the database, known in the process. */
export interface SigningSecrets {
  current(): Promise<SigningSecret>
  /** A current or retired one that may still verify; undefined where there is none of that id. */
  find(id: string): Promise<SigningSecret | undefined>
}

/** What a key is for; the `purpose` column of `signing_keys`. */
export const signingPurposes = ['download_url', 'session', 'receipt', 'log'] as const
export type SigningPurpose = (typeof signingPurposes)[number]
