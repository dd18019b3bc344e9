import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { chmod, link, mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { syncDirectory } from '../platform/data-dir.js'

const keyBytes = 32
const ivBytes = 12
const tagBytes = 16
const idBytes = 8
const version = 1
const headerBytes = 1 + idBytes + ivBytes + tagBytes

interface DerivedKey {
  id: Buffer
  encryption: Buffer
}

/**
 * Encrypts secrets, so that access to the database alone does not reveal them. Envelope: version (1 byte), key id (8), IV (12),
 * GCM tag (16), ciphertext. The key id allows MASTER_KEY to be rotated. `label` is authenticated, so that an envelope copied to
 * another row cannot be decrypted.
 */
export class MasterKey {
  #keys: DerivedKey[]

  constructor(
    keys: Buffer[],
    /** Reloads the keys. Undefined if they cannot change while the service runs. */
    private readonly reread?: () => Promise<Buffer[]>,
  ) {
    this.#keys = keys.map(toDerivedKey)
  }

  encrypt(plaintext: Buffer, label: string): Buffer {
    const [key] = this.#keys
    const head = Buffer.concat([Buffer.of(version), key!.id])
    const iv = randomBytes(ivBytes)
    const cipher = createCipheriv('aes-256-gcm', key!.encryption, iv, { authTagLength: tagBytes })
    cipher.setAAD(Buffer.concat([head, Buffer.from(label)]))
    const sealed = Buffer.concat([cipher.update(plaintext), cipher.final()])
    return Buffer.concat([head, iv, cipher.getAuthTag(), sealed])
  }

  async decrypt(envelope: Buffer, label: string): Promise<Buffer> {
    if (envelope.length < headerBytes || envelope[0] !== version)
      throw new Error(
        `${label}: the stored secret does not have the expected format (version ${version}). Restore it from a backup.`,
      )
    const head = envelope.subarray(0, 1 + idBytes)
    const key = await this.#findKey(head.subarray(1), label)
    const iv = envelope.subarray(head.length, head.length + ivBytes)
    const decipher = createDecipheriv('aes-256-gcm', key.encryption, iv, { authTagLength: tagBytes })
    decipher.setAAD(Buffer.concat([head, Buffer.from(label)]))
    decipher.setAuthTag(envelope.subarray(headerBytes - tagBytes, headerBytes))
    try {
      return Buffer.concat([decipher.update(envelope.subarray(headerBytes)), decipher.final()])
    } catch (cause) {
      throw new Error(`${label}: the stored secret was modified, or was copied from another row. Restore it from a backup.`, {
        cause,
      })
    }
  }

  isCurrent(envelope: Buffer): boolean {
    return envelope.subarray(1, 1 + idBytes).equals(this.#keys[0]!.id)
  }

  async reencrypt(envelope: Buffer, label: string): Promise<Buffer> {
    return this.encrypt(await this.decrypt(envelope, label), label)
  }

  async #findKey(id: Buffer, label: string): Promise<DerivedKey> {
    const findLoadedKey = () => this.#keys.find((key) => key.id.equals(id))
    // Read DATA_DIR/master.key again, because another process may have changed it in the meantime.
    if (!findLoadedKey() && this.reread) this.#keys = (await this.reread()).map(toDerivedKey)
    const key = findLoadedKey()
    if (key) return key
    throw new Error(
      `${label} is encrypted with another MASTER_KEY. Set MASTER_KEY to this database's key, or add that key to MASTER_KEY_PREVIOUS.`,
    )
  }
}

/**
 * Loads the master key from MASTER_KEY or from DATA_DIR/master.key. If neither exists, creates the file. `previous` contains
 * former values of MASTER_KEY.
 */
export async function openMasterKey(options: {
  masterKey?: Buffer | undefined
  previous?: Buffer[]
  dataDir: string
}): Promise<MasterKey> {
  const { masterKey, previous = [], dataDir } = options
  for (const key of masterKey ? [masterKey, ...previous] : previous) assertKeyLength(key, 'MASTER_KEY')
  if (masterKey) return new MasterKey([masterKey, ...previous])
  const path = join(dataDir, 'master.key')
  await createKeyFile(dataDir, path)
  const readKeys = async () => [...(await readKeyFile(path)), ...previous]
  return new MasterKey(await readKeys(), readKeys)
}

/** Adds a new current key to DATA_DIR/master.key and keeps the old keys. */
export async function rotateMasterKeyFile(dataDir: string): Promise<void> {
  const path = join(dataDir, 'master.key')
  await writeKeyFile(path, [randomBytes(keyBytes), ...(await readKeyFile(path))], rename)
}

/** Removes all keys except the current one from DATA_DIR/master.key. Re-encrypt all secrets before calling this function. */
export async function removeOldMasterKeys(dataDir: string): Promise<void> {
  const path = join(dataDir, 'master.key')
  await writeKeyFile(path, (await readKeyFile(path)).slice(0, 1), rename)
}

async function createKeyFile(dataDir: string, path: string): Promise<void> {
  await mkdir(dataDir, { recursive: true })
  const there = await readFile(path).catch(ignoreErrorCode('ENOENT'))
  // link() never replaces an existing file. If two processes start at the same time, both use the file that was created first.
  const linkUnlessExists = (from: string, to: string) => link(from, to).catch(ignoreErrorCode('EEXIST'))
  if (!there) await writeKeyFile(path, [randomBytes(keyBytes)], linkUnlessExists)
  await chmod(path, 0o600)
}

async function writeKeyFile(
  path: string,
  keys: Buffer[],
  moveFile: (from: string, to: string) => Promise<unknown>,
): Promise<void> {
  const draft = `${path}.${process.pid}.${randomBytes(4).toString('hex')}`
  try {
    const file = await open(draft, 'wx', 0o600)
    try {
      await file.writeFile(keys.map((key) => `${key.toString('base64')}\n`).join(''))
      await file.sync()
    } finally {
      await file.close()
    }
    await moveFile(draft, path)
  } finally {
    await rm(draft, { force: true })
  }
  // Without this sync, a power failure could remove the file after secrets were encrypted with its key.
  syncDirectory(dirname(path))
}

async function readKeyFile(path: string): Promise<Buffer[]> {
  const lines = (await readFile(path, 'utf8')).split('\n').filter((line) => line.trim() !== '')
  if (lines.length === 0) throw new Error(`${path} is empty. Restore the original file from a backup of this DATA_DIR.`)
  return lines.map((line) => assertKeyLength(Buffer.from(line.trim(), 'base64'), path))
}

function assertKeyLength(key: Buffer, source: string): Buffer {
  if (key.length !== keyBytes)
    throw new Error(`${source} contains ${key.length} bytes. It must contain ${keyBytes} bytes, encoded in base64.`)
  return key
}

const deriveKey = (master: Buffer, purpose: string, bytes: number) =>
  Buffer.from(hkdfSync('sha256', master, 'assay', purpose, bytes))

const toDerivedKey = (master: Buffer): DerivedKey => ({
  id: deriveKey(master, 'key id', idBytes),
  encryption: deriveKey(master, 'secrets at rest', keyBytes),
})

const ignoreErrorCode = (code: string) => (error: NodeJS.ErrnoException) => {
  if (error.code !== code) throw error
  return undefined
}
