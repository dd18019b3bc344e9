import { useSignal } from '@preact/signals'
import { texts } from '../texts.js'
import { Button } from './button.js'

/** Button that copies text to the clipboard and shows a confirmation for 1.5 seconds. */
export function CopyButton({ text, label }: { text: string; label?: string }) {
  const isCopied = useSignal(false)
  const copyText = async () => {
    await navigator.clipboard.writeText(text)
    isCopied.value = true
    setTimeout(() => (isCopied.value = false), 1500)
  }
  const currentLabel = isCopied.value ? texts.copied : (label ?? texts.copy)
  return (
    <Button icon={isCopied.value ? 'check' : 'copy'} kind={label ? 'plain' : 'quiet'} label={currentLabel} onClick={copyText}>
      {label && currentLabel}
    </Button>
  )
}
