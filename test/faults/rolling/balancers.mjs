// Two balancers with delayed detection: nginx, which detects a stopped server by refused connections, and a TCP balancer that
// polls readiness.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findFreePort } from '../../bench/support/service.mjs'

/** Forwards connections without retries to servers that were ready at the last poll. */
export async function tcpBalancer(urls, { pollMs }) {
  const ports = urls.map((url) => Number(new URL(url).port))
  const ready = new Set(ports)
  let turn = 0
  let open = true
  const polling = (async () => {
    while (open) {
      await sleep(pollMs)
      for (const port of ports) {
        const response = await fetch(`http://127.0.0.1:${port}/health/ready`, { headers: { connection: 'close' } }).catch(
          () => undefined,
        )
        await response?.body?.cancel()
        if (response?.ok) ready.add(port)
        else ready.delete(port)
      }
    }
  })()
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const up = ports.filter((port) => ready.has(port))
    if (up.length === 0) return void client.destroy()
    const behind = connect({ port: up[turn++ % up.length], host: '127.0.0.1', allowHalfOpen: true })
    const end = () => {
      client.destroy()
      behind.destroy()
    }
    for (const socket of [client, behind]) socket.on('error', end)
    client.pipe(behind).pipe(client)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    knows: (url) => ready.has(Number(new URL(url).port)),
    stop: async () => {
      open = false
      server.close()
      await polling
    },
  }
}

/** Starts nginx with the configuration in docs/operations.md. */
export async function nginx(urls, { folder }) {
  const port = await findFreePort()
  mkdirSync(join(folder, 'tmp'), { recursive: true })
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${join(folder, 'tmp', name)};`,
  )
  writeFileSync(
    join(folder, 'nginx.conf'),
    `daemon off; pid ${join(folder, 'nginx.pid')}; error_log ${join(folder, 'error.log')}; worker_processes 1;
${process.getuid() === 0 ? 'user root;' : ''}
events {}
http {
  access_log off; ${temporary.join(' ')}
  upstream assay {
    ${urls.map((url) => `server ${new URL(url).host} max_fails=1 fail_timeout=1s;`).join(' ')}
    keepalive 32; keepalive_timeout 30s;
  }
  server {
    listen 127.0.0.1:${port};
    location / { proxy_pass http://assay; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_next_upstream error timeout; }
  }
}`,
  )
  const child = spawn('nginx', ['-p', folder, '-c', join(folder, 'nginx.conf')], {
    stdio: ['ignore', 'ignore', 'ignore'],
    env: { PATH: `${process.env.PATH}:/usr/sbin` },
  })
  const ended = once(child, 'exit')
  const url = `http://127.0.0.1:${port}`
  while (
    child.exitCode === null &&
    !(await fetch(`${url}/health/live`).then(
      (response) => response.ok,
      () => false,
    ))
  )
    await sleep(50)
  if (child.exitCode !== null) throw new Error('nginx did not start.')
  return {
    url,
    knows: () => true,
    stop: async () => {
      child.kill('SIGTERM')
      await ended
    },
  }
}
