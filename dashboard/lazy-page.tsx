import { useSignal } from '@preact/signals'
import type { ComponentType } from 'preact'
import { useEffect } from 'preact/hooks'
import { Button } from './components/button.js'
import { Skeleton } from './components/notices.js'
import { texts } from './texts.js'

type PageProps = { id: string }
type PageComponent = ComponentType<PageProps>

export type LazyPage = PageComponent & { preload: () => Promise<unknown> }

/** Creates a component that loads a page's code when the page is first shown. */
export function createLazyPage(load: () => Promise<PageComponent>): LazyPage {
  let loaded: PageComponent | undefined
  const preload = async () => (loaded ??= await load())
  const LazyPageComponent = (props: PageProps) => {
    const attempt = useSignal(0)
    const state = useSignal<'loading' | 'loaded' | 'failed'>(loaded ? 'loaded' : 'loading')
    useEffect(() => {
      void preload().then(
        () => (state.value = 'loaded'),
        () => (state.value = 'failed'),
      )
    }, [attempt.value])
    if (loaded) {
      const Loaded = loaded
      return <Loaded {...props} />
    }
    return (
      <main class="page" id="main" tabIndex={-1}>
        {state.value === 'failed' ? (
          <LoadError
            onRetry={() => {
              state.value = 'loading'
              attempt.value++
            }}
          />
        ) : (
          <Skeleton />
        )}
      </main>
    )
  }
  return Object.assign(LazyPageComponent, { preload })
}

/** Browsers do not retry a failed module import, so a second button reloads the whole page. */
const LoadError = ({ onRetry }: { onRetry: () => void }) => (
  <div class="notice bad" role="alert">
    <p>{texts.errors.pageNotLoaded}</p>
    <Button onClick={onRetry}>{texts.tryAgain}</Button>
    <Button onClick={() => location.reload()}>{texts.errors.reload}</Button>
  </div>
)
