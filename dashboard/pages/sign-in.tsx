import { useSignal } from '@preact/signals'
import type { ApiError } from '../api/api-error.js'
import { Button } from '../components/button.js'
import { Dialog } from '../components/dialog.js'
import { Field } from '../components/field.js'
import { ErrorNotice } from '../components/notices.js'
import { Logo } from '../navigation.js'
import { me, signIn, signInError, startError } from '../session.js'
import { texts } from '../texts.js'

export const SignInPage = () => (
  <main class="sign-in" id="main">
    <div class="card">
      <h1>
        <Logo />
        {texts.product}
      </h1>
      <p class="dim">{texts.signIn.tagline}</p>
      <ErrorNotice error={signInError.value ?? startError.value} />
      <SignInForm />
      <p class="hint">{texts.signIn.forgotPassword}</p>
    </div>
  </main>
)

/** Asks the user to sign in again after the session has ended. The page behind the dialog keeps its state. */
export const SignInDialog = () => (
  <Dialog title={texts.signIn.title}>
    <div class="body stack">
      <p>{texts.signIn.sessionEnded}</p>
      <SignInForm email={me.value?.email ?? ''} />
    </div>
  </Dialog>
)

function SignInForm({ email: initialEmail = '' }: { email?: string }) {
  const email = useSignal(initialEmail)
  const password = useSignal('')
  const code = useSignal('')
  const error = useSignal<ApiError | undefined>(undefined)
  const isBusy = useSignal(false)
  const isCodeRequired = error.value?.details.second_factor === 'code' || code.value !== ''
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    if (isBusy.value) return
    isBusy.value = true
    const credentials = { email: email.value, password: password.value, ...(code.value && { code: code.value }) }
    error.value = await signIn(credentials)
    isBusy.value = false
  }
  return (
    <form class="stack" onSubmit={submit}>
      <ErrorNotice error={error.value} />
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
      {isCodeRequired && (
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
        {texts.signIn.submit}
      </Button>
    </form>
  )
}
