import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { ApiError } from '../api/api-error.js'
import { mutate } from '../api/client.js'
import { graphql } from '../api/graphql.js'
import { Button } from '../components/button.js'
import { ErrorNotice } from '../components/notices.js'
import { texts } from '../texts.js'

const t = texts.file

const urlDocument = graphql(`mutation PreviewUrl($id: ID!) { createDownloadUrl(fileId: $id) { downloadUrl } }`)

type State = 'idle' | 'unsupported' | { url: string } | { error: ApiError }

interface Props {
  file: { id: string; originalFilename: string }
  kind: 'audio' | 'video'
}

/** Plays audio or video from a download URL. Playback starts only on request, because it counts as a download. */
export function MediaPreview({ file: { id, originalFilename }, kind }: Props) {
  const state = useSignal<State>('idle')
  const showPlayer = async () => {
    const { data, error } = await mutate(urlDocument, { id })
    if (error) state.value = { error }
    else state.value = toPlayerState(data.createDownloadUrl!.downloadUrl)
  }
  const current = state.value
  if (typeof current === 'object' && 'url' in current)
    return (
      <MediaPlayer
        kind={kind}
        url={current.url}
        title={t.previewOf(originalFilename)}
        onError={() => (state.value = 'unsupported')}
      />
    )
  return (
    <>
      {current === 'unsupported' && <p class="notice">{t.mediaFailed}</p>}
      {typeof current === 'object' && 'error' in current && <ErrorNotice error={current.error} />}
      <div class="row">
        <Button icon={kind} onClick={showPlayer}>
          {t.play}
        </Button>
        <span class="hint">{t.previewAbout}</span>
      </div>
    </>
  )
}

/** The content security policy allows media only from the service, not from buckets, which do not send `nosniff`. */
function toPlayerState(downloadUrl: string): State {
  const { pathname, search } = new URL(downloadUrl)
  return pathname.startsWith('/download/') ? { url: pathname + search } : 'unsupported'
}

interface PlayerProps {
  kind: 'audio' | 'video'
  url: string
  title: string
  onError: () => void
}

/** Media player in a frame without scripts. The frame needs the page's origin to load the URL. */
function MediaPlayer({ kind, url, title, onError }: PlayerProps) {
  const frame = useRef<HTMLIFrameElement>(null)
  useEffect(() => {
    const page = frame.current?.contentDocument
    if (!page) return
    const media = page.createElement(kind)
    media.controls = true
    media.preload = 'metadata'
    media.addEventListener('error', onError)
    media.src = url
    Object.assign(media.style, { width: '100%', height: '100%', display: 'block' })
    Object.assign(page.body.style, { margin: '0', height: '100vh', background: kind === 'video' ? '#000' : 'transparent' })
    page.body.append(media)
  }, [url])
  return (
    <iframe ref={frame} class={`player ${kind}`} title={title} sandbox="allow-same-origin" allow="autoplay 'none'; fullscreen" />
  )
}
