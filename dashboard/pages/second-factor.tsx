import { useSignal } from '@preact/signals'
import { change } from '../api/client.js'
import type { Fault } from '../api/fault.js'
import { graphql } from '../api/graphql.js'
import { Button } from '../components/button.js'
import { Field } from '../components/field.js'
import { CodeLine, FaultNotice } from '../components/notices.js'
import { SecretDialog } from '../components/secret.js'
import { refreshMe } from '../session.js'
import { texts } from '../texts.js'

const t = texts.account

const beginDocument = graphql(
  `mutation BeginSecondFactor($password: String!) { beginSecondFactor(password: $password) { secret uri } }`,
)
const confirmDocument = graphql(
  `mutation ConfirmSecondFactor($code: String!) { confirmSecondFactor(code: $code) { recoveryCodes } }`,
)

/** Password, then the app's secret, then a code of it, then the recovery codes: each once the one before was right. */
export function SecondFactor() {
  const password = useSignal('')
  const code = useSignal('')
  const made = useSignal<{ secret: string; uri: string } | undefined>(undefined)
  const codes = useSignal<readonly string[] | undefined>(undefined)
  const fault = useSignal<Fault | undefined>(undefined)
  const isBusy = useSignal(false)
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    isBusy.value = true
    if (!made.value) {
      const begun = await change(beginDocument, { password: password.value })
      fault.value = begun.fault
      made.value = begun.data?.beginSecondFactor ?? undefined
    } else {
      const confirmed = await change(confirmDocument, { code: code.value })
      fault.value = confirmed.fault
      codes.value = confirmed.data?.confirmSecondFactor?.recoveryCodes
    }
    isBusy.value = false
  }
  const done = () => {
    made.value = codes.value = undefined
    password.value = code.value = ''
    void refreshMe()
  }
  return (
    <form class="card" onSubmit={submit}>
      <h2>{t.factor}</h2>
      <p class="dim">{t.factorAbout}</p>
      <FaultNotice fault={fault.value} />
      {made.value ? (
        <>
          <p>{t.scan}</p>
          <CodeLine text={made.value.secret} />
          <a href={made.value.uri}>{t.openApp}</a>
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
          {made.value ? t.confirm : t.begin}
        </Button>
      </div>
      {codes.value && (
        <SecretDialog
          title={t.recovery}
          note={t.recoveryNote}
          secret={codes.value.join(' ')}
          done={t.recoveryDone}
          onClose={done}
        />
      )}
    </form>
  )
}
