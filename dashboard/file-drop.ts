import { signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'

type FilesHandler = (files: File[]) => void

/** Handler for files that the user drops anywhere in the window. */
let dropHandler: FilesHandler | undefined

/** True while the user drags files over a window with an upload area. */
export const isDraggingFiles = signal(false)

const hasFiles = ({ dataTransfer }: DragEvent) => dataTransfer?.types.includes('Files') ?? false
/** Returns true if dropped files can be handled. An open dialog blocks the page behind it. */
const acceptsFiles = () => dropHandler !== undefined && !document.querySelector('dialog[open]')

/** Handles files that are dropped anywhere in the window. Without this handler, the browser would leave the page to open them. */
export function listenForFileDrops(): void {
  addEventListener('dragover', (event) => {
    // Ignore an event that a nested upload area has already handled.
    if (!hasFiles(event) || event.defaultPrevented) return
    event.preventDefault()
    event.dataTransfer!.dropEffect = acceptsFiles() ? 'copy' : 'none'
    isDraggingFiles.value = acceptsFiles()
  })
  addEventListener('dragleave', (event) => {
    // If `relatedTarget` is null, the pointer has left the window.
    if (event.relatedTarget === null) isDraggingFiles.value = false
  })
  addEventListener('drop', (event) => {
    isDraggingFiles.value = false
    if (!hasFiles(event) || event.defaultPrevented) return
    event.preventDefault()
    const files = [...event.dataTransfer!.files]
    if (acceptsFiles() && files.length > 0) dropHandler!(files)
  })
}

/** While the component is mounted, passes files that are dropped anywhere in the window to `onFiles`. */
export function useFileDrops(onFiles: FilesHandler): void {
  const latest = useRef(onFiles)
  latest.current = onFiles
  useEffect(() => {
    const callLatestHandler: FilesHandler = (files) => latest.current(files)
    dropHandler = callLatestHandler
    return () => {
      if (dropHandler === callLatestHandler) dropHandler = undefined
      isDraggingFiles.value = false
    }
  }, [])
}
