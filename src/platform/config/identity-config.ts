import type { EnvReader } from './config-reader.js'

/** External identity provider, and the names of the claims to read. */
interface JwtConfig {
  issuer: string
  audience: string
  jwksUrl: string
  claims: { tenant: string; scopes: string; email: string; name: string }
}

/** Initial credentials, external identity provider, and encryption keys for stored secrets. */
export interface IdentityConfig {
  readonly bootstrap: {
    readonly apiKey: string | undefined
    readonly adminEmail: string
    readonly adminPassword: string | undefined
  }
  readonly jwt: JwtConfig | undefined
  /** Encryption key of 32 bytes. Required with an external database. */
  readonly masterKey: Buffer | undefined
  /** Previous values of MASTER_KEY. Stored secrets may still be encrypted with them. */
  readonly previousMasterKeys: Buffer[]
}

export function readIdentity(read: EnvReader, masterKeyRequired: boolean): IdentityConfig {
  return {
    bootstrap: readBootstrap(read),
    jwt: readJwt(read),
    masterKey: readMasterKey(read, masterKeyRequired),
    previousMasterKeys: readPreviousMasterKeys(read),
  }
}

function readBootstrap(read: EnvReader): IdentityConfig['bootstrap'] {
  return {
    apiKey: read.pattern(
      'BOOTSTRAP_API_KEY',
      // Characters of a Bearer credential (RFC 6750, section 2.1), except the dot, which identifies a token.
      /^(?=.{32,200}$)[A-Za-z0-9_~+/-]+=*$/,
      "32 to 200 characters: letters, digits, '-', '_', '~', '+' and '/', and '=' at the end",
      'secret',
    ),
    adminEmail:
      read.pattern('BOOTSTRAP_ADMIN_EMAIL', /^[^\s@]{1,64}@[^\s@]{1,190}$/, 'an email address such as admin@example.com') ??
      'admin@localhost',
    adminPassword: read.pattern('BOOTSTRAP_ADMIN_PASSWORD', /^[^\0]{8,1024}$/s, 'a password of 8 to 1024 characters', 'secret'),
  }
}

function readJwt(read: EnvReader): JwtConfig | undefined {
  const claims = {
    tenant: read.text('JWT_TENANT_CLAIM') ?? 'tenant_id',
    scopes: read.text('JWT_SCOPES_CLAIM') ?? 'scope',
    email: read.text('JWT_EMAIL_CLAIM') ?? 'email',
    name: read.text('JWT_NAME_CLAIM') ?? 'name',
  }
  const issuer = read.text('JWT_ISSUER')
  const audience = read.text('JWT_AUDIENCE')
  const jwksUrl = read.url('JWT_JWKS_URL', ['https:', 'http:'], { example: 'https://id.example.com/.well-known/jwks.json' })
  if (!issuer && !audience && !jwksUrl && !read.hasError('JWT_JWKS_URL')) return undefined
  const missing = Object.entries({ JWT_ISSUER: issuer, JWT_AUDIENCE: audience, JWT_JWKS_URL: read.text('JWT_JWKS_URL') }).filter(
    ([, value]) => !value,
  )
  for (const [name] of missing) read.addError(name, undefined, 'set if any of JWT_ISSUER, JWT_AUDIENCE and JWT_JWKS_URL is set')
  return issuer && audience && jwksUrl ? { issuer, audience, jwksUrl, claims } : undefined
}

function readMasterKey(read: EnvReader, required: boolean): Buffer | undefined {
  const expected =
    '32 bytes in base64 (44 characters), such as the output of: node -p "crypto.randomBytes(32).toString(\'base64\')"'
  const value = read.pattern('MASTER_KEY', /^[A-Za-z0-9+/]{43}=$/, expected, 'secret')
  if (value !== undefined) return Buffer.from(value, 'base64')
  if (required && !read.hasError('MASTER_KEY')) read.addError('MASTER_KEY', undefined, `${expected}, if DATABASE_URL is set`)
  return undefined
}

function readPreviousMasterKeys(read: EnvReader): Buffer[] {
  const keys = read.list('MASTER_KEY_PREVIOUS')
  if (keys.every((key) => /^[A-Za-z0-9+/]{43}=$/.test(key))) return keys.map((key) => Buffer.from(key, 'base64'))
  read.addError(
    'MASTER_KEY_PREVIOUS',
    keys.join(','),
    'previous values of MASTER_KEY, each 32 bytes in base64, separated by commas',
    'secret',
  )
  return []
}
