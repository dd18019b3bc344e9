import { accessTexts } from './texts/access.js'
import { commonTexts } from './texts/common.js'
import { contextsTexts } from './texts/contexts.js'
import { filesTexts } from './texts/files.js'
import { linkTexts } from './texts/links.js'
import { logsTexts } from './texts/logs.js'
import { navigationTexts } from './texts/navigation.js'
import { overviewTexts } from './texts/overview.js'
import { validationTexts } from './texts/validation.js'
import { webhooksTexts } from './texts/webhooks.js'

export const texts = {
  ...commonTexts,
  ...navigationTexts,
  ...validationTexts,
  ...filesTexts,
  ...contextsTexts,
  ...overviewTexts,
  ...linkTexts,
  ...logsTexts,
  ...webhooksTexts,
  ...accessTexts,
} as const
