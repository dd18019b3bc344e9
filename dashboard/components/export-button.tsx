import { useSignal } from '@preact/signals'
import type { ApiError } from '../api/api-error.js'
import { texts } from '../texts.js'
import { Button } from './button.js'
import { ErrorNotice } from './notices.js'

/** Button that exports the whole filtered list as CSV. `save` resolves to the error if the export fails. */
export function ExportButton({ save }: { save: () => Promise<ApiError | undefined> }) {
  const error = useSignal<ApiError | undefined>(undefined)
  return (
    <>
      <ErrorNotice error={error.value} />
      <Button
        icon="download"
        onClick={async () => {
          error.value = await save()
        }}
      >
        {texts.exportCsv}
      </Button>
    </>
  )
}
