import type { Scope } from '../session.js'
import { texts } from '../texts.js'
import { Badge } from './badge.js'
import { Checkbox } from './field.js'

const allScopes = ['upload', 'download', 'metadata', 'delete', 'admin'] as const satisfies readonly Scope[]

export const ScopeBadges = ({ scopes }: { scopes: readonly Scope[] }) => (
  <span class="row tight">
    {allScopes
      .filter((scope) => scopes.includes(scope))
      .map((scope) => (
        <Badge key={scope}>{texts.scopes[scope][0]}</Badge>
      ))}
  </span>
)

export const ScopeField = ({ selected, onChange }: { selected: readonly Scope[]; onChange: (scopes: Scope[]) => void }) => (
  <fieldset>
    <legend>{texts.scopesTitle}</legend>
    {allScopes.map((scope) => (
      <Checkbox
        key={scope}
        label={texts.scopes[scope][0]}
        hint={texts.scopes[scope][1]}
        checked={selected.includes(scope)}
        onChange={(isSelected) => onChange(isSelected ? [...selected, scope] : selected.filter((each) => each !== scope))}
      />
    ))}
  </fieldset>
)
