const placeholder = /\{([^{}]*)\}/g
const known = new Set(['context_key', 'year', 'month'])

/** What is wrong with a storage path template; null where nothing is. */
export function templateFault(template: string): string | null {
  if (template.length === 0 || Buffer.byteLength(template) > 255) return 'must have 1 to 255 bytes'
  if (/[\u0000-\u001f\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff\\]/.test(template) || !template.isWellFormed())
    return 'must not contain control characters or backslashes'
  for (const [, name] of template.matchAll(placeholder))
    if (!known.has(name!)) return `contains the unknown placeholder {${name}}`
  if (/[{}]/.test(template.replace(placeholder, ''))) return 'contains an unmatched brace'
  // What GCS reserves or asks to avoid in object names, and what a shell or a browser would read into a path.
  if (/[#?*[\]:"<>|]/.test(template)) return 'must not contain # ? * [ ] : " < > |'
  if (template.split('/').some((part) => part === '' || part === '.' || part === '..' || part.trim() !== part))
    return 'must not begin or end with "/", and must not contain empty, "." or ".." segments'
  // The longest key that may stand for {context_key}: no part may outgrow what a file system takes as a name.
  if (
    template
      .replace('{context_key}', 'k'.repeat(63))
      .split('/')
      .some((part) => Buffer.byteLength(part) > 200)
  )
    return 'must not have segments of more than 200 bytes'
  return null
}

/** Where a context's blobs lie: the tenant and the filled template. Nothing of it was chosen by a client. */
export function blobPlaceOf(at: { tenantId: string; contextKey: string; template: string; createdAt: Date }): string {
  const values: Record<string, string> = {
    context_key: at.contextKey,
    year: String(at.createdAt.getUTCFullYear()),
    month: String(at.createdAt.getUTCMonth() + 1).padStart(2, '0'),
  }
  return `${at.tenantId}/${at.template.replace(placeholder, (_, name: string) => values[name]!)}`
}
