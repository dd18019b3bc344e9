import { createButton, createElement } from './dom.js'
import { DropZone } from './drop-zone.js'
import { ItemView } from './item-view.js'
import { type LinkRules, toLinkUrl, type UploadError } from './link-rules.js'
import { fetchRules } from './send.js'
import { styles } from './styles.js'
import { defaultTexts, fillPlaceholders, type Texts, toErrorText } from './texts.js'
import { type ItemChange, type UploadItem, UploadQueue } from './upload-queue.js'

/** Web component that uploads files through an upload link: `<assay-uploader url="https://…/upload/…">`. */
export class AssayUploader extends HTMLElement {
  static readonly observedAttributes = ['url', 'texts']

  readonly #content = createElement('div', { part: 'content' })
  readonly #message = createElement('div', { part: 'message' })
  readonly #list = createElement('ul', { part: 'list' })
  readonly #live = createElement('p', { part: 'live', 'aria-live': 'polite', role: 'status' })
  readonly #views = new Map<UploadItem, ItemView>()
  #ownTexts: Partial<Texts> = {}
  #queue: UploadQueue | undefined
  #dropZone: DropZone | undefined
  #connection: AbortController | undefined

  constructor() {
    super()
    const root = this.attachShadow({ mode: 'open', delegatesFocus: true })
    const sheet = new CSSStyleSheet()
    sheet.replaceSync(styles)
    root.adoptedStyleSheets = [sheet]
    root.append(this.#content, this.#message, this.#list, this.#live)
  }

  /** URL of the upload link. */
  get url(): string {
    return this.getAttribute('url') ?? ''
  }

  set url(value: string) {
    this.setAttribute('url', value)
  }

  /** Texts of the component. Texts that the page does not set are in English. */
  get texts(): Texts {
    return { ...defaultTexts, ...this.#ownTexts }
  }

  set texts(value: Partial<Texts>) {
    this.#ownTexts = value
    if (this.isConnected) void this.#reloadLink()
  }

  /** Adds files, as if the user had chosen them. */
  addFiles(files: Iterable<File>): void {
    for (const file of files) this.#queue?.addFile(file)
  }

  connectedCallback(): void {
    void this.#reloadLink()
  }

  disconnectedCallback(): void {
    this.#disconnect()
  }

  attributeChangedCallback(name: string, _old: string | null, value: string | null): void {
    if (name === 'texts') this.#ownTexts = value ? (JSON.parse(value) as Partial<Texts>) : {}
    if (this.isConnected) void this.#reloadLink()
  }

  get #language(): string | undefined {
    return this.closest('[lang]')?.getAttribute('lang') || undefined
  }

  #disconnect(): void {
    this.#connection?.abort()
    this.#queue?.pauseAllUploads()
    this.#queue = undefined
    this.#dropZone = undefined
    this.#views.clear()
    this.#content.hidden = false
    this.#content.replaceChildren()
    this.#list.replaceChildren()
  }

