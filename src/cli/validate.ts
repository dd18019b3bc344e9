import { ConfigError, readConfig } from '../config/config.js'
import { findLocalClamd, openScanner } from '../scanner/index.js'
import { validateCommand } from './validate-command.js'

async function openConfiguredScanner() {
  const config = readConfig()
  return openScanner(
    config.scannerUrl ?? (await findLocalClamd()) ?? 'yara:',
    config.rulesDir ? { rulesDir: config.rulesDir } : {},
  )
}

try {
  process.exitCode = await validateCommand(process.argv.slice(2), { scanner: openConfiguredScanner })
} catch (error) {
  console.error(error instanceof ConfigError || error instanceof Error ? error.message : String(error))
  process.exitCode = 1
}
