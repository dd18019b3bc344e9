import { execFile } from 'node:child_process'
import { lstatSync, mkdirSync, readdirSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { isOfEndedProcess, processFileName } from '../../platform/process-file-names.js'

export interface Sandbox {
  execPath: string
  /** Before the program and its arguments; the flags are Node's. */
  execArgv(flags: string[]): string[]
  close(): void
}

/**
 * Linux: gives a program a user, a network and a file system of its own, by util-linux. It sees the system's libraries, Node and our
 * compiled code, the folder of the contents (all read-only), and a folder for temporary files; no network, no capability.
 */
const script = `set -e
echo 800 2> /dev/null > /proc/self/oom_score_adj || :
root=$1 contents=$2 temporary=$3 node=$4
shift 4
mount -t tmpfs -o size=1m,mode=755 tmpfs "$root"
show() { # what, where, and how
  [ -e "$1" ] || return 0
  if [ -L "$1" ]; then ln -sfn "$(readlink "$1")" "$root$1"; return 0; fi
  if [ -d "$1" ]; then mkdir -p "$root$2"; else mkdir -p "$(dirname "$root$2")"; : > "$root$2"; fi
  mount --bind "$1" "$root$2"
  [ "$3" = rw ] || mount -o remount,bind,ro "$root$2"
}
# First: what follows may lie below the folder for temporary files, as a clone there does.
show "$temporary" /tmp rw
for each in /usr /lib /lib64 /bin; do show $each $each ro; done
for each in /dev/null /dev/urandom; do show $each $each rw; done
for each in "$@"; do
  [ "$each" = -- ] && break
  # What lies below /usr is there already; below /tmp there is only the place that another process made for it.
  case "$each" in /tmp/*) show "$each" "$each" ro ;; *) [ -e "$root$each" ] || show "$each" "$each" ro ;; esac
  shift
done
shift
show "$contents" "$contents" ro
exec chroot "$root" /usr/bin/setpriv --pdeathsig KILL --no-new-privs --bounding-set=-all --inh-caps=-all "$node" "$@"`

const boxPrefix = 'assay-box-'

// What services that were killed have left. The folder may be everybody's: only directories of our own, under no other name.
function removeDeadBoxes(): void {
  for (const name of readdirSync(tmpdir())) {
    if (!name.startsWith(boxPrefix) || !isOfEndedProcess(name.slice(boxPrefix.length))) continue
    const box = join(tmpdir(), name)
    const facts = lstatSync(box, { throwIfNoEntry: false })
    if (facts?.isDirectory() && facts.uid === process.getuid?.()) rmSync(box, { recursive: true, force: true })
  }
}

/**
 * A sandbox in which `contents` can be read. Throws where the kernel or the machine does not give one: Linux with unprivileged user
 * namespaces and util-linux are needed.
 */
export async function openSandbox(contents: string): Promise<Sandbox> {
  removeDeadBoxes()
  const box = join(realpathSync(tmpdir()), `${boxPrefix}${processFileName()}`)
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
    // What it is for: native code, loaded from where it lies.
    const decoder = join(home, 'packages', 'formats', 'dist', 'image', 'libvips.js')
    await promisify(execFile)(sandbox.execPath, [...sandbox.execArgv(['--no-warnings']), decoder], { env: {}, timeout: 20_000 })
    return sandbox
  } catch (error) {
    sandbox.close()
    throw error
  }
}

const home = fileURLToPath(new URL('../../..', import.meta.url)).replace(/\/$/, '')
