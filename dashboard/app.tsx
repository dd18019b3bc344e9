import { useEffect } from 'preact/hooks'
import type { ApiError } from './api/api-error.js'
import { Button } from './components/button.js'
import { EmptyState, ErrorNotice } from './components/notices.js'
import { Page } from './components/page.js'
import { isOnline } from './connection.js'
import { Navigation } from './navigation.js'
import { SecondFactor } from './pages/second-factor.js'
import { SignInDialog, SignInPage } from './pages/sign-in.js'
import { isPaletteOpen, PaletteHost } from './palette-host.js'
import { path } from './router.js'
import { hasOnlyBuiltInRules, loadScannerEngine } from './scanner.js'
import { isSessionExpired, me, signInError, signOut, startError, startSession } from './session.js'
import { texts } from './texts.js'
import { findView } from './views.js'

/** Shows the page for the current path, or the sign-in page if no user is signed in. */
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
  if (user.secondFactorDue) return <SecondFactorSetupPage />
  // The `key` discards the page state when another user signs in.
  return <Shell key={user.id} view={findView(path.value)} />
}

function Shell({ view }: { view: ReturnType<typeof findView> }) {
  useEffect(() => void loadScannerEngine(), [])
  useKeyboardShortcuts()
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
        {hasOnlyBuiltInRules.value && <ScannerNotice />}
        {signInError.value && <WelcomeError error={signInError.value} />}
        {view ? <view.View key={path.value} id={view.id} /> : <PageNotFound />}
      </div>
      <PaletteHost />
      {isSessionExpired.value && <SignInDialog />}
    </div>
  )
}

/** Shows the error that occurred when a signed-in user opened a welcome link. */
const WelcomeError = ({ error }: { error: ApiError }) => (
  <div class="bar">
    <ErrorNotice error={error} />
    <Button icon="close" kind="quiet" label={texts.close} onClick={() => (signInError.value = undefined)} />
  </div>
)

/** Users cannot dismiss this notice, because they could otherwise mistake the built-in rules for an antivirus program. */
const ScannerNotice = () => (
  <p class="bar">
    {texts.scannerNotice} <a href="/health">{texts.connectScanner}</a>
  </p>
)

/** Page for users who must set up two-factor authentication before they can open any other page. */
const SecondFactorSetupPage = () => (
  <main class="centered" id="main">
    <p class="notice warn">{texts.account.factorRequired}</p>
    <SecondFactor />
    <Button onClick={signOut}>{texts.nav.signOut}</Button>
  </main>
)

/** Page for a path that is unknown or that the user's scopes do not permit. */
const PageNotFound = () => (
  <Page title={texts.errors.pageNotFound}>
    <EmptyState icon="search" title={texts.errors.noPageAt(path.value)}>
      <p>{texts.errors.pageNotFoundHint}</p>
      <a class="button primary" href="/">
        {texts.errors.backToStart}
      </a>
    </EmptyState>
  </Page>
)

/** Ctrl+K opens the palette. `/` focuses the search field on the page, or opens the palette if the page has none. */
function useKeyboardShortcuts() {
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const isModified = event.ctrlKey || event.metaKey
      if (isModified && !event.altKey && !event.shiftKey && event.key.toLowerCase() === 'k') {
        event.preventDefault()
        // Do not open the palette over a modal dialog.
        if (!document.querySelector('dialog[open]')) isPaletteOpen.value = true
      }
      const { target } = event
      const isTyping = target instanceof HTMLElement && target.closest('input, textarea, select, [contenteditable], dialog')
      if (event.key !== '/' || isTyping || isModified || event.altKey) return
      event.preventDefault()
      const search = document.querySelector<HTMLInputElement>('main input[type=search]')
      if (!search) isPaletteOpen.value = true
      search?.focus()
      search?.select()
    }
    addEventListener('keydown', onKeyDown)
    return () => removeEventListener('keydown', onKeyDown)
  }, [])
}
