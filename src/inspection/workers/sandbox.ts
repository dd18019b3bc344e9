import { execFile } from 'node:child_process'
import { lstatSync, mkdirSync, readdirSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { isOfEndedProcess, processFileName } from '../../platform/process-file-names.js'

export interface Sandbox {
  execPath: string
  /** Arguments that precede the program and its arguments. `flags` are options of Node.js. */
  execArgv(flags: string[]): string[]
  close(): void
}

/**
 * Runs a program with its own user, network and file system namespaces (Linux, util-linux). It sees the libraries of the system, Node.js,
 * the compiled code and the folder of the contents, all read-only, and a folder for temporary files. It has no network or capabilities.
 */
const script = `set -e
echo 800 2> /dev/null > /proc/self/oom_score_adj || :
root=$1 contents=$2 temporary=$3 node=$4
shift 4
mount -t tmpfs -o size=1m,mode=755 tmpfs "$root"
show() { # source, target, mode
  [ -e "$1" ] || return 0
  if [ -L "$1" ]; then ln -sfn "$(readlink "$1")" "$root$1"; return 0; fi
  if [ -d "$1" ]; then mkdir -p "$root$2"; else mkdir -p "$(dirname "$root$2")"; : > "$root$2"; fi
  mount --bind "$1" "$root$2"
  [ "$3" = rw ] || mount -o remount,bind,ro "$root$2"
}
# First, because the following paths may be below the folder for temporary files.
show "$temporary" /tmp rw
for each in /usr /lib /lib64 /bin; do show $each $each ro; done
for each in /dev/null /dev/urandom; do show $each $each rw; done
for each in "$@"; do
  [ "$each" = -- ] && break
  # Paths below /usr are already mounted. Below /tmp only an empty mount point of another process may exist.
  case "$each" in /tmp/*) show "$each" "$each" ro ;; *) [ -e "$root$each" ] || show "$each" "$each" ro ;; esac
  shift
done
shift
show "$contents" "$contents" ro
exec chroot "$root" /usr/bin/setpriv --pdeathsig KILL --no-new-privs --bounding-set=-all --inh-caps=-all "$node" "$@"`

const sandboxPrefix = 'assay-box-'

// Removes directories of killed services. The folder may be shared, so only directories of this user with our prefix are removed.
function removeStaleSandboxes(): void {
  for (const name of readdirSync(tmpdir())) {
    if (!name.startsWith(sandboxPrefix) || !isOfEndedProcess(name.slice(sandboxPrefix.length))) continue
    const box = join(tmpdir(), name)
    const facts = lstatSync(box, { throwIfNoEntry: false })
    if (facts?.isDirectory() && facts.uid === process.getuid?.()) rmSync(box, { recursive: true, force: true })
  }
}

/**
 * Opens a sandbox that can read `contents`. Throws if the machine cannot provide one: it requires Linux, unprivileged user namespaces and
 * util-linux.
 */
export async function openSandbox(contents: string): Promise<Sandbox> {
  removeStaleSandboxes()
  const box = join(realpathSync(tmpdir()), `${sandboxPrefix}${processFileName()}`)
  mkdirSync(box, { mode: 0o700 })
  const [root, temporary] = [join(box, 'root'), join(box, 'tmp')]
  mkdirSync(root)
  mkdirSync(temporary)
  const visible = [process.execPath, ...['package.json', 'dist', 'packages', 'node_modules'].map((name) => join(home, name))]
  const sandbox: Sandbox = {
    execPath: '/usr/bin/unshare',
    execArgv: (flags) => [
      ...['--user', '--map-root-user', '--net', '--ipc', '--mount', '/bin/sh', '-c', script, 'sh'],
      ...[root, realpathSync(contents), temporary, process.execPath, ...visible, '--', ...flags],
    ],
    close: () => rmSync(box, { recursive: true, force: true }),
  }
  try {
    // Checks that native code can be loaded, which is the purpose of the sandbox.
    const decoder = join(home, 'packages', 'formats', 'dist', 'image', 'libvips.js')
    await promisify(execFile)(sandbox.execPath, [...sandbox.execArgv(['--no-warnings']), decoder], { env: {}, timeout: 20_000 })
    return sandbox
  } catch (error) {
    sandbox.close()
    throw error
  }
}

const home = fileURLToPath(new URL('../../..', import.meta.url)).replace(/\/$/, '')
