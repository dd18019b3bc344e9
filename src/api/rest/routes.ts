interface RouteOptions {
  status?: number
  message?: string
  /** False if the response envelope has no timestamp. */
  timestamp?: boolean
  /** Type of the request body. Undefined for GET and DELETE. */
  body?: 'json' | 'multipart'
  /** Members of a PATCH body that can be set to null. */
  nullable?: readonly string[]
  /** Member of a list's items whose value becomes the cursor of the next page. */
  listedBy?: string
  /** Member by which the list is always sorted, if different from `listedBy`. */
  sortedBy?: string
  /** True if the endpoint also offers server-sent events. */
  streams?: boolean
  /** True if the response is the preview image or text itself, without an envelope. */
  sendsPreview?: boolean
  /** True if `data` is a receipt, which is also available as a compact JWS (RFC 7515, section 9.2.1). */
  receipt?: boolean
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** A REST endpoint, which runs a document from operations.graphql. */
export interface Route extends RouteOptions {
  method: Method
  /** Path under /api/v1, with parameters such as `{file_id}`. */
  path: string
  /** Name of an operation in operations.graphql. */
  operation: string
  summary: string
}

function route(endpoint: `${Method} /${string}`, operation: string, summary: string, options: RouteOptions = {}): Route {
  const [method, path] = endpoint.split(' ') as [Method, string]
  return { method, path, operation, summary, ...options }
}

/** All REST endpoints. A new endpoint needs a row here, a document in operations.graphql, and schema fields. */
export const routes: readonly Route[] = [
  route('POST /api-keys', 'CreateApiKey', 'Create an API key', {
    status: 201,
    message: 'API key created. Store the key now: it cannot be shown again.',
    body: 'json',
  }),
  route('GET /api-keys', 'ListApiKeys', 'List API keys', { listedBy: 'api_key_id' }),
  route('GET /api-keys/{api_key_id}', 'GetApiKey', 'Get an API key'),
  route('POST /api-keys/{api_key_id}/enable', 'EnableApiKey', 'Enable an API key'),
  route('POST /api-keys/{api_key_id}/disable', 'DisableApiKey', 'Disable an API key'),
  route('POST /api-keys/{api_key_id}/revoke', 'RevokeApiKey', 'Revoke an API key'),
  route('POST /api-keys/{api_key_id}/rotate', 'RotateApiKey', 'Rotate an API key', {
    message: 'API key rotated. Store the new key now: it cannot be shown again.',
    body: 'json',
  }),

  route('POST /contexts', 'CreateContext', 'Create a context', { status: 201, body: 'json' }),
  route('GET /contexts', 'ListContexts', 'List contexts', { listedBy: 'context_id' }),
  route('GET /contexts/{context_key}', 'GetContext', 'Get a context'),
  route('PATCH /contexts/{context_key}', 'UpdateContext', 'Update a context', { body: 'json' }),
  route('GET /contexts/{context_key}/policy', 'GetContextPolicy', 'Get a context policy'),
  route('PATCH /contexts/{context_key}/policy', 'UpdateContextPolicy', 'Update a context policy', {
    body: 'json',
    nullable: ['retention_days'],
  }),
  route('GET /contexts/{context_key}/versions', 'ListContextVersions', 'List the rule versions for a context', {
    listedBy: 'version',
  }),
  route('POST /contexts/{context_key}/preview', 'PreviewContext', 'Preview a context change', { body: 'json' }),
  route('POST /contexts/{context_key}/rescan', 'RescanContext', 'Rescan the files in a context'),
  route('GET /contexts/{context_key}/rescan', 'GetContextRescan', 'Get the rescan progress for a context'),
  route('DELETE /contexts/{context_key}', 'DeleteContext', 'Delete a context'),

  route('POST /files/upload', 'UploadFile', 'Upload a file', {
    status: 201,
    message: 'File uploaded.',
    timestamp: false,
    body: 'multipart',
  }),
  route('POST /files/validate', 'ValidateFile', 'Validate a file without storing it', { body: 'multipart' }),
  route('GET /files', 'ListFiles', 'List files', { listedBy: 'file_id' }),
  route('GET /files/{file_id}', 'CreateDownloadUrl', 'Get a download URL', { timestamp: false }),
  route('GET /files/{file_id}/preview', 'GetFilePreview', 'Get a file preview', { sendsPreview: true }),
  route('DELETE /files/{file_id}', 'DeleteFile', 'Delete a file'),
  route('POST /files/delete', 'DeleteFiles', 'Delete up to 100 files', { body: 'json' }),
  route('GET /files/{file_id}/metadata', 'GetFileMetadata', 'Get file metadata'),
  route('GET /files/{file_id}/validation', 'GetFileValidation', 'Get the latest validation report for a file'),
  route('GET /files/{file_id}/validations', 'ListFileValidations', 'List the validation reports for a file'),

  route('GET /quarantine', 'ListQuarantine', 'List quarantined files', { listedBy: 'file_id', sortedBy: 'quarantined_at' }),
  route('POST /quarantine/{file_id}/release', 'ReleaseFromQuarantine', 'Release a quarantined file', { body: 'json' }),
  route('DELETE /quarantine/{file_id}', 'PurgeFromQuarantine', 'Purge a quarantined file'),

  route('PUT /files/{file_id}/hold', 'HoldFile', 'Put a file on hold', { body: 'json' }),
  route('DELETE /files/{file_id}/hold', 'ReleaseHold', 'Release the hold on a file'),
  route('GET /holds', 'ListHolds', 'List holds', { listedBy: 'file_id', sortedBy: 'held_at' }),
  route('GET /trash', 'ListTrash', 'List deleted files', { listedBy: 'file_id', sortedBy: 'deleted_at' }),
  route('POST /trash/{file_id}/restore', 'RestoreFile', 'Restore a file from the trash'),
  route('DELETE /trash/{file_id}', 'PurgeFile', 'Purge a file from the trash'),

  route('GET /stats', 'GetStats', 'Get the statistics overview'),
  route('GET /stats/charts/api-calls', 'GetApiCallsChart', 'Get the API calls chart'),
  route('GET /stats/charts/storage', 'GetStorageChart', 'Get the storage usage chart'),
  route('GET /stats/charts/uploads', 'GetUploadsChart', 'Get the uploads chart'),
  route('GET /stats/by-context/api-calls', 'GetApiCallsByContext', 'List API calls by context'),
  route('GET /stats/by-context/files', 'GetFilesByContext', 'List file totals by context'),
  route('GET /stats/logs', 'ListCallLogs', 'List call log entries', { listedBy: 'call_id' }),

  route('GET /audit-logs', 'ListAuditLogs', 'List audit log entries', { listedBy: 'audit_id' }),
  route('GET /audit-logs/entity/{entity_type}/{entity_id}', 'ListAuditLogsOfEntity', 'List audit log entries for an entity', {
    listedBy: 'audit_id',
  }),

  route('POST /upload-links', 'CreateUploadLink', 'Create an upload link', {
    status: 201,
    message: 'Upload link created. Store the URL now: it cannot be shown again.',
    body: 'json',
  }),
  route('GET /upload-links', 'ListUploadLinks', 'List upload links', { listedBy: 'link_id' }),
  route('GET /upload-links/{link_id}', 'GetUploadLink', 'Get an upload link'),
  route('DELETE /upload-links/{link_id}', 'RevokeUploadLink', 'Revoke an upload link'),

  route('GET /events', 'ListEvents', 'List events', { streams: true }),

  route('GET /tenant', 'GetTenant', 'Get the tenant'),
  route('PATCH /tenant', 'UpdateTenant', 'Update the tenant', { body: 'json' }),

  route('POST /webhooks', 'CreateWebhook', 'Create a webhook', {
    status: 201,
    message: 'Webhook created. Store the secret now: it cannot be shown again.',
    body: 'json',
  }),
  route('GET /webhooks', 'ListWebhooks', 'List webhooks', { listedBy: 'webhook_id' }),
  route('GET /webhooks/{webhook_id}', 'GetWebhook', 'Get a webhook'),
  route('PATCH /webhooks/{webhook_id}', 'UpdateWebhook', 'Update a webhook', { body: 'json', nullable: ['contexts'] }),
  route('DELETE /webhooks/{webhook_id}', 'DeleteWebhook', 'Delete a webhook'),
  route('POST /webhooks/{webhook_id}/test', 'TestWebhook', 'Test a webhook'),
  route('POST /webhooks/{webhook_id}/rotate-secret', 'RotateWebhookSecret', 'Rotate a webhook secret', {
    message: 'Webhook secret rotated. Store the new secret now: it cannot be shown again.',
  }),
  route('GET /webhooks/{webhook_id}/deliveries', 'ListWebhookDeliveries', 'List webhook deliveries', {
    listedBy: 'delivery_id',
  }),
  route('POST /webhooks/{webhook_id}/replay', 'ReplayWebhook', 'Replay events to a webhook', { body: 'json' }),

  route('GET /files/{file_id}/receipt', 'GetFileReceipt', 'Get a file receipt', { receipt: true }),
  route('GET /calls/{call_id}/receipt', 'GetCallReceipt', 'Get an upload call receipt', { receipt: true }),
  route('POST /log/share', 'ShareLog', 'Create a log access token', {
    status: 201,
    message: 'Log token created. Store the token now: it cannot be shown again.',
    body: 'json',
  }),
  route('GET /log/shares', 'ListLogShares', 'List log access tokens', { listedBy: 'share_id' }),
  route('DELETE /log/shares/{share_id}', 'RevokeLogShare', 'Revoke a log access token'),
]
