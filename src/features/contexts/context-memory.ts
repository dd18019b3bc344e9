import type { ContextInForce, FileContext } from './context.types.js'

const mostRemembered = 1_000

/** Contexts as they were last read by this process: the latest thousand. */
export class ContextMemory {
  readonly #contexts = new Map<string, ContextInForce>()

  of(tenantId: string, contextKey: string): ContextInForce | undefined {
    return this.#contexts.get(`${tenantId}/${contextKey}`)
  }

  keep({ metadata: _, description: __, storageUsedBytes: ___, ...context }: FileContext): void {
    const key = `${context.tenantId}/${context.contextKey}`
    // The one read last goes to the end, so that the first is the one to forget.
    this.#contexts.delete(key)
    this.#contexts.set(key, context)
    for (const oldest of this.#contexts.keys()) {
      if (this.#contexts.size <= mostRemembered) return
      this.#contexts.delete(oldest)
    }
  }
}
