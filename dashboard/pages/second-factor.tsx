import { useSignal } from '@preact/signals'
import type { ApiError } from '../api/api-error.js'
import { mutate } from '../api/client.js'
import { graphql } from '../api/graphql.js'
import { Button } from '../components/button.js'
import { Field } from '../components/field.js'
import { CodeLine, ErrorNotice } from '../components/notices.js'
import { SecretDialog } from '../components/secret-dialog.js'
import { loadCurrentUser } from '../session.js'
import { texts } from '../texts.js'

const t = texts.account

const startDocument = graphql(
  `mutation BeginSecondFactor($password: String!) { beginSecondFactor(password: $password) { secret uri } }`,
)
const confirmDocument = graphql(
  `mutation ConfirmSecondFactor($code: String!) { confirmSecondFactor(code: $code) { recoveryCodes } }`,
)

/** Sets up a second factor in four steps: password, secret for the app, first code and recovery codes. */
export function SecondFactor() {
  const password = useSignal('')
  const code = useSignal('')
  const enrollment = useSignal<{ secret: string; uri: string } | undefined>(undefined)
  const recoveryCodes = useSignal<readonly string[] | undefined>(undefined)
  const error = useSignal<ApiError | undefined>(undefined)
  const isBusy = useSignal(false)
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    isBusy.value = true
    if (!enrollment.value) {
      const started = await mutate(startDocument, { password: password.value })
      error.value = started.error
      enrollment.value = started.data?.beginSecondFactor ?? undefined
    } else {
      const confirmed = await mutate(confirmDocument, { code: code.value })
      error.value = confirmed.error
      recoveryCodes.value = confirmed.data?.confirmSecondFactor?.recoveryCodes
    }
    isBusy.value = false
  }
  const finishEnrollment = () => {
    enrollment.value = recoveryCodes.value = undefined
    password.value = code.value = ''
    void loadCurrentUser()
  }
  return (
    <form class="card" onSubmit={submit}>
      <h2>{t.factor}</h2>
      <p class="dim">{t.factorAbout}</p>
      <ErrorNotice error={error.value} />
      {enrollment.value ? (
        <>
          <p>{t.secretHint}</p>
          <CodeLine text={enrollment.value.secret} />
          <a href={enrollment.value.uri}>{t.openApp}</a>
          <Field
            label={t.code}
            value={code.value}
            onInput={(value) => (code.value = value)}
            autocomplete="one-time-code"
            required
          />
        </>
      ) : (
        <Field
          label={t.yourPassword}
          type="password"
          value={password.value}
          onInput={(value) => (password.value = value)}
          autocomplete="current-password"
          required
        />
      )}
      <div class="row">
        <Button type="submit" isBusy={isBusy.value}>
          {enrollment.value ? t.enableFactor : t.setUpFactor}
        </Button>
      </div>
      {recoveryCodes.value && (
        <SecretDialog
          title={t.recoveryCodes}
          notice={t.recoveryNote}
          secret={recoveryCodes.value.join(' ')}
          closeLabel={t.recoveryCodesSaved}
          onClose={finishEnrollment}
        />
      )}
    </form>
  )
}
