import type { ComponentChildren } from 'preact'

export type Tone = 'good' | 'bad' | 'warn' | 'plain'

export const Badge = ({ tone = 'plain', children }: { tone?: Tone; children: ComponentChildren }) => (
  <span class={`badge ${tone}`}>{children}</span>
)
