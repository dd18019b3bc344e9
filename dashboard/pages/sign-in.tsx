import { useSignal } from '@preact/signals'
import type { Fault } from '../api/fault.js'
import { Button } from '../components/button.js'
import { Dialog } from '../components/dialog.js'
import { Field } from '../components/field.js'
import { FaultNotice } from '../components/notices.js'
import { Mark } from '../navigation.js'
import { me, signIn, startFault } from '../session.js'
import { texts } from '../texts.js'

/** What a visitor sees first. */
export const SignInPage = () => (
  <main class="sign-in" id="main">
    <div class="card">
      <h1>
        <Mark />
        {texts.product}
      </h1>
      <p class="dim">{texts.signIn.tagline}</p>
      <FaultNotice fault={startFault.value} />
      <SignInForm />
      <p class="hint">{texts.signIn.lost}</p>
    </div>
  </main>
)

/** Over a page whose session has ended. */
export const SignInDialog = () => (
  <Dialog title={texts.signIn.title}>
    <div class="body stack">
      <p>{texts.signIn.ended}</p>
      <SignInForm email={me.value?.email ?? ''} />
    </div>
  </Dialog>
)

function SignInForm({ email: known = '' }: { email?: string }) {
  const email = useSignal(known)
  const password = useSignal('')
  const code = useSignal('')
  const fault = useSignal<Fault | undefined>(undefined)
  const isBusy = useSignal(false)
  const wantsCode = fault.value?.details.second_factor === 'code' || code.value !== ''
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    if (isBusy.value) return
    isBusy.value = true
    const given = { email: email.value, password: password.value, ...(code.value && { code: code.value }) }
    fault.value = await signIn(given)
    isBusy.value = false
  }
  return (
    <form class="stack" onSubmit={submit}>
      <FaultNotice fault={fault.value} />
      <Field
        label={texts.signIn.email}
        type="email"
        value={email.value}
        onInput={(value) => (email.value = value)}
        autocomplete="username"
        required
      />
      <Field
        label={texts.signIn.password}
        type="password"
        value={password.value}
        onInput={(value) => (password.value = value)}
        autocomplete="current-password"
        required
      />
      {wantsCode && (
        <Field
          label={texts.signIn.code}
          hint={texts.signIn.codeHint}
          value={code.value}
          onInput={(value) => (code.value = value)}
          autocomplete="one-time-code"
          required
          autofocus
        />
      )}
      <Button type="submit" kind="primary" isBusy={isBusy.value}>
        {texts.signIn.act}
      </Button>
    </form>
  )
}
