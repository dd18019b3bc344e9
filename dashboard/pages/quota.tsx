import { formatBytes } from '../api/format.js'
import { texts } from '../texts.js'

/** Shows quota usage. The bar is amber from 80% and red from 95%. */
export function Quota({ usedBytes, quotaBytes }: { usedBytes: number; quotaBytes: number }) {
  const percent = Math.min(100, (usedBytes / quotaBytes) * 100)
  return (
    <div class="quota">
      <div class={`meter ${percent >= 95 ? 'bad' : percent >= 80 ? 'warn' : ''}`}>
        <span style={{ width: `${usedBytes > 0 ? Math.max(1, percent) : 0}%` }} />
      </div>
      <span class="dim">{texts.overview.ofQuota(formatBytes(usedBytes), formatBytes(quotaBytes))}</span>
    </div>
  )
}
