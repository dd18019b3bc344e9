import { useSignal } from '@preact/signals'
import { change, forgetLists } from '../api/client.js'
import { type Fault, fieldFaults } from '../api/fault.js'
import { graphql } from '../api/graphql.js'
import { Button } from '../components/button.js'
import { Dialog } from '../components/dialog.js'
import { Field } from '../components/field.js'
import { FaultNotice } from '../components/notices.js'
import { ScopeChoice } from '../components/scopes.js'
import { SecretDialog } from '../components/secret.js'
import type { Scope } from '../session.js'
import { texts } from '../texts.js'
import type { UserLine } from './users.js'

const t = texts.users

const inviteDocument = graphql(
  `mutation InviteUser($input: InviteUserInput!) { inviteUser(input: $input) { password user { id } } }`,
)
const updateDocument = graphql(
  `mutation UpdateUser($id: ID!, $input: UpdateUserInput!) { updateUser(userId: $id, input: $input) { id } }`,
)

/** Makes a user, or changes one; a password that was made is shown afterwards. */
export function UserDialog({ of: known, onClose }: { of?: UserLine; onClose: () => void }) {
  const draft = useSignal({
    name: known?.name ?? '',
    email: known?.email ?? '',
    password: '',
    scopes: (known?.scopes ?? ['upload', 'download', 'metadata']) as Scope[],
  })
  const fault = useSignal<Fault | undefined>(undefined)
  const password = useSignal<string | undefined>(undefined)
  const isBusy = useSignal(false)
  const { value } = draft
  const set = (changes: Partial<typeof value>) => (draft.value = { ...draft.value, ...changes })
  const faults = fault.value ? fieldFaults(fault.value) : {}
  const close = () => {
    forgetLists()
    onClose()
  }
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    isBusy.value = true
    const { name, scopes, email, password: chosen } = draft.value
    const done = known
      ? await change(updateDocument, { id: known.id, input: { name, scopes } })
      : await change(inviteDocument, { input: { name, scopes, email, ...(chosen && { password: chosen }) } })
    isBusy.value = false
    fault.value = done.fault
    if (done.fault) return
    password.value = (done.data && 'inviteUser' in done.data && done.data.inviteUser?.password) || undefined
    if (!password.value) close()
  }
  if (password.value)
    return (
      <SecretDialog
        title={t.passwordTitle(value.email)}
        note={t.passwordNote}
        secret={password.value}
        done={t.done}
        onClose={close}
      />
    )
  return (
    <Dialog title={known ? t.editTitle : t.invite} onClose={onClose}>
      <form onSubmit={submit}>
        <div class="body stack">
          {fault.value && Object.keys(faults).length === 0 && <FaultNotice fault={fault.value} />}
          <Field
            label={t.name}
            value={value.name}
            onInput={(name) => set({ name })}
            fault={faults.name}
            required
            autocomplete="off"
          />
          {!known && (
            <>
              <Field
                label={t.email}
                type="email"
                value={value.email}
                onInput={(email) => set({ email })}
                fault={faults.email}
                required
                autocomplete="off"
              />
              <Field
                label={t.password}
                hint={t.passwordHint}
                type="password"
                value={value.password}
                onInput={(chosen) => set({ password: chosen })}
                fault={faults.password}
                autocomplete="new-password"
              />
            </>
          )}
          <ScopeChoice chosen={value.scopes} onChange={(scopes) => set({ scopes })} />
        </div>
        <footer>
          <Button onClick={onClose}>{texts.cancel}</Button>
          <Button type="submit" kind="primary" isBusy={isBusy.value}>
            {known ? texts.save : t.create}
          </Button>
        </footer>
      </form>
    </Dialog>
  )
}
