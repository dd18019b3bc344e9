import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'

interface CommonProps {
  label: string
  hint?: ComponentChildren
  error?: string | undefined
}

interface TextProps extends CommonProps {
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

export function Field({ label, hint, error, value, onInput, type = 'text', autocomplete, ...more }: TextProps) {
  const id = useId()
  return (
    <LabeledControl {...{ id, label, hint, error }}>
      <input
        id={id}
        type={type as 'text'}
        value={value}
        aria-invalid={error !== undefined}
        aria-describedby={`${id}-note`}
        autocomplete={autocomplete as 'off'}
        onInput={(event) => onInput(event.currentTarget.value)}
        {...more}
      />
    </LabeledControl>
  )
}

interface SelectProps extends CommonProps {
  value: string
  options: readonly (readonly [value: string, text: string])[]
  onChange: (value: string) => void
}

export function Select({ label, hint, error, value, options, onChange }: SelectProps) {
  const id = useId()
  return (
    <LabeledControl {...{ id, label, hint, error }}>
      <select id={id} value={value} aria-describedby={`${id}-note`} onChange={(event) => onChange(event.currentTarget.value)}>
        {options.map(([each, text]) => (
          <option key={each} value={each} selected={each === value}>
            {text}
          </option>
        ))}
      </select>
    </LabeledControl>
  )
}

function LabeledControl({ id, label, hint, error, children }: CommonProps & { id: string; children: ComponentChildren }) {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children}
      {(error ?? hint) && (
        <p id={`${id}-note`} class={error ? 'error' : 'hint'}>
          {error ?? hint}
        </p>
      )}
    </div>
  )
}

interface CheckboxProps {
  label: string
  hint?: string
  checked: boolean
  onChange: (checked: boolean) => void
}

export const Checkbox = ({ label, hint, checked, onChange }: CheckboxProps) => (
  <label class="check">
    <input type="checkbox" checked={checked} onChange={(event) => onChange(event.currentTarget.checked)} />
    <span>
      {label}
      {hint && <small>{hint}</small>}
    </span>
  </label>
)

interface CheckboxGroupProps {
  legend: string
  hint: string
  options: (readonly [value: string, text: string])[]
  selected: string[]
  onChange: (selected: string[]) => void
}

export const CheckboxGroup = ({ legend, hint, options, selected, onChange }: CheckboxGroupProps) => (
  <fieldset>
    <legend>{legend}</legend>
    <p class="hint">{hint}</p>
    {options.map(([value, text]) => (
      <Checkbox
        key={value}
        label={text}
        checked={selected.includes(value)}
        onChange={(isSelected) => onChange(isSelected ? [...selected, value] : selected.filter((each) => each !== value))}
      />
    ))}
  </fieldset>
)
