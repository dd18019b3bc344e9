import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { loadThumbnail } from '../api/thumbnails.js'
import { getPreviewKind, getTypeIcon } from '../pages/file-kind.js'
import { hasScope } from '../session.js'
import { Icon } from './icon.js'

interface Props {
  file: { id: string; contentType: string; quarantinedAt: string | null }
}

/** Shows a thumbnail or the icon of the file type. Screen readers skip it, because the file name is next to it. */
export function Thumbnail({ file: { id, contentType, quarantinedAt } }: Props) {
  const url = useSignal<string | undefined>(undefined)
  const kind = getPreviewKind(contentType)
  const hasThumbnail = !quarantinedAt && hasScope('download') && (kind === 'image' || kind === 'pdf')
  useEffect(() => {
    let isMounted = true
    if (hasThumbnail)
      void loadThumbnail(id).then((loaded) => {
        if (isMounted) url.value = loaded
      })
    return () => {
      isMounted = false
    }
  }, [id, hasThumbnail])
  return (
    <span class={`thumbnail${quarantinedAt ? ' quarantined' : ''}`}>
      {hasThumbnail && url.value ? (
        <img src={url.value} alt="" />
      ) : (
        <Icon name={quarantinedAt ? 'quarantine' : getTypeIcon(contentType)} />
      )}
    </span>
  )
}
