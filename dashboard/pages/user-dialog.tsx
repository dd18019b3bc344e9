import { useSignal } from '@preact/signals'
import { change, forgetLists } from '../api/client.js'
import { graphql } from '../api/graphql.js'
import { Button } from '../components/button.js'
import { Dialog } from '../components/dialog.js'
import { Field } from '../components/field.js'
import { FaultNotice } from '../components/notices.js'
import { ScopeChoice } from '../components/scopes.js'
import { SecretDialog } from '../components/secret.js'
import type { Scope } from '../session.js'
import { texts } from '../texts.js'
import { useDraft } from './use-draft.js'
import type { UserLine } from './users-query.js'

const t = texts.users

const inviteDocument = graphql(
  `mutation InviteUser($input: InviteUserInput!) { inviteUser(input: $input) { password user { id } } }`,
)
const updateDocument = graphql(
  `mutation UpdateUser($id: ID!, $input: UpdateUserInput!) { updateUser(userId: $id, input: $input) { id } }`,
)

/** Makes a user, or changes one; a password that was made is shown afterwards. */
export function UserDialog({ of: known, onClose }: { of?: UserLine; onClose: () => void }) {
  const { value, set, fault, faults, isBusy, onSubmit } = useDraft({
    name: known?.name ?? '',
    email: known?.email ?? '',
    password: '',
    scopes: (known?.scopes ?? ['upload', 'download', 'metadata']) as Scope[],
  })
  const password = useSignal<string | undefined>(undefined)
  const close = () => {
    forgetLists()
    onClose()
  }
  const submit = onSubmit(async ({ name, scopes, email, password: chosen }) => {
    const done = known
      ? await change(updateDocument, { id: known.id, input: { name, scopes } })
      : await change(inviteDocument, { input: { name, scopes, email, ...(chosen && { password: chosen }) } })
    if (done.fault) return done.fault
    password.value = (done.data && 'inviteUser' in done.data && done.data.inviteUser?.password) || undefined
    if (!password.value) close()
    return undefined
  })
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
          {fault && <FaultNotice fault={fault} />}
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
          <Button type="submit" kind="primary" isBusy={isBusy}>
            {known ? texts.save : t.create}
          </Button>
        </footer>
      </form>
    </Dialog>
  )
}
