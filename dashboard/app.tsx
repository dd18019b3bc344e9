import { useEffect } from 'preact/hooks'
import { Button } from './components/button.js'
import { FaultNotice } from './components/notices.js'
import { Page } from './components/page.js'
import { Navigation } from './navigation.js'
import { isOnline } from './online.js'
import { SecondFactor } from './pages/second-factor.js'
import { SignInDialog, SignInPage } from './pages/sign-in.js'
import { path } from './router.js'
import { beginSession, hasEnded, me, signOut, startFault } from './session.js'
import { texts } from './texts.js'
import { viewOf } from './views.js'

/** Everything: without a session the sign-in, with one the view that the address names. */
export function App() {
  const who = me.value
  if (who === undefined)
    return startFault.value ? (
      <div class="alone">
        <FaultNotice fault={startFault.value} />
        <Button onClick={beginSession}>{texts.tryAgain}</Button>
      </div>
    ) : null
  if (who === null) return <SignInPage />
  if (who.secondFactorDue) return <SecondFactorFirst />
  // Nothing that was shown to one user stays for another.
  return <Shell key={who.id} shown={viewOf(path.value)} />
}

function Shell({ shown }: { shown: ReturnType<typeof viewOf> }) {
  useSearchKey()
  return (
    <div class="shell">
      <a class="skip" href="#main">
        {texts.skip}
      </a>
      <Navigation />
      <div class="content">
        {!isOnline.value && (
          <div class="bar" role="status">
            {texts.offlineBar}
          </div>
        )}
        {shown ? <shown.View key={path.value} id={shown.id} /> : <NotHere />}
      </div>
      {hasEnded.value && <SignInDialog />}
    </div>
  )
}

/** What a tenant that requires a second factor lets a user without one do. */
const SecondFactorFirst = () => (
  <main class="alone" id="main">
    <p class="notice warn">{texts.account.factorDue}</p>
    <SecondFactor />
    <Button onClick={signOut}>{texts.nav.signOut}</Button>
  </main>
)

const NotHere = () => (
  <Page title={texts.faults.notHere}>
    <p>
      <a href="/">{texts.nav.overview}</a>
    </p>
  </Page>
)

const searchIn = (place: string) => document.querySelector<HTMLInputElement>(`${place} input[type=search]`)

/** `/` goes to the search, as people expect of such pages. */
function useSearchKey() {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const { target } = event
      const isTyping = target instanceof HTMLElement && target.closest('input, textarea, select, [contenteditable], dialog')
      if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return
      event.preventDefault()
      const search = searchIn('main') ?? searchIn('.sidebar')
      search?.focus()
      search?.select()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
}
