import { useSignal } from '@preact/signals'
import { mutate, reloadData } from '../api/client.js'
import { graphql } from '../api/graphql.js'
import { Icon } from '../components/icon.js'
import { Page } from '../components/page.js'
import { navigate, query } from '../router.js'
import { texts } from '../texts.js'
import { type ContextDraft, NewContextForm, toRulesInput } from './context-form.js'
import { contextPresets } from './context-presets.js'

const t = texts.contexts

const createDocument = graphql(
  `mutation CreateContext($input: CreateContextInput!) { createContext(input: $input) { contextKey } }`,
)

const emptyDraft: ContextDraft = {
  contextKey: '',
  displayName: '',
  description: '',
  extensions: 'pdf, png, jpg',
  maxFileSizeMb: '10',
  storageQuotaMb: '10240',
  rejectBlankFiles: true,
  rejectCorruptFiles: true,
  scanForViruses: true,
}

/** Applies a preset to a draft, but keeps a key or name that the user has typed. */
function applyPreset(draft: ContextDraft, presetKey: string): ContextDraft {
  const preset = contextPresets.find(({ key }) => key === presetKey)
  if (!preset) return draft
  const isSuggestedValue = (value: string) =>
    value === '' || contextPresets.some(({ key, title }) => value === key || value === title)
  return {
    ...draft,
    contextKey: isSuggestedValue(draft.contextKey) ? preset.key : draft.contextKey,
    displayName: isSuggestedValue(draft.displayName) ? preset.title : draft.displayName,
    extensions: preset.extensions.join(', '),
    maxFileSizeMb: String(preset.maxFileSizeMb),
  }
}

export function NewContext() {
  const preset = useSignal(query.value.get('preset') ?? '')
  const draft = useSignal(applyPreset(emptyDraft, preset.peek()))
  const selectPreset = (key: string) => {
    draft.value = applyPreset(draft.value, key)
    preset.value = key
  }
  const createContext = async () => {
    const { contextKey } = draft.value
    const { error } = await mutate(createDocument, { input: { contextKey, ...toRulesInput(draft.value) } })
    if (error) return error
    reloadData()
    navigate(`/files?context=${contextKey}`)
    return undefined
  }
  return (
    <Page title={t.newTitle} parent={{ href: '/contexts', title: t.title }}>
      <section class="card">
        <h2>{t.preset}</h2>
        {/* biome-ignore lint/a11y/useSemanticElements: a fieldset is for form fields, and these are buttons. */}
        <div class="row" role="group" aria-label={t.preset}>
          {contextPresets.map(({ key, title, icon }) => (
            <button key={key} type="button" class="preset" aria-pressed={key === preset.value} onClick={() => selectPreset(key)}>
              <Icon name={icon} />
              <strong>{title}</strong>
            </button>
          ))}
        </div>
        <p class="hint">{t.presetHint}</p>
      </section>
      <NewContextForm draft={draft} save={createContext} />
    </Page>
  )
}
