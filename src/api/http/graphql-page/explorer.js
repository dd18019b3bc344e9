// GraphQL explorer at /graphql: GraphiQL, connected to the service that serves the page. scripts/explorer.mjs bundles this file.
import GraphiQL from 'graphiql'
import { createElement, StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { execute } from './execute.js'
import { fileVariables } from './file-variables.js'

const welcome = `# Ctrl+Enter runs the operation.
# Ctrl+Space completes a name.
# The first icon on the left shows the schema.
#
# The explorer uses your dashboard session.
# To use an API key, enter this header on the Headers tab:
# { "Authorization": "Bearer assay_..." }

query Files {
  files(pageSize: 5) {
    data {
      id
      originalFilename
      sizeBytes
      context {
        contextKey
      }
    }
    pagination {
      totalItems
    }
  }
}
`

/** Shows whether the user is signed in to the dashboard. */
async function showCredential() {
  const line = document.getElementById('credential')
  try {
    const { data } = await execute({ query: '{ me { name } }' }, {})
    line.textContent = data?.me
      ? `Signed in as ${data.me.name}.`
      : 'Not signed in. Sign in to the dashboard, or set an Authorization header.'
  } catch {
    line.textContent = 'The service is unreachable. Reload the page.'
  }
}

/** Local storage that omits headers, because the history of GraphiQL would otherwise store API keys in the browser. */
const storage = {
  getItem: (name) => localStorage.getItem(name),
  setItem: (name, value) => localStorage.setItem(name, withoutHeaders(value)),
  removeItem: (name) => localStorage.removeItem(name),
  clear: () => localStorage.clear(),
  get length() {
    return localStorage.length
  },
}

function withoutHeaders(value) {
  try {
    return JSON.stringify(JSON.parse(value, (key, part) => (key === 'headers' ? undefined : part)))
  } catch {
    return value
  }
}

const element = createElement(GraphiQL, {
  fetcher: (request, { headers } = {}) => execute(request, headers ?? {}),
  defaultQuery: welcome,
  defaultEditorToolsVisibility: 'headers',
  plugins: [fileVariables],
  storage,
  shouldPersistHeaders: false,
  showPersistHeadersSettings: false,
})
createRoot(document.getElementById('explorer')).render(createElement(StrictMode, null, element))
showCredential()
