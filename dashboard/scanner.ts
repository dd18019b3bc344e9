import { computed, signal } from '@preact/signals'

/** Name of the scan engine, such as `ClamAV + YARA-X`. Undefined until the name is loaded. */
const scannerEngine = signal<string | undefined>(undefined)

/** Checks whether an engine has only the built-in rules, which do not replace an antivirus. */
export const isBuiltInEngine = (name: string | null | undefined): boolean => name === 'YARA-X'

export const hasOnlyBuiltInRules = computed(() => isBuiltInEngine(scannerEngine.value))

export async function loadScannerEngine(): Promise<void> {
  try {
    const { checks } = (await (await fetch('/health/ready')).json()) as { checks: { scanner?: { engine?: string } } }
    scannerEngine.value = checks.scanner?.engine
  } catch {
    // Keep the last known engine if the service is unreachable.
  }
}
