import { AssayError, storageUnavailable } from '../../errors/errors.js'

export const isDiskFull = ({ code }: NodeJS.ErrnoException) => code === 'ENOSPC' || code === 'EDQUOT'

/** Handler for `catch` that ignores one error code. */
export const ignore =
  (code: string) =>
  (error: NodeJS.ErrnoException): undefined => {
    if (error.code !== code) throw error
  }

/** Converts errors of system calls to `storageUnavailable`. Other errors remain unchanged. */
export async function withStorageErrors<T>(action: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException
    if (error instanceof AssayError || typeof code !== 'string' || syscall === undefined) throw error
    throw storageUnavailable(`The file store currently cannot ${action} (${reason(code)}). Retry later.`, error)
  }
}

const reasons: Record<string, string> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is exceeded',
  EROFS: 'the disk is read-only',
  EACCES: 'permission denied',
  ENOENT: 'its directory does not exist',
  EMFILE: 'too many open files',
  EIO: 'the disk reported an I/O error',
}

const reason = (code: string) => reasons[code] ?? code
