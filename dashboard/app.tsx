import { useEffect } from 'preact/hooks'
import { Button } from './components/button.js'
import { ErrorNotice } from './components/notices.js'
import { Page } from './components/page.js'
import { isOnline } from './connection.js'
import { Navigation } from './navigation.js'
import { SecondFactor } from './pages/second-factor.js'
import { SignInDialog, SignInPage } from './pages/sign-in.js'
import { path } from './router.js'
import { isSessionExpired, me, signOut, startError, startSession } from './session.js'
import { texts } from './texts.js'
import { findView } from './views.js'

/** Everything: without a session the sign-in, with one the view that the address names. */
export function App() {
  const user = me.value
  if (user === undefined)
    return startError.value ? (
      <div class="centered">
        <ErrorNotice error={startError.value} />
        <Button onClick={startSession}>{texts.tryAgain}</Button>
      </div>
    ) : null
  if (user === null) return <SignInPage />
  if (user.secondFactorDue) return <SecondFactorRequired />
  // Nothing that was shown to one user stays for another.
  return <Shell key={user.id} view={findView(path.value)} />
}

function Shell({ view }: { view: ReturnType<typeof findView> }) {
  useSearchShortcut()
  return (
    <div class="shell">
      <a class="skip" href="#main">
        {texts.skipToContent}
      </a>
      <Navigation />
      <div class="content">
        {!isOnline.value && (
          <div class="bar" role="status">
            {texts.offlineNotice}
          </div>
        )}
        {view ? <view.View key={path.value} id={view.id} /> : <NotFound />}
      </div>
      {isSessionExpired.value && <SignInDialog />}
    </div>
  )
}

/** What a tenant that requires a second factor lets a user without one do. */
const SecondFactorRequired = () => (
  <main class="centered" id="main">
    <p class="notice warn">{texts.account.factorRequired}</p>
    <SecondFactor />
    <Button onClick={signOut}>{texts.nav.signOut}</Button>
  </main>
)

const NotFound = () => (
  <Page title={texts.errors.pageNotFound}>
    <p>
      <a href="/">{texts.nav.overview}</a>
    </p>
  </Page>
)

const findSearchInput = (place: string) => document.querySelector<HTMLInputElement>(`${place} input[type=search]`)

/** `/` goes to the search, as people expect of such pages. */
function useSearchShortcut() {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const { target } = event
      const isTyping = target instanceof HTMLElement && target.closest('input, textarea, select, [contenteditable], dialog')
      if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return
      event.preventDefault()
      const search = findSearchInput('main') ?? findSearchInput('.sidebar')
      search?.focus()
      search?.select()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
}
