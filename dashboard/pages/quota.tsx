import { formatBytes } from '../api/format.js'
import { texts } from '../texts.js'

/** Bar that shows quota usage. The bar is amber from 80% and red from 95%. */
export function Quota({ used, quota }: { used: number; quota: number }) {
  const share = Math.min(100, (used / quota) * 100)
  return (
    <div class="quota">
      <div class={`meter ${share >= 95 ? 'bad' : share >= 80 ? 'warn' : ''}`}>
        <span style={{ width: `${used > 0 ? Math.max(1, share) : 0}%` }} />
      </div>
      <span class="dim">{texts.overview.ofQuota(formatBytes(used), formatBytes(quota))}</span>
    </div>
  )
}
