import { useSignal } from '@preact/signals'
import { type ApiError, toFieldErrors } from '../api/api-error.js'
import { mutate } from '../api/client.js'
import { graphql } from '../api/graphql.js'
import { Button } from '../components/button.js'
import { Field } from '../components/field.js'
import { ErrorNotice } from '../components/notices.js'
import { texts } from '../texts.js'

const t = texts.account

const changeDocument = graphql(`
  mutation ChangePassword($current: String!, $next: String!) { changePassword(currentPassword: $current, newPassword: $next) }
`)

export function PasswordForm() {
  const current = useSignal('')
  const next = useSignal('')
  const error = useSignal<ApiError | undefined>(undefined)
  const isChanged = useSignal(false)
  const isBusy = useSignal(false)
  const fieldErrors = error.value ? toFieldErrors(error.value) : {}
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    isBusy.value = true
    error.value = (await mutate(changeDocument, { current: current.value, next: next.value })).error
    isBusy.value = false
    isChanged.value = !error.value
    if (isChanged.value) current.value = next.value = ''
  }
  return (
    <form class="card" onSubmit={submit}>
      <h2>{t.password}</h2>
      {error.value && Object.keys(fieldErrors).length === 0 && <ErrorNotice error={error.value} />}
      {isChanged.value && (
        <p class="notice good" role="status">
          {t.passwordChanged}
        </p>
      )}
      <Field
        label={t.currentPassword}
        type="password"
        value={current.value}
        onInput={(value) => (current.value = value)}
        error={fieldErrors.currentPassword}
        autocomplete="current-password"
        required
      />
      <Field
        label={t.newPassword}
        hint={t.newPasswordHint}
        type="password"
        value={next.value}
        onInput={(value) => (next.value = value)}
        error={fieldErrors.newPassword}
        autocomplete="new-password"
        required
      />
      <div class="row">
        <Button type="submit" isBusy={isBusy.value}>
          {t.changePassword}
        </Button>
      </div>
    </form>
  )
}
