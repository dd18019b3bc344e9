import { execFile } from 'node:child_process'
import { lstatSync, mkdirSync, readdirSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { belongsToExitedProcess, createProcessFileName } from '../../platform/process-file-names.js'

export interface Sandbox {
  execPath: string
  /**
   * Returns the arguments for `execPath` that precede the program's path and the program's own arguments. `flags` are Node.js
   * options.
   */
  execArgv(flags: string[]): string[]
  close(): void
}

/**
 * Runs a program in separate user, network and mount namespaces (Linux, util-linux). The program has no network access and can
 * read only system libraries, Node.js, the compiled code and the content folder. Only a temporary folder is writable.
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

// Removes the folders of killed services. Other programs may use the same parent folder, so the name and the owner are checked
// first.
function removeStaleSandboxes(): void {
  for (const name of readdirSync(tmpdir())) {
    if (!name.startsWith(sandboxPrefix) || !belongsToExitedProcess(name.slice(sandboxPrefix.length))) continue
    const box = join(tmpdir(), name)
    const facts = lstatSync(box, { throwIfNoEntry: false })
    if (facts?.isDirectory() && facts.uid === process.getuid?.()) rmSync(box, { recursive: true, force: true })
  }
}

/** Opens a sandbox that can read `contents`. Throws if the machine has no unprivileged user namespaces or no util-linux. */
export async function openSandbox(contents: string): Promise<Sandbox> {
  removeStaleSandboxes()
  const box = join(realpathSync(tmpdir()), `${sandboxPrefix}${createProcessFileName()}`)
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
    // Verify that native code can be loaded inside the sandbox.
    const decoder = join(home, 'packages', 'formats', 'dist', 'image', 'libvips.js')
    await promisify(execFile)(sandbox.execPath, [...sandbox.execArgv(['--no-warnings']), decoder], { env: {}, timeout: 20_000 })
    return sandbox
  } catch (error) {
    sandbox.close()
    throw error
  }
}

const home = fileURLToPath(new URL('../../..', import.meta.url)).replace(/\/$/, '')
