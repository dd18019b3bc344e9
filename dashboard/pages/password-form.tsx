import { useSignal } from '@preact/signals'
import { change } from '../api/client.js'
import { type Fault, fieldFaults } from '../api/fault.js'
import { graphql } from '../api/graphql.js'
import { Button } from '../components/button.js'
import { Field } from '../components/field.js'
import { FaultNotice } from '../components/notices.js'
import { texts } from '../texts.js'

const t = texts.account

const changeDocument = graphql(`
  mutation ChangePassword($current: String!, $next: String!) { changePassword(currentPassword: $current, newPassword: $next) }
`)

export function PasswordForm() {
  const current = useSignal('')
  const next = useSignal('')
  const fault = useSignal<Fault | undefined>(undefined)
  const isDone = useSignal(false)
  const isBusy = useSignal(false)
  const faults = fault.value ? fieldFaults(fault.value) : {}
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    isBusy.value = true
    fault.value = (await change(changeDocument, { current: current.value, next: next.value })).fault
    isBusy.value = false
    isDone.value = !fault.value
    if (isDone.value) current.value = next.value = ''
  }
  return (
    <form class="card" onSubmit={submit}>
      <h2>{t.password}</h2>
      {fault.value && Object.keys(faults).length === 0 && <FaultNotice fault={fault.value} />}
      {isDone.value && (
        <p class="notice good" role="status">
          {t.changed}
        </p>
      )}
      <Field
        label={t.current}
        type="password"
        value={current.value}
        onInput={(value) => (current.value = value)}
        fault={faults.currentPassword}
        autocomplete="current-password"
        required
      />
      <Field
        label={t.next}
        hint={t.nextHint}
        type="password"
        value={next.value}
        onInput={(value) => (next.value = value)}
        fault={faults.newPassword}
        autocomplete="new-password"
        required
      />
      <div class="row">
        <Button type="submit" isBusy={isBusy.value}>
          {t.change}
        </Button>
      </div>
    </form>
  )
}
