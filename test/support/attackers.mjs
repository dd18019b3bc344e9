// Attackers run in a separate process so that the valid client measures only the service. The parent sends { port, key, download,
// seed, counts } and requests the results.
import { connect } from 'node:net'

const sockets = new Set()
const statuses = {}
const attackers = []
let random
let onOutcome = () => {}

process.on('message', ({ begin: start, end }) => {
  if (start) startAttackers(start)
  if (end) waitForCounts(end.notes, reportAndStop)
})

function reportAndStop() {
  for (const socket of sockets) socket.destroy()
  process.send({ statuses })
  process.disconnect()
}

/** Waits until the given number of attackers of each kind have received a response or been disconnected. */
function waitForCounts(notes, done) {
  onOutcome = () => {
    if (Object.entries(notes).some(([kind, count]) => countEnded(kind) < count)) return
    onOutcome = () => {}
    done()
  }
  onOutcome()
}

const countEnded = (kind) => attackers.filter((each) => each.kind === kind && each.ended).length

function startAttackers({ port, key, download, seed, counts }) {
  random = createRandom(seed)
  const authorization = `Authorization: Bearer ${key}\r\n`
  const one = {
    idle: () => openSocket(port, 'idle'),
    stalled: () => {
      const socket = openSocket(port, 'stalled')
      socket.write(`GET ${download} HTTP/1.1\r\nHost: x\r\n\r\n`)
      // Reads the response headers and then stops reading.
      socket.once('data', () => socket.pause())
    },
    drips: () => {
      const socket = openSocket(port, 'drips')
      socket.write(
        `POST /api/v1/files/upload HTTP/1.1\r\nHost: x\r\n${authorization}Content-Type: multipart/form-data; boundary=b\r\n`,
      )
      socket.write('Content-Length: 1000000\r\n\r\n--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n')
      repeatUntilClosed(socket, 100 + random() * 900, () => socket.write('a'))
    },
    chunks: () => {
      const anonymous = random() < 0.5
      const socket = openSocket(port, 'chunks')
      socket.write(
        `POST ${anonymous ? '/graphql' : '/api/v1/contexts'} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n`,
      )
      socket.write(`${anonymous ? '' : authorization}Transfer-Encoding: chunked\r\n\r\n`)
      const many = '1\r\n \r\n'.repeat(5_000)
      const sendChunks = () => {
        if (!socket.destroyed) socket.write(many, () => setTimeout(sendChunks, random() * 20))
      }
      sendChunks()
    },
  }
  const all = Object.entries(counts).flatMap(([kind, count]) => Array(count).fill(kind))
  shuffle(all)
  for (const kind of all) one[kind]()
  process.send({ started: all.length })
}

function openSocket(port, kind) {
  const socket = connect(port, '127.0.0.1')
  sockets.add(socket)
  socket.on('error', () => {})
  const attacker = { kind, ended: false }
  attackers.push(attacker)
  socket.once('data', (head) => recordOutcome(attacker, head.toString('latin1', 9, 12)))
  socket.once('close', () => {
    sockets.delete(socket)
    recordOutcome(attacker, 'closed')
  })
  return socket
}

function recordOutcome(attacker, what) {
  const { kind } = attacker
  attacker.ended = true
  statuses[kind] ??= {}
  statuses[kind][what] = (statuses[kind][what] ?? 0) + 1
  onOutcome()
}

function repeatUntilClosed(socket, ms, work) {
  const timer = setInterval(work, ms)
  socket.once('close', () => clearInterval(timer))
}

function shuffle(list) {
  for (let at = list.length - 1; at > 0; at--) {
    const other = Math.floor(random() * (at + 1))
    ;[list[at], list[other]] = [list[other], list[at]]
  }
}

function createRandom(seed) {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
