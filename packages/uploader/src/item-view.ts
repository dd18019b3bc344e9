import type { CheckResult } from './checks.js'
import { createButton, createElement } from './dom.js'
import { formatBytes, formatPercent, formatSeconds } from './format.js'
import { fillPlaceholders, isFileRejection, type Texts, toErrorText } from './texts.js'
import type { UploadItem, UploadQueue } from './upload-queue.js'

interface ViewOptions {
  item: UploadItem
  queue: UploadQueue
  texts: Texts
  language: string | undefined
}

export class ItemView {
  readonly element: HTMLLIElement
  readonly #options: ViewOptions
  readonly #progress: HTMLProgressElement
  readonly #status = createElement('p', { part: 'status' })
  readonly #checks = createElement('ul', { part: 'checks' })
  readonly #actions = createElement('div', { part: 'actions' })

  constructor(options: ViewOptions) {
    this.#options = options
    const { item, texts, language } = options
    const { name, size } = item.file
    const label = fillPlaceholders(texts.progressOf, { name })
    this.#progress = createElement('progress', { part: 'progress', max: String(Math.max(size, 1)), 'aria-label': label })
    this.element = createElement(
      'li',
      { part: 'file' },
      createElement('p', { part: 'title' }, createElement('strong', { part: 'name' }, name), ` ${formatBytes(size, language)}`),
      this.#progress,
      this.#status,
      this.#checks,
      this.#actions,
    )
    this.render()
  }

  /** Updates the progress bar and the status. These frequent updates must not replace elements that can have the focus. */
  updateProgress(): void {
    const { item } = this.#options
    this.#progress.value = item.sent
    this.#status.textContent = this.#formatStatus()
  }

  render(): void {
    const { item } = this.#options
    this.element.dataset.state = item.state
    this.element.part.value = `file ${item.state}`
    this.#progress.hidden = item.state === 'accepted' || item.state === 'rejected'
    this.updateProgress()
    this.#checks.replaceChildren(...item.checks.map((check) => this.#createCheckItem(check)))
    const hadFocus = this.#actions.contains((this.element.getRootNode() as ShadowRoot).activeElement)
    this.#actions.replaceChildren(...this.#createActionButtons())
    if (hadFocus) this.#actions.querySelector('button')?.focus()
  }

  #formatStatus(): string {
    const { item, texts, language } = this.#options
    const { size } = item.file
    const percent = formatPercent(size > 0 ? item.sent / size : 0, language)
    if (item.state === 'failed') return `${fillPlaceholders(texts.failed, { percent })} ${toErrorText(texts, item.error!)}`
    if (item.state === 'rejected' && item.error && !isFileRejection(item.error.code) && !item.checks.some(isFailedCheck))
      return `${texts.rejected} ${toErrorText(texts, item.error)}`
    if (item.state !== 'uploading') return fillPlaceholders(texts[item.state], { percent })
    const bytesPerSecond = item.rate.bytesPerSecond
    if (!bytesPerSecond) return fillPlaceholders(texts.starting, { percent })
    const time = formatSeconds((size - item.sent) / bytesPerSecond, language)
    return fillPlaceholders(texts.uploading, { percent, rate: formatBytes(bytesPerSecond, language), time })
  }

  #createCheckItem({ state, text }: CheckResult): HTMLLIElement {
    const { texts } = this.#options
    const symbols = { passed: '✓', failed: '✗', pending: '…' }
    const labels = { passed: texts.passed, failed: texts.failedCheck, pending: texts.pending }
    const symbol = createElement('span', { part: 'symbol', role: 'img', 'aria-label': labels[state] }, symbols[state])
    return createElement('li', { part: `check ${state}`, 'data-state': state }, symbol, ` ${text}`)
  }

  #createActionButtons(): HTMLButtonElement[] {
    const { item, queue, texts } = this.#options
    const { name } = item.file
    const createActionButton = (part: string, label: string, onClick: () => void) =>
      createButton(label, { part, ariaLabel: fillPlaceholders(texts.actionFor, { action: label, name }), onClick })
    const remove = createActionButton('remove', texts.remove, () => queue.remove(item))
    const cancel = createActionButton('cancel', texts.cancel, () => queue.remove(item))
    const pause = createActionButton('pause', texts.pause, () => queue.pause(item))
    const resume = createActionButton('resume', texts.resume, () => queue.resume(item))
    const retry = createActionButton('retry', texts.tryAgain, () => queue.resume(item))
    if (item.state === 'accepted') return []
    if (item.state === 'rejected') return [remove]
    if (item.state === 'checking') return [cancel]
    if (item.state === 'failed') return [retry, cancel]
    return [item.state === 'paused' ? resume : pause, cancel]
  }
}

const isFailedCheck = ({ state }: CheckResult) => state === 'failed'
