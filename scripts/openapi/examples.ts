import type { Json, NamedSchemas } from './schemas.js'

const ulid = '01kqzv6y8xw3f5t2n7m4c9d1b0'
export const exampleTime = '2026-11-20T10:00:00.000Z'
export const exampleRequestId = `req_${ulid}`

/** Example values by member name. All examples of an object use the same values. */
const values: Record<string, unknown> = {
  api_key_id: `key_${ulid}`,
  api_key: 'assay_Q2hhbmdlIG1lLCBJIGFtIG9ubHkgYW4gZXhhbXBsZSE',
  api_key_name: 'Invoice importer',
  key_prefix: 'assay_Q2ho',
  name: 'Invoice importer',
  scopes: ['upload', 'download'],
  contexts: ['invoices'],
  context: 'invoices',
  name_prefix: 'invoice-',
  search: 'invoice',
  start_date: '2026-11-01',
  end_date: '2026-11-30',
  expires_in_days: 90,
  expires_at: '2027-02-18T10:00:00.000Z',
  created_by: `usr_${ulid}`,
  uploaded_by: `key_${ulid}`,
  uploaded_by_name: 'Invoice importer',
  context_id: `ctx_${ulid}`,
  context_key: 'invoices',
  context_name: 'Invoices',
  tenant_id: `ten_${ulid}`,
  display_name: 'Invoices',
  description: 'Incoming invoices',
  allowed_extensions: ['pdf', 'png'],
  max_file_size_mb: 10,
  storage_path_template: '{context_key}/{year}/{month}',
  retention_days: null,
  trash_days: 0,
  storage_quota_mb: 10240,
  storage_used_bytes: 48213,
  metadata: { order: 4711 },
  file: 'Content of invoice-4711.pdf',
  file_id: `file_${ulid}`,
  original_filename: 'invoice-4711.pdf',
  content_type: 'application/pdf',
  detected_content_type: 'application/pdf',
  size_bytes: 48213,
  checksum: 'sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  webhook_id: `whk_${ulid}`,
  delivery_id: `dlv_${ulid}`,
  event_id: `evt_${ulid}`,
  secret: 'whsec_Q2hhbmdlIG1lLCBJIGFtIG9ubHkgYW4gZXhhbXBsZSE=',
  url: 'https://hooks.example.com/assay',
  types: ['file.*', 'quota.threshold'],
  type: 'file.accepted',
  sequence: 4711,
  last_sequence: 4711,
  from_sequence: 4700,
  disabled_reason: null,
  failing_since: null,
  next_attempt_at: null,
  previous_secret_expires_at: null,
  response_status: 204,
  error: null,
  download_count: 3,
  download_url: `https://files.example.com/download/file_${ulid}?expires=1795187510&signature=54kD`,
  expires_in_seconds: 300,
  grace_seconds: 3600,
  call_id: `call_${ulid}`,
  share_id: `shr_${ulid}`,
  token: `log_${ulid}_${ulid}_Q2hhbmdlIG1lLCBJIGFtIG9ubHkgYW4gZXhhbXBsZSE`,
  days: 90,
  link_id: `ulk_${ulid}`,
  accepted_files: 0,
  rejected_files: 0,
  max_size_mb: 10,
  sha256: null,
  origins: ['https://www.example.com'],
  audit_id: `aud_${ulid}`,
  entity_id: `file_${ulid}`,
  entity_name: 'invoice-4711.pdf',
  entity_type: 'file',
  performed_by_id: `key_${ulid}`,
  performed_by_name: 'Invoice importer',
  performed_by_email: null,
  performed_by_type: 'api_key',
  performed_by_scopes: ['upload', 'download'],
  audit_type: 'file',
  ip_address: '203.0.113.7',
  user_agent: 'curl/8.5.0',
  error_message: null,
  // The reason is null in a report without a rejection, and text in a hold or its release.
  reason: (schema: Json) => (allowsNull(schema) ? null : 'Legal case 2026-17'),
  purge_at: '2026-11-27T10:00:00.000Z',
  held_by: `usr_${ulid}`,
  changed_by: `usr_${ulid}`,
  request_id: `req_${ulid}`,
  duration_ms: 2,
  checks: [
    ['invalid_extension', 'passed', "Extension 'pdf' is allowed in context 'invoices', and the content is a PDF document."],
    ['size_exceeded', 'passed', 'The file size is 48213 bytes. The limit is 10485760 bytes.'],
    ['blank_file', 'passed', 'The file has content.'],
    ['corrupt_file', 'passed', 'The pdf reader can open the file.'],
    ['virus_detected', 'passed', 'ClamAV 1.4.3 found no virus.'],
  ].map(([check, outcome, message]) => ({ check, outcome, message, evidence: {}, duration_ms: 2 })),
  sample: [
    {
      file_id: `file_${ulid}`,
      original_filename: 'invoice-4711.pdf',
      reason: 'size_exceeded',
      message: "The file size is 48213 bytes. The limit of context 'invoices' is 1 MB (1048576 bytes).",
    },
  ],
  file_ids: [`file_${ulid}`],
  viruses: ['Win.Test.EICAR_HDB-1'],
  signatures: '27800',
  // A compact JWS consists of header, claims and signature.
  receipt: 'eyJhbGciOiJFZERTQSIsInR5cCI6InJlY2VpcHQrandzIn0.eyJpc3MiOiJodHRwczovL2ZpbGVzLmV4YW1wbGUuY29tIn0.c2lnbmF0dXJl',
  version: '1.4.3',
  signatures_version: '27800',
  total_formatted: '47.08 KB',
  used_formatted: '47.08 KB',
  remaining_formatted: '9.99 GB',
}

