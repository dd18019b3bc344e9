import { useSignal } from '@preact/signals'
import type { Fault } from '../api/fault.js'
import { texts } from '../texts.js'
import { Button } from './button.js'
import { FaultNotice } from './notices.js'

/** Saves the whole list as CSV, as it is filtered; `save` gives what went wrong. */
export function ExportButton({ save }: { save: () => Promise<Fault | undefined> }) {
  const fault = useSignal<Fault | undefined>(undefined)
  return (
    <>
      <FaultNotice fault={fault.value} />
      <Button
        icon="download"
        onClick={async () => {
          fault.value = await save()
        }}
      >
        {texts.exportCsv}
      </Button>
    </>
  )
}
