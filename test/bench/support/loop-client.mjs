// HTTP client for the measured service that reads complete responses and reports unexpected statuses.
import { randomBytes } from 'node:crypto'
import http from 'node:http'
import { createMultipartForm, request } from './service.mjs'

export class LoopClient {
  constructor(service, key) {
    this.url = service.url
    this.headers = { authorization: `Bearer ${key}` }
    this.agent = new http.Agent({ keepAlive: true, maxSockets: 256 })
  }

  async call(method, path, { body, headers, expect } = {}) {
    const response = await request(this.agent, this.url + path, {
      method,
      headers: { ...this.headers, ...(body && !Array.isArray(body) && { 'content-type': 'application/json' }), ...headers },
      body: body && (Array.isArray(body) ? body : [Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))]),
    })
    if (expect && response.status !== expect)
      throw new Error(`${method} ${path.slice(0, 100)} returned ${response.status}: ${response.text().slice(0, 500)}`)
    return response
  }

  get = (path, more) => this.call('GET', path, { expect: 200, ...more })
  post = (path, body, more) => this.call('POST', path, { body, ...more })
  graphql = (query, variables = {}, more) => this.call('POST', '/graphql', { body: { query, variables }, ...more })

  upload(context, name, content, { path = '/api/v1/files/upload', ...more } = {}) {
    return this.call('POST', path, { ...createMultipartForm(context, name, content), ...more })
  }

  /** Sends a multipart form with parts given as `[headers, content]`. */
  form(path, parts, headers = {}) {
    const boundary = `form${randomBytes(8).toString('hex')}`
    const chunks = parts.flatMap(([head, content]) => [
      Buffer.from(`--${boundary}\r\n${head}\r\n\r\n`),
      Buffer.from(content),
      Buffer.from('\r\n'),
    ])
    return this.call('POST', path, {
      headers: { 'content-type': `multipart/form-data; boundary=${boundary}`, ...headers },
      body: [...chunks, Buffer.from(`--${boundary}--\r\n`)],
    })
  }

  graphqlUpload(query, variables, files, expect) {
    const createDisposition = (name, more = '') => `Content-Disposition: form-data; name="${name}"${more}`
    const map = Object.fromEntries(files.map(({ at }, index) => [index, [at]]))
    return this.form(
      '/graphql',
      [
        [createDisposition('operations'), JSON.stringify({ query, variables })],
        [createDisposition('map'), JSON.stringify(map)],
        ...files.map(({ name, content }, index) => [createDisposition(index, `; filename="${name}"`), content]),
      ],
      { 'apollo-require-preflight': 'true' },
    ).then((response) => {
      if (expect && response.status !== expect) throw new Error(`${response.status} ${response.text()}`)
      return response
    })
  }

  close() {
    this.agent.destroy()
  }
}
