import type { NetConnectOpts } from 'node:net'

export interface ClamdAddress {
  label: string
  connect: NetConnectOpts
}

const wanted = "'clamd://host:3310', 'clamd://[::1]:3310' or 'clamd:///path/to.sock'"

export function parseClamdUrl(url: string): ClamdAddress {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  if (parsed?.protocol !== 'clamd:' || parsed.search || parsed.hash || parsed.username)
    throw new Error(`'${url}' is not a clamd address. It must be ${wanted}.`)
  const path = decodeURIComponent(parsed.pathname)
  if (parsed.hostname === '' && path.length > 1) return { label: url, connect: { path } }
  if (parsed.hostname === '' || path.length > 1)
    throw new Error(`'${url}' contains neither a host nor a socket. It must be ${wanted}.`)
  return { label: url, connect: { host: parsed.hostname.replace(/^\[|\]$/g, ''), port: Number(parsed.port || 3310) } }
}
