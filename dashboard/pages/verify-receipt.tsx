import type { Finding } from '@assay/proofs'
import { type Signal, useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { formatBytes } from '../api/format.js'
import { keySet, loadKeySet } from '../api/key-set.js'
import { Button } from '../components/button.js'
import { Icon } from '../components/icon.js'
import { texts } from '../texts.js'
import { hashFile, recognizeFile, verifyReceipt } from './verification.js'

const t = texts.proof

interface Input {
  receipt?: { name: string; text: string }
  file?: File
}

/** Verifies a receipt in the browser with packages/proofs, without sending data to the service. */
export function VerifyReceipt() {
  const input = useSignal<Input>({})
  const message = useSignal('')
  useEffect(() => void loadKeySet(), [])
  const addFiles = async (files: Iterable<File>) => {
    message.value = ''
    for (const file of files) {
      const kind = await recognizeFile(file)
      if (kind.type === 'keys') keySet.value = { text: kind.text, source: file.name }
      else if (kind.type === 'receipt') input.value = { ...input.value, receipt: { name: file.name, text: kind.text } }
      else input.value = { ...input.value, file }
    }
  }
  return (
    <section class="card verify" aria-label={t.verify}>
      <header>
        <h2>{t.verify}</h2>
        {(input.value.receipt || input.value.file) && (
          <Button kind="quiet" onClick={() => (input.value = {})}>
            {t.clear}
          </Button>
        )}
      </header>
      <p class="dim">{t.verifyAbout}</p>
      <DropArea onFiles={addFiles} />
      <div class="columns">
        <VerificationInputs input={input} />
        <PastedReceipt onReceipt={(text) => (input.value = { ...input.value, receipt: { name: t.pasted, text } })} />
      </div>
      {input.value.receipt && (
        <VerificationResult key={JSON.stringify([input.value.receipt, keySet.value])} input={input.value} />
      )}
    </section>
  )
}

function DropArea({ onFiles }: { onFiles: (files: Iterable<File>) => unknown }) {
  const isDraggedOver = useSignal(false)
  const fileInput = useRef<HTMLInputElement>(null)
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: dropping files is an alternative to the button.
    <div
      class={`drop verify-drop${isDraggedOver.value ? ' dragged-over' : ''}`}
      onDragOver={(event) => {
        event.preventDefault()
        isDraggedOver.value = true
      }}
      onDragLeave={() => (isDraggedOver.value = false)}
      onDrop={(event) => {
        event.preventDefault()
        event.stopPropagation()
        isDraggedOver.value = false
        onFiles([...(event.dataTransfer?.files ?? [])])
      }}
    >
      <Icon name="audit" />
      <strong>{t.drop}</strong>
      <Button onClick={() => fileInput.current?.click()}>{texts.files.choose}</Button>
      <input
        ref={fileInput}
        type="file"
        multiple
        class="hidden"
        tabIndex={-1}
        aria-label={t.drop}
        onChange={(event) => {
          onFiles([...(event.currentTarget.files ?? [])])
          event.currentTarget.value = ''
        }}
      />
    </div>
  )
}

const VerificationInputs = ({ input: { value } }: { input: Signal<Input> }) => (
  <dl class="facts">
    <dt>{t.receipt}</dt>
    <dd>{value.receipt?.name ?? <span class="dim">{t.missing}</span>}</dd>
    <dt>{t.file}</dt>
    <dd>{value.file ? `${value.file.name} (${formatBytes(value.file.size)})` : <span class="dim">{t.fileOptional}</span>}</dd>
    <dt>{t.keys}</dt>
    <dd>{keySet.value ? t.keysFrom(keySet.value.source) : <span class="dim">{t.keysMissing}</span>}</dd>
  </dl>
)

const PastedReceipt = ({ onReceipt }: { onReceipt: (text: string) => void }) => (
  <label class="field">
    <span class="hint">{t.paste}</span>
    <textarea
      rows={3}
      spellcheck={false}
      onInput={(event) => event.currentTarget.value.trim() && onReceipt(event.currentTarget.value)}
    />
  </label>
)

type Outcome = { findings: Finding[] } | { problem: string } | { progress: number }

function VerificationResult({ input: { receipt, file } }: { input: Input }) {
  const outcome = useSignal<Outcome>({ progress: 0 })
  useEffect(() => {
    const abort = new AbortController()
    const updateOutcome = async () => {
      if (!keySet.value) {
        outcome.value = { problem: t.keysMissing }
        return
      }
      const hashed = file && (await hashFile(file, (progress) => (outcome.value = { progress }), abort.signal))
      if (!abort.signal.aborted) outcome.value = { findings: verifyReceipt(receipt!.text, keySet.value.text, hashed) }
    }
    void updateOutcome().catch((error: Error) => {
      if (!abort.signal.aborted) outcome.value = { problem: error.message }
    })
    return () => abort.abort()
  }, [receipt, file])
  const { value } = outcome
  if ('progress' in value) return <progress aria-label={t.hashing} max={1} value={value.progress} />
  if ('problem' in value)
    return (
      <p class="notice bad" role="alert">
        {value.problem}
      </p>
    )
  return <Findings findings={value.findings} isFileCompared={file !== undefined} />
}

function Findings({ findings, isFileCompared }: { findings: Finding[]; isFileCompared: boolean }) {
  const isProven = findings.every(({ proven }) => proven)
  return (
    <div class="stack" role="status">
      <p class={`notice ${isProven ? 'good' : 'bad'}`}>
        <Icon name={isProven ? 'check' : 'warning'} />
        <strong>{isProven ? t.proven : t.notProven}</strong>
      </p>
      <ul class="report">
        {findings.map(({ proven, message }) => (
          <li key={message} class={proven ? 'passed' : 'failed'}>
            <span class="outcome-icon">
              <Icon name={proven ? 'check' : 'cross'} />
            </span>
            <p>{message}</p>
          </li>
        ))}
        {!isFileCompared && (
          <li class="skipped">
            <span class="outcome-icon">
              <Icon name="minus" />
            </span>
            <p>{t.noFile}</p>
          </li>
        )}
      </ul>
    </div>
  )
}