/** Returns a plausible example value that matches the schema. */
export function createExample(schemas: NamedSchemas, schema: Json, name = ''): unknown {
  // The type of some members depends on the object. For example, `metadata` can be an object or a number of calls, and `reason`
  // can be null.
  const known = Object.hasOwn(values, name) ? values[name] : undefined
  const value = typeof known === 'function' ? known(schema) : known
  if (value !== undefined && matchesSchema(schema, value)) return value
  if (typeof schema.$ref === 'string') return createExample(schemas, schemas.all[schema.$ref.split('/').at(-1)!]!, name)
  if (schema.format === 'date-time') return exampleTime
  if ('const' in schema) return schema.const
  if ('example' in schema) return schema.example
  if ('default' in schema) return schema.default
  const [first] = ((schema.oneOf ?? schema.anyOf ?? []) as Json[]).values()
  if (first) return createExample(schemas, first, name)
  if (Array.isArray(schema.enum)) return schema.enum[0]
  const [type] = [schema.type].flat()
  if (type === 'array') return [createExample(schemas, schema.items as Json)]
  if (type === 'object') return selectMembers(schemas, schema, () => true)
  return { boolean: true, integer: 1, number: 1 }[type as string] ?? 'text'
}

/** Returns an example request body with all required and common optional members. */
export function createBodyExample(schemas: NamedSchemas, schema: Json): unknown {
  const whole = schemas.all[(schema.$ref as string).split('/').at(-1)!]!
  const required = (whole.required ?? []) as string[]
  return selectMembers(schemas, whole, (name) => required.length === 0 || required.includes(name) || name === 'scopes')
}

const selectMembers = (schemas: NamedSchemas, { properties = {} }: Json, isIncluded: (name: string) => boolean): Json =>
  Object.fromEntries(
    Object.entries(properties as Record<string, Json>)
      .filter(([name]) => isIncluded(name))
      .map(([name, schema]) => [name, createExample(schemas, schema, name)]),
  )

const allowsNull = ({ type, anyOf }: Json): boolean => [type].flat().includes('null') || anyOf !== undefined

const matchesSchema = (schema: Json, value: unknown): boolean => {
  if (value === null) return allowsNull(schema)
  const { type } = schema
  return !['integer', 'number'].includes(type as string) || typeof value === 'number'
}
