import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { writeFile } from 'node:fs/promises'

/** A test service account, as in a key file. */
export interface ServiceAccount {
  email: string
  publicKey: KeyObject
  /** Signs bytes as IAM does for the account. */
  sign(bytes: Buffer): Buffer
  /** Writes the key file for GOOGLE_APPLICATION_CREDENTIALS. */
  writeTo(file: string): Promise<string>
}

export function createServiceAccount(): ServiceAccount {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const email = 'tests@assay-tests.iam.gserviceaccount.com'
  const description = {
    type: 'service_account',
    project_id: 'assay-tests',
    private_key_id: 'test',
    private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    client_email: email,
    client_id: '1',
    // No server listens at this address, so token requests fail although the key is available.
    token_uri: 'http://127.0.0.1:9/token',
  }
  return {
    email,
    publicKey,
    sign: (bytes) => sign('RSA-SHA256', bytes, privateKey),
    async writeTo(file) {
      await writeFile(file, JSON.stringify(description), { mode: 0o600 })
      return file
    },
  }
}
