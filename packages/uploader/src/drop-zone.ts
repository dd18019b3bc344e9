import { createButton, createElement } from './dom.js'
import { formatBytes, formatTime } from './format.js'
import { acceptsPhotos, getMaxBytes, type LinkRules } from './link-rules.js'
import { fillPlaceholders, type Texts } from './texts.js'

interface DropZoneOptions {
  rules: LinkRules
  texts: Texts
  language: string | undefined
  onFiles(files: File[]): void
  onFolder(): void
}

/** Area in which the user chooses files, drops files or takes a photo. */
export class DropZone {
  readonly element: HTMLElement
  readonly #options: DropZoneOptions
  readonly #remaining = createElement('p', { part: 'remaining' })

  constructor(options: DropZoneOptions) {
    this.#options = options
    const { rules, texts, language } = options
    const { allowed_extensions: allowed } = rules
    const accept = allowed.map((extension) => `.${extension}`).join(',')
    const size = formatBytes(getMaxBytes(rules), language)
    const isMultiple = rules.remaining > 1
    const buttons = createElement('div', { part: 'buttons' })
    buttons.append(...this.#createFilePicker('choose', texts.choose, { accept, multiple: isMultiple }))
    // The `capture` attribute opens the camera on phones and tablets. Other devices ignore it.
    if (acceptsPhotos(rules) && matchMedia('(pointer: coarse)').matches)
      buttons.append(...this.#createFilePicker('camera', texts.takePhoto, { accept: 'image/*', capture: 'environment' }))
    this.element = createElement(
      'section',
      { part: 'dropzone', 'aria-label': rules.display_name },
      createElement('p', { part: 'prompt' }, texts.prompt),
      buttons,
      createElement('p', { part: 'rules' }, fillPlaceholders(texts.rules, { extensions: allowed.join(', '), size })),
      this.#remaining,
    )
    this.#addDropListeners()
  }

  setRemainingCount(count: number): void {
    const { rules, texts, language } = this.#options
    this.#remaining.textContent = fillPlaceholders(texts.remaining, {
      count,
      time: formatTime(new Date(rules.expires_at), language),
    })
  }

  focus(): void {
    this.element.querySelector('button')?.focus()
  }

  #createFilePicker(part: string, label: string, attributes: Record<string, string | boolean>): HTMLElement[] {
    const input = createElement('input', {
      type: 'file',
      hidden: true,
      part: `${part}-input`,
      'aria-label': label,
      ...attributes,
    })
    input.addEventListener('change', () => {
      this.#options.onFiles([...(input.files ?? [])])
      // Without this reset, the browser would not fire an event if the user chose the same file again.
      input.value = ''
    })
    return [createButton(label, { part, onClick: () => input.click() }), input]
  }

  #addDropListeners(): void {
    const zone = this.element
    const setDragOver = (isDragOver: boolean) => zone.toggleAttribute('data-over', isDragOver)
    zone.addEventListener('dragover', (event) => {
      event.preventDefault()
      setDragOver(true)
    })
    zone.addEventListener('dragleave', () => setDragOver(false))
    zone.addEventListener('drop', (event) => {
      event.preventDefault()
      setDragOver(false)
      const items = [...(event.dataTransfer?.items ?? [])].filter(({ kind }) => kind === 'file')
      const files = items.filter((item) => !item.webkitGetAsEntry()?.isDirectory)
      if (files.length < items.length) this.#options.onFolder()
      this.#options.onFiles(files.map((item) => item.getAsFile()).filter((file) => file !== null))
    })
  }
}