  async #reloadLink(): Promise<void> {
    this.#disconnect()
    if (!this.hasAttribute('url')) return
    const connection = new AbortController()
    this.#connection = connection
    this.#showMessage(this.texts.loading)
    try {
      const linkUrl = toLinkUrl(this.url, document.baseURI)
      const rules = await fetchRules(linkUrl, connection.signal)
      if (!connection.signal.aborted) this.#showDropZone(linkUrl, rules, connection.signal)
    } catch (error) {
      if (connection.signal.aborted) return
      this.#showError(error as UploadError)
    }
  }

  #showDropZone(linkUrl: string, rules: LinkRules, signal: AbortSignal): void {
    const { texts } = this
    const language = this.#language
    const onChange = (item: UploadItem, change: ItemChange) => this.#applyItemChange(item, change)
    const queue = new UploadQueue({ linkUrl, rules, getTexts: () => this.texts, language, onChange })
    this.#queue = queue
    this.#dropZone = new DropZone({
      rules,
      texts,
      language,
      onFiles: (files) => this.addFiles(files),
      onFolder: () => this.#announce(texts.folder, { visible: true }),
    })
    this.#dropZone.setRemainingCount(rules.remaining)
    this.#content.replaceChildren(this.#dropZone.element)
    this.#showUnfinishedUploads(queue)
    addEventListener('online', () => queue.resumeInterruptedUploads(), { signal })
    document.addEventListener('paste', (event) => this.#uploadPastedFiles(event), { signal })
    this.#dispatchCustomEvent('assay-ready', { rules })
  }

  #showUnfinishedUploads(queue: UploadQueue): void {
    const names = queue.unfinished.listRecords().map(({ name }) => name)
    const notices = names.map((name) => createElement('p', {}, fillPlaceholders(this.texts.unfinished, { name })))
    this.#message.replaceChildren(...notices)
  }

  #showError(error: UploadError): void {
    const text = toErrorText(this.texts, error)
    this.#showMessage(text)
    if (error.code !== 'not_found')
      this.#message.append(createButton(this.texts.tryAgain, { part: 'retry', onClick: () => void this.#reloadLink() }))
    this.#announce(text)
    this.#dispatchCustomEvent('assay-error', { code: error.code, message: error.message })
  }

  /** Uploads pasted files, unless the user pastes into an input field on the page. */
  #uploadPastedFiles(event: ClipboardEvent): void {
    const files = [...(event.clipboardData?.files ?? [])]
    const target = event.composedPath()[0]
    const isField = target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA)$/.test(target.tagName))
    if (files.length === 0 || isField || event.defaultPrevented || this.#content.hidden) return
    event.preventDefault()
    this.addFiles(files)
  }

  #applyItemChange(item: UploadItem, change: ItemChange): void {
    if (change === 'added') this.#addView(item)
    const view = this.#views.get(item)
    if (change === 'removed') this.#removeView(item, view)
    else if (change === 'progress') view?.updateProgress()
    else view?.render()
    this.#reportChange(item, change)
    const queue = this.#queue!
    if (change !== 'progress') this.#dropZone?.setRemainingCount(Math.max(queue.remainingCount, 0))
    if (change !== 'accepted') return
    if (queue.isIdle) this.#dispatchCustomEvent('assay-complete', { files: queue.items.map(toEventDetail) })
    if (queue.isIdle && queue.remainingCount < 1) {
      this.#content.hidden = true
      this.#announce(this.texts.complete, { visible: true })
    }
  }

  #addView(item: UploadItem): void {
    this.#message.replaceChildren()
    const view = new ItemView({ item, queue: this.#queue!, texts: this.texts, language: this.#language })
    this.#views.set(item, view)
    this.#list.append(view.element)
  }

  #removeView(item: UploadItem, view: ItemView | undefined): void {
    const hadFocus = view?.element.contains(this.shadowRoot!.activeElement)
    view?.element.remove()
    this.#views.delete(item)
    if (hadFocus) this.#dropZone?.focus()
  }

  /** Announces a change to screen readers and dispatches the corresponding event to the page. */
  #reportChange(item: UploadItem, change: ItemChange): void {
    const { texts } = this
    const { name } = item.file
    if (change === 'progress') this.#dispatchCustomEvent('assay-progress', { ...toEventDetail(item), sent: item.sent })
    if (change === 'started') {
      this.#announce(fillPlaceholders(texts.announceStart, { name }))
      this.#dispatchCustomEvent('assay-start', toEventDetail(item))
    }
    if (change === 'accepted') {
      this.#announce(fillPlaceholders(texts.announceAccepted, { name }))
      this.#dispatchCustomEvent('assay-accepted', toEventDetail(item))
    }
    if (change === 'rejected' || change === 'failed') {
      const error = item.error!
      const reason = item.checks.find(({ state }) => state === 'failed')?.text ?? toErrorText(texts, error)
      this.#announce(fillPlaceholders(texts.announceRejected, { name, reason }))
      this.#dispatchCustomEvent(`assay-${change}`, { ...toEventDetail(item), code: error.code, message: error.message })
    }
    if (change === 'removed' && item.state !== 'accepted' && item.state !== 'rejected') {
      this.#announce(fillPlaceholders(texts.announceCanceled, { name }))
      this.#dispatchCustomEvent('assay-canceled', toEventDetail(item))
    }
  }

  #showMessage(text: string): void {
    this.#message.replaceChildren(createElement('p', {}, text))
  }

  #announce(text: string, { visible = false } = {}): void {
    if (visible) this.#showMessage(text)
    this.#live.textContent = text
  }

  #dispatchCustomEvent(name: string, detail: object): void {
    this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true }))
  }
}

const toEventDetail = ({ file, fileId }: UploadItem) => ({ name: file.name, size: file.size, ...(fileId && { fileId }) })
