'use server'

/** Server action: creates an upload link. Authenticate your own user first. The API key stays on the server. */
export async function createUploadLink() {
  const response = await fetch(`${process.env.ASSAY_URL}/api/v1/upload-links`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${process.env.ASSAY_KEY}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ context: 'photos', max_files: 5, expires_in_seconds: 3600 }),
    cache: 'no-store',
  })
  const { data, message } = await response.json()
  if (!response.ok) throw new Error(message)
  return data.url
}
