export interface OleFacts {
  stream: string
  encrypted: boolean
  notes?: string[]
  active?: string[]
}
