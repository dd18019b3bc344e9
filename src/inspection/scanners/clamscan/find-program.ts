import { access, constants } from 'node:fs/promises'
import { join } from 'node:path'

const folders = ['/usr/bin', '/usr/local/bin', '/opt/homebrew/bin', '/usr/sbin', '/usr/local/sbin', '/opt/homebrew/sbin']

/** Returns the path of a ClamAV program. Throws if it is not installed. */
export async function findProgram(name: string): Promise<string> {
  for (const folder of folders) {
    const path = join(folder, name)
    const found = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (found) return path
  }
  throw new Error(
    `SCANNER_URL requires ${name}, which is not installed in ${folders.join(', ')}; on Debian, install the package ${name === 'clamscan' ? 'clamav' : name}.`,
  )
}
