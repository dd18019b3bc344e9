const placeholder = /\{([^{}]*)\}/g
const known = new Set(['context_key', 'year', 'month'])

/** Describes the error in a storage path template. Null if the template is valid. */
export function findTemplateError(template: string): string | null {
  if (template.length === 0 || Buffer.byteLength(template) > 255) return 'must have 1 to 255 bytes'
  if (/[\u0000-\u001f\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff\\]/.test(template) || !template.isWellFormed())
    return 'must not contain control characters or backslashes'
  for (const [, name] of template.matchAll(placeholder))
    if (!known.has(name!)) return `contains the unknown placeholder {${name}}`
  if (/[{}]/.test(template.replace(placeholder, ''))) return 'contains an unmatched brace'
  // Reserved or discouraged in GCS object names, or special characters in shells and browsers.
  if (/[#?*[\]:"<>|]/.test(template)) return 'must not contain # ? * [ ] : " < > |'
  if (template.split('/').some((part) => part === '' || part === '.' || part === '..' || part.trim() !== part))
    return 'must not begin or end with "/", and must not contain empty, "." or ".." segments'
  // The longest context key has 63 characters, and file systems limit the length of a name.
  if (
    template
      .replace('{context_key}', 'k'.repeat(63))
      .split('/')
      .some((part) => Buffer.byteLength(part) > 200)
  )
    return 'must not have segments of more than 200 bytes'
  return null
}

/** Returns the folder for a context's new blobs: the tenant and the completed template. No part of it comes from the uploading client. */
export function blobFolder(at: { tenantId: string; contextKey: string; template: string; createdAt: Date }): string {
  const values: Record<string, string> = {
    context_key: at.contextKey,
    year: String(at.createdAt.getUTCFullYear()),
    month: String(at.createdAt.getUTCMonth() + 1).padStart(2, '0'),
  }
  return `${at.tenantId}/${at.template.replace(placeholder, (_, name: string) => values[name]!)}`
}
