import { useSignal } from '@preact/signals'
import { mutate, reloadData } from '../api/client.js'
import { graphql } from '../api/graphql.js'
import { Dialog, FormFooter } from '../components/dialog.js'
import { Field } from '../components/field.js'
import { ErrorNotice } from '../components/notices.js'
import { ScopeField } from '../components/scopes.js'
import { SecretDialog } from '../components/secret-dialog.js'
import type { Scope } from '../session.js'
import { texts } from '../texts.js'
import { useDraft } from './use-draft.js'
import type { UserRow } from './users-query.js'

const t = texts.users

const createDocument = graphql(
  `mutation InviteUser($input: InviteUserInput!) { inviteUser(input: $input) { password user { id } } }`,
)
const updateDocument = graphql(
  `mutation UpdateUser($id: ID!, $input: UpdateUserInput!) { updateUser(userId: $id, input: $input) { id } }`,
)

/** Creates or edits a user, and shows a generated password. */
export function UserDialog({ user, onClose }: { user?: UserRow; onClose: () => void }) {
  const { value, set, error, fieldErrors, isBusy, onSubmit } = useDraft({
    name: user?.name ?? '',
    email: user?.email ?? '',
    password: '',
    scopes: (user?.scopes ?? ['upload', 'download', 'metadata']) as Scope[],
  })
  const password = useSignal<string | undefined>(undefined)
  const closeDialogAndReload = () => {
    reloadData()
    onClose()
  }
  const submit = onSubmit(async ({ name, scopes, email, password: chosen }) => {
    const result = user
      ? await mutate(updateDocument, { id: user.id, input: { name, scopes } })
      : await mutate(createDocument, { input: { name, scopes, email, ...(chosen && { password: chosen }) } })
    if (result.error) return result.error
    password.value = (result.data && 'inviteUser' in result.data && result.data.inviteUser?.password) || undefined
    if (!password.value) closeDialogAndReload()
    return undefined
  })
  if (password.value)
    return (
      <SecretDialog
        title={t.passwordTitle(value.email)}
        notice={t.passwordNote}
        secret={password.value}
        closeLabel={t.passwordCopied}
        onClose={closeDialogAndReload}
      />
    )
  return (
    <Dialog title={user ? t.editTitle : t.newTitle} onClose={onClose}>
      <form onSubmit={submit}>
        <div class="body stack">
          {error && <ErrorNotice error={error} />}
          <Field
            label={t.name}
            value={value.name}
            onInput={(name) => set({ name })}
            error={fieldErrors.name}
            required
            autocomplete="off"
          />
          {!user && <CredentialFields {...{ value, set, fieldErrors }} />}
          <ScopeField selected={value.scopes} onChange={(scopes) => set({ scopes })} />
        </div>
        <FormFooter submitLabel={user ? texts.save : t.create} isBusy={isBusy} onCancel={onClose} />
      </form>
    </Dialog>
  )
}

interface CredentialFieldsProps {
  value: { email: string; password: string }
  set: (changes: { email?: string; password?: string }) => void
  fieldErrors: Record<string, string>
}

const CredentialFields = ({ value, set, fieldErrors }: CredentialFieldsProps) => (
  <>
    <Field
      label={t.email}
      type="email"
      value={value.email}
      onInput={(email) => set({ email })}
      error={fieldErrors.email}
      required
      autocomplete="off"
    />
    <Field
      label={t.password}
      hint={t.passwordHint}
      type="password"
      value={value.password}
      onInput={(password) => set({ password })}
      error={fieldErrors.password}
      autocomplete="new-password"
    />
  </>
)
