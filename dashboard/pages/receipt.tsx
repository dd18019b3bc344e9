import { useSignal } from '@preact/signals'
import type { ApiError } from '../api/api-error.js'
import { formatNumber } from '../api/format.js'
import { saveReceipt } from '../api/save-receipt.js'
import { Button } from '../components/button.js'
import { ErrorNotice } from '../components/notices.js'
import { texts } from '../texts.js'

const t = texts.receipt

export function Receipt({ id, name }: { id: string; name: string }) {
  const error = useSignal<ApiError | undefined>(undefined)
  const position = useSignal('')
  const saveFileReceipt = async () => {
    const saved = await saveReceipt({ fileId: id }, name)
    error.value = saved.error
    if (!saved.receipt) return
    position.value = describeLogPosition(saved.receipt)
  }
  return (
    <section class="card">
      <header>
        <h2>{t.title}</h2>
        <Button icon="download" onClick={saveFileReceipt}>
          {t.save}
        </Button>
      </header>
      <p class="dim">
        {t.about} <a href="/proof">{t.verify}</a>
      </p>
      <ErrorNotice error={error.value} />
      {position.value && (
        <p class="notice good" role="status">
          {position.value}
        </p>
      )}
    </section>
  )
}

/** Describes the log position that a receipt claims, without verifying it. */
function describeLogPosition(receipt: string): string {
  const payload = atob(receipt.split('.')[1]!.replaceAll('-', '+').replaceAll('_', '/'))
  const { log } = JSON.parse(payload) as { log: { index: number; checkpoint: string } }
  return t.position(formatNumber(log.index + 1), formatNumber(Number(log.checkpoint.split('\n')[1])))
}
