import type { Body, Caller, CallOptions, CreateOptions, Query } from './call.js'

/** Methods for contexts, which are sets of upload rules. */
export const createContextMethods = (caller: Caller) => ({
  list: (query: Query<'listContexts'> = {}, options?: CallOptions) => caller.request('listContexts', { query, ...options }),
  listAll: (query: Query<'listContexts'> = {}, options?: CallOptions) => caller.listAll('listContexts', { query, ...options }),
  get: (contextKey: string, options?: CallOptions) => caller.request('getContext', { path: [contextKey], ...options }),
  create: (body: Body<'createContext'>, options?: CreateOptions) => caller.request('createContext', { body, ...options }),
  update: (contextKey: string, body: Body<'updateContext'>, options?: CallOptions) =>
    caller.request('updateContext', { path: [contextKey], body, ...options }),
  /** Deletes a context that contains no files. */
  delete: (contextKey: string, options?: CallOptions) => caller.request('deleteContext', { path: [contextKey], ...options }),
  getPolicy: (contextKey: string, options?: CallOptions) =>
    caller.request('getContextPolicy', { path: [contextKey], ...options }),
  updatePolicy: (contextKey: string, body: Body<'updateContextPolicy'>, options?: CallOptions) =>
    caller.request('updateContextPolicy', { path: [contextKey], body, ...options }),
  /** Returns one page of rule versions, newest first. */
  listVersions: (contextKey: string, query: Query<'listContextVersions'> = {}, options?: CallOptions) =>
    caller.request('listContextVersions', { path: [contextKey], query, ...options }),
  /** Previews the effect of changed rules on the stored files, without changing the context. */
  preview: (contextKey: string, body: Body<'previewContext'>, options?: CallOptions) =>
    caller.request('previewContext', { path: [contextKey], body, ...options }),
  /** Starts a background rescan of all files in a context. */
  rescan: (contextKey: string, options?: CallOptions) => caller.request('rescanContext', { path: [contextKey], ...options }),
  getRescan: (contextKey: string, options?: CallOptions) =>
    caller.request('getContextRescan', { path: [contextKey], ...options }),
})

export const createApiKeyMethods = (caller: Caller) => ({
  list: (query: Query<'listApiKeys'> = {}, options?: CallOptions) => caller.request('listApiKeys', { query, ...options }),
  listAll: (query: Query<'listApiKeys'> = {}, options?: CallOptions) => caller.listAll('listApiKeys', { query, ...options }),
  get: (apiKeyId: string, options?: CallOptions) => caller.request('getApiKey', { path: [apiKeyId], ...options }),
  /** Creates an API key. The secret is returned only once. */
  create: (body: Body<'createApiKey'>, options?: CreateOptions) => caller.request('createApiKey', { body, ...options }),
  enable: (apiKeyId: string, options?: CallOptions) => caller.request('enableApiKey', { path: [apiKeyId], ...options }),
  disable: (apiKeyId: string, options?: CallOptions) => caller.request('disableApiKey', { path: [apiKeyId], ...options }),
  /** Revokes an API key permanently. */
  revoke: (apiKeyId: string, options?: CallOptions) => caller.request('revokeApiKey', { path: [apiKeyId], ...options }),
  /** Replaces an API key's secret. The new secret is returned only once. */
  rotate: (apiKeyId: string, body: Body<'rotateApiKey'> = {}, options?: CallOptions) =>
    caller.request('rotateApiKey', { path: [apiKeyId], body, ...options }),
})

/** Methods for existing upload links. `AssayClient.createUploadLink` creates new links. */
export const createUploadLinkMethods = (caller: Caller) => ({
  list: (query: Query<'listUploadLinks'> = {}, options?: CallOptions) => caller.request('listUploadLinks', { query, ...options }),
  listAll: (query: Query<'listUploadLinks'> = {}, options?: CallOptions) =>
    caller.listAll('listUploadLinks', { query, ...options }),
  get: (linkId: string, options?: CallOptions) => caller.request('getUploadLink', { path: [linkId], ...options }),
  /** Revokes an upload link immediately and permanently. */
  revoke: (linkId: string, options?: CallOptions) => caller.request('revokeUploadLink', { path: [linkId], ...options }),
})

