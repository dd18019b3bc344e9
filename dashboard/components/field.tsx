import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'

interface Common {
  label: string
  hint?: ComponentChildren
  /** What is wrong with it, as the service says it. */
  fault?: string | undefined
}

interface TextProps extends Common {
  value: string
  onInput: (value: string) => void
  type?: 'text' | 'email' | 'password' | 'number' | 'search' | 'date'
  required?: boolean
  disabled?: boolean
  autocomplete?: string
  placeholder?: string
  min?: number | string
  max?: number | string
  autofocus?: boolean
}

/** A line to type in, with its label above and what is wrong with it below. */
export function Field({ label, hint, fault, value, onInput, type = 'text', autocomplete, ...more }: TextProps) {
  const id = useId()
  return (
    <Labelled {...{ id, label, hint, fault }}>
      <input
        id={id}
        type={type as 'text'}
        value={value}
        aria-invalid={fault !== undefined}
        aria-describedby={`${id}-note`}
        autocomplete={autocomplete as 'off'}
        onInput={(event) => onInput(event.currentTarget.value)}
        {...more}
      />
    </Labelled>
  )
}

interface SelectProps extends Common {
  value: string
  /** By value, in their order. */
  options: readonly (readonly [value: string, text: string])[]
  onChange: (value: string) => void
}

export function Select({ label, hint, fault, value, options, onChange }: SelectProps) {
  const id = useId()
  return (
    <Labelled {...{ id, label, hint, fault }}>
      <select id={id} value={value} aria-describedby={`${id}-note`} onChange={(event) => onChange(event.currentTarget.value)}>
        {options.map(([each, text]) => (
          <option key={each} value={each} selected={each === value}>
            {text}
          </option>
        ))}
      </select>
    </Labelled>
  )
}

function Labelled({ id, label, hint, fault, children }: Common & { id: string; children: ComponentChildren }) {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children}
      {(fault ?? hint) && (
        <p id={`${id}-note`} class={fault ? 'fault' : 'hint'}>
          {fault ?? hint}
        </p>
      )}
    </div>
  )
}

interface CheckProps {
  label: string
  hint?: string
  checked: boolean
  onChange: (checked: boolean) => void
}

export const Check = ({ label, hint, checked, onChange }: CheckProps) => (
  <label class="check">
    <input type="checkbox" checked={checked} onChange={(event) => onChange(event.currentTarget.checked)} />
    <span>
      {label}
      {hint && <small>{hint}</small>}
    </span>
  </label>
)
