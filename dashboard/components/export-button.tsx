import { useSignal } from '@preact/signals'
import type { ApiError } from '../api/api-error.js'
import { texts } from '../texts.js'
import { Button } from './button.js'
import { ErrorNotice } from './notices.js'

/** Saves the whole list as CSV, as it is filtered; `save` gives what went wrong. */
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