/** Methods for the trash, which contains deleted files that can be restored. */
export const createTrashMethods = (caller: Caller) => ({
  list: (query: Query<'listTrash'> = {}, options?: CallOptions) => caller.request('listTrash', { query, ...options }),
  listAll: (query: Query<'listTrash'> = {}, options?: CallOptions) => caller.listAll('listTrash', { query, ...options }),
  restore: (fileId: string, options?: CallOptions) => caller.request('restoreFile', { path: [fileId], ...options }),
  /** Permanently deletes a file from the trash. */
  purge: (fileId: string, options?: CallOptions) => caller.request('purgeFile', { path: [fileId], ...options }),
})

/** Methods for the quarantine, which contains files in which a rescan found a virus. */
export const createQuarantineMethods = (caller: Caller) => ({
  list: (query: Query<'listQuarantine'> = {}, options?: CallOptions) => caller.request('listQuarantine', { query, ...options }),
  listAll: (query: Query<'listQuarantine'> = {}, options?: CallOptions) =>
    caller.listAll('listQuarantine', { query, ...options }),
  release: (fileId: string, body: Body<'releaseFromQuarantine'>, options?: CallOptions) =>
    caller.request('releaseFromQuarantine', { path: [fileId], body, ...options }),
  /** Deletes a quarantined file permanently. */
  purge: (fileId: string, options?: CallOptions) => caller.request('purgeFromQuarantine', { path: [fileId], ...options }),
})

/** Methods for holds, which prevent the deletion of files. */
export const createHoldMethods = (caller: Caller) => ({
  list: (query: Query<'listHolds'> = {}, options?: CallOptions) => caller.request('listHolds', { query, ...options }),
  listAll: (query: Query<'listHolds'> = {}, options?: CallOptions) => caller.listAll('listHolds', { query, ...options }),
  set: (fileId: string, body: Body<'holdFile'>, options?: CallOptions) =>
    caller.request('holdFile', { path: [fileId], body, ...options }),
  release: (fileId: string, options?: CallOptions) => caller.request('releaseHold', { path: [fileId], ...options }),
})

export const createStatisticsMethods = (caller: Caller) => ({
  overview: (options?: CallOptions) => caller.request('getStats', options),
  apiCallsChart: (query: Query<'getApiCallsChart'> = {}, options?: CallOptions) =>
    caller.request('getApiCallsChart', { query, ...options }),
  storageChart: (query: Query<'getStorageChart'> = {}, options?: CallOptions) =>
    caller.request('getStorageChart', { query, ...options }),
  uploadsChart: (query: Query<'getUploadsChart'> = {}, options?: CallOptions) =>
    caller.request('getUploadsChart', { query, ...options }),
  apiCallsByContext: (options?: CallOptions) => caller.request('getApiCallsByContext', options),
  filesByContext: (options?: CallOptions) => caller.request('getFilesByContext', options),
})

/** Methods for the call log and the audit log. */
export const createLogMethods = (caller: Caller) => ({
  listCalls: (query: Query<'listCallLogs'> = {}, options?: CallOptions) => caller.request('listCallLogs', { query, ...options }),
  listAllCalls: (query: Query<'listCallLogs'> = {}, options?: CallOptions) =>
    caller.listAll('listCallLogs', { query, ...options }),
  /** Exports all matching calls as JSON lines or CSV. Read the returned `Response` as a stream. */
  exportCalls: (query: Query<'exportCallLogs'> = {}, options?: CallOptions) =>
    caller.fetchResponse('exportCallLogs', { query, ...options }, returnUnreadResponse),
  /** Returns the receipt for an upload call. The receipt for a rejected upload proves the rejection. */
  getCallReceipt: (callId: string, options?: CallOptions) => caller.request('getCallReceipt', { path: [callId], ...options }),
  listAuditEntries: (query: Query<'listAuditLogs'> = {}, options?: CallOptions) =>
    caller.request('listAuditLogs', { query, ...options }),
  listAllAuditEntries: (query: Query<'listAuditLogs'> = {}, options?: CallOptions) =>
    caller.listAll('listAuditLogs', { query, ...options }),
  /** Returns one page of the audit log entries for one object, for example `listAuditEntriesOf('file', 'file_…')`. */
  listAuditEntriesOf: (entityType: string, entityId: string, query: Query<'listAuditLogsOfEntity'> = {}, options?: CallOptions) =>
    caller.request('listAuditLogsOfEntity', { path: [entityType, entityId], query, ...options }),
  /** Exports all matching audit log entries as JSON lines or CSV. Read the returned `Response` as a stream. */
  exportAuditEntries: (query: Query<'exportAuditLogs'> = {}, options?: CallOptions) =>
    caller.fetchResponse('exportAuditLogs', { query, ...options }, returnUnreadResponse),
})

