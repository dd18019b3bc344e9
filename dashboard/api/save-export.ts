import { sign } from './client.js'
import { type Fault, faultOf, faultOfBody } from './fault.js'
import { saveFile } from './save-file.js'

/** Fetches an export, which a plain link could not (it sends no header), and hands it to the browser to keep. */
export async function saveExport(path: string, query: Record<string, string | null>, name: string): Promise<Fault | undefined> {
  const given = Object.entries(query).flatMap(([key, value]) => (value ? [[key, value]] : []))
  try {
    const response = await fetch(`/api/v1${path}?${new URLSearchParams([['format', 'csv'], ...given])}`, { headers: sign })
    if (!response.ok) return faultOfBody(await response.json())
    saveFile(await response.blob(), name)
    return undefined
  } catch (error) {
    return faultOf(error)
  }
}
