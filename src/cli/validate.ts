import { findLocalClamd, openScanner } from '../inspection/scanners/index.js'
import { readConfig } from '../platform/config/config.js'
import { runValidateCommand } from './validate-command.js'

async function openConfiguredScanner() {
  const config = readConfig()
  return openScanner(
    config.scannerUrl ?? (await findLocalClamd()) ?? 'yara:',
    config.rulesDir ? { rulesDir: config.rulesDir } : {},
  )
}

try {
  process.exitCode = await runValidateCommand(process.argv.slice(2), { openScanner: openConfiguredScanner })
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error))
  process.exitCode = 1
}
