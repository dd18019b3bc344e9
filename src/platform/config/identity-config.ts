import type { EnvReader } from './config-reader.js'

/** Reads the initial credentials, the settings of the external identity provider, and the encryption keys for stored secrets. */
export function readIdentityConfig(reader: EnvReader, masterKeyRequired: boolean) {
  return {
    bootstrap: readBootstrapCredentials(reader),
    jwt: readJwtConfig(reader),
    /** 32-byte encryption key. Required if the database is external. */
    masterKey: readMasterKey(reader, masterKeyRequired),
    previousMasterKeys: readPreviousMasterKeys(reader),
  }
}

function readBootstrapCredentials(reader: EnvReader) {
  return {
    apiKey: reader.readPattern(
      'BOOTSTRAP_API_KEY',
      // Characters of a Bearer credential (RFC 6750, section 2.1) except the dot, because a dot identifies a token.
      /^(?=.{32,200}$)[A-Za-z0-9_~+/-]+=*$/,
      "32 to 200 characters: letters, digits, '-', '_', '~', '+' and '/', and '=' at the end",
    ),
    adminEmail:
      reader.readPattern('BOOTSTRAP_ADMIN_EMAIL', /^[^\s@]{1,64}@[^\s@]{1,190}$/, 'an email address such as admin@example.com') ??
      'admin@localhost',
    adminPassword: reader.readPattern('BOOTSTRAP_ADMIN_PASSWORD', /^[^\0]{8,1024}$/s, 'a password of 8 to 1024 characters'),
  }
}

function readJwtConfig(reader: EnvReader) {
  const claims = {
    tenant: reader.readText('JWT_TENANT_CLAIM') ?? 'tenant_id',
    scopes: reader.readText('JWT_SCOPES_CLAIM') ?? 'scope',
    email: reader.readText('JWT_EMAIL_CLAIM') ?? 'email',
    name: reader.readText('JWT_NAME_CLAIM') ?? 'name',
  }
  const issuer = reader.readText('JWT_ISSUER')
  const audience = reader.readText('JWT_AUDIENCE')
  const jwksUrl = reader.readUrl('JWT_JWKS_URL', ['https:', 'http:'], 'https://id.example.com/.well-known/jwks.json')
  if (!issuer && !audience && !jwksUrl && !reader.hasError('JWT_JWKS_URL')) return undefined
  const missing = Object.entries({
    JWT_ISSUER: issuer,
    JWT_AUDIENCE: audience,
    JWT_JWKS_URL: reader.readText('JWT_JWKS_URL'),
  }).filter(([, value]) => !value)
  for (const [name] of missing) reader.addError(name, undefined, 'set if any of JWT_ISSUER, JWT_AUDIENCE and JWT_JWKS_URL is set')
  return issuer && audience && jwksUrl ? { issuer, audience, jwksUrl, claims } : undefined
}

function readMasterKey(reader: EnvReader, required: boolean): Buffer | undefined {
  const expected =
    '32 bytes in base64 (44 characters), such as the output of: node -p "crypto.randomBytes(32).toString(\'base64\')"'
  const value = reader.readPattern('MASTER_KEY', /^[A-Za-z0-9+/]{43}=$/, expected)
  if (value !== undefined) return Buffer.from(value, 'base64')
  if (required && !reader.hasError('MASTER_KEY')) reader.addError('MASTER_KEY', undefined, `${expected}, if DATABASE_URL is set`)
  return undefined
}

function readPreviousMasterKeys(reader: EnvReader): Buffer[] {
  const keys = reader.readList('MASTER_KEY_PREVIOUS')
  if (keys.every((key) => /^[A-Za-z0-9+/]{43}=$/.test(key))) return keys.map((key) => Buffer.from(key, 'base64'))
  reader.addError(
    'MASTER_KEY_PREVIOUS',
    keys.join(','),
    'previous values of MASTER_KEY, each 32 bytes in base64, separated by commas',
  )
  return []
}
