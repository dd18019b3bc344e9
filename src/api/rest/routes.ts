/** A REST endpoint with the stored document that it runs. */
export interface Route {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Path below /api/v1, with parameters such as `{file_id}`. */
  path: string
  /** Name of an operation in operations.graphql. */
  operation: string
  status?: number
  message?: string
  /** False if the response envelope has no timestamp. */
  timestamp?: boolean
  /** Type of the request body. Undefined for GET and DELETE. */
  body?: 'json' | 'multipart'
  /** Members of a PATCH body that can be set to null. */
  nullable?: readonly string[]
  /** For a list: the item member whose value becomes the cursor of the next page. */
  listedBy?: string
  /** Member that a list is sorted by, if it differs from `listedBy` and the request cannot choose it. */
  sortedBy?: string
  /** True if the endpoint also offers server-sent events. */
  streams?: boolean
  /** True if the response is the preview image or text itself, without an envelope. */
  sendsPreview?: boolean
  /** True if `data` is a receipt, which is also available as a compact JWS (RFC 7515, section 9.2.1). */
  receipt?: boolean
  summary: string
}

/** All REST endpoints. A new endpoint needs a row here, a document in operations.graphql, and schema fields. */
export const routes: readonly Route[] = [
  {
    method: 'POST',
    path: '/api-keys',
    operation: 'CreateApiKey',
    status: 201,
    message: 'API key created. Store the key now: it cannot be shown again.',
    body: 'json',
    summary: 'Create an API key',
  },
  { method: 'GET', path: '/api-keys', operation: 'ListApiKeys', listedBy: 'api_key_id', summary: 'List API keys' },
  { method: 'GET', path: '/api-keys/{api_key_id}', operation: 'GetApiKey', summary: 'Get an API key' },
  { method: 'POST', path: '/api-keys/{api_key_id}/enable', operation: 'EnableApiKey', summary: 'Enable an API key' },
  { method: 'POST', path: '/api-keys/{api_key_id}/disable', operation: 'DisableApiKey', summary: 'Disable an API key' },
  { method: 'POST', path: '/api-keys/{api_key_id}/revoke', operation: 'RevokeApiKey', summary: 'Revoke an API key' },
  {
    method: 'POST',
    path: '/api-keys/{api_key_id}/rotate',
    operation: 'RotateApiKey',
    message: 'API key rotated. Store the new key now: it cannot be shown again.',
    body: 'json',
    summary: 'Rotate an API key',
  },

  { method: 'POST', path: '/contexts', operation: 'CreateContext', status: 201, body: 'json', summary: 'Create a context' },
  { method: 'GET', path: '/contexts', operation: 'ListContexts', listedBy: 'context_id', summary: 'List contexts' },
  { method: 'GET', path: '/contexts/{context_key}', operation: 'GetContext', summary: 'Get a context' },
  { method: 'PATCH', path: '/contexts/{context_key}', operation: 'UpdateContext', body: 'json', summary: 'Update a context' },
  {
    method: 'GET',
    path: '/contexts/{context_key}/policy',
    operation: 'GetContextPolicy',
    summary: 'Get the policy of a context',
  },
  {
    method: 'PATCH',
    path: '/contexts/{context_key}/policy',
    operation: 'UpdateContextPolicy',
    body: 'json',
    nullable: ['retention_days'],
    summary: 'Update the policy of a context',
  },
  {
    method: 'GET',
    path: '/contexts/{context_key}/versions',
    operation: 'ListContextVersions',
    listedBy: 'version',
    summary: 'List the rule versions of a context',
  },
  {
    method: 'POST',
    path: '/contexts/{context_key}/preview',
    operation: 'PreviewContext',
    body: 'json',
    summary: 'Preview a context change',
  },
  {
    method: 'POST',
    path: '/contexts/{context_key}/rescan',
    operation: 'RescanContext',
    summary: 'Rescan the files of a context',
  },
  {
    method: 'GET',
    path: '/contexts/{context_key}/rescan',
    operation: 'GetContextRescan',
    summary: 'Get the rescan progress of a context',
  },
  { method: 'DELETE', path: '/contexts/{context_key}', operation: 'DeleteContext', summary: 'Delete a context' },

  {
    method: 'POST',
    path: '/files/upload',
    operation: 'UploadFile',
    status: 201,
    message: 'File uploaded.',
    timestamp: false,
    body: 'multipart',
    summary: 'Upload a file',
  },
  {
    method: 'POST',
    path: '/files/validate',
    operation: 'ValidateFile',
    body: 'multipart',
    summary: 'Check a file without storing it',
  },
  { method: 'GET', path: '/files', operation: 'ListFiles', listedBy: 'file_id', summary: 'List files' },
  { method: 'GET', path: '/files/{file_id}', operation: 'CreateDownloadUrl', timestamp: false, summary: 'Get a download URL' },
  {
    method: 'GET',
    path: '/files/{file_id}/preview',
    operation: 'GetFilePreview',
    sendsPreview: true,
    summary: 'Get a preview of a file',
  },
  { method: 'DELETE', path: '/files/{file_id}', operation: 'DeleteFile', summary: 'Delete a file' },
  { method: 'POST', path: '/files/delete', operation: 'DeleteFiles', body: 'json', summary: 'Delete up to 100 files' },
  { method: 'GET', path: '/files/{file_id}/metadata', operation: 'GetFileMetadata', summary: 'Get the metadata of a file' },
  {
    method: 'GET',
    path: '/files/{file_id}/validation',
    operation: 'GetFileValidation',
    summary: 'Get the latest validation report for a file',
  },
  {
    method: 'GET',
    path: '/files/{file_id}/validations',
    operation: 'ListFileValidations',
    summary: 'List the validation reports of a file',
  },

  {
    method: 'GET',
    path: '/quarantine',
    operation: 'ListQuarantine',
    listedBy: 'file_id',
    sortedBy: 'quarantined_at',
    summary: 'List quarantined files',
  },
  {
    method: 'POST',
    path: '/quarantine/{file_id}/release',
    operation: 'ReleaseFromQuarantine',
    body: 'json',
    summary: 'Release a quarantined file',
  },
  {
    method: 'DELETE',
    path: '/quarantine/{file_id}',
    operation: 'PurgeFromQuarantine',
    summary: 'Purge a quarantined file',
  },

  { method: 'PUT', path: '/files/{file_id}/hold', operation: 'HoldFile', body: 'json', summary: 'Put a file on hold' },
  { method: 'DELETE', path: '/files/{file_id}/hold', operation: 'ReleaseHold', summary: 'Release the hold of a file' },
  {
    method: 'GET',
    path: '/holds',
    operation: 'ListHolds',
    listedBy: 'file_id',
    sortedBy: 'held_at',
    summary: 'List holds',
  },
  {
    method: 'GET',
    path: '/trash',
    operation: 'ListTrash',
    listedBy: 'file_id',
    sortedBy: 'deleted_at',
    summary: 'List deleted files',
  },
  { method: 'POST', path: '/trash/{file_id}/restore', operation: 'RestoreFile', summary: 'Restore a file from the trash' },
  { method: 'DELETE', path: '/trash/{file_id}', operation: 'PurgeFile', summary: 'Purge a file from the trash' },

  { method: 'GET', path: '/stats', operation: 'GetStats', summary: 'Get the statistics overview' },
  { method: 'GET', path: '/stats/charts/api-calls', operation: 'GetApiCallsChart', summary: 'Get the API calls chart' },
  { method: 'GET', path: '/stats/charts/storage', operation: 'GetStorageChart', summary: 'Get the used storage chart' },
  { method: 'GET', path: '/stats/charts/uploads', operation: 'GetUploadsChart', summary: 'Get the uploads chart' },
  { method: 'GET', path: '/stats/by-context/api-calls', operation: 'GetApiCallsByContext', summary: 'List API calls by context' },
  { method: 'GET', path: '/stats/by-context/files', operation: 'GetFilesByContext', summary: 'List file totals by context' },
  { method: 'GET', path: '/stats/logs', operation: 'ListCallLogs', listedBy: 'call_id', summary: 'List call log entries' },

  { method: 'GET', path: '/audit-logs', operation: 'ListAuditLogs', listedBy: 'audit_id', summary: 'List audit log entries' },
  {
    method: 'GET',
    path: '/audit-logs/entity/{entity_type}/{entity_id}',
    operation: 'ListAuditLogsOfEntity',
    listedBy: 'audit_id',
    summary: 'List audit log entries of an entity',
  },

  {
    method: 'POST',
    path: '/upload-links',
    operation: 'CreateUploadLink',
    status: 201,
    message: 'Upload link created. Store the URL now: it cannot be shown again.',
    body: 'json',
    summary: 'Create an upload link',
  },
  { method: 'GET', path: '/upload-links', operation: 'ListUploadLinks', listedBy: 'link_id', summary: 'List upload links' },
  { method: 'GET', path: '/upload-links/{link_id}', operation: 'GetUploadLink', summary: 'Get an upload link' },
  { method: 'DELETE', path: '/upload-links/{link_id}', operation: 'RevokeUploadLink', summary: 'Revoke an upload link' },

  { method: 'GET', path: '/events', operation: 'ListEvents', streams: true, summary: 'List events' },

  { method: 'GET', path: '/tenant', operation: 'GetTenant', summary: 'Get the tenant' },
  { method: 'PATCH', path: '/tenant', operation: 'UpdateTenant', body: 'json', summary: 'Update the tenant' },

  {
    method: 'POST',
    path: '/webhooks',
    operation: 'CreateWebhook',
    status: 201,
    message: 'Webhook created. Store the secret now: it cannot be shown again.',
    body: 'json',
    summary: 'Create a webhook',
  },
  { method: 'GET', path: '/webhooks', operation: 'ListWebhooks', listedBy: 'webhook_id', summary: 'List webhooks' },
  { method: 'GET', path: '/webhooks/{webhook_id}', operation: 'GetWebhook', summary: 'Get a webhook' },
  {
    method: 'PATCH',
    path: '/webhooks/{webhook_id}',
    operation: 'UpdateWebhook',
    body: 'json',
    nullable: ['contexts'],
    summary: 'Update a webhook',
  },
  { method: 'DELETE', path: '/webhooks/{webhook_id}', operation: 'DeleteWebhook', summary: 'Delete a webhook' },
  { method: 'POST', path: '/webhooks/{webhook_id}/test', operation: 'TestWebhook', summary: 'Test a webhook' },
  {
    method: 'POST',
    path: '/webhooks/{webhook_id}/rotate-secret',
    operation: 'RotateWebhookSecret',
    message: 'Webhook secret rotated. Store the new secret now: it cannot be shown again.',
    summary: 'Rotate the secret of a webhook',
  },
  {
    method: 'GET',
    path: '/webhooks/{webhook_id}/deliveries',
    operation: 'ListWebhookDeliveries',
    listedBy: 'delivery_id',
    summary: 'List the deliveries of a webhook',
  },
  {
    method: 'POST',
    path: '/webhooks/{webhook_id}/replay',
    operation: 'ReplayWebhook',
    body: 'json',
    summary: 'Replay events to a webhook',
  },

  {
    method: 'GET',
    path: '/files/{file_id}/receipt',
    operation: 'GetFileReceipt',
    receipt: true,
    summary: 'Get the receipt of a file',
  },
  {
    method: 'GET',
    path: '/calls/{call_id}/receipt',
    operation: 'GetCallReceipt',
    receipt: true,
    summary: 'Get the receipt of an upload call',
  },
  {
    method: 'POST',
    path: '/log/share',
    operation: 'ShareLog',
    status: 201,
    message: 'Log token created. Store the token now: it cannot be shown again.',
    body: 'json',
    summary: 'Create a log access token',
  },
  { method: 'GET', path: '/log/shares', operation: 'ListLogShares', listedBy: 'share_id', summary: 'List log access tokens' },
  { method: 'DELETE', path: '/log/shares/{share_id}', operation: 'RevokeLogShare', summary: 'Revoke a log access token' },
]
