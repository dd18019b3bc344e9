import { button, element } from './dom.js'
import { formatBytes, formatTime } from './format.js'
import { acceptsPhotos, getMaxBytes, type LinkRules } from './link-rules.js'
import { fill, type Texts } from './texts.js'

interface DropZoneOptions {
  rules: LinkRules
  texts: Texts
  language: string | undefined
  /** Called with the files that the user chooses, drops or photographs. */
  onFiles(files: File[]): void
  /** Called if the user drops a folder. */
  onFolder(): void
}

/** Area with buttons to choose files or take a photo. The user can also drop files there. */
export class DropZone {
  readonly element: HTMLElement
  readonly #options: DropZoneOptions
  readonly #remaining = element('p', { part: 'remaining' })

  constructor(options: DropZoneOptions) {
    this.#options = options
    const { rules, texts, language } = options
    const { allowed_extensions: allowed } = rules
    const accept = allowed.map((extension) => `.${extension}`).join(',')
    const size = formatBytes(getMaxBytes(rules), language)
    const isMultiple = rules.remaining > 1
    const buttons = element('div', { part: 'buttons' })
    buttons.append(...this.#toChooser('choose', texts.choose, { accept, multiple: isMultiple }))
    // The attribute `capture` opens the camera on phones and tablets. Other devices ignore it.
    if (acceptsPhotos(rules) && matchMedia('(pointer: coarse)').matches)
      buttons.append(...this.#toChooser('camera', texts.takePhoto, { accept: 'image/*', capture: 'environment' }))
    this.element = element(
      'section',
      { part: 'dropzone', 'aria-label': rules.display_name },
      element('p', { part: 'prompt' }, texts.prompt),
      buttons,
      element('p', { part: 'rules' }, fill(texts.rules, { extensions: allowed.join(', '), size })),
      this.#remaining,
    )
    this.#acceptDrops()
  }

  setRemaining(count: number): void {
    const { rules, texts, language } = this.#options
    this.#remaining.textContent = fill(texts.remaining, { count, time: formatTime(new Date(rules.expires_at), language) })
  }

  focus(): void {
    this.element.querySelector('button')?.focus()
  }

  #toChooser(part: string, label: string, attributes: Record<string, string | boolean>): HTMLElement[] {
    const input = element('input', { type: 'file', hidden: true, part: `${part}-input`, 'aria-label': label, ...attributes })
    input.addEventListener('change', () => {
      this.#options.onFiles([...(input.files ?? [])])
      // Without the reset, the browser fires no event if the user chooses the same file again.
      input.value = ''
    })
    return [button(label, { part, onClick: () => input.click() }), input]
  }

  #acceptDrops(): void {
    const zone = this.element
    const setOver = (isOver: boolean) => zone.toggleAttribute('data-over', isOver)
    zone.addEventListener('dragover', (event) => {
      event.preventDefault()
      setOver(true)
    })
    zone.addEventListener('dragleave', () => setOver(false))
    zone.addEventListener('drop', (event) => {
      event.preventDefault()
      setOver(false)
      const items = [...(event.dataTransfer?.items ?? [])].filter(({ kind }) => kind === 'file')
      const files = items.filter((item) => !item.webkitGetAsEntry()?.isDirectory)
      if (files.length < items.length) this.#options.onFolder()
      this.#options.onFiles(files.map((item) => item.getAsFile()).filter((file) => file !== null))
    })
  }
}