export const createWebhookMethods = (caller: Caller) => ({
  list: (query: Query<'listWebhooks'> = {}, options?: CallOptions) => caller.request('listWebhooks', { query, ...options }),
  listAll: (query: Query<'listWebhooks'> = {}, options?: CallOptions) => caller.listAll('listWebhooks', { query, ...options }),
  get: (webhookId: string, options?: CallOptions) => caller.request('getWebhook', { path: [webhookId], ...options }),
  /** Creates a webhook. The secret is returned only once. */
  create: (body: Body<'createWebhook'>, options?: CallOptions) => caller.request('createWebhook', { body, ...options }),
  update: (webhookId: string, body: Body<'updateWebhook'>, options?: CallOptions) =>
    caller.request('updateWebhook', { path: [webhookId], body, ...options }),
  delete: (webhookId: string, options?: CallOptions) => caller.request('deleteWebhook', { path: [webhookId], ...options }),
  /** Sends a test event and returns the result of its delivery. */
  test: (webhookId: string, options?: CallOptions) => caller.request('testWebhook', { path: [webhookId], ...options }),
  /** Replaces a webhook's secret. The old secret stays valid for 24 hours. The new secret is returned only once. */
  rotateSecret: (webhookId: string, options?: CallOptions) =>
    caller.request('rotateWebhookSecret', { path: [webhookId], ...options }),
  listDeliveries: (webhookId: string, query: Query<'listWebhookDeliveries'> = {}, options?: CallOptions) =>
    caller.request('listWebhookDeliveries', { path: [webhookId], query, ...options }),
  /** Resends all events, starting with the sequence number `from_sequence`. */
  replay: (webhookId: string, body: Body<'replayWebhook'>, options?: CallOptions) =>
    caller.request('replayWebhook', { path: [webhookId], body, ...options }),
})

export const createTransparencyLogMethods = (caller: Caller) => ({
  /** Returns the latest checkpoint as a signed note. */
  getCheckpoint: (options?: CallOptions) =>
    caller.fetchResponse('getLogCheckpoint', { ...options }, (response) => response.text()),
  /** Returns the log's verifier key in signed-note format. */
  getKey: (options?: CallOptions) => caller.fetchResponse('getLogKey', { ...options }, (response) => response.text()),
  /** Returns the tile with the given path, such as `0/000` or `entries/000`. */
  getTile: (tile: string, options?: CallOptions) =>
    caller.fetchResponse(
      'getLogTile',
      { path: [tile], ...options },
      async (response) => new Uint8Array(await response.arrayBuffer()),
    ),
  /** Creates a token that lets an auditor read the log. The token is returned only once. */
  share: (body: Body<'shareLog'> = {}, options?: CallOptions) => caller.request('shareLog', { body, ...options }),
  listShares: (query: Query<'listLogShares'> = {}, options?: CallOptions) =>
    caller.request('listLogShares', { query, ...options }),
  revokeShare: (shareId: string, options?: CallOptions) => caller.request('revokeLogShare', { path: [shareId], ...options }),
})

/** Methods for the tenant to which the credential belongs. */
export const createTenantMethods = (caller: Caller) => ({
  get: (options?: CallOptions) => caller.request('getTenant', options),
  update: (body: Body<'updateTenant'>, options?: CallOptions) => caller.request('updateTenant', { body, ...options }),
})

const returnUnreadResponse = (response: Response): Response => response
