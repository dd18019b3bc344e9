import { signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'

type OnFiles = (files: File[]) => void

/** The upload area of the current page. It receives files that the user drops anywhere in the window. */
let target: OnFiles | undefined

/** True while the user drags files over a window with an upload area. */
export const isDraggingFiles = signal(false)

const hasFiles = ({ dataTransfer }: DragEvent) => dataTransfer?.types.includes('Files') ?? false
/** A dialog blocks the page below it. */
const accepts = () => target !== undefined && !document.querySelector('dialog[open]')

/** Handles files that are dropped in the window. Without this, the browser would open the file and leave the page. */
export function handleFileDrops(): void {
  addEventListener('dragover', (event) => {
    // An element with an upload area of its own has handled the event.
    if (!hasFiles(event) || event.defaultPrevented) return
    event.preventDefault()
    event.dataTransfer!.dropEffect = accepts() ? 'copy' : 'none'
    isDraggingFiles.value = accepts()
  })
  addEventListener('dragleave', (event) => {
    // Without a related target, the pointer has left the window.
    if (event.relatedTarget === null) isDraggingFiles.value = false
  })
  addEventListener('drop', (event) => {
    isDraggingFiles.value = false
    if (!hasFiles(event) || event.defaultPrevented) return
    event.preventDefault()
    const files = [...event.dataTransfer!.files]
    if (accepts() && files.length > 0) target!(files)
  })
}

/** Passes files that are dropped in the window to `onFiles` while the component is mounted. */
export function useFileDrops(onFiles: OnFiles): void {
  const latest = useRef(onFiles)
  latest.current = onFiles
  useEffect(() => {
    const own: OnFiles = (files) => latest.current(files)
    target = own
    return () => {
      if (target === own) target = undefined
      isDraggingFiles.value = false
    }
  }, [])
}
