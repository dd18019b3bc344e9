import { useSignal } from '@preact/signals'
import { mutate, reloadData } from '../api/client.js'
import { graphql } from '../api/graphql.js'
import { Page } from '../components/page.js'
import { navigate } from '../router.js'
import { texts } from '../texts.js'
import { type ContextDraft, ContextForm, toRulesInput } from './context-form.js'

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

export function NewContext() {
  const draft = useSignal(emptyDraft)
  const save = async () => {
    const { contextKey } = draft.value
    const { error } = await mutate(createDocument, { input: { contextKey, ...toRulesInput(draft.value) } })
    if (error) return error
    reloadData()
    navigate(`/files?context=${contextKey}`)
    return undefined
  }
  return (
    <Page title={t.newTitle} parent={{ href: '/contexts', title: t.title }}>
      <ContextForm draft={draft} isNew submitLabel={t.create} save={save} />
    </Page>
  )
}
