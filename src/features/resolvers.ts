import { NodeResolver } from '../api/graphql/node.js'
import { ApiKeyResolver } from './api-keys/api-key.resolver.js'
import { AuditLogResolver } from './audit-logs/audit-log.resolver.js'
import { CallLogResolver } from './call-logs/call-log.resolver.js'
import { FileContextResolver } from './contexts/context.resolver.js'
import { EventResolver } from './events/event.resolver.js'
import { FileResolver, ValidationReportResolver } from './files/file.resolver.js'
import type { UploadService } from './files/upload.service.js'
import { LifecycleResolver } from './lifecycle/lifecycle.resolver.js'
import { StorageHealthResolver } from './maintenance/storage-health.resolver.js'
import { PreviewResolver } from './previews/preview.resolver.js'
import type { PreviewService } from './previews/preview.service.js'
import { ProofResolver } from './proof/proof.resolver.js'
import { RescanResolver } from './rescan/rescan.resolver.js'
import type { Services } from './services.js'
import { StatsResolver } from './stats/stats.resolver.js'
import { TenantResolver } from './tenants/tenant.resolver.js'
import { UploadLinkResolver } from './upload-links/upload-link.resolver.js'
import { UserResolver } from './users/user.resolver.js'
import { WebhookResolver } from './webhooks/webhook.resolver.js'

/** Creates the resolvers of all features, from which the GraphQL schema is built. */
export const createResolvers = (
  services: Omit<Services, 'close'> & { uploads: UploadService; previews: PreviewService },
): object[] => [
  new TenantResolver(services.tenants),
  new UserResolver(services),
  new ApiKeyResolver(services),
  new FileContextResolver(services.contexts, services.idempotency),
  new FileResolver(services.files, services.uploads, services.contexts),
  new ValidationReportResolver(),
  new PreviewResolver(services.previews),
  new RescanResolver(services.rescans),
  new LifecycleResolver(services),
  new CallLogResolver(services.callLogs),
  new AuditLogResolver(services.auditLogs),
  new EventResolver(services.events),
  new ProofResolver(services),
  new StatsResolver(services.stats),
  new UploadLinkResolver(services.uploadLinks),
  new WebhookResolver(services),
  new StorageHealthResolver(services.storageHealth),
  new NodeResolver({
    file: (attempt, id) => services.files.get(attempt, id),
    ctx: ({ actor }, id) => services.contexts.getById(actor, id),
    key: ({ actor }, id) => services.apiKeys.get(actor, id),
    call: ({ actor }, id) => services.callLogs.get(actor, id),
    aud: ({ actor }, id) => services.auditLogs.get(actor, id),
    usr: ({ actor }, id) => services.users.get(actor, id),
    whk: ({ actor }, id) => services.webhooks.get(actor, id),
    ulk: ({ actor }, id) => services.uploadLinks.get(actor, id),
    ten: ({ actor }, id) => services.tenants.getById(actor, id),
  }),
]
