import { type ApiError, parseErrorBody, toApiError } from './api-error.js'
import { dashboardHeaders } from './client.js'
import { saveFile } from './save-file.js'

/** Downloads a CSV export with `fetch`, because a link cannot send the header that the session cookie requires. */
export async function saveExport(
  path: string,
  query: Record<string, string | null>,
  name: string,
): Promise<ApiError | undefined> {
  const parameters = Object.entries(query).flatMap(([key, value]) => (value ? [[key, value]] : []))
  try {
    const response = await fetch(`/api/v1${path}?${new URLSearchParams([['format', 'csv'], ...parameters])}`, {
      headers: dashboardHeaders,
    })
    if (!response.ok) return parseErrorBody(await response.json())
    saveFile(await response.blob(), name)
    return undefined
  } catch (error) {
    return toApiError(error)
  }
}
