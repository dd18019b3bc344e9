import { generate } from 'lean-qr'

/** Width in modules of the light border that a QR code requires (ISO/IEC 18004). */
const margin = 4

/** QR code as an image. The browser renders it, so that no server receives the text. */
export function QrCode({ text, label }: { text: string; label: string }) {
  const code = generate(text)
  const size = code.size + 2 * margin
  let path = ''
  for (let y = 0; y < code.size; y++)
    for (let x = 0; x < code.size; x++) if (code.get(x, y)) path += `M${x + margin} ${y + margin}h1v1h-1z`
  return (
    <svg class="qr-code" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label}>
      <path d={`M0 0h${size}v${size}h-${size}z`} class="qr-light" />
      <path d={path} class="qr-dark" />
    </svg>
  )
}
