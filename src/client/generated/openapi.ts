// Made by npm run client:types; do not edit.
export interface paths {
    "/api/v1/api-keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List API keys
         * @description The tenant’s API keys, newest first.
         *
         *     Requires the scope `admin`.
         */
        get: operations["listApiKeys"];
        put?: never;
        /**
         * Create API key
         * @description Creates a key. Its secret is in this answer and nowhere else.
         *
         *     Requires the scope `admin`.
         */
        post: operations["createApiKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/api-keys/{api_key_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get API key
         * @description One API key.
         *
         *     Requires the scope `admin`.
         */
        get: operations["getApiKey"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/api-keys/{api_key_id}/enable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Enable API key
         * @description Enables a disabled key.
         *
         *     Requires the scope `admin`.
         */
        post: operations["enableApiKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/api-keys/{api_key_id}/disable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Disable API key
         * @description Disables an active key.
         *
         *     Requires the scope `admin`.
         */
        post: operations["disableApiKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/api-keys/{api_key_id}/revoke": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Revoke API key
         * @description Revokes a key, for good.
         *
         *     Requires the scope `admin`.
         */
        post: operations["revokeApiKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/api-keys/{api_key_id}/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Rotate API key
         * @description Gives a key a new secret; the old one lives on for graceSeconds.
         *
         *     Requires the scope `admin`.
         */
        post: operations["rotateApiKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/contexts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List file contexts
         * @description The tenant’s contexts, newest first.
         *
         *     Any valid credential.
         */
        get: operations["listContexts"];
        put?: never;
        /**
         * Create file context
         * @description Creates a context.
         *
         *     Requires the scope `admin`.
         */
        post: operations["createContext"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/contexts/{context_key}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get file context
         * @description One context, by its key.
         *
         *     Any valid credential.
         */
        get: operations["getContext"];
        put?: never;
        post?: never;
        /**
         * Delete file context
         * @description Deletes a context that holds no files.
         *
         *     Requires the scope `admin`.
         */
        delete: operations["deleteContext"];
        options?: never;
        head?: never;
        /**
         * Change file context
         * @description Changes a context; its key never changes.
         *
         *     Requires the scope `admin`.
         */
        patch: operations["updateContext"];
        trace?: never;
    };
    "/api/v1/contexts/{context_key}/policy": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get policy of a context
         * @description A context’s policy.
         *
         *     Requires the scope `admin`.
         */
        get: operations["getContextPolicy"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Change policy of a context
         * @description Changes a context’s policy.
         *
         *     Requires the scope `admin`.
         */
        patch: operations["updateContextPolicy"];
        trace?: never;
    };
    "/api/v1/contexts/{context_key}/versions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List versions of a context’s rules
         * @description The versions of a context’s rules and policy, newest first.
         *
         *     Requires the scope `admin`.
         */
        get: operations["listContextVersions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/contexts/{context_key}/preview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Preview a change of a context’s rules
         * @description What a change of a context or of its policy would have meant for the files that it holds. Changes nothing.
         *
         *     Requires the scope `admin`.
         */
        post: operations["previewContext"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/contexts/{context_key}/rescan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get progress of scanning the files of a context again
         * @description How far a context’s files have been scanned again.
         *
         *     Requires the scope `admin`.
         */
        get: operations["getContextRescan"];
        put?: never;
        /**
         * Scan the files of a context again
         * @description Has a context’s files scanned again in the background, newest first; where that is under way it goes on. A context that does not scan is left out.
         *
         *     Requires the scope `admin`.
         */
        post: operations["rescanContext"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/files/upload": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Upload file
         * @description Tests a file against its context’s rules and keeps it.
         *
         *     Requires the scope `upload`.
         */
        post: operations["uploadFile"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/files/validate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Test a file and keep nothing
         * @description Tests a file and keeps nothing: the report that an upload would get.
         *
         *     Requires the scope `upload`.
         */
        post: operations["validateFile"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/files": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List files
         * @description The tenant’s files, newest first.
         *
         *     Requires the scope `metadata`.
         */
        get: operations["listFiles"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/files/{file_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get download URL
         * @description Makes a pre-signed, short-lived download URL. It dies with the credential that asked for it; that of a bucket cannot, and lives out its five minutes.
         *
         *     Requires the scope `download`.
         */
        get: operations["createDownloadUrl"];
        put?: never;
        post?: never;
        /**
         * Delete file
         * @description Deletes a file, at once for every reader.
         *
         *     Requires the scope `delete`.
         */
        delete: operations["deleteFile"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/files/delete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Delete up to 100 files
         * @description Deletes up to 100 files, each as deleting it alone would; one that is refused keeps no other.
         *
         *     Requires the scope `delete`.
         */
        post: operations["deleteFiles"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/files/{file_id}/metadata": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get file metadata
         * @description One file’s metadata.
         *
         *     Requires the scope `metadata`.
         */
        get: operations["getFileMetadata"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/files/{file_id}/validation": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the validation report kept with a file
         * @description The latest validation report on a file.
         *
         *     Requires the scope `metadata`.
         */
        get: operations["getFileValidation"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/files/{file_id}/validations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the validation reports on a file
         * @description The reports on a file, the latest first: of its upload, and of each scan since.
         *
         *     Requires the scope `admin`.
         */
        get: operations["listFileValidations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/quarantine": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List quarantined files
         * @description The tenant’s quarantined files, the latest first.
         *
         *     Requires the scope `admin`.
         */
        get: operations["listQuarantine"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/quarantine/{file_id}/release": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Release a quarantined file
         * @description Gives a quarantined file back to its readers; it stays so until the scanner’s signatures change.
         *
         *     Requires the scope `admin`.
         */
        post: operations["releaseFromQuarantine"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/quarantine/{file_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Delete a quarantined file for good
         * @description Deletes a quarantined file for good.
         *
         *     Requires the scope `admin`.
         */
        delete: operations["purgeFromQuarantine"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/files/{file_id}/hold": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Put a file on hold
         * @description Puts a file on hold: until it is lifted, nothing deletes the file.
         *
         *     Requires the scope `admin`.
         */
        put: operations["holdFile"];
        post?: never;
        /**
         * Lift the hold of a file
         * @description Lifts the hold of a file.
         *
         *     Requires the scope `admin`.
         */
        delete: operations["releaseHold"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/holds": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List holds
         * @description Files that are on hold, the latest first.
         *
         *     Requires the scope `admin`.
         */
        get: operations["listHolds"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/trash": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List files in the trash
         * @description Files that were deleted and can be restored, the latest first.
         *
         *     Requires the scope `delete`.
         */
        get: operations["listTrash"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/trash/{file_id}/restore": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Restore a file from the trash
         * @description Puts a file of the trash back, as it was.
         *
         *     Requires the scope `delete`.
         */
        post: operations["restoreFile"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/trash/{file_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Take a file out of the trash for good
         * @description Takes a file out of the trash for good, at once.
         *
         *     Requires the scope `delete`.
         */
        delete: operations["purgeFile"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/stats": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Statistics overview
         * @description The statistics overview.
         *
         *     Requires the scope `metadata`.
         *
         *     Not for a key that is restricted to some contexts.
         */
        get: operations["getStats"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/stats/charts/api-calls": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Chart of calls
         * @description Calls over time.
         *
         *     Requires the scope `metadata`.
         *
         *     Not for a key that is restricted to some contexts.
         */
        get: operations["getApiCallsChart"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/stats/charts/storage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Chart of storage
         * @description Storage over time.
         *
         *     Requires the scope `metadata`.
         *
         *     Not for a key that is restricted to some contexts.
         */
        get: operations["getStorageChart"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/stats/charts/uploads": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Chart of uploads
         * @description Uploads over time.
         *
         *     Requires the scope `metadata`.
         *
         *     Not for a key that is restricted to some contexts.
         */
        get: operations["getUploadsChart"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/stats/by-context/api-calls": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Calls by context
         * @description All calls by context, most first.
         *
         *     Requires the scope `metadata`.
         */
        get: operations["getApiCallsByContext"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/stats/by-context/files": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Files by context
         * @description Files by context, most bytes first.
         *
         *     Requires the scope `metadata`.
         */
        get: operations["getFilesByContext"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/stats/logs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * API call logs
         * @description The call log, newest first.
         *
         *     Requires the scope `metadata`.
         *
         *     Not for a key that is restricted to some contexts.
         */
        get: operations["listCallLogs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/audit-logs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Audit logs
         * @description The audit trail, newest first.
         *
         *     Requires the scope `admin`.
         */
        get: operations["listAuditLogs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/audit-logs/entity/{entity_type}/{entity_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Audit logs of one entity
         * @description The audit trail of one thing, newest first.
         *
         *     Requires the scope `admin`.
         */
        get: operations["listAuditLogsOfEntity"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Events of the tenant
         * @description The tenant’s events behind a place in its journal, in the order of commits.
         *
         *     Requires the scope `admin`.
         *
         *     Not for a key that is restricted to some contexts.
         */
        get: operations["listEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenant": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the tenant
         * @description The tenant that the credential belongs to.
         *
         *     Requires the scope `admin`.
         */
        get: operations["getTenant"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Change the tenant
         * @description Changes the tenant’s name or quota.
         *
         *     Requires the scope `admin`.
         */
        patch: operations["updateTenant"];
        trace?: never;
    };
    "/api/v1/webhooks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List webhooks
         * @description The tenant’s webhooks, newest first.
         *
         *     Requires the scope `admin`.
         */
        get: operations["listWebhooks"];
        put?: never;
        /**
         * Create webhook
         * @description Creates a webhook. Its secret is in this answer and nowhere else.
         *
         *     Requires the scope `admin`.
         */
        post: operations["createWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webhooks/{webhook_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get webhook
         * @description One webhook.
         *
         *     Requires the scope `admin`.
         */
        get: operations["getWebhook"];
        put?: never;
        post?: never;
        /**
         * Delete webhook
         * @description Deletes a webhook with what is known of its deliveries.
         *
         *     Requires the scope `admin`.
         */
        delete: operations["deleteWebhook"];
        options?: never;
        head?: never;
        /**
         * Change, disable or enable webhook
         * @description Changes, disables or enables a webhook.
         *
         *     Requires the scope `admin`.
         */
        patch: operations["updateWebhook"];
        trace?: never;
    };
    "/api/v1/webhooks/{webhook_id}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a test to a webhook
         * @description Sends a webhook.test at once, and answers with what came of it.
         *
         *     Requires the scope `admin`.
         */
        post: operations["testWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webhooks/{webhook_id}/rotate-secret": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Rotate webhook secret
         * @description Gives a webhook a new secret; for 24 hours the old one signs too.
         *
         *     Requires the scope `admin`.
         */
        post: operations["rotateWebhookSecret"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webhooks/{webhook_id}/deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List deliveries to a webhook
         * @description What was sent to a webhook, newest first: its latest 1,000 deliveries.
         *
         *     Requires the scope `admin`.
         */
        get: operations["listWebhookDeliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webhooks/{webhook_id}/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send events to a webhook again
         * @description Sends again from an event on, which is included.
         *
         *     Requires the scope `admin`.
         */
        post: operations["replayWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/files/{file_id}/receipt": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the receipt of a file
         * @description The signed receipt of a verdict, with the proof that it stands in the log.
         *
         *     Requires the scope `metadata`.
         */
        get: operations["getFileReceipt"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/calls/{call_id}/receipt": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the receipt of an upload, also of a rejected one
         * @description The signed receipt of a verdict, with the proof that it stands in the log.
         *
         *     Requires the scope `metadata`.
         */
        get: operations["getCallReceipt"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/log/share": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create log token
         * @description Makes a token that reads the log and nothing else, for an auditor.
         *
         *     Requires the scope `admin`.
         */
        post: operations["shareLog"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/log/shares": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List tokens of the log
         * @description The tokens that read the log, newest first.
         *
         *     Requires the scope `admin`.
         */
        get: operations["listLogShares"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/log/shares/{share_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * End a token of the log
         * @description Ends a token of the log, at once.
         *
         *     Requires the scope `admin`.
         */
        delete: operations["revokeLogShare"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/stats/logs/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Export API call logs
         * @description All entries that the filters leave, as a stream, newest first.
         *
         *     Requires the scope `metadata`.
         *
         *     Not for a key that is restricted to some contexts.
         */
        get: operations["exportCallLogs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/audit-logs/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Export audit logs
         * @description All entries that the filters leave, as a stream, newest first.
         *
         *     Requires the scope `admin`.
         */
        get: operations["exportAuditLogs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/log/checkpoint": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the signed state of the log
         * @description Everything that was answered before is in it (https://c2sp.org/tlog-checkpoint).
         *
         *     Not for a key that is restricted to some contexts. A token of `POST /log/share` will do.
         *
         *     Requires the scope `admin`.
         */
        get: operations["getLogCheckpoint"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/log/key": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the key of the log
         * @description The verifier key of its checkpoints (https://c2sp.org/signed-note). The same key is in /.well-known/jwks.json.
         *
         *     Not for a key that is restricted to some contexts. A token of `POST /log/share` will do.
         *
         *     Requires the scope `admin`.
         */
        get: operations["getLogKey"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/log/tile/{tile}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a tile of the log
         * @description Hashes, or the entries themselves: each event as canonical JSON (RFC 8785) behind its length in two bytes (https://c2sp.org/tlog-tiles). It never changes.
         *
         *     Not for a key that is restricted to some contexts. A token of `POST /log/share` will do.
         *
         *     Requires the scope `admin`.
         */
        get: operations["getLogTile"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /**
         * @description What a credential may do.
         *     - `upload`: Upload and validate files.
         *     - `download`: Make download URLs.
         *     - `metadata`: Read lists, metadata, statistics and the call log.
         *     - `delete`: Delete files.
         *     - `admin`: Everything; alone for keys, contexts, the audit log and the tenant.
         * @enum {string}
         */
        Scope: "upload" | "download" | "metadata" | "delete" | "admin";
        CreateApiKeyBody: {
            /** @description 1 to 255 characters. */
            name: string;
            /**
             * @description What it may do.
             * @default [
             *       "upload",
             *       "download"
             *     ]
             */
            scopes?: components["schemas"]["Scope"][] | null;
            /**
             * Format: int32
             * @description 1 to 365; null: it never expires.
             */
            expires_in_days?: number | null;
            /** @description The caller’s own facts: at most 16 KiB. */
            metadata?: {
                [key: string]: unknown;
            } | null;
            /** @description Keys of the only contexts that it may see; null: all. */
            contexts?: string[] | null;
        };
        /** @description A new key with its secret, which is shown this once. */
        NewApiKey: {
            /** @description Shape key_…. */
            api_key_id: string;
            /** @description The secret: assay_ and 43 characters. Shown this once. */
            api_key: string;
            /** @description 1 to 255 characters. */
            name: string;
            /** @description What it may do. */
            scopes: components["schemas"]["Scope"][];
            /**
             * Format: date-time
             * @description When it expires; null: never.
             */
            expires_at: string | null;
        };
        BadUserInputError: {
            /** @constant */
            code: "bad_user_input";
            details: {
                /** @description All faults at once, in the spelling of the request. */
                fields: {
                    field: string;
                    message: string;
                }[];
            };
        };
        UnauthenticatedError: {
            /** @constant */
            code: "unauthenticated";
            /** @description The same for programs. */
            details: {
                [key: string]: unknown;
            };
        };
        ForbiddenError: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            code: "forbidden";
            /** @description The same for programs. */
            details: {
                [key: string]: unknown;
            };
        };
        ConflictError: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            code: "conflict";
            /** @description The same for programs. */
            details: {
                [key: string]: unknown;
            };
        };
        IdempotencyMismatchError: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            code: "idempotency_mismatch";
            /** @description The same for programs. */
            details: {
                [key: string]: unknown;
            };
        };
        UnsupportedMediaTypeError: {
            /** @constant */
            code: "unsupported_media_type";
            /** @description The same for programs. */
            details: {
                [key: string]: unknown;
            };
        };
        RateLimitedError: {
            /** @constant */
            code: "rate_limited";
            details: {
                /**
                 * Format: int64
                 * @description Seconds; the same as Retry-After.
                 */
                retry_after?: number;
            } & {
                [key: string]: unknown;
            };
        };
        InternalServerError: {
            /** @constant */
            code: "internal_server_error";
            /** @description The same for programs. */
            details: {
                [key: string]: unknown;
            };
        };
        DatabaseUnavailableError: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            code: "database_unavailable";
            /** @description The same for programs. */
            details: {
                [key: string]: unknown;
            };
        };
        OverloadedError: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            code: "overloaded";
            /** @description The same for programs. */
            details: {
                [key: string]: unknown;
            };
        };
        /**
         * @description Whether a key is accepted.
         *     - `active`: It is.
         *     - `disabled`: Not until it is enabled.
         *     - `revoked`: Never again.
         * @enum {string}
         */
        ApiKeyStatus: "active" | "disabled" | "revoked";
        /** @description An API key, without its secret, which cannot be retrieved. */
        ApiKey: {
            /** @description Shape key_…. */
            api_key_id: string;
            /** @description 1 to 255 characters. */
            name: string;
            /** @description How its secret begins: enough to tell which key leaked. */
            key_prefix: string;
            /** @description What it may do. */
            scopes: components["schemas"]["Scope"][];
            /** @description Whether it is accepted. */
            status: components["schemas"]["ApiKeyStatus"];
            /**
             * Format: date-time
             * @description When it expires; null: never.
             */
            expires_at: string | null;
            /**
             * Format: date-time
             * @description When it was last used; what other replicas saw follows within seconds.
             */
            last_used_at: string | null;
            /** @description The caller’s own facts. */
            metadata: {
                [key: string]: unknown;
            };
            /** @description Who made it: key_…, usr_… or system. */
            created_by: string;
            /**
             * Format: date-time
             * @description When it was created.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it was last changed.
             */
            updated_at: string;
        };
        /** @description Where a page stands in its list. */
        Pagination: {
            /**
             * Format: int32
             * @description This page, from 1.
             */
            page: number;
            /**
             * Format: int32
             * @description Items asked for.
             */
            page_size: number;
            /**
             * Format: int64
             * @description Items in the whole list, exact.
             */
            total_items: number;
            /**
             * Format: int64
             * @description Pages in the whole list.
             */
            total_pages: number;
            /** @description Whether a page follows. */
            has_next: boolean;
            /** @description Whether a page precedes. */
            has_previous: boolean;
        };
        /** @description A page of a list of ApiKey items. */
        ApiKeyPage: {
            /** @description The items, newest first unless said otherwise. */
            data: components["schemas"]["ApiKey"][];
            /** @description Where this page stands. */
            pagination: components["schemas"]["Pagination"];
        };
        NotFoundError: {
            /** @constant */
            code: "not_found";
            /** @description The same for programs. */
            details: {
                [key: string]: unknown;
            };
        };
        RotateApiKeyBody: {
            /**
             * Format: int32
             * @description Seconds for which the old secret lives on: 0 to 86,400.
             * @default 0
             */
            grace_seconds?: number | null;
        };
        CreateContextBody: {
            /** @description A lower-case letter, then up to 62 lower-case letters, digits and underscores. */
            context_key: string;
            /** @description 1 to 255 characters. */
            display_name: string;
            /** @description 1 to 100 extensions, in any case, with or without the dot. */
            allowed_extensions: string[];
            /**
             * Format: int32
             * @description Largest file, in MB: 1 to MAX_UPLOAD_MB.
             */
            max_file_size_mb: number;
            /**
             * @description What it is for.
             * @default
             */
            description?: string | null;
            /**
             * @description Where its blobs go.
             * @default {context_key}/{year}/{month}
             */
            storage_path_template?: string | null;
            /**
             * @description Whether blank files are refused.
             * @default true
             */
            reject_blank_files?: boolean | null;
            /**
             * @description Whether files that cannot be opened are refused.
             * @default true
             */
            reject_corrupt_files?: boolean | null;
            /**
             * @description Whether files are scanned for viruses.
             * @default true
             */
            scan_for_viruses?: boolean | null;
            /**
             * Format: int32
             * @description Quota, in MB: at least 1.
             * @default 10240
             */
            storage_quota_mb?: number | null;
            /** @description The caller’s own facts: at most 16 KiB. */
            metadata?: {
                [key: string]: unknown;
            } | null;
        };
        /**
         * @description Whether a context takes uploads.
         *     - `active`: It takes uploads.
         *     - `disabled`: It takes none; its files stay.
         * @enum {string}
         */
        ContextStatus: "active" | "disabled";
        /** @description A set of upload rules, and the place of the files that passed them. */
        FileContext: {
            /** @description Shape ctx_…. */
            context_id: string;
            /** @description Its name in paths and upload forms; unique in the tenant, never changes. */
            context_key: string;
            /** @description Whose it is: shape ten_…. */
            tenant_id: string;
            /** @description Its name for people. */
            display_name: string;
            /** @description What it is for. */
            description: string;
            /** @description Extensions without the dot, in lower case. */
            allowed_extensions: string[];
            /**
             * Format: int32
             * @description Largest file, in MB of 1,048,576 bytes; a file of exactly the limit passes.
             */
            max_file_size_mb: number;
            /** @description Where its blobs go: {context_key}, {year} and {month} are filled in. */
            storage_path_template: string;
            /** @description Whether blank files are refused. */
            reject_blank_files: boolean;
            /** @description Whether files that their programs cannot open are refused. */
            reject_corrupt_files: boolean;
            /** @description Whether files are scanned for viruses. */
            scan_for_viruses: boolean;
            /**
             * Format: int32
             * @description Quota of the context, in MB.
             */
            storage_quota_mb: number;
            /**
             * Format: int64
             * @description Bytes of the files that it holds, exact.
             */
            storage_used_bytes: number;
            /** @description Whether it takes uploads. */
            status: components["schemas"]["ContextStatus"];
            /** @description The caller’s own facts. */
            metadata: {
                [key: string]: unknown;
            };
            /**
             * Format: date-time
             * @description When it was created.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it was last changed.
             */
            updated_at: string;
        };
        /** @description A page of a list of FileContext items. */
        FileContextPage: {
            /** @description The items, newest first unless said otherwise. */
            data: components["schemas"]["FileContext"][];
            /** @description Where this page stands. */
            pagination: components["schemas"]["Pagination"];
        };
        UpdateContextBody: {
            /** @description 1 to 255 characters. */
            display_name?: string;
            /** @description 1 to 100 extensions. */
            allowed_extensions?: string[];
            /**
             * Format: int32
             * @description Largest file, in MB: 1 to MAX_UPLOAD_MB.
             */
            max_file_size_mb?: number;
            /** @description What it is for. */
            description?: string;
            /** @description Where new blobs go; files keep their paths. */
            storage_path_template?: string;
            /** @description Whether blank files are refused. */
            reject_blank_files?: boolean;
            /** @description Whether files that cannot be opened are refused. */
            reject_corrupt_files?: boolean;
            /** @description Whether files are scanned for viruses. */
            scan_for_viruses?: boolean;
            /**
             * Format: int32
             * @description Quota, in MB: at least 1.
             */
            storage_quota_mb?: number;
            /** @description Replaces the caller’s own facts. */
            metadata?: {
                [key: string]: unknown;
            };
            /** @description Whether it takes uploads. */
            status?: components["schemas"]["ContextStatus"];
        };
        /** @description What a context does with files that its checks leave to it. */
        ContextPolicy: {
            /**
             * Format: int32
             * @description Days after which files are deleted by the service itself; null: never.
             */
            retention_days: number | null;
            /**
             * Format: int32
             * @description Days for which a deleted file can be restored; 0: not at all.
             */
            trash_days: number;
            /** @description Whether files that cannot be opened without a password are refused: encrypted_file. */
            reject_encrypted_files: boolean;
            /** @description Whether files with macros, scripts, launch actions, attachments or external references are refused: active_content. */
            reject_active_content: boolean;
            /** @description Whether files are kept that the scanner could not look at completely; their report says so. Else scan_incomplete. */
            accept_unscanned: boolean;
            /** @description Whether files are scanned again when the scanner’s signatures change. */
            rescan: boolean;
        };
        UpdateContextPolicyBody: {
            /**
             * Format: int32
             * @description Days after which files are deleted by the service itself; null: never.
             */
            retention_days?: number | null;
            /**
             * Format: int32
             * @description Days for which a deleted file can be restored: 0 (not at all) to 365.
             */
            trash_days?: number;
            /** @description Whether files that cannot be opened without a password are refused. */
            reject_encrypted_files?: boolean;
            /** @description Whether files with active content are refused. */
            reject_active_content?: boolean;
            /** @description Whether files are kept that the scanner could not look at completely. */
            accept_unscanned?: boolean;
            /** @description Whether files are scanned again when the signatures change. */
            rescan?: boolean;
        };
        /** @description What a context asks of files: its rules and its policy. */
        ContextRules: {
            /** @description Extensions without the dot, in lower case. */
            allowed_extensions: string[];
            /**
             * Format: int32
             * @description Largest file, in MB of 1,048,576 bytes.
             */
            max_file_size_mb: number;
            /** @description Whether blank files are refused. */
            reject_blank_files: boolean;
            /** @description Whether files that their programs cannot open are refused. */
            reject_corrupt_files: boolean;
            /** @description Whether files are scanned for viruses. */
            scan_for_viruses: boolean;
            /** @description Its policy. */
            policy: components["schemas"]["ContextPolicy"];
        };
        /** @description The rules of a context from one change to the next. */
        ContextVersion: {
            /**
             * Format: int32
             * @description Counted from 1. Every report says by which version it was judged.
             */
            version: number;
            /** @description Who made the change: usr_…, key_… or system. */
            changed_by: string;
            /**
             * Format: date-time
             * @description When it was made.
             */
            changed_at: string;
            /** @description What has applied from then on. */
            rules: components["schemas"]["ContextRules"];
        };
        /** @description A page of a list of ContextVersion items. */
        ContextVersionPage: {
            /** @description The items, newest first unless said otherwise. */
            data: components["schemas"]["ContextVersion"][];
            /** @description Where this page stands. */
            pagination: components["schemas"]["Pagination"];
        };
        UpdateContextPolicyInput: {
            /**
             * Format: int32
             * @description Days after which files are deleted by the service itself; null: never.
             */
            retention_days?: number | null;
            /**
             * Format: int32
             * @description Days for which a deleted file can be restored: 0 (not at all) to 365.
             */
            trash_days?: number;
            /** @description Whether files that cannot be opened without a password are refused. */
            reject_encrypted_files?: boolean;
            /** @description Whether files with active content are refused. */
            reject_active_content?: boolean;
            /** @description Whether files are kept that the scanner could not look at completely. */
            accept_unscanned?: boolean;
            /** @description Whether files are scanned again when the signatures change. */
            rescan?: boolean;
        };
        PreviewContextBody: {
            /** @description 1 to 255 characters. */
            display_name?: string | null;
            /** @description What it is for. */
            description?: string | null;
            /** @description 1 to 100 extensions. */
            allowed_extensions?: string[] | null;
            /**
             * Format: int32
             * @description Largest file, in MB: 1 to MAX_UPLOAD_MB.
             */
            max_file_size_mb?: number | null;
            /** @description Where new blobs go; files keep their paths. */
            storage_path_template?: string | null;
            /** @description Whether blank files are refused. */
            reject_blank_files?: boolean | null;
            /** @description Whether files that cannot be opened are refused. */
            reject_corrupt_files?: boolean | null;
            /** @description Whether files are scanned for viruses. */
            scan_for_viruses?: boolean | null;
            /**
             * Format: int32
             * @description Quota, in MB: at least 1.
             */
            storage_quota_mb?: number | null;
            status?: components["schemas"]["ContextStatus"] | null;
            /** @description Replaces the caller’s own facts. */
            metadata?: {
                [key: string]: unknown;
            } | null;
            policy?: components["schemas"]["UpdateContextPolicyInput"] | null;
        };
        /** @description Files by the reason for which they would be refused. */
        FilesByReason: {
            /**
             * Format: int64
             * @description By their extension.
             */
            invalid_extension: number;
            /**
             * Format: int64
             * @description By their size.
             */
            size_exceeded: number;
            /**
             * Format: int64
             * @description Without content.
             */
            blank_file: number;
            /**
             * Format: int64
             * @description With a password.
             */
            encrypted_file: number;
            /**
             * Format: int64
             * @description With active content.
             */
            active_content: number;
            /**
             * Format: int64
             * @description In which a later scan found a virus.
             */
            virus_detected: number;
            /**
             * Format: int64
             * @description That the scanner could not look at completely.
             */
            scan_incomplete: number;
        };
        /**
         * @description What went wrong: in REST the code of the error, here in extensions.code in upper case.
         *     - `invalid_extension`: The extension is not allowed, or the content is of another type.
         *     - `size_exceeded`: More bytes than the context allows.
         *     - `blank_file`: No bytes, or nothing but blanks.
         *     - `corrupt_file`: The usual programs cannot open it, or it is a trap.
         *     - `virus_detected`: The scanner named a signature.
         *     - `bad_user_input`: A field, a parameter or the body is at fault.
         *     - `unauthenticated`: No, an unknown, a malformed, disabled, revoked or expired credential.
         *     - `forbidden`: The credential lacks the scope or is restricted to other contexts, or its tenant is suspended.
         *     - `quarantined`: The file is quarantined: a later scan found a virus in it, or it was restored and waits for its scan.
         *     - `not_found`: There is no such thing in this tenant.
         *     - `method_not_allowed`: The path has other methods.
         *     - `conflict`: It exists already, its state does not allow it, or the key of this Idempotency-Key was made before.
         *     - `on_hold`: The file is on hold, and cannot be deleted before the hold is lifted.
         *     - `idempotency_mismatch`: The Idempotency-Key was used with another body.
         *     - `unsupported_media_type`: The body is of another type.
         *     - `encrypted_file`: It cannot be opened without a password.
         *     - `active_content`: It holds what runs or loads without a click, or programs: macros, scripts, attachments.
         *     - `scan_incomplete`: The scanner could not look at all of it.
         *     - `quota_exceeded`: It does not fit the quota of the context or of the tenant.
         *     - `rate_limited`: Too many calls; see Retry-After.
         *     - `internal_server_error`: A fault of ours; it was logged under the request id.
         *     - `scanner_unavailable`: The scanner cannot be asked; nothing was stored.
         *     - `storage_unavailable`: The store cannot be used; nothing was stored.
         *     - `database_unavailable`: The database cannot be reached; look before you repeat what changes something, or repeat it with its Idempotency-Key.
         *     - `overloaded`: Too much waits already; try again.
         * @enum {string}
         */
        ErrorCode: "invalid_extension" | "size_exceeded" | "blank_file" | "corrupt_file" | "virus_detected" | "bad_user_input" | "unauthenticated" | "forbidden" | "quarantined" | "not_found" | "method_not_allowed" | "conflict" | "on_hold" | "idempotency_mismatch" | "unsupported_media_type" | "encrypted_file" | "active_content" | "scan_incomplete" | "quota_exceeded" | "rate_limited" | "internal_server_error" | "scanner_unavailable" | "storage_unavailable" | "database_unavailable" | "overloaded";
        /** @description One file that would be refused. */
        FileAtOdds: {
            /** @description Shape file_…. */
            file_id: string;
            /** @description The client’s name for it, cleaned. */
            original_filename: string;
            /** @description The first reason that is certain. */
            reason: components["schemas"]["ErrorCode"];
            /** @description The same for people. */
            message: string;
        };
        /** @description What a change of rules would have meant for the files that a context holds, judged by what is kept of them. */
        ContextPreview: {
            /**
             * Format: int64
             * @description Files that it holds.
             */
            files: number;
            /**
             * Format: int64
             * @description Those that would have been refused for certain.
             */
            would_be_rejected: number;
            /**
             * Format: int64
             * @description Those of which only reading them again would tell.
             */
            undecided: number;
            /** @description Those that would have been refused, by the first reason that is certain. */
            by_reason: components["schemas"]["FilesByReason"];
            /** @description Up to 20 of them, the newest. */
            sample: components["schemas"]["FileAtOdds"][];
        };
        /**
         * @description Status of the rescan of a context.
         *     - `off`: The context does not scan its files.
         *     - `none`: No rescan has started.
         *     - `running`: Files are being scanned, or wait to be scanned.
         *     - `paused`: The scanner or the store is unavailable, or a file waits for its next attempt. The rescan continues automatically.
         *     - `finished`: All files are done.
         * @enum {string}
         */
        RescanStatus: "off" | "none" | "running" | "paused" | "finished";
        /** @description How far the files of a context have been scanned again, the last time. */
        RescanProgress: {
            /** @description The context. */
            context_key: string;
            /** @description Where it stands. */
            status: components["schemas"]["RescanStatus"];
            /** @description The signatures that files are scanned with; null before the first time. */
            signatures: string | null;
            /**
             * Format: int64
             * @description Files to be looked at.
             */
            files: number;
            /**
             * Format: int64
             * @description Files that were looked at: scanned, or found to have a report by these signatures.
             */
            files_done: number;
            /**
             * Format: int64
             * @description Files that were scanned.
             */
            files_scanned: number;
            /**
             * Format: int64
             * @description Bytes that were scanned.
             */
            bytes_scanned: number;
            /**
             * Format: int64
             * @description Files that were found infected, and quarantined.
             */
            files_quarantined: number;
            /**
             * Format: int64
             * @description Files that could not be scanned: their stored content is missing or damaged, or three attempts failed.
             */
            files_failed: number;
            /**
             * Format: date-time
             * @description When it was begun.
             */
            started_at: string | null;
            /**
             * Format: date-time
             * @description When all files had been looked at.
             */
            finished_at: string | null;
        };
        ScannerUnavailableError: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            code: "scanner_unavailable";
            /** @description The same for programs. */
            details: {
                [key: string]: unknown;
            };
        };
        /** @description A context that was deleted. */
        DeletedContext: {
            /** @description Shape ctx_…. */
            context_id: string;
            /** @description Its key, free again. */
            context_key: string;
        };
        UploadFileBody: {
            /**
             * Format: binary
             * @description The file.
             */
            file: string;
            /** @description The context whose rules it is tested against. */
            context: string;
            /** @description The uploader’s own facts: at most 16 KiB. */
            metadata?: {
                [key: string]: unknown;
            };
        };
        /** @description A file that passed its context’s rules and is kept. */
        File: {
            /** @description Shape file_…. */
            file_id: string;
            /** @description The client’s name for it, cleaned. */
            original_filename: string;
            /** @description What the content is found to be, never what the client claimed. */
            content_type: string;
            /**
             * Format: int64
             * @description Bytes.
             */
            size_bytes: number;
            /** @description The context that it was uploaded into. */
            context_key: string;
        };
        InvalidExtensionError: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            code: "invalid_extension";
            details: {
                /** @description Of the file name, without the dot. */
                extension?: string;
                /** @description Where the context does not allow the extension. */
                allowed?: string[];
                /** @description The type that the content is of, where it is another one. */
                recognised?: string;
                content_type?: string;
            } & {
                [key: string]: unknown;
            };
        };
        BlankFileError: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            code: "blank_file";
            /** @description The same for programs. */
            details: {
                [key: string]: unknown;
            };
        };
        CorruptFileError: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            code: "corrupt_file";
            /** @description The same for programs. */
            details: {
                [key: string]: unknown;
            };
        };
        VirusDetectedError: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            code: "virus_detected";
            details: {
                signature?: string;
                engine?: string;
            } & {
                [key: string]: unknown;
            };
        };
        EncryptedFileError: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            code: "encrypted_file";
            /** @description The same for programs. */
            details: {
                [key: string]: unknown;
            };
        };
        ActiveContentError: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            code: "active_content";
            details: {
                /** @description What was found, in a few words each. */
                active_content?: string[];
            } & {
                [key: string]: unknown;
            };
        };
        ScanIncompleteError: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            code: "scan_incomplete";
            /** @description The same for programs. */
            details: {
                [key: string]: unknown;
            };
        };
        QuotaExceededError: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            code: "quota_exceeded";
            details: {
                /** Format: int64 */
                quota_mb?: number;
                /** Format: int64 */
                used_bytes?: number;
                /** Format: int64 */
                remaining_bytes?: number;
                /** Format: int64 */
                size_bytes?: number;
            } & {
                [key: string]: unknown;
            };
        };
        SizeExceededError: {
            /** @constant */
            code: "size_exceeded";
            /** @description The same for programs. */
            details: {
                [key: string]: unknown;
            };
        };
        StorageUnavailableError: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            code: "storage_unavailable";
            /** @description The same for programs. */
            details: {
                [key: string]: unknown;
            };
        };
        ValidateFileBody: {
            /**
             * Format: binary
             * @description The file.
             */
            file: string;
            /** @description The context whose rules it is tested against. */
            context: string;
        };
        /**
         * @description What became of a file.
         *     - `accepted`: It passed every check.
         *     - `rejected`: A check failed.
         * @enum {string}
         */
        ValidationOutcome: "accepted" | "rejected";
        /**
         * @description Why a file is refused; also the code of the error.
         *     - `invalid_extension`: The extension is not allowed, or the content is of another type.
         *     - `size_exceeded`: More bytes than the context allows.
         *     - `blank_file`: No bytes, or nothing but blanks.
         *     - `corrupt_file`: The usual programs cannot open it, or it is a trap.
         *     - `virus_detected`: The scanner named a signature.
         *     - `encrypted_file`: It cannot be opened without a password.
         *     - `active_content`: It holds what runs or loads without a click, or programs: macros, scripts, attachments.
         *     - `scan_incomplete`: The scanner could not look at all of it.
         * @enum {string}
         */
        RefusalReason: "invalid_extension" | "size_exceeded" | "blank_file" | "corrupt_file" | "virus_detected" | "encrypted_file" | "active_content" | "scan_incomplete";
        /**
         * @description What a check decides; a check is named after the reason that it decides.
         *     - `invalid_extension`: The extension is not allowed, or the content is of another type.
         *     - `size_exceeded`: More bytes than the context allows.
         *     - `blank_file`: No bytes, or nothing but blanks.
         *     - `corrupt_file`: The usual programs cannot open it, or it is a trap.
         *     - `virus_detected`: The scanner named a signature.
         * @enum {string}
         */
        BlockReason: "invalid_extension" | "size_exceeded" | "blank_file" | "corrupt_file" | "virus_detected";
        /**
         * @description How one check ended.
         *     - `passed`: Nothing was found.
         *     - `failed`: It decided the rejection.
         *     - `skipped`: Switched off, or a check before it failed.
         *     - `incomplete`: The scanner could not look at all of it.
         * @enum {string}
         */
        CheckOutcome: "passed" | "failed" | "skipped" | "incomplete";
        /** @description One check of a validation report. */
        ValidationCheck: {
            /** @description The block reason that it decides. */
            check: components["schemas"]["BlockReason"];
            /** @description How it ended. */
            outcome: components["schemas"]["CheckOutcome"];
            /** @description What was seen, for people. */
            message: string;
            /** @description What was seen, for programs. */
            evidence: {
                [key: string]: unknown;
            };
            /**
             * Format: double
             * @description Milliseconds.
             */
            duration_ms: number;
        };
        /** @description Which scanner judged, with which signatures. */
        ScanEngine: {
            /** @description Its name. */
            name: string;
            /** @description Its version. */
            version: string;
            /** @description The version of its signatures. */
            signatures_version: string;
            /**
             * Format: date-time
             * @description When they were made; null where it does not tell.
             */
            signatures_date: string | null;
        };
        /** @description What validation saw: kept with every attempt. */
        ValidationReport: {
            /** @description Accepted or rejected. */
            outcome: components["schemas"]["ValidationOutcome"];
            /** @description The first reason to refuse it; null where it was accepted. */
            reason: components["schemas"]["RefusalReason"] | null;
            /** @description All five, in the order in which they are judged. */
            checks: components["schemas"]["ValidationCheck"][];
            /** @description What the content is found to be. */
            detected_content_type: string | null;
            /**
             * Format: int64
             * @description Bytes; where the upload was cut off, as many as had been read.
             */
            size_bytes: number;
            /** @description sha256: and the digest; null where the upload was cut off. */
            checksum: string | null;
            /** @description The scanner; null where none was asked. */
            engine: components["schemas"]["ScanEngine"] | null;
            /**
             * Format: date-time
             * @description When.
             */
            validated_at: string;
            /**
             * Format: int32
             * @description The version of the context’s rules by which it was judged; null for old reports.
             */
            rules_version: number | null;
        };
        /**
         * @description What files are sorted by; the same ones by their age.
         *     - `created_at`: When it was uploaded.
         *     - `original_filename`: Its name, whatever the case of its letters A to Z.
         *     - `size_bytes`: Its size.
         * @enum {string}
         */
        FileSort: "created_at" | "original_filename" | "size_bytes";
        /**
         * @description In which order.
         *     - `asc`: From the oldest, smallest or A on.
         *     - `desc`: From the newest, largest or Z on.
         * @enum {string}
         */
        SortOrder: "asc" | "desc";
        /** @description A file that passed its context’s rules and is kept. */
        FileItem: {
            /** @description Shape file_…. */
            file_id: string;
            /** @description The client’s name for it, cleaned. */
            original_filename: string;
            /** @description What the content is found to be, never what the client claimed. */
            content_type: string;
            /**
             * Format: int64
             * @description Bytes.
             */
            size_bytes: number;
            /** @description The context that it was uploaded into. */
            context_key: string;
            /** @description Who uploaded it: key_… or usr_…. */
            uploaded_by: string;
            /** @description Name of the API key; null when the uploader is a user. */
            uploaded_by_name: string | null;
            /**
             * Format: int64
             * @description Download URLs that were made for it, whether or not they were fetched.
             */
            download_count: number;
            /**
             * Format: date-time
             * @description When the last of them was made.
             */
            last_downloaded_at: string | null;
            /**
             * Format: date-time
             * @description When it was uploaded.
             */
            created_at: string;
        };
        /** @description A page of a list of File items. */
        FilePage: {
            /** @description The items, newest first unless said otherwise. */
            data: components["schemas"]["FileItem"][];
            /** @description Where this page stands. */
            pagination: components["schemas"]["Pagination"];
        };
        /** @description A pre-signed, short-lived URL. */
        DownloadUrl: {
            /** @description Shape file_…. */
            file_id: string;
            /**
             * Format: uri
             * @description Gives the file to its holder, without a credential, until it expires.
             */
            download_url: string;
            /**
             * Format: int64
             * @description Seconds from now.
             */
            expires_in_seconds: number;
            /** @description The name under which it is offered. */
            original_filename: string;
        };
        QuarantinedError: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            code: "quarantined";
            /** @description The same for programs. */
            details: {
                [key: string]: unknown;
            };
        };
        /** @description A file that was deleted. */
        DeletedFile: {
            /** @description Shape file_…. */
            file_id: string;
        };
        OnHoldError: {
            /** @constant */
            code: "on_hold";
            /** @description The same for programs. */
            details: {
                [key: string]: unknown;
            };
        };
        DeleteFilesBody: {
            /** @description Shape file_…: 1 to 100. One that is given twice is deleted and reported once. */
            file_ids: string[];
        };
        /** @description Why one of several files was not deleted. */
        DeletionRefusal: {
            /** @description As deleting it alone would be refused. */
            code: components["schemas"]["ErrorCode"];
            /** @description The same for people. */
            message: string;
        };
        /** @description What became of one of several files that were to be deleted. */
        FileDeletion: {
            /** @description The id as it was given. */
            file_id: string;
            /** @description Whether it was deleted by this request. */
            deleted: boolean;
            /** @description Why not; null where it was. */
            error: components["schemas"]["DeletionRefusal"] | null;
        };
        /** @description A file that passed its context’s rules and is kept. */
        FileMetadata: {
            /** @description Shape file_…. */
            file_id: string;
            /** @description The client’s name for it, cleaned. */
            original_filename: string;
            /** @description What the content is found to be, never what the client claimed. */
            content_type: string;
            /**
             * Format: int64
             * @description Bytes.
             */
            size_bytes: number;
            /** @description The context that it was uploaded into. */
            context_key: string;
            /** @description sha256: and the hexadecimal digest. */
            checksum: string;
            /** @description The uploader’s own facts. */
            metadata: {
                [key: string]: unknown;
            };
            /**
             * Format: int64
             * @description Download URLs that were made for it, whether or not they were fetched.
             */
            download_count: number;
            /**
             * Format: date-time
             * @description When the last of them was made.
             */
            last_downloaded_at: string | null;
            /**
             * Format: date-time
             * @description When it was uploaded.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it was last changed.
             */
            updated_at: string;
        };
        /** @description A page of a list of ValidationReport items. */
        ValidationReportPage: {
            /** @description The items, newest first unless said otherwise. */
            data: components["schemas"]["ValidationReport"][];
            /** @description Where this page stands. */
            pagination: components["schemas"]["Pagination"];
        };
        /** @description A quarantined file: a later scan found a virus, or the file was restored and waits for its scan. */
        QuarantinedFile: {
            /** @description Shape file_…. */
            file_id: string;
            /** @description Its name. */
            original_filename: string;
            /**
             * Format: int64
             * @description Bytes.
             */
            size_bytes: number;
            /** @description The context that it was uploaded into. */
            context_key: string;
            /** @description Names of the detected viruses. Empty if the file was restored and waits for its scan. */
            viruses: string[];
            /** @description Signatures that found the viruses, or that the file waits to be scanned with. */
            signatures: string;
            /**
             * Format: date-time
             * @description Time of the quarantine.
             */
            quarantined_at: string;
        };
        /** @description A page of a list of QuarantinedFile items. */
        QuarantinedFilePage: {
            /** @description The items, newest first unless said otherwise. */
            data: components["schemas"]["QuarantinedFile"][];
            /** @description Where this page stands. */
            pagination: components["schemas"]["Pagination"];
        };
        ReleaseFromQuarantineBody: {
            /** @description Why, for the audit log: 1 to 1,000 characters. */
            reason: string;
        };
        /** @description A file that is out of the quarantine. */
        OutOfQuarantine: {
            /** @description Shape file_…. */
            file_id: string;
        };
        HoldFileBody: {
            /** @description Why it is held: 1 to 1024 characters. */
            reason: string;
        };
        /** @description What keeps a file from being deleted, from expiring and from being purged. */
        Hold: {
            /** @description Shape file_…. */
            file_id: string;
            /** @description Why it is held. */
            reason: string;
            /** @description Who holds it: usr_…, key_… or system. */
            held_by: string;
            /**
             * Format: date-time
             * @description Since when.
             */
            held_at: string;
        };
        /** @description A hold that was lifted. */
        LiftedHold: {
            /** @description Shape file_…. */
            file_id: string;
        };
        /** @description A page of a list of Hold items. */
        HoldPage: {
            /** @description The items, newest first unless said otherwise. */
            data: components["schemas"]["Hold"][];
            /** @description Where this page stands. */
            pagination: components["schemas"]["Pagination"];
        };
        /** @description A file that was deleted and can be restored. */
        TrashedFile: {
            /** @description Shape file_…. */
            file_id: string;
            /** @description The client’s name for it, cleaned. */
            original_filename: string;
            /**
             * Format: int64
             * @description Bytes: they still count.
             */
            size_bytes: number;
            /** @description The context that it was uploaded into. */
            context_key: string;
            /**
             * Format: date-time
             * @description When it was deleted.
             */
            deleted_at: string;
            /**
             * Format: date-time
             * @description From when on it is gone for good, by the context’s policy as it is now.
             */
            purge_at: string;
        };
        /** @description A page of a list of TrashedFile items. */
        TrashedFilePage: {
            /** @description The items, newest first unless said otherwise. */
            data: components["schemas"]["TrashedFile"][];
            /** @description Where this page stands. */
            pagination: components["schemas"]["Pagination"];
        };
        /** @description A file that is gone for good. */
        PurgedFile: {
            /** @description Shape file_…. */
            file_id: string;
        };
        /** @description What there is in all. */
        StatsOverview: {
            /**
             * Format: int64
             * @description Files held now.
             */
            total_files: number;
            /**
             * Format: int64
             * @description Contexts.
             */
            total_contexts: number;
            /**
             * Format: int64
             * @description API keys, whatever their status.
             */
            total_api_keys: number;
            /**
             * Format: int64
             * @description Download URLs ever made. Fetching one, once or often, is not counted: see the log of the service or of the bucket.
             */
            total_downloads: number;
        };
        /** @description Calls by operation. */
        CallsByOperation: {
            /**
             * Format: int64
             * @description Uploads and dry runs.
             */
            upload: number;
            /**
             * Format: int64
             * @description Download URLs.
             */
            download: number;
            /**
             * Format: int64
             * @description Reads.
             */
            metadata: number;
            /**
             * Format: int64
             * @description Deletions.
             */
            delete: number;
        };
        /** @description Calls by outcome. */
        CallsByStatus: {
            /**
             * Format: int64
             * @description Those that succeeded.
             */
            success: number;
            /**
             * Format: int64
             * @description Those that failed.
             */
            failure: number;
        };
        /** @description Calls by API key, of today (UTC) and yesterday. */
        ApiCallStats: {
            /**
             * Format: int64
             * @description Calls today.
             */
            today: number;
            /**
             * Format: int64
             * @description Calls yesterday.
             */
            yesterday: number;
            /**
             * Format: double
             * @description Today against yesterday, in percent, to one decimal.
             */
            change_percent: number;
            /** @description Today’s, by operation. */
            by_operation: components["schemas"]["CallsByOperation"];
            /** @description Today’s, by outcome. */
            by_status: components["schemas"]["CallsByStatus"];
        };
        /** @description What one context holds. */
        ContextStorage: {
            /** @description Its key. */
            context_key: string;
            /** @description Its display name. */
            context_name: string;
            /**
             * Format: int64
             * @description Files.
             */
            count: number;
            /**
             * Format: int64
             * @description Bytes.
             */
            total_bytes: number;
        };
        /** @description What is stored. */
        StorageStats: {
            /**
             * Format: int64
             * @description Bytes held now.
             */
            total_bytes: number;
            /** @description The same for people, base 1024. */
            total_formatted: string;
            /** @description The three largest contexts. */
            by_context: components["schemas"]["ContextStorage"][];
        };
        /** @description The tenant’s quota. */
        StorageQuota: {
            /**
             * Format: int32
             * @description MB of 1,048,576 bytes.
             */
            quota_mb: number;
            /**
             * Format: int64
             * @description Bytes in use.
             */
            used_bytes: number;
            /** @description The same for people. */
            used_formatted: string;
            /**
             * Format: double
             * @description Use, in percent, to two decimals.
             */
            used_percent: number;
            /**
             * Format: int64
             * @description Bytes left.
             */
            remaining_bytes: number;
            /** @description The same for people. */
            remaining_formatted: string;
        };
        /** @description Files that were accepted. */
        FilesUploaded: {
            /**
             * Format: int64
             * @description Ever, deleted ones included.
             */
            total: number;
            /**
             * Format: int64
             * @description Today.
             */
            today: number;
            /**
             * Format: int64
             * @description Yesterday.
             */
            yesterday: number;
            /**
             * Format: double
             * @description Today against yesterday, in percent.
             */
            change_percent: number;
        };
        /** @description Blocked files by reason, of all time. */
        BlockedByReason: {
            /**
             * Format: int64
             * @description How many: the extension is not allowed, or the content is of another type.
             */
            invalid_extension: number;
            /**
             * Format: int64
             * @description How many: more bytes than the context allows.
             */
            size_exceeded: number;
            /**
             * Format: int64
             * @description How many: no bytes, or nothing but blanks.
             */
            blank_file: number;
            /**
             * Format: int64
             * @description How many: the usual programs cannot open it, or it is a trap.
             */
            corrupt_file: number;
            /**
             * Format: int64
             * @description How many: the scanner named a signature.
             */
            virus_detected: number;
        };
        /** @description Files that a check refused. */
        SecurityStats: {
            /**
             * Format: int64
             * @description Ever.
             */
            files_blocked_total: number;
            /**
             * Format: int64
             * @description Today.
             */
            blocked_today: number;
            /**
             * Format: int64
             * @description Yesterday.
             */
            blocked_yesterday: number;
            /**
             * Format: double
             * @description Today against yesterday, in percent.
             */
            change_percent: number;
            /** @description All of them, by reason. */
            by_reason: components["schemas"]["BlockedByReason"];
        };
        /** @description The statistics overview. */
        Stats: {
            /** @description What there is in all. */
            overview: components["schemas"]["StatsOverview"];
            /** @description Calls. */
            api_calls: components["schemas"]["ApiCallStats"];
            /** @description Storage. */
            storage: components["schemas"]["StorageStats"];
            /** @description Quota. */
            storage_quota: components["schemas"]["StorageQuota"];
            /** @description Uploads. */
            files_uploaded: components["schemas"]["FilesUploaded"];
            /** @description What was blocked. */
            security: components["schemas"]["SecurityStats"];
        };
        /**
         * @description How long one point of a chart is.
         *     - `hourly`: An hour.
         *     - `daily`: A UTC day.
         *     - `weekly`: A week, from Monday.
         * @enum {string}
         */
        ChartPeriod: "hourly" | "daily" | "weekly";
        /** @description The calls of one bucket. */
        ApiCallsPoint: {
            /**
             * Format: date-time
             * @description When the bucket begins.
             */
            timestamp: string;
            /**
             * Format: int64
             * @description Calls.
             */
            total: number;
            /**
             * Format: int64
             * @description Those that succeeded.
             */
            success: number;
            /**
             * Format: int64
             * @description Those that failed.
             */
            failure: number;
            /** @description By operation. */
            by_operation: components["schemas"]["CallsByOperation"];
        };
        /** @description Calls over time. */
        ApiCallsChart: {
            /** @description How long one point is. */
            period: components["schemas"]["ChartPeriod"];
            /** @description Ascending, none missing, the current one last. */
            data_points: components["schemas"]["ApiCallsPoint"][];
        };
        /**
         * @description How long one point of the storage chart is.
         *     - `daily`: A UTC day.
         *     - `weekly`: A week, from Monday.
         * @enum {string}
         */
        StorageChartPeriod: "daily" | "weekly";
        /** @description What was stored at the end of one bucket. */
        StoragePoint: {
            /**
             * Format: date-time
             * @description When the bucket begins.
             */
            timestamp: string;
            /**
             * Format: int64
             * @description Bytes at its end.
             */
            total_bytes: number;
            /**
             * Format: int64
             * @description Files at its end.
             */
            files_count: number;
        };
        /** @description Storage over time. */
        StorageChart: {
            /** @description How long one point is. */
            period: components["schemas"]["StorageChartPeriod"];
            /** @description Ascending, none missing, the current one last. */
            data_points: components["schemas"]["StoragePoint"][];
        };
        /** @description The uploads of one bucket. */
        UploadsPoint: {
            /**
             * Format: date-time
             * @description When the bucket begins.
             */
            timestamp: string;
            /**
             * Format: int64
             * @description Files accepted.
             */
            count: number;
            /**
             * Format: int64
             * @description Their bytes.
             */
            total_bytes: number;
        };
        /** @description Uploads over time. */
        UploadsChart: {
            /** @description How long one point is. */
            period: components["schemas"]["ChartPeriod"];
            /** @description Ascending, none missing, the current one last. */
            data_points: components["schemas"]["UploadsPoint"][];
        };
        /** @description All calls of one context. */
        ContextApiCalls: {
            /** @description Its key. */
            context_key: string;
            /** @description Its display name. */
            context_name: string;
            /**
             * Format: int64
             * @description Calls.
             */
            total: number;
            /**
             * Format: int64
             * @description Those that succeeded.
             */
            success: number;
            /**
             * Format: int64
             * @description Those that failed.
             */
            failure: number;
            /** @description By operation. */
            by_operation: components["schemas"]["CallsByOperation"];
        };
        /** @description The files of one context. */
        ContextFiles: {
            /** @description Its key. */
            context_key: string;
            /** @description Its display name. */
            context_name: string;
            /**
             * Format: int64
             * @description Files held now.
             */
            file_count: number;
            /**
             * Format: int64
             * @description Bytes held now.
             */
            total_bytes: number;
            /** @description The same for people. */
            total_formatted: string;
        };
        /**
         * @description What a call is counted as: the scope that its endpoint requires.
         *     - `upload`: Uploads and dry runs.
         *     - `download`: Download URLs.
         *     - `metadata`: Lists, metadata, statistics, logs.
         *     - `delete`: Deletions of files.
         * @enum {string}
         */
        Operation: "upload" | "download" | "metadata" | "delete";
        /**
         * @description How a call ended.
         *     - `success`: As asked.
         *     - `failure`: Refused or failed.
         * @enum {string}
         */
        CallStatus: "success" | "failure";
        /** @description A call by API key, whatever its outcome. */
        CallLog: {
            /** @description Shape call_…. */
            call_id: string;
            /** @description The key that was used. */
            api_key_id: string;
            /** @description The key’s name at that time. */
            api_key_name: string;
            /** @description What was asked. */
            operation: components["schemas"]["Operation"];
            /** @description How it ended. */
            status: components["schemas"]["CallStatus"];
            /** @description The file involved; null where none was. */
            file_id: string | null;
            /** @description The context involved; null where none was. */
            context_key: string | null;
            /** @description What failed and why; null on success. */
            error_message: string | null;
            /** @description The client’s address. */
            ip_address: string;
            /** @description The client’s User-Agent, at most 512 bytes. */
            user_agent: string;
            /**
             * Format: date-time
             * @description When.
             */
            created_at: string;
        };
        /** @description A page of a list of CallLog items. */
        CallLogPage: {
            /** @description The items, newest first unless said otherwise. */
            data: components["schemas"]["CallLog"][];
            /** @description Where this page stands. */
            pagination: components["schemas"]["Pagination"];
        };
        /**
         * @description What a change is about.
         *     - `api_key`: An API key.
         *     - `file`: A file.
         *     - `context`: A context.
         *     - `tenant`: The tenant, its users and their sessions.
         *     - `security`: What was refused: failed sign-ins, credentials and scopes refused, limits reached. A bounded number.
         * @enum {string}
         */
        AuditType: "api_key" | "file" | "context" | "tenant" | "security";
        /**
         * @description What was done.
         *     - `created`: It was made.
         *     - `enabled`: It was switched on.
         *     - `disabled`: It was switched off.
         *     - `revoked`: It was ended for good.
         *     - `updated`: It was changed.
         *     - `deleted`: It was removed.
         * @enum {string}
         */
        AuditAction: "created" | "enabled" | "disabled" | "revoked" | "updated" | "deleted";
        /**
         * @description Who performed.
         *     - `user`: A dashboard user.
         *     - `api_key`: A program, by API key.
         *     - `system`: The service itself.
         * @enum {string}
         */
        PerformerType: "user" | "api_key" | "system";
        /** @description A change, with its performer as he was at that time. */
        AuditLog: {
            /** @description Shape aud_…. */
            audit_id: string;
            /** @description What it is about. */
            audit_type: components["schemas"]["AuditType"];
            /** @description What was done. */
            action: components["schemas"]["AuditAction"];
            /** @description The kind of thing acted upon. */
            entity_type: string;
            /** @description Which one. */
            entity_id: string;
            /** @description Its name at that time. */
            entity_name: string;
            /** @description usr_…, key_… or system. */
            performed_by_id: string;
            /** @description The performer’s name at that time. */
            performed_by_name: string;
            /** @description The performer’s e-mail at that time; null when it is an API key. */
            performed_by_email: string | null;
            /** @description User, API key or the service itself. */
            performed_by_type: components["schemas"]["PerformerType"];
            /** @description The performer’s scopes at that time. */
            performed_by_scopes: components["schemas"]["Scope"][];
            /** @description What the action is about: states before and after, and the like. */
            details: {
                [key: string]: unknown;
            };
            /** @description The performer’s address. */
            ip_address: string;
            /** @description The performer’s User-Agent. */
            user_agent: string;
            /**
             * Format: date-time
             * @description When.
             */
            created_at: string;
        };
        /** @description A page of a list of AuditLog items. */
        AuditLogPage: {
            /** @description The items, newest first unless said otherwise. */
            data: components["schemas"]["AuditLog"][];
            /** @description Where this page stands. */
            pagination: components["schemas"]["Pagination"];
        };
        /**
         * @description The kind of thing acted upon.
         *     - `api_key`: An API key.
         *     - `file`: A file.
         *     - `context`: A context.
         *     - `tenant`: The tenant.
         *     - `user`: A dashboard user.
         *     - `session`: A dashboard user’s session.
         *     - `webhook`: A webhook.
         * @enum {string}
         */
        EntityType: "api_key" | "file" | "context" | "tenant" | "user" | "session" | "webhook";
        /** @description A change of the tenant, or a verdict on a file. */
        Event: {
            /**
             * Format: int64
             * @description Its place in the journal, from 1, without a gap, in the order of commits.
             */
            sequence: number;
            /** @description Shape evt_…. */
            event_id: string;
            /** @description Such as file.accepted. */
            type: string;
            /**
             * Format: date-time
             * @description When it was committed.
             */
            occurred_at: string;
            /** @description What changed, and who changed it; for a verdict, the file. */
            data: {
                [key: string]: unknown;
            };
        };
        /** @description Events behind a place in the journal. */
        EventPage: {
            /** @description In ascending order. */
            data: components["schemas"]["Event"][];
            /**
             * Format: int64
             * @description How many events the journal has.
             */
            last_sequence: number;
        };
        /** @description The tenant that the credential belongs to. */
        Tenant: {
            /** @description Shape ten_…. */
            tenant_id: string;
            /** @description 1 to 255 characters. */
            name: string;
            /**
             * Format: int32
             * @description Quota of all its files, in MB of 1,048,576 bytes.
             */
            storage_quota_mb: number;
            /**
             * Format: int64
             * @description Bytes of all its files, exact.
             */
            storage_used_bytes: number;
            /**
             * Format: date-time
             * @description When it was created.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it was last changed.
             */
            updated_at: string;
        };
        UpdateTenantBody: {
            /** @description 1 to 255 characters. */
            name?: string;
            /**
             * Format: int32
             * @description Quota, in MB: at least 1, at most the ceiling.
             */
            storage_quota_mb?: number;
        };
        CreateWebhookBody: {
            /** @description An https: URL that leads to public addresses. */
            url: string;
            /**
             * @description Types of events; file.* stands for all of a kind, * for all.
             * @default [
             *       "*"
             *     ]
             */
            types?: string[] | null;
            /** @description Keys of the only contexts whose events are sent; null: of all. */
            contexts?: string[] | null;
            /**
             * @description What it is for: at most 1,000 characters.
             * @default
             */
            description?: string | null;
        };
        /**
         * @description Whether a webhook is sent anything.
         *     - `active`: It is.
         *     - `disabled`: Not until it is enabled; then it goes on where it stopped.
         * @enum {string}
         */
        WebhookStatus: "active" | "disabled";
        /**
         * @description Why a webhook is disabled.
         *     - `requested`: An admin disabled it.
         *     - `gone`: It answered 410.
         *     - `failing`: For five days nothing could be delivered.
         * @enum {string}
         */
        WebhookDisabledReason: "requested" | "gone" | "failing";
        /** @description A webhook with its secret, which is returned only once. */
        WebhookWithSecret: {
            /** @description Shape whk_…. */
            webhook_id: string;
            /** @description Where events are sent by POST. */
            url: string;
            /** @description Types of events; file.* stands for all of a kind, * for all. */
            types: string[];
            /** @description Keys of the only contexts whose events are sent; null: of all. Events without a context are sent in any case. */
            contexts: string[] | null;
            /** @description What it is for. */
            description: string;
            /** @description Whether it is sent anything. */
            status: components["schemas"]["WebhookStatus"];
            /** @description Why it is disabled; null where it is not. */
            disabled_reason: components["schemas"]["WebhookDisabledReason"] | null;
            /**
             * Format: int64
             * @description The last event of the journal that it is through with.
             */
            last_sequence: number;
            /**
             * Format: date-time
             * @description Since when nothing could be delivered; null where the last one was.
             */
            failing_since: string | null;
            /**
             * Format: date-time
             * @description When the next attempt is made after one that failed.
             */
            next_attempt_at: string | null;
            /**
             * Format: date-time
             * @description Until when the secret before a rotation signs too.
             */
            previous_secret_expires_at: string | null;
            /** @description Who made it: key_…, usr_… or system. */
            created_by: string;
            /**
             * Format: date-time
             * @description When it was created.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it was last changed.
             */
            updated_at: string;
            /** @description Secret that signs the deliveries, as Standard Webhooks specifies: whsec_ followed by base64. It is returned only once. */
            secret: string;
        };
        /** @description Where events are sent to, without its secret. */
        Webhook: {
            /** @description Shape whk_…. */
            webhook_id: string;
            /** @description Where events are sent by POST. */
            url: string;
            /** @description Types of events; file.* stands for all of a kind, * for all. */
            types: string[];
            /** @description Keys of the only contexts whose events are sent; null: of all. Events without a context are sent in any case. */
            contexts: string[] | null;
            /** @description What it is for. */
            description: string;
            /** @description Whether it is sent anything. */
            status: components["schemas"]["WebhookStatus"];
            /** @description Why it is disabled; null where it is not. */
            disabled_reason: components["schemas"]["WebhookDisabledReason"] | null;
            /**
             * Format: int64
             * @description The last event of the journal that it is through with.
             */
            last_sequence: number;
            /**
             * Format: date-time
             * @description Since when nothing could be delivered; null where the last one was.
             */
            failing_since: string | null;
            /**
             * Format: date-time
             * @description When the next attempt is made after one that failed.
             */
            next_attempt_at: string | null;
            /**
             * Format: date-time
             * @description Until when the secret before a rotation signs too.
             */
            previous_secret_expires_at: string | null;
            /** @description Who made it: key_…, usr_… or system. */
            created_by: string;
            /**
             * Format: date-time
             * @description When it was created.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it was last changed.
             */
            updated_at: string;
        };
        /** @description A page of a list of Webhook items. */
        WebhookPage: {
            /** @description The items, newest first unless said otherwise. */
            data: components["schemas"]["Webhook"][];
            /** @description Where this page stands. */
            pagination: components["schemas"]["Pagination"];
        };
        UpdateWebhookBody: {
            /** @description An https: URL that leads to public addresses. */
            url?: string;
            /** @description Types of events; file.* stands for all of a kind, * for all. */
            types?: string[];
            /** @description Keys of the only contexts whose events are sent; null: of all. */
            contexts?: string[] | null;
            /** @description What it is for: at most 1,000 characters. */
            description?: string;
            /** @description Whether it is sent anything. */
            status?: components["schemas"]["WebhookStatus"];
        };
        /** @description A webhook that was deleted. */
        DeletedWebhook: {
            /** @description Shape whk_…. */
            webhook_id: string;
            /** @description Always true. */
            deleted: boolean;
        };
        /**
         * @description How a delivery stands.
         *     - `pending`: It failed, and is tried again.
         *     - `delivered`: It was answered with a 2xx.
         *     - `failed`: It was given up.
         * @enum {string}
         */
        DeliveryStatus: "pending" | "delivered" | "failed";
        /** @description What came of sending one event to one webhook. */
        WebhookDelivery: {
            /** @description Shape dlv_…. */
            delivery_id: string;
            /** @description Shape evt_…; the same in each attempt, as the header webhook-id. */
            event_id: string;
            /** @description The event’s type. */
            type: string;
            /**
             * Format: int64
             * @description The event’s place in the journal; null for a test.
             */
            sequence: number | null;
            /** @description How it stands. */
            status: components["schemas"]["DeliveryStatus"];
            /**
             * Format: int32
             * @description How often it was tried.
             */
            attempts: number;
            /**
             * Format: int32
             * @description The status of the last answer; null where there was none.
             */
            response_status: number | null;
            /** @description Why there was no answer, or none that counts. */
            error: string | null;
            /**
             * Format: int32
             * @description How long the last attempt took, in milliseconds.
             */
            duration_ms: number | null;
            /**
             * Format: date-time
             * @description When it was first tried.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it was last tried.
             */
            attempted_at: string;
            /**
             * Format: date-time
             * @description When it is tried again.
             */
            next_attempt_at: string | null;
        };
        /** @description A page of a list of WebhookDelivery items. */
        WebhookDeliveryPage: {
            /** @description The items, newest first unless said otherwise. */
            data: components["schemas"]["WebhookDelivery"][];
            /** @description Where this page stands. */
            pagination: components["schemas"]["Pagination"];
        };
        ReplayWebhookBody: {
            /**
             * Format: int64
             * @description The first event that is sent again: from 1 to the journal’s last and one more.
             */
            from_sequence: number;
        };
        /** @description What proves a verdict, also when the file is gone. */
        FileReceipt: {
            /** @description A compact JWS (EdDSA): `npm run verify`, or any library, checks it with the keys of /.well-known/jwks.json. */
            receipt: string;
        };
        ShareLogBody: {
            /**
             * Format: int32
             * @description For how many days: 1 to 365.
             * @default 90
             */
            days?: number | null;
        };
        /** @description A new share with its token, which is shown this once. */
        NewLogShare: {
            /** @description Shape shr_…. */
            share_id: string;
            /** @description Sent as `Authorization: Bearer …` it reads /api/v1/log. Shown this once. */
            token: string;
            /**
             * Format: date-time
             * @description When it expires.
             */
            expires_at: string;
        };
        /** @description A token that reads the log and nothing else, without the token. */
        LogShare: {
            /** @description Shape shr_…. */
            share_id: string;
            /** @description Who made it: key_… or usr_…. */
            created_by: string;
            /**
             * Format: date-time
             * @description When it was made.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it expires.
             */
            expires_at: string;
        };
        /** @description A page of a list of LogShare items. */
        LogSharePage: {
            /** @description The items, newest first unless said otherwise. */
            data: components["schemas"]["LogShare"][];
            /** @description Where this page stands. */
            pagination: components["schemas"]["Pagination"];
        };
    };
    responses: {
        /** @description `bad_user_input`: a field, a parameter or the body is at fault. */
        bad_user_input: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "status": "ERROR",
                 *       "message": "text",
                 *       "error": {
                 *         "code": "bad_user_input",
                 *         "details": {
                 *           "fields": [
                 *             {
                 *               "field": "text",
                 *               "message": "text"
                 *             }
                 *           ]
                 *         }
                 *       },
                 *       "request_id": "req_01kqzv6y8xw3f5t2n7m4c9d1b0",
                 *       "timestamp": "2026-11-20T10:00:00.000Z"
                 *     }
                 */
                "application/json": {
                    /** @constant */
                    status: "ERROR";
                    /** @description What is wrong, and what would be right, for people. */
                    message: string;
                    error: components["schemas"]["BadUserInputError"];
                    /** @description The same as X-Request-Id. */
                    request_id: string;
                    /** Format: date-time */
                    timestamp: string;
                };
                "application/problem+json": {
                    /**
                     * Format: uri
                     * @enum {string}
                     */
                    type: "urn:assay:error:bad_user_input";
                    title: string;
                    /** @constant */
                    status: 400;
                    detail: string;
                    /** Format: uri */
                    instance: string;
                    /** @enum {string} */
                    code: "bad_user_input";
                    details: {
                        /** @description All faults at once, in the spelling of the request. */
                        fields: {
                            field: string;
                            message: string;
                        }[];
                    };
                };
            };
        };
        /** @description `unauthenticated`: no, an unknown, a malformed, disabled, revoked or expired credential. */
        unauthenticated: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "status": "ERROR",
                 *       "message": "text",
                 *       "error": {
                 *         "code": "unauthenticated",
                 *         "details": {}
                 *       },
                 *       "request_id": "req_01kqzv6y8xw3f5t2n7m4c9d1b0",
                 *       "timestamp": "2026-11-20T10:00:00.000Z"
                 *     }
                 */
                "application/json": {
                    /** @constant */
                    status: "ERROR";
                    /** @description What is wrong, and what would be right, for people. */
                    message: string;
                    error: components["schemas"]["UnauthenticatedError"];
                    /** @description The same as X-Request-Id. */
                    request_id: string;
                    /** Format: date-time */
                    timestamp: string;
                };
                "application/problem+json": {
                    /**
                     * Format: uri
                     * @enum {string}
                     */
                    type: "urn:assay:error:unauthenticated";
                    title: string;
                    /** @constant */
                    status: 401;
                    detail: string;
                    /** Format: uri */
                    instance: string;
                    /** @enum {string} */
                    code: "unauthenticated";
                    /** @description The same for programs. */
                    details: {
                        [key: string]: unknown;
                    };
                };
            };
        };
        /** @description `forbidden`: the credential lacks the scope or is restricted to other contexts, or its tenant is suspended. */
        forbidden: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "status": "ERROR",
                 *       "message": "text",
                 *       "error": {
                 *         "code": "forbidden",
                 *         "details": {}
                 *       },
                 *       "request_id": "req_01kqzv6y8xw3f5t2n7m4c9d1b0",
                 *       "timestamp": "2026-11-20T10:00:00.000Z"
                 *     }
                 */
                "application/json": {
                    /** @constant */
                    status: "ERROR";
                    /** @description What is wrong, and what would be right, for people. */
                    message: string;
                    error: components["schemas"]["ForbiddenError"];
                    /** @description The same as X-Request-Id. */
                    request_id: string;
                    /** Format: date-time */
                    timestamp: string;
                };
                "application/problem+json": {
                    /**
                     * Format: uri
                     * @enum {string}
                     */
                    type: "urn:assay:error:forbidden";
                    title: string;
                    /** @constant */
                    status: 403;
                    detail: string;
                    /** Format: uri */
                    instance: string;
                    /** @enum {string} */
                    code: "forbidden";
                    /** @description The same for programs. */
                    details: {
                        [key: string]: unknown;
                    };
                };
            };
        };
        /**
         * @description `conflict`: it exists already, its state does not allow it, or the key of this Idempotency-Key was made before.
         *
         *     `idempotency_mismatch`: the Idempotency-Key was used with another body.
         */
        "conflict.idempotency_mismatch": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "status": "ERROR",
                 *       "message": "text",
                 *       "error": {
                 *         "code": "conflict",
                 *         "details": {}
                 *       },
                 *       "request_id": "req_01kqzv6y8xw3f5t2n7m4c9d1b0",
                 *       "timestamp": "2026-11-20T10:00:00.000Z"
                 *     }
                 */
                "application/json": {
                    /** @constant */
                    status: "ERROR";
                    /** @description What is wrong, and what would be right, for people. */
                    message: string;
                    error: components["schemas"]["ConflictError"] | components["schemas"]["IdempotencyMismatchError"];
                    /** @description The same as X-Request-Id. */
                    request_id: string;
                    /** Format: date-time */
                    timestamp: string;
                };
                "application/problem+json": {
                    /**
                     * Format: uri
                     * @enum {string}
                     */
                    type: "urn:assay:error:conflict" | "urn:assay:error:idempotency_mismatch";
                    title: string;
                    /** @constant */
                    status: 409;
                    detail: string;
                    /** Format: uri */
                    instance: string;
                    /** @enum {string} */
                    code: "conflict" | "idempotency_mismatch";
                    /** @description The same for programs. */
                    details: {
                        [key: string]: unknown;
                    };
                };
            };
        };
        /** @description `unsupported_media_type`: the body is of another type. */
        unsupported_media_type: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "status": "ERROR",
                 *       "message": "text",
                 *       "error": {
                 *         "code": "unsupported_media_type",
                 *         "details": {}
                 *       },
                 *       "request_id": "req_01kqzv6y8xw3f5t2n7m4c9d1b0",
                 *       "timestamp": "2026-11-20T10:00:00.000Z"
                 *     }
                 */
                "application/json": {
                    /** @constant */
                    status: "ERROR";
                    /** @description What is wrong, and what would be right, for people. */
                    message: string;
                    error: components["schemas"]["UnsupportedMediaTypeError"];
                    /** @description The same as X-Request-Id. */
                    request_id: string;
                    /** Format: date-time */
                    timestamp: string;
                };
                "application/problem+json": {
                    /**
                     * Format: uri
                     * @enum {string}
                     */
                    type: "urn:assay:error:unsupported_media_type";
                    title: string;
                    /** @constant */
                    status: 415;
                    detail: string;
                    /** Format: uri */
                    instance: string;
                    /** @enum {string} */
                    code: "unsupported_media_type";
                    /** @description The same for programs. */
                    details: {
                        [key: string]: unknown;
                    };
                };
            };
        };
        /** @description `rate_limited`: too many calls; see Retry-After. */
        rate_limited: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "Retry-After": components["headers"]["Retry-After"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "status": "ERROR",
                 *       "message": "text",
                 *       "error": {
                 *         "code": "rate_limited",
                 *         "details": {
                 *           "retry_after": 1
                 *         }
                 *       },
                 *       "request_id": "req_01kqzv6y8xw3f5t2n7m4c9d1b0",
                 *       "timestamp": "2026-11-20T10:00:00.000Z"
                 *     }
                 */
                "application/json": {
                    /** @constant */
                    status: "ERROR";
                    /** @description What is wrong, and what would be right, for people. */
                    message: string;
                    error: components["schemas"]["RateLimitedError"];
                    /** @description The same as X-Request-Id. */
                    request_id: string;
                    /** Format: date-time */
                    timestamp: string;
                };
                "application/problem+json": {
                    /**
                     * Format: uri
                     * @enum {string}
                     */
                    type: "urn:assay:error:rate_limited";
                    title: string;
                    /** @constant */
                    status: 429;
                    detail: string;
                    /** Format: uri */
                    instance: string;
                    /** @enum {string} */
                    code: "rate_limited";
                    details: {
                        /**
                         * Format: int64
                         * @description Seconds; the same as Retry-After.
                         */
                        retry_after?: number;
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
        };
        /** @description `internal_server_error`: a fault of ours; it was logged under the request id. */
        internal_server_error: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "status": "ERROR",
                 *       "message": "text",
                 *       "error": {
                 *         "code": "internal_server_error",
                 *         "details": {}
                 *       },
                 *       "request_id": "req_01kqzv6y8xw3f5t2n7m4c9d1b0",
                 *       "timestamp": "2026-11-20T10:00:00.000Z"
                 *     }
                 */
                "application/json": {
                    /** @constant */
                    status: "ERROR";
                    /** @description What is wrong, and what would be right, for people. */
                    message: string;
                    error: components["schemas"]["InternalServerError"];
                    /** @description The same as X-Request-Id. */
                    request_id: string;
                    /** Format: date-time */
                    timestamp: string;
                };
                "application/problem+json": {
                    /**
                     * Format: uri
                     * @enum {string}
                     */
                    type: "urn:assay:error:internal_server_error";
                    title: string;
                    /** @constant */
                    status: 500;
                    detail: string;
                    /** Format: uri */
                    instance: string;
                    /** @enum {string} */
                    code: "internal_server_error";
                    /** @description The same for programs. */
                    details: {
                        [key: string]: unknown;
                    };
                };
            };
        };
        /**
         * @description `database_unavailable`: the database cannot be reached; look before you repeat what changes something, or repeat it with its Idempotency-Key.
         *
         *     `overloaded`: too much waits already; try again.
         */
        "database_unavailable.overloaded": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "Retry-After": components["headers"]["Retry-After"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "status": "ERROR",
                 *       "message": "text",
                 *       "error": {
                 *         "code": "database_unavailable",
                 *         "details": {}
                 *       },
                 *       "request_id": "req_01kqzv6y8xw3f5t2n7m4c9d1b0",
                 *       "timestamp": "2026-11-20T10:00:00.000Z"
                 *     }
                 */
                "application/json": {
                    /** @constant */
                    status: "ERROR";
                    /** @description What is wrong, and what would be right, for people. */
                    message: string;
                    error: components["schemas"]["DatabaseUnavailableError"] | components["schemas"]["OverloadedError"];
                    /** @description The same as X-Request-Id. */
                    request_id: string;
                    /** Format: date-time */
                    timestamp: string;
                };
                "application/problem+json": {
                    /**
                     * Format: uri
                     * @enum {string}
                     */
                    type: "urn:assay:error:database_unavailable" | "urn:assay:error:overloaded";
                    title: string;
                    /** @constant */
                    status: 503;
                    detail: string;
                    /** Format: uri */
                    instance: string;
                    /** @enum {string} */
                    code: "database_unavailable" | "overloaded";
                    /** @description The same for programs. */
                    details: {
                        [key: string]: unknown;
                    };
                };
            };
        };
        /** @description `not_found`: there is no such thing in this tenant. */
        not_found: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "status": "ERROR",
                 *       "message": "text",
                 *       "error": {
                 *         "code": "not_found",
                 *         "details": {}
                 *       },
                 *       "request_id": "req_01kqzv6y8xw3f5t2n7m4c9d1b0",
                 *       "timestamp": "2026-11-20T10:00:00.000Z"
                 *     }
                 */
                "application/json": {
                    /** @constant */
                    status: "ERROR";
                    /** @description What is wrong, and what would be right, for people. */
                    message: string;
                    error: components["schemas"]["NotFoundError"];
                    /** @description The same as X-Request-Id. */
                    request_id: string;
                    /** Format: date-time */
                    timestamp: string;
                };
                "application/problem+json": {
                    /**
                     * Format: uri
                     * @enum {string}
                     */
                    type: "urn:assay:error:not_found";
                    title: string;
                    /** @constant */
                    status: 404;
                    detail: string;
                    /** Format: uri */
                    instance: string;
                    /** @enum {string} */
                    code: "not_found";
                    /** @description The same for programs. */
                    details: {
                        [key: string]: unknown;
                    };
                };
            };
        };
        /** @description `conflict`: it exists already, its state does not allow it, or the key of this Idempotency-Key was made before. */
        conflict: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "status": "ERROR",
                 *       "message": "text",
                 *       "error": {
                 *         "code": "conflict",
                 *         "details": {}
                 *       },
                 *       "request_id": "req_01kqzv6y8xw3f5t2n7m4c9d1b0",
                 *       "timestamp": "2026-11-20T10:00:00.000Z"
                 *     }
                 */
                "application/json": {
                    /** @constant */
                    status: "ERROR";
                    /** @description What is wrong, and what would be right, for people. */
                    message: string;
                    error: components["schemas"]["ConflictError"];
                    /** @description The same as X-Request-Id. */
                    request_id: string;
                    /** Format: date-time */
                    timestamp: string;
                };
                "application/problem+json": {
                    /**
                     * Format: uri
                     * @enum {string}
                     */
                    type: "urn:assay:error:conflict";
                    title: string;
                    /** @constant */
                    status: 409;
                    detail: string;
                    /** Format: uri */
                    instance: string;
                    /** @enum {string} */
                    code: "conflict";
                    /** @description The same for programs. */
                    details: {
                        [key: string]: unknown;
                    };
                };
            };
        };
        /**
         * @description `scanner_unavailable`: the scanner cannot be asked; nothing was stored.
         *
         *     `database_unavailable`: the database cannot be reached; look before you repeat what changes something, or repeat it with its Idempotency-Key.
         *
         *     `overloaded`: too much waits already; try again.
         */
        "scanner_unavailable.database_unavailable.overloaded": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "Retry-After": components["headers"]["Retry-After"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "status": "ERROR",
                 *       "message": "text",
                 *       "error": {
                 *         "code": "scanner_unavailable",
                 *         "details": {}
                 *       },
                 *       "request_id": "req_01kqzv6y8xw3f5t2n7m4c9d1b0",
                 *       "timestamp": "2026-11-20T10:00:00.000Z"
                 *     }
                 */
                "application/json": {
                    /** @constant */
                    status: "ERROR";
                    /** @description What is wrong, and what would be right, for people. */
                    message: string;
                    error: components["schemas"]["ScannerUnavailableError"] | components["schemas"]["DatabaseUnavailableError"] | components["schemas"]["OverloadedError"];
                    /** @description The same as X-Request-Id. */
                    request_id: string;
                    /** Format: date-time */
                    timestamp: string;
                };
                "application/problem+json": {
                    /**
                     * Format: uri
                     * @enum {string}
                     */
                    type: "urn:assay:error:scanner_unavailable" | "urn:assay:error:database_unavailable" | "urn:assay:error:overloaded";
                    title: string;
                    /** @constant */
                    status: 503;
                    detail: string;
                    /** Format: uri */
                    instance: string;
                    /** @enum {string} */
                    code: "scanner_unavailable" | "database_unavailable" | "overloaded";
                    /** @description The same for programs. */
                    details: {
                        [key: string]: unknown;
                    };
                };
            };
        };
        /**
         * @description `invalid_extension`: the extension is not allowed, or the content is of another type.
         *
         *     `blank_file`: no bytes, or nothing but blanks.
         *
         *     `corrupt_file`: the usual programs cannot open it, or it is a trap.
         *
         *     `virus_detected`: the scanner named a signature.
         *
         *     `encrypted_file`: it cannot be opened without a password.
         *
         *     `active_content`: it holds what runs or loads without a click, or programs: macros, scripts, attachments.
         *
         *     `scan_incomplete`: the scanner could not look at all of it.
         *
         *     `quota_exceeded`: it does not fit the quota of the context or of the tenant.
         */
        "invalid_extension.blank_file.corrupt_file.virus_detected.encrypted_file.active_content.scan_incomplete.quota_exceeded": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "status": "ERROR",
                 *       "message": "text",
                 *       "error": {
                 *         "code": "invalid_extension",
                 *         "details": {
                 *           "extension": "text",
                 *           "allowed": [
                 *             "text"
                 *           ],
                 *           "recognised": "text",
                 *           "content_type": "application/pdf"
                 *         }
                 *       },
                 *       "request_id": "req_01kqzv6y8xw3f5t2n7m4c9d1b0",
                 *       "timestamp": "2026-11-20T10:00:00.000Z"
                 *     }
                 */
                "application/json": {
                    /** @constant */
                    status: "ERROR";
                    /** @description What is wrong, and what would be right, for people. */
                    message: string;
                    error: components["schemas"]["InvalidExtensionError"] | components["schemas"]["BlankFileError"] | components["schemas"]["CorruptFileError"] | components["schemas"]["VirusDetectedError"] | components["schemas"]["EncryptedFileError"] | components["schemas"]["ActiveContentError"] | components["schemas"]["ScanIncompleteError"] | components["schemas"]["QuotaExceededError"];
                    /** @description The same as X-Request-Id. */
                    request_id: string;
                    /** Format: date-time */
                    timestamp: string;
                };
                "application/problem+json": {
                    /**
                     * Format: uri
                     * @enum {string}
                     */
                    type: "urn:assay:error:invalid_extension" | "urn:assay:error:blank_file" | "urn:assay:error:corrupt_file" | "urn:assay:error:virus_detected" | "urn:assay:error:encrypted_file" | "urn:assay:error:active_content" | "urn:assay:error:scan_incomplete" | "urn:assay:error:quota_exceeded";
                    title: string;
                    /** @constant */
                    status: 422;
                    detail: string;
                    /** Format: uri */
                    instance: string;
                    /** @enum {string} */
                    code: "invalid_extension" | "blank_file" | "corrupt_file" | "virus_detected" | "encrypted_file" | "active_content" | "scan_incomplete" | "quota_exceeded";
                    /** @description The same for programs. */
                    details: {
                        [key: string]: unknown;
                    };
                };
            };
        };
        /** @description `size_exceeded`: more bytes than the context allows. */
        size_exceeded: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "status": "ERROR",
                 *       "message": "text",
                 *       "error": {
                 *         "code": "size_exceeded",
                 *         "details": {}
                 *       },
                 *       "request_id": "req_01kqzv6y8xw3f5t2n7m4c9d1b0",
                 *       "timestamp": "2026-11-20T10:00:00.000Z"
                 *     }
                 */
                "application/json": {
                    /** @constant */
                    status: "ERROR";
                    /** @description What is wrong, and what would be right, for people. */
                    message: string;
                    error: components["schemas"]["SizeExceededError"];
                    /** @description The same as X-Request-Id. */
                    request_id: string;
                    /** Format: date-time */
                    timestamp: string;
                };
                "application/problem+json": {
                    /**
                     * Format: uri
                     * @enum {string}
                     */
                    type: "urn:assay:error:size_exceeded";
                    title: string;
                    /** @constant */
                    status: 413;
                    detail: string;
                    /** Format: uri */
                    instance: string;
                    /** @enum {string} */
                    code: "size_exceeded";
                    /** @description The same for programs. */
                    details: {
                        [key: string]: unknown;
                    };
                };
            };
        };
        /**
         * @description `scanner_unavailable`: the scanner cannot be asked; nothing was stored.
         *
         *     `storage_unavailable`: the store cannot be used; nothing was stored.
         *
         *     `database_unavailable`: the database cannot be reached; look before you repeat what changes something, or repeat it with its Idempotency-Key.
         *
         *     `overloaded`: too much waits already; try again.
         */
        "scanner_unavailable.storage_unavailable.database_unavailable.overloaded": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "Retry-After": components["headers"]["Retry-After"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "status": "ERROR",
                 *       "message": "text",
                 *       "error": {
                 *         "code": "scanner_unavailable",
                 *         "details": {}
                 *       },
                 *       "request_id": "req_01kqzv6y8xw3f5t2n7m4c9d1b0",
                 *       "timestamp": "2026-11-20T10:00:00.000Z"
                 *     }
                 */
                "application/json": {
                    /** @constant */
                    status: "ERROR";
                    /** @description What is wrong, and what would be right, for people. */
                    message: string;
                    error: components["schemas"]["ScannerUnavailableError"] | components["schemas"]["StorageUnavailableError"] | components["schemas"]["DatabaseUnavailableError"] | components["schemas"]["OverloadedError"];
                    /** @description The same as X-Request-Id. */
                    request_id: string;
                    /** Format: date-time */
                    timestamp: string;
                };
                "application/problem+json": {
                    /**
                     * Format: uri
                     * @enum {string}
                     */
                    type: "urn:assay:error:scanner_unavailable" | "urn:assay:error:storage_unavailable" | "urn:assay:error:database_unavailable" | "urn:assay:error:overloaded";
                    title: string;
                    /** @constant */
                    status: 503;
                    detail: string;
                    /** Format: uri */
                    instance: string;
                    /** @enum {string} */
                    code: "scanner_unavailable" | "storage_unavailable" | "database_unavailable" | "overloaded";
                    /** @description The same for programs. */
                    details: {
                        [key: string]: unknown;
                    };
                };
            };
        };
        /**
         * @description `forbidden`: the credential lacks the scope or is restricted to other contexts, or its tenant is suspended.
         *
         *     `quarantined`: the file is quarantined: a later scan found a virus in it, or it was restored and waits for its scan.
         */
        "forbidden.quarantined": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "status": "ERROR",
                 *       "message": "text",
                 *       "error": {
                 *         "code": "forbidden",
                 *         "details": {}
                 *       },
                 *       "request_id": "req_01kqzv6y8xw3f5t2n7m4c9d1b0",
                 *       "timestamp": "2026-11-20T10:00:00.000Z"
                 *     }
                 */
                "application/json": {
                    /** @constant */
                    status: "ERROR";
                    /** @description What is wrong, and what would be right, for people. */
                    message: string;
                    error: components["schemas"]["ForbiddenError"] | components["schemas"]["QuarantinedError"];
                    /** @description The same as X-Request-Id. */
                    request_id: string;
                    /** Format: date-time */
                    timestamp: string;
                };
                "application/problem+json": {
                    /**
                     * Format: uri
                     * @enum {string}
                     */
                    type: "urn:assay:error:forbidden" | "urn:assay:error:quarantined";
                    title: string;
                    /** @constant */
                    status: 403;
                    detail: string;
                    /** Format: uri */
                    instance: string;
                    /** @enum {string} */
                    code: "forbidden" | "quarantined";
                    /** @description The same for programs. */
                    details: {
                        [key: string]: unknown;
                    };
                };
            };
        };
        /**
         * @description `storage_unavailable`: the store cannot be used; nothing was stored.
         *
         *     `database_unavailable`: the database cannot be reached; look before you repeat what changes something, or repeat it with its Idempotency-Key.
         *
         *     `overloaded`: too much waits already; try again.
         */
        "storage_unavailable.database_unavailable.overloaded": {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "Retry-After": components["headers"]["Retry-After"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "status": "ERROR",
                 *       "message": "text",
                 *       "error": {
                 *         "code": "storage_unavailable",
                 *         "details": {}
                 *       },
                 *       "request_id": "req_01kqzv6y8xw3f5t2n7m4c9d1b0",
                 *       "timestamp": "2026-11-20T10:00:00.000Z"
                 *     }
                 */
                "application/json": {
                    /** @constant */
                    status: "ERROR";
                    /** @description What is wrong, and what would be right, for people. */
                    message: string;
                    error: components["schemas"]["StorageUnavailableError"] | components["schemas"]["DatabaseUnavailableError"] | components["schemas"]["OverloadedError"];
                    /** @description The same as X-Request-Id. */
                    request_id: string;
                    /** Format: date-time */
                    timestamp: string;
                };
                "application/problem+json": {
                    /**
                     * Format: uri
                     * @enum {string}
                     */
                    type: "urn:assay:error:storage_unavailable" | "urn:assay:error:database_unavailable" | "urn:assay:error:overloaded";
                    title: string;
                    /** @constant */
                    status: 503;
                    detail: string;
                    /** Format: uri */
                    instance: string;
                    /** @enum {string} */
                    code: "storage_unavailable" | "database_unavailable" | "overloaded";
                    /** @description The same for programs. */
                    details: {
                        [key: string]: unknown;
                    };
                };
            };
        };
        /** @description `on_hold`: the file is on hold, and cannot be deleted before the hold is lifted. */
        on_hold: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "status": "ERROR",
                 *       "message": "text",
                 *       "error": {
                 *         "code": "on_hold",
                 *         "details": {}
                 *       },
                 *       "request_id": "req_01kqzv6y8xw3f5t2n7m4c9d1b0",
                 *       "timestamp": "2026-11-20T10:00:00.000Z"
                 *     }
                 */
                "application/json": {
                    /** @constant */
                    status: "ERROR";
                    /** @description What is wrong, and what would be right, for people. */
                    message: string;
                    error: components["schemas"]["OnHoldError"];
                    /** @description The same as X-Request-Id. */
                    request_id: string;
                    /** Format: date-time */
                    timestamp: string;
                };
                "application/problem+json": {
                    /**
                     * Format: uri
                     * @enum {string}
                     */
                    type: "urn:assay:error:on_hold";
                    title: string;
                    /** @constant */
                    status: 409;
                    detail: string;
                    /** Format: uri */
                    instance: string;
                    /** @enum {string} */
                    code: "on_hold";
                    /** @description The same for programs. */
                    details: {
                        [key: string]: unknown;
                    };
                };
            };
        };
    };
    parameters: {
        /** @description The same request twice under one key is done once: for 24 hours the first answer is given again. */
        "Idempotency-Key": string;
    };
    requestBodies: never;
    headers: {
        /** @description The next page, where there is one: `</api/v1/files?page=2&after=…>; rel="next"`. It begins behind the last item of this one, so that following these links neither repeats nor skips an item, whatever is added or removed meanwhile. */
        Link: string;
        /** @description The request: in the logs, and in failures. */
        "X-Request-Id": string;
        /** @description What is left of the limit that is closest: `"key";r=119999;t=60`. */
        RateLimit: string;
        /** @description That limit: `"key";q=120000;w=60`. */
        "RateLimit-Policy": string;
        /** @description Seconds after which trying again makes sense. */
        "Retry-After": string;
        /** @description A file name to save it under. */
        "Content-Disposition": string;
        /** @description `Bearer`. */
        "WWW-Authenticate": string;
    };
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    listApiKeys: {
        parameters: {
            query?: {
                /** @description Which page, from 1. */
                page?: number;
                /** @description Items on a page: 1 to 100. */
                page_size?: number;
                /** @description The cursor of an item, as a connection or the answer’s `Link: …; rel="next"` gives it: the page is then what follows that item, whatever came or went meanwhile, and `page` is its number only. */
                after?: string;
                /** @description Only those of that status. */
                status?: components["schemas"]["ApiKeyStatus"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "data": {
                     *         "data": [
                     *           {
                     *             "api_key_id": "key_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *             "name": "Invoice importer",
                     *             "key_prefix": "assay_Q2ho",
                     *             "scopes": [
                     *               "upload",
                     *               "download"
                     *             ],
                     *             "status": "active",
                     *             "expires_at": "2027-02-18T10:00:00.000Z",
                     *             "last_used_at": "2026-11-20T10:00:00.000Z",
                     *             "metadata": {
                     *               "order": 4711
                     *             },
                     *             "created_by": "usr_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *             "created_at": "2026-11-20T10:00:00.000Z",
                     *             "updated_at": "2026-11-20T10:00:00.000Z"
                     *           }
                     *         ],
                     *         "pagination": {
                     *           "page": 1,
                     *           "page_size": 1,
                     *           "total_items": 1,
                     *           "total_pages": 1,
                     *           "has_next": true,
                     *           "has_previous": true
                     *         }
                     *       },
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        data: components["schemas"]["ApiKeyPage"];
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            400: components["responses"]["bad_user_input"];
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    createApiKey: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same request twice under one key is done once: for 24 hours the first answer is given again. */
                "Idempotency-Key"?: components["parameters"]["Idempotency-Key"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "Invoice importer",
                 *       "scopes": [
                 *         "upload",
                 *         "download"
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["CreateApiKeyBody"];
            };
        };
        responses: {
            /** @description Done; or, with an Idempotency-Key that was used for the same before, that answer again. */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "message": "text",
                     *       "data": {
                     *         "api_key_id": "key_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *         "api_key": "assay_Q2hhbmdlIG1lLCBJIGFtIG9ubHkgYW4gZXhhbXBsZSE",
                     *         "name": "Invoice importer",
                     *         "scopes": [
                     *           "upload",
                     *           "download"
                     *         ],
                     *         "expires_at": "2027-02-18T10:00:00.000Z"
                     *       },
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        message: string;
                        data: components["schemas"]["NewApiKey"];
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            400: components["responses"]["bad_user_input"];
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            409: components["responses"]["conflict.idempotency_mismatch"];
            415: components["responses"]["unsupported_media_type"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    getApiKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Shape key_…. */
                api_key_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "data": {
                     *         "api_key_id": "key_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *         "name": "Invoice importer",
                     *         "key_prefix": "assay_Q2ho",
                     *         "scopes": [
                     *           "upload",
                     *           "download"
                     *         ],
                     *         "status": "active",
                     *         "expires_at": "2027-02-18T10:00:00.000Z",
                     *         "last_used_at": "2026-11-20T10:00:00.000Z",
                     *         "metadata": {
                     *           "order": 4711
                     *         },
                     *         "created_by": "usr_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *         "created_at": "2026-11-20T10:00:00.000Z",
                     *         "updated_at": "2026-11-20T10:00:00.000Z"
                     *       },
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        data: components["schemas"]["ApiKey"];
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            404: components["responses"]["not_found"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    enableApiKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Shape key_…. */
                api_key_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "data": {
                     *         "api_key_id": "key_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *         "name": "Invoice importer",
                     *         "key_prefix": "assay_Q2ho",
                     *         "scopes": [
                     *           "upload",
                     *           "download"
                     *         ],
                     *         "status": "active",
                     *         "expires_at": "2027-02-18T10:00:00.000Z",
                     *         "last_used_at": "2026-11-20T10:00:00.000Z",
                     *         "metadata": {
                     *           "order": 4711
                     *         },
                     *         "created_by": "usr_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *         "created_at": "2026-11-20T10:00:00.000Z",
                     *         "updated_at": "2026-11-20T10:00:00.000Z"
                     *       },
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        data: components["schemas"]["ApiKey"];
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            404: components["responses"]["not_found"];
            409: components["responses"]["conflict"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    disableApiKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Shape key_…. */
                api_key_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "data": {
                     *         "api_key_id": "key_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *         "name": "Invoice importer",
                     *         "key_prefix": "assay_Q2ho",
                     *         "scopes": [
                     *           "upload",
                     *           "download"
                     *         ],
                     *         "status": "active",
                     *         "expires_at": "2027-02-18T10:00:00.000Z",
                     *         "last_used_at": "2026-11-20T10:00:00.000Z",
                     *         "metadata": {
                     *           "order": 4711
                     *         },
                     *         "created_by": "usr_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *         "created_at": "2026-11-20T10:00:00.000Z",
                     *         "updated_at": "2026-11-20T10:00:00.000Z"
                     *       },
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        data: components["schemas"]["ApiKey"];
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            404: components["responses"]["not_found"];
            409: components["responses"]["conflict"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    revokeApiKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Shape key_…. */
                api_key_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "data": {
                     *         "api_key_id": "key_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *         "name": "Invoice importer",
                     *         "key_prefix": "assay_Q2ho",
                     *         "scopes": [
                     *           "upload",
                     *           "download"
                     *         ],
                     *         "status": "active",
                     *         "expires_at": "2027-02-18T10:00:00.000Z",
                     *         "last_used_at": "2026-11-20T10:00:00.000Z",
                     *         "metadata": {
                     *           "order": 4711
                     *         },
                     *         "created_by": "usr_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *         "created_at": "2026-11-20T10:00:00.000Z",
                     *         "updated_at": "2026-11-20T10:00:00.000Z"
                     *       },
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        data: components["schemas"]["ApiKey"];
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            404: components["responses"]["not_found"];
            409: components["responses"]["conflict"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    rotateApiKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Shape key_…. */
                api_key_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "grace_seconds": 3600
                 *     }
                 */
                "application/json": components["schemas"]["RotateApiKeyBody"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "message": "text",
                     *       "data": {
                     *         "api_key_id": "key_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *         "api_key": "assay_Q2hhbmdlIG1lLCBJIGFtIG9ubHkgYW4gZXhhbXBsZSE",
                     *         "name": "Invoice importer",
                     *         "scopes": [
                     *           "upload",
                     *           "download"
                     *         ],
                     *         "expires_at": "2027-02-18T10:00:00.000Z"
                     *       },
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        message: string;
                        data: components["schemas"]["NewApiKey"];
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            400: components["responses"]["bad_user_input"];
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            404: components["responses"]["not_found"];
            409: components["responses"]["conflict"];
            415: components["responses"]["unsupported_media_type"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    listContexts: {
        parameters: {
            query?: {
                /** @description Which page, from 1. */
                page?: number;
                /** @description Items on a page: 1 to 100. */
                page_size?: number;
                /** @description The cursor of an item, as a connection or the answer’s `Link: …; rel="next"` gives it: the page is then what follows that item, whatever came or went meanwhile, and `page` is its number only. */
                after?: string;
                /** @description Only those of that status. */
                status?: components["schemas"]["ContextStatus"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "data": {
                     *         "data": [
                     *           {
                     *             "context_id": "ctx_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *             "context_key": "invoices",
                     *             "tenant_id": "ten_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *             "display_name": "Invoices",
                     *             "description": "Invoices as they come in",
                     *             "allowed_extensions": [
                     *               "pdf",
                     *               "png"
                     *             ],
                     *             "max_file_size_mb": 10,
                     *             "storage_path_template": "{context_key}/{year}/{month}",
                     *             "reject_blank_files": true,
                     *             "reject_corrupt_files": true,
                     *             "scan_for_viruses": true,
                     *             "storage_quota_mb": 10240,
                     *             "storage_used_bytes": 48213,
                     *             "status": "active",
                     *             "metadata": {
                     *               "order": 4711
                     *             },
                     *             "created_at": "2026-11-20T10:00:00.000Z",
                     *             "updated_at": "2026-11-20T10:00:00.000Z"
                     *           }
                     *         ],
                     *         "pagination": {
                     *           "page": 1,
                     *           "page_size": 1,
                     *           "total_items": 1,
                     *           "total_pages": 1,
                     *           "has_next": true,
                     *           "has_previous": true
                     *         }
                     *       },
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        data: components["schemas"]["FileContextPage"];
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            400: components["responses"]["bad_user_input"];
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    createContext: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same request twice under one key is done once: for 24 hours the first answer is given again. */
                "Idempotency-Key"?: components["parameters"]["Idempotency-Key"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "context_key": "invoices",
                 *       "display_name": "Invoices",
                 *       "allowed_extensions": [
                 *         "pdf",
                 *         "png"
                 *       ],
                 *       "max_file_size_mb": 10
                 *     }
                 */
                "application/json": components["schemas"]["CreateContextBody"];
            };
        };
        responses: {
            /** @description Done; or, with an Idempotency-Key that was used for the same before, that answer again. */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "data": {
                     *         "context_id": "ctx_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *         "context_key": "invoices",
                     *         "tenant_id": "ten_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *         "display_name": "Invoices",
                     *         "description": "Invoices as they come in",
                     *         "allowed_extensions": [
                     *           "pdf",
                     *           "png"
                     *         ],
                     *         "max_file_size_mb": 10,
                     *         "storage_path_template": "{context_key}/{year}/{month}",
                     *         "reject_blank_files": true,
                     *         "reject_corrupt_files": true,
                     *         "scan_for_viruses": true,
                     *         "storage_quota_mb": 10240,
                     *         "storage_used_bytes": 48213,
                     *         "status": "active",
                     *         "metadata": {
                     *           "order": 4711
                     *         },
                     *         "created_at": "2026-11-20T10:00:00.000Z",
                     *         "updated_at": "2026-11-20T10:00:00.000Z"
                     *       },
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        data: components["schemas"]["FileContext"];
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            400: components["responses"]["bad_user_input"];
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            409: components["responses"]["conflict.idempotency_mismatch"];
            415: components["responses"]["unsupported_media_type"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    getContext: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The context’s key. */
                context_key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "data": {
                     *         "context_id": "ctx_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *         "context_key": "invoices",
                     *         "tenant_id": "ten_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *         "display_name": "Invoices",
                     *         "description": "Invoices as they come in",
                     *         "allowed_extensions": [
                     *           "pdf",
                     *           "png"
                     *         ],
                     *         "max_file_size_mb": 10,
                     *         "storage_path_template": "{context_key}/{year}/{month}",
                     *         "reject_blank_files": true,
                     *         "reject_corrupt_files": true,
                     *         "scan_for_viruses": true,
                     *         "storage_quota_mb": 10240,
                     *         "storage_used_bytes": 48213,
                     *         "status": "active",
                     *         "metadata": {
                     *           "order": 4711
                     *         },
                     *         "created_at": "2026-11-20T10:00:00.000Z",
                     *         "updated_at": "2026-11-20T10:00:00.000Z"
                     *       },
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        data: components["schemas"]["FileContext"];
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            404: components["responses"]["not_found"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    deleteContext: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The context’s key. */
                context_key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "data": {
                     *         "context_id": "ctx_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *         "context_key": "invoices"
                     *       },
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        data: components["schemas"]["DeletedContext"];
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            404: components["responses"]["not_found"];
            409: components["responses"]["conflict"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    updateContext: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The context’s key. */
                context_key: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "display_name": "Invoices",
                 *       "allowed_extensions": [
                 *         "pdf",
                 *         "png"
                 *       ],
                 *       "max_file_size_mb": 10,
                 *       "description": "Invoices as they come in",
                 *       "storage_path_template": "{context_key}/{year}/{month}",
                 *       "reject_blank_files": true,
                 *       "reject_corrupt_files": true,
                 *       "scan_for_viruses": true,
                 *       "storage_quota_mb": 10240,
                 *       "metadata": {
                 *         "order": 4711
                 *       },
                 *       "status": "active"
                 *     }
                 */
                "application/json": components["schemas"]["UpdateContextBody"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "data": {
                     *         "context_id": "ctx_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *         "context_key": "invoices",
                     *         "tenant_id": "ten_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *         "display_name": "Invoices",
                     *         "description": "Invoices as they come in",
                     *         "allowed_extensions": [
                     *           "pdf",
                     *           "png"
                     *         ],
                     *         "max_file_size_mb": 10,
                     *         "storage_path_template": "{context_key}/{year}/{month}",
                     *         "reject_blank_files": true,
                     *         "reject_corrupt_files": true,
                     *         "scan_for_viruses": true,
                     *         "storage_quota_mb": 10240,
                     *         "storage_used_bytes": 48213,
                     *         "status": "active",
                     *         "metadata": {
                     *           "order": 4711
                     *         },
                     *         "created_at": "2026-11-20T10:00:00.000Z",
                     *         "updated_at": "2026-11-20T10:00:00.000Z"
                     *       },
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        data: components["schemas"]["FileContext"];
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            400: components["responses"]["bad_user_input"];
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            404: components["responses"]["not_found"];
            415: components["responses"]["unsupported_media_type"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    getContextPolicy: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The context’s key. */
                context_key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "data": {
                     *         "retention_days": null,
                     *         "trash_days": 0,
                     *         "reject_encrypted_files": true,
                     *         "reject_active_content": true,
                     *         "accept_unscanned": true,
                     *         "rescan": true
                     *       },
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        data: components["schemas"]["ContextPolicy"];
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            404: components["responses"]["not_found"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    updateContextPolicy: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The context’s key. */
                context_key: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "retention_days": null,
                 *       "trash_days": 0,
                 *       "reject_encrypted_files": true,
                 *       "reject_active_content": true,
                 *       "accept_unscanned": true,
                 *       "rescan": true
                 *     }
                 */
                "application/json": components["schemas"]["UpdateContextPolicyBody"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "data": {
                     *         "retention_days": null,
                     *         "trash_days": 0,
                     *         "reject_encrypted_files": true,
                     *         "reject_active_content": true,
                     *         "accept_unscanned": true,
                     *         "rescan": true
                     *       },
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        data: components["schemas"]["ContextPolicy"];
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            400: components["responses"]["bad_user_input"];
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            404: components["responses"]["not_found"];
            415: components["responses"]["unsupported_media_type"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    listContextVersions: {
        parameters: {
            query?: {
                /** @description Which page, from 1. */
                page?: number;
                /** @description Items on a page: 1 to 100. */
                page_size?: number;
                /** @description The cursor of an item, as a connection or the answer’s `Link: …; rel="next"` gives it: the page is then what follows that item, whatever came or went meanwhile, and `page` is its number only. */
                after?: string;
            };
            header?: never;
            path: {
                /** @description The context’s key. */
                context_key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "data": {
                     *         "data": [
                     *           {
                     *             "version": 1,
                     *             "changed_by": "usr_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *             "changed_at": "2026-11-20T10:00:00.000Z",
                     *             "rules": {
                     *               "allowed_extensions": [
                     *                 "pdf",
                     *                 "png"
                     *               ],
                     *               "max_file_size_mb": 10,
                     *               "reject_blank_files": true,
                     *               "reject_corrupt_files": true,
                     *               "scan_for_viruses": true,
                     *               "policy": {
                     *                 "retention_days": null,
                     *                 "trash_days": 0,
                     *                 "reject_encrypted_files": true,
                     *                 "reject_active_content": true,
                     *                 "accept_unscanned": true,
                     *                 "rescan": true
                     *               }
                     *             }
                     *           }
                     *         ],
                     *         "pagination": {
                     *           "page": 1,
                     *           "page_size": 1,
                     *           "total_items": 1,
                     *           "total_pages": 1,
                     *           "has_next": true,
                     *           "has_previous": true
                     *         }
                     *       },
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        data: components["schemas"]["ContextVersionPage"];
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            400: components["responses"]["bad_user_input"];
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            404: components["responses"]["not_found"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    previewContext: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The context’s key. */
                context_key: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "display_name": "Invoices",
                 *       "description": "Invoices as they come in",
                 *       "allowed_extensions": [
                 *         "pdf",
                 *         "png"
                 *       ],
                 *       "max_file_size_mb": 10,
                 *       "storage_path_template": "{context_key}/{year}/{month}",
                 *       "reject_blank_files": true,
                 *       "reject_corrupt_files": true,
                 *       "scan_for_viruses": true,
                 *       "storage_quota_mb": 10240,
                 *       "status": "active",
                 *       "metadata": {
                 *         "order": 4711
                 *       },
                 *       "policy": {
                 *         "retention_days": null,
                 *         "trash_days": 0,
                 *         "reject_encrypted_files": true,
                 *         "reject_active_content": true,
                 *         "accept_unscanned": true,
                 *         "rescan": true
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["PreviewContextBody"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "data": {
                     *         "files": 1,
                     *         "would_be_rejected": 1,
                     *         "undecided": 1,
                     *         "by_reason": {
                     *           "invalid_extension": 1,
                     *           "size_exceeded": 1,
                     *           "blank_file": 1,
                     *           "encrypted_file": 1,
                     *           "active_content": 1,
                     *           "virus_detected": 1,
                     *           "scan_incomplete": 1
                     *         },
                     *         "sample": [
                     *           {
                     *             "file_id": "file_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *             "original_filename": "invoice-4711.pdf",
                     *             "reason": "invalid_extension",
                     *             "message": "text"
                     *           }
                     *         ]
                     *       },
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        data: components["schemas"]["ContextPreview"];
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            400: components["responses"]["bad_user_input"];
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            404: components["responses"]["not_found"];
            415: components["responses"]["unsupported_media_type"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    getContextRescan: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The context’s key. */
                context_key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "data": {
                     *         "context_key": "invoices",
                     *         "status": "off",
                     *         "signatures": "text",
                     *         "files": 1,
                     *         "files_done": 1,
                     *         "files_scanned": 1,
                     *         "bytes_scanned": 1,
                     *         "files_quarantined": 1,
                     *         "files_failed": 1,
                     *         "started_at": "2026-11-20T10:00:00.000Z",
                     *         "finished_at": "2026-11-20T10:00:00.000Z"
                     *       },
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        data: components["schemas"]["RescanProgress"];
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            404: components["responses"]["not_found"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    rescanContext: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The context’s key. */
                context_key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "data": {
                     *         "context_key": "invoices",
                     *         "status": "off",
                     *         "signatures": "text",
                     *         "files": 1,
                     *         "files_done": 1,
                     *         "files_scanned": 1,
                     *         "bytes_scanned": 1,
                     *         "files_quarantined": 1,
                     *         "files_failed": 1,
                     *         "started_at": "2026-11-20T10:00:00.000Z",
                     *         "finished_at": "2026-11-20T10:00:00.000Z"
                     *       },
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        data: components["schemas"]["RescanProgress"];
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            404: components["responses"]["not_found"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["scanner_unavailable.database_unavailable.overloaded"];
        };
    };
    uploadFile: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same request twice under one key is done once: for 24 hours the first answer is given again. */
                "Idempotency-Key"?: components["parameters"]["Idempotency-Key"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "multipart/form-data": components["schemas"]["UploadFileBody"];
            };
        };
        responses: {
            /** @description Done; or, with an Idempotency-Key that was used for the same before, that answer again. */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "message": "text",
                     *       "data": {
                     *         "file_id": "file_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *         "original_filename": "invoice-4711.pdf",
                     *         "content_type": "application/pdf",
                     *         "size_bytes": 48213,
                     *         "context_key": "invoices"
                     *       }
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        message: string;
                        data: components["schemas"]["File"];
                    };
                };
            };
            400: components["responses"]["bad_user_input"];
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            404: components["responses"]["not_found"];
            409: components["responses"]["conflict.idempotency_mismatch"];
            413: components["responses"]["size_exceeded"];
            415: components["responses"]["unsupported_media_type"];
            422: components["responses"]["invalid_extension.blank_file.corrupt_file.virus_detected.encrypted_file.active_content.scan_incomplete.quota_exceeded"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["scanner_unavailable.storage_unavailable.database_unavailable.overloaded"];
        };
    };
    validateFile: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "multipart/form-data": components["schemas"]["ValidateFileBody"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "data": {
                     *         "outcome": "accepted",
                     *         "reason": null,
                     *         "checks": [
                     *           {
                     *             "check": "invalid_extension",
                     *             "outcome": "passed",
                     *             "message": "text",
                     *             "evidence": {},
                     *             "duration_ms": 2
                     *           }
                     *         ],
                     *         "detected_content_type": "application/pdf",
                     *         "size_bytes": 48213,
                     *         "checksum": "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
                     *         "engine": {
                     *           "name": "Invoice importer",
                     *           "version": "1.4.3",
                     *           "signatures_version": "27800",
                     *           "signatures_date": "2026-11-20T10:00:00.000Z"
                     *         },
                     *         "validated_at": "2026-11-20T10:00:00.000Z",
                     *         "rules_version": 1
                     *       },
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        data: components["schemas"]["ValidationReport"];
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            400: components["responses"]["bad_user_input"];
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            404: components["responses"]["not_found"];
            409: components["responses"]["conflict"];
            413: components["responses"]["size_exceeded"];
            415: components["responses"]["unsupported_media_type"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["scanner_unavailable.storage_unavailable.database_unavailable.overloaded"];
        };
    };
    listFiles: {
        parameters: {
            query?: {
                /**
                 * @description Only files of the context with this key.
                 * @example invoices
                 */
                context?: string;
                /**
                 * @description Only files that this key_… or usr_… uploaded.
                 * @example key_01kqzv6y8xw3f5t2n7m4c9d1b0
                 */
                uploaded_by?: string;
                /**
                 * @description Only files of this type; image/* stands for all of a kind.
                 * @example application/pdf
                 */
                content_type?: string;
                /**
                 * @description Only files whose name begins so, whatever the case of its letters A to Z; sorted by name by default.
                 * @example invoice-
                 */
                name_prefix?: string;
                /**
                 * @description Only files uploaded then or later: ISO 8601, inclusive.
                 * @example 2026-11-01
                 */
                start_date?: string;
                /**
                 * @description Only files uploaded then or before: ISO 8601, inclusive; a date without a time includes that whole day.
                 * @example 2026-11-30
                 */
                end_date?: string;
                /** @description What the list is sorted by: created_at by default. Such a list, and one of other filters than context and uploader, is walked by its cursors and not by page numbers. */
                sort?: components["schemas"]["FileSort"];
                /** @description In which order: by default names from A on, all else from the newest or largest on. */
                order?: components["schemas"]["SortOrder"];
                /** @description Which page, from 1. */
                page?: number;
                /** @description Items on a page: 1 to 100. */
                page_size?: number;
                /** @description The cursor of an item, as a connection or the answer’s `Link: …; rel="next"` gives it: the page is then what follows that item, whatever came or went meanwhile, and `page` is its number only. */
                after?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "data": {
                     *         "data": [
                     *           {
                     *             "file_id": "file_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *             "original_filename": "invoice-4711.pdf",
                     *             "content_type": "application/pdf",
                     *             "size_bytes": 48213,
                     *             "context_key": "invoices",
                     *             "uploaded_by": "key_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *             "uploaded_by_name": "Invoice importer",
                     *             "download_count": 3,
                     *             "last_downloaded_at": "2026-11-20T10:00:00.000Z",
                     *             "created_at": "2026-11-20T10:00:00.000Z"
                     *           }
                     *         ],
                     *         "pagination": {
                     *           "page": 1,
                     *           "page_size": 1,
                     *           "total_items": 1,
                     *           "total_pages": 1,
                     *           "has_next": true,
                     *           "has_previous": true
                     *         }
                     *       },
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        data: components["schemas"]["FilePage"];
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            400: components["responses"]["bad_user_input"];
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    createDownloadUrl: {
        parameters: {
            query?: {
                /** @description Whether the URL is to be of use once: its first GET, whole or a range, is its last. Not with a bucket. */
                once?: boolean;
            };
            header?: never;
            path: {
                /** @description Shape file_…. */
                file_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "data": {
                     *         "file_id": "file_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *         "download_url": "https://files.example.com/download/file_01kqzv6y8xw3f5t2n7m4c9d1b0?expires=1795187510&signature=54kD",
                     *         "expires_in_seconds": 300,
                     *         "original_filename": "invoice-4711.pdf"
                     *       }
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        data: components["schemas"]["DownloadUrl"];
                    };
                };
            };
            400: components["responses"]["bad_user_input"];
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden.quarantined"];
            404: components["responses"]["not_found"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["storage_unavailable.database_unavailable.overloaded"];
        };
    };
    deleteFile: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Shape file_…. */
                file_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "data": {
                     *         "file_id": "file_01kqzv6y8xw3f5t2n7m4c9d1b0"
                     *       },
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        data: components["schemas"]["DeletedFile"];
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden.quarantined"];
            404: components["responses"]["not_found"];
            409: components["responses"]["on_hold"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    deleteFiles: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "file_ids": [
                 *         "text"
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["DeleteFilesBody"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "data": [
                     *         {
                     *           "file_id": "file_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *           "deleted": true,
                     *           "error": null
                     *         }
                     *       ],
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        data: components["schemas"]["FileDeletion"][];
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            400: components["responses"]["bad_user_input"];
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            415: components["responses"]["unsupported_media_type"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    getFileMetadata: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Shape file_…. */
                file_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "data": {
                     *         "file_id": "file_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *         "original_filename": "invoice-4711.pdf",
                     *         "content_type": "application/pdf",
                     *         "size_bytes": 48213,
                     *         "context_key": "invoices",
                     *         "checksum": "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
                     *         "metadata": {
                     *           "order": 4711
                     *         },
                     *         "download_count": 3,
                     *         "last_downloaded_at": "2026-11-20T10:00:00.000Z",
                     *         "created_at": "2026-11-20T10:00:00.000Z",
                     *         "updated_at": "2026-11-20T10:00:00.000Z"
                     *       },
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        data: components["schemas"]["FileMetadata"];
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden.quarantined"];
            404: components["responses"]["not_found"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    getFileValidation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Shape file_…. */
                file_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "data": {
                     *         "outcome": "accepted",
                     *         "reason": null,
                     *         "checks": [
                     *           {
                     *             "check": "invalid_extension",
                     *             "outcome": "passed",
                     *             "message": "text",
                     *             "evidence": {},
                     *             "duration_ms": 2
                     *           }
                     *         ],
                     *         "detected_content_type": "application/pdf",
                     *         "size_bytes": 48213,
                     *         "checksum": "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
                     *         "engine": {
                     *           "name": "Invoice importer",
                     *           "version": "1.4.3",
                     *           "signatures_version": "27800",
                     *           "signatures_date": "2026-11-20T10:00:00.000Z"
                     *         },
                     *         "validated_at": "2026-11-20T10:00:00.000Z",
                     *         "rules_version": 1
                     *       },
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        data: components["schemas"]["ValidationReport"];
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            404: components["responses"]["not_found"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    listFileValidations: {
        parameters: {
            query?: {
                /** @description Which page, from 1. */
                page?: number;
                /** @description Items on a page: 1 to 100. */
                page_size?: number;
            };
            header?: never;
            path: {
                /** @description Shape file_…. */
                file_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "data": {
                     *         "data": [
                     *           {
                     *             "outcome": "accepted",
                     *             "reason": null,
                     *             "checks": [
                     *               {
                     *                 "check": "invalid_extension",
                     *                 "outcome": "passed",
                     *                 "message": "text",
                     *                 "evidence": {},
                     *                 "duration_ms": 2
                     *               }
                     *             ],
                     *             "detected_content_type": "application/pdf",
                     *             "size_bytes": 48213,
                     *             "checksum": "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
                     *             "engine": {
                     *               "name": "Invoice importer",
                     *               "version": "1.4.3",
                     *               "signatures_version": "27800",
                     *               "signatures_date": "2026-11-20T10:00:00.000Z"
                     *             },
                     *             "validated_at": "2026-11-20T10:00:00.000Z",
                     *             "rules_version": 1
                     *           }
                     *         ],
                     *         "pagination": {
                     *           "page": 1,
                     *           "page_size": 1,
                     *           "total_items": 1,
                     *           "total_pages": 1,
                     *           "has_next": true,
                     *           "has_previous": true
                     *         }
                     *       },
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        data: components["schemas"]["ValidationReportPage"];
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            400: components["responses"]["bad_user_input"];
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            404: components["responses"]["not_found"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    listQuarantine: {
        parameters: {
            query?: {
                /**
                 * @description Only files of the context with this key.
                 * @example invoices
                 */
                context?: string;
                /** @description Which page, from 1. */
                page?: number;
                /** @description Items on a page: 1 to 100. */
                page_size?: number;
                /** @description The cursor of an item, as a connection or the answer’s `Link: …; rel="next"` gives it: the page is then what follows that item, whatever came or went meanwhile, and `page` is its number only. */
                after?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "data": {
                     *         "data": [
                     *           {
                     *             "file_id": "file_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *             "original_filename": "invoice-4711.pdf",
                     *             "size_bytes": 48213,
                     *             "context_key": "invoices",
                     *             "viruses": [
                     *               "text"
                     *             ],
                     *             "signatures": "text",
                     *             "quarantined_at": "2026-11-20T10:00:00.000Z"
                     *           }
                     *         ],
                     *         "pagination": {
                     *           "page": 1,
                     *           "page_size": 1,
                     *           "total_items": 1,
                     *           "total_pages": 1,
                     *           "has_next": true,
                     *           "has_previous": true
                     *         }
                     *       },
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        data: components["schemas"]["QuarantinedFilePage"];
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            400: components["responses"]["bad_user_input"];
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    releaseFromQuarantine: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Shape file_…. */
                file_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "reason": "text"
                 *     }
                 */
                "application/json": components["schemas"]["ReleaseFromQuarantineBody"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "data": {
                     *         "file_id": "file_01kqzv6y8xw3f5t2n7m4c9d1b0"
                     *       },
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        data: components["schemas"]["OutOfQuarantine"];
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            400: components["responses"]["bad_user_input"];
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            404: components["responses"]["not_found"];
            415: components["responses"]["unsupported_media_type"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    purgeFromQuarantine: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Shape file_…. */
                file_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "data": {
                     *         "file_id": "file_01kqzv6y8xw3f5t2n7m4c9d1b0"
                     *       },
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        data: components["schemas"]["OutOfQuarantine"];
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            404: components["responses"]["not_found"];
            409: components["responses"]["on_hold"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    holdFile: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Shape file_…. */
                file_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "reason": "text"
                 *     }
                 */
                "application/json": components["schemas"]["HoldFileBody"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "data": {
                     *         "file_id": "file_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *         "reason": "text",
                     *         "held_by": "usr_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *         "held_at": "2026-11-20T10:00:00.000Z"
                     *       },
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        data: components["schemas"]["Hold"];
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            400: components["responses"]["bad_user_input"];
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            404: components["responses"]["not_found"];
            415: components["responses"]["unsupported_media_type"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    releaseHold: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Shape file_…. */
                file_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "data": {
                     *         "file_id": "file_01kqzv6y8xw3f5t2n7m4c9d1b0"
                     *       },
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        data: components["schemas"]["LiftedHold"];
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            404: components["responses"]["not_found"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    listHolds: {
        parameters: {
            query?: {
                /**
                 * @description Only files of the context with this key.
                 * @example invoices
                 */
                context?: string;
                /** @description Which page, from 1. */
                page?: number;
                /** @description Items on a page: 1 to 100. */
                page_size?: number;
                /** @description The cursor of an item, as a connection or the answer’s `Link: …; rel="next"` gives it: the page is then what follows that item, whatever came or went meanwhile, and `page` is its number only. */
                after?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "data": {
                     *         "data": [
                     *           {
                     *             "file_id": "file_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *             "reason": "text",
                     *             "held_by": "usr_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *             "held_at": "2026-11-20T10:00:00.000Z"
                     *           }
                     *         ],
                     *         "pagination": {
                     *           "page": 1,
                     *           "page_size": 1,
                     *           "total_items": 1,
                     *           "total_pages": 1,
                     *           "has_next": true,
                     *           "has_previous": true
                     *         }
                     *       },
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        data: components["schemas"]["HoldPage"];
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            400: components["responses"]["bad_user_input"];
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    listTrash: {
        parameters: {
            query?: {
                /**
                 * @description Only files of the context with this key.
                 * @example invoices
                 */
                context?: string;
                /** @description Which page, from 1. */
                page?: number;
                /** @description Items on a page: 1 to 100. */
                page_size?: number;
                /** @description The cursor of an item, as a connection or the answer’s `Link: …; rel="next"` gives it: the page is then what follows that item, whatever came or went meanwhile, and `page` is its number only. */
                after?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "data": {
                     *         "data": [
                     *           {
                     *             "file_id": "file_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *             "original_filename": "invoice-4711.pdf",
                     *             "size_bytes": 48213,
                     *             "context_key": "invoices",
                     *             "deleted_at": "2026-11-20T10:00:00.000Z",
                     *             "purge_at": "2026-11-27T10:00:00.000Z"
                     *           }
                     *         ],
                     *         "pagination": {
                     *           "page": 1,
                     *           "page_size": 1,
                     *           "total_items": 1,
                     *           "total_pages": 1,
                     *           "has_next": true,
                     *           "has_previous": true
                     *         }
                     *       },
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        data: components["schemas"]["TrashedFilePage"];
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            400: components["responses"]["bad_user_input"];
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    restoreFile: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Shape file_…. */
                file_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "data": {
                     *         "file_id": "file_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *         "original_filename": "invoice-4711.pdf",
                     *         "content_type": "application/pdf",
                     *         "size_bytes": 48213,
                     *         "context_key": "invoices",
                     *         "checksum": "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
                     *         "metadata": {
                     *           "order": 4711
                     *         },
                     *         "download_count": 3,
                     *         "last_downloaded_at": "2026-11-20T10:00:00.000Z",
                     *         "created_at": "2026-11-20T10:00:00.000Z",
                     *         "updated_at": "2026-11-20T10:00:00.000Z"
                     *       },
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        data: components["schemas"]["FileMetadata"];
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            404: components["responses"]["not_found"];
            409: components["responses"]["conflict"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    purgeFile: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Shape file_…. */
                file_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "data": {
                     *         "file_id": "file_01kqzv6y8xw3f5t2n7m4c9d1b0"
                     *       },
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        data: components["schemas"]["PurgedFile"];
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            404: components["responses"]["not_found"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    getStats: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "data": {
                     *         "overview": {
                     *           "total_files": 1,
                     *           "total_contexts": 1,
                     *           "total_api_keys": 1,
                     *           "total_downloads": 1
                     *         },
                     *         "api_calls": {
                     *           "today": 1,
                     *           "yesterday": 1,
                     *           "change_percent": 1,
                     *           "by_operation": {
                     *             "upload": 1,
                     *             "download": 1,
                     *             "metadata": 1,
                     *             "delete": 1
                     *           },
                     *           "by_status": {
                     *             "success": 1,
                     *             "failure": 1
                     *           }
                     *         },
                     *         "storage": {
                     *           "total_bytes": 1,
                     *           "total_formatted": "47.08 KB",
                     *           "by_context": [
                     *             {
                     *               "context_key": "invoices",
                     *               "context_name": "Invoices",
                     *               "count": 1,
                     *               "total_bytes": 1
                     *             }
                     *           ]
                     *         },
                     *         "storage_quota": {
                     *           "quota_mb": 1,
                     *           "used_bytes": 1,
                     *           "used_formatted": "47.08 KB",
                     *           "used_percent": 1,
                     *           "remaining_bytes": 1,
                     *           "remaining_formatted": "9.99 GB"
                     *         },
                     *         "files_uploaded": {
                     *           "total": 1,
                     *           "today": 1,
                     *           "yesterday": 1,
                     *           "change_percent": 1
                     *         },
                     *         "security": {
                     *           "files_blocked_total": 1,
                     *           "blocked_today": 1,
                     *           "blocked_yesterday": 1,
                     *           "change_percent": 1,
                     *           "by_reason": {
                     *             "invalid_extension": 1,
                     *             "size_exceeded": 1,
                     *             "blank_file": 1,
                     *             "corrupt_file": 1,
                     *             "virus_detected": 1
                     *           }
                     *         }
                     *       },
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        data: components["schemas"]["Stats"];
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    getApiCallsChart: {
        parameters: {
            query?: {
                /** @description How long one point is. */
                period?: components["schemas"]["ChartPeriod"];
                /** @description Days of the window: 1 to 365; 7 unless given, 30 for weekly. */
                days?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "data": {
                     *         "period": "hourly",
                     *         "data_points": [
                     *           {
                     *             "timestamp": "2026-11-20T10:00:00.000Z",
                     *             "total": 1,
                     *             "success": 1,
                     *             "failure": 1,
                     *             "by_operation": {
                     *               "upload": 1,
                     *               "download": 1,
                     *               "metadata": 1,
                     *               "delete": 1
                     *             }
                     *           }
                     *         ]
                     *       },
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        data: components["schemas"]["ApiCallsChart"];
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            400: components["responses"]["bad_user_input"];
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    getStorageChart: {
        parameters: {
            query?: {
                /** @description How long one point is. */
                period?: components["schemas"]["StorageChartPeriod"];
                /** @description Days of the window: 1 to 365; 7 unless given, 30 for weekly. */
                days?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "data": {
                     *         "period": "daily",
                     *         "data_points": [
                     *           {
                     *             "timestamp": "2026-11-20T10:00:00.000Z",
                     *             "total_bytes": 1,
                     *             "files_count": 1
                     *           }
                     *         ]
                     *       },
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        data: components["schemas"]["StorageChart"];
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            400: components["responses"]["bad_user_input"];
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    getUploadsChart: {
        parameters: {
            query?: {
                /** @description How long one point is. */
                period?: components["schemas"]["ChartPeriod"];
                /** @description Days of the window: 1 to 365; 7 unless given, 30 for weekly. */
                days?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "data": {
                     *         "period": "hourly",
                     *         "data_points": [
                     *           {
                     *             "timestamp": "2026-11-20T10:00:00.000Z",
                     *             "count": 1,
                     *             "total_bytes": 1
                     *           }
                     *         ]
                     *       },
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        data: components["schemas"]["UploadsChart"];
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            400: components["responses"]["bad_user_input"];
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    getApiCallsByContext: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "data": [
                     *         {
                     *           "context_key": "invoices",
                     *           "context_name": "Invoices",
                     *           "total": 1,
                     *           "success": 1,
                     *           "failure": 1,
                     *           "by_operation": {
                     *             "upload": 1,
                     *             "download": 1,
                     *             "metadata": 1,
                     *             "delete": 1
                     *           }
                     *         }
                     *       ],
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        data: components["schemas"]["ContextApiCalls"][];
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    getFilesByContext: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "data": [
                     *         {
                     *           "context_key": "invoices",
                     *           "context_name": "Invoices",
                     *           "file_count": 1,
                     *           "total_bytes": 1,
                     *           "total_formatted": "47.08 KB"
                     *         }
                     *       ],
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        data: components["schemas"]["ContextFiles"][];
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    listCallLogs: {
        parameters: {
            query?: {
                /** @description Which page, from 1. */
                page?: number;
                /** @description Items on a page: 1 to 100. */
                page_size?: number;
                /** @description The cursor of an item, as a connection or the answer’s `Link: …; rel="next"` gives it: the page is then what follows that item, whatever came or went meanwhile, and `page` is its number only. */
                after?: string;
                /**
                 * @description Only calls by that key.
                 * @example key_01kqzv6y8xw3f5t2n7m4c9d1b0
                 */
                api_key_id?: string;
                /** @description Only calls of that operation. */
                operation?: components["schemas"]["Operation"];
                /** @description Only calls that ended so. */
                status?: components["schemas"]["CallStatus"];
                /**
                 * @description ISO 8601, lower bound, inclusive.
                 * @example 2026-11-01
                 */
                start_date?: string;
                /**
                 * @description ISO 8601, upper bound, inclusive; a date without a time includes that whole day.
                 * @example 2026-11-30
                 */
                end_date?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "data": {
                     *         "data": [
                     *           {
                     *             "call_id": "call_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *             "api_key_id": "key_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *             "api_key_name": "Invoice importer",
                     *             "operation": "upload",
                     *             "status": "success",
                     *             "file_id": "file_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *             "context_key": "invoices",
                     *             "error_message": null,
                     *             "ip_address": "203.0.113.7",
                     *             "user_agent": "curl/8.5.0",
                     *             "created_at": "2026-11-20T10:00:00.000Z"
                     *           }
                     *         ],
                     *         "pagination": {
                     *           "page": 1,
                     *           "page_size": 1,
                     *           "total_items": 1,
                     *           "total_pages": 1,
                     *           "has_next": true,
                     *           "has_previous": true
                     *         }
                     *       },
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        data: components["schemas"]["CallLogPage"];
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            400: components["responses"]["bad_user_input"];
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    listAuditLogs: {
        parameters: {
            query?: {
                /** @description Which page, from 1. */
                page?: number;
                /** @description Items on a page: 1 to 100. */
                page_size?: number;
                /** @description The cursor of an item, as a connection or the answer’s `Link: …; rel="next"` gives it: the page is then what follows that item, whatever came or went meanwhile, and `page` is its number only. */
                after?: string;
                /** @description Only changes of that kind. */
                audit_type?: components["schemas"]["AuditType"];
                /** @description Only that action. */
                action?: components["schemas"]["AuditAction"];
                /**
                 * @description Only changes of that one thing.
                 * @example file_01kqzv6y8xw3f5t2n7m4c9d1b0
                 */
                entity_id?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "data": {
                     *         "data": [
                     *           {
                     *             "audit_id": "aud_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *             "audit_type": "file",
                     *             "action": "created",
                     *             "entity_type": "file",
                     *             "entity_id": "file_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *             "entity_name": "invoice-4711.pdf",
                     *             "performed_by_id": "key_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *             "performed_by_name": "Invoice importer",
                     *             "performed_by_email": null,
                     *             "performed_by_type": "api_key",
                     *             "performed_by_scopes": [
                     *               "upload",
                     *               "download"
                     *             ],
                     *             "details": {},
                     *             "ip_address": "203.0.113.7",
                     *             "user_agent": "curl/8.5.0",
                     *             "created_at": "2026-11-20T10:00:00.000Z"
                     *           }
                     *         ],
                     *         "pagination": {
                     *           "page": 1,
                     *           "page_size": 1,
                     *           "total_items": 1,
                     *           "total_pages": 1,
                     *           "has_next": true,
                     *           "has_previous": true
                     *         }
                     *       },
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        data: components["schemas"]["AuditLogPage"];
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            400: components["responses"]["bad_user_input"];
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    listAuditLogsOfEntity: {
        parameters: {
            query?: {
                /** @description Which page, from 1. */
                page?: number;
                /** @description Items on a page: 1 to 100. */
                page_size?: number;
                /** @description The cursor of an item, as a connection or the answer’s `Link: …; rel="next"` gives it: the page is then what follows that item, whatever came or went meanwhile, and `page` is its number only. */
                after?: string;
            };
            header?: never;
            path: {
                /** @description The kind of thing. */
                entity_type: components["schemas"]["EntityType"];
                /** @description Which one. */
                entity_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "data": {
                     *         "data": [
                     *           {
                     *             "audit_id": "aud_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *             "audit_type": "file",
                     *             "action": "created",
                     *             "entity_type": "file",
                     *             "entity_id": "file_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *             "entity_name": "invoice-4711.pdf",
                     *             "performed_by_id": "key_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *             "performed_by_name": "Invoice importer",
                     *             "performed_by_email": null,
                     *             "performed_by_type": "api_key",
                     *             "performed_by_scopes": [
                     *               "upload",
                     *               "download"
                     *             ],
                     *             "details": {},
                     *             "ip_address": "203.0.113.7",
                     *             "user_agent": "curl/8.5.0",
                     *             "created_at": "2026-11-20T10:00:00.000Z"
                     *           }
                     *         ],
                     *         "pagination": {
                     *           "page": 1,
                     *           "page_size": 1,
                     *           "total_items": 1,
                     *           "total_pages": 1,
                     *           "has_next": true,
                     *           "has_previous": true
                     *         }
                     *       },
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        data: components["schemas"]["AuditLogPage"];
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            400: components["responses"]["bad_user_input"];
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    listEvents: {
        parameters: {
            query?: {
                /** @description What follows this place in the journal; 0: from the beginning. */
                after?: number;
                /** @description How many: 1 to 1000. */
                limit?: number;
                /** @description Only these types; file.* stands for all of a kind. All types where it is left out. */
                types?: string[];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "data": {
                     *         "data": [
                     *           {
                     *             "sequence": 4711,
                     *             "event_id": "evt_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *             "type": "file.accepted",
                     *             "occurred_at": "2026-11-20T10:00:00.000Z",
                     *             "data": {}
                     *           }
                     *         ],
                     *         "last_sequence": 4711
                     *       },
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        data: components["schemas"]["EventPage"];
                        /** Format: date-time */
                        timestamp: string;
                    };
                    "text/event-stream": string;
                };
            };
            400: components["responses"]["bad_user_input"];
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    getTenant: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "data": {
                     *         "tenant_id": "ten_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *         "name": "Invoice importer",
                     *         "storage_quota_mb": 10240,
                     *         "storage_used_bytes": 48213,
                     *         "created_at": "2026-11-20T10:00:00.000Z",
                     *         "updated_at": "2026-11-20T10:00:00.000Z"
                     *       },
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        data: components["schemas"]["Tenant"];
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    updateTenant: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "name": "Invoice importer",
                 *       "storage_quota_mb": 10240
                 *     }
                 */
                "application/json": components["schemas"]["UpdateTenantBody"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "data": {
                     *         "tenant_id": "ten_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *         "name": "Invoice importer",
                     *         "storage_quota_mb": 10240,
                     *         "storage_used_bytes": 48213,
                     *         "created_at": "2026-11-20T10:00:00.000Z",
                     *         "updated_at": "2026-11-20T10:00:00.000Z"
                     *       },
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        data: components["schemas"]["Tenant"];
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            400: components["responses"]["bad_user_input"];
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            415: components["responses"]["unsupported_media_type"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    listWebhooks: {
        parameters: {
            query?: {
                /** @description Which page, from 1. */
                page?: number;
                /** @description Items on a page: 1 to 100. */
                page_size?: number;
                /** @description The cursor of an item, as a connection or the answer’s `Link: …; rel="next"` gives it: the page is then what follows that item, whatever came or went meanwhile, and `page` is its number only. */
                after?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "data": {
                     *         "data": [
                     *           {
                     *             "webhook_id": "whk_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *             "url": "https://hooks.example.com/assay",
                     *             "types": [
                     *               "file.*",
                     *               "quota.threshold"
                     *             ],
                     *             "contexts": [
                     *               "invoices"
                     *             ],
                     *             "description": "Invoices as they come in",
                     *             "status": "active",
                     *             "disabled_reason": null,
                     *             "last_sequence": 4711,
                     *             "failing_since": null,
                     *             "next_attempt_at": null,
                     *             "previous_secret_expires_at": null,
                     *             "created_by": "usr_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *             "created_at": "2026-11-20T10:00:00.000Z",
                     *             "updated_at": "2026-11-20T10:00:00.000Z"
                     *           }
                     *         ],
                     *         "pagination": {
                     *           "page": 1,
                     *           "page_size": 1,
                     *           "total_items": 1,
                     *           "total_pages": 1,
                     *           "has_next": true,
                     *           "has_previous": true
                     *         }
                     *       },
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        data: components["schemas"]["WebhookPage"];
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            400: components["responses"]["bad_user_input"];
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    createWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "url": "https://hooks.example.com/assay"
                 *     }
                 */
                "application/json": components["schemas"]["CreateWebhookBody"];
            };
        };
        responses: {
            /** @description Done. */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "message": "text",
                     *       "data": {
                     *         "webhook_id": "whk_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *         "url": "https://hooks.example.com/assay",
                     *         "types": [
                     *           "file.*",
                     *           "quota.threshold"
                     *         ],
                     *         "contexts": [
                     *           "invoices"
                     *         ],
                     *         "description": "Invoices as they come in",
                     *         "status": "active",
                     *         "disabled_reason": null,
                     *         "last_sequence": 4711,
                     *         "failing_since": null,
                     *         "next_attempt_at": null,
                     *         "previous_secret_expires_at": null,
                     *         "created_by": "usr_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *         "created_at": "2026-11-20T10:00:00.000Z",
                     *         "updated_at": "2026-11-20T10:00:00.000Z",
                     *         "secret": "whsec_Q2hhbmdlIG1lLCBJIGFtIG9ubHkgYW4gZXhhbXBsZSE="
                     *       },
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        message: string;
                        data: components["schemas"]["WebhookWithSecret"];
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            400: components["responses"]["bad_user_input"];
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            409: components["responses"]["conflict"];
            415: components["responses"]["unsupported_media_type"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    getWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Shape whk_…. */
                webhook_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "data": {
                     *         "webhook_id": "whk_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *         "url": "https://hooks.example.com/assay",
                     *         "types": [
                     *           "file.*",
                     *           "quota.threshold"
                     *         ],
                     *         "contexts": [
                     *           "invoices"
                     *         ],
                     *         "description": "Invoices as they come in",
                     *         "status": "active",
                     *         "disabled_reason": null,
                     *         "last_sequence": 4711,
                     *         "failing_since": null,
                     *         "next_attempt_at": null,
                     *         "previous_secret_expires_at": null,
                     *         "created_by": "usr_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *         "created_at": "2026-11-20T10:00:00.000Z",
                     *         "updated_at": "2026-11-20T10:00:00.000Z"
                     *       },
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        data: components["schemas"]["Webhook"];
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            404: components["responses"]["not_found"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    deleteWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Shape whk_…. */
                webhook_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "data": {
                     *         "webhook_id": "whk_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *         "deleted": true
                     *       },
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        data: components["schemas"]["DeletedWebhook"];
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            404: components["responses"]["not_found"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    updateWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Shape whk_…. */
                webhook_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "url": "https://hooks.example.com/assay",
                 *       "types": [
                 *         "file.*",
                 *         "quota.threshold"
                 *       ],
                 *       "contexts": [
                 *         "invoices"
                 *       ],
                 *       "description": "Invoices as they come in",
                 *       "status": "active"
                 *     }
                 */
                "application/json": components["schemas"]["UpdateWebhookBody"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "data": {
                     *         "webhook_id": "whk_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *         "url": "https://hooks.example.com/assay",
                     *         "types": [
                     *           "file.*",
                     *           "quota.threshold"
                     *         ],
                     *         "contexts": [
                     *           "invoices"
                     *         ],
                     *         "description": "Invoices as they come in",
                     *         "status": "active",
                     *         "disabled_reason": null,
                     *         "last_sequence": 4711,
                     *         "failing_since": null,
                     *         "next_attempt_at": null,
                     *         "previous_secret_expires_at": null,
                     *         "created_by": "usr_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *         "created_at": "2026-11-20T10:00:00.000Z",
                     *         "updated_at": "2026-11-20T10:00:00.000Z"
                     *       },
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        data: components["schemas"]["Webhook"];
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            400: components["responses"]["bad_user_input"];
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            404: components["responses"]["not_found"];
            415: components["responses"]["unsupported_media_type"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    testWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Shape whk_…. */
                webhook_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "data": {
                     *         "delivery_id": "dlv_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *         "event_id": "evt_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *         "type": "file.accepted",
                     *         "sequence": 4711,
                     *         "status": "pending",
                     *         "attempts": 1,
                     *         "response_status": 204,
                     *         "error": null,
                     *         "duration_ms": 2,
                     *         "created_at": "2026-11-20T10:00:00.000Z",
                     *         "attempted_at": "2026-11-20T10:00:00.000Z",
                     *         "next_attempt_at": null
                     *       },
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        data: components["schemas"]["WebhookDelivery"];
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            404: components["responses"]["not_found"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    rotateWebhookSecret: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Shape whk_…. */
                webhook_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "message": "text",
                     *       "data": {
                     *         "webhook_id": "whk_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *         "url": "https://hooks.example.com/assay",
                     *         "types": [
                     *           "file.*",
                     *           "quota.threshold"
                     *         ],
                     *         "contexts": [
                     *           "invoices"
                     *         ],
                     *         "description": "Invoices as they come in",
                     *         "status": "active",
                     *         "disabled_reason": null,
                     *         "last_sequence": 4711,
                     *         "failing_since": null,
                     *         "next_attempt_at": null,
                     *         "previous_secret_expires_at": null,
                     *         "created_by": "usr_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *         "created_at": "2026-11-20T10:00:00.000Z",
                     *         "updated_at": "2026-11-20T10:00:00.000Z",
                     *         "secret": "whsec_Q2hhbmdlIG1lLCBJIGFtIG9ubHkgYW4gZXhhbXBsZSE="
                     *       },
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        message: string;
                        data: components["schemas"]["WebhookWithSecret"];
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            404: components["responses"]["not_found"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    listWebhookDeliveries: {
        parameters: {
            query?: {
                /** @description Which page, from 1. */
                page?: number;
                /** @description Items on a page: 1 to 100. */
                page_size?: number;
                /** @description The cursor of an item, as a connection or the answer’s `Link: …; rel="next"` gives it: the page is then what follows that item, whatever came or went meanwhile, and `page` is its number only. */
                after?: string;
                /** @description Only those that stand so. */
                status?: components["schemas"]["DeliveryStatus"];
            };
            header?: never;
            path: {
                /** @description Shape whk_…. */
                webhook_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "data": {
                     *         "data": [
                     *           {
                     *             "delivery_id": "dlv_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *             "event_id": "evt_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *             "type": "file.accepted",
                     *             "sequence": 4711,
                     *             "status": "pending",
                     *             "attempts": 1,
                     *             "response_status": 204,
                     *             "error": null,
                     *             "duration_ms": 2,
                     *             "created_at": "2026-11-20T10:00:00.000Z",
                     *             "attempted_at": "2026-11-20T10:00:00.000Z",
                     *             "next_attempt_at": null
                     *           }
                     *         ],
                     *         "pagination": {
                     *           "page": 1,
                     *           "page_size": 1,
                     *           "total_items": 1,
                     *           "total_pages": 1,
                     *           "has_next": true,
                     *           "has_previous": true
                     *         }
                     *       },
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        data: components["schemas"]["WebhookDeliveryPage"];
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            400: components["responses"]["bad_user_input"];
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            404: components["responses"]["not_found"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    replayWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Shape whk_…. */
                webhook_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "from_sequence": 4700
                 *     }
                 */
                "application/json": components["schemas"]["ReplayWebhookBody"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "data": {
                     *         "webhook_id": "whk_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *         "url": "https://hooks.example.com/assay",
                     *         "types": [
                     *           "file.*",
                     *           "quota.threshold"
                     *         ],
                     *         "contexts": [
                     *           "invoices"
                     *         ],
                     *         "description": "Invoices as they come in",
                     *         "status": "active",
                     *         "disabled_reason": null,
                     *         "last_sequence": 4711,
                     *         "failing_since": null,
                     *         "next_attempt_at": null,
                     *         "previous_secret_expires_at": null,
                     *         "created_by": "usr_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *         "created_at": "2026-11-20T10:00:00.000Z",
                     *         "updated_at": "2026-11-20T10:00:00.000Z"
                     *       },
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        data: components["schemas"]["Webhook"];
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            400: components["responses"]["bad_user_input"];
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            404: components["responses"]["not_found"];
            415: components["responses"]["unsupported_media_type"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    getFileReceipt: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Shape file_…: the receipt of that file. */
                file_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "data": {
                     *         "receipt": "text"
                     *       },
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        data: components["schemas"]["FileReceipt"];
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            404: components["responses"]["not_found"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    getCallReceipt: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Shape call_…: the receipt of what that upload was answered; evt_… of what a user was refused. One of the two must be given. */
                call_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "data": {
                     *         "receipt": "text"
                     *       },
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        data: components["schemas"]["FileReceipt"];
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            404: components["responses"]["not_found"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    shareLog: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "days": 90
                 *     }
                 */
                "application/json": components["schemas"]["ShareLogBody"];
            };
        };
        responses: {
            /** @description Done. */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "message": "text",
                     *       "data": {
                     *         "share_id": "shr_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *         "token": "log_01kqzv6y8xw3f5t2n7m4c9d1b0_01kqzv6y8xw3f5t2n7m4c9d1b0_Q2hhbmdlIG1lLCBJIGFtIG9ubHkgYW4gZXhhbXBsZSE",
                     *         "expires_at": "2027-02-18T10:00:00.000Z"
                     *       },
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        message: string;
                        data: components["schemas"]["NewLogShare"];
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            400: components["responses"]["bad_user_input"];
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            409: components["responses"]["conflict"];
            415: components["responses"]["unsupported_media_type"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    listLogShares: {
        parameters: {
            query?: {
                /** @description Which page, from 1. */
                page?: number;
                /** @description Items on a page: 1 to 100. */
                page_size?: number;
                /** @description The cursor of an item, as a connection or the answer’s `Link: …; rel="next"` gives it: the page is then what follows that item, whatever came or went meanwhile, and `page` is its number only. */
                after?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "data": {
                     *         "data": [
                     *           {
                     *             "share_id": "shr_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *             "created_by": "usr_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *             "created_at": "2026-11-20T10:00:00.000Z",
                     *             "expires_at": "2027-02-18T10:00:00.000Z"
                     *           }
                     *         ],
                     *         "pagination": {
                     *           "page": 1,
                     *           "page_size": 1,
                     *           "total_items": 1,
                     *           "total_pages": 1,
                     *           "has_next": true,
                     *           "has_previous": true
                     *         }
                     *       },
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        data: components["schemas"]["LogSharePage"];
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            400: components["responses"]["bad_user_input"];
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    revokeLogShare: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Shape shr_…. */
                share_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "SUCCESS",
                     *       "data": {
                     *         "share_id": "shr_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *         "created_by": "usr_01kqzv6y8xw3f5t2n7m4c9d1b0",
                     *         "created_at": "2026-11-20T10:00:00.000Z",
                     *         "expires_at": "2027-02-18T10:00:00.000Z"
                     *       },
                     *       "timestamp": "2026-11-20T10:00:00.000Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "SUCCESS";
                        data: components["schemas"]["LogShare"];
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            404: components["responses"]["not_found"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    exportCallLogs: {
        parameters: {
            query?: {
                /** @description How the entries are written. */
                format?: "csv" | "ndjson";
                /**
                 * @description Only calls by that key.
                 * @example key_01kqzv6y8xw3f5t2n7m4c9d1b0
                 */
                api_key_id?: string;
                /** @description Only calls of that operation. */
                operation?: components["schemas"]["Operation"];
                /** @description Only calls that ended so. */
                status?: components["schemas"]["CallStatus"];
                /**
                 * @description ISO 8601, lower bound, inclusive.
                 * @example 2026-11-01
                 */
                start_date?: string;
                /**
                 * @description ISO 8601, upper bound, inclusive; a date without a time includes that whole day.
                 * @example 2026-11-30
                 */
                end_date?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The entries. In CSV the first line has the names; a cell that a spreadsheet would take for a formula begins with an apostrophe. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "Content-Disposition": components["headers"]["Content-Disposition"];
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": string;
                    "text/csv": string;
                };
            };
            400: components["responses"]["bad_user_input"];
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    exportAuditLogs: {
        parameters: {
            query?: {
                /** @description How the entries are written. */
                format?: "csv" | "ndjson";
                /** @description Only changes of that kind. */
                audit_type?: components["schemas"]["AuditType"];
                /** @description Only that action. */
                action?: components["schemas"]["AuditAction"];
                /**
                 * @description Only changes of that one thing.
                 * @example file_01kqzv6y8xw3f5t2n7m4c9d1b0
                 */
                entity_id?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The entries. In CSV the first line has the names; a cell that a spreadsheet would take for a formula begins with an apostrophe. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "Content-Disposition": components["headers"]["Content-Disposition"];
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": string;
                    "text/csv": string;
                };
            };
            400: components["responses"]["bad_user_input"];
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    getLogCheckpoint: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A signed note: the name of the log, its size, its root hash in base64, and below them the signature. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    getLogKey: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description `name+hash+base64`. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
    getLogTile: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description `0/x001/234`, `entries/000`, or the first so many of one: `0/x001/234.p/17`. Its slashes are sent as they are. */
                tile: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The tile. One that reaches beyond the end of the log is 404. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                };
            };
            401: components["responses"]["unauthenticated"];
            403: components["responses"]["forbidden"];
            404: components["responses"]["not_found"];
            429: components["responses"]["rate_limited"];
            500: components["responses"]["internal_server_error"];
            503: components["responses"]["database_unavailable.overloaded"];
        };
    };
}
