import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect } from '@jest/globals'
import { decodeJwt } from 'jose'
import type { Receipt } from '../../packages/proofs/src/receipt.js'
import { type Caller, type TestTenant, World } from './world.js'

export const reportText = 'A report.\n'

/** Returns the claims of a receipt without verifying its signature. */
export const parseClaims = (receipt: string) => decodeJwt(receipt) as unknown as Receipt

/** A service with one tenant, the context `notes` and a temporary folder, open while a test file runs. */
export class ReceiptSetup {
  readonly folder = mkdtempSync(join(tmpdir(), 'assay-receipts-'))
  world!: World
  tenant!: TestTenant

  constructor() {
    beforeAll(async () => {
      this.world = await World.open()
      this.tenant = await this.world.createTenant()
      await this.tenant.createContext('notes')
    })
    afterAll(async () => {
      await this.world.close()
      rmSync(this.folder, { recursive: true, force: true })
    })
  }

  /** Uploads a file to `notes` and returns its id. */
  async upload(name = 'report.txt', content = reportText): Promise<string> {
    return (await this.tenant.admin.upload('notes', name, content)).body.data.file_id
  }

  async getReceipt(path: string, caller: Caller = this.tenant.admin): Promise<string> {
    const { status, body } = await caller.get(path)
    expect([path, status]).toEqual([path, 200])
    return body.data.receipt
  }

  /** Saves the service's key set and returns the path of the file. */
  async saveKeySet(): Promise<string> {
    const path = join(this.folder, 'jwks.json')
    writeFileSync(path, JSON.stringify((await this.world.unauthenticated.raw('/.well-known/jwks.json')).body))
    return path
  }
}
