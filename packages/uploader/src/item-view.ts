import type { CheckResult } from './checks.js'
import { button, element } from './dom.js'
import { formatBytes, formatPercent, formatSeconds } from './format.js'
import { fill, isRejection, type Texts, toErrorText } from './texts.js'
import type { UploadItem, UploadQueue } from './upload-queue.js'

interface ViewOptions {
  item: UploadItem
  queue: UploadQueue
  texts: Texts
  language: string | undefined
}

/** List item that shows one upload. */
export class ItemView {
  readonly element: HTMLLIElement
  readonly #options: ViewOptions
  readonly #progress: HTMLProgressElement
  readonly #status = element('p', { part: 'status' })
  readonly #checks = element('ul', { part: 'checks' })
  readonly #actions = element('div', { part: 'actions' })

  constructor(options: ViewOptions) {
    this.#options = options
    const { item, texts, language } = options
    const { name, size } = item.file
    const label = fill(texts.progressOf, { name })
    this.#progress = element('progress', { part: 'progress', max: String(Math.max(size, 1)), 'aria-label': label })
    this.element = element(
      'li',
      { part: 'file' },
      element('p', { part: 'title' }, element('strong', { part: 'name' }, name), ` ${formatBytes(size, language)}`),
      this.#progress,
      this.#status,
      this.#checks,
      this.#actions,
    )
    this.update()
  }

  /** Updates progress bar and status. Frequent updates must not replace elements that can have the focus. */
  updateProgress(): void {
    const { item } = this.#options
    this.#progress.value = item.sent
    this.#status.textContent = this.#getStatus()
  }

  /** Updates the state, the checks and the available actions. */
  update(): void {
    const { item } = this.#options
    this.element.dataset.state = item.state
    this.element.part.value = `file ${item.state}`
    this.#progress.hidden = item.state === 'accepted' || item.state === 'rejected'
    this.updateProgress()
    this.#checks.replaceChildren(...item.checks.map((check) => this.#toCheck(check)))
    const hadFocus = this.#actions.contains((this.element.getRootNode() as ShadowRoot).activeElement)
    this.#actions.replaceChildren(...this.#toActions())
    if (hadFocus) this.#actions.querySelector('button')?.focus()
  }

  #getStatus(): string {
    const { item, texts, language } = this.#options
    const { size } = item.file
    const percent = formatPercent(size > 0 ? item.sent / size : 0, language)
    if (item.state === 'failed') return `${fill(texts.failed, { percent })} ${toErrorText(texts, item.error!)}`
    if (item.state === 'rejected' && item.error && !isRejection(item.error.code) && !item.checks.some(isFailed))
      return `${texts.rejected} ${toErrorText(texts, item.error)}`
    if (item.state !== 'uploading') return fill(texts[item.state], { percent })
    const bytesPerSecond = item.rate.bytesPerSecond
    if (!bytesPerSecond) return fill(texts.starting, { percent })
    const time = formatSeconds((size - item.sent) / bytesPerSecond, language)
    return fill(texts.uploading, { percent, rate: formatBytes(bytesPerSecond, language), time })
  }

  #toCheck({ state, text }: CheckResult): HTMLLIElement {
    const { texts } = this.#options
    const symbols = { passed: '✓', failed: '✗', pending: '…' }
    const labels = { passed: texts.passed, failed: texts.failedCheck, pending: texts.pending }
    const symbol = element('span', { part: 'symbol', role: 'img', 'aria-label': labels[state] }, symbols[state])
    return element('li', { part: `check ${state}`, 'data-state': state }, symbol, ` ${text}`)
  }

  #toActions(): HTMLButtonElement[] {
    const { item, queue, texts } = this.#options
    const { name } = item.file
    const toButton = (part: string, label: string, onClick: () => void) =>
      button(label, { part, ariaLabel: fill(texts.actionFor, { action: label, name }), onClick })
    const remove = toButton('remove', texts.remove, () => queue.remove(item))
    const cancel = toButton('cancel', texts.cancel, () => queue.remove(item))
    const pause = toButton('pause', texts.pause, () => queue.pause(item))
    const resume = toButton('resume', texts.resume, () => queue.resume(item))
    const retry = toButton('retry', texts.tryAgain, () => queue.resume(item))
    if (item.state === 'accepted') return []
    if (item.state === 'rejected') return [remove]
    if (item.state === 'checking') return [cancel]
    if (item.state === 'failed') return [retry, cancel]
    return [item.state === 'paused' ? resume : pause, cancel]
  }
}

const isFailed = ({ state }: CheckResult) => state === 'failed'
